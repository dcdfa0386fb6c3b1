//! What a turn changes, as it happens: patches tell it themselves, commands are found out by looking at the workspace
//! before and after each.
//!
//! No snapshot is waited for but by a command that may write. A turn's first one would be slow in a large workspace that
//! was never looked at, so each turn looks once in the background while its first request is on its way; a turn that is
//! over sooner than that costs nothing. Patches wait for none: they know the texts before.

use super::changes::{COMMAND, Made};
use super::persons::Watching;
use super::texts::Texts;
use super::writers::{self, Doing, Noted, Whose, Writer, whose};
use super::{copies, keep};
use crate::agent::aside::aside;
use crate::agent::turn::Turn;
use crate::exec::Wrote;
use crate::exec::command::known_to_change_nothing;
use crate::ids::{ItemId, TurnId};
use crate::protocol::item::Confined;
use crate::protocol::settings::SandboxPolicy;
use crate::snapshot::{Change, Kind, Snapshot, SnapshotError, State};
use crate::workspace::{Document, SaveWatch};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::OwnedRwLockReadGuard;
use tokio_util::sync::CancellationToken;

/// A turn that is over by then needs no look at the workspace.
const LOOK_AFTER: Duration = Duration::from_millis(50);
/// Folders that are looked at; a workspace with more has none of the rest tracked.
const MOST_FOLDERS: usize = 16;
/// Files of others that the person is told by name.
const MOST_TOLD: usize = 5;

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
    /// What the person was told that others have changed.
    told: Mutex<BTreeSet<PathBuf>>,
    /// Items that have said what a command changed.
    items: AtomicU32,
}

/// A look at the workspace, for what changes while no call waits for it.
struct Standing {
    before: Vec<Snapshot>,
    meanwhile: Meanwhile,
}

/// What is known of others than the command while it runs.
struct Meanwhile {
    /// What the person saves from the editor.
    saves: SaveWatch,
    /// What the person's own commands change.
    persons: Watching,
    /// All commands of the agent, this one too.
    writers: Vec<Writer>,
}

impl Meanwhile {
    fn begin(turn: &Turn) -> Self {
        Self {
            saves: turn.workspace.watch_saves(),
            persons: turn.services.persons.watch(),
            writers: turn.services.writers.now(),
        }
    }
}

#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Tracked {
    /// Why it is not known what a command changed.
    pub(super) no_snapshot: Option<String>,
    pub(super) new_folders: BTreeSet<PathBuf>,
    pub(super) gone_folders: BTreeSet<PathBuf>,
    /// Files that the person saved while a command ran that changed them too.
    pub(super) shared: BTreeSet<PathBuf>,
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

    /// A name for the next item that says what a command changed; its record has the same.
    pub(super) fn next_item(&self, turn: &TurnId) -> String {
        format!("{turn}{COMMAND}{}", self.items.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Folders were made for the files of a patch.
    pub fn made_folders(&self, folders: &[PathBuf]) {
        self.state().new_folders.extend(folders.iter().cloned());
    }
}

/// The folders of a turn, each with those inside it that are looked at by themselves. Looks on the disk.
fn folders(roots: &[PathBuf], cwd: &PathBuf) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    for folder in roots.iter().chain([cwd]) {
        let Ok(real) = std::fs::canonicalize(folder) else {
            continue;
        };
        let is_inside = |(_, other): &(PathBuf, PathBuf)| real.starts_with(other);
        let is_root = roots.contains(folder);
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
        let (snapshots, roots) = (turn.services.snapshots.clone(), turn.roots.clone());
        // Mostly finds that there is nothing to do. Nobody waits for it.
        tokio::task::spawn_blocking(move || {
            snapshots.tidy(&roots);
            copies::prune(&snapshots.folder());
        });
    });
}

pub(super) async fn look(turn: &Turn, cancel: &CancellationToken) -> Result<Vec<Snapshot>, SnapshotError> {
    if !turn.config.snapshots() {
        return Err(SnapshotError::SwitchedOff);
    }
    let mut taken = Vec::new();
    let (roots, cwd) = (turn.roots.clone(), turn.settings.cwd.clone());
    for (folder, except) in aside(move || folders(&roots, &cwd)).await {
        taken.push(turn.services.snapshots.take(&folder, &except, cancel).await?);
    }
    Ok(taken)
}

/// A command that may write, from before it begins until what it changed is known. Nothing is taken back meanwhile: it
/// would look like the command's doing.
pub(in crate::agent) struct Watch(Option<Watched>);

