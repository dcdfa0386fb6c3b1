//! What the model asks for, held against the disk and against what may be asked for at all; and how it is put to the person.

use crate::agent::turn::Turn;
use crate::config::permissions::Host;
use crate::exec::{Confinement, PROTECTED, git_folders};
use crate::protocol::permission::Permission;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders of the kernel: names there mean something else to each process.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// What a permission comes to: links followed, and checked to be one that can be given. The error is for the model.
pub(super) fn checked(turn: &Turn, wanted: Permission) -> Result<Permission, String> {
    Ok(match wanted {
        Permission::Read { path } => {
            let real = existing(&path)?;
            let own = fs::canonicalize(&turn.services.home).unwrap_or_else(|_| turn.services.home.clone());
            if real.starts_with(&own) {
                return Err(format!(
                    "{} is Countersign's own, which nobody can open for you.",
                    path.display()
                ));
            }
            Permission::Read { path: real }
        }
        Permission::Write { path } => writable(turn, &path)?,
        Permission::GitMetadata { repository } => {
            let real = existing(&repository)?;
            let real = match real.file_name() {
                Some(name) if name == ".git" => real.parent().map(Path::to_owned).unwrap_or(real),
                _ => real,
            };
            if git_folders(&real).is_empty() {
                return Err(format!("{} is no git repository.", repository.display()));
            }
            Permission::GitMetadata { repository: real }
        }
        Permission::Network => Permission::Network,
        Permission::Host { host, port } => {
            let (host, port) = host_and_port(&host, port)?;
            Permission::Host { host, port }
        }
        Permission::LoopbackPort { port: 0 } => {
            return Err("0 is no port that can be reached. Name the port itself.".to_owned());
        }
        Permission::LoopbackPort { port } => Permission::LoopbackPort { port },
        Permission::UnixSocket { path } => {
            let real = existing(&path)?;
            if !is_socket(&real) {
                return Err(format!("{} is no socket.", path.display()));
            }
            Permission::UnixSocket { path: real }
        }
    })
}

fn existing(path: &Path) -> Result<PathBuf, String> {
    fs::canonicalize(path).map_err(|error| {
        format!(
            "{} cannot be opened: {error}. Name what is there; for what is to be made, the folder that it is made in.",
            path.display()
        )
    })
}

fn writable(turn: &Turn, path: &Path) -> Result<Permission, String> {
    let real = existing(path)?;
    let shown = path.display();
    if real.parent().is_none() {
        return Err("/ is never opened for writing. Name the folder that is needed.".to_owned());
    }
    if KERNEL.iter().any(|kernel| real.starts_with(kernel)) {
        return Err(format!(
            "{shown} is in a folder of the kernel, which is never opened for writing."
        ));
    }
    let own = fs::canonicalize(&turn.services.home).unwrap_or_else(|_| turn.services.home.clone());
    if real.starts_with(&own) || own.starts_with(&real) && super::home_of(&turn.services).as_deref() != Some(&real) {
        return Err(format!(
            "{shown} is Countersign's own folder or holds it, which is never opened for writing."
        ));
    }
    if real.file_name().is_some_and(|name| name == ".git")
        && let Some(repository) = real.parent()
        && !git_folders(repository).is_empty()
    {
        return Ok(Permission::GitMetadata {
            repository: repository.to_owned(),
        });
    }
    let is_protected = |part: Component<'_>| PROTECTED.iter().any(|name| part == Component::Normal(name.as_ref()));
    if real.components().any(is_protected) {
        return Err(format!(
            "{shown} is in a protected folder ({}), which only the person changes. For commits and branches ask for \
             gitMetadata; anything else, tell the person.",
            PROTECTED.join(", ")
        ));
    }
    Ok(Permission::Write { path: real })
}

fn host_and_port(host: &str, port: Option<u16>) -> Result<(String, Option<u16>), String> {
    let text = host.trim().trim_end_matches('.').to_lowercase();
    let text = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
    let text = text.split('/').next().unwrap_or_default();
    let is_address = text.parse::<std::net::Ipv6Addr>().is_ok();
    let (name, written) = match text.rsplit_once(':') {
        Some((name, digits)) if !is_address => match digits.parse() {
            Ok(number) => (name, Some(number)),
            Err(_) => return Err(format!("{host:?} is not the name of a host.")),
        },
        _ => (text, None),
    };
    let port = port.or(written);
    let parsed = Host::parse(name).map_err(|why| format!("{host:?} {why}."))?;
    let wide = match &parsed {
        Host::Every | Host::Range(..) => true,
        // Whatever is below a whole domain such as `org` is anybody's.
        Host::Below(name) => !name.contains('.'),
        Host::Name(_) | Host::Address(_) => false,
    };
    if wide || port == Some(0) {
        return Err(format!(
            "{host:?} cannot be asked for. Name one host, or all names below one (*.example.org); its port goes into `port`."
        ));
    }
    Ok((parsed.to_string(), port))
}

#[cfg(unix)]
fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

#[cfg(not(unix))]
fn is_socket(_path: &Path) -> bool {
    false
}

