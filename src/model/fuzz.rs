//! Bodies that are spoiled at random, the same ones each time: whatever comes, the decoders neither panic nor break a
//! promise of [`crate::model`], and give no more than came. `COUNTERSIGN_FUZZ=100000` tries so many of each wire.

use super::conformance::{Heard, bodies};
use crate::config::provider::{Provider, WireApi};
use crate::model::item::ResponseItem;
use crate::model::sse::SseParser;
use crate::model::{Line, ModelClient, ModelEvent, conformance};
use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use futures::{FutureExt as _, stream};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// So many bodies of each wire, where nobody asks for more.
const CASES: u64 = 2_000;

/// What is put into bodies.
const WORDS: &[&str] = &[
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "data: ",
    "data:",
    "event: ",
    "event: error\n",
    ": ",
    "[DONE]",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "null",
    "\\ud83d",
    "\\u0000",
    "-1",
    "1e999",
    "99999999999999999999",
    "\u{feff}",
    "🦀",
    "<html>",
    "data: {}\n\n",
    "data: [DONE]\n\n",
    "data: null\n\n",
    "data: {\"error\":{}}\n\n",
];

/// A generator of numbers that is small and always the same (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).expect("below a usize")
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

/// Spoils bytes: flips, drops, doubles, puts something in, goes on with another body.
fn spoil(body: &mut Vec<u8>, others: &[Vec<u8>], chance: &mut Chance) {
    for _ in 0..=chance.below(6) {
        let at = chance.below(body.len() + 1);
        let until = (at + chance.below(60)).min(body.len());
        match chance.below(6) {
            0 if at < body.len() => body[at] ^= 1 << chance.below(8),
            1 => drop(body.drain(at..until)),
            2 => {
                let again = body[at..until].to_vec();
                body.splice(at..at, again);
            }
            3 => {
                let other = &others[chance.below(others.len())];
                let from = chance.below(other.len() + 1);
                body.truncate(at);
                body.extend_from_slice(&other[from..]);
            }
            _ => {
                let word = chance.one(WORDS);
                body.splice(at..at, word.bytes());
            }
        }
    }
}

/// Spoils the values in the events of a body, so that it stays readable.
fn spoil_values(body: &[u8], chance: &mut Chance) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let mut events: Vec<String> = text.split("\n\n").map(str::to_owned).collect();
    for event in &mut events {
        if let Some(mut value) = event
            .strip_prefix("data: ")
            .and_then(|data| serde_json::from_str(data).ok())
        {
            let depth = chance.below(7);
            spoil_value(&mut value, depth, chance);
            *event = format!("data: {value}");
        }
    }
    for _ in 0..chance.below(3) {
        let (one, other) = (chance.below(events.len()), chance.below(events.len()));
        match chance.below(3) {
            0 => events.swap(one, other),
            1 => events.insert(one, events[other].clone()),
            _ => drop(events.remove(one)),
        }
        if events.is_empty() {
            break;
        }
    }
    events.join("\n\n").into_bytes()
}

fn spoil_value(value: &mut Value, depth: usize, chance: &mut Chance) {
    match value {
        Value::Object(fields) if depth > 0 && !fields.is_empty() => {
            let at = chance.below(fields.len());
            let name = fields.keys().nth(at).cloned().unwrap_or_default();
            match chance.below(12) {
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert("type".to_owned(), json!("response.completed"))),
                _ => spoil_value(&mut fields[&name], depth - 1, chance),
            }
        }
        Value::Array(values) if depth > 0 && !values.is_empty() => {
            let at = chance.below(values.len());
            match chance.below(6) {
                0 => values.push(values[at].clone()),
                _ => spoil_value(&mut values[at], depth - 1, chance),
            }
        }
        // The text of a call or of an id makes the most trouble.
        Value::String(text) if chance.below(2) == 0 => {
            let at = text.char_indices().map(|(at, _)| at).nth(chance.below(8)).unwrap_or(0);
            text.insert_str(at, chance.one(WORDS));
        }
        value => {
            *value = match chance.below(9) {
                0 => Value::Null,
                1 => json!(-1),
                2 => json!(u64::MAX),
                3 => json!(1e300),
                4 => json!(""),
                5 => json!([]),
                6 => Value::Object(Map::new()),
                7 => json!([{"type": "text", "text": "x"}]),
                _ => (0..40).fold(json!({}), |inner, _| json!({"item": [inner]})),
            }
        }
    }
}

