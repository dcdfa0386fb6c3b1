//! Places where deleting or writing does harm.

use crate::exec::command::word::Word;
use std::path::{Component, Path, PathBuf};

/// Whether a path is the root, a home, a folder of the system, or simply all there is.
pub(super) fn is_everything(path: &str) -> bool {
    let bare = path.trim_end_matches(['*', '/', '.']);
    const WHOLE: [&str; 16] = [
        "~",
        "$HOME",
        "${HOME}",
        "/home",
        "/root",
        "/etc",
        "/usr",
        "/bin",
        "/lib",
        "/var",
        "/boot",
        "/opt",
        "/Users",
        "/System",
        "\"$HOME\"",
        "\"${HOME}\"",
    ];
    let home = ["/home/", "/Users/"].iter().find_map(|homes| bare.strip_prefix(homes));
    if home.is_some_and(|name| !name.is_empty() && !name.contains('/')) {
        return true;
    }
    (bare.is_empty() && !path.is_empty()) || WHOLE.contains(&bare) || bare.starts_with('~') && !bare.contains('/')
}

/// Whether writing to this path reaches a device that keeps or passes on data.
pub(super) fn is_device(path: &str) -> bool {
    const HARMLESS: [&str; 12] = [
        "null", "zero", "full", "stdin", "stdout", "stderr", "tty", "random", "urandom", "ptmx", "fd", "shm",
    ];
    let Some(device) = path.strip_prefix("/dev/") else {
        return false;
    };
    let first = device.split('/').next().unwrap_or_default();
    !HARMLESS.contains(&first) && first != "pts"
}

/// Whether deleting a path takes the folder that the command runs in with it.
pub(super) fn holds_cwd(path: &str, cwd: &Path) -> bool {
    let mut place = PathBuf::from("/");
    for part in cwd.join(path).components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir => drop(place.pop()),
            _ => {}
        }
    }
    cwd.starts_with(&place)
}

/// Why writing to a file by a redirection is dangerous.
pub(super) fn of_written(word: &Word, cwd: &Path) -> Option<String> {
    of_target(&word.text, cwd)
}

/// Why writing to a path is dangerous.
pub(super) fn of_target(path: &str, cwd: &Path) -> Option<String> {
    let path = path.trim_matches('"');
    if is_device(path) {
        return Some(format!("writes to a device: {path}"));
    }
    trusted(path, cwd).map(|what| format!("writes {what}: {path}"))
}

/// What sort of file a path is, if programs trust what stands in it.
pub(super) fn trusted(path: &str, cwd: &Path) -> Option<&'static str> {
    const SYSTEM: [&str; 14] = [
        "/etc",
        "/boot",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/sys",
        "/proc",
        "/System",
        "/Library",
        "/usr/bin",
        "/usr/lib",
        "/usr/sbin",
        "/usr/share",
    ];
    const HARMLESS: [&str; 3] = ["/proc/self/fd", "/etc/../tmp", "/proc/self/fd/"];
    let place = Path::new(path);
    let under = |root: &&str| place.starts_with(root);
    if place.is_absolute() && cwd != Path::new("/") && place.starts_with(cwd) {
        return None;
    }
    if SYSTEM.iter().any(under) && !HARMLESS.iter().any(under) {
        return Some("a file of the system");
    }
    let in_home = ["~", "$HOME", "${HOME}", "/root"]
        .iter()
        .find_map(|home| path.strip_prefix(home)?.strip_prefix('/'));
    let in_home = in_home.or_else(|| {
        let rest = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"))?;
        rest.split_once('/').map(|(_, rest)| rest)
    });
    let in_home = in_home?.trim_start_matches(['/', '"']);
    let hidden = in_home.starts_with('.') && !in_home.starts_with(".cache/") && !in_home.starts_with("./");
    hidden.then_some("a file in the home folder that programs trust")
}
