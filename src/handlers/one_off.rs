//! `countersign/command/…`: commands beside all conversations; and the same as a command of the standard surface.
//!
//! These are the only requests that stay open while a process runs. Each goes on by itself, so nothing waits for it, and
//! what cancels the request drops the run with everything that it started.

use crate::agent::one_off::OneOff;
use crate::exec::{Finished, Stream};
use crate::lsp::error::RequestError;
use crate::protocol::command::{
    CommandExecParams, CommandExecResult, CommandOutput, CommandTerminateParams, CommandTerminateResult, OutputStream,
};
use crate::protocol::method;
use crate::server::outbound::Outbound;
use crate::server::session::Session;
use lsp_types::{ExecuteCommandParams, NumberOrString};
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Bytes of each stream that are told while a command runs.
const MOST_TOLD: usize = 1 << 20;
/// Between two tellings of output: what comes meanwhile is told together.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two lines of a progress.
const PROGRESS_PAUSE: Duration = Duration::from_millis(200);
/// Characters of such a line.
const PROGRESS_LINE: usize = 120;
/// How long a client may take to accept a progress.
const CREATE_LIMIT: Duration = Duration::from_secs(10);

/// Runs a command to its end.
pub async fn exec(session: &Session, params: CommandExecParams) -> Result<CommandExecResult, RequestError> {
    let name = params.process_id.clone();
    let streams_as = match (&name, params.stream_output) {
        (_, false) => None,
        (Some(name), true) => Some(name.clone()),
        (None, true) => {
            return Err(RequestError::invalid_params(
                "streamOutput needs a processId, under which the output is told. Give the run a name of your own.",
            ));
        }
    };
    // Before anything is waited for: what follows may stop it.
    let Some(entry) = session.one_offs().begin(name) else {
        return Err(RequestError::invalid_params(format!(
            "A command with the processId {} still runs. Give this one another name, or stop that one first.",
            params.process_id.unwrap_or_default()
        )));
    };
    let run = OneOff::prepare(session.agent(), params).await?;
    let finished = match streams_as {
        None => run.run(|_, _| {}, entry.stop()).await?,
        Some(name) => {
            let told = Told::default();
            let running = async {
                let finished = run.run(|stream, text| told.push(stream, text), entry.stop()).await;
                told.close();
                finished
            };
            futures::join!(running, told.tell(session.outbound(), &name)).0?
        }
    };
    Ok(result(finished))
}

/// Stops one that runs.
pub fn terminate(session: &Session, params: &CommandTerminateParams) -> CommandTerminateResult {
    CommandTerminateResult {
        stopped: session.one_offs().stop(&params.process_id),
    }
}

fn result(finished: Finished) -> CommandExecResult {
    CommandExecResult {
        exit_code: finished.exit_code,
        stdout: finished.stdout,
        stderr: finished.stderr,
        timed_out: finished.timed_out,
        stopped: finished.cancelled,
        duration_ms: u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
        denied: finished.denied.map(|denial| denial.reason),
    }
}

/// Output on its way to the client. What waits is joined, and bounded by what is told at all.
#[derive(Default)]
struct Told {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    pieces: Vec<Piece>,
    /// Bytes taken of standard output and standard error.
    taken: [usize; 2],
    closed: bool,
}

