//! Reading text files from the disk, with care: no device, no endless file, no guess at an encoding.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The largest file that is read as text, in bytes.
pub const MAX_TEXT: u64 = 64 << 20;

/// Why a file could not be read as text.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("there is no file {}", path.display())]
    NotFound { path: PathBuf },
    #[error("{} is a folder, not a file", path.display())]
    IsDirectory { path: PathBuf },
    /// A device, a socket or a FIFO: reading it could block for ever or have an effect.
    #[error("{} is {kind}, not a file; it was not opened", path.display())]
    NotRegular { path: PathBuf, kind: &'static str },
    #[error("{} is not UTF-8 text ({encoding})", path.display())]
    NotText { path: PathBuf, encoding: &'static str },
    #[error("{} has {size} bytes; files above {limit} bytes are not read as text", path.display(), limit = MAX_TEXT)]
    TooLarge { path: PathBuf, size: u64 },
    #[error("no permission to read {}", path.display())]
    Denied { path: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Who it is read for may not read it; in words for them.
    #[error("{0}")]
    Refused(String),
}

impl ReadError {
    pub(super) fn from_io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            // A part of the path that is a file where a folder should be: nothing is there either.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NotFound { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            io::ErrorKind::IsADirectory => Self::IsDirectory { path },
            _ => Self::Io { path, source },
        }
    }
}

/// The text of a file. A byte-order mark stays part of it.
pub fn read_text(path: &Path) -> Result<String, ReadError> {
    text_of(path, read_bytes(path)?)
}

pub(super) fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, ReadError> {
    if bytes.contains(&0) {
        return Err(ReadError::NotText {
            path: path.to_owned(),
            encoding: guess_encoding(&bytes),
        });
    }
    String::from_utf8(bytes).map_err(|error| ReadError::NotText {
        path: path.to_owned(),
        encoding: guess_encoding(error.as_bytes()),
    })
}

/// The bytes of a regular file of at most [`MAX_TEXT`] bytes. Links are followed; what is not a regular file
/// is never opened.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    let failed = |error| ReadError::from_io(path, error);
    check_regular(path, &std::fs::metadata(path).map_err(failed)?)?;
    let file = open(path).map_err(failed)?;
    // Once more: what the path names may have changed between the look and the opening.
    let metadata = file.metadata().map_err(failed)?;
    check_regular(path, &metadata)?;
    read_open(path, file, &metadata)
}

/// The bytes of a regular file that is open.
pub(super) fn read_open(path: &Path, file: File, metadata: &Metadata) -> Result<Vec<u8>, ReadError> {
    let failed = |error| ReadError::from_io(path, error);
    let too_large = |size| ReadError::TooLarge {
        path: path.to_owned(),
        size,
    };
    if metadata.len() > MAX_TEXT {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    // Bounded again: files under /proc have no length, others grow.
    file.take(MAX_TEXT + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 {
        size if size > MAX_TEXT => Err(too_large(size)),
        _ => Ok(bytes),
    }
}

/// Whether an editor's text is the text of these bytes, apart from line ends, a byte-order mark and the
/// encoding (UTF-8, UTF-16 by its mark, or Latin-1).
pub(crate) fn same_text(text: &str, bytes: &[u8]) -> bool {
    if text.as_bytes() == bytes {
        return true;
    }
    let lines = |text: &str| text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    decode(bytes).is_some_and(|disk| lines(&disk) == lines(text))
}

/// The bytes as editors read them by default: UTF-16 by its mark, UTF-8, or else Latin-1. Nothing where they are broken UTF-16.
pub fn decode(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => Some(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
        }),
    }
}

/// The path with its links resolved as far as it exists; the rest is kept as it stands.
pub fn canonical(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(mut real) = std::fs::canonicalize(ancestor) {
            if let Ok(rest) = path.strip_prefix(ancestor) {
                real.extend(rest.components());
            }
            return real;
        }
    }
    path.to_owned()
}

pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Should a FIFO slip in after the look, opening it must not wait for a writer.
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC);
    }
    options.open(path)
}

/// Whether it is a file or a folder.
pub(super) fn check_readable(path: &Path, metadata: &Metadata) -> Result<(), ReadError> {
    match metadata.is_dir() {
        true => Ok(()),
        false => check_regular(path, metadata),
    }
}

pub(super) fn check_regular(path: &Path, metadata: &Metadata) -> Result<(), ReadError> {
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(ReadError::IsDirectory { path: path.to_owned() })
    } else {
        Err(ReadError::NotRegular {
            path: path.to_owned(),
            kind: kind_of(metadata.file_type()),
        })
    }
}

#[cfg(unix)]
fn kind_of(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn kind_of(_: FileType) -> &'static str {
    "something special"
}

fn guess_encoding(bytes: &[u8]) -> &'static str {
    match bytes {
        [0xff, 0xfe, ..] => "it looks like UTF-16, little endian",
        [0xfe, 0xff, ..] => "it looks like UTF-16, big endian",
        _ if bytes.contains(&0) => "it looks like a binary file",
        _ => "it may be Latin-1 or another 8-bit encoding",
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    String::from_utf16(&pairs.iter().map(|pair| unit(*pair)).collect::<Vec<_>>()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_text_is_refused_by_kind() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("utf16"), b"\xff\xfeh\0i\0").unwrap();
        std::fs::write(at("latin1"), b"caf\xe9").unwrap();
        std::fs::write(at("binary"), b"\x7fELF\0\0").unwrap();
        std::fs::write(at("bom"), "\u{feff}x".as_bytes()).unwrap();
        std::fs::File::create(at("huge"))
            .unwrap()
            .set_len(MAX_TEXT + 1)
            .unwrap();
        let kind = |path: PathBuf| match read_text(&path) {
            Ok(text) => text,
            Err(ReadError::NotText { encoding, .. }) => encoding.to_owned(),
            Err(error) => format!("{error:?}").split(' ').next().unwrap_or_default().to_owned(),
        };
        for (name, expected) in [
            ("missing", "NotFound"),
            ("bom/inside", "NotFound"),
            ("", "IsDirectory"),
            ("huge", "TooLarge"),
            ("utf16", "it looks like UTF-16, little endian"),
            ("latin1", "it may be Latin-1 or another 8-bit encoding"),
            ("binary", "it looks like a binary file"),
            ("bom", "\u{feff}x"),
        ] {
            assert_eq!(kind(at(name)), expected, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_sockets_are_never_opened() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [
            socket.as_path(),
            Path::new("/dev/zero"),
            Path::new("/dev/stdin").parent().unwrap(),
        ] {
            let error = read_text(path).unwrap_err();
            assert!(
                matches!(error, ReadError::NotRegular { .. } | ReadError::IsDirectory { .. }),
                "{error}"
            );
        }
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(matches!(
            read_text(&fifo),
            Err(ReadError::NotRegular {
                kind: "a named pipe",
                ..
            })
        ));
    }

    #[test]
    fn encodings_and_line_ends_are_not_differences() {
        for (text, bytes, same) in [
            ("a\nb", &b"a\r\nb"[..], true),
            ("a\r\nb", b"a\nb", true),
            ("x", "\u{feff}x".as_bytes(), true),
            ("hi", b"\xff\xfeh\0i\0", true),
            ("hi", b"\xfe\xff\0h\0i", true),
            ("hi", b"\xff\xfeh\0i", false),
            ("caf\u{e9}", b"caf\xe9", true),
            ("cafe", b"caf\xe9", false),
            ("a\n", b"a", false),
        ] {
            assert_eq!(same_text(text, bytes), same, "{text:?} {bytes:?}");
        }
    }
}
