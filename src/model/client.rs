//! The client of one provider: one HTTP request a call, no retries.

#[cfg(test)]
mod line;

use crate::config::provider::{Provider, WireApi};
use crate::config::{is_no_secret, secrets_of_address};
use crate::model::credential::{Bearer, Credential};
use crate::model::error::{Endpoint, ErrorKind, KeyFrom, LoginTrouble, ModelError};
use crate::model::failure::Report;
use crate::model::item::ToolSpec;
use crate::model::names::Names;
use crate::model::refused::{self, Refused};
use crate::model::stream::{Context, Decoder, ModelStream};
use crate::model::text_calls::TextCalls;
use crate::model::watch::Exchange;
use crate::model::{ModelRequest, anthropic, blind, chat, http, responses, trouble};
use bytes::Bytes;
#[cfg(test)]
pub(crate) use line::Line;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use url::Url;

const DEFAULT_IDLE_LIMIT: Duration = Duration::from_secs(300);
/// How much of an error's body is read, and how long.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_BODY_LIMIT: Duration = Duration::from_secs(5);
/// Letters of the shortest value of a header or a parameter that is taken for a secret.
const SHORTEST_SECRET: usize = 8;

/// A provider's client. Clones are cheap and share the connections.
#[derive(Clone)]
pub struct ModelClient {
    shared: Arc<Shared>,
}

#[derive(Clone)]
struct Shared {
    provider: Provider,
    credential: Credential,
    user_agent: String,
    /// Further headers, from the provider's `env_http_headers`.
    headers: Vec<(String, String)>,
    endpoint: Arc<Endpoint>,
    /// Made with the first request: it reads the system's certificates.
    http: OnceLock<reqwest::Client>,
    /// What requests go over in place of a network.
    #[cfg(test)]
    line: Option<Line>,
}

/// Without the key and the headers, which may hold one.
impl fmt::Debug for ModelClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelClient")
            .field("endpoint", &self.shared.endpoint)
            .finish_non_exhaustive()
    }
}

