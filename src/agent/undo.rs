//! Taking turns back: every file as it was before a turn, changed by patches or by commands, without losing what the
//! person has done since.
//!
//! [`track`] finds out what a turn changes, [`keep`] writes it down, [`plan`] fits the way back to what is there now,
//! [`inverse`] does so for one path, [`carry`] does it. An undo is a turn of its own: it has events, a record, and can be
//! taken back itself.

mod carry;
mod changes;
mod copies;
mod inverse;
mod keep;
mod persons;
mod plan;
mod state;
mod strayed;
mod texts;
mod track;
mod writers;

pub(super) use keep::{add, is_untouched, note, save};
pub use persons::Persons;
pub use track::Track;
pub(super) use track::{Watch, begin, settle, stand_by, watch};
pub(super) use writers::Doing;
pub use writers::Writers;

use super::AgentError;
use super::apply::Scope;
use super::aside::aside;
use super::editor::Unsaved;
use super::services::Services;
use super::turn::{Ended, Turn};
use crate::ids::{ItemId, TurnId};
use crate::patch::files::{DiskFiles, Files as _};
use crate::patch::turn_diff::TurnDiff;
use crate::protocol::document::{ChangedKind, ChangedPath, FilesChanged};
use crate::protocol::event::{self, EventKind};
use crate::protocol::item::{ItemStatus, ThreadItem};
use crate::protocol::turn::{Turn as TurnShown, TurnError, TurnErrorKind};
use crate::protocol::undo::{TurnDiffResult, UndoConflicts, UndoFile, UndoResult};
use crate::snapshot::record::{Records, TurnRecord};
use crate::workspace::uri;
use copies::Copies;
use plan::Planned;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often an undo is fitted anew because the person typed while it was on its way.
const MOST_ATTEMPTS: usize = 3;
/// How long what a stopped turn's commands changed is waited for.
const LOOKS_LIMIT: Duration = Duration::from_secs(30);
/// Turns among which one to take back is looked for, for what is offered while the person types.
const MOST_LOOKED_AT: usize = 100;
/// Files that the model is told by name.
const MOST_TOLD: usize = 20;

/// What the person wants undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The first turn that goes; absent means the newest one.
    pub turn: Option<TurnId>,
    /// In the place of a turn: the item that says what one command changed.
    pub item: Option<ItemId>,
    /// Of that item only these files; empty means all.
    pub paths: Vec<PathBuf>,
    pub conflicts: UndoConflicts,
}

/// The turns that a request means, newest first.
fn chosen(records: &Records, turns: &[TurnId], request: &Request) -> Result<Vec<TurnRecord>, String> {
    let forced = request.conflicts == UndoConflicts::Restore;
    let load = |turn: &TurnId| records.load(turn).filter(|record| !record.is_empty());
    let first = match &request.turn {
        None => {
            return match newest(records, turns) {
                Some(found) => Ok(found),
                None if turns.iter().any(|turn| records.is_undone(turn)) => {
                    Err("Every turn that changed something has been undone already.".to_owned())
                }
                None => Err("No turn of this conversation has changed a file, so there is nothing to undo.".to_owned()),
            };
        }
        Some(first) => first,
    };
    let from = turns.iter().position(|turn| turn == first).unwrap_or(turns.len());
    let found: Vec<TurnRecord> = turns[from..]
        .iter()
        .filter(|turn| forced || !records.is_undone(turn))
        .filter_map(load)
        // Of undos only the one that is named: the others have done their work on turns that are taken back.
        .filter(|record| record.undoes.is_empty() || record.turn == *first || changes::is_of_command(record))
        .collect();
    if found.is_empty() {
        return Err(match records.is_undone(first) {
            true => "This turn has been undone already.".to_owned(),
            false => "Neither this turn nor one after it has changed a file, so there is nothing to undo.".to_owned(),
        });
    }
    Ok(found.into_iter().rev().collect())
}

