//! The commands about the agent's waiting changes: decide, see, go to. Code actions and lenses carry their arguments; bound
//! to a key, most of them need none.

use super::{ACCEPT_ALL, DECIDE, NEXT_CHANGE, REJECT_ALL, REJECT_WITH_WORDS, SHOW_PROPOSAL, argument, first};
use crate::agent::AgentError;
use crate::agent::proposals::ProposalError;
use crate::ids::{HunkId, ProposalId};
use crate::lsp::error::RequestError;
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Proposal, ProposalDecideParams, ProposalDecision};
use crate::server::presenter::Severity;
use crate::server::presenter::change::{self, Change, is_document};
use crate::server::presenter::diff::Part;
use crate::server::session::Session;
use crate::workspace::uri;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// A decision on hunks, from a code action or a lens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decide {
    pub proposal_id: ProposalId,
    #[serde(default = "reject")]
    pub decision: ProposalDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk_ids: Option<Vec<HunkId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Words to the model, where the client could ask for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

/// What is to be shown: one hunk, one file, or all of a proposal. Without an id it is the proposal that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowProposal {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<ProposalId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunk_id: Option<HunkId>,
}

/// Where the person is; without it the first change counts as the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The argument of *accept all* and *reject all*. Without one they mean the proposal that waits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct All {
    #[serde(default)]
    proposal_id: Option<ProposalId>,
    #[serde(default)]
    feedback: Option<String>,
}

fn reject() -> ProposalDecision {
    ProposalDecision::Reject
}

/// The first argument, where there may be none.
fn optional<T: Default + for<'de> Deserialize<'de>>(command: &str, arguments: Vec<Value>) -> Result<T, RequestError> {
    match arguments.into_iter().next().filter(|value| !value.is_null()) {
        Some(value @ Value::Object(_)) => argument(command, value),
        Some(other) => Err(RequestError::invalid_params(format!(
            "{command} takes an object or nothing, not {other}."
        ))),
        None => Ok(T::default()),
    }
}

pub(super) fn decide(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    if let Some(Value::Object(given)) = arguments.first()
        && !given.contains_key("decision")
    {
        return Err(RequestError::invalid_params(format!(
            "The argument of {DECIDE} has no decision: say accept, reject or reset."
        )));
    }
    take(session, first(DECIDE, arguments)?)
}

fn take(session: &Session, decide: Decide) -> Result<(), RequestError> {
    let params = ProposalDecideParams {
        proposal_id: decide.proposal_id,
        decision: decide.decision,
        hunk_ids: decide.hunk_ids,
        path: decide.path,
        feedback: decide.feedback,
    };
    let outcome = now(session, &params);
    let Err(ProposalError::NotShown(_)) = outcome else {
        return Ok(outcome.map_err(AgentError::from)?);
    };
    let session = session.clone();
    tokio::spawn(async move {
        if session.presenter().accepts_when_shown(&params).await {
            let turn = session.decisions().await;
            // Looks at files.
            let _done = tokio::task::spawn_blocking(move || {
                let _until_done = turn;
                let outcome = now(&session, &params).map_err(AgentError::from);
                told(&session, outcome.map_err(RequestError::from));
            });
        }
    });
    Ok(())
}

fn now(session: &Session, params: &ProposalDecideParams) -> Result<(), ProposalError> {
    let presenter = session.presenter();
    let decided = presenter.decide(params)?;
    if params.decision == ProposalDecision::Accept && params.hunk_ids.is_none() {
        presenter.tell_what_still_waits(&decided, params.path.as_deref());
    }
    Ok(())
}

/// Ready-made words to the model, for clients that cannot ask for words of the person's own.
const WORDS: [(&str, Option<&str>); 4] = [
    (
        "Wrong approach",
        Some("This is the wrong approach. Think of another way before you propose a change again."),
    ),
    (
        "Too large a change",
        Some("The change is larger than it needs to be. Propose the smallest change that does it."),
    ),
    (
        "Not here",
        Some("This place is to stay as it is. Find another way that leaves it alone, or ask."),
    ),
    ("Reject without words", None),
];

