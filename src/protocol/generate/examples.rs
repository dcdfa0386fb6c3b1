//! One example a method, made from Rust values so that it cannot go stale.

use crate::protocol::account::*;
use crate::protocol::agent::*;
use crate::protocol::approval::*;
use crate::protocol::command::*;
use crate::protocol::config::*;
use crate::protocol::context::*;
use crate::protocol::document::*;
use crate::protocol::event::{self, At, Event, EventKind};
use crate::protocol::feedback::*;
use crate::protocol::file::*;
use crate::protocol::git::*;
use crate::protocol::guardian::*;
use crate::protocol::history::*;
use crate::protocol::item::*;
use crate::protocol::mcp::*;
use crate::protocol::method::*;
use crate::protocol::model::*;
use crate::protocol::permission::*;
use crate::protocol::prompt::*;
use crate::protocol::proposal::*;
use crate::protocol::question::*;
use crate::protocol::queue::*;
use crate::protocol::realtime::*;
use crate::protocol::review::*;
use crate::protocol::sandbox::*;
use crate::protocol::settings::*;
use crate::protocol::terminal::*;
use crate::protocol::thread::*;
use crate::protocol::tool::*;
use crate::protocol::turn::*;
use crate::protocol::undo::*;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Parameters, and the result of a request.
pub(super) struct Example {
    pub(super) params: Value,
    pub(super) result: Option<Value>,
}

const THREAD: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";
const FORK: &str = "0199a213-b7d2-7c41-9a5e-31c0e2f4a6d8";
const SUBSCRIPTION: &str = "0199a214-02b6-7d10-b1e3-5c1e8f0a7d44";
const LOGIN: &str = "0199a214-5b1e-7a02-8c55-0d2f6a1b9e37";
const TURN: &str = "0199a213-9f10-7d21-9c39-7a1f6f2f0c11";
const VOICE: &str = "0199a214-5e07-7b3c-8f52-6d0a9c1e4b77";
const AT_MS: i64 = 1_767_225_600_000;

fn limits() -> RateLimits {
    RateLimits {
        primary: Some(RateWindow {
            used_percent: 42.0,
            window_minutes: Some(300),
            resets_at: Some(1_767_232_800),
        }),
        plan: Some("plus".into()),
        ..RateLimits::default()
    }
}

fn account(add: &mut impl FnMut(&'static str, Value, Value)) {
    add(
        ACCOUNT_READ,
        value(AccountReadParams::default()),
        value(AccountReadResult {
            account: Some(Account::Account {
                email: Some("ada@example.org".into()),
                plan: Some("plus".into()),
                workspace_id: None,
            }),
            requires_openai_auth: true,
        }),
    );
    add(
        ACCOUNT_SETUP,
        value(AccountSetupParams::default()),
        value(AccountSetupResult {
            ready: true,
            provider: "OpenAI".into(),
            env_key: Some("OPENAI_API_KEY".into()),
            takes_key: true,
            takes_browser: false,
            local_server: Some(LocalServer {
                name: "Ollama".into(),
                model: "qwen3".into(),
            }),
        }),
    );
    add(
        ACCOUNT_LOGIN_START,
        value(AccountLoginStartParams::DeviceCode {}),
        value(AccountLoginStartResult::DeviceCode {
            login_id: LOGIN.into(),
            user_code: "WDJB-MJHT".into(),
            verification_url: "https://login.example.org/device".into(),
            verification_url_complete: None,
        }),
    );
    add(
        ACCOUNT_LOGIN_CANCEL,
        value(AccountLoginCancelParams { login_id: LOGIN.into() }),
        value(AccountLoginCancelResult {}),
    );
    add(
        ACCOUNT_LOGOUT,
        value(AccountLogoutParams {}),
        value(AccountLogoutResult {}),
    );
    add(
        ACCOUNT_STATUS,
        value(AccountStatusParams::default()),
        value(AccountStatusResult {
            auth_method: Some(AuthMethod::ApiKey),
            auth_token: None,
            requires_openai_auth: true,
        }),
    );
    add(
        ACCOUNT_RATE_LIMITS_READ,
        value(AccountRateLimitsReadParams {}),
        value(AccountRateLimitsReadResult { rate_limits: limits() }),
    );
}

/// Of the requests, by method.
pub(super) fn all_requests() -> BTreeMap<&'static str, Example> {
    let mut all = BTreeMap::new();
    requests(&mut all);
    all
}

/// Of the notifications, by method; one may have the name of a request.
pub(super) fn all_events() -> BTreeMap<&'static str, Example> {
    let mut all = BTreeMap::new();
    for kind in events() {
        let turn_id = match kind {
            EventKind::ThreadStarted(_)
            | EventKind::ThreadConfigured(_)
            | EventKind::ThreadStatusChanged(_)
            | EventKind::ThreadClosed(_)
            | EventKind::AgentStatusChanged(_)
            | EventKind::ThreadArchived(_)
            | EventKind::ThreadUnarchived(_)
            | EventKind::ThreadDeleted(_)
            | EventKind::ThreadNameUpdated(_)
            | EventKind::ThreadRolledBack(_)
            | EventKind::RawItem(_)
            | EventKind::TerminalStarted(_)
            | EventKind::TerminalOutput(_)
            | EventKind::TerminalExited(_)
            | EventKind::RealtimeStarted(_)
            | EventKind::RealtimeAudioDelta(_)
            | EventKind::RealtimeTranscriptDelta(_)
            | EventKind::RealtimeTranscriptDone(_)
            | EventKind::RealtimeSpeechStarted(_)
            | EventKind::RealtimeHandoff(_)
            | EventKind::RealtimeError(_)
            | EventKind::RealtimeClosed(_)
            | EventKind::ReviewFindingsChanged(_) => None,
            _ => Some(TURN.into()),
        };
        let event = Event {
            at: At {
                thread_id: THREAD.into(),
                turn_id,
                seq: 7,
                subscription_id: None,
            },
            kind,
        };
        all.insert(
            event.kind.method(),
            Example {
                params: value(event.params()),
                result: None,
            },
        );
    }
    let output = CommandOutput {
        process_id: "build-1".into(),
        stream: OutputStream::Stdout,
        delta: "   Compiling sums v0.1.0\n".into(),
        cap_reached: false,
    };
    let login = AccountLoginCompleted {
        login_id: Some(LOGIN.into()),
        success: false,
        error: Some("The login was given up: it was not finished within 600 s. Start it again.".into()),
    };
    all.insert(
        ACCOUNT_LOGIN_COMPLETED,
        Example {
            params: value(login),
            result: None,
        },
    );
    let completed = McpLoginCompleted {
        server: "docs".into(),
        success: true,
        error: None,
    };
    all.insert(
        MCP_LOGIN_COMPLETED,
        Example {
            params: value(completed),
            result: None,
        },
    );
    let updated = AccountUpdated {
        auth_method: Some(AuthMethod::Account),
        plan: Some("plus".into()),
    };
    all.insert(
        ACCOUNT_UPDATED,
        Example {
            params: value(updated),
            result: None,
        },
    );
    all.insert(
        ACCOUNT_RATE_LIMITS_UPDATED,
        Example {
            params: value(AccountRateLimitsUpdated { rate_limits: limits() }),
            result: None,
        },
    );
    let found = FileSearchUpdated {
        cancellation_token: "composer".into(),
        query: "totrs".into(),
        files: vec![file_match()],
        total: 1,
    };
    all.insert(
        FILE_SEARCH_UPDATED,
        Example {
            params: value(found),
            result: None,
        },
    );
    all.insert(
        COMMAND_OUTPUT,
        Example {
            params: value(output),
            result: None,
        },
    );
    all
}

