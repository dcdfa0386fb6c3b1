// A turn changes, makes and deletes files, by a command in the sandbox and by a patch; then the person types on, and takes the
// turn back. All files are as before, and no text that the person has not saved is lost.
// Shows S-257.
import { check, equal } from "../../checks.mjs";
import { after, before, isOnDisk, onDisk, until } from "../../stage.mjs";

const withUnsavedText = (text) => text.replace("VAT = 19\n", "VAT = 19\n# 🍐 discount?\n");
const withTextOfLater = (text) => withUnsavedText(text).replace("\n\ndef describe", "\n\n# typed after the turn\ndef describe");

export async function play(editor) {
  await editor.open("cart.py");
  await editor.insertBelow("VAT = 19", "# 🍐 discount?");
  await editor.lint();
  await editor.at("totl");
  await editor.fix();
  await editor.question("the question about the command", "Allow Once");
  await editor.answer("Allow Once");
  const proposal = await editor.proposal();
  await editor.settle?.();
  await proposal.acceptAll();
  await until("the change on disk", () => !isOnDisk("README.md"));
  await editor.idle();
  equal("the turn has changed the open file", await editor.text("cart.py"), withUnsavedText(after("cart.py")));
  await until("the new price", () => onDisk("prices.py").includes('"apple": 55')).catch(() => undefined);
  check("it has changed a file by a command and by the patch", onDisk("prices.py").includes('"apple": 55'), onDisk("prices.py"));
  check("it has made files", isOnDisk("discount.py") && isOnDisk("receipts/one.txt"));
  check("it has deleted files", !isOnDisk("README.md") && !isOnDisk("test_cart.py"));
  await editor.insertAbove("def describe(items):", "# typed after the turn");
  await editor.shot("turn");

  await editor.undoTurn();
  await until("the files to come back", () => isOnDisk("README.md") && isOnDisk("test_cart.py"));
  await editor.idle();
  await editor.shot("undone");
  equal("the open file is as before the turn, with all unsaved text", await editor.text("cart.py"), withTextOfLater(before("cart.py")));
  equal("it is not saved", onDisk("cart.py"), before("cart.py"));
  for (const name of ["prices.py", "test_cart.py", "README.md"]) {
    equal(`${name} is as before the turn`, isOnDisk(name) && onDisk(name), before(name));
  }
  check("what the turn made is gone", !isOnDisk("discount.py") && !isOnDisk("receipts"));
  check("no question is left open", !(await editor.isAsked()));
}
