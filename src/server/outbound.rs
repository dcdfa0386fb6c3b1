//! Everything that goes out: answers, notifications, and requests of our own.
//!
//! One queue, one writer: what is sent first arrives first. (What is small may go past an empty queue, see
//! [`super::line`].) Sending never blocks. Streams of events use
//! [`Outbound::notify_paced`], which waits while the client is behind, so that a slow client neither slows the
//! agent nor fills the memory.

use crate::server::line::Line;
use crate::server::stop::{End, Stop};
use crate::server::trace::{Side, Trace};
use crate::shown;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, mpsc};
use std::task::{Context, Poll};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tower_lsp::jsonrpc::{self, Id};

/// Bytes of paced messages that may wait for the client. Small, since answers wait behind them, and what waits longer
/// is joined into less.
const BUDGET: u32 = 32 << 10;

/// The sending end of the connection. A clone is another handle.
#[derive(Clone, Debug)]
pub struct Outbound(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: mpsc::Sender<Outgoing>,
    budget: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
    /// Absent where everything is queued.
    line: OnceLock<Arc<Line>>,
    /// Sees each message as it is queued.
    trace: OnceLock<Trace>,
    stop: Stop,
}

/// Requests of ours that are not answered yet.
#[derive(Debug, Default)]
struct Waiting {
    last_id: i64,
    senders: HashMap<i64, oneshot::Sender<Result<Value, RequestFailure>>>,
    gone: bool,
}

/// What the writer takes from the queue.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A body. The permit is given back once it is written.
    Message(Vec<u8>, Option<OwnedSemaphorePermit>),
    /// Nothing follows; the sender hears when all before it is written.
    Last(oneshot::Sender<()>),
}

/// Why a request to the client has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestFailure {
    #[error("the editor refused {method}: {message} ({code})")]
    Failed { method: String, code: i64, message: String },
    #[error("the editor's answer to {method} cannot be understood: {reason}")]
    Unreadable { method: String, reason: String },
    #[error("the editor is gone")]
    ClientGone,
}

/// How a message to the person is meant (LSP 3.17 `MessageType`).
#[derive(Clone, Copy, Debug)]
pub enum Severity {
    Error = 1,
    Warning = 2,
    Info = 3,
    Log = 4,
    /// Since LSP 3.18; sent to our own plugins only.
    Debug = 5,
}

/// A text for messages: nothing in it hides, and no editor makes a link that runs a command of `[words](command:…)`, whoever
/// wrote the words.
pub fn without_links(text: &str) -> String {
    shown::prose(text).replace("](", "] (")
}

/// The chosen action of `window/showMessageRequest`.
#[derive(Deserialize)]
struct Choice {
    title: String,
}

#[derive(Serialize)]
struct Call<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'a str,
    /// Left out where it is `()`: JSON-RPC has no null there.
    #[serde(skip_serializing_if = "is_unit")]
    params: P,
}

fn is_unit<P>(_: &P) -> bool {
    size_of::<P>() == 0
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a jsonrpc::Error>,
}

impl Outbound {
    /// The handle, and the queue for the writer.
    pub(crate) fn new(stop: Stop) -> (Self, mpsc::Receiver<Outgoing>) {
        let (queue, receiver) = mpsc::channel();
        let budget = Arc::new(Semaphore::new(BUDGET as usize));
        (
            Self(Arc::new(Shared {
                queue,
                budget,
                waiting: Mutex::default(),
                line: OnceLock::new(),
                trace: OnceLock::new(),
                stop,
            })),
            receiver,
        )
    }

    /// From now on what is small goes out past the queue while that is empty.
    pub(crate) fn write_small_at_once(&self, line: Arc<Line>) {
        let _first_counts = self.0.line.set(line);
    }

    /// From now on each message is also written down.
    pub(crate) fn trace_to(&self, trace: Trace) {
        let _first_counts = self.0.trace.set(trace);
    }

    /// Queues a notification. Never waits; dropped without a word once the client is gone.
    pub fn notify(&self, method: &str, params: impl Serialize) {
        if let Some(body) = encode_call(None, method, params) {
            self.push(body, None);
        }
    }

