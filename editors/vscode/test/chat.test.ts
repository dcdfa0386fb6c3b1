import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { BackOff } from "../src/backoff";
import { counts, diffText, hunkLines, unifiedLines, withoutFiles } from "../src/chat/diff";
import { fieldsOf, valueOf } from "../src/chat/form";
import { highlighted } from "../src/chat/highlight";
import { InputHistory } from "../src/chat/history";
import { complete, couldFit, fromFolder, mention, ownCommand, triggerAt } from "../src/chat/mentions";
import { Outbox } from "../src/chat/outbox";
import type { Draft } from "../src/chat/outbox";
import { screen } from "../src/chat/terminal";
import { Heights } from "../src/chat/virtual";
import { approvalMessage, approvalWords, cut, dateWords, duration, fitsEntry, fitsMessage, imagesOf, judgedWords, percentUsed, scopeWords, shown, threadName, tokens, visible } from "../src/chat/words";
import { edited, outcome, spanAt } from "../src/proposals/regions";
import type { Approval, CommandApproval, Hunk } from "../src/protocol";
import { patchText } from "../src/rename_patch";

test("what is being mentioned or called at the cursor", () => {
  const table: [text: string, kind: string | undefined, query?: string][] = [
    ["@", "mention", ""],
    ["see @src/ma", "mention", "src/ma"],
    ["(@x", "mention", "x"],
    ['@"my no', "mention", "my no"],
    ["mail ada@example", undefined],
    ["@done ", undefined],
    ["```\n@x", undefined],
    ["```\na\n```\n@x", "mention", "x"],
    ["/", "slash", ""],
    ["/rev", "slash", "rev"],
    ["/review now", undefined],
    ["say /rev", undefined],
    ["", undefined],
  ];
  for (const [text, kind, query] of table) {
    const found = triggerAt(text, text.length);
    assert.equal(found?.kind, kind, text);
    if (kind !== undefined) assert.equal(found?.query, query, text);
  }
  assert.equal(triggerAt("@src rest", 4)?.query, "src");
});

test("what cannot be meant any more is not offered", () => {
  for (const [sought, query, expected] of [
    ["price_of", "price_o", true],
    ["price_key", "price_o", false],
    ["src/Prices.ts", "sprices", true],
    ["src/prices.ts", "prices.ts:12-14", true],
    ["anything", "", true],
    ["a", "aa", false],
  ] as const) {
    assert.equal(couldFit(sought, query), expected, `${sought} by ${query}`);
  }
});

test("a choice takes the place of what was typed", () => {
  const text = "see @sr and";
  const trigger = triggerAt(text, 7);
  assert.ok(trigger !== undefined);
  assert.deepEqual(complete(text, 7, trigger, "@src/main.rs"), { text: "see @src/main.rs and", caret: 17 });
  const end = triggerAt("@a", 2);
  assert.ok(end !== undefined);
  assert.deepEqual(complete("@a", 2, end, "@abc"), { text: "@abc ", caret: 5 });
});

test("mentions are written as the server reads them", () => {
  assert.equal(mention("src/main.rs"), "@src/main.rs");
  assert.equal(mention("my notes.md", { start: 3, end: 3 }), '@"my notes.md"#L3');
  assert.equal(mention("a.rs", { start: 3, end: 9 }), "@a.rs#L3-9");
});

test("a prompt of the person's comes before a command of the composer's", () => {
  assert.equal(ownCommand("/compact", []), "compact");
  assert.equal(ownCommand("/compact  ", []), "compact");
  assert.equal(ownCommand("/compact", ["compact"]), undefined);
  assert.equal(ownCommand("/compact now", []), undefined);
  assert.equal(ownCommand("/nothing", []), undefined);
});

test("the arrow keys go back and forth, and the draft comes back", () => {
  const history = new InputHistory(["new", "old"]);
  assert.equal(history.newer(), undefined);
  assert.equal(history.older("draft"), "new");
  assert.equal(history.older("new"), "old");
  assert.equal(history.older("old"), undefined);
  assert.equal(history.newer(), "new");
  assert.equal(history.newer(), "draft");
  history.add("old");
  assert.equal(history.older(""), "old");
  assert.equal(history.older("old"), "new");
  assert.equal(history.older("new"), undefined);
});

