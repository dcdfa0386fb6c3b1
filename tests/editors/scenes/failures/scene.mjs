// How full the context window is and what is left of the allowance is shown; and each error has what helps: a conversation that is too long
// is summed up, an allowance that is used up says until when and offers another model, which is asked then, a broken connection can be tried again. Shows S-352.
import { check, equal } from "../../checks.mjs";
import { requests, until } from "../../stage.mjs";

export const wants = {
  // These belong to the provider's table, which is the last one.
  config: "request_max_retries = 0\nstream_max_retries = 0\n[models.rehearsal.price]\ninput = 2.5\noutput = 10\n",
  settings: { "countersign.model_context_window": 100000 },
};

export async function play(editor) {
  await editor.open("cart.py");
  const chat = await editor.openChat();
  const over = () => until("the end of the turn", async () => !(await chat.locator(".activity").isVisible()), 30000);
  await editor.say(chat, "how much is left?");
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Plenty is left." }).isVisible(), 60000);
  await over();
  const meters = chat.locator(".meter");
  const label = async (name) => (await meters.filter({ hasText: name }).getAttribute("aria-label")) ?? "";
  await until("the meters", async () => (await meters.count()) === 3, 10000).catch(() => undefined);
  check("how full the context window is, is shown", /^Context 2[0-9] %$/.test(await meters.first().innerText()) && /24\.0k|25\.0k/.test(await label("Context")), [await meters.allInnerTexts(), await label("Context")]);
  check("and what of each allowance is used, by its length", /^5 hours 42 %$/.test(await meters.nth(1).innerText()) && /^week 91 %$/.test(await meters.nth(2).innerText()), await meters.allInnerTexts());
  check("and when it resets", /Allowance of 5 hours: 42 % used, resets /.test(await label("5 hours")), await label("5 hours"));
  const cost = chat.locator(".meters .cost");
  check("what the conversation has cost is shown", (await cost.innerText()) === "$0.07" && /about \$0\.07, estimated from the prices of tokens/.test((await cost.getAttribute("aria-label")) ?? ""), await chat.locator(".meters").innerText());
  equal("an allowance that is nearly used up stands out", await chat.locator(".bar.full").count(), 1);
  const item = await until("the status bar", async () => { const found = await editor.item(); return /week: 9 % left/.test(found ?? "") && found; }, 20000).catch(() => editor.item());
  check("the status bar says so, too", /context 25%/.test(item ?? "") && /Allowance of 5 hours: 58 % left/.test(item ?? "") && /Allowance of 1 week: 9 % left/.test(item ?? "") && /has cost about \$0\.07/.test(item ?? ""), item);
  await chat.locator(".context-meter").click();
  const parts = chat.locator(".context-parts li");
  check("what fills the window is shown part by part", await until("the parts", async () => (await parts.count()) >= 4 && parts, 10000).then(() => true, () => false), await chat.locator("body").innerText());
  const card = await chat.locator(".notice .context").innerText().catch(() => "");
  check("with the window, the model and where it is compacted", /25\.0k of 100k tokens · .+ · compacted at 90\.0k/.test(card.replace(/24\.\dk/, "25.0k")) && /Tools \(\d+\)/.test(card) && /Your messages/.test(card) && /The parts are estimates\./.test(card), card);
  await editor.shot("context-dark");
  await editor.theme("light");
  await editor.shot("meters-light");
  const counted = async () => (await chat.locator(".context-parts li", { hasText: "Your messages" }).innerText()).replace(/\s+/g, " ");
  const before = await counted();
  await editor.theme("dark");

  const error = chat.locator(".row-error").last();
  const button = (text) => error.locator("button", { hasText: text });
  await editor.say(chat, "read all of it");
  check("as long as it is in view it goes along with the conversation", await until("the next count", async () => (await counted()) !== before && /\(2\)/.test(await counted()), 60000).then(() => true, () => false), [before, await counted()]);
  await chat.locator(".notice button[aria-label='Close']").click();
  const sumUp = button("Compact Conversation");
  check("a conversation that is too long can be summed up", await until("the button", () => sumUp.isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  check("no message says the same over again", (await editor.page.locator(".notification-toast").count()) === 0, await editor.page.locator(".notification-toast").allInnerTexts());
  await editor.shot("too-long");
  // The server has tried that once by itself.
  const summed = chat.locator(".row-contextCompaction", { hasText: "Compacted conversation" });
  equal("which was done once already", await summed.count(), 1);
  await sumUp.click();
  check("and is", await until("the summary", async () => (await summed.count()) === 2, 60000).catch(() => false), await chat.locator("body").innerText());
  await over();

  await editor.say(chat, "and more");
  await until("the error", async () => (await chat.locator(".row-error").count()) === 2 && (await button("Choose another model").isVisible()), 60000);
  check("an allowance that is used up says until when", /Retry after/.test(await error.innerText()), await error.innerText());
  await editor.shot("used-up-dark");
  await editor.theme("light");
  await editor.shot("used-up-light");
  await editor.theme("contrast");
  await editor.shot("used-up-contrast");
  await editor.theme("dark");
  await button("Choose another model").click();
  equal("and leads to the models", await until("the focus", () => chat.evaluate(() => document.activeElement?.getAttribute("aria-label") === "Model"), 10000).catch(() => false), true);
  await editor.page.keyboard.press("Escape");
  const model = chat.locator(".composer select[aria-label='Model']");
  await model.selectOption({ label: "rehearsal-mini" });
  await button("Try again").click();
  check("another one can be asked instead", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "The smaller one answers." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  await over();
  equal("which is the one that was picked", requests().at(-1).body.model, "rehearsal-mini");
  equal("the same message is sent, and stands there once", await chat.locator(".row-userMessage", { hasText: "and more" }).count(), 1);
  equal("what failed makes way", await chat.locator(".row-error").count(), 1);
  check("and it stays", (await model.locator("option:checked").innerText()) === "rehearsal-mini", await model.locator("option:checked").innerText());

  await editor.say(chat, "once again");
  await until("the broken connection", async () => (await chat.locator(".row-error").count()) === 2 && (await button("Try again").isVisible()), 60000);
  await editor.shot("broken");
  await button("Try again").click();
  check("a broken connection can be tried again", await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "There I am again." }).isVisible(), 60000).catch(() => false), await chat.locator("body").innerText());
  await over();

  await editor.command("Countersign: Account and Usage");
  const list = editor.page.locator(".quick-input-widget:not([style*='display: none'])").first();
  check("the account says what is left", await until("the account", async () => /Allowance of 1 week: 9 % left/.test(await list.innerText()), 20000).catch(() => false), await list.innerText().catch(String));
  await editor.shot("account-dark");
  await editor.page.keyboard.press("Escape");
  await editor.theme("light");
  await editor.command("Countersign: Account and Usage");
  await until("the account", async () => /week/.test(await list.innerText()), 20000);
  await editor.shot("account-light");
  await editor.page.keyboard.press("Escape");
}
