import * as assert from "node:assert/strict";
import { test } from "node:test";
import { grouped, groupWords, isGroup } from "../src/chat/groups";
import type { Entry, Group } from "../src/chat/groups";
import type { Row, RowBody } from "../src/chat/view";
import type { Approval, CommandAction, ThreadItem } from "../src/protocol";

type Command = Extract<ThreadItem, { type: "commandExecution" }>;

function row(key: string, body: RowBody, fields: Partial<Row> = {}): Row {
  return { key, turnId: "u", body, startedAtMs: 1, completedAtMs: 2, rev: 0, ...fields };
}
const item = (one: ThreadItem, live = false): RowBody => ({ kind: "item", item: one, live });
const ran = (key: string, fields: Partial<Command> = {}): RowBody => item({ type: "commandExecution", id: key, command: "ls", cwd: "/w", actions: [], source: "agent", confined: "workspace", status: "completed", exitCode: 0, ...fields });
const asked = (itemId: string, settled?: string): RowBody => ({ kind: "question", question: { kind: "approval", approval: { itemId } as Approval }, ...(settled === undefined ? {} : { settled }) });

/** A conversation, a letter each. */
const BODIES: Readonly<Record<string, (key: string) => RowBody>> = {
  c: (key) => ran(key),
  m: (key) => item({ type: "mcpToolCall", id: key, server: "s", tool: "t", title: "t", arguments: {}, status: "completed" }),
  t: (key) => item({ type: "toolCall", id: key, tool: "t", title: "t", arguments: {}, status: "completed" }),
  r: (key) => item({ type: "reasoning", id: key, summary: ["why"], content: [] }),
  R: (key) => item({ type: "reasoning", id: key, summary: ["why"], content: [] }, true),
  a: (key) => item({ type: "agentMessage", id: key, text: "so" }),
  F: (key) => ran(key, { status: "failed", exitCode: 1 }),
  D: (key) => ran(key, { status: "declined", exitCode: null }),
  L: (key) => item((ran(key, { status: "inProgress", exitCode: null }) as { item: Command }).item, true),
  B: (key) => ran(key, { status: "background", exitCode: null, terminalId: 1 }),
  U: (key) => ran(key, { source: "user" }),
  E: (key) => item({ type: "mcpToolCall", id: key, server: "s", tool: "t", title: "t", arguments: {}, status: "completed", error: "No." }),
  y: (key) => asked(`c${Number(key.slice(1)) - 1}`, "Allowed once"),
  W: (key) => asked(`c${Number(key.slice(1)) - 1}`),
};
const rowsOf = (letters: string): Row[] => Array.from(letters).map((letter, i) => row(`${letter}${i}`, BODIES[letter]?.(`${letter}${i}`) ?? assert.fail(letter)));

/** A closed group is in brackets, an open one in braces. */
function shown(entries: readonly Entry[]): string {
  let left = 0;
  return entries.map((entry) => {
    if (!isGroup(entry)) {
      left -= 1;
      return entry.key.charAt(0) + (left === 0 ? "}" : "");
    }
    const letters = entry.rows.map(({ key }) => key.charAt(0)).join("");
    left = entry.open ? entry.rows.length : 0;
    return entry.open ? "{" : `[${letters}]`;
  }).join("");
}

