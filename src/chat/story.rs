//! What of a turn is written into a document: text that only ever grows. It comes out the same whether the turn is told event by
//! event or read from the store, so that what is missing in a document can be found by comparing.
//!
//! One thing is written at a time; what goes on beside it waits for its end.

mod blocks;
mod output;

use super::text::{self, Escaper, Quoter};
use crate::ids::ItemId;
use crate::protocol::approval::Approval;
use crate::protocol::item::ThreadItem;
use crate::protocol::proposal::Proposal;
use crate::protocol::question::UserInputRequest;
use crate::protocol::turn::{InterruptedBy, Turn, TurnStatus};
use output::Output;
use std::collections::VecDeque;

/// Stands above what a yes for longer is tied to.
pub const TIED_TO: &str = "A yes for longer holds for exactly this. What it says of the tool is the server's own word:";
/// Stands where that has no room.
pub const ONCE_ONLY: &str = "What a yes for longer is tied to has no room here, so it can be allowed only this once.";

/// All that a question asks, without its heading.
pub fn question(approval: &Approval) -> String {
    blocks::body(approval, true)
}

/// The same for a yes for once alone, where one for longer is tied to more.
pub fn question_once(approval: &Approval) -> Option<String> {
    approval.definition().map(|_| blocks::body(approval, false))
}

/// Whether all of a proposal's changes stand in the conversation.
pub fn shows(proposal: &Proposal) -> bool {
    blocks::shows(proposal)
}

/// Heads reasoning, which is quoted.
const THINKING: &str = "### ◆ Thinking\n\n";

/// The story of one turn.
#[derive(Debug, Default)]
pub struct Story {
    all: String,
    /// Bytes of it that were taken.
    taken: usize,
    open: Option<Open>,
    waiting: VecDeque<Waiting>,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    commands: usize,
    changes: usize,
    questions: usize,
}

/// What is being written.
#[derive(Debug)]
struct Open {
    id: ItemId,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Message {
        escaper: Escaper,
        raw: String,
    },
    Reasoning {
        quoter: Quoter,
        part: u32,
        headed: bool,
    },
    Command {
        output: Output,
        number: usize,
    },
    /// A change of files. `at`: its bytes of the story.
    Change {
        number: usize,
        at: std::ops::Range<usize>,
    },
    /// Begun; all of it comes with its end.
    Other,
}

/// Another part of a thought: what the one before left open ends with it.
fn next_part(quoter: &mut Quoter) -> String {
    quoter.finish() + &quoter.push("\n\n")
}

#[derive(Debug)]
struct Waiting {
    item: ThreadItem,
    deltas: Vec<(u32, String)>,
    done: bool,
}

impl Story {
    /// All that was written so far, without blanks at its end.
    pub fn all(&self) -> &str {
        self.all.trim_end()
    }

    /// What was written since the last time. Blanks at its end come with what follows them.
    pub fn take(&mut self) -> Option<String> {
        let end = self.all.trim_end().len();
        let new = self.all.get(self.taken..end).filter(|new| !new.is_empty())?;
        // What begins a line says so, as all that comes later does by itself.
        let new = if self.taken == 0 {
            format!("\n\n{new}")
        } else {
            new.to_owned()
        };
        self.taken = end;
        Some(new)
    }

    /// Takes all as written.
    pub fn skip(&mut self) {
        self.taken = self.taken.max(self.all.trim_end().len());
    }

    /// An item begins.
    pub fn started(&mut self, item: &ThreadItem) {
        if matches!(item, ThreadItem::UserMessage { .. }) {
            return;
        }
        if self.open.is_some() {
            return self.waiting.push_back(Waiting {
                item: item.clone(),
                deltas: Vec::new(),
                done: false,
            });
        }
        self.begin(item);
    }

