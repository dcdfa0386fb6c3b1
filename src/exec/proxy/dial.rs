//! Where a host is, decided once: the addresses are looked at, and the very address that was looked at is dialed.

use super::address;
use super::rules::{Rules, Target, Why};
use futures::future::BoxFuture;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::timeout;

/// How long finding out where a host is may take.
const LOOKING_UP: Duration = Duration::from_secs(10);
/// How long one address may take to answer, where there are more.
const ONE_OF_MANY: Duration = Duration::from_secs(5);
/// How long the last, or only, one may take.
const CONNECTING: Duration = Duration::from_secs(20);
/// Names that are looked up at a time, for one command.
const MOST_LOOKING_UP: usize = 16;
/// The machine's table of names.
const TABLE: &str = if cfg!(windows) {
    r"C:\Windows\System32\drivers\etc\hosts"
} else {
    "/etc/hosts"
};
/// Addresses of one name that are tried.
const MOST_TRIED: usize = 6;

/// The outside, as far as connections go.
pub(super) trait World: Send + Sync + 'static {
    /// The addresses of a name, as the machine finds them.
    fn look_up(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
    /// Which certificates of hosts are believed.
    ///
    /// # Errors
    /// The machine's cannot be read; as text.
    fn trust(&self) -> BoxFuture<'_, Result<Arc<rustls::ClientConfig>, String>>;
    /// Whether an address is one of this machine's own.
    fn is_own(&self, address: IpAddr) -> bool;
    /// A connection to an address.
    fn connect(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>>;
}

/// The machine's own.
pub(super) struct Machine {
    /// Looking up takes a thread that nobody can stop.
    looking_up: Arc<Semaphore>,
    /// Reading the machine's certificates takes a while.
    trust: OnceCell<Arc<rustls::ClientConfig>>,
}

impl Machine {
    pub(super) fn new() -> Self {
        Self {
            looking_up: Arc::new(Semaphore::new(MOST_LOOKING_UP)),
            trust: OnceCell::new(),
        }
    }
}

impl World for Machine {
    fn look_up(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let looking_up = self.looking_up.clone();
        Box::pin(async move {
            let place = looking_up.acquire_owned().await.map_err(io::Error::other)?;
            let found = tokio::task::spawn_blocking(move || {
                // As long as it takes, also where nobody waits for it any more.
                let _place = place;
                find(&name)
            });
            found.await.map_err(io::Error::other)?
        })
    }

    fn trust(&self) -> BoxFuture<'_, Result<Arc<rustls::ClientConfig>, String>> {
        Box::pin(async {
            let read = || async {
                let read = tokio::task::spawn_blocking(trust_of_machine).await;
                read.map_err(|error| error.to_string())?
            };
            self.trust.get_or_try_init(read).await.cloned()
        })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        let any: SocketAddr = match address {
            IpAddr::V4(_) => (std::net::Ipv4Addr::UNSPECIFIED, 0).into(),
            IpAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        // Nothing is sent: the machine says from where it would send, which to itself is the same address.
        let from = std::net::UdpSocket::bind(any).and_then(|socket| {
            socket.connect((address, 9))?;
            socket.local_addr()
        });
        from.is_ok_and(|from| from.ip() == address)
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(address))
    }
}

/// Which certificates the machine believes.
fn trust_of_machine() -> Result<Arc<rustls::ClientConfig>, String> {
    use rustls_platform_verifier::BuilderVerifierExt as _;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| Ok(config.with_platform_verifier()?.with_no_client_auth()));
    config.map(Arc::new).map_err(|error| error.to_string())
}

/// The addresses of a name: this very one, and none that the machine would make of it by its list of domains to search. A
/// name without a dot is one of these by itself.
fn find(name: &str) -> io::Result<Vec<IpAddr>> {
    let listed = listed(&std::fs::read_to_string(TABLE).unwrap_or_default(), name);
    if !listed.is_empty() {
        return Ok(listed);
    }
    let whole = if name.contains('.') {
        format!("{name}.")
    } else {
        name.to_owned()
    };
    let found = (whole.as_str(), 0).to_socket_addrs()?;
    Ok(found.map(|address| address.ip()).collect())
}