fn file_match() -> FileMatch {
    FileMatch {
        root: "/home/ada/sums".into(),
        path: "src/total.rs".into(),
        file_name: "total.rs".into(),
        match_type: FileMatchType::File,
        score: 142,
        indices: vec![4, 5, 6, 10, 11],
    }
}

fn value(of: impl Serialize) -> Value {
    serde_json::to_value(of).expect("protocol types have a JSON form")
}

fn requests(all: &mut BTreeMap<&'static str, Example>) {
    let mut add = |method: &'static str, params: Value, result: Value| {
        all.insert(
            method,
            Example {
                params,
                result: Some(result),
            },
        );
    };
    let started = || ThreadStartResult {
        thread: thread(),
        settings: settings(),
        instruction_sources: vec!["/home/ada/sums/AGENTS.md".into()],
    };
    add(
        THREAD_START,
        value(ThreadStartParams {
            settings: SettingsOverride {
                cwd: Some("/home/ada/sums".into()),
                ..SettingsOverride::default()
            },
            ..ThreadStartParams::default()
        }),
        value(started()),
    );
    add(
        THREAD_RESUME,
        value(ThreadResumeParams {
            thread_id: Some(THREAD.into()),
            path: None,
            settings: SettingsOverride::default(),
            dynamic_tools: None,
        }),
        value(started()),
    );
    add(
        THREAD_CONTEXT,
        value(ThreadContextParams {
            thread_id: THREAD.into(),
        }),
        value(context()),
    );
    add(
        THREAD_COMPACT,
        value(ThreadCompactParams {
            thread_id: THREAD.into(),
        }),
        value(ThreadCompactResult { turn_id: TURN.into() }),
    );
    add(
        THREAD_SHELL_COMMAND,
        value(ThreadShellCommandParams {
            thread_id: THREAD.into(),
            command: "git status --short".into(),
            timeout_ms: None,
        }),
        value(ThreadShellCommandResult {
            turn_id: TURN.into(),
            item_id: "i-9".into(),
            joined: false,
        }),
    );
    add(
        FILE_READABLE,
        value(FileReadableParams {
            thread_id: THREAD.into(),
            paths: vec!["/home/ada/shop/src/lib.rs".into(), "/home/ada/shop/.env".into()],
        }),
        value(FileReadableResult {
            refused: vec![FileRefused {
                path: "/home/ada/shop/.env".into(),
                reason: "/home/ada/shop/.env is kept from you: the person named it in /home/ada/shop/.countersignignore. Work \
                         without it; only they can change that file."
                    .into(),
            }],
        }),
    );
    add(
        FILE_SEARCH,
        value(FileSearchParams {
            query: "totrs".into(),
            cancellation_token: Some("composer".into()),
            stream: true,
            ..FileSearchParams::default()
        }),
        value(FileSearchResult {
            files: vec![file_match()],
            total: 1,
            complete: true,
        }),
    );
    let report = "{\n  \"id\": \"0199a215-4c7e-7a02-9d11-0e5f6a7b8c9d\",\n  \"classification\": \"bug\"\n}\n";
    add(
        FEEDBACK_PREVIEW,
        value(FeedbackPreviewParams {
            classification: "bug".into(),
            reason: Some("The second hunk was placed one line too low.".into()),
            thread_id: Some(THREAD.into()),
            include_logs: true,
            ..FeedbackPreviewParams::default()
        }),
        value(FeedbackPreviewResult {
            preview_id: "0199a215-4c7e-7a02-9d11-0e5f6a7b8c9d".into(),
            thread_id: THREAD.into(),
            report: report.into(),
            parts: vec![FeedbackPart {
                name: "logs".into(),
                bytes: 5120,
            }],
            endpoint: None,
        }),
    );
    add(
        FEEDBACK_SAVE,
        value(FeedbackSaveParams {
            classification: "bug".into(),
            preview_id: Some("0199a215-4c7e-7a02-9d11-0e5f6a7b8c9d".into()),
            save_path: "/home/ada/feedback.json".into(),
            ..FeedbackSaveParams::default()
        }),
        value(FeedbackSaveResult {
            saved_path: "/home/ada/feedback.json".into(),
            thread_id: THREAD.into(),
        }),
    );
    add(
        FEEDBACK_UPLOAD,
        value(FeedbackUploadParams {
            classification: "bug".into(),
            preview_id: Some("0199a215-4c7e-7a02-9d11-0e5f6a7b8c9d".into()),
            ..FeedbackUploadParams::default()
        }),
        value(FeedbackUploadResult {
            thread_id: THREAD.into(),
        }),
    );
    add(
        GIT_DIFF_TO_REMOTE,
        value(GitDiffToRemoteParams {
            cwd: "/home/ada/sums".into(),
        }),
        value(GitDiffToRemoteResult {
            sha: "5f1c0de3a7b24c9d8e6f0a1b2c3d4e5f60718293".into(),
            diff: "diff --git a/src/total.rs b/src/total.rs\n--- a/src/total.rs\n+++ b/src/total.rs\n@@ -1 +1 @@\n-one\n+two\n"
                .into(),
        }),
    );
    add(
        THREAD_SEND,
        value(ThreadSendParams {
            thread_id: THREAD.into(),
            text: "The nightly build is red.".into(),
            author: Some("ci".into()),
            starts_turn: true,
        }),
        value(ThreadSendResult {
            turn_id: Some(TURN.into()),
        }),
    );
    add(
        COMMAND_EXEC,
        value(CommandExecParams {
            command: vec!["cargo".into(), "metadata".into(), "--no-deps".into()],
            process_id: Some("build-1".into()),
            stream_output: true,
            ..CommandExecParams::default()
        }),
        value(CommandExecResult {
            exit_code: 0,
            stdout: "{\"packages\":[]}\n".into(),
            stderr: String::new(),
            timed_out: false,
            stopped: false,
            duration_ms: 120,
            denied: None,
        }),
    );
    add(
        COMMAND_TERMINATE,
        value(CommandTerminateParams {
            process_id: "build-1".into(),
        }),
        value(CommandTerminateResult { stopped: true }),
    );
    add(
        GUARDIAN_APPROVE_DENIED,
        value(GuardianApproveDeniedParams {
            thread_id: THREAD.into(),
            assessment_id: "g-1".into(),
        }),
        value(GuardianApproveDeniedResult { taken: true }),
    );
    add(
        THREAD_LIST,
        value(ThreadListParams {
            limit: Some(1),
            cwd: Some("/home/ada/sums".into()),
            ..ThreadListParams::default()
        }),
        value(ThreadListResult {
            data: vec![thread()],
            next_cursor: Some("MXwxNzY3MjI1NjAw".into()),
        }),
    );
    add(
        THREAD_READ,
        value(ThreadReadParams {
            thread_id: THREAD.into(),
            include_turns: true,
        }),
        value(ThreadReadResult {
            thread: Thread {
                turns: vec![turn(TurnStatus::Completed)],
                ..thread()
            },
        }),
    );
    add(
        THREAD_FORK,
        value(ThreadForkParams {
            thread_id: Some(THREAD.into()),
            last_turn_id: Some(TURN.into()),
            ..ThreadForkParams::default()
        }),
        value(ThreadStartResult {
            thread: Thread {
                id: FORK.into(),
                path: None,
                forked_from_id: Some(THREAD.into()),
                turns: vec![turn(TurnStatus::Completed)],
                ..thread()
            },
            ..started()
        }),
    );
    add(
        THREAD_ROLLBACK,
        value(ThreadRollbackParams {
            thread_id: THREAD.into(),
            num_turns: 1,
            expected_turn_id: Some(TURN.into()),
        }),
        value(ThreadRollbackResult {
            thread: thread(),
            num_turns: 1,
            message: "The last turn is gone from the conversation. Files stay as they are; undo is for those.".into(),
        }),
    );
    add(
        THREAD_SUBSCRIBE,
        value(ThreadSubscribeParams {
            thread_id: THREAD.into(),
            after_seq: Some(12),
            raw: false,
        }),
        value(ThreadSubscribeResult {
            subscription_id: SUBSCRIPTION.into(),
            last_seq: 5102,
            missing: Some(MissingEvents {
                first_seq: 13,
                last_seq: 840,
            }),
        }),
    );
    add(
        THREAD_UNSUBSCRIBE,
        value(ThreadUnsubscribeParams {
            subscription_id: SUBSCRIPTION.into(),
        }),
        value(ThreadUnsubscribeResult {}),
    );
    add(
        THREAD_ARCHIVE,
        value(ThreadArchiveParams {
            thread_id: THREAD.into(),
        }),
        value(ThreadArchiveResult {}),
    );
    add(
        THREAD_UNARCHIVE,
        value(ThreadUnarchiveParams {
            thread_id: THREAD.into(),
        }),
        value(ThreadUnarchiveResult { thread: thread() }),
    );
    add(
        THREAD_DELETE,
        value(ThreadDeleteParams {
            thread_id: THREAD.into(),
        }),
        value(ThreadDeleteResult {}),
    );
    let named = || Thread {
        name: Some("The failing sum".into()),
        ..thread()
    };
    add(
        THREAD_NAME_SET,
        value(ThreadNameSetParams {
            thread_id: THREAD.into(),
            name: "The failing sum".into(),
        }),
        value(ThreadNameSetResult { thread: named() }),
    );
    add(
        THREAD_MEMORY_MODE_SET,
        value(ThreadMemoryModeSetParams {
            thread_id: THREAD.into(),
            mode: ThreadMemoryMode::Disabled,
        }),
        value(ThreadMemoryModeSetResult {
            thread: Thread {
                memory_mode: ThreadMemoryMode::Disabled,
                ..thread()
            },
        }),
    );
    add(
        THREAD_SEARCH,
        value(ThreadSearchParams {
            search_term: "make the test".into(),
            ..ThreadSearchParams::default()
        }),
        value(ThreadSearchResult {
            data: vec![ThreadFound {
                thread: named(),
                snippet: "Make the test pass.".into(),
                turn_id: Some(TURN.into()),
            }],
            next_cursor: None,
        }),
    );
    add(
        TURN_START,
        value(TurnStartParams {
            thread_id: THREAD.into(),
            input: vec![UserInput::Text {
                text: "Make the test pass.".into(),
            }],
            context: Some(EditorContext {
                leave_out: vec![SentContextKind::OpenFiles],
                active_file: Some("/home/ada/sums/src/lib.rs".into()),
                selection: Some(LineRange { start: 3, end: 5 }),
                diagnostics: vec![],
            }),
            settings: None,
            output_schema: None,
            metadata: None,
            client_user_message_id: Some("m-1".into()),
            spoken: false,
        }),
        value(TurnStartResult {
            turn: turn(TurnStatus::InProgress),
            steered: false,
        }),
    );
    add(
        TURN_STEER,
        value(TurnSteerParams {
            thread_id: THREAD.into(),
            expected_turn_id: TURN.into(),
            input: vec![UserInput::Text {
                text: "Leave the public names alone.".into(),
            }],
            metadata: None,
            client_user_message_id: None,
            spoken: false,
        }),
        value(TurnSteerResult { turn_id: TURN.into() }),
    );
    add(
        TURN_INTERRUPT,
        value(TurnInterruptParams {
            thread_id: THREAD.into(),
            turn_id: Some(TURN.into()),
        }),
        value(TurnInterruptResult { interrupted: true }),
    );
    add(
        TURN_RETRY_NOW,
        value(TurnRetryNowParams {
            thread_id: THREAD.into(),
        }),
        value(TurnRetryNowResult { retrying: true }),
    );
    add(
        TURN_QUEUE_ADD,
        value(TurnQueueAddParams {
            thread_id: THREAD.into(),
            input: vec![UserInput::Text {
                text: "Then update the changelog.".into(),
            }],
            context: None,
            settings: None,
            output_schema: None,
            metadata: Some([("ticket".to_owned(), "SUMS-12".to_owned())].into()),
            client_user_message_id: None,
            not_before_ms: None,
        }),
        value(TurnQueueAddResult {
            queued: queue().inputs.pop(),
            turn: None,
        }),
    );
    let result = || value(TurnQueueResult { queue: queue() });
    add(
        TURN_QUEUE_LIST,
        value(TurnQueueListParams {
            thread_id: THREAD.into(),
        }),
        result(),
    );
    add(
        TURN_QUEUE_EDIT,
        value(TurnQueueEditParams {
            thread_id: THREAD.into(),
            queued_id: "q-1".into(),
            input: vec![UserInput::Text {
                text: "Then update the changelog.".into(),
            }],
        }),
        result(),
    );
    add(
        TURN_QUEUE_REMOVE,
        value(TurnQueueRemoveParams {
            thread_id: THREAD.into(),
            queued_id: Some("q-2".into()),
        }),
        result(),
    );
    add(
        TURN_QUEUE_REORDER,
        value(TurnQueueReorderParams {
            thread_id: THREAD.into(),
            queued_ids: vec!["q-1".into()],
        }),
        result(),
    );
    add(
        TURN_QUEUE_RESUME,
        value(TurnQueueResumeParams {
            thread_id: THREAD.into(),
        }),
        result(),
    );
    add(
        TURN_UNDO,
        value(TurnUndoParams {
            thread_id: THREAD.into(),
            turn_id: None,
            item_id: None,
            paths: Vec::new(),
            conflicts: UndoConflicts::Keep,
        }),
        value(TurnUndoResult {
            turn_id: "0199a214-0b52-7c1e-8f5e-1d2b8f9a7c33".into(),
        }),
    );
    add(
        TURN_DIFF,
        value(TurnDiffParams {
            thread_id: THREAD.into(),
            turn_id: Some(TURN.into()),
        }),
        value(TurnDiffResult {
            turn_id: Some(TURN.into()),
            diff: DIFF.into(),
        }),
    );
    add(
        PROPOSAL_LIST,
        value(ProposalListParams {
            thread_id: Some(THREAD.into()),
            include_settled: false,
        }),
        value(ProposalListResult {
            data: vec![proposal(ProposalStatus::Proposed, HunkStatus::Pending)],
        }),
    );
    add(
        PROPOSAL_READ,
        value(ProposalReadParams {
            proposal_id: "p-1".into(),
        }),
        value(ProposalReadResult {
            proposal: whole_proposal(),
        }),
    );
    add(
        PROPOSAL_DECIDE,
        value(ProposalDecideParams {
            proposal_id: "p-1".into(),
            decision: ProposalDecision::Accept,
            hunk_ids: Some(vec!["h-1".into()]),
            path: None,
            feedback: None,
        }),
        value(ProposalDecideResult {
            proposal: proposal(ProposalStatus::Accepted, HunkStatus::Accepted),
        }),
    );
    add(
        PROPOSAL_EDIT,
        value(ProposalEditParams {
            proposal_id: "p-1".into(),
            hunk_id: "h-1".into(),
            new_text: Some("    let mut sum = 0u64;\n".into()),
        }),
        value(ProposalEditResult {
            proposal: edited_proposal(),
        }),
    );
    add(
        REVIEW_START,
        value(ReviewStartParams {
            thread_id: THREAD.into(),
            target: ReviewTarget::BaseBranch { branch: "main".into() },
            delivery: ReviewDelivery::Inline,
        }),
        value(ReviewStartResult {
            review_thread_id: THREAD.into(),
            turn: Turn {
                items: Vec::new(),
                ..turn(TurnStatus::InProgress)
            },
        }),
    );
    add(
        REVIEW_FINDINGS,
        value(ReviewFindingsParams {
            thread_id: Some(THREAD.into()),
            turn_id: None,
        }),
        value(ReviewFindingsResult { data: vec![finding()] }),
    );
    add(
        REVIEW_DISMISS,
        value(ReviewDismissParams {
            thread_id: THREAD.into(),
            turn_id: None,
            finding_id: Some("f-1".into()),
        }),
        value(ReviewDismissResult { dismissed: 1 }),
    );
    add(
        APPROVAL_RESPOND,
        value(ApprovalRespondParams {
            approval_id: "a-1".into(),
            response: ApprovalResponse {
                decision: ApprovalDecision::Decline,
                turn_id: None,
                feedback: Some("Use the mirror in vendor/ instead.".into()),
                permissions: None,
            },
        }),
        value(ApprovalRespondResult { taken: true }),
    );
    add(
        MCP_LIST,
        value(McpListParams {
            thread_id: Some(THREAD.into()),
        }),
        value(McpListResult {
            data: vec![tool_server()],
        }),
    );
    add(
        MCP_REFRESH,
        value(McpRefreshParams { thread_id: None }),
        value(McpRefreshResult {}),
    );
    add(
        MCP_LOGIN,
        value(McpLoginParams {
            server: "docs".into(),
            thread_id: None,
        }),
        value(McpLoginResult {
            url: "https://login.example.com/authorize?response_type=code&client_id=c1".into(),
        }),
    );
    add(
        MCP_LOGOUT,
        value(McpLogoutParams {
            server: "docs".into(),
            thread_id: None,
        }),
        value(McpLogoutResult { forgotten: true }),
    );
    let resource = json!({ "uri": "docs://guide", "name": "Guide", "mimeType": "text/markdown" });
    let page = McpResourceListParams {
        thread_id: Some(THREAD.into()),
        server: "docs".into(),
        cursor: None,
    };
    add(
        MCP_RESOURCE_LIST,
        value(&page),
        value(McpResourceListResult {
            data: vec![resource],
            next_cursor: Some("2".into()),
        }),
    );
    add(
        MCP_RESOURCE_TEMPLATES,
        value(&page),
        value(McpResourceListResult {
            data: vec![json!({ "uriTemplate": "docs://page/{name}", "name": "Page" })],
            next_cursor: None,
        }),
    );
    add(
        MCP_RESOURCE_READ,
        value(McpResourceReadParams {
            thread_id: Some(THREAD.into()),
            server: "docs".into(),
            uri: "docs://guide".into(),
        }),
        value(McpResourceReadResult {
            contents: vec![json!({ "uri": "docs://guide", "mimeType": "text/markdown", "text": "# Guide\n" })],
        }),
    );
    add(
        MCP_ELICITATION_RESPOND,
        value(McpElicitationRespondParams {
            server: "git".into(),
            request_id: McpRequestId::Number(7),
            response: McpElicitationResponse {
                action: McpElicitationAction::Decline,
                content: None,
                meta: None,
            },
        }),
        value(McpElicitationRespondResult { taken: true }),
    );
    add(
        TERMINAL_LIST,
        value(TerminalListParams { thread_id: None }),
        value(TerminalListResult { data: vec![terminal()] }),
    );
    add(
        TERMINAL_READ,
        value(TerminalReadParams { terminal_id: 4711 }),
        value(TerminalReadResult {
            terminal: terminal(),
            output: "ready on http://localhost:3000\r\n".into(),
            output_bytes: 32,
        }),
    );
    add(
        TERMINAL_WRITE,
        value(TerminalWriteParams {
            terminal_id: 4711,
            text: "rs\r".into(),
        }),
        value(TerminalWriteResult {}),
    );
    add(
        TERMINAL_RESIZE,
        value(TerminalResizeParams {
            terminal_id: 4711,
            size: TerminalSize { rows: 40, columns: 120 },
        }),
        value(TerminalResizeResult {}),
    );
    add(
        TERMINAL_KILL,
        value(TerminalKillParams {
            terminal_id: Some(4711),
            thread_id: None,
        }),
        value(TerminalKillResult { killed: vec![4711] }),
    );
    account(&mut add);
    realtime(&mut add);
    add(
        MODEL_LIST,
        value(ModelListParams {
            limit: Some(1),
            cursor: None,
        }),
        value(ModelListResult {
            data: vec![Model {
                id: "gpt-5.1-codex".into(),
                display_name: "GPT-5.1 Codex".into(),
                provider: "openai".into(),
                context_window: Some(272_000),
                supported_reasoning_efforts: vec!["low".into(), "medium".into(), "high".into()],
                default_reasoning_effort: Some("medium".into()),
                is_default: true,
            }],
            next_cursor: None,
        }),
    );
    add(
        SANDBOX_STATUS,
        value(SandboxStatusParams {}),
        value(SandboxStatusResult {
            platform: "linux".into(),
            can_confine: true,
            minimum: "seccomp and Landlock 3, or seccomp, Landlock and namespaces".into(),
            walls: vec![SandboxWall {
                name: "namespaces".into(),
                stands: false,
                detail: "cannot make namespaces: Operation not permitted (os error 1)".into(),
                keeps_from: "seeing processes".into(),
                lacks: vec![],
            }],
            modes: vec![SandboxModeStatus {
                mode: SandboxMode::WorkspaceWrite,
                enforcement: SandboxEnforcement::Weaker,
                walls: vec!["Landlock".into(), "seccomp".into()],
            }],
            weaknesses: vec!["Commands see which processes run on the machine.".into()],
        }),
    );
    add(
        PROMPT_LIST,
        value(PromptListParams { cwd: None }),
        value(PromptListResult {
            data: vec![Prompt {
                name: "review".into(),
                description: Some("Look for faults".into()),
                argument_hint: "<file>".into(),
                arguments: vec![PromptArgument {
                    name: "file".into(),
                    hint: Some("what to look at".into()),
                    default: None,
                }],
                code: false,
                source: PromptSource::Person,
                path: "/home/ada/.countersign/prompts/review.md".into(),
                content: "Review $FILE.".into(),
            }],
            problems: vec![],
        }),
    );
    let entry = || HistoryEntry {
        offset: 17,
        thread_id: Some(THREAD.into()),
        at: AT_MS / 1000,
        text: "Make the test pass.".into(),
    };
    add(
        HISTORY_READ,
        value(HistoryReadParams {
            log_id: "5374221".into(),
            offset: 17,
        }),
        value(HistoryReadResult {
            log_id: "5374221".into(),
            offset: 17,
            entry: Some(entry()),
        }),
    );
    add(
        HISTORY_LIST,
        value(HistoryListParams {
            limit: Some(1),
            ..HistoryListParams::default()
        }),
        value(HistoryListResult {
            log_id: "5374221".into(),
            count: 18,
            data: vec![entry()],
        }),
    );
    add(
        HISTORY_APPEND,
        value(HistoryAppendParams {
            thread_id: None,
            text: "Make the test pass.".into(),
        }),
        value(HistoryAppendResult { kept: true }),
    );
    add(
        CONFIG_READ,
        value(ConfigReadParams {
            cwd: Some("/home/ada/sums".into()),
            saved: false,
        }),
        value(ConfigReadResult {
            config: json!({ "model": "gpt-5.1-codex", "approval_policy": "on-request" }),
            origins: BTreeMap::from([
                ("model".into(), "/home/ada/.countersign/config.toml".into()),
                ("approval_policy".into(), "built-in".into()),
            ]),
            warnings: vec![ConfigWarning {
                message: "`modle` is not a known key, so it is not used; did you mean `model`?".into(),
                path: Some("/home/ada/.countersign/config.toml".into()),
                line: Some(2),
            }],
            version: None,
        }),
    );
    add(
        CONFIG_WRITE,
        value(ConfigWriteParams {
            edits: vec![
                ConfigEdit {
                    key_path: "model".into(),
                    value: json!("gpt-5.1-codex"),
                },
                ConfigEdit {
                    key_path: "projects.\"/home/ada/sums\".trust_level".into(),
                    value: json!("trusted"),
                },
            ],
            expected_version: Some("9f2c1e0d5b7a4433".into()),
        }),
        value(ConfigWriteResult {
            path: "/home/ada/.countersign/config.toml".into(),
            version: "1b6f0a9c2d3e4f50".into(),
            overridden: BTreeMap::from([("model".into(), "editor".into())]),
            warnings: Vec::new(),
        }),
    );
    add(
        CONFIG_RELOAD,
        value(ConfigReloadParams::default()),
        value(ConfigReloadResult { warnings: Vec::new() }),
    );
    add(
        MODEL_SET_DEFAULT,
        value(ModelSetDefaultParams {
            model: Some("gpt-5.1-codex".into()),
            effort: None,
        }),
        value(ModelSetDefaultResult {
            path: "/home/ada/.countersign/config.toml".into(),
            profile: None,
        }),
    );
    add(
        PERMISSIONS_PROFILES,
        value(PermissionProfilesParams {
            cwd: Some("/home/ada/sums".into()),
        }),
        value(PermissionProfilesResult {
            data: vec![PermissionProfile {
                id: "with-mirror".into(),
                description: Some("The workspace and the crates mirror.".into()),
                extends: Some(":workspace".into()),
                built_in: false,
            }],
            default: Some(":workspace".into()),
        }),
    );
    add(
        APPROVAL_COMMAND,
        value(approval()),
        value(ApprovalResponse {
            decision: ApprovalDecision::AcceptAlways,
            turn_id: Some(TURN.into()),
            feedback: None,
            permissions: None,
        }),
    );
    add(
        APPROVAL_PERMISSION,
        value(permission()),
        value(ApprovalResponse {
            decision: ApprovalDecision::AcceptForSession,
            turn_id: None,
            feedback: None,
            permissions: None,
        }),
    );
    add(USER_INPUT_REQUEST, value(input_request()), value(input_response()));
    add(
        USER_INPUT_RESPOND,
        value(UserInputRespondParams {
            id: "q-1".into(),
            response: Some(input_response()),
        }),
        value(UserInputRespondResult { taken: true }),
    );
    add(
        TOOL_CALL,
        value(ToolCallParams {
            thread_id: THREAD.into(),
            turn_id: TURN.into(),
            call_id: "i-8".into(),
            tool: "find_definition".into(),
            arguments: json!({"symbol": "total"}),
        }),
        value(ToolCallResult {
            content_items: vec![ToolContent::InputText {
                text: "src/lib.rs:4".into(),
                paths: vec!["/home/ada/shop/src/lib.rs".into()],
            }],
            success: true,
        }),
    );
    add(
        APPROVAL_TOOL,
        value(tool_approval()),
        value(ApprovalResponse {
            decision: ApprovalDecision::Accept,
            turn_id: None,
            feedback: None,
            permissions: None,
        }),
    );
    add(
        MCP_ELICITATION,
        value(elicitation()),
        value(McpElicitationResponse {
            action: McpElicitationAction::Accept,
            content: Some(json!({ "branch": "main" })),
            meta: None,
        }),
    );
    let uri = "file:///home/ada/sums/src/lib.rs".to_owned();
    add(
        DOCUMENT_SAVE,
        value(DocumentSaveParams {
            thread_id: THREAD.into(),
            documents: vec![DocumentToSave {
                uri: uri.clone(),
                held_unsaved_text: true,
            }],
        }),
        value(DocumentSaveResult { saved: vec![uri] }),
    );
}

