//! From what a provider says has gone wrong (status, headers, body, event) to an [`ErrorKind`].

use crate::model::error::{ErrorKind, KeyFrom};
use crate::model::json;
use crate::protocol::model::RateLimits;
use regex::Regex;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;

/// The most of a provider's own words that is shown, in characters.
const LONGEST_MESSAGE: usize = 1000;

/// What a failure's report says, whatever its shape.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) code: Option<String>,
    /// A coarser word than the code.
    pub(super) class: Option<String>,
    pub(super) message: String,
    pub(super) resets_at: Option<i64>,
    pub(super) retry_after: Option<Duration>,
    pub(super) rate_limits: Option<Box<RateLimits>>,
}

/// What is known about the request that failed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked<'a> {
    pub(super) model: &'a str,
    /// Where the key came from.
    pub(super) from: Option<&'a KeyFrom>,
    /// Never to be repeated in a message, whatever the provider echoes.
    pub(super) key: Option<&'a str>,
    /// The same for what else went along, in headers or in the address; the longest first.
    pub(super) further: &'a [String],
    /// Seconds since the Unix epoch.
    pub(super) now: i64,
}

impl Asked<'_> {
    /// A text of the provider's without what was sent to it in confidence.
    pub(super) fn clean(&self, text: &str) -> String {
        let mut text = match self.key.filter(|key| key.len() >= 4) {
            Some(key) => text.replace(key, "[key]"),
            None => text.to_owned(),
        };
        for secret in self.further {
            text = text.replace(secret.as_str(), "[hidden]");
        }
        text
    }
}

impl Report {
    /// Reads a body or an event: `{"error": {…}}`, `{"error": "…"}`, `{"response": {"error": …}}`, `{"base_resp": {…}}`, flat
    /// forms, `{"detail": …}`, or plain text.
    pub(super) fn from_json(value: &Value, now: i64) -> Self {
        let error = ["/response/error", "/error", "/base_resp"]
            .iter()
            .find_map(|at| value.pointer(at).filter(|e| !e.is_null()));
        let mut report = match error {
            Some(Value::String(message)) => Self {
                message: message.clone(),
                ..Self::default()
            },
            Some(error) => Self::from_object(error, now),
            None => Self::from_object(value, now),
        };
        if error.is_some() {
            let outer = Self::from_object(value, now);
            report.code = report.code.or(outer.code);
            if report.message.is_empty() {
                report.message = outer.message;
            }
            report.rate_limits = report.rate_limits.or(outer.rate_limits);
        }
        if report
            .class
            .as_deref()
            .is_some_and(|class| class == "error" || class.starts_with("response."))
        {
            report.class = None;
        }
        report
    }

    fn from_object(error: &Value, now: i64) -> Self {
        // Of a go-between: "Provider returned error" is its own word, and the reason is the other's.
        if let Some(behind) = behind(error, now) {
            return behind;
        }
        let code = match error.get("code").or_else(|| error.get("status_code")) {
            // A gateway that looks at what is sent says here what it found.
            _ if error.pointer("/metadata/flagged_input").is_some() => Some("content_filter".to_owned()),
            Some(Value::Number(code)) => Some(code.to_string()),
            _ => json::text(error, &["code"]).map(str::to_owned),
        };
        let seconds = |key: &str| {
            error
                .get(key)
                .and_then(Value::as_f64)
                .filter(|seconds| seconds.is_finite())
        };
        Self {
            code,
            class: json::text(error, &["type", "status"]).map(str::to_owned),
            retry_after: seconds("retry_after").and_then(duration).or_else(|| retry_delay(error)),
            resets_at: seconds("resets_at")
                .map(|at| at as i64)
                .or_else(|| seconds("resets_in_seconds").map(|after| now.saturating_add(after as i64))),
            rate_limits: RateLimits::from_json(error, now)
                .filter(|limits| limits.primary.is_some() || limits.secondary.is_some())
                .map(Box::new),
            message: words_of(error),
        }
    }

