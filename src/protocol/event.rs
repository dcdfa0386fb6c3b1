//! Events: everything observable about a thread, in one ordered stream.
//!
//! An [`Event`] is a notification to the client and, for those kinds that are kept, a line of the rollout.

use crate::ids::{
    ApprovalId, ElicitationId, ItemId, ProposalId, QuestionsId, RealtimeId, SubscriptionId, ThreadId, TurnId,
};
use crate::protocol::agent::AgentState;
use crate::protocol::approval::Approval;
use crate::protocol::document::FilesChanged;
use crate::protocol::guardian::GuardianAssessment;
use crate::protocol::item::{PlanStep, ThreadItem};
use crate::protocol::mcp::{McpElicitation, McpElicitationAction, McpServerStatus};
use crate::protocol::model::{Cost, RateLimits, ThreadTokenUsage};
use crate::protocol::proposal::{Proposal, ProposalMoved};
use crate::protocol::question::UserInputRequest;
use crate::protocol::queue::TurnQueue;
use crate::protocol::realtime::{RealtimeAudio, RealtimeEnd, RealtimeRole, RealtimeVersion};
use crate::protocol::review::{OpenFinding, ReviewOutput, ReviewTarget};
use crate::protocol::settings::ThreadSettings;
use crate::protocol::terminal::Terminal;
use crate::protocol::thread::{Thread, ThreadStatus};
use crate::protocol::turn::{Turn, TurnError, UnansweredInput};
use serde::{Deserialize, Serialize};

/// Where in the conversation an event belongs. Part of the params of every notification of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct At {
    pub thread_id: ThreadId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Rises by one with each event of the thread. Deltas that were joined on their way carry the last number.
    pub seq: u64,
    /// Whose copy this is, for those that `thread/subscribe` asked for. Absent: what the client gets of its threads anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<SubscriptionId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub at: At,
    pub kind: EventKind,
}

/// Declares the kinds of events: variant, method, parameters.
macro_rules! events {
    ($($(#[doc = $doc:literal])* $variant:ident = $method:literal ($params:ident)),* $(,)?) => {
        #[derive(Clone, Debug, PartialEq)]
        pub enum EventKind {
            $($(#[doc = $doc])* $variant($params),)*
        }

        impl EventKind {
            /// The notification's method.
            pub fn method(&self) -> &'static str {
                match self { $(Self::$variant(_) => $method,)* }
            }
        }

        impl Event {
            /// Parameters of the notification: the place and the kind's own fields, side by side. Written straight to
            /// their bytes, since there is one for each word that a model says.
            pub fn params(&self) -> impl Serialize + '_ {
                Params(self)
            }
        }

        struct Params<'a>(&'a Event);

        impl Serialize for Params<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(Serialize)]
                struct Both<'a, B> {
                    #[serde(flatten)]
                    at: &'a At,
                    #[serde(flatten)]
                    body: &'a B,
                }
                let at = &self.0.at;
                match &self.0.kind {
                    $(EventKind::$variant(body) => Both { at, body }.serialize(serializer),)*
                }
            }
        }

        /// Method, name of the params type and meaning of every event, for the generated pages.
        pub const EVENTS: &[(&str, &str, &str)] = &[
            $(($method, stringify!($params), concat!($($doc),*)),)*
        ];

        /// Shows the generator the types of every row.
        #[cfg(test)]
        pub(super) fn each_event(visitor: &mut impl super::generate::Visitor) {
            visitor.visit::<At>();
            $(visitor.visit::<$params>();)*
        }
    };
}

