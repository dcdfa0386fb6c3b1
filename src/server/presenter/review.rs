//! Shows a proposal to a client without our plugin: as an edit to confirm where the editor truly asks, else by a question
//! with the diff beside it. Meanwhile code actions and lenses on the hunks decide too; the first answer wins.

use super::{Presenter, words};
use crate::agent::proposals::places;
use crate::ids::HunkId;
use crate::lsp::edit;
use crate::patch::hunk::{apply_hunks, text_edits};
use crate::patch::plan::FilePlan;
use crate::patch::rebase::{Conflict, Rebased, rebase};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Proposal, ProposalDecideParams, ProposalDecision, ProposalFile};
use crate::server::editor::{ApplyResult, Choice};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// How long an editor may take to send the changes that its preview made.
const SETTLE: Duration = Duration::from_secs(3);

/// Asks, and settles the proposal with the answer. Aborted when it is settled elsewhere.
pub(super) async fn ask(presenter: Presenter, proposal: Proposal) {
    let can = &presenter.shared.client.can;
    if can.honours_confirmation && can.change_annotations && can.document_changes {
        by_preview(&presenter, &proposal).await;
    } else {
        by_message(&presenter, &proposal).await;
    }
}

/// Hands the whole proposal to the editor's own preview, where every part starts unticked.
async fn by_preview(presenter: &Presenter, proposal: &Proposal) {
    let Some((_, plan)) = presenter.shared.agent.desk().proposals.decided(&proposal.id) else {
        return;
    };
    let edit = preview_edit(presenter, proposal, &plan.files);
    let params = json!({"label": "Countersign", "edit": edit, "metadata": {"isRefactoring": true}});
    let reply = presenter
        .shared
        .outbound
        .request::<ApplyResult>("workspace/applyEdit", params)
        .await;
    match reply {
        Ok(reply) => {
            let taken = taken(presenter, proposal, &plan.files, reply.applied).await;
            settle_in_place(presenter, proposal, &taken);
        }
        Err(error) => {
            tracing::warn!(%error, "the editor could not show the preview; asking by a message");
            by_message(presenter, proposal).await;
        }
    }
}

fn settle_in_place(presenter: &Presenter, proposal: &Proposal, taken: &[HunkId]) {
    if let Err(error) = presenter
        .shared
        .agent
        .desk()
        .proposals
        .settled_in_place(&proposal.id, taken)
    {
        tracing::info!(%error, "the preview's outcome came too late");
    }
}

fn preview_edit(presenter: &Presenter, proposal: &Proposal, plan: &[FilePlan]) -> Value {
    let encoding = presenter.shared.client.encoding;
    let workspace = &presenter.shared.agent.desk().workspace;
    let mut annotations = serde_json::Map::new();
    let mut changes = Vec::new();
    for (number, (file, planned)) in proposal.files.iter().zip(plan).enumerate() {
        let name = file.path.file_name().unwrap_or(file.path.as_os_str()).to_string_lossy();
        let mut annotate = |id: String, label: String| {
            annotations.insert(
                id.clone(),
                json!({"label": label, "needsConfirmation": true, "description": "Countersign"}),
            );
            id
        };
        let now = workspace.read(&file.path).ok();
        let document = workspace.document(&file.path);
        let target = json!({"uri": file.uri, "version": document.map(|document| document.version)});
        match (&file.kind, &planned.after) {
            (FileChangeKind::Delete, _) => {
                let id = annotate(format!("{number}"), format!("Delete {name}"));
                changes.push(edit::delete(&file.path, Some(&id)));
            }
            (FileChangeKind::Add, after) if now.is_none() => {
                let id = annotate(format!("{number}"), format!("New file {name}"));
                changes.push(edit::create(&file.path, Some(&id)));
                let text = vec![(0..0, after.clone().unwrap_or_default())];
                changes.push(json!({"textDocument": {"uri": file.uri, "version": null}, "edits": edit::text_edits("", &text, encoding, Some(&id))}));
            }
            (kind, _) => {
                let before = now.map(|now| now.text).unwrap_or_default();
                let mut edits = Vec::new();
                let placed = places(planned, Some(&before));
                let count = placed.len();
                for (index, (hunk, place)) in planned.hunks.iter().zip(placed).enumerate() {
                    let Some(range) = place else { continue };
                    let id = annotate(
                        format!("{number}.{index}"),
                        format!("{name}: change {} of {count}", index + 1),
                    );
                    let after = apply_hunks(&before, &[(range, hunk.new_text.clone())]);
                    edits.extend(edit::text_edits(
                        &before,
                        &text_edits(&before, &after),
                        encoding,
                        Some(&id),
                    ));
                }
                if !edits.is_empty() {
                    changes.push(json!({"textDocument": target, "edits": edits}));
                }
                if let FileChangeKind::Update { move_path: Some(to) } = kind {
                    let id = annotate(format!("{number}.move"), format!("Move {name}"));
                    changes.push(edit::rename(&file.path, to, Some(&id)));
                }
            }
        }
    }
    json!({"documentChanges": changes, "changeAnnotations": annotations})
}

