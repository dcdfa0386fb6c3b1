//! The server: routes, the record of requests, and the hand over to the player.

use crate::rehearsal::chat::ChatWire;
use crate::rehearsal::line::{Cut, Door};
use crate::rehearsal::play::{Gone, Holds, Piece, Played, Player, before_status};
use crate::rehearsal::realtime::{self, Call, Calls, Place, Refused};
use crate::rehearsal::recorded::Recorded;
use crate::rehearsal::responses::ResponsesWire;
use crate::rehearsal::script::{Output, Script, Usage};
use crate::rehearsal::wire::Wire;
use crate::rehearsal::{select, template};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Pieces of a body that wait for the connection.
const BODY_BUFFER: usize = 16;

/// The rehearsal server, not yet running.
pub struct Server;

impl Server {
    /// Starts to play `script` at `address`; port 0 takes a free one. Runs until the [`Running`] is stopped or dropped.
    pub async fn start(script: Script, address: SocketAddr) -> io::Result<Running> {
        Self::start_recording(script, address, None).await
    }

    /// The same, and each request is also appended to `record` as a line of JSON.
    pub async fn start_recording(
        script: Script,
        address: SocketAddr,
        record: Option<std::fs::File>,
    ) -> io::Result<Running> {
        let listener = tokio::net::TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let stage = Arc::new(Stage::new(script, record, stop.clone()));
        let router = Router::new()
            .route("/v1/responses", post(answer))
            .route("/responses", post(answer))
            .route("/v1/chat/completions", post(answer))
            .route("/chat/completions", post(answer))
            .route("/v1/models", get(models))
            .route("/models", get(models))
            .route("/v1/realtime", get(call))
            .route("/realtime", get(call))
            .route("/requests", get(requests))
            .route("/calls", get(calls))
            .route("/release/{name}", post(release))
            .fallback(unknown)
            .layer(DefaultBodyLimit::disable())
            .layer(axum::middleware::from_fn(not_for_pages))
            .with_state(stage.clone());
        let service = router.into_make_service_with_connect_info::<Cut>();
        let door = Door::new(listener, stop.clone());
        let task = tokio::spawn({
            let stop = stop.clone();
            async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    _ = async { axum::serve(door, service).await } => {}
                }
            }
        });
        Ok(Running {
            base_url: format!("http://{address}/v1"),
            address,
            stage,
            stop,
            task: Some(task),
        })
    }
}

/// A running server. Dropping it stops it and cuts its connections.
pub struct Running {
    /// For a provider's `base_url`: `http://127.0.0.1:PORT/v1`.
    pub base_url: String,
    pub address: SocketAddr,
    stage: Arc<Stage>,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Running {
    /// The requests for answers so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.stage.state().requests.clone()
    }

    /// Waits until so many requests have come, and gives them. Bound it where it may not happen.
    pub async fn wait_for_requests(&self, number: usize) -> Vec<Recorded> {
        // It cannot fail: the sender lives in the stage that `self` holds.
        let _ = self.stage.count.subscribe().wait_for(|count| *count >= number).await;
        self.requests()
    }

    /// The connections to the realtime end so far.
    pub fn calls(&self) -> Vec<Call> {
        self.stage.calls.all()
    }

    /// Waits until they are as wanted, and gives them. Bound it where that may not happen.
    pub async fn wait_for_calls(&self, wanted: impl Fn(&[Call]) -> bool) -> Vec<Call> {
        self.stage.calls.wait_until(wanted).await
    }

    /// Opens a barrier: those that wait go on, and it stays open.
    pub fn release(&self, name: &str) {
        self.stage.release(name);
    }

    /// Waits until a request has come to a barrier. Bound it where that may not happen.
    pub async fn wait_for_hold(&self, name: &str) {
        let at_hold = |holds: &Holds| holds.waiting.get(name).is_some_and(|count| *count > 0);
        let _ = self.stage.holds.subscribe().wait_for(at_hold).await;
    }

    /// The rules that the requests so far have broken, each with the number of its request.
    pub fn violations(&self) -> Vec<String> {
        let of_request = |request: &Recorded| -> Vec<String> {
            let number = request.number;
            request
                .violations()
                .into_iter()
                .map(|violation| format!("request {number}: {violation}"))
                .collect()
        };
        self.stage.state().requests.iter().flat_map(of_request).collect()
    }

