//! Where settings send git for hooks, attributes, programs and more settings: files of the work that are as good as its metadata.
//!
//! Read by the rules of git's configuration files as far as these things need it. What is read wrongly names a place too many
//! or too few; git itself is not asked, as this stands before every command.

use super::{Later, git_folders, text_of};
#[cfg(unix)]
use super::{find, led_to_by_git};
use crate::exec::git::path_of_bytes;
use crate::exec::program::is_program;
use std::fs;
use std::path::{Path, PathBuf};

/// What is looked at of a file of settings.
const LONGEST: u64 = 1 << 20;
/// Files that include each other.
const MOST_FILES: usize = 32;

/// The settings of the machine; those of the person lie at these places of their home folder.
const OF_MACHINE: &str = "/etc/gitconfig";
const OF_PERSON: [&str; 2] = [".gitconfig", ".config/git/config"];

/// What a setting says of files.
enum Names {
    /// A folder or file that git reads or runs by itself.
    Place,
    /// More settings, relative to the file that names them.
    Settings,
    /// Words to run, files of the work among them.
    Words,
}

/// The places. `folders` are the metadata folders of a repository (a worktree has its own and the shared one), `top` is
/// where its work is.
pub(super) fn steering(folders: &[PathBuf], top: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = files(folders, home);
    let mut read = 0;
    while let Some(file) = waiting.pop().filter(|_| read < MOST_FILES) {
        read += 1;
        let Some(text) = text_of(&file, LONGEST) else { continue };
        for (section, key, value) in entries(&text) {
            // What begins with a percent sign lies where git is installed.
            let Some(names) = names(&section, &key, &value).filter(|_| !value.is_empty() && !value.starts_with(b"%"))
            else {
                continue;
            };
            let from = |base: &Path, value: &[u8]| match (value.strip_prefix(b"~/"), home) {
                (Some(below), Some(home)) => Some(home.join(path_of_bytes(below))),
                _ if value.starts_with(b"~") => None,
                _ => Some(base.join(path_of_bytes(value))),
            };
            match names {
                Names::Place => found.extend(from(top, &value)),
                Names::Settings => {
                    let included = from(file.parent().unwrap_or(top), &value);
                    if let Some(included) = included.filter(|included| !found.contains(included)) {
                        found.push(included.clone());
                        waiting.push(included);
                    }
                }
                Names::Words => {
                    let value = value.strip_prefix(b"!").unwrap_or(&value);
                    let words = value.split(|byte| byte.is_ascii_whitespace() || b"\"'`;|&()<>=".contains(byte));
                    for (at, word) in words.filter(|word| !word.is_empty()).enumerate() {
                        let Some(place) = from(top, word) else { continue };
                        // A plain word is a program from elsewhere, unless there is a file of that name. A folder is where
                        // something is done, not what is run.
                        let is_named = at == 0 && word.contains(&b'/') && fs::metadata(&place).is_err();
                        if is_named || fs::metadata(&place).is_ok_and(|place| place.is_file()) {
                            found.push(place);
                        }
                    }
                }
            }
        }
    }
    found
}

/// Client-side hooks of git.
const HOOKS: [&str; 20] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
    "sendemail-validate",
    "p4-pre-submit",
    "push-to-checkout",
];

/// Those that there are in a repository, by their names: programs in its folders of hooks or where settings send git, and what settings
/// name for an event. `folders` are its metadata folders, `top` is where its work is.
pub(super) fn hooks(folders: &[PathBuf], top: &Path, home: Option<&Path>) -> Vec<String> {
    let mut places: Vec<PathBuf> = folders.iter().map(|folder| folder.join("hooks")).collect();
    let mut found = Vec::new();
    let mut waiting = files(folders, home);
    let mut read = 0;
    while let Some(file) = waiting.pop().filter(|_| read < MOST_FILES) {
        read += 1;
        let Some(text) = text_of(&file, LONGEST) else { continue };
        for (section, key, value) in entries(&text) {
            let from = |base: &Path| match (value.strip_prefix(b"~/"), home) {
                (Some(below), Some(home)) => home.join(path_of_bytes(below)),
                _ => base.join(path_of_bytes(&value)),
            };
            match (section.as_str(), key.as_str()) {
                ("core", "hookspath") => places.push(from(top)),
                ("hook", "event") => found.push(String::from_utf8_lossy(&value).into_owned()),
                ("include" | "includeif", "path") => waiting.push(from(file.parent().unwrap_or(top))),
                _ => {}
            }
        }
    }
    let is_there = |name: &str| places.iter().any(|place| is_program(&place.join(name)));
    found.extend(
        HOOKS
            .iter()
            .filter(|name| is_there(name))
            .map(|name| (*name).to_owned()),
    );
    found.sort();
    found.dedup();
    found
}

