//! Calls that make, change or remove an entry by its name, held against what acts later (`exec::protected::Later`).
//!
//! As with all names, a command that changes the words while they are judged gets by. What was there when it began lies
//! under a mount of its own where there are namespaces; what it makes is moved away when it ends.

use super::moments::Doing;
use super::questions::{read_path, seen_by};
use super::resolve::{Moved, Patience, Unseen, now_at, resolve};
use super::seccomp;
use super::sys::{self, Question};
use crate::exec::confinement::Walls;
use crate::exec::protected::{Guard, LED_TO, Later, Looker, Reader, end_of, holds_acting};
use libc::{c_int, c_long};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Bytes of `struct open_how` that count: flags, mode, and how the path is resolved, eight each.
const HOW: usize = 24;

/// The longest address of a socket that the kernel takes.
const LONGEST_ADDRESS: u32 = 128;

/// What is kept, and where.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    pub later: &'a Later,
    pub roots: &'a [PathBuf],
    /// What is kept where it lies, also under a name that says nothing: where git's pointers lead, and the like.
    pub guard: &'a Guard,
    /// Whether removing it is refused here. If not, it is only told, as what was there lies under mounts.
    pub removal: bool,
}

/// Who hears of calls that may be carried out, before they are.
pub(super) trait Heard {
    /// Something comes to this place by being moved; to none where what acts is not kept there.
    fn moved(&mut self, place: Option<&Path>);
    /// This entry is made, changed or removed, `whole` with all that is in it.
    fn wrote(&mut self, place: &Path, whole: bool);
    /// It is not known which one is.
    fn wrote_unseen(&mut self);
}

/// A name among a call's arguments.
#[derive(Clone, Copy, Debug)]
struct Name {
    folder: c_int,
    address: u64,
    /// Whether a link at its end is followed.
    follow: bool,
}

/// What a call does with its names.
#[derive(Clone, Copy, Debug)]
enum Deed {
    /// Makes it, where nothing is.
    Make(Name),
    /// Makes a socket, if the address (where it is, and its length) is a path.
    Bind(u64, u64),
    /// Writes it, or makes it.
    Write(Name),
    Remove(Name),
    /// A link to what is written at an address.
    Symlink(u64, Name),
    /// From, to.
    Link(Name, Name),
    Move(Name, Name),
    /// Writes below a folder that is the root of its own name (`RESOLVE_IN_ROOT`): where links lead from there only the kernel
    /// knows.
    WriteWithin,
}

impl<'a> Kept<'a> {
    /// Nothing where the walls keep nothing of the kind.
    pub(super) fn of(walls: &'a Walls, guard: &'a Guard, removal: bool) -> Option<Self> {
        let kept = |later| Self {
            later,
            roots: &walls.roots,
            guard,
            removal,
        };
        walls.later.as_ref().map(kept)
    }
}

