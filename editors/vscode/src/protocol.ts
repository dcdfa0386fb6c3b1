// The custom protocol's types and methods. Generated from the Rust types by `UPDATE=1 cargo test`; do not edit.
/* eslint-disable */

/** Who is signed in, as far as it is known. Nothing of it is verified. */
export type Account =
  | {
    "type": "apiKey";
  }
  | {
    "type": "account";
    email?: string | null;
  /** Name of the account's plan, in the provider's words. */
  plan?: string | null;
  /** The workspace of the account that is used. */
  workspaceId?: string | null;
  };

export type AccountLoginCancelParams = {
  loginId: LoginId;
};

export type AccountLoginCancelResult = Record<symbol, never>;

/** A login has come to its end. */
export type AccountLoginCompleted = {
  /** Absent: a login with a key. */
  loginId?: LoginId | null;
  success: boolean;
  /** Why not, in words for the person. */
  error?: string | null;
};

/** Which way to sign in. */
export type AccountLoginStartParams =
  | {
    "type": "apiKey";
    apiKey: string;
  }
  | {
    "type": "browser";
  }
  | {
    "type": "deviceCode";
  };

export type AccountLoginStartResult =
  | {
    "type": "apiKey";
  }
  | {
    "type": "browser";
    loginId: LoginId;
  /** To be opened in a browser on this machine. */
  authUrl: string;
  }
  | {
    "type": "deviceCode";
    loginId: LoginId;
  /** What the person types on the page. */
  userCode: string;
    verificationUrl: string;
  /** The page with the code filled in, where the server has one. */
  verificationUrlComplete?: string | null;
  };

export type AccountLogoutParams = Record<symbol, never>;

export type AccountLogoutResult = Record<symbol, never>;

export type AccountRateLimitsReadParams = Record<symbol, never>;

export type AccountRateLimitsReadResult = {
  rateLimits: RateLimits;
};

/** What the provider said of the account's allowance with its latest answer. */
export type AccountRateLimitsUpdated = {
  rateLimits: RateLimits;
};

export type AccountReadParams = {
  /** Have the account's token renewed first. A failure is only logged. */
  refreshToken?: boolean | null;
};

export type AccountReadResult = {
  /** Absent: nobody is signed in, or the provider needs no account. */
  account?: Account | null;
  /** Whether the configured provider takes a login. */
  requiresOpenaiAuth: boolean;
};

export type AccountSetupParams = Record<symbol, never>;

/** Whether a model can be asked, and by what ways it could be. */
export type AccountSetupResult = {
  /** Requests carry a key or a login, or need none. Whether the provider takes it, only a request tells. */
  ready: boolean;
  /** Name of the configured provider, for people. */
  provider: string;
  /** The variable of the environment in which its key is looked for. */
  envKey?: string | null;
  /** `account/login/start` takes a key for it. */
  takesKey: boolean;
  /** `account/login/start` can open a browser: the configuration names who lets people in. */
  takesBrowser: boolean;
  /** A server on this machine that answers and is used, since nothing was chosen. */
  localServer?: LocalServer | null;
};

export type AccountStatusParams = {
  /** Put the key or token into the answer. Default: no. */
  includeToken?: boolean | null;
  /** Have an account's token renewed first. Default: no. A failure is only logged. */
  refreshToken?: boolean | null;
};

export type AccountStatusResult = {
  /** Absent: there is nothing to send, or the provider needs nothing. */
  authMethod?: AuthMethod | null;
  /** Only where it was asked for. */
  authToken?: string | null;
  /** Whether the configured provider takes a login. */
  requiresOpenaiAuth: boolean;
};

/** How the person is known from now on. */
export type AccountUpdated = {
  /** Absent: not at all. */
  authMethod?: AuthMethod | null;
  plan?: string | null;
};

export type AgentState = {
  name: string;
  status: AgentStatus;
  /** Its last words, or why it failed. */
  message?: string | null;
};

/** Where a sub-agent stands. */
export type AgentStatus = "pendingInit" | "running" | "interrupted" | "completed" | "errored" | "shutdown";

export type AgentStatusChanged = {
  agentThreadId: ThreadId;
  state: AgentState;
};

/** A rule on commands as it would be written for always. */
export type AlwaysRule = {
  /** What it covers, in words. */
  text: string;
  /** The programs with their sub-commands, short enough for a button. */
  title: string;
  /** What would be written, to the letter. */
  toml: string;
  /** The file it would be added to. */
  file: string;
};

/**
 * A question to the person. The kinds are told apart by their fields: only a command has `command`, only a permission has
 * `folders`, only a call of a server's tool has `server`.
 */
export type Approval = CommandApproval | PermissionApproval | ToolApproval;

/** The person's answer. Anything that cannot be understood, a closed dialog and a lost client count as `decline`. */
export type ApprovalDecision = "accept" | "acceptForSession" | "acceptAlways" | "decline" | "cancel";

/** One question to the person about a command or a permission. */
export type ApprovalId = string;

/** When the person is asked about a command (configuration key `approval_policy`). */
export type ApprovalPolicy = "untrusted" | "on-request" | "on-failure" | "never" | {
  "granular": Granular
};

export type ApprovalRequested = {
  approval: Approval;
};

export type ApprovalResolved = {
  approvalId: ApprovalId;
  /** Absent: withdrawn. */
  decision: ApprovalDecision | null;
};

/** Settles a question from another surface than the one that was asked. */
export type ApprovalRespondParams = {
  approvalId: ApprovalId;
  response: ApprovalResponse;
};

export type ApprovalRespondResult = {
  /** False if the question was already settled. */
  taken: boolean;
};

/** Answer of the client to `countersign/approval/command`, `countersign/approval/permission` and `countersign/approval/tool`. */
export type ApprovalResponse = {
  decision: ApprovalDecision;
  /** The turn that the answer is for, if the client names it. Messages about the answer name the question where it does not. */
  turnId?: TurnId | null;
  /** Words to the model, with `decline`. */
  feedback?: string | null;
  /** With a yes to `permissions`: the part that is given. What was not asked for is not given; absent means all. */
  permissions?: Array<Permission> | null;
};

/**
 * Who answers the questions that a policy asks (configuration key `approvals_reviewer`). Patches are always the person's
 * to decide.
 */
export type ApprovalsReviewer = "user" | "auto";

/** Where in the conversation an event belongs. Part of the params of every notification of a thread. */
export type At = {
  threadId: ThreadId;
  turnId?: TurnId | null;
  /** Rises by one with each event of the thread. Deltas that were joined on their way carry the last number. */
  seq: number;
  /** Whose copy this is, for those that `thread/subscribe` asked for. Absent: what the client gets of its threads anyway. */
  subscriptionId?: SubscriptionId | null;
};

/** How requests are allowed. */
export type AuthMethod = "apiKey" | "account";

/** What has become of one file, and how much of it. */
export type ChangedFile = {
  /** Absolute path; of a file that was moved, the one it had. */
  path: string;
  kind: FileChangeKind;
  /** Lines that were added and removed; 0 where it is no text. */
  added: number;
  removed: number;
  /** Unified diff of this file; absent where it is too long to come along. */
  diff?: string | null;
};

export type ChangedKind = "created" | "changed" | "deleted";

export type ChangedPath = {
  path: string;
  uri: string;
  kind: ChangedKind;
};

/** Where a finding lies. */
export type CodeLocation = {
  absoluteFilePath: string;
  lineRange: LineRange;
};

/** What an agent does with others. */
export type CollabTool = "spawnAgent" | "sendMessage" | "wait" | "listAgents" | "closeAgent";

/** What a command does, as far as its text tells. */
export type CommandAction =
  | {
    "type": "read";
    command: string;
    name: string;
    path: string;
  }
  | {
    "type": "listFiles";
    command: string;
    path: string | null;
  }
  | {
    "type": "search";
    command: string;
    query: string | null;
    path: string | null;
  }
  | {
    "type": "build";
    command: string;
  /** What it does, for people: "builds with cargo". */
  words: string;
  }
  | {
    "type": "test";
    command: string;
  /** What it does, for people: "runs the tests with cargo". */
  words: string;
  }
  | {
    "type": "unknown";
    command: string;
  };

/**
 * A command that asks first. Sent as the request `countersign/approval/command` to clients with the plugin
 * protocol, shown by `window/showMessageRequest` to all others.
 */
export type CommandApproval = {
  id: ApprovalId;
  threadId: ThreadId;
  turnId: TurnId;
  /** The command execution item. */
  itemId: ItemId;
  /** Name of the sub-agent that asks; absent for the thread that the person talks to. */
  agent?: string | null;
  /** The command as an argument list. */
  command: Array<string>;
  /**
   * All of the command as one line, as a shell would take it and with what hides in it shown: what clients show, as it is. Of a script
   * of one line for the person's own shell it is that script.
   */
  display: string;
  /**
   * A script of several lines for the person's own shell, with its line ends and with what hides in it shown; to be shown in the place of
   * `display` where code has lines of its own.
   */
  script?: string | null;
  cwd: string;
  actions: Array<CommandAction>;
  /** Why it asks. */
  reason: string;
  /** The model's own words on why it needs this. */
  justification?: string | null;
  /** How the command would run after a yes. A yes to a run inside the sandbox stays inside. */
  confined: Confined;
  /** What a model says of its risk; only where `approvals.assess_risk` is on, and only if it said so in time. */
  risk?: Risk | null;
  /** What `acceptForSession` would cover, in words. */
  sessionScope: string;
  /** What `acceptAlways` would write; absent where that is not offered. */
  alwaysRule?: AlwaysRule | null;
  /** What looks like something else in what is asked, in sentences; to be shown with it. */
  notes?: Array<string>;
  availableDecisions: Array<ApprovalDecision>;
};

/** A command beside all conversations. */
export type CommandExecParams = {
  /** Program and arguments; no shell is put around them. */
  command: Array<string>;
  /** Where it runs; absent, or as what a relative path begins at: the first folder of the workspace. */
  cwd?: string | null;
  /** Variables beside those of the configured policy, over which they win; `null` takes one away. */
  env?: { [key in string]: string | null };
  /** The command is ended then; absent: ten seconds. */
  timeoutMs?: number | null;
  /** Absent: the configured one. Its folders are those of the workspace, whatever `cwd` is. */
  sandboxPolicy?: SandboxPolicy | null;
  /** Id of a permission profile, in place of a policy. */
  permissions?: string | null;
  /** All of its standard input; absent: none. */
  stdin?: string | null;
  /** The caller's own name for the run, used by no other that still runs. */
  processId?: string | null;
  /** Tell the output as it comes, by `command/output` under `processId`, which must be there. */
  streamOutput?: boolean;
};

/** A command that has run. One that failed is an answer too, not an error. */
export type CommandExecResult = {
  /**
   * The program's own, or 128 and the number of the signal that ended it; 124 when it ran out of time, 130 when it was
   * stopped.
   */
  exitCode: number;
  /** At most 1 MiB of each: head and tail, and between them how much is left out. */
  stdout: string;
  stderr: string;
  timedOut: boolean;
  /** It was stopped by `command/terminate`. */
  stopped: boolean;
  durationMs: number;
  /** It failed, and as far as can be told the sandbox is why: what was refused. */
  denied?: string | null;
};

/** More output of a command beside all conversations. */
export type CommandOutput = {
  processId: string;
  stream: OutputStream;
  delta: string;
  /** This is the last of the stream that is told while the command runs: 1 MiB of it has been. */
  capReached?: boolean;
};

/** Who runs a command. */
export type CommandSource = "agent" | "user";

export type CommandTerminateParams = {
  /** As `command/exec` was given it. */
  processId: string;
};

export type CommandTerminateResult = {
  /** False if no such command runs (any more). */
  stopped: boolean;
};

/** Why a conversation is compacted. */
export type CompactionReason = "requested" | "limit" | "tooLong";

/** A change of the person's config.toml. */
export type ConfigEdit = {
  /** The key with its tables, dots between them, parts in quotes that hold dots themselves. */
  keyPath: string;
  /** Null takes the key away. */
  value?: JsonValue;
};

export type ConfigReadParams = {
  /** Adds the project layers of this folder. */
  cwd?: string | null;
  /** Only the person's own config.toml as it stands on the disk, without any other layer. */
  saved?: boolean;
};

export type ConfigReadResult = {
  /** The effective values by key, in the shape of `config.toml`. Secrets are not shown. */
  config: JsonValue;
  /** The layer that each top-level key came from. */
  origins: { [key in string]: string };
  warnings: Array<ConfigWarning>;
  /** With `saved`: names the text that the file has, for `config/write`. */
  version?: string | null;
};

export type ConfigReloadParams = {
  /** Absent: all live threads. */
  threadId?: ThreadId | null;
};

export type ConfigReloadResult = {
  warnings: Array<ConfigWarning>;
};

/** Something in the configuration that was not understood, or not allowed where it stands. */
export type ConfigWarning = {
  message: string;
  path?: string | null;
  /** Counted from 1. */
  line?: number | null;
};

export type ConfigWriteParams = {
  /** Made together or not at all. */
  edits: Array<ConfigEdit>;
  /** Write only if the file still has the text that this names. */
  expectedVersion?: string | null;
};

export type ConfigWriteResult = {
  path: string;
  /** Names the text that the file has now. */
  version: string;
  /** What the edits set that another layer decides all the same, by key path, with that layer. */
  overridden: { [key in string]: string };
  /** What is not as it should be in the configuration as it is now. */
  warnings: Array<ConfigWarning>;
};

/** How a command is, or would be, confined. */
export type Confined = "readOnly" | "workspace" | "outside";

export type ContextEntry = {
  name: string;
  tokens: number;
};

