/**
 * Takes the server's edits. The editor does the work and, for a refactoring, saves every file that it touched. That would
 * save text of the person's that they have not saved themselves, so here only files that were clean before are saved.
 */
import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditRequest, ApplyWorkspaceEditResult } from "vscode-languageclient/node";
import { CancellationToken } from "vscode-languageclient/node";
import { touchedFiles } from "./touched_files";

export async function applyEdit(
  params: ApplyWorkspaceEditParams,
  next: ApplyWorkspaceEditRequest.HandlerSignature,
): Promise<ApplyWorkspaceEditResult> {
  const token = CancellationToken.None;
  if (params.metadata?.isRefactoring !== true) {
    return settled(await next(params, token));
  }
  const touched = new Set(touchedFiles(params.edit).map((uri) => vscode.Uri.parse(uri).toString()));
  const unsaved = new Set(vscode.workspace.textDocuments.filter((document) => document.isDirty).map((document) => document.uri.toString()));
  const result = settled(await next({ ...params, metadata: { ...params.metadata, isRefactoring: false } }, token));
  if (vscode.workspace.getConfiguration("files").get<boolean>("refactoring.autoSave", true)) {
    // Also after a refusal: the editor keeps the files that it changed before the one that failed.
    for (const document of vscode.workspace.textDocuments) {
      const uri = document.uri.toString();
      if (document.isDirty && touched.has(uri) && !unsaved.has(uri)) {
        await document.save();
      }
    }
  }
  return result;
}

function settled(answer: ApplyWorkspaceEditResult | Error): ApplyWorkspaceEditResult {
  return answer instanceof Error ? { applied: false, failureReason: answer.message } : answer;
}
