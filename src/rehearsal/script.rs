//! Scripts: what they say and how they are read. Every mistake is reported with its place.

mod realtime;

pub use realtime::Turnout;

use serde_json::{Map, Value};
use std::time::Duration;

/// A conversation to be played. See `docs/rehearsal.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// What `GET /v1/models` lists.
    pub models: Vec<String>,
    /// Requests that break the rules are recorded but answered all the same.
    pub lenient: bool,
    /// Characters in one delta.
    pub chunk: usize,
    /// Pause before each delta.
    pub delay: Duration,
    pub steps: Vec<Step>,
    /// What the realtime end does, by connection.
    pub realtime: Vec<Vec<Turnout>>,
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub name: Option<String>,
    pub when: When,
    /// Can be played any number of times.
    pub repeat: bool,
    pub chunk: Option<usize>,
    pub delay: Option<Duration>,
    /// Headers of the answer.
    pub headers: Vec<(String, String)>,
    pub outputs: Vec<Output>,
}

/// What a request must hold; all that is given must be true.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct When {
    /// The last text of the person contains this.
    pub last_user: Option<String>,
    /// The text of some input item contains this.
    pub input: Option<String>,
    pub instructions: Option<String>,
    /// There is an output for each call id here, and it contains the text.
    pub outputs: Vec<(String, String)>,
    /// Each header is there and contains the text.
    pub headers: Vec<(String, String)>,
    /// It is the nth request, counted from 1.
    pub request: Option<usize>,
    pub model: Option<String>,
    /// The model is offered a tool of this name.
    pub tool: Option<String>,
    /// `responses` or `chat`.
    pub api: Option<String>,
    /// None of this may be so.
    pub not: Option<Box<When>>,
}

/// How a text is streamed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manner {
    pub chunk: Option<usize>,
    pub delay: Option<Duration>,
    /// The item stays open: the next output of the same kind goes on with it.
    pub partial: bool,
    /// Id of the item.
    pub id: Option<String>,
}

/// One thing that a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    Say {
        text: String,
        manner: Manner,
    },
    Think {
        text: String,
        manner: Manner,
        encrypted: Option<String>,
    },
    Refuse {
        text: String,
        manner: Manner,
    },
    Call {
        tool: String,
        arguments: Value,
        id: Option<String>,
        manner: Manner,
    },
    CustomCall {
        tool: String,
        input: String,
        id: Option<String>,
        manner: Manner,
    },
    /// A finished item, as it is.
    Item(Value),
    RawEvent(Value),
    RawBytes(Vec<u8>),
    /// Sends the status and the headers, if that has not happened.
    Begin,
    Wait(Duration),
    Hold(String),
    /// Token usage in the closing event; `None` leaves it out.
    Usage(Option<Usage>),
    Fail {
        status: u16,
        headers: Vec<(String, String)>,
        body: Option<Value>,
    },
    Drop,
    Stall,
    Trickle {
        text: String,
        manner: Manner,
    },
    BadEvent,
    ErrorEvent(Value),
    Failed {
        code: String,
        message: String,
    },
    Incomplete(String),
    NoCompleted,
}

/// Tokens, in our words; each wire API has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
    pub total_tokens: u64,
}

/// A script that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the script cannot be played: {path}: {reason}")]
pub struct ScriptError {
    /// Where in the JSON, for example `steps[2].outputs[0].call`.
    pub path: String,
    pub reason: String,
}

const DEFAULT_CHUNK: usize = 16;

