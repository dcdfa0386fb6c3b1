//! Which walls stand on this machine: the one source of `countersign/sandbox/status`, of `countersign doctor` and of what
//! the person is told at the start.

#[cfg(target_os = "linux")]
use super::role;
use crate::protocol::sandbox::{SandboxEnforcement, SandboxModeStatus, SandboxStatusResult, SandboxWall};
use crate::protocol::settings::SandboxMode;
use serde::{Deserialize, Serialize};
use std::fmt;
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

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
    /// The sandbox of macOS; none elsewhere.
    #[serde(default)]
    pub seatbelt: Option<Wall>,
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
            seatbelt: None,
        }
    }

    /// Whether commands can be confined at all; if not, only full access runs anything.
    pub fn can_confine(&self) -> bool {
        if let Some(seatbelt) = &self.seatbelt {
            return seatbelt.stands();
        }
        let enough = self.namespaces.stands() || self.landlock_version >= Some(LANDLOCK_ALONE);
        self.landlock.stands() && self.seccomp.stands() && enough
    }

    /// What the confinement here cannot do, in sentences for the person. Empty where all walls stand.
    pub fn weaknesses(&self) -> Vec<&'static str> {
        if !self.can_confine() {
            return vec!["Commands cannot be confined here: they are refused unless full access is set."];
        }
        if self.seatbelt.is_some() {
            return vec![ON_MACOS];
        }
        let bounded = !as_root() || bounds_root();
        if self.namespaces.stands() {
            return if bounded { Vec::new() } else { vec![COUNTED_BY_LOOKING] };
        }
        without_namespaces(self.landlock_version, as_root())
    }

    /// Each wall that this platform knows, by name.
    pub fn walls(&self) -> Vec<(&'static str, &Wall)> {
        match &self.seatbelt {
            Some(seatbelt) => vec![("Seatbelt", seatbelt)],
            None => vec![
                ("Landlock", &self.landlock),
                ("seccomp", &self.seccomp),
                ("namespaces", &self.namespaces),
            ],
        }
    }

    /// All of it, for clients.
    pub fn status(&self) -> SandboxStatusResult {
        let walls = self.walls();
        let standing: Vec<String> = walls
            .iter()
            .filter(|(_, wall)| wall.stands())
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let enforcement = if !self.can_confine() {
            SandboxEnforcement::Refused
        } else if walls.iter().all(|(_, wall)| wall.stands()) {
            SandboxEnforcement::Full
        } else {
            SandboxEnforcement::Weaker
        };
        let confined = |mode| SandboxModeStatus {
            mode,
            enforcement,
            walls: match enforcement {
                SandboxEnforcement::Refused => Vec::new(),
                _ => standing.clone(),
            },
        };
        SandboxStatusResult {
            platform: std::env::consts::OS.to_owned(),
            can_confine: self.can_confine(),
            minimum: self.minimum(),
            walls: walls
                .into_iter()
                .map(|(name, wall)| self.describe(name, wall))
                .collect(),
            modes: vec![
                confined(SandboxMode::ReadOnly),
                confined(SandboxMode::WorkspaceWrite),
                SandboxModeStatus {
                    mode: SandboxMode::DangerFullAccess,
                    enforcement: SandboxEnforcement::None,
                    walls: Vec::new(),
                },
            ],
            weaknesses: self.weaknesses().into_iter().map(str::to_owned).collect(),
        }
    }

    /// The least that must stand, in words.
    pub fn minimum(&self) -> String {
        if self.seatbelt.is_some() {
            return "Seatbelt (/usr/bin/sandbox-exec)".to_owned();
        }
        if !cfg!(target_os = "linux") {
            return "there is no sandbox for this system: commands run with full access, or not at all".to_owned();
        }
        format!("seccomp and Landlock, with namespaces or from Landlock {LANDLOCK_ALONE} on")
    }

    fn describe(&self, name: &str, wall: &Wall) -> SandboxWall {
        let (Wall::Stands(detail) | Wall::Missing(detail)) = wall;
        let (keeps_from, mut lacks) = match name {
            "Landlock" => (
                "writing outside the writable folders, and signalling, tracing and connecting to what is outside",
                vec!["It cannot close what lies in a folder that it has opened, nor modes, owners and times."],
            ),
            "seccomp" => (
                "system calls that no command needs: sockets to the network, mounts, keys, tracing of the kernel, and the like",
                vec!["It cannot look at paths and addresses; those the keeper judges."],
            ),
            "namespaces" => (
                "changing anything outside, protected folders, and seeing other processes, shared memory and the network",
                vec!["It does not hide what may be read."],
            ),
            _ => (
                "writing outside the writable folders and the network",
                vec!["It does not bound processes, and what a command leaves running in a session of its own stays."],
            ),
        };
        if name == "Landlock" && wall.stands() {
            let version = self.landlock_version.unwrap_or(0);
            for (needed, lack) in [
                (3, "Files can be cut to nothing (from version 3 on they cannot)."),
                (4, "It knows nothing of TCP (from version 4 on it does)."),
                (
                    5,
                    "Devices that can be opened for reading can be controlled (from version 5 on they cannot).",
                ),
                (
                    6,
                    "It knows nothing of signals and abstract sockets (from version 6 on it does).",
                ),
            ] {
                if version < needed {
                    lacks.push(lack);
                }
            }
        }
        SandboxWall {
            name: name.to_owned(),
            stands: wall.stands(),
            detail: detail.clone(),
            keeps_from: keeps_from.to_owned(),
            lacks: lacks.into_iter().map(str::to_owned).collect(),
        }
    }

    /// What the person is told once where walls are missing, and whether it is serious: that nothing runs.
    pub fn notice(&self) -> Option<(bool, String)> {
        let missing = self.walls().into_iter().filter_map(|(name, wall)| match wall {
            Wall::Missing(reason) => Some(format!("{name}: {reason}")),
            Wall::Stands(_) => None,
        });
        let missing: Vec<String> = missing.collect();
        if missing.is_empty() {
            return None;
        }
        let missing = missing.join("; ");
        Some(if self.can_confine() {
            let words = format!(
                "Commands are confined less well here than they could be ({missing}). {} `countersign doctor` tells more.",
                self.weaknesses().first().unwrap_or(&"")
            );
            (false, words)
        } else {
            let words = format!(
                "Commands cannot be confined here ({missing}), so they are refused unless full access is set. \
                 `countersign doctor` tells what to do."
            );
            (true, words)
        })
    }
}

