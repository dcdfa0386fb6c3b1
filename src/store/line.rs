//! One line of a rollout: its kinds, and their JSON both ways.
//!
//! Reading is lenient, field by field: files of several ages and programs are about. Writing is strict.

mod context;
mod meta;
mod tokens;

pub use context::TurnContextRecord;
pub use meta::SessionMeta;
pub use tokens::{TokenCounts, TokenInfo};

use crate::ids::{ItemId, ThreadId, TurnId};
use crate::model::item::ResponseItem;
use crate::protocol::event::{Event, EventKind};
use crate::protocol::item::{ThreadItem, UserInput};
use crate::protocol::model::RateLimits;
use crate::protocol::review::{ReviewFinding, ReviewOutput};
use crate::protocol::turn::{InterruptedBy, TurnError, TurnErrorKind, TurnKind, TurnStatus};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub enum RolloutItem {
    /// Describes the thread; the first line.
    SessionMeta(SessionMeta),
    /// An item of the history, as it was sent or received.
    ResponseItem(ResponseItem),
    /// The settings under which a request was made.
    TurnContext(TurnContextRecord),
    EventMsg(EventMsg),
    /// The history before this line was replaced by a summary.
    Compacted {
        /// The summary.
        message: String,
        /// The whole history from here on. Absent: instructions, the person's latest words and the summary.
        replacement_history: Option<Vec<ResponseItem>>,
    },
}

/// Events that are kept. Names and fields are those of the reference system's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventMsg {
    #[serde(alias = "turn_started")]
    TaskStarted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        /// Seconds since the epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model_context_window: Option<u64>,
        /// Of ours; absent in other files.
        #[serde(default, skip_serializing_if = "TurnKind::is_regular")]
        kind: TurnKind,
    },
    #[serde(alias = "turn_complete")]
    TaskComplete {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        #[serde(default)]
        last_agent_message: Option<String>,
        /// Seconds since the epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed_at: Option<i64>,
        /// Why it failed, where the reference system says so here: a text, or what an `error` event holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
    },
    TurnAborted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        /// `interrupted`, `replaced` or `review_ended`.
        #[serde(default)]
        reason: Option<String>,
        /// The same in our own words, which tell more apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interrupted_by: Option<InterruptedBy>,
        /// Seconds since the epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed_at: Option<i64>,
    },
    ItemCompleted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_id: Option<ThreadId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        /// A [`ThreadItem`] in our files; see [`super::foreign`] for those of others.
        item: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed_at_ms: Option<i64>,
    },
    TokenCount {
        #[serde(default)]
        info: Option<TokenInfo>,
        /// What the provider said of the account's allowance.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_limits: Option<Value>,
    },
    /// Twin of the person's message, for readers that show previews by it.
    UserMessage {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        images: Option<Vec<String>>,
    },
    /// Twin of the agent's message.
    AgentMessage {
        message: String,
    },
    AgentReasoning {
        text: String,
    },
    AgentReasoningRawContent {
        text: String,
    },
    Error {
        message: String,
        /// The reference system's word for the kind: a text, or an object with the HTTP status.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        codex_error_info: Option<Value>,
        /// Our own word for the kind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        http_status: Option<u16>,
        /// What may help, of ours too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actions: Option<Value>,
    },
    ThreadRolledBack {
        num_turns: usize,
    },
    /// Of ours: more text of a message that is being said, for the case that the program is cut off; see [`super::unfinished`].
    AgentMessagePartial {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<TurnId>,
        item_id: ItemId,
        #[serde(default)]
        text: String,
        /// It is said again, as another message.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        withdrawn: bool,
    },
    ThreadNameUpdated {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_id: Option<ThreadId>,
        #[serde(default)]
        thread_name: Option<String>,
    },
    /// Whatever else there is, untouched.
    #[serde(untagged)]
    Other(Value),
}

