/**
 * What the page and the extension say to each other. The page is not trusted with more than a person can do by hand: the extension
 * checks each message.
 */
import type {
  AccountSetupResult,
  ApprovalResponse,
  FileMatch,
  HunkId,
  McpElicitationResponse,
  McpRequestId,
  Mode,
  Model,
  Prompt,
  ThreadContextResult,
  ThreadFound,
  Thread,
  UserInputResponse,
} from "../protocol";
import type { Approvals } from "./approvals";
import type { Refusal } from "../proposals/state";
import type { ThreadEvent } from "../rpc";
import type { CommandName } from "./mentions";
import type { ThreadView } from "./view";

/** What a thread of the list shows. */
export interface ThreadEntry {
  readonly id: string;
  readonly title: string;
  readonly cwd: string;
  readonly updatedAtMs: number;
  readonly status: Thread["status"];
  readonly archived: boolean;
  readonly snippet?: ThreadFound["snippet"];
}

export interface SymbolEntry {
  readonly name: string;
  readonly kind: string;
  readonly container: string;
  /** As it is mentioned. */
  readonly mention: string;
}

/** What may be changed for the turns to come. */
export interface Choices {
  readonly mode?: Mode;
  readonly model?: { readonly id: string; readonly provider: string };
  readonly effort?: string;
  readonly approvals?: Approvals;
}

/** What is to be done first where no server can run: installed, started again, a folder trusted, another folder opened. */
export type Remedy = "install" | "start" | "trust" | "folder";

export type FromPage =
  /** `name`: what the conversation of before a reload is called. */
  | { readonly type: "ready"; readonly threadId: string | null; readonly name: string }
  /** Shows a conversation that another server has open, to be read. */
  | { readonly type: "readOnly"; readonly threadId: string }
  /** Tries again to open the conversation that could not be. */
  | { readonly type: "reopen" }
  /** The person is in this page now. */
  | { readonly type: "focused" }
  | { readonly type: "open"; readonly threadId: string }
  | { readonly type: "new" }
  | { readonly type: "threads"; readonly search: string; readonly archived: boolean; readonly cursor: string | null }
  | { readonly type: "threadAction"; readonly action: "rename" | "fork" | "archive" | "unarchive" | "delete" | "editor"; readonly threadId: string }
  /** `token`: by which the composer is told whether it was sent; null for what it does not hold. */
  | { readonly type: "send"; readonly token: number | null; readonly text: string; readonly images: readonly string[]; readonly queue: boolean; readonly choices: Choices; readonly leaveOut: readonly ("activeFile" | "selection")[] }
  | { readonly type: "command"; readonly token: number | null; readonly name: CommandName }
  | { readonly type: "queue"; readonly action: "remove" | "up" | "down" | "edit" | "resume"; readonly queuedId: string; readonly text: string }
  | { readonly type: "answerApproval"; readonly approvalId: string; readonly response: ApprovalResponse }
  | { readonly type: "answerInput"; readonly id: string; readonly response: UserInputResponse | null }
  | { readonly type: "answerElicitation"; readonly id: string; readonly server: string; readonly requestId: McpRequestId; readonly response: McpElicitationResponse }
  /** Opens what an MCP server wants to be opened, and answers by whether it was. */
  | { readonly type: "openElicitation"; readonly id: string; readonly server: string; readonly requestId: McpRequestId; readonly url: string }
  | { readonly type: "decide"; readonly proposalId: string; readonly decision: Refusal; readonly hunkIds: readonly HunkId[] | null }
  /** Accepts what the page has shown, by its ids. `leaveOut`: what does not fit and is given up with that. */
  | { readonly type: "accept"; readonly proposalId: string; readonly hunkIds: readonly HunkId[]; readonly leaveOut: readonly HunkId[] }
  | { readonly type: "rejectWithWords"; readonly proposalId: string; readonly hunkIds: readonly HunkId[] | null }
  /** Shows the diff of one file, or of all in one editor. */
  | { readonly type: "showProposal"; readonly proposalId: string; readonly path: string | null }
  | { readonly type: "searchFiles"; readonly token: number; readonly query: string }
  | { readonly type: "code"; readonly action: "copy" | "insert" | "apply"; readonly text: string; readonly language: string }
  | { readonly type: "link"; readonly href: string }
  | { readonly type: "file"; readonly path: string; readonly line: number | null }
  | { readonly type: "killTerminal"; readonly terminalId: number }
  | { readonly type: "sendOutput"; readonly itemId: string }
  | { readonly type: "openOutput"; readonly itemId: string }
  | { readonly type: "overrule"; readonly assessmentId: string }
  /** Looks again whether a model can be asked. */
  | { readonly type: "setup" }
  /** Asks for the models again, where the page has none. */
  | { readonly type: "models" }
  /** Keeps a key of the provider's. */
  | { readonly type: "saveKey"; readonly key: string }
  /** Asks the model again at once, where that is waited for. */
  | { readonly type: "retryNow" }
  /** Sends the message of a failed turn again, in its place. `token`: as of `send`, for what was picked. */
  | { readonly type: "retry"; readonly token: number; readonly turnId: string; readonly choices: Choices }
  /** Goes back to before a turn; the person is asked how far. */
  | { readonly type: "goBack"; readonly turnId: string }
  /** Undoes what a command changed; no paths mean all of it. */
  | { readonly type: "undoChanges"; readonly itemId: string; readonly paths: readonly string[] }
  | { readonly type: "help"; readonly action: "doctor" | "demo" | "log" | "provider" | "settings" | "restart" | "install" | "trust" | "folder" | "logIn" };

