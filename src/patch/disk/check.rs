//! What must hold before anything is written.

use super::step::io_error;
use super::system::{Stamp, link_target, mode_of, open_regular};
use super::{
    CommitError, Content, DiskChange, Expect, Found, MAX_PLACED_BYTES, New, Transaction, Work, content_hash,
    hexadecimal,
};
use crate::patch::files::{real_folder, real_path, same_entry};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// A path that may be written.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// As named in the transaction.
    pub(super) path: PathBuf,
    /// With the links of its folders resolved; the last component stays as it is.
    pub(super) real: PathBuf,
    /// The file or link that is there.
    pub(super) there: Option<Box<There>>,
}

/// A regular file or a link as it was when its content was checked.
#[derive(Clone, Debug)]
pub(super) struct There {
    pub(super) real: PathBuf,
    pub(super) stamp: Stamp,
    pub(super) meta: fs::Metadata,
}

impl Target {
    /// The folder that holds the file.
    pub(super) fn folder(&self) -> &Path {
        self.real.parent().unwrap_or(Path::new("/"))
    }
}

/// Checks every expectation of a transaction.
pub(super) fn works(transaction: &Transaction) -> Result<Vec<Work<'_>>, CommitError> {
    let roots: Vec<PathBuf> = transaction.roots.iter().map(|root| real_folder(root)).collect();
    let mut names = Names::default();
    let mut folders = Folders::default();
    let mut target = |path: &Path| folders.target(path, &roots);
    let mut works = Vec::with_capacity(transaction.changes.len());
    let care = Care {
        read_only_too: transaction.restores,
    };
    for change in &transaction.changes {
        works.push(match change {
            DiskChange::Write {
                path,
                text,
                expect,
                mode,
            } => {
                let mut target = target(path)?;
                names.claim(&target)?;
                target.there = care.there(&target, expect)?;
                let (text, mode) = (text.into(), *mode);
                Work::Write {
                    target,
                    new: New::Text { text, mode },
                }
            }
            DiskChange::Edit {
                path,
                edits,
                expect,
                mode,
            } => {
                let mut target = target(path)?;
                names.claim(&target)?;
                let mut bytes = Vec::new();
                no_link(&target, expect, "edited")?;
                let there = care.look(&target, expect, Some(&mut bytes))?;
                target.there = Some(there.ok_or_else(|| missing(&target))?);
                let text = edited(bytes, edits).ok_or_else(|| CommitError::Refused {
                    path: target.path.clone(),
                    reason: "its edits do not fit the text".to_owned(),
                })?;
                let (text, mode) = (text.into(), *mode);
                Work::Write {
                    target,
                    new: New::Text { text, mode },
                }
            }
            DiskChange::Place { path, content, expect } => {
                let mut target = target(path)?;
                names.claim(&target)?;
                target.there = care.there(&target, expect)?;
                let new = match content {
                    Content::File { from, mode } => New::Copy { from, mode: *mode },
                    Content::Link { target } => New::Link { target },
                };
                Work::Write { target, new }
            }
            DiskChange::Remove { path, expect } => {
                let mut target = target(path)?;
                names.claim(&target)?;
                target.there = Some(care.must_be_there(&target, expect)?);
                Work::Remove { target }
            }
            DiskChange::Rename { from, to, expect } => {
                let (mut from, to) = (target(from)?, target(to)?);
                let (there, respell) = care.renamed(&mut names, &from, &to, expect)?;
                from.there = Some(there);
                let new = None;
                Work::Move { from, to, new, respell }
            }
            DiskChange::Move {
                from,
                to,
                text,
                expect,
                mode,
            } => {
                let (mut from, to) = (target(from)?, target(to)?);
                no_link(&from, expect, "moved with a text")?;
                let (there, respell) = care.renamed(&mut names, &from, &to, expect)?;
                let same_mode = mode.is_none_or(|mode| mode & 0o7777 == mode_of(&there.meta));
                let same = same_mode && expect.is(text);
                from.there = Some(there);
                let new = (!same).then(|| New::Text {
                    text: text.into(),
                    mode: *mode,
                });
                Work::Move { from, to, new, respell }
            }
        });
    }
    Ok(works)
}

/// The names that changes have claimed; two changes of one file would undo one another.
#[derive(Default)]
struct Names {
    /// By folder and lower-case name, since the file system may not tell case.
    taken: HashMap<(PathBuf, String), Vec<PathBuf>>,
}

