//! Memory and processes of all that a command starts: programs that take more than they may, in all the ways in which
//! memory can be had without showing. Each says that it got through if it could keep what it took.

use super::repel;
use crate::exec::fallback::plain_command;
use crate::exec::place::{Place, User, has, is_root, runs_with, users, words};
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

/// What a command may take here. What it tries to take is several times as much, and no burden for the machine.
const MEMORY: &str = "128 MiB";
const PROCESSES: &str = "60";

/// In how much time each must have been ended, on a slow machine.
const SOON: Duration = Duration::from_secs(30);

/// What all of the programs below begin with.
const TOOLS: &str = r#"
import ctypes, mmap, os, signal, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
MIB = 1 << 20
MUCH = 640 * MIB
def fill(size=MUCH):
    return bytearray(b'x') * size
def through():
    time.sleep(6)
    print('got through', flush=True)
    os._exit(0)
def quiet():
    time.sleep(30)
    os._exit(0)
def child():
    return os.fork() == 0
def refused(attempt):
    try:
        attempt()
    except OSError:
        return
    print('got through', flush=True)
"#;

/// How a command has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Ended, as it took too much memory.
    Memory,
    /// Refused or ended, as it had too many processes.
    Processes,
    /// It does no harm and goes on: the last that it prints is `fine`.
    Fine,
    /// What it tried was refused, or else it was ended for it.
    Refused,
}

