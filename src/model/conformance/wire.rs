//! The corpus over HTTP on loopback, and in memory.

use super::case::{Case, End};
use crate::config::provider::{Provider, WireApi};
use crate::model::{Line, ModelClient};
use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, stream};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How long silence may last: where it is what the case is about, and where a busy machine must not be taken for it.
const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(60);
/// Between the drops of a trickle.
const DROP: Duration = Duration::from_millis(50);

pub(super) fn client(base_url: &str, wire_api: WireApi, idle: Duration) -> ModelClient {
    let provider = Provider {
        name: "Acme".into(),
        base_url: base_url.into(),
        wire_api,
        stream_idle_timeout_ms: u64::try_from(idle.as_millis()).expect("small"),
        ..Provider::default()
    };
    ModelClient::new(&provider, Some("sk-secret".into()), &ModelClient::user_agent())
}

/// How long silence may last in a case.
pub(super) fn patience(case: &Case) -> Duration {
    match case.end {
        End::Clean | End::Cut => LONG,
        End::Stall | End::Trickle(_) => SHORT,
    }
}

/// A client that hears this case in chunks of so many bytes.
pub(super) fn in_memory(case: &Case, size: usize, wire_api: WireApi) -> ModelClient {
    let (case, patience) = (case.clone(), patience(case));
    let line: Line = Arc::new(move |_, _, _| {
        let body = case.encoded();
        let chunks: Vec<_> = body.chunks(size).map(Bytes::copy_from_slice).map(Ok).collect();
        let chunks = stream::iter(chunks);
        let body = match &case.end {
            End::Clean => Body::from_stream(chunks),
            End::Cut => {
                let cut = std::io::Error::other("unexpected EOF during chunk size line");
                Body::from_stream(chunks.chain(stream::iter([Err(cut)])))
            }
            End::Stall => Body::from_stream(chunks.chain(stream::pending())),
            End::Trickle(again) => {
                let again = Bytes::copy_from_slice(again);
                let drops = stream::repeat(again).then(|drop| async {
                    tokio::time::sleep(DROP).await;
                    Ok(drop)
                });
                Body::from_stream(chunks.chain(drops))
            }
        };
        let mut response = Response::builder().status(case.status);
        for (name, value) in &case.headers {
            response = response.header(name, value);
        }
        let response = response.body(body).expect("a response");
        async move { response }.boxed()
    });
    client("http://127.0.0.1:9/v1", wire_api, patience).over(line)
}

pub(super) struct Server {
    address: std::net::SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Where this case is served in chunks of so many bytes.
    pub(super) fn url(&self, index: usize, size: usize) -> String {
        format!("http://{}/{index}/{size}", self.address)
    }
}

pub(super) async fn serve(cases: Vec<Case>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let cases = Arc::new(cases);
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let cases = cases.clone();
            tokio::spawn(async move {
                // The client may have gone away in the middle, which is what some cases are about.
                let _ = answer(stream, &cases).await;
            });
        }
    });
    Server { address, task }
}

async fn answer(mut stream: TcpStream, cases: &[Case]) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let head = read_request(&mut stream).await?;
    let mut words = head
        .split('/')
        .skip(1)
        .map(|word| word.parse::<usize>().expect("a number"));
    let (Some(index), Some(size)) = (words.next(), words.next()) else {
        panic!("no case in {head}")
    };
    let case = &cases[index];
    let mut head = format!("HTTP/1.1 {} Status\r\ntransfer-encoding: chunked\r\n", case.status);
    for (name, value) in &case.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).await?;
    for chunk in case.encoded().chunks(size.min(1 << 20)) {
        send(&mut stream, chunk).await?;
    }
    match &case.end {
        End::Clean => stream.write_all(b"0\r\n\r\n").await?,
        End::Cut => {}
        // Until the client has had enough.
        End::Stall => drop(stream.read(&mut [0]).await),
        End::Trickle(again) => loop {
            send(&mut stream, again).await?;
            tokio::time::sleep(DROP).await;
        },
    }
    stream.shutdown().await
}

async fn send(stream: &mut TcpStream, chunk: &[u8]) -> std::io::Result<()> {
    let framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
    stream.write_all(&framed).await?;
    // The reader has a chance to see it by itself.
    tokio::task::yield_now().await;
    Ok(())
}

/// Reads a request to its end; gives the path.
async fn read_request(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..length]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let body = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let body: usize = body.map_or(0, |length| length.trim().parse().expect("a length"));
        if bytes.len() >= end + 4 + body {
            let path = head.split(' ').nth(1).unwrap_or_default();
            // Without what the client puts behind the base URL.
            return Ok(path.split('/').take(3).collect::<Vec<_>>().join("/"));
        }
    }
}
