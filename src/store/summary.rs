//! A stored thread in a few words: what the list shows, read from the two ends of the file only.

use super::line::{EventMsg, RolloutItem, SessionMeta, TurnContextRecord};
use super::{StoreError, history, load, packed};
use crate::protocol::item::UserInput;
use crate::protocol::thread::{Thread, ThreadStatus};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The first read; enough for most beginnings. It grows, since instructions can be long.
const HEAD: usize = 32 * 1024;
/// The person's first words are within this, or the thread counts as having none.
const HEAD_MOST: usize = 2 * 1024 * 1024;
/// The end of the file, where later names and settings stand.
const TAIL: u64 = 64 * 1024;

/// The beginning of a rollout.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) meta: SessionMeta,
    /// The person's first words.
    pub(super) preview: Option<String>,
    pub(super) name: Option<String>,
    pub(super) context: Option<TurnContextRecord>,
}

/// Why a file has no [`Head`].
#[derive(Debug)]
pub(super) enum HeadError {
    Read(std::io::Error),
    Empty,
    NoMeta,
}

/// How a rollout describes its thread, as far as its beginning and its end tell.
pub fn meta_of(path: &Path) -> Result<SessionMeta, StoreError> {
    let mut head = read_head(path)?;
    refine(path, &mut head);
    Ok(head.meta)
}

/// [`head`], with an error that says which file it is about.
pub(super) fn read_head(path: &Path) -> Result<Head, StoreError> {
    let path = || path.to_owned();
    head(&path()).map_err(|error| match error {
        HeadError::Read(cause) => StoreError::Read { path: path(), cause },
        HeadError::Empty => StoreError::Empty { path: path() },
        HeadError::NoMeta => StoreError::NoMeta { path: path() },
    })
}

/// Reads the beginning, up to the person's first words.
pub(super) fn head(path: &Path) -> Result<Head, HeadError> {
    let mut file = packed::open(path).map_err(HeadError::Read)?;
    let mut bytes = Vec::new();
    let mut want = HEAD;
    loop {
        let have = bytes.len();
        let read = file
            .by_ref()
            .take((want - have) as u64)
            .read_to_end(&mut bytes)
            .map_err(HeadError::Read)?;
        let whole = have + read < want;
        // Only ended lines, unless this is all there is.
        let end = if whole {
            bytes.len()
        } else {
            bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0)
        };
        match parse_head(&bytes[..end], load::named_meta(path)) {
            Ok(mut head) if head.preview.is_some() || whole || want >= HEAD_MOST => {
                head.meta = head.meta.in_file(path);
                return Ok(head);
            }
            Err(error) if whole || want >= HEAD_MOST => return Err(error),
            _ => want *= 4,
        }
    }
}

/// `named` is what the file's name tells of a thread whose description is damaged or missing.
fn parse_head(bytes: &[u8], named: Option<SessionMeta>) -> Result<Head, HeadError> {
    let mut head: Option<Head> = None;
    let mut described = false;
    for raw in load::raw_lines(bytes) {
        // One line at a time: the rest of the bytes need not be parsed once the words are found.
        for line in load::parse_lines(raw).lines {
            let Some(item) = line.item else { continue };
            match (&mut head, item) {
                (None, RolloutItem::SessionMeta(meta)) => {
                    described = true;
                    head = Some(Head::new(meta));
                }
                // It stands elsewhere than at the beginning, which is how the whole is read, too.
                (Some(head), RolloutItem::SessionMeta(meta)) if !described => {
                    described = true;
                    head.meta = meta;
                }
                (None, item) => {
                    let mut found = Head::new(named.clone().ok_or(HeadError::NoMeta)?);
                    found.take(&item, true);
                    head = Some(found);
                }
                (Some(head), item) => head.take(&item, !described),
            }
        }
        if head.as_ref().is_some_and(|head| head.preview.is_some()) {
            break;
        }
    }
    head.ok_or(if bytes.trim_ascii().is_empty() {
        HeadError::Empty
    } else {
        HeadError::NoMeta
    })
}

/// What the end of the file changes about the beginning: a later name, later settings.
pub(super) fn refine(path: &Path, head: &mut Head) {
    let end = match packed::is_packed(path) {
        true => packed::tail(path, TAIL as usize),
        false => end_of(path),
    };
    let Ok((bytes, whole)) = end else { return };
    let begin = match whole {
        true => 0,
        false => bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len()),
    };
    for raw in load::raw_lines(&bytes[begin..]) {
        // Most lines are neither; a look at the text saves parsing them.
        let is = |word: &[u8]| raw.windows(word.len()).take(400).any(|window| window == word);
        if !is(b"turn_context") && !is(b"thread_name_updated") && !is(b"session_meta") {
            continue;
        }
        for line in load::parse_lines(raw).lines {
            match line.item {
                Some(RolloutItem::TurnContext(context)) => head.context = Some(context),
                Some(item) => {
                    head.take_mode(&item);
                    if let Some(name) = name_of(&item) {
                        head.name = name;
                    }
                }
                None => {}
            }
        }
    }
    if let Some(context) = head.context.as_ref().filter(|_| head.meta.cwd.as_os_str().is_empty()) {
        head.meta.cwd.clone_from(&context.cwd);
    }
}

