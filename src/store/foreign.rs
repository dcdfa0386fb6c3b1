//! Items in the forms of other programs and of older versions.

use crate::ids::ItemId;
use crate::protocol::item::{
    CommandAction, CommandSource, CompactionReason, Confined, FileChange, FileChangeKind, ItemStatus, ThreadItem,
    UserInput,
};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The item of an `item_completed` line: ours as it is, others as far as they can be shown.
pub(super) fn thread_item(value: &Value) -> Option<ThreadItem> {
    if let Ok(item) = serde_json::from_value(value.clone()) {
        return Some(item);
    }
    let map = camel_keys(value.as_object()?);
    let kind = lower_first(map.get("type")?.as_str()?);
    let id = ItemId::from(map.get("id").and_then(Value::as_str).unwrap_or(&kind));
    let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(match kind.as_str() {
        "userMessage" => ThreadItem::UserMessage {
            id,
            content: parts(map.get("content")).iter().filter_map(user_input).collect(),
            client_id: text("clientId"),
            context: Vec::new(),
        },
        "agentMessage" => ThreadItem::AgentMessage {
            id,
            text: text("text").unwrap_or_else(|| {
                let texts: Vec<&str> = parts(map.get("content"))
                    .iter()
                    .filter_map(|part| part.get("text")?.as_str())
                    .collect();
                texts.join("")
            }),
            partial: false,
        },
        "reasoning" => ThreadItem::Reasoning {
            id,
            summary: strings(map.get("summary").or_else(|| map.get("summaryText"))),
            content: strings(map.get("content").or_else(|| map.get("rawContent"))),
        },
        "plan" => ThreadItem::Plan {
            id,
            explanation: text("text"),
            steps: Vec::new(),
        },
        "commandExecution" => command(id, &map),
        "fileChange" => file_change(id, &map),
        "mcpToolCall" => mcp_call(id, &map),
        "dynamicToolCall" | "collabAgentToolCall" => {
            let tool = text("tool").unwrap_or(kind);
            tool_call(
                id,
                &tool,
                tool.clone(),
                map.get("arguments").cloned().unwrap_or_default(),
                &map,
            )
        }
        "enteredReviewMode" => ThreadItem::EnteredReviewMode {
            id,
            review: text("review").unwrap_or_default(),
            target: None,
        },
        "exitedReviewMode" => ThreadItem::ExitedReviewMode {
            id,
            review: text("review").unwrap_or_default(),
            output: None,
        },
        "webSearch" => {
            let query = text("query").unwrap_or_default();
            tool_call(
                id,
                "web_search",
                format!("Search the web: {query}"),
                Value::Object(map.clone()),
                &map,
            )
        }
        "contextCompaction" => ThreadItem::ContextCompaction {
            id,
            // Other programs do not say.
            reason: CompactionReason::Limit,
            status: ItemStatus::Completed,
            tokens_before: None,
            tokens_after: None,
            summary: None,
            message: None,
        },
        _ => tool_call(id, &kind, words(&kind), Value::Object(map.clone()), &map),
    })
}

/// The thing that an event of the extended older form tells of: a command, a patch, a call.
pub(super) fn event_item(value: &Value) -> Option<ThreadItem> {
    let map = camel_keys(value.as_object()?);
    let id = ItemId::from(map.get("callId")?.as_str()?);
    match map.get("type")?.as_str()? {
        "exec_command_end" => Some(command(id, &map)),
        "patch_apply_end" => Some(file_change(id, &map)),
        "mcp_tool_call_end" => Some(mcp_call(id, &map)),
        "web_search_end" => {
            let query = map.get("query").and_then(Value::as_str).unwrap_or_default();
            Some(tool_call(
                id,
                "web_search",
                format!("Search the web: {query}"),
                value.clone(),
                &map,
            ))
        }
        "view_image_tool_call" => {
            let path = map.get("path").and_then(Value::as_str).unwrap_or_default();
            Some(tool_call(id, "view_image", format!("View {path}"), value.clone(), &map))
        }
        _ => None,
    }
}

fn command(id: ItemId, map: &Map<String, Value>) -> ThreadItem {
    let line = match map.get("command") {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        Some(Value::String(line)) => line.clone(),
        _ => String::new(),
    };
    let actions: Vec<CommandAction> = parts(map.get("commandActions").or_else(|| map.get("actions")))
        .iter()
        .filter_map(|action| serde_json::from_value(action.clone()).ok())
        .collect();
    let exit_code = map
        .get("exitCode")
        .and_then(Value::as_i64)
        .and_then(|code| i32::try_from(code).ok());
    ThreadItem::CommandExecution {
        id,
        actions: if actions.is_empty() {
            vec![CommandAction::Unknown { command: line.clone() }]
        } else {
            actions
        },
        command: line,
        cwd: map
            .get("cwd")
            .and_then(Value::as_str)
            .map(PathBuf::from)
            .unwrap_or_default(),
        // Such files do not tell; the sandbox is the rule.
        source: match map.get("source").and_then(Value::as_str) {
            Some("userShell" | "user_shell" | "user") => CommandSource::User,
            _ => CommandSource::Agent,
        },
        confined: Confined::Workspace,
        status: status(map).unwrap_or(match exit_code {
            Some(code) if code != 0 => ItemStatus::Failed,
            _ => ItemStatus::Completed,
        }),
        aggregated_output: ["aggregatedOutput", "formattedOutput", "stdout"]
            .iter()
            .find_map(|key| map.get(*key)?.as_str())
            .map(str::to_owned),
        exit_code,
        duration_ms: duration(map),
        reason: None,
        full_output: None,
        terminal_id: None,
    }
}

