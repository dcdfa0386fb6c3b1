//! Memory, queues and semaphores that programs share by name or number.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "a segment",
        "
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(SEGMENT, None, 0)
at in (None, 2 ** 64 - 1) or ctypes.memset(at, 0, 16)",
    ),
    attempt(
        "a segment, read",
        "
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(SEGMENT, None, 0o10000)
at in (None, 2 ** 64 - 1) or through()",
    ),
    attempt(
        "a segment's mode",
        "call('shmctl', SEGMENT, 1, ctypes.create_string_buffer(112)); through()",
    )
    .inside_only(),
    attempt(
        "a queue",
        "call('msgsnd', QUEUE, struct.pack('l', 1) + b'x', 1, 0o4000)",
    ),
    attempt(
        "a semaphore",
        "call('semop', SEMAPHORES, struct.pack('HhH', 0, 1, 0o4000), 1)",
    ),
    attempt("a semaphore, set", "call('semctl', SEMAPHORES, 0, 16, 1)"),
    attempt(
        "a named queue",
        "
queue = call('mq_open', POSIX_QUEUE, os.O_WRONLY)
call('mq_send', queue, b'x', 1, 0)",
    ),
    attempt("a named queue, deleted", "call('mq_unlink', POSIX_QUEUE); through()"),
    attempt("named memory", "write(NAMED, 'evil', os.O_RDWR)"),
    attempt("named memory, made", "write('/dev/shm/' + MARK)"),
    attempt(
        "list of segments",
        "
[line for line in open('/proc/sysvipc/shm').read().splitlines()[1:]] and through()",
    )
    .weaker_without_namespaces("command lines"),
];
