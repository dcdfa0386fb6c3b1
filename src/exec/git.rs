//! The `git` program in a clean environment: what a folder's repository says of itself, and repositories of our own.

mod difference;
mod question;
mod reading;
pub use difference::{Difference, diff_to_remote};
pub use reading::Reading;

use super::program::{self, Unfound};
use crate::private;
use question::Question;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Where a repository stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pub sha: Option<String>,
    pub branch: Option<String>,
    pub origin_url: Option<String>,
}

/// Most bytes of one answer: more is no answer that anything here can use.
const MOST_ANSWER: u64 = 128 << 20;
/// Longest wait for one question to git.
const LIMIT: Duration = Duration::from_secs(5);

/// Commit, branch and remote of a folder. `None` outside a repository, and where there is no git. `env` is the person's
/// environment.
pub async fn info(cwd: &Path, env: &BTreeMap<String, String>) -> Option<Info> {
    // A repository is looked for without a process first: most folders of a test or a demo are none.
    let folder = cwd.to_owned();
    let is_one = move || folder.ancestors().any(|folder| folder.join(".git").exists());
    if !tokio::task::spawn_blocking(is_one).await.unwrap_or_default() {
        return None;
    }
    let git = Question::new(cwd, env);
    line(&git, &["rev-parse", "--git-dir"]).await?;
    let (sha, branch, origin_url) = tokio::join!(
        line(&git, &["rev-parse", "HEAD"]),
        line(&git, &["symbolic-ref", "--short", "-q", "HEAD"]),
        line(&git, &["config", "--get", "remote.origin.url"]),
    );
    Some(Info {
        sha,
        branch,
        origin_url,
    })
}

/// The first line of git's answer; `None` if it fails.
async fn line(git: &Question, arguments: &[&str]) -> Option<String> {
    let answer = match git.ask_aside(arguments, LIMIT).await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::debug!(%error, "git did not answer");
            return None;
        }
    };
    let line = String::from_utf8_lossy(&answer).lines().next()?.trim().to_owned();
    (!line.is_empty()).then_some(line)
}

/// A repository of our own: a folder with objects and names in it, no work tree, no hooks, no filters. Nothing of the
/// person's configuration reaches a run in it, and no run reaches the person's repository.
#[derive(Clone, Debug)]
pub struct OwnRepository {
    folder: PathBuf,
    /// Tells where programs are.
    env: BTreeMap<String, String>,
}

/// Settings of every run in a repository of our own.
const OWN_SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.attributesFile=/dev/null",
    "core.fsync=none",
    "core.compression=1",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "gc.packRefs=false",
    "maintenance.auto=false",
    // A snapshot is one pack, not a process more that takes it apart.
    "fastimport.unpackLimit=1",
    "pack.threads=1",
];

/// Why git did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error(transparent)]
    Missing(#[from] Unfound),
    #[error("git could not be started: {message}")]
    Start { message: String },
    #[error("git {doing} failed: {message}")]
    Failed { doing: String, message: String },
    #[error("git was stopped")]
    Stopped,
}

impl GitError {
    fn too_long(doing: &str) -> Self {
        Self::Failed {
            doing: doing.to_owned(),
            message: format!("its answer is longer than {} MiB", MOST_ANSWER >> 20),
        }
    }
}

