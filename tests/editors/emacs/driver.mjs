// A person at an Emacs with Eglot in a terminal. What it holds is looked up through its server.
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { check } from "../checks.mjs";
import { decideOn, goToFiles } from "../person.mjs";
import { block, here, listens, newcomer, out, project, sleep, state, until } from "../stage.mjs";
import { Terminal } from "../terminal.mjs";

const run = promisify(execFile);
const { JOURNEY_EMACS: program, JOURNEY_EMACSCLIENT: client, JOURNEY_EMACS_DUMP: dump } = process.env;
const socket = path.join(state, "emacs.sock");
/** A text as Lisp reads it. */
const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&")}"`;

/** A value as Eglot takes it. */
const lisp = (value) => {
  if (Array.isArray(value)) return `[${value.map(lisp).join(" ")}]`;
  return typeof value === "string" ? quoted(value) : `(${Object.entries(value).map(([name, one]) => `:${name} ${lisp(one)}`).join(" ")})`;
};

/** What Emacs reads from a project without asking. */
const plant = (settings) => fs.writeFileSync(path.join(project, ".dir-locals.el"), `((nil . ((eglot-workspace-configuration . ${lisp({ countersign: settings })}))))\n`);

/** What a scene may want: `profile`, `key`, `planted` (settings that the project brings along). */
export async function start({ profile, key, planted } = {}) {
  if (planted) plant(planted);
  if (profile === "clean") {
    newcomer(block("editors/emacs/README.md", "editor-config emacs"), key);
    process.env.JOURNEY_CLEAN = "yes";
  }
  // With a clean profile its own init file is read, as for anybody.
  const terminal = new Terminal([program, ...(dump ? [`--dump-file=${dump}`] : []), "-nw", ...(profile === "clean" ? [] : ["-Q"]), "-l", path.join(here, "emacs", "init.el")]);
  const editor = new Emacs(terminal);
  await until("the editor to start", () => listens(socket));
  editor.version = await editor.lisp('(progn (require \'eglot) (format "GNU Emacs %s, Eglot %s" emacs-version eglot--version))').catch(() => editor.lisp('(format "GNU Emacs %s" emacs-version)'));
  return editor;
}

class Emacs {
  constructor(terminal) {
    this.terminal = terminal;
  }

  /** The value of an expression, by way of JSON. */
  async lisp(expression) {
    const file = path.join(state, "value.json");
    fs.rmSync(file, { force: true });
    const { stdout } = await run(client, ["-s", socket, "--eval", `(rig-run ${quoted(file)} ${expression})`], { timeout: 20000 });
    if (!fs.existsSync(file)) throw new Error(`${expression}: ${stdout}`);
    return JSON.parse(fs.readFileSync(file, "utf8"));
  }

  /** The same in the buffer of a file. */
  inBuffer(name, expression) {
    return this.lisp(`(with-current-buffer ${quoted(name)} ${expression})`);
  }

  /** Runs a command by its name. */
  async command(name) {
    await this.terminal.keys("M-x");
    await this.terminal.words(name);
    await this.terminal.keys("Enter");
  }

  async open(name) {
    // What is shown may be of another folder.
    await this.terminal.keys("C-x", "C-f", "C-a", "C-k");
    await this.terminal.words(path.join(project, name));
    await this.terminal.keys("Enter");
    await until("the file", () => this.inBuffer(name, "t"));
    if (!(await this.inBuffer(name, "(if (eglot-current-server) t :false)"))) await this.command("countersign");
    await until("the server to start", () => this.inBuffer(name, "(if (eglot-current-server) t :false)"));
  }

  text(name) {
    return this.inBuffer(name, "(save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max)))");
  }

  isUnsaved(name) {
    return this.inBuffer(name, "(if (buffer-modified-p) t :false)");
  }

  /** Puts the cursor behind a text, by searching for it. */
  async at(text) {
    await this.terminal.keys("M-<");
    await this.terminal.keys("C-s");
    await this.terminal.words(text);
    await this.terminal.keys("Enter");
  }

  /** The line of the cursor, counted from 1. */
  line() {
    return this.#inWindow("(line-number-at-pos (window-point))");
  }

  /** The document that is shown. */
  shown() {
    return this.#inWindow("(list :name (buffer-name) :text (buffer-substring-no-properties (point-min) (point-max)))");
  }

  /** What the agent marks in the shown file. */
  hints() {
    return this.#inWindow(`(vconcat (mapcar #'flymake-diagnostic-text
      (seq-filter (lambda (one) (eq (flymake-diagnostic-backend one) 'eglot-flymake-backend)) (flymake-diagnostics))))`);
  }

  #inWindow(expression) {
    return this.lisp(`(with-current-buffer (window-buffer) ${expression})`);
  }

  async insertBelow(text, line) {
    await this.at(text);
    await this.terminal.keys("C-e", "Enter");
    await this.terminal.words(line);
    await this.#typed(line);
  }

  async insertAbove(text, line) {
    await this.at(text);
    await this.terminal.keys("C-a");
    await this.terminal.words(line);
    await this.terminal.keys("Enter");
    await this.#typed(line);
  }

  async replace(around, word, by) {
    await this.at(around);
    await this.terminal.keys("C-r");
    await this.terminal.words(word);
    await this.terminal.keys("Enter");
    for (const _ of word) await this.terminal.keys("C-d");
    await this.terminal.words(by);
    await this.#typed(by);
  }

  /** Waits for what was typed last, and ends it as a step that can be undone. */
  async #typed(text) {
    await until(`“${text}” to be there`, () => this.lisp(`(with-current-buffer (window-buffer) (if (string-search ${quoted(text)} (buffer-string)) t :false))`), 10000);
    await this.terminal.keys("C-e");
  }

  /** Puts words at the end of the shown document. */
  async writeAtEnd(words) {
    await this.terminal.keys("M->");
    await this.terminal.words(words);
    await this.#typed(words);
  }

  async send() {
    await this.terminal.keys("C-c", "C-c");
  }

  /** Does what the document offers. */
  async act(title) {
    await this.terminal.keys("C-c", "C-a");
    await this.#actionList();
    await this.choose(title);
  }

  async stop() {
    await this.terminal.keys("C-c", "C-k");
  }

  async save() {
    await this.terminal.keys("C-x", "C-s");
  }

  /** Closes a file and opens it again. */
  async reopen(name) {
    await this.terminal.keys("C-x", "k", "Enter");
    await until("the file to be closed", () => this.lisp(`(if (get-buffer ${quoted(name)}) :false t)`));
    await this.open(name);
  }

  /** Has selected lines rewritten, by one of the instructions that are offered. */
  async rewrite(from, to, title) {
    await this.at(from);
    await this.terminal.keys("C-a", "C-Space");
    // On from here, so that the mark stays.
    await this.terminal.keys("C-s");
    await this.terminal.words(to);
    await this.terminal.keys("Enter", "C-e");
    const offered = await this.actions();
    check("a selection can be rewritten", offered.some((one) => one.startsWith("Ask agent to rewrite the selection")), offered);
    await this.choose("Ask agent to rewrite the selection");
    await this.question("what is to be done with it", title);
    await this.answer(title);
  }

  /** What a review found in the shown file. Lines count from 1. */
  findings() {
    return this.#inWindow(`(vconcat (mapcar (lambda (one) (list :line (line-number-at-pos (flymake-diagnostic-beg one))
          :severity (pcase (countersign--severity (flymake-diagnostic-type one)) (1 "error") (2 "warn") (_ "note"))
          :text (replace-regexp-in-string "^countersign review[^:]*: *" "" (flymake-diagnostic-text one))))
      (seq-filter (lambda (one) (and (eq (flymake-diagnostic-backend one) 'eglot-flymake-backend)
          (not (string-search "The agent's change" (flymake-diagnostic-text one))))) (flymake-diagnostics))))`);
  }

  /** What is told of the place behind a text, once it has a part. */
  async hover(text, part) {
    await this.at(text);
    return until(`what is told of “${text}”`, async () => {
      const told = await this.lisp("(with-current-buffer eldoc--doc-buffer (buffer-substring-no-properties (point-min) (point-max)))");
      return told.includes(part) && told;
    });
  }

  /** What is offered for words at the end of the document. Nothing of it stays. */
  async completes(words) {
    await this.writeAtEnd(words);
    await this.terminal.keys("C-M-i");
    await sleep(1000);
    const seen = `${this.terminal.text()}\n${(await this.shown()).text}`;
    await this.terminal.keys("M->", "C-a", "C-k");
    return seen;
  }

  async lint() {
    await until("another linter", () => this.lisp("(with-current-buffer (window-buffer) (if (flymake-diagnostics) t :false))"));
  }

  /** The only fix is taken without a question. */
  async fix() {
    await this.command("countersign-fix");
  }

  async actions() {
    await this.command("eglot-code-actions");
    return this.#actionList();
  }

  async #actionList() {
    const asked = await until("the list of code actions", async () => {
      const question = await this.#asked();
      return question?.choices.length > 0 && !question.text.startsWith("M-x") && question;
    });
    return asked.choices;
  }

  choose(title) {
    return this.answer(title);
  }

  #asked() {
    return this.lisp("(rig-question)");
  }

  isAsked() {
    return this.#asked();
  }

  question(what, choice) {
    return until(what, async () => {
      const asked = await this.#asked();
      return asked?.choices.some((title) => title.startsWith(choice)) && asked;
    });
  }

  /** Types the choice out, in place of what stands there. */
  async answer(title) {
    const asked = await this.#asked();
    const whole = asked?.choices.find((choice) => choice.startsWith(title));
    if (whole === undefined) throw new Error(`“${title}” is not among the choices: ${JSON.stringify(asked)}`);
    await this.terminal.keys("C-a", "C-k");
    await this.terminal.words(whole);
    await this.terminal.keys("Enter");
    await until("the answer to be taken", async () => JSON.stringify(await this.#asked()) !== JSON.stringify(asked), 10000);
  }

  /** Waits until the person is told something that has a text. */
  told(text) {
    return until(`“${text}” to be told`, () => this.lisp(`(with-current-buffer "*Messages*" (if (string-search ${quoted(text)} (buffer-string)) t :false))`));
  }

  async proposal() {
    let asked = await this.question("the proposal", "Reject");
    let acceptAll = () => this.answer("Accept all");
    if (!asked.choices.includes("Accept all")) {
      // The question has no room for the change: its diff opens, and the question comes again beside it.
      await this.answer("Show the diff");
      await this.terminal.sees("the diff", "+++ ");
      asked = await this.question("the question beside the diff", "Accept all");
      await this.shot("diff");
      acceptAll = async () => {
        await this.answer("Accept all");
        await this.terminal.keys("C-x", "0");
      };
    }
    return { text: asked.text, acceptAll, dismiss: () => this.terminal.keys("C-g"), decideInFiles: () => goToFiles(this) };
  }

  async undoTurn() {
    await decideOn(this, "def total(items)", "Agent: Undo last turn's changes");
  }

  showTurn() {
    return this.command("countersign-diff");
  }

  async idle() {
    await until("the progress to end", () =>
      this.lisp("(with-current-buffer (window-buffer) (if (seq-some (lambda (server) (> (hash-table-count (eglot--progress-reporters server)) 0)) (list (eglot-current-server))) :false t))"),
    );
  }

  async undo() {
    // With a region it would be only what lies in it.
    if (await this.#inWindow("(if (region-active-p) t :false)")) await this.terminal.keys("C-g");
    await this.terminal.keys("C-/");
    await sleep(300);
  }

  async redo() {
    // Any other command ends the run of undoing; what follows undoes the undo.
    await this.terminal.keys("C-e", "C-/");
    await sleep(300);
  }

  async shot(name) {
    await this.terminal.shot(name);
  }

  async seen() {
    return this.terminal.text();
  }

  async close() {
    await this.lisp(`(rig-keep-log ${quoted(out)})`).catch(() => undefined);
    for (let asked = 0; asked < 3 && this.terminal.isOpen; asked += 1) {
      // Out of a question that may still be open, or has come since.
      await this.terminal.keys("C-g");
      await this.command("kill-emacs").catch(() => undefined);
      await until("the editor to close", () => !this.terminal.isOpen, 15000).catch(() => false);
    }
    return !this.terminal.isOpen;
  }
}