impl ModelClient {
    /// `key`: the value of the provider's `env_key`, if it is set. `user_agent`: see [`user_agent`](Self::user_agent).
    pub fn new(provider: &Provider, key: Option<String>, user_agent: &str) -> ModelClient {
        let from = |variable: &String| KeyFrom::Variable(variable.clone());
        let from = provider.env_key.as_ref().map(from).unwrap_or_default();
        let key = key.or_else(|| provider.experimental_bearer_token.clone());
        let credential = match key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()) {
            Some(key) => Credential::Key { key, from },
            None => Credential::None,
        };
        Self::with_credential(provider, credential, user_agent)
    }

    /// A client whose requests carry this.
    pub fn with_credential(provider: &Provider, credential: Credential, user_agent: &str) -> ModelClient {
        let name = if provider.name.is_empty() {
            "The provider"
        } else {
            &provider.name
        };
        ModelClient {
            shared: Arc::new(Shared {
                credential,
                user_agent: user_agent.to_owned(),
                headers: Vec::new(),
                endpoint: Arc::new(Endpoint {
                    name: name.to_owned(),
                    url: public_url(&provider.base_url),
                }),
                http: OnceLock::new(),
                #[cfg(test)]
                line: None,
                provider: provider.clone(),
            }),
        }
    }

    /// The same client with further headers: the values of the provider's `env_http_headers`.
    pub fn with_headers(self, headers: impl IntoIterator<Item = (String, String)>) -> ModelClient {
        let mut shared = Arc::unwrap_or_clone(self.shared);
        shared.headers = headers.into_iter().collect();
        ModelClient {
            shared: Arc::new(shared),
        }
    }

    /// The same client for another address of the provider.
    pub fn at(&self, base_url: &str) -> ModelClient {
        let Shared {
            provider,
            credential,
            user_agent,
            headers,
            ..
        } = &*self.shared;
        let provider = Provider {
            base_url: base_url.to_owned(),
            ..provider.clone()
        };
        Self::with_credential(&provider, credential.clone(), user_agent).with_headers(headers.iter().cloned())
    }

    /// The same client, with answers that come over this line.
    #[cfg(test)]
    pub(crate) fn over(self, line: Line) -> ModelClient {
        let mut client = self.with_headers([]);
        let shared = Arc::get_mut(&mut client.shared).expect("just made");
        shared.line = Some(line);
        client
    }

    /// Whether the two would ask the same provider in the same way, so that one can stand for the other.
    pub fn is_like(&self, other: &ModelClient) -> bool {
        let (one, other) = (&*self.shared, &*other.shared);
        one.provider == other.provider
            && one.credential == other.credential
            && one.user_agent == other.user_agent
            && one.headers == other.headers
    }

    /// What we call ourselves: `countersign/<version> (<os>; <arch>)`.
    pub fn user_agent() -> String {
        format!(
            "countersign/{} ({}; {})",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        )
    }

    /// Whether the model still calls tools where the form of its answer is given. Most local servers of the older API
    /// hold all that it says to the form.
    pub fn takes_tools_beside_a_schema(&self) -> bool {
        let provider = self.provider();
        provider.wire_api != WireApi::Chat || is_openai(&provider.base_url)
    }

    /// Whether a model of the provider takes no images, as far as is known.
    pub fn is_blind(&self, model: &str) -> bool {
        blind::is_blind(&self.provider().base_url, model)
    }

    /// Notes what the provider says of that.
    pub(super) fn note_blind(&self, model: &str, is_blind: bool) {
        blind::note(&self.provider().base_url, model, is_blind);
    }

    /// The address, as people may see it.
    pub fn public_url(&self) -> &str {
        &self.shared.endpoint.url
    }

    pub(super) fn credential(&self) -> &Credential {
        &self.shared.credential
    }

    /// Whether requests are paid by a key, and not by what an account has.
    pub fn is_paid_by_key(&self) -> bool {
        matches!(self.shared.credential, Credential::Key { .. })
    }

    pub fn provider(&self) -> &Provider {
        &self.shared.provider
    }

    /// Makes one request. The stream's events follow as the provider sends them; dropping the stream, or this future,
    /// closes the connection.
    pub async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let context = self.context(&request.model);
        let mut exchange = request
            .watch
            .as_ref()
            .map(|watch| watch.begin(&request.model, request.task));
        let plain = self.is_blind(&request.model).then(|| blind::without_images(request));
        let plain = plain.flatten();
        let request = plain.as_ref().unwrap_or(request);
        let mut answered = self.try_forms(request, context, &mut exchange).await;
        if let Err(refused) = &answered
            && blind::is_refusal(refused)
            && let Some(plain) = blind::without_images(request)
        {
            tracing::warn!(
                model = request.model,
                "the model takes no images, which are left out from now on"
            );
            self.note_blind(&request.model, true);
            let context = self.context(&request.model);
            answered = self.try_forms(&plain, context, &mut exchange).await;
        }
        match answered {
            Ok(stream) => {
                if let Some(exchange) = &mut exchange {
                    exchange.answered(Ok(()));
                }
                Ok(stream.watched(exchange))
            }
            Err(kind) => {
                let error = self.error(kind);
                if let Some(exchange) = &mut exchange {
                    exchange.answered(Err(&error.to_string()));
                }
                Err(error)
            }
        }
    }

    /// A bounded GET of `path` below the base URL, as JSON.
    pub(super) async fn get_json(&self, path: &str, limit: Duration) -> Result<serde_json::Value, ModelError> {
        let attempt = async {
            let ask = Ask {
                url: self.url(path)?,
                headers: HeaderMap::new(),
                body: None,
            };
            let response = self.ask(ask, &mut self.context(""), &mut None).await?;
            let body = read_bounded(response, crate::model::sse::MAX_EVENT_BYTES).await;
            super::json::parse(&String::from_utf8_lossy(&body)).ok_or_else(|| ErrorKind::Protocol {
                reason: format!("`{path}` is no JSON"),
            })
        };
        let outcome = match tokio::time::timeout(limit, attempt).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ErrorKind::Idle { limit }),
        };
        outcome.map_err(|kind| self.error(kind))
    }

    /// Makes one request, once more where the provider refuses something of it that can be left out.
    async fn try_forms(
        &self,
        request: &ModelRequest,
        mut context: Context,
        exchange: &mut Option<Box<dyn Exchange>>,
    ) -> Result<ModelStream, ErrorKind> {
        let mut refused = Refused::by(&self.provider().base_url, &request.model);
        for _ in 1..refused::MOST_FORMS {
            let answered = self.try_stream(request, &refused, context, exchange).await;
            match answered {
                Err(kind) if refused.learns(&kind, request) => {
                    tracing::warn!(
                        model = request.model,
                        "what the provider does not take is left out from now on: {kind:?}"
                    );
                }
                answered => return answered,
            }
            context = self.context(&request.model);
        }
        self.try_stream(request, &refused, context, exchange).await
    }

    async fn try_stream(
        &self,
        request: &ModelRequest,
        refused: &Refused,
        mut context: Context,
        exchange: &mut Option<Box<dyn Exchange>>,
    ) -> Result<ModelStream, ErrorKind> {
        let fitting = refused.without_seals(request, self.provider().wire_api);
        let request = fitting.as_ref().unwrap_or(request);
        let Provider { wire_api, base_url, .. } = &self.shared.provider;
        let openai = is_openai(base_url);
        let unsendable = |error: serde_json::Error| ErrorKind::Setup {
            reason: format!("the request: {error}"),
        };
        let names = Names::new(&request.input);
        let (path, body, decoder) = match wire_api {
            WireApi::Responses => (
                "responses",
                responses::body(request, openai).map_err(unsendable)?,
                Decoder::Responses(responses::Decoder::new(names)),
            ),
            WireApi::Chat => {
                let origin = chat::Origin {
                    server: server(base_url),
                    model: request.model.clone(),
                };
                let body = chat::body(request, &origin, openai).map_err(unsendable)?;
                let text_calls =
                    TextCalls::new(&request.model, request.leaking(), request.text_calls).to(request.input.clone());
                let decoder = chat::Decoder::new(origin, names, custom_tools(&request.tools)).with(text_calls);
                ("chat/completions", body, Decoder::Chat(Box::new(decoder)))
            }
            WireApi::Anthropic => (
                "messages",
                anthropic::body(request).map_err(unsendable)?,
                Decoder::Anthropic(Box::new(anthropic::Decoder::new(names, custom_tools(&request.tools)))),
            ),
        };
        let body = refused.fit(body).map_err(unsendable)?;
        let url = self.url(path)?;
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        if let Ok(turn) = HeaderValue::from_str(&request.turn_id) {
            headers.insert("x-client-request-id", turn);
        }
        headers.insert("x-countersign-task", HeaderValue::from_static(request.task.as_str()));
        for (name, value) in exchange.iter().flat_map(|exchange| exchange.headers()) {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        tracing::debug!(
            task = request.task.as_str(),
            model = request.model,
            thread = request.cache_key,
            turn = request.turn_id,
            bytes = body.len(),
            "request"
        );
        let ask = Ask {
            url,
            headers,
            body: Some(body.into()),
        };
        let response = self.ask(ask, &mut context, exchange).await?;
        Ok(ModelStream::new(response, decoder, context))
    }

    /// Sends a request with what the client has to show, and gives its answer if that is a good one. What belongs to a
    /// login is renewed once if the provider does not accept it.
    async fn ask(
        &self,
        ask: Ask,
        context: &mut Context,
        exchange: &mut Option<Box<dyn Exchange>>,
    ) -> Result<reqwest::Response, ErrorKind> {
        if http::is_closed(ask.url.as_str(), &self.shared.provider.network) {
            return Err(ErrorKind::Offline);
        }
        let Credential::Login(login) = &self.shared.credential else {
            return self.ask_with(&ask, None, context, exchange).await;
        };
        let bearer = login.current().await.map_err(ErrorKind::Login)?;
        match self.ask_with(&ask, Some(&bearer), context, exchange).await {
            Err(ErrorKind::Unauthorized { status: Some(401), .. }) => {}
            answered => return answered,
        }
        tracing::info!("the provider does not accept the login, which is renewed");
        let bearer = login.renew(&bearer.token).await.map_err(ErrorKind::Login)?;
        self.ask_with(&ask, Some(&bearer), context, exchange).await
    }

    async fn ask_with(
        &self,
        ask: &Ask,
        bearer: Option<&Bearer>,
        context: &mut Context,
        exchange: &mut Option<Box<dyn Exchange>>,
    ) -> Result<reqwest::Response, ErrorKind> {
        let mut headers = self.headers(bearer)?;
        headers.extend(ask.headers.clone());
        if let Some(bearer) = bearer {
            // Not to be repeated in any message.
            context.key = Some(bearer.token.clone());
        }
        let sent = self.send(ask, headers);
        match tokio::time::timeout(context.idle_limit, sent).await {
            Ok(sent) => {
                let response = sent?;
                if let Some(exchange) = exchange {
                    let ray = response.headers().get("cf-ray").and_then(|ray| ray.to_str().ok());
                    exchange.status(response.status().as_u16(), ray);
                }
                self.check(response, context).await
            }
            Err(_) => Err(ErrorKind::Idle {
                limit: context.idle_limit,
            }),
        }
    }

    async fn send(&self, ask: &Ask, headers: HeaderMap) -> Result<reqwest::Response, ErrorKind> {
        #[cfg(test)]
        if let Some(line) = &self.shared.line {
            return line::send(line, headers, ask.body.clone().unwrap_or_default()).await;
        }
        let http = self.http().await?;
        let request = match &ask.body {
            Some(body) => http.post(ask.url.clone()).body(body.clone()),
            None => http.get(ask.url.clone()),
        };
        let proxy = self.proxy();
        let sent = request.headers(headers).send().await;
        sent.map_err(|error| trouble::kind(&error, proxy.as_deref()))
    }

    /// The answer, if its status says success.
    pub(super) async fn check(
        &self,
        response: reqwest::Response,
        context: &Context,
    ) -> Result<reqwest::Response, ErrorKind> {
        let status = response.status();
        if status.is_success() {
            let encoding = response.headers().get("content-encoding");
            let encoding = encoding.and_then(|encoding| encoding.to_str().ok());
            // What was undone on the way is not there any more.
            return match encoding
                .map(str::trim)
                .filter(|encoding| !matches!(*encoding, "" | "identity"))
            {
                None => Ok(response),
                Some(encoding) => Err(ErrorKind::Protocol {
                    reason: format!("it is compressed as {encoding:?}, which nobody asked for"),
                }),
            };
        }
        let headers = response.headers().clone();
        let body = tokio::time::timeout(ERROR_BODY_LIMIT, read_bounded(response, MAX_ERROR_BYTES));
        let body = body.await.unwrap_or_default();
        let asked = context.asked();
        Err(Report::from_body(&body, asked.now).into_http(status.as_u16(), &headers, asked))
    }

    pub(super) fn error(&self, kind: ErrorKind) -> ModelError {
        ModelError::new(kind, &self.shared.endpoint)
    }

    pub(super) fn context(&self, model: &str) -> Context {
        let Provider {
            stream_idle_timeout_ms, ..
        } = &self.shared.provider;
        let (key, from) = match &self.shared.credential {
            Credential::None => (None, KeyFrom::Nowhere),
            Credential::Key { key, from } => (Some(key.clone()), from.clone()),
            Credential::Login(_) => (None, KeyFrom::Account),
        };
        Context {
            endpoint: self.shared.endpoint.clone(),
            model: model.to_owned(),
            from,
            key,
            further: self.further_secrets(model),
            idle_limit: match stream_idle_timeout_ms {
                0 => DEFAULT_IDLE_LIMIT,
                // A year is as good as for ever, and no sum of times overflows.
                ms => Duration::from_millis(*ms).min(Duration::from_secs(365 * 86400)),
            },
        }
    }

    /// What goes along with a request beside the key and may be a secret: no error repeats it.
    fn further_secrets(&self, model: &str) -> Vec<String> {
        let Provider {
            base_url,
            http_headers,
            query_params,
            ..
        } = &self.shared.provider;
        let further = self.shared.headers.iter().map(|(name, value)| (name, value));
        let named = http_headers.iter().chain(query_params).chain(further);
        let named = named.filter(|(name, _)| !is_no_secret(name));
        let mut secrets: Vec<String> = named
            .map(|(_, value)| value.as_str())
            .chain(secrets_of_address(base_url))
            // Shorter ones are words.
            .filter(|value| value.len() >= SHORTEST_SECRET && *value != model)
            .map(str::to_owned)
            .collect();
        secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
        secrets
    }

    /// The HTTP client. The first call makes it, aside: reading the system's certificates takes tens of milliseconds.
    async fn http(&self) -> Result<reqwest::Client, ErrorKind> {
        if let Some(http) = self.shared.http.get() {
            return Ok(http.clone());
        }
        let http = self.make_http(|builder| builder).await?;
        Ok(self.shared.http.get_or_init(|| http).clone())
    }

    /// Makes an HTTP client of a kind for the provider, aside.
    pub(super) async fn make_http(
        &self,
        refine: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + 'static,
    ) -> Result<reqwest::Client, ErrorKind> {
        let Provider {
            base_url, network, tls, ..
        } = self.shared.provider.clone();
        let made = tokio::task::spawn_blocking(move || {
            // A redirected POST would arrive as a GET, or elsewhere without its key.
            let none = reqwest::redirect::Policy::none();
            let builder = http::builder(base_url.trim(), &network, &tls)?.redirect(none);
            refine(builder).build().map_err(|error| trouble::reason(&error))
        });
        let made = made.await.unwrap_or_else(|error| Err(error.to_string()));
        made.map_err(|reason| ErrorKind::Setup { reason })
    }

    /// The proxy on the way to the provider.
    pub(super) fn proxy(&self) -> Option<String> {
        http::proxy(&self.shared.provider.base_url, &self.shared.provider.network)
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, ErrorKind> {
        let Provider {
            base_url, query_params, ..
        } = &self.shared.provider;
        let setup = |reason: String| ErrorKind::Setup { reason };
        if base_url.trim().is_empty() {
            return Err(setup("it has no `base_url`".to_owned()));
        }
        let mut url = Url::parse(base_url.trim())
            .map_err(|error| setup(format!("its `base_url` {base_url:?} is no URL ({error})")))?;
        if !matches!(url.scheme(), "http" | "https") || url.cannot_be_a_base() {
            return Err(setup(format!(
                "its `base_url` {base_url:?} does not begin with http:// or https://"
            )));
        }
        if !url.path().trim_end_matches('/').ends_with(&format!("/{path}"))
            && let Ok(mut segments) = url.path_segments_mut()
        {
            segments.pop_if_empty().extend(path.split('/'));
        }
        if !query_params.is_empty() {
            url.query_pairs_mut().extend_pairs(query_params);
        }
        Ok(url)
    }

    pub(super) fn headers(&self, bearer: Option<&Bearer>) -> Result<HeaderMap, ErrorKind> {
        let Shared {
            provider,
            credential,
            user_agent,
            headers: further,
            ..
        } = &*self.shared;
        let mut headers = HeaderMap::new();
        let user_agent = HeaderValue::from_str(user_agent).map_err(|_| ErrorKind::Setup {
            reason: "the user agent is no text for a header".to_owned(),
        })?;
        headers.insert("user-agent", user_agent);
        let key = match (credential, bearer) {
            (Credential::Key { key, .. }, _) => Some(key),
            (_, bearer) => bearer.map(|bearer| &bearer.token),
        };
        match (key, &provider.env_key) {
            (None, Some(var)) => {
                return Err(ErrorKind::MissingKey {
                    var: var.clone(),
                    instructions: provider.env_key_instructions.clone(),
                    or_login: provider.requires_openai_auth,
                });
            }
            (None, None) if provider.requires_openai_auth => {
                return Err(ErrorKind::Login(LoginTrouble {
                    reason: "nobody is signed in".to_owned(),
                    passing: false,
                    is_kept: false,
                }));
            }
            _ => {}
        }
        if let Some(key) = key {
            // A key of this API has a header of its own, also where a program gives it; what belongs to a login is shown as
            // elsewhere.
            let is_key = bearer.is_none() || key.starts_with("sk-ant-api");
            let (header, value) = match provider.wire_api {
                WireApi::Anthropic if is_key => ("x-api-key", key.clone()),
                _ => ("authorization", format!("Bearer {key}")),
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                let place = match credential {
                    Credential::Key {
                        from: KeyFrom::Variable(variable),
                        ..
                    } => format!("the key in {variable}"),
                    Credential::Key {
                        from: KeyFrom::Nowhere, ..
                    } => "the key in experimental_bearer_token".to_owned(),
                    _ => "what you are signed in with".to_owned(),
                };
                ErrorKind::Setup {
                    reason: format!("{place} holds characters that no key has"),
                }
            })?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        if provider.wire_api == WireApi::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(anthropic::VERSION));
        }
        for (name, value) in provider
            .http_headers
            .iter()
            .chain(further.iter().map(|(name, value)| (name, value)))
            .chain(
                bearer
                    .iter()
                    .flat_map(|bearer| &bearer.headers)
                    .map(|(name, value)| (name, value)),
            )
        {
            let setup = |what: &str| ErrorKind::Setup {
                reason: format!("its header {name:?} {what}"),
            };
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| setup("has no valid name"))?;
            let value = HeaderValue::from_str(value).map_err(|_| setup("has no valid value"))?;
            headers.insert(header, value);
        }
        Ok(headers)
    }
}

