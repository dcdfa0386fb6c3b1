//! One answer as it arrives: bytes to events, with the idle limit and the bounds.

use crate::model::error::{Endpoint, ErrorKind, KeyFrom, ModelError};
use crate::model::failure::{Asked, plain};
use crate::model::reading::Reading;
use crate::model::sse::{MAX_EVENT_BYTES, SseEvent, SseParser};
use crate::model::watch::{Ending, Exchange};
use crate::model::{ModelEvent, anthropic, chat, json, responses};
use crate::protocol::model::RateLimits;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The most one answer may hold, in bytes on the wire.
const MAX_ANSWER_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a body that are kept for an error.
const BEGINNING: usize = 1000;
/// How long the closing mark may take once the model has said its last word.
const CLOSING_LIMIT: Duration = Duration::from_secs(5);
/// The same where what said so brought a part of the answer, and more may come.
const AMID_LIMIT: Duration = Duration::from_secs(60);
/// How long the rest of a complete answer is read, so that its connection can be used again.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) enum Decoder {
    Responses(responses::Decoder),
    Chat(Box<chat::Decoder>),
    Anthropic(Box<anthropic::Decoder>),
}

/// The first of several JSON documents in a row, which is how other APIs stream.
fn first_of_several(text: &str) -> Option<serde_json::Value> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter();
    let first: serde_json::Value = documents.next()?.ok()?;
    (documents.next()?.is_ok() && first.is_object()).then_some(first)
}

/// What is told of the end of an answer that no event marks, and of an answer that breaks off.
const ENDED: &str = "stream.ended";
const BROKEN: &str = "stream.broken";

/// The kind of an event, as the provider has it.
fn kind(event: &SseEvent) -> &str {
    #[derive(serde::Deserialize)]
    struct Typed<'a> {
        #[serde(borrow, alias = "object")]
        r#type: Option<&'a str>,
    }
    let named = event.event.as_deref();
    let typed = || serde_json::from_str::<Typed<'_>>(&event.data).ok()?.r#type;
    let plain = || (event.data.trim() == "[DONE]").then_some("[DONE]");
    named.or_else(typed).or_else(plain).unwrap_or("message")
}

/// Tells who watches.
fn tell(exchange: &mut Option<Box<dyn Exchange>>, kind: &str, outcome: Result<Option<Ending>, &ModelError>) {
    let Some(exchange) = exchange else { return };
    match outcome {
        Ok(ending) => exchange.event(kind, Ok(ending)),
        Err(error) => exchange.event(kind, Err(&error.to_string())),
    }
}

fn ending<'a>(mut events: impl Iterator<Item = &'a ModelEvent>) -> Option<Ending> {
    events.find_map(|event| match event {
        ModelEvent::Completed { usage, .. } => Some(Ending { usage: *usage }),
        _ => None,
    })
}

/// What the body turns out to be.
#[derive(Debug)]
enum Body {
    /// Nothing but white space so far.
    Unknown(Vec<u8>),
    Events(SseParser),
    /// No event stream: a JSON document, or a web page.
    Document(Vec<u8>),
}

/// What the request knew that its errors need.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) model: String,
    pub(super) from: KeyFrom,
    pub(super) key: Option<String>,
    pub(super) further: Vec<String>,
    pub(super) idle_limit: Duration,
}

impl Context {
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked {
            model: &self.model,
            from: Some(&self.from),
            key: self.key.as_deref(),
            further: &self.further,
            now: jiff::Timestamp::now().as_second(),
        }
    }
}

/// An answer of the model. Dropping it closes the connection.
#[derive(Debug)]
pub struct ModelStream {
    /// Absent once the stream is over.
    response: Option<reqwest::Response>,
    body: Body,
    decoder: Decoder,
    ready: VecDeque<ModelEvent>,
    error: Option<ModelError>,
    context: Context,
    deadline: Instant,
    bytes: u64,
    request_id: Option<String>,
    /// The first bytes of a body that should be events.
    beginning: Vec<u8>,
    /// Any event was there.
    has_events: bool,
    /// Who watches it.
    exchange: Option<Box<dyn Exchange>>,
}

impl ModelStream {
    pub(super) fn new(response: reqwest::Response, decoder: Decoder, context: Context) -> Self {
        let limits = RateLimits::from_headers(response.headers(), jiff::Timestamp::now().as_second());
        let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        Self {
            request_id: header("x-request-id"),
            deadline: Instant::now() + context.idle_limit,
            response: Some(response),
            body: Body::Unknown(Vec::new()),
            decoder,
            ready: limits.map(ModelEvent::RateLimits).into_iter().collect(),
            error: None,
            context,
            bytes: 0,
            beginning: Vec::new(),
            has_events: false,
            exchange: None,
        }
    }