test("heights: sums, places and windows agree with counting by hand", () => {
  const heights = new Heights();
  const plain: number[] = [];
  let seed = 7;
  const next = (most: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % most;
  };
  for (let i = 0; i < 700; i++) {
    const height = next(90);
    heights.push(height);
    plain.push(height);
  }
  for (let round = 0; round < 300; round++) {
    const row = next(plain.length);
    const height = next(90);
    assert.equal(heights.set(row, height), height - (plain[row] ?? 0));
    plain[row] = height;
    const sum = plain.slice(0, row).reduce((a, b) => a + b, 0);
    assert.equal(heights.offset(row), sum);
    const y = next(heights.total + 200);
    let at = 0;
    let rest = y;
    while (at < plain.length - 1 && rest >= (plain[at] ?? 0)) rest -= plain[at++] ?? 0;
    assert.equal(heights.at(y), at, `at ${y}`);
  }
  heights.reset(Array.from({ length: 10_000 }, () => 50));
  const { first, end } = heights.window(250_000, 800);
  assert.ok(first < 5000 && end > 5016 && end - first < 60, `${first}-${end}`);
  assert.deepEqual(new Heights().window(0, 100), { first: 0, end: 0 });
  assert.equal(heights.set(99_999, 3), 0);
});

test("a terminal's output as plain lines", () => {
  const plain = (text: string): string => screen(text).map((span) => span.text).join("");
  assert.equal(plain("a\nb"), "a\nb");
  assert.equal(plain("10%\r20%\r\ndone"), "20%\ndone");
  assert.equal(plain("abc\b\bX"), "aXc");
  assert.equal(plain("\u001b]0;title\u0007x\u001b]8;;https://example.org\u001b\\y"), "xy");
  assert.equal(plain("\u001b[2J\u001b[Hx\u001b[?25l"), "x");
  assert.equal(plain("long line\r\u001b[Kx"), "x");
  assert.equal(plain("a\tb"), "a       b");
  assert.equal(plain("\u001bPq secret \u001b\\x\u0007"), "x");
  assert.equal(plain("\u001b[31"), "");
  assert.deepEqual(screen("\u001b[1;31mred\u001b[0m ok"), [{ text: "red", classes: ["bold", "fg-1"] }, { text: " ok", classes: [] }]);
  assert.deepEqual(screen("\u001b[38;5;9mx\u001b[39my\u001b[38;2;1;2;3mz"), [{ text: "x", classes: ["fg-9"] }, { text: "yz", classes: [] }]);
  assert.equal(plain("x\n".repeat(300)), "x\n".repeat(300));
});

test("a color that begins in what is not drawn goes on behind it", () => {
  const lines = Array.from({ length: 40 }, (_, i) => (i === 20 ? `\u001b[31m${i}` : i === 30 ? `${i}\u001b[0;1m` : `${i}`)).join("\n");
  const spans = screen(lines, { first: 5, last: 12 });
  assert.deepEqual(spans.map(({ classes }) => classes.join(" ")), ["", "dim", "fg-1", "bold"]);
  assert.equal(spans[2]?.text, "28\n29\n30\n");
  assert.deepEqual(screen(lines, { first: 20, last: 20 }).map(({ text }) => text).join("").split("\n").length, 40);
});

test("of a long output the first and the last lines are drawn, and how many are missing is one count", () => {
  const drawn = (text: string, most = {}): string[] => screen(text, most).map((span) => span.text).join("").split("\n");
  const counted = (from: number, to: number): string => Array.from({ length: to - from + 1 }, (_, i) => `${from + i}\n`).join("");
  const long = drawn(counted(1, 5000));
  assert.deepEqual([long[0], long[99], long[100], long[101], long.at(-2), long.length], ["1", "100", "[… 4601 lines are not shown here …]", "4702", "5000", 401]);
  const small = { first: 2, last: 3 };
  assert.deepEqual(drawn(`${counted(1, 4)}[… 99 bytes, 90 lines cut out …]\n${counted(95, 99)}`, small), ["1", "2", "[… 95 lines are not shown here …]", "98", "99", ""]);
  assert.deepEqual(drawn(`1\n[… 99 bytes, 90 lines cut out …]\n${counted(92, 93)}`, small), ["1", "[… 99 bytes, 90 lines cut out …]", "92", "93", ""]);
  assert.deepEqual(drawn(`1\n2\n3\n[… 9 bytes cut out …]\n5\n6`, small), ["1", "2", "[… 1 line is not shown here …]", "[… 9 bytes cut out …]", "5", "6"]);
});