struct Piece {
    stream: Stream,
    text: String,
    is_last: bool,
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, stream: Stream, text: &str) {
        let mut waiting = self.lock();
        let taken = &mut waiting.taken[usize::from(stream == Stream::Stderr)];
        if *taken >= MOST_TOLD {
            return;
        }
        let fits = text.floor_char_boundary(MOST_TOLD - *taken);
        let is_last = fits < text.len();
        *taken = if is_last { MOST_TOLD } else { *taken + fits };
        let text = &text[..fits];
        match waiting.pieces.last_mut().filter(|last| last.stream == stream) {
            Some(last) => {
                last.text.push_str(text);
                last.is_last = is_last;
            }
            None => waiting.pieces.push(Piece {
                stream,
                text: text.to_owned(),
                is_last,
            }),
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Tells all of it; ends once it is closed and nothing waits.
    async fn tell(&self, outbound: &Outbound, name: &str) {
        loop {
            let (pieces, closed) = {
                let mut waiting = self.lock();
                (std::mem::take(&mut waiting.pieces), waiting.closed)
            };
            for piece in pieces {
                let params = CommandOutput {
                    process_id: name.to_owned(),
                    stream: match piece.stream {
                        Stream::Stdout => OutputStream::Stdout,
                        Stream::Stderr => OutputStream::Stderr,
                    },
                    delta: piece.text,
                    cap_reached: piece.is_last,
                };
                outbound.notify_paced(method::COMMAND_OUTPUT, params).await;
            }
            if closed {
                return;
            }
            self.arrived.notified().await;
            if !self.lock().closed {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// The same by `workspace/executeCommand`, for editors that know nothing of us: with a progress that can be cancelled.
pub async fn execute(session: &Session, params: ExecuteCommandParams) -> Result<Option<Value>, RequestError> {
    let given = params.arguments.into_iter().next().filter(|value| !value.is_null());
    let Some(given) = given else {
        return Err(RequestError::invalid_params(format!(
            "{} needs an argument: an object with the program and its arguments, as in {{\"command\": [\"ls\", \"-l\"]}}.",
            super::command::EXEC
        )));
    };
    let exec: CommandExecParams = serde_json::from_value(given).map_err(|error| {
        RequestError::invalid_params(format!(
            "The argument of {} is not understood: {error}.",
            super::command::EXEC
        ))
    })?;
    let title = exec.command.first().cloned().unwrap_or_default();
    let run = OneOff::prepare(session.agent(), exec).await?;
    let token = params.work_done_progress_params.work_done_token;
    let progress = Progress::begin(session, token, &title).await;
    let Some(entry) = session
        .one_offs()
        .begin(progress.as_ref().map(|progress| progress.name.clone()))
    else {
        return Err(RequestError::invalid_params(
            "The progress token of this command is in use by another that still runs.",
        ));
    };
    let line = Mutex::new(String::new());
    let show = |_stream, text: &str| {
        if let Some(last) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
            *line = last.trim().chars().take(PROGRESS_LINE).collect();
        }
    };
    let mut running = std::pin::pin!(run.run(show, entry.stop()));
    let finished = loop {
        let pause = tokio::time::sleep(PROGRESS_PAUSE);
        tokio::select! {
            finished = &mut running => break finished,
            () = pause => {}
        }
        let said = std::mem::take(&mut *line.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(progress) = progress.as_ref().filter(|_| !said.is_empty()) {
            progress.report(&said);
        }
    };
    drop(progress);
    let value = serde_json::to_value(result(finished?)).map_err(|error| RequestError::internal(error.to_string()))?;
    Ok(Some(value))
}

/// A progress of the standard surface; it ends when this is dropped.
struct Progress {
    outbound: Outbound,
    token: Value,
    /// The command's name among those that run, by which Cancel finds it.
    name: String,
}

impl Progress {
    /// By the client's own token, or by one of ours where it takes some.
    async fn begin(session: &Session, given: Option<NumberOrString>, title: &str) -> Option<Self> {
        let outbound = session.outbound().clone();
        let token = match given {
            Some(token) => token,
            None if session.client().can.work_done_progress => {
                let token = format!("countersign-exec-{}", uuid::Uuid::now_v7());
                let create = outbound.request::<Value>("window/workDoneProgress/create", json!({"token": token}));
                let accepted = tokio::time::timeout(CREATE_LIMIT, create).await;
                accepted.ok()?.ok()?;
                NumberOrString::String(token)
            }
            None => return None,
        };
        let progress = Self {
            name: progress_name(&token),
            token: json!(token),
            outbound,
        };
        progress.send(json!({"kind": "begin", "title": format!("Running {title}"), "cancellable": true}));
        Some(progress)
    }

    fn report(&self, line: &str) {
        self.send(json!({"kind": "report", "message": line, "cancellable": true}));
    }

    fn send(&self, value: Value) {
        let params = json!({"token": self.token, "value": value});
        self.outbound.notify("$/progress", params);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.send(json!({"kind": "end"}));
    }
}

/// No name that a client gives a command, as those are its own.
fn progress_name(token: &NumberOrString) -> String {
    match token {
        NumberOrString::Number(number) => format!("\0progress {number}"),
        NumberOrString::String(text) => format!("\0progress {text:?}"),
    }
}

/// The person pressed Cancel on a progress.
pub fn progress_cancelled(session: &Session, token: &NumberOrString) {
    session.one_offs().stop(&progress_name(token));
}
