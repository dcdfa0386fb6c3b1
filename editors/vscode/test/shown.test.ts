import * as assert from "node:assert/strict";
import { test } from "node:test";
import { askedToAccept } from "../src/proposals/asked";
import { below, beyondText, diffTitle } from "../src/proposals/beyond";
import { Gates } from "../src/proposals/gates";
import { isThere } from "../src/proposals/regions";
import { Shown, yesTo } from "../src/proposals/shown";
import type { Hunk, Proposal, ProposalFile } from "../src/protocol";

const hunk = (id: string, status: Hunk["status"] = "pending"): Hunk => ({ id, status, range: { start: 0, end: 1 }, oldText: "a\n", newText: "b\n" });
const file = (path: string, ...hunks: Hunk[]): ProposalFile => ({ path, uri: `file://${path}`, kind: { type: "update" }, open: true, hunks });
const proposal = (...files: ProposalFile[]): Proposal => ({ id: "P", threadId: "T", turnId: "u", itemId: "i", status: "proposed", diff: "", createdAtMs: 1, files });

test("a hunk counts as shown only if it fitted then, and only until it fits no more", () => {
  const [ok, evil] = [hunk("ok"), hunk("evil", "conflicting")];
  const both = proposal(file("/w/a", ok), file("/w/b", evil));
  const shown = new Shown();
  assert.equal(shown.note(both, ["ok", "evil", "nobody"]), true);
  assert.deepEqual(shown.of("P"), ["ok"]);
  evil.status = "pending";
  shown.follow(both);
  assert.deepEqual(yesTo(both, {}, shown).unseen.map(({ file }) => file.path), ["/w/b"], "it fits now, but was not shown so");
  assert.equal(shown.note(both, ["evil"]), true);
  assert.equal(shown.note(both, ["evil"]), false, "it is shown once");
  assert.deepEqual(yesTo(both, {}, shown), { hunkIds: ["ok", "evil"], unseen: [], inConflict: [] });
  evil.status = "conflicting";
  shown.follow(both);
  evil.status = "pending";
  assert.deepEqual(yesTo(both, {}, shown).unseen.map(({ file }) => file.path), ["/w/b"], "it may fit elsewhere now");
  both.status = "applied";
  shown.follow(both);
  assert.deepEqual(shown.of("P"), []);
});

test("a button of the chat can be pressed once all that it accepts was shown, and accepts that", () => {
  const [one, evil, done] = [hunk("one"), hunk("evil", "conflicting"), hunk("done", "rejected")];
  const all = proposal(file("/w/a", one, done), file("/w/b", evil));
  const shown = new Shown();
  const [button, hint] = [{ disabled: false }, { hidden: true }];
  const draw = (): Gates => {
    const gates = new Gates(shown, all);
    gates.hold(button, [one, evil, done], hint);
    return gates;
  };
  const gates = draw();
  assert.deepEqual([button, hint], [{ disabled: true }, { hidden: false }]);
  gates.isDrawn(one);
  gates.isDrawn(evil);
  assert.deepEqual([button, hint], [{ disabled: false }, { hidden: true }]);
  assert.deepEqual(gates.whole(), { hunkIds: ["one"], leaveOut: ["evil"] });
  // It fits again, and is not drawn so yet.
  evil.status = "pending";
  assert.deepEqual(gates.whole(), { hunkIds: ["one"], leaveOut: [] });
  const again = draw();
  assert.equal(button.disabled, true);
  // A diff editor has it.
  shown.note(all, ["evil"]);
  again.look();
  assert.equal(button.disabled, false);
  assert.deepEqual(again.open([evil, done]), ["evil"]);
});

test("a yes names the hunks that it takes, and those alone", () => {
  const all = proposal(file("/w/a", hunk("1"), hunk("2", "conflicting"), hunk("3", "rejected"), hunk("4", "accepted")), file("/w/b", hunk("5")));
  const shown = new Shown();
  shown.note(all, ["1", "2", "3", "4", "5"]);
  for (const [part, hunkIds, inConflict] of [
    [{}, ["1", "5"], ["2"]],
    [{ path: "/w/a" }, ["1"], ["2"]],
    [{ path: "/w/b" }, ["5"], []],
    [{ hunkIds: ["1"] }, ["1"], []],
    [{ path: "/w/b", hunkIds: ["1"] }, ["1"], []],
    [{ hunkIds: ["2"] }, [], ["2"]],
    [{ hunkIds: ["3", "4", "nobody"] }, [], []],
  ] as const) {
    const yes = yesTo(all, part, shown);
    assert.deepEqual([yes.hunkIds, yes.unseen, yes.inConflict.map(({ id }) => id)], [hunkIds, [], inConflict], JSON.stringify(part));
  }
});

