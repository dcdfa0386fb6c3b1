//! `countersign/terminal/…`: the commands of the agent that run on, and the person's ways to see and end them. Nothing
//! here waits for a program.

use crate::agent::AgentError;
use crate::agent::terminals::Entry;
use crate::exec::terminal::{Size, TerminalError};
use crate::lsp::error::RequestError;
use crate::protocol::terminal::{
    TerminalKillParams, TerminalKillResult, TerminalListParams, TerminalListResult, TerminalReadParams,
    TerminalReadResult, TerminalResizeParams, TerminalResizeResult, TerminalWriteParams, TerminalWriteResult,
};
use crate::server::presenter::Severity;
use crate::server::session::Session;
use std::sync::Arc;

/// Rows or columns; more are a mistake.
const MOST: u16 = 1000;

pub fn list(session: &Session, params: &TerminalListParams) -> TerminalListResult {
    let running = session.agent().services().terminals.running(params.thread_id.as_ref());
    TerminalListResult {
        data: running.iter().map(|entry| entry.shown()).collect(),
    }
}

pub fn read(session: &Session, params: &TerminalReadParams) -> Result<TerminalReadResult, RequestError> {
    let entry = entry(session, params.terminal_id)?;
    let whole = entry.terminal().whole();
    Ok(TerminalReadResult {
        terminal: entry.shown(),
        output: whole.text.to_string(),
        output_bytes: whole.bytes,
    })
}

pub fn write(session: &Session, params: TerminalWriteParams) -> Result<TerminalWriteResult, RequestError> {
    let entry = entry(session, params.terminal_id)?;
    if !entry.runs() {
        return Err(refused(&entry, TerminalError::Ended));
    }
    if !entry.terminal().has_tty() && params.text != "\u{3}" {
        return Err(refused(&entry, TerminalError::NoTerminal));
    }
    if params.text.is_empty() {
        return Ok(TerminalWriteResult {});
    }
    entry.typed_by_person();
    let session = session.clone();
    tokio::spawn(async move {
        if let Err(error) = entry.terminal().write(params.text.as_bytes()).await {
            let message = format!("Not all was typed into terminal {}: {error}.", entry.number);
            session.presenter().message(Severity::Warning, &message);
        }
    });
    Ok(TerminalWriteResult {})
}

pub fn resize(session: &Session, params: &TerminalResizeParams) -> Result<TerminalResizeResult, RequestError> {
    let entry = entry(session, params.terminal_id)?;
    let size = Size {
        rows: params.size.rows,
        columns: params.size.columns,
    };
    if [size.rows, size.columns]
        .iter()
        .any(|length| !(1..=MOST).contains(length))
    {
        return Err(RequestError::invalid_params(format!(
            "A terminal cannot have {} rows and {} columns. Give 1 to {MOST} of each.",
            size.rows, size.columns
        )));
    }
    entry.terminal().resize(size).map_err(|error| refused(&entry, error))?;
    entry.resized(size);
    Ok(TerminalResizeResult {})
}

pub fn kill(session: &Session, params: &TerminalKillParams) -> Result<TerminalKillResult, RequestError> {
    let entries = match params.terminal_id {
        Some(number) => {
            let entry = entry(session, number)?;
            let shown = entry.shown();
            if params
                .thread_id
                .as_ref()
                .is_some_and(|thread| *thread != shown.thread_id)
            {
                return Err(AgentError::UnknownTerminal(number).into());
            }
            vec![entry]
        }
        None => session.agent().services().terminals.running(params.thread_id.as_ref()),
    };
    let mut killed = Vec::new();
    for entry in entries.into_iter().filter(|entry| entry.runs()) {
        entry.stop();
        killed.push(entry.number);
    }
    Ok(TerminalKillResult { killed })
}

/// The command: ends all, and says so.
pub(super) fn stop_all(session: &Session) {
    let running = session.agent().services().terminals.running(None);
    for entry in &running {
        entry.stop();
    }
    let message = match running.as_slice() {
        [] => "No command of the agent runs in the background.".to_owned(),
        [one] => format!("Stopped: {}", one.command),
        many => {
            let commands: Vec<_> = many.iter().map(|entry| entry.command.as_str()).collect();
            format!("Stopped {} commands: {}", many.len(), commands.join("; "))
        }
    };
    session.presenter().message(Severity::Info, &message);
}

fn entry(session: &Session, number: u32) -> Result<Arc<Entry>, RequestError> {
    let found = session.agent().services().terminals.get(number);
    Ok(found.ok_or(AgentError::UnknownTerminal(number))?)
}

fn refused(entry: &Entry, reason: TerminalError) -> RequestError {
    AgentError::TerminalRefused {
        number: entry.number,
        reason,
    }
    .into()
}
