//! The index's table: one row a file, one row a folder.

use crate::ids::ThreadId;
use crate::protocol::thread::Thread;
use crate::store::list::{Filter, Position, name_of};
use crate::store::{packed, summary};
use rusqlite::{Connection, OptionalExtension, Result, params};
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Rises with each change of what is kept.
const VERSION: i64 = 2;

/// What an index says of itself that was made to the end.
const WHOLE: i64 = 0x7369_676e;

/// How long another server may have it locked.
const PATIENCE: Duration = Duration::from_millis(25);

/// Files whose rows are written together.
const BATCH: usize = 500;

/// Folders in a folder: years, months, days.
const DEEPEST: usize = 4;

/// Paths are relative to the home folder. `thread` is JSON; `words`: the person has said something.
const SCHEMA: &str = "
    CREATE TABLE file(
        path TEXT PRIMARY KEY, name TEXT NOT NULL, folder TEXT NOT NULL, archived INTEGER NOT NULL,
        size INTEGER NOT NULL, modified INTEGER NOT NULL,
        id TEXT NOT NULL, words INTEGER NOT NULL, provider TEXT, cwd TEXT NOT NULL, source TEXT NOT NULL,
        thread TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX by_use ON file(archived, words, modified DESC, name DESC);
    CREATE INDEX by_cwd ON file(archived, words, cwd, modified DESC, name DESC);
    CREATE INDEX by_id ON file(id);
    CREATE INDEX by_folder ON file(folder);
    CREATE TABLE folder(path TEXT PRIMARY KEY, modified INTEGER NOT NULL) WITHOUT ROWID;
";

pub(super) struct Table {
    path: PathBuf,
    connection: Connection,
}

/// A file as the list needs it.
pub(super) struct Row {
    pub(super) path: PathBuf,
    pub(super) position: Position,
    mark: Mark,
    /// Its provider is empty where the file names none.
    pub(super) thread: Thread,
}

impl Row {
    /// Whether the file is as it was when it was read.
    pub(super) fn is_current(&self, home: &Path) -> bool {
        std::fs::metadata(home.join(&self.path)).is_ok_and(|meta| Mark::of(&meta) == self.mark)
    }
}

/// What tells that a file has not changed.
#[derive(Clone, Copy, PartialEq)]
struct Mark {
    size: i64,
    modified: i64,
}

impl Mark {
    fn of(meta: &Metadata) -> Self {
        Self {
            size: i64::try_from(meta.len()).unwrap_or(i64::MAX),
            modified: modified(meta),
        }
    }
}

/// Nanoseconds since the epoch.
fn modified(meta: &Metadata) -> i64 {
    let since = meta
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Takes the index away, with what SQLite keeps beside it.
pub(super) fn remove(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        // Most of them are not there.
        let _gone = std::fs::remove_file(name);
    }
}

impl Table {
    pub(super) fn open(path: &Path) -> Result<Self> {
        // For its owner alone, as the files that it is made from.
        let mut options = File::options();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        if let Err(error) = options.open(path) {
            tracing::debug!(path = %path.display(), %error, "the index cannot be made");
        }
        let connection = Connection::open_with_flags(
            path,
            rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        connection.busy_timeout(PATIENCE)?;
        // Several servers read while one writes. After a fall of the machine it is made anew, at worst.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != VERSION {
            connection.execute_batch(&format!(
                "BEGIN IMMEDIATE; DROP TABLE IF EXISTS file; DROP TABLE IF EXISTS folder; {SCHEMA} \
                 PRAGMA user_version = {VERSION}; PRAGMA application_id = 0; COMMIT;"
            ))?;
        }
        Ok(Self {
            path: path.to_owned(),
            connection,
        })
    }

    /// Whether every file was looked at since it was made.
    pub(super) fn is_whole(&self) -> bool {
        let id = self
            .connection
            .pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0));
        id == Ok(WHOLE)
    }

    /// Every file was looked at.
    pub(super) fn set_whole(&self) -> Result<()> {
        match self.is_whole() {
            true => Ok(()),
            false => self.connection.pragma_update(None, "application_id", WHOLE),
        }
    }

    /// It is damaged: the next one is made from nothing.
    pub(super) fn remove(self) {
        let path = self.path.clone();
        drop(self);
        remove(&path);
    }

    /// Whether more files than these are known; counts no further.
    pub(super) fn has_more_than(&self, few: i64) -> Result<bool> {
        let count: i64 = self
            .connection
            .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM file LIMIT ?1)")?
            .query_row([few + 1], |row| row.get(0))?;
        Ok(count > few)
    }

    pub(super) fn paths_of(&self, id: &ThreadId) -> Result<Vec<PathBuf>> {
        let mut query = self.connection.prepare_cached("SELECT path FROM file WHERE id = ?1")?;
        let paths = query.query_map([id.as_str()], |row| Ok(PathBuf::from(row.get::<_, String>(0)?)))?;
        paths.collect()
    }

    /// The files behind a place that are asked for, those used last first.
    pub(super) fn rows(
        &self,
        archived: bool,
        wanted: &Filter<'_>,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<Row>> {
        const WHAT: &str = "SELECT path, name, modified, provider, cwd, source, thread, size FROM file \
                            WHERE archived = ?1 AND words = 1 AND (modified, name) < (?2, ?3)";
        const ORDER: &str = "ORDER BY modified DESC, name DESC";
        let cwd = wanted.cwd().map(plain);
        let query = match cwd {
            Some(_) => format!("{WHAT} AND cwd = ?4 {ORDER}"),
            None => format!("{WHAT} AND ?4 IS NULL {ORDER}"),
        };
        let (modified, name) = match after {
            Some(after) => (
                i64::try_from(after.modified_ns).unwrap_or(i64::MAX),
                after.name.as_str(),
            ),
            None => (i64::MAX, "\u{10ffff}"),
        };
        let mut query = self.connection.prepare_cached(&query)?;
        let mut found = query.query(params![archived, modified, name, cwd])?;
        let mut rows = Vec::new();
        while rows.len() < limit
            && let Some(row) = found.next()?
        {
            let provider: Option<String> = row.get(3)?;
            let (cwd, source): (String, String) = (row.get(4)?, row.get(5)?);
            if !wanted.takes(provider.as_deref(), Path::new(&cwd), &source) {
                continue;
            }
            let thread: Thread = serde_json::from_str(row.get_ref(6)?.as_str()?).map_err(|error| {
                rusqlite::Error::FromSqlConversionFailure(6, rusqlite::types::Type::Text, Box::new(error))
            })?;
            if wanted.has_term(&thread.preview, thread.name.as_deref()) {
                let mark = Mark {
                    size: row.get(7)?,
                    modified: row.get(2)?,
                };
                rows.push(Row {
                    mark,
                    path: PathBuf::from(row.get::<_, String>(0)?),
                    position: Position {
                        modified_ns: u128::try_from(mark.modified).unwrap_or(0),
                        name: row.get(1)?,
                    },
                    thread,
                });
            }
        }
        Ok(rows)
    }

    /// Looks at every file.
    pub(super) fn look_at_all(&mut self, home: &Path, roots: &[&str]) -> Result<()> {
        let mut known: HashMap<String, Mark> = {
            let mut query = self
                .connection
                .prepare_cached("SELECT path, size, modified FROM file")?;
            let rows = query.query_map([], |row| {
                let mark = Mark {
                    size: row.get(1)?,
                    modified: row.get(2)?,
                };
                Ok((row.get(0)?, mark))
            })?;
            rows.collect::<Result<_>>()?
        };
        let mut changed = Vec::new();
        let mut folders = BTreeMap::new();
        for root in roots {
            for (folder, modified) in folders_below(home, Path::new(root)) {
                for (path, mark) in files_in(home, &folder) {
                    if path.to_str().and_then(|path| known.remove(path)) != Some(mark) {
                        changed.push((path, mark));
                    }
                }
                folders.insert(folder, modified);
            }
        }
        self.note(home, &changed, known.into_keys())?;
        self.note_folders(&folders)
    }

    /// Looks at the files of the folders in which something has come or gone.
    pub(super) fn look_at_changed_folders(&mut self, home: &Path, roots: &[&str]) -> Result<()> {
        let known: BTreeMap<PathBuf, i64> = {
            let mut query = self.connection.prepare_cached("SELECT path, modified FROM folder")?;
            let rows = query.query_map([], |row| Ok((PathBuf::from(row.get::<_, String>(0)?), row.get(1)?)))?;
            rows.collect::<Result<_>>()?
        };
        let (mut now, mut gone) = (BTreeMap::new(), Vec::new());
        for folder in known.keys().cloned().chain(roots.iter().map(PathBuf::from)) {
            match std::fs::metadata(home.join(&folder)) {
                Ok(meta) if known.get(&folder) != Some(&modified(&meta)) => {
                    // What is new in it may be a folder.
                    let below = folders_below(home, &folder).into_iter();
                    now.extend(below.filter(|(below, modified)| known.get(below) != Some(modified)));
                }
                Err(_) if known.contains_key(&folder) => gone.push(folder),
                Ok(_) | Err(_) => {}
            }
        }
        if now.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let mut changed = Vec::new();
        let mut missing = Vec::new();
        for folder in now.keys().chain(&gone) {
            let mut before: HashMap<String, Mark> = {
                let mut query = self
                    .connection
                    .prepare_cached("SELECT path, size, modified FROM file WHERE folder = ?1")?;
                let rows = query.query_map([text(folder)], |row| {
                    let mark = Mark {
                        size: row.get(1)?,
                        modified: row.get(2)?,
                    };
                    Ok((row.get(0)?, mark))
                })?;
                rows.collect::<Result<_>>()?
            };
            for (path, mark) in files_in(home, folder) {
                if path.to_str().and_then(|path| before.remove(path)) != Some(mark) {
                    changed.push((path, mark));
                }
            }
            missing.extend(before.into_keys());
        }
        self.note(home, &changed, missing.into_iter())?;
        for folder in gone {
            self.connection
                .prepare_cached("DELETE FROM folder WHERE path = ?1")?
                .execute([text(&folder)])?;
        }
        self.note_folders(&now)
    }

    /// Looks at these files.
    pub(super) fn look_at_files<'a>(&mut self, home: &Path, paths: impl Iterator<Item = &'a Path>) -> Result<()> {
        let (mut changed, mut missing) = (Vec::new(), Vec::new());
        for path in paths {
            let Ok(meta) = std::fs::metadata(home.join(path)) else {
                missing.extend(path.to_str().map(str::to_owned));
                continue;
            };
            let mark = Mark::of(&meta);
            let known = self
                .connection
                .prepare_cached("SELECT size, modified FROM file WHERE path = ?1")?
                .query_row([text(path)], |row| {
                    Ok(Mark {
                        size: row.get(0)?,
                        modified: row.get(1)?,
                    })
                })
                .optional()?;
            if known != Some(mark) {
                changed.push((path.to_owned(), mark));
            }
        }
        self.note(home, &changed, missing.into_iter())
    }

    /// Reads files that have changed, and forgets those that are gone.
    fn note(&mut self, home: &Path, changed: &[(PathBuf, Mark)], missing: impl Iterator<Item = String>) -> Result<()> {
        let mut missing = missing.peekable();
        if missing.peek().is_some() {
            let transaction = self.connection.transaction()?;
            for path in missing {
                transaction
                    .prepare_cached("DELETE FROM file WHERE path = ?1")?
                    .execute([path])?;
            }
            transaction.commit()?;
        }
        for batch in changed.chunks(BATCH) {
            // Read first, so that nobody waits for the lock meanwhile.
            let rows: Vec<_> = batch
                .iter()
                .filter_map(|(path, mark)| Noted::read(home, path, *mark))
                .collect();
            let transaction = self.connection.transaction()?;
            for row in &rows {
                row.write(&transaction)?;
            }
            transaction.commit()?;
        }
        Ok(())
    }

    fn note_folders(&mut self, folders: &BTreeMap<PathBuf, i64>) -> Result<()> {
        let transaction = self.connection.transaction()?;
        for (folder, modified) in folders {
            transaction
                .prepare_cached(
                    "INSERT INTO folder VALUES (?1, ?2) ON CONFLICT(path) DO UPDATE SET modified = ?2 \
                     WHERE modified <> ?2",
                )?
                .execute(params![text(folder), modified])?;
        }
        transaction.commit()
    }
}

