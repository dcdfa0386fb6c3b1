//! What a turn changes, as it happens: patches tell it themselves, commands are found out by looking at the workspace
//! before and after each.
//!
//! No snapshot is waited for but by a command that may write. A turn's first one would be slow in a large workspace that
//! was never looked at, so each turn looks once in the background while its first request is on its way; a turn that is
//! over sooner than that costs nothing. Patches wait for none: they know the texts before.

use super::keep;
use super::persons::Watching;
use crate::agent::turn::Turn;
use crate::exec::command::known_to_only_read;
use crate::exec::git::Stop;
use crate::ids::TurnId;
use crate::patch::turn_diff::{Body, Side};
use crate::protocol::item::Confined;
use crate::protocol::settings::SandboxPolicy;
use crate::snapshot::{Blob, Change, Kind, Snapshot, SnapshotError, State};
use crate::workspace::Document;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::OwnedRwLockReadGuard;
use tokio_util::sync::CancellationToken;

/// A turn that is over by then needs no look at the workspace.
const LOOK_AFTER: Duration = Duration::from_millis(50);
/// Folders that are looked at; a workspace with more has none of the rest tracked.
const MOST_FOLDERS: usize = 16;
/// Bytes of one file that is shown as text, and of all that one command changed.
const MOST_TEXT: u64 = 4 << 20;
const MOST_TEXTS: u64 = 64 << 20;

/// What is known of a turn's changes beside the texts, which are in its diff.
#[derive(Default)]
pub struct Track {
    state: Mutex<Tracked>,
    /// What was written down last: the revision of the diff, and the rest.
    saved: Mutex<Option<(u64, Tracked)>>,
    /// A command has looked at the workspace, so nobody else needs to.
    looked: AtomicBool,
    /// What the workspace held when a command that runs on in a terminal was last looked after.
    standing: Mutex<Option<Standing>>,
}

/// A look at the workspace, for what changes while no call waits for it.
struct Standing {
    before: Vec<Snapshot>,
    documents: HashMap<PathBuf, Document>,
    /// What the person's own commands change meanwhile.
    persons: Watching,
}

#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Tracked {
    /// Why it is not known what a command changed.
    pub(super) no_snapshot: Option<String>,
    pub(super) new_folders: BTreeSet<PathBuf>,
    pub(super) gone_folders: BTreeSet<PathBuf>,
    /// For an undo: the turns that it took back.
    pub(super) undoes: Vec<TurnId>,
}

impl Track {
    fn state(&self) -> MutexGuard<'_, Tracked> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Tracked {
        self.state().clone()
    }

    /// Whether there is something new to write down; from now on it counts as written.
    pub(super) fn is_new(&self, revision: u64) -> bool {
        let now = Some((revision, self.now()));
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = *saved != now;
        *saved = now;
        is_new
    }

    /// What an undo did.
    pub(super) fn undid(&self, turns: Vec<TurnId>, new_folders: &[PathBuf], gone_folders: &[PathBuf]) {
        let mut state = self.state();
        state.undoes = turns;
        state.new_folders.extend(new_folders.iter().cloned());
        state.gone_folders.extend(gone_folders.iter().cloned());
    }

    /// Folders were made for the files of a patch.
    pub fn made_folders(&self, folders: &[PathBuf]) {
        self.state().new_folders.extend(folders.iter().cloned());
    }
}

/// The folders of a turn, each with those inside it that are looked at by themselves.
fn folders(turn: &Turn) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    for folder in turn.roots.iter().chain([&turn.settings.cwd]) {
        let Ok(real) = std::fs::canonicalize(folder) else {
            continue;
        };
        let is_inside = |(_, other): &(PathBuf, PathBuf)| real.starts_with(other);
        let is_root = turn.roots.contains(folder);
        // The conversation's own folder counts by itself only where no folder of the workspace holds it.
        if found.iter().all(|(_, other)| *other != real) && (is_root || !found.iter().any(is_inside)) {
            found.push((folder.clone(), real));
        }
    }
    found.truncate(MOST_FOLDERS);
    let inner = |real: &Path| {
        let others = found.iter().map(|(_, other)| other);
        let inside = others.filter(|other| *other != real && other.starts_with(real));
        inside.cloned().collect()
    };
    found
        .iter()
        .map(|(folder, real)| (folder.clone(), inner(real)))
        .collect()
}