test("a hunk's lines", () => {
  const signs = (a: string, b: string): string => hunkLines(a, b).map((line) => ({ added: "+", removed: "-", same: " ", head: "@" })[line.kind] + line.text).join("|");
  assert.equal(signs("a\nb\nc\n", "a\nB\nc\n"), " a|-b|+B| c");
  assert.equal(signs("", "a\n"), "+a");
  assert.equal(signs("a\n", ""), "-a");
  assert.equal(signs("a\nb\nc\nd\n", "b\nc\nx\nd\ne\n"), "-a| b| c|+x| d|+e");
  assert.equal(signs("a\r\n", "a\n"), " a");
  assert.deepEqual(counts(hunkLines("a\nb\n", "c\n")), { added: 1, removed: 2 });
  assert.deepEqual(unifiedLines("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n\\ No newline at end of file\n").map((line) => line.kind), ["head", "removed", "added", "same"]);
  assert.equal(hunkLines("x\n".repeat(3000), "y\n".repeat(3000)).length, 6000);
});

test("colours leave the text as it is", () => {
  const samples: [string, string][] = [["let x = \"a\\\"b\"; // c\n/* d */ fn y() {}", "rust"], ["def f():\n  '''doc'''\n  return 1.5e3 # x", "python"], ["\"unclosed", "js"], ["/* unclosed", "c"], ["+a\n-b\n@@", "diff"], ["x", "no-language"], ["𝒳 = 1", "python"], ["toString", "constructor"], ["`a\nb`", "ts"]];
  for (const [code, language] of samples) {
    assert.equal(highlighted(code, language).map((part) => part.text).join(""), code, language);
  }
  assert.deepEqual(highlighted("return 1", "rs").map((part) => part.kind), ["keyword", undefined, "number"]);
});

test("a form: its fields and what was filled in", () => {
  const [name, age, kind, yes] = fieldsOf({ type: "object", required: ["name"], properties: { name: { type: "string", title: "Name", minLength: 2 }, age: { type: "integer", minimum: 1, maximum: 9 }, kind: { enum: ["a", "b"], enumNames: ["A", "B"] }, yes: { type: "boolean", default: true } } });
  assert.ok(name && age && kind && yes);
  assert.deepEqual([name.kind, age.kind, kind.kind, yes.kind], ["text", "integer", "choice", "boolean"]);
  assert.deepEqual(kind.choices, [{ value: "a", title: "A" }, { value: "b", title: "B" }]);
  assert.ok(valueOf(name, "").problem);
  assert.ok(valueOf(name, "x").problem);
  assert.deepEqual(valueOf(name, "xy"), { value: "xy" });
  assert.deepEqual(valueOf(age, ""), {});
  for (const bad of ["0", "10", "1.5", "x"]) assert.ok(valueOf(age, bad).problem, bad);
  assert.deepEqual(valueOf(age, "5"), { value: 5 });
  assert.ok(valueOf(kind, "c").problem);
  assert.deepEqual(valueOf(yes, false), { value: false });
  for (const odd of [null, 1, "x", [], {}, { properties: [] }, { properties: { a: null } }]) fieldsOf(odd);
});

test("words", () => {
  assert.deepEqual([5, 999, 1500, 61_000, 3_700_000].map(duration), ["5 ms", "999 ms", "1.5 s", "1 min 1 s", "1 h 1 min"]);
  assert.deepEqual([5, 1234, 123_456, 2_500_000].map(tokens), ["5", "1.2k", "123k", "2.5M"]);
  assert.equal(cut("🍐🍐🍐", 2), "🍐…");
  const usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteInputTokens: 0, outputTokens: 0, reasoningOutputTokens: 0, totalTokens: 50 };
  assert.equal(percentUsed({ last: usage, total: usage, modelContextWindow: 200 }), 25);
  assert.equal(percentUsed({ last: usage, total: usage, modelContextWindow: null }), undefined);
});

