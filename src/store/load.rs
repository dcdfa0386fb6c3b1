//! Reading a whole rollout, whatever state it is in.
//!
//! Files come from crashes, copies, editors and other programs: a line that cannot be understood costs that
//! line only, and is counted.

use super::line::{EventMsg, RolloutItem, SessionMeta, TurnContextRecord, parse_ms, text};
use super::{StoreError, history, packed, summary, turns, unfinished};
use crate::ids::{ItemId, ThreadId};
use crate::model::item::ResponseItem;
use crate::protocol::item::ThreadItem;
use crate::protocol::model::{RateLimits, ThreadTokenUsage};
use crate::protocol::turn::Turn;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
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
    /// Items that the person has seen in turns that were rolled back. No other gets their ids.
    pub dropped: Vec<ItemId>,
    pub usage: Option<ThreadTokenUsage>,
    /// What the provider said last of the account's allowance.
    pub rate_limits: Option<RateLimits>,
    /// The settings of the last request.
    pub last_context: Option<TurnContextRecord>,
    /// The person's first words; empty if there are none.
    pub preview: String,
    pub name: Option<String>,
    pub updated_at_ms: i64,
    /// Lines that could not be understood, duplicates not counted.
    pub skipped: usize,
    /// The last of those was cut off as it was written: nothing is wrong with the file.
    pub cut_off: bool,
    pub(super) tail: Tail,
}

impl Stored {
    /// Whether this program wrote it, into its own folder. What lies elsewhere is somebody else's, whatever it says of itself.
    pub fn is_ours(&self, home: &Path) -> bool {
        self.meta.is_ours() && self.lies_in(home)
    }

    /// Whether it is among the threads of a home folder, those that were put away with them.
    pub fn lies_in(&self, home: &Path) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let path = real(&self.path);
        let folders = [super::SESSIONS, super::ARCHIVE];
        folders.iter().any(|folder| path.starts_with(real(&home.join(folder))))
    }
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
    /// It says itself which line of the file it is.
    pub(super) numbered: bool,
    pub(super) kind: String,
    /// As JSON, for copies; empty where none is made.
    pub(super) payload: String,
    /// `None` for kinds that are not for us; they are kept when a thread is forked.
    pub(super) item: Option<RolloutItem>,
}

/// All lines of a file, in order, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    pub(super) lines: Vec<Line>,
    pub(super) skipped: usize,
    /// The last of those was cut off as it was written.
    pub(super) cut_off: bool,
    pub(super) tail: Tail,
}

/// Reads a rollout.
pub fn load(path: &Path) -> Result<Stored, StoreError> {
    let lines = read_lines(path, false)?;
    understand(path, &lines)
}

/// The same where the file's content is at hand.
pub(super) fn load_bytes(path: &Path, bytes: &[u8]) -> Result<Stored, StoreError> {
    understand(path, &parse_lines(bytes))
}

/// Reads a rollout as it will be once the marker for a rollback of so many turns of the person stands at its end. Nothing
/// is written.
/// With it comes how many turns that drops: no more than there are.
pub fn load_rolled_back(path: &Path, num_turns: usize) -> Result<(Stored, usize), StoreError> {
    let mut lines = read_lines(path, false)?;
    let is_words = |item: &ThreadItem| matches!(item, ThreadItem::UserMessage { .. });
    let turns = turns::reconstruct(&lines.lines);
    let of_person = turns.iter().filter(|turn| turn.items.iter().any(is_words));
    let num_turns = num_turns.min(of_person.count());
    lines.lines.push(Line {
        at_ms: None,
        numbered: false,
        kind: "event_msg".to_owned(),
        payload: String::new(),
        item: Some(RolloutItem::EventMsg(EventMsg::ThreadRolledBack { num_turns })),
    });
    Ok((understand(path, &lines)?, num_turns))
}