/// Looks at the workspace in the background, so that the turn's first command need not wait for it. Ends with the turn.
pub(in crate::agent) fn begin(turn: &Arc<Turn>) {
    if !turn.config.snapshots() || matches!(turn.settings.sandbox_policy, SandboxPolicy::ReadOnly { .. }) {
        return;
    }
    let turn = turn.clone();
    tokio::spawn(async move {
        tokio::select! {
            biased;
            () = turn.closed.cancelled() => return,
            () = turn.cancel.cancelled() => return,
            () = tokio::time::sleep(LOOK_AFTER) => {}
        }
        if turn.track.looked.load(Ordering::Relaxed) {
            return;
        }
        let over = turn.closed.child_token();
        let looked = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return,
            looked = look(&turn, &over) => looked,
        };
        if let Err(error) = looked {
            tracing::debug!(turn = %turn.id, %error, "no snapshot at the start of a turn");
        }
        let (snapshots, roots) = (turn.desk.snapshots.clone(), turn.roots.clone());
        // Mostly finds that there is nothing to do. Nobody waits for it.
        tokio::task::spawn_blocking(move || snapshots.tidy(&roots));
    });
}

pub(super) async fn look(turn: &Turn, cancel: &CancellationToken) -> Result<Vec<Snapshot>, SnapshotError> {
    if !turn.config.snapshots() {
        return Err(SnapshotError::SwitchedOff);
    }
    let mut taken = Vec::new();
    for (folder, except) in folders(turn) {
        taken.push(turn.desk.snapshots.take(&folder, &except, cancel).await?);
    }
    Ok(taken)
}

/// A command that may write, from before it begins until what it changed is known. Nothing is taken back meanwhile: it
/// would look like the command's doing.
pub(in crate::agent) struct Watch(Option<Watched>);

struct Watched {
    turn: Arc<Turn>,
    /// Absent if there was no snapshot to be had.
    before: Option<Vec<Snapshot>>,
    documents: HashMap<PathBuf, Document>,
    /// What the person's own commands change meanwhile.
    persons: Watching,
    _changing: OwnedRwLockReadGuard<()>,
}

/// Call before a command begins; nothing if it cannot write, or the turn is stopped.
pub(in crate::agent) async fn watch(turn: &Arc<Turn>, argv: &[String], confined: Confined) -> Watch {
    let only_reads = confined == Confined::ReadOnly || (confined == Confined::Workspace && known_to_only_read(argv));
    if only_reads {
        return Watch(None);
    }
    turn.track.looked.store(true, Ordering::Relaxed);
    let changing = turn.desk.changing.clone().read_owned().await;
    let persons = turn.desk.persons.watch();
    let before = match look(turn, &turn.cancel).await {
        Ok(before) => Some(before),
        Err(SnapshotError::Stopped) => return Watch(None),
        Err(error) => {
            not_known(turn, &error);
            None
        }
    };
    Watch(Some(Watched {
        turn: turn.clone(),
        before,
        documents: documents(turn),
        persons,
        _changing: changing,
    }))
}

/// The open documents as they are now.
fn documents(turn: &Turn) -> HashMap<PathBuf, Document> {
    let documents = turn.workspace.documents();
    let by_path = |document: Document| Some((document.path()?.to_owned(), document));
    documents.into_iter().filter_map(by_path).collect()
}

/// A turn begins while a command that may write runs on from an earlier one: what it changes from now on is this turn's.
/// What it changed while no turn ran is nobody's, since the person worked there too.
pub(in crate::agent) async fn stand_by(turn: &Arc<Turn>) {
    let persons = turn.desk.persons.watch();
    match look(turn, &turn.cancel).await {
        Ok(before) => stand(turn, before, persons),
        Err(SnapshotError::Stopped) => {}
        Err(error) => not_known(turn, &error),
    }
}

fn stand(turn: &Turn, before: Vec<Snapshot>, persons: Watching) {
    let standing = Standing {
        before,
        documents: documents(turn),
        persons,
    };
    *turn.track.standing.lock().unwrap_or_else(PoisonError::into_inner) = Some(standing);
}