/// The files of settings, the one that counts most last.
fn files(folders: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    let own = folders
        .iter()
        .flat_map(|folder| ["config.worktree", "config"].map(|name| folder.join(name)));
    let of_person = home.into_iter().flat_map(|home| OF_PERSON.map(|name| home.join(name)));
    let of_machine = [PathBuf::from(OF_MACHINE)].into_iter();
    of_machine.chain(of_person).chain(own).collect()
}

/// What a word behind `git` stands for in a folder by the settings there, each time it is set: an alias. Settings that include
/// others under a condition count as if it held.
pub(crate) fn aliased(name: &str, folder: &Path, home: Option<&Path>) -> Vec<String> {
    let repository = folder.ancestors().find(|place| place.join(".git").exists());
    let mut waiting = files(&repository.map(git_folders).unwrap_or_default(), home);
    let (mut found, mut read) = (Vec::new(), 0);
    while let Some(file) = waiting.pop().filter(|_| read < MOST_FILES) {
        read += 1;
        let Some(text) = text_of(&file, LONGEST) else { continue };
        for (section, key, value) in entries(&text) {
            match (section.as_str(), key.as_str()) {
                ("alias", key) if key.eq_ignore_ascii_case(name) => {
                    found.push(String::from_utf8_lossy(&value).into_owned());
                }
                ("include" | "includeif", "path") => {
                    let beside = file.parent().unwrap_or(folder);
                    waiting.push(match (value.strip_prefix(b"~/"), home) {
                        (Some(below), Some(home)) => home.join(path_of_bytes(below)),
                        _ => beside.join(path_of_bytes(&value)),
                    });
                }
                _ => {}
            }
        }
    }
    found
}

/// Where the settings of each repository in a folder lead, submodules too: of all that are found there before a command.
#[cfg(unix)]
pub(crate) fn led_to_below(later: &Later, folder: &Path) -> Vec<PathBuf> {
    let found = find(later, &[folder.to_owned()], &[], true).there;
    let entries = found.iter().filter(|place| place.ends_with(".git"));
    let repositories = entries.filter_map(|entry| entry.parent());
    repositories
        .flat_map(|repository| led_to_by_git(repository, later.home.as_deref()))
        .collect()
}

/// As commands are not confined there.
#[cfg(not(unix))]
pub(crate) fn led_to_below(_later: &Later, _folder: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// What a setting names, if git acts on it by itself or runs it.
fn names(section: &str, key: &str, value: &[u8]) -> Option<Names> {
    Some(match (section, key) {
        ("core", "hookspath" | "attributesfile") | ("init", "templatedir") => Names::Place,
        ("include" | "includeif", "path") => Names::Settings,
        ("alias", _) | ("submodule", "update") => return value.starts_with(b"!").then_some(Names::Words),
        ("pager", _)
        | ("core", "fsmonitor" | "sshcommand" | "editor" | "pager" | "askpass" | "gitproxy" | "alternaterefscommand")
        | ("filter", "clean" | "smudge" | "process")
        | ("diff", "command" | "textconv" | "external")
        | ("merge", "driver")
        | ("gpg", "program" | "defaultkeycommand")
        | ("credential", "helper")
        | ("sequence", "editor")
        | ("difftool" | "mergetool" | "browser" | "man" | "guitool", "cmd" | "path")
        | ("interactive", "difffilter")
        | ("remote", "uploadpack" | "receivepack")
        | ("uploadpack", "packobjectshook")
        | ("hook" | "trailer" | "tar", "command" | "cmd")
        | ("sendemail", "tocmd" | "cccmd" | "headercmd" | "sendmailcmd" | "smtpserver")
        | ("imap", "tunnel") => Names::Words,
        _ => return None,
    })
}

/// Sections without what is named in them, keys (both without case) and values, as git reads them: only a value goes on in the
/// next line behind a backslash, a remark ends with its own.
fn entries(text: &[u8]) -> Vec<(String, String, Vec<u8>)> {
    let mut entries = Vec::new();
    let mut section = String::new();
    let mut rest = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    while let [first, behind @ ..] = rest {
        match first {
            b'#' | b';' => rest = from_first(behind, b"\n"),
            // What follows a head on its line belongs to it.
            b'[' => (section, rest) = head(behind),
            space if space.is_ascii_whitespace() => rest = behind,
            _ => {
                let behind = from_first(rest, b"=\n");
                let key = lower(rest[..rest.len() - behind.len()].trim_ascii());
                rest = behind;
                if let Some(given) = behind.strip_prefix(b"=") {
                    let (value, behind) = value(given);
                    entries.push((section.clone(), key, value));
                    rest = behind;
                }
            }
        }
    }
    entries
}

/// The text from the first of these bytes on.
fn from_first<'t>(text: &'t [u8], bytes: &[u8]) -> &'t [u8] {
    let at = text.iter().position(|byte| bytes.contains(byte));
    &text[at.unwrap_or(text.len())..]
}

