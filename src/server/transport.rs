//! Drives the service over a wire: one thread reads, one writes, and one loop hands messages over in order.
//!
//! - Each handler is polled for the first time in the order of arrival; a notification is run to its end there.
//!   So whatever a handler does before its first `await` is ordered with all that came before it.
//! - A request that has to wait goes on by itself. There is no limit on how many do.
//! - Each request is answered exactly once: also if its handler panics, is cancelled, or does not exist.

use crate::server::call::Call;
use crate::server::dispatch;
use crate::server::frame::{Frame, FrameError, FrameReader};
use crate::server::line::HasRoom;
use crate::server::log_trace::LogTrace;
use crate::server::message::{self, Incoming};
use crate::server::outbound::Outbound;
use crate::server::stop::{End, Stop};
use crate::server::trace::{Side, Trace};
use futures::FutureExt as _;
use futures::future::{AbortHandle, Abortable};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Read, Write};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response, Result as RpcResult};
use tower_lsp::{ExitedError, LanguageServer, LspService};
use tower_service::Service as _;
use tracing::Instrument as _;

/// Messages read ahead of the loop.
const READ_AHEAD: usize = 64;

const SERVER_NOT_INITIALIZED: i64 = -32002;

/// A connection. Blocking, since plain threads read and write it.
pub struct Wire {
    pub reader: Box<dyn Read + Send>,
    pub writer: Box<dyn Write + Send>,
    /// For wires that can tell.
    pub has_room: Option<HasRoom>,
    /// Ends the connection, for wires that a client would otherwise see stay open.
    pub hang_up: Box<dyn FnOnce() + Send>,
    /// Bytes that belong to no message end it: over a socket they are somebody else's.
    pub strict: bool,
}

/// Where the session stands; decides what may be asked.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Live,
    ShuttingDown,
}

/// Requests that are being handled, by the client's id; without a handle where it cannot be cancelled.
type InFlight = Arc<Mutex<HashMap<Id, Option<AbortHandle>>>>;

pub(crate) struct Transport<S> {
    service: LspService<S>,
    outbound: Outbound,
    stop: Stop,
    phase: Arc<AtomicU8>,
    in_flight: InFlight,
    tasks: TaskTracker,
    /// Ids towards the service: ours, never repeated, so that nothing it keeps under them can clash.
    last_id: i64,
    on_lost: OnLost,
    log_trace: LogTrace,
}

/// Hears of a notification that did not reach its handler: its method, and the document that it was about.
type OnLost = Arc<dyn Fn(&str, Option<&str>) + Send + Sync>;

impl<S: LanguageServer> Transport<S> {
    pub(crate) fn new(
        service: LspService<S>,
        outbound: Outbound,
        stop: Stop,
        on_lost: impl Fn(&str, Option<&str>) + Send + Sync + 'static,
    ) -> Self {
        let phase = Arc::new(AtomicU8::new(Phase::New as u8));
        Self {
            service,
            outbound,
            stop,
            phase,
            in_flight: InFlight::default(),
            tasks: TaskTracker::new(),
            last_id: 0,
            on_lost: Arc::new(on_lost),
            log_trace: LogTrace::default(),
        }
    }

    /// Runs the session until it ends. What is still being handled then is cancelled, except `shutdown`; the
    /// tracker tells when all have been answered.
    pub(crate) async fn run(mut self, mut incoming: mpsc::Receiver<Incoming>) -> (End, TaskTracker) {
        let stop = self.stop.clone();
        let mut stopped = std::pin::pin!(stop.called());
        let end = loop {
            let message = tokio::select! {
                biased;
                end = &mut stopped => break end,
                message = incoming.recv() => message,
            };
            let step = match message {
                None => break End::ClientGone,
                Some(message) => self.take(message),
            };
            match step {
                Step::Next => {}
                Step::End(end) => break end,
                Step::Wait(mut notification) => tokio::select! {
                    biased;
                    end = &mut stopped => break end,
                    () = &mut notification => {}
                },
            }
        };
        for request in lock(&self.in_flight).values().flatten() {
            request.abort();
        }
        self.tasks.close();
        (end, self.tasks)
    }

