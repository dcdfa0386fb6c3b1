// No chat is open: messages ask. One is closed, which answers nothing: the question waits in the chat, one click from the status bar. The
// other is answered; a command that is too long for a message is read in the chat first. None takes the focus. Shows S-116, S-128.
import { check, equal } from "../../checks.mjs";
import { chooseFix } from "../../person.mjs";
import { requests, sleep, toldOf, until } from "../../stage.mjs";

export async function play(editor) {
  const { page, workbench } = editor;
  await editor.open("cart.py");
  await page.waitForSelector(".squiggly-error", { timeout: 60000 });
  await workbench.goTo(13, 12);
  await chooseFix({ shot: (name) => editor.shot(name), choose: (title) => workbench.chooseAction(title) }, () => workbench.codeActions());

  const asked = await until("the question about the command", () => editor.message("Allow Once"), 60000);
  check("it shows the command and where it would run", asked.text.includes("python3 -m unittest -q") && /sandbox/.test(asked.text), asked);
  check("it offers a yes, a no and the rest", ["Allow Once", "Deny", "More…"].every((name) => asked.buttons.includes(name)), asked.buttons);
  equal("the focus stays in the editor", await until("the focus", async () => (await workbench.focus()) === "editor" && "editor", 5000).catch(() => workbench.focus()), "editor");
  await sleep(1000);
  await editor.shot("message");
  const toast = page.locator(".notification-toast", { hasText: "unittest" }).first();
  await toast.hover();
  const asked_ = requests().length;
  await toast.locator(".codicon-notifications-clear, .codicon-close").first().click();
  await sleep(1000);
  check("a closed message answers nothing", requests().length === asked_ && !(await editor.message("Allow Once")), toldOf("tests"));
  const item = page.locator(".statusbar-item", { hasText: "1 waiting" }).first();
  await until("the status bar", () => item.isVisible(), 10000);
  await item.click();
  const there = await editor.frame();
  const deny = there.locator(".question.open button", { hasText: "Deny" }).first();
  await until("the question in the chat", () => deny.isVisible(), 30000);
  await editor.shot("put-off");
  await deny.click();
  await editor.command("View: Toggle Primary Side Bar Visibility");

  const second = await until("the model's question", () => editor.message("Cents"), 60000);
  check("the no of the chat counts", /rejected this command; it was not run/.test(toldOf("tests") ?? ""), toldOf("tests"));
  check("choices are buttons", ["Cents", "Euros"].every((name) => second.buttons.includes(name)), second);
  await second.press();
  await until("the answer to reach the model", () => /Cents/.test(toldOf("unit") ?? ""), 30000);
  check("the answer reaches the model", true);

  const long = await until("the question about the long command", () => editor.message("Read It in the Chat…"), 60000);
  check("what cannot be read to its end cannot be agreed to", !long.buttons.includes("Allow Once") && long.buttons.includes("Deny"), long);
  await editor.shot("long");
  await long.press();
  const chat = await editor.frame();
  const run = chat.locator(".question.open button", { hasText: "Allow Once" });
  await until("the question in the chat", () => run.isVisible(), 30000);
  check("before it is read to its end there is no yes", await run.isDisabled());
  await editor.shot("unread");
  // The row may be drawn again while the conversation is loaded.
  await until("its end to be read", async () => {
    await chat.locator(".question.open .terminal").evaluate((one) => (one.scrollTop = one.scrollHeight));
    return run.isEnabled();
  }, 30000);
  check("the chat shows all of it", (await chat.locator(".question.open .terminal").textContent()).trimEnd().endsWith("echo the-end'"));
  await run.click();
  await chat.locator("header button[aria-label='Conversations']").click();
  await chat.locator(".thread-open").first().click();
  check("what a code action began can be read in the chat", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Cents it is." }).isVisible(), 30000).catch(() => false), await chat.locator("body").innerText());
  await chat.locator(".rows-scroll").evaluate((box) => (box.scrollTop = 0));
  check("with what was decided", await until("the question", () => chat.locator(".row-commandExecution .status-declined", { hasText: "denied" }).first().isVisible(), 10000).catch(() => false));
  await editor.shot("chat");
}
