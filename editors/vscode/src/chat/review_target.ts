/**
 * What is to be reviewed, as the person chooses it.
 */
import * as vscode from "vscode";
import type { ReviewTarget } from "../protocol";

/** Undefined where they choose nothing. */
export async function chooseReview(): Promise<ReviewTarget | undefined> {
  const items = [
    { label: "Uncommitted Changes", detail: "What git does not have yet, new files too", ask: (): Promise<ReviewTarget | undefined> => Promise.resolve({ type: "uncommittedChanges" }) },
    { label: "Changes Against a Branch…", detail: "What this branch has and the other does not", ask: async (): Promise<ReviewTarget | undefined> => given(await ask("Branch", "The branch to compare with", "main"), (branch) => ({ type: "baseBranch", branch })) },
    { label: "A Commit…", detail: "What one commit changed", ask: async (): Promise<ReviewTarget | undefined> => given(await ask("Commit", "A commit as git takes it, such as HEAD or a short hash", "HEAD"), (sha) => ({ type: "commit", sha })) },
  ];
  const picked = await vscode.window.showQuickPick(items, { title: "Start Code Review", placeHolder: "What should be reviewed?" });
  return picked?.ask();
}

function ask(title: string, prompt: string, value: string): Thenable<string | undefined> {
  return vscode.window.showInputBox({ title, prompt, value, ignoreFocusOut: true });
}

function given(text: string | undefined, made: (text: string) => ReviewTarget): ReviewTarget | undefined {
  const word = text?.trim() ?? "";
  return word === "" ? undefined : made(word);
}
