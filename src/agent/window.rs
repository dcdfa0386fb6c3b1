//! What fills the window of a conversation's model: what went along with its last request, and what its history holds now.

use super::compaction::measure;
use super::conversation::Conversation;
use super::small::{Beside, Fit, beside};
use super::turn::Turn;
use crate::model::ModelRequest;
use crate::model::item::ResponseItem;
use crate::protocol::context::{ContextEntry, ContextPart, ContextPartKind, ThreadContextResult};
use crate::shown;
use crate::store::history::is_words;
use std::collections::HashMap;

/// Names of one part.
const LARGEST: usize = 5;
/// How names of tools of MCP servers begin.
const OF_SERVER: &str = "mcp__";

/// What went along with a request.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    model: String,
    context_window: Option<u32>,
    compacts_at: Option<u32>,
    /// Tokens.
    instructions: usize,
    /// With their tokens.
    tools: Vec<(String, usize)>,
    fit: Fit,
}

impl Sent {
    pub(super) fn of(turn: &Turn, request: &ModelRequest, fit: Fit) -> Self {
        let context_window = turn.provider().context_window;
        let tools = request.tools.iter();
        Self {
            model: request.model.clone(),
            context_window,
            compacts_at: measure::limit(&turn.config, context_window),
            instructions: measure::text(&request.instructions),
            tools: tools
                .map(|tool| (tool.name().to_owned(), measure::tool(tool)))
                .collect(),
            fit,
        }
    }
}

/// What the next request would hold, as far as that is known.
pub(super) fn report(conversation: &Conversation) -> ThreadContextResult {
    let (items, sent, counted, since) = {
        let data = conversation.data();
        let (counted, since) = data.history.since_count();
        (data.history.for_model(), data.sent.clone(), counted, since.to_vec())
    };
    let fit = sent.as_ref().map(|sent| sent.fit).unwrap_or_default();
    let mut parts = Parts::default();
    if let Some(sent) = &sent {
        parts.add(ContextPartKind::Instructions, sent.instructions, None);
        for (name, tokens) in &sent.tools {
            let kind = match name.starts_with(OF_SERVER) {
                true => ContextPartKind::McpTools,
                false => ContextPartKind::Tools,
            };
            parts.add(kind, *tokens, Some(name));
        }
    }
    parts.add_history(&items, &fit);
    let sum: usize = parts.0.values().map(|part| part.tokens).sum();
    let tokens = match counted {
        Some(tokens) => tokens as usize + since.iter().map(|item| fit.size(item)).sum::<usize>(),
        None => sum,
    };
    ThreadContextResult {
        model: sent.as_ref().map(|sent| sent.model.clone()),
        context_window: sent.as_ref().and_then(|sent| sent.context_window),
        compacts_at: sent.as_ref().and_then(|sent| sent.compacts_at),
        tokens: short(tokens),
        parts: parts.into_list(),
        left_out: fit.left_out(&items).into_iter().map(str::to_owned).collect(),
    }
}

#[derive(Default)]
struct Part {
    tokens: usize,
    count: usize,
    by_name: HashMap<String, usize>,
}

#[derive(Default)]
struct Parts(HashMap<ContextPartKind, Part>);

impl Parts {
    fn add(&mut self, kind: ContextPartKind, tokens: usize, name: Option<&str>) {
        let part = self.0.entry(kind).or_default();
        part.tokens += tokens;
        part.count += 1;
        if let Some(name) = name {
            *part.by_name.entry(name.to_owned()).or_default() += tokens;
        }
    }

    fn add_history(&mut self, items: &[ResponseItem], fit: &Fit) {
        let mut called: HashMap<&str, &str> = HashMap::new();
        for item in items {
            if let (Some(id), Some(name)) = (item.call_id(), tool(item)) {
                called.insert(id, name);
            }
            let kind = kind(item);
            let name = match kind {
                ContextPartKind::ToolResults => item.call_id().and_then(|id| called.get(id).copied()),
                _ => None,
            };
            self.add(kind, fit.size(item), name);
        }
    }

    fn into_list(self) -> Vec<ContextPart> {
        let mut list: Vec<ContextPart> = self
            .0
            .into_iter()
            .map(|(kind, part)| {
                let mut largest: Vec<(String, usize)> = part.by_name.into_iter().collect();
                largest.sort_by(|(name, tokens), (other, more)| more.cmp(tokens).then_with(|| name.cmp(other)));
                largest.truncate(LARGEST);
                let largest = largest.into_iter().map(|(name, tokens)| ContextEntry {
                    name: shown::line(&name),
                    tokens: short(tokens),
                });
                ContextPart {
                    kind,
                    title: title(kind).to_owned(),
                    tokens: short(part.tokens),
                    count: short(part.count),
                    largest: largest.collect(),
                }
            })
            .collect();
        list.sort_by(|one, other| other.tokens.cmp(&one.tokens).then_with(|| one.title.cmp(&other.title)));
        list
    }
}

fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The tool that an item calls.
fn tool(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::FunctionCall { name, .. } | ResponseItem::CustomToolCall { name, .. } => Some(name),
        ResponseItem::LocalShellCall { .. } => Some("local_shell"),
        _ => None,
    }
}

fn kind(item: &ResponseItem) -> ContextPartKind {
    match beside(item) {
        Some(Beside::Files) => return ContextPartKind::InstructionFiles,
        Some(Beside::Attached) => return ContextPartKind::Attachments,
        Some(Beside::Standing) => return ContextPartKind::Environment,
        None => {}
    }
    match item {
        _ if is_words(item) => ContextPartKind::UserMessages,
        ResponseItem::Message { role, .. } if role == "assistant" => ContextPartKind::AgentMessages,
        ResponseItem::Message { .. } if super::compaction::is_summary(item) => ContextPartKind::Summary,
        ResponseItem::Message { .. } | ResponseItem::Other => ContextPartKind::Environment,
        ResponseItem::Reasoning { .. } => ContextPartKind::Reasoning,
        ResponseItem::FunctionCall { .. }
        | ResponseItem::CustomToolCall { .. }
        | ResponseItem::LocalShellCall { .. }
        | ResponseItem::WebSearchCall { .. } => ContextPartKind::ToolCalls,
        ResponseItem::FunctionCallOutput { .. }
        | ResponseItem::CustomToolCallOutput { .. }
        | ResponseItem::LocalShellCallOutput { .. } => ContextPartKind::ToolResults,
    }
}

fn title(kind: ContextPartKind) -> &'static str {
    match kind {
        ContextPartKind::Instructions => "Instructions",
        ContextPartKind::Tools => "Tools",
        ContextPartKind::McpTools => "MCP tools",
        ContextPartKind::InstructionFiles => "Instruction files (AGENTS.md)",
        ContextPartKind::Environment => "Environment and notes",
        ContextPartKind::Attachments => "Attached files and editor context",
        ContextPartKind::UserMessages => "Your messages",
        ContextPartKind::AgentMessages => "Agent messages",
        ContextPartKind::Reasoning => "Reasoning",
        ContextPartKind::ToolCalls => "Tool calls",
        ContextPartKind::ToolResults => "Tool results",
        ContextPartKind::Summary => "Summary of earlier turns",
    }
}
