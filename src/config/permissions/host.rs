//! Hosts as they are granted: a name, all names below one, an address, a range of addresses. One spelling for each, so that
//! what is asked for and what was granted can be compared by their text.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest name that the system of names knows.
const LONGEST: usize = 253;
/// Longest part of a name.
const LONGEST_LABEL: usize = 63;

/// A host that may, or may not, be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// Lower case, in ASCII, without a dot at its end.
    Name(String),
    /// `*.example.org`: every name below, at any depth, and not the name itself.
    Below(String),
    /// `*`: every name but this machine's own, which only grants that name it open.
    Every,
    Address(IpAddr),
    /// `10.0.0.0/8`: the addresses, also where a granted name leads to one of them.
    Range(IpAddr, u8),
}

/// What is wrong with a host, as the end of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHost {
    #[error("is not the name of a host")]
    Odd,
    #[error("is a number that some programs take for an address; write the address itself")]
    Number,
    #[error("names hosts by a pattern that is not understood; write *.example.org for all names below example.org")]
    Pattern,
    #[error("is no range of addresses; write ADDRESS/BITS, as in 10.0.0.0/8")]
    Range,
}

impl Host {
    /// Reads a host as it is granted.
    ///
    /// # Errors
    /// It is none; what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, NoHost> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Every);
        }
        if let Some((address, bits)) = text.split_once('/') {
            let address = plain(address).parse::<IpAddr>().map_err(|_| NoHost::Range)?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.parse().ok().filter(|bits| *bits <= most).ok_or(NoHost::Range)?;
            return Ok(Self::Range(address, bits));
        }
        if let Some(below) = text.strip_prefix("*.") {
            return match one(below)? {
                Self::Name(name) => Ok(Self::Below(name)),
                _ => Err(NoHost::Pattern),
            };
        }
        if text.contains(['*', '?']) {
            return Err(NoHost::Pattern);
        }
        one(text)
    }

    /// Whether a host that is asked for is this one, or one of these.
    pub fn covers(&self, asked: &Self) -> bool {
        match (self, asked) {
            (Self::Below(parent), Self::Name(name) | Self::Below(name)) => {
                let above = name.strip_suffix(parent.as_str());
                above.is_some_and(|above| above.len() > 1 && above.ends_with('.'))
                    || *asked == Self::Below(parent.clone())
            }
            (Self::Every, Self::Name(_) | Self::Below(_)) => !asked.is_this_machine(),
            (Self::Address(_) | Self::Range(..), Self::Address(address)) => self.holds(*address),
            _ => self == asked,
        }
    }

    /// Whether it names this address, by itself or with others.
    pub fn holds(&self, address: IpAddr) -> bool {
        match self {
            Self::Address(known) => known.to_canonical() == address.to_canonical(),
            Self::Range(IpAddr::V4(net), bits) => match address.to_canonical() {
                IpAddr::V4(address) => shares(net.to_bits().into(), address.to_bits().into(), u32::from(*bits) + 96),
                IpAddr::V6(_) => false,
            },
            Self::Range(IpAddr::V6(net), bits) => match address.to_canonical() {
                IpAddr::V6(address) => shares(net.to_bits(), address.to_bits(), (*bits).into()),
                IpAddr::V4(_) => false,
            },
            _ => false,
        }
    }

    /// Whether it is this machine and nothing else, by one name or one address.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(_) => self.is_this_machine(),
            Self::Address(address) => address.is_loopback(),
            Self::Below(_) | Self::Every | Self::Range(..) => false,
        }
    }

    /// Whether it is this machine by its name, or by all names below it.
    pub fn is_this_machine(&self) -> bool {
        match self {
            Self::Name(name) | Self::Below(name) => name == "localhost" || name.ends_with(".localhost"),
            _ => false,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Below(name) => write!(f, "*.{name}"),
            Self::Every => f.write_str("*"),
            Self::Address(address) => write!(f, "{address}"),
            Self::Range(address, bits) => write!(f, "{address}/{bits}"),
        }
    }
}

/// Whether two addresses have their first bits in common.
fn shares(one: u128, other: u128, bits: u32) -> bool {
    bits == 0 || (one ^ other) >> (128 - bits.min(128)) == 0
}

/// Without the brackets of an address.
fn plain(text: &str) -> &str {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.unwrap_or(text)
}

