import * as assert from "node:assert/strict";
import { test } from "node:test";
import type { Hunk } from "../src/protocol";
import { asInEditor, edited, linesOf, outcomeInEditor } from "../src/proposals/regions";

const hunk = (id: string, start: number, end: number, newText: string): Hunk => ({ id, range: { start, end }, oldText: "", newText, status: "pending" }) as unknown as Hunk;

test("the outcome has line ends of one kind, as the editor will have it, and its regions fit that", () => {
  for (const [current, shown] of [
    ["a\r\nb\nc\r\nd\r\n", "a\r\nb\r\nC\r\nd\r\n"],
    ["a\nb\r\nc\nd\n", "a\nb\nC\nd\n"],
    ["a\r\nb\r\nc\r\nd", "a\r\nb\r\nC\r\nd"],
  ] as const) {
    const { text, regions } = outcomeInEditor(current, [hunk("1", 2, 3, "C\r\n")]);
    assert.equal(text, shown);
    assert.deepEqual(regions.map(({ start, end }) => text.slice(start, end).trim()), ["C"]);
    const at = text.indexOf("C") + 1;
    const grown = edited(regions, { offset: at, length: 0, added: 1 });
    assert.equal(`${text.slice(0, at)}x${text.slice(at)}`.slice(grown?.regions[0]?.start, grown?.regions[0]?.end).trim(), "Cx");
  }
});

test("a text without hunks is as the editor has it, too", () => {
  assert.equal(asInEditor("\uFEFFa\r\nb\r\nc\n"), "a\r\nb\r\nc\r\n");
  assert.equal(asInEditor("a\nb"), "a\nb");
});

test("the lines of a region are those that its text is on", () => {
  for (const [text, start, end, lines] of [
    ["a\nb\nc\n", 2, 4, [1, 2]],
    ["a\nb\nc\n", 2, 2, [1, 1]],
    ["a\nb\nc\n", 0, 6, [0, 3]],
    ["a\r\nb", 3, 4, [1, 2]],
    ["", 0, 0, [0, 0]],
  ] as const) {
    const { start: first, end: behind } = linesOf(text, { hunkId: "1", start, end });
    assert.deepEqual([first, behind], lines, JSON.stringify(text));
  }
});
