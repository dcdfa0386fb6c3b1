//! Code actions on what reviews found, and those that begin a review.

use super::waiting::Place;
use super::{DECIDE, FIX, REVIEW, action};
use crate::handlers::command;
use crate::handlers::review::{Review, Which};
use crate::protocol::review::{OpenFinding, ReviewTarget};
use crate::server::presenter::finding_diagnostic;
use crate::server::session::Session;
use lsp_types::{CodeAction, Diagnostic};
use std::path::Path;

/// What can be done about the findings on these lines.
pub(super) fn here(session: &Session, place: &Place<'_>) -> Vec<CodeAction> {
    let findings = session
        .agent()
        .services()
        .findings
        .at(place.uri, place.path, place.lines);
    let mut actions = Vec::new();
    for finding in &findings {
        let which = which(finding, true);
        let title = |words: &str| format!("{words}: {}", super::short(&finding.title));
        let on_it = |action: CodeAction| CodeAction {
            diagnostics: diagnostic(session, finding).map(|one| vec![one]),
            ..action
        };
        actions.push(on_it(action(
            &title("Fix with agent"),
            FIX,
            command::FIX_FINDING,
            &which,
        )));
        actions.push(on_it(action(
            &title("Dismiss finding"),
            DECIDE,
            command::DISMISS_FINDINGS,
            &which,
        )));
    }
    if let Some(finding) = findings.first().filter(|_| place.by_hand) {
        let all = session
            .agent()
            .services()
            .findings
            .list(Some(&finding.thread_id), Some(&finding.turn_id));
        if all.len() > 1 {
            let title = format!("Dismiss all {} findings of this review", all.len());
            actions.push(action(
                &title,
                DECIDE,
                command::DISMISS_FINDINGS,
                &which(finding, false),
            ));
        }
    }
    actions
}

fn which(finding: &OpenFinding, only_this: bool) -> Which {
    Which {
        thread_id: finding.thread_id.clone(),
        turn_id: Some(finding.turn_id.clone()),
        finding_id: only_this.then(|| finding.id.clone()),
    }
}

/// The diagnostic as it was published, so that editors put the actions to it.
fn diagnostic(session: &Session, finding: &OpenFinding) -> Option<Diagnostic> {
    let lying = session.agent().services().findings.lying(&finding.id)?;
    serde_json::from_value(finding_diagnostic(&lying, session.client().encoding)).ok()
}

/// What begins a review, in a repository. Looks at the disk.
pub(super) fn reviews(session: &Session, document: &str, path: &Path) -> Vec<CodeAction> {
    if !session.in_repository(path) {
        return Vec::new();
    }
    let review = |target| Review {
        uri: Some(document.to_owned()),
        target,
    };
    [
        (
            "Review uncommitted changes with agent",
            Some(ReviewTarget::UncommittedChanges),
        ),
        ("Review changes with agent…", None),
    ]
    .into_iter()
    .map(|(title, target)| action(title, REVIEW, command::REVIEW_CHANGES, &review(target)))
    .collect()
}
