//! A connection that was asked for by name, and what goes through it. What a client says first shows what it speaks: TLS,
//! whose greeting has to name the same host; HTTP, each of whose requests has to; or something else, which cannot name a
//! host at all and is let through but on the ports of the web.

use super::Shared;
use super::dial::{Counted, Replayed};
use super::hello::{self, Hello, Watch};
use super::http::{self, Place};
use super::rules::{Target, Why};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a client may take to say anything on a port of the web.
const FIRST: Duration = Duration::from_secs(30);
/// How long nothing may go either way.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// The same where one side has ended.
const HALF_OPEN: Duration = Duration::from_secs(60);
/// How often a side that says nothing is looked at.
const LOOK: Duration = Duration::from_secs(30);
const CHUNK: usize = 32 * 1024;
/// Longest first line that is waited for.
const LONGEST_LINE: usize = 16 * 1024;

/// What a client speaks, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speech {
    /// Too little to say.
    More,
    Tls,
    Http,
    Other,
}

impl Speech {
    fn of(bytes: &[u8]) -> Self {
        // Any record, too: some servers pass over what stands in front of a greeting.
        if hello::begins_record(bytes) {
            return Self::Tls;
        }
        // Servers forgive what stands before a request, and take more than blanks for what is between its words.
        let start = bytes.iter().position(|byte| !is_blank(*byte)).unwrap_or(bytes.len());
        let line = &bytes[start..];
        let (line, whole) = match line.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&line[..end], true),
            None => (line, false),
        };
        let http = b"HTTP/";
        if line.windows(http.len()).any(|part| part.eq_ignore_ascii_case(http)) {
            return Self::Http;
        }
        let (method, rest) = line.split_at(line.iter().position(|byte| is_blank(*byte)).unwrap_or(line.len()));
        let address = rest.iter().find(|byte| !is_blank(**byte));
        let may_be_http = method.iter().all(|byte| is_token(*byte))
            && address.is_none_or(|byte| !byte.is_ascii_control())
            && !line.contains(&0);
        match (may_be_http && !whole, bytes.len() > LONGEST_LINE) {
            (false, _) => Self::Other,
            (true, false) => Self::More,
            // A host could take it for a request all the same: it is judged as one.
            (true, true) => Self::Http,
        }
    }
}

/// What stands between words, for the most forgiving of servers.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

/// What the method of a request may be written with.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A stream to a client.
pub(super) trait Client: AsyncRead + AsyncWrite + Unpin + Send + 'static {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Client for S {}

/// Carries what a client and a host say to each other.
pub(super) async fn run(
    shared: Arc<Shared>,
    mut client: impl Client,
    target: Target,
    host: Counted<TcpStream>,
    who: super::Who,
) {
    let Some(name) = target.name().map(str::to_owned) else {
        // Who was let through to an address may say there what they like.
        let _ended = relay(client, host, &[], None).await;
        return;
    };
    let mut host = host;
    let (head, speech) = match listen(&mut client, &mut host, &target).await {
        Ok(heard) => heard,
        Err(Some(why)) => return shared.refuse(&target, Why::Form(why), &who).await,
        Err(None) => return,
    };
    match speech {
        Speech::Http => {
            let place = Place::Inside { target, secure: false };
            http::serve(shared, Replayed::new(head, client), place, Some(host), who).await;
        }
        Speech::Tls if shared.masks.is_read(&target) => {
            let Some(certificate) = shared.masks.certificate(&target) else {
                let why = Why::Form("no certificate can be made to read its requests with");
                return shared.refuse(&target, why, &who).await;
            };
            let accepting = tokio_rustls::TlsAcceptor::from(certificate).accept(Replayed::new(head, client));
            match timeout(FIRST, accepting).await {
                Ok(Ok(client)) => {
                    let place = Place::Inside { target, secure: true };
                    http::serve(shared, client, place, Some(host), who).await;
                }
                Ok(Err(error)) => {
                    tracing::info!(%error, %target, "the TLS handshake with the program failed")
                }
                Err(_) => {}
            }
        }
        Speech::Tls => {
            if let Err(Some(why)) = relay(client, host, &head, Some(Watch::new(&name))).await {
                shared.refuse(&target, Why::Form(why), &who).await;
            }
        }
        Speech::Other | Speech::More if shared.masks.is_read(&target) => {
            let why = "only TLS and HTTP are allowed for a host whose requests are read";
            shared.refuse(&target, Why::Form(why), &who).await;
        }
        // It may still go over to TLS (`STARTTLS`).
        Speech::Other | Speech::More => {
            if let Err(Some(why)) = relay(client, host, &head, Some(Watch::for_later(&name))).await {
                shared.refuse(&target, Why::Form(why), &who).await;
            }
        }
    }
}

