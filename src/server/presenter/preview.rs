//! A proposal in the editor's own preview, where every part starts unticked. The editor's reply does not tell what was
//! ticked, so the texts are looked at afterwards.

use super::change::Change;
use super::{Presenter, words};
use crate::agent::proposals::places;
use crate::ids::HunkId;
use crate::lsp::edit;
use crate::patch::hunk::placed_edits;
use crate::patch::plan::FilePlan;
use crate::patch::rebase::{Conflict, Rebased, rebase};
use crate::protocol::item::{FileChangeKind, LineRange};
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalFile};
use crate::server::editor::ApplyResult;
use crate::server::outbound::{Outbound, RequestFailure};
use crate::workspace::{Document, disk};
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};

/// How long an editor may take to send the changes that its preview made.
const SETTLE: Duration = Duration::from_secs(3);
/// How often the disk is looked at meanwhile: nobody announces what happens there.
const LOOK: Duration = Duration::from_millis(200);
/// Quiet after which what is there is all that comes.
const QUIET: Duration = Duration::from_millis(150);

/// How long a proposal waits for a panel that nobody needs any more, before it is asked about in another way.
const LEFT_OPEN: Duration = Duration::from_secs(5);

/// What became of showing a proposal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is settled with what the person ticked, or was settled elsewhere.
    Settled,
    /// The person has begun to decide on its hunks where they lie; there the rest is decided, too.
    DecidedElsewhere,
    /// Nothing was taken, and no word was a no: the files were typed in meanwhile, so the editor could not apply it.
    Overtaken,
    /// The same, and the editor has closed its panel by itself, so that a fresh one can be shown.
    Outdated,
    /// The editor cannot show it, or another preview stays in front.
    Refused,
}

/// The editor's one panel. It shows one edit at a time, and asks the person something else when a second one comes.
#[derive(Default)]
pub(super) struct Panel {
    slot: Arc<tokio::sync::Mutex<()>>,
    /// What the panel shows is decided already, and it is still open: no editor lets us close it.
    left_open: watch::Sender<bool>,
}

impl Panel {
    /// Shows an edit, once those before it are closed. Dropped, the question is taken back, and the panel counts as in
    /// use until the person closes it. Nothing if one that was left open is in the way.
    async fn show(&self, outbound: &Outbound, params: impl FnOnce() -> Option<Value>) -> Option<Reply> {
        let mut left_open = self.left_open.subscribe();
        let guard = tokio::select! {
            biased;
            guard = self.slot.clone().lock_owned() => guard,
            () = async {
                // The sender lives as long as `self`.
                let _left = left_open.wait_for(|left| *left).await.is_ok();
                tokio::time::sleep(LEFT_OPEN).await;
            } => return None,
        };
        // Built when its turn has come, for today's text.
        let mut pending = outbound.request::<ApplyResult>("workspace/applyEdit", params()?);
        let (mut sender, answer) = oneshot::channel();
        let left_open = self.left_open.clone();
        tokio::spawn(async move {
            tokio::select! {
                reply = &mut pending => {
                    drop(guard);
                    // Nobody waits any more if it was settled at this very moment.
                    let _late = sender.send(reply);
                    return;
                }
                () = sender.closed() => {}
            }
            pending.take_back();
            left_open.send_replace(true);
            let _late = pending.await;
            left_open.send_replace(false);
            drop(guard);
        });
        answer.await.ok()
    }
}

type Reply = Result<ApplyResult, RequestFailure>;

