//! Connections that can be cut: by a step of the script, and all of them when the server stops.

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Accepts connections until it is stopped.
pub(super) struct Door {
    listener: TcpListener,
    stop: CancellationToken,
}

impl Door {
    pub(super) fn new(listener: TcpListener, stop: CancellationToken) -> Self {
        Self { listener, stop }
    }
}

impl Listener for Door {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Deltas are small and must not wait for each other.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "a rehearsal connection keeps its delay");
                    }
                    return (Line::new(stream, self.stop.child_token()), address);
                }
                Err(error) => {
                    tracing::warn!(%error, "the rehearsal server could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// One connection.
pub(super) struct Line {
    stream: TcpStream,
    cut: CancellationToken,
    cut_wait: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Line {
    fn new(stream: TcpStream, cut: CancellationToken) -> Self {
        Self {
            stream,
            cut_wait: Box::pin(cut.clone().cancelled_owned()),
            cut,
        }
    }

    fn is_cut(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.cut_wait.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.is_cut(context)?;
        Pin::new(&mut self.stream).poll_read(context, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.is_cut(context)?;
        Pin::new(&mut self.stream).poll_write(context, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The handle that cuts the connection of a request.
#[derive(Clone)]
pub(super) struct Cut(pub(super) CancellationToken);

impl Connected<IncomingStream<'_, Door>> for Cut {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        Self(stream.io().cut.clone())
    }
}