export type ContextPart = {
  kind: ContextPartKind;
  /** The kind in words. */
  title: string;
  tokens: number;
  /** How many there are: tools, messages, results. */
  count: number;
  /** The largest of them by name, where they have names: tools, and results by their tools. */
  largest?: Array<ContextEntry>;
};

export type ContextPartKind = "instructions" | "tools" | "mcpTools" | "instructionFiles" | "environment" | "attachments" | "userMessages" | "agentMessages" | "reasoning" | "toolCalls" | "toolResults" | "summary";

/** What tokens cost by the prices that are known: an estimate, in US dollars. */
export type Cost = {
  usd: number;
  /** There were responses whose price is not known: it was more. */
  isPartial: boolean;
};

/** Documents that the agent changed, to be saved before a command runs: commands see the disk. */
export type DocumentSaveParams = {
  threadId: ThreadId;
  documents: Array<DocumentToSave>;
};

/** What was saved. A document that is left out, and a refusal, only mean that the command runs without. */
export type DocumentSaveResult = {
  saved: Array<string>;
};

export type DocumentToSave = {
  uri: string;
  /** It held text of the person's that was not saved when the agent changed it: saving is the person's to decide. */
  heldUnsavedText: boolean;
};

/** A tool of the client's, offered to the model beside our own. */
export type DynamicToolSpec = {
  /** Letters, digits, `_` and `-`, at most 64 of them; not the name of a tool of ours. */
  name: string;
  /** For the model: what it does and when to use it. */
  description?: string;
  /** JSON Schema of the arguments, which are an object. */
  inputSchema: JsonValue;
  /** Calls only look at things, so they may run beside others. Absent: each call is alone. */
  readOnly?: boolean;
};

/** Which patches are applied without asking (configuration key `edits.approve`). */
export type EditApproval = "ask" | "workspace";

/** What the editor knows at the moment of asking; told to the model beside the person's words. */
export type EditorContext = {
  activeFile?: string | null;
  selection?: LineRange | null;
  diagnostics?: Array<EditorDiagnostic>;
  /** What the model is not told this time, whatever the thread's settings say. */
  leaveOut?: Array<SentContextKind>;
};

/** Changes to what of the editor is told; absent means no change. */
export type EditorContextChange = {
  activeFile?: boolean | null;
  selection?: boolean | null;
  openFiles?: boolean | null;
  diagnostics?: boolean | null;
  recentEdits?: boolean | null;
};

/** What of the editor is told to the model (configuration table `editor_context`); what is off is left out. */
export type EditorContextSettings = {
  /** Which file the person looks at. */
  activeFile: boolean;
  /** What they have selected in it, with its text. */
  selection: boolean;
  /** Which files are open, and which of them are not saved. */
  openFiles: boolean;
  /** The problems that the editor shows. */
  diagnostics: boolean;
  /** Where they have edited since their last message. */
  recentEdits: boolean;
};

export type EditorDiagnostic = {
  path: string;
  range: LineRange;
  /** `error`, `warning`, `information` or `hint`. */
  severity: string;
  source?: string | null;
  code?: string | null;
  message: string;
};

/** One question of an MCP server to the person. */
export type ElicitationId = string;

/** Something to do about an error. */
export type ErrorAction =
  | {
    "type": "compact"
  }
  | {
    "type": "waitUntil";
  /** Milliseconds since the epoch. */
  at: number;
  }
  | {
    "type": "changeModel"
  }
  | {
    "type": "logIn"
  };

export type ErrorEvent = {
  error: TurnError;
  /** The realtime conversation that could not be started. */
  realtimeId?: RealtimeId | null;
};

/** A part of a report. */
export type FeedbackPart = {
  /** `logs`, or the name of a file. */
  name: string;
  bytes: number;
};

export type FeedbackPreviewParams = {
  /** What it is, in a word: `bug`, `badResult`, `goodResult`, `other`, or a word of the client's. */
  classification: string;
  /** In the person's words. */
  reason?: string | null;
  /** The conversation that it is about. */
  threadId?: ThreadId | null;
  /** With the last lines of the server's log about this conversation, and the record of the conversation if it is live. */
  includeLogs?: boolean;
  /** Further words for whoever sorts the reports. */
  tags?: { [key in string]: string };
  /** Further files, by absolute path; only with logs. */
  extraLogFiles?: Array<string>;
};

export type FeedbackPreviewResult = {
  /** Saves or sends exactly this report. The latest few are kept. */
  previewId: string;
  /** The conversation; an id of the report's own where it is about none. */
  threadId: string;
  /** All of the report, byte for byte as it would go: a JSON document. */
  report: string;
  /** What is in it beside the person's words. */
  parts: Array<FeedbackPart>;
  /** Where `feedback/upload` would send it; absent: it can only be saved. */
  endpoint?: string | null;
};

export type FeedbackSaveParams = {
  /** As in `feedback/preview`, as all that follows. */
  classification: string;
  reason?: string | null;
  threadId?: ThreadId | null;
  includeLogs?: boolean;
  tags?: { [key in string]: string };
  extraLogFiles?: Array<string>;
  /** The report that was shown; all else but the classification is left out then. */
  previewId?: string | null;
  /** An absolute path at which there is no file yet. */
  savePath: string;
};

export type FeedbackSaveResult = {
  savedPath: string;
  /** The conversation that the report names. */
  threadId: string;
};

export type FeedbackUploadParams = {
  /** As in `feedback/preview`, as all that follows. */
  classification: string;
  reason?: string | null;
  threadId?: ThreadId | null;
  includeLogs?: boolean;
  tags?: { [key in string]: string };
  extraLogFiles?: Array<string>;
  /** The report that was shown; all else but the classification is left out then. */
  previewId?: string | null;
};

export type FeedbackUploadResult = {
  /** The conversation that the report names. */
  threadId: string;
};

export type FileChange = {
  /** Absolute path. */
  path: string;
  kind: FileChangeKind;
  /** Unified diff of this file. */
  diff: string;
};

/** What happens to one file of a file change. */
export type FileChangeKind =
  | {
    "type": "add"
  }
  | {
    "type": "delete"
  }
  | {
    "type": "update";
    movePath?: string | null;
  };

export type FileMatch = {
  /** The folder that was searched. */
  root: string;
  /** Below the folder, with `/` between names. */
  path: string;
  /** The last part of the path. */
  fileName: string;
  matchType: FileMatchType;
  /** The higher, the better it fits; of use only beside the others of the same answer. */
  score: number;
  /** Which characters of `path` fit, counted in Unicode scalar values from 0. */
  indices: Array<number>;
};

export type FileMatchType = "file" | "directory";

/** May the model of a thread be shown what these files hold? Asked by tools of the client's, which read with the client's eyes. */
export type FileReadableParams = {
  threadId: ThreadId;
  /** Absolute; at most 10,000. */
  paths: Array<string>;
};

export type FileReadableResult = {
  /** Those that are kept from the model; all others may be shown. */
  refused: Array<FileRefused>;
};

export type FileRefused = {
  /** As it was asked about. */
  path: string;
  /** Why, for the model. */
  reason: string;
};

export type FileSearchParams = {
  /**
   * Words of which each must be found in a path, its letters in their order but not side by side. Small letters fit capital
   * ones too. An empty query finds nothing.
   */
  query: string;
  /** Absolute folders; absent: those of the workspace. */
  roots?: Array<string> | null;
  /** The caller's own name for its searches: a new one stops the one that runs under the same name. */
  cancellationToken?: string | null;
  /** Most files in an answer: 1 to 1000; absent: 50. */
  limit?: number | null;
  /** Tell what is found as it comes, by `file/searchUpdated` under `cancellationToken`, which must be there. */
  stream?: boolean;
};

export type FileSearchResult = {
  /** The best first; of those that fit as well, the shorter path first. */
  files: Array<FileMatch>;
  /** How many fit, told or not. */
  total: number;
  /** False if a newer search stopped this one, or a folder has more than a million names: there may be better ones. */
  complete: boolean;
};

/** The best files so far of a search that runs. */
export type FileSearchUpdated = {
  /** As `file/search` was given it. */
  cancellationToken: string;
  query: string;
  files: Array<FileMatch>;
  /** How many fit so far. */
  total: number;
};

/** Closed files that were written on the disk. */
export type FilesChanged = {
  paths: Array<ChangedPath>;
};

/** One thing that a review found. */
export type FindingId = string;

export type GitDiffToRemoteParams = {
  /** An absolute folder in a repository. */
  cwd: string;
};

export type GitDiffToRemoteResult = {
  /** The newest commit in the history of the present one that a remote has, as far as is known here. */
  sha: string;
  /** From that commit to the files as they are, with new files that are not ignored; paths from the repository's top. */
  diff: string;
};

export type GitInfo = {
  sha?: string | null;
  branch?: string | null;
  originUrl?: string | null;
};

/** What a grant lasts for. */
export type GrantScope = "command" | "turn" | "session" | "always";

/** Which kinds of questions reach the person. In `config.toml` the names are in snake case. */
export type Granular = {
  /** To run a command outside the sandbox, or a dangerous one at all. */
  sandboxApproval?: boolean;
  /** About commands that a rule asks about. */
  rules?: boolean;
  /** For more than the policy allows, asked for by the model. */
  requestPermissions?: boolean;
  /** That MCP servers ask. */
  mcpElicitations?: boolean;
};

/** What is judged. */
export type GuardianAction =
  | {
    "type": "command";
    command: Array<string>;
  /** As it is shown: one line, with what hides in it written out. */
  display: string;
    cwd: string;
    confined: Confined;
  /** Why it asks. */
  reason: string;
    justification?: string | null;
  }
  | {
    "type": "tool";
    server: string;
    tool: string;
    arguments: JsonValue;
  /** Why it asks. */
  reason: string;
  }
  | {
    "type": "permission";
  /** What is asked for, in words. */
  request: string;
  /** Why, in the model's own words. */
  justification?: string | null;
    permissions?: Array<Permission>;
  /** Folders that a patch writes in. */
  folders?: Array<string>;
  /** How long it would hold. */
  covers: GrantScope;
  };

/** Allows exactly the action that the automatic reviewer denied. */
export type GuardianApproveDeniedParams = {
  threadId: ThreadId;
  /** Of the assessment. */
  assessmentId: string;
};

export type GuardianApproveDeniedResult = {
  /**
   * False if there is no such assessment, if it is none that was denied, or if it was overruled before: then nothing
   * happens.
   */
  taken: boolean;
};

/** The automatic reviewer at work on one question: once when it begins, once when it has found. */
export type GuardianAssessment = {
  /** The same in both events. */
  id: string;
  /** The item that asks. */
  itemId: ItemId;
  action: GuardianAction;
  status: GuardianStatus;
  riskLevel?: RiskLevel | null;
  /** Why, in words. */
  rationale?: string | null;
};

export type GuardianStatus = "inProgress" | "approved" | "denied" | "aborted";

export type HistoryAppendParams = {
  threadId?: ThreadId | null;
  text: string;
};

export type HistoryAppendResult = {
  /** False where the person keeps no history (`history.persistence = "none"`), or the text is blank or longer than 1 MiB. */
  kept: boolean;
};

/** One thing that the person typed. */
export type HistoryEntry = {
  /** Its number, counted from 0; stays as long as the log id does. */
  offset: number;
  /** The conversation it was typed in; absent for none. */
  threadId?: ThreadId | null;
  /** Seconds since the epoch. */
  at: number;
  text: string;
};

export type HistoryListParams = {
  /** Absent: whichever file is there. */
  logId?: string | null;
  /** Only entries with lower numbers; absent: from the newest on. */
  before?: number | null;
  /** Default 50, at most 1000. */
  limit?: number | null;
};

/** Newest first. */
export type HistoryListResult = {
  /** Of the file that is there now; `0` where there is none. */
  logId: string;
  /** Entries in it. */
  count: number;
  data: Array<HistoryEntry>;
};

export type HistoryReadParams = {
  /** Of `thread/configured` or `history/list`. */
  logId: string;
  offset: number;
};

export type HistoryReadResult = {
  /** As asked for. */
  logId: string;
  /** As asked for. */
  offset: number;
  /** Absent where there is none, or another file has taken the place of that one. */
  entry?: HistoryEntry | null;
};

/** A contiguous change in one file. */
export type Hunk = {
  id: HunkId;
  status: HunkStatus;
  /** The lines it replaces, in today's text of the file. */
  range: LineRange;
  /** The lines it replaces, with their line ends. */
  oldText: string;
  /** What it puts there; as edited by the person, if so. */
  newText: string;
  /** What the model proposed, where the person has edited it. */
  proposedText?: string | null;
  /** Why it cannot be taken as it is, in words; only while it is in conflict. */
  conflict?: string | null;
  /** The person's words to the model on rejecting it. */
  feedback?: string | null;
};

/** One contiguous change of one file in a proposal; stable for the proposal's life. */
export type HunkId = string;

export type HunkStatus = "pending" | "accepted" | "rejected" | "conflicting" | "applied";

/** Who or what stopped a turn. */
export type InterruptedBy = "person" | "reviewer" | "replaced" | "shutdown" | "crash";

export type ItemCompleted = {
  item: ThreadItem;
  completedAtMs: number;
  /**
   * The answer broke off and is asked for again: the item is no part of the turn any more, and what it began comes in
   * another item.
   */
  withdrawn?: boolean;
};

export type ItemDelta = {
  itemId: ItemId;
  delta: string;
};

/** A thing in a turn. The provider's item or call id where there is one, else a UUIDv7. */
export type ItemId = string;

export type ItemPartDelta = {
  itemId: ItemId;
  /** Which part of the summary or content; counted from 0. */
  index: number;
  delta: string;
};

export type ItemStarted = {
  item: ThreadItem;
  startedAtMs: number;
};

