//! `write_stdin`: types into a command that runs on, or waits for more of its output.

use super::exec_command::{DEFAULT_TOKENS, Number, YIELD_MS, limited};
use super::{Call, Host, Look, TerminalWrite, Tool, ToolError, ToolOutput, arguments, schema, shown_arguments};
use crate::model::item::ToolSpec;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

pub const NAME: &str = "write_stdin";

/// How long is waited after something was typed, in milliseconds.
const DEFAULT_YIELD_MS: u64 = 250;
/// The least that is waited where nothing is typed: who asks more often learns no more.
const SHORTEST_POLL_MS: u64 = 5000;

pub struct WriteStdin;

#[derive(Deserialize)]
struct Arguments {
    session_id: Number,
    #[serde(default)]
    chars: Option<String>,
    yield_time_ms: Option<u64>,
    max_output_tokens: Option<usize>,
}

impl Tool for WriteStdin {
    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: NAME.to_owned(),
            description:
                "Types into a command that exec_command left running, and returns what it has printed since. With no chars it \
                 only waits. Once the command has ended, the answer holds its exit code. Without a terminal only \\u0003 reaches it."
                    .to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "session_id": {"type": "integer"},
                    "chars": {"type": "string", "description": "As keys send it: \\r for Enter, \\u0003 for Ctrl-C, \\u001b[A for arrow up."},
                    "yield_time_ms": {"type": "integer", "description": "After typing 250 to 30000, default 250; else 5000 to 300000, default 5000."},
                    "max_output_tokens": {"type": "integer", "description": "Default 10000."},
                }),
                &["session_id"],
            ),
        }
    }

    fn look(&self, call: &Call) -> Option<Look> {
        let arguments = shown_arguments(call);
        let terminal = match arguments.get("session_id") {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "?".to_owned(),
        };
        let chars = arguments
            .get("chars")
            .and_then(|chars| chars.as_str())
            .unwrap_or_default();
        let title = match chars {
            "" => format!("Wait for terminal {terminal}"),
            "\u{3}" => format!("Interrupt terminal {terminal}"),
            chars => {
                let line: String = chars.trim().chars().take(60).collect();
                format!("Type into terminal {terminal}: {}", line.escape_debug())
            }
        };
        Some(Look { title, arguments })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { host.write_to_terminal(write(call, host.longest_poll())?).await })
    }
}

fn write(call: &Call, longest_poll: Duration) -> Result<TerminalWrite, ToolError> {
    let Arguments {
        session_id: Number(terminal),
        chars,
        yield_time_ms,
        max_output_tokens,
    } = arguments(call)?;
    let text = chars.unwrap_or_default();
    let wait = if text.is_empty() {
        let longest = u64::try_from(longest_poll.as_millis()).unwrap_or(u64::MAX);
        limited(
            yield_time_ms,
            &(SHORTEST_POLL_MS..=longest.max(SHORTEST_POLL_MS)),
            SHORTEST_POLL_MS,
        )
    } else {
        limited(yield_time_ms, &YIELD_MS, DEFAULT_YIELD_MS)
    };
    Ok(TerminalWrite {
        item_id: call.id.as_str().into(),
        terminal,
        text,
        wait,
        most_tokens: max_output_tokens.unwrap_or(DEFAULT_TOKENS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Payload;

    fn call(arguments: &str) -> Call {
        Call {
            id: "c".to_owned(),
            tool: NAME.to_owned(),
            payload: Payload::Function(arguments.to_owned()),
        }
    }

    #[test]
    fn calls_by_table() {
        let longest = Duration::from_secs(300);
        for (arguments, longest, text, wait_ms, tokens) in [
            (r#"{"session_id": 1234}"#, longest, "", 5000, 10_000),
            (r#"{"session_id": "1234", "chars": null}"#, longest, "", 5000, 10_000),
            (r#"{"session_id": 1234, "yield_time_ms": 1}"#, longest, "", 5000, 10_000),
            (
                r#"{"session_id": 1234, "yield_time_ms": 999999999}"#,
                longest,
                "",
                300_000,
                10_000,
            ),
            (
                r#"{"session_id": 1234, "yield_time_ms": 9000}"#,
                Duration::from_secs(8),
                "",
                8000,
                10_000,
            ),
            (
                r#"{"session_id": 1234, "yield_time_ms": 9000}"#,
                Duration::ZERO,
                "",
                5000,
                10_000,
            ),
            (r#"{"session_id": 1234, "chars": "ls\n"}"#, longest, "ls\n", 250, 10_000),
            (
                r#"{"session_id": 1234, "chars": "\u0003", "yield_time_ms": 1, "max_output_tokens": 7}"#,
                longest,
                "\u{3}",
                250,
                7,
            ),
            (
                r#"{"session_id": 1234, "chars": "x", "yield_time_ms": 600000}"#,
                longest,
                "x",
                30_000,
                10_000,
            ),
        ] {
            let expected = TerminalWrite {
                item_id: "c".into(),
                terminal: 1234,
                text: text.to_owned(),
                wait: Duration::from_millis(wait_ms),
                most_tokens: tokens,
            };
            assert_eq!(
                write(&call(arguments), longest).expect("a call"),
                expected,
                "{arguments}"
            );
        }
        for bad in [
            "",
            "{}",
            r#"{"session_id": -1}"#,
            r#"{"session_id": 1.5}"#,
            r#"{"session_id": 1, "chars": 3}"#,
        ] {
            assert!(matches!(write(&call(bad), longest), Err(ToolError::Answer(_))), "{bad}");
        }
    }

    #[test]
    fn titles_by_table() {
        for (arguments, title) in [
            (r#"{"session_id": 1234}"#, "Wait for terminal 1234"),
            (
                r#"{"session_id": "1234", "chars": "\u0003"}"#,
                "Interrupt terminal 1234",
            ),
            (
                r#"{"session_id": 1234, "chars": "print(1)\n"}"#,
                "Type into terminal 1234: print(1)",
            ),
            (
                r#"{"session_id": 1, "chars": "\u001b[A\r"}"#,
                "Type into terminal 1: \\u{1b}[A",
            ),
            ("nonsense", "Wait for terminal ?"),
        ] {
            assert_eq!(WriteStdin.look(&call(arguments)).expect("a look").title, title);
        }
    }
}