    /// The same under somebody's eyes.
    pub(super) fn watched(self, exchange: Option<Box<dyn Exchange>>) -> Self {
        Self { exchange, ..self }
    }

    /// The next event. After an error or `Completed` there is none. Dropping this future loses nothing.
    pub async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.error.take() {
                return Some(Err(error));
            }
            let response = self.response.as_mut()?;
            let arrived = tokio::time::timeout_at(self.deadline, response.chunk()).await;
            let outcome = match arrived {
                Ok(Ok(Some(bytes))) => self.take(&bytes),
                Ok(Ok(None)) => self.end(None),
                Ok(Err(error)) => self.end(Some(super::trouble::reason(&error))),
                Err(_) if self.finished() => self.end(None),
                Err(_) => Err(ErrorKind::Idle {
                    limit: self.context.idle_limit,
                }),
            };
            if let Err(kind) = outcome {
                let error = ModelError::new(kind, &self.context.endpoint);
                tell(&mut self.exchange, BROKEN, Err(&error));
                self.error = Some(error);
                self.response = None;
            } else if self.completed() {
                self.drain();
            }
        }
    }

    /// Events whose data could not be read so far.
    pub fn skipped(&self) -> u64 {
        self.reading().skipped
    }

    /// The provider's name for the request, for its support.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    fn completed(&self) -> bool {
        self.reading().completed
    }

    fn reading(&self) -> &Reading {
        match &self.decoder {
            Decoder::Responses(decoder) => &decoder.reading,
            Decoder::Chat(decoder) => &decoder.reading,
            Decoder::Anthropic(decoder) => &decoder.reading,
        }
    }

    fn finished(&self) -> bool {
        match &self.decoder {
            Decoder::Responses(_) => false,
            Decoder::Chat(decoder) => decoder.finished(),
            Decoder::Anthropic(decoder) => decoder.finished(),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), ErrorKind> {
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(ErrorKind::Protocol {
                reason: format!("it is larger than {MAX_ANSWER_BYTES} bytes"),
            });
        }
        match &mut self.body {
            Body::Unknown(start) => {
                start.extend_from_slice(bytes);
                let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
                let is_packed = text.starts_with(b"\x1f\x8b");
                let first = text.iter().copied().find(|byte| !byte.is_ascii_whitespace());
                let start = match first {
                    // A mark that is cut in two, or white space: wait for more.
                    Some(0xef) if text.len() < 3 => return Ok(()),
                    Some(0x1f) if text.len() < 2 => return Ok(()),
                    None if start.len() < 4096 => return Ok(()),
                    _ => std::mem::take(start),
                };
                if is_packed {
                    let reason = "it is compressed and does not say so".to_owned();
                    return Err(ErrorKind::Protocol { reason });
                }
                // No event stream begins like that, whatever the content type says.
                self.body = match first {
                    Some(b'{' | b'[' | b'<') => Body::Document(Vec::new()),
                    _ => Body::Events(SseParser::default()),
                };
                self.bytes -= start.len() as u64;
                self.take(&start)
            }
            Body::Events(parser) => {
                if !self.has_events {
                    let room = BEGINNING - self.beginning.len();
                    self.beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
                let mut events = Vec::new();
                let parsed = parser.push(bytes, &mut events);
                self.decode(&events)?;
                parsed.map_err(|error| ErrorKind::Protocol {
                    reason: error.to_string(),
                })
            }
            Body::Document(document) => {
                document.extend_from_slice(bytes);
                if document.len() > MAX_EVENT_BYTES {
                    let reason = format!("it is no event stream, and larger than {MAX_EVENT_BYTES} bytes");
                    return Err(ErrorKind::Protocol { reason });
                }
                self.deadline = Instant::now() + self.context.idle_limit;
                Ok(())
            }
        }
    }

    fn decode(&mut self, events: &[SseEvent]) -> Result<(), ErrorKind> {
        if events.is_empty() {
            return Ok(());
        }
        self.has_events = true;
        let asked = self.context.asked();
        for event in events {
            let before = self.ready.len();
            let decoded = match &mut self.decoder {
                Decoder::Responses(decoder) => decoder.event(event, asked, &mut self.ready),
                Decoder::Chat(decoder) => decoder.event(event, asked, &mut self.ready),
                Decoder::Anthropic(decoder) => decoder.event(event, asked, &mut self.ready),
            };
            if self.exchange.is_some() {
                let ending = ending(self.ready.range(before..));
                let error = decoded.as_ref().err();
                let error = error.map(|kind| ModelError::new(kind.clone(), &self.context.endpoint));
                tell(&mut self.exchange, kind(event), error.as_ref().map_or(Ok(ending), Err));
            }
            decoded?;
        }
        // Comments do not count, nor do events that are nothing else: a server that only keeps the line open is silent all
        // the same.
        let has_pings = matches!(self.decoder, Decoder::Anthropic(_));
        if has_pings && events.iter().all(|event| kind(event) == "ping") {
            return Ok(());
        }
        let is_amid = matches!(&self.decoder, Decoder::Chat(decoder) if decoder.is_amid());
        let limit = match (self.finished(), is_amid) {
            (false, _) => self.context.idle_limit,
            (true, true) => AMID_LIMIT.min(self.context.idle_limit),
            (true, false) => CLOSING_LIMIT.min(self.context.idle_limit),
        };
        self.deadline = Instant::now() + limit;
        Ok(())
    }

    /// The body is over; `broken` says why if it did not end by itself.
    fn end(&mut self, broken: Option<String>) -> Result<(), ErrorKind> {
        self.response = None;
        let body = std::mem::replace(&mut self.body, Body::Unknown(Vec::new()));
        match body {
            Body::Events(mut parser) => {
                let mut events = Vec::new();
                parser.finish(&mut events);
                self.decode(&events)?;
            }
            Body::Document(document) if broken.is_none() => return self.document(&document),
            Body::Document(_) | Body::Unknown(_) => {}
        }
        let before = self.ready.len();
        let ended = match &mut self.decoder {
            Decoder::Responses(decoder) => decoder.end(),
            Decoder::Chat(decoder) => decoder.end(&mut self.ready),
            Decoder::Anthropic(decoder) => decoder.end(&mut self.ready),
        };
        if let Some(ending) = ending(self.ready.range(before..)) {
            tell(&mut self.exchange, ENDED, Ok(Some(ending)));
        }
        ended.map_err(|kind| match kind {
            ErrorKind::StreamEnded { reason: None } => ErrorKind::StreamEnded {
                reason: broken.or_else(|| self.other_words()),
            },
            kind => kind,
        })
    }

    /// What came in the place of events: somebody on the way says something in plain words.
    fn other_words(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.beginning);
        let text = text.trim_start_matches('\u{feff}').trim();
        let is_field = ["data", "event", "id", "retry", ":"]
            .iter()
            .any(|field| text.starts_with(field));
        (!self.has_events && !text.is_empty() && !is_field)
            .then(|| format!("it is no event stream: {}", self.context.asked().clean(&plain(text))))
    }

    fn document(&mut self, document: &[u8]) -> Result<(), ErrorKind> {
        let text = String::from_utf8_lossy(document);
        let text = text.trim_start_matches('\u{feff}');
        let asked = self.context.asked();
        match json::parse(text) {
            Some(serde_json::Value::Array(list)) if list.len() == 1 && list[0].is_object() => {
                self.whole(list.into_iter().next().unwrap_or_default())
            }
            Some(value) if value.is_object() => self.whole(value),
            Some(_) => Err(ErrorKind::Protocol {
                reason: format!("it is no event stream: {}", asked.clean(&plain(text))),
            }),
            // A document that breaks off is a broken answer; a page is not the API at all.
            None if text.trim_start().starts_with(['{', '[']) => match first_of_several(text) {
                Some(first) if first.get("error").is_some_and(|error| !error.is_null()) => self.whole(first),
                Some(_) => Err(ErrorKind::Protocol {
                    reason: format!(
                        "it is one JSON document after the other, and no event stream: {}",
                        asked.clean(&plain(text))
                    ),
                }),
                None => Err(ErrorKind::StreamEnded {
                    reason: Some("its JSON is not complete".to_owned()),
                }),
            },
            None => {
                let message = crate::model::failure::Report::from_body(document, asked.now).message;
                Err(ErrorKind::Protocol {
                    reason: format!("it is a web page: {}", asked.clean(&message)),
                })
            }
        }
    }

    fn whole(&mut self, value: serde_json::Value) -> Result<(), ErrorKind> {
        let asked = self.context.asked();
        let before = self.ready.len();
        let decoded = match &mut self.decoder {
            Decoder::Responses(decoder) => decoder.document(value, asked, &mut self.ready),
            Decoder::Chat(decoder) => decoder.document(value, asked, &mut self.ready),
            Decoder::Anthropic(decoder) => decoder.document(value, asked, &mut self.ready),
        };
        if let Some(ending) = ending(self.ready.range(before..)) {
            tell(&mut self.exchange, ENDED, Ok(Some(ending)));
        }
        decoded
    }

    /// Reads what follows a complete answer, in the background and for a moment: a connection whose answer was read to
    /// its end serves the next request without a new handshake.
    fn drain(&mut self) {
        let Some(mut response) = self.response.take() else {
            return;
        };
        tokio::spawn(async move {
            let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
            // Past the limit the connection is closed, which is all right too.
            let _ = tokio::time::timeout(DRAIN_LIMIT, rest).await;
        });
    }
}
