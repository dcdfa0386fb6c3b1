/**
 * The outcome of a proposal as a document of its own, beside the file as it is. It follows what is typed in the file, and what is
 * typed in it becomes the hunk's new text.
 */
import * as vscode from "vscode";
import type { Hunk, HunkId, Proposal, ProposalFile } from "../protocol";
import { visible } from "../chat/visible";
import { Given } from "./given";
import { asInEditor, edited, isThere, linesOf, outcomeInEditor } from "./regions";
import type { Region, Span } from "./regions";
import type { Proposals } from "./store";

export const SCHEME = "countersign-proposal";
/** Says that our documents are UTF-8, whatever the person's files are: what is shown must be what was read. */
const MARK = "\uFEFF";
/** How long a person must have paused before what was typed is handed over. */
const TYPING_MS = 400;
/** The way on for who typed what the server does not take. */
export const DISCARD_TYPED = "Discard My Edit";

interface Sheet {
  /** As it was read or saved last. */
  text: string;
  /** Of what the document holds; another array than `known` once something was typed. */
  regions: Region[];
  /** Of `text`. */
  known: Region[];
  /** What the text is made of. */
  readonly made: Made;
  /** What the editor was given of the document, over all times that it was read, newest last: it shows each a moment after. */
  given: Given;
  mtime: number;
  /** Hunks that were edited since they were last handed over. */
  readonly edited: Set<string>;
  timer: NodeJS.Timeout | undefined;
  /** Ends when all that was being handed over is; never fails. */
  handing: Promise<void>;
  /** Why what was handed over last was not taken. */
  trouble?: string | undefined;
}

/** What a document of ours was made of when it was read. */
interface Made {
  readonly text: string;
  readonly regions: Region[];
  /** The file that it is about. */
  readonly uri: string;
  /** The file's text then, as the editor has it. */
  readonly current: string | undefined;
  /** The hunks whose outcome the text has, and the lines of it that it is. */
  readonly holds: ReadonlyMap<HunkId, Span>;
  /** Those of them that were in the file already. */
  readonly there: readonly HunkId[];
}

/** What was typed in documents of a proposal and is not with the server, and why. */
export interface Untaken {
  readonly why: string;
  readonly hunkIds: readonly string[];
}

/** Where a document of ours belongs. */
export interface Place {
  readonly proposalId: string;
  readonly path: string;
  readonly side: "before" | "after";
}

export function placeOf(uri: vscode.Uri): Place | undefined {
  if (uri.scheme !== SCHEME) {
    return undefined;
  }
  const query = new URLSearchParams(uri.query);
  const proposalId = query.get("proposal");
  const path = query.get("path");
  return proposalId === null || path === null ? undefined : { proposalId, path, side: query.get("side") === "before" ? "before" : "after" };
}

export function uriOf(file: ProposalFile, proposalId: string, side: Place["side"]): vscode.Uri {
  return vscode.Uri.parse(file.uri).with({ scheme: SCHEME, authority: "", query: new URLSearchParams({ proposal: proposalId, path: file.path, side }).toString() });
}

export class ProposalDocuments implements vscode.FileSystemProvider, vscode.Disposable {
  private readonly sheets = new Map<string, Sheet>();
  /** Those that are being read for the first time. */
  private readonly opening = new Map<string, Promise<Sheet>>();
  private readonly changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changes.event;
  private readonly reads = new vscode.EventEmitter<void>();
  /** A document was read, whether or not its text is another one now. */
  readonly onRead = this.reads.event;
  private readonly cleanup: { dispose(): unknown }[];

