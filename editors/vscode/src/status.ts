/**
 * The item in the status bar: what the server is doing, one click away from what can be done about it.
 */
import * as vscode from "vscode";

export type ServerState =
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly program: string; readonly version: string | undefined }
  | { readonly kind: "stopped" }
  /** It cannot run until the person does something; `advice` says what. */
  | { readonly kind: "failed"; readonly problem: string; readonly advice: string };

export class StatusItem implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;

  constructor() {
    this.item = vscode.window.createStatusBarItem("countersign.status", vscode.StatusBarAlignment.Right, 90);
    this.item.name = "Countersign";
    this.item.command = "countersign.server.showStatus";
    this.show({ kind: "stopped" });
    this.item.show();
  }

  show(state: ServerState): void {
    const { text, tooltip, alarm } = describe(state);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.backgroundColor = alarm ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  }

  dispose(): void {
    this.item.dispose();
  }
}

function describe(state: ServerState): { text: string; tooltip: string; alarm: boolean } {
  switch (state.kind) {
    case "starting":
      return { text: "$(loading~spin) Countersign", tooltip: "Countersign is starting", alarm: false };
    case "running":
      return { text: "$(pass) Countersign", tooltip: `Countersign ${state.version ?? ""} is running\n${state.program}`, alarm: false };
    case "stopped":
      return { text: "$(circle-slash) Countersign", tooltip: "Countersign is stopped", alarm: false };
    case "failed":
      return { text: "$(warning) Countersign", tooltip: `${state.problem}\n${state.advice}`, alarm: true };
  }
}