/// Hears what the client says first. Until then a host may speak, but for the ports of the web. A text in the error
/// is a refusal.
async fn listen(
    client: &mut impl Client,
    host: &mut Counted<TcpStream>,
    target: &Target,
) -> Result<(Vec<u8>, Speech), Option<&'static str>> {
    let web = matches!(target.port, 80 | 443);
    let (mut head, mut said, mut heard) = (Vec::new(), vec![0; CHUNK], vec![0; CHUNK]);
    let mut host_ended = false;
    loop {
        let patience = if web { FIRST } else { IDLE };
        let next = async {
            tokio::select! {
                read = client.read(&mut said) => (true, read),
                read = host.read(&mut heard), if !web && !host_ended => (false, read),
            }
        };
        let (by_client, read) = timeout(patience, next).await.map_err(|_| None)?;
        let read = read.map_err(|_| None)?;
        match (by_client, read) {
            (false, 0) => {
                host_ended = true;
                client.shutdown().await.map_err(|_| None)?;
            }
            (false, _) => client.write_all(&heard[..read]).await.map_err(|_| None)?,
            (true, 0) if web || !head.is_empty() => return Err(None),
            // It only listens.
            (true, 0) => return Ok((head, Speech::Other)),
            (true, _) => head.extend_from_slice(&said[..read]),
        }
        match Speech::of(&head) {
            Speech::More => {}
            Speech::Other if web => {
                return Err(Some("only TLS and HTTP are allowed on this port"));
            }
            Speech::Tls => match hello::read(&head) {
                Hello::More => {}
                Hello::Whole { name: None, .. } => return Err(Some("its TLS ClientHello names no host")),
                Hello::Whole { name: Some(name), .. } if Some(name.as_str()) != target.name() => {
                    return Err(Some("its TLS ClientHello names another host than was asked for"));
                }
                Hello::Whole { .. } => return Ok((head, Speech::Tls)),
                Hello::Wrong(why) => return Err(Some(why)),
            },
            known => return Ok((head, known)),
        }
    }
}

/// What both directions know of each other.
struct Both {
    begun: Instant,
    /// When something last moved, in milliseconds since then.
    moved: AtomicU64,
    one_ended: AtomicBool,
}

impl Both {
    fn move_on(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(now, Ordering::Relaxed);
    }

    /// Whether nothing has moved for too long.
    fn is_idle(&self) -> bool {
        let most = if self.one_ended.load(Ordering::Relaxed) {
            HALF_OPEN
        } else {
            IDLE
        };
        let moved = Duration::from_millis(self.moved.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(moved) >= most
    }
}

/// Carries bytes both ways until both have ended, or nothing moves any more. A text in the error is a refusal.
async fn relay(
    client: impl Client,
    host: impl Client,
    head: &[u8],
    watch: Option<Watch>,
) -> Result<(), Option<&'static str>> {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_host, mut to_host) = tokio::io::split(host);
    let both = Both {
        begun: Instant::now(),
        moved: AtomicU64::new(0),
        one_ended: AtomicBool::new(false),
    };
    let up = async {
        let mut watch = watch;
        let mut pass = |bytes: &[u8]| match &mut watch {
            Some(watch) => watch.pass(bytes).map_err(Some),
            None => Ok(bytes.to_vec()),
        };
        to_host.write_all(&pass(head)?).await.map_err(|_| None)?;
        carry(&mut from_client, &mut to_host, &both, pass).await
    };
    let down = carry(&mut from_host, &mut to_client, &both, |bytes| Ok(bytes.to_vec()));
    tokio::try_join!(up, down).map(drop)
}

