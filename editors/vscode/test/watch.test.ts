import * as assert from "node:assert/strict";
import { test } from "node:test";
import type { AccountItem } from "../src/account";
import type { Threads } from "../src/chat/threads";
import type { StatusItem } from "../src/status";
import type * as WatchModule from "../src/watch";
import { loaded } from "./loaded";

type Event = { method: string; params: object };

function stage(all: unknown[] = [], counts: number[] = []) {
  const contexts: unknown[] = [];
  const editor = { window: { state: { focused: true } }, Disposable: { from: () => ({ dispose: () => undefined }) }, workspace: { getConfiguration: () => ({ get: () => 20, inspect: () => ({}) }) }, commands: { executeCommand: (_: string, key: string) => contexts.push(key) } };
  const { Watch } = loaded("../src/watch", editor) as typeof WatchModule;
  let listener = (event: Event): void => { assert.fail(event.method); };
  const threads = { all, get: () => undefined, onEvent: (given: typeof listener) => { listener = given; }, onReset: () => undefined, onConnection: () => undefined };
  new Watch(threads as unknown as Threads, { onChange: () => undefined, allowance: [] } as unknown as AccountItem, { showWork: () => undefined } as unknown as StatusItem, () => undefined, (count) => counts.push(count), () => undefined);
  return { contexts, tell: (method: string, params: object): void => { listener({ method, params }); } };
}

test("the walkthrough ticks only what has succeeded", () => {
  const { contexts, tell } = stage();
  const ended = (turn: object, lastAgentMessage: string | null): void => { tell("countersign/turn/completed", { threadId: "T", turn: { kind: "regular", ...turn }, lastAgentMessage }); };
  ended({ status: "failed", error: { message: "No key." } }, null);
  ended({ status: "interrupted" }, "Hal");
  ended({ status: "completed" }, null);
  ended({ status: "completed", kind: "undo" }, "Undone.");
  assert.deepEqual(contexts, []);
  ended({ status: "completed" }, "Hello.");
  assert.deepEqual(contexts, ["countersign.hasAnswer"]);
  const proposal = (status: string): object => ({ proposal: { files: [{ hunks: [{ status }] }] } });
  for (const status of ["pending", "accepted", "rejected"]) tell("countersign/proposal/updated", proposal(status));
  assert.equal(contexts.length, 1);
  tell("countersign/proposal/updated", proposal("applied"));
  assert.deepEqual(contexts, ["countersign.hasAnswer", "countersign.hasApplied"]);
});

test("the view is told how many questions wait, as they come and go", () => {
  const open = [1, 0];
  const all = [0, 1].map((i) => ({ view: { id: `T${i}`, status: "idle" }, open: () => Array.from({ length: open[i] ?? 0 }) }));
  const counts: number[] = [];
  const { tell } = stage(all, counts);
  tell("countersign/approval/requested", {});
  open[1] = 2;
  tell("countersign/userInput/requested", {});
  open.fill(0);
  tell("countersign/approval/resolved", {});
  assert.deepEqual(counts, [1, 3, 0]);
});
