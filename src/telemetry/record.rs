//! What is sent, before it has the form of any wire: records, spans and counters, each with its fields.

use std::time::SystemTime;

/// Nanoseconds since the epoch.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Texts(Vec<String>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

/// The fields of a record, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fields(pub(super) Vec<(&'static str, Value)>);

impl Fields {
    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Nothing if there is no value.
    #[must_use]
    pub(super) fn with_some(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// What they take in memory, in bytes, about.
    fn size(&self) -> usize {
        let value = |value: &Value| match value {
            Value::Text(text) => text.len(),
            Value::Number(_) => 8,
            Value::Texts(texts) => texts.iter().map(|text| text.len() + 24).sum(),
        };
        self.0.iter().map(|(_, field)| 64 + value(field)).sum()
    }
}

/// Where in a trace something belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) at: u64,
    pub(super) name: &'static str,
    /// It tells of a failure.
    pub(super) is_failure: bool,
    pub(super) fields: Fields,
    pub(super) place: Option<Place>,
}

/// Something that took its time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) place: Place,
    pub(super) parent: Option<[u8; 8]>,
    /// The vendor's part of the caller's trace.
    pub(super) state: String,
    pub(super) name: String,
    /// It is a request to somebody else.
    pub(super) is_client: bool,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) fields: Fields,
    /// What happened meanwhile.
    pub(super) events: Vec<(u64, &'static str)>,
    /// Events that were too many.
    pub(super) dropped: u32,
    /// How it ended; absent where that is not told.
    pub(super) status: Option<Result<(), String>>,
}

/// A number at the end of something that began at `start`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Count {
    pub(super) name: &'static str,
    pub(super) start: u64,
    pub(super) at: u64,
    pub(super) value: u64,
    pub(super) fields: Fields,
}

/// What a line to a collector carries: always the same kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    Record(Record),
    Span(Span),
    Count(Count),
}

impl Entry {
    /// What it takes in memory, in bytes, about.
    pub(super) fn size(&self) -> usize {
        256 + match self {
            Self::Record(record) => record.fields.size(),
            Self::Span(span) => span.fields.size() + 24 * span.events.len() + span.name.len(),
            Self::Count(count) => count.fields.size(),
        }
    }
}
