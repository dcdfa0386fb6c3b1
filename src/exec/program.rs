//! Programs that the server starts itself, outside the sandbox: git, MCP servers, the notifier, programs that give a key.
//!
//! They are found by `PATH` once what a command of the agent could have put there is taken out of it: folders of the
//! workspace, what commands may write, temporary folders, what projects bring along, and what other users can change. What is
//! looked at is where a name leads, links and mounts and all. Of the other variables by which programs load code (`code_paths`) they
//! get what leads to no such place. A command of the agent that leaves its sandbox gets such an environment as well, and where it
//! would run a program from there (`planted`) the person is asked first; inside it keeps the environment that it has.
//!
//! They start in a folder that is nobody else's (`neutral`), wherever none is named for them.

mod code_paths;
mod mounts;
mod neutral;
mod places;
mod planted;
mod script;

pub use crate::owners::changed_by_others;
pub use code_paths::{drop_open_code_paths, names_code, share_no_caches};
pub use neutral::{neutral_folder, relative_argument};
pub use planted::{Standing, planted};
pub(in crate::exec) use planted::{fed, is_run_by_git, orders, sed_names_files, steering, takes_words_for_people};
pub use script::interpreters;
pub(crate) use script::open_file;

use super::confinement::follow;
use places::Places;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Folders of workspaces, and what commands could write at any time since the server began.
static GUARDED: RwLock<BTreeSet<PathBuf>> = RwLock::new(BTreeSet::new());

/// Where programs are on a system that says nothing else.
const USUAL: &str = if cfg!(windows) {
    ""
} else {
    "/usr/local/bin:/usr/bin:/bin"
};
/// Stands for a `PATH` of which nothing is left: an empty one means the folder that a program runs in.
const NOWHERE: &str = if cfg!(windows) {
    r"C:\nonexistent"
} else {
    "/nonexistent"
};
/// Where systems keep the programs of all.
const OF_THE_SYSTEM: &[&str] = &[
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/sbin",
    "/usr/sbin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/run/current-system/sw/bin",
];
/// Programs (and folders of them) that stand under the names of others and look for those by the folder that they run in.
const STAND_INS: &[&str] = &["asdf", "mise", "rtx", "shims"];
/// Refused places that are named.
const MOST_NAMED: usize = 3;

/// Notes that a folder belongs to a workspace, or may be written by commands. From now on no program of our own is in it.
pub fn guard(folder: &Path) {
    // Where all can be written there is no place that is better than another.
    if folder.parent().is_none() || GUARDED.read().unwrap_or_else(PoisonError::into_inner).contains(folder) {
        return;
    }
    let mut guarded = GUARDED.write().unwrap_or_else(PoisonError::into_inner);
    guarded.insert(folder.to_owned());
}

/// Why there is no program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfound {
    name: String,
    why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// In no folder of `PATH`.
    Nowhere,
    /// Only in places where others could have put it, each with the reason.
    Refused(Vec<(PathBuf, String)>),
    /// Named by a path that depends on where one stands.
    Relative,
}

impl fmt::Display for Unfound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &crate::shown::exact(&self.name);
        match &self.why {
            Why::Nowhere => write!(
                f,
                "the program {name} was not found; install it, or put its folder into the PATH that starts your editor"
            ),
            Why::Relative => write!(
                f,
                "the program {name} is named by a relative path; give its absolute path"
            ),
            Why::Refused(places) => {
                write!(f, "the program {name} was found only where it is not started from: ")?;
                for (at, (place, why)) in places.iter().take(MOST_NAMED).enumerate() {
                    let comma = if at > 0 { ", " } else { "" };
                    write!(f, "{comma}{} ({why})", crate::shown::path(place))?;
                }
                write!(
                    f,
                    ". It runs outside the sandbox, so it has to lie where neither commands nor other users can put it: install it \
                     there, or name it by its absolute path"
                )
            }
        }
    }
}

impl std::error::Error for Unfound {}

impl Unfound {
    /// Whether there is no such program at all, not even a refused one.
    pub fn is_nowhere(&self) -> bool {
        self.why == Why::Nowhere
    }
}

