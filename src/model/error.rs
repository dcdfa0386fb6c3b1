//! What can go wrong between us and a provider, as values; and the one place where that becomes words.
//!
//! Each kind answers two questions: is it worth another try ([`ErrorKind::transience`]), and what should the
//! person do ([`ModelError::turn_error`]). Nothing outside reads message texts.

use crate::model::failure::unless_said;
use crate::protocol::model::RateLimits;
use crate::protocol::turn::{ErrorAction, TurnError, TurnErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// Whom we talk to, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The provider's name for people.
    pub name: String,
    /// Its base URL, without user information and query.
    pub url: String,
}

/// A failed request or a stream that broke off.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.message())]
pub struct ModelError {
    pub kind: ErrorKind,
    pub endpoint: Arc<Endpoint>,
}

/// Where the key came from that a request carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyFrom {
    /// There is none, or it stands in the configuration.
    #[default]
    Nowhere,
    /// An environment variable.
    Variable(String),
    /// The person has signed in with it.
    Stored,
    /// It belongs to an account that the person has signed in to.
    Account,
}

/// Why there is nothing that could be sent of a login.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct LoginTrouble {
    /// The end of a sentence, for the person.
    pub reason: String,
    /// A new try may go better: the authorization server was not reached, or has trouble of its own.
    pub passing: bool,
    /// There is one, and it cannot be read: another one helps nobody. The reason says what does.
    pub is_kept: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ErrorKind {
    /// The provider wants a key and there is none. Nothing was sent.
    MissingKey {
        var: String,
        instructions: Option<String>,
        /// A login would do as well.
        or_login: bool,
    },
    /// What the person is signed in with cannot be sent: there is none, or it has run out. Nothing was sent.
    Login(LoginTrouble),
    /// The provider's configuration cannot work: no URL, a header that is none, a certificate nobody vouches for.
    Setup { reason: String },
    /// Nothing may leave this machine, as the person has set it. Nothing was sent.
    Offline,
    /// No connection came about; what to do about it.
    Unreachable { reason: String, advice: String },
    /// No encrypted connection came about: a certificate nobody vouches for, or none of ours.
    Insecure { reason: String, advice: String },
    /// A proxy on the way does not let us through.
    Proxy { reason: String, advice: String },
    /// The connection broke before the answer began.
    Broken { reason: String },
    /// A status that has no kind of its own.
    Http {
        status: u16,
        message: String,
        request_id: Option<String>,
        retry_after: Option<Duration>,
    },
    /// 401 or 403, or a failure that says the same.
    Unauthorized {
        status: Option<u16>,
        message: String,
        from: KeyFrom,
    },
    ModelNotFound {
        status: Option<u16>,
        model: String,
        message: String,
    },
    /// The conversation is longer than the model can take.
    ContextWindowExceeded { status: Option<u16>, message: String },
    /// The account's allowance is used up; waiting a moment does not help.
    UsageLimit {
        status: Option<u16>,
        message: String,
        /// Seconds since the Unix epoch.
        resets_at: Option<i64>,
        rate_limits: Option<Box<RateLimits>>,
    },
    /// What was paid for is used up; somebody has to pay again.
    Quota { status: Option<u16>, message: String },
    /// The provider lets neither the request nor the answer pass for what they hold.
    ContentFilter { status: Option<u16>, message: String },
    /// The model does not want to answer, and says no word of its own.
    Refused,
    /// The account's plan does not cover this.
    UsageNotIncluded { status: Option<u16>, message: String },
    /// Too many requests in a short time. Without a status it came within the stream.
    RateLimited {
        status: Option<u16>,
        message: String,
        retry_after: Option<Duration>,
    },
    /// The provider has more work than it can do.
    Overloaded {
        status: Option<u16>,
        message: String,
        retry_after: Option<Duration>,
    },
    /// The provider does not accept the request as it is.
    BadRequest {
        status: Option<u16>,
        message: String,
        request_id: Option<String>,
    },
    /// The provider began an answer and then reported a failure of its own.
    Failed {
        code: Option<String>,
        message: String,
        retry_after: Option<Duration>,
    },
    /// The provider ended the answer early, on purpose: `max_output_tokens`.
    Incomplete { reason: String },
    /// The stream ended before the answer was complete.
    StreamEnded { reason: Option<String> },
    /// Nothing came for the whole idle limit.
    Idle { limit: Duration },
    /// What came is not the protocol at all: a web page, an event beyond all bounds.
    Protocol { reason: String },
}

