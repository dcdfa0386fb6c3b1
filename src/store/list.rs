//! Finding stored threads: by id, and page by page.

use super::summary;
use super::{ARCHIVE, SESSIONS, StoreError, load, packed};
use crate::ids::ThreadId;
use crate::protocol::thread::{Thread, ThreadListParams, ThreadListResult};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::cmp::Reverse;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Threads on a page if the request does not say.
pub(super) const PAGE: usize = 25;

/// The file of a thread; `None` if there is none, or it is archived.
pub fn find(home: &Path, id: &ThreadId) -> Result<Option<PathBuf>, StoreError> {
    find_in(&home.join(SESSIONS), id)
}

/// The file of an archived thread; `None` if there is none.
pub fn find_archived(home: &Path, id: &ThreadId) -> Result<Option<PathBuf>, StoreError> {
    find_in(&home.join(ARCHIVE), id)
}

fn find_in(folder: &Path, id: &ThreadId) -> Result<Option<PathBuf>, StoreError> {
    let wanted = check_id(id)?;
    let files = rollouts(folder);
    let named = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .and_then(packed::stem)
            .is_some_and(|stem| stem.to_ascii_lowercase().ends_with(&wanted))
    };
    // A copy may lie about somewhere else; the one that was used last is the thread.
    if let Some(path) = files
        .iter()
        .filter(|path| named(path))
        .max_by_key(|path| modified_ns(path))
    {
        return Ok(Some(path.clone()));
    }
    // A renamed file: its first bytes hold the id, so that not every file has to be parsed.
    let inside = files.into_iter().find(|path| {
        let mut start = Vec::new();
        let read = packed::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
        read.is_ok()
            && String::from_utf8_lossy(&start).to_ascii_lowercase().contains(&wanted)
            && summary::head(path).is_ok_and(|head| head.meta.id.as_str().eq_ignore_ascii_case(&wanted))
    });
    Ok(inside)
}

/// A stored thread, archived or not, with its turns if asked for.
pub fn read(home: &Path, id: &ThreadId, include_turns: bool) -> Result<Thread, StoreError> {
    let path = match find(home, id)? {
        Some(path) => Some(path),
        None => find_archived(home, id)?,
    };
    let path = path.ok_or_else(|| StoreError::NotFound { id: id.to_string() })?;
    read_path(home, &path, include_turns)
}

/// The thread in a file; a relative path is below `home`.
pub fn read_path(home: &Path, path: &Path, include_turns: bool) -> Result<Thread, StoreError> {
    let path = home.join(path);
    let mut head = summary::read_head(&path)?;
    summary::refine(&path, &mut head);
    let mut thread = head.into_thread(&path, modified_ms(&path), "");
    if include_turns {
        let stored = load(&path)?;
        thread.turns = stored.turns;
        thread.name = stored.name;
    }
    Ok(thread)
}

/// A page of the stored threads, those used last first. Threads without words of the person are left out, as
/// are files that cannot be read and threads that no person holds (`exec`, sub-agents).
pub fn list(home: &Path, params: &ThreadListParams, current_provider: &str) -> Result<ThreadListResult, StoreError> {
    let after = params.cursor.as_deref().map(Position::decode).transpose()?;
    let limit = params.limit.map_or(PAGE, |limit| limit.max(1) as usize);
    let wanted = Filter::new(params, current_provider);
    let files = by_use(home, params.archived, after.as_ref());

    let mut result = ThreadListResult::default();
    let mut last = None;
    for (position, path) in files {
        let Some(thread) = wanted.admit(&path, &position) else {
            continue;
        };
        if result.data.len() == limit {
            result.next_cursor = last.map(|position: Position| position.encode());
            break;
        }
        result.data.push(thread);
        last = Some(position);
    }
    Ok(result)
}

/// The files of threads, those used last first, and only those behind a place.
pub(super) fn by_use(home: &Path, archived: bool, after: Option<&Position>) -> Vec<(Position, PathBuf)> {
    let folder = home.join(if archived { ARCHIVE } else { SESSIONS });
    let mut files: Vec<(Position, PathBuf)> = rollouts(&folder)
        .into_iter()
        .filter_map(|path| {
            let position = Position::of(&path)?;
            Some((position, path))
        })
        .filter(|(position, _)| after.is_none_or(|after| position < after))
        .collect();
    files.sort_unstable_by(|(a, _), (b, _)| Reverse(a).cmp(&Reverse(b)));
    files
}

/// What a thread must be like to be on the page.
pub(super) struct Filter<'a> {
    /// `None`: any.
    providers: Option<Vec<&'a str>>,
    cwd: Option<&'a Path>,
    /// `None`: wherever a person holds them.
    sources: Option<&'a [String]>,
    /// In lower case.
    term: Option<String>,
    current_provider: &'a str,
}

