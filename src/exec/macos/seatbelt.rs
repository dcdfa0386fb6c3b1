//! The text of a Seatbelt profile from what the walls let through: everything is denied but what is allowed here. In
//! this language the last rule that fits counts, so rules about places stand in the order of their depth.
//!
//! Paths are parameters, never part of the text: a quotation mark in a name changes no rule.
#![cfg_attr(not(target_os = "macos"), allow(dead_code, reason = "macOS only, tested everywhere"))]

use crate::config::permissions::Host;
use crate::exec::confinement::Walls;
use crate::exec::protected::Guard;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What `sandbox-exec` is given.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::exec) struct Profile {
    pub text: String,
    /// Names and values, for `-D`.
    pub parameters: Vec<(String, String)>,
}

/// What Seatbelt cannot enforce. The command is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::exec) enum SeatbeltError {
    #[error(
        "this host cannot be let through on macOS, whose sandbox knows the ports of this machine, and hosts through the proxy for \
         their names; name the port with it, or let the whole network through: {0}"
    )]
    Host(String),
    #[error("a path that is not valid UTF-8 cannot be given to the sandbox; rename it: {}", .0.display())]
    Path(PathBuf),
}

/// What every program needs, and what it may do to its own kind.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow user-preference-read)
(allow ipc-posix-sem)
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))
(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.notification_center"))
(allow mach-lookup (global-name "com.apple.PowerManagement.control"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write* (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
(allow file-ioctl (regex #"^/dev/ttys[0-9]+$"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper"))
(allow file-ioctl (literal "/dev/tty") (literal "/dev/dtracehelper"))
(allow file-read*)
"#;

/// Connections by address, and the services that look up names and check certificates.
const NETWORK: &str = r#"(allow system-socket (require-any (socket-domain AF_INET) (socket-domain AF_INET6) (socket-domain AF_ROUTE)))
(allow network-outbound (remote ip))
(allow network-inbound (local ip))
(allow network-bind (local ip))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd"))
(allow mach-lookup (global-name "com.apple.SystemConfiguration.DNSConfiguration"))
(allow mach-lookup (global-name "com.apple.dnssd.service"))
(allow mach-lookup (global-name "com.apple.networkd"))
(allow mach-lookup (global-name "com.apple.ocspd"))
(allow mach-lookup (global-name "com.apple.SecurityServer"))
(allow mach-lookup (global-name "com.apple.trustd.agent"))
"#;

/// How a place is treated, in the order in which rules of one depth stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    Write,
    /// A folder on the way to something protected: what is in it may change, it stays where it is.
    Stay,
    Keep,
    Hide,
}

impl Profile {
    /// The profile of these walls, whose paths are canonical.
    ///
    /// # Errors
    /// They ask for what Seatbelt cannot do.
    pub(in crate::exec) fn of(walls: &Walls) -> Result<Self, SeatbeltError> {
        let mut profile = Self {
            text: BASE.to_owned(),
            parameters: Vec::new(),
        };
        for (path, rule) in places(walls) {
            let name = profile.parameter("PLACE", &path)?;
            profile.rule(&match rule {
                Rule::Write => format!("(allow file-write* (subpath (param \"{name}\")))"),
                Rule::Stay => format!("(deny file-write-unlink (literal (param \"{name}\")))"),
                Rule::Keep => format!("(deny file-write* (subpath (param \"{name}\")))"),
                Rule::Hide => format!(
                    "(deny file-read* file-write* process-exec (subpath (param \"{name}\")))\n\
                     (allow file-read-metadata (literal (param \"{name}\")))"
                ),
            });
        }
        profile.connections(walls)?;
        Ok(profile)
    }

    fn connections(&mut self, walls: &Walls) -> Result<(), SeatbeltError> {
        if walls.network {
            self.text.push_str(NETWORK);
        } else {
            let mut ports = walls.loopback_ports.clone();
            for (host, port) in &walls.hosts {
                let is_loopback = Host::parse(host).is_ok_and(|host| host.is_loopback());
                match port {
                    Some(port) if is_loopback => ports.push(*port),
                    // The proxy leads there, and its port is among those of the loopback.
                    _ if walls.proxy.is_some() && !is_loopback => {}
                    _ => return Err(SeatbeltError::Host(host.clone())),
                }
            }
            if !ports.is_empty() {
                self.rule("(allow system-socket (require-any (socket-domain AF_INET) (socket-domain AF_INET6)))");
            }
            for port in ports {
                self.rule(&format!("(allow network-outbound (remote tcp \"localhost:{port}\"))"));
            }
        }
        if !walls.sockets.is_empty() {
            self.rule("(allow system-socket (socket-domain AF_UNIX))");
        }
        for socket in &walls.sockets {
            let name = self.parameter("SOCKET", socket)?;
            self.rule(&format!("(allow network-outbound (literal (param \"{name}\")))"));
        }
        Ok(())
    }

    fn rule(&mut self, text: &str) {
        let _never_fails = writeln!(self.text, "{text}");
    }

    fn parameter(&mut self, kind: &str, path: &Path) -> Result<String, SeatbeltError> {
        let value = path.to_str().ok_or_else(|| SeatbeltError::Path(path.to_owned()))?;
        let name = format!("{kind}_{}", self.parameters.len());
        self.parameters.push((name.clone(), value.to_owned()));
        Ok(name)
    }
}

/// The rules about places, outer before inner. What is not there yet is protected by its name like anything else.
fn places(walls: &Walls) -> Vec<(PathBuf, Rule)> {
    let guard = Guard::of_walls(walls);
    let missing = guard.missing.iter().map(|(folder, name)| folder.join(name));
    let awaited = guard.awaited.iter().map(|(_, target)| target.clone());
    let there = guard.existing.iter().chain(&guard.standing).cloned();
    let kept: Vec<PathBuf> = there.chain(missing).chain(awaited).collect();
    let mut rules: Vec<(PathBuf, Rule)> = walls.roots.iter().map(|root| (root.clone(), Rule::Write)).collect();
    for path in kept.iter().chain(&guard.hidden) {
        let inside = |folder: &&Path| walls.roots.iter().any(|root| folder.starts_with(root));
        let way = path.ancestors().skip(1).take_while(inside);
        rules.extend(way.map(|folder| (folder.to_owned(), Rule::Stay)));
    }
    let hidden = |path: &PathBuf| guard.hidden.contains(path);
    rules.extend(
        kept.iter()
            .filter(|path| !hidden(path))
            .map(|path| (path.clone(), Rule::Keep)),
    );
    rules.sort_by_key(|(path, rule)| (path.components().count(), *rule));
    // Whatever else is said: last.
    rules.extend(guard.hidden.iter().map(|path| (path.clone(), Rule::Hide)));
    rules.dedup();
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn canonical(dir: &tempfile::TempDir) -> PathBuf {
        fs::canonicalize(dir.path()).expect("temporary folder")
    }

    /// The rules about places, with the parameters put in.
    fn rules(profile: &Profile) -> Vec<String> {
        let own = profile.text.strip_prefix(BASE).expect("begins with what all need");
        let mut text = own.to_owned();
        for (name, value) in &profile.parameters {
            text = text.replace(&format!("(param \"{name}\")"), value);
        }
        text.lines().map(str::to_owned).collect()
    }

    fn is_balanced(text: &str) -> bool {
        let mut depth = 0i32;
        for line in text.lines() {
            depth += line.matches('(').count() as i32 - line.matches(')').count() as i32;
            if depth != 0 {
                return false;
            }
        }
        true
    }

    /// Shows S-164.
    #[test]
    fn everything_is_denied_but_reading() {
        let profile = Profile::of(&Walls::default()).expect("a profile");
        assert_eq!(profile.text, BASE);
        assert!(profile.parameters.is_empty());
        assert!(profile.text.starts_with("(version 1)\n(deny default)\n"));
        for never in [
            "network",
            "system-socket",
            "file-write* (subpath",
            "allow default",
            "mach-register",
            "ptrace",
        ] {
            assert!(!profile.text.contains(never), "{never}");
        }
        assert!(is_balanced(BASE) && is_balanced(NETWORK));
    }

    #[test]
    fn protected_places_come_after_the_roots_around_them() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        fs::create_dir_all(root.join("deep/ws/.git")).expect("mkdir");
        let ws = root.join("deep/ws");
        let walls = Walls {
            roots: vec![ws.clone(), root.clone()],
            ..Walls::default()
        };
        let rules = rules(&Profile::of(&walls).expect("a profile"));
        let at = |rule: String| {
            rules
                .iter()
                .position(|found| *found == rule)
                .unwrap_or_else(|| panic!("no {rule} in {rules:#?}"))
        };
        let outer = at(format!("(allow file-write* (subpath {}))", root.display()));
        let inner = at(format!("(allow file-write* (subpath {}))", ws.display()));
        assert!(outer < inner);
        for name in [".git", ".codex", ".agents", ".countersign"] {
            assert!(
                at(format!("(deny file-write* (subpath {}))", ws.join(name).display())) > inner,
                "{name}"
            );
        }
        for folder in [&ws, &root.join("deep"), &root] {
            at(format!("(deny file-write-unlink (literal {}))", folder.display()));
        }
    }

    #[test]
    fn a_grant_inside_something_protected_counts() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        fs::create_dir_all(root.join(".git/refs")).expect("mkdir");
        let refs = root.join(".git/refs");
        let walls = Walls {
            roots: vec![refs.clone(), root.clone()],
            ..Walls::default()
        };
        let rules = rules(&Profile::of(&walls).expect("a profile"));
        let at = |start: &str| rules.iter().position(|rule| rule.starts_with(start)).expect("a rule");
        let denied = at(&format!("(deny file-write* (subpath {}))", root.join(".git").display()));
        let allowed = at(&format!("(allow file-write* (subpath {}))", refs.display()));
        assert!(denied < allowed, "{rules:#?}");
    }

    #[test]
    fn hidden_places_come_last_and_read_only_ones_stay() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = canonical(&dir);
        fs::create_dir_all(root.join("a/kept")).expect("mkdir");
        let (kept, secret) = (root.join("a/kept"), root.join("secret"));
        let walls = Walls {
            roots: vec![root.clone()],
            read_only: vec![kept.clone()],
            unreadable: vec![secret.clone(), "/elsewhere/key".into()],
            ..Walls::default()
        };
        let rules = rules(&Profile::of(&walls).expect("a profile"));
        assert!(rules.contains(&format!("(deny file-write* (subpath {}))", kept.display())));
        assert!(rules.contains(&format!(
            "(deny file-write-unlink (literal {}))",
            root.join("a").display()
        )));
        let hidden = |path: &Path| {
            format!(
                "(deny file-read* file-write* process-exec (subpath {}))",
                path.display()
            )
        };
        let last = rules.len() - 4;
        assert_eq!(rules[last], hidden(&secret));
        assert_eq!(rules[last + 2], hidden(Path::new("/elsewhere/key")));
    }

    #[test]
    fn connections_by_table() {
        let local = |port| format!("(allow network-outbound (remote tcp \"localhost:{port}\"))");
        for (network, ports, hosts, sockets, expected) in [
            (false, vec![], vec![], vec![], Ok(vec![])),
            (false, vec![8080], vec![], vec![], Ok(vec![local(8080)])),
            (false, vec![], vec![("localhost", Some(1))], vec![], Ok(vec![local(1)])),
            (false, vec![], vec![("::1", Some(2))], vec![], Ok(vec![local(2)])),
            (
                false,
                vec![],
                vec![("db.localhost", Some(3))],
                vec![],
                Ok(vec![local(3)]),
            ),
            (
                false,
                vec![],
                vec![("*.localhost", Some(4))],
                vec![],
                Err("*.localhost"),
            ),
            (false, vec![], vec![("127.0.0.1", None)], vec![], Err("127.0.0.1")),
            (
                false,
                vec![],
                vec![("example.org", Some(443))],
                vec![],
                Err("example.org"),
            ),
            (
                false,
                vec![],
                vec![],
                vec!["/run/agent"],
                Ok(vec!["(allow network-outbound (literal /run/agent))".to_owned()]),
            ),
            (
                true,
                vec![8080],
                vec![("example.org", None)],
                vec![],
                Ok(vec!["(allow network-outbound (remote ip))".to_owned()]),
            ),
        ] {
            let walls = Walls {
                network,
                loopback_ports: ports,
                hosts: hosts.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect(),
                sockets: sockets.iter().map(PathBuf::from).collect(),
                ..Walls::default()
            };
            match (Profile::of(&walls), expected) {
                (Ok(profile), Ok(expected)) => {
                    let rules = rules(&profile);
                    for rule in &expected {
                        assert!(rules.contains(rule), "{rule} in {rules:#?}");
                    }
                    let ways_out = rules.iter().filter(|rule| rule.contains("network-outbound")).count();
                    assert_eq!(ways_out, if network { 2 } else { expected.len() }, "{rules:#?}");
                }
                (Err(error), Err(host)) => assert_eq!(error, SeatbeltError::Host(host.to_owned())),
                (found, expected) => panic!("{found:?} {expected:?}"),
            }
        }
    }

    #[test]
    fn names_change_no_rule() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let evil = canonical(&dir).join("a\")) (allow default) (x \"");
        fs::create_dir(&evil).expect("mkdir");
        let walls = Walls {
            roots: vec![evil.clone()],
            ..Walls::default()
        };
        let profile = Profile::of(&walls).expect("a profile");
        assert!(!profile.text.contains("allow default") && is_balanced(&profile.text));
        assert!(profile.parameters.iter().any(|(_, value)| Path::new(value) == evil));
        use std::os::unix::ffi::OsStringExt as _;
        let odd = PathBuf::from(std::ffi::OsString::from_vec(b"/tmp/\xff".to_vec()));
        let walls = Walls {
            roots: vec![odd.clone()],
            ..Walls::default()
        };
        assert_eq!(Profile::of(&walls), Err(SeatbeltError::Path(odd)));
    }
}
