//! Taking turns back, and the diff of a turn.

use crate::ids::{ItemId, ThreadId, TurnId};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What happens to a file that the person has changed where the turn had changed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum UndoConflicts {
    /// It stays as it is, and the item names it.
    #[default]
    Keep,
    /// It becomes what it was before the turn; what was changed since is lost.
    Restore,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnUndoParams {
    pub thread_id: ThreadId,
    /// The files become what they were before this turn: it and all turns after it are taken back. Absent: the newest
    /// turn that changed something and is not taken back. An undo is a turn too; naming it brings back what it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// In the place of a turn: only what this `commandChanges` item lists is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<ItemId>,
    /// Of that item, only these files; both paths of one that was moved. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathBuf>,
    #[serde(default)]
    pub conflicts: UndoConflicts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnUndoResult {
    /// The undo's own turn; its events follow.
    pub turn_id: TurnId,
}

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum UndoResult {
    /// It is what it was before the turn.
    Restored,
    /// It was not there before the turn, and is gone again.
    Removed,
    /// The turn's changes are out, what was changed since is still in.
    Merged,
    /// Not touched: nothing was taken back at all, since something else failed.
    Kept,
    /// Not touched: it was changed since where the turn had changed it. `conflicts: "restore"` restores it anyway.
    Conflict,
    /// Not touched: what it was is not known.
    Skipped,
}

/// One file of an undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct UndoFile {
    /// Absolute; a name that is no UTF-8 is shown as well as it can be.
    pub path: PathBuf,
    pub result: UndoResult,
    /// Why, where it is not what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffParams {
    pub thread_id: ThreadId,
    /// Absent: the running turn, or else the newest one that changed something and is not taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffResult {
    /// Absent if no turn has changed anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Unified diff of all that the turn has changed; empty if nothing.
    pub diff: String,
}
