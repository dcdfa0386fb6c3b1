//! Code actions on the agent's waiting changes: decide on what lies here, see it, go to the next.

use super::{DECIDE, SHOW, action};
use crate::handlers::command::{self, Decide, NextChange, ShowProposal};
use crate::protocol::item::LineRange;
use crate::protocol::proposal::{Proposal, ProposalDecision};
use crate::server::presenter::change::{self, Change, files, is_document, waiting_in};
use crate::server::session::Session;
use lsp_types::{CodeAction, CodeActionDisabled};
use serde::Serialize;
use std::path::Path;

const BOTH: [(&str, ProposalDecision); 2] = [
    ("Accept", ProposalDecision::Accept),
    ("Reject", ProposalDecision::Reject),
];

/// Where the actions are asked for.
pub(super) struct Place<'a> {
    pub(super) path: &'a Path,
    pub(super) uri: &'a str,
    pub(super) lines: LineRange,
    /// The person opened the menu; an editor that asks by itself, on each move of the cursor, is only told of what lies
    /// at the cursor.
    pub(super) by_hand: bool,
}

/// What can be done about the changes in this document.
pub(super) fn here(session: &Session, place: &Place<'_>) -> Vec<CodeAction> {
    let mut actions = Vec::new();
    let mut proposals = session.agent().services().proposals.on_document(place.path, place.uri);
    proposals.retain(|proposal| waiting_here(proposal, place).next().is_some());
    for (number, proposal) in (1..).zip(&proposals) {
        let which = match proposals.len() {
            1 => String::new(),
            count => format!(", proposal {number} of {count}"),
        };
        of_proposal(session, place, proposal, &which, &mut actions);
    }
    actions
}

/// What can be done about changes that wait in other documents, or in files that are still to be made. Asked for only
/// where nothing waits in this document, and only by hand.
pub(super) fn elsewhere(session: &Session, place: &Place<'_>) -> Vec<CodeAction> {
    let mut actions = Vec::new();
    let proposals = session.agent().services().proposals.list(None, false);
    let Some(next) = proposals.iter().find_map(|proposal| change::waiting(proposal).next()) else {
        return actions;
    };
    let from = NextChange {
        uri: Some(place.uri.to_owned()),
        line: Some(place.lines.start),
    };
    actions.push(offer(
        &format!("Go to the agent's next change ({})", in_file(&next)),
        command::NEXT_CHANGE,
        &from,
    ));
    // What accepts is never the first that a slip of the hand takes in a file that it is not about.
    for (number, proposal) in (1..).zip(&proposals) {
        let count = files(files_waiting(proposal));
        let which = match proposals.len() {
            1 => format!("({count})"),
            all => format!("({count}, proposal {number} of {all})"),
        };
        actions.push(offer(
            &format!("Show all of the agent's changes {which}"),
            command::SHOW_PROPOSAL,
            &ShowProposal {
                proposal_id: Some(proposal.id.clone()),
                ..ShowProposal::default()
            },
        ));
        let everywhere: Vec<_> = change::waiting(proposal).collect();
        for (word, decision) in possible(&everywhere) {
            let title = format!("{word} all of the agent's changes {which}");
            actions.push(decide(&title, proposal, decision, None, None));
        }
    }
    actions
}

fn of_proposal(session: &Session, place: &Place<'_>, proposal: &Proposal, which: &str, actions: &mut Vec<CodeAction>) {
    let here: Vec<_> = waiting_here(proposal, place).collect();
    let near = near(&here, place.lines);
    if near.is_empty() && !place.by_hand {
        return;
    }
    for change in &near {
        at_hunk(session, change, which, actions);
    }
    if let Some(next) = next(&here, &near, place.lines) {
        let from = NextChange {
            uri: Some(place.uri.to_owned()),
            line: Some(place.lines.end.saturating_sub(1)),
        };
        let title = format!(
            "Go to the agent's next change ({}, {}{which})",
            next.noun(),
            next.lines()
        );
        actions.push(offer(&title, command::NEXT_CHANGE, &from));
    } else if let Some(next) = change::waiting(proposal).find(|change| !is_document(change.file, place.path, place.uri))
    {
        let from = NextChange {
            uri: Some(place.uri.to_owned()),
            line: Some(u32::MAX),
        };
        let title = format!("Go to the agent's next change ({}{which})", in_file(&next));
        actions.push(offer(&title, command::NEXT_CHANGE, &from));
    }
    let several = files_waiting(proposal);
    let path = &here[0].file.path;
    if here.len() > 1 || (near.is_empty() && several == 1) {
        let all = match here.len() {
            1 => "the agent's change".to_owned(),
            count => format!("all {count} of the agent's changes"),
        };
        for (word, decision) in possible(&here) {
            let title = format!("{word} {all} in this file{which}");
            actions.push(decide(&title, proposal, decision, None, Some(path)));
        }
        if several == 1 {
            let show = ShowProposal {
                proposal_id: Some(proposal.id.clone()),
                path: Some(path.clone()),
                hunk_id: None,
            };
            actions.push(offer(
                &format!("Show {all} in this file{which}"),
                command::SHOW_PROPOSAL,
                &show,
            ));
        }
    }
    if several > 1 {
        let all = format!("all of the agent's changes ({}{which})", files(several));
        let everywhere: Vec<_> = change::waiting(proposal).collect();
        for (word, decision) in possible(&everywhere) {
            actions.push(decide(&format!("{word} {all}"), proposal, decision, None, None));
        }
        let show = ShowProposal {
            proposal_id: Some(proposal.id.clone()),
            ..ShowProposal::default()
        };
        actions.push(offer(&format!("Show {all}"), command::SHOW_PROPOSAL, &show));
    }
}

