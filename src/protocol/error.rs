//! The error codes of requests, and the kinds that stand in an error's `data.kind` for programs to read.

/// A JSON-RPC code and what it means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub code: i64,
    pub name: &'static str,
    pub meaning: &'static str,
}

const fn code(code: i64, name: &'static str, meaning: &'static str) -> Code {
    Code { code, name, meaning }
}

/// All codes that a request can be answered with.
pub const CODES: &[Code] = &[
    code(-32700, "ParseError", "The message is not JSON, or its frame is broken."),
    code(
        -32600,
        "InvalidRequest",
        "JSON, but no request; a request after `shutdown`; or one that asks for nothing, such as an empty command.",
    ),
    code(-32601, "MethodNotFound", "There is no such method."),
    code(
        -32602,
        "InvalidParams",
        "The parameters cannot be meant as they stand: a field is missing, of another type or out of range.",
    ),
    code(
        -32603,
        "InternalError",
        "A fault of Countersign itself, whose log has the cause; or what failed on this machine or elsewhere, as `data.kind` says: \
         a command that could not be run, a configuration that cannot be read or written, feedback that was not taken.",
    ),
    code(
        -32002,
        "ServerNotInitialized",
        "A request before `initialize` was answered.",
    ),
    code(
        -32803,
        "RequestFailed",
        "Well formed, but it cannot be done now; `data.kind` says why.",
    ),
    code(
        -32801,
        "ContentModified",
        "Worked out for text that has changed since; ask again.",
    ),
    code(-32800, "RequestCancelled", "The client took the request back."),
];

/// A value of `data.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    /// The code it comes with.
    pub code: i64,
    pub meaning: &'static str,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $constant:ident = $name:literal ($code:literal)),* $(,)?) => {
        $($(#[doc = $doc])* pub const $constant: &str = $name;)*

        /// All kinds.
        pub const KINDS: &[Kind] = &[
            $(Kind { name: $name, code: $code, meaning: concat!($($doc),*) },)*
        ];
    };
}

