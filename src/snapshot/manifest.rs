//! What a folder holds at one moment: its files, links and empty folders, each with where its content is kept and with
//! the marks by which the next look knows that it is still the same.

use crate::patch::disk::hexadecimal;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// First bytes of a stored manifest; the last is the version of its form.
const MAGIC: &[u8] = b"countersign tree 1\n";

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Link,
    /// A folder with nothing in it that is kept.
    Folder,
    /// A file that is too large to be kept, or that cannot be read: only that it is there is known.
    Unkept,
}

/// Name of a content in the store, in git's own bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Oid(pub(super) [u8; 20]);

impl Oid {
    pub(super) fn parse(hex: &str) -> Option<Self> {
        let mut bytes = [0; 20];
        if hex.len() != 40 || !hex.is_ascii() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub(super) fn hex(self) -> String {
        hexadecimal(&self.0)
    }
}

/// The marks of an entry by which a look tells that it has not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) size: u64,
    /// Nanoseconds since the epoch.
    pub(super) modified: i64,
    pub(super) changed: i64,
    pub(super) inode: u64,
}

impl Marks {
    pub(super) fn stamp(&self) -> String {
        format!("{} {} {} {}", self.size, self.modified, self.changed, self.inode)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Below the folder.
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// Permission bits.
    pub(super) mode: u32,
    pub(super) marks: Marks,
    /// It was read so soon after its last change that another one could leave the same marks.
    pub(super) fresh: bool,
    /// The first bytes of the SHA-256 of its content.
    pub(super) digest: [u8; 16],
    pub(super) oid: Oid,
}

impl Entry {
    /// Whether both are the same to the person.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && match self.kind {
                Kind::File => self.mode == other.mode && self.digest == other.digest,
                Kind::Link => self.digest == other.digest,
                Kind::Folder => true,
                Kind::Unkept => self.mode == other.mode && self.marks == other.marks,
            }
    }
}

/// All that a folder holds, in the order of paths, and the commit that keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) entries: Vec<Entry>,
    /// The tree object with all contents; absent while nothing was ever kept.
    pub(super) tree: Option<Oid>,
    /// Files that the person's repository tracks although its ignore files name them, as of `index`.
    pub(super) tracked: Vec<PathBuf>,
    /// The marks of that repository's index.
    pub(super) index: Marks,
}

impl Manifest {
    pub(super) fn find(&self, path: &Path) -> Option<&Entry> {
        let at = self
            .entries
            .binary_search_by(|entry| entry.path.as_path().cmp(path))
            .ok()?;
        Some(&self.entries[at])
    }

    /// Whether the folder is there: something is in it, or it is there and empty.
    pub(super) fn has_folder(&self, path: &Path) -> bool {
        let at = self.entries.partition_point(|entry| entry.path.as_path() < path);
        self.entries
            .get(at)
            .is_some_and(|entry| entry.path.starts_with(path) && (entry.path != path || entry.kind == Kind::Folder))
    }

    /// Pairs of entries that are not the same in both, in the order of paths.
    pub(super) fn differences<'a>(&'a self, later: &'a Self) -> Vec<(Option<&'a Entry>, Option<&'a Entry>)> {
        let mut found = Vec::new();
        let (mut old, mut new) = (self.entries.iter().peekable(), later.entries.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (Some(a), Some(b)) => a.path.cmp(&b.path),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return found,
            };
            let pair = match order {
                Ordering::Less => (old.next(), None),
                Ordering::Greater => (None, new.next()),
                Ordering::Equal => (old.next(), new.next()),
            };
            match pair {
                (Some(a), Some(b)) if a.same(b) => {}
                pair => found.push(pair),
            }
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128 * self.entries.len() + 256);
        bytes.extend(MAGIC);
        bytes.push(u8::from(self.tree.is_some()));
        bytes.extend(self.tree.unwrap_or_default().0);
        put_marks(&mut bytes, &self.index);
        put_number(&mut bytes, self.tracked.len() as u64);
        for path in &self.tracked {
            put_path(&mut bytes, path);
        }
        put_number(&mut bytes, self.entries.len() as u64);
        for entry in &self.entries {
            put_path(&mut bytes, &entry.path);
            bytes.push(match entry.kind {
                Kind::File => 0,
                Kind::Link => 1,
                Kind::Folder => 2,
                Kind::Unkept => 3,
            });
            bytes.extend(entry.mode.to_le_bytes());
            put_marks(&mut bytes, &entry.marks);
            bytes.push(u8::from(entry.fresh));
            bytes.extend(entry.digest);
            bytes.extend(entry.oid.0);
        }
        bytes.extend(MAGIC);
        bytes
    }

    /// Nothing if it is not whole or of another version.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?.strip_suffix(MAGIC)?;
        let rest = &mut rest;
        let has_tree = take::<1>(rest)? == [1];
        let tree = Some(Oid(take(rest)?)).filter(|_| has_tree);
        let index = take_marks(rest)?;
        let mut tracked = Vec::new();
        for _ in 0..take_number(rest)? {
            tracked.push(take_path(rest)?);
        }
        let count = take_number(rest)?;
        // Each takes more than a byte, so a wrong number cannot make us reserve much.
        let mut entries = Vec::with_capacity(usize::try_from(count).ok()?.min(rest.len()));
        for _ in 0..count {
            entries.push(Entry {
                path: take_path(rest)?,
                kind: match take::<1>(rest)? {
                    [0] => Kind::File,
                    [1] => Kind::Link,
                    [2] => Kind::Folder,
                    [3] => Kind::Unkept,
                    _ => return None,
                },
                mode: u32::from_le_bytes(take(rest)?),
                marks: take_marks(rest)?,
                fresh: take::<1>(rest)? == [1],
                digest: take(rest)?,
                oid: Oid(take(rest)?),
            });
        }
        let in_order = entries.is_sorted_by(|a, b| a.path < b.path);
        (rest.is_empty() && in_order).then_some(Self {
            entries,
            tree,
            tracked,
            index,
        })
    }
}

