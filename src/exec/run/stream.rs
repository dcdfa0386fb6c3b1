//! One stream of a command: bytes from a pipe, as text.

use super::input::Descriptor;
use crate::exec::output::{Decoder, KEPT_OUTPUT, Kept};
use std::io;
use tokio::io::AsyncReadExt as _;

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

#[cfg(unix)]
type Reader = tokio::net::unix::pipe::Receiver;
#[cfg(not(unix))]
type Reader = tokio::fs::File;

/// A pipe that is read, and what is kept of it.
pub(super) struct Pipe {
    reader: Option<Reader>,
    decoder: Decoder,
    pub kept: Kept,
    /// Made with the first output; many commands have none.
    buffer: Vec<u8>,
}

impl Pipe {
    /// The pipe, and the end that the command writes to.
    pub(super) fn open() -> io::Result<(Self, Descriptor)> {
        let (reader, writer) = io::pipe()?;
        let (reader, writer) = (Descriptor::from(reader), Descriptor::from(writer));
        #[cfg(unix)]
        let reader = Reader::from_owned_fd(reader)?;
        #[cfg(not(unix))]
        let reader = Reader::from_std(reader.into());
        let pipe = Self {
            reader: Some(reader),
            decoder: Decoder::default(),
            kept: Kept::new(KEPT_OUTPUT),
            buffer: Vec::new(),
        };
        Ok((pipe, writer))
    }

    pub(super) fn ended(&self) -> bool {
        self.reader.is_none()
    }

    /// The next piece of text; never comes after the end.
    pub(super) async fn read(&mut self) -> String {
        let Some(reader) = &mut self.reader else {
            return std::future::pending().await;
        };
        #[cfg(unix)]
        // No error: it is what is waited for that counts.
        let _ready = reader.readable().await;
        self.buffer.resize(CHUNK, 0);
        let text = match reader.read(&mut self.buffer).await {
            Ok(read) if read > 0 => self.decoder.push(&self.buffer[..read]),
            // A broken pipe has nothing more to say.
            _ => {
                self.reader = None;
                self.decoder.finish().to_owned()
            }
        };
        self.kept.push(&text);
        text
    }
}
