// node tests/editors/vscode-chat/measure.mjs [ROWS]... : what the chat's page takes with so many rows (default 100 and 10000), in a headless
// Chromium. Needs `npm run build` in editors/vscode and the browser of tests/editors/setup. A measurement and no test: it fails at nothing.
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
} finally {
  await context.close();
  fs.rmSync(profile, { recursive: true, force: true });
}
