//! The turns of a stored thread, as the person is to see them.
//!
//! Our files, and newer ones of the reference system, hold the finished items themselves. Older ones hold
//! message events beside the model's items, the oldest only the latter; turns are put together from what
//! there is, turn by turn, since a file may have grown over several versions.

use super::line::{EventMsg, RolloutItem};
use super::load::Line;
use super::{foreign, history};
use crate::ids::{ItemId, TurnId};
use crate::model::item::{ContentPart, ReasoningPart, ResponseItem, ToolOutputPayload};
use crate::protocol::item::{CommandAction, CommandSource, Confined, ItemStatus, ThreadItem, UserInput};
use crate::protocol::turn::{InterruptedBy, Turn, TurnError, TurnKind, TurnStatus};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where an item of a turn was read from.
#[derive(Clone, Copy, PartialEq)]
enum From {
    /// The finished item.
    Record,
    /// A message event.
    Twin,
    /// The history.
    History,
}

struct Building {
    id: TurnId,
    kind: TurnKind,
    /// Number of the line that begins it.
    line: usize,
    /// Its beginning is marked in the file, so its end is too, unless the program was cut off.
    marked: bool,
    ended: bool,
    status: Option<TurnStatus>,
    error: Option<TurnError>,
    interrupted_by: Option<InterruptedBy>,
    started_at_ms: Option<i64>,
    completed_at_ms: Option<i64>,
    items: Vec<(From, ThreadItem)>,
}

pub(super) fn reconstruct(lines: &[Line]) -> Vec<Turn> {
    reconstruct_all(lines).0
}

/// The same with the ids of all items of turns that were rolled back.
pub(super) fn reconstruct_all(lines: &[Line]) -> (Vec<Turn>, Vec<ItemId>) {
    let Turns { turns, dropped, .. } = follow(lines);
    (turns.into_iter().map(Building::finish).collect(), dropped)
}

/// How many lines a copy takes that ends with (`through`) or before a turn; `None` if there is no such turn, or it was
/// rolled back.
pub(super) fn cut(lines: &[Line], turn: &TurnId, through: bool) -> Option<usize> {
    let Turns { turns, begun, .. } = follow(lines);
    let line = turns.iter().find(|known| known.id == *turn)?.line;
    if !through {
        return Some(line);
    }
    // Also where the next turn was rolled back since.
    Some(begun.into_iter().find(|next| *next > line).unwrap_or(lines.len()))
}

fn follow(lines: &[Line]) -> Turns {
    let has_twins = lines
        .iter()
        .any(|line| matches!(line.item, Some(RolloutItem::EventMsg(EventMsg::UserMessage { .. }))));
    let mut turns = Turns {
        turns: Vec::new(),
        has_twins,
        made: 0,
        cwd: PathBuf::new(),
        line: 0,
        begun: Vec::new(),
        dropped: Vec::new(),
    };
    for (number, line) in lines.iter().enumerate() {
        turns.line = number;
        match &line.item {
            Some(RolloutItem::SessionMeta(meta)) if turns.cwd.as_os_str().is_empty() => turns.cwd.clone_from(&meta.cwd),
            Some(RolloutItem::TurnContext(context)) => turns.cwd.clone_from(&context.cwd),
            Some(RolloutItem::ResponseItem(item)) => turns.of_history(item, line.at_ms),
            Some(RolloutItem::EventMsg(event)) => turns.of_event(event, line.at_ms),
            _ => {}
        }
    }
    for turn in &mut turns.turns {
        turn.line = with_words(lines, turn.line);
    }
    for begun in &mut turns.begun {
        *begun = with_words(lines, *begun);
    }
    turns
}

/// In files that mark no beginnings, the person's words can stand before the event that tells of them.
fn with_words(lines: &[Line], mut begun: usize) -> usize {
    let is_words = |line: &Line| matches!(&line.item, Some(RolloutItem::ResponseItem(item)) if history::is_words(item));
    let is_twin = |line: &Line| matches!(&line.item, Some(RolloutItem::EventMsg(EventMsg::UserMessage { .. })));
    if is_twin(&lines[begun]) {
        while begun > 0 && is_words(&lines[begun - 1]) {
            begun -= 1;
        }
    }
    begun
}

