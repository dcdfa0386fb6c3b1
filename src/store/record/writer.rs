//! The thread that writes a rollout: takes orders, tries again what the file refuses, and syncs when it is quiet.

use super::place::{is_at, open};
use crate::store::StoreError;
use crate::store::line::{RolloutItem, format_ms};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::{oneshot, watch};

/// First wait before lines that were refused are tried again; doubles up to [`RETRY_MOST`].
pub(super) const RETRY: Duration = Duration::from_millis(500);
const RETRY_MOST: Duration = Duration::from_secs(30);

/// Quiet time after which what was written is made to outlive the machine.
const SYNC_AFTER: Duration = Duration::from_millis(200);
/// The same where it is never quiet.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// Type and payload (as JSON) of a line.
pub(super) type Parts = (String, String);

pub(super) enum Order {
    Write(Vec<Numbered>),
    Flush(oneshot::Sender<Result<(), StoreError>>),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) at_ms: i64,
    pub(super) ordinal: u64,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Item(Box<RolloutItem>),
    Parts(Parts),
}

/// The writing thread's own.
pub(super) struct Task {
    pub(super) path: PathBuf,
    pub(super) trouble: watch::Sender<Option<String>>,
    pub(super) settled: watch::Sender<u64>,
    /// The number behind the last line that was handed over.
    pub(super) last: u64,
    /// When the first line was written that a fall of the machine would take.
    pub(super) unsynced: Option<Instant>,
    /// Nor does its folder know of the file yet.
    pub(super) is_new: bool,
    pub(super) file: Option<File>,
    /// See [`State::keep_time`].
    pub(super) keep_time: Option<SystemTime>,
    /// The last line in the file has no end, so the next one begins with one.
    pub(super) torn: bool,
    /// Lines that are not in the file yet, each with its end.
    pub(super) lines: VecDeque<Vec<u8>>,
    pub(super) retry: Duration,
}

impl Task {
    pub(super) fn run(mut self, orders: &Receiver<Order>) {
        loop {
            let order = match (self.lines.is_empty(), self.unsynced) {
                (false, _) => orders.recv_timeout(self.retry),
                (true, Some(_)) => orders.recv_timeout(SYNC_AFTER),
                (true, None) => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match order {
                Ok(order) => {
                    if self.obey(order, orders) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.lines.is_empty() => self.sync(),
                Err(RecvTimeoutError::Timeout) => {
                    self.retry = (self.retry * 2).min(RETRY_MOST);
                    // The person was told when it began; the answer matters only to those who ask.
                    drop(self.write());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    if let Err(error) = self.write() {
                        tracing::error!(%error, lines = self.lines.len(), "the end of a conversation was not recorded");
                    }
                    self.sync();
                    return;
                }
            }
        }
    }

    /// Takes an order and all that wait behind it, so that a burst of items is one write. True: end.
    fn obey(&mut self, order: Order, orders: &Receiver<Order>) -> bool {
        let mut next = Some(order);
        while let Some(order) = next {
            match order {
                Order::Write(items) => {
                    for item in items {
                        self.last = self.last.max(item.ordinal + 1);
                        self.lines.extend(line_of(item));
                    }
                }
                Order::Flush(reply) => {
                    let written = self.write();
                    // Whoever asked may have stopped waiting.
                    let _unheard = reply.send(written);
                }
                Order::Close(reply) => {
                    let written = self.write();
                    if let (Some(file), Some(time)) = (&self.file, self.keep_time)
                        && let Err(error) = file.set_modified(time)
                    {
                        tracing::debug!(path = %self.path.display(), %error, "the thread counts as used");
                    }
                    // Others may go on with the file, or move it, from now on.
                    if let Some(file) = &self.file
                        && let Err(error) = file.unlock()
                    {
                        tracing::debug!(%error, "the lock goes with the file");
                    }
                    let _unheard = reply.send(written);
                    self.sync();
                    return true;
                }
            }
            next = orders.try_recv().ok();
        }
        drop(self.write());
        if self.unsynced.is_some_and(|since| since.elapsed() > SYNC_EVERY) {
            self.sync();
        }
        false
    }

    /// Makes what was written outlive the machine.
    fn sync(&mut self) {
        if self.unsynced.take().is_none() {
            return;
        }
        let synced = self.file.as_ref().map_or(Ok(()), File::sync_data);
        let synced = synced.and_then(|()| match (std::mem::take(&mut self.is_new), self.path.parent()) {
            (true, Some(folder)) if cfg!(unix) => File::open(folder)?.sync_all(),
            _ => Ok(()),
        });
        if let Err(error) = synced {
            // The lines are in the file all the same, as long as the machine stays up.
            tracing::debug!(path = %self.path.display(), %error, "not synced");
        }
    }

    /// [`Task::write_lines`]; whoever waits for it goes on, also where the file refused.
    fn write(&mut self) -> Result<(), StoreError> {
        let written = self.write_lines();
        self.settled.send_replace(self.last);
        written
    }

    /// Writes the waiting lines. Says so once when the file stops, and once when it begins again, to take them.
    fn write_lines(&mut self) -> Result<(), StoreError> {
        if self.lines.is_empty() {
            return Ok(());
        }
        match self.try_write() {
            Ok(()) => {
                self.retry = RETRY;
                if self.trouble.borrow().is_some() {
                    tracing::info!(path = %self.path.display(), "recording again");
                    self.trouble.send_replace(None);
                }
                Ok(())
            }
            Err(cause) => {
                let error = StoreError::Write {
                    path: self.path.clone(),
                    cause,
                };
                if self.trouble.borrow().is_none() {
                    tracing::warn!(%error, "recording failed");
                    self.trouble.send_replace(Some(error.to_string()));
                }
                Err(error)
            }
        }
    }

    fn try_write(&mut self) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        if self.torn {
            bytes.push(b'\n');
        }
        let lead = bytes.len();
        for line in &self.lines {
            bytes.extend_from_slice(line);
        }
        // After a failure the file or its folder may have been replaced. Else the lock stays where it is: nobody else adds lines
        // before those that wait.
        if self.trouble.borrow().is_some() {
            self.file = self.file.take().filter(|file| is_at(file, &self.path));
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(open(&self.path)?),
        };
        let mut written = 0;
        let result = loop {
            match file.write(&bytes[written..]) {
                Ok(0) => break Err(std::io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
            if written == bytes.len() {
                break Ok(());
            }
        };
        if written == 0 {
            return result;
        }
        self.unsynced.get_or_insert_with(Instant::now);
        // What is in the file whole is done; a line that is there in part is written again, after an end.
        let mut rest = written - lead;
        while let Some(line) = self.lines.front() {
            if line.len() > rest {
                break;
            }
            rest -= line.len();
            self.lines.pop_front();
        }
        self.torn = rest > 0;
        result
    }
}

fn line_of(numbered: Numbered) -> Option<Vec<u8>> {
    let (kind, payload) = match numbered.body {
        Body::Item(item) => item.to_parts().map(|(kind, payload)| (kind.to_owned(), payload))?,
        Body::Parts(parts) => parts,
    };
    // By hand, so that the fields stand in the usual order and the payload is not parsed again.
    let (stamp, ordinal) = (format_ms(numbered.at_ms), numbered.ordinal);
    let kind = serde_json::to_string(&kind).ok()?;
    let head = format!(r#"{{"timestamp":"{stamp}","ordinal":{ordinal},"type":{kind},"payload":"#);
    Some([head.as_bytes(), payload.as_bytes(), b"}\n"].concat())
}
