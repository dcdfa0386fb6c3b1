//! One call of a server's tool: shown, allowed, carried out, told.

use super::ask::Asked;
use crate::agent::turn::Turn;
use crate::agent::undo;
use crate::ids::ItemId;
use crate::mcp::{self, Caller, Connection, Pinned, Progress, Question, RequestError, result, untrusted};
use crate::protocol::event::{EventKind, McpProgress};
use crate::protocol::item::{Confined, ItemStatus, ThreadItem};
use crate::protocol::mcp::McpElicitationResponse;
use crate::tools::server_tool::ServerCall;
use crate::tools::{ToolError, ToolOutput};
use futures::future::BoxFuture;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of what a server says of its work, or against a call.
const MOST_TEXT: usize = 2000;
/// Progress messages of a call that are shown in one second; the others are left out.
const MOST_PROGRESS: u32 = 10;
/// How often a tool may become another between the question about it and its call.
const MOST_CHANGES: usize = 3;

/// Carries out a call. Whatever comes of it is an answer to the model.
pub async fn call(turn: &Arc<Turn>, call: ServerCall) -> Result<ToolOutput, ToolError> {
    let mut shown = Shown {
        turn,
        call,
        started: Instant::now(),
    };
    turn.start_item(shown.item(ItemStatus::InProgress, None, None));
    let mut is_again = false;
    let mut agreed = None;
    loop {
        let connection = match allowed(turn, &mut shown, &mut agreed).await {
            Ok(connection) => connection,
            Err(output) => return Ok(output),
        };
        match carry_out(turn, &shown, &connection).await {
            // It was not carried out: once more in a new session, if the tool is the same there.
            Err(RequestError::SessionEnded) if !is_again => {
                shown.call.server.session_ended(&connection);
                is_again = true;
            }
            Ok(Some(answer)) => return Ok(shown.answered(answer)),
            Ok(None) => {
                return Ok(shown.refused("the tool has just become another; look at what it says of itself now"));
            }
            Err(error) => return Ok(shown.failed(error)),
        }
    }
}

/// The answer to a call that is allowed; none if it is not any more.
async fn carry_out(
    turn: &Arc<Turn>,
    shown: &Shown<'_>,
    connection: &Arc<Connection>,
) -> Result<Option<Value>, RequestError> {
    let call = &shown.call;
    let caller = Arc::new(ForServer {
        turn: turn.clone(),
        item_id: call.item_id.clone(),
        server: call.server.name.clone(),
        shown: Mutex::default(),
    });
    let limit = call.server.settings.tool_timeout;
    // A program can change files of the workspace like a command, and what it changes can be taken back.
    let may_write = !call.tool.read_only && call.server.settings.url().is_none();
    let confined = if may_write {
        Confined::Outside
    } else {
        Confined::ReadOnly
    };
    let watch = undo::watch(turn, &call.item_id, &[], confined, undo::Doing::default()).await;
    if turn.cancel.is_cancelled() {
        return Err(RequestError::Cancelled);
    }
    // At the last moment once more: the look at the workspace takes its time.
    if !shown.is_as_allowed() {
        watch.finish().await;
        return Ok(None);
    }
    let answer = connection
        .call(&call.tool.name, call.arguments.clone(), caller, limit, &turn.cancel)
        .await;
    watch.finish().await;
    answer.map(Some)
}

/// The connection for a call that may be made, of a tool that still is what was allowed; else the answer to the model.
///
/// `agreed`: the tool as this call was allowed last.
async fn allowed(
    turn: &Turn,
    shown: &mut Shown<'_>,
    agreed: &mut Option<Pinned>,
) -> Result<Arc<Connection>, ToolOutput> {
    let is_offered_for_reading = shown.call.tool.read_only;
    for _ in 0..=MOST_CHANGES {
        let name = shown.call.tool.name.clone();
        let Some(tool) = shown.call.server.tool(&name) else {
            return Err(shown.refused("the server does not offer this tool any more"));
        };
        if is_offered_for_reading && !tool.read_only {
            // It was let through as one that changes nothing.
            return Err(
                shown.refused("the tool is not called reading only any more; look at what it says of itself now")
            );
        }
        shown.call.tool = tool;
        let pinned = shown.pinned().await?;
        if agreed.as_ref() != Some(&pinned) {
            match super::ask::may_call(turn, &shown.call, &pinned, agreed.as_ref()).await {
                Asked::Yes => *agreed = Some(pinned.clone()),
                Asked::No { status, told, words } => {
                    shown.end(status, None, Some(told));
                    return Err(ToolOutput::not_done(words));
                }
            }
        }
        let connection = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return Err(shown.stopped()),
            connection = shown.call.server.connection() => connection,
        };
        let connection = connection.map_err(|error| {
            shown.end(ItemStatus::Failed, None, Some(error.to_string()));
            ToolOutput::failed(format!("{error} The call was not made."))
        })?;
        // The person takes their time, and a server that was lost comes back with what it likes, out of files that may have
        // become others.
        if shown.is_as_allowed() && shown.pinned().await? == pinned {
            return Ok(connection);
        }
    }
    Err(shown.refused("the tool keeps changing while you are asked about it"))
}

