//! A small LSP client: starts the server as a child, speaks JSON-RPC over its standard input and output (LSP 3.17, base
//! protocol), and ends it in order.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

/// Longest silence of a server that has something to do.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to end after it was told to.
const FAREWELL: Duration = Duration::from_secs(5);
/// Largest message that is read.
const LARGEST: usize = 64 << 20;

/// What of the environment the server gets: no key, no proxy, no setting of the person's own.
const ENVIRONMENT: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TZ",
    "SystemRoot",
];

/// A message of the server's own accord.
#[derive(Debug)]
pub(super) enum Message {
    Notification { method: String, params: Value },
    Request { id: Value, method: String, params: Value },
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("the server could not be started: {0}")]
    Start(io::Error),
    #[error("the server has ended in the middle of the conversation")]
    Gone,
    #[error("the server said nothing for {} s; it was waited for {waited_for}", PATIENCE.as_secs())]
    Silent { waited_for: String },
    #[error("the server refused {method}: {message}")]
    Refused { method: String, message: String },
    #[error("the server said what is no message: {0}")]
    NoMessage(String),
}

pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    incoming: mpsc::UnboundedReceiver<Value>,
    /// Came while an answer was waited for.
    early: VecDeque<Message>,
    next_id: i64,
    log: File,
}

impl Client {
    /// Starts this very program as the server, with a home folder of its own. What both say is written to `log`, what
    /// the server writes to standard error to `errors`.
    pub(super) fn start(home: &Path, log: File, errors: File) -> Result<Self, ClientError> {
        let program = std::env::current_exe().map_err(ClientError::Start)?;
        let mut command = Command::new(program);
        command
            .arg("serve")
            .current_dir(home)
            .env_clear()
            .envs(
                ENVIRONMENT
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .env("COUNTERSIGN_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .kill_on_drop(true);
        // Ctrl-C is for the demonstration, which then ends the server in order.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(ClientError::Start)?;
        let (sender, incoming) = mpsc::unbounded_channel();
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(read_all(stdout, sender));
        }
        Ok(Self {
            stdin: child.stdin.take(),
            child,
            incoming,
            early: VecDeque::new(),
            next_id: 1,
            log,
        })
    }

    pub(super) async fn notify(&mut self, method: &str, params: Value) -> Result<(), ClientError> {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await
    }

    pub(super) async fn answer(&mut self, id: Value, result: Value) -> Result<(), ClientError> {
        self.send(json!({"jsonrpc": "2.0", "id": id, "result": result})).await
    }

    /// Answers a request that this client does not know.
    pub(super) async fn answer_unknown(&mut self, id: Value, method: &str) -> Result<(), ClientError> {
        let error = json!({"code": -32601, "message": format!("the demonstration does not know {method}")});
        self.send(json!({"jsonrpc": "2.0", "id": id, "error": error})).await
    }

    /// Asks and waits for the answer; what else comes meanwhile is kept for [`Client::next`].
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        loop {
            let mut message = self.receive(method).await?;
            if message.get("method").is_some() {
                self.early.push_back(read(message)?);
            } else if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(ClientError::Refused {
                        method: method.to_owned(),
                        message: error["message"].as_str().unwrap_or("no reason").to_owned(),
                    }),
                    None => Ok(message["result"].take()),
                };
            }
        }
    }

    /// The next message; `waited_for` says in words what should come.
    pub(super) async fn next(&mut self, waited_for: &str) -> Result<Message, ClientError> {
        if let Some(message) = self.early.pop_front() {
            return Ok(message);
        }
        let message = self.receive(waited_for).await?;
        read(message)
    }

    async fn receive(&mut self, waited_for: &str) -> Result<Value, ClientError> {
        let silent = |_| ClientError::Silent {
            waited_for: waited_for.to_owned(),
        };
        let message = tokio::time::timeout(PATIENCE, self.incoming.recv())
            .await
            .map_err(silent)?
            .ok_or(ClientError::Gone)?;
        // The log is a help; without it the demonstration goes on.
        let _ = writeln!(self.log, "<- {message}");
        Ok(message)
    }

    async fn send(&mut self, message: Value) -> Result<(), ClientError> {
        let _ = writeln!(self.log, "-> {message}");
        let text = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{text}", text.len());
        let stdin = self.stdin.as_mut().ok_or(ClientError::Gone)?;
        let written = async {
            stdin.write_all(frame.as_bytes()).await?;
            stdin.flush().await
        };
        written.await.map_err(|_: io::Error| ClientError::Gone)
    }

    /// Ends the server in order, by force if it does not follow.
    pub(super) async fn stop(mut self) -> io::Result<ExitStatus> {
        let farewell = async {
            self.request("shutdown", Value::Null).await?;
            self.notify("exit", Value::Null).await
        };
        // One that does not follow is ended below.
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
        self.stdin = None;
        match tokio::time::timeout(FAREWELL, self.child.wait()).await {
            Ok(ended) => ended,
            Err(_) => {
                self.child.kill().await?;
                self.child.wait().await
            }
        }
    }
}

fn read(mut message: Value) -> Result<Message, ClientError> {
    let Some(method) = message["method"].as_str().map(str::to_owned) else {
        return Err(ClientError::NoMessage(message.to_string()));
    };
    let params = message["params"].take();
    Ok(match message.get_mut("id") {
        Some(id) => Message::Request {
            id: id.take(),
            method,
            params,
        },
        None => Message::Notification { method, params },
    })
}

/// Reads messages until the stream ends or is not understood.
async fn read_all(stdout: ChildStdout, sender: mpsc::UnboundedSender<Value>) {
    let mut reader = BufReader::new(stdout);
    while let Ok(Some(message)) = read_frame(&mut reader).await {
        if sender.send(message).is_err() {
            return;
        }
    }
}

async fn read_frame(reader: &mut BufReader<ChildStdout>) -> io::Result<Option<Value>> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut length = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok().filter(|length| *length <= LARGEST);
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length.ok_or_else(|| broken("no length"))?];
    reader.read_exact(&mut body).await?;
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|error| broken(&error.to_string()))
}
