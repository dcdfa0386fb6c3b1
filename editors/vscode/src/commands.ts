/**
 * What the person can call, one function each. `package.json` lists the same names; a test compares them.
 */
import * as vscode from "vscode";
import type { AccountItem } from "./account";
import type { Attention } from "./chat/attention";
import { mention } from "./chat/mentions";
import { about } from "./chat/palette";
import { plain } from "./chat/words";
import type { ChatSurfaces } from "./chat/surfaces";
import type { Ctx } from "./ctx";
import { foldersOnDisk } from "./folders";
import type { McpView, Row } from "./mcp_view";
import type { Review } from "./proposals/review";
import { serverEnvironment } from "./settings";
import { runInTerminal } from "./terminal";

/** What commands work with. */
export interface Parts {
  readonly ctx: Ctx;
  readonly chats: ChatSurfaces;
  readonly review: Review;
  readonly attention: Attention;
  readonly account: AccountItem;
  readonly mcp: McpView;
}

export type Command = (parts: Parts) => (given: unknown) => unknown;

export const start: Command = ({ ctx }) => () => ctx.start();

export const stop: Command = ({ ctx }) => () => ctx.stop();

export const restart: Command = ({ ctx }) => () => ctx.restart();

/** The page that says how the server is installed. */
export const install: Command = () => () => vscode.commands.executeCommand("workbench.action.openWalkthrough", { category: "countersign.countersign#start", step: "server" }, false);

export const showLog: Command = ({ ctx }) => () => {
  ctx.log.show();
};

/** Shows what the server is doing and offers what fits. */
export const showStatus: Command = ({ ctx }) => async () => {
  const { state } = ctx;
  const actions: (vscode.QuickPickItem & { command: string })[] = [];
  if (state.kind === "running" || state.kind === "starting") {
    actions.push({ label: "$(debug-restart) Restart server", command: "countersign.server.restart" });
    actions.push({ label: "$(debug-stop) Stop server", command: "countersign.server.stop" });
  } else {
    actions.push({ label: "$(debug-start) Start server", command: "countersign.server.restart" });
  }
  actions.unshift({ label: "$(comment-discussion) Open chat", command: "countersign.chat.open" });
  if (state.kind === "failed" && state.remedy === "install") {
    actions.unshift({ label: "$(cloud-download) How to install the server", command: "countersign.server.install" });
  }
  if (state.kind === "running") {
    actions.push({ label: "$(account) Account", command: "countersign.account.show" });
  }
  actions.push({ label: "$(output) Show log", command: "countersign.server.showLog" });
  actions.push({ label: "$(pulse) Run diagnostics", command: "countersign.server.doctor" });
  const title = state.kind === "failed" ? `${state.problem} ${state.advice}` : `Countersign is ${state.kind}`;
  const picked = await vscode.window.showQuickPick(actions, { title });
  if (picked !== undefined) {
    await vscode.commands.executeCommand(picked.command);
  }
};