    /// Reads the body of an answer with an error status.
    pub(super) fn from_body(body: &[u8], now: i64) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        // Some answer as in a stream, with the status of an error.
        let event = text
            .strip_prefix("data:")
            .map(|event| event.lines().next().unwrap_or_default());
        let value = json::parse(event.unwrap_or(text));
        match value {
            // Some providers wrap the error in a list.
            Some(Value::Array(list)) if list.first().is_some_and(Value::is_object) => Self::from_json(&list[0], now),
            Some(value) if value.is_object() => {
                let report = Self::from_json(&value, now);
                if report.message.is_empty() && report.code.is_none() {
                    return Self {
                        message: value.to_string(),
                        ..report
                    };
                }
                report
            }
            Some(Value::String(message)) => Self {
                message,
                ..Self::default()
            },
            _ => Self {
                message: plain(text),
                ..Self::default()
            },
        }
    }

    /// The kind of a failure that came with an error status.
    pub(super) fn into_http(mut self, status: u16, headers: &HeaderMap, asked: Asked<'_>) -> ErrorKind {
        self.retry_after = delay_from_headers(headers, asked.now).or(self.retry_after);
        let request_id = ["x-request-id", "request-id", "x-oai-request-id", "cf-ray"]
            .iter()
            .find_map(|name| headers.get(*name)?.to_str().ok().map(str::to_owned));
        let header = |name: &str| headers.get(name)?.to_str().ok();
        if let Some(location) = header("location").filter(|_| (300..400).contains(&status)) {
            // What it asks for may hold a key, as the address that was asked.
            let end = location.find(['?', '#']).unwrap_or(location.len());
            let points = format!("it points to {}", without_password(&location[..end]));
            self.message = match self.message.trim() {
                "" => points,
                words => format!("{words}; {points}"),
            };
        } else if self.message.is_empty() {
            self.message = header("www-authenticate").and_then(challenge).unwrap_or_default();
        }
        if let (None, Some(limits)) = (&self.rate_limits, RateLimits::from_headers(headers, asked.now)) {
            self.rate_limits = Some(Box::new(limits));
        }
        let retry_after = self.delay();
        let message = self.words(asked);
        let kind = self.into_known(Some(status), &message, retry_after, asked);
        match kind {
            // The status says more than a general word in the body.
            Some(ErrorKind::BadRequest { .. }) if status >= 500 || matches!(status, 408 | 409 | 425) => {
                ErrorKind::Http {
                    status,
                    message,
                    request_id,
                    retry_after,
                }
            }
            Some(ErrorKind::BadRequest { status, message, .. }) => ErrorKind::BadRequest {
                status,
                message,
                request_id,
            },
            Some(kind) => kind,
            None => match status {
                400 | 422 => ErrorKind::BadRequest {
                    status: Some(status),
                    message,
                    request_id,
                },
                401 | 403 => ErrorKind::Unauthorized {
                    status: Some(status),
                    message,
                    from: asked.from.cloned().unwrap_or_default(),
                },
                402 => ErrorKind::Quota {
                    status: Some(status),
                    message,
                },
                429 => ErrorKind::RateLimited {
                    status: Some(status),
                    message,
                    retry_after,
                },
                529 => ErrorKind::Overloaded {
                    status: Some(status),
                    message,
                    retry_after,
                },
                _ => ErrorKind::Http {
                    status,
                    message,
                    request_id,
                    retry_after,
                },
            },
        }
    }

    /// The kind of a failure that came within a stream.
    pub(super) fn into_stream(self, asked: Asked<'_>) -> ErrorKind {
        let retry_after = self.delay();
        let message = self.words(asked);
        let code = self.code.clone().or_else(|| self.class.clone());
        self.into_known(None, &message, retry_after, asked)
            .unwrap_or(ErrorKind::Failed {
                code,
                message,
                retry_after,
            })
    }

    fn delay(&self) -> Option<Duration> {
        self.retry_after.or_else(|| delay_from_text(&self.message))
    }

    fn words(&self, asked: Asked<'_>) -> String {
        shorten(&asked.clean(&self.message))
    }

    /// The kinds that a code, a class or tell-tale words name.
    fn into_known(
        self,
        status: Option<u16>,
        message: &str,
        retry_after: Option<Duration>,
        asked: Asked<'_>,
    ) -> Option<ErrorKind> {
        let message = message.to_owned();
        let not_transient = status.is_none_or(|status| (400..500).contains(&status) && status != 429);
        for word in [&self.code, &self.class].into_iter().flatten() {
            let kind = match word.to_ascii_lowercase().as_str() {
                // The number is z.ai's.
                "context_length_exceeded"
                | "context_window_exceeded"
                | "exceed_context_size_error"
                | "model_context_window_exceeded"
                | "model_max_prompt_tokens_exceeded"
                | "1261" => ErrorKind::ContextWindowExceeded { status, message },
                // The number is z.ai's, which has it with the status of a rate limit.
                "1113"
                | "arrearage"
                | "exceeded_current_quota_error"
                | "insufficient_balance"
                | "insufficient_quota"
                | "billing_hard_limit_reached"
                | "quota_exceeded"
                | "billing_error"
                | "budget_exceeded"
                | "insufficient_credits"
                | "402" => ErrorKind::Quota { status, message },
                // The model wrote a call that its provider cannot read; another time it may not.
                "tool_use_failed" => ErrorKind::Failed {
                    code: Some(word.clone()),
                    message,
                    retry_after,
                },
                // The number is z.ai's.
                "1301"
                | "content_filter"
                | "data_inspection_failed"
                | "datainspectionfailed"
                | "content_policy_violation"
                | "image_content_policy_violation"
                | "responsibleaipolicyviolation" => ErrorKind::ContentFilter { status, message },
                "usage_limit_reached" => {
                    let Self {
                        resets_at, rate_limits, ..
                    } = self;
                    ErrorKind::UsageLimit {
                        status,
                        message,
                        resets_at,
                        rate_limits,
                    }
                }
                "usage_not_included" => ErrorKind::UsageNotIncluded { status, message },
                // One request is more than may be sent in a minute: no time to wait is long enough.
                _ if status == Some(413) => continue,
                "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" | "resource_exhausted" | "429" => {
                    ErrorKind::RateLimited {
                        status,
                        message,
                        retry_after,
                    }
                }
                "server_is_overloaded"
                | "slow_down"
                | "overloaded_error"
                | "overloaded"
                | "engine_overloaded"
                | "503"
                | "529" => ErrorKind::Overloaded {
                    status,
                    message,
                    retry_after,
                },
                // On Azure a model is a deployment.
                "model_not_found" | "deploymentnotfound" => ErrorKind::ModelNotFound {
                    status,
                    model: asked.model.to_owned(),
                    message,
                },
                "invalid_api_key" | "authentication_error" | "unauthorized" | "401" => ErrorKind::Unauthorized {
                    status,
                    message,
                    from: asked.from.cloned().unwrap_or_default(),
                },
                _ => continue,
            };
            return Some(kind);
        }
        // Before secrets were taken out of them: those may look like the words that are looked for.
        let lower = self.message.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        // llama.cpp says so with a status of its own fault.
        let is_full = says(&[
            "context size has been exceeded",
            "exceeds the available context size",
            "when context the overflows",
            "context window exceeds limit",
        ]);
        if is_full
            || not_transient
                && says(&[
                    "maximum context length",
                    "exceeds the context window",
                    "context window of this model",
                    "context length exceeded",
                    "exceed context limit",
                    "prompt is too long",
                    "input is too long",
                    "input length exceeds",
                    "exceeds the maximum number of tokens",
                    "maximum prompt length",
                    "longer than the maximum model length",
                    "exceed context window",
                    "exceeded model token limit",
                    "greater than the context length",
                    "larger context length",
                    "reduce the length of the messages",
                    "reduce the length of the input prompt",
                    "range of input length should be",
                    "prompt exceeds max length",
                    "prompt too long",
                    "exceeded max context length",
                    "longer than the model's context length",
                    "`max_new_tokens` must be <=",
                ])
            || not_transient && says(&["prompt token count"]) && says(&["exceeds the limit"])
        {
            return Some(ErrorKind::ContextWindowExceeded { status, message });
        }
        let of_money = [
            "credit balance is too low",
            "insufficient balance",
            "used all available credits",
            "doesn't have any credits",
            "spending limit",
            "specified api usage limits",
            "account is in good standing",
        ];
        if (not_transient || status == Some(429)) && says(&of_money) {
            return Some(ErrorKind::Quota { status, message });
        }
        let of_key = [
            "api key not valid",
            "api_key_invalid",
            "pass a valid api key",
            "incorrect api key",
            "login fail",
        ];
        if matches!(status, None | Some(400)) && says(&of_key) {
            return Some(ErrorKind::Unauthorized {
                status,
                message,
                from: asked.from.cloned().unwrap_or_default(),
            });
        }
        let flagged = says(&["usage policy", "usage policies"]) && says(&["flagged", "violat"]);
        if flagged && status.is_none_or(|status| status == 400) {
            return Some(ErrorKind::ContentFilter { status, message });
        }
        let not_found = |word: &Option<String>| word.as_deref() == Some("not_found_error");
        let no_such_model = lower.starts_with("model:") && not_found(&self.class);
        let no_such_model = no_such_model || says(&["no endpoints found"]);
        let no_such_model =
            no_such_model || says(&["model"]) && says(&["not found", "does not exist", "not exist", "unknown model"]);
        if no_such_model
            && (status == Some(404) || (status == Some(400) && lower.contains(&asked.model.to_lowercase())))
        {
            return Some(ErrorKind::ModelNotFound {
                status,
                model: asked.model.to_owned(),
                message,
            });
        }
        let bad = |word: &Option<String>| {
            word.as_deref().is_some_and(|word| {
                let of_request = [
                    "invalid_request_error",
                    "invalid_prompt",
                    "invalid_request",
                    "bad_request",
                    "invalid_argument",
                ];
                let of_stream = ["400", "404", "413", "422"];
                of_request.contains(&word)
                    || (status.is_none() && of_stream.contains(&word))
                    || IMAGE_CODES.iter().any(|code| word.contains(code))
            })
        };
        let unspecific = matches!(status, None | Some(400 | 422));
        if (bad(&self.code) || (bad(&self.class) && unspecific)) && status != Some(429) {
            return Some(ErrorKind::BadRequest {
                status,
                message,
                request_id: None,
            });
        }
        None
    }
}

