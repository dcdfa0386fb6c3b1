//! A conversation with the endpoint: opened, kept, ended. A task of its own writes, so that an endpoint which does not read
//! keeps nobody from hearing it.

use super::RealtimeError;
use super::send_queue::{Queue, Waiting};
use super::wire::{self, Heard, Opening, Said};
use crate::model::ModelClient;
use crate::model::socket::{MOST_BYTES, Socket};
use crate::protocol::realtime::RealtimeVersion;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::task::AbortOnDropHandle;

/// How long the endpoint may take to take one message.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// How long it may take to close its end.
const CLOSE_LIMIT: Duration = Duration::from_millis(1500);
/// Messages that nobody understands and that are borne.
const MOST_GARBAGE: usize = 32;
/// Errors in a row that are borne: each of them is told.
const MOST_ERRORS: usize = 32;

pub struct Line {
    reader: SplitStream<Socket>,
    writer: AbortOnDropHandle<()>,
    floor: Arc<Floor>,
    /// To the writer, past what waits.
    urgent: mpsc::UnboundedSender<Said>,
    trouble: Trouble,
}

/// What was heard that says nothing.
#[derive(Default)]
struct Trouble {
    garbage: usize,
    /// Errors since something else was heard.
    errors: usize,
}

/// Who has the floor: the endpoint gives one answer at a time.
#[derive(Default)]
struct Floor {
    answers: AtomicBool,
    /// An answer was asked for and has not begun.
    asked: AtomicBool,
    /// It is to answer again when it has.
    wanted: AtomicBool,
}

impl Floor {
    /// Whether to ask for an answer now; else it is asked for later.
    fn ask(&self) -> bool {
        if !self.answers.swap(true, Ordering::SeqCst) {
            self.asked.store(true, Ordering::SeqCst);
            return true;
        }
        self.wanted.store(true, Ordering::SeqCst);
        false
    }

    /// What was heard gives the floor, takes it, or says nothing of it. Whether to ask for an answer now.
    fn heard(&self, heard: &Heard) -> bool {
        match heard {
            Heard::AnswerBegins => {
                self.asked.store(false, Ordering::SeqCst);
                self.answers.store(true, Ordering::SeqCst);
                false
            }
            Heard::AnswersAlready => {
                self.asked.store(false, Ordering::SeqCst);
                self.wanted.store(true, Ordering::SeqCst);
                self.answers.store(true, Ordering::SeqCst);
                false
            }
            Heard::AnswerEnds | Heard::NoAnswer(_) => self.free(),
            // An error that does not say what it is about. If an answer comes nevertheless, it takes the floor again.
            Heard::Error(_) => self.asked.load(Ordering::SeqCst) && self.free(),
            _ => false,
        }
    }

    /// An answer has ended, or does not come. Whether to ask for the next one.
    fn free(&self) -> bool {
        self.asked.store(false, Ordering::SeqCst);
        self.answers.store(false, Ordering::SeqCst);
        self.wanted.swap(false, Ordering::SeqCst) && self.ask()
    }
}

impl Line {
    /// Opens a conversation, waits until the endpoint is ready, and says what is in the queue from then on. Gives what the
    /// endpoint calls it. Dropping the future closes the connection.
    pub async fn open(
        client: &ModelClient,
        opening: &Opening,
        queue: Queue,
        limit: Duration,
    ) -> Result<(Self, Option<String>), RealtimeError> {
        let late = || RealtimeError::NoAnswer {
            url: client.public_url().to_owned(),
            limit,
        };
        let ready = async {
            let mut socket = client
                .open_socket("realtime", &opening.query())
                .await
                .map_err(RealtimeError::Endpoint)?;
            socket.send(message(&opening.event())).await.map_err(broken)?;
            let mut trouble = Trouble::default();
            loop {
                for heard in next(&mut socket, &mut trouble).await? {
                    match heard {
                        Heard::Ready(id) => return Ok((socket, id)),
                        Heard::Error(reason) => return Err(RealtimeError::Refused(reason)),
                        other => tracing::debug!(?other, "the voice endpoint speaks before it is ready"),
                    }
                }
            }
        };
        let (socket, id) = timeout(limit, ready).await.map_err(|_| late())??;
        let (sink, reader) = socket.split();
        let floor = Arc::new(Floor::default());
        let (urgent, further) = mpsc::unbounded_channel();
        let writer = write(opening.version, sink, queue, further, floor.clone());
        let line = Self {
            reader,
            writer: AbortOnDropHandle::new(tokio::spawn(writer)),
            floor,
            urgent,
            trouble: Trouble::default(),
        };
        Ok((line, id))
    }

    /// What the endpoint says next. Safe to cancel.
    ///
    /// # Errors
    /// The conversation is over.
    pub async fn hear(&mut self) -> Result<Vec<Heard>, RealtimeError> {
        let heard = tokio::select! {
            heard = next(&mut self.reader, &mut self.trouble) => heard?,
            // It ends by itself only where nothing can be said any more.
            _ = &mut self.writer => return Err(RealtimeError::Stuck),
        };
        for one in &heard {
            if self.floor.heard(one) {
                // The writer is gone only where the next call here says so.
                let _gone = self.urgent.send(Said::Respond);
            }
        }
        Ok(heard)
    }