  constructor(
    private readonly proposals: Proposals,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.cleanup = [
      this.changes,
      this.reads,
      vscode.workspace.registerFileSystemProvider(SCHEME, this, { isCaseSensitive: true }),
      proposals.onChange((proposal) => { this.refresh(proposal); }),
      vscode.workspace.onDidChangeTextDocument((change) => { this.typed(change); }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (document.uri.scheme === SCHEME) this.sheets.delete(document.uri.toString());
      }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  /** Where the hunks of a document lie, in characters; none while it does not hold the text that they belong to. */
  regions(document: vscode.TextDocument): readonly Region[] {
    const sheet = this.sheets.get(document.uri.toString());
    return sheet !== undefined && (document.isDirty || document.getText() === sheet.text) ? sheet.regions : [];
  }

  /**
   * The hunks that a diff of these two documents shows as they would be made: those in the text on its right, which must be the one that was
   * read, where its left side has what they change; each with its lines on the right. The editor may be behind the server, and the server
   * behind what is typed.
   */
  shownBy(original: vscode.Uri, modified: vscode.Uri): ReadonlyMap<HunkId, Span> {
    const [place, left] = [placeOf(modified), placeOf(original)];
    const made = this.madeOf(modified);
    if (place?.side !== "after" || made === undefined) {
      return new Map();
    }
    if (left !== undefined) {
      const isItsOwn = left.side === "before" && left.proposalId === place.proposalId && left.path === place.path;
      return isItsOwn && this.madeOf(original) !== undefined ? made.holds : new Map();
    }
    const file = original.toString();
    const isAsRead = file === made.uri && documentOf(file)?.getText() === made.current;
    return new Map([...made.holds].filter(([id]) => isAsRead && !made.there.includes(id)));
  }

  /** What a document was made of, while it holds the text that was read. */
  private madeOf(uri: vscode.Uri): Made | undefined {
    const sheet = this.sheets.get(uri.toString());
    return sheet !== undefined && documentOf(uri.toString())?.getText() === sheet.text ? sheet.made : undefined;
  }

  /** Reads the documents of a proposal again. */
  renew(proposal: Proposal): void {
    this.refresh(proposal);
  }

  /** Hands over at once what was typed in the documents of a proposal. Gives what of it was not taken; undefined if all was. */
  async flush(proposalId: string): Promise<Untaken | undefined> {
    const hunkIds: string[] = [];
    let why: string | undefined;
    for (const [document, sheet] of this.documentsOf(proposalId)) {
      clearTimeout(sheet.timer);
      await this.handOver(document, sheet);
      hunkIds.push(...sheet.edited);
      why ??= sheet.trouble;
    }
    return hunkIds.length === 0 ? undefined : { why: why ?? "it is still being typed", hunkIds };
  }

  /** Discards what was typed in a proposal and is not with the server: its documents show what the server has. */
  async discardTyped(proposalId: string): Promise<void> {
    for (const [document, sheet] of this.documentsOf(proposalId)) {
      if (isTyped(document.uri.toString(), sheet)) {
        await this.revert(document, sheet);
      }
    }
  }

  private documentsOf(proposalId: string): [vscode.TextDocument, Sheet][] {
    return [...this.sheets].flatMap(([key, sheet]): [vscode.TextDocument, Sheet][] => {
      const document = documentOf(key);
      return document !== undefined && placeOf(document.uri)?.proposalId === proposalId ? [[document, sheet]] : [];
    });
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const sheet = await this.sheet(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: sheet.mtime, size: Buffer.byteLength(MARK + sheet.text) };
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const sheet = await this.sheet(uri);
    sheet.given.add(sheet.text);
    return Buffer.from(MARK + sheet.text);
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    const sheet = this.sheets.get(uri.toString());
    if (sheet === undefined) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    sheet.text = Buffer.from(content).toString().replace(/^\uFEFF/, "");
    sheet.known = sheet.regions;
    // What was given before that is not shown late any more: who comes back to it has undone what was typed.
    sheet.given = new Given();
    sheet.mtime += 1;
  }

  readDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.FileNotADirectory(uri);
  }

  createDirectory(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): never {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  private async sheet(uri: vscode.Uri): Promise<Sheet> {
    const key = uri.toString();
    const known = this.sheets.get(key) ?? this.opening.get(key);
    if (known !== undefined) {
      return known;
    }
    // The editor asks for more than one thing of a document, but a proposal that is not back is waited for once.
    const opening = this.read(uri, { isOpened: true }).finally(() => this.opening.delete(key));
    this.opening.set(key, opening);
    return opening;
  }

  /**
   * Reads a document's text anew; what is being typed in it is kept, unless that is to go. Only for one that is opened is a proposal waited
   * for: one that is open is read again when its proposal comes back.
   */
  private async read(uri: vscode.Uri, { isKept = true, isOpened = false } = {}): Promise<Sheet> {
    const place = placeOf(uri);
    if (place === undefined) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    const proposal = await (isOpened ? this.proposals.readBack(place.proposalId) : this.proposals.readWhole(place.proposalId));
    const file = proposal?.files.find((one) => one.path === place.path);
    if (file === undefined) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    const made = madeOf(file, place.side);
    const before = this.sheets.get(uri.toString());
    if (isKept && before !== undefined && isTyped(uri.toString(), before)) {
      // That has begun while the proposal was read.
      return before;
    }
    const sheet: Sheet = { text: made.text, regions: made.regions, known: made.regions, made, given: before?.given ?? new Given(), mtime: (before?.mtime ?? 0) + 1, edited: before?.edited ?? new Set(), timer: before?.timer, handing: before?.handing ?? Promise.resolve() };
    this.sheets.set(uri.toString(), sheet);
    this.reads.fire();
    return sheet;
  }

  /** A change of the proposal reaches the documents that show it, but not while they are being typed in. */
  private refresh(proposal: Proposal | undefined): void {
    for (const [key, sheet] of this.sheets) {
      const uri = vscode.Uri.parse(key);
      if ((proposal === undefined || placeOf(uri)?.proposalId === proposal.id) && !isTyped(key, sheet)) {
        void this.read(uri).then(
          () => { this.changes.fire([{ type: vscode.FileChangeType.Changed, uri }]); },
          // It is settled, or the server is gone: the document stays as it was.
          () => undefined,
        );
      }
    }
  }

  private typed({ document, contentChanges, reason }: vscode.TextDocumentChangeEvent): void {
    const sheet = document.uri.scheme === SCHEME ? this.sheets.get(document.uri.toString()) : undefined;
    if (sheet === undefined || contentChanges.length === 0) {
      return;
    }
    // While the file itself is typed in, the document is read again and again: what the editor shows now may be what it was given before last.
    const text = document.getText();
    const by = { isDirty: document.isDirty, isUndo: reason !== undefined };
    if (sheet.regions === sheet.known && (text === sheet.text || sheet.given.isLate(text, by))) {
      return;
    }
    for (const change of contentChanges) {
      const next = edited(sheet.regions, { offset: change.rangeOffset, length: change.rangeLength, added: change.text.length });
      if (next === undefined) {
        vscode.window.setStatusBarMessage("$(info) Only the agent's change can be edited here. Edit the rest in the file itself.", 8000);
        void this.revert(document, sheet);
        return;
      }
      sheet.regions = next.regions;
      sheet.edited.add(next.hunkId);
    }
    clearTimeout(sheet.timer);
    sheet.timer = setTimeout(() => void this.paused(document, sheet), TYPING_MS);
  }

  /** Hands over what was typed; where that fails, the person is told and can discard it. */
  private async paused(document: vscode.TextDocument, sheet: Sheet): Promise<void> {
    await this.handOver(document, sheet);
    const place = placeOf(document.uri);
    if (sheet.trouble === undefined || place === undefined) {
      return;
    }
    const chosen = await vscode.window.showWarningMessage(`Your edit of the agent's change was not taken: ${sheet.trouble}`, DISCARD_TYPED);
    if (chosen === DISCARD_TYPED) {
      await this.discardTyped(place.proposalId);
    }
  }

  /** Hands over what was typed, after what is being handed over already. */
  private handOver(document: vscode.TextDocument, sheet: Sheet): Promise<void> {
    sheet.handing = sheet.handing
      .then(() => this.handOverNow(document, sheet))
      .then(
        () => { sheet.trouble = undefined; },
        (error: unknown) => {
          sheet.trouble = error instanceof Error ? error.message : String(error);
          this.log.warn(`An edited change was not taken: ${sheet.trouble}`);
        },
      );
    return sheet.handing;
  }

  private async handOverNow(document: vscode.TextDocument, sheet: Sheet): Promise<void> {
    const place = placeOf(document.uri);
    const text = document.getText();
    const hunks = [...sheet.edited];
    sheet.edited.clear();
    for (const id of hunks) {
      const region = sheet.regions.find((one) => one.hunkId === id);
      if (place !== undefined && region !== undefined) {
        try {
          await this.proposals.edit(place.proposalId, id, text.slice(region.start, region.end));
        } catch (error) {
          // With what is typed next it is tried again.
          for (const left of hunks.slice(hunks.indexOf(id))) sheet.edited.add(left);
          const loss = this.proposals.lossOf(place.proposalId);
          throw loss === undefined ? error : new Error(loss);
        }
      }
    }
    // It is with the server now; as a document it counts as saved.
    if (hunks.length > 0 && document.getText() === text) {
      await document.save();
    }
  }

  private async revert(document: vscode.TextDocument, typed: Sheet): Promise<void> {
    clearTimeout(typed.timer);
    typed.edited.clear();
    // It may be settled by now; then it is again as it was last.
    const sheet = await this.read(document.uri, { isKept: false }).catch(() => Object.assign(typed, { regions: typed.known }));
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), sheet.text);
    await vscode.workspace.applyEdit(edit);
    await document.save();
  }
}

