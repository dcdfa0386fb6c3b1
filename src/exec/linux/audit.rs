//! Landlock's refusals as the kernel writes them down (Linux 6.15), for those who may read it: root of the machine, where
//! auditing is switched on. Where there are no namespaces Landlock is the wall that a command runs into, and its records
//! name the place and what was to be done there, which the program's own words may not.
//!
//! Nothing is written down that nobody here reads: programs that the command executes are recorded only while a keeper
//! listens. Records are broadcast to all who listen, so those of this command are picked out by its domain, which one
//! record ties to the process that put it up.

use super::sys;
use crate::exec::denial::{Missing, Refusal};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Kinds of messages: asking for the state; a refusal; a domain that is made or gone.
const STATE: u16 = 1000;
const ACCESS: u16 = 1423;
const DOMAIN: u16 = 1424;

/// The group of those who read along.
const READERS: u32 = 1;

/// Length of the header of a message.
const HEADER: usize = 16;

/// How long the kernel may take to hand out what it has written down.
const PATIENCE: Duration = Duration::from_millis(40);

/// Refusals that are kept; a command can have any number.
const MOST: usize = 8;

/// Listens to the records.
pub(super) struct Audit(OwnedFd);

impl Audit {
    /// None where nothing is written down, or it is not ours to read.
    pub(super) fn listen() -> Option<Self> {
        let listener = sys::audit_socket(READERS).ok()?;
        is_on().then_some(Self(listener))
    }

    /// What was refused to the command that this process, now dead, put up its walls for.
    pub(super) fn refused(&self, process: libc::pid_t) -> Vec<Refusal> {
        let mut records = Records::new(process);
        let end = Instant::now() + PATIENCE;
        let mut buffer = vec![0; 16 * 1024];
        while !records.complete {
            let left = end.saturating_duration_since(Instant::now()).as_millis();
            if !sys::poll([Some(self.0.as_raw_fd())], left as libc::c_int)[0] {
                break;
            }
            // Records that found no room are lost; the first are here.
            let Ok(read) = sys::receive(&self.0, &mut buffer) else {
                continue;
            };
            if let Some((kind, text)) = message(&buffer[..read]) {
                records.take(kind, &String::from_utf8_lossy(text));
            }
        }
        records.refusals()
    }
}

/// Whether records are made at all.
fn is_on() -> bool {
    let Ok(socket) = sys::audit_socket(0) else { return false };
    let mut request = Vec::with_capacity(HEADER);
    request.extend((HEADER as u32).to_ne_bytes());
    request.extend(STATE.to_ne_bytes());
    request.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request.extend([0; 8]);
    let mut answer = [0; 512];
    let heard = sys::send(&socket, &request).and_then(|()| {
        let in_time = sys::poll([Some(socket.as_raw_fd())], PATIENCE.as_millis() as libc::c_int)[0];
        if in_time {
            sys::receive(&socket, &mut answer)
        } else {
            Ok(0)
        }
    });
    let enabled = heard.ok().and_then(|read| match message(&answer[..read])? {
        // What it is a change of, and then the switch.
        (STATE, state) => state.get(4..8)?.try_into().ok().map(u32::from_ne_bytes),
        _ => None,
    });
    enabled.is_some_and(|enabled| enabled != 0)
}

/// The kind and the body of a message.
fn message(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    Some((kind, bytes.get(HEADER..)?))
}

/// What has been read.
struct Records {
    process: libc::pid_t,
    /// The command's domains, by the kernel's numbers.
    domains: Vec<String>,
    refusals: Vec<(String, Refusal)>,
    /// The last of the domains is gone, and with it the last record.
    complete: bool,
}

impl Records {
    fn new(process: libc::pid_t) -> Self {
        Self {
            process,
            domains: Vec::new(),
            refusals: Vec::new(),
            complete: false,
        }
    }

    fn take(&mut self, kind: u16, text: &str) {
        let Some(domain) = field(text, "domain") else { return };
        match kind {
            ACCESS => {
                // Whose domain it is may be said only afterwards.
                let refusal = refusal(text).map(|refusal| (domain.to_owned(), refusal));
                if let Some(refusal) = refusal.filter(|new| !self.refusals.contains(new))
                    && self.of(domain) < MOST
                {
                    self.refusals.push(refusal);
                }
            }
            DOMAIN if field(text, "status") == Some("deallocated") => {
                self.complete |= self.domains.iter().any(|known| known == domain);
            }
            DOMAIN if field(text, "pid").and_then(|pid| pid.parse().ok()) == Some(self.process) => {
                self.domains.push(domain.to_owned());
            }
            _ => {}
        }
    }

