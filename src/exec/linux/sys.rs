//! System calls that no crate of ours wraps, each behind a safe function. All `unsafe` of the program is in this file and
//! below it: every call passes pointers to values that outlive it, and descriptors are owned.

#![expect(
    unsafe_code,
    reason = "raw system calls; the crates that wrap them start threads, allocate much or lack them"
)]

mod metadata;
mod places;
mod resources;
mod sockets;

pub(super) use metadata::*;
pub(super) use places::*;
pub(super) use resources::*;
pub(crate) use sockets::peer_process;
pub(super) use sockets::*;

use libc::{c_int, c_long, c_ulong, c_void};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// All of these return -1 and set errno.
fn check(result: c_long) -> io::Result<c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn owned(result: c_long) -> io::Result<OwnedFd> {
    let fd = check(result)?;
    // SAFETY: the kernel has just made this descriptor for us and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

pub(super) fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

// --- processes

/// Where `fork` returned.
pub(super) enum Forked {
    Child,
    Parent(libc::pid_t),
}

/// Forks, the child in the new namespaces that `flags` name. For a process with one thread.
pub(super) fn fork(flags: c_int) -> io::Result<Forked> {
    let flags = c_long::from(flags) | c_long::from(libc::SIGCHLD);
    // SAFETY: without CLONE_VM the child has its own copy of everything; with one thread no lock is held elsewhere.
    match check(unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) })? {
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid as libc::pid_t)),
    }
}

/// As `fork`, with the child in this group of processes.
pub(super) fn fork_into(flags: c_int, group: &OwnedFd) -> io::Result<Forked> {
    /// `CLONE_INTO_CGROUP`.
    const INTO_GROUP: u64 = 1 << 33;
    // SAFETY: the arguments are plain numbers, and live until the call returns; the rest is as in `fork`.
    let result = unsafe {
        let mut arguments: libc::clone_args = std::mem::zeroed();
        arguments.flags = flags as u64 | INTO_GROUP;
        arguments.exit_signal = libc::SIGCHLD as u64;
        arguments.cgroup = group.as_raw_fd() as u64;
        libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>())
    };
    match check(result)? {
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid as libc::pid_t)),
    }
}

/// Gives this process new namespaces of its own, those that `flags` name.
pub(super) fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(c_long::from(unsafe { libc::unshare(flags) })).map(drop)
}

/// Room for the calls of a process that borrows memory; only what is used of it is ever real.
const BORROWED_STACK: usize = 1 << 20;

/// Runs `child` in a new process that borrows this one's memory: nothing is copied, and this process stands still until
/// the other has executed a program or ended, as it must. Its exit status is what `child` returns. For a process with
/// one thread. What `child` drops or changes in memory is dropped or changed here too; its descriptors, folder, signals
/// and rights are its own.
pub(super) fn spawn(mut child: impl FnMut() -> u8) -> io::Result<libc::pid_t> {
    extern "C" fn begin<F: FnMut() -> u8>(child: *mut c_void) -> c_int {
        // SAFETY: `spawn` passes its own closure, and stands still while this runs.
        let child = unsafe { &mut *child.cast::<F>() };
        c_int::from(child())
    }
    fn entry<F: FnMut() -> u8>(_: &F) -> extern "C" fn(*mut c_void) -> c_int {
        begin::<F>
    }
    // SAFETY: an anonymous mapping anywhere; it is the new process's stack, which grows down from its end, and is given
    // back only when that process uses this memory no more.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        let stack = libc::mmap(
            ptr::null_mut(),
            BORROWED_STACK,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        );
        if stack == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let begin = entry(&child);
        let pid = libc::clone(
            begin,
            stack.byte_add(BORROWED_STACK),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut child).cast(),
        );
        let started = check(c_long::from(pid)).map(|pid| pid as libc::pid_t);
        libc::munmap(stack, BORROWED_STACK);
        started
    }
}

/// How a child ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub pid: libc::pid_t,
    /// Its exit code, or 128 and the number of the signal that ended it.
    pub exit_code: u8,
    /// The signal that ended it.
    pub signal: Option<c_int>,
}

