//! Beginning a command in a terminal: it runs for as long as the model wants to wait, and if it has not ended by then it
//! runs on.

use super::answer::State;
use super::entry::{Entry, Parts};
use super::{Answer, MANY, MOST};
use crate::agent::turn::Turn;
use crate::agent::undo::Watch;
use crate::exec::terminal::{Size, Terminal};
use crate::exec::{CommandRequest, ExecError, Finished};
use crate::ids::ItemId;
use crate::protocol::item::{Confined, ItemStatus, ThreadItem};
use crate::tools::{TerminalStart, ToolOutput};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A command on its way into a terminal.
pub(in crate::agent) struct Begun<'a> {
    pub(in crate::agent) turn: &'a Arc<Turn>,
    pub(in crate::agent) item_id: &'a ItemId,
    /// As the model asked for it; in the request it may be dressed.
    pub(in crate::agent) argv: Vec<String>,
    pub(in crate::agent) confined: Confined,
    pub(in crate::agent) wish: &'a TerminalStart,
    pub(in crate::agent) request: CommandRequest,
    /// What it changes is found out.
    pub(in crate::agent) watch: Watch,
    /// What the model must know beside the output.
    pub(in crate::agent) notes: Vec<String>,
}

/// What came of the call.
pub(in crate::agent) enum Came {
    /// It has ended, as any command does.
    Ended(Box<Finished>, ToolOutput),
    RunsOn(ToolOutput),
}

/// Starts the command. `item` makes its item as it is in the end: from how it ended, or from its output so far and the
/// terminal's number.
pub(in crate::agent) async fn begin(
    begun: Begun<'_>,
    item: impl Fn(&Finished, Option<u32>) -> ThreadItem,
) -> Result<Came, ExecError> {
    let Begun {
        turn,
        item_id,
        argv,
        confined,
        wish,
        request,
        watch,
        mut notes,
    } = begun;
    let start = Instant::now();
    let terminals = &turn.services.terminals;
    terminals.make_room(&turn.conversation.id).await;
    let size = wish.tty.then(Size::default);
    let cwd = request.cwd.clone();
    let terminal = match Terminal::start(request, size).await {
        Ok(terminal) => terminal,
        Err(error) => {
            watch.finish().await;
            return Err(error);
        }
    };
    let number = terminals.fresh_number();
    let entry = Entry::new(Parts {
        number,
        turn: turn.clone(),
        item_id: item_id.clone(),
        argv,
        cwd,
        confined,
        may_write: watch.is_some(),
        size,
        terminal,
    });
    let cancelled = tokio::select! {
        biased;
        () = entry.terminal().exited() => false,
        () = turn.cancel.cancelled() => {
            // Stopped while it was waited for: it ends, as any other command of the turn.
            entry.end().await;
            true
        }
        () = tokio::time::sleep(wish.wait) => false,
    };
    let Some(exit) = entry.terminal().exit() else {
        // From here on whoever is to end it can find it.
        terminals.put(entry.clone());
        let taken = entry.terminal().take();
        let so_far = Finished {
            aggregated: taken.text.clone(),
            ..nothing(start.elapsed())
        };
        entry.go_on(item(&so_far, Some(number)));
        watch.go_on().await;
        notes.extend(many(turn));
        let answer = Answer {
            waited: start.elapsed(),
            state: State::Runs(number),
            taken: &taken,
            most_tokens: wish.most_tokens,
            notes,
        };
        return Ok(Came::RunsOn(answer.output()));
    };
    let taken = entry.terminal().take();
    let finished = Finished {
        exit_code: exit.code,
        aggregated: taken.text.clone(),
        duration: exit.duration,
        cancelled,
        denied: exit.denied,
        signal: exit.signal,
        weaker: exit.weaker,
        left: exit.left,
        full: exit.full,
        ..nothing(start.elapsed())
    };
    if let Some(why) = exit.not_run {
        let mut failed = item(&finished, None);
        if let ThreadItem::CommandExecution {
            status,
            reason,
            exit_code,
            ..
        } = &mut failed
        {
            *status = ItemStatus::Failed;
            *reason = Some(why.clone());
            *exit_code = None;
        }
        entry.complete(failed);
        watch.finish().await;
        return Ok(Came::RunsOn(ToolOutput::not_done(why)));
    }
    entry.complete(item(&finished, None));
    watch.finish().await;
    if cancelled {
        notes.push("The person stopped the command.".to_owned());
    }
    if let Some(denial) = &finished.denied {
        notes.push(format!("The sandbox stopped it: {}.", denial.reason));
    }
    let answer = Answer {
        waited: start.elapsed(),
        state: State::Exited(exit.code),
        taken: &taken,
        most_tokens: wish.most_tokens,
        notes,
    };
    let output = answer.output();
    Ok(Came::Ended(Box::new(finished), output))
}

fn nothing(duration: Duration) -> Finished {
    Finished {
        exit_code: 0,
        cancelled: false,
        ..Finished::never_began(duration)
    }
}

/// What the model is told where there are many.
pub(super) fn many(turn: &Turn) -> Option<String> {
    let running = turn.services.terminals.running(Some(&turn.conversation.id)).len();
    (running >= MANY).then(|| {
        format!(
            "{running} terminals are open and there may be {MOST}; the one used longest ago is ended for the next. End what \
             you need no more."
        )
    })
}
