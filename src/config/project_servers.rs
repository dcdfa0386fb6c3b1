//! What a trusted project, or the editor by the person's word, may say of MCP servers. It may describe servers of its own. Of one
//! that the person has described it may ask for less: fewer tools, more questions, none of it at all. Where it describes one
//! under a name of the person's, nothing of theirs goes along (`described`).

use super::check::{Checker, Layer, is_http, plain};
use super::consent;
use super::described;
use super::layers::Merged;
use super::tree::{Data, Node};
use crate::protocol::config::ConfigWarning;
use serde_json::{Map, Value};
use std::path::Path;

/// How a server is reached, and as whom.
const REACHED: [&str; 9] = [
    "args",
    "env",
    "env_vars",
    "cwd",
    "bearer_token_env_var",
    "http_headers",
    "env_http_headers",
    "oauth",
    "scopes",
];

/// Takes out of the `mcp_servers` of a project, or of the editor, what would allow more than `current` does.
pub(super) fn tighten(node: &mut Node, current: &Merged, checker: &mut Checker<'_>) {
    let Data::Table(servers) = &mut node.data else { return };
    let known = current.values.get("mcp_servers").and_then(Value::as_object);
    let keys = keys_of_providers(current);
    let is_key = |data: &Data| matches!(data, Data::Text(name) if keys.contains(&name.trim()));
    servers.retain_mut(|(name, node)| {
        let Data::Table(inner) = &mut node.data else {
            return true;
        };
        // Without what it is reached by, the rest of it would be taken for a word on the person's own.
        if let Some((key, node)) = inner.iter().find(|(key, node)| !is_sound(key, &node.data)) {
            refuse(
                checker,
                &format!("mcp_servers.{}.{key}", consent::key_part(name)),
                node,
                BROKEN,
            );
            return false;
        }
        let known = known
            .and_then(|known| known.get(name.as_str()))
            .and_then(Value::as_object);
        let keys = inner.iter().filter(|(_, node)| node.data != Data::Null);
        let is_described = described::is_description("mcp_servers", keys.map(|(key, _)| key.as_str()));
        let now = match known {
            Some(now) if !is_described => now,
            _ => &Map::new(),
        };
        let is_mine = known.is_some() && !is_described;
        // What it describes itself is shown whole to the person before it counts.
        if checker.layer == Layer::Client && !is_mine {
            return true;
        }
        inner.retain_mut(|(key, node)| {
            let way = format!("mcp_servers.{}.{}", consent::key_part(name), consent::key_part(key));
            let why = match (key.as_str(), &mut node.data) {
                (key, _) if is_mine && REACHED.contains(&key) => {
                    "it would change how an MCP server of yours is reached"
                }
                ("bearer_token_env_var", data) if is_key(data) => KEY,
                ("env_http_headers", Data::Table(headers)) => {
                    headers.retain(|(header, node)| {
                        !is_key(&node.data) || {
                            refuse(checker, &format!("{way}.{}", consent::key_part(header)), node, KEY);
                            false
                        }
                    });
                    return true;
                }
                // A project's is never used.
                ("trust_annotations", Data::Flag(true)) if checker.layer == Layer::Client => LOOSER,
                ("enabled", Data::Flag(true)) if now.get("enabled") == Some(&Value::Bool(false)) => {
                    "you have switched this MCP server off"
                }
                ("default_tools_approval_mode", data) if rank(data) > rank_of(now, None) => LOOSER,
                ("tools", Data::Table(tools)) => {
                    tools.retain_mut(|(tool, node)| {
                        let Data::Table(said) = &mut node.data else { return true };
                        said.retain(|(key, node)| {
                            key != "approval_mode" || rank(&node.data) <= rank_of(now, Some(tool)) || {
                                refuse(
                                    checker,
                                    &format!("{way}.{}.{key}", consent::key_part(tool)),
                                    node,
                                    LOOSER,
                                );
                                false
                            }
                        });
                        true
                    });
                    return true;
                }
                // A list takes the place of the one before it: what the person left out stays out.
                ("disabled_tools", Data::List(list)) => {
                    list.extend(texts(now, key).map(|text| Node {
                        data: Data::Text(text.to_owned()),
                        line: None,
                    }));
                    return true;
                }
                ("enabled_tools", Data::List(list)) if now.contains_key("enabled_tools") => {
                    list.retain(
                        |node| matches!(&node.data, Data::Text(tool) if texts(now, key).any(|one| one == tool)),
                    );
                    return true;
                }
                _ => return true,
            };
            refuse(checker, &way, node, why);
            false
        });
        // Nothing is left to be asked about.
        !is_mine || !inner.is_empty()
    });
}

const LOOSER: &str = "it would let tools be called without a question";
const KEY: &str = "that variable holds the key of a model provider, which goes to no MCP server of a project's";
const BROKEN: &str = "it names no program and no address, so the rest of this server is not used either";

/// The variables that hold keys of model providers.
fn keys_of_providers(current: &Merged) -> Vec<&str> {
    let mut names = Vec::new();
    let providers = current.values.get("model_providers").and_then(Value::as_object);
    for provider in providers.into_iter().flat_map(Map::values) {
        let headers = provider.get("env_http_headers").and_then(Value::as_object);
        let of_one = provider.get("env_key").into_iter();
        let of_one = of_one.chain(headers.into_iter().flat_map(Map::values));
        names.extend(of_one.filter_map(Value::as_str).map(str::trim));
    }
    names
}

/// Whether a key is something else than the program or the address of a server, or names one.
fn is_sound(key: &str, data: &Data) -> bool {
    match (key, data) {
        (_, Data::Null) => true,
        ("command", Data::Text(text)) => !text.trim().is_empty(),
        ("url", Data::Text(text)) => is_http(text),
        ("command" | "url", _) => false,
        _ => true,
    }
}

fn refuse(checker: &mut Checker<'_>, way: &str, node: &Node, why: &str) {
    let what = match plain(node) {
        Value::Object(_) | Value::Array(_) => way.to_owned(),
        value => format!("{way} = {value}"),
    };
    let who = match checker.layer {
        Layer::Client => "The editor's settings",
        _ => "A project",
    };
    checker.warnings.push(ConfigWarning {
        message: format!(
            "{who} can only tighten what may happen without asking; `{what}` is not used, since {why}. If you want it, put it \
             into your own config.toml."
        ),
        path: checker.file.map(Path::to_owned),
        line: node.line,
    });
}

/// Higher asks less.
fn rank(mode: &Data) -> usize {
    match mode {
        Data::Text(word) => rank_of_word(word),
        // What is no word is reported when the keys are checked.
        _ => 0,
    }
}

fn rank_of_word(word: &str) -> usize {
    match word {
        "prompt" => 0,
        "approve" => 2,
        _ => 1,
    }
}

/// What holds now for a tool, or for those of which nothing is said.
fn rank_of(now: &Map<String, Value>, tool: Option<&str>) -> usize {
    let of_tool = tool.and_then(|tool| now.get("tools")?.get(tool)?.get("approval_mode"));
    let mode = of_tool.or_else(|| now.get("default_tools_approval_mode"));
    rank_of_word(mode.and_then(Value::as_str).unwrap_or("auto"))
}

fn texts<'a>(now: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a str> {
    let list = now.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}
