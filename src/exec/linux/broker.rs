//! What a command without a network may reach all the same: ports of the machine's own loopback, addresses, socket
//! files outside. The keeper makes such a connection, on a socket of the network outside, and puts it in the place of
//! the command's own socket; the address is the keeper's copy, so nothing that the command does meanwhile changes it.
//!
//! On its own loopback a command comes first: a granted port on which something inside the sandbox listens leads there.
//! Hosts that were granted by name are reached through their proxy (`exec::proxy`) and in no other way. For programs that know
//! no proxy each name stands in the command's table of names with an address that is nobody's; who connects there is connected
//! to the proxy, which is asked for the name.

use super::sys;
use crate::config::permissions::Host;
use crate::exec::confinement::Walls;
use crate::exec::proxy::Way;
use libc::c_int;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the addresses that stand for names begin: a range for measurements, which leads nowhere.
const STAND_INS: u32 = u32::from_be_bytes([198, 18, 0, 1]);
/// Names that get one.
const MOST_NAMES: usize = 4096;

/// What was granted, made concrete before the command starts.
#[derive(Debug, Default)]
pub(super) struct Reach {
    ports: Vec<u16>,
    hosts: Vec<(Host, Option<u16>)>,
    /// The table of host names for the command, where names were granted.
    pub names: Option<String>,
    /// The names in it, with the addresses that stand for them.
    named: Vec<(Ipv4Addr, String)>,
    /// Where the proxy for names is.
    proxy: Option<Way>,
    sockets: Vec<Socket>,
}

#[derive(Debug)]
struct Socket {
    path: PathBuf,
    /// Device and inode of a file that a command could put another one in place of.
    pinned: Option<(u64, u64)>,
}

impl Reach {
    /// Looks up names and files. The error says which host is none.
    pub(super) fn of(walls: &Walls) -> Result<Self, String> {
        let mut reach = Self::default();
        for path in &walls.sockets {
            let movable = walls.roots.iter().any(|root| path.starts_with(root));
            let pinned = match fs::symlink_metadata(path) {
                Ok(found) if movable => Some((found.dev(), found.ino())),
                // Not there yet, and the command itself could make it.
                Err(_) if movable => continue,
                _ => None,
            };
            let path = path.clone();
            reach.sockets.push(Socket { path, pinned });
        }
        if walls.network {
            return Ok(reach);
        }
        reach.ports = walls.loopback_ports.clone();
        reach.proxy = walls.proxy.clone();
        let mut table = String::new();
        for (host, port) in &walls.hosts {
            let parsed = Host::parse(host);
            let parsed = parsed.map_err(|why| format!("a granted host is no name and no address: {host:?} {why}"))?;
            match parsed {
                Host::Name(_) if parsed.is_this_machine() => {
                    let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                    reach
                        .hosts
                        .extend(loopback.map(|address| (Host::Address(address), *port)));
                }
                Host::Name(name) => reach.name(name, &mut table),
                Host::Address(_) | Host::Range(..) => reach.hosts.push((parsed, *port)),
                // Which names there are is not known.
                Host::Below(_) | Host::Every => {}
            }
        }
        if !table.is_empty() {
            // What the machine itself says stands behind, as a name that has several lines has all of their addresses.
            table.push_str("127.0.0.1 localhost\n::1 localhost\n");
            let own = fs::read_to_string("/etc/hosts").unwrap_or_default();
            table.push_str(&without(&own, &reach.named));
            reach.names = Some(table);
        }
        Ok(reach)
    }

    /// Gives a name an address that stands for it.
    fn name(&mut self, name: String, table: &mut String) {
        if self.proxy.is_none() || self.named.len() == MOST_NAMES || self.named.iter().any(|(_, known)| *known == name)
        {
            return;
        }
        let address = Ipv4Addr::from_bits(STAND_INS + self.named.len() as u32);
        let _infallible = writeln!(table, "{address} {name}");
        self.named.push((address, name));
    }

    /// Whether connections may have to be made for the command.
    pub(super) fn is_brokered(&self) -> bool {
        !self.ports.is_empty() || !self.hosts.is_empty()
    }