fn lower(text: &[u8]) -> String {
    String::from_utf8_lossy(text).to_ascii_lowercase()
}

/// The section that a head names, and what is behind the head. A bracket in quotes belongs to the name.
fn head(text: &[u8]) -> (String, &[u8]) {
    let name = &text[..text.len() - from_first(text, b" \t\r\n\".]").len()];
    let (mut rest, mut quoted) = (text, false);
    while let [byte, behind @ ..] = rest {
        match byte {
            b'\n' => break,
            b'"' => quoted = !quoted,
            b']' if !quoted => {
                rest = behind;
                break;
            }
            _ => {}
        }
        let escapes = quoted && *byte == b'\\';
        rest = behind.get(usize::from(escapes)..).unwrap_or_default();
    }
    (lower(name), rest)
}

/// A value without its quotes, its escapes and the remark behind it, and what is behind its line.
fn value(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut value = Vec::new();
    // As far as no blanks end it.
    let mut kept = 0;
    let (mut quoted, mut remark) = (false, false);
    let mut rest = text;
    while let Some((byte, behind)) = next(rest) {
        rest = behind;
        match byte {
            b'\n' => break,
            _ if remark => continue,
            b'#' | b';' if !quoted => {
                remark = true;
                continue;
            }
            space if space.is_ascii_whitespace() && !quoted => {
                if !value.is_empty() {
                    value.push(space);
                }
                continue;
            }
            b'"' => quoted = !quoted,
            b'\\' => {
                let Some((escaped, behind)) = next(rest) else { break };
                rest = behind;
                match escaped {
                    b'\n' => {}
                    b'n' => value.push(b'\n'),
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    plain => value.push(plain),
                }
            }
            plain => value.push(plain),
        }
        kept = value.len();
    }
    value.truncate(kept);
    (value, rest)
}

