//! Who is let in over a socket. The first line of a connection is looked at before anything of it counts as a message, so
//! that what a web page can send, or somebody else's program, never comes as far as the session.

#[cfg(unix)]
mod peer;
#[cfg(unix)]
pub(super) use peer::check_peer;

use crate::account::secret::random;
#[cfg(unix)]
use crate::exec::program;
use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::task::{AbortHandle, JoinSet};

/// How long a connection over TCP may take to say who it is.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Connections that are listened to at the same time. For one more, the one is let go that has said nothing for longest.
const MOST_GUESTS: usize = 64;
/// A first line is never longer than this, in bytes.
const MOST_LINE: usize = 1024;
/// How long, and how much, somebody who is refused is still listened to, so that the answer reaches them.
const LAST_ANSWER: Duration = Duration::from_millis(500);
const MOST_UNREAD: u64 = 64 << 10;
/// Refusals that are said to the person; the log has them all.
const MOST_SAID: usize = 20;
/// What a first line with the secret begins with, whatever the case.
const BEARER: &str = "authorization: bearer ";

/// The secret of one waiting server, in a file that only the person can read. The file goes with this.
#[derive(Debug)]
pub(super) struct Secret {
    text: Arc<str>,
    file: PathBuf,
}

impl Secret {
    /// A fresh one, in the private folder of the home folder, under the name of the address.
    ///
    /// # Errors
    /// There is no randomness, the folder belongs to somebody else, or it cannot be written.
    pub(super) fn make(home: &Path, address: SocketAddr) -> io::Result<Self> {
        let text = random().map_err(io::Error::other)?;
        let folder = home.join("private");
        make_private(&folder)?;
        let name = name_of(address);
        let file = folder.join(format!("serve-{name}.secret"));
        let new = folder.join(format!(".serve-{name}.{}", uuid::Uuid::now_v7()));
        let mut options = std::fs::File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options
            .open(&new)
            .and_then(|mut opened| opened.write_all(text.as_bytes()))
            .and_then(|()| std::fs::rename(&new, &file));
        if let Err(error) = written {
            let _not_there = std::fs::remove_file(&new);
            return Err(error);
        }
        let text = text.into();
        Ok(Self { text, file })
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}

/// What the file of a waiting server is called by: the port alone where the server waits as usual, else the address too, since
/// other addresses have the same ports.
fn name_of(address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => address.port().to_string(),
        // No system takes a colon in every name.
        ip => format!("{}-{}", ip.to_string().replace(':', "_"), address.port()),
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        // By now it may be another server's.
        if std::fs::read_to_string(&self.file).is_ok_and(|text| text != *self.text) {
            return;
        }
        if let Err(error) = std::fs::remove_file(&self.file) {
            tracing::debug!(%error, "the secret of a connection stays behind");
        }
    }
}

