// The page of the chat by itself, in a tab of its own: what the extension would tell it is told by the scene, and what it asks of the
// extension is kept.
import fs from "node:fs";
import path from "node:path";
import { repository } from "../stage.mjs";

export async function openPage(editor) {
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
  return {
    page,
    /** Tells the page something, and waits until it has drawn what comes of it. */
    tell: (message) => page.evaluate((data) => new Promise((resolve) => {
      window.addEventListener("message", () => requestAnimationFrame(() => requestAnimationFrame(resolve)), { once: true });
      window.postMessage(data, "*");
    }), message),
    /** What the page has asked for, of one kind. */
    posted: (type) => page.evaluate((wanted) => window.posted.filter((one) => one.type === wanted), type),
    focused: () => page.evaluate(() => document.activeElement?.getAttribute("aria-label")),
  };
}

/** A conversation "T" with these rows, as the extension tells of it. */
export const conversation = (rows, name = "One") => ({ type: "thread", view: { id: "T", name, preview: "", cwd: "/w", status: "idle", archived: false, rows, agents: {}, proposals: {}, terminals: {} } });

/** A conversation of so many rows: questions, answers with code, and commands in turn. */
export const long = (count) => conversation(Array.from({ length: count }, (_, i) => ({
  key: `i${i}`, turnId: "t", startedAtMs: 1, completedAtMs: 2, rev: 0,
  body: { kind: "item", live: false, item: i % 3 === 0 ? { type: "userMessage", id: `i${i}`, content: [{ type: "text", text: `question ${i}` }] } : i % 3 === 1 ? { type: "agentMessage", id: `i${i}`, text: `answer ${i}\n\n\`\`\`js\nlet x = ${i};\n\`\`\`\n` } : { type: "commandExecution", id: `i${i}`, command: `echo ${i}`, cwd: "/", actions: [], source: "agent", confined: "workspace", status: "completed", aggregatedOutput: `${i}\n`, exitCode: 0, durationMs: 5 } },
})), "Many");