const ON_MACOS: &str = "What a command leaves running in a session of its own is not ended with it.";

/// What there is to say where the kernel does not count the processes of a command.
const COUNTED_BY_LOOKING: &str = "The kernel does not bound the processes of a command that runs as root here; the keeper \
     counts them forty times a second and ends a command that has too many, so for a moment there can be more.";

fn as_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    false
}

/// Whether the kernel counts the processes of a command in namespaces even if it is root's.
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
        "A server that a command starts cannot be reached by the command's own tests, and a host that was granted by its name \
         is reached only by programs that use a proxy.",
        "Programs that need System V shared memory, semaphores or message queues do not run.",
        "Programs cannot open pseudo-terminals of their own (`script`, `expect`), as they could open yours too.",
        "Commands see which processes run on the machine, with their command lines, and can change the priorities of yours.",
    ];
    if landlock_version < Some(6) {
        weaknesses.push("Commands can send signals to your other processes.");
    }
    if landlock_version < Some(5) {
        weaknesses.push("Commands can control devices that they can open for reading.");
    }
    if as_root {
        weaknesses.push(COUNTED_BY_LOOKING);
    }
    weaknesses
}

/// Whether the sandbox can be put up on this machine. Tried once, since that takes a process; a no holds for a moment only, as
/// what was in the way, such as a want of processes, may pass.
pub async fn can_confine() -> bool {
    static CAN: AtomicBool = AtomicBool::new(false);
    static CANNOT: Mutex<Option<Instant>> = Mutex::const_new(None);
    if CAN.load(Ordering::Relaxed) {
        return true;
    }
    // One tries, and the others take what it found.
    let mut cannot = CANNOT.lock().await;
    if CAN.load(Ordering::Relaxed) || cannot.is_some_and(|found| found.elapsed() < HOLDS) {
        return CAN.load(Ordering::Relaxed);
    }
    let support = tokio::task::spawn_blocking(support).await;
    let can = support.is_ok_and(|support| support.can_confine());
    CAN.store(can, Ordering::Relaxed);
    *cannot = (!can).then(Instant::now);
    can
}

