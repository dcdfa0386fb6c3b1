/**
 * Files and their lines, as rows of the chat list them.
 */
import type { DiffLine } from "../src/chat/diff";
import { shown } from "../src/chat/words";
import { below, beyondText } from "../src/proposals/beyond";
import type { FileFacts, PathName } from "../src/proposals/beyond";
import { button, el } from "./dom";
import { post } from "./host";
import type { RowContext } from "./rows";

export function fold(key: string, summary: (Node | string | undefined)[], body: () => (Node | string)[], open: boolean, context: RowContext, className: string): HTMLElement {
  const isOpen = context.folds.get(key) ?? open;
  const details = el("details", { class: className }, el("summary", {}, ...summary.filter((one) => one !== undefined)));
  details.open = isOpen;
  let filled = false;
  const fill = (): void => {
    if (details.open && !filled) {
      filled = true;
      details.append(...body());
    }
  };
  fill();
  details.addEventListener("toggle", () => {
    // That it was made open is told as well, and is not the person's doing.
    if (details.open !== isOpen || context.folds.has(key)) context.folds.set(key, details.open);
    fill();
  });
  return details;
}

/** A file by its name, and the folder that it is in behind that: two of one name are told apart. */
export function fileLink(path: string, folder: string, line: number | null = null): HTMLElement {
  const name = path.split(/[/\\]/).at(-1) ?? path;
  const around = below(folder, path).slice(0, -name.length - 1);
  const link = button(name, () => { post({ type: "file", path, line }); }, { class: "link", title: path });
  return el("span", { class: "file-name" }, link, around === "" ? undefined : el("span", { class: "dim" }, around));
}

/** Lines of a change that are drawn at once. */
const MOST_LINES = 400;

/** The lines of a change; `whole` is called once all of them are drawn. */
export function diffBox(lines: readonly DiffLine[], whole: () => void = () => undefined): HTMLElement {
  const sign = { added: "+", removed: "−", same: " ", head: "" };
  const names = { added: "added: ", removed: "removed: ", same: "", head: "" };
  const drawn = (line: DiffLine): HTMLElement => el("div", { class: `diff-line diff-${line.kind}`, attrs: line.kind === "same" ? {} : { "aria-label": shown(names[line.kind] + line.text) } }, el("span", { class: "sign", attrs: { "aria-hidden": "true" } }, sign[line.kind]), line.text || " ");
  const box = el("div", { class: "diff", attrs: { tabindex: "0" }, role: "group", label: "Change" }, ...lines.slice(0, MOST_LINES).map(drawn));
  if (lines.length <= MOST_LINES) {
    whole();
    return box;
  }
  const more = button(`Show ${lines.length - MOST_LINES} more lines`, () => {
    more.replaceWith(...lines.slice(MOST_LINES).map(drawn));
    whole();
  }, { class: "small" });
  box.append(more);
  return box;
}

/** How many lines come and go. */
export function countsOf({ added, removed }: { added: number; removed: number }): HTMLElement {
  return el("span", { class: "counts", label: `${added} lines added, ${removed} removed` }, el("span", { class: "plus" }, `+${added}`), el("span", { class: "minus" }, `−${removed}`));
}

/** What becomes of a file, and what its lines do not show of that. */
export function factsOf(file: FileFacts, nameOfPath: PathName): HTMLElement {
  const facts = [...(file.kind.type === "add" ? ["new"] : []), ...beyondText(file, nameOfPath)];
  return el("span", { class: "dim" }, facts.join(", "));
}
