/**
 * The server's commands on conversations, as the person calls them by the palette: they say nothing of which, and the one in view is meant.
 */
import * as vscode from "vscode";
import type { ConversationAction } from "./page";
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
    return false;
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

/** Stops the turn in view; where none runs there, the one that runs elsewhere, or the chosen one. */
async function stop(chats: ChatSurfaces, threads: Threads): Promise<void> {
  const all = threads.all.filter(({ view }) => view.running !== undefined);
  const inView = all.find(({ view }) => view.id === chats.inView);
  // An agent that works for another one ends with it.
  const running = all.filter(({ view }) => view.agent === undefined);
  const named = running.map(({ view }) => ({ id: view.id, label: threadName(view, "Conversation", 80) }));
  const [only] = named.length === 1 ? named : [undefined];
  const chosen = inView === undefined ? (only ?? (named.length === 0 ? undefined : await vscode.window.showQuickPick(named, { title: "Which turn is to be stopped?" }))) : { id: inView.view.id, label: threadName(inView.view, "Conversation", 80) };
  if (chosen !== undefined) {
    const { interrupted } = await threads.request("countersign/turn/interrupt", { threadId: chosen.id });
    void vscode.window.setStatusBarMessage(interrupted ? `Stopped: ${chosen.label}` : `Nothing is running in ${chosen.label}`, 5000);
  } else if (named.length === 0) {
    void vscode.window.showInformationMessage("Nothing is running.");
  }
}