/// The newest turn that changed something, behind what was undone of its commands by itself: that comes back first, so that all of the
/// turn goes.
fn newest(records: &Records, turns: &[TurnId]) -> Option<Vec<TurnRecord>> {
    let all = turns.iter().rev().filter(|turn| !records.is_undone(turn));
    let all = all.filter_map(|turn| records.load(turn).filter(|record| !record.is_empty()));
    let mut undos: Vec<TurnRecord> = Vec::new();
    for record in all {
        if record.undoes.is_empty() {
            undos.retain(|undo| undo.undoes.iter().all(|item| changes::is_of(item, &record.turn)));
            undos.push(record);
            return Some(undos);
        }
        undos.push(record);
    }
    None
}

/// Runs an undo from its first event to its last item; closing the turn is the caller's.
pub(super) async fn run(turn: &Arc<Turn>, request: Request) -> Ended {
    turn.begin(None);
    let id = ItemId::fresh();
    let item =
        |turns: Vec<TurnId>, files: Vec<UndoFile>, status: ItemStatus, message: Option<String>| ThreadItem::Undo {
            id: id.clone(),
            turns: if request.item.is_some() { Vec::new() } else { turns },
            item_id: request.item.clone(),
            files,
            status,
            message,
        };
    turn.start_item(item(Vec::new(), Vec::new(), ItemStatus::InProgress, None));
    match take_back(turn, &request).await {
        Ok(done) => {
            let message = Some(done.message);
            turn.complete_item(item(done.turns, done.files, ItemStatus::Completed, message));
            Ended::Completed
        }
        Err(refused) => {
            let message = refused.message;
            turn.complete_item(item(
                refused.turns,
                refused.files,
                ItemStatus::Failed,
                Some(message.clone()),
            ));
            Ended::Failed(TurnError {
                message,
                kind: TurnErrorKind::UndoFailed,
                http_status: None,
                actions: Vec::new(),
            })
        }
    }
}

/// What an undo came to.
struct Done {
    turns: Vec<TurnId>,
    files: Vec<UndoFile>,
    message: String,
}

impl From<String> for Done {
    fn from(message: String) -> Self {
        Self {
            turns: Vec::new(),
            files: Vec::new(),
            message,
        }
    }
}

async fn take_back(turn: &Arc<Turn>, request: &Request) -> Result<Done, Done> {
    let looks = &turn.conversation.looks;
    looks.close();
    if tokio::time::timeout(LOOKS_LIMIT, looks.wait()).await.is_err() {
        let words = "It is still being found out what the last turn's commands have changed. Undo again in a moment.";
        return Err(words.to_owned().into());
    }
    let Ok(_alone) = turn.services.changing.clone().try_write_owned() else {
        let words = "A command of another conversation is running that may write in the workspace, so its changes could \
                     not be told apart from the undo. Wait until it ends or stop it, then undo again.";
        return Err(words.to_owned().into());
    };
    let turns: Vec<TurnId> = turn
        .conversation
        .data()
        .turns
        .iter()
        .map(|turn| turn.id.clone())
        .collect();
    let records = turn.services.snapshots.records();
    let (reading, wanted) = (records.clone(), request.clone());
    if let Some(item) = &request.item {
        is_in_conversation(turn, item)?;
    }
    let found = aside(move || match &wanted.item {
        Some(item) => changes::recorded(&reading, item, &wanted.paths),
        None => chosen(&reading, &turns, &wanted),
    });
    let found = found.await?;
    // A task of its own: it runs to its end whatever becomes of the turn. An undo is whole, or not at all.
    let work = turn.services.steps.spawn(undo(turn.clone(), found, request.conflicts));
    work.await.unwrap_or_else(|error| {
        let words = format!("The undo failed inside Countersign: {error}. Look at the files before you undo again.");
        Err(words.into())
    })
}

/// An item of another conversation is none of this one's.
fn is_in_conversation(turn: &Turn, item: &ItemId) -> Result<(), String> {
    let data = turn.conversation.data();
    let mut items = data.turns.iter().flat_map(|turn| &turn.items);
    let is_it = |one: &ThreadItem| matches!(one, ThreadItem::CommandChanges { id, .. } if id == item);
    match items.any(is_it) {
        true => Ok(()),
        false => Err("This conversation has no such changes of a command.".to_owned()),
    }
}

