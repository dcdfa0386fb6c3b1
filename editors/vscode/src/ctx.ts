/**
 * The extension's state: one server at most, its log, its status. The only place that starts and stops the server.
 */
import * as fs from "node:fs";
import * as os from "node:os";
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { State } from "vscode-languageclient/node";
import { BackOff } from "./backoff";
import type { Threads } from "./chat/threads";
import type { Remedy } from "./chat/wire";
import { createClient, rpcOf, sendSettings } from "./client";
import type { Accept, OnConversation } from "./client";
import { foldersElsewhere, foldersOnDisk } from "./folders";
import type { Questions } from "./questions";
import type { Found, Machine } from "./server_path";
import { findServer, INSTALL_COMMAND } from "./server_path";
import type { ServerSettings } from "./settings";
import { ofPerson, serverSettings } from "./settings";
import type { ServerState } from "./status";
import { StatusItem } from "./status";

const INSTALL = "How to Install";
const OPEN_SETTING = "Open Setting";
const SHOW_LOG = "Show Log";

/** Something to be undone when its owner ends. */
interface Cleanup {
  dispose(): unknown;
}

export class Ctx implements vscode.Disposable {
  readonly status = new StatusItem();
  /** Lives as long as the extension. */
  private readonly extCleanup: Cleanup[] = [this.status];
  /** Lives as long as one client; emptied whenever that ends. */
  private clientCleanup: Cleanup[] = [];
  private client: LanguageClient | undefined;
  private currentState: ServerState = { kind: "stopped" };
  private readonly stateChanges = new vscode.EventEmitter<ServerState>();
  readonly onState = this.stateChanges.event;
  /** Starts and stops one after the other: each waits for the one before. */
  private queue: Promise<void> = Promise.resolve();
  private readonly backOff = new BackOff();
  private again: NodeJS.Timeout | undefined;

  constructor(
    private readonly extensionPath: string,
    readonly log: vscode.LogOutputChannel,
    private readonly threads: Threads,
    private readonly questions: Questions,
    private readonly accept: Accept,
    private readonly onConversation: OnConversation,
  ) {
    this.extCleanup.push(log);
  }

  get state(): ServerState {
    return this.currentState;
  }

  pushExtCleanup(item: Cleanup): void {
    this.extCleanup.push(item);
  }

  /** What keeps the server from running, in words; undefined if nothing does. */
  get trouble(): string | undefined {
    const { currentState: state } = this;
    return state.kind === "failed" ? `${state.problem} ${state.advice}` : state.kind === "stopped" ? "The server is stopped. Start it to continue." : undefined;
  }

  /** What the person can do first where the server does not run. */
  get remedy(): Remedy {
    const { currentState: state } = this;
    return state.kind === "failed" ? (state.remedy ?? "start") : "start";
  }

  start(): Promise<void> {
    this.backOff.reset();
    return this.enqueue(() => this.startNow());
  }

  stop(): Promise<void> {
    return this.enqueue(() => this.stopNow());
  }

  restart(): Promise<void> {
    this.backOff.reset();
    return this.enqueue(async () => {
      // Not by stopNow: nobody needs to be told to start what is just being started.
      await this.dropClient();
      await this.startNow();
    });
  }

  /** Other folders: it may run now, or no longer, and the status says which of them it does not see. */
  async foldersChanged(): Promise<void> {
    await this.start();
    this.setState(this.currentState);
  }

  private find(): { settings: ServerSettings; problems: readonly string[]; found: Found } {
    const { settings, problems } = serverSettings(ofPerson(vscode.workspace.getConfiguration("countersign").inspect("server")));
    const folders = foldersOnDisk().map((folder) => folder.uri.fsPath);
    return { settings, problems, found: findServer({ configured: settings.path, extensionPath: this.extensionPath, folders }, thisMachine) };
  }

  /** The program that would be started, or undefined after telling the person what to do. */
  locate(): { program: string; settings: ServerSettings } | undefined {
    const { settings, problems, found } = this.find();
    for (const problem of problems) {
      this.log.warn(problem);
    }
    switch (found.kind) {
      case "found":
        this.log.info(`Server: ${found.program} (from ${found.origin})`);
        return { program: found.program, settings };
      case "misconfigured":
        this.fail(
          `The Countersign server is not at ${found.program}.`,
          "Correct the setting countersign.server.path, or clear it to have the server searched for.",
        );
        return undefined;
      case "missing":
        this.log.warn(`No program named countersign in: ${found.places.join(", ")}`);
        this.fail(
          found.refused.length === 0 ? "The Countersign server is not installed." : `The Countersign server is only in a project's folder, from where it is not started: ${found.refused.join(", ")}.`,
          `Install it: run \`${INSTALL_COMMAND}\` in Countersign's repository. It is found there by itself; a program elsewhere is named in the setting countersign.server.path.`,
          "install",
        );
        return undefined;
    }
  }

  /** The person is back at the window: a server that was not installed may be there by now. Nothing is said where it is not. */
  async lookAgain(): Promise<void> {
    if (this.remedy === "install" && this.find().found.kind === "found") await this.start();
  }

  /** Called when the editor closes: the server must be gone before the extension is. */
  async shutdown(): Promise<void> {
    await this.stop();
    this.dispose();
  }

  dispose(): void {
    disposeAll(this.clientCleanup);
    disposeAll(this.extCleanup);
  }

