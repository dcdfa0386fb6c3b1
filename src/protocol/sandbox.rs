//! What commands are confined by on this machine.

use super::settings::SandboxMode;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct SandboxStatusParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct SandboxStatusResult {
    /// `linux`, `macos`, `windows` or another.
    pub platform: String,
    /// Whether commands can be confined at all; if not, they are refused unless full access is set.
    pub can_confine: bool,
    /// The least that must stand for a command to run confined, in words.
    pub minimum: String,
    /// Each wall that this platform knows, tried a moment ago.
    pub walls: Vec<SandboxWall>,
    /// What a command gets under each mode.
    pub modes: Vec<SandboxModeStatus>,
    /// What commands are not kept from here, in sentences; empty where all walls stand.
    pub weaknesses: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct SandboxWall {
    /// `Landlock`, `seccomp`, `namespaces` or `Seatbelt`.
    pub name: String,
    pub stands: bool,
    /// What there is of it, or why it does not stand.
    pub detail: String,
    /// What it keeps a command from.
    pub keeps_from: String,
    /// What it cannot do by itself, or not in this version.
    pub lacks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct SandboxModeStatus {
    pub mode: SandboxMode,
    pub enforcement: SandboxEnforcement,
    /// Names of the walls that are put up.
    pub walls: Vec<String>,
}

/// How a mode is enforced here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum SandboxEnforcement {
    /// By all walls that this platform knows.
    Full,
    /// By enough of them; see the weaknesses.
    Weaker,
    /// Not at all: commands are refused.
    Refused,
    /// The mode asks for no walls.
    None,
}
