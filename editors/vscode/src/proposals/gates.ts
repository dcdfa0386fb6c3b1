/**
 * Which buttons of a proposal in the chat can be pressed, and what they accept. What they allow must have been shown whole, as it would be
 * made: here, or in a diff editor.
 */
import type { Hunk, HunkId, Proposal } from "../protocol";
import type { Shown } from "./shown";

interface Gate {
  readonly allow: { disabled: boolean };
  readonly hint: { hidden: unknown } | undefined;
  readonly hunks: readonly Hunk[];
}

export class Gates {
  private readonly gates: Gate[] = [];

  constructor(
    private readonly shown: Shown,
    private readonly proposal: Proposal,
  ) {}

  /** Holds a button back until those of the hunks that wait were shown; the hint is there meanwhile. */
  hold<T extends { disabled: boolean }>(allow: T, hunks: readonly Hunk[], hint?: { hidden: unknown }): T {
    this.gates.push({ allow, hint, hunks: hunks.filter(({ status }) => status === "pending") });
    this.look();
    return allow;
  }

  /** A hunk is drawn, all of it. It counts if it fits. */
  isDrawn({ id }: Hunk): void {
    this.shown.note(this.proposal, [id]);
    this.look();
  }

  /** Those of some hunks that wait and were shown: what a press accepts. */
  open(hunks: readonly Hunk[]): HunkId[] {
    return hunks.filter((hunk) => hunk.status === "pending" && this.has(hunk)).map(({ id }) => id);
  }

  /** The whole, without what does not fit. */
  whole(): { readonly hunkIds: HunkId[]; readonly leaveOut: HunkId[] } {
    const hunks = this.proposal.files.flatMap((file) => file.hunks);
    return { hunkIds: this.open(hunks), leaveOut: hunks.filter(({ status }) => status === "conflicting").map(({ id }) => id) };
  }

  look(): void {
    for (const { allow, hint, hunks } of this.gates) {
      const isWhole = hunks.every((hunk) => this.has(hunk));
      allow.disabled = !isWhole;
      if (hint !== undefined) hint.hidden = isWhole;
    }
  }

  private has({ id }: Hunk): boolean {
    return this.shown.has(this.proposal.id, id);
  }
}
