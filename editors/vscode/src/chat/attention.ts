/**
 * What the person looks at in the editor: told to the model beside their words.
 */
import * as vscode from "vscode";
import type { EditorContext, EditorDiagnostic } from "../protocol";

/** Problems of the file in view that go along. */
const MOST_PROBLEMS = 30;

const SEVERITY = ["error", "warning", "information", "hint"] as const;

/** The file editor that was in use last: a chat in the middle of the window is none. */
export class Attention implements vscode.Disposable {
  private last = fileEditor(vscode.window.activeTextEditor);
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onChange = this.changes.event;
  private readonly cleanup = [
    this.changes,
    vscode.window.onDidChangeActiveTextEditor((editor) => {
      this.last = fileEditor(editor) ?? (vscode.window.visibleTextEditors.includes(this.last as vscode.TextEditor) ? this.last : undefined);
      this.changes.fire();
    }),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
      if (textEditor === this.last) this.changes.fire();
    }),
  ];

  get editor(): vscode.TextEditor | undefined {
    return this.last?.document.isClosed === true ? undefined : this.last;
  }

  /** The selected lines, counted from 1 and with the last; undefined if nothing is selected. */
  get lines(): { start: number; end: number } | undefined {
    const selection = this.editor?.selection;
    return selection === undefined || selection.isEmpty ? undefined : { start: selection.start.line + 1, end: lastLine(selection) + 1 };
  }

  /** The selected lines, or that of the cursor, as a place that commands are about: counted from 0, half open, with their problems. */
  get place(): { uri: string; lines: { start: number; end: number }; diagnostics: EditorDiagnostic[] } | undefined {
    const editor = this.editor;
    if (editor === undefined) {
      return undefined;
    }
    const { selection, document } = editor;
    const lines = { start: selection.start.line, end: lastLine(selection) + 1 };
    return { uri: document.uri.toString(), lines, diagnostics: problemsOf(document.uri).filter(({ range }) => range.start < lines.end && range.end > lines.start) };
  }

  context(leaveOut: readonly ("activeFile" | "selection")[]): EditorContext {
    const editor = this.editor;
    if (editor === undefined || leaveOut.includes("activeFile")) {
      return { leaveOut: [...leaveOut] };
    }
    const { selection, document } = editor;
    return {
      activeFile: document.uri.fsPath,
      selection: selection.isEmpty || leaveOut.includes("selection") ? null : { start: selection.start.line, end: lastLine(selection) + 1 },
      diagnostics: problemsOf(document.uri).slice(0, MOST_PROBLEMS),
      leaveOut: [...leaveOut],
    };
  }

  dispose(): void {
    vscode.Disposable.from(...this.cleanup).dispose();
  }
}

export function problemsOf(uri: vscode.Uri): EditorDiagnostic[] {
  return vscode.languages
    .getDiagnostics(uri)
    // Its own hints and findings are no news to the agent.
    .filter((one) => one.source?.startsWith("countersign") !== true)
    .map((one) => ({
      path: uri.fsPath,
      range: { start: one.range.start.line, end: one.range.end.line + 1 },
      severity: SEVERITY[one.severity],
      source: one.source ?? null,
      code: one.code === undefined ? null : String(typeof one.code === "object" ? one.code.value : one.code),
      message: one.message,
    }));
}

function fileEditor(editor: vscode.TextEditor | undefined): vscode.TextEditor | undefined {
  return editor?.document.uri.scheme === "file" ? editor : undefined;
}

/** A selection that ends before the first sign of a line does not hold that line. */
function lastLine(selection: vscode.Selection): number {
  return selection.end.character === 0 && selection.end.line > selection.start.line ? selection.end.line - 1 : selection.end.line;
}
