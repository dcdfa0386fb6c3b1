/**
 * Takes the server's edits. The editor does the work; it either saves every file that a refactoring touched, also text that
 * the person has not saved, or leaves all of them unsaved, also files that are not open. So saving is done here: what was
 * clean before a reviewed change is saved after it, what was not stays as the person left it.
 *
 * The client's own handler is replaced, not wrapped: it does not hear that the server takes its question back, and the
 * preview of what was decided elsewhere would stay open, ready to put the same change in once more.
 */
import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult, LanguageClient, WorkspaceEdit } from "vscode-languageclient/node";
import { ApplyWorkspaceEditRequest } from "vscode-languageclient/node";
import { asksForReview, editedFiles, expectedVersions } from "./edited_files";

/** How long the editor may take, after it has applied an edit, to tell its extensions of the changed documents. */
const SETTLE_MS = 2000;
/** How long a person must have paused before a preview is made anew. */
const PAUSE_MS = 1500;
/** How long a preview may take, once it is there, to take the focus. */
const FOCUS_MS = 300;
/** Scheme of the documents by which the preview shows files as they would be. */
const PREVIEWED = "vscode-bulkeditpreview";

/** To be called before the client starts, so that no edit goes past it. */
export function takeEdits(client: LanguageClient): void {
  client.onRequest(ApplyWorkspaceEditRequest.type, (params, token) => applyEdit(client, params, token));
}

async function applyEdit(client: LanguageClient, params: ApplyWorkspaceEditParams, token: vscode.CancellationToken): Promise<ApplyWorkspaceEditResult> {
  const isReview = asksForReview(params.edit);
  if (!isReview && params.metadata?.isRefactoring !== true) {
    return applied(client, params.edit, params.metadata?.isRefactoring);
  }
  const unsaved = new Set(vscode.workspace.textDocuments.filter((document) => document.isDirty).map((document) => document.uri.toString()));
  const clean = editedFiles(params.edit)
    .map((uri) => vscode.Uri.parse(uri).toString())
    .filter((uri) => !unsaved.has(uri));
  const watch = isReview ? new PreviewWatch(params.edit, token) : undefined;
  const result = await applied(client, params.edit, false).finally(() => watch?.dispose());
  if (!result.applied && watch?.outdated === true) {
    return { applied: false, failureReason: "the files have changed since the preview was made" };
  }
  if (result.applied && vscode.workspace.getConfiguration("files").get<boolean>("refactoring.autoSave", true)) {
    await saveOnceChanged(new Set(clean));
  }
  return result;
}

/** Looks after the editor's preview while it is open. */
class PreviewWatch implements vscode.Disposable {
  /** It was closed because the person went on typing; the server makes another one. */
  outdated = false;
  private readonly cleanup: vscode.Disposable[];
  private pause: NodeJS.Timeout | undefined;
  private back: NodeJS.Timeout | undefined;

  constructor(edit: WorkspaceEdit, token: vscode.CancellationToken) {
    const files = new Set(editedFiles(edit).map((uri) => vscode.Uri.parse(uri).toString()));
    this.cleanup = [
      // It was decided elsewhere: nothing may be left that puts the change in once more.
      token.onCancellationRequested(discard),
      // The editor would show a wrong difference, and refuse all of it in the end.
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && files.has(document.uri.toString())) {
          clearTimeout(this.pause);
          this.pause = setTimeout(() => {
            this.outdated = true;
            discard();
          }, PAUSE_MS);
        }
      }),
      // The person may be typing: keys must not land on what decides.
      vscode.workspace.onDidOpenTextDocument((document) => {
        if (document.uri.scheme.startsWith(PREVIEWED) && this.back === undefined && vscode.window.activeTextEditor !== undefined) {
          focusEditor();
          this.back = setTimeout(focusEditor, FOCUS_MS);
        }
      }),
    ];
    if (token.isCancellationRequested) {
      discard();
    }
  }

  dispose(): void {
    clearTimeout(this.pause);
    clearTimeout(this.back);
    for (const item of this.cleanup) {
      item.dispose();
    }
  }
}

/** Closes the editor's preview, which counts as a no. */
function discard(): void {
  void vscode.commands.executeCommand("refactorPreview.discard");
}

function focusEditor(): void {
  void vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
}

async function applied(client: LanguageClient, edit: WorkspaceEdit, isRefactoring: boolean | undefined): Promise<ApplyWorkspaceEditResult> {
  const converted = await client.protocol2CodeConverter.asWorkspaceEdit(edit);
  // Nothing may come between this look and the edit, or it could be made against a text that has changed.
  for (const [uri, version] of expectedVersions(edit)) {
    const wanted = vscode.Uri.parse(uri).toString();
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === wanted);
    if (document !== undefined && document.version !== version) {
      return { applied: false, failureReason: `${vscode.workspace.asRelativePath(document.uri)} has changed meanwhile` };
    }
  }
  return { applied: await vscode.workspace.applyEdit(converted, isRefactoring === undefined ? undefined : { isRefactoring }) };
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
