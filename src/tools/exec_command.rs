//! `exec_command`: runs a command that may outlive the call.

use super::request_permissions::{as_described, beside};
use super::{Call, CommandCall, Host, TerminalStart, TerminalWrite, Tool, ToolError, ToolOutput, arguments, schema};
use crate::model::item::ToolSpec;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

pub const NAME: &str = "exec_command";
/// The older form: one tool that starts a program and types into it.
const OLDER: &str = "unified_exec";

/// How long a call may wait, and does where the model says nothing, in milliseconds.
pub(super) const YIELD_MS: std::ops::RangeInclusive<u64> = 250..=30_000;
const DEFAULT_YIELD_MS: u64 = 10_000;
/// The same for the older form.
const OLDER_YIELD_MS: std::ops::RangeInclusive<u64> = 1..=60_000;
const OLDER_DEFAULT_MS: u64 = 1000;

/// Tokens of output where the model says nothing.
pub(super) const DEFAULT_TOKENS: usize = 10_000;

/// Shells that take a script after `-c`, and `-l` to begin as a login does.
const SHELLS: [&str; 3] = ["bash", "zsh", "sh"];

pub struct ExecCommand;

#[derive(Deserialize)]
struct Arguments {
    #[serde(alias = "command")]
    cmd: String,
    workdir: Option<String>,
    shell: Option<String>,
    login: Option<bool>,
    #[serde(default)]
    tty: bool,
    yield_time_ms: Option<u64>,
    max_output_tokens: Option<usize>,
    sandbox_permissions: Option<String>,
    #[serde(default)]
    additional_permissions: serde_json::Value,
    justification: Option<String>,
}

#[derive(Deserialize)]
struct OlderArguments {
    session_id: Option<Number>,
    #[serde(alias = "input")]
    arguments: Vec<String>,
    timeout_ms: Option<u64>,
}

/// A number, which some models write as text.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "serde_json::Value")]
pub(super) struct Number(pub(super) u32);

impl TryFrom<serde_json::Value> for Number {
    type Error = String;

    fn try_from(value: serde_json::Value) -> Result<Self, String> {
        let number = match &value {
            serde_json::Value::String(text) => text.trim().parse().ok(),
            other => other.as_u64().and_then(|number| u32::try_from(number).ok()),
        };
        number
            .map(Self)
            .ok_or_else(|| format!("{value} is not a session ID, which is a whole number"))
    }
}

impl Tool for ExecCommand {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: NAME.to_owned(),
            description: "Runs a command in the sandbox that the environment context describes, and returns its output and exit \
                code. One that has not ended after yield_time_ms runs on, and the answer holds a session ID for write_stdin, \
                which waits for it or types into it: so for servers, watchers, interpreters and long runs. Commands do not see \
                text that is unsaved in the editor. Change files with the tools that propose changes, and look at them with \
                read_file, list_dir and grep_files."
                .to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "cmd": {"type": "string", "description": "Shell text."},
                    "workdir": {"type": "string"},
                    "tty": {"type": "boolean", "description": "Give it a terminal, for interactive programs; else its input is closed."},
                    "yield_time_ms": {"type": "integer", "description": "250 to 30000; default 10000."},
                    "max_output_tokens": {"type": "integer", "description": "Default 10000; the middle of longer output is cut out."},
                    "sandbox_permissions": {"type": "string", "enum": ["use_default", "with_additional_permissions", "require_escalated"], "description": "Asks the person to open what additional_permissions names, or to let it run outside the sandbox. Only where the sandbox is in the way of the task, and the first where that can do."},
                    "additional_permissions": as_described(),
                    "justification": {"type": "string", "description": "For the person: why it needs more, in one sentence."},
                }),
                &["cmd"],
            ),
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        &[OLDER]
    }

    fn asks_first(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if call.tool == OLDER {
                return match older(call)? {
                    Older::Start(command, start) => host.start_terminal(command, start).await,
                    Older::Write(write) => host.write_to_terminal(write).await,
                };
            }
            let (command, start) = newer(call, host.shell(), Some(host))?;
            host.start_terminal(command, start).await
        })
    }
}

