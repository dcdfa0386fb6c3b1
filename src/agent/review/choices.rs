//! What can be reviewed in a folder, for people whose editor cannot ask for the name of a branch.

use crate::exec::git::{Reading, Stop};
use crate::protocol::review::ReviewTarget;
use std::collections::BTreeMap;
use std::path::Path;

/// Names of branches that work usually leaves and comes back to.
const USUAL: &[&str] = &["main", "master", "trunk", "develop"];
/// Characters of a commit's title.
const MOST_TITLE: usize = 60;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    branch: Option<String>,
    /// The last commit and its title.
    commit: Option<(String, String)>,
}

impl Choices {
    /// Runs git and waits for it. Where there is no repository there is nothing to choose; the review says why.
    pub fn of(folder: &Path, env: &BTreeMap<String, String>) -> Self {
        let Ok(git) = Reading::open(folder, env, &Stop::default()) else {
            return Self::default();
        };
        let current = git
            .line(&["symbolic-ref", "--quiet", "--short", "HEAD"])
            .unwrap_or_default();
        let head = git.commit("HEAD");
        let origin = git
            .line(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"])
            .ok();
        let named = USUAL.iter().map(|name| (*name).to_owned());
        let mut branches = named.chain(origin).filter(|name| *name != current);
        let title = || git.line(&["log", "-1", "--format=%s"]).unwrap_or_default();
        Self {
            branch: branches.find(|name| git.commit(name).is_some()),
            commit: head.map(|sha| (sha, title())),
        }
    }

    /// Titles and what they mean.
    pub fn offers(&self) -> Vec<(String, ReviewTarget)> {
        let mut offers = vec![("Uncommitted changes".to_owned(), ReviewTarget::UncommittedChanges)];
        if let Some(branch) = &self.branch {
            let target = ReviewTarget::BaseBranch { branch: branch.clone() };
            offers.push((format!("Changes against {branch}"), target));
        }
        if let Some((sha, title)) = &self.commit {
            let shown = super::answer::cut(title, MOST_TITLE);
            let target = ReviewTarget::Commit {
                sha: sha.clone(),
                title: Some(title.clone()).filter(|title| !title.is_empty()),
            };
            offers.push((
                format!("Last commit: {shown}").trim_end_matches(": ").to_owned(),
                target,
            ));
        }
        offers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::git::for_tests as git;

    #[test]
    fn what_is_offered_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = std::env::var("PATH").expect("a PATH");
        let env: BTreeMap<String, String> = [("PATH".to_owned(), path)].into();
        let titles = || -> Vec<String> {
            let offers = Choices::of(folder.path(), &env).offers();
            offers.into_iter().map(|(title, _)| title).collect()
        };
        assert_eq!(titles(), ["Uncommitted changes"]);
        git(folder.path(), &["init", "-q", "-b", "main"]);
        assert_eq!(titles(), ["Uncommitted changes"]);
        std::fs::write(folder.path().join("a"), "1").expect("a file");
        git(folder.path(), &["add", "."]);
        git(folder.path(), &["commit", "-qm", "Write a"]);
        assert_eq!(titles(), ["Uncommitted changes", "Last commit: Write a"]);
        git(folder.path(), &["checkout", "-qb", "work"]);
        assert_eq!(
            titles(),
            ["Uncommitted changes", "Changes against main", "Last commit: Write a"]
        );
    }
}