impl Kept<'_> {
    /// Why a call is not to be carried out, in words that stand after "blocked". Of one that may be, `heard` is told; `beside`
    /// does what is due meanwhile, as in `Patience`.
    pub(super) fn judge(
        &self,
        question: &Question,
        heard: &mut dyn Heard,
        beside: &mut dyn FnMut() -> bool,
    ) -> Option<String> {
        match self.look(question, heard, &mut Patience::new(beside)) {
            Ok(kept) => kept,
            Err(Unseen) if self.only_tells(question) => {
                heard.wrote_unseen();
                None
            }
            Err(Unseen) => Some("writing where its keeper cannot look".to_owned()),
        }
    }

    /// Whether a call is carried out in any case.
    pub(super) fn only_tells(&self, question: &Question) -> bool {
        !self.removal && seccomp::REMOVING.contains(&question.call)
    }

    fn look(
        &self,
        question: &Question,
        heard: &mut dyn Heard,
        patience: &mut Patience<'_>,
    ) -> Result<Option<String>, Unseen> {
        let Some(deed) = deed(question) else { return Ok(None) };
        let mut look = |name: Name| -> Result<Option<PathBuf>, Unseen> { place(question, name, patience) };
        let only_tells = self.only_tells(question);
        let mut written = |place: Option<PathBuf>| {
            let place = place?;
            let kept = self.kept(&place).filter(|_| !only_tells);
            if kept.is_none() {
                heard.wrote(&place, false);
            }
            kept
        };
        let absent = |place: &PathBuf| fs::symlink_metadata(place).is_err();
        match deed {
            // Of what is there the kernel says so by itself.
            Deed::Make(name) => Ok(written(look(name)?.filter(absent))),
            Deed::Bind(address, length) => {
                let place = socket(question.thread, address, length, patience)?;
                Ok(written(place.filter(absent)))
            }
            Deed::Symlink(target, name) => {
                let Some(place) = look(name)?.filter(|place| fs::symlink_metadata(place).is_err()) else {
                    return Ok(None);
                };
                if let Some(what) = self.kept(&place) {
                    return Ok(Some(what));
                }
                let target = match read_path(question.thread, target) {
                    Ok(Some(target)) => target,
                    Ok(None) => return Ok(None),
                    Err(_) => return Err(Unseen),
                };
                let led_out = self.led_out(question.thread, &place, &target, None, patience)?;
                if led_out.is_none() {
                    heard.wrote(&place, false);
                }
                Ok(led_out)
            }
            Deed::Write(name) | Deed::Remove(name) => Ok(written(look(name)?)),
            Deed::WriteWithin => Ok(Some(
                "opening a file to write it by openat2 with RESOLVE_IN_ROOT".to_owned(),
            )),
            Deed::Link(from, to) | Deed::Move(from, to) => {
                let (from, to) = (look(from)?, look(to)?);
                let kept = |place: &Option<PathBuf>| place.as_ref().and_then(|place| self.kept(place));
                if let Some(what) = kept(&from).or_else(|| kept(&to)) {
                    return Ok(Some(what));
                }
                let (Some(from), Some(to)) = (from, to) else {
                    return Ok(None);
                };
                // An exchange brings what stands there to the other place.
                for (from, to) in [(&from, &to), (&to, &from)] {
                    if let Ok(target) = fs::read_link(from)
                        && let Some(what) = self.led_out(question.thread, to, &target, None, patience)?
                    {
                        return Ok(Some(what));
                    }
                }
                if matches!(deed, Deed::Link(..)) {
                    // What is written by one name is written by the other, also once one of them is gone.
                    heard.wrote(&from, false);
                    heard.wrote(&to, false);
                    return Ok(None);
                }
                let hindered = self.brought(question.thread, &from, &to, patience);
                let exchanged = is_exchange(question).then_some(&from);
                let ends = [&to].into_iter().chain(exchanged).filter(|_| hindered.is_none());
                // What lies there may be another thing once it is moved.
                for end in ends {
                    heard.moved(Some(end.as_path()).filter(|end| self.later.covers(self.roots, &end.join("x"))));
                }
                if hindered.is_none() {
                    heard.wrote(&from, true);
                    heard.wrote(&to, true);
                }
                Ok(hindered)
            }
        }
    }

    /// A link that puts a folder in which everything may be made in the place of one where somebody works. `moved` is the
    /// folder that it comes along with, if one is.
    fn led_out(
        &self,
        thread: libc::pid_t,
        place: &Path,
        target: &Path,
        moved: Option<Moved<'_>>,
        patience: &mut Patience<'_>,
    ) -> Result<Option<String>, Unseen> {
        let Some(folder) = place
            .parent()
            .filter(|_| self.later.covers(self.roots, &place.join("x")))
        else {
            return Ok(None);
        };
        let Some(target) = resolve(thread, &folder.join(target), true, moved, patience)? else {
            return Ok(None);
        };
        // What is made there would be reached by a name that acts.
        if place.file_name().is_some_and(holds_acting) && target.file_name() != place.file_name() {
            return Ok(Some(format!(
                "making a link of {}, as entries in it act later",
                place.display()
            )));
        }
        let is_file = fs::symlink_metadata(now_at(&target, moved)).is_ok_and(|found| !found.is_dir());
        let is_open = self.later.is_open(self.roots, &target);
        Ok((is_open && !is_file).then(|| {
            format!(
                "making {} a link to {}, where files may be made that other programs act on by themselves",
                place.display(),
                target.display()
            )
        }))
    }

    /// What moving a folder, or exchanging two, would bring to where it is kept, or take away from where it is known.
    fn brought(&self, thread: libc::pid_t, from: &Path, to: &Path, patience: &mut Patience<'_>) -> Option<String> {
        let around = |held: &&PathBuf| held.starts_with(from) || held.starts_with(to);
        for held in self.guard.standing.iter().filter(around) {
            match self.later.keeps(self.roots, held) {
                None => return Some(format!("moving {}, which {LED_TO}, away", held.display())),
                // An editor would find other words at its place.
                Some(acts) if acts == Reader::Chats.acts() => {
                    return Some(format!("moving {}, which {acts}, away", held.display()));
                }
                Some(_) => {}
            }
        }
        let mut hinders = |from: &Path, to: &Path| {
            let mut looker = Mover {
                kept: *self,
                thread,
                moved: Moved { from, to },
                patience: &mut *patience,
            };
            self.later.hinders_move(self.roots, from, to, &mut looker)
        };
        let hinders = hinders(from, to).or_else(|| hinders(to, from))?;
        Some(format!(
            "moving {} to {}: what other programs act on by themselves would get to where it is kept, or out of there, with {}",
            from.display(),
            to.display(),
            hinders.display()
        ))
    }

    fn kept(&self, place: &Path) -> Option<String> {
        // What lies in an entry, too: the person may have made it since the command began.
        let named = self.later.kept_around(self.roots, place);
        let standing = self.guard.standing.iter().map(PathBuf::as_path);
        let awaited = self.guard.awaited.iter().map(|(_, target)| target.as_path());
        let mut led_to = standing.chain(awaited);
        let absent = |place: &Path| {
            let named = |(folder, name): &(PathBuf, OsString)| {
                let in_metadata = folder.components().any(|part| part.as_os_str() == ".git");
                in_metadata && place.file_name() == Some(name.as_os_str()) && place.parent() == Some(folder.as_path())
            };
            self.guard.missing.iter().any(named)
        };
        let held = || {
            let led_to = led_to.find(|held| place.starts_with(held)).map(|held| (held, LED_TO));
            led_to.or_else(|| Some((place.ancestors().find(|place| absent(place))?, "is protected")))
        };
        let completes = || {
            let completes = self.later.completes_repository(self.roots, place);
            completes.then_some((place, "makes the folder around it a repository"))
        };
        // An editor that has a chat document open by a link would find other words there.
        let leads = || {
            fs::read_link(place).ok()?;
            self.later.covers(self.roots, place).then_some(())?;
            let target = end_of(place)?;
            let is_chat = |there: &PathBuf| self.later.keeps(self.roots, there) == Some(Reader::Chats.acts());
            let mut there = self.later.there.iter();
            let found = there.any(|there| there.starts_with(&target) && is_chat(there));
            found.then_some((place, "leads to words that are sent in the person's name"))
        };
        let kept = named.or_else(held).or_else(completes).or_else(leads);
        kept.map(|(entry, acts)| {
            format!(
                "writing {}, which {acts}; it is changed by the person, or by a patch that they accept",
                entry.display()
            )
        })
    }
}

