// What a command changes by itself stands in the chat right after it, file by file with its lines, and is undone there: one file, then all
// that is left. It is there again after the window was reloaded.
import { check, equal } from "../../checks.mjs";
import { before, isOnDisk, onDisk, until } from "../../stage.mjs";

export async function play(editor) {
  await editor.open("cart.py");
  const chat = await editor.openChat();
  check("the chat promises no more than holds", /patches wait.*commands change/s.test(await chat.locator("body").innerText()), await chat.locator("body").innerText());
  await editor.say(chat, "tidy the shop");
  const run = chat.locator(".question.open button", { hasText: "Allow Once" });
  const row = (page) => page.locator(".row-commandChanges");
  await until("the question about the command", () => run.isVisible(), 60000);
  await run.click();
  await until("what it changed", () => row(chat).isVisible(), 60000);
  await until("the answer", () => chat.locator(".row-agentMessage", { hasText: "The shop is tidy." }).isVisible(), 60000);
  const title = (await row(chat).locator(".title").innerText()).replaceAll(/\s+/g, " ");
  check("it says how much", /Changed by a command 5 files \+4 −\d+ Keep Undo/.test(title), title);
  const files = await row(chat).locator("details.file > summary").allInnerTexts();
  const lines = files.map((text) => text.replaceAll(/\s+/g, " ").trim());
  check("a file that was moved is one", lines.some((line) => /^README\.md → NOTES\.md Undo$/.test(line)), lines);
  check("two of one name are told apart", lines.some((line) => /^api\.py a new \+1 −0/.test(line)) && lines.some((line) => /^api\.py b new \+2 −0/.test(line)), lines);
  check("one that is gone says so", lines.some((line) => /^test_cart\.py deleted \+0 −\d+/.test(line)), lines);
  const prices = row(chat).locator("details.file", { hasText: "prices.py" });
  await prices.locator("summary").click({ position: { x: 3, y: 5 } });
  await until("its lines", () => prices.locator(".diff-added").isVisible());
  check("the lines are there", (await prices.locator(".diff-added").innerText()).includes("0.55"), await prices.innerText());
  await editor.theme("light");
  await editor.shot("changed-light");
  await editor.theme("contrast");
  await editor.shot("changed-contrast");
  await editor.theme("dark");
  await editor.shot("changed-dark");

  await prices.locator("button", { hasText: "Undo" }).click();
  await until("the price of before", () => onDisk("prices.py") === before("prices.py"), 30000);
  check("the rest stays", isOnDisk("NOTES.md") && isOnDisk("a/api.py") && !isOnDisk("test_cart.py"));
  await until("what is undone says so", async () => /undone/.test(await prices.locator("summary").innerText()), 20000);
  check("the others can still be", (await row(chat).locator("details.file button", { hasText: "Undo" }).count()) === 4);

  await editor.reload();
  const again = await editor.openChat();
  await until("the row after a reload", () => row(again).isVisible(), 60000);
  check("what is undone still says so", /undone/.test(await row(again).locator("details.file", { hasText: "prices.py" }).locator("summary").innerText()), await row(again).innerText());
  await row(again).locator(".title button", { hasText: "Undo" }).click();
  await until("all as before", () => isOnDisk("README.md") && isOnDisk("test_cart.py") && !isOnDisk("a") && !isOnDisk("b"), 30000);
  for (const name of ["prices.py", "README.md", "test_cart.py"]) equal(`${name} is as before`, onDisk(name), before(name));
  await until("the title says it", async () => /undone/.test(await row(again).locator(".title").innerText()), 20000);
  check("and offers nothing more", (await row(again).locator("button", { hasText: /^(Undo|Keep)$/ }).count()) === 0, await row(again).innerText());
  const undo = again.locator(".row-undo").last();
  // The end of its turn draws it again.
  await until("its words", async () => {
    if (!/Restored/.test(await undo.innerText())) await undo.locator("summary").click();
    return /Restored/.test(await undo.innerText());
  }, 20000);
  const undid = (await undo.innerText()).replaceAll(/\s+/g, " ");
  check("the undo says what it did to each", /Undo done NOTES\.md, README\.md and 3 more Restored 2 files\. Removed 3 new files\./.test(undid) && /api\.py a removed/.test(undid) && /README\.md restored/.test(undid), undid);
  await editor.shot("undone");
  // What asks first is chosen beside the mode, and holds from the next message on: here the change is made at once, and so is the command run.
  await again.locator(".composer select[aria-label='Approvals']").selectOption({ label: "Accept edits" });
  await editor.say(again, "lower the tax");
  await until("the last answer", () => again.locator(".row-agentMessage", { hasText: "The tax is lower now." }).isVisible(), 60000);
  check("an accepted edit is made unasked", onDisk("cart.py").includes("VAT = 7"), onDisk("cart.py"));
  equal("nothing was asked", await again.locator(".row-question").filter({ hasText: /./ }).count(), 0);
  const counted = again.locator(".row-commandExecution").last();
  equal("the script is shown, without the shell around it", await counted.locator(".command-line").innerText(), "seq 30000");
  await counted.locator("summary").click();
  const output = await counted.locator(".terminal").textContent();
  check("a long output begins with its first line, and how much is missing is said once", /^1\n2\n/.test(output) && /\n\[… 29601 lines are not shown here …\]\n/.test(output) && /\n30000\n$/.test(output) && !output.includes("cut out"), output.slice(0, 800));
  await editor.shot("long-output");
  await counted.locator("button", { hasText: "Open Full Output" }).click();
  const tab = editor.page.locator(".tab", { hasText: "seq 30000.txt" });
  check("all of it can be opened", await until("the tab", () => tab.isVisible(), 20000).catch(() => false));
  const lines_ = editor.page.locator(".editor-instance .view-line");
  check("from its first line on", await until("its lines", async () => (await lines_.first().innerText()).trim() === "1", 20000).catch(() => false), await lines_.first().innerText().catch(String));
  await editor.page.keyboard.press("Control+End");
  check("to its last", await until("its end", async () => (await lines_.allInnerTexts()).some((line) => line.trim() === "30000"), 20000).catch(() => false));
}
