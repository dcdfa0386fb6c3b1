import * as assert from "node:assert/strict";
import { test } from "node:test";
import { answerFor, forServer, ofPerson, serverEnvironment, serverSettings } from "../src/settings";

test("forServer keeps what is the server's and what is set", () => {
  const globalValue = {
    server: { path: "/x", env: { KEY: "secret" } },
    trace: { server: "off" },
    proposals: { review: "sideBar" },
    editorTools: { rename: true },
    notifications: { afterSeconds: 20 },
    followAgent: true,
    model: "m",
    approval_policy: null,
    sandbox_workspace_write: { network_access: true, writable_roots: null },
    list: [1, null],
    edits: { approve: null, hints: null },
  };
  assert.deepEqual(forServer({ globalValue }), { model: "m", sandbox_workspace_write: { network_access: true }, list: [1, null] });
});

test("forServer leaves out what a project sets", () => {
  const layers = {
    defaultValue: { model: null, approval_policy: null },
    globalValue: { model: "mine" },
    workspaceValue: { model: "theirs", approval_policy: "never", model_providers: { evil: { base_url: "http://evil" } } },
  };
  assert.deepEqual(forServer(layers), { model: "mine" });
});

test("ofPerson leaves out what a project sets, single or in a table", () => {
  const rows: readonly (readonly [layers: Parameters<typeof ofPerson>[0], want: unknown])[] = [
    [{ defaultValue: { path: null, args: [] }, workspaceValue: { path: "./evil", args: ["-c", "evil"] } }, { path: null, args: [] }],
    [{ defaultValue: { path: null, args: [] }, globalValue: { path: "/my" }, workspaceValue: { path: "./evil" } }, { path: "/my", args: [] }],
    [{ defaultValue: "clean", workspaceValue: "always" }, "clean"],
    [{ defaultValue: "clean", globalValue: "never", workspaceValue: "always" }, "never"],
    [{ defaultValue: true, globalValue: false }, false],
    [{ workspaceValue: "always" }, undefined],
    [undefined, undefined],
  ];
  for (const [layers, want] of rows) {
    assert.deepEqual(ofPerson(layers), want);
  }
  const { settings } = serverSettings(ofPerson({ defaultValue: { path: null }, workspaceValue: { path: "/ws/evil", env: { A: "1" } } }));
  assert.deepEqual(settings, { path: undefined, args: [], env: {} });
});

test("forServer makes an object of whatever is there", () => {
  assert.deepEqual(forServer(undefined), {});
  for (const globalValue of [undefined, null, "text", 3, ["a"]]) {
    assert.deepEqual(forServer({ globalValue }), {});
  }
});

test("answerFor gives the whole, a part, or nothing", () => {
  const settings = { model: "m", history: { persistence: "none" } };
  assert.deepEqual(answerFor("countersign", settings), settings);
  assert.equal(answerFor("countersign.model", settings), "m");
  assert.equal(answerFor("countersign.history.persistence", settings), "none");
  assert.equal(answerFor("countersign.server.env", settings), null);
  assert.equal(answerFor("countersign.model.x", settings), null);
  assert.equal(answerFor("editor", settings), undefined);
  assert.equal(answerFor("countersignx", settings), undefined);
  assert.equal(answerFor(undefined, settings), undefined);
});

test("serverSettings reads a good section", () => {
  const { settings, problems } = serverSettings({ path: "/x", args: ["--a"], env: { A: "1", B: null } });
  assert.deepEqual(settings, { path: "/x", args: ["--a"], env: { A: "1", B: null } });
  assert.deepEqual(problems, []);
});

const bad: readonly (readonly [section: unknown, problems: number])[] = [
  [undefined, 0],
  [{ path: null, args: [], env: {} }, 0],
  [{ path: 3 }, 1],
  [{ args: "--a" }, 1],
  [{ args: ["--a", 1, null] }, 2],
  [{ env: ["A=1"] }, 1],
  [{ env: { A: 1, B: {} } }, 2],
  ["text", 0],
];
for (const [section, count] of bad) {
  test(`serverSettings names what is wrong in ${JSON.stringify(section)}`, () => {
    const { settings, problems } = serverSettings(section);
    assert.equal(problems.length, count, problems.join("\n"));
    assert.equal(settings.path, undefined);
    assert.ok(settings.args.every((arg) => typeof arg === "string"));
    assert.deepEqual(settings.env, {});
  });
}

test("serverEnvironment adds, changes and takes away", () => {
  assert.deepEqual(serverEnvironment({ A: "1", B: "2", C: undefined }, { B: "3", A: null, D: "4" }), { B: "3", D: "4" });
});