/// A folder that is looked through before it is moved.
struct Mover<'a, 'p> {
    kept: Kept<'a>,
    thread: libc::pid_t,
    moved: Moved<'a>,
    patience: &'a mut Patience<'p>,
}

impl Looker for Mover<'_, '_> {
    fn goes_on(&mut self) -> bool {
        self.patience.look().is_ok()
    }

    fn leads_out(&mut self, place: &Path, target: &Path) -> bool {
        let led = self
            .kept
            .led_out(self.thread, place, target, Some(self.moved), self.patience);
        !matches!(led, Ok(None))
    }
}

/// Where a name leads, links followed as the thread would: what `/proc` shows as its own is its own, not the keeper's. The
/// last part need not be there. Nothing for a name that the kernel cannot read either.
fn place(question: &Question, name: Name, patience: &mut Patience<'_>) -> Result<Option<PathBuf>, Unseen> {
    let path = match read_path(question.thread, name.address) {
        Ok(Some(path)) => path,
        Ok(None) => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) => return Ok(None),
        Err(_) => return Err(Unseen),
    };
    let seen = seen_by(question.thread, name.folder, &path);
    if !path.as_os_str().is_empty() {
        return resolve(question.thread, &seen, name.follow, None, patience);
    }
    // The descriptor itself (`AT_EMPTY_PATH`): what is open there, also where that is a link.
    match fs::read_link(&seen) {
        Ok(open) if open.is_absolute() => resolve(question.thread, &open, false, None, patience),
        Ok(_) => Ok(None),
        Err(error) if crate::exec::protected::is_no_link(&error) => Ok(None),
        Err(_) => Err(Unseen),
    }
}

