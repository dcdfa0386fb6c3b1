//! The realtime end: a WebSocket that plays what the script says, and remembers what came.

use super::line::Cut;
use super::play::{self, Holds};
use super::script::Turnout;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tokio_util::sync::CancellationToken;

/// A connection to the realtime end, and what came over it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// Counted from 1.
    pub number: usize,
    pub query: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The events, in order; null for what is no JSON.
    pub received: Vec<Value>,
    /// The client's pongs.
    pub pongs: Vec<String>,
    /// The code with which the client closed.
    pub closed: Option<u16>,
    /// The connection is over.
    pub ended: bool,
}

impl Call {
    /// The events of a type.
    pub fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.received.iter().filter(|event| event["type"] == kind).collect()
    }

    /// Without keys.
    pub(super) fn to_json(&self) -> Value {
        let secret = |name: &str| matches!(name, "authorization" | "api-key" | "x-api-key");
        let headers: BTreeMap<_, _> = self.headers.iter().filter(|(name, _)| !secret(name)).collect();
        json!({
            "realtime": self.number, "query": self.query, "headers": headers, "received": self.received,
            "closed": self.closed, "ended": self.ended,
        })
    }
}

/// All connections so far.
#[derive(Default)]
pub(super) struct Calls {
    calls: Mutex<Vec<Call>>,
    changed: watch::Sender<u64>,
}

impl Calls {
    fn lock(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn all(&self) -> Vec<Call> {
        self.lock().clone()
    }

    /// Waits until the connections are as wanted.
    pub(super) async fn wait_until(&self, wanted: impl Fn(&[Call]) -> bool) -> Vec<Call> {
        let mut changes = self.changed.subscribe();
        // It cannot fail: the sender is in `self`.
        let _ = changes.wait_for(|_| wanted(&self.lock())).await;
        self.all()
    }

    fn add(&self, request: &Request) -> usize {
        let headers = request.headers().iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        });
        let mut calls = self.lock();
        let index = calls.len();
        calls.push(Call {
            number: index + 1,
            query: request.uri().query().unwrap_or_default().to_owned(),
            headers: headers.collect(),
            ..Call::default()
        });
        drop(calls);
        self.changed.send_modify(|changes| *changes += 1);
        index
    }

    fn change(&self, index: usize, change: impl FnOnce(&mut Call)) {
        change(&mut self.lock()[index]);
        self.changed.send_modify(|changes| *changes += 1);
    }
}

/// What a connection needs of the server.
pub(super) struct Place {
    pub(super) calls: Arc<Calls>,
    pub(super) holds: watch::Sender<Holds>,
    pub(super) stop: CancellationToken,
    pub(super) cut: Cut,
}

/// Why a connection was not taken up.
pub(super) enum Refused {
    /// An answer like any other.
    Fail {
        status: u16,
        headers: Vec<(String, String)>,
        body: Option<Value>,
    },
    /// The script has no more connections.
    NoScript,
    NoWebSocket,
}

/// Plays the next connection of the script.
pub(super) async fn answer(scripts: &[Vec<Turnout>], place: Place, mut request: Request) -> Result<Response, Refused> {
    let index = place.calls.add(&request);
    let Some(script) = scripts.get(index).cloned() else {
        return Err(Refused::NoScript);
    };
    let mut left = script.as_slice();
    while let Some((first, rest)) = left.split_first().filter(|(first, _)| !first.begins()) {
        match first {
            Turnout::Wait(time) => tokio::time::sleep(*time).await,
            Turnout::Hold(name) => play::hold(name, &place.holds).await,
            Turnout::Drop => {
                place.calls.change(index, |call| call.ended = true);
                place.cut.0.cancel();
                return std::future::pending().await;
            }
            Turnout::Fail { status, headers, body } => {
                place.calls.change(index, |call| call.ended = true);
                let (status, headers, body) = (*status, headers.clone(), body.clone());
                return Err(Refused::Fail { status, headers, body });
            }
            _ => return std::future::pending().await,
        }
        left = rest;
    }
    let accept = accept(request.headers()).ok_or(Refused::NoWebSocket)?;
    let upgraded = hyper::upgrade::on(&mut request);
    let script = left.to_vec();
    tokio::spawn(async move {
        let stop = place.stop.clone();
        let work = async {
            let Ok(upgraded) = upgraded.await else { return };
            let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
            let mut player = Player {
                socket,
                place,
                index,
                awaited: 0,
            };
            // Nobody is told: the client has gone, which its own end knows.
            let _gone = player.play(&script).await;
            player.place.calls.change(index, |call| call.ended = true);
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = work => {}
        }
    });
    let headers = [
        ("connection", "Upgrade".to_owned()),
        ("upgrade", "websocket".to_owned()),
        ("sec-websocket-accept", accept),
    ];
    Ok((StatusCode::SWITCHING_PROTOCOLS, headers, Body::empty()).into_response())
}

