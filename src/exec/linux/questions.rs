//! What the filter cannot decide by numbers, because it lies in the command's memory: whom a socket connects to, and
//! which name a new entry gets.
//!
//! A connection is made here, on a copy of the socket or on one of the network outside (`broker`), to the very address or
//! file that was looked at: what the command writes
//! over its memory meanwhile does not matter. A name is only looked at: a command that wins that race still finds its
//! entry taken away when it ends (`set_aside`).

use super::broker::{self, Factory, Reach};
use super::later::{self, Kept};
use super::moments::Calls;
use super::names::{Named, Names};
use super::sys::{self, Answer, Question};
use super::telling::{Hearing, Telling};
use super::{Post, metadata, seccomp, unix_sockets};
use crate::exec::protected::Guard;
use crate::exec::proxy::shown_program;
use crate::exec::role::Report;
use libc::{c_int, c_long};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Longest socket address that is looked at; the longest there is has 128 bytes.
const MAX_ADDRESS: u64 = 128;
const MAX_PATH: usize = 4096;

/// Services that look up names, which a command with a network may talk to.
const RESOLVERS: [&str; 3] = ["/run/systemd/resolve/", "/run/nscd/", "/var/run/nscd/"];

/// Answers the questions of one filter.
pub(super) struct Asker<'a> {
    listener: OwnedFd,
    /// Folders, by device and inode, in which a name must not appear.
    forbidden: Vec<(u64, u64, OsString)>,
    /// Places at which nothing must appear; the folder of each may come and go.
    awaited: Vec<PathBuf>,
    /// What acts later.
    kept: Option<Kept<'a>>,
    names: RefCell<Names>,
    calls: RefCell<Calls>,
    telling: Telling<'a>,
    network: Network<'a>,
    /// Where modes, owners and times may be changed, if that is asked about.
    changeable: Option<Vec<PathBuf>>,
    post: &'a Post<'a>,
}

/// What the command may connect to.
#[derive(Clone, Copy)]
pub(super) struct Network<'a> {
    /// Everything that the machine can.
    pub open: bool,
    /// Whether the command's network namespace is its own, so that the kernel can say which sockets are inside.
    pub own: bool,
    /// What was granted beside.
    pub reach: &'a Reach,
    /// Where sockets of the network outside come from, if the command's own is another.
    pub factory: Option<&'a Factory>,
}

impl<'a> Asker<'a> {
    pub(super) fn new(
        listener: OwnedFd,
        guard: &Guard,
        kept: Option<Kept<'a>>,
        network: Network<'a>,
        changeable: Option<Vec<PathBuf>>,
        post: &'a Post<'a>,
    ) -> Self {
        let forbidden = guard.missing.iter().filter_map(|(root, name)| {
            let root = fs::metadata(root).ok()?;
            Some((root.dev(), root.ino(), name.clone()))
        });
        Self {
            listener,
            forbidden: forbidden.collect(),
            awaited: guard.awaited.iter().map(|(_, target)| target.clone()).collect(),
            kept,
            names: RefCell::default(),
            calls: RefCell::default(),
            telling: Telling::begin(kept, post),
            network,
            changeable,
            post,
        }
    }

    /// What has become known of the command, once it has ended.
    pub(super) fn names(&self) -> Names {
        Names {
            moments: self.calls.borrow_mut().moments(),
            ..self.names.take()
        }
    }

    /// When it is to be looked after calls that were let through.
    pub(super) fn due(&self) -> Option<Instant> {
        self.calls.borrow().due()
    }

    /// Looks after them, if that is due.
    pub(super) fn look_after_calls(&self) {
        self.calls.borrow_mut().look();
    }

    pub(super) fn listener(&self) -> &OwnedFd {
        &self.listener
    }

