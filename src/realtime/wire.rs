//! The endpoint's protocol, in both versions: what is said becomes its events, and its events what is heard. Pure.
//!
//! Events are told by their type whatever the version: the names of the two do not collide, and servers that speak one
//! with words of the other are understood.

use super::{MOST_PIECE, MOST_TEXT, SAMPLE_RATE, cut};
use crate::protocol::realtime::{RealtimeAudio, RealtimeModality, RealtimeRole, RealtimeVersion};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The tool by which a voice of version 2 hands work to the agent.
const HANDOFF_TOOL: &str = "ask_agent";
/// Longest text of an event that is shown to the person.
const MOST_MESSAGE: usize = 2000;
/// Bytes of an id of the endpoint's. They come back in events and are kept.
const MOST_ID: usize = 256;
/// Tokens of what is written down of one utterance: some twenty minutes of speech.
const TRANSCRIPT_TOKENS: usize = 4096;
/// The id of our events that ask for an answer, by which an error says that it is about one.
const RESPOND_ID: &str = "countersign-respond";

/// How a conversation is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    pub version: RealtimeVersion,
    pub model: String,
    pub voice: String,
    pub modality: RealtimeModality,
    pub instructions: String,
}

/// Something that is said to the endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Sound, in base64.
    Audio(String),
    /// Words that the voice answers.
    Text(String),
    /// Words that it is only to know.
    Mirrored(String),
    /// What came of work that it handed to the agent.
    HandedBack { id: String, text: String },
    /// A word of the protocol: answer now.
    Respond,
}

impl Said {
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Audio(text) | Self::Text(text) | Self::Mirrored(text) | Self::HandedBack { text, .. } => text.len(),
            Self::Respond => 1,
        }
    }
}

/// Something that the endpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is ready; what it calls the conversation.
    Ready(Option<String>),
    Audio {
        item: Option<String>,
        audio: RealtimeAudio,
    },
    TranscriptDelta {
        item: Option<String>,
        role: RealtimeRole,
        delta: String,
    },
    TranscriptDone {
        item: Option<String>,
        role: RealtimeRole,
        text: String,
    },
    SpeechStarted(Option<String>),
    /// Work for the agent.
    Handoff {
        id: String,
        text: String,
    },
    AnswerBegins,
    AnswerEnds,
    /// It answers already, so it does not answer again.
    AnswersAlready,
    /// It does not answer, though it was asked to; why.
    NoAnswer(String),
    Error(String),
    /// An event that should say something and does not.
    Garbage(String),
}

impl Opening {
    /// Parameters of the address.
    pub(super) fn query(&self) -> Vec<(&'static str, &str)> {
        let mut query = vec![("model", self.model.as_str())];
        if self.version == RealtimeVersion::V1 {
            query.push(("intent", "quicksilver"));
        }
        query
    }

    /// The first event.
    pub(super) fn event(&self) -> Value {
        let format = json!({"type": "audio/pcm", "rate": SAMPLE_RATE});
        let session = match self.version {
            RealtimeVersion::V1 => json!({
                "type": "quicksilver",
                "instructions": self.instructions,
                "audio": {"input": {"format": format}, "output": {"voice": self.voice}},
            }),
            RealtimeVersion::V2 => json!({
                "type": "realtime",
                "instructions": self.instructions,
                "output_modalities": [match self.modality {
                    RealtimeModality::Audio => "audio",
                    RealtimeModality::Text => "text",
                }],
                "audio": {
                    "input": {
                        "format": format,
                        "transcription": {"model": "gpt-4o-mini-transcribe"},
                        "turn_detection": {"type": "server_vad", "create_response": true, "interrupt_response": true},
                    },
                    "output": {"format": format, "voice": self.voice},
                },
                "tools": [{
                    "type": "function",
                    "name": HANDOFF_TOOL,
                    "description": "Gives a task to the coding agent, which reads and changes the project and runs commands. \
                                    Returns what the agent says at its end.",
                    "parameters": {
                        "type": "object",
                        "properties": {"task": {"type": "string", "description": "What to do, with all that matters for it."}},
                        "required": ["task"],
                        "additionalProperties": false,
                    },
                }],
                "tool_choice": "auto",
            }),
        };
        json!({"type": "session.update", "session": session})
    }
}

