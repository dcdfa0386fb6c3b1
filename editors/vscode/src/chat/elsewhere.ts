/**
 * Conversations that another window or editor has open, to be read here: each as a document that nobody can write in, which follows what comes.
 */
import * as vscode from "vscode";
import { markdownOf } from "./export";
import type { Threads } from "./threads";
import { viewOf, withoutEnd } from "./view";
import { threadName } from "./words";

const SCHEME = "countersign-read";
/** How often it is looked whether there is more, while the document is open (ms). */
const LOOK_MS = 3000;

export class Elsewhere implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changes.event;
  private readonly cleanup: { dispose(): unknown }[];
  /** When each was written last, by the document that shows it. */
  private readonly read = new Map<string, number>();
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly threads: Threads) {
    this.cleanup = [this.changes, vscode.workspace.registerTextDocumentContentProvider(SCHEME, this)];
    this.timer = setInterval(() => void this.look(), LOOK_MS);
  }

  dispose(): void {
    clearInterval(this.timer);
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  /** Shows a conversation, at its end. */
  async show(threadId: string): Promise<void> {
    const { thread } = await this.threads.request("countersign/thread/read", { threadId, includeTurns: false });
    // What stands in the tab is the name that it has now.
    const name = threadName(viewOf(thread, undefined), "Conversation", 40).replace(/[/\\]/g, " ");
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name} (read-only).md`, query: threadId });
    const document = await vscode.workspace.openTextDocument(uri);
    const last = Math.max(0, document.lineCount - 1);
    await vscode.window.showTextDocument(document, { preview: true, selection: new vscode.Range(last, 0, last, 0) });
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const { thread } = await this.threads.request("countersign/thread/read", { threadId: uri.query, includeTurns: true });
    this.read.set(uri.toString(), thread.updatedAtMs);
    // Its last turn has not ended; it goes on where it is open.
    return `${markdownOf(withoutEnd(viewOf(thread, undefined)))}\n*Read-only. What is added to this conversation elsewhere appears here.*\n`;
  }

  private async look(): Promise<void> {
    const open = vscode.workspace.textDocuments.filter(({ uri, isClosed }) => uri.scheme === SCHEME && !isClosed);
    for (const key of this.read.keys()) {
      if (!open.some(({ uri }) => uri.toString() === key)) this.read.delete(key);
    }
    for (const { uri } of this.threads.isConnected ? open : []) {
      // What fails is tried again with the next look.
      const found = await this.threads.request("countersign/thread/read", { threadId: uri.query, includeTurns: false }).catch(() => undefined);
      if (found !== undefined && found.thread.updatedAtMs !== this.read.get(uri.toString())) this.changes.fire(uri);
    }
  }
}
