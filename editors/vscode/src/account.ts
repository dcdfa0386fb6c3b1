/**
 * Who is signed in, what is left of the allowance, and what can be done about it. Signing in and out is the server's own: it opens the
 * page and says how it ended.
 */
import * as vscode from "vscode";
import type { Threads } from "./chat/threads";
import { accountWords, allowanceWords } from "./chat/words";
import type { RateLimits } from "./protocol";

export class AccountItem implements vscode.Disposable {
  private limits: RateLimits | undefined;
  private readonly changes = new vscode.EventEmitter<void>();
  /** The allowance is another one. */
  readonly onChange = this.changes.event;
  private readonly cleanup: { dispose(): unknown }[];

  constructor(private readonly threads: Threads) {
    this.cleanup = [
      this.changes,
      threads.onEvent((event) => {
        if (event.method === "countersign/account/rateLimits/updated") this.take(event.params.rateLimits);
        // Another account has another allowance.
        else if (event.method === "countersign/account/updated") this.take(undefined);
      }),
      threads.onConnection(() => { this.take(undefined); }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  /** What is left, in words, as far as it was told. */
  get allowance(): readonly string[] {
    return this.limits === undefined ? [] : allowanceWords(this.limits);
  }

  /** Shows who is signed in and what is left, with what can be done. */
  async show(): Promise<void> {
    const [read, status, asked] = await Promise.allSettled([
      this.threads.request("countersign/account/read", {}),
      this.threads.request("countersign/account/status", {}),
      this.threads.request("countersign/account/rateLimits/read", {}),
    ]);
    if (read.status === "rejected") {
      throw read.reason;
    }
    if (asked.status === "fulfilled") this.take(asked.value.rateLimits);
    const who = accountWords(read.value, status.status === "fulfilled" ? status.value : undefined);
    const items: (vscode.QuickPickItem & { command?: string })[] = [
      ...this.allowance.map((label) => ({ label: `$(dashboard) ${label}` })),
      ...(read.value.account ? [{ label: "$(sign-out) Sign out", command: "countersign.logout" }] : []),
      ...(read.value.requiresOpenaiAuth ? [{ label: `$(sign-in) ${read.value.account ? "Sign in another way" : "Sign in"}`, command: "countersign.login" }] : []),
      { label: "$(gear) Provider settings", command: "countersign.account.settings" },
    ];
    const picked = await vscode.window.showQuickPick(items, { title: who, placeHolder: "Choose an action" });
    if (picked?.command === "countersign.account.settings") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "countersign.model_provider");
    } else if (picked?.command !== undefined) {
      await vscode.commands.executeCommand(picked.command);
    }
  }

  private take(limits: RateLimits | undefined): void {
    this.limits = limits;
    this.changes.fire();
  }
}
