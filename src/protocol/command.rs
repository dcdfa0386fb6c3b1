//! Commands that the person or the client runs themselves: in a thread, or beside all threads.

use crate::ids::{ItemId, ThreadId, TurnId};
use crate::protocol::settings::SandboxPolicy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A command of the person's own, as `!command` in the place of a message is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadShellCommandParams {
    pub thread_id: ThreadId,
    /// Text for the person's shell (`$SHELL`, as a login shell).
    pub command: String,
    /// The command is ended then; absent: an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ThreadShellCommandResult {
    /// The turn that the command runs in; stopping it ends the command.
    pub turn_id: TurnId,
    /// The command's item. As input `commandOutput` it sends the output along to the model.
    pub item_id: ItemId,
    /// It runs beside what the agent does in a turn that runs already. Otherwise the turn is its own.
    pub joined: bool,
}

/// A command beside all conversations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CommandExecParams {
    /// Program and arguments; no shell is put around them.
    pub command: Vec<String>,
    /// Where it runs; absent, or as what a relative path begins at: the first folder of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Variables beside those of the configured policy, over which they win; `null` takes one away.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Option<String>>,
    /// The command is ended then; absent: ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Absent: the configured one. Its folders are those of the workspace, whatever `cwd` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    /// Id of a permission profile, in place of a policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// All of its standard input; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// The caller's own name for the run, used by no other that still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<String>,
    /// Tell the output as it comes, by `command/output` under `processId`, which must be there.
    #[serde(default)]
    pub stream_output: bool,
}

/// A command that has run. One that failed is an answer too, not an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CommandExecResult {
    /// The program's own, or 128 and the number of the signal that ended it; 124 when it ran out of time, 130 when it was
    /// stopped.
    pub exit_code: i32,
    /// At most 1 MiB of each: head and tail, and between them how much is left out.
    pub stdout: String,
    pub stderr: String,
    pub timed_out: bool,
    /// It was stopped by `command/terminate`.
    pub stopped: bool,
    pub duration_ms: u64,
    /// It failed, and as far as can be told the sandbox is why: what was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CommandTerminateParams {
    /// As `command/exec` was given it.
    pub process_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CommandTerminateResult {
    /// False if no such command runs (any more).
    pub stopped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// More output of a command beside all conversations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct CommandOutput {
    pub process_id: String,
    pub stream: OutputStream,
    pub delta: String,
    /// This is the last of the stream that is told while the command runs: 1 MiB of it has been.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cap_reached: bool,
}
