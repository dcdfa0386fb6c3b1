//! Random texts that cannot be guessed, and comparing them without telling how far they agree.

use super::AccountError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// 256 random bits, as a text that fits into an address.
pub(crate) fn random() -> Result<String, AccountError> {
    let mut bytes = [0; 32];
    let provider = rustls::crypto::ring::default_provider();
    provider
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| AccountError::NoChance)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The challenge of a PKCE verifier (RFC 7636, S256).
pub(crate) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(verifier))
}

/// Whether two texts are the same, in a time that depends on neither.
pub(super) fn are_same(one: &str, other: &str) -> bool {
    let pairs = digest(one).into_iter().zip(digest(other));
    std::hint::black_box(pairs.fold(0, |differ, (one, other)| differ | (one ^ other))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_random_differs_and_what_is_same_is_same() {
        let (one, other) = (random().expect("random"), random().expect("random"));
        assert_eq!(one.len(), 43);
        assert!(are_same(&one, &one.clone()) && !are_same(&one, &other) && !are_same(&one, ""));
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
