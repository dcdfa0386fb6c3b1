/**
 * The folders of the window: which of them the agent can work in, which one a new conversation gets, and which files are open in them.
 */
import * as vscode from "vscode";
import { fromFolder } from "./chat/mentions";
import type { FileMatch } from "./protocol";

/** Commands and the sandbox need files on a disk: a folder of another file system is none of these. */
export function foldersOnDisk(): vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
}

/** Names of the folders that the agent does not see. */
export function foldersElsewhere(): string[] {
  return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme !== "file").map((folder) => folder.name);
}

/** The folder for a new conversation; the person is asked where there are several and none is in use. Null if they chose none. */
export async function folderForConversation(): Promise<string | undefined | null> {
  const folders = foldersOnDisk();
  const active = vscode.window.activeTextEditor?.document.uri;
  const ofActive = active === undefined ? undefined : vscode.workspace.getWorkspaceFolder(active);
  if (ofActive?.uri.scheme === "file") {
    return ofActive.uri.fsPath;
  }
  if (folders.length <= 1) {
    return folders[0]?.uri.fsPath;
  }
  const items = folders.map((folder) => ({ label: folder.name, description: folder.uri.fsPath, path: folder.uri.fsPath }));
  const picked = await vscode.window.showQuickPick(items, { title: "New conversation", placeHolder: "Which folder should the agent work in?" });
  return picked === undefined ? null : picked.path;
}

/** A file's path as it is mentioned in a conversation that works in `cwd`; undefined if it is in no folder of the window. */
export function mentionedPath(uri: vscode.Uri, cwd: string | undefined): string | undefined {
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  if (folder?.uri.scheme !== "file") {
    return undefined;
  }
  const path = vscode.workspace.asRelativePath(uri, false);
  return foldersOnDisk().length > 1 ? fromFolder(path, folder.uri.fsPath, cwd) : path;
}

/** The files that are open in tabs, the one in view first: what one mentions most. */
export function openFiles(folder: string | undefined): FileMatch[] {
  const groups = vscode.window.tabGroups;
  const uris = [groups.activeTabGroup, ...groups.all.filter((group) => group !== groups.activeTabGroup)].flatMap((group) => {
    const files = group.tabs.flatMap(({ input, isActive }) => (input instanceof vscode.TabInputText ? [{ uri: input.uri, isActive }] : []));
    return [...files.filter((file) => file.isActive), ...files.filter((file) => !file.isActive)];
  });
  const matches = uris.flatMap(({ uri }): FileMatch[] => {
    const path = mentionedPath(uri, folder);
    const fileName = path?.split(/[/\\]/).at(-1);
    return path !== undefined && fileName !== undefined ? [{ root: folder ?? "", path, fileName, matchType: "file", score: 0, indices: [] }] : [];
  });
  return matches.filter((one, i) => matches.findIndex(({ path }) => path === one.path) === i).slice(0, 12);
}