/// What the provider behind a go-between has said, as that passes it on: a text, mostly of JSON, or an object.
fn behind(error: &Value, now: i64) -> Option<Report> {
    if error.pointer("/metadata/flagged_input").is_some() {
        return None;
    }
    let mut report = match error.pointer("/metadata/raw")? {
        Value::String(text) => Report::from_body(text.as_bytes(), now),
        raw => Report::from_json(raw, now),
    };
    if report.message.trim().is_empty() {
        return None;
    }
    if let Some(name) =
        json::text(error, &["provider_name"]).or_else(|| json::text(error.get("metadata")?, &["provider_name"]))
    {
        report.message = format!("{name}: {}", report.message);
    }
    Some(report)
}

/// The words of a failure, under whichever of the names that providers give them.
fn words_of(error: &Value) -> String {
    let named = json::text(
        error,
        &[
            "message",
            "detail",
            "msg",
            "error_message",
            "title",
            "Message",
            "status_msg",
        ],
    );
    let lists = ["/detail", "/message/detail", "/errors"];
    let listed = || lists.iter().find_map(|at| listed(error.pointer(at)?));
    let detail = || {
        error
            .get("detail")
            .filter(|detail| !detail.is_null())
            .map(Value::to_string)
    };
    named
        .map(str::to_owned)
        .or_else(listed)
        .or_else(detail)
        .unwrap_or_default()
}