/// Where the last so many turns of the person begin. What lies between and behind them, such as an undo, goes with them.
fn begin_of_last(turns: &[Building], num_turns: usize) -> usize {
    let of_person = turns.iter().enumerate().rev().filter(|(_, turn)| turn.has_words());
    match num_turns.checked_sub(1) {
        Some(before) => of_person.map(|(at, _)| at).nth(before).unwrap_or(0),
        None => turns.len(),
    }
}

struct Turns {
    turns: Vec<Building>,
    has_twins: bool,
    /// Ids made up so far.
    made: usize,
    cwd: PathBuf,
    /// Number of the line that is read.
    line: usize,
    /// The lines that begin a turn, also of those that were rolled back.
    begun: Vec<usize>,
    /// Items of turns that were rolled back.
    dropped: Vec<ItemId>,
}

impl Turns {
    fn begin(&mut self, id: Option<TurnId>, marked: bool, at_ms: Option<i64>) {
        let id = id.unwrap_or_else(|| TurnId::from(format!("turn-{}", self.turns.len() + 1)));
        self.begun.push(self.line);
        self.turns.push(Building {
            id,
            kind: TurnKind::Regular,
            line: self.line,
            marked,
            ended: false,
            status: None,
            error: None,
            interrupted_by: None,
            started_at_ms: at_ms,
            completed_at_ms: None,
            items: Vec::new(),
        });
    }

    /// The turn that a message of the person belongs to: a marked one that runs, else a new one.
    fn at_words(&mut self, at_ms: Option<i64>) {
        if !self.turns.last().is_some_and(|turn| turn.marked && !turn.ended) {
            self.begin(None, false, at_ms);
        }
    }

    fn push(&mut self, from: From, item: ThreadItem) {
        if let Some(turn) = self.turns.last_mut() {
            turn.items.push((from, item));
        }
    }

    fn fresh(&mut self) -> ItemId {
        self.made += 1;
        ItemId::from(format!("item-{}", self.made))
    }

    /// The turn with this id, else the latest.
    fn turn(&mut self, id: Option<&TurnId>) -> Option<&mut Building> {
        let at = match id {
            Some(id) => self.turns.iter().rposition(|turn| turn.id == *id),
            None => None,
        };
        match at {
            Some(at) => self.turns.get_mut(at),
            None => self.turns.last_mut(),
        }
    }

    fn end(&mut self, id: Option<&TurnId>, status: TurnStatus, at_ms: Option<i64>) {
        if let Some(turn) = self.turn(id) {
            turn.ended = true;
            turn.completed_at_ms = at_ms;
            turn.status = Some(if turn.error.is_some() && status == TurnStatus::Completed {
                TurnStatus::Failed
            } else {
                status
            });
        }
    }

