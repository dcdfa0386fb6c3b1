//! Changing what is known about a file beside its content.

use super::{c_path, check, owned};
use libc::{c_int, c_long};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// One change.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::exec::linux) enum Metadata {
    Mode(u32),
    /// User and group; the highest number leaves one as it is.
    Owner(u32, u32),
    /// Of access and of change, in seconds and nanoseconds; none is now.
    Times(Option<[(i64, i64); 2]>),
    SetAttribute {
        name: CString,
        value: Vec<u8>,
        flags: c_int,
    },
    RemoveAttribute(CString),
}

/// Opens a path only to refer to it.
pub(in crate::exec::linux) fn open_place(path: &Path, follow: bool) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    let flags = libc::O_PATH | libc::O_CLOEXEC | if follow { 0 } else { libc::O_NOFOLLOW };
    // SAFETY: the path is a C string.
    owned(c_long::from(unsafe { libc::open(path.as_ptr(), flags) }))
}

/// Changes a file that was opened, if only to refer to it. The errno on failure.
pub(in crate::exec::linux) fn change_metadata(file: &OwnedFd, change: &Metadata) -> Result<(), c_int> {
    let number = file.as_raw_fd();
    let errno = |error: io::Error| error.raw_os_error().unwrap_or(libc::EACCES);
    let handle = c_path(Path::new(&format!("/proc/self/fd/{number}"))).map_err(errno)?;
    // SAFETY: all paths and names are C strings, the times are two, the value is as long as is said.
    let result = unsafe {
        match change {
            Metadata::Mode(mode) => libc::chmod(handle.as_ptr(), *mode as libc::mode_t),
            Metadata::Owner(user, group) => libc::fchownat(number, c"".as_ptr(), *user, *group, libc::AT_EMPTY_PATH),
            Metadata::Times(times) => {
                let times = times.map(|times| {
                    times.map(|(seconds, nanoseconds)| libc::timespec {
                        tv_sec: seconds as libc::time_t,
                        tv_nsec: nanoseconds as _,
                    })
                });
                let times = times.as_ref().map_or(std::ptr::null(), |times| times.as_ptr());
                libc::utimensat(number, c"".as_ptr(), times, libc::AT_EMPTY_PATH)
            }
            Metadata::SetAttribute { name, value, flags } => libc::setxattr(
                handle.as_ptr(),
                name.as_ptr(),
                value.as_ptr().cast(),
                value.len(),
                *flags,
            ),
            Metadata::RemoveAttribute(name) => libc::removexattr(handle.as_ptr(), name.as_ptr()),
        }
    };
    check(c_long::from(result)).map(drop).map_err(errno)
}
