import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

// The tests run from out-test/test.
const root = path.resolve(__dirname, "..", "..");
const manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
  contributes: { commands: { command: string; title: string }[]; configuration: { properties: Record<string, { default?: unknown; markdownDescription?: string }> } };
};
const main = fs.readFileSync(path.join(root, "src", "main.ts"), "utf8");

test("package.json and the command table name the same commands", () => {
  const declared = manifest.contributes.commands.map((c) => c.command).sort();
  const registered = [...main.matchAll(/^ {2}"(countersign\.\w+)":/gm)].map((m) => m[1]).sort();
  assert.ok(declared.length > 0);
  assert.deepEqual(registered, declared);
});

test("every setting has a default and says what it is for", () => {
  for (const [name, property] of Object.entries(manifest.contributes.configuration.properties)) {
    assert.ok("default" in property, `${name} has no default`);
    assert.ok((property.markdownDescription ?? "").length > 20, `${name} is not described`);
  }
});

test("the lock file names no registry", () => {
  const lock = fs.readFileSync(path.join(root, "package-lock.json"), "utf8");
  assert.ok(!lock.includes('"resolved"'), "package-lock.json carries `resolved` addresses; remove them");
});
