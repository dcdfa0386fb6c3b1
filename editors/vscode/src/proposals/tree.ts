/**
 * The proposals that wait, in the side bar: files, and their hunks.
 */
import * as path from "node:path";
import * as vscode from "vscode";
import { counts, hunkLines } from "../chat/diff";
import { nameOf, visible, visibleText } from "../chat/words";
import type { Hunk, Proposal, ProposalFile } from "../protocol";
import { beyondText } from "./beyond";
import { hunkWords, isDecided, isOpen } from "./state";
import type { Proposals, Target } from "./store";

/** A row: a proposal, a file of it, or a hunk. It stays the same object while it is shown, and says only which one it is. */
export interface Entry extends Target {
  readonly id: string;
  readonly path?: string;
  readonly hunkIds?: readonly [string];
}

export const VIEW = "countersign.proposals";

export class ProposalTree implements vscode.TreeDataProvider<Entry>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<Entry | undefined>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly view: vscode.TreeView<Entry>;
  private readonly cleanup: { dispose(): unknown }[];
  /** The rows by their ids, in order, with what they show. */
  private rows = new Map<string, { entry: Entry; drawn: string }>();

  constructor(
    private readonly proposals: Proposals,
    private readonly titleOf: (proposal: Proposal) => string,
  ) {
    this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: true });
    this.cleanup = [this.view, this.changes, proposals.onChange(() => { this.update(); })];
    this.update();
  }

  dispose(): void {
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  /** Has only those rows drawn anew that show something else: the editor forgets, for a moment, what the rows below one that it draws stand for. */
  private update(): void {
    const before = this.rows;
    this.rows = new Map(this.walk().map((entry) => [entry.id, { entry: before.get(entry.id)?.entry ?? entry, drawn: JSON.stringify(this.getTreeItem(entry)) }]));
    if (before.size === this.rows.size && [...before.keys()].every((id) => this.rows.has(id))) {
      for (const [id, { entry, drawn }] of this.rows) {
        if (before.get(id)?.drawn !== drawn) this.changes.fire(entry);
      }
    } else {
      this.changes.fire(undefined);
    }
    const hunks = this.proposals.waiting.flatMap((proposal) => proposal.files.flatMap((file) => file.hunks.filter(isOpen))).length;
    this.view.badge = hunks === 0 ? undefined : { value: hunks, tooltip: hunks === 1 ? "1 pending change" : `${hunks} pending changes` };
    void vscode.commands.executeCommand("setContext", "countersign.hasProposals", this.proposals.waiting.length > 0);
  }

  private walk(entry?: Entry): Entry[] {
    return this.childrenOf(entry).flatMap((child) => [child, ...this.walk(child)]);
  }

  getChildren(entry?: Entry): Entry[] {
    return this.childrenOf(entry).map((child) => this.rows.get(child.id)?.entry ?? child);
  }

  private childrenOf(entry?: Entry): Entry[] {
    if (entry === undefined) {
      return this.proposals.waiting.sort((a, b) => b.createdAtMs - a.createdAtMs).map(({ id }) => ({ id, proposalId: id }));
    }
    const { proposalId, path: file } = entry;
    if (file === undefined) {
      return (this.proposals.get(proposalId)?.files ?? []).map((one) => ({ id: `${proposalId}|${one.path}`, proposalId, path: one.path }));
    }
    return entry.hunkIds === undefined ? (this.fileOf(entry)?.hunks ?? []).map(({ id }) => ({ id: `${proposalId}|${file}|${id}`, proposalId, path: file, hunkIds: [id] })) : [];
  }

  getTreeItem(entry: Entry): vscode.TreeItem {
    const proposal = this.proposals.get(entry.proposalId);
    const file = this.fileOf(entry);
    const hunk = file?.hunks.find(({ id }) => id === entry.hunkIds?.[0]);
    // A row whose proposal has just been settled is taken away by the update that follows.
    const item = file !== undefined ? (hunk !== undefined && proposal !== undefined ? hunkItem(hunk, file, proposal) : fileItem(file)) : proposal !== undefined ? this.proposalItem(proposal) : new vscode.TreeItem("");
    item.id = entry.id;
    if (file !== undefined) {
      item.command = { command: "countersign.proposal.open", title: "Show", arguments: [entry] };
    }
    return item;
  }

  getParent(): undefined {
    return undefined;
  }

  private fileOf(entry: Entry): ProposalFile | undefined {
    return entry.path === undefined ? undefined : this.proposals.get(entry.proposalId)?.files.find((one) => one.path === entry.path);
  }

  private proposalItem(proposal: Proposal): vscode.TreeItem {
    const item = new vscode.TreeItem(this.titleOf(proposal), vscode.TreeItemCollapsibleState.Expanded);
    const { added, removed } = counts(proposal.files.flatMap((file) => file.hunks.flatMap((hunk) => hunkLines(hunk.oldText, hunk.newText))));
    item.description = `${proposal.files.length === 1 ? "1 file" : `${proposal.files.length} files`} · +${added} −${removed}`;
    item.tooltip = proposal.reason ? visibleText(proposal.reason) : undefined;
    item.iconPath = new vscode.ThemeIcon(proposal.status === "conflicting" || proposal.status === "stale" ? "warning" : "git-pull-request-draft");
    item.contextValue = "waiting-proposal";
    return item;
  }
}

