//! Errors of requests: one conversion to JSON-RPC for all handlers.

use crate::protocol::error as kinds;
use serde_json::json;
use thiserror::Error;
use tower_lsp::jsonrpc::{self, ErrorCode};

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RequestError {
    /// For programs; one of [`kinds::KINDS`], which also has its code.
    pub kind: &'static str,
    /// For a person: what happened, to what, what to do next.
    pub message: String,
}

impl RequestError {
    pub fn failed(kind: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }

    /// The parameters cannot be meant as they stand.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::failed(kinds::INVALID_PARAMS, message)
    }

    /// A mistake of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::failed(kinds::INTERNAL, message)
    }
}

impl From<RequestError> for jsonrpc::Error {
    fn from(RequestError { kind, message }: RequestError) -> Self {
        let known = kinds::KINDS.iter().find(|known| known.name == kind);
        let code = known.map_or(ErrorCode::InternalError, |known| ErrorCode::from(known.code));
        if kind == kinds::INTERNAL || known.is_none() {
            tracing::error!(message, "a request failed by a mistake of ours");
        }
        Self {
            code,
            message: message.into(),
            data: Some(json!({ "kind": kind })),
        }
    }
}
