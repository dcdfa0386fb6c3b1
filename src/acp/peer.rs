//! The line to the client: JSON-RPC, a message a line. One queue and one writer, so what is sent first arrives first.

use super::error::Failure;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Bytes of a message; images come in them.
const MOST_BYTES: usize = 32 << 20;
/// Bytes of updates that may wait for the client.
const BUDGET: u32 = 64 << 10;

/// A line of the client's.
pub(super) enum Line {
    Message(Value),
    /// It is no JSON.
    Broken(String),
}

/// The sending end; cheap to clone.
#[derive(Clone)]
pub(super) struct Peer(Arc<Shared>);

struct Shared {
    queue: std::sync::mpsc::Sender<Outgoing>,
    budget: Arc<Semaphore>,
    pending: Mutex<Pending>,
}

enum Outgoing {
    Message(Vec<u8>, Option<OwnedSemaphorePermit>),
    Last(oneshot::Sender<()>),
}

#[derive(Default)]
struct Pending {
    last_id: i64,
    waiting: HashMap<i64, oneshot::Sender<Result<Value, String>>>,
    gone: bool,
}

impl Peer {
    /// Writes to this end from a thread of its own.
    pub(super) fn new(mut output: impl Write + Send + 'static) -> std::io::Result<Self> {
        let (queue, outgoing) = std::sync::mpsc::channel();
        let peer = Self(Arc::new(Shared {
            queue,
            budget: Arc::new(Semaphore::new(BUDGET as usize)),
            pending: Mutex::default(),
        }));
        let weak = Arc::downgrade(&peer.0);
        std::thread::Builder::new().name("acp-out".into()).spawn(move || {
            for message in outgoing {
                let written = match message {
                    Outgoing::Message(bytes, _room) => output.write_all(&bytes).and_then(|()| output.flush()),
                    Outgoing::Last(done) => {
                        // If nobody waits, nobody is told.
                        let _ = done.send(());
                        return;
                    }
                };
                if let Err(error) = written {
                    tracing::info!(%error, "the client's end cannot be written");
                    if let Some(shared) = weak.upgrade() {
                        Self(shared).gone();
                    }
                    return;
                }
            }
        })?;
        Ok(peer)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, message: &Value, room: Option<OwnedSemaphorePermit>) {
        let mut bytes = message.to_string().into_bytes();
        bytes.push(b'\n');
        // Dropped without a word once the writer is gone.
        let _ = self.0.queue.send(Outgoing::Message(bytes, room));
    }

    /// Tells something as soon as the client has taken enough of what waits before it.
    pub(super) async fn notify(&self, method: &str, params: Value) {
        let cost = u32::try_from(params.to_string().len())
            .unwrap_or(BUDGET)
            .clamp(1, BUDGET);
        // The budget is closed when the client is gone.
        if let Ok(room) = self.0.budget.clone().acquire_many_owned(cost).await {
            self.push(
                &json!({"jsonrpc": "2.0", "method": method, "params": params}),
                Some(room),
            );
        }
    }

    pub(super) fn answer(&self, id: &Value, answer: Result<Value, Failure>) {
        self.push(
            &match answer {
                Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                Err(failure) => json!({"jsonrpc": "2.0", "id": id, "error": failure.to_json()}),
            },
            None,
        );
    }

    /// Asks the client. The error is in words; dropping the future forgets the question.
    pub(super) async fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        let (sender, answer) = oneshot::channel();
        // The waiter is there before the question is out.
        let id = {
            let mut pending = self.pending();
            if pending.gone {
                return Err("the client is gone".to_owned());
            }
            pending.last_id += 1;
            let id = pending.last_id;
            pending.waiting.insert(id, sender);
            id
        };
        let _asked = Asked { peer: self, id };
        self.push(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
            None,
        );
        answer.await.unwrap_or_else(|_| Err("the client is gone".to_owned()))
    }

    /// Hands an answer of the client's to whoever waits for it.
    pub(super) fn answered(&self, message: &Value) {
        let id = message["id"].as_i64();
        let Some(waiter) = id.and_then(|id| self.pending().waiting.remove(&id)) else {
            tracing::info!("the client answered what is not open any more, or was never asked");
            return;
        };
        let answer = match (message.get("result"), message.get("error")) {
            (Some(result), None) => Ok(result.clone()),
            (_, Some(error)) => Err(error["message"].as_str().unwrap_or("it gave no reason").to_owned()),
            (None, None) => Err("its answer has neither result nor error".to_owned()),
        };
        // Whoever asked may have given up.
        let _ = waiter.send(answer);
    }

    /// The client cannot be reached any more: everybody who waits is told.
    pub(super) fn gone(&self) {
        let waiting = {
            let mut pending = self.pending();
            pending.gone = true;
            std::mem::take(&mut pending.waiting)
        };
        self.0.budget.close();
        drop(waiting);
    }

    /// Resolves when all that was sent is written.
    pub(super) async fn finish(&self) {
        let (sender, written) = oneshot::channel();
        if self.0.queue.send(Outgoing::Last(sender)).is_ok() {
            let _ = written.await;
        }
    }
}

/// A question that is open.
struct Asked<'a> {
    peer: &'a Peer,
    id: i64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let is_open = self.peer.pending().waiting.remove(&self.id).is_some();
        if is_open {
            // Its dialog has no use any more.
            self.peer.push(
                &json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": self.id}}),
                None,
            );
        }
    }
}

/// Reads lines in a thread of its own, until the client closes its end.
pub(super) fn read(input: impl Read + Send + 'static) -> std::io::Result<mpsc::Receiver<Line>> {
    let (sender, lines) = mpsc::channel(64);
    std::thread::Builder::new().name("acp-in".into()).spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(line) = next(&mut input) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}

fn next(input: &mut impl BufRead) -> Option<Line> {
    loop {
        let mut bytes = Vec::new();
        let read = input
            .by_ref()
            .take(MOST_BYTES as u64)
            .read_until(b'\n', &mut bytes)
            .ok()?;
        if read == 0 {
            return None;
        }
        if bytes.len() == MOST_BYTES && bytes.last() != Some(&b'\n') {
            input.skip_until(b'\n').ok()?;
            return Some(Line::Broken(format!(
                "A message has more than {} MiB.",
                MOST_BYTES >> 20
            )));
        }
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        return Some(match serde_json::from_slice(&bytes) {
            Ok(message) => Line::Message(message),
            Err(error) => Line::Broken(format!("A line is no JSON: {error}.")),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_one_by_one() {
        let mut input = &b"\n{\"a\":1}\r\n  \nnonsense\n[1,\n\xff\xfe\n{\"b\":2}"[..];
        let mut seen = Vec::new();
        while let Some(line) = next(&mut input) {
            seen.push(match line {
                Line::Message(value) => value.to_string(),
                Line::Broken(_) => "broken".to_owned(),
            });
        }
        assert_eq!(seen, ["{\"a\":1}", "broken", "broken", "broken", "{\"b\":2}"]);
        let long = format!("\"{}\"\n7\n", "x".repeat(MOST_BYTES));
        let mut input = long.as_bytes();
        assert!(matches!(next(&mut input), Some(Line::Broken(_))));
        assert!(matches!(next(&mut input), Some(Line::Message(Value::Number(_)))));
        assert!(next(&mut input).is_none());
    }
}
