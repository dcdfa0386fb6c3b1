//! The hosts that the words of a command name.

use super::repository;
use std::collections::BTreeSet;

/// Schemes of addresses at which every program finds a host, and never a file or another program of this machine.
const PLAIN_SCHEMES: &[&str] = &[
    "ftp", "ftps", "git", "git+ssh", "http", "https", "ssh", "ssh+git", "ws", "wss",
];

/// Programs whose operands are hosts and addresses, also where they have no scheme.
const OF_HOSTS: &[&str] = &[
    "curl",
    "dig",
    "fetch",
    "ftp",
    "host",
    "http",
    "https",
    "lynx",
    "mosh",
    "mtr",
    "nc",
    "ncat",
    "nmap",
    "nslookup",
    "openssl",
    "ping",
    "ping6",
    "rsh",
    "sftp",
    "ssh",
    "telnet",
    "tracepath",
    "traceroute",
    "w3m",
    "wget",
    "whois",
    "xh",
];

/// Options of `wget` behind which a file is named, and no host.
const FILES_OF_WGET: &[&str] = &[
    "-O",
    "-qO",
    "-P",
    "-o",
    "-a",
    "--output-document",
    "--directory-prefix",
    "--output-file",
];

/// The letters of `curl` that take a value, and those whose value may lead to a host.
const VALUES_OF_CURL: &str = "AbcCdDeEFHKmoPQrtTuUwxXyYz";
const HOSTS_OF_CURL: &str = "KPx";
/// Options that take no value.
#[rustfmt::skip]
const FLAGS_OF_WGET: &[&str] = &[
    "-4", "-6", "-N", "-S", "-c", "-nc", "-nd", "-nv", "-q", "-v", "--continue", "--no-clobber", "--no-verbose", "--quiet",
    "--show-progress", "--timestamping", "--verbose",
];
/// The same of curl, behind their dashes.
#[rustfmt::skip]
const FLAGS_OF_CURL: &[&str] = &[
    "compressed", "create-dirs", "fail", "fail-early", "fail-with-body", "get", "globoff", "head", "http1.1", "http2", "include",
    "insecure", "ipv4", "ipv6", "location", "no-buffer", "no-progress-meter", "path-as-is", "progress-bar", "remote-header-name",
    "remote-name", "remote-name-all", "show-error", "silent", "verbose",
];
/// Long options of it whose value is no host.
#[rustfmt::skip]
const DATA_OF_CURL: &[&str] = &[
    "aws-sigv4", "cacert", "capath", "cert", "cert-type", "ciphers", "connect-timeout", "continue-at", "cookie", "cookie-jar", "data",
    "data-ascii", "data-binary", "data-raw", "data-urlencode", "dump-header", "etag-compare", "etag-save", "form", "form-string",
    "header", "json", "key", "key-type", "limit-rate", "max-filesize", "max-redirs", "max-time", "netrc-file", "oauth2-bearer",
    "output", "output-dir", "parallel-max", "pass", "proto", "proxy-user", "range", "referer", "request", "retry", "retry-delay",
    "retry-max-time", "speed-limit", "speed-time", "stderr", "time-cond", "tls-max", "trace", "trace-ascii", "upload-file",
    "url-query", "user", "user-agent", "write-out",
];

/// Whether operands of a program are hosts and addresses.
pub(super) fn are_operands_of(program: &str) -> bool {
    OF_HOSTS.contains(&program)
}

/// The hosts that a word names, or the value of an option in one: by an address, and as programs that copy from and to hosts
/// read it. What `may_be` a repository on one is read so for git, too.
pub(super) fn named(program: &str, value: &str, may_be: bool) -> impl Iterator<Item = String> {
    let by_address = host(value).filter(|_| path_of_file(value).is_none());
    by_address.into_iter().chain(host_of_copy(program, value, may_be))
}

/// Whether a word for an address may lead to something else than a host, as `file:` does: its scheme is not one of those known,
/// or the program makes several addresses of it.
pub(super) fn may_lead_elsewhere(program: &str, value: &str, is_option: bool) -> bool {
    if !OF_HOSTS.contains(&program) && !["gh", "git"].contains(&program) {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let (scheme, rest) = lower.split_at(lower.find([':', '/', '?', '#']).unwrap_or(lower.len()));
    // `main:/path` of git's names no address.
    let begins = if OF_HOSTS.contains(&program) { ":/" } else { "://" };
    let is_other = rest.starts_with(begins) && !PLAIN_SCHEMES.contains(&scheme);
    // `{a,b}` and `[a-c]`; an address of numbers has no dash.
    let is_range = |text: &str| text.split(']').next().is_some_and(|inside| inside.contains('-'));
    let spreads = lower.contains('{') || lower.split('[').skip(1).any(is_range);
    is_other || program == "curl" && !is_option && spreads
}

/// The path in `file:…`, in whatever way it is written.
pub(super) fn path_of_file(text: &str) -> Option<String> {
    let text = text.trim_start();
    let (scheme, rest) = text.split_at_checked("file:".len())?;
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or("", |at| &rest[at..]),
        None => rest,
    };
    Some(saved_as(path))
}

