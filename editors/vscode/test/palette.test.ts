import * as assert from "node:assert/strict";
import { test } from "node:test";
import { taskOf } from "../src/chat/about";
import type * as Palette from "../src/chat/palette";
import type { ChatSurfaces } from "../src/chat/surfaces";
import type { Threads } from "../src/chat/threads";
import { loaded } from "./loaded";

/** A person who picks the first entry with this label and types these words; and a chat that writes down what it is told. */
function stage({ picks, types, threads = [] }: { picks?: string; types?: string | undefined; threads?: { id: string }[] }) {
  const did: unknown[] = [];
  const window = {
    showQuickPick: (items: { label: string }[]) => Promise.resolve(items.find(({ label }) => label === picks)),
    showInputBox: (asked: { title: string }) => {
      did.push(asked.title);
      return Promise.resolve(types);
    },
    showInformationMessage: (text: string) => {
      did.push(text);
      return Promise.resolve(undefined);
    },
  };
  const { onConversation } = loaded("../src/chat/palette", { window, workspace: { workspaceFolders: [{ name: "w", uri: { scheme: "file", fsPath: "/w" } }] } }) as typeof Palette;
  const page = {
    review: (target: unknown) => { did.push(["review", target]); },
    ask: (text: string, context: unknown) => { did.push(["ask", text, context]); },
    resume: (id: string) => { did.push(["resume", id]); },
  };
  const chats = {
    here: (options?: { preserveFocus?: boolean }) => {
      did.push(options?.preserveFocus === true ? "shown" : "focused");
      return Promise.resolve(page);
    },
  };
  const asked = { request: (method: string, params: unknown) => {
    did.push([method, params]);
    return Promise.resolve({ data: threads });
  } };
  return { did, call: (command: string, ...args: unknown[]) => onConversation(command, args, chats as unknown as ChatSurfaces, asked as unknown as Threads) };
}

const place = { uri: "file:///w/a%20b.py", lines: { start: 2, end: 5 }, diagnostics: [] };

test("the last conversation of the folder is shown in the chat in view", async () => {
  const { did, call } = stage({ threads: [{ id: "T" }] });
  assert.equal(await call("countersign.openThread"), true);
  assert.deepEqual(did, [["countersign/thread/list", { cwd: "/w", limit: 1, modelProviders: [] }], "focused", ["resume", "T"]]);
  const none = stage({});
  assert.equal(await none.call("countersign.openThread"), true);
  assert.deepEqual(none.did.at(-1), "There is no earlier conversation in this folder.");
});

test("a review is chosen, and runs in the chat in view", async () => {
  for (const [picks, types, target] of [
    ["Uncommitted Changes", undefined, { type: "uncommittedChanges" }],
    ["Changes Against a Branch…", " main ", { type: "baseBranch", branch: "main" }],
    ["A Commit…", "HEAD", { type: "commit", sha: "HEAD" }],
    ["A Commit…", "", undefined],
    ["A Commit…", undefined, undefined],
    ["none", undefined, undefined],
  ] as const) {
    const { did, call } = stage({ picks, types });
    assert.equal(await call("countersign.reviewChanges"), true);
    assert.deepEqual(did.filter((one) => Array.isArray(one)), target === undefined ? [] : [["review", target]], picks);
    assert.equal(did.includes("focused"), target !== undefined);
  }
});

test("a question about the selection is asked in the person's own words, in the chat, which takes no focus", async () => {
  const context = { activeFile: "/w/a b.py", selection: { start: 2, end: 5 }, diagnostics: [] };
  for (const [command, types, title, sent] of [
    ["countersign.ask", " why? ", "Ask about lines 3–5 of a b.py", "why?"],
    ["countersign.rewrite", "shorter", "Rewrite lines 3–5 of a b.py", "Rewrite the selected lines: shorter"],
    ["countersign.ask", "  ", "Ask about lines 3–5 of a b.py", undefined],
    ["countersign.rewrite", undefined, "Rewrite lines 3–5 of a b.py", undefined],
  ] as const) {
    const { did, call } = stage({ types });
    assert.equal(await call(command, place), true);
    assert.deepEqual(did, [title, ...(sent === undefined ? [] : ["shown", ["ask", sent, context]])]);
  }
});

test("what needs no words asks for none, and what is not about a file is the server's", async () => {
  const { did, call } = stage({});
  assert.equal(await call("countersign.reviewFile", place), true);
  assert.equal(await call("countersign.prompt", { ...place, name: "/tidy", arguments: " now " }), true);
  assert.equal(did.filter((one) => typeof one === "string" && one !== "shown").length, 0);
  assert.match(taskOf("countersign.reviewFile", place)?.words("") ?? "", /^Review the file a b\.py: .* Do not change anything\.$/);
  assert.equal(taskOf("countersign.prompt", { ...place, name: "/tidy", arguments: " now " })?.words(""), "/tidy now");
  assert.equal(taskOf("countersign.ask", { ...place, instruction: "as said" })?.words("x"), "as said");
  for (const [command, given] of [["countersign.ask", { ...place, uri: "untitled:One" }], ["countersign.ask", null], ["countersign.fix", place], ["countersign.prompt", { ...place, name: "a\nb" }]] as const) {
    assert.equal(taskOf(command, given), undefined, command);
  }
});
