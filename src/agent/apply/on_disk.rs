//! The part of a change that is in closed files: written by a process of our own under the sandbox.

use super::{Scope, Step, aside};
use crate::agent::permissions::home_of;
use crate::agent::restore::LOOK_AGAIN;
use crate::exec::{self, CommandRequest, Confinement};
use crate::patch::disk::role::{self, Request};
use crate::patch::disk::{
    CommitError, Did, DiskChange, Expect, JournalLock, Recovery, Transaction, hold_journal, journal_folder,
    journal_path, leftovers, mark_committed, orphan_roots, recover_one,
};
use crate::patch::hunk::text_edits;
use crate::protocol::item::FileChangeKind;
use crate::protocol::settings::{SandboxMode, SandboxPolicy};
use crate::workspace::disk;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long writing to the disk may take.
const WRITE_LIMIT: Duration = Duration::from_secs(60);

pub(super) fn disk_change(step: &Step) -> DiskChange {
    if let Some(whole) = &step.whole {
        let kind = match &step.move_to {
            Some(to) => FileChangeKind::Update {
                move_path: Some(to.clone()),
            },
            None => FileChangeKind::Delete,
        };
        return DiskChange::as_it_is(step.path.clone(), &kind, Expect::whole(whole));
    }
    let expect = || Expect::of(step.now.as_deref());
    match (&step.then, &step.move_to) {
        (None, _) => DiskChange::Remove {
            path: step.path.clone(),
            expect: expect(),
        },
        (Some(text), Some(to)) => DiskChange::Move {
            from: step.path.clone(),
            to: to.clone(),
            text: text.clone(),
            expect: expect(),
            mode: step.then_mode,
        },
        (Some(text), None) => write(step, step.now.as_deref(), text, step.then_mode),
    }
}

/// A file that is there is edited, so that a small change of a large one stays small.
fn write(step: &Step, there: Option<&str>, text: &str, mode: Option<u32>) -> DiskChange {
    let (path, expect) = (step.path.clone(), Expect::of(there));
    match there {
        Some(there) => DiskChange::Edit {
            path,
            edits: text_edits(there, text),
            expect,
            mode,
        },
        None => DiskChange::Write {
            path,
            text: text.to_owned(),
            expect,
            mode,
        },
    }
}

/// The mode of an open document's file, whose text on the disk stays as it is.
pub(super) fn mode_change(step: &Step) -> Option<DiskChange> {
    let mode = step.then_mode.filter(|mode| Some(*mode) != step.mode)?;
    let on_disk = disk::read_text(&step.path).ok()?;
    Some(DiskChange::Edit {
        path: step.path.clone(),
        edits: Vec::new(),
        expect: Expect::of(Some(&on_disk)),
        mode: Some(mode),
    })
}

/// Puts a file back that the editor removed.
pub(super) fn made_again(step: &Step) -> Option<DiskChange> {
    Some(write(step, None, step.now.as_deref()?, step.mode))
}

/// Closed files that are written, and can still be put back exactly as they were: until that is decided, what they held
/// is kept beside them, and a server that dies is taken back by the next one.
pub(super) struct Held {
    writing: Writing,
}

impl Held {
    /// What is written stands.
    pub(super) async fn keep(self) {
        // From here on it stands whatever happens; the rest is tidying, which can also be done later.
        if let Err(error) = mark_committed(&self.writing.journal) {
            tracing::warn!(%error, journal = %self.writing.journal.display(), "the journal cannot be written");
        }
        if let Err(error) = self.writing.settle(true).await {
            tracing::warn!(%error, journal = %self.writing.journal.display(), "what was kept was not tidied away");
        }
    }

    /// Every file is put back as it was.
    pub(super) async fn take_back(self) -> Result<(), String> {
        self.writing.settle(false).await.map_err(|error| error.to_string())
    }
}

/// Writes closed files, all or none.
pub(super) async fn write_confined(scope: &Scope, changes: Vec<DiskChange>) -> Result<(), String> {
    commit_confined(
        scope,
        Transaction {
            changes,
            ..Transaction::default()
        },
    )
    .await
}

/// Carries a transaction out in the same way; its roots are those of the scope.
pub(in crate::agent) async fn commit_confined(scope: &Scope, transaction: Transaction) -> Result<(), String> {
    Writing::begin(scope, &transaction.changes).commit(transaction).await
}

/// Writes closed files, all or none, and keeps the way back open.
pub(super) async fn hold_confined(scope: &Scope, changes: Vec<DiskChange>) -> Result<Held, String> {
    let mut writing = Writing::begin(scope, &changes);
    let transaction = Transaction {
        changes,
        hold: true,
        ..Transaction::default()
    };
    writing.commit(transaction).await?;
    Ok(Held { writing })
}