/// What the machine's own table says, in which names stand without the dot at their end.
fn listed(table: &str, name: &str) -> Vec<IpAddr> {
    let addresses = table.lines().filter_map(|line| {
        let mut fields = line.split('#').next()?.split_whitespace();
        let address = fields.next()?.parse::<IpAddr>().ok()?;
        fields.any(|known| known.eq_ignore_ascii_case(name)).then_some(address)
    });
    addresses.collect()
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum NoWay {
    Refused(Why),
    /// Nobody knows the name.
    Unknown,
    TooSlow,
    Failed(io::Error),
    /// It does not prove who it is.
    Unproven(String),
}

/// Connects to a host that may be reached.
pub(super) async fn dial(world: &dyn World, rules: &Rules, target: &Target) -> Result<TcpStream, NoWay> {
    let found = match Rules::known(target) {
        Some(found) => found,
        None => {
            let name = target.name().unwrap_or_default().to_owned();
            let found = timeout(LOOKING_UP, world.look_up(name)).await;
            found.map_err(|_| NoWay::TooSlow)?.map_err(|_| NoWay::Unknown)?
        }
    };
    if found.is_empty() {
        return Err(NoWay::Unknown);
    }
    let near = |address| address::near(address).or_else(|| world.is_own(address).then_some("this machine"));
    let open = rules.open(target, &found, near).map_err(NoWay::Refused)?;
    let mut trouble = NoWay::Unknown;
    let last = open.len().min(MOST_TRIED) - 1;
    for (at, address) in open.into_iter().take(MOST_TRIED).enumerate() {
        let patience = if at == last { CONNECTING } else { ONE_OF_MANY };
        let address = SocketAddr::new(address, target.port);
        match timeout(patience, world.connect(address)).await {
            Ok(Ok(stream)) => {
                let _slower_without = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => trouble = NoWay::Failed(error),
            Err(_) => trouble = NoWay::TooSlow,
        }
    }
    Err(trouble)
}

/// What went to a host and came from it.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) connections: AtomicU64,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
}

/// A connection whose bytes are counted.
pub(super) struct Counted<S> {
    stream: S,
    count: Arc<Count>,
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S, count: Arc<Count>) -> Self {
        count.connections.fetch_add(1, Ordering::Relaxed);
        Self { stream, count }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = (buffer.filled().len() - before) as u64;
        self.count.received.fetch_add(read, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.count.sent.fetch_add(written as u64, Ordering::Relaxed);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A stream of which something was read already.
pub(super) struct Replayed<S> {
    head: bytes::Bytes,
    stream: S,
}

impl<S> Replayed<S> {
    pub(super) fn new(head: impl Into<bytes::Bytes>, stream: S) -> Self {
        Self {
            head: head.into(),
            stream,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Replayed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.head.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let length = self.head.len().min(buffer.remaining());
        buffer.put_slice(&self.head.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Replayed<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_names_is_read_by_whole_names() {
        let table = "127.0.0.1 localhost\n192.0.2.1\ta.example b.example # c.example\n# 192.0.2.2 a.example\n\
                     2001:db8::1 A.Example\nfe80::1%lo0 b.example\n192.0.2.3 xa.example a.example.org\n";
        for (name, expected) in [
            ("a.example", &["192.0.2.1", "2001:db8::1"][..]),
            ("b.example", &["192.0.2.1"]),
            ("c.example", &[]),
            ("example", &[]),
            ("a.example.", &[]),
        ] {
            let expected: Vec<IpAddr> = expected.iter().map(|text| text.parse().expect("an address")).collect();
            assert_eq!(listed(table, name), expected, "{name}");
        }
    }

    #[tokio::test]
    async fn the_certificates_of_the_machine_are_read_once() {
        let machine = Machine::new();
        // A machine without any refuses each time.
        if let Ok(first) = machine.trust().await {
            let second = machine.trust().await.expect("the same");
            assert!(Arc::ptr_eq(&first, &second));
        }
    }

    /// Each look-up keeps its place until it is over, however long nobody has waited for it.
    #[tokio::test]
    async fn look_ups_are_bounded() {
        let machine = Machine::new();
        assert_eq!(machine.looking_up.available_permits(), MOST_LOOKING_UP);
        let held = machine.looking_up.clone().acquire_many_owned(MOST_LOOKING_UP as u32);
        let held = held.await.expect("places");
        let waiting = machine.look_up("localhost".to_owned());
        assert!(timeout(Duration::from_millis(50), waiting).await.is_err());
        drop(held);
        let found = machine.look_up("localhost".to_owned()).await.expect("addresses");
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty());
    }
}
