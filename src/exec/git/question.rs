//! A question about a repository that is not ours. Whatever its configuration says, no program of it is started; and should
//! one be, it meets the walls of a command that only reads, without the network.

use super::{GitError, MOST_ANSWER, OwnRun, Stop};
use crate::exec::companion::{Companion, CompanionExit};
use crate::exec::{Confinement, ExecError, program};
use crate::protocol::settings::{SandboxMode, SandboxPolicy};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt as _;

/// Variables of the person that git needs to find itself and the person's own settings.
const NEEDED: &[&str] = &["HOME", "XDG_CONFIG_HOME"];

/// Settings of every run, whatever the files say.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.askPass=false",
    "core.editor=false",
    "color.ui=false",
    "credential.helper=",
    "diff.trustExitCode=false",
    "gc.auto=0",
    "gpg.program=false",
    "gpg.openpgp.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
];

/// Variables of every run.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// When it was found out that no walls stand on this machine: they are not tried again for a while.
static NO_WALLS: Mutex<Option<Instant>> = Mutex::new(None);
/// How long that holds. What was in the way may have passed.
const HOLDS: Duration = Duration::from_secs(60);

/// How questions about a repository are put.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// Where it is asked, in the repository.
    pub folder: PathBuf,
    env: BTreeMap<String, String>,
    /// Beside [`SETTINGS`].
    pub settings: Vec<String>,
    /// The one folder that may be written.
    aside: Option<PathBuf>,
}

impl Question {
    /// `env` is the person's environment, of which git gets what it needs.
    pub(super) fn new(folder: &Path, env: &BTreeMap<String, String>) -> Self {
        program::guard(folder);
        let kept = |name: &&str| NEEDED.contains(name) || ["PATH", "TMPDIR", "TEMP", "TMP"].contains(name);
        let env = env.iter().filter(|(name, _)| kept(&name.as_str()));
        Self {
            folder: folder.to_owned(),
            env: env.map(|(name, value)| (name.clone(), value.clone())).collect(),
            settings: Vec::new(),
            aside: None,
        }
    }

