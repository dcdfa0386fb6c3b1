//! Typing into a terminal and waiting for what it prints. What is typed into a shell is decided on like a command of its
//! own, and what goes into a program outside the sandbox is asked about.

use super::Answer;
use super::answer::State;
use super::entry::Entry;
use super::start::many;
use crate::agent::command::Run;
use crate::agent::line;
use crate::agent::turn::Turn;
use crate::agent::undo;
use crate::exec::command::plain_commands;
use crate::exec::terminal::TerminalError;
use crate::protocol::item::{Confined, ItemStatus};
use crate::protocol::settings::SandboxMode;
use crate::tools::{CommandCall, TerminalWrite, ToolError, ToolOutput};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Programs that take what is typed as commands.
const SHELLS: [&str; 9] = ["ash", "bash", "csh", "dash", "fish", "ksh", "rbash", "sh", "zsh"];

/// Types, waits, and tells what was printed since the last time.
pub(in crate::agent) async fn write(turn: &Arc<Turn>, call: TerminalWrite) -> Result<ToolOutput, ToolError> {
    line::reached().await;
    let terminals = &turn.desk.terminals;
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
            Err(error) => notes.push(format!("Not all was typed: {error}.")),
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
    let full = turn.settings.sandbox_policy.mode() == SandboxMode::DangerFullAccess;
    let escalated = entry.confined == Confined::Outside && !full;
    let is_shell = takes_commands(&entry.argv);
    // A line counts as a whole, however many calls it is typed in.
    let line = entry.line_with(&call.text);
    let words = if is_shell { &line } else { &call.text };
    if only_keys(words) || (!is_shell && !escalated) {
        return Ok(Ok(()));
    }
    let place = if escalated {
        ", which runs outside the sandbox"
    } else {
        ""
    };
    let (argv, justification) = if is_shell {
        let why = format!("To be typed into the shell in terminal {}{place}.", entry.number);
        (vec!["bash".to_owned(), "-c".to_owned(), line], why)
    } else {
        let why = format!(
            "To type into it, in terminal {}{place}: {}",
            entry.number,
            call.text.trim()
        );
        (entry.argv.clone(), why)
    };
    let run = Run::of(
        turn,
        CommandCall {
            // The call's own item shows that it is typed.
            item_id: format!("{}-typed", call.item_id).into(),
            argv,
            workdir: Some(entry.cwd.display().to_string()),
            timeout: None,
            escalated,
            justification: Some(justification),
            permissions: Vec::new(),
        },
    )?;
    Ok(match run.admit(escalated).await {
        Ok(confined) => {
            run.asked_and_done(confined, ItemStatus::Completed);
            Ok(())
        }
        Err(output) => Err(output),
    })
}

/// Whether a text is nothing but keys that are no words: interrupts, arrows, Enter.
fn only_keys(text: &str) -> bool {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = match rest.strip_prefix("\x1b[").or_else(|| rest.strip_prefix("\x1bO")) {
            // An arrow or another key with a name: numbers, then one final letter.
            Some(key) => match key.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';') {
                key if key.starts_with(['A', 'B', 'C', 'D', 'F', 'H', 'P', 'Q', 'R', 'S', '~']) => &key[1..],
                _ => return false,
            },
            None if first.is_ascii_control() || first == ' ' => &rest[1..],
            None => return false,
        };
    }
    true
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
    fn keys_and_shells_by_table() {
        for (text, expected) in [
            ("", true),
            ("\x03", true),
            ("\x04", true),
            ("\r\n", true),
            ("\x1b[A\r", true),
            ("y\n", false),
            ("rm -rf ~\r", false),
            ("\x1b[31mrm\r", false),
            ("ls\x08\x08rm -rf x", false),
            ("\x1b]0;rm -rf ~\r", false),
            ("\x1b[1;5C\x1bOA\x1b[3~", true),
            ("\x1b[", false),
            ("\x1b", true),
            ("ä", false),
        ] {
            assert_eq!(only_keys(text), expected, "{text:?}");
        }
        for (argv, expected) in [
            (&["bash"][..], true),
            (&["/bin/zsh", "-i"], true),
            (&["bash", "-lc", "bash --norc -i"], true),
            (&["bash", "-lc", "cd sub && exec env A=1 /bin/sh"], true),
            (&["bash", "-lc", "while read x; do eval \"$x\"; done"], true),
            (&["bash", "-lc", "python3 -i"], false),
            (&["bash", "-lc", "npm run dev"], false),
            (&["python3", "-i"], false),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(takes_commands(&argv), expected, "{argv:?}");
        }
    }
}