/// A row that is about to be written.
struct Noted {
    path: String,
    name: String,
    folder: String,
    mark: Mark,
    /// `None`: the file holds no thread, and is known only so that it is not read again.
    thread: Option<(Thread, Option<String>, bool)>,
}

impl Noted {
    /// `None` for a path that is no text: such files are listed by reading only.
    fn read(home: &Path, path: &Path, mark: Mark) -> Option<Self> {
        let full = home.join(path);
        let thread = summary::head(&full).ok().map(|mut head| {
            summary::refine(&full, &mut head);
            let (provider, has_words) = (head.meta.model_provider.clone(), head.preview.is_some());
            (head.into_thread(&full, 0, ""), provider, has_words)
        });
        Some(Self {
            path: path.to_str()?.to_owned(),
            name: name_of(path),
            folder: text(path.parent().unwrap_or(Path::new(""))),
            mark,
            thread,
        })
    }

    fn write(&self, connection: &Connection) -> Result<()> {
        let (id, words, provider, cwd, source, json, archived) = match &self.thread {
            Some((thread, provider, words)) => (
                thread.id.to_string(),
                *words,
                provider.clone(),
                plain(&thread.cwd),
                thread.source.clone(),
                serde_json::to_string(thread).unwrap_or_default(),
                thread.archived,
            ),
            None => (
                String::new(),
                false,
                None,
                String::new(),
                String::new(),
                String::new(),
                false,
            ),
        };
        connection
            .prepare_cached("INSERT OR REPLACE INTO file VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)")?
            .execute(params![
                self.path,
                self.name,
                self.folder,
                archived,
                self.mark.size,
                self.mark.modified,
                id,
                words,
                provider,
                cwd,
                source,
                json
            ])?;
        Ok(())
    }
}