fn file_change(id: ItemId, map: &Map<String, Value>) -> ThreadItem {
    let changes = match map.get("changes") {
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(|change| {
                let diff = change.get("diff").and_then(Value::as_str).unwrap_or_default();
                one_change(
                    change.get("path")?.as_str()?,
                    change.get("kind").unwrap_or(&Value::Null),
                    diff,
                )
            })
            .collect(),
        // Older: a map from path to the kind with its content.
        Some(Value::Object(files)) => files
            .iter()
            .filter_map(|(path, change)| {
                let body = change
                    .get("type")
                    .is_none()
                    .then(|| change.as_object()?.values().next())
                    .flatten();
                let body = body.unwrap_or(change);
                let diff = ["unified_diff", "diff", "content"]
                    .iter()
                    .find_map(|key| body.get(*key)?.as_str());
                one_change(path, change, diff.unwrap_or_default())
            })
            .collect(),
        _ => Vec::new(),
    };
    let success = map.get("success").and_then(Value::as_bool);
    ThreadItem::FileChange {
        id,
        proposal_id: None,
        changes,
        applied: None,
        auto_approved: map.get("auto_approved").and_then(Value::as_bool) == Some(true),
        status: status(map).unwrap_or(match success {
            Some(false) => ItemStatus::Failed,
            _ => ItemStatus::Completed,
        }),
        outcome: None,
    }
}

/// A change whose kind is a word, a tagged object, or an object with the word as its only key.
fn one_change(path: &str, kind: &Value, diff: &str) -> Option<FileChange> {
    let word = match kind {
        Value::String(word) => word.as_str(),
        Value::Object(map) => match map.get("type").and_then(Value::as_str) {
            Some(word) => word,
            None => map.keys().next()?.as_str(),
        },
        _ => "update",
    };
    let kind = match word.to_ascii_lowercase().as_str() {
        "add" => FileChangeKind::Add,
        "delete" => FileChangeKind::Delete,
        _ => FileChangeKind::Update {
            move_path: [
                kind.get("move_path"),
                kind.get("movePath"),
                kind.pointer("/update/move_path"),
            ]
            .into_iter()
            .flatten()
            .find_map(Value::as_str)
            .map(PathBuf::from),
        },
    };
    Some(FileChange {
        path: PathBuf::from(path),
        kind,
        diff: diff.to_owned(),
    })
}

fn mcp_call(id: ItemId, map: &Map<String, Value>) -> ThreadItem {
    let invocation = map.get("invocation").and_then(Value::as_object).unwrap_or(map);
    let part = |key: &str| invocation.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = format!("{}.{}", part("server"), part("tool"));
    let arguments = invocation.get("arguments").cloned().unwrap_or_default();
    tool_call(id, &name, name.clone(), arguments, map)
}

fn tool_call(id: ItemId, tool: &str, title: String, arguments: Value, map: &Map<String, Value>) -> ThreadItem {
    ThreadItem::ToolCall {
        id,
        tool: tool.to_owned(),
        title,
        arguments,
        status: status(map).unwrap_or(ItemStatus::Completed),
        output: map.get("output").and_then(Value::as_str).map(str::to_owned),
        duration_ms: duration(map),
    }
}

fn user_input(value: &Value) -> Option<UserInput> {
    if let Ok(input) = serde_json::from_value(value.clone()) {
        return Some(input);
    }
    let map = camel_keys(value.as_object()?);
    let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    match lower_first(map.get("type")?.as_str()?).as_str() {
        "text" => Some(UserInput::Text { text: text("text")? }),
        "image" => Some(UserInput::Image {
            url: text("url").or_else(|| text("imageUrl"))?,
        }),
        "local_image" | "localImage" => Some(UserInput::LocalImage {
            path: text("path")?.into(),
        }),
        "mention" | "skill" => Some(UserInput::Mention {
            path: text("path")?.into(),
            line_range: None,
        }),
        _ => None,
    }
}

fn status(map: &Map<String, Value>) -> Option<ItemStatus> {
    match map.get("status")?.as_str()? {
        "inProgress" | "in_progress" => Some(ItemStatus::Interrupted),
        "completed" => Some(ItemStatus::Completed),
        "failed" => Some(ItemStatus::Failed),
        "declined" => Some(ItemStatus::Declined),
        "interrupted" => Some(ItemStatus::Interrupted),
        _ => None,
    }
}

fn duration(map: &Map<String, Value>) -> Option<u64> {
    if let Some(ms) = map.get("durationMs").and_then(Value::as_u64) {
        return Some(ms);
    }
    let duration = map.get("duration")?;
    let seconds = duration.get("secs")?.as_u64()?;
    let nanos = duration.get("nanos").and_then(Value::as_u64).unwrap_or(0);
    Some(seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000))
}

fn parts(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn strings(value: Option<&Value>) -> Vec<String> {
    parts(value)
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn camel_keys(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter().map(|(key, value)| (camel(key), value.clone())).collect()
}

fn camel(key: &str) -> String {
    let mut result = String::with_capacity(key.len());
    let mut upper = false;
    for letter in key.chars() {
        if letter == '_' {
            upper = true;
        } else if upper {
            result.extend(letter.to_uppercase());
            upper = false;
        } else {
            result.push(letter);
        }
    }
    result
}

fn lower_first(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// `contextCompaction` as `context compaction`.
fn words(kind: &str) -> String {
    let mut result = String::new();
    for letter in kind.chars() {
        if letter.is_uppercase() {
            result.push(' ');
        }
        result.extend(letter.to_lowercase());
    }
    result
}
