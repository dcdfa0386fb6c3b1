//! What a command reads from its standard input.

use std::io;
use std::pin::Pin;
use std::task;
use tokio::io::AsyncWriteExt as _;

/// The end of a stream that a command gets.
#[cfg(unix)]
pub(crate) type Descriptor = std::os::fd::OwnedFd;
/// The end of a stream that a command gets.
#[cfg(windows)]
pub(crate) type Descriptor = std::os::windows::io::OwnedHandle;

/// Beyond this many bytes the copy is made aside, so that no other task waits for it.
#[cfg(target_os = "linux")]
const COPIED_AT_ONCE: usize = 256 * 1024;

/// A command's standard input.
#[derive(Debug, Default)]
pub enum Input {
    /// The end of the file at once.
    #[default]
    Nothing,
    /// These bytes, then the end of the file.
    Bytes(Vec<u8>),
    /// What comes through a pipe while the command runs; see [`Input::pipe`].
    Pipe(PipeEnd),
}

/// The end of a pipe from which a command reads.
#[derive(Debug)]
pub struct PipeEnd(Descriptor);

/// Writes to the standard input of a command that runs. Dropping it is the end of the file.
#[derive(Debug)]
pub struct InputWriter(
    #[cfg(unix)] tokio::net::unix::pipe::Sender,
    #[cfg(not(unix))] tokio::fs::File,
);

impl Input {
    /// A pipe that can be written to while the command runs. Needs a runtime.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn pipe() -> io::Result<(Self, InputWriter)> {
        let (reader, writer) = io::pipe()?;
        let writer = Descriptor::from(writer);
        #[cfg(unix)]
        let writer = tokio::net::unix::pipe::Sender::from_owned_fd(writer)?;
        #[cfg(not(unix))]
        let writer = tokio::fs::File::from_std(writer.into());
        Ok((Self::Pipe(PipeEnd(reader.into())), InputWriter(writer)))
    }

    /// The command's end.
    pub(super) async fn open(self) -> io::Result<Descriptor> {
        match self {
            Self::Nothing => Ok(std::fs::File::open(if cfg!(windows) { "NUL" } else { "/dev/null" })?.into()),
            Self::Pipe(PipeEnd(reader)) => Ok(reader),
            #[cfg(target_os = "linux")]
            Self::Bytes(bytes) if bytes.len() > COPIED_AT_ONCE => {
                let copied = tokio::task::spawn_blocking(move || in_memory(&bytes));
                copied.await.map_err(io::Error::other)?
            }
            #[cfg(target_os = "linux")]
            Self::Bytes(bytes) => in_memory(&bytes),
            #[cfg(not(target_os = "linux"))]
            Self::Bytes(bytes) => {
                let (Self::Pipe(PipeEnd(reader)), mut writer) = Self::pipe()? else {
                    return Err(io::ErrorKind::Unsupported.into());
                };
                tokio::spawn(async move {
                    // A command that does not read its input to the end is within its rights.
                    let _unread = writer.write_all(&bytes).await;
                });
                Ok(reader)
            }
        }
    }
}

/// A file without a name: the command may take its time, and nobody has to stand by and write.
#[cfg(target_os = "linux")]
fn in_memory(bytes: &[u8]) -> io::Result<Descriptor> {
    use std::io::{Seek as _, Write as _};
    let mut file = std::fs::File::from(crate::exec::linux::memory_file()?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

impl InputWriter {
    /// Writes all of it, as fast as the command reads.
    ///
    /// # Errors
    /// `BrokenPipe` when the command has ended or closed its input.
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await?;
        self.0.flush().await
    }
}

impl tokio::io::AsyncWrite for InputWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
        bytes: &[u8],
    ) -> task::Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> task::Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> task::Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
