// What can be done with the composer: messages that wait are moved, changed and taken out; a stopped turn pauses them; a command of the
// person's own; a picture from the clipboard; calls, the person's own prompts among them; the mode and the model. Shows S-020, S-264, S-265, S-269, S-330, S-362.
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { home, requests, until } from "../../stage.mjs";

/** A red dot. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==";

export const wants = {
  prepare() {
    fs.mkdirSync(path.join(home, "prompts"));
    fs.writeFileSync(path.join(home, "prompts", "tidy.md"), "---\ndescription: Tidies a file up\nargument-hint: FILE\n---\nTidy $1 up, and nothing else.\n");
  },
};

export async function play(editor) {
  await editor.open("cart.py");
  const chat = await editor.openChat();
  const text = chat.locator(".composer textarea");
  await editor.say(chat, "begin");
  await until("the first words", () => chat.locator(".row-agentMessage", { hasText: "I begin." }).isVisible(), 60000);

  for (const later of ["the first", "the second", "the third"]) {
    await text.fill(later);
    await text.press("Alt+Enter");
    await until(`${later} in the queue`, () => chat.locator(".queued", { hasText: later }).isVisible(), 20000);
  }
  const queued = chat.locator(".queued");
  equal("messages wait for their turns", await queued.count(), 3);
  await queued.nth(1).locator("button[aria-label='Earlier']").click();
  check("one can be moved", await until("the order", async () => (await queued.first().innerText()).includes("the second"), 10000).catch(() => false), await queued.allInnerTexts());
  await queued.first().locator("button[aria-label='Edit']").click();
  await queued.first().locator("textarea").fill("the second, made better");
  await queued.first().locator("textarea").press("Enter");
  check("and changed", await until("the words", async () => (await queued.first().innerText()).includes("made better"), 10000).catch(() => false), await queued.allInnerTexts());
  for (const out of ["the first", "the third"]) {
    await queued.filter({ hasText: out }).locator("button[aria-label='Remove']").click();
    await until(`${out} to go`, async () => (await queued.filter({ hasText: out }).count()) === 0, 10000);
  }
  equal("and taken out", await queued.count(), 1);
  await editor.shot("queue");

  await text.press("Escape");
  const goOn = chat.locator(".queue button", { hasText: "Resume" });
  check("a stopped turn pauses what waits", await until("the way on", () => goOn.isVisible(), 30000).catch(() => false));
  await goOn.click();
  check("and it goes on when told to", await until("the second turn", () => chat.locator(".row-agentMessage", { hasText: "That was the second." }).isVisible(), 60000).catch(() => false));
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);

  const asked = requests().length;
  await editor.say(chat, "!echo from-the-$((40 + 2))");
  const command = chat.locator(".row-commandExecution", { hasText: "your shell" });
  check("a command of the person's own runs in their shell", await until("its output", async () => (await command.locator(".terminal").innerText()).includes("from-the-42"), 30000).catch(() => false));
  await until("the end of the command", async () => !(await chat.locator(".activity").isVisible()), 30000);
  equal("without the model", requests().length, asked);

  await text.evaluate((box, png) => {
    const bytes = Uint8Array.from(atob(png), (sign) => sign.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "dot.png", { type: "image/png" }));
    box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, PNG);
  await until("the picture", () => chat.locator(".picture img").isVisible(), 10000);
  check("a picture can be pasted", true);
  await chat.locator(".composer select[aria-label='Mode']").selectOption("ask");
  await editor.say(chat, "look at this");
  check("and is sent along", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "A red dot." }).isVisible(), 60000).catch(() => false));
  check("which is told nothing of that command", !JSON.stringify(requests().at(-1).body.input).includes("from-the-"));
  check("as it was", JSON.stringify(requests().at(-1).body.input).includes(PNG.slice(0, 60)));
  equal("the picture has left the composer", await chat.locator(".picture").count(), 0);
  equal("the mode that was chosen stays", await chat.locator(".composer select[aria-label='Mode']").inputValue(), "ask");

  await text.fill("/ti");
  const prompt = chat.locator(".offers li", { hasText: "/tidy" });
  check("a prompt of the person's is offered with what it says of itself", (await until("the prompt", () => prompt.isVisible(), 10000).catch(() => false)) && /FILE[^]*Tidies a file up/.test(await prompt.innerText()), await chat.locator(".offers").innerText());
  await text.fill("/tidy cart.py");
  await text.press("Enter");
  check("and called", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Tidy now." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  check("with its text in its place", JSON.stringify(requests().at(-1).body.input).includes("Tidy cart.py up, and nothing else."), requests().at(-1).body.input.at(-1));
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);
  check("the models can be picked from", (await chat.locator(".composer select[aria-label='Model'] option").count()) > 0);

  await text.fill("/co");
  const offer = chat.locator(".offers li", { hasText: "/compact" });
  check("a call is offered", await until("the offer", () => offer.isVisible(), 10000).catch(() => false));
  await text.press("Tab");
  equal("and completed", await text.inputValue(), "/compact ");
  await text.fill("/new");
  await text.press("Enter");
  check("a call is carried out", await until("a new conversation", () => chat.locator(".empty h2").isVisible(), 10000).catch(() => false));
  await editor.shot("new");
}
