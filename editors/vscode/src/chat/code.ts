/**
 * What can be done with a code block of an answer.
 */
import * as vscode from "vscode";
import type { EditorContext, LineRange } from "../protocol";
import type { Attention } from "./attention";
import { fitted, leavesOut, placesOf } from "./placement";
import { nameOf } from "./words";

/** Places that are offered, at most. */
const MOST_PLACES = 5;

/** Has the agent do something, with what the editor shows. */
export type Ask = (words: string, context: EditorContext) => Promise<void>;

type Choice = vscode.QuickPickItem & { readonly act: () => Promise<unknown> };

export class CodeActions {
  constructor(private readonly attention: Attention) {}

  async run(action: "copy" | "insert" | "apply", code: string, ask: Ask): Promise<void> {
    const { editor } = this.attention;
    if (action === "copy") {
      await vscode.env.clipboard.writeText(code);
      vscode.window.setStatusBarMessage("Copied", 2000);
    } else if (editor === undefined) {
      await newFile(code);
    } else if (action === "insert") {
      await insert(editor, code);
    } else {
      await this.apply(editor, code, ask);
    }
  }

  /** Puts the code where the person has selected, or where it belongs; where that cannot be told, they say where. */
  private async apply(editor: vscode.TextEditor, code: string, ask: Ask): Promise<void> {
    const { document, selection } = editor;
    if (!selection.isEmpty) {
      await replace(document, selection, selection.isSingleLine ? code.replace(/\n$/, "") : code, "the selection");
      return;
    }
    const text = document.getText();
    // What leaves lines out would delete them where it is put in the place of the whole.
    const places = leavesOut(code) ? [] : placesOf(text, code);
    const [only, ...others] = places;
    if (only !== undefined && others.length === 0) {
      await replaceLines(document, code, only);
      return;
    }
    const name = nameOf(vscode.workspace.asRelativePath(document.uri));
    const chosen = await vscode.window.showQuickPick<Choice>(
      [
        ...places.slice(0, MOST_PLACES).map((place) => ({ label: `$(replace) Replace ${linesWords(place)}`, description: document.lineAt(place.start).text.trim(), act: () => replaceLines(document, code, place) })),
        { label: "$(comment-discussion) Have the agent apply it", description: "proposes a change that you review", act: () => ask(`Apply this code to ${name}, where it belongs:\n\n${fenced(code)}`, this.attention.context([])) },
        { label: `$(insert) Insert at line ${selection.active.line + 1}`, description: "at the cursor", act: () => insert(editor, code) },
        { label: "$(new-file) Open in a new file", act: () => newFile(code) },
        { label: "$(warning) Replace the whole file", description: `all ${document.lineCount} lines of ${name}`, act: () => replace(document, new vscode.Range(0, 0, document.lineCount, 0), code, "the whole file") },
      ],
      { title: `Where does this code go in ${name}?`, ...(leavesOut(code) ? { placeHolder: "It leaves lines out (“…”), so it cannot take the place of any by itself" } : {}) },
    );
    await chosen?.act();
  }
}

async function newFile(code: string): Promise<void> {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content: code }));
}

async function insert({ document, viewColumn }: vscode.TextEditor, code: string): Promise<void> {
  const shown = await vscode.window.showTextDocument(document, viewColumn);
  await shown.edit((edit) => { edit.insert(shown.selection.active, code); });
}

function replaceLines(document: vscode.TextDocument, code: string, lines: LineRange): Promise<void> {
  const range = document.validateRange(new vscode.Range(lines.start, 0, lines.end, 0));
  return replace(document, range, fitted(document.getText(), code, lines), linesWords(lines));
}

/** Nothing changes unseen: the editor's own preview asks. */
async function replace(document: vscode.TextDocument, range: vscode.Range, code: string, what: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, range, code, { needsConfirmation: true, label: `Replace ${what}`, description: "from the chat" });
  await vscode.workspace.applyEdit(edit, { isRefactoring: true });
}

function linesWords({ start, end }: LineRange): string {
  return end > start + 1 ? `lines ${start + 1}–${end}` : `line ${start + 1}`;
}

/** In a fence that nothing in it ends. */
function fenced(code: string): string {
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${code.replace(/\n$/, "")}\n${fence}`;
}
