//! The Anthropic Messages API: the request as messages of blocks, the answer as blocks that begin, grow and stop.

mod body;
mod decoder;

pub(super) use body::body;
pub(super) use decoder::Decoder;

/// The form of the API that is spoken, as its header names it.
pub(super) const VERSION: &str = "2023-06-01";

/// What thoughts of this API are sealed with begins like this, so that no other provider is sent it.
pub(super) const SIGNATURE: &str = "anthropic-signature:";
/// The same for thoughts that only the provider can read.
const REDACTED: &str = "anthropic-redacted:";

/// The same in the place of a seal, for thoughts that came without: relays of DeepSeek's models want those back, too.
const UNSIGNED: &str = "anthropic-unsigned:";

/// Whether what seals a thought means something to this API only.
pub(super) fn is_own_seal(sealed: &str) -> bool {
    [SIGNATURE, REDACTED, UNSIGNED]
        .iter()
        .any(|own| sealed.starts_with(own))
}
