//! `request_permissions`: asks the person for more than the sandbox allows, apart from a command.

use super::{Call, Host, Look, Tool, ToolError, ToolOutput, arguments, schema, shown_arguments};
use crate::model::item::ToolSpec;
use crate::protocol::permission::Permission;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

pub const NAME: &str = "request_permissions";

pub struct RequestPermissions;

#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "additional_permissions")]
    permissions: Value,
    #[serde(alias = "justification")]
    reason: Option<String>,
}

impl Tool for RequestPermissions {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: NAME.to_owned(),
            description:
                "Asks the person to let commands in the sandbox do more. Ask for the least that the task needs, before \
                the command that needs it. The answer says what was given, and for how long."
                    .to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "permissions": permissions_schema(),
                    "reason": {"type": "string", "description": "For the person: why it is needed, in one sentence."},
                }),
                &["permissions", "reason"],
            ),
        }
    }

    /// Several questions can be open side by side.
    fn only_reads(&self) -> bool {
        true
    }

    fn look(&self, call: &Call) -> Option<Look> {
        Some(Look {
            title: "Ask for permissions".to_owned(),
            arguments: shown_arguments(call),
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Arguments { permissions, reason } = arguments(call)?;
            let wanted = wanted(&permissions, host)?;
            if wanted.is_empty() {
                return Err(ToolError::Answer(
                    "permissions is empty: name what is needed.".to_owned(),
                ));
            }
            host.request_permissions(call.id.as_str().into(), wanted, reason).await
        })
    }
}

/// What can be asked for.
pub(super) fn permissions_schema() -> Value {
    let text = |words: &str| json!({"type": "string", "description": words});
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "type": {
                    "type": "string",
                    "enum": ["read", "write", "gitMetadata", "network", "host", "loopbackPort", "unixSocket"],
                },
                "path": text("For read, write and unixSocket: what is there. ~/ works."),
                "repository": text("For gitMetadata: its folder."),
                "host": text("For host: its name."),
                "port": {"type": "integer", "description": "For loopbackPort, and for host if one is enough."},
            },
            "required": ["type"],
        },
    })
}

/// The same for a tool beside `request_permissions`, which describes it.
pub(super) fn as_described() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "array",
        "description": "As for request_permissions.",
        "items": {
            "type": "object",
            "properties": {"type": text, "path": text, "repository": text, "host": text, "port": {"type": "integer"}},
            "required": ["type"],
        },
    })
}

/// Reads permissions as models write them: a list of ours, or a table of paths and network.
pub(super) fn wanted(value: &Value, host: &dyn Host) -> Result<Vec<Permission>, ToolError> {
    read(value, &|path| host.resolve_home(path))
        .map_err(|why| ToolError::Answer(format!("The permissions could not be read: {why}.")))
}

/// What a command asks for beyond the policy. `said` is its `sandbox_permissions`: where that promises permissions, there
/// have to be some.
pub(super) fn beside(said: Option<&str>, value: &Value, host: &dyn Host) -> Result<Vec<Permission>, ToolError> {
    let permissions = wanted(value, host)?;
    if said == Some("with_additional_permissions") && permissions.is_empty() {
        return Err(ToolError::Answer(
            "sandbox_permissions is with_additional_permissions, and additional_permissions names none. Name what the command \
             needs, or leave both out."
                .to_owned(),
        ));
    }
    Ok(permissions)
}

fn read(value: &Value, resolve: &dyn Fn(&str) -> PathBuf) -> Result<Vec<Permission>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(list) => list.iter().map(|one| single(one, resolve)).collect(),
        // Some models send a list as its text.
        Value::String(text) => {
            let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            match value {
                Value::String(_) => Err("they are a text, not a list".to_owned()),
                value => read(&value, resolve),
            }
        }
        Value::Object(table) if table.contains_key("type") => Ok(vec![single(value, resolve)?]),
        Value::Object(table) => {
            let mut found = Vec::new();
            for (name, value) in table {
                match name.as_str() {
                    "file_system" | "fileSystem" | "filesystem" => {
                        for (kind, paths) in value.as_object().into_iter().flatten() {
                            let paths = paths.as_array().ok_or(format!("{kind} must be a list of paths"))?;
                            for path in paths {
                                let path = resolve(path.as_str().ok_or(format!("{kind} must be a list of paths"))?);
                                found.push(match kind.as_str() {
                                    "read" => Permission::Read { path },
                                    "write" => Permission::Write { path },
                                    other => return Err(format!("{other} is not known; it is read or write")),
                                });
                            }
                        }
                    }
                    "network" => {
                        let on = value.as_bool().or_else(|| value.get("enabled")?.as_bool());
                        found.extend((on == Some(true)).then_some(Permission::Network));
                    }
                    other => {
                        return Err(format!(
                            "{other} is not known; it is a list of permissions, each with its type"
                        ));
                    }
                }
            }
            Ok(found)
        }
        _ => Err("they are no list".to_owned()),
    }
}