    /// Answers one question. False when nobody is left to ask. What takes longer calls `beside` in between, which does
    /// whatever is due, and says whether the answer is still waited for.
    pub(super) fn answer_next(&self, beside: &mut dyn FnMut() -> bool) -> bool {
        let question = match sys::next_question(&self.listener) {
            Ok(question) => question,
            // The one who asked was killed meanwhile, or the whole filter is gone; the descriptor tells which.
            Err(error) => return matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) && !self.ended(),
        };
        match question.call {
            libc::SYS_connect => self.connect_in_helper(&question),
            libc::SYS_listen => sys::answer(&self.listener, question.id, self.listen(&question)),
            call if metadata::CHANGING.contains(&call) => self.change_metadata(&question),
            _ => sys::answer(&self.listener, question.id, self.judge_entry(&question, beside)),
        }
        true
    }

    fn ended(&self) -> bool {
        let name = format!("/proc/self/fd/{}", self.listener.as_raw_fd());
        fs::symlink_metadata(name).is_err()
    }

    /// Answers in a process of its own, for what may take long or needs fewer rights. All that is to be read from the
    /// command's process is read before: not every kernel lets a sibling do so.
    fn answer_in_helper(&self, question: &Question, answer: impl FnOnce() -> Answer) {
        match sys::fork(0) {
            Ok(sys::Forked::Child) => {
                sys::answer(&self.listener, question.id, answer());
                sys::exit(0);
            }
            Ok(sys::Forked::Parent(_)) => {}
            Err(_) => sys::answer(&self.listener, question.id, Answer::Errno(libc::EAGAIN)),
        }
    }

    fn change_metadata(&self, question: &Question) {
        let answer = |answer| sys::answer(&self.listener, question.id, answer);
        let wanted = process_of(question.thread)
            .ok_or(libc::ESRCH)
            .and_then(|process| metadata::read(question, process));
        let (file, change) = match wanted {
            Ok(wanted) => wanted,
            Err(errno) => return answer(Answer::Errno(errno)),
        };
        if !sys::still_waits(&self.listener, question.id) {
            return answer(Answer::Errno(libc::EINTR));
        }
        if let Some(outside) = metadata::outside(&file, self.changeable.as_deref().unwrap_or_default()) {
            let what = format!("changing mode, owner, times or attributes of {}", outside.display());
            return answer(self.block(libc::EROFS, what));
        }
        let carry_out = || Answer::Errno(sys::change_metadata(&file, &change).err().unwrap_or(0));
        if sys::own_ids().0 != 0 {
            return answer(carry_out());
        }
        // Root's keeper may do more than the command, which has no capabilities.
        self.answer_in_helper(question, || match sys::keep_capabilities(0, u64::MAX) {
            Ok(()) => carry_out(),
            Err(_) => Answer::Errno(libc::EPERM),
        });
    }

    fn connect_in_helper(&self, question: &Question) {
        let [fd, address, length, ..] = question.arguments;
        let wanted = if u64::from(length as u32) > MAX_ADDRESS {
            Err(Answer::Errno(libc::EINVAL))
        } else {
            sys::read_memory(question.thread, address, length as u32 as usize)
                .map_err(|_| Answer::Errno(libc::EFAULT))
                .and_then(|bytes| {
                    let (process, socket) = self.socket_of(question, fd as c_int)?;
                    Ok((bytes, process, socket))
                })
        };
        match wanted {
            Ok((bytes, process, socket)) => {
                self.answer_in_helper(question, || self.connect(question, process, &socket, &bytes));
            }
            Err(answer) => sys::answer(&self.listener, question.id, answer),
        }
    }

    fn connect(&self, question: &Question, process: libc::pid_t, socket: &OwnedFd, bytes: &[u8]) -> Answer {
        let Some((family, rest)) = bytes.split_first_chunk::<2>() else {
            return Answer::Errno(libc::EINVAL);
        };
        match c_int::from(u16::from_ne_bytes(*family)) {
            libc::AF_UNIX => self.connect_unix(question, socket, bytes, rest),
            _ if self.network.open => result(sys::connect(socket, bytes)),
            libc::AF_INET | libc::AF_INET6 => match broker::internet_address(bytes) {
                Ok(address) => self.connect_tcp(question, process, socket, bytes, address),
                Err(errno) => Answer::Errno(errno),
            },
            // Takes back a connection: one that was made outside is not to be used for anything else.
            libc::AF_UNSPEC if self.is_stream_of_ours(socket) => result(sys::connect(socket, bytes)),
            _ => self.block(libc::EPERM, "a connection to the network".to_owned()),
        }
    }

    /// The process that asks, and a copy of one of its descriptors.
    fn socket_of(&self, question: &Question, fd: c_int) -> Result<(libc::pid_t, OwnedFd), Answer> {
        let Some(process) = process_of(question.thread) else {
            return Err(Answer::Errno(libc::ESRCH));
        };
        if !sys::still_waits(&self.listener, question.id) {
            return Err(Answer::Errno(libc::EINTR));
        }
        match sys::descriptor_of(process, fd) {
            Ok(socket) => Ok((process, socket)),
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => Err(Answer::Errno(libc::EBADF)),
            Err(_) => {
                let what = "a connection of a process that cannot be looked into".to_owned();
                Err(self.block(libc::EACCES, what))
            }
        }
    }

    /// Whether it is a socket that reaches no further than the command itself may: of a family without a network, or of
    /// the command's own network.
    fn is_stream_of_ours(&self, socket: &OwnedFd) -> bool {
        match sys::socket_number(socket, libc::SO_DOMAIN) {
            Ok(libc::AF_UNIX) => true,
            Ok(libc::AF_INET | libc::AF_INET6) => self.network.own && is_of_this_network(socket),
            _ => false,
        }
    }

    fn connect_tcp(
        &self,
        question: &Question,
        process: libc::pid_t,
        socket: &OwnedFd,
        bytes: &[u8],
        address: SocketAddr,
    ) -> Answer {
        let Network { own, reach, .. } = self.network;
        let family = sys::socket_number(socket, libc::SO_DOMAIN).unwrap_or(libc::AF_UNSPEC);
        if family == libc::AF_UNIX {
            return Answer::Errno(libc::EINVAL);
        }
        let is_tcp = matches!(family, libc::AF_INET | libc::AF_INET6)
            && sys::socket_number(socket, libc::SO_PROTOCOL).is_ok_and(|protocol| protocol == libc::IPPROTO_TCP);
        let granted = is_tcp && reach.grants(&address);
        let ip = address.ip().to_canonical();
        if is_tcp && own && is_of_this_network(socket) {
            let inside = ip.is_loopback() || ip.is_unspecified();
            if let Some((name, proxy)) = reach.named(&address) {
                let asked = proxy.request(name, address.port(), &program_of(process).unwrap_or_default());
                let way = broker::loopback(family, proxy.port);
                return self.connect_outside(question, process, socket, family, &way, Some(&asked));
            }
            if granted && !(inside && broker::listens_here(address.port())) {
                return self.connect_outside(question, process, socket, family, bytes, None);
            }
            if inside {
                let connected = sys::connect(socket, bytes);
                if connected == Err(libc::ECONNREFUSED) {
                    self.post.send(&Report::Unanswered { port: address.port() });
                }
                return result(connected);
            }
        } else if granted {
            // The network is the machine's own, or this connection was begun for the command before.
            return result(sys::connect(socket, bytes));
        }
        let by = program_of(process).map_or_else(String::new, |program| format!(" (by {program})"));
        self.block(libc::EPERM, format!("a connection to the network: {address}{by}"))
    }

    /// Makes the connection on a socket of the network outside, which takes the place of the command's own. With `asked`, it
    /// leads to the proxy, which is asked this first.
    fn connect_outside(
        &self,
        question: &Question,
        process: libc::pid_t,
        socket: &OwnedFd,
        family: c_int,
        bytes: &[u8],
        asked: Option<&str>,
    ) -> Answer {
        let fd = question.arguments[0] as c_int;
        if sys::is_connected(socket) {
            return Answer::Errno(libc::EISCONN);
        }
        let fresh = self
            .network
            .factory
            .ok_or_else(|| std::io::ErrorKind::NotConnected.into());
        let Ok(fresh) = fresh.and_then(|factory| factory.socket(family)) else {
            return Answer::Errno(libc::ENETDOWN);
        };
        let connected = match asked {
            // What is asked is answered before the program has its connection.
            Some(asked) => broker::ask(&fresh, socket, bytes, asked).and_then(|()| alike(&fresh, socket)),
            None => alike(&fresh, socket).and_then(|()| sys::connect(&fresh, bytes)),
        };
        if !matches!(connected, Ok(()) | Err(libc::EINPROGRESS)) {
            return result(connected);
        }
        let close_on_exec = closes_on_exec(process, fd);
        match sys::replace_descriptor(&self.listener, question.id, &fresh, fd, close_on_exec) {
            Ok(()) => result(connected),
            // Nobody waits for it any more, or may have no more descriptors.
            Err(error) => Answer::Errno(error.raw_os_error().unwrap_or(libc::EINTR)),
        }
    }

    /// Asked about where connections are made for the command: one that has ended is a socket of the network outside, on
    /// which nobody may listen.
    fn listen(&self, question: &Question) -> Answer {
        let [fd, backlog, ..] = question.arguments;
        let socket = match self.socket_of(question, fd as c_int) {
            Ok((_, socket)) => socket,
            Err(answer) => return answer,
        };
        if self.is_stream_of_ours(&socket) {
            let errno = sys::listen(&socket, backlog as c_int).err();
            Answer::Errno(errno.map_or(0, |error| error.raw_os_error().unwrap_or(libc::EACCES)))
        } else {
            self.block(libc::EPERM, "listening on the network".to_owned())
        }
    }

    fn connect_unix(&self, question: &Question, socket: &OwnedFd, address: &[u8], name: &[u8]) -> Answer {
        match name.first() {
            None => return Answer::Errno(libc::EINVAL),
            // Abstract names belong to the network namespace.
            Some(0) if self.network.own => return result(sys::connect(socket, address)),
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
        let inside = if self.network.own {
            unix_sockets::is_bound_here(&opened, &metadata)
        } else {
            // This is a helper of the keeper.
            unix_sockets::is_held_below(sys::parent(), &opened, &metadata)
        };
        let real = fs::read_link(&handle).unwrap_or_default();
        let resolves = self.network.open
            && RESOLVERS
                .iter()
                .any(|folder| real.as_os_str().as_bytes().starts_with(folder.as_bytes()));
        if !inside && !resolves && !self.network.reach.grants_socket(&real, &metadata) {
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

    fn judge_entry(&self, question: &Question, beside: &mut dyn FnMut() -> bool) -> Answer {
        if !self.kept.is_some_and(|kept| kept.only_tells(question)) {
            self.note(Named::Any);
        }
        self.calls.borrow_mut().hear_of(question.thread);
        let judged = match seccomp::NAMING.contains(&question.call) {
            true => self.judge_name(question),
            false => Answer::Continue,
        };
        let kept = self.kept.filter(|_| judged == Answer::Continue);
        let mut hearing = Hearing {
            names: &self.names,
            telling: &self.telling,
        };
        match kept.and_then(|kept| kept.judge(question, &mut hearing, beside)) {
            Some(what) => {
                self.note(Named::Kept);
                self.block(libc::EROFS, what)
            }
            None => {
                if let Some(doing) = later::doing(question).filter(|_| kept.is_some()) {
                    self.calls.borrow_mut().begin(question, doing);
                }
                judged
            }
        }
    }

    fn note(&self, named: Named) {
        let mut names = self.names.borrow_mut();
        names.named = names.named.max(named);
    }

    fn judge_name(&self, question: &Question) -> Answer {
        let Some((folder, address)) = new_name(question.call, &question.arguments) else {
            return Answer::Continue;
        };
        let Ok(Some(path)) = read_path(question.thread, address) else {
            return Answer::Continue;
        };
        let Some(name) = path.file_name() else {
            return Answer::Continue;
        };
        let known = self.forbidden.iter().any(|(_, _, forbidden)| name == forbidden);
        let mut awaited = self.awaited.iter().filter(|target| target.file_name() == Some(name));
        if !known && awaited.clone().next().is_none() {
            return Answer::Continue;
        }
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let protected = || self.block(libc::EROFS, format!("making a protected folder: {}", path.display()));
        let parent = match fs::metadata(seen_by(question.thread, folder, parent)) {
            Ok(parent) => parent,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Answer::Continue;
            }
            // The command may get where its keeper does not: its own way is shorter, by a link and by some letters.
            Err(_) => return protected(),
        };
        let place = (parent.dev(), parent.ino());
        let is_here = |folder: &Path| fs::metadata(folder).is_ok_and(|found| place == (found.dev(), found.ino()));
        let forbidden = self
            .forbidden
            .iter()
            .any(|(dev, ino, forbidden)| place == (*dev, *ino) && name == forbidden);
        if forbidden || awaited.any(|target| target.parent().is_some_and(is_here)) {
            return protected();
        }
        Answer::Continue
    }

    fn block(&self, errno: c_int, what: String) -> Answer {
        self.tell(what);
        Answer::Errno(errno)
    }

    fn tell(&self, what: String) {
        self.post.send(&Report::Blocked { what });
    }
}

fn alike(fresh: &OwnedFd, own: &OwnedFd) -> Result<(), c_int> {
    broker::resemble(fresh, own).map_err(|_| libc::ENETDOWN)
}

/// The name of the program that a process runs, as it may be shown.
fn program_of(process: libc::pid_t) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    shown_program(&name)
}