/// Which budget of retries a failure draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transience {
    /// Tried again without end, while the person waits and can cancel.
    Connect,
    /// `request_max_retries`.
    Request,
    /// `stream_max_retries`.
    Stream,
    /// Another try would fail in the same way.
    Final,
}

impl ErrorKind {
    pub fn transience(&self) -> Transience {
        match self {
            Self::Unreachable { .. } => Transience::Connect,
            Self::Broken { .. } | Self::Login(LoginTrouble { passing: true, .. }) => Transience::Request,
            Self::Http { status, .. } if is_transient_status(*status) => Transience::Request,
            // A local server that loads its model needs minutes.
            Self::Overloaded { message, .. } if is_loading(message) => Transience::Connect,
            Self::RateLimited { status, .. } | Self::Overloaded { status, .. } => match status {
                Some(_) => Transience::Request,
                None => Transience::Stream,
            },
            Self::Failed { .. } | Self::StreamEnded { .. } | Self::Idle { .. } => Transience::Stream,
            Self::Http { .. }
            | Self::MissingKey { .. }
            | Self::Login(_)
            | Self::Setup { .. }
            | Self::Offline
            | Self::Insecure { .. }
            | Self::Proxy { .. }
            | Self::Unauthorized { .. }
            | Self::ModelNotFound { .. }
            | Self::ContextWindowExceeded { .. }
            | Self::UsageLimit { .. }
            | Self::Quota { .. }
            | Self::ContentFilter { .. }
            | Self::Refused
            | Self::UsageNotIncluded { .. }
            | Self::BadRequest { .. }
            | Self::Incomplete { .. }
            | Self::Protocol { .. } => Transience::Final,
        }
    }

