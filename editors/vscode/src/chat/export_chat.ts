/**
 * A conversation for elsewhere: on the clipboard, or in a file of the person's choice.
 */
import * as vscode from "vscode";
import { foldersOnDisk } from "../folders";
import { fileNameOf, markdownOf } from "./export";
import type { ThreadView } from "./view";
import { plain } from "./words";

export async function copyAll(view: ThreadView): Promise<void> {
  await vscode.env.clipboard.writeText(markdownOf(view));
  vscode.window.setStatusBarMessage("Copied the conversation", 3000);
}

export async function exportChat(view: ThreadView): Promise<void> {
  const folder = foldersOnDisk()[0]?.uri;
  const file = await vscode.window.showSaveDialog({ title: "Export Chat", filters: { Markdown: ["md"] }, ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, fileNameOf(view)) }) });
  if (file === undefined) {
    return;
  }
  await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(markdownOf(view)));
  const open = "Open";
  if ((await vscode.window.showInformationMessage(plain(`Written to ${vscode.workspace.asRelativePath(file)}.`), open)) === open) {
    await vscode.window.showTextDocument(file);
  }
}
