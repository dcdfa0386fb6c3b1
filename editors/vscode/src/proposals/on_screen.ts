/**
 * Which lines of a change were on the screen by now, however a diff editor was scrolled for that. What goes has no lines of its own in the
 * document that comes: the editor draws it above the first of them, or beside them and below the last, so it was on the screen where the lines
 * around it were at once. No editor here, so that plain node can test it.
 */
import type { Hunk, HunkId, Proposal } from "../protocol";
import type { Span } from "./regions";
import { isWaiting } from "./state";

interface Sight {
  /** What comes, as it was shown. */
  readonly text: string;
  /** Lines of it, from 0. */
  readonly lines: Set<number>;
  /** Its first line and the one above, and its last and the one below, were each on the screen at once. */
  top: boolean;
  bottom: boolean;
}

/** Columns that a line may have and still count as seen where lines are not wrapped. */
const MOST_COLUMNS = 120;
/** Blanks in a row, behind the indent, that push what follows out of sight. */
const MOST_BLANKS = 16;
const TAB = "        ";

export class OnScreen {
  /** By the proposal. */
  private readonly sights = new Map<string, Map<HunkId, Sight>>();

  /** These lines of a document of so many are on the screen, in which a hunk lies at `at`. Whether all of it was by now. */
  note(proposalId: string, hunk: Hunk, at: Span, visible: readonly Span[], length: number): boolean {
    const sight = this.sight(proposalId, hunk);
    for (const { start, end } of visible) {
      for (let line = Math.max(start, at.start); line < Math.min(end, at.end); line++) sight.lines.add(line - at.start);
      const holds = (line: number): boolean => start <= line && line < end;
      const first = Math.min(at.start, Math.max(0, length - 1));
      const last = Math.max(first, at.end - 1);
      sight.top ||= holds(Math.max(0, at.start - 1)) && holds(first);
      // Of a change that only takes lines away both are the lines around its place.
      sight.bottom ||= at.start === at.end ? holds(Math.max(0, at.start - 1)) && holds(first) : holds(last) && holds(Math.min(at.end, Math.max(0, length - 1)));
    }
    return this.lacks(proposalId, hunk, at) === undefined;
  }

  /** The first line of a document that was not on the screen of a hunk that lies at `at`, or has to be there with its neighbor; undefined if all were. */
  lacks(proposalId: string, hunk: Hunk, at: Span): number | undefined {
    const { lines, top, bottom } = this.sight(proposalId, hunk);
    for (let line = 0; line < at.end - at.start; line++) {
      if (!lines.has(line)) return at.start + line;
    }
    if (hunk.oldText === "" && at.start < at.end) {
      return undefined;
    }
    if (!top) return at.start;
    return bottom ? undefined : Math.max(at.start, at.end - 1);
  }

  /** Whether a part of a hunk was. */
  hasBegun(proposalId: string, hunk: Hunk): boolean {
    const { lines, top, bottom } = this.sight(proposalId, hunk);
    return lines.size > 0 || top || bottom;
  }

  /** A proposal has changed: what fits no more is shown again once it fits. */
  follow(proposal: Proposal): void {
    if (!isWaiting(proposal)) this.sights.delete(proposal.id);
    for (const { id, status } of proposal.files.flatMap((file) => file.hunks)) {
      if (status === "conflicting") this.sights.get(proposal.id)?.delete(id);
    }
  }

  clear(): void {
    this.sights.clear();
  }

  private sight(proposalId: string, { id, newText }: Hunk): Sight {
    const hunks = this.sights.get(proposalId) ?? new Map<HunkId, Sight>();
    this.sights.set(proposalId, hunks);
    const known = hunks.get(id);
    if (known?.text === newText) return known;
    const sight = { text: newText, lines: new Set<number>(), top: false, bottom: false };
    hunks.set(id, sight);
    return sight;
  }
}

/** How an editor shows texts in its diffs. */
export interface Drawn {
  /** Long lines go on in the next row. */
  readonly wraps: boolean;
  /** Lines that differ in the blanks before and behind only are not marked. */
  readonly ignoresBlanks: boolean;
}

/** Whether a diff editor does not show a hunk as it would be made, however it is scrolled up and down. */
export function isHidden({ oldText, newText }: Pick<Hunk, "oldText" | "newText">, { wraps, ignoresBlanks }: Drawn): boolean {
  const lines = `${oldText}\n${newText}`.split(/\r\n|\r|\n/);
  if (!wraps && lines.some(isWide)) {
    return true;
  }
  const bare = (text: string): string => text.split(/\r\n|\r|\n/).map((line) => line.trim()).join("\n").trim();
  return ignoresBlanks && oldText !== newText && bare(oldText) === bare(newText);
}

function isWide(line: string): boolean {
  const text = line.replaceAll("\t", TAB).trimEnd();
  return text.length > MOST_COLUMNS || new RegExp(`\\S\\s{${MOST_BLANKS},}\\S`, "u").test(text);
}
