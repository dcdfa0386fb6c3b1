// The person looks at a proposal before deciding on it: marks in the text, the diff of one hunk, the way to the next; takes all
// of the open file, nothing of the closed one, and looks at what the turn has changed.
// Shows S-108, S-272.
import { check, equal } from "../../checks.mjs";
import { decideOn } from "../../person.mjs";
import { before, onDisk, toldOf, until } from "../../stage.mjs";

const withUnsavedText = (text) => text.replace("VAT = 19\n", "VAT = 19\n# 🍐 discount?\n");
const changed = (text) =>
  text
    .replace("price_of(name)\n", "price_of(name) * count\n")
    .replace("totl", "total")
    .replace('    return f"{len(items)} kinds', '    count = sum(count for _, count in items)\n    return f"{count} pieces of {len(items)} kinds');

/** Waits until a diff with this text is shown. */
const diffWith = (editor, text) =>
  until("the diff", async () => {
    const shown = await editor.shown();
    return shown.name.endsWith(".diff") && shown.text.includes(text) && shown.text;
  });

export async function play(editor) {
  const dirty = withUnsavedText(before("cart.py"));
  await editor.open("cart.py");
  await editor.insertBelow("VAT = 19", "# 🍐 discount?");
  await editor.lint();
  await editor.at("totl");
  await editor.fix();
  const proposal = await editor.proposal();
  await proposal.decideInFiles();

  await editor.at("totl");
  const hints = await until("the marks", async () => {
    const found = await editor.hints();
    return found.length >= 2 && found;
  }).catch(() => editor.hints());
  check("each change is marked in the text", ["change 1 of 2", "change 2 of 2"].every((name) => hints.some((hint) => hint.includes(name))), hints);
  await editor.shot("hints");

  await decideOn(editor, "totl", "Show the agent's change 1");
  const one = await diffWith(editor, "+    return total");
  check("the diff of a change is of this change alone", !one.includes("pieces of"), one);
  await editor.shot("diff");
  await editor.open("cart.py");
  await decideOn(editor, "totl", "Go to the agent's next change");
  const second = dirty.split("\n").findIndex((line) => line.includes("kinds of fruit")) + 1;
  await until("the next change", async () => (await editor.line()) === second, 10000).catch(() => undefined);
  equal("the cursor is at the next change", await editor.line(), second);
  equal("looking has changed nothing", await editor.text("cart.py"), dirty);

  await decideOn(editor, "kinds of fruit", "Accept all 2 of the agent's changes in this file");
  await decideOn(editor, "def total(items)", "Reject all of the agent's changes");
  await editor.idle();
  await until("the change", async () => (await editor.text("cart.py")) === changed(dirty), 10000).catch(() => undefined);
  equal("the open file is changed", await editor.text("cart.py"), changed(dirty));
  equal("the closed file is as it was", onDisk("prices.py"), before("prices.py"));
  check("the model is told", /^M cart\.py/m.test(toldOf("patch")) && /prices\.py hunk 1 .*: rejected/.test(toldOf("patch")), toldOf("patch"));
  check("the marks are gone", await until("no marks", async () => (await editor.hints()).length === 0, 10000).catch(() => false), await editor.hints());

  await editor.showTurn();
  const turn = await diffWith(editor, "+    return total");
  check("the diff of the turn has what was taken, and nothing else", turn.includes("pieces of") && !turn.includes("PRICES"), turn);
  await editor.shot("turn");
}
