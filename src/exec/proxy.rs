//! The network by name: a proxy for one command, outside of its sandbox. The command reaches it on one port of the machine's
//! loopback, with a secret; it reaches hosts by their names, and only those that were granted.
//!
//! A name is looked up once, here, and the very address that was looked at is dialed. What is spoken then has to name the
//! same host (`tunnel`, `hello`, `http`); secrets are put in on the way (`masks`). What was refused is kept, for the person and the model.
//!
//! It leaves to others who may reach what (`config::permissions`), and how the command gets here (`linux::broker`).

mod address;
mod dial;
mod entry;
mod hello;
mod http;
mod masks;
mod program;
mod rules;
mod socks;
#[cfg(test)]
mod tests;
mod tunnel;
mod variables;

use super::confinement::Walls;
use super::role::Order;
use crate::token;
pub(crate) use address::near;
use base64::Engine as _;
use dial::{Count, Counted, Machine, NoWay, World};
use entry::Entry;
use masks::Masks;
#[cfg(target_os = "linux")]
pub(crate) use program::shown as shown_program;
pub(crate) use rules::Rules;
use rules::{Target, Why};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
pub(crate) use variables::Variables;

/// Connections of one command at a time; more wait.
const MOST_CONNECTIONS: usize = 256;
/// The same of those who have not shown the secret yet.
const MOST_STRANGERS: usize = 64;
/// Refusals of one command that are kept.
const MOST_REFUSALS: usize = 16;
/// Hosts whose bytes are counted apart.
const MOST_COUNTED: usize = 256;
/// The name that goes with the secret.
const USER: &str = "countersign";

/// Where a command finds its proxy, and what it has to show there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) port: u16,
    secret: String,
    /// What only the keeper has: who shows it is believed for which program it asks.
    keeper_secret: String,
}

/// Without the secret.
impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Way").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Way {
    /// A way to a listener, with a secret of its own.
    fn to(listener: &TcpListener) -> io::Result<Self> {
        Ok(Self {
            port: listener.local_addr()?.port(),
            secret: token::random()?,
            keeper_secret: token::random()?,
        })
    }

    /// The variables by which programs find their proxy. What is inside the sandbox is reached without it.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let proxy = format!("http://{USER}:{}@{}:{}", self.secret, Ipv4Addr::LOCALHOST, self.port);
        let both_cases = |name: &str| [name.to_owned(), name.to_ascii_lowercase()];
        let mut variables = Vec::new();
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
            .into_iter()
            .flat_map(both_cases)
        {
            variables.push((name, proxy.clone()));
        }
        for name in both_cases("NO_PROXY") {
            variables.push((name, "localhost,127.0.0.1,::1".to_owned()));
        }
        for name in OTHER_VARIABLES {
            variables.push(((*name).to_owned(), proxy.clone()));
        }
        // Node heeds the usual variables only where it is asked to.
        variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
        variables
    }

    /// What the keeper says in the name of a program that knows no proxy, to reach a host.
    #[cfg(target_os = "linux")]
    pub(crate) fn request(&self, host: &str, port: u16, program: &str) -> String {
        let shown = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{}", self.secret));
        format!(
            "CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\nProxy-Authorization: Basic {shown}\r\n\
             X-Countersign-Program: {} {program}\r\n\r\n",
            self.keeper_secret
        )
    }
}

/// Variables of programs that have their own, which a project's settings do not overrule.
const OTHER_VARIABLES: &[&str] = &[
    "npm_config_proxy",
    "npm_config_https_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
    "CARGO_HTTP_PROXY",
    "PIP_PROXY",
];

/// Something that a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The program that asked, where it could be found out.
    pub(crate) program: Option<String>,
    pub(crate) host: String,
    pub(crate) port: u16,
    why: Why,
}

#[cfg(test)]
impl Refused {
    pub(crate) fn example(host: &str) -> Self {
        Self {
            program: None,
            host: host.to_owned(),
            port: 443,
            why: Why::NotAllowed,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.as_deref().unwrap_or("the command");
        let Self { host, port, why, .. } = self;
        write!(f, "{program} was refused {host} (port {port}): {why}")
    }
}

/// What one host was sent by a command, and has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub host: String,
    pub connections: u64,
    /// Bytes, as they were on the wire.
    pub sent: u64,
    pub received: u64,
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
enum Who {
    /// As the socket tells, if it has to be known.
    Peer(SocketAddr),
    Named(Option<String>),
}

/// What all connections of a command share.
struct Shared {
    rules: Rules,
    masks: Masks,
    world: Box<dyn World>,
    /// The name and the secret.
    shown: Vec<u8>,
    /// See [`Way`].
    keeper_secret: String,
    refused: Mutex<Vec<Refused>>,
    counts: Mutex<BTreeMap<String, Arc<Count>>>,
    /// Hears of each new refusal.
    tell: Option<fn(&str)>,
    /// For a connection each, tunnels with it.
    places: Arc<Semaphore>,
    /// The same until the secret is shown.
    strangers: Arc<Semaphore>,
    end: CancellationToken,
}

impl Shared {
    fn new((rules, masks): (Rules, Masks), world: Box<dyn World>, way: &Way, tell: Option<fn(&str)>) -> Self {
        Self {
            rules,
            masks,
            world,
            shown: format!("{USER}:{}", way.secret).into_bytes(),
            keeper_secret: way.keeper_secret.clone(),
            refused: Mutex::default(),
            counts: Mutex::default(),
            tell,
            places: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            strangers: Arc::new(Semaphore::new(MOST_STRANGERS)),
            end: CancellationToken::new(),
        }
    }