/// A list of what is wrong with a request (FastAPI's `loc` and `msg`), or of errors (`message`).
fn listed(list: &Value) -> Option<String> {
    let one = |error: &Value| {
        let words = json::text(error, &["msg", "message"])?;
        let part = |part: &Value| part.as_str().map_or_else(|| part.to_string(), str::to_owned);
        let place = error.get("loc").and_then(Value::as_array);
        let place: Vec<String> = place.into_iter().flatten().map(part).collect();
        Some(match place.is_empty() {
            true => words.to_owned(),
            false => format!("{}: {words}", place.join(".")),
        })
    };
    let all: Vec<String> = list.as_array()?.iter().filter_map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// What names of failures have in common that are about an image of the request.
const IMAGE_CODES: &[&str] = &[
    "invalid_image",
    "invalid_base64_image",
    "image_parse_error",
    "image_too_",
    "image_file_",
    "unsupported_image",
    "failed_to_download_image",
];

/// `retry-after-ms`, or `Retry-After` in seconds or as a date.
fn delay_from_headers(headers: &HeaderMap, now: i64) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return duration(ms / 1000.0);
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<f64>() {
        return duration(seconds);
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(after).ok()?;
    duration((date.as_second().saturating_sub(now)).max(0) as f64)
}

/// What Google says beside its errors: `"details": [{"retryDelay": "12s"}]`.
fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    duration(delay.strip_suffix('s')?.parse().ok()?)
}

/// What a challenge (RFC 6750) says in words.
fn challenge(header: &str) -> Option<String> {
    let (_, rest) = header.split_once("error_description=\"")?;
    Some(rest.split_once('"')?.0.to_owned()).filter(|words| !words.trim().is_empty())
}

/// The address without what stands before an `@` in it.
fn without_password(address: &str) -> String {
    match url::Url::parse(address) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            // These fail only for URLs that hold no such thing.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.into()
        }
        _ => address.to_owned(),
    }
}

