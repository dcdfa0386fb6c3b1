//! What the kernel offers beside files and sockets: mounts, namespaces, keys, tracing, modules, its own settings.

use super::attempt::{Attempt, attempt};

pub(super) const ATTEMPTS: &[Attempt] = &[
    attempt("program of core files", "path = '/proc/sys/kernel/core_pattern'; was = open(path).read(); write(path, was, os.O_WRONLY); through()").by_root(),
    attempt("a setting by a descriptor", "fd = os.open('/proc/sys/kernel/core_pattern', os.O_PATH); os.open(f'/proc/self/fd/{fd}', os.O_WRONLY); through()").by_root(),
    attempt("the host's name in /proc", "path = '/proc/sys/kernel/hostname'; write(path, open(path).read(), os.O_WRONLY); through()").by_root(),
    attempt("the host's name", "name = os.uname().nodename; call('sethostname', name, len(name)); through()").by_root(),
    attempt("the domain's name", "call('setdomainname', '(none)', 6); through()").by_root(),
    attempt("magic keys", "os.open('/proc/sysrq-trigger', os.O_WRONLY); through()").inside_only(),
    attempt("the kernel's log, written", "os.open('/dev/kmsg', os.O_WRONLY); through()").by_root(),
    attempt("the kernel's log, read", "call('klogctl', 3, ctypes.create_string_buffer(4096), 4096); through()").by_root(),
    attempt("memory of the machine", "os.open('/dev/mem', os.O_RDWR); through()").inside_only(),
    attempt("disks", "
for name in os.listdir('/dev'):
    try:
        if stat.S_ISBLK(os.stat('/dev/' + name).st_mode):
            os.open('/dev/' + name, os.O_RDWR | os.O_NONBLOCK)
            through()
    except OSError:
        pass").inside_only(),
    attempt("devices", "
for name in ('net/tun', 'fuse', 'kvm', 'loop-control', 'vsock', 'userfaultfd', 'uinput', 'cpu_dma_latency', 'btrfs-control'):
    try:
        os.open('/dev/' + name, os.O_RDWR | os.O_NONBLOCK)
        print(name)
        through()
    except OSError:
        pass").by_root(),
    attempt("a device file and what it leads to", "os.mknod('zero', stat.S_IFCHR | 0o666, os.makedev(1, 5)); os.open('zero', os.O_RDONLY); through()").by_root(),
    attempt("a block device file", "os.mknod('disk', stat.S_IFBLK | 0o666, os.makedev(8, 0)); through()").by_root(),
    attempt("settings of devices", "
for folder, _, files in os.walk('/sys/kernel/mm'):
    for name in files:
        try:
            os.open(folder + '/' + name, os.O_WRONLY)
            through()
        except OSError:
            pass").by_root(),
    attempt("a group of processes", "os.mkdir('/sys/fs/cgroup/' + MARK)").inside_only(),
    attempt("out of its group", "write('/sys/fs/cgroup/cgroup.procs', str(os.getpid()), os.O_WRONLY); through()").inside_only(),
    attempt("tracing files", "os.open('/sys/kernel/tracing/trace_marker', os.O_WRONLY); through()").inside_only(),
    attempt("mount", "call('mount', 'none', HERE, 'tmpfs', 0, None); through(); call('umount2', HERE, 2)").by_root(),
    attempt("bind", "call('mount', '/etc', HERE, None, 4096, None); through(); call('umount2', HERE, 2)").by_root(),
    attempt("make everything writable", "call('mount', 'none', '/', None, 32 | 4096, None); through()").inside_only(),
    attempt("unmount", "call('umount2', '/proc', 2); through()").inside_only(),
    attempt("the new way to mount: open", "call('syscall', 430, 'tmpfs', 0); through()").by_root(),
    attempt("the new way to mount: copy", "call('syscall', 428, -100, '/', 1); through()").by_root(),
    attempt("the new way to mount: attributes", "call('syscall', 442, -100, '/', 0, bytes(32), 32); through()").inside_only(),
    attempt("the new way to mount: move", "call('syscall', 429, -100, '/etc', -100, HERE, 0); through()").inside_only(),
    attempt("another root", "os.chroot('/'); through()").by_root(),
    attempt("another root by pivot", "call('syscall', number(155, 41), HERE, HERE); through()").inside_only(),
    attempt("a user namespace", "call('unshare', 0x10000000); through()"),
    attempt("a user namespace and a mount", "call('unshare', 0x10020000); call('mount', 'none', '/mnt', 'tmpfs', 0, None); through()"),
    attempt("a mount namespace", "call('unshare', 0x20000); through()").by_root(),
    attempt("a time namespace", "call('unshare', 0x80); through()").by_root(),
    attempt("a process in namespaces", "
if syscall(number(56, 220), 0x10000000 | 17, 0, 0, 0, 0) == 0:
    os._exit(0)
through()"),
    attempt("a process in namespaces, by clone3", "
if syscall(435, struct.pack('QQQQQQQQ', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64) == 0:
    os._exit(0)
through()"),
    attempt("enter a namespace", "call('setns', os.open('/proc/self/ns/net', os.O_RDONLY), 0); through()").by_root(),
    attempt("enter the first process's namespaces", "call('setns', os.pidfd_open(1), 0x20000); through()").inside_only(),
    attempt("another user", "os.setuid(1000 if os.getuid() != 1000 else 1001); through()").by_root(),
    attempt("other groups", "os.setgroups([1000]); through()").by_root(),
    attempt("its capabilities", "
import re
found = re.search('CapEff:\\\\s+(\\\\w+)', open('/proc/self/status').read())
int(found[1], 16) & ~0x1b and through()").by_root(),
    attempt("new privileges", "call('prctl', 39, 0, 0, 0, 0) == 0 and through()"),
    attempt("no filter", "call('prctl', 21, 0, 0, 0, 0) == 0 and through()"),
    attempt("a key", "syscall(number(248, 217), 'user', MARK, 'x', 1, -4); through()"),
    attempt("list of keys", "syscall(number(250, 219), 0, -4, 1); through()"),
    attempt("ask for a key", "
syscall(number(248, 217), 'user', MARK, 'x', 1, -2)
syscall(number(249, 218), 'user', MARK, None, -2); through()"),
    attempt("faults of memory", "syscall(number(323, 282), 1); through()"),
    attempt("programs in the kernel", "syscall(number(321, 280), 0, struct.pack('IIIIIIII', 2, 4, 4, 1, 0, 0, 0, 0), 32); through()").by_root(),
    attempt("counters", "
fd = syscall(number(298, 241), struct.pack('IIQQQQQ', 1, 112, 0, 0, 0, 0, 1 | 32 | 64) + bytes(64), 0, -1, -1, 0); through()").by_root(),
    attempt("queues of calls", "syscall(425, 8, ctypes.create_string_buffer(120)); through()"),
    attempt("a file by queues of calls", "
parameters = ctypes.create_string_buffer(120)
ring = syscall(425, 8, parameters)
mmap.mmap(ring, 4096); through()"),
    attempt("watch all files", "call('fanotify_init', 0, 0); through()").by_root(),
    attempt("a module", "syscall(number(313, 273), os.open('/etc/hostname', os.O_RDONLY), '', 0); through()").inside_only(),
    attempt("take a module away", "syscall(number(176, 106), 'no_such_module', 0o4000); through()").inside_only(),
    attempt("another kernel", "syscall(number(246, 104), 0, 0, 0, 0); through()").inside_only(),
    attempt("swap space", "call('swapon', OUT + '/file', 0); through()").inside_only(),
    attempt("restart", "syscall(number(169, 142), 0xfee1dead, 672274793, 0x89abcdef, None); through()").inside_only(),
    attempt("the clock", "time.clock_settime(time.CLOCK_REALTIME, time.time()); through()").inside_only(),
    attempt("the clock's speed", "call('adjtimex', struct.pack('I', 0x4000) + bytes(256)); through()").inside_only(),
    attempt("ports of the machine", "syscall(172, 3) if X86 else 1 / 0; through()").inside_only(),
    attempt("quotas", "syscall(number(179, 60), 0x80000100, None, 0, None); through()").inside_only(),
    attempt("the second set of numbers", "syscall(0x40000000 | 165, 'none', HERE, 'tmpfs', 0, None); through()").inside_only(),
    attempt("high bits in a number", "syscall((1 << 32) | number(165, 40), 'none', HERE, 'tmpfs', 0, None); through()").by_root(),
];
