import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { EXTENSION_SECTIONS } from "../src/settings";

// The tests run from out-test/test.
const root = path.resolve(__dirname, "..", "..");
const manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
  contributes: { walkthroughs: { steps: { completionEvents?: string[] }[] }[]; views: Record<string, { id: string; initialSize?: number }[]>; commands: { command: string; title: string }[]; menus: Record<string, { command: string; when?: string }[]>; configuration: { properties: Record<string, { default?: unknown; markdownDescription?: string }> } };
};
const main = fs.readFileSync(path.join(root, "src", "main.ts"), "utf8");

const declared = manifest.contributes.commands.map((c) => c.command);
const registered = [...main.matchAll(/^ {2}"(countersign\.[\w.]+)":/gm)].map((m) => m[1] ?? "");
// What the server announces; the language client registers these by itself.
const ofServer = [...fs.readFileSync(path.join(root, "..", "..", "src", "handlers", "command.rs"), "utf8").matchAll(/^pub const \w+: &str = "(countersign\.[\w.]+)";/gm)].map((m) => m[1] ?? "");

test("package.json, the command table and the server name the same commands", () => {
  assert.ok(registered.length > 0 && ofServer.length > 0);
  for (const command of registered) {
    assert.ok(declared.includes(command), `${command} is not in package.json`);
  }
  for (const command of declared) {
    assert.ok(registered.includes(command) || ofServer.includes(command), `nobody registers ${command}`);
  }
});

test("no command is registered twice", () => {
  // The second registration would throw, and the server would not start.
  assert.deepEqual(registered.filter((command) => ofServer.includes(command)), []);
  assert.equal(new Set(registered).size, registered.length);
});

test("what decides a row of the tree decides nothing else", () => {
  const ofRows = manifest.contributes.menus["view/item/context"]?.map(({ command }) => command) ?? [];
  assert.ok(ofRows.length > 4);
  for (const command of ofRows.filter((one) => !one.startsWith("countersign.proposal.open"))) {
    assert.match(main, new RegExp(`"${command.replaceAll(".", "\\.")}": commands\\.\\w*Row`), `${command} may act on another file than that of its row`);
    assert.ok(manifest.contributes.menus["commandPalette"]?.some((entry) => entry.command === command && entry.when === "false"), `${command} has no row in the palette`);
  }
});

test("the chat has most of the side bar, also while changes wait", () => {
  const sizeOf = (id: string): number => manifest.contributes.views["countersign"]?.find((view) => view.id === id)?.initialSize ?? NaN;
  assert.ok(sizeOf("countersign.chat") >= 2.5 * sizeOf("countersign.proposals"));
});

test("no step of the walkthrough is ticked because something was only tried", () => {
  const events = manifest.contributes.walkthroughs.flatMap(({ steps }) => steps.flatMap(({ completionEvents = [] }) => completionEvents));
  assert.ok(events.length > 2);
  for (const event of events) assert.match(event, /^onContext:/);
});

test("every setting has a default and says what it is for", () => {
  for (const [name, property] of Object.entries(manifest.contributes.configuration.properties)) {
    assert.ok("default" in property, `${name} has no default`);
    assert.ok((property.markdownDescription ?? "").length > 20, `${name} is not described`);
  }
});

/** What only the configuration file takes: tables by names of the person's own, and what is set up once for a machine. */
const FILE_ONLY: ReadonlySet<string> = new Set(["model_providers", "models", "mcp_servers", "permissions", "profiles", "projects", "login", "forced_chatgpt_workspace_id", "otel", "realtime"]);

test("what the server takes from the editor has a setting, and no setting is unknown to it", () => {
  const source = fs.readFileSync(path.join(root, "..", "..", "src", "config", "keys.rs"), "utf8");
  const table = /pub\(super\) const KEYS: &\[Key\] = &\[([^]*?)\n\];/.exec(source)?.[1] ?? "";
  // Keys that are only known so that nobody is told that they are misspelt are made by `later`.
  const keys = [...table.matchAll(/\b(?:anyone|preference|person|own|tighten|trusted)\(\s*"(\w+)"/g)].map((found) => found[1] ?? "");
  assert.ok(keys.length > 40, "the table of keys is not found");
  const settings = new Set(Object.keys(manifest.contributes.configuration.properties).map((name) => name.split(".")[1] ?? "").filter((name) => !EXTENSION_SECTIONS.has(name)));
  assert.deepEqual(keys.filter((key) => !settings.has(key) && !FILE_ONLY.has(key)), [], "these have no setting");
  assert.deepEqual([...settings].filter((name) => !keys.includes(name)), [], "the server does not know these");
});

test("the lock file names no registry", () => {
  const lock = fs.readFileSync(path.join(root, "package-lock.json"), "utf8");
  assert.ok(!lock.includes('"resolved"'), "package-lock.json carries `resolved` addresses; remove them");
});
