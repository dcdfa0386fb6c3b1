//! The tool servers that a client brings along, as our configuration names them. Pure.

use super::error::Failure;
use serde_json::{Map, Value, json};

/// `mcpServers` of `session/new` and `session/load` as overrides of the configuration.
///
/// # Errors
/// A server cannot be meant as it stands; which, and why.
pub(super) fn overrides(servers: &Value) -> Result<Map<String, Value>, Failure> {
    let list = match servers {
        Value::Null => return Ok(Map::new()),
        Value::Array(list) => list,
        _ => return Err(Failure::params("`mcpServers` must be a list.")),
    };
    let mut all = Map::new();
    for (at, server) in list.iter().enumerate() {
        let wrong = |what: &str| Failure::params(format!("Server {at} of `mcpServers` {what}."));
        let name = server["name"].as_str().map(str::trim).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| wrong("has no `name`"))?;
        let pairs = |key: &str| -> Result<Value, Failure> {
            let mut pairs = Map::new();
            for pair in server[key].as_array().into_iter().flatten() {
                let (Some(name), Some(_)) = (pair["name"].as_str(), pair["value"].as_str()) else {
                    return Err(wrong(&format!("has a pair in `{key}` without name or value")));
                };
                pairs.insert(name.to_owned(), pair["value"].clone());
            }
            Ok(Value::Object(pairs))
        };
        let described = match server["type"].as_str() {
            Some("http") => json!({
                "url": server["url"].as_str().ok_or_else(|| wrong("has no `url`"))?,
                "http_headers": pairs("headers")?,
            }),
            Some("sse") => return Err(wrong("is of type sse, which is not spoken here; use http")),
            None | Some("stdio") => {
                let args: Vec<&Value> = server["args"].as_array().into_iter().flatten().collect();
                if !args.iter().all(|argument| argument.is_string()) {
                    return Err(wrong("has an argument that is no text"));
                }
                json!({
                    "command": server["command"].as_str().ok_or_else(|| wrong("has no `command`"))?,
                    "args": args,
                    "env": pairs("env")?,
                })
            }
            Some(_) => return Err(wrong("is of no known type; there are stdio and http")),
        };
        if all.insert(name.to_owned(), described).is_some() {
            return Err(wrong("has the name of another one"));
        }
    }
    let mut overrides = Map::new();
    if !all.is_empty() {
        overrides.insert("mcp_servers".to_owned(), Value::Object(all));
    }
    Ok(overrides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_by_table() {
        let stdio = json!({"name": "s", "command": "/bin/s", "args": ["-x"], "env": [{"name": "A", "value": "b"}]});
        let http =
            json!({"type": "http", "name": "h", "url": "https://h.example", "headers": [{"name": "K", "value": "v"}]});
        let wanted = json!({"mcp_servers": {
            "s": {"command": "/bin/s", "args": ["-x"], "env": {"A": "b"}},
            "h": {"url": "https://h.example", "http_headers": {"K": "v"}},
        }});
        assert_eq!(overrides(&json!([stdio, http])).map(Value::Object), Ok(wanted));
        for none in [json!(null), json!([])] {
            assert_eq!(overrides(&none), Ok(Map::new()));
        }
        for bad in [
            json!({}),
            json!([7]),
            json!([{"command": "x"}]),
            json!([{"name": " ", "command": "x"}]),
            json!([{"name": "s"}]),
            json!([{"name": "s", "command": "x", "args": [1]}]),
            json!([{"name": "s", "command": "x", "env": [{"name": "A"}]}]),
            json!([{"name": "s", "type": "sse", "url": "https://x"}]),
            json!([{"name": "s", "type": "carrier pigeon"}]),
            json!([{"name": "s", "command": "x"}, {"name": "s", "command": "y"}]),
        ] {
            assert!(overrides(&bad).is_err(), "{bad}");
        }
    }
}
