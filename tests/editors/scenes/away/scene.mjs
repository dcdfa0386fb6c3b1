// The window is not in focus: a message tells that a turn has ended, or waits. In focus none does. And what the account and the other
// commands of the palette say.
import { check } from "../../checks.mjs";
import { sleep, until } from "../../stage.mjs";

export const wants = { settings: {}, userSettings: { "countersign.notifications.afterSeconds": 0 } };

export async function play(editor) {
  const { page } = editor;
  await editor.open("cart.py");
  const chat = await editor.openChat();
  // The browser is told that nobody looks, as it is when another window is in front.
  const devtools = await page.context().newCDPSession(page);
  const look = async (is) => {
    await devtools.send("Emulation.setFocusEmulationEnabled", { enabled: is });
    if (is) await page.bringToFront();
    else await other.bringToFront();
    await until(is ? "the focus" : "the focus to be elsewhere", () => page.evaluate((wanted) => document.hasFocus() === wanted, is), 10000);
    // A browser without a screen does not tell its page of it; the editor only hears what is news to it, and then looks for itself.
    for (const kind of is ? ["blur", "focus"] : ["focus", "blur"]) {
      await page.evaluate((name) => window.dispatchEvent(new Event(name)), kind);
      await sleep(300);
    }
    await sleep(1000);
  };
  const other = await page.context().newPage();
  await look(true);

  const text = chat.locator(".composer textarea");
  await text.fill("work long");
  await look(false);
  await chat.locator("button.send.primary").evaluate((one) => one.click());
  // What is out of sight is not drawn: the words of the page are all that can be looked at.
  await until("the turn", async () => /tokens|Context/.test(await chat.locator(".meters").textContent()) && (await chat.locator(".activity").getAttribute("hidden")) !== null, 60000);
  await look(true);
  const ended = await until("the message", () => editor.message("Show"), 10000).catch(() => undefined);
  check("a message tells that a turn has ended while nobody looked", /work long.*has ended/.test(ended?.text ?? ""), ended);
  await editor.shot("ended");
  await ended?.press();
  await until("the chat in focus", () => chat.evaluate(() => document.activeElement?.tagName === "TEXTAREA"), 10000).catch(() => undefined);

  await text.fill("and ask");
  await look(false);
  await chat.locator("button.send.primary").evaluate((one) => one.click());
  await until("the question", async () => (await chat.locator(".activity").textContent()).includes("Waiting for your approval"), 60000);
  await look(true);
  const waits = await until("the message", () => editor.message("Show"), 10000).catch(() => undefined);
  check("and that one waits for the person", /is waiting for you/.test(waits?.text ?? ""), waits);
  await editor.shot("waits");
  await waits?.press();
  await chat.locator(".question.open button", { hasText: "Allow Once" }).click();
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "It fails." }).isVisible(), 60000);
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);
  await sleep(1000);
  check("who looks is told nothing", !(await editor.message("Show")));

  await editor.command("Countersign: Account and Usage");
  const list = page.locator(".quick-input-widget:not([style*='display: none'])").first();
  check("the account says that this provider needs no login", await until("the account", async () => (await list.innerText()).includes("needs no login"), 20000).catch(() => false), await list.innerText().catch(String));
  await editor.shot("account");
  await page.keyboard.press("Escape");
  await other.close();
}
