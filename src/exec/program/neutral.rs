//! Where programs of our own start: outside of every workspace, since many of them take code from the folder that they are
//! started in, directly or through the shells and wrappers that they are started by.

use super::is_open;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// A folder in which nothing was put by a command, by a workspace or by another user: the person's home folder, as long as it
/// is that, else the root of the disk.
pub fn neutral_folder(env: &BTreeMap<String, String>) -> PathBuf {
    let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let home = env.get(name).map(PathBuf::from).filter(|home| home.is_absolute());
    // One that cannot be entered is no place to start in.
    let home = home.filter(|home| home.join(".").is_dir() && !is_open(home, env));
    home.unwrap_or_else(|| PathBuf::from("/"))
}

/// The first of a program's arguments that is a path which depends on the folder that it starts in. `meant` is the folder
/// that the person may have had in mind, if one is known: what is a file there is a path, however it is written.
pub fn relative_argument<'a>(arguments: &'a [String], meant: Option<&Path>) -> Option<&'a str> {
    let is_relative = |word: &str| {
        let path = Path::new(word);
        if matches!(path.components().next(), Some(Component::CurDir | Component::ParentDir)) {
            return true;
        }
        let looks_so = path.extension().is_some() || path.components().count() > 1;
        let is_plain = !word.is_empty() && !word.starts_with('-') && path.is_relative();
        is_plain && looks_so && meant.is_some_and(|folder| folder.join(path).is_file())
    };
    // `--root=./x` names one too.
    let value = |word: &'a String| match word.split_once('=') {
        Some((name, value)) if name.starts_with('-') => value,
        _ => word.as_str(),
    };
    let relative = arguments.iter().find(|&word| is_relative(value(word)));
    relative.map(String::as_str)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn arguments_by_table() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(folder.path().join("dist")).expect("mkdir");
        std::fs::write(folder.path().join("dist/server.js"), "").expect("write");
        std::fs::write(folder.path().join("server.py"), "").expect("write");
        std::fs::write(folder.path().join("prettier"), "").expect("write");
        for (words, expected) in [
            (&["-y", "@scope/package", "."][..], Some(".")),
            (&["./server.js"], Some("./server.js")),
            (&["-m", "x", "../y"], Some("../y")),
            (&["--root=./x"], Some("--root=./x")),
            (&["--root=.."], Some("--root=..")),
            (&["dist/server.js"], Some("dist/server.js")),
            (&["server.py"], Some("server.py")),
            (&["--file=dist/server.js"], Some("--file=dist/server.js")),
            (&["-y", "@scope/package", "x@1.2.3", "org/image:tag"], None),
            (&["/abs/server.js", "-c", "import x", ""], None),
            (&["prettier", "dist", ".config", "...", "a=b", "-", "--"], None),
            (&["{\"cwd\":\".\"}"], None),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(relative_argument(&words, Some(folder.path())), expected, "{words:?}");
        }
        assert_eq!(relative_argument(&["server.py".to_owned()], None), None);
    }

    /// The person's home folder is none where it is the workspace, lies in it, or belongs to others.
    #[test]
    fn the_neutral_folder_by_table() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::Builder::new().prefix("neutral").tempdir_in("/var/tmp");
        let dir = dir.expect("a folder");
        let base = std::fs::canonicalize(dir.path()).expect("canonical");
        for name in ["good", "ws/home", "open", "tmp"] {
            std::fs::create_dir_all(base.join(name)).expect("mkdir");
        }
        std::os::unix::fs::symlink(base.join("ws"), base.join("link")).expect("a link");
        std::fs::set_permissions(base.join("open"), std::fs::Permissions::from_mode(0o777)).expect("chmod");
        super::super::guard(&base.join("ws"));
        let text = |path: &Path| path.display().to_string();
        for (home, expected) in [
            ("good", "good"),
            ("ws", "/"),
            ("ws/home", "/"),
            ("link", "/"),
            ("open", "/"),
            ("tmp", "/"),
            ("missing", "/"),
        ] {
            let env = BTreeMap::from([
                ("HOME".to_owned(), text(&base.join(home))),
                ("TMPDIR".to_owned(), text(&base.join("tmp"))),
            ]);
            assert_eq!(neutral_folder(&env), base.join(expected), "{home}");
        }
        assert_eq!(neutral_folder(&BTreeMap::new()), Path::new("/"));
        let relative = BTreeMap::from([("HOME".to_owned(), "home".to_owned())]);
        assert_eq!(neutral_folder(&relative), Path::new("/"));
    }
}
