//! Image files, as the model takes them: known by their content, not by their name.

use crate::workspace::{Judge, Opened, ReadError};
use base64::Engine;
use std::io::Read;
use std::path::Path;

/// Most bytes of an image file.
pub const LIMIT: u64 = 20 << 20;

/// An image that the model can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `png`, `jpeg`, `gif` or `webp`.
    pub kind: &'static str,
    /// Size of the file.
    pub bytes: usize,
    /// All of it, as a `data:` URL.
    pub url: String,
}

/// Why there is no image, as the end of a sentence.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It may not be read, or cannot be opened; in words.
    #[error("{0}")]
    Closed(String),
    #[error("there is no such file")]
    NotThere,
    #[error("it is not a file")]
    NoFile,
    #[error("it is larger than {} MiB", LIMIT >> 20)]
    TooLarge,
    #[error("it is empty")]
    Empty,
    #[error("only PNG, JPEG, GIF and WebP are understood, and by its content it is none of them")]
    OtherKind,
}

impl From<ReadError> for ImageError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotFound { .. } => Self::NotThere,
            ReadError::IsDirectory { .. } | ReadError::NotRegular { .. } => Self::NoFile,
            // The sentence ends with a full stop of its own.
            error => Self::Closed(error.to_string().trim_end_matches('.').to_owned()),
        }
    }
}

/// Reads an image file, if it may be read.
pub fn read(path: &Path, judge: &dyn Judge) -> Result<Image, ImageError> {
    let opened = Opened::judged(path, judge)?;
    let found = opened.metadata();
    if !found.is_file() {
        return Err(ImageError::NoFile);
    }
    if found.len() > LIMIT {
        return Err(ImageError::TooLarge);
    }
    let mut bytes = Vec::new();
    opened.file().take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(ImageError::TooLarge);
    }
    if bytes.is_empty() {
        return Err(ImageError::Empty);
    }
    let kind = kind(&bytes).ok_or(ImageError::OtherKind)?;
    let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
    Ok(Image {
        kind,
        bytes: bytes.len(),
        url: format!("data:image/{kind};base64,{text}"),
    })
}

/// Whether a file is an image by its first bytes. What cannot be read is none.
pub fn is_one(path: &Path, judge: &dyn Judge) -> bool {
    let Ok(opened) = Opened::judged(path, judge) else {
        return false;
    };
    let mut first = Vec::new();
    let mut head = || opened.file().take(16).read_to_end(&mut first);
    opened.metadata().is_file() && head().is_ok() && kind(&first).is_some()
}

/// What an image is by its first bytes.
fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::opened::All;

    #[test]
    fn images_are_known_by_their_first_bytes() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Some("png")),
            (b"\xff\xd8\xff\xe0", Some("jpeg")),
            (b"GIF87a", Some("gif")),
            (b"GIF89a..", Some("gif")),
            (b"GIF88a", None),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"\x89PNG", None),
            (b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", None),
            (b"BM", None),
            (b"%PDF-1.7", None),
        ] {
            assert_eq!(kind(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_image_is_said_in_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("empty.png"), "").expect("written");
        std::fs::write(path("text.png"), "no image").expect("written");
        let large = std::fs::File::create(path("large.png")).expect("made");
        large.set_len(LIMIT + 1).expect("grown");
        for (name, part) in [
            ("empty.png", "empty"),
            ("text.png", "by its content"),
            ("large.png", "larger than 20 MiB"),
            (".", "not a file"),
            ("missing.png", "no such file"),
        ] {
            let error = read(&path(name), &All).expect_err(name).to_string();
            assert!(error.contains(part), "{name}: {error}");
        }
        std::fs::write(path("no-suffix"), b"\xff\xd8\xff\xe0rest").expect("written");
        let image = read(&path("no-suffix"), &All).expect("an image");
        assert_eq!((image.kind, image.bytes), ("jpeg", 8));
        assert!(image.url.starts_with("data:image/jpeg;base64,/9j/"), "{}", image.url);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_swapped_after_the_look_is_not_read() {
        use crate::workspace::opened::Swaps;
        let swaps = Swaps::new("a.png");
        let path = swaps.link.join("a.png");
        std::fs::write(swaps.link.with_file_name("closed").join("a.png"), b"GIF89a secret").expect("written");
        let read = read(&path, &swaps);
        assert!(matches!(read, Err(ImageError::Closed(_))), "{read:?}");
        assert!(!is_one(&path, &swaps));
    }
}
