// A proposal in the side bar: its tree, a diff editor that follows what is typed in the file and whose right side can be edited, decisions
// by lens, by button, in the tree, and on the change at the cursor: in a diff the editor shows no lenses by itself. The
// document of a settled proposal decides nothing, neither of its sides, while another proposal of the file waits.
import { check, equal } from "../../checks.mjs";
import { before, isOnDisk, onDisk, sleep, toldOf, until } from "../../stage.mjs";

export async function play(editor) {
  const { page, workbench } = editor;
  await editor.open("cart.py");
  const chat = await editor.openChat();
  await editor.say(chat, "mend the cart");
  const row = (text) => page.locator(".pane-body .monaco-list-row", { hasText: text }).first();
  await until("the tree of proposals", () => row("prices.py").isVisible(), 60000);
  check("the tree has each file", (await row("cart.py").isVisible()) && (await row("NOTES.md").isVisible()));
  check("and the lines of each hunk", /line 12/.test(await row("total += price_of(name) * count").innerText()), await row("total += price_of(name) * count").innerText());
  check("the lines are marked in the file", await until("the lenses", async () => (await page.locator(".codelens-decoration", { hasText: "Accept" }).count()) > 0, 20000).catch(() => false));

  const behind = () => page.evaluate(() => [...document.querySelectorAll(".editor-instance .view-line span")].map((one) => getComputedStyle(one, "::after").content).filter((one) => one.startsWith('"')));
  check("and what would come stands behind them", await until("the new text", async () => (await behind()).some((one) => one.includes("→ total += price_of(name) * count")), 10000).catch(() => false), await behind());
  await editor.shot("file");

  // What the tree is to accept must have been on the screen.
  const right = page.locator(".diff-editor-modified, .editor.modified").first();
  await row("NOTES.md").click();
  await until("the new file", () => page.locator(".tab", { hasText: "NOTES.md (proposed)" }).first().isVisible(), 20000);
  await until("its text", async () => (await right.innerText()).replaceAll("\u00a0", " ").includes("Prices are in cents."), 20000);
  await row("cart.py").click();
  const tab = page.locator(".tab", { hasText: "cart.py (proposed)" }).first();
  await until("the diff editor", () => tab.isVisible(), 20000);
  await until("its right side", async () => (await right.innerText()).replaceAll("\u00a0", " ").includes("price_of(name) * count"), 20000);
  check("the diff shows the outcome", true);
  await editor.theme("light");
  await editor.shot("diff-light");
  await editor.theme("dark");
  await editor.shot("diff-dark");

  // The person makes the change better before taking it.
  await right.locator(".view-line", { hasText: "count" }).last().click();
  await page.keyboard.press("Escape");
  await page.keyboard.press("End");
  await page.keyboard.insertText("  # each");
  check("what is typed on the right is the change", await until("the edited hunk", async () => (await row("# each").count()) > 0, 20000).catch(() => false), await page.locator(".pane-body").allInnerTexts());

  equal("nothing is changed before", editor.held("cart.py").text, before("cart.py"));
  const says = (text, word) => until(`“${text}” to be ${word}`, async () => (await row(text).innerText()).includes(word), 20000).catch(() => false);
  equal("the diff has no lenses", await right.locator(".codelens-decoration").count(), 0);
  await workbench.command("Countersign: Accept This Change");
  check("the change at the cursor is accepted, and the tree says so", await says("# each", "accepted"), await row("# each").innerText());
  check("and no other of the file", !/accepted|rejected/.test(await row("VAT = 7").innerText()), await row("VAT = 7").innerText());
  await right.locator(".view-line", { hasText: "VAT" }).first().click({ button: "right" });
  const entry = page.locator(".monaco-menu .action-label", { hasText: "Reject This Change" }).first();
  await until("the menu of the diff", () => entry.isVisible(), 10000);
  await editor.shot("menu");
  await entry.click();
  check("another is rejected by the menu of the diff", await says("VAT = 7", "rejected"), await row("VAT = 7").innerText());
  await workbench.command("Countersign: Reset Decision on This Change");
  check("which is taken back where its lines stand", await until("no decision", async () => !(await row("VAT = 7").innerText()).includes("rejected"), 20000).catch(() => false), await row("VAT = 7").innerText());
  await page.locator(".diff-editor-original, .editor.original").first().locator(".view-line", { hasText: "VAT" }).first().click();
  await page.keyboard.press("Shift+Alt+Backspace");
  check("and made again by a key, on the left side", await says("VAT = 7", "rejected"), await row("VAT = 7").innerText());

  await row("prices.py").hover();
  await row("prices.py").locator(".action-label[aria-label^='Reject']").first().click();
  await row("NOTES.md").hover();
  await row("NOTES.md").locator(".action-label[aria-label^='Accept']").first().click();
  await until("the change", () => editor.held("cart.py").text.includes("# each"), 30000).catch(() => undefined);
  check("what was rejected at the cursor is not", editor.held("cart.py").text.includes("VAT = 19"), editor.held("cart.py").text);
  check("what was accepted is in the file, as edited", editor.held("cart.py").text.includes("price_of(name) * count  # each") || editor.held("cart.py").text.includes("return total  # each"), editor.held("cart.py").text);
  await until("the saved file", () => onDisk("cart.py").includes("# each") && !editor.held("cart.py").dirty, 10000).catch(() => undefined);
  check("a file that had no unsaved text is saved", onDisk("cart.py").includes("# each") && !editor.held("cart.py").dirty, { dirty: editor.held("cart.py").dirty, disk: onDisk("cart.py") });
  check("the new file is there", await until("the new file", () => isOnDisk("NOTES.md"), 10000).catch(() => false));
  equal("what was rejected is not changed", onDisk("prices.py"), before("prices.py"));
  await until("the model to hear", () => toldOf("patch"), 20000).catch(() => undefined);
  check("the model is told of each", /prices\.py/.test(toldOf("patch") ?? "") && /rejected/.test(toldOf("patch") ?? ""), toldOf("patch"));
  check("the diff editor is closed", await until("the tab to go", async () => !(await tab.isVisible()), 10000).catch(() => false));
  check("the tree is gone", await until("the tree to go", async () => !(await row("prices.py").isVisible()), 10000).catch(() => false));
  await until("the end", () => chat.locator(".row-agentMessage", { hasText: "Done, as you decided." }).isVisible(), 30000);

  // Who opens it once more sees what it was, and can change and decide nothing, not even on what waits in the same file.
  await editor.say(chat, "and the tax");
  await until("the second proposal", () => row("VAT = 20").isVisible(), 60000);
  const held = editor.held("cart.py").text;
  await workbench.command("View: Reopen Closed Editor");
  check("the outcome can be looked at again", await until("the outcome", async () => (await tab.isVisible()) && (await right.innerText()).replaceAll("\u00a0", " ").includes("# each"), 20000).catch(() => false));
  await right.locator(".view-line", { hasText: "# each" }).first().click();
  await page.keyboard.press("Shift+Alt+Backspace");
  await page.keyboard.press("Control+Alt+Backspace");
  const said = (words) => until(`“${words}”`, () => page.locator(".notification-list-item-message", { hasText: words }).first().isVisible(), 10000).catch(() => false);
  check("that its keys decide nothing is said", (await said("There is no pending change at the cursor")) && (await said("No pending change here")));
  await page.keyboard.insertText("mine");
  check("what is typed there is not taken, and that is said", (await until("the words", async () => (await workbench.status()).some((one) => one.includes("Only the agent's change can be edited here")), 10000).catch(() => false)) && !(await until("the text to be as before", async () => !(await right.innerText()).includes("mine"), 10000).then(() => false, () => true)), await right.innerText());
  await page.locator(".diff-editor-original, .editor.original").first().locator(".view-line", { hasText: "VAT" }).first().click();
  await page.keyboard.press("Shift+Alt+Backspace");
  await page.keyboard.press("Control+Alt+Backspace");
  await sleep(2000);
  check("and no key decides anything", editor.held("cart.py").text === held && (await row("VAT = 20").isVisible()) && !/accepted|rejected/.test(await row("VAT = 20").innerText()), await page.locator(".pane-body").allInnerTexts());
  await editor.shot("decided");
}