    /// Whether a connection to this address was granted.
    pub(super) fn grants(&self, address: &SocketAddr) -> bool {
        let (ip, port) = (address.ip().to_canonical(), address.port());
        let loopback = ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST;
        let host = |(known, only): &(Host, Option<u16>)| known.holds(ip) && only.is_none_or(|only| only == port);
        loopback && self.ports.contains(&port) || self.hosts.iter().any(host)
    }

    /// The name for which an address stands, with the way to the proxy that leads there.
    pub(super) fn named(&self, address: &SocketAddr) -> Option<(&str, &Way)> {
        let IpAddr::V4(address) = address.ip().to_canonical() else {
            return None;
        };
        let (_, name) = self.named.iter().find(|(known, _)| *known == address)?;
        Some((name, self.proxy.as_ref()?))
    }

    /// Whether a socket file, by its real path, is one that may be connected to.
    pub(super) fn grants_socket(&self, real: &Path, found: &fs::Metadata) -> bool {
        self.sockets.iter().any(|socket| {
            let same = socket.pinned.is_none_or(|pinned| pinned == (found.dev(), found.ino()));
            socket.path == real && same
        })
    }
}

/// A table of names without those that stand in it already.
fn without(table: &str, named: &[(Ipv4Addr, String)]) -> String {
    let is_named = |asked: &str| {
        named
            .iter()
            .any(|(_, name)| name.eq_ignore_ascii_case(asked.trim_end_matches('.')))
    };
    let mut left = String::new();
    for line in table.lines() {
        let mut fields = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(address) = fields.next() else { continue };
        let names: Vec<&str> = fields.filter(|name| !is_named(name)).collect();
        if !names.is_empty() {
            let _infallible = writeln!(left, "{address} {}", names.join(" "));
        }
    }
    left
}

/// Whether programs look for names in the table at all, by the text of `/etc/nsswitch.conf`. Without the file they do.
pub(super) fn reads_table(switch: &str) -> bool {
    let line = switch.lines().find_map(|line| line.trim_start().strip_prefix("hosts:"));
    line.is_none_or(|sources| {
        let sources = sources.split('#').next().unwrap_or_default();
        sources.split_whitespace().any(|source| source == "files")
    })
}

/// The address in a `sockaddr` of the internet's families; the errno that the kernel would give otherwise.
pub(super) fn internet_address(bytes: &[u8]) -> Result<SocketAddr, c_int> {
    let word = |at: usize| -> Option<[u8; 2]> { bytes.get(at..at + 2)?.try_into().ok() };
    let family = word(0).map(u16::from_ne_bytes).ok_or(libc::EINVAL)?;
    let port = word(2).map(u16::from_be_bytes).ok_or(libc::EINVAL)?;
    match c_int::from(family) {
        libc::AF_INET if bytes.len() >= 16 => {
            let octets: [u8; 4] = bytes[4..8].try_into().map_err(|_| libc::EINVAL)?;
            Ok(SocketAddr::new(octets.into(), port))
        }
        libc::AF_INET6 if bytes.len() >= 24 => {
            let octets: [u8; 16] = bytes[8..24].try_into().map_err(|_| libc::EINVAL)?;
            Ok(SocketAddr::new(octets.into(), port))
        }
        libc::AF_INET | libc::AF_INET6 => Err(libc::EINVAL),
        _ => Err(libc::EAFNOSUPPORT),
    }
}

/// Whether something listens on a TCP port in this process's network namespace.
pub(super) fn listens_here(port: u16) -> bool {
    ["/proc/self/net/tcp", "/proc/self/net/tcp6"].iter().any(|table| {
        let table = fs::read_to_string(table).unwrap_or_default();
        table.lines().any(|line| listens_on(line, port))
    })
}

/// Reads one line of the kernel's table of TCP sockets: number, own address and port, the other's, state.
fn listens_on(line: &str, port: u16) -> bool {
    const LISTENING: &str = "0A";
    let mut fields = line.split_whitespace().skip(1);
    let own = fields.next().and_then(|own| own.rsplit_once(':'));
    let is_port = own.is_some_and(|(_, hex)| u16::from_str_radix(hex, 16) == Ok(port));
    is_port && fields.nth(1) == Some(LISTENING)
}

