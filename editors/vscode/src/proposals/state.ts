/**
 * What a proposal's own data say of it, and how it follows its files. No editor here: the chat's page needs it, too.
 */
import type { Hunk, Proposal, ProposalDecision, ProposalMoved } from "../protocol";

/** A decision that may cover whatever there is by the time that it is taken. A yes may not: it names the hunks that were shown. */
export type Refusal = Exclude<ProposalDecision, "accept">;

const WAITING: ReadonlySet<Proposal["status"]> = new Set(["proposed", "partlyDecided", "conflicting", "stale"]);

/** Whether the person has something to decide in it. */
export function isWaiting(proposal: Proposal): boolean {
  return WAITING.has(proposal.status);
}

/** Whether a hunk waits for a decision. */
export function isOpen(hunk: Hunk): boolean {
  return hunk.status === "pending" || hunk.status === "conflicting";
}

/** Whether a decision on a hunk can be reset: it is made, and not in the file yet. */
export function isDecided(hunk: Hunk): boolean {
  return hunk.status === "accepted" || hunk.status === "rejected";
}

/** Takes in that the person has typed: the hunks lie elsewhere now, or fit no more, or fit again. */
export function move(proposal: Proposal, moved: ProposalMoved): void {
  proposal.status = moved.status;
  for (const { uri, hunks } of moved.files) {
    const now = new Map(hunks.map((hunk) => [hunk.id, hunk]));
    for (const hunk of proposal.files.find((file) => file.uri === uri)?.hunks ?? []) {
      const { range, status, conflict } = now.get(hunk.id) ?? hunk;
      Object.assign(hunk, { range, status, conflict: conflict ?? null });
    }
  }
}

/** What is said of a hunk's decision; empty where there is none. An accepted one may have to wait for the rest. */
export function hunkWords(proposal: Proposal, hunk: Hunk): string {
  switch (hunk.status) {
    case "pending":
      return "";
    case "conflicting":
      return "in conflict";
    case "accepted": {
      const open = isWaiting(proposal) ? proposal.files.flatMap((file) => file.hunks).filter(isOpen).length : 0;
      return open === 0 ? "accepted" : `accepted, applied when ${open} more ${open === 1 ? "is" : "are"} decided`;
    }
    case "rejected":
    case "applied":
      return hunk.status;
  }
}
