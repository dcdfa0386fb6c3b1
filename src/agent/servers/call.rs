//! One call of a server's tool: shown, allowed, carried out, told.

use super::ask::Asked;
use crate::agent::turn::Turn;
use crate::agent::undo;
use crate::ids::ItemId;
use crate::mcp::{self, Caller, Progress, Question, RequestError, result};
use crate::protocol::event::{EventKind, McpProgress};
use crate::protocol::item::{Confined, ItemStatus, ThreadItem};
use crate::protocol::mcp::McpElicitationResponse;
use crate::tools::server_tool::ServerCall;
use crate::tools::{ToolError, ToolOutput};
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// Carries out a call. Whatever comes of it is an answer to the model.
pub async fn call(turn: &Arc<Turn>, call: ServerCall) -> Result<ToolOutput, ToolError> {
    let shown = Shown {
        turn,
        call: &call,
        started: Instant::now(),
    };
    turn.start_item(shown.item(ItemStatus::InProgress, None, None));
    match super::ask::may_call(turn, &call).await {
        Asked::Yes => {}
        Asked::No { status, told, words } => {
            shown.end(status, None, Some(told));
            return Ok(ToolOutput::not_done(words));
        }
    }
    let connection = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => return Ok(shown.stopped()),
        connection = call.server.connection() => connection,
    };
    let connection = match connection {
        Ok(connection) => connection,
        Err(error) => {
            shown.end(ItemStatus::Failed, None, Some(error.to_string()));
            return Ok(ToolOutput::failed(format!("{error} The call was not made.")));
        }
    };
    let caller = Arc::new(ForServer {
        turn: turn.clone(),
        item_id: call.item_id.clone(),
        server: call.server.name.clone(),
    });
    let limit = call.server.settings.tool_timeout;
    // A program can change files of the workspace like a command, and what it changes can be taken back.
    let may_write = !call.tool.read_only && call.server.settings.url().is_none();
    let confined = if may_write {
        Confined::Outside
    } else {
        Confined::ReadOnly
    };
    let watch = undo::watch(turn, &[], confined).await;
    if turn.cancel.is_cancelled() {
        return Ok(shown.stopped());
    }
    let answer = connection
        .call(&call.tool.name, call.arguments.clone(), caller, limit, &turn.cancel)
        .await;
    watch.finish().await;
    match answer {
        Ok(answer) => Ok(shown.answered(answer)),
        Err(RequestError::Cancelled) => Ok(shown.stopped()),
        Err(error) => {
            let words = match &error {
                RequestError::Refused { message, .. } => {
                    format!("The tool server {} refused the call: {message}", call.server.name)
                }
                RequestError::Lost => format!(
                    "The tool server {} was lost during the call; what it had begun may have happened. It is started again with \
                     the next call.",
                    call.server.name
                ),
                error => format!("The tool server {} failed: {error}.", call.server.name),
            };
            shown.end(ItemStatus::Failed, None, Some(words.clone()));
            Ok(ToolOutput::failed(words))
        }
    }
}

/// The call as it is shown.
struct Shown<'a> {
    turn: &'a Turn,
    call: &'a ServerCall,
    started: Instant,
}

impl Shown<'_> {
    fn item(&self, status: ItemStatus, result: Option<Value>, error: Option<String>) -> ThreadItem {
        let duration = || u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let ServerCall {
            item_id,
            server,
            tool,
            arguments,
        } = self.call;
        ThreadItem::McpToolCall {
            id: item_id.clone(),
            server: server.name.clone(),
            tool: tool.name.clone(),
            title: format!("{}: {}", server.name, tool.shown()),
            arguments: Value::Object(arguments.clone()),
            read_only: tool.read_only,
            status,
            result,
            error,
            duration_ms: (status != ItemStatus::InProgress).then(duration),
        }
    }

    fn end(&self, status: ItemStatus, result: Option<Value>, error: Option<String>) {
        self.turn.complete_item(self.item(status, result, error));
    }

    fn stopped(&self) -> ToolOutput {
        self.end(ItemStatus::Interrupted, None, Some("The turn was stopped.".to_owned()));
        ToolOutput::not_done(
            "The person stopped the turn before the server answered. It was told; what it had begun may have happened, so look \
             before you rely on it.",
        )
    }

    fn answered(&self, answer: Value) -> ToolOutput {
        let outcome = result::outcome(&answer);
        let (status, error) = match outcome.success {
            true => (ItemStatus::Completed, None),
            false => (ItemStatus::Failed, Some(mcp::result::cut(outcome.text.clone(), 2000))),
        };
        self.end(status, Some(result::shown(answer)), error);
        ToolOutput {
            text: outcome.text,
            images: outcome.images,
            success: Some(outcome.success),
        }
    }
}

/// The turn as the server that carries out a call for it sees it.
struct ForServer {
    turn: Arc<Turn>,
    item_id: ItemId,
    server: String,
}

impl Caller for ForServer {
    fn progress(&self, progress: Progress) {
        let Progress {
            progress,
            total,
            message,
        } = progress;
        self.turn.publish(EventKind::McpToolCallProgress(McpProgress {
            item_id: self.item_id.clone(),
            progress,
            total,
            message,
        }));
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, McpElicitationResponse> {
        let (turn, item_id, server) = (self.turn.clone(), self.item_id.clone(), self.server.clone());
        Box::pin(async move { turn.elicit(item_id, server, question).await })
    }
}