struct Watched {
    turn: Arc<Turn>,
    /// The item of the command.
    item: ItemId,
    /// Absent if there was no snapshot to be had.
    before: Option<Vec<Snapshot>>,
    meanwhile: Meanwhile,
    /// What it writes by name; held, so that it is not forgotten.
    wrote: Wrote,
    noted: Noted,
    _changing: OwnedRwLockReadGuard<()>,
}

/// Call before a command begins, which is shown in this item; nothing if it cannot write, or the turn is stopped.
pub(in crate::agent) async fn watch(
    turn: &Arc<Turn>,
    item: &ItemId,
    argv: &[String],
    confined: Confined,
    doing: Doing,
) -> Watch {
    let only_reads =
        confined == Confined::ReadOnly || (confined == Confined::Workspace && known_to_change_nothing(argv));
    if only_reads {
        return Watch(None);
    }
    turn.track.looked.store(true, Ordering::Relaxed);
    let changing = turn.services.changing.clone().read_owned().await;
    let wrote = doing.wrote.clone();
    let noted = turn.services.writers.begin(&turn.conversation.id, doing);
    let meanwhile = Meanwhile::begin(turn);
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
        item: item.clone(),
        before,
        meanwhile,
        wrote,
        noted,
        _changing: changing,
    }))
}

/// A turn begins while a command that may write runs on from an earlier one: what it changes from now on is this turn's.
/// What it changed while no turn ran is nobody's, since the person worked there too.
pub(in crate::agent) async fn stand_by(turn: &Arc<Turn>) {
    let meanwhile = Meanwhile::begin(turn);
    match look(turn, &turn.cancel).await {
        Ok(before) => stand(turn, before, meanwhile),
        Err(SnapshotError::Stopped) => {}
        Err(error) => not_known(turn, &error),
    }
}

fn stand(turn: &Turn, before: Vec<Snapshot>, meanwhile: Meanwhile) {
    let standing = Standing { before, meanwhile };
    *turn.track.standing.lock().unwrap_or_else(PoisonError::into_inner) = Some(standing);
}

/// Finds out what commands in terminals have changed since the last time. `go_on` is whether any of them may write on.
pub(in crate::agent) async fn settle(turn: &Arc<Turn>, go_on: bool) {
    settle_by(turn, go_on, None).await;
}

/// The same; what changed is the doing of the command of this item, if it is said.
async fn settle_by(turn: &Arc<Turn>, go_on: bool, item: Option<ItemId>) {
    let standing = turn
        .track
        .standing
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(Standing { before, meanwhile }) = standing else {
        if go_on {
            stand_by(turn).await;
        }
        return;
    };
    let next = Meanwhile::begin(turn);
    match look(turn, &CancellationToken::new()).await {
        Ok(after) => {
            if go_on {
                stand(turn, after.clone(), next);
            }
            note_all(turn, before, after, meanwhile, (item, None)).await;
        }
        Err(error) => not_known(turn, &error),
    }
}

