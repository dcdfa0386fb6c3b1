//! One connection to one server: its start, its requests, its end.

use super::caller::{Caller, Callers, Question, Registered};
use super::failure::StartError;
use super::launch::Launch;
use super::listening::Listening;
use super::masks::Masks;
use super::over_http::HttpClient;
use super::untrusted;
use crate::config::network::Network;
use crate::exec::{Companion, CompanionExit};
use crate::model::http;
use crate::protocol::mcp::{McpElicitationAction, McpElicitationResponse, McpRequestId, McpWish};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientRequest, CustomRequest, CustomResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorData, FormElicitationCapability,
    Implementation, InitializeRequestParams, RequestId, ServerResult, UrlElicitationCapability,
};
use rmcp::service::{ClientInitializeError, InboundStreamOrigin, Peer, PeerRequestOptions, RequestContext};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};
use rmcp::{ClientHandler, RoleClient, ServiceError, ServiceExt as _};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long a server may take to end by itself once its input is closed.
const END_PATIENCE: Duration = Duration::from_millis(800);
/// How long the end of an HTTP session may take.
const CLOSE_PATIENCE: Duration = Duration::from_millis(1500);
/// Characters of what a program said last that are told.
const TOLD: usize = 600;

/// A live connection.
pub struct Connection {
    peer: Peer<RoleClient>,
    /// Ends it.
    end: CancellationToken,
    /// It is over.
    over: CancellationToken,
    _end: DropGuard,
    /// The program, where it is one.
    companion: Option<Companion>,
    callers: Arc<Callers>,
    /// How it is reached, where it is no program.
    way: Option<Way>,
    /// The server says that its tools are others now.
    tools_changed: Arc<Notify>,
    /// Whether the server has resources.
    has_resources: bool,
    /// What it was given and is not shown.
    masks: Masks,
}

/// The way to a server on the network.
struct Way {
    url: String,
    network: Network,
}

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The server's own words.
    #[error("{message}")]
    Refused { code: i32, message: String },
    #[error("it did not answer within {} seconds", super::failure::seconds(*.0))]
    TimedOut(Duration),
    #[error("the connection to it broke")]
    Lost,
    /// Nothing was done: the session is not known to the server any more, as after a restart.
    #[error("it does not know the session any more")]
    SessionEnded,
    #[error("it was stopped")]
    Cancelled,
    #[error("{0}")]
    Other(String),
}

impl Connection {
    /// Starts the server, or reaches it, and greets it. The caller bounds the time; dropping this ends what was started.
    ///
    /// # Errors
    /// It cannot be reached, or does not speak the protocol.
    pub(super) async fn open(launch: &Launch, masks: Masks, limit: Duration) -> Result<Self, StartError> {
        let reached = Self::reach(launch, masks.clone(), limit).await;
        reached.map_err(|error| masks.hide_in(error))
    }

    async fn reach(launch: &Launch, masks: Masks, limit: Duration) -> Result<Self, StartError> {
        let callers = Arc::new(Callers::default());
        let tools_changed = Arc::new(Notify::new());
        let client = Client {
            callers: callers.clone(),
        };
        let end = CancellationToken::new();
        let _end = end.clone().drop_guard();
        let (service, companion, way) = match launch {
            Launch::None(problem) => return Err(StartError::Other(problem.clone())),
            Launch::Program { argv, cwd, env } => {
                let started = Companion::start(argv.clone(), cwd.clone(), env.clone()).await;
                let (companion, output, input) = started.map_err(|error| StartError::of(&error, limit))?;
                match client
                    .serve_with_ct(
                        Listening::new(
                            AsyncRwTransport::new_client(output, input),
                            callers.clone(),
                            tools_changed.clone(),
                        ),
                        end.clone(),
                    )
                    .await
                {
                    Ok(service) => (service, Some(companion), None),
                    // It has said why.
                    Err(error @ ClientInitializeError::JsonRpcError(_)) => {
                        return Err(of_greeting(&error, None, limit));
                    }
                    Err(error) => {
                        return Err(of_program(&companion, &masks, of_greeting(&error, None, limit)).await);
                    }
                }
            }
            Launch::Http {
                url,
                token,
                headers,
                network,
            } => {
                let http = http::for_tool_servers(url, network).await.map_err(StartError::Other)?;
                // A server that begins again may come with other tools: what was allowed is looked at before anything is sent once more.
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .custom_headers(headers.clone())
                    .reinit_on_expired_session(false);
                if let Some(token) = token {
                    config = config.auth_header(token.clone());
                }
                let transport = StreamableHttpClientTransport::with_client(HttpClient(http), config);
                let listening = Listening::new(transport, callers.clone(), tools_changed.clone());
                let served = client.serve_with_ct(listening, end.clone()).await;
                let way = Way {
                    url: url.clone(),
                    network: network.clone(),
                };
                let service = served.map_err(|error| match error.is_authorization_required() {
                    true => StartError::AuthRequired,
                    false => of_greeting(&error, Some(&way), limit),
                })?;
                (service, None, Some(way))
            }
        };
        let peer = service.peer().clone();
        let over = CancellationToken::new();
        let has_ended = over.clone();
        tokio::spawn(async move {
            if let Err(error) = service.waiting().await {
                tracing::warn!(%error, "the connection to an MCP server broke off");
            }
            has_ended.cancel();
        });
        let info = peer.peer_info();
        Ok(Self {
            has_resources: info.is_some_and(|info| info.capabilities.resources.is_some()),
            peer,
            end,
            over,
            _end,
            companion,
            callers,
            way,
            tools_changed,
            masks,
        })
    }

