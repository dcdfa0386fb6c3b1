/**
 * The person's way through a proposal: diff editors, the next hunk, deciding where one is.
 */
import * as vscode from "vscode";
import { nameOf, plain } from "../chat/words";
import type { Hunk, HunkId, Proposal, ProposalDecision, ProposalFile } from "../protocol";
import { beyondText } from "./beyond";
import { placeOf, SCHEME, DISCARD_TYPED, uriOf } from "./documents";
import type { Place, ProposalDocuments, Untaken } from "./documents";
import { Marks } from "./marks";
import { asInEditor, isThere, spanAt } from "./regions";
import type { Span } from "./regions";
import type { Yes } from "./shown";
import { hunkWords, isDecided, isOpen, isWaiting } from "./state";
import type { Refusal } from "./state";
import type { Proposals, Target } from "./store";
import { titleOf } from "./viewed";
import type { Viewed } from "./viewed";

const REVIEW = "Review";
const REJECT = "Reject All";
const NONE_WAITS = "There is no pending change at the cursor. “Countersign: Next Change” goes to one.";
const NONE_DECIDED = "There is no decision on a change at the cursor.";
const DECIDED = "This change is no longer pending.";
const NONE_HERE = "No pending change here.";
const UNSEEN = "Nothing was accepted yet: this change has not been shown.";
const UNSEEN_PART = "Nothing was accepted yet: not all of this change has been on the screen.";
const UNSHOWN = "Nothing was accepted yet: the diff does not show all of this change. It has very long lines, or differs in blanks only.";
const IN_CHAT = "Show in Chat";
const MISFIT = "Nothing was accepted: the change no longer fits the file.";
const SEVERAL = "Nothing was decided: several proposals change this file. Choose one in Proposed Changes.";

/** Who leaves a chat this soon after a proposal came (ms) is taken not to have seen it. */
const SEEN_MS = 10_000;

