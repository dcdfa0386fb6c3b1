//! Ending all that descends from this process, where there is no process namespace to end. Orphans come to us, as
//! this process adopts them.

use super::sys;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How long descendants may be followed that go on starting others.
const PURSUIT: Duration = Duration::from_secs(20);

/// Kills descendants until none is left, or `patience` is over since the last new one was found (a process of another user
/// cannot be killed).
pub(super) fn kill_all(patience: Duration) {
    let start = Instant::now();
    let mut last_new = start;
    let mut known = HashSet::new();
    // Any error means that there are no children.
    while reap_all() && last_new.elapsed() < patience && start.elapsed() < PURSUIT {
        let before = known.len();
        known.extend(kill_once());
        if known.len() > before {
            last_new = Instant::now();
        }
        sys::poll([None], 2);
    }
}

/// Times that descendants are looked for to be stopped before what is found is killed.
const ROUNDS: usize = 16;

/// Sends SIGKILL to all descendants, which it returns. They are stopped first, until none is left that could fork on
/// meanwhile.
///
/// A process that always forks and ends may be gone before it is signalled. The kernel signals a process group in one
/// step, during which no member can fork, so its group is killed as well. Only groups of sessions that are not ours: such a
/// session was started by a descendant, so all that is in it descends from us.
pub(super) fn kill_once() -> HashSet<libc::pid_t> {
    let own_session = sys::own_session();
    let mut stopped = HashSet::new();
    for _ in 0..ROUNDS {
        let mut any = false;
        for process in family(sys::own_pid()) {
            if stopped.insert(process.pid) {
                any = true;
                sys::kill(process.pid, libc::SIGSTOP);
                if process.session != own_session && process.group > 1 {
                    sys::kill(-process.group, libc::SIGKILL);
                }
            }
        }
        if !any {
            break;
        }
    }
    for pid in &stopped {
        sys::kill(*pid, libc::SIGKILL);
    }
    stopped
}

/// Reaps the dead; whether there are children that live.
fn reap_all() -> bool {
    loop {
        match sys::reap(false) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// The ids of all that descend from a process now, as `/proc` numbers them.
pub(super) fn descendants(of: libc::pid_t) -> Vec<libc::pid_t> {
    family(of).into_iter().map(|process| process.pid).collect()
}

/// A process as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Process {
    pid: libc::pid_t,
    parent: libc::pid_t,
    group: libc::pid_t,
    session: libc::pid_t,
}

impl Process {
    /// From its `stat`: the fields that follow the program's name, which stands in parentheses and may hold anything.
    fn parse(pid: libc::pid_t, stat: &[u8]) -> Option<Self> {
        let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let rest = std::str::from_utf8(&stat[after_name..]).ok()?;
        let mut fields = rest.split_ascii_whitespace().skip(1).map(str::parse);
        Some(Self {
            pid,
            parent: fields.next()?.ok()?,
            group: fields.next()?.ok()?,
            session: fields.next()?.ok()?,
        })
    }
}

/// All that descend from a process now.
fn family(of: libc::pid_t) -> Vec<Process> {
    let mut children: HashMap<libc::pid_t, Vec<Process>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read(entry.path().join("stat")) else {
            continue;
        };
        if let Some(process) = Process::parse(pid, &stat) {
            children.entry(process.parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut waiting = vec![of];
    while let Some(pid) = waiting.pop() {
        let of_pid = children.remove(&pid).unwrap_or_default();
        waiting.extend(of_pid.iter().map(|process| process.pid));
        found.extend(of_pid);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Process;

    #[test]
    fn a_process_is_read_behind_any_name() {
        let parsed =
            |stat: &[u8]| Process::parse(5, stat).map(|process| (process.parent, process.group, process.session));
        assert_eq!(parsed(b"5 (bash) S 7 12 11 0"), Some((7, 12, 11)));
        assert_eq!(parsed(b"5 (a) S 9 (b) R 3 1 2"), Some((3, 1, 2)));
        assert_eq!(parsed(b"5"), None);
        assert_eq!(parsed(b"5 (a) R 3 1"), None);
    }
}