    /// How long the provider asks us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Http { retry_after, .. }
            | Self::RateLimited { retry_after, .. }
            | Self::Overloaded { retry_after, .. }
            | Self::Failed { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The HTTP status of the provider's answer, where there was one.
    pub fn http_status(&self) -> Option<u16> {
        match self {
            Self::Http { status, .. } => Some(*status),
            Self::Unauthorized { status, .. }
            | Self::ModelNotFound { status, .. }
            | Self::ContextWindowExceeded { status, .. }
            | Self::UsageLimit { status, .. }
            | Self::UsageNotIncluded { status, .. }
            | Self::Quota { status, .. }
            | Self::ContentFilter { status, .. }
            | Self::RateLimited { status, .. }
            | Self::Overloaded { status, .. }
            | Self::BadRequest { status, .. } => *status,
            _ => None,
        }
    }

    /// What may help, and can be done for the person.
    fn actions(&self) -> Vec<ErrorAction> {
        match self {
            Self::ContextWindowExceeded { .. } => vec![ErrorAction::Compact, ErrorAction::ChangeModel],
            Self::UsageLimit { resets_at, .. } => {
                let wait = resets_at
                    .and_then(|at| at.checked_mul(1000))
                    .map(|at| ErrorAction::WaitUntil { at });
                wait.into_iter().chain([ErrorAction::ChangeModel]).collect()
            }
            Self::BadRequest { message, .. } if takes_no_tools(message) => vec![ErrorAction::ChangeModel],
            Self::ModelNotFound { .. }
            | Self::UsageNotIncluded { .. }
            | Self::Quota { .. }
            | Self::ContentFilter { .. }
            | Self::Refused => vec![ErrorAction::ChangeModel],
            Self::Login(LoginTrouble {
                passing: false,
                is_kept: false,
                ..
            }) => vec![ErrorAction::LogIn],
            Self::Unauthorized {
                from: KeyFrom::Stored | KeyFrom::Account,
                status,
                ..
            } if *status != Some(403) => vec![ErrorAction::LogIn],
            Self::MissingKey { or_login: true, .. } => vec![ErrorAction::LogIn],
            _ => Vec::new(),
        }
    }

    fn turn_error_kind(&self) -> TurnErrorKind {
        match self {
            Self::MissingKey { .. } => TurnErrorKind::MissingKey,
            Self::Login(LoginTrouble { passing: true, .. }) => TurnErrorKind::ConnectionFailed,
            Self::Unauthorized { .. } | Self::Login(_) => TurnErrorKind::Unauthorized,
            Self::ModelNotFound { .. } => TurnErrorKind::ModelNotFound,
            Self::ContextWindowExceeded { .. } => TurnErrorKind::ContextWindowExceeded,
            Self::UsageLimit { .. } => TurnErrorKind::UsageLimitExceeded,
            Self::UsageNotIncluded { .. } => TurnErrorKind::PlanLimit,
            Self::Quota { .. } => TurnErrorKind::QuotaExceeded,
            Self::ContentFilter { .. } => TurnErrorKind::ContentFilter,
            Self::Refused => TurnErrorKind::Refused,
            Self::RateLimited { .. } => TurnErrorKind::RateLimitExceeded,
            Self::Overloaded { .. } => TurnErrorKind::ServerOverloaded,
            Self::BadRequest { .. } | Self::Setup { .. } => TurnErrorKind::BadRequest,
            Self::Http { status: 429, .. } => TurnErrorKind::RateLimitExceeded,
            Self::Http { status: 400..=499, .. } => TurnErrorKind::BadRequest,
            Self::Http { .. } | Self::Failed { .. } | Self::Protocol { .. } => TurnErrorKind::ServerError,
            Self::Unreachable { .. }
            | Self::Broken { .. }
            | Self::Offline
            | Self::Insecure { .. }
            | Self::Proxy { .. } => TurnErrorKind::ConnectionFailed,
            Self::StreamEnded { .. } | Self::Idle { .. } => TurnErrorKind::StreamDisconnected,
            Self::Incomplete { .. } => TurnErrorKind::Incomplete,
        }
    }
}

/// Whether a server says that its model is not there yet, as llama.cpp does.
fn is_loading(message: &str) -> bool {
    message.to_ascii_lowercase().contains("loading model")
}

/// Whether a model says that it takes no tools, as Ollama does for it.
fn takes_no_tools(message: &str) -> bool {
    message.to_ascii_lowercase().contains("does not support tools")
}

fn is_transient_status(status: u16) -> bool {
    status >= 500 || matches!(status, 408 | 409 | 425 | 429)
}

impl ModelError {
    pub(super) fn new(kind: ErrorKind, endpoint: &Arc<Endpoint>) -> Self {
        Self {
            kind,
            endpoint: endpoint.clone(),
        }
    }

    /// What ends the turn: what happened, to what, and what to do next.
    pub fn turn_error(&self) -> TurnError {
        TurnError {
            message: self.message(),
            kind: self.kind.turn_error_kind(),
            http_status: self.kind.http_status(),
            actions: self.kind.actions(),
        }
    }

    /// What happened, to what, and what to do next.
    pub fn message(&self) -> String {
        self.message_for(true)
    }

    /// The same while the request is being sent again by itself: without the advice to do that.
    pub fn message_of_retry(&self) -> String {
        self.message_for(false)
    }

