//! Narrow permissions: what can be asked for and given beyond a policy, for a command, a turn, a session or always.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// One thing more that commands in the sandbox may do. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Permission {
    /// Read a file or a folder that is kept from commands otherwise.
    Read { path: PathBuf },
    /// Write a file, or in a folder.
    Write { path: PathBuf },
    /// Write the metadata of a git repository (commits, branches, the index), its hooks and its configuration excepted.
    GitMetadata { repository: PathBuf },
    /// Reach the whole network.
    Network,
    /// Reach one host by TCP, on one port or on any.
    Host {
        host: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
    },
    /// Reach one TCP port of this machine's loopback.
    LoopbackPort { port: u16 },
    /// Connect to one socket file.
    UnixSocket { path: PathBuf },
}

/// In words, as the end of "the command may …".
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path } => write!(f, "read {}", path.display()),
            Self::Write { path } => write!(f, "write {}", path.display()),
            Self::GitMetadata { repository } => write!(
                f,
                "change the git metadata of {} (commits, branches, the index; not hooks and configuration)",
                repository.display()
            ),
            Self::Network => f.write_str("reach the whole network"),
            Self::Host { host, port: None } => write!(f, "reach the host {host}"),
            Self::Host { host, port: Some(port) } => write!(f, "reach the host {host} on port {port}"),
            Self::LoopbackPort { port } => write!(f, "reach port {port} of this machine"),
            Self::UnixSocket { path } => write!(f, "connect to the socket {}", path.display()),
        }
    }
}

/// Parameters of `countersign/permissions/profiles`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfilesParams {
    /// The folder whose configuration counts; absent: the first folder of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
}

/// The permission profiles that can be chosen, the built-in ones first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfilesResult {
    pub data: Vec<PermissionProfile>,
    /// The profile that threads begin with; absent where `sandbox_mode` decides and no profile says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// A named set of permissions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct PermissionProfile {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The profile that it begins from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// Whether it is always there.
    pub built_in: bool,
}

/// What a grant lasts for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum GrantScope {
    /// One command.
    Command,
    /// The turn that runs.
    Turn,
    /// Until the session ends.
    #[default]
    Session,
    /// Every session, as a rule that is written down.
    Always,
}
