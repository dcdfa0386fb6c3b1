/**
 * Looks after the editor's preview of an edit while it is open: it goes when its question is taken back, it does not keep the
 * focus, and it does not stay when its files change. The editor would then show a wrong difference, and refuse all in the end.
 */
import * as vscode from "vscode";
import type { ApplyWorkspaceEditResult, WorkspaceEdit } from "vscode-languageclient/node";
import { editedFiles } from "./edited_files";

/** How long a person must have paused before the preview is given up for what was typed. */
const TYPING_MS = 1500;
/** How long a file on disk must have been left alone. */
const DISK_MS = 300;
/** How long a preview may take, once it is there, to take the focus. */
const FOCUS_MS = 300;
/** Scheme of the documents by which the preview shows files as they would be. */
const PREVIEWED = "vscode-bulkeditpreview";

/** How a preview ends: as the person wants, or because its texts have changed, or because files were written as they were. */
export type End = ApplyWorkspaceEditResult | "outdated" | "touched";

export class Preview implements vscode.Disposable {
  private readonly cleanup: vscode.Disposable[] = [];
  private pause: NodeJS.Timeout | undefined;
  private back: NodeJS.Timeout | undefined;

  private constructor(
    /** The texts of the files that are not open, which the edit was made for. */
    private readonly closed: ReadonlyMap<string, string | undefined>,
    private readonly files: ReadonlySet<string>,
    private readonly token: vscode.CancellationToken,
  ) {}

  static async of(edit: WorkspaceEdit, token: vscode.CancellationToken): Promise<Preview> {
    const files = new Set(editedFiles(edit).map((uri) => vscode.Uri.parse(uri).toString()));
    const open = new Set(vscode.workspace.textDocuments.map((document) => document.uri.toString()));
    const texts = [...files].filter((uri) => !open.has(uri)).map(async (uri) => [uri, await textOnDisk(uri)] as const);
    return new Preview(new Map(await Promise.all(texts)), files, token);
  }

  /** Shows the preview, which `show` opens and which is over when it resolves. */
  async during(show: () => Promise<ApplyWorkspaceEditResult>): Promise<End> {
    if (this.token.isCancellationRequested) {
      return { applied: false };
    }
    let end: End | undefined;
    let isOver = false;
    this.watch((why) => {
      if (!isOver) {
        end = why;
        discard();
      }
    });
    try {
      const result = await show();
      return result.applied || end === undefined ? result : end;
    } finally {
      isOver = true;
      this.dispose();
    }
  }

  dispose(): void {
    clearTimeout(this.pause);
    clearTimeout(this.back);
    this.back = undefined;
    for (const item of this.cleanup.splice(0)) {
      item.dispose();
    }
  }

  private watch(giveUp: (why: "outdated" | "touched") => void): void {
    const disk = vscode.workspace.createFileSystemWatcher("**/*");
    const touched = (uri: vscode.Uri): void => {
      if (this.closed.has(uri.toString())) {
        // The news may also come after the edit was made for what was written.
        this.after(DISK_MS, () => void this.isAsItWas().then((same) => { giveUp(same ? "touched" : "outdated"); }));
      }
    };
    this.cleanup.push(
      // It was decided elsewhere: nothing may be left that puts the change in once more.
      this.token.onCancellationRequested(discard),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0 && this.files.has(document.uri.toString())) {
          this.after(TYPING_MS, () => { giveUp("outdated"); });
        }
      }),
      disk,
      disk.onDidChange(touched),
      disk.onDidCreate(touched),
      disk.onDidDelete(touched),
      // The person may be typing: keys must not land on what decides.
      vscode.workspace.onDidOpenTextDocument((document) => {
        if (document.uri.scheme.startsWith(PREVIEWED) && this.back === undefined && vscode.window.activeTextEditor !== undefined) {
          focusEditor();
          this.back = setTimeout(focusEditor, FOCUS_MS);
        }
      }),
    );
  }

  private after(ms: number, then: () => void): void {
    clearTimeout(this.pause);
    this.pause = setTimeout(then, ms);
  }

  /** Whether the files on disk hold what the edit was made for. */
  private async isAsItWas(): Promise<boolean> {
    const texts = await Promise.all([...this.closed].map(async ([uri, text]) => (await textOnDisk(uri)) === text));
    return texts.every(Boolean);
  }
}

/** The text of a file, whatever its encoding; undefined if it cannot be read. */
async function textOnDisk(uri: string): Promise<string | undefined> {
  try {
    return Buffer.from(await vscode.workspace.fs.readFile(vscode.Uri.parse(uri))).toString("latin1");
  } catch {
    return undefined;
  }
}

/** Closes the editor's preview, which counts as a no. */
function discard(): void {
  void vscode.commands.executeCommand("refactorPreview.discard");
}

function focusEditor(): void {
  void vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
}
