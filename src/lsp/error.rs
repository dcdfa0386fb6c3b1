//! Errors of requests: one conversion to JSON-RPC for all handlers.

use serde_json::{Value, json};
use thiserror::Error;
use tower_lsp::jsonrpc::{self, ErrorCode};

/// Why a request has no result. The message is for a person: what happened, to what, what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The parameters cannot be meant as they stand.
    #[error("{0}")]
    InvalidParams(String),
    /// Well formed, but it cannot be done. `kind` is for programs.
    #[error("{message}")]
    Failed { kind: &'static str, message: String },
    /// Worked out for text that has changed since.
    #[error("{0}")]
    ContentModified(String),
    /// A mistake of ours. Logged with its cause, shown without.
    #[error("{0}")]
    Internal(String),
}

impl RequestError {
    pub fn failed(kind: &'static str, message: impl Into<String>) -> Self {
        Self::Failed {
            kind,
            message: message.into(),
        }
    }
}

const REQUEST_FAILED: i64 = -32803;

impl From<RequestError> for jsonrpc::Error {
    fn from(error: RequestError) -> Self {
        let message = error.to_string();
        let (code, kind) = match error {
            RequestError::InvalidParams(_) => (ErrorCode::InvalidParams, "invalidParams"),
            RequestError::Failed { kind, .. } => (ErrorCode::ServerError(REQUEST_FAILED), kind),
            RequestError::ContentModified(_) => (ErrorCode::ContentModified, "contentModified"),
            RequestError::Internal(_) => {
                tracing::error!(message, "a request failed by a mistake of ours");
                (ErrorCode::InternalError, "internal")
            }
        };
        Self {
            code,
            message: message.into(),
            data: Some(data(kind)),
        }
    }
}

/// What programs read: the kind of trouble.
fn data(kind: &str) -> Value {
    json!({ "kind": kind })
}