impl RolloutItem {
    /// What is kept of an event. Most events are not: deltas, questions and notices tell nothing that the
    /// completed items do not.
    pub fn of_event(event: &Event) -> Vec<RolloutItem> {
        let events = match &event.kind {
            EventKind::TurnStarted(body) => vec![EventMsg::TaskStarted {
                turn_id: Some(body.turn.id.clone()),
                started_at: body.turn.started_at_ms.map(|ms| ms.div_euclid(1000)),
                model_context_window: body.model_context_window.map(u64::from),
                kind: body.turn.kind,
            }],
            // It is said again.
            EventKind::ItemCompleted(body) if body.withdrawn => Vec::new(),
            EventKind::ItemCompleted(body) => {
                let mut events = vec![EventMsg::ItemCompleted {
                    thread_id: Some(event.at.thread_id.clone()),
                    turn_id: event.at.turn_id.clone(),
                    item: serde_json::to_value(&body.item).unwrap_or_default(),
                    completed_at_ms: Some(body.completed_at_ms),
                }];
                events.extend(twin(&body.item));
                events
            }
            EventKind::TokenUsageUpdated(body) => {
                vec![EventMsg::TokenCount {
                    info: Some(body.token_usage.into()),
                    rate_limits: body.rate_limits.as_ref().map(RateLimits::to_json),
                }]
            }
            EventKind::TurnCompleted(body) => {
                let turn_id = Some(body.turn.id.clone());
                let completed_at = body.turn.completed_at_ms.map(|ms| ms.div_euclid(1000));
                let mut events = Vec::new();
                if let Some(error) = &body.turn.error {
                    events.push(EventMsg::of_error(error));
                }
                events.push(match body.turn.status {
                    TurnStatus::Interrupted => EventMsg::aborted(turn_id, body.turn.interrupted_by, completed_at),
                    _ => EventMsg::TaskComplete {
                        turn_id,
                        last_agent_message: body.last_agent_message.clone(),
                        completed_at,
                        error: None,
                    },
                });
                events
            }
            _ => Vec::new(),
        };
        events.into_iter().map(RolloutItem::EventMsg).collect()
    }

    /// Type and payload (as JSON) of the line; `None` for what is never written.
    pub(super) fn to_parts(&self) -> Option<(&'static str, String)> {
        Some(match self {
            Self::SessionMeta(meta) => ("session_meta", meta.to_json()?),
            Self::ResponseItem(ResponseItem::Other) => return None,
            // `Other` parts inside a message cannot be written; the message goes without them.
            Self::ResponseItem(item) => ("response_item", writable(item).to_string()),
            Self::TurnContext(context) => ("turn_context", context.to_value().to_string()),
            Self::EventMsg(event) => ("event_msg", serde_json::to_string(event).ok()?),
            Self::Compacted {
                message,
                replacement_history,
            } => {
                let mut value = json!({ "message": message });
                if let Some(items) = replacement_history {
                    value["replacement_history"] = items
                        .iter()
                        .filter(|item| **item != ResponseItem::Other)
                        .map(writable)
                        .collect();
                }
                ("compacted", value.to_string())
            }
        })
    }

    /// [`RolloutItem::from_parts`] for a payload that is still text. The kinds of which there are many are read straight
    /// from it.
    pub(super) fn from_raw(kind: &str, payload: &RawValue) -> Option<Result<Self, ()>> {
        match kind {
            "response_item" => Some(
                serde_json::from_str(payload.get())
                    .map(Self::ResponseItem)
                    .map_err(drop),
            ),
            "event_msg" => Some(serde_json::from_str(payload.get()).map(Self::EventMsg).map_err(drop)),
            "session_meta" | "turn_context" | "compacted" => match serde_json::from_str(payload.get()) {
                Ok(value) => Self::from_parts(kind, value),
                Err(_) => Some(Err(())),
            },
            _ => None,
        }
    }

    /// Understands a line's type and payload. `None`: a kind that is not for us; `Err`: damaged.
    pub(super) fn from_parts(kind: &str, payload: Value) -> Option<Result<Self, ()>> {
        Some(match kind {
            "session_meta" => SessionMeta::from_value(&payload).map(Self::SessionMeta).ok_or(()),
            "response_item" => serde_json::from_value(payload).map(Self::ResponseItem).map_err(drop),
            "turn_context" => TurnContextRecord::from_value(&payload).map(Self::TurnContext).ok_or(()),
            "event_msg" => serde_json::from_value(payload).map(Self::EventMsg).map_err(drop),
            "compacted" => match text(&payload, "message") {
                None if payload.get("replacement_history").is_none() => Err(()),
                message => Ok(Self::Compacted {
                    message: message.unwrap_or_default(),
                    replacement_history: payload
                        .get("replacement_history")
                        .and_then(Value::as_array)
                        .map(|items| {
                            items
                                .iter()
                                .filter_map(|item| serde_json::from_value(item.clone()).ok())
                                .collect()
                        }),
                }),
            },
            _ => return None,
        })
    }
}