/// Makes the folder, or takes what it has too much of rights.
fn make_private(folder: &Path) -> io::Result<()> {
    crate::exec::git::make_private(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let found = std::fs::symlink_metadata(folder)?;
        if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
            let text = format!("{} is no folder of your own", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        if found.mode() & 0o077 != 0 {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Why somebody is not let in.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("it speaks HTTP, as web pages do")]
    Http,
    #[error("its first line is not \"Authorization: Bearer SECRET\"")]
    NoSecret,
    #[error("its secret is a wrong one")]
    WrongSecret,
    #[error("what it sent is no message of the language server protocol")]
    NoFrame,
    #[error("it did not say who it is within {} seconds", PATIENCE.as_secs())]
    Silent,
    #[error("it said nothing while many others came")]
    Crowded,
    #[error("it cannot be read: {0}")]
    Lost(io::Error),
}

/// Waits for the first connection that may come in: one that begins with the secret, or, where there is none, with a
/// message. Gives it with what was read of the message. Everybody else gets one try and an answer, and holds nobody up;
/// `tell` hears of them.
pub(super) async fn first<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    mut accept: impl AsyncFnMut() -> io::Result<S>,
    secret: Option<&Secret>,
    limit: Option<Duration>,
    tell: &dyn Fn(String),
) -> (S, Vec<u8>) {
    let secret = secret.map(|secret| secret.text.clone());
    let mut guests: JoinSet<Result<(S, Vec<u8>), Refused>> = JoinSet::new();
    let mut order: VecDeque<AbortHandle> = VecDeque::new();
    let mut said = 0;
    loop {
        tokio::select! {
            // Whoever has said who they are comes first.
            biased;
            Some(greeted) = guests.join_next() => match greeted {
                Ok(Ok(guest)) => return guest,
                Ok(Err(refused)) => say(&mut said, &refused, tell),
                Err(error) if error.is_cancelled() => say(&mut said, &Refused::Crowded, tell),
                Err(error) => tracing::warn!(%error, "a connection was dropped"),
            },
            stream = accept() => match stream {
                Ok(stream) => {
                    order.retain(|guest| !guest.is_finished());
                    if order.len() >= MOST_GUESTS && let Some(oldest) = order.pop_front() {
                        oldest.abort();
                    }
                    order.push_back(guests.spawn(greet(stream, secret.clone(), limit)));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
}

/// Tells of a refusal, so many times.
fn say(said: &mut usize, refused: &dyn std::fmt::Display, tell: &dyn Fn(String)) {
    tracing::warn!(%refused, "a connection was refused");
    *said += 1;
    if *said <= MOST_SAID {
        tell(format!("a connection was refused: {refused}"));
    }
}

async fn greet<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    secret: Option<Arc<str>>,
    limit: Option<Duration>,
) -> Result<(S, Vec<u8>), Refused> {
    let line = match limit {
        Some(limit) => match tokio::time::timeout(limit, first_line(&mut stream)).await {
            Ok(line) => line.map_err(Refused::Lost),
            Err(_) => Err(Refused::Silent),
        },
        None => first_line(&mut stream).await.map_err(Refused::Lost),
    };
    match line.and_then(|line| look(line, secret.as_deref())) {
        Ok(begun) => Ok((stream, begun)),
        Err(refused) => {
            // Whoever hangs up meanwhile wanted no answer.
            let _gone = tokio::time::timeout(LAST_ANSWER, answer(&mut stream, &refused)).await;
            Err(refused)
        }
    }
}

/// The first line with its end, or what there is of it once it can be none. Nothing after it is read.
async fn first_line(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    while line.len() < MOST_LINE {
        let mut byte = [0];
        if stream.read(&mut byte).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.push(byte[0]);
        let is_text = matches!(byte[0], b'\r' | b'\n' | b' '..=b'~');
        if byte[0] == b'\n' || !is_text {
            break;
        }
    }
    Ok(line)
}

/// Whether a connection that begins with this line is let in, and what of the line belongs to its first message.
fn look(line: Vec<u8>, secret: Option<&str>) -> Result<Vec<u8>, Refused> {
    let text = String::from_utf8_lossy(&line);
    let text = text.trim_end_matches(['\r', '\n']);
    let begins = |with: &str| {
        text.get(..with.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(with))
    };
    if is_http(text) || begins("origin:") || begins("host:") {
        return Err(Refused::Http);
    }
    match secret {
        Some(secret) if begins(BEARER) => {
            let shown = text[BEARER.len()..].trim();
            match crate::token::are_equal(shown.as_bytes(), secret.as_bytes()) {
                true => Ok(Vec::new()),
                false => Err(Refused::WrongSecret),
            }
        }
        Some(_) => Err(Refused::NoSecret),
        // A client that always sends a secret is understood where none is asked for.
        None if begins(BEARER) => Ok(Vec::new()),
        None if begins("content-length:") || begins("content-type:") => Ok(line),
        None => Err(Refused::NoFrame),
    }
}

/// A method and a blank, as a request line of any version of HTTP and of its kin (RTSP, SIP, WebSocket) begins.
fn is_http(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(method, _)| {
        !method.is_empty()
            && method
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || b"-_".contains(&byte))
    })
}

async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), refused: &Refused) -> io::Result<()> {
    let text = format!("This is a Countersign language server, and the connection is refused: {refused}.\n");
    let answer = match refused {
        Refused::Http => format!(
            "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{text}",
            text.len()
        ),
        Refused::NoFrame | Refused::Lost(_) => String::new(),
        Refused::NoSecret | Refused::WrongSecret | Refused::Silent | Refused::Crowded => {
            let error = serde_json::json!({"code": -32600, "message": text.trim_end()});
            let body = serde_json::json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
            format!("Content-Length: {}\r\n\r\n{body}", body.len())
        }
    };
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    // What is closed with bytes unread is reset, and a reset can overtake the answer.
    let mut rest = stream.take(MOST_UNREAD);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await.map(drop)
}

/// As [`check_peer`], and says so where it is not.
#[cfg(unix)]
pub(super) fn is_own(stream: &tokio::net::UnixStream, said: &mut usize, tell: &dyn Fn(String)) -> bool {
    match check_peer(stream) {
        Ok(()) => true,
        Err(error) => {
            say(said, &error, tell);
            false
        }
    }
}