fn events() -> Vec<EventKind> {
    let message = ThreadItem::AgentMessage {
        id: "i-4".into(),
        text: "The test passes now.".into(),
        partial: false,
    };
    let error = || TurnError {
        message: "There is no key for OpenAI: the environment variable OPENAI_API_KEY is not set.".into(),
        kind: TurnErrorKind::MissingKey,
        http_status: None,
        actions: Vec::new(),
    };
    vec![
        EventKind::ThreadStarted(event::ThreadStarted { thread: thread() }),
        EventKind::ThreadConfigured(event::ThreadConfigured {
            settings: settings(),
            history_log_id: "5374221".into(),
            history_entry_count: 18,
        }),
        EventKind::ThreadStatusChanged(event::ThreadStatusChanged {
            status: ThreadStatus::Active,
        }),
        EventKind::ThreadClosed(event::ThreadClosed {}),
        EventKind::ThreadArchived(event::ThreadArchived {}),
        EventKind::ThreadUnarchived(event::ThreadUnarchived {}),
        EventKind::ThreadDeleted(event::ThreadDeleted {}),
        EventKind::ThreadNameUpdated(event::ThreadNameUpdated {
            name: Some("The failing sum".into()),
        }),
        EventKind::ThreadRolledBack(event::ThreadRolledBack { num_turns: 1 }),
        EventKind::TurnStarted(event::TurnStarted {
            turn: turn(TurnStatus::InProgress),
            model_context_window: Some(272_000),
        }),
        EventKind::TurnCompleted(event::TurnCompleted {
            turn: turn(TurnStatus::Completed),
            last_agent_message: Some("The test passes now.".into()),
            unanswered: vec![],
            cost: Some(Cost {
                usd: 0.031,
                is_partial: false,
            }),
        }),
        EventKind::TurnQueueChanged(event::TurnQueueChanged { queue: queue() }),
        EventKind::TurnDiff(event::TurnDiff { diff: DIFF.into() }),
        EventKind::TurnRetrying(event::TurnRetrying {
            attempt: 1,
            limit: Some(4),
            delay_ms: 210,
            message: "OpenAI is overloaded (status 503).".into(),
        }),
        EventKind::ItemStarted(event::ItemStarted {
            item: command(ItemStatus::InProgress),
            started_at_ms: AT_MS,
        }),
        EventKind::RawItem(event::RawItem {
            item: json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix the test."}]}),
        }),
        EventKind::ItemCompleted(event::ItemCompleted {
            item: message,
            completed_at_ms: AT_MS + 900,
            withdrawn: false,
        }),
        EventKind::AgentMessageDelta(event::ItemDelta {
            item_id: "i-4".into(),
            delta: "The test ".into(),
        }),
        EventKind::TerminalStarted(event::TerminalStarted { terminal: terminal() }),
        EventKind::TerminalOutput(event::TerminalOutput {
            terminal_id: 4711,
            delta: "GET / 200\r\n".into(),
        }),
        EventKind::TerminalExited(event::TerminalExited {
            terminal_id: 4711,
            exit_code: 143,
            duration_ms: 92_000,
            full_output: None,
        }),
        EventKind::RealtimeStarted(event::RealtimeStarted {
            realtime_id: VOICE.into(),
            version: RealtimeVersion::V2,
            session_id: Some("sess_7".into()),
        }),
        EventKind::RealtimeAudioDelta(event::RealtimeAudioDelta {
            realtime_id: VOICE.into(),
            item_id: Some("item_3".into()),
            audio: sound(),
        }),
        EventKind::RealtimeTranscriptDelta(event::RealtimeTranscriptDelta {
            realtime_id: VOICE.into(),
            item_id: Some("item_3".into()),
            role: RealtimeRole::Assistant,
            delta: "I look at ".into(),
        }),
        EventKind::RealtimeTranscriptDone(event::RealtimeTranscriptDone {
            realtime_id: VOICE.into(),
            item_id: Some("item_2".into()),
            role: RealtimeRole::User,
            text: "Why does the test fail?".into(),
        }),
        EventKind::RealtimeSpeechStarted(event::RealtimeSpeechStarted {
            realtime_id: VOICE.into(),
            item_id: Some("item_4".into()),
        }),
        EventKind::RealtimeHandoff(event::RealtimeHandoff {
            realtime_id: VOICE.into(),
            input_turn_id: TURN.into(),
            text: "Find out why the test fails.".into(),
        }),
        EventKind::RealtimeError(event::RealtimeError {
            realtime_id: VOICE.into(),
            message: "The voice endpoint reports an error: the audio is too short.".into(),
        }),
        EventKind::RealtimeClosed(event::RealtimeClosed {
            realtime_id: VOICE.into(),
            reason: RealtimeEnd::Requested,
            message: None,
        }),
        EventKind::ReasoningSummaryDelta(event::ItemPartDelta {
            item_id: "i-2".into(),
            index: 0,
            delta: "**Reading the failing test**".into(),
        }),
        EventKind::ReasoningDelta(event::ItemPartDelta {
            item_id: "i-2".into(),
            index: 0,
            delta: "The sum starts at one".into(),
        }),
        EventKind::CommandOutputDelta(event::ItemDelta {
            item_id: "i-3".into(),
            delta: "running 1 test\n".into(),
        }),
        EventKind::ReviewEntered(event::ReviewEntered {
            target: ReviewTarget::BaseBranch { branch: "main".into() },
            review: "changes against main".into(),
        }),
        EventKind::ReviewCompleted(event::ReviewCompleted {
            output: Some(review()),
            findings: vec![finding()],
        }),
        EventKind::ReviewFindingsChanged(event::ReviewFindingsChanged { findings: vec![] }),
        EventKind::PlanUpdated(event::PlanUpdated {
            explanation: None,
            steps: vec![
                PlanStep {
                    step: "Find the cause".into(),
                    status: PlanStepStatus::Completed,
                },
                PlanStep {
                    step: "Mend it".into(),
                    status: PlanStepStatus::InProgress,
                },
            ],
        }),
        EventKind::TokenUsageUpdated(event::TokenUsageUpdated {
            token_usage: ThreadTokenUsage {
                last: TokenUsage {
                    input_tokens: 900,
                    output_tokens: 80,
                    total_tokens: 980,
                    ..TokenUsage::default()
                },
                total: TokenUsage {
                    input_tokens: 1800,
                    output_tokens: 150,
                    total_tokens: 1950,
                    ..TokenUsage::default()
                },
                model_context_window: Some(272_000),
                cost: Some(Cost {
                    usd: 0.042,
                    is_partial: false,
                }),
            },
            rate_limits: Some(RateLimits {
                primary: Some(RateWindow {
                    used_percent: 12.5,
                    window_minutes: Some(300),
                    resets_at: Some(AT_MS / 1000),
                }),
                plan: Some("plus".into()),
                ..RateLimits::default()
            }),
        }),
        EventKind::ProposalCreated(event::ProposalChanged {
            proposal: proposal(ProposalStatus::Proposed, HunkStatus::Pending),
        }),
        EventKind::ProposalUpdated(event::ProposalChanged {
            proposal: proposal(ProposalStatus::Applied, HunkStatus::Applied),
        }),
        EventKind::ProposalMoved(ProposalMoved {
            proposal_id: "p-1".into(),
            status: ProposalStatus::Stale,
            files: vec![MovedFile {
                path: "/home/ada/sums/src/lib.rs".into(),
                uri: "file:///home/ada/sums/src/lib.rs".into(),
                open: true,
                version: Some(13),
                hunks: vec![MovedHunk {
                    id: "h-1".into(),
                    status: HunkStatus::Conflicting,
                    range: LineRange { start: 2, end: 3 },
                    conflict: Some("the lines it would replace have changed".into()),
                }],
            }],
        }),
        EventKind::FilesChanged(FilesChanged {
            paths: vec![ChangedPath {
                path: "/home/ada/sums/src/new.rs".into(),
                uri: "file:///home/ada/sums/src/new.rs".into(),
                kind: ChangedKind::Created,
            }],
        }),
        EventKind::ApprovalRequested(event::ApprovalRequested {
            approval: Approval::Command(approval()),
        }),
        EventKind::ApprovalResolved(event::ApprovalResolved {
            approval_id: "a-1".into(),
            decision: Some(ApprovalDecision::Accept),
        }),
        EventKind::AgentStatusChanged(event::AgentStatusChanged {
            agent_thread_id: "0199a213-81c0-7800-8aa1-bbab2a035a99".into(),
            state: AgentState {
                name: "tests".into(),
                status: AgentStatus::Completed,
                message: Some("All 42 tests pass.".into()),
            },
        }),
        EventKind::UserInputRequested(event::UserInputRequested {
            request: input_request(),
        }),
        EventKind::UserInputResolved(event::UserInputResolved {
            id: "q-1".into(),
            answered: true,
        }),
        EventKind::McpToolCallProgress(event::McpProgress {
            item_id: "i-9".into(),
            progress: 3.0,
            total: Some(10.0),
            message: Some("Reading the index".into()),
        }),
        EventKind::McpElicitationRequested(event::McpElicitationRequested {
            elicitation: elicitation(),
        }),
        EventKind::McpElicitationResolved(event::McpElicitationResolved {
            elicitation_id: "e-1".into(),
            server: "git".into(),
            action: Some(McpElicitationAction::Accept),
        }),
        EventKind::McpStatusChanged(event::McpStatusChanged {
            server: "docs".into(),
            status: McpServerStatus::Ready,
            error: None,
        }),
        EventKind::GuardianAssessed(GuardianAssessment {
            id: "g-1".into(),
            item_id: "i-5".into(),
            action: GuardianAction::Command {
                command: vec!["cargo".into(), "fetch".into()],
                display: "cargo fetch".into(),
                cwd: "/home/ada/sums".into(),
                confined: Confined::Outside,
                reason: "It needs the network, which the sandbox does not give.".into(),
                justification: None,
            },
            status: GuardianStatus::Denied,
            risk_level: Some(RiskLevel::Medium),
            rationale: Some("Nobody asked for new packages.".into()),
        }),
        EventKind::Warning(event::Warning {
            message: "The model \"gpt-x\" is not known.".into(),
        }),
        EventKind::Error(event::ErrorEvent {
            error: error(),
            realtime_id: None,
        }),
    ]
}

