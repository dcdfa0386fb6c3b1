// A person at a Helix in a terminal.
import fs from "node:fs";
import path from "node:path";
import { execFileSync } from "node:child_process";
import { check } from "../checks.mjs";
import { chooseFix, decideOn, goToFiles } from "../person.mjs";
import { block, here, newcomer, project, server, sleep, state, until } from "../stage.mjs";
import { Terminal } from "../terminal.mjs";

const program = process.env.JOURNEY_HELIX;

/** What the program prints, with another linter for one language. `onSave`: kinds of code actions that are run before each save. */
const languages = (onSave) => {
  const printed = execFileSync(server, ["editor-config", "helix"], { encoding: "utf8" });
  const linter = `\n[language-server.another-linter]\ncommand = "${path.join(here, "linter.py")}"\n`;
  const python = /(name = "python"\nlanguage-servers = ).*/;
  const hooks = onSave ? `\nauto-format = true\ncode-actions-on-save = ${toml(onSave)}` : "";
  return printed.replace(python, `$1["another-linter", "countersign"]${hooks}`) + linter;
};

/** A value as TOML, on one line. */
const toml = (value) =>
  value.constructor === Object
    ? `{ ${Object.entries(value).map(([name, one]) => `${name} = ${toml(one)}`).join(", ")} }`
    : JSON.stringify(value);

/** What Helix reads from a project that the person trusts. The server gets it at its start, on request and as a change. */
function plant(settings) {
  fs.mkdirSync(path.join(project, ".helix"));
  fs.writeFileSync(path.join(project, ".helix", "languages.toml"), `[language-server.countersign]\nconfig = ${toml({ countersign: settings })}\n`);
}
const CONFIG = `
[editor]
true-color = true
auto-pairs = false
auto-completion = false
[editor.lsp]
display-messages = true
display-progress-messages = true
`;

/** What a scene may want: `profile`, `key`, `onSave` (see above), `planted` (settings that the project brings along). */
export async function start({ profile, key, onSave, planted } = {}) {
  if (profile === "clean") {
    newcomer(block("editors/helix/README.md", "editor-config helix"), key);
    return new Helix(execFileSync(program, ["--version"], { encoding: "utf8" }).trim());
  }
  const folder = path.join(process.env.XDG_CONFIG_HOME, "helix");
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "languages.toml"), languages(onSave));
  fs.writeFileSync(path.join(folder, "config.toml"), CONFIG);
  if (planted) plant(planted);
  return new Helix(execFileSync(program, ["--version"], { encoding: "utf8" }).trim(), planted !== undefined);
}

class Helix {
  /** Its questions take all keys, so nothing can be done meanwhile that is not the answer. */
  questionTakesKeys = true;

  constructor(version, asksForTrust = false) {
    this.version = version;
    this.asksForTrust = asksForTrust;
  }