    /// Waits, a bounded time, until the writer has said all up to the end ([`super::Sender::end`]) and the endpoint has closed.
    pub async fn finish(mut self) {
        let until = Instant::now() + CLOSE_LIMIT;
        let closed = async {
            // What it still has to say is nobody's any more.
            while let Some(Ok(_)) = self.reader.next().await {}
        };
        if tokio::time::timeout_at(until, closed).await.is_err() {
            tracing::info!("the voice endpoint did not close its end in time");
        }
    }
}

/// Says all that comes, in order, until the end or until it cannot.
async fn write(
    version: RealtimeVersion,
    mut sink: SplitSink<Socket, Message>,
    mut queue: Queue,
    mut urgent: mpsc::UnboundedReceiver<Said>,
    floor: Arc<Floor>,
) {
    loop {
        let waiting = tokio::select! {
            biased;
            Some(said) = urgent.recv() => Waiting::Urgent(said),
            waiting = queue.next() => waiting,
        };
        let events = match &waiting {
            Waiting::Words(said, _) | Waiting::Urgent(said) => {
                let answer = wire::wants_answer(version, said) && floor.ask();
                let further = answer.then(|| wire::event(version, &Said::Respond));
                let events = std::iter::once(wire::event(version, said)).chain(further);
                events.map(|event| message(&event)).collect()
            }
            Waiting::End => vec![Message::Close(Some(CloseFrame {
                code: CloseCode::Normal,
                reason: Default::default(),
            }))],
        };
        for event in events {
            let sent = timeout(WRITE_LIMIT, sink.send(event)).await;
            if !matches!(sent, Ok(Ok(()))) {
                tracing::debug!(?sent, "the voice endpoint does not take what is said");
                return;
            }
        }
        if matches!(waiting, Waiting::End) {
            // Whoever listens goes on until the endpoint has closed as well.
            return std::future::pending().await;
        }
    }
}

fn message(event: &Value) -> Message {
    Message::text(event.to_string())
}

/// The next message that says anything.
async fn next<S>(stream: &mut S, trouble: &mut Trouble) -> Result<Vec<Heard>, RealtimeError>
where
    S: futures::Stream<Item = Result<Message, Error>> + Unpin,
{
    loop {
        let heard = match stream.next().await {
            None => return Err(RealtimeError::Ended(None)),
            Some(Err(error)) => return Err(broken(error)),
            Some(Ok(Message::Close(frame))) => {
                let reason = frame.map(|frame| match frame.reason.trim() {
                    "" => format!("code {}", u16::from(frame.code)),
                    reason => format!("code {}: {reason}", u16::from(frame.code)),
                });
                return Err(RealtimeError::Ended(reason));
            }
            // A pong goes out by itself.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Text(text))) => read(text.as_bytes()),
            // Events, too, where servers do not look at the kind of frame.
            Some(Ok(Message::Binary(bytes))) => read(&bytes),
        };
        for one in &heard {
            match one {
                Heard::Garbage(what) => {
                    trouble.garbage += 1;
                    if trouble.garbage > MOST_GARBAGE {
                        return Err(RealtimeError::Garbage(what.clone()));
                    }
                }
                Heard::Error(why) | Heard::NoAnswer(why) => {
                    trouble.errors += 1;
                    if trouble.errors > MOST_ERRORS {
                        return Err(RealtimeError::Failing(why.clone()));
                    }
                }
                _ => trouble.errors = 0,
            }
        }
        if !heard.is_empty() {
            return Ok(heard);
        }
    }
}

fn read(bytes: &[u8]) -> Vec<Heard> {
    match serde_json::from_slice(bytes) {
        Ok(event) => wire::hear(&event),
        Err(_) => vec![Heard::Garbage("a message that is no JSON".to_owned())],
    }
}

fn broken(error: Error) -> RealtimeError {
    match error {
        Error::Capacity(_) => RealtimeError::TooLarge(MOST_BYTES),
        Error::ConnectionClosed | Error::AlreadyClosed => RealtimeError::Ended(None),
        Error::Protocol(_) | Error::Utf8(_) => RealtimeError::Garbage(error.to_string()),
        Error::Io(error) => RealtimeError::Broken(error.to_string()),
        other => RealtimeError::Broken(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_at_a_time() {
        let floor = Floor::default();
        assert!(floor.ask());
        assert!(!floor.ask() && !floor.ask());
        // Asked for twice meanwhile, given once.
        assert!(floor.free());
        assert!(!floor.free());
        assert!(floor.ask());
    }

    #[test]
    fn an_answer_that_is_refused_gives_the_floor_back() {
        let error = || Heard::Error("no".to_owned());
        for refusal in [Heard::NoAnswer("no".to_owned()), error()] {
            let floor = Floor::default();
            assert!(floor.ask());
            assert!(!floor.heard(&refusal));
            assert!(floor.ask(), "nobody has it: {refusal:?}");
            // Somebody else wants it meanwhile, and gets it.
            assert!(!floor.ask());
            assert!(floor.heard(&refusal), "{refusal:?}");
            assert!(!floor.ask());
            // Refused again: it is not asked for without end.
            floor.wanted.store(false, Ordering::SeqCst);
            assert!(!floor.heard(&refusal));
        }
        // An error during an answer takes nothing from it, and one while nobody asks neither.
        let floor = Floor::default();
        assert!(floor.ask() && !floor.heard(&Heard::AnswerBegins) && !floor.heard(&error()));
        assert!(!floor.ask());
        assert!(floor.heard(&Heard::AnswerEnds) && !floor.heard(&Heard::AnswerBegins));
        assert!(!floor.heard(&Heard::AnswerEnds) && !floor.heard(&error()));
        assert!(floor.ask());
    }
}