const DIFF: &str =
    "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -4,1 +4,1 @@\n-    let mut sum = 1;\n+    let mut sum = 0;\n";

fn thread() -> Thread {
    Thread {
        id: THREAD.into(),
        preview: "Make the test pass.".into(),
        name: None,
        cwd: "/home/ada/sums".into(),
        model_provider: "openai".into(),
        model: Some("gpt-5.1-codex".into()),
        status: ThreadStatus::Idle,
        created_at_ms: AT_MS,
        updated_at_ms: AT_MS,
        path: Some(
            format!("/home/ada/.countersign/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{THREAD}.jsonl").into(),
        ),
        source: "neovim".into(),
        cli_version: "0.1.0".into(),
        git_info: Some(GitInfo {
            sha: None,
            branch: Some("main".into()),
            origin_url: None,
        }),
        forked_from_id: None,
        agent: None,
        archived: false,
        memory_mode: ThreadMemoryMode::Enabled,
        turns: vec![],
    }
}

fn settings() -> ThreadSettings {
    ThreadSettings {
        model: "gpt-5.1-codex".into(),
        model_provider: "openai".into(),
        effort: None,
        summary: ReasoningSummary::Auto,
        cwd: "/home/ada/sums".into(),
        approval_policy: ApprovalPolicy::OnRequest,
        approvals_reviewer: ApprovalsReviewer::User,
        sandbox_policy: SandboxPolicy::default(),
        permissions: Some(":workspace".into()),
        runtime_workspace_roots: vec!["/home/ada/shared".into()],
        edit_approval: EditApproval::Ask,
        service_tier: None,
        personality: Personality::None,
        editor_context: EditorContextSettings::default(),
        mode: Mode::Agent,
    }
}

