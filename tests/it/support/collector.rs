//! A collector of OpenTelemetry on this machine, over HTTP or gRPC, which keeps what it is sent and can be ill in several
//! ways.

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// With this status; over gRPC with `UNAVAILABLE`.
    Status(u16),
    /// Not at all.
    Silent,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    /// Without the frame of gRPC.
    pub(crate) body: Vec<u8>,
    /// It was answered with success.
    pub(crate) taken: bool,
}

/// One record, or one point of a counter.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) fields: BTreeMap<String, Value>,
    pub(crate) resource: BTreeMap<String, Value>,
    pub(crate) trace: String,
}

impl Seen {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.fields
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("no text {field} in {self:#?}"))
    }

    pub(crate) fn number(&self, field: &str) -> i64 {
        self.fields
            .get(field)
            .and_then(Value::as_i64)
            .unwrap_or_else(|| panic!("no number {field} in {self:#?}"))
    }
}

#[derive(Debug)]
struct State {
    mood: Mutex<Mood>,
    received: Mutex<Vec<Received>>,
    changed: tokio::sync::watch::Sender<usize>,
}

pub(crate) struct Collector {
    state: Arc<State>,
    address: SocketAddr,
    is_grpc: bool,
    task: JoinHandle<()>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("whole")
}

impl Collector {
    pub(crate) async fn http() -> Self {
        Self::begin(false, ([127, 0, 0, 1], 0).into()).await
    }

    pub(crate) async fn grpc() -> Self {
        Self::begin(true, ([127, 0, 0, 1], 0).into()).await
    }

    /// At an address that was another one's.
    pub(crate) async fn http_at(address: SocketAddr) -> Self {
        Self::begin(false, address).await
    }