/// Reaps one child that has ended; `Ok(None)` if all live on. `ECHILD` when there is none.
pub(super) fn reap(wait: bool) -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: status is a valid place for the result.
    let pid = unsafe { libc::waitpid(-1, &mut status, if wait { 0 } else { libc::WNOHANG }) };
    let pid = check(c_long::from(pid))? as libc::pid_t;
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    let exit_code = signal.map_or_else(|| libc::WEXITSTATUS(status), |signal| 128 + signal);
    Ok((pid != 0).then_some(Ended {
        pid,
        exit_code: exit_code as u8,
        signal,
    }))
}

pub(super) fn kill(pid: libc::pid_t, signal: c_int) {
    // SAFETY: no memory is involved. A process that is gone already is no error to anybody here.
    unsafe { libc::kill(pid, signal) };
}

/// Ends this process at once, running nothing more of it.
pub(super) fn exit(code: u8) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(c_int::from(code)) }
}

pub(super) fn prctl(option: c_int, value: c_ulong) -> io::Result<()> {
    // SAFETY: only options with one number are used.
    check(c_long::from(unsafe { libc::prctl(option, value, 0, 0, 0) })).map(drop)
}

/// Kills and reaps everything in the process namespace that this process is the first of. When it returns, nothing else
/// lives there: nobody escapes by forking meanwhile, as the kernel refuses that to what has a signal waiting, and orphans
/// come to this process.
pub(super) fn end_namespace() {
    // SAFETY: no memory is involved. The first process itself is spared.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    loop {
        match reap(true) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}

pub(super) fn parent() -> libc::pid_t {
    // SAFETY: cannot fail.
    unsafe { libc::getppid() }
}

pub(super) fn own_pid() -> libc::pid_t {
    // SAFETY: cannot fail.
    unsafe { libc::getpid() }
}

/// Effective user and group.
pub(super) fn own_ids() -> (u32, u32) {
    // SAFETY: cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// The time as the kernel writes it into files: seconds and nanoseconds. What is made or changed later has no earlier one.
pub(super) fn file_time() -> (i64, i64) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure; where it cannot, all times are later than this one.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time) };
    (time.tv_sec, time.tv_nsec)
}

/// The session that this process is in.
pub(super) fn own_session() -> libc::pid_t {
    // SAFETY: no memory is involved; it cannot fail for the caller itself.
    unsafe { libc::getsid(0) }
}

pub(super) fn new_session() {
    // SAFETY: no memory is involved; it fails only for the leader of a group, which is a session's leader then too.
    unsafe { libc::setsid() };
}

pub(super) fn new_group() {
    // SAFETY: no memory is involved; it fails only for the leader of a session, which leads its group then too.
    unsafe { libc::setpgid(0, 0) };
}

/// Replaces this process. Returns only when that failed.
pub(super) fn exec(program: &CStr, argv: &[CString], env: &[CString]) -> io::Error {
    let pointers = |strings: &[CString]| -> Vec<*const libc::c_char> {
        strings
            .iter()
            .map(|string| string.as_ptr())
            .chain([ptr::null()])
            .collect()
    };
    let (argv, env) = (pointers(argv), pointers(env));
    // SAFETY: both lists end in null and point into strings that outlive the call.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Takes all capabilities but those in `keep` from what programs can ever get. `bounding` are those that are left of
/// them, at the most.
pub(super) fn bound_capabilities(keep: u64, bounding: u64) {
    for capability in (0..64).filter(|capability| bounding & !keep & (1 << capability) != 0) {
        // Without the right to shrink the bounding set there is nothing in the permitted one to fear: what an
        // ordinary user executes gains nothing once privileges cannot be gained.
        if prctl(libc::PR_CAPBSET_DROP, capability).is_err() {
            break;
        }
    }
}

/// Gives up all capabilities but those in `keep`, for good: also a program run by root gets no others. `bounding` as of
/// [`bound_capabilities`].
pub(super) fn keep_capabilities(keep: u64, bounding: u64) -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    bound_capabilities(keep, bounding);
    // SAFETY: PR_CAP_AMBIENT takes numbers only.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let half = |bits: u64| Data {
        effective: bits as u32,
        permitted: bits as u32,
        inheritable: 0,
    };
    let data = [half(keep), half(keep >> 32)];
    // SAFETY: version 3 reads one header and two data blocks, which these are.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) }).map(drop)
}

