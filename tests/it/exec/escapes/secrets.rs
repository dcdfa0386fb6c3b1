//! What may not be read: a folder with a key in it, outside the workspace, and a file of that kind inside.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("read", "read(HIDDEN + '/key')"),
    attempt("read the one in the workspace", "read(WORK + '/.env')"),
    attempt("list", "print(os.listdir(HIDDEN)); os.stat(HIDDEN + '/key'); through()"),
    attempt("by a relative path", "read(os.path.relpath(HIDDEN + '/key'))"),
    attempt("by a link", "os.symlink(HIDDEN, 'h'); read('h/key')"),
    attempt("by a hard link", "os.link(HIDDEN + '/key', 'hard'); read('hard')"),
    attempt(
        "by a hard link in the workspace",
        "os.link(WORK + '/.env', 'hard'); read('hard')",
    ),
    attempt(
        "by a found descriptor",
        "fd = os.open(HIDDEN + '/key', os.O_PATH); read(f'/proc/self/fd/{fd}')",
    ),
    attempt(
        "by a descriptor of the folder",
        "
fd = os.open(HIDDEN, os.O_PATH)
print(os.read(os.open('key', os.O_RDONLY, dir_fd=fd), 99))",
    ),
    attempt(
        "by a descriptor of the folder around it",
        "
fd = os.open(os.path.dirname(HIDDEN), os.O_PATH)
print(os.read(os.open('hidden/key', os.O_RDONLY, dir_fd=fd), 99))",
    ),
    attempt("by /proc/self/root", "read('/proc/self/root' + HIDDEN + '/key')"),
    attempt(
        "by /proc/self/cwd",
        "os.chdir(os.path.dirname(HIDDEN)); read('/proc/self/cwd/hidden/key')",
    ),
    attempt(
        "by the view of another process",
        "read(f'/proc/{VICTIM}/root{HIDDEN}/key')",
    ),
    attempt(
        "moved in the workspace",
        "os.rename(WORK + '/.env', HERE + '/moved'); read('moved'); os.rename(HERE + '/moved', WORK + '/.env')",
    ),
    attempt(
        "in exchange for another",
        "
write('mine')
call('renameat2', -100, HERE + '/mine', -100, WORK + '/.env', 2)
read('mine')
call('renameat2', -100, HERE + '/mine', -100, WORK + '/.env', 2)",
    ),
    attempt("copied", "sh(f'cp {HIDDEN}/key copy && cat copy')"),
    attempt("packed", "sh(f'tar -C {HIDDEN} -cf - . | tar -xOf -')"),
    attempt(
        "by the program that reads it",
        "subprocess.run(['python3', '-c', f'print(open({HIDDEN + \"/key\"!r}).read())'])",
    ),
    attempt(
        "through a mapping",
        "print(mmap.mmap(os.open(HIDDEN + '/key', os.O_RDONLY), 0, prot=mmap.PROT_READ)[:])",
    ),
    attempt(
        "by sending it to oneself",
        "
out = os.memfd_create('x')
fd = os.open(HIDDEN + '/key', os.O_RDONLY)
os.sendfile(out, fd, 0, 99); print(os.pread(out, 99, 0))",
    ),
    attempt("uncovered", "call('umount2', HIDDEN, 2); read(HIDDEN + '/key')").inside_only(),
    attempt(
        "by a handle",
        "
handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 160); mount = ctypes.c_int()
call('name_to_handle_at', -100, HIDDEN + '/key', handle, ctypes.byref(mount), 0)
fd = call('open_by_handle_at', os.open(WORK, os.O_RDONLY), handle, os.O_RDONLY)
print(os.read(fd, 99))",
    )
    .by_root(),
    attempt(
        "changed",
        "write(HIDDEN + '/key', 'evil', os.O_WRONLY | os.O_TRUNC); through()",
    ),
];
