// A proposal with two hunks in the open file, which has unsaved text, and one in a closed file. The person takes one of the
// two and the closed file's.
// Shows S-108, S-116.
import { check, equal } from "../../checks.mjs";
import { decideOn } from "../../person.mjs";
import { after, before, onDisk, toldOf, until } from "../../stage.mjs";

const withUnsavedText = (text) => text.replace("VAT = 19\n", "VAT = 19\n# 🍐 discount?\n").replace("\n\ndef describe", "\n\n# 🍎 and more\ndef describe");

export async function play(editor) {
  const dirty = withUnsavedText(before("cart.py"));
  // The second hunk, which is not taken, is in describe(); `after` has only the first.
  const wanted = withUnsavedText(after("cart.py"));
  await editor.open("cart.py");
  await editor.insertBelow("VAT = 19", "# 🍐 discount?");
  await editor.insertAbove("def describe(items):", "# 🍎 and more");
  equal("the open file has unsaved text", await editor.text("cart.py"), dirty);
  await editor.lint();
  await editor.at("totl");
  await editor.fix();

  const proposal = await editor.proposal();
  await editor.shot("proposal");
  if (proposal.panel) {
    await proposal.panel.tick(["total += price_of(name)", "prices.py"]);
    await editor.shot("ticked");
    await proposal.panel.apply();
  } else {
    await proposal.decideInFiles();
    await decideOn(editor, "kinds of fruit", "Reject the agent's change 2");
    equal("nothing has changed before a hunk is accepted", await editor.text("cart.py"), dirty);
    await decideOn(editor, "totl", "Accept the agent's change 1");
    await until("the accepted hunk in the file", async () => (await editor.text("cart.py")) === wanted).catch(() => undefined);
    equal("the accepted hunk is in the file at once, the rejected one is not", await editor.text("cart.py"), wanted);
    equal("the file that is not decided is as it was", onDisk("prices.py"), before("prices.py"));
    await decideOn(editor, "def total(items)", "Accept all of the agent's changes");
  }

  await until("the change on disk", () => onDisk("prices.py") === after("prices.py")).catch(() => undefined);
  equal("the closed file is changed on disk", onDisk("prices.py"), after("prices.py"));
  await editor.idle();
  await editor.shot("applied");
  equal("the open file has the taken hunk, not the rejected one, and all unsaved text", await editor.text("cart.py"), wanted);
  check("it still counts as unsaved", await editor.isUnsaved("cart.py"));
  equal("what was not saved by the person is not saved", onDisk("cart.py"), before("cart.py"));
  check("no question is left open", !(await editor.isAsked()));
  const told = toldOf("patch");
  check("the model is told that the first hunk was taken", /cart\.py hunk 1 .*: taken$/m.test(told), told);
  check("the model is told that the second was rejected", /cart\.py hunk 2 .*: rejected/m.test(told), told);
  check("the model is told that the closed file is changed", /^M prices\.py$/m.test(told), told);

  await editor.undo("cart.py");
  equal("one undo takes the agent's change back and nothing else", await editor.text("cart.py"), dirty);
  await editor.redo("cart.py");
  equal("redo brings it again", await editor.text("cart.py"), wanted);
}
