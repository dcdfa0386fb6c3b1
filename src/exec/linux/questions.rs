//! What the filter cannot decide by numbers, because it lies in the command's memory: whom a socket connects to, and
//! which name a new entry gets.
//!
//! A connection is made here, on a copy of the socket, to the very file that was looked at: what the command writes
//! over its memory meanwhile does not matter. A name is only looked at: a command that wins that race still finds its
//! entry taken away when it ends (`set_aside`).

use super::sys::{self, Answer, Question};
use super::{Post, seccomp, unix_sockets};
use crate::exec::protected::Guard;
use crate::exec::role::Report;
use libc::{c_int, c_long};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Longest socket address that is looked at; the longest there is has 128 bytes.
const MAX_ADDRESS: u64 = 128;
const MAX_PATH: usize = 4096;

/// Services that look up names, which a command with a network may talk to.
const RESOLVERS: [&str; 3] = ["/run/systemd/resolve/", "/run/nscd/", "/var/run/nscd/"];

/// Answers the questions of one filter.
pub(super) struct Asker<'a> {
    listener: OwnedFd,
    /// Folders, by device and inode, in which a name must not appear.
    forbidden: Vec<(u64, u64, &'static str)>,
    network: bool,
    /// Whether the command's network namespace is its own, so that the kernel can say which sockets are inside.
    own_network: bool,
    post: &'a Post<'a>,
}

impl<'a> Asker<'a> {
    pub(super) fn new(listener: OwnedFd, guard: &Guard, network: bool, own_network: bool, post: &'a Post<'a>) -> Self {
        let forbidden = guard.missing.iter().filter_map(|(root, name)| {
            let root = fs::metadata(root).ok()?;
            Some((root.dev(), root.ino(), *name))
        });
        Self {
            listener,
            forbidden: forbidden.collect(),
            network,
            own_network,
            post,
        }
    }

    pub(super) fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    /// Answers one question. False when nobody is left to ask.
    pub(super) fn answer_next(&self) -> bool {
        let question = match sys::next_question(&self.listener) {
            Ok(question) => question,
            // The one who asked was killed meanwhile, or the whole filter is gone; the descriptor tells which.
            Err(error) => return matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) && !self.ended(),
        };
        if question.call == libc::SYS_connect {
            self.connect_in_helper(&question);
        } else {
            sys::answer(&self.listener, question.id, self.judge_name(&question));
        }
        true
    }

    fn ended(&self) -> bool {
        let name = format!("/proc/self/fd/{}", self.listener.as_raw_fd());
        fs::symlink_metadata(name).is_err()
    }

    /// A connection may take long: it is made by a process of its own, so that others need not wait.
    fn connect_in_helper(&self, question: &Question) {
        match sys::fork(0) {
            Ok(sys::Forked::Child) => {
                sys::answer(&self.listener, question.id, self.connect(question));
                sys::exit(0);
            }
            Ok(sys::Forked::Parent(_)) => {}
            Err(_) => sys::answer(&self.listener, question.id, Answer::Errno(libc::EAGAIN)),
        }
    }

    fn connect(&self, question: &Question) -> Answer {
        let [fd, address, length, ..] = question.arguments;
        if length as u32 as u64 > MAX_ADDRESS {
            return Answer::Errno(libc::EINVAL);
        }
        let Ok(bytes) = sys::read_memory(question.thread, address, length as u32 as usize) else {
            return Answer::Errno(libc::EFAULT);
        };
        let Some((family, rest)) = bytes.split_first_chunk::<2>() else {
            return Answer::Errno(libc::EINVAL);
        };
        let Some(process) = process_of(question.thread) else {
            return Answer::Errno(libc::ESRCH);
        };
        if !sys::still_waits(&self.listener, question.id) {
            return Answer::Errno(libc::EINTR);
        }
        let socket = match sys::descriptor_of(process, fd as c_int) {
            Ok(socket) => socket,
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => return Answer::Errno(libc::EBADF),
            Err(_) => {
                return self.block(
                    libc::EACCES,
                    "a connection of a process that cannot be looked into".to_owned(),
                );
            }
        };
        match c_int::from(u16::from_ne_bytes(*family)) {
            libc::AF_UNIX => self.connect_unix(question, &socket, &bytes, rest),
            libc::AF_UNSPEC => result(sys::connect(&socket, &bytes)),
            _ if self.network => result(sys::connect(&socket, &bytes)),
            _ => self.block(libc::EPERM, "a connection to the network".to_owned()),
        }
    }

    fn connect_unix(&self, question: &Question, socket: &OwnedFd, address: &[u8], name: &[u8]) -> Answer {
        match name.first() {
            None => return Answer::Errno(libc::EINVAL),
            // Abstract names belong to the network namespace.
            Some(0) if self.own_network => return result(sys::connect(socket, address)),
            Some(0) => return self.block(libc::EPERM, "a connection to an abstract socket".to_owned()),
            Some(_) => {}
        }
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let path = Path::new(OsStr::from_bytes(&name[..end]));
        let opened = match sys::open_path(&seen_by(question.thread, libc::AT_FDCWD, path)) {
            Ok(opened) => opened,
            Err(error) => return Answer::Errno(error.raw_os_error().unwrap_or(libc::EACCES)),
        };
        let handle = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let Ok(metadata) = fs::metadata(&handle) else {
            return Answer::Errno(libc::EACCES);
        };
        if !metadata.file_type().is_socket() {
            return Answer::Errno(libc::ECONNREFUSED);
        }
        let inside = if self.own_network {
            unix_sockets::is_bound_here(&opened, &metadata)
        } else {
            // This is a helper of the keeper.
            unix_sockets::is_held_below(sys::parent(), &opened, &metadata)
        };
        let real = fs::read_link(&handle).unwrap_or_default();
        let resolves = self.network
            && RESOLVERS
                .iter()
                .any(|folder| real.as_os_str().as_bytes().starts_with(folder.as_bytes()));
        if !inside && !resolves {
            return self.block(
                libc::EPERM,
                format!("a connection to a socket outside of it: {}", real.display()),
            );
        }
        let mut pinned = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
        pinned.extend_from_slice(handle.as_os_str().as_bytes());
        pinned.push(0);
        result(sys::connect(socket, &pinned))
    }

    fn judge_name(&self, question: &Question) -> Answer {
        let Some((folder, address)) = new_name(question.call, &question.arguments) else {
            return Answer::Continue;
        };
        let Some(path) = read_path(question.thread, address) else {
            return Answer::Continue;
        };
        let Some(name) = path.file_name() else {
            return Answer::Continue;
        };
        if !self.forbidden.iter().any(|(_, _, forbidden)| name == *forbidden) {
            return Answer::Continue;
        }
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let Ok(parent) = fs::metadata(seen_by(question.thread, folder, parent)) else {
            return Answer::Continue;
        };
        let place = (parent.dev(), parent.ino());
        if self
            .forbidden
            .iter()
            .any(|(dev, ino, forbidden)| place == (*dev, *ino) && name == *forbidden)
        {
            return self.block(libc::EROFS, format!("making a protected folder: {}", path.display()));
        }
        Answer::Continue
    }

    fn block(&self, errno: c_int, what: String) -> Answer {
        self.post.send(&Report::Blocked { what });
        Answer::Errno(errno)
    }
}