/// The call as it is shown.
struct Shown<'a> {
    turn: &'a Turn,
    call: ServerCall,
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
        } = &self.call;
        ThreadItem::McpToolCall {
            id: item_id.clone(),
            server: server.name.clone(),
            tool: untrusted::visible(&tool.name),
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

    /// The tool as it is now; else the answer to the model.
    async fn pinned(&self) -> Result<Pinned, ToolOutput> {
        self.call.pinned().await.map_err(|why| {
            self.end(ItemStatus::Failed, None, Some(why.clone()));
            ToolOutput::failed(format!("{why} The call was not made."))
        })
    }

    /// Whether the tool is still what it was when it was allowed.
    fn is_as_allowed(&self) -> bool {
        let now = self.call.server.tool(&self.call.tool.name);
        now.is_some_and(|now| now == self.call.tool)
    }

    fn refused(&self, why: &str) -> ToolOutput {
        let message = format!(
            "The call of {} of {} was not made: {why}.",
            untrusted::visible(&self.call.tool.name),
            self.call.server.name
        );
        self.end(ItemStatus::Declined, None, Some(message.clone()));
        ToolOutput::not_done(message)
    }

    fn stopped(&self) -> ToolOutput {
        self.end(ItemStatus::Interrupted, None, Some("The turn was stopped.".to_owned()));
        ToolOutput::not_done(
            "The person stopped the turn before the server answered. It was told; what it had begun may have happened, so look \
             before you rely on it.",
        )
    }

    fn failed(&self, error: RequestError) -> ToolOutput {
        let name = mcp::shown_name(&self.call.server.name);
        let words = match error {
            RequestError::Cancelled => return self.stopped(),
            RequestError::Refused { message, .. } => {
                let message = untrusted::bounded(&message, MOST_TEXT);
                format!("The MCP server {name} refused the call: {message}")
            }
            RequestError::Lost => format!(
                "The MCP server {name} was lost during the call; what it had begun may have happened. It is started again \
                 with the next call."
            ),
            error => format!("The MCP server {name} failed: {error}."),
        };
        self.end(ItemStatus::Failed, None, Some(words.clone()));
        ToolOutput::failed(words)
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
    shown: Mutex<Rate>,
}

/// How many messages were shown in the current second.
#[derive(Default)]
struct Rate {
    since: Option<Instant>,
    count: u32,
}

impl Rate {
    fn has_room(&mut self, now: Instant) -> bool {
        let is_over = |since| now.duration_since(since) >= Duration::from_secs(1);
        if self.since.is_none_or(is_over) {
            (self.since, self.count) = (Some(now), 0);
        }
        self.count = self.count.saturating_add(1);
        self.count <= MOST_PROGRESS
    }
}

impl Caller for ForServer {
    fn progress(&self, progress: Progress) {
        let mut rate = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if !rate.has_room(Instant::now()) {
            return;
        }
        drop(rate);
        let Progress {
            progress,
            total,
            message,
        } = progress;
        self.turn.publish(EventKind::McpToolCallProgress(McpProgress {
            item_id: self.item_id.clone(),
            progress,
            total,
            message: message.map(|message| untrusted::bounded(&message, MOST_TEXT)),
        }));
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, McpElicitationResponse> {
        let (turn, item_id, server) = (self.turn.clone(), self.item_id.clone(), self.server.clone());
        Box::pin(async move { turn.elicit(item_id, server, question).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_much_progress_a_little_is_shown_each_second() {
        let (mut rate, begun) = (Rate::default(), Instant::now());
        let times = (0..60_000).map(|number| begun + Duration::from_micros(number * 50));
        let shown = times.filter(|now| rate.has_room(*now)).count();
        assert_eq!(shown, 30, "three seconds");
    }
}
