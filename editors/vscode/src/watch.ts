/**
 * Watches the threads for what the person should know while looking elsewhere: the status item, and a word when a long turn has ended
 * or waits.
 */
import * as vscode from "vscode";
import type { AccountItem } from "./account";
import type { Threads } from "./chat/threads";
import { duration, plain, threadName } from "./chat/words";
import { notifyAfter, playsSound } from "./preferences";
import type { ThreadEvent } from "./rpc";
import type { StatusItem } from "./status";

const SHOW = "Show";

export class Watch implements vscode.Disposable {
  private readonly cleanup: vscode.Disposable[];
  private latest: string | undefined;
  private readonly begun = new Map<string, number>();

  constructor(
    private readonly threads: Threads,
    private readonly account: AccountItem,
    private readonly status: StatusItem,
    private readonly show: (threadId: string) => void,
    /** Takes the number of questions that wait. */
    private readonly waiting: (count: number) => void,
    private readonly chime: () => void,
  ) {
    this.cleanup = [threads.onEvent((event) => { this.take(event); }), threads.onReset(() => { this.draw(); }), threads.onConnection(() => { this.draw(); }), account.onChange(() => { this.draw(); })];
  }

  dispose(): void {
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  private take(event: ThreadEvent): void {
    switch (event.method) {
      case "countersign/turn/started":
        this.begun.set(event.params.threadId, Date.now());
        this.latest = event.params.threadId;
        break;
      case "countersign/turn/completed": {
        const since = this.begun.get(event.params.threadId);
        this.begun.delete(event.params.threadId);
        const { status, error, kind } = event.params.turn;
        // What the walkthrough ticks: something was asked and answered.
        if (status === "completed" && kind === "regular" && event.params.lastAgentMessage) reached("countersign.hasAnswer");
        const words = { completed: "has ended", failed: `failed: ${error?.message ?? "the log says why"}`, interrupted: "was stopped", inProgress: "goes on" }[status];
        this.tell(event.params.threadId, since, words);
        break;
      }
      case "countersign/thread/statusChanged":
        if (event.params.status === "waitingOnApproval" || event.params.status === "waitingOnUserInput") {
          this.tell(event.params.threadId, this.begun.get(event.params.threadId), "is waiting for you");
        }
        break;
      case "countersign/proposal/updated":
        if (event.params.proposal.files.some((file) => file.hunks.some((hunk) => hunk.status === "applied"))) reached("countersign.hasApplied");
        break;
      case "countersign/thread/tokenUsage":
      case "countersign/thread/configured":
      case "countersign/thread/deleted":
      case "countersign/approval/requested":
      case "countersign/approval/resolved":
      case "countersign/userInput/requested":
      case "countersign/userInput/resolved":
      case "countersign/mcp/elicitationRequested":
      case "countersign/mcp/elicitationResolved":
        break;
      default:
        return;
    }
    this.draw();
  }

  private draw(): void {
    const views = this.threads.all.map((model) => model.view);
    this.waiting(this.threads.all.reduce((sum, model) => sum + model.open().length, 0));
    this.status.showWork({
      running: views.filter((view) => view.running !== undefined && view.agent === undefined).length,
      waiting: views.filter((view) => view.status === "waitingOnApproval" || view.status === "waitingOnUserInput").map((view) => view.id),
      allowance: this.account.allowance,
      thread: (this.latest === undefined ? undefined : this.threads.get(this.latest)?.view) ?? views.at(-1),
    });
  }

  private tell(threadId: string, since: number | undefined, words: string): void {
    const after = notifyAfter();
    const view = this.threads.get(threadId)?.view;
    if (vscode.window.state.focused || after === undefined || since === undefined || Date.now() - since < after * 1000 || view?.agent !== undefined) {
      return;
    }
    if (playsSound()) this.chime();
    const title = plain(threadName(view ?? { preview: "" }, "The conversation", 60));
    void vscode.window.showInformationMessage(`“${title}” ${words} (after ${duration(Date.now() - since)}).`, SHOW).then((chosen) => {
      if (chosen === SHOW) this.show(threadId);
    });
  }
}

function reached(key: "countersign.hasAnswer" | "countersign.hasApplied"): void {
  void vscode.commands.executeCommand("setContext", key, true);
}
