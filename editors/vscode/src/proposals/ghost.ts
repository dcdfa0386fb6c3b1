/**
 * The new text of a change, as it stands in the file beside the lines that it replaces. An editor has no room between lines for an extension,
 * so each line that goes has the one that comes in its place behind it; what is left over is joined. No editor here, so that plain node can test it.
 */
import { cut, visibleText } from "../chat/words";
import type { Hunk } from "../protocol";

/** What is shown behind one line (characters): about what is seen of it without scrolling to the side. */
const MOST = 160;
const LINE_END = " ⏎ ";

export interface Ghost {
  /** Of the file, from 0; where text comes between two lines, the one above. */
  readonly line: number;
  readonly text: string;
}

/** What stands behind the lines of a hunk. Lines that stay the same have nothing behind them. */
export function ghostsOf({ range, oldText, newText }: Pick<Hunk, "range" | "oldText" | "newText">): Ghost[] {
  const [goes, comes] = [linesOf(oldText), linesOf(newText)];
  if (comes.length === 0) {
    return [];
  }
  if (range.start === range.end || goes.length === 0) {
    return [{ line: Math.max(0, range.start - 1), text: `+ ${joined(comes)}` }];
  }
  // Each line that goes but the last has one that comes; the last has the rest.
  const pairs = goes.map((line, at) => ({ line, comes: at < goes.length - 1 ? comes.slice(at, at + 1) : comes.slice(at) }));
  return pairs.flatMap(({ line, comes: behind }, at) => (behind.length === 0 || (behind.length === 1 && behind[0] === line) ? [] : [{ line: range.start + at, text: `→ ${joined(behind)}` }]));
}

function linesOf(text: string): string[] {
  const lines = text.replace(/\r\n|\r/g, "\n").replace(/\n$/, "").split("\n");
  return text === "" ? [] : lines;
}

/** Lines in one, without their indent, and what hides in them shown; how many did not fit is said. */
function joined(lines: readonly string[]): string {
  let text = "";
  for (const [at, line] of lines.entries()) {
    const next = visibleText(line.replace(/\t/g, "  ")).trim();
    if (at > 0 && text.length + LINE_END.length + next.length > MOST) {
      const left = lines.length - at;
      return `${text} … ${left} more ${left === 1 ? "line" : "lines"}`;
    }
    text += (at > 0 ? LINE_END : "") + cut(next, MOST);
  }
  return text;
}
