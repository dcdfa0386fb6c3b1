//! The thread that a rollout is of, as its first line describes it.

use super::{format_ms, now_ms, parse_ms, text};
use crate::ids::ThreadId;
use crate::protocol::agent::SubAgent;
use crate::protocol::thread::{GitInfo, ThreadMemoryMode};
use crate::protocol::tool::DynamicToolSpec;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The thread itself.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionMeta {
    pub id: ThreadId,
    pub forked_from_id: Option<ThreadId>,
    /// Milliseconds since the epoch at which the thread began.
    pub created_at_ms: i64,
    pub cwd: PathBuf,
    /// The program; begins with [`crate::store::ORIGINATOR`] in our files.
    pub originator: String,
    pub cli_version: String,
    /// `vscode`, `neovim`, `cli`, …
    pub source: String,
    pub model_provider: Option<String>,
    /// The project's instructions that were in force.
    pub instructions: Option<String>,
    /// Instructions that replaced the built-in ones.
    pub base_instructions: Option<String>,
    /// Tools that the client declared when the thread was started.
    pub dynamic_tools: Vec<DynamicToolSpec>,
    /// What makes it a sub-agent's thread.
    pub agent: Option<SubAgent>,
    pub git: Option<GitInfo>,
    /// Whether memories may be made of the thread. A later line of the same thread changes it.
    pub memory_mode: Option<ThreadMemoryMode>,
}

impl SessionMeta {
    /// The description of a thread that begins now, in this program.
    pub fn new(id: ThreadId, cwd: &Path, source: &str) -> Self {
        Self {
            id,
            forked_from_id: None,
            created_at_ms: now_ms(),
            cwd: cwd.to_owned(),
            originator: crate::store::ORIGINATOR.to_owned(),
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
            source: source.to_owned(),
            model_provider: None,
            instructions: None,
            base_instructions: None,
            dynamic_tools: Vec::new(),
            agent: None,
            git: None,
            memory_mode: None,
        }
    }

    /// Whether this program wrote the file, so that it may append to it.
    pub fn is_ours(&self) -> bool {
        self.originator.starts_with(crate::store::ORIGINATOR)
    }