/// A folder's path without what makes no difference.
fn plain(path: &Path) -> String {
    text(&path.components().collect::<PathBuf>())
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A folder and those below it, with their times. Links are not followed.
fn folders_below(home: &Path, folder: &Path) -> Vec<(PathBuf, i64)> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), folder.components().count())];
    while let Some((folder, depth)) = open.pop() {
        // Its time first: what comes meanwhile is seen the next time.
        let Ok(meta) = std::fs::metadata(home.join(&folder)) else {
            continue;
        };
        let entries = std::fs::read_dir(home.join(&folder)).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if depth < DEEPEST + 1 {
                open.push((folder.join(entry.file_name()), depth + 1));
            }
        }
        found.push((folder, modified(&meta)));
    }
    found
}

/// The rollouts in a folder itself.
fn files_in(home: &Path, folder: &Path) -> Vec<(PathBuf, Mark)> {
    let entries = std::fs::read_dir(home.join(folder)).into_iter().flatten().flatten();
    let rollouts = entries.filter(|entry| {
        packed::stem(&entry.file_name().to_string_lossy()).is_some() && !packed::is_beside_plain(&entry.path())
    });
    rollouts
        .filter_map(|entry| {
            let meta = entry.metadata().ok().filter(Metadata::is_file)?;
            Some((folder.join(entry.file_name()), Mark::of(&meta)))
        })
        .collect()
}
