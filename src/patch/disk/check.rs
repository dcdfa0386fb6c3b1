//! What must hold before anything is written.

use super::step::{Stamp, io_error};
use super::{CommitError, DiskChange, Expect, Found, Transaction, Work, content_hash};
use crate::patch::files::{read_regular, real_folder, real_path, same_entry};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// A path that may be written.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// As named in the transaction.
    pub(super) path: PathBuf,
    /// With the links of its folders resolved; the last component is no link.
    pub(super) real: PathBuf,
    /// The file that is there.
    pub(super) there: Option<Box<There>>,
}

/// A regular file as it was when its content was checked.
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

    /// The same file under its new name.
    pub(super) fn renamed(&self, to: &Target) -> Target {
        let there = self.there.clone().map(|there| {
            Box::new(There {
                real: to.real.clone(),
                ..*there
            })
        });
        Target {
            path: to.path.clone(),
            real: to.real.clone(),
            there,
        }
    }
}

/// Checks every expectation of a transaction.
pub(super) fn works(transaction: &Transaction) -> Result<Vec<Work<'_>>, CommitError> {
    let roots: Vec<PathBuf> = transaction.roots.iter().map(|root| real_folder(root)).collect();
    let mut names = Names::default();
    let mut works = Vec::with_capacity(transaction.changes.len());
    for change in &transaction.changes {
        works.push(match change {
            DiskChange::Write {
                path,
                text,
                expect,
                mode,
            } => {
                let mut target = target(path, &roots)?;
                names.claim(&target)?;
                target.there = there(&target, expect)?;
                Work::Write {
                    target,
                    text: text.into(),
                    mode: *mode,
                }
            }
            DiskChange::Edit { path, edits, expect } => {
                let mut target = target(path, &roots)?;
                names.claim(&target)?;
                let Some((there, bytes)) = content(&target, expect)? else {
                    return Err(CommitError::Stale {
                        path: target.path,
                        found: Found::Missing,
                    });
                };
                let text = edited(bytes, edits).ok_or_else(|| CommitError::Refused {
                    path: target.path.clone(),
                    reason: "its edits do not fit the text".to_owned(),
                })?;
                target.there = Some(there);
                Work::Write {
                    target,
                    text: text.into(),
                    mode: None,
                }
            }
            DiskChange::Remove { path, expect } => {
                let mut target = target(path, &roots)?;
                names.claim(&target)?;
                target.there = Some(must_be_there(&target, expect)?);
                Work::Remove { target }
            }
            DiskChange::Move { from, to, text, expect } => {
                let (mut from, to) = (target(from, &roots)?, target(to, &roots)?);
                if from.real == to.real {
                    let reason = "it is to be moved onto itself".to_owned();
                    return Err(CommitError::Refused {
                        path: from.path,
                        reason,
                    });
                }
                names.claim(&from)?;
                from.there = Some(must_be_there(&from, expect)?);
                // Another spelling of the same name is there already: the file itself.
                if !same_entry(&from.real, &to.real) {
                    names.claim(&to)?;
                    there(&to, &Expect::Absent)?;
                }
                let changed = *expect != Expect::of(Some(text));
                Work::Move {
                    from,
                    to,
                    text,
                    changed,
                }
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

fn target(path: &Path, roots: &[PathBuf]) -> Result<Target, CommitError> {
    let refused = |reason: &str| CommitError::Refused {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let dotted = path
        .components()
        .any(|part| matches!(part, Component::CurDir | Component::ParentDir));
    if !path.is_absolute() || dotted || path.file_name().is_none() {
        return Err(refused("it is not an absolute path of a file without `.` and `..`"));
    }
    let real = real_path(path);
    if !roots.iter().any(|root| real.starts_with(root)) {
        return Err(CommitError::Outside {
            path: path.to_owned(),
            real,
        });
    }
    let above = real
        .ancestors()
        .skip(1)
        .find_map(|above| Some((above, fs::symlink_metadata(above).ok()?)));
    if let Some((above, meta)) = above
        && !meta.is_dir()
    {
        return Err(refused(&format!("{} is not a folder", above.display())));
    }
    Ok(Target {
        path: path.to_owned(),
        real,
        there: None,
    })
}

/// A folder by its real name, if it lies in a folder that may be written.
pub(super) fn inside(folder: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    let roots: Vec<PathBuf> = roots.iter().map(|root| real_folder(root)).collect();
    target(folder, &roots).ok().map(|target| target.real)
}

fn must_be_there(target: &Target, expect: &Expect) -> Result<Box<There>, CommitError> {
    let missing = || CommitError::Stale {
        path: target.path.clone(),
        found: Found::Missing,
    };
    if *expect == Expect::Absent {
        return Err(missing());
    }
    there(target, expect)?.ok_or_else(missing)
}

fn there(target: &Target, expect: &Expect) -> Result<Option<Box<There>>, CommitError> {
    Ok(content(target, expect)?.map(|(there, _)| there))
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

/// The file and what it holds, as far as that is what was expected; nothing where nothing was expected.
fn content(target: &Target, expect: &Expect) -> Result<Option<(Box<There>, Vec<u8>)>, CommitError> {
    let path = &target.path;
    let stale = |found| CommitError::Stale {
        path: path.clone(),
        found,
    };
    let meta = match fs::symlink_metadata(&target.real) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if *expect == Expect::Absent {
                Ok(None)
            } else {
                Err(stale(Found::Missing))
            };
        }
        Err(error) => return Err(io_error(path, "looking at it", &error)),
    };
    // The stamp is taken before the content is read: a change in between shows when it is compared.
    let stamp = Stamp::of(&meta);
    let bytes = read_regular(&target.real)
        .map_err(|error| match error {
            crate::patch::files::ReadError::Io(error) => io_error(path, "reading it", &error),
            other => CommitError::Refused {
                path: path.clone(),
                reason: other.to_string(),
            },
        })?
        .ok_or_else(|| stale(Found::Missing))?;
    match expect {
        Expect::Absent => return Err(stale(Found::Present)),
        Expect::Content { sha256 } if *sha256 != content_hash(&bytes) => return Err(stale(Found::Changed)),
        Expect::Content { .. } => {}
    }
    if is_read_only(&meta) {
        let reason = "it is read-only; make it writable first if it is to be changed".to_owned();
        return Err(CommitError::Refused {
            path: path.clone(),
            reason,
        });
    }
    let there = There {
        real: target.real.clone(),
        stamp,
        meta,
    };
    Ok(Some((Box::new(there), bytes)))
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
