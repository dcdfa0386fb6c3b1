//! Messages: what a body says, as far as JSON-RPC goes.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id};

#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    Request {
        id: Id,
        method: String,
        params: Option<Value>,
        /// What the client says of its own trace, beside the method or as `_meta` of the parameters.
        trace: Option<Value>,
    },
    Notification {
        method: String,
        params: Option<Value>,
    },
    /// The client's answer to a request of ours.
    Answer {
        id: Id,
        answer: Result<Value, Error>,
    },
    /// Not understood. Answered with `id`; a notification (`None`) is only logged.
    Invalid {
        id: Option<Id>,
        error: Error,
    },
    /// Not JSON at all; answered with a parse error.
    NoJson(String),
    /// Too large to be read, and so the last.
    TooLarge(String),
    /// Bytes of no message, where those end the connection.
    NoFrame(String),
}

/// The members of a message, each still as text: so that the id is known even where the parameters are unusable.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    trace: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Keeps `null` and absence apart.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads a body.
pub(crate) fn read(body: &[u8]) -> Incoming {
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => return Incoming::NoJson(format!("the message is not UTF-8: {error}")),
    };
    if text.trim_ascii_start().starts_with('[') {
        return match serde_json::from_str::<&RawValue>(text) {
            Ok(_) => invalid(
                Some(Id::Null),
                "batches of messages are not part of LSP; send them one by one",
            ),
            Err(error) => Incoming::NoJson(format!("the message is not JSON: {error}")),
        };
    }
    match serde_json::from_str::<Envelope<'_>>(text) {
        Ok(envelope) => envelope.sort_out(),
        Err(error) if error.is_data() => {
            invalid(Some(Id::Null), format!("the message is not a JSON-RPC object: {error}"))
        }
        Err(error) => Incoming::NoJson(format!("the message is not JSON: {error}")),
    }
}

impl Envelope<'_> {
    fn sort_out(self) -> Incoming {
        let Some(method) = self.method else {
            return self.answer();
        };
        let id = match self.id.map(|id| read_id(id.get())) {
            None => None,
            Some(Some(id)) => Some(id),
            Some(None) => {
                return invalid(Some(Id::Null), "the id of a request must be an integer or a string");
            }
        };
        let method = match value(method.get()) {
            Ok(Value::String(method)) => method,
            _ => return invalid(id.or(Some(Id::Null)), "the method must be a string"),
        };
        match self.jsonrpc.map(RawValue::get) {
            Some("\"2.0\"") => {}
            _ => return invalid(id.or(Some(Id::Null)), "\"jsonrpc\" must be \"2.0\""),
        }
        let read = |params: &RawValue| match value(params.get()) {
            Err(error) if method == "initialize" => without_options(params.get()).ok_or(error),
            read => read,
        };
        let params = match self.params.map(read).transpose() {
            // Many clients write `null` where the protocol has no parameters.
            Ok(params) => params.filter(|params| !params.is_null()),
            Err(error) => {
                let message = format!("the parameters of {method} cannot be read: {error}");
                return Incoming::Invalid {
                    id,
                    error: Error::invalid_params(message),
                };
            }
        };
        match id {
            Some(id) => {
                let meta = || {
                    params
                        .as_ref()?
                        .get("_meta")
                        .filter(|meta| meta.get("traceparent").is_some())
                };
                let beside = self.trace.filter(|trace| trace.get() != "null");
                let trace = match beside.map(|trace| value(trace.get())) {
                    // What cannot be read is invalid, which is not the same as nothing.
                    Some(trace) => Some(trace.unwrap_or_default()),
                    None => meta().cloned(),
                };
                Incoming::Request {
                    id,
                    method,
                    params,
                    trace,
                }
            }
            None => Incoming::Notification { method, params },
        }
    }

    fn answer(self) -> Incoming {
        let Some(id) = self.id else {
            return invalid(Some(Id::Null), "the message has neither a method nor an id");
        };
        let id = match (read_id(id.get()), id.get()) {
            (Some(id), _) => id,
            (None, "null") => Id::Null,
            (None, _) => {
                return Incoming::Invalid {
                    id: None,
                    error: request_error("an answer with an id that is no id"),
                };
            }
        };
        let error = self.error.map(RawValue::get).filter(|error| *error != "null");
        let answer = match error {
            Some(error) => Err(read_error(error)),
            // Some clients leave `result` out where it is null.
            None => match self.result.map_or(Ok(Value::Null), |result| value(result.get())) {
                Ok(value) => Ok(value),
                Err(error) => Err(request_error(format!("the result cannot be read: {error}"))),
            },
        };
        Incoming::Answer { id, answer }
    }
}

