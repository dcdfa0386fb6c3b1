import * as assert from "node:assert/strict";
import { test } from "node:test";
import { Given } from "../src/proposals/given";

test("what the editor shows a few reads later is known as what it was given", () => {
  const given = new Given();
  assert.ok(!given.has("a"));
  for (const text of ["a", "b", "b", "c"]) given.add(text);
  assert.deepEqual(["a", "b", "c", "d"].map((text) => given.has(text)), [true, true, true, false]);
});

test("no more texts are kept than an editor can be behind, however often one is read again", () => {
  const given = new Given();
  given.add("first");
  for (let read = 0; read < 20; read += 1) given.add("the same");
  assert.ok(given.has("first"));
  for (let read = 0; read < 8; read += 1) given.add(`text ${read}`);
  assert.ok(!given.has("first") && !given.has("the same") && given.has("text 0") && given.has("text 7"));
});
