//! One terminal as the conversation sees it, and how what it prints is shown: as the output of its item while its call
//! waits, and as the terminal's own once it runs on.

use super::keys::Line;
use crate::agent::conversation::Conversation;
use crate::agent::now_ms;
use crate::agent::turn::Turn;
use crate::exec::command;
use crate::exec::terminal::{Exit, Size, Terminal, Watcher};
use crate::ids::{ItemId, TurnId};
use crate::protocol::event::{EventKind, TerminalExited, TerminalOutput, TerminalStarted};
use crate::protocol::item::{Confined, ThreadItem};
use crate::protocol::terminal::{Terminal as Shown, TerminalSize};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Output is collected for so long before it is shown.
const COLLECTING: Duration = Duration::from_millis(40);

pub struct Entry {
    pub number: u32,
    pub(super) conversation: Arc<Conversation>,
    turn_id: TurnId,
    item_id: ItemId,
    pub(super) argv: Vec<String>,
    /// The same as text.
    pub command: String,
    pub(super) cwd: PathBuf,
    pub(super) confined: Confined,
    /// Whether it may change files of the workspace.
    pub(super) may_write: bool,
    pub(super) begun: Instant,
    started_at_ms: i64,
    terminal: Terminal,
    state: Mutex<State>,
    /// Held while something of it is shown, so that nothing overtakes.
    phase: Mutex<Phase>,
}

struct State {
    line: Line,
    used: Instant,
    size: Option<Size>,
}

/// As what its output is shown.
enum Phase {
    /// Of an item of this turn.
    Item(Arc<Turn>),
    /// Of the terminal.
    Own,
    /// All was shown.
    Over,
}

/// What an entry is made of.
pub(super) struct Parts {
    pub(super) number: u32,
    pub(super) turn: Arc<Turn>,
    pub(super) item_id: ItemId,
    pub(super) argv: Vec<String>,
    pub(super) cwd: PathBuf,
    pub(super) confined: Confined,
    pub(super) may_write: bool,
    pub(super) size: Option<Size>,
    pub(super) terminal: Terminal,
}

impl Entry {
    /// Whether it runs in a sandbox in which it may change files.
    pub fn changes_inside(&self) -> bool {
        self.confined != Confined::Outside && self.may_write
    }

    /// Its output is shown from now on.
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        let now = Instant::now();
        let watcher = parts.terminal.watcher();
        let entry = Arc::new(Self {
            number: parts.number,
            conversation: parts.turn.conversation.clone(),
            turn_id: parts.turn.id.clone(),
            item_id: parts.item_id,
            command: command::display_short(&parts.argv),
            argv: parts.argv,
            cwd: parts.cwd,
            confined: parts.confined,
            may_write: parts.may_write,
            begun: now,
            started_at_ms: now_ms(),
            terminal: parts.terminal,
            state: Mutex::new(State {
                line: Line::default(),
                used: now,
                size: parts.size,
            }),
            phase: Mutex::new(Phase::Item(parts.turn)),
        });
        tokio::spawn(show_all(Arc::downgrade(&entry), watcher));
        entry
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    pub fn runs(&self) -> bool {
        self.terminal.exit().is_none()
    }

    /// When the model last had to do with it.
    pub(super) fn used(&self) -> Instant {
        self.state().used
    }

    /// The line that is being typed.
    pub(super) fn line(&self) -> Line {
        self.state().line.clone()
    }

    /// The model has typed this.
    pub(super) fn typed(&self, text: &str) {
        self.state().line.typed(text);
    }

    /// Not all of it was taken.
    pub(super) fn typed_in_part(&self) {
        self.state().line.lose_track();
    }

    pub(super) fn touch(&self) {
        self.state().used = Instant::now();
    }

    /// Has it end, and waits for that.
    pub(super) async fn end(&self) {
        self.terminal.end().await;
    }

    /// The person ends it; the model is told. Does not wait.
    pub fn stop(&self) {
        self.conversation
            .note(format!("The person ended terminal {} ({}).", self.number, self.command));
        self.terminal.ask_to_end();
    }

    /// The person typed into it; the model is told that, and not what: it may be a password.
    pub fn typed_by_person(&self) {
        self.state().line.lose_track();
        self.conversation.note(format!(
            "The person typed into terminal {} ({}) themselves; what came of it is in its output.",
            self.number, self.command
        ));
    }

    /// Notes a size that was set.
    pub fn resized(&self, size: Size) {
        self.state().size = Some(size);
    }

    /// As clients see it.
    pub fn shown(&self) -> Shown {
        Shown {
            terminal_id: self.number,
            thread_id: self.conversation.id.clone(),
            turn_id: self.turn_id.clone(),
            item_id: self.item_id.clone(),
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            confined: self.confined,
            size: self.state().size.map(|size| TerminalSize {
                rows: size.rows,
                columns: size.columns,
            }),
            started_at_ms: self.started_at_ms,
            exit_code: self.terminal.exit().map(|exit| exit.code),
        }
    }

    /// Shows what is new, and its end if it has ended.
    pub(super) fn show(&self) {
        let mut phase = self.phase();
        let exit = self.terminal.exit();
        self.show_output(&phase);
        if let (Phase::Own, Some(exit)) = (&*phase, exit) {
            self.conversation.publish(None, self.exited(&exit));
            for message in exit.left {
                self.conversation.warn(None, message);
            }
            *phase = Phase::Over;
        }
    }

    fn show_output(&self, phase: &Phase) {
        let delta = self.terminal.take_live();
        if delta.is_empty() {
            return;
        }
        match phase {
            Phase::Item(turn) => turn.output_delta(&self.item_id, &delta),
            Phase::Own => {
                let terminal_id = self.number;
                let output = TerminalOutput { terminal_id, delta };
                self.conversation.publish(None, EventKind::TerminalOutput(output));
            }
            Phase::Over => {}
        }
    }

    fn exited(&self, exit: &Exit) -> EventKind {
        EventKind::TerminalExited(TerminalExited {
            terminal_id: self.number,
            exit_code: exit.code,
            duration_ms: u64::try_from(exit.duration.as_millis()).unwrap_or(u64::MAX),
            full_output: exit.full.clone(),
        })
    }

    /// Completes the item that began it. It ended with its call: it is shown as any other command.
    pub(super) fn complete(&self, item: ThreadItem) {
        let mut phase = self.phase();
        self.show_output(&phase);
        if let Phase::Item(turn) = std::mem::replace(&mut *phase, Phase::Over) {
            turn.complete_item(item);
        }
    }

    /// Completes the item that began it, and shows it as a terminal from now on.
    pub(super) fn go_on(&self, item: ThreadItem) {
        {
            let mut phase = self.phase();
            self.show_output(&phase);
            if let Phase::Item(turn) = std::mem::replace(&mut *phase, Phase::Own) {
                turn.complete_item(item);
            }
            let terminal = Shown {
                exit_code: None,
                ..self.shown()
            };
            let started = EventKind::TerminalStarted(TerminalStarted { terminal });
            self.conversation.publish(None, started);
        }
        // It may have ended in this moment, when nobody looked.
        self.show();
    }
}

/// Shows a terminal's output as it comes, to its end. Does not keep it alive.
async fn show_all(entry: Weak<Entry>, watcher: Watcher) {
    loop {
        watcher.changed().await;
        if !watcher.has_exited() {
            tokio::time::sleep(COLLECTING).await;
        }
        let Some(entry) = entry.upgrade() else { return };
        entry.show();
        if watcher.has_exited() {
            return entry.show();
        }
    }
}