/// The capabilities this process has in effect.
pub(super) fn own_capabilities() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0)
}

// --- signals

/// Blocks the signals that the keeper wants to read from a descriptor, which it returns.
pub(super) fn signal_descriptor() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before use.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::sigaddset(&mut set, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut());
        owned(c_long::from(libc::signalfd(
            -1,
            &set,
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        )))
    }
}

/// The next signal that waits, if any.
pub(super) fn next_signal(fd: &OwnedFd) -> Option<c_int> {
    // SAFETY: the structure is plain data, and the kernel writes at most its size.
    unsafe {
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        let read = libc::read(fd.as_raw_fd(), (&raw mut info).cast(), size);
        (read == size as isize).then_some(info.ssi_signo as c_int)
    }
}

/// Has the kernel reap the children of this process by itself, or not.
pub(super) fn reap_by_itself(by_itself: bool) {
    let action = if by_itself { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: installs no handler of ours.
    unsafe { libc::signal(libc::SIGCHLD, action) };
}

/// Puts all signals back to what a fresh program expects.
pub(super) fn default_signals() {
    // SAFETY: installs no handlers of ours; the set is initialised by sigemptyset.
    unsafe {
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &set, ptr::null_mut());
    }
}

// --- descriptors

/// Waits until one of the descriptors can be read or has ended. A time in milliseconds; negative is for ever.
/// Returns for each whether it is ready.
pub(super) fn poll<const N: usize>(fds: [Option<RawFd>; N], timeout: c_int) -> [bool; N] {
    let mut entries = fds.map(|fd| libc::pollfd {
        fd: fd.unwrap_or(-1),
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: the array lives until the call returns, and its length is right.
    unsafe { libc::poll(entries.as_mut_ptr(), N as libc::nfds_t, timeout) };
    entries.map(|entry| entry.revents != 0)
}

/// A pair of connected sockets.
pub(super) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    sockets(libc::SOCK_STREAM)
}

/// A pair of connected sockets that keep messages apart: each is received whole, by one of those who wait.
pub(super) fn message_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    sockets(libc::SOCK_SEQPACKET)
}

fn sockets(kind: c_int) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: the array has room for the two descriptors.
    check(c_long::from(unsafe {
        libc::socketpair(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr())
    }))?;
    // SAFETY: both are new and ours.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// Whether the other side of a socket is gone.
pub(super) fn has_hung_up(socket: &OwnedFd) -> bool {
    let mut entry = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: 0,
        revents: 0,
    };
    // SAFETY: the entry lives until the call returns.
    unsafe { libc::poll(&mut entry, 1, 0) };
    entry.revents & (libc::POLLHUP | libc::POLLERR) != 0
}

/// Closes this process's copy of a descriptor that a parent owns. Nothing of this process may use it any more.
pub(super) fn close_copy(fd: &OwnedFd) {
    // SAFETY: the owner's frame lies in the parent; this process ends without going back to it.
    unsafe { libc::close(fd.as_raw_fd()) };
}

/// A copy of a descriptor, 3 or above, that a program does not inherit.
pub(super) fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    owned(c_long::from(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) }))
}

/// Makes `fd` also known as `number`, inherited by programs.
pub(super) fn put_at(fd: &OwnedFd, number: RawFd) -> io::Result<()> {
    // SAFETY: no memory is involved; number is one of the standard streams.
    check(c_long::from(unsafe { libc::dup2(fd.as_raw_fd(), number) })).map(drop)
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: u32) {
    // SAFETY: called before anything but the standard streams and what lies below `first` is in use.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    if done < 0 {
        for fd in first..65_536 {
            // SAFETY: as above.
            unsafe { libc::close(fd as RawFd) };
        }
    }
}

/// Marks every descriptor from 3 on as not inherited.
pub(super) fn close_all_on_exec() {
    const CLOSE_RANGE_CLOEXEC: u32 = 1 << 2;
    // SAFETY: only flags of descriptors change.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_RANGE_CLOEXEC) };
}

