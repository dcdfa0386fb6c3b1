//! Taking back what an editor that failed has made of a change all the same.

use super::in_editor::{LOOK, SETTLE};
use super::{Scope, Step, is_gone, open_steps};
use crate::agent::editor::{EditorChange, EditorStep};
use crate::patch::hunk::{hunks, placed_edits};
use crate::patch::rebase::{Rebased, rebase};
use std::path::Path;

/// What an editor that failed has left of a change.
pub(in crate::agent) enum Left {
    Nothing,
    /// A part was made and taken back, in these documents.
    TakenBack(Vec<String>),
    /// A part is still in these documents.
    Still(Vec<String>),
}

impl Left {
    pub(in crate::agent) fn in_words(&self) -> String {
        match self {
            Self::Nothing => " No open document was changed.".to_owned(),
            Self::TakenBack(names) => format!(
                " It had made a part of it, which was undone: {}. Every document is as it was.",
                names.join(", ")
            ),
            Self::Still(names) => format!(
                " Some of it is still in these open documents; undo there reverts it: {}.",
                names.join(", ")
            ),
        }
    }
}

/// Takes back what an editor that failed has made of a change all the same, and nothing that the person typed.
pub(in crate::agent) async fn take_back(scope: &Scope, steps: &[Step]) -> Left {
    let left = || open_steps(steps).map(|(step, _)| (step, inverse(scope, step)));
    let (mut names, mut back) = (Vec::new(), Vec::new());
    for (step, inverse) in left().filter(|(_, inverse)| !inverse.is_empty()) {
        names.push(scope.short_name(&step.path));
        back.extend(inverse);
    }
    if back.is_empty() {
        return Left::Nothing;
    }
    let gone = async {
        let mut changed = scope.workspace.changed();
        while left().any(|(_, inverse)| !inverse.is_empty()) {
            let _looked_again = tokio::time::timeout(LOOK, changed.changed()).await;
        }
    };
    let label = "Countersign: undo a change that failed".to_owned();
    let answer = scope.services.editor.apply(EditorChange {
        thread: Some(scope.thread.clone()),
        label,
        steps: back,
    });
    let all = async { tokio::join!(tokio::time::timeout(SETTLE, answer), gone) };
    match tokio::time::timeout(2 * SETTLE, all).await {
        Ok(_) => Left::TakenBack(names),
        Err(_) => Left::Still(names),
    }
}

/// What undoes a step as far as the editor made it; nothing where it made nothing of it.
fn inverse(scope: &Scope, step: &Step) -> Vec<EditorStep> {
    let moved = step.move_to.as_deref();
    let moved = moved.filter(|to| is_gone(&step.path) && !is_gone(to));
    let mut back: Vec<_> = inverse_edit(scope, step, moved.unwrap_or(&step.path))
        .into_iter()
        .collect();
    back.extend(moved.map(|to| EditorStep::Rename {
        from: to.to_owned(),
        to: step.path.clone(),
    }));
    back
}

/// The edit that takes a step's own lines out of a document again; nothing where none of them are there.
fn inverse_edit(scope: &Scope, step: &Step, path: &Path) -> Option<EditorStep> {
    let (before, then) = (step.now.as_deref()?, step.then.as_deref()?);
    let document = scope.workspace.document(path)?;
    let now = document.text();
    if now == before {
        return None;
    }
    let hunks = hunks(then, before);
    let placed: Vec<_> = hunks
        .iter()
        .zip(rebase(then, &hunks, &now))
        .filter_map(|(hunk, found)| match found {
            Rebased::Placed(range) => Some((range, hunk.new_text.clone())),
            Rebased::Conflict { .. } => None,
        })
        .collect();
    let edits = placed_edits(&now, &placed);
    (!edits.is_empty()).then(|| EditorStep::Edit {
        path: path.to_owned(),
        uri: document.uri().to_owned(),
        version: document.version,
        before: now,
        edits,
    })
}
