//! The person's repository, which is only read. Whatever its own configuration says, no program of it is started: no
//! hook, no file-system monitor, no filter, no external diff.

use super::{GitError, OwnRun, Stop, path_of_bytes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Variables of the person that git needs to find itself and the person's own settings.
const NEEDED: &[&str] = &["PATH", "HOME", "XDG_CONFIG_HOME"];

/// Settings of every run, whatever the files say.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "color.ui=false",
    "log.showSignature=false",
];

/// The repository around a folder. Each question is a run of git, which is waited for.
#[derive(Clone, Debug)]
pub struct Reading {
    folder: PathBuf,
    env: BTreeMap<String, String>,
    stop: Stop,
    settings: Vec<String>,
}

impl Reading {
    /// Looks for the repository around `folder`. `env` is the person's environment, of which git gets what it needs. Every
    /// run ends with `stop`.
    ///
    /// # Errors
    /// There is no work tree around the folder, or no git.
    pub fn open(folder: &Path, env: &BTreeMap<String, String>, stop: &Stop) -> Result<Self, GitError> {
        let needed = env.iter().filter(|(name, _)| NEEDED.contains(&name.as_str()));
        let mut reading = Self {
            folder: folder.to_owned(),
            env: needed.map(|(name, value)| (name.clone(), value.clone())).collect(),
            stop: stop.clone(),
            settings: SETTINGS.iter().map(|one| (*one).to_owned()).collect(),
        };
        let top = reading.line(&["rev-parse", "--show-toplevel"])?;
        reading.folder = PathBuf::from(top);
        reading.settings.extend(reading.without_filters());
        Ok(reading)
    }

    /// The same where what git notes goes to a folder aside, with its own copy of the index; `objects` are the repository's.
    #[must_use]
    pub fn noting_in(&self, aside: &Path, objects: &Path) -> Self {
        let mut noting = self.clone();
        let own = [
            ("GIT_INDEX_FILE", aside.join("index")),
            ("GIT_OBJECT_DIRECTORY", aside.to_owned()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects.to_owned()),
        ];
        let own = own.map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned()));
        noting.env.extend(own);
        noting
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        &self.folder
    }

    /// What git prints.
    ///
    /// # Errors
    /// Git refuses, in its own words, or was stopped.
    pub fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        let mut command = std::process::Command::new("git");
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(&self.env)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        OwnRun::start(command, arguments, &self.stop)?.finish()
    }

    /// The first line of what git prints; an error where it prints nothing.
    pub fn line(&self, arguments: &[&str]) -> Result<String, GitError> {
        let answer = self.ask(arguments)?;
        let text = String::from_utf8_lossy(&answer);
        match text.lines().next() {
            Some(line) if !line.is_empty() => Ok(line.to_owned()),
            _ => Err(GitError::Failed {
                doing: arguments.first().copied().unwrap_or_default().to_owned(),
                message: "it said nothing".to_owned(),
            }),
        }
    }

    /// The whole id of the commit that a name stands for; none where it stands for none.
    pub fn commit(&self, name: &str) -> Option<String> {
        let wanted = format!("{name}^{{commit}}");
        self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
            .ok()
    }

    /// Paths that git prints, ended by NULs, below the top of the work tree.
    pub fn paths(&self, arguments: &[&str]) -> Result<Vec<PathBuf>, GitError> {
        let answer = self.ask(arguments)?;
        let names = answer.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| self.folder.join(path_of_bytes(name))).collect())
    }

    /// The filters that the repository's own configuration names are programs that git would start to compare a file.
    fn without_filters(&self) -> Vec<String> {
        let arguments = [
            "config",
            "--show-scope",
            "--includes",
            "--name-only",
            "--get-regexp",
            "^filter\\.",
        ];
        let Ok(answer) = self.ask(&arguments) else {
            // There is none.
            return Vec::new();
        };
        let text = String::from_utf8_lossy(&answer).into_owned();
        let local = text.lines().filter_map(|line| {
            let (scope, name) = line.split_once('\t')?;
            matches!(scope, "local" | "worktree").then_some(name)
        });
        let mut drivers: Vec<&str> = local
            .filter_map(|name| name.get("filter.".len()..)?.rsplit_once('.'))
            .map(|(driver, _)| driver)
            .collect();
        drivers.sort_unstable();
        drivers.dedup();
        let off = |driver: &str| {
            ["clean=", "smudge=", "process=", "required=false"].map(|setting| format!("filter.{driver}.{setting}"))
        };
        drivers.into_iter().flat_map(off).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::git::for_tests as git;

    fn env() -> BTreeMap<String, String> {
        let path = std::env::var("PATH").expect("a PATH");
        [("PATH".to_owned(), path)].into()
    }

    #[test]
    fn a_repository_is_read_and_starts_no_program_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        git(&root, &["init", "-q", "-b", "main"]);
        std::fs::create_dir(root.join("in")).expect("a folder");
        std::fs::write(root.join("in/a b.txt"), "1\n").expect("a file");
        std::fs::write(root.join(".gitattributes"), "*.txt filter=evil diff=evil\n").expect("a file");
        git(&root, &["add", "."]);
        git(&root, &["commit", "-qm", "one"]);
        let mark = root.join(".git/started");
        let program = format!("sh -c 'echo x > {}; cat'", mark.display());
        for name in [
            "filter.evil.clean",
            "filter.evil.process",
            "diff.evil.textconv",
            "core.fsmonitor",
            "diff.external",
        ] {
            git(&root, &["config", name, &program]);
        }
        git(&root, &["config", "filter.evil.required", "true"]);
        std::fs::write(root.join("in/a b.txt"), "2\n").expect("a file");
        let reading = Reading::open(&root.join("in"), &env(), &Stop::default()).expect("a repository");
        assert_eq!(reading.top(), root);
        let changed = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "HEAD"];
        assert_eq!(reading.paths(&changed).expect("a list"), [root.join("in/a b.txt")]);
        assert!(!mark.exists(), "a program of the repository was started");
        let head = reading.commit("HEAD").expect("a commit");
        assert_eq!(reading.commit(&head[..9]).as_deref(), Some(&head[..]));
        for none in ["nothing", "-x", "--all", "HEAD~7", "", "a b", "HEAD:in"] {
            assert_eq!(reading.commit(none), None, "{none}");
        }
        let stop = Stop::default();
        stop.stop();
        let stopped = Reading::open(&root, &env(), &stop).map(drop);
        assert_eq!(stopped, Err(GitError::Stopped));
    }

    #[test]
    fn outside_of_a_repository_git_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = Reading::open(folder.path(), &env(), &Stop::default()).map(drop);
        let words = refused.expect_err("no repository").to_string();
        assert!(words.contains("not a git repository"), "{words}");
    }
}