test("a server that ends is started later each time, and left alone at last", () => {
  const backOff = new BackOff(1000, 8000, 60_000, 5);
  const waits: (number | undefined)[] = [];
  for (let i = 0; i < 6; i++) {
    backOff.started(0);
    waits.push(backOff.ended(10));
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 8000, undefined]);
  backOff.started(0);
  assert.equal(backOff.ended(70_000), 1000);
  backOff.reset();
  assert.equal(backOff.ended(0), 1000);
});

const hunk = (id: string, start: number, end: number, newText: string, status: Hunk["status"] = "pending"): Hunk => ({ id, status, range: { start, end }, oldText: "", newText });

test("the hunk at a line is the one that covers it, else the one beside it, and none where it is not clear", () => {
  const spans = [{ id: "two lines", start: 2, end: 4 }, { id: "nothing", start: 6, end: 6 }, { id: "one", start: 8, end: 9 }];
  const at = (line: number): string | undefined => spanAt(spans, line)?.id;
  assert.deepEqual([0, 1, 2, 3, 4].map(at), [undefined, "two lines", "two lines", "two lines", "two lines"]);
  assert.deepEqual([5, 6, 7, 8, 9, 10].map(at), ["nothing", "nothing", "one", "one", "one", undefined]);
  assert.equal(spanAt([...spans, { id: "another", start: 3, end: 6 }], 3), undefined, "two cover it");
  assert.equal(spanAt([{ start: 0, end: 1 }, { start: 2, end: 3 }], 1), undefined, "between two");
});

test("the outcome of a proposal, and which hunk an edit of it belongs to", () => {
  const current = "a\nb\nc\nd\n";
  const made = outcome(current, [hunk("2", 3, 3, "x\n"), hunk("1", 1, 2, "B1\nB2\n"), hunk("3", 0, 1, "no\n", "rejected")]);
  assert.equal(made.text, "a\nB1\nB2\nc\nx\nd\n");
  assert.deepEqual(made.regions, [{ hunkId: "1", start: 2, end: 8 }, { hunkId: "2", start: 10, end: 12 }]);
  const typed = edited(made.regions, { offset: 4, length: 0, added: 3 });
  assert.ok(typed !== undefined);
  assert.equal(typed.hunkId, "1");
  assert.deepEqual(typed.regions, [{ hunkId: "1", start: 2, end: 11 }, { hunkId: "2", start: 13, end: 15 }]);
  assert.equal(edited(made.regions, { offset: 0, length: 1, added: 0 }), undefined);
  assert.equal(edited(made.regions, { offset: 7, length: 3, added: 0 }), undefined, "over the edge");
  assert.equal(edited(made.regions, { offset: 9, length: 0, added: 1 }), undefined, "between");
});

test("a rename as a patch", () => {
  const text = "one\ntwo x\nthree\nfour\nfive\nsix\nseven\neight\nnine x x\n";
  const at = (line: number, character: number): { start: { line: number; character: number }; end: { line: number; character: number }; text: string } => ({ start: { line, character }, end: { line, character: character + 1 }, text: "yy" });
  assert.equal(
    patchText([{ path: "a.txt", text, edits: [at(8, 7), at(1, 4), at(8, 5)] }]),
    ["*** Begin Patch", "*** Update File: a.txt", "@@ -1,5 +1,5 @@", " one", "-two x", "+two yy", " three", " four", " five", "@@ -6,4 +6,4 @@", " six", " seven", " eight", "-nine x x", "+nine yy yy", "*** End Patch", ""].join("\n"),
  );
});

test("a rename in places that look alike says which it means", () => {
  const text = "x = 1\n".repeat(30);
  const at = (line: number, name: string): { start: { line: number; character: number }; end: { line: number; character: number }; text: string } => ({ start: { line, character: 0 }, end: { line, character: 1 }, text: name });
  const heads = patchText([{ path: "a.py", text, edits: [at(20, "z"), at(5, "y\ny")] }]).split("\n").filter((line) => line.startsWith("@@"));
  assert.deepEqual(heads, ["@@ -3,7 +3,8 @@", "@@ -18,7 +19,7 @@"]);
});

