/**
 * Where a code block of an answer belongs in a file: in the place of the definition that it replaces. Only where that can be told from the text alone;
 * otherwise the caller has to ask the person. No editor here, so that plain node can test it.
 */
import type { LineRange } from "../protocol";

/** What goes on with a block, or closes it, at the depth at which it began. */
const GOES_ON = /^(?:[{})\]]|else\b|elif\b|except\b|catch\b|finally\b|end\b|fi\b|done\b|esac\b|<\/)/;

/** What stands before a definition and belongs to it: comments, attributes, decorators. */
const BEFORE = /^(?:\/\/|\/\*|\*|#(?!include|define|import|pragma|if|end)|--|;|@|<!--)/;

/** A line that stands for others that the code does not repeat. */
const LEFT_OUT = /^(?:(?:\/\/|#|--|;|%|\/\*|<!--|\{\/\*)\s*)?(?:\.\.\.|…)(?:\s|$)|^(?:\/\/|#|--|\/\*|<!--)\s*(?:rest of|existing code|unchanged|same as before)\b|^(?:\/\/|#|--|\/\*|<!--).*(?:\.\.\.|…)\s*(?:\*\/|-->)?$/i;

/** Whether code leaves lines out, and says so. */
export function leavesOut(code: string): boolean {
  return linesOf(code).some((line) => LEFT_OUT.test(line.trim()));
}

/**
 * The places, best first: where the first block of the code begins in the text, over all its blocks, which have to follow one another there
 * as well. Empty where the code begins with something else, or what is between would be lost.
 */
export function placesOf(text: string, code: string): LineRange[] {
  const [lines, wanted] = [linesOf(text), trimmed(linesOf(code))];
  const [head, ...others] = headsOf(wanted);
  if (head === undefined) {
    return [];
  }
  const withBefore = wanted[0]?.trim() !== head;
  const places = lines.flatMap((line, at) => {
    const end = line.trim() === head ? endOf(lines, at) : at;
    if (end <= at + 1) return [];
    const all = followed(lines, end, others);
    const start = withBefore ? startOf(lines, at) : at;
    return isElsewhere(lines, { start, end: all }, others) ? [] : [{ start, end: all, likeness: likeness(lines.slice(start, all), wanted) }];
  });
  return places.sort((a, b) => b.likeness - a.likeness || a.start - b.start).map(({ start, end }) => ({ start, end }));
}

/** The code as it is put in the place of these lines: as deep as they are, and with the line ends that the text has. */
export function fitted(text: string, code: string, { start, end }: LineRange): string {
  const lines = trimmed(linesOf(code));
  const all = linesOf(text);
  const [here, there] = [indentOf(lines[0] ?? ""), indentOf(all[start] ?? "")];
  const moved = lines.map((line) => (line.trim() === "" ? line : line.startsWith(here) ? there + line.slice(here.length) : line));
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const isAtEnd = end >= all.length && !text.endsWith("\n");
  return moved.join(eol) + (isAtEnd ? "" : eol);
}

/** The lines with which blocks of the code begin, as deep as the whole. */
function headsOf(code: readonly string[]): string[] {
  const depth = indentOf(code[0] ?? "").length;
  return code.map((line) => ({ deep: indentOf(line).length, words: line.trim() })).filter(({ deep, words }) => words !== "" && deep === depth && !GOES_ON.test(words) && !BEFORE.test(words)).map(({ words }) => words);
}

/** Behind the block that begins in a line: what is deeper, blank lines between, and what closes it. */
function endOf(lines: readonly string[], start: number): number {
  const depth = indentOf(lines[start] ?? "").length;
  let end = start + 1;
  for (let at = start + 1; at < lines.length; at++) {
    const words = lines[at]?.trim() ?? "";
    const deep = indentOf(lines[at] ?? "").length;
    if (words === "") continue;
    if (deep < depth || (deep === depth && !GOES_ON.test(words))) break;
    end = at + 1;
  }
  return end;
}

/** From the comments and attributes right above a line. */
function startOf(lines: readonly string[], at: number): number {
  const depth = indentOf(lines[at] ?? "").length;
  let start = at;
  while (start > 0 && BEFORE.test(lines[start - 1]?.trim() ?? "") && indentOf(lines[start - 1] ?? "").length >= depth) start -= 1;
  return start;
}

/** The end of the blocks of these heads that follow, with nothing between. */
function followed(lines: readonly string[], from: number, heads: readonly string[]): number {
  let end = from;
  for (const head of heads) {
    let at = end;
    while (at < lines.length && (lines[at]?.trim() === "" || BEFORE.test(lines[at]?.trim() ?? ""))) at += 1;
    if (lines[at]?.trim() === head) end = endOf(lines, at);
  }
  return end;
}

/** Whether something that the code has, too, stands outside of a place: it would be there twice. */
function isElsewhere(lines: readonly string[], { start, end }: LineRange, heads: readonly string[]): boolean {
  return lines.some((line, at) => (at < start || at >= end) && heads.includes(line.trim()));
}

/** How many of the code's lines are in these, in any order. */
function likeness(lines: readonly string[], wanted: readonly string[]): number {
  const have = new Set(lines.map((line) => line.trim()));
  return wanted.filter((line) => line.trim() !== "" && have.has(line.trim())).length;
}

function linesOf(text: string): string[] {
  return text.replace(/\r\n|\r/g, "\n").replace(/\n$/, "").split("\n");
}

/** Without blank lines before and behind. */
function trimmed(lines: readonly string[]): readonly string[] {
  const [from, to] = [lines.findIndex((line) => line.trim() !== ""), lines.findLastIndex((line) => line.trim() !== "")];
  return from < 0 ? [] : lines.slice(from, to + 1);
}

function indentOf(line: string): string {
  return /^[\t ]*/.exec(line)?.[0] ?? "";
}