/** Where a command, a patch or another call of a tool stands. */
export type ItemStatus = "inProgress" | "completed" | "failed" | "declined" | "interrupted" | "background";

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/** Lines `start..end`, counted from 0. */
export type LineRange = {
  start: number;
  end: number;
};

/** A server of models on this machine. */
export type LocalServer = {
  name: string;
  /** The model that it is asked for. */
  model: string;
};

/** One login to an account. A UUIDv7. */
export type LoginId = string;

/** Whether a server knows who asks. */
export type McpAuthStatus = "unsupported" | "notLoggedIn" | "bearerToken" | "oAuth";

/**
 * A server asks the person something while it carries out a call. Sent as the request `countersign/mcp/elicitation` to
 * clients with the plugin protocol.
 */
export type McpElicitation =
  | {
    id: ElicitationId;
    threadId: ThreadId;
    turnId: TurnId;
  /** The call that the server carries out. */
  itemId: ItemId;
    server: string;
  /** The server's own id of the question, as it came. */
  requestId: McpRequestId;
    message: string;
  /** What looks like something else in the address, in sentences; to be shown with it. */
  notes?: Array<string>;
    _meta?: JsonValue | null;
  } & ({
    "mode": "form", requestedSchema: JsonValue,
  } | {
    "mode": "url", url: string, elicitationId: string,
  });

export type McpElicitationAction = "accept" | "decline" | "cancel";

export type McpElicitationRequested = {
  elicitation: McpElicitation;
};

export type McpElicitationResolved = {
  elicitationId: ElicitationId;
  server: string;
  /** Absent: withdrawn. */
  action: McpElicitationAction | null;
};

/** Answers a server's question from another surface than the one that was asked. */
export type McpElicitationRespondParams = {
  server: string;
  requestId: McpRequestId;
  response: McpElicitationResponse;
};

export type McpElicitationRespondResult = {
  /** False if there is no such question, or it was settled before. */
  taken: boolean;
};

/** The person's answer to a server. Whatever is no answer counts as `cancel`. */
export type McpElicitationResponse = {
  action: McpElicitationAction;
  /** With `accept`: what was filled in. Absent: an empty object. */
  content?: JsonValue | null;
  /** Passed along. */
  _meta?: JsonValue | null;
};

export type McpListParams = {
  /** Whose servers; absent: those that a new thread in the first folder of the workspace would have. */
  threadId?: ThreadId | null;
};

export type McpListResult = {
  /** By name. */
  data: Array<McpServer>;
};

/** A login to an MCP server has come to its end. */
export type McpLoginCompleted = {
  server: string;
  success: boolean;
  /** Why it did not succeed. */
  error?: string | null;
};

export type McpLoginParams = {
  /** The server's name in the configuration. */
  server: string;
  /** Whose server; absent: one that a new thread in the first folder of the workspace would have. */
  threadId?: ThreadId | null;
};

export type McpLoginResult = {
  /** To be opened in a browser on this machine. */
  url: string;
};

export type McpLogoutParams = {
  /** The server's name in the configuration. */
  server: string;
  /** Whose server; absent: one that a new thread in the first folder of the workspace would have. */
  threadId?: ThreadId | null;
};

export type McpLogoutResult = {
  /** False: nobody was signed in to it. */
  forgotten: boolean;
};

export type McpProgress = {
  itemId: ItemId;
  /** Rises with each; what it counts is the server's affair. */
  progress: number;
  /** What it rises to, if that is known. */
  total: number | null;
  message: string | null;
};

export type McpRefreshParams = {
  /** Absent: all live threads. */
  threadId?: ThreadId | null;
};

export type McpRefreshResult = Record<symbol, never>;

/** A server's own id of a request. */
export type McpRequestId = number | string;

/** One page of a server's resources, or of their templates. */
export type McpResourceListParams = {
  threadId?: ThreadId | null;
  server: string;
  /** The server's own, from the page before. */
  cursor?: string | null;
};

export type McpResourceListResult = {
  /** As the server gives them. */
  data: Array<JsonValue>;
  nextCursor?: string | null;
};

export type McpResourceReadParams = {
  threadId?: ThreadId | null;
  server: string;
  uri: string;
};

export type McpResourceReadResult = {
  /** As the server gives them. */
  contents: Array<JsonValue>;
};

/** A configured server with what it offers. */
export type McpServer = {
  name: string;
  status: McpServerStatus;
  /** Why it failed or was lost, or what could not be listed in time. */
  error?: string | null;
  authStatus: McpAuthStatus;
  /** Those that are offered, as the server listed them last. */
  tools: Array<McpTool>;
  /** As the server gives them. */
  resources: Array<JsonValue>;
  /** As the server gives them. */
  resourceTemplates: Array<JsonValue>;
};

/** How a server is. */
export type McpServerStatus = "starting" | "ready" | "failed" | "lost" | "stopped";

export type McpStatusChanged = {
  server: string;
  status: McpServerStatus;
  /** What happened and what to do, where it is not well. */
  error: string | null;
};

/** A tool as its server describes it. */
export type McpTool = {
  /** The server's own name for it. */
  name: string;
  /** The name under which the model is offered it. */
  qualifiedName: string;
  title?: string | null;
  description?: string | null;
  /** It changes nothing: the server says so, and the person believes it (`trust_annotations`). */
  readOnly: boolean;
  inputSchema: JsonValue;
};

/** A gap, both ends included. */
export type MissingEvents = {
  firstSeq: number;
  lastSeq: number;
};

/** How far the agent may go in a thread. */
export type Mode = "agent" | "plan" | "ask";

export type Model = {
  /** The name to put into `model`. */
  id: string;
  displayName: string;
  provider: string;
  /** Context window in tokens, where it is known. */
  contextWindow?: number | null;
  supportedReasoningEfforts: Array<string>;
  defaultReasoningEffort?: string | null;
  isDefault: boolean;
};

export type ModelListParams = {
  cursor?: string | null;
  /** Default all, at least 1. */
  limit?: number | null;
};

export type ModelListResult = {
  data: Array<Model>;
  nextCursor?: string | null;
};

/** What threads begin with from now on. A value that is absent stays as it is. */
export type ModelSetDefaultParams = {
  model?: string | null;
  /** Reasoning effort. */
  effort?: string | null;
};

export type ModelSetDefaultResult = {
  /** The file that has them now. */
  path: string;
  /** The profile in force, which has them then. */
  profile?: string | null;
};

export type MovedFile = {
  path: string;
  uri: string;
  open: boolean;
  /** Version of the open document that the ranges are for. */
  version?: number | null;
  hunks: Array<MovedHunk>;
};

export type MovedHunk = {
  id: HunkId;
  status: HunkStatus;
  range: LineRange;
  conflict?: string | null;
};

/** A finding that lies on its lines until it is dismissed, its lines change, or the same is reviewed again. */
export type OpenFinding = {
  id: FindingId;
  threadId: ThreadId;
  /** The review. */
  turnId: TurnId;
  uri: string;
  /** Where its lines are now. */
  codeLocation: CodeLocation;
  title: string;
  /** Markdown. */
  body: string;
  /** From 0 to 1. */
  confidenceScore: number;
  /** 0 must be fixed at once, 3 is minor. */
  priority: number;
};

export type OutputStream = "stdout" | "stderr";

/** One thing more that commands in the sandbox may do. Paths are absolute. */
export type Permission =
  | {
    "type": "read";
    path: string;
  }
  | {
    "type": "write";
    path: string;
  }
  | {
    "type": "gitMetadata";
    repository: string;
  }
  | {
    "type": "network"
  }
  | {
    "type": "host";
    host: string;
    port?: number | null;
  }
  | {
    "type": "loopbackPort";
    port: number;
  }
  | {
    "type": "unixSocket";
    path: string;
  };

/**
 * More than the policy allows. Either an accepted patch writes in `folders` outside the workspace: a yes of any kind opens
 * them, for patches and for commands in the sandbox, until the session ends. Or the model asks for `permissions`: a yes
 * gives them for as long as `acceptCovers` says, for the session, or for always. Sent as the request
 * `countersign/approval/permission` to clients with the plugin protocol, shown by `window/showMessageRequest` to all others.
 */
export type PermissionApproval = {
  id: ApprovalId;
  threadId: ThreadId;
  turnId: TurnId;
  /** The file change item, the command, or the call that asks. */
  itemId: ItemId;
  /** Name of the sub-agent that asks; absent for the thread that the person talks to. */
  agent?: string | null;
  /** The proposal whose accepted hunks need it; absent where no patch asks. */
  proposalId?: ProposalId | null;
  /** The first of `folders`. */
  grantRoot?: string | null;
  /** What the model asks for; paths have their links followed. The answer can name a part of it. */
  permissions?: Array<Permission>;
  /** How long a plain `accept` holds. */
  acceptCovers: GrantScope;
  /** What would be opened for a patch: absolute, links followed. One that is not there yet is made by the patch. */
  folders: Array<string>;
  /** The files that the patch changes there. */
  paths: Array<string>;
  /** What is asked and what a yes covers, in our words. */
  reason: string;
  /** Why, in the model's own words; to be shown apart from ours. */
  justification?: string | null;
  /** What looks like something else in what is asked, in sentences; to be shown with it. */
  notes?: Array<string>;
  availableDecisions: Array<ApprovalDecision>;
};

/** A named set of permissions. */
export type PermissionProfile = {
  id: string;
  description?: string | null;
  /** The profile that it begins from. */
  extends?: string | null;
  /** Whether it is always there. */
  builtIn: boolean;
};

/** Parameters of `countersign/permissions/profiles`. */
export type PermissionProfilesParams = {
  /** The folder whose configuration counts; absent: the first folder of the workspace. */
  cwd?: string | null;
};

/** The permission profiles that can be chosen, the built-in ones first. */
export type PermissionProfilesResult = {
  data: Array<PermissionProfile>;
  /** The profile that threads begin with; absent where `sandbox_mode` decides and no profile says the same. */
  default?: string | null;
};

/** The tone of the agent's answers (configuration key `personality`). */
export type Personality = "none" | "friendly" | "pragmatic";

export type PlanStep = {
  step: string;
  status: PlanStepStatus;
};

export type PlanStepStatus = "pending" | "inProgress" | "completed";

export type PlanUpdated = {
  explanation: string | null;
  steps: Array<PlanStep>;
};

export type Prompt = {
  /** An input that begins with a slash and this name calls it. */
  name: string;
  description?: string | null;
  /** What stands behind the name, for the person; empty where nothing does. */
  argumentHint: string;
  arguments: Array<PromptArgument>;
  /** Offered as a code action on a selection. */
  code: boolean;
  source: PromptSource;
  path: string;
  /** The text as it stands in the file, without its head. */
  content: string;
};

export type PromptArgument = {
  name: string;
  hint?: string | null;
  /** Stands in where nothing is given; without it the argument must be given. */
  default?: string | null;
};

export type PromptListParams = {
  /** The folder whose project's prompts count; absent: the first folder of the workspace. */
  cwd?: string | null;
};

export type PromptListResult = {
  /** By name. */
  data: Array<Prompt>;
  /** What is wrong with the files, each with its place. */
  problems: Array<ConfigWarning>;
};

export type PromptSource = "person" | "project";

export type Proposal = {
  id: ProposalId;
  threadId: ThreadId;
  turnId: TurnId;
  itemId: ItemId;
  status: ProposalStatus;
  files: Array<ProposalFile>;
  /** Unified diff of the whole. */
  diff: string;
  /** Why the person is asked more than usual, for example a path outside the workspace. */
  reason?: string | null;
  /**
   * The folder outside the workspace that must be opened for writing before this can be applied; asked about on its
   * own, once the hunks are accepted.
   */
  grantRoot?: string | null;
  /** The policy accepted it: nobody was asked. */
  autoApproved?: boolean;
  /** Waiting proposals of other turns for some of the same files, which were there first. */
  stackedOn?: Array<ProposalId>;
  /** The newer proposal that took its place. */
  supersededBy?: ProposalId | null;
  /** What became of it, as the model is told; once it is settled. */
  outcome?: string | null;
  createdAtMs: number;
};

export type ProposalChanged = {
  proposal: Proposal;
};

/** The person's word on some hunks. */
export type ProposalDecideParams = {
  proposalId: ProposalId;
  decision: ProposalDecision;
  /** The hunks meant; absent means all that are still pending. */
  hunkIds?: Array<HunkId> | null;
  /** All pending hunks of this file, where `hunkIds` is absent. */
  path?: string | null;
  /** Words to the model. */
  feedback?: string | null;
};

/**
 * The proposal after the decision. Once no hunk is pending the accepted ones are applied;
 * `proposal/updated` tells when that is done.
 */
export type ProposalDecideResult = {
  proposal: Proposal;
};

export type ProposalDecision = "accept" | "reject" | "reset";

/** Changes what a waiting hunk would put into the file. It still has to be accepted. */
export type ProposalEditParams = {
  proposalId: ProposalId;
  hunkId: HunkId;
  /** The person's text, with its line ends; absent brings the model's own text back. */
  newText?: string | null;
};

export type ProposalEditResult = {
  proposal: Proposal;
};

