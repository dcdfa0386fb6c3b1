//! Typing into a terminal and waiting for what it prints. What is typed into a shell in the sandbox is decided on like a
//! command of its own. What goes into any program outside, and keys by which a shell runs something else than the text that
//! was typed, are decided on by themselves: what was allowed before, the start of the program too, says nothing of them.

use super::Answer;
use super::answer::State;
use super::entry::Entry;
use super::keys::{only_ends, only_interrupts};
use super::start::many;
use crate::agent::command::Run;
use crate::agent::line;
use crate::agent::turn::Turn;
use crate::agent::undo;
use crate::exec::command::plain_commands;
use crate::exec::terminal::TerminalError;
use crate::protocol::item::{Confined, ItemStatus};
use crate::tools::{CommandCall, TerminalWrite, ToolError, ToolOutput};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Programs that take what is typed as commands, or start one that does.
const SHELLS: &[&str] = &[
    "ash", "bash", "busybox", "csh", "dash", "doas", "fish", "ksh", "mksh", "rbash", "screen", "script", "sh", "su",
    "sudo", "tcsh", "tmux", "zsh",
];

/// Types, waits, and tells what was printed since the last time.
pub(in crate::agent) async fn write(turn: &Arc<Turn>, call: TerminalWrite) -> Result<ToolOutput, ToolError> {
    line::reached().await;
    let terminals = &turn.services.terminals;
    let found = terminals
        .get(call.terminal)
        .filter(|entry| entry.conversation.id == turn.conversation.id);
    let Some(entry) = found else {
        return Err(ToolError::Answer(format!(
            "There is no process with session ID {}: it has ended and its last output was read, or it was never started. Start \
             one with exec_command.",
            call.terminal
        )));
    };
    entry.touch();
    if let Err(output) = admit(turn, &entry, &call).await? {
        return Ok(output);
    }
    let start = Instant::now();
    let mut notes = Vec::new();
    if !call.text.is_empty() {
        match entry.terminal().write(call.text.as_bytes()).await {
            Ok(()) => entry.typed(&call.text),
            Err(TerminalError::Ended) => notes.push("It had ended before this was typed.".to_owned()),
            Err(error) => {
                entry.typed_in_part();
                notes.push(format!("Not all was typed: {error}."));
            }
        }
    }
    tokio::select! {
        biased;
        () = entry.terminal().exited() => {}
        () = turn.cancel.cancelled() => {
            notes.push("The person stopped the turn; the terminal runs on.".to_owned());
        }
        () = tokio::time::sleep(call.wait) => {}
    }
    entry.touch();
    let exit = entry.terminal().exit();
    // What it changed is known before its output goes to the model.
    if entry.may_write {
        undo::settle(turn, terminals.may_write(&turn.conversation.id)).await;
    }
    let taken = entry.terminal().take();
    let state = match &exit {
        None => State::Runs(entry.number),
        Some(exit) => {
            // Read to its end: it is no more. The person has seen its end first.
            entry.show();
            terminals.remove(entry.number);
            if let Some(denial) = &exit.denied {
                notes.push(format!("The sandbox stopped it: {}.", denial.reason));
            }
            notes.extend(exit.not_run.clone());
            State::Exited(exit.code)
        }
    };
    notes.extend(many(turn).filter(|_| exit.is_none()));
    Ok(Answer {
        waited: start.elapsed(),
        state,
        taken: &taken,
        most_tokens: call.most_tokens,
        notes,
    }
    .output())
}

/// Whether this may be typed; what the model is told if not.
async fn admit(turn: &Arc<Turn>, entry: &Entry, call: &TerminalWrite) -> Result<Result<(), ToolOutput>, ToolError> {
    if !entry.runs() || call.text.is_empty() {
        return Ok(Ok(()));
    }
    let outside = entry.confined == Confined::Outside;
    let is_shell = takes_commands(&entry.argv);
    // A line counts as a whole, however many calls it is typed in.
    let before = entry.line();
    let harmless = only_interrupts(&call.text) || !outside && before.is_empty() && only_ends(&call.text);
    if harmless || !outside && !is_shell {
        return Ok(Ok(()));
    }
    let line = before.with(&call.text);
    let script = line.script();
    let place = if outside {
        ", which runs outside the sandbox"
    } else {
        ""
    };
    let (argv, goes_to) = if is_shell {
        let why = format!("It is to be typed into terminal {}{place}.", entry.number);
        (vec!["bash".to_owned(), "-c".to_owned(), script], why)
    } else {
        let why = format!("Its last word is to be typed into terminal {}{place}.", entry.number);
        (with_text(&entry.argv, script), why)
    };
    let run = Run::of(
        turn,
        CommandCall {
            // The call's own item shows that it is typed.
            item_id: format!("{}-typed", call.item_id).into(),
            argv,
            workdir: Some(entry.cwd.display().to_string()),
            timeout: None,
            escalated: false,
            justification: None,
            permissions: Vec::new(),
        },
    )
    .await?
    .goes_to(goes_to);
    let run = match outside || !line.is_known() {
        true => run.typed(entry.confined),
        false => run,
    };
    Ok(match run.admit(false).await {
        Ok(confined) => {
            run.asked_and_done(confined, ItemStatus::Completed);
            Ok(())
        }
        Err(output) => Err(output),
    })
}

/// The program and what is typed into it, as the words of a command: a yes is to all of them.
fn with_text(argv: &[String], text: String) -> Vec<String> {
    // The shell around a program alone is no part of what runs.
    let mut words = match plain_commands(argv).as_deref() {
        Some([program]) => program.clone(),
        _ => argv.to_vec(),
    };
    words.push(text);
    words
}

/// Whether what is typed into a command may be taken for commands: where a shell is among its words, or they cannot be
/// told.
fn takes_commands(argv: &[String]) -> bool {
    let is_shell = |word: &String| {
        let name = Path::new(word).file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| SHELLS.contains(&name))
    };
    plain_commands(argv).is_none_or(|commands| commands.iter().flatten().any(is_shell))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_by_table() {
        for (argv, expected) in [
            (&["bash"][..], true),
            (&["/bin/zsh", "-i"], true),
            (&["bash", "-lc", "bash --norc -i"], true),
            (&["bash", "-lc", "cd sub && exec env A=1 /bin/sh"], true),
            (&["bash", "-lc", "while read x; do eval \"$x\"; done"], true),
            (&["bash", "-lc", "python3 -i"], false),
            (&["bash", "-lc", "npm run dev"], false),
            (&["python3", "-i"], false),
            (&["bash", "-lc", "script -q /dev/null"], true),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(takes_commands(&argv), expected, "{argv:?}");
        }
    }

    #[test]
    fn the_text_is_a_word_of_what_is_asked_about() {
        for (argv, expected) in [
            (
                &["bash", "-lc", "python3 -i -q"][..],
                &["python3", "-i", "-q", "x\n"][..],
            ),
            (&["python3", "-i"], &["python3", "-i", "x\n"]),
            (&["bash", "-lc", "cd a; psql"], &["bash", "-lc", "cd a; psql", "x\n"]),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(with_text(&argv, "x\n".to_owned()), expected);
        }
    }
}