  private async startNow(): Promise<void> {
    const obstacle = obstacleTo();
    if (obstacle !== undefined) {
      // The last folder in which it could work may just have been closed.
      await this.dropClient();
      this.setState({ kind: "failed", ...obstacle });
      return;
    }
    if (this.client !== undefined) {
      return;
    }
    const located = this.locate();
    if (located === undefined) {
      return;
    }
    const { program, settings } = located;
    const client = createClient({ program, settings, log: this.log, threads: this.threads, questions: this.questions, accept: this.accept, onConversation: this.onConversation });
    this.client = client;
    this.clientCleanup.push(
      client.onDidChangeState(({ newState }) => {
        this.onClientState(client, program, newState);
      }),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("countersign") && client.isRunning()) {
          void sendSettings(client);
        }
      }),
    );
    this.setState({ kind: "starting" });
    try {
      await client.start();
    } catch (error) {
      this.log.error(`The server did not start: ${String(error)}`);
      await this.dropClient();
      this.fail(`The Countersign server (${program}) did not start: ${message(error)}.`, "The log has what it said. “Countersign: Run Diagnostics” checks the installation.");
    }
  }

  private async stopNow(): Promise<void> {
    await this.dropClient();
    this.setState({ kind: "stopped" });
  }

  private async dropClient(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    clearTimeout(this.again);
    disposeAll(this.clientCleanup);
    this.threads.connect(undefined);
    if (client === undefined) {
      return;
    }
    try {
      // The server ends in order within three seconds; past that it is killed.
      await client.dispose(4000);
    } catch (error) {
      this.log.warn(`The server did not shut down cleanly: ${message(error)}`);
    }
  }

  private onClientState(client: LanguageClient, program: string, state: State): void {
    if (client !== this.client) {
      return;
    }
    switch (state) {
      case State.Starting:
        this.setState({ kind: "starting" });
        break;
      case State.Running:
        this.backOff.started(Date.now());
        this.setState({ kind: "running", program, version: client.initializeResult?.serverInfo?.version });
        this.threads.connect(rpcOf(client));
        break;
      case State.Stopped:
      case State.StartFailed:
        this.ended();
        break;
    }
  }

  /** The server has ended by itself: it is started again, after a while. */
  private ended(): void {
    const wait = this.backOff.ended(Date.now());
    this.threads.connect(undefined);
    if (wait === undefined) {
      this.fail("The Countersign server keeps stopping.", "See the log. “Countersign: Run Diagnostics” checks the installation; then run “Countersign: Restart Server”.");
      return;
    }
    this.log.warn(`The server has ended; it is started again in ${wait} ms`);
    this.setState({ kind: "failed", problem: "The Countersign server has stopped.", advice: `See the log. Restarting in ${Math.ceil(wait / 1000)} s.` });
    this.again = setTimeout(() => {
      void this.enqueue(async () => {
        await this.dropClient();
        await this.startNow();
      });
    }, wait);
  }

  /** Shows a problem where it can be seen, each time, and keeps it in the status bar. */
  private fail(problem: string, advice: string, remedy?: Remedy): void {
    this.setState({ kind: "failed", problem, advice, ...(remedy === undefined ? {} : { remedy }) });
    this.log.error(`${problem} ${advice}`);
    void vscode.window.showErrorMessage(`${problem} ${advice}`, ...(remedy === "install" ? [INSTALL] : []), OPEN_SETTING, SHOW_LOG).then((choice) => {
      if (choice === INSTALL) {
        void vscode.commands.executeCommand("countersign.server.install");
      } else if (choice === OPEN_SETTING) {
        // In a remote window the program is on the remote side, and so is its setting.
        const open = vscode.env.remoteName === undefined ? "workbench.action.openSettings" : "workbench.action.openRemoteSettings";
        void vscode.commands.executeCommand(open, { query: "countersign.server.path" });
      } else if (choice === SHOW_LOG) {
        this.log.show();
      }
    });
  }

  private setState(state: ServerState): void {
    this.currentState = state;
    this.status.show(state);
    this.stateChanges.fire(state);
    // The server's own commands can be called while it runs.
    void vscode.commands.executeCommand("setContext", "countersign.running", state.kind === "running");
  }

  private enqueue(step: () => Promise<void>): Promise<void> {
    const run = this.queue.then(step);
    // One step's failure must not keep the next from being tried.
    this.queue = run.catch((error: unknown) => {
      this.log.error(message(error));
    });
    return run;
  }
}

/** Why no server can be of use in this window. */
function obstacleTo(): { problem: string; advice: string; remedy: Remedy } | undefined {
  if (!vscode.workspace.isTrusted) {
    return { problem: "This folder is not trusted, so the agent does not start in it.", advice: "It would read the folder's instructions and run commands there. Trust the folder (“Workspaces: Manage Workspace Trust”) to use it.", remedy: "trust" };
  }
  const elsewhere = foldersElsewhere();
  if (elsewhere.length > 0 && foldersOnDisk().length === 0) {
    return { problem: elsewhere.length === 1 ? "The folder of this window is not on a disk." : "The folders of this window are not on a disk.", advice: "The agent runs commands and keeps them in a sandbox, and both need files on a disk, so it does not start here. Your conversations are kept: open a local or a remote folder to use them.", remedy: "folder" };
  }
  return undefined;
}

const thisMachine: Machine = {
  platform: process.platform,
  home: os.homedir(),
  env: process.env,
  isProgram(file) {
    try {
      fs.accessSync(file, fs.constants.X_OK);
      return fs.statSync(file).isFile();
    } catch {
      return false;
    }
  },
  realPath(file) {
    try {
      return fs.realpathSync(file);
    } catch {
      return file;
    }
  },
};

function disposeAll(items: Cleanup[]): void {
  for (const item of items.splice(0)) {
    item.dispose();
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
