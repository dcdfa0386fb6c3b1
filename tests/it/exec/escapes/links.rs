//! Links in the workspace that lead out, and folders that become links while they are looked at.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt(
        "through a link to a file",
        "os.symlink(OUT + '/file', 'link'); write('link')",
    ),
    attempt("through a link to a folder", "os.symlink(OUT, 'dir'); write('dir/new')"),
    attempt(
        "through a chain of links",
        "os.symlink(OUT, 'a'); os.symlink('a/.', 'b'); os.symlink('b', 'c'); write('c/new')",
    ),
    attempt(
        "through a dangling link",
        "os.symlink(OUT + '/new', 'link'); write('link')",
    ),
    attempt("through a hard link", "os.link(OUT + '/file', 'hard'); write('hard')"),
    attempt(
        "through a hard link of a descriptor",
        "
fd = os.open(OUT + '/file', os.O_PATH)
call('linkat', fd, '', -100, HERE + '/hard', 0x1000); write('hard')",
    )
    .by_root(),
    attempt(
        "through /proc/self/fd",
        "fd = os.open(OUT, os.O_PATH); write(f'/proc/self/fd/{fd}/new')",
    ),
    attempt(
        "through a link to /proc/self/root",
        "os.symlink('/proc/self/root', 'root'); write('root' + OUT + '/new')",
    ),
    attempt(
        "rename into a link's target",
        "os.symlink(OUT, 'dir'); write('evil'); os.rename('evil', 'dir/file')",
    ),
    attempt(
        "a folder that turns into a link",
        "
os.symlink(OUT, 'link'); os.mkdir('x')
race(exchange('link', 'x'), lambda: write('x/new'))",
    ),
    attempt(
        "delete through a folder that turns into a link",
        "
os.symlink(OUT, 'link'); os.mkdir('x')
race(exchange('link', 'x'), lambda: os.unlink('x/file'))",
    ),
];
