//! A proposal in the editor's own preview, where every part starts unticked. The editor's reply does not tell what was
//! ticked, so the texts are looked at afterwards.

use super::{Presenter, words};
use crate::agent::proposals::places;
use crate::ids::HunkId;
use crate::lsp::edit;
use crate::patch::hunk::placed_edits;
use crate::patch::plan::FilePlan;
use crate::patch::rebase::{Conflict, Rebased, rebase};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{HunkStatus, Proposal, ProposalFile};
use crate::server::editor::ApplyResult;
use crate::workspace::{Document, disk};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

/// How long an editor may take to send the changes that its preview made.
const SETTLE: Duration = Duration::from_secs(3);
/// How often the disk is looked at meanwhile: nobody announces what happens there.
const LOOK: Duration = Duration::from_millis(200);
/// Quiet after which what is there is all that comes.
const QUIET: Duration = Duration::from_millis(150);

/// Shows the proposal and settles it with what the person ticked. False if the editor could not show it.
pub(super) async fn ask(presenter: &Presenter, proposal: &Proposal) -> bool {
    let proposals = &presenter.shared.agent.desk().proposals;
    let (reply, applied, found) = loop {
        // As it is now: hunks that were decided meanwhile are not asked about again.
        let Some((proposal, plan)) = proposals.decided(&proposal.id) else {
            return true;
        };
        let shown = versions(presenter, &proposal);
        let Some(params) = edit_params(presenter, &proposal, &plan.files) else {
            return false;
        };
        let outbound = &presenter.shared.outbound;
        let reply = outbound.request::<ApplyResult>("workspace/applyEdit", params).await;
        let applied = reply.as_ref().is_ok_and(|reply| reply.applied);
        let found = settled(presenter, &proposal, &plan.files, applied).await;
        // Our extension closes a preview that the person's typing has outdated, and says so; a person who closes one
        // gives no reason.
        let has_reason = |reply: &ApplyResult| reply.failure_reason.as_ref().is_some_and(|why| !why.trim().is_empty());
        let outdated = !applied && found.is_nothing() && versions(presenter, &proposal) != shown;
        if !(outdated && reply.as_ref().is_ok_and(has_reason)) {
            break (reply, applied, found);
        }
    };
    let trouble = match &reply {
        Err(error) if found.is_nothing() => {
            tracing::warn!(%error, "the editor could not show a preview");
            return false;
        }
        Err(error) => Some(format!("The change broke off: {error}.")),
        Ok(_) if applied && found.is_nothing() => {
            Some("The editor said that it made the change, but no part of it is in the files.".to_owned())
        }
        Ok(ApplyResult {
            applied: false,
            failure_reason: Some(reason),
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
    true
}

/// The versions of the documents of a proposal that are open.
fn versions(presenter: &Presenter, proposal: &Proposal) -> Vec<Option<i32>> {
    let workspace = &presenter.shared.agent.desk().workspace;
    let version = |file: &ProposalFile| workspace.document(&file.path).map(|document| document.version);
    proposal.files.iter().map(version).collect()
}

/// The parameters of `workspace/applyEdit`; nothing where no part of the proposal fits any more.
fn edit_params(presenter: &Presenter, proposal: &Proposal, plan: &[FilePlan]) -> Option<Value> {
    let mut edit = Edit::default();
    for (number, (file, planned)) in proposal.files.iter().zip(plan).enumerate() {
        edit.file(presenter, number, file, planned);
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
    Some(params)
}

#[derive(Default)]
struct Edit {
    changes: Vec<Value>,
    annotations: Map<String, Value>,
    touches_unsaved: bool,
}

impl Edit {
    fn annotate(&mut self, id: String, label: String) -> String {
        let annotation = json!({"label": label, "needsConfirmation": true, "description": "Countersign"});
        self.annotations.insert(id.clone(), annotation);
        id
    }

    fn file(&mut self, presenter: &Presenter, number: usize, file: &ProposalFile, planned: &FilePlan) {
        let encoding = presenter.shared.client.encoding;
        let name = words::name(&file.path);
        // One look: text and version belong together.
        let document = presenter.shared.agent.desk().workspace.document(&file.path);
        let now = text_of(document.as_ref(), &file.path);
        self.touches_unsaved |= document.as_ref().is_some_and(Document::differs_from_disk);
        let placed = places(planned, now.as_deref());
        if placed.iter().all(Option::is_none) {
            return;
        }
        match (&file.kind, now) {
            (FileChangeKind::Delete, _) => {
                let id = self.annotate(format!("{number}"), format!("Delete {name}"));
                self.changes.push(edit::delete(&file.path, Some(&id)));
            }
            (FileChangeKind::Add, None) => {
                let id = self.annotate(format!("{number}"), format!("New file {name}"));
                self.changes.push(edit::create(&file.path, Some(&id)));
                let text = [(0..0, planned.after.clone().unwrap_or_default())];
                let edits = edit::text_edits("", &text, encoding, Some(&id));
                self.changes
                    .push(json!({"textDocument": {"uri": file.uri, "version": null}, "edits": edits}));
            }
            (kind, now) => {
                let before = now.unwrap_or_default();
                let count = placed.len();
                let mut edits = Vec::new();
                for (index, (hunk, place)) in planned.hunks.iter().zip(placed).enumerate() {
                    let decided = matches!(
                        file.hunks.get(index).map(|hunk| hunk.status),
                        Some(HunkStatus::Accepted | HunkStatus::Rejected)
                    );
                    // A file that is moved as it is has a hunk that changes nothing.
                    let Some(range) = place.filter(|_| hunk.old_text != hunk.new_text && !decided) else {
                        continue;
                    };
                    let label = format!("{name}: change {} of {count}", index + 1);
                    let id = self.annotate(format!("{number}.{index}"), label);
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
                    let id = self.annotate(format!("{number}.move"), format!("Move {name}"));
                    self.changes.push(edit::rename(&file.path, to, Some(&id)));
                }
            }
        }
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
    let mut changed = presenter.shared.agent.desk().workspace.changed();
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
    let workspace = &presenter.shared.agent.desk().workspace;
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
