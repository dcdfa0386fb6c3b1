/**
 * Which changes a person was shown as they would be made, and what a yes therefore covers. Kept hunk by hunk: one that did not fit when its
 * file was shown was not shown as it would be made, and may be another matter once it fits. No editor here: the chat's page needs it, too.
 */
import type { Hunk, HunkId, Proposal, ProposalFile } from "../protocol";
import { isWaiting } from "./state";

/** What a yes is about: a whole proposal, a file of it, or some hunks. */
export interface Part {
  readonly path?: string | null;
  readonly hunkIds?: readonly HunkId[] | null;
}

export class Shown {
  /** By the proposal. */
  private readonly hunks = new Map<string, Set<HunkId>>();

  has(proposalId: string, hunkId: HunkId): boolean {
    return this.hunks.get(proposalId)?.has(hunkId) === true;
  }

  of(proposalId: string): readonly HunkId[] {
    return [...(this.hunks.get(proposalId) ?? [])];
  }

  /** These hunks stand before the person. Those that fit count; whether one of them did not before. */
  note(proposal: Proposal, hunkIds: readonly HunkId[]): boolean {
    const known = this.hunks.get(proposal.id) ?? new Set();
    const before = known.size;
    for (const { id, status } of allHunks(proposal)) {
      if (hunkIds.includes(id) && (status === "pending" || status === "accepted")) known.add(id);
    }
    if (known.size > 0) this.hunks.set(proposal.id, known);
    return known.size > before;
  }

  /** A proposal has changed: what fits no more counts again only once it is shown when it fits. */
  follow(proposal: Proposal): void {
    if (!isWaiting(proposal)) {
      this.hunks.delete(proposal.id);
      return;
    }
    for (const { id, status } of allHunks(proposal)) {
      if (status === "conflicting") this.hunks.get(proposal.id)?.delete(id);
    }
  }

  clear(): void {
    this.hunks.clear();
  }
}

/** What a yes comes to. */
export interface Yes {
  /** The hunks that wait and fit, which it takes. */
  readonly hunkIds: readonly HunkId[];
  /** Those of them that were not shown; it takes nothing while there are any. */
  readonly unseen: readonly { readonly file: ProposalFile; readonly hunk: Hunk }[];
  /** Hunks that are meant, too, but do not fit. */
  readonly inConflict: readonly Hunk[];
}

export function yesTo(proposal: Proposal, { path, hunkIds }: Part, shown: Shown): Yes {
  const isMeant = ({ id }: Hunk): boolean => !hunkIds || hunkIds.includes(id);
  const files = proposal.files.filter((file) => hunkIds || !path || file.path === path);
  const meant = files.flatMap((file) => file.hunks.filter(isMeant));
  const fits = (hunk: Hunk): boolean => isMeant(hunk) && hunk.status === "pending";
  return {
    hunkIds: meant.filter(fits).map(({ id }) => id),
    unseen: files.flatMap((file) => file.hunks.filter((hunk) => fits(hunk) && !shown.has(proposal.id, hunk.id)).map((hunk) => ({ file, hunk }))),
    inConflict: meant.filter(({ status }) => status === "conflicting"),
  };
}

function allHunks(proposal: Proposal): Hunk[] {
  return proposal.files.flatMap((file) => file.hunks);
}