/// An unnamed file in memory.
pub(in crate::exec) fn memory_file() -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string.
    owned(c_long::from(unsafe {
        libc::memfd_create(c"stdin".as_ptr(), libc::MFD_CLOEXEC)
    }))
}

/// Most descriptors that one message carries.
const MOST_DESCRIPTORS: usize = 8;

/// Room for the header of a control message and its descriptors, aligned for the header.
type Control = [u64; 8];

/// Sends one byte and descriptors through a socket. Never waits: a full socket is an error, as is a closed one.
pub(super) fn send_descriptors(socket: &OwnedFd, fds: &[&OwnedFd]) -> io::Result<()> {
    send_with(socket, &[0], fds).map(drop)
}

/// Sends bytes, at least one, with descriptors at the first; how many of the bytes went. Never waits.
pub(super) fn send_with(socket: &OwnedFd, bytes: &[u8], fds: &[&OwnedFd]) -> io::Result<usize> {
    assert!(fds.len() <= MOST_DESCRIPTORS, "more descriptors than a message carries");
    let numbers = size_of::<c_int>() * fds.len();
    // SAFETY: the control buffer has room for a header and MOST_DESCRIPTORS numbers, and is aligned for the header; the
    // bytes are only read.
    unsafe {
        let mut data = libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        let mut control: Control = [0; 8];
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut data;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(numbers as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(numbers as u32) as _;
        let place = libc::CMSG_DATA(header).cast::<c_int>();
        for (at, fd) in fds.iter().enumerate() {
            place.add(at).write_unaligned(fd.as_raw_fd());
        }
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        check(libc::sendmsg(socket.as_raw_fd(), &message, flags) as c_long).map(|sent| sent as usize)
    }
}

/// Receives one byte and its descriptors; none when the other side has closed, or sent none.
pub(super) fn receive_descriptors(socket: &OwnedFd) -> io::Result<Vec<OwnedFd>> {
    receive_with(socket, &mut [0]).map(|(_, descriptors)| descriptors)
}

/// Receives bytes, as many as there are and fit, and the descriptors that came with them. No bytes: the other side has
/// closed.
pub(super) fn receive_with(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    // SAFETY: as in `send_with`; descriptors that arrive are new and ours.
    unsafe {
        let mut data = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        let mut control: Control = [0; 8];
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut data;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let received = loop {
            match check(libc::recvmsg(socket.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) as c_long) {
                Ok(0) => return Ok((0, Vec::new())),
                Ok(received) => break received as usize,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        let header = libc::CMSG_FIRSTHDR(&message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Ok((received, Vec::new()));
        }
        let count = ((*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize) / size_of::<c_int>();
        let place = libc::CMSG_DATA(header).cast::<c_int>();
        let descriptors = (0..count).map(|at| OwnedFd::from_raw_fd(place.add(at).read_unaligned()));
        Ok((received, descriptors.collect()))
    }
}

/// Sends one descriptor through a socket.
pub(super) fn send_descriptor(socket: &OwnedFd, fd: &OwnedFd) -> io::Result<()> {
    send_descriptors(socket, &[fd])
}

/// Receives one descriptor; none when the other side has closed without sending one.
pub(super) fn receive_descriptor(socket: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    Ok(receive_descriptors(socket)?.into_iter().next())
}

// --- mounts

pub(super) fn mount(source: &CStr, target: &Path, kind: &CStr, flags: c_ulong, options: &CStr) -> io::Result<()> {
    let target = c_path(target)?;
    // SAFETY: all are C strings that outlive the call.
    check(c_long::from(unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    }))
    .map(drop)
}

/// A detached copy of the mounts at and below `path`, which is canonical; a link at its end is taken for itself.
pub(super) fn copy_tree(path: &Path) -> io::Result<OwnedFd> {
    let opened = open_canonical(path)?;
    let flags = 1 | libc::O_CLOEXEC | libc::AT_RECURSIVE | libc::AT_EMPTY_PATH;
    // SAFETY: the path is a C string.
    owned(unsafe { libc::syscall(libc::SYS_open_tree, opened.as_raw_fd(), c"".as_ptr(), flags) })
}

/// Puts a detached tree of mounts at `path`, which is canonical; a link at its end is taken for itself.
pub(super) fn place_tree(tree: &OwnedFd, path: &Path) -> io::Result<()> {
    const EMPTY_PATHS: u32 = 4 | 0x40;
    let place = open_canonical(path)?;
    // SAFETY: both paths are C strings.
    check(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            place.as_raw_fd(),
            c"".as_ptr(),
            EMPTY_PATHS,
        )
    })
    .map(drop)
}

pub(super) const MOUNT_READ_ONLY: u64 = 1;
pub(super) const MOUNT_NO_DEVICES: u64 = 4;

/// Sets attributes on the mount of `tree` (or, with none, at `/`) and on all below it.
pub(super) fn set_tree(tree: Option<&OwnedFd>, attributes: u64) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let wanted = Attributes {
        set: attributes,
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    let (fd, path) = match tree {
        Some(tree) => (tree.as_raw_fd(), c""),
        None => (libc::AT_FDCWD, c"/"),
    };
    // SAFETY: the path is a C string, the attributes are of the size that is passed.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd,
            path.as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const wanted,
            size_of::<Attributes>(),
        )
    })
    .map(drop)
}