/// A client that hears these bytes, cut somewhere.
fn client(body: Vec<u8>, wire_api: WireApi, chance: &mut Chance) -> ModelClient {
    let mut chunks = Vec::new();
    let mut rest = body.as_slice();
    while !rest.is_empty() {
        let (chunk, more) = rest.split_at((1 + chance.below(200)).min(rest.len()));
        chunks.push(Bytes::copy_from_slice(chunk));
        rest = more;
    }
    let line: Line = Arc::new(move |_, _, _| {
        let chunks = chunks.clone().into_iter().map(Ok::<_, std::io::Error>);
        let body = Body::from_stream(stream::iter(chunks));
        async move { Response::new(body) }.boxed()
    });
    let provider = Provider {
        base_url: "http://127.0.0.1:9/v1".into(),
        wire_api,
        ..Provider::default()
    };
    ModelClient::new(&provider, None, "fuzz").over(line)
}

/// Bytes of text that an answer has brought.
fn size(heard: &Heard) -> usize {
    let size = |event: &ModelEvent| match event {
        ModelEvent::TextDelta { delta, .. }
        | ModelEvent::ReasoningDelta { delta, .. }
        | ModelEvent::ReasoningSummaryDelta { delta, .. } => delta.len(),
        ModelEvent::ItemDone(item) | ModelEvent::ItemAdded(item) => match item {
            ResponseItem::FunctionCall { arguments, name, .. } => arguments.len() + name.len(),
            ResponseItem::CustomToolCall { input, name, .. } => input.len() + name.len(),
            item => item.text().len(),
        },
        _ => 0,
    };
    heard.events.iter().map(size).sum()
}

async fn spoiled(wire_api: WireApi) {
    let cases = std::env::var("COUNTERSIGN_FUZZ")
        .ok()
        .and_then(|cases| cases.parse().ok());
    let bodies = bodies(wire_api);
    for seed in 0..cases.unwrap_or(CASES) {
        let mut chance = Chance(seed);
        let mut body = bodies[chance.below(bodies.len())].clone();
        if chance.below(3) > 0 {
            body = spoil_values(&body, &mut chance);
        }
        if chance.below(3) > 0 {
            spoil(&mut body, &bodies, &mut chance);
        }
        let length = body.len();
        let shown = String::from_utf8_lossy(&body).into_owned();
        let heard = std::panic::AssertUnwindSafe(async {
            // It looks whether the promises are kept.
            conformance::ask(&client(body, wire_api, &mut chance)).await
        });
        let heard = heard.catch_unwind().await;
        let heard = heard.unwrap_or_else(|_| panic!("seed {seed} over {wire_api:?}:\n{shown}"));
        // A text comes as a delta, in an item, and once more in the last event; lone bytes become three.
        let bound = 12 * length + 4096;
        assert!(size(&heard) <= bound, "seed {seed}: {} of {length} bytes", size(&heard));
        assert!(
            heard.events.len() <= 4 * length + 16,
            "seed {seed}: {} events",
            heard.events.len()
        );
        let message = heard.error.map(|error| error.to_string().len()).unwrap_or_default();
        assert!(message <= 8192, "seed {seed}: a message of {message} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn spoiled_bodies_of_responses() {
    spoiled(WireApi::Responses).await;
}

#[tokio::test(start_paused = true)]
async fn spoiled_bodies_of_chat() {
    spoiled(WireApi::Chat).await;
}

#[tokio::test(start_paused = true)]
async fn spoiled_bodies_of_anthropic() {
    spoiled(WireApi::Anthropic).await;
}

/// The parser of events by itself, with bytes that are mostly its own syntax, and a small bound.
#[test]
fn spoiled_events() {
    for seed in 0..20_000 {
        let mut chance = Chance(seed);
        let mut body = Vec::new();
        while chance.below(40) > 0 {
            body.extend_from_slice(chance.one(WORDS).as_bytes());
        }
        let (mut parser, mut events, mut rest) = (SseParser::with_limit(64), Vec::new(), body.as_slice());
        while !rest.is_empty() {
            let (chunk, more) = rest.split_at((1 + chance.below(20)).min(rest.len()));
            if parser.push(chunk, &mut events).is_err() {
                break;
            }
            rest = more;
        }
        parser.finish(&mut events);
        assert!(
            events.iter().all(|event| event.data.len() <= 64 * 3),
            "seed {seed}: {events:?}"
        );
    }
}