/// Whether a socket belongs to the network namespace that this process is in. False when the kernel cannot tell.
fn is_of_this_network(socket: &OwnedFd) -> bool {
    let here = sys::tcp_socket(libc::AF_INET).and_then(|here| sys::network_of(&here));
    matches!((here, sys::network_of(socket)), (Ok(here), Ok(there)) if here == there)
}

/// Whether a process's descriptor goes when it executes a program.
fn closes_on_exec(process: libc::pid_t, fd: c_int) -> bool {
    let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{fd}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.is_some_and(|flags| i32::from_str_radix(flags.trim(), 8).is_ok_and(|flags| flags & libc::O_CLOEXEC != 0))
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
pub(super) fn seen_by(thread: libc::pid_t, folder: c_int, path: &Path) -> PathBuf {
    let base = match folder {
        libc::AT_FDCWD => format!("/proc/{thread}/cwd"),
        fd => format!("/proc/{thread}/fd/{fd}"),
    };
    // To the keeper these would be its own.
    for own in ["/proc/self", "/proc/thread-self"] {
        if let Ok(below) = path.strip_prefix(own) {
            return Path::new(&format!("/proc/{thread}")).join(below);
        }
    }
    if path.as_os_str().is_empty() {
        return base.into();
    }
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

/// A C string in a thread's memory; nothing where it does not end.
pub(super) fn read_path(thread: libc::pid_t, address: u64) -> std::io::Result<Option<PathBuf>> {
    let bytes = sys::read_memory(thread, address, MAX_PATH)?;
    let end = bytes.iter().position(|byte| *byte == 0);
    Ok(end.map(|end| PathBuf::from(OsStr::from_bytes(&bytes[..end]))))
}
