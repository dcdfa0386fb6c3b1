//! Whether a confined command failed because of its walls.

/// The sandbox, as far as can be told, stopped the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// In words, for the person and the model.
    pub reason: String,
}

/// What the kernel's refusals look like in output, lower case, and what each means.
const SIGNS: [(&str, &str); 6] = [
    (
        "read-only file system",
        "writing outside the folders that may be written",
    ),
    ("erofs", "writing outside the folders that may be written"),
    ("operation not permitted", "something that the policy does not allow"),
    ("permission denied", "something that the policy does not allow"),
    ("eacces", "something that the policy does not allow"),
    ("eperm", "something that the policy does not allow"),
];

/// What a program without a network says.
const NETWORK_SIGNS: [&str; 7] = [
    "could not resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "network is unreachable",
    "eai_again",
    "failed to lookup address information",
    "dns error",
];

/// Killed by SIGSYS.
const BAD_SYSTEM_CALL: i32 = 128 + 31;

/// Longest part of a line of output that a reason quotes, in bytes.
const QUOTED: usize = 300;

/// Judges a command that ran confined. `blocked` is what the keeper itself refused, which is certain; the rest is
/// read from the exit code and the output.
pub(super) fn judge(exit_code: i32, output: &str, network: bool, blocked: Option<&str>) -> Option<Denial> {
    let denial = |reason: String| Some(Denial { reason });
    if exit_code == 0 {
        return None;
    }
    if exit_code == BAD_SYSTEM_CALL {
        return denial("the sandbox ended the program for a system call that it does not allow".to_owned());
    }
    if let Some(blocked) = blocked {
        return denial(format!("the sandbox blocked {blocked}"));
    }
    for line in output.lines().rev() {
        let lower = line.to_ascii_lowercase();
        let Some((sign, meaning)) = SIGNS.iter().find(|(sign, _)| lower.contains(sign)) else {
            continue;
        };
        // A read-only file system is a strong sign. The others are also what a misused shell and a program that
        // cannot be run say for themselves.
        if matches!(exit_code, 2 | 126 | 127) && !sign.contains("file system") {
            continue;
        }
        return denial(format!("the sandbox seems to have blocked {meaning}: {}", quoted(line)));
    }
    if !network {
        let said = |line: &&str| {
            NETWORK_SIGNS
                .iter()
                .any(|sign| line.to_ascii_lowercase().contains(sign))
        };
        if let Some(line) = output.lines().rev().find(said) {
            return denial(format!("the sandbox has no network: {}", quoted(line)));
        }
    }
    None
}

fn quoted(line: &str) -> &str {
    let line = line.trim();
    &line[..line.floor_char_boundary(QUOTED)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_by_table() {
        for (exit_code, output, network, blocked, expected) in [
            (0, "Permission denied", false, None, false),
            (1, "test failed", false, None, false),
            (1, "touch: cannot touch '/etc/x': Permission denied", false, None, true),
            (
                1,
                "sh: 1: cannot create /etc/x: Read-only file system",
                false,
                None,
                true,
            ),
            (
                2,
                "make: *** [all] Error 1\nmkdir: cannot create '/x': Read-only file system",
                false,
                None,
                true,
            ),
            (
                2,
                "ls: cannot open directory '/root': Permission denied",
                false,
                None,
                false,
            ),
            (126, "sh: ./x: Permission denied", false, None, false),
            (127, "sh: x: not found", false, None, false),
            (159, "", false, None, true),
            (139, "", false, None, false),
            (6, "curl: (6) Could not resolve host: example.org", false, None, true),
            (6, "curl: (6) Could not resolve host: example.org", true, None, false),
            (
                1,
                "PermissionError: [Errno 1] Operation not permitted",
                true,
                None,
                true,
            ),
            (128, "x", true, Some("making .git, a protected folder"), true),
        ] {
            assert_eq!(
                judge(exit_code, output, network, blocked).is_some(),
                expected,
                "{exit_code} {output}"
            );
        }
    }

    #[test]
    fn the_reason_quotes_a_bounded_line() {
        let line = format!("{}ä: Permission denied", "ü".repeat(400));
        let denial = judge(1, &line, true, None).expect("a denial");
        assert!(denial.reason.len() < 400);
    }
}
