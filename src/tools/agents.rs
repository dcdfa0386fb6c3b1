//! Tools by which agents work together: start one, write to one, wait for one, list and close them. What is waited for comes
//! after what was begun before it in the same answer, so only waiting and listing run side by side.

use super::{Call, Host, Tool, ToolError, ToolOutput, arguments, schema};
use crate::model::item::ToolSpec;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;

pub const SPAWN: &str = "spawn_agent";
pub const SEND: &str = "send_message";
pub const WAIT: &str = "wait_agents";
pub const LIST: &str = "list_agents";
pub const CLOSE: &str = "close_agent";

/// How long is waited where the model names no time, and at most.
const USUAL_WAIT: Duration = Duration::from_secs(300);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// What the model wants of other agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collab {
    Spawn(Spawn),
    Send {
        to: String,
        message: String,
        /// An agent that has nothing to do begins to work.
        wakes: bool,
    },
    Wait {
        /// Empty: all of its own.
        agents: Vec<String>,
        limit: Duration,
    },
    List,
    Close {
        agent: String,
    },
}

/// An agent that is to be started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Spawn {
    /// Its task.
    #[serde(alias = "task", alias = "prompt")]
    pub message: String,
    pub name: Option<String>,
    pub model: Option<String>,
    #[serde(alias = "reasoning_effort")]
    pub effort: Option<String>,
    /// It may look and not change.
    #[serde(default)]
    pub read_only: bool,
}

pub struct SpawnAgent;
pub struct SendMessage;
pub struct WaitAgents;
pub struct ListAgents;
pub struct CloseAgent;

fn function(name: &str, description: &str, properties: serde_json::Value, required: &[&str]) -> ToolSpec {
    ToolSpec::Function {
        name: name.to_owned(),
        description: description.to_owned(),
        strict: false,
        parameters: schema(properties, required),
    }
}

fn text(words: &str) -> serde_json::Value {
    json!({"type": "string", "description": words})
}

/// A text that says something.
fn filled(field: &str, text: String) -> Result<String, ToolError> {
    match text.trim().is_empty() {
        true => Err(ToolError::Answer(format!(
            "{field} is empty. Call it again and say it."
        ))),
        false => Ok(text),
    }
}

impl Tool for SpawnAgent {
    fn spec(&self) -> ToolSpec {
        function(
            SPAWN,
            "Starts another agent in the same folders, with at most your permissions. It costs as much as you do: only where the \
             person asked for agents, or large work falls into independent parts. It knows nothing of this conversation. Its final \
             message comes to you by itself.",
            json!({
                "message": text("Its task, complete in itself."),
                "name": text("To write to it by, such as tests."),
                "model": text("Of the same provider; default: yours."),
                "effort": text("Reasoning effort; default: yours."),
                "read_only": {"type": "boolean", "description": "It changes nothing."},
            }),
            &["message"],
        )
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let mut spawn: Spawn = arguments(call)?;
            spawn.message = filled("message", spawn.message)?;
            host.collaborate(call.id.as_str().into(), Collab::Spawn(spawn)).await
        })
    }
}

impl Tool for SendMessage {
    fn spec(&self) -> ToolSpec {
        function(
            SEND,
            "Writes to another agent of this conversation; one that has finished works on. Answers come as messages.",
            json!({
                "to": text("Its name; parent for the one that started you."),
                "message": json!({"type": "string"}),
            }),
            &["to", "message"],
        )
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["send_input"]
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        #[derive(Deserialize)]
        struct Arguments {
            #[serde(alias = "agent", alias = "id")]
            to: String,
            message: String,
            #[serde(default = "yes")]
            wakes: bool,
        }
        fn yes() -> bool {
            true
        }
        Box::pin(async move {
            let Arguments { to, message, wakes } = arguments(call)?;
            let message = filled("message", message)?;
            host.collaborate(call.id.as_str().into(), Collab::Send { to, message, wakes })
                .await
        })
    }
}

impl Tool for WaitAgents {
    fn spec(&self) -> ToolSpec {
        function(
            WAIT,
            "Waits until an agent ends, a message comes, or the person says something. Not needed where you have something else to \
             do: messages come by themselves.",
            json!({
                "agents": {"type": "array", "items": {"type": "string"}, "description": "Default: all that you started."},
                "timeout_ms": {"type": "integer", "description": "Default 300000, at most 3600000."},
            }),
            &[],
        )
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["wait", "wait_agent"]
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        #[derive(Deserialize)]
        struct Arguments {
            #[serde(default, alias = "ids")]
            agents: Vec<String>,
            timeout_ms: Option<u64>,
        }
        Box::pin(async move {
            let Arguments { agents, timeout_ms } = arguments(call)?;
            let limit = timeout_ms.map_or(USUAL_WAIT, Duration::from_millis).min(LONGEST_WAIT);
            host.collaborate(call.id.as_str().into(), Collab::Wait { agents, limit })
                .await
        })
    }
}

impl Tool for ListAgents {
    fn spec(&self) -> ToolSpec {
        function(
            LIST,
            "Lists the agents of this conversation and where each stands.",
            json!({}),
            &[],
        )
    }

    fn only_reads(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(host.collaborate(call.id.as_str().into(), Collab::List))
    }
}

impl Tool for CloseAgent {
    fn spec(&self) -> ToolSpec {
        function(
            CLOSE,
            "Ends an agent that you started, and makes room for another.",
            json!({"agent": text("Its name.")}),
            &["agent"],
        )
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["stop_agent"]
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        #[derive(Deserialize)]
        struct Arguments {
            #[serde(alias = "id", alias = "name")]
            agent: String,
        }
        Box::pin(async move {
            let Arguments { agent } = arguments(call)?;
            host.collaborate(call.id.as_str().into(), Collab::Close { agent }).await
        })
    }
}
