//! The tool calls of one answer: started as they come, side by side where they only read, finished in their order.

use super::history::output_for;
use super::line::{self, Place};
use super::turn::Turn;
use crate::model::item::{ContentPart, ResponseItem, ToolOutputPayload, ToolSpec};
use crate::patch::edit::FileEdit;
use crate::protocol::item::{ItemStatus, ThreadItem};
use crate::tools::repair::repaired;
use crate::tools::{Call, Edit, Host, Look, Payload, Tool, ToolError, ToolOutput};
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, RwLock, oneshot};
use tokio::task::JoinHandle;

/// How long a tool may take to stop once the turn is stopped; then it is ended by force.
const GRACE: Duration = Duration::from_millis(1500);

/// The answer to the model for a call whose turn came after the stop.
const STOPPED: &str = "The person stopped the turn before this call began; nothing of it was done.";

pub(super) struct Calls {
    turn: Arc<Turn>,
    started: Vec<Started>,
    /// Changes that were called for one after the other, and that become one proposal.
    edits: Vec<Awaited>,
    /// The proposals that were made of such.
    proposing: Vec<JoinHandle<()>>,
    /// Calls that only read share it; any other has it alone. Taken in call order.
    gate: Arc<RwLock<()>>,
    /// Held by the call that decides whether to ask ahead of its turn. Taken in call order.
    decisions: Arc<Mutex<()>>,
    /// So far nothing but looks and commands was called.
    only_commands: bool,
}

struct Started {
    /// The model's item, which tells the kind of output.
    item: ResponseItem,
    call_id: String,
    run: JoinHandle<Result<ToolOutput, ToolError>>,
}

/// A change that waits for those that follow it.
struct Awaited {
    call: Call,
    edit: FileEdit,
    outcome: oneshot::Sender<Result<ToolOutput, ToolError>>,
}

