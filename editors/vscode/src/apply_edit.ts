/**
 * Takes the server's edits. The editor does the work; it either saves every file that a refactoring touched, also text that
 * the person has not saved, or leaves all of them unsaved, also files that are not open. So saving is done here, as the person's
 * setting says: by itself, what was clean before a change is saved after it, what was not stays as the person left it.
 *
 * The client's own handler is replaced, not wrapped: it does not hear that the server takes its question back, and the
 * preview of what was decided elsewhere would stay open, ready to put the same change in once more.
 */
import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult, LanguageClient, WorkspaceEdit } from "vscode-languageclient/node";
import { ApplyWorkspaceEditRequest } from "vscode-languageclient/node";
import { asksForReview, editedFiles, expectedVersions } from "./edited_files";
import { savePolicy } from "./preferences";
import { Preview } from "./preview";

/** How long the editor may take, after it has applied an edit, to tell its extensions of the changed documents. */
const SETTLE_MS = 2000;

/** To be called before the client starts, so that no edit goes past it. */
export function takeEdits(client: LanguageClient): void {
  client.onRequest(ApplyWorkspaceEditRequest.type, (params, token) => applyEdit(client, params, token));
}

async function applyEdit(client: LanguageClient, params: ApplyWorkspaceEditParams, token: vscode.CancellationToken): Promise<ApplyWorkspaceEditResult> {
  const unsaved = new Set(vscode.workspace.textDocuments.filter((document) => document.isDirty).map((document) => document.uri.toString()));
  const policy = savePolicy();
  const toSave = editedFiles(params.edit)
    .map((uri) => vscode.Uri.parse(uri).toString())
    .filter((uri) => policy === "always" || (policy === "clean" && !unsaved.has(uri)));
  const result = asksForReview(params.edit) ? await reviewed(client, params.edit, token) : await applied(client, params.edit);
  if (result.applied && vscode.workspace.getConfiguration("files").get<boolean>("refactoring.autoSave", true)) {
    await saveOnceChanged(new Set(toSave));
  }
  return result;
}

/** Shows the edit in the editor's preview, again where the editor would refuse it for no good reason. */
async function reviewed(client: LanguageClient, edit: WorkspaceEdit, token: vscode.CancellationToken): Promise<ApplyWorkspaceEditResult> {
  const preview = await Preview.of(edit, token);
  try {
    for (;;) {
      const end = await preview.during(() => applied(client, edit));
      if (end !== "touched") {
        return end === "outdated" ? { applied: false, failureReason: "the files have changed since the preview was made" } : end;
      }
    }
  } finally {
    preview.dispose();
  }
}

async function applied(client: LanguageClient, edit: WorkspaceEdit): Promise<ApplyWorkspaceEditResult> {
  const converted = await client.protocol2CodeConverter.asWorkspaceEdit(edit);
  // Nothing may come between this look and the edit, or it could be made against a text that has changed.
  for (const [uri, version] of expectedVersions(edit)) {
    const wanted = vscode.Uri.parse(uri).toString();
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === wanted);
    if (document !== undefined && document.version !== version) {
      return { applied: false, failureReason: `${vscode.workspace.asRelativePath(document.uri)} has changed meanwhile` };
    }
  }
  return { applied: await vscode.workspace.applyEdit(converted, { isRefactoring: false }) };
}

/**
 * Saves each of the documents as soon as it counts as changed. The edit may be done before its changes have come here,
 * and a person may have left out files in the preview, so neither can be told at once.
 */
async function saveOnceChanged(waiting: Set<string>): Promise<void> {
  const deadline = Date.now() + SETTLE_MS;
  while (waiting.size > 0 && Date.now() < deadline) {
    for (const document of vscode.workspace.textDocuments) {
      if (document.isDirty && waiting.delete(document.uri.toString())) {
        await document.save();
      }
    }
    if (waiting.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