/// The event for what is said. Whether an answer is asked for is for the line to say.
pub(super) fn event(version: RealtimeVersion, said: &Said) -> Value {
    let message = |text: &str| {
        let kind = match version {
            RealtimeVersion::V1 => "text",
            RealtimeVersion::V2 => "input_text",
        };
        let content = json!([{"type": kind, "text": text}]);
        json!({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}})
    };
    match (said, version) {
        (Said::Audio(data), _) => json!({"type": "input_audio_buffer.append", "audio": data}),
        (Said::Text(text) | Said::Mirrored(text), _) => message(text),
        (Said::HandedBack { id, text }, RealtimeVersion::V1) => {
            json!({"type": "conversation.handoff.append", "handoff_id": id, "output_text": text})
        }
        (Said::HandedBack { id, text }, RealtimeVersion::V2) => json!({
            "type": "conversation.item.create",
            "item": {"type": "function_call_output", "call_id": id, "output": text},
        }),
        (Said::Respond, _) => json!({"type": "response.create", "event_id": RESPOND_ID}),
    }
}

/// Whether the endpoint answers only when it is told to.
pub(super) fn wants_answer(version: RealtimeVersion, said: &Said) -> bool {
    version == RealtimeVersion::V2 && matches!(said, Said::Text(_) | Said::HandedBack { .. })
}

/// What an event says; nothing for those that are of no interest here.
pub(super) fn hear(event: &Value) -> Vec<Heard> {
    let Some(kind) = event.get("type").and_then(Value::as_str) else {
        return vec![Heard::Garbage("an event without a type".to_owned())];
    };
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
    let id = |pointer: &str| text(pointer).filter(|id| id.len() <= MOST_ID).map(str::to_owned);
    let item = || id("/item_id");
    let delta = |role| match text("/delta") {
        Some(delta) => vec![Heard::TranscriptDelta {
            item: item(),
            role,
            delta: cut(delta, TRANSCRIPT_TOKENS),
        }],
        None => vec![Heard::Garbage(format!("{kind} without a delta"))],
    };
    let done = |role| {
        let whole = text("/transcript").or(text("/text")).unwrap_or_default();
        vec![Heard::TranscriptDone {
            item: item(),
            role,
            text: cut(whole, TRANSCRIPT_TOKENS),
        }]
    };
    match kind {
        "session.created" | "session.updated" => vec![Heard::Ready(id("/session/id"))],
        "response.output_audio.delta" | "response.audio.delta" | "conversation.output_audio.delta" => {
            audio(event, kind, item())
        }
        "response.output_audio_transcript.delta"
        | "response.audio_transcript.delta"
        | "response.output_text.delta"
        | "response.text.delta"
        | "conversation.output_transcript.delta" => delta(RealtimeRole::Assistant),
        "response.output_audio_transcript.done"
        | "response.audio_transcript.done"
        | "response.output_text.done"
        | "response.text.done"
        | "conversation.output_transcript.done" => done(RealtimeRole::Assistant),
        "conversation.item.input_audio_transcription.delta" | "conversation.input_transcript.delta" => {
            delta(RealtimeRole::User)
        }
        "conversation.item.input_audio_transcription.completed" | "conversation.input_transcript.done" => {
            done(RealtimeRole::User)
        }
        "conversation.item.input_audio_transcription.failed" => {
            vec![Heard::Error(
                message(event).unwrap_or_else(|| "what was said could not be written down".to_owned()),
            )]
        }
        "input_audio_buffer.speech_started" => vec![Heard::SpeechStarted(item())],
        "response.created" => vec![Heard::AnswerBegins],
        "response.done" | "response.cancelled" => {
            let outputs = event.pointer("/response/output").and_then(Value::as_array);
            let calls = outputs.into_iter().flatten().filter_map(call);
            let failed = (text("/response/status") == Some("failed")).then(|| {
                let reason = event
                    .pointer("/response/status_details/error/message")
                    .and_then(Value::as_str);
                Heard::Error(shown(reason.unwrap_or("an answer failed")))
            });
            calls.chain(failed).chain([Heard::AnswerEnds]).collect()
        }
        "response.output_item.done" | "conversation.item.done" => {
            event.get("item").and_then(call).into_iter().collect()
        }
        "conversation.handoff.requested" => {
            let said = text("/input_transcript").map(str::trim).filter(|said| !said.is_empty());
            match (id("/handoff_id"), said) {
                (Some(id), Some(said)) => vec![handoff(id, said)],
                _ => vec![Heard::Garbage(format!(
                    "{kind} without words, or without an id that can be kept"
                ))],
            }
        }
        "error" => match text("/error/code") {
            Some("conversation_already_has_active_response") => vec![Heard::AnswersAlready],
            _ => {
                let why = message(event).unwrap_or_else(|| "an error without a word about it".to_owned());
                vec![match text("/error/event_id") == Some(RESPOND_ID) {
                    true => Heard::NoAnswer(why),
                    false => Heard::Error(why),
                }]
            }
        },
        _ => Vec::new(),
    }
}

