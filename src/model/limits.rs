//! What a provider says about the account's limits: from headers, from an event, from an error.

use crate::protocol::model::{RateLimits, RateWindow};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

impl RateLimits {
    /// Takes over what `newer` knows.
    pub fn merge(&mut self, newer: RateLimits) {
        let Self {
            primary,
            secondary,
            plan,
            has_credits,
            unlimited_credits,
            credit_balance,
        } = newer;
        self.primary = primary.or(self.primary.take());
        self.secondary = secondary.or(self.secondary.take());
        self.plan = plan.or(self.plan.take());
        self.has_credits = has_credits.or(self.has_credits);
        self.unlimited_credits = unlimited_credits.or(self.unlimited_credits);
        self.credit_balance = credit_balance.or(self.credit_balance.take());
    }

    /// `None` if the answer says nothing about limits. `now` in seconds since the Unix epoch.
    pub(super) fn from_headers(headers: &HeaderMap, now: i64) -> Option<Self> {
        let text = |name: &str| {
            headers
                .get(name)?
                .to_str()
                .ok()
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        let window = |which: &str| {
            let number = |field: &str| text(&format!("x-codex-{which}-{field}"))?.parse::<f64>().ok();
            Some(RateWindow {
                used_percent: number("used-percent").filter(|percent| percent.is_finite())?,
                window_minutes: number("window-minutes").map(|minutes| minutes as u64),
                resets_at: number("reset-at")
                    .map(|at| at as i64)
                    .or_else(|| number("reset-after-seconds").map(|after| now.saturating_add(after as i64))),
            })
        };
        let flag = |name: &str| text(name).map(|value| value.eq_ignore_ascii_case("true") || value == "1");
        let limits = Self {
            primary: window("primary"),
            secondary: window("secondary"),
            plan: text("x-codex-plan-type").map(str::to_owned),
            has_credits: flag("x-codex-credits-has-credits"),
            unlimited_credits: flag("x-codex-credits-unlimited"),
            credit_balance: text("x-codex-credits-balance").map(str::to_owned),
        };
        (limits != Self::default()).then_some(limits)
    }

    /// In the names of events and rollouts, as [`from_json`](Self::from_json) reads it.
    pub fn to_json(&self) -> Value {
        let window = |window: &Option<RateWindow>| {
            window.map(|window| {
                json!({
                    "used_percent": window.used_percent,
                    "window_minutes": window.window_minutes,
                    "resets_at": window.resets_at,
                })
            })
        };
        let credits = (self.has_credits.is_some() || self.unlimited_credits.is_some() || self.credit_balance.is_some())
            .then(|| {
                json!({
                    "has_credits": self.has_credits,
                    "unlimited": self.unlimited_credits,
                    "balance": self.credit_balance,
                })
            });
        json!({
            "primary": window(&self.primary),
            "secondary": window(&self.secondary),
            "credits": credits,
            "plan_type": self.plan,
        })
    }

    /// From an event's, an error's or a rollout's JSON. `now` in seconds since the Unix epoch.
    pub fn from_json(value: &Value, now: i64) -> Option<Self> {
        let source = value
            .get("rate_limits")
            .filter(|inner| inner.is_object())
            .unwrap_or(value);
        let window = |which: &str| {
            let window = source.get(which)?;
            Some(RateWindow {
                used_percent: window.get("used_percent")?.as_f64()?,
                window_minutes: window.get("window_minutes").and_then(Value::as_u64),
                resets_at: window
                    .get("resets_at")
                    .or_else(|| window.get("reset_at"))
                    .and_then(Value::as_i64)
                    .or_else(|| {
                        let after = window
                            .get("resets_in_seconds")
                            .or_else(|| window.get("reset_after_seconds"))?;
                        Some(now.saturating_add(after.as_i64()?))
                    }),
            })
        };
        let credits = source.get("credits").or_else(|| value.get("credits"));
        let limits = Self {
            primary: window("primary"),
            secondary: window("secondary"),
            plan: super::json::text(value, &["plan_type", "plan"]).map(str::to_owned),
            has_credits: credits.and_then(|credits| credits.get("has_credits")?.as_bool()),
            unlimited_credits: credits.and_then(|credits| credits.get("unlimited")?.as_bool()),
            credit_balance: credits.and_then(|credits| credits.get("balance")?.as_str().map(str::to_owned)),
        };
        (limits != Self::default()).then_some(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_events_say_the_same() {
        let mut headers = HeaderMap::new();
        assert_eq!(RateLimits::from_headers(&headers, 0), None);
        for (name, value) in [
            ("x-codex-primary-used-percent", "12.5"),
            ("x-codex-primary-window-minutes", "300"),
            ("x-codex-primary-reset-after-seconds", "60"),
            ("x-codex-secondary-used-percent", "rubbish"),
            ("x-codex-plan-type", "plus"),
        ] {
            headers.insert(name, value.parse().expect("a header"));
        }
        let from_headers = RateLimits::from_headers(&headers, 1000).expect("limits");
        let event = json!({"type": "codex.rate_limits", "plan_type": "plus", "rate_limits": {
            "primary": {"used_percent": 12.5, "window_minutes": 300, "resets_in_seconds": 60}, "secondary": null}});
        assert_eq!(Some(from_headers.clone()), RateLimits::from_json(&event, 1000));
        let with_credits = RateLimits {
            has_credits: Some(true),
            credit_balance: Some("5".into()),
            ..from_headers
        };
        assert_eq!(RateLimits::from_json(&with_credits.to_json(), 0), Some(with_credits));
    }

    #[test]
    fn newer_knowledge_wins_and_older_stays() {
        let window = |used_percent| {
            Some(RateWindow {
                used_percent,
                window_minutes: None,
                resets_at: None,
            })
        };
        let mut limits = RateLimits {
            primary: window(1.0),
            secondary: window(2.0),
            ..Default::default()
        };
        limits.merge(RateLimits {
            primary: window(9.0),
            plan: Some("pro".into()),
            ..Default::default()
        });
        assert_eq!((limits.primary, limits.secondary), (window(9.0), window(2.0)));
        assert_eq!(limits.plan.as_deref(), Some("pro"));
    }
}