/// Rejects, and tells the model why: in the words that came along, else in those that the person chooses.
pub(super) fn reject_with_words(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    let mut rejected: Decide = first(REJECT_WITH_WORDS, arguments)?;
    rejected.decision = ProposalDecision::Reject;
    known(session, &rejected.proposal_id)?;
    if rejected
        .feedback
        .as_deref()
        .is_some_and(|words| !words.trim().is_empty())
    {
        return take(session, rejected);
    }
    let message = "Why is the change rejected? The agent gets your answer and may try again.";
    let titles: Vec<_> = WORDS.iter().map(|(title, _)| (*title).to_owned()).collect();
    ask(session, message, titles, move |session, title| {
        if let Some((_, words)) = WORDS.iter().find(|(one, _)| *one == title) {
            rejected.feedback = words.map(str::to_owned);
            told(session, take(session, rejected));
        }
    });
    Ok(())
}

pub(super) fn accept_all(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    decide_all(session, optional(ACCEPT_ALL, arguments)?, ProposalDecision::Accept)
}

pub(super) fn reject_all(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    decide_all(session, optional(REJECT_ALL, arguments)?, ProposalDecision::Reject)
}

fn decide_all(session: &Session, all: All, decision: ProposalDecision) -> Result<(), RequestError> {
    let of = move |proposal_id| Decide {
        proposal_id,
        decision,
        hunk_ids: None,
        path: None,
        feedback: all.feedback,
    };
    if let Some(id) = all.proposal_id {
        return take(session, of(id));
    }
    let verb = match decision {
        ProposalDecision::Accept => "accepted",
        _ => "rejected",
    };
    match waiting(session, &format!("is to be {verb}")) {
        Which::One(id) => take(session, of(id)),
        Which::None => Ok(()),
        Which::Ask(question) => {
            question.ask(session, move |session, id| told(session, take(session, of(id))));
            Ok(())
        }
    }
}

/// Shows a diff. Whoever asks for it by a command may find the focus on it.
pub(super) fn show_proposal(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    let ShowProposal {
        proposal_id,
        path,
        hunk_id,
    } = optional(SHOW_PROPOSAL, arguments)?;
    let part = match (hunk_id, path) {
        (Some(hunk), _) => Part::Hunk(hunk),
        (None, Some(path)) => Part::File(path),
        (None, None) => Part::Whole,
    };
    if let Some(id) = proposal_id {
        let proposal = known(session, &id)?;
        has_part(&proposal, &part)?;
        show(session, id, part);
        return Ok(());
    }
    match waiting(session, "is to be shown") {
        Which::One(id) => {
            let proposal = known(session, &id)?;
            has_part(&proposal, &part)?;
            show(session, id, part);
        }
        Which::None => {}
        Which::Ask(question) => question.ask(session, move |session, id| show(session, id, part)),
    }
    Ok(())
}

fn show(session: &Session, id: ProposalId, part: Part) {
    let presenter = session.presenter().clone();
    tokio::spawn(async move {
        let _shown = presenter.show_diff(&id, part, true).await;
    });
}

fn known(session: &Session, id: &ProposalId) -> Result<Arc<Proposal>, RequestError> {
    let found = session.agent().services().proposals.decided(id);
    let unknown = || AgentError::from(ProposalError::Unknown(id.clone())).into();
    found.map(|(proposal, _)| proposal).ok_or_else(unknown)
}

fn has_part(proposal: &Proposal, part: &Part) -> Result<(), RequestError> {
    let id = proposal.id.clone();
    let mut files = proposal.files.iter();
    let missing = match part {
        Part::Whole => return Ok(()),
        Part::File(path) if files.any(|file| file.path == *path) => return Ok(()),
        Part::Hunk(hunk) if files.any(|file| file.hunks.iter().any(|one| one.id == *hunk)) => return Ok(()),
        Part::File(path) => ProposalError::NoFile {
            proposal: id,
            path: path.clone(),
        },
        Part::Hunk(hunk) => ProposalError::NoHunk {
            proposal: id,
            hunk: hunk.clone(),
        },
    };
    Err(AgentError::from(missing).into())
}

