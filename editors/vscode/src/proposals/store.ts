/**
 * The proposals that wait for the person, as the server tells of them.
 */
import * as vscode from "vscode";
import type { Threads } from "../chat/threads";
import type { Hunk, HunkId, Proposal, ProposalDecideParams, ProposalFile } from "../protocol";
import type { ThreadEvent } from "../rpc";
import type { Part } from "./shown";
import { isOpen, isWaiting, move } from "./state";
import type { Refusal } from "./state";

/** How long after its start a server may still find what waited (ms): it looks again after 1, 5 and 20 s. */
const RETURN_MS = 30_000;
/** The least that is waited for a change of a proposal that is not back (ms). */
const PAUSE_MS = 500;

/** What a decision is about. */
export interface Target extends Part {
  readonly proposalId: string;
}

export class Proposals implements vscode.Disposable {
  private readonly proposals = new Map<string, Proposal>();
  /** Those that waited when their server ended, until they come again. */
  private readonly lost = new Set<string>();
  private connectedAt = 0;
  private readonly changes = new vscode.EventEmitter<Proposal | undefined>();
  private readonly arrivals = new vscode.EventEmitter<Proposal>();
  /** With the proposal that changed; undefined if it may be any. */
  readonly onChange = this.changes.event;
  /** A proposal that asks the person. */
  readonly onArrival = this.arrivals.event;
  private readonly cleanup: { dispose(): unknown }[];

  constructor(private readonly threads: Threads) {
    this.cleanup = [
      this.changes,
      this.arrivals,
      threads.onEvent((event) => { this.take(event); }),
      threads.onConnection((connected) => {
        this.waiting.forEach(({ id }) => this.lost.add(id));
        this.proposals.clear();
        this.connectedAt = connected ? Date.now() : 0;
        this.changes.fire(undefined);
        if (connected) void this.read();
      }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  get waiting(): Proposal[] {
    return [...this.proposals.values()].filter(isWaiting);
  }

  get(id: string): Proposal | undefined {
    return this.proposals.get(id);
  }

  /** What the end of the server means for a proposal, or for all that waited, in words; undefined where that is not why it waits no more. */
  lossOf(id?: string): string | undefined {
    const { isConnected } = this.threads;
    if (id === undefined ? isConnected || this.lost.size === 0 : !this.lost.has(id)) {
      return undefined;
    }
    if (!isConnected) {
      return "The server has stopped. What waited is back once it runs again (“Countersign: Restart Server”).";
    }
    return Date.now() - this.connectedAt < RETURN_MS
      ? "The server was started again. This change may come back in a moment."
      : "The server was started again, and this change did not come back. Ask the agent for it again.";
  }

  /** The waiting hunks of a file, with their proposals; or those that are accepted and wait for the rest. */
  hunksOf(uri: vscode.Uri, isMeant: (hunk: Hunk) => boolean = isOpen): { proposal: Proposal; file: ProposalFile; hunk: Hunk }[] {
    const wanted = uri.toString();
    return this.waiting.flatMap((proposal) =>
      proposal.files.filter((file) => vscode.Uri.parse(file.uri).toString() === wanted).flatMap((file) => file.hunks.filter(isMeant).map((hunk) => ({ proposal, file, hunk }))),
    );
  }

  async readWhole(id: string): Promise<Proposal> {
    return (await this.threads.request("countersign/proposal/read", { proposalId: id })).proposal;
  }

  /**
   * The same for a document that is opened, as by a window that is loaded anew: where the server is only starting, or has not found again what
   * waited, that is waited for. Undefined if there is no such proposal.
   */
  async readBack(id: string): Promise<Proposal | undefined> {
    const begun = Date.now();
    for (;;) {
      try {
        return await this.readWhole(id);
      } catch {
        // However late a server comes, it has its time from then on.
        const left = (this.threads.isConnected ? this.connectedAt : begun) + RETURN_MS - Date.now();
        if (left <= 0) {
          return undefined;
        }
        await this.changed(id, Math.max(PAUSE_MS, left));
      }
    }
  }

  /** Ends with the next change that may be of this proposal, or after a while. */
  private changed(id: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        heard.dispose();
        resolve();
      };
      const timer = setTimeout(done, ms);
      const heard = this.changes.event((proposal) => {
        if (proposal === undefined || proposal.id === id) done();
      });
    });
  }

  decide(target: Target, decision: Refusal, feedback?: string): Promise<void> {
    return this.send({
      proposalId: target.proposalId,
      decision,
      path: target.hunkIds ? null : (target.path ?? null),
      hunkIds: target.hunkIds ? [...target.hunkIds] : null,
      feedback: feedback ?? null,
    });
  }

  /** Accepts these hunks, which were shown, and no other: what else fits by the time that the server looks was not. */
  accept(proposalId: string, hunkIds: readonly HunkId[]): Promise<void> {
    return this.send({ proposalId, decision: "accept", path: null, hunkIds: [...hunkIds], feedback: null });
  }

  private async send(params: ProposalDecideParams): Promise<void> {
    const { proposal } = await this.threads.request("countersign/proposal/decide", params);
    this.put(proposal);
  }

  async edit(proposalId: string, hunkId: string, newText: string): Promise<void> {
    const { proposal } = await this.threads.request("countersign/proposal/edit", { proposalId, hunkId, newText });
    this.put(proposal);
  }

  private async read(): Promise<void> {
    const { data } = await this.threads.request("countersign/proposal/list", {});
    for (const proposal of data) {
      this.proposals.set(proposal.id, proposal);
      this.lost.delete(proposal.id);
    }
    this.changes.fire(undefined);
  }

  private put(proposal: Proposal): void {
    // A decision is answered and told of: what is drawn twice takes a button away from under a click.
    if (JSON.stringify(this.proposals.get(proposal.id)) === JSON.stringify(proposal)) {
      return;
    }
    this.proposals.set(proposal.id, proposal);
    this.lost.delete(proposal.id);
    if (!isWaiting(proposal)) {
      this.proposals.delete(proposal.id);
    }
    this.changes.fire(proposal);
  }

  private take(event: ThreadEvent): void {
    switch (event.method) {
      case "countersign/proposal/created":
        this.put(event.params.proposal);
        if (isWaiting(event.params.proposal) && event.params.proposal.autoApproved !== true) {
          this.arrivals.fire(event.params.proposal);
        }
        break;
      case "countersign/proposal/updated":
        this.put(event.params.proposal);
        break;
      case "countersign/proposal/moved": {
        const proposal = this.proposals.get(event.params.proposalId);
        if (proposal === undefined) return;
        move(proposal, event.params);
        this.changes.fire(proposal);
        break;
      }
      default:
    }
  }
}