/// Whether a run so confined may do it already.
pub(super) fn is_allowed(turn: &Turn, confinement: &Confinement, permission: &Permission) -> bool {
    match permission {
        // Tools keep to it also where commands run without a sandbox.
        Permission::Read { path } => confinement.may_read(path) && turn.closed().may_read(path),
        other => confinement.allows(other),
    }
}

/// What of the answer is a part of what was asked.
pub(super) fn part(asked: &[Permission], given: Vec<Permission>) -> Vec<Permission> {
    let mut part: Vec<Permission> = Vec::new();
    for one in given.into_iter().filter_map(real) {
        if asked.iter().any(|asked| covers(asked, &one)) && !part.contains(&one) {
            part.push(one);
        }
    }
    part
}

/// Its path with links followed; nothing for a path that is not there.
fn real(permission: Permission) -> Option<Permission> {
    Some(match permission {
        Permission::Read { path } => Permission::Read {
            path: fs::canonicalize(path).ok()?,
        },
        Permission::Write { path } => Permission::Write {
            path: fs::canonicalize(path).ok()?,
        },
        other => other,
    })
}

fn covers(asked: &Permission, given: &Permission) -> bool {
    match (asked, given) {
        (Permission::Read { path: asked }, Permission::Read { path: given })
        | (Permission::Write { path: asked }, Permission::Write { path: given }) => given.starts_with(asked),
        (Permission::Network, Permission::Host { .. } | Permission::LoopbackPort { .. }) => true,
        (
            Permission::Host {
                host: asked,
                port: None,
            },
            Permission::Host { host: given, .. },
        ) => is_part(asked, given),
        (
            Permission::Host {
                host: asked,
                port: Some(asked_port),
            },
            Permission::Host {
                host: given,
                port: Some(given_port),
            },
        ) => asked_port == given_port && is_part(asked, given),
        (asked, given) => asked == given,
    }
}

/// Whether a host is the one that was asked for, or one of those.
fn is_part(asked: &str, given: &str) -> bool {
    match (Host::parse(asked), Host::parse(given)) {
        (Ok(asked), Ok(given)) => asked.covers(&given),
        _ => asked == given,
    }
}

/// What must be said plainly of a permission before it is given; nothing of an ordinary one.
pub(super) fn warning(turn: &Turn, permission: &Permission) -> Option<String> {
    let home = super::home_of(&turn.services).map(|home| fs::canonicalize(&home).unwrap_or(home));
    danger(home.as_deref(), permission)
}

fn danger(home: Option<&Path>, permission: &Permission) -> Option<String> {
    let in_home = |path: &Path, name: &str| home.is_some_and(|home| path.starts_with(home.join(name)));
    match permission {
        Permission::Write { path } => {
            let shown = path.display();
            if home == Some(path.as_path()) {
                return Some(format!(
                    "Careful: {shown} is the whole home folder: settings, keys, start-up files and all other projects could be \
                     changed."
                ));
            }
            if home.is_some_and(|home| home.starts_with(path)) {
                return Some(format!(
                    "Careful: {shown} holds the home folder and everything beside it."
                ));
            }
            if [".ssh", ".gnupg", ".aws", ".kube", ".docker"]
                .iter()
                .any(|name| in_home(path, name))
            {
                return Some(format!(
                    "Careful: {shown} is where keys are kept; who writes there can let others in."
                ));
            }
            let holds = |name: &str| home.is_some_and(|home| home.join(name).starts_with(path));
            if crate::exec::starts_of_home()
                .iter()
                .any(|name| in_home(path, name) || holds(name))
            {
                return Some(format!(
                    "Careful: {shown} holds what programs of yours start with; what is written there runs outside the sandbox."
                ));
            }
            if path
                .file_name()
                .is_some_and(|name| crate::exec::acts_later(Path::new(name)))
            {
                return Some(format!(
                    "Careful: other programs act on {shown} by themselves; what is written there can run outside the sandbox."
                ));
            }
            belongs_to_system(path).then(|| format!("Careful: {shown} belongs to the system."))
        }
        Permission::Read { path } => {
            let shown = path.display();
            let all = path.parent().is_none() || home.is_some_and(|home| home.starts_with(path));
            Some(match all {
                true => format!("Careful: with {shown} all keys and passwords below it could be read."),
                false => format!(
                    "Careful: {shown} is closed since secrets are kept there; the model would see what is in it."
                ),
            })
        }
        Permission::Network => {
            Some("Careful: with the network, what a command can read it can send anywhere.".to_owned())
        }
        Permission::UnixSocket { path } => {
            // Few sockets are known to be harmless, and many services behind one start programs.
            Some(format!(
                "Careful: what listens at {} runs outside the sandbox and does there what it is asked, which may be to start programs.",
                path.display()
            ))
        }
        Permission::LoopbackPort { port } => Some(format!(
            "Careful: what listens on port {port} of this machine runs outside the sandbox and does there what it is asked."
        )),
        Permission::Host { host, .. } => match Host::parse(host) {
            Ok(Host::Below(name)) => Some(format!(
                "Careful: every host below {name} could be reached, now and later."
            )),
            Ok(Host::Address(address)) => crate::exec::near(address).map(|what| {
                format!("Careful: {address} is {what}, which is reachable only if you allow that very address.")
            }),
            _ => None,
        },
        Permission::GitMetadata { .. } => None,
    }
}

