//! Resource limits of this process.

use super::check;
use libc::c_long;
use std::io;

/// Kinds of limits, as the kernel numbers them; the type differs between C libraries.
#[allow(clippy::unnecessary_cast, reason = "the C libraries differ on the type")]
pub(in crate::exec::linux) const CORE: u32 = libc::RLIMIT_CORE as u32;
#[allow(clippy::unnecessary_cast, reason = "the C libraries differ on the type")]
pub(in crate::exec::linux) const FILE_SIZE: u32 = libc::RLIMIT_FSIZE as u32;
#[allow(clippy::unnecessary_cast, reason = "the C libraries differ on the type")]
pub(in crate::exec::linux) const OPEN_FILES: u32 = libc::RLIMIT_NOFILE as u32;
#[allow(clippy::unnecessary_cast, reason = "the C libraries differ on the type")]
pub(in crate::exec::linux) const PROCESSES: u32 = libc::RLIMIT_NPROC as u32;

/// Lowers a limit, for good, to `most` or to what it is already. Never raises one.
pub(in crate::exec::linux) fn lower_limit(kind: u32, most: u64) -> io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the limit is a valid place for the result, and then a valid value.
    unsafe {
        check(c_long::from(libc::getrlimit(kind as _, &raw mut limit)))?;
        limit.rlim_max = limit.rlim_max.min(most);
        limit.rlim_cur = limit.rlim_cur.min(limit.rlim_max);
        check(c_long::from(libc::setrlimit(kind as _, &raw const limit))).map(drop)
    }
}

/// Version of the kernel, as `(6, 14)`; zeros if it does not say so in numbers.
pub(in crate::exec::linux) fn kernel_version() -> (u32, u32) {
    // SAFETY: the structure is plain data, which the call fills with C strings.
    let release = unsafe {
        let mut names: libc::utsname = std::mem::zeroed();
        libc::uname(&raw mut names);
        std::ffi::CStr::from_ptr(names.release.as_ptr())
            .to_string_lossy()
            .into_owned()
    };
    let mut numbers = release
        .split(|character: char| !character.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
