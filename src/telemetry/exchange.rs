//! Requests to the model as telemetry sees them: how often one was tried, how long it took, and what came of its stream.

use super::emitter::{Emitter, milliseconds};
use super::record::{Fields, now};
use super::trace::{Done, Notes, fresh_span};
use crate::ids::TurnId;
use crate::model::Task;
use crate::model::watch::{Ending, Exchange, Watch};
use std::sync::Arc;
use std::time::Instant;

/// Watches the requests of a turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) emitter: Arc<Emitter>,
    pub(super) id: TurnId,
}

impl Watch for Turn {
    fn begin(&self, model: &str, task: Task) -> Box<dyn Exchange> {
        let (turn_span, attempt) = self.emitter.attempt(&self.id, task.as_str(), model);
        let began = Instant::now();
        Box::new(Asked {
            emitter: self.emitter.clone(),
            turn: self.id.clone(),
            turn_span,
            span: fresh_span(),
            start: now(),
            model: model.to_owned(),
            task,
            attempt,
            began,
            last: began,
            status: None,
            ray: None,
            progress: Progress::Asked,
        })
    }
}

/// One request.
#[derive(Debug)]
pub(super) struct Asked {
    emitter: Arc<Emitter>,
    turn: TurnId,
    turn_span: [u8; 8],
    span: [u8; 8],
    start: u64,
    model: String,
    pub(super) task: Task,
    /// Counted from 1.
    pub(super) attempt: u32,
    pub(super) began: Instant,
    /// When the event before this one came.
    last: Instant,
    pub(super) status: Option<u16>,
    pub(super) ray: Option<String>,
    progress: Progress,
}

/// How far it is.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Asked,
    Streaming,
    Ended,
    Failed(String),
}

impl Exchange for Asked {
    fn headers(&self) -> Vec<(&'static str, String)> {
        let trace = self.emitter.trace.as_ref();
        trace.map(|trace| trace.headers(self.span)).unwrap_or_default()
    }

    fn status(&mut self, status: u16, ray: Option<&str>) {
        self.status = Some(status);
        self.ray = ray.map(str::to_owned);
    }

    fn answered(&mut self, outcome: Result<(), &str>) {
        self.progress = match outcome {
            Ok(()) => Progress::Streaming,
            Err(error) => Progress::Failed(error.to_owned()),
        };
        self.last = Instant::now();
        self.emitter.request(&self.turn, self, outcome);
    }

    fn event(&mut self, kind: &str, outcome: Result<Option<Ending>, &str>) {
        // Of what comes after a failure, or the end, nothing is new.
        if self.progress != Progress::Streaming {
            return;
        }
        let took = std::mem::replace(&mut self.last, Instant::now()).elapsed();
        let fields = Fields::default()
            .with("event.kind", self.emitter.text(kind))
            .with("duration_ms", milliseconds(took));
        match outcome {
            Ok(None) => self.emitter.streamed(&self.turn, Ok(()), fields),
            Ok(Some(ending)) => {
                self.progress = Progress::Ended;
                self.emitter.answered(&self.turn, self.task.as_str());
                self.emitter.streamed(&self.turn, Ok(()), counted(fields, ending));
            }
            Err(error) => {
                self.progress = Progress::Failed(error.to_owned());
                self.emitter.streamed(&self.turn, Err(error), fields);
            }
        }
    }
}

/// The tokens of an answer.
fn counted(fields: Fields, ending: Ending) -> Fields {
    let usage = ending.usage;
    fields
        .with_some("input_token_count", usage.map(|usage| usage.input_tokens))
        .with_some("output_token_count", usage.map(|usage| usage.output_tokens))
        .with_some("cached_token_count", usage.map(|usage| usage.cached_input_tokens))
        .with_some(
            "reasoning_token_count",
            usage.map(|usage| usage.reasoning_output_tokens),
        )
        .with_some("tool_token_count", usage.map(|usage| usage.total_tokens))
}

impl Drop for Asked {
    /// However it ended: nobody may wait for it any more.
    fn drop(&mut self) {
        if self.progress == Progress::Asked {
            let outcome = Err("it was given up before there was an answer");
            self.emitter.request(&self.turn, self, outcome);
        }
        let Some(trace) = &self.emitter.trace else { return };
        let status = match &self.progress {
            Progress::Ended => Some(Ok(())),
            Progress::Failed(error) => Some(Err(self.emitter.text(error))),
            Progress::Asked | Progress::Streaming => None,
        };
        let fields = Fields::default()
            .with("model", self.model.as_str())
            .with("task", self.task.as_str())
            .with("attempt", self.attempt)
            .with_some("http.response.status_code", self.status.map(u32::from));
        trace.done(Done {
            span: self.span,
            parent: self.turn_span,
            name: "model request".to_owned(),
            is_client: true,
            start: self.start,
            fields,
            notes: Notes::default(),
            status,
        });
    }
}