fn single(value: &Value, resolve: &dyn Fn(&str) -> PathBuf) -> Result<Permission, String> {
    let kind = value.get("type").and_then(Value::as_str).ok_or("each needs a type")?;
    let text = |field: &str| {
        let text = value.get(field).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty())
            .ok_or(format!("{kind} needs {field}"))
    };
    let path = || text("path").map(resolve);
    let port = || match value.get("port") {
        None | Some(Value::Null) => Ok(None),
        Some(port) => {
            let number = port.as_u64().or_else(|| port.as_str()?.parse().ok());
            let port = number.and_then(|number| u16::try_from(number).ok());
            port.map(Some)
                .ok_or(format!("the port of {kind} must be a number from 1 to 65535"))
        }
    };
    Ok(match kind {
        "read" => Permission::Read { path: path()? },
        "write" => Permission::Write { path: path()? },
        "gitMetadata" | "git_metadata" => Permission::GitMetadata {
            repository: text("repository")
                .or_else(|_| text("path"))
                .map_or_else(|_| resolve("."), resolve),
        },
        "network" => Permission::Network,
        "host" => Permission::Host {
            host: text("host")?.to_owned(),
            port: port()?,
        },
        "loopbackPort" | "loopback_port" => Permission::LoopbackPort {
            port: port()?.ok_or("loopbackPort needs port")?,
        },
        "unixSocket" | "unix_socket" => Permission::UnixSocket { path: path()? },
        other => {
            return Err(format!(
                "{other} is no type; it is one of read, write, gitMetadata, network, host, loopbackPort and unixSocket"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_as_models_write_them() {
        let resolve = |path: &str| PathBuf::from("/w").join(path);
        let write = Permission::Write { path: "/w/out".into() };
        for (written, expected) in [
            (json!([{"type": "write", "path": "out"}]), vec![write.clone()]),
            (json!({"type": "write", "path": "out"}), vec![write.clone()]),
            (json!("[{\"type\": \"write\", \"path\": \"out\"}]"), vec![write.clone()]),
            (
                json!({"file_system": {"read": ["/k"], "write": ["out"]}, "network": {"enabled": true}}),
                vec![Permission::Read { path: "/k".into() }, write, Permission::Network],
            ),
            (json!({"network": {"enabled": false}}), vec![]),
            (json!(null), vec![]),
            (
                json!([{"type": "gitMetadata"}, {"type": "git_metadata", "repository": "sub"}]),
                vec![
                    Permission::GitMetadata {
                        repository: "/w/.".into(),
                    },
                    Permission::GitMetadata {
                        repository: "/w/sub".into(),
                    },
                ],
            ),
            (
                json!([{"type": "host", "host": "a.org", "port": 443}, {"type": "loopbackPort", "port": "80"}]),
                vec![
                    Permission::Host {
                        host: "a.org".to_owned(),
                        port: Some(443),
                    },
                    Permission::LoopbackPort { port: 80 },
                ],
            ),
            (
                json!([{"type": "unixSocket", "path": "/s"}]),
                vec![Permission::UnixSocket { path: "/s".into() }],
            ),
        ] {
            assert_eq!(read(&written, &resolve), Ok(expected), "{written}");
        }
        for written in [
            json!([{"path": "x"}]),
            json!([{"type": "all"}]),
            json!([{"type": "write"}]),
            json!([{"type": "write", "path": " "}]),
            json!([{"type": "loopbackPort", "port": 70000}]),
            json!([{"type": "loopbackPort"}]),
            json!([{"type": "host"}]),
            json!(["write"]),
            json!(7),
            json!("x"),
            json!("\"x\""),
            json!({"files": []}),
            json!({"file_system": {"write": "x"}}),
        ] {
            assert!(read(&written, &resolve).is_err(), "{written}");
        }
    }
}