/// Whether a place is the system's rather than the person's.
fn belongs_to_system(path: &Path) -> bool {
    let depth = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .count();
    let system = [
        "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/opt", "/var", "/root", "/Library", "/System",
    ];
    let temporary = ["/var/tmp", "/usr/local/src", "/usr/src"];
    depth == 1
        || system.iter().any(|place| path.starts_with(place)) && !temporary.iter().any(|place| path.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dangerous_is_said_by_table() {
        let write = |path: &str| Permission::Write { path: path.into() };
        let socket = |path: &str| Permission::UnixSocket { path: path.into() };
        let home = Path::new("/home/p");
        for (permission, expected) in [
            (write("/home/p/other"), None),
            (write("/home/p/other/sub"), None),
            (write("/home/p"), Some("the whole home folder")),
            (write("/home"), Some("holds the home folder")),
            (write("/home/p/.ssh"), Some("keys are kept")),
            (write("/home/p/.bashrc"), Some("programs of yours start with")),
            (write("/home/p/.zshenv"), Some("programs of yours start with")),
            (write("/home/p/.bash_aliases"), Some("programs of yours start with")),
            (write("/home/p/.xprofile"), Some("programs of yours start with")),
            (write("/home/p/.gitconfig"), Some("programs of yours start with")),
            (write("/home/p/.npmrc"), Some("programs of yours start with")),
            (write("/home/p/bin"), Some("programs of yours start with")),
            (write("/home/p/bin/sub"), Some("programs of yours start with")),
            (write("/home/p/.local"), Some("programs of yours start with")),
            (write("/home/p/go"), Some("programs of yours start with")),
            (write("/home/p/other/.envrc"), Some("act on")),
            (write("/etc/x"), Some("belongs to the system")),
            (socket("/run/user/0/bus"), Some("start programs")),
            (socket("/run/user/0/systemd/private"), Some("start programs")),
            (socket("/tmp/tmux-1000/default"), Some("start programs")),
            (socket("/run/user/0/vscode-ipc-1.sock"), Some("start programs")),
            (socket("/run/snapd.socket"), Some("start programs")),
            (Permission::LoopbackPort { port: 2375 }, Some("port 2375")),
            (Permission::Network, Some("send anywhere")),
        ] {
            let said = danger(Some(home), &permission);
            assert_eq!(said.is_some(), expected.is_some(), "{permission}: {said:?}");
            let words = expected.unwrap_or_default();
            assert!(said.unwrap_or_default().contains(words), "{permission} {words}");
        }
    }

    #[test]
    fn hosts_as_they_are_written() {
        for (written, port, expected) in [
            ("Crates.IO", None, Some(("crates.io", None))),
            ("crates.io:443", None, Some(("crates.io", Some(443)))),
            ("https://crates.io/api", None, Some(("crates.io", None))),
            ("crates.io.", Some(80), Some(("crates.io", Some(80)))),
            ("::1", Some(80), Some(("::1", Some(80)))),
            ("[::1]:80", None, Some(("::1", Some(80)))),
            ("10.0.0.1", None, Some(("10.0.0.1", None))),
            ("*.crates.io", None, Some(("*.crates.io", None))),
            ("*.io", None, None),
            ("*", None, None),
            ("a*.crates.io", None, None),
            ("10.0.0.0/8", None, Some(("10.0.0.0", None))),
            ("crates.io@evil.org", None, None),
            ("2130706433", None, None),
            ("crates.io\u{0}.evil.org", None, None),
            ("münchen.example", None, Some(("xn--mnchen-3ya.example", None))),
            ("", None, None),
            ("a b", None, None),
            ("a:b", None, None),
            ("a", Some(0), None),
        ] {
            let found = host_and_port(written, port).ok();
            let expected = expected.map(|(host, port)| (host.to_owned(), port));
            assert_eq!(found, expected, "{written}");
        }
    }

    #[test]
    fn only_a_part_of_what_was_asked_is_given() {
        let write = |path: &str| Permission::Write { path: path.into() };
        let host = |port| Permission::Host {
            host: "a.org".to_owned(),
            port,
        };
        for (asked, given, expected) in [
            (vec![write("/usr")], vec![write("/usr")], 1),
            (vec![write("/usr")], vec![write("/usr/bin")], 1),
            (vec![write("/usr/bin")], vec![write("/usr")], 0),
            (vec![write("/usr")], vec![write("/usr/../etc")], 0),
            (vec![write("/usr")], vec![Permission::Read { path: "/usr".into() }], 0),
            (vec![Permission::Network], vec![host(None)], 1),
            (vec![host(None)], vec![Permission::Network], 0),
            (vec![host(None)], vec![host(Some(1)), host(Some(1))], 1),
            (vec![host(Some(1))], vec![host(None), host(Some(2))], 0),
            (vec![host(None)], vec![], 0),
        ] {
            assert_eq!(part(&asked, given.clone()).len(), expected, "{asked:?} {given:?}");
        }
    }
}