/// One host: an address in its usual form, or a name. Nothing is decoded: a spelling that only some programs read as a host
/// is none.
pub(crate) fn one(text: &str) -> Result<Host, NoHost> {
    if let Ok(address) = plain(text).parse::<Ipv6Addr>() {
        return Ok(Host::Address(IpAddr::V6(address).to_canonical()));
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.is_ascii() {
        return name(&text.to_ascii_lowercase());
    }
    // As browsers write it: `xn--…`.
    if text.contains(['%', '@', '/', '\\', ':', '?', '#']) {
        return Err(NoHost::Odd);
    }
    match url::Host::parse(text) {
        Ok(url::Host::Domain(written)) => name(written.strip_suffix('.').unwrap_or(&written)),
        _ => Err(NoHost::Odd),
    }
}

fn name(text: &str) -> Result<Host, NoHost> {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let label = |label: &str| (1..=LONGEST_LABEL).contains(&label.len()) && label.bytes().all(sound);
    if text.len() > LONGEST || !text.split('.').all(label) {
        return Err(NoHost::Odd);
    }
    // What resolvers read as an address: `2130706433`, `0x7f.1`, `127.1`.
    let last = text.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last
        .strip_prefix("0x")
        .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NoHost::Number);
    }
    Ok(Host::Name(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_one_spelling() {
        for (text, expected) in [
            ("Example.ORG", Ok("example.org")),
            ("example.org.", Ok("example.org")),
            (" example.org ", Ok("example.org")),
            ("_service.example.org", Ok("_service.example.org")),
            ("münchen.example", Ok("xn--mnchen-3ya.example")),
            ("*.Example.org", Ok("*.example.org")),
            ("*", Ok("*")),
            ("[::1]", Ok("::1")),
            ("::ffff:127.0.0.1", Ok("127.0.0.1")),
            ("10.0.0.0/8", Ok("10.0.0.0/8")),
            ("[fd00::]/8", Ok("fd00::/8")),
            ("", Err(NoHost::Odd)),
            (".", Err(NoHost::Odd)),
            ("example..org", Err(NoHost::Odd)),
            (".example.org", Err(NoHost::Odd)),
            ("example.org..", Err(NoHost::Odd)),
            ("a b", Err(NoHost::Odd)),
            ("a@b", Err(NoHost::Odd)),
            ("a%2eb", Err(NoHost::Odd)),
            ("a\0b", Err(NoHost::Odd)),
            ("a\r\nb", Err(NoHost::Odd)),
            ("fe80::1%eth0", Err(NoHost::Odd)),
            ("example.org:80", Err(NoHost::Odd)),
            ("http://example.org", Err(NoHost::Range)),
            ("2130706433", Err(NoHost::Number)),
            ("127.1", Err(NoHost::Number)),
            ("0x7f.0.0.1", Err(NoHost::Number)),
            ("0177.0.0.1", Err(NoHost::Number)),
            ("example.0x7f", Err(NoHost::Number)),
            ("*.*.org", Err(NoHost::Odd)),
            ("a*.example.org", Err(NoHost::Pattern)),
            ("*.10.0.0.1", Err(NoHost::Pattern)),
            ("10.0.0.0/33", Err(NoHost::Range)),
            ("example.org/8", Err(NoHost::Range)),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(Host::parse(text).map(|host| host.to_string()), expected, "{text:?}");
        }
        let long = format!("{}.org", "a".repeat(64));
        assert_eq!(Host::parse(&long), Err(NoHost::Odd));
        assert_eq!(Host::parse(&"a.".repeat(200)), Err(NoHost::Odd));
    }

    #[test]
    fn what_covers_what() {
        for (granted, asked, expected) in [
            ("example.org", "example.org", true),
            ("example.org", "a.example.org", false),
            ("*.example.org", "a.example.org", true),
            ("*.example.org", "a.b.example.org", true),
            ("*.example.org", "example.org", false),
            ("*.example.org", "evilexample.org", false),
            ("*.example.org", "example.org.evil.org", false),
            ("*.example.org", "*.example.org", true),
            ("*.example.org", "*.a.example.org", true),
            ("*.a.example.org", "*.example.org", false),
            ("*", "a.org", true),
            ("*", "10.0.0.1", false),
            ("*", "*.a.org", true),
            ("*", "localhost", false),
            ("*", "a.localhost", false),
            ("*", "*.localhost", false),
            ("*.localhost", "a.localhost", true),
            ("*.localhost", "localhost", false),
            ("localhost", "localhost", true),
            ("a.org", "*", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.0/8", "10.9.8.7", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("0.0.0.0/0", "::1", false),
        ] {
            let host = |text: &str| Host::parse(text).expect("a host");
            assert_eq!(host(granted).covers(&host(asked)), expected, "{granted} {asked}");
        }
    }
}
