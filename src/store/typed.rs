//! What the person typed, across conversations and for recall: `history.jsonl` in the home folder, one entry a line.
//!
//! Entries are numbered from 0 and only added at the end, so a number keeps its entry as long as the file is the same one,
//! which its log id (the inode) says. Several servers write at once: each holds an advisory lock while it does. Where the
//! file may not grow beyond a size, a shorter one takes its place, under another log id.
//!
//! Everything here blocks; callers stay off the threads that serve the editor.

mod file;
mod index;

use index::Index;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The file's name in the home folder.
pub const FILE: &str = "history.jsonl";

/// Bytes of an entry's text. Longer ones are not kept: nobody recalls a log that they pasted.
pub const MOST_TEXT: usize = 1 << 20;

/// One thing that the person typed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The conversation it was typed in; empty for none.
    #[serde(default)]
    pub session_id: String,
    /// Seconds since the epoch.
    #[serde(default)]
    pub ts: i64,
    pub text: String,
}

/// Which file it is, and how many entries it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The inode; 0 where there is no file.
    pub log_id: u64,
    pub count: u64,
}

/// The file; a clone is another handle to it.
#[derive(Clone, Debug)]
pub struct Typed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    /// Entries that are not in the file yet, with the most bytes that it may have.
    waiting: Mutex<VecDeque<(Entry, Option<u64>)>>,
    /// Held while this process writes, so that entries come in their order.
    writing: Mutex<()>,
    index: Mutex<Index>,
    /// As it was seen last.
    known: Mutex<State>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Typed {
    pub fn new(home: &Path) -> Self {
        Self(Arc::new(Shared {
            path: home.join(FILE),
            waiting: Mutex::default(),
            writing: Mutex::default(),
            index: Mutex::default(),
            known: Mutex::default(),
        }))
    }

    /// Keeps an entry for the file; [`Typed::write`] puts it there. Does not block.
    pub fn push(&self, entry: Entry, max_bytes: Option<u64>) {
        lock(&self.0.waiting).push_back((entry, max_bytes));
    }

    /// As it was seen last. Does not look at the disk.
    pub fn known(&self) -> State {
        *lock(&self.0.known)
    }

    /// Writes what waits, in its order.
    ///
    /// # Errors
    /// The file does not take it, or another program held it too long. What waited is dropped then.
    pub fn write(&self) -> io::Result<()> {
        let _alone = lock(&self.0.writing);
        let batch: Vec<_> = lock(&self.0.waiting).drain(..).collect();
        let mut lines = Vec::new();
        for (entry, _) in &batch {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
        }
        let Some((_, max_bytes)) = batch.last() else {
            return Ok(());
        };
        let mut locked = file::open_locked(&self.0.path)?;
        let before = locked.seek(SeekFrom::End(0))?;
        // Whoever wrote last may have been cut short.
        if !file::ends_with_newline(&mut locked, before)? {
            lines.insert(0, b'\n');
        }
        if let Err(error) = locked.write_all(&lines) {
            // Half an entry is no entry.
            let _as_it_was = locked.set_len(before);
            return Err(error);
        }
        if let Some(most) = max_bytes.filter(|most| before + lines.len() as u64 > *most) {
            file::shorten(&self.0.path, &mut locked, most)?;
        }
        drop(locked);
        self.look().map(drop)
    }

    /// Looks at the file: which it is, and how many entries it holds. Only what was added since the last look is read.
    pub fn look(&self) -> io::Result<State> {
        let state = match file::open(&self.0.path)? {
            Some(mut file) => lock(&self.0.index).look(&mut file)?,
            None => State::default(),
        };
        *lock(&self.0.known) = state;
        Ok(state)
    }

    /// The entry with a number in the file with a log id. Nothing where there is none, or the file is another one now.
    pub fn entry(&self, log_id: u64, offset: u64) -> io::Result<Option<Entry>> {
        let (state, entries) = self.range(Some(log_id), offset..offset.saturating_add(1))?;
        let mine = entries.into_iter().find(|(number, _)| *number == offset);
        Ok(mine.filter(|_| state.log_id == log_id).map(|(_, entry)| entry))
    }

    /// The entries before a number, or the last ones, newest first, with their numbers. Lines that are no entries have
    /// numbers and are left out.
    pub fn before(
        &self,
        log_id: Option<u64>,
        before: Option<u64>,
        limit: u64,
    ) -> io::Result<(State, Vec<(u64, Entry)>)> {
        let state = self.look()?;
        if log_id.is_some_and(|wanted| wanted != state.log_id) {
            return Ok((state, Vec::new()));
        }
        let end = before.unwrap_or(state.count).min(state.count);
        let (state, mut entries) = self.range(Some(state.log_id), end.saturating_sub(limit)..end)?;
        entries.reverse();
        Ok((state, entries))
    }

    fn range(&self, log_id: Option<u64>, numbers: std::ops::Range<u64>) -> io::Result<(State, Vec<(u64, Entry)>)> {
        let Some(mut file) = file::open(&self.0.path)? else {
            return Ok((State::default(), Vec::new()));
        };
        let mut index = lock(&self.0.index);
        let state = index.look(&mut file)?;
        if log_id.is_some_and(|wanted| wanted != state.log_id) {
            return Ok((state, Vec::new()));
        }
        let entries = index.entries(&mut file, numbers)?;
        Ok((state, entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        Entry {
            session_id: "s".to_owned(),
            ts: 1_767_225_600,
            text: text.to_owned(),
        }
    }

    fn append(typed: &Typed, text: &str, most: Option<u64>) {
        typed.push(entry(text), most);
        typed.write().expect("it is written");
    }

    fn texts(typed: &Typed, limit: u64) -> Vec<String> {
        let (_, entries) = typed.before(None, None, limit).expect("it can be read");
        entries.into_iter().map(|(_, entry)| entry.text).collect()
    }

    fn log(typed: &Typed) -> State {
        typed.look().expect("it can be looked at")
    }

    /// Shows S-322, S-324, S-326, S-327, S-328.
    #[test]
    fn entries_keep_their_numbers_while_the_file_is_the_same() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE);
        let (one, other) = (Typed::new(home.path()), Typed::new(home.path()));
        assert_eq!(log(&one), State::default());
        assert_eq!(one.entry(0, 0).unwrap(), None);
        assert!(!path.exists(), "looking makes no file");
        append(&one, "first\nline two", None);
        append(&one, "zwei ä", None);
        let line = std::fs::read_to_string(&path).unwrap();
        let first = line.lines().next().unwrap();
        assert_eq!(first, r#"{"session_id":"s","ts":1767225600,"text":"first\nline two"}"#);
        let found = std::fs::metadata(&path).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
        let state = log(&one);
        assert_eq!((state.log_id, state.count), (found.ino(), 2));
        // Others see it, and what they add shifts nothing.
        append(&other, "third", None);
        for (number, text) in [(0, "first\nline two"), (1, "zwei ä"), (2, "third")] {
            assert_eq!(one.entry(state.log_id, number).unwrap().unwrap().text, text);
            assert_eq!(other.entry(state.log_id, number).unwrap().unwrap().text, text);
        }
        assert_eq!(one.entry(state.log_id, 3).unwrap(), None);
        assert_eq!(one.entry(state.log_id, u64::MAX).unwrap(), None);
        assert_eq!(one.entry(state.log_id + 1, 0).unwrap(), None);
        assert_eq!(texts(&one, 2), ["third", "zwei ä"]);
        // A wider file is narrowed.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        append(&one, "fourth", None);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // Another file in its place.
        let aside = home.path().join("aside");
        std::fs::rename(&path, &aside).unwrap();
        append(&one, "anew", None);
        assert_eq!(one.entry(state.log_id, 0).unwrap(), None);
        assert_eq!(log(&one).count, 1);
        let (now, none) = one.before(Some(state.log_id), None, 5).unwrap();
        assert_eq!((now.count, none), (1, vec![]));
    }

    /// Shows S-323.
    #[test]
    fn writers_side_by_side_leave_whole_lines() {
        let home = tempfile::tempdir().unwrap();
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let typed = Typed::new(home.path());
                std::thread::spawn(move || {
                    for number in 0..500 {
                        append(&typed, &format!("{writer} {number} {}", "x".repeat(number)), None);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().expect("no panic");
        }
        let typed = Typed::new(home.path());
        assert_eq!(log(&typed).count, 2000);
        let mut seen = [0; 4];
        let (_, entries) = typed.before(None, None, 2000).unwrap();
        assert_eq!(entries.len(), 2000);
        for (_, entry) in entries.iter().rev() {
            let mut words = entry.text.split(' ');
            let writer: usize = words.next().unwrap().parse().unwrap();
            let number: usize = words.next().unwrap().parse().unwrap();
            assert_eq!(number, seen[writer], "in order, each once");
            assert_eq!(words.next().unwrap().len(), number);
            seen[writer] += 1;
        }
    }

    #[test]
    fn torn_and_broken_lines_cost_only_themselves() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE);
        std::fs::write(
            &path,
            b"{\"session_id\":\"s\",\"ts\":1,\"text\":\"a\"}\nrubbish\n\xef\n{\"text\":\"to",
        )
        .unwrap();
        let typed = Typed::new(home.path());
        assert_eq!(log(&typed).count, 3, "the torn line is not there yet");
        append(&typed, "b", None);
        assert_eq!(log(&typed).count, 5);
        assert_eq!(texts(&typed, 10), ["b", "a"]);
        let id = log(&typed).log_id;
        assert_eq!(typed.entry(id, 1).unwrap(), None);
        assert_eq!(typed.entry(id, 4).unwrap().unwrap().text, "b");
        // Cut in place: it is counted anew.
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(0)
            .unwrap();
        append(&typed, "c", None);
        assert_eq!((log(&typed).count, texts(&typed, 10)), (1, vec!["c".to_owned()]));
    }

    #[test]
    fn a_file_that_may_not_grow_loses_its_oldest_entries_and_is_another_one() {
        let home = tempfile::tempdir().unwrap();
        let typed = Typed::new(home.path());
        append(&typed, "the very first", Some(1000));
        let before = log(&typed);
        for number in 0..100 {
            append(&typed, &format!("number {number}"), Some(1000));
            let length = std::fs::metadata(home.path().join(FILE)).unwrap().len();
            assert!(length <= 1000, "{length}");
        }
        let after = log(&typed);
        assert!(after.count < 101 && after.count > 5, "{after:?}");
        assert_eq!(texts(&typed, 2), ["number 99", "number 98"]);
        assert!(
            typed
                .entry(before.log_id, 0)
                .unwrap()
                .is_none_or(|entry| entry.text != "the very first")
        );
        // One entry that is longer than the file may be stays.
        append(&typed, &"y".repeat(2000), Some(1000));
        assert_eq!((log(&typed).count, texts(&typed, 1)[0].len()), (1, 2000));
        let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn what_is_no_file_is_an_error_and_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(FILE);
        std::fs::create_dir(&path).unwrap();
        let typed = Typed::new(home.path());
        typed.push(entry("x"), None);
        assert!(typed.write().is_err());
        assert!(typed.look().is_err());
        std::fs::remove_dir(&path).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        typed.push(entry("x"), None);
        assert!(typed.write().is_err());
        assert!(typed.look().is_err());
    }

    /// The numbers of a long file are found without reading it from the start each time.
    #[test]
    fn every_number_of_a_long_file_is_found() {
        let home = tempfile::tempdir().unwrap();
        let mut text = String::new();
        for number in 0..5000 {
            text.push_str(&serde_json::to_string(&entry(&format!("{number} {}", "z".repeat(number % 50)))).unwrap());
            text.push('\n');
        }
        std::fs::write(home.path().join(FILE), text).unwrap();
        let typed = Typed::new(home.path());
        let state = log(&typed);
        assert_eq!(state.count, 5000);
        for number in [0, 1, 1023, 1024, 1025, 2047, 2048, 4095, 4999] {
            let entry = typed.entry(state.log_id, number).unwrap().expect("an entry");
            assert!(entry.text.starts_with(&format!("{number} ")), "{number}");
        }
        append(&typed, "last", None);
        assert_eq!(typed.entry(state.log_id, 5000).unwrap().unwrap().text, "last");
        let (_, page) = typed.before(Some(state.log_id), Some(10), 3).unwrap();
        assert_eq!(page.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [9, 8, 7]);
    }
}