impl Names {
    fn claim(&mut self, target: &Target) -> Result<(), CommitError> {
        let name = target
            .real
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let taken = self.taken.entry((target.folder().to_owned(), name)).or_default();
        if taken
            .iter()
            .any(|other| *other == target.real || same_entry(other, &target.real))
        {
            let reason = "it is named twice in one transaction".to_owned();
            return Err(CommitError::Refused {
                path: target.path.clone(),
                reason,
            });
        }
        taken.push(target.real.clone());
        Ok(())
    }
}

/// The folders of the targets by their real names: looked up once for all files in them.
#[derive(Default)]
struct Folders {
    known: HashMap<PathBuf, PathBuf>,
}

impl Folders {
    fn target(&mut self, path: &Path, roots: &[PathBuf]) -> Result<Target, CommitError> {
        let refused = |reason: String| CommitError::Refused {
            path: path.to_owned(),
            reason,
        };
        let dotted = path
            .components()
            .any(|part| matches!(part, Component::CurDir | Component::ParentDir));
        let (true, false, Some(parent), Some(name)) = (path.is_absolute(), dotted, path.parent(), path.file_name())
        else {
            let reason = "it is not an absolute path of a file without `.` and `..`";
            return Err(refused(reason.to_owned()));
        };
        let known = self.known.get(parent);
        let real = known.cloned().unwrap_or_else(|| real_folder(parent)).join(name);
        if !roots.iter().any(|root| real.starts_with(root)) {
            return Err(CommitError::Outside {
                path: path.to_owned(),
                real,
            });
        }
        if known.is_none() {
            no_file_in_the_way(&real).map_err(refused)?;
            let folder = real.parent().unwrap_or(Path::new("/")).to_owned();
            self.known.insert(parent.to_owned(), folder);
        }
        Ok(Target {
            path: path.to_owned(),
            real,
            there: None,
        })
    }
}

/// Says what stands where a folder should be, in words.
fn no_file_in_the_way(real: &Path) -> Result<(), String> {
    let mut above = real
        .ancestors()
        .skip(1)
        .filter_map(|above| Some((above, fs::symlink_metadata(above).ok()?)));
    match above.next() {
        Some((above, meta)) if meta.is_symlink() => {
            let leads = link_target(above).unwrap_or_default();
            let (above, leads) = (above.display(), leads.display());
            Err(format!("{above} is a symbolic link that leads nowhere ({leads})"))
        }
        Some((above, meta)) if !meta.is_dir() => Err(format!("{} is not a folder", above.display())),
        _ => Ok(()),
    }
}

/// A path by its real name, if it lies in a folder that may be written.
pub(super) fn inside(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    let roots: Vec<PathBuf> = roots.iter().map(|root| real_folder(root)).collect();
    let plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    let real = real_path(path);
    (plain && roots.iter().any(|root| real.starts_with(root))).then_some(real)
}

fn missing(target: &Target) -> CommitError {
    CommitError::Stale {
        path: target.path.clone(),
        found: Found::Missing,
    }
}

fn no_link(target: &Target, expect: &Expect, done: &str) -> Result<(), CommitError> {
    match expect {
        Expect::Link { target: to } => Err(CommitError::Refused {
            path: target.path.clone(),
            reason: format!("it is a symbolic link to {}, which cannot be {done}", to.display()),
        }),
        _ => Ok(()),
    }
}

/// The text with its edits; `None` if they are not in order, overlap, or reach out of it or into a character.
fn edited(bytes: Vec<u8>, edits: &[(Range<usize>, String)]) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let more: usize = edits.iter().map(|(_, new)| new.len()).sum();
    let mut after = String::with_capacity(text.len() + more);
    let mut at = 0;
    for (range, new) in edits {
        after.push_str(text.get(at..range.start)?);
        after.push_str(new);
        // A range that ends before it starts, or in a character, has no text.
        at = range.start + text.get(range.clone())?.len();
    }
    after.push_str(text.get(at..)?);
    Some(after)
}

/// How what is there is looked at.
struct Care {
    /// Files without any write permission are no reason to refuse.
    read_only_too: bool,
}

impl Care {
    fn there(&self, target: &Target, expect: &Expect) -> Result<Option<Box<There>>, CommitError> {
        self.look(target, expect, None)
    }

    fn must_be_there(&self, target: &Target, expect: &Expect) -> Result<Box<There>, CommitError> {
        if *expect == Expect::Absent {
            return Err(missing(target));
        }
        self.there(target, expect)?.ok_or_else(|| missing(target))
    }

    /// What gets a new name, and whether that is only another spelling of the one that it has.
    fn renamed(
        &self,
        names: &mut Names,
        from: &Target,
        to: &Target,
        expect: &Expect,
    ) -> Result<(Box<There>, bool), CommitError> {
        if from.real == to.real {
            let reason = "it is to be moved onto itself".to_owned();
            return Err(CommitError::Refused {
                path: from.path.clone(),
                reason,
            });
        }
        names.claim(from)?;
        let there = self.must_be_there(from, expect)?;
        // Another spelling of the same name is there already: the file itself.
        let respell = same_entry(&from.real, &to.real);
        if !respell {
            names.claim(to)?;
            self.there(to, &Expect::Absent)?;
        }
        Ok((there, respell))
    }

