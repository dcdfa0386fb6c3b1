import * as assert from "node:assert/strict";
import { test } from "node:test";
import { asksForReview, editedFiles, expectedVersions } from "../src/edited_files";

test("editedFiles names every file with changed text once", () => {
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const edits = [{ range, newText: "x" }];
  const files = editedFiles({
    changes: { "file:///a": edits },
    documentChanges: [
      { kind: "create", uri: "file:///new" },
      { textDocument: { uri: "file:///new", version: null }, edits },
      { textDocument: { uri: "file:///a", version: 3 }, edits },
      { textDocument: { uri: "file:///untouched", version: 3 }, edits: [] },
      { kind: "create", uri: "file:///empty" },
      { kind: "rename", oldUri: "file:///b", newUri: "file:///c" },
      { kind: "delete", uri: "file:///d" },
    ],
  });
  assert.deepEqual(files, ["file:///a", "file:///new"]);
  assert.deepEqual(editedFiles({}), []);
});

test("asksForReview looks for one annotation that does", () => {
  assert.equal(asksForReview({}), false);
  assert.equal(asksForReview({ changeAnnotations: { a: { label: "a" }, b: { label: "b", needsConfirmation: false } } }), false);
  assert.equal(asksForReview({ changeAnnotations: { a: { label: "a" }, b: { label: "b", needsConfirmation: true } } }), true);
});

test("expectedVersions leaves out what says none", () => {
  const edit = {
    documentChanges: [
      { kind: "create" as const, uri: "file:///new" },
      { textDocument: { uri: "file:///new", version: null }, edits: [] },
      { textDocument: { uri: "file:///a", version: 0 }, edits: [] },
      { textDocument: { uri: "file:///b", version: 7 }, edits: [] },
      { textDocument: { uri: "file:///c", version: -1 }, edits: [] },
    ],
  };
  assert.deepEqual(expectedVersions(edit), [["file:///a", 0], ["file:///b", 7]]);
  assert.deepEqual(expectedVersions({}), []);
});
