//! Holds the tables of profiles against what they can say. What does not fit is reported with its line, and never makes a
//! profile wider: an access that is not understood counts as `deny`.

use super::host::Host;
use super::host_and_port;
use super::presets::{PRESETS, preset};
use super::subject::Subject;
use crate::config::check::{Checker, describe};
use crate::config::keys::nearest;
use crate::config::tree::{Data, Node};
use serde_json::{Map, Value};

const PROFILE: &[&str] = &["description", "extends", "filesystem", "network", "workspace_roots"];
const NETWORK: &[&str] = &["enabled", "domains", "unix_sockets", "loopback_ports"];
/// Known to others, and without a meaning where no proxy stands between.
const NOT_USED: &[&str] = &[
    "mode",
    "proxy_url",
    "socks_url",
    "enable_socks5",
    "enable_socks5_udp",
    "allow_upstream_proxy",
    "allow_local_binding",
    "dangerously_allow_non_loopback_proxy",
    "dangerously_allow_all_unix_sockets",
];

/// The profiles that fit, in the form in which they are read later.
pub(in crate::config) fn profiles(
    checker: &mut Checker<'_>,
    entries: &[(String, Node)],
    path: &mut Vec<String>,
) -> Value {
    let mut kept = Map::new();
    for (name, node) in entries {
        path.push(name.clone());
        match &node.data {
            Data::Null => {}
            Data::Table(_) if name.starts_with(':') || name.trim().is_empty() => {
                let message = format!(
                    "{name:?} cannot be the name of a permission profile: names with a colon in front are built in. It is \
                     not used."
                );
                checker.misfit_with(message, node.line);
            }
            Data::Table(inner) => {
                kept.insert(name.clone(), profile(checker, inner, path).into());
            }
            _ => checker.misfit("a table", node, path),
        }
        path.pop();
    }
    kept.into()
}

fn profile(checker: &mut Checker<'_>, entries: &[(String, Node)], path: &mut Vec<String>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (written, node) in entries {
        let name = checker.name_of(written);
        path.push(name.clone());
        let value = match (name.as_str(), &node.data) {
            (_, Data::Null) => None,
            ("description" | "extends", Data::Text(text)) if !text.trim().is_empty() => Some(text.trim().into()),
            ("description" | "extends", _) => misfit(checker, "a text that is not empty", node, path),
            ("filesystem", Data::Table(inner)) => Some(filesystem(checker, inner, path).into()),
            ("network", Data::Table(inner)) => Some(network(checker, inner, path).into()),
            ("network", Data::List(list)) => Some(host_list(checker, list, path)),
            ("network", Data::Flag(enabled)) => Some(serde_json::json!({ "enabled": enabled })),
            ("filesystem" | "network", _) => misfit(checker, "a table", node, path),
            ("workspace_roots", Data::List(list)) => Some(places(checker, list.iter(), path)),
            // Others write each root with a flag.
            ("workspace_roots", Data::Table(inner)) => {
                let on = inner.iter().filter(|(_, node)| node.data == Data::Flag(true));
                let list: Vec<Node> = on
                    .map(|(name, node)| Node {
                        data: Data::Text(name.clone()),
                        line: node.line,
                    })
                    .collect();
                Some(places(checker, list.iter(), path))
            }
            ("workspace_roots", _) => misfit(checker, "a list of folders", node, path),
            _ => unknown(checker, PROFILE, written, node, path),
        };
        kept.extend(value.map(|value| (name, value)));
        path.pop();
    }
    kept
}

fn filesystem(checker: &mut Checker<'_>, entries: &[(String, Node)], path: &mut Vec<String>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (written, node) in entries {
        path.push(written.clone());
        match (Subject::parse(written), &node.data) {
            (_, Data::Null) => {}
            (Err(_), Data::Number(_)) if written == "glob_scan_max_depth" => {
                checker.note(format!("`{}` is known but not used.", path.join(".")), node.line);
            }
            (Err(why), _) => {
                let message = format!("{written:?} in [{}] {why}. It is not used.", above(path));
                checker.misfit_with(message, node.line);
            }
            (Ok(subject), Data::Table(inner)) => {
                for (below, node) in inner {
                    match subject.join(below) {
                        Ok(subject) => entry(checker, &subject, node, path, &mut kept),
                        Err(why) => {
                            let message = format!("{below:?} in [{}] {why}. It is not used.", path.join("."));
                            checker.misfit_with(message, node.line);
                        }
                    }
                }
            }
            (Ok(subject), _) => entry(checker, &subject, node, path, &mut kept),
        }
        path.pop();
    }
    kept
}

