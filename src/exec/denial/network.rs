//! A missing network, in the words of programs.

use super::{Denial, Missing, quoted};
use crate::exec::proxy::Refused;

/// What programs say without one, in lower case.
const SIGNS: [&str; 24] = [
    "could not resolve host:",
    "could not resolve hostname",
    "couldn't resolve host",
    "unable to resolve host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "name or service not known",
    "no address associated with hostname",
    "nodename nor servname provided",
    "network is unreachable",
    "enetunreach",
    "eai_again",
    "getaddrinfo enotfound",
    "getaddrinfo failed",
    "failed to lookup address information",
    "dns error",
    "unknownhostexception",
    "socketexception: operation not permitted",
    "socket: operation not permitted",
    "could not translate host name",
    "couldn't connect to server",
    "no route to host",
    "connect eperm",
    "unknown mysql server host",
];

/// What programs say beside these where a proxy, or who connects for them, refuses a host.
const OF_PROXIES: [&str; 6] = [
    "403",
    "forbidden",
    "proxy",
    "connection",
    "not permitted",
    "not allowed",
];

/// Which of the refused hosts is why a command failed: the one that its output names, else the last where the output speaks
/// of such things. Programs ask for hosts that they do without.
pub(super) fn refused<'r>(refused: &'r [Refused], output: &str) -> Option<&'r Refused> {
    let lower = output.to_ascii_lowercase();
    let named = refused.iter().rev().find(|one| lower.contains(&one.host));
    let speaks = || lower.trim().is_empty() || SIGNS.iter().chain(&OF_PROXIES).any(|sign| lower.contains(sign));
    named.or_else(|| refused.last().filter(|_| speaks()))
}

/// What stands before the name of a host, in lower case; the surest first.
const BEFORE: [&str; 16] = [
    "could not resolve host: ",
    "could not resolve hostname ",
    "unable to resolve host address ",
    "enotfound ",
    "eai_again ",
    "enetunreach ",
    "connect eperm ",
    "lookup ",
    "temporary failure resolving ",
    "resolving ",
    "unknownhostexception: ",
    "could not translate host name ",
    "unknown mysql server host ",
    "failed to connect to ",
    "tcp connection to ",
    "host=",
];

/// Where a host follows only if nothing surer does.
const LESS_SURE: [&str; 4] = ["dial tcp ", "://", "ping: ", "connect to "];

/// Judges a line of a command without a network. A refusal that names nothing counts where the output speaks of sockets.
pub(super) fn judge(line: &str, speaks_of_sockets: bool) -> Option<Denial> {
    let lower = line.to_ascii_lowercase();
    let refused = speaks_of_sockets
        && [
            "[errno 1] operation not permitted",
            "operation not permitted (os error 1)",
        ]
        .iter()
        .any(|words| lower.trim_end().ends_with(words));
    if !refused && !SIGNS.iter().any(|sign| lower.contains(sign)) {
        return None;
    }
    let host = BEFORE.iter().chain(&LESS_SURE).find_map(|before| {
        let at = lower.find(before)? + before.len();
        host(&line[at..])
    });
    let named = host.as_ref().map(|host| format!(" ({host})")).unwrap_or_default();
    Some(Denial {
        reason: format!("the sandbox blocked the network{named}: {}", quoted(line)),
        missing: Missing::Network(host),
    })
}

/// The host at the beginning of a text, without its port.
fn host(text: &str) -> Option<String> {
    let text = text.trim_start_matches(['\'', '"', '‘', '`', '[']);
    let end = text
        .find(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_')))
        .unwrap_or(text.len());
    let host = text[..end].trim_end_matches('.');
    let named = host.contains('.') || host == "localhost" || text[end..].starts_with(['\'', '"', '’']);
    (named && host.len() > 1).then(|| host.to_owned())
}