    /// Queues a notification as soon as the client has taken enough of what waits before it. For streams of
    /// events: whoever awaits this is held back while the client is slow.
    pub async fn notify_paced(&self, method: &str, params: impl Serialize) {
        let Some(body) = encode_call(None, method, params) else {
            return;
        };
        let cost = u32::try_from(body.len()).unwrap_or(u32::MAX).clamp(1, BUDGET);
        // The budget is closed when the client is gone.
        if let Ok(permit) = self.0.budget.clone().acquire_many_owned(cost).await {
            self.push(body, Some(permit));
        }
    }

    /// Asks the person by `window/showMessageRequest` (LSP 3.17): the title that they choose; none if the question was closed
    /// or the client gave no usable answer. The question goes out at once; dropping the future takes it back.
    pub fn choose<'t>(
        &self,
        severity: Severity,
        message: &str,
        titles: impl IntoIterator<Item = &'t str>,
    ) -> BoxFuture<'static, Option<String>> {
        let titles: Vec<(String, String)> = titles
            .into_iter()
            .map(|title| (shown::line(title), title.to_owned()))
            .collect();
        let actions: Vec<_> = titles.iter().map(|(shown, _)| json!({"title": shown})).collect();
        let params = json!({"type": severity as u8, "message": without_links(message), "actions": actions});
        let pending = self.request::<Option<Choice>>("window/showMessageRequest", params);
        async move {
            let answer = pending.await;
            let answer = answer.inspect_err(|error| tracing::warn!(%error, "no usable answer to a question"));
            let chosen = answer.ok()??.title;
            // Two that look the same are no choice.
            let mut fits = titles.into_iter().filter(|(shown, _)| *shown == chosen);
            match (fits.next(), fits.next()) {
                (Some((_, title)), None) => Some(title),
                _ => None,
            }
        }
        .boxed()
    }

    /// Sends a request. Dropping the future takes the question back (`$/cancelRequest`); an answer that comes
    /// later is ignored. Many clients never answer, so whoever waits must be able to stop waiting.
    /// Parameters of type `()` mean a method that has none. A list is no answer.
    pub fn request<R: DeserializeOwned>(&self, method: &str, params: impl Serialize) -> Pending<R> {
        self.ask(method, params, false)
    }

    /// The same where the answer is a list.
    pub fn request_list<R: DeserializeOwned>(&self, method: &str, params: impl Serialize) -> Pending<Vec<R>> {
        self.ask(method, params, true)
    }

    fn ask<R: DeserializeOwned>(&self, method: &str, params: impl Serialize, wants_list: bool) -> Pending<R> {
        let (sender, receiver) = oneshot::channel();
        // The waiter is there before the question is out: a quick client's answer finds it.
        let id = {
            let mut waiting = self.waiting();
            waiting.last_id += 1;
            if waiting.gone {
                let _ = sender.send(Err(RequestFailure::ClientGone));
            } else {
                let id = waiting.last_id;
                waiting.senders.insert(id, sender);
            }
            waiting.last_id
        };
        match encode_call(Some(id), method, params) {
            Some(body) => self.push(body, None),
            None => {
                let reason = "the request could not be written as JSON".to_owned();
                self.settle(
                    id,
                    Err(RequestFailure::Unreadable {
                        method: method.to_owned(),
                        reason,
                    }),
                );
            }
        }
        Pending {
            id,
            method: method.to_owned(),
            wants_list,
            receiver,
            outbound: self.clone(),
            result: PhantomData,
        }
    }

    /// Answers a request of the client.
    pub(crate) fn answer(&self, id: &Id, answer: &jsonrpc::Result<Value>) {
        let message = Answer {
            jsonrpc: "2.0",
            id,
            result: answer.as_ref().ok(),
            error: answer.as_ref().err(),
        };
        match serde_json::to_vec(&message) {
            Ok(body) => self.push(body, None),
            // Values and errors always can be written; were one not, the client still gets its answer.
            Err(error) => {
                tracing::error!(%error, "an answer could not be written");
                let error = jsonrpc::Error::internal_error();
                self.answer(id, &Err(error));
            }
        }
    }

    /// Hands the client's answer to whoever waits for it.
    pub(crate) fn answered(&self, id: &Id, answer: jsonrpc::Result<Value>) {
        let Id::Number(number) = *id else {
            tracing::warn!(%id, ?answer, "the client answered a request that was never made");
            return;
        };
        let answer = answer.map_err(|error| RequestFailure::Failed {
            method: String::new(),
            code: error.code.code(),
            message: error.message.into_owned(),
        });
        if !self.settle(number, answer) {
            tracing::warn!(%id, "the client answered a request that is not open (answered twice, taken back, or never made)");
        }
    }

    /// The client cannot be reached any more: everybody who waits is told.
    pub(crate) fn client_gone(&self) {
        let senders = {
            let mut waiting = self.waiting();
            waiting.gone = true;
            std::mem::take(&mut waiting.senders)
        };
        self.0.budget.close();
        for sender in senders.into_values() {
            let _ = sender.send(Err(RequestFailure::ClientGone));
        }
        self.0.stop.now(End::ClientGone);
    }

    /// Ends the queue; resolves when the writer has written all that was in it.
    pub(crate) async fn finish(&self) {
        let (sender, receiver) = oneshot::channel();
        if self.0.queue.send(Outgoing::Last(sender)).is_ok() {
            let _ = receiver.await;
        }
    }

    fn push(&self, body: Vec<u8>, permit: Option<OwnedSemaphorePermit>) {
        if let Some(trace) = self.0.trace.get() {
            trace.write(Side::Server, &body);
        }
        if let Some(line) = self.0.line.get() {
            match line.write_now(&body) {
                Ok(true) => return,
                Ok(false) => line.will_queue(),
                Err(error) => {
                    tracing::info!(%error, "the client's end cannot be written");
                    return self.client_gone();
                }
            }
        }
        // An error means that the writer has ended, and whoever must know has been told by it.
        let _ = self.0.queue.send(Outgoing::Message(body, permit));
    }

    /// False if nobody waits for it.
    fn settle(&self, id: i64, answer: Result<Value, RequestFailure>) -> bool {
        let sender = self.waiting().senders.remove(&id);
        sender.is_some_and(|sender| sender.send(answer).is_ok())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn encode_call(id: Option<i64>, method: &str, params: impl Serialize) -> Option<Vec<u8>> {
    match serde_json::to_vec(&Call {
        jsonrpc: "2.0",
        id,
        method,
        params,
    }) {
        Ok(body) => Some(body),
        Err(error) => {
            tracing::error!(method, %error, "a message could not be written as JSON and was skipped");
            None
        }
    }
}

/// An open request to the client.
#[must_use = "dropping it takes the request back"]
#[derive(Debug)]
pub struct Pending<R> {
    id: i64,
    method: String,
    /// Serde would take a list for the fields of a struct, one after the other; nobody means that.
    wants_list: bool,
    receiver: oneshot::Receiver<Result<Value, RequestFailure>>,
    outbound: Outbound,
    result: PhantomData<fn() -> R>,
}

impl<R> Pending<R> {
    /// Takes the question back, as dropping it does, but goes on listening: what the client has put before the person may
    /// stay there until they close it, and only the answer tells.
    pub fn take_back(&self) {
        self.outbound
            .notify("$/cancelRequest", serde_json::json!({ "id": self.id }));
    }
}

impl<R: DeserializeOwned> Future for Pending<R> {
    type Output = Result<R, RequestFailure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(context).map(|answer| match answer {
            Ok(Ok(value)) if value.is_array() != self.wants_list => Err(RequestFailure::Unreadable {
                method: self.method.clone(),
                reason: format!("it is {} a list", if value.is_array() { "only" } else { "not" }),
            }),
            Ok(Ok(value)) => serde_json::from_value(value).map_err(|error| RequestFailure::Unreadable {
                method: self.method.clone(),
                reason: error.to_string(),
            }),
            Ok(Err(RequestFailure::Failed { code, message, .. })) => Err(RequestFailure::Failed {
                method: self.method.clone(),
                code,
                message,
            }),
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(RequestFailure::ClientGone),
        })
    }
}

