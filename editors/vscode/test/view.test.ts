import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { found } from "../src/chat/find";
import { MOST_OUTPUT, ThreadModel, messageOf, undoneFiles, undoneOf, viewOf } from "../src/chat/view";
import type { Approval, Proposal, Thread, ThreadItem, Turn } from "../src/protocol";
import { NOTIFICATIONS } from "../src/rpc";
import type { ThreadEvent } from "../src/rpc";

const thread = (turns: Turn[] = []): Thread => ({ id: "T", preview: "", cwd: "/w", modelProvider: "p", status: "idle", createdAtMs: 1, updatedAtMs: 1, source: "vscode", cliVersion: "0", archived: false, memoryMode: "enabled", turns });
const turn = (fields: Partial<Turn> = {}): Turn => ({ id: "u", kind: "regular", status: "completed", items: [], ...fields });
const message = (id: string, text: string): ThreadItem => ({ type: "agentMessage", id, text });
const command = (id: string): ThreadItem => ({ type: "commandExecution", id, command: "ls", cwd: "/w", actions: [], source: "agent", confined: "workspace", status: "inProgress" });

let seq = 0;
function event(method: ThreadEvent["method"], params: object): ThreadEvent {
  seq += 1;
  return { method, params: { threadId: "T", turnId: "u", seq, ...params } } as ThreadEvent;
}

test("the extension listens to every notification that it takes in, and to none that is not of the protocol", () => {
  const source = (...parts: string[]): string => fs.readFileSync(path.resolve(__dirname, "..", "..", "src", ...parts), "utf8");
  const protocol = source("protocol.ts");
  const all = [...protocol.slice(protocol.indexOf("export interface Notifications")).matchAll(/"(countersign\/[\w/]+)":/g)].map((match) => match[1]);
  assert.ok(all.length > 20);
  for (const method of NOTIFICATIONS) assert.ok(all.includes(method), method);
  const known = new Set<string>(NOTIFICATIONS);
  for (const file of [["chat", "view.ts"], ["chat", "threads.ts"], ["proposals", "store.ts"], ["watch.ts"]]) {
    for (const [, method = ""] of source(...file).matchAll(/(?:case |event\.method === )"(countersign\/[\w/]+)"/g)) {
      assert.ok(known.has(method), `${method} of ${file.join("/")} is not listened to`);
    }
  }
});

test("a thread from the store is its turns, with what is said of their ends", () => {
  const view = viewOf(
    thread([
      turn({ id: "a", items: [message("1", "x")] }),
      turn({ id: "b", status: "interrupted", interruptedBy: "person", items: [message("2", "y")] }),
      turn({ id: "c", status: "failed", error: { message: "No key.", kind: "missingKey" } }),
      turn({ id: "d", status: "inProgress", startedAtMs: 7 }),
    ]),
  );
  assert.deepEqual(view.rows.map((row) => row.key), ["1", "2", "end:b", "error:c"]);
  assert.deepEqual(view.running, { turnId: "d", startedAtMs: 7 });
  assert.equal(view.lastTurn, "d");
});

test("a turn that ended with its server offers its message again, and says whether the agent had begun", () => {
  const said = { type: "userMessage", id: "1", content: [{ type: "text", text: "go" }] } as ThreadItem;
  for (const [by, isLost] of [["crash", true], ["shutdown", true], ["person", undefined], ["replaced", undefined]] as const) {
    const view = viewOf(thread([turn({ id: "a", status: "interrupted", interruptedBy: by, items: [said] })]));
    const end = view.rows.at(-1)?.body;
    assert.equal(end?.kind === "note" ? end.isLost : "no note", isLost, by);
    assert.deepEqual(messageOf(view, "a"), { input: [{ type: "text", text: "go" }], hasBegun: false });
  }
  const begun = viewOf(thread([turn({ id: "a", status: "interrupted", interruptedBy: "crash", items: [said, message("2", "par")] })]));
  assert.equal(messageOf(begun, "a").hasBegun, true);
});

test("words are found in what was said, whatever the case", () => {
  const said = { type: "userMessage", id: "1", content: [{ type: "text", text: "The Cart" }] } as ThreadItem;
  const view = viewOf(thread([turn({ id: "a", items: [said, command("2"), message("3", "No trolley."), message("4", "a cart, a cart")] }), turn({ id: "b", status: "failed", error: { message: "No cart.", kind: "other" } })]));
  assert.deepEqual(found(view.rows, " cArt "), ["1", "4", "error:b"]);
  assert.deepEqual(found(view.rows, "ls"), []);
  assert.deepEqual(found(view.rows, "  "), []);
});