/// Shows the proposal and settles it with what the person ticked. `elsewhere` tells when a hunk is decided at its place.
pub(super) async fn ask(presenter: &Presenter, proposal: &Proposal, elsewhere: &Notify) -> Outcome {
    let proposals = &presenter.shared.agent.services().proposals;
    // Made when its turn has come, for what the texts and the hunks are then.
    let mut shown = None;
    let params = || {
        let (today, plan) = proposals.decided(&proposal.id)?;
        let files = as_edited(&today, &plan.files);
        let (params, shows) = edit_params(presenter, &today, &files)?;
        // As long as it is open the person may decide elsewhere, too.
        let hunks = presenter.has_shown(shows);
        shown = Some((files, texts(presenter, &today), hunks));
        Some(params)
    };
    let reply = tokio::select! {
        biased;
        () = elsewhere.notified() => return Outcome::DecidedElsewhere,
        reply = presenter.shared.panel.show(&presenter.shared.outbound, params) => reply,
    };
    let Some((files, seen, hunks)) = shown else {
        return Outcome::Refused;
    };
    let Some(reply) = reply else {
        return Outcome::Refused;
    };
    if reply.is_err() {
        presenter.has_not_shown(&hunks);
    }
    let applied = reply.as_ref().is_ok_and(|reply| reply.applied);
    let found = settled(presenter, proposal, &files, applied).await;
    let trouble = match reply {
        Ok(reply) if !applied && found.is_nothing() && seen != texts(presenter, proposal) => {
            // Our extension closes a preview that the person's typing has outdated, and says so; a person who closes one
            // gives no reason.
            let reason = reply.failure_reason.unwrap_or_default();
            return match reason.trim() {
                "" => Outcome::Overtaken,
                _ => Outcome::Outdated,
            };
        }
        Err(error) if found.is_nothing() => {
            tracing::warn!(%error, "the editor could not show a preview");
            return Outcome::Refused;
        }
        Err(error) => Some(format!("The change broke off: {error}.")),
        Ok(_) if applied && found.is_nothing() => {
            Some("The editor said that it made the change, but no part of it is in the files.".to_owned())
        }
        Ok(ApplyResult {
            applied: false,
            failure_reason: Some(reason),
            ..
        }) if !reason.trim().is_empty() => Some(format!(
            "The editor refused the change: {}.",
            reason.trim().trim_end_matches('.')
        )),
        Ok(_) if !applied && !found.is_nothing() => {
            Some("The editor gave the change up when a part of it was made.".to_owned())
        }
        // What is not there was not ticked.
        Ok(_) => None,
    };
    let told: Vec<_> = trouble.into_iter().chain(found.oddities).collect();
    let trouble = (!told.is_empty()).then(|| told.join(" "));
    if let Err(error) = proposals.settled_in_place(&proposal.id, &found.hunks, trouble) {
        tracing::info!(%error, "the preview's outcome came too late");
    }
    Outcome::Settled
}

/// The plan with the hunks as the person has edited them.
fn as_edited(proposal: &Proposal, plan: &[FilePlan]) -> Vec<FilePlan> {
    let edited = |(file, planned): (&ProposalFile, &FilePlan)| {
        let mut planned = planned.clone();
        if file.hunks.iter().any(|hunk| hunk.proposed_text.is_some()) {
            for (hunk, planned) in file.hunks.iter().zip(&mut planned.hunks) {
                planned.new_text.clone_from(&hunk.new_text);
            }
            planned.after = planned.with(&vec![true; planned.hunks.len()]);
            if file.kind == FileChangeKind::Add {
                planned.after = Some(file.hunks.iter().map(|hunk| hunk.new_text.as_str()).collect());
            }
        }
        planned
    };
    proposal.files.iter().zip(plan).map(edited).collect()
}

/// The texts that a preview is made for.
fn texts(presenter: &Presenter, proposal: &Proposal) -> Vec<Option<String>> {
    let workspace = &presenter.shared.agent.services().workspace;
    let text = |file: &ProposalFile| text_of(workspace.document(&file.path).as_ref(), &file.path);
    proposal.files.iter().map(text).collect()
}

/// The parameters of `workspace/applyEdit`, and the hunks that are in them; nothing where no part of the proposal fits any more.
fn edit_params(presenter: &Presenter, proposal: &Proposal, plan: &[FilePlan]) -> Option<(Value, Vec<HunkId>)> {
    // What is no text goes and comes by our own hands: no editor deletes or renames it so that it can be put back. And no editor's
    // preview shows a mode, or gives it.
    if plan.iter().any(|file| file.whole.is_some() || file.mode.is_some()) {
        return None;
    }
    let mut edit = Edit {
        cwd: presenter.folder_of(proposal),
        ..Edit::default()
    };
    for (number, (file, planned)) in proposal.files.iter().zip(plan).enumerate() {
        edit.file(presenter, number, (proposal, file), planned);
    }
    if edit.changes.is_empty() {
        return None;
    }
    let mut params = json!({
        "label": "Countersign",
        "edit": {"documentChanges": edit.changes, "changeAnnotations": edit.annotations},
    });
    // The editor saves every file of a refactoring; text of the person's that is not saved yet must not be among them.
    if presenter.shared.client.can.edit_metadata && !edit.touches_unsaved {
        params["metadata"] = json!({"isRefactoring": true});
    }
    Some((params, edit.shows))
}