async fn undo(turn: Arc<Turn>, found: Vec<TurnRecord>, conflicts: UndoConflicts) -> Result<Done, Done> {
    let turns: Vec<TurnId> = found.iter().rev().map(|record| record.turn.clone()).collect();
    let unknown = found.iter().find_map(|record| record.no_snapshot.clone());
    let unknown = unknown
        .map(|why| format!("There is no snapshot of what its commands changed ({why}), so that stays as it is."));
    let found = Arc::new(found);
    let scope = turn.find_scope().await;
    let mut attempt = 1;
    let (planned, left, copies) = loop {
        let (looking, records) = (turn.clone(), found.clone());
        let planned = aside(move || plan::plan((&looking.workspace, &looking.closed()), &records, conflicts)).await;
        let refuse = |planned: &[Planned], message: String, kept: bool| Done {
            turns: turns.clone(),
            files: planned.iter().map(|planned| kept_file(planned, kept)).collect(),
            message,
        };
        let is_left = |planned: &Planned| matches!(planned.result, UndoResult::Conflict | UndoResult::Skipped);
        if !planned.is_empty() && planned.iter().all(is_left) {
            return Err(refuse(&planned, all_left(&planned, &scope), false));
        }
        let folders = has_folders(&found);
        if planned.is_empty() && !folders {
            let why = unknown
                .clone()
                .unwrap_or_else(|| "There is nothing to undo.".to_owned());
            return Err(refuse(&planned, why, false));
        }
        let (paths, of): (Vec<PathBuf>, _) = (
            planned
                .iter()
                .filter(|one| one.changes())
                .map(|one| one.path.clone())
                .collect(),
            turns.clone(),
        );
        // Looked at before the links: what one that is put there later leads to is none of these places.
        let (shown_at, link) = aside(move || {
            let shown_at: Vec<PathBuf> = paths.iter().map(|path| DiskFiles.real(path)).collect();
            (shown_at, strayed::first_link(paths.iter().map(PathBuf::as_path), &of))
        })
        .await;
        if let Some(link) = link {
            let message = format!(
                "Nothing was undone. {} is a link that was put there since, so the files below it would be others. Remove the link, then \
                 undo again.",
                crate::shown::path(&link)
            );
            return Err(refuse(&planned, message, true));
        }
        let new_folders: Vec<_> = found.iter().flat_map(|record| record.new_folders.clone()).collect();
        let (copying, folder) = (turn.clone(), copies::folder(&turn.services.snapshots.folder()));
        let (planned, copies) = aside(move || {
            let folder = folder.join(copying.id.as_str());
            let copies = Copies::keep(folder, &planned, &copying.closed());
            (planned, copies)
        })
        .await;
        let copies = match copies {
            Ok(copies) => copies,
            Err(why) => return Err(refuse(&planned, format!("Nothing was undone. {why}"), true)),
        };
        let within = Scope {
            shown_at,
            ..scope.clone()
        };
        match carry::carry_out(&within, &planned, &new_folders).await {
            Ok(left) => break (planned, left, copies),
            Err(failure) if failure.overtaken && attempt < MOST_ATTEMPTS => {
                copies.discard();
                attempt += 1;
            }
            Err(failure) => {
                copies.discard();
                let message = format!("Nothing was undone. {}", failure.message);
                return Err(refuse(&planned, message, true));
            }
        }
    };
    let gone_folders: Vec<_> = found.iter().flat_map(|record| record.gone_folders.clone()).collect();
    carry::make_folders(&scope, &gone_folders).await;
    let mut files: Vec<UndoFile> = planned.iter().map(Planned::file).collect();
    for file in files.iter_mut().filter(|file| left.contains(&file.path)) {
        file.result = UndoResult::Kept;
        file.message = Some("it could not be deleted".to_owned());
    }
    remember(&turn, &found, &planned, &turns).await;
    tell(&turn, &planned, &files);
    save_documents(&turn, &planned).await;
    // A path comes last, so that nothing is taken for a part of it.
    let sentences = [Some(in_words(&files, &scope)), unknown, copies.in_words()];
    let message = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Ok(Done { turns, files, message })
}

fn has_folders(found: &[TurnRecord]) -> bool {
    found
        .iter()
        .any(|record| !record.new_folders.is_empty() || !record.gone_folders.is_empty())
}

