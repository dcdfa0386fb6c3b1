/**
 * The row of what a command has changed by itself: each file with its lines, and the way back.
 */
import { unifiedLines } from "../src/chat/diff";
import type { Row } from "../src/chat/view";
import { undoneOf } from "../src/chat/view";
import { below } from "../src/proposals/beyond";
import type { PathName } from "../src/proposals/beyond";
import type { ChangedFile, ThreadItem } from "../src/protocol";
import { button, el } from "./dom";
import { countsOf, diffBox, factsOf, fileLink, fold } from "./files";
import { post } from "./host";
import type { RowContext } from "./rows";

export function commandChanges(row: Row, item: Extract<ThreadItem, { type: "commandChanges" }>, context: RowContext): Node[] {
  const view = context.view();
  const folder = view?.cwd ?? "";
  const nameOfPath: PathName = (path) => below(folder, path);
  const undone = view === undefined ? new Set<string>() : undoneOf(view, row);
  const more = item.more ?? 0;
  const left = item.changes.filter((change) => !undone.has(change.path));
  const undo = (changes: readonly ChangedFile[]): void => { post({ type: "undoChanges", itemId: item.id, paths: changes.flatMap(pathsOf) }); };
  const buttons = el("span", { class: "buttons" });
  // Which files are meant is in the list; where some are not listed, all of them.
  const undoAll = button("Undo", () => { undo(more > 0 ? [] : left); }, { class: "small", label: `Undo ${countWords(left.length + more)} that a command changed` });
  const keep = button("Keep", () => {
    context.keeps.add(row.key);
    window.dispatchEvent(new CustomEvent("remember"));
    buttons.replaceChildren(el("span", { class: "status" }, "kept"));
  }, { class: "small" });
  if (left.length === 0) buttons.append(el("span", { class: "status" }, "undone"));
  else if (context.keeps.has(row.key)) buttons.append(el("span", { class: "status" }, "kept"));
  else buttons.append(keep, undoAll);
  const sum = { added: total(item.changes, "added"), removed: total(item.changes, "removed") };
  const files = item.changes.map((change) => {
    const { diff } = change;
    const isUndone = undone.has(change.path);
    const summary = [
      fileLink(change.path, folder),
      factsOf({ kind: change.kind }, nameOfPath),
      change.added + change.removed > 0 ? countsOf(change) : undefined,
      isUndone ? el("span", { class: "status" }, "undone") : button("Undo", () => { undo([change]); }, { class: "small", label: `Undo the change of ${change.path}` }),
    ];
    const body = (): Node[] => [diff === undefined || diff === null ? el("p", { class: "dim" }, "The change is too long to be shown here. Open the file, or look at the diff of the turn.") : diffBox(unifiedLines(diff))];
    return fold(`${row.key}|${change.path}`, summary, body, false, context, "file");
  });
  const others = more > 0 ? [el("p", { class: "dim" }, `and ${countWords(more)} more`)] : [];
  return [el("div", { class: "proposal" }, el("div", { class: "title" }, "Changed by a command", el("span", { class: "dim" }, countWords(item.changes.length + more)), sum.added + sum.removed > 0 ? countsOf(sum) : undefined, buttons), ...files, ...others)];
}

function countWords(count: number): string {
  return count === 1 ? "1 file" : `${count} files`;
}

function total(changes: readonly ChangedFile[], which: "added" | "removed"): number {
  return changes.reduce((sum, change) => sum + change[which], 0);
}

/** A file that was moved has two paths. */
function pathsOf(change: ChangedFile): string[] {
  const to = change.kind.type === "update" ? change.kind.movePath : undefined;
  return to ? [change.path, to] : [change.path];
}