const ROWS: &[(&str, &str, End)] = &[
    ("one process, at once", "b = fill(); through()", End::Memory),
    (
        "one process, little by little",
        "b = []\nwhile len(b) < 80:\n    b.append(fill(8 * MIB)); time.sleep(0.01)\nthrough()",
        End::Memory,
    ),
    (
        "many small ones",
        "for _ in range(40):\n    if child(): b = fill(16 * MIB); quiet()\nthrough()",
        End::Memory,
    ),
    (
        "a chain, of which each goes on in another",
        "for _ in range(40):\n    b = fill(16 * MIB)\n    if not child(): quiet()\nthrough()",
        End::Memory,
    ),
    (
        "a daemon in a session of its own",
        "if child():\n    os.setsid()\n    if child(): b = fill(); through()\n    os._exit(0)\nos.wait(); through()",
        End::Memory,
    ),
    (
        "a daemon without streams, its parents gone",
        "if child():\n    os.setsid()\n    if child():\n        os.closerange(0, 3); b = fill(); time.sleep(6)\n        \
         os._exit(0)\n    os._exit(0)\nos.wait(); through()",
        End::Memory,
    ),
    (
        "a thread whose first has ended",
        "def work(): b = fill(); through()\nthreading.Thread(target=work).start()\n\
         libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 0)",
        End::Memory,
    ),
    (
        "threads",
        "b = []\nfor _ in range(20): threading.Thread(target=lambda: b.append(fill(32 * MIB))).start()\nthrough()",
        End::Memory,
    ),
    (
        "a process that may not be looked into",
        "libc.prctl(4, 0, 0, 0, 0); b = fill(); through()",
        End::Memory,
    ),
    (
        "a shared mapping",
        "m = mmap.mmap(-1, MUCH)\nfor at in range(0, MUCH, MIB): m[at:at + MIB] = b'x' * MIB\nthrough()",
        End::Memory,
    ),
    (
        "a file in memory",
        "f = os.memfd_create('x')\nfor _ in range(640): os.write(f, b'x' * MIB)\nthrough()",
        End::Memory,
    ),
    (
        "a file in memory that is only on its way",
        "a, b = socket.socketpair()\nf = os.memfd_create('x')\nfor _ in range(640): os.write(f, b'x' * MIB)\n\
         socket.send_fds(a, [b'x'], [f]); os.close(f); through()",
        End::Memory,
    ),
    (
        "a file in /dev/shm",
        "try:\n    f = open('/dev/shm/countersign-much', 'wb')\nexcept OSError: sys.exit(3)\nos.unlink(f.name)\n\
         for _ in range(640): f.write(b'x' * MIB)\nthrough()",
        End::Refused,
    ),
    (
        "shared memory of the old kind, attached nowhere",
        "i = libc.shmget(0, MUCH, 0o1600)\nif i < 0: sys.exit(3)\nlibc.shmat.restype = ctypes.c_void_p\n\
         p = libc.shmat(i, None, 0)\nctypes.memset(p, 1, MUCH); libc.shmdt(ctypes.c_void_p(p))\n\
         time.sleep(4); libc.shmctl(i, 0, None); print('got through', flush=True)",
        End::Refused,
    ),
    (
        "memory that is locked",
        "m = mmap.mmap(-1, MUCH, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)\n\
         libc.mlockall(3); through()",
        End::Memory,
    ),
    (
        "what comes and goes quicker than it is looked for",
        "for _ in range(4000):\n    if child(): b = fill(400 * MIB); os._exit(0)\n    os.wait()\nthrough()",
        End::Memory,
    ),
    (
        "a command that wants to leave its group",
        "found = []\nfor folder, _, names in os.walk('/sys/fs/cgroup'):\n    \
         found += [os.path.join(folder, n) for n in names if n in ('cgroup.procs', 'tasks', 'memory.max', 'pids.max')]\n\
         for name in found: refused(lambda: open(name, 'w').write('0'))\nfor name in ('a', 'countersign-x'):\n    \
         refused(lambda: os.mkdir('/sys/fs/cgroup/' + name))\nb = fill(); through()",
        End::Memory,
    ),
    (
        "a command that wants to be the last to go",
        "for value in ('0', '-1000'): refused(lambda: open('/proc/self/oom_score_adj', 'w').write(value))\nsys.exit(3)",
        End::Refused,
    ),
    (
        "a command that stops whoever looks",
        "for pid in {os.getppid(), 1, *range(2, 40)}:\n    if pid == os.getpid(): continue\n    \
         try: os.kill(pid, signal.SIGSTOP)\n    except OSError: pass\nb = fill(); through()",
        End::Memory,
    ),
    (
        "while its keeper follows links that go a long way round",
        "os.makedirs('links/folder')\nround = 'd/../' * 180\n\
         for at in range(900): os.symlink('../' + round + 'c0', f'links/folder/{at}')\n\
         for at in range(39): os.symlink(f'{round}c{at + 1}', f'links/c{at}')\nopen('links/c39', 'w').close()\n\
         if child():\n    try: os.rename('links/folder', 'links/moved')\n    except OSError: pass\n    quiet()\n\
         time.sleep(0.3); b = fill(); through()",
        End::Memory,
    ),
    (
        "a process that asks for a great deal and uses little",
        "m = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\nm[0] = 1\n\
         time.sleep(1); print('fine')",
        End::Fine,
    ),
    (
        "many that share what one had",
        "b = fill(30 * MIB)\npids = []\nfor _ in range(12):\n    pid = os.fork()\n    if pid == 0:\n        time.sleep(1.5)\n        \
         os._exit(0)\n    pids.append(pid)\nfor pid in pids: os.waitpid(pid, 0)\nprint('fine')",
        End::Fine,
    ),
    (
        "large files that are written and read",
        "with open('large', 'wb') as f:\n    for _ in range(400): f.write(b'x' * MIB)\nwith open('large', 'rb') as f:\n    \
         while f.read(MIB): pass\nos.unlink('large'); time.sleep(0.6); print('fine')",
        End::Fine,
    ),
    (
        "one memory with two processes, for a moment and often",
        "b = fill(80 * MIB)\nfor _ in range(400): os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)\nprint('fine')",
        End::Fine,
    ),
    (
        "pipes, each full",
        "import resource\nn = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n\
         resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))\nkept = []\ntry:\n    for _ in range(40000):\n        \
         r, w = os.pipe(); os.set_blocking(w, False)\n        try: os.write(w, b'x' * 65536)\n        \
         except BlockingIOError: pass\n        kept += [r, w]\nexcept OSError: sys.exit(3)\nthrough()",
        End::Refused,
    ),
    (
        "memory that is given back",
        "for _ in range(20):\n    b = fill(60 * MIB); del b\ntime.sleep(0.3); print('fine')",
        End::Fine,
    ),
    (
        "a bomb of processes",
        "try:\n    for _ in range(1500):\n        if child(): quiet()\nexcept OSError: sys.exit(3)\nthrough()",
        End::Processes,
    ),
    (
        "processes in sessions of their own, parents gone",
        "try:\n    for _ in range(1500):\n        if child():\n            os.setsid()\n            \
         if child(): quiet()\n            os._exit(0)\n        if os.wait()[1]: os._exit(3)\nexcept OSError: sys.exit(3)\nthrough()",
        End::Processes,
    ),
    (
        "threads, of one process",
        "threading.stack_size(65536)\ntry:\n    \
         for _ in range(1500): threading.Thread(target=quiet, daemon=True).start()\nexcept RuntimeError: os._exit(3)\nthrough()",
        End::Processes,
    ),
    (
        "processes that start others on and on",
        "end = time.time() + 3\nwhile time.time() < end:\n    try: os.fork()\n    except OSError: pass\n    \
         if len(os.listdir('/proc')) > 1500: through()\nos._exit(3)",
        End::Processes,
    ),
    (
        "threads in many processes",
        "threading.stack_size(65536)\nr, w = os.pipe()\ndef go(more):\n    \
         for _ in range(40): threading.Thread(target=quiet, daemon=True).start()\n    \
         if not more: os.write(w, b't')\n    elif child(): go(more - 1)\n    quiet()\n\
         if child():\n    try: go(40)\n    except (OSError, RuntimeError): os.write(w, b'n'); quiet()\n\
         if os.read(r, 1) == b'n': sys.exit(3)\nthrough()",
        End::Processes,
    ),
];