export class Review implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly lensChanges = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.lensChanges.event;
  private readonly cleanup: { dispose(): unknown }[];
  /** What came where a chat showed it, and when (ms since 1970). */
  private readonly cameInChat = new Map<string, number>();

  constructor(
    private readonly proposals: Proposals,
    private readonly documents: ProposalDocuments,
    private readonly viewed: Viewed,
    private readonly isSeen: (threadId: string) => boolean,
    private readonly isPreviewed: () => boolean,
    /** Shows a conversation in a chat. */
    private readonly openChat: (threadId: string) => Promise<void>,
  ) {
    this.cleanup = [
      this.lensChanges,
      new Marks(proposals, isPreviewed),
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, this),
      proposals.onChange((proposal) => {
        this.lensChanges.fire();
        if (proposal !== undefined && !isWaiting(proposal)) void this.close(proposal);
      }),
      proposals.onArrival((proposal) => { this.arrived(proposal); }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme === SCHEME) this.lensChanges.fire();
      }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const place = placeOf(document.uri);
    const found = place?.side === "after" ? this.filesAt(document.uri)[0] : undefined;
    if (place === undefined || found === undefined) {
      return [];
    }
    const { proposal, file } = found;
    const target = (hunkId: string): Target => ({ proposalId: place.proposalId, path: place.path, hunkIds: [hunkId] });
    return this.documents.regions(document).flatMap(({ hunkId, start }) => {
      const hunk = file.hunks.find((one) => one.id === hunkId);
      if (hunk === undefined) return [];
      const range = new vscode.Range(document.positionAt(start), document.positionAt(start));
      const lens = (title: string, command: string): vscode.CodeLens => new vscode.CodeLens(range, { title, command, arguments: [target(hunkId)] });
      return hunk.status === "accepted"
        ? [lens(`✓ ${capital(hunkWords(proposal, hunk))}`, ""), lens("Reset decision", "countersign.proposal.reset")]
        : [lens("✓ Accept", "countersign.proposal.accept"), lens("✗ Reject", "countersign.proposal.reject"), lens("Reject with comment…", "countersign.proposal.rejectWithWords")];
    });
  }

  /** Shows a file of a proposal as it is and as it would be; the first that waits, where none is named. */
  async open(target: Target): Promise<void> {
    // With its texts, which are mentioned only when they are asked for.
    const proposal = await this.proposals.readWhole(target.proposalId);
    const file = proposal.files.find((one) => one.path === target.path) ?? proposal.files.find((one) => one.hunks.some(isOpen)) ?? proposal.files[0];
    if (file === undefined) {
      return;
    }
    const line = file.hunks.find((hunk) => target.hunkIds?.includes(hunk.id))?.range.start ?? file.hunks.find(isOpen)?.range.start;
    const before = this.beforeOf(proposal, file);
    const [after, title] = [uriOf(file, proposal.id, "after"), titleOf(file)];
    if (beyondText(file, (path) => path).length > 0) {
      // One that was opened in another way does not say in its name what its texts do not show.
      await closeTabs(({ label, input, isDirty }) => input instanceof vscode.TabInputTextDiff && input.modified.toString() === after.toString() && label !== title && !isDirty);
    }
    await vscode.commands.executeCommand("vscode.diff", before, after, title, {
      preview: true,
      ...(line === undefined ? {} : { selection: new vscode.Range(line, 0, line, 0) }),
    });
  }

  /** Shows all files of a proposal in one editor, to be read; what is accepted is looked at in the diff of its file. */
  async openAll(target: Target): Promise<void> {
    const proposal = await this.proposals.readWhole(target.proposalId);
    const files = proposal.files.map((file): [vscode.Uri, vscode.Uri, vscode.Uri] => [vscode.Uri.parse(file.uri), this.beforeOf(proposal, file), uriOf(file, proposal.id, "after")]);
    await vscode.commands.executeCommand("vscode.changes", "Proposed Changes", files);
  }

  /** The text that a diff of a file begins at: the file itself where that shows each change. */
  private beforeOf(proposal: Proposal, file: ProposalFile): vscode.Uri {
    return isWaiting(proposal) && showsItsChanges(file) ? vscode.Uri.parse(file.uri) : uriOf(file, proposal.id, "before");
  }

  /** What a command is about: its argument or, where it was called with none, the file in view, if it can be told which is meant. */
  target(given: unknown): Target | "several" | undefined {
    if (isTarget(given)) {
      return given;
    }
    if (given !== undefined && !(given instanceof vscode.Uri)) {
      return undefined;
    }
    const uri = given ?? vscode.window.activeTextEditor?.document.uri;
    const [found, ...more] = uri === undefined ? [] : this.filesAt(uri);
    if (found !== undefined) {
      return more.length > 0 ? "several" : { proposalId: found.proposal.id, path: found.file.path };
    }
    // A document of a proposal that is settled: who looks at it means no other proposal.
    if (uri !== undefined && shownOf(uri) !== undefined) {
      return undefined;
    }
    const [only, ...others] = this.proposals.waiting;
    return only !== undefined && others.length === 0 ? { proposalId: only.id } : undefined;
  }

  async decide(given: unknown, decision: ProposalDecision): Promise<void> {
    const target = this.target(given);
    if (this.canDecide(target, NONE_HERE)) {
      await this.decideOn(target, decision);
    }
  }

  /** Decides on all that waits. A yes takes nothing while something of it was not shown, which is then brought into view. */
  async decideAll(decision: Exclude<ProposalDecision, "reset">): Promise<void> {
    const all = [...this.proposals.waiting].sort((a, b) => a.createdAtMs - b.createdAtMs);
    const unseen = decision === "reject" ? [] : all.flatMap((proposal) => this.viewed.yesTo(proposal, {}).unseen.map((one) => ({ proposal, ...one })));
    const [first] = unseen;
    if (first !== undefined) {
      await this.showFirst(first.proposal, unseen);
      return;
    }
    if (all.length === 0) void vscode.window.showInformationMessage("There are no pending changes.");
    for (const { id } of all) await this.decideOn({ proposalId: id }, decision);
  }

  private async decideOn(target: Target, decision: ProposalDecision): Promise<void> {
    if (decision !== "accept") {
      await this.put(target, decision);
      return;
    }
    const proposal = this.proposals.get(target.proposalId);
    if (proposal === undefined) {
      return;
    }
    const { hunkIds, unseen, inConflict } = this.viewed.yesTo(proposal, target);
    if (hunkIds.length === 0 && inConflict.length === 0) {
      void vscode.window.showInformationMessage(DECIDED);
      return;
    }
    if (unseen.length > 0) {
      await this.showFirst(proposal, unseen);
      return;
    }
    // Of a file those that do not fit are left waiting, of the whole they are left out.
    await this.accept(target.proposalId, hunkIds, target.path || target.hunkIds ? [] : inConflict.map(({ id }) => id));
  }

  /** Brings what was not shown into view, to be accepted once it was looked at. */
  private async showFirst(proposal: Proposal, [next, ...more]: Yes["unseen"]): Promise<void> {
    if (next === undefined) {
      return;
    }
    const { file, hunk } = next;
    const name = nameOf(vscode.workspace.asRelativePath(file.path));
    if (this.viewed.isHidden(hunk)) {
      await this.openChat(proposal.threadId);
      void vscode.window.showInformationMessage(plain(`${UNSHOWN} Look at ${name} in the chat, and accept it there.`));
      return;
    }
    const why = this.viewed.hasBegun(proposal, hunk) ? UNSEEN_PART : UNSEEN;
    await this.open({ proposalId: proposal.id, path: file.path, hunkIds: [hunk.id] });
    // Where its diff was open all the time it may be behind.
    this.documents.renew(proposal);
    this.viewed.bring(proposal, hunk);
    const rest = more.length === 0 ? "" : more.length === 1 ? " One more change has not been shown: it comes then." : ` ${more.length} more changes have not been shown: they come then, one by one.`;
    // Not waited for: it stays until somebody closes it.
    void vscode.window.showInformationMessage(plain(`${why} Look at ${name}, and accept again.${rest}`), IN_CHAT).then((chosen) => {
      if (chosen === IN_CHAT) void this.openChat(proposal.threadId);
    });
  }

  /**
   * Accepts hunks that were shown, by their ids, once the server has what was typed in them. Those of `leaveOut` are rejected after that, if
   * they still do not fit: the rest need not wait for them.
   */
  async accept(proposalId: string, hunkIds: readonly HunkId[], leaveOut: readonly HunkId[] = []): Promise<void> {
    const statusOf = (id: HunkId): Hunk["status"] | undefined => this.proposals.get(proposalId)?.files.flatMap((file) => file.hunks).find((hunk) => hunk.id === id)?.status;
    const isBegun = this.proposals.get(proposalId)?.files.some((file) => file.hunks.some(({ status }) => status === "accepted" || status === "applied")) === true;
    if (hunkIds.length === 0 && !(isBegun && leaveOut.length > 0)) {
      void vscode.window.showInformationMessage(MISFIT);
      return;
    }
    if (await this.isTyped({ proposalId, hunkIds }, "accept")) {
      return;
    }
    if (hunkIds.length > 0) {
      await this.proposals.accept(proposalId, hunkIds);
    }
    const left = leaveOut.filter((id) => statusOf(id) === "conflicting");
    if (left.length > 0) {
      await this.put({ proposalId, hunkIds: left }, "reject");
      void vscode.window.showInformationMessage(left.length === 1 ? "One change no longer fits its file, so it was left out." : `${left.length} changes no longer fit their files, so they were left out.`);
    }
  }

  rejectWithWords(given: unknown): Promise<void> {
    return this.askAndReject(this.target(given), NONE_HERE);
  }

  /** Decides on the one hunk at the cursor: in either side of a diff, or in the file itself. */
  async decideAtCursor(decision: ProposalDecision): Promise<void> {
    const target = this.atCursor(decision === "reset" ? isDecided : isOpen);
    if (this.canDecide(target, decision === "reset" ? NONE_DECIDED : NONE_WAITS)) {
      await this.decideOn(target, decision);
    }
  }

  rejectAtCursorWithWords(): Promise<void> {
    return this.askAndReject(this.atCursor(isOpen), NONE_WAITS);
  }

  /** Whether there is something to decide on; the person is told where there is not. */
  private canDecide(target: Target | "several" | undefined, none: string): target is Target {
    if (target === "several") {
      void vscode.window.showInformationMessage(SEVERAL);
      return false;
    }
    const waits = target !== undefined && this.proposals.get(target.proposalId) !== undefined;
    if (!waits) {
      const loss = this.proposals.lossOf(target?.proposalId);
      void vscode.window.showInformationMessage(loss === undefined ? none : `Nothing was decided. ${loss}`);
    }
    return waits;
  }

  /** Decides on what the person sees: once the server has what they typed in it. What they do not want needs none of that. */
  async put(target: Target, decision: Refusal, feedback?: string): Promise<void> {
    if (!(await this.isTyped(target, decision))) {
      await this.proposals.decide(target, decision, feedback);
    }
  }

  /** Whether a decision has to wait, since the server does not have what was typed in what it is about; that is said. */
  private async isTyped(target: Target, decision: ProposalDecision): Promise<boolean> {
    const untaken = await this.documents.flush(target.proposalId);
    if (untaken !== undefined && this.wouldLose(untaken, target, decision)) {
      await this.tellUntaken(target, untaken);
      return true;
    }
    if (decision === "reject" && untaken?.hunkIds.every((id) => this.isAbout(target, id)) === true) {
      // With the change goes what was typed in it: a document that holds it would ask to be saved.
      await this.documents.discardTyped(target.proposalId);
    }
    return false;
  }

  /** Whether a change could get into a file by a decision without what was typed in it. */
  private wouldLose({ hunkIds }: Untaken, target: Target, decision: ProposalDecision): boolean {
    const hunks = this.proposals.get(target.proposalId)?.files.flatMap((file) => file.hunks) ?? [];
    return decision !== "reset" && hunkIds.some((id) => (this.isAbout(target, id) ? decision === "accept" : hunks.find((hunk) => hunk.id === id)?.status === "accepted"));
  }

  private isAbout({ proposalId, path, hunkIds }: Target, hunkId: string): boolean {
    if (hunkIds) {
      return hunkIds.includes(hunkId);
    }
    return !path || this.proposals.get(proposalId)?.files.find((file) => file.path === path)?.hunks.some(({ id }) => id === hunkId) === true;
  }

  private async tellUntaken({ proposalId }: Target, { why }: Untaken): Promise<void> {
    const chosen = await vscode.window.showWarningMessage(`Nothing was decided, because what you typed in the agent's change was not taken: ${why} Type it differently, or discard it, and decide again; or reject the change.`, DISCARD_TYPED);
    if (chosen === DISCARD_TYPED) {
      await this.documents.discardTyped(proposalId);
    }
  }

  private async askAndReject(target: Target | "several" | undefined, none: string): Promise<void> {
    if (!this.canDecide(target, none)) {
      return;
    }
    const words = await vscode.window.showInputBox({ title: "Reject with Comment", prompt: "What should the agent change?", ignoreFocusOut: true });
    if (words !== undefined && this.canDecide(target, none)) {
      await this.put(target, "reject", words.trim() === "" ? undefined : words.trim());
    }
  }

  /** The hunk at the cursor, if it is a wanted one. */
  private atCursor(isWanted: (hunk: Hunk) => boolean): Target | undefined {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      return undefined;
    }
    const all = this.hunksIn(editor.document);
    const line = editor.selection.active.line;
    const found = spanAt(all, line) ?? spanAt(all.filter(({ hunk }) => isWanted(hunk)), line);
    return found !== undefined && isWanted(found.hunk) ? { proposalId: found.proposal.id, path: found.file.path, hunkIds: [found.hunk.id] } : undefined;
  }

  /** The hunks of what an editor shows, by its lines. In a diff of a proposal those of others are not meant. */
  private hunksIn(document: vscode.TextDocument): (Span & { proposal: Proposal; file: ProposalFile; hunk: Hunk })[] {
    const side = placeOf(document.uri)?.side;
    const spansIn = (file: ProposalFile): (Span & { hunk: Hunk })[] => {
      if (side === "after") return this.spansOfOutcome(document, file);
      // The hunks lie in today's text, not in the one that the agent saw.
      return side === "before" && file.kind.type === "update" && !file.notText ? [] : file.hunks.map((hunk) => ({ ...hunk.range, hunk }));
    };
    return this.filesOf(document.uri).flatMap(({ proposal, file }) => spansIn(file).map((span) => ({ ...span, proposal, file })));
  }

  /** Where the hunks of a file lie in its outcome; one that is not in it, where its lines stand as they are. */
  private spansOfOutcome(document: vscode.TextDocument, file: ProposalFile): (Span & { hunk: Hunk })[] {
    if (file.kind.type === "delete") {
      return file.hunks.map((hunk) => ({ start: 0, end: document.lineCount, hunk }));
    }
    const regions = this.documents.regions(document);
    if (file.hunks.some(({ id, status }) => (status === "pending" || status === "accepted") && !regions.some(({ hunkId }) => hunkId === id))) {
      // What is shown is not what the hunks come to, so no line says which is meant.
      return [];
    }
    let shift = 0;
    return [...file.hunks].sort((a, b) => a.range.start - b.range.start).map((hunk) => {
      const region = regions.find(({ hunkId }) => hunkId === hunk.id);
      const start = region === undefined ? hunk.range.start + shift : document.positionAt(region.start).line;
      const end = region === undefined ? hunk.range.end + shift : lineBehind(document, region.end);
      shift = end - hunk.range.end;
      return { start, end, hunk };
    });
  }

  /** Goes to the next (or previous) hunk that waits: in this file, else in the next one. */
  async go(step: 1 | -1): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const here = new Set(editor === undefined ? [] : this.filesAt(editor.document.uri).map(({ file }) => file));
    const all = this.proposals.waiting.flatMap((proposal) => proposal.files.flatMap((file) => file.hunks.filter(isOpen).map((hunk) => ({ proposal, file, hunk }))));
    if (all.length === 0) {
      void vscode.window.showInformationMessage("There are no pending changes.");
      return;
    }
    const line = editor?.selection.active.line ?? -1;
    const lineOf = (hunk: Hunk): number => {
      const region = editor === undefined ? undefined : this.documents.regions(editor.document).find((one) => one.hunkId === hunk.id);
      return region === undefined || editor === undefined ? hunk.range.start : editor.document.positionAt(region.start).line;
    };
    const inFile = all.filter(({ file }) => here.has(file)).map(({ hunk }) => lineOf(hunk)).sort((a, b) => a - b);
    const at = step === 1 ? inFile.find((one) => one > line) : inFile.findLast((one) => one < line);
    if (at !== undefined && editor !== undefined) {
      editor.selection = new vscode.Selection(at, 0, at, 0);
      editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      return;
    }
    const last = step === 1 ? all.findLastIndex(({ file }) => here.has(file)) : all.findIndex(({ file }) => here.has(file));
    const other = all[(last + step + all.length) % all.length] ?? all[0];
    if (other !== undefined) {
      await this.open({ proposalId: other.proposal.id, path: other.file.path, hunkIds: [other.hunk.id] });
    }
  }

  /** What proposals that wait say of a document. In a diff of a proposal others are not meant. */
  private filesOf(uri: vscode.Uri): { proposal: Proposal; file: ProposalFile }[] {
    const place = shownOf(uri);
    const wanted = uri.toString();
    return this.proposals.waiting
      .flatMap((proposal) => proposal.files.map((file) => ({ proposal, file })))
      .filter(({ proposal, file }) => (place === undefined ? vscode.Uri.parse(file.uri).toString() === wanted : proposal.id === place.proposalId && file.path === place.path));
  }

  /** The same, where in a file that is open by itself only what is undecided is meant. */
  private filesAt(uri: vscode.Uri): { proposal: Proposal; file: ProposalFile }[] {
    return this.filesOf(uri).filter(({ file }) => shownOf(uri) !== undefined || file.hunks.some(isOpen));
  }

  /** Announces what came just before its chat was left: its reader may not have seen it. */
  look(): void {
    for (const [id, at] of this.cameInChat) {
      const proposal = this.proposals.get(id);
      if (proposal === undefined || !isWaiting(proposal) || Date.now() - at > SEEN_MS) {
        this.cameInChat.delete(id);
      } else if (!this.isSeen(proposal.threadId)) {
        this.cameInChat.delete(id);
        void this.announce(proposal);
      }
    }
  }

  private arrived(proposal: Proposal): void {
    if (this.isPreviewed()) {
      return;
    }
    if (this.isSeen(proposal.threadId)) {
      this.cameInChat.set(proposal.id, Date.now());
    } else {
      void this.announce(proposal);
    }
  }

  /** Says that a proposal has come. It waits whether or not this is read. */
  private async announce(proposal: Proposal): Promise<void> {
    const names = proposal.files.map((file) => nameOf(vscode.workspace.asRelativePath(file.path)));
    const shown = names.slice(0, 4).join(", ") + (names.length > 4 ? ` and ${names.length - 4} more` : "");
    const chosen = await vscode.window.showInformationMessage(plain(`The agent proposes changes to ${shown}.`), REVIEW, REJECT);
    if (chosen === undefined || !this.canDecide({ proposalId: proposal.id }, DECIDED)) {
      return;
    }
    // There is no yes in a message that shows nothing of the change.
    if (chosen === REVIEW) await this.open({ proposalId: proposal.id });
    else await this.put({ proposalId: proposal.id }, "reject");
  }

  /** The documents of a proposal that is settled show nothing any more. */
  private async close(proposal: Proposal): Promise<void> {
    await closeTabs(({ input }) => {
      const uri = input instanceof vscode.TabInputTextDiff ? input.modified : input instanceof vscode.TabInputText ? input.uri : undefined;
      return uri !== undefined && placeOf(uri)?.proposalId === proposal.id;
    });
  }
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

