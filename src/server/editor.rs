//! The agent's changes as `workspace/applyEdit`.

use super::outbound::{Outbound, RequestFailure};
use crate::agent::editor::{ApplyReply, Editor, EditorChange, EditorStep};
use crate::lsp::client::Client;
use crate::lsp::edit;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long an editor may take to apply an edit. Some never answer.
const APPLY_LIMIT: Duration = Duration::from_secs(30);

pub struct EditorPort {
    outbound: Outbound,
    client: Arc<Client>,
    /// The person was asked to save; once is enough.
    asked_to_save: Arc<AtomicBool>,
}

/// Answer of the client to `workspace/applyEdit` (LSP 3.17, ApplyWorkspaceEditResult).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplyResult {
    pub applied: bool,
    #[serde(default)]
    pub failure_reason: Option<String>,
}

impl EditorPort {
    pub fn new(outbound: Outbound, client: Arc<Client>) -> Self {
        Self {
            outbound,
            client,
            asked_to_save: Arc::default(),
        }
    }
}

impl Editor for EditorPort {
    fn apply(&self, change: EditorChange) -> BoxFuture<'static, ApplyReply> {
        if !self.client.can.apply_edit {
            let reason = Some(
                "it takes no edits from servers (workspace/applyEdit). Files that are not open are written \
                 directly: ask the person to close the file, then send the patch again"
                    .to_owned(),
            );
            return async move { ApplyReply::Refused { reason } }.boxed();
        }
        let edit = workspace_edit(&self.client, &change.steps);
        let pending = self
            .outbound
            .request::<ApplyResult>("workspace/applyEdit", json!({"label": change.label, "edit": edit}));
        async move {
            match tokio::time::timeout(APPLY_LIMIT, pending).await {
                Ok(Ok(ApplyResult { applied: true, .. })) => ApplyReply::Applied,
                Ok(Ok(ApplyResult { failure_reason, .. })) => ApplyReply::Refused {
                    reason: failure_reason.filter(|reason| !reason.trim().is_empty()),
                },
                Ok(Err(RequestFailure::ClientGone)) | Err(_) => ApplyReply::NoAnswer,
                Ok(Err(error)) => ApplyReply::Refused {
                    reason: Some(error.to_string()),
                },
            }
        }
        .boxed()
    }

    fn save(&self, paths: Vec<PathBuf>) -> BoxFuture<'static, bool> {
        if self.client.can.plugin {
            let uris: Vec<_> = paths
                .iter()
                .map(|path| crate::workspace::uri::from_path(path))
                .collect();
            let pending = self
                .outbound
                .request::<Value>("countersign/document/save", json!({"uris": uris}));
            return async move { matches!(tokio::time::timeout(APPLY_LIMIT, pending).await, Ok(Ok(_))) }.boxed();
        }
        if self.asked_to_save.swap(true, Ordering::Relaxed) {
            return async { false }.boxed();
        }
        let names: Vec<_> = paths
            .iter()
            .filter_map(|path| path.file_name())
            .map(|name| name.to_string_lossy())
            .collect();
        let message = format!(
            "Countersign is about to run a command, which sees the files on disk. Its changes to {} are not saved yet. Save them now \
             and go on, or run without.",
            names.join(", ")
        );
        let saved = "Saved, go on";
        let pending = self.outbound.request::<Option<Choice>>(
            "window/showMessageRequest",
            json!({"type": 3, "message": message, "actions": [{"title": saved}, {"title": "Run without saving"}]}),
        );
        async move { matches!(pending.await, Ok(Some(choice)) if choice.title == saved) }.boxed()
    }

    fn has_resource_operations(&self) -> bool {
        self.client.can.document_changes && self.client.can.rename_files && self.client.can.delete_files
    }
}

/// The chosen action of `window/showMessageRequest`.
#[derive(Debug, Deserialize)]
pub struct Choice {
    pub title: String,
}

/// One change as a `WorkspaceEdit`.
fn workspace_edit(client: &Client, steps: &[EditorStep]) -> Value {
    let mut changes = Vec::new();
    for step in steps {
        match step {
            EditorStep::Edit {
                uri,
                version,
                before,
                edits,
                ..
            } => {
                let edits = edit::text_edits(before, edits, client.encoding, None);
                changes.push((uri.clone(), Some(*version), edits));
            }
            EditorStep::Rename { .. } | EditorStep::Delete { .. } => {}
        }
    }
    if !client.can.document_changes {
        let changes: serde_json::Map<_, _> = changes
            .into_iter()
            .map(|(uri, _, edits)| (uri, Value::from(edits)))
            .collect();
        return json!({"changes": changes});
    }
    let edits = changes
        .into_iter()
        .map(|(uri, version, edits)| json!({"textDocument": {"uri": uri, "version": version}, "edits": edits}));
    let operations = steps.iter().filter_map(|step| match step {
        EditorStep::Edit { .. } => None,
        EditorStep::Rename { from, to } => Some(edit::rename(from, to, None)),
        EditorStep::Delete { path } => Some(edit::delete(path, None)),
    });
    json!({"documentChanges": edits.chain(operations).collect::<Vec<_>>()})
}
