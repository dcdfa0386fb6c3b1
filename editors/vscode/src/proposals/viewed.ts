/**
 * Which changes the person has before them in a diff editor, line by line as it is scrolled. That a document was read says nothing: the
 * editor reads for many reasons.
 */
import * as vscode from "vscode";
import type { Hunk, HunkId, Proposal, ProposalFile } from "../protocol";
import { beyondText, diffTitle } from "./beyond";
import { placeOf } from "./documents";
import type { ProposalDocuments } from "./documents";
import { isHidden, OnScreen } from "./on_screen";
import type { Drawn } from "./on_screen";
import type { Span } from "./regions";
import { Shown, yesTo } from "./shown";
import type { Part, Yes } from "./shown";
import type { Proposals } from "./store";
import { nameOf } from "../chat/words";

/** Lines that an editor has at least which is not drawn yet. */
const LEAST_ROOM = 10;

/** What was shown of a proposal by now. */
export interface ShownHunks {
  readonly proposalId: string;
  readonly hunkIds: readonly HunkId[];
}

export class Viewed implements vscode.Disposable {
  private readonly shown = new Shown();
  private readonly onScreen = new OnScreen();
  private readonly news = new vscode.EventEmitter<ShownHunks>();
  /** Something of a proposal was shown that was not before. */
  readonly onShown = this.news.event;
  private readonly cleanup: { dispose(): unknown }[];

