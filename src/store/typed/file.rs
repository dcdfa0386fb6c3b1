//! The file itself: opened with care, locked while it is written, private to the person.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long another program may hold the file.
const LOCK_LIMIT: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// How much of the size it may have a file keeps that is made shorter, so that not every entry makes it shorter anew.
const KEPT_PERCENT: u64 = 80;

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Opening a pipe must not wait for its other end.
        options.mode(0o600).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    }
    options
}

fn check(file: &File) -> io::Result<Metadata> {
    let found = file.metadata()?;
    match found.is_file() {
        true => Ok(found),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file")),
    }
}

/// For reading; nothing if there is no file.
pub(super) fn open(path: &Path) -> io::Result<Option<File>> {
    match options().open(path) {
        Ok(file) => check(&file).map(|_| Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// For appending, made if it is not there, narrowed to its owner, and locked. Whoever waits for the lock may find another
/// file in the place of the one that they waited for.
pub(super) fn open_locked(path: &Path) -> io::Result<File> {
    let deadline = Instant::now() + LOCK_LIMIT;
    loop {
        if let Some(folder) = path.parent() {
            crate::private::make_folder(folder)?;
        }
        let file = options().append(true).create(true).open(path)?;
        let found = check(&file)?;
        narrow(&file, &found)?;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(io::Error::new(
                        io::ErrorKind::WouldBlock,
                        "another program holds it locked",
                    ));
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_AGAIN),
            }
        }
        let in_place = std::fs::metadata(path).is_ok_and(|now| log_id(&now) == log_id(&found));
        if in_place || Instant::now() >= deadline {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn narrow(file: &File, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    match found.permissions().mode() & 0o777 {
        0o600 => Ok(()),
        _ => file.set_permissions(std::fs::Permissions::from_mode(0o600)),
    }
}

#[cfg(not(unix))]
fn narrow(_file: &File, _found: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Tells one file from another that takes its place.
#[cfg(unix)]
pub(super) fn log_id(found: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
pub(super) fn log_id(found: &Metadata) -> u64 {
    let made = found
        .created()
        .ok()
        .and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    made.map_or(1, |made| u64::try_from(made.as_nanos()).unwrap_or(u64::MAX))
}

/// Whether a file of this length ends with a whole line; an empty one does.
pub(super) fn ends_with_newline(file: &mut File, length: u64) -> io::Result<bool> {
    let Some(last) = length.checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    file.seek(SeekFrom::Start(last))?;
    file.read_exact(&mut byte)?;
    Ok(byte == [b'\n'])
}

/// Puts a file in the place of a locked one that holds only its newest lines, in fewer bytes than `most`; the newest line in
/// any case.
pub(super) fn shorten(path: &Path, locked: &mut File, most: u64) -> io::Result<()> {
    let mut bytes = Vec::new();
    let length = locked.seek(SeekFrom::End(0))?;
    let keep = most / 100 * KEPT_PERCENT + most % 100 * KEPT_PERCENT / 100;
    // One byte more, which tells whether a line begins where the kept part does.
    let from = length.saturating_sub(keep.saturating_add(1));
    locked.seek(SeekFrom::Start(from))?;
    locked.read_to_end(&mut bytes)?;
    let newline = bytes.iter().position(|byte| *byte == b'\n');
    let kept = match newline.map(|at| at + 1).filter(|start| *start < bytes.len()) {
        Some(start) => bytes.split_off(start),
        // The newest line alone is longer.
        None => newest(locked, length)?,
    };
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let written = (|| {
        let _left_over = std::fs::remove_file(&temporary);
        let mut file = options().write(true).create_new(true).open(&temporary)?;
        file.write_all(&kept)?;
        std::fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _nothing_left = std::fs::remove_file(&temporary);
    }
    written
}

/// The last line.
fn newest(file: &mut File, length: u64) -> io::Result<Vec<u8>> {
    let mut start = length;
    let mut line: Vec<u8> = Vec::new();
    loop {
        let from = start.saturating_sub(64 << 10);
        let mut part = vec![0; usize::try_from(start - from).unwrap_or_default()];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut part)?;
        part.extend_from_slice(&line);
        line = part;
        start = from;
        let inner = &line[..line.len().saturating_sub(1)];
        if let Some(at) = inner.iter().rposition(|byte| *byte == b'\n') {
            return Ok(line.split_off(at + 1));
        }
        if start == 0 {
            return Ok(line);
        }
    }
}
