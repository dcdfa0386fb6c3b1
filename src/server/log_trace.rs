//! What the client wants to be told of its own messages (`trace` of `initialize`, `$/setTrace`): how each was carried out, as
//! `$/logTrace`.

use super::outbound::Outbound;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;
use tower_lsp::jsonrpc::{Id, Result as RpcResult};

/// How much is told.
#[derive(Debug, Default)]
pub(crate) struct LogTrace(AtomicU8);

const OFF: u8 = 0;
const MESSAGES: u8 = 1;
const VERBOSE: u8 = 2;

impl LogTrace {
    /// What a client asks for; absent is what it was before. A word that LSP does not have changes nothing.
    pub(crate) fn set(&self, wanted: Option<&Value>) {
        let level = match wanted {
            None => return,
            Some(Value::String(word)) if word == "off" => OFF,
            Some(Value::String(word)) if word == "messages" => MESSAGES,
            Some(Value::String(word)) if word == "verbose" => VERBOSE,
            Some(other) => {
                return tracing::warn!(%other, "no value of a trace, which is off, messages or verbose; ignored");
            }
        };
        self.0.store(level, Ordering::Relaxed);
    }

    /// What is wanted now, whatever is asked for later: for a message that was just taken.
    pub(crate) fn as_it_is(&self) -> Self {
        Self(AtomicU8::new(self.level()))
    }

    /// A notification was taken.
    pub(crate) fn took(&self, outbound: &Outbound, method: &str) {
        if self.level() != OFF {
            outbound.notify(
                "$/logTrace",
                json!({"message": format!("Took the notification {method}.")}),
            );
        }
    }

    /// A request was answered. What it held and what the answer holds is not repeated: the client has both.
    pub(crate) fn answered(
        &self,
        outbound: &Outbound,
        method: &str,
        id: &Id,
        since: Instant,
        answer: &RpcResult<Value>,
    ) {
        let level = self.level();
        if level == OFF {
            return;
        }
        let (how, more) = match answer {
            Ok(result) => (
                "Answered",
                format!("The result has {} bytes.", result.to_string().len()),
            ),
            Err(error) => ("Refused", format!("{}: {}", error.code.code(), error.message)),
        };
        let took = since.elapsed().as_secs_f64() * 1000.0;
        let mut params = json!({"message": format!("{how} the request {method} ({id}) after {took:.1} ms.")});
        if level == VERBOSE {
            params["verbose"] = more.into();
        }
        outbound.notify("$/logTrace", params);
    }

    fn level(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }
}
