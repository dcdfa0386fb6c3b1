import * as assert from "node:assert/strict";
import { test } from "node:test";
import { APPROVALS, approvalsOf, isOffered } from "../src/chat/approvals";
import type { Approvals } from "../src/chat/approvals";

const names = Object.keys(APPROVALS) as Approvals[];

test("each way is known again by what it sets, and no two are the same", () => {
  for (const name of names) assert.equal(approvalsOf(APPROVALS[name].sets as Parameters<typeof approvalsOf>[0]), name);
  assert.equal(approvalsOf({ approvalPolicy: "on-failure", editApproval: "ask" }), undefined);
  assert.equal(approvalsOf({ approvalPolicy: "never", editApproval: "ask" }), undefined);
});

test("without a sandbox nobody is offered never to be asked", () => {
  assert.deepEqual(names.filter((name) => isOffered(name, { type: "dangerFullAccess" })), ["strict", "ask", "edits"]);
  assert.deepEqual(names.filter((name) => isOffered(name, undefined)), names);
});