/// Which hunks the editor's preview put into the files. The reply does not tell, so the texts are looked at.
async fn taken(presenter: &Presenter, proposal: &Proposal, plan: &[FilePlan], applied: bool) -> Vec<HunkId> {
    let workspace = &presenter.shared.agent.desk().workspace;
    let mut changed = workspace.changed();
    let deadline = tokio::time::Instant::now() + SETTLE;
    loop {
        let taken: Vec<_> = proposal
            .files
            .iter()
            .zip(plan)
            .flat_map(|(file, planned)| taken_of(presenter, file, planned))
            .collect();
        // The edits may still be on their way: an editor may answer before it sends them.
        if !taken.is_empty() || !applied {
            tokio::time::sleep(Duration::from_millis(150)).await;
            let again: Vec<_> = proposal
                .files
                .iter()
                .zip(plan)
                .flat_map(|(file, planned)| taken_of(presenter, file, planned))
                .collect();
            if again == taken || tokio::time::Instant::now() > deadline {
                return again;
            }
            continue;
        }
        // Closed files change on the disk, which nobody announces.
        tokio::select! {
            _ = changed.changed() => {}
            () = tokio::time::sleep(Duration::from_millis(200)) => {}
        }
        if tokio::time::Instant::now() > deadline {
            return taken;
        }
    }
}

fn taken_of(presenter: &Presenter, file: &ProposalFile, planned: &FilePlan) -> Vec<HunkId> {
    let workspace = &presenter.shared.agent.desk().workspace;
    let read = |path: &PathBuf| workspace.read(path).ok().map(|read| read.text);
    let all = || file.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    match &file.kind {
        FileChangeKind::Delete => match read(&file.path) {
            None => all(),
            Some(_) => Vec::new(),
        },
        FileChangeKind::Add if planned.before.is_none() => match read(&file.path) {
            // A created file whose text was left out is not what was proposed.
            Some(text) if Some(&text) == planned.after.as_ref() => all(),
            _ => Vec::new(),
        },
        FileChangeKind::Update { move_path: Some(to) } => match (read(&file.path), read(to)) {
            (None, Some(_)) => all(),
            (now, _) => already_there(file, planned, now),
        },
        _ => already_there(file, planned, read(&file.path)),
    }
}

/// The hunks whose text is in the file.
fn already_there(file: &ProposalFile, planned: &FilePlan, now: Option<String>) -> Vec<HunkId> {
    let Some(now) = now else { return Vec::new() };
    let found = rebase(planned.before.as_deref().unwrap_or_default(), &planned.hunks, &now);
    let there = |found: &Rebased| {
        matches!(
            found,
            Rebased::Conflict {
                why: Conflict::AlreadyThere
            }
        )
    };
    file.hunks
        .iter()
        .zip(found)
        .filter(|(_, found)| there(found))
        .map(|(hunk, _)| hunk.id.clone())
        .collect()
}

