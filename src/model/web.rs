//! Small questions over HTTP to services that are no models, such as authorization servers: no retries, no redirects, one
//! bounded answer in a bounded time, and nothing secret over a line that others can read.

use super::client::{ModelClient, is_loopback};
use super::{http, trouble};
use crate::config::network::{Network, Tls};
use std::time::Duration;
use url::{Url, form_urlencoded};

/// How long an answer may take, as a whole.
const LIMIT: Duration = Duration::from_secs(20);
/// The most that is read of an answer.
const MOST_BYTES: usize = 256 << 10;

/// An answer, whatever its status.
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// `WWW-Authenticate`.
    pub challenge: Option<String>,
}

/// There is no answer; why, as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    #[error("{0} is no address of a web service")]
    NoUrl(String),
    #[error("{0} is not encrypted, so nothing secret is sent there; give an address with https://")]
    Open(String),
    #[error("{host} was not asked: {}", http::OFFLINE)]
    Offline { host: String },
    #[error("{host} cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("{host} did not answer within {} s", LIMIT.as_secs())]
    Silent { host: String },
}

impl WebError {
    /// Whether another try could go better without a change of anything here.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Silent { .. })
    }
}

/// Posts a form.
pub async fn post_form(network: &Network, url: &str, fields: &[(&str, &str)]) -> Result<Answer, WebError> {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    ask(network, url, |http, url| {
        http.post(url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body)
    })
    .await
}

/// Posts a value as JSON.
pub async fn post_json(network: &Network, url: &str, value: &serde_json::Value) -> Result<Answer, WebError> {
    let body = value.to_string();
    ask(network, url, |http, url| {
        http.post(url).header("content-type", "application/json").body(body)
    })
    .await
}

/// Gets a page without anything that says who asks.
pub async fn get_plain(network: &Network, url: &str) -> Result<Answer, WebError> {
    ask(network, url, |http, url| http.get(url)).await
}

/// Gets a page with a bearer token and further headers.
pub async fn get(network: &Network, url: &str, token: &str, headers: &[(String, String)]) -> Result<Answer, WebError> {
    ask(network, url, |http, url| {
        let request = http.get(url).bearer_auth(token);
        headers
            .iter()
            .fold(request, |request, (name, value)| request.header(name, value))
    })
    .await
}

async fn ask(
    network: &Network,
    text: &str,
    make: impl FnOnce(reqwest::Client, Url) -> reqwest::RequestBuilder,
) -> Result<Answer, WebError> {
    let url = Url::parse(text).map_err(|_| WebError::NoUrl(text.to_owned()))?;
    let host = match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => return Err(WebError::NoUrl(text.to_owned())),
    };
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(text) => {}
        "http" => return Err(WebError::Open(host)),
        _ => return Err(WebError::NoUrl(text.to_owned())),
    }
    if http::is_closed(text, network) {
        return Err(WebError::Offline { host });
    }
    let unreachable = |reason: String| WebError::Unreachable {
        host: host.clone(),
        reason,
    };
    let answer = async {
        let (address, network) = (text.to_owned(), network.clone());
        // Aside, since it reads the system's certificates.
        let made = tokio::task::spawn_blocking(move || {
            let builder = http::builder(&address, &network, &Tls::default())?;
            let builder = builder.redirect(reqwest::redirect::Policy::none());
            let built = builder.user_agent(ModelClient::user_agent()).build();
            built.map_err(|error| trouble::reason(&error))
        });
        let http = made.await.unwrap_or_else(|error| Err(error.to_string()));
        let http = http.map_err(unreachable)?;
        let request = make(http, url).header("accept", "application/json");
        let mut response = request
            .send()
            .await
            .map_err(|error| unreachable(trouble::reason(&error)))?;
        let status = response.status().as_u16();
        let challenge = response.headers().get("www-authenticate");
        let challenge = challenge.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut body = Vec::new();
        while let Some(bytes) = response
            .chunk()
            .await
            .map_err(|error| unreachable(trouble::reason(&error)))?
        {
            body.extend_from_slice(&bytes[..bytes.len().min(MOST_BYTES - body.len())]);
            if body.len() >= MOST_BYTES {
                break;
            }
        }
        Ok(Answer {
            status,
            body,
            challenge,
        })
    };
    match tokio::time::timeout(LIMIT, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(WebError::Silent { host }),
    }
}
