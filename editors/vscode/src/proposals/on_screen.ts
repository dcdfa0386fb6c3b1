/**
 * Which lines of a change were on the screen by now, however a diff editor was scrolled for that. No editor here, so that plain node can
 * test it.
 */
import type { Hunk, HunkId, Proposal } from "../protocol";
import type { Span } from "./regions";
import { isWaiting } from "./state";

interface Sight {
  /** What comes, as it was shown. */
  readonly text: string;
  /** Lines of it, from 0. */
  readonly lines: Set<number>;
}

export class OnScreen {
  /** By the proposal. */
  private readonly sights = new Map<string, Map<HunkId, Sight>>();

  /** These lines of a document are on the screen, in which a hunk lies at `at`. Whether all of it was by now. */
  note(proposalId: string, hunk: Hunk, at: Span, visible: readonly Span[]): boolean {
    const { lines } = this.sight(proposalId, hunk);
    if (at.start === at.end) {
      // Nothing comes: what is on either side of its place is there.
      if (visible.some(({ start, end }) => start <= at.start && end >= at.start)) lines.add(0);
    }
    for (const { start, end } of visible) {
      for (let line = Math.max(start, at.start); line < Math.min(end, at.end); line++) lines.add(line - at.start);
    }
    return this.lacks(proposalId, hunk, at) === undefined;
  }

  /** The first line of a document that was not on the screen of a hunk that lies at `at`; undefined if all were. */
  lacks(proposalId: string, hunk: Hunk, at: Span): number | undefined {
    const { lines } = this.sight(proposalId, hunk);
    for (let line = 0; line < Math.max(1, at.end - at.start); line++) {
      if (!lines.has(line)) return at.start + line;
    }
    return undefined;
  }

  /** Whether a part of a hunk was. */
  hasBegun(proposalId: string, hunk: Hunk): boolean {
    return this.sight(proposalId, hunk).lines.size > 0;
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
    const sight = { text: newText, lines: new Set<number>() };
    hunks.set(id, sight);
    return sight;
  }
}
