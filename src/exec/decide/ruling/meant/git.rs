//! What a command of git means by another name: an alias of the settings, and sub-commands that push.

use super::{MOST_DASHED, anything, words_of};
use crate::exec::command::base_name;
use crate::exec::protected::aliased;
use crate::exec::rules::UNKNOWN;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Options in front of the sub-command whose value is the next word.
const VALUED: &[&str] = &[
    "-C",
    "-c",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];
/// Sub-commands that push, each by its words.
const PUSHING: &[&[&str]] = &[&["send-pack"], &["http-push"], &["subtree", "push"], &["lfs", "push"]];
/// Variables by which settings come with the command itself, or by which they lie elsewhere: any sub-command may be an alias then.
#[rustfmt::skip]
const SETTING: &[&str] = &[
    "GIT_COMMON_DIR", "GIT_CONFIG_COUNT", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_SYSTEM", "GIT_DIR", "GIT_EXEC_PATH",
    "HOME",
];
/// Options in front of the sub-command that do the same.
const SETTING_OPTIONS: &[&str] = &["--config-env", "--exec-path=", "--git-dir", "include"];
/// So many folders are looked into that a command goes to.
const MOST_FOLDERS: usize = 8;
/// So often an alias is followed that stands for another one.
const MOST_ALIASES: usize = 4;
/// Sub-commands of git itself, which no alias takes the place of.
#[rustfmt::skip]
const OWN: &[&str] = &[
    "add", "am", "apply", "archive", "bisect", "blame", "branch", "cat-file", "checkout", "cherry-pick", "clean", "clone", "commit",
    "config", "describe", "diff", "fetch", "for-each-ref", "format-patch", "gc", "grep", "init", "log", "ls-files", "ls-remote",
    "ls-tree", "merge", "merge-base", "mv", "notes", "pull", "push", "rebase", "reflog", "remote", "reset", "restore", "rev-list",
    "rev-parse", "revert", "rm", "shortlog", "show", "stash", "status", "submodule", "switch", "symbolic-ref", "tag", "worktree",
];

/// Where git would run, and with which settings.
pub(super) struct Standing<'a> {
    pub(super) folders: Vec<PathBuf>,
    pub(super) home: Option<&'a Path>,
    /// Whether some of them come with the command.
    pub(super) brings_settings: bool,
}

/// The folder of a command, and those that it goes to.
pub(super) fn folders<'c>(commands: impl Iterator<Item = Cow<'c, [String]>>, cwd: &Path) -> Vec<PathBuf> {
    let mut found = vec![cwd.to_owned()];
    for command in commands {
        let goes = ["cd", "pushd"].contains(&base_name(command.first().map_or("", String::as_str)));
        let to = command.iter().skip(1).find(|word| !word.starts_with('-'));
        if let Some(folder) = to.filter(|_| goes).map(|to| cwd.join(to))
            && found.len() < MOST_FOLDERS
            && !found.contains(&folder)
        {
            found.push(folder);
        }
    }
    found
}

impl Standing<'_> {
    /// What else commands mean, those among them that are of git; an alias may stand for another.
    pub(super) fn all_meant<'c>(&self, commands: impl Iterator<Item = Cow<'c, [String]>>) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        let first = commands.flat_map(|command| self.meant(&command));
        let mut level: Vec<Vec<String>> = first.take(MOST_DASHED + 1).collect();
        for _ in 0..MOST_ALIASES {
            if level.len() > MOST_DASHED {
                break;
            }
            let of_git = level.iter().flat_map(|words| commands_of_git(words));
            let next = of_git.flat_map(|command| self.meant(command));
            let next = next.take(MOST_DASHED + 1).collect();
            found.append(&mut level);
            level = next;
        }
        // What these stand for is not followed.
        if !level.is_empty() {
            found.push(anything());
        }
        found
    }

    /// What else a command means, if it is one of git. With settings that come with it, anything that is not git's own.
    pub(super) fn meant(&self, command: &[String]) -> Vec<Vec<String>> {
        let Some((program, arguments)) = command.split_first() else {
            return Vec::new();
        };
        if base_name(program) != "git" {
            return Vec::new();
        }
        let is_valued = |at: usize| at > 0 && VALUED.contains(&arguments[at - 1].as_str());
        let Some(at) = (0..arguments.len()).find(|at| !arguments[*at].starts_with('-') && !is_valued(*at)) else {
            return Vec::new();
        };
        let (front, sub_command, rest) = (&arguments[..at], &arguments[at], &arguments[at + 1..]);
        let git = || std::iter::once("git".to_owned());
        // Options may stand between its words.
        let pushes = |words: &&&[&str]| {
            words[0] == sub_command && words[1..].iter().all(|word| rest.iter().any(|one| one == word))
        };
        if let Some(words) = PUSHING.iter().find(pushes) {
            let behind = rest.iter().filter(|one| !words[1..].contains(&one.as_str())).cloned();
            return vec![git().chain(["push".to_owned()]).chain(behind).collect()];
        }
        if OWN.contains(&sub_command.as_str()) {
            return Vec::new();
        }
        let sets = |word: &String| {
            SETTING_OPTIONS
                .iter()
                .any(|option| word.to_lowercase().starts_with(option))
        };
        if self.brings_settings || front.iter().any(sets) {
            return vec![git().chain(anything()).collect()];
        }
        // The folder that it is told to be in may be another repository.
        let told = front
            .iter()
            .position(|word| word == "-C")
            .and_then(|at| front.get(at + 1));
        let folders = self.folders.iter().map(|folder| match told {
            Some(told) => folder.join(told),
            None => folder.clone(),
        });
        let aliases = folders.flat_map(|folder| aliased(sub_command, &folder, self.home));
        let meant = aliases.map(|alias| match alias.strip_prefix('!') {
            Some(text) => words_of(text).into_iter().chain(rest.iter().cloned()).collect(),
            None => git().chain(words_of(&alias)).chain(rest.iter().cloned()).collect(),
        });
        meant.collect()
    }
}

