//! Where the arguments of a command lead, by their words.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The class of paths and the hosts that a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// To paths outside the working directory and the temporary folder.
    pub elsewhere: bool,
    /// To these hosts.
    pub hosts: BTreeSet<String>,
}

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

/// Options that name another program to run, whatever program they belong to. It could do anything, so a command with one
/// leads elsewhere.
const RUNNING: &[&str] = &[
    "--checkpoint-action",
    "--command",
    "--config",
    "--config-env",
    "--editor",
    "--exec",
    "--execute",
    "--exec-path",
    "--ext-diff",
    "--extcmd",
    "--gpg-program",
    "--node-options",
    "--open-files-in-pager",
    "--pager",
    "--pre",
    "--program",
    "--receive-pack",
    "--require",
    "--rsh",
    "--rsync-path",
    "--run",
    "--runner",
    "--script",
    "--script-shell",
    "--shell",
    "--textconv",
    "--to-command",
    "--upload-pack",
    "--use-compress-program",
    "--wrapper",
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-wrapper",
];

/// Settings of `ssh` that name a program to run.
const RUN_BY_SSH: &[&str] = &["proxycommand", "localcommand", "remotecommand", "knownhostscommand"];

/// Programs that take short options in one word, the last of them with its value, and those of their letters that take a
/// path.
const BUNDLING: &[(&str, &str)] = &[
    ("cp", "t"),
    ("curl", "oOTPDK"),
    ("gtar", "fCTX"),
    ("install", "t"),
    ("bsdtar", "fCTX"),
    ("ln", "t"),
    ("make", "CfI"),
    ("mv", "t"),
    ("patch", "dior"),
    ("sort", "oT"),
    ("tar", "fCTX"),
    ("unzip", "d"),
    ("wget", "aoOTP"),
];

impl Reach {
    /// The reach of one command, the program first, run in `cwd`.
    pub fn of(command: &[String], cwd: &Path) -> Self {
        let mut reach = Self::default();
        let Some((program, arguments)) = command.split_first() else {
            return reach;
        };
        let name = program.rsplit('/').next().unwrap_or(program);
        for argument in arguments {
            // The value of `--option=value` counts like a word of its own.
            let is_option = argument.starts_with('-');
            let value = argument
                .split_once('=')
                .filter(|_| is_option)
                .map_or(argument.as_str(), |(_, value)| value);
            match host(value) {
                Some(host) => drop(reach.hosts.insert(host)),
                None => {
                    reach.elsewhere |= leads_elsewhere(value, cwd);
                    if OF_HOSTS.contains(&name) && !is_option && !value.is_empty() {
                        let host = value.split(['/', ':', '?', '#']).next().unwrap_or(value);
                        reach.hosts.insert(host.to_ascii_lowercase());
                        // `name:port:address`: where the name shall lead.
                        let address = value.splitn(3, ':').nth(2);
                        reach.hosts.extend(address.map(str::to_ascii_lowercase));
                    }
                }
            }
            let option = argument.split_once('=').map_or(argument.as_str(), |(option, _)| option);
            reach.elsewhere |= RUNNING.contains(&option) || (name == "git" && argument == "-x");
            let is_short = is_option && !argument.starts_with("--");
            // `-o/etc/x`: what follows a letter may be its value.
            if is_short && host(argument).is_none() {
                reach.elsewhere |= attached_leads_elsewhere(argument, name, cwd);
            }
            if OF_HOSTS.contains(&name) {
                let lower = argument.to_ascii_lowercase();
                reach.elsewhere |= RUN_BY_SSH.iter().any(|setting| lower.contains(setting))
                    || (argument.starts_with("-e") && argument.contains('='));
                if is_short && may_name_host(argument, name) {
                    reach.hosts.insert(argument.clone());
                }
            }
        }
        reach
    }
}

