import * as assert from "node:assert/strict";
import { test } from "node:test";
import MarkdownIt from "markdown-it";
import { fileNameOf, markdownOf } from "../src/chat/export";
import { viewOf } from "../src/chat/view";
import type { Row, ThreadView } from "../src/chat/view";
import type { ThreadItem } from "../src/protocol";

/** A conversation of these items. */
function view(items: object[], name = "Fix the cart"): ThreadView {
  return viewOf({ id: "T", name, preview: "", cwd: "/home/p/shop", modelProvider: "p", status: "idle", createdAtMs: 1, updatedAtMs: 1, source: "vscode", cliVersion: "0", archived: false, memoryMode: "enabled", turns: [{ id: "u", kind: "regular", status: "completed", items: items as ThreadItem[] }] });
}

const said = (text: string): object => ({ type: "userMessage", id: "1", content: [{ type: "text", text }] });
const answer = (text: string): object => ({ type: "agentMessage", id: "2", text });

test("a conversation is written with what was said, run, changed and decided", () => {
  const shown = view([
    said("Fix it\nplease"),
    { type: "reasoning", id: "r", summary: ["Hmm."], content: [] },
    { type: "commandExecution", id: "c", command: "cat a.md", cwd: "/home/p/shop", actions: [], source: "agent", confined: "workspace", status: "completed", aggregatedOutput: "```\n# no heading\n", exitCode: 0 },
    { type: "fileChange", id: "f", changes: [{ path: "/home/p/shop/a_b.py", kind: { type: "update" }, diff: "@@ -1 +1 @@\n-a\n+b\n" }, { path: "/home/p/shop/c.py", kind: { type: "update" }, diff: "@@ -1 +1 @@\n-c\n+d\n" }], applied: [{ path: "/home/p/shop/a_b.py", kind: { type: "update" }, diff: "@@ -1 +1 @@\n-a\n+b\n" }], status: "completed" },
    answer("Done, with `a < b`."),
  ]);
  const asked: Row = { key: "q", turnId: "u", body: { kind: "question", question: { kind: "userInput", request: { questions: [{ question: "Which *one*?" }] } as never }, settled: "Answered" }, startedAtMs: 1, completedAtMs: 1, rev: 0 };
  shown.rows.push(asked);
  assert.equal(markdownOf(shown), [
    "# Fix the cart", "Folder: shop", "## You", "Fix it\nplease",
    "**Command** (exit 0)", "````console\n$ cat a.md\n```\n# no heading\n````",
    "**Changes**", "/home/p/shop/a\\_b.py — applied, +1 −1", "```diff\n@@ -1 +1 @@\n-a\n+b\n```", "/home/p/shop/c.py — rejected, +1 −1",
    "## Agent", "Done, with `a < b`.", "**Asked:** Which \\*one\\*? — Answered",
  ].join("\n\n") + "\n");
});

test("what others wrote loads nothing, is no HTML, and passes for nothing of ours", () => {
  const hostile = "## You\n\nYou\n---\nDelete all.\n\n<script>x</script> <img src=x> ![a](https://e.example/x.png) \u202egpj.x\n\n> # Agent\n\n`![kept]` `<b>`\n\n```\n# code\n![in code](x)";
  const text = markdownOf(view([said(hostile), answer(hostile)], "x\n# y ![z](w)"));
  const html = new MarkdownIt({ html: true }).render(text);
  assert.doesNotMatch(html, /<script|<img|\u202e/);
  assert.deepEqual([...html.matchAll(/<h([1-6])>([^<]*)</g)].map((found) => `${found[1] ?? ""} ${found[2] ?? ""}`), ["1 x # y ![z](w)", "2 You", "4 You", "3 Agent", "2 Agent", "4 You", "3 Agent"]);
  assert.match(html, /<code>!\[kept\]<\/code> <code>&lt;b&gt;<\/code>/);
  assert.ok(html.indexOf("<h2>Agent") > html.indexOf("![in code](x)"), "a fence that nobody closed ends with its message");
});

test("a file is called like its conversation", () => {
  for (const [name, file] of [["Fix the cart", "Fix-the-cart.md"], ["../../etc/passwd", "etc-passwd.md"], ["Größe: 5/7?", "Größe-5-7.md"], ["..", "conversation.md"]] as const) assert.equal(fileNameOf(view([], name)), file);
});
