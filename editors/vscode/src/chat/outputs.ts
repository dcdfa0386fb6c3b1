/** All of a long output of a command, in an editor tab: the chat shows its beginning and its end. */
import * as vscode from "vscode";
import type { ThreadItem } from "../protocol";
import { outputText } from "./output_text";
import { nameOf } from "./words";

const SCHEME = "countersign-output";

export class Outputs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  /** The addresses that were opened here: no other one has a file read. */
  private readonly opened = new Set<string>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  dispose(): void {
    this.registration.dispose();
  }

  async open(item: Extract<ThreadItem, { type: "commandExecution" }>): Promise<void> {
    if (!item.fullOutput) {
      throw new Error("All of this output is in the chat.");
    }
    // By its file it is another one than an output of the same command in another conversation.
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${nameOf(item.command, 60).replaceAll(/[\\/]/g, "_")}.txt`, query: item.fullOutput });
    this.opened.add(uri.toString());
    await vscode.window.showTextDocument(uri, { preview: true });
  }

  provideTextDocumentContent(uri: vscode.Uri): string | Promise<string> {
    return this.opened.has(uri.toString()) ? outputText(uri.query) : "This output can be opened from its conversation.";
  }
}
