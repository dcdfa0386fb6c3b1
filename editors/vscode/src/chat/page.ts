/**
 * The extension's side of one chat page, wherever it stands: tells it of its thread, and does what it asks for.
 */
import * as vscode from "vscode";
import type { EditorContext, McpElicitationResponse, McpRequestId, ReviewTarget, SettingsOverride, UserInput } from "../protocol";
import { foldersOnDisk, openFiles } from "../folders";
import { openForServer } from "../questions";
import type { ThreadEvent } from "../rpc";
import { findSymbols } from "../symbols";
import { APPROVALS } from "./approvals";
import type { CodeActions } from "./code";
import { copyAll, exportChat } from "./export_chat";
import { goBack } from "./go_back";
import { openFile, openLink } from "./links";
import { listing } from "./listing";
import { Lists, serverWords } from "./lists";
import type { CommandName } from "./mentions";
import type { ChatServices } from "./services";
import type { Outputs } from "./outputs";
import { changeQueue } from "./queue";
import { Changed, makeWay } from "./roll_back";
import { showDiff } from "./show_diff";
import { NotRunning } from "./threads";
import { messageOf } from "./view";
import type { ThreadModel } from "./view";
import type { Choices, FromPage, ToPage } from "./wire";
import { imagesOf, nameOf, textOf, threadName } from "./words";

/** How long events are gathered before the page is told of them. */
const GATHER_MS = 30;
/** What the page may hand over of one picture. */
const MOST_IMAGE = 20 << 20;

/** When a conversation is tried again that another server has open, in ms. */
const IN_USE_MS = [1000, 3000];

const IN_USE = "This conversation is open in another window or editor.";

/** What is done with a conversation as a whole. */
export type ConversationAction = CommandName | "archive" | "delete" | "stopTerminals";

export class ChatPage implements vscode.Disposable {
  private threadId: string | undefined;
  /** What that is called, as long as it is not opened. */
  private name = "";
  private gathered: ThreadEvent[] = [];
  private timer: NodeJS.Timeout | undefined;
  private isReady = false;
  /** Counts what the person has asked to be shown: only the answer to the newest wish counts, whichever comes last. */
  private opening = 0;
  private readonly cleanup: vscode.Disposable[] = [];
  private readonly early: ToPage[] = [];
  private readonly lists: Lists;
  /** Conversations in which a message is just being sent again. */
  private readonly retrying = new Set<string>();

  constructor(
    private readonly webview: vscode.Webview,
    private readonly services: ChatServices,
    private readonly code: CodeActions,
    private readonly outputs: Outputs,
    private readonly titled: (title: string) => void,
    private readonly focused: () => void,
  ) {
    const { threads, attention } = services;
    this.lists = new Lists(threads, () => this.cwd(), (message) => { this.post(message); });
    this.cleanup.push(
      webview.onDidReceiveMessage((message: FromPage) => {
        this.take(message).catch((error: unknown) => { this.failed(error); });
      }),
      threads.onEvent((event) => {
        // Another account has other models.
        if (event.method === "countersign/account/updated") void this.lists.tell();
        this.gather(event);
      }),
      threads.onReset((id) => {
        if (id === this.threadId) this.show(threads.get(id));
      }),
      services.onShown((shown) => {
        // What fitted no more before that, and fits again, comes first.
        this.flush();
        this.post({ type: "shown", ...shown });
      }),
      threads.onConnection((connected) => { void this.connected(connected); }),
      // The connection tells of itself before the state is known that it is lost by.
      services.onState(() => { this.hello(); }),
      attention.onChange(() => { this.tellAttention(); }),
    );
  }