// --- Landlock

/// What a ruleset governs.
#[repr(C)]
pub(super) struct RulesetAttributes {
    pub files: u64,
    pub network: u64,
    pub scoped: u64,
}

/// The version of Landlock in this kernel.
pub(super) fn landlock_version() -> io::Result<u32> {
    // SAFETY: a null attribute with the version flag is how the version is asked for.
    check(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<c_void>(), 0, 1) })
        .map(|abi| abi as u32)
}

pub(super) fn landlock_ruleset(attributes: &RulesetAttributes) -> io::Result<OwnedFd> {
    // SAFETY: the structure is of the size that is passed.
    owned(unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::from_ref(attributes),
            size_of::<RulesetAttributes>(),
            0,
        )
    })
}

pub(super) fn landlock_allow(ruleset: &OwnedFd, path: &OwnedFd, rights: u64) -> io::Result<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        rights: u64,
        parent: RawFd,
    }
    let rule = PathBeneath {
        rights,
        parent: path.as_raw_fd(),
    };
    // SAFETY: rule type 1 reads one such structure.
    check(unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), 1, &raw const rule, 0) }).map(drop)
}

/// Puts the ruleset up. With `record` also what programs that are executed later are refused is written down.
pub(super) fn landlock_restrict(ruleset: &OwnedFd, record: bool) -> io::Result<()> {
    const LOG_NEW_EXEC_ON: c_long = 1 << 1;
    let flags = if record { LOG_NEW_EXEC_ON } else { 0 };
    // SAFETY: no memory is involved.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), flags) }).map(drop)
}

// --- seccomp

/// Puts up a filter whose questions are asked through the descriptor that is returned.
pub(super) fn install_filter(program: &mut [libc::sock_filter]) -> io::Result<OwnedFd> {
    const SET_MODE_FILTER: c_long = 1;
    const NEW_LISTENER: c_long = 1 << 3;
    const WAIT_KILLABLE: c_long = 1 << 5;
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    let install = |flags: c_long| {
        // SAFETY: the program outlives the call, which copies it.
        owned(unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program) })
    };
    match install(NEW_LISTENER | WAIT_KILLABLE) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install(NEW_LISTENER),
        other => other,
    }
}

/// Puts up a filter that asks nobody.
pub(super) fn install_silent_filter(program: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: as above.
    check(unsafe { libc::syscall(libc::SYS_seccomp, 1, 0, &raw const program) }).map(drop)
}

/// A system call that waits for an answer.
#[derive(Clone, Copy)]
pub(super) struct Question {
    pub id: u64,
    /// The calling thread.
    pub thread: libc::pid_t,
    pub call: c_long,
    pub arguments: [u64; 6],
}