    /// The file or link, as far as it is what was expected; nothing where nothing was expected. What the file holds
    /// goes into `bytes`.
    fn look(
        &self,
        target: &Target,
        expect: &Expect,
        bytes: Option<&mut Vec<u8>>,
    ) -> Result<Option<Box<There>>, CommitError> {
        let path = &target.path;
        let stale = |found| CommitError::Stale {
            path: path.clone(),
            found,
        };
        let refused = |reason: String| CommitError::Refused {
            path: path.clone(),
            reason,
        };
        let meta = match fs::symlink_metadata(&target.real) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return match expect {
                    Expect::Absent => Ok(None),
                    _ => Err(stale(Found::Missing)),
                };
            }
            Err(error) => return Err(io_error(path, "looking at it", &error)),
        };
        // The stamp is taken before the content is read: a change in between shows when it is compared.
        let stamp = Stamp::of(&meta);
        if meta.is_symlink() {
            let leads = link_target(&target.real).map_err(|error| io_error(path, "reading the link", &error))?;
            match expect {
                Expect::Link { target } if *target == leads => {}
                Expect::Link { .. } => return Err(stale(Found::Changed)),
                _ => {
                    let (leads, link) = (leads.display(), path.display());
                    return Err(refused(format!(
                        "it is a symbolic link to {leads}, and nothing is written through a link. Change what it leads to by \
                         that name; deleting or moving {link} acts on the link itself"
                    )));
                }
            }
        } else {
            if meta.is_dir() {
                return Err(refused("it is a folder".to_owned()));
            }
            if !meta.is_file() {
                return Err(refused(
                    "it is neither a file nor a folder but a device, a pipe or a socket".to_owned(),
                ));
            }
            match expect {
                Expect::Absent => return Err(stale(Found::Present)),
                Expect::Link { .. } => return Err(stale(Found::Changed)),
                Expect::Content { .. } | Expect::Text { .. } => {}
            }
            if meta.len() > MAX_PLACED_BYTES {
                let length = meta.len();
                return Err(refused(format!(
                    "it has {length} bytes, more than the {MAX_PLACED_BYTES} that may be replaced"
                )));
            }
            let holds = holds(&target.real, expect, bytes).map_err(|error| io_error(path, "reading it", &error))?;
            if !holds {
                return Err(stale(Found::Changed));
            }
            if !self.read_only_too && is_read_only(&meta) {
                return Err(refused(
                    "it is read-only; make it writable first if it is to be changed".to_owned(),
                ));
            }
        }
        Ok(Some(Box::new(There {
            real: target.real.clone(),
            stamp,
            meta,
        })))
    }
}

/// Whether there is a regular file that holds what is expected. What it holds goes into `bytes` too.
fn holds(path: &Path, expect: &Expect, bytes: Option<&mut Vec<u8>>) -> io::Result<bool> {
    let mut file = open_regular(path)?;
    // The name may mean something else by now than a moment ago.
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MAX_PLACED_BYTES {
        return Ok(false);
    }
    let mut own = Vec::new();
    let whole = match (bytes, expect) {
        (Some(bytes), _) => Some(bytes),
        (None, Expect::Text { text }) if meta.len() == text.len() as u64 => Some(&mut own),
        (None, Expect::Text { .. }) => return Ok(false),
        (None, _) => None,
    };
    if let Some(bytes) = whole {
        bytes.reserve(usize::try_from(meta.len()).unwrap_or(0) + 1);
        file.take(MAX_PLACED_BYTES + 1).read_to_end(bytes)?;
        return Ok(match expect {
            Expect::Text { text } => *bytes == text.as_bytes(),
            Expect::Content { sha256 } => *sha256 == content_hash(bytes),
            Expect::Absent | Expect::Link { .. } => false,
        });
    }
    let mut hasher = Sha256::new();
    let mut part = [0; 32 * 1024];
    loop {
        let length = file.read(&mut part)?;
        if length == 0 {
            break;
        }
        hasher.update(&part[..length]);
    }
    Ok(matches!(expect, Expect::Content { sha256 } if *sha256 == hexadecimal(&hasher.finalize())))
}

#[cfg(unix)]
fn is_read_only(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o222 == 0
}

#[cfg(not(unix))]
fn is_read_only(meta: &fs::Metadata) -> bool {
    meta.permissions().readonly()
}