export type ToPage =
  | { readonly type: "hello"; readonly folder: string; readonly running: boolean; readonly trouble: string | null; readonly remedy: Remedy }
  | { readonly type: "thread"; readonly view: ThreadView | null }
  /** The conversation that is meant could not be opened, and is not replaced by another. `isInUse`: another server has it. */
  | { readonly type: "unopened"; readonly threadId: string; readonly isInUse: boolean; readonly reason: string }
  | { readonly type: "events"; readonly events: readonly ThreadEvent[] }
  | { readonly type: "threads"; readonly entries: readonly ThreadEntry[]; readonly more: string | null; readonly append: boolean }
  | { readonly type: "found"; readonly token: number; readonly files: readonly FileMatch[]; readonly symbols: readonly SymbolEntry[] }
  | { readonly type: "models"; readonly models: readonly Model[] }
  | { readonly type: "prompts"; readonly prompts: readonly Pick<Prompt, "name" | "description" | "argumentHint">[] }
  | { readonly type: "history"; readonly entries: readonly string[] }
  /** Whether a model can be asked; null as long as that is not known. `problem`: why a key was not kept. */
  | { readonly type: "setup"; readonly setup: AccountSetupResult | null; readonly problem?: string }
  | { readonly type: "notice"; readonly severity: "info" | "error"; readonly text: string }
  /** What fills the context window of a conversation. */
  | { readonly type: "context"; readonly threadId: string; readonly context: ThreadContextResult }
  /** Diff editors have shown these changes. */
  | { readonly type: "shown"; readonly proposalId: string; readonly hunkIds: readonly HunkId[] }
  | { readonly type: "attention"; readonly activeFile: string | null; readonly lines: { readonly start: number; readonly end: number } | null }
  /** Puts a mention into the composer. */
  | { readonly type: "insert"; readonly text: string }
  /** Puts a message into the composer that was sent before, above what is typed there by now. */
  | { readonly type: "putBack"; readonly text: string; readonly images: readonly string[]; readonly keepFocus: boolean }
  | { readonly type: "sent"; readonly token: number }
  /** It was not sent: the composer takes it back. */
  | { readonly type: "unsent"; readonly token: number }
  /** The conversation that was asked for last is shown. */
  | { readonly type: "opened" }
  /** Plays a short sound. */
  | { readonly type: "chime" }
  | { readonly type: "focus" };