#[derive(Default)]
struct Edit {
    changes: Vec<Value>,
    annotations: Map<String, Value>,
    touches_unsaved: bool,
    /// What of the proposal is in it.
    shows: Vec<HunkId>,
    /// The folder that names are told from.
    cwd: PathBuf,
}

impl Edit {
    /// The label says which part it is, the description what it does.
    fn annotate(&mut self, id: String, label: String, description: &str) -> String {
        let annotation = json!({"label": label, "needsConfirmation": true, "description": description});
        self.annotations.insert(id.clone(), annotation);
        id
    }

    fn file(
        &mut self,
        presenter: &Presenter,
        number: usize,
        (proposal, file): (&Proposal, &ProposalFile),
        planned: &FilePlan,
    ) {
        let encoding = presenter.shared.client.encoding;
        let name = words::relative(&file.path, &self.cwd);
        // One look: text and version belong together.
        let document = presenter.shared.agent.services().workspace.document(&file.path);
        let now = text_of(document.as_ref(), &file.path);
        self.touches_unsaved |= document.as_ref().is_some_and(Document::differs_from_disk);
        let placed = places(planned, now.as_deref());
        if placed.iter().all(Option::is_none) {
            return;
        }
        let fitting = file.hunks.iter().zip(&placed);
        let fitting = fitting.filter(|(hunk, place)| place.is_some() && hunk.status == HunkStatus::Pending);
        self.shows.extend(fitting.map(|(hunk, _)| hunk.id.clone()));
        match (&file.kind, now) {
            (FileChangeKind::Delete, now) => {
                let lines = now.unwrap_or_default().lines().count();
                let id = self.annotate(
                    format!("{number}"),
                    format!("Delete {name}: −{lines}"),
                    "The agent would delete this file",
                );
                self.changes.push(edit::delete(&file.path, Some(&id)));
            }
            (FileChangeKind::Add, None) => {
                let text: String = file.hunks.iter().map(|hunk| hunk.new_text.as_str()).collect();
                let lines = text.lines().count();
                let gist = text.lines().map(str::trim).find(|line| !line.is_empty());
                let mut about = words::look_alikes([file], &self.cwd);
                about.push(words::cut(gist.unwrap_or("an empty file"), 80));
                let id = self.annotate(
                    format!("{number}"),
                    format!("New file {name}: +{lines}"),
                    &about.join(" "),
                );
                self.changes.push(edit::create(&file.path, Some(&id)));
                let edits = edit::text_edits("", &[(0..0, text)], encoding, Some(&id));
                self.changes
                    .push(json!({"textDocument": {"uri": file.uri, "version": null}, "edits": edits}));
            }
            (kind, now) => {
                let before = now.unwrap_or_default();
                let mut edits = Vec::new();
                for (number_in_file, ((hunk, planned), place)) in
                    (1..).zip(file.hunks.iter().zip(&planned.hunks).zip(placed))
                {
                    let decided = matches!(
                        hunk.status,
                        HunkStatus::Accepted | HunkStatus::Applied | HunkStatus::Rejected
                    );
                    // A file that is moved as it is has a hunk that changes nothing.
                    let Some(range) = place.filter(|_| planned.old_text != hunk.new_text && !decided) else {
                        continue;
                    };
                    let mut today = hunk.clone();
                    today.range = line_range(&range);
                    let change = Change {
                        proposal,
                        file,
                        hunk: &today,
                        number: number_in_file,
                    };
                    let label = format!("{name}: {}, {}: {}", change.noun(), change.lines(), change.size());
                    let id = self.annotate(format!("{number}.{number_in_file}"), label, &change.gist());
                    let placed = placed_edits(&before, &[(range, hunk.new_text.clone())]);
                    edits.extend(edit::text_edits(&before, &placed, encoding, Some(&id)));
                }
                if !edits.is_empty() {
                    let (uri, version) = match &document {
                        Some(document) => (document.uri(), Some(document.version)),
                        None => (file.uri.as_str(), None),
                    };
                    self.changes
                        .push(json!({"textDocument": {"uri": uri, "version": version}, "edits": edits}));
                }
                if let FileChangeKind::Update { move_path: Some(to) } = kind {
                    let label = format!("Move {name} to {}", words::relative(to, &self.cwd));
                    let mut about = words::look_alikes([file], &self.cwd);
                    about.push("The agent would move this file".to_owned());
                    let id = self.annotate(format!("{number}.move"), label, &about.join(" "));
                    self.changes.push(edit::rename(&file.path, to, Some(&id)));
                }
            }
        }
    }
}

