//! The agent's changes as `workspace/applyEdit`.

use super::idle::Idle;
use super::outbound::{Outbound, RequestFailure, Severity};
use crate::agent::editor::{ApplyReply, Editor, EditorChange, EditorStep, SAVED_WITHIN, Saving, Unsaved};
use crate::ids::ThreadId;
use crate::lsp::client::Client;
use crate::lsp::edit;
use crate::protocol::document::{DocumentSaveParams, DocumentSaveResult, DocumentToSave};
use crate::protocol::method;
use crate::protocol::tool::{ToolCallParams, ToolCallResult};
use crate::workspace::uri;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long an editor may take to apply an edit. Some never answer.
const APPLY_LIMIT: Duration = Duration::from_secs(30);

pub struct EditorPort {
    outbound: Outbound,
    client: Arc<Client>,
    idle: Idle,
    /// Threads that asked the person to save; once is enough.
    asked_to_save: Mutex<HashSet<ThreadId>>,
}

/// Answer of the client to `workspace/applyEdit` (LSP 3.17, ApplyWorkspaceEditResult).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplyResult {
    pub applied: bool,
    #[serde(default)]
    pub failure_reason: Option<String>,
    /// Which change failed, counted from 0.
    #[serde(default)]
    pub failed_change: Option<u32>,
}

impl EditorPort {
    pub fn new(outbound: Outbound, client: Arc<Client>, idle: Idle) -> Self {
        Self {
            outbound,
            client,
            idle,
            asked_to_save: Mutex::default(),
        }
    }
}

impl EditorPort {
    fn ask_plugin_to_save(&self, thread_id: ThreadId, documents: Vec<Unsaved>) -> BoxFuture<'static, Saving> {
        let documents = documents
            .into_iter()
            .map(
                |Unsaved {
                     path,
                     held_unsaved_text,
                 }| DocumentToSave {
                    uri: uri::from_path(&path),
                    held_unsaved_text,
                },
            )
            .collect();
        let params = DocumentSaveParams { thread_id, documents };
        let pending = self
            .outbound
            .request::<DocumentSaveResult>(method::DOCUMENT_SAVE, params);
        async move {
            if let Err(error) = pending.await {
                tracing::info!(%error, "the documents were not saved; the command runs without");
            }
            Saving::Over
        }
        .boxed()
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
        let names = names(&change.steps);
        let pending = self
            .outbound
            .request::<ApplyResult>("workspace/applyEdit", json!({"label": change.label, "edit": edit}));
        async move {
            match tokio::time::timeout(APPLY_LIMIT, pending).await {
                Ok(Ok(ApplyResult { applied: true, .. })) => ApplyReply::Applied,
                Ok(Ok(ApplyResult {
                    failure_reason,
                    failed_change,
                    ..
                })) => ApplyReply::Refused {
                    reason: refusal(failure_reason, failed_change, &names),
                },
                Ok(Err(RequestFailure::ClientGone)) | Err(_) => ApplyReply::NoAnswer,
                Ok(Err(error)) => ApplyReply::Refused {
                    reason: Some(error.to_string()),
                },
            }
        }
        .boxed()
    }

    fn call_tool(&self, call: ToolCallParams) -> BoxFuture<'static, Result<ToolCallResult, String>> {
        // Whoever declares a tool answers its calls; the request is out before this returns.
        let pending = self.outbound.request::<ToolCallResult>(method::TOOL_CALL, call);
        async move { pending.await.map_err(|error| error.to_string()) }.boxed()
    }

    fn tell(&self, message: String) {
        self.outbound
            .notify("window/showMessage", json!({"type": 3, "message": message}));
    }

    fn save(&self, thread: ThreadId, documents: Vec<Unsaved>) -> BoxFuture<'static, Saving> {
        if self.client.can.plugin {
            return self.ask_plugin_to_save(thread, documents);
        }
        let first = self
            .asked_to_save
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(thread);
        if !first {
            return async { Saving::Over }.boxed();
        }
        let names: Vec<_> = documents
            .iter()
            .filter_map(|document| document.path.file_name())
            .map(|name| name.to_string_lossy())
            .collect();
        let message = format!(
            "Countersign is about to run a command, which sees the files on disk. Its changes to {} are not saved yet. Save them and \
             continue, or run without. Where this question takes the keys, dismiss it and save: the command waits {} seconds for that.",
            names.join(", "),
            SAVED_WITHIN.as_secs()
        );
        let (outbound, idle) = (self.outbound.clone(), self.idle.clone());
        async move {
            idle.wait().await;
            // Whatever is chosen, the command runs with what is on the disk by then.
            let titles = ["Continue", "Run without Saving"];
            match outbound.choose(Severity::Info, &message, titles).await {
                Some(_) => Saving::Over,
                None => Saving::MayCome,
            }
        }
        .boxed()
    }

    fn saves_on_request(&self) -> bool {
        self.client.can.plugin
    }

    fn has_resource_operations(&self) -> bool {
        self.client.can.document_changes && self.client.can.rename_files && self.client.can.delete_files
    }
}