async fn carry(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    both: &Both,
    mut pass: impl FnMut(&[u8]) -> Result<Vec<u8>, Option<&'static str>>,
) -> Result<(), Option<&'static str>> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let read: io::Result<usize> = match timeout(LOOK, from.read(&mut buffer)).await {
            Ok(read) => read,
            Err(_) if both.is_idle() => return Err(None),
            Err(_) => continue,
        };
        let read = read.map_err(|_| None)?;
        if read == 0 {
            both.one_ended.store(true, Ordering::Relaxed);
            let _gone = to.shutdown().await;
            return Ok(());
        }
        both.move_on();
        let passed = pass(&buffer[..read])?;
        timeout(IDLE, to.write_all(&passed))
            .await
            .map_err(|_| None)?
            .map_err(|_| None)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spoken_shows_in_the_first_line() {
        for (bytes, expected) in [
            (&b""[..], Speech::More),
            (b"\x16", Speech::Tls),
            (b"\x15\x03\x01\x00\x02\x01\x5a", Speech::Tls),
            (b"\x14\x03", Speech::Tls),
            (b"\x17\x03\x03", Speech::Tls),
            (b"\x15\x01", Speech::Other),
            (b"GET / HT", Speech::More),
            (b"GET / HTTP/1.1\r\n", Speech::Http),
            (b"GET / HTTP/1.1", Speech::Http),
            (b"\r\n\r\nGET / HTTP/1.1", Speech::Http),
            (b" \t\nGET\t/\thttp/1.1\n", Speech::Http),
            (b"QUERY \xff HTTP/1.1", Speech::Http),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Speech::Http),
            (b"GET /\r\n", Speech::Other),
            (b"SSH-2.0-OpenSSH_9\r\n", Speech::Other),
            (b"EHLO here\r\n", Speech::Other),
            (b"EHLO he", Speech::More),
            (&[0, 0, 0, 8, 4, 210, 22, 47], Speech::Other),
            (&[0x80, 0x2e, 1, 0, 2], Speech::Other),
            // What only some servers take for a request.
            (b"GET\x0b/\x0bHTTP/1.1\r\nHost: b", Speech::Http),
            (b"GET\x0c/\x0cHTTP/1.1\n", Speech::Http),
            (b"GET\r/\rHTTP/1.1\n", Speech::Http),
            (b"GET /HTTP/1.1\n", Speech::Http),
            (b"GET /\x01", Speech::More),
            (b"GET /\x7f HTTP/1.1", Speech::Http),
            (b"\x0b\x0cGET /", Speech::More),
            // Texts whose line does not end.
            (b"<?xml version='1.0'?><stream:stream to='a'>", Speech::Other),
            (b"( 2 ( edit-pipeline ) 10:svn://host ) ", Speech::Other),
            (b"{\"jsonrpc\":", Speech::Other),
            (b"0032git-upload-pack /project.git\0host=a\0", Speech::Other),
            // A bind of LDAP, whose length is a blank to some.
            (&[0x30, 0x0c, 2, 1, 1, 0x60, 7], Speech::Other),
            (&[0x30, 0x20, 2, 1, 1, 0x60, 7], Speech::Other),
        ] {
            assert_eq!(Speech::of(bytes), expected, "{}", bytes.escape_ascii());
        }
        // No length hides a request.
        let long = [&b"GET /"[..], &[b'a'; LONGEST_LINE]].concat();
        assert_eq!(Speech::of(&long), Speech::Http);
        assert_eq!(Speech::of(&[b'\n'; LONGEST_LINE + 1]), Speech::Http);
    }
}