/// Memory that no process has mapped, or that is none of its own. A kernel that has no such memory refuses it.
const UNMAPPED: &[(&str, &str, End)] = &[
    (
        "secret memory that is mapped no longer",
        "f = libc.syscall(447, 0)\nif f < 0: sys.exit(3)\ntry:\n    os.ftruncate(f, 320 * MIB)\n    \
         for at in range(0, 320, 4):\n        m = mmap.mmap(f, 4 * MIB, offset=at * MIB); m[:] = b'x' * (4 * MIB); m.close()\n\
         except OSError: sys.exit(3)\nthrough()",
        End::Refused,
    ),
    (
        "huge pages of which a pipe holds a part",
        "if '[never]' in open('/sys/kernel/mm/transparent_hugepage/enabled').read(): sys.exit(3)\n\
         p, n = ctypes.c_void_p, ctypes.c_size_t\nlibc.mmap.restype = p\n\
         libc.mmap.argtypes = [p, n, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]\nkept = []\n\
         for at in range(160):\n    if at % 16 == 0: kept.append(os.pipe())\n    \
         m = libc.mmap(None, 4 * MIB, 3, 0x22, -1, 0)\n    a = (m + 2 * MIB - 1) & -(2 * MIB)\n    \
         libc.madvise(p(a), n(2 * MIB), 14); ctypes.memset(a, 1, 2 * MIB)\n    \
         if libc.vmsplice(kept[-1][1], (n * 2)(a, 4096), n(1), 2) < 0: sys.exit(3)\n    libc.munmap(p(m), n(4 * MIB))\nthrough()",
        End::Refused,
    ),
    (
        "pages of a file that many have locked",
        "W = 7 * MIB\nf = open('locked', 'w+b'); os.unlink('locked')\nfor _ in range(44): f.write(b'x' * W)\nf.flush()\n\
         for at in range(44):\n    if child():\n        m = mmap.mmap(f.fileno(), W, offset=at * W)\n        \
         a = ctypes.addressof(ctypes.c_char.from_buffer(m))\n        \
         if libc.mlock(ctypes.c_void_p(a), ctypes.c_size_t(W)): os._exit(3)\n        quiet()\n\
         time.sleep(3)\nif os.waitpid(-1, os.WNOHANG)[0]: sys.exit(3)\nthrough()",
        End::Refused,
    ),
    (
        "tables of the kernel",
        "try:\n    m = mmap.mmap(-1, 600 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)\n    \
         m.madvise(15)\nexcept OSError: sys.exit(3)\nfor at in range(0, 600 << 30, 2 * MIB): m[at]\nthrough()",
        End::Refused,
    ),
];

/// What belongs to no process counts with every command that runs meanwhile, so they run one after the other: also where
/// each test is a process of its own.
fn alone() -> File {
    let lock = File::create(std::env::temp_dir().join("countersign-test-limits.lock")).expect("a lock");
    lock.lock().expect("a lock");
    lock
}

/// How the sandbox is put around a command.
type Around = fn(&Place, &[&str], &[&str]) -> Command;

