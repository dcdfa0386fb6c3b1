/**
 * What every chat page shares.
 */
import type * as vscode from "vscode";
import type { Refusal } from "../proposals/state";
import type { Target } from "../proposals/store";
import type { ShownHunks } from "../proposals/viewed";
import type { HunkId } from "../protocol";
import type { Questions } from "../questions";
import type { Attention } from "./attention";
import type { Threads } from "./threads";
import type { Remedy } from "./wire";

export interface ChatServices {
  readonly threads: Threads;
  readonly questions: Questions;
  readonly attention: Attention;
  /** Decides on a proposal, once the server has what was typed in it. */
  decide(target: Target, decision: Refusal): Promise<void>;
  /** Accepts these hunks of a proposal, which were shown, in the same way. */
  accept(proposalId: string, hunkIds: readonly HunkId[], leaveOut: readonly HunkId[]): Promise<void>;
  /** What diff editors show of proposals, and have shown. */
  readonly onShown: vscode.Event<ShownHunks>;
  allShown(): readonly ShownHunks[];
  /** Says that another thread may be in view now. */
  seen(): void;
  /** The folder for a new conversation: undefined where there is none to choose, null where the person chose none. */
  folder(): Promise<string | undefined | null>;
  /** The server's state or the folders are others than before: so may be what follows. */
  readonly onState: vscode.Event<unknown>;
  /** Shows a conversation that another server has open, to be read. */
  readOnly(threadId: string): Promise<void>;
  /** Why there is no server, in words. */
  trouble(): string | undefined;
  /** What can be done about that first. */
  remedy(): Remedy;
}
