import * as assert from "node:assert/strict";
import { test } from "node:test";
import { touchedFiles } from "../src/touched_files";

test("touchedFiles names every file once, also created and renamed ones", () => {
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const files = touchedFiles({
    changes: { "file:///a": [{ range, newText: "x" }] },
    documentChanges: [
      { kind: "create", uri: "file:///new" },
      { textDocument: { uri: "file:///new", version: null }, edits: [{ range, newText: "x" }] },
      { textDocument: { uri: "file:///b", version: 3 }, edits: [] },
      { kind: "rename", oldUri: "file:///b", newUri: "file:///c" },
      { kind: "delete", uri: "file:///d" },
    ],
  });
  assert.deepEqual(files, ["file:///a", "file:///new", "file:///b", "file:///c"]);
  assert.deepEqual(touchedFiles({}), []);
});