/// The path of an address as a file is called that is made of it: without the query, and with its escapes as what they stand for.
pub(super) fn saved_as(address: &str) -> String {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    let mut pieces = path.split('%');
    let mut name = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        match piece.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                name.push(byte);
                name.extend_from_slice(&piece.as_bytes()[2..]);
            }
            None => {
                name.push(b'%');
                name.extend_from_slice(piece.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&name).into_owned()
}

/// What a program that names a file by an address calls it: the last part of its path. None where the name cannot be told: another scheme
/// than that of the web has signs of its own (`;type=a`), and a long name is cut.
pub(super) fn name_by_address(address: &str) -> Option<String> {
    const LONGEST: usize = 200;
    let lower = address.to_ascii_lowercase();
    let of_web = ["http://", "https://"]
        .iter()
        .find_map(|scheme| lower.strip_prefix(scheme));
    let has_scheme = lower.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    // Without a scheme some guess it by the beginning of the host.
    let guessed = ["ftp.", "ftps.", "dict.", "ldap.", "imap.", "smtp.", "pop3."];
    let is_of_web = of_web.is_some() || !has_scheme && !guessed.iter().any(|start| lower.starts_with(start));
    let name = saved_as(address);
    let name = name.rsplit('/').next().unwrap_or_default();
    (is_of_web && name.len() <= LONGEST && !name.contains([';', '*', '\\'])).then(|| name.to_owned())
}

/// Whether this is an address at which every program finds the same host and nothing else.
pub(super) fn is_plain_address(text: &str) -> bool {
    let is_plain = |scheme: &str| PLAIN_SCHEMES.iter().any(|plain| plain.eq_ignore_ascii_case(scheme));
    let is_name = |host: &str| host.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:[]".contains(c));
    begins_with_a_host(text)
        && text
            .split_once("://")
            .is_some_and(|(scheme, rest)| is_plain(scheme) && is_name(authority(rest)))
}

/// Whether the value in the word of a short option may be a host, a proxy or a setting that names one.
pub(super) fn may_name_host(argument: &str, program: &str) -> bool {
    let names_one = |letter: char| "JxeoWFK".contains(letter);
    let bundles = ["curl", "sftp", "ssh", "wget"].contains(&program);
    let mut chars = argument[1..].chars();
    let Some(letter) = chars.next() else { return false };
    let value = chars.as_str();
    let behind_letter = match program {
        // Its options are whole words behind a single dash.
        "openssl" => false,
        _ if bundles => argument
            .char_indices()
            .any(|(at, c)| names_one(c) && at + 1 < argument.len()),
        _ => names_one(letter) && !value.is_empty(),
    };
    behind_letter || value.contains(['.', ':', '='])
}

/// The host in `https://host/…` and in `user@host:path`.
fn host(text: &str) -> Option<String> {
    let rest = match text.split_once("://") {
        Some((_, rest)) => rest,
        None => {
            let (place, _) = text.split_once(':')?;
            place.contains('@').then_some(place)?
        }
    };
    let host = authority(rest);
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

/// The host, with its port, at the beginning of an address behind its scheme: what stands in front of the last `@` is a name with
/// a password.
fn authority(text: &str) -> &str {
    let whole = text.split(['/', '?', '#']).next().unwrap_or(text);
    whole.rsplit('@').next().unwrap_or(whole)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Whether an address is in full, so that all programs find the same host in it.
pub(super) fn begins_with_a_host(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, rest)| is_scheme(scheme) && !authority(rest).is_empty() && !text.contains('\\'))
}