impl OwnRepository {
    /// `env` is the person's environment, by which git is found.
    pub fn new(folder: PathBuf, env: &BTreeMap<String, String>) -> Self {
        let env = env.clone();
        Self { folder, env }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the repository where there is none. Does not need git.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn make(&self) -> io::Result<()> {
        if self.folder.join("HEAD").exists() {
            return Ok(());
        }
        make_private(&self.folder)?;
        for inner in ["objects", "refs", "info"] {
            make_private(&self.folder.join(inner))?;
        }
        // Each in one step, since somebody else may be making it too, or use what they have made.
        private::replace(
            &self.folder.join("config"),
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
        )?;
        let attributes = "* -text -filter -ident -eol -working-tree-encoding\n";
        private::replace(&self.folder.join("info/attributes"), attributes)?;
        // The last, since it is what tells that the others are there.
        private::replace(&self.folder.join("HEAD"), "ref: refs/heads/none\n")
    }

    /// Starts git in it. The run ends with `stop`, and when it is dropped.
    ///
    /// # Errors
    /// There is no git, or it does not start.
    pub fn start(&self, arguments: &[&str], stop: &Stop) -> Result<OwnRun, GitError> {
        let mut command = std::process::Command::new(program::find("git", None, &self.env)?);
        for setting in OWN_SETTINGS {
            command.args(["-c", setting]);
        }
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", program::search_path(&self.env))
            .env("GIT_DIR", &self.folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        OwnRun::start(command, arguments, stop)
    }
}

/// The tracked files of the person's repository in a folder, relative to it. Only reads.
///
/// # Errors
/// The folder is in no repository that git would read, or git is missing.
pub fn tracked(folder: &Path, env: &BTreeMap<String, String>, stop: &Stop) -> Result<Vec<PathBuf>, GitError> {
    let answer = Question::new(folder, env).ask(&["ls-files", "-z"], stop)?;
    let names = answer.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(path_of_bytes).collect())
}

#[cfg(unix)]
pub(in crate::exec) fn path_of_bytes(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
pub(in crate::exec) fn path_of_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// A folder that only its owner may look into.
///
/// # Errors
/// It cannot be made.
pub fn make_private(folder: &Path) -> io::Result<()> {
    private::make_folder(folder)
}

/// Ends work on another thread, and the git that it waits for.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    stopped: AtomicBool,
    child: Mutex<Option<Child>>,
    /// For what is not a child of this process.
    token: CancellationToken,
}

impl Stop {
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
        self.0.token.cancel();
        if let Some(child) = self.child().as_mut() {
            // It cannot have been reaped: that takes it out of here.
            let _gone = child.kill();
        }
    }

    /// Comes once it is stopped.
    async fn stopped(&self) {
        self.0.token.cancelled().await;
    }

    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.0.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of its complaints that are kept.
const MOST_WORDS: u64 = 64 << 10;

/// One run of git that is fed and read from a thread that may wait.
pub struct OwnRun {
    doing: String,
    stop: Stop,
    input: Option<BufWriter<ChildStdin>>,
    /// None once the rest of it was read.
    output: Option<BufReader<ChildStdout>>,
    errors: ChildStderr,
    /// What it complained of.
    words: Vec<u8>,
}

impl OwnRun {
    fn start(mut command: std::process::Command, arguments: &[&str], stop: &Stop) -> Result<Self, GitError> {
        let mut child = command.spawn().map_err(|error| GitError::Start {
            message: error.to_string(),
        })?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            let message = "it has no pipes".to_owned();
            return Err(GitError::Start { message });
        };
        *stop.child() = Some(child);
        let run = Self {
            doing: arguments.first().copied().unwrap_or_default().to_owned(),
            stop: stop.clone(),
            input: Some(BufWriter::with_capacity(64 << 10, input)),
            output: Some(BufReader::new(output)),
            errors,
            words: Vec::new(),
        };
        if stop.is_stopped() {
            // Asked before there was something to end.
            return Err(GitError::Stopped);
        }
        Ok(run)
    }

