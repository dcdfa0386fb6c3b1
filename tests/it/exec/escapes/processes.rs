//! Processes outside, and the keepers of the sandbox: signals, memory, descriptors, limits, priorities.

use super::attempt::{Attempt, attempt};

const PRIORITIES: &str = "priorities";

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("kill", "os.kill(SLEEPER, signal.SIGKILL)"),
    attempt("stop", "os.kill(SLEEPER, signal.SIGSTOP)"),
    attempt("signal", "os.kill(VICTIM, signal.SIGUSR1)"),
    attempt("signal a thread", "syscall(number(234, 131), VICTIM, VICTIM, signal.SIGUSR1)"),
    attempt("signal a group", "os.killpg(SLEEPER, signal.SIGTERM)"),
    attempt("queue a signal", "syscall(number(129, 138), VICTIM, signal.SIGUSR2, struct.pack('iii', signal.SIGUSR2, 0, -1) + bytes(116))"),
    attempt("signal by a descriptor", "signal.pidfd_send_signal(os.pidfd_open(VICTIM), signal.SIGUSR1)"),
    attempt("signal by a descriptor of a folder", "signal.pidfd_send_signal(os.open(f'/proc/{VICTIM}', os.O_RDONLY), signal.SIGUSR1)"),
    attempt("signal when a file is ready", "
reader, writer = os.pipe()
fcntl.fcntl(reader, fcntl.F_SETOWN, VICTIM); fcntl.fcntl(reader, 10, signal.SIGUSR1)
fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.write(writer, b'x'); time.sleep(0.1)"),
    // A signal that does nothing to those who do not wait for it: should it get out, it does no harm.
    attempt("signal everything", "os.kill(-1, signal.SIGURG)").inside_only(),
    attempt("kill the keeper", "
for pid in {1, KEEPER}:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass").inside_only(),
    attempt("stop the keeper", "
for pid in {1, KEEPER}:
    if b'countersign' in open(f'/proc/{pid}/cmdline', 'rb').read():
        os.kill(pid, signal.SIGSTOP)").inside_only(),
    attempt("trace", "call('ptrace', 16, VICTIM, 0, 0); os.waitpid(VICTIM, 0); call('ptrace', 17, VICTIM, 0, 0); through()"),
    attempt("trace without stopping", "call('ptrace', 0x4206, VICTIM, 0, 0); through()"),
    attempt("trace the first process", "call('ptrace', 0x4206, 1, 0, 0); through()").inside_only(),
    attempt("limits of the first process", "call('prlimit', 1, 7, struct.pack('QQ', 1, 1), None); through()").inside_only(),
    attempt("write memory by /proc", "
fd = os.open(f'/proc/{VICTIM}/mem', os.O_RDWR)
os.pwrite(fd, b'evil', MEMORY)"),
    attempt("read memory by /proc", "print(os.pread(os.open(f'/proc/{VICTIM}/mem', os.O_RDONLY), SECRET_LENGTH, SECRET))"),
    attempt("write memory", "
text = ctypes.create_string_buffer(b'evil')
call('process_vm_writev', VICTIM, struct.pack('QQ', ctypes.addressof(text), 4), 1, struct.pack('QQ', MEMORY, 4), 1, 0)"),
    attempt("read memory", "
text = ctypes.create_string_buffer(SECRET_LENGTH)
call('process_vm_readv', VICTIM, struct.pack('QQ', ctypes.addressof(text), SECRET_LENGTH), 1, struct.pack('QQ', SECRET, SECRET_LENGTH), 1, 0)
print(text.raw)"),
    attempt("memory of the first process", "os.open('/proc/1/mem', os.O_RDWR); through()").inside_only(),
    attempt("environment", "read(f'/proc/{SLEEPER}/environ')"),
    attempt("command line", "read(f'/proc/{VICTIM}/cmdline')").weaker_without_namespaces("command lines"),
    attempt("a file that only it has", "read(f'/proc/{VICTIM}/fd/{UNLINKED}')"),
    attempt("its descriptor", "
fd = syscall(438, os.pidfd_open(VICTIM), UNLINKED, 0)
print(os.pread(fd, 100, 0))"),
    attempt("its view of the disk", "write(f'/proc/{VICTIM}/root{OUT}/new')"),
    attempt("its folder", "os.listdir(f'/proc/{VICTIM}/cwd'); through()"),
    attempt("its namespaces", "os.open(f'/proc/{VICTIM}/ns/mnt', os.O_RDONLY); through()"),
    attempt("its map of memory", "open(f'/proc/{VICTIM}/maps').read(); through()"),
    attempt("the first process's view of the disk", "os.listdir('/proc/1/root/'); through()").inside_only(),
    attempt("descriptors of the first process", "os.readlink('/proc/1/fd/0'); through()").inside_only(),
    attempt("out-of-memory score", "write(f'/proc/{SLEEPER}/oom_score_adj', '500', os.O_WRONLY)"),
    attempt("limits", "call('prlimit', SLEEPER, 7, struct.pack('QQ', 3, 3), None)"),
    attempt("priority", "os.setpriority(os.PRIO_PROCESS, SLEEPER, 5)").weaker_without_namespaces(PRIORITIES),
    attempt("processors", "os.sched_setaffinity(SLEEPER, {0})").weaker_without_namespaces(PRIORITIES),
    attempt("scheduler", "os.sched_setscheduler(SLEEPER, os.SCHED_BATCH, os.sched_param(0))").weaker_without_namespaces(PRIORITIES),
    attempt("order of input and output", "syscall(number(251, 30), 1, SLEEPER, 3 << 13)").weaker_without_namespaces(PRIORITIES),
    attempt("compare with it", "syscall(number(312, 272), os.getpid(), VICTIM, 2, 0, 0); through()"),
    attempt("move its memory", "syscall(number(256, 238), VICTIM, 1, struct.pack('Q', 1), struct.pack('Q', 1)); through()").inside_only(),
];
