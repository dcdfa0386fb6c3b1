//! A proposal on the terminal: the diff, hunk by hunk, and the person's decision on it.

use super::facts::Accepted;
use super::person::{Choice, Person, Question};
use super::project::name_of;
use super::screen::{INDENT, Screen};
use super::style::Style;
use crate::protocol::proposal::{Hunk, Proposal, ProposalDecideParams, ProposalDecision};
use std::io;

/// Unchanged lines shown around a hunk.
const CONTEXT: usize = 2;

/// Shows the whole proposal.
pub(super) fn show(screen: &mut Screen, proposal: &Proposal) -> io::Result<()> {
    let total: usize = proposal.files.iter().map(|file| file.hunks.len()).sum();
    let mut number = 0;
    for (index, file) in proposal.files.iter().enumerate() {
        if index > 0 {
            screen.blank()?;
        }
        let place = match (file.open, file.unsaved) {
            (true, true) => "open in the editor, with text not saved",
            (true, false) => "open in the editor",
            (false, _) => "closed",
        };
        screen.row(&[
            (Style::PLAIN, "   "),
            (Style::BOLD, &name_of(&file.path)),
            (Style::DIM, &format!("  {place}")),
        ])?;
        let before: Vec<&str> = file.before.as_deref().unwrap_or_default().lines().collect();
        for hunk in &file.hunks {
            number += 1;
            let head = format!("   @@ hunk {number} of {total}, line {} @@", hunk.range.start + 1);
            screen.row(&[(Style::CYAN, &head)])?;
            show_hunk(screen, &before, hunk)?;
        }
    }
    Ok(())
}

fn show_hunk(screen: &mut Screen, before: &[&str], hunk: &Hunk) -> io::Result<()> {
    let (start, end) = (hunk.range.start as usize, (hunk.range.end as usize).min(before.len()));
    let row = |screen: &mut Screen, style: Style, mark: &str, number: Option<usize>, line: &str| {
        let number = number.map(|number| number.to_string()).unwrap_or_default();
        screen.row(&[
            (Style::DIM, &format!("{:INDENT$}{number:>3} ", "")),
            (style, &format!("{mark} {line}")),
        ])
    };
    let first = start.saturating_sub(CONTEXT);
    for (at, line) in before.iter().enumerate().take(start).skip(first) {
        row(screen, Style::PLAIN, " ", Some(at + 1), line)?;
    }
    for (at, line) in (start + 1..).zip(hunk.old_text.lines()) {
        row(screen, Style::RED, "-", Some(at), line)?;
    }
    for line in hunk.new_text.lines() {
        row(screen, Style::GREEN, "+", None, line)?;
    }
    for (at, line) in before.iter().enumerate().skip(end).take(CONTEXT) {
        row(screen, Style::PLAIN, " ", Some(at + 1), line)?;
    }
    Ok(())
}

const ALL: usize = 0;
const EACH: usize = 1;

/// Asks the person. Gives the decisions to send, and what they come to.
pub(super) async fn decide(
    person: &mut Person,
    screen: &mut Screen,
    proposal: &Proposal,
) -> io::Result<(Vec<ProposalDecideParams>, Accepted)> {
    let choice = |words, meaning| Choice { words, meaning };
    let question = Question {
        text: "Take it?",
        choices: &[
            choice(&["a", "all", "accept", "y", "yes"], "accept all"),
            choice(&["h", "hunk", "hunks"], "hunk by hunk"),
            choice(&["r", "reject", "n", "no"], "reject"),
        ],
        usual: ALL,
        has_default: false,
        at_end: 2,
    };
    let params = |hunk: Option<&Hunk>, accept: bool| ProposalDecideParams {
        proposal_id: proposal.id.clone(),
        decision: if accept {
            ProposalDecision::Accept
        } else {
            ProposalDecision::Reject
        },
        hunk_ids: hunk.map(|hunk| vec![hunk.id.clone()]),
        path: None,
        feedback: None,
    };
    let chosen = person.ask(screen, &question).await?;
    if chosen != EACH {
        let accept = chosen == ALL;
        let accepted = Accepted {
            open_file: accept,
            closed_file: accept,
        };
        return Ok((vec![params(None, accept)], accepted));
    }
    let mut decisions = Vec::new();
    let mut accepted = Accepted::default();
    let hunks = proposal
        .files
        .iter()
        .flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)));
    for (number, (file, hunk)) in (1..).zip(hunks) {
        let text = format!("Hunk {number}, in {}?", name_of(&file.path));
        let question = Question {
            text: &text,
            choices: &[
                choice(&["y", "yes", "a", "accept"], "accept"),
                choice(&["n", "no", "r", "reject"], "reject"),
            ],
            usual: 0,
            has_default: false,
            at_end: 1,
        };
        let accept = person.ask(screen, &question).await? == 0;
        decisions.push(params(Some(hunk), accept));
        // Each file has one hunk; the checks at the end notice if that ever changes.
        match file.open {
            true => accepted.open_file = accept,
            false => accepted.closed_file = accept,
        }
    }
    Ok((decisions, accepted))
}
