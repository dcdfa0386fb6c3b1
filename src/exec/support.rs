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
        let bounded = !as_root() || bounds_root();
        if self.namespaces.stands() {
            return if bounded { Vec::new() } else { vec![UNBOUNDED] };
        }
        without_namespaces(self.landlock_version, as_root())
    }
}

/// What there is to say where nothing counts the processes of a command.
const UNBOUNDED: &str = "The number of processes of a command is not bounded, as it runs as root.";

fn as_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    false
}

/// Whether the processes of a command in namespaces are counted even if it is root's.
fn bounds_root() -> bool {
    #[cfg(target_os = "linux")]
    return super::linux::binds_root();
    #[cfg(not(target_os = "linux"))]
    true
}

/// All that commands are not kept from without namespaces, in sentences for the person.
pub(crate) fn without_namespaces(landlock_version: Option<u32>, as_root: bool) -> Vec<&'static str> {
    let mut weaknesses = vec![
        "In a writable folder that holds a protected or hidden place (.git and the like), only what exists already can be \
         written: new entries at its top are refused.",
        "Folders on the way to a hidden place cannot be listed, and what is made in them later cannot be read.",
        "Where another sandbox around it answers for the kernel, modes, owners, times and extended attributes of your \
         own files outside the workspace can be changed.",
        "If the keeper of a command is killed by force, what the command left running stays.",
        "A server that a command starts cannot be reached by the command's own tests, and a host cannot be granted by its \
         name.",
        "Programs that need System V shared memory, semaphores or message queues do not run.",
        "Commands see which processes run on the machine.",
    ];
    if landlock_version < Some(6) {
        weaknesses.push("Commands can send signals to your other processes.");
    }
    if landlock_version < Some(5) {
        weaknesses.push("Commands can control devices that they can open for reading.");
    }
    if as_root {
        weaknesses.push(UNBOUNDED);
    }
    weaknesses
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