export type ProposalFile = {
  path: string;
  uri: string;
  kind: FileChangeKind;
  /** Whether the file is open in the editor, so that the change goes through its buffer. */
  open: boolean;
  /** It was open and held text that was not on the disk when the change was proposed. */
  unsaved?: boolean;
  /** Version of the open document that the change was made against. */
  baseVersion?: number | null;
  /** Version of the open document that the ranges of the hunks are for. */
  version?: number | null;
  /** Permission bits that it gets, where the change is about them. */
  mode?: number | null;
  /**
   * What the file is where it is no text, and so is deleted or moved as it is: its size and kind, or where the link leads.
   * Its one hunk has no lines then.
   */
  notText?: string | null;
  /** What looks like something else in the name that the change gives to a file, in sentences; to be shown with it. */
  notes?: Array<string>;
  /** The text that the model saw; absent for a new file. Only `proposal/read` gives it. */
  before?: string | null;
  /** That text with every hunk; absent for a deleted file. Only `proposal/read` gives it. */
  after?: string | null;
  /** The text today; absent where no file is. Only `proposal/read` gives it. */
  current?: string | null;
  /**
   * Today's text with every hunk that fits and is not rejected, as edited: what accepting the rest would lead to.
   * Absent for a file that would be deleted. Only `proposal/read` gives it.
   */
  result?: string | null;
  hunks: Array<Hunk>;
};

/** A patch that waits for the person. */
export type ProposalId = string;

export type ProposalListParams = {
  threadId?: ThreadId | null;
  /** Also those that are decided. */
  includeSettled?: boolean;
};

export type ProposalListResult = {
  data: Array<Proposal>;
};

/** Where the hunks of a waiting proposal lie now, after the person has typed. Slim, since it may follow every key. */
export type ProposalMoved = {
  proposalId: ProposalId;
  status: ProposalStatus;
  /** The files whose text has changed. */
  files: Array<MovedFile>;
};

export type ProposalReadParams = {
  proposalId: ProposalId;
};

export type ProposalReadResult = {
  proposal: Proposal;
};

/**
 * Where a proposal is in its life. The first four wait for the person, and change into each other as the person decides
 * and types.
 */
export type ProposalStatus = "proposed" | "partlyDecided" | "conflicting" | "stale" | "accepted" | "applied" | "rejected" | "failed" | "superseded" | "withdrawn" | "undone";

/** What the model asks the person at one time: one to three questions. */
export type QuestionsId = string;

/** One input that waits for its turn. */
export type QueuedId = string;

/** One input that waits for its turn. */
export type QueuedInput = {
  id: QueuedId;
  input: Array<UserInput>;
  clientUserMessageId?: string | null;
  queuedAtMs: number;
  /** It waits for this time (milliseconds since the epoch), and lets others go first until then. */
  notBeforeMs?: number | null;
};

/** What the provider says of the account's allowance. What is absent is not known. */
export type RateLimits = {
  primary?: RateWindow | null;
  secondary?: RateWindow | null;
  /** Name of the account's plan. */
  plan?: string | null;
  hasCredits?: boolean | null;
  unlimitedCredits?: boolean | null;
  /** In the provider's words. */
  creditBalance?: string | null;
};

/** A window of the account's allowance. */
export type RateWindow = {
  /** 0 to 100. */
  usedPercent: number;
  windowMinutes?: number | null;
  /** Seconds since the epoch. */
  resetsAt?: number | null;
};

export type RawItem = {
  /** In the form that threads are stored in, with its `type`. */
  item: JsonValue;
};

/** A piece of sound: PCM, 16 bits a sample, little end first, whole samples only. */
export type RealtimeAudio = {
  /** Base64. */
  data: string;
  /** Samples a second; what is sent must have 24000. */
  sampleRate?: number;
  /** What is sent must have one. */
  channels?: number;
};

export type RealtimeAudioDelta = {
  realtimeId: RealtimeId;
  /** What is said together has the same one. */
  itemId: string | null;
  audio: RealtimeAudio;
};

export type RealtimeAudioParams = {
  threadId: ThreadId;
  audio: RealtimeAudio;
};

export type RealtimeAudioResult = Record<symbol, never>;

export type RealtimeCloseParams = {
  threadId: ThreadId;
};

export type RealtimeCloseResult = {
  /** Whether there was one to end. */
  closing: boolean;
};

export type RealtimeClosed = {
  realtimeId: RealtimeId;
  reason: RealtimeEnd;
  /** In words, where there is more to say. */
  message: string | null;
};

/** Why a realtime conversation is over. */
export type RealtimeEnd = "requested" | "replaced" | "threadClosed" | "endpoint" | "failed";

export type RealtimeError = {
  realtimeId: RealtimeId;
  message: string;
};

export type RealtimeHandoff = {
  realtimeId: RealtimeId;
  /** The turn that took it, new or running. */
  inputTurnId: TurnId;
  text: string;
};

/** One realtime conversation of a thread. A UUIDv7. */
export type RealtimeId = string;

/** In what the endpoint answers. */
export type RealtimeModality = "audio" | "text";

/** Who speaks. */
export type RealtimeRole = "user" | "assistant";

export type RealtimeSpeechStarted = {
  realtimeId: RealtimeId;
  itemId: string | null;
};

export type RealtimeStartParams = {
  threadId: ThreadId;
  /** Absent: as configured, else `v2`. */
  version?: RealtimeVersion | null;
  /** Absent: as configured, else the endpoint's usual one. */
  model?: string | null;
  /** One of `realtime/voices`. Absent: as configured, else the version's usual one. */
  voice?: string | null;
  outputModality?: RealtimeModality;
  /** Takes the place of the built-in instructions for the voice. */
  instructions?: string | null;
  /** Whether the voice is told what the written conversation is about. Absent: it is. */
  includeStartupContext?: boolean | null;
};

export type RealtimeStartResult = {
  /** Stands in everything that follows of it, also in the error if it cannot be started. */
  realtimeId: RealtimeId;
  version: RealtimeVersion;
  model: string;
  voice: string;
};

export type RealtimeStarted = {
  realtimeId: RealtimeId;
  version: RealtimeVersion;
  /** What the endpoint calls it. */
  sessionId: string | null;
};

export type RealtimeTextParams = {
  threadId: ThreadId;
  /** Said to the voice alone, which answers it; the written conversation hears nothing of it. */
  text: string;
};

export type RealtimeTextResult = Record<symbol, never>;

export type RealtimeTranscriptDelta = {
  realtimeId: RealtimeId;
  itemId: string | null;
  role: RealtimeRole;
  delta: string;
};

export type RealtimeTranscriptDone = {
  realtimeId: RealtimeId;
  itemId: string | null;
  role: RealtimeRole;
  text: string;
};

/** Which form of the endpoint's protocol is spoken. */
export type RealtimeVersion = "v1" | "v2";

/** The voices of one version. */
export type RealtimeVoices = {
  voices: Array<string>;
  /** The one that is taken where none is named. */
  usual: string;
};

export type RealtimeVoicesParams = Record<symbol, never>;

export type RealtimeVoicesResult = {
  v1: RealtimeVoices;
  v2: RealtimeVoices;
};

/** How much of its reasoning the model is asked to sum up. */
export type ReasoningSummary = "auto" | "concise" | "detailed" | "none";

export type ReviewCompleted = {
  output: ReviewOutput | null;
  /** Those that lie on lines of a file. */
  findings: Array<OpenFinding>;
};

/** Where a review runs. */
export type ReviewDelivery = "inline" | "detached";

/** The findings that are to go: those to which all that is given applies. */
export type ReviewDismissParams = {
  threadId: ThreadId;
  /** Those of this review. */
  turnId?: TurnId | null;
  /** This one. */
  findingId?: FindingId | null;
};

export type ReviewDismissResult = {
  /** How many went; what is gone already does not count. */
  dismissed: number;
};

export type ReviewEntered = {
  target: ReviewTarget;
  /** What is reviewed, for people: "Review of …". */
  review: string;
};

/** One thing that a review found. */
export type ReviewFinding = {
  /** At most 80 characters. */
  title: string;
  /** Markdown. */
  body: string;
  /** From 0 to 1. */
  confidenceScore: number;
  /** 0 must be fixed at once, 3 is minor. */
  priority: number;
  /** Absent where the reviewer named no place in a file of the workspace. */
  codeLocation?: CodeLocation | null;
};

export type ReviewFindingsChanged = {
  /** All that are left. */
  findings: Array<OpenFinding>;
};

export type ReviewFindingsParams = {
  /** Only those of this thread. */
  threadId?: ThreadId | null;
  /** Only those of this review. */
  turnId?: TurnId | null;
};

export type ReviewFindingsResult = {
  /** In the order of the reviews, and within one in the reviewer's. */
  data: Array<OpenFinding>;
};

/** What a review came to. */
export type ReviewOutput = {
  findings: Array<ReviewFinding>;
  /** Absent where the reviewer gave none. */
  overallCorrectness?: ReviewVerdict | null;
  overallExplanation: string;
  /** From 0 to 1; absent where the reviewer gave none. */
  overallConfidenceScore?: number | null;
  /** The reviewer gave no list of findings. What it found, if anything, only `overallExplanation` says. */
  isUnlisted?: boolean;
};

export type ReviewStartParams = {
  threadId: ThreadId;
  target: ReviewTarget;
  delivery?: ReviewDelivery;
};

export type ReviewStartResult = {
  /** The thread in which it runs. */
  reviewThreadId: ThreadId;
  turn: Turn;
};

/** What is to be reviewed. */
export type ReviewTarget =
  | {
    "type": "uncommittedChanges"
  }
  | {
    "type": "baseBranch";
    branch: string;
  }
  | {
    "type": "commit";
  /** As git understands it: whole, short, or a name such as `HEAD`. */
  sha: string;
  /** Its first line, for display; read from git where absent. */
  title?: string | null;
  }
  | {
    "type": "custom";
    instructions: string;
  };

/** The verdict on all that was reviewed. */
export type ReviewVerdict = "patch is correct" | "patch is incorrect";

/** What a model says of the risk of a command that the person is asked about. */
export type Risk = {
  level: RiskLevel;
  description: string;
};

/** How much harm something can do. */
export type RiskLevel = "low" | "medium" | "high" | "critical";

/** How a mode is enforced here. */
export type SandboxEnforcement = "full" | "weaker" | "refused" | "none";

/** The short name of a sandbox policy (configuration key `sandbox_mode`). */
export type SandboxMode = "read-only" | "workspace-write" | "danger-full-access";

export type SandboxModeStatus = {
  mode: SandboxMode;
  enforcement: SandboxEnforcement;
  /** Names of the walls that are put up. */
  walls: Array<string>;
};

/** What a command may touch. */
export type SandboxPolicy =
  | {
    "type": "dangerFullAccess"
  }
  | {
    "type": "readOnly";
    networkAccess: boolean;
  }
  | {
    "type": "workspaceWrite";
  /** Further writable folders, absolute. */
  writableRoots: Array<string>;
    networkAccess: boolean;
  /** Leave the folder named by `$TMPDIR` read-only. */
  excludeTmpdirEnvVar: boolean;
  /** Leave `/tmp` read-only. */
  excludeSlashTmp: boolean;
  };

export type SandboxStatusParams = Record<symbol, never>;

export type SandboxStatusResult = {
  /** `linux`, `macos`, `windows` or another. */
  platform: string;
  /** Whether commands can be confined at all; if not, they are refused unless full access is set. */
  canConfine: boolean;
  /** The least that must stand for a command to run confined, in words. */
  minimum: string;
  /** Each wall that this platform knows, tried a moment ago. */
  walls: Array<SandboxWall>;
  /** What a command gets under each mode. */
  modes: Array<SandboxModeStatus>;
  /** What commands are not kept from here, in sentences; empty where all walls stand. */
  weaknesses: Array<string>;
};

export type SandboxWall = {
  /** `Landlock`, `seccomp`, `namespaces` or `Seatbelt`. */
  name: string;
  stands: boolean;
  /** What there is of it, or why it does not stand. */
  detail: string;
  /** What it keeps a command from. */
  keepsFrom: string;
  /** What it cannot do by itself, or not in this version. */
  lacks: Array<string>;
};

/** One thing that the model was told beside the person's words, or that it was to be told and was not. */
export type SentContext = {
  kind: SentContextKind;
  /** In a few words, for the person: `src/main.rs, lines 10-20`. */
  label: string;
  path?: string | null;
  lineRange?: LineRange | null;
  /** Bytes of text that the model gets of it; 0 if it gets none. */
  bytes: number;
  /** Why it is cut short, or not sent at all. */
  note?: string | null;
};

export type SentContextKind = "file" | "folder" | "prompt" | "activeFile" | "selection" | "openFiles" | "diagnostics" | "recentEdits";

/** Changes to a thread's settings. Absent means no change; they stay in force for later turns. */
export type SettingsOverride = {
  model?: string | null;
  modelProvider?: string | null;
  /** `null` clears the effort, absence leaves it. */
  effort?: string | null;
  summary?: ReasoningSummary | null;
  /** Must be absolute. */
  cwd?: string | null;
  approvalPolicy?: ApprovalPolicy | null;
  approvalsReviewer?: ApprovalsReviewer | null;
  sandboxPolicy?: SandboxPolicy | null;
  /** Id of a permission profile, as `permissions/profiles` lists them; not together with `sandboxPolicy`. */
  permissions?: string | null;
  /** Folders of the workspace beside `cwd`, in place of those before. Relative ones start from `cwd`. */
  runtimeWorkspaceRoots?: Array<string> | null;
  editApproval?: EditApproval | null;
  /** `null` clears it, absence leaves it. */
  serviceTier?: string | null;
  personality?: Personality | null;
  editorContext?: EditorContextChange | null;
  /**
   * Absent: the mode stays, unless all of `model`, `effort`, `summary`, `cwd`, `approvalPolicy` and one of `sandboxPolicy` and
   * `permissions` are given: then it is `agent` again.
   */
  mode?: Mode | null;
};

/** What makes a thread a sub-agent. */
export type SubAgent = {
  /** Unique among the agents of one conversation. */
  name: string;
  /** The thread that it works for. */
  parentThreadId: ThreadId;
  /** 1 for an agent of the thread that the person talks to, 2 for an agent of such an agent. */
  depth: number;
};

/** One place to which a client has a thread's events sent once more. A UUIDv7. */
export type SubscriptionId = string;