/// Goes to the next waiting change: below in the document, then in the other documents, then from the top again. A file
/// that is still to be made is shown as its diff.
pub(super) fn next_change(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    let from: NextChange = optional(NEXT_CHANGE, arguments)?;
    let session = session.clone();
    tokio::spawn(async move {
        let proposals = session.agent().services().proposals.clone();
        let list = tokio::task::spawn_blocking(move || proposals.list(None, false)).await;
        let Ok(list) = list else { return };
        let presenter = session.presenter();
        let Some(next) = next(&list, &from) else {
            return presenter.message(Severity::Info, NOTHING_WAITS);
        };
        if next.file.kind == FileChangeKind::Add {
            let part = Part::Hunk(next.hunk.id.clone());
            let _shown = presenter.show_diff(&next.proposal.id, part, true).await;
            return;
        }
        let line = match next.file.kind {
            FileChangeKind::Delete => 0,
            _ => next.hunk.range.start,
        };
        if !presenter.show_document(&next.file.uri, Some(line), true).await {
            let name = next.file.path.display();
            presenter.message(
                Severity::Info,
                &format!("The agent's next change is {}, {} in {name}", next.noun(), next.lines()),
            );
        }
    });
    Ok(())
}

const NOTHING_WAITS: &str = "There are no pending changes.";

/// The change after a place, in the order of proposals, files and lines, around.
fn next<'a>(proposals: &'a [Proposal], from: &NextChange) -> Option<Change<'a>> {
    let all: Vec<Change<'a>> = proposals.iter().flat_map(change::waiting).collect();
    let document = from.uri.as_deref().unwrap_or_default();
    let path = uri::to_path(document).ok().flatten().unwrap_or_default();
    let here = |change: &Change<'_>| is_document(change.file, &path, document);
    let line = from.line.unwrap_or_default();
    let below = all
        .iter()
        .filter(|change| here(change) && change.hunk.range.start > line);
    if let Some(next) = below.min_by_key(|change| change.hunk.range.start) {
        return Some(*next);
    }
    // Behind the last one of this document come those of the others, beginning after it.
    let last_here = all.iter().rposition(here).map_or(0, |at| at + 1);
    let (before, after) = all.split_at(last_here);
    after
        .iter()
        .chain(before)
        .find(|change| !here(change))
        .or(all.iter().find(|change| here(change)))
        .copied()
}

/// Which of the waiting proposals is meant by a command without an argument.
enum Which {
    One(ProposalId),
    /// None waits; the person has been told.
    None,
    Ask(Question),
}

/// Asks which of several is meant.
struct Question {
    message: String,
    /// Title and proposal. What leaves all as it is comes first: some prompts have the first choice filled in.
    choices: Vec<(String, Option<ProposalId>)>,
}

fn waiting(session: &Session, what: &str) -> Which {
    let list = session.agent().services().proposals.list(None, false);
    match list.as_slice() {
        [] => {
            session.presenter().message(Severity::Info, NOTHING_WAITS);
            Which::None
        }
        [one] => Which::One(one.id.clone()),
        several => {
            let choice = |(number, proposal): (usize, &Proposal)| {
                let title = format!("{number}: {}", session.presenter().in_words(proposal, 60));
                (title, Some(proposal.id.clone()))
            };
            let choices = std::iter::once(("Leave them all waiting".to_owned(), None));
            Which::Ask(Question {
                message: format!("{} proposals are pending. Which one {what}?", several.len()),
                choices: choices.chain((1..).zip(several).map(choice)).collect(),
            })
        }
    }
}

impl Question {
    fn ask(self, session: &Session, then: impl FnOnce(&Session, ProposalId) + Send + 'static) {
        let titles = self.choices.iter().map(|(title, _)| title.clone()).collect();
        ask(session, &self.message, titles, move |session, title| {
            let mut choices = self.choices.into_iter();
            if let Some((_, Some(id))) = choices.find(|(one, _)| *one == title) {
                then(session, id);
            }
        });
    }
}

/// Asks at once, since the person is waiting for it; nothing happens if no title is chosen.
fn ask(session: &Session, message: &str, titles: Vec<String>, then: impl FnOnce(&Session, String) + Send + 'static) {
    let titles = titles.iter().map(String::as_str);
    let pending = session.outbound().choose(Severity::Info, message, titles);
    let session = session.clone();
    tokio::spawn(async move {
        if let Some(chosen) = pending.await {
            let turn = session.decisions().await;
            // Looks at files.
            let _done = tokio::task::spawn_blocking(move || {
                let _until_done = turn;
                then(&session, chosen);
            });
        }
    });
}

/// What goes wrong after a command was answered is shown.
fn told(session: &Session, outcome: Result<(), RequestError>) {
    if let Err(error) = outcome {
        session.presenter().message(Severity::Warning, &error.to_string());
    }
}
