//! Shows a proposal to a client without our plugin: as an edit to confirm where the editor truly asks, else by a question
//! with the diff beside it. Meanwhile code actions and lenses on the hunks decide too; the first answer wins.

use super::{Presenter, Severity, preview, words};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Proposal, ProposalDecideParams, ProposalDecision, ProposalFile};
use crate::server::editor::Choice;
use crate::workspace::uri;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::time::Duration;

/// How long an editor may take to show a document.
const SHOW_LIMIT: Duration = Duration::from_secs(10);
/// Diffs kept in the home folder; older ones are deleted when a new one is written.
const KEPT_DIFFS: usize = 20;

const ACCEPT: &str = "Accept all";
const DIFF: &str = "Show the diff";
const HUNKS: &str = "Decide in the files";
const REJECT: &str = "Reject";

/// Asks, and settles the proposal with the answer. Aborted when it is settled elsewhere.
pub(super) async fn ask(presenter: Presenter, proposal: Proposal) {
    let can = &presenter.shared.client.can;
    // A folder that must be opened first is asked about once the hunks are decided; an editor's preview would write at once.
    let previews =
        can.honours_confirmation && can.change_annotations && can.document_changes && proposal.grant_root.is_none();
    if !previews || !preview::ask(&presenter, &proposal).await {
        by_message(&presenter, &proposal).await;
    }
}

/// Asks by a message with the diff beside it.
async fn by_message(presenter: &Presenter, proposal: &Proposal) {
    let (agent, can) = (&presenter.shared.agent, &presenter.shared.client.can);
    let cwd = agent.thread(&proposal.thread_id).map(|thread| thread.settings().cwd);
    let reason = proposal.reason.as_deref().map(|reason| format!("\n{reason}"));
    let message = format!(
        "Countersign proposes: {}{}",
        words::cut(&words::proposal(proposal, &cwd.unwrap_or_default()), 900),
        reason.unwrap_or_default()
    );
    // A place to decide at: files that are still to be made have none.
    let places: Vec<&ProposalFile> = proposal
        .files
        .iter()
        .filter(|file| file.kind != FileChangeKind::Add)
        .collect();
    let mut can_show_diff = can.show_document;
    loop {
        let titles = [
            Some(ACCEPT),
            can_show_diff.then_some(DIFF),
            (!places.is_empty()).then_some(HUNKS),
            Some(REJECT),
        ];
        let actions: Vec<_> = titles
            .into_iter()
            .flatten()
            .map(|title| json!({"title": title}))
            .collect();
        let params = json!({"type": 3, "message": message, "actions": actions});
        let answer = presenter
            .shared
            .outbound
            .request::<Option<Choice>>("window/showMessageRequest", params)
            .await;
        let chosen = answer.unwrap_or_else(|error| {
            tracing::warn!(proposal = %proposal.id, %error, "no usable answer about a proposal; it counts as rejected");
            None
        });
        match chosen.as_ref().map(|choice| choice.title.as_str()) {
            Some(ACCEPT) => return decide(presenter, proposal, ProposalDecision::Accept),
            Some(DIFF) => {
                can_show_diff = false;
                show_diff(presenter, proposal).await;
            }
            // The hunks keep waiting: code actions and lenses in the files decide on each.
            Some(HUNKS) => return point_at(presenter, &places).await,
            _ => return decide(presenter, proposal, ProposalDecision::Reject),
        }
    }
}

fn decide(presenter: &Presenter, proposal: &Proposal, decision: ProposalDecision) {
    let all = ProposalDecideParams {
        proposal_id: proposal.id.clone(),
        decision,
        hunk_ids: None,
        path: None,
        feedback: None,
    };
    if let Err(error) = presenter.shared.agent.desk().proposals.decide(&all) {
        tracing::info!(%error, "an answer about a proposal came too late");
    }
}

/// Shows where the hunks wait.
async fn point_at(presenter: &Presenter, places: &[&ProposalFile]) {
    let names: Vec<_> = places.iter().map(|file| words::name(&file.path)).collect();
    let message = format!(
        "The agent's changes wait in {}: code actions on the changed lines accept or reject each of them, or all.",
        names.join(", ")
    );
    presenter.message(Severity::Info, &message);
    if let Some(first) = places.first() {
        show_document(presenter, &first.uri).await;
    }
}

/// Writes the diff to a file of ours and shows it, without taking the focus.
async fn show_diff(presenter: &Presenter, proposal: &Proposal) {
    let folder = presenter.shared.agent.desk().home.join("diffs");
    let path = folder.join(format!("{}.diff", proposal.id));
    let written = {
        let (path, text) = (path.clone(), proposal.diff.clone());
        tokio::task::spawn_blocking(move || write_diff(&folder, &path, &text)).await
    };
    match written {
        Ok(Ok(())) => show_document(presenter, &uri::from_path(&path)).await,
        Ok(Err(error)) => presenter.message(
            Severity::Warning,
            &format!("The diff could not be written to {}: {error}.", path.display()),
        ),
        Err(error) => tracing::error!(%error, "writing a diff broke off"),
    }
}

fn write_diff(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut old: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    // Their names rise with time.
    old.sort();
    for file in old.iter().take((old.len() + 1).saturating_sub(KEPT_DIFFS)) {
        // It may be gone already, and one too many does no harm.
        let _gone = std::fs::remove_file(file);
    }
    std::fs::write(path, text)
}

async fn show_document(presenter: &Presenter, uri: &str) {
    if !presenter.shared.client.can.show_document {
        return;
    }
    let params = json!({"uri": uri, "takeFocus": false});
    let pending = presenter
        .shared
        .outbound
        .request::<Value>("window/showDocument", params);
    let _shown = tokio::time::timeout(SHOW_LIMIT, pending).await;
}
