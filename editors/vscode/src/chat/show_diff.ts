import * as vscode from "vscode";
import { diffText } from "./diff";

/** Shows a diff in an editor tab of its own. */
export async function showDiff(diff: string): Promise<void> {
  const document = await vscode.workspace.openTextDocument({ language: "diff", content: diffText(diff) });
  await vscode.window.showTextDocument(document, { preview: true });
}
