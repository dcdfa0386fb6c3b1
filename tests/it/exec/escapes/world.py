# Runs outside: the person's other programs, rolled into one. It listens on sockets, holds a terminal, shared memory
# and a secret, and tells on each line that it reads what was done to it since.
import ctypes, ctypes.util, fcntl, json, os, pty, select, signal, socket, struct, subprocess, sys, termios, tty

folder, token, own = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
INTACT = b"intact" * 16

signals = []
for number in range(1, 65):
    if number not in (signal.SIGCHLD, signal.SIGCONT):
        try:
            signal.signal(number, lambda number, _: signals.append(number))
        except (OSError, ValueError):
            pass


def listener(family, kind, address):
    made = socket.socket(family, kind)
    made.bind(address)
    if kind != socket.SOCK_DGRAM:
        if family != socket.AF_UNIX:
            made.setsockopt(socket.IPPROTO_TCP, 23, 16)
        made.listen(16)
    made.setblocking(False)
    return made


def maybe(make):
    try:
        return make()
    except OSError:
        return None


abstract = "countersign-" + own
listeners = {
    "tcp": listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
    "udp": listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
    "tcp6": maybe(lambda: listener(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))),
    "udp6": maybe(lambda: listener(socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0))),
    "stream": listener(socket.AF_UNIX, socket.SOCK_STREAM, folder + "/stream"),
    "packets": listener(socket.AF_UNIX, socket.SOCK_SEQPACKET, folder + "/packets"),
    "datagrams": listener(socket.AF_UNIX, socket.SOCK_DGRAM, folder + "/datagrams"),
    "abstract": listener(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract),
    "abstract datagrams": listener(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + abstract + "-d"),
}

memory = ctypes.create_string_buffer(INTACT)
secret = ctypes.create_string_buffer(token.encode())
# A file that only this process has.
unlinked = os.open(folder + "/unlinked", os.O_RDWR | os.O_CREAT, 0o600)
os.write(unlinked, token.encode())
os.unlink(folder + "/unlinked")

segment = libc.shmget(0, 4096, 0o1666)
shared = libc.shmat(segment, None, 0)
ctypes.memmove(shared, INTACT, len(INTACT))
queue = libc.msgget(0, 0o1666)
semaphores = libc.semget(0, 1, 0o1666)
libc.semctl(semaphores, 0, 16, 7)
posix_queue = libc.mq_open(("/countersign-" + own).encode(), os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o666, struct.pack("8l", 0, 4, 64, 0, 0, 0, 0, 0))
named = "/dev/shm/countersign-" + own
with open(named, "wb") as file:
    file.write(INTACT)

keyboard, terminal = pty.openpty()
tty.setraw(terminal)
os.set_blocking(keyboard, False)
# It does not outlive this process, however that ends.
sleeper = subprocess.Popen(
    ["sleep", "600"], start_new_session=True, env={"TOKEN": token}, preexec_fn=lambda: libc.prctl(1, signal.SIGKILL)
)


# A port that nobody listens on.
vacant = socket.socket()
vacant.bind(("127.0.0.1", 0))
free = vacant.getsockname()[1]
vacant.close()


def port(name):
    return listeners[name].getsockname()[1] if listeners[name] else 0


def traits(pid):
    with open(f"/proc/{pid}/oom_score_adj") as file:
        oom = file.read()
    with open(f"/proc/{pid}/environ", "rb") as file:
        environment = file.read().decode(errors="replace")
    with open(f"/proc/{pid}/stat") as file:
        state = file.read().rsplit(")", 1)[1].split()[0]
    return {
        "priority": os.getpriority(os.PRIO_PROCESS, pid),
        "processors": sorted(os.sched_getaffinity(pid)),
        "scheduler": os.sched_getscheduler(pid),
        "input and output": libc.syscall(252 if os.uname().machine == "x86_64" else 31, 1, pid),
        "open files": __import__("resource").prlimit(pid, 7),
        "out of memory": oom,
        "environment": environment,
        "stopped": state in "Tt",
    }


def look():
    found = []
    for name, made in listeners.items():
        while made:
            try:
                if made.type == socket.SOCK_DGRAM:
                    made.recv(4096)
                else:
                    made.accept()[0].close()
                found.append(f"its socket ({name}) was reached")
            except BlockingIOError:
                break
            except OSError as error:
                found.append(f"its socket ({name}) broke: {error}")
                break
    while signals:
        found.append(f"it got signal {signals.pop()}")
    try:
        socket.create_connection(("127.0.0.1", free), 1).close()
        found.append("a port of the machine was listened on")
    except OSError:
        pass
    if memory.value != INTACT:
        found.append("its memory was changed")
        memory.value = INTACT
    if ctypes.string_at(shared, len(INTACT)) != INTACT:
        found.append("its shared memory was changed")
        ctypes.memmove(shared, INTACT, len(INTACT))
    if libc.msgrcv(queue, ctypes.create_string_buffer(256), 128, 0, 0o4000) >= 0:
        found.append("its message queue was written to")
    if libc.semctl(semaphores, 0, 12) != 7:
        found.append("its semaphore was changed")
        libc.semctl(semaphores, 0, 16, 7)
    if posix_queue >= 0 and libc.mq_receive(posix_queue, ctypes.create_string_buffer(65536), 65536, None) >= 0:
        found.append("its POSIX message queue was written to")
    with open(named, "rb") as file:
        if file.read() != INTACT:
            found.append("its named shared memory was changed")
    with open(named, "wb") as file:
        file.write(INTACT)
    try:
        if os.read(keyboard, 4096):
            found.append("its terminal was written to")
    except BlockingIOError:
        pass
    waiting = struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, b"\0" * 4))[0]
    if waiting:
        found.append("words were put into its keyboard")
        termios.tcflush(terminal, termios.TCIFLUSH)
    if sleeper.poll() is not None:
        return found + ["its child was ended"]
    for pid in (os.getpid(), sleeper.pid):
        now = traits(pid)
        found += [f"{what} of {pid} changed: {before[pid][what]} {now[what]}" for what in now if now[what] != before[pid][what]]
    return found


# It has become its program.
while token not in traits(sleeper.pid)["environment"]:
    pass
before = {pid: traits(pid) for pid in (os.getpid(), sleeper.pid)}
names = {
    "PORT": port("tcp"),
    "UDP": port("udp"),
    "FREE": free,
    "PORT6": port("tcp6"),
    "UDP6": port("udp6"),
    "SOCKETS": folder,
    "ABSTRACT": abstract,
    "VICTIM": os.getpid(),
    "SLEEPER": sleeper.pid,
    "MEMORY": ctypes.addressof(memory),
    "SECRET": ctypes.addressof(secret),
    "SECRET_LENGTH": len(token),
    "UNLINKED": unlinked,
    "SEGMENT": segment,
    "QUEUE": queue,
    "SEMAPHORES": semaphores,
    "POSIX_QUEUE": "/countersign-" + own,
    "NAMED": named,
    "TERMINAL": os.ttyname(terminal),
}
print(json.dumps(names), flush=True)
try:
    for line in sys.stdin:
        print(json.dumps({"found": look()}), flush=True)
finally:
    sleeper.kill()
    libc.shmctl(segment, 0, None)
    libc.msgctl(queue, 0, None)
    libc.semctl(semaphores, 0, 0)
    libc.mq_unlink(("/countersign-" + own).encode())
    os.unlink(named)