    fn take(&mut self, message: Incoming) -> Step {
        match message {
            Incoming::Request {
                id,
                method,
                params,
                trace,
            } => self.request(id, method, params, trace),
            Incoming::Notification { method, params } => return self.notification(&method, params),
            Incoming::Answer { id: Id::Null, answer } => {
                tracing::warn!(?answer, "the client could not read a message");
            }
            Incoming::Answer { id, answer } => self.outbound.answered(&id, answer),
            Incoming::Invalid { id: Some(id), error } => self.outbound.answer(&id, &Err(error)),
            Incoming::Invalid { id: None, error } => tracing::warn!(%error, "a message was ignored"),
            Incoming::NoJson(message) => self.unreadable(message),
            Incoming::TooLarge(message) => {
                self.unreadable(message);
                return Step::End(End::TooLarge);
            }
            Incoming::NoFrame(message) => {
                self.unreadable(message);
                return Step::End(End::NoFrame);
            }
        }
        Step::Next
    }

    fn unreadable(&self, message: String) {
        tracing::warn!(message, "a message could not be read");
        let error = Error {
            code: ErrorCode::ParseError,
            message: message.into(),
            data: None,
        };
        self.outbound.answer(&Id::Null, &Err(error));
    }

    fn request(&mut self, id: Id, method: String, params: Option<Value>, trace: Option<Value>) {
        if let Err(error) = self.admit(&method) {
            return self.outbound.answer(&id, &Err(error));
        }
        if method == "initialize" {
            self.log_trace
                .set(params.as_ref().and_then(|params| params.get("trace")));
        }
        let params = adjust(&method, params);
        let (abort, registration) = AbortHandle::new_pair();
        match lock(&self.in_flight).entry(id.clone()) {
            Entry::Vacant(vacant) => vacant.insert((method != "shutdown").then_some(abort)),
            Entry::Occupied(_) => {
                let message = format!("a request with the id {id} is still open; ids must not be used twice at a time");
                return self.outbound.answer(&id, &Err(refusal(message)));
            }
        };
        if method == "shutdown" {
            self.phase.store(Phase::ShuttingDown as u8, Ordering::Release);
        }
        self.last_id += 1;
        let call = Arc::new(Call::default());
        let span = dispatch::span(&method, self.last_id, trace.as_ref());
        span.in_scope(|| tracing::debug!(%id, method, "request"));
        let handler = self.call_service(Some(self.last_id), &method, params).instrument(span);
        let handler = Abortable::new(
            call.clone().around(AssertUnwindSafe(handler).catch_unwind()),
            registration,
        );
        let reply = Reply {
            id,
            method,
            call,
            outbound: self.outbound.clone(),
            in_flight: self.in_flight.clone(),
            phase: self.phase.clone(),
            log_trace: self.log_trace.as_it_is(),
            since: Instant::now(),
        };
        let mut work = Box::pin(async move {
            let outcome = handler.await;
            reply.send(match outcome {
                Err(futures::future::Aborted) => Err(cancelled()),
                Ok(Err(_panic)) => Err(bug("the handler failed; the log says where")),
                Ok(Ok(Err(ExitedError { .. }))) => Err(refusal("the server has ended")),
                Ok(Ok(Ok(response))) => match response.map(Response::into_parts) {
                    Some((_, result)) => result,
                    None => Err(Error::method_not_found()),
                },
            });
        });
        // The first poll is here, in the order of arrival.
        if work.as_mut().now_or_never().is_none() {
            self.tasks.spawn(work);
        }
    }

    fn notification(&mut self, method: &str, params: Option<Value>) -> Step {
        tracing::debug!(method, "notification");
        match method {
            "exit" => {
                return Step::End(match self.phase() {
                    Phase::ShuttingDown => End::Exit,
                    Phase::New | Phase::Live => End::ExitWithoutShutdown,
                });
            }
            "$/cancelRequest" => {
                self.cancel(params.as_ref());
                return Step::Next;
            }
            "$/setTrace" => {
                self.log_trace
                    .set(params.as_ref().and_then(|params| params.get("value")));
                return Step::Next;
            }
            _ if self.phase() != Phase::Live => {
                tracing::debug!(method, "notification outside the session's life; ignored");
                return Step::Next;
            }
            _ => {}
        }
        self.log_trace.took(&self.outbound, method);
        let params = adjust(method, params);
        let document = params
            .as_ref()
            .and_then(|params| params.pointer("/textDocument/uri")?.as_str())
            .map(str::to_owned);
        let call = Arc::new(Call::default());
        let handler = self.call_service(None, method, params);
        let handler = call.clone().around(AssertUnwindSafe(handler).catch_unwind());
        let (on_lost, method) = (self.on_lost.clone(), method.to_owned());
        let mut work = Box::pin(async move {
            if handler.await.is_err() {
                tracing::error!(method, "the handler of a notification panicked");
                on_lost(&method, document.as_deref());
            } else if !call.was_reached() {
                on_lost(&method, document.as_deref());
            }
        });
        match work.as_mut().now_or_never() {
            Some(()) => Step::Next,
            None => Step::Wait(work),
        }
    }

