/**
 * The server's commands on conversations, as the person calls them by the palette: they say nothing of which, and the one in view is meant. And
 * those that ask the agent about a place in a file: the chat in view shows the answer.
 */
import * as vscode from "vscode";
import { foldersOnDisk } from "../folders";
import { taskOf } from "./about";
import type { ConversationAction } from "./page";
import { chooseReview } from "./review_target";
import type { ChatSurfaces } from "./surfaces";
import type { Threads } from "./threads";
import { threadName } from "./words";

const ACTIONS: Readonly<Partial<Record<string, ConversationAction>>> = {
  "countersign.newThread": "new",
  "countersign.undoLastTurn": "undo",
  "countersign.showTurnDiff": "diff",
  "countersign.compactThread": "compact",
  "countersign.forkThread": "fork",
  "countersign.rollBack": "rollback",
  "countersign.archiveThread": "archive",
  "countersign.deleteThread": "delete",
  "countersign.stopTerminals": "stopTerminals",
};

/** What may be done without a conversation in view: the server knows which one an action in a file has begun. */
const ELSEWHERE: readonly (ConversationAction | undefined)[] = ["undo", "diff"];

/** Does what a command of the server's says, if it is one that is about the conversation in view; false if the server is to do it. */
export async function onConversation(command: string, args: readonly unknown[], chats: ChatSurfaces, threads: Threads): Promise<boolean> {
  if (args.some((one) => one !== undefined && one !== null)) {
    return about(command, args[0], chats);
  }
  if (command === "countersign.openThread") {
    await resume(chats, threads);
    return true;
  }
  if (command === "countersign.reviewChanges") {
    const target = await chooseReview();
    if (target !== undefined) await (await chats.here()).review(target);
    return true;
  }
  if (command === "countersign.stop") {
    await stop(chats, threads);
    return true;
  }
  const action = ACTIONS[command];
  if (action === undefined) {
    return false;
  }
  if (await chats.act(action)) {
    return true;
  }
  if (ELSEWHERE.includes(action)) {
    return false;
  }
  const open = "Open Chat";
  if ((await vscode.window.showInformationMessage("No conversation is in view. Open the chat and choose one.", open)) === open) {
    await chats.focus();
  }
  return true;
}

/** Asks the agent about a place. False if the server is to do it. */
export async function about(command: string, given: unknown, chats: ChatSurfaces): Promise<boolean> {
  const task = taskOf(command, given);
  if (task === undefined) {
    return false;
  }
  const written = task.input === undefined ? "" : await vscode.window.showInputBox({ ...task.input, prompt: "The answer is in the chat.", ignoreFocusOut: true });
  if (task.input === undefined || (written ?? "").trim() !== "") {
    await (await chats.here({ preserveFocus: true })).ask(task.words((written ?? "").trim()), task.context);
  }
  return true;
}

/** Shows the conversation of this folder that was used last in the chat in view. */
async function resume(chats: ChatSurfaces, threads: Threads): Promise<void> {
  const { data } = await threads.request("countersign/thread/list", { cwd: foldersOnDisk()[0]?.uri.fsPath ?? null, limit: 1, modelProviders: [] });
  const [last] = data;
  if (last === undefined) {
    void vscode.window.showInformationMessage("There is no earlier conversation in this folder.");
    return;
  }
  await (await chats.here()).resume(last.id);
}

/** Stops the turn in view; where none runs there, the one that runs elsewhere, or the chosen one. */
async function stop(chats: ChatSurfaces, threads: Threads): Promise<void> {
  const all = threads.all.filter(({ view }) => view.running !== undefined);
  const inView = all.find(({ view }) => view.id === chats.inView);
  // An agent that works for another one ends with it.
  const running = all.filter(({ view }) => view.agent === undefined);
  const named = running.map(({ view }) => ({ id: view.id, label: threadName(view, "Conversation", 80) }));
  const [only] = named.length === 1 ? named : [undefined];
  const chosen = inView === undefined ? (only ?? (named.length === 0 ? undefined : await vscode.window.showQuickPick(named, { title: "Which turn should be stopped?" }))) : { id: inView.view.id, label: threadName(inView.view, "Conversation", 80) };
  if (chosen !== undefined) {
    const { interrupted } = await threads.request("countersign/turn/interrupt", { threadId: chosen.id });
    void vscode.window.setStatusBarMessage(interrupted ? `Stopped: ${chosen.label}` : `Nothing is running in ${chosen.label}`, 5000);
  } else if (named.length === 0) {
    void vscode.window.showInformationMessage("Nothing is running.");
  }
}
