//! Rollouts as they lie on the disk: plain, as we write them, or packed, as the reference system puts old ones away
//! (`.jsonl.zst`). What is packed is read and never written: nothing is added to it, and it goes on in a copy.

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::path::Path;

/// Bytes that one file may hold when it is unpacked. A small file can claim to hold any number.
const MOST_UNPACKED: u64 = 256 << 20;
/// Bytes of memory for unpacking.
const MOST_WINDOW: u64 = 128 << 20;
/// How much larger a packed conversation is than its file, about.
const RATIO: u64 = 8;

const PLAIN: &str = ".jsonl";
const PACKED: &str = ".jsonl.zst";

/// The name of a rollout without its ending; `None` for any other file's name.
pub(super) fn stem(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(PLAIN).or_else(|| name.strip_suffix(PACKED));
    stem.filter(|_| name.starts_with("rollout-"))
}

pub(super) fn is_packed(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(PACKED))
}

/// Whether the same conversation lies beside a packed one plain: it is about to be packed, or was taken up again.
pub(super) fn is_beside_plain(path: &Path) -> bool {
    is_packed(path) && path.with_extension("").exists()
}

/// About how much there is to read in a file of this size.
pub(super) fn weight(path: &Path, size: u64) -> u64 {
    if is_packed(path) {
        size.saturating_mul(RATIO)
    } else {
        size
    }
}

/// Opens a rollout for reading from its beginning.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read>> {
    let file = File::open(path)?;
    match is_packed(path) {
        false => Ok(Box::new(file)),
        true => Ok(Box::new(Unpacking {
            frame: Some(begin(BufReader::new(file))?),
            left: MOST_UNPACKED,
        })),
    }
}

/// All that a rollout holds.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last bytes of a rollout, at most so many; whether that is all of it.
pub(super) fn tail(path: &Path, most: usize) -> Result<(Vec<u8>, bool)> {
    let mut reader = open(path)?;
    let (mut bytes, mut whole) = (Vec::new(), true);
    while reader.by_ref().take(most as u64).read_to_end(&mut bytes)? > 0 {
        if bytes.len() > most {
            whole = false;
            bytes.drain(..bytes.len() - most);
        }
    }
    Ok((bytes, whole))
}

type Frame = StreamingDecoder<BufReader<File>, FrameDecoder>;

fn begin(file: BufReader<File>) -> Result<Frame> {
    StreamingDecoder::new_with_max_window_size(file, MOST_WINDOW)
        .map_err(|error| Error::new(ErrorKind::InvalidData, error))
}

/// A packed file as it is unpacked.
struct Unpacking {
    /// The part that is being unpacked; nothing at the end.
    frame: Option<Frame>,
    /// Bytes that it may still give.
    left: u64,
}

impl Read for Unpacking {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let Some(frame) = self.frame.as_mut().filter(|_| !buffer.is_empty()) else {
                return Ok(0);
            };
            let count = frame.read(buffer)?;
            if count > 0 {
                let left = self.left.checked_sub(count as u64);
                self.left = left.ok_or_else(|| {
                    let most = MOST_UNPACKED >> 20;
                    Error::new(
                        ErrorKind::FileTooLarge,
                        format!("it holds more than {most} MiB once it is unpacked"),
                    )
                })?;
                return Ok(count);
            }
            if let Some(frame) = self.frame.take() {
                let mut rest = frame.into_inner();
                if !rest.fill_buf()?.is_empty() {
                    self.frame = Some(begin(rest)?);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn packed(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn file(bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rollout-x.jsonl.zst");
        std::fs::write(&path, bytes).expect("a file");
        (folder, path)
    }

    #[test]
    fn names_by_table() {
        for (name, expected) in [
            ("rollout-a.jsonl", Some("rollout-a")),
            ("rollout-a.jsonl.zst", Some("rollout-a")),
            ("rollout-a.jsonl.gz", None),
            ("rollout-a.zst", None),
            ("other.jsonl.zst", None),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
        assert!(is_packed(Path::new("/a/rollout-a.jsonl.zst")) && !is_packed(Path::new("/a/rollout-a.jsonl")));
    }

    #[test]
    fn what_was_packed_is_read_again() {
        let long: Vec<u8> = (0..300_000_u32)
            .flat_map(|number| format!("{number}\n").into_bytes())
            .collect();
        for text in [&b""[..], b"one\n", &long] {
            let (_folder, path) = file(&packed(text));
            assert_eq!(read(&path).expect("sound"), text);
            let (end, whole) = tail(&path, 1000).expect("sound");
            assert_eq!(
                (&end[..], whole),
                (&text[text.len().saturating_sub(1000)..], text.len() <= 1000)
            );
        }
        // Parts that were packed one after the other are one file.
        let (_folder, path) = file(&[packed(b"one\n"), packed(&long), packed(b"end\n")].concat());
        assert_eq!(read(&path).expect("sound"), [b"one\n", &long[..], b"end\n"].concat());
    }

    #[test]
    fn what_is_damaged_is_an_error_and_what_is_too_large_is_not_unpacked() {
        let whole = packed(&b"some words\n".repeat(1000));
        for bytes in [
            &b""[..],
            b"plain text",
            &whole[..whole.len() / 2],
            &[&whole[..], b"more"].concat(),
        ] {
            let (_folder, path) = file(bytes);
            assert!(read(&path).is_err(), "{} bytes", bytes.len());
        }
        // A few hundred bytes that say "a" for ever.
        let chunk = packed(&vec![b'a'; 64 << 20]);
        let (_folder, path) = file(&chunk.repeat(5));
        let mut reader = open(&path).expect("it begins soundly");
        let error = std::io::copy(&mut reader, &mut std::io::sink()).expect_err("too much");
        assert!(
            error.kind() == ErrorKind::FileTooLarge && error.to_string().contains("256 MiB"),
            "{error}"
        );
    }
}