    fn of_event(&mut self, event: &EventMsg, line_ms: Option<i64>) {
        // Seconds in the event are coarser than the line's own time.
        let ms = |seconds: &Option<i64>| line_ms.or(seconds.map(|seconds| seconds.saturating_mul(1000)));
        match event {
            EventMsg::TaskStarted {
                turn_id,
                started_at,
                kind,
                ..
            } => {
                self.begin(turn_id.clone(), true, ms(started_at));
                if let Some(turn) = self.turns.last_mut() {
                    turn.kind = *kind;
                }
            }
            EventMsg::TaskComplete {
                turn_id, completed_at, ..
            } => {
                if let (Some(error), Some(turn)) = (event.closing_error(), self.turn(turn_id.as_ref())) {
                    // What an event of its own said of it says more.
                    turn.error.get_or_insert(error);
                }
                self.end(turn_id.as_ref(), TurnStatus::Completed, ms(completed_at));
            }
            EventMsg::TurnAborted {
                turn_id,
                reason,
                interrupted_by,
                completed_at,
            } => {
                let by = match reason.as_deref() {
                    Some("replaced") => InterruptedBy::Replaced,
                    _ => InterruptedBy::Person,
                };
                if let Some(turn) = self.turn(turn_id.as_ref()) {
                    turn.interrupted_by = Some(interrupted_by.unwrap_or(by));
                }
                self.end(turn_id.as_ref(), TurnStatus::Interrupted, ms(completed_at));
            }
            EventMsg::Error { .. } => {
                if let (Some(error), Some(turn)) = (event.to_error(), self.turns.last_mut()) {
                    turn.error = Some(error);
                }
            }
            EventMsg::ThreadRolledBack { num_turns } => {
                let left = begin_of_last(&self.turns, *num_turns);
                let dropped = self.turns.drain(left..).flat_map(|turn| turn.items);
                self.dropped.extend(dropped.map(|(_, item)| item.id().clone()));
            }
            EventMsg::ItemCompleted { turn_id, item, .. } => {
                let Some(item) = foreign::thread_item(item) else { return };
                if self.turns.is_empty() {
                    self.begin(turn_id.clone(), false, line_ms);
                }
                if let Some(turn) = self.turn(turn_id.as_ref()) {
                    turn.items.push((From::Record, item));
                }
            }
            EventMsg::UserMessage { message, images } => {
                if history::is_context(message) {
                    return;
                }
                self.at_words(line_ms);
                let mut content = vec![UserInput::Text {
                    text: history::request_of(message).to_owned(),
                }];
                content.extend(images.iter().flatten().map(|url| UserInput::Image { url: url.clone() }));
                let id = self.fresh();
                self.push(
                    From::Twin,
                    ThreadItem::UserMessage {
                        id,
                        content,
                        client_id: None,
                        context: Vec::new(),
                    },
                );
            }
            EventMsg::AgentMessage { message } => {
                let id = self.fresh();
                self.push(
                    From::Twin,
                    ThreadItem::AgentMessage {
                        id,
                        text: message.clone(),
                        partial: false,
                    },
                );
            }
            EventMsg::AgentReasoning { text } => {
                let id = self.fresh();
                self.push(
                    From::Twin,
                    ThreadItem::Reasoning {
                        id,
                        summary: vec![text.clone()],
                        content: Vec::new(),
                    },
                );
            }
            EventMsg::AgentReasoningRawContent { text } => {
                let id = self.fresh();
                self.push(
                    From::Twin,
                    ThreadItem::Reasoning {
                        id,
                        summary: Vec::new(),
                        content: vec![text.clone()],
                    },
                );
            }
            EventMsg::Other(value) => {
                if let Some(item) = foreign::event_item(value) {
                    self.push(From::Twin, item);
                }
            }
            // Lines about a message in parts are settled before (`unfinished`).
            EventMsg::TokenCount { .. } | EventMsg::ThreadNameUpdated { .. } | EventMsg::AgentMessagePartial { .. } => {
            }
        }
    }

