//! Modes, owners, times and extended attributes, which Landlock does not see. Where no view of the disk keeps them as they
//! are outside the writable places, each such call is asked about, and is carried out by the keeper on the very file that
//! was looked at: what the command writes over its memory meanwhile does not matter.

use super::questions::seen_by;
use super::sys::{self, Metadata as Change, Question};
use libc::{c_int, c_long};
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The calls that are asked about.
pub(super) const CHANGING: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Newer calls for the same, answered as if the kernel did not have them: fchmodat2, setxattrat, removexattrat.
pub(super) const CHANGING_NEWER: [c_long; 3] = [452, 463, 466];

/// Changes the flags of a file, as some requests do; answered as if the kernel did not have it, whether somebody answers
/// for the others or not.
pub(super) const FILE_SETATTR: c_long = 469;

const MAX_PATH: usize = 4096;
const MAX_NAME: usize = 256;
const MAX_VALUE: u64 = 64 * 1024;

/// Which file a call means.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Descriptor(c_int),
    /// A path at this address, relative to a folder.
    Path {
        folder: c_int,
        address: u64,
        follow: bool,
    },
}

/// The file and what is to be changed about it; the errno if that cannot be told.
pub(super) fn read(question: &Question, process: libc::pid_t) -> Result<(OwnedFd, Change), c_int> {
    Ok((open(question, process)?, wanted(question)?))
}

/// The file's real path, if it lies below none of these.
pub(super) fn outside(file: &OwnedFd, writable: &[PathBuf]) -> Option<PathBuf> {
    let handle = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let real = fs::read_link(&handle).unwrap_or_else(|_| PathBuf::from("/"));
    // Pipes and the like, and files without a name, are the command's own.
    let nameless = !real.is_absolute() || fs::metadata(&handle).is_ok_and(|found| found.nlink() == 0);
    let inside = writable.iter().any(|root| real.starts_with(root));
    (!nameless && !inside).then_some(real)
}

fn open(question: &Question, process: libc::pid_t) -> Result<OwnedFd, c_int> {
    let errno = |error: std::io::Error| error.raw_os_error().unwrap_or(libc::EACCES);
    let (folder, address, follow) = match target(question.call, &question.arguments) {
        Target::Descriptor(fd) => return sys::descriptor_of(process, fd).map_err(errno),
        Target::Path {
            folder,
            address,
            follow,
        } => (folder, address, follow),
    };
    let path = read_string(question, address, MAX_PATH).ok_or(libc::EFAULT)?;
    if path.is_empty() {
        // With AT_EMPTY_PATH the folder itself.
        let empty_means_folder = question.call == libc::SYS_fchownat
            && question.arguments[4] as c_int & libc::AT_EMPTY_PATH != 0
            || question.call == libc::SYS_utimensat && question.arguments[3] as c_int & libc::AT_EMPTY_PATH != 0;
        return if empty_means_folder && folder != libc::AT_FDCWD {
            sys::descriptor_of(process, folder).map_err(errno)
        } else {
            Err(libc::ENOENT)
        };
    }
    let path = Path::new(OsStr::from_bytes(&path));
    // What the command calls itself, this process is not.
    let own = path
        .strip_prefix("/proc/self")
        .or_else(|_| path.strip_prefix("/proc/thread-self"));
    let path = match own {
        Ok(below) => Path::new("/proc").join(process.to_string()).join(below),
        Err(_) => seen_by(question.thread, folder, path),
    };
    sys::open_place(&path, follow).map_err(errno)
}

/// Where a call's file stands among its arguments.
fn target(call: c_long, arguments: &[u64; 6]) -> Target {
    let path = |follow: bool| Target::Path {
        folder: libc::AT_FDCWD,
        address: arguments[0],
        follow,
    };
    let at = |flags: u64| Target::Path {
        folder: arguments[0] as c_int,
        address: arguments[1],
        follow: flags as c_int & libc::AT_SYMLINK_NOFOLLOW == 0,
    };
    #[cfg(target_arch = "x86_64")]
    match call {
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => return path(true),
        libc::SYS_lchown => return path(false),
        libc::SYS_futimesat if arguments[1] == 0 => return Target::Descriptor(arguments[0] as c_int),
        libc::SYS_futimesat => return at(0),
        _ => {}
    }
    match call {
        libc::SYS_fchmodat => at(0),
        libc::SYS_fchownat => at(arguments[4]),
        libc::SYS_utimensat if arguments[1] != 0 => at(arguments[3]),
        libc::SYS_setxattr | libc::SYS_removexattr => path(true),
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => path(false),
        _ => Target::Descriptor(arguments[0] as c_int),
    }
}

