//! Files and folders outside of the writable ones: their text, names, modes, owners, times and attributes.

use super::attempt::{Attempt, attempt};

const METADATA: &str = "metadata";

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("write a new file", "write(OUT + '/new')"),
    attempt("write by ..", "write(os.path.relpath(OUT) + '/new')"),
    attempt("append", "write(OUT + '/file', flags=os.O_WRONLY | os.O_APPEND)"),
    attempt("truncate by name", "os.truncate(OUT + '/file', 0)"),
    attempt(
        "truncate while opening to read",
        "os.open(OUT + '/file', os.O_RDONLY | os.O_TRUNC)",
    ),
    attempt(
        "allocate space",
        "os.posix_fallocate(os.open(OUT + '/file', os.O_RDWR), 0, 9999)",
    ),
    attempt(
        "write through a mapping",
        "mmap.mmap(os.open(OUT + '/file', os.O_RDWR), 8)[0] = 0",
    ),
    attempt(
        "openat2",
        "fd = syscall(437, -100, OUT + '/new', struct.pack('QQQ', 0o101, 0o644, 0), 24); os.write(fd, b'x')",
    ),
    attempt(
        "by a descriptor of the folder",
        "os.open('new', os.O_WRONLY | os.O_CREAT, dir_fd=os.open(OUT, os.O_RDONLY))",
    ),
    attempt("from the folder itself", "os.chdir(OUT); write('new')"),
    attempt("by /proc/self/root", "write('/proc/self/root' + OUT + '/new')"),
    attempt("by /proc/self/cwd", "os.chdir(OUT); write('/proc/self/cwd/new')"),
    attempt(
        "reopen for writing what was opened to read",
        "fd = os.open(OUT + '/file', os.O_RDONLY); write(f'/proc/self/fd/{fd}')",
    ),
    attempt(
        "reopen for writing what was only found",
        "fd = os.open(OUT + '/file', os.O_PATH); write(f'/proc/self/fd/{fd}')",
    ),
    attempt(
        "reopen by /dev/fd",
        "fd = os.open(OUT + '/file', os.O_RDONLY); write(f'/dev/fd/{fd}')",
    ),
    attempt("delete", "os.unlink(OUT + '/file')"),
    attempt("delete a folder", "os.rmdir(OUT + '/folder')"),
    attempt("make a folder", "os.mkdir(OUT + '/made')"),
    attempt("make a link", "os.symlink('x', OUT + '/link')"),
    attempt("make a fifo", "os.mkfifo(OUT + '/made')"),
    attempt("make a file by mknod", "os.mknod(OUT + '/made', stat.S_IFREG | 0o600)"),
    attempt(
        "make a device file",
        "os.mknod(OUT + '/made', stat.S_IFCHR | 0o600, os.makedev(1, 3))",
    )
    .by_root(),
    attempt(
        "make a socket file",
        "socket.socket(socket.AF_UNIX).bind(OUT + '/made')",
    ),
    attempt(
        "make a nameless file",
        "fd = os.open(OUT, os.O_TMPFILE | os.O_RDWR); call('linkat', -100, f'/proc/self/fd/{fd}', -100, OUT + '/made', 0x400)",
    ),
    attempt("rename", "os.rename(OUT + '/file', OUT + '/other')"),
    attempt("take away", "os.rename(OUT + '/file', HERE + '/taken')"),
    attempt(
        "put in place of it",
        "write(HERE + '/evil'); os.rename(HERE + '/evil', OUT + '/file')",
    ),
    attempt(
        "exchange",
        "write(HERE + '/evil'); call('renameat2', -100, HERE + '/evil', -100, OUT + '/file', 2)",
    ),
    attempt(
        "a folder in exchange",
        "os.mkdir(HERE + '/d'); call('renameat2', -100, HERE + '/d', -100, OUT + '/folder', 2)",
    ),
    attempt(
        "write into a fifo",
        "os.write(os.open(OUT + '/fifo', os.O_WRONLY | os.O_NONBLOCK), b'x')",
    ),
    attempt(
        "write into a fifo, both ways",
        "os.write(os.open(OUT + '/fifo', os.O_RDWR | os.O_NONBLOCK), b'x')",
    ),
    attempt("mode", "os.chmod(OUT + '/file', 0o600)").weaker_without_namespaces(METADATA),
    attempt("mode of the folder", "os.chmod(OUT, 0o700)").weaker_without_namespaces(METADATA),
    attempt(
        "mode by a descriptor",
        "os.fchmod(os.open(OUT + '/file', os.O_RDONLY), 0o600)",
    )
    .weaker_without_namespaces(METADATA),
    attempt("mode by fchmodat2", "syscall(452, -100, OUT + '/file', 0o600, 0)").weaker_without_namespaces(METADATA),
    attempt("owner", "os.chown(OUT + '/file', os.getuid(), os.getgid())").weaker_without_namespaces(METADATA),
    attempt("another owner", "os.chown(OUT + '/file', 1234, 1234)").by_root(),
    attempt("times", "os.utime(OUT + '/file', (1, 1))").weaker_without_namespaces(METADATA),
    attempt(
        "times by a descriptor",
        "os.utime(os.open(OUT + '/file', os.O_RDONLY), (1, 1))",
    )
    .weaker_without_namespaces(METADATA),
    attempt("attributes", "os.setxattr(OUT + '/file', 'user.x', b'y')").weaker_without_namespaces(METADATA),
    attempt(
        "attributes by a descriptor",
        "os.setxattr(os.open(OUT + '/file', os.O_RDONLY), 'user.x', b'y')",
    )
    .weaker_without_namespaces(METADATA),
    attempt(
        "flags of the file system",
        "fcntl.ioctl(os.open(OUT + '/file', os.O_RDONLY), 0x40086602, struct.pack('l', 0x40)); through()",
    ),
    attempt(
        "flags and project of the file system",
        "
fd = os.open(OUT + '/file', os.O_RDONLY); known = bytearray(28)
fcntl.ioctl(fd, 0x801c581f, known); known[0] |= 0x40
fcntl.ioctl(fd, 0x401c5820, bytes(known)); through()",
    )
    .inside_only(),
    attempt(
        "its version",
        "fcntl.ioctl(os.open(OUT + '/file', os.O_RDONLY), 0x40087602, struct.pack('l', 7)); through()",
    )
    .inside_only(),
    attempt(
        "by a handle",
        "
handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 160); mount = ctypes.c_int()
call('name_to_handle_at', -100, OUT + '/file', handle, ctypes.byref(mount), 0)
fd = call('open_by_handle_at', os.open(OUT, os.O_RDONLY), handle, os.O_WRONLY)
os.write(fd, b'x')",
    )
    .by_root(),
    attempt(
        "a program from memory",
        "
fd = os.memfd_create('program'); os.write(fd, open('/bin/sh', 'rb').read())
os.execve(fd, ['sh', '-c', f'echo x > {OUT}/new'], {})",
    ),
    attempt(
        "a program through the loader",
        "
loaders = [line.split()[-1] for line in open('/proc/self/maps') if '/ld-' in line]
os.execv(loaders[0], ['ld', '/bin/sh', '-c', f'echo x > {OUT}/new'])",
    ),
    attempt("copy with its attributes", "sh(f'cp -a /etc/hostname {OUT}/made')"),
    attempt(
        "unpack beside",
        "sh(f'cd {HERE} && tar -C /etc -cf - hostname | tar -C {OUT} -xf -')",
    ),
    attempt(
        "account for processes",
        "
try:
    call('acct', OUT + '/file')
    through()
finally:
    libc.acct(None)",
    )
    .inside_only(),
    attempt("the temporary folder", "write('/tmp/' + MARK)").where_nothing_may_be_written(),
    attempt("the workspace", "write(HERE + '/new')").where_nothing_may_be_written(),
    attempt("modes in the workspace", "os.chmod(WORK, 0o711)")
        .where_nothing_may_be_written()
        .weaker_without_namespaces(METADATA),
    attempt(
        "the second set of system calls",
        "
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
low = libc.mmap; low.restype = ctypes.c_void_p
path = low(ctypes.c_void_p(0), ctypes.c_size_t(4096), 3, 0x62, -1, ctypes.c_long(0))
ctypes.memmove(path, OUT.encode() + b'/new\\0', len(OUT) + 5)
# creat(path, 0644) by int 0x80, which counts from another table.
code.write(b'\\x53\\xb8\\x08\\0\\0\\0\\xbb' + struct.pack('I', path) + b'\\xb9\\xa4\\x01\\0\\0\\xcd\\x80\\x5b\\xc3')
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()",
    )
    .inside_only(),
];
