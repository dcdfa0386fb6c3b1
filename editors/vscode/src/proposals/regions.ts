/**
 * Which hunk of a proposal an edit of its outcome belongs to. The outcome is the unchanged text with the hunks' new texts between; a
 * person may edit those, and nothing else. And which hunk lies at a line.
 */
import type { Hunk } from "../protocol";

export interface Region {
  readonly hunkId: string;
  /** Characters of the outcome, half open. */
  readonly start: number;
  readonly end: number;
}

/** Today's text with each hunk that is in it, and where those lie. A rejected or conflicting hunk leaves its lines as they are. */
export function outcome(current: string, hunks: readonly Hunk[]): { text: string; regions: Region[] } {
  const lines = current.split(/(?<=\n)/);
  const taken = hunks.filter((hunk) => hunk.status === "pending" || hunk.status === "accepted").sort((a, b) => a.range.start - b.range.start);
  let text = "";
  let line = 0;
  const regions: Region[] = [];
  for (const hunk of taken) {
    text += lines.slice(line, hunk.range.start).join("");
    const start = text.length;
    text += hunk.newText;
    regions.push({ hunkId: hunk.id, start, end: text.length });
    line = Math.max(line, hunk.range.end);
  }
  return { text: text + lines.slice(line).join(""), regions };
}

/** The outcome with line ends of one kind, since a text in the editor has no others: of the kind that the editor gives it. */
export function outcomeInEditor(current: string, hunks: readonly Hunk[]): { text: string; regions: Region[] } {
  const { text } = outcome(current, hunks);
  return outcome(withEnds(current, text), hunks.map((hunk) => ({ ...hunk, newText: withEnds(hunk.newText, text) })));
}

/** Whether the change of a hunk is in its file already, so that the file and the outcome show no difference there. */
export function isThere(current: string | null | undefined, { range, oldText, newText }: Hunk): boolean {
  if (current === null || current === undefined) {
    return true;
  }
  const plain = (text: string): string => text.replace(/\r\n|\r/g, "\n").replace(/\n$/, "");
  const lines = current.split(/(?<=\n)/).slice(range.start, range.end).join("");
  return plain(oldText) !== plain(newText) && plain(lines) === plain(newText);
}

/** A text as the editor has it: with line ends of one kind, and without a byte order mark. */
export function asInEditor(text: string): string {
  return withEnds(text.replace(/^\uFEFF/, ""), text);
}

/** A text with the line ends that the editor gives all of `whole`, of which it is a part. */
function withEnds(text: string, whole: string): string {
  const ends = whole.match(/\r\n|\r|\n/g) ?? [];
  return text.replace(/\r\n|\r|\n/g, ends.filter((end) => end !== "\n").length > ends.length / 2 ? "\r\n" : "\n");
}

/** What a change of the text does to the regions; undefined if it touches what no hunk put there. */
export function edited(regions: readonly Region[], change: { readonly offset: number; readonly length: number; readonly added: number }): { regions: Region[]; hunkId: string } | undefined {
  const end = change.offset + change.length;
  const hit = regions.find((region) => change.offset >= region.start && end <= region.end);
  if (hit === undefined) {
    return undefined;
  }
  const grown = change.added - change.length;
  return {
    hunkId: hit.hunkId,
    regions: regions.map((region) => {
      if (region === hit) return { ...region, end: region.end + grown };
      return region.start >= hit.end ? { ...region, start: region.start + grown, end: region.end + grown } : region;
    }),
  };
}

/** Lines, half open. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What lies at a line: the one that covers it, else the one beside it. Undefined where several do, since nobody could tell which is meant. */
export function spanAt<T extends Span>(spans: readonly T[], line: number): T | undefined {
  const over = spans.filter(({ start, end }) => line >= start && line < Math.max(end, start + 1));
  const [one, ...others] = over.length > 0 ? over : spans.filter(({ start, end }) => line >= start - 1 && line <= end);
  return others.length === 0 ? one : undefined;
}

/** The lines that a region of a text covers. */
export function linesOf(text: string, { start, end }: Region): Span {
  const before = (offset: number): number => text.slice(0, offset).split("\n").length - 1;
  const first = before(start);
  return { start: first, end: start === end ? first : before(end) + (text[end - 1] === "\n" ? 0 : 1) };
}
