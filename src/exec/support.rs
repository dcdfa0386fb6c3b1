//! Which walls stand on this machine, for `countersign doctor`.

use super::role;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::process::{Command, Stdio};

/// One means of confinement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Wall {
    /// It works here; a few words on what there is.
    Stands(String),
    /// It does not; the reason.
    Missing(String),
}

impl Wall {
    pub fn stands(&self) -> bool {
        matches!(self, Self::Stands(_))
    }
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stands(what) => write!(f, "stands: {what}"),
            Self::Missing(reason) => write!(f, "missing: {reason}"),
        }
    }
}

/// What was found by trying each wall in a process of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Support {
    pub landlock_version: Option<u32>,
    /// Rights on files, signals and sockets.
    pub landlock: Wall,
    /// The filter of system calls.
    pub seccomp: Wall,
    /// A view of the disk, processes and network of its own, in which protected folders are read-only.
    pub namespaces: Wall,
}

/// Landlock that can do without namespaces.
const LANDLOCK_ALONE: u32 = 3;

impl Support {
    fn nothing(reason: &str) -> Self {
        let missing = || Wall::Missing(reason.to_owned());
        Self {
            landlock_version: None,
            landlock: missing(),
            seccomp: missing(),
            namespaces: missing(),
        }
    }

    /// Whether commands can be confined at all; if not, only full access runs anything.
    pub fn can_confine(&self) -> bool {
        let enough = self.namespaces.stands() || self.landlock_version >= Some(LANDLOCK_ALONE);
        self.landlock.stands() && self.seccomp.stands() && enough
    }

    /// What the confinement here cannot do, in sentences for the person. Empty where all walls stand.
    pub fn weaknesses(&self) -> Vec<&'static str> {
        if !self.can_confine() {
            return vec!["Commands cannot be confined here: they are refused unless full access is set."];
        }
        let mut weaknesses = Vec::new();
        if !self.namespaces.stands() {
            weaknesses.push(
                "In a writable folder that holds a protected one (.git and the like), only what exists already can be \
                 written: new entries at its top are refused.",
            );
            weaknesses.push("Modes, owners and times of your own files outside the workspace can be changed.");
            weaknesses.push("If the keeper of a command is killed by force, what the command left running stays.");
            if self.landlock_version < Some(6) {
                weaknesses.push("Commands can send signals to your other processes.");
            }
        }
        weaknesses
    }
}

/// Tries which walls can be put up here; takes a few milliseconds.
pub fn support() -> Support {
    if !cfg!(target_os = "linux") {
        return Support::nothing("commands can be confined on Linux only, so far");
    }
    let output = super::self_program().and_then(|program| {
        Command::new(program)
            .arg(role::PROBE)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
    });
    match output {
        Err(error) => Support::nothing(&format!("the program cannot start itself: {error}")),
        Ok(output) => serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| Support::nothing("the trial ended without a result")),
    }
}