/// The parameters of `initialize` where only the options in them cannot be read: a project may have put those there, and the
/// person has an editor to use. A text stands in their place, which is reported as what it is, no settings.
fn without_options(params: &str) -> Option<Value> {
    let mut params: BTreeMap<String, Box<RawValue>> = serde_json::from_str(params).ok()?;
    params.remove("initializationOptions")?;
    let read = |(name, raw): (String, Box<RawValue>)| Some((name, value(raw.get()).ok()?));
    let mut rest: Map<String, Value> = params.into_iter().map(read).collect::<Option<_>>()?;
    rest.insert("initializationOptions".to_owned(), "cannot be read".into());
    Some(Value::Object(rest))
}

fn invalid(id: Option<Id>, message: impl Into<String>) -> Incoming {
    Incoming::Invalid {
        id,
        error: request_error(message),
    }
}

fn request_error(message: impl Into<String>) -> Error {
    Error {
        code: ErrorCode::InvalidRequest,
        message: message.into().into(),
        data: None,
    }
}

fn read_id(text: &str) -> Option<Id> {
    match value(text).ok()? {
        Value::String(text) => Some(Id::String(text)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(id), _) => Some(Id::Number(id)),
            // 1.0 is the number 1; an integer this small is exact.
            (None, Some(id)) if id.fract() == 0.0 && id.abs() < 9e15 => Some(Id::Number(id as i64)),
            _ => None,
        },
        _ => None,
    }
}

/// Whatever a client sends as an error is some error.
fn read_error(text: &str) -> Error {
    let Ok(Value::Object(mut error)) = value(text) else {
        return Error {
            code: ErrorCode::InternalError,
            message: text.to_owned().into(),
            data: None,
        };
    };
    let code = error
        .get("code")
        .and_then(Value::as_i64)
        .map_or(ErrorCode::InternalError, ErrorCode::from);
    let message = match error.remove("message") {
        Some(Value::String(message)) => message,
        Some(other) => other.to_string(),
        None => "no message".to_owned(),
    };
    Error {
        code,
        message: message.into(),
        data: error.remove("data"),
    }
}

fn value(text: &str) -> serde_json::Result<Value> {
    match serde_json::from_str(text) {
        Err(error) => match replace_lone_surrogates(text) {
            Some(repaired) => serde_json::from_str(&repaired),
            None => Err(error),
        },
        ok => ok,
    }
}