/// Our advice to try again, with a blank before it; nothing where the provider's own message gives it already, no less exactly
/// and for no shorter time.
pub(super) fn unless_said(message: &str, advice: &str) -> String {
    static ADVICE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\b(?:try again|please retry|retry (?:in|after|later|your|the|this)|please wait|wait (?:for|an?|until|before|\d))\b")
            .expect("a valid pattern")
    });
    let says = |text: &str| ADVICE.is_match(text);
    // We give whole seconds.
    let seconds = |text: &str| delay_from_text(text).map(|delay| delay.as_secs_f64().ceil());
    let covers_time = seconds(advice).is_none_or(|ours| seconds(message).is_some_and(|theirs| theirs >= ours));
    match says(advice) && says(message) && covers_time {
        true => String::new(),
        false => format!(" {advice}"),
    }
}

/// `try again in 1.5s`, `retry after 20 seconds`, `try again in 6m0s`.
fn delay_from_text(text: &str) -> Option<Duration> {
    static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)(?:try again|retry|wait)\s+(?:in\s+|after\s+|for\s+)?((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*)+)")
            .expect("a valid pattern")
    });
    static AMOUNT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]+)").expect("a valid pattern"));
    let phrase = PHRASE.captures(text)?.get(1)?.as_str();
    let mut seconds = 0.0;
    for amount in AMOUNT.captures_iter(phrase) {
        let number: f64 = amount[1].parse().ok()?;
        seconds += match amount[2].to_ascii_lowercase().as_str() {
            "ms" | "millisecond" | "milliseconds" => number / 1000.0,
            "s" | "sec" | "secs" | "second" | "seconds" => number,
            "m" | "min" | "mins" | "minute" | "minutes" => number * 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => number * 3600.0,
            _ => return None,
        };
    }
    duration(seconds)
}

fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.max(0.0)).ok()
}