    /// Accepts connections until the end.
    async fn listen(self: Arc<Self>, listener: tokio::net::TcpListener) {
        loop {
            let Ok(place) = self.strangers.clone().acquire_owned().await else {
                return;
            };
            let (client, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                // Out of descriptors, most likely.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let (shared, entry) = (self.clone(), Entry::new(place));
            self.spawn(async move {
                tokio::select! {
                    () = shared.serve(client, Who::Peer(peer), entry.clone()) => {}
                    () = entry.overdue() => {}
                }
            });
        }
    }

    async fn serve(self: Arc<Self>, mut client: TcpStream, who: Who, entry: Arc<Entry>) {
        use tokio::io::AsyncReadExt as _;
        let _slower_without = client.set_nodelay(true);
        match client.read_u8().await {
            Ok(socks::VERSION) => socks::serve(self, client, who, &entry).await,
            Ok(byte) => {
                let client = dial::Replayed::new(vec![byte], client);
                http::serve(self, client, http::Place::Front(entry), None, who).await;
            }
            Err(_) => {}
        }
    }

    /// Runs something until the command ends.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let end = self.end.clone();
        tokio::spawn(async move { end.run_until_cancelled_owned(work).await });
    }

    /// A connection to a host, if it may be reached.
    async fn reach(&self, target: &Target) -> Result<Counted<TcpStream>, NoWay> {
        self.rules.judge(target).map_err(NoWay::Refused)?;
        let stream = dial::dial(self.world.as_ref(), &self.rules, target).await?;
        let mut counts = lock(&self.counts);
        let host = target.host_text();
        let host = match counts.len() < MOST_COUNTED || counts.contains_key(&host) {
            true => host,
            false => "others".to_owned(),
        };
        let count = counts.entry(host).or_default().clone();
        Ok(Counted::new(stream, count))
    }

    /// Whether a client has shown the secret.
    fn is_known(&self, headers: &hyper::HeaderMap) -> bool {
        http::shown_by(headers).is_some_and(|shown| self.is_secret(&shown))
    }

    fn is_secret(&self, shown: &[u8]) -> bool {
        token::are_equal(shown, &self.shown)
    }

    /// Whom the keeper asks for, if it is the keeper who says so.
    fn named_by_keeper(&self, said: &str) -> Option<Who> {
        let (secret, program) = said.split_once(' ').unwrap_or((said, ""));
        let is_keeper = token::are_equal(secret.as_bytes(), self.keeper_secret.as_bytes());
        is_keeper.then(|| Who::Named(program::shown(program)))
    }

    async fn refuse(&self, target: &Target, why: Why, who: &Who) {
        let _kept = self.refusal(target, why, who).await;
    }

    /// Keeps a refusal; what is said of it.
    async fn refusal(&self, target: &Target, why: Why, who: &Who) -> String {
        let mut refused = Refused {
            program: None,
            host: target.host_text(),
            port: target.port,
            why,
        };
        let like = |one: &&Refused| (&one.host, one.port, &one.why) == (&refused.host, refused.port, &refused.why);
        let (kept, before) = {
            let list = lock(&self.refused);
            (list.len(), list.iter().find(like).map(|one| one.program.clone()))
        };
        refused.program = match (who, before) {
            (Who::Named(name), _) => name.clone(),
            (Who::Peer(_), Some(program)) => program,
            // Looking for it takes a while, and a command may ask for many, and for one again and again.
            (Who::Peer(peer), None) if kept < MOST_REFUSALS => {
                let peer = *peer;
                let found = tokio::task::spawn_blocking(move || program::behind(peer)).await;
                found.ok().flatten()
            }
            (Who::Peer(_), None) => None,
        };
        let text = refused.to_string();
        let mut list = lock(&self.refused);
        if list.len() < MOST_REFUSALS && !list.contains(&refused) {
            list.push(refused);
            drop(list);
            tracing::info!("sandbox: {text}");
            if let Some(tell) = self.tell {
                tell(&text);
            }
        }
        text
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The proxy of one command. When it is dropped, all of its connections end.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    way: Way,
    _end: DropGuard,
}

impl Proxy {
    /// A proxy for walls through which hosts are reached by name; none for others. Making certificates takes a while, so it is
    /// done by a thread that may wait.
    ///
    /// # Errors
    /// A grant is no host, or there is no port to listen on; as text.
    pub(crate) async fn for_walls(walls: &Walls) -> Result<Option<Self>, String> {
        let rules = Rules::of(walls)?;
        if walls.network || !rules.need_proxy() {
            return Ok(None);
        }
        let walls = walls.clone();
        let masks = tokio::task::spawn_blocking(move || masks(&walls)).await;
        let masks = masks.map_err(|error| error.to_string())??;
        let started = Self::start((rules, masks), Box::new(Machine::new()));
        started
            .map(Some)
            .map_err(|error| format!("the proxy for its hosts cannot be started: {error}"))
    }

