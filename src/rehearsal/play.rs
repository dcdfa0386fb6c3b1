//! Playing a step: its outputs become the pieces of an answer, with their pauses and faults.

use crate::rehearsal::script::{Manner, Output, Usage};
use crate::rehearsal::wire::{Ending, Opening, Wire};
use bytes::Bytes;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// The least pause in a never-ending answer, so that it does not fill the machine.
const LEAST_TRICKLE_DELAY: Duration = Duration::from_millis(1);

/// The named barriers: which have been released, and how many requests wait at each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Holds {
    pub(super) released: BTreeSet<String>,
    pub(super) waiting: BTreeMap<String, usize>,
}

/// A piece of an answer's body.
pub(super) enum Piece {
    Bytes(Bytes),
    /// Cuts the connection, once what came before has gone out.
    Cut,
}

/// Nobody listens any more.
pub(super) struct Gone;

/// What is the same for all outputs of a step.
pub(super) struct Player {
    pub(super) wire: Box<dyn Wire>,
    pub(super) chunk: usize,
    pub(super) delay: Duration,
    pub(super) holds: watch::Sender<Holds>,
    pub(super) number: usize,
    /// Used unless the script says otherwise.
    pub(super) usage: Option<Usage>,
    /// Where the body goes; absent for an answer in one piece.
    pub(super) body: Option<mpsc::Sender<Piece>>,
    pub(super) open: Option<Opening>,
    pub(super) calls: usize,
    /// Collected for an answer in one piece that is no document.
    pub(super) raw: Vec<u8>,
}

/// What is left to say when all outputs have been played.
pub(super) enum Played {
    /// The answer in one piece: a document, or bytes as the script gave them.
    Document(Value),
    Raw(Vec<u8>),
    /// The connection is to be cut.
    Cut,
    /// All has been streamed.
    Streamed,
}

/// What comes before the status: waits and holds. Gives the first output that needs more.
pub(super) async fn before_status<'a>(outputs: &'a [Output], holds: &watch::Sender<Holds>) -> &'a [Output] {
    for (index, output) in outputs.iter().enumerate() {
        match output {
            Output::Wait(delay) => tokio::time::sleep(*delay).await,
            Output::Hold(name) => hold(name, holds).await,
            Output::Stall => std::future::pending().await,
            // Says nothing by itself; the caller keeps it for the player.
            Output::Usage(_) => {}
            _ => return &outputs[index..],
        }
    }
    &[]
}

impl Player {
    /// Plays all outputs and the ending.
    pub(super) async fn play(mut self, outputs: &[Output]) -> Result<Played, Gone> {
        let begin = self.wire.begin();
        self.send(begin).await?;
        let mut ending = Some(Ending::Completed);
        for output in outputs {
            match output {
                Output::Say { text, manner } => {
                    let opening = Opening::Message { id: manner.id.clone() };
                    self.stream_item(opening, text, manner).await?;
                }
                Output::Refuse { text, manner } => {
                    let opening = Opening::Refusal { id: manner.id.clone() };
                    self.stream_item(opening, text, manner).await?;
                }
                Output::Think {
                    text,
                    manner,
                    encrypted,
                } => {
                    let opening = Opening::Thought {
                        id: manner.id.clone(),
                        encrypted: encrypted.clone(),
                    };
                    self.stream_item(opening, text, manner).await?;
                }
                Output::Call {
                    tool,
                    arguments,
                    id,
                    manner,
                } => {
                    let arguments = match arguments {
                        Value::String(text) => text.clone(),
                        arguments => arguments.to_string(),
                    };
                    let (call_id, id) = (self.call_id(id), manner.id.clone());
                    let opening = Opening::Call {
                        tool: tool.clone(),
                        call_id,
                        id,
                    };
                    self.stream_item(opening, &arguments, manner).await?;
                }
                Output::CustomCall {
                    tool,
                    input,
                    id,
                    manner,
                } => {
                    let (call_id, id) = (self.call_id(id), manner.id.clone());
                    let opening = Opening::CustomCall {
                        tool: tool.clone(),
                        call_id,
                        id,
                    };
                    self.stream_item(opening, input, manner).await?;
                }
                Output::Item(item) => {
                    self.close().await?;
                    let events = self.wire.item(item);
                    self.send(events).await?;
                }
                Output::RawEvent(event) => {
                    let events = self.wire.raw_event(event);
                    self.send(events).await?;
                }
                Output::RawBytes(bytes) => {
                    self.raw.extend_from_slice(bytes);
                    self.send_bytes(bytes.clone().into()).await?;
                }
                Output::Begin => {}
                Output::Wait(delay) => tokio::time::sleep(*delay).await,
                Output::Hold(name) => hold(name, &self.holds).await,
                Output::Usage(usage) => self.usage = *usage,
                Output::BadEvent => {
                    let events = self.wire.bad_event();
                    self.raw.extend_from_slice(b"{\"object\": ");
                    self.send(events).await?;
                }
                Output::Trickle { text, manner } => self.trickle(text, manner).await?,
                Output::Stall => std::future::pending().await,
                Output::Drop => {
                    return match &self.body {
                        Some(body) => body.send(Piece::Cut).await.map(|()| Played::Streamed).map_err(|_| Gone),
                        None => Ok(Played::Cut),
                    };
                }
                Output::ErrorEvent(error) => {
                    let events = self.wire.error_event(error);
                    self.send(events).await?;
                    if self.body.is_none() {
                        return Ok(Played::Document(error.clone()));
                    }
                    ending = None;
                }
                Output::Failed { code, message } => {
                    ending = Some(Ending::Failed {
                        code: code.clone(),
                        message: message.clone(),
                    });
                }
                Output::Incomplete(reason) => ending = Some(Ending::Incomplete(reason.clone())),
                Output::NoCompleted => ending = None,
                // The server sends it instead of a body.
                Output::Fail { .. } => {}
            }
        }
        self.finish(ending).await
    }

