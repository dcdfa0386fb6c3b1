//! The authorization server: what is asked of it (OAuth 2.0, RFC 6749, 7009, 7636 and 8628) and how its answers are read.

use super::AccountError;
use super::claims::Claims;
use super::stored::Tokens;
use crate::config::login::Login;
use crate::config::network::Network;
use crate::model::web::{self, Answer, WebError};
use serde_json::Value;
use std::time::Duration;
use url::Url;

/// The most of the server's own words that is shown, in characters.
const LONGEST_MESSAGE: usize = 300;
/// Seconds between questions whether a code was typed, where the server does not say.
const POLL: f64 = 5.0;
const SHORTEST_POLL: Duration = Duration::from_millis(100);
const LONGEST_POLL: Duration = Duration::from_secs(60);

/// Why the server gave nothing, as the end of a sentence that begins with what it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    #[error("was not asked: {0}")]
    Unreached(WebError),
    #[error("answered with status {status}{}{}", said(.code), said(.message))]
    Refused {
        status: u16,
        /// Its word for the reason.
        code: Option<String>,
        message: Option<String>,
    },
    #[error("cannot be understood: {0}")]
    Unreadable(&'static str),
}

fn said(text: &Option<String>) -> String {
    text.as_deref().map(|text| format!(": {text}")).unwrap_or_default()
}

impl ServerError {
    /// Whether another try could go better.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Unreached(error) => error.is_passing(),
            Self::Refused { status, .. } => *status >= 500 || matches!(status, 408 | 425 | 429),
            Self::Unreadable(_) => true,
        }
    }

    /// Whether the server says that what a login is renewed with holds no more. Everything else may be otherwise in a while:
    /// a proxy in between, a setting of the server's, a client id that is mended.
    pub(super) fn ends_the_login(&self) -> bool {
        matches!(
            self.code(),
            Some("invalid_grant" | "refresh_token_expired" | "refresh_token_reused" | "refresh_token_invalidated")
        )
    }

    fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => code.as_deref(),
            _ => None,
        }
    }
}

/// What a login needs to know of the server; all of it, or what is missing.
pub(super) struct Endpoints<'a> {
    pub(super) client_id: &'a str,
    pub(super) authorization: &'a str,
    pub(super) token: &'a str,
    pub(super) device: &'a str,
    network: &'a Network,
}

impl<'a> Endpoints<'a> {
    pub(super) fn of(login: &'a Login) -> Result<Self, AccountError> {
        let need = |value: &'a Option<String>, missing: &'static str| {
            value.as_deref().ok_or(AccountError::NotConfigured { missing })
        };
        Ok(Self {
            client_id: need(&login.client_id, "client_id")?,
            authorization: need(&login.authorization_endpoint, "issuer")?,
            token: need(&login.token_endpoint, "issuer")?,
            device: need(&login.device_authorization_endpoint, "issuer")?,
            network: &login.network,
        })
    }

    /// Where the browser is to go.
    pub(super) fn page(&self, login: &Login, back: &str, state: &str, challenge: &str) -> Result<String, AccountError> {
        let wrong = |reason| AccountError::BadSetting {
            key: "authorization_endpoint",
            value: self.authorization.to_owned(),
            reason,
        };
        let mut url = Url::parse(self.authorization).map_err(|_| wrong("it is no address"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("it does not begin with https://"));
        }
        {
            let mut query = url.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", self.client_id)
                .append_pair("redirect_uri", back)
                .append_pair("scope", &login.scopes.join(" "))
                .append_pair("code_challenge", challenge)
                .append_pair("code_challenge_method", "S256")
                .append_pair("state", state);
            if let Some(allowed) = &login.workspaces {
                query.append_pair("allowed_workspace_id", &allowed.join(","));
            }
        }
        Ok(url.into())
    }