events! {
    /// The thread exists. Follows the answer of the request that made it.
    ThreadStarted = "countersign/thread/started" (ThreadStarted),
    /// Its settings are in force; the first event after `thread/started`, and again after each change.
    ThreadConfigured = "countersign/thread/configured" (ThreadConfigured),
    /// Idle, active, waiting.
    ThreadStatusChanged = "countersign/thread/statusChanged" (ThreadStatusChanged),
    /// The thread's last event while it is live.
    ThreadClosed = "countersign/thread/closed" (ThreadClosed),
    /// The thread was put away; it need not have been live.
    ThreadArchived = "countersign/thread/archived" (ThreadArchived),
    /// The thread was brought back from where archived ones are.
    ThreadUnarchived = "countersign/thread/unarchived" (ThreadUnarchived),
    /// The thread is gone for good; nothing of it follows.
    ThreadDeleted = "countersign/thread/deleted" (ThreadDeleted),
    /// The thread has another name.
    ThreadNameUpdated = "countersign/thread/nameUpdated" (ThreadNameUpdated),
    /// The thread's last turns were dropped from the conversation. Files stay as they are.
    ThreadRolledBack = "countersign/thread/rolledBack" (ThreadRolledBack),
    /// A turn runs.
    TurnStarted = "countersign/turn/started" (TurnStarted),
    /// The turn's last event, exactly one for each `turn/started`.
    TurnCompleted = "countersign/turn/completed" (TurnCompleted),
    /// What waits for its turn is another list, or in another order, or paused, or not any more. The whole of it each time.
    TurnQueueChanged = "countersign/turn/queueChanged" (TurnQueueChanged),
    /// Unified diff of all the turn has changed so far; replaces the one before.
    TurnDiff = "countersign/turn/diff" (TurnDiff),
    /// A transient failure; the request is sent again. A notice, not an error.
    TurnRetrying = "countersign/turn/retrying" (TurnRetrying),
    /// An item begins.
    ItemStarted = "countersign/item/started" (ItemStarted),
    /// An item is done; this is its final form.
    ItemCompleted = "countersign/item/completed" (ItemCompleted),
    /// An item of the history as the model is told it. Only to subscriptions with `raw`, one for each item, in the order of
    /// the history; `seq` is that of the event before it.
    RawItem = "countersign/item/raw" (RawItem),
    /// More text of the answer.
    AgentMessageDelta = "countersign/item/agentMessage/delta" (ItemDelta),
    /// More text of a part of the reasoning's summary.
    ReasoningSummaryDelta = "countersign/item/reasoning/summaryTextDelta" (ItemPartDelta),
    /// More raw reasoning; only where `show_raw_agent_reasoning` is on.
    ReasoningDelta = "countersign/item/reasoning/textDelta" (ItemPartDelta),
    /// More output of a running command.
    CommandOutputDelta = "countersign/item/commandExecution/outputDelta" (ItemDelta),
    /// How far a call of a server's tool is.
    McpToolCallProgress = "countersign/item/mcpToolCall/progress" (McpProgress),
    /// A command runs on in a terminal of its own; its item is completed with status `background`. Belongs to the thread,
    /// as what follows of the terminal.
    TerminalStarted = "countersign/terminal/started" (TerminalStarted),
    /// More output of a terminal, with all control sequences; of a flood only its head and tail.
    TerminalOutput = "countersign/terminal/output" (TerminalOutput),
    /// The command in a terminal has ended, by itself or not.
    TerminalExited = "countersign/terminal/exited" (TerminalExited),
    /// A reviewer looks at a change from here on; in the turn of the review, before anything it says.
    ReviewEntered = "countersign/review/entered" (ReviewEntered),
    /// The review is over, once for each `review/entered`: with its result, or with none if it was stopped or failed.
    ReviewCompleted = "countersign/review/completed" (ReviewCompleted),
    /// Findings of the thread went: dismissed, their lines changed, their file gone, or the same reviewed again. Belongs to
    /// the thread.
    ReviewFindingsChanged = "countersign/review/findingsChanged" (ReviewFindingsChanged),
    /// The plan as it stands.
    PlanUpdated = "countersign/turn/planUpdated" (PlanUpdated),
    /// Tokens used, and what is left of the allowance: once after each response, and when a compaction has made room.
    TokenUsageUpdated = "countersign/thread/tokenUsage" (TokenUsageUpdated),
    /// A patch waits for the person.
    ProposalCreated = "countersign/proposal/created" (ProposalChanged),
    /// A proposal's hunks were decided, edited or applied, or the proposal was settled otherwise.
    ProposalUpdated = "countersign/proposal/updated" (ProposalChanged),
    /// The person typed: the hunks of a waiting proposal lie elsewhere now, or fit no more, or fit again.
    ProposalMoved = "countersign/proposal/moved" (ProposalMoved),
    /// Closed files were written on the disk for the agent; an editor that does not watch them itself looks again.
    FilesChanged = "countersign/file/changed" (FilesChanged),
    /// A command, or a folder outside the workspace, waits for the person. Clients with the plugin protocol are asked by request.
    ApprovalRequested = "countersign/approval/requested" (ApprovalRequested),
    /// The question is settled or pointless; close what shows it.
    ApprovalResolved = "countersign/approval/resolved" (ApprovalResolved),
    /// The model asks the person. Clients with the plugin protocol are asked by request.
    UserInputRequested = "countersign/userInput/requested" (UserInputRequested),
    /// What the model asked is answered, or pointless; close what shows it.
    UserInputResolved = "countersign/userInput/resolved" (UserInputResolved),
    /// An MCP server asks the person something. Clients with the plugin protocol are asked by request.
    McpElicitationRequested = "countersign/mcp/elicitationRequested" (McpElicitationRequested),
    /// The server's question is settled or pointless; close what shows it.
    McpElicitationResolved = "countersign/mcp/elicitationResolved" (McpElicitationResolved),
    /// How an MCP server is: after `thread/configured` for each, and after each change.
    McpStatusChanged = "countersign/mcp/status" (McpStatusChanged),
    /// An agent that works for this thread has begun, ended or is closed. Also between turns.
    AgentStatusChanged = "countersign/thread/agentStatus" (AgentStatusChanged),
    /// The automatic reviewer judges a question in the person's place: in progress, then what it found.
    GuardianAssessed = "countersign/guardian/assessment" (GuardianAssessment),
    /// A realtime conversation has begun: the endpoint hears and speaks.
    RealtimeStarted = "countersign/realtime/started" (RealtimeStarted),
    /// Sound to play, in order and in small pieces.
    RealtimeAudioDelta = "countersign/realtime/audio/delta" (RealtimeAudioDelta),
    /// More of what is said, as text.
    RealtimeTranscriptDelta = "countersign/realtime/transcript/delta" (RealtimeTranscriptDelta),
    /// What was said, as a whole.
    RealtimeTranscriptDone = "countersign/realtime/transcript/done" (RealtimeTranscriptDone),
    /// The person has begun to speak: stop playing what is left of the answer.
    RealtimeSpeechStarted = "countersign/realtime/speechStarted" (RealtimeSpeechStarted),
    /// What was said is work for the agent: it is input of this turn. How it ends is said to the voice.
    RealtimeHandoff = "countersign/realtime/handoff" (RealtimeHandoff),
    /// Something went wrong in a realtime conversation that goes on.
    RealtimeError = "countersign/realtime/error" (RealtimeError),
    /// It is over, once for each `realtime/started`.
    RealtimeClosed = "countersign/realtime/closed" (RealtimeClosed),
    /// Something the person should know; never ends a turn.
    Warning = "countersign/warning" (Warning),
    /// A turn failed, and `turn/completed` follows; or, outside of any turn, an MCP server or a realtime conversation did not
    /// start, or the thread ends and could not be recorded to its end.
    Error = "countersign/error" (ErrorEvent),
}