/// A process of our own that writes, under the sandbox, so that no link leads out of the folders meant: the workspace,
/// and what was outside of it when the person was asked. A link that slipped in since widens nothing.
struct Writing {
    cwd: PathBuf,
    roots: Vec<PathBuf>,
    confinement: Confinement,
    journal: PathBuf,
    /// Says to other servers that this one lives.
    lock: Option<JournalLock>,
}

impl Writing {
    fn begin(scope: &Scope, changes: &[DiskChange]) -> Self {
        let scope = &kept_to(scope, changes);
        let paths = changes.iter().flat_map(DiskChange::paths);
        scope.services.writers.writes(&scope.thread, paths);
        let roots = scope.confinement.writable_roots().to_vec();
        let folder = journal_folder(&scope.services.home);
        let journal = journal_path(Some(&scope.services.home), &scope.cwd);
        let confinement = scope.confinement.clone().with_readable(&folder).with_writable(folder);
        let mut writing = Self {
            cwd: scope.cwd.clone(),
            roots,
            confinement,
            journal,
            lock: None,
        };
        match hold_journal(&writing.journal) {
            Ok(lock) if writing.confinement.may_write(&writing.journal) => writing.lock = Some(lock),
            // A home that is full or closed is no reason not to change a project.
            _ => {
                writing.forget_empty();
                writing.journal = journal_path(None, &scope.cwd);
                writing.confinement = scope.confinement.clone();
            }
        }
        writing
    }

    async fn commit(&mut self, mut transaction: Transaction) -> Result<(), String> {
        transaction.roots = self.roots.clone();
        transaction.journal = Some(self.journal.clone());
        let input = aside(move || transaction.to_json()).await;
        let done = match input {
            Ok(input) => self.ask(input).await,
            Err(error) => Err(error.to_string()),
        };
        let done = match done.map(|stdout| role::read_outcome(&stdout)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(CommitError::Died)) => self.after_death().await,
            Ok(Err(error)) => Err(error.to_string()),
            Err(message) => Err(message),
        };
        if done.is_err() {
            self.forget_empty();
        }
        done
    }

    async fn settle(&self, stands: bool) -> Result<(), String> {
        let journal = self.journal.clone();
        let input = Request::Settle { journal, stands }.to_json();
        let stdout = self.ask(input.map_err(|error| error.to_string())?).await?;
        let first = role::read_outcome(&stdout);
        if first != Err(CommitError::Died) {
            return first.map_err(|error| error.to_string());
        }
        // What was decided is done in the second attempt, from where the first one stopped.
        if !self.journal.exists() {
            return Ok(());
        }
        let journal = self.journal.clone();
        let input = Request::Settle { journal, stands }.to_json();
        let stdout = self.ask(input.map_err(|error| error.to_string())?).await?;
        role::read_outcome(&stdout).map_err(|error| error.to_string())
    }

    /// The process was killed, or ran out of time, somewhere in the middle.
    async fn after_death(&mut self) -> Result<(), String> {
        let what = "The process that writes files was ended before it was done.";
        let unchanged = format!("{what} No file was changed; try again.");
        let held = self.lock.take().is_some();
        match fs::metadata(&self.journal) {
            Ok(meta) if meta.len() == 0 => return Err(unchanged),
            Ok(_) => {}
            // It had done all and could not say so any more.
            Err(_) if held => return Ok(()),
            Err(_) => return Err(format!("{what} Look at the files before trying again.")),
        }
        let journal = self.journal.clone();
        let recovery = match (Request::Recover { journal }).to_json() {
            Ok(input) => self.ask(input).await.and_then(|stdout| {
                let recovery = role::read_recovery(&stdout);
                recovery.map_err(|error| error.to_string())
            }),
            Err(error) => Err(error.to_string()),
        };
        match recovery {
            Ok(recovery) if recovery.did == Did::Finished => Ok(()),
            Ok(recovery) if recovery.kept.is_empty() && !matches!(recovery.did, Did::Failed { .. }) => Err(unchanged),
            Ok(recovery) => Err(format!("{what} {}", recovery.in_words().unwrap_or_default())),
            Err(message) => Err(format!(
                "{what} Putting the files back failed: {message} They are put back when the server starts again; the \
                 journal that lists them is {}",
                self.journal.display()
            )),
        }
    }

    /// Lets the process do what `input` says; what it reports.
    async fn ask(&self, input: Vec<u8>) -> Result<Vec<u8>, String> {
        play_role(&self.cwd, self.confinement.clone(), input).await
    }

    /// A journal in which nothing stands was not needed.
    fn forget_empty(&self) {
        if fs::metadata(&self.journal).is_ok_and(|meta| meta.len() == 0) {
            let _ = fs::remove_file(&self.journal);
        }
    }
}

