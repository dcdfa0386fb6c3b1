//! Sockets of other programs on this machine: by path, by abstract name, and descriptors that come through them.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("by path", "socket.socket(socket.AF_UNIX).connect(SOCKETS + '/stream')"),
    attempt(
        "by a relative path",
        "socket.socket(socket.AF_UNIX).connect(os.path.relpath(SOCKETS) + '/stream')",
    ),
    attempt(
        "without waiting",
        "made = socket.socket(socket.AF_UNIX); made.setblocking(False); made.connect(SOCKETS + '/stream')",
    ),
    attempt(
        "packets",
        "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(SOCKETS + '/packets')",
    ),
    attempt(
        "datagrams",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', SOCKETS + '/datagrams')",
    ),
    attempt(
        "datagrams, connected",
        "made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); made.connect(SOCKETS + '/datagrams'); made.send(b'x')",
    ),
    attempt(
        "datagrams by sendmsg",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, SOCKETS + '/datagrams')",
    ),
    attempt(
        "datagrams of a pair",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', SOCKETS + '/datagrams')",
    )
    .inside_only(),
    attempt(
        "a raw pair",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendto(b'x', SOCKETS + '/datagrams')",
    )
    .inside_only(),
    attempt("abstract", "socket.socket(socket.AF_UNIX).connect('\\0' + ABSTRACT)"),
    attempt(
        "abstract datagrams",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '\\0' + ABSTRACT + '-d')",
    ),
    attempt(
        "through a link",
        "os.symlink(SOCKETS + '/stream', 'link'); socket.socket(socket.AF_UNIX).connect('link')",
    ),
    attempt(
        "through a found descriptor",
        "fd = os.open(SOCKETS + '/stream', os.O_PATH); socket.socket(socket.AF_UNIX).connect(f'/proc/self/fd/{fd}')",
    ),
    attempt(
        "from its own folder",
        "os.chdir(SOCKETS); socket.socket(socket.AF_UNIX).connect('stream')",
    ),
    attempt(
        "through a hard link",
        "os.link(SOCKETS + '/stream', HERE + '/hard'); socket.socket(socket.AF_UNIX).connect('hard')",
    ),
    attempt(
        "taken into the workspace",
        "os.rename(SOCKETS + '/stream', HERE + '/mine'); socket.socket(socket.AF_UNIX).connect('mine')",
    )
    .inside_only(),
    attempt("an address that changes while it is judged", "
own = socket.socket(socket.AF_UNIX); own.bind('own'); own.listen(64)
first = struct.pack('H', 1) + (HERE + '/own').encode() + bytes(1); second = struct.pack('H', 1) + (SOCKETS + '/stream').encode() + bytes(1)
shared = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(shared))
def flip(turn):
    words = second if turn % 2 else first
    shared[0:len(words)] = words
def connect():
    made = socket.socket(socket.AF_UNIX); made.setblocking(False)
    libc.connect(made.fileno(), ctypes.c_void_p(address), 110); made.close()
race(flip, connect)"),
    attempt("a link that changes while it is judged", "
own = socket.socket(socket.AF_UNIX); own.bind('own'); own.listen(64)
os.symlink('own', 'x'); os.symlink(SOCKETS + '/stream', 'y')
def connect():
    made = socket.socket(socket.AF_UNIX); made.setblocking(False)
    with made:
        made.connect('x')
race(exchange('x', 'y'), connect)"),
    attempt(
        "a socket that changes while it is judged",
        "
own = socket.socket(socket.AF_UNIX); own.bind('own'); own.listen(64)
sys.setswitchinterval(1e-6)
slot = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).detach()
pair = socket.socketpair()
def flip():
    for turn in range(600):
        fresh = socket.socket(socket.AF_UNIX); fresh.setblocking(False)
        os.dup2(fresh.fileno() if turn % 2 else pair[0].fileno(), slot)
flipping = threading.Thread(target=flip); flipping.start()
target = struct.pack('H', 1) + (SOCKETS + '/stream').encode() + bytes(1)
while flipping.is_alive():
    libc.connect(slot, target, len(target))
libc.connect(slot, target, len(target))",
    ),
    attempt(
        "descriptors that come through one",
        "
made = socket.socket(socket.AF_UNIX); made.connect(SOCKETS + '/stream')
made.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack('i', 0))])",
    ),
    attempt(
        "descriptors sent without a connection",
        "
made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
made.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack('i', 0))], 0, SOCKETS + '/datagrams')",
    ),
    attempt(
        "in place of the person's",
        "
os.unlink(SOCKETS + '/stream')
made = socket.socket(socket.AF_UNIX); made.bind(SOCKETS + '/stream'); through()",
    )
    .inside_only(),
    attempt(
        "the machine's bus",
        "socket.socket(socket.AF_UNIX).connect('/run/dbus/system_bus_socket'); through()",
    )
    .inside_only(),
    attempt(
        "containers",
        "socket.socket(socket.AF_UNIX).connect('/run/docker.sock'); through()",
    )
    .inside_only(),
    attempt(
        "the screen",
        "
for address in ('/tmp/.X11-unix/X0', '\\0/tmp/.X11-unix/X0'):
    try:
        socket.socket(socket.AF_UNIX).connect(address)
        through()
    except OSError:
        pass",
    )
    .inside_only(),
    attempt(
        "the person's session",
        "
for name in ('bus', 'systemd/private', 'gnupg/S.gpg-agent', 'keyring/control', 'wayland-0', 'pulse/native'):
    try:
        socket.socket(socket.AF_UNIX).connect(f'/run/user/{os.getuid()}/{name}')
        through()
    except OSError:
        pass",
    )
    .inside_only(),
];
