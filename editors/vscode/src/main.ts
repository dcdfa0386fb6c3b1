/**
 * Activation: makes the context, registers the commands, starts the server.
 */
import * as vscode from "vscode";
import type { Command } from "./commands";
import * as commands from "./commands";
import { Ctx } from "./ctx";

/** The commands of `package.json` that are the extension's own; the language client registers the server's. */
const COMMANDS: Readonly<Record<string, Command>> = {
  "countersign.server.start": commands.start,
  "countersign.server.stop": commands.stop,
  "countersign.server.restart": commands.restart,
  "countersign.server.showLog": commands.showLog,
  "countersign.server.showStatus": commands.showStatus,
  "countersign.server.doctor": commands.doctor,
};

let ctx: Ctx | undefined;

export function activate(extension: vscode.ExtensionContext): void {
  const made = new Ctx(extension.extensionPath);
  ctx = made;
  for (const [name, command] of Object.entries(COMMANDS)) {
    made.pushExtCleanup(vscode.commands.registerCommand(name, command(made)));
  }
  made.pushExtCleanup(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("countersign.server") || change.affectsConfiguration("countersign.pluginProtocol")) {
        void made.restart();
      }
    }),
  );
  // Not awaited: a slow start must not hold up the editor's own.
  void made.start();
}

export async function deactivate(): Promise<void> {
  await ctx?.shutdown();
  ctx = undefined;
}