impl<R> Drop for Pending<R> {
    fn drop(&mut self) {
        let was_open = self.outbound.waiting().senders.remove(&self.id).is_some();
        if was_open {
            self.outbound
                .notify("$/cancelRequest", serde_json::json!({ "id": self.id }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    fn next(queue: &mpsc::Receiver<Outgoing>) -> Option<Value> {
        match queue.try_recv().ok()? {
            Outgoing::Message(body, _) => Some(serde_json::from_slice(&body).unwrap()),
            Outgoing::Last(_) => None,
        }
    }

    #[tokio::test]
    async fn requests_are_settled_once_and_ids_are_freed() {
        let (outbound, queue) = Outbound::new(Stop::default());
        let question = outbound.request::<i32>("ask", json!({}));
        let id = next(&queue).unwrap()["id"].as_i64().unwrap();
        outbound.answered(&Id::String(id.to_string()), Ok(json!(1)));
        outbound.answered(&Id::Number(id + 7), Ok(json!(2)));
        outbound.answered(&Id::Number(id), Ok(json!(3)));
        outbound.answered(&Id::Number(id), Ok(json!(4)));
        assert_eq!(question.await, Ok(3));
        assert!(next(&queue).is_none(), "an answered request is not taken back");

        let refused = outbound.request::<i32>("ask", json!({}));
        let id = next(&queue).unwrap()["id"].as_i64().unwrap();
        let error = jsonrpc::Error {
            code: 5.into(),
            message: "no".into(),
            data: None,
        };
        outbound.answered(&Id::Number(id), Err(error));
        let failure = RequestFailure::Failed {
            method: "ask".into(),
            code: 5,
            message: "no".into(),
        };
        assert_eq!(refused.await, Err(failure));

        let rubbish = outbound.request::<i32>("ask", json!({}));
        let id = next(&queue).unwrap()["id"].as_i64().unwrap();
        outbound.answered(&Id::Number(id), Ok(json!("three")));
        assert!(matches!(rubbish.await, Err(RequestFailure::Unreadable { .. })));

        // A list is not taken for the fields of a struct, and only a list is one.
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Fields {
            title: String,
        }
        let fields = outbound.request::<Option<Fields>>("ask", ());
        let list = outbound.request_list::<String>("ask", ());
        let sent = [next(&queue).unwrap(), next(&queue).unwrap()];
        for message in &sent {
            assert_eq!(message.get("params"), None, "{message}");
            outbound.answered(&Id::Number(message["id"].as_i64().unwrap()), Ok(json!(["yes"])));
        }
        assert!(matches!(fields.await, Err(RequestFailure::Unreadable { .. })));
        assert_eq!(list.await, Ok(vec!["yes".to_owned()]));

        let dropped = outbound.request::<i32>("ask", json!({}));
        let id = next(&queue).unwrap()["id"].as_i64().unwrap();
        drop(dropped);
        let cancel = json!({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":id}});
        assert_eq!(next(&queue), Some(cancel));
        outbound.answered(&Id::Number(id), Ok(json!(1)));
        assert!(outbound.waiting().senders.is_empty());
    }

    #[tokio::test]
    async fn a_lost_client_settles_everything() {
        let stop = Stop::default();
        let (outbound, _queue) = Outbound::new(stop.clone());
        let before = outbound.request::<i32>("ask", json!({}));
        let stuck = {
            let outbound = outbound.clone();
            tokio::spawn(async move {
                loop {
                    outbound.notify_paced("event", "x".repeat(100_000)).await;
                    if outbound.waiting().gone {
                        return;
                    }
                }
            })
        };
        tokio::task::yield_now().await;
        outbound.client_gone();
        assert_eq!(before.await, Err(RequestFailure::ClientGone));
        assert_eq!(
            outbound.request::<i32>("ask", json!({})).await,
            Err(RequestFailure::ClientGone)
        );
        stuck.await.unwrap();
        assert_eq!(stop.called().await, End::ClientGone);
    }

    #[tokio::test]
    async fn paced_messages_wait_for_the_client_and_others_do_not() {
        let (outbound, queue) = Outbound::new(Stop::default());
        let mut sent = 0;
        while outbound
            .notify_paced("event", "x".repeat(1_250))
            .now_or_never()
            .is_some()
        {
            sent += 1;
        }
        assert!((20..30).contains(&sent), "{sent}");
        outbound.notify("urgent", json!({}));
        let huge = outbound.clone();
        let huge = tokio::spawn(async move { huge.notify_paced("huge", "x".repeat(1 << 20)).await });
        for _ in 0..sent {
            assert_eq!(next(&queue).unwrap()["method"], "event");
        }
        assert_eq!(next(&queue).unwrap()["method"], "urgent");
        // Larger than the whole budget, it goes alone.
        tokio::time::timeout(Duration::from_secs(20), huge)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(next(&queue).unwrap()["method"], "huge");
    }
}
