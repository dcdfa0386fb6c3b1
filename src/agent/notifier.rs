//! Tells a program of the person's choice, and if they like the editor, that a turn is over and it is their turn again.
//!
//! A subscriber of the thread's stream like any other: no turn waits for it.

use super::conversation::Conversation;
use super::services::Services;
use super::stream::Subscription;
use crate::config::Config;
use crate::exec;
use crate::ids::{ThreadId, TurnId};
use crate::protocol::event::EventKind;
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::turn::TurnStatus;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Characters of an answer that the editor is told.
const TOLD: usize = 200;

/// Bytes of one argument; systems take a little more.
const MOST_ARGUMENT: usize = 120 << 10;

/// What the program gets as its last argument.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Notification<'a> {
    r#type: &'static str,
    thread_id: &'a ThreadId,
    turn_id: &'a TurnId,
    cwd: &'a Path,
    /// What the person typed, each text by itself.
    input_messages: &'a [String],
    last_assistant_message: Option<&'a str>,
}

/// Follows a thread from now on, if the person wants to be told.
pub(super) fn attach(services: &Arc<Services>, conversation: &Conversation, config: &Config) {
    let program: Vec<String> = match config.notify.first() {
        Some(program) if !program.trim().is_empty() => config.notify.clone(),
        _ => Vec::new(),
    };
    if program.is_empty() && !config.notify_in_editor {
        return;
    }
    let follower = Follower {
        services: services.clone(),
        thread: conversation.id.clone(),
        program,
        in_editor: config.notify_in_editor,
        cwd: PathBuf::new(),
        inputs: Vec::new(),
        from_person: false,
    };
    // One of the steps that the server's end waits for, so that the last turn is told of too.
    services
        .steps
        .spawn(follower.follow(conversation.stream.subscribe(Some(0))));
}

struct Follower {
    services: Arc<Services>,
    thread: ThreadId,
    /// Empty: none.
    program: Vec<String>,
    in_editor: bool,
    /// Where the running turn works.
    cwd: PathBuf,
    /// The person's texts of the running turn.
    inputs: Vec<String>,
    /// The person has said something in the running turn: an undo, or a command of their own, is nothing to be told of.
    from_person: bool,
}

impl Follower {
    async fn follow(mut self, mut events: Subscription) {
        let mut next_cwd = PathBuf::new();
        while let Some(event) = events.next().await {
            match event.kind {
                EventKind::ThreadConfigured(configured) => next_cwd = configured.settings.cwd,
                EventKind::TurnStarted(_) => {
                    self.cwd.clone_from(&next_cwd);
                    self.inputs.clear();
                    self.from_person = false;
                }
                EventKind::ItemCompleted(completed) => {
                    if let ThreadItem::UserMessage { content, .. } = &completed.item {
                        self.from_person = true;
                        self.inputs.extend(texts(content));
                    }
                }
                EventKind::TurnCompleted(completed)
                    if completed.turn.status == TurnStatus::Completed && self.from_person =>
                {
                    self.tell(&completed.turn.id, completed.last_agent_message.as_deref());
                }
                _ => {}
            }
        }
    }

    fn tell(&self, turn: &TurnId, answer: Option<&str>) {
        if self.in_editor {
            let words = answer.map(str::trim).filter(|words| !words.is_empty());
            let words = words.map_or_else(String::new, |words| format!(": {}", cut(words)));
            self.services.editor.tell(format!("Countersign is done{words}"));
        }
        if self.program.is_empty() {
            return;
        }
        match self.notification(turn, answer) {
            Some(json) => {
                let mut argv = self.program.clone();
                argv.push(json);
                if let Err(problem) = exec::start_and_forget(&argv, &self.services.env)
                    && !self.services.notifier_problem_shown.swap(true, Ordering::Relaxed)
                {
                    let message = format!("Countersign cannot start the program of `notify` in config.toml: {problem}");
                    self.services.editor.tell(message);
                }
            }
            None => tracing::warn!("the notifier was not told: the notification cannot be put into an argument"),
        }
    }

    /// The notification as one argument. Long texts are cut where it would be too long for one.
    fn notification(&self, turn: &TurnId, answer: Option<&str>) -> Option<String> {
        let limits = [(usize::MAX, usize::MAX), (8 << 10, 8), (1 << 10, 8), (128, 8)];
        let texts = |(bytes, count): (usize, usize)| {
            let first = self.inputs.iter().take(count);
            let inputs: Vec<String> = first.map(|text| head(text, bytes).to_owned()).collect();
            let notification = Notification {
                r#type: "agent-turn-complete",
                thread_id: &self.thread,
                turn_id: turn,
                cwd: &self.cwd,
                input_messages: &inputs,
                last_assistant_message: answer.map(|text| head(text, bytes)),
            };
            serde_json::to_string(&notification).ok()
        };
        limits
            .into_iter()
            .filter_map(texts)
            .find(|json| json.len() < MOST_ARGUMENT)
    }
}

fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn texts(content: &[UserInput]) -> impl Iterator<Item = String> {
    content.iter().filter_map(|piece| match piece {
        UserInput::Text { text } => Some(text.clone()),
        _ => None,
    })
}

fn cut(words: &str) -> String {
    let line = words.lines().next().unwrap_or_default();
    match line.char_indices().nth(TOLD) {
        Some((at, _)) => format!("{} […]", &line[..at]),
        None => line.to_owned(),
    }
}
