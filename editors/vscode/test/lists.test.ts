import * as assert from "node:assert/strict";
import { test } from "node:test";
import { Lists } from "../src/chat/lists";
import { effortPicker, modelPicker } from "../src/chat/models";
import type { Threads } from "../src/chat/threads";
import type { ToPage } from "../src/chat/wire";
import type { Model } from "../src/protocol";

const model = (id: string, more: Partial<Model> = {}): Model => ({ id, displayName: id.toUpperCase(), provider: "p", supportedReasoningEfforts: [], isDefault: false, ...more });

/** A server on which a model can be asked, or not yet, and what a page is told of it. */
function stage() {
  const told: ToPage[] = [];
  const server = { ready: false, models: [] as Model[], fails: false };
  const request = (method: string): Promise<unknown> => {
    if (method === "countersign/account/setup") return Promise.resolve({ ready: server.ready });
    if (method === "countersign/model/list") return server.fails ? Promise.reject(new Error("no")) : Promise.resolve({ data: server.models });
    return Promise.resolve({ data: [] });
  };
  const lists = new Lists({ isConnected: true, request } as unknown as Threads, () => "/w", (message) => told.push(message));
  const models = (): unknown => told.findLast((one) => one.type === "models")?.models.map(({ id }) => id);
  return { told, server, lists, models };
}

test("who signs in finds the models that are there then", async () => {
  const { server, lists, models } = stage();
  await lists.tell();
  assert.deepEqual(models(), []);
  Object.assign(server, { ready: true, models: [model("a")] });
  await lists.saveKey("sk-1");
  assert.deepEqual(models(), ["a"]);
});

test("a local server that has started since brings its models, and what cannot be asked for takes none away", async () => {
  const { told, server, lists, models } = stage();
  await lists.tell();
  Object.assign(server, { ready: true, models: [model("local")] });
  await lists.tellSetup();
  assert.deepEqual(models(), ["local"]);
  server.fails = true;
  const before = told.filter((one) => one.type === "models").length;
  await lists.tell();
  assert.equal(told.filter((one) => one.type === "models").length, before);
});

test("the pickers always show what is in force", () => {
  const models = [model("a", { supportedReasoningEfforts: ["low", "high"], defaultReasoningEffort: "low" }), model("b", { displayName: " " })];
  for (const [settings, chosen, title] of [
    [undefined, undefined, "Default model"],
    [{ model: "", modelProvider: "" }, undefined, "Default model"],
    [{ model: "a", modelProvider: "p" }, undefined, "A"],
    [{ model: "a", modelProvider: "other" }, undefined, "a"],
    [{ model: "gone", modelProvider: "p" }, undefined, "gone"],
    [{ model: "a", modelProvider: "p" }, { id: "b", provider: "p" }, "b"],
  ] as const) {
    const { options, value } = modelPicker(models, settings, chosen);
    assert.equal(options.find((one) => one.value === value)?.title, title, JSON.stringify([settings, chosen]));
    assert.ok(options.every((one) => one.title.trim() !== ""));
    assert.equal(modelPicker([], settings, chosen).options.length, 1);
  }
  for (const [effort, chosen, title] of [["high", undefined, "high"], ["minimal", undefined, "minimal"], [null, undefined, "low"], ["high", "low", "low"]] as const) {
    const { options, value } = effortPicker(models[0], { effort }, chosen);
    assert.equal(options.find((one) => one.value === value)?.title, title, JSON.stringify([effort, chosen]));
  }
  assert.deepEqual(effortPicker(models[1], undefined, undefined).options, []);
});