/// The absolute path of a program by its name, as far as `PATH` in `env` leads to one that only the person can change. What
/// is named by an absolute path is the person's own choice, and is taken; a relative one counts from `folder`, where that is
/// given and nobody else's.
///
/// # Errors
/// There is none; why, with what to do.
pub fn find(name: &str, folder: Option<&Path>, env: &BTreeMap<String, String>) -> Result<PathBuf, Unfound> {
    let unfound = |why| Unfound {
        name: name.to_owned(),
        why,
    };
    let path = Path::new(name);
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let places = Places::of(env);
    if path.components().count() != 1 || name.ends_with(std::path::is_separator) || name.starts_with('.') {
        let path = folder
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(path));
        let path = path.ok_or_else(|| unfound(Why::Relative))?;
        return match places.refuses(&path) {
            None => Ok(path),
            Some(why) => Err(unfound(Why::Refused(vec![(path, why)]))),
        };
    }
    let mut refused = Vec::new();
    for entry in entries(env) {
        for candidate in candidates(&entry, name) {
            if !is_program(&candidate) {
                continue;
            }
            let refusal = match entry.is_absolute() {
                true => places
                    .refuses_entry(&entry)
                    .or_else(|| places.refuses(&candidate))
                    .or_else(|| script::refuses_interpreter(&places, &candidate)),
                false => Some("PATH names it by a relative path".to_owned()),
            };
            match refusal {
                // By its folder's real name: a link there that is changed later leads nowhere else.
                None => return Ok(follow(&entry).0.join(candidate.file_name().unwrap_or(OsStr::new(name)))),
                Some(why) => refused.push((candidate, why)),
            }
        }
    }
    Err(unfound(match refused.is_empty() {
        true => Why::Nowhere,
        false => Why::Refused(refused),
    }))
}

/// `PATH` without what a command or another user could have put programs into, for a program of our own and what it starts.
/// It is never empty.
pub fn search_path(env: &BTreeMap<String, String>) -> String {
    search_path_with(env, &[])
}

/// The same, with the folders of `PATH` in which these programs lie, which the person was shown.
pub fn search_path_with(env: &BTreeMap<String, String>, shown: &[PathBuf]) -> String {
    let places = Places::of(env);
    let is_shown = |entry: &Path| shown.iter().any(|program| program.parent() == Some(entry));
    let is_own = |entry: &Path| entry.is_absolute() && entry.is_dir() && places.refuses_entry(entry).is_none();
    let kept = entries(env).filter(|entry| is_shown(entry) || is_own(entry));
    let joined = std::env::join_paths(kept).unwrap_or_default();
    match joined.is_empty() {
        true => NOWHERE.to_owned(),
        false => joined.to_string_lossy().into_owned(),
    }
}

/// Whether a program is one that the system keeps for all, and no stand-in that looks for another one by its folder.
pub fn is_of_the_system(name: &str, env: &BTreeMap<String, String>) -> bool {
    let path = match Path::new(name).is_absolute() {
        true => Some(PathBuf::from(name)),
        false => find(name, None, env).ok(),
    };
    let Some(path) = path else { return false };
    let (real, _) = follow(&path);
    let is_system = |place: &Path| {
        OF_THE_SYSTEM
            .iter()
            .any(|folder| place.parent() == Some(Path::new(folder)))
    };
    let stands_in = real.iter().any(|part| STAND_INS.iter().any(|name| part == *name));
    (is_system(&path) || is_system(&real)) && !stands_in
}

/// Where a shell would find a program by its bare name, and the entry of `PATH` that it lies in.
fn first(name: &str, env: &BTreeMap<String, String>) -> Option<(PathBuf, PathBuf)> {
    if name.contains(std::path::is_separator) {
        return None;
    }
    entries(env).find_map(|entry| {
        let found = candidates(&entry, name).into_iter().find(|path| is_program(path))?;
        Some((entry, found))
    })
}

/// Whether a program lies in a folder of `PATH`.
pub fn is_found_by(program: &Path, env: &BTreeMap<String, String>) -> bool {
    entries(env).any(|entry| program.parent() == Some(entry.as_path()))
}

/// Whether a place could have been made by a command or by another user.
pub fn is_open(path: &Path, env: &BTreeMap<String, String>) -> bool {
    Places::of(env).refuses(path).is_some()
}

fn entries(env: &BTreeMap<String, String>) -> impl Iterator<Item = PathBuf> {
    let path = env.get("PATH").map_or(USUAL, String::as_str);
    std::env::split_paths(path).collect::<Vec<_>>().into_iter()
}

#[cfg(not(windows))]
fn candidates(entry: &Path, name: &str) -> Vec<PathBuf> {
    vec![entry.join(name)]
}

#[cfg(windows)]
fn candidates(entry: &Path, name: &str) -> Vec<PathBuf> {
    let ends = ["", ".exe", ".com", ".cmd", ".bat"];
    let ends = ends.into_iter().filter(|end| !end.is_empty() || name.contains('.'));
    ends.map(|end| entry.join(format!("{name}{end}"))).collect()
}

