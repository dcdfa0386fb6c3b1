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

#[allow(clippy::unnecessary_cast, reason = "the C libraries differ on the type")]
pub(in crate::exec::linux) const LOCKED: u32 = libc::RLIMIT_MEMLOCK as u32;

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

/// Bytes of a page of memory.
pub(in crate::exec::linux) fn page_size() -> u64 {
    // SAFETY: no memory is involved.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// In which order the kernel has the memories of two processes: equal, if it is one. None where it does not say.
pub(in crate::exec::linux) fn compare_memories(one: libc::pid_t, other: libc::pid_t) -> Option<std::cmp::Ordering> {
    /// `KCMP_VM`.
    const MEMORY: libc::c_int = 1;
    // SAFETY: no memory is involved.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, MEMORY, 0, 0) } {
        0 => Some(std::cmp::Ordering::Equal),
        1 => Some(std::cmp::Ordering::Less),
        2 => Some(std::cmp::Ordering::Greater),
        _ => None,
    }
}

/// Has this process come before others when there is too little of a processor, as far as it may.
pub(in crate::exec::linux) fn hurry() {
    // SAFETY: no memory is involved. Who may not stays as it is.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) };
}
