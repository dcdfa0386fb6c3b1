//! Errors of requests: one conversion to JSON-RPC.

use crate::agent::AgentError;
use crate::protocol::error::{self as kinds, KINDS};
use serde_json::{Value, json};

pub(super) const PARSE: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const NO_METHOD: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL: i64 = -32603;
/// The protocol's own: the person has to sign in, or set a key.
pub(super) const AUTH_REQUIRED: i64 = -32000;
/// The client has taken its request back.
pub(super) const CANCELLED: i64 = -32800;
/// The protocol's own: there is no such session.
pub(super) const NOT_FOUND: i64 = -32002;

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) code: i64,
    /// What happened, to what, and what to do next.
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl Failure {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    pub(super) fn no_session(id: &str) -> Self {
        Self::new(
            NOT_FOUND,
            format!("There is no session {id:?} here. Load it with session/load, or begin one with session/new."),
        )
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.data {
            Some(data) => json!({"code": self.code, "message": self.message, "data": data}),
            None => json!({"code": self.code, "message": self.message}),
        }
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        let kind = error.kind();
        let code = match kind {
            kinds::THREAD_NOT_FOUND | kinds::THREAD_NOT_LOADED | kinds::THREAD_CLOSED | kinds::THREAD_ARCHIVED => {
                NOT_FOUND
            }
            _ => KINDS
                .iter()
                .find(|known| known.name == kind)
                .map_or(INTERNAL, |known| known.code),
        };
        Self {
            code,
            message: error.to_string(),
            data: Some(json!({ "kind": kind })),
        }
    }
}
