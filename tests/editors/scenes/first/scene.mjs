// A first run: no key, so the chat asks for one and takes it there. Then what a person needs in the first hour: a provider that does not
// answer is asked again at once, commands of the palette act on the conversation in view and name it, and the conversation goes back to
// before a message, with the files.
import { check, equal } from "../../checks.mjs";
import { before, onDisk, sleep, until } from "../../stage.mjs";

export const wants = {
  // These belong to the provider's table, which is the last one.
  config: "requires_openai_auth = true\n",
};

export async function play(editor) {
  const { page } = editor;
  await editor.open("cart.py");
  const chat = await editor.openChat();
  await until("the first page", () => chat.locator(".empty h2", { hasText: "Connect a model" }).isVisible(), 30000);
  await editor.shot("no-key-dark");
  await editor.theme("light");
  await editor.shot("no-key-light");
  await editor.theme("dark");
  await editor.say(chat, "price the apple");
  const connect = chat.locator(".row-error button", { hasText: "Connect a model" });
  await until("the error", () => connect.isVisible(), 60000);
  check("what is missing is said in words", /needs a login/.test(await chat.locator(".row-error").innerText()), await chat.locator(".row-error").innerText());
  await connect.click();
  const box = chat.locator(".first-run.error");
  await box.locator("input").fill("sk-first");
  await box.locator("button", { hasText: "Save Key" }).click();
  await until("the key to be taken", async () => !(await box.isVisible()), 20000);
  await chat.locator(".row-error button", { hasText: "Try again" }).click();
  const accept = chat.locator(".proposal.waits button", { hasText: "Accept all" });
  await until("the proposal", () => accept.isVisible(), 60000);
  // Rows that are out of view are not drawn.
  const scrollTo = (where) => chat.locator(".rows-scroll").evaluate((box, top) => { box.scrollTop = top ? 0 : box.scrollHeight; }, where === "top");
  await scrollTo("top");
  const messages = chat.locator(".row-userMessage");
  await until("the message", async () => (await messages.count()) > 0, 10000);
  equal("the message is sent again, and stands there once", await messages.count(), 1);
  equal("and nothing of the failure", await chat.locator(".row-error").count(), 0);
  await scrollTo("end");
  await until("the proposal again", () => accept.isVisible(), 10000);
  await accept.click();
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Priced." }).isVisible(), 60000);
  check("the price is in the file", onDisk("prices.py").includes('"apple": 50'), onDisk("prices.py"));

  await editor.say(chat, "and the plum");
  const retry = chat.locator(".retry");
  await until("the box", () => retry.isVisible(), 60000);
  const words = (await retry.innerText()).replaceAll(/\s+/g, " ");
  check("it says when it is asked again, and since when it fails", /try 1.* · since .* · next try in (4 min \d+|299|300|5 min)/.test(words), words);
  await editor.shot("waits");
  await retry.locator("button", { hasText: "Try now" }).click();
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "There are no plums." }).isVisible(), 60000);
  check("the box is gone", !(await retry.isVisible()));

  await editor.command("Countersign: New Chat");
  await until("an empty conversation in view", async () => (await chat.locator(".row").count()) === 0, 20000);
  await editor.say(chat, "good morning");
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Good morning." }).isVisible(), 60000);
  await editor.command("Countersign: Open Chat in an Editor Tab");
  const tab = await until("the tab", async () => {
    for (const frame of page.frames()) {
      if (frame !== chat && (await frame.locator(".row-agentMessage", { hasText: "Good morning." }).first().isVisible().catch(() => false))) return frame;
    }
    return undefined;
  }, 30000);
  await chat.locator("header button[aria-label='Conversations']").click();
  await chat.locator(".thread-open", { hasText: "price the apple" }).or(chat.locator(".thread", { hasText: "price the apple" }).locator(".thread-open")).first().click();
  await until("the first conversation in the side bar", () => chat.locator(".row-agentMessage", { hasText: "Priced." }).isVisible(), 30000);

  const dialog = page.locator(".monaco-dialog-box");
  const named = async () => {
    await editor.command("Countersign: Delete Conversation");
    await until("the question", () => dialog.isVisible(), 20000);
    const text = await dialog.innerText();
    await page.keyboard.press("Escape");
    await until("no question", async () => !(await dialog.isVisible()), 10000);
    return text;
  };
  // A dialog that has just closed gives the focus back a moment later, to whom it was of.
  const goTo = (frame) => until("the focus", async () => {
    await frame.locator(".composer textarea").click();
    await sleep(700);
    return frame.evaluate(() => document.hasFocus());
  }, 20000);
  await goTo(tab);
  const inTab = await named();
  check("a command acts on the tab that the person is in, and names its conversation", inTab.includes("“good morning”"), inTab);
  await goTo(chat);
  const inSide = await named();
  check("else on the one in the side bar", inSide.includes("“price the apple”"), inSide);

  await goTo(chat);
  await editor.command("Countersign: New Chat");
  await until("an empty conversation in view", async () => (await chat.locator(".row").count()) === 0, 20000);
  // On a busy machine a dialog gives the focus back to the tab only now.
  await goTo(chat);
  await editor.command("Countersign: Resume Last Conversation");
  const resumed = await until("its rows", () => chat.locator(".row-agentMessage").first().isVisible(), 30000).catch(() => false);
  check("the last conversation is resumed where the person is", resumed, [await page.locator(".notification-toast").allInnerTexts(), await chat.locator("body").innerText(), await tab.locator("body").innerText()]);
  await editor.command("Countersign: Start Code Review");
  const kinds = page.locator(".quick-input-widget");
  await until("the kinds of reviews", () => kinds.locator(".monaco-list-row", { hasText: "Uncommitted Changes" }).isVisible(), 20000);
  check("a review says what can be reviewed", /Against a Branch[^]*A Commit/.test(await kinds.innerText()), await kinds.innerText());
  await editor.shot("review");
  await page.keyboard.press("Escape");
  await chat.locator("header button[aria-label='Conversations']").click();
  await chat.locator(".thread", { hasText: "price the apple" }).locator(".thread-open").first().click();
  await until("the first conversation again", () => chat.locator(".row-agentMessage", { hasText: "There are no plums." }).isVisible(), 30000);

  const message = chat.locator(".row-userMessage", { hasText: "price the apple" });
  await message.hover();
  await message.locator("button[aria-label^='Restore']").click();
  const pick = page.locator(".quick-input-widget");
  const choice = (text) => pick.locator(".monaco-list-row", { hasText: text });
  await until("the choices", () => choice("Conversation and Files").isVisible(), 20000);
  const offered = (await pick.innerText()).replaceAll(/\s+/g, " ");
  check("what would happen is said first", /before “price the apple”/.test(await pick.locator(".quick-input-title").innerText()) && /Removes your last 2 messages and their answers\. Undoes 1 file, \+1 −1\./.test(offered), offered);
  await editor.shot("go-back");
  await choice("Conversation and Files").click();
  await until("the price of before", () => onDisk("prices.py") === before("prices.py"), 30000);
  await until("an empty conversation", async () => (await chat.locator(".row").count()) === 0, 30000);
  equal("the words are there to be sent again", await chat.locator(".composer textarea").inputValue(), "price the apple");
  check("the other conversation is as it was", await tab.locator(".row-agentMessage", { hasText: "Good morning." }).isVisible());
  await editor.shot("gone-back");

  await editor.command("Countersign: Run Diagnostics");
  const terminal = page.locator(".terminal-wrapper").last();
  await until("the doctor", () => terminal.isVisible(), 30000);
  // It takes a second or two.
  await sleep(5000);
  check("the doctor's words stay when it has ended", await terminal.isVisible());
  await editor.shot("doctor");
}
