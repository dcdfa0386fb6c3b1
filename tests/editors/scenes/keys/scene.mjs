// By keys alone: the selected lines into the composer, from change to change, a decision in the diff. No key does anything where it makes no
// sense. What is accepted is saved as the setting says: never, or always. Code of an answer goes into the file. And the last turn is taken
// back from the chat. Shows S-257.
import { check, equal } from "../../checks.mjs";
import { before, onDisk, sleep, toldOf, until } from "../../stage.mjs";

export const wants = { settings: { "countersign.proposals.save": "never" } };

export async function play(editor) {
  const { page, workbench } = editor;
  await editor.open("cart.py");
  // Two wishes before the chat is there: both are met.
  await workbench.focusEditor();
  await workbench.goTo(12, 9);
  await page.keyboard.press("Shift+End");
  await page.keyboard.press("Control+Alt+l");
  await page.keyboard.press("Control+Alt+a");
  const early = (await editor.frame()).locator(".composer textarea");
  check("what is wished for before the chat is there is done once it is", await until("the mention", async () => (await early.inputValue()).trim() === "@cart.py#L12", 10000).catch(() => false), await early.inputValue());
  await early.fill("");
  const chat = await editor.openChat();
  const text = chat.locator(".composer textarea");
  const toasts = () => page.locator(".notification-toast").allInnerTexts();
  const caret = (name, line) => until(`the cursor in ${name}:${line}`, () => editor.active()?.name === name && editor.active()?.line === line, 10000).catch(() => false);
  await workbench.focusEditor();
  await workbench.goTo(13, 5);
  await page.keyboard.press("Alt+]");
  await page.keyboard.press("Control+Alt+Enter");
  await page.keyboard.press("Shift+End");
  await page.keyboard.press("Control+Alt+l");
  check("a key puts the selected lines into the composer", await until("the mention", async () => (await text.inputValue()).trim() === "@cart.py#L13", 10000).catch(() => false), await text.inputValue());
  check("and the focus", await until("the focus", () => chat.evaluate(() => document.activeElement?.tagName === "TEXTAREA"), 10000).catch(() => false));
  check("where nothing waits, the keys for changes say and do nothing", (await toasts()).length === 0 && editor.held("cart.py").text === before("cart.py"), await toasts());
  await text.press("End");
  await page.keyboard.insertText("mend it");
  await page.keyboard.press("Enter");
  const waits = chat.locator(".proposal.waits");
  await until("the proposal", () => waits.locator("button", { hasText: "Accept all" }).isVisible(), 60000);

  await workbench.focusEditor();
  await workbench.goTo(1, 1);
  await page.keyboard.press("Alt+]");
  check("a key leads to the next change", await caret("cart.py", 13), editor.active());
  await page.keyboard.press("Control+Alt+Enter");
  await page.keyboard.press("Alt+]");
  const tab = page.locator(".tab", { hasText: "prices.py (proposed)" }).first();
  check("and on to the next file, as it would be", await until("the diff", () => tab.isVisible(), 20000).catch(() => false));
  await until("the cursor in the diff", () => editor.active()?.name === "prices.py", 10000).catch(() => undefined);
  check("the key that accepts is for the diff alone", (await waits.locator(".hunk-accepted, .hunk-applied").count()) === 0, await waits.innerText());
  await editor.shot("diff");
  await page.keyboard.press("Control+Alt+Enter");
  check("there it accepts the file", await until("the decision", async () => (await waits.locator(".hunk-accepted, .hunk-applied").count()) === 1, 20000).catch(() => false), await chat.locator("body").innerText());
  await page.keyboard.press("Alt+]");
  await until("the diff of the other file", () => page.locator(".tab.active", { hasText: "cart.py (proposed)" }).first().isVisible(), 20000).catch(() => undefined);
  await until("the cursor in the diff", () => editor.active()?.name === "cart.py", 10000).catch(() => undefined);
  await page.keyboard.press("Control+Alt+Enter");
  check("and the next", await until("the change", () => editor.held("cart.py").text.includes("return total\n"), 30000).catch(() => false), editor.held("cart.py").text);
  const run = chat.locator(".question.open button", { hasText: "Allow Once" });
  await until("the command or its answer", async () => (await run.isVisible()) || (await chat.locator(".row-agentMessage", { hasText: "Mended" }).isVisible()), 60000);
  if (await run.isVisible()) await run.click();
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Mended, as you decided." }).isVisible(), 60000);
  check("who wants nothing saved finds nothing saved", editor.held("cart.py").dirty && onDisk("cart.py") === before("cart.py"), { dirty: editor.held("cart.py").dirty, disk: onDisk("cart.py") });
  check("and the command that came after saw the disk as it is", /totl/.test(toldOf("look") ?? ""), toldOf("look"));
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);

  await editor.command("Witness: Save Always");
  await workbench.open("cart.py");
  await workbench.focusEditor();
  await workbench.goTo(1, 1);
  await page.keyboard.insertText("# mine\n");
  await until("the typed text", () => editor.held("cart.py").text.startsWith("# mine\n"), 10000);
  // Who writes lines and takes them back is still at the end; who scrolled up stays there, whatever they write.
  const list = chat.locator(".rows-scroll");
  const lines = async (n) => {
    await text.focus();
    for (let i = 0; i < n; i++) await page.keyboard.press("Shift+Enter");
    await page.keyboard.insertText("one more");
    await text.fill("");
    await sleep(300);
  };
  const atEnd = () => list.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 24);
  const high = (height) => chat.locator("main.chat").evaluate((root, height) => { root.style.maxHeight = height; }, height);
  await high("420px");
  await until("the end", atEnd, 5000).catch(() => undefined);
  await lines(6);
  check("who writes several lines stays at the end of the conversation", (await atEnd()) && !(await chat.locator(".to-end").isVisible()));
  await list.hover();
  await page.mouse.wheel(0, -150);
  await until("the way back", () => chat.locator(".to-end").isVisible(), 5000).catch(() => undefined);
  await lines(6);
  check("and who scrolled up stays where they are", !(await atEnd()) && (await chat.locator(".to-end").isVisible()));
  await high("");
  await editor.say(chat, "and the tax");
  await until("the proposal", () => waits.locator("button", { hasText: "Accept all" }).isVisible(), 60000);
  await waits.locator("button", { hasText: "Accept all" }).click();
  check("who wants all saved finds it saved, with what they had typed", await until("the file", () => onDisk("cart.py").startsWith("# mine\n") && onDisk("cart.py").includes("VAT = 7"), 20000).catch(() => false), onDisk("cart.py"));
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "The tax is lower now." }).isVisible(), 60000);
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);

  // Code of an answer: at the cursor, and in the place of what is selected, which the editor's own preview asks about.
  const code = chat.locator(".row-agentMessage figure.code").last();
  await workbench.focusEditor();
  await workbench.goTo(2, 1);
  await code.locator("button", { hasText: "Insert" }).click();
  check("code of an answer can be put in at the cursor", await until("the code", () => editor.held("cart.py").text.startsWith("# mine\nPENNIES = True\n"), 10000).catch(() => false), editor.held("cart.py").text);
  await workbench.focusEditor();
  await workbench.goTo(1, 1);
  await page.keyboard.press("Shift+End");
  await code.locator("button", { hasText: "Apply" }).click();
  const preview = await until("the preview", () => workbench.preview(), 20000).catch(() => undefined);
  check("or in the place of what is selected, once the person has seen it", preview?.rows.some((row) => row.includes("cart.py")) === true && editor.held("cart.py").text.startsWith("# mine\n"), preview?.rows);
  await preview?.tickAll();
  await preview?.apply();
  check("and then it is there", await until("the code", () => editor.held("cart.py").text.startsWith("PENNIES = True\nPENNIES = True\n"), 10000).catch(() => false), editor.held("cart.py").text);
  // With nothing selected: where it belongs; where that cannot be told, the person says where.
  await workbench.focusEditor();
  await workbench.goTo(1, 1);
  const { text: held } = editor.held("cart.py");
  await chat.locator(".row-agentMessage figure.code").nth(-2).locator("button", { hasText: "Apply" }).click();
  const placed = await until("the preview", () => workbench.preview(), 20000).catch(() => undefined);
  check("a function takes the place of the one that it is, once the person has seen it", placed?.rows.some((row) => row.includes("Nothing.")) === true && editor.held("cart.py").text === held, placed?.rows);
  await editor.shot("placed");
  await placed?.tickAll();
  await placed?.apply();
  const whole = held.replace(/def describe[^]*?\n(?=\S|$)/, 'def describe(items):\n    return "Nothing."\n');
  check("and of no more", await until("the code", () => editor.held("cart.py").text !== held, 10000).then(() => editor.held("cart.py").text === whole, () => false), editor.held("cart.py").text);
  await workbench.focusEditor();
  await page.keyboard.press("Control+z");
  check("one undo brings the old one back", await until("the text", () => editor.held("cart.py").text === held, 10000).catch(() => false), editor.held("cart.py").text);
  await code.locator("button", { hasText: "Apply" }).click();
  const where = page.locator(".quick-input-widget");
  check("where nobody can tell, the person is asked", await until("the question", async () => (await where.isVisible()) && (await where.innerText()).includes("Where does this code go in cart.py?"), 10000).catch(() => false));
  await editor.shot("where");
  await page.keyboard.press("Escape");
  equal("and nothing is changed without an answer", editor.held("cart.py").text, held);

  await editor.say(chat, "/undo");
  check("the last turn can be taken back from the chat", await until("the text", () => editor.held("cart.py").text.includes("VAT = 19"), 30000).catch(() => false), editor.held("cart.py").text);
  check("which leaves what was typed and the turn before", editor.held("cart.py").text.startsWith("PENNIES = True\n") && editor.held("cart.py").text.includes("return total\n"), editor.held("cart.py").text);
  check("and the chat says so", await until("the words", () => chat.locator(".row-undo", { hasText: "cart.py" }).isVisible(), 20000).catch(() => false), await chat.locator("body").innerText());
  await editor.shot("undone");
  // It was open beside its proposal when that was accepted, so it is not saved either.
  check("one undoes, and no more", (editor.held("prices.py")?.text ?? onDisk("prices.py")).includes("50"), onDisk("prices.py"));

  // Lines are asked about in one's own words: the chat that is in view answers.
  await workbench.focusEditor();
  await workbench.goTo(3, 1);
  await page.keyboard.press("Shift+End");
  await workbench.codeActions();
  await workbench.chooseAction("Ask agent about the selection");
  const asked = page.locator(".quick-input-widget");
  await until("the box", () => asked.locator("input.input").isVisible(), 20000);
  check("the box says which lines are meant", /line 3 of cart\.py/.test(await asked.innerText()), await asked.innerText());
  await editor.shot("ask");
  await page.keyboard.insertText("why this?");
  await page.keyboard.press("Enter");
  check("the answer is in the chat", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Because it was so." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  // The same by a key, on the line of the cursor.
  await workbench.focusEditor();
  await workbench.goTo(5, 1);
  await page.keyboard.press("Control+Alt+k");
  check("a key asks the same", await until("the box", async () => (await asked.locator("input.input").isVisible()) && /line 5 of cart\.py/.test(await asked.innerText()), 10000).catch(() => false), await asked.innerText().catch(() => ""));
  await page.keyboard.press("Escape");
  check("below the question, with the lines that it is about", await until("the question", () => chat.locator(".row-userMessage", { hasText: "why this?" }).locator(".chip", { hasText: "3" }).first().isVisible(), 10000).catch(() => false), await chat.locator(".row-userMessage").allInnerTexts());
}
