// A change over three files: it is counted at the view's icon, leaves the chat its room, is marked in high contrast, and is shown in one editor.
// One file is accepted and all others are rejected: the chat says of each what became of it, also after the window was reloaded.
import { check, equal } from "../../checks.mjs";
import { before, isOnDisk, onDisk, toldOf, until } from "../../stage.mjs";

export async function play(editor) {
  const { page } = editor;
  await editor.open("cart.py");
  let chat = await editor.openChat();
  await editor.say(chat, "price all");
  const waits = chat.locator(".proposal.waits");
  await until("the proposal", () => waits.locator("button", { hasText: "Accept all" }).isVisible(), 60000);

  const badge = page.locator(".activitybar .action-item", { has: page.locator("[aria-label^='Countersign']") }).locator(".badge-content");
  check("the changes that wait are counted at the view's icon", await until("the count", async () => (await badge.allInnerTexts()).includes("3"), 10000).catch(() => false), await badge.allInnerTexts());
  const room = () => chat.evaluate(() => ({ page: window.innerHeight, list: document.querySelector(".list-box").clientHeight }));
  const wide = await room();
  check("the list of changes leaves the chat most of the side bar", wide.page > 500, wide);
  await editor.shot("wide");
  // As large as the window is at 150 %.
  await page.setViewportSize({ width: 933, height: 600 });
  const small = await until("the smaller chat", async () => { const now = await room(); return now.page < wide.page && now; }, 10000).catch(room);
  check("at 150 % the conversation can be read", small.list >= 150, small);
  check("and written to", await chat.locator(".composer textarea").isVisible());
  await editor.shot("zoomed");
  await page.setViewportSize({ width: 1400, height: 900 });

  await editor.theme("contrast");
  const outline = (kind) => chat.locator(`.diff-${kind}`).first().evaluate((line) => getComputedStyle(line).outlineStyle);
  check("high contrast marks what comes and what goes, each in its own way", (await outline("added")) === "solid" && (await outline("removed")) === "dashed", [await outline("added"), await outline("removed")]);
  await editor.shot("contrast");
  await editor.theme("dark");

  await waits.locator("button", { hasText: "Review all files" }).click();
  const all = page.locator(".tab", { hasText: "Proposed Changes" }).first();
  check("all files are shown in one editor", await until("the editor", () => all.isVisible(), 20000).catch(() => false));
  await until("its diffs", async () => (await page.locator(".monaco-diff-editor, .multiDiffEntry").count()) >= 2, 20000).catch(() => undefined);
  await editor.shot("all");

  await waits.locator("button[aria-label^='Accept /'][aria-label$='cart.py']").click();
  const cart = waits.locator("details.file", { has: chat.locator(".file-name", { hasText: "cart.py" }) });
  check("a file is accepted in the chat, which says what that waits for, if for anything", await until("the decision", async () => /accepted, applied when 2 more are decided|· applied/.test(await cart.innerText()), 20000).catch(() => false), await waits.innerText());
  await editor.shot("one-accepted");
  await waits.locator("button", { hasText: "Reject all" }).click();
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "Only the tax, then." }).isVisible(), 60000);
  check("what was accepted is made", await until("the change", () => onDisk("cart.py").includes("VAT = 7"), 20000).catch(() => false), onDisk("cart.py"));
  equal("what was rejected is not", onDisk("prices.py"), before("prices.py"));
  check("nor is the new file", !isOnDisk("NOTES.md"));

  const settled = async (where) => {
    const row = chat.locator(".row-fileChange").first();
    const words = await until("the row", async () => { const text = (await row.innerText()).replaceAll(/\s+/g, " "); return text.includes("NOTES.md") && text; }, 20000).catch(() => "");
    check(`${where} the row says that one of three was applied`, /applied 1 of 3|applied in part/.test(words), words);
    check(`${where} it counts the lines of that one alone`, /cart\.py[^+]*\+1 −1/.test(words) && (words.match(/\+\d/g) ?? []).length === 1, words);
    check(`${where} the others stand there as rejected`, (words.match(/rejected/g) ?? []).length === 2 && !/\bpending\b/.test(words), words);
    await editor.shot(`settled-${where.replaceAll(" ", "-")}`);
  };
  await settled("at once");
  check("the model is told of each", /rejected/.test(toldOf("patch") ?? ""), toldOf("patch"));
  await editor.reload();
  await editor.running();
  chat = await editor.openChat();
  await until("the conversation again", () => chat.locator(".row-fileChange").first().isVisible(), 30000);
  await settled("after a reload");
}