/// The next question; an error if the caller is gone already.
pub(super) fn next_question(listener: &OwnedFd) -> io::Result<Question> {
    // SAFETY: the kernel wants the structure zeroed and fills it.
    unsafe {
        let mut asked: libc::seccomp_notif = std::mem::zeroed();
        check(c_long::from(libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_RECV,
            &raw mut asked,
        )))?;
        Ok(Question {
            id: asked.id,
            thread: asked.pid as libc::pid_t,
            call: c_long::from(asked.data.nr),
            arguments: asked.data.args,
        })
    }
}

/// What becomes of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The kernel carries it out as usual.
    Continue,
    /// It fails with this errno; 0 is success without it being carried out.
    Errno(c_int),
}

pub(super) fn answer(listener: &OwnedFd, id: u64, answer: Answer) {
    let (error, flags) = match answer {
        Answer::Continue => (0, 1),
        Answer::Errno(errno) => (-errno, 0),
    };
    let response = libc::seccomp_notif_resp {
        id,
        val: 0,
        error,
        flags,
    };
    // SAFETY: the structure is the one that this request reads. A caller that is gone needs no answer.
    unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &raw const response,
        )
    };
}

/// Whether the caller still waits, so that its thread id still means it.
pub(super) fn still_waits(listener: &OwnedFd, id: u64) -> bool {
    // SAFETY: the request reads one u64.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
}

/// Reads memory of another process; fewer bytes than asked for where its memory ends.
pub(super) fn read_memory(pid: libc::pid_t, address: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0u8; length];
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: length,
    };
    // In pieces of a page each: the kernel stops at the first piece that it cannot read whole.
    const PAGE: u64 = 4096;
    let mut remote = Vec::new();
    let (mut from, end) = (
        address,
        address.checked_add(length as u64).ok_or(io::ErrorKind::InvalidInput)?,
    );
    while from < end {
        let to = ((from / PAGE + 1) * PAGE).min(end);
        remote.push(libc::iovec {
            iov_base: from as *mut c_void,
            iov_len: (to - from) as usize,
        });
        from = to;
    }
    // SAFETY: the local buffer has the length given; remote addresses are only read by the kernel, which checks them.
    let read = check(
        unsafe { libc::process_vm_readv(pid, &local, 1, remote.as_ptr(), remote.len() as c_ulong, 0) } as c_long,
    )?;
    bytes.truncate(read as usize);
    Ok(bytes)
}

/// A copy of another process's descriptor.
pub(super) fn descriptor_of(pid: libc::pid_t, fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    let process = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: as above.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

/// Connects a socket to an address given as the bytes of a `sockaddr`. The errno on failure.
pub(super) fn connect(socket: &OwnedFd, address: &[u8]) -> Result<(), c_int> {
    // SAFETY: the kernel reads `address.len()` bytes.
    let result = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            address.as_ptr().cast(),
            address.len() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EACCES))
    }
}

/// Opens a path only to refer to it, following links.
pub(super) fn open_path(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    // SAFETY: the path is a C string.
    owned(c_long::from(unsafe {
        libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC)
    }))
}

/// Opens a canonical path only to refer to it. Where a link now leads it elsewhere, it is not what it was: an error; a
/// link at its very end is opened itself.
pub(super) fn open_canonical(path: &Path) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct How {
        flags: u64,
        mode: u64,
        resolve: u64,
    }
    const NO_SYMLINKS: u64 = 4;
    let how = How {
        flags: (libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW) as u64,
        mode: 0,
        resolve: NO_SYMLINKS,
    };
    let path = c_path(path)?;
    // SAFETY: the path is a C string, the structure is of the size that is passed.
    owned(unsafe {
        libc::syscall(
            libc::SYS_openat2,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw const how,
            size_of::<How>(),
        )
    })
}

/// The netlink socket through which the kernel describes sockets.
pub(super) fn socket_diagnosis() -> io::Result<OwnedFd> {
    const NETLINK_SOCK_DIAG: c_int = 4;
    // SAFETY: no memory is involved.
    owned(c_long::from(unsafe {
        libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, NETLINK_SOCK_DIAG)
    }))
}

/// Plain send and receive on a socket.
pub(super) fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads `bytes.len()` bytes.
    check(unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) } as c_long).map(drop)
}

pub(super) fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most `buffer.len()` bytes.
    check(unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) } as c_long)
        .map(|read| read as usize)
}
