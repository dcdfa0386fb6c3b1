//! The bound on a command's processes where the kernel keeps none: for root, who is free of the limits of a user, without a
//! process namespace that has a bound of its own (Linux 6.14). The keeper looks often, and ends a command that has too
//! many; what comes between two looks is more than the bound for a moment.

use super::{descent, sys};
use std::fs;
use std::time::Duration;

/// Watches over what descends from this process.
#[derive(Debug)]
pub(super) struct Crowd {
    /// Processes and threads that a command may have at one time.
    most: u64,
    /// The least that the whole machine had since.
    least: u64,
}

impl Crowd {
    /// From look to look.
    pub(super) const EVERY: Duration = Duration::from_millis(25);

    pub(super) fn watch(most: u64) -> Self {
        Self {
            most,
            least: on_machine().unwrap_or(0),
        }
    }

    /// Has a look. How many there may be, if there are more.
    pub(super) fn passed(&mut self) -> Option<u64> {
        // One number tells of the whole machine; only where it could be the command is everything counted.
        if let Some(now) = on_machine() {
            self.least = self.least.min(now);
            if now <= self.least + self.most {
                return None;
            }
        }
        let family = descent::descendants(sys::own_pid());
        (family.into_iter().map(tasks).sum::<u64>() > self.most).then_some(self.most)
    }
}

/// Processes and threads of the whole machine: the second number of the fourth field, as in `0.00 0.01 0.05 1/123 4567`.
fn on_machine() -> Option<u64> {
    count(&fs::read_to_string("/proc/loadavg").ok()?)
}

fn count(load: &str) -> Option<u64> {
    let (_, all) = load.split_ascii_whitespace().nth(3)?.split_once('/')?;
    all.parse().ok()
}

/// The threads of a process, at least one.
fn tasks(pid: libc::pid_t) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    // A folder each, beside `.` and `..`.
    fs::metadata(format!("/proc/{pid}/task")).map_or(1, |tasks| tasks.nlink().saturating_sub(2).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_number_is_read() {
        for (load, expected) in [
            ("0.31 0.96 2.03 1/123 4567\n", Some(123)),
            ("0.31 0.96 2.03 12/70123 4567\n", Some(70123)),
            ("0.31 0.96 2.03\n", None),
            ("0.31 0.96 2.03 x 4567\n", None),
            ("", None),
        ] {
            assert_eq!(count(load), expected, "{load:?}");
        }
        assert!(on_machine().is_some_and(|all| all > 1));
    }

    #[test]
    fn a_family_is_a_crowd_by_its_threads() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let mut crowd = Crowd { most: 0, least: 0 };
        assert_eq!(crowd.passed(), Some(0));
        crowd.most = u64::from(u32::MAX);
        assert_eq!(crowd.passed(), None);
        child.kill().expect("kill");
        child.wait().expect("wait");
    }
}