    pub fn has_resources(&self) -> bool {
        self.has_resources
    }

    /// Ends when the server says that its tools are others now. For one waiter.
    pub async fn tools_changed(&self) {
        self.tools_changed.notified().await;
    }

    pub fn is_live(&self) -> bool {
        !self.over.is_cancelled()
    }

    /// Ends when the connection is over; says why, as far as can be told.
    pub async fn lost(&self) -> String {
        match &self.companion {
            None => {
                self.over.cancelled().await;
                "the connection broke".to_owned()
            }
            Some(companion) => {
                tokio::select! {
                    () = companion.exited() => {}
                    () = self.over.cancelled() => {
                        let _in_time = timeout(END_PATIENCE, companion.exited()).await;
                    }
                }
                ending(companion, &self.masks)
            }
        }
    }

    /// Asks for something by its method.
    pub async fn request(&self, method: &str, params: Value, limit: Duration) -> Result<Value, RequestError> {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        self.send(request, None, limit, &CancellationToken::new()).await
    }

    /// Has the server carry out a call. Stopping it, and its time being over, is told to the server. The time in which
    /// the person is asked something does not count.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: Arc<dyn Caller>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Value, RequestError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        self.send(request, Some(caller), limit, cancel).await
    }

    async fn send(
        &self,
        request: ClientRequest,
        caller: Option<Arc<dyn Caller>>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Value, RequestError> {
        let mut registered = caller.map(|caller| self.callers.register(caller));
        let answer = self.answer(request, registered.as_mut(), limit, cancel).await;
        if let Some(registered) = &mut registered {
            registered.withdraw().await;
        }
        answer
    }

    async fn answer(
        &self,
        request: ClientRequest,
        mut registered: Option<&mut Registered>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Value, RequestError> {
        let sending = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = timeout(limit, sending)
            .await
            .map_err(|_| RequestError::TimedOut(limit))?
            .map_err(|error| RequestError::of(error, self.way.as_ref()))?;
        if let Some(registered) = &registered {
            registered.sent(handle.id.clone(), handle.progress_token.clone());
        }
        // Whoever drops this future tells the server all the same.
        let mut open = Open {
            peer: Some(self.peer.clone()),
            id: handle.id.clone(),
        };
        let mut deadline = Instant::now() + limit;
        loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    open.peer = None;
                    return match answer {
                        Ok(Ok(result)) => value(result),
                        Ok(Err(error)) => Err(RequestError::of(error, self.way.as_ref())),
                        Err(_) => Err(RequestError::Lost),
                    };
                }
                () = cancel.cancelled() => {
                    open.tell("the turn was stopped").await;
                    return Err(RequestError::Cancelled);
                }
                () = tokio::time::sleep_until(deadline) => {
                    let asking = registered.as_mut().filter(|registered| *registered.asking.borrow() > 0);
                    let Some(registered) = asking else {
                        open.tell("it took too long").await;
                        return Err(RequestError::TimedOut(limit));
                    };
                    // The person has all the time there is; the server gets its own anew.
                    tokio::select! {
                        _answered = registered.asking.wait_for(|count| *count == 0) => {}
                        () = cancel.cancelled() => {}
                        () = self.over.cancelled() => {}
                    }
                    deadline = Instant::now() + limit;
                }
            }
        }
    }

    /// Ends the connection in order, within a bound; nothing of the server is left then, where it is a program.
    pub async fn close(&self) {
        self.end.cancel();
        if timeout(CLOSE_PATIENCE, self.over.cancelled()).await.is_err() {
            tracing::warn!("the connection to an MCP server did not end in time");
        }
        if let Some(companion) = &self.companion {
            companion.end(END_PATIENCE).await;
        }
    }
}

