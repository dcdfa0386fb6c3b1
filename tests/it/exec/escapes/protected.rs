//! Version control and agents' configuration inside the workspace: what is there, what is not there yet, and the way
//! to it.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("a hook", "write(WORK + '/.git/hooks/pre-commit')"),
    attempt(
        "the configuration",
        "write(WORK + '/.git/config', flags=os.O_WRONLY | os.O_APPEND)",
    ),
    attempt("the head", "write(WORK + '/.git/HEAD')"),
    attempt(
        "git writes its configuration",
        "
os.environ.update(GIT_CONFIG_GLOBAL='/dev/null', HOME=HERE)
sh(f'git config -f {WORK}/.git/config core.fsmonitor evil')",
    ),
    attempt(
        "attributes beside the configuration",
        "write(WORK + '/.git/info/attributes')",
    ),
    attempt("rename", "os.rename(WORK + '/.git', WORK + '/.git.gone')"),
    attempt("rename into the scratch folder", "os.rename(WORK + '/.git', 'gone')"),
    attempt("replace", "os.rename(WORK + '/.git', 'gone'); os.mkdir(WORK + '/.git')"),
    attempt(
        "exchange",
        "os.mkdir('evil'); call('renameat2', -100, HERE + '/evil', -100, WORK + '/.git', 2)",
    ),
    attempt("delete a part", "os.rmdir(WORK + '/.git/hooks')"),
    attempt("mode", "os.chmod(WORK + '/.git/config', 0o777)").weaker_without_namespaces("metadata"),
    attempt(
        "through a link",
        "os.symlink(WORK + '/.git/hooks', 'h'); write('h/pre-commit')",
    ),
    attempt("through a hard link", "os.link(WORK + '/.git/config', 'c'); write('c')"),
    attempt(
        "rename over a part",
        "write('evil'); os.rename('evil', WORK + '/.git/config')",
    ),
    attempt(
        "by a descriptor",
        "os.open('hooks/x', os.O_WRONLY | os.O_CREAT, dir_fd=os.open(WORK + '/.git', os.O_PATH))",
    ),
    attempt(
        "a mount on top",
        "call('mount', HERE, WORK + '/.git', None, 4096, None); through()",
    )
    .inside_only(),
    attempt("unmount it", "call('umount2', WORK + '/.git', 2); through()").inside_only(),
    attempt("move the workspace", "os.rename(WORK, WORK + '.gone')").inside_only(),
    attempt("make a folder", "os.mkdir(WORK + '/.codex')"),
    attempt("make it with what is in it", "os.makedirs(WORK + '/.codex/deep')"),
    attempt(
        "make it from elsewhere",
        "os.chdir('/'); os.mkdir(WORK + '/../' + os.path.basename(WORK) + '/.codex')",
    ),
    attempt(
        "make it by a descriptor",
        "os.mkdir('.codex', dir_fd=os.open(WORK, os.O_RDONLY))",
    ),
    attempt(
        "make it by a found descriptor",
        "os.mkdir('.codex', dir_fd=os.open(WORK, os.O_PATH))",
    ),
    attempt("make it as a link", "os.symlink('/etc', WORK + '/.agents')"),
    attempt(
        "make it by a rename",
        "os.mkdir('d'); os.rename('d', WORK + '/.countersign')",
    ),
    attempt("make it by a hard link", "write('f'); os.link('f', WORK + '/.codex')"),
    attempt("make it through a link", "os.symlink(WORK, 'w'); os.mkdir('w/.codex')"),
    attempt(
        "make it by /proc/self/cwd",
        "os.chdir(WORK); os.mkdir('/proc/self/cwd/.codex')",
    ),
    attempt("make it as a file", "write(WORK + '/.codex')").seen_at_the_end(),
    attempt("make it as a fifo", "os.mkfifo(WORK + '/.agents')").seen_at_the_end(),
    attempt(
        "make it as a socket",
        "socket.socket(socket.AF_UNIX).bind(WORK + '/.countersign')",
    )
    .seen_at_the_end(),
    attempt(
        "a name that changes while it is judged",
        "
shared = mmap.mmap(-1, 4096)
shared.write(WORK.encode() + b'/xcodex\\0')
name = ctypes.addressof(ctypes.c_char.from_buffer(shared))
at = len(WORK) + 1
def flip(turn):
    shared[at] = b'.x'[turn % 2]
def make():
    libc.mkdir(ctypes.c_void_p(name), 0o755)
    libc.rmdir(WORK.encode() + b'/xcodex')
race(flip, make)",
    )
    .seen_at_the_end(),
    attempt(
        "a folder that turns into a link while it is judged",
        "
os.symlink(WORK, 'link'); os.mkdir('x')
race(exchange('link', 'x'), lambda: os.mkdir('x/.codex'))",
    )
    .seen_at_the_end(),
    attempt(
        "a descriptor that turns into another while it is judged",
        "
sys.setswitchinterval(1e-6)
here, work = os.open(HERE, os.O_PATH), os.open(WORK, os.O_PATH)
folder = os.dup(here)
def flip():
    for turn in range(4000):
        os.dup2(work if turn % 2 else here, folder)
flipping = threading.Thread(target=flip); flipping.start()
while flipping.is_alive():
    try:
        os.mkdir('.codex', dir_fd=folder)
    except OSError:
        pass
    libc.rmdir(HERE.encode() + b'/.codex')",
    )
    .inside_only()
    .seen_at_the_end(),
];