/// Text for a person from a body that is no JSON: the title of a web page, or the start of the text.
pub(super) fn plain(text: &str) -> String {
    static TITLE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?is)<title[^>]*>(.*?)</title>").expect("a valid pattern"));
    static TAG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?is)<style.*?</style>|<script.*?</script>|<[^>]*>").expect("a valid pattern"));
    let title = TITLE
        .captures(text)
        .map(|title| title[1].to_owned())
        .filter(|title| !title.trim().is_empty());
    let text = title.unwrap_or_else(|| {
        if text.trim_start().starts_with('<') {
            TAG.replace_all(text, " ").into_owned()
        } else {
            text.to_owned()
        }
    });
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::error::Transience;
    use serde_json::json;

    const ASKED: Asked<'static> = Asked {
        model: "m-1",
        from: Some(&KeyFrom::Nowhere),
        key: Some("sk-secret"),
        further: &[],
        now: 1000,
    };

    fn http(status: u16, body: &str) -> ErrorKind {
        Report::from_body(body.as_bytes(), 1000).into_http(status, &HeaderMap::new(), ASKED)
    }

    fn name(kind: &ErrorKind) -> String {
        format!("{kind:?}")
            .split([' ', '{'])
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn what_the_provider_advises_is_not_advised_twice() {
        for (message, advice, expected) in [
            ("Rate limit. Please try again in 28ms.", "Try again in 1 s.", ""),
            ("Please retry after 20 seconds", "Try again in 20 s.", ""),
            ("Please try again later.", "Try again in a minute.", ""),
            ("We are busy, wait a moment.", "Try again in a while.", ""),
            // It says when, and they do not, or too early.
            (
                "Please try again in 20 seconds.",
                "Try again in 300 s.",
                " Try again in 300 s.",
            ),
            ("Please wait 5m before you ask.", "Try again in 300 s.", ""),
            (
                "The wait queue is full.",
                "Try again in a while.",
                " Try again in a while.",
            ),
            ("This is not retryable.", "Try again.", " Try again."),
            ("Please try again later.", "Try again in 7 s.", " Try again in 7 s."),
            ("Too many requests.", "Try again in 7 s.", " Try again in 7 s."),
            ("", "Try again.", " Try again."),
            ("Please try again.", "Check `base_url`.", " Check `base_url`."),
        ] {
            assert_eq!(unless_said(message, advice), expected, "{message} {advice}");
        }
    }

    #[test]
    fn statuses_and_bodies() {
        let table = [
            (
                400,
                r#"{"error":{"message":"no","type":"invalid_request_error","code":null}}"#,
                "BadRequest",
            ),
            (
                400,
                r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8 tokens","code":null}}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"error":{"message":"the model m-1 does not exist"}}"#,
                "ModelNotFound",
            ),
            (
                401,
                r#"{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}"#,
                "Unauthorized",
            ),
            (401, "", "Unauthorized"),
            (402, "pay", "Quota"),
            (
                500,
                r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
                "ContextWindowExceeded",
            ),
            (
                403,
                r#"{"error":{"code":403,"message":"Input was flagged","metadata":{"reasons":["x"],"flagged_input":"y"}}}"#,
                "ContentFilter",
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
                "Unauthorized",
            ),
            (
                404,
                r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#,
                "ModelNotFound",
            ),
            (
                404,
                r#"{"error":{"code":404,"message":"No endpoints found that support tool use."}}"#,
                "ModelNotFound",
            ),
            (
                413,
                r#"{"error":{"message":"Request too large","code":"rate_limit_exceeded"}}"#,
                "Http",
            ),
            (
                429,
                r#"{"error":{"message":"Budget has been exceeded!","type":"budget_exceeded","code":"400"}}"#,
                "Quota",
            ),
            (
                400,
                r#"{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (12) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}]"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}"#,
                "ContextWindowExceeded",
            ),
            (403, "<html><title>Forbidden</title></html>", "Unauthorized"),
            (
                404,
                r#"{"error":{"message":"x","code":"model_not_found"}}"#,
                "ModelNotFound",
            ),
            (
                404,
                r#"{"error":"model \"m-1\" not found, try pulling it first"}"#,
                "ModelNotFound",
            ),
            (404, "404 page not found", "Http"),
            (
                404,
                r#"{"error":{"message":"Invalid URL","type":"invalid_request_error"}}"#,
                "Http",
            ),
            (408, "", "Http"),
            (
                409,
                r#"{"error":{"message":"busy","type":"invalid_request_error"}}"#,
                "Http",
            ),
            (413, "", "Http"),
            (
                422,
                r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
                "BadRequest",
            ),
            (
                429,
                r#"{"error":{"message":"slow","code":"rate_limit_exceeded"}}"#,
                "RateLimited",
            ),
            (
                429,
                r#"{"error":{"message":"slow","type":"invalid_request_error"}}"#,
                "RateLimited",
            ),
            (429, r#"{"error":{"message":"x","code":"insufficient_quota"}}"#, "Quota"),
            (
                429,
                r#"{"error":{"message":"x","type":"usage_limit_reached","resets_in_seconds":5}}"#,
                "UsageLimit",
            ),
            (429, r#"{"error":{"type":"usage_not_included"}}"#, "UsageNotIncluded"),
            (429, "", "RateLimited"),
            (500, r#"{"error":{"message":"x","type":"server_error"}}"#, "Http"),
            (500, "maximum context length", "Http"),
            (503, r#"{"error":{"code":"server_is_overloaded"}}"#, "Overloaded"),
            (503, "", "Http"),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#,
                "Overloaded",
            ),
            (302, "", "Http"),
            // As each of these providers says that the context is full.
            (
                400,
                r#"{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","code":"invalid_parameter_error"}}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"invalid params, context window exceeds limit (2013)"}}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"invalid_request_body"}}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"object":"error","message":"You passed 40961 input tokens and requested 0 output tokens. However, the model's context length is only 40960 tokens, resulting in a maximum input length of 40960 tokens. Please reduce the length of the input prompt.","code":400}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"message":"The input (50000 tokens) is longer than the model's context length (40960 tokens).","code":400}"#,
                "ContextWindowExceeded",
            ),
            (
                400,
                r#"{"error":{"message":"prompt too long; exceeded max context length by 512 tokens"}}"#,
                "ContextWindowExceeded",
            ),
            (
                422,
                r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 131073. Given: 140000 `inputs` tokens and 2048 `max_new_tokens`"}"#,
                "ContextWindowExceeded",
            ),
            // OpenRouter has the reason of the provider behind it in a text of JSON.
            (
                400,
                r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This model's maximum context length is 262144 tokens. However, your messages resulted in 262897 tokens.\",\"type\":\"Bad Request\",\"code\":400}}","provider_name":"Nvidia"}}}"#,
                "ContextWindowExceeded",
            ),
            // Money and keys, under statuses of other troubles.
            (
                429,
                r#"{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}"#,
                "Quota",
            ),
            (
                429,
                r#"{"error":{"message":"Your account is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}"#,
                "Quota",
            ),
            (
                429,
                r#"{"code":"Some resource has been exhausted","error":"Your team has either used all available credits or reached its monthly spending limit."}"#,
                "Quota",
            ),
            (
                403,
                r#"{"code":"The caller does not have permission","error":"Your newly created team doesn't have any credits yet."}"#,
                "Quota",
            ),
            (
                400,
                r#"{"error":{"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage","code":"Arrearage"}}"#,
                "Quota",
            ),
            (
                412,
                r#"{"error":{"message":"Account x is suspended, possibly due to reaching the monthly spending limit"}}"#,
                "Quota",
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01."}}"#,
                "Quota",
            ),
            (
                400,
                r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***. You can obtain an API key from the console."}"#,
                "Unauthorized",
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
                "Unauthorized",
            ),
            (
                400,
                r#"{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content."}}"#,
                "ContentFilter",
            ),
            (
                400,
                r#"{"contentFilter":[{"level":1,"role":"user"}],"error":{"code":"1301","message":"unsafe or sensitive content"}}"#,
                "ContentFilter",
            ),
        ];
        for (status, body, wanted) in table {
            let kind = http(status, body);
            assert_eq!(name(&kind), wanted, "{status} {body} {kind:?}");
            assert_eq!(kind.http_status(), Some(status), "{body}");
        }
    }

    #[test]
    fn the_providers_words_survive_every_shape_and_the_key_never_does() {
        let table = [
            json!({"error": {"message": "the words"}}),
            json!({"error": "the words"}),
            json!({"message": "the words"}),
            json!({"detail": "the words"}),
            json!({"type": "error", "error": {"type": "server_error", "message": "the words"}}),
            json!({"type": "error", "code": "server_error", "message": "the words"}),
            json!({"type": "response.failed", "response": {"error": {"code": "x", "message": "the words"}}}),
            json!({"error": {}, "message": "the words"}),
            json!([{"error": {"message": "the words"}}]),
            json!({"error": {"code": 500, "metadata": {"raw": "the words"}}}),
            json!({"error": {"message": "Provider returned error", "metadata": {"raw": {"message": "the words"}}}}),
            json!({"error": {"message": "Provider returned error", "metadata": {"raw": "{\"detail\":\"the words\"}"}}}),
            json!({"object": "error", "message": {"detail": [{"loc": ["body", "n"], "msg": "the words"}]}}),
            json!({"detail": [{"loc": ["body", 0], "msg": "the words"}]}),
            json!({"Message": "the words"}),
            json!({"success": false, "errors": [{"code": 1, "message": "the words"}]}),
            json!({"base_resp": {"status_code": 1004, "status_msg": "the words"}}),
        ];
        for value in table {
            let kind = http(500, &value.to_string());
            assert!(format!("{kind:?}").contains("the words"), "{value} {kind:?}");
        }
        let event = http(500, "data: {\"error\":{\"message\":\"the words\"}}\n\ndata: [DONE]\n");
        assert!(
            matches!(&event, ErrorKind::Http { message, .. } if message == "the words"),
            "{event:?}"
        );
        let kind = http(401, r#"{"error":{"message":"wrong key sk-secret given"}}"#);
        assert!(format!("{kind:?}").contains("wrong key [key] given"), "{kind:?}");
        let long = http(500, &"x".repeat(5000));
        assert!(matches!(long, ErrorKind::Http { message, .. } if message.chars().count() == 1001));
        assert_eq!(
            plain("<html><head><title> 502 Bad\nGateway </title></head><body>nginx"),
            "502 Bad Gateway"
        );
        assert_eq!(plain("<p>Sign <b>in</b></p>"), "Sign in");
    }

    #[test]
    fn what_went_along_is_never_repeated() {
        let further = ["header-secret".to_owned(), "of-the-address".to_owned()];
        let asked = Asked {
            further: &further,
            ..ASKED
        };
        let body = b"Cannot POST /v1/chat/completions?key=of-the-address with x: header-secret";
        let kind = Report::from_body(body, 1000).into_http(404, &HeaderMap::new(), asked);
        let wanted = "Cannot POST /v1/chat/completions?key=[hidden] with x: [hidden]";
        assert!(
            matches!(&kind, ErrorKind::Http { message, .. } if message == wanted),
            "{kind:?}"
        );
    }

    #[test]
    fn failures_within_a_stream() {
        let table = [
            ("context_length_exceeded", "ContextWindowExceeded", Transience::Final),
            ("insufficient_quota", "Quota", Transience::Final),
            ("invalid_prompt", "BadRequest", Transience::Final),
            ("server_is_overloaded", "Overloaded", Transience::Stream),
            ("rate_limit_exceeded", "RateLimited", Transience::Stream),
            ("slow_down", "Overloaded", Transience::Stream),
            ("402", "Quota", Transience::Final),
            ("400", "BadRequest", Transience::Final),
            ("502", "Failed", Transience::Stream),
            ("tool_use_failed", "Failed", Transience::Stream),
            ("server_error", "Failed", Transience::Stream),
            ("never_heard_of_it", "Failed", Transience::Stream),
        ];
        for (code, wanted, transience) in table {
            let event = json!({"type": "response.failed", "response": {"error": {"code": code, "message": "words"}}});
            let kind = Report::from_json(&event, 1000).into_stream(ASKED);
            assert_eq!(
                (name(&kind).as_str(), kind.transience()),
                (wanted, transience),
                "{code}"
            );
        }
        let nothing = Report::from_json(&json!({"type": "error"}), 0).into_stream(ASKED);
        assert_eq!(
            nothing,
            ErrorKind::Failed {
                code: None,
                message: String::new(),
                retry_after: None
            }
        );
    }

    #[test]
    fn where_it_points_is_told_without_what_may_be_a_key() {
        let headers = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().expect("a header"));
            headers
        };
        let message = |status: u16, body: &str, headers: &HeaderMap| match Report::from_body(body.as_bytes(), 1000)
            .into_http(status, headers, ASKED)
        {
            ErrorKind::Http { message, .. } | ErrorKind::Unauthorized { message, .. } => message,
            other => format!("{other:?}"),
        };
        let elsewhere = headers("location", "https://me:pw@a.example/v1/?api_key=hidden#x");
        assert_eq!(message(307, "", &elsewhere), "it points to https://a.example/v1/");
        let sign_in = headers("location", "/login?to=hidden");
        assert_eq!(
            message(302, "<title>Sign in</title>", &sign_in),
            "Sign in; it points to /login"
        );
        let challenge = headers(
            "www-authenticate",
            "Bearer realm=\"x\", error=\"invalid_token\", error_description=\"The token has expired\"",
        );
        assert_eq!(message(401, "", &challenge), "The token has expired");
    }

    /// Shows S-217.
    #[test]
    fn delays_in_headers_and_texts() {
        let google = r#"[{"error":{"code":429,"details":[{"reason":"x"},{"retryDelay":"1.5s"}]}}]"#;
        assert_eq!(http(429, google).retry_after(), Some(Duration::from_millis(1500)));
        let header = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().expect("a header"));
            delay_from_headers(&headers, 784_111_777 - 7).map(|delay| delay.as_millis())
        };
        assert_eq!(header("retry-after", "3"), Some(3000));
        assert_eq!(header("retry-after", "0.25"), Some(250));
        assert_eq!(header("retry-after", "-5"), Some(0));
        assert_eq!(header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(7000));
        assert_eq!(header("retry-after", "Sat, 05 Nov 1994 08:49:37 GMT"), Some(0));
        assert_eq!(header("retry-after", "soon"), None);
        assert_eq!(header("retry-after", "1e300"), None);
        assert_eq!(header("retry-after-ms", "1500"), Some(1500));
        let texts = [
            ("Rate limit reached. Please try again in 1.5s. Visit", Some(1500)),
            ("Please try again in 20ms.", Some(20)),
            ("try again in 6m0s.", Some(360_000)),
            ("Try again in 1h2m3.5s", Some(3_723_500)),
            ("retry after 20 seconds", Some(20_000)),
            ("Please retry in 12.3s.", Some(12_300)),
            ("please wait 2 minutes", Some(120_000)),
            ("try again later", None),
            ("Try again in 1 s.", Some(1000)),
            ("try again in 5 apples", None),
            ("Limit 30000, used 29000", None),
        ];
        for (text, wanted) in texts {
            assert_eq!(delay_from_text(text).map(|delay| delay.as_millis()), wanted, "{text}");
        }
    }

    #[test]
    fn a_usage_limit_says_when_it_ends() {
        let kind = http(
            429,
            r#"{"error":{"type":"usage_limit_reached","message":"x","resets_in_seconds":60}}"#,
        );
        assert!(
            matches!(
                kind,
                ErrorKind::UsageLimit {
                    resets_at: Some(1060),
                    ..
                }
            ),
            "{kind:?}"
        );
    }
}
