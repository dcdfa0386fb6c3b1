/** All of a long output of a command, in an editor tab: the chat shows its beginning and its end. */
import * as fs from "node:fs/promises";
import * as vscode from "vscode";
import type { ThreadItem } from "../protocol";
import { nameOf } from "./words";

const SCHEME = "countersign-output";

export class Outputs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  /** Where an output is kept, by the address of its document. */
  private readonly files = new Map<string, string>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  dispose(): void {
    this.registration.dispose();
  }

  async open(item: Extract<ThreadItem, { type: "commandExecution" }>): Promise<void> {
    if (!item.fullOutput) {
      throw new Error("All of this output is in the chat.");
    }
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${nameOf(item.command, 60).replaceAll(/[\\/]/g, "_")}.txt`, query: item.id });
    this.files.set(uri.toString(), item.fullOutput);
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const file = this.files.get(uri.toString());
    try {
      return file === undefined ? "This output can be opened from its conversation." : await fs.readFile(file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "This output is not kept any more: outputs are kept for 14 days.";
      throw error;
    }
  }
}
