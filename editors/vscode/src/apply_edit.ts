/**
 * Takes the server's edits. The editor does the work; it either saves every file that a refactoring touched, also text that
 * the person has not saved, or leaves all of them unsaved, also files that are not open. So saving is done here: what was
 * clean before a reviewed change is saved after it, what was not stays as the person left it.
 */
import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditRequest, ApplyWorkspaceEditResult } from "vscode-languageclient/node";
import { CancellationToken } from "vscode-languageclient/node";
import { asksForReview, editedFiles } from "./edited_files";

/** How long the editor may take, after it has applied an edit, to tell its extensions of the changed documents. */
const SETTLE_MS = 2000;

export async function applyEdit(
  params: ApplyWorkspaceEditParams,
  next: ApplyWorkspaceEditRequest.HandlerSignature,
): Promise<ApplyWorkspaceEditResult> {
  const token = CancellationToken.None;
  if (params.metadata?.isRefactoring !== true && !asksForReview(params.edit)) {
    return settled(await next(params, token));
  }
  const unsaved = new Set(vscode.workspace.textDocuments.filter((document) => document.isDirty).map((document) => document.uri.toString()));
  const clean = editedFiles(params.edit)
    .map((uri) => vscode.Uri.parse(uri).toString())
    .filter((uri) => !unsaved.has(uri));
  const result = settled(await next({ ...params, metadata: { ...params.metadata, isRefactoring: false } }, token));
  if (result.applied && vscode.workspace.getConfiguration("files").get<boolean>("refactoring.autoSave", true)) {
    await saveOnceChanged(new Set(clean));
  }
  return result;
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

function settled(answer: ApplyWorkspaceEditResult | Error): ApplyWorkspaceEditResult {
  return answer instanceof Error ? { applied: false, failureReason: answer.message } : answer;
}
