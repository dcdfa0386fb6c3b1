import * as assert from "node:assert/strict";
import { test } from "node:test";
import { placeOf } from "../src/chat/places";
import type { ThreadItem } from "../src/protocol";

const command = (...actions: { type: string; path?: string | null }[]): ThreadItem => ({ type: "commandExecution", id: "i", command: "", cwd: "/w/sub", source: "agent", confined: "workspace", status: "inProgress", actions: actions.map((one) => ({ command: "", name: "", query: null, ...one })) } as unknown as ThreadItem);
const read = (args: unknown): ThreadItem => ({ type: "toolCall", id: "i", tool: "read_file", title: "", arguments: args, status: "inProgress" } as unknown as ThreadItem);
const change = (status: string, changes: unknown[], applied?: unknown[]): ThreadItem => ({ type: "fileChange", id: "i", status, changes, ...(applied === undefined ? {} : { applied }) } as unknown as ThreadItem);
const update = { path: "/w/a.ts", kind: { type: "update" }, diff: "--- a/a.ts\n+++ b/a.ts\n@@ -8,4 +10,4 @@ f() {\n same\n same\n-old\n+new\n" };

test("an item leads to the file that it reads or has changed", () => {
  for (const [item, expected] of [
    [command({ type: "read", path: "a.ts" }), ["/w/sub/a.ts", undefined]],
    [command({ type: "search", path: "." }, { type: "read", path: "/etc/hosts" }), ["/etc/hosts", undefined]],
    [command({ type: "read", path: "src/*.ts" }), undefined],
    [command({ type: "listFiles", path: "src" }), undefined],
    [read({ file_path: "b.ts", offset: 40 }), ["/w/b.ts", 39]],
    [read({ file_path: "/w/b.ts" }), ["/w/b.ts", undefined]],
    [read({ file_path: "" }), undefined],
    [read("b.ts"), undefined],
    [change("completed", [update]), ["/w/a.ts", 11]],
    [change("inProgress", [update]), undefined],
    [change("declined", [update]), undefined],
    [change("completed", [update], []), undefined],
    [change("completed", [{ ...update, kind: { type: "update", movePath: "/w/c.ts" } }]), ["/w/c.ts", 11]],
    [change("completed", [update, { path: "/w/gone.ts", kind: { type: "delete" }, diff: "" }]), ["/w/a.ts", 11]],
    [change("completed", [{ path: "/w/new.ts", kind: { type: "add" }, diff: "@@ -0,0 +1,2 @@\n+a\n+b\n" }]), ["/w/new.ts", 0]],
    [{ type: "agentMessage", id: "i", text: "" } as unknown as ThreadItem, undefined],
  ] as [ThreadItem, [string, number | undefined] | undefined][]) {
    const found = placeOf(item, "/w");
    assert.deepEqual(found === undefined ? undefined : [found.path, found.line], expected, JSON.stringify(item));
  }
});
