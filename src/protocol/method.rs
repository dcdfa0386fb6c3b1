//! The table of requests, both ways. Handlers, the generated pages and the plugins all follow it.

#[cfg(test)]
use super::{
    account::*, agent::*, approval::*, command::*, config::*, context::*, document::*, feedback::*, file::*,
    generate::Visitor, git::*, guardian::*, history::*, mcp::*, model::*, permission::*, prompt::*, proposal::*,
    question::*, queue::*, realtime::*, review::*, sandbox::*, terminal::*, thread::*, tool::*, turn::*, undo::*,
};

/// A span has its name and its fields from the first.
macro_rules! span {
    ($level:expr, $name:expr, $method:ident, $submission:ident) => {
        tracing::span!(
            $level,
            $name,
            submission_id = $submission,
            kind = $method,
            trace_id = tracing::field::Empty,
            parent_span_id = tracing::field::Empty,
            trace_state = tracing::field::Empty
        )
    };
}

/// Sound comes many times a second, and would hide all else.
const fn level(method: &str) -> tracing::Level {
    let (one, other) = (method.as_bytes(), REALTIME_AUDIO.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    match at == one.len() && at == other.len() {
        true => tracing::Level::DEBUG,
        false => tracing::Level::INFO,
    }
}

macro_rules! requests {
    ($table:ident, $each:ident $(, $span:ident)?: $($(#[doc = $doc:literal])* $name:ident = $method:literal ($params:ident) -> $result:ident),* $(,)?) => {
        $($(#[doc = $doc])* pub const $name: &str = $method;)*

        /// Method, params type, result type and meaning.
        pub const $table: &[(&str, &str, &str, &str)] = &[
            $(($method, stringify!($params), stringify!($result), concat!($($doc),*)),)*
        ];

        requests! { @span $($span)?: $($method),* }

        /// Shows the generator the types of every row.
        #[cfg(test)]
        pub(super) fn $each(visitor: &mut impl Visitor) {
            $(
                visitor.visit::<$params>();
                visitor.visit::<$result>();
            )*
        }
    };
    (@span : $($method:literal),*) => {};
    (@span $span:ident: $($method:literal),*) => {
        /// What is logged while a request is carried out stands under its kind and number, and under the caller's own trace
        /// where it sent one. Requests of LSP share one name.
        pub fn $span(method: &str, submission: i64) -> tracing::Span {
            match method {
                $($method => span!(level($method), concat!("op.dispatch.", $method), method, submission),)*
                _ => span!(tracing::Level::INFO, "op.dispatch", method, submission),
            }
        }
    };
}

requests! { CLIENT_REQUESTS, each_client_request, dispatch_span:
    /// Starts a thread. The answer comes before any notification of the thread.
    THREAD_START = "countersign/thread/start" (ThreadStartParams) -> ThreadStartResult,
    /// Brings a stored thread back, or joins it if it is live.
    THREAD_RESUME = "countersign/thread/resume" (ThreadResumeParams) -> ThreadStartResult,
    /// Lists stored threads, newest first by last use.
    THREAD_LIST = "countersign/thread/list" (ThreadListParams) -> ThreadListResult,
    /// Reads a thread without loading it.
    THREAD_READ = "countersign/thread/read" (ThreadReadParams) -> ThreadReadResult,
    /// Copies a thread, live or stored, into a new one: whole, or up to a turn. The new thread is live.
    THREAD_FORK = "countersign/thread/fork" (ThreadForkParams) -> ThreadStartResult,
    /// Drops the last turns of a live thread from the conversation. Files stay as they are.
    THREAD_ROLLBACK = "countersign/thread/rollback" (ThreadRollbackParams) -> ThreadRollbackResult,
    /// Puts a thread away; a live one is ended first.
    THREAD_ARCHIVE = "countersign/thread/archive" (ThreadArchiveParams) -> ThreadArchiveResult,
    /// Brings an archived thread back into the list.
    THREAD_UNARCHIVE = "countersign/thread/unarchive" (ThreadUnarchiveParams) -> ThreadUnarchiveResult,
    /// Deletes a thread, archived or not, with its proposals and what it noted for undo. A live one is ended first.
    THREAD_DELETE = "countersign/thread/delete" (ThreadDeleteParams) -> ThreadDeleteResult,
    /// Gives a thread a name.
    THREAD_NAME_SET = "countersign/thread/name/set" (ThreadNameSetParams) -> ThreadNameSetResult,
    /// Says whether memories may be made of a thread later.
    THREAD_MEMORY_MODE_SET = "countersign/thread/memoryMode/set" (ThreadMemoryModeSetParams) -> ThreadMemoryModeSetResult,
    /// Looks for words in stored threads, newest first by last use.
    THREAD_SEARCH = "countersign/thread/search" (ThreadSearchParams) -> ThreadSearchResult,
    /// Has a live thread's events sent once more, under an id of their own. Questions to the person are not asked twice.
    THREAD_SUBSCRIBE = "countersign/thread/subscribe" (ThreadSubscribeParams) -> ThreadSubscribeResult,
    /// Ends such a subscription. What the client gets of its threads anyway goes on.
    THREAD_UNSUBSCRIBE = "countersign/thread/unsubscribe" (ThreadUnsubscribeParams) -> ThreadUnsubscribeResult,
    /// Starts a turn, or steers the running one. Answered at once; the story follows as notifications.
    TURN_START = "countersign/turn/start" (TurnStartParams) -> TurnStartResult,
    /// Adds input to the running turn.
    TURN_STEER = "countersign/turn/steer" (TurnSteerParams) -> TurnSteerResult,
    /// Stops the running turn. Answered at once, also when nothing runs.
    TURN_INTERRUPT = "countersign/turn/interrupt" (TurnInterruptParams) -> TurnInterruptResult,
    /// Sends the request of a turn that waits after `turn/retrying` again at once.
    TURN_RETRY_NOW = "countersign/turn/retryNow" (TurnRetryNowParams) -> TurnRetryNowResult,
    /// Gives input its own turn: at once if nothing runs or waits, else after what does.
    TURN_QUEUE_ADD = "countersign/turn/queue/add" (TurnQueueAddParams) -> TurnQueueAddResult,
    /// What waits for its turn.
    TURN_QUEUE_LIST = "countersign/turn/queue/list" (TurnQueueListParams) -> TurnQueueResult,
    /// Changes what an input that waits will say.
    TURN_QUEUE_EDIT = "countersign/turn/queue/edit" (TurnQueueEditParams) -> TurnQueueResult,
    /// Takes one input out of the queue, or all.
    TURN_QUEUE_REMOVE = "countersign/turn/queue/remove" (TurnQueueRemoveParams) -> TurnQueueResult,
    /// Changes the order in which the inputs get their turns.
    TURN_QUEUE_REORDER = "countersign/turn/queue/reorder" (TurnQueueReorderParams) -> TurnQueueResult,
    /// Goes on with a queue that is paused.
    TURN_QUEUE_RESUME = "countersign/turn/queue/resume" (TurnQueueResumeParams) -> TurnQueueResult,
    /// Takes the last turn back, or all turns from one on. Answered at once; it is a turn of its own.
    TURN_UNDO = "countersign/turn/undo" (TurnUndoParams) -> TurnUndoResult,
    /// What a turn has changed, as one diff.
    TURN_DIFF = "countersign/turn/diff" (TurnDiffParams) -> TurnDiffResult,
    /// Says what fills the context window of a conversation's model: instructions, tools, files, messages, results.
    THREAD_CONTEXT = "countersign/thread/context" (ThreadContextParams) -> ThreadContextResult,
    /// Compacts the conversation, so that it takes less of the model's context window. Answered at once; it is a turn of
    /// its own, which takes the place of one that runs.
    THREAD_COMPACT = "countersign/thread/compact" (ThreadCompactParams) -> ThreadCompactResult,
    /// Runs a command of the person's own in their shell, beside what the agent does or as a turn of its own. Answered at
    /// once; the command shows as an item. The model hears nothing of it.
    THREAD_SHELL_COMMAND = "countersign/thread/shellCommand" (ThreadShellCommandParams) -> ThreadShellCommandResult,
    /// Puts a message into a thread that the person did not write: another agent's, or a program's.
    THREAD_SEND = "countersign/thread/send" (ThreadSendParams) -> ThreadSendResult,
    /// Runs a command beside all conversations, in the sandbox. The one request that stays open while a process runs:
    /// it is answered when that ends. Cancelling it ends the command with everything it started.
    COMMAND_EXEC = "countersign/command/exec" (CommandExecParams) -> CommandExecResult,
    /// Stops a command that `command/exec` runs, which is answered then.
    COMMAND_TERMINATE = "countersign/command/terminate" (CommandTerminateParams) -> CommandTerminateResult,
    /// Allows exactly one action that the automatic reviewer denied.
    GUARDIAN_APPROVE_DENIED = "countersign/guardian/approveDenied" (GuardianApproveDeniedParams) -> GuardianApproveDeniedResult,
    /// Finds files by a few letters of their paths.
    FILE_SEARCH = "countersign/file/search" (FileSearchParams) -> FileSearchResult,
    /// Which of these files are kept from the model, so that tools of the client's do not show them to it either.
    FILE_READABLE = "countersign/file/readable" (FileReadableParams) -> FileReadableResult,
    /// What a folder's repository holds that no remote has.
    GIT_DIFF_TO_REMOTE = "countersign/git/diffToRemote" (GitDiffToRemoteParams) -> GitDiffToRemoteResult,
    /// The proposals that wait, or all.
    PROPOSAL_LIST = "countersign/proposal/list" (ProposalListParams) -> ProposalListResult,
    /// One proposal, with its hunks placed in today's text.
    PROPOSAL_READ = "countersign/proposal/read" (ProposalReadParams) -> ProposalReadResult,
    /// Accepts or rejects hunks, or takes a decision back.
    PROPOSAL_DECIDE = "countersign/proposal/decide" (ProposalDecideParams) -> ProposalDecideResult,
    /// Changes what a waiting hunk would put into its file.
    PROPOSAL_EDIT = "countersign/proposal/edit" (ProposalEditParams) -> ProposalEditResult,
    /// Has a change reviewed. Answered at once; it is a turn of its own.
    REVIEW_START = "countersign/review/start" (ReviewStartParams) -> ReviewStartResult,
    /// What reviews found and what still lies on its lines.
    REVIEW_FINDINGS = "countersign/review/findings" (ReviewFindingsParams) -> ReviewFindingsResult,
    /// Takes findings off their lines.
    REVIEW_DISMISS = "countersign/review/dismiss" (ReviewDismissParams) -> ReviewDismissResult,
    /// Settles an open question from another surface than the one that was asked.
    APPROVAL_RESPOND = "countersign/approval/respond" (ApprovalRespondParams) -> ApprovalRespondResult,
    /// Answers what the model asks from another surface than the one that was asked.
    USER_INPUT_RESPOND = "countersign/userInput/respond" (UserInputRespondParams) -> UserInputRespondResult,
    /// The commands of the agent that run on in terminals.
    TERMINAL_LIST = "countersign/terminal/list" (TerminalListParams) -> TerminalListResult,
    /// What a terminal has printed so far.
    TERMINAL_READ = "countersign/terminal/read" (TerminalReadParams) -> TerminalReadResult,
    /// Types into a terminal. The model is told that the person did, not what.
    TERMINAL_WRITE = "countersign/terminal/write" (TerminalWriteParams) -> TerminalWriteResult,
    /// Gives a terminal another size.
    TERMINAL_RESIZE = "countersign/terminal/resize" (TerminalResizeParams) -> TerminalResizeResult,
    /// Ends one terminal, or all, with everything started in them.
    TERMINAL_KILL = "countersign/terminal/kill" (TerminalKillParams) -> TerminalKillResult,
    /// The MCP servers of a thread: how they are, their tools, resources and templates. Waits a bounded time for what must be
    /// asked of them.
    MCP_LIST = "countersign/mcp/list" (McpListParams) -> McpListResult,
    /// Reads the configuration of MCP servers again. It takes effect with the next turn; one that runs keeps its servers.
    MCP_REFRESH = "countersign/mcp/refresh" (McpRefreshParams) -> McpRefreshResult,
    /// Begins a login to an MCP server in a browser. `mcp/login/completed` tells how it ended.
    MCP_LOGIN = "countersign/mcp/login" (McpLoginParams) -> McpLoginResult,
    /// Forgets the login to an MCP server.
    MCP_LOGOUT = "countersign/mcp/logout" (McpLogoutParams) -> McpLogoutResult,
    /// One page of a server's resources.
    MCP_RESOURCE_LIST = "countersign/mcp/resource/list" (McpResourceListParams) -> McpResourceListResult,
    /// One page of a server's resource templates.
    MCP_RESOURCE_TEMPLATES = "countersign/mcp/resource/templates" (McpResourceListParams) -> McpResourceListResult,
    /// What a resource holds.
    MCP_RESOURCE_READ = "countersign/mcp/resource/read" (McpResourceReadParams) -> McpResourceReadResult,
    /// Settles an MCP server's question from another surface than the one that was asked.
    MCP_ELICITATION_RESPOND = "countersign/mcp/elicitation/respond" (McpElicitationRespondParams) -> McpElicitationRespondResult,
    /// Who is signed in, and whether the configured provider takes a login.
    ACCOUNT_READ = "countersign/account/read" (AccountReadParams) -> AccountReadResult,
    /// Logs in with a key, or begins a login to an account. Answered before the person has done anything.
    ACCOUNT_LOGIN_START = "countersign/account/login/start" (AccountLoginStartParams) -> AccountLoginStartResult,
    /// Gives up the login that runs.
    ACCOUNT_LOGIN_CANCEL = "countersign/account/login/cancel" (AccountLoginCancelParams) -> AccountLoginCancelResult,
    /// Forgets what was signed in with; the server is told where it takes that.
    ACCOUNT_LOGOUT = "countersign/account/logout" (AccountLogoutParams) -> AccountLogoutResult,
    /// How requests to the configured provider are allowed.
    ACCOUNT_STATUS = "countersign/account/status" (AccountStatusParams) -> AccountStatusResult,
    /// Whether a model can be asked, and by what ways it could be: for a first run. A server on this machine is looked for, for a moment.
    ACCOUNT_SETUP = "countersign/account/setup" (AccountSetupParams) -> AccountSetupResult,
    /// What the provider says of the account's allowance at this moment. Waits for it a bounded time.
    ACCOUNT_RATE_LIMITS_READ = "countersign/account/rateLimits/read" (AccountRateLimitsReadParams) -> AccountRateLimitsReadResult,
    /// Starts to speak beside the written conversation. Answered at once; `realtime/started` follows, or an error. One that
    /// runs in the thread is ended first.
    REALTIME_START = "countersign/realtime/start" (RealtimeStartParams) -> RealtimeStartResult,
    /// Says a piece of sound. Refused while too much of it waits.
    REALTIME_AUDIO = "countersign/realtime/audio" (RealtimeAudioParams) -> RealtimeAudioResult,
    /// Says something in writing.
    REALTIME_TEXT = "countersign/realtime/text" (RealtimeTextParams) -> RealtimeTextResult,
    /// Ends it, also while it starts. Answered at once.
    REALTIME_CLOSE = "countersign/realtime/close" (RealtimeCloseParams) -> RealtimeCloseResult,
    /// The voices there are.
    REALTIME_VOICES = "countersign/realtime/voices" (RealtimeVoicesParams) -> RealtimeVoicesResult,
    /// The models that can be chosen.
    MODEL_LIST = "countersign/model/list" (ModelListParams) -> ModelListResult,
    /// Keeps the model, or the effort, that threads begin with from now on.
    MODEL_SET_DEFAULT = "countersign/model/setDefault" (ModelSetDefaultParams) -> ModelSetDefaultResult,
    /// The prompts that can be called by name, as their files say at this moment.
    PROMPT_LIST = "countersign/prompt/list" (PromptListParams) -> PromptListResult,
    /// One thing that the person typed, by its number.
    HISTORY_READ = "countersign/history/read" (HistoryReadParams) -> HistoryReadResult,
    /// What the person typed, newest first.
    HISTORY_LIST = "countersign/history/list" (HistoryListParams) -> HistoryListResult,
    /// Adds what the person typed elsewhere than in `turn/start` and `turn/steer`, which add it themselves.
    HISTORY_APPEND = "countersign/history/append" (HistoryAppendParams) -> HistoryAppendResult,
    /// The effective configuration and where each value came from.
    CONFIG_READ = "countersign/config/read" (ConfigReadParams) -> ConfigReadResult,
    /// Changes the person's config.toml and nothing else in it. What is changed is taken up by each thread's next turn.
    CONFIG_WRITE = "countersign/config/write" (ConfigWriteParams) -> ConfigWriteResult,
    /// Reads the configuration again for live threads; their next turns take it up.
    CONFIG_RELOAD = "countersign/config/reload" (ConfigReloadParams) -> ConfigReloadResult,
    /// What feedback would say, byte for byte; nothing is saved or sent.
    FEEDBACK_PREVIEW = "countersign/feedback/preview" (FeedbackPreviewParams) -> FeedbackPreviewResult,
    /// Saves feedback as a file.
    FEEDBACK_SAVE = "countersign/feedback/save" (FeedbackSaveParams) -> FeedbackSaveResult,
    /// Sends feedback to the address that the person has configured. Answered when it is taken there, or not.
    FEEDBACK_UPLOAD = "countersign/feedback/upload" (FeedbackUploadParams) -> FeedbackUploadResult,
    /// The permission profiles that can be chosen.
    PERMISSIONS_PROFILES = "countersign/permissions/profiles" (PermissionProfilesParams) -> PermissionProfilesResult,
    /// Which walls stand around commands on this machine, what each lacks, and what is used for each mode.
    SANDBOX_STATUS = "countersign/sandbox/status" (SandboxStatusParams) -> SandboxStatusResult,
}

requests! { SERVER_REQUESTS, each_server_request:
    /// May this command run?
    APPROVAL_COMMAND = "countersign/approval/command" (CommandApproval) -> ApprovalResponse,
    /// May patches and commands write in these folders outside the workspace, or commands do more than the policy allows?
    APPROVAL_PERMISSION = "countersign/approval/permission" (PermissionApproval) -> ApprovalResponse,
    /// What does the person answer to these questions of the model's? `null`: nothing.
    USER_INPUT_REQUEST = "countersign/userInput/request" (UserInputRequest) -> UserInputResponse,
    /// Carry out a tool that was declared for this thread.
    TOOL_CALL = "countersign/tool/call" (ToolCallParams) -> ToolCallResult,
    /// May this tool of a server be called?
    APPROVAL_TOOL = "countersign/approval/tool" (ToolApproval) -> ApprovalResponse,
    /// An MCP server asks the person something.
    MCP_ELICITATION = "countersign/mcp/elicitation" (McpElicitation) -> McpElicitationResponse,
    /// Save these documents, which the agent changed, so that the command that follows sees them.
    DOCUMENT_SAVE = "countersign/document/save" (DocumentSaveParams) -> DocumentSaveResult,
}

macro_rules! notifications {
    ($($(#[doc = $doc:literal])* $name:ident = $method:literal ($params:ident)),* $(,)?) => {
        $($(#[doc = $doc])* pub const $name: &str = $method;)*

        /// Notifications that belong to no thread: method, params type and meaning.
        pub const NOTIFICATIONS: &[(&str, &str, &str)] = &[
            $(($method, stringify!($params), concat!($($doc),*)),)*
        ];

        /// Shows the generator the types of every row.
        #[cfg(test)]
        pub(super) fn each_notification(visitor: &mut impl Visitor) {
            $(visitor.visit::<$params>();)*
        }
    };
}

notifications! {
    /// A login has come to its end. Follows the answer of the request that began or ended it.
    ACCOUNT_LOGIN_COMPLETED = "countersign/account/login/completed" (AccountLoginCompleted),
    /// A login to an MCP server has come to its end. Follows the answer of the request that began it.
    MCP_LOGIN_COMPLETED = "countersign/mcp/login/completed" (McpLoginCompleted),
    /// The person is known in another way, or not any more.
    ACCOUNT_UPDATED = "countersign/account/updated" (AccountUpdated),
    /// The provider has told how much of the account's allowance is used. Follows `thread/tokenUsage`.
    ACCOUNT_RATE_LIMITS_UPDATED = "countersign/account/rateLimits/updated" (AccountRateLimitsUpdated),
    /// More output of a command that `command/exec` runs with `streamOutput`. All of it comes before the answer.
    COMMAND_OUTPUT = "countersign/command/output" (CommandOutput),
    /// What a file search with `stream` has found so far. All of it comes before the answer.
    FILE_SEARCH_UPDATED = "countersign/file/searchUpdated" (FileSearchUpdated),
}
