//! Sockets: whose they are, what they are set to, and putting one in the place of a command's descriptor.

use super::{check, owned};
use libc::{c_int, c_long, c_ulong};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// An unconnected TCP socket in this process's network namespace.
pub(in crate::exec::linux) fn tcp_socket(family: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    owned(c_long::from(unsafe {
        libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, libc::IPPROTO_TCP)
    }))
}

/// A netlink socket to the kernel's audit, among those who hear what the groups hear.
pub(in crate::exec::linux) fn audit_socket(groups: u32) -> io::Result<OwnedFd> {
    // SAFETY: the address is plain data of the size that is passed.
    unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let socket = owned(c_long::from(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_AUDIT)))?;
        let mut address: libc::sockaddr_nl = std::mem::zeroed();
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = groups;
        let size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        check(c_long::from(libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size,
        )))?;
        Ok(socket)
    }
}

/// What one option of a socket is set to, as the kernel's bytes.
pub(in crate::exec::linux) fn socket_option(socket: &OwnedFd, level: c_int, name: c_int) -> io::Result<Vec<u8>> {
    option_of_size(socket, level, name, 32)
}

/// As `socket_option`, for those that want a buffer of just their size.
fn option_of_size(socket: &OwnedFd, level: c_int, name: c_int, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0u8; size];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes.
    check(c_long::from(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    }))?;
    bytes.truncate(length as usize);
    Ok(bytes)
}

/// Sets an option to bytes as `socket_option` gives them.
pub(in crate::exec::linux) fn set_socket_option(
    socket: &OwnedFd,
    level: c_int,
    name: c_int,
    bytes: &[u8],
) -> io::Result<()> {
    // SAFETY: the kernel reads `bytes.len()` bytes.
    check(c_long::from(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            bytes.as_ptr().cast(),
            bytes.len() as libc::socklen_t,
        )
    }))
    .map(drop)
}

/// One option that is a number, such as the family or type of a socket.
pub(in crate::exec::linux) fn socket_number(socket: &OwnedFd, name: c_int) -> io::Result<c_int> {
    let bytes = socket_option(socket, libc::SOL_SOCKET, name)?;
    let number = bytes.first_chunk().ok_or(io::ErrorKind::InvalidData)?;
    Ok(c_int::from_ne_bytes(*number))
}

/// The number of the network namespace that a socket belongs to, which does not change while the socket lives.
pub(in crate::exec::linux) fn network_of(socket: &OwnedFd) -> io::Result<u64> {
    const NETNS_COOKIE: c_int = 71;
    let bytes = option_of_size(socket, libc::SOL_SOCKET, NETNS_COOKIE, size_of::<u64>())?;
    let number = bytes.first_chunk().ok_or(io::ErrorKind::InvalidData)?;
    Ok(u64::from_ne_bytes(*number))
}

pub(in crate::exec::linux) fn is_connected(socket: &OwnedFd) -> bool {
    // SAFETY: the address is plain data of the size that is passed.
    unsafe {
        let mut address: libc::sockaddr_storage = std::mem::zeroed();
        let mut length = size_of_val(&address) as libc::socklen_t;
        libc::getpeername(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) == 0
    }
}

/// A handle on the process at the other end of a local socket, as it was when it connected or last began to listen. None where the
/// kernel gives no such handle (before 6.5).
///
/// # Errors
/// That process has ended, or there are too many open files.
pub(crate) fn peer_process(socket: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    const PEER_PIDFD: c_int = 77;
    let mut process: c_int = -1;
    let mut length = size_of_val(&process) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes.
    let got = check(c_long::from(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            PEER_PIDFD,
            (&raw mut process).cast(),
            &raw mut length,
        )
    }));
    match got {
        Ok(_) => owned(c_long::from(process)).map(Some),
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(in crate::exec::linux) fn listen(socket: &OwnedFd, backlog: c_int) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(c_long::from(unsafe { libc::listen(socket.as_raw_fd(), backlog) })).map(drop)
}

/// Whether calls on a descriptor return at once instead of waiting. Copies of the descriptor share this.
pub(in crate::exec::linux) fn set_non_blocking(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(c_long::from(unsafe {
        libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK)
    }))
    .map(drop)
}

pub(in crate::exec::linux) fn is_non_blocking(fd: &OwnedFd) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) & libc::O_NONBLOCK != 0 }
}

/// Puts a descriptor in the place of one of the process that asked question `id`.
pub(in crate::exec::linux) fn replace_descriptor(
    listener: &OwnedFd,
    id: u64,
    fd: &OwnedFd,
    place: RawFd,
    close_on_exec: bool,
) -> io::Result<()> {
    #[repr(C)]
    struct AddDescriptor {
        id: u64,
        flags: u32,
        source: u32,
        place: u32,
        place_flags: u32,
    }
    const AT_THIS_PLACE: u32 = 1;
    /// Write, 24 bytes, group '!', number 3.
    const ADD_DESCRIPTOR: c_ulong = 0x4018_2103;
    let request = AddDescriptor {
        id,
        flags: AT_THIS_PLACE,
        source: fd.as_raw_fd() as u32,
        place: place as u32,
        place_flags: if close_on_exec { libc::O_CLOEXEC as u32 } else { 0 },
    };
    // SAFETY: the request reads one such structure.
    check(c_long::from(unsafe {
        libc::ioctl(listener.as_raw_fd(), ADD_DESCRIPTOR as _, &raw const request)
    }))
    .map(drop)
}

/// Switches on the loopback of this process's network namespace.
pub(in crate::exec::linux) fn loopback_up() -> io::Result<()> {
    let socket = tcp_socket(libc::AF_INET)?;
    // SAFETY: the request is plain data; the kernel reads the name and the flags.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        check(c_long::from(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )))
        .map(drop)
    }
}
