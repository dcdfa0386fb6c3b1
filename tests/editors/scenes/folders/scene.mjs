// A window with two folders: a new conversation asks in which of them it is to work, where no file is in view; who closes that
// question has sent nothing. Files of all folders are found. Shows S-366.
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { requests, sleep, state, until } from "../../stage.mjs";

const depot = path.join(state, "depot");

export const wants = {
  folders: [depot],
  prepare() {
    fs.mkdirSync(depot);
    fs.writeFileSync(path.join(depot, "only-in-the-depot.txt"), "pears\n");
  },
};

export async function play(editor) {
  const { page } = editor;
  await editor.running();
  const chat = await editor.openChat();
  const empty = chat.locator(".empty");
  const named = () => until("the folders", async () => (await empty.innerText()).includes("shop or depot"), 10000).catch(() => false);
  check("the chat says in which folders the agent can work", await named(), await empty.innerText());
  const input = page.locator(".quick-input-widget:not([style*='display: none'])").first();
  const asked = async () => {
    await until("the question for the folder", async () => (await input.innerText().catch(() => "")).includes("depot"), 30000);
    // It comes into view by and by.
    await sleep(500);
  };
  await editor.theme("dark");
  await editor.say(chat, "where are you?");
  await asked();
  await editor.shot("folders-dark");
  await page.keyboard.press("Escape");
  const text = chat.locator(".composer textarea");
  check("who chooses none has sent nothing", await until("the words", async () => (await text.inputValue()) === "where are you?", 10000).catch(() => false), await text.inputValue());
  equal("to nobody", requests().length, 0);
  await editor.theme("light");
  await text.press("Enter");
  await asked();
  await editor.shot("folders-light");
  await input.locator("input.input").fill("depot");
  await page.keyboard.press("Enter");
  const run = chat.locator(".question.open button", { hasText: "Allow Once" });
  await until("the command or the answer", async () => (await run.isVisible()) || (await chat.locator(".row-agentMessage", { hasText: "In the depot." }).isVisible()), 60000);
  if (await run.isVisible()) await run.click();
  check("the agent works in the folder that was chosen", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "In the depot." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  check("and the chat says so", (await chat.locator(".meters").innerText()).includes("depot"), await chat.locator(".meters").innerText());
  await text.pressSequentially("@only-in");
  check("files of every folder can be mentioned", await until("the file", () => chat.locator(".offers li", { hasText: "only-in-the-depot.txt" }).first().isVisible(), 20000).catch(() => false), await chat.locator(".offers").innerText());
  await text.fill("");
}