/// What a call wants changed; the errno if it cannot be read.
fn wanted(question: &Question) -> Result<Change, c_int> {
    let arguments = &question.arguments;
    let mode = |at: usize| Ok(Change::Mode(arguments[at] as u32));
    let owner = |at: usize| Ok(Change::Owner(arguments[at] as u32, arguments[at + 1] as u32));
    #[cfg(target_arch = "x86_64")]
    match question.call {
        libc::SYS_chmod => return mode(1),
        libc::SYS_chown | libc::SYS_lchown => return owner(1),
        libc::SYS_utime => return times(question, arguments[1], &[(1, 0), (1, 0)]),
        libc::SYS_utimes => return times(question, arguments[1], &[(2, 1000), (2, 1000)]),
        libc::SYS_futimesat => return times(question, arguments[2], &[(2, 1000), (2, 1000)]),
        _ => {}
    }
    match question.call {
        libc::SYS_fchmod => mode(1),
        libc::SYS_fchmodat => mode(2),
        libc::SYS_fchown => owner(1),
        libc::SYS_fchownat => owner(2),
        libc::SYS_utimensat => times(question, arguments[2], &[(2, 1), (2, 1)]),
        libc::SYS_setxattr | libc::SYS_lsetxattr | libc::SYS_fsetxattr => {
            if arguments[3] > MAX_VALUE {
                return Err(libc::E2BIG);
            }
            let value = sys::read_memory(question.thread, arguments[2], arguments[3] as usize);
            Ok(Change::SetAttribute {
                name: attribute(question)?,
                value: value.map_err(|_| libc::EFAULT)?,
                flags: arguments[4] as c_int,
            })
        }
        _ => attribute(question).map(Change::RemoveAttribute),
    }
}

fn attribute(question: &Question) -> Result<CString, c_int> {
    let name = read_string(question, question.arguments[1], MAX_NAME).ok_or(libc::ERANGE)?;
    CString::new(name).map_err(|_| libc::EFAULT)
}

/// Reads two times: each of so many numbers of 64 bits, the second of which is to be multiplied to nanoseconds.
fn times(question: &Question, address: u64, layout: &[(usize, i64); 2]) -> Result<Change, c_int> {
    if address == 0 {
        return Ok(Change::Times(None));
    }
    let length = 8 * (layout[0].0 + layout[1].0);
    let bytes = sys::read_memory(question.thread, address, length).map_err(|_| libc::EFAULT)?;
    let numbers: Vec<i64> = bytes
        .chunks_exact(8)
        .filter_map(|bytes| Some(i64::from_ne_bytes(bytes.try_into().ok()?)))
        .collect();
    let mut result = [(0, 0); 2];
    let mut at = 0;
    for (time, (count, unit)) in result.iter_mut().zip(layout) {
        let number = |at: usize| numbers.get(at).copied().ok_or(libc::EFAULT);
        *time = (
            number(at)?,
            if *count == 2 {
                number(at + 1)?.saturating_mul(*unit)
            } else {
                0
            },
        );
        at += count;
    }
    Ok(Change::Times(Some(result)))
}

/// The bytes of a C string in the thread's memory.
fn read_string(question: &Question, address: u64, most: usize) -> Option<Vec<u8>> {
    let mut bytes = sys::read_memory(question.thread, address, most).ok()?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_file_a_call_means() {
        let path = |folder: c_int, follow: bool| Target::Path {
            folder,
            address: if folder == libc::AT_FDCWD { 7 } else { 8 },
            follow,
        };
        let nofollow = libc::AT_SYMLINK_NOFOLLOW as u64;
        for (call, arguments, expected) in [
            (libc::SYS_fchmod, [7, 0o644, 0, 0, 0, 0], Target::Descriptor(7)),
            (libc::SYS_fchmodat, [7, 8, 0o644, nofollow, 0, 0], path(7, true)),
            (libc::SYS_fchownat, [7, 8, 0, 0, nofollow, 0], path(7, false)),
            (libc::SYS_utimensat, [7, 8, 0, 0, 0, 0], path(7, true)),
            (libc::SYS_utimensat, [7, 0, 0, 0, 0, 0], Target::Descriptor(7)),
            (libc::SYS_setxattr, [7, 8, 0, 0, 0, 0], path(libc::AT_FDCWD, true)),
            (libc::SYS_lremovexattr, [7, 8, 0, 0, 0, 0], path(libc::AT_FDCWD, false)),
            (libc::SYS_fremovexattr, [7, 8, 0, 0, 0, 0], Target::Descriptor(7)),
            #[cfg(target_arch = "x86_64")]
            (libc::SYS_chmod, [7, 0o644, 0, 0, 0, 0], path(libc::AT_FDCWD, true)),
            #[cfg(target_arch = "x86_64")]
            (libc::SYS_lchown, [7, 0, 0, 0, 0, 0], path(libc::AT_FDCWD, false)),
        ] {
            assert_eq!(target(call, &arguments), expected, "{call}");
        }
    }
}