    /// The service's future; a panic while it is made becomes a panic of the future.
    fn call_service(
        &mut self,
        id: Option<i64>,
        method: &str,
        params: Option<Value>,
    ) -> impl Future<Output = Result<Option<Response>, ExitedError>> + Send + 'static + use<S> {
        let mut request = Request::build(method.to_owned());
        if let Some(params) = params {
            request = request.params(params);
        }
        if let Some(id) = id {
            request = request.id(id);
        }
        let made = std::panic::catch_unwind(AssertUnwindSafe(|| self.service.call(request.finish())));
        async move {
            match made {
                Ok(future) => future.await,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    }

    /// Whether the session's state allows this request.
    fn admit(&self, method: &str) -> RpcResult<()> {
        match (self.phase(), method) {
            (Phase::New, "initialize") => Ok(()),
            (Phase::Live, "initialize") => Err(refusal(
                "initialize was answered already; one connection is one session",
            )),
            (Phase::Live, _) => Ok(()),
            (Phase::New, _) => Err(Error {
                code: ErrorCode::ServerError(SERVER_NOT_INITIALIZED),
                message: format!("{method} came before initialize; send initialize first").into(),
                data: None,
            }),
            (Phase::ShuttingDown, _) => Err(refusal(format!("{method} came after shutdown; only exit may follow"))),
        }
    }

    fn cancel(&self, params: Option<&Value>) {
        let id = match params.and_then(|params| params.get("id")) {
            Some(Value::String(id)) => Id::String(id.clone()),
            Some(Value::Number(id)) if id.is_i64() => Id::Number(id.as_i64().unwrap_or_default()),
            other => return tracing::warn!(?other, "$/cancelRequest without an id; ignored"),
        };
        // Unknown ids are normal: the answer and the cancellation have crossed.
        if let Some(Some(request)) = lock(&self.in_flight).get(&id) {
            request.abort();
        }
    }

    fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::New,
            1 => Phase::Live,
            _ => Phase::ShuttingDown,
        }
    }
}

enum Step {
    Next,
    /// A notification that is not done; nothing else is taken before it is.
    Wait(std::pin::Pin<Box<dyn Future<Output = ()> + Send>>),
    End(End),
}

/// Owes an answer.
struct Reply {
    id: Id,
    method: String,
    call: Arc<Call>,
    outbound: Outbound,
    in_flight: InFlight,
    phase: Arc<AtomicU8>,
    log_trace: LogTrace,
    since: Instant,
}

impl Reply {
    fn send(self, answer: RpcResult<Value>) {
        // Freed first: once the client has the answer it may use the id again.
        lock(&self.in_flight).remove(&self.id);
        if self.method == "initialize" && answer.is_ok() {
            self.phase.store(Phase::Live as u8, Ordering::Release);
        }
        let answer = answer.map_err(|error| explain(&self.method, error));
        self.outbound.answer(&self.id, &answer);
        self.log_trace
            .answered(&self.outbound, &self.method, &self.id, self.since, &answer);
        self.call.answered();
    }
}

/// Makes up for what clients leave out or send too much, and for what the typed front cannot read.
fn adjust(method: &str, mut params: Option<Value>) -> Option<Value> {
    match method {
        _ if method.starts_with("textDocument/") => {
            if let Some(params) = &mut params {
                clamp_places(params);
            }
            params
        }
        // Takes none; some clients send `{}` or `[]`.
        "shutdown" => None,
        "initialized" => Some(params.unwrap_or_else(|| json!({}))),
        // What clients say of themselves is newer than the typed front: it gets a shell that always decodes, and
        // the handler reads the whole from within.
        "initialize" => match params {
            Some(params @ Value::Object(_)) => Some(json!({ "capabilities": {}, "initializationOptions": params })),
            other => other,
        },
        // All our parameters are objects; where every field is optional the object is, too. By position it is the first.
        _ if method.starts_with("countersign/") => Some(match params {
            None => json!({}),
            Some(Value::Array(list)) => match <[Value; 1]>::try_from(list) {
                Ok([params @ Value::Object(_)]) => params,
                Err(list) if list.is_empty() => json!({}),
                // Serde would take it for the fields, one after the other; as this it is refused.
                Ok(_) | Err(_) => json!("a list that is not one object"),
            },
            Some(params) => params,
        }),
        _ => params,
    }
}