/// The hosts that a word for an address may stand for, where it has no scheme or not all of one: programs read it each in their
/// way. In `name:port:address` the last is where the name shall lead.
pub(super) fn hosts_without_scheme(text: &str) -> BTreeSet<String> {
    // `http:/host` and `http:///host` do for some.
    let behind_scheme = text
        .split_once(':')
        .filter(|(scheme, rest)| rest.starts_with('/') && is_scheme(scheme));
    let behind_scheme = behind_scheme.map(|(_, rest)| rest.trim_start_matches('/'));
    let mut hosts = BTreeSet::new();
    if path_of_file(text).is_some() {
        return hosts;
    }
    for text in [Some(text), behind_scheme].into_iter().flatten() {
        let own = authority(text);
        // What would be a password to one program is a path to another.
        let first = text.split(['/', ':', '?', '#']).next().unwrap_or(text);
        // As with a scheme, another port is another host.
        let with_port = has_port(own);
        let is_without_port = with_port && own.split(':').next() == Some(first);
        let first = (!first.contains(['@', '[']) && !is_without_port).then_some(first);
        let is_numeric = own.starts_with('[');
        let name = match own.find(']').filter(|_| is_numeric) {
            _ if with_port => own,
            Some(end) => &own[..=end],
            None => own.split(':').next().unwrap_or(own),
        };
        let address = text.splitn(3, ':').nth(2).filter(|_| !is_numeric);
        hosts.extend(
            [Some(name), first, address]
                .into_iter()
                .flatten()
                .map(str::to_ascii_lowercase),
        );
    }
    // Some take the one slash for the other, and some leave out what is not seen.
    if text.contains(|c: char| c == '\\' || c.is_control()) {
        hosts.insert(text.to_ascii_lowercase());
    }
    hosts.remove("");
    hosts
}

/// Whether a host has a port behind it, and nothing else.
fn has_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(name, port)| {
        let is_one_name = !name.contains(':') || name.starts_with('[') && name.ends_with(']');
        is_one_name && !name.is_empty() && !port.is_empty() && port.chars().all(|c| c.is_ascii_digit())
    })
}

/// Which words of git's may name a repository on a host: where it talks to one, and where one is set down.
pub(super) struct Remotes<'w> {
    others: Vec<&'w str>,
    /// Any of the operands.
    any: bool,
}

impl<'w> Remotes<'w> {
    pub(super) fn of(program: &str, arguments: &'w [String]) -> Self {
        let first = arguments.first().map(String::as_str);
        Self {
            others: repository::others(program, arguments),
            any: matches!(first, Some("remote" | "submodule")),
        }
    }

    pub(super) fn may_be(&self, word: &str, is_option: bool) -> bool {
        let has_dot = || word.split(':').next().is_some_and(|place| place.contains('.'));
        self.any || self.others.contains(&word) || is_option && has_dot()
    }
}

/// Whether a word that looks like an option may be the value of the one before it, which takes none then.
pub(super) fn may_be_a_value(program: &str, before: &str) -> bool {
    if !before.starts_with('-') || before.contains('=') {
        return false;
    }
    match (program, before.strip_prefix("--")) {
        ("wget", _) => !FLAGS_OF_WGET.contains(&before),
        ("curl", Some(long)) => !FLAGS_OF_CURL.contains(&long),
        ("curl", None) => {
            let value = before.find(|letter: char| VALUES_OF_CURL.contains(letter));
            value.is_some_and(|at| at + 1 == before.len())
        }
        _ => false,
    }
}

/// Whether the word behind an option is no host.
pub(super) fn names_no_host(program: &str, option: &str) -> bool {
    match (program, option.strip_prefix("--"), option.strip_prefix('-')) {
        ("wget", ..) => FILES_OF_WGET.contains(&option),
        ("curl", Some(long), _) => DATA_OF_CURL.contains(&long),
        // The first letter that takes a value takes the rest of the word, if there is any.
        ("curl", None, Some(letters)) => match letters.find(|letter: char| VALUES_OF_CURL.contains(letter)) {
            Some(at) => at + 1 == letters.len() && !letters.ends_with(|letter: char| HOSTS_OF_CURL.contains(letter)),
            None => false,
        },
        _ => false,
    }
}

/// The host in `host:path`, of programs that copy from and to hosts; for git where it may stand for a repository.
fn host_of_copy(program: &str, text: &str, is_remote: bool) -> Option<String> {
    let (place, _) = text.split_once(':')?;
    let is_host = match program {
        // Of addresses they know but their own: any other scheme is a host to them.
        "rcp" | "rsync" | "scp" | "sftp" => !text.strip_prefix(program).is_some_and(|rest| rest.starts_with("://")),
        "git" => is_remote && !begins_with_a_host(text),
        _ => false,
    };
    let host = place.rsplit('@').next().unwrap_or(place);
    (is_host && !host.is_empty() && !place.contains('/')).then(|| host.to_ascii_lowercase())
}
