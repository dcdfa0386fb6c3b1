// A conversation in the chat view: mentions, reasoning, plan, a command that asks, a question, a proposal; what the model wrote does no
// harm; another turn is stopped; and all of it is there again after the window was loaded anew. Shows S-014, S-106, S-127, S-322, S-326, S-427.
import { check, equal } from "../../checks.mjs";
import { before, onDisk, requests, until } from "../../stage.mjs";

export async function play(editor) {
  await editor.open("cart.py");
  const chat = await editor.openChat();
  await editor.shot("empty");
  const text = chat.locator(".composer textarea");
  equal("the chat takes the focus that it was given", await until("the focus", () => chat.evaluate(() => document.activeElement?.tagName === "TEXTAREA"), 10000).catch(() => false), true);

  await text.pressSequentially("In @cart");
  const offer = chat.locator(".offers li", { hasText: "cart.py" }).first();
  await until("the offered files", () => offer.isVisible());
  await text.press("Tab");
  check("a mention is completed", /^In @\S*cart\.py $/.test(await text.inputValue()), await text.inputValue());
  await text.pressSequentially("what is wrong?");
  await text.press("Enter");

  const run = chat.locator(".question.open button", { hasText: "Allow Once" });
  await until("the question about the command", () => run.isVisible(), 60000);
  check("the command is shown as it is", (await chat.locator(".question.open .terminal").innerText()).includes("python3 -m unittest -q"));
  check("and where it would run", /sandbox|outside/.test(await chat.locator(".question.open").innerText()), await chat.locator(".question.open").innerText());
  check("no message asks the same", !(await editor.message("Allow Once")));
  check("the question leaves the focus to the composer", await chat.evaluate(() => document.activeElement?.tagName === "TEXTAREA"));
  await editor.shot("question");
  await run.click();

  const cents = chat.locator(".question.open .choice", { hasText: "Cents" });
  await until("the model's question", () => cents.isVisible(), 60000);
  await cents.locator("input").check();
  await chat.locator(".question.open button", { hasText: /^Answer$/ }).click();

  const accept = chat.locator(".proposal.waits button", { hasText: "Accept all" });
  await until("the proposal", () => accept.isVisible(), 60000);
  equal("nothing has changed yet", onDisk("prices.py"), before("prices.py"));
  await editor.theme("light");
  await editor.shot("proposal-light");
  await editor.theme("contrast");
  await editor.shot("proposal-contrast");
  await editor.theme("dark");
  await editor.shot("proposal-dark");
  await accept.click();
  await until("the change on disk", () => onDisk("prices.py").includes("50")).catch(() => undefined);
  check("what was accepted is on disk", onDisk("prices.py").includes("50"), onDisk("prices.py"));
  await until("the change in the open file", () => editor.held("cart.py").text.includes("return total"), 10000).catch(() => undefined);
  check("and in the open file", editor.held("cart.py").text.includes("return total"), editor.held("cart.py").text);

  const answer = chat.locator(".row-agentMessage", { hasText: "Fine." });
  await until("the answer", async () => (await answer.locator("table td").count()) === 4, 60000);
  await until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);
  equal("no element is made of what the model wrote as HTML", await answer.locator("script, img, iframe").count(), 0);
  check("it is shown as text", (await answer.innerText()).includes("<script>"), await answer.innerText());
  equal("a script is no link", await answer.locator("a", { hasText: "press" }).count(), 0);
  equal("a page of the web is one", await answer.locator("a", { hasText: "here" }).count(), 1);
  check("code has its colours and its buttons", (await answer.locator("figure .tok-keyword").count()) > 0 && (await answer.locator("figure button", { hasText: "Copy" }).isVisible()));
  check("the plan has its ticks", (await chat.locator(".step").count()) >= 3 || (await chat.locator(".row-plan").count()) === 0);
  check("the model was told the editor's problems", JSON.stringify(requests()).includes("undefined name 'totl'"));
  await editor.shot("answer-dark");
  await editor.theme("light");
  await editor.shot("answer-light");
  await editor.theme("dark");

  await editor.say(chat, "and now slowly");
  const stop = chat.locator("button.stop");
  await until("the way to stop it", () => stop.isVisible());
  await until("the first words", () => chat.locator(".row-agentMessage", { hasText: "One." }).isVisible());
  await text.press("Escape");
  await until("the turn to stop", async () => !(await stop.isVisible()), 30000);
  check("it says that the person stopped it", await until("the words", () => chat.locator(".row-note", { hasText: "You stopped this turn" }).isVisible(), 10000).catch(() => false));

  await text.press("ArrowUp");
  equal("the arrow key brings back what was written", await text.inputValue(), "and now slowly");
  await text.fill("a draft");

  await editor.reload();
  const again = await editor.frame();
  check("after a reload the conversation is there again", await until("the conversation", () => again.locator(".row-note", { hasText: "You stopped this turn" }).isVisible(), 60000).catch(() => false), await again.locator("body").innerText());
  check("and so is the draft", await until("the draft", async () => (await again.locator(".composer textarea").inputValue()) === "a draft", 20000).catch(() => false), await again.locator(".composer textarea").inputValue());

  const box = again.locator(".composer textarea");
  await box.fill("");
  await box.press("ArrowUp");
  equal("what was written is kept", await until("the words", async () => (await box.inputValue()) === "and now slowly" && "and now slowly", 10000).catch(() => box.inputValue()), "and now slowly");
  await box.press("ArrowUp");
  check("and goes back from the last", /what is wrong\?$/.test(await box.inputValue()), await box.inputValue());
  await box.fill("");

  await again.locator("header button[aria-label='Conversations']").click();
  const entry = again.locator(".thread").first();
  await until("the list of conversations", () => entry.isVisible());
  check("it is listed with its first words", (await entry.innerText()).includes("what is wrong?"), await entry.innerText());
  await editor.shot("threads");
  await entry.hover();
  await entry.locator("button[aria-label='Rename']").click();
  const input = editor.page.locator(".quick-input-widget:not([style*='display: none']) input.input").first();
  await input.waitFor();
  await input.fill("The cart");
  await input.press("Enter");
  check("it can be given a name", await until("the name", async () => (await entry.innerText()).includes("The cart"), 10000).catch(() => false), await entry.innerText());
  await again.locator(".thread-search input").fill("nothing of this kind");
  check("a search that finds nothing says so", await until("the words", () => again.locator(".threads .empty").isVisible(), 10000).catch(() => false));
  await again.locator(".thread-search input").fill("cart");
  await until("the found conversation", () => entry.isVisible(), 10000);
  await again.locator(".thread-open").first().click();
  await until("the conversation", () => again.locator(".row-agentMessage").first().isVisible(), 10000);

  await editor.command("Countersign: Open Chat in an Editor Tab");
  const wide = await until("the chat in a tab", async () => {
    for (const frame of editor.page.frames()) {
      if (frame !== again && (await frame.locator(".row-note", { hasText: "You stopped this turn" }).isVisible().catch(() => false))) return frame;
    }
    return undefined;
  }, 60000);
  check("the same conversation stands in an editor tab", true);
  await until("its beginning", async () => {
    // While its rows come, the page keeps its end in view.
    await wide.locator(".rows-scroll").evaluate((box) => (box.scrollTop = 0));
    return wide.locator(".row-userMessage", { hasText: "what is wrong?" }).first().isVisible();
  });
  await wide.locator(".rows-scroll").evaluate((box) => (box.scrollTop = 320));
  await editor.shot("tab-dark");
  await editor.theme("light");
  await editor.shot("tab-light");
}
