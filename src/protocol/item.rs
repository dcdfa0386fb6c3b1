//! Items: the things in a turn.

use crate::ids::{ItemId, ProposalId, ThreadId, TurnId};
use crate::protocol::agent::{AgentStates, CollabTool};
use crate::protocol::review::{ReviewOutput, ReviewTarget};
use crate::protocol::undo::UndoFile;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One piece of the person's input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum UserInput {
    Text {
        text: String,
    },
    /// An image by URL (`https:` or `data:`).
    Image {
        url: String,
    },
    /// An image file on this machine.
    LocalImage {
        path: PathBuf,
    },
    /// A file that the person pointed at; `line_range` counts from 0 and is half open.
    Mention {
        path: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line_range: Option<LineRange>,
    },
    /// A command of this thread that has ended: its text, exit code and output go to the model, as the person's own
    /// commands do not by themselves.
    CommandOutput {
        item_id: ItemId,
    },
}

/// One thing that the model was told beside the person's words, or that it was to be told and was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct SentContext {
    pub kind: SentContextKind,
    /// In a few words, for the person: `src/main.rs, lines 10-20`.
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_range: Option<LineRange>,
    /// Bytes of text that the model gets of it; 0 if it gets none.
    pub bytes: u32,
    /// Why it is cut short, or not sent at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum SentContextKind {
    /// A file that the person mentions, or lines of it.
    File,
    /// A folder that they mention.
    Folder,
    /// One of their prompts, in the place of `/name`.
    Prompt,
    ActiveFile,
    Selection,
    OpenFiles,
    Diagnostics,
    /// What they changed in the editor since their last message.
    RecentEdits,
}

/// Lines `start..end`, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct LineRange {
    pub start: u32,
    pub end: u32,
}

/// Where a command, a patch or another call of a tool stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum ItemStatus {
    InProgress,
    Completed,
    Failed,
    /// The person, or the policy, said no.
    Declined,
    /// The turn was stopped first.
    Interrupted,
    /// It runs on in a terminal of its own; `terminal/exited` tells of its end.
    Background,
}

/// What a command does, as far as its text tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CommandAction {
    Read {
        command: String,
        name: String,
        path: PathBuf,
    },
    ListFiles {
        command: String,
        path: Option<String>,
    },
    Search {
        command: String,
        query: Option<String>,
        path: Option<String>,
    },
    Build {
        command: String,
        /// What it does, for people: "builds with cargo".
        #[serde(default)]
        words: String,
    },
    Test {
        command: String,
        /// What it does, for people: "runs the tests with cargo".
        #[serde(default)]
        words: String,
    },
    Unknown {
        command: String,
    },
}

/// How a command is, or would be, confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum Confined {
    /// In the sandbox, reading only.
    ReadOnly,
    /// In the sandbox, writing in the workspace.
    Workspace,
    /// Outside the sandbox.
    Outside,
}

/// Who runs a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum CommandSource {
    /// The model called for it.
    #[default]
    Agent,
    /// The person runs it themselves; the model hears nothing of it unless they send the output along.
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum PlanStepStatus {
    #[serde(alias = "pending")]
    Pending,
    #[serde(alias = "in_progress")]
    InProgress,
    Completed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    pub step: String,
    pub status: PlanStepStatus,
}

/// What happens to one file of a file change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FileChangeKind {
    Add,
    Delete,
    Update {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        move_path: Option<PathBuf>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Absolute path.
    pub path: PathBuf,
    pub kind: FileChangeKind,
    /// Unified diff of this file.
    pub diff: String,
}

