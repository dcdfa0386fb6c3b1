//! The line to the client. One thread writes what is queued, all that is there in one piece. What is small goes out at
//! once, by whoever has it to say, while nothing waits before it and the client has room: it saves waking that thread
//! for each word that a model says.

use crate::server::frame;
use crate::server::outbound::{Outbound, Outgoing};
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

/// A frame up to this many bytes is taken whole by a pipe or a socket that says it has room.
const SMALL: usize = 4096;

/// Says whether [`SMALL`] bytes can be written without waiting.
pub type HasRoom = Box<dyn Fn() -> bool + Send + Sync>;

/// Where the bytes go; absent once nothing more may.
type Target = Option<Box<dyn Write + Send>>;

pub(crate) struct Line {
    /// Held for a whole message, or for all that was taken from the queue: frames never mix.
    target: Mutex<Target>,
    /// Messages that were queued and are not written yet. What comes after them waits behind them.
    queued: AtomicUsize,
    has_room: Option<HasRoom>,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("queued", &self.queued)
            .finish_non_exhaustive()
    }
}

impl Line {
    pub(crate) fn new(target: Box<dyn Write + Send>, has_room: Option<HasRoom>) -> Arc<Self> {
        Arc::new(Self {
            target: Mutex::new(Some(target)),
            queued: AtomicUsize::new(0),
            has_room,
        })
    }

    /// Writes a message at once, if that is in order and takes no waiting; says whether it did.
    pub(crate) fn write_now(&self, body: &[u8]) -> io::Result<bool> {
        let Some(has_room) = self.has_room.as_ref().filter(|_| body.len() < SMALL) else {
            return Ok(false);
        };
        let Ok(mut target) = self.target.try_lock() else {
            return Ok(false);
        };
        let Some(open) = target.as_mut().filter(|_| self.queued.load(Ordering::SeqCst) == 0) else {
            return Ok(false);
        };
        let mut message = Vec::with_capacity(SMALL);
        frame::write(&mut message, body)?;
        if message.len() > SMALL || !has_room() {
            return Ok(false);
        }
        open.write_all(&message).and_then(|()| open.flush()).map(|()| true)
    }

    /// Counts a message that is about to be queued.
    pub(crate) fn will_queue(&self) {
        self.queued.fetch_add(1, Ordering::SeqCst);
    }

    fn target(&self) -> MutexGuard<'_, Target> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the thread that writes what is queued.
pub(crate) fn spawn_writer(line: Arc<Line>, queue: mpsc::Receiver<Outgoing>, outbound: &Outbound) -> io::Result<()> {
    // Only to tell that the client is gone; dropped then, so that it keeps nothing alive.
    let outbound = outbound.clone();
    std::thread::Builder::new().name("lsp-out".into()).spawn(move || {
        let ended = write_all(&line, &queue);
        *line.target() = None;
        if let Err(error) = ended {
            tracing::info!(%error, "the client's end cannot be written");
            outbound.client_gone();
        }
    })?;
    Ok(())
}

fn write_all(line: &Line, queue: &mpsc::Receiver<Outgoing>) -> io::Result<()> {
    while let Ok(first) = queue.recv() {
        let mut target = line.target();
        let Some(open) = target.as_mut() else { return Ok(()) };
        let mut open = BufWriter::with_capacity(64 << 10, open);
        let mut written = 0;
        let mut next = Some(first);
        // All that is there goes out in one piece.
        while let Some(outgoing) = next {
            match outgoing {
                Outgoing::Message(body, permit) => {
                    frame::write(&mut open, &body)?;
                    drop(permit);
                    written += 1;
                }
                Outgoing::Last(done) => {
                    open.flush()?;
                    // Nobody may be left to hear it.
                    let _ = done.send(());
                    return Ok(());
                }
            }
            next = queue.try_recv().ok();
        }
        open.flush()?;
        line.queued.fetch_sub(written, Ordering::SeqCst);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::frame::{Frame, FrameReader};
    use crate::server::stop::Stop;
    use serde_json::{Value, json};
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::AtomicBool;

    fn frames(from: impl Read) -> impl Iterator<Item = Value> {
        let mut reader = FrameReader::new(from);
        std::iter::from_fn(move || match reader.next().expect("readable")? {
            Frame::Body(body) => Some(serde_json::from_slice(&body).expect("JSON")),
            Frame::Broken(what) => panic!("{what}"),
        })
    }

    /// An outbound end whose line has room as the flag says, and the client's end.
    fn connected(
        room: bool,
    ) -> (
        Outbound,
        mpsc::Receiver<Outgoing>,
        Arc<Line>,
        Arc<AtomicBool>,
        UnixStream,
    ) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
        let (outbound, queue) = Outbound::new(Stop::default());
        let room = Arc::new(AtomicBool::new(room));
        let asked = room.clone();
        let line = Line::new(Box::new(ours), Some(Box::new(move || asked.load(Ordering::SeqCst))));
        outbound.write_small_at_once(line.clone());
        (outbound, queue, line, room, theirs)
    }

    #[test]
    fn what_is_small_is_written_at_once_and_never_before_what_waits() {
        let (outbound, queue, line, room, theirs) = connected(true);
        let mut arrived = frames(theirs).map(|message| message["method"].clone());
        // No thread writes yet.
        outbound.notify("small", json!({}));
        assert_eq!(arrived.next(), Some(json!("small")));
        outbound.notify("large", "x".repeat(SMALL));
        outbound.notify("behind the large one", json!({}));
        room.store(false, Ordering::SeqCst);
        outbound.notify("without room", json!({}));
        spawn_writer(line.clone(), queue, &outbound).expect("a thread");
        for method in ["large", "behind the large one", "without room"] {
            assert_eq!(arrived.next(), Some(json!(method)));
        }
        while line.queued.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        // The queue is empty again, and nobody is needed to write.
        room.store(true, Ordering::SeqCst);
        let held = line.target();
        outbound.notify("while somebody writes", json!({}));
        drop(held);
        outbound.notify("after it", json!({}));
        for method in ["while somebody writes", "after it"] {
            assert_eq!(arrived.next(), Some(json!(method)));
        }
    }

    #[test]
    fn frames_of_several_senders_never_mix_and_keep_their_order() {
        const SENDERS: usize = 4;
        const MESSAGES: usize = 500;
        let (outbound, queue, line, room, theirs) = connected(true);
        spawn_writer(line, queue, &outbound).expect("a thread");
        let reader = std::thread::spawn(move || frames(theirs).take(SENDERS * MESSAGES).collect::<Vec<_>>());
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let (outbound, room) = (outbound.clone(), room.clone());
                std::thread::spawn(move || {
                    for at in 0..MESSAGES {
                        let text = "x".repeat(at * 7919 % (2 * SMALL));
                        outbound.notify("say", json!({"sender": sender, "at": at, "text": text}));
                        room.store(at % 3 != 0, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.join().expect("no panic"));
        let mut next = [0; SENDERS];
        for message in reader.join().expect("no panic") {
            let params = &message["params"];
            let sender = params["sender"].as_u64().expect("a number") as usize;
            assert_eq!(params["at"], next[sender]);
            next[sender] += 1;
        }
        assert_eq!(next, [MESSAGES; SENDERS]);
    }

    #[tokio::test]
    async fn a_lost_client_is_noticed_by_whoever_writes() {
        let (outbound, _queue, _line, _room, theirs) = connected(true);
        drop(theirs);
        let question = outbound.request::<Value>("ask", json!({}));
        assert_eq!(question.await, Err(crate::server::outbound::RequestFailure::ClientGone));
    }
}