test("what could not be sent comes back whole, before what was written since", () => {
  const png = "data:image/png;base64,AAAA";
  const cases: { name: string; sent: Draft; now: Draft; back: Draft }[] = [
    { name: "all of it", sent: { text: "one", images: [png], choices: { mode: "plan", effort: "high" } }, now: { text: "", images: [], choices: {} }, back: { text: "one", images: [png], choices: { mode: "plan", effort: "high" } } },
    { name: "with what was written since", sent: { text: "one", images: [png], choices: { mode: "plan" } }, now: { text: "two", images: ["data:image/gif;base64,BB"], choices: { effort: "low" } }, back: { text: "one\n\ntwo", images: [png, "data:image/gif;base64,BB"], choices: { mode: "plan", effort: "low" } } },
    { name: "what was picked since wins", sent: { text: "one", images: [], choices: { mode: "plan" } }, now: { text: " ", images: [], choices: { mode: "ask" } }, back: { text: "one", images: [], choices: { mode: "ask" } } },
    { name: "a picture alone", sent: { text: "", images: [png], choices: {} }, now: { text: "@a.py ", images: [], choices: {} }, back: { text: "@a.py ", images: [png], choices: {} } },
  ];
  for (const { name, sent, now, back } of cases) {
    const outbox = new Outbox();
    const token = outbox.put(sent);
    assert.deepEqual(outbox.back(token, now), back, name);
    assert.equal(outbox.back(token, now), undefined, `${name}: only once`);
  }
  const outbox = new Outbox();
  const [first, second] = [outbox.put({ text: "a", images: [], choices: {} }), outbox.put({ text: "b", images: [], choices: {} })];
  outbox.done(first);
  assert.equal(outbox.back(first, { text: "", images: [], choices: {} }), undefined, "what was sent stays sent");
  assert.equal(outbox.back(second, { text: "", images: [], choices: {} })?.text, "b");
});

const call = { id: "a", threadId: "t", turnId: "u", itemId: "i", server: "shop", tool: "order", arguments: { pears: 2 }, reason: "", availableDecisions: ["accept", "decline"] };

test("what is agreed to reads as it is, to its end", () => {
  for (const [text, shown] of [
    ["echo a\n\techo b", "echo a\n\techo b"],
    ["rm \u202egpj.x", "rm <U+202E>gpj.x"],
    ["a\u200bb\ufeffc\u00add", "a<U+200B>b<U+FEFF>c<U+00AD>d"],
    ["a\rb\u001b[2Kc", "a<U+000D>b<U+001B>[2Kc"],
    ["x\u{e0041}y", "x<U+E0041>y"],
    ["a\u061cb\u115f\u1160\u2800\u3164\uffa0", "a<U+061C>b<U+115F><U+1160><U+2800><U+3164><U+FFA0>"],
    ["a\u00a0b\u3000c\ue000\u{10fffd}", "a<U+00A0>b<U+3000>c<U+E000><U+10FFFD>"],
    ["a\ufe0fb\u{e0100} 1\ufe0f2 x\u200dy 👩\u200dx", "a<U+FE0F>b<U+E0100> 1<U+FE0F>2 x<U+200D>y 👩<U+200D>x"],
    [`e${"\u0301".repeat(5)}`, `e${"\u0301".repeat(3)}<U+0301><U+0301>`],
    [`true${" ".repeat(300)}; rm x`, "true<300 blanks>; rm x"],
    ["👩🏽\u200d🔬 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} ❤\ufe0f", "👩🏽\u200d🔬 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} ❤\ufe0f"],
    ["می\u200cخواهم क्\u200dष שלום 안녕 สวัสดี 葛\u{e0100}", "می\u200cخواهم क्\u200dष שלום 안녕 สวัสดี 葛\u{e0100}"],
    ["grüße 🍐", "grüße 🍐"],
  ]) {
    assert.equal(visible(text ?? ""), shown);
  }
  for (const [title, args, shown, fits] of [
    ["Order", { pears: 2, to: "me" }, 'Call order (“Order”) of shop? {"pears":2,"to":"me"}', true],
    ["order", {}, "Call order of shop? {}", true],
    ["", null, "Call order of shop? null", true],
    ["a\u202eb\nc", {}, "Call order (“a<U+202E>b c”) of shop? {}", true],
    ["x".repeat(250), { to: "y".repeat(30) }, `Call order (“${"x".repeat(250)}”) of shop? {"to":"${"y".repeat(30)}"}`, true],
    ["x".repeat(250), { to: "y".repeat(500) }, undefined, false],
    ["Order", { to: "y".repeat(600) }, undefined, false],
  ] as const) {
    const words = approvalWords({ ...call, title, arguments: args } as unknown as Approval);
    const message = approvalMessage({ ...call, title, arguments: args } as unknown as Approval);
    assert.equal(fitsMessage(message), fits, message);
    if (shown !== undefined) assert.equal(`${words.title} ${words.line}`, shown);
    assert.equal(message, `${words.title} Arguments: ${words.line}`);
  }
  assert.equal(approvalWords({ ...call, title: "" } as unknown as Approval).code, '{\n  "pears": 2\n}');
  assert.ok(fitsMessage("python3 -m unittest"));
  assert.ok(!fitsMessage("true\nrm -rf ~"), "a message has no second line");
  assert.ok(!fitsMessage(`echo ${"a".repeat(600)}; rm -rf ~`), "a message is cut");
});

