// The server is killed: the status bar says so and when it comes again, what is sent meanwhile comes back into the composer, and then
// the conversation is there again and goes on. A message that was not answered is sent again by a button. Killed again at once, it waits
// longer; and the person need not wait. Who answers a message whose server was killed is told that this was lost, and what waited is back.
// Shows S-014.
import { execFileSync } from "node:child_process";
import { check, equal } from "../../checks.mjs";
import { before, onDisk, release, requests, server, until } from "../../stage.mjs";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==";

/** The language server of this journey: a child of the editor that runs the program. */
function pids() {
  const marker = process.env.COUNTERSIGN_JOURNEY;
  const all = execFileSync("ps", ["eww", "-eo", "pid,args"], { encoding: "utf8", maxBuffer: 64 << 20 }).split("\n");
  return all.filter((line) => new RegExp(`^\\s*\\d+ ${server}(?: |$)`).test(line) && line.includes(`COUNTERSIGN_JOURNEY=${marker}`)).map((line) => Number(line.trim().split(" ")[0]));
}

async function kill() {
  const found = await until("the server's process", () => { const all = pids(); return all.length > 0 && all; }, 30000);
  for (const pid of found) process.kill(pid, "SIGKILL");
  return found;
}

export async function play(editor) {
  await editor.open("cart.py");
  const chat = await editor.openChat();
  await editor.say(chat, "one");
  await until("the first answer", () => chat.locator(".row-agentMessage", { hasText: "The first answer." }).isVisible(), 60000);
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);

  const text = chat.locator(".composer textarea");
  await text.evaluate((area, png) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(png), (sign) => sign.charCodeAt(0))], "dot.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, PNG);
  await until("the picture", () => chat.locator(".picture img").isVisible(), 10000);
  await chat.locator(".composer select[aria-label='Mode']").selectOption("ask");
  await text.fill("two");
  await kill();
  await until("the chat to know", () => chat.locator("body.offline").count(), 20000);
  await text.press("Enter");
  check("what was not sent is in the composer again", await until("the words", async () => (await text.inputValue()) === "two", 10000).catch(() => false), await text.inputValue());
  check("with its picture", (await chat.locator(".picture img").count()) === 1);
  await editor.shot("killed");
  await editor.running();
  check("the server is started again by itself", true);
  check("the conversation is there again", await until("the first answer", () => chat.locator(".row-agentMessage", { hasText: "The first answer." }).isVisible(), 30000).catch(() => false));
  await until("the chat to know", async () => (await chat.locator("body.offline").count()) === 0, 20000);
  const mode = chat.locator(".composer select[aria-label='Mode']");
  check("the mode that was picked is, too", await until("the mode", async () => (await mode.inputValue()) === "ask", 20000).catch(() => false), await mode.inputValue());
  await text.press("Enter");
  check("and it goes on", await until("the second answer", () => chat.locator(".row-agentMessage", { hasText: "The second answer." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  check("with all that was to be sent", JSON.stringify(requests().at(-1).body.input).includes(PNG.slice(0, 60)) && JSON.stringify(requests().at(-1).body.input).includes("The first answer."));

  // It is killed before the model has answered anything.
  await editor.say(chat, "five");
  await until("the model to be asked", () => requests().some(({ body }) => JSON.stringify(body.input.at(-1)).includes("five")), 30000);
  await kill();
  const told = await until("the status bar to say so", async () => { const item = await editor.item(); return /has stopped/.test(item ?? "") && item; }, 20000).catch(() => editor.item());
  check("the status bar says that it ended and when it comes again", /Restarting in 2 s/.test(told ?? ""), told);
  await editor.shot("again");
  await editor.command("Countersign: Restart Server");
  await editor.running();
  check("the person need not wait for that", true);
  const again = chat.locator(".row-note button", { hasText: "Send Again" });
  check("a message that nobody answered can be sent again", await until("the button", () => again.isVisible(), 30000).catch(() => false), await chat.locator("body").innerText());
  await editor.shot("lost");
  await again.click();
  check("and is answered then", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "The fifth answer." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  equal("it stands there once", await chat.locator(".row-userMessage", { hasText: "five" }).count(), 1);
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);

  const stopped = () => until("the editor to know", async () => /has stopped|started again/.test((await editor.item()) ?? ""), 20000);
  // Each time it waits twice as long: from here on there is time to look while no server runs.
  for (let i = 0; i < 3; i++) {
    const killed = await kill();
    // The first time it comes again at once, and the status bar may have said so in between two looks.
    await Promise.any([stopped(), until("another process", () => pids().some((pid) => !killed.includes(pid)), 20000)]);
    await editor.running();
  }

  // No chat is seen, so messages ask; the server is killed under each.
  const lostUnder = async (words, button) => {
    const shown = await editor.openChat();
    await shown.locator(".composer select[aria-label='Mode']").selectOption("agent");
    await editor.say(shown, words);
    await editor.command("View: Show Explorer");
    await release(words);
    const asked = await until(`the message about “${words}”`, () => editor.message(button), 60000);
    await kill();
    await stopped();
    await asked.press();
    const told = editor.page.locator(".notification-list-item-message", { hasText: /The server (has )?stopped/ });
    await until("the word about it", () => told.first().isVisible(), 10000).catch(() => undefined);
    const texts = await told.allInnerTexts();
    // Before the server is back, and asks again.
    await editor.command("Notifications: Clear All Notifications");
    check("till then no server runs", /has stopped|started again/.test((await editor.item()) ?? ""), await editor.item());
    await editor.running();
    return texts.join(" ");
  };
  const proposed = await lostUnder("three", "Review");
  check("an answer about a change whose server was lost is told to be lost, and what to do", /Nothing was decided.*is back once it runs again/.test(proposed), proposed);
  const answered = await lostUnder("four", "Allow Once");
  check("and so is a yes to a command", /your answer was not sent.*continue in the chat/.test(answered), answered);
  check("nothing was changed", onDisk("prices.py") === before("prices.py"));
  await until("the message that comes with the change", () => editor.message("Review"), 60000);
  await editor.openChat();
  const row = editor.page.locator(".pane-body .monaco-list-row", { hasText: "prices.py" }).first();
  check("the change is back", await until("the change", () => row.isVisible(), 30000).catch(() => false));
  const accept = async () => {
    await row.hover();
    await row.locator(".action-label[aria-label^='Accept']").first().click();
  };
  await accept();
  check("it is shown before it can be accepted", await until("the diff", () => editor.page.locator(".tab", { hasText: "prices.py (proposed)" }).first().isVisible(), 20000).catch(() => false));
  check("and that is said", await until("the word", () => editor.page.locator(".notification-list-item-message", { hasText: "has not been shown" }).first().isVisible(), 10000).catch(() => false));
  check("nothing is accepted by that", onDisk("prices.py") === before("prices.py"));
  await accept();
  check("and can be accepted", await until("the change", () => onDisk("prices.py").includes("50"), 30000).catch(() => false), onDisk("prices.py"));
  const late = editor.page.locator(".notification-toast, .notifications-center").locator(".monaco-button", { hasText: "Review" }).first();
  if (!(await late.isVisible())) await editor.command("Notifications: Show Notifications");
  await late.click();
  check("where it was decided meanwhile, that is told", await until("the word", () => editor.page.locator(".notification-list-item-message", { hasText: "no longer pending" }).first().isVisible(), 10000).catch(() => false));
}