test("what two texts do not show of a change is said with it", () => {
  const name = (path: string): string => below("/w", path);
  for (const [fields, facts, title] of [
    [{ kind: { type: "update" } }, [], "a (proposed)"],
    [{ kind: { type: "add" } }, [], "a (proposed)"],
    [{ kind: { type: "delete" } }, ["deleted"], "a, deleted (proposed)"],
    [{ kind: { type: "update", movePath: "/w/conftest.py" } }, ["→ conftest.py"], "a → conftest.py (proposed)"],
    [{ kind: { type: "update", movePath: "/else/x.py" }, mode: 0o755 }, ["→ /else/x.py", "executable (mode 755)"], "a → /else/x.py, executable (mode 755) (proposed)"],
    [{ kind: { type: "update" }, mode: 0o44 }, ["mode 044"], "a, mode 044 (proposed)"],
    [{ kind: { type: "add" }, mode: 0o755 }, ["executable (mode 755)"], "a, executable (mode 755) (proposed)"],
    [{ kind: { type: "delete" }, notText: "a symbolic link to b" }, ["deleted", "a symbolic link to b"], "a, deleted, a symbolic link to b (proposed)"],
    [{ kind: { type: "add" }, notes: ["“\u0430.py” looks like “a.py”.", "x\u202e"] }, ["“\u0430.py” looks like “a.py”.", "x<U+202E>"], "a, “\u0430.py” looks like “a.py”., x<U+202E> (proposed)"],
    [{ kind: { type: "update", movePath: "/w/a\nb\u202e" } }, ["→ a<U+000A>b<U+202E>"], "a → a<U+000A>b<U+202E> (proposed)"],
  ] as const) {
    assert.deepEqual(beyondText(fields, name), facts);
    assert.equal(diffTitle("a", fields, name), title);
  }
  const long = `/w/${"x".repeat(900)}/conftest.py`;
  assert.ok(diffTitle("a", { kind: { type: "update", movePath: long } }, name).includes("/conftest.py"), "it is not cut");
  assert.deepEqual([below("/w", "/wx/a"), below("", "/w/a"), below("C:\\w", "C:\\w\\a")], ["/wx/a", "/w/a", "a"]);
});

test("a change that is in the file already is none that the file shows beside its outcome", () => {
  const change = (oldText: string, newText: string, start: number, end: number): Hunk => ({ ...hunk("1"), oldText, newText, range: { start, end } });
  for (const [current, given, expected] of [
    ["x\na\n", change("a\n", "b\n", 1, 2), false],
    ["x\nb\n", change("a\n", "b\n", 1, 2), true],
    ["x\r\nb", change("a\n", "b\n", 1, 2), true],
    ["x\n", change("a\n", "", 1, 1), true],
    ["x\na\n", change("a\n", "", 1, 2), false],
    ["x\n", change("", "", 0, 0), false],
    [undefined, change("a\n", "", 0, 0), true],
  ] as const) {
    assert.equal(isThere(current, given), expected, JSON.stringify([current, given.newText]));
  }
});

test("what a command of the server's accepts is known by its argument", () => {
  for (const [command, argument, expected] of [
    ["countersign.decide", { proposalId: "P", decision: "accept", hunkIds: ["1"] }, { proposalId: "P", hunkIds: ["1"] }],
    ["countersign.decide", { proposalId: "P", decision: "accept", path: "/w/a" }, { proposalId: "P", path: "/w/a" }],
    ["countersign.decide", { proposalId: "P", decision: "reject" }, undefined],
    ["countersign.decide", { proposalId: "P" }, undefined],
    ["countersign.acceptAll", { proposalId: "P" }, { proposalId: "P" }],
    ["countersign.acceptAll", undefined, {}],
    ["countersign.rejectAll", { proposalId: "P" }, undefined],
    ["countersign.showProposal", { proposalId: "P" }, undefined],
  ] as const) {
    assert.deepEqual(askedToAccept(command, argument), expected, command);
  }
});