fn put_number(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

fn put_marks(bytes: &mut Vec<u8>, marks: &Marks) {
    put_number(bytes, marks.size);
    bytes.extend(marks.modified.to_le_bytes());
    bytes.extend(marks.changed.to_le_bytes());
    put_number(bytes, marks.inode);
}

fn put_path(bytes: &mut Vec<u8>, path: &Path) {
    let path = path.as_os_str().as_encoded_bytes();
    bytes.extend((path.len() as u32).to_le_bytes());
    bytes.extend(path);
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*taken)
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(rest)?))
}

fn take_marks(rest: &mut &[u8]) -> Option<Marks> {
    Some(Marks {
        size: take_number(rest)?,
        modified: i64::from_le_bytes(take(rest)?),
        changed: i64::from_le_bytes(take(rest)?),
        inode: take_number(rest)?,
    })
}

fn take_path(rest: &mut &[u8]) -> Option<PathBuf> {
    let length = usize::try_from(u32::from_le_bytes(take(rest)?)).ok()?;
    let (path, left) = rest.split_at_checked(length)?;
    *rest = left;
    crate::patch::any_path::of_bytes(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, digest: u8) -> Entry {
        Entry {
            path: path.into(),
            kind: Kind::File,
            mode: 0o644,
            marks: Marks {
                size: 3,
                modified: -1,
                changed: i64::MAX,
                inode: 7,
            },
            fresh: digest == 1,
            digest: [digest; 16],
            oid: Oid([digest; 20]),
        }
    }

    fn manifest(entries: Vec<Entry>) -> Manifest {
        Manifest {
            entries,
            tree: Some(Oid([9; 20])),
            tracked: vec!["x\ny".into()],
            index: Marks::default(),
        }
    }

    #[test]
    fn what_is_stored_comes_back_and_what_is_torn_does_not() {
        let whole = manifest(vec![entry("a", 1), entry("a/b", 2), entry("a.b", 3)]);
        let bytes = whole.encode();
        assert_eq!(Manifest::decode(&bytes), Some(whole));
        for end in 0..bytes.len() {
            assert_eq!(Manifest::decode(&bytes[..end]), None, "cut at {end}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(Manifest::decode(&longer), None);
        // Sorting is what finding relies on.
        assert_eq!(
            Manifest::decode(&manifest(vec![entry("b", 1), entry("a", 1)]).encode()),
            None
        );
        assert_eq!(
            Manifest::decode(&Manifest::default().encode()),
            Some(Manifest::default())
        );
    }

    #[test]
    fn differences_are_what_a_person_would_see() {
        let before = manifest(vec![entry("a", 1), entry("b", 1), entry("c", 1), entry("d", 1)]);
        let touched = Entry {
            marks: Marks::default(),
            ..entry("d", 1)
        };
        let executable = Entry {
            mode: 0o755,
            ..entry("a", 1)
        };
        let after = manifest(vec![executable, entry("c", 2), touched, entry("e", 1)]);
        let found: Vec<_> = before
            .differences(&after)
            .into_iter()
            .map(|(old, new)| (old.map(|old| old.path.clone()), new.map(|new| new.path.clone())))
            .collect();
        let path = |name: &str| Some(PathBuf::from(name));
        assert_eq!(
            found,
            [
                (path("a"), path("a")),
                (path("b"), None),
                (path("c"), path("c")),
                (None, path("e"))
            ]
        );
    }

    #[test]
    fn folders_are_known_by_what_is_in_them() {
        let mut empty = entry("empty", 0);
        empty.kind = Kind::Folder;
        let found = manifest(vec![entry("a/b/c", 1), entry("a.b", 1), empty, entry("file", 1)]);
        let has = |path: &str| found.has_folder(Path::new(path));
        assert!(has("a") && has("a/b") && has("empty"));
        assert!(!has("file") && !has("a/b/c") && !has("a/x") && !has("b"));
    }

    #[test]
    fn names_of_contents_are_hexadecimal() {
        let hex = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(Oid::parse(hex).map(Oid::hex).as_deref(), Some(hex));
        assert_eq!(Oid::parse("xyz"), None);
        assert_eq!(Oid::parse(&"é".repeat(20)), None);
    }
}
