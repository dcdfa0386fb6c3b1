/**
 * What every chat page shares.
 */
import type * as vscode from "vscode";
import type { Target } from "../proposals/store";
import type { ProposalDecision } from "../protocol";
import type { Questions } from "../questions";
import type { Attention } from "./attention";
import type { Threads } from "./threads";
import type { Remedy } from "./wire";

export interface ChatServices {
  readonly threads: Threads;
  readonly questions: Questions;
  readonly attention: Attention;
  /** Decides on a proposal, once the server has what was typed in it. */
  decide(target: Target, decision: ProposalDecision): Promise<void>;
  /** Says that another thread may be in view now. */
  seen(): void;
  /** The folder for a new conversation: undefined where there is none to choose, null where the person chose none. */
  folder(): Promise<string | undefined | null>;
  /** The server's state or the folders are others than before: so may be what follows. */
  readonly onState: vscode.Event<unknown>;
  /** Why there is no server, in words. */
  trouble(): string | undefined;
  /** What can be done about that first. */
  remedy(): Remedy;
}