function documentOf(key: string): vscode.TextDocument | undefined {
  return vscode.workspace.textDocuments.find((one) => one.uri.toString() === key);
}

/** Whether a document holds what is not with the server yet. */
function isTyped(key: string, sheet: Sheet): boolean {
  return documentOf(key)?.isDirty === true || sheet.edited.size > 0;
}

/** What stands in the place of the text of a file that has none. */
function entryOf(path: string, what: string): string {
  return `${visible(path)}\n${visible(what)}\n`;
}

function madeOf(file: ProposalFile, side: Place["side"]): Made {
  const { text, regions, holds } = side === "before" ? { text: file.notText ? entryOf(file.path, file.notText) : asInEditor(file.before ?? ""), regions: [], holds: [] } : afterOf(file);
  const all = { start: 0, end: text === "" ? 0 : text.split("\n").length - 1 };
  const lines = new Map(regions.map((region) => [region.hunkId, linesOf(text, region)]));
  const current = typeof file.current === "string" ? asInEditor(file.current) : undefined;
  return { text, regions, uri: vscode.Uri.parse(file.uri).toString(), current, holds: new Map(holds.map((id) => [id, lines.get(id) ?? all])), there: file.hunks.filter((hunk) => isThere(file.current, hunk)).map(({ id }) => id) };
}

function afterOf(file: ProposalFile): { text: string; regions: Region[]; holds: HunkId[] } {
  const taken = file.hunks.filter(isTaken).map(({ id }) => id);
  if (file.kind.type === "delete") {
    // It stays where the change does not fit any more, whatever was said of that a moment before.
    return { text: "", regions: [], holds: typeof file.result === "string" ? [] : taken };
  }
  if (file.notText) {
    return { text: entryOf((file.kind.type === "update" ? file.kind.movePath : undefined) ?? file.path, file.notText), regions: [], holds: taken };
  }
  const made = outcomeInEditor(file.current ?? "", file.hunks);
  const result = asInEditor(file.result ?? made.text);
  // The server's word counts; where the two differ nothing can be edited, but all can be read. Which hunks are in it nobody can tell.
  return made.text === result ? { ...made, holds: taken } : { text: result, regions: [], holds: [] };
}

/** Whether a hunk is in the outcome of its file. */
function isTaken({ status }: Hunk): boolean {
  return status === "pending" || status === "accepted";
}
