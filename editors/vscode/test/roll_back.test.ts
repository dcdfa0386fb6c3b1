import * as assert from "node:assert/strict";
import { test } from "node:test";
import { Changed, makeWay, rollBack } from "../src/chat/roll_back";
import type { Rpc } from "../src/rpc";

/** A server that answers a rollback so; what it was asked. */
function server(problem?: object): { request: Rpc["request"]; asked: unknown[] } {
  const asked: unknown[] = [];
  const request = (_method: string, params: unknown): Promise<unknown> => {
    asked.push(params);
    return problem === undefined ? Promise.resolve({}) : Promise.reject(Object.assign(new Error("No."), problem));
  };
  return { request: request as Rpc["request"], asked };
}

test("a turn makes way while it is the last one, and not in the place of another", async () => {
  const rows: [lastTurn: string, problem: object | undefined, outcome: boolean | typeof Changed, asks: number][] = [
    ["u", undefined, true, 1],
    ["v", undefined, false, 0],
    ["u", { data: { kind: "turnMismatch" } }, Changed, 1],
    ["u", { data: { kind: "rollbackFailed" } }, false, 1],
    ["u", {}, false, 1],
    ["u", { data: null }, false, 1],
  ];
  for (const [lastTurn, problem, outcome, asks] of rows) {
    const { request, asked } = server(problem);
    const made = makeWay(request, { id: "T", lastTurn }, "u");
    if (typeof outcome === "boolean") assert.equal(await made, outcome, JSON.stringify(problem));
    else await assert.rejects(made, outcome);
    assert.deepEqual(asked, Array(asks).fill({ threadId: "T", numTurns: 1, expectedTurnId: "u" }));
  }
});

test("whatever else goes wrong is said as it is", async () => {
  await assert.rejects(rollBack(server({ data: { kind: "rollbackFailed" } }).request, { threadId: "T", numTurns: 2 }), /No\./);
});
