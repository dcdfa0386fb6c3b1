/**
 * What can be told of an edit by looking at it. No editor here, so that plain node can test it.
 */
import type { WorkspaceEdit } from "vscode-languageclient/node";

/**
 * The URIs of all files whose text the edit changes, each once, in order. Files that are only created, moved or deleted are
 * not among them: those operations are on the disk at once.
 */
export function editedFiles(edit: WorkspaceEdit): string[] {
  const edited = new Set(Object.keys(edit.changes ?? {}));
  for (const change of edit.documentChanges ?? []) {
    if ("textDocument" in change && change.edits.length > 0) {
      edited.add(change.textDocument.uri);
    }
  }
  return [...edited];
}

/** The version of each document that the edit was made against, where it says so. */
export function expectedVersions(edit: WorkspaceEdit): [uri: string, version: number][] {
  return (edit.documentChanges ?? []).flatMap((change): [string, number][] => {
    const version = "textDocument" in change ? change.textDocument.version : null;
    return "textDocument" in change && version !== null && version >= 0 ? [[change.textDocument.uri, version]] : [];
  });
}

/** Whether the editor shows the edit to the person before it is made. */
export function asksForReview(edit: WorkspaceEdit): boolean {
  return Object.values(edit.changeAnnotations ?? {}).some((annotation) => annotation.needsConfirmation === true);
}
