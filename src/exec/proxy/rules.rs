//! What a command may reach by name, and why it may not reach the rest. Nothing here looks anything up.

use crate::config::permissions::{Host, one};
use crate::exec::confinement::Walls;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whom a client asks for: one name or one address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(super) host: Asked,
    pub(super) port: u16,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Name(String),
    Address(IpAddr),
}

impl Target {
    /// Reads `host:port`, or a host alone where there is a port that goes without saying. Nothing is decoded.
    pub(super) fn parse(text: &str, usual: Option<u16>) -> Option<Self> {
        let end_of_host = match text.rfind(']') {
            Some(end) => text[end..].find(':').map(|colon| end + colon),
            None => text.find(':'),
        };
        let (host, port) = match end_of_host {
            Some(colon) => {
                let digits = &text[colon + 1..];
                let plain = (1..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
                (&text[..colon], plain.then(|| digits.parse().ok()).flatten()?)
            }
            None => (text, usual?),
        };
        // Clients write names in ASCII; an address with colons in it stands in brackets.
        if !host.is_ascii() || host.trim() != host {
            return None;
        }
        Self::of(host, port)
    }

    /// A host by its text, and a port.
    pub(super) fn of(host: &str, port: u16) -> Option<Self> {
        let host = match one(host).ok()? {
            Host::Name(name) => Asked::Name(name),
            Host::Address(address) => Asked::Address(address),
            _ => return None,
        };
        (port != 0).then_some(Self { host, port })
    }

    /// The host as grants name it.
    fn host(&self) -> Host {
        match &self.host {
            Asked::Name(name) => Host::Name(name.clone()),
            Asked::Address(address) => Host::Address(*address),
        }
    }

    /// The name, where it is one.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.host {
            Asked::Name(name) => Some(name),
            Asked::Address(_) => None,
        }
    }

    /// The host without its port.
    pub(crate) fn host_text(&self) -> String {
        self.host().to_string()
    }

    /// As requests name it where the port goes without saying.
    pub(super) fn host_in_header(&self) -> String {
        match &self.host {
            Asked::Address(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host_text(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Asked::Name(name) => write!(f, "{name}:{}", self.port),
            Asked::Address(address) => SocketAddr::new(*address, self.port).fmt(f),
        }
    }
}

/// A name in its one spelling; none for an address, or what is no name.
pub(super) fn name_of(text: &str) -> Option<String> {
    match one(text).ok()? {
        Host::Name(name) => Some(name),
        _ => None,
    }
}

/// Why something is not reached, as the end of "PROGRAM was refused HOST: …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Why {
    #[error("it is not among the hosts that this command may reach")]
    NotAllowed,
    #[error("your settings block it")]
    Denied,
    #[error("it resolves to {address}, which is {what}; if that is intended, allow the address as well")]
    Near { address: IpAddr, what: &'static str },
    #[error("{method} is not among the methods that it may be asked with ({allowed})")]
    Method { method: String, allowed: String },
    #[error("{0}")]
    Form(&'static str),
}

/// What may be reached.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    allowed: Vec<(Host, Option<u16>)>,
    denied: Vec<(Host, Option<u16>)>,
}

impl Rules {
    /// What walls let through by name.
    ///
    /// # Errors
    /// What is granted or blocked is no host; its text and what is wrong.
    pub(crate) fn of(walls: &Walls) -> Result<Self, String> {
        let read = |what: &str, hosts: &[(String, Option<u16>)]| -> Result<Vec<_>, String> {
            let one = |(host, port): &(String, Option<u16>)| match Host::parse(host) {
                Ok(parsed) => Ok((parsed, *port)),
                Err(why) => Err(format!("a {what} host is no name and no address: {host:?} {why}")),
            };
            hosts.iter().map(one).collect()
        };
        Ok(Self {
            allowed: read("granted", &walls.hosts)?,
            denied: read("blocked", &walls.denied_hosts)?,
        })
    }

    /// Whether any of it is reached through the proxy only: names, as somebody has to find out where they lead. Where no
    /// keeper makes connections, addresses too.
    pub(super) fn need_proxy(&self) -> bool {
        let through = |host: &Host| match host {
            _ if host.is_loopback() => false,
            Host::Name(_) | Host::Below(_) | Host::Every => true,
            Host::Address(_) | Host::Range(..) => cfg!(not(target_os = "linux")),
        };
        self.allowed.iter().any(|(host, _)| through(host))
    }

    /// Whether a host may be reached at all, before it is known where it leads. Of two entries the one that says more
    /// exactly which host counts; of two that are as exact, the no.
    ///
    /// # Errors
    /// It may not; why.
    pub(super) fn judge(&self, target: &Target) -> Result<(), Why> {
        let host = target.host();
        let most_exact = |list: &[(Host, Option<u16>)]| {
            let fitting = list
                .iter()
                .filter(|(known, port)| known.covers(&host) && port.is_none_or(|port| port == target.port));
            fitting.map(|(known, _)| exactness(known)).max()
        };
        match (most_exact(&self.allowed), most_exact(&self.denied)) {
            (None, _) => Err(Why::NotAllowed),
            (Some(allowed), Some(denied)) if denied >= allowed => Err(Why::Denied),
            _ => Ok(()),
        }
    }

    /// Where a host is without anybody being asked: an address, or this machine by its name.
    pub(super) fn known(target: &Target) -> Option<Vec<IpAddr>> {
        match &target.host {
            Asked::Address(address) => Some(vec![*address]),
            Asked::Name(name) if Host::Name(name.clone()).is_this_machine() => {
                Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
            Asked::Name(_) => None,
        }
    }

    /// Of the addresses that a name leads to, those that may be dialed. `near` says of an address in words that it is one that
    /// a name does not open.
    ///
    /// # Errors
    /// All of them are near, and none was named.
    pub(super) fn open(
        &self,
        target: &Target,
        found: &[IpAddr],
        near: impl Fn(IpAddr) -> Option<&'static str>,
    ) -> Result<Vec<IpAddr>, Why> {
        let named = |list: &[(Host, Option<u16>)], address: IpAddr| {
            let mut list = list.iter();
            list.any(|(host, port)| host.holds(address) && port.is_none_or(|port| port == target.port))
        };
        // This machine is meant only where it is named.
        let own = |(host, port): &(Host, Option<u16>)| {
            let fits = host.covers(&target.host()) && port.is_none_or(|port| port == target.port);
            host.is_this_machine() && fits
        };
        let is_own = self.allowed.iter().any(own);
        let mut why = Why::NotAllowed;
        let mut open = Vec::new();
        for address in found {
            let address = address.to_canonical();
            match near(address) {
                // On an address by itself there is a verdict already.
                _ if target.name().is_some() && named(&self.denied, address) => why = Why::Denied,
                Some(what) if !named(&self.allowed, address) && !is_own => {
                    why = Why::Near { address, what };
                }
                _ if open.contains(&address) => {}
                _ => open.push(address),
            }
        }
        if open.is_empty() { Err(why) } else { Ok(open) }
    }
}

/// How exactly a grant says which host it is about.
fn exactness(host: &Host) -> usize {
    match host {
        Host::Every => 0,
        Host::Below(name) => 1 + name.len(),
        Host::Range(_, bits) => (*bits).into(),
        Host::Name(_) | Host::Address(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allowed: &[&str], denied: &[&str]) -> Rules {
        let hosts = |list: &[&str]| {
            list.iter()
                .map(|host| crate::config::permissions::host_and_port(host))
                .collect()
        };
        Rules::of(&Walls {
            hosts: hosts(allowed),
            denied_hosts: hosts(denied),
            ..Walls::default()
        })
        .expect("hosts")
    }

    #[test]
    fn targets_are_read_in_one_way() {
        for (text, expected) in [
            ("Example.org:443", Some("example.org:443")),
            ("example.org.:443", Some("example.org:443")),
            ("[::1]:80", Some("[::1]:80")),
            ("127.0.0.1:80", Some("127.0.0.1:80")),
            ("[::ffff:127.0.0.1]:80", Some("127.0.0.1:80")),
            ("example.org", None),
            ("example.org:", None),
            ("example.org:0", None),
            ("example.org:65536", None),
            ("example.org:+80", None),
            ("example.org:80:80", None),
            ("example.org:80@evil.org:80", None),
            ("a@b:80", None),
            ("::1:80", None),
            ("[example.org]:80", None),
            ("[127.0.0.1]:80", None),
            ("[fe80::1%25eth0]:80", None),
            ("0x7f000001:80", None),
            ("2130706433:80", None),
            ("0177.1:80", None),
            ("exa%6dple.org:80", None),
            ("example.org\0.evil.org:80", None),
            ("example.org :80", None),
            ("ex\u{e4}mple.org:80", None),
            ("*.example.org:80", None),
            ("", None),
            (":80", None),
        ] {
            assert_eq!(
                Target::parse(text, None).map(|target| target.to_string()).as_deref(),
                expected,
                "{text:?}"
            );
        }
        assert_eq!(
            Target::parse("example.org", Some(80)),
            Target::parse("example.org:80", None)
        );
        assert_eq!(Target::parse("[::1]", Some(80)), Target::parse("[::1]:80", None));
    }

    #[test]
    fn the_more_exact_word_counts() {
        for (allowed, denied, target, expected) in [
            (&["a.org"][..], &[][..], "a.org:1", Ok(())),
            (&["a.org:443"], &[], "a.org:80", Err(Why::NotAllowed)),
            (&["*.a.org"], &[], "a.org:80", Err(Why::NotAllowed)),
            (&["*.a.org"], &["x.a.org"], "x.a.org:80", Err(Why::Denied)),
            (&["*.a.org"], &["x.a.org"], "y.a.org:80", Ok(())),
            (&["x.a.org"], &["*.a.org"], "x.a.org:80", Ok(())),
            (&["*.a.org"], &["*.b.a.org"], "c.b.a.org:80", Err(Why::Denied)),
            (&["a.org"], &["a.org"], "a.org:80", Err(Why::Denied)),
            (&["*"], &["b.org:80"], "b.org:443", Ok(())),
            (&["*"], &[], "93.184.216.34:443", Err(Why::NotAllowed)),
            (&["*"], &[], "localhost:6379", Err(Why::NotAllowed)),
            (&["*"], &[], "db.localhost:6379", Err(Why::NotAllowed)),
            (&["*", "localhost:80"], &[], "localhost:6379", Err(Why::NotAllowed)),
            (&["*", "localhost:80"], &["*"], "localhost:80", Ok(())),
            (&["*.localhost"], &[], "db.localhost:6379", Ok(())),
            (&["10.0.0.0/8"], &["10.1.0.0/16"], "10.1.2.3:80", Err(Why::Denied)),
            (&["10.0.0.0/8"], &["10.1.0.0/16"], "10.2.2.3:80", Ok(())),
        ] {
            let target = Target::parse(target, None).expect("a target");
            assert_eq!(
                rules(allowed, denied).judge(&target),
                expected,
                "{allowed:?} {denied:?} {target}"
            );
        }
    }

    #[test]
    fn a_name_leads_near_only_where_the_address_is_named() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        for (allowed, denied, target, found, open) in [
            (
                &["a.org"][..],
                &[][..],
                "a.org:80",
                &["93.184.216.34"][..],
                &["93.184.216.34"][..],
            ),
            (&["a.org"], &[], "a.org:80", &["127.0.0.1"], &[]),
            (
                &["a.org"],
                &[],
                "a.org:80",
                &["::ffff:10.0.0.1", "93.184.216.34"],
                &["93.184.216.34"],
            ),
            (&["a.org", "10.0.0.1"], &[], "a.org:80", &["10.0.0.1"], &["10.0.0.1"]),
            (&["a.org", "10.0.0.1:81"], &[], "a.org:80", &["10.0.0.1"], &[]),
            (&["a.org", "10.0.0.0/8"], &[], "a.org:80", &["10.9.0.1"], &["10.9.0.1"]),
            (&["a.org", "10.0.0.0/8"], &[], "a.org:80", &["169.254.169.254"], &[]),
            (&["a.org"], &["93.0.0.0/8"], "a.org:80", &["93.184.216.34"], &[]),
            (&["localhost"], &[], "localhost:80", &["127.0.0.1"], &["127.0.0.1"]),
            (&["localhost:81"], &[], "localhost:80", &["127.0.0.1"], &[]),
            (&["*.localhost"], &[], "db.localhost:80", &["127.0.0.1"], &["127.0.0.1"]),
            (&["*"], &[], "localhost:80", &["127.0.0.1", "::1"], &[]),
            (&["*"], &[], "db.localhost:80", &["127.0.0.1"], &[]),
            (&["*"], &[], "a.org:80", &["127.0.0.1"], &[]),
            (
                &["169.254.169.254"],
                &[],
                "169.254.169.254:80",
                &["169.254.169.254"],
                &["169.254.169.254"],
            ),
            (&["a.org"], &[], "a.org:80", &[], &[]),
        ] {
            let target = Target::parse(target, None).expect("a target");
            let found: Vec<IpAddr> = found.iter().map(|text| address(text)).collect();
            let opened = rules(allowed, denied)
                .open(&target, &found, crate::exec::proxy::address::near)
                .unwrap_or_default();
            let expected: Vec<IpAddr> = open.iter().map(|text| address(text)).collect();
            assert_eq!(opened, expected, "{allowed:?} {target} {found:?}");
        }
    }
}