/// What is asked of the provider, but for the headers that every request has.
struct Ask {
    url: Url,
    headers: HeaderMap,
    /// Absent: a GET.
    body: Option<Bytes>,
}

fn custom_tools(tools: &[ToolSpec]) -> std::collections::HashSet<String> {
    let custom = |tool: &ToolSpec| match tool {
        ToolSpec::Custom { name, .. } => Some(name.clone()),
        ToolSpec::Function { .. } | ToolSpec::WebSearch { .. } => None,
    };
    tools.iter().filter_map(custom).collect()
}

/// Whether the base URL is OpenAI's own, or Azure's deployment of it.
pub(super) fn is_openai(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return false };
    let host = url.host_str().unwrap_or_default();
    host == "openai.com" || host.ends_with(".openai.com") || host.ends_with(".openai.azure.com")
}

/// Host and port of an address, without what in it may be a secret.
fn server(base_url: &str) -> String {
    let Ok(url) = Url::parse(base_url.trim()) else {
        return String::new();
    };
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

pub(super) fn is_loopback(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url.trim()) else {
        return false;
    };
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// The URL as people may see it: a password or a key in it stays out.
fn public_url(base_url: &str) -> String {
    let Ok(mut url) = Url::parse(base_url.trim()) else {
        return base_url.trim().to_owned();
    };
    // These fail only for URLs that hold no such thing.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

async fn read_bounded(mut response: reqwest::Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes[..bytes.len().min(most - body.len())]);
        if body.len() >= most {
            break;
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(provider: Provider) -> ModelClient {
        ModelClient::new(&provider, None, "countersign/0 (test; test)")
    }

    fn at(base_url: &str) -> Provider {
        Provider {
            name: "Acme".into(),
            base_url: base_url.into(),
            ..Default::default()
        }
    }

    #[test]
    fn urls_are_joined_however_the_base_is_written() {
        let table = [
            ("https://a.example/v1", "https://a.example/v1/responses"),
            ("https://a.example/v1/", "https://a.example/v1/responses"),
            (" https://a.example ", "https://a.example/responses"),
            ("https://a.example/v1/responses", "https://a.example/v1/responses"),
            (
                "https://a.example/x?api-version=1",
                "https://a.example/x/responses?api-version=1",
            ),
        ];
        for (base, wanted) in table {
            assert_eq!(
                client(at(base)).url("responses").map(String::from),
                Ok(wanted.to_owned()),
                "{base}"
            );
        }
        let mut provider = at("https://a.example/v1");
        provider.query_params.insert("q".into(), "a b&c".into());
        assert_eq!(
            client(provider).url("chat/completions").map(String::from),
            Ok("https://a.example/v1/chat/completions?q=a+b%26c".to_owned())
        );
        for base in ["", "  ", "a.example/v1", "ftp://a.example", "http://", "mailto:x@y.z"] {
            assert!(
                matches!(client(at(base)).url("responses"), Err(ErrorKind::Setup { .. })),
                "{base:?}"
            );
        }
    }

    #[test]
    fn secrets_are_neither_shown_nor_sent_broken() {
        let provider = at("https://user:pass@a.example/v1?key=hidden#x");
        assert_eq!(client(provider.clone()).shared.endpoint.url, "https://a.example/v1");
        let with = |key: &str| ModelClient::new(&provider, Some(key.into()), "ua");
        assert!(!format!("{:?}", with("sk-secret")).contains("sk-secret"));
        assert_eq!(
            with(" sk-1\n").headers(None).expect("fine")["authorization"],
            "Bearer sk-1"
        );
        let error = with("sk\nsecret").headers(None).expect_err("no header");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        assert!(
            !with("")
                .headers(None)
                .expect("no key needed")
                .contains_key("authorization")
        );
    }

    #[test]
    fn hosts_are_told_apart() {
        for (base, openai, loopback) in [
            ("https://api.openai.com/v1", true, false),
            ("https://eu.api.openai.com/v1", true, false),
            ("https://x.openai.azure.com/openai", true, false),
            ("https://notopenai.com/v1", false, false),
            ("http://localhost:1/v1", false, true),
            ("http://127.0.0.9:1/v1", false, true),
            ("http://[::1]:1/v1", false, true),
            ("http://10.0.0.1/v1", false, false),
            ("rubbish", false, false),
        ] {
            assert_eq!((is_openai(base), is_loopback(base)), (openai, loopback), "{base}");
        }
    }
}