/// Whether nobody else can put another socket in place of one in this folder.
///
/// # Errors
/// Somebody else can, or the folder cannot be looked at.
#[cfg(unix)]
pub(super) fn check_folder(folder: &Path) -> io::Result<()> {
    // Others' entries in a sticky folder cannot be moved.
    match program::changed_by_others(&std::fs::metadata(folder)?, false) {
        None => Ok(()),
        Some(who) => {
            let folder = folder.display();
            let text = format!(
                "other users can change the folder {folder} ({who} it); choose one that only you can write, such as \
                 $XDG_RUNTIME_DIR"
            );
            Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_by_table() {
        let secret = Some("s3cret");
        for (line, with, expected) in [
            ("Authorization: Bearer s3cret\r\n", secret, "in "),
            ("authorization: bearer s3cret\n", secret, "in "),
            ("Authorization: Bearer s3cre\r\n", secret, "WrongSecret"),
            ("Authorization: Bearer \r\n", secret, "WrongSecret"),
            ("Authorization: Basic s3cret\r\n", secret, "NoSecret"),
            ("Content-Length: 2\r\n", secret, "NoSecret"),
            ("\r\n", secret, "NoSecret"),
            ("GET / HTTP/1.1\r\n", secret, "Http"),
            ("POST /?Authorization: Bearer s3cret HTTP/1.0\r\n", secret, "Http"),
            ("PRI * HTTP/2.0\r\n", None, "Http"),
            ("M-SEARCH * HTTP/1.1\r\n", None, "Http"),
            ("host: 127.0.0.1\r\n", None, "Http"),
            ("Origin: null\r\n", None, "Http"),
            ("Content-Length: 2\r\n", None, "in Content-Length: 2\r\n"),
            ("content-type: x\r\n", None, "in content-type: x\r\n"),
            ("Authorization: Bearer old\r\n", None, "in "),
            ("\r\n", None, "NoFrame"),
            ("{\"jsonrpc\":\"2.0\"}\n", None, "NoFrame"),
            ("X-Y: z\r\n", None, "NoFrame"),
        ] {
            let found = match look(line.as_bytes().to_vec(), with) {
                Ok(begun) => format!("in {}", String::from_utf8_lossy(&begun)),
                Err(refused) => format!("{refused:?}"),
            };
            assert_eq!(found, expected, "{line:?} {with:?}");
        }
    }

    /// Servers on two addresses have the same port, and one takes the other's place.
    #[test]
    fn a_secret_is_one_servers_and_goes_with_it() {
        let home = tempfile::tempdir().expect("a folder");
        let make = |address: &str| Secret::make(home.path(), address.parse().expect("an address")).expect("a secret");
        let names = ["127.0.0.1:9257", "127.0.0.2:9257", "[::1]:9257", "0.0.0.0:1"].map(|address| {
            let secret = make(address);
            let name = secret
                .file()
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            assert_eq!(std::fs::read_to_string(secret.file()).expect("there"), *secret.text);
            name
        });
        let expected = [
            "serve-9257.secret",
            "serve-127.0.0.2-9257.secret",
            "serve-__1-9257.secret",
            "serve-0.0.0.0-1.secret",
        ];
        assert_eq!(names, expected);
        let (first, second) = (make("127.0.0.1:1"), make("127.0.0.1:1"));
        let file = second.file().to_owned();
        drop(first);
        assert!(file.exists(), "it is the second one's");
        drop(second);
        assert!(!file.exists(), "the secret stays behind");
    }

    /// Whoever connects and says nothing does not keep the client out.
    #[tokio::test]
    async fn a_crowd_that_says_nothing_makes_room() {
        let (clients, streams): (Vec<_>, Vec<_>) = (0..3 * MOST_GUESTS).map(|_| tokio::io::duplex(1 << 10)).unzip();
        let (mut client, last) = tokio::io::duplex(1 << 10);
        client.write_all(b"Content-Length: 2\r\n").await.expect("written");
        let mut streams = streams.into_iter().chain([last]);
        let accept = async || match streams.next() {
            Some(stream) => Ok(stream),
            None => std::future::pending().await,
        };
        let first = first(accept, None, None, &|_| {});
        let (_, begun) = tokio::time::timeout(PATIENCE, first).await.expect("in time");
        assert_eq!(begun, b"Content-Length: 2\r\n");
        drop(clients);
    }
}