macro_rules! params {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }
    )*};
}

params! {
    ThreadStarted { thread: Thread }
    ThreadConfigured {
        settings: ThreadSettings,
        /// Of the file of what the person typed, as `history/read` takes it; `0` where none is kept.
        history_log_id: String,
        /// Entries in that file: one can go back from this number.
        history_entry_count: u64,
    }
    ThreadStatusChanged { status: ThreadStatus }
    ThreadClosed {}
    ThreadArchived {}
    ThreadUnarchived {}
    ThreadDeleted {}
    ThreadNameUpdated { name: Option<String> }
    ThreadRolledBack {
        /// How many were dropped.
        num_turns: u32,
    }
    TurnStarted {
        turn: Turn,
        /// Tokens; absent where it is not known.
        model_context_window: Option<u32>,
    }
    TurnCompleted {
        turn: Turn,
        /// The agent's last text in the turn's last round: its answer. Absent if it said nothing there.
        last_agent_message: Option<String>,
        /// Input that came while the turn ran and that it was stopped before reading, in order.
        unanswered: Vec<UnansweredInput>,
        /// What it cost. Absent where no price is known.
        cost: Option<Cost>,
    }
    TurnQueueChanged { queue: TurnQueue }
    TurnDiff { diff: String }
    TurnRetrying {
        /// Counted from 1.
        attempt: u32,
        /// Absent: without end, until the person stops the turn.
        limit: Option<u32>,
        delay_ms: u64,
        message: String,
    }
    ItemStarted { item: ThreadItem, started_at_ms: i64 }
    ItemCompleted {
        item: ThreadItem,
        completed_at_ms: i64,
        /// The answer broke off and is asked for again: the item is no part of the turn any more, and what it began comes in
        /// another item.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        withdrawn: bool,
    }
    RawItem {
        /// In the form that threads are stored in, with its `type`.
        item: serde_json::Value,
    }
    ItemDelta { item_id: ItemId, delta: String }
    ItemPartDelta {
        item_id: ItemId,
        /// Which part of the summary or content; counted from 0.
        index: u32,
        delta: String,
    }
    TerminalStarted { terminal: Terminal }
    TerminalOutput { terminal_id: u32, delta: String }
    TerminalExited {
        terminal_id: u32,
        exit_code: i32,
        /// From the command's start.
        duration_ms: u64,
        /// A file with all of its output, if that is longer than what is shown of one; as in the item of a command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        full_output: Option<std::path::PathBuf>,
    }
    McpProgress {
        item_id: ItemId,
        /// Rises with each; what it counts is the server's affair.
        progress: f64,
        /// What it rises to, if that is known.
        total: Option<f64>,
        message: Option<String>,
    }
    McpElicitationRequested { elicitation: McpElicitation }
    McpElicitationResolved {
        elicitation_id: ElicitationId,
        server: String,
        /// Absent: withdrawn.
        action: Option<McpElicitationAction>,
    }
    McpStatusChanged {
        server: String,
        status: McpServerStatus,
        /// What happened and what to do, where it is not well.
        error: Option<String>,
    }
    ReviewEntered {
        target: ReviewTarget,
        /// What is reviewed, for people: "Review of …".
        review: String,
    }
    ReviewCompleted {
        output: Option<ReviewOutput>,
        /// Those that lie on lines of a file.
        findings: Vec<OpenFinding>,
    }
    ReviewFindingsChanged {
        /// All that are left.
        findings: Vec<OpenFinding>,
    }
    PlanUpdated { explanation: Option<String>, steps: Vec<PlanStep> }
    TokenUsageUpdated {
        token_usage: ThreadTokenUsage,
        /// The latest that the provider has said of the account's allowance; absent where it says nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_limits: Option<RateLimits>,
    }
    ProposalChanged { proposal: Proposal }
    ApprovalRequested { approval: Approval }
    ApprovalResolved {
        approval_id: ApprovalId,
        /// Absent: withdrawn.
        decision: Option<crate::protocol::approval::ApprovalDecision>,
    }
    AgentStatusChanged { agent_thread_id: ThreadId, state: AgentState }
    UserInputRequested { request: UserInputRequest }
    UserInputResolved {
        id: QuestionsId,
        /// False: closed, withdrawn, or answered by a message of the person's.
        answered: bool,
    }
    Warning { message: String }
    RealtimeStarted {
        realtime_id: RealtimeId,
        version: RealtimeVersion,
        /// What the endpoint calls it.
        session_id: Option<String>,
    }
    RealtimeAudioDelta {
        realtime_id: RealtimeId,
        /// What is said together has the same one.
        item_id: Option<String>,
        audio: RealtimeAudio,
    }
    RealtimeTranscriptDelta {
        realtime_id: RealtimeId,
        item_id: Option<String>,
        role: RealtimeRole,
        delta: String,
    }
    RealtimeTranscriptDone {
        realtime_id: RealtimeId,
        item_id: Option<String>,
        role: RealtimeRole,
        text: String,
    }
    RealtimeSpeechStarted { realtime_id: RealtimeId, item_id: Option<String> }
    RealtimeHandoff {
        realtime_id: RealtimeId,
        /// The turn that took it, new or running.
        input_turn_id: TurnId,
        text: String,
    }
    RealtimeError { realtime_id: RealtimeId, message: String }
    RealtimeClosed {
        realtime_id: RealtimeId,
        reason: RealtimeEnd,
        /// In words, where there is more to say.
        message: Option<String>,
    }
    ErrorEvent {
        error: TurnError,
        /// The realtime conversation that could not be started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        realtime_id: Option<RealtimeId>,
    }
}

