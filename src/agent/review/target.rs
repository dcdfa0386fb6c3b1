//! What a review is about, found out in the repository before any model is asked: the commits that a target stands for, the
//! files that differ, and the task in words.

use crate::exec::git::{GitError, Reading, Stop};
use crate::protocol::review::ReviewTarget;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files that the task names; the model sees the rest by git.
const MOST_NAMED: usize = 60;
/// Branches that are named in the place of one that is not there.
const MOST_BRANCHES: usize = 10;
/// Characters of a commit's title, and of the person's instructions, where the review is named.
const MOST_TITLE: usize = 72;

/// Something to review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    /// The target with what git knows of it.
    pub(super) target: ReviewTarget,
    /// What is reviewed, so that "Review of …" is a title.
    pub(super) words: String,
    /// The task, for the model.
    pub(super) prompt: String,
    /// Files that differ, absolute; as far as git tells.
    pub(super) files: Vec<PathBuf>,
    /// The top of the work tree.
    pub(super) top: Option<PathBuf>,
}

/// Why there is nothing to review.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Nothing {
    /// The target stands for nothing; words for the person.
    #[error("{0}")]
    Unresolved(String),
    /// All is well, there is just no difference.
    #[error("{0}")]
    Unchanged(String),
}

impl From<GitError> for Nothing {
    fn from(error: GitError) -> Self {
        Self::Unresolved(format!("The changes could not be found out: {error}."))
    }
}

/// What is wrong with a target before anything is looked at.
pub(super) fn check(target: &ReviewTarget) -> Result<(), String> {
    let (text, what) = match target {
        ReviewTarget::UncommittedChanges => return Ok(()),
        ReviewTarget::BaseBranch { branch } => (branch, "the branch to compare with"),
        ReviewTarget::Commit { sha, .. } => (sha, "the commit"),
        ReviewTarget::Custom { instructions } => (instructions, "what is to be looked at"),
    };
    if text.trim().is_empty() {
        return Err(format!("There is nothing to review: say {what}."));
    }
    if text.contains('\0') {
        return Err(format!("{what} holds a NUL character; leave it out."));
    }
    Ok(())
}

/// Finds out what a target stands for in a folder. `unsaved` are open files whose text the disk does not have yet. Runs git and
/// waits for it.
///
/// # Errors
/// It stands for nothing, or nothing differs.
pub(super) fn resolve(
    target: &ReviewTarget,
    cwd: &Path,
    env: &BTreeMap<String, String>,
    unsaved: &[PathBuf],
    stop: &Stop,
) -> Result<Subject, Nothing> {
    if let ReviewTarget::Custom { instructions } = target {
        let instructions = instructions.trim();
        let first = instructions.lines().next().unwrap_or_default();
        return Ok(Subject {
            target: target.clone(),
            words: format!("“{}”", super::answer::cut(first, MOST_TITLE)),
            prompt: format!("Review what the person asks for, in their words:\n\n{instructions}"),
            files: Vec::new(),
            top: Reading::open(cwd, env, stop)
                .ok()
                .map(|reading| reading.top().to_owned()),
        });
    }
    let git = Reading::open(cwd, env, stop).map_err(|error| match error {
        GitError::Failed { message, .. } => Nothing::Unresolved(format!(
            "{} is in no work tree that git can read ({message}), so there are no changes to review. Open a folder of a \
             repository, or review with instructions of your own.",
            cwd.display()
        )),
        other => other.into(),
    })?;
    let look = Look { git: &git, unsaved };
    match target {
        ReviewTarget::BaseBranch { branch } => look.against_branch(branch.trim()),
        ReviewTarget::Commit { sha, title } => look.commit(sha.trim(), title.as_deref()),
        _ => look.uncommitted(),
    }
}

struct Look<'a> {
    git: &'a Reading,
    unsaved: &'a [PathBuf],
}

