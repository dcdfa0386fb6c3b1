/** A diff in an editor tab of its own. */
import * as vscode from "vscode";
import { diffText } from "./diff";

export async function showDiff(diff: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: "diff", content: diffText(diff) });
  await vscode.window.showTextDocument(document, { preview: true });
}
