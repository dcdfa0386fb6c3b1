/**
 * The way to the extension, and what is kept for after a reload.
 */
import type { FromPage } from "../src/chat/wire";

interface Api {
  postMessage(message: FromPage): void;
  getState(): unknown;
  setState(state: Kept): void;
}

/** What comes back after a reload. */
export interface Kept {
  readonly threadId: string | null;
  /** What it is called. */
  readonly name: string;
  readonly draft: string;
  /** Rows of what commands changed that the person keeps, newest last. */
  readonly keeps: readonly string[];
}

declare function acquireVsCodeApi(): Api;

const api = acquireVsCodeApi();

export function post(message: FromPage): void {
  api.postMessage(message);
}

export function kept(): Kept {
  const state = api.getState() as Partial<Kept> | undefined;
  return { threadId: typeof state?.threadId === "string" ? state.threadId : null, name: typeof state?.name === "string" ? state.name : "", draft: typeof state?.draft === "string" ? state.draft : "", keeps: Array.isArray(state?.keeps) ? state.keeps : [] };
}

export function keep(state: Kept): void {
  api.setState(state);
}
