//! How much a confined command may take: enough for the largest builds, too little to take the machine down.
//!
//! Who counts the processes differs:
//! - in a process namespace the kernel does, for all in it, where the namespace has a `pid_max` of its own (Linux 6.14) and
//!   its first ids can be passed over (`ns_last_pid`);
//! - in a user namespace `RLIMIT_NPROC` does (Linux 5.14), for what the user runs in it;
//! - elsewhere `RLIMIT_NPROC` does, for all that the user runs on the machine: what runs already is added. It does not
//!   bind root, whose processes the keeper counts itself (`crowd`).

use super::sys;
use crate::config::bounds::Bounds;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// The limits of a command and all that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Largest core file, in bytes.
    pub core: u64,
    /// Largest file that is written, in bytes; writing on gets SIGXFSZ.
    pub file_size: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// Processes and threads at one time.
    pub processes: u64,
    /// Bytes that each process may keep from being given up, in memory: what a file holds counts as nobody's else.
    pub locked: u64,
}

/// See [`Limits::file_size`].
pub(in crate::exec) const FILE_SIZE: u64 = 64 << 30;

/// As much as the kernel lets a process have by itself.
const LOCKED: u64 = 8 << 20;

/// Has the kernel end this process, and what it starts, before others when the machine is out of memory. Where that is not
/// allowed, it is as it was.
pub(super) fn go_first() {
    let _refused = fs::write("/proc/self/oom_score_adj", "1000");
}

/// The process ids up to this one a namespace hands out in its first round only.
const RESERVED_IDS: u64 = 300;

/// Since when a process namespace has a highest id of its own. Before, there is one for the whole machine.
const OWN_HIGHEST_ID: (u32, u32) = (6, 14);

/// Whether the kernel can count the processes of a command even if it is root's.
pub(in crate::exec) fn binds_root() -> bool {
    sys::kernel_version() >= OWN_HIGHEST_ID
}

impl Limits {
    pub(super) fn of(bounds: Bounds) -> Self {
        Self {
            core: 0,
            file_size: FILE_SIZE,
            open_files: 65_536,
            processes: bounds.processes,
            locked: LOCKED,
        }
    }

    /// Sets the limits of this process, for good. `already` is how many processes count that are not the command's;
    /// without it their number is bounded elsewhere.
    pub(super) fn impose(&self, already: Option<u64>) -> io::Result<()> {
        sys::lower_limit(sys::CORE, self.core)?;
        sys::lower_limit(sys::FILE_SIZE, self.file_size)?;
        sys::lower_limit(sys::OPEN_FILES, self.open_files)?;
        sys::lower_limit(sys::LOCKED, self.locked)?;
        match already {
            Some(already) => sys::lower_limit(sys::PROCESSES, self.processes.saturating_add(already)),
            None => Ok(()),
        }
    }

    /// Bounds the process namespace that this process is the first of. Its `/proc/sys` must still be writable. False
    /// where the kernel has no such bound, or would let more be started in the first round of ids.
    pub(super) fn bound_namespace(&self) -> bool {
        let set = |name: &str, id: u64| fs::write(format!("/proc/sys/kernel/{name}"), id.to_string()).is_ok();
        // The ids that are left are as many as there may be processes.
        binds_root() && set("pid_max", self.processes + RESERVED_IDS) && set("ns_last_pid", RESERVED_IDS)
    }
}

/// What counts against the limit of a process in namespaces, see [`Limits::impose`]. `bounded` is whether the process
/// namespace has a bound of its own.
pub(super) fn others(own_users: bool, bounded: bool, user: u32) -> Option<u64> {
    if own_users && sys::kernel_version() >= COUNTED_BY_NAMESPACE {
        Some(0)
    } else if bounded {
        None
    } else {
        Some(running(user))
    }
}

/// Since when a user's processes are counted for each user namespace.
const COUNTED_BY_NAMESPACE: (u32, u32) = (5, 14);

/// How many processes and threads a user has on the machine now.
pub(super) fn running(user: u32) -> u64 {
    let mut count = 0;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes()[0].is_ascii_digit()
            && let Ok(tasks) = fs::metadata(entry.path().join("task"))
            && tasks.uid() == user
        {
            // A folder each, beside `.` and `..`.
            count += tasks.nlink().saturating_sub(2).max(1);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_threads_are_counted() {
        let user = sys::own_ids().0;
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let stopped = std::sync::Arc::new(std::sync::Mutex::new(stopped));
        let threads: Vec<_> = (0..20)
            .map(|_| {
                let stopped = stopped.clone();
                std::thread::spawn(move || drop(stopped.lock().map(|stopped| stopped.recv())))
            })
            .collect();
        assert!(running(user) >= 20);
        drop(stop);
        for thread in threads {
            thread.join().expect("ends");
        }
        assert_eq!(running(u32::MAX - 7), 0);
    }
}