/// Where a socket gets its name, if that is a path: as long as its address says, or up to a zero before that.
fn socket(
    thread: libc::pid_t,
    address: u64,
    length: u64,
    patience: &mut Patience<'_>,
) -> Result<Option<PathBuf>, Unseen> {
    // An `int`, as the kernel reads it. It refuses what is longer, and finds no path in what is shorter.
    let length = length as u32;
    if length > LONGEST_ADDRESS {
        return Ok(None);
    }
    let bytes = sys::read_memory(thread, address, length as usize).map_err(|_| Unseen)?;
    if bytes.len() != length as usize {
        return Err(Unseen);
    }
    let Some(path) = socket_path(&bytes) else {
        return Ok(None);
    };
    resolve(thread, &seen_by(thread, libc::AT_FDCWD, path), false, None, patience)
}

/// The path in the bytes of an address.
fn socket_path(address: &[u8]) -> Option<&Path> {
    let (family, path) = address.split_first_chunk::<2>()?;
    let is_unix = c_int::from(u16::from_ne_bytes(*family)) == libc::AF_UNIX;
    let path = path.split(|byte| *byte == 0).next()?;
    (is_unix && !path.is_empty()).then(|| Path::new(OsStr::from_bytes(path)))
}

/// What a call does; nothing for one that only reads.
fn deed(question: &Question) -> Option<Deed> {
    let [a, b, c, d, e, _] = question.arguments;
    let here = |address: u64, follow: bool| Name {
        folder: libc::AT_FDCWD,
        address,
        follow,
    };
    let at = |folder: u64, address: u64, follow: bool| Name {
        folder: folder as c_int,
        address,
        follow,
    };
    let opens = |folder: u64, address: u64, flags: u64| {
        let flags = flags as u32;
        (flags & seccomp::WRITING != 0).then(|| Deed::Write(at(folder, address, follows(flags))))
    };
    #[cfg(target_arch = "x86_64")]
    match question.call {
        libc::SYS_open => return opens(libc::AT_FDCWD as u64, a, b),
        libc::SYS_creat => return Some(Deed::Write(here(a, true))),
        libc::SYS_mkdir | libc::SYS_mknod => return Some(Deed::Make(here(a, false))),
        libc::SYS_symlink => return Some(Deed::Symlink(a, here(b, false))),
        libc::SYS_link => return Some(Deed::Link(here(a, false), here(b, false))),
        libc::SYS_rename => return Some(Deed::Move(here(a, false), here(b, false))),
        libc::SYS_unlink | libc::SYS_rmdir => return Some(Deed::Remove(here(a, false))),
        _ => {}
    }
    Some(match question.call {
        libc::SYS_openat => return opens(a, b, c),
        // Its flags lie in memory. Where they cannot be read, the name is looked at, and cannot be read either.
        libc::SYS_openat2 => {
            let how = sys::read_memory(question.thread, c, HOW).unwrap_or_default();
            let field = |at: usize| Some(u64::from_ne_bytes(*how.get(at..)?.first_chunk()?));
            let opened = opens(a, b, field(0).unwrap_or(u64::from(seccomp::WRITING)));
            let is_within = field(16).is_some_and(|resolve| resolve & libc::RESOLVE_IN_ROOT != 0);
            return opened.map(|opened| if is_within { Deed::WriteWithin } else { opened });
        }
        libc::SYS_mkdirat | libc::SYS_mknodat => Deed::Make(at(a, b, false)),
        libc::SYS_symlinkat => Deed::Symlink(a, at(b, c, false)),
        libc::SYS_linkat => Deed::Link(at(a, b, e as c_int & libc::AT_SYMLINK_FOLLOW != 0), at(c, d, false)),
        libc::SYS_renameat2 => Deed::Move(at(a, b, false), at(c, d, false)),
        call if is_older_rename(call) => Deed::Move(at(a, b, false), at(c, d, false)),
        libc::SYS_unlinkat => Deed::Remove(at(a, b, false)),
        libc::SYS_truncate => Deed::Write(here(a, true)),
        libc::SYS_bind => Deed::Bind(b, c),
        _ => return None,
    })
}