    async fn begin(is_grpc: bool, address: SocketAddr) -> Self {
        let listener = loop {
            match TcpListener::bind(address).await {
                Ok(listener) => break listener,
                // The one before may not have let go yet.
                Err(_) if address.port() != 0 => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(error) => panic!("{error}"),
            }
        };
        let state = Arc::new(State {
            mood: Mutex::new(Mood::Well),
            received: Mutex::default(),
            changed: tokio::sync::watch::Sender::new(0),
        });
        let address = listener.local_addr().expect("an address");
        let task = match is_grpc {
            true => tokio::spawn(serve_grpc(listener, state.clone())),
            false => tokio::spawn(serve_http(listener, state.clone())),
        };
        Self {
            state,
            address,
            is_grpc,
            task,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn set(&self, mood: Mood) {
        *lock(&self.state.mood) = mood;
    }

    /// An exporter for a signal, such as `logs`, with lines of its own.
    pub(crate) fn exporter(&self, signal: &str, more: &str) -> String {
        let address = self.address;
        match self.is_grpc {
            true => format!("{{ otlp-grpc = {{ endpoint = \"http://{address}\"{more} }} }}"),
            false => format!("{{ otlp-http = {{ endpoint = \"http://{address}/v1/{signal}\"{more} }} }}"),
        }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        lock(&self.state.received).clone()
    }

    fn of(&self, signal: &str) -> Vec<Received> {
        let all = self.received().into_iter().filter(|one| one.taken);
        let path = [format!("/v1/{signal}"), format!("collector.{signal}.v1.")];
        all.filter(|one| path.iter().any(|path| one.path.contains(path)))
            .collect()
    }

    /// All records so far, in their order.
    pub(crate) fn records(&self) -> Vec<Seen> {
        let mut seen = Vec::new();
        for one in self.of("logs") {
            let request: ExportLogsServiceRequest = decode(&one);
            for logs in &request.resource_logs {
                let resource = fields(&logs.resource.as_ref().expect("a resource").attributes);
                for record in logs.scope_logs.iter().flat_map(|scope| &scope.log_records) {
                    seen.push(Seen {
                        name: record.event_name.clone(),
                        fields: fields(&record.attributes),
                        resource: resource.clone(),
                        trace: hex(&record.trace_id),
                    });
                }
            }
        }
        seen
    }

    /// Those of one kind.
    pub(crate) fn all(&self, name: &str) -> Vec<Seen> {
        let name = format!("countersign.{name}");
        self.records()
            .into_iter()
            .filter(|record| record.name == name)
            .collect()
    }

    /// All spans so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let requests = self.of("trace");
        let requests = requests.iter().map(decode::<ExportTraceServiceRequest>);
        let scopes = requests
            .flat_map(|request| request.resource_spans)
            .flat_map(|spans| spans.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// Points of counters so far, with their values.
    pub(crate) fn counts(&self) -> Vec<(Seen, i64)> {
        let mut seen = Vec::new();
        for one in self.of("metrics") {
            let request: ExportMetricsServiceRequest = decode(&one);
            for metrics in &request.resource_metrics {
                let resource = fields(&metrics.resource.as_ref().expect("a resource").attributes);
                for counter in metrics.scope_metrics.iter().flat_map(|scope| &scope.metrics) {
                    let Some(metric::Data::Sum(sum)) = &counter.data else {
                        panic!("no counter: {counter:?}")
                    };
                    for point in &sum.data_points {
                        let value = match point.value {
                            Some(number_data_point::Value::AsInt(value)) => value,
                            other => panic!("not expected: {other:?}"),
                        };
                        let one = Seen {
                            name: counter.name.clone(),
                            fields: fields(&point.attributes),
                            resource: resource.clone(),
                            trace: String::new(),
                        };
                        seen.push((one, value));
                    }
                }
            }
        }
        seen
    }

    /// Waits until it is so.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let mut changed = self.state.changed.subscribe();
        let wait = async {
            while !is_so(self) {
                changed.changed().await.expect("it lives");
            }
        };
        if tokio::time::timeout(LIMIT, wait).await.is_err() {
            panic!("waited in vain until {what}: {:#?}", self.records());
        }
    }
}

fn decode<M: Message + Default + serde::de::DeserializeOwned>(received: &Received) -> M {
    match received.headers["content-type"].as_str() {
        "application/json" => serde_json::from_slice(&received.body).expect("OTLP in JSON"),
        _ => M::decode(&received.body[..]).expect("OTLP"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fields(pairs: &[KeyValue]) -> BTreeMap<String, Value> {
    let pair = |pair: &KeyValue| (pair.key.clone(), plain(pair.value.as_ref()));
    pairs.iter().map(pair).collect()
}

fn plain(value: Option<&AnyValue>) -> Value {
    match value.and_then(|value| value.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => text.as_str().into(),
        Some(any_value::Value::IntValue(number)) => (*number).into(),
        Some(any_value::Value::ArrayValue(list)) => list.values.iter().map(|value| plain(Some(value))).collect(),
        other => panic!("not expected: {other:?}"),
    }
}

impl State {
    /// Keeps a request, and says how it is answered.
    fn take(&self, path: String, headers: BTreeMap<String, String>, body: Vec<u8>) -> Mood {
        let mood = *lock(&self.mood);
        let mut received = lock(&self.received);
        received.push(Received {
            path,
            headers,
            body,
            taken: mood == Mood::Well,
        });
        let count = received.len();
        drop(received);
        self.changed.send_replace(count);
        mood
    }
}

fn plain_headers(headers: &http::HeaderMap) -> BTreeMap<String, String> {
    let pair = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), value.to_str().unwrap_or_default().to_owned())
    };
    headers.iter().map(pair).collect()
}

/// Each request has a connection of its own, so that none outlives the collector.
fn answer(status: u16) -> axum::response::Response {
    let answer = http::Response::builder().status(status).header("connection", "close");
    answer.body(axum::body::Body::empty()).expect("an answer")
}

async fn serve_http(listener: TcpListener, state: Arc<State>) {
    let handler = move |request: axum::extract::Request| {
        let state = state.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
            let path = parts.uri.path().to_owned();
            match state.take(path, plain_headers(&parts.headers), body.to_vec()) {
                Mood::Well => answer(200),
                Mood::Status(status) => answer(status),
                Mood::Silent => std::future::pending().await,
            }
        }
    };
    let router = axum::Router::new().fallback(handler);
    axum::serve(listener, router).await.expect("it serves");
}

async fn serve_grpc(listener: TcpListener, state: Arc<State>) {
    // Gone with the collector.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (socket, _) = listener.accept().await.expect("a connection");
        let state = state.clone();
        connections.spawn(async move {
            let mut connection = h2::server::handshake(socket).await.expect("HTTP/2");
            while let Some(Ok((request, respond))) = connection.accept().await {
                tokio::spawn(answer_grpc(request, respond, state.clone()));
            }
        });
    }
}

async fn answer_grpc(
    request: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
    state: Arc<State>,
) {
    let (parts, mut stream) = request.into_parts();
    let mut body = Vec::new();
    while let Some(Ok(bytes)) = stream.data().await {
        let _ = stream.flow_control().release_capacity(bytes.len());
        body.extend_from_slice(&bytes);
    }
    assert_eq!(parts.headers["te"], "trailers");
    assert_eq!(body[0], 0, "not compressed");
    let length = u32::from_be_bytes([body[1], body[2], body[3], body[4]]);
    assert_eq!(length as usize, body.len() - 5);
    let path = parts.uri.path().to_owned();
    let mood = state.take(path, plain_headers(&parts.headers), body.split_off(5));
    let status = match mood {
        Mood::Well => "0",
        Mood::Status(_) => "14",
        Mood::Silent => std::future::pending().await,
    };
    let head = http::Response::builder().header("content-type", "application/grpc");
    let mut send = respond
        .send_response(head.body(()).expect("a head"), false)
        .expect("sent");
    send.send_data(Bytes::from_static(&[0; 5]), false).expect("sent");
    let mut trailers = http::HeaderMap::new();
    trailers.insert("grpc-status", status.parse().expect("a value"));
    send.send_trailers(trailers).expect("sent");
}
