// Another linter reports a problem in a file with unsaved text; the agent runs the tests and proposes a change to it and to
// a file that is not open; the person takes all of it.
// Shows S-106, S-108.
import { check, equal } from "../../checks.mjs";
import { after, before, onDisk, until } from "../../stage.mjs";

/** What the person adds by hand to the open file, at two places that the agent does not touch. */
const withUnsavedText = (text) => text.replace("VAT = 19\n", "VAT = 19\n# 🍐 discount?\n").replace("kinds of fruit", "kinds of 🍎 and more");

export async function play(editor) {
  const dirty = withUnsavedText(before("cart.py"));
  const wanted = withUnsavedText(after("cart.py"));
  await editor.open("cart.py");
  await editor.insertBelow("VAT = 19", "# 🍐 discount?");
  await editor.replace("kinds of fruit", "fruit", "🍎 and more");
  equal("the open file has unsaved text", await editor.text("cart.py"), dirty);
  check("it counts as unsaved", await editor.isUnsaved("cart.py"));
  equal("the file on disk is as it was", onDisk("cart.py"), before("cart.py"));

  await editor.lint();
  check("another linter's problem is shown", true);
  await editor.at("totl");
  await editor.fix();

  const command = await editor.question("the question about the command", "Allow Once");
  check("the command asks first and is shown", command.text.includes("python3 -m unittest"), command);
  await editor.shot("command-question");
  await editor.answer("Allow Once");

  const proposal = await editor.proposal();
  check("the proposal names both files", ["cart.py", "prices.py"].every((name) => proposal.text.includes(name)), proposal);
  await editor.shot("proposal");
  if (!editor.questionTakesKeys) equal("nothing has changed before the answer", await editor.text("cart.py"), dirty);
  equal("nothing has changed on disk before the answer", onDisk("prices.py"), before("prices.py"));
  await proposal.acceptAll();

  await until("the change on disk", () => onDisk("prices.py") === after("prices.py")).catch(() => undefined);
  equal("the closed file is changed on disk", onDisk("prices.py"), after("prices.py"));
  await editor.idle();
  check("progress has ended", true);
  await editor.checkProgress?.();
  await editor.shot("applied");
  equal("the open file has the fix and all unsaved text", await editor.text("cart.py"), wanted);
  check("it still counts as unsaved", await editor.isUnsaved("cart.py"));
  equal("what was not saved by the person is not saved", onDisk("cart.py"), before("cart.py"));
  equal("the test file is as it was", onDisk("test_cart.py"), before("test_cart.py"));
  check("no question is left open", !(await editor.isAsked()));

  await editor.undo("cart.py");
  equal("one undo takes the agent's change back and nothing else", await editor.text("cart.py"), dirty);
  await editor.redo("cart.py");
  equal("redo brings it again", await editor.text("cart.py"), wanted);
}
