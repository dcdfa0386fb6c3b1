//! Reading a whole rollout, whatever state it is in.
//!
//! Files come from crashes, copies, editors and other programs: a line that cannot be understood costs that
//! line only, and is counted.

use super::line::{RolloutItem, SessionMeta, TurnContextRecord, parse_ms, text};
use super::{StoreError, history, summary, turns};
use crate::ids::ThreadId;
use crate::model::item::ResponseItem;
use crate::protocol::model::ThreadTokenUsage;
use crate::protocol::turn::Turn;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A stored thread.
#[derive(Clone, Debug)]
pub struct Stored {
    pub path: PathBuf,
    pub meta: SessionMeta,
    /// What the model is to see: compactions and rollbacks applied, every call with its output.
    pub history: Vec<ResponseItem>,
    /// What the person is to see.
    pub turns: Vec<Turn>,
    pub usage: Option<ThreadTokenUsage>,
    /// The settings of the last request.
    pub last_context: Option<TurnContextRecord>,
    /// The person's first words; empty if there are none.
    pub preview: String,
    pub name: Option<String>,
    pub updated_at_ms: i64,
    /// Lines that could not be understood, duplicates not counted.
    pub skipped: usize,
    pub(super) tail: Tail,
}

/// How to go on writing the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    pub(super) next_ordinal: u64,
    pub(super) last_ms: i64,
    /// The last line has no end: the program that wrote it was cut off.
    pub(super) torn: bool,
}

/// One understood line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) at_ms: Option<i64>,
    pub(super) kind: String,
    pub(super) payload: Value,
    /// `None` for kinds that are not for us; they are kept when a thread is forked.
    pub(super) item: Option<RolloutItem>,
}

/// All lines of a file, in order, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    pub(super) lines: Vec<Line>,
    pub(super) skipped: usize,
    pub(super) tail: Tail,
}

/// Reads a rollout.
pub fn load(path: &Path) -> Result<Stored, StoreError> {
    let lines = read_lines(path)?;
    understand(path, &lines)
}

pub(super) fn understand(path: &Path, lines: &Lines) -> Result<Stored, StoreError> {
    let meta = lines.lines.iter().find_map(|line| match &line.item {
        Some(RolloutItem::SessionMeta(meta)) => Some(meta.clone()),
        _ => None,
    });
    let meta = match meta {
        Some(meta) => meta,
        None if lines.lines.is_empty() => return Err(StoreError::Empty { path: path.to_owned() }),
        // The first line is damaged but the conversation is there: the name still tells whose it is.
        None => meta_from_name(path, lines).ok_or_else(|| StoreError::NoMeta { path: path.to_owned() })?,
    };
    let items = || lines.lines.iter().filter_map(|line| line.item.as_ref());
    let replayed = history::replay(items());
    let name = items().fold(None, |name, item| summary::name_of(item).unwrap_or(name));
    Ok(Stored {
        path: path.to_owned(),
        history: replayed.history,
        turns: turns::reconstruct(&lines.lines),
        usage: replayed.usage,
        last_context: items().fold(None, |last, item| match item {
            RolloutItem::TurnContext(context) => Some(context.clone()),
            _ => last,
        }),
        preview: items().find_map(summary::words_of).unwrap_or_default(),
        name,
        updated_at_ms: lines.tail.last_ms.max(meta.created_at_ms),
        meta,
        skipped: lines.skipped,
        tail: lines.tail.clone(),
    })
}

fn meta_from_name(path: &Path, lines: &Lines) -> Option<SessionMeta> {
    let (created_at_ms, id) = summary::parse_name(path.file_name()?.to_str()?)?;
    let usable = lines.lines.iter().any(|line| line.item.is_some());
    usable.then(|| {
        let cwd = lines.lines.iter().find_map(|line| match &line.item {
            Some(RolloutItem::TurnContext(context)) => Some(context.cwd.clone()),
            _ => None,
        });
        // Not ours as far as anyone can tell, so a resume makes a copy and leaves the damaged file alone.
        SessionMeta {
            id: ThreadId::from(id),
            forked_from_id: None,
            created_at_ms,
            cwd: cwd.unwrap_or_default(),
            originator: String::new(),
            cli_version: String::new(),
            source: "unknown".to_owned(),
            model_provider: None,
            instructions: None,
            base_instructions: None,
            dynamic_tools: Vec::new(),
            agent: None,
            git: None,
        }
    })
}