fn queue() -> TurnQueue {
    TurnQueue {
        inputs: vec![QueuedInput {
            id: "q-1".into(),
            input: vec![UserInput::Text {
                text: "Then update the changelog.".into(),
            }],
            client_user_message_id: None,
            queued_at_ms: AT_MS,
            not_before_ms: None,
        }],
        paused: false,
    }
}

fn review() -> ReviewOutput {
    let finding = finding();
    ReviewOutput {
        findings: vec![ReviewFinding {
            title: finding.title,
            body: finding.body,
            confidence_score: finding.confidence_score,
            priority: finding.priority,
            code_location: Some(finding.code_location),
        }],
        overall_correctness: Some(ReviewVerdict::Incorrect),
        overall_explanation: "Large inputs give a wrong sum.".into(),
        overall_confidence_score: Some(0.9),
        is_unlisted: false,
    }
}

fn finding() -> OpenFinding {
    OpenFinding {
        id: "f-1".into(),
        thread_id: THREAD.into(),
        turn_id: TURN.into(),
        uri: "file:///home/ada/sums/src/lib.rs".into(),
        code_location: CodeLocation {
            absolute_file_path: "/home/ada/sums/src/lib.rs".into(),
            line_range: LineRange { start: 3, end: 5 },
        },
        title: "Add up in u64 so that large inputs do not overflow".into(),
        body: "Three values of `u32::MAX / 2` already wrap around in release builds.".into(),
        confidence_score: 0.9,
        priority: 1,
    }
}

