/**
 * What the person can call, one function each. `package.json` lists the same names; a test compares them.
 */
import * as vscode from "vscode";
import type { Ctx } from "./ctx";

export type Command = (ctx: Ctx) => () => unknown;

export const start: Command = (ctx) => () => ctx.start();

export const stop: Command = (ctx) => () => ctx.stop();

export const restart: Command = (ctx) => () => ctx.restart();

export const showLog: Command = (ctx) => () => {
  ctx.log.show();
};

/** Shows what the server is doing and offers what fits. */
export const showStatus: Command = (ctx) => async () => {
  const { state } = ctx;
  const actions: (vscode.QuickPickItem & { command: string })[] = [];
  if (state.kind === "running" || state.kind === "starting") {
    actions.push({ label: "$(debug-restart) Restart server", command: "countersign.server.restart" });
    actions.push({ label: "$(debug-stop) Stop server", command: "countersign.server.stop" });
  } else {
    actions.push({ label: "$(debug-start) Start server", command: "countersign.server.restart" });
  }
  actions.push({ label: "$(output) Show log", command: "countersign.server.showLog" });
  actions.push({ label: "$(pulse) Run doctor", command: "countersign.server.doctor" });
  const title = state.kind === "failed" ? `${state.problem} ${state.advice}` : `Countersign is ${state.kind}`;
  const picked = await vscode.window.showQuickPick(actions, { title });
  if (picked !== undefined) {
    await vscode.commands.executeCommand(picked.command);
  }
};

/** Runs the server's own check of this machine in a terminal, where the person can read and copy it. */
export const doctor: Command = (ctx) => () => {
  const located = ctx.locate();
  if (located === undefined) {
    return;
  }
  const { program, settings } = located;
  vscode.window.createTerminal({ name: "Countersign Doctor", shellPath: program, shellArgs: ["doctor"], env: settings.env }).show();
};