export const showAccount: Command = ({ account }) => async () => {
  try {
    await account.show();
  } catch (error) {
    void vscode.window.showErrorMessage(`The account cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
  }
};

/** The server's own check of this machine. */
export const doctor: Command = ({ ctx }) => () => { runOwn(ctx, "Countersign Diagnostics", ["doctor"]); };

/** The product at work, without a key or a network. */
export const demo: Command = ({ ctx }) => () => { runOwn(ctx, "Countersign Demo", ["demo", "--yes"]); };

function runOwn(ctx: Ctx, name: string, args: readonly string[]): void {
  const located = ctx.locate();
  if (located !== undefined) {
    runInTerminal({ name, program: located.program, args, env: { ...serverEnvironment(process.env, located.settings.env), COUNTERSIGN_EDITOR: "VS Code" }, cwd: foldersOnDisk()[0]?.uri.fsPath });
  }
}

export const openChat: Command = ({ chats }) => (threadId: unknown) => chats.focus(typeof threadId === "string" ? threadId : undefined);

export const newChat: Command = ({ chats }) => () => chats.fresh();

export const openChatInEditor: Command = ({ chats }) => (threadId: unknown) => {
  chats.openInEditor(typeof threadId === "string" ? threadId : undefined);
};

/** Copies the conversation in view, or writes it to a file. */
function onView(action: "copy" | "export"): Command {
  return ({ chats }) => async () => {
    if (!(await chats.act(action))) void vscode.window.showInformationMessage("No conversation is in view. Open the chat and choose one.");
  };
}

export const copyChat = onView("copy");

export const exportChat = onView("export");

/** Puts the selected lines into the composer, as a mention. */
export const addSelection: Command = ({ chats, attention }) => () => {
  const editor = attention.editor;
  return editor === undefined ? chats.focus() : chats.insert(mention(vscode.workspace.asRelativePath(editor.document.uri, false), attention.lines ?? lineOf(editor)));
};

/** Asks about the selected lines, or has them rewritten, as the code actions do. */
function onSelection(command: "countersign.ask" | "countersign.rewrite"): Command {
  return ({ chats, attention }) => async () => {
    const { place } = attention;
    if (place === undefined || !(await about(command, place, chats))) void vscode.window.showInformationMessage("Open a file and select the lines that you mean.");
  };
}

export const askAboutSelection = onSelection("countersign.ask");

export const rewriteSelection = onSelection("countersign.rewrite");

/** Puts a file of the explorer into the composer, or the one in view. */
export const addFile: Command = ({ chats, attention }) => (uri: unknown) => {
  const file = uri instanceof vscode.Uri ? uri : attention.editor?.document.uri;
  return file === undefined ? chats.focus() : chats.insert(mention(vscode.workspace.asRelativePath(file, false)));
};

export const openProposal: Command = ({ review }) => (given: unknown) => {
  const target = review.target(given);
  return typeof target !== "object" ? vscode.commands.executeCommand("countersign.proposals.focus") : review.open(target);
};

export const openWholeProposal: Command = ({ review }) => (given: unknown) => {
  const target = review.target(given);
  return typeof target !== "object" ? vscode.commands.executeCommand("countersign.proposals.focus") : review.openAll(target);
};

export const acceptProposal: Command = ({ review }) => (given: unknown) => review.decide(given, "accept");

export const rejectProposal: Command = ({ review }) => (given: unknown) => review.decide(given, "reject");

export const resetProposal: Command = ({ review }) => (given: unknown) => review.decide(given, "reset");

export const rejectWithWords: Command = ({ review }) => (given: unknown) => review.rejectWithWords(given);

export const acceptHunk: Command = ({ review }) => () => review.decideAtCursor("accept");

export const rejectHunk: Command = ({ review }) => () => review.decideAtCursor("reject");

export const resetHunk: Command = ({ review }) => () => review.decideAtCursor("reset");

export const rejectHunkWithWords: Command = ({ review }) => () => review.rejectAtCursorWithWords();

/**
 * The commands of the tree's rows. They never fall back to the file in view: a row that is clicked in the moment in which it is drawn anew
 * comes as nothing, and the person meant that row and no other.
 */
function onRow(act: (parts: Parts, row: unknown) => unknown): Command {
  return (parts) => (row: unknown) => (row === undefined ? void vscode.window.setStatusBarMessage("Countersign: the list has just changed. Please choose again.", 5000) : act(parts, row));
}

export const acceptRow = onRow(({ review }, row) => review.decide(row, "accept"));

export const rejectRow = onRow(({ review }, row) => review.decide(row, "reject"));

export const resetRow = onRow(({ review }, row) => review.decide(row, "reset"));

export const rejectRowWithWords = onRow(({ review }, row) => review.rejectWithWords(row));

/** Does something with an MCP server, and says why where that fails. */
function onServer(act: (parts: Parts, server: string) => Promise<void>): Command {
  return onRow(async (parts, row) => {
    try {
      await act(parts, (row as Row).server.name);
    } catch (error) {
      void vscode.window.showErrorMessage(plain(error instanceof Error ? error.message : String(error)));
    }
  });
}

export const signInRow = onServer(({ mcp }, server) => mcp.signIn(server));

export const signOutRow = onServer(({ mcp }, server) => mcp.signOut(server));

export const restartServers: Command = ({ mcp }) => async () => {
  try {
    await mcp.restart();
  } catch (error) {
    void vscode.window.showErrorMessage(`The MCP servers could not be restarted: ${plain(error instanceof Error ? error.message : String(error))}`);
  }
};

export const acceptAll: Command = ({ review }) => () => review.decideAll("accept");

export const rejectAll: Command = ({ review }) => () => review.decideAll("reject");

export const nextHunk: Command = ({ review }) => () => review.go(1);

export const previousHunk: Command = ({ review }) => () => review.go(-1);

function lineOf(editor: vscode.TextEditor): { start: number; end: number } {
  const line = editor.selection.active.line + 1;
  return { start: line, end: line };
}
