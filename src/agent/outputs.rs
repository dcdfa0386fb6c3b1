//! Where all of a long output of a command is kept for the person: a file for each, in a folder of the conversation below the home folder,
//! which no command and no tool may read.

use super::turn::Turn;
use crate::exec::FullOutput;
use crate::ids::{ItemId, ThreadId};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The folder of all of them, below the home folder.
const FOLDER: &str = "outputs";
/// Files older than this are given up.
const MOST_AGE: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// Bytes of all files; of more the oldest go first.
const MOST_BYTES: u64 = 1 << 30;
/// Characters of an item's id in the name of its file.
const MOST_NAME: usize = 80;

/// When old files were looked for last.
static PRUNED: Mutex<Option<Instant>> = Mutex::new(None);
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

/// Where the output of a command of this conversation goes once it is longer than `shown` bytes; nowhere for one that leaves nothing on
/// disk.
pub(super) fn of(turn: &Turn, item: &ItemId, shown: usize) -> FullOutput {
    match turn.conversation.recorder {
        Some(_) => in_home(&turn.services.home, &turn.conversation.id, item, shown),
        None => FullOutput::default(),
    }
}

fn in_home(home: &Path, thread: &ThreadId, item: &ItemId, shown: usize) -> FullOutput {
    let mut pruned = PRUNED.lock().unwrap_or_else(PoisonError::into_inner);
    if pruned.is_none_or(|last| last.elapsed() > PRUNE_EVERY) {
        *pruned = Some(Instant::now());
        let home = home.to_owned();
        // Nobody waits for it.
        tokio::task::spawn_blocking(move || prune(&home));
    }
    // Ids come again: after a rollback, and from providers that count them. What was kept under one before may still be looked at.
    let mark = uuid::Uuid::now_v7().simple().to_string();
    let file = format!("{}-{}.txt", name(item.as_str()), &mark[20..]);
    FullOutput::to(folder(home, thread).join(file), shown)
}

/// Removes those of a conversation that is deleted. Waits for the disk.
pub(super) fn remove(home: &Path, thread: &ThreadId) {
    let folder = folder(home, thread);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(folder = %folder.display(), %error, "outputs of a deleted conversation are left");
        }
        _ => {}
    }
}

/// Gives up old ones, and the oldest where they take too much. Waits for the disk.
fn prune(home: &Path) {
    prune_to(home, SystemTime::now(), MOST_BYTES);
}

fn prune_to(home: &Path, now: SystemTime, most: u64) {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries(&home.join(FOLDER))
        .flat_map(|folder| entries(&folder.path()))
        .filter_map(|file| {
            let found = file.metadata().ok()?;
            Some((found.modified().ok()?, found.len(), file.path()))
        })
        .collect();
    // Newest first.
    files.sort_unstable_by(|a, b| b.cmp(a));
    let mut bytes = 0;
    for (changed, size, path) in files {
        bytes += size;
        let is_old = now.duration_since(changed).is_ok_and(|age| age > MOST_AGE);
        if is_old || bytes > most {
            let _gone = fs::remove_file(&path);
            // It is left where something is in it.
            let _holds_something = path.parent().map(fs::remove_dir);
        }
    }
}

fn folder(home: &Path, thread: &ThreadId) -> PathBuf {
    home.join(FOLDER).join(name(thread.as_str()))
}

/// An id as the name of a file: providers give ids of any characters.
fn name(id: &str) -> String {
    let plain = |char: char| {
        if char.is_ascii_alphanumeric() || char == '-' {
            char
        } else {
            '_'
        }
    };
    id.chars().take(MOST_NAME).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_names_of_files_and_nothing_else() {
        for (id, file) in [
            ("call_1-A", "call_1-A"),
            ("../../x", "______x"),
            ("a/b\\c\0\u{202e}", "a_b_c__"),
            ("", ""),
        ] {
            assert_eq!(name(id), file);
        }
        assert_eq!(name(&"x".repeat(500)).len(), MOST_NAME);
    }

    #[test]
    fn old_ones_go_and_the_oldest_of_too_many() {
        let home = tempfile::tempdir().expect("a folder");
        let now = SystemTime::now();
        let file = |thread: &str, name: &str, age: Duration| {
            let path = home.path().join(FOLDER).join(thread).join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, "0123456789").expect("written");
            let times = fs::FileTimes::new().set_modified(now - age);
            fs::File::options()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_times(times))
                .expect("a time");
            path
        };
        let hour = Duration::from_secs(3600);
        let (new, older, oldest) = (file("a", "1", hour), file("a", "2", 2 * hour), file("b", "3", 3 * hour));
        let old = file("c", "4", MOST_AGE + hour);
        prune_to(home.path(), now, MOST_BYTES);
        assert!(new.exists() && older.exists() && oldest.exists() && !old.parent().expect("a folder").exists());
        prune_to(home.path(), now, 20);
        assert!(new.exists() && older.exists() && !oldest.exists());
    }
}