/// Serialises an item without the parts that have no written form.
fn writable(item: &ResponseItem) -> Value {
    use crate::model::item::{ContentPart, ReasoningPart, ToolOutputPayload};
    let mut item = item.clone();
    match &mut item {
        ResponseItem::Message { content, .. } => content.retain(|part| *part != ContentPart::Other),
        ResponseItem::Reasoning { summary, content, .. } => {
            summary.retain(|part| *part != ReasoningPart::Other);
            if let Some(content) = content {
                content.retain(|part| *part != ReasoningPart::Other);
            }
        }
        ResponseItem::FunctionCallOutput { output, .. } | ResponseItem::CustomToolCallOutput { output, .. } => {
            if let ToolOutputPayload::Parts(parts) = output {
                parts.retain(|part| *part != ContentPart::Other);
            }
        }
        _ => {}
    }
    serde_json::to_value(&item).unwrap_or_default()
}

/// The message events that older readers take previews and transcripts from.
fn twin(item: &ThreadItem) -> Option<EventMsg> {
    match item {
        ThreadItem::UserMessage { content, .. } => {
            let images: Vec<String> = content
                .iter()
                .filter_map(|input| match input {
                    UserInput::Image { url } => Some(url.clone()),
                    _ => None,
                })
                .collect();
            Some(EventMsg::UserMessage {
                message: words(content),
                images: Some(images).filter(|images| !images.is_empty()),
            })
        }
        ThreadItem::AgentMessage { text, .. } => Some(EventMsg::AgentMessage { message: text.clone() }),
        ThreadItem::EnteredReviewMode { review, target, .. } => Some(EventMsg::Other(json!({
            "type": "entered_review_mode",
            "target": target,
            "user_facing_hint": review,
        }))),
        ThreadItem::ExitedReviewMode { output, .. } => Some(EventMsg::Other(json!({
            "type": "exited_review_mode",
            "review_output": output.as_ref().map(review_output),
        }))),
        _ => None,
    }
}

/// The result of a review in the words of the reference system, whose lines count from 1 and include the last.
fn review_output(output: &ReviewOutput) -> Value {
    let finding = |finding: &ReviewFinding| {
        let place = finding.code_location.as_ref().map(|place| {
            json!({
                "absolute_file_path": place.absolute_file_path,
                "line_range": {"start": place.line_range.start.saturating_add(1), "end": place.line_range.end},
            })
        });
        json!({
            "title": finding.title,
            "body": finding.body,
            "confidence_score": finding.confidence_score,
            "priority": finding.priority,
            // Readers elsewhere do without a finding, but not without its place.
            "code_location": place.unwrap_or_else(|| json!({
                "absolute_file_path": "",
                "line_range": {"start": 0, "end": 0},
            })),
        })
    };
    json!({
        "findings": output.findings.iter().map(finding).collect::<Vec<_>>(),
        "overall_correctness": output.overall_correctness.map_or_else(|| json!(""), |verdict| json!(verdict)),
        "overall_explanation": output.overall_explanation,
        "overall_confidence_score": output.overall_confidence_score.unwrap_or_default(),
    })
}