/// The scope in which files that other programs act on by themselves stay as they are, but for those that are to be changed: a
/// link that takes the place of a folder after the yes does not lead to another one.
fn kept_to(scope: &Scope, changes: &[DiskChange]) -> Scope {
    let agreed: Vec<&Path> = changes.iter().flat_map(DiskChange::paths).collect();
    let home = home_of(&scope.services);
    let mut scope = scope.clone();
    scope.confinement = scope
        .confinement
        .keeping_but(&agreed, &scope.shown_at, &scope.cwd, home.as_deref());
    scope
}

/// Starts the process that writes files; what it reports.
async fn play_role(cwd: &Path, confinement: Confinement, input: Vec<u8>) -> Result<Vec<u8>, String> {
    let program = exec::self_program().map_err(|error| format!("The own program was not found: {error}."))?;
    let request = CommandRequest {
        argv: vec![program.display().to_string(), role::NAME.to_owned()],
        argv0: None,
        cwd: cwd.to_owned(),
        env: std::collections::BTreeMap::new(),
        confinement,
        timeout: Some(WRITE_LIMIT),
        input: exec::Input::Bytes(input),
        wrote: exec::Wrote::default(),
        full: exec::FullOutput::default(),
    };
    let finished = exec::run(request, |_, _| {}, CancellationToken::new())
        .await
        .map_err(|error| error.to_string())?;
    Ok(finished.stdout.into_bytes())
}

/// What a look at the journals of servers that died has come to.
#[derive(Debug, Default)]
pub struct Leftovers {
    /// What to tell the person.
    pub told: Vec<String>,
    /// Somebody is at work with some of them: another server, or the writer of one that was killed a moment ago.
    pub is_busy: bool,
}

/// Puts right what servers have left that died while they wrote files, by the journals in Countersign's home folder and
/// under the same confinement. Does nothing where somebody is still at work.
pub async fn recover_leftovers(home: &Path) -> Leftovers {
    let folder = journal_folder(home);
    let looking = folder.clone();
    let found = aside(move || {
        let journals = leftovers(&looking);
        let all = journals.len();
        let orphans = journals.into_iter();
        let orphans: Vec<_> = orphans
            .filter_map(|journal| Some((orphan_roots(&journal)?, journal)))
            .collect();
        (all > orphans.len(), orphans)
    });
    let (is_busy, orphans) = found.await;
    let mut told = Vec::new();
    for (roots, journal) in orphans {
        let recovery = if roots.is_empty() {
            // Nothing that it could name would be touched.
            recover_one(&journal, Some(&[]))
        } else {
            match recover_confined(&folder, &roots, &journal).await {
                Ok(recovery) => recovery,
                Err(message) => Recovery {
                    journal,
                    did: Did::Failed { message },
                    files: Vec::new(),
                    kept: Vec::new(),
                },
            }
        };
        told.extend(recovery.in_words());
    }
    Leftovers { told, is_busy }
}

/// Puts right what servers have left that died while they wrote files, and tells of it. Ends after the first look; where somebody is still
/// at work, such as the writer of a server that was killed a moment ago, it is looked again in the background.
pub async fn put_right(home: PathBuf, tell: impl Fn(&str) + Send + Sync + 'static) {
    let mut told: Vec<String> = Vec::new();
    let mut tell_once = move |found: Leftovers| {
        for words in found.told {
            if !told.contains(&words) {
                tell(&words);
                told.push(words);
            }
        }
        found.is_busy
    };
    if tell_once(recover_leftovers(&home).await) {
        tokio::spawn(async move {
            for wait in LOOK_AGAIN {
                tokio::time::sleep(wait).await;
                if !tell_once(recover_leftovers(&home).await) {
                    return;
                }
            }
        });
    }
}

async fn recover_confined(folder: &Path, roots: &[PathBuf], journal: &Path) -> Result<Recovery, String> {
    let closed = Confinement::new(&SandboxPolicy::from_mode(SandboxMode::ReadOnly), folder, &[], None);
    // They were real ones when the journal was written. What is a link by now leads somewhere else.
    let real = roots
        .iter()
        .filter(|root| fs::canonicalize(root).is_ok_and(|real| real == **root));
    let confinement = real
        .cloned()
        .chain([folder.to_owned()])
        .fold(closed, Confinement::with_writable);
    let request = Request::Recover {
        journal: journal.to_owned(),
    };
    let input = request.to_json().map_err(|error| error.to_string())?;
    let stdout = play_role(folder, confinement, input).await?;
    role::read_recovery(&stdout).map_err(|error| error.to_string())
}