fn turn(status: TurnStatus) -> Turn {
    let items = match status {
        TurnStatus::InProgress => vec![],
        _ => vec![
            ThreadItem::UserMessage {
                id: "i-1".into(),
                content: vec![UserInput::Text {
                    text: "Make the test pass.".into(),
                }],
                client_id: Some("m-1".into()),
                context: vec![SentContext {
                    kind: SentContextKind::File,
                    label: "src/lib.rs, lines 1-3".into(),
                    path: Some("/home/ada/project/src/lib.rs".into()),
                    line_range: Some(LineRange { start: 0, end: 3 }),
                    bytes: 48,
                    note: None,
                }],
            },
            command(ItemStatus::Completed),
        ],
    };
    Turn {
        id: TURN.into(),
        kind: TurnKind::Regular,
        status,
        items,
        error: None,
        interrupted_by: None,
        started_at_ms: Some(AT_MS),
        completed_at_ms: (status != TurnStatus::InProgress).then_some(AT_MS + 2000),
    }
}

fn command(status: ItemStatus) -> ThreadItem {
    let done = status == ItemStatus::Completed;
    ThreadItem::CommandExecution {
        id: "i-3".into(),
        command: "cargo test".into(),
        cwd: "/home/ada/sums".into(),
        actions: vec![CommandAction::Unknown {
            command: "cargo test".into(),
        }],
        source: CommandSource::Agent,
        confined: Confined::Workspace,
        status,
        aggregated_output: done.then(|| "test result: ok. 1 passed\n".into()),
        exit_code: done.then_some(0),
        duration_ms: done.then_some(840),
        reason: None,
        full_output: None,
        terminal_id: None,
    }
}