impl Script {
    /// Reads a script's text.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let value = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| ScriptError {
            path: format!("line {}, column {}", error.line(), error.column()),
            reason: format!("no JSON: {error}"),
        })?;
        Self::from_json(&value)
    }

    /// Reads a script: an object, or the bare list of its steps.
    pub fn from_json(value: &Value) -> Result<Self, ScriptError> {
        let root = At {
            path: String::new(),
            value,
        };
        if value.is_array() {
            return Ok(Self::with_steps(root.list(Step::read)?));
        }
        root.object(&[
            "models",
            "lenient",
            "chunk",
            "delay_ms",
            "steps",
            "realtime",
            "description",
            "$schema",
        ])?;
        let script = Self::with_steps(root.required("steps")?.list(Step::read)?);
        Ok(Self {
            models: match root.field("models") {
                Some(models) => models.list(|model| model.text())?,
                None => script.models,
            },
            lenient: root.flag("lenient")?,
            chunk: root.chunk()?.unwrap_or(script.chunk),
            delay: root.delay()?.unwrap_or(script.delay),
            steps: script.steps,
            realtime: match root.field("realtime") {
                Some(connections) => connections.list(|connection| connection.list(Turnout::read))?,
                None => Vec::new(),
            },
        })
    }

    fn with_steps(steps: Vec<Step>) -> Self {
        Self {
            models: vec!["rehearsal".to_owned()],
            lenient: false,
            chunk: DEFAULT_CHUNK,
            delay: Duration::ZERO,
            steps,
            realtime: Vec::new(),
        }
    }
}

impl Step {
    fn read(at: At<'_>) -> Result<Self, ScriptError> {
        let (outputs, of_step) = match at.value {
            Value::Array(_) => (at.clone(), false),
            _ => {
                at.object(&[
                    "name",
                    "when",
                    "repeat",
                    "chunk",
                    "delay_ms",
                    "headers",
                    "outputs",
                    "description",
                ])?;
                (at.required("outputs")?, true)
            }
        };
        let step = |outputs| -> Result<Self, ScriptError> {
            if !of_step {
                let (name, when, repeat, chunk, delay, headers) =
                    (None, When::default(), false, None, None, Vec::new());
                return Ok(Self {
                    name,
                    when,
                    repeat,
                    chunk,
                    delay,
                    headers,
                    outputs,
                });
            }
            Ok(Self {
                name: at.optional_text("name")?,
                when: at.field("when").map(When::read).transpose()?.unwrap_or_default(),
                repeat: at.flag("repeat")?,
                chunk: at.chunk()?,
                delay: at.delay()?,
                headers: at
                    .field("headers")
                    .map(|headers| headers.texts())
                    .transpose()?
                    .unwrap_or_default(),
                outputs,
            })
        };
        let list = outputs.list(|output| Ok((output.path.clone(), Output::read(output)?)))?;
        let begun = list.iter().position(|(_, output)| output.begins());
        for (index, (path, output)) in list.iter().enumerate() {
            let reason = match output {
                Output::Fail { .. } if begun.is_some_and(|begun| begun < index) => {
                    "`fail` answers with a status, so nothing may be said before it".to_owned()
                }
                _ if index + 1 < list.len() && output.ends() => {
                    "nothing that follows this one would ever be played".to_owned()
                }
                _ => continue,
            };
            return Err(ScriptError {
                path: path.clone(),
                reason,
            });
        }
        step(list.into_iter().map(|(_, output)| output).collect())
    }
}

impl When {
    fn read(at: At<'_>) -> Result<Self, ScriptError> {
        at.object(&[
            "last_user",
            "input",
            "instructions",
            "output",
            "header",
            "request",
            "model",
            "tool",
            "api",
            "not",
        ])?;
        let outputs = match at.field("output") {
            Some(output) if output.value.is_string() => vec![(output.text()?, String::new())],
            Some(output) => output.texts()?,
            None => Vec::new(),
        };
        let request = match at.field("request") {
            Some(request) => match request.value.as_u64() {
                Some(number @ 1..) => Some(number as usize),
                _ => return Err(request.error("must be a number from 1")),
            },
            None => None,
        };
        let api = at.optional_text("api")?;
        if api.as_deref().is_some_and(|api| !matches!(api, "responses" | "chat")) {
            return Err(at.required("api")?.error("must be \"responses\" or \"chat\""));
        }
        Ok(Self {
            last_user: at.optional_text("last_user")?,
            input: at.optional_text("input")?,
            instructions: at.optional_text("instructions")?,
            outputs,
            headers: at
                .field("header")
                .map(|headers| headers.texts())
                .transpose()?
                .unwrap_or_default(),
            request,
            model: at.optional_text("model")?,
            tool: at.optional_text("tool")?,
            api,
            not: at.field("not").map(When::read).transpose()?.map(Box::new),
        })
    }
}

