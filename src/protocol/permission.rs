//! Narrow permissions: what can be asked for and given beyond a policy, for a command, a turn, a session or always.

use serde::{Deserialize, Serialize};
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