/// A request without an answer yet.
struct Open {
    peer: Option<Peer<RoleClient>>,
    id: RequestId,
}

impl Open {
    async fn tell(&mut self, reason: &str) {
        if let Some(peer) = self.peer.take() {
            let _gone = timeout(Duration::from_millis(500), cancelled(peer, self.id.clone(), reason)).await;
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let (Some(peer), Ok(runtime)) = (self.peer.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(cancelled(peer, self.id.clone(), "it is not wanted any more"));
        }
    }
}

async fn cancelled(peer: Peer<RoleClient>, id: RequestId, reason: &str) {
    let params = json!({"requestId": id, "reason": reason});
    let told = match serde_json::from_value(params) {
        Ok(params) => peer.notify_cancelled(params).await,
        Err(_) => return,
    };
    if let Err(error) = told {
        tracing::debug!(%error, "an MCP server was not told that a request is off");
    }
}

fn value(result: ServerResult) -> Result<Value, RequestError> {
    serde_json::to_value(result).map_err(|error| RequestError::Other(format!("its answer cannot be read ({error})")))
}

impl RequestError {
    fn of(error: ServiceError, way: Option<&Way>) -> Self {
        match error {
            ServiceError::McpError(error) => Self::Refused {
                code: error.code.0,
                message: untrusted::bounded(&error.message, MOST_REFUSAL),
            },
            ServiceError::TransportClosed => Self::Lost,
            ServiceError::Cancelled { .. } => Self::Cancelled,
            ServiceError::Timeout { timeout } => Self::TimedOut(timeout),
            ServiceError::TransportSend(error) if has_no_session(&error) => Self::SessionEnded,
            ServiceError::TransportSend(error) => {
                Self::Other(StartError::of_text(on_the_way(&error, way), Duration::ZERO).to_string())
            }
            other => Self::Other(StartError::of(&other, Duration::ZERO).to_string()),
        }
    }
}

/// Bytes of what a server says against a request.
const MOST_REFUSAL: usize = 2000;

/// Why a server was not greeted.
fn of_greeting(error: &ClientInitializeError, way: Option<&Way>, limit: Duration) -> StartError {
    match error {
        ClientInitializeError::TransportError { error, .. } => StartError::of_text(on_the_way(error, way), limit),
        ClientInitializeError::JsonRpcError(error) => StartError::of_text(
            format!("it answers the greeting with an error: {}", brief(&error.message)),
            limit,
        ),
        other => StartError::of(other, limit),
    }
}

fn has_no_session(error: &DynamicTransportError) -> bool {
    let http = error.error.downcast_ref::<StreamableHttpError<http::HttpError>>();
    matches!(http, Some(StreamableHttpError::SessionExpired))
}

/// What went wrong on the way to a server, in words for a person: no names of the library's, and no address, which may hold a
/// key.
fn on_the_way(error: &DynamicTransportError, way: Option<&Way>) -> String {
    let Some(http) = error.error.downcast_ref::<StreamableHttpError<http::HttpError>>() else {
        return error.error.to_string();
    };
    match (http, way) {
        (StreamableHttpError::Client(error), Some(way)) => {
            let words = http::why(error, &way.url, &way.network);
            words.trim_end_matches('.').to_owned()
        }
        (StreamableHttpError::HttpStatus(error), _) => {
            format!("it answered with HTTP {}. Try again in a while", error.status)
        }
        (StreamableHttpError::UnexpectedServerResponse(words), _) => match words.strip_prefix("HTTP ") {
            Some(status) => {
                // A body is a page as often as not.
                let status = status.split('<').next().unwrap_or_default();
                let status = status.trim_end_matches([':', ' ', '\n']);
                format!("it answered with HTTP {}. Check `url` in config.toml", brief(status))
            }
            None => format!("what it answered cannot be read: {}", brief(words)),
        },
        (StreamableHttpError::UnexpectedContentType(kind), _) => format!(
            "it does not answer as MCP servers do, but with {}. Check `url` in config.toml",
            kind.as_deref().unwrap_or("no content type")
        ),
        (other, _) => other.to_string(),
    }
}

fn brief(words: &str) -> String {
    let words = untrusted::visible(&words.split_whitespace().collect::<Vec<_>>().join(" "));
    match words.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// A failure with what the program has to say of it.
async fn of_program(companion: &Companion, masks: &Masks, error: StartError) -> StartError {
    let _in_time = timeout(Duration::from_millis(500), companion.exited()).await;
    match companion.exit() {
        Some(CompanionExit::NotRun(why) | CompanionExit::NotConfined(why)) => StartError::Other(why),
        Some(CompanionExit::Code(_)) => StartError::Other(ending(companion, masks)),
        None => match (error, told(companion, masks)) {
            (StartError::Other(text), Some(words)) => StartError::Other(format!("{text}. It said: {words}")),
            (error, _) => error,
        },
    }
}

/// How a program ended, in words.
fn ending(companion: &Companion, masks: &Masks) -> String {
    let how = match companion.exit() {
        Some(CompanionExit::NotRun(why) | CompanionExit::NotConfined(why)) => return why,
        Some(CompanionExit::Code(Some(code))) => format!("its program ended with exit code {code}"),
        Some(CompanionExit::Code(None)) => "its program was ended by force".to_owned(),
        None => "its program closed the connection".to_owned(),
    };
    match told(companion, masks) {
        Some(words) => format!("{how}. It said: {words}"),
        None => how,
    }
}

fn told(companion: &Companion, masks: &Masks) -> Option<String> {
    // Before it is cut: half of a token would not be known again.
    let words = masks.hide(&companion.last_words());
    let from = words.char_indices().rev().nth(TOLD - 1).map_or(0, |(at, _)| at);
    Some(untrusted::visible(&words[from..])).filter(|words| !words.is_empty())
}

/// What a server can ask of us.
struct Client {
    callers: Arc<Callers>,
}

impl Client {
    async fn ask(
        &self,
        context: &RequestContext<RoleClient>,
        message: String,
        wish: McpWish,
        meta: Option<Value>,
    ) -> McpElicitationResponse {
        let request_id = match serde_json::to_value(&context.id) {
            Ok(Value::Number(number)) => McpRequestId::Number(number.as_i64().unwrap_or_default()),
            Ok(Value::String(text)) => McpRequestId::Text(text),
            _ => McpRequestId::Text(context.id.to_string()),
        };
        // The library takes it out of the parameters.
        let meta = meta.or_else(|| serde_json::to_value(&context.meta).ok());
        let meta = meta.filter(|meta| meta.as_object().is_some_and(|meta| !meta.is_empty()));
        let question = Question {
            request_id,
            message,
            wish,
            meta,
        };
        let of = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id.clone()),
            _ => None,
        };
        let answer = tokio::select! {
            biased;
            () = context.ct.cancelled() => None,
            answer = self.callers.ask(of.as_ref(), question) => answer,
        };
        answer.unwrap_or_else(|| {
            tracing::info!(
                "an MCP server asked something while it carried out nothing; it was told that nobody answers"
            );
            McpElicitationResponse::cancel()
        })
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> InitializeRequestParams {
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = Some(FormElicitationCapability::default());
        elicitation.url = Some(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        InitializeRequestParams::new(
            capabilities,
            Implementation::new("countersign", env!("CARGO_PKG_VERSION")),
        )
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (message, wish, meta) = match request {
            ElicitRequestParams::FormElicitationParams {
                meta,
                message,
                requested_schema,
            } => {
                let requested_schema = serde_json::to_value(&requested_schema).unwrap_or_default();
                (message, McpWish::Form { requested_schema }, meta)
            }
            ElicitRequestParams::UrlElicitationParams {
                meta,
                message,
                url,
                elicitation_id,
            } => (message, McpWish::Url { url, elicitation_id }, meta),
            _ => return Ok(ElicitResult::new(ElicitationAction::Cancel)),
        };
        let meta = meta.and_then(|meta| serde_json::to_value(meta).ok());
        let answer = self.ask(&context, message, wish, meta).await;
        let mut result = ElicitResult::new(match answer.action {
            McpElicitationAction::Accept => ElicitationAction::Accept,
            McpElicitationAction::Decline => ElicitationAction::Decline,
            McpElicitationAction::Cancel => ElicitationAction::Cancel,
        });
        result.content = answer.content;
        result.meta = answer.meta.and_then(|meta| serde_json::from_value(meta).ok());
        Ok(result)
    }

    /// A question whose schema the library does not know comes this way.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.unwrap_or_default();
        let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
        if request.method != "elicitation/create" {
            let message = format!("there is no method {}", request.method);
            return Err(ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, message, None));
        }
        let Some(message) = text("message") else {
            return Err(ErrorData::invalid_params("an elicitation needs a message", None));
        };
        let wish = match text("url") {
            Some(url) => McpWish::Url {
                url,
                elicitation_id: text("elicitationId").unwrap_or_default(),
            },
            None => McpWish::Form {
                requested_schema: params.get("requestedSchema").cloned().unwrap_or_else(|| json!({})),
            },
        };
        let answer = self.ask(&context, message, wish, params.get("_meta").cloned()).await;
        Ok(CustomResult::new(serde_json::to_value(answer).unwrap_or_default()))
    }
}