  constructor(
    private readonly proposals: Proposals,
    private readonly documents: ProposalDocuments,
  ) {
    const look = (): void => { this.look(); };
    this.cleanup = [
      this.news,
      proposals.onChange((proposal) => {
        // What went on while there was no server nobody knows.
        for (const kept of [this.shown, this.onScreen]) {
          if (proposal === undefined) kept.clear();
          else kept.follow(proposal);
        }
        this.look();
      }),
      documents.onRead(look),
      vscode.window.onDidChangeVisibleTextEditors(look),
      vscode.window.onDidChangeTextEditorVisibleRanges(look),
      vscode.window.tabGroups.onDidChangeTabs(look),
      vscode.window.tabGroups.onDidChangeTabGroups(look),
      vscode.workspace.onDidChangeTextDocument(look),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  /** What a yes to this comes to, by what is on the screen now and was before. */
  yesTo(proposal: Proposal, part: Part): Yes {
    this.look();
    return yesTo(proposal, part, this.shown);
  }

  /** What was shown of each proposal that waits. */
  get all(): ShownHunks[] {
    return this.proposals.waiting.map(({ id }) => ({ proposalId: id, hunkIds: this.shown.of(id) })).filter(({ hunkIds }) => hunkIds.length > 0);
  }

  /** Whether a part of a change was on the screen. */
  hasBegun(proposal: Proposal, hunk: Hunk): boolean {
    return this.onScreen.hasBegun(proposal.id, hunk);
  }

  /** Whether diff editors do not show a change as it would be made: its lines are too long, or it is one of blanks that are not marked. */
  isHidden(hunk: Hunk): boolean {
    return isHidden(hunk, drawn());
  }

  /** Scrolls the diff editor in view to what of a change was not on the screen yet: all of it, where there is room. */
  bring(proposal: Proposal, hunk: Hunk): void {
    for (const { editors, hunks } of this.inView().filter((diff) => diff.proposal.id === proposal.id)) {
      const at = hunks.get(hunk.id);
      const first = at === undefined ? undefined : this.onScreen.lacks(proposal.id, hunk, at);
      if (at === undefined || first === undefined) continue;
      for (const editor of editors) {
        const last = Math.max(first, at.end - 1);
        const room = visibleIn(editor).reduce((lines, { start, end }) => lines + end - start, 0);
        const isWhole = last - first < Math.max(room, LEAST_ROOM) - 2;
        editor.selection = new vscode.Selection(first, 0, first, 0);
        // Below what may cover the first lines.
        const above = Math.max(0, first - coveredOf(room));
        if (isWhole) editor.revealRange(new vscode.Range(first, 0, last, 0), vscode.TextEditorRevealType.InCenter);
        else editor.revealRange(new vscode.Range(above, 0, above, 0), vscode.TextEditorRevealType.AtTop);
      }
    }
  }

  /** Takes note of what the diff editors show that are in view. */
  private look(): void {
    const how = drawn();
    for (const { proposal, editors, hunks } of this.inView()) {
      const whole = proposal.files
        .flatMap((file) => file.hunks)
        .filter((hunk) => {
          const at = hunks.get(hunk.id);
          const seen = (editor: vscode.TextEditor): boolean => at !== undefined && this.onScreen.note(proposal.id, hunk, at, visibleIn(editor), editor.document.lineCount);
          return editors.map(seen).includes(true) && !isHidden(hunk, how);
        });
      if (this.shown.note(proposal, whole.map(({ id }) => id))) {
        this.news.fire({ proposalId: proposal.id, hunkIds: this.shown.of(proposal.id) });
      }
    }
  }

  /** The diff editors in view that show what there is to know of a change, with the hunks that they hold. */
  private inView(): { proposal: Proposal; editors: readonly vscode.TextEditor[]; hunks: ReadonlyMap<HunkId, Span> }[] {
    return vscode.window.tabGroups.all.flatMap(({ activeTab }) => {
      const { label, input } = activeTab ?? {};
      const place = input instanceof vscode.TabInputTextDiff ? placeOf(input.modified) : undefined;
      const proposal = place === undefined ? undefined : this.proposals.get(place.proposalId);
      const file = proposal?.files.find(({ path }) => path === place?.path);
      if (!(input instanceof vscode.TabInputTextDiff) || proposal === undefined || file === undefined) {
        return [];
      }
      // What the two texts do not show stands in the name of the diff, where it was opened by us.
      const isWhole = beyondText(file, relative).length === 0 || label === titleOf(file);
      const editors = editorsOf(input.modified);
      return isWhole && editors.length > 0 ? [{ proposal, editors, hunks: this.documents.shownBy(input.original, input.modified) }] : [];
    });
  }
}

/** How diff editors draw texts, by the person's settings. */
function drawn(): Drawn {
  const settings = vscode.workspace.getConfiguration();
  const wrap = settings.get<string>("diffEditor.wordWrap", "inherit");
  const wraps = (wrap === "inherit" ? settings.get<string>("editor.wordWrap", "off") : wrap) !== "off";
  return { wraps, ignoresBlanks: settings.get<boolean>("diffEditor.ignoreTrimWhitespace", true) };
}

/** The name of the diff editor of a file. */
export function titleOf(file: ProposalFile): string {
  return diffTitle(nameOf(relative(file.path), 200), file, relative);
}

function relative(path: string): string {
  return vscode.workspace.asRelativePath(path);
}

function editorsOf(uri: vscode.Uri): vscode.TextEditor[] {
  const wanted = uri.toString();
  return vscode.window.visibleTextEditors.filter(({ document }) => document.uri.toString() === wanted);
}

/** The lines of an editor that are on the screen. */
function visibleIn({ visibleRanges }: vscode.TextEditor): Span[] {
  const spans = visibleRanges.map(({ start, end }) => ({ start: start.line, end: end.line + 1 }));
  const [first, ...others] = spans;
  if (first === undefined || first.start === 0) {
    return spans;
  }
  const room = spans.reduce((lines, { start, end }) => lines + end - start, 0);
  return [{ start: first.start + coveredOf(room), end: first.end }, ...others];
}

/** How many lines at the top of an editor of some lines may be covered by those that stick there. */
function coveredOf(room: number): number {
  const sticky = vscode.workspace.getConfiguration("editor.stickyScroll");
  return sticky.get<boolean>("enabled", true) ? Math.min(sticky.get<number>("maxLineCount", 5), Math.floor(room / 4)) : 0;
}
