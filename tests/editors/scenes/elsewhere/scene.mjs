// A conversation is open in another editor: it is in the list, and can be read here, in a document that follows what is said there. Nothing can be
// written in it, and no other conversation takes its place.
import { check } from "../../checks.mjs";
import { until } from "../../stage.mjs";
import { otherEditor } from "../../other_editor.mjs";

export async function play(editor) {
  const { page } = editor;
  const other = await otherEditor();
  const thread = await other.start();
  await other.say(thread, "Remember the elderberry");

  await editor.open("cart.py");
  const chat = await editor.openChat();
  await chat.locator("button[aria-label='Conversations']").click();
  const entry = chat.locator(".threads li", { hasText: "elderberry" }).locator(".thread-open").first();
  await until("the list", async () => (await entry.count()) > 0, 20000);
  await entry.click();
  const asked = await until("the message", () => editor.message("Show Read-Only"), 20000);
  check("who opens it hears where it is", asked.text.includes("open in another window or editor"), asked);
  await asked.press();
  const lines = page.locator(".editor-instance .view-lines").last();
  const shows = (words) => until(`“${words}”`, async () => (await lines.innerText()).replaceAll("\u00a0", " ").includes(words), 20000).catch(() => false);
  check("it can be read", await shows("I keep it in mind."), await lines.innerText());
  await editor.shot("read");
  await other.say(thread, "and the quince");
  check("and follows what is said there", await shows("That one, too."), await lines.innerText());
  await lines.click();
  await page.keyboard.insertText("mine");
  check("nothing can be written in it", !(await lines.innerText()).includes("mine"));
  check("no other conversation has taken its place", !(await chat.locator(".row").first().isVisible()));
  other.stop();
}
