//! Takes secrets out of texts that leave the conversation: lines of the log, telemetry, feedback.
//!
//! Two ways side by side: values that are known to be secret (the person's keys and tokens) go wherever they stand, and
//! what has the form of a key goes whoever's it is. Neither is a proof; what must not be sent is not put there.

use crate::exec::looks_secret;
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// What stands in the place of a secret.
pub const MASK: &str = "<secret>";

/// A known value shorter than this, in bytes, is looked for nowhere: it would be found in words that mean nothing.
const SHORTEST: usize = 8;

/// What keys look like, whoever issues them.
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"\bsk-[A-Za-z0-9_-]{16,}",
        r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"\bAIza[0-9A-Za-z_-]{30,}",
        r"\bnpm_[A-Za-z0-9]{30,}",
        r"\bhf_[A-Za-z0-9]{30,}",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    ];
    Regex::new(&forms.join("|")).expect("forms of our own")
});

/// A secret behind a word that says so: the word is kept.
static BEHIND_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"(?i)(?P<scheme>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}",
        r"(?P<user>://[^/\s:@]*:)[^/\s@]+@",
        r#"(?i)(?P<name>\b[a-z0-9_-]*(?:api[_-]?key|secret|token|passwd|password|passphrase)\\?["']?\s*[:=]\s*\\?["']?)(?P<value>[^\s"'\\,;&<>(){}\[\]]{8,})"#,
    ];
    Regex::new(&forms.join("|")).expect("forms of our own")
});

/// The values that are known to be secret; cheap to clone, and the clones know the same.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<BTreeSet<String>>>);

/// How many are known, and none of them.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Secrets").field("known", &known).finish()
    }
}

impl Secrets {
    /// The values of variables whose names sound like a secret's.
    pub fn of_environment(env: &BTreeMap<String, String>) -> Self {
        let secrets = Self::default();
        let sounds = |name: &str| looks_secret(name) || ["PASSW", "CREDENTIAL"].iter().any(|word| name.contains(word));
        secrets.learn(
            env.iter()
                .filter(|(name, value)| sounds(name) && !value.starts_with('/'))
                .map(|(_, value)| value),
        );
        secrets
    }

    /// These are secret from now on. Too short ones are passed over.
    pub fn learn<'a, S: AsRef<str> + ?Sized + 'a>(&self, values: impl IntoIterator<Item = &'a S>) {
        let values = values.into_iter().map(|value| value.as_ref().trim());
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for value in values.filter(|value| value.len() >= SHORTEST) {
            if !known.contains(value) {
                known.insert(value.to_owned());
            }
        }
    }

    /// The text without secrets.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            // A value that begins with another one stands behind it in the order.
            for value in known.iter().rev() {
                if text.contains(value.as_str()) {
                    text = Cow::Owned(text.replace(value.as_str(), MASK));
                }
            }
        }
        text = replaced(text, &FORMS, |_| MASK.to_owned());
        replaced(text, &BEHIND_WORDS, |found| {
            let named = |name: &str| found.name(name).map(|part| part.as_str());
            match (named("scheme"), named("user"), named("name"), named("value")) {
                (Some(scheme), ..) => format!("{scheme}{MASK}"),
                (_, Some(user), ..) => format!("{user}{MASK}@"),
                // A number is a count of tokens.
                (.., Some(name), Some(value)) if value.bytes().any(|byte| !byte.is_ascii_digit()) => {
                    format!("{name}{MASK}")
                }
                _ => found[0].to_owned(),
            }
        })
    }

    /// The same for a text that is one's own.
    pub fn masked(&self, text: String) -> String {
        match self.mask(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked,
        }
    }
}

fn replaced<'a>(text: Cow<'a, str>, form: &Regex, with: impl Fn(&Captures<'_>) -> String) -> Cow<'a, str> {
    match form.replace_all(&text, |found: &Captures<'_>| with(found)) {
        Cow::Borrowed(_) => text,
        Cow::Owned(replaced) => Cow::Owned(replaced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_by_table() {
        let secrets = Secrets::default();
        secrets.learn(["correct-horse", "correct-horse-battery", "short", " padded-value\n"]);
        for (text, expected) in [
            ("say correct-horse twice: correct-horse", "say <secret> twice: <secret>"),
            ("correct-horse-battery", "<secret>"),
            ("a short word", "a short word"),
            ("[padded-value]", "[<secret>]"),
            ("key sk-proj-abcdefghijklmnop1234.", "key <secret>."),
            (
                "task-force and risk-assessment-of-something-long",
                "task-force and risk-assessment-of-something-long",
            ),
            ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "<secret>"),
            ("AKIAABCDEFGHIJKLMNOP", "<secret>"),
            (
                "Authorization: Bearer abc.def.ghi-jkl",
                "Authorization: Bearer <secret>",
            ),
            ("https://me:hunter22@host/x", "https://me:<secret>@host/x"),
            ("https://host/a:b@c", "https://host/a:b@c"),
            ("OPENAI_API_KEY=abcdefgh12", "OPENAI_API_KEY=<secret>"),
            (
                r#"{"access_token": "abcdefgh12", "a": 1}"#,
                r#"{"access_token": "<secret>", "a": 1}"#,
            ),
            (r#"{\"password\":\"abcdefgh12\"}"#, r#"{\"password\":\"<secret>\"}"#),
            ("token: 123456789", "token: 123456789"),
            ("input_token_count=12", "input_token_count=12"),
            ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", "<secret>"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest",
                "<secret>\nrest",
            ),
            ("-----BEGIN PRIVATE KEY-----\ncut off", "<secret>"),
            ("", ""),
        ] {
            assert_eq!(secrets.mask(text), expected, "{text}");
            assert_eq!(secrets.masked(text.to_owned()), expected);
            // What is masked stays as it is.
            assert_eq!(secrets.mask(expected), expected);
        }
        assert_eq!(format!("{secrets:?}"), "Secrets { known: 3 }");
    }

    #[test]
    fn of_an_environment_what_sounds_secret_is() {
        let env = [
            ("OPENAI_API_KEY", "abcdefgh-1"),
            ("PATH", "/usr/bin:/bin"),
            ("DB_PASSWORD", "longer-than-that"),
            ("SSH_KEY_FILE", "/home/me/.ssh/id"),
            ("LANG", "C.UTF-8-and-more"),
        ];
        let env = env
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect();
        let text = "abcdefgh-1 /usr/bin:/bin longer-than-that /home/me/.ssh/id C.UTF-8-and-more";
        let masked = Secrets::of_environment(&env).mask(text).into_owned();
        assert_eq!(
            masked,
            "<secret> /usr/bin:/bin <secret> /home/me/.ssh/id C.UTF-8-and-more"
        );
    }
}