/// Notes what is different, and shows it as the doing of one command: of its item, and what it has written by name.
async fn note_all(
    turn: &Arc<Turn>,
    before: Vec<Snapshot>,
    after: Vec<Snapshot>,
    mut meanwhile: Meanwhile,
    (item, wrote): (Option<ItemId>, Option<Wrote>),
) {
    let noting = turn.clone();
    let noted = tokio::task::spawn_blocking(move || {
        meanwhile.writers.extend(noting.services.writers.now());
        let mut made = Made::default();
        for (before, after) in before.iter().zip(&after) {
            made.add(note(&noting, before, after, &meanwhile, wrote.as_ref()));
        }
        made.show(&noting, item.as_ref());
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
            "There is no snapshot of the workspace, so what the agent's commands change cannot be undone: {reason}. Its \
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
            item,
            before,
            meanwhile,
            wrote: _wrote,
            _changing,
            ..
        }) = self.0.take()
        else {
            return;
        };
        let is_only_one = {
            // Another command that runs on may have been looked after for longer.
            let mut standing = turn.track.standing.lock().unwrap_or_else(PoisonError::into_inner);
            let is_only_one = standing.is_none();
            if let (None, Some(before)) = (&*standing, before) {
                *standing = Some(Standing { before, meanwhile });
            }
            is_only_one
        };
        settle_by(&turn, true, is_only_one.then_some(item)).await;
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
    let services = watched.turn.services.clone();
    let looks = watched.turn.conversation.looks.clone();
    services.steps.spawn(looks.track_future(compare(watched, late)))
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
            let by = (Some(watched.item), Some(watched.wrote));
            note_all(&turn, before.clone(), after, watched.meanwhile, by).await;
            watched.noted.set();
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

/// Notes for the diff of the turn what a command made different. What it has made of that, by what it wrote, is returned.
fn note(turn: &Turn, before: &Snapshot, after: &Snapshot, meanwhile: &Meanwhile, wrote: Option<&Wrote>) -> Made {
    let Meanwhile {
        saves,
        persons,
        writers,
    } = meanwhile;
    let persons = persons.changes(after);
    let left = |change: &Change| {
        let same = |by_person: &Change| by_person.path == change.path && by_person.after == change.after;
        persons.iter().any(same)
    };
    let root = std::fs::canonicalize(before.root()).unwrap_or_else(|_| before.root().to_owned());
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for change in before.changes(after).into_iter().filter(|change| !left(change)) {
        let place = writers::real(before, &root, &change.path);
        let saved = saves.last(&change.path);
        match whose(writers, &turn.conversation.id, &change, &place) {
            Whose::Ours => ours.push((change, saved)),
            Whose::Nobodys if saved.is_none() && writers::to_tell(&change) => others.push(change.path),
            Whose::Theirs | Whose::Nobodys => {}
        }
    }
    tell_others(turn, others);
    let mut texts = Texts::default();
    for (change, _) in &ours {
        texts.want(change.before.as_ref());
        texts.want(change.after.as_ref());
    }
    texts.read(turn);
    ours.retain(|(change, saved)| {
        let holds = |saved: &Document| texts.holds(change.after.as_ref(), saved);
        !saved.as_ref().is_some_and(holds)
    });
    let shared = ours.iter().filter(|(_, saved)| saved.is_some());
    let shared: BTreeSet<PathBuf> = shared.map(|(change, _)| change.path.clone()).collect();
    turn.track.state().shared.extend(shared.iter().cloned());
    let changes: Vec<Change> = ours.into_iter().map(|(change, _)| change).collect();
    // Another command of this thread may have run at the same time.
    let is_its = |change: &&Change| {
        let place = writers::real(before, &root, &change.path);
        wrote.is_none_or(|wrote| writers::may_be_of(wrote, change, &place))
    };
    let its: BTreeSet<PathBuf> = changes
        .iter()
        .filter(is_its)
        .map(|change| change.path.clone())
        .collect();
    let (new_folders, gone_folders) = note_folders(turn, &changes, before, after);
    let sides: Vec<_> = changes
        .iter()
        .filter(|change| [&change.before, &change.after].into_iter().flatten().any(is_entry))
        .map(|change| {
            (
                change.path.clone(),
                texts.side(change.before.as_ref()),
                texts.side(change.after.as_ref()),
            )
        })
        .collect();
    turn.with_diff(|diff| {
        for (path, before, after) in &sides {
            diff.record_sides(path, before.clone(), after.clone());
        }
    });
    Made {
        files: sides.into_iter().filter(|(path, ..)| its.contains(path)).collect(),
        new_folders,
        gone_folders,
        shared,
    }
}

pub(super) fn is_entry(state: &State) -> bool {
    state.kind != Kind::Folder
}

/// Says of each file once in a turn that it is none of the turn's, though it changed while a command ran.
fn tell_others(turn: &Turn, paths: Vec<PathBuf>) {
    let mut told = turn.track.told.lock().unwrap_or_else(PoisonError::into_inner);
    // A file of a patch is on the disk by other hands, such as the editor's.
    let is_new = |path: &PathBuf| !turn.with_diff(|diff| diff.knows(path)) && told.insert(path.clone());
    let new: Vec<PathBuf> = paths.into_iter().filter(is_new).collect();
    drop(told);
    if new.is_empty() {
        return;
    }
    let names: Vec<String> = new.iter().take(MOST_TOLD).map(|path| turn.short_name(path)).collect();
    let more = match new.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    turn.warn(format!(
        "Other programs changed files while a command of the agent ran: {}{more}. They are not in the diff of this turn, \
         and an undo leaves them as they are.",
        crate::shown::line(&names.join(", "))
    ));
}

/// Notes which folders came and which went, and returns them.
fn note_folders(turn: &Turn, changes: &[Change], before: &Snapshot, after: &Snapshot) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut came, mut went) = (BTreeSet::new(), BTreeSet::new());
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
                came.insert(folder.to_owned());
                if !state.gone_folders.remove(folder) {
                    state.new_folders.insert(folder.to_owned());
                }
            }
        }
        if is_folder(&change.before) && !after.has_folder(&change.path) {
            went.insert(change.path.clone());
            if !state.new_folders.remove(&change.path) {
                state.gone_folders.insert(change.path.clone());
            }
        }
    }
    (came.into_iter().collect(), went.into_iter().collect())
}