impl EventKind {
    /// The proposal that an event is about, if it is about one.
    pub fn proposal_id(&self) -> Option<&ProposalId> {
        match self {
            Self::ProposalCreated(p) | Self::ProposalUpdated(p) => Some(&p.proposal.id),
            Self::ProposalMoved(moved) => Some(&moved.proposal_id),
            _ => None,
        }
    }

    /// Joins `next` onto `self` if both are deltas of the same place, or moves of the same proposal; says whether it did.
    pub fn join(&mut self, next: &EventKind) -> bool {
        let (text, more) = match (self, next) {
            (Self::ProposalMoved(moved), Self::ProposalMoved(later)) if moved.proposal_id == later.proposal_id => {
                moved.follow(later);
                return true;
            }
            (Self::AgentMessageDelta(a), Self::AgentMessageDelta(b))
            | (Self::CommandOutputDelta(a), Self::CommandOutputDelta(b))
                if a.item_id == b.item_id =>
            {
                (&mut a.delta, &b.delta)
            }
            (Self::ReasoningSummaryDelta(a), Self::ReasoningSummaryDelta(b))
            | (Self::ReasoningDelta(a), Self::ReasoningDelta(b))
                if a.item_id == b.item_id && a.index == b.index =>
            {
                (&mut a.delta, &b.delta)
            }
            (Self::RealtimeTranscriptDelta(a), Self::RealtimeTranscriptDelta(b))
                if a.realtime_id == b.realtime_id && a.item_id == b.item_id && a.role == b.role =>
            {
                (&mut a.delta, &b.delta)
            }
            (Self::TerminalOutput(a), Self::TerminalOutput(b)) if a.terminal_id == b.terminal_id => {
                (&mut a.delta, &b.delta)
            }
            _ => return false,
        };
        text.push_str(more);
        true
    }
}
