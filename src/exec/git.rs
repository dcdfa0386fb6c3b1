//! What a folder's repository says of itself, by the `git` program in a clean environment.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// Where a repository stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pub sha: Option<String>,
    pub branch: Option<String>,
    pub origin_url: Option<String>,
}

/// Longest wait for one question to git.
const LIMIT: Duration = Duration::from_secs(5);

/// Commit, branch and remote of a folder. `None` outside a repository, and where there is no git.
pub async fn info(cwd: &Path) -> Option<Info> {
    // A repository is looked for without a process first: most folders of a test or a demo are none.
    cwd.ancestors().find(|folder| folder.join(".git").exists())?;
    ask(cwd, &["rev-parse", "--git-dir"]).await?;
    let (sha, branch, origin_url) = tokio::join!(
        ask(cwd, &["rev-parse", "HEAD"]),
        ask(cwd, &["symbolic-ref", "--short", "-q", "HEAD"]),
        ask(cwd, &["config", "--get", "remote.origin.url"]),
    );
    Some(Info {
        sha,
        branch,
        origin_url,
    })
}

/// The first line of git's answer; `None` if it fails.
async fn ask(cwd: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = tokio::process::Command::new("git");
    command
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .current_dir(cwd)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output()).await.ok()?.ok()?;
    let line = String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()?
        .trim()
        .to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}
