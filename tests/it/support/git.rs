//! A real git, with a name of its own and without the settings of whoever runs the tests.

use std::path::Path;
use std::process::Command;

/// What git prints, without the space around it. Panics if git refuses.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    String::from_utf8(git_bytes(folder, arguments))
        .expect("text")
        .trim()
        .to_owned()
}

/// What git prints, to the byte. Panics if git refuses.
pub(crate) fn git_bytes(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args(["-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .envs([
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@example.org"),
            ("GIT_COMMITTER_NAME", "Ada"),
            ("GIT_COMMITTER_EMAIL", "ada@example.org"),
        ])
        .output()
        .expect("git runs");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}
