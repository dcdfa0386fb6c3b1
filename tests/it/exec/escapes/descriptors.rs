//! Descriptors that were open outside when the sandbox started.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("one to append to", "os.write(7, b'x')"),
    attempt("reopened", "write('/proc/self/fd/7')"),
    attempt("a folder", "os.open('new', os.O_WRONLY | os.O_CREAT, dir_fd=8)"),
    attempt("one to read, reopened", "write('/proc/self/fd/9')"),
    attempt("one to read, its mode", "os.fchmod(9, 0o600)"),
    attempt(
        "any that is there",
        "
for fd in range(3, 1024):
    try:
        if os.fstat(fd).st_mode and not os.readlink(f'/proc/self/fd/{fd}').startswith('pipe:'):
            print(fd, os.readlink(f'/proc/self/fd/{fd}'))
            through()
    except OSError:
        pass",
    ),
    attempt(
        "those of the one who started it",
        "
for fd in os.listdir(f'/proc/{KEEPER}/fd'):
    os.open(f'/proc/{KEEPER}/fd/{fd}', os.O_RDONLY | os.O_NONBLOCK)
    through()",
    )
    .by_root(),
];
