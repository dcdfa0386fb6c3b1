//! A body sent to an address that the person has configured, for services that are no models: collectors of telemetry, and
//! whoever takes feedback.

use crate::config::network::{Network, Tls};
use crate::model::{http, trouble};
use http_body::Body as _;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::OnceCell;

/// Bytes of an answer that are read.
const MOST_ANSWER: usize = 64 << 10;

/// Why nothing came back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// Another try would fail the same way.
    #[error("{0}")]
    Setup(String),
    #[error("{0}")]
    Transport(String),
    #[error("it did not answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Seconds to wait, where it says so.
    pub retry_after: Option<Duration>,
    /// The beginning of it.
    pub body: Vec<u8>,
    /// What gRPC says in headers or behind the body: its status and message.
    pub grpc: Option<(i32, String)>,
}

/// An address, how it is spoken to, and the connection; made with the first use.
#[derive(Debug)]
pub struct Post {
    url: String,
    headers: BTreeMap<String, String>,
    network: Network,
    tls: Tls,
    /// HTTP/2 from the first byte, as gRPC wants it.
    http2: bool,
    client: OnceCell<reqwest::Client>,
}

impl Post {
    pub fn new(url: String, headers: BTreeMap<String, String>, network: Network, tls: Tls, http2: bool) -> Self {
        Self {
            url,
            headers,
            network,
            tls,
            http2,
            client: OnceCell::new(),
        }
    }

    /// Sends a body and waits for the answer, no longer than the limit.
    ///
    /// # Errors
    /// There is no answer; any status is one.
    pub async fn send(
        &self,
        headers: &[(&'static str, &'static str)],
        body: Vec<u8>,
        limit: Duration,
    ) -> Result<Answer, PostError> {
        if http::is_closed(&self.url, &self.network) {
            return Err(PostError::Setup(http::OFFLINE.to_owned()));
        }
        let sent = async {
            let client = self.client.get_or_try_init(|| self.connect()).await?;
            let all = self.headers(headers)?;
            let response = client.post(&self.url).headers(all).body(body).send().await;
            read(response.map_err(|error| transport(&error))?).await
        };
        match tokio::time::timeout(limit, sent).await {
            Ok(answer) => answer,
            Err(_) => Err(PostError::TimedOut(limit)),
        }
    }

    fn headers(&self, more: &[(&'static str, &'static str)]) -> Result<HeaderMap, PostError> {
        let mut headers = HeaderMap::new();
        for (name, value) in more {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        for (name, value) in &self.headers {
            let setup = |what: &str| PostError::Setup(format!("its header {name:?} {what}"));
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| setup("has no valid name"))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| setup("has no valid value"))?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(headers)
    }

    /// Made aside, since it reads certificates.
    async fn connect(&self) -> Result<reqwest::Client, PostError> {
        let (url, network, tls, http2) = (self.url.clone(), self.network.clone(), self.tls.clone(), self.http2);
        let made = tokio::task::spawn_blocking(move || connect(&url, &network, &tls, http2)).await;
        let made = made.unwrap_or_else(|error| Err(error.to_string()));
        made.map_err(PostError::Setup)
    }
}

fn connect(url: &str, network: &Network, tls: &Tls, http2: bool) -> Result<reqwest::Client, String> {
    let builder = http::builder(url, network, tls)?;
    let mut builder = builder
        .redirect(reqwest::redirect::Policy::none())
        .no_gzip()
        .no_deflate();
    if http2 {
        builder = builder.http2_prior_knowledge();
    }
    builder.build().map_err(|error| trouble::reason(&error))
}

fn transport(error: &reqwest::Error) -> PostError {
    let reason = trouble::reason(error);
    match error.is_builder() {
        true => PostError::Setup(reason),
        false => PostError::Transport(reason),
    }
}

/// The answer with what stands behind its body.
async fn read(response: reqwest::Response) -> Result<Answer, PostError> {
    let mut answer = Answer {
        status: response.status().as_u16(),
        retry_after: text(response.headers(), "retry-after")
            .and_then(|text| text.trim().parse().ok())
            .map(Duration::from_secs),
        grpc: grpc(response.headers()),
        body: Vec::new(),
    };
    let mut body = reqwest::Body::from(response);
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        match frame {
            None => return Ok(answer),
            Some(Err(error)) => return Err(transport(&error)),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) => {
                    let room = MOST_ANSWER - answer.body.len();
                    answer.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                    // More is of no use to anybody, but for what gRPC says at the end.
                    if bytes.len() > room {
                        return Ok(answer);
                    }
                }
                Err(frame) => {
                    if let Ok(trailers) = frame.into_trailers() {
                        answer.grpc = grpc(&trailers).or(answer.grpc);
                    }
                }
            },
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn grpc(headers: &HeaderMap) -> Option<(i32, String)> {
    let status = text(headers, "grpc-status")?.trim().parse().ok()?;
    Some((status, text(headers, "grpc-message").unwrap_or_default().to_owned()))
}
