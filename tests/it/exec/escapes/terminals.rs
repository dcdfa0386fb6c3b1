//! The person's terminals.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("write to it", "write(TERMINAL, flags=os.O_WRONLY | os.O_NOCTTY)"),
    attempt(
        "read from it",
        "os.open(TERMINAL, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK); through()",
    ),
    attempt(
        "by its number",
        "
fd = os.open('/dev/pts', os.O_PATH)
os.write(os.open(os.path.basename(TERMINAL), os.O_WRONLY | os.O_NOCTTY, dir_fd=fd), b'x')",
    ),
    attempt(
        "put words into its keyboard",
        "
fd = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
if os.fork() == 0:
    os.setsid(); fcntl.ioctl(fd, 0x540E, 1)
    fcntl.ioctl(fd, 0x5412, b'x')
    os._exit(0)
os.wait()",
    )
    .by_root(),
    attempt(
        "take it over",
        "
fd = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
if os.fork() == 0:
    os.setsid(); fcntl.ioctl(fd, 0x540E, 1); through(); sys.stdout.flush()
    os._exit(0)
os.wait()",
    )
    .by_root(),
    attempt(
        "words into its own keyboard",
        "
master, slave = os.openpty()
if os.fork() == 0:
    os.setsid(); fcntl.ioctl(slave, 0x540E, 0)
    fcntl.ioctl(slave, 0x5412, b'x'); through(); sys.stdout.flush()
    os._exit(0)
os.wait()",
    )
    .by_root(),
    attempt(
        "the console",
        "os.open('/dev/console', os.O_RDWR | os.O_NOCTTY); through()",
    )
    .inside_only(),
    attempt(
        "the machine's screen",
        "
for name in ('/dev/tty0', '/dev/tty1', '/dev/vcs', '/dev/vcsa1', '/dev/ttyS0'):
    try:
        os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        print(name)
        through()
    except OSError:
        pass",
    )
    .inside_only(),
    attempt(
        "paste by the console",
        "
master, slave = os.openpty()
fcntl.ioctl(slave, 0x541C, b'\\x02'); through()",
    )
    .inside_only(),
    attempt(
        "the terminal that controls",
        "os.open('/dev/tty', os.O_RDWR); through()",
    )
    .inside_only(),
];
