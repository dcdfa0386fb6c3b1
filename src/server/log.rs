//! The log: a file in the home folder, never the wire. Secrets are taken out of each line before it is written anywhere.

use crate::feedback::ring::Ring;
use crate::private;
use crate::secrets::Secrets;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The log is put aside when it has grown to this many bytes.
const MAX_SIZE: u64 = 8 << 20;
/// The log's name; the older ones have a number behind it, the oldest the largest.
pub const FILE: &str = "countersign.log";
/// Older files that are kept.
const KEPT: u32 = 3;

/// Where the log goes, and what goes there.
pub struct LogOptions<'a> {
    /// The folder of the log files.
    pub folder: &'a Path,
    /// In the manner of `countersign=debug`; without it, what is worth a line (`info`).
    pub filter: Option<&'a str>,
    /// Also to standard error.
    pub stderr: bool,
    /// What stands in no line.
    pub secrets: &'a Secrets,
    /// Keeps the last lines in memory, in more detail.
    pub ring: Option<&'a Ring>,
}

/// What is logged where the person says nothing. What MCP servers send is theirs.
fn default_targets() -> Targets {
    Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target(crate::mcp::SDK_LOG, LevelFilter::WARN)
}

/// Starts logging for the whole process. The error says why no file is written; the server goes on without.
pub fn install(options: &LogOptions<'_>) -> Result<(), String> {
    let wanted = options.filter.and_then(|filter| filter.parse::<Targets>().ok());
    let filter = || wanted.clone().unwrap_or_else(default_targets);
    let file = LogFile::open(options.folder, options.secrets.clone());
    let to_file = file.as_ref().ok().map(|file| {
        let file = file.clone();
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(move || file.clone())
            .with_filter(filter())
    });
    let to_stderr = options.stderr.then(|| {
        let secrets = options.secrets.clone();
        tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(move || Masked(secrets.clone()))
            .with_filter(filter())
    });
    let to_ring = options
        .ring
        .map(|ring| ring.layer(options.secrets.clone()).with_filter(Ring::targets()));
    // Fails only if logging was started before; then that one stays.
    let _ = tracing_subscriber::registry()
        .with(to_file)
        .with(to_stderr)
        .with(to_ring)
        .try_init();
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

/// Standard error, without secrets.
struct Masked(Secrets);

impl Write for Masked {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(self.0.mask(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// A file that starts anew when it has become too large. Lines of several servers may go to the same one.
#[derive(Clone)]
struct LogFile(Arc<Mutex<Open>>);

struct Open {
    folder: PathBuf,
    file: File,
    size: u64,
    secrets: Secrets,
}

impl LogFile {
    fn open(folder: &Path, secrets: Secrets) -> io::Result<Self> {
        private::make_folder(folder)?;
        // Not through a link of somebody else's, nor where others could put one.
        private::check(folder).map_err(io::Error::other)?;
        private::check(&folder.join(FILE)).map_err(io::Error::other)?;
        let (file, size) = append(folder)?;
        Ok(Self(Arc::new(Mutex::new(Open {
            folder: folder.to_owned(),
            file,
            size,
            secrets,
        }))))
    }
}

fn append(folder: &Path) -> io::Result<(File, u64)> {
    let file = private::options().create(true).append(true).open(folder.join(FILE))?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

/// The name of an older file.
fn older(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{FILE}.{number}"))
}

impl Open {
    /// Puts the file aside and begins another. Where another server has done so already, there is one to go on in.
    fn rotate(&mut self) {
        let present = std::fs::metadata(self.folder.join(FILE)).map_or(0, |metadata| metadata.len());
        if present >= MAX_SIZE {
            for number in (1..KEPT).rev() {
                // What is not there yet cannot move.
                let _ = std::fs::rename(older(&self.folder, number), older(&self.folder, number + 1));
            }
            if std::fs::rename(self.folder.join(FILE), older(&self.folder, 1)).is_err() {
                return;
            }
        }
        if let Ok((file, size)) = append(&self.folder) {
            (self.file, self.size) = (file, size);
        }
    }
}

impl Write for LogFile {
    /// Takes a whole line at a time, and never fails: a full disk must not be the end of anything.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut open = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if open.size >= MAX_SIZE {
            open.rotate();
        }
        let text = String::from_utf8_lossy(line);
        let masked = open.secrets.mask(&text);
        let (written, length) = (masked.as_bytes().to_vec(), masked.len() as u64);
        // If it could neither be put aside nor replaced, it does not grow further.
        if open.size < MAX_SIZE && open.file.write_all(&written).is_ok() {
            open.size += length;
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
        let mut log = LogFile::open(folder.path(), Secrets::default()).unwrap();
        let mut other = log.clone();
        let line = vec![b' '; (MAX_SIZE / 4) as usize];
        for _ in 0..4 * (KEPT + 2) {
            log.write_all(&line).unwrap();
        }
        log.write_all(b"the last one").unwrap();
        let size = |path: PathBuf| std::fs::metadata(path).map(|metadata| metadata.len()).ok();
        let sizes: Vec<_> = (1..=KEPT + 1)
            .map(|number| size(older(folder.path(), number)))
            .collect();
        assert_eq!(sizes, [Some(MAX_SIZE), Some(MAX_SIZE), Some(MAX_SIZE), None]);
        assert_eq!(size(folder.path().join(FILE)), Some(12));
        // A server whose file another one has put aside goes on in the new one.
        other.0.lock().unwrap().size = MAX_SIZE;
        other.write_all(b", and another").unwrap();
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(text, "the last one, and another");
        assert_eq!(size(older(folder.path(), KEPT + 1)), None);
    }

    #[test]
    fn secrets_do_not_get_into_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::default();
        let mut log = LogFile::open(folder.path(), secrets.clone()).unwrap();
        secrets.learn(["my-own-key-0"]);
        log.write_all("key my-own-key-0, and Bearer abcdefghijk; \u{e9}\n".as_bytes())
            .unwrap();
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(text, "key <secret>, and Bearer <secret>; \u{e9}\n");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let folder = tempfile::NamedTempFile::new().unwrap();
        assert!(LogFile::open(&folder.path().join("log"), Secrets::default()).is_err());
    }
}
