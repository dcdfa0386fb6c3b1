/**
 * Opens what a person clicked in a chat. What the model wrote is checked again here: the page is not believed.
 */
import * as path from "node:path";
import * as vscode from "vscode";
import { safeLink } from "./markdown";
import { nameOf, plain } from "./words";

export async function openLink(href: string, cwd: string | undefined): Promise<void> {
  const address = safeLink(href);
  if (address === undefined) {
    void vscode.window.showWarningMessage(`This link was not opened, because it leads neither to the web nor to a file: ${plain(nameOf(href, 200))}`);
    return;
  }
  if (/^(https?|mailto):/i.test(address)) {
    // The editor asks before it opens what is not trusted.
    await vscode.env.openExternal(vscode.Uri.parse(address, true));
    return;
  }
  const file = /^file:/i.test(address) ? vscode.Uri.parse(address).fsPath : decoded(address);
  const place = /^(.*?)(?:#L|:)(\d+)(?:-L?\d+|:\d+)?$/.exec(file);
  const line = place?.[2];
  await openFile(place?.[1] ?? file.replace(/#.*$/, ""), line === undefined ? undefined : Number(line) - 1, cwd);
}

/** `line` counts from 0. */
export async function openFile(name: string, line: number | undefined, cwd: string | undefined): Promise<void> {
  // A place in the network would be asked for with the person's own name and word. Escapes are decoded by now.
  if (/^[\\/]{2}/.test(name)) {
    void vscode.window.showWarningMessage(`${plain(nameOf(name, 200))} was not opened, because it lies in the network.`);
    return;
  }
  const roots = [cwd, ...(vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath)].filter((one): one is string => one !== undefined);
  const candidates = path.isAbsolute(name) ? [name] : roots.map((root) => path.resolve(root, name));
  for (const candidate of candidates) {
    const uri = vscode.Uri.file(candidate);
    try {
      const stat = await vscode.workspace.fs.stat(uri);
      if (stat.type & vscode.FileType.Directory) {
        await vscode.commands.executeCommand("revealInExplorer", uri);
        return;
      }
      const selection = line === undefined ? undefined : new vscode.Range(line, 0, line, 0);
      await vscode.window.showTextDocument(uri, { preview: true, ...(selection === undefined ? {} : { selection }) });
      return;
    } catch {
      // It may lie in the next folder.
    }
  }
  void vscode.window.showWarningMessage(`There is no file ${plain(nameOf(name, 200))} that could be opened.`);
}

function decoded(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