/// The person's words in an input.
pub(super) fn words(content: &[UserInput]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|input| match input {
            UserInput::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

impl EventMsg {
    /// The end of a turn that was stopped.
    pub fn aborted(turn_id: Option<TurnId>, by: Option<InterruptedBy>, completed_at: Option<i64>) -> Self {
        let reason = match by {
            Some(InterruptedBy::Replaced) => "replaced",
            _ => "interrupted",
        };
        Self::TurnAborted {
            turn_id,
            reason: Some(reason.to_owned()),
            interrupted_by: by,
            completed_at,
        }
    }

    pub fn of_error(error: &TurnError) -> Self {
        let status = json!({ "http_status_code": error.http_status });
        let info = match error.kind {
            TurnErrorKind::MissingKey | TurnErrorKind::Unauthorized => json!("unauthorized"),
            TurnErrorKind::ModelNotFound => json!("model_not_found"),
            TurnErrorKind::ContextWindowExceeded => json!("context_window_exceeded"),
            TurnErrorKind::UsageLimitExceeded | TurnErrorKind::QuotaExceeded | TurnErrorKind::PlanLimit => {
                json!("usage_limit_exceeded")
            }
            TurnErrorKind::RateLimitExceeded => json!("rate_limit_exceeded"),
            TurnErrorKind::ServerOverloaded => json!("server_overloaded"),
            TurnErrorKind::BadRequest => json!("bad_request"),
            TurnErrorKind::ServerError => json!("internal_server_error"),
            TurnErrorKind::ConnectionFailed => json!({ "http_connection_failed": status }),
            TurnErrorKind::StreamDisconnected | TurnErrorKind::Incomplete => {
                json!({ "response_stream_disconnected": status })
            }
            TurnErrorKind::SandboxError => json!("sandbox_error"),
            TurnErrorKind::TooManyRounds
            | TurnErrorKind::CostLimitExceeded
            | TurnErrorKind::UndoFailed
            | TurnErrorKind::ToolServerFailed
            | TurnErrorKind::ReviewFailed
            | TurnErrorKind::ContentFilter
            | TurnErrorKind::Refused
            | TurnErrorKind::Other
            | TurnErrorKind::Internal => json!("other"),
        };
        Self::Error {
            message: error.message.clone(),
            codex_error_info: Some(info),
            kind: serde_json::to_value(error.kind).ok(),
            http_status: error.http_status,
            actions: match error.actions.is_empty() {
                true => None,
                false => serde_json::to_value(&error.actions).ok(),
            },
        }
    }

    /// The error that closes a turn, as an `error` event would tell of it.
    pub fn closing_error(&self) -> Option<TurnError> {
        let Self::TaskComplete { error: Some(error), .. } = self else {
            return None;
        };
        let of = |message: String, fields: &Value| Self::Error {
            message,
            codex_error_info: ["codex_error_info", "codexErrorInfo"]
                .iter()
                .find_map(|key| fields.get(*key))
                .cloned(),
            kind: fields.get("kind").cloned(),
            http_status: None,
            actions: None,
        };
        match error {
            Value::Null | Value::Bool(false) => None,
            Value::String(message) if message.trim().is_empty() => None,
            Value::String(message) => of(message.clone(), &Value::Null).to_error(),
            fields => {
                let message = text(fields, "message").filter(|message| !message.trim().is_empty());
                of(
                    message.unwrap_or_else(|| "The turn failed; the file does not say why.".to_owned()),
                    fields,
                )
                .to_error()
            }
        }
    }

    /// The error that an `error` event tells of; `None` for other events and for those errors that leave the
    /// turn as it is.
    pub fn to_error(&self) -> Option<TurnError> {
        let Self::Error {
            message,
            codex_error_info,
            kind,
            http_status,
            actions,
        } = self
        else {
            return None;
        };
        let info = match codex_error_info {
            Some(Value::String(name)) => Some((name.as_str(), None)),
            Some(Value::Object(map)) => map
                .iter()
                .next()
                .map(|(name, fields)| (name.as_str(), fields.get("http_status_code").and_then(Value::as_u64))),
            _ => None,
        };
        let name = info.map_or("", |(name, _)| name);
        if matches!(name, "thread_rollback_failed" | "active_turn_not_steerable") {
            return None;
        }
        let kind = kind
            .clone()
            .and_then(|kind| serde_json::from_value(kind).ok())
            .unwrap_or(match name {
                "unauthorized" => TurnErrorKind::Unauthorized,
                "model_not_found" => TurnErrorKind::ModelNotFound,
                "context_window_exceeded" => TurnErrorKind::ContextWindowExceeded,
                "usage_limit_exceeded" | "session_budget_exceeded" => TurnErrorKind::UsageLimitExceeded,
                "rate_limit_exceeded" => TurnErrorKind::RateLimitExceeded,
                "server_overloaded" => TurnErrorKind::ServerOverloaded,
                "bad_request" => TurnErrorKind::BadRequest,
                "http_connection_failed" | "response_stream_connection_failed" => TurnErrorKind::ConnectionFailed,
                "response_stream_disconnected" | "response_too_many_failed_attempts" => {
                    TurnErrorKind::StreamDisconnected
                }
                "sandbox_error" => TurnErrorKind::SandboxError,
                _ => TurnErrorKind::ServerError,
            });
        let status = info
            .and_then(|(_, status)| status)
            .and_then(|status| u16::try_from(status).ok());
        Some(TurnError {
            message: message.clone(),
            kind,
            http_status: http_status.or(status),
            actions: actions
                .clone()
                .and_then(|actions| serde_json::from_value(actions).ok())
                .unwrap_or_default(),
        })
    }
}

/// A text field of an object.
pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

pub(super) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// RFC 3339 in UTC with milliseconds.
pub(super) fn format_ms(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

pub(super) fn parse_ms(stamp: &str) -> Option<i64> {
    stamp
        .parse::<jiff::Timestamp>()
        .ok()
        .map(jiff::Timestamp::as_millisecond)
}