fn accept(headers: &HeaderMap) -> Option<String> {
    let asks = headers.get("upgrade")?.to_str().ok()?.eq_ignore_ascii_case("websocket");
    let key = headers.get("sec-websocket-key")?;
    asks.then(|| derive_accept_key(key.as_bytes()))
}

/// The connection is over.
struct Gone;

struct Player {
    socket: WebSocketStream<TokioIo<Upgraded>>,
    place: Place,
    index: usize,
    /// Events before this one were waited for.
    awaited: usize,
}

impl Player {
    async fn play(&mut self, script: &[Turnout]) -> Result<(), Gone> {
        for turnout in script {
            match turnout {
                Turnout::Begin => {}
                Turnout::Event(event) => self.send(Message::text(event.to_string())).await?,
                Turnout::Text(text) => self.send(Message::text(text.clone())).await?,
                Turnout::Binary(bytes) => self.send(Message::binary(bytes.clone())).await?,
                Turnout::Huge(size) => self.send(Message::text("x".repeat(*size))).await?,
                Turnout::Ping(text) => self.send(Message::Ping(text.clone().into())).await?,
                Turnout::RawBytes(bytes) => {
                    let line = self.socket.get_mut();
                    let written = line.write_all(bytes).await;
                    written.and(line.flush().await).map_err(|_| Gone)?;
                }
                Turnout::Await(kind) => self.wait_for(kind).await?,
                Turnout::Wait(time) => self.reading(tokio::time::sleep(*time)).await?,
                Turnout::Hold(name) => {
                    let holds = self.place.holds.clone();
                    self.reading(play::hold(name, &holds)).await?;
                }
                Turnout::Close { code, reason } => {
                    let frame = CloseFrame {
                        code: CloseCode::from(*code),
                        reason: reason.clone().into(),
                    };
                    self.send(Message::Close(Some(frame))).await?;
                }
                Turnout::Drop => {
                    self.place.cut.0.cancel();
                    return Err(Gone);
                }
                Turnout::Stall => return std::future::pending().await,
                // Read before the connection was taken up, or too late.
                Turnout::Fail { .. } => return Err(Gone),
            }
        }
        loop {
            self.read().await?;
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), Gone> {
        self.socket.send(message).await.map_err(|_| Gone)
    }

    async fn reading(&mut self, pause: impl Future<Output = ()>) -> Result<(), Gone> {
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => return Ok(()),
                read = self.read() => read?,
            }
        }
    }

    async fn wait_for(&mut self, kind: &str) -> Result<(), Gone> {
        loop {
            let found = {
                let calls = self.place.calls.lock();
                let received = &calls[self.index].received;
                let mut left = received.iter().enumerate().skip(self.awaited);
                left.find(|(_, event)| event["type"] == kind).map(|(at, _)| at)
            };
            if let Some(at) = found {
                self.awaited = at + 1;
                return Ok(());
            }
            self.read().await?;
        }
    }

    /// Takes one message. Safe to cancel.
    async fn read(&mut self) -> Result<(), Gone> {
        let message = match self.socket.next().await {
            Some(Ok(message)) => message,
            Some(Err(_)) | None => return Err(Gone),
        };
        self.place.calls.change(self.index, |call| match message {
            Message::Text(text) => call.received.push(serde_json::from_str(&text).unwrap_or_default()),
            Message::Binary(bytes) => call.received.push(serde_json::from_slice(&bytes).unwrap_or_default()),
            Message::Pong(bytes) => call.pongs.push(String::from_utf8_lossy(&bytes).into_owned()),
            Message::Close(frame) => call.closed = Some(frame.map_or(1005, |frame| frame.code.into())),
            Message::Ping(_) | Message::Frame(_) => {}
        });
        Ok(())
    }
}
