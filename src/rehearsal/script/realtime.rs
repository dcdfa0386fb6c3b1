//! The realtime part of a script: connections, each with what the endpoint does in it.

use super::{At, Output, ScriptError};
use serde_json::Value;
use std::time::Duration;

/// One thing that the endpoint does.
#[derive(Clone, Debug, PartialEq)]
pub enum Turnout {
    /// An event, as text.
    Event(Value),
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
    /// A text message of so many bytes.
    Huge(usize),
    Ping(String),
    /// Bytes past the protocol.
    RawBytes(Vec<u8>),
    /// Waits for an event of this type, the first that was not waited for.
    Await(String),
    Wait(Duration),
    Hold(String),
    /// Takes the connection up now.
    Begin,
    Close {
        code: u16,
        reason: String,
    },
    Drop,
    /// Says and reads nothing from here on.
    Stall,
    /// An answer with a status in the place of a connection.
    Fail {
        status: u16,
        headers: Vec<(String, String)>,
        body: Option<Value>,
    },
}

pub(super) const KINDS: &[&str] = &[
    "event",
    "text",
    "binary",
    "huge",
    "ping",
    "raw_bytes",
    "await",
    "wait_ms",
    "hold",
    "begin",
    "close",
    "drop",
    "stall",
    "fail",
];

impl Turnout {
    pub(super) fn read(at: At<'_>) -> Result<Self, ScriptError> {
        let Value::Object(fields) = at.value else {
            return Err(at.error("must be an object, such as {\"event\": {…}}"));
        };
        let name = match fields.keys().collect::<Vec<_>>()[..] {
            [name] if KINDS.contains(&name.as_str()) => name.as_str(),
            [name] => {
                let known = KINDS.join(", ");
                return Err(at.error(&format!(
                    "there is no `{name}` in a realtime connection; there are {known}"
                )));
            }
            _ => return Err(at.error("must have exactly one field")),
        };
        let inner = at.required(name)?;
        let yes = |turnout: Self| inner.yes(Output::Begin).map(|_| turnout);
        Ok(match name {
            "event" => Self::Event(inner.with_type()?),
            "text" => Self::Text(inner.text()?),
            "binary" => Self::Binary(inner.bytes()?),
            "huge" => {
                let size = inner.value.as_u64().and_then(|size| usize::try_from(size).ok());
                Self::Huge(size.ok_or_else(|| inner.error("must be a number of bytes"))?)
            }
            "ping" => Self::Ping(inner.text()?),
            "raw_bytes" => Self::RawBytes(inner.bytes()?),
            "await" => Self::Await(inner.text()?),
            "wait_ms" => Self::Wait(inner.millis()?),
            "hold" => Self::Hold(inner.text()?),
            "begin" => yes(Self::Begin)?,
            "close" => {
                inner.object(&["code", "reason"])?;
                let code = inner.required("code")?;
                let number = code.value.as_u64().filter(|code| (1000..=4999).contains(code));
                Self::Close {
                    code: number.ok_or_else(|| code.error("must be a code, 1000 to 4999"))? as u16,
                    reason: inner.optional_text("reason")?.unwrap_or_default(),
                }
            }
            "drop" => yes(Self::Drop)?,
            "stall" => yes(Self::Stall)?,
            _ => match inner.fail()? {
                Output::Fail { status, headers, body } => Self::Fail { status, headers, body },
                _ => return Err(inner.error("must be a failure")),
            },
        })
    }

    /// Whether the connection is taken up with this one at the latest.
    pub(in crate::rehearsal) fn begins(&self) -> bool {
        !matches!(
            self,
            Self::Wait(_) | Self::Hold(_) | Self::Drop | Self::Stall | Self::Fail { .. }
        )
    }
}
