//! What `auth.json` holds. Its fields are those of the reference system, so that a file can be brought along; what is not
//! known here is kept as it is.

use super::AccountError;
use super::claims::Claims;
use super::store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// Longer than any key.
const LONGEST_KEY: usize = 16 << 10;
const KEY: &str = "apikey";
const ACCOUNT: &str = "chatgpt";

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct File {
    /// Which of the two counts, where both are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) auth_mode: Option<String>,
    #[serde(rename = "OPENAI_API_KEY", default)]
    pub(super) api_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<Tokens>,
    /// When the tokens were got, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_refresh: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// What belongs to a login to an account.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    #[serde(default)]
    pub(super) id_token: String,
    #[serde(default)]
    pub(super) access_token: String,
    #[serde(default)]
    pub(super) refresh_token: String,
    /// The workspace that requests are made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) account_id: Option<String>,
    /// When the access token runs out where it does not say so itself, in seconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<i64>,
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

/// Without what is in it.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

/// What counts of the file.
pub(super) enum Stored {
    Key(String),
    Tokens(Box<Tokens>),
}

impl Tokens {
    /// When the access token runs out, in seconds since the epoch, where that is known.
    pub(super) fn runs_out(&self) -> Option<i64> {
        Claims::of(&self.access_token).expires_at.or(self.expires_at)
    }

    /// What of it must show nowhere.
    pub(super) fn secrets(&self) -> [&str; 3] {
        [&self.id_token, &self.access_token, &self.refresh_token]
    }
}

impl File {
    pub(super) fn of_key(key: String) -> Self {
        Self {
            auth_mode: Some(KEY.to_owned()),
            api_key: Some(key),
            ..Self::default()
        }
    }

    pub(super) fn of_tokens(tokens: Tokens) -> Self {
        Self {
            auth_mode: Some(ACCOUNT.to_owned()),
            tokens: Some(tokens),
            last_refresh: Some(jiff::Timestamp::now().to_string()),
            ..Self::default()
        }
    }

    /// Whether it holds just this login.
    pub(super) fn is_of(&self, tokens: &Tokens) -> bool {
        let own = self.tokens.as_ref();
        own.is_some_and(|own| own.refresh_token == tokens.refresh_token)
    }

    /// What of it must show nowhere.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let tokens = self.tokens.iter().flat_map(Tokens::secrets);
        self.api_key.as_deref().into_iter().chain(tokens)
    }

    /// The same with newer tokens.
    pub(super) fn renewed(self, tokens: Tokens) -> Self {
        Self {
            tokens: Some(tokens),
            last_refresh: Some(jiff::Timestamp::now().to_string()),
            ..self
        }
    }

    /// What counts: what the file says, else a key before tokens. What is empty is not there.
    pub(super) fn held(self) -> Result<Option<Stored>, StoreError> {
        let key = match self
            .api_key
            .map(|key| key.trim().to_owned())
            .filter(|key| !key.is_empty())
        {
            Some(text) => Some(key(&text).map_err(|_| StoreError::BadKey)?),
            None => None,
        };
        let tokens = self.tokens.filter(|tokens| !tokens.access_token.trim().is_empty());
        let tokens = tokens.map(|tokens| Stored::Tokens(Box::new(tokens)));
        Ok(match self.auth_mode.as_deref() {
            Some(KEY) => key.map(Stored::Key),
            Some(ACCOUNT) => tokens,
            _ => key.map(Stored::Key).or(tokens),
        })
    }
}

/// A key as it is sent: without the space around it, and of nothing but what a header can carry.
pub(super) fn key(text: &str) -> Result<String, AccountError> {
    let key = text.trim();
    let fits = !key.is_empty() && key.len() <= LONGEST_KEY && key.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| key.to_owned()).ok_or(AccountError::BadKey)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(text: &str) -> &'static str {
        let file: File = serde_json::from_str(text).expect("a file");
        match file.held() {
            Ok(Some(Stored::Key(_))) => "key",
            Ok(Some(Stored::Tokens(_))) => "tokens",
            Ok(None) => "nothing",
            Err(_) => "error",
        }
    }

    #[test]
    fn a_file_of_the_reference_is_understood() {
        for (text, wanted) in [
            (r#"{"OPENAI_API_KEY": "sk-1"}"#, "key"),
            (
                r#"{"OPENAI_API_KEY": "sk-1", "tokens": null, "last_refresh": null}"#,
                "key",
            ),
            (
                r#"{"OPENAI_API_KEY": null, "tokens": {"id_token": "i", "access_token": "a", "refresh_token": "r", "account_id": "w"}, "last_refresh": "2026-01-01T00:00:00Z"}"#,
                "tokens",
            ),
            (r#"{"OPENAI_API_KEY": "sk-1", "tokens": {"access_token": "a"}}"#, "key"),
            (
                r#"{"auth_mode": "chatgpt", "OPENAI_API_KEY": "sk-1", "tokens": {"access_token": "a"}}"#,
                "tokens",
            ),
            (
                r#"{"auth_mode": "apikey", "OPENAI_API_KEY": null, "tokens": {"access_token": "a"}}"#,
                "nothing",
            ),
            (
                r#"{"auth_mode": "something", "tokens": {"access_token": "a"}}"#,
                "tokens",
            ),
            (r#"{"OPENAI_API_KEY": " "}"#, "nothing"),
            (r#"{"tokens": {"access_token": ""}}"#, "nothing"),
            (r#"{"OPENAI_API_KEY": "sk\n1"}"#, "error"),
            ("{}", "nothing"),
        ] {
            assert_eq!(held(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_stays_and_nothing_shows_in_debug_output() {
        let text = r#"{"OPENAI_API_KEY":null,"tokens":{"id_token":"i","access_token":"a","refresh_token":"r","more":1},"agent_identity":{"x":[1]}}"#;
        let file: File = serde_json::from_str(text).expect("a file");
        let tokens = file.tokens.clone().expect("tokens");
        assert_eq!(format!("{tokens:?}"), "Tokens");
        let value = serde_json::to_value(file.renewed(tokens)).expect("JSON");
        assert_eq!(value["agent_identity"]["x"][0], 1);
        assert_eq!(value["tokens"]["more"], 1);
        assert!(value["last_refresh"].is_string() && value["OPENAI_API_KEY"].is_null());
    }

    #[test]
    fn keys_are_cleaned_or_refused() {
        assert_eq!(key(" sk-1\n").ok().as_deref(), Some("sk-1"));
        for odd in ["", "  ", "a b", "a\nb", "é", "\u{0}", &"x".repeat(20_000)] {
            assert!(key(odd).is_err(), "{odd:?}");
        }
    }
}