    /// The same where git notes something in a folder aside, with its own copy of the index; `objects` are the repository's.
    pub(super) fn noting_in(&self, aside: &Path, objects: &Path) -> Self {
        let mut noting = self.clone();
        let own = [
            ("GIT_INDEX_FILE", aside.join("index")),
            ("GIT_OBJECT_DIRECTORY", aside.to_owned()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects.to_owned()),
        ];
        let own = own.map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned()));
        noting.env.extend(own);
        noting.aside = Some(aside.to_owned());
        noting
    }

    /// What git prints; waits for it. May be called wherever waiting is allowed.
    pub(super) fn ask(&self, arguments: &[&str], stop: &Stop) -> Result<Vec<u8>, GitError> {
        let (git, env) = self.ready()?;
        let argv = self.argv(&git, arguments);
        if !may_have_walls() {
            return self.without_walls(&argv, env, arguments, stop);
        }
        // A thread of its own, since the caller's may belong to a runtime.
        let answer = std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|error| GitError::Start {
                    message: error.to_string(),
                })?;
                runtime.block_on(self.behind_walls(&argv, env.clone(), arguments, stop))
            });
            asking.join()
        });
        match answer {
            Ok(Ok(Some(answer))) => Ok(answer),
            Ok(Ok(None)) => self.without_walls(&argv, env, arguments, stop),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(GitError::Start {
                message: "the thread that waits for it broke off".to_owned(),
            }),
        }
    }

    /// The same for who must not wait.
    pub(super) async fn ask_aside(&self, arguments: &[&str], limit: Duration) -> Result<Vec<u8>, GitError> {
        let stop = Stop::default();
        let _ends = EndWith(stop.clone());
        let asked = async {
            // Where programs are is looked up on the disk.
            let question = self.clone();
            let ready = tokio::task::spawn_blocking(move || question.ready()).await;
            let (git, env) = ready.unwrap_or(Err(GitError::Stopped))?;
            let argv = self.argv(&git, arguments);
            if may_have_walls()
                && let Some(answer) = self.behind_walls(&argv, env.clone(), arguments, &stop).await?
            {
                return Ok(answer);
            }
            let (question, stop) = (self.clone(), stop.clone());
            let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
            let work = move || {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                question.without_walls(&argv, env, &arguments, &stop)
            };
            tokio::task::spawn_blocking(work)
                .await
                .unwrap_or(Err(GitError::Stopped))
        };
        tokio::time::timeout(limit, asked)
            .await
            .unwrap_or(Err(GitError::Stopped))
    }

    /// The program, and its whole environment.
    fn ready(&self) -> Result<(PathBuf, BTreeMap<String, String>), GitError> {
        let git = program::find("git", None, &self.env)?;
        let mut env = self.env.clone();
        env.insert("PATH".to_owned(), program::search_path(&self.env));
        env.extend(
            VARIABLES
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        Ok((git, env))
    }

    fn argv(&self, git: &Path, arguments: &[&str]) -> Vec<String> {
        let settings = SETTINGS.iter().copied().chain(self.settings.iter().map(String::as_str));
        let mut argv = vec![git.to_string_lossy().into_owned()];
        argv.extend(settings.flat_map(|setting| ["-c", setting]).map(str::to_owned));
        argv.extend(arguments.iter().map(|word| (*word).to_owned()));
        argv
    }

    /// None where there are no walls on this machine.
    async fn behind_walls(
        &self,
        argv: &[String],
        env: BTreeMap<String, String>,
        arguments: &[&str],
        stop: &Stop,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let reading = SandboxPolicy::from_mode(SandboxMode::ReadOnly);
        let mut walls = Confinement::new(&reading, &self.folder, &[], None);
        if let Some(aside) = &self.aside {
            walls = walls.with_writable(aside.clone());
        }
        let started = Companion::start_within(argv.to_vec(), self.folder.clone(), env, walls).await;
        let (git, mut output, input) = match started {
            Ok(started) => started,
            // Where there is a keeper it is the one who says that it cannot.
            Err(ExecError::CannotConfine { reason }) if !cfg!(target_os = "linux") => {
                return Ok(no_walls(&reason));
            }
            Err(error) => {
                let message = error.to_string();
                return Err(GitError::Start { message });
            }
        };
        drop(input);
        let doing = || arguments.first().copied().unwrap_or_default().to_owned();
        let mut answer = Vec::new();
        let ended = async {
            let read = (&mut output).take(MOST_ANSWER + 1).read_to_end(&mut answer).await;
            // A part of an answer is none: what it leaves out (a filter to switch off) would count as not there.
            read.map_err(|error| GitError::Failed {
                doing: doing(),
                message: format!("its answer could not be read to the end: {error}"),
            })?;
            if answer.len() as u64 > MOST_ANSWER {
                // It is ended as it is dropped.
                return Err(GitError::too_long(&doing()));
            }
            git.exited().await;
            Ok(())
        };
        tokio::select! {
            ended = ended => ended?,
            () = stop.stopped() => return Err(GitError::Stopped),
        }
        match git.exit() {
            Some(CompanionExit::Code(Some(0))) => Ok(Some(answer)),
            Some(CompanionExit::NotConfined(why)) if stand().await => Err(GitError::Start { message: why }),
            Some(CompanionExit::NotConfined(why)) => Ok(no_walls(&why)),
            Some(CompanionExit::NotRun(message)) => Err(GitError::Start { message }),
            Some(CompanionExit::Code(_)) | None => {
                let said = git.last_words();
                let line = said.lines().find(|line| !line.trim().is_empty());
                Err(GitError::Failed {
                    doing: doing(),
                    message: line.unwrap_or("it gave no reason").trim().to_owned(),
                })
            }
        }
    }

    fn without_walls(
        &self,
        argv: &[String],
        env: BTreeMap<String, String>,
        arguments: &[&str],
        stop: &Stop,
    ) -> Result<Vec<u8>, GitError> {
        let mut command = std::process::Command::new(&argv[0]);
        command
            .args(&argv[1..])
            .current_dir(&self.folder)
            .env_clear()
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        OwnRun::start(command, arguments, stop)?.finish()
    }
}

/// Whether walls can stand on this machine: if so, what was in the way passes, as a want of processes does.
async fn stand() -> bool {
    let looked = tokio::task::spawn_blocking(crate::exec::support::try_out);
    // Where nothing was found out, as for want of a process, that is no sign that there are none.
    looked.await.ok().flatten().is_none_or(|support| support.can_confine())
}

/// Remembers that there are none.
fn no_walls(why: &str) -> Option<Vec<u8>> {
    tracing::warn!(why, "git reads repositories without a sandbox around it");
    *NO_WALLS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    None
}

/// Ends git when nobody waits for it any more.
struct EndWith(Stop);

impl Drop for EndWith {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Tests of this crate's own rooms have no program that plays the roles; those of the whole are in `tests/it`.
fn may_have_walls() -> bool {
    let none = *NO_WALLS.lock().unwrap_or_else(PoisonError::into_inner);
    !cfg!(test) && none.is_none_or(|found| found.elapsed() > HOLDS)
}