/// What has become of one file, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// Absolute path; of a file that was moved, the one it had.
    pub path: PathBuf,
    pub kind: FileChangeKind,
    /// Lines that were added and removed; 0 where it is no text.
    pub added: u32,
    pub removed: u32,
    /// Unified diff of this file; absent where it is too long to come along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A thing in a turn. `item/completed` carries its final, authoritative form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ThreadItem {
    UserMessage {
        id: ItemId,
        content: Vec<UserInput>,
        /// Echo of `clientUserMessageId`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_id: Option<String>,
        /// What the model was told beside these words: files that they mention, what the editor shows.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        context: Vec<SentContext>,
    },
    AgentMessage {
        id: ItemId,
        text: String,
        /// The turn was stopped, the stream broke off, or the server was cut off before the text was complete.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },
    Reasoning {
        id: ItemId,
        summary: Vec<String>,
        content: Vec<String>,
    },
    Plan {
        id: ItemId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explanation: Option<String>,
        steps: Vec<PlanStep>,
    },
    CommandExecution {
        id: ItemId,
        /// The command, for display; of a plain shell (`bash -lc …`) only what it was given to run, which may have several lines.
        command: String,
        cwd: PathBuf,
        actions: Vec<CommandAction>,
        #[serde(default)]
        source: CommandSource,
        confined: Confined,
        status: ItemStatus,
        /// Standard output and error as they came, bounded, middle cut out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        aggregated_output: Option<String>,
        /// A file with all of it, where the middle is cut out of `aggregated_output`: text without control characters, up to 64 MiB; less
        /// where the disk is too slow, which its last line says. Old files go after 14 days, and the oldest where all of them take more
        /// than 1 GiB.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        full_output: Option<PathBuf>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// Why it was asked about, refused or stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The terminal in which it runs on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terminal_id: Option<u32>,
    },
    FileChange {
        id: ItemId,
        /// The proposal that the person decides on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposal_id: Option<ProposalId>,
        changes: Vec<FileChange>,
        /// What of them was made, where the person did not accept all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        applied: Option<Vec<FileChange>>,
        /// The policy accepted it: nobody was asked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        auto_approved: bool,
        status: ItemStatus,
        /// What became of it, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
    },
    /// Files that a command, or a call of an MCP server, has changed by itself: nobody was asked about each of them. `turn/undo` with the
    /// id of this item undoes them, all or some.
    CommandChanges {
        id: ItemId,
        /// The command or the call; absent where more than one ran on meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_id: Option<ItemId>,
        /// By path.
        changes: Vec<ChangedFile>,
        /// So many files more, which are not listed.
        #[serde(default, skip_serializing_if = "is_zero")]
        more: u32,
    },
    /// A call of a tool of a server.
    McpToolCall {
        id: ItemId,
        server: String,
        /// The server's own name for it.
        tool: String,
        /// What the call does, in a few words for the person.
        title: String,
        arguments: serde_json::Value,
        /// The tool changes nothing: the server says so, and the person believes it (`trust_annotations`).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        read_only: bool,
        status: ItemStatus,
        /// The server's answer, with `content`, `structuredContent` and `isError`; of what is too large, a part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<serde_json::Value>,
        /// Why there is no answer, or what the server says went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// Any other tool: reading, listing, searching, and tools still to come.
    ToolCall {
        id: ItemId,
        tool: String,
        /// What the call does, in a few words for the person.
        title: String,
        arguments: serde_json::Value,
        status: ItemStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// What an agent does with other agents.
    CollabAgentToolCall {
        id: ItemId,
        tool: CollabTool,
        status: ItemStatus,
        sender_thread_id: ThreadId,
        /// Those whom it started, wrote to, waits for or closed.
        receiver_thread_ids: Vec<ThreadId>,
        /// Where they stand.
        agents_states: AgentStates,
        /// The task, or the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning_effort: Option<String>,
    },
    /// A message of somebody other than the person, as this thread's model reads it.
    AgentMail {
        id: ItemId,
        /// Who wrote it: a sub-agent, `main`, or what a client called itself.
        author: String,
        /// Absent where no thread wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author_thread_id: Option<ThreadId>,
        text: String,
    },
    /// A review begins.
    EnteredReviewMode {
        id: ItemId,
        /// What is reviewed, for people: "Review of …".
        review: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<ReviewTarget>,
    },
    /// A review is over.
    ExitedReviewMode {
        id: ItemId,
        /// What it came to, in Markdown; empty if it has no result.
        review: String,
        /// Absent if it was stopped, or failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<ReviewOutput>,
    },
    /// Turns that the person takes back.
    Undo {
        id: ItemId,
        /// The turns, oldest first; none where only what one command changed is undone.
        turns: Vec<TurnId>,
        /// The `commandChanges` item whose files are undone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_id: Option<ItemId>,
        files: Vec<UndoFile>,
        /// `completed`: all files are as `files` says. `failed`: no file was changed.
        status: ItemStatus,
        /// What became of it, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The conversation so far is replaced by a summary for the model, so that it fits its context window. What the person
    /// sees of it stays as it is.
    ContextCompaction {
        /// `auto-compact-N` where nobody asked for it; N counts up.
        id: ItemId,
        reason: CompactionReason,
        /// `failed` and `interrupted`: the conversation is as it was.
        status: ItemStatus,
        /// Tokens of the conversation before it, partly estimated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_before: Option<u32>,
        /// Tokens of what is left of it, estimated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_after: Option<u32>,
        /// The summary that the model goes on with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Why there is none, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}

/// Why a conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum CompactionReason {
    /// The person asked for it.
    Requested,
    /// It has reached the limit: `model_auto_compact_token_limit`, or nine tenths of the context window.
    Limit,
    /// The provider refused it as too long.
    TooLong,
}

impl ThreadItem {
    pub fn id(&self) -> &ItemId {
        match self {
            Self::UserMessage { id, .. }
            | Self::AgentMessage { id, .. }
            | Self::Reasoning { id, .. }
            | Self::Plan { id, .. }
            | Self::CommandExecution { id, .. }
            | Self::FileChange { id, .. }
            | Self::CommandChanges { id, .. }
            | Self::ToolCall { id, .. }
            | Self::CollabAgentToolCall { id, .. }
            | Self::AgentMail { id, .. }
            | Self::McpToolCall { id, .. }
            | Self::EnteredReviewMode { id, .. }
            | Self::ExitedReviewMode { id, .. }
            | Self::Undo { id, .. }
            | Self::ContextCompaction { id, .. } => id,
        }
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