/** A command that runs on, or has ended and was not read to its end by the agent. */
export type Terminal = {
  /** The number by which the model and the person name it; 1000 to 99999. */
  terminalId: number;
  threadId: ThreadId;
  /** The turn and the command execution item that began it. */
  turnId: TurnId;
  itemId: ItemId;
  /** The command as one line, for display. */
  command: string;
  cwd: string;
  confined: Confined;
  /** Absent: it has pipes, and its input is closed. */
  size?: TerminalSize | null;
  startedAtMs: number;
  /** Absent while it runs. */
  exitCode?: number | null;
};

export type TerminalExited = {
  terminalId: number;
  exitCode: number;
  /** From the command's start. */
  durationMs: number;
  /** A file with all of its output, if that is longer than what is shown of one; as in the item of a command. */
  fullOutput?: string | null;
};

export type TerminalKillParams = {
  /** Absent: all of the thread, or of all threads if that is absent too. */
  terminalId?: number | null;
  threadId?: ThreadId | null;
};

export type TerminalKillResult = {
  /** Those that ran and are being ended. */
  killed: Array<number>;
};

export type TerminalListParams = {
  /** Absent: of all threads. */
  threadId?: ThreadId | null;
};

export type TerminalListResult = {
  /** Those that run, oldest first. */
  data: Array<Terminal>;
};

export type TerminalOutput = {
  terminalId: number;
  delta: string;
};

export type TerminalReadParams = {
  terminalId: number;
};

export type TerminalReadResult = {
  terminal: Terminal;
  /** What it has printed so far, with all control sequences; at most 256 KiB, the middle left out. */
  output: string;
  /** Bytes that it has printed in all. */
  outputBytes: number;
};

export type TerminalResizeParams = {
  terminalId: number;
  /** 1 to 1000 each. */
  size: TerminalSize;
};

export type TerminalResizeResult = Record<symbol, never>;

/** Rows and columns of a terminal. */
export type TerminalSize = {
  rows: number;
  columns: number;
};

export type TerminalStarted = {
  terminal: Terminal;
};

export type TerminalWriteParams = {
  terminalId: number;
  /** As keys send it: Enter is `\r`, Ctrl-C is `\u0003`. */
  text: string;
};

export type TerminalWriteResult = Record<symbol, never>;

export type Thread = {
  id: ThreadId;
  /** The person's first words. */
  preview: string;
  name?: string | null;
  cwd: string;
  modelProvider: string;
  model?: string | null;
  status: ThreadStatus;
  createdAtMs: number;
  updatedAtMs: number;
  /** The rollout file. */
  path?: string | null;
  /** Where the thread was started: `vscode`, `neovim`, `cli`, … */
  source: string;
  /** Version of the program that wrote it. */
  cliVersion: string;
  gitInfo?: GitInfo | null;
  forkedFromId?: ThreadId | null;
  /** What makes it a sub-agent; absent for every other thread. Lists leave sub-agents out. */
  agent?: SubAgent | null;
  /** Put away: it is listed only where archived threads are asked for, and resumed only after `thread/unarchive`. */
  archived: boolean;
  memoryMode: ThreadMemoryMode;
  /** Empty where the request did not ask for them. */
  turns: Array<Turn>;
};

export type ThreadArchiveParams = {
  threadId: ThreadId;
};

export type ThreadArchiveResult = Record<symbol, never>;

export type ThreadArchived = Record<symbol, never>;

export type ThreadClosed = Record<symbol, never>;

export type ThreadCompactParams = {
  threadId: ThreadId;
};

export type ThreadCompactResult = {
  /** The turn that does it. */
  turnId: TurnId;
};

export type ThreadConfigured = {
  settings: ThreadSettings;
  /** Of the file of what the person typed, as `history/read` takes it; `0` where none is kept. */
  historyLogId: string;
  /** Entries in that file: one can go back from this number. */
  historyEntryCount: number;
};

export type ThreadContextParams = {
  threadId: ThreadId;
};

export type ThreadContextResult = {
  /** The model that was asked last. Absent where this server has not asked one yet: instructions and tools are not among the parts then. */
  model?: string | null;
  /** Tokens that it takes; absent where that is not known. */
  contextWindow?: number | null;
  /** Tokens at which the conversation is compacted by itself; absent where it never is. */
  compactsAt?: number | null;
  /**
   * Tokens of the conversation with all that goes along: the provider's count and an estimate of what has come since; where it has not
   * counted, an estimate.
   */
  tokens: number;
  /** What takes them, largest first. These are estimates of four bytes to a token, so their sum is not `tokens`. */
  parts: Array<ContextPart>;
  /** What is not sent since the window is small, in words. */
  leftOut?: Array<string>;
};

export type ThreadDeleteParams = {
  /** Letter by letter as lists give it: nothing brings the thread back. */
  threadId: ThreadId;
};

export type ThreadDeleteResult = Record<symbol, never>;

export type ThreadDeleted = Record<symbol, never>;

/** The copy is told in full by the answer, as by `thread/start`. */
export type ThreadForkParams = {
  /** One of `threadId` and `path` must be there; `path` wins. */
  threadId?: ThreadId | null;
  path?: string | null;
  /** The copy ends with this turn, which must be over. Not together with `beforeTurnId`. */
  lastTurnId?: TurnId | null;
  /** The copy ends before this turn. */
  beforeTurnId?: TurnId | null;
  /** What they leave out is as in the thread that is copied. */
  settings?: SettingsOverride;
  /** Free overrides by configuration key, above every other layer. */
  config?: { [key in string]: JsonValue } | null;
  /** Replaces the instructions of the thread that is copied. */
  baseInstructions?: string | null;
  /** Added as a developer message, behind what is copied. */
  developerInstructions?: string | null;
  /** Leave nothing of the copy on disk. */
  ephemeral?: boolean;
};

export type ThreadFound = {
  thread: Thread;
  /** The first place in the thread, with some words around it. */
  snippet: string;
  /** The turn it is in. Absent where it is the thread's name. */
  turnId?: TurnId | null;
};

/** A conversation. A UUID; also the end of its rollout file's name. */
export type ThreadId = string;

/** A thing in a turn. `item/completed` carries its final, authoritative form. */
export type ThreadItem =
  | {
    "type": "userMessage";
    id: ItemId;
    content: Array<UserInput>;
  /** Echo of `clientUserMessageId`. */
  clientId?: string | null;
  /** What the model was told beside these words: files that they mention, what the editor shows. */
  context?: Array<SentContext>;
  }
  | {
    "type": "agentMessage";
    id: ItemId;
    text: string;
  /** The turn was stopped, the stream broke off, or the server was cut off before the text was complete. */
  partial?: boolean;
  }
  | {
    "type": "reasoning";
    id: ItemId;
    summary: Array<string>;
    content: Array<string>;
  }
  | {
    "type": "plan";
    id: ItemId;
    explanation?: string | null;
    steps: Array<PlanStep>;
  }
  | {
    "type": "commandExecution";
    id: ItemId;
  /** The command, for display; of a plain shell (`bash -lc …`) only what it was given to run, which may have several lines. */
  command: string;
    cwd: string;
    actions: Array<CommandAction>;
    source: CommandSource;
    confined: Confined;
    status: ItemStatus;
  /** Standard output and error as they came, bounded, middle cut out. */
  aggregatedOutput?: string | null;
  /**
   * A file with all of it, where the middle is cut out of `aggregated_output`: text without control characters, up to 64 MiB; less
   * where the disk is too slow, which its last line says. Old files go after 14 days, and the oldest where all of them take more
   * than 1 GiB.
   */
  fullOutput?: string | null;
    exitCode?: number | null;
    durationMs?: number | null;
  /** Why it was asked about, refused or stopped. */
  reason?: string | null;
  /** The terminal in which it runs on. */
  terminalId?: number | null;
  }
  | {
    "type": "fileChange";
    id: ItemId;
  /** The proposal that the person decides on. */
  proposalId?: ProposalId | null;
    changes: Array<FileChange>;
  /** What of them was made, where the person did not accept all. */
  applied?: Array<FileChange> | null;
  /** The policy accepted it: nobody was asked. */
  autoApproved?: boolean;
    status: ItemStatus;
  /** What became of it, in words. */
  outcome?: string | null;
  }
  | {
    "type": "commandChanges";
    id: ItemId;
  /** The command or the call; absent where more than one ran on meanwhile. */
  sourceId?: ItemId | null;
  /** By path. */
  changes: Array<ChangedFile>;
  /** So many files more, which are not listed. */
  more?: number;
  }
  | {
    "type": "mcpToolCall";
    id: ItemId;
    server: string;
  /** The server's own name for it. */
  tool: string;
  /** What the call does, in a few words for the person. */
  title: string;
    arguments: JsonValue;
  /** The tool changes nothing: the server says so, and the person believes it (`trust_annotations`). */
  readOnly?: boolean;
    status: ItemStatus;
  /** The server's answer, with `content`, `structuredContent` and `isError`; of what is too large, a part. */
  result?: JsonValue | null;
  /** Why there is no answer, or what the server says went wrong. */
  error?: string | null;
    durationMs?: number | null;
  }
  | {
    "type": "toolCall";
    id: ItemId;
    tool: string;
  /** What the call does, in a few words for the person. */
  title: string;
    arguments: JsonValue;
    status: ItemStatus;
    output?: string | null;
    durationMs?: number | null;
  }
  | {
    "type": "collabAgentToolCall";
    id: ItemId;
    tool: CollabTool;
    status: ItemStatus;
    senderThreadId: ThreadId;
  /** Those whom it started, wrote to, waits for or closed. */
  receiverThreadIds: Array<ThreadId>;
  /** Where they stand. */
  agentsStates: { [key in string]: AgentState };
  /** The task, or the message. */
  prompt?: string | null;
    model?: string | null;
    reasoningEffort?: string | null;
  }
  | {
    "type": "agentMail";
    id: ItemId;
  /** Who wrote it: a sub-agent, `main`, or what a client called itself. */
  author: string;
  /** Absent where no thread wrote it. */
  authorThreadId?: ThreadId | null;
    text: string;
  }
  | {
    "type": "enteredReviewMode";
    id: ItemId;
  /** What is reviewed, for people: "Review of …". */
  review: string;
    target?: ReviewTarget | null;
  }
  | {
    "type": "exitedReviewMode";
    id: ItemId;
  /** What it came to, in Markdown; empty if it has no result. */
  review: string;
  /** Absent if it was stopped, or failed. */
  output?: ReviewOutput | null;
  }
  | {
    "type": "undo";
    id: ItemId;
  /** The turns, oldest first; none where only what one command changed is undone. */
  turns: Array<TurnId>;
  /** The `commandChanges` item whose files are undone. */
  itemId?: ItemId | null;
    files: Array<UndoFile>;
  /** `completed`: all files are as `files` says. `failed`: no file was changed. */
  status: ItemStatus;
  /** What became of it, in words. */
  message?: string | null;
  }
  | {
    "type": "contextCompaction";
  /** `auto-compact-N` where nobody asked for it; N counts up. */
  id: ItemId;
    reason: CompactionReason;
  /** `failed` and `interrupted`: the conversation is as it was. */
  status: ItemStatus;
  /** Tokens of the conversation before it, partly estimated. */
  tokensBefore?: number | null;
  /** Tokens of what is left of it, estimated. */
  tokensAfter?: number | null;
  /** The summary that the model goes on with. */
  summary?: string | null;
  /** Why there is none, in words. */
  message?: string | null;
  };

export type ThreadListParams = {
  /** From the `nextCursor` of the page before. */
  cursor?: string | null;
  /** Default 25, at least 1. */
  limit?: number | null;
  origin?: ThreadOrigin;
  /** Absent: the current provider's, or all of another origin; empty: all. */
  modelProviders?: Array<string> | null;
  /** Only threads of this folder. */
  cwd?: string | null;
  /** Only threads whose preview or name holds this text, whatever the case. */
  searchTerm?: string | null;
  /**
   * Where threads were started (`vscode`, `neovim`, `exec`, …); `interactive` stands for wherever a person holds them, as absent or
   * empty does.
   */
  sources?: Array<string> | null;
  /** The archived threads in place of the others. */
  archived?: boolean;
};

/** Newest first by last use. */
export type ThreadListResult = {
  data: Array<Thread>;
  /** Absent on the last page. */
  nextCursor?: string | null;
};

/** Whether memories may be made of a thread later. Nothing in the conversation depends on it. */
export type ThreadMemoryMode = "enabled" | "disabled";

export type ThreadMemoryModeSetParams = {
  threadId: ThreadId;
  mode: ThreadMemoryMode;
};

export type ThreadMemoryModeSetResult = {
  thread: Thread;
};

export type ThreadNameSetParams = {
  threadId: ThreadId;
  /** What lists show in place of the preview: one line, not blank. */
  name: string;
};

export type ThreadNameSetResult = {
  thread: Thread;
};

export type ThreadNameUpdated = {
  name: string | null;
};

/** Whose threads a list shows. */
export type ThreadOrigin = "countersign" | "codex";

export type ThreadReadParams = {
  threadId: ThreadId;
  includeTurns?: boolean;
};

export type ThreadReadResult = {
  thread: Thread;
};

export type ThreadResumeParams = {
  /** One of `threadId` and `path` must be there; `path` wins. */
  threadId?: ThreadId | null;
  path?: string | null;
  settings?: SettingsOverride;
  /**
   * The client's tools from now on, in place of those before. Absent: those that the thread was started with, where the same
   * program started it; none else.
   */
  dynamicTools?: Array<DynamicToolSpec> | null;
};

