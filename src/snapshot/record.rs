//! What a turn changed, written down in a file of its own, so that it can be taken back after a restart: the paths, the
//! texts before and after, and the names of what only a snapshot keeps.

use super::Blob;
use crate::ids::{ThreadId, TurnId};
use crate::patch::any_path as path;
use crate::patch::disk::content_hash;
use crate::patch::hunk::text_edits;
use crate::private;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Records older than this are given up, like the snapshots that they lean on.
const MOST_AGE: Duration = Duration::from_secs(14 * 24 * 3600);
/// Records kept in all, of turns and of single commands.
const MOST_KEPT: usize = 4000;
/// Between two looks whether there is something to give up.
const PRUNE_EVERY: Duration = Duration::from_secs(6 * 3600);
/// A longer text before has a file of its own.
const SMALL: usize = 64 << 10;
/// How names of files end that hold bytes as they are.
const KEPT: &str = "bytes";
/// Stands for the records where a blob names its store.
const OWN: &str = "turns";
/// The largest record that is read, in bytes.
const MOST_BYTES: u64 = 512 << 20;

/// A turn's changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    pub thread: ThreadId,
    pub turn: TurnId,
    /// Why it is not known what the turn's commands changed; absent if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_snapshot: Option<String>,
    pub files: Vec<FileRecord>,
    /// Folders that were not there before the turn.
    #[serde(default, with = "paths", skip_serializing_if = "Vec::is_empty")]
    pub new_folders: Vec<PathBuf>,
    /// Empty folders that were there before the turn and are gone.
    #[serde(default, with = "paths", skip_serializing_if = "Vec::is_empty")]
    pub gone_folders: Vec<PathBuf>,
    /// Files that the person saved while a command ran that changed them too.
    #[serde(default, with = "paths", skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<PathBuf>,
    /// For an undo: the turns that it took back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<TurnId>,
}

/// One path before and after the turn; absent means that nothing was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRecord {
    #[serde(with = "path")]
    pub path: PathBuf,
    pub before: Option<Side>,
    pub after: Option<Side>,
    /// The name before the turn of the file that is here now.
    #[serde(default, with = "optional_path", skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<PathBuf>,
}

/// A record as it stands on the disk. A large text before has a file of its own, which is written once, and the text after
/// stands there as edits of it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    #[serde(flatten)]
    record: TurnRecord,
    /// By the place in `files`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    large: BTreeMap<usize, Large>,
}

/// A text that is too large to be written again and again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Large {
    /// Length of the text before, in bytes.
    bytes: u64,
    /// Ranges of bytes of the text before, and what comes there. Absent where what is there after is no text.
    edits: Option<Vec<(Range<usize>, String)>>,
}

impl Written {
    /// The record, and the texts that have files of their own.
    fn of(record: &TurnRecord) -> (Self, Vec<(&Path, &str)>) {
        let (mut large, mut texts) = (BTreeMap::new(), Vec::new());
        let without_text = |side: &Side| Side {
            mode: side.mode,
            content: Content::Text { text: String::new() },
        };
        let mut files = Vec::with_capacity(record.files.len());
        for (index, file) in record.files.iter().enumerate() {
            let (before, after) = (text_of(file.before.as_ref()), text_of(file.after.as_ref()));
            let Some(before) = before.filter(|text| text.len() > SMALL) else {
                files.push(file.clone());
                continue;
            };
            texts.push((file.path.as_path(), before));
            let (bytes, edits) = (before.len() as u64, after.map(|after| text_edits(before, after)));
            files.push(FileRecord {
                path: file.path.clone(),
                before: file.before.as_ref().map(without_text),
                after: match edits {
                    Some(_) => file.after.as_ref().map(without_text),
                    None => file.after.clone(),
                },
                moved_from: file.moved_from.clone(),
            });
            large.insert(index, Large { bytes, edits });
        }
        let record = TurnRecord {
            files,
            thread: record.thread.clone(),
            turn: record.turn.clone(),
            no_snapshot: record.no_snapshot.clone(),
            new_folders: record.new_folders.clone(),
            gone_folders: record.gone_folders.clone(),
            shared: record.shared.clone(),
            undoes: record.undoes.clone(),
        };
        (Self { record, large }, texts)
    }