/// `\ud83d` without its other half is what JavaScript writes for half an emoji, but no Rust string can hold it.
/// It becomes U+FFFD, which is one UTF-16 code unit as well, so that columns stay right. `None` if there is none.
fn replace_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let unit = |at: usize| {
        let hex = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
    };
    let mut repaired: Option<String> = None;
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xd800..0xdc00) if matches!(unit(at + 6), Some(0xdc00..0xe000)) => at += 12,
            Some(0xd800..0xe000) => {
                let repaired = repaired.get_or_insert_with(|| String::with_capacity(text.len()));
                repaired.push_str(&text[copied..at]);
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            Some(_) => at += 6,
            // Another escape: its second byte may be a backslash.
            None => at += 2,
        }
    }
    repaired.map(|mut repaired| {
        repaired.push_str(&text[copied..]);
        repaired
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_that_cannot_be_read_cost_themselves_only() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let body = |method: &str, name: &str| {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"rootUri":"file:///w","{name}":{deep}}}}}"#
            );
            read(text.as_bytes())
        };
        let Incoming::Request { params, .. } = body("initialize", "initializationOptions") else {
            panic!("it is a request");
        };
        let params = params.expect("parameters");
        assert_eq!(params["rootUri"], "file:///w");
        assert!(params["initializationOptions"].is_string(), "{params}");
        for (method, name) in [("initialize", "capabilities"), ("other", "initializationOptions")] {
            let read = body(method, name);
            assert!(matches!(read, Incoming::Invalid { id: Some(_), .. }), "{method} {name}");
        }
    }

    #[test]
    fn sound_messages_are_sorted() {
        for (body, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#,
                Incoming::Request {
                    id: Id::Number(1),
                    method: "m".into(),
                    params: Some(json!({"a":1})),
                    trace: None,
                },
            ),
            (
                r#"{"jsonrpc":"2.0","id":"x","method":"m","params":null}"#,
                Incoming::Request {
                    id: Id::String("x".into()),
                    method: "m".into(),
                    params: None,
                    trace: None,
                },
            ),
            (
                r#" {"method":"m","id":2.0,"jsonrpc":"2.0","extra":[]}"#,
                Incoming::Request {
                    id: Id::Number(2),
                    method: "m".into(),
                    params: None,
                    trace: None,
                },
            ),
            (
                r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#,
                Incoming::Notification {
                    method: "m".into(),
                    params: Some(json!([1])),
                },
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"result":null}"#,
                Incoming::Answer {
                    id: Id::Number(3),
                    answer: Ok(Value::Null),
                },
            ),
            (
                r#"{"id":3}"#,
                Incoming::Answer {
                    id: Id::Number(3),
                    answer: Ok(Value::Null),
                },
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"result":7,"error":null}"#,
                Incoming::Answer {
                    id: Id::Number(3),
                    answer: Ok(json!(7)),
                },
            ),
            (
                r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no","data":[2],"more":1}}"#,
                Incoming::Answer {
                    id: Id::Number(3),
                    answer: Err(Error {
                        code: ErrorCode::ServerError(-1),
                        message: "no".into(),
                        data: Some(json!([2])),
                    }),
                },
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":"what"}"#,
                Incoming::Answer {
                    id: Id::Null,
                    answer: Err(Error {
                        code: ErrorCode::InternalError,
                        message: "\"what\"".into(),
                        data: None,
                    }),
                },
            ),
        ] {
            assert_eq!(read(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn unsound_messages_are_answered_with_what_is_known_of_their_id() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":5,"method":"m","params":{}{}}}"#,
            "[".repeat(400),
            "]".repeat(400)
        );
        let (null, five) = (Some(Id::Null), Some(Id::Number(5)));
        for (body, id, code) in [
            (r#"{"id":5,"method":"m"}"#, five.clone(), -32600),
            (r#"{"jsonrpc":"1.0","id":5,"method":"m"}"#, five.clone(), -32600),
            (r#"{"jsonrpc":2.0,"id":5,"method":"m"}"#, five.clone(), -32600),
            (r#"{"jsonrpc":"2.0","id":5,"method":7}"#, five.clone(), -32600),
            (r#"{"jsonrpc":"2.0","method":null}"#, null.clone(), -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, null.clone(), -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, null.clone(), -32600),
            (r#"{"jsonrpc":"2.0","id":{"a":1},"method":"m"}"#, null.clone(), -32600),
            (
                r#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"m"}"#,
                null.clone(),
                -32600,
            ),
            (r#"{"jsonrpc":"2.0"}"#, null.clone(), -32600),
            ("{}", null.clone(), -32600),
            ("7", null.clone(), -32600),
            ("null", null.clone(), -32600),
            ("\"text\"", null.clone(), -32600),
            ("[]", null.clone(), -32600),
            (r#"[{"jsonrpc":"2.0","id":5,"method":"m"}]"#, null.clone(), -32600),
            (r#"{"jsonrpc":"2.0","id":5,"id":6,"method":"m"}"#, null, -32600),
            (&deep, five.clone(), -32602),
            (r#"{"jsonrpc":"2.0","id":5,"method":"m","params":1e999}"#, five, -32602),
            (r#"{"jsonrpc":"2.0","method":"m","params":1e999}"#, None, -32602),
            (r#"{"id":{},"result":1}"#, None, -32600),
        ] {
            match read(body.as_bytes()) {
                Incoming::Invalid { id: seen, error } => {
                    assert_eq!((seen, error.code.code()), (id, code), "{body}");
                }
                other => panic!("{body}: {other:?}"),
            }
        }
        for body in [
            &b""[..],
            b"  ",
            b"{",
            b"{\"a\":}",
            b"[1,",
            b"{}{}",
            b"nope",
            b"{\"method\":\"\xff\"}",
        ] {
            assert!(matches!(read(body), Incoming::NoJson(_)), "{body:?}");
        }
    }

    #[test]
    fn half_an_emoji_becomes_one_code_unit() {
        for (written, read_as) in [
            (r"\ud83d", "\u{fffd}"),
            (r"a\ud83d\ude00b", "a😀b"),
            (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀"),
            (r"\\ud83d", "\\ud83d"),
            (r"\\\ud83d", "\\\u{fffd}"),
            (r#"\"\ud83d\""#, "\"\u{fffd}\""),
            (r"ß\uD83Dß", "ß\u{fffd}ß"),
        ] {
            let body = format!(r#"{{"jsonrpc":"2.0","method":"m","params":["{written}"]}}"#);
            assert_eq!(
                read(body.as_bytes()),
                Incoming::Notification {
                    method: "m".into(),
                    params: Some(json!([read_as]))
                },
                "{written}"
            );
        }
        let bad = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":["\ud83d\u12"]}"#;
        assert!(matches!(
            read(bad.as_bytes()),
            Incoming::Invalid { .. } | Incoming::NoJson(_)
        ));
    }
}
