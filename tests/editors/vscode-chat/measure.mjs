// node tests/editors/vscode-chat/measure.mjs [ROWS]... : what the chat's page takes with so many rows (default 100 and 10000), and while long
// answers and outputs come, in a headless Chromium. Needs `npm run build` in editors/vscode and the browser of tests/editors/setup. A measurement and no test: it fails at nothing.
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

// What a journey's runner would set.
process.env.JOURNEY_REPOSITORY ??= fileURLToPath(new URL("../../..", import.meta.url));
const editors = process.env.COUNTERSIGN_EDITORS ?? path.join(os.homedir(), ".cache/countersign-editors");
const { long, openPage } = await import("./page.mjs");
const { chromium } = createRequire(path.join(editors, "playwright", "package.json"))("playwright-core");

/** Deltas that are measured, each by itself. */
const DELTAS = 300;
/** Far places that are scrolled to. */
const JUMPS = 40;

/** What comes at 100 deltas a second, as the extension hands it on: three together. Of each, the items and the text of one delta. */
const STREAMS = {
  "5,000 deltas of an answer": { count: 5000, item: { type: "agentMessage", id: "live", text: "" }, method: "countersign/item/agentMessage/delta", delta: (i) => (i % 40 === 39 ? "end.\n\n" : `some words ${i} `) },
  "a block of 1,500 lines": { count: 1502, item: { type: "agentMessage", id: "live", text: "" }, method: "countersign/item/agentMessage/delta", delta: (i) => (i === 0 ? "```ts\n" : i === 1501 ? "```\n" : `export const value${i} = compute("${i}", { at: ${i} }); // line ${i}\n`) },
  "5 MB of output": { count: 5000, item: { type: "commandExecution", id: "live", command: "seq", cwd: "/", actions: [], source: "agent", confined: "workspace", status: "inProgress" }, method: "countersign/item/commandExecution/outputDelta", delta: (i) => `${String(i).padStart(24, "0")}\n`.repeat(40) },
};

const counts = process.argv.slice(2).map(Number);
const profile = fs.mkdtempSync(path.join(os.tmpdir(), "countersign-measure."));
const context = await chromium.launchPersistentContext(profile, { executablePath: process.env.COUNTERSIGN_CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu"] });
try {
  for (const count of counts.length > 0 ? counts : [100, 10000]) {
    const { page } = await openPage({ page: await context.newPage() });
    const took = await page.evaluate(async ({ thread, deltas, jumps }) => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      // The work of a message, and of the frame in which what comes of it is drawn; not the wait for that frame.
      const cost = async (act) => {
        await frame();
        let begun = 0;
        requestAnimationFrame(() => { begun = performance.now(); });
        const before = performance.now();
        act();
        const told = performance.now() - before;
        await frame();
        document.body.getBoundingClientRect();
        return told + performance.now() - begun;
      };
      const tell = (data) => () => { window.dispatchEvent(new MessageEvent("message", { data })); };
      const event = (method, params) => ({ type: "events", events: [{ method, params: { threadId: "T", turnId: "u", seq: 1, ...params } }] });
      const draw = await cost(tell(thread));
      for (let i = 0; i < 5; i++) await frame();
      const box = document.querySelector(".rows-scroll");
      const scroll = [];
      for (let i = 0; i < jumps; i++) {
        // A jump is told of in the frame after it.
        scroll.push(await cost(() => { box.scrollTop = box.scrollHeight * (((i * 37) % 97) / 97); box.dispatchEvent(new Event("scroll")); }));
      }
      document.querySelector(".to-end").click();
      for (let i = 0; i < 5; i++) await frame();
      tell(event("countersign/turn/started", { turn: { id: "u", status: "inProgress", items: [], startedAtMs: Date.now() } }))();
      tell(event("countersign/item/started", { startedAtMs: 1, item: { type: "agentMessage", id: "live", text: "" } }))();
      const delta = [];
      for (let i = 0; i < deltas; i++) {
        delta.push(await cost(tell(event("countersign/item/agentMessage/delta", { itemId: "live", delta: i % 12 === 11 ? "end.\n\n" : `some words ${i} ` }))));
      }
      return { draw, scroll, delta, elements: document.querySelectorAll("*").length };
    }, { thread: long(count), deltas: DELTAS, jumps: JUMPS });
    const of = (all) => {
      const sorted = [...all].sort((a, b) => a - b);
      const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(1);
      return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
    };
    console.log(`${count} rows, ${took.elements} elements: drawn in ${took.draw.toFixed(1)} ms; a far place ${of(took.scroll)}; a delta ${of(took.delta)}`);
    await page.close();
  }
  for (const [name, { count, item, method, delta }] of Object.entries(STREAMS)) {
    const { page } = await openPage({ page: await context.newPage() });
    const devtools = await context.newCDPSession(page);
    const heap = async () => {
      await devtools.send("HeapProfiler.collectGarbage");
      return (await devtools.send("Runtime.getHeapUsage")).usedSize / 2 ** 20;
    };
    const deltas = Array.from({ length: count }, (_, i) => delta(i));
    const took = await page.evaluate(async ({ thread, item, method, deltas }) => {
      const tell = (data) => { window.dispatchEvent(new MessageEvent("message", { data })); };
      const event = (name, params) => ({ method: name, params: { threadId: "T", turnId: "u", seq: 1, ...params } });
      tell(thread);
      tell({ type: "events", events: [event("countersign/turn/started", { turn: { id: "u", status: "inProgress", items: [], startedAtMs: Date.now() } }), event("countersign/item/started", { startedAtMs: 1, item })] });
      const tasks = [];
      new PerformanceObserver((list) => { tasks.push(...list.getEntries().map((entry) => entry.duration)); }).observe({ type: "longtask" });
      const begun = performance.now();
      for (let at = 0; at < deltas.length; at += 3) {
        tell({ type: "events", events: deltas.slice(at, at + 3).map((text) => event(method, { itemId: "live", delta: text })) });
        await new Promise((resolve) => setTimeout(resolve, begun + 10 * (at + 3) - performance.now()));
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
      return { tasks, late: performance.now() - begun - 10 * deltas.length - 500 };
    }, { thread: long(20), item, method, deltas });
    console.log(`${name}: ${took.tasks.length} tasks over 50 ms, the longest ${Math.max(0, ...took.tasks).toFixed(0)} ms; ${Math.max(0, took.late).toFixed(0)} ms late at the end; ${(await heap()).toFixed(1)} MB in use`);
    await page.close();
  }
} finally {
  await context.close();
  fs.rmSync(profile, { recursive: true, force: true });
}
