//! Chat Completions, behind the same stream as the Responses API.

mod body;
mod decoder;

pub(super) use body::body;
pub(super) use decoder::Decoder;