    fn start(rules: (Rules, Masks), world: Box<dyn World>) -> io::Result<Self> {
        let (listener, way) = listener()?;
        let shared = Arc::new(Shared::new(rules, world, &way, None));
        let listener = tokio::net::TcpListener::from_std(listener)?;
        shared.spawn(shared.clone().listen(listener));
        Ok(Self {
            way,
            _end: shared.end.clone().drop_guard(),
            shared,
        })
    }

    /// Leads a command to it.
    pub(crate) fn lead(&self, order: &mut Order) {
        lead(order, &self.way, &self.shared.masks);
    }

    /// What was refused so far.
    pub(crate) fn refused(&self) -> Vec<Refused> {
        lock(&self.shared.refused).clone()
    }

    /// What went where so far.
    pub(crate) fn traffic(&self) -> Vec<Traffic> {
        let counts = lock(&self.shared.counts);
        let of = |(host, count): (&String, &Arc<Count>)| Traffic {
            host: host.clone(),
            connections: count.connections.load(Ordering::Relaxed),
            sent: count.sent.load(Ordering::Relaxed),
            received: count.received.load(Ordering::Relaxed),
        };
        counts.iter().map(of).collect()
    }
}

/// How much went where is on the record, whatever became of the command.
impl Drop for Proxy {
    fn drop(&mut self) {
        for Traffic {
            host,
            connections,
            sent,
            received,
        } in self.traffic()
        {
            tracing::info!("sandbox: {host}: {connections} connections, {sent} bytes sent, {received} bytes received");
        }
    }
}

/// A listener on this machine's loopback.
fn listener() -> io::Result<(TcpListener, Way)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let way = Way::to(&listener)?;
    Ok((listener, way))
}

fn masks(walls: &Walls) -> Result<Masks, String> {
    Masks::of(&walls.requests, &masks::folder(walls), &walls.variables)
}

/// Takes the secrets out of a command's environment that it was to use through a proxy, where it gets none.
pub(crate) fn withhold(order: &mut Order) {
    let Some(walls) = &order.walls else { return };
    let names = walls.requests.credentials.iter().map(|credential| &credential.from);
    let secrets: Vec<_> = names
        .map(|name| (name, walls.variables.secret(name).unwrap_or_default()))
        .collect();
    let is_secret = |name: &String, value: &String| {
        let is_in = |secret: &str| secret.len() >= masks::SHORTEST && value.contains(secret);
        secrets.iter().any(|(from, secret)| *from == name || is_in(secret))
    };
    order.env.retain(|(name, value)| !is_secret(name, value));
}

/// Leads a command to a proxy; what it is not to know is taken out of its environment.
fn lead(order: &mut Order, way: &Way, masks: &Masks) {
    order.env.retain(|(_, value)| !masks.has_secret(value));
    if let (Some(walls), Some(bundle)) = (&mut order.walls, masks.bundle())
        && walls.roots.iter().any(|root| bundle.starts_with(root))
    {
        walls.read_only.push(bundle.to_owned());
    }
    order.use_proxy(way, masks.environment());
}

/// A proxy for a process that has no runtime and is to get none: whoever calls forks, and has one of the two serve.
pub(crate) struct Alone {
    listener: TcpListener,
    rules: Rules,
    masks: Masks,
    way: Way,
}

impl Alone {
    /// As [`Proxy::for_walls`]; nothing is served yet.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn for_walls(walls: &Walls) -> Result<Option<Self>, String> {
        let rules = Rules::of(walls)?;
        if walls.network || !rules.need_proxy() {
            return Ok(None);
        }
        let (listener, way) =
            listener().map_err(|error| format!("the proxy for its hosts cannot be started: {error}"))?;
        let masks = masks(walls)?;
        Ok(Some(Self {
            listener,
            rules,
            masks,
            way,
        }))
    }

    /// Leads a command to it.
    pub(crate) fn lead(&self, order: &mut Order) {
        lead(order, &self.way, &self.masks);
    }

    /// The file that its programs find their authorities in, for who ends without ending what serves.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn take_bundle(&mut self) -> Option<masks::Bundle> {
        self.masks.take_bundle()
    }

    /// Serves until the process ends. `tell` hears of refusals.
    pub(crate) fn serve(self, tell: fn(&str)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let Ok(listener) = tokio::net::TcpListener::from_std(self.listener) else {
                return;
            };
            let world = Box::new(Machine::new());
            let shared = Shared::new((self.rules, self.masks), world, &self.way, Some(tell));
            Arc::new(shared).listen(listener).await;
        });
    }
}
