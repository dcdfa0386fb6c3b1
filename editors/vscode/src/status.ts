/**
 * The item in the status bar: what the server and the agent are doing, one click away from what can be done about it.
 */
import * as vscode from "vscode";
import type { ThreadView } from "./chat/view";
import type { Remedy } from "./chat/wire";
import { costWords, percentUsed, tokens } from "./chat/words";
import { foldersElsewhere } from "./folders";

export type ServerState =
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly program: string; readonly version: string | undefined }
  | { readonly kind: "stopped" }
  /** It cannot run until the person does something; `advice` says what. */
  | { readonly kind: "failed"; readonly problem: string; readonly advice: string; readonly remedy?: Remedy };

/** What the agent is doing, over all threads of the window. */
export interface Work {
  readonly running: number;
  /** Threads that wait for the person, the one that began to first. */
  readonly waiting: readonly string[];
  /** What is left of the account's allowance, in words. */
  readonly allowance: readonly string[];
  /** The thread that was active last. */
  readonly thread: ThreadView | undefined;
}

export class StatusItem implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private state: ServerState = { kind: "stopped" };
  private work: Work = { running: 0, waiting: [], allowance: [], thread: undefined };

  constructor() {
    this.item = vscode.window.createStatusBarItem("countersign.status", vscode.StatusBarAlignment.Right, 90);
    this.item.name = "Countersign";
    this.item.command = "countersign.server.showStatus";
    this.draw();
    this.item.show();
  }

  show(state: ServerState): void {
    this.state = state;
    this.draw();
  }

  showWork(work: Work): void {
    this.work = work;
    this.draw();
  }

  dispose(): void {
    this.item.dispose();
  }

  private draw(): void {
    const { text, tooltip, alarm } = describe(this.state, this.work);
    this.item.text = text;
    this.item.tooltip = tooltip;
    const [question] = this.state.kind === "running" ? this.work.waiting : [];
    // One click from the question, whatever became of its message.
    this.item.command = question === undefined ? "countersign.server.showStatus" : { command: "countersign.chat.open", title: "Show the question", arguments: [question] };
    this.item.backgroundColor = alarm ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  }
}

export function describe(state: ServerState, work: Work): { text: string; tooltip: string; alarm: boolean } {
  switch (state.kind) {
    case "starting":
      return { text: "$(loading~spin) Countersign", tooltip: "Countersign is starting", alarm: false };
    case "running":
      return running(state, work);
    case "stopped":
      return { text: "$(circle-slash) Countersign", tooltip: "Countersign is stopped", alarm: false };
    case "failed":
      // A folder in which it is not meant to run is no breakdown.
      return { text: "$(warning) Countersign", tooltip: `${state.problem}\n${state.advice}`, alarm: state.remedy === undefined || state.remedy === "install" };
  }
}

function running(state: Extract<ServerState, { kind: "running" }>, { running, waiting: waitingThreads, allowance, thread }: Work): { text: string; tooltip: string; alarm: boolean } {
  const waiting = waitingThreads.length;
  const icon = waiting > 0 ? "$(bell-dot)" : running > 0 ? "$(sync~spin)" : "$(pass)";
  // As long as the server names no model there is none to be shown.
  const settings = thread?.settings === undefined || thread.settings.model.trim() === "" ? undefined : thread.settings;
  const used = percentUsed(thread?.usage);
  const parts = [
    settings === undefined ? "Countersign" : `${settings.model} · ${settings.mode}`,
    used === undefined ? undefined : `context ${used}%`,
    running > 1 ? `${running} turns` : undefined,
    waiting > 0 ? `${waiting} waiting` : undefined,
  ];
  const elsewhere = foldersElsewhere();
  const lines = [
    `Countersign ${state.version ?? ""} is running`,
    state.program,
    settings === undefined ? undefined : `Model ${settings.model}${settings.modelProvider === "" ? "" : ` of ${settings.modelProvider}`}, mode ${settings.mode}`,
    thread?.usage === undefined ? undefined : `${tokens(thread.usage.last.totalTokens)} tokens in the context window, ${tokens(thread.usage.total.totalTokens)} used in all`,
    costWords(thread?.usage?.cost)?.whole,
    ...allowance,
    elsewhere.length === 0 ? undefined : `Not on a disk, so not seen by the agent: ${elsewhere.join(", ")}`,
    running === 0 ? undefined : running === 1 ? "One turn runs" : `${running} turns run`,
    waiting === 0 ? undefined : waiting === 1 ? "One conversation is waiting for you: click to answer" : `${waiting} conversations are waiting for you: click to answer the first`,
  ];
  return { text: `${icon} ${parts.filter(Boolean).join(" · ")}`, tooltip: lines.filter(Boolean).join("\n"), alarm: waiting > 0 };
}