  get shown(): string | undefined {
    return this.threadId;
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.cleanup).dispose();
  }

  post(message: ToPage): void {
    if (this.isReady) {
      void this.webview.postMessage(message);
    } else {
      this.early.push(structuredClone(message));
    }
  }

  /** Shows a thread. False if the person has asked for another one before it was there. */
  open(id: string): Promise<boolean> {
    return this.showLater(this.services.threads.open(id));
  }

  /**
   * Shows the conversation that was shown before a reload, or in another chat. Where it cannot be opened the person is told why, and it stays
   * the one that is meant: nothing that they write goes to another.
   */
  async reopen(id: string, name: string): Promise<void> {
    this.threadId = id;
    this.name = name;
    this.titled(nameOf(name, 40) || "Conversation");
    const isConnected = (): boolean => this.services.threads.isConnected;
    if (!isConnected()) {
      // It is opened once there is a server.
      return;
    }
    const isMeant = (): boolean => this.threadId === id;
    // The server of before a reload may still be about to end.
    for (const wait of [0, ...IN_USE_MS]) {
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      if (!isMeant() || (wait > 0 && this.services.threads.get(id) !== undefined)) return;
      try {
        await this.open(id);
        return;
      } catch (error) {
        if (!isConnected()) return;
        const isInUse = kindOf(error) === "threadInUse";
        this.post({ type: "unopened", threadId: id, isInUse, reason: isInUse ? `${IN_USE} Close it there and try again, read it here, or fork it to continue with a copy.` : error instanceof Error ? error.message : String(error) });
        if (!isInUse) return;
      }
    }
  }

  /** Does something with the conversation that is shown, as if it had been called here. */
  act(action: ConversationAction): Promise<void> {
    const threadId = this.threadId;
    return this.attempt(async () => {
      if (action === "archive" || action === "delete") {
        if (threadId !== undefined) await this.threadAction(action, threadId);
      } else if (action === "stopTerminals") {
        const { data } = await this.services.threads.request("countersign/terminal/list", { threadId: threadId ?? null });
        await Promise.all(data.map(({ terminalId }) => this.services.threads.request("countersign/terminal/kill", { terminalId })));
        this.post({ type: "notice", severity: "info", text: data.length === 0 ? "No terminal runs in this conversation." : data.length === 1 ? "1 terminal was stopped." : `${data.length} terminals were stopped.` });
      } else {
        await this.command(action);
      }
    });
  }

  /** Has something reviewed, in the conversation that is shown or a new one. */
  review(target: ReviewTarget): Promise<void> {
    return this.attempt(() => this.startReview(target));
  }

  /** Asks the agent about a place of a file, in the conversation that is shown or a new one. What could not be sent is in the composer. */
  ask(text: string, context: EditorContext): Promise<void> {
    return this.attempt(async () => {
      const input: UserInput[] = [{ type: "text", text }];
      try {
        await this.turn(this.threadId, input, false, {}, context);
      } catch (error) {
        this.putBack(input, true);
        throw error;
      }
    });
  }

  /** Shows an earlier conversation. */
  resume(id: string): Promise<void> {
    return this.attempt(async () => {
      if (await this.open(id)) this.post({ type: "opened" });
    });
  }

  /** What goes wrong is said in the chat. */
  private async attempt(what: () => Promise<void>): Promise<void> {
    try {
      await what();
    } catch (error) {
      this.failed(error);
    }
  }

  fresh(): void {
    this.opening += 1;
    this.show(undefined);
    this.post({ type: "focus" });
  }

  /** Says what went wrong; without a server, what becomes of that. */
  private failed(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    this.post({ type: "notice", severity: error instanceof Changed ? "info" : "error", text: error instanceof NotRunning ? (this.services.trouble() ?? text) : text });
  }

  private async showLater(coming: Promise<ThreadModel>): Promise<boolean> {
    this.opening += 1;
    const mine = this.opening;
    try {
      const model = await coming;
      if (mine !== this.opening) return false;
      this.show(model);
      return true;
    } catch (error) {
      // What is no longer wanted cannot fail.
      if (mine !== this.opening) return false;
      throw error;
    }
  }

  private show(model: ThreadModel | undefined): void {
    this.flush();
    this.threadId = model?.view.id;
    this.post({ type: "thread", view: model?.view ?? null });
    this.services.allShown().forEach((shown) => { this.post({ type: "shown", ...shown }); });
    this.titled(titleOf(model));
    this.services.seen();
  }

  private gather(event: ThreadEvent): void {
    if (this.threadId === undefined || !("threadId" in event.params) || event.params.threadId !== this.threadId) {
      return;
    }
    // A copy: what the event holds is in the conversation now, which goes on with it before the page is told.
    this.gathered.push(structuredClone(event));
    this.timer ??= setTimeout(() => { this.flush(); }, GATHER_MS);
    if (event.method === "countersign/thread/nameUpdated" || (event.method === "countersign/item/completed" && event.params.item.type === "userMessage")) {
      this.titled(titleOf(this.services.threads.get(this.threadId)));
    }
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.gathered.length > 0) {
      this.post({ type: "events", events: this.gathered });
      this.gathered = [];
    }
  }

  private async connected(connected: boolean): Promise<void> {
    this.hello();
    const { threadId: id, opening } = this;
    if (connected) {
      await this.lists.tell();
      if (id !== undefined && opening === this.opening) {
        await this.reopen(id, threadName(this.services.threads.get(id)?.view ?? { preview: this.name }, "", 80));
      }
    }
  }

  private hello(): void {
    // A page that is not there yet is told once it is: what was so before would only come after that.
    if (!this.isReady) {
      return;
    }
    this.post({ type: "hello", folder: foldersOnDisk().map((folder) => folder.name).join(" or "), running: this.services.threads.isConnected, trouble: this.services.trouble() ?? null, remedy: this.services.remedy() });
  }

  private tellAttention(): void {
    const { attention } = this.services;
    const editor = attention.editor;
    this.post({ type: "attention", activeFile: editor === undefined ? null : vscode.workspace.asRelativePath(editor.document.uri, false), lines: attention.lines ?? null });
  }

  private cwd(): string | undefined {
    return (this.threadId === undefined ? undefined : this.services.threads.get(this.threadId)?.view.cwd) ?? foldersOnDisk()[0]?.uri.fsPath;
  }

  private async take(message: FromPage): Promise<void> {
    const { threads } = this.services;
    switch (message.type) {
      case "ready":
        this.isReady = true;
        this.hello();
        this.early.splice(0).forEach((early) => { this.post(early); });
        this.tellAttention();
        await this.lists.tell();
        if (message.threadId !== null && this.opening > 0) {
          // The person has already asked for another one than was shown before.
          if (this.threadId !== undefined && threads.get(this.threadId) !== undefined) this.show(threads.get(this.threadId));
        } else if (message.threadId !== null && this.threadId === undefined) {
          await this.reopen(message.threadId, message.name);
        } else if (this.threadId !== undefined && threads.get(this.threadId) !== undefined) {
          this.show(threads.get(this.threadId));
        }
        return;
      case "focused":
        this.focused();
        return;
      case "reopen":
        if (this.threadId !== undefined) await this.reopen(this.threadId, this.name);
        return;
      case "open":
        try {
          // Only now: what is written before would go to the conversation that was shown until then.
          if (await this.open(message.threadId)) this.post({ type: "opened" });
        } catch (error) {
          if (kindOf(error) !== "threadInUse") throw error;
          await this.offerInUse(message.threadId);
        }
        return;
      case "readOnly":
        return this.services.readOnly(message.threadId);
      case "new":
        this.fresh();
        return;
      case "threads":
        return this.list(message.search, message.archived, message.cursor);
      case "threadAction":
        return this.threadAction(message.action, message.threadId);
      case "send":
        return this.settled(message.token, () => this.send(this.threadId, message));
      case "command":
        return this.settled(message.token, () => this.command(message.name));
      case "queue":
        return changeQueue(threads, this.threadId, message);
      case "answerApproval":
        if (!this.services.questions.answer(message.approvalId, message.response)) {
          await threads.request("countersign/approval/respond", { approvalId: message.approvalId, response: message.response });
        }
        return;
      case "answerInput":
        if (!this.services.questions.answer(message.id, message.response)) {
          await threads.request("countersign/userInput/respond", { id: message.id, response: message.response });
        }
        return;
      case "answerElicitation":
        return this.answerElicitation(message, message.response);
      case "openElicitation":
        // Only once the browser has it; who is asked by the editor and says no has not agreed.
        return this.answerElicitation(message, await openForServer(message.server, message.url));
      case "decide":
        return this.services.decide({ proposalId: message.proposalId, hunkIds: message.hunkIds }, message.decision);
      case "accept":
        return this.services.accept(message.proposalId, message.hunkIds, message.leaveOut);
      case "rejectWithWords":
        await vscode.commands.executeCommand("countersign.proposal.rejectWithWords", { proposalId: message.proposalId, hunkIds: message.hunkIds });
        return;
      case "showProposal":
        await (message.path === null ? vscode.commands.executeCommand("countersign.proposal.openAll", { proposalId: message.proposalId }) : vscode.commands.executeCommand("countersign.proposal.open", { proposalId: message.proposalId, path: message.path }));
        return;
      case "searchFiles":
        return this.search(message.token, message.query);
      case "code":
        return this.code.run(message.action, message.text, (words, context) => this.ask(words, context));
      case "link":
        return openLink(message.href, this.cwd());
      case "file":
        return openFile(message.path, message.line ?? undefined, this.cwd());
      case "killTerminal":
        await threads.request("countersign/terminal/kill", { terminalId: message.terminalId });
        return;
      case "sendOutput":
        return this.turn(this.threadId, [{ type: "commandOutput", itemId: message.itemId }], false, {});
      case "openOutput": {
        const rows = (this.threadId === undefined ? undefined : threads.get(this.threadId))?.view.rows ?? [];
        for (const { body } of rows) {
          if (body.kind === "item" && body.item.type === "commandExecution" && body.item.id === message.itemId) await this.outputs.open(body.item);
        }
        return;
      }
      case "overrule":
        if (this.threadId !== undefined) {
          await threads.request("countersign/guardian/approveDenied", { threadId: this.threadId, assessmentId: message.assessmentId });
        }
        return;
      case "setup":
        return this.lists.tellSetup();
      case "saveKey":
        return this.lists.saveKey(message.key);
      case "models":
        return this.lists.tellModels();
      case "retryNow":
        if (this.threadId !== undefined) await threads.request("countersign/turn/retryNow", { threadId: this.threadId });
        return;
      case "retry":
        return this.settled(message.token, () => this.retry(this.threadId, message.turnId, message.choices));
      case "goBack":
        if (this.threadId !== undefined) await this.goBack(this.threadId, message.turnId);
        return;
      case "undoChanges":
        if (this.threadId !== undefined) {
          await threads.request("countersign/turn/undo", { threadId: this.threadId, itemId: message.itemId, paths: [...message.paths] });
        }
        return;
      case "help": {
        const commands = { doctor: "countersign.server.doctor", demo: "countersign.server.demo", log: "countersign.server.showLog", restart: "countersign.server.restart", install: "countersign.server.install", settings: "workbench.action.openSettings", provider: "workbench.action.openSettings", trust: "workbench.trust.manage", logIn: "countersign.login", folder: "workbench.action.files.openFolder" };
        const about = { settings: "countersign", provider: "countersign.model_provider" };
        await vscode.commands.executeCommand(commands[message.action], ...(message.action === "settings" || message.action === "provider" ? [about[message.action]] : []));
      }
    }
  }

  /** Another server has a conversation of the list: it can be read here, or forked. */
  private async offerInUse(threadId: string): Promise<void> {
    const [read, fork] = ["Show Read-Only", "Fork Conversation"];
    const chosen = await vscode.window.showInformationMessage(`${IN_USE} Read it here, or fork it to continue with a copy.`, read, fork);
    if (chosen === read) await this.services.readOnly(threadId);
    if (chosen === fork) await this.threadAction("fork", threadId);
  }

  private async list(search: string, archived: boolean, cursor: string | null): Promise<void> {
    this.post(await listing(this.services.threads, search, archived, cursor));
  }

  private async threadAction(action: Extract<FromPage, { type: "threadAction" }>["action"], threadId: string): Promise<void> {
    const { threads } = this.services;
    switch (action) {
      case "rename": {
        const name = await vscode.window.showInputBox({ title: "Rename conversation", prompt: "A name by which you find it again", value: threads.get(threadId)?.view.name ?? "" });
        if (name !== undefined && name.trim() !== "") {
          await threads.request("countersign/thread/name/set", { threadId, name: name.trim() });
        }
        break;
      }
      case "fork":
        if (await this.showLater(threads.fork(threadId))) this.post({ type: "opened" });
        return;
      case "archive":
        await threads.request("countersign/thread/archive", { threadId });
        if (threadId === this.threadId) this.show(undefined);
        break;
      case "unarchive":
        await threads.request("countersign/thread/unarchive", { threadId });
        break;
      case "delete": {
        const yes = "Delete";
        const name = threadName(threads.get(threadId)?.view ?? { preview: "" }, "this conversation", 80);
        const chosen = await vscode.window.showWarningMessage(`Delete “${name}” for good?`, { modal: true, detail: "Its proposals and what it noted for undo go with it. Files stay as they are." }, yes);
        if (chosen !== yes) return;
        await threads.request("countersign/thread/delete", { threadId });
        if (threadId === this.threadId) this.show(undefined);
        break;
      }
      case "editor":
        await vscode.commands.executeCommand("countersign.chat.openInEditor", threadId);
        return;
    }
    await this.list("", action === "unarchive", null);
  }

  private async send(threadId: string | undefined, message: Extract<FromPage, { type: "send" }>): Promise<void> {
    const { images } = message;
    if (!images.every((url) => /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/.test(url) && url.length <= MOST_IMAGE)) {
      throw new Error("Nothing was sent: only pictures of the kinds PNG, JPEG, GIF and WebP, up to 15 MB each, can be. Remove the other ones.");
    }
    const input: UserInput[] = [...(message.text.trim() === "" ? [] : [{ type: "text", text: message.text } as const]), ...images.map((url) => ({ type: "image", url }) as const)];
    if (input.length > 0) {
      await this.turn(threadId, input, message.queue, message.choices, this.services.attention.context(message.leaveOut));
    }
  }

  /** Does what the composer has handed over, and tells it what became of that: nothing that was typed is lost. */
  private async settled(token: number | null, what: () => Promise<void>): Promise<void> {
    try {
      await what();
    } catch (error) {
      if (token !== null) this.post({ type: "unsent", token });
      throw error;
    }
    if (token !== null) this.post({ type: "sent", token });
  }

  private async answerElicitation({ id, server, requestId }: { id: string; server: string; requestId: McpRequestId }, response: McpElicitationResponse): Promise<void> {
    if (!this.services.questions.answer(id, response)) {
      await this.services.threads.request("countersign/mcp/elicitation/respond", { server, requestId, response });
    }
  }

  /** Begins a turn in a conversation, a new one if none is named. It is not read here which one is shown: that may have changed since the words were typed. */
  private async turn(threadId: string | undefined, input: UserInput[], queue: boolean, choices: Choices, context = this.services.attention.context([])): Promise<void> {
    const { threads } = this.services;
    let id = threadId;
    if (id === undefined) {
      const begun = await this.begin();
      id = begun.view.id;
      if (this.threadId === undefined) {
        this.show(begun);
      }
    }
    await threads.open(id);
    await threads.turn(id, { input, context, settings: overrides(choices) }, queue);
  }

  /** A new conversation, in the folder that the person chooses where there is a choice. */
  private async begin(): Promise<ThreadModel> {
    const folder = await this.services.folder();
    if (folder === null) {
      throw new Error("No folder was chosen, so nothing was sent.");
    }
    return this.services.threads.start(folder);
  }

  private async command(name: Extract<FromPage, { type: "command" }>["name"]): Promise<void> {
    const { threads } = this.services;
    const threadId = this.threadId;
    if (name === "new" || name === "clear") {
      this.fresh();
      return;
    }
    if (name === "review") {
      return this.startReview({ type: "uncommittedChanges" });
    }
    if (name === "mcp") {
      this.post({ type: "notice", severity: "info", text: await serverWords(threads, threadId) });
      return;
    }
    if (threadId === undefined) {
      throw new Error("There is no conversation yet. Ask something first.");
    }
    switch (name) {
      case "compact":
        await threads.request("countersign/thread/compact", { threadId });
        return;
      case "context":
        this.post({ type: "context", threadId, context: await threads.request("countersign/thread/context", { threadId }) });
        return;
      case "undo":
        await threads.request("countersign/turn/undo", { threadId });
        return;
      case "diff": {
        const { diff } = await threads.request("countersign/turn/diff", { threadId });
        return showDiff(diff || "The last turn changed nothing.\n");
      }
      case "rollback":
      case "rewind":
        return this.goBack(threadId);
      case "stop":
        await threads.request("countersign/turn/interrupt", { threadId });
        return;
      case "copy":
        return copyAll((await threads.open(threadId)).view);
      case "export":
        return exportChat((await threads.open(threadId)).view);
      case "fork":
      case "rename":
        return this.threadAction(name, threadId);
    }
  }

  private async startReview(target: ReviewTarget): Promise<void> {
    const threadId = this.threadId ?? (await this.begin()).view.id;
    await this.open(threadId);
    await this.services.threads.request("countersign/review/start", { threadId, target });
  }

  /** Sends the message of a failed turn again, in its place. Pressed twice, it is sent once. */
  private async retry(threadId: string | undefined, turnId: string, choices: Choices): Promise<void> {
    if (threadId === undefined || this.retrying.has(threadId)) {
      return;
    }
    this.retrying.add(threadId);
    try {
      await this.sendAgain(threadId, turnId, choices);
    } finally {
      this.retrying.delete(threadId);
    }
  }

  private async sendAgain(threadId: string, turnId: string, choices: Choices): Promise<void> {
    const { threads } = this.services;
    const { view } = await threads.open(threadId);
    const input = [...messageOf(view, turnId).input];
    if (input.length === 0) {
      throw new Error("The message of this turn is gone. Write it again.");
    }
    const isGone = await makeWay(threads.request, view, turnId);
    try {
      await this.turn(threadId, input, false, choices);
    } catch (error) {
      if (isGone) this.putBack(input);
      throw error;
    }
  }

  /** To before a turn, the last one if none is named; its message is there to be sent again. */
  private async goBack(threadId: string, turnId?: string): Promise<void> {
    const { threads } = this.services;
    const message = await goBack(threads, (await threads.open(threadId)).view, turnId);
    if (message !== undefined) this.putBack(message);
  }

  /** A message stands in the conversation no more: it is there to be sent again. */
  private putBack(input: readonly UserInput[], keepFocus = false): void {
    this.post({ type: "putBack", text: textOf(input), images: imagesOf(input), keepFocus });
  }

  private async search(token: number, query: string): Promise<void> {
    const [files, symbols] = await Promise.all([
      query === "" ? Promise.resolve(openFiles(this.cwd())) : this.services.threads.request("countersign/file/search", { query, limit: 12, cancellationToken: "chat" }).then((result) => result.files, () => []),
      query.length < 2 ? Promise.resolve([]) : findSymbols(query, 6, this.cwd()),
    ]);
    this.post({ type: "found", token, files, symbols });
  }
}

/** What the server calls a failure. */
function kindOf(error: unknown): unknown {
  return (error as { data?: { kind?: unknown } | null } | null)?.data?.kind;
}

function titleOf(model: ThreadModel | undefined): string {
  return threadName(model?.view ?? { preview: "" }, "New conversation", 40);
}

function overrides({ mode, model, effort, approvals }: Choices): SettingsOverride {
  return { ...(approvals === undefined ? {} : APPROVALS[approvals].sets), ...(mode === undefined ? {} : { mode }), ...(model === undefined ? {} : { model: model.id, modelProvider: model.provider }), ...(effort === undefined ? {} : { effort }) };
}
