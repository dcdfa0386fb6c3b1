//! The journal of a transaction: a file that says, before anything is touched, what will be, so that another process
//! can put the tree right if this one dies.
//!
//! It is a few lines of JSON, each written at once: what will be made (`begun`), then, once all that is new lies beside
//! its targets, every step (`ready`), then that all steps were taken (`committed`). Who works with it holds a shared
//! lock on it, which the kernel releases with the process; whoever gets the exclusive lock knows that all of them are
//! dead. A line that was not written to its end counts as not written.

use super::record::Step;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// How the names of journals end.
const SUFFIX: &str = ".journal";
/// How all names begin that a transaction makes up.
pub(super) const PREFIX: &str = ".countersign-";
/// The format that this program writes and reads.
const VERSION: u32 = 1;
/// No journal is longer: a transaction of a hundred thousand files has about 60 MB.
const MOST_BYTES: u64 = 256 << 20;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Line {
    /// Nothing has been touched.
    Begun {
        version: u32,
        /// Where the transaction may write.
        roots: Vec<PathBuf>,
        /// Folders that will be made, the outermost first.
        folders: Vec<PathBuf>,
        /// Names beside the targets that will hold what is new.
        files: Vec<PathBuf>,
        /// Folders that go at the end if nothing is in them.
        tidy: Vec<PathBuf>,
    },
    /// All that is new is beside its target; from now on names are changed.
    Ready {
        /// Folders that were made, the outermost first.
        folders: Vec<PathBuf>,
        steps: Vec<Step>,
    },
    /// A step that could not be taken is replaced by others.
    Instead { at: usize, steps: Vec<Step> },
    /// All steps were taken, and shall stand.
    Committed,
}

/// What the lines of a journal come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Story {
    pub(super) roots: Vec<PathBuf>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) files: Vec<PathBuf>,
    pub(super) tidy: Vec<PathBuf>,
    pub(super) steps: Vec<Step>,
    pub(super) committed: bool,
}

impl Story {
    /// The line with which it begins.
    pub(super) fn begun(&self) -> Line {
        Line::Begun {
            version: VERSION,
            roots: self.roots.clone(),
            folders: self.folders.clone(),
            files: self.files.clone(),
            tidy: self.tidy.clone(),
        }
    }

    /// The steps as a line.
    pub(super) fn ready(&self) -> Line {
        Line::Ready {
            folders: self.folders.clone(),
            steps: self.steps.clone(),
        }
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Begun {
                roots,
                folders,
                files,
                tidy,
                ..
            } => {
                *self = Self {
                    roots,
                    folders,
                    files,
                    tidy,
                    ..Self::default()
                }
            }
            Line::Ready { folders, steps } => {
                self.folders = folders;
                self.steps = steps;
            }
            Line::Instead { at, steps } => {
                if at < self.steps.len() {
                    self.steps.splice(at..=at, steps);
                }
            }
            Line::Committed => self.committed = true,
        }
    }

    /// Every path that taking it back or finishing it may touch, but for the folders that go if they are empty.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let others = self.folders.iter().chain(&self.files);
        others
            .map(PathBuf::as_path)
            .chain(self.steps.iter().flat_map(Step::paths))
    }
}

/// Why a journal was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("it was written by another version of the program")]
    Version,
    #[error("it is no journal of this program")]
    Strange,
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// A journal at work.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
}

/// A fresh name for a journal: in the `journal` folder of Countersign's home, which is made if it is not there, else
/// hidden in the folder `otherwise`.
pub fn journal_path(home: Option<&Path>, otherwise: &Path) -> PathBuf {
    let name = format!("{PREFIX}{}{SUFFIX}", uuid::Uuid::now_v7().simple());
    home.and_then(|home| usable(&journal_folder(home)))
        .unwrap_or_else(|| otherwise.to_owned())
        .join(name)
}

/// Where the journals of all transactions are, by Countersign's home folder.
pub fn journal_folder(home: &Path) -> PathBuf {
    home.join("journal")
}

