/**
 * The person's settings that are the extension's own.
 */
import * as vscode from "vscode";
import { ofPerson } from "./settings";

/** What is saved after a change was accepted. */
export type SavePolicy = "clean" | "always" | "never";

function get<T>(name: string, otherwise: T): T {
  return (ofPerson(vscode.workspace.getConfiguration("countersign").inspect<T>(name)) as T | null | undefined) ?? otherwise;
}

/** Whether the editor's own preview shows proposals. */
export function reviewsInPreview(): boolean {
  return get<string>("proposals.review", "sideBar") === "refactorPreview";
}

export function savePolicy(): SavePolicy {
  const policy = get<string>("proposals.save", "clean");
  return policy === "always" || policy === "never" ? policy : "clean";
}

export function isToolOn(name: string): boolean {
  return get(`editorTools.${name}`, true);
}

/** Whether the files that the agent reads and changes are shown as it goes. */
export function followsAgent(): boolean {
  return get("followAgent", false);
}

/** Whether a sound goes with the message that a turn has ended or waits. */
export function playsSound(): boolean {
  return get("notifications.sound", false);
}

/** Seconds after which the end of a turn is told of; undefined for never. */
export function notifyAfter(): number | undefined {
  const seconds = get<number>("notifications.afterSeconds", 20);
  return seconds < 0 ? undefined : seconds;
}