/// What a program may have set on its socket before it connects.
const OPTIONS: [(c_int, c_int); 12] = [
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
    (libc::SOL_SOCKET, libc::SO_LINGER),
    (libc::SOL_SOCKET, libc::SO_OOBINLINE),
    (libc::SOL_SOCKET, libc::SO_RCVLOWAT),
    (libc::SOL_SOCKET, libc::SO_RCVTIMEO),
    (libc::SOL_SOCKET, libc::SO_SNDTIMEO),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
    (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY),
];

/// Makes a fresh socket as the command's own is.
pub(super) fn resemble(fresh: &OwnedFd, own: &OwnedFd) -> io::Result<()> {
    for (level, name) in OPTIONS {
        // An option that the family does not have.
        let _inapplicable =
            sys::socket_option(own, level, name).and_then(|value| sys::set_socket_option(fresh, level, name, &value));
    }
    if sys::is_non_blocking(own) {
        sys::set_non_blocking(fresh)?;
    }
    Ok(())
}

/// The address of a port of this machine's loopback, for a socket of the family.
pub(super) fn loopback(family: c_int, port: u16) -> Vec<u8> {
    let (family_bytes, port) = ((family as u16).to_ne_bytes(), port.to_be_bytes());
    let octets = Ipv4Addr::LOCALHOST.octets();
    match family {
        libc::AF_INET6 => {
            let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets();
            [&family_bytes[..], &port, &[0; 4], &mapped, &[0; 4]].concat()
        }
        _ => [&family_bytes[..], &port, &octets, &[0; 8]].concat(),
    }
}

/// Longest answer of the proxy that is read.
const LONGEST_ANSWER: usize = 4096;
/// How long it may take: a little longer than the proxy itself waits for a host.
const ANSWERING: Duration = Duration::from_secs(60);
/// The same for a program that does not expect to wait, and does nothing else meanwhile.
const ANSWERING_SOON: Duration = Duration::from_secs(10);

/// Connects to the proxy and asks it for a host, in the place of the command's own socket. The error is what a connection to
/// the host would have given.
pub(super) fn ask(fresh: &OwnedFd, own: &OwnedFd, proxy: &[u8], asked: &str) -> Result<(), c_int> {
    let soon = sys::is_non_blocking(own);
    let due = Instant::now() + if soon { ANSWERING_SOON } else { ANSWERING };
    sys::connect(fresh, proxy)?;
    let gone = |error: io::Error| error.raw_os_error().unwrap_or(libc::ECONNREFUSED);
    sys::send(fresh, asked.as_bytes()).map_err(gone)?;
    // Byte by byte, as all that comes after the answer is the program's.
    let (mut answer, mut byte) = (Vec::new(), [0; 1]);
    while !answer.ends_with(b"\r\n\r\n") {
        let left = due.saturating_duration_since(Instant::now()).as_millis();
        let left = c_int::try_from(left).unwrap_or(c_int::MAX);
        if answer.len() == LONGEST_ANSWER || !sys::poll([Some(fresh.as_raw_fd())], left)[0] {
            return Err(libc::ETIMEDOUT);
        }
        match sys::receive(fresh, &mut byte) {
            Ok(1) => answer.push(byte[0]),
            Ok(_) => return Err(libc::ECONNREFUSED),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(gone(error)),
        }
    }
    match answer.get(9..12) {
        Some(b"200") => Ok(()),
        Some(b"403") => Err(libc::EPERM),
        Some(b"504") => Err(libc::ETIMEDOUT),
        _ => Err(libc::ECONNREFUSED),
    }
}

/// Gives out sockets of the network outside to a keeper inside: a process that does nothing else, and ends when nobody
/// is left to ask it.
#[derive(Debug)]
pub(super) struct Factory {
    /// One line for each family, so that whoever asks gets the right kind, whoever's question is answered.
    lines: [OwnedFd; 2],
}

const FAMILIES: [c_int; 2] = [libc::AF_INET, libc::AF_INET6];

