//! Ending all that descends from this process, where there is no process namespace to end. Orphans come to us, as
//! this process adopts them.

use super::sys;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Kills descendants until none is left, or `patience` is over (a process of another user cannot be killed).
pub(super) fn kill_all(patience: Duration) {
    let end = Instant::now() + patience;
    // Any error means that there are no children.
    while reap_all() && Instant::now() < end {
        kill_once();
        sys::poll([None], 2);
    }
}

/// Times that descendants are looked for to be stopped before what is found is killed.
const ROUNDS: usize = 16;

/// Sends SIGKILL to all descendants. They are stopped first, until none is left that could fork on meanwhile.
pub(super) fn kill_once() {
    let mut stopped = HashSet::new();
    for _ in 0..ROUNDS {
        let found = descendants(sys::own_pid());
        let mut any = false;
        for pid in found {
            if stopped.insert(pid) {
                any = true;
                sys::kill(pid, libc::SIGSTOP);
            }
        }
        if !any {
            break;
        }
    }
    for pid in stopped {
        sys::kill(pid, libc::SIGKILL);
    }
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

/// All that descend from a process now, as `/proc` numbers them.
pub(super) fn descendants(of: libc::pid_t) -> Vec<libc::pid_t> {
    let mut children: HashMap<libc::pid_t, Vec<libc::pid_t>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read(entry.path().join("stat")) else {
            continue;
        };
        if let Some(parent) = parent(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut waiting = vec![of];
    while let Some(pid) = waiting.pop() {
        let of_pid = children.remove(&pid).unwrap_or_default();
        waiting.extend(&of_pid);
        found.extend(of_pid);
    }
    found
}

/// The parent's id: the second field after the program's name, which stands in parentheses and may hold anything.
fn parent(stat: &[u8]) -> Option<libc::pid_t> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(&stat[after_name..]).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parent;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent(b"12 (bash) S 7 12 12 0"), Some(7));
        assert_eq!(parent(b"12 (a) S 9 (b) R 3 1"), Some(3));
        assert_eq!(parent(b"12"), None);
    }
}