    /// Gives it input. That it stopped reading shows at the end, with its own words.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), GitError> {
        let written = self.input.as_mut().is_some_and(|input| input.write_all(bytes).is_ok());
        if written { Ok(()) } else { Err(self.failure()) }
    }

    /// Hands over what was written so far.
    pub fn flush(&mut self) -> Result<(), GitError> {
        let flushed = self.input.as_mut().is_some_and(|input| input.flush().is_ok());
        if flushed { Ok(()) } else { Err(self.failure()) }
    }

    /// A line of its output, without its end.
    pub fn read_line(&mut self) -> Result<String, GitError> {
        let mut line = String::new();
        match self.output.as_mut().map(|output| output.read_line(&mut line)) {
            Some(Ok(read)) if read > 0 => {
                line.truncate(line.trim_end_matches('\n').len());
                Ok(line)
            }
            _ => Err(self.failure()),
        }
    }

    /// So many bytes of its output, handed on in pieces.
    pub fn read_bytes(&mut self, mut count: u64, mut take: impl FnMut(&[u8])) -> Result<(), GitError> {
        let mut buffer = [0; 16 << 10];
        while count > 0 {
            let most = usize::try_from(count).unwrap_or(usize::MAX).min(buffer.len());
            match self.output.as_mut().map(|output| output.read(&mut buffer[..most])) {
                Some(Ok(read)) if read > 0 => {
                    take(&buffer[..read]);
                    count -= read as u64;
                }
                _ => return Err(self.failure()),
            }
        }
        Ok(())
    }

    /// Ends its input, waits for its end, and gives the rest of its output.
    pub fn finish(mut self) -> Result<Vec<u8>, GitError> {
        if let Some(mut input) = self.input.take() {
            // Should it not have read all, its status tells.
            let _read = input.flush();
        }
        let answer = self.rest();
        if answer.as_ref().is_ok_and(|answer| answer.len() as u64 > MOST_ANSWER) {
            return Err(GitError::too_long(&self.doing));
        }
        match (self.end(), answer) {
            (Ok(()), Ok(answer)) => Ok(answer),
            (Ok(()), Err(error)) => Err(self.failed(format!("its answer could not be read to its end ({error})"))),
            (Err(message), _) => Err(self.failed(message)),
        }
    }

    /// The rest of its output, as far as an answer may go. What it complains of is read beside it, so that neither holds the other
    /// up.
    fn rest(&mut self) -> io::Result<Vec<u8>> {
        let (output, errors) = (self.output.take(), &mut self.errors);
        let mut answer = Vec::new();
        let mut read = Ok(0);
        self.words = std::thread::scope(|scope| {
            let words = scope.spawn(|| {
                let mut words = Vec::new();
                let _ended = (&mut *errors).take(MOST_WORDS).read_to_end(&mut words);
                // More is not kept, and must not stop it.
                let _ended = io::copy(errors, &mut io::sink());
                words
            });
            // With its reader gone, git ends where it would write on.
            read = output.map_or(Ok(0), |output| output.take(MOST_ANSWER + 1).read_to_end(&mut answer));
            words.join().unwrap_or_default()
        });
        read.map(|_length| answer)
    }

    fn failure(&mut self) -> GitError {
        self.input = None;
        let _unread = self.rest();
        let message = self.end().err().unwrap_or_else(|| "it ended too early".to_owned());
        self.failed(message)
    }

    fn failed(&self, message: String) -> GitError {
        if self.stop.is_stopped() {
            return GitError::Stopped;
        }
        GitError::Failed {
            doing: self.doing.clone(),
            message,
        }
    }

    /// Waits for its end, which its closed output announces; its last words if it failed.
    fn end(&mut self) -> Result<(), String> {
        let child = self.stop.child().take();
        let status = child.map(|mut child| child.wait());
        match status {
            Some(Ok(status)) if status.success() => Ok(()),
            _ => {
                let words = String::from_utf8_lossy(&self.words);
                let line = words.lines().find(|line| !line.trim().is_empty());
                Err(line.unwrap_or("it gave no reason").trim().to_owned())
            }
        }
    }
}

impl Drop for OwnRun {
    fn drop(&mut self) {
        self.input = None;
        if let Some(mut child) = self.stop.child().take() {
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Who finds a repository that another is making just now can use it.
    #[test]
    fn a_repository_is_whole_for_all_who_make_it_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        for round in 0..200 {
            let own = OwnRepository::new(folder.path().join(round.to_string()), &BTreeMap::new());
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        own.make().expect("it is made");
                        let head = std::fs::read(own.folder().join("HEAD")).expect("there is one");
                        assert_eq!(head, b"ref: refs/heads/none\n", "round {round}");
                    });
                }
            });
        }
    }

    /// A git that never stops, and one that ends where the bound is.
    #[test]
    fn an_answer_is_read_up_to_a_bound() {
        let run = |script: String| {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &script]);
            command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            OwnRun::start(command, &["ls-files"], &Stop::default()).and_then(OwnRun::finish)
        };
        let whole = run(format!("head -c {MOST_ANSWER} /dev/zero"));
        assert_eq!(whole.map(|answer| answer.len() as u64), Ok(MOST_ANSWER));
        let endless = run("cat /dev/zero".to_owned());
        assert_eq!(endless.map(|answer| answer.len()), Err(GitError::too_long("ls-files")));
    }
}

/// The person's own git, for tests of others.
#[cfg(test)]
pub(crate) fn for_tests(folder: &Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=p", "-c", "user.email=p@localhost"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