impl Factory {
    /// Forks the process, from one that is in the network outside.
    pub(super) fn start() -> io::Result<Self> {
        let (first, first_theirs) = sys::socket_pair()?;
        let (second, second_theirs) = sys::socket_pair()?;
        let keeper = sys::own_pid();
        if let sys::Forked::Parent(_) = sys::fork(0)? {
            return Ok(Self { lines: [first, second] });
        }
        sys::new_session();
        let followed = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong).is_ok();
        // Nothing of the command's or the asker's stays open in here.
        let placed = sys::put_at(&first_theirs, 0).and_then(|()| sys::put_at(&second_theirs, 1));
        if followed && sys::parent() == keeper && placed.is_ok() {
            sys::close_from(2);
            serve();
        }
        sys::exit(0)
    }

    /// An unconnected TCP socket of the family.
    pub(super) fn socket(&self, family: c_int) -> io::Result<OwnedFd> {
        let line = FAMILIES.iter().zip(&self.lines).find(|(known, _)| **known == family);
        let (_, line) = line.ok_or(io::ErrorKind::Unsupported)?;
        sys::send(line, &[1])?;
        sys::receive_descriptor(line)?.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

/// Answers until both lines have ended.
fn serve() {
    // The duplicates stay open as long as this process lives.
    let (Ok(first), Ok(second)) = (sys::duplicate(0), sys::duplicate(1)) else {
        return;
    };
    let mut lines = [Some(first), Some(second)];
    while lines.iter().any(Option::is_some) {
        let asked = sys::poll([0, 1].map(|at: usize| lines[at].as_ref().map(AsRawFd::as_raw_fd)), -1);
        for at in [0, 1] {
            let Some(line) = lines[at].as_ref().filter(|_| asked[at]) else {
                continue;
            };
            let mut question = [0; 1];
            let given = sys::receive(line, &mut question).and_then(|read| match read {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                _ => sys::send_descriptor(line, &sys::tcp_socket(FAMILIES[at])?),
            });
            if given.is_err() {
                lines[at] = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walls() -> Walls {
        Walls {
            loopback_ports: vec![5432],
            hosts: vec![
                ("192.0.2.7".to_owned(), Some(443)),
                ("[2001:db8::1]".to_owned(), None),
                ("localhost".to_owned(), Some(9000)),
            ],
            ..Walls::default()
        }
    }

    #[test]
    fn what_is_granted_by_table() {
        let reach = Reach::of(&walls()).expect("sound hosts");
        assert!(reach.is_brokered() && reach.names.is_none());
        for (address, expected) in [
            ("127.0.0.1:5432", true),
            ("[::1]:5432", true),
            ("[::ffff:127.0.0.1]:5432", true),
            ("127.0.0.2:5432", false),
            ("0.0.0.0:5432", false),
            ("[::]:5432", false),
            ("127.0.0.1:5433", false),
            ("192.0.2.7:443", true),
            ("[::ffff:192.0.2.7]:443", true),
            ("192.0.2.7:80", false),
            ("192.0.2.8:443", false),
            ("192.0.2.7:5432", false),
            ("[2001:db8::1]:1", true),
            ("[2001:db8::2]:1", false),
            ("127.0.0.1:9000", true),
            ("127.0.0.1:9001", false),
        ] {
            let address: SocketAddr = address.parse().expect("an address");
            assert_eq!(reach.grants(&address), expected, "{address}");
        }
        let open = Walls {
            network: true,
            ..walls()
        };
        assert!(!Reach::of(&open).expect("sound hosts").is_brokered());
        for name in [
            "",
            "a b",
            "a\nb",
            "a*.example.org",
            ".example.org",
            "http://example.org",
            "1.2.3.4:80",
        ] {
            let hosts = vec![(name.to_owned(), None)];
            assert!(
                Reach::of(&Walls {
                    hosts,
                    ..Walls::default()
                })
                .is_err(),
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_name_is_an_address_of_its_own_that_only_the_proxy_knows() {
        let hosts = [
            "a.example",
            "*.b.example",
            "A.example.",
            "c.example",
            "localhost",
            "10.0.0.0/8",
        ];
        let walls = Walls {
            hosts: hosts.iter().map(|host| ((*host).to_owned(), Some(443))).collect(),
            proxy: Some(serde_json::from_str(r#"{"port": 9, "secret": "s", "keeper_secret": "k"}"#).expect("a way")),
            loopback_ports: vec![9],
            ..Walls::default()
        };
        let reach = Reach::of(&walls).expect("hosts");
        let table = reach.names.as_deref().expect("a table");
        assert!(
            table.starts_with("198.18.0.1 a.example\n198.18.0.2 c.example\n127.0.0.1 localhost\n"),
            "{table}"
        );
        for (address, name) in [
            ("198.18.0.1:443", Some("a.example")),
            ("198.18.0.1:80", Some("a.example")),
            ("[::ffff:198.18.0.2]:443", Some("c.example")),
            ("198.18.0.3:443", None),
            ("10.0.0.1:443", None),
        ] {
            let address: SocketAddr = address.parse().expect("an address");
            assert_eq!(reach.named(&address).map(|(name, _)| name), name, "{address}");
        }
        let granted = |address: &str| reach.grants(&address.parse().expect("an address"));
        assert!(granted("10.1.2.3:443") && !granted("10.1.2.3:80") && !granted("198.18.0.1:443"));
        let walls = Walls { proxy: None, ..walls };
        assert!(
            Reach::of(&walls).expect("hosts").names.is_none(),
            "a name without a proxy leads nowhere"
        );
        let own = "192.0.2.7 A.EXAMPLE other # a.example\n# a.example\n192.0.2.8 a.example.\n::1 d\n";
        assert_eq!(without(own, &reach.named), "192.0.2.7 other\n::1 d\n");
    }

    #[test]
    fn addresses_as_the_kernel_has_them() {
        let mut four = (libc::AF_INET as u16).to_ne_bytes().to_vec();
        four.extend([0x1F, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            internet_address(&four),
            Ok("127.0.0.1:8080".parse().expect("an address"))
        );
        let mut six = (libc::AF_INET6 as u16).to_ne_bytes().to_vec();
        six.extend([0x1F, 0x90, 0, 0, 0, 0]);
        six.extend(Ipv6Addr::LOCALHOST.octets());
        assert_eq!(internet_address(&six), Ok("[::1]:8080".parse().expect("an address")));
        for (bytes, errno) in [
            (&four[..15], libc::EINVAL),
            (&six[..23], libc::EINVAL),
            (&four[..1], libc::EINVAL),
            (&[], libc::EINVAL),
            (&[16, 0, 0, 0], libc::EAFNOSUPPORT),
        ] {
            assert_eq!(internet_address(bytes), Err(errno), "{bytes:?}");
        }
    }

    #[test]
    fn listening_ports_and_name_sources() {
        let line = "   0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1";
        assert!(listens_on(line, 5432));
        assert!(!listens_on(line, 5433));
        assert!(!listens_on(&line.replace(" 0A ", " 01 "), 5432));
        assert!(!listens_on("  sl  local_address rem_address   st", 5432));
        for (switch, expected) in [
            ("", true),
            ("passwd: files\nhosts: files dns\n", true),
            ("hosts:\tmymachines resolve [!UNAVAIL=return] files dns\n", true),
            ("hosts: dns # files\n", false),
        ] {
            assert_eq!(reads_table(switch), expected, "{switch:?}");
        }
    }

    #[test]
    fn a_socket_file_that_could_be_exchanged_is_known_by_its_inode() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        for name in ["inside", "outside", "other"] {
            fs::create_dir(base.join(name)).expect("mkdir");
            fs::write(base.join(name).join("s"), "").expect("write");
        }
        let walls = Walls {
            roots: vec![base.join("inside")],
            sockets: ["inside/s", "inside/missing", "outside/s"]
                .map(|path| base.join(path))
                .to_vec(),
            ..Walls::default()
        };
        let reach = Reach::of(&walls).expect("no hosts");
        let found = |path: &str| fs::metadata(base.join(path)).expect("metadata");
        for (path, metadata, expected) in [
            ("inside/s", "inside/s", true),
            ("inside/s", "other/s", false),
            ("inside/missing", "other/s", false),
            ("outside/s", "outside/s", true),
            // Bound anew by its owner.
            ("outside/s", "other/s", true),
            ("other/s", "other/s", false),
        ] {
            let granted = reach.grants_socket(&base.join(path), &found(metadata));
            assert_eq!(granted, expected, "{path} {metadata}");
        }
    }
}