test("the last turn is the one that began last, whether or not anything is shown of it", () => {
  const model = new ThreadModel(viewOf(thread([turn({ id: "a", items: [message("1", "x")] }), turn({ id: "b" })])));
  assert.equal(model.view.lastTurn, "b");
  model.apply(event("countersign/turn/started", { turn: turn({ id: "c", status: "inProgress" }) }));
  model.apply(event("countersign/turn/completed", { turn: turn({ id: "c" }), unanswered: [] }));
  assert.equal(model.view.lastTurn, "c");
});

test("a message streams in and ends", () => {
  const model = new ThreadModel(viewOf(thread()));
  assert.deepEqual(model.apply(event("countersign/item/started", { item: message("1", ""), startedAtMs: 5 })), { rows: ["1"], structure: true });
  assert.deepEqual(model.apply(event("countersign/item/agentMessage/delta", { itemId: "1", delta: "Hel" })), { rows: ["1"], structure: false });
  model.apply(event("countersign/item/agentMessage/delta", { itemId: "1", delta: "lo" }));
  const row = model.row("1");
  assert.ok(row?.body.kind === "item" && row.body.item.type === "agentMessage");
  assert.equal(row.body.item.text, "Hello");
  assert.equal(row.body.live, true);
  const before = row.rev;
  model.apply(event("countersign/item/completed", { item: message("1", "Hello!"), completedAtMs: 9 }));
  const after = model.row("1");
  assert.ok(after?.body.kind === "item" && after.body.item.type === "agentMessage");
  assert.equal(after.body.item.text, "Hello!");
  assert.equal(after.body.live, false);
  assert.deepEqual([after.startedAtMs, after.completedAtMs], [5, 9]);
  assert.ok(after.rev > before, "a change must be seen");
});

test("deltas of other threads, of unknown items and of other kinds change nothing", () => {
  const model = new ThreadModel(viewOf(thread()));
  model.apply(event("countersign/item/started", { item: message("1", "a"), startedAtMs: 5 }));
  for (const odd of [
    event("countersign/item/agentMessage/delta", { threadId: "other", itemId: "1", delta: "x" }),
    event("countersign/item/agentMessage/delta", { itemId: "nobody", delta: "x" }),
    event("countersign/item/reasoning/textDelta", { itemId: "1", index: 0, delta: "x" }),
    event("countersign/terminal/output", { terminalId: 9, delta: "x" }),
    event("countersign/approval/resolved", { approvalId: "nobody", decision: "accept" }),
    event("countersign/proposal/moved", { proposalId: "nobody", status: "stale", files: [] }),
  ]) {
    model.apply(odd);
  }
  const row = model.row("1");
  assert.ok(row?.body.kind === "item" && row.body.item.type === "agentMessage");
  assert.equal(row.body.item.text, "a");
  assert.equal(model.view.rows.length, 1);
});

test("reasoning has parts, which may come in any order", () => {
  const model = new ThreadModel(viewOf(thread()));
  model.apply(event("countersign/item/started", { item: { type: "reasoning", id: "r", summary: [], content: [] }, startedAtMs: 1 }));
  model.apply(event("countersign/item/reasoning/summaryTextDelta", { itemId: "r", index: 1, delta: "second" }));
  model.apply(event("countersign/item/reasoning/summaryTextDelta", { itemId: "r", index: 0, delta: "first" }));
  model.apply(event("countersign/item/reasoning/textDelta", { itemId: "r", index: 0, delta: "raw" }));
  const row = model.row("r");
  assert.ok(row?.body.kind === "item" && row.body.item.type === "reasoning");
  assert.deepEqual([row.body.item.summary, row.body.item.content], [["first", "second"], ["raw"]]);
});

test("output of a command and of its terminal is kept, but not without bound", () => {
  const model = new ThreadModel(viewOf(thread()));
  model.apply(event("countersign/item/started", { item: command("c"), startedAtMs: 1 }));
  model.apply(event("countersign/item/commandExecution/outputDelta", { itemId: "c", delta: "one\n" }));
  model.apply(event("countersign/terminal/started", { terminal: { terminalId: 3, itemId: "c" } }));
  model.apply(event("countersign/terminal/output", { terminalId: 3, delta: "two\n" }));
  const output = (): string | undefined => {
    const row = model.row("c");
    return row?.body.kind === "item" ? row.body.output : undefined;
  };
  assert.equal(output(), "one\ntwo\n");
  model.apply(event("countersign/terminal/exited", { terminalId: 3, exitCode: 2, durationMs: 9, fullOutput: "/o/c.txt" }));
  const row = model.row("c");
  assert.ok(row?.body.kind === "item" && row.body.item.type === "commandExecution");
  assert.deepEqual([row.body.item.exitCode, row.body.item.status, row.body.item.fullOutput], [2, "failed", "/o/c.txt"]);
  model.apply(event("countersign/item/commandExecution/outputDelta", { itemId: "c", delta: "x".repeat(MOST_OUTPUT * 2) }));
  assert.equal(output()?.length, MOST_OUTPUT);
});