async function closeTabs(isMeant: (tab: vscode.Tab) => boolean): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(isMeant);
  if (tabs.length > 0) {
    await vscode.window.tabGroups.close(tabs, true);
  }
}

/**
 * Whether the file as it is, beside its outcome, shows each change that waits. Where it has one already, or the editor reads it differently from
 * the server, the text that the agent saw does.
 */
function showsItsChanges(file: ProposalFile): boolean {
  if (file.kind.type === "add" || file.notText || typeof file.current !== "string") {
    return false;
  }
  const uri = vscode.Uri.parse(file.uri).toString();
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri);
  return (open === undefined || open.getText() === asInEditor(file.current)) && !file.hunks.some((hunk) => isOpen(hunk) && isThere(file.current, hunk));
}

/** The line behind the last one that ends at an offset. */
function lineBehind(document: vscode.TextDocument, offset: number): number {
  const { line, character } = document.positionAt(offset);
  return character === 0 ? line : line + 1;
}

/** The proposal that a document belongs to, or whose diff is in view with it as its left side. */
function shownOf(uri: vscode.Uri): Place | undefined {
  return placeOf(uri) ?? shownDiff(uri);
}

function shownDiff(uri: vscode.Uri): Place | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputTextDiff && input.original.toString() === uri.toString() ? placeOf(input.modified) : undefined;
}

function isTarget(given: unknown): given is Target {
  return typeof given === "object" && given !== null && "proposalId" in given && typeof given.proposalId === "string";
}