export type ThreadRollbackParams = {
  threadId: ThreadId;
  /**
   * Turns to drop, counted from the last; at least 1. More than there are drops all. Only turns with words of the person
   * count: an undo, or a turn of their own commands, goes with the turn before it.
   */
  numTurns: number;
  /**
   * The last turn as the caller knows the conversation. If the last one is another by now nothing is dropped, and the error is
   * `turnMismatch`: so a request that is sent twice drops once.
   */
  expectedTurnId?: TurnId | null;
};

export type ThreadRollbackResult = {
  /** With the turns that are left. */
  thread: Thread;
  /** Turns that were dropped. */
  numTurns: number;
  /** For the person: what was dropped, and that files stay as they are. */
  message: string;
};

export type ThreadRolledBack = {
  /** How many were dropped. */
  numTurns: number;
};

export type ThreadSearchParams = {
  /** Looked for in what the person and the agent said, whatever the case. */
  searchTerm: string;
  /** From the `nextCursor` of the page before. */
  cursor?: string | null;
  /** Default 25, at least 1. */
  limit?: number | null;
  /** Absent or empty: all. */
  modelProviders?: Array<string> | null;
  /** Only threads of this folder. */
  cwd?: string | null;
  /** The archived threads in place of the others. */
  archived?: boolean;
};

/** Newest first by last use. */
export type ThreadSearchResult = {
  data: Array<ThreadFound>;
  /**
   * Absent once all threads were looked through. A page can be short, or empty, and yet have one: a request looks through
   * a bounded amount of text.
   */
  nextCursor?: string | null;
};

/** Puts a message for the model into a thread that the person did not write. It stands on the agent's side of the history. */
export type ThreadSendParams = {
  /** Who gets it. */
  threadId: ThreadId;
  text: string;
  /** Who says it, as the model is told; `client` where nothing is said. */
  author?: string | null;
  /**
   * Begin a turn for it if none runs, unless the person has stopped one and said nothing since. Otherwise it waits for the
   * next one.
   */
  startsTurn?: boolean;
};

export type ThreadSendResult = {
  /** The turn that takes it: one that was running, or begins for it. Absent where it waits. */
  turnId?: TurnId | null;
};

/** The settings in force for a thread; a turn works on a snapshot of them. */
export type ThreadSettings = {
  model: string;
  /** Id of the provider in `model_providers`. */
  modelProvider: string;
  /** Reasoning effort; absent means the model's own default. */
  effort: string | null;
  summary: ReasoningSummary;
  /** Absolute working directory of the thread. */
  cwd: string;
  approvalPolicy: ApprovalPolicy;
  approvalsReviewer: ApprovalsReviewer;
  /** What commands may touch; with a permission profile, the policy that comes nearest to it. */
  sandboxPolicy: SandboxPolicy;
  /** Id of the permission profile in force; absent where `sandbox_policy` was given by itself. */
  permissions?: string | null;
  /**
   * Folders that belong to the workspace beside `cwd` and the editor's folders. Absolute. A profile's own are not among
   * them.
   */
  runtimeWorkspaceRoots: Array<string>;
  editApproval: EditApproval;
  /** How urgent requests are, in the provider's words, such as `flex` or `priority`; absent means the provider's default. */
  serviceTier?: string | null;
  personality: Personality;
  /** What of the editor the model is told with the person's words. */
  editorContext: EditorContextSettings;
  mode: Mode;
};

/** A command of the person's own, as `!command` in the place of a message is. */
export type ThreadShellCommandParams = {
  threadId: ThreadId;
  /** Text for the person's shell (`$SHELL`, as a login shell). */
  command: string;
  /** The command is ended then; absent: an hour. */
  timeoutMs?: number | null;
};

export type ThreadShellCommandResult = {
  /** The turn that the command runs in; stopping it ends the command. */
  turnId: TurnId;
  /** The command's item. As input `commandOutput` it sends the output along to the model. */
  itemId: ItemId;
  /** It runs beside what the agent does in a turn that runs already. Otherwise the turn is its own. */
  joined: boolean;
};

export type ThreadStartParams = {
  /** `settings.cwd` defaults to the workspace folder of the active document, else the first folder. */
  settings?: SettingsOverride;
  /** Free overrides by configuration key, above every other layer. */
  config?: { [key in string]: JsonValue } | null;
  /** Replaces the built-in instructions. */
  baseInstructions?: string | null;
  /** Added as a developer message. */
  developerInstructions?: string | null;
  /** Leave nothing on disk. */
  ephemeral?: boolean;
  /**
   * Tools of the client's that the model may call in this thread, by `countersign/tool/call`. One that cannot be taken makes
   * the request an error.
   */
  dynamicTools?: Array<DynamicToolSpec>;
};

/** Answer of `thread/start` and `thread/resume`. */
export type ThreadStartResult = {
  thread: Thread;
  settings: ThreadSettings;
  /** The instruction files (`AGENTS.md`) given to the model. */
  instructionSources: Array<string>;
};

export type ThreadStarted = {
  thread: Thread;
};

export type ThreadStatus = "notLoaded" | "idle" | "active" | "waitingOnApproval" | "waitingOnUserInput";

export type ThreadStatusChanged = {
  status: ThreadStatus;
};

export type ThreadSubscribeParams = {
  /** A live thread. */
  threadId: ThreadId;
  /** Also the events after this number, as far as they are kept. Absent: only what comes. */
  afterSeq?: number | null;
  /** Also the items of the history (`item/raw`): first those that are there, then each as it is added. */
  raw?: boolean;
};

export type ThreadSubscribeResult = {
  /** Stands in each event that is sent for this subscription. */
  subscriptionId: SubscriptionId;
  /** Number of the thread's latest event at this moment. */
  lastSeq: number;
  /** What was asked for with `afterSeq` and is not kept any more; `thread/read` tells what came of it. */
  missing?: MissingEvents | null;
};

/** Usage of a thread: of the latest response, the running sum, and the window it counts against. */
export type ThreadTokenUsage = {
  last: TokenUsage;
  total: TokenUsage;
  modelContextWindow?: number | null;
  /** Of all responses of the thread. Absent where no price is known. */
  cost?: Cost | null;
};

export type ThreadUnarchiveParams = {
  threadId: ThreadId;
};

export type ThreadUnarchiveResult = {
  thread: Thread;
};

export type ThreadUnarchived = Record<symbol, never>;

export type ThreadUnsubscribeParams = {
  subscriptionId: SubscriptionId;
};

export type ThreadUnsubscribeResult = Record<symbol, never>;

/** Tokens of one response, or of a thread so far. */
export type TokenUsage = {
  inputTokens: number;
  /** Of these, what the provider read from its cache. */
  cachedInputTokens: number;
  /** Of these, what it wrote into its cache, where it says so. */
  cacheWriteInputTokens: number;
  outputTokens: number;
  reasoningOutputTokens: number;
  totalTokens: number;
};

export type TokenUsageUpdated = {
  tokenUsage: ThreadTokenUsage;
  /** The latest that the provider has said of the account's allowance; absent where it says nothing. */
  rateLimits?: RateLimits | null;
};

/**
 * A call of a server's tool that may change something. Sent as the request `countersign/approval/tool` to clients with the
 * plugin protocol, shown by `window/showMessageRequest` to all others.
 */
export type ToolApproval = {
  id: ApprovalId;
  threadId: ThreadId;
  turnId: TurnId;
  /** The call. */
  itemId: ItemId;
  /** Name of the sub-agent that asks; absent for the thread that the person talks to. */
  agent?: string | null;
  server: string;
  /** The server's own name for it. */
  tool: string;
  /** Its name, and what the server calls it. */
  title: string;
  arguments: JsonValue;
  /** Why it asks. Where something was allowed before that has changed since, with all that it was and is, line by line. */
  reason: string;
  /**
   * How the server is reached and all that it says of the tool: what a yes for the session or for always is tied to. The
   * server's own claims are not to be believed.
   */
  definition: string;
  /** What `acceptForSession` would cover, in words. */
  sessionScope: string;
  /** What `acceptAlways` would write. */
  alwaysRule: AlwaysRule;
  /** What looks like something else in what is asked, in sentences; to be shown with it. */
  notes?: Array<string>;
  availableDecisions: Array<ApprovalDecision>;
};

/** The model calls a tool of the client's. Cancelled where the turn is stopped or the answer takes too long. */
export type ToolCallParams = {
  threadId: ThreadId;
  turnId: TurnId;
  /** Id of the item that shows the call. */
  callId: ItemId;
  tool: string;
  /** An object, as the model wrote it; it was not held against the schema. */
  arguments: JsonValue;
};

/** Answer of the client to `countersign/tool/call`. */
export type ToolCallResult = {
  contentItems: Array<ToolContent>;
  success: boolean;
};

/** A piece of what a tool gives back. */
export type ToolContent =
  | {
    "type": "inputText";
    text: string;
  /**
   * The files that the text tells of, absolute. Where one of them is kept from the model, the piece is left out and the
   * model is told that something was. Absent: it tells of none.
   */
  paths?: Array<string>;
  }
  | {
    "type": "inputImage";
    imageUrl: string;
  }
  | {
    "type": "patch";
    patch: string;
  };

export type Turn = {
  id: TurnId;
  kind: TurnKind;
  status: TurnStatus;
  items: Array<ThreadItem>;
  error?: TurnError | null;
  /** With status `interrupted`. */
  interruptedBy?: InterruptedBy | null;
  startedAtMs?: number | null;
  completedAtMs?: number | null;
};

export type TurnCompleted = {
  turn: Turn;
  /** The agent's last text in the turn's last round: its answer. Absent if it said nothing there. */
  lastAgentMessage: string | null;
  /** Input that came while the turn ran and that it was stopped before reading, in order. */
  unanswered: Array<UnansweredInput>;
  /** What it cost. Absent where no price is known. */
  cost: Cost | null;
};

export type TurnDiff = {
  diff: string;
};

export type TurnDiffParams = {
  threadId: ThreadId;
  /** Absent: the running turn, or else the newest one that changed something and is not taken back. */
  turnId?: TurnId | null;
};

export type TurnDiffResult = {
  /** Absent if no turn has changed anything. */
  turnId?: TurnId | null;
  /** Unified diff of all that the turn has changed; empty if nothing. */
  diff: string;
};

export type TurnError = {
  /** What happened, to what, and what to do next. */
  message: string;
  kind: TurnErrorKind;
  /** HTTP status of the provider's answer, where there was one. */
  httpStatus?: number | null;
  /** What may help and can be done for the person, most helpful first. */
  actions?: Array<ErrorAction>;
};

/** The machine-readable side of a turn's error; the message says the same in words and what to do. */
export type TurnErrorKind = "missingKey" | "unauthorized" | "modelNotFound" | "contextWindowExceeded" | "usageLimitExceeded" | "quotaExceeded" | "planLimit" | "contentFilter" | "refused" | "rateLimitExceeded" | "serverOverloaded" | "badRequest" | "serverError" | "connectionFailed" | "streamDisconnected" | "incomplete" | "tooManyRounds" | "costLimitExceeded" | "sandboxError" | "toolServerFailed" | "undoFailed" | "reviewFailed" | "other" | "internal";

/** From one input of the person to the agent's final answer. A UUIDv7. */
export type TurnId = string;

export type TurnInterruptParams = {
  threadId: ThreadId;
  /** Refused if it is not the running turn; absent means whichever runs. */
  turnId?: TurnId | null;
};

export type TurnInterruptResult = {
  /** Whether a turn was running. `turn/completed` with status `interrupted` follows if so. */
  interrupted: boolean;
};

/** What a turn is about. */
export type TurnKind = "regular" | "ownCommands" | "undo" | "review" | "compaction";

/** What waits, in the order in which it will be said. */
export type TurnQueue = {
  inputs: Array<QueuedInput>;
  /**
   * Nothing is taken from the queue until `turn/queue/resume`, but for what waits for a time: the person stopped a turn, or
   * one failed. Never of an empty queue.
   */
  paused: boolean;
};

export type TurnQueueAddParams = {
  threadId: ThreadId;
  /** As for `turn/start`, also a command of the person's own. */
  input: Array<UserInput>;
  context?: EditorContext | null;
  /** Changed when its turn begins; stays in force for later turns. */
  settings?: SettingsOverride | null;
  /** JSON Schema of the final answer; for its turn only. */
  outputSchema?: JsonValue | null;
  metadata?: { [key in string]: string } | null;
  /** Echoed as `clientId` on the user message. */
  clientUserMessageId?: string | null;
  /**
   * Its turn begins at this time (milliseconds since the epoch) at the earliest, also where the queue is paused: for
   * `waitUntil` of an error. It is gone with the thread, which says so.
   */
  notBeforeMs?: number | null;
};

/** Exactly one of the two. */
export type TurnQueueAddResult = {
  /** It waits. */
  queued?: QueuedInput | null;
  /** Nothing was running or waiting, so this turn begins with it. */
  turn?: Turn | null;
};

export type TurnQueueChanged = {
  queue: TurnQueue;
};

export type TurnQueueEditParams = {
  threadId: ThreadId;
  queuedId: QueuedId;
  /** In place of what it said. The rest of it stays, and so does its place. */
  input: Array<UserInput>;
};

export type TurnQueueListParams = {
  threadId: ThreadId;
};

export type TurnQueueRemoveParams = {
  threadId: ThreadId;
  /** Absent means all. */
  queuedId?: QueuedId | null;
};

export type TurnQueueReorderParams = {
  threadId: ThreadId;
  /** The ones to come first, in this order; the others keep theirs behind them. */
  queuedIds: Array<QueuedId>;
};

/** The queue after the change, or as it is. */
export type TurnQueueResult = {
  queue: TurnQueue;
};

export type TurnQueueResumeParams = {
  threadId: ThreadId;
};

export type TurnRetryNowParams = {
  threadId: ThreadId;
};