/// Accept, reject and show one change. One that does not fit cannot be accepted, and says why.
fn at_hunk(session: &Session, change: &Change<'_>, which: &str, actions: &mut Vec<CodeAction>) {
    let (proposal, noun, sized) = (change.proposal, change.noun(), change.noun_with_size());
    match change.trouble() {
        None => {
            for (word, decision) in BOTH {
                let title = format!("{word} the agent's {sized}{which}");
                actions.push(decide(&title, proposal, decision, Some(change), None));
            }
        }
        Some(why) => {
            if session.client().can.code_action_disabled {
                let reason = format!("It does not fit any more: {why}. Reject it, or bring the text back.");
                actions.push(CodeAction {
                    command: None,
                    disabled: Some(CodeActionDisabled { reason }),
                    ..offer(&format!("Accept the agent's {sized}{which}"), command::DECIDE, &())
                });
            }
            let title = format!("Reject the agent's {noun}{which} ({why})");
            actions.push(decide(&title, proposal, ProposalDecision::Reject, Some(change), None));
        }
    }
    let title = format!("Reject the agent's {noun}{which} with comment…");
    let rejected = Decide {
        proposal_id: proposal.id.clone(),
        decision: ProposalDecision::Reject,
        hunk_ids: Some(vec![change.hunk.id.clone()]),
        path: None,
        feedback: None,
    };
    actions.push(offer(&title, command::REJECT_WITH_WORDS, &rejected));
    let show = ShowProposal {
        proposal_id: Some(proposal.id.clone()),
        path: None,
        hunk_id: Some(change.hunk.id.clone()),
    };
    actions.push(offer(
        &format!("Show the agent's {noun}{which}"),
        command::SHOW_PROPOSAL,
        &show,
    ));
}

fn decide(
    title: &str,
    proposal: &Proposal,
    decision: ProposalDecision,
    change: Option<&Change<'_>>,
    path: Option<&Path>,
) -> CodeAction {
    let decide = Decide {
        proposal_id: proposal.id.clone(),
        decision,
        hunk_ids: change.map(|change| vec![change.hunk.id.clone()]),
        path: path.map(Path::to_owned),
        feedback: None,
    };
    offer(title, command::DECIDE, &decide)
}

fn offer(title: &str, command: &str, argument: &impl Serialize) -> CodeAction {
    let shows = [command::SHOW_PROPOSAL, command::NEXT_CHANGE].contains(&command);
    action(title, if shows { SHOW } else { DECIDE }, command, argument)
}

/// Where no change fits any more there is nothing to accept.
fn possible(changes: &[Change<'_>]) -> impl Iterator<Item = (&'static str, ProposalDecision)> + use<> {
    let any_fits = changes.iter().any(|change| change.trouble().is_none());
    BOTH.into_iter()
        .filter(move |(_, decision)| any_fits || *decision != ProposalDecision::Accept)
}

fn waiting_here<'a>(proposal: &'a Proposal, place: &'a Place<'_>) -> impl Iterator<Item = Change<'a>> {
    let here = |file: &&_| is_document(file, place.path, place.uri);
    proposal
        .files
        .iter()
        .filter(here)
        .flat_map(|file| waiting_in(proposal, file))
}

fn files_waiting(proposal: &Proposal) -> usize {
    let waits = |file: &&_| waiting_in(proposal, file).next().is_some();
    proposal.files.iter().filter(waits).count()
}

/// The changes on these lines; where there are none, those right beside them.
fn near<'a>(changes: &[Change<'a>], lines: LineRange) -> Vec<Change<'a>> {
    let within = |reach: u32| {
        let touches = |change: &&Change<'_>| {
            // An insertion lies between two lines and touches both.
            let (start, end) = match change.hunk.range {
                LineRange { start, end } if start == end => (start.saturating_sub(1), end.saturating_add(1)),
                LineRange { start, end } => (start, end),
            };
            start.saturating_sub(reach) < lines.end && lines.start < end.saturating_add(reach)
        };
        changes.iter().filter(touches).copied().collect::<Vec<_>>()
    };
    let on = within(0);
    if on.is_empty() { within(1) } else { on }
}

/// The next change of the document below these lines that is not among the near ones, from the top again after the last.
fn next<'a>(changes: &[Change<'a>], near: &[Change<'a>], lines: LineRange) -> Option<Change<'a>> {
    let far = || {
        let is_near = |change: &Change<'_>| near.iter().any(|near| near.hunk.id == change.hunk.id);
        changes.iter().copied().filter(move |change| !is_near(change))
    };
    far()
        .find(|change| change.hunk.range.start >= lines.end)
        .or_else(|| far().next())
}

/// `cart.py, line 3`, or the file alone where it has no lines yet.
fn in_file(change: &Change<'_>) -> String {
    use crate::protocol::item::FileChangeKind::Update;
    let name = change.file.path.file_name().unwrap_or_default().to_string_lossy();
    let name = crate::shown::exact(&name);
    match change.file.kind {
        Update { .. } => format!("{name}, {}", change.lines()),
        _ => change.noun(),
    }
}