/// Finds out what commands in terminals have changed since the last time. `go_on` is whether any of them may write on.
pub(in crate::agent) async fn settle(turn: &Arc<Turn>, go_on: bool) {
    let standing = turn
        .track
        .standing
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(Standing {
        before,
        documents,
        persons,
    }) = standing
    else {
        if go_on {
            stand_by(turn).await;
        }
        return;
    };
    let next = turn.desk.persons.watch();
    match look(turn, &CancellationToken::new()).await {
        Ok(after) => {
            if go_on {
                stand(turn, after.clone(), next);
            }
            note_all(turn, before, after, documents, persons).await;
        }
        Err(error) => not_known(turn, &error),
    }
}

async fn note_all(
    turn: &Arc<Turn>,
    before: Vec<Snapshot>,
    after: Vec<Snapshot>,
    documents: HashMap<PathBuf, Document>,
    persons: Watching,
) {
    let noting = turn.clone();
    let noted = tokio::task::spawn_blocking(move || {
        for (before, after) in before.iter().zip(&after) {
            let persons = persons.changes(after);
            note(&noting, before, after, &documents, &persons);
        }
    });
    if let Err(error) = noted.await {
        tracing::error!(%error, "what a command changed was not noted");
    }
}

/// Says once in a thread that commands cannot be taken back, and remembers why.
fn not_known(turn: &Turn, error: &SnapshotError) {
    let reason = error.to_string();
    turn.track.state().no_snapshot.get_or_insert_with(|| reason.clone());
    if matches!(error, SnapshotError::SwitchedOff) {
        // Whoever did that knows it.
        return;
    }
    tracing::warn!(thread = %turn.conversation.id, turn = %turn.id, %error, "no snapshot");
    let first = !std::mem::replace(&mut turn.conversation.data().told_no_snapshot, true);
    if first {
        turn.warn(format!(
            "There is no snapshot of the workspace, so what the agent's commands change cannot be taken back: {reason}. Its \
             patches can."
        ));
    }
}

impl Watch {
    /// Whether the command may write.
    pub(in crate::agent) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Finds out what the command changed so far; it runs on, and what it changes later is found by `settle`.
    pub(in crate::agent) async fn go_on(mut self) {
        let Some(Watched {
            turn,
            before,
            documents,
            persons,
            _changing,
        }) = self.0.take()
        else {
            return;
        };
        {
            // Another command that runs on may have been looked after for longer.
            let mut standing = turn.track.standing.lock().unwrap_or_else(PoisonError::into_inner);
            if let (None, Some(before)) = (&*standing, before) {
                *standing = Some(Standing {
                    before,
                    documents,
                    persons,
                });
            }
        }
        settle(&turn, true).await;
    }

