// An agent works for another, and can be looked at while it does; two conversations run at once, one in the side bar and one in an editor
// tab; one is gone on with in a copy, put away, brought back and deleted. Of two that are opened at once the last
// one is shown, with its own mode and model. Shows S-014, S-410.
import { check, equal } from "../../checks.mjs";
import { release, requests, sleep, until } from "../../stage.mjs";

export async function play(editor) {
  const { page } = editor;
  await editor.open("cart.py");
  const chat = await editor.openChat();
  const idle = (frame) => until("the end of the turn", async () => !(await frame.locator(".activity").isVisible()), 30000);
  const says = (frame, text) => until(`“${text}”`, () => frame.locator(".row-agentMessage", { hasText: text }).isVisible(), 60000).catch(() => false);
  await editor.say(chat, "Ask a scout");
  const scout = chat.locator(".row-collabAgentToolCall button.link", { hasText: "scout" }).first();
  await until("the agent", () => scout.isVisible(), 60000);
  check("what the agent is to do is shown", (await chat.locator(".row-collabAgentToolCall").first().innerText()).includes("find the bug"), await chat.locator(".row-collabAgentToolCall").first().innerText());
  await editor.shot("agent-dark");
  await editor.theme("light");
  await editor.shot("agent-light");
  await editor.theme("dark");
  await scout.click();
  check("the agent can be looked at while it works", await says(chat, "I look through the cart."), await chat.locator("body").innerText());
  await editor.shot("looked-at");
  await chat.locator("header button[aria-label='Conversations']").click();
  const entry = (text) => chat.locator(".thread", { hasText: text }).first();
  await until("the list", () => entry("Ask a scout").isVisible(), 20000);
  check("the list says that it works", /working/.test(await entry("Ask a scout").innerText()), await entry("Ask a scout").innerText());
  await entry("Ask a scout").locator(".thread-open").click();
  await release("scout");
  check("what it found comes back", await until("its message", () => chat.locator(".row-agentMail", { hasText: "line 13" }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  check("and is used", await says(chat, "The scout has found it."), await chat.locator("body").innerText());
  await idle(chat);
  await editor.shot("agent-done");

  // Two at once.
  await chat.locator("header button[aria-label='New conversation']").click();
  await editor.say(chat, "work on the left");
  await says(chat, "Left begins.");
  await editor.command("Countersign: Open Chat in an Editor Tab");
  const tab = await until("the tab", async () => {
    for (const frame of page.frames()) {
      if (frame !== chat && (await frame.locator(".row-agentMessage", { hasText: "Left begins." }).isVisible().catch(() => false))) return frame;
    }
    return undefined;
  }, 60000);
  await tab.locator("header button[aria-label='New conversation']").click();
  await until("an empty conversation", () => tab.locator(".empty h2").isVisible(), 10000);
  await editor.say(tab, "work on the right");
  check("a second conversation runs beside the first", await says(tab, "Right begins."), await tab.locator("body").innerText());
  const item = await until("the status bar", async () => { const found = await editor.item(); return /2 turns/.test(found ?? "") && found; }, 10000).catch(() => editor.item());
  check("the status bar counts them", /2 turns/.test(item ?? ""), item);
  const words = async (frame) => (await frame.locator(".row-agentMessage .markdown").last().innerText()).trim();
  check("what is being written stands there once", (await words(chat)) === "Left begins." && (await words(tab)) === "Right begins.", [await words(chat), await words(tab)]);
  await editor.shot("two-dark");
  await release("right");
  check("each gets its own answer", await says(tab, "Right is done."), await tab.locator("body").innerText());
  check("and no other", (await chat.locator(".row-agentMessage", { hasText: "Right" }).count()) === 0 && (await chat.locator("button.stop").isVisible()), await chat.locator("body").innerText());
  await release("left");
  check("in its own time", await says(chat, "Left is done."), await chat.locator("body").innerText());
  await idle(chat);
  await idle(tab);
  // A tab shows its page in a frame of the whole window: it is closed, so that only one chat is there.
  await page.keyboard.press("Escape");
  await editor.command("View: Close Editor");
  await until("the tab to be closed", async () => !page.frames().includes(tab), 10000);

  await chat.locator("header button[aria-label='Conversations']").click();
  const act = async (text, name) => {
    await until(`“${text}”`, () => entry(text).isVisible(), 20000);
    await entry(text).hover();
    await entry(text).locator(`button[aria-label='${name}']`).click();
  };
  await act("work on the left", "Fork");
  await until("the copy", async () => (await chat.locator(".row-agentMessage", { hasText: "Left is done." }).isVisible()) && !(await chat.locator(".thread-list").isVisible()), 30000);
  equal("its first words go to it", await chat.evaluate(() => document.activeElement?.tagName), "TEXTAREA");
  await editor.say(chat, "in the copy");
  check("one can go on in a copy", await says(chat, "Only in the copy."), await chat.locator("body").innerText());
  check("which knows what was before", JSON.stringify(requests().at(-1).body.input).includes("Left is done."));
  await idle(chat);
  await chat.locator("header button[aria-label='Conversations']").click();
  const listed = () => chat.locator(".thread .thread-title").allInnerTexts();
  const lefts = async () => (await listed()).filter((one) => one.includes("work on the left")).length;
  check("both are in the list", await until("both", async () => (await lefts()) === 2, 20000).catch(() => false), await listed());
  await editor.shot("list-dark");
  await editor.theme("light");
  await entry("work on the right").hover();
  await editor.shot("list-light");
  await editor.theme("dark");

  await act("work on the right", "Archive");
  check("one that is put away leaves the list", await until("it to go", async () => !(await listed()).some((one) => one.includes("work on the right")), 20000).catch(() => false), await listed());
  await chat.locator(".archived input").check();
  check("and is among those put away", await until("it", async () => (await listed()).join() === "work on the right", 20000).catch(() => false), await listed());
  await act("work on the right", "Unarchive");
  check("it can be brought back", await until("it to go", async () => (await listed()).length === 0, 20000).catch(() => false), await listed());
  await chat.locator(".archived input").uncheck();
  await until("it in the list", () => entry("work on the right").isVisible(), 20000);
  await act("work on the right", "Delete");
  await until("the editor's own question", () => page.locator(".monaco-dialog-box", { hasText: "for good" }).isVisible(), 20000);
  await editor.shot("delete");
  await editor.workbench.answerDialog(/^Delete$/);
  check("and deleted for good", await until("it to go", async () => !(await listed()).some((one) => one.includes("work on the right")), 20000).catch(() => false), await listed());
  equal("the others stay", await lefts(), 2);

  // The window is new: nothing is open, and two stored conversations are chosen one right after the other.
  await page.keyboard.press("Escape");
  await editor.reload();
  const again = await editor.frame();
  await editor.running();
  const select = (name) => again.locator(`.composer select[aria-label='${name}']`);
  const opened = async (first, second) => {
    await again.locator("header button[aria-label='New conversation']").click();
    await until("an empty conversation", () => again.locator(".empty h2").isVisible(), 20000);
    await until("the models", async () => (await select("Model").locator("option").count()) > 1, 20000);
    await select("Mode").selectOption("ask");
    await select("Model").selectOption({ label: "rehearsal-mini" });
    await again.locator("header button[aria-label='Conversations']").click();
    await until("the list", async () => (await again.locator(".thread", { hasText: first }).count()) > 0 && (await again.locator(".thread", { hasText: second }).count()) > 0, 20000);
    await again.evaluate((names) => names.forEach((name) => [...document.querySelectorAll(".thread")].findLast((one) => one.innerText.includes(name)).querySelector(".thread-open").click()), [first, second]);
    await until("the conversation", async () => !(await again.locator(".thread-list").isVisible()) && (await again.locator("header .title-button").innerText()).includes(second), 20000).catch(() => undefined);
    await sleep(1000);
    return again.locator("header .title-button").innerText();
  };
  // One twice; then one that has to be read from the disk, and one that is there at once.
  for (const [first, second] of [["Ask a scout", "Ask a scout"], ["work on the left", "Ask a scout"], ["Ask a scout", "work on the left"]]) {
    const title = await opened(first, second);
    check(`of two that are opened at once the last is shown: ${second}, after ${first}`, title.includes(second), title);
  }
  check("what was picked for a new conversation is not carried into a stored one", (await select("Mode").inputValue()) === "agent" && (await select("Model").locator("option:checked").innerText()) === "rehearsal", [await select("Mode").inputValue(), await select("Model").locator("option:checked").innerText()]);
  await editor.say(again, "after the reload");
  check("and what is said goes to the one that is shown", await says(again, "Here I am."), await again.locator("body").innerText());
  const { body } = requests().at(-1);
  check("as it was", JSON.stringify(body.input).includes("Left is done.") && body.model === "rehearsal" && body.tools.some((tool) => tool.name === "apply_patch"), { model: body.model, tools: body.tools.map((tool) => tool.name) });
  await idle(again);
}
