//! Terminals: commands of the agent that run on beside the conversation, until they end, are ended, or the thread is.

use crate::ids::{ItemId, ThreadId, TurnId};
use crate::protocol::item::Confined;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Rows and columns of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

/// A command that runs on, or has ended and was not read to its end by the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Terminal {
    /// The number by which the model and the person name it; 1000 to 99999.
    pub terminal_id: u32,
    pub thread_id: ThreadId,
    /// The turn and the command execution item that began it.
    pub turn_id: TurnId,
    pub item_id: ItemId,
    /// The command as one line, for display.
    pub command: String,
    pub cwd: PathBuf,
    pub confined: Confined,
    /// Absent: it has pipes, and its input is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<TerminalSize>,
    pub started_at_ms: i64,
    /// Absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalListParams {
    /// Absent: of all threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalListResult {
    /// Those that run, oldest first.
    pub data: Vec<Terminal>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalReadParams {
    pub terminal_id: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalReadResult {
    pub terminal: Terminal,
    /// What it has printed so far, with all control sequences; at most 256 KiB, the middle left out.
    pub output: String,
    /// Bytes that it has printed in all.
    pub output_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalWriteParams {
    pub terminal_id: u32,
    /// As keys send it: Enter is `\r`, Ctrl-C is `\u0003`.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalWriteResult {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalResizeParams {
    pub terminal_id: u32,
    /// 1 to 1000 each.
    pub size: TerminalSize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalResizeResult {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalKillParams {
    /// Absent: all of the thread, or of all threads if that is absent too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_id: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TerminalKillResult {
    /// Those that ran and are being ended.
    pub killed: Vec<u32>,
}
