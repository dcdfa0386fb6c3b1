//! Changes by tools that name one file in a call. Those of one answer that follow one another are one proposal.

use super::{Named, planned, propose, refuse};
use crate::agent::turn::Turn;
use crate::patch::edit::TextChange;
use crate::patch::plan::plan_each;
use crate::protocol::item::FileChangeKind;
use crate::tools::{Edit, ToolError, ToolOutput};
use std::sync::Arc;

/// What came of each, in their order. One that does not fit keeps none of the others out.
pub(in crate::agent) async fn run(turn: &Arc<Turn>, edits: Vec<Edit>) -> Vec<Result<ToolOutput, ToolError>> {
    let base = turn.settings.cwd.clone();
    let named: Named = edits
        .iter()
        .map(|Edit { edit, .. }| (base.join(&edit.path), kind_of(&edit.change)))
        .collect();
    let wanted: Vec<_> = edits.iter().map(|edit| edit.edit.clone()).collect();
    let found = planned(turn, &named, move |view| plan_each(&wanted, &base, view)).await;
    let (plan, misfits) = match found {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            let (why, path) = (error.to_string(), error.path().to_owned());
            let each = edits.iter().zip(named);
            return each
                .map(|(edit, named)| Err(refuse(turn, &edit.item_id, vec![named], Some(&path), &why)))
                .collect();
        }
        Err(error) => return edits.iter().map(|_| Err(error.clone())).collect(),
    };
    let mut results: Vec<Option<Result<ToolOutput, ToolError>>> = Vec::with_capacity(edits.len());
    let mut fitting = Vec::new();
    for ((edit, misfit), named) in edits.iter().zip(misfits).zip(named) {
        match misfit {
            Some(error) => {
                let path = error.path().to_owned();
                results.push(Some(Err(refuse(turn, &edit.item_id, vec![named], Some(&path), error))));
            }
            None => {
                fitting.push(named);
                results.push(None);
            }
        }
    }
    let first = results.iter().position(Option::is_none);
    let proposed = match first {
        Some(first) => Some(propose(turn, edits[first].item_id.clone(), plan, fitting).await),
        None => None,
    };
    let mut proposed = proposed.into_iter();
    let mut success = None;
    let answers = results.into_iter().map(|result| {
        result.unwrap_or_else(|| match proposed.next() {
            Some(whole) => {
                success = Some(whole.as_ref().ok().and_then(|output| output.success));
                whole
            }
            // The first of them has it all.
            None => Ok(ToolOutput {
                text: "Proposed together with the changes before it in your answer: what became of all of them is said there."
                    .to_owned(),
                images: Vec::new(),
                success: success.flatten(),
            }),
        })
    });
    answers.collect()
}

/// What an edit wants of its file, by its words: whether the file is there is not known yet.
fn kind_of(change: &TextChange) -> FileChangeKind {
    match change {
        TextChange::Whole { .. } => FileChangeKind::Add,
        TextChange::Replace { old, .. } if old.is_empty() => FileChangeKind::Add,
        TextChange::Replace { .. } | TextChange::Insert { .. } => FileChangeKind::Update { move_path: None },
    }
}
