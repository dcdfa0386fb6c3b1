import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

// The tests run from out-test/test.
const root = path.resolve(__dirname, "..", "..");
const manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as { contributes: { commands: { title: string }[]; configuration: { properties: Record<string, { markdownDescription?: string }> } } };
const page = fs.readFileSync(path.join(root, "..", "..", "docs", "words.md"), "utf8");

/** Words of earlier versions, and such as have another one in the table. */
const OUT = /\b(take[sn]? back|anew|mend|told|otherwise|doctor|log (in|out)|sum up|sums up|converse|go on|bring back|put away|tool servers?|drop)\b/i;

test("each title of a command stands in docs/words.md, and nothing else", () => {
  const table = page.slice(page.indexOf("## Commands of VS Code"));
  const listed = [...table.matchAll(/^\| (.+?) \| .+ \|$/gm)].map((row) => row[1] ?? "").filter((title) => title !== "title");
  const titles = [...new Set(manifest.contributes.commands.map(({ title }) => title))].sort();
  assert.deepEqual([...listed].sort(), titles);
  assert.deepEqual(listed, [...listed].sort(), "in order");
});

test("no title has a word that is out of use, nor a British spelling", () => {
  for (const { title } of manifest.contributes.commands) {
    assert.doesNotMatch(title, OUT);
    assert.doesNotMatch(title, /\w(isation|ise[sd]?|our)\b/);
  }
});

test("no setting is described with such a word", () => {
  for (const [name, { markdownDescription = "" }] of Object.entries(manifest.contributes.configuration.properties)) {
    assert.doesNotMatch(markdownDescription.replaceAll(/`[^`]*`/g, ""), OUT, name);
  }
});

/** Said in other words by now, wherever a person reads them. */
const PHRASES = /Do Not Answer|In Other Words|Say Why|Settings of the provider|does not wait any more|Not needed any more|broken off|summed up|gone on with|go on in the chat|nothing amiss|is to (work|be)\b[^.]*\?/;

test("no message of the extension or its page has such a phrase", () => {
  const files = ["src", "src/chat", "src/proposals", "webview"].flatMap((folder) => fs.readdirSync(path.join(root, folder)).filter((name) => name.endsWith(".ts") && name !== "protocol.ts").map((name) => path.join(root, folder, name)));
  assert.ok(files.length > 60);
  for (const file of files) {
    const code = fs.readFileSync(file, "utf8").replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
    assert.doesNotMatch(code, PHRASES, path.basename(file));
  }
});