fn entry(checker: &mut Checker<'_>, subject: &Subject, node: &Node, path: &[String], kept: &mut Map<String, Value>) {
    let access = match &node.data {
        Data::Null => return,
        Data::Text(text) => match text.trim() {
            "none" => Ok("deny"),
            word @ ("read" | "write" | "deny") => Ok(word),
            other => {
                let near = nearest(&other.to_lowercase(), ["read", "write", "deny"].into_iter());
                Err(near.map_or_else(String::new, |near| format!(" Did you mean {near:?}?")))
            }
        },
        _ => Err(String::new()),
    };
    let access = access.unwrap_or_else(|meant| {
        let message = format!(
            "`{}` must be \"read\", \"write\" or \"deny\".{meant} Until it is, it counts as \"deny\".",
            path.join(".")
        );
        checker.misfit_with(message, node.line);
        "deny"
    });
    if matches!(subject, Subject::Glob { .. }) && access != "deny" {
        let message = format!(
            "`{}` is a pattern, and what fits a pattern can only be denied (\"deny\"). It is not used.",
            path.join(".")
        );
        checker.misfit_with(message, node.line);
        return;
    }
    // Two spellings of one place: the stricter counts.
    let strictness = |word: &str| ["write", "read", "deny"].iter().position(|known| *known == word);
    let name = subject.to_string();
    let stricter = kept.get(&name).and_then(Value::as_str).and_then(strictness);
    if stricter <= strictness(access) {
        kept.insert(name, access.into());
    }
}

fn network(checker: &mut Checker<'_>, entries: &[(String, Node)], path: &mut Vec<String>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (written, node) in entries {
        let name = checker.name_of(written);
        path.push(name.clone());
        let value = match (name.as_str(), &node.data) {
            (_, Data::Null) => None,
            ("enabled", Data::Flag(enabled)) => Some((*enabled).into()),
            ("enabled", _) => {
                // What was meant to be said of the network is not known: none.
                checker.misfit("true or false", node, path);
                Some(false.into())
            }
            ("domains", Data::Table(inner)) => Some(domains(checker, inner, path).into()),
            ("domains", _) => {
                checker.misfit("a table of hosts with \"allow\" or \"deny\"", node, path);
                kept.insert("enabled".to_owned(), false.into());
                None
            }
            ("unix_sockets", Data::List(list)) => Some(places(checker, list.iter(), path)),
            ("unix_sockets", Data::Table(inner)) => {
                let allowed = |node: &Node| matches!(&node.data, Data::Text(word) if word == "allow");
                let on = inner.iter().filter(|(_, node)| allowed(node));
                let list: Vec<Node> = on
                    .map(|(name, node)| Node {
                        data: Data::Text(name.clone()),
                        line: node.line,
                    })
                    .collect();
                Some(places(checker, list.iter(), path))
            }
            ("unix_sockets", _) => misfit(checker, "a list of socket files", node, path),
            ("loopback_ports", Data::List(list)) => Some(ports(checker, list, path)),
            ("loopback_ports", _) => misfit(checker, "a list of port numbers", node, path),
            (known, _) if NOT_USED.contains(&known) => {
                checker.note(format!("`{}` is known but not used.", path.join(".")), node.line);
                None
            }
            _ => unknown(checker, NETWORK, written, node, path),
        };
        if let Some(value) = value
            && (name != "enabled" || kept.get("enabled") != Some(&Value::from(false)))
        {
            kept.insert(name, value);
        }
        path.pop();
    }
    kept
}

fn domains(checker: &mut Checker<'_>, entries: &[(String, Node)], path: &mut Vec<String>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (host, node) in entries {
        let allowed = match &node.data {
            Data::Text(word) if word == "allow" => true,
            Data::Text(word) if word == "deny" => false,
            Data::Null => continue,
            _ => {
                path.push(host.clone());
                let message = format!(
                    "`{}` must be \"allow\" or \"deny\". Until it is, it counts as \"deny\".",
                    path.join(".")
                );
                checker.misfit_with(message, node.line);
                path.pop();
                false
            }
        };
        let host = host.trim().to_lowercase();
        if let Err(why) = Host::parse(&host_and_port(&host).0) {
            let end = if allowed { "It is not used" } else { "It blocks nothing" };
            checker.misfit_with(format!("{host:?} in [{}] {why}. {end}.", path.join(".")), node.line);
            // A table of hosts stays one: nothing but what is named is reached.
            kept.entry(host).or_insert_with(|| "deny".into());
            continue;
        }
        kept.insert(host, if allowed { "allow" } else { "deny" }.into());
    }
    kept
}

