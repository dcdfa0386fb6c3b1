import * as assert from "node:assert/strict";
import { mock, test } from "node:test";
import type * as vscode from "vscode";
import type { CodeActions } from "../src/chat/code";
import type { Outputs } from "../src/chat/outputs";
import type * as Page from "../src/chat/page";
import type { ChatServices } from "../src/chat/services";
import type { FromPage, ToPage } from "../src/chat/wire";
import { loaded } from "./loaded";

class Emitter<T> {
  private readonly heard = new Set<(value: T) => void>();
  readonly event = (listener: (value: T) => void): { dispose(): void } => {
    this.heard.add(listener);
    return { dispose: () => this.heard.delete(listener) };
  };
  fire(value: T): void {
    for (const one of [...this.heard]) one(value);
  }
}

/** A page, and a server that opens conversations or does not. */
function stage() {
  const editor = { workspace: { workspaceFolders: [], asRelativePath: (path: string) => path }, EventEmitter: Emitter, Disposable: { from: () => ({ dispose: () => undefined }) } };
  const { ChatPage } = loaded("../src/chat/page", editor) as typeof Page;
  const posted: ToPage[] = [];
  const asked: string[] = [];
  const titles: string[] = [];
  const fromPage = new Emitter<FromPage>();
  const [connections, resets, events, states, shows, looks] = [new Emitter<boolean>(), new Emitter<string>(), new Emitter<unknown>(), new Emitter<unknown>(), new Emitter<unknown>(), new Emitter<unknown>()];
  const server = { isConnected: true, failure: undefined as unknown };
  const model = (id: string): unknown => ({ view: { id, name: "Old one", preview: "", cwd: "/w", rows: [] } });
  const threads = {
    get isConnected() { return server.isConnected; },
    onEvent: events.event, onReset: resets.event, onConnection: connections.event,
    get: (): undefined => undefined,
    open: (id: string) => {
      asked.push(`open ${id}`);
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
      return server.failure === undefined ? Promise.resolve(model(id)) : Promise.reject(server.failure);
    },
    start: () => {
      asked.push("start");
      return Promise.resolve(model("new"));
    },
    turn: (id: string) => {
      asked.push(`turn ${id}`);
      return Promise.resolve();
    },
    request: () => Promise.resolve({ data: [] }),
  };
  const attention = { onChange: looks.event, editor: undefined, lines: undefined, context: () => ({}) };
  const services = { threads, attention, onShown: shows.event, onState: states.event, allShown: () => [], seen: () => undefined, trouble: () => undefined, remedy: () => "start", folder: () => Promise.resolve("/w") };
  const webview = { onDidReceiveMessage: fromPage.event, postMessage: (message: ToPage) => { posted.push(message); } };
  new ChatPage(webview as unknown as vscode.Webview, services as unknown as ChatServices, undefined as unknown as CodeActions, undefined as unknown as Outputs, (title) => titles.push(title), () => undefined);
  const say = async (message: FromPage): Promise<void> => {
    fromPage.fire(message);
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  const last = <T extends ToPage["type"]>(type: T): Extract<ToPage, { type: T }> | undefined => posted.findLast((one): one is Extract<ToPage, { type: T }> => one.type === type);
  return { posted, asked, titles, server, say, last, connections };
}

const words: FromPage = { type: "send", token: 1, text: "go on", images: [], queue: false, choices: {}, leaveOut: [] };

test("a conversation that cannot be opened after a reload stays the one that is meant", async () => {
  const { posted, asked, titles, server, say, last } = stage();
  server.failure = new Error("It is gone.");
  await say({ type: "ready", threadId: "T", name: "Old one" });
  assert.deepEqual(last("unopened"), { type: "unopened", threadId: "T", isInUse: false, reason: "It is gone." });
  assert.ok(!posted.some((one) => one.type === "thread"), "no other conversation takes its place");
  assert.equal(titles.at(-1), "Old one");
  await say(words);
  assert.equal(last("unsent")?.token, 1, "what is written for it is not lost");
  assert.ok(!asked.includes("start"), "and goes to no new one");
  server.failure = undefined;
  await say({ type: "reopen" });
  assert.equal(last("thread")?.view?.id, "T");
  await say(words);
  assert.equal(asked.at(-1), "turn T");
});

test("who wants a new conversation gets one", async () => {
  const { asked, server, say } = stage();
  server.failure = new Error("It is gone.");
  await say({ type: "ready", threadId: "T", name: "Old one" });
  await say({ type: "new" });
  server.failure = undefined;
  await say(words);
  assert.deepEqual(asked.slice(-3), ["start", "open new", "turn new"]);
});

test("one that another server has open is tried again by itself, since that may be about to end", async () => {
  const { asked, server, say, last } = stage();
  server.failure = Object.assign(new Error("in use"), { data: { kind: "threadInUse" } });
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    await say({ type: "ready", threadId: "T", name: "Old one" });
    assert.equal(last("unopened")?.isInUse, true);
    assert.match(last("unopened")?.reason ?? "", /another window or editor/);
    server.failure = undefined;
    mock.timers.tick(1000);
    await say({ type: "focused" });
    assert.equal(last("thread")?.view?.id, "T");
    assert.deepEqual(asked, ["open T", "open T"]);
  } finally {
    mock.timers.reset();
  }
});

test("without a server it is opened once there is one, under its name till then", async () => {
  const { asked, titles, server, say, last, connections } = stage();
  server.isConnected = false;
  await say({ type: "ready", threadId: "T", name: "Old one" });
  assert.deepEqual([asked, titles], [[], ["Old one"]]);
  Object.assign(server, { isConnected: true, failure: new Error("It is gone.") });
  connections.fire(true);
  await say({ type: "focused" });
  assert.equal(last("unopened")?.reason, "It is gone.");
});
