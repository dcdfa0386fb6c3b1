// The person follows the agent: what it reads is shown beside. Their own editor, their cursor and what they type stay where they are, and a group of
// editors that they have gone to is theirs.
import { check, equal } from "../../checks.mjs";
import { sleep, until } from "../../stage.mjs";

export const wants = { userSettings: { "countersign.followAgent": true } };

export async function play(editor) {
  const { page, workbench } = editor;
  await editor.open("cart.py");
  const chat = await editor.openChat();
  const groups = () => page.locator(".editor-group-container").evaluateAll((all) => all.map((one) => [...one.querySelectorAll(".tab.active")].map((tab) => tab.getAttribute("data-resource-name")).join()));
  const answered = (words) => until("the answer", () => chat.locator(".row-agentMessage", { hasText: words }).isVisible(), 60000);

  await editor.say(chat, "look at the prices");
  check("a file that is read is shown beside", await until("the file", async () => (await groups()).join("|") === "cart.py|prices.py", 30000).catch(() => false), await groups());
  await answered("They are in euros.");
  await page.keyboard.insertText("mine");
  equal("the words still go where they went", await chat.locator(".composer textarea").inputValue(), "mine");
  equal("and none into a file", editor.held("prices.py").dirty, false);
  await editor.shot("beside");

  // Who goes there reads in peace.
  await page.locator(".editor-group-container").nth(1).locator(".view-line").first().click();
  await chat.locator(".composer textarea").fill("and the cart");
  await chat.locator(".composer textarea").press("Enter");
  await answered("It has a total.");
  await sleep(1500);
  equal("a group that the person is in is theirs", (await groups()).join("|"), "cart.py|prices.py");
}