test("a question waits until it is settled, and says how", () => {
  const model = new ThreadModel(viewOf(thread()));
  const approval = { id: "q", threadId: "T", turnId: "u", itemId: "c", command: ["ls"], display: "ls", cwd: "/w", actions: [], reason: "r", confined: "workspace", sessionScope: "", availableDecisions: ["accept", "decline"] } satisfies Approval;
  model.apply(event("countersign/item/started", { item: command("c"), startedAtMs: 1 }));
  const drawn = (): number => model.row("c")?.rev ?? 0;
  const before = drawn();
  model.apply(event("countersign/approval/requested", { approval }));
  assert.equal(model.open().length, 1);
  assert.ok(drawn() > before, "the command says that it waits");
  const asked_ = drawn();
  model.apply(event("countersign/approval/resolved", { approvalId: "q", decision: "acceptForSession" }));
  assert.equal(model.open().length, 0);
  assert.ok(drawn() > asked_, "and no more");
  const row = model.row("question:q");
  assert.ok(row?.body.kind === "question");
  assert.equal(row.body.settled, "Allowed for session");
  const decided = (): string | undefined => {
    const about = model.row("c");
    return about?.body.kind === "item" ? about.body.decided : undefined;
  };
  assert.equal(decided(), "Allowed for session");
  model.apply(event("countersign/item/completed", { item: { ...command("c"), status: "completed", exitCode: 0 }, completedAtMs: 2 }));
  assert.equal(decided(), "Allowed for session", "which stays when it ends");
  model.apply(event("countersign/userInput/requested", { request: { id: "i", threadId: "T", turnId: "u", itemId: "c", questions: [] } }));
  model.apply(event("countersign/userInput/resolved", { id: "i", answered: false }));
  const asked = model.row("question:i");
  assert.ok(asked?.body.kind === "question");
  assert.equal(asked.body.settled, "Not answered");
});

test("the end of a turn ends what streams, and tells what was not read", () => {
  const model = new ThreadModel(viewOf(thread()));
  model.apply(event("countersign/turn/started", { turn: turn({ status: "inProgress" }), modelContextWindow: null }));
  assert.equal(model.view.running?.turnId, "u");
  model.apply(event("countersign/item/started", { item: message("1", "a"), startedAtMs: 5 }));
  model.apply(event("countersign/turn/retrying", { attempt: 1, limit: null, delayMs: 1, message: "again" }));
  assert.equal(model.view.retry?.message, "again");
  model.apply(event("countersign/turn/completed", { turn: turn({ status: "interrupted", interruptedBy: "person" }), lastAgentMessage: null, unanswered: [{ input: [{ type: "text", text: "late" }] }] }));
  assert.equal(model.view.running, undefined);
  assert.equal(model.view.retry, undefined);
  assert.deepEqual(model.view.rows.map((row) => row.key), ["1", "end:u", "unanswered:u:0"]);
  const row = model.row("1");
  assert.ok(row?.body.kind === "item" && !row.body.live);
});

test("what a command changed says what of it is undone, by itself, with its turn, and no more once the undo is undone", () => {
  const model = new ThreadModel(viewOf(thread()));
  const changed: ThreadItem = { type: "commandChanges", id: "x", sourceId: "c", changes: ["/w/a", "/w/b"].map((path) => ({ path, kind: { type: "update" }, added: 1, removed: 0 })) };
  const undo = (id: string, turnId: string, item: Partial<Extract<ThreadItem, { type: "undo" }>>): void => {
    const row = model.row("x")?.rev ?? 0;
    model.apply(event("countersign/item/completed", { turnId, item: { type: "undo", id, turns: [], files: [], status: "completed", ...item }, completedAtMs: 1 }));
    assert.ok((model.row("x")?.rev ?? 0) > row, "it is drawn again");
  };
  const undone = (): string[] => {
    const row = model.row("x");
    assert.ok(row !== undefined);
    return [...undoneOf(model.view, row)].sort();
  };
  model.apply(event("countersign/item/completed", { item: changed, completedAtMs: 1 }));
  assert.deepEqual(undone(), []);
  undo("1", "v", { itemId: "x", files: [{ path: "/w/a", result: "restored" }, { path: "/w/b", result: "conflict" }] });
  assert.deepEqual(undone(), ["/w/a"]);
  undo("2", "v2", { itemId: "other", files: [{ path: "/w/b", result: "restored" }] });
  assert.deepEqual(undone(), ["/w/a"]);
  undo("3", "w", { turns: ["v"], files: [{ path: "/w/a", result: "restored" }] });
  assert.deepEqual(undone(), []);
  undo("4", "z", { itemId: "x", status: "failed", files: [{ path: "/w/a", result: "kept" }] });
  assert.deepEqual(undone(), []);
  undo("5", "y", { turns: ["u"], files: [{ path: "/w/a", result: "removed" }, { path: "/w/b", result: "merged" }] });
  assert.deepEqual(undone(), ["/w/a", "/w/b"]);
});

