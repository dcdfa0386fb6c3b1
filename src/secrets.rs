//! Takes secrets out of texts that leave the conversation: lines of the log, telemetry, feedback.
//!
//! Two ways side by side: values that are known to be secret (the person's keys and tokens) go wherever they stand, and
//! what has the form of a key goes whoever's it is. Neither is a proof; what must not be sent is not put there.

use crate::exec::looks_secret;
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// What stands in the place of a secret.
pub const MASK: &str = "<secret>";

/// A known value shorter than this, in bytes, is looked for nowhere: it would be found in words that mean nothing.
const SHORTEST: usize = 8;

/// Known values that are kept: of more, the oldest go, which are tokens that were renewed long ago.
const MOST_KNOWN: usize = 512;

/// Ends of names of variables that say where a secret lies and do not hold it.
const PLACES: [&str; 8] = ["FILE", "PATH", "DIR", "FOLDER", "HOME", "SOCK", "SOCKET", "CREDENTIALS"];

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
pub struct Secrets(Arc<RwLock<Known>>);

#[derive(Default)]
struct Known {
    /// Those that go when there are too many, in the order in which they were learned: all but the environment's.
    learned: VecDeque<Arc<str>>,
    /// The same, the longest first: one that holds another is found before that.
    by_length: Vec<Arc<str>>,
}

/// How many are known, and none of them.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).by_length.len();
        f.debug_struct("Secrets").field("known", &known).finish()
    }
}

impl Known {
    fn add(&mut self, value: &str) {
        if self.by_length.iter().any(|known| &**known == value) {
            return;
        }
        if self.learned.len() == MOST_KNOWN
            && let Some(oldest) = self.learned.pop_front()
        {
            self.by_length.retain(|known| *known != oldest);
        }
        let value: Arc<str> = value.into();
        let at = self.by_length.partition_point(|known| known.len() >= value.len());
        self.by_length.insert(at, value.clone());
        self.learned.push_back(value);
    }
}

impl Secrets {
    /// The values of variables whose names sound like a secret's, but for those that only say where one lies: masked, they
    /// would make every path of that folder unreadable.
    pub fn of_environment(env: &BTreeMap<String, String>) -> Self {
        let secrets = Self::default();
        let sounds = |name: &str| {
            let upper = name.to_ascii_uppercase();
            looks_secret(name)
                || ["PASSW", "CREDENTIAL", "BEARER"]
                    .iter()
                    .any(|word| upper.contains(word))
        };
        secrets.learn(
            env.iter()
                .filter(|(name, value)| sounds(name) && !is_place(name, value))
                .map(|(_, value)| value),
        );
        // They are learned once only, and hold as long as the program runs.
        let mut known = secrets.0.write().unwrap_or_else(PoisonError::into_inner);
        known.learned.clear();
        drop(known);
        secrets
    }

    /// These are secret from now on. Too short ones are passed over.
    pub fn learn<'a, S: AsRef<str> + ?Sized + 'a>(&self, values: impl IntoIterator<Item = &'a S>) {
        let values = values.into_iter().map(|value| value.as_ref().trim());
        let values: Vec<&str> = values.filter(|value| value.len() >= SHORTEST).collect();
        let is_known = |known: &Known| {
            let mut values = values.iter();
            values.all(|value| known.by_length.iter().any(|known| &**known == *value))
        };
        // They mostly are, and then nobody who masks has to wait.
        if is_known(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        values.into_iter().for_each(|value| known.add(value));
    }

    /// The text without secrets.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            for value in &known.by_length {
                if text.contains(&**value) {
                    text = Cow::Owned(text.replace(&**value, MASK));
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

/// Whether a value is a path, and not a secret that happens to begin like one, as one in base64 may: its name says so, or its
/// first folder is there.
fn is_place(name: &str, value: &str) -> bool {
    let Some(below) = value.trim().strip_prefix('/') else {
        return false;
    };
    let name = name.to_ascii_uppercase();
    let named = PLACES.iter().any(|end| name.ends_with(end));
    let first = below.split('/').next().unwrap_or_default();
    named || !first.is_empty() && below.len() > first.len() && Path::new("/").join(first).is_dir()
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
        for (name, value, is_secret) in [
            ("OPENAI_API_KEY", "abcdefgh-1", true),
            ("PATH", "/usr/bin:/bin", false),
            ("LANG", "C.UTF-8-and-more", false),
            ("DB_PASSWORD", "longer-than-that", true),
            ("db_password", "longer-than-that", true),
            ("ACME_BEARER", "longer-than-that", true),
            // Where a secret lies is none.
            ("SSH_KEY_FILE", "/home/me/.ssh/id", false),
            ("SSH_KEY_FILE", "/nowhere-on-this-machine/id", false),
            ("SSH_AUTH_SOCK", "/tmp/ssh-1/agent.1", false),
            ("AGENT_KEY_SOCK", "/tmp/ssh-1/agent.1", false),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/x/key.json", false),
            ("SIGNING_KEY", "/usr/share/keyrings/x.gpg", false),
            ("DB_TOKEN", "/etc/token", false),
            // What only begins like a path.
            ("SIGNING_KEY", "/9j4AAQSkZJRgABAQEA/AYABgAAD2w==", true),
            ("SIGNING_KEY", "/usrAAQSkZJRgABAQEAYABgAAD2w==", true),
            ("API_TOKEN", "/Zm9vYmFyYmF6", true),
            ("API_TOKEN", "//Zm9vYmFyYmF6", true),
            ("API_TOKEN", "short", false),
        ] {
            let env = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let masked = Secrets::of_environment(&env).mask(value).into_owned();
            let expected = if is_secret { MASK } else { value };
            assert_eq!(masked, expected, "{name}={value}");
        }
    }

    #[test]
    fn the_longest_is_looked_for_first_and_the_oldest_is_forgotten() {
        let secrets = Secrets::default();
        secrets.learn(["battery-staple", "horse-battery", "correct-horse-battery-staple"]);
        assert_eq!(secrets.mask("[correct-horse-battery-staple]"), "[<secret>]");
        assert_eq!(secrets.mask("[horse-battery]"), "[<secret>]");
        let many: Vec<String> = (0..MOST_KNOWN)
            .map(|number| format!("value-number-{number:04}"))
            .collect();
        secrets.learn(&many);
        assert_eq!(
            secrets.mask("horse-battery value-number-0000"),
            "horse-battery <secret>"
        );
        assert_eq!(format!("{secrets:?}"), format!("Secrets {{ known: {MOST_KNOWN} }}"));
    }
}