    pub(super) fn to_json(&self) -> Option<String> {
        /// The order of the fields is that of the file: the id stands near its beginning.
        #[derive(Serialize)]
        struct Written<'a> {
            id: &'a ThreadId,
            session_id: &'a ThreadId,
            #[serde(skip_serializing_if = "Option::is_none")]
            forked_from_id: &'a Option<ThreadId>,
            timestamp: String,
            cwd: &'a Path,
            originator: &'a str,
            cli_version: &'a str,
            source: Value,
            #[serde(skip_serializing_if = "Option::is_none")]
            model_provider: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            git: Option<Git<'a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            instructions: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            base_instructions: Option<Value>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            dynamic_tools: Vec<Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            memory_mode: Option<ThreadMemoryMode>,
        }
        #[derive(Serialize)]
        struct Git<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            commit_hash: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            branch: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            repository_url: &'a Option<String>,
        }
        let written = Written {
            id: &self.id,
            session_id: &self.id,
            forked_from_id: &self.forked_from_id,
            timestamp: format_ms(self.created_at_ms),
            cwd: &self.cwd,
            originator: &self.originator,
            cli_version: &self.cli_version,
            // Readers elsewhere know a few names only; any other goes under `custom`.
            source: match self.source.as_str() {
                _ if self.agent.is_some() => {
                    json!({ "subagent": { "thread_spawn": self.agent.as_ref().map(agent_to_value) } })
                }
                "cli" | "vscode" | "exec" | "mcp" | "unknown" => json!(self.source),
                other => json!({ "custom": other }),
            },
            model_provider: &self.model_provider,
            git: self.git.as_ref().map(|git| Git {
                commit_hash: &git.sha,
                branch: &git.branch,
                repository_url: &git.origin_url,
            }),
            instructions: &self.instructions,
            base_instructions: self.base_instructions.as_ref().map(|text| json!({ "text": text })),
            dynamic_tools: self.dynamic_tools.iter().filter_map(tool_to_value).collect(),
            memory_mode: self.memory_mode,
        };
        serde_json::to_string(&written).ok()
    }

    /// The same as it counts for a thread in this file. The name says which thread it is: one that describes another is not
    /// ours, whatever it says.
    pub(in crate::store) fn in_file(mut self, path: &Path) -> Self {
        if let Some(named) = crate::store::load::named_meta(path)
            && named.id != self.id
        {
            if !named.id.as_str().eq_ignore_ascii_case(self.id.as_str()) {
                self.originator = String::new();
            }
            self.id = named.id;
        }
        self
    }

    /// `None` if there is no id in it. Only a UUID is one: folders and files have it in their names.
    pub(in crate::store) fn from_value(value: &Value) -> Option<Self> {
        let id = text(value, "id").or_else(|| text(value, "session_id"))?;
        uuid::Uuid::try_parse(&id).ok()?;
        let source = match value.get("source") {
            Some(Value::String(name)) => name.clone(),
            Some(Value::Object(map)) => match map.get("custom") {
                Some(Value::String(name)) => name.clone(),
                _ => map.keys().next().cloned().unwrap_or_else(|| "unknown".to_owned()),
            },
            _ => "unknown".to_owned(),
        };
        let base_instructions = match value.get("base_instructions") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => text(other, "text"),
            None => None,
        };
        let git = value.get("git").filter(|git| git.is_object()).map(|git| GitInfo {
            sha: text(git, "commit_hash"),
            branch: text(git, "branch"),
            origin_url: text(git, "repository_url"),
        });
        Some(Self {
            id: id.into(),
            forked_from_id: text(value, "forked_from_id").map(ThreadId::from),
            created_at_ms: text(value, "timestamp").and_then(|stamp| parse_ms(&stamp)).unwrap_or(0),
            cwd: text(value, "cwd").map(PathBuf::from).unwrap_or_default(),
            originator: text(value, "originator").unwrap_or_default(),
            cli_version: text(value, "cli_version").unwrap_or_default(),
            source,
            model_provider: text(value, "model_provider"),
            instructions: text(value, "instructions").or_else(|| text(value, "user_instructions")),
            base_instructions,
            dynamic_tools: value
                .get("dynamic_tools")
                .and_then(Value::as_array)
                .map(|tools| {
                    tools
                        .iter()
                        .filter_map(|tool| serde_json::from_value(tool.clone()).ok())
                        .collect()
                })
                .unwrap_or_default(),
            agent: value
                .pointer("/source/subagent/thread_spawn")
                .and_then(agent_from_value),
            git,
            memory_mode: value
                .get("memory_mode")
                .and_then(|mode| serde_json::from_value(mode.clone()).ok()),
        })
    }
}

fn agent_to_value(agent: &SubAgent) -> Value {
    json!({
        "parent_thread_id": agent.parent_thread_id,
        "depth": agent.depth,
        "agent_nickname": agent.name,
    })
}

fn agent_from_value(value: &Value) -> Option<SubAgent> {
    Some(SubAgent {
        name: text(value, "agent_nickname").unwrap_or_else(|| "agent".to_owned()),
        parent_thread_id: text(value, "parent_thread_id")?.into(),
        depth: value
            .get("depth")
            .and_then(Value::as_u64)
            .map_or(1, |depth| u32::try_from(depth).unwrap_or(u32::MAX)),
    })
}

/// A declared tool with the tag by which newer readers tell single tools from groups of them.
fn tool_to_value(tool: &DynamicToolSpec) -> Option<Value> {
    let mut value = serde_json::to_value(tool).ok()?;
    value.as_object_mut()?.insert("type".to_owned(), "function".into());
    Some(value)
}