pub(super) fn understand(path: &Path, lines: &Lines) -> Result<Stored, StoreError> {
    let items = || lines.lines.iter().filter_map(|line| line.item.as_ref());
    let meta = items().find_map(|item| match item {
        RolloutItem::SessionMeta(meta) => Some(meta.clone()),
        _ => None,
    });
    let meta = match meta {
        Some(mut meta) => {
            let mut later = items().filter_map(|item| match item {
                RolloutItem::SessionMeta(later) if later.id == meta.id => later.memory_mode,
                _ => None,
            });
            meta.memory_mode = later.next_back();
            meta.in_file(path)
        }
        None if lines.lines.is_empty() => return Err(StoreError::Empty { path: path.to_owned() }),
        // The first line is damaged but the conversation is there: the name still tells whose it is.
        None => meta_from_name(path, lines).ok_or_else(|| StoreError::NoMeta { path: path.to_owned() })?,
    };
    let replayed = history::replay(items());
    let (turns, dropped) = turns::reconstruct_all(&lines.lines);
    let name = items().fold(None, |name, item| summary::name_of(item).unwrap_or(name));
    Ok(Stored {
        path: path.to_owned(),
        history: replayed.history,
        turns,
        dropped,
        usage: replayed.usage,
        rate_limits: replayed.rate_limits,
        last_context: items().fold(None, |last, item| match item {
            RolloutItem::TurnContext(context) => Some(context.clone()),
            _ => last,
        }),
        preview: items().find_map(summary::words_of).unwrap_or_default(),
        name,
        updated_at_ms: lines.tail.last_ms.max(meta.created_at_ms),
        meta,
        skipped: lines.skipped,
        cut_off: lines.cut_off,
        tail: lines.tail.clone(),
    })
}

fn meta_from_name(path: &Path, lines: &Lines) -> Option<SessionMeta> {
    let meta = named_meta(path)?;
    let usable = lines.lines.iter().any(|line| line.item.is_some());
    usable.then(|| {
        let cwd = lines.lines.iter().find_map(|line| match &line.item {
            Some(RolloutItem::TurnContext(context)) => Some(context.cwd.clone()),
            _ => None,
        });
        SessionMeta {
            cwd: cwd.unwrap_or_default(),
            ..meta
        }
    })
}

/// What a file's name tells of the thread in it. Not ours as far as anyone can tell, so a resume makes a copy and leaves the
/// damaged file alone.
pub(super) fn named_meta(path: &Path) -> Option<SessionMeta> {
    let (created_at_ms, id) = summary::parse_name(path.file_name()?.to_str()?)?;
    Some(SessionMeta {
        id: ThreadId::from(id),
        forked_from_id: None,
        created_at_ms,
        cwd: PathBuf::new(),
        originator: String::new(),
        cli_version: String::new(),
        source: "unknown".to_owned(),
        model_provider: None,
        instructions: None,
        base_instructions: None,
        dynamic_tools: Vec::new(),
        agent: None,
        git: None,
        memory_mode: None,
    })
}

/// How to go on writing a file, from its last lines only.
pub(super) fn tail_of(path: &Path) -> Result<Tail, StoreError> {
    let failed = |cause| StoreError::Read {
        path: path.to_owned(),
        cause,
    };
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let len = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let mut want = 64 * 1024;
    loop {
        let from = len.saturating_sub(want);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from)).map_err(failed)?;
        (&mut file).take(len - from).read_to_end(&mut bytes).map_err(failed)?;
        let begin = match from {
            0 => 0,
            _ => bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len()),
        };
        let lines = parse_lines(&bytes[begin..]);
        let numbered = lines.lines.iter().any(|line| line.numbered);
        // Where no line has a number, they are counted.
        if from == 0 || numbered {
            return Ok(lines.tail);
        }
        want = want.saturating_mul(8);
    }
}

/// Reads a file line by line, so that its text is not held beside what it says. `keep_payloads`: see [`Line::payload`].
pub(super) fn read_lines(path: &Path, keep_payloads: bool) -> Result<Lines, StoreError> {
    let failed = |cause| StoreError::Read {
        path: path.to_owned(),
        cause,
    };
    let file = packed::open(path).map_err(failed)?;
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut reading = Reading::new(keep_payloads);
    let mut raw = Vec::new();
    while reader.read_until(b'\n', &mut raw).map_err(failed)? > 0 {
        reading.take(&raw);
        raw.clear();
    }
    Ok(reading.finish())
}

pub(super) fn parse_lines(bytes: &[u8]) -> Lines {
    let mut reading = Reading::new(false);
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .for_each(|raw| reading.take(raw));
    reading.finish()
}

/// A file as far as it is read.
struct Reading {
    keep_payloads: bool,
    lines: Lines,
    /// Fingerprints of the lines so far.
    seen: HashSet<(Option<u64>, u64)>,
    begun: bool,
}

impl Reading {
    fn new(keep_payloads: bool) -> Self {
        Self {
            keep_payloads,
            lines: Lines::default(),
            seen: HashSet::new(),
            begun: false,
        }
    }

