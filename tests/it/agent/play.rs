//! A test as a play: what the person, the model, a tool and a question say, in their order.
//!
//! The model's lines are its script; all others are waited for, or said, one after the other. What the client is told
//! meanwhile is held to the order of the protocol, and at the end of each turn every call has its output.

use super::stage::{Setting, Stage, Story};
use crate::support::client::Reply;
use countersign::rehearsal::Recorded;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A stopped turn is closed, and its processes are gone, by then.
const STOPPED_WITHIN: Duration = Duration::from_secs(20);

enum Line {
    /// Begins a turn, or joins the running one.
    Says(String),
    Queues(String),
    Stops,
    /// Waits until the model has come to a barrier.
    Reached(&'static str),
    /// Waits for an event that has these fields.
    Sees(&'static str, Value),
    /// A question about a command is open.
    Asked,
    /// It is answered.
    Answers(&'static str),
    /// Waits for a proposal and decides.
    Decides(&'static str),
    Writes(&'static str, &'static str),
    /// The turn ends so.
    Ends(&'static str),
}

pub(super) struct Play {
    script: Vec<Value>,
    setting: Setting,
    lines: Vec<Line>,
}

/// A play that was played.
pub(super) struct Played {
    pub(super) stage: Stage,
    /// One for each turn that ended.
    pub(super) turns: Vec<Story>,
}

impl Play {
    pub(super) fn new() -> Self {
        Self {
            script: Vec::new(),
            setting: Setting::default(),
            lines: Vec::new(),
        }
    }

    fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }

    /// A file that is there from the start.
    pub(super) fn file(mut self, name: &str, text: &str) -> Self {
        self.setting.files.push((name.to_owned(), text.to_owned()));
        self
    }

    pub(super) fn config(mut self, lines: &str) -> Self {
        self.setting.config.push_str(&format!("{lines}\n"));
        self
    }

    /// What the model answers to the next request.
    pub(super) fn model<const N: usize>(mut self, outputs: [Value; N]) -> Self {
        self.script.push(outputs.to_vec().into());
        self
    }

    pub(super) fn person(self, words: &str) -> Self {
        self.line(Line::Says(words.to_owned()))
    }

    pub(super) fn queues(self, words: &str) -> Self {
        self.line(Line::Queues(words.to_owned()))
    }

    pub(super) fn stops(self) -> Self {
        self.line(Line::Stops)
    }

    pub(super) fn reached(self, gate: &'static str) -> Self {
        self.line(Line::Reached(gate))
    }

    pub(super) fn sees(self, event: &'static str, fields: Value) -> Self {
        self.line(Line::Sees(event, fields))
    }

    pub(super) fn asked(self) -> Self {
        self.line(Line::Asked)
    }

    pub(super) fn answers(self, decision: &'static str) -> Self {
        self.line(Line::Asked).line(Line::Answers(decision))
    }

    pub(super) fn decides(self, decision: &'static str) -> Self {
        self.line(Line::Decides(decision))
    }

    pub(super) fn writes(self, name: &'static str, text: &'static str) -> Self {
        self.line(Line::Writes(name, text))
    }

    pub(super) fn ends(self, status: &'static str) -> Self {
        self.line(Line::Ends(status))
    }

    pub(super) async fn play(self) -> Played {
        let stage = Stage::with(json!(self.script), self.setting).await;
        stage.answers(Reply::Later);
        let permission = "countersign/approval/permission";
        stage.client.on_request(permission, |_| Reply::Later);
        let thread = stage.thread().await;
        let mut acting = Acting {
            stage,
            thread,
            story: Story::default(),
            turns: Vec::new(),
            question: None,
            stopped: None,
        };
        for line in self.lines {
            acting.act(line).await;
        }
        let Acting { stage, turns, .. } = acting;
        Played { stage, turns }
    }
}

struct Acting {
    stage: Stage,
    thread: String,
    /// What came since the last turn ended.
    story: Story,
    turns: Vec<Story>,
    question: Option<crate::support::client::Asked>,
    stopped: Option<Instant>,
}

impl Acting {
    async fn act(&mut self, line: Line) {
        let input = |words: &str| json!([{"type": "text", "text": words}]);
        match line {
            Line::Says(words) => {
                let params = json!({"threadId": self.thread, "input": input(&words)});
                self.stage.client.call("countersign/turn/start", params).await;
            }
            Line::Queues(words) => {
                let params = json!({"threadId": self.thread, "input": input(&words)});
                self.stage.client.call("countersign/turn/queue/add", params).await;
            }
            Line::Stops => {
                self.stopped = Some(Instant::now());
                assert_eq!(self.stage.interrupt(&self.thread).await, json!({"interrupted": true}));
            }
            Line::Reached(gate) => self.stage.model.wait_for_hold(gate).await,
            Line::Sees(event, fields) => self.see(event, &fields).await,
            Line::Asked => {
                self.see("approval/requested", &json!({})).await;
                self.question = Some(self.stage.client.expect_request("countersign/approval/command").await);
            }
            Line::Answers(decision) => {
                let question = self.question.take().expect("a question was asked before");
                self.stage.client.answer(&question, Ok(json!({ "decision": decision })));
            }
            Line::Decides(decision) => {
                self.see("proposal/created", &json!({})).await;
                let (_, params) = self.story.events.last().expect("just seen");
                let id = params["proposal"]["id"].clone();
                self.stage.decide(json!({"proposalId": id, "decision": decision})).await;
            }
            Line::Writes(name, text) => self.stage.write(name, text),
            Line::Ends(status) => self.end(status).await,
        }
    }

    async fn see(&mut self, event: &str, fields: &Value) {
        let seen = self
            .stage
            .until(|name, params| name == event && has(params, fields))
            .await;
        self.story.events.extend(seen.events);
    }

    async fn end(&mut self, status: &str) {
        self.see("turn/completed", &json!({})).await;
        let story = std::mem::take(&mut self.story);
        assert_eq!(story.status(), status, "{story:#?}");
        if let Some(stopped) = self.stopped.take() {
            assert!(
                stopped.elapsed() < STOPPED_WITHIN,
                "closed after {:?}",
                stopped.elapsed()
            );
            Stage::no_process_left(&self.thread).await;
            if let Some(question) = self.question.take() {
                self.stage.client.expect_withdrawn(&question).await;
            }
        }
        self.turns.push(story);
    }
}

/// Whether all of these fields are there, at any depth; a text is there if it is part of the text.
fn has(value: &Value, fields: &Value) -> bool {
    match (value, fields) {
        (_, Value::Object(fields)) => fields.iter().all(|(name, field)| has(&value[name], field)),
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        _ => value == fields,
    }
}

impl Played {
    /// The last request, in which each call has its output.
    pub(super) fn last_request(&self) -> Recorded {
        let request = self.stage.model.requests().pop().expect("a request");
        assert_eq!(request.calls().len(), request.outputs().len());
        request
    }

    /// What the agent said, turn by turn.
    pub(super) fn said(&self) -> Vec<Vec<&str>> {
        self.turns.iter().map(Story::said).collect()
    }
}
