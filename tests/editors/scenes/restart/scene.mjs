// The server is killed: the status bar says so and when it comes again, what is sent meanwhile comes back into the composer, and then
// the conversation is there again and goes on. Killed again at once, it waits longer; and the person need not wait. Shows S-014.
import { execFileSync } from "node:child_process";
import { check } from "../../checks.mjs";
import { requests, server, until } from "../../stage.mjs";

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

  await kill();
  const told = await until("the status bar to say so", async () => { const item = await editor.item(); return /has stopped/.test(item ?? "") && item; }, 20000).catch(() => editor.item());
  check("the status bar says that it ended and when it comes again", /started again in 2 s/.test(told ?? ""), told);
  await editor.shot("again");
  await editor.command("Countersign: Restart Server");
  await editor.running();
  check("the person need not wait for that", true);
}