/// Asks by a message with the diff beside it.
async fn by_message(presenter: &Presenter, proposal: &Proposal) {
    const ACCEPT: &str = "Accept all";
    const DIFF: &str = "Show the diff";
    const HUNKS: &str = "Decide in the files";
    const REJECT: &str = "Reject";
    let desk = presenter.shared.agent.desk();
    let cwd = presenter
        .shared
        .agent
        .thread(&proposal.thread_id)
        .map(|thread| thread.settings().cwd)
        .unwrap_or_default();
    let reason = proposal
        .reason
        .as_deref()
        .map(|reason| format!("\n{reason}"))
        .unwrap_or_default();
    let message = format!(
        "Countersign proposes: {}{reason}",
        words::cut(&words::proposal(proposal, &cwd), 900)
    );
    let mut shown = !presenter.shared.client.can.show_document;
    loop {
        let titles: Vec<_> = [Some(ACCEPT), (!shown).then_some(DIFF), Some(HUNKS), Some(REJECT)]
            .into_iter()
            .flatten()
            .collect();
        let actions: Vec<_> = titles.iter().map(|title| json!({"title": title})).collect();
        let params = json!({"type": 3, "message": message, "actions": actions});
        let answer = presenter
            .shared
            .outbound
            .request::<Option<Choice>>("window/showMessageRequest", params)
            .await;
        let chosen = match answer {
            Ok(chosen) => chosen.map(|choice| choice.title),
            Err(error) => {
                tracing::warn!(proposal = %proposal.id, %error, "no usable answer about a proposal; it counts as rejected");
                None
            }
        };
        let decision = match chosen.as_deref() {
            Some(ACCEPT) => ProposalDecision::Accept,
            Some(DIFF) => {
                shown = true;
                show_diff(presenter, proposal).await;
                continue;
            }
            // The hunks keep waiting: code actions and lenses in the files decide on each.
            Some(HUNKS) => {
                let first = proposal.files.first().map(|file| file.uri.clone());
                show_document(presenter, first).await;
                return;
            }
            _ => ProposalDecision::Reject,
        };
        let all = ProposalDecideParams {
            proposal_id: proposal.id.clone(),
            decision,
            hunk_ids: None,
            path: None,
            feedback: None,
        };
        if let Err(error) = desk.proposals.decide(&all) {
            tracing::info!(%error, "an answer about a proposal came too late");
        }
        return;
    }
}

/// Writes the diff to a file of ours and shows it, without taking the focus.
async fn show_diff(presenter: &Presenter, proposal: &Proposal) {
    let folder = presenter.shared.agent.desk().home.join("diffs");
    let path = folder.join(format!("{}.diff", proposal.id));
    let text = proposal.diff.clone();
    let written = {
        let (folder, path) = (folder.clone(), path.clone());
        tokio::task::spawn_blocking(move || {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(&path, text)
        })
        .await
    };
    match written {
        Ok(Ok(())) => show_document(presenter, Some(crate::workspace::uri::from_path(&path))).await,
        Ok(Err(error)) => {
            presenter.message(
                super::Severity::Warning,
                &format!("The diff could not be written to {}: {error}.", path.display()),
            );
        }
        Err(error) => tracing::error!(%error, "writing a diff broke off"),
    }
}

async fn show_document(presenter: &Presenter, uri: Option<String>) {
    let Some(uri) = uri.filter(|_| presenter.shared.client.can.show_document) else {
        return;
    };
    let pending = presenter
        .shared
        .outbound
        .request::<Value>("window/showDocument", json!({"uri": uri, "takeFocus": false}));
    let _shown = tokio::time::timeout(Duration::from_secs(10), pending).await;
}