/// A file of an undo that did not happen.
fn kept_file(planned: &Planned, failed: bool) -> UndoFile {
    let mut file = planned.file();
    if failed && planned.changes() {
        file.result = UndoResult::Kept;
    }
    file
}

fn all_left(planned: &[Planned], scope: &Scope) -> String {
    let each: Vec<String> = planned
        .iter()
        .take(MOST_TOLD)
        .map(|planned| {
            let why = planned.message.as_deref().unwrap_or("it stays");
            format!("{} ({why})", scope.short_name(&planned.path))
        })
        .collect();
    format!(
        "Nothing was undone, since it would lose what was changed since: {}.",
        each.join("; ")
    )
}

/// What an undo did, in one or two sentences.
fn in_words(files: &[UndoFile], scope: &Scope) -> String {
    let count = |result| files.iter().filter(|file| file.result == result).count();
    let named = |result| {
        let names: Vec<String> = files
            .iter()
            .filter(|file| file.result == result)
            .take(MOST_TOLD)
            .map(|file| match &file.message {
                Some(message) => format!("{} ({message})", scope.short_name(&file.path)),
                None => scope.short_name(&file.path),
            })
            .collect();
        names.join(", ")
    };
    let files_word = |count: usize| {
        if count == 1 {
            "1 file".to_owned()
        } else {
            format!("{count} files")
        }
    };
    let mut sentences = Vec::new();
    let (restored, removed) = (count(UndoResult::Restored), count(UndoResult::Removed));
    if restored > 0 || files.is_empty() {
        sentences.push(format!("Restored {}.", files_word(restored)));
    }
    if removed > 0 {
        sentences.push(format!("Removed {}.", files_word(removed).replace(' ', " new ")));
    }
    for (result, words) in [
        (UndoResult::Merged, "Taken out, with what was changed since kept"),
        (UndoResult::Conflict, "Left as it is"),
        (UndoResult::Skipped, "Not restored"),
        (UndoResult::Kept, "Still there"),
    ] {
        if count(result) > 0 {
            sentences.push(format!("{words}: {}.", named(result)));
        }
    }
    sentences.join(" ")
}

/// Notes what the undo changed, so that it can be undone, and which turns are gone now.
async fn remember(turn: &Arc<Turn>, found: &Arc<Vec<TurnRecord>>, planned: &[Planned], turns: &[TurnId]) {
    turn.with_diff(|diff| {
        for planned in planned.iter().filter(|planned| planned.changes()) {
            let (seen, then) = (planned.seen.as_ref(), planned.then());
            diff.record_sides(
                &planned.path,
                seen.map(state::Thing::side),
                then.as_ref().map(state::Thing::side),
            );
        }
    });
    // What was new is gone, what was gone is there again.
    let new: Vec<_> = found.iter().flat_map(|record| record.gone_folders.clone()).collect();
    let gone: Vec<_> = found.iter().flat_map(|record| record.new_folders.clone()).collect();
    let gone: Vec<_> = gone.into_iter().filter(|folder| !folder.exists()).collect();
    turn.track.undid(turns.to_vec(), &new, &gone);
    turn.services.proposals.mark_undone(turns);
    let (turn, found) = (turn.clone(), found.clone());
    aside(move || {
        keep::save(&turn);
        let records = turn.services.snapshots.records();
        let mut marks = Vec::new();
        for record in found.iter() {
            marks.push((record.turn.clone(), true));
            // An undo that is taken back brings its turns back.
            marks.extend(record.undoes.iter().map(|turn| (turn.clone(), false)));
        }
        for (turn, undone) in marks {
            if let Err(error) = records.set_undone(&turn, undone) {
                tracing::error!(%turn, %error, "that a turn was taken back could not be noted");
            }
        }
    })
    .await;
}