    /// How many refusals of a domain are kept.
    fn of(&self, domain: &str) -> usize {
        self.refusals.iter().filter(|(known, _)| known == domain).count()
    }

    fn refusals(self) -> Vec<Refusal> {
        let ours = |domain: &String| self.domains.contains(domain);
        let refusals = self.refusals.iter().filter(|(domain, _)| ours(domain));
        refusals.map(|(_, refusal)| refusal.clone()).collect()
    }
}

/// What a record of a refusal says.
fn refusal(text: &str) -> Option<Refusal> {
    let blockers = field(text, "blockers")?;
    let path = || untrusted(field(text, "path")?).map(PathBuf::from);
    let shown = || {
        path().map_or_else(
            || "a place without a path".to_owned(),
            |path| path.display().to_string(),
        )
    };
    let process = || match (field(text, "opid"), field(text, "ocomm").and_then(untrusted)) {
        (Some(pid), Some(name)) => format!("process {pid} ({name})"),
        (Some(pid), None) => format!("process {pid}"),
        _ => "a process outside of it".to_owned(),
    };
    // The first that stands there decides; a file that is made and moved at once is one thing to the person.
    let first = blockers.split(',').next()?;
    let (what, missing) = match first {
        "fs.execute" => (format!("running {}", shown()), path().map(Missing::Read)),
        "fs.read_file" => (format!("reading {}", shown()), path().map(Missing::Read)),
        "fs.read_dir" => (format!("listing {}", shown()), path().map(Missing::Read)),
        "fs.write_file" | "fs.truncate" => (format!("writing {}", shown()), path().map(Missing::Write)),
        "fs.remove_dir" | "fs.remove_file" => {
            (format!("removing something in {}", shown()), path().map(Missing::Write))
        }
        "fs.refer" => (
            format!("moving or linking something into or out of {}", shown()),
            path().map(Missing::Write),
        ),
        "fs.ioctl_dev" => (format!("controlling the device {}", shown()), None),
        "fs.change_topology" => (format!("changing mounts at {}", shown()), None),
        _ if first.starts_with("fs.make_") => (format!("making something in {}", shown()), path().map(Missing::Write)),
        "net.connect_tcp" => {
            let host = field(text, "daddr");
            let port = field(text, "dest").map_or_else(String::new, |port| format!(", port {port}"));
            (
                format!("a connection to the network: {}{port}", host.unwrap_or("an address")),
                Some(Missing::Network(host.map(str::to_owned))),
            )
        }
        "net.bind_tcp" => {
            let port = field(text, "src").unwrap_or("of its choice");
            (format!("listening on TCP port {port}"), Some(Missing::Network(None)))
        }
        "ptrace" => (format!("tracing {}", process()), None),
        "scope.signal" => (format!("a signal to {}", process()), None),
        "scope.abstract_unix_socket" => ("a connection to an abstract socket".to_owned(), None),
        other => (format!("something that the kernel calls {other}"), None),
    };
    Some(Refusal {
        what,
        missing: missing.unwrap_or(Missing::Other),
    })
}

/// A field of a record, as it stands there. Those that others have a say in are in quotes, or in hexadecimal where that would
/// break, so that none holds a blank.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.split_ascii_whitespace()
        .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

