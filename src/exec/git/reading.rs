//! The person's repository, which is only read. Whatever its own configuration says, no program of it is started: no
//! hook, no file-system monitor, no filter, no external diff.

use super::question::Question;
use super::{GitError, Stop, path_of_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The repository around a folder. Each question is a run of git, which is waited for.
#[derive(Clone, Debug)]
pub struct Reading {
    git: Question,
    stop: Stop,
}

impl Reading {
    /// Looks for the repository around `folder`. `env` is the person's environment, of which git gets what it needs. Every
    /// run ends with `stop`.
    ///
    /// # Errors
    /// There is no work tree around the folder, or no git; or its filters cannot be switched off.
    pub fn open(folder: &Path, env: &BTreeMap<String, String>, stop: &Stop) -> Result<Self, GitError> {
        let mut reading = Self {
            git: Question::new(folder, env),
            stop: stop.clone(),
        };
        let top = reading.line(&["rev-parse", "--show-toplevel"])?;
        reading.git.folder = PathBuf::from(top);
        reading.git.settings = reading.without_filters()?;
        Ok(reading)
    }

    /// The same where what git notes goes to a folder aside, with its own copy of the index; `objects` are the repository's.
    #[must_use]
    pub fn noting_in(&self, aside: &Path, objects: &Path) -> Self {
        Self {
            git: self.git.noting_in(aside, objects),
            stop: self.stop.clone(),
        }
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        &self.git.folder
    }

    /// What git prints.
    ///
    /// # Errors
    /// Git refuses, in its own words, or was stopped.
    pub fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        self.git.ask(arguments, &self.stop)
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
        Ok(names.map(|name| self.git.folder.join(path_of_bytes(name))).collect())
    }

    /// The filters that the repository's own configuration names are programs that git would start to compare a file.
    ///
    /// # Errors
    /// Git does not say which they are, or one has a name that cannot be given to a run.
    fn without_filters(&self) -> Result<Vec<String>, GitError> {
        // All settings: a search for those alone would fail where there are none, as it does where something is wrong.
        let answer = self.ask(&["config", "--list", "--show-scope", "--includes", "--name-only", "-z"])?;
        let mut words = answer.split(|byte| *byte == 0);
        let mut drivers = BTreeSet::new();
        while let (Some(scope), Some(name)) = (words.next(), words.next()) {
            let driver = name.strip_prefix(b"filter.").and_then(|rest| {
                let end = rest.iter().rposition(|byte| *byte == b'.')?;
                Some(&rest[..end])
            });
            // Those of the person and of the machine are theirs.
            let is_own = !matches!(scope, b"system" | b"global" | b"command");
            if let Some(driver) = driver.filter(|_| is_own) {
                drivers.insert(switchable(driver)?.to_owned());
            }
        }
        let off = |driver: &str| {
            ["clean=", "smudge=", "process=", "required=false"].map(|setting| format!("filter.{driver}.{setting}"))
        };
        Ok(drivers.iter().flat_map(|driver| off(driver)).collect())
    }
}

/// The name of a filter, if git takes it in a setting on its command line: it ends a setting's name at the first `=`.
fn switchable(driver: &[u8]) -> Result<&str, GitError> {
    let name = std::str::from_utf8(driver).ok().filter(|name| !name.contains('='));
    name.ok_or_else(|| GitError::Failed {
        doing: "config".to_owned(),
        message: format!(
            "the repository names the filter {:?}, which cannot be switched off; rename it",
            String::from_utf8_lossy(driver)
        ),
    })
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

    /// Filters by names that say something else to git where a setting stands, and those of files that are included.
    #[test]
    fn a_filter_that_cannot_be_switched_off_is_not_started() {
        for (driver, is_read) in [("evil", true), ("a.B", true), ("a=b", false), ("a=", false)] {
            for included in [false, true] {
                let folder = tempfile::tempdir().expect("a folder");
                let root = folder.path().canonicalize().expect("a path");
                git(&root, &["init", "-q", "-b", "main"]);
                std::fs::write(root.join("a.txt"), "1\n").expect("a file");
                git(&root, &["add", "."]);
                git(&root, &["commit", "-qm", "one"]);
                let mark = root.join(".git/started");
                let program = format!("sh -c 'echo x > {}; cat'", mark.display());
                let file = match included {
                    false => "config",
                    true => "more",
                };
                let file = root.join(".git").join(file);
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                let table = format!("{text}[filter {driver:?}]\n\tclean = \"{program}\"\n");
                std::fs::write(&file, table).expect("settings");
                if included {
                    git(&root, &["config", "include.path", "more"]);
                }
                let attributes = format!("*.txt filter={driver}\n");
                std::fs::write(root.join(".git/info/attributes"), attributes).expect("attributes");
                std::fs::write(root.join("a.txt"), "2\n").expect("a file");
                let opened = Reading::open(&root, &env(), &Stop::default());
                match is_read {
                    true => {
                        let changed = opened
                            .expect("a repository")
                            .paths(&["diff", "--name-only", "-z", "HEAD"]);
                        assert_eq!(changed.expect("a list"), [root.join("a.txt")], "{driver:?}");
                    }
                    false => {
                        let why = opened.map(drop).expect_err(driver).to_string();
                        assert!(why.contains("filter"), "{driver:?}: {why}");
                    }
                }
                assert!(!mark.exists(), "the filter {driver:?} was started");
            }
        }
        assert!(switchable(b"\xff").is_err());
    }

    #[test]
    fn a_filter_that_cannot_be_switched_off_is_none_to_be_read_with() {
        for (name, is_read) in [
            (&b"x"[..], true),
            (b"a.b", true),
            (b"", true),
            (b"a=b", false),
            (b"\xe9", false),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().canonicalize().expect("a path");
            git(&root, &["init", "-q"]);
            std::fs::write(root.join("x.txt"), "1\n").expect("a file");
            std::fs::write(
                root.join(".gitattributes"),
                [b"* filter=".as_slice(), name, b"\n"].concat(),
            )
            .expect("a file");
            git(&root, &["add", "x.txt"]);
            git(&root, &["commit", "-qm", "one"]);
            let mark = root.join(".git/started");
            let program = format!("\"]\n\tclean = \"sh -c 'echo x > {}; cat'\"\n", mark.display());
            let settings = [b"[filter \"".as_slice(), name, program.as_bytes()].concat();
            // Where others have theirs, as well.
            std::fs::write(root.join(".git/more"), settings).expect("a file");
            git(&root, &["config", "include.path", "more"]);
            std::fs::write(root.join("x.txt"), "2\n").expect("a file");
            let reading = Reading::open(&root, &env(), &Stop::default());
            assert_eq!(reading.is_ok(), is_read, "{name:?}: {reading:?}");
            if let Ok(reading) = reading {
                let changed = reading.paths(&["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "HEAD"]);
                assert_eq!(changed.expect("a list"), [root.join("x.txt")], "{name:?}");
            }
            assert!(!mark.exists(), "{name:?}: the filter was started");
        }
    }

    #[test]
    fn outside_of_a_repository_git_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = Reading::open(folder.path(), &env(), &Stop::default()).map(drop);
        let words = refused.expect_err("no repository").to_string();
        assert!(words.contains("not a git repository"), "{words}");
    }
}