/// Whether the value in the word of a short option may be a host, a proxy or a setting that names one.
fn may_name_host(argument: &str, program: &str) -> bool {
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

/// Whether the value in the word of a short option is a path that leads elsewhere: behind its letter, or, with some programs,
/// behind one among others.
fn attached_leads_elsewhere(argument: &str, program: &str, cwd: &Path) -> bool {
    let mut chars = argument[1..].chars();
    if chars.next().is_none() {
        return false;
    }
    let value = chars.as_str();
    let letters = BUNDLING.iter().find(|(name, _)| *name == program);
    let letters = letters.map_or("", |(_, letters)| letters);
    let (front, path) = value.split_at(value.find(['/', '~', '.', '$']).unwrap_or(value.len()));
    let begins = front.chars().next_back().is_none_or(|letter| letters.contains(letter));
    // Wherever in front the value begins: it leads up from there, or it does not.
    (begins && !path.is_empty() && leads_elsewhere(path, cwd)) || (path.contains("/..") && leads_elsewhere(value, cwd))
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
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

fn leads_elsewhere(text: &str, cwd: &Path) -> bool {
    if text.starts_with('~') || text.contains('$') {
        return true;
    }
    let place = clean(&cwd.join(text));
    !(place.starts_with(cwd) || place.starts_with("/tmp") || text == "/dev/null")
}

/// A path without `.` and `..`, by its words.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut place = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir => drop(place.pop()),
            _ => {}
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_is_looked_at_in_time() {
        let begun = std::time::Instant::now();
        let words = ["cp".to_owned(), format!("-a{}", "t./".repeat(8000))];
        Reach::of(&words, Path::new("/w"));
        assert!(begun.elapsed().as_secs() < 5);
    }

    #[test]
    fn by_table() {
        for (command, elsewhere, hosts) in [
            ("cp a b", false, ""),
            ("cp a /etc/x", true, ""),
            ("cp a ../x", true, ""),
            ("cp a sub/../b", false, ""),
            ("cp a ~/x", true, ""),
            ("cp a $HOME/x", true, ""),
            ("cp a /tmp/x", false, ""),
            ("cp a /tmp/../etc/x", true, ""),
            ("tool --out=/etc/x", true, ""),
            ("tool --out=x", false, ""),
            ("tool -o/etc/x", true, ""),
            ("tool -I../x", true, ""),
            ("cp -at/etc a", true, ""),
            ("cp -at../x a", true, ""),
            ("cp -atsub/x a", false, ""),
            ("tool -Isub/x --out=sub/x -L./x", false, ""),
            ("gcc -Itarget/include -Lbuild/out/lib a.c", false, ""),
            ("gcc -Itarget/../../x a.c", true, ""),
            ("tar -xfdist/a.tgz", false, ""),
            ("tar -xf/etc/a.tgz", true, ""),
            ("tar -xfdist/../../a.tgz", true, ""),
            ("tar -xC.. -fa.tgz", true, ""),
            ("unzip -qd/etc a.zip", true, ""),
            ("curl -so/etc/x a.example", true, "-so/etc/x a.example"),
            ("ssh -oProxyCommand=x a.example", true, "-oProxyCommand=x a.example"),
            ("ssh -o ProxyCommand=x a.example", true, "a.example proxycommand=x"),
            ("ssh -Jevil a.example", false, "-Jevil a.example"),
            ("ssh -vJevil a.example", false, "-vJevil a.example"),
            ("ssh -v -p2222 -4 a.example", false, "a.example"),
            ("curl -sSfL https://a.example", false, "a.example"),
            ("curl -xevil:80 https://a.example", false, "-xevil:80 a.example"),
            ("curl -sxevil https://a.example", false, "-sxevil a.example"),
            (
                "wget -ehttps_proxy=evil:80 https://a.example",
                true,
                "-ehttps_proxy=evil:80 a.example",
            ),
            ("openssl s_client -connect a.example:443", false, "a.example s_client"),
            ("curl https://A.example/x", false, "a.example"),
            ("curl --url=https://a.example", false, "a.example"),
            ("curl a.example/x b.example", false, "a.example b.example"),
            ("wget -O- a.example:80/x", false, "a.example"),
            (
                "curl --resolve a.example:80:192.0.2.1 http://a.example",
                false,
                "192.0.2.1 a.example",
            ),
            ("git clone git@a.example:x", false, "a.example"),
            ("git push origin main", false, ""),
            ("git rebase -x evil main", true, ""),
            ("cargo test --config=x", true, ""),
            ("cargo test --lib", false, ""),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let reach = Reach::of(&words, Path::new("/w"));
            let found: Vec<String> = reach.hosts.into_iter().collect();
            assert_eq!(
                (reach.elsewhere, found.join(" ").as_str()),
                (elsewhere, hosts),
                "{command}"
            );
        }
    }
}