/// Tells the editor, the person's panel and the model.
fn tell(turn: &Turn, planned: &[Planned], files: &[UndoFile]) {
    let changed: Vec<ChangedPath> = planned.iter().filter_map(changed_on_disk).collect();
    if !changed.is_empty() {
        turn.publish(EventKind::FilesChanged(FilesChanged { paths: changed }));
    }
    if let Some(diff) = turn.changed_diff() {
        turn.publish(EventKind::TurnDiff(event::TurnDiff { diff }));
    }
    let done = |file: &&UndoFile| {
        matches!(
            file.result,
            UndoResult::Restored | UndoResult::Removed | UndoResult::Merged
        )
    };
    let names: Vec<String> = files
        .iter()
        .filter(done)
        .map(|file| turn.short_name(&file.path))
        .collect();
    if names.is_empty() {
        return;
    }
    let more = match names.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = names[..names.len().min(MOST_TOLD)].join(", ");
    let shown = crate::shown::envelope::inside_of(&crate::shown::line(&shown), &["undo"]);
    let words = format!(
        "<undo>\nThe person took back changes that you made: {shown}{more}. These files are as they were before; read them again \
         before you work on them.\n</undo>"
    );
    turn.conversation.say([super::prompt::message("user", words)]);
}

fn changed_on_disk(planned: &Planned) -> Option<ChangedPath> {
    let then = planned.disk.as_ref()?;
    let kind = match (&planned.there, then) {
        (None, _) => ChangedKind::Created,
        (Some(_), Some(_)) => ChangedKind::Changed,
        (Some(_), None) => ChangedKind::Deleted,
    };
    Some(ChangedPath {
        path: planned.path.clone(),
        uri: uri::from_path(&planned.path),
        kind,
    })
}

/// Documents that were saved before the turn, and are what they were then, are saved again where the editor does that
/// when it is asked. The others are the person's to save.
async fn save_documents(turn: &Turn, planned: &[Planned]) {
    let documents: Vec<Unsaved> = planned
        .iter()
        .filter(|planned| planned.save)
        .map(|planned| Unsaved {
            path: planned.path.clone(),
            held_unsaved_text: false,
        })
        .collect();
    if !documents.is_empty() && turn.services.editor.saves_on_request() {
        turn.services.save(&turn.conversation.id, documents).await;
    }
}

/// What a turn has changed, as one diff: of a live turn as it stands, of another from its record.
pub fn diff(
    services: &Services,
    turns: &[TurnShown],
    running: Option<&Arc<Turn>>,
    wanted: Option<&TurnId>,
    cwd: &Path,
) -> Result<TurnDiffResult, AgentError> {
    let records = services.snapshots.records();
    let shown = |turn: &TurnId, diff: &TurnDiff| TurnDiffResult {
        turn_id: Some(turn.clone()),
        diff: diff.unified(cwd).unwrap_or_default(),
    };
    if let Some(live) = running.filter(|live| wanted.is_none_or(|wanted| *wanted == live.id)) {
        let diff = live.with_diff(|diff| diff.clone());
        return Ok(shown(&live.id, &diff));
    }
    if let Some(wanted) = wanted {
        if !turns.iter().any(|turn| turn.id == *wanted) {
            return Err(AgentError::UnknownTurn(wanted.clone()));
        }
        let record = records.load(wanted);
        let diff = record.map(|record| keep::diff_of(&record)).unwrap_or_default();
        return Ok(shown(wanted, &diff));
    }
    let newest = turns
        .iter()
        .rev()
        .filter(|turn| !records.is_undone(&turn.id))
        .filter_map(|turn| records.load(&turn.id))
        .find(|record| record.undoes.is_empty() && !record.files.is_empty());
    Ok(match newest {
        Some(record) => shown(&record.turn, &keep::diff_of(&record)),
        None => TurnDiffResult {
            turn_id: None,
            diff: String::new(),
        },
    })
}

/// The turns, newest first, of which one may be taken back if it has a record. Looks at no files.
pub fn undoable(turns: &[TurnShown]) -> Vec<TurnId> {
    let is_undo = |turn: &TurnShown| turn.items.iter().any(|item| matches!(item, ThreadItem::Undo { .. }));
    let newest = turns.iter().rev().take(MOST_LOOKED_AT).filter(|turn| !is_undo(turn));
    newest.map(|turn| turn.id.clone()).collect()
}

/// Whether there is a turn to take back among these. Looks at names of files, so no lock may be held.
pub fn is_possible(services: &Services, turns: &[TurnId]) -> bool {
    let records = services.snapshots.records();
    turns.iter().any(|turn| records.has(turn) && !records.is_undone(turn))
}
