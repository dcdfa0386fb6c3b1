import * as assert from "node:assert/strict";
import { test } from "node:test";
import { Given } from "../src/proposals/given";

const reload = { isDirty: false, isUndo: false };

test("what the editor shows a few reads later is known as what it was given", () => {
  const given = new Given();
  assert.ok(!given.isLate("a", reload));
  for (const text of ["a", "b", "b", "c"]) given.add(text);
  assert.deepEqual(["a", "b", "c", "d"].map((text) => given.isLate(text, reload)), [true, true, true, false]);
});

test("no more texts are kept than an editor can be behind, however often one is read again", () => {
  const given = new Given();
  given.add("first");
  for (let read = 0; read < 20; read += 1) given.add("the same");
  assert.ok(given.isLate("first", reload));
  for (let read = 0; read < 8; read += 1) given.add(`text ${read}`);
  assert.ok(!given.isLate("first", reload) && !given.isLate("the same", reload) && given.isLate("text 0", reload) && given.isLate("text 7", reload));
});

test("what a person comes back to is theirs, although the editor was given it once", () => {
  const given = new Given();
  for (const text of ["a", "b"]) given.add(text);
  assert.ok(given.isLate("a", reload));
  assert.ok(!given.isLate("a", { isDirty: true, isUndo: false }), "typed");
  // Of the first change after a save the editor may not say yet that the document is not saved.
  assert.ok(!given.isLate("a", { isDirty: false, isUndo: true }), "undone");
});
