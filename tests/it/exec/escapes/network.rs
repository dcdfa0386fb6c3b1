//! The network and this machine's own ports, by every family and every call that names a receiver.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("tcp", "socket.create_connection(('127.0.0.1', PORT), 2)").where_there_is_no_network(),
    attempt(
        "tcp without waiting",
        "
made = socket.socket(); made.setblocking(False)
made.connect_ex(('127.0.0.1', PORT)); time.sleep(0.1)",
    )
    .where_there_is_no_network(),
    attempt("tcp over ipv6", "socket.create_connection(('::1', PORT6), 2)").where_there_is_no_network(),
    attempt(
        "tcp to an address in disguise",
        "
made = socket.socket(socket.AF_INET6); made.connect(('::ffff:127.0.0.1', PORT))",
    )
    .where_there_is_no_network(),
    attempt(
        "tcp with its first words",
        "
made = socket.socket(); made.sendto(b'x', 0x20000000, ('127.0.0.1', PORT)); time.sleep(0.05)",
    )
    .where_there_is_no_network(),
    attempt(
        "tcp of many ways",
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(('127.0.0.1', PORT))",
    )
    .inside_only()
    .where_there_is_no_network(),
    attempt(
        "tcp by bash",
        "subprocess.run(['bash', '-c', f'echo x > /dev/tcp/127.0.0.1/{PORT}'])",
    )
    .where_there_is_no_network(),
    attempt(
        "udp",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP))",
    )
    .where_there_is_no_network(),
    attempt(
        "udp, connected",
        "
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
made.connect(('127.0.0.1', UDP)); made.send(b'x')",
    )
    .where_there_is_no_network(),
    attempt(
        "udp by sendmsg",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, ('127.0.0.1', UDP))",
    )
    .where_there_is_no_network(),
    attempt(
        "udp by sendmmsg",
        "
fd = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
name = struct.pack('=H', socket.AF_INET) + struct.pack('>H', UDP) + bytes([127, 0, 0, 1]) + bytes(8)
name = ctypes.create_string_buffer(name, 16); text = ctypes.create_string_buffer(b'x')
vector = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(text), 1))
message = struct.pack('QIxxxxQQQQIxxxxIxxxx', ctypes.addressof(name), 16, ctypes.addressof(vector), 1, 0, 0, 0, 0)
call('sendmmsg', fd.fileno(), message, 1, 0)",
    )
    .where_there_is_no_network(),
    attempt(
        "udp over ipv6",
        "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('::1', UDP6))",
    )
    .where_there_is_no_network(),
    attempt(
        "a question for a name",
        "
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
made.sendto(b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\6secret\\7example\\0\\0\\1\\0\\1', ('127.0.0.1', UDP))",
    )
    .where_there_is_no_network(),
    attempt(
        "a pair of the internet's",
        "socket.socketpair(socket.AF_INET); through()",
    )
    .inside_only(),
    attempt("listen", "
daemon(f'import socket, time; made = socket.create_server((\"127.0.0.1\", {FREE})); time.sleep(30)')").where_there_is_no_network(),
    attempt("listen on all addresses", "
daemon(f'import socket, time; made = socket.create_server((\"\", {FREE}), family=socket.AF_INET6, dualstack_ipv6=True); time.sleep(30)')").where_there_is_no_network(),
    attempt("echo", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1); through()")
        .where_there_is_no_network()
        .inside_only(),
    attempt("raw", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); through()").by_root(),
    attempt("packets", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); through()").by_root(),
    attempt(
        "packets of the past",
        "socket.socket(socket.AF_INET, 10, 0x300); through()",
    )
    .inside_only(),
    attempt(
        "the routing table",
        "
made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); made.bind((0, 0)); through()",
    )
    .where_there_is_no_network(),
    attempt(
        "the kernel's other lines",
        "
for protocol in (2, 4, 6, 7, 9, 12, 15, 16):
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        print(protocol)
        through()
    except OSError:
        pass",
    ),
    attempt(
        "the host of a virtual machine",
        "socket.socket(40, socket.SOCK_STREAM).connect((2, 9999)); through()",
    )
    .inside_only(),
    attempt(
        "a socket to the host",
        "socket.socket(40, socket.SOCK_STREAM); through()",
    )
    .inside_only(),
    attempt(
        "ciphers of the kernel",
        "socket.socket(38, socket.SOCK_SEQPACKET); through()",
    )
    .inside_only(),
    attempt(
        "every family",
        "
for family in range(2, 64):
    for kind in (1, 2, 3, 5):
        if family in (2, 10, 16):
            continue
        try:
            socket.socket(family, kind)
            print(family, kind)
            through()
        except OSError:
            pass",
    )
    .by_root(),
    attempt(
        "a tunnel",
        "
fd = os.open('/dev/net/tun', os.O_RDWR)
fcntl.ioctl(fd, 0x400454ca, struct.pack('16sH22x', b'', 0x1001)); through()",
    )
    .inside_only(),
];
