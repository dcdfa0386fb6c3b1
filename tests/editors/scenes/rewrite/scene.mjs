// The person selects lines and has them rewritten; the change comes back in place, as a proposal, and is accepted.
// Shows S-108.
import { check, equal } from "../../checks.mjs";
import { before, onDisk, until } from "../../stage.mjs";

export async function play(editor) {
  const text = before("cart.py");
  await editor.open("cart.py");
  await editor.rewrite("def total(items)", "return totl", "Simplify", "so that they are simpler");
  const proposal = await editor.proposal();
  if (!editor.questionTakesKeys) equal("nothing is changed before it is accepted", await editor.text("cart.py"), text);
  await editor.shot("proposed");
  await proposal.acceptAll();
  await editor.idle();
  await until("the change", async () => (await editor.text("cart.py")).includes("# simpler"), 10000).catch(() => undefined);
  equal("the selection is rewritten, in place", await editor.text("cart.py"), text.replace("return totl", "return total  # simpler"));
  check("the open file is the person's to save", onDisk("cart.py") === text || !(await editor.isUnsaved("cart.py")));
  await editor.undo();
  await until("the undo", async () => (await editor.text("cart.py")) === text, 10000).catch(() => undefined);
  equal("one undo takes it back", await editor.text("cart.py"), text);
}
