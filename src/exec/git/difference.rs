//! What a folder's repository holds that no remote has: commits that were not pushed, changes, new files.

use super::{GitError, Reading, Stop};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most bytes of a difference.
const MOST: usize = 64 << 20;

/// How the files differ from what a remote has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The commit that is compared with.
    pub sha: String,
    pub diff: String,
}

/// The difference between the newest commit on the way here that a remote has, as far as this repository knows, and the files
/// as they are. Git gets what it needs of `env`, and a folder of its own in `aside` while it works; it ends with `stop`.
///
/// # Errors
/// In words, without a full stop: the folder is in no repository, the repository has no commit or no remote, or git failed.
pub fn diff_to_remote(
    folder: &Path,
    env: &BTreeMap<String, String>,
    aside: &Path,
    stop: &Stop,
) -> Result<Difference, String> {
    if !folder.is_absolute() {
        return Err("it is not an absolute path".to_owned());
    }
    if !folder.is_dir() {
        return Err("there is no such folder".to_owned());
    }
    let git = Reading::open(folder, env, stop).map_err(in_words)?;
    let remotes = git.ask(&["for-each-ref", "--count=1", "--format=%(refname)", "refs/remotes"]);
    if remotes.map_err(in_words)?.is_empty() {
        return Err("no branch of a remote is known there; add a remote and fetch from it".to_owned());
    }
    let sha = base(&git)?;
    let diff = diff(&git, &sha, aside)?;
    Ok(Difference { sha, diff })
}

fn in_words(error: GitError) -> String {
    error.to_string().trim_end_matches('.').to_owned()
}

/// The first commit, going back from the present one along first parents, that a remote has.
fn base(git: &Reading) -> Result<String, String> {
    let head = git.commit("HEAD").ok_or("the repository has no commit yet")?;
    let own = git.ask(&["rev-list", "--first-parent", "HEAD", "--not", "--remotes"]);
    let own = own.map_err(in_words)?;
    match String::from_utf8_lossy(&own).lines().last() {
        None => Ok(head),
        Some(oldest) => git
            .commit(&format!("{oldest}^1"))
            .ok_or_else(|| "its history has no commit in common with any remote".to_owned()),
    }
}

/// From a commit to the files, new ones too. They are noted in a copy of the index, and what git writes for that goes to the
/// same place: the repository stays as it is.
fn diff(git: &Reading, sha: &str, aside: &Path) -> Result<String, String> {
    let aside = Aside::new(aside).map_err(|error| format!("no place for a temporary index: {error}"))?;
    let at = |name: &str| {
        let path = git.line(&["rev-parse", "--git-path", name]).map_err(in_words)?;
        Ok::<_, String>(git.top().join(path))
    };
    let (index, objects) = (at("index")?, at("objects")?);
    match std::fs::copy(index, aside.0.join("index")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("its index cannot be read: {error}"));
        }
        _ => {}
    }
    let git = git.noting_in(&aside.0, &objects);
    git.ask(&["add", "--intent-to-add", "--ignore-errors", "--", "."])
        .map_err(in_words)?;
    // No program that the repository names is started, and submodules are not looked into.
    let plain = [
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--ignore-submodules=dirty",
    ];
    let sides = ["--src-prefix=a/", "--dst-prefix=b/"];
    let diff = git.ask(&[&["diff"], &plain[..], &sides[..], &[sha, "--"]].concat());
    let diff = diff.map_err(in_words)?;
    if diff.len() > MOST {
        return Err(format!("the difference is larger than {} MiB", MOST >> 20));
    }
    Ok(String::from_utf8_lossy(&diff).into_owned())
}

/// A folder for what git writes meanwhile; gone when this is dropped.
struct Aside(PathBuf);

impl Aside {
    fn new(within: &Path) -> std::io::Result<Self> {
        let folder = within.join(format!("git-{}", uuid::Uuid::now_v7()));
        super::make_private(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "a temporary index stays behind");
        }
    }
}