    /// The tokens for a code that the browser brought back.
    pub(super) async fn exchange(&self, code: &str, back: &str, verifier: &str) -> Result<Tokens, ServerError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", back),
            ("client_id", self.client_id),
            ("code_verifier", verifier),
        ];
        let answer = web::post_form(self.network, self.token, &fields)
            .await
            .map_err(ServerError::Unreached)?;
        tokens(&answer, &[code, verifier])
    }

    /// A code for a browser elsewhere.
    pub(super) async fn device_code(&self, login: &Login) -> Result<Device, ServerError> {
        let scopes = login.scopes.join(" ");
        let workspaces = login.workspaces.as_ref().map(|allowed| allowed.join(","));
        let mut fields = vec![("client_id", self.client_id), ("scope", &scopes)];
        fields.extend(workspaces.as_deref().map(|allowed| ("allowed_workspace_id", allowed)));
        let answer = web::post_form(self.network, self.device, &fields)
            .await
            .map_err(ServerError::Unreached)?;
        Device::read(&answer)
    }

    /// Whether the code has been typed: the tokens, or nothing yet.
    pub(super) async fn poll(&self, device: &str) -> Result<Poll<Tokens>, ServerError> {
        let fields = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", device),
            ("client_id", self.client_id),
        ];
        let answer = web::post_form(self.network, self.token, &fields)
            .await
            .map_err(ServerError::Unreached)?;
        match tokens(&answer, &[device]) {
            Ok(tokens) => Ok(Poll::Done(tokens)),
            Err(error) => match error.code() {
                Some("authorization_pending") => Ok(Poll::NotYet),
                Some("slow_down") => Ok(Poll::Slower),
                Some("access_denied") => Ok(Poll::Denied),
                Some("expired_token") => Ok(Poll::RunOut),
                _ => Err(error),
            },
        }
    }

    /// Newer tokens for those that are about to run out.
    pub(super) async fn renew(&self, old: &Tokens) -> Result<Tokens, ServerError> {
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", old.refresh_token.as_str()),
            ("client_id", self.client_id),
        ];
        let answer = web::post_form(self.network, self.token, &fields)
            .await
            .map_err(ServerError::Unreached)?;
        let new = tokens(&answer, &[&old.refresh_token])?;
        let kept = |new: String, old: &String| match new.is_empty() {
            true => old.clone(),
            false => new,
        };
        Ok(Tokens {
            id_token: kept(new.id_token, &old.id_token),
            refresh_token: kept(new.refresh_token, &old.refresh_token),
            account_id: new.account_id.or(old.account_id.clone()),
            rest: old.rest.clone(),
            ..new
        })
    }
}

/// Tells the server that a login is over, where it takes that. What it answers changes nothing here.
pub(super) async fn revoke(login: &Login, tokens: &Tokens) {
    let (Some(url), Some(client_id)) = (&login.revocation_endpoint, &login.client_id) else {
        return;
    };
    let (token, hint) = match tokens.refresh_token.is_empty() {
        false => (&tokens.refresh_token, "refresh_token"),
        true => (&tokens.access_token, "access_token"),
    };
    let fields = [
        ("token", token.as_str()),
        ("token_type_hint", hint),
        ("client_id", client_id),
    ];
    match web::post_form(&login.network, url, &fields).await {
        Ok(answer) if answer.status < 300 => tracing::info!("the authorization server has ended the login"),
        Ok(answer) => tracing::info!(
            status = answer.status,
            "the authorization server does not end the login"
        ),
        Err(error) => tracing::info!(%error, "the authorization server was not told of the logout"),
    }
}

/// What became of a code.
pub(super) enum Poll<T> {
    Done(T),
    NotYet,
    /// The same, and we ask too often.
    Slower,
    Denied,
    RunOut,
}

impl<T> Poll<T> {
    pub(super) fn map<U>(self, done: impl FnOnce(T) -> U) -> Poll<U> {
        match self {
            Self::Done(tokens) => Poll::Done(done(tokens)),
            Self::NotYet => Poll::NotYet,
            Self::Slower => Poll::Slower,
            Self::Denied => Poll::Denied,
            Self::RunOut => Poll::RunOut,
        }
    }
}