export type TurnRetryNowResult = {
  /** Whether a turn was waiting. */
  retrying: boolean;
};

export type TurnRetrying = {
  /** Counted from 1. */
  attempt: number;
  /** Absent: without end, until the person stops the turn. */
  limit: number | null;
  delayMs: number;
  message: string;
};

export type TurnStartParams = {
  threadId: ThreadId;
  /** One text that begins with `!` is a command of the person's own, as by `thread/shellCommand`. */
  input: Array<UserInput>;
  context?: EditorContext | null;
  /** Stays in force for later turns. */
  settings?: SettingsOverride | null;
  /** JSON Schema of the final answer; for this turn only. */
  outputSchema?: JsonValue | null;
  /** Sent to the provider with this turn's requests. */
  metadata?: { [key in string]: string } | null;
  /** Echoed as `clientId` on the user message. */
  clientUserMessageId?: string | null;
  /** The words were spoken?: a running realtime conversation, which has heard them, is not told again. */
  spoken?: boolean;
};

export type TurnStartResult = {
  turn: Turn;
  /** The input joined this running turn; no turn was started. */
  steered: boolean;
};

export type TurnStarted = {
  turn: Turn;
  /** Tokens; absent where it is not known. */
  modelContextWindow: number | null;
};

export type TurnStatus = "inProgress" | "completed" | "interrupted" | "failed";

export type TurnSteerParams = {
  threadId: ThreadId;
  /** The turn that the person sees running; refused if another one runs. */
  expectedTurnId: TurnId;
  input: Array<UserInput>;
  /** Sent to the provider with the turn's requests from now on, beside what it has; the same key is replaced. */
  metadata?: { [key in string]: string } | null;
  clientUserMessageId?: string | null;
  /** As in `turn/start`. */
  spoken?: boolean;
};

export type TurnSteerResult = {
  turnId: TurnId;
};

export type TurnUndoParams = {
  threadId: ThreadId;
  /**
   * The files become what they were before this turn: it and all turns after it are taken back. Absent: the newest
   * turn that changed something and is not taken back. An undo is a turn too; naming it brings back what it took.
   */
  turnId?: TurnId | null;
  /** In the place of a turn: only what this `commandChanges` item lists is undone. */
  itemId?: ItemId | null;
  /** Of that item, only these files; both paths of one that was moved. Empty: all. */
  paths?: Array<string>;
  conflicts?: UndoConflicts;
};

export type TurnUndoResult = {
  /** The undo's own turn; its events follow. */
  turnId: TurnId;
};

/**
 * The person's words that no model has read: their turn was stopped before. They are in no later turn, so an editor offers
 * them again.
 */
export type UnansweredInput = {
  input: Array<UserInput>;
  clientUserMessageId?: string | null;
};

/** What happens to a file that the person has changed where the turn had changed it. */
export type UndoConflicts = "keep" | "restore";

/** One file of an undo. */
export type UndoFile = {
  /** Absolute; a name that is no UTF-8 is shown as well as it can be. */
  path: string;
  result: UndoResult;
  /** Why, where it is not what was asked for. */
  message?: string | null;
};

/** What became of one file. */
export type UndoResult = "restored" | "removed" | "merged" | "kept" | "conflict" | "skipped";

export type UserAnswer = {
  /** Labels of choices, or the person's words. */
  answers: Array<string>;
};

export type UserChoice = {
  label: string;
  /** What choosing it means. */
  description: string;
};

/** One piece of the person's input. */
export type UserInput =
  | {
    "type": "text";
    text: string;
  }
  | {
    "type": "image";
    url: string;
  }
  | {
    "type": "localImage";
    path: string;
  }
  | {
    "type": "mention";
    path: string;
    lineRange?: LineRange | null;
  }
  | {
    "type": "commandOutput";
    itemId: ItemId;
  };

/**
 * What the model asks at one time. Sent as the request `countersign/userInput/request` to clients with the plugin protocol,
 * shown by `window/showMessageRequest` to all others.
 */
export type UserInputRequest = {
  id: QuestionsId;
  threadId: ThreadId;
  turnId: TurnId;
  /** The call that asks. */
  itemId: ItemId;
  /** Name of the sub-agent that asks; absent for the thread that the person talks to. */
  agent?: string | null;
  /** One to three. */
  questions: Array<UserQuestion>;
};

export type UserInputRequested = {
  request: UserInputRequest;
};

export type UserInputResolved = {
  id: QuestionsId;
  /** False: closed, withdrawn, or answered by a message of the person's. */
  answered: boolean;
};

/** Settles open questions from another surface than the one that was asked. */
export type UserInputRespondParams = {
  id: QuestionsId;
  /** `null`: the person does not want to answer. */
  response?: UserInputResponse | null;
};

export type UserInputRespondResult = {
  /** False if they were settled before. */
  taken: boolean;
};

/**
 * The person's answers. `null` in its place, an error, what cannot be understood and a client that is gone are no answer,
 * and so is each question that is not in it.
 */
export type UserInputResponse = {
  /** By the question's id. */
  answers: { [key in string]: UserAnswer };
};

export type UserQuestion = {
  /** The name under which its answer comes back. */
  id: string;
  /** What it is about, in a word or two. */
  header: string;
  question: string;
  /** Whether the person may answer in words of their own. */
  isOther: boolean;
  /** Empty where only words can answer. */
  options: Array<UserChoice>;
};

export type Warning = {
  message: string;
};

/** What a client may ask, by method. */
export interface ClientRequests {
  /** Starts a thread. The answer comes before any notification of the thread. */
  "countersign/thread/start": { params: ThreadStartParams; result: ThreadStartResult };
  /** Brings a stored thread back, or joins it if it is live. */
  "countersign/thread/resume": { params: ThreadResumeParams; result: ThreadStartResult };
  /** Lists stored threads, newest first by last use. */
  "countersign/thread/list": { params: ThreadListParams; result: ThreadListResult };
  /** Reads a thread without loading it. */
  "countersign/thread/read": { params: ThreadReadParams; result: ThreadReadResult };
  /** Copies a thread, live or stored, into a new one: whole, or up to a turn. The new thread is live. */
  "countersign/thread/fork": { params: ThreadForkParams; result: ThreadStartResult };
  /** Drops the last turns of a live thread from the conversation. Files stay as they are. */
  "countersign/thread/rollback": { params: ThreadRollbackParams; result: ThreadRollbackResult };
  /** Puts a thread away; a live one is ended first. */
  "countersign/thread/archive": { params: ThreadArchiveParams; result: ThreadArchiveResult };
  /** Brings an archived thread back into the list. */
  "countersign/thread/unarchive": { params: ThreadUnarchiveParams; result: ThreadUnarchiveResult };
  /** Deletes a thread, archived or not, with its proposals and what it noted for undo. A live one is ended first. */
  "countersign/thread/delete": { params: ThreadDeleteParams; result: ThreadDeleteResult };
  /** Gives a thread a name. */
  "countersign/thread/name/set": { params: ThreadNameSetParams; result: ThreadNameSetResult };
  /** Says whether memories may be made of a thread later. */
  "countersign/thread/memoryMode/set": { params: ThreadMemoryModeSetParams; result: ThreadMemoryModeSetResult };
  /** Looks for words in stored threads, newest first by last use. */
  "countersign/thread/search": { params: ThreadSearchParams; result: ThreadSearchResult };
  /** Has a live thread's events sent once more, under an id of their own. Questions to the person are not asked twice. */
  "countersign/thread/subscribe": { params: ThreadSubscribeParams; result: ThreadSubscribeResult };
  /** Ends such a subscription. What the client gets of its threads anyway goes on. */
  "countersign/thread/unsubscribe": { params: ThreadUnsubscribeParams; result: ThreadUnsubscribeResult };
  /** Starts a turn, or steers the running one. Answered at once; the story follows as notifications. */
  "countersign/turn/start": { params: TurnStartParams; result: TurnStartResult };
  /** Adds input to the running turn. */
  "countersign/turn/steer": { params: TurnSteerParams; result: TurnSteerResult };
  /** Stops the running turn. Answered at once, also when nothing runs. */
  "countersign/turn/interrupt": { params: TurnInterruptParams; result: TurnInterruptResult };
  /** Sends the request of a turn that waits after `turn/retrying` again at once. */
  "countersign/turn/retryNow": { params: TurnRetryNowParams; result: TurnRetryNowResult };
  /** Gives input its own turn: at once if nothing runs or waits, else after what does. */
  "countersign/turn/queue/add": { params: TurnQueueAddParams; result: TurnQueueAddResult };
  /** What waits for its turn. */
  "countersign/turn/queue/list": { params: TurnQueueListParams; result: TurnQueueResult };
  /** Changes what an input that waits will say. */
  "countersign/turn/queue/edit": { params: TurnQueueEditParams; result: TurnQueueResult };
  /** Takes one input out of the queue, or all. */
  "countersign/turn/queue/remove": { params: TurnQueueRemoveParams; result: TurnQueueResult };
  /** Changes the order in which the inputs get their turns. */
  "countersign/turn/queue/reorder": { params: TurnQueueReorderParams; result: TurnQueueResult };
  /** Goes on with a queue that is paused. */
  "countersign/turn/queue/resume": { params: TurnQueueResumeParams; result: TurnQueueResult };
  /** Takes the last turn back, or all turns from one on. Answered at once; it is a turn of its own. */
  "countersign/turn/undo": { params: TurnUndoParams; result: TurnUndoResult };
  /** What a turn has changed, as one diff. */
  "countersign/turn/diff": { params: TurnDiffParams; result: TurnDiffResult };
  /** Says what fills the context window of a conversation's model: instructions, tools, files, messages, results. */
  "countersign/thread/context": { params: ThreadContextParams; result: ThreadContextResult };
  /** Compacts the conversation, so that it takes less of the model's context window. Answered at once; it is a turn of its own, which takes the place of one that runs. */
  "countersign/thread/compact": { params: ThreadCompactParams; result: ThreadCompactResult };
  /** Runs a command of the person's own in their shell, beside what the agent does or as a turn of its own. Answered at once; the command shows as an item. The model hears nothing of it. */
  "countersign/thread/shellCommand": { params: ThreadShellCommandParams; result: ThreadShellCommandResult };
  /** Puts a message into a thread that the person did not write: another agent's, or a program's. */
  "countersign/thread/send": { params: ThreadSendParams; result: ThreadSendResult };
  /** Runs a command beside all conversations, in the sandbox. The one request that stays open while a process runs: it is answered when that ends. Cancelling it ends the command with everything it started. */
  "countersign/command/exec": { params: CommandExecParams; result: CommandExecResult };
  /** Stops a command that `command/exec` runs, which is answered then. */
  "countersign/command/terminate": { params: CommandTerminateParams; result: CommandTerminateResult };
  /** Allows exactly one action that the automatic reviewer denied. */
  "countersign/guardian/approveDenied": { params: GuardianApproveDeniedParams; result: GuardianApproveDeniedResult };
  /** Finds files by a few letters of their paths. */
  "countersign/file/search": { params: FileSearchParams; result: FileSearchResult };
  /** Which of these files are kept from the model, so that tools of the client's do not show them to it either. */
  "countersign/file/readable": { params: FileReadableParams; result: FileReadableResult };
  /** What a folder's repository holds that no remote has. */
  "countersign/git/diffToRemote": { params: GitDiffToRemoteParams; result: GitDiffToRemoteResult };
  /** The proposals that wait, or all. */
  "countersign/proposal/list": { params: ProposalListParams; result: ProposalListResult };
  /** One proposal, with its hunks placed in today's text. */
  "countersign/proposal/read": { params: ProposalReadParams; result: ProposalReadResult };
  /** Accepts or rejects hunks, or takes a decision back. */
  "countersign/proposal/decide": { params: ProposalDecideParams; result: ProposalDecideResult };
  /** Changes what a waiting hunk would put into its file. */
  "countersign/proposal/edit": { params: ProposalEditParams; result: ProposalEditResult };
  /** Has a change reviewed. Answered at once; it is a turn of its own. */
  "countersign/review/start": { params: ReviewStartParams; result: ReviewStartResult };
  /** What reviews found and what still lies on its lines. */
  "countersign/review/findings": { params: ReviewFindingsParams; result: ReviewFindingsResult };
  /** Takes findings off their lines. */
  "countersign/review/dismiss": { params: ReviewDismissParams; result: ReviewDismissResult };
  /** Settles an open question from another surface than the one that was asked. */
  "countersign/approval/respond": { params: ApprovalRespondParams; result: ApprovalRespondResult };
  /** Answers what the model asks from another surface than the one that was asked. */
  "countersign/userInput/respond": { params: UserInputRespondParams; result: UserInputRespondResult };
  /** The commands of the agent that run on in terminals. */
  "countersign/terminal/list": { params: TerminalListParams; result: TerminalListResult };
  /** What a terminal has printed so far. */
  "countersign/terminal/read": { params: TerminalReadParams; result: TerminalReadResult };
  /** Types into a terminal. The model is told that the person did, not what. */
  "countersign/terminal/write": { params: TerminalWriteParams; result: TerminalWriteResult };
  /** Gives a terminal another size. */
  "countersign/terminal/resize": { params: TerminalResizeParams; result: TerminalResizeResult };
  /** Ends one terminal, or all, with everything started in them. */
  "countersign/terminal/kill": { params: TerminalKillParams; result: TerminalKillResult };
  /** The MCP servers of a thread: how they are, their tools, resources and templates. Waits a bounded time for what must be asked of them. */
  "countersign/mcp/list": { params: McpListParams; result: McpListResult };
  /** Reads the configuration of MCP servers again. It takes effect with the next turn; one that runs keeps its servers. */
  "countersign/mcp/refresh": { params: McpRefreshParams; result: McpRefreshResult };
  /** Begins a login to an MCP server in a browser. `mcp/login/completed` tells how it ended. */
  "countersign/mcp/login": { params: McpLoginParams; result: McpLoginResult };
  /** Forgets the login to an MCP server. */
  "countersign/mcp/logout": { params: McpLogoutParams; result: McpLogoutResult };
  /** One page of a server's resources. */
  "countersign/mcp/resource/list": { params: McpResourceListParams; result: McpResourceListResult };
  /** One page of a server's resource templates. */
  "countersign/mcp/resource/templates": { params: McpResourceListParams; result: McpResourceListResult };
  /** What a resource holds. */
  "countersign/mcp/resource/read": { params: McpResourceReadParams; result: McpResourceReadResult };
  /** Settles an MCP server's question from another surface than the one that was asked. */
  "countersign/mcp/elicitation/respond": { params: McpElicitationRespondParams; result: McpElicitationRespondResult };
  /** Who is signed in, and whether the configured provider takes a login. */
  "countersign/account/read": { params: AccountReadParams; result: AccountReadResult };
  /** Logs in with a key, or begins a login to an account. Answered before the person has done anything. */
  "countersign/account/login/start": { params: AccountLoginStartParams; result: AccountLoginStartResult };
  /** Gives up the login that runs. */
  "countersign/account/login/cancel": { params: AccountLoginCancelParams; result: AccountLoginCancelResult };
  /** Forgets what was signed in with; the server is told where it takes that. */
  "countersign/account/logout": { params: AccountLogoutParams; result: AccountLogoutResult };
  /** How requests to the configured provider are allowed. */
  "countersign/account/status": { params: AccountStatusParams; result: AccountStatusResult };
  /** Whether a model can be asked, and by what ways it could be: for a first run. A server on this machine is looked for, for a moment. */
  "countersign/account/setup": { params: AccountSetupParams; result: AccountSetupResult };
  /** What the provider says of the account's allowance at this moment. Waits for it a bounded time. */
  "countersign/account/rateLimits/read": { params: AccountRateLimitsReadParams; result: AccountRateLimitsReadResult };
  /** Starts to speak beside the written conversation. Answered at once; `realtime/started` follows, or an error. One that runs in the thread is ended first. */
  "countersign/realtime/start": { params: RealtimeStartParams; result: RealtimeStartResult };
  /** Says a piece of sound. Refused while too much of it waits. */
  "countersign/realtime/audio": { params: RealtimeAudioParams; result: RealtimeAudioResult };
  /** Says something in writing. */
  "countersign/realtime/text": { params: RealtimeTextParams; result: RealtimeTextResult };
  /** Ends it, also while it starts. Answered at once. */
  "countersign/realtime/close": { params: RealtimeCloseParams; result: RealtimeCloseResult };
  /** The voices there are. */
  "countersign/realtime/voices": { params: RealtimeVoicesParams; result: RealtimeVoicesResult };
  /** The models that can be chosen. */
  "countersign/model/list": { params: ModelListParams; result: ModelListResult };
  /** Keeps the model, or the effort, that threads begin with from now on. */
  "countersign/model/setDefault": { params: ModelSetDefaultParams; result: ModelSetDefaultResult };
  /** The prompts that can be called by name, as their files say at this moment. */
  "countersign/prompt/list": { params: PromptListParams; result: PromptListResult };
  /** One thing that the person typed, by its number. */
  "countersign/history/read": { params: HistoryReadParams; result: HistoryReadResult };
  /** What the person typed, newest first. */
  "countersign/history/list": { params: HistoryListParams; result: HistoryListResult };
  /** Adds what the person typed elsewhere than in `turn/start` and `turn/steer`, which add it themselves. */
  "countersign/history/append": { params: HistoryAppendParams; result: HistoryAppendResult };
  /** The effective configuration and where each value came from. */
  "countersign/config/read": { params: ConfigReadParams; result: ConfigReadResult };
  /** Changes the person's config.toml and nothing else in it. What is changed is taken up by each thread's next turn. */
  "countersign/config/write": { params: ConfigWriteParams; result: ConfigWriteResult };
  /** Reads the configuration again for live threads; their next turns take it up. */
  "countersign/config/reload": { params: ConfigReloadParams; result: ConfigReloadResult };
  /** What feedback would say, byte for byte; nothing is saved or sent. */
  "countersign/feedback/preview": { params: FeedbackPreviewParams; result: FeedbackPreviewResult };
  /** Saves feedback as a file. */
  "countersign/feedback/save": { params: FeedbackSaveParams; result: FeedbackSaveResult };
  /** Sends feedback to the address that the person has configured. Answered when it is taken there, or not. */
  "countersign/feedback/upload": { params: FeedbackUploadParams; result: FeedbackUploadResult };
  /** The permission profiles that can be chosen. */
  "countersign/permissions/profiles": { params: PermissionProfilesParams; result: PermissionProfilesResult };
  /** Which walls stand around commands on this machine, what each lacks, and what is used for each mode. */
  "countersign/sandbox/status": { params: SandboxStatusParams; result: SandboxStatusResult };
}

