/**
 * What a file that is open by itself shows of the changes that wait in it: which lines go, where some come, the new text, and what was accepted.
 */
import * as vscode from "vscode";
import { visibleText } from "../chat/words";
import { ghostsOf } from "./ghost";
import { hunkWords } from "./state";
import type { Proposals } from "./store";

interface Kinds {
  readonly goes: vscode.TextEditorDecorationType;
  readonly comes: vscode.TextEditorDecorationType;
  /** The new text, behind the old. */
  readonly ghost: vscode.TextEditorDecorationType;
}

export class Marks implements vscode.Disposable {
  private kinds = kindsOf(vscode.window.activeColorTheme);
  /** Accepted, and not in the file yet. */
  private readonly accepted = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("editorCodeLens.foreground"), margin: "0 0 0 2em" },
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
  });
  private readonly cleanup: { dispose(): unknown }[];

  constructor(
    private readonly proposals: Proposals,
    private readonly isPreviewed: () => boolean,
  ) {
    this.cleanup = [
      { dispose: () => { this.clear(); } },
      this.accepted,
      vscode.window.onDidChangeActiveColorTheme((theme) => {
        this.clear();
        this.kinds = kindsOf(theme);
        this.draw();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => { this.draw(); }),
      proposals.onChange(() => { this.draw(); }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  private clear(): void {
    vscode.Disposable.from(this.kinds.goes, this.kinds.comes, this.kinds.ghost).dispose();
  }

  private draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme === "file" || editor.document.uri.scheme === "untitled") this.drawIn(editor);
    }
  }

  private drawIn(editor: vscode.TextEditor): void {
    const { document } = editor;
    // A diff editor has marks of its own, and two colours over each other are hard to read.
    const isPlain = !this.isPreviewed() && !isSideOfDiff(editor);
    const hunks = isPlain ? this.proposals.hunksOf(document.uri) : [];
    const marks = (empty: boolean): vscode.DecorationOptions[] =>
      hunks
        .filter(({ hunk }) => (hunk.range.start === hunk.range.end) === empty)
        .map(({ hunk }) => ({ range: new vscode.Range(hunk.range.start, 0, Math.max(hunk.range.start, hunk.range.end - 1), 0), hoverMessage: new vscode.MarkdownString().appendCodeblock(visibleText(hunk.newText) || "(nothing)", document.languageId) }));
    editor.setDecorations(this.kinds.goes, marks(false));
    editor.setDecorations(this.kinds.comes, marks(true));
    const behind = (line: number, contentText: string): vscode.DecorationOptions => ({ range: endOfLine(document, line), renderOptions: { after: { contentText } } });
    // One in conflict lies where its text was; what it would put there nobody can tell.
    const ghosts = hunks.filter(({ hunk }) => hunk.status === "pending").flatMap(({ hunk }) => ghostsOf(hunk));
    editor.setDecorations(this.kinds.ghost, ghosts.map(({ line, text }) => behind(line, text)));
    const taken = isPlain ? this.proposals.hunksOf(document.uri, ({ status }) => status === "accepted") : [];
    editor.setDecorations(this.accepted, taken.map(({ proposal, hunk }) => behind(hunk.range.start, `✓ ${hunkWords(proposal, hunk)}`)));
  }
}

/** How a file shows the lines that go, and where some come. High contrast has no fills, so there a border says it. */
function kindsOf({ kind }: vscode.ColorTheme): Kinds {
  const isContrast = kind === vscode.ColorThemeKind.HighContrast || kind === vscode.ColorThemeKind.HighContrastLight;
  const goes = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.removedLineBackground"),
    ...(isContrast ? { borderStyle: "dashed", borderWidth: "1px", borderColor: new vscode.ThemeColor("contrastActiveBorder") } : {}),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.modifiedForeground"),
  });
  const comes = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderStyle: "solid",
    borderWidth: "1px 0 0 0",
    borderColor: new vscode.ThemeColor(isContrast ? "contrastActiveBorder" : "editorOverviewRuler.addedForeground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
  });
  const ghost = vscode.window.createTextEditorDecorationType({
    // Typing at the end of the line is not typing in it.
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    after: {
      // On the editor's own ground: on that of a line that goes it would be the color of neither.
      color: new vscode.ThemeColor("gitDecoration.addedResourceForeground"),
      backgroundColor: new vscode.ThemeColor("editor.background"),
      margin: "0 0 0 2em",
      ...(isContrast ? { border: "1px solid", borderColor: new vscode.ThemeColor("contrastActiveBorder") } : {}),
    },
  });
  return { goes, comes, ghost };
}

function endOfLine(document: vscode.TextDocument, line: number): vscode.Range {
  return document.lineAt(Math.max(0, Math.min(line, document.lineCount - 1))).range;
}

/** Whether an editor is the left side of a diff editor, which the editor gives no column. */
function isSideOfDiff(editor: vscode.TextEditor): boolean {
  const uri = editor.document.uri.toString();
  return editor.viewColumn === undefined && vscode.window.tabGroups.all.some(({ activeTab }) => activeTab?.input instanceof vscode.TabInputTextDiff && activeTab.input.original.toString() === uri);
}