impl<'a> Filter<'a> {
    pub(super) fn new(params: &'a ThreadListParams, current_provider: &'a str) -> Self {
        let providers = match &params.model_providers {
            None => Some(vec![current_provider]),
            Some(all) if all.is_empty() => None,
            Some(some) => Some(some.iter().map(String::as_str).collect()),
        };
        let term = params
            .search_term
            .as_deref()
            .map(str::trim)
            .filter(|term| !term.is_empty());
        Self {
            providers,
            cwd: params.cwd.as_deref(),
            sources: params.sources.as_deref().filter(|sources| !sources.is_empty()),
            term: term.map(str::to_lowercase),
            current_provider,
        }
    }

    pub(super) fn admit(&self, path: &Path, position: &Position) -> Option<Thread> {
        let mut head = summary::head(path).ok()?;
        head.preview.as_ref()?;
        let meta = &head.meta;
        if !self.takes(meta.model_provider.as_deref(), &meta.cwd, &meta.source) {
            return None;
        }
        summary::refine(path, &mut head);
        let thread = head.into_thread(path, position.updated_at_ms(), self.current_provider);
        self.has_term(&thread.preview, thread.name.as_deref()).then_some(thread)
    }

    /// Whether the words that are looked for are in what the list shows.
    pub(super) fn has_term(&self, preview: &str, name: Option<&str>) -> bool {
        let Some(term) = &self.term else { return true };
        let has = |text: &str| text.to_lowercase().contains(term);
        has(preview) || name.is_some_and(has)
    }

    /// The folder that is asked for.
    pub(super) fn cwd(&self) -> Option<&Path> {
        self.cwd
    }

    /// Whether a thread with this provider (`None`: the present one), folder and source is asked for.
    pub(super) fn takes(&self, provider: Option<&str>, cwd: &Path, source: &str) -> bool {
        let provider = provider.unwrap_or(self.current_provider);
        let of_provider = self.providers.as_ref().is_none_or(|some| some.contains(&provider));
        // Components are compared, so that a slash at the end makes no difference.
        let of_folder = self.cwd.is_none_or(|wanted| cwd.components().eq(wanted.components()));
        let of_source = match self.sources {
            None => is_interactive(source),
            Some(some) => some
                .iter()
                .any(|name| name.eq_ignore_ascii_case(source) || name == INTERACTIVE && is_interactive(source)),
        };
        of_provider && of_folder && of_source
    }
}

/// Stands for all sources of threads that a person holds.
pub const INTERACTIVE: &str = "interactive";

/// Whether a person holds such threads. Editors name themselves, so all but a few names count.
fn is_interactive(source: &str) -> bool {
    const OTHERS: &[&str] = &[
        "exec",
        "mcp",
        "appserver",
        "app_server",
        "subagent",
        "sub_agent",
        "internal",
    ];
    !OTHERS.iter().any(|name| source.eq_ignore_ascii_case(name))
}

/// Where a thread stands in the list: by last use, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) modified_ns: u128,
    pub(super) name: String,
}

impl Position {
    /// Where a file stands.
    pub(super) fn of(path: &Path) -> Option<Self> {
        Some(Self {
            modified_ns: modified_ns(path)?,
            name: name_of(path),
        })
    }

    pub(super) fn updated_at_ms(&self) -> i64 {
        i64::try_from(self.modified_ns / 1_000_000).unwrap_or(i64::MAX)
    }

    pub(super) fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("1|{}|{}", self.modified_ns, self.name))
    }

    pub(super) fn decode(cursor: &str) -> Result<Self, StoreError> {
        let decode = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
            let mut parts = text.splitn(3, '|');
            let ("1", modified, name) = (parts.next()?, parts.next()?, parts.next()?) else {
                return None;
            };
            Some(Self {
                modified_ns: modified.parse().ok()?,
                name: name.to_owned(),
            })
        };
        decode().ok_or_else(|| StoreError::BadCursor {
            cursor: cursor.to_owned(),
        })
    }
}

/// Every rollout below a folder. Links are not followed: what they lead to is not ours to list.
fn rollouts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < 4 {
                folders.push((path, depth + 1));
            } else if kind.is_file() && packed::stem(&name_of(&path)).is_some() && !packed::is_beside_plain(&path) {
                found.push(path);
            }
        }
    }
    found
}

pub(super) fn check_id(id: &ThreadId) -> Result<String, StoreError> {
    match uuid::Uuid::try_parse(id.as_str()) {
        Ok(uuid) => Ok(uuid.hyphenated().to_string()),
        Err(_) => Err(StoreError::BadId { id: id.to_string() }),
    }
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

pub(super) fn modified_ns(path: &Path) -> Option<u128> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    Some(modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()))
}

fn modified_ms(path: &Path) -> i64 {
    modified_ns(path)
        .and_then(|ns| i64::try_from(ns / 1_000_000).ok())
        .unwrap_or(0)
}