/// How long a no holds.
const HOLDS: Duration = Duration::from_secs(5);

/// Tries which walls can be put up here; takes a few milliseconds.
pub fn support() -> Support {
    try_out().unwrap_or_else(|| Support::nothing("the program could not start itself to try"))
}

/// The same; none where the trial itself failed.
pub(super) fn try_out() -> Option<Support> {
    #[cfg(target_os = "macos")]
    return Some(Support {
        seatbelt: Some(super::macos::try_out()),
        ..Support::nothing("not on macOS")
    });
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    return Some(Support::nothing(super::role::NO_SANDBOX));
    #[cfg(target_os = "linux")]
    {
        let output = super::self_program().and_then(|program| {
            Command::new(program)
                .arg(role::PROBE)
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output()
        });
        let output = output
            .inspect_err(|error| tracing::warn!(%error, "the sandbox could not be tried"))
            .ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(landlock: Option<u32>, namespaces: bool) -> Support {
        let wall = |stands: bool| match stands {
            true => Wall::Stands("here".to_owned()),
            false => Wall::Missing("not allowed".to_owned()),
        };
        Support {
            landlock_version: landlock,
            landlock: wall(landlock.is_some()),
            seccomp: wall(true),
            namespaces: wall(namespaces),
            seatbelt: None,
        }
    }

    /// Shows S-167.
    #[test]
    fn what_is_enforced_by_table() {
        use SandboxEnforcement::{Full, None as Open, Refused, Weaker};
        for (landlock, namespaces, expected) in [
            (Some(7), true, Full),
            (Some(1), true, Full),
            (Some(7), false, Weaker),
            (Some(LANDLOCK_ALONE), false, Weaker),
            (Some(LANDLOCK_ALONE - 1), false, Refused),
            (None, true, Refused),
            (None, false, Refused),
        ] {
            let support = support(landlock, namespaces);
            let status = support.status();
            let modes: Vec<_> = status.modes.iter().map(|mode| mode.enforcement).collect();
            assert_eq!(modes, [expected, expected, Open], "{landlock:?} {namespaces}");
            assert_eq!(status.can_confine, expected != Refused);
            let notice = support.notice();
            assert_eq!(
                notice.as_ref().map(|(serious, _)| *serious),
                match expected {
                    Full => None,
                    Weaker => Some(false),
                    _ => Some(true),
                }
            );
            if expected == Refused {
                assert!(status.modes.iter().all(|mode| mode.walls.is_empty()));
                assert!(notice.expect("told").1.contains("refused"));
            }
        }
    }

    /// Shows S-167, for a system that has no sandbox at all, such as Windows.
    #[test]
    fn where_there_is_no_sandbox_commands_are_refused_and_it_is_said_what_to_do() {
        let support = Support::nothing(role::NO_SANDBOX);
        let modes: Vec<_> = support.status().modes.iter().map(|mode| mode.enforcement).collect();
        let refused = SandboxEnforcement::Refused;
        assert_eq!(
            modes,
            [refused, refused, SandboxEnforcement::None],
            "full access alone runs"
        );
        let (serious, words) = support.notice().expect("told");
        assert!(
            serious && words.contains("refused unless full access is set") && words.contains("WSL 2"),
            "{words}"
        );
    }

    #[test]
    fn an_old_landlock_says_what_it_lacks() {
        let lacks = |version| support(Some(version), true).status().walls[0].lacks.len();
        assert_eq!([lacks(1), lacks(3), lacks(5), lacks(7)], [5, 4, 2, 1]);
    }
}