/// The command of a call. Permissions are read with the help of `host`, which knows what their paths start from.
fn newer(
    call: &Call,
    persons_shell: Option<&str>,
    host: Option<&dyn Host>,
) -> Result<(CommandCall, TerminalStart), ToolError> {
    let arguments: Arguments = arguments(call)?;
    if arguments.cmd.trim().is_empty() {
        return Err(ToolError::Answer("The command is empty. Give it as cmd.".to_owned()));
    }
    let escalated = match arguments.sandbox_permissions.as_deref() {
        None | Some("use_default" | "with_additional_permissions") => false,
        Some("require_escalated") => true,
        Some(other) => {
            return Err(ToolError::Answer(format!(
                "sandbox_permissions of exec_command cannot be {other:?}. Give use_default, with_additional_permissions or require_escalated."
            )));
        }
    };
    let shell = match arguments
        .shell
        .as_deref()
        .map(str::trim)
        .filter(|shell| !shell.is_empty())
    {
        Some(shell) if is_shell(shell) => shell,
        Some(other) => {
            return Err(ToolError::Answer(format!(
                "exec_command has no shell {other:?}. Give one of {}, or none for the person's.",
                SHELLS.join(", ")
            )));
        }
        None => persons_shell.filter(|shell| is_shell(shell)).unwrap_or("bash"),
    };
    let said = arguments.sandbox_permissions.as_deref();
    let permissions = host
        .map(|host| beside(said, &arguments.additional_permissions, host))
        .transpose()?
        .unwrap_or_default();
    let flag = if arguments.login.unwrap_or(true) { "-lc" } else { "-c" };
    let wait = limited(arguments.yield_time_ms, &YIELD_MS, DEFAULT_YIELD_MS);
    Ok((
        CommandCall {
            item_id: call.id.as_str().into(),
            argv: vec![shell.to_owned(), flag.to_owned(), arguments.cmd],
            workdir: arguments.workdir,
            timeout: None,
            escalated,
            justification: arguments.justification,
            permissions,
        },
        TerminalStart {
            tty: arguments.tty,
            wait,
            most_tokens: arguments.max_output_tokens.unwrap_or(DEFAULT_TOKENS),
        },
    ))
}

enum Older {
    Start(CommandCall, TerminalStart),
    Write(TerminalWrite),
}

fn older(call: &Call) -> Result<Older, ToolError> {
    let OlderArguments {
        session_id,
        arguments,
        timeout_ms,
    } = arguments(call)?;
    let wait = limited(timeout_ms, &OLDER_YIELD_MS, OLDER_DEFAULT_MS);
    let item_id = call.id.as_str().into();
    if let Some(Number(terminal)) = session_id {
        return Ok(Older::Write(TerminalWrite {
            item_id,
            terminal,
            text: arguments.concat(),
            wait,
            most_tokens: usize::MAX,
        }));
    }
    let argv = match arguments.as_slice() {
        [] => {
            return Err(ToolError::Answer(
                "The command is empty. Give it as arguments.".to_owned(),
            ));
        }
        // One word with spaces is shell text.
        [line] if line.trim().contains(char::is_whitespace) => vec!["bash".to_owned(), "-lc".to_owned(), line.clone()],
        _ => arguments,
    };
    Ok(Older::Start(
        CommandCall {
            item_id,
            argv,
            workdir: None,
            timeout: None,
            escalated: false,
            justification: None,
            permissions: Vec::new(),
        },
        TerminalStart {
            tty: true,
            wait,
            most_tokens: usize::MAX,
        },
    ))
}

/// How long to wait: what was asked for, moved to the nearest end of what may be.
pub(super) fn limited(asked_ms: Option<u64>, range: &std::ops::RangeInclusive<u64>, default_ms: u64) -> Duration {
    Duration::from_millis(asked_ms.unwrap_or(default_ms).clamp(*range.start(), *range.end()))
}