kinds! {
    /// The parameters cannot be meant as they stand.
    INVALID_PARAMS = "invalidParams" (-32602),
    /// No report of this id was shown lately; look at it again.
    PREVIEW_NOT_FOUND = "previewNotFound" (-32803),
    /// No address is configured that feedback may be sent to; save it as a file.
    NO_FEEDBACK_ENDPOINT = "noFeedbackEndpoint" (-32803),
    /// The feedback was not sent, saved or put together; the message has the cause.
    FEEDBACK_FAILED = "feedbackFailed" (-32603),
    /// The cursor is not one that a list gave out.
    INVALID_CURSOR = "invalidCursor" (-32602),
    /// The settings of the request do not make a valid configuration.
    INVALID_CONFIG = "invalidConfig" (-32602),
    /// The command is empty, so there is nothing to run.
    EMPTY_COMMAND = "emptyCommand" (-32600),
    /// No thread with this id is loaded or stored.
    THREAD_NOT_FOUND = "threadNotFound" (-32803),
    /// The thread is stored but not live; resume it first.
    THREAD_NOT_LOADED = "threadNotLoaded" (-32803),
    /// The thread has ended while the request was on its way.
    THREAD_CLOSED = "threadClosed" (-32803),
    /// The thread is archived; unarchive it first.
    THREAD_ARCHIVED = "threadArchived" (-32803),
    /// Another server has the thread open; go on there, or fork it.
    THREAD_IN_USE = "threadInUse" (-32803),
    /// The thread has no file, so what is asked cannot be kept.
    THREAD_NOT_STORED = "threadNotStored" (-32803),
    /// No turn was dropped; the message says why.
    ROLLBACK_FAILED = "rollbackFailed" (-32803),
    /// There is no such subscription: it was ended, or its thread has ended.
    SUBSCRIPTION_NOT_FOUND = "subscriptionNotFound" (-32803),
    /// The thread has no MCP server of this name.
    SERVER_NOT_FOUND = "toolServerNotFound" (-32803),
    /// The MCP server is not there, or refused.
    SERVER_FAILED = "toolServerFailed" (-32803),
    /// No turn runs, so there is nothing to steer.
    NO_ACTIVE_TURN = "noActiveTurn" (-32803),
    /// Another turn runs, or is the last one, than the one the request names.
    TURN_MISMATCH = "turnMismatch" (-32803),
    /// A turn runs; stop it or wait for its end.
    TURN_RUNNING = "turnRunning" (-32803),
    /// No such input waits in the thread's queue: its turn has begun, or it was removed.
    QUEUED_NOT_FOUND = "queuedNotFound" (-32803),
    /// So much waits in the thread, in its queue or for the model's next request, that it takes no more.
    QUEUE_FULL = "queueFull" (-32803),
    /// The thread has no turn with this id.
    TURN_NOT_FOUND = "turnNotFound" (-32803),
    /// There is no proposal with this id.
    PROPOSAL_NOT_FOUND = "proposalNotFound" (-32803),
    /// The proposal was applied, rejected or withdrawn before.
    PROPOSAL_SETTLED = "proposalSettled" (-32803),
    /// There is no hunk with this id in the proposal.
    HUNK_NOT_FOUND = "hunkNotFound" (-32803),
    /// The text that the hunk would replace has changed, so that it cannot be accepted as it is.
    HUNK_CONFLICTING = "hunkConflicting" (-32803),
    /// What the hunk would put into the file cannot be edited.
    HUNK_NOT_EDITABLE = "hunkNotEditable" (-32803),
    /// The hunk was accepted and is in its file already; no decision and no edit takes it out.
    HUNK_APPLIED = "hunkApplied" (-32803),
    /// There is no question with this id.
    APPROVAL_NOT_FOUND = "approvalNotFound" (-32803),
    /// No terminal with this number runs, or is kept until it is read.
    TERMINAL_NOT_FOUND = "terminalNotFound" (-32803),
    /// The terminal cannot do this: its command has ended, or it has pipes only.
    TERMINAL_REFUSED = "terminalRefused" (-32803),
    /// The thread has no realtime conversation.
    REALTIME_NOT_RUNNING = "realtimeNotRunning" (-32803),
    /// The endpoint takes what is said more slowly than it comes; this was not taken. Wait a moment and say it again.
    REALTIME_BUSY = "realtimeBusy" (-32803),
    /// The thread's file cannot be read or written; the message has the path and the cause.
    STORE_FAILED = "storeFailed" (-32803),
    /// The provider could not be asked; the message says which and why.
    PROVIDER_FAILED = "providerFailed" (-32803),
    /// Worked out for text that has changed since.
    CONTENT_MODIFIED = "contentModified" (-32801),
    /// The thread has no command with this id.
    COMMAND_NOT_FOUND = "commandNotFound" (-32803),
    /// The command still runs.
    COMMAND_RUNNING = "commandRunning" (-32803),
    /// The folder has nothing that could be compared with a remote; the message says why.
    NO_DIFFERENCE = "noDifference" (-32600),
    /// The command could not be run at all; the message has the cause.
    EXEC_FAILED = "execFailed" (-32603),
    /// The person's config.toml is there and cannot be read; the message has the cause.
    CONFIG_UNREADABLE = "configUnreadable" (-32603),
    /// The person's config.toml is no TOML; the message has the place.
    CONFIG_BROKEN = "configBroken" (-32603),
    /// The configuration could not be written; the message has the cause.
    CONFIG_NOT_WRITTEN = "configNotWritten" (-32603),
    /// There is no such login, or it has ended.
    LOGIN_NOT_FOUND = "loginNotFound" (-32600),
    /// What should be the id of a login is none.
    BAD_LOGIN_ID = "badLoginId" (-32600),
    /// The configuration allows only another way to sign in.
    LOGIN_METHOD_FORCED = "loginMethodForced" (-32600),
    /// The configuration names no authorization server that could be signed in to.
    LOGIN_NOT_CONFIGURED = "loginNotConfigured" (-32600),
    /// Not signed in.
    NOT_LOGGED_IN = "notLoggedIn" (-32600),
    /// A key is used, and what is asked needs an account.
    NO_ACCOUNT = "noAccount" (-32600),
    /// The login could not be begun: there is no port for the browser's answer, or the authorization server gave no code.
    LOGIN_FAILED = "loginFailed" (-32603),
    /// What is signed in with cannot be kept or forgotten; the message has the path and the cause.
    ACCOUNT_STORE_FAILED = "accountStoreFailed" (-32603),
    /// The account's allowance could not be asked for; the message has the cause.
    RATE_LIMITS_FAILED = "rateLimitsFailed" (-32603),
    /// A fault of Countersign itself.
    INTERNAL = "internal" (-32603),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_known_code() {
        assert!(KINDS.iter().all(|kind| CODES.iter().any(|code| code.code == kind.code)));
    }
}