test("of a turn those files are as before that single undos have brought back, unless a patch changed them too", () => {
  const changed = (id: string, ...paths: string[]): ThreadItem => ({ type: "commandChanges", id, changes: paths.map((path) => ({ path, kind: { type: "update" }, added: 1, removed: 0 })) });
  const patch: ThreadItem = { type: "fileChange", id: "p", changes: [{ path: "/w/c", kind: { type: "update" }, diff: "" }], status: "completed" };
  const undo: ThreadItem = { type: "undo", id: "n", turns: [], itemId: "x", status: "completed", files: ["/w/a", "/w/b", "/w/c"].map((path) => ({ path, result: "restored" })) };
  const view = viewOf(thread([turn({ items: [changed("x", "/w/a", "/w/b", "/w/c", "/w/d"), changed("y", "/w/b"), patch] }), turn({ id: "v", kind: "undo", items: [undo] })]));
  assert.deepEqual([...undoneFiles(view, "u")], ["/w/a"]);
  assert.deepEqual([...undoneFiles(view, "v")], []);
});

test("a proposal moves with what is typed", () => {
  const model = new ThreadModel(viewOf(thread()));
  model.apply(event("countersign/item/started", { item: { type: "fileChange", id: "f", proposalId: "p", changes: [], status: "inProgress" }, startedAtMs: 1 }));
  const proposal = { id: "p", threadId: "T", turnId: "u", itemId: "f", status: "proposed", diff: "", createdAtMs: 1, files: [{ path: "/w/a", uri: "file:///w/a", kind: { type: "update" }, open: true, hunks: [{ id: "h", status: "pending", range: { start: 1, end: 2 }, oldText: "a\n", newText: "b\n" }] }] } satisfies Proposal;
  model.apply(event("countersign/proposal/created", { proposal }));
  const rev = model.row("f")?.rev ?? 0;
  model.apply(event("countersign/proposal/moved", { proposalId: "p", status: "conflicting", files: [{ path: "/w/a", uri: "file:///w/a", open: true, hunks: [{ id: "h", status: "conflicting", range: { start: 4, end: 5 }, conflict: "changed" }] }] }));
  const hunk = model.view.proposals["p"]?.files[0]?.hunks[0];
  assert.deepEqual([hunk?.status, hunk?.range.start, hunk?.conflict], ["conflicting", 4, "changed"]);
  assert.ok((model.row("f")?.rev ?? 0) > rev);
});

test("ten thousand events leave as many rows, each found by its key", () => {
  const model = new ThreadModel(viewOf(thread()));
  for (let i = 0; i < 10_000; i++) {
    model.apply(event("countersign/item/started", { item: message(`m${i}`, "x"), startedAtMs: 1 }));
  }
  assert.equal(model.view.rows.length, 10_000);
  assert.equal(model.position("m9999"), 9999);
});

test("a message that joined the running turn is shown until the agent reads it, or the turn ends", () => {
  const input = [{ type: "text", text: "also this" }];
  const read = (clientId: string): ThreadItem => ({ type: "userMessage", id: `item-${clientId}`, clientId, content: [{ type: "text", text: "also this" }] });
  const joining = (model: ThreadModel): string[] => model.view.joining.map(({ id }) => id);
  const running = (): ThreadModel => {
    const model = new ThreadModel(viewOf(thread()));
    model.apply(event("countersign/turn/started", { turn: turn({ status: "inProgress" }) }));
    return model;
  };
  const model = running();
  for (const id of ["m1", "m2"]) model.apply(event("joined", { id, input }));
  assert.deepEqual(joining(model), ["m1", "m2"]);
  model.apply(event("countersign/item/completed", { item: read("m1"), completedAtMs: 2 }));
  assert.deepEqual(joining(model), ["m2"]);
  // What could not be read any more comes back by itself.
  model.apply(event("countersign/turn/completed", { turn: turn(), unanswered: [{ input }] }));
  assert.deepEqual(joining(model), []);
  assert.equal(model.view.rows.at(-1)?.body.kind, "unanswered");
  // The answer to the request may come after the words were read, or after the turn.
  const late = running();
  late.apply(event("countersign/item/completed", { item: read("m3"), completedAtMs: 2 }));
  late.apply(event("joined", { id: "m3", input }));
  assert.deepEqual(joining(late), []);
  late.apply(event("countersign/turn/completed", { turn: turn(), unanswered: [] }));
  late.apply(event("joined", { id: "m4", input }));
  assert.deepEqual(joining(late), []);
});
