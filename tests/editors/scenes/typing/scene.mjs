// While a proposal waits the person types: above a hunk and between two, which they follow, and inside one, which is then in
// conflict. The others are taken.
import { check, equal } from "../../checks.mjs";
import { decideOn } from "../../person.mjs";
import { after, before, onDisk, sleep, toldOf, until } from "../../stage.mjs";

const withUnsavedText = (text) => text.replace("VAT = 19\n", "VAT = 19\n# 🍐 discount?\n");
const withTypedText = (text) =>
  withUnsavedText(text)
    .replace("VAT = 19\n", "VAT = 19\n# 🧮 typed above\n")
    .replace("\n\ndef describe", "\n\n# typed between\ndef describe")
    .replace("kinds of fruit", "kinds of 🍒");

export async function play(editor) {
  const typed = withTypedText(before("cart.py"));
  const wanted = withTypedText(after("cart.py"));
  await editor.open("cart.py");
  await editor.insertBelow("VAT = 19", "# 🍐 discount?");
  await editor.lint();
  await editor.at("totl");
  await editor.fix();
  const proposal = await editor.proposal();
  await proposal.decideInFiles();

  await editor.insertBelow("VAT = 19", "# 🧮 typed above");
  await editor.insertAbove("def describe(items):", "# typed between");
  await editor.replace("kinds of fruit", "fruit", "🍒");
  equal("what is typed stays as it is typed", await editor.text("cart.py"), typed);
  if (proposal.panel) {
    // What is shown would be wrong otherwise, and the editor would refuse all of it in the end.
    // Between two of its states the panel is empty.
    let rows = [];
    const follows = () => ["cart.py", "prices.py"].every((name) => rows.some((row) => row.includes(name))) && !rows.some((row) => row.includes("pieces of"));
    await until("the preview to follow", async () => {
      rows = (await editor.workbench.preview())?.rows ?? [];
      return follows();
    }).catch(() => undefined);
    check("the preview follows, without the hunk that was typed into", follows(), rows);
    check("and leaves the focus to the editor", await until("the focus", async () => (await editor.workbench.focus()) === "editor", 5000).catch(() => false));
    await sleep(500);
  }
  await editor.shot("typed");

  const [first, second] = [
    await decideOn(editor, "totl", "Accept the agent's change 1"),
    await decideOn(editor, "kinds of 🍒", "Accept all of the agent's changes"),
  ];
  check("the hunk followed its text", first.some((title) => title.startsWith("Reject the agent's change 1")), first);
  check("the hunk that was typed into is shown as in conflict", second.some((title) => /^Reject the agent's change 2\b.*changed/.test(title)), second);
  check("it cannot be accepted", !second.some((title) => title.startsWith("Accept the agent's change 2")), second);

  await until("the change on disk", () => onDisk("prices.py") === after("prices.py")).catch(() => undefined);
  equal("the closed file is changed on disk", onDisk("prices.py"), after("prices.py"));
  await editor.idle();
  await editor.shot("applied");
  equal("the open file has what fits, and all that was typed", await editor.text("cart.py"), wanted);
  equal("what was not saved by the person is not saved", onDisk("cart.py"), before("cart.py"));
  check("no question is left open", !(await editor.isAsked()));
  const told = toldOf("patch");
  check("the model is told that the first hunk was taken, and where", /cart\.py hunk 1 .*: taken \[line 14 now\]$/m.test(told), told);
  check("the model is told of the conflict", /cart\.py hunk 2 .*: (?:not taken|rejected).*changed/m.test(told), told);

  await editor.undo("cart.py");
  equal("one undo takes the agent's change back and nothing else", await editor.text("cart.py"), typed);
}