    fn message_for(&self, is_final: bool) -> String {
        let again = if is_final { " Send the message again." } else { "" };
        let Endpoint { name, url } = &*self.endpoint;
        let said = |message: &str| match message.trim() {
            "" => ".".to_owned(),
            message => format!(": {}", sentence(message)),
        };
        match &self.kind {
            ErrorKind::MissingKey {
                var,
                instructions,
                or_login,
            } => {
                let hint = instructions
                    .as_deref()
                    .map(|text| format!(" {}", sentence(text)))
                    .unwrap_or_default();
                let login = match or_login {
                    true => " Or sign in: `countersign login` in a terminal.",
                    false => "",
                };
                format!(
                    "{name} ({url}) needs a key, and the environment variable {var} is not set or is empty.{hint} Set \
                     {var} where the editor starts, then restart the editor; `countersign doctor` shows what is found.{login}"
                )
            }
            ErrorKind::Login(LoginTrouble {
                reason, is_kept: true, ..
            }) => format!(
                "{name} ({url}) needs your login, which cannot be used now: {}",
                sentence(reason)
            ),
            ErrorKind::Login(LoginTrouble {
                reason, passing: true, ..
            }) => format!(
                "The login for {name} ({url}) could not be renewed: {} Try again in a while.",
                sentence(reason)
            ),
            ErrorKind::Login(LoginTrouble { reason, .. }) => {
                format!(
                    "{name} ({url}) needs a login, and there is no valid one: {} {AGAIN}",
                    sentence(reason)
                )
            }
            ErrorKind::Setup { reason } => format!(
                "The provider {name} ({url}) cannot be used: {} Fix its entry in `model_providers` of config.toml.",
                sentence(reason)
            ),
            ErrorKind::Offline => format!(
                "{name} ({url}) was not asked: {}. Set `network.offline` in config.toml to false (or take \
                 COUNTERSIGN_OFFLINE out of the environment), or choose a provider on this machine.",
                super::http::OFFLINE
            ),
            ErrorKind::Unreachable { reason, advice } => {
                format!("{name} cannot be reached at {url}: {} {advice}", sentence(reason))
            }
            ErrorKind::Insecure { reason, advice } => format!(
                "The connection to {name} ({url}) is not safe, so nothing was sent: {} {advice}",
                sentence(reason)
            ),
            ErrorKind::Proxy { reason, advice } => {
                format!("{name} cannot be reached at {url}: {} {advice}", sentence(reason))
            }
            ErrorKind::Broken { reason } => format!(
                "The connection to {name} ({url}) broke before the answer began: {}{again}",
                sentence(reason)
            ),
            ErrorKind::Http {
                status,
                message,
                request_id,
                ..
            } => {
                let advice = match status {
                    300..=399 => "Put the address it points to into `base_url`.",
                    404 | 405 => "Check `base_url` and `wire_api` of the provider in config.toml.",
                    413 => "The request is too large: start a new thread, or leave out images and long files.",
                    500.. => "The fault is on the provider's side: try again in a while.",
                    408 | 409 | 425 | 429 => "Try again in a while.",
                    _ => "Check the provider's entry in config.toml.",
                };
                format!(
                    "{name} ({url}) answered with status {status}{}{}{}",
                    said(message),
                    unless_said(message, advice),
                    id(request_id)
                )
            }
            ErrorKind::Unauthorized { message, from, status } => {
                let advice = match (from, status) {
                    (_, Some(403)) => "Check that the account may use this model from here.".to_owned(),
                    (KeyFrom::Variable(var), _) => format!("Check the key in the environment variable {var}."),
                    (KeyFrom::Stored | KeyFrom::Account, _) => AGAIN.to_owned(),
                    (KeyFrom::Nowhere, _) => {
                        "Give the provider a key: name its variable as `env_key` in config.toml.".to_owned()
                    }
                };
                let what = match from {
                    KeyFrom::Account => "login",
                    _ => "key",
                };
                format!("{name} ({url}) does not accept the {what}{} {advice}", said(message))
            }
            ErrorKind::ModelNotFound { model, message, .. } => format!(
                "{name} ({url}) has no model `{model}`{} Choose another `model`; `countersign model list` shows those of \
                 the provider.",
                said(message)
            ),
            // Most servers of the person's own load a model with far less than it could take.
            ErrorKind::ContextWindowExceeded { message, .. } if super::client::is_loopback(url) => format!(
                "The request is longer than the model's context window at {name} ({url}){} Load the model with a larger one \
                 (LM Studio: Context Length; llama-server: -c; Ollama: OLLAMA_CONTEXT_LENGTH), let the conversation be compacted, or \
                 start a new thread.",
                said(message)
            ),
            ErrorKind::ContextWindowExceeded { message, .. } => format!(
                "The conversation is longer than the model's context window at {name} ({url}){} Let it be \
                 compacted, start a new thread, or choose a model with a larger window.",
                said(message)
            ),
            ErrorKind::UsageLimit { message, resets_at, .. } => {
                let when = resets_at
                    .and_then(|at| jiff::Timestamp::from_second(at).ok())
                    .map(|at| format!(" It is open again at {at}."))
                    .unwrap_or_default();
                format!(
                    "The allowance of the account at {name} ({url}) is used up{}{when} Wait, or choose another \
                     model or provider.",
                    said(message)
                )
            }
            ErrorKind::Quota { message, .. } => format!(
                "There is no credit left at {name} ({url}){} Add some there, or choose another provider.",
                said(message)
            ),
            ErrorKind::ContentFilter { message, .. } => format!(
                "The content filter of {name} ({url}) stopped it{} Put the request in other words, leave out what may have \
                 set it off, or choose another model.",
                said(message)
            ),
            ErrorKind::Refused => format!(
                "The model at {name} ({url}) does not want to answer this. Put the request in other words, or choose \
                 another model."
            ),
            ErrorKind::UsageNotIncluded { message, .. } => format!(
                "The account's plan at {name} ({url}) does not include this use{} Use an API key, or another plan or \
                 provider.",
                said(message)
            ),
            ErrorKind::RateLimited {
                message, retry_after, ..
            } => {
                let advice = match retry_after {
                    Some(delay) => format!("Try again in {} s.", delay.as_secs_f64().ceil()),
                    None => "Try again in a minute.".to_owned(),
                };
                format!(
                    "{name} ({url}) takes no more requests for now{}{}",
                    said(message),
                    unless_said(message, &advice)
                )
            }
            ErrorKind::Overloaded { message, .. } if is_loading(message) => {
                format!("{name} ({url}) is still loading the model.")
            }
            ErrorKind::Overloaded { message, .. } => {
                let advice = unless_said(message, "Try again in a while.");
                format!("{name} ({url}) is overloaded{}{advice}", said(message))
            }
            ErrorKind::BadRequest { message, .. } if takes_no_tools(message) => format!(
                "The model at {name} ({url}) cannot call tools, and an agent does all that it does by calling them{} Choose another \
                 model.",
                said(message)
            ),
            ErrorKind::BadRequest {
                message, request_id, ..
            } => format!(
                "{name} ({url}) does not accept the request{} Check `model` and the provider's settings; if they are \
                 right, a new thread may help.{}",
                said(message),
                id(request_id)
            ),
            ErrorKind::Failed { code, message, .. } => {
                let code = code.as_deref().map(|code| format!(" ({code})")).unwrap_or_default();
                format!(
                    "{name} ({url}) reported a failure in the middle of its answer{code}{}{}",
                    said(message),
                    unless_said(message, "Try again.")
                )
            }
            ErrorKind::Incomplete { reason } => {
                let advice = match reason.as_str() {
                    "max_output_tokens" => {
                        "The output limit was reached: ask it to go on, or raise `model_max_output_tokens`."
                    }
                    _ => "Ask it to go on.",
                };
                format!("{name} ({url}) cut its answer short ({reason}). {advice}")
            }
            ErrorKind::StreamEnded { reason } => {
                let reason = reason.as_deref().map(said).unwrap_or_else(|| ".".to_owned());
                format!("The answer of {name} ({url}) broke off before it was complete{reason}{again}")
            }
            ErrorKind::Idle { limit } => {
                let advice = match is_final {
                    true => " Send the message again, or raise `stream_idle_timeout_ms`.",
                    false => "",
                };
                format!("{name} ({url}) said nothing for {} s.{advice}", limit.as_secs_f64())
            }
            ErrorKind::Protocol { reason } => format!(
                "The answer of {name} ({url}) cannot be understood: {} Check `base_url` and `wire_api` of the provider.",
                sentence(reason)
            ),
        }
    }
}

/// How to sign in once more.
const AGAIN: &str =
    "Sign in again: with the editor's command *Sign in* of Countersign, or with `countersign login` in a terminal.";

/// The text with a full stop, so that another sentence can follow.
fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

fn id(request_id: &Option<String>) -> String {
    request_id
        .as_deref()
        .map(|id| format!(" Request: {id}"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ErrorKind) -> ModelError {
        let endpoint = Endpoint {
            name: "Acme".into(),
            url: "https://acme.example/v1".into(),
        };
        ModelError::new(kind, &Arc::new(endpoint))
    }

    #[test]
    fn nobody_is_asked_to_do_what_is_being_done() {
        for kind in [
            ErrorKind::Broken {
                reason: "it is so".into(),
            },
            ErrorKind::StreamEnded { reason: None },
            ErrorKind::Idle {
                limit: std::time::Duration::from_secs(1),
            },
        ] {
            let error = error(kind);
            let (last, retry) = (error.message(), error.message_of_retry());
            assert!(
                last.contains("Send the message again") && last.starts_with(&retry),
                "{last}"
            );
            assert!(!retry.contains("again") && retry.ends_with('.'), "{retry}");
        }
    }

    /// What servers of the person's own say is taken for what it is, with advice that helps there.
    #[test]
    fn local_servers_are_understood() {
        let at = |kind: ErrorKind, url: &str| {
            let endpoint = Endpoint {
                name: "Local".into(),
                url: url.into(),
            };
            ModelError::new(kind, &Arc::new(endpoint))
        };
        let near = "http://127.0.0.1:1234/v1";
        let loading = ErrorKind::Overloaded {
            status: Some(503),
            message: "Loading model".into(),
            retry_after: None,
        };
        assert_eq!(loading.transience(), Transience::Connect);
        let words = at(loading, near).message();
        assert!(words.contains("is still loading the model"), "{words}");
        let toolless = ErrorKind::BadRequest {
            status: Some(400),
            message: "registry.ollama.ai/library/m:latest does not support tools".into(),
            request_id: None,
        };
        assert_eq!(toolless.actions(), [ErrorAction::ChangeModel]);
        let words = at(toolless, near).message();
        assert!(
            words.contains("cannot call tools") && words.ends_with("Choose another model."),
            "{words}"
        );
        let full = || ErrorKind::ContextWindowExceeded {
            status: Some(400),
            message: String::new(),
        };
        for (url, is_near) in [
            (near, true),
            ("http://localhost:8080/v1", true),
            ("http://[::1]:8080/v1", true),
            ("https://api.example.org/v1", false),
            ("https://127.0.0.1.example.org/v1", false),
        ] {
            let words = at(full(), url).message();
            assert_eq!(words.contains("llama-server: -c"), is_near, "{words}");
        }
    }

    #[test]
    fn every_message_names_the_provider_and_its_url_and_is_made_of_sentences() {
        let message = "it is so".to_owned();
        let status = Some(400);
        let kinds = [
            ErrorKind::MissingKey {
                var: "ACME_KEY".into(),
                instructions: Some("Get one at acme.example".into()),
                or_login: false,
            },
            ErrorKind::Setup {
                reason: message.clone(),
            },
            ErrorKind::Unreachable {
                reason: message.clone(),
                advice: "Look.".into(),
            },
            ErrorKind::Insecure {
                reason: message.clone(),
                advice: "Look.".into(),
            },
            ErrorKind::Proxy {
                reason: message.clone(),
                advice: "Look.".into(),
            },
            ErrorKind::Offline,
            ErrorKind::Broken {
                reason: message.clone(),
            },
            ErrorKind::Http {
                status: 502,
                message: message.clone(),
                request_id: None,
                retry_after: None,
            },
            ErrorKind::Http {
                status: 302,
                message: String::new(),
                request_id: None,
                retry_after: None,
            },
            ErrorKind::Unauthorized {
                status: Some(401),
                message: message.clone(),
                from: KeyFrom::Variable("ACME_KEY".into()),
            },
            ErrorKind::ModelNotFound {
                status,
                model: "m-1".into(),
                message: message.clone(),
            },
            ErrorKind::ContextWindowExceeded {
                status,
                message: message.clone(),
            },
            ErrorKind::UsageLimit {
                status,
                message: message.clone(),
                resets_at: Some(0),
                rate_limits: None,
            },
            ErrorKind::UsageNotIncluded {
                status,
                message: message.clone(),
            },
            ErrorKind::Quota {
                status,
                message: message.clone(),
            },
            ErrorKind::ContentFilter {
                status,
                message: message.clone(),
            },
            ErrorKind::Refused,
            ErrorKind::RateLimited {
                status,
                message: message.clone(),
                retry_after: None,
            },
            ErrorKind::Overloaded {
                status,
                message: message.clone(),
                retry_after: None,
            },
            ErrorKind::BadRequest {
                status,
                message: message.clone(),
                request_id: Some("req_1".into()),
            },
            ErrorKind::Failed {
                code: Some("server_error".into()),
                message: message.clone(),
                retry_after: None,
            },
            ErrorKind::Incomplete {
                reason: "max_output_tokens".into(),
            },
            ErrorKind::StreamEnded { reason: None },
            ErrorKind::StreamEnded {
                reason: Some(message.clone()),
            },
            ErrorKind::Idle {
                limit: Duration::from_secs(300),
            },
            ErrorKind::Protocol {
                reason: message.clone(),
            },
        ];
        for kind in kinds {
            let error = error(kind.clone());
            let text = error.turn_error().message;
            assert!(
                text.contains("Acme") && text.contains("https://acme.example/v1"),
                "{text}"
            );
            assert!(!text.contains("..") && !text.contains(" ."), "{text}");
            assert!(text.ends_with(['.', '1']), "{text}");
            assert!(text.split(". ").count() >= 2, "says what to do: {text}");
            let keeps_words = !matches!(
                kind,
                ErrorKind::MissingKey { .. }
                    | ErrorKind::Offline
                    | ErrorKind::Refused
                    | ErrorKind::Http { status: 302, .. }
                    | ErrorKind::Incomplete { .. }
                    | ErrorKind::StreamEnded { reason: None }
                    | ErrorKind::Idle { .. }
            );
            assert_eq!(text.contains("it is so"), keeps_words, "{text}");
        }
    }

    /// Shows S-216.
    #[test]
    fn a_missing_key_names_its_variable_and_how_to_get_one() {
        let kind = ErrorKind::MissingKey {
            var: "ACME_KEY".into(),
            instructions: Some("Get one at acme.example".into()),
            or_login: false,
        };
        let turn_error = error(kind).turn_error();
        assert_eq!(turn_error.kind, TurnErrorKind::MissingKey);
        assert!(turn_error.message.contains("ACME_KEY") && turn_error.message.contains("Get one at acme.example."));
    }
}