/// Lines and columns that are negative, fractions or beyond 32 bits are out of range like any other, and so mean the
/// nearest place there is.
fn clamp_places(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_f64().filter(|_| name == "line" || name == "character") {
                    Some(number) if member.as_u64().is_none_or(|whole| whole > u32::MAX.into()) => {
                        // The cast saturates.
                        *member = json!(number as u32);
                    }
                    Some(_) => {}
                    None => clamp_places(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clamp_places),
        _ => {}
    }
}

/// Says which method an error of the service is about.
fn explain(method: &str, error: Error) -> Error {
    match error.code {
        ErrorCode::MethodNotFound => Error {
            message: format!("this server has no method {method}").into(),
            data: None,
            ..error
        },
        ErrorCode::InvalidParams if error.data.is_none() => Error {
            message: format!("the parameters of {method} are not right: {}", error.message).into(),
            data: Some(json!({ "kind": "invalidParams" })),
            ..error
        },
        ErrorCode::InvalidRequest if error.message == ErrorCode::InvalidRequest.description() => Error {
            message: format!("{method} is a notification and has no answer; send it without an id").into(),
            ..error
        },
        _ => error,
    }
}

fn refusal(message: impl Into<String>) -> Error {
    Error {
        code: ErrorCode::InvalidRequest,
        message: message.into().into(),
        data: None,
    }
}

fn cancelled() -> Error {
    Error {
        code: ErrorCode::RequestCancelled,
        message: "cancelled by the client".into(),
        data: None,
    }
}

fn bug(message: &'static str) -> Error {
    Error {
        code: ErrorCode::InternalError,
        message: message.into(),
        data: None,
    }
}

fn lock(in_flight: &InFlight) -> std::sync::MutexGuard<'_, HashMap<Id, Option<AbortHandle>>> {
    in_flight.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Starts the thread that reads. The channel closes at the end of input.