    fn of_history(&mut self, item: &ResponseItem, at_ms: Option<i64>) {
        match item {
            ResponseItem::Message { role, content, id } => {
                let id = |this: &mut Self| id.clone().map_or_else(|| this.fresh(), ItemId::from);
                if role == "assistant" {
                    let id = id(self);
                    let text = plain(content);
                    self.push(
                        From::History,
                        ThreadItem::AgentMessage {
                            id,
                            text,
                            partial: false,
                        },
                    );
                } else if let Some(text) = history::words(item) {
                    if !self.has_twins {
                        self.at_words(at_ms);
                    }
                    let id = id(self);
                    let content = vec![UserInput::Text { text }];
                    self.push(
                        From::History,
                        ThreadItem::UserMessage {
                            id,
                            content,
                            client_id: None,
                            context: Vec::new(),
                        },
                    );
                }
            }
            ResponseItem::Reasoning {
                id, summary, content, ..
            } => {
                let texts = |parts: &[ReasoningPart]| -> Vec<String> {
                    parts
                        .iter()
                        .filter_map(|part| match part {
                            ReasoningPart::SummaryText { text }
                            | ReasoningPart::ReasoningText { text }
                            | ReasoningPart::Text { text } => Some(text.clone()),
                            ReasoningPart::Other => None,
                        })
                        .collect()
                };
                let (summary, content) = (texts(summary), content.as_deref().map(texts).unwrap_or_default());
                if !summary.is_empty() || !content.is_empty() {
                    let id = id.clone().map_or_else(|| self.fresh(), ItemId::from);
                    self.push(From::History, ThreadItem::Reasoning { id, summary, content });
                }
            }
            ResponseItem::FunctionCall {
                name,
                arguments,
                call_id,
                ..
            } => {
                let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.clone()));
                let item = call_item(call_id, name, arguments, &self.cwd);
                self.push(From::History, item);
            }
            ResponseItem::CustomToolCall {
                name, input, call_id, ..
            } => {
                let item = call_item(call_id, name, Value::String(input.clone()), &self.cwd);
                self.push(From::History, item);
            }
            ResponseItem::LocalShellCall {
                id, call_id, action, ..
            } => {
                let crate::model::item::LocalShellAction::Exec {
                    command,
                    working_directory,
                    ..
                } = action;
                let id = call_id
                    .clone()
                    .or_else(|| id.clone())
                    .map_or_else(|| self.fresh(), ItemId::from);
                let cwd = working_directory
                    .as_ref()
                    .map_or_else(|| self.cwd.clone(), |dir| self.cwd.join(dir));
                self.push(From::History, command_item(id, command, cwd));
            }
            ResponseItem::FunctionCallOutput { call_id, output }
            | ResponseItem::CustomToolCallOutput { call_id, output } => {
                let text = match output {
                    ToolOutputPayload::Text(text) => text.clone(),
                    ToolOutputPayload::Parts(parts) => plain(parts),
                };
                self.settle(call_id, text);
            }
            ResponseItem::LocalShellCallOutput { call_id, output } => self.settle(call_id, output.clone()),
            ResponseItem::WebSearchCall { id, action, .. } => {
                let id = id.clone().map_or_else(|| self.fresh(), ItemId::from);
                let arguments = action.clone().unwrap_or_default();
                let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
                self.push(
                    From::History,
                    ThreadItem::ToolCall {
                        id,
                        tool: "web_search".to_owned(),
                        title: format!("Search the web: {query}").trim_end_matches(": ").to_owned(),
                        arguments,
                        status: ItemStatus::Completed,
                        output: None,
                        duration_ms: None,
                    },
                );
            }
            ResponseItem::Other => {}
        }
    }

    /// Puts the output of a call to the call.
    fn settle(&mut self, call_id: &str, text: String) {
        let Some(turn) = self.turns.last_mut() else { return };
        for (from, item) in turn.items.iter_mut().rev() {
            if *from != From::History || item.id().as_str() != call_id {
                continue;
            }
            match item {
                ThreadItem::CommandExecution {
                    status,
                    aggregated_output,
                    exit_code,
                    ..
                } => {
                    let (output, code) = shell_output(text);
                    *aggregated_output = Some(output);
                    *exit_code = code;
                    *status = if code.is_some_and(|code| code != 0) {
                        ItemStatus::Failed
                    } else {
                        ItemStatus::Completed
                    };
                }
                ThreadItem::ToolCall { status, output, .. } => {
                    *status = ItemStatus::Completed;
                    *output = Some(text);
                }
                _ => {}
            }
            return;
        }
    }
}

/// A call as the history has it, before its output is known.
fn call_item(call_id: &str, name: &str, arguments: Value, cwd: &Path) -> ThreadItem {
    let id = ItemId::from(call_id);
    let short = name.rsplit('.').next().unwrap_or(name);
    let command = match (short, arguments.get("command").or_else(|| arguments.get("cmd"))) {
        ("shell" | "exec" | "local_shell" | "shell_command" | "exec_command", Some(Value::Array(words))) => Some(
            words
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        ),
        ("shell" | "exec" | "local_shell" | "shell_command" | "exec_command", Some(Value::String(line))) => {
            Some(vec![line.clone()])
        }
        _ => None,
    };
    match command {
        Some(command) => {
            let dir = arguments.get("workdir").and_then(Value::as_str);
            command_item(id, &command, dir.map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir)))
        }
        None => ThreadItem::ToolCall {
            id,
            tool: name.to_owned(),
            title: name.replace('_', " "),
            arguments,
            status: ItemStatus::Interrupted,
            output: None,
            duration_ms: None,
        },
    }
}

