//! The trace of a thread: a span for it, one for each of its turns, and below them one for each request to a model and each
//! call of a tool. What happens in the protocol stands in the spans as events, by name and without content. A thread's own
//! span is sent last, with how it ended: where it is missing, the server has crashed.

use super::carrier::Carrier;
use super::line::Line;
use super::record::{Entry, Fields, Place, Span, now};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Events noted in one span.
const MOST_EVENTS: usize = 512;

/// The trace that the server itself is part of, by its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parent {
    trace: [u8; 16],
    span: [u8; 8],
    is_sampled: bool,
    state: String,
}

impl Parent {
    /// From `TRACEPARENT` and `TRACESTATE`. One that is wrong is none, and the log says so.
    pub(super) fn of_environment(env: &BTreeMap<String, String>) -> Option<Self> {
        let text = env
            .get("TRACEPARENT")
            .map(|text| text.trim())
            .filter(|text| !text.is_empty())?;
        let carrier = Carrier::of(text, env.get("TRACESTATE").map(|state| state.trim()));
        let Some(carrier) = carrier else {
            tracing::warn!("TRACEPARENT is ignored: it is not of the form version-trace-span-flags");
            return None;
        };
        Some(Self {
            trace: bytes(carrier.trace_id)?,
            span: bytes(carrier.span_id)?,
            is_sampled: u8::from_str_radix(carrier.flags, 16).is_ok_and(|flags| flags & 1 == 1),
            state: carrier.state.unwrap_or_default().to_owned(),
        })
    }
}

fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A span's id: the random end of a fresh id.
pub(super) fn fresh_span() -> [u8; 8] {
    let id = *uuid::Uuid::now_v7().as_bytes();
    let mut span = [0; 8];
    span.copy_from_slice(&id[8..]);
    span
}

/// A thread's trace.
#[derive(Debug)]
pub(super) struct Trace {
    /// Absent: the trace is handed on to the models and nothing of it is sent.
    line: Option<Arc<Line>>,
    trace: [u8; 16],
    /// The thread's own span.
    span: [u8; 8],
    parent: Option<[u8; 8]>,
    is_sampled: bool,
    state: String,
    start: u64,
    notes: Mutex<Notes>,
}

/// What happened in a span.
#[derive(Debug, Default)]
pub(super) struct Notes {
    events: Vec<(u64, &'static str)>,
    dropped: u32,
}

impl Notes {
    pub(super) fn add(&mut self, name: &'static str) {
        match self.events.len() < MOST_EVENTS {
            true => self.events.push((now(), name)),
            false => self.dropped = self.dropped.saturating_add(1),
        }
    }
}

/// A span that is over.
pub(super) struct Done {
    pub(super) span: [u8; 8],
    pub(super) parent: [u8; 8],
    pub(super) name: String,
    pub(super) is_client: bool,
    pub(super) start: u64,
    pub(super) fields: Fields,
    pub(super) notes: Notes,
    pub(super) status: Option<Result<(), String>>,
}

impl Trace {
    /// Begins the trace of a thread: where there is somewhere to send it, or somebody else's trace goes on.
    pub(super) fn begin(line: Option<Arc<Line>>, parent: Option<&Parent>) -> Option<Self> {
        if line.is_none() && parent.is_none() {
            return None;
        }
        let is_sampled = parent.map_or(line.is_some(), |parent| parent.is_sampled);
        Some(Self {
            // Whoever began the trace has decided whether it is kept.
            line: line.filter(|_| is_sampled),
            trace: parent.map_or_else(|| *uuid::Uuid::now_v7().as_bytes(), |parent| parent.trace),
            span: fresh_span(),
            parent: parent.map(|parent| parent.span),
            is_sampled,
            state: parent.map(|parent| parent.state.clone()).unwrap_or_default(),
            start: now(),
            notes: Mutex::default(),
        })
    }

    /// The thread's span.
    pub(super) fn root(&self) -> [u8; 8] {
        self.span
    }

    pub(super) fn place(&self, span: [u8; 8]) -> Place {
        Place {
            trace: self.trace,
            span,
        }
    }

    /// What tells others that they are part of a span.
    pub(super) fn headers(&self, span: [u8; 8]) -> Vec<(&'static str, String)> {
        let flags = u8::from(self.is_sampled);
        let parent = format!("00-{}-{}-{flags:02x}", hex(&self.trace), hex(&span));
        let state = Some(self.state.clone()).filter(|state| !state.is_empty());
        let state = state.map(|state| ("tracestate", state));
        [("traceparent", parent)].into_iter().chain(state).collect()
    }

    /// Notes something that belongs to no turn.
    pub(super) fn note(&self, name: &'static str) {
        if self.line.is_some() {
            self.notes.lock().unwrap_or_else(PoisonError::into_inner).add(name);
        }
    }

    /// Sends a span below the thread's.
    pub(super) fn done(&self, done: Done) {
        self.send(done, |parent| Some(parent));
    }

    /// Sends the thread's own span.
    pub(super) fn end(&self, fields: Fields, status: Result<(), String>) {
        let notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        let done = Done {
            span: self.span,
            parent: [0; 8],
            name: "thread".to_owned(),
            is_client: false,
            start: self.start,
            fields,
            notes,
            status: Some(status),
        };
        self.send(done, |_| self.parent);
    }

    fn send(&self, done: Done, parent: impl FnOnce([u8; 8]) -> Option<[u8; 8]>) {
        let Some(line) = &self.line else { return };
        line.put(Entry::Span(Span {
            place: self.place(done.span),
            parent: parent(done.parent),
            state: self.state.clone(),
            name: done.name,
            is_client: done.is_client,
            start: done.start,
            end: now().max(done.start),
            fields: done.fields,
            events: done.notes.events,
            dropped: done.notes.dropped,
            status: done.status,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn env(parent: &str, state: Option<&str>) -> BTreeMap<String, String> {
        let state = state.map(|state| ("TRACESTATE".to_owned(), state.to_owned()));
        state
            .into_iter()
            .chain([("TRACEPARENT".to_owned(), parent.to_owned())])
            .collect()
    }

    #[test]
    fn a_trace_goes_on_where_the_environment_says() {
        let parent = Parent::of_environment(&env(PARENT, Some("a=b"))).expect("a parent");
        let trace = Trace::begin(None, Some(&parent)).expect("it is handed on");
        let headers = trace.headers(trace.root());
        assert!(headers[0].1.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && headers[0].1.ends_with("-01"));
        assert!(!headers[0].1.contains("b7ad6b7169203331"), "a span of its own");
        assert_eq!(headers[1], ("tracestate", "a=b".to_owned()));
        let unsampled = Parent::of_environment(&env(&PARENT.replace("-01", "-00"), None)).expect("a parent");
        let trace = Trace::begin(None, Some(&unsampled)).expect("it is handed on");
        assert!(trace.headers(trace.root())[0].1.ends_with("-00"));
        for wrong in [
            "",
            " ",
            "00-1-2-3",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        ] {
            assert_eq!(Parent::of_environment(&env(wrong, None)), None, "{wrong}");
        }
        assert!(Trace::begin(None, None).is_none());
        assert_ne!(fresh_span(), fresh_span());
    }
}