/// Where among words one of git's sub-commands begins that is known.
fn commands_of_git(words: &[String]) -> impl Iterator<Item = &[String]> {
    let begins = |at: &usize| base_name(&words[*at]) == "git" && words.get(at + 1).is_some_and(|word| word != UNKNOWN);
    (0..words.len()).filter(begins).map(|at| &words[at..])
}

/// Whether a text sets settings of git for the command.
pub(super) fn brings_settings(text: &str) -> bool {
    let is_set = |name: &&str| {
        let behind = text.match_indices(*name).map(|(at, _)| &text[at + name.len()..]);
        let mut values = behind.filter_map(|behind| behind.strip_prefix('='));
        values.any(|value| !value.starts_with("/dev/null"))
    };
    SETTING.iter().any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_by_table() {
        let dir = tempfile::tempdir().expect("a folder");
        let git = dir.path().join(".git");
        for folder in ["objects", "refs"] {
            std::fs::create_dir_all(git.join(folder)).expect("mkdir");
        }
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        let settings = "[alias]\n\tp = push --force\n\tSh = \"!git push; rm x\"\n\tst = status\n\ta = b\n\tb = \"!cd x; git st\"\n\tc = c\n";
        std::fs::write(git.join("config"), settings).expect("written");
        let standing = |brings_settings: bool| Standing {
            folders: vec![dir.path().to_owned()],
            home: None,
            brings_settings,
        };
        for (command, expected) in [
            ("git p origin", &["git push --force origin"][..]),
            ("git P", &["git push --force"]),
            ("git -c a.b=c sh y", &["git push rm x y"]),
            ("git st", &["git status"]),
            ("git commit -m p", &[]),
            ("git add p", &[]),
            ("git send-pack o", &["git push o"]),
            ("git subtree push -P x", &["git push -P x"]),
            ("git subtree --prefix=x push o", &["git push --prefix=x o"]),
            ("git subtree pull", &[]),
            ("hg p", &[]),
            ("git", &[]),
        ] {
            let words = words_of(command);
            let found = standing(false).meant(&words);
            let found: Vec<String> = found.iter().map(|words| words.join(" ")).collect();
            assert_eq!(found, expected, "{command}");
        }
        for (command, expected) in [
            ("git a", &["git b", "cd x git st", "git status"][..]),
            ("ls", &[]),
            // It would never end.
            ("git c", &["git c", "git c", "git c", "git c", "$"]),
        ] {
            let found = standing(false).all_meant(std::iter::once(Cow::Owned(words_of(command))));
            let said = |words: &Vec<String>| match words[0].as_str() {
                UNKNOWN => UNKNOWN.to_owned(),
                _ => words.join(" "),
            };
            assert_eq!(found.iter().map(said).collect::<Vec<_>>(), expected, "{command}");
        }
        for (command, brings_settings, count) in [
            ("git x", true, 1),
            ("git status", true, 0),
            ("git --git-dir=x p", false, 1),
            ("git -c include.path=x y", false, 1),
            ("git --exec-path=x y", false, 1),
            ("git y", false, 0),
        ] {
            assert_eq!(
                standing(brings_settings).meant(&words_of(command)).len(),
                count,
                "{command}"
            );
        }
        for (text, expected) in [
            ("GIT_CONFIG_COUNT=1 git x", true),
            ("export GIT_CONFIG_GLOBAL=/tmp/x; git x", true),
            ("GIT_CONFIG_GLOBAL=/dev/null git x", false),
            ("GIT_CONFIG_NOSYSTEM=1 git x", false),
        ] {
            assert_eq!(brings_settings(text), expected, "{text}");
        }
    }
}