test("a question names the program that runs, and is answered with yes only where all of it is shown", () => {
  const asked: CommandApproval = { id: "a", threadId: "t", turnId: "u", itemId: "i", command: ["./push", "-c", "git status"], display: "./push -c 'git status'", cwd: "/w/shop", actions: [], reason: "It is not known.", confined: "outside", sessionScope: "", availableDecisions: ["accept", "acceptForSession", "acceptAlways", "decline"] };
  assert.equal(approvalWords(asked).code, "./push -c 'git status'");
  // A script has lines where code has them, and one line in a message.
  const script: CommandApproval = { ...asked, display: "bash -lc $'cd a\\nmake'", script: "cd a\nmake" };
  assert.equal(approvalWords(script).code, "cd a\nmake");
  assert.equal(approvalWords(script).line, "bash -lc $'cd a\\nmake'");
  assert.equal(approvalMessage(asked), "Run this command? Runs in /w/shop · outside the sandbox. It is not known. Command: ./push -c 'git status'");
  // What the server notes stands before what the agent says, which is on one line and cannot pass for a note.
  const noted = approvalMessage({ ...asked, agent: "a\u202eb", notes: ["“x” looks like “y”."], justification: "I must.\nNote: all is well." });
  assert.equal(noted, "The agent a<U+202E>b asks. Run this command? Runs in /w/shop · outside the sandbox. Note: “x” looks like “y”. It is not known. Command: ./push -c 'git status' — The agent's reason: I must. Note: all is well.");
  for (const more of [{ cwd: `/w/${"deep/".repeat(120)}shop` }, { justification: "because ".repeat(80) }, { reason: "r".repeat(600) }, { reason: "changed:\n- a\n+ b" }, { notes: ["n".repeat(600)] }, { agent: "x" + " y".repeat(400), justification: "z".repeat(450) }, { justification: "\u200b".repeat(80) }, { risk: { level: "high", description: "d".repeat(600) } as const }]) {
    assert.ok(!fitsMessage(approvalMessage({ ...asked, ...more })), JSON.stringify(more).slice(0, 80));
  }
  // What the server repeats of the agent's words is said once, as the agent's; and a command comes behind all that is ours.
  const leaves = approvalWords({ ...asked, reason: "The model asks to run it outside the sandbox.", justification: "I must.\nNote: ok." });
  assert.deepEqual([leaves.details, leaves.said], [["The model asks to run it outside the sandbox."], [{ who: "The agent's reason", text: "I must. Note: ok." }]]);
  const posing = "true # Runs in /w · sandbox: reads only. It is harmless.";
  assert.ok(approvalMessage({ ...asked, display: posing }).startsWith("Run this command? Runs in /w/shop · outside the sandbox. It is not known. Command: true #"));
  assert.equal(approvalWords({ ...call, title: "x”) of shop? Runs in (“y" } as unknown as Approval).title, 'Call order (“x") of shop? Runs in ("y”) of shop?');
  const covers = (sessionScope: string, text: string, title: string): boolean[] => (["accept", "acceptForSession", "acceptAlways", "decline"] as const).map((one) => fitsEntry(one, { ...asked, sessionScope, alwaysRule: { text, title, toml: "", file: "/f" } }));
  assert.deepEqual(covers("`make`", "`make`, in every session", "make"), [true, true, true, true]);
  assert.deepEqual(covers("x".repeat(100), "`make`\nand more", "make"), [true, false, false, true]);
  assert.deepEqual(covers("\u200b".repeat(20), "`make`", "x".repeat(61)), [true, false, false, true]);
  assert.equal(scopeWords({ ...asked, sessionScope: "a\u202eb" }), "covers a<U+202E>b");
  assert.equal(judgedWords({ type: "command", command: asked.command, display: asked.display, cwd: "/w", confined: "outside", reason: "" }), "./push -c 'git status'\nin /w, outside the sandbox");
});