fn is_shell(program: &str) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| SHELLS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Payload;

    fn call(tool: &str, arguments: &str) -> Call {
        Call {
            id: "c".to_owned(),
            tool: tool.to_owned(),
            payload: Payload::Function(arguments.to_owned()),
        }
    }

    #[test]
    fn calls_by_table() {
        for (arguments, shell, argv, tty, wait_ms, tokens, escalated) in [
            (
                r#"{"cmd": "ls"}"#,
                None,
                ["bash", "-lc", "ls"],
                false,
                10_000,
                10_000,
                false,
            ),
            (
                r#"{"cmd": "ls"}"#,
                Some("/bin/zsh"),
                ["/bin/zsh", "-lc", "ls"],
                false,
                10_000,
                10_000,
                false,
            ),
            (
                r#"{"cmd": "ls"}"#,
                Some("/usr/bin/fish"),
                ["bash", "-lc", "ls"],
                false,
                10_000,
                10_000,
                false,
            ),
            (
                r#"{"cmd": "ls", "shell": "sh", "login": false, "tty": true, "yield_time_ms": 1, "max_output_tokens": 5}"#,
                Some("/bin/zsh"),
                ["sh", "-c", "ls"],
                true,
                250,
                5,
                false,
            ),
            (
                r#"{"cmd": "ls", "yield_time_ms": 600000, "sandbox_permissions": "require_escalated"}"#,
                None,
                ["bash", "-lc", "ls"],
                false,
                30_000,
                10_000,
                true,
            ),
            (
                r#"{"cmd": "ls", "sandbox_permissions": "use_default", "shell": ""}"#,
                None,
                ["bash", "-lc", "ls"],
                false,
                10_000,
                10_000,
                false,
            ),
        ] {
            let (command, start) = newer(&call(NAME, arguments), shell, None).expect("a call");
            assert_eq!(command.argv, argv, "{arguments}");
            assert_eq!(command.escalated, escalated, "{arguments}");
            let expected = TerminalStart {
                tty,
                wait: Duration::from_millis(wait_ms),
                most_tokens: tokens,
            };
            assert_eq!(start, expected, "{arguments}");
        }
        for bad in [
            "{",
            "{}",
            r#"{"cmd": ["ls"]}"#,
            r#"{"cmd": " "}"#,
            r#"{"cmd": "ls", "shell": "python3"}"#,
            r#"{"cmd": "ls", "sandbox_permissions": "everything"}"#,
            r#"{"cmd": "ls", "yield_time_ms": -1}"#,
        ] {
            assert!(
                matches!(newer(&call(NAME, bad), None, None), Err(ToolError::Answer(_))),
                "{bad}"
            );
        }
    }

    /// Shows S-196, S-197.
    #[test]
    fn the_older_form_starts_and_types() {
        let start = |arguments: &str| match older(&call(OLDER, arguments)).expect("a call") {
            Older::Start(command, start) => (command.argv, start.tty, start.wait.as_millis()),
            Older::Write(_) => panic!("{arguments}"),
        };
        let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            start(r#"{"arguments": ["bash", "-i"]}"#),
            (argv(&["bash", "-i"]), true, 1000)
        );
        assert_eq!(
            start(r#"{"arguments": ["echo hi"], "timeout_ms": 600000}"#),
            (argv(&["bash", "-lc", "echo hi"]), true, 60_000)
        );
        for id in ["1234", "\"1234\""] {
            let text = format!(r#"{{"session_id": {id}, "arguments": ["echo ", "$X\n"], "timeout_ms": 50}}"#);
            let Older::Write(write) = older(&call(OLDER, &text)).expect("a call") else {
                panic!("{text}");
            };
            assert_eq!(
                (write.terminal, write.text.as_str(), write.wait.as_millis()),
                (1234, "echo $X\n", 50)
            );
        }
        for bad in [r#"{"arguments": []}"#, r#"{"session_id": "x", "arguments": []}"#, "{}"] {
            assert!(matches!(older(&call(OLDER, bad)), Err(ToolError::Answer(_))), "{bad}");
        }
    }
}