    /// Takes a line with its end, if it has one.
    fn take(&mut self, raw: &[u8]) {
        let torn = !raw.ends_with(b"\n");
        let first = !std::mem::replace(&mut self.begun, true);
        let raw = if first { without_mark(raw) } else { raw };
        self.lines.tail.torn = torn;
        let raw = raw.trim_ascii();
        if raw.is_empty() {
            return;
        }
        let skipped = self.lines.skipped;
        match serde_json::from_slice::<Envelope>(raw) {
            Ok(envelope) => self.take_envelope(&envelope),
            Err(_) => self.take_other(raw),
        }
        self.lines.cut_off = torn && self.lines.skipped > skipped;
    }

    /// A line as every version but the oldest writes it.
    fn take_envelope(&mut self, envelope: &Envelope) {
        let ordinal = envelope.ordinal;
        let mut hasher = DefaultHasher::new();
        (&envelope.kind, envelope.payload.get()).hash(&mut hasher);
        if ordinal.is_none() {
            envelope.timestamp.hash(&mut hasher);
        }
        if !self.is_new(ordinal, hasher.finish()) {
            return;
        }
        let item = match RolloutItem::from_raw(&envelope.kind, envelope.payload) {
            Some(Err(())) => {
                self.lines.skipped += 1;
                return;
            }
            other => other.and_then(Result::ok),
        };
        self.push(Line {
            at_ms: envelope.timestamp.as_deref().and_then(parse_ms),
            numbered: ordinal.is_some(),
            kind: envelope.kind.clone().into_owned(),
            payload: match self.keep_payloads {
                true => envelope.payload.get().to_owned(),
                false => String::new(),
            },
            item,
        });
    }

    /// A line of the oldest files, or a spoiled one.
    fn take_other(&mut self, raw: &[u8]) {
        let values = values_of(raw);
        if values.is_empty() {
            self.lines.skipped += 1;
        }
        for value in values {
            let ordinal = value.get("ordinal").and_then(Value::as_u64);
            if !self.is_new(ordinal, fingerprint(&value, ordinal.is_none())) {
                continue;
            }
            match parse_value(value) {
                Some(mut line) => {
                    line.numbered = ordinal.is_some();
                    if !self.keep_payloads {
                        line.payload = String::new();
                    }
                    self.push(line);
                }
                None => self.lines.skipped += 1,
            }
        }
    }

    /// Whether the line is no copy of an earlier one.
    fn is_new(&mut self, ordinal: Option<u64>, fingerprint: u64) -> bool {
        if let Some(ordinal) = ordinal {
            let tail = &mut self.lines.tail;
            tail.next_ordinal = tail.next_ordinal.max(ordinal.saturating_add(1));
        }
        self.seen.insert((ordinal, fingerprint))
    }

    fn push(&mut self, line: Line) {
        let tail = &mut self.lines.tail;
        tail.last_ms = tail.last_ms.max(line.at_ms.unwrap_or(0));
        self.lines.lines.push(line);
    }

    fn finish(self) -> Lines {
        let mut lines = self.lines;
        // Files without ordinals get theirs by position.
        lines.tail.next_ordinal = lines.tail.next_ordinal.max(lines.lines.len() as u64);
        unfinished::settle(&mut lines.lines, self.keep_payloads);
        lines
    }
}

/// A line whose payload is not looked into yet.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(default)]
    ordinal: Option<u64>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// The lines without their ends, a byte-order mark and blank ones.
pub(super) fn raw_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    without_mark(bytes)
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
            let text = payload.to_string();
            let item = match RolloutItem::from_parts(&kind, payload) {
                Some(Ok(item)) => Some(item),
                Some(Err(())) => return None,
                None => None,
            };
            Some(Line {
                at_ms,
                numbered: false,
                kind,
                payload: text,
                item,
            })
        }
        // The oldest files: items without an envelope, and a first line that is the bare description.
        (Some(_), None) => {
            let item: ResponseItem = serde_json::from_value(value.clone()).ok()?;
            Some(Line {
                at_ms,
                numbered: false,
                kind: "response_item".to_owned(),
                payload: value.to_string(),
                item: Some(RolloutItem::ResponseItem(item)),
            })
        }
        (None, None) if value.get("record_type").is_some() => Some(Line {
            at_ms,
            numbered: false,
            kind: "state".to_owned(),
            payload: value.to_string(),
            item: None,
        }),
        (None, None) if value.get("timestamp").is_some() => {
            let meta = SessionMeta::from_value(&value)?;
            Some(Line {
                at_ms,
                numbered: false,
                kind: "session_meta".to_owned(),
                payload: value.to_string(),
                item: Some(RolloutItem::SessionMeta(meta)),
            })
        }
        _ => None,
    }
}