  async open(name) {
    if (this.terminal === undefined) {
      this.terminal = new Terminal([program, "-v", name]);
    } else {
      await this.command(`open ${name}`);
    }
    await until("the file", () => this.#statusLine().includes(name));
    if (this.asksForTrust) await this.#trust();
    // What is typed before the server knows the document is not seen to be typed.
    const opened = new RegExp(`countersign -> .*"textDocument/didOpen".*/${path.basename(name).replaceAll(".", "\\.")}"`);
    await until("the server to know the document", () => opened.test(this.#log()), 10000).catch(() => undefined);
  }

  /** Where a project has files for Helix, Helix asks. It takes them for the servers that it starts from then on. */
  async #trust() {
    this.asksForTrust = false;
    await this.question("Helix's own question", "Trust this workspace?");
    await this.answer("Trust");
    await until("the question to go", () => !this.isAsked());
    await this.command("lsp-restart");
  }

  #statusLine() {
    return this.terminal.screen().find((line) => /^ (NOR|INS|SEL) /.test(line)) ?? "";
  }

  /** Runs an editor command. */
  async command(text) {
    await this.terminal.words(`:${text}`);
    await this.terminal.keys("Enter");
  }

  /** The line of the cursor, counted from 1. */
  async line() {
    return Number(/(\d+):\d+$/.exec(this.#statusLine())?.[1]);
  }

  /** The document that is shown. */
  async shown() {
    const name = /^ \w+ +\S? *(.*?) {2,}/.exec(this.#statusLine())?.[1] ?? "";
    return { name, text: await this.#text() };
  }

  /** What the agent marks in the shown file. */
  async hints() {
    return this.terminal.screen().flatMap((line) => /The agent's change.*$/.exec(line)?.[0] ?? []);
  }

  /** The text of a document, unsaved as it is. The cursor does not stay. */
  async text(name) {
    if (!this.#statusLine().includes(name)) await this.open(name);
    return this.#text();
  }

  async #text() {
    const part = path.join(state, "part");
    const whole = path.join(state, "whole");
    fs.rmSync(whole, { force: true });
    // Helix gives up where the other end of its pipe does not read at once (“os error 11”).
    for (let left = 3; left > 0 && !fs.existsSync(whole); left -= 1) {
      await this.terminal.words("%");
      await this.command(`pipe-to cat > ${part}; mv ${part} ${whole}`);
      await until("the text of the document", () => fs.existsSync(whole), 10000).catch(() => undefined);
    }
    return fs.readFileSync(whole, "utf8");
  }

  /** The screen may not be drawn again yet. */
  isUnsaved(name) {
    return until("the mark of what is not saved", () => this.#statusLine().includes(`${name} [+]`), 1000).catch(() => false);
  }

  /** Puts the cursor on a text, by searching for it. */
  async at(text) {
    await this.terminal.words(`gg/${text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}`);
    await this.terminal.keys("Enter");
    await sleep(300);
  }

  async insertBelow(text, line) {
    await this.at(text);
    await this.terminal.words(`o${line}`);
    await this.terminal.keys("Escape");
  }

  async insertAbove(text, line) {
    await this.at(text);
    await this.terminal.words(`O${line}`);
    await this.terminal.keys("Escape");
  }

  async replace(around, word, by) {
    await this.at(around);
    // To the beginning of what was found, then on to the word.
    await this.terminal.keys("M-;");
    await this.terminal.words(";");
    await this.terminal.words(`/${word}`);
    await this.terminal.keys("Enter");
    await this.terminal.words(`c${by}`);
    await this.terminal.keys("Escape");
  }

  /** Puts words at the end of the shown document. */
  async writeAtEnd(words) {
    await this.terminal.words("geA");
    await this.terminal.words(words);
    await this.terminal.keys("Escape");
  }

  async send() {
    await this.actions();
    await this.choose("Agent: Send");
  }

  /** Does what the document offers. */
  async act(title) {
    await this.actions();
    const isThere = ({ title: one }) => one.startsWith(title);
    if (this.#actionRows().some(isThere)) return this.choose(title);
    // Further down than the menu shows: up from the first row is the last.
    await this.terminal.keys("Up");
    // A long menu lies over the status line, too.
    const menu = () => this.terminal.screen().flatMap((line) => /Agent: .*$/.exec(line)?.[0] ?? []);
    const row = await until(`“${title}” in the menu`, () => menu().findIndex((one) => one.startsWith(title)) + 1, 5000);
    for (let at = menu().length; at > row; at--) await this.terminal.keys("Up");
    await this.terminal.keys("Enter");
  }

  async stop() {
    await this.actions();
    await this.choose("Agent: Stop");
  }

  async save() {
    await this.command("write");
  }

  async format() {
    await this.command("format");
  }

  /** How often code actions were asked for by kind, as is done on save. */
  hooked() {
    return this.#log().match(/countersign -> .*"only":\[/g)?.length ?? 0;
  }

  /** All that it and the servers said to each other. */
  #log() {
    return fs.readFileSync(path.join(process.env.XDG_CACHE_HOME ?? path.join(process.env.HOME, ".cache"), "helix", "helix.log"), "utf8");
  }

  /** Closes a file and opens it again. */
  async reopen(name) {
    await this.command("buffer-close");
    await until("the file to be closed", () => !this.#statusLine().includes(name));
    await this.open(name);
  }

  /** Has selected lines rewritten, by one of the instructions that are offered. */
  async rewrite(from, to, title) {
    await this.at(from);
    const first = await this.line();
    await this.at(to);
    const last = await this.line();
    await this.terminal.words(`${first}ggx`);
    for (let line = first; line < last; line++) await this.terminal.words("x");
    const offered = await this.actions();
    check("a selection can be rewritten", offered.some((one) => one.startsWith("Ask agent to rewrite the selection")), offered);
    await this.choose("Ask agent to rewrite the selection");
    await this.question("what is to be done with it", title);
    await this.answer(title);
  }

  /** What a review found in the shown file, from the list of problems. Lines count from 1. */
  async findings() {
    await this.terminal.keys("Space", "d");
    await sleep(300);
    const rows = this.terminal.screen().flatMap((line) => {
      const [, severity, text] = /(ERROR|WARN)\w*\s.*?((?:Return the total|Count every piece).*)/.exec(line) ?? [];
      return severity ? [{ severity: severity === "ERROR" ? "error" : "warn", text: text.trim() }] : [];
    });
    await this.terminal.keys("Escape");
    const found = [];
    for (const row of rows) {
      // Chosen from the list, it is gone to.
      await this.terminal.keys("Space", "d");
      await this.terminal.words(row.text.slice(0, 12));
      await this.terminal.keys("Enter");
      found.push({ ...row, line: await this.line() });
    }
    return found;
  }

  /** What is told of the place behind a text, once it has a part. */
  async hover(text, part) {
    await this.at(text);
    await this.terminal.keys("Space", "k");
    await this.terminal.sees(`what is told of “${text}”`, part);
    const told = this.terminal.screen().map((line) => line.replace(/[│┌┐└┘─]/g, " ").trim()).join(" ");
    await this.terminal.keys("Escape");
    return told.replace(/\s+/g, " ");
  }

  /** What is offered for words at the end of the document. Nothing of it stays. */
  async completes(words) {
    await this.terminal.words("geA");
    await this.terminal.words(words);
    await this.terminal.keys("C-x");
    await sleep(1000);
    const seen = this.terminal.text();
    await this.terminal.keys("C-c");
    await this.terminal.keys("Escape");
    await this.terminal.words("u");
    return seen;
  }

  async lint() {
    await this.terminal.sees("another linter", "undefined name 'totl'");
  }

  fix() {
    return chooseFix(this, () => this.actions());
  }

  async actions() {
    await this.terminal.keys("Space", "a");
    await until("the code actions", () => this.#actionRows().length > 0);
    await sleep(200);
    return this.#actionRows().map((row) => row.title);
  }

  /** The rows of the menu: nothing else on the screen speaks of the agent. */
  #actionRows() {
    return this.terminal
      .screen()
      .slice(0, -2)
      .map((line, row) => ({ row, title: /(?:Agent: |(?:Fix|Ask|Review|Dismiss|Accept|Reject|Show|Go to|Stop|Undo|Restore)\b).*$/.exec(line)?.[0].trim() }))
      .filter(({ title }) => /agent|^Dismiss finding/i.test(title ?? ""));
  }

  async choose(title) {
    const rows = this.#actionRows();
    await this.#take(rows[0]?.row, rows.find((row) => row.title.startsWith(title))?.row, title);
  }

  /** The choices of a question stand below its frame. */
  #questionRows() {
    const lines = this.terminal.screen();
    const frame = lines.findLastIndex((line) => line.includes("──┘"));
    if (frame < 0) return [];
    const left = lines[frame].indexOf("└") + 1;
    return lines
      .slice(frame + 1, -2)
      .map((line, index) => ({ row: frame + 1 + index, title: line.slice(left).trim() }))
      .filter(({ title }) => title !== "");
  }

  isAsked() {
    return this.#questionRows().length > 0;
  }

  async question(what, choice) {
    await this.terminal.sees(what, choice);
    return { text: this.terminal.text() };
  }

  async answer(title) {
    const rows = this.#questionRows();
    await this.#take(rows[0]?.row, rows.find((row) => row.title.startsWith(title))?.row, title);
  }

  /** Chooses from a menu; its first row is selected. */
  async #take(first, row, title) {
    if (first === undefined || row === undefined) throw new Error(`“${title}” is not among the choices; the screen is:\n${this.terminal.text()}`);
    for (let at = first; at < row; at++) await this.terminal.keys("Down");
    await this.terminal.keys("Enter");
  }

  /** Waits until the person is told something that has a text, as far as there is room for it. */
  told(text) {
    return this.terminal.sees("what is told", text);
  }

  async proposal() {
    await this.question("the proposal", "Reject");
    if (!this.terminal.text().includes("Accept all")) {
      // The question has no room for the change: its diff opens, and the question stays away as long as that is read.
      await this.answer("Show the diff");
      await this.terminal.sees("the diff", "This page is only to be read");
      await this.shot("diff");
      const text = this.terminal.text();
      const acceptAll = async () => {
        await decideOn(this, "Code actions on this page", "Accept all of the agent's changes");
        await this.command("buffer-close");
      };
      return { text, acceptAll };
    }
    const asked = { text: this.terminal.text() };
    return { ...asked, acceptAll: () => this.answer("Accept all"), dismiss: () => this.terminal.keys("Escape"), decideInFiles: () => goToFiles(this) };
  }

  async undoTurn() {
    await decideOn(this, "def total(items)", "Agent: Undo last turn's changes");
  }

  showTurn() {
    return this.command("lsp-workspace-command countersign.showTurnDiff");
  }

  /** While something is going on, a spinner of braille dots turns in the status line. */
  async idle() {
    let [dots, since] = ["", Date.now()];
    await until("the progress to end", async () => {
      const line = this.#statusLine();
      const [now] = /[\u2800-\u28FF]/.exec(line) ?? [];
      if (now === undefined) return line.startsWith(" NOR ");
      if (now !== dots) [dots, since] = [now, Date.now()];
      // Dots that stand still: Helix knows of no progress any more and draws them all the same, now and then. Whether a turn runs
      // is asked of what is offered.
      if (Date.now() - since < 2000) return false;
      since = Date.now();
      await this.terminal.keys("Space", "a");
      await sleep(500);
      const runs = this.#actionRows().some(({ title }) => title.includes("Stop"));
      await this.terminal.keys("Escape");
      return !runs;
    });
  }

  async undo() {
    await this.terminal.words("u");
    await sleep(300);
  }

  async redo() {
    await this.terminal.words("U");
    await sleep(300);
  }

  async shot(name) {
    await this.terminal?.shot(name);
  }

  async seen() {
    return this.terminal?.text() ?? "";
  }

  async close() {
    await this.terminal?.keys("Escape");
    await this.command("quit-all!");
    return until("the editor to close", () => !this.terminal.isOpen, 10000).catch(() => false);
  }
}
