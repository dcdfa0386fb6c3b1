import * as assert from "node:assert/strict";
import { test } from "node:test";
import { ghostsOf } from "../src/proposals/ghost";

const ghosts = (start: number, end: number, oldText: string, newText: string): [number, string][] => ghostsOf({ range: { start, end }, oldText, newText }).map(({ line, text }) => [line, text]);

test("each line that goes has the one that comes behind it, and the last one the rest", () => {
  for (const [start, end, oldText, newText, expected] of [
    [3, 4, "a = 1\n", "a = 2\n", [[3, "→ a = 2"]]],
    [3, 4, "  a = 1\r\n", "\ta = 2\r\n", [[3, "→ a = 2"]]],
    [3, 5, "a\nb\n", "A\nB\n", [[3, "→ A"], [4, "→ B"]]],
    [3, 5, "a\nb\n", "a\nB\n", [[4, "→ B"]]],
    [3, 5, "a\nb\n", "A\n", [[3, "→ A"]]],
    [3, 4, "a\n", "A\nB\nC\n", [[3, "→ A ⏎ B ⏎ C"]]],
    [3, 3, "", "new\nlines\n", [[2, "+ new ⏎ lines"]]],
    [0, 0, "", "first\n", [[0, "+ first"]]],
    [3, 5, "a\nb\n", "", []],
    [9, 10, "end", "END", [[9, "→ END"]]],
  ] as [number, number, string, string, [number, string][]][]) {
    assert.deepEqual(ghosts(start, end, oldText, newText), expected, JSON.stringify([oldText, newText]));
  }
});

test("what does not fit is counted, and what hides is shown", () => {
  const [[, long] = []] = ghosts(0, 0, "", `${"x".repeat(150)}\n${"y".repeat(20)}\nz\n`);
  assert.equal(long, `+ ${"x".repeat(150)} … 2 more lines`);
  const [[, one] = []] = ghosts(0, 0, "", "x".repeat(500));
  assert.equal(one, `+ ${"x".repeat(159)}…`);
  assert.deepEqual(ghosts(0, 1, "a\n", "a\u202Eb\n"), [[0, "→ a<U+202E>b"]]);
});