fn sound() -> RealtimeAudio {
    RealtimeAudio {
        data: "AAAAAAAA".into(),
        sample_rate: 24_000,
        channels: 1,
    }
}

fn realtime(add: &mut impl FnMut(&'static str, Value, Value)) {
    add(
        REALTIME_START,
        value(RealtimeStartParams {
            thread_id: THREAD.into(),
            version: None,
            model: None,
            voice: Some("cedar".into()),
            output_modality: RealtimeModality::Audio,
            instructions: None,
            include_startup_context: None,
        }),
        value(RealtimeStartResult {
            realtime_id: VOICE.into(),
            version: RealtimeVersion::V2,
            model: "gpt-realtime".into(),
            voice: "cedar".into(),
        }),
    );
    add(
        REALTIME_AUDIO,
        value(RealtimeAudioParams {
            thread_id: THREAD.into(),
            audio: sound(),
        }),
        value(RealtimeAudioResult {}),
    );
    add(
        REALTIME_TEXT,
        value(RealtimeTextParams {
            thread_id: THREAD.into(),
            text: "Shorter, please.".into(),
        }),
        value(RealtimeTextResult {}),
    );
    add(
        REALTIME_CLOSE,
        value(RealtimeCloseParams {
            thread_id: THREAD.into(),
        }),
        value(RealtimeCloseResult { closing: true }),
    );
    let voices = |usual: &str| RealtimeVoices {
        voices: vec![usual.into()],
        usual: usual.into(),
    };
    add(
        REALTIME_VOICES,
        value(RealtimeVoicesParams {}),
        value(RealtimeVoicesResult {
            v1: voices("cove"),
            v2: voices("marin"),
        }),
    );
}

fn terminal() -> Terminal {
    Terminal {
        terminal_id: 4711,
        thread_id: THREAD.into(),
        turn_id: TURN.into(),
        item_id: "i-3".into(),
        command: "npm run dev".into(),
        cwd: "/home/ada/sums".into(),
        confined: Confined::Workspace,
        size: Some(TerminalSize { rows: 24, columns: 80 }),
        started_at_ms: AT_MS,
        exit_code: None,
    }
}

fn input_request() -> UserInputRequest {
    let choice = |label: &str, description: &str| UserChoice {
        label: label.into(),
        description: description.into(),
    };
    UserInputRequest {
        id: "q-1".into(),
        thread_id: THREAD.into(),
        turn_id: TURN.into(),
        item_id: "i-7".into(),
        agent: None,
        questions: vec![UserQuestion {
            id: "empty_list".into(),
            header: "Empty list".into(),
            question: "What is the sum of an empty list?".into(),
            is_other: true,
            options: vec![
                choice("Zero", "As in mathematics."),
                choice("An error", "An empty list is a mistake of the caller."),
            ],
        }],
    }
}

fn input_response() -> UserInputResponse {
    let answers = vec!["Zero".into()];
    UserInputResponse {
        answers: [("empty_list".to_owned(), UserAnswer { answers })].into(),
    }
}

fn permission() -> PermissionApproval {
    PermissionApproval {
        id: "a-2".into(),
        thread_id: THREAD.into(),
        turn_id: TURN.into(),
        item_id: "i-6".into(),
        agent: None,
        proposal_id: Some("p-1".into()),
        grant_root: Some("/home/ada/shared".into()),
        permissions: vec![],
        accept_covers: GrantScope::Session,
        folders: vec!["/home/ada/shared".into()],
        paths: vec!["/home/ada/shared/rates.csv".into()],
        reason:
            "The patch writes outside the workspace: /home/ada/shared/rates.csv. With a yes, patches that you accept \
                 and commands in the sandbox may write in /home/ada/shared until this session ends; with a no, nothing \
                 of this patch is written."
                .into(),
        justification: None,
        notes: Vec::new(),
        available_decisions: vec![
            ApprovalDecision::AcceptForSession,
            ApprovalDecision::Decline,
            ApprovalDecision::Cancel,
        ],
    }
}

fn tool_approval() -> ToolApproval {
    ToolApproval {
        id: "a-3".into(),
        thread_id: THREAD.into(),
        turn_id: TURN.into(),
        item_id: "i-9".into(),
        agent: None,
        server: "issues".into(),
        tool: "create_issue".into(),
        title: "create_issue (“Create an issue”)".into(),
        arguments: json!({ "title": "Sum of an empty list" }),
        reason: "The server issues does not say that create_issue only reads, nor that it destroys nothing. It runs with your \
                 rights, outside the sandbox."
            .into(),
        definition: "server: \"issues\"\naddress: \"https://issues.example/mcp\"\nmark of its query: null\ntool: \
                     \"create_issue\"\ntitle: \"Create an issue\"\nhints: null\ndescription:\n    Opens an issue.\narguments:\n    \
                     {\n      \"type\": \"object\"\n    }"
            .into(),
        session_scope: "create_issue of issues as it is now, with any arguments".into(),
        always_rule: AlwaysRule {
            text: "create_issue of issues as it is now, with any arguments, in every session".into(),
            title: "issues: create_issue".into(),
            toml: "[[tool]]\nserver = \"issues\"\ntool = \"create_issue\"\ndecision = \"allow\"\npin = \"sha256:0f1e2d3c4b5a\"\n"
                .into(),
            file: "/home/ada/.countersign/rules/always.toml".into(),
        },
        notes: Vec::new(),
        available_decisions: vec![
            ApprovalDecision::Accept,
            ApprovalDecision::AcceptForSession,
            ApprovalDecision::AcceptAlways,
            ApprovalDecision::Decline,
            ApprovalDecision::Cancel,
        ],
    }
}

fn elicitation() -> McpElicitation {
    McpElicitation {
        id: "e-1".into(),
        thread_id: THREAD.into(),
        turn_id: TURN.into(),
        item_id: "i-9".into(),
        server: "git".into(),
        request_id: McpRequestId::Number(7),
        message: "Which branch?".into(),
        notes: Vec::new(),
        wish: McpWish::Form {
            requested_schema: json!({
                "type": "object",
                "properties": { "branch": { "type": "string" } },
                "required": ["branch"],
            }),
        },
        meta: None,
    }
}

fn tool_server() -> McpServer {
    McpServer {
        name: "docs".into(),
        status: McpServerStatus::Ready,
        error: None,
        auth_status: McpAuthStatus::Unsupported,
        tools: vec![McpTool {
            name: "search".into(),
            qualified_name: "mcp__docs__search".into(),
            title: Some("Search".into()),
            description: Some("Searches the documentation.".into()),
            read_only: true,
            input_schema: json!({ "type": "object", "properties": { "query": { "type": "string" } } }),
        }],
        resources: vec![json!({ "uri": "docs://guide", "name": "Guide" })],
        resource_templates: Vec::new(),
    }
}

fn context() -> ThreadContextResult {
    let part = |kind, title: &str, tokens, count, largest: &[(&str, u32)]| ContextPart {
        kind,
        title: title.into(),
        tokens,
        count,
        largest: largest
            .iter()
            .map(|(name, tokens)| ContextEntry {
                name: (*name).into(),
                tokens: *tokens,
            })
            .collect(),
    };
    ThreadContextResult {
        model: Some("gpt-5".into()),
        context_window: Some(272_000),
        compacts_at: Some(244_800),
        tokens: 9_120,
        parts: vec![
            part(
                ContextPartKind::ToolResults,
                "Tool results",
                4_310,
                3,
                &[("exec_command", 3_900), ("read_file", 410)],
            ),
            part(
                ContextPartKind::Tools,
                "Tools",
                2_705,
                14,
                &[("exec_command", 640), ("apply_patch", 520)],
            ),
            part(ContextPartKind::Instructions, "Instructions", 1_180, 1, &[]),
            part(ContextPartKind::UserMessages, "Your messages", 58, 2, &[]),
        ],
        left_out: Vec::new(),
    }
}

fn approval() -> CommandApproval {
    CommandApproval {
        id: "a-1".into(),
        thread_id: THREAD.into(),
        turn_id: TURN.into(),
        item_id: "i-5".into(),
        agent: None,
        command: vec!["cargo".into(), "fetch".into()],
        display: "cargo fetch".into(),
        script: None,
        cwd: "/home/ada/sums".into(),
        actions: vec![CommandAction::Unknown {
            command: "cargo fetch".into(),
        }],
        reason: "It needs the network, which the sandbox does not give.".into(),
        justification: Some("The test needs a crate that is not here yet.".into()),
        confined: Confined::Outside,
        risk: Some(Risk {
            level: RiskLevel::Low,
            description: "It only downloads the packages that the lock file names.".into(),
        }),
        session_scope: "`cargo fetch` on paths in /home/ada/sums and /tmp, with harmless options only, outside the sandbox".into(),
        always_rule: Some(AlwaysRule {
            text: "`cargo fetch` on paths in /home/ada/sums and /tmp, with harmless options only, outside the sandbox, in every session".into(),
            title: "cargo fetch".into(),
            toml: "[[rule]]\nprefix = [\"cargo\", \"fetch\"]\ndecision = \"allow\"\nsandbox = \"outside\"\npaths = \"here\"\nfolder = \"/home/ada/sums\"\nhosts = []\noptions = []\n"
                .into(),
            file: "/home/ada/.countersign/rules/always.toml".into(),
        }),
        notes: Vec::new(),
        available_decisions: vec![
            ApprovalDecision::Accept,
            ApprovalDecision::AcceptForSession,
            ApprovalDecision::AcceptAlways,
            ApprovalDecision::Decline,
            ApprovalDecision::Cancel,
        ],
    }
}

/// As `proposal/read` gives it.
fn whole_proposal() -> Proposal {
    let mut proposal = proposal(ProposalStatus::Proposed, HunkStatus::Pending);
    for file in &mut proposal.files {
        file.before = Some("    let mut sum = 1;\n".into());
        file.after = Some("    let mut sum = 0;\n".into());
        file.current = Some("    let mut sum = 1;\n".into());
        file.result = Some("    let mut sum = 0;\n".into());
    }
    proposal
}

/// With a hunk as the person wants it.
fn edited_proposal() -> Proposal {
    let mut proposal = proposal(ProposalStatus::Proposed, HunkStatus::Pending);
    for hunk in proposal.files.iter_mut().flat_map(|file| &mut file.hunks) {
        let own = "    let mut sum = 0u64;\n".to_owned();
        hunk.proposed_text = Some(std::mem::replace(&mut hunk.new_text, own));
    }
    proposal
}

fn proposal(status: ProposalStatus, hunk: HunkStatus) -> Proposal {
    Proposal {
        id: "p-1".into(),
        thread_id: THREAD.into(),
        turn_id: TURN.into(),
        item_id: "i-6".into(),
        status,
        files: vec![ProposalFile {
            path: "/home/ada/sums/src/lib.rs".into(),
            uri: "file:///home/ada/sums/src/lib.rs".into(),
            kind: FileChangeKind::Update { move_path: None },
            open: true,
            unsaved: true,
            base_version: Some(12),
            version: Some(4),
            mode: None,
            not_text: None,
            notes: Vec::new(),
            before: None,
            after: None,
            current: None,
            result: None,
            hunks: vec![Hunk {
                id: "h-1".into(),
                status: hunk,
                range: LineRange { start: 0, end: 1 },
                old_text: "    let mut sum = 1;\n".into(),
                new_text: "    let mut sum = 0;\n".into(),
                proposed_text: None,
                conflict: None,
                feedback: None,
            }],
        }],
        diff: DIFF.into(),
        reason: None,
        grant_root: None,
        auto_approved: false,
        stacked_on: Vec::new(),
        superseded_by: None,
        outcome: None,
        created_at_ms: AT_MS,
    }
}

#[test]
fn every_method_has_an_example() {
    let (requests, events) = (all_requests(), all_events());
    let rows = CLIENT_REQUESTS.iter().chain(SERVER_REQUESTS);
    let missing_requests = rows
        .map(|(method, ..)| *method)
        .filter(|method| !requests.contains_key(method));
    let missing_events = event::EVENTS
        .iter()
        .map(|(method, ..)| *method)
        .filter(|method| !events.contains_key(method));
    let missing: Vec<&str> = missing_requests.chain(missing_events).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