impl Look<'_> {
    fn uncommitted(&self) -> Result<Subject, Nothing> {
        let head = self.git.commit("HEAD");
        let mut files = match &head {
            Some(_) => self.differing(&["HEAD"])?,
            // Nothing is committed yet, so everything is new.
            None => self.paths(&["ls-files", "-z"])?,
        };
        if head.is_some() {
            // What is staged and taken back in the file since is a change all the same.
            files.extend(self.differing(&["--cached", "HEAD"])?);
        }
        let new = self.new_files()?;
        files.extend(new.iter().cloned());
        files.extend(self.unsaved_here());
        let top = self.git.top().display();
        if files.is_empty() {
            return Err(Nothing::Unchanged(format!(
                "There is nothing to review: {top} has no uncommitted changes."
            )));
        }
        let how = match head {
            Some(_) => "`git status --short` lists them; `git diff HEAD` shows staged and unstaged changes together.",
            None => "Nothing is committed yet, so every file is new: `git diff --cached` shows what is staged.",
        };
        let prompt = format!(
            "Review the uncommitted changes in {top}: what is staged, what is not, and files that git does not know yet. {how}{}{}",
            self.untracked(&new),
            self.named("The files", &files),
        );
        Ok(self.subject(ReviewTarget::UncommittedChanges, "uncommitted changes", prompt, files))
    }

    fn against_branch(&self, branch: &str) -> Result<Subject, Nothing> {
        let head = self.head()?;
        let (name, commit) = self.branch(branch)?;
        let base = self.git.line(&["merge-base", &head, &commit]).map_err(|_| {
            Nothing::Unresolved(format!(
                "The work in {} and {name} have no commit in common, so there is nothing to compare. Name another branch.",
                self.git.top().display()
            ))
        })?;
        let mut files = self.differing(&[&base])?;
        let new = self.new_files()?;
        files.extend(new.iter().cloned());
        files.extend(self.unsaved_here());
        if files.is_empty() {
            return Err(Nothing::Unchanged(format!(
                "There is nothing to review: nothing has changed since the work left {name}."
            )));
        }
        let prompt = format!(
            "Review what was changed since the work left the branch {name}, committed or not. Both have commit {base} in common: \
             `git diff {base}` shows the whole change, `git log --oneline {base}..HEAD` its commits.{}{}",
            self.untracked(&new),
            self.named("The files", &files),
        );
        let target = ReviewTarget::BaseBranch {
            branch: branch.to_owned(),
        };
        Ok(self.subject(target, &format!("changes against {name}"), prompt, files))
    }

    fn commit(&self, name: &str, title: Option<&str>) -> Result<Subject, Nothing> {
        let Some(sha) = self.git.commit(name) else {
            let why = format!(
                "There is no commit {name} in {}. `git log --oneline` lists those that there are.",
                self.git.top().display()
            );
            return Err(Nothing::Unresolved(why));
        };
        let title = title
            .map(str::trim)
            .filter(|title| !title.is_empty())
            .map(str::to_owned);
        let title = title.or_else(|| self.git.line(&["log", "-1", "--format=%s", &sha]).ok());
        let parent = self.git.commit(&format!("{sha}^1"));
        let files: BTreeSet<PathBuf> = match &parent {
            Some(parent) => self.differing(&[parent, &sha])?,
            None => self.paths(&["diff-tree", "--root", "-r", "--no-commit-id", "--name-only", "-z", &sha])?,
        };
        let short = &sha[..sha.len().min(12)];
        if files.is_empty() {
            return Err(Nothing::Unchanged(format!(
                "There is nothing to review: commit {short} changes no file."
            )));
        }
        let how = match &parent {
            Some(parent) => format!("`git diff {parent} {sha}`"),
            None => format!("`git show {sha}`"),
        };
        let called = title
            .as_deref()
            .map(|title| format!(" (\"{title}\")"))
            .unwrap_or_default();
        let prompt = format!(
            "Review what commit {sha}{called} changed. {how} shows it. Later commits may have changed the same files: judge the \
             commit, and give line numbers of the files as they stand now.{}",
            self.named("The files", &files),
        );
        let words = match &title {
            Some(title) => format!("commit {short}: {}", super::answer::cut(title, MOST_TITLE)),
            None => format!("commit {short}"),
        };
        Ok(self.subject(ReviewTarget::Commit { sha, title }, &words, prompt, files))
    }

    fn subject(&self, target: ReviewTarget, words: &str, prompt: String, files: BTreeSet<PathBuf>) -> Subject {
        Subject {
            target,
            words: words.to_owned(),
            prompt,
            files: files.into_iter().collect(),
            top: Some(self.git.top().to_owned()),
        }
    }

    fn head(&self) -> Result<String, Nothing> {
        self.git.commit("HEAD").ok_or_else(|| {
            Nothing::Unresolved(format!(
                "Nothing is committed in {} yet, so there is no branch to compare with. Review the uncommitted changes instead.",
                self.git.top().display()
            ))
        })
    }

    /// The name and the commit of a branch. Where the branch that it follows elsewhere is ahead of it, that one counts: the
    /// work was begun from there.
    fn branch(&self, branch: &str) -> Result<(String, String), Nothing> {
        let remote = format!("refs/remotes/origin/{branch}");
        let names = [branch.to_owned(), remote];
        let found = names.iter().find_map(|name| Some((name, self.git.commit(name)?)));
        let Some((name, commit)) = found else {
            let there = self.branches();
            let instead = match there.is_empty() {
                true => String::new(),
                false => format!(" There are: {}.", there.join(", ")),
            };
            return Err(Nothing::Unresolved(format!(
                "There is no branch {branch} in {}.{instead}",
                self.git.top().display()
            )));
        };
        let name = name.strip_prefix("refs/remotes/").unwrap_or(name).to_owned();
        let local = format!("refs/heads/{branch}");
        let follows = self.git.line(&["for-each-ref", "--format=%(upstream:short)", &local]);
        let ahead = follows.ok().and_then(|upstream| {
            let ahead = self.git.commit(&upstream).filter(|ahead| *ahead != commit)?;
            let is_behind = ["merge-base", "--is-ancestor", &commit, &ahead];
            self.git.ask(&is_behind).is_ok().then_some((upstream, ahead))
        });
        Ok(ahead.unwrap_or((name, commit)))
    }

    fn branches(&self) -> Vec<String> {
        let count = format!("--count={MOST_BRANCHES}");
        let arguments = [
            "for-each-ref",
            "--format=%(refname:short)",
            "--sort=-committerdate",
            &count,
            "refs/heads",
            "refs/remotes",
        ];
        let answer = self.git.ask(&arguments).unwrap_or_default();
        let text = String::from_utf8_lossy(&answer).into_owned();
        text.lines().map(str::to_owned).collect()
    }

    fn differing(&self, between: &[&str]) -> Result<BTreeSet<PathBuf>, Nothing> {
        let mut arguments = vec![
            "diff",
            "--name-only",
            "-z",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            // To look into them would start git with their own configuration.
            "--ignore-submodules=dirty",
        ];
        arguments.extend(between);
        arguments.push("--");
        self.paths(&arguments)
    }

    fn new_files(&self) -> Result<BTreeSet<PathBuf>, Nothing> {
        self.paths(&["ls-files", "--others", "--exclude-standard", "-z"])
    }

    fn paths(&self, arguments: &[&str]) -> Result<BTreeSet<PathBuf>, Nothing> {
        Ok(self.git.paths(arguments)?.into_iter().collect())
    }

    /// Files with text that only the editor has. They are changes that git does not see.
    fn unsaved_here(&self) -> impl Iterator<Item = PathBuf> {
        let here = self.unsaved.iter().filter(|path| path.starts_with(self.git.top()));
        here.cloned()
    }

    fn untracked(&self, new: &BTreeSet<PathBuf>) -> String {
        match new.is_empty() {
            true => String::new(),
            false => format!(
                " Git does not know these files yet, so read them whole: {}.",
                self.list(new.iter())
            ),
        }
    }

    fn named(&self, what: &str, files: &BTreeSet<PathBuf>) -> String {
        let mut words = format!("\n\n{what}: {}.", self.list(files.iter()));
        let unsaved: Vec<PathBuf> = self.unsaved_here().collect();
        if !unsaved.is_empty() {
            words.push_str(&format!(
                "\n\nThe person has unsaved text in these files, which commands do not see and read_file does: {}.",
                self.list(unsaved.iter())
            ));
        }
        words
    }

    fn list<'p>(&self, paths: impl ExactSizeIterator<Item = &'p PathBuf>) -> String {
        let more = paths.len().saturating_sub(MOST_NAMED);
        let short = |path: &PathBuf| path.strip_prefix(self.git.top()).unwrap_or(path).display().to_string();
        let names: Vec<String> = paths.take(MOST_NAMED).map(short).collect();
        match more {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::git::for_tests as git;
    use std::fs::write;

    struct Repository {
        _folder: tempfile::TempDir,
        root: PathBuf,
    }

    impl Repository {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().canonicalize().expect("a path");
            git(&root, &["init", "-q", "-b", "main"]);
            Self { _folder: folder, root }
        }

        fn commit(&self, file: &str, text: &str) -> String {
            self.write(file, text);
            git(&self.root, &["add", "."]);
            git(&self.root, &["commit", "-qm", &format!("Write {file}")]);
            git(&self.root, &["rev-parse", "HEAD"]).trim().to_owned()
        }

        fn write(&self, file: &str, text: &str) {
            write(self.root.join(file), text).expect("a file");
        }

        fn resolve(&self, target: ReviewTarget) -> Result<Subject, Nothing> {
            self.resolve_with(target, &[])
        }

        fn resolve_with(&self, target: ReviewTarget, unsaved: &[PathBuf]) -> Result<Subject, Nothing> {
            let path = std::env::var("PATH").expect("a PATH");
            let env = [("PATH".to_owned(), path)].into();
            check(&target).expect("a sound target");
            resolve(&target, &self.root, &env, unsaved, &Stop::default())
        }

        fn names(&self, found: &Subject) -> Vec<String> {
            let inside = |path: &PathBuf| path.strip_prefix(&self.root).expect("inside").display().to_string();
            found.files.iter().map(inside).collect()
        }
    }

    fn branch(name: &str) -> ReviewTarget {
        ReviewTarget::BaseBranch { branch: name.into() }
    }

    fn commit(sha: &str) -> ReviewTarget {
        let (sha, title) = (sha.to_owned(), None);
        ReviewTarget::Commit { sha, title }
    }

    fn unresolved(found: Result<Subject, Nothing>) -> String {
        match found {
            Err(Nothing::Unresolved(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    fn unchanged(found: Result<Subject, Nothing>) -> String {
        match found {
            Err(Nothing::Unchanged(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn uncommitted_changes_are_all_that_the_last_commit_does_not_hold() {
        let place = Repository::new();
        assert!(unchanged(place.resolve(ReviewTarget::UncommittedChanges)).contains("no uncommitted changes"));
        place.write("first.txt", "1\n");
        let found = place.resolve(ReviewTarget::UncommittedChanges).expect("a new file");
        assert_eq!(place.names(&found), ["first.txt"]);
        assert!(found.prompt.contains("Nothing is committed yet"), "{}", found.prompt);
        place.commit("first.txt", "1\n");
        place.commit("second.txt", "1\n");
        place.commit("gone.txt", "1\n");
        unchanged(place.resolve(ReviewTarget::UncommittedChanges));
        let open = place.root.join("second.txt");
        let unsaved = place.resolve_with(ReviewTarget::UncommittedChanges, &[open, "/elsewhere/x".into()]);
        let unsaved = unsaved.expect("unsaved text");
        assert_eq!(place.names(&unsaved), ["second.txt"]);
        assert!(unsaved.prompt.contains("unsaved text"), "{}", unsaved.prompt);
        place.write(".gitignore", "ignored\n");
        place.write("ignored", "x");
        place.write("new ü.txt", "x");
        place.write("second.txt", "2\n");
        git(&place.root, &["add", "second.txt"]);
        place.write("second.txt", "1\n");
        place.write("first.txt", "2\n");
        std::fs::remove_file(place.root.join("gone.txt")).expect("a file");
        let found = place.resolve(ReviewTarget::UncommittedChanges).expect("changes");
        assert_eq!(
            place.names(&found),
            [".gitignore", "first.txt", "gone.txt", "new ü.txt", "second.txt"]
        );
        assert!(
            found.prompt.contains("read them whole: .gitignore, new ü.txt."),
            "{}",
            found.prompt
        );
        assert_eq!(found.top.as_deref(), Some(place.root.as_path()));
    }

    #[test]
    fn a_branch_is_compared_from_where_the_work_left_it() {
        let place = Repository::new();
        assert!(unresolved(place.resolve(branch("main"))).contains("Nothing is committed"));
        let base = place.commit("a.txt", "1\n");
        git(&place.root, &["checkout", "-qb", "work"]);
        assert!(unchanged(place.resolve(branch("main"))).contains("main"));
        place.commit("b.txt", "1\n");
        git(&place.root, &["checkout", "-q", "main"]);
        place.commit("c.txt", "1\n");
        git(&place.root, &["checkout", "-q", "work"]);
        place.write("d.txt", "1\n");
        let found = place.resolve(branch(" main ")).expect("changes");
        assert_eq!(place.names(&found), ["b.txt", "d.txt"]);
        assert!(found.prompt.contains(&format!("`git diff {base}`")), "{}", found.prompt);
        assert_eq!(found.words, "changes against main");
        for bad in ["nowhere", "--all", "main..work", "main^{tree}"] {
            let words = unresolved(place.resolve(branch(bad)));
            assert!(words.contains(bad) && words.contains("main"), "{words}");
        }
        git(&place.root, &["checkout", "-q", "--orphan", "other"]);
        place.commit("e.txt", "1\n");
        assert!(unresolved(place.resolve(branch("main"))).contains("no commit in common"));
    }

    #[test]
    fn a_branch_that_lags_behind_the_one_it_follows_is_not_the_base() {
        let place = Repository::new();
        place.commit("a.txt", "1\n");
        let elsewhere = Repository::new();
        let url = place.root.display().to_string();
        git(&elsewhere.root, &["pull", "-q", &url, "main"]);
        git(&elsewhere.root, &["remote", "add", "origin", &url]);
        let newer = place.commit("b.txt", "1\n");
        git(&elsewhere.root, &["fetch", "-q", "origin"]);
        git(&elsewhere.root, &["branch", "-q", "-u", "origin/main", "main"]);
        git(&elsewhere.root, &["checkout", "-qb", "work", "origin/main"]);
        elsewhere.commit("c.txt", "1\n");
        let found = elsewhere.resolve(branch("main")).expect("changes");
        assert_eq!(elsewhere.names(&found), ["c.txt"]);
        assert!(
            found.prompt.contains(&newer) && found.words.contains("origin/main"),
            "{found:?}"
        );
        // A branch that is only there.
        git(&elsewhere.root, &["branch", "-qD", "main"]);
        assert_eq!(
            elsewhere.resolve(branch("main")).expect("changes").words,
            "changes against origin/main"
        );
    }

    #[test]
    fn a_commit_is_what_it_changed() {
        let place = Repository::new();
        let first = place.commit("a.txt", "1\n");
        let second = place.commit("b.txt", "1\n");
        let found = place.resolve(commit(&second[..8])).expect("a commit");
        assert_eq!(place.names(&found), ["b.txt"]);
        assert!(
            found.prompt.contains(&format!("`git diff {first} {second}`")),
            "{}",
            found.prompt
        );
        assert_eq!(found.words, format!("commit {}: Write b.txt", &second[..12]));
        let root = place.resolve(commit("HEAD~1")).expect("the first commit");
        assert_eq!(place.names(&root), ["a.txt"]);
        let sha = first.clone();
        let named = ReviewTarget::Commit {
            sha,
            title: Some("Mine".into()),
        };
        assert!(place.resolve(named).expect("a commit").words.ends_with(": Mine"));
        git(&place.root, &["commit", "-q", "--allow-empty", "-m", "nothing"]);
        assert!(unchanged(place.resolve(commit("HEAD"))).contains("changes no file"));
        // A merge is what it brought to the branch that it was made on.
        git(&place.root, &["checkout", "-qb", "side", &first]);
        place.commit("side.txt", "1\n");
        git(&place.root, &["checkout", "-q", "main"]);
        git(&place.root, &["merge", "-q", "--no-ff", "-m", "merge", "side"]);
        assert_eq!(
            place.names(&place.resolve(commit("HEAD")).expect("a merge")),
            ["side.txt"]
        );
        for bad in ["deadbeef", "HEAD~99", "--help", "main:a.txt"] {
            assert!(unresolved(place.resolve(commit(bad))).contains(bad));
        }
    }

    #[test]
    fn own_instructions_need_no_repository() {
        let folder = tempfile::tempdir().expect("a folder");
        let instructions = "Look at the parser.\nAll of it.".to_owned();
        let own = |target: &ReviewTarget| resolve(target, folder.path(), &BTreeMap::new(), &[], &Stop::default());
        let found = own(&ReviewTarget::Custom { instructions }).expect("a task");
        assert_eq!(found.words, "“Look at the parser.”");
        assert!(found.prompt.ends_with("All of it.") && found.top.is_none());
        let words = unresolved(own(&ReviewTarget::UncommittedChanges));
        assert!(words.contains(&folder.path().display().to_string()), "{words}");
        let blank = || "  \n".to_owned();
        for target in [branch(&blank()), commit(&blank()), branch("a\0b"), {
            let instructions = blank();
            ReviewTarget::Custom { instructions }
        }] {
            assert!(check(&target).is_err(), "{target:?}");
        }
    }
}
