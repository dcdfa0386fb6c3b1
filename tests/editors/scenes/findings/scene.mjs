// A review from the chat: its findings are in Problems, by their weight, and move with what is typed; one is dismissed and one mended,
// by the light bulb, and then none is left. Shows S-251, S-255.
import { check, equal } from "../../checks.mjs";
import { before, onDisk, until } from "../../stage.mjs";

const lineOf = (text, part) => text.split("\n").findIndex((line) => line.includes(part)) + 1;

export async function play(editor) {
  const { workbench, page } = editor;
  const text = before("cart.py");
  await editor.open("cart.py");
  const chat = await editor.openChat();
  await editor.say(chat, "/review");
  const found = () => editor.problems("cart.py").filter((one) => one.source === "countersign review" && /total|piece/.test(one.text));
  await until("the findings", () => found().length === 2, 90000);
  check("the chat tells them", await until("the words", () => chat.locator(".row-exitedReviewMode", { hasText: "has 2 findings" }).isVisible(), 20000).catch(() => false));
  const [total, count] = [found().find((one) => one.text.includes("Return the total")), found().find((one) => one.text.includes("Count every piece"))];
  check("each lies on its line, by its weight", total?.line === lineOf(text, "return totl") && total.severity === 0 && count?.line === lineOf(text, "price_of(name)") && count.severity === 1, found());
  await editor.command("View: Focus Problems");
  await until("the list of problems", () => page.locator(".markers-panel", { hasText: "Return the total" }).isVisible());
  await editor.shot("problems");
  await editor.theme("light");
  await editor.shot("problems-light");
  await editor.theme("dark");

  await workbench.focusEditor();
  await workbench.goTo(1, 1);
  await page.keyboard.insertText("# fruit\n");
  check("they follow what is typed above", await until("the lines", () => found().some((one) => one.line === total.line + 1) && found().some((one) => one.line === count.line + 1), 15000).catch(() => false), found());

  await workbench.goTo(count.line + 1, 12);
  const offered = await workbench.codeActions();
  check("the light bulb offers to dismiss one", offered.some((one) => one.startsWith("Dismiss finding")), offered);
  await editor.shot("light-bulb");
  await workbench.chooseAction("Dismiss finding");
  check("and it goes", await until("one finding", () => found().length === 1, 20000).catch(() => false), found());

  await workbench.goTo(total.line + 1, 12);
  const mends = await workbench.codeActions();
  check("and to mend the other", mends.some((one) => one.startsWith("Fix with agent: Return the total")), mends);
  await workbench.chooseAction("Fix with agent: Return the total");
  const proposed = await until("the proposal", () => editor.message("Review"), 60000).catch(() => undefined);
  if (proposed === undefined) {
    await chat.locator(".proposal.waits button", { hasText: "Accept all" }).click();
  } else {
    check("what is only named cannot be accepted", !proposed.buttons.some((one) => one.startsWith("Accept")), proposed.buttons);
    await proposed.press();
    await until("the diff", () => page.locator(".tab", { hasText: "cart.py (proposed)" }).first().isVisible(), 20000);
    const right = page.locator(".diff-editor-modified, .editor.modified").first();
    await until("its right side", async () => (await right.innerText()).replaceAll("\u00a0", " ").includes("return total"), 20000);
    await editor.command("Countersign: Accept This Change");
  }
  check("the finding is mended", await until("the change", () => editor.held("cart.py").text.includes("return total"), 30000).catch(() => false), editor.held("cart.py").text);
  check("and then none is left", await until("no finding", () => found().length === 0, 20000).catch(() => false), found());
  equal("unsaved text stays unsaved", onDisk("cart.py"), text);
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);
}
