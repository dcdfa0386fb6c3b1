// What is typed in the agent's change counts at once, also for who decides in the chat a moment later. Where the server does not take it,
// the person is told why, can take it back, and can always say no. And a diff that is open while the window is loaded anew is there again.
import { check, equal } from "../../checks.mjs";
import { before, isOnDisk, onDisk, sleep, until } from "../../stage.mjs";

export async function play(editor) {
  const { page } = editor;
  await editor.open("cart.py");
  const chat = await editor.openChat();
  const card = chat.locator(".proposal").last();
  const row = (text) => page.locator(".pane-body .monaco-list-row", { hasText: text }).first();
  const tab = page.locator(".tab", { hasText: "(proposed)" }).first();
  const right = page.locator(".diff-editor-modified, .editor.modified").first();
  const said = (words) => until(`“${words}”`, () => page.locator(".notification-list-item-message", { hasText: words }).first().isVisible(), 20000).catch(() => false);
  const press = (name) => card.locator("button", { hasText: name }).first().evaluate((button) => { button.click(); });

  await editor.say(chat, "mend the cart");
  await until("the proposal", () => card.locator("button", { hasText: "Accept all" }).isVisible(), 60000);
  await row("cart.py").click();
  await until("the outcome", async () => (await tab.isVisible()) && (await right.innerText()).replaceAll("\u00a0", " ").includes("price_of(name) * count"), 20000);
  await right.locator(".view-line", { hasText: "count" }).last().click();
  await page.keyboard.press("End");
  await page.keyboard.insertText("  # each");
  await press("Accept all");
  await until("the change", () => editor.held("cart.py").text !== before("cart.py"), 30000).catch(() => undefined);
  check("who types and accepts in the chat at once accepts what they see", editor.held("cart.py").text.includes("  # each"), editor.held("cart.py").text);
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Done, as you decided." }).isVisible(), 60000);

  // A file that only moves has no line that the agent wrote.
  const prices = onDisk("prices.py");
  await editor.say(chat, "move the prices");
  await until("the second proposal", () => row("NOTES.md").isVisible(), 60000);
  const typeAbove = async () => {
    await row("prices.py").click();
    await until("the moved file", async () => (await tab.isVisible()) && (await right.innerText()).includes("PRICES"), 20000);
    await right.locator(".view-line").first().click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.insertText("mine");
    await until("the typed text", async () => (await right.innerText()).includes("mine"), 10000);
  };
  await typeAbove();
  check("what the server does not take it says", await said("Your edit of the agent's change was not taken"));
  await editor.shot("not-taken");
  await press("Accept all");
  check("such a change cannot be accepted unnoticed", await said("Nothing was decided, because what you typed in the agent's change was not taken"));
  check("and nothing is", isOnDisk("prices.py") && !isOnDisk("costs.py"));
  const back = await until("the way on", () => editor.message("Discard My Edit"), 10000);
  await back.press();
  check("the person can take it back", await until("the text as before", async () => !(await right.innerText()).includes("mine"), 10000).catch(() => false), await right.innerText());
  await editor.command("Notifications: Clear All Notifications");

  await typeAbove();
  await card.locator("button[aria-label^='Reject change 1 of']").first().evaluate((button) => { button.click(); });
  await sleep(500);
  check("or say no: without a question, and with the other file still to be decided", await until("the decision", async () => (await row("prices.py").isVisible()) && /rejected/.test(await card.innerText()) && (await row("NOTES.md").isVisible()), 10000).catch(() => false), await card.innerText());
  await press("Accept all");
  check("which then is", await until("the file", () => isOnDisk("NOTES.md"), 20000).catch(() => false), await chat.locator("body").innerText());
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "As you wish." }).isVisible(), 60000);
  check("what was rejected is as it was", isOnDisk("prices.py") && !isOnDisk("costs.py"));
  equal("and holds nothing of what was typed", onDisk("prices.py"), prices);
  check("no dialog is open", (await page.locator(".monaco-dialog-box").count()) === 0);
  check("the diff is closed", await until("the tab to go", async () => !(await tab.isVisible()), 10000).catch(() => false));

  await editor.say(chat, "and the tax");
  await until("the third proposal", () => row("VAT = 7").isVisible(), 60000);
  await row("cart.py").click();
  const shows = (text) => until(`${text} in the diff`, async () => (await tab.isVisible()) && (await right.innerText()).replaceAll("\u00a0", " ").includes(text), 40000).catch(() => false);
  await shows("VAT = 7");
  await editor.reload();
  check("a window that is loaded anew has the diff that was open", await shows("VAT = 7"), await page.locator(".editor-instance").allInnerTexts());
  await right.locator(".view-line", { hasText: "VAT" }).first().click();
  await editor.command("Countersign: Accept This Change");
  check("in which can be decided", await until("the file", () => onDisk("cart.py").includes("VAT = 7"), 20000).catch(() => false), onDisk("cart.py"));
  await editor.shot("end");
}
