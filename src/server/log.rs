//! The log: a file in the home folder, never the wire.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The log is put aside when it has grown to this many bytes; one older file is kept.
const MAX_SIZE: u64 = 8 << 20;
const FILE: &str = "countersign.log";
const OLDER: &str = "countersign.log.old";

/// Where the log goes, and what goes there.
pub struct LogOptions<'a> {
    /// The folder of the log files.
    pub folder: &'a Path,
    /// In the manner of `countersign=debug`; without it, what is worth a line (`info`).
    pub filter: Option<&'a str>,
    /// Also to standard error.
    pub stderr: bool,
}

/// What is logged where the person says nothing. What tool servers send is theirs.
fn default_targets() -> Targets {
    Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target(crate::mcp::SDK_LOG, LevelFilter::WARN)
}

/// Starts logging for the whole process. The error says why no file is written; the server goes on without.
pub fn install(options: &LogOptions<'_>) -> Result<(), String> {
    let wanted = options.filter.and_then(|filter| filter.parse::<Targets>().ok());
    let filter = || wanted.clone().unwrap_or_else(default_targets);
    let file = LogFile::open(options.folder);
    let to_file = file.as_ref().ok().map(|file| {
        let file = file.clone();
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(move || file.clone())
            .with_filter(filter())
    });
    let to_stderr = options.stderr.then(|| {
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(io::stderr)
            .with_filter(filter())
    });
    // Fails only if logging was started before; then that one stays.
    let _ = tracing_subscriber::registry().with(to_file).with(to_stderr).try_init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(place, %backtrace, "panic: {}", panic.payload_as_str().unwrap_or("no message"));
    }));
    let folder = options.folder.display();
    file.map(drop).map_err(|error| {
        format!("No log is written: {folder} cannot be used ({error}). Make it writable, or set COUNTERSIGN_HOME to a folder that is.")
    })
}

/// A file that starts anew when it has become too large. Lines of several servers may go to the same one.
#[derive(Clone)]
struct LogFile(Arc<Mutex<Open>>);

struct Open {
    folder: PathBuf,
    file: File,
    size: u64,
}

impl LogFile {
    fn open(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let (file, size) = append(folder)?;
        Ok(Self(Arc::new(Mutex::new(Open {
            folder: folder.to_owned(),
            file,
            size,
        }))))
    }
}

fn append(folder: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(folder.join(FILE))?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

impl Write for LogFile {
    /// Takes a whole line at a time, and never fails: a full disk must not be the end of anything.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut open = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if open.size >= MAX_SIZE {
            let (from, to) = (open.folder.join(FILE), open.folder.join(OLDER));
            if std::fs::rename(from, to).is_ok()
                && let Ok((file, size)) = append(&open.folder)
            {
                (open.file, open.size) = (file, size);
            }
        }
        // If it could neither be put aside nor replaced, it does not grow further.
        if open.size < MAX_SIZE && open.file.write_all(line).is_ok() {
            open.size += line.len() as u64;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_has_grown_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = LogFile::open(folder.path()).unwrap();
        let line = vec![b'x'; (MAX_SIZE / 4) as usize];
        for _ in 0..9 {
            log.write_all(&line).unwrap();
        }
        let size = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().len();
        assert_eq!((size(FILE), size(OLDER)), (MAX_SIZE / 4, MAX_SIZE));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let folder = tempfile::NamedTempFile::new().unwrap();
        assert!(LogFile::open(&folder.path().join("log")).is_err());
    }
}
