import * as assert from "node:assert/strict";
import { test } from "node:test";
import type * as AttentionModule from "../src/chat/attention";
import { loaded } from "./loaded";

/** An editor with a selection from one place to another, and a problem on a line. */
function place(start: [line: number, character: number], end: [line: number, character: number], problem: number): unknown {
  const at = ([line, character]: [number, number]): object => ({ line, character });
  const uri = { scheme: "file", fsPath: "/w/a.py", toString: () => "file:///w/a.py" };
  const editor = { document: { uri, isClosed: false }, selection: { start: at(start), end: at(end), isEmpty: start.join() === end.join() } };
  const event = { event: () => ({ dispose: () => undefined }), fire: () => undefined };
  const api = {
    EventEmitter: function () { return event; },
    window: { activeTextEditor: editor, visibleTextEditors: [editor], onDidChangeActiveTextEditor: event.event, onDidChangeTextEditorSelection: event.event },
    languages: { getDiagnostics: () => [{ range: { start: { line: problem }, end: { line: problem } }, severity: 0, message: "no", source: "lint" }] },
  };
  const { Attention } = loaded("../src/chat/attention", api) as typeof AttentionModule;
  return new Attention().place;
}

test("what is asked about is what is selected, else the line of the cursor, with its problems", () => {
  const lines = (found: unknown): unknown => (found as { lines: unknown }).lines;
  assert.deepEqual(lines(place([2, 4], [4, 3], 9)), { start: 2, end: 5 });
  assert.deepEqual(lines(place([2, 4], [4, 0], 9)), { start: 2, end: 4 }, "a line of which nothing is selected is not meant");
  assert.deepEqual(lines(place([2, 4], [2, 4], 9)), { start: 2, end: 3 });
  for (const [problem, count] of [[1, 0], [2, 1], [3, 1], [4, 0]] as const) {
    assert.equal((place([2, 0], [4, 0], problem) as { diagnostics: unknown[] }).diagnostics.length, count, String(problem));
  }
});
