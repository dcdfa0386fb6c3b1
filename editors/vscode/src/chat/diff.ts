/**
 * A change of some lines, as lines to draw: what goes, what comes, and what stays between them.
 */
import { visibleText } from "./visible";

export interface DiffLine {
  readonly kind: "added" | "removed" | "same" | "head";
  readonly text: string;
}

/** More lines on both sides than this are not compared one by one. */
const MOST_COMPARED = 600;

/** The lines of a hunk. */
export function hunkLines(oldText: string, newText: string): DiffLine[] {
  const before = split(oldText);
  const after = split(newText);
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return [
    ...before.slice(0, head).map((text) => line("same", text)),
    ...compare(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map((text) => line("same", text)),
  ];
}

/** The lines of a unified diff, without the names of its files. */
export function unifiedLines(diff: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let inHunk = false;
  for (const text of split(diff)) {
    if (text.startsWith("@@")) {
      inHunk = true;
      lines.push(line("head", text));
    } else if (inHunk && text.startsWith("+")) {
      lines.push(line("added", text.slice(1)));
    } else if (inHunk && text.startsWith("-")) {
      lines.push(line("removed", text.slice(1)));
    } else if (inHunk && text.startsWith(" ")) {
      lines.push(line("same", text.slice(1)));
    } else if (inHunk && text !== "" && !text.startsWith("\\")) {
      inHunk = false;
    }
  }
  return lines;
}

/** The part of each file of a unified diff. */
export function fileParts(diff: string): string[] {
  return diff.split(/^(?=diff --git )/m).filter((part) => part.startsWith("diff --git "));
}

/** A diff that a turn has made in a folder, without some files. */
export function withoutFiles(diff: string, folder: string, paths: ReadonlySet<string>): string {
  const heads = [...paths].map((path) => `diff --git ${path.startsWith(`${folder}/`) ? `a/${path.slice(folder.length + 1)} b/` : `${path} `}`);
  return fileParts(diff).filter((part) => !heads.some((head) => part.startsWith(head))).join("");
}

/** A unified diff as a text that may be seen. */
export function diffText(diff: string): string {
  return visibleText(diff.replaceAll("\r\n", "\n"));
}

/** How many lines come and go. */
export function counts(lines: readonly DiffLine[]): { added: number; removed: number } {
  return { added: lines.filter((one) => one.kind === "added").length, removed: lines.filter((one) => one.kind === "removed").length };
}

function split(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((one) => one.replace(/\r$/, ""));
}

const line = (kind: DiffLine["kind"], text: string): DiffLine => ({ kind, text });

/** By the longest common subsequence where that is cheap, else all of the old before all of the new. */
function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const [n, m] = [before.length, after.length];
  if (n === 0 || m === 0 || n * m > MOST_COMPARED * MOST_COMPARED) {
    return [...before.map((text) => line("removed", text)), ...after.map((text) => line("added", text))];
  }
  const longest = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  const at = (i: number, j: number): number => longest[i]?.[j] ?? 0;
  for (let i = n - 1; i >= 0; i--) {
    const row = longest[i];
    if (row === undefined) continue;
    for (let j = m - 1; j >= 0; j--) {
      row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && before[i] === after[j]) {
      lines.push(line("same", before[i] ?? ""));
      i++;
      j++;
    } else if (i < n && (j >= m || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(line("removed", before[i] ?? ""));
      i++;
    } else {
      lines.push(line("added", after[j] ?? ""));
      j++;
    }
  }
  return lines;
}