/// What a call that is let through does where its name comes to lead; nothing if no entry can come by it.
pub(super) fn doing(question: &Question) -> Option<Doing> {
    let makes = |argument: usize| {
        let makes = question.arguments[argument] as c_int & (libc::O_CREAT | libc::O_TMPFILE) != 0;
        makes.then_some(Doing::Makes)
    };
    #[cfg(target_arch = "x86_64")]
    if question.call == libc::SYS_open {
        return makes(1);
    }
    match deed(question)? {
        Deed::Remove(_) => None,
        Deed::Write(_) if question.call == libc::SYS_openat => makes(2),
        Deed::Write(_) if question.call == libc::SYS_truncate => None,
        Deed::Make(_) | Deed::Bind(..) | Deed::Write(_) | Deed::WriteWithin | Deed::Symlink(..) => Some(Doing::Makes),
        Deed::Link(..) | Deed::Move(..) => Some(Doing::Brings),
    }
}

/// Whether a call gives each of two entries the place of the other.
fn is_exchange(question: &Question) -> bool {
    question.call == libc::SYS_renameat2 && question.arguments[4] as u32 & libc::RENAME_EXCHANGE != 0
}

/// Whether a file is opened where a link at the end of its path leads. Alone, `O_EXCL` says nothing.
fn follows(flags: u32) -> bool {
    const NEW: u32 = (libc::O_CREAT | libc::O_EXCL) as u32;
    flags & libc::O_NOFOLLOW as u32 == 0 && flags & NEW != NEW
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn is_older_rename(call: c_long) -> bool {
    call == libc::SYS_renameat
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn is_older_rename(_call: c_long) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_sockets_by_table() {
        let address = |family: c_int, path: &[u8]| [&(family as u16).to_ne_bytes(), path].concat();
        for (family, path, expected) in [
            (libc::AF_UNIX, &b".vscode\0"[..], Some(".vscode")),
            (libc::AF_UNIX, b".vscode", Some(".vscode")),
            (libc::AF_UNIX, b"a\0.vscode", Some("a")),
            (libc::AF_UNIX, b"\0.vscode", None),
            (libc::AF_UNIX, b"", None),
            (libc::AF_INET, b".vscode", None),
        ] {
            let address = address(family, path);
            assert_eq!(socket_path(&address), expected.map(Path::new), "{family} {path:?}");
        }
        assert_eq!(socket_path(&[1]), None);
    }

    #[test]
    fn what_calls_do_by_table() {
        let create = (libc::O_WRONLY | libc::O_CREAT) as u64;
        let (write, read) = (libc::O_WRONLY as u64, libc::O_RDONLY as u64);
        for (call, flags, expected) in [
            (libc::SYS_openat, create, Some(Doing::Makes)),
            (libc::SYS_openat, write, None),
            (libc::SYS_openat, read, None),
            (libc::SYS_truncate, 0, None),
            (libc::SYS_unlinkat, 0, None),
            (libc::SYS_mkdirat, 0, Some(Doing::Makes)),
            (libc::SYS_symlinkat, 0, Some(Doing::Makes)),
            (libc::SYS_bind, 0, Some(Doing::Makes)),
            (libc::SYS_linkat, 0, Some(Doing::Brings)),
            (libc::SYS_renameat2, 0, Some(Doing::Brings)),
        ] {
            let question = Question {
                id: 0,
                thread: 1,
                call,
                arguments: [0, 0, flags, 0, 0, 0],
            };
            assert_eq!(doing(&question), expected, "{call} {flags:o}");
        }
    }

    #[test]
    fn which_flags_follow_a_link_by_table() {
        for (flags, expected) in [
            (libc::O_WRONLY, true),
            (libc::O_WRONLY | libc::O_CREAT, true),
            (libc::O_WRONLY | libc::O_EXCL, true),
            (libc::O_RDWR | libc::O_EXCL | libc::O_TRUNC, true),
            (libc::O_TMPFILE | libc::O_RDWR | libc::O_EXCL, true),
            (libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, false),
            (libc::O_WRONLY | libc::O_NOFOLLOW, false),
        ] {
            assert_eq!(follows(flags as u32), expected, "{flags:o}");
        }
    }
}
