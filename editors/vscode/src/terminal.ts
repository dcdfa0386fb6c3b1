/**
 * Runs a program of ours in a terminal that stays open when it has ended, so that what it says can be read and copied.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import * as vscode from "vscode";

export interface Run {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string | undefined;
}

export function runInTerminal(run: Run): void {
  vscode.window.createTerminal({ name: run.name, pty: new Output(run) }).show();
}

class Output implements vscode.Pseudoterminal {
  private readonly writes = new vscode.EventEmitter<string>();
  private readonly closes = new vscode.EventEmitter<void>();
  readonly onDidWrite = this.writes.event;
  readonly onDidClose = this.closes.event;
  private child: ChildProcess | undefined;
  private isOver = false;

  constructor(private readonly run: Run) {}

  open(size: vscode.TerminalDimensions | undefined): void {
    const { program, args, env, cwd } = this.run;
    const columns = size === undefined ? {} : { COLUMNS: String(size.columns) };
    const child = spawn(program, args, { env: { ...env, ...columns, CLICOLOR_FORCE: "1" }, ...(cwd === undefined ? {} : { cwd }), stdio: ["pipe", "pipe", "pipe"] });
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => { this.writes.fire(text.replace(/\r?\n/g, "\r\n")); });
    }
    child.on("error", (error) => { this.end(`${program} could not be started: ${error.message}`); });
    child.on("close", (code, signal) => { this.end(code === 0 ? "" : `It ended with ${code === null ? (signal ?? "a signal") : `status ${code}`}.`); });
  }

  close(): void {
    this.child?.kill();
  }

  /** What is typed goes to the program; once it has ended, any key closes the terminal. */
  handleInput(data: string): void {
    if (this.isOver) {
      this.closes.fire();
    } else if (data === "\u0003") {
      this.child?.kill();
    } else {
      this.child?.stdin?.write(data === "\r" ? "\n" : data);
    }
  }

  private end(words: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.writes.fire(`${words === "" ? "" : `\r\n${words}`}\r\n\u001b[2mPress any key to close this terminal.\u001b[0m\r\n`);
  }
}