    /// More text of an item; `part` counts the parts of reasoning.
    pub fn delta(&mut self, id: &ItemId, part: u32, delta: &str) {
        if self.open.as_ref().is_some_and(|open| open.id == *id) {
            return self.write(part, delta);
        }
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.item.id() == id) {
            match waiting.deltas.last_mut().filter(|(last, _)| *last == part) {
                Some((_, text)) => text.push_str(delta),
                None => waiting.deltas.push((part, delta.to_owned())),
            }
        }
    }

    /// An item is done.
    pub fn completed(&mut self, item: &ThreadItem) {
        if matches!(item, ThreadItem::UserMessage { .. }) {
            return;
        }
        if self.open.as_ref().is_some_and(|open| open.id == *item.id()) {
            self.end(item);
        } else if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.item.id() == item.id()) {
            waiting.item = item.clone();
            waiting.done = true;
        } else if self.open.is_some() {
            self.waiting.push_back(Waiting {
                item: item.clone(),
                deltas: Vec::new(),
                done: true,
            });
        } else {
            self.begin(item);
            self.end(item);
        }
        self.go_on();
    }

    /// What waited for the end of another.
    fn go_on(&mut self) {
        while self.open.is_none()
            && let Some(next) = self.waiting.pop_front()
        {
            self.begin(&next.item);
            for (part, delta) in next.deltas {
                self.write(part, &delta);
            }
            if next.done {
                self.end(&next.item);
            }
        }
    }

    fn begin(&mut self, item: &ThreadItem) {
        let kind = match item {
            ThreadItem::AgentMessage { .. } => {
                self.blank_line();
                Kind::Message {
                    escaper: Escaper::of_markdown(),
                    raw: String::new(),
                }
            }
            ThreadItem::Reasoning { .. } => Kind::Reasoning {
                quoter: Quoter::default(),
                part: 0,
                headed: false,
            },
            ThreadItem::CommandExecution { .. } => {
                self.counts.commands += 1;
                let number = self.counts.commands;
                self.block(&blocks::command_begun(item, number));
                Kind::Command {
                    output: Output::default(),
                    number,
                }
            }
            ThreadItem::FileChange { .. } => {
                self.counts.changes += 1;
                let number = self.counts.changes;
                let block = blocks::change_begun(item, number);
                self.block(&block);
                let end = self.all.len();
                Kind::Change {
                    number,
                    at: end - block.len()..end,
                }
            }
            _ => Kind::Other,
        };
        self.open = Some(Open {
            id: item.id().clone(),
            kind,
        });
    }

    fn write(&mut self, part: u32, delta: &str) {
        let Some(open) = &mut self.open else { return };
        let new = match &mut open.kind {
            Kind::Message { escaper, raw } => {
                raw.push_str(delta);
                escaper.push(delta)
            }
            Kind::Reasoning {
                quoter,
                part: last,
                headed,
            } => {
                if delta.trim().is_empty() && !*headed {
                    return;
                }
                let between = match *headed && part != *last {
                    true => next_part(quoter),
                    false => String::new(),
                };
                *last = part;
                let first = !std::mem::replace(headed, true);
                let text = between + &quoter.push(if first { delta.trim_start() } else { delta });
                if first {
                    self.block(THINKING);
                }
                text
            }
            Kind::Command { output, .. } => output.push(delta),
            Kind::Change { .. } | Kind::Other => return,
        };
        self.all.push_str(&new);
    }

    fn end(&mut self, item: &ThreadItem) {
        let Some(mut open) = self.open.take() else { return };
        match (&mut open.kind, item) {
            (Kind::Message { escaper, raw }, ThreadItem::AgentMessage { text, partial, .. }) => {
                let mut new = String::new();
                match text.strip_prefix(raw.as_str()) {
                    Some(rest) => new = escaper.push(rest),
                    // Not what was told so far: the final form counts.
                    None if !raw.is_empty() => {
                        new = escaper.finish() + "\n\n" + &text::safe(text);
                    }
                    None => {}
                }
                new.push_str(&escaper.finish());
                self.all.push_str(&new);
                if *partial {
                    self.block("*The answer was interrupted here.*\n");
                }
            }
            (
                Kind::Reasoning {
                    headed: false, quoter, ..
                },
                ThreadItem::Reasoning { summary, content, .. },
            ) => {
                let has_words = |parts: &[String]| parts.iter().any(|part| !part.trim().is_empty());
                let parts = if has_words(summary) { summary } else { content };
                if has_words(parts) {
                    let mut quoted = String::new();
                    let begins = |part: &&String| part.trim().is_empty();
                    for (at, part) in parts.iter().skip_while(begins).enumerate() {
                        match at {
                            0 => quoted.push_str(&quoter.push(part.trim_start())),
                            _ => quoted.push_str(&(next_part(quoter) + &quoter.push(part))),
                        }
                    }
                    quoted.push_str(&quoter.finish());
                    self.block(THINKING);
                    self.all.push_str(&quoted);
                }
            }
            (Kind::Reasoning { quoter, .. }, _) => {
                let rest = quoter.finish();
                self.all.push_str(&rest);
            }
            (Kind::Command { output, number }, ThreadItem::CommandExecution { aggregated_output, .. }) => {
                let rest = output.finish(aggregated_output.as_deref().unwrap_or_default());
                let number = *number;
                self.all.push_str(&rest);
                self.block(&blocks::command_done(item, number));
            }
            (kind @ (Kind::Change { .. } | Kind::Other), item) => {
                let number = match kind {
                    Kind::Change { number, .. } => *number,
                    _ => 0,
                };
                if let Some(block) = blocks::done(item, number) {
                    self.block(&block);
                }
            }
            _ => {}
        }
    }

    fn blank_line(&mut self) {
        let kept = self.all.trim_end().len();
        // What was taken stays as it is.
        self.all.truncate(kept.max(self.taken));
        self.all.push_str("\n\n");
    }

    /// Something that stands by itself.
    fn block(&mut self, block: &str) {
        self.blank_line();
        self.all.push_str(block);
    }

    /// Makes way for something that does not belong to what is being written.
    pub fn pause(&mut self) {
        // What comes after it begins a line, whatever came before.
        let closed = match self.open.as_mut().map(|open| &mut open.kind) {
            Some(Kind::Command { output, .. }) => output.pause(),
            Some(Kind::Message { escaper, .. }) => escaper.pause(),
            Some(Kind::Reasoning { quoter, .. }) => quoter.pause(),
            Some(Kind::Change { .. } | Kind::Other) | None => return,
        };
        self.all.push_str(&closed);
    }

    /// A question about a command, a folder or a tool; its number in the turn.
    pub fn approval(&mut self, approval: &Approval) -> usize {
        self.pause();
        self.counts.questions += 1;
        self.block(&blocks::approval(approval, self.counts.questions));
        self.blank_line();
        self.counts.questions
    }

    /// What the model wants to know; its number in the turn.
    pub fn question(&mut self, request: &UserInputRequest) -> usize {
        self.pause();
        self.counts.questions += 1;
        self.block(&blocks::question(request, self.counts.questions));
        self.blank_line();
        self.counts.questions
    }

    /// A line of ours: how a question was answered, that something is tried again.
    pub fn note(&mut self, words: &str) {
        self.pause();
        let words = text::safe_inline(&words.trim().replace(['\n', '\r'], " "));
        self.block(&format!("*{}*\n", words.replace('*', "\\*")));
        self.blank_line();
    }

    /// The number of a change, and how it stands in the conversation, where it is what is written now.
    pub fn change(&self, id: &ItemId) -> Option<(usize, &str)> {
        let open = self.open.as_ref().filter(|open| open.id == *id)?;
        match &open.kind {
            Kind::Change { number, at } => Some((*number, self.all.get(at.clone())?.trim_end())),
            _ => None,
        }
    }

    /// The turn is over.
    pub fn turn_completed(&mut self, turn: &Turn, unread: bool) {
        // What never ended, ends here.
        while let Some(open) = self.open.take() {
            let known = turn.items.iter().find(|item| *item.id() == open.id);
            self.open = Some(open);
            match known {
                Some(item) => self.end(item),
                None => {
                    self.pause();
                    self.open = None;
                }
            }
            self.go_on();
        }
        match turn.status {
            TurnStatus::Failed => {
                let message = turn.error.as_ref().map(|error| error.message.as_str());
                let message = message.unwrap_or("The turn failed. Send your words again.");
                self.block(&format!("**Failed:** {}\n", text::safe_inline(message.trim())));
            }
            TurnStatus::Interrupted => {
                let who = match turn.interrupted_by {
                    Some(InterruptedBy::Person) | None => "Stopped.",
                    Some(InterruptedBy::Reviewer) => "Stopped by the automatic reviewer, which had denied too much.",
                    Some(InterruptedBy::Replaced) => "Stopped; another turn took its place.",
                    Some(InterruptedBy::Shutdown | InterruptedBy::Crash) => {
                        "Stopped: the server ended. Send your words again to go on."
                    }
                };
                self.block(&format!("*{who}*\n"));
            }
            TurnStatus::Completed | TurnStatus::InProgress => {}
        }
        if unread {
            self.block("*Your last message was not read. Send it again.*\n");
        }
    }

    /// The story of a stored turn.
    pub fn of(turn: &Turn) -> Self {
        let mut story = Self::default();
        for item in &turn.items {
            story.completed(item);
        }
        story.turn_completed(turn, false);
        story
    }
}