/// The last bytes of a plain file, and whether they are all of it.
fn end_of(path: &Path) -> std::io::Result<(Vec<u8>, bool)> {
    let mut file = std::fs::File::open(path)?;
    let from = file.seek(SeekFrom::End(0))?.saturating_sub(TAIL);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok((bytes, from == 0))
}

/// Whether a rollout lies where archived ones do.
fn is_archived(path: &Path) -> bool {
    path.parent()
        .and_then(Path::file_name)
        .is_some_and(|folder| folder == super::ARCHIVE)
}

impl Head {
    fn new(meta: SessionMeta) -> Self {
        Self {
            meta,
            preview: None,
            name: None,
            context: None,
        }
    }

    /// What a line of the beginning tells. `folder` says that nothing but the settings of a turn tells where it works.
    fn take(&mut self, item: &RolloutItem, folder: bool) {
        self.take_mode(item);
        if let RolloutItem::TurnContext(context) = item {
            if folder && self.meta.cwd.as_os_str().is_empty() {
                self.meta.cwd.clone_from(&context.cwd);
            }
            self.context = Some(context.clone());
        }
        if let Some(name) = name_of(item) {
            self.name = name;
        }
        if let Some(preview) = words_of(item) {
            self.preview = Some(preview);
        }
    }

    /// A later description of the same thread changes what memories may be made of it, and nothing else.
    fn take_mode(&mut self, item: &RolloutItem) {
        if let RolloutItem::SessionMeta(later) = item
            && later.id == self.meta.id
            && later.memory_mode.is_some()
        {
            self.meta.memory_mode = later.memory_mode;
        }
    }

    /// The thread as the list shows it.
    pub(super) fn into_thread(self, path: &Path, updated_at_ms: i64, current_provider: &str) -> Thread {
        let created = match self.meta.created_at_ms {
            0 => path
                .file_name()
                .and_then(|name| parse_name(name.to_str()?))
                .map_or(0, |(ms, _)| ms),
            ms => ms,
        };
        Thread {
            id: self.meta.id,
            preview: self.preview.unwrap_or_default(),
            name: self.name,
            cwd: self.meta.cwd,
            model_provider: self.meta.model_provider.unwrap_or_else(|| current_provider.to_owned()),
            model: self
                .context
                .map(|context| context.model)
                .filter(|model| !model.is_empty()),
            status: ThreadStatus::NotLoaded,
            created_at_ms: created,
            updated_at_ms: updated_at_ms.max(created),
            path: Some(path.to_owned()),
            source: self.meta.source,
            cli_version: self.meta.cli_version,
            git_info: self.meta.git,
            forked_from_id: self.meta.forked_from_id,
            agent: self.meta.agent,
            archived: is_archived(path),
            memory_mode: self.meta.memory_mode.unwrap_or_default(),
            turns: Vec::new(),
        }
    }
}

/// The person's words in a line, if it is one of the kinds that hold them.
pub(super) fn words_of(item: &RolloutItem) -> Option<String> {
    match item {
        RolloutItem::ResponseItem(item) => history::words(item),
        RolloutItem::EventMsg(EventMsg::UserMessage { message, images }) => {
            if history::is_context(message) {
                return None;
            }
            let words = history::request_of(message).to_owned();
            (!words.is_empty() || images.is_some()).then_some(words)
        }
        RolloutItem::EventMsg(EventMsg::ItemCompleted { item, .. }) => {
            if !item.get("type")?.as_str()?.eq_ignore_ascii_case("userMessage") {
                return None;
            }
            let texts: Vec<String> = item
                .get("content")?
                .as_array()?
                .iter()
                .filter_map(|part| serde_json::from_value::<UserInput>(part.clone()).ok())
                .filter_map(|input| match input {
                    UserInput::Text { text } if !history::is_context(&text) => Some(text),
                    _ => None,
                })
                .collect();
            (!texts.is_empty()).then(|| history::request_of(&texts.join("\n")).to_owned())
        }
        _ => None,
    }
}

/// A change of the thread's name: `Some(None)` takes it away.
pub(super) fn name_of(item: &RolloutItem) -> Option<Option<String>> {
    match item {
        RolloutItem::EventMsg(EventMsg::ThreadNameUpdated { thread_name, .. }) => {
            Some(thread_name.clone().filter(|name| !name.trim().is_empty()))
        }
        _ => None,
    }
}

/// Time (local, as milliseconds since the epoch) and thread id in a rollout's file name.
pub(super) fn parse_name(name: &str) -> Option<(i64, &str)> {
    let stem = packed::stem(name)?.strip_prefix("rollout-")?;
    let (stamp, id) = (stem.get(..19)?, stem.get(20..)?);
    uuid::Uuid::try_parse(id).ok()?;
    let time = jiff::civil::DateTime::strptime("%Y-%m-%dT%H-%M-%S", stamp).ok()?;
    let ms = time
        .to_zoned(jiff::tz::TimeZone::system())
        .ok()?
        .timestamp()
        .as_millisecond();
    Some((ms, id))
}
