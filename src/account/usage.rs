//! What the provider says of an account's allowance when it is asked.

use super::{Account, AccountError, Held, Terms, renew::Source, server};
use crate::model::credential::Login as _;
use crate::model::web;
use crate::protocol::model::{RateLimits, RateWindow};
use serde_json::Value;

impl Account {
    /// Asks for the allowance. A token that is not accepted is renewed once.
    pub async fn rate_limits(&self, terms: Terms<'_>) -> Result<RateLimits, AccountError> {
        match self.held(terms) {
            Held::Nothing | Held::Missing => return Err(AccountError::NotLoggedIn),
            Held::Key { .. } => return Err(AccountError::NoAccount),
            Held::Account(_) => {}
        }
        let source = Source::new(self.clone(), terms.login.clone());
        let trouble = |reason: String| AccountError::Usage(format!("{reason}."));
        let url = &terms.login.usage_endpoint;
        let mut bearer = source.current().await.map_err(|error| trouble(error.reason))?;
        let mut answer = web::get(&terms.login.network, url, &bearer.token, &bearer.headers)
            .await
            .map_err(|error| trouble(error.to_string()))?;
        if answer.status == 401 {
            bearer = source
                .renew(&bearer.token)
                .await
                .map_err(|error| trouble(error.reason))?;
            answer = web::get(&terms.login.network, url, &bearer.token, &bearer.headers)
                .await
                .map_err(|error| trouble(error.to_string()))?;
        }
        let value =
            server::json(&answer, &[&bearer.token]).map_err(|error| trouble(format!("the provider {error}")))?;
        let now = jiff::Timestamp::now().as_second();
        read(&value, now).ok_or_else(|| trouble("the provider's answer says nothing of it".to_owned()))
    }
}

/// From the form of the account's service, or from that of events.
fn read(value: &Value, now: i64) -> Option<RateLimits> {
    let Some(limit) = value.get("rate_limit").filter(|limit| limit.is_object()) else {
        return RateLimits::from_json(value, now);
    };
    let window = |name: &str| {
        let window = limit.get(name)?;
        let seconds = |key: &str| window.get(key).and_then(Value::as_i64);
        Some(RateWindow {
            used_percent: window.get("used_percent")?.as_f64()?,
            window_minutes: seconds("limit_window_seconds").and_then(|all| u64::try_from(all / 60).ok()),
            resets_at: seconds("reset_at").or_else(|| Some(now.saturating_add(seconds("reset_after_seconds")?))),
        })
    };
    let credits = value.get("credits");
    let flag = |key: &str| credits.and_then(|credits| credits.get(key)?.as_bool());
    Some(RateLimits {
        primary: window("primary_window"),
        secondary: window("secondary_window"),
        plan: value.get("plan_type").and_then(Value::as_str).map(str::to_owned),
        has_credits: flag("has_credits"),
        unlimited_credits: flag("unlimited"),
        credit_balance: credits.and_then(|credits| credits.get("balance")?.as_str().map(str::to_owned)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_forms_say_the_same() {
        let of_service = json!({
            "plan_type": "plus",
            "rate_limit": {
                "allowed": true,
                "primary_window": {"used_percent": 42, "limit_window_seconds": 18000, "reset_after_seconds": 60},
                "secondary_window": null,
            },
            "credits": {"has_credits": false, "unlimited": false, "balance": "0"},
        });
        let of_events = json!({
            "plan_type": "plus",
            "primary": {"used_percent": 42.0, "window_minutes": 300, "resets_in_seconds": 60},
            "credits": {"has_credits": false, "unlimited": false, "balance": "0"},
        });
        assert!(read(&of_service, 1000).is_some());
        assert_eq!(read(&of_service, 1000), read(&of_events, 1000));
        assert_eq!(read(&json!({"hello": 1}), 0), None);
    }
}