fn attempt(place: &Place, around: Around, (name, program, end): &(&str, &str, End)) -> Result<(), String> {
    // One that outlived its command would be found by this.
    let mark = format!("countersign-limits-{}-{}", std::process::id(), name.replace(' ', "-"));
    let program = format!("{TOOLS}{program}");
    // Each bound by itself: many processes take memory too.
    let all = match end {
        End::Processes => ["--memory", "1 GiB", "--processes", PROCESSES],
        _ => ["--memory", MEMORY, "--processes", "2048"],
    };
    let begun = Instant::now();
    let output = around(place, &all, &["python3", "-c", &program, &mark])
        .output()
        .map_err(|error| error.to_string())?;
    let said = words(&output);
    let told = |what: &str| said.contains(what);
    if begun.elapsed() > SOON {
        return Err(format!("it took {:?}: {said}", begun.elapsed()));
    }
    if told("got through") || told("Traceback") && !told("fine") {
        return Err(said);
    }
    let patience = Instant::now() + Duration::from_secs(10);
    while runs_with(&mark) {
        if Instant::now() > patience {
            return Err(format!("something is left: {said}"));
        }
    }
    let starved = told("it used more than 128 MiB of memory") && told("limits.memory");
    let killed = output.status.code() == Some(137) || output.status.signal().is_some();
    let good = match end {
        End::Memory => starved && killed,
        End::Processes => output.status.code() == Some(3) || told("more than 60 processes") && killed,
        End::Refused => output.status.code() == Some(3) || starved && killed,
        End::Fine => output.status.success() && String::from_utf8_lossy(&output.stdout).ends_with("fine\n"),
    };
    if good { Ok(()) } else { Err(said) }
}

#[test]
fn in_namespaces() {
    if !has("python3") {
        return;
    }
    let _alone = alone();
    for user in users() {
        let place = Place::new(user);
        repel(ROWS.iter().chain(UNMAPPED), |row| attempt(&place, Place::command, row));
    }
}

#[test]
fn without_namespaces() {
    if !(has("python3") && has("unshare") && has("setpriv")) {
        return;
    }
    let _alone = alone();
    for user in users() {
        let place = Place::new(user);
        repel(ROWS.iter().chain(UNMAPPED), |row| attempt(&place, plain_command, row));
    }
}

/// Where the keeper sees no group, it knows how much the machine has.
#[test]
fn where_no_group_is_seen() {
    if !(has("python3") && has("unshare") && has("setpriv") && has("mount")) {
        return;
    }
    let hidden: Around = |place, options, argv| {
        let mut command = Command::new("unshare");
        if !is_root() {
            command.args(["-U", "-r"]);
        }
        command.args([
            "-m",
            "sh",
            "-c",
            "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"",
            "sh",
        ]);
        command
            .arg(&place.program)
            .arg("sandbox")
            .args(options)
            .arg("--")
            .args(argv);
        place.dress(&mut command);
        command
    };
    let _alone = alone();
    let place = Place::new(User::Own);
    let shared = ROWS.iter().filter(|row| row.0 == "a shared mapping");
    repel(shared.chain(UNMAPPED), |row| attempt(&place, hidden, row));
}

/// Where the kernel counts them there are never more than there may be, not even for a moment.
#[test]
fn no_more_processes_begin_than_there_may_be() {
    if !has("python3") {
        return;
    }
    let _alone = alone();
    let program = format!(
        "{TOOLS}\npids = []\ntry:\n    while len(pids) < 1000:\n        pid = os.fork()\n        if pid == 0: quiet()\n        \
         pids.append(pid)\nexcept OSError: pass\nprint('began', len(pids), flush=True)\n\
         for pid in pids:\n    os.kill(pid, 9)\n    os.waitpid(pid, 0)"
    );
    for user in users() {
        let place = Place::new(user);
        // Twice, as ids are handed out from the beginning again.
        let twice = "python3 -c \"$0\"; python3 -c \"$0\"";
        let options = ["--memory", "1 GiB", "--processes", PROCESSES];
        let output = place
            .command(&options, &["sh", "-c", twice, &program])
            .output()
            .expect("a command");
        let said = words(&output);
        let printed = String::from_utf8_lossy(&output.stdout);
        // The keeper looks after root's on older kernels.
        if said.contains("more than 60 processes") {
            continue;
        }
        let began: Vec<u64> = printed
            .lines()
            .filter_map(|line| line.strip_prefix("began ")?.trim().parse().ok())
            .collect();
        assert!(began.len() == 2 && began.iter().all(|count| *count <= 60), "{said}");
    }
}

/// Full access has no walls, and the same bounds.
#[test]
fn with_full_access() {
    if !has("python3") {
        return;
    }
    let full: Around = |place, options, argv| {
        let options: Vec<&str> = ["--policy", "full-access"].iter().chain(options).copied().collect();
        place.command(&options, argv)
    };
    // Who has all rights can also keep the keeper from its work: this is a bound on accidents.
    let harmless = ROWS
        .iter()
        .filter(|row| row.2 != End::Refused && !row.0.contains("wants to") && !row.0.contains("stops"));
    let _alone = alone();
    for user in users() {
        let place = Place::new(user);
        repel(harmless.clone().chain(UNMAPPED), |row| attempt(&place, full, row));
    }
}
