// The person has the uncommitted changes reviewed: the findings lie on their lines and move along; one is dismissed, one is
// mended by the agent, and then none is left.
// Shows S-244, S-253.
import { check, equal } from "../../checks.mjs";
import { decideOn } from "../../person.mjs";
import { before, onDisk, until } from "../../stage.mjs";

const lineOf = (text, part) => text.split("\n").findIndex((line) => line.includes(part)) + 1;

/** Waits until so many findings are shown. */
const findings = async (editor, count) => {
  const seen = await until(`${count} findings`, async () => {
    const found = await editor.findings();
    return found.length === count && found;
  }).catch(() => editor.findings());
  equal(`so many findings are shown: ${count}`, seen.length, count);
  return seen;
};

export async function play(editor) {
  const text = before("cart.py");
  await editor.open("cart.py");
  await decideOn(editor, "The shopping cart", "Review uncommitted changes with agent");
  const first = await findings(editor, 2);
  await editor.idle();
  const [total, count] = [first.find((one) => one.text.startsWith("Return the total")), first.find((one) => one.text.startsWith("Count every piece"))];
  equal("one lies on its line", total?.line, lineOf(text, "return totl"));
  equal("and so does the other", count?.line, lineOf(text, "price_of(name)"));
  check("the priority is the severity", total?.severity === "error" && count?.severity === "warn", first);
  await editor.shot("findings");

  await editor.insertBelow("VAT = 19", "# 🍐 discount?");
  const typed = await editor.text("cart.py");
  await until("the findings to follow", async () => (await editor.findings()).some((one) => one.line === lineOf(typed, "return totl"))).catch(() => undefined);
  const moved = await findings(editor, 2);
  equal("they follow what is typed above", moved.map((one) => one.line).sort().join(), [lineOf(typed, "price_of(name)"), lineOf(typed, "return totl")].sort().join());

  await decideOn(editor, "price_of(name)", "Dismiss finding: Count every piece");
  await findings(editor, 1);
  await decideOn(editor, "return totl", "Fix with agent: Return the total");
  const proposal = await editor.proposal();
  await proposal.acceptAll();
  await editor.idle();
  await until("the change", async () => (await editor.text("cart.py")).includes("return total"), 10000).catch(() => undefined);
  equal("the finding is mended, and nothing else is changed", await editor.text("cart.py"), typed.replace("totl", "total"));
  await findings(editor, 0);
  equal("the file on disk is as it was", onDisk("cart.py"), text);
}
