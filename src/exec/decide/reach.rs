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
            // `-o/etc/x`: what follows a letter may be its value.
            if is_option && !argument.starts_with("--") && host(argument).is_none() {
                reach.elsewhere |= attached(argument).any(|value| leads_elsewhere(value, cwd));
            }
        }
        reach
    }
}

/// Paths that may be the value of a short option: behind its letter, or behind one among others that mostly takes a path.
fn attached(argument: &str) -> impl Iterator<Item = &str> {
    let starts = argument.char_indices().skip(2).filter_map(move |(at, c)| {
        let letter = argument[..at].chars().next_back();
        let takes = at == 2 || letter.is_some_and(|letter| "tToOdDCfP".contains(letter));
        (takes && matches!(c, '/' | '~' | '.')).then_some(at)
    });
    starts.map(move |at| &argument[at..])
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
