//! A limit of the sandbox that was reached, in the words of programs: it looks as if the machine were exhausted.

use super::{BAD_SYSTEM_CALL, Denial, Missing};
use crate::exec::linux::MOST_FILE_SIZE;

/// Ended by SIGXFSZ.
const FILE_TOO_LARGE: i32 = BAD_SYSTEM_CALL - libc::SIGSYS + libc::SIGXFSZ;

/// What programs say when a file may not grow, in lower case.
const TOO_LARGE: [&str; 4] = [
    "file size limit exceeded",
    "[errno 27] file too large",
    "file too large (os error 27)",
    "efbig: file too large",
];

/// What they say when there may be no more processes or threads.
const TOO_MANY: [&str; 7] = [
    "cannot fork",
    "can't fork",
    "unable to fork",
    "can't start new thread",
    "unable to create native thread",
    "failed to create new os thread",
    "cannot create thread",
];

/// The kernel's words for it, which stand for other things too.
const AGAIN: [&str; 2] = ["resource temporarily unavailable", "eagain"];

/// What is said beside them then.
const STARTING: [&str; 5] = ["fork", "spawn", "thread", "clone", "process"];

/// Judges a command by how it ended.
pub(super) fn judge_end(exit_code: i32) -> Option<Denial> {
    (exit_code == FILE_TOO_LARGE).then(too_large)
}

/// Judges a line of it. It may have this many processes.
pub(super) fn judge(line: &str, most: u64) -> Option<Denial> {
    let lower = line.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|words| lower.contains(words));
    if has(&TOO_MANY) || (has(&AGAIN) && has(&STARTING)) {
        return Some(Denial {
            reason: format!(
                "the command could start no more processes; the sandbox lets it have {most} at one time, threads included \
                 (limits.processes): let it start fewer at once"
            ),
            missing: Missing::Other,
        });
    }
    has(&TOO_LARGE).then(too_large)
}

fn too_large() -> Denial {
    Denial {
        reason: format!(
            "the sandbox lets no file grow past {} GiB: let the command write less, or in several files",
            MOST_FILE_SIZE >> 30
        ),
        missing: Missing::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_by_table() {
        for (line, expected) in [
            ("sh: 1: Cannot fork", "2048"),
            ("bash: fork: retry: Resource temporarily unavailable", "2048"),
            ("make: vfork: Resource temporarily unavailable", "2048"),
            ("RuntimeError: can't start new thread", "2048"),
            ("Error: spawn /bin/true EAGAIN", "2048"),
            (
                "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process/resource limits reached",
                "2048",
            ),
            (
                "runtime: failed to create new OS thread (have 9 already; errno=11)",
                "2048",
            ),
            (
                "failed to spawn thread: Os { code: 11, kind: WouldBlock, message: \"Resource temporarily unavailable\" }",
                "2048",
            ),
            ("fork/exec /usr/bin/true: resource temporarily unavailable", "2048"),
            ("Resource temporarily unavailable - fork(2) (Errno::EAGAIN)", "2048"),
            ("OSError: [Errno 27] File too large", "64 GiB"),
            ("File size limit exceeded (core dumped)", "64 GiB"),
            ("Error: File too large (os error 27)", "64 GiB"),
            // A lock that another holds, a socket that is not ready.
            ("BlockingIOError: [Errno 11] Resource temporarily unavailable", ""),
            ("recv: Resource temporarily unavailable", ""),
            // A server has refused it.
            ("HTTP 413: file too large", ""),
            ("3 tests have failed", ""),
        ] {
            let reason = judge(line, 2048).map_or_else(String::new, |denial| denial.reason);
            assert!(
                reason.contains(expected) && reason.is_empty() == expected.is_empty(),
                "{line}: {reason}"
            );
        }
        assert!(judge_end(153).is_some_and(|denial| denial.reason.contains("64 GiB")));
        assert_eq!(judge_end(1), None);
    }
}
