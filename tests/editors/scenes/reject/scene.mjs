// The person closes the question, or the preview, without a choice: a no. Nothing is changed, and the model is told.
// Shows S-116, S-128.
import { check, equal } from "../../checks.mjs";
import { before, onDisk, toldOf } from "../../stage.mjs";

export async function play(editor) {
  await editor.open("cart.py");
  await editor.insertBelow("VAT = 19", "# 🍐 discount?");
  const dirty = await editor.text("cart.py");
  await editor.lint();
  await editor.at("totl");
  await editor.fix();
  const proposal = await editor.proposal();
  await proposal.dismiss();
  await editor.idle();
  equal("the open file is as the person left it", await editor.text("cart.py"), dirty);
  equal("it is not saved", onDisk("cart.py"), before("cart.py"));
  equal("the closed file is as it was", onDisk("prices.py"), before("prices.py"));
  check("no question is left open", !(await editor.isAsked()));
  check("the model is told", /rejected the patch; no file was changed/.test(toldOf("patch")), toldOf("patch"));
  await editor.at("totl");
  const offered = await editor.actions();
  check("nothing waits any more", !offered.some((title) => /^(Accept|Reject)/.test(title)), offered);
}