/// The folder, made if need be, if a file can be made there.
fn usable(folder: &Path) -> Option<PathBuf> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder).ok()?;
    #[cfg(unix)]
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).ok()?;
    Some(folder.to_owned())
}

/// Says that somebody is at work with a journal, as long as it is kept.
#[derive(Debug)]
pub struct JournalLock {
    _file: File,
}

/// Makes an empty journal and holds it, for a process that lets others do the work.
///
/// # Errors
/// The file cannot be made.
pub fn hold_journal(path: &Path) -> io::Result<JournalLock> {
    Journal::open(path).map(|journal| JournalLock { _file: journal.file })
}

/// Says in the journal that its transaction shall stand. What is left to do is to clean up, which recovery does too.
///
/// # Errors
/// It cannot be written; the transaction counts as not decided then.
pub fn mark_committed(path: &Path) -> io::Result<()> {
    let file = open(path, false)?;
    Journal {
        path: path.to_owned(),
        file,
    }
    .append(&Line::Committed)
}

impl Journal {
    /// Opens or makes an empty journal, and holds it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        loop {
            let journal = Self::join(path, true)?;
            let meta = journal.file.metadata()?;
            if meta.len() > 0 {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "a journal of this name is there already",
                ));
            }
            // Somebody who cleans up may have taken it away before it was held.
            if super::system::links(&meta) > 0 {
                return Ok(journal);
            }
        }
    }

    /// Holds a journal that is there.
    pub(super) fn join(path: &Path, make: bool) -> io::Result<Self> {
        let file = open(path, make)?;
        match file.lock_shared() {
            // Without locks nobody recovers what is not theirs either.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
            _ => {}
        }
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Holds a journal whose people are all dead. `None` while one of them lives, or if it is gone.
    pub(super) fn orphaned(path: &Path) -> io::Result<Option<Self>> {
        let file = match open(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let meta = file.metadata()?;
        if !meta.is_file() || super::system::links(&meta) == 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            path: path.to_owned(),
            file,
        }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        // Half a line is none, and writing past the limit ends the process.
        super::system::allow_size(self.file.metadata()?.len() + text.len() as u64)?;
        self.file.write_all(&text)
    }

    /// Waits until what was written is on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// What is in it; `None` if not one whole line is: nothing has been touched then.
    pub(super) fn story(&mut self) -> Result<Option<Story>, ReadError> {
        let mut text = Vec::new();
        let mut file = &self.file;
        io::Seek::rewind(&mut file)?;
        file.take(MOST_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(ReadError::Strange);
        }
        let mut story = None;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                break;
            }
            // After a power failure there may be a line of nothing.
            let line: Line = match serde_json::from_slice(line) {
                Ok(line) => line,
                Err(_) if story.is_none() && line.iter().all(|byte| matches!(byte, 0 | b'\n')) => break,
                Err(_) => return Err(ReadError::Strange),
            };
            match (&line, &mut story) {
                (Line::Begun { version, .. }, _) if *version != VERSION => return Err(ReadError::Version),
                (Line::Begun { .. }, None) => {
                    let mut first = Story::default();
                    first.take(line);
                    story = Some(first);
                }
                (Line::Begun { .. }, Some(_)) | (_, None) => return Err(ReadError::Strange),
                (_, Some(story)) => story.take(line),
            }
        }
        Ok(story)
    }

    /// Takes the file away; the lock goes with it.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

fn open(path: &Path, make: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(make);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    options.open(path)
}

/// The journals in a folder that are ours, the oldest first.
pub(super) fn journals(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(PREFIX) && name.ends_with(SUFFIX) && is_ours(&entry.path())
        })
        .map(|entry| entry.path())
        .collect();
    // Their names begin with the time.
    found.sort();
    found
}

/// Whether it is a regular file that we wrote ourselves.
#[cfg(unix)]
fn is_ours(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}
