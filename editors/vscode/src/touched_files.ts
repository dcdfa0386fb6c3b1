/**
 * Which files an edit touches. No editor here, so that plain node can test it.
 */
import type { WorkspaceEdit } from "vscode-languageclient/node";

/** The URIs of all files whose text the edit changes or that it creates, each once, in order. */
export function touchedFiles(edit: WorkspaceEdit): string[] {
  const touched = new Set(Object.keys(edit.changes ?? {}));
  for (const change of edit.documentChanges ?? []) {
    if ("textDocument" in change) {
      touched.add(change.textDocument.uri);
    } else if (change.kind === "create") {
      touched.add(change.uri);
    } else if (change.kind === "rename") {
      touched.add(change.newUri);
    }
  }
  return [...touched];
}