/// A call of the tool that hands work over.
fn call(item: &Value) -> Option<Heard> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    if text("type") != Some("function_call") || text("name") != Some(HANDOFF_TOOL) {
        return None;
    }
    let id = text("call_id")?;
    if id.len() > MOST_ID {
        return Some(Heard::Garbage(format!("a call with an id of {} bytes", id.len())));
    }
    let arguments = text("arguments").unwrap_or_default();
    let task = serde_json::from_str::<Value>(arguments)
        .ok()
        .and_then(|arguments| Some(arguments.get("task")?.as_str()?.trim().to_owned()))
        .filter(|task| !task.is_empty());
    Some(match task {
        Some(text) => handoff(id.to_owned(), &text),
        None => Heard::Garbage(format!("a call of {HANDOFF_TOOL} without a task")),
    })
}

/// Work for the agent. Half of a task is another task, so one that is too long is none.
fn handoff(id: String, text: &str) -> Heard {
    match text.len() <= MOST_TEXT {
        true => Heard::Handoff {
            id,
            text: text.to_owned(),
        },
        false => Heard::Garbage(format!(
            "a task of {} bytes, and at most {MOST_TEXT} are read",
            text.len()
        )),
    }
}

/// Sound in pieces that are not too large, whole samples each.
fn audio(event: &Value, kind: &str, item: Option<String>) -> Vec<Heard> {
    let data = event.get("delta").or(event.get("data")).and_then(Value::as_str);
    let Some(bytes) = data.and_then(|data| STANDARD.decode(data).ok()) else {
        return vec![Heard::Garbage(format!("{kind} without sound in base64"))];
    };
    let number = |names: [&str; 2]| names.iter().find_map(|name| event.get(name)?.as_u64());
    let sample_rate = number(["sample_rate", "rate"]).and_then(|rate| u32::try_from(rate).ok());
    let channels = number(["channels", "num_channels"]).and_then(|channels| u16::try_from(channels).ok());
    let channels = channels.filter(|channels| (1..=8).contains(channels)).unwrap_or(1);
    let frame = usize::from(channels) * 2;
    if bytes.len() % frame != 0 {
        return vec![Heard::Garbage(format!("{kind} with half a sample"))];
    }
    let pieces = bytes.chunks(MOST_PIECE / 6 / frame * frame);
    pieces
        .map(|piece| Heard::Audio {
            item: item.clone(),
            audio: RealtimeAudio {
                data: STANDARD.encode(piece),
                sample_rate: sample_rate.filter(|rate| *rate > 0).unwrap_or(SAMPLE_RATE),
                channels,
            },
        })
        .collect()
}

fn message(event: &Value) -> Option<String> {
    let found = ["/error/message", "/message", "/error/code", "/error"];
    let text = found.iter().find_map(|pointer| event.pointer(pointer)?.as_str())?;
    Some(shown(text)).filter(|text| !text.is_empty())
}

fn shown(text: &str) -> String {
    let text = text.trim();
    text[..text.floor_char_boundary(MOST_MESSAGE)].to_owned()
}

#[cfg(test)]
mod tests;