impl Calls {
    pub(super) fn new(turn: Arc<Turn>) -> Self {
        turn.asking.begin_answer();
        turn.misfits.begin_answer();
        Self {
            turn,
            started: Vec::new(),
            edits: Vec::new(),
            proposing: Vec::new(),
            gate: Arc::default(),
            decisions: Arc::default(),
            only_commands: true,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.started.is_empty()
    }

    /// Puts a call into the history and starts it.
    pub(super) async fn start(&mut self, mut item: ResponseItem) {
        let mut call = self.identify(&mut item);
        let tool = self.turn.tool(&call.tool);
        if let Some(tool) = &tool {
            repair(tool.as_ref(), &mut call, &mut item);
        }
        self.turn.say([item.clone()]);
        tracing::info!(thread = %self.turn.conversation.id, call = %call.id, tool = %call.tool, payload = %brief(&call), "tool call");
        let call_id = call.id.clone();
        if let Some(witness) = self.turn.conversation.witness.get() {
            witness.calling(&self.turn.id, &call);
        }
        let run = match tool {
            None => {
                self.propose_edits();
                let outcome = Ok(ToolOutput::not_done(self.turn.no_such_tool(&call.tool)));
                if let Some(witness) = self.turn.conversation.witness.get() {
                    witness.called(&self.turn.id, &call, &outcome, Duration::ZERO);
                }
                tokio::spawn(async move { outcome })
            }
            Some(tool) => match tool.edit(&call) {
                Ok(Some(edit)) => self.await_others(call, edit),
                Ok(None) => {
                    self.propose_edits();
                    self.spawn(tool, call).await
                }
                // The tool says again what is wrong with the call.
                Err(_) => self.spawn(tool, call).await,
            },
        };
        self.started.push(Started { item, call_id, run });
    }

    /// A change of one file: made with those that follow it at once.
    fn await_others(&mut self, call: Call, edit: FileEdit) -> JoinHandle<Result<ToolOutput, ToolError>> {
        let (outcome, made) = oneshot::channel();
        self.edits.push(Awaited { call, edit, outcome });
        tokio::spawn(async move {
            made.await.unwrap_or_else(|_| {
                Ok(ToolOutput::not_done(
                    "This change was not proposed: the work on it broke off. Try it again.",
                ))
            })
        })
    }

    /// Makes one proposal of the changes that were called for one after the other. Its place in the queue is taken before this
    /// returns.
    fn propose_edits(&mut self) {
        let edits = std::mem::take(&mut self.edits);
        if edits.is_empty() {
            return;
        }
        self.only_commands = false;
        let (turn, place) = (self.turn.clone(), Place::take(self.gate.clone().write_owned()));
        self.proposing.push(tokio::spawn(place.hold(async move {
            line::reached().await;
            propose_together(turn, edits).await;
        })));
    }

    /// Gives the call an id of its own, whatever the model sent.
    fn identify(&self, item: &mut ResponseItem) -> Call {
        let taken = |id: &str| {
            id.is_empty() || self.turn.has_used(&id.into()) || self.turn.with_history(|history| history.has_call(id))
        };
        let fresh = || format!("call_{}", uuid::Uuid::now_v7().simple());
        match item {
            ResponseItem::FunctionCall {
                name,
                arguments,
                call_id,
                ..
            } => {
                if taken(call_id) {
                    *call_id = fresh();
                }
                Call {
                    id: call_id.clone(),
                    tool: name.clone(),
                    payload: Payload::Function(arguments.clone()),
                }
            }
            ResponseItem::CustomToolCall {
                call_id, name, input, ..
            } => {
                if taken(call_id) {
                    *call_id = fresh();
                }
                Call {
                    id: call_id.clone(),
                    tool: name.clone(),
                    payload: Payload::Custom(input.clone()),
                }
            }
            ResponseItem::LocalShellCall {
                call_id, id, action, ..
            } => {
                let given = call_id.clone().or_else(|| id.clone()).filter(|id| !taken(id));
                let given = given.unwrap_or_else(fresh);
                *call_id = Some(given.clone());
                Call {
                    id: given,
                    tool: "local_shell".to_owned(),
                    payload: Payload::LocalShell(action.clone()),
                }
            }
            _ => Call {
                id: fresh(),
                tool: String::new(),
                payload: Payload::Custom(String::new()),
            },
        }
    }

    /// Starts a call behind the gate. Its place in the queue is taken before this returns, so calls keep their order. Only
    /// questions about commands are asked ahead of it, and only where nothing that is not a command is to come first.
    async fn spawn(&mut self, tool: Arc<dyn Tool>, call: Call) -> JoinHandle<Result<ToolOutput, ToolError>> {
        let turn = self.turn.clone();
        let place = match tool.only_reads() {
            true => Place::take(self.gate.clone().read_owned()),
            false => Place::take(self.gate.clone().write_owned()),
        };
        self.only_commands &= tool.only_reads() || tool.asks_first();
        let asks_ahead = self.only_commands && tool.asks_first();
        let place = match asks_ahead {
            true => place.decides_after(self.decisions.clone().lock_owned()),
            false => place,
        };
        tokio::spawn(place.hold(async move {
            if !asks_ahead {
                line::reached().await;
            }
            witnessed(turn, tool, call).await
        }))
    }

    /// Waits for all. Gives the outputs in call order and the message of a fatal failure.
    pub(super) async fn finish(mut self) -> (Vec<ResponseItem>, Option<String>) {
        self.propose_edits();
        let mut outputs = Vec::with_capacity(self.started.len());
        let mut fatal = None;
        // One patience for all of them: however many do not listen, the turn ends in time.
        let mut patience = std::pin::pin!(stopped_for(&self.turn, GRACE));
        let mut spent = false;
        for started in &mut self.started {
            let ended = if spent {
                (&mut started.run).now_or_never()
            } else {
                tokio::select! {
                    biased;
                    ended = &mut started.run => Some(ended),
                    () = &mut patience => None,
                }
            };
            spent |= ended.is_none();
            let output: ToolOutputPayload = match ended {
                Some(Ok(Ok(output))) => payload(&self.turn, output),
                Some(Ok(Err(ToolError::Answer(text)))) => text.into(),
                Some(Ok(Err(ToolError::Fatal(message)))) => {
                    fatal.get_or_insert_with(|| message.clone());
                    message.into()
                }
                Some(Err(error)) => {
                    format!("The tool broke off: {error}. This is a fault of Countersign; try another way.").into()
                }
                None => {
                    started.run.abort();
                    "The person stopped the turn before this call gave an output; what it had begun may have happened, so look \
                     before you rely on it."
                        .to_owned()
                        .into()
                }
            };
            outputs.push(output_for(&started.item, &started.call_id, output));
        }
        (outputs, fatal)
    }
}

/// An output as it goes to the model: with its images, if the model takes any.
fn payload(turn: &Turn, output: ToolOutput) -> ToolOutputPayload {
    let ToolOutput { text, images, .. } = output;
    if images.is_empty() {
        return text.into();
    }
    if turn.provider().client.is_blind(&turn.provider().model) {
        let note = "(images were left out: your model takes none)";
        return [text.as_str(), note].join("\n").trim_start().to_owned().into();
    }
    let text = (!text.is_empty()).then_some(ContentPart::InputText { text });
    let images = images
        .into_iter()
        .map(|image_url| ContentPart::InputImage { image_url });
    ToolOutputPayload::Parts(text.into_iter().chain(images).collect())
}

impl Drop for Calls {
    fn drop(&mut self) {
        for started in &self.started {
            started.run.abort();
        }
        for proposing in &self.proposing {
            proposing.abort();
        }
    }
}

async fn stopped_for(turn: &Turn, grace: Duration) {
    turn.cancel.cancelled().await;
    tokio::time::sleep(grace).await;
}

/// Proposes changes as one, and tells who watches what came of each.
async fn propose_together(turn: Arc<Turn>, edits: Vec<Awaited>) {
    let started = Instant::now();
    let asked: Vec<_> = edits
        .iter()
        .map(|awaited| Edit {
            item_id: awaited.call.id.as_str().into(),
            edit: awaited.edit.clone(),
        })
        .collect();
    let outcomes = match turn.cancel.is_cancelled() {
        true => asked.iter().map(|_| Ok(ToolOutput::not_done(STOPPED))).collect(),
        false => {
            let host: &dyn Host = &turn;
            let proposed = AssertUnwindSafe(host.propose_edits(asked)).catch_unwind().await;
            proposed.unwrap_or_else(|_| edits.iter().map(|edit| Err(panicked(&edit.call))).collect())
        }
    };
    for (edit, outcome) in edits.into_iter().zip(outcomes) {
        if let Some(witness) = turn.conversation.witness.get() {
            witness.called(&turn.id, &edit.call, &outcome, started.elapsed());
        }
        // Nobody waits any more where the turn was ended by force.
        let _gone = edit.outcome.send(outcome);
    }
}

/// Arguments that are almost right, put right: in the call, and in what goes back to the model.
fn repair(tool: &dyn Tool, call: &mut Call, item: &mut ResponseItem) {
    let (Payload::Function(text), ToolSpec::Function { parameters, .. }) = (&mut call.payload, tool.spec()) else {
        return;
    };
    let Some(repaired) = repaired(text, &parameters) else {
        return;
    };
    tracing::info!(call = %call.id, tool = %call.tool, slips = ?repaired.slips, "arguments repaired");
    if let ResponseItem::FunctionCall { arguments, .. } = item {
        arguments.clone_from(&repaired.arguments);
    }
    *text = repaired.arguments;
}

/// Runs one call, and tells who watches what came of it.
async fn witnessed(turn: Arc<Turn>, tool: Arc<dyn Tool>, call: Call) -> Result<ToolOutput, ToolError> {
    let Some(witness) = turn.conversation.witness.get().cloned() else {
        return run(turn, tool, call).await;
    };
    let (id, started) = (turn.id.clone(), Instant::now());
    let outcome = run(turn, tool, call.clone()).await;
    witness.called(&id, &call, &outcome, started.elapsed());
    outcome
}

/// Runs one call; a panic in a tool is an answer, not the end of the turn. A call whose turn comes after the stop does
/// not begin.
async fn run(turn: Arc<Turn>, tool: Arc<dyn Tool>, call: Call) -> Result<ToolOutput, ToolError> {
    if turn.cancel.is_cancelled() {
        return Ok(ToolOutput::not_done(STOPPED));
    }
    let Some(look) = tool.look(&call) else {
        return guarded(&turn, tool.as_ref(), &call).await;
    };
    let started = Instant::now();
    let item = |status, output: Option<String>| {
        let duration_ms = output
            .as_ref()
            .map(|_| u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
        let Look { title, arguments } = &look;
        ThreadItem::ToolCall {
            id: call.id.as_str().into(),
            tool: tool.spec().name().to_owned(),
            title: title.clone(),
            arguments: arguments.clone(),
            status,
            output,
            duration_ms,
        }
    };
    turn.start_item(item(ItemStatus::InProgress, None));
    let result = guarded(&turn, tool.as_ref(), &call).await;
    let (status, text) = match &result {
        Err(error) if turn.cancel.is_cancelled() => (ItemStatus::Interrupted, error.to_string()),
        Ok(output) if output.success == Some(true) => (ItemStatus::Completed, output.text.clone()),
        Ok(output) => (ItemStatus::Failed, output.text.clone()),
        Err(error) => (ItemStatus::Failed, error.to_string()),
    };
    turn.complete_item(item(status, Some(text)));
    result
}

async fn guarded(turn: &Arc<Turn>, tool: &dyn Tool, call: &Call) -> Result<ToolOutput, ToolError> {
    let host: &dyn Host = turn;
    match AssertUnwindSafe(tool.run(call, host)).catch_unwind().await {
        Ok(result) => result,
        Err(_) => Err(panicked(call)),
    }
}

fn panicked(call: &Call) -> ToolError {
    tracing::error!(tool = %call.tool, "a tool panicked");
    ToolError::Answer(format!(
        "{} failed inside Countersign. This is its fault, not yours; try another way.",
        call.tool
    ))
}

/// A call in a form short enough for the log.
fn brief(call: &Call) -> String {
    let text = crate::tools::shown_arguments(call).to_string();
    text.chars().take(200).collect()
}