fn line_range(lines: &Range<usize>) -> LineRange {
    let line = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    LineRange {
        start: line(lines.start),
        end: line(lines.end),
    }
}

fn text_of(document: Option<&Document>, path: &Path) -> Option<String> {
    match document {
        Some(document) => Some(document.text()),
        None => disk::read_text(path).ok(),
    }
}

/// What a preview has left in the files.
#[derive(Debug, Default, PartialEq)]
struct Found {
    hunks: Vec<HunkId>,
    /// What happened to files that no hunk tells of.
    oddities: Vec<String>,
}

impl Found {
    fn is_nothing(&self) -> bool {
        self.hunks.is_empty() && self.oddities.is_empty()
    }
}

/// Looks until nothing changes any more: an editor may answer before it sends its changes.
async fn settled(presenter: &Presenter, proposal: &Proposal, plan: &[FilePlan], applied: bool) -> Found {
    let mut changed = presenter.shared.agent.services().workspace.changed();
    let deadline = tokio::time::Instant::now() + SETTLE;
    let mut found = look(presenter, proposal, plan);
    loop {
        // What looks odd may only be half way.
        let expects_more = applied && (found.hunks.is_empty() || !found.oddities.is_empty());
        let wait = if expects_more { LOOK } else { QUIET };
        let moved = tokio::time::timeout(wait, changed.changed()).await.is_ok();
        let again = look(presenter, proposal, plan);
        let same = again == found;
        found = again;
        if (same && !moved && !expects_more) || tokio::time::Instant::now() > deadline {
            return found;
        }
    }
}

fn look(presenter: &Presenter, proposal: &Proposal, plan: &[FilePlan]) -> Found {
    let mut found = Found::default();
    for (file, planned) in proposal.files.iter().zip(plan) {
        look_at(presenter, file, planned, &mut found);
    }
    found
}

fn look_at(presenter: &Presenter, file: &ProposalFile, planned: &FilePlan, found: &mut Found) {
    let workspace = &presenter.shared.agent.services().workspace;
    let read = |path: &Path| text_of(workspace.document(path).as_ref(), path);
    let gone = |path: &Path| std::fs::symlink_metadata(path).is_err();
    let mut all = || found.hunks.extend(file.hunks.iter().map(|hunk| hunk.id.clone()));
    match &file.kind {
        FileChangeKind::Delete if gone(&file.path) => all(),
        FileChangeKind::Delete => {}
        FileChangeKind::Add => match read(&file.path) {
            Some(text) if Some(&text) == planned.after.as_ref() => all(),
            Some(text) if text.is_empty() => {
                let path = file.path.display();
                found.oddities.push(format!("{path} was made, but without its text."));
            }
            _ => {}
        },
        FileChangeKind::Update { move_path: None } => {
            let there = already_there(file, planned, read(&file.path));
            found.hunks.extend(there);
        }
        FileChangeKind::Update { move_path: Some(to) } => {
            let (from, to) = (file.path.as_path(), to.as_path());
            let moved = gone(from) && !gone(to);
            let changes_text = planned.before != planned.after;
            match (moved, changes_text) {
                (true, false) => all(),
                (false, false) => {}
                (moved, true) => {
                    let there = already_there(file, planned, read(if moved { to } else { from }));
                    if moved && there.is_empty() {
                        let (from, to) = (from.display(), to.display());
                        found
                            .oddities
                            .push(format!("{from} was moved to {to} without its changes."));
                    } else if !moved && !there.is_empty() {
                        let (from, to) = (from.display(), to.display());
                        found
                            .oddities
                            .push(format!("{from} was changed but not moved to {to}."));
                    }
                    found.hunks.extend(there);
                }
            }
        }
    }
}

/// The hunks whose text is in the file.
fn already_there(file: &ProposalFile, planned: &FilePlan, now: Option<String>) -> Vec<HunkId> {
    let Some(now) = now else { return Vec::new() };
    let there = Rebased::Conflict {
        why: Conflict::AlreadyThere,
    };
    rebase(planned.before.as_deref().unwrap_or_default(), &planned.hunks, &now)
        .into_iter()
        .zip(&file.hunks)
        .filter(|(found, _)| *found == there)
        .map(|(_, hunk)| hunk.id.clone())
        .collect()
}