function fileItem(file: ProposalFile): vscode.TreeItem {
  const uri = vscode.Uri.parse(file.uri);
  const item = new vscode.TreeItem(nameOf(path.basename(file.path), 200), file.hunks.length > 0 ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None);
  item.resourceUri = uri;
  const folder = path.dirname(vscode.workspace.asRelativePath(uri));
  const facts = factsOf(file);
  item.tooltip = [visible(file.path), ...facts].join("\n");
  // What the lines do not show comes first: a description is cut where the list ends.
  item.description = [...facts, folder === "." ? undefined : visible(folder), file.unsaved === true ? "unsaved" : undefined].filter(Boolean).join(" · ");
  item.iconPath = vscode.ThemeIcon.File;
  item.contextValue = file.hunks.some(isOpen) ? "waiting-file" : "decided-file";
  return item;
}

/** What becomes of a file beside its lines. */
function factsOf(file: ProposalFile): string[] {
  return [...(file.kind.type === "add" ? ["new"] : []), ...beyondText(file, (one) => vscode.workspace.asRelativePath(one))];
}

function hunkItem(hunk: Hunk, file: ProposalFile, proposal: Proposal): vscode.TreeItem {
  const lines = hunkLines(hunk.oldText, hunk.newText);
  const { added, removed } = counts(lines);
  const shown = lines.find((line) => line.kind === "added") ?? lines.find((line) => line.kind === "removed");
  // A change of no line is what it does to the file.
  const otherwise = lines.length === 0 ? factsOf(file).join(", ") : "";
  const item = new vscode.TreeItem(otherwise !== "" ? otherwise : shown?.text.trim() === "" || shown === undefined ? `Line ${hunk.range.start + 1}` : nameOf(shown.text, 80));
  const words = hunkWords(proposal, hunk);
  const state = words === "" ? "" : ` · ${words}`;
  item.description = `line ${hunk.range.start + 1} · +${added} −${removed}${state}`;
  const icon = { pending: "circle-outline", accepted: "check", rejected: "close", conflicting: "warning", applied: "pass-filled" }[hunk.status];
  item.iconPath = new vscode.ThemeIcon(icon);
  const tooltip = new vscode.MarkdownString();
  if (hunk.conflict) tooltip.appendText(`${visibleText(hunk.conflict)}\n\n`);
  tooltip.appendCodeblock(visibleText(lines.map((line) => `${{ added: "+", removed: "-", same: " ", head: "" }[line.kind]}${line.text}`).join("\n")), "diff");
  item.tooltip = tooltip;
  item.contextValue = isOpen(hunk) ? "waiting-hunk" : isDecided(hunk) ? "decided-hunk" : "settled-hunk";
  item.accessibilityInformation = { label: `${nameOf(path.basename(file.path), 200)}, line ${hunk.range.start + 1}, ${added} lines added, ${removed} removed${state}` };
  return item;
}
