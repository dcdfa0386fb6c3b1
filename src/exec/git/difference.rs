//! What a folder's repository holds that no remote has: commits that were not pushed, changes, new files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// Longest wait for one run of git.
const LIMIT: Duration = Duration::from_secs(60);
/// Most bytes of a difference.
const MOST: u64 = 64 << 20;

/// How the files differ from what a remote has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The commit that is compared with.
    pub sha: String,
    pub diff: String,
}

/// Why there is no difference to tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", folder.display())]
pub struct DiffError {
    pub folder: PathBuf,
    /// Without a full stop.
    pub reason: String,
}

/// A run of git in the person's repository, which only reads.
struct Git<'a> {
    folder: &'a Path,
    env: &'a BTreeMap<String, String>,
    /// An index of our own, in which new files may be noted.
    index: Option<(&'a Path, &'a Path)>,
}

/// The difference between the newest commit on the way here that a remote has, as far as this repository knows, and the files
/// as they are. Git gets the variables of `env` that are not its own, and a folder of its own in `aside` while it works.
///
/// # Errors
/// The folder is in no repository, the repository has no commit or no remote, or git failed.
pub async fn diff_to_remote(
    folder: &Path,
    env: &BTreeMap<String, String>,
    aside: &Path,
) -> Result<Difference, DiffError> {
    let error = |reason: String| DiffError {
        folder: folder.to_owned(),
        reason,
    };
    if !folder.is_absolute() {
        return Err(error("it is not an absolute path".to_owned()));
    }
    if !folder.is_dir() {
        return Err(error("there is no such folder".to_owned()));
    }
    let git = Git {
        folder,
        env,
        index: None,
    };
    let top = git.line(&["rev-parse", "--show-toplevel"]).await.map_err(error)?;
    let git = Git {
        folder: Path::new(&top),
        ..git
    };
    let remote = git
        .line(&["for-each-ref", "--count=1", "--format=%(refname)", "refs/remotes"])
        .await;
    if remote.map_err(error)?.is_empty() {
        return Err(error(
            "no branch of a remote is known there; add a remote and fetch from it".to_owned(),
        ));
    }
    let sha = git.base().await.map_err(error)?;
    let diff = git.diff(&sha, aside).await.map_err(error)?;
    Ok(Difference { sha, diff })
}

impl Git<'_> {
    /// The first commit, going back from the present one along first parents, that a remote has.
    async fn base(&self) -> Result<String, String> {
        let head = self.line(&["rev-parse", "--verify", "-q", "HEAD^{commit}"]).await;
        let head = head.map_err(|_| "the repository has no commit yet".to_owned())?;
        let own = ["rev-list", "--first-parent", "HEAD", "--not", "--remotes"];
        let own = self.run(&own).await?;
        let Some(oldest) = String::from_utf8_lossy(&own).lines().last().map(str::to_owned) else {
            return Ok(head);
        };
        let parent = self
            .line(&["rev-parse", "--verify", "-q", &format!("{oldest}^1")])
            .await;
        parent.map_err(|_| "its history has no commit in common with any remote".to_owned())
    }

    /// From a commit to the files, new ones too. They are noted in a copy of the index, and what git writes for that goes to
    /// the same place: the repository stays as it is.
    async fn diff(&self, sha: &str, aside: &Path) -> Result<String, String> {
        let aside = Aside::new(aside).map_err(|error| format!("no place for a temporary index: {error}"))?;
        let index = self.line(&["rev-parse", "--git-path", "index"]).await?;
        let objects = self.line(&["rev-parse", "--git-path", "objects"]).await?;
        let copy = aside.0.join("index");
        match std::fs::copy(self.folder.join(index), &copy) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("its index cannot be read: {error}"));
            }
            _ => {}
        }
        let objects = self.folder.join(objects);
        let git = Git {
            index: Some((&aside.0, &objects)),
            ..*self
        };
        git.run(&["add", "--intent-to-add", "--ignore-errors", "--", "."])
            .await?;
        let plain = [
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--src-prefix=a/",
            "--dst-prefix=b/",
        ];
        let diff = git.run(&[&["diff"], &plain[..], &[sha, "--"]].concat()).await?;
        Ok(String::from_utf8_lossy(&diff).into_owned())
    }

    async fn line(&self, arguments: &[&str]) -> Result<String, String> {
        let answer = self.run(arguments).await?;
        let text = String::from_utf8_lossy(&answer);
        Ok(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    async fn run(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let mut command = tokio::process::Command::new("git");
        command
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
            .args(["-c", "core.quotePath=false", "-c", "advice.addEmbeddedRepo=false"])
            .args(arguments)
            .current_dir(self.folder)
            .env_clear()
            .envs(self.env.iter().filter(|(name, _)| !leads_elsewhere(name)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("LC_ALL", "C");
        if let Some((aside, objects)) = self.index {
            command
                .env("GIT_INDEX_FILE", aside.join("index"))
                .env("GIT_OBJECT_DIRECTORY", aside)
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        }
        let running = answer(command);
        tokio::time::timeout(LIMIT, running)
            .await
            .unwrap_or_else(|_| Err(format!("git took longer than {} seconds", LIMIT.as_secs())))
    }
}

/// Variables that would lead git elsewhere than to the folder.
fn leads_elsewhere(name: &str) -> bool {
    name.starts_with("GIT_") && !name.starts_with("GIT_CONFIG")
}

/// Runs git and gives its whole output.
async fn answer(mut command: tokio::process::Command) -> Result<Vec<u8>, String> {
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "the program git was not found".to_owned(),
        _ => format!("git could not be started: {error}"),
    })?;
    let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("git has no output".to_owned());
    };
    let (mut output, mut words) = (Vec::new(), Vec::new());
    let mut stdout = stdout.take(MOST + 1);
    let (read, told) = tokio::join!(stdout.read_to_end(&mut output), stderr.read_to_end(&mut words));
    read.and(told)
        .map_err(|error| format!("git could not be read: {error}"))?;
    if output.len() as u64 > MOST {
        return Err(format!("the difference is larger than {} MiB", MOST >> 20));
    }
    let status = child.wait().await.map_err(|error| format!("git was lost: {error}"))?;
    if status.success() {
        return Ok(output);
    }
    let words = String::from_utf8_lossy(&words);
    let line = words.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or("git gave no reason").trim();
    Err(line
        .strip_prefix("fatal: ")
        .unwrap_or(line)
        .trim_end_matches('.')
        .to_owned())
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
