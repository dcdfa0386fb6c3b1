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
            "Starts another agent on a task of its own, in the same folders and with at most your permissions. Use it only where \
             the person asked for several agents, or for work that is large, falls into independent parts and gains by being done \
             side by side: each agent costs as much as you do. It knows nothing of this conversation, so say all that it needs. \
             Its final message comes to you by itself.",
            json!({
                "message": text("Its task, complete in itself."),
                "name": text("A short name to write to it by, such as tests or docs."),
                "model": text("Another model of the same provider. Leave it out to use yours."),
                "effort": text("Its reasoning effort. Leave it out to use yours."),
                "read_only": {"type": "boolean", "description": "It is to look and not to change anything."},
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
            "Writes to another agent of this conversation; one that has finished takes it up and works on. Answers come as \
             messages too.",
            json!({
                "to": text("The agent's name; parent for the one that started you."),
                "message": text("What it is to know or do."),
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
            "Waits until one of the agents ends its work, a message comes, or the person says something. The messages follow the \
             answer. Not needed where you have something else to do: messages come by themselves.",
            json!({
                "agents": {"type": "array", "items": {"type": "string"}, "description": "Names. Default: all that you started."},
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
            "Ends an agent that you started, with whatever it is doing, and makes room for another.",
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