    /// The whole record. Nothing if a text is missing, or the edits are none of it.
    fn whole(mut self, read: impl Fn(&Path) -> Option<String>) -> Option<TurnRecord> {
        for (index, large) in self.large {
            let file = self.record.files.get_mut(index)?;
            let before = read(&file.path).filter(|text| text.len() as u64 == large.bytes)?;
            if let Some(edits) = large.edits {
                let mut text = String::with_capacity(before.len());
                let mut at = 0;
                for (range, new) in edits {
                    text.push_str(before.get(at..range.start)?);
                    text.push_str(&new);
                    at = range.end;
                }
                text.push_str(before.get(at..)?);
                file.after.as_mut()?.content = Content::Text { text };
            }
            file.before.as_mut()?.content = Content::Text { text: before };
        }
        Some(self.record)
    }
}

fn text_of(side: Option<&Side>) -> Option<&str> {
    match &side?.content {
        Content::Text { text } => Some(text),
        _ => None,
    }
}

/// A file or a link at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// Permission bits, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Content {
    /// A text, here in full.
    Text { text: String },
    /// Bytes that a snapshot keeps.
    Kept { blob: Blob, size: u64 },
    Link {
        #[serde(with = "path")]
        target: PathBuf,
    },
    /// Known to have been there, but not kept: too large, or not to be read.
    Unkept { size: u64, key: String },
}

impl TurnRecord {
    /// Whether there is nothing to undo and nothing unknown.
    pub fn is_empty(&self) -> bool {
        self.no_snapshot.is_none()
            && self.files.is_empty()
            && self.new_folders.is_empty()
            && self.gone_folders.is_empty()
    }
}