/// A list of hosts and of package managers, as the table of hosts that it stands for.
fn host_list(checker: &mut Checker<'_>, list: &[Node], path: &[String]) -> Value {
    let hosts = hosts(checker, list, path);
    let domains: Map<String, Value> = hosts.into_iter().map(|host| (host, "allow".into())).collect();
    // What was meant to be reached is not known: nothing is.
    match domains.is_empty() {
        true => serde_json::json!({ "enabled": false }),
        false => serde_json::json!({ "domains": domains }),
    }
}

/// The hosts of a list in which package managers stand for theirs.
pub(in crate::config) fn hosts(checker: &mut Checker<'_>, list: &[Node], path: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for node in list {
        let Data::Text(text) = &node.data else {
            checker.misfit("a list of hosts and package managers", node, path);
            continue;
        };
        let text = text.trim().to_lowercase();
        let found = match preset(&text) {
            Some(hosts) => hosts.iter().map(|host| (*host).to_owned()).collect(),
            // A word alone is more likely a manager misspelled than a host.
            None if !text.contains(['.', ':', '*']) && text != "localhost" => {
                let names = PRESETS.iter().map(|(name, _)| *name);
                let meant =
                    nearest(&text, names.clone()).map_or_else(String::new, |near| format!(" Did you mean {near:?}?"));
                let message = format!(
                    "{text:?} in `{}` is neither a host nor one of the package managers that are known ({}).{meant} It is not \
                     used.",
                    path.join("."),
                    names.collect::<Vec<_>>().join(", ")
                );
                checker.misfit_with(message, node.line);
                continue;
            }
            None => match Host::parse(&host_and_port(&text).0) {
                Ok(_) => vec![text],
                Err(why) => {
                    checker.misfit_with(
                        format!("{text:?} in `{}` {why}. It is not used.", path.join(".")),
                        node.line,
                    );
                    continue;
                }
            },
        };
        kept.extend(found);
    }
    kept.dedup();
    kept
}

fn ports(checker: &mut Checker<'_>, list: &[Node], path: &[String]) -> Value {
    let mut kept = Vec::new();
    for node in list {
        match &node.data {
            Data::Number(port @ 1..=65535) => kept.push(Value::from(*port)),
            _ => checker.misfit("a list of port numbers from 1 to 65535", node, path),
        }
    }
    kept.into()
}

/// Places that are no patterns and no symbols.
fn places<'n>(checker: &mut Checker<'_>, list: impl Iterator<Item = &'n Node>, path: &[String]) -> Value {
    let mut kept = Vec::new();
    for node in list {
        let Data::Text(text) = &node.data else {
            checker.misfit("a list of texts", node, path);
            continue;
        };
        match Subject::parse(text) {
            Ok(subject @ (Subject::Path(_) | Subject::Home(_) | Subject::Root)) => {
                kept.push(Value::from(subject.to_string()));
            }
            Ok(_) | Err(_) => {
                let message = format!(
                    "{text:?} in `{}` must be an absolute path or one below ~. It is not used.",
                    path.join(".")
                );
                checker.misfit_with(message, node.line);
            }
        }
    }
    kept.into()
}

/// A list of places and patterns, as `sandbox.unreadable` has it.
pub(in crate::config) fn subjects(checker: &mut Checker<'_>, list: &[Node], path: &[String]) -> Value {
    let mut kept = Vec::new();
    for node in list {
        let parsed = match &node.data {
            Data::Text(text) => Subject::parse(text).map_err(|why| format!("{text:?} in `{}` {why}", path.join("."))),
            _ => {
                checker.misfit("a list of texts", node, path);
                continue;
            }
        };
        match parsed {
            Ok(Subject::Root | Subject::Minimal) => {
                let message = format!("`{}` cannot hold everything. It is not used.", path.join("."));
                checker.misfit_with(message, node.line);
            }
            Ok(subject) => kept.push(Value::from(subject.to_string())),
            Err(why) => checker.misfit_with(format!("{why}. It is not used."), node.line),
        }
    }
    kept.into()
}

fn misfit(checker: &mut Checker<'_>, wanted: &str, node: &Node, path: &[String]) -> Option<Value> {
    checker.misfit(wanted, node, path);
    None
}

fn unknown(checker: &mut Checker<'_>, known: &[&str], written: &str, node: &Node, path: &[String]) -> Option<Value> {
    let near = nearest(written, known.iter().copied());
    let meant = near.map_or_else(|| ".".to_owned(), |near| format!("; did you mean `{near}`?"));
    let message = format!(
        "`{written}` is not a known key in [{}] ({}), so it is not used{meant}",
        above(path),
        describe(&node.data)
    );
    checker.warn(message, node.line);
    None
}

/// The table that a key stands in.
fn above(path: &[String]) -> String {
    path[..path.len().saturating_sub(1)].join(".")
}