/// The first byte, a line end of either kind as one, and what is behind it.
fn next(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [b'\r', b'\n', rest @ ..] => Some((b'\n', rest)),
        [byte, rest @ ..] => Some((*byte, rest)),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_settings_lead() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let top = folder.path();
        let git = top.join(".git");
        fs::create_dir(&git).expect("mkdir");
        fs::write(
            git.join("config"),
            "[core]\n\tbare = false\n\tHooksPath = \"tools/my hooks\" ; ours\n[include] path = ../one.inc # more\n\
             [includeIf \"onbranch:x\"]\n\tpath = ../t\\\n  wo.inc\n[remote \"path\"]\n\tpath = no\n[include]\n\tpath = ~/no\n",
        )
        .expect("write");
        fs::write(
            top.join("one.inc"),
            "[CORE]\nhookspath=hooks\n[include]\npath=one.inc\npath=deep/three.inc\n",
        )
        .expect("write");
        let found = steering(std::slice::from_ref(&git), top, None);
        let expected = [
            top.join("tools/my hooks"),
            git.join("../one.inc"),
            git.join("../t  wo.inc"),
            top.join("hooks"),
            git.join("../one.inc")
                .parent()
                .expect("a folder")
                .join("deep/three.inc"),
        ];
        for place in &expected {
            assert!(found.contains(place), "{place:?} is not among {found:?}");
        }
        assert!(found.iter().all(|place| !place.ends_with("no")), "{found:?}");
    }

    #[test]
    fn what_is_set_by_table() {
        for (text, expected) in [
            ("[core]\nhooksPath = a b ; ours\n", &[("core", "hookspath", "a b")][..]),
            ("[core] # see c:\\dir\\\nhooksPath = a\n", &[("core", "hookspath", "a")]),
            (
                "# [core]\\\n[core]\n;\\\nhooksPath = a\n",
                &[("core", "hookspath", "a")],
            ),
            (
                "[core]\nx = y ; \\\nhooksPath = a",
                &[("core", "x", "y"), ("core", "hookspath", "a")],
            ),
            ("[core]\r\nhooksPath = a\\\r\nb\r\n", &[("core", "hookspath", "ab")]),
            ("[core]\nhooksPath = \"a # b\" # c", &[("core", "hookspath", "a # b")]),
            (
                "[core]\nhooksPath = \"a \\\"b\\\" \" ",
                &[("core", "hookspath", "a \"b\" ")],
            ),
            ("[core]\nhooksPath = a\\tb\\\\", &[("core", "hookspath", "a\tb\\")]),
            ("[filter \"a]b\"] clean = x", &[("filter", "clean", "x")]),
            ("[filter \"a\\\"]b\"] clean = x\n", &[("filter", "clean", "x")]),
            ("[Filter.Old]clean = x", &[("filter", "clean", "x")]),
            ("\u{feff}[core]bare\nhooksPath=a", &[("core", "hookspath", "a")]),
            ("[core\nhooksPath = a\n[", &[("core", "hookspath", "a")]),
            ("[\"\\", &[]),
        ] {
            let found = entries(text.as_bytes());
            let found = found
                .iter()
                .map(|(section, key, value)| (section.as_str(), key.as_str(), str::from_utf8(value).expect("text")));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text:?}");
        }
    }

    #[test]
    fn files_that_include_each_other_have_an_end() {
        let folder = tempfile::tempdir().expect("temporary folder");
        for (name, other) in [("config", "a"), ("a", "b"), ("b", "a")] {
            fs::write(folder.path().join(name), format!("[include]\npath = {other}\n")).expect("write");
        }
        let found = steering(&[folder.path().to_owned()], folder.path(), None);
        let own = found.iter().filter(|place| place.starts_with(folder.path()));
        assert_eq!(own.count(), 2, "{found:?}");
    }

    #[test]
    fn programs_and_the_settings_of_a_person() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let top = folder.path().join("work");
        let (home, git, own) = (
            folder.path().join("home"),
            top.join(".git"),
            top.join(".git/worktrees/x"),
        );
        for folder in [&home, &own, &top.join("tools"), &top.join("src")] {
            fs::create_dir_all(folder).expect("mkdir");
        }
        for name in ["tools/clean.sh", "fsm", "one.sh", "src/x"] {
            fs::write(top.join(name), "x").expect("write");
        }
        fs::write(
            git.join("config"),
            "[core]\nfsmonitor = fsm\nsshCommand = ssh -i key\n[filter \"x\"]\nclean = \"sh tools/clean.sh %f\"\n[remote \"o\"]\nurl = \
             ../src/x\n[alias]\na = !cd src && one.sh\nb = log src/x\n[diff \"y\"]\ntextconv = ./absent\n",
        )
        .expect("write");
        fs::write(own.join("config.worktree"), "[core]\nattributesFile = attributes\n").expect("write");
        fs::write(
            home.join(".gitconfig"),
            "[core]\nhooksPath = .githooks\n[include]\npath = ~/more.inc\n",
        )
        .expect("write");
        let mut found = steering(&[own, git], &top, Some(&home));
        found.retain(|place| place.starts_with(folder.path()));
        found.sort();
        let mut expected =
            ["fsm", "tools/clean.sh", "one.sh", "./absent", "attributes", ".githooks"].map(|name| top.join(name));
        expected.sort();
        let mut all = vec![home.join("more.inc")];
        all.extend(expected);
        all.sort();
        assert_eq!(found, all);
    }
}
