//! The Responses API: request body and stream.

mod body;
mod decoder;

pub(super) use body::body;
pub(super) use decoder::Decoder;