/// A code for a browser elsewhere.
pub(super) struct Device {
    /// Ours, to ask with.
    pub(super) code: String,
    /// The person's, to type.
    pub(super) user_code: String,
    pub(super) page: String,
    /// The page with the code filled in.
    pub(super) filled_page: Option<String>,
    /// How long the code holds, where the server says so.
    pub(super) limit: Option<Duration>,
    pub(super) pause: Duration,
}

impl Device {
    fn read(answer: &Answer) -> Result<Self, ServerError> {
        let value = json(answer, &[])?;
        let text = |names: &[&str]| {
            let text = names.iter().find_map(|name| value.get(*name)?.as_str())?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let seconds = |name: &str| {
            let value = value.get(name)?;
            value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
        };
        let page = |names: &[&str]| {
            text(names).filter(|page| Url::parse(page).is_ok_and(|url| matches!(url.scheme(), "http" | "https")))
        };
        let user_code = text(&["user_code", "usercode"])
            .filter(|code| code.len() <= 64 && code.chars().all(|letter| letter.is_ascii_graphic() || letter == ' '));
        let pause = Duration::try_from_secs_f64(seconds("interval").unwrap_or(POLL)).unwrap_or(LONGEST_POLL);
        Ok(Self {
            code: text(&["device_code"]).ok_or(ServerError::Unreadable("its answer has no device_code"))?,
            user_code: user_code.ok_or(ServerError::Unreadable(
                "its answer has no user_code that could be typed",
            ))?,
            page: page(&["verification_uri", "verification_url"]).ok_or(ServerError::Unreadable(
                "its answer has no verification_uri that could be opened",
            ))?,
            filled_page: page(&["verification_uri_complete", "verification_url_complete"]),
            limit: seconds("expires_in").and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            pause: pause.clamp(SHORTEST_POLL, LONGEST_POLL),
        })
    }

    /// The pause after the server has said that it is too short.
    pub(super) fn slower(pause: Duration) -> Duration {
        (pause + Duration::from_secs(5)).min(LONGEST_POLL)
    }
}

/// The tokens of an answer. What was sent is never repeated in an error.
fn tokens(answer: &Answer, sent: &[&str]) -> Result<Tokens, ServerError> {
    let value = json(answer, sent)?;
    let text = |name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let access_token = text("access_token");
    if access_token.is_empty() || !access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ServerError::Unreadable(
            "its answer has no access_token that could be sent",
        ));
    }
    let id_token = text("id_token");
    let lasts = value
        .get("expires_in")
        .and_then(|lasts| lasts.as_f64().or_else(|| lasts.as_str()?.trim().parse().ok()))
        .filter(|seconds| *seconds > 0.0);
    let runs_out = lasts.map(|seconds| jiff::Timestamp::now().as_second().saturating_add(seconds as i64));
    Ok(Tokens {
        account_id: Claims::of(&id_token).workspace,
        // One that says so itself is believed.
        expires_at: runs_out.filter(|_| Claims::of(&access_token).expires_at.is_none()),
        refresh_token: text("refresh_token"),
        access_token,
        id_token,
        ..Tokens::default()
    })
}

/// The object of an answer that says success.
pub(super) fn json(answer: &Answer, sent: &[&str]) -> Result<Value, ServerError> {
    let value = serde_json::from_slice::<Value>(&answer.body)
        .ok()
        .filter(Value::is_object);
    // Some say yes to the request, and no in the answer to it.
    let says_no = value
        .as_ref()
        .and_then(|value| value.get("error")?.as_str())
        .is_some_and(|error| !error.is_empty());
    if (200..300).contains(&answer.status) && !says_no {
        return value.ok_or(match starts_like_a_page(&answer.body) {
            true => {
                ServerError::Unreadable("it answered with a web page, so a proxy or another server may be in its place")
            }
            false => ServerError::Unreadable("its answer is no JSON"),
        });
    }
    let clean = |text: &str| {
        let mut text = text.trim().to_owned();
        for secret in sent.iter().filter(|secret| secret.len() >= 4) {
            text = text.replace(secret, "[hidden]");
        }
        let text: String = crate::shown::line(&text).chars().take(LONGEST_MESSAGE).collect();
        Some(text.trim_end_matches('.').to_owned()).filter(|text| !text.is_empty())
    };
    let at = |pointers: &[&str]| {
        let value = value.as_ref()?;
        pointers
            .iter()
            .find_map(|pointer| clean(value.pointer(pointer)?.as_str()?))
    };
    Err(ServerError::Refused {
        status: answer.status,
        code: at(&["/error", "/error/code", "/code"]),
        message: at(&["/error_description", "/error/message", "/message", "/detail"]),
    })
}