pub(super) fn read_lines(path: &Path) -> Result<Lines, StoreError> {
    let bytes = std::fs::read(path).map_err(|cause| StoreError::Read {
        path: path.to_owned(),
        cause,
    })?;
    Ok(parse_lines(&bytes))
}

pub(super) fn parse_lines(bytes: &[u8]) -> Lines {
    let mut result = Lines::default();
    let mut seen: HashSet<(Option<u64>, u64)> = HashSet::new();
    result.tail.torn = !bytes.is_empty() && !bytes.ends_with(b"\n");
    for raw in raw_lines(bytes) {
        let values = values_of(raw);
        if values.is_empty() {
            result.skipped += 1;
        }
        for value in values {
            let ordinal = value.get("ordinal").and_then(Value::as_u64);
            if let Some(ordinal) = ordinal {
                result.tail.next_ordinal = result.tail.next_ordinal.max(ordinal.saturating_add(1));
            }
            if !seen.insert((ordinal, fingerprint(&value, ordinal.is_none()))) {
                continue;
            }
            match parse_value(value) {
                Some(line) => {
                    result.tail.last_ms = result.tail.last_ms.max(line.at_ms.unwrap_or(0));
                    result.lines.push(line);
                }
                None => result.skipped += 1,
            }
        }
    }
    // Files without ordinals get theirs by position.
    result.tail.next_ordinal = result.tail.next_ordinal.max(result.lines.len() as u64);
    result
}

/// The lines without their ends, a byte-order mark and blank ones.
pub(super) fn raw_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
}

/// The JSON objects of a line: one, or what can be saved of a line that two writers or a crash spoiled.
fn values_of(raw: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(raw);
    let mut values = Vec::new();
    for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        match value {
            Ok(value) if value.is_object() => values.push(value),
            Ok(_) => {}
            Err(_) => {
                // A line that was cut off and then written behind: its second half is whole.
                if let Some(at) = text.rfind("{\"timestamp\":").filter(|at| *at > 0)
                    && let Ok(value) = serde_json::from_str::<Value>(&text[at..])
                    && value.is_object()
                {
                    values.push(value);
                }
                break;
            }
        }
    }
    values
}

/// Equal for two copies of a line. The time counts only where no number tells the lines apart.
fn fingerprint(value: &Value, with_time: bool) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    if let Value::Object(map) = value {
        for (key, field) in map {
            if key != "timestamp" || with_time {
                key.hash(&mut hasher);
                field.hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

/// `None`: an object that is no line of a rollout, or a damaged one.
pub(super) fn parse_value(mut value: Value) -> Option<Line> {
    let at_ms = text(&value, "timestamp").and_then(|stamp| parse_ms(&stamp));
    let kind = text(&value, "type");
    match (kind, value.get_mut("payload").map(Value::take)) {
        (Some(kind), Some(payload)) => {
            let item = match RolloutItem::from_parts(&kind, payload.clone()) {
                Some(Ok(item)) => Some(item),
                Some(Err(())) => return None,
                None => None,
            };
            Some(Line {
                at_ms,
                kind,
                payload,
                item,
            })
        }
        // The oldest files: items without an envelope, and a first line that is the bare description.
        (Some(_), None) => {
            let item: ResponseItem = serde_json::from_value(value.clone()).ok()?;
            Some(Line {
                at_ms,
                kind: "response_item".to_owned(),
                payload: value,
                item: Some(RolloutItem::ResponseItem(item)),
            })
        }
        (None, None) if value.get("record_type").is_some() => Some(Line {
            at_ms,
            kind: "state".to_owned(),
            payload: value,
            item: None,
        }),
        (None, None) if value.get("timestamp").is_some() => {
            let meta = SessionMeta::from_value(&value)?;
            Some(Line {
                at_ms,
                kind: "session_meta".to_owned(),
                payload: value,
                item: Some(RolloutItem::SessionMeta(meta)),
            })
        }
        _ => None,
    }
}
