/**
 * Goes back to before a message of the person's: the conversation, the files, or both. What each would do is said first.
 */
import * as vscode from "vscode";
import type { UserInput } from "../protocol";
import { counts, fileParts, unifiedLines, withoutFiles } from "./diff";
import { Changed, rollBack } from "./roll_back";
import { showDiff } from "./show_diff";
import type { Threads } from "./threads";
import { isUndone, undoneFiles, undoneTurns } from "./view";
import type { ThreadView } from "./view";
import { nameOf, plain, textOf } from "./words";

/** A turn that begins with a message of the person's. */
interface Asked {
  readonly turnId: string;
  readonly message: readonly UserInput[];
}

/**
 * Asks what is to be as before the turn, the last one if none is named, and does it. The message is returned if it is gone from the conversation.
 */
export async function goBack(threads: Threads, view: ThreadView, turnId?: string): Promise<readonly UserInput[] | undefined> {
  const all = asked(view);
  const at = turnId === undefined ? all.length - 1 : all.findIndex((one) => one.turnId === turnId);
  const target = all[at];
  if (target === undefined) {
    throw new Error("There is no message to restore to.");
  }
  const gone = all.slice(at);
  const lastTurn = (): string | undefined => threads.get(view.id)?.view.lastTurn;
  let seen = lastTurn();
  const undone = undoneTurns(view);
  const diff = await diffOf(threads, view, gone.filter((one) => !undone.has(one.turnId)));
  const { files, added, removed } = sumOf(diff);
  // Short enough to be read to its end in a list.
  const back = `Undoes ${files === 1 ? "1 file" : `${files} files`}, +${added} −${removed}.`;
  const forgets = gone.length === 1 ? "Removes your last message and its answer." : `Removes your last ${gone.length} messages and their answers.`;
  const both = { label: "Conversation and Files", detail: `${forgets} ${back}` };
  const conversation = { label: "Conversation Only", detail: `${forgets} ${files === 0 ? "There is nothing to undo." : "Files stay."}` };
  const onlyFiles = { label: "Files Only", detail: `${back} The conversation stays.` };
  const show = { label: "Show What Would Be Undone", detail: "" };
  for (;;) {
    const chosen = await vscode.window.showQuickPick(files === 0 ? [conversation] : [both, conversation, onlyFiles, show], {
      title: `Restore to before “${nameOf(textOf(target.message), 60)}”`,
      placeHolder: "What you changed since then stays",
      ignoreFocusOut: true,
    });
    if (chosen === undefined) {
      return undefined;
    }
    if (chosen === show) {
      await showDiff(diff);
      continue;
    }
    if (lastTurn() !== seen) {
      throw new Changed();
    }
    if (chosen !== conversation) {
      seen = await undo(threads, view.id, target.turnId);
    }
    if (chosen === onlyFiles) {
      return undefined;
    }
    await rollBack(threads.request, { threadId: view.id, numTurns: gone.length, expectedTurnId: seen ?? null });
    return target.message;
  }
}

/** The files first: without its turns the conversation would not know what to undo. Gives the turn that has undone them. */
async function undo(threads: Threads, threadId: string, turnId: string): Promise<string> {
  const turn = await threads.finished(async () => (await threads.request("countersign/turn/undo", { threadId, turnId })).turnId);
  if (turn.status !== "completed") {
    throw new Error(`${turn.error?.message ?? "The undo was stopped."} The conversation stays as it is.`);
  }
  // The conversation may forget the undo in a moment.
  const files = turn.items.flatMap((item) => (item.type === "undo" ? item.files : []));
  const left = files.filter((file) => !isUndone(file)).map((file) => `${file.path}${file.message ? ` (${file.message})` : ""}`);
  if (left.length > 0) {
    void vscode.window.showWarningMessage(plain(`Not as before: ${nameOf(left.join("; "), 500)}`));
  }
  return turn.id;
}

function asked(view: ThreadView): Asked[] {
  const found: Asked[] = [];
  for (const { turnId, body } of view.rows) {
    if (turnId !== undefined && body.kind === "item" && body.item.type === "userMessage" && found.at(-1)?.turnId !== turnId) {
      found.push({ turnId, message: body.item.content });
    }
  }
  return found;
}

/** One after the other: of a long conversation there may be hundreds. */
async function diffOf(threads: Threads, view: ThreadView, turns: readonly Asked[]): Promise<string> {
  const diffs: string[] = [];
  for (const { turnId } of turns) {
    const { diff } = await threads.request("countersign/turn/diff", { threadId: view.id, turnId });
    diffs.push(withoutFiles(diff, view.cwd, undoneFiles(view, turnId)));
  }
  return diffs.join("");
}

/** Of a file that several turns changed each change is counted. */
function sumOf(diff: string): { files: number; added: number; removed: number } {
  const parts = fileParts(diff);
  const names = new Set(parts.map((part) => part.slice(0, part.indexOf("\n"))));
  const sums = parts.map((part) => counts(unifiedLines(part)));
  return { files: names.size, added: sums.reduce((sum, one) => sum + one.added, 0), removed: sums.reduce((sum, one) => sum + one.removed, 0) };
}
