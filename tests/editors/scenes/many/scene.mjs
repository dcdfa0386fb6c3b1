// The page of the chat by itself, with ten thousand items: few of them are drawn, wherever one reads, and while more come. What went well,
// one after the other, is one line.
import { check, equal } from "../../checks.mjs";
import { until } from "../../stage.mjs";
import { conversation, long, openPage } from "../../vscode-chat/page.mjs";

const COUNT = 10000;
/** Far less than one element for each item. */
const MOST_ELEMENTS = 1500;

export async function play(editor) {
  const { page, tell } = await openPage(editor);
  equal("the page says that it is ready", await page.evaluate(() => window.posted[0]?.type), "ready");

  await tell(long(COUNT));

  const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
  const last = page.locator(`[data-key="i${COUNT - 1}"]`);
  await until("the last row", () => last.isVisible());
  check("the end is shown first", true);
  check("few elements are drawn", (await elements()) < MOST_ELEMENTS, await elements());
  equal("a screen reader knows how many there are", await last.getAttribute("aria-setsize"), String(COUNT));

  const scroll = page.locator(".rows-scroll");
  await scroll.evaluate((box) => (box.scrollTop = 0));
  await until("the first row", () => page.locator('[data-key="i0"]').isVisible());
  check("at the beginning, too", (await elements()) < MOST_ELEMENTS, await elements());
  for (const part of [0.2, 0.5, 0.8]) {
    await scroll.evaluate((box, share) => (box.scrollTop = box.scrollHeight * share), part);
    await until("rows in the middle", () => page.evaluate(() => {
      const box = document.querySelector(".rows-scroll").getBoundingClientRect();
      const at = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      return at?.closest("[data-key]") !== null;
    }));
    check(`at ${part * 100} % there are rows, and few`, (await elements()) < MOST_ELEMENTS, await elements());
  }
  const key = await page.evaluate(() => {
    const box = document.querySelector(".rows-scroll").getBoundingClientRect();
    return document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2).closest("[data-key]").dataset.key;
  });
  await tell({ type: "events", events: Array.from({ length: 200 }, (_, i) => [
    { method: "countersign/item/started", params: { threadId: "T", turnId: "u", seq: i, startedAtMs: 1, item: { type: "agentMessage", id: `n${i}`, text: "" } } },
    { method: "countersign/item/agentMessage/delta", params: { threadId: "T", turnId: "u", seq: i, itemId: `n${i}`, delta: `new ${i} of ${COUNT}` } },
  ]).flat() });
  await until("the new number of rows", async () => (await page.locator(`[data-key="${key}"]`).getAttribute("aria-setsize")) === String(COUNT + 200));
  check("who reads above is not taken away", await page.locator(`[data-key="${key}"]`).isVisible());
  await page.locator(".to-end").click();
  check("the way to the end leads there", await until("the end", () => page.locator('[data-key="n199"]', { hasText: "new 199" }).isVisible()).catch(() => false));
  check("and still few are drawn", (await elements()) < MOST_ELEMENTS, await elements());

  const call = (id) => ({ key: id, turnId: "t", startedAtMs: 1, completedAtMs: 2, rev: 0, body: { kind: "item", live: false, item: { type: "commandExecution", id, command: `echo ${id}`, cwd: "/", actions: [], source: "agent", confined: "workspace", status: "completed", aggregatedOutput: `${id}\n`, exitCode: 0, durationMs: 500 } } });
  await tell(conversation(["c1", "c2", "c3", "c4"].map(call)));
  await tell({ type: "events", events: [{ method: "countersign/item/started", params: { threadId: "T", turnId: "t", seq: 1, startedAtMs: 1, item: { type: "agentMessage", id: "m", text: "So." } } }] });
  const keys = () => page.evaluate(() => [...document.querySelectorAll(".rows > *")].map((one) => one.dataset.key).join());
  const group = page.locator(".row-group");
  const shows = (what, wanted) => until(what, async () => (await keys()) === wanted, 10000).catch(() => false);
  check("what went well, one after the other, is one line", await shows("the group", "group:c1,m"), await keys());
  equal("which says what was done", await group.innerText(), "Ran 4 commands · 2.0 s");
  await group.locator("summary").click();
  check("opened, it shows each", await shows("the commands", "group:c1,c1,c2,c3,c4,m"), await keys());
  await group.locator("summary").click();
  check("closed, it is one line again", await shows("the group", "group:c1,m"), await keys());
  await page.close();
}