test("what went well one after the other is one line, once something else follows", () => {
  for (const [letters, expected, ...open] of [
    ["", ""],
    ["a", "a"],
    ["cca", "cca"],
    ["ccca", "[ccc]a"],
    ["ccc", "ccc"],
    ["cccc", "[ccc]c"],
    ["cmtca", "[cmtc]a"],
    ["ccR", "ccR"],
    ["cccR", "[ccc]R"],
    // A thought is part of it between two calls, and only there.
    ["rcrccra", "r[crcc]ra"],
    ["crcra", "crcra"],
    // So is a yes that was given; what waits for one is not.
    ["cycca", "[cycc]a"],
    ["cccLWca", "[ccc]LWca"],
    ["ccycWca", "[ccyc]Wca"],
    ["cccacccca", "[ccc]a[cccc]a"],
    // What did not go well, or goes on, or is the person's own, is never hidden.
    ["cccFccca", "[ccc]F[ccc]a"],
    ["ccFcca", "ccFcca"],
    ["cccDa", "[ccc]Da"],
    ["cccLL", "[ccc]LL"],
    ["cccBccca", "[ccc]B[ccc]a"],
    ["cccUccca", "[ccc]U[ccc]a"],
    ["mmmEa", "[mmm]Ea"],
    // Nor is what the person has opened.
    ["ccccccca", "[ccc]c[ccc]a", "c3"],
    ["ccca", "ccca", "c1"],
    ["crccca", "cr[ccc]a", "c0"],
    // Once a group is opened all of it is there, also what is opened in it.
    ["cccca", "{cccc}a", "group:c0"],
    ["cccca", "{cccc}a", "group:c0", "c2"],
    ["ccccca", "c{cccc}a", "c0", "group:c1", "c3"],
    ["cccrca", "{cccrc}a", "group:c0"],
  ] as const) {
    const look = { isOpen: (key: string) => (open as readonly string[]).includes(key), isHeld: () => false };
    assert.equal(shown(grouped(rowsOf(letters), look)), expected, `${letters} ${open.join()}`);
  }
});

const closed = { isOpen: () => false, isHeld: () => false };

test("a group is of one turn, keeps its key while it grows, and leaves out where the person is", () => {
  const rows = rowsOf("cccccca");
  assert.equal(shown(grouped(rows.map((one, i) => ({ ...one, turnId: i < 3 ? "u" : "v" })), closed)), "[ccc][ccc]a");
  assert.equal(shown(grouped(rows, { ...closed, isHeld: (key) => key === "c1" })), "cc[cccc]a");
  const groups = [4, 5, 6].map((count) => grouped(rows.slice(0, count), closed)[0] as Group);
  assert.deepEqual(groups.map(({ key }) => key), ["group:c0", "group:c0", "group:c0"]);
  const changed = grouped(rows.map((one) => ({ ...one, rev: one.rev + 1 })), closed)[0] as Group;
  assert.equal(new Set([...groups, changed].map(({ rev }) => rev)).size, 4);
});

test("every row is there once, whatever is grouped", () => {
  const rows = rowsOf("arcycmtFrcccUccrcaLcca");
  for (const open of [[], ["group:c2"], ["c9", "group:c10"], ["t6"]]) {
    const entries = grouped(rows, { isOpen: (key) => open.includes(key), isHeld: () => false });
    const keys = entries.flatMap((entry) => (!isGroup(entry) ? [entry.key] : entry.open ? [] : entry.rows.map(({ key }) => key)));
    assert.deepEqual(keys, rows.map(({ key }) => key));
  }
});

test("a group says what was done, and how long it took", () => {
  const read = (...paths: string[]): CommandAction[] => paths.map((path) => ({ type: "read", command: "cat", name: path, path }));
  const search: CommandAction = { type: "search", command: "rg", query: "x", path: null };
  const of = (...bodies: RowBody[]): string => groupWords({ key: "g", rows: bodies.map((body, i) => row(`k${i}`, body)), open: false, rev: 0 });
  const [tool, thought] = [BODIES["t"]?.("t") ?? assert.fail(), BODIES["r"]?.("r") ?? assert.fail()];
  for (const [words, ...bodies] of [
    ["Ran 3 commands · 4.0 s", ran("a", { durationMs: 1000 }), ran("b", { durationMs: 3000 }), ran("c", { durationMs: null })],
    ["Ran 1 command, read 2 files", ran("a"), ran("b", { actions: read("x", "y") }), ran("c", { actions: read("x") })],
    ["Read 1 file, did 1 search, made 1 tool call", ran("a", { actions: read("x") }), thought, ran("b", { actions: [search, ...read("y")] }), tool],
    ["Ran 2 commands, made 1 tool call · outside the sandbox · 5 ms", ran("a", { actions: [...read("x"), { type: "unknown", command: "x" }] }), ran("b", { confined: "outside", durationMs: 5 }), tool],
  ] as [string, ...RowBody[]][]) {
    assert.equal(of(...bodies), words);
  }
});
