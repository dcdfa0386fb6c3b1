//! Chat Completions, behind the same stream as the Responses API.

mod body;
mod decoder;
mod kept;

pub(super) use body::body;
pub(super) use decoder::Decoder;
pub(super) use kept::is_own_seal;