    /// Stops the server and cuts its connections.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            // A task that panicked has stopped as well.
            let _ = task.await;
        }
    }

    /// Waits until the server stops, which it does not do by itself.
    pub async fn wait(&mut self) {
        if let Some(task) = &mut self.task {
            let _ = task.await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The same without a network, for tests that hold the clock: a request goes in, and the answer comes out.
#[cfg(test)]
#[derive(Clone)]
pub(crate) struct Indoors(Arc<Stage>);

#[cfg(test)]
impl Indoors {
    pub(crate) fn new(script: Script) -> Self {
        Self(Arc::new(Stage::new(script, None, CancellationToken::new())))
    }

    /// The answer to a request in the Responses API. `cut` fires when the connection breaks.
    pub(crate) async fn answer(&self, headers: HeaderMap, body: Bytes, cut: CancellationToken) -> Response {
        let (stage, uri) = (State(self.0.clone()), Uri::from_static("/v1/responses"));
        answer(stage, ConnectInfo(Cut(cut)), uri, headers, body).await
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.0.state().requests.clone()
    }
}

/// What the handlers share.
struct Stage {
    script: Script,
    state: Mutex<Progress>,
    /// How many requests have come.
    count: watch::Sender<usize>,
    holds: watch::Sender<Holds>,
    /// Connections to the realtime end.
    calls: Arc<Calls>,
    record: Option<Mutex<std::fs::File>>,
    stop: CancellationToken,
}

/// How far the script has been played.
struct Progress {
    used: Vec<bool>,
    requests: Vec<Recorded>,
}

impl Stage {
    fn new(script: Script, record: Option<std::fs::File>, stop: CancellationToken) -> Self {
        Self {
            state: Mutex::new(Progress {
                used: vec![false; script.steps.len()],
                requests: Vec::new(),
            }),
            script,
            count: watch::Sender::new(0),
            holds: watch::Sender::new(Holds::default()),
            calls: Arc::default(),
            record: record.map(Mutex::new),
            stop,
        }
    }

    fn state(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, name: &str) {
        self.holds.send_modify(|holds| {
            holds.released.insert(name.to_owned());
        });
    }

    /// Records the request and chooses its step; or the status and the words for why there is none.
    fn admit(&self, path: &str, headers: &HeaderMap, body: &[u8]) -> (Recorded, Result<usize, (StatusCode, String)>) {
        let headers = headers.iter().map(|(name, value)| {
            (
                name.as_str().to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        });
        let mut state = self.state();
        let mut request = Recorded {
            number: state.requests.len() + 1,
            path: path.to_owned(),
            headers: headers.collect(),
            body: serde_json::from_slice(body).unwrap_or_default(),
            step: None,
        };
        let violations = if self.script.lenient {
            Vec::new()
        } else {
            request.violations()
        };
        let step = if violations.is_empty() {
            select::select(&self.script.steps, &state.used, &request)
                .map_err(|reason| (StatusCode::INTERNAL_SERVER_ERROR, reason))
        } else {
            let reason = format!("Request {} breaks the rules: {}", request.number, violations.join("; "));
            Err((StatusCode::BAD_REQUEST, reason))
        };
        if let Ok(step) = step {
            state.used[step] = true;
            request.step = Some(step);
        }
        state.requests.push(request.clone());
        drop(state);
        if let Some(record) = &self.record {
            let line = format!("{}\n", request.to_json());
            let mut file = record.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = file.write_all(line.as_bytes()) {
                tracing::warn!(%error, "a request could not be recorded");
            }
        }
        self.count.send_modify(|count| *count += 1);
        (request, step)
    }
}

async fn answer(
    State(stage): State<Arc<Stage>>,
    ConnectInfo(Cut(cut)): ConnectInfo<Cut>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (request, step) = stage.admit(uri.path(), &headers, &body);
    let step = match step {
        Ok(step) => &stage.script.steps[step],
        Err((status, reason)) => return error(status, "rehearsal", &reason),
    };
    let outputs = match template::fill(&step.outputs, &request) {
        Ok(outputs) => outputs,
        Err(reason) => {
            let reason = format!("The step for request {} cannot be filled in: {reason}", request.number);
            return error(StatusCode::INTERNAL_SERVER_ERROR, "rehearsal", &reason);
        }
    };
    let left = before_status(&outputs, &stage.holds).await;
    match left.first() {
        Some(Output::Fail { status, headers, body }) => return fail(*status, headers, body.as_ref()),
        Some(Output::Drop) => {
            cut.cancel();
            return std::future::pending().await;
        }
        _ => {}
    }
    let usage_first = outputs
        .iter()
        .take(outputs.len() - left.len())
        .filter(|output| matches!(output, Output::Usage(_)));
    let rest: Vec<Output> = usage_first.chain(left).cloned().collect();
    let streams = request.body.get("stream") == Some(&Value::Bool(true));
    let wire: Box<dyn Wire> = match request.is_chat() {
        true => Box::new(ChatWire::new(request.number, &request.body)),
        false => Box::new(ResponsesWire::new(request.number, request.model())),
    };
    let (sender, receiver) = mpsc::channel(BODY_BUFFER);
    let player = Player {
        wire,
        chunk: step.chunk.unwrap_or(stage.script.chunk),
        delay: step.delay.unwrap_or(stage.script.delay),
        holds: stage.holds.clone(),
        number: request.number,
        usage: Some(estimate(&body, &rest)),
        body: streams.then_some(sender.clone()),
        open: None,
        calls: 0,
        raw: Vec::new(),
    };
    let mut response = if streams {
        play_in_background(player, rest, sender, stage.stop.clone());
        let content_type = HeaderValue::from_static("text/event-stream");
        ([("content-type", content_type)], body_of(receiver, cut)).into_response()
    } else {
        match player.play(&rest).await {
            Ok(Played::Document(document)) => axum::Json(document).into_response(),
            Ok(Played::Raw(raw)) => ([("content-type", "application/json")], raw).into_response(),
            Ok(Played::Cut) => {
                cut.cancel();
                return std::future::pending().await;
            }
            Ok(Played::Streamed) | Err(Gone) => StatusCode::NO_CONTENT.into_response(),
        }
    };
    add_headers(response.headers_mut(), &step.headers);
    add_headers(
        response.headers_mut(),
        &[("x-request-id".to_owned(), format!("req_{}", request.number))],
    );
    response
}

/// Ends by itself with the script, when the client goes away, or when the server stops.
fn play_in_background(player: Player, outputs: Vec<Output>, sender: mpsc::Sender<Piece>, stop: CancellationToken) {
    tokio::spawn(async move {
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = sender.closed() => {}
            _ = player.play(&outputs) => {}
        }
    });
}

fn body_of(receiver: mpsc::Receiver<Piece>, cut: CancellationToken) -> Body {
    Body::from_stream(futures::stream::unfold(
        (receiver, cut),
        |(mut receiver, cut)| async move {
            match receiver.recv().await? {
                Piece::Bytes(bytes) => Some((Ok::<_, io::Error>(bytes), (receiver, cut))),
                Piece::Cut => {
                    // Once nothing is ready the connection sends what it has; only then is it cut.
                    tokio::task::yield_now().await;
                    cut.cancel();
                    std::future::pending().await
                }
            }
        },
    ))
}

fn fail(status: u16, headers: &[(String, String)], body: Option<&Value>) -> Response {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = match body {
        None => error(
            code,
            "rehearsed_failure",
            &format!("A rehearsed failure with status {status}."),
        ),
        Some(Value::String(text)) => (code, text.clone()).into_response(),
        Some(body) => (code, axum::Json(body.clone())).into_response(),
    };
    add_headers(response.headers_mut(), headers);
    response
}

fn error(status: StatusCode, code: &str, message: &str) -> Response {
    let kind = if status.is_server_error() {
        "server_error"
    } else {
        "invalid_request_error"
    };
    (
        status,
        axum::Json(json!({"error": {"message": message, "type": kind, "code": code}})),
    )
        .into_response()
}

fn add_headers(headers: &mut HeaderMap, more: &[(String, String)]) {
    for (name, value) in more {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => {
                headers.insert(name, value);
            }
            _ => tracing::warn!(name, "left out a header of the script that is none"),
        }
    }
}

/// About four bytes a token, as good as any number for a rehearsal.
fn estimate(request: &[u8], outputs: &[Output]) -> Usage {
    let mut said = 0;
    let mut thought = 0;
    for output in outputs {
        match output {
            Output::Say { text, .. } | Output::Refuse { text, .. } | Output::CustomCall { input: text, .. } => {
                said += text.len();
            }
            Output::Call { arguments, .. } => said += arguments.to_string().len(),
            Output::Think { text, .. } => thought += text.len(),
            _ => {}
        }
    }
    let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
    let (input_tokens, output_tokens) = (tokens(request.len()), tokens(said + thought));
    Usage {
        input_tokens,
        cached_input_tokens: 0,
        output_tokens,
        reasoning_output_tokens: tokens(thought).min(output_tokens),
        total_tokens: input_tokens + output_tokens,
    }
}

async fn models(State(stage): State<Arc<Stage>>) -> Response {
    let model = |id: &String| json!({"id": id, "object": "model", "created": 0, "owned_by": "rehearsal"});
    let data: Vec<Value> = stage.script.models.iter().map(model).collect();
    axum::Json(json!({"object": "list", "data": data})).into_response()
}

/// Web pages of any browser on this machine reach this port, also by a name of theirs that leads here (DNS rebinding). They
/// get nothing, least of all what was recorded. Programs name no origin, and look at records by an address.
async fn not_for_pages(request: Request, next: axum::middleware::Next) -> Response {
    let headers = request.headers();
    let is_of_page = headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let host = url::Url::parse(&format!("http://{host}/"));
    let is_named = match host.as_ref().ok().and_then(url::Url::host) {
        Some(url::Host::Domain(name)) => name != "localhost",
        Some(_) => false,
        None => true,
    };
    let path = request.uri().path();
    let is_record = ["/requests", "/calls", "/release"]
        .iter()
        .any(|record| path.starts_with(record));
    if is_of_page || is_named && is_record {
        let message = "The rehearsal server is not for web pages. Ask it by its address, without an Origin.";
        return error(StatusCode::FORBIDDEN, "rehearsal", message);
    }
    next.run(request).await
}

async fn requests(State(stage): State<Arc<Stage>>) -> Response {
    let list: Vec<Value> = stage.state().requests.iter().map(Recorded::to_json).collect();
    axum::Json(list).into_response()
}

/// The realtime end.
async fn call(State(stage): State<Arc<Stage>>, ConnectInfo(cut): ConnectInfo<Cut>, request: Request) -> Response {
    let place = Place {
        calls: stage.calls.clone(),
        holds: stage.holds.clone(),
        stop: stage.stop.clone(),
        cut,
    };
    match realtime::answer(&stage.script.realtime, place, request).await {
        Ok(response) => response,
        Err(Refused::Fail { status, headers, body }) => fail(status, &headers, body.as_ref()),
        Err(Refused::NoScript) => error(
            StatusCode::NOT_FOUND,
            "rehearsal",
            "The script has no further connection under `realtime`.",
        ),
        Err(Refused::NoWebSocket) => error(
            StatusCode::UPGRADE_REQUIRED,
            "rehearsal",
            "The realtime end speaks WebSocket only.",
        ),
    }
}

async fn calls(State(stage): State<Arc<Stage>>) -> Response {
    let list: Vec<Value> = stage.calls.all().iter().map(Call::to_json).collect();
    axum::Json(list).into_response()
}

async fn release(State(stage): State<Arc<Stage>>, Path(name): Path<String>) -> Response {
    stage.release(&name);
    axum::Json(json!({ "released": name })).into_response()
}

async fn unknown(uri: Uri) -> Response {
    let message = format!(
        "There is no {} here. The rehearsal server has POST /v1/responses, POST /v1/chat/completions, GET /v1/models, \
         GET /v1/realtime, \
         GET /requests, GET /calls and POST /release/NAME.",
        uri.path()
    );
    error(StatusCode::NOT_FOUND, "rehearsal", &message)
}
