import * as assert from "node:assert/strict";
import { test } from "node:test";
import { APPROVALS, approvalsOf, isOffered, picker } from "../src/chat/approvals";
import type { Approvals } from "../src/chat/approvals";
import type { SandboxPolicy, ThreadSettings } from "../src/protocol";

const names = Object.keys(APPROVALS) as Approvals[];
const readOnly: SandboxPolicy = { type: "readOnly", networkAccess: false };
const workspace: SandboxPolicy = { type: "workspaceWrite", writableRoots: [], networkAccess: false, excludeTmpdirEnvVar: false, excludeSlashTmp: false };
const full: SandboxPolicy = { type: "dangerFullAccess" };

test("each way is known again by what it sets, and no two are the same", () => {
  for (const name of names) assert.equal(approvalsOf(APPROVALS[name].sets as Parameters<typeof approvalsOf>[0]), name);
  assert.equal(approvalsOf({ approvalPolicy: "on-failure", editApproval: "ask" }), undefined);
  assert.equal(approvalsOf({ approvalPolicy: "never", editApproval: "ask" }), undefined);
});

test("nobody is offered never to be asked where there is no sandbox, or may be none", () => {
  for (const [sandbox, expected] of [[full, names.slice(0, 3)], [undefined, names.slice(0, 3)], [readOnly, names], [workspace, names]] as const) {
    assert.deepEqual(names.filter((name) => isOffered(name, sandbox)), expected);
  }
});

test("the picker shows what is in force, and says what it means behind this sandbox", () => {
  type Fields = Pick<ThreadSettings, "approvalPolicy" | "editApproval" | "sandboxPolicy">;
  const set = (name: Approvals, sandboxPolicy: SandboxPolicy): Fields => ({ ...(APPROVALS[name].sets as Fields), sandboxPolicy });
  const other: Fields = { approvalPolicy: "on-failure", editApproval: "ask", sandboxPolicy: workspace };
  const rows: [settings: Fields | undefined, chosen: Approvals | undefined, title: string, means: RegExp][] = [
    [undefined, undefined, "Default approvals", /^What asks you first$/],
    [undefined, "ask", "Ask", /leaves the sandbox, where there is one$/],
    [undefined, "never", "Default approvals", /^What asks you first$/],
    [set("ask", workspace), undefined, "Ask", /before a command leaves the sandbox$/],
    [set("ask", full), undefined, "Ask", /commands run without a sandbox/],
    [set("edits", workspace), undefined, "Accept edits", /^Makes changes .* leaves the sandbox$/],
    [set("edits", readOnly), undefined, "Accept edits", /^Asks before each change .* read-only/],
    [set("edits", full), undefined, "Accept edits", /commands run without a sandbox/],
    [set("strict", full), undefined, "Ask always", /^Asks before every command/],
    [set("never", workspace), undefined, "Never ask", /commands run in the sandbox/],
    [set("never", readOnly), undefined, "Never ask", /no file is changed/],
    [set("never", full), undefined, "Custom approvals", /^Asks nothing: .* without a sandbox$/],
    [set("never", full), "ask", "Ask", /commands run without a sandbox/],
    [set("ask", full), "never", "Ask", /without a sandbox, and only dangerous ones/],
    [other, undefined, "Custom approvals", /^What asks you first$/],
    [other, "edits", "Accept edits", /^Makes changes/],
  ];
  for (const [settings, chosen, title, means] of rows) {
    const { entries, value, means: said } = picker(settings, chosen);
    assert.equal(entries.find((one) => one.value === value)?.title, title, JSON.stringify([settings, chosen]));
    assert.match(said, means);
    assert.equal(new Set(entries.map((one) => one.value)).size, entries.length);
  }
});
