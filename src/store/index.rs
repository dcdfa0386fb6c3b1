//! What is known of the stored threads, in SQLite, so that a list need not read their files.
//!
//! It is never the truth: it is made from the files, in the background, and brought up to date by their sizes and times.
//! Where it is missing, damaged, locked by another server or cannot be written, lists are made from the files, and nobody
//! but the clock can tell.

mod table;

use super::list::{self, Filter, PAGE, Position};
use super::{ARCHIVE, SESSIONS, StoreError};
use crate::ids::ThreadId;
use crate::protocol::thread::{ThreadListParams, ThreadListResult};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use table::{Row, Table};

/// So many files are all looked at before each list: that costs a few milliseconds and leaves nothing to chance.
const FEW: i64 = 400;

/// How often all files are looked at where there are more. In between, a list sees at once what is new, what is gone, what
/// it shows, and what this server writes.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How long the files are listed themselves after the index has failed.
const REST: Duration = Duration::from_secs(30);

/// The index of a home folder; cheap to clone.
#[derive(Clone)]
pub struct Index {
    shared: Arc<Shared>,
}

struct Shared {
    home: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` until it is built, or after it has failed.
    table: Option<Table>,
    /// Somebody looks at all files in the background.
    looking: bool,
    looked: Option<Instant>,
    failed: Option<Instant>,
}

impl Index {
    pub fn new(home: &Path) -> Self {
        Self {
            shared: Arc::new(Shared {
                home: home.to_owned(),
                state: Mutex::default(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page of the stored threads, as [`list::list`] gives it. `written`: the files that this server adds to.
    ///
    /// # Errors
    /// The cursor is not one of a page before.
    pub fn list(
        &self,
        params: &ThreadListParams,
        current_provider: &str,
        written: &[PathBuf],
    ) -> Result<ThreadListResult, StoreError> {
        let after = params.cursor.as_deref().map(Position::decode).transpose()?;
        match self.page(params, after, current_provider, written) {
            Some(page) => Ok(page),
            None => list::list(&self.shared.home, params, current_provider),
        }
    }

    /// Whether lists come from the index. Where not, it is being built.
    pub fn is_ready(&self) -> bool {
        let page = ThreadListParams {
            limit: Some(1),
            ..ThreadListParams::default()
        };
        self.page(&page, None, "", &[]).is_some()
    }

    /// The file of a thread that is not archived, if the index knows it and it is still there.
    pub fn find(&self, id: &ThreadId) -> Option<PathBuf> {
        let mut state = self.state();
        let table = state.table.as_mut()?;
        let paths = table.paths_of(id).ok()?;
        drop(state);
        let is_it = |path: &PathBuf| {
            path.starts_with(SESSIONS)
                && super::summary::head(&self.shared.home.join(path)).is_ok_and(|head| head.meta.id == *id)
        };
        let there = paths.into_iter().filter(is_it).map(|path| self.shared.home.join(path));
        there.max_by_key(|path| list::modified_ns(path))
    }

    /// The page from the index; `None` where it cannot tell.
    fn page(
        &self,
        params: &ThreadListParams,
        after: Option<Position>,
        current_provider: &str,
        written: &[PathBuf],
    ) -> Option<ThreadListResult> {
        let mut state = self.state();
        if state.failed.is_some_and(|failed| failed.elapsed() < REST) {
            return None;
        }
        if state.table.is_none() && !state.looking {
            // Of an earlier server: what has changed since is seen in a moment, or at once where it shows.
            let path = path_of(&self.shared.home);
            state.table = path
                .exists()
                .then(|| Table::open(&path).ok())
                .flatten()
                .filter(Table::is_whole);
        }
        if state.table.is_none() || state.looked.is_none_or(|looked| looked.elapsed() > LOOK_EVERY) {
            self.look_aside(&mut state);
        }
        let table = state.table.as_mut()?;
        let page = up_to_date(table, &self.shared.home, written)
            .and_then(|()| page_of(table, &self.shared.home, params, after.as_ref(), current_provider));
        match page {
            Ok(page) => Some(page),
            Err(error) if is_passing(&error) => None,
            Err(error) => {
                give_up(&mut state, &error);
                None
            }
        }
    }

    /// Looks at all files in the background, and opens the index first where it is not open.
    fn look_aside(&self, state: &mut State) {
        if std::mem::replace(&mut state.looking, true) {
            return;
        }
        let index = self.clone();
        let begun = std::thread::Builder::new().name("index".to_owned()).spawn(move || {
            let looked = look(&index.shared.home);
            let mut state = index.state();
            state.looking = false;
            match looked {
                Ok(table) => {
                    state.looked = Some(Instant::now());
                    state.table.get_or_insert(table);
                }
                // Another server looks; what it finds is here too.
                Err(error) if is_passing(&error) => state.looked = Some(Instant::now()),
                Err(error) => give_up(&mut state, &error),
            }
        });
        if let Err(error) = begun {
            tracing::warn!(%error, "no thread for the index");
            state.looking = false;
        }
    }
}

/// Files are listed themselves for a while. What is damaged is made anew after that.
fn give_up(state: &mut State, error: &rusqlite::Error) {
    tracing::info!(%error, "the index of the threads cannot be used; the files are read");
    if let Some(table) = state.table.take()
        && is_damaged(error)
    {
        table.remove();
    }
    state.failed = Some(Instant::now());
}

/// Nothing is wrong with the index: another server has it at this moment, or the files changed under the list again and again.
fn is_passing(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
        || matches!(error, rusqlite::Error::InvalidQuery)
}

/// What is in the file is not what was written there: it is no database, or one with other tables or values.
fn is_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, SqlInputError, SqliteFailure, Utf8Error,
    };
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    match error {
        SqliteFailure(error, _) | SqlInputError { error, .. } => {
            // Our queries are sound where the tables are ours.
            matches!(error.code, DatabaseCorrupt | NotADatabase | Unknown)
        }
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..) => true,
        _ => false,
    }
}

fn path_of(home: &Path) -> PathBuf {
    home.join("threads.sqlite")
}

/// An index that knows all files as they are now.
fn look(home: &Path) -> rusqlite::Result<Table> {
    let path = path_of(home);
    let mut table = match Table::open(&path) {
        Err(error) if is_damaged(&error) => {
            table::remove(&path);
            Table::open(&path)?
        }
        other => other?,
    };
    let looked = table.look_at_all(home, &[SESSIONS, ARCHIVE]);
    match looked.and_then(|()| table.set_whole()) {
        Ok(()) => Ok(table),
        Err(error) => {
            if is_damaged(&error) {
                table.remove();
            }
            Err(error)
        }
    }
}

/// Brings what a list may show up to date: all files where they are few, else the folders that have changed and the files
/// that this server writes.
fn up_to_date(table: &mut Table, home: &Path, written: &[PathBuf]) -> rusqlite::Result<()> {
    if !table.has_more_than(FEW)? {
        return table.look_at_all(home, &[SESSIONS, ARCHIVE]);
    }
    table.look_at_changed_folders(home, &[SESSIONS, ARCHIVE])?;
    table.look_at_files(home, written.iter().filter_map(|path| path.strip_prefix(home).ok()))
}

fn page_of(
    table: &mut Table,
    home: &Path,
    params: &ThreadListParams,
    after: Option<&Position>,
    current_provider: &str,
) -> rusqlite::Result<ThreadListResult> {
    let limit = params.limit.map_or(PAGE, |limit| limit.max(1) as usize);
    let wanted = Filter::new(params, current_provider);
    // A file can change while it is looked at, but not for ever.
    for _ in 0..5 {
        // One more tells whether there is another page.
        let rows = table.rows(params.archived, &wanted, after, limit.saturating_add(1))?;
        // What is shown is as it is on the disk at this moment.
        let stale = rows.iter().filter(|row| !row.is_current(home));
        let stale: Vec<&Path> = stale.map(|row| row.path.as_path()).collect();
        if !stale.is_empty() {
            table.look_at_files(home, stale.into_iter())?;
            continue;
        }
        let more = rows.len() > limit;
        let last = rows.get(limit - 1).filter(|_| more);
        return Ok(ThreadListResult {
            next_cursor: last.map(|row| row.position.encode()),
            data: rows
                .into_iter()
                .take(limit)
                .map(|row| shown(row, home, current_provider))
                .collect(),
        });
    }
    Err(rusqlite::Error::InvalidQuery)
}

fn shown(row: Row, home: &Path, current_provider: &str) -> crate::protocol::thread::Thread {
    let mut thread = row.thread;
    if thread.model_provider.is_empty() {
        current_provider.clone_into(&mut thread.model_provider);
    }
    thread.path = Some(home.join(&row.path));
    thread.updated_at_ms = row.position.updated_at_ms().max(thread.created_at_ms);
    thread
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::{Connection, Error, ffi};

    #[test]
    fn what_an_error_means_by_table() {
        let sqlite = |code| Error::SqliteFailure(ffi::Error::new(code), None);
        let connection = Connection::open_in_memory().expect("a database");
        let no_table = connection.prepare("SELECT a FROM b").expect_err("no such table");
        connection
            .execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES ('x')")
            .expect("a table");
        let no_number = connection
            .query_row("SELECT a FROM t", [], |row| row.get::<_, i64>(0))
            .expect_err("a text");
        for (error, passes, damaged) in [
            (sqlite(ffi::SQLITE_BUSY), true, false),
            (sqlite(ffi::SQLITE_LOCKED), true, false),
            (Error::InvalidQuery, true, false),
            (sqlite(ffi::SQLITE_FULL), false, false),
            (sqlite(ffi::SQLITE_READONLY), false, false),
            (sqlite(ffi::SQLITE_CORRUPT), false, true),
            (sqlite(ffi::SQLITE_NOTADB), false, true),
            (no_table, false, true),
            (no_number, false, true),
        ] {
            assert_eq!((is_passing(&error), is_damaged(&error)), (passes, damaged), "{error:?}");
        }
    }
}
