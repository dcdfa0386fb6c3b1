//! `shell`: runs a command.

use super::request_permissions::beside;
use super::{Call, CommandCall, Host, Payload, Tool, ToolError, ToolOutput, arguments, schema};
use crate::model::item::{LocalShellAction, ToolSpec};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

pub const NAME: &str = "shell";

pub struct Shell;

#[derive(Deserialize)]
struct Arguments {
    command: Command,
    workdir: Option<String>,
    #[serde(alias = "timeout")]
    timeout_ms: Option<u64>,
    #[serde(default)]
    with_escalated_permissions: bool,
    #[serde(default)]
    sandbox_permissions: Option<String>,
    justification: Option<String>,
    #[serde(default)]
    additional_permissions: serde_json::Value,
}

/// An argument list, or a script for the shell.
#[derive(Deserialize)]
#[serde(untagged)]
enum Command {
    Argv(Vec<String>),
    Script(String),
}

impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: NAME.to_owned(),
            description: "Runs a command in the sandbox that the environment context describes, and returns its output and exit \
                code. Give an argument list; for shell syntax [\"bash\", \"-lc\", \"SCRIPT\"]. Commands do not see text that is \
                unsaved in the editor. Change files with the tools that propose changes."
                .to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "command": {"type": "array", "items": {"type": "string"}},
                    "workdir": {"type": "string"},
                    "timeout_ms": {"type": "integer", "description": "Default 120000."},
                    "sandbox_permissions": {"type": "string", "enum": ["use_default", "require_escalated"], "description": "require_escalated asks the person to let it run outside the sandbox. Only where the sandbox is in the way of the task."},
                    "justification": {"type": "string", "description": "For the person: why it needs more, in one sentence."},
                }),
                &["command"],
            ),
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["container.exec", "local_shell", "shell_command"]
    }

    fn asks_first(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { host.run_command(command_call(call, Some(host))?).await })
    }
}

/// The command of a call. Permissions are read with the help of `host`, which knows what their paths start from.
fn command_call(call: &Call, host: Option<&dyn Host>) -> Result<CommandCall, ToolError> {
    let item_id = call.id.as_str().into();
    if let Payload::LocalShell(LocalShellAction::Exec {
        command,
        timeout_ms,
        working_directory,
        ..
    }) = &call.payload
    {
        return Ok(CommandCall {
            item_id,
            argv: command.clone(),
            workdir: working_directory.clone(),
            timeout: timeout_ms.map(Duration::from_millis),
            escalated: false,
            justification: None,
            permissions: Vec::new(),
        });
    }
    let arguments: Arguments = arguments(call)?;
    let argv = match arguments.command {
        Command::Argv(argv) => argv,
        Command::Script(script) => vec!["bash".to_owned(), "-lc".to_owned(), script],
    };
    let permissions = match host {
        Some(host) => beside(
            arguments.sandbox_permissions.as_deref(),
            &arguments.additional_permissions,
            host,
        )?,
        None => Vec::new(),
    };
    Ok(CommandCall {
        item_id,
        argv,
        workdir: arguments.workdir,
        timeout: arguments.timeout_ms.map(Duration::from_millis),
        escalated: arguments.with_escalated_permissions
            || arguments.sandbox_permissions.as_deref() == Some("require_escalated"),
        justification: arguments.justification,
        permissions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> Call {
        Call {
            id: "c".to_owned(),
            tool: "shell".to_owned(),
            payload: Payload::Function(arguments.to_owned()),
        }
    }

    /// Shows S-151, S-152.
    #[test]
    fn argument_lists_scripts_and_local_shell_calls_lead_to_the_same_command() {
        let script = ["bash", "-lc", "echo hi | cat"].map(str::to_owned).to_vec();
        let expect = CommandCall {
            item_id: "c".into(),
            argv: script.clone(),
            workdir: Some("sub".to_owned()),
            timeout: Some(Duration::from_millis(1500)),
            escalated: false,
            justification: None,
            permissions: Vec::new(),
        };
        let list = r#"{"command": ["bash", "-lc", "echo hi | cat"], "workdir": "sub", "timeout_ms": 1500}"#;
        let text = r#"{"command": "echo hi | cat", "workdir": "sub", "timeout_ms": 1500}"#;
        assert_eq!(command_call(&call(list), None).expect("list"), expect);
        assert_eq!(command_call(&call(text), None).expect("script"), expect);
        let local = Call {
            payload: Payload::LocalShell(LocalShellAction::Exec {
                command: script,
                timeout_ms: Some(1500),
                working_directory: Some("sub".to_owned()),
                env: None,
                user: None,
            }),
            ..call("")
        };
        assert_eq!(command_call(&local, None).expect("local"), expect);
    }

    /// Shows S-152, S-189.
    #[test]
    fn bad_arguments_are_explained_and_a_wrong_payload_is_fatal() {
        for bad in ["{", r#"{"command": 3}"#, "[]", r#"{"workdir": "x"}"#, ""] {
            assert!(
                matches!(command_call(&call(bad), None), Err(ToolError::Answer(text)) if text.contains("shell")),
                "{bad}"
            );
        }
        let custom = Call {
            payload: Payload::Custom("x".to_owned()),
            ..call("")
        };
        assert!(matches!(command_call(&custom, None), Err(ToolError::Fatal(text)) if text.contains("shell")));
    }
}