/// The kinds of outputs, and the fields that may stand beside each.
const KINDS: &[(&str, &[&str])] = &[
    ("say", MANNER),
    ("think", &["chunk", "delay_ms", "partial", "id", "encrypted"]),
    ("refuse", MANNER),
    ("call", MANNER_OF_CALLS),
    ("custom_call", MANNER_OF_CALLS),
    ("item", &[]),
    ("raw_event", &[]),
    ("raw_bytes", &[]),
    ("begin", &[]),
    ("wait_ms", &[]),
    ("hold", &[]),
    ("usage", &[]),
    ("fail", &[]),
    ("drop", &[]),
    ("stall", &[]),
    ("trickle", MANNER),
    ("bad_event", &[]),
    ("error_event", &[]),
    ("failed", &[]),
    ("incomplete", &[]),
    ("no_completed", &[]),
];
const MANNER: &[&str] = &["chunk", "delay_ms", "partial", "id"];
const MANNER_OF_CALLS: &[&str] = &["chunk", "delay_ms", "partial"];

impl Output {
    fn read(at: At<'_>) -> Result<Self, ScriptError> {
        let Value::Object(fields) = at.value else {
            return Err(at.error("must be an object, such as {\"say\": \"…\"}"));
        };
        let names = || KINDS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let kinds: Vec<_> = KINDS.iter().filter(|(name, _)| fields.contains_key(*name)).collect();
        let [(name, beside)] = kinds[..] else {
            return Err(match (kinds.len(), fields.keys().next()) {
                (0, Some(key)) => at.error(&format!("there is no output `{key}`; there are {}", names())),
                (0, None) => at.error(&format!("is empty; an output is one of {}", names())),
                _ => at.error("holds more than one output; write one object each"),
            });
        };
        let mut known = vec![*name];
        known.extend_from_slice(beside);
        at.object(&known)?;
        let inner = at.required(name)?;
        let manner = Manner {
            chunk: at.chunk()?,
            delay: at.delay()?,
            partial: at.flag("partial")?,
            id: if beside.contains(&"id") {
                at.optional_text("id")?
            } else {
                None
            },
        };
        Ok(match *name {
            "say" => Self::Say {
                text: inner.text()?,
                manner,
            },
            "think" => Self::Think {
                text: inner.text()?,
                manner,
                encrypted: at.optional_text("encrypted")?,
            },
            "refuse" => Self::Refuse {
                text: inner.text()?,
                manner,
            },
            "call" => {
                inner.object(&["tool", "arguments", "id", "item_id"])?;
                let arguments = inner
                    .field("arguments")
                    .map_or_else(|| Value::Object(Map::new()), |a| a.value.clone());
                let (tool, id) = (inner.required("tool")?.text()?, inner.optional_text("id")?);
                let manner = Manner {
                    id: inner.optional_text("item_id")?,
                    ..manner
                };
                Self::Call {
                    tool,
                    arguments,
                    id,
                    manner,
                }
            }
            "custom_call" => {
                inner.object(&["tool", "input", "id", "item_id"])?;
                let (tool, id) = (inner.required("tool")?.text()?, inner.optional_text("id")?);
                let manner = Manner {
                    id: inner.optional_text("item_id")?,
                    ..manner
                };
                Self::CustomCall {
                    tool,
                    input: inner.required("input")?.text()?,
                    id,
                    manner,
                }
            }
            "item" => Self::Item(inner.with_type()?),
            "raw_event" => Self::RawEvent(inner.value.clone()),
            "raw_bytes" => Self::RawBytes(inner.bytes()?),
            "begin" => inner.yes(Self::Begin)?,
            "wait_ms" => Self::Wait(inner.millis()?),
            "hold" => Self::Hold(inner.text()?),
            "usage" => Self::Usage(inner.usage()?),
            "fail" => inner.fail()?,
            "drop" => inner.yes(Self::Drop)?,
            "stall" => inner.yes(Self::Stall)?,
            "trickle" => Self::Trickle {
                text: inner.text()?,
                manner,
            },
            "bad_event" => inner.yes(Self::BadEvent)?,
            "error_event" => Self::ErrorEvent(inner.value.clone()),
            "failed" => {
                inner.object(&["code", "message"])?;
                let message = inner
                    .optional_text("message")?
                    .unwrap_or_else(|| "A rehearsed failure.".to_owned());
                Self::Failed {
                    code: inner.required("code")?.text()?,
                    message,
                }
            }
            "incomplete" => Self::Incomplete(inner.text()?),
            _ => inner.yes(Self::NoCompleted)?,
        })
    }

