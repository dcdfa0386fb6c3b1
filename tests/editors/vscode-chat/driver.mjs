// A person at a VS Code that has the extension, with its own views: the chat, the proposals, the questions.
import fs from "node:fs";
import path from "node:path";
import { home, server as serverProgram, sleep, until } from "../stage.mjs";
import { documentsFile, openWorkbench, startServer } from "../vscode/workbench.mjs";

/**
 * What a scene may want: `prepare` (called before anything starts), `config` (text at the end of the server's `config.toml`), `settings`
 * (of the machine, beside the server's path; `countersign.server.path: null` takes that away), `userSettings`, `trust` (the editor asks
 * for trust), `folders` (further folders of the workspace), `elsewhere` (URIs of folders
 * that the window shows in the place of the project).
 */
export async function start({ prepare, config, settings = {}, userSettings, trust, folders, elsewhere } = {}) {
  prepare?.();
  if (config !== undefined) fs.appendFileSync(path.join(home, "config.toml"), `\n${config}`);
  const server = await startServer({ "countersign.server.path": serverProgram, ...settings }, { trust, userSettings });
  return new Chat(server, await openWorkbench(server.address, folders, elsewhere));
}

const witness = () => JSON.parse(fs.readFileSync(documentsFile, "utf8"));

class Chat {
  version = "VS Code (code-server), the chat";

  constructor(server, workbench) {
    this.server = server;
    this.workbench = workbench;
    this.page = workbench.page;
  }

  held(name) {
    return witness().documents[name];
  }

  /** Which file has the cursor, and in which line; a proposed text has the name of its file. */
  active() {
    return witness().active;
  }

  async open(name) {
    await this.workbench.open(name);
    await this.running();
    await until("the file", () => this.held(name), 10000);
    await this.workbench.focusEditor();
  }

  /** Waits until the status bar says that the server runs. */
  running() {
    return until("the server to run", async () => (await this.workbench.status()).some((item) => /Countersign.* is running/.test(item)), 60000);
  }

  /** Our item in the status bar: its text and what it says when pointed at. */
  async item() {
    // That of a progress begins with the name.
    return (await this.workbench.status()).find((item) => /countersign/i.test(item) && !item.startsWith("Countersign:"));
  }

  command(title) {
    return this.workbench.command(title);
  }

  /** The problems of a file that the editor shows, with who found them. */
  problems(name) {
    return this.held(name)?.problems ?? [];
  }

  /** The page of the chat: a frame in a frame. */
  frame() {
    return until("the chat", async () => {
      for (const frame of this.page.frames()) {
        if (await frame.locator(".composer textarea").first().isVisible().catch(() => false)) return frame;
      }
      return undefined;
    }, 60000);
  }

  async openChat() {
    await this.command("Countersign: Open Chat");
    const frame = await this.frame();
    await until("the server in the chat", async () => !(await frame.locator("body.offline").count()) && (await frame.locator(".empty h2").innerText().catch(() => "x")) !== "Countersign is not running", 30000);
    // The command gives it to the composer. On a busy machine that comes after the first press of a button, and closes the list that it opened.
    await until("the composer to have the focus", () => frame.locator(".composer textarea").evaluate((area) => area === document.activeElement), 15000);
    return frame;
  }

  /** Writes into the composer, and sends it. */
  async say(frame, text) {
    await frame.locator(".composer textarea").fill(text);
    await frame.locator(".composer textarea").press("Enter");
  }

  /** Colours of the editor: "light", "dark" or "contrast". */
  async theme(name) {
    await this.command(`Witness: ${{ light: "Light", dark: "Dark", contrast: "High Contrast" }[name]} Colours`);
    await until("the theme to be drawn", () => this.page.evaluate((kind) => document.querySelector(".monaco-workbench")?.classList.contains(kind), { light: "vs", dark: "vs-dark", contrast: "hc-black" }[name]), 10000);
    await sleep(500);
  }

  /** Loads the window anew, in order: the editor writes down first what its views want to find again. */
  async reload() {
    await this.page.evaluate(() => (window.beforeReload = true));
    await this.command("Developer: Reload Window");
    await until("the window to load anew", () => this.page.evaluate(() => window.beforeReload !== true && document.querySelector(".monaco-workbench") !== null), 60000);
  }

  message(button) {
    return this.workbench.message(button);
  }

  shot(name) {
    return this.workbench.shot(name);
  }

  async seen() {
    const pages = await Promise.all(this.page.frames().map((frame) => frame.locator("body").innerText().catch(() => "")));
    return JSON.stringify({ messages: await this.page.locator(".notification-toast").allInnerTexts(), pages, ...witness() }, undefined, 1);
  }

  async close() {
    await this.workbench.close();
    this.server.stop();
    return true;
  }
}

