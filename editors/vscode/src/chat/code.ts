/**
 * What can be done with a code block of an answer.
 */
import * as vscode from "vscode";
import type { Attention } from "./attention";

export class CodeActions {
  constructor(private readonly attention: Attention) {}

  async run(action: "copy" | "insert" | "apply", text: string): Promise<void> {
    if (action === "copy") {
      await vscode.env.clipboard.writeText(text);
      vscode.window.setStatusBarMessage("Copied", 2000);
      return;
    }
    const editor = this.attention.editor;
    if (editor === undefined) {
      const document = await vscode.workspace.openTextDocument({ content: text });
      await vscode.window.showTextDocument(document);
      return;
    }
    if (action === "insert") {
      const shown = await vscode.window.showTextDocument(editor.document, editor.viewColumn);
      await shown.edit((edit) => { edit.insert(shown.selection.active, text); });
      return;
    }
    // Nothing changes unseen: the editor's own preview asks.
    const range = editor.selection.isEmpty ? new vscode.Range(0, 0, editor.document.lineCount, 0) : editor.selection;
    const what = editor.selection.isEmpty ? "the whole file" : "the selection";
    const edit = new vscode.WorkspaceEdit();
    edit.replace(editor.document.uri, range, range.isSingleLine ? text.replace(/\n$/, "") : text, { needsConfirmation: true, label: `Replace ${what}`, description: "from the chat" });
    await vscode.workspace.applyEdit(edit, { isRefactoring: true });
  }
}