fn starts_like_a_page(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status,
            body: body.as_bytes().to_vec(),
            challenge: None,
        }
    }

    #[test]
    fn answers_of_all_kinds_become_tokens_or_an_error_without_secrets() {
        let read =
            |status, body: &str| tokens(&answer(status, body), &["the-sent-code"]).map_err(|error| error.to_string());
        assert_eq!(
            read(200, r#"{"access_token": "a"}"#).map(|tokens| tokens.access_token),
            Ok("a".into())
        );
        assert!(read(200, r#"{"access_token": "a", "error": ""}"#).is_ok());
        for lasts in ["3600", "\"3600\""] {
            let tokens = read(200, &format!(r#"{{"access_token": "a", "expires_in": {lasts}}}"#));
            assert!(tokens.is_ok_and(|tokens| tokens.expires_at.is_some()), "{lasts}");
        }
        for (status, body, wanted) in [
            (200, "<html>", "web page"),
            (200, "ok", "no JSON"),
            (200, "", "no JSON"),
            (200, "[]", "no JSON"),
            (200, "{}", "no access_token"),
            (200, r#"{"access_token": 7}"#, "no access_token"),
            (200, r#"{"access_token": "a\nb"}"#, "no access_token"),
            (
                400,
                r#"{"error": "invalid_grant", "error_description": "the-sent-code is unknown."}"#,
                "status 400: invalid_grant: [hidden] is unknown",
            ),
            (401, r#"{"error": {"code": "reused", "message": "x"}}"#, "reused: x"),
            (200, r#"{"error": "authorization_pending"}"#, "authorization_pending"),
            (502, "<html>Bad gateway", "status 502"),
            (302, "", "status 302"),
        ] {
            let error = read(status, body).expect_err(body);
            assert!(
                error.contains(wanted) && !error.contains("the-sent-code"),
                "{body}: {error}"
            );
        }
    }

    #[test]
    fn whoever_is_asked_too_often_is_asked_less() {
        let seconds = Duration::from_secs;
        for (pause, wanted) in [(1, 6), (5, 10), (58, 60), (60, 60)] {
            assert_eq!(Device::slower(seconds(pause)), seconds(wanted));
        }
    }

    #[test]
    fn codes_for_a_browser_elsewhere_are_checked() {
        let good = json!({"device_code": "d", "user_code": "AB-CD", "verification_uri": "https://a.example/x", "interval": "7"});
        let read = |value: &Value| Device::read(&answer(200, &value.to_string()));
        let device = read(&good).expect("a code");
        assert_eq!((device.pause, device.limit), (Duration::from_secs(7), None));
        for (key, odd) in [
            ("device_code", json!("")),
            ("user_code", json!("a\nb")),
            ("user_code", json!("x".repeat(100))),
            ("verification_uri", json!("file:///etc/passwd")),
            ("verification_uri", json!("javascript:alert(1)")),
            ("verification_uri", json!(7)),
        ] {
            let mut value = good.clone();
            value[key] = odd;
            assert!(read(&value).is_err(), "{value}");
        }
        for (interval, wanted) in [
            (json!(0), 100),
            (json!(-1), 60_000),
            (json!(1e9), 60_000),
            (json!(null), 5_000),
        ] {
            let mut value = good.clone();
            value["interval"] = interval;
            assert_eq!(read(&value).expect("a code").pause, Duration::from_millis(wanted));
        }
    }
}
