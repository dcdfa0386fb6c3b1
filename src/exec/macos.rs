//! The sandbox on macOS: Seatbelt, put up by the system's own `sandbox-exec` around each command.
//!
//! `seatbelt` makes the profile and can be tested everywhere. There is no keeper here: the command is the server's own
//! child, ended by its process group; what it leaves in a session of its own stays (`Support::weaknesses`).

pub(super) mod seatbelt;

#[cfg(target_os = "macos")]
use super::role::{Order, Report};
#[cfg(target_os = "macos")]
use super::support::Wall;
use std::path::{Path, PathBuf};

/// Only this one: a program of the same name elsewhere may be anybody's.
#[cfg(target_os = "macos")]
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// Folders that can be written under `workspace-write` on macOS beside the workspace: pyenv rehashes its shims whenever
/// Python is used. The person's temporary folder is among the roots already, by `TMPDIR`.
#[cfg_attr(not(target_os = "macos"), allow(dead_code, reason = "macOS only, tested everywhere"))]
pub(super) fn default_roots(home: &Path) -> Vec<PathBuf> {
    let pyenv = home.join(".pyenv");
    std::fs::canonicalize(pyenv).into_iter().collect()
}

/// The order with the sandbox around its command.
///
/// # Errors
/// The walls ask for what Seatbelt cannot give, or there is no such program.
#[cfg(target_os = "macos")]
pub(super) fn confine(order: &Order) -> Result<Order, Report> {
    let mut confined = Order {
        argv: order.argv.clone(),
        argv0: order.argv0.clone(),
        cwd: order.cwd.clone(),
        env: order.env.clone(),
        walls: None,
        // There is no keeper to keep them.
        bounds: None,
        terminal: None,
    };
    let Some(walls) = &order.walls else {
        return Ok(confined);
    };
    let program = order.argv.first().map_or("", String::as_str);
    if !is_there(program, order) {
        return Err(Report::NotFound {
            program: program.to_owned(),
        });
    }
    let profile = seatbelt::Profile::of(walls).map_err(|error| Report::CannotConfine {
        reason: error.to_string(),
    })?;
    let mut argv = vec![SANDBOX_EXEC.to_owned(), "-p".to_owned(), profile.text];
    argv.extend(
        profile
            .parameters
            .iter()
            .map(|(name, value)| format!("-D{name}={value}")),
    );
    argv.push("--".to_owned());
    argv.append(&mut confined.argv);
    confined.argv = argv;
    confined.argv0 = None;
    confined.env.push(("CODEX_SANDBOX".to_owned(), "seatbelt".to_owned()));
    Ok(confined)
}

/// Whether the program can be found, which `sandbox-exec` tells in words only.
#[cfg(target_os = "macos")]
fn is_there(program: &str, order: &Order) -> bool {
    if program.contains('/') {
        return order.cwd.join(program).exists();
    }
    let path = order.env.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or("/usr/bin:/bin:/usr/sbin:/sbin", |(_, value)| value);
    path.split(':')
        .any(|folder| !folder.is_empty() && !program.is_empty() && Path::new(folder).join(program).exists())
}

/// Puts up the sandbox around a program that does nothing.
#[cfg(target_os = "macos")]
pub(super) fn try_out() -> Wall {
    let profile = match seatbelt::Profile::of(&super::confinement::Walls::default()) {
        Ok(profile) => profile,
        Err(error) => return Wall::Missing(error.to_string()),
    };
    let status = std::process::Command::new(SANDBOX_EXEC)
        .args(["-p", &profile.text, "--", "/usr/bin/true"])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Wall::Stands("by sandbox-exec".to_owned()),
        Ok(status) => Wall::Missing(format!("{SANDBOX_EXEC} does not take the profile: {status}")),
        Err(error) => Wall::Missing(format!("{SANDBOX_EXEC} cannot be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::default_roots;

    /// Shows S-168.
    #[test]
    fn pyenv_can_rehash_if_it_is_there() {
        let home = tempfile::tempdir().expect("temporary folder");
        assert!(default_roots(home.path()).is_empty());
        let pyenv = home.path().join(".pyenv");
        std::fs::create_dir(&pyenv).expect("mkdir");
        assert_eq!(default_roots(home.path()), [pyenv.canonicalize().expect("canonical")]);
    }
}