    async fn finish(mut self, ending: Option<Ending>) -> Result<Played, Gone> {
        let usage = self.usage;
        if self.body.is_none() {
            self.close().await?;
            return Ok(match ending {
                _ if !self.raw.is_empty() => Played::Raw(self.raw),
                Some(ending) => Played::Document(self.wire.document(&ending, usage)),
                None => Played::Raw(Vec::new()),
            });
        }
        if let Some(ending) = ending {
            self.close().await?;
            let events = self.wire.end(&ending, usage);
            self.send(events).await?;
        }
        Ok(Played::Streamed)
    }

    fn call_id(&mut self, wanted: &Option<String>) -> String {
        self.calls += 1;
        wanted
            .clone()
            .unwrap_or_else(|| format!("call_{}_{}", self.number, self.calls))
    }

    async fn stream_item(&mut self, opening: Opening, text: &str, manner: &Manner) -> Result<(), Gone> {
        if !self.open.as_ref().is_some_and(|open| opening.continues(open)) {
            self.close().await?;
            let events = self.wire.open(&opening);
            self.open = Some(opening);
            self.send(events).await?;
        }
        let delay = manner.delay.unwrap_or(self.delay);
        for chunk in chunks(text, manner.chunk.unwrap_or(self.chunk)) {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let events = self.wire.delta(chunk);
            self.send(events).await?;
        }
        if manner.partial { Ok(()) } else { self.close().await }
    }

    async fn trickle(&mut self, text: &str, manner: &Manner) -> Result<(), Gone> {
        let text = if text.is_empty() { "." } else { text };
        let partial = Manner {
            partial: true,
            delay: Some(Duration::ZERO),
            ..manner.clone()
        };
        loop {
            let opening = Opening::Message { id: manner.id.clone() };
            self.stream_item(opening, text, &partial).await?;
            tokio::time::sleep(manner.delay.unwrap_or(self.delay).max(LEAST_TRICKLE_DELAY)).await;
        }
    }

    async fn close(&mut self) -> Result<(), Gone> {
        self.open = None;
        let events = self.wire.close();
        self.send(events).await
    }

    async fn send(&mut self, events: String) -> Result<(), Gone> {
        if events.is_empty() {
            Ok(())
        } else {
            self.send_bytes(events.into()).await
        }
    }

    async fn send_bytes(&mut self, bytes: Bytes) -> Result<(), Gone> {
        match &self.body {
            Some(body) => body.send(Piece::Bytes(bytes)).await.map_err(|_| Gone),
            None => Ok(()),
        }
    }
}

/// Waits until the barrier is released; it stays open from then on.
pub(super) async fn hold(name: &str, holds: &watch::Sender<Holds>) {
    struct Waiting<'a>(&'a str, &'a watch::Sender<Holds>);
    impl Drop for Waiting<'_> {
        fn drop(&mut self) {
            self.1.send_modify(|holds| {
                if let Some(count) = holds.waiting.get_mut(self.0) {
                    *count -= 1;
                }
            });
        }
    }
    let mut changes = holds.subscribe();
    holds.send_modify(|holds| *holds.waiting.entry(name.to_owned()).or_default() += 1);
    let _waiting = Waiting(name, holds);
    // It cannot fail: `holds` is a sender that lives as long as this borrow.
    let _ = changes.wait_for(|holds| holds.released.contains(name)).await;
}

/// Pieces of so many characters.
fn chunks(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(size.max(1)).map_or(rest.len(), |(end, _)| end);
        let (chunk, after) = rest.split_at(end);
        rest = after;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::chunks;

    #[test]
    fn chunks_are_of_characters_and_lose_nothing() {
        let pieces: Vec<_> = chunks("häßlich🦀", 3).collect();
        assert_eq!(pieces, ["häß", "lic", "h🦀"]);
        assert_eq!(chunks("", 3).count(), 0);
        assert_eq!(chunks("ab", 0).count(), 2);
    }
}