/// The value of a field that others have a say in.
fn untrusted(value: &str) -> Option<String> {
    if let Some(quoted) = value.strip_prefix('"') {
        return quoted.strip_suffix('"').map(str::to_owned);
    }
    let digits = value.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return None;
    }
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows what is made of the kernel's own words.
    #[test]
    fn records_by_table() {
        let write = |path: &str| Missing::Write(path.into());
        let read = |path: &str| Missing::Read(path.into());
        for (text, what, missing) in [
            (
                r#"blockers=fs.make_reg path="/var/tmp" dev="vda" ino=383193"#,
                "making something in /var/tmp",
                write("/var/tmp"),
            ),
            (
                "blockers=fs.write_file path=2F7661722F6120622F63 dev=\"vda\" ino=1",
                "writing /var/a b/c",
                write("/var/a b/c"),
            ),
            (
                r#"blockers=fs.write_file,fs.truncate path="/etc/hosts" dev="vda" ino=9"#,
                "writing /etc/hosts",
                write("/etc/hosts"),
            ),
            (
                r#"blockers=fs.remove_file path="/etc" dev="vda" ino=19"#,
                "removing something in /etc",
                write("/etc"),
            ),
            (
                r#"blockers=fs.refer path="/etc" dev="vda" ino=19"#,
                "moving or linking something into or out of /etc",
                write("/etc"),
            ),
            (
                r#"blockers=fs.make_dir,fs.refer path="/var" dev="vda" ino=3"#,
                "making something in /var",
                write("/var"),
            ),
            (
                r#"blockers=fs.read_file path="/home/ada/.ssh/id" dev="vda" ino=3"#,
                "reading /home/ada/.ssh/id",
                read("/home/ada/.ssh/id"),
            ),
            (
                r#"blockers=fs.read_dir path="/srv" dev="vda" ino=3"#,
                "listing /srv",
                read("/srv"),
            ),
            (
                r#"blockers=fs.execute path="/srv/x" dev="vda" ino=3"#,
                "running /srv/x",
                read("/srv/x"),
            ),
            (
                r#"blockers=fs.ioctl_dev path="/dev/sda" dev="devtmpfs" ino=3 ioctlcmd=0x1260"#,
                "controlling the device /dev/sda",
                Missing::Other,
            ),
            (
                r#"blockers=fs.change_topology name="/mnt" dev="vda" ino=3"#,
                "changing mounts at a place without a path",
                Missing::Other,
            ),
            (
                "blockers=net.connect_tcp daddr=127.0.0.1 dest=9",
                "a connection to the network: 127.0.0.1, port 9",
                Missing::Network(Some("127.0.0.1".to_owned())),
            ),
            (
                "blockers=net.connect_tcp daddr=2001:db8::1 dest=443",
                "a connection to the network: 2001:db8::1, port 443",
                Missing::Network(Some("2001:db8::1".to_owned())),
            ),
            (
                "blockers=net.bind_tcp src=8080",
                "listening on TCP port 8080",
                Missing::Network(None),
            ),
            (
                r#"blockers=scope.signal opid=1 ocomm="init""#,
                "a signal to process 1 (init)",
                Missing::Other,
            ),
            (
                "blockers=ptrace opid=77 ocomm=6120622E",
                "tracing process 77 (a b.)",
                Missing::Other,
            ),
            (
                r#"blockers=scope.abstract_unix_socket path=0041"#,
                "a connection to an abstract socket",
                Missing::Other,
            ),
            (
                "blockers=fs.new_thing path=\"/x\"",
                "something that the kernel calls fs.new_thing",
                Missing::Other,
            ),
            (
                "blockers=fs.write_file path=\"/x",
                "writing a place without a path",
                Missing::Other,
            ),
            (
                "blockers=fs.write_file path=2F7",
                "writing a place without a path",
                Missing::Other,
            ),
        ] {
            let text = format!("audit(1795300766.362:187): domain=1bdfce8f7 {text}");
            let expected = Refusal {
                what: what.to_owned(),
                missing,
            };
            assert_eq!(refusal(&text), Some(expected), "{text}");
        }
        for text in ["", "audit(1.2:3): domain=1", "blockers", "xblockers=fs.execute"] {
            assert_eq!(refusal(text), None, "{text}");
        }
    }

    #[test]
    fn only_the_commands_own_records_count() {
        let access =
            |domain: &str, path: &str| (ACCESS, format!("domain={domain} blockers=fs.make_reg path=\"{path}\""));
        let made = |domain: &str, pid: u32| {
            (
                DOMAIN,
                format!("domain={domain} status=allocated mode=enforcing pid={pid} uid=0"),
            )
        };
        let gone = |domain: &str| (DOMAIN, format!("domain={domain} status=deallocated denials=1"));
        let mut records = Records::new(42);
        for (kind, text) in [
            access("a", "/ours"),
            made("a", 42),
            access("b", "/theirs"),
            made("b", 421),
            access("a", "/ours"),
            access("a", "/ours/too"),
            (1300, "arch=c000003e syscall=257 success=no pid=42".to_owned()),
            gone("b"),
        ] {
            records.take(kind, &text);
        }
        assert!(!records.complete);
        for number in 0..100 {
            let (kind, text) = access("a", &format!("/{number}"));
            records.take(kind, &text);
        }
        let (kind, text) = gone("a");
        records.take(kind, &text);
        assert!(records.complete);
        let refusals = records.refusals();
        let what: Vec<&str> = refusals.iter().map(|refusal| refusal.what.as_str()).collect();
        assert_eq!(what.len(), MOST);
        assert_eq!(
            what[..2],
            ["making something in /ours", "making something in /ours/too"]
        );
    }

    #[test]
    fn broken_messages_say_nothing() {
        for bytes in [&[][..], &[0; 5], &[0; 15]] {
            assert_eq!(message(bytes), None);
        }
        assert_eq!(message(&[0; 16]), Some((0, &[][..])));
    }
}
