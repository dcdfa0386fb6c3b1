/**
 * The threads that this window knows, each as the chat shows it, and what can be done with them. The only place that asks the
 * server about threads.
 */
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { ClientRequests, SettingsOverride, Thread, ThreadSettings, Turn } from "../protocol";
import type { Rpc, ThreadEvent } from "../rpc";
import { ThreadModel, viewOf } from "./view";

/** Why nothing can be asked at this moment. */
export class NotRunning extends Error {
  constructor() {
    super("The Countersign server is not running. Run “Countersign: Restart Server”.");
  }
}

export class Threads implements vscode.Disposable {
  private readonly models = new Map<string, ThreadModel>();
  private readonly events = new vscode.EventEmitter<ThreadEvent>();
  private readonly resets = new vscode.EventEmitter<string>();
  private readonly connections = new vscode.EventEmitter<boolean>();
  /** Each event, after its thread's view has taken it in. */
  readonly onEvent = this.events.event;
  /** A thread's view is another one than before. */
  readonly onReset = this.resets.event;
  /** The server has come, or is gone. */
  readonly onConnection = this.connections.event;
  private rpc: Rpc | undefined;

  constructor(
    private readonly tools: () => ClientRequests["countersign/thread/start"]["params"]["dynamicTools"],
    private readonly log: vscode.LogOutputChannel,
  ) {}

  dispose(): void {
    this.events.dispose();
    this.resets.dispose();
    this.connections.dispose();
  }

  /** The server to ask from now on; undefined if there is none. */
  connect(rpc: Rpc | undefined): void {
    this.rpc = rpc;
    if (rpc === undefined) {
      // Questions and turns ended with the server.
      this.models.clear();
    }
    this.connections.fire(rpc !== undefined);
  }

  get isConnected(): boolean {
    return this.rpc !== undefined;
  }

  request: Rpc["request"] = (method, params) => (this.rpc === undefined ? Promise.reject(new NotRunning()) : this.rpc.request(method, params));

  get(id: string): ThreadModel | undefined {
    return this.models.get(id);
  }

  get all(): ThreadModel[] {
    return [...this.models.values()];
  }

  /** Takes in what the server tells. */
  take(event: ThreadEvent): void {
    if (event.method === "countersign/thread/started") {
      this.started(event.params.thread);
    } else if (event.method === "countersign/thread/deleted") {
      this.models.delete(event.params.threadId);
      this.resets.fire(event.params.threadId);
    } else if ("threadId" in event.params) {
      // Sent once more for a subscription, it would be taken twice.
      if (event.method !== "joined" && event.params.subscriptionId) return;
      this.models.get(event.params.threadId)?.apply(event);
    }
    this.events.fire(event);
    if (event.method === "countersign/thread/rolledBack") {
      void this.readAgain(event.params.threadId);
    }
  }

  async start(folder: string | undefined): Promise<ThreadModel> {
    const { thread, settings } = await this.request("countersign/thread/start", { settings: folder === undefined ? {} : { cwd: folder }, dynamicTools: this.tools() ?? [] });
    return this.keep(thread, settings);
  }

  /** The thread, brought back from the store if it is not live. */
  async open(id: string): Promise<ThreadModel> {
    const known = this.models.get(id);
    if (known !== undefined && known.view.status !== "notLoaded") {
      return known;
    }
    const { thread, settings } = await this.request("countersign/thread/resume", { threadId: id, dynamicTools: this.tools() ?? [] });
    const model = this.keep(thread, settings);
    await this.readProposals(model);
    return model;
  }

  async fork(id: string): Promise<ThreadModel> {
    const { thread, settings } = await this.request("countersign/thread/fork", { threadId: id });
    const model = this.keep(thread, settings);
    // A copy has the tools of its origin only where this program made that.
    await this.bringTools(thread.id);
    return model;
  }

  async turn(id: string, params: Omit<ClientRequests["countersign/turn/start"]["params"], "threadId">, queue: boolean): Promise<void> {
    if (queue) {
      await this.request("countersign/turn/queue/add", { threadId: id, ...params });
    } else {
      const clientUserMessageId = randomUUID();
      const { steered } = await this.request("countersign/turn/start", { threadId: id, ...params, clientUserMessageId });
      if (steered) this.take({ method: "joined", params: { threadId: id, id: clientUserMessageId, input: params.input } });
    }
  }

  /** Begins a turn, and waits for its end. */
  async finished(begin: () => Promise<string>): Promise<Turn> {
    const ended = new Map<string, Turn>();
    let wake = (): void => undefined;
    const listening = [
      this.onEvent((event) => {
        if (event.method !== "countersign/turn/completed") return;
        ended.set(event.params.turn.id, event.params.turn);
        wake();
      }),
      this.onConnection(() => { wake(); }),
    ];
    try {
      const id = await begin();
      for (;;) {
        const turn = ended.get(id);
        if (turn !== undefined) return turn;
        if (!this.isConnected) throw new NotRunning();
        await new Promise<void>((resolve) => { wake = resolve; });
      }
    } finally {
      vscode.Disposable.from(...listening).dispose();
    }
  }

  /** What is in force for a thread, with what the person has chosen since. */
  settings(id: string, chosen: SettingsOverride): ThreadSettings | undefined {
    const settings = this.models.get(id)?.view.settings;
    return settings === undefined ? undefined : { ...settings, ...(Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== null)) as Partial<ThreadSettings>) };
  }

  private started(thread: Thread): void {
    if (this.models.has(thread.id)) {
      return;
    }
    this.keep(thread, undefined);
    if (!thread.agent) {
      // One that a code action has started knows nothing of the editor's tools yet.
      void this.bringTools(thread.id);
    }
  }

  private keep(thread: Thread, settings: ThreadSettings | undefined): ThreadModel {
    const known = this.models.get(thread.id);
    if (known !== undefined && known.view.status !== "notLoaded" && known.view.rows.length > 0) {
      // It has gone on since this answer was made.
      known.view.settings ??= settings;
      return known;
    }
    const model = new ThreadModel(viewOf(thread, settings ?? known?.view.settings));
    this.models.set(thread.id, model);
    this.resets.fire(thread.id);
    return model;
  }

  private async bringTools(id: string): Promise<void> {
    const dynamicTools = this.tools() ?? [];
    if (dynamicTools.length === 0) {
      return;
    }
    try {
      await this.request("countersign/thread/resume", { threadId: id, dynamicTools });
    } catch (error) {
      this.log.warn(`The editor's tools could not be given to thread ${id}: ${String(error)}`);
    }
  }

  private async readProposals(model: ThreadModel): Promise<void> {
    const { data } = await this.request("countersign/proposal/list", { threadId: model.view.id, includeSettled: true });
    for (const proposal of data) {
      model.view.proposals[proposal.id] ??= proposal;
    }
  }

  private async readAgain(id: string): Promise<void> {
    const before = this.models.get(id);
    if (before === undefined) {
      return;
    }
    const { thread } = await this.request("countersign/thread/read", { threadId: id, includeTurns: true });
    const view = viewOf(thread, before.view.settings);
    Object.assign(view, { usage: before.view.usage, limits: before.view.limits, queue: before.view.queue, joining: before.view.joining, proposals: before.view.proposals, status: before.view.status });
    this.models.set(id, new ThreadModel(view));
    this.resets.fire(id);
  }
}