/// The records of a home folder.
#[derive(Clone, Debug)]
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// `folder` is that of the snapshots.
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.join("turns"),
        }
    }

    /// Ids also come from clients and from other programs' files.
    fn path(&self, turn: &TurnId, extension: &str) -> Option<PathBuf> {
        let name = turn.as_str();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (!name.is_empty() && name.len() <= 128 && name.bytes().all(plain))
            .then(|| self.folder.join(format!("{name}.{extension}")))
    }

    /// Writes a turn's record in the place of an earlier one.
    ///
    /// # Errors
    /// The home folder cannot be written.
    pub fn save(&self, record: &TurnRecord) -> io::Result<()> {
        let Some(path) = self.path(&record.turn, "json") else {
            return Err(io::Error::other(format!("{} is no name for a file", record.turn)));
        };
        crate::exec::git::make_private(&self.folder)?;
        let (written, texts) = Written::of(record);
        for (of, text) in texts {
            let beside = self.beside(&record.turn, of);
            // What was there before the turn stays the same, however often the turn writes down what is there now.
            if std::fs::metadata(&beside).is_ok_and(|there| there.len() == text.len() as u64) {
                continue;
            }
            private::replace(&beside, text.as_bytes())?;
        }
        private::replace(&path, &serde_json::to_vec(&written)?)
    }

    /// Whether a turn has a record: it changed something, or something in it is not known.
    pub fn has(&self, turn: &TurnId) -> bool {
        self.path(turn, "json").is_some_and(|path| path.exists())
    }

    /// A turn's record. Nothing if it has none, or one that is damaged.
    pub fn load(&self, turn: &TurnId) -> Option<TurnRecord> {
        let path = self.path(turn, "json")?;
        if std::fs::metadata(&path).ok()?.len() > MOST_BYTES {
            return None;
        }
        let bytes = std::fs::read(&path).ok()?;
        serde_json::from_slice::<Written>(&bytes)
            .inspect_err(|error| tracing::warn!(path = %path.display(), %error, "the record of a turn is damaged"))
            .ok()?
            .whole(|of| std::fs::read_to_string(self.beside(turn, of)).ok())
    }

    /// Where a large text before has its own file.
    fn beside(&self, turn: &TurnId, of: &Path) -> PathBuf {
        let name = content_hash(of.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{turn}-{}.text", &name[..16]))
    }

    /// Keeps bytes that no snapshot has, in a file of their own.
    ///
    /// # Errors
    /// The home folder cannot be written.
    pub(super) fn keep(&self, turn: &TurnId, bytes: &[u8]) -> io::Result<Blob> {
        let digest = content_hash(bytes);
        let name = format!("{turn}-{}", &digest[..16]);
        let Some(path) = self.path(&TurnId::from(name.as_str()), KEPT) else {
            return Err(io::Error::other(format!("{turn} is no name for a file")));
        };
        crate::exec::git::make_private(&self.folder)?;
        private::replace(&path, bytes)?;
        Ok(Blob {
            store: OWN.to_owned(),
            oid: name,
            digest,
        })
    }

    /// The bytes that were kept so; nothing where they are not kept any more, or are others by now.
    pub(super) fn kept(&self, blob: &Blob) -> Option<Vec<u8>> {
        if blob.store != OWN {
            return None;
        }
        let path = self.path(&TurnId::from(blob.oid.as_str()), KEPT)?;
        let bytes = std::fs::read(path).ok()?;
        (content_hash(&bytes) == blob.digest).then_some(bytes)
    }

    /// Whether a turn was taken back and not brought back since.
    pub fn is_undone(&self, turn: &TurnId) -> bool {
        self.path(turn, "undone").is_some_and(|path| path.exists())
    }

    /// Notes that a turn was taken back, or (`false`) brought back.
    ///
    /// # Errors
    /// The home folder cannot be written.
    pub fn set_undone(&self, turn: &TurnId, undone: bool) -> io::Result<()> {
        let Some(path) = self.path(turn, "undone") else {
            return Ok(());
        };
        if undone {
            return private::write(&path, "");
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Gives up a turn's record: its thread is deleted. That of another thread stays: a copy has the turns of its original.
    pub fn forget(&self, thread: &ThreadId, turn: &TurnId) {
        if self.load(turn).is_none_or(|record| record.thread != *thread) {
            return;
        }
        let own = ["json", "undone"].map(|extension| self.path(turn, extension));
        let texts = format!("{turn}-");
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_hash = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_text = |name: &str| {
            let rest = name.strip_prefix(&texts).and_then(|rest| rest.split_once('.'));
            // What single commands of the turn changed has records of its own.
            let is_own = |front: &str, end: &str| {
                is_hash(front) && (end == "text" || end == KEPT) || front.starts_with("command-")
            };
            rest.is_some_and(|(front, end)| is_own(front, end))
        };
        let texts = entries
            .filter(|entry| entry.file_name().to_str().is_some_and(is_text))
            .map(|entry| entry.path());
        for path in own.into_iter().flatten().chain(texts) {
            // Most turns have none.
            let _gone = std::fs::remove_file(path);
        }
    }

    /// Gives up old records.
    pub(super) fn prune(&self) {
        let mark = self.folder.join("pruned");
        let last = std::fs::metadata(&mark).and_then(|meta| meta.modified()).ok();
        if last.is_some_and(|last| last.elapsed().is_ok_and(|age| age < PRUNE_EVERY)) || !self.folder.exists() {
            return;
        }
        // Should it not be written, the next turn looks again.
        let _written = private::write(&mark, "");
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<(std::time::SystemTime, PathBuf)> = entries
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        found.sort();
        let most = 2 * MOST_KEPT;
        let too_many = found.len().saturating_sub(most);
        let is_old = |time: &std::time::SystemTime| time.elapsed().is_ok_and(|age| age > MOST_AGE);
        for (at, (time, path)) in found.iter().enumerate() {
            if at < too_many || is_old(time) {
                let _gone = std::fs::remove_file(path);
            }
        }
    }
}

mod optional_path {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use std::path::PathBuf;

    pub(super) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref()
            .map(crate::patch::any_path::to_text)
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.as_deref().and_then(crate::patch::any_path::of_text))
    }
}

mod paths {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use std::path::PathBuf;

    pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = paths.iter().map(|path| crate::patch::any_path::to_text(path)).collect();
        texts.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let paths: Option<Vec<PathBuf>> = texts.iter().map(|text| crate::patch::any_path::of_text(text)).collect();
        paths.ok_or_else(|| D::Error::custom("not a path"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(turn: &str) -> TurnRecord {
        let side = |content| {
            Some(Side {
                mode: Some(0o755),
                content,
            })
        };
        TurnRecord {
            thread: "t".into(),
            turn: turn.into(),
            no_snapshot: None,
            files: vec![
                FileRecord {
                    path: "/w/a\nb".into(),
                    before: None,
                    moved_from: Some("/w/o".into()),
                    after: side(Content::Text {
                        text: "é\0\r\n".to_owned(),
                    }),
                },
                FileRecord {
                    path: "base64:x".into(),
                    before: side(Content::Link { target: "../x".into() }),
                    after: side(Content::Unkept {
                        size: 7,
                        key: "7".to_owned(),
                    }),
                    moved_from: None,
                },
            ],
            new_folders: vec!["/w/d".into()],
            gone_folders: Vec::new(),
            shared: vec!["/w/s".into()],
            undoes: vec!["u".into()],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let home = tempfile::tempdir().unwrap();
        let records = Records::new(home.path());
        let mut written = record("turn-1");
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt as _;
            written.files[0].path = std::ffi::OsStr::from_bytes(b"/w/\xff\xfe").into();
        }
        assert_eq!(records.load(&written.turn), None);
        records.save(&written).unwrap();
        assert!(records.has(&written.turn));
        assert_eq!(records.load(&written.turn), Some(written.clone()));
        assert!(!records.is_undone(&written.turn));
        records.set_undone(&written.turn, true).unwrap();
        assert!(records.is_undone(&written.turn));
        records.set_undone(&written.turn, false).unwrap();
        records.set_undone(&written.turn, false).unwrap();
        assert!(!records.is_undone(&written.turn));
        std::fs::write(home.path().join("turns/turn-1.json"), "{").unwrap();
        assert_eq!(records.load(&written.turn), None);
    }

    #[test]
    fn a_large_text_is_written_once() {
        let home = tempfile::tempdir().unwrap();
        let records = Records::new(home.path());
        let mut written = record("turn-1");
        let before = "é line\r\n".repeat(20_000);
        let side = |text: String| {
            Some(Side {
                mode: Some(0o644),
                content: Content::Text { text },
            })
        };
        let link = Some(Side {
            mode: None,
            content: Content::Link { target: "x".into() },
        });
        let edited = before.replacen("line", "word", 3) + "last";
        for after in [side(edited), side(String::new()), side(before.clone()), link, None] {
            written.files[0].before = side(before.clone());
            written.files[0].after = after;
            records.save(&written).unwrap();
            assert_eq!(records.load(&written.turn), Some(written.clone()));
            let size = std::fs::metadata(home.path().join("turns/turn-1.json")).unwrap().len();
            assert!(size < 2000, "{size}");
        }
        let names = std::fs::read_dir(home.path().join("turns")).unwrap().flatten();
        let mut paths = names.map(|entry| entry.path());
        let text = paths.find(|path| path.extension().is_some_and(|end| end == "text"));
        std::fs::write(text.unwrap(), "short").unwrap();
        assert_eq!(records.load(&written.turn), None, "another text than was written");
        let broken = r#"{"thread":"t","turn":"turn-1","files":[],"large":{"0":{"bytes":1,"edits":[[{"start":1,"end":0},"x"]]}}}"#;
        std::fs::write(home.path().join("turns/turn-1.json"), broken).unwrap();
        assert_eq!(records.load(&written.turn), None);
    }

    #[test]
    fn an_id_is_never_a_way_out_of_the_folder() {
        let home = tempfile::tempdir().unwrap();
        let records = Records::new(&home.path().join("inner"));
        for id in ["", "../x", "a/b", "..", "a.b", "x\0", &"a".repeat(500)] {
            assert!(records.save(&record(id)).is_err(), "{id}");
            assert_eq!(records.load(&id.into()), None, "{id}");
            assert!(!records.has(&id.into()) && !records.is_undone(&id.into()), "{id}");
        }
    }
}