fn result(connected: Result<(), c_int>) -> Answer {
    Answer::Errno(connected.err().unwrap_or(0))
}

/// The process that a thread belongs to.
fn process_of(thread: libc::pid_t) -> Option<libc::pid_t> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:"))?
        .trim()
        .parse()
        .ok()
}

/// A path as the thread means it: relative to its folder, or to a descriptor of it.
fn seen_by(thread: libc::pid_t, folder: c_int, path: &Path) -> PathBuf {
    let base = match folder {
        libc::AT_FDCWD => format!("/proc/{thread}/cwd"),
        fd => format!("/proc/{thread}/fd/{fd}"),
    };
    // An absolute path replaces the base.
    Path::new(&base).join(path)
}

/// Where the new entry's folder (a descriptor) and path stand among a call's arguments.
fn new_name(call: c_long, arguments: &[u64; 6]) -> Option<(c_int, u64)> {
    debug_assert!(seccomp::NAMING.contains(&call), "a call that the filter asks about");
    #[cfg(target_arch = "x86_64")]
    match call {
        libc::SYS_mkdir => return Some((libc::AT_FDCWD, arguments[0])),
        libc::SYS_rename | libc::SYS_link | libc::SYS_symlink => return Some((libc::AT_FDCWD, arguments[1])),
        _ => {}
    }
    match call {
        libc::SYS_mkdirat => Some((arguments[0] as c_int, arguments[1])),
        libc::SYS_symlinkat => Some((arguments[1] as c_int, arguments[2])),
        libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_linkat => Some((arguments[2] as c_int, arguments[3])),
        _ => None,
    }
}

/// A C string in a thread's memory.
fn read_path(thread: libc::pid_t, address: u64) -> Option<PathBuf> {
    let bytes = sys::read_memory(thread, address, MAX_PATH).ok()?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some(PathBuf::from(OsStr::from_bytes(&bytes[..end])))
}
