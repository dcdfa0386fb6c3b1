// The page of the chat by itself, with ten thousand items: few of them are drawn, wherever one reads, and while more come.
import fs from "node:fs";
import path from "node:path";
import { check, equal } from "../../checks.mjs";
import { repository, until } from "../../stage.mjs";

const COUNT = 10000;
/** Far less than one element for each item. */
const MOST_ELEMENTS = 1500;

export async function play(editor) {
  const page = await editor.page.context().newPage();
  await page.setViewportSize({ width: 420, height: 800 });
  await page.setContent("<!DOCTYPE html><html><head></head><body></body></html>");
  await page.evaluate(() => {
    window.posted = [];
    window.acquireVsCodeApi = () => ({ postMessage: (message) => window.posted.push(message), getState: () => undefined, setState: () => undefined });
  });
  const out = path.join(repository, "editors", "vscode", "out");
  await page.addStyleTag({ content: fs.readFileSync(path.join(out, "webview.css"), "utf8") });
  await page.addScriptTag({ content: fs.readFileSync(path.join(out, "webview.js"), "utf8") });
  equal("the page says that it is ready", await page.evaluate(() => window.posted[0]?.type), "ready");

  await page.evaluate((count) => {
    const rows = Array.from({ length: count }, (_, i) => ({
      key: `i${i}`, turnId: "t", startedAtMs: 1, completedAtMs: 2, rev: 0,
      body: { kind: "item", live: false, item: i % 3 === 0 ? { type: "userMessage", id: `i${i}`, content: [{ type: "text", text: `question ${i}` }] } : i % 3 === 1 ? { type: "agentMessage", id: `i${i}`, text: `answer ${i}\n\n\`\`\`js\nlet x = ${i};\n\`\`\`\n` } : { type: "commandExecution", id: `i${i}`, command: `echo ${i}`, cwd: "/", actions: [], source: "agent", confined: "workspace", status: "completed", aggregatedOutput: `${i}\n`, exitCode: 0, durationMs: 5 } },
    }));
    window.postMessage({ type: "thread", view: { id: "T", name: "Many", preview: "", cwd: "/w", status: "idle", archived: false, rows, agents: {}, proposals: {}, terminals: {} } }, "*");
  }, COUNT);

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
  await page.evaluate((count) => {
    const events = [];
    for (let i = 0; i < 200; i++) {
      events.push({ method: "countersign/item/started", params: { threadId: "T", turnId: "u", seq: i, startedAtMs: 1, item: { type: "agentMessage", id: `n${i}`, text: "" } } });
      events.push({ method: "countersign/item/agentMessage/delta", params: { threadId: "T", turnId: "u", seq: i, itemId: `n${i}`, delta: `new ${i} of ${count}` } });
    }
    window.postMessage({ type: "events", events }, "*");
  }, COUNT);
  await until("the new number of rows", async () => (await page.locator(`[data-key="${key}"]`).getAttribute("aria-setsize")) === String(COUNT + 200));
  check("who reads above is not taken away", await page.locator(`[data-key="${key}"]`).isVisible());
  await page.locator(".to-end").click();
  check("the way to the end leads there", await until("the end", () => page.locator('[data-key="n199"]', { hasText: "new 199" }).isVisible()).catch(() => false));
  check("and still few are drawn", (await elements()) < MOST_ELEMENTS, await elements());
  await page.close();
}
