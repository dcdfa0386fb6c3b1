//! Asks about a proposal in a client without our plugin: as an edit to confirm where the editor truly asks, else by a
//! question with the diff beside it. Meanwhile code actions and lenses on the hunks decide too; the first answer wins.

use super::preview::Outcome;
use super::{Presenter, Severity, change, preview, words};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Proposal, ProposalDecideParams, ProposalDecision, ProposalFile};
use crate::server::presenter::diff::Part;
use tokio::sync::Notify;

const ACCEPT: &str = "Accept all";
const DIFF: &str = "Show the diff";
const HUNKS: &str = "Decide in the files";
/// The same where no file is there to decide in.
const LATER: &str = "Decide later";
const REJECT: &str = "Reject";
const AGAIN: &str = "Show again";

/// Asks, and settles the proposal with the answer. Aborted when it is settled elsewhere; `elsewhere` tells when the person
/// begins to decide on its hunks where they lie.
pub(super) async fn ask(presenter: Presenter, proposal: Proposal, elsewhere: std::sync::Arc<Notify>) {
    let can = &presenter.shared.client.can;
    // A folder that must be opened first is asked about once the hunks are decided; an editor's preview would write at once.
    let mut previews =
        can.honours_confirmation && can.change_annotations && can.document_changes && proposal.grant_root.is_none();
    while previews {
        match preview::ask(&presenter, &proposal, &elsewhere).await {
            Outcome::Settled | Outcome::DecidedElsewhere => return,
            Outcome::Refused => previews = false,
            Outcome::Outdated => {}
            Outcome::Overtaken => match after_typing(&presenter, &proposal).await.as_deref() {
                Some(AGAIN) => {}
                Some(REJECT) => return decide(&presenter, &proposal, ProposalDecision::Reject),
                Some(HUNKS) => return point_at(&presenter, &proposal).await,
                // Nobody was asked whether the change is wanted, so this is no answer to that: it goes on waiting.
                _ => return,
            },
        }
    }
    // A prompt in front of somebody who types would be answered by the next key.
    let idle = presenter.when_idle();
    tokio::select! {
        biased;
        () = elsewhere.notified() => return,
        () = idle => {}
    }
    by_message(&presenter, &proposal).await;
}

/// The preview was closed after the person had typed in its files: the editor could not have applied it.
async fn after_typing(presenter: &Presenter, proposal: &Proposal) -> Option<String> {
    let places = places(proposal);
    let names: Vec<_> = places.iter().map(|file| words::name(&file.path)).collect();
    let message = format!(
        "The preview of the agent's change was closed after its text had changed ({}). Nothing is lost: the change still waits. \
         Show it again, fitted to the text as it is now?",
        words::cut(&names.join(", "), 200)
    );
    let hunks = if places.is_empty() { LATER } else { HUNKS };
    presenter.choose(Severity::Info, &message, [AGAIN, hunks, REJECT]).await
}

/// Asks by a message. What accepts is never the first choice, which some prompts have filled in already.
async fn by_message(presenter: &Presenter, proposal: &Proposal) {
    let reason = proposal.reason.as_deref().map(|reason| format!("\n{reason}"));
    let agents = &presenter.shared.agent.desk().agents;
    let who = agents
        .identity(&proposal.thread_id)
        .map_or_else(|| "Countersign".to_owned(), |agent| format!("The agent {}", agent.name));
    let message = format!(
        "{who} proposes: {}{}",
        words::cut(&words::proposal(proposal, &presenter.folder_of(proposal)), 900),
        reason.unwrap_or_default()
    );
    let hunks = if places(proposal).is_empty() { LATER } else { HUNKS };
    let mut titles = vec![DIFF, hunks, ACCEPT, REJECT];
    loop {
        let chosen = presenter.choose(Severity::Info, &message, titles.iter().copied()).await;
        match chosen.as_deref() {
            Some(ACCEPT) => return decide(presenter, proposal, ProposalDecision::Accept),
            Some(DIFF) if titles.contains(&DIFF) => {
                titles.retain(|title| *title != DIFF);
                presenter.show_diff(&proposal.id, Part::Whole, false).await;
            }
            // The hunks keep waiting: code actions and lenses in the files decide on each.
            Some(HUNKS | LATER) => return point_at(presenter, proposal).await,
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
    match presenter.shared.agent.desk().proposals.decide(&all) {
        Ok(proposal) => presenter.tell_what_still_waits(&proposal, None),
        Err(error) => tracing::info!(%error, "an answer about a proposal came too late"),
    }
}

/// The files in which there is a place to decide at: those that are still to be made have none.
fn places(proposal: &Proposal) -> Vec<&ProposalFile> {
    proposal
        .files
        .iter()
        .filter(|file| file.kind != FileChangeKind::Add)
        .collect()
}

/// Shows where the hunks wait: the person asked for it, so the first of them may take the focus.
async fn point_at(presenter: &Presenter, proposal: &Proposal) {
    let today = presenter.shared.agent.desk().proposals.read(&proposal.id);
    let proposal = today.as_ref().unwrap_or(proposal);
    let places = places(proposal);
    let Some(first) = places.first() else {
        return presenter.message(
            Severity::Info,
            "The agent's change waits: the code actions of any file show, accept or reject it.",
        );
    };
    let names: Vec<_> = places.iter().map(|file| words::name(&file.path)).collect();
    let message = format!(
        "The agent's changes wait in {}: code actions on the changed lines accept or reject each of them, or all.",
        names.join(", ")
    );
    presenter.message(Severity::Info, &message);
    let line = change::waiting_in(proposal, first)
        .next()
        .map(|change| change.hunk.range.start);
    presenter.show_document(&first.uri, line, true).await;
}