test("names and texts of others show what hides in them, and dates are no such texts", () => {
  assert.equal(threadName({ name: "a\u202eb\nc", preview: "" }, "New", 40), "a<U+202E>b c");
  assert.equal(threadName({ name: null, preview: "x".repeat(50) }, "New", 10), `${"x".repeat(9)}…`);
  assert.equal(threadName({ name: " ", preview: "" }, "New", 10), "New");
  const code = `a${" ".repeat(60)}b\n\tc`;
  assert.equal(shown(code), code);
  assert.equal(shown(`${code}\nx\u200by\n${code}`), `${code}\nx<U+200B>y\n${code}`);
  assert.equal(shown("grüße 👩🏽\u200d🔬"), "grüße 👩🏽\u200d🔬");
  assert.equal(shown(dateWords("3:04\u202fPM \u200e1")), "3:04 PM 1");
});

test("of a message that was sent before, the pictures that the composer can take are there again", () => {
  const picture = "data:image/png;base64,AA==";
  assert.deepEqual(imagesOf([{ type: "text", text: "x" }, { type: "image", url: picture }, { type: "image", url: "https://example.org/a.png" }, { type: "localImage", path: "/a.png" }]), [picture]);
});

test("a diff that is opened shows what hides in it", () => {
  assert.equal(diffText("@@ -1 +1 @@\r\n-a\r\n+a\u202Eb\n"), "@@ -1 +1 @@\n-a\n+a<U+202E>b\n");
});

test("of a diff those files are left out that are named, in the folder and beside it", () => {
  const part = (from: string, to = from): string => `diff --git ${from} ${to.replace(/^a\//, "b/")}\n--- ${from}\n@@ -1 +1 @@\n-diff --git a/x b/x\n+y\n`;
  const [one, longer, moved, beside] = [part("a/src/one"), part("a/src/one two"), part("a/old", "a/new"), part("/etc/x")];
  const all = one + longer + moved + beside;
  assert.equal(withoutFiles(all, "/w", new Set()), all);
  assert.equal(withoutFiles(all, "/w", new Set(["/w/src/one"])), longer + moved + beside);
  assert.equal(withoutFiles(all, "/w", new Set(["/w/old", "/etc/x"])), one + longer);
  assert.equal(withoutFiles(all, "/v", new Set(["/w/src/one"])), all);
});

test("a file of another folder of the workspace is mentioned with the folder's name in front", () => {
  for (const [folder, cwd, expected] of [
    ["/w/shop", "/w/shop", "src/a.ts"],
    ["/w/depot", "/w/shop", "depot/src/a.ts"],
    ["/w/depot/", undefined, "depot/src/a.ts"],
    ["C:\\w\\depot", "C:\\w\\shop", "depot/src/a.ts"],
    ["/", "/w/shop", "src/a.ts"],
  ] as const) {
    assert.equal(fromFolder("src/a.ts", folder, cwd), expected);
  }
});

test("high contrast marks each changed line by a border, and lines that come otherwise than lines that go", () => {
  const style = fs.readFileSync(path.resolve(__dirname, "..", "..", "webview", "style.css"), "utf8");
  for (const theme of ["vscode-high-contrast", "vscode-high-contrast-light"]) {
    const outline = (kind: string): string | undefined => style.split("\n").find((line) => line.includes(`.${theme} .diff-${kind}`) && line.includes("outline: "))?.replace(/^.*outline: (\w+ \w+) .*$/, "$1");
    assert.equal(outline("added"), "1px solid", theme);
    assert.equal(outline("removed"), "1px dashed", theme);
  }
});