    /// Whether the status is sent with this one at the latest.
    pub(super) fn begins(&self) -> bool {
        !matches!(
            self,
            Self::Wait(_) | Self::Hold(_) | Self::Usage(_) | Self::Fail { .. } | Self::Drop | Self::Stall
        )
    }

    fn ends(&self) -> bool {
        matches!(
            self,
            Self::Fail { .. }
                | Self::Drop
                | Self::Stall
                | Self::Trickle { .. }
                | Self::ErrorEvent(_)
                | Self::Failed { .. }
                | Self::Incomplete(_)
                | Self::NoCompleted
        )
    }
}

/// A value and its place in the script.
#[derive(Clone)]
struct At<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> At<'a> {
    fn error(&self, reason: &str) -> ScriptError {
        let path = if self.path.is_empty() { "the script" } else { &self.path };
        ScriptError {
            path: path.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// The object, if it has no field but these.
    fn object(&self, known: &[&str]) -> Result<&'a Map<String, Value>, ScriptError> {
        let Value::Object(fields) = self.value else {
            return Err(self.error("must be an object"));
        };
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(fields),
            Some(key) => Err(self.error(&format!(
                "there is no field `{key}` here; there are {}",
                known.join(", ")
            ))),
        }
    }

    fn field(&self, name: &str) -> Option<At<'a>> {
        let value = self.value.get(name)?;
        let path = if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        };
        Some(At { path, value })
    }

    fn required(&self, name: &str) -> Result<At<'a>, ScriptError> {
        self.field(name)
            .ok_or_else(|| self.error(&format!("`{name}` is missing")))
    }

    fn list<T>(&self, read: impl Fn(At<'a>) -> Result<T, ScriptError>) -> Result<Vec<T>, ScriptError> {
        let Value::Array(list) = self.value else {
            return Err(self.error("must be a list"));
        };
        let element = |(index, value)| {
            read(At {
                path: format!("{}[{index}]", self.path),
                value,
            })
        };
        list.iter().enumerate().map(element).collect()
    }

    fn text(&self) -> Result<String, ScriptError> {
        self.value
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| self.error("must be a text"))
    }

    fn optional_text(&self, name: &str) -> Result<Option<String>, ScriptError> {
        self.field(name).map(|field| field.text()).transpose()
    }

    fn flag(&self, name: &str) -> Result<bool, ScriptError> {
        match self.field(name) {
            None => Ok(false),
            Some(field) => field
                .value
                .as_bool()
                .ok_or_else(|| field.error("must be true or false")),
        }
    }

    fn yes(&self, output: Output) -> Result<Output, ScriptError> {
        if self.value == &Value::Bool(true) {
            Ok(output)
        } else {
            Err(self.error("must be true; leave it out otherwise"))
        }
    }

    fn millis(&self) -> Result<Duration, ScriptError> {
        self.value
            .as_u64()
            .map(Duration::from_millis)
            .ok_or_else(|| self.error("must be a number of milliseconds"))
    }

    fn delay(&self) -> Result<Option<Duration>, ScriptError> {
        self.field("delay_ms").map(|field| field.millis()).transpose()
    }

    fn chunk(&self) -> Result<Option<usize>, ScriptError> {
        match self.field("chunk") {
            None => Ok(None),
            Some(field) => match field.value.as_u64() {
                Some(number @ 1..) => Ok(Some(number as usize)),
                _ => Err(field.error("must be a number of characters, at least 1")),
            },
        }
    }

    /// An object of texts; numbers and booleans are written out.
    fn texts(&self) -> Result<Vec<(String, String)>, ScriptError> {
        let Value::Object(fields) = self.value else {
            return Err(self.error("must be an object of texts"));
        };
        let pair = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(self.error(&format!("`{name}` must be a text"))),
        };
        fields.iter().map(pair).collect()
    }

    fn with_type(&self) -> Result<Value, ScriptError> {
        match self.value.get("type") {
            Some(Value::String(_)) => Ok(self.value.clone()),
            _ => Err(self.error("must be an object with a `type`")),
        }
    }

    /// A text, or a list of byte values.
    fn bytes(&self) -> Result<Vec<u8>, ScriptError> {
        match self.value {
            Value::String(text) => Ok(text.clone().into_bytes()),
            Value::Array(_) => self.list(|byte| {
                byte.value
                    .as_u64()
                    .and_then(|byte| u8::try_from(byte).ok())
                    .ok_or_else(|| byte.error("must be a byte, 0 to 255"))
            }),
            _ => Err(self.error("must be a text or a list of bytes")),
        }
    }

    fn usage(&self) -> Result<Option<Usage>, ScriptError> {
        if self.value.is_null() {
            return Ok(None);
        }
        self.object(&[
            "input_tokens",
            "cached_input_tokens",
            "output_tokens",
            "reasoning_output_tokens",
            "total_tokens",
        ])?;
        let number = |name: &str| match self.field(name) {
            None => Ok(None),
            Some(field) => match field.value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(field.error("must be a number of tokens")),
            },
        };
        let input_tokens = number("input_tokens")?.unwrap_or(0);
        let output_tokens = number("output_tokens")?.unwrap_or(0);
        Ok(Some(Usage {
            input_tokens,
            cached_input_tokens: number("cached_input_tokens")?.unwrap_or(0),
            output_tokens,
            reasoning_output_tokens: number("reasoning_output_tokens")?.unwrap_or(0),
            total_tokens: number("total_tokens")?.unwrap_or(input_tokens.saturating_add(output_tokens)),
        }))
    }

    fn fail(&self) -> Result<Output, ScriptError> {
        self.object(&["status", "retry_after", "headers", "body"])?;
        let status = self.required("status")?;
        let code = status.value.as_u64().filter(|code| (200..=599).contains(code));
        let code = code.ok_or_else(|| status.error("must be an HTTP status, 200 to 599"))?;
        let mut headers = self
            .field("headers")
            .map(|headers| headers.texts())
            .transpose()?
            .unwrap_or_default();
        if let Some(after) = self.field("retry_after") {
            let text = match after.value {
                Value::Number(seconds) => seconds.to_string(),
                Value::String(text) => text.clone(),
                _ => return Err(after.error("must be a number of seconds or a date")),
            };
            headers.push(("retry-after".to_owned(), text));
        }
        let body = self.field("body").map(|body| body.value.clone());
        Ok(Output::Fail {
            status: code as u16,
            headers,
            body,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn short_and_long_forms_say_the_same() {
        let short = Script::from_json(&json!([[{"say": "hi"}]])).expect("fine");
        let long = Script::from_json(&json!({"steps": [{"outputs": [{"say": "hi"}]}]})).expect("fine");
        assert_eq!(short, long);
        assert_eq!(short.models, ["rehearsal"]);
        let full =
            Script::from_json(&json!({"models": ["a"], "lenient": true, "chunk": 3, "delay_ms": 2, "steps": []}));
        let full = full.expect("fine");
        assert_eq!((full.lenient, full.chunk, full.delay.as_millis()), (true, 3, 2));
        assert!(Script::parse("\u{feff}[]").is_ok());
    }

    #[test]
    fn the_page_names_every_output_and_its_scripts_can_be_played() {
        let page = include_str!("../../docs/rehearsal.md");
        for (name, beside) in KINDS {
            assert!(page.contains(&format!("{{\"{name}\":")), "{name}");
            assert!(
                beside.iter().all(|field| page.contains(&format!("`{field}`"))),
                "{beside:?}"
            );
        }
        for name in realtime::KINDS {
            assert!(page.contains(&format!("{{\"{name}\":")), "{name}");
        }
        let scripts: Vec<_> = page
            .split("```json\n")
            .skip(1)
            .filter_map(|rest| rest.split("```").next())
            .collect();
        assert!(scripts.len() >= 3);
        for script in scripts {
            if let Err(error) = Script::parse(script) {
                panic!("{error}: {script}");
            }
        }
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let outputs = |outputs: Value| json!({"steps": [{"outputs": outputs}]});
        let table = [
            (json!(7), "the script", "must be an object"),
            (json!({}), "the script", "`steps` is missing"),
            (json!({"steps": 1}), "steps", "must be a list"),
            (json!({"steps": [], "lenint": 1}), "the script", "no field `lenint`"),
            (json!({"steps": [{}]}), "steps[0]", "`outputs` is missing"),
            (json!({"steps": [], "realtime": {}}), "realtime", "must be a list"),
            (
                json!({"steps": [], "realtime": [[{"evnt": 1}]]}),
                "realtime[0][0]",
                "there is no `evnt`",
            ),
            (
                json!({"steps": [], "realtime": [[{}]]}),
                "realtime[0][0]",
                "exactly one",
            ),
            (
                json!({"steps": [], "realtime": [[{"close": {"code": 7}}]]}),
                "realtime[0][0].close.code",
                "1000 to 4999",
            ),
            (
                json!({"steps": [{"outputs": [], "wen": 1}]}),
                "steps[0]",
                "no field `wen`",
            ),
            (
                outputs(json!([{"say": "a"}, {"sya": "b"}])),
                "steps[0].outputs[1]",
                "no output `sya`",
            ),
            (outputs(json!([{}])), "steps[0].outputs[0]", "is empty"),
            (outputs(json!(["say"])), "steps[0].outputs[0]", "must be an object"),
            (
                outputs(json!([{"say": "a", "think": "b"}])),
                "steps[0].outputs[0]",
                "more than one",
            ),
            (
                outputs(json!([{"say": 1}])),
                "steps[0].outputs[0].say",
                "must be a text",
            ),
            (
                outputs(json!([{"say": "a", "chunk": 0}])),
                "steps[0].outputs[0].chunk",
                "at least 1",
            ),
            (
                outputs(json!([{"say": "a", "until": 0}])),
                "steps[0].outputs[0]",
                "no field `until`",
            ),
            (
                outputs(json!([{"call": {"arguments": {}}}])),
                "steps[0].outputs[0].call",
                "`tool` is missing",
            ),
            (
                outputs(json!([{"call": {"tool": "x", "args": {}}}])),
                "steps[0].outputs[0].call",
                "no field `args`",
            ),
            (
                outputs(json!([{"drop": false}])),
                "steps[0].outputs[0].drop",
                "must be true",
            ),
            (
                outputs(json!([{"drop": true}, {"say": "a"}])),
                "steps[0].outputs[0]",
                "nothing that follows",
            ),
            (
                outputs(json!([{"say": "a"}, {"fail": {"status": 500}}])),
                "steps[0].outputs[1]",
                "nothing may be said",
            ),
            (
                outputs(json!([{"fail": {"status": 42}}])),
                "steps[0].outputs[0].fail.status",
                "HTTP status",
            ),
            (
                outputs(json!([{"usage": {"input_tokens": -1}}])),
                "steps[0].outputs[0].usage.input_tokens",
                "tokens",
            ),
            (
                outputs(json!([{"raw_bytes": [1, 300]}])),
                "steps[0].outputs[0].raw_bytes[1]",
                "must be a byte",
            ),
            (
                json!([{"outputs": [], "when": {"request": 0}}]),
                "[0].when.request",
                "from 1",
            ),
            (
                json!([{"outputs": [], "when": {"api": "x"}}]),
                "[0].when.api",
                "responses",
            ),
            (
                json!([{"outputs": [], "when": {"not": {"imput": "x"}}}]),
                "[0].when.not",
                "no field `imput`",
            ),
        ];
        for (script, path, reason) in table {
            let error = Script::from_json(&script).expect_err(&script.to_string());
            assert_eq!(error.path, path, "{script} {error}");
            assert!(error.reason.contains(reason), "{script} {error}");
        }
        let error = Script::parse("{\n  nope").expect_err("no JSON");
        assert_eq!(error.path, "line 2, column 3");
    }
}