/// What each change of an edit is about, in the order in which they are sent.
fn names(steps: &[EditorStep]) -> Vec<String> {
    let edits = steps.iter().filter_map(|step| match step {
        EditorStep::Edit { path, .. } => Some(path.display().to_string()),
        EditorStep::Rename { .. } | EditorStep::Delete { .. } => None,
    });
    let operations = steps.iter().filter_map(|step| match step {
        EditorStep::Edit { .. } => None,
        EditorStep::Rename { from, to } => Some(format!("{} to {}", from.display(), to.display())),
        EditorStep::Delete { path } => Some(path.display().to_string()),
    });
    edits.chain(operations).collect()
}

/// Why an editor did not make a change, as far as it says.
fn refusal(reason: Option<String>, failed_change: Option<u32>, names: &[String]) -> Option<String> {
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let failed = failed_change.and_then(|number| names.get(number as usize));
    match (reason, failed) {
        (Some(reason), Some(name)) => Some(format!(
            "{} (the change of {name})",
            reason.trim().trim_end_matches('.')
        )),
        (None, Some(name)) => Some(format!("the change of {name} failed")),
        (reason, None) => reason,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<EditorStep> {
        let edit = EditorStep::Edit {
            path: "/p/a.txt".into(),
            uri: "file:///p/a.txt".to_owned(),
            version: 7,
            before: "a😀\r\nb\r\n".to_owned(),
            edits: vec![(7..10, "B\r\n".to_owned())],
        };
        let rename = EditorStep::Rename {
            from: "/p/a.txt".into(),
            to: "/p/c.txt".into(),
        };
        vec![edit, rename]
    }

    fn client(workspace_edit: Value) -> Client {
        let workspace = json!({"applyEdit": true, "workspaceEdit": workspace_edit});
        Client::read(&json!({"capabilities": {"workspace": workspace}}))
    }

    #[test]
    fn the_change_that_failed_is_named() {
        let names = names(&steps());
        for (reason, failed, expected) in [
            (None, None, None),
            (Some(" "), None, None),
            (Some("locked."), None, Some("locked.")),
            (Some("locked."), Some(0), Some("locked (the change of /p/a.txt)")),
            (None, Some(1), Some("the change of /p/a.txt to /p/c.txt failed")),
            (Some("locked"), Some(9), Some("locked")),
        ] {
            let found = refusal(reason.map(str::to_owned), failed, &names);
            assert_eq!(found.as_deref(), expected);
        }
    }

    #[test]
    fn versions_are_sent_where_they_are_understood() {
        let edits = json!([{
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}},
            "newText": "B\r\n",
        }]);
        let plain = workspace_edit(&client(json!({})), &steps()[..1]);
        assert_eq!(plain, json!({"changes": {"file:///p/a.txt": edits}}));
        let able = client(json!({"documentChanges": true, "resourceOperations": ["rename", "delete"]}));
        let versioned = workspace_edit(&able, &steps());
        let document = json!({"uri": "file:///p/a.txt", "version": 7});
        assert_eq!(
            versioned["documentChanges"][0],
            json!({"textDocument": document, "edits": edits})
        );
        assert_eq!(versioned["documentChanges"][1]["kind"], "rename");
        assert_eq!(versioned.as_object().map(serde_json::Map::len), Some(1));
    }
}
