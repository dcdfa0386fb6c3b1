//! Secrets that nobody can guess, and comparing them without showing how far they agree.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use std::io;

/// Fills the bytes by chance.
///
/// # Errors
/// The system gives no random numbers.
pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let provider = rustls::crypto::ring::default_provider();
    let filled = provider.secure_random.fill(bytes);
    filled.map_err(|_| io::Error::other("the system gives no random numbers"))
}

/// 256 random bits, as a text that fits into an address.
///
/// # Errors
/// The system gives no random numbers.
pub(crate) fn random() -> io::Result<String> {
    let mut bytes = [0; 32];
    fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Whether two secrets are equal, in a time that depends on neither.
pub(crate) fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let digest = |bytes: &[u8]| -> [u8; 32] { Sha256::digest(bytes).into() };
    let pairs = digest(one).into_iter().zip(digest(other));
    std::hint::black_box(pairs.fold(0, |differ, (one, other)| differ | (one ^ other))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_texts_differ_and_equal_ones_are_equal() {
        let (one, other) = (random().expect("random"), random().expect("random"));
        assert_eq!(one.len(), 43);
        for (one, other, equal) in [
            (one.as_str(), one.as_str(), true),
            (&one, &other, false),
            (&one, "", false),
            (&one, &one[..42], false),
            ("", "", true),
        ] {
            assert_eq!(are_equal(one.as_bytes(), other.as_bytes()), equal, "{one} {other}");
        }
    }
}