/// Whether a file is there that can be started.
#[cfg(unix)]
pub(in crate::exec) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(in crate::exec) fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
        fs::write(path, "#!/bin/sh\n").expect("write");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("chmod");
    }

    #[test]
    fn programs_by_table() {
        let dir = tempfile::Builder::new()
            .prefix("programs")
            .tempdir_in("/var/tmp")
            .expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let at = |name: &str| base.join(name);
        fs::create_dir_all(at("repo/.git")).expect("mkdir");
        fs::create_dir_all(at("repo/sub")).expect("mkdir");
        fs::create_dir_all(at("other/.git")).expect("mkdir");
        fs::create_dir_all(at("clone/.git")).expect("mkdir");
        guard(&at("ws"));
        guard(&at("repo/sub"));
        for place in [
            "good/p",
            "ws/bin/p",
            "repo/bin/p",
            "open/p",
            "open/in/p",
            "sticky/p",
            "sticky/in/p",
            "file/p",
            "tmp/p",
            // Of a project that no agent works in, of a package manager, of a version manager that is a clone.
            "other/node_modules/.bin/p",
            "other/sub/.venv/bin/p",
            "global/node_modules/.bin/p",
            "clone/versions/bin/p",
        ] {
            program(&at(place));
        }
        for (place, mode) in [("open", 0o777), ("sticky", 0o1777), ("file/p", 0o777)] {
            fs::set_permissions(at(place), fs::Permissions::from_mode(mode)).expect("chmod");
        }
        for (link, to) in [
            ("to-good", "good"),
            ("to-ws", "ws/bin"),
            ("ws/to-good", "../good"),
            ("via-ws", "ws/to-good"),
            ("loop", "loop"),
        ] {
            symlink(to, at(link)).expect("a link");
        }
        for (folder, to) in [
            ("l1", "../ws/bin/p"),
            ("l2", "../good/p"),
            ("l3", "../ws/to-good/p"),
            ("l4", "nowhere"),
        ] {
            fs::create_dir(at(folder)).expect("mkdir");
            symlink(to, at(folder).join("p")).expect("a link");
        }
        for (entry, expected) in [
            ("good", Ok("good/p")),
            ("to-good", Ok("good/p")),
            ("l2", Ok("l2/p")),
            ("sticky/in", Ok("sticky/in/p")),
            ("ws/bin", Err("workspace")),
            ("repo/bin", Err("workspace")),
            ("to-ws", Err("workspace")),
            ("via-ws", Err("workspace")),
            ("l1", Err("workspace")),
            ("l3", Err("workspace")),
            ("good/../ws/bin", Err("workspace")),
            ("open", Err("every user")),
            ("open/in", Err("every user")),
            ("sticky", Err("every user")),
            ("file", Err("every user")),
            ("tmp", Err("temporary")),
            ("l4", Err("not found")),
            ("loop", Err("not found")),
            ("missing", Err("not found")),
            ("other/node_modules/.bin", Err("project")),
            ("other/sub/.venv/bin", Err("project")),
            ("global/node_modules/.bin", Ok("global/node_modules/.bin/p")),
            ("clone/versions/bin", Ok("clone/versions/bin/p")),
        ] {
            let tmp = at("tmp").display().to_string();
            let env = |path: String| BTreeMap::from([("PATH".to_owned(), path), ("TMPDIR".to_owned(), tmp.clone())]);
            let alone = env(at(entry).display().to_string());
            let found = find("p", None, &alone);
            match expected {
                Ok(name) => assert_eq!(found, Ok(at(name)), "{entry}"),
                Err(part) => {
                    let why = found.expect_err(entry).to_string();
                    assert!(why.contains(part), "{entry}: {why}");
                    // What is refused hides nothing that is right.
                    let both = env(format!("{}:{}", at(entry).display(), at("good").display()));
                    assert_eq!(find("p", None, &both), Ok(at("good/p")), "{entry}");
                }
            }
            let kept = search_path(&alone);
            let is_kept = expected.is_ok() || ["l1", "l3", "l4", "file"].contains(&entry);
            assert_eq!(kept != NOWHERE, is_kept, "{entry}: {kept}");
        }
    }

    #[test]
    fn what_is_planted_and_what_the_system_keeps() {
        let dir = tempfile::Builder::new()
            .prefix("planted")
            .tempdir_in("/var/tmp")
            .expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let at = |name: &str| base.join(name);
        guard(&at("ws"));
        for place in ["ws/.venv/bin/sh", "own/bin/sh", "shims/sh"] {
            program(&at(place));
        }
        let env = |path: &str| BTreeMap::from([("PATH".to_owned(), path.replace("BASE", &base.display().to_string()))]);
        let found = |command: &[String], env: &BTreeMap<String, String>| {
            let standing = Standing {
                folder: &base,
                is_certain: true,
                env,
            };
            planted(command, &[], standing)
        };
        for (path, is_planted, is_system) in [
            ("/usr/bin:/bin", false, true),
            ("BASE/ws/.venv/bin:/usr/bin:/bin", true, true),
            ("BASE/ws/empty:/usr/bin:/bin", false, true),
            ("BASE/own/bin:/usr/bin:/bin", false, false),
            ("BASE/shims:/usr/bin:/bin", false, false),
            ("/usr/bin:/bin:BASE/ws/.venv/bin", false, true),
        ] {
            let env = env(path);
            assert_eq!(found(&["sh".to_owned()], &env).is_some(), is_planted, "{path}");
            assert_eq!(is_of_the_system("sh", &env), is_system, "{path}");
        }
        // Of the folders that commands can change, the one of what was shown stays.
        let both = env("BASE/ws/empty:BASE/ws/.venv/bin:/usr/bin:/bin");
        assert_eq!(search_path(&both), "/usr/bin:/bin");
        let kept = search_path_with(&both, &[at("ws/.venv/bin/sh")]);
        assert_eq!(kept, format!("{}:/usr/bin:/bin", at("ws/.venv/bin").display()));
        let command = ["sh".to_owned(), "x".to_owned()];
        let found = found(&command, &env("BASE/ws/.venv/bin"));
        assert_eq!(found, Some(("sh".to_owned(), at("ws/.venv/bin/sh"))));
    }

    #[test]
    fn relative_names_and_entries_are_not_followed() {
        let env = |path: &str| BTreeMap::from([("PATH".to_owned(), path.to_owned())]);
        for path in ["", ":", ".", "./bin", "bin:", "::"] {
            assert!(find("sh", None, &env(path)).is_err(), "{path:?}");
            // One that is empty would mean the folder that a program runs in.
            assert_eq!(search_path(&env(path)), NOWHERE, "{path:?}");
            assert!(!Path::new(NOWHERE).exists());
        }
        for name in ["./x", "bin/x", "../x", "x/", "."] {
            let why = find(name, None, &env("/usr/bin")).expect_err(name).to_string();
            assert!(why.contains("absolute"), "{name}: {why}");
        }
        assert_eq!(find("/any/where", None, &env("")), Ok(PathBuf::from("/any/where")));
        let found = find("sh", None, &env("bin::/bin:/usr/bin")).expect("a shell");
        assert!(found.is_absolute() && found.ends_with("sh"), "{found:?}");
    }

    /// What another user owns, or a group of others can write, they can change.
    #[test]
    fn places_of_other_users_are_not_trusted() {
        use std::os::unix::fs::{chown, lchown};
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::Builder::new().prefix("owners").tempdir_in("/var/tmp");
        let dir = dir.expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let at = |name: &str| base.join(name);
        for folder in ["own", "theirs", "below/bin", "file", "group", "root-group"] {
            program(&at(folder).join("p"));
        }
        fs::create_dir(at("link")).expect("mkdir");
        symlink("../own/p", at("link/p")).expect("a link");
        let (user, group) = (65534, 65534);
        chown(at("theirs"), Some(user), None).expect("chown");
        chown(at("below"), Some(user), None).expect("chown");
        chown(at("file/p"), Some(user), None).expect("chown");
        lchown(at("link/p"), Some(user), None).expect("chown");
        chown(at("group"), None, Some(group)).expect("chown");
        for folder in ["group", "root-group"] {
            fs::set_permissions(at(folder), fs::Permissions::from_mode(0o775)).expect("chmod");
        }
        for (entry, expected) in [
            ("own", None),
            ("root-group", None),
            ("theirs", Some("another user owns")),
            ("below/bin", Some("another user owns")),
            ("file", Some("another user owns")),
            ("link", Some("another user owns")),
            ("group", Some("a group of others")),
        ] {
            let env = BTreeMap::from([("PATH".to_owned(), at(entry).display().to_string())]);
            let found = find("p", None, &env);
            match expected {
                None => assert_eq!(found, Ok(at(entry).join("p"))),
                Some(part) => {
                    let why = found.expect_err(entry).to_string();
                    assert!(
                        why.contains(part) && why.contains(&base.display().to_string()),
                        "{entry}: {why}"
                    );
                }
            }
        }
    }
}