fn command_item(id: ItemId, words: &[String], cwd: PathBuf) -> ThreadItem {
    // A script given to a shell reads better without the shell.
    let command = match words {
        [shell, flag, script] if shell.ends_with("sh") && matches!(flag.as_str(), "-c" | "-lc") => script.clone(),
        _ => words.join(" "),
    };
    ThreadItem::CommandExecution {
        id,
        actions: vec![CommandAction::Unknown {
            command: command.clone(),
        }],
        command,
        cwd,
        source: CommandSource::Agent,
        confined: Confined::Workspace,
        status: ItemStatus::Interrupted,
        aggregated_output: None,
        full_output: None,
        exit_code: None,
        duration_ms: None,
        reason: None,
        terminal_id: None,
    }
}

/// The output of a command as it was told to the model: JSON with its metadata, or a text that begins with
/// the exit code.
fn shell_output(text: String) -> (String, Option<i32>) {
    let code = |value: &Value| value.as_i64().and_then(|code| i32::try_from(code).ok());
    if let Ok(value) = serde_json::from_str::<Value>(&text)
        && let Some(output) = value.get("output").and_then(Value::as_str)
    {
        return (output.to_owned(), value.pointer("/metadata/exit_code").and_then(code));
    }
    let exit_code = text
        .lines()
        .take(4)
        .find_map(|line| {
            line.strip_prefix("Exit code: ")
                .or_else(|| line.strip_prefix("Process exited with code "))
        })
        .and_then(|code| code.trim().parse().ok());
    (text, exit_code)
}

/// The texts of a message.
fn plain(content: &[ContentPart]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|part| match part {
            ContentPart::InputText { text } | ContentPart::OutputText { text } => Some(text.as_str()),
            ContentPart::Refusal { refusal } => Some(refusal.as_str()),
            ContentPart::InputImage { .. } | ContentPart::Other => None,
        })
        .collect();
    texts.join("\n")
}

impl Building {
    fn has_words(&self) -> bool {
        let is_words = |item: &ThreadItem| matches!(item, ThreadItem::UserMessage { .. });
        self.items.iter().any(|(_, item)| is_words(item))
    }

    fn finish(self) -> Turn {
        let has = |from: From| {
            self.items
                .iter()
                .any(|(of, item)| *of == from && !matches!(item, ThreadItem::Plan { .. }))
        };
        let (records, twins) = (has(From::Record), has(From::Twin));
        let mut items: Vec<ThreadItem> = Vec::with_capacity(self.items.len());
        for (from, item) in self.items {
            let is_call = matches!(item, ThreadItem::CommandExecution { .. } | ThreadItem::ToolCall { .. });
            let take = match from {
                From::Record => true,
                From::Twin => !records,
                // Beside message events the history still tells of the calls, which have no events there.
                From::History => !records && (!twins || is_call),
            };
            if !take {
                continue;
            }
            // The later form of a thing is its final one.
            match items.iter_mut().find(|known| known.id() == item.id()) {
                Some(known) => *known = item,
                None => items.push(item),
            }
        }
        // A turn whose end is missing was cut off; in files that mark no ends it ran to its end.
        let status = self.status.unwrap_or(match self.marked {
            true => TurnStatus::Interrupted,
            false => TurnStatus::Completed,
        });
        let has_words = items.iter().any(|item| matches!(item, ThreadItem::UserMessage { .. }));
        Turn {
            id: self.id,
            // Words make it one like any other, also where its beginning did not know of them.
            kind: match self.kind {
                TurnKind::OwnCommands if has_words => TurnKind::Regular,
                kind => kind,
            },
            status,
            items,
            error: self.error,
            interrupted_by: (status == TurnStatus::Interrupted)
                .then(|| self.interrupted_by.unwrap_or(InterruptedBy::Crash)),
            started_at_ms: self.started_at_ms,
            completed_at_ms: self.completed_at_ms,
        }
    }
}
