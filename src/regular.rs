//! Reading files that a command may exchange for something else: a pipe in the place of one has nobody at its other end, and opening it
//! would wait for ever.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a regular file for reading, without waiting.
///
/// # Errors
/// There is none, it cannot be opened, or it is a pipe, a device or a folder by now.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC);
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// All of a regular file.
///
/// # Errors
/// As of [`open`], or it cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// As of [`read`], or it is no UTF-8.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn nothing_waits_for_a_pipe() {
        let folder = tempfile::tempdir().expect("a folder");
        let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .expect("a pipe");
        std::fs::write(&file, "text").expect("written");
        assert_eq!(read_to_string(&file).expect("a file"), "text");
        for place in [&pipe, folder.path(), Path::new("/dev/null")] {
            assert!(read(place).is_err(), "{}", place.display());
        }
    }
}