    /// Finds out what the command changed.
    pub(in crate::agent) async fn finish(mut self) {
        if let Some(watched) = self.0.take() {
            // Tracked, so that it comes to its end also if the turn is ended by force meanwhile.
            let looked = begin_comparing(watched, false);
            if let Err(error) = looked.await {
                tracing::error!(%error, "what a command changed was not found out");
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The call was broken off; the command ends with it, and has done what it has done.
        if let Some(watched) = self.0.take()
            && tokio::runtime::Handle::try_current().is_ok()
        {
            begin_comparing(watched, true);
        }
    }
}

fn begin_comparing(watched: Watched, late: bool) -> tokio::task::JoinHandle<()> {
    let desk = watched.turn.desk.clone();
    let looks = watched.turn.conversation.looks.clone();
    desk.steps.spawn(looks.track_future(compare(watched, late)))
}

async fn compare(watched: Watched, late: bool) {
    if late {
        // Its keeper takes a moment to end everything.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let Some(before) = &watched.before else {
        return save_late(&watched.turn, late).await;
    };
    let turn = watched.turn.clone();
    match look(&turn, &CancellationToken::new()).await {
        Ok(after) => {
            note_all(&turn, before.clone(), after, watched.documents.clone(), watched.persons).await;
        }
        Err(error) => not_known(&turn, &error),
    }
    save_late(&turn, late).await;
}

async fn save_late(turn: &Arc<Turn>, late: bool) {
    if late {
        let turn = turn.clone();
        let _saved = tokio::task::spawn_blocking(move || keep::save(&turn)).await;
    }
}

/// Notes for the diff of the turn what a command made different.
fn note(turn: &Turn, before: &Snapshot, after: &Snapshot, documents: &HashMap<PathBuf, Document>, persons: &[Change]) {
    let left = |change: &Change| {
        let same = |by_person: &&Change| by_person.path == change.path && by_person.after == change.after;
        persons.iter().any(|by_person| same(&by_person))
    };
    let is_persons =
        |change: &Change| left(change) || documents.get(&change.path).is_some_and(|then| was_saved(turn, then));
    let changes: Vec<Change> = before
        .changes(after)
        .into_iter()
        .filter(|change| !is_persons(change))
        .collect();
    note_folders(turn, &changes, before, after);
    let mut texts = Texts::default();
    for change in &changes {
        texts.want(change.before.as_ref());
        texts.want(change.after.as_ref());
    }
    texts.read(turn);
    let sides: Vec<_> = changes
        .iter()
        .filter(|change| [&change.before, &change.after].into_iter().flatten().any(is_entry))
        .map(|change| {
            (
                &change.path,
                texts.side(change.before.as_ref()),
                texts.side(change.after.as_ref()),
            )
        })
        .collect();
    turn.with_diff(|diff| {
        for (path, before, after) in sides {
            diff.record_sides(path, before, after);
        }
    });
}

fn is_entry(state: &State) -> bool {
    state.kind != Kind::Folder
}

/// Whether what is new on the disk is what the person saved from the editor while the command ran.
fn was_saved(turn: &Turn, then: &Document) -> bool {
    let now = then.path().and_then(|path| turn.workspace.document(path));
    let saved = now.filter(|now| now.saved_version != then.saved_version);
    saved.is_some_and(|now| !now.differs_from_disk())
}

fn note_folders(turn: &Turn, changes: &[Change], before: &Snapshot, after: &Snapshot) {
    let is_folder = |state: &Option<State>| state.as_ref().is_some_and(|state| state.kind == Kind::Folder);
    let mut state = turn.track.state();
    for change in changes {
        if change.after.is_some() {
            let own = is_folder(&change.after).then_some(change.path.as_path());
            let above = change.path.ancestors().skip(1);
            let new = own
                .into_iter()
                .chain(above)
                .take_while(|folder| folder.starts_with(before.root()) && !before.has_folder(folder));
            for folder in new {
                if !state.gone_folders.remove(folder) {
                    state.new_folders.insert(folder.to_owned());
                }
            }
        }
        if is_folder(&change.before) && !after.has_folder(&change.path) && !state.new_folders.remove(&change.path) {
            state.gone_folders.insert(change.path.clone());
        }
    }
}

/// Contents that are needed as texts.
#[derive(Default)]
struct Texts {
    wanted: Vec<Blob>,
    bytes: u64,
    contents: HashMap<Blob, Vec<u8>>,
}

impl Texts {
    fn want(&mut self, state: Option<&State>) {
        let Some((state, blob)) = state.and_then(|state| Some((state, state.blob.as_ref()?))) else {
            return;
        };
        if state.kind == Kind::Link || (state.size <= MOST_TEXT && self.bytes + state.size <= MOST_TEXTS) {
            self.bytes += state.size;
            self.wanted.push(blob.clone());
        }
    }

    fn read(&mut self, turn: &Turn) {
        if self.wanted.is_empty() {
            return;
        }
        match turn.desk.snapshots.read(&self.wanted, &Stop::default()) {
            Ok(contents) => {
                let found = self.wanted.drain(..).zip(contents);
                self.contents = found.filter_map(|(blob, content)| Some((blob, content?))).collect();
            }
            Err(error) => tracing::warn!(%error, "what a command changed cannot be shown"),
        }
    }

    fn side(&self, state: Option<&State>) -> Option<Side> {
        let state = state.filter(|state| is_entry(state))?;
        let content = state.blob.as_ref().and_then(|blob| self.contents.get(blob));
        let body = match (state.kind, content, &state.blob) {
            (Kind::Link, Some(content), _) => Body::Link(crate::snapshot::path_of_bytes(content)?),
            (Kind::File, Some(content), _) if is_text(content) => {
                Body::Text(String::from_utf8_lossy(content).as_ref().into())
            }
            (Kind::File, _, Some(blob)) => Body::Bytes {
                key: blob.key(),
                size: state.size,
            },
            _ => Body::Unkept {
                key: state.stamp.clone(),
                size: state.size,
            },
        };
        Some(Side {
            mode: Some(state.mode),
            body,
        })
    }
}

fn is_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}
