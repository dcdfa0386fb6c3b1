// An editor in a terminal: keys in, the screen out. Its own tmux server, so that no other session is touched.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { draw } from "./draw.mjs";
import { out, project, sleep, state, until } from "./stage.mjs";

export class Terminal {
  #shots = 0;
  #env = { ...process.env, TMUX_TMPDIR: state, LANG: "C.UTF-8", TERM: "xterm-256color", TMUX: undefined };

  constructor(command) {
    this.#tmux("new-session", "-d", "-x", "130", "-y", "40", "-c", project, ...command);
    process.on("exit", () => {
      try {
        this.#tmux("kill-server");
      } catch {
        // The editor has ended, and the terminal with it.
      }
    });
  }

  #tmux(...args) {
    return execFileSync("tmux", ["-f", "/dev/null", "-L", "journey", ...args], { env: this.#env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Whether the editor still runs. */
  get isOpen() {
    try {
      this.#tmux("has-session");
      return true;
    } catch {
      return false;
    }
  }

  /** The lines on the screen. */
  screen() {
    return this.#tmux("capture-pane", "-p").split("\n").map((line) => line.trimEnd());
  }

  text() {
    return this.screen().join("\n");
  }

  /** Gives the screen another size. */
  async resize(columns, lines) {
    this.#tmux("resize-window", "-x", String(columns), "-y", String(lines));
    await sleep(300);
  }

  async shot(name) {
    this.#shots += 1;
    fs.writeFileSync(path.join(out, `${String(this.#shots).padStart(2, "0")}-${name}.txt`), this.text());
  }

  /** The screen in its colours, as a picture (SVG); `light`: of an editor that has a light background. */
  async picture(name, light = false) {
    const file = path.join(out, `${String(this.#shots).padStart(2, "0")}-${name}.svg`);
    fs.writeFileSync(file, draw(this.#tmux("capture-pane", "-p", "-e"), light ? { paper: "#e0e2ea", ink: "#14161b" } : {}));
  }

  /** Presses keys by their names in tmux. */
  async keys(...names) {
    this.#tmux("send-keys", ...names);
    await sleep(150);
  }

  /** Types a text. */
  async words(text) {
    this.#tmux("send-keys", "-l", "--", text);
    await sleep(150);
  }

  /** Waits until a text is on the screen. */
  async sees(what, text) {
    await until(`${what}; the screen is:\n${this.text()}`, () => this.text().includes(text)).catch(() => {
      throw new Error(`gave up waiting for ${what} (“${text}”); the screen is:\n${this.text()}`);
    });
  }
}
