import * as assert from "node:assert/strict";
import { test } from "node:test";
import type * as Status from "../src/status";
import { loaded } from "./loaded";

test("the status names the model, and nothing where there is none yet", () => {
  const { describe } = loaded("../src/status", { workspace: { workspaceFolders: [] } }) as typeof Status;
  const shown = (settings: object | undefined): Status.Work => ({ running: 0, waiting: [], allowance: [], thread: settings === undefined ? undefined : ({ settings } as Status.Work["thread"]) });
  for (const [settings, text, line] of [
    [undefined, "$(pass) Countersign", undefined],
    [{ model: "", modelProvider: "openai", mode: "agent" }, "$(pass) Countersign", undefined],
    [{ model: "gpt", modelProvider: "openai", mode: "agent" }, "$(pass) gpt · agent", "Model gpt of openai, mode agent"],
    [{ model: "local", modelProvider: "", mode: "plan" }, "$(pass) local · plan", "Model local, mode plan"],
  ] as const) {
    const described = describe({ kind: "running", program: "/p", version: "1" }, shown(settings));
    assert.equal(described.text, text);
    assert.equal(described.tooltip.split("\n").find((one) => one.startsWith("Model")), line);
  }
});
