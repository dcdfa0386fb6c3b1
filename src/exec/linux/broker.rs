//! What a command without a network may reach all the same: ports of the machine's own loopback, single hosts, socket
//! files outside. The keeper makes such a connection, on a socket of the network outside, and puts it in the place of
//! the command's own socket; the address is the keeper's copy, so nothing that the command does meanwhile changes it.
//!
//! On its own loopback a command comes first: a granted port on which something inside the sandbox listens leads there.
//! Names are looked up before the command starts and are fixed from then on; a name that leads to the machine itself or
//! to its neighbourhood (loopback, link-local, multicast) opens nothing, whoever answers for it.

use super::sys;
use crate::exec::confinement::Walls;
use libc::c_int;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long looking up all names may take. What is not found by then stays unknown to the command.
const LOOKING_UP: Duration = Duration::from_secs(5);

/// Longest list of addresses that is taken from one name, in bytes.
const MAX_ANSWER: usize = 16 * 1024;

/// What was granted, made concrete before the command starts.
#[derive(Debug, Default)]
pub(super) struct Reach {
    ports: Vec<u16>,
    hosts: Vec<(IpAddr, Option<u16>)>,
    /// The table of host names for the command, where names were granted.
    pub names: Option<String>,
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
        let mut names: Vec<(&str, Option<u16>)> = Vec::new();
        for (host, port) in &walls.hosts {
            let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            if let Ok(address) = bare.unwrap_or(host).parse::<IpAddr>() {
                reach.hosts.push((address.to_canonical(), *port));
            } else if is_localhost(host) {
                let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                reach.hosts.extend(loopback.map(|address| (address, *port)));
            } else if is_name(host) {
                names.push((host, *port));
            } else {
                return Err(format!("a granted host is no name and no address: {host:?}"));
            }
        }
        if !names.is_empty() {
            let known = look_up(&names, LOOKING_UP);
            let mut table = String::new();
            for ((name, port), addresses) in names.iter().zip(known) {
                for address in addresses {
                    let _infallible = writeln!(table, "{address} {name}");
                    reach.hosts.push((address, *port));
                }
            }
            // What the machine itself says stands behind, as a name that has several lines has all of their addresses.
            table.push_str("127.0.0.1 localhost\n::1 localhost\n");
            table.push_str(&fs::read_to_string("/etc/hosts").unwrap_or_default());
            reach.names = Some(table);
        }
        Ok(reach)
    }

    /// Whether connections may have to be made for the command.
    pub(super) fn is_brokered(&self) -> bool {
        !self.ports.is_empty() || !self.hosts.is_empty()
    }

    /// Whether a connection to this address was granted.
    pub(super) fn grants(&self, address: &SocketAddr) -> bool {
        let (ip, port) = (address.ip().to_canonical(), address.port());
        let loopback = ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST;
        let host = |(known, only): &(IpAddr, Option<u16>)| *known == ip && only.is_none_or(|only| only == port);
        loopback && self.ports.contains(&port) || self.hosts.iter().any(host)
    }

    /// Whether a socket file, by its real path, is one that may be connected to.
    pub(super) fn grants_socket(&self, real: &Path, found: &fs::Metadata) -> bool {
        self.sockets.iter().any(|socket| {
            let same = socket.pinned.is_none_or(|pinned| pinned == (found.dev(), found.ino()));
            socket.path == real && same
        })
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether it can stand in a table of names.
fn is_name(name: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= 253 && name.bytes().all(sound) && !name.starts_with('.')
}

/// Whether a name may lead there.
fn is_elsewhere(address: IpAddr) -> bool {
    let near = address.is_loopback() || address.is_unspecified() || address.is_multicast();
    !near
        && match address {
            IpAddr::V4(address) => !(address.is_link_local() || address.is_broadcast() || address.octets()[0] == 0),
            IpAddr::V6(address) => !address.is_unicast_link_local(),
        }
}

/// The addresses of each name, each looked up by a process of its own: it may take long, and cannot be called back.
fn look_up(names: &[(&str, Option<u16>)], patience: Duration) -> Vec<Vec<IpAddr>> {
    let end = Instant::now() + patience;
    let mut asked = Vec::new();
    for (name, _) in names {
        let started = sys::socket_pair().and_then(|(ours, theirs)| {
            if let sys::Forked::Parent(pid) = sys::fork(0)? {
                return Ok((pid, ours));
            }
            let _unsupported = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
            let mut answer = String::new();
            for address in (*name, 0u16).to_socket_addrs().into_iter().flatten() {
                let _infallible = writeln!(answer, "{}", address.ip());
            }
            let _gone = sys::send(&theirs, answer.as_bytes());
            sys::exit(0)
        });
        asked.push(started.ok());
    }
    let mut known = Vec::new();
    for process in asked {
        let Some((pid, socket)) = process else {
            known.push(Vec::new());
            continue;
        };
        let mut answer = Vec::new();
        let mut buffer = [0; 1024];
        loop {
            let left = end.saturating_duration_since(Instant::now()).as_millis();
            if answer.len() > MAX_ANSWER || !sys::poll([Some(socket.as_raw_fd())], left as c_int)[0] {
                break;
            }
            match sys::receive(&socket, &mut buffer) {
                Ok(read) if read > 0 => answer.extend_from_slice(&buffer[..read]),
                _ => break,
            }
        }
        sys::kill(pid, libc::SIGKILL);
        while sys::reap(true).is_ok_and(|ended| ended.is_some_and(|ended| ended.pid != pid)) {}
        let mut addresses: Vec<IpAddr> = Vec::new();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        for address in answer.lines().filter_map(|line| line.parse::<IpAddr>().ok()) {
            let address = address.to_canonical();
            if is_elsewhere(address) && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        known.push(addresses);
    }
    known
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
            "*.example.org",
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
    fn names_lead_elsewhere_only() {
        for (address, expected) in [
            ("93.184.216.34", true),
            ("10.0.0.1", true),
            ("2001:db8::1", true),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("169.254.169.254", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(
                is_elsewhere(address.parse().expect("an address")),
                expected,
                "{address}"
            );
        }
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