pub(crate) fn spawn_reader(
    source: Box<dyn Read + Send>,
    strict: bool,
    trace: Option<Trace>,
) -> io::Result<mpsc::Receiver<Incoming>> {
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    std::thread::Builder::new().name("lsp-in".into()).spawn(move || {
        let mut reader = match strict {
            true => FrameReader::strict(source),
            false => FrameReader::new(source),
        };
        loop {
            let message = match reader.next() {
                Ok(Some(Frame::Body(body))) => {
                    if let Some(trace) = &trace {
                        trace.write(Side::Client, &body);
                    }
                    let message = message::read(&body);
                    if matches!(message, Incoming::NoJson(_)) {
                        reader.reject(&body);
                    }
                    message
                }
                Ok(Some(Frame::Broken(what))) => Incoming::NoJson(format!(
                    "{what} where a message should begin; the next good header is used"
                )),
                Ok(None) => return,
                Err(error @ FrameError::TooLarge(_)) => {
                    // Should nobody take it, the session has ended already.
                    let _ = sender.blocking_send(Incoming::TooLarge(error.to_string()));
                    return;
                }
                Err(error @ FrameError::NoFrame(_)) => {
                    let _ = sender.blocking_send(Incoming::NoFrame(error.to_string()));
                    return;
                }
                Err(FrameError::Io(error)) => return tracing::info!(%error, "the client's end cannot be read"),
            };
            if sender.blocking_send(message).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::call::{after_reply, reached};
    use crate::server::outbound::Outgoing;
    use std::sync::mpsc as sync_mpsc;
    use std::time::Duration;
    use tower_lsp::lsp_types::*;

    /// A server whose handlers do what real ones must not.
    #[derive(Clone)]
    struct Rude {
        outbound: Outbound,
        seen: Arc<Mutex<Vec<i32>>>,
        started: Arc<tokio::sync::Semaphore>,
        dropped: Arc<tokio::sync::Semaphore>,
    }

    struct AddOnDrop(Arc<tokio::sync::Semaphore>);

    impl Drop for AddOnDrop {
        fn drop(&mut self) {
            self.0.add_permits(1);
        }
    }

    #[tower_lsp::async_trait]
    impl LanguageServer for Rude {
        async fn initialize(&self, _: InitializeParams) -> RpcResult<InitializeResult> {
            Ok(InitializeResult::default())
        }

        async fn shutdown(&self) -> RpcResult<()> {
            Ok(())
        }

        async fn did_change(&self, params: DidChangeTextDocumentParams) {
            reached();
            // The odd ones take their time; the order must hold all the same.
            for _ in 0..(params.text_document.version % 2).saturating_mul(20) {
                tokio::task::yield_now().await;
            }
            lock_seen(&self.seen).push(params.text_document.version);
        }

        async fn did_save(&self, _: DidSaveTextDocumentParams) {
            reached();
            panic!("in a notification");
        }
    }

    fn lock_seen(seen: &Mutex<Vec<i32>>) -> std::sync::MutexGuard<'_, Vec<i32>> {
        seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    impl Rude {
        async fn slow(&self) -> RpcResult<Value> {
            let _guard = AddOnDrop(self.dropped.clone());
            self.started.add_permits(1);
            std::future::pending().await
        }

        async fn panics(&self) -> RpcResult<Value> {
            let outbound = self.outbound.clone();
            after_reply(move || outbound.notify("after/panic", json!({})));
            panic!("in a request");
        }

        async fn begins(&self) -> RpcResult<Value> {
            for name in ["after/first", "after/second"] {
                let outbound = self.outbound.clone();
                after_reply(move || outbound.notify(name, json!({})));
            }
            tokio::task::yield_now().await;
            Ok(json!("begun"))
        }

        async fn count(&self) -> RpcResult<Value> {
            Ok(json!(lock_seen(&self.seen).len()))
        }
    }

    struct Session {
        to: mpsc::Sender<Incoming>,
        from: sync_mpsc::Receiver<Outgoing>,
        rude: Rude,
        lost: Arc<Mutex<Vec<String>>>,
        stop: Stop,
        end: tokio::task::JoinHandle<(End, TaskTracker)>,
    }

    impl Session {
        async fn start() -> Self {
            let stop = Stop::default();
            let (outbound, from) = Outbound::new(stop.clone());
            let none = || Arc::new(tokio::sync::Semaphore::new(0));
            let rude = Rude {
                outbound: outbound.clone(),
                seen: Arc::default(),
                started: none(),
                dropped: none(),
            };
            let (service, _socket) = LspService::build(|_| rude.clone())
                .custom_method("slow", Rude::slow)
                .custom_method("panics", Rude::panics)
                .custom_method("begins", Rude::begins)
                .custom_method("count", Rude::count)
                .finish();
            let lost = Arc::new(Mutex::new(Vec::new()));
            let hears = lost.clone();
            let on_lost = move |method: &str, document: Option<&str>| {
                hears
                    .lock()
                    .unwrap()
                    .push(format!("{method} {}", document.unwrap_or("-")));
            };
            let (to, incoming) = mpsc::channel(READ_AHEAD);
            let end = tokio::spawn(Transport::new(service, outbound, stop.clone(), on_lost).run(incoming));
            let session = Self {
                to,
                from,
                rude,
                lost,
                stop,
                end,
            };
            session
                .send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}))
                .await;
            assert_eq!(session.next().await["id"], 0);
            session
        }

        async fn send(&self, message: Value) {
            self.to
                .send(message::read(message.to_string().as_bytes()))
                .await
                .unwrap();
        }

        async fn request(&self, id: i32, method: &str) {
            self.send(json!({"jsonrpc": "2.0", "id": id, "method": method})).await;
        }

        async fn next(&self) -> Value {
            for _ in 0..10_000 {
                match self.from.try_recv() {
                    Ok(Outgoing::Message(body, _)) => return serde_json::from_slice(&body).unwrap(),
                    _ => tokio::time::sleep(Duration::from_millis(1)).await,
                }
            }
            panic!("nothing comes");
        }
    }

    #[test]
    fn what_clients_leave_out_or_overdo_is_made_up_for() {
        for (method, params, expected) in [
            ("shutdown", Some(json!({})), None),
            ("initialized", None, Some(json!({}))),
            ("countersign/thread/list", None, Some(json!({}))),
            (
                "countersign/thread/list",
                Some(json!({"limit": 1})),
                Some(json!({"limit": 1})),
            ),
            ("initialize", None, None),
            ("textDocument/hover", None, None),
            (
                "textDocument/x",
                Some(json!({"position": {"line": -1, "character": 1e300}, "list": [{"line": 4294967296u64}]})),
                Some(json!({"position": {"line": 0, "character": u32::MAX}, "list": [{"line": u32::MAX}]})),
            ),
            (
                "textDocument/x",
                Some(json!({"line": 1.5, "character": "x", "other": -1})),
                Some(json!({"line": 1, "character": "x", "other": -1})),
            ),
            ("other/x", Some(json!({"line": -1})), Some(json!({"line": -1}))),
        ] {
            assert_eq!(adjust(method, params), expected, "{method}");
        }
    }

    #[tokio::test]
    async fn changes_are_taken_in_order_and_before_what_follows_them() {
        let session = Session::start().await;
        for version in 1..=40 {
            let document = json!({"uri": "file:///a", "version": version});
            let params = json!({"textDocument": document, "contentChanges": []});
            session
                .send(json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}))
                .await;
        }
        session.request(1, "count").await;
        assert_eq!(session.next().await["result"], 40);
        assert!(lock_seen(&session.rude.seen).is_sorted());
    }

    #[tokio::test]
    async fn slow_requests_hold_up_nothing_and_can_be_cancelled() {
        let session = Session::start().await;
        for id in 1..=20 {
            session.request(id, "slow").await;
        }
        session.rude.started.acquire_many(20).await.unwrap().forget();
        session.request(21, "count").await;
        assert_eq!(session.next().await["id"], 21);
        // An id that is still open is refused; both requests are answered.
        session.request(7, "count").await;
        let refused = session.next().await;
        assert_eq!(
            (refused["id"].as_i64(), refused["error"]["code"].as_i64()),
            (Some(7), Some(-32600)),
            "{refused}"
        );
        session
            .send(json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 7}}))
            .await;
        let cancelled = session.next().await;
        assert_eq!(
            (cancelled["id"].as_i64(), cancelled["error"]["code"].as_i64()),
            (Some(7), Some(-32800))
        );
        session.rude.dropped.acquire().await.unwrap().forget();
        // Free again.
        session.request(7, "count").await;
        assert_eq!(session.next().await["result"], 0);
        // The end drops them all.
        drop(session.to);
        assert_eq!(session.end.await.unwrap().0, End::ClientGone);
        session.rude.dropped.acquire_many(19).await.unwrap().forget();
    }

    #[tokio::test]
    async fn a_panic_is_answered_and_the_server_lives() {
        let session = Session::start().await;
        session.request(1, "panics").await;
        let answer = session.next().await;
        assert_eq!(answer["error"]["code"], -32603);
        assert_eq!(session.next().await["method"], "after/panic");
        session.request(1, "count").await;
        assert_eq!(session.next().await["result"], 0);
        let params = json!({"textDocument": {"uri": "file:///a"}});
        session
            .send(json!({"jsonrpc": "2.0", "method": "textDocument/didSave", "params": params}))
            .await;
        session.request(2, "count").await;
        assert_eq!(session.next().await["result"], 0);
        assert_eq!(*session.lost.lock().unwrap(), ["textDocument/didSave file:///a"]);
    }

    #[tokio::test]
    async fn what_a_request_begins_follows_its_answer() {
        let session = Session::start().await;
        session.request(1, "begins").await;
        assert_eq!(session.next().await["result"], "begun");
        assert_eq!(session.next().await["method"], "after/first");
        assert_eq!(session.next().await["method"], "after/second");
    }

    #[tokio::test]
    async fn the_session_ends_while_a_notification_hangs() {
        let session = Session::start().await;
        let params = json!({"textDocument": {"uri": "file:///a", "version": i32::MAX}, "contentChanges": []});
        session
            .send(json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}))
            .await;
        session.stop.now(End::ParentGone);
        assert_eq!(session.end.await.unwrap().0, End::ParentGone);
    }
}