/** What the server asks a client with the plugin protocol, by method. */
export interface ServerRequests {
  /** May this command run? */
  "countersign/approval/command": { params: CommandApproval; result: ApprovalResponse };
  /** May patches and commands write in these folders outside the workspace, or commands do more than the policy allows? */
  "countersign/approval/permission": { params: PermissionApproval; result: ApprovalResponse };
  /** What does the person answer to these questions of the model's? `null`: nothing. */
  "countersign/userInput/request": { params: UserInputRequest; result: UserInputResponse };
  /** Carry out a tool that was declared for this thread. */
  "countersign/tool/call": { params: ToolCallParams; result: ToolCallResult };
  /** May this tool of a server be called? */
  "countersign/approval/tool": { params: ToolApproval; result: ApprovalResponse };
  /** An MCP server asks the person something. */
  "countersign/mcp/elicitation": { params: McpElicitation; result: McpElicitationResponse };
  /** Save these documents, which the agent changed, so that the command that follows sees them. */
  "countersign/document/save": { params: DocumentSaveParams; result: DocumentSaveResult };
}

/** What the server tells, by method. */
export interface Notifications {
  /** The thread exists. Follows the answer of the request that made it. */
  "countersign/thread/started": At & ThreadStarted;
  /** Its settings are in force; the first event after `thread/started`, and again after each change. */
  "countersign/thread/configured": At & ThreadConfigured;
  /** Idle, active, waiting. */
  "countersign/thread/statusChanged": At & ThreadStatusChanged;
  /** The thread's last event while it is live. */
  "countersign/thread/closed": At & ThreadClosed;
  /** The thread was put away; it need not have been live. */
  "countersign/thread/archived": At & ThreadArchived;
  /** The thread was brought back from where archived ones are. */
  "countersign/thread/unarchived": At & ThreadUnarchived;
  /** The thread is gone for good; nothing of it follows. */
  "countersign/thread/deleted": At & ThreadDeleted;
  /** The thread has another name. */
  "countersign/thread/nameUpdated": At & ThreadNameUpdated;
  /** The thread's last turns were dropped from the conversation. Files stay as they are. */
  "countersign/thread/rolledBack": At & ThreadRolledBack;
  /** A turn runs. */
  "countersign/turn/started": At & TurnStarted;
  /** The turn's last event, exactly one for each `turn/started`. */
  "countersign/turn/completed": At & TurnCompleted;
  /** What waits for its turn is another list, or in another order, or paused, or not any more. The whole of it each time. */
  "countersign/turn/queueChanged": At & TurnQueueChanged;
  /** Unified diff of all the turn has changed so far; replaces the one before. */
  "countersign/turn/diff": At & TurnDiff;
  /** A transient failure; the request is sent again. A notice, not an error. */
  "countersign/turn/retrying": At & TurnRetrying;
  /** An item begins. */
  "countersign/item/started": At & ItemStarted;
  /** An item is done; this is its final form. */
  "countersign/item/completed": At & ItemCompleted;
  /** An item of the history as the model is told it. Only to subscriptions with `raw`, one for each item, in the order of the history; `seq` is that of the event before it. */
  "countersign/item/raw": At & RawItem;
  /** More text of the answer. */
  "countersign/item/agentMessage/delta": At & ItemDelta;
  /** More text of a part of the reasoning's summary. */
  "countersign/item/reasoning/summaryTextDelta": At & ItemPartDelta;
  /** More raw reasoning; only where `show_raw_agent_reasoning` is on. */
  "countersign/item/reasoning/textDelta": At & ItemPartDelta;
  /** More output of a running command. */
  "countersign/item/commandExecution/outputDelta": At & ItemDelta;
  /** How far a call of a server's tool is. */
  "countersign/item/mcpToolCall/progress": At & McpProgress;
  /** A command runs on in a terminal of its own; its item is completed with status `background`. Belongs to the thread, as what follows of the terminal. */
  "countersign/terminal/started": At & TerminalStarted;
  /** More output of a terminal, with all control sequences; of a flood only its head and tail. */
  "countersign/terminal/output": At & TerminalOutput;
  /** The command in a terminal has ended, by itself or not. */
  "countersign/terminal/exited": At & TerminalExited;
  /** A reviewer looks at a change from here on; in the turn of the review, before anything it says. */
  "countersign/review/entered": At & ReviewEntered;
  /** The review is over, once for each `review/entered`: with its result, or with none if it was stopped or failed. */
  "countersign/review/completed": At & ReviewCompleted;
  /** Findings of the thread went: dismissed, their lines changed, their file gone, or the same reviewed again. Belongs to the thread. */
  "countersign/review/findingsChanged": At & ReviewFindingsChanged;
  /** The plan as it stands. */
  "countersign/turn/planUpdated": At & PlanUpdated;
  /** Tokens used, and what is left of the allowance: once after each response, and when a compaction has made room. */
  "countersign/thread/tokenUsage": At & TokenUsageUpdated;
  /** A patch waits for the person. */
  "countersign/proposal/created": At & ProposalChanged;
  /** A proposal's hunks were decided, edited or applied, or the proposal was settled otherwise. */
  "countersign/proposal/updated": At & ProposalChanged;
  /** The person typed: the hunks of a waiting proposal lie elsewhere now, or fit no more, or fit again. */
  "countersign/proposal/moved": At & ProposalMoved;
  /** Closed files were written on the disk for the agent; an editor that does not watch them itself looks again. */
  "countersign/file/changed": At & FilesChanged;
  /** A command, or a folder outside the workspace, waits for the person. Clients with the plugin protocol are asked by request. */
  "countersign/approval/requested": At & ApprovalRequested;
  /** The question is settled or pointless; close what shows it. */
  "countersign/approval/resolved": At & ApprovalResolved;
  /** The model asks the person. Clients with the plugin protocol are asked by request. */
  "countersign/userInput/requested": At & UserInputRequested;
  /** What the model asked is answered, or pointless; close what shows it. */
  "countersign/userInput/resolved": At & UserInputResolved;
  /** An MCP server asks the person something. Clients with the plugin protocol are asked by request. */
  "countersign/mcp/elicitationRequested": At & McpElicitationRequested;
  /** The server's question is settled or pointless; close what shows it. */
  "countersign/mcp/elicitationResolved": At & McpElicitationResolved;
  /** How an MCP server is: after `thread/configured` for each, and after each change. */
  "countersign/mcp/status": At & McpStatusChanged;
  /** An agent that works for this thread has begun, ended or is closed. Also between turns. */
  "countersign/thread/agentStatus": At & AgentStatusChanged;
  /** The automatic reviewer judges a question in the person's place: in progress, then what it found. */
  "countersign/guardian/assessment": At & GuardianAssessment;
  /** A realtime conversation has begun: the endpoint hears and speaks. */
  "countersign/realtime/started": At & RealtimeStarted;
  /** Sound to play, in order and in small pieces. */
  "countersign/realtime/audio/delta": At & RealtimeAudioDelta;
  /** More of what is said, as text. */
  "countersign/realtime/transcript/delta": At & RealtimeTranscriptDelta;
  /** What was said, as a whole. */
  "countersign/realtime/transcript/done": At & RealtimeTranscriptDone;
  /** The person has begun to speak: stop playing what is left of the answer. */
  "countersign/realtime/speechStarted": At & RealtimeSpeechStarted;
  /** What was said is work for the agent: it is input of this turn. How it ends is said to the voice. */
  "countersign/realtime/handoff": At & RealtimeHandoff;
  /** Something went wrong in a realtime conversation that goes on. */
  "countersign/realtime/error": At & RealtimeError;
  /** It is over, once for each `realtime/started`. */
  "countersign/realtime/closed": At & RealtimeClosed;
  /** Something the person should know; never ends a turn. */
  "countersign/warning": At & Warning;
  /** A turn failed, and `turn/completed` follows; or, outside of any turn, an MCP server or a realtime conversation did not start, or the thread ends and could not be recorded to its end. */
  "countersign/error": At & ErrorEvent;
  /** A login has come to its end. Follows the answer of the request that began or ended it. */
  "countersign/account/login/completed": AccountLoginCompleted;
  /** A login to an MCP server has come to its end. Follows the answer of the request that began it. */
  "countersign/mcp/login/completed": McpLoginCompleted;
  /** The person is known in another way, or not any more. */
  "countersign/account/updated": AccountUpdated;
  /** The provider has told how much of the account's allowance is used. Follows `thread/tokenUsage`. */
  "countersign/account/rateLimits/updated": AccountRateLimitsUpdated;
  /** More output of a command that `command/exec` runs with `streamOutput`. All of it comes before the answer. */
  "countersign/command/output": CommandOutput;
  /** What a file search with `stream` has found so far. All of it comes before the answer. */
  "countersign/file/searchUpdated": FileSearchUpdated;
}
