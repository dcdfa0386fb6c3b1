//! What a token says of itself. Nothing is verified: it comes from the authorization server over a connection of ours, and
//! serves for showing and for knowing when to renew it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The claim under which the account is described.
const ACCOUNT: &str = "https://api.openai.com/auth";
/// The same for what is known of the person.
const PROFILE: &str = "https://api.openai.com/profile";
/// The longest that a claim is shown, in characters.
const LONGEST: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) email: Option<String>,
    /// Name of the account's plan.
    pub(super) plan: Option<String>,
    pub(super) workspace: Option<String>,
    /// When it runs out, in seconds since the epoch.
    pub(super) expires_at: Option<i64>,
}

impl Claims {
    /// Of a token in three parts (JWT); nothing of any other.
    pub(super) fn of(token: &str) -> Self {
        Self::read(token).unwrap_or_default()
    }

    fn read(token: &str) -> Option<Self> {
        let mut parts = token.split('.');
        let (_head, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
        let claims: Value = serde_json::from_slice(&payload).ok()?;
        let account = claims.get(ACCOUNT);
        let text = |value: Option<&Value>| {
            let text = value?.as_str()?.trim();
            // It is shown: nothing in it may look like anything but a name.
            let clean = !text.chars().any(char::is_control) && text.chars().count() <= LONGEST;
            (clean && !text.is_empty()).then(|| text.to_owned())
        };
        let email = text(claims.get("email"));
        Some(Self {
            email: email.or_else(|| text(claims.get(PROFILE)?.get("email"))),
            plan: text(account.and_then(|account| account.get("chatgpt_plan_type")))
                .or_else(|| text(claims.get("plan"))),
            workspace: text(account.and_then(|account| account.get("chatgpt_account_id")))
                .or_else(|| text(claims.get("workspace_id"))),
            expires_at: claims
                .get("exp")
                .and_then(|exp| exp.as_i64().or_else(|| exp.as_f64().map(|exp| exp as i64))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn token(claims: Value) -> String {
        format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn claims_are_read_from_what_is_a_token_and_from_nothing_else() {
        let full = token(json!({
            "email": "ada@example.org",
            "exp": 1_900_000_000,
            ACCOUNT: {"chatgpt_plan_type": "plus", "chatgpt_account_id": "w1"},
        }));
        let wanted = Claims {
            email: Some("ada@example.org".into()),
            plan: Some("plus".into()),
            workspace: Some("w1".into()),
            expires_at: Some(1_900_000_000),
        };
        assert_eq!(Claims::of(&full), wanted);
        let email = |claims: Value| Claims::of(&token(claims)).email;
        assert_eq!(email(json!({PROFILE: {"email": "b@c.d"}})).as_deref(), Some("b@c.d"));
        for odd in [json!(7), json!(""), json!("a\nb"), json!("x".repeat(1000)), json!(null)] {
            assert_eq!(email(json!({"email": odd})), None);
        }
        for odd in [
            "",
            "a",
            "a.b.c",
            "a.b.c.d",
            "..",
            "e30.e30",
            "opaque-token",
            "e30.bnVsbA.x",
            "e30.WzFd.x",
        ] {
            assert_eq!(Claims::of(odd), Claims::default(), "{odd}");
        }
        assert_eq!(Claims::of(&token(json!({"exp": "soon"}))).expires_at, None);
    }
}
