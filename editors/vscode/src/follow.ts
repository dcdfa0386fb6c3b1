/**
 * Follows the agent of the conversation in view: the files that it reads and changes are shown beside, one after the other. Only where the person
 * has switched that on, and never in the group of editors that they are in, since that would take the cursor from under their hands.
 */
import * as vscode from "vscode";
import { placeOf } from "./chat/places";
import type { FilePlace } from "./chat/places";
import type { Threads } from "./chat/threads";
import { followsAgent } from "./preferences";
import type { ThreadEvent } from "./rpc";

/** How long a file stays before the next one takes its place, at least (ms). */
const STAY_MS = 700;

export class Follow implements vscode.Disposable {
  private readonly cleanup: vscode.Disposable[];
  /** The group that the files are shown in. */
  private column: vscode.ViewColumn | undefined;
  /** The newest place, until it is shown. */
  private next: FilePlace | undefined;
  private timer: NodeJS.Timeout | undefined;
  private shownAt = 0;

  constructor(
    private readonly threads: Threads,
    private readonly inView: () => string | undefined,
  ) {
    this.cleanup = [threads.onEvent((event) => { this.take(event); })];
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  private take(event: ThreadEvent): void {
    if ((event.method !== "countersign/item/started" && event.method !== "countersign/item/completed") || event.params.threadId !== this.inView() || !followsAgent()) {
      return;
    }
    const { item } = event.params;
    // A change is in the file once it is complete; what is read is shown when it begins.
    const isMeant = (item.type === "fileChange") === (event.method === "countersign/item/completed");
    const place = isMeant ? placeOf(item, this.threads.get(event.params.threadId)?.view.cwd ?? "") : undefined;
    if (place !== undefined) {
      this.next = place;
      this.timer ??= setTimeout(() => void this.show(), Math.max(0, this.shownAt + STAY_MS - Date.now()));
    }
  }

  private async show(): Promise<void> {
    const place = this.next;
    this.next = undefined;
    this.timer = undefined;
    this.shownAt = Date.now();
    const { all, activeTabGroup } = vscode.window.tabGroups;
    if (place === undefined || !isInWorkspace(place.path)) {
      return;
    }
    const mine = all.find(({ viewColumn }) => viewColumn === this.column);
    if (mine !== undefined && mine === activeTabGroup && all.length > 1) {
      // The person has gone there: it is theirs now.
      return;
    }
    const viewColumn = mine === undefined || mine === activeTabGroup ? vscode.ViewColumn.Beside : mine.viewColumn;
    try {
      const editor = await vscode.window.showTextDocument(vscode.Uri.file(place.path), { viewColumn, preview: true, preserveFocus: true });
      this.column = editor.viewColumn;
      if (place.line !== undefined) {
        const range = editor.document.validateRange(new vscode.Range(place.line, 0, place.line, 0));
        editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
      }
    } catch {
      // It is gone by now, or no text.
    }
  }
}

function isInWorkspace(path: string): boolean {
  return vscode.workspace.getWorkspaceFolder(vscode.Uri.file(path)) !== undefined;
}
