//! Speech: the client of an endpoint that hears and speaks, over a WebSocket.
//!
//! Knows the endpoint's protocol in both its versions, what may wait in either direction, and how a conversation is opened
//! and ended. What is said in a thread, and what becomes of what was heard, is the agent's.

mod error;
mod line;
mod send_queue;
mod text;
mod voices;
mod wire;

pub use error::RealtimeError;
pub use line::Line;
pub use send_queue::{NotSaid, Queue, Sender};
pub use text::{cut, mirrored};
pub use voices::{catalogue, is_known, usual, voices};
pub use wire::{Heard, Opening, Said};

use std::time::Duration;

/// The model that is asked for where the configuration names none.
pub const USUAL_MODEL: &str = "gpt-realtime";

/// How long the endpoint may take until it is ready.
pub const START_LIMIT: Duration = Duration::from_secs(15);

/// Bytes of sound in one piece, in either direction: before base64.
pub const MOST_PIECE: usize = 96 * 1024;

/// Samples a second of what is sent.
pub const SAMPLE_RATE: u32 = 24_000;

/// Characters of what is said in writing at one time.
pub const MOST_TEXT: usize = 32 * 1024;
