//! The part of a change that is in open documents: handed to the editor, and then looked for in what the editor sends.
//! `applied: true` is a claim, and so is silence.

use super::altered::is_whole;
use super::{Scope, Step, is_gone, open_steps};
use crate::agent::aside::aside;
use crate::agent::editor::{ApplyReply, EditorChange, EditorStep};
use crate::patch::alike::made_and_changed;
use crate::patch::hunk::text_edits;
use crate::workspace::Document;
use std::time::Duration;

/// How long an editor may take to send the change that it claims to have made.
pub(super) const SETTLE: Duration = Duration::from_secs(3);
/// How often the disk is looked at.
pub(in crate::agent) const LOOK: Duration = Duration::from_millis(200);
/// Quiet after which an editor that failed has sent what it changed all the same.
const QUIET: Duration = Duration::from_millis(400);
/// How long an editor's answer is waited for once its text is there. Some never answer.
const ANSWER: Duration = Duration::from_secs(1);

/// The change of an open document, which only the editor may make.
pub(in crate::agent) fn edit_document(
    step: &Step,
    document: &Document,
    resources: bool,
    editor_steps: &mut Vec<EditorStep>,
) -> Result<(), String> {
    let before = document.text();
    match &step.then {
        None if resources => editor_steps.push(EditorStep::Delete {
            path: step.path.clone(),
        }),
        None => {
            return Err(format!(
                "{} is open in an editor that cannot delete files for us. Ask the person to close it, then propose the deletion again.",
                step.path.display()
            ));
        }
        Some(then) => {
            let edits = text_edits(&before, then);
            if !edits.is_empty() {
                editor_steps.push(EditorStep::Edit {
                    path: step.path.clone(),
                    uri: document.uri().to_owned(),
                    version: document.version,
                    before,
                    edits,
                });
            }
            match &step.move_to {
                Some(to) if resources => {
                    editor_steps.push(EditorStep::Rename {
                        from: step.path.clone(),
                        to: to.clone(),
                    });
                }
                Some(_) => {
                    return Err(format!(
                        "{} is open in an editor that cannot rename files for us. Ask the person to close it, then propose the move \
                         again.",
                        step.path.display()
                    ));
                }
                None => {}
            }
        }
    }
    Ok(())
}

/// Hands the change to the editor and looks whether it was made.
pub(in crate::agent) async fn change_in_editor(
    scope: &Scope,
    steps: &[Step],
    editor_steps: Vec<EditorStep>,
) -> Result<(), String> {
    let change = EditorChange {
        thread: Some(scope.thread.clone()),
        label: "Countersign".to_owned(),
        steps: editor_steps,
    };
    // Where they are saved to later has to be what they are now.
    let paths: Vec<_> = open_steps(steps).map(|(step, _)| step.path.clone()).collect();
    let workspace = scope.workspace.clone();
    aside(move || paths.iter().for_each(|path| workspace.note_place(path))).await;
    let made = async {
        all_done(scope, steps).await;
        tokio::time::sleep(ANSWER).await;
    };
    let reply = tokio::select! {
        reply = scope.services.editor.apply(change) => reply,
        // Every text is there, whatever becomes of the answer.
        () = made => ApplyReply::Applied,
    };
    match reply {
        ApplyReply::Applied => happened(scope, steps).await,
        ApplyReply::Refused { reason: Some(reason) } => Err(format!(
            "The editor refused the change: {}.",
            reason.trim_end_matches('.')
        )),
        ApplyReply::Refused { reason: None } => Err("The editor refused the change and gave no reason.".to_owned()),
        ApplyReply::NoAnswer => Err("The editor never answered whether it made the change.".to_owned()),
    }
}

/// `applied: true` is a claim: waits until the documents really hold the new text.
async fn happened(scope: &Scope, steps: &[Step]) -> Result<(), String> {
    if tokio::time::timeout(SETTLE, all_done(scope, steps)).await.is_ok() {
        for (step, _) in open_steps(steps) {
            scope.workspace.forget_edits(&step.path);
        }
        return Ok(());
    }
    let missing = open_steps(steps).filter(|(step, _)| !is_done(scope, step));
    let names: Vec<_> = missing.map(|(step, _)| scope.short_name(&step.path)).collect();
    Err(format!(
        "The editor said that it made the change, but the text is not there: {}.",
        names.join(", ")
    ))
}

/// Waits until every open document holds its new text.
async fn all_done(scope: &Scope, steps: &[Step]) {
    let mut changed = scope.workspace.changed();
    while !open_steps(steps).all(|(step, _)| is_done(scope, step)) {
        // What happens on the disk is not announced.
        let _looked_again = tokio::time::timeout(LOOK, changed.changed()).await;
    }
}

/// Waits until the editor has sent nothing for a while.
pub(in crate::agent) async fn quiet(scope: &Scope) {
    let mut changed = scope.workspace.changed();
    let deadline = tokio::time::Instant::now() + SETTLE;
    while tokio::time::Instant::now() < deadline
        && matches!(tokio::time::timeout(QUIET, changed.changed()).await, Ok(Ok(())))
    {}
}

/// Whether an open document holds its new text; the person may have typed elsewhere in it meanwhile, and the editor may
/// have formatted it.
pub(in crate::agent) fn is_done(scope: &Scope, step: &Step) -> bool {
    let path = step.move_to.as_ref().unwrap_or(&step.path);
    let Some(then) = &step.then else {
        // Some editors keep showing the text of a file that they have deleted.
        return is_gone(path);
    };
    let Ok(now) = scope.workspace.read(path) else {
        return false;
    };
    let before = step.now.as_deref().unwrap_or_default();
    *then == now.text || is_whole(before, then, &now.text) || made_and_changed(before, then, &now.text)
}

/// Whether a document is not as it was when the change was made for it.
pub(in crate::agent) fn moved_on(scope: &Scope, step: &Step) -> bool {
    // As its conversation sees it: clients of several sessions hold other texts in each.
    scope
        .workspace
        .document(&step.path)
        .is_none_or(|document| Some(document.text()) != step.now)
}
