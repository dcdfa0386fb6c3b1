//! The wall of system calls: a filter in classic BPF that refuses what no confined command needs, and hands the few
//! calls that depend on a path to the keeper.

use super::metadata;
use libc::{c_int, c_long, sock_filter};

/// What the filter is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub network: bool,
    /// Whether the command has a network of its own without a way out, in which its processes may talk by TCP.
    pub own_network: bool,
    /// Whether somebody makes connections for it that it could not make itself.
    pub brokered: bool,
    /// Whether shared memory, semaphores and message queues are its own.
    pub own_ipc: bool,
    /// Calls that change modes, owners, times and attributes are asked about.
    pub watch_metadata: bool,
    /// Calls that make an entry in a folder are asked about.
    pub watch_names: bool,
    /// Calls that write a file by its name are asked about.
    pub watch_writes: bool,
    /// Those that remove one, or cut it, too.
    pub watch_removal: bool,
    /// Whether there is somebody to ask. If not, nothing connects, but to the network where there is one.
    pub ask: bool,
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_003E);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

const ALLOW: u32 = 0x7FFF_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ASK: u32 = 0x7FC0_0000;
const fn errno(number: c_int) -> u32 {
    0x0005_0000 | number as u32
}

/// Refused whatever their arguments: other processes' memory, keys, modules, mounts, clocks and the like.
const REFUSED: &[c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    // open_tree_attr, which the C library does not name yet.
    467,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_uselib, libc::SYS_nfsservctl];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[libc::SYS_nfsservctl];

/// Answered as if the kernel did not have them, so that programs take their other way.
const ABSENT: &[c_long] = &[
    // The flags lie in memory, where a filter cannot look; the C library falls back to clone.
    libc::SYS_clone3,
    // Debuggers fall back to ptrace, which works on the command's own processes.
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    // Memory that no process has mapped, which nobody who looks after the bound could tell from others'. Programs that give
    // pages to a pipe write them else, and those that want memory nobody sees lock some.
    libc::SYS_memfd_secret,
    libc::SYS_vmsplice,
];

/// Shared memory, semaphores and message queues, which have no owner but the user.
const IPC: &[c_long] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_msgctl,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];

/// How a program may ask to be run: as usual, with addresses that are the same each time (debuggers), or only asking.
const PERSONALITIES: [u32; 3] = [0, 0x0004_0000, 0xFFFF_FFFF];

/// In the flags of a message: connects a socket without `connect`, to an address in memory.
const FAST_OPEN: u32 = libc::MSG_FASTOPEN as u32;

/// Calls that make a name in a folder.
pub(super) const NAMING: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    libc::SYS_renameat,
    libc::SYS_mkdirat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
];

/// Calls that make an entry that is no folder and no link, whatever their arguments.
const MAKING: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    libc::SYS_mknodat,
    // Its flags lie in memory.
    libc::SYS_openat2,
    // Of a socket with a path; its address lies in memory.
    libc::SYS_bind,
];

/// Calls that remove an entry, or what is in it.
pub(super) const REMOVING: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    libc::SYS_unlinkat,
    libc::SYS_truncate,
];

/// Flags with which a file is opened to be written or made.
pub(super) const WRITING: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;

/// New namespaces, as bits of clone and unshare: mount, cgroup, uts, ipc, user, pid, network.
const NAMESPACES: u32 = 0x7E02_0000;
const TIME_NAMESPACE: u32 = 0x80;

/// Terminal requests that put words into somebody else's keyboard or take the console.
const TERMINAL_REQUESTS: [u32; 3] = [0x5412, 0x541C, 0x541D];

/// Requests of btrfs that make and delete whole volumes in a folder, by names that neither Landlock nor the keeper sees.
const VOLUME_REQUESTS: [u32; 6] = [
    0x5000_9401, // BTRFS_IOC_SNAP_CREATE
    0x5000_940E, // BTRFS_IOC_SUBVOL_CREATE
    0x5000_940F, // BTRFS_IOC_SNAP_DESTROY
    0x5000_9417, // BTRFS_IOC_SNAP_CREATE_V2
    0x5000_9418, // BTRFS_IOC_SUBVOL_CREATE_V2
    0x5000_943F, // BTRFS_IOC_SNAP_DESTROY_V2
];

/// Requests by which the owner of a file changes its flags, version, project or seal, also where it is open to be read only,
/// and those that seal a volume: Landlock sees none of them.
const FILE_REQUESTS: [u32; 12] = [
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x401C_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4004_7602, // FS_IOC32_SETVERSION
    0x4004_7211, // FAT_IOCTL_SET_ATTRIBUTES
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x800C_6613, // FS_IOC_SET_ENCRYPTION_POLICY
    0x4008_941A, // BTRFS_IOC_SUBVOL_SETFLAGS
    0xC0C8_9425, // BTRFS_IOC_SET_RECEIVED_SUBVOL
    0xC0C0_9425, // BTRFS_IOC_SET_RECEIVED_SUBVOL_32
];

/// `FS_IOC_REMOVE_ENCRYPTION_KEY` takes a key away from a file system, and with it the person's encrypted files.
const TAKE_KEY: u32 = 0xC040_6618;

/// The filter, or none on an architecture whose numbers it does not know.
pub(super) fn filter(rules: Rules) -> Option<Vec<sock_filter>> {
    let mut program = Program(Vec::with_capacity(512));
    program.load(4);
    program.unless_equal(ARCHITECTURE?, &[give(KILL_PROCESS)]);
    program.load(0);
    // The second set of numbers on this architecture, which would slip by the list.
    #[cfg(target_arch = "x86_64")]
    program.when_at_least(0x4000_0000, &[give(errno(libc::ENOSYS))]);
    let mut calls = judged(rules);
    // The first that is said of a call holds.
    calls.sort_by_key(|(call, _)| *call);
    calls.dedup_by_key(|(call, _)| *call);
    program.choose(&calls);
    Some(program.0)
}

/// A call, and what is done when it is made: instructions that end in an action each.
type Judged = (u32, Vec<sock_filter>);

/// What is not simply allowed.
fn judged(rules: Rules) -> Vec<Judged> {
    let mut calls = Calls(Vec::with_capacity(128));
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        calls.when_equal(*call as u32, &[give(errno(libc::EPERM))]);
    }
    for call in ABSENT {
        calls.when_equal(*call as u32, &[give(errno(libc::ENOSYS))]);
    }
    calls.when_equal(libc::SYS_clone as u32, &deny_bits(0, NAMESPACES));
    calls.when_equal(libc::SYS_unshare as u32, &deny_bits(0, NAMESPACES | TIME_NAMESPACE));
    calls.when_equal(libc::SYS_personality as u32, &personalities());
    if !rules.own_ipc {
        for call in IPC {
            calls.when_equal(*call as u32, &[give(errno(libc::EPERM))]);
        }
    }
    calls.when_equal(libc::SYS_prlimit64 as u32, &own_limits());
    calls.when_equal(libc::SYS_fcntl as u32, &leases());
    calls.when_equal(libc::SYS_ioctl as u32, &requests(rules));
    let tcp = rules.ask && (rules.own_network || rules.brokered);
    calls.when_equal(libc::SYS_socket as u32, &sockets(rules.network, tcp));
    calls.when_equal(libc::SYS_socketpair as u32, &sockets(false, false));
    if !rules.network && tcp {
        calls.when_equal(libc::SYS_sendto as u32, &deny_bits(3, FAST_OPEN));
        calls.when_equal(libc::SYS_sendmsg as u32, &deny_bits(2, FAST_OPEN));
        calls.when_equal(libc::SYS_sendmmsg as u32, &deny_bits(3, FAST_OPEN));
        if rules.brokered {
            // A connection that was made outside may end and be used anew.
            calls.when_equal(libc::SYS_listen as u32, &[give(ASK)]);
        }
    }
    let connect = match (rules.ask, rules.network) {
        (true, _) => ASK,
        (false, true) => ALLOW,
        (false, false) => errno(libc::EPERM),
    };
    calls.when_equal(libc::SYS_connect as u32, &[give(connect)]);
    if rules.watch_names && rules.ask {
        for call in NAMING {
            calls.when_equal(*call as u32, &[give(ASK)]);
        }
    }
    if rules.watch_writes && rules.ask {
        for call in MAKING {
            calls.when_equal(*call as u32, &[give(ASK)]);
        }
        #[cfg(target_arch = "x86_64")]
        calls.when_equal(libc::SYS_open as u32, &ask_bits(1, WRITING));
        calls.when_equal(libc::SYS_openat as u32, &ask_bits(2, WRITING));
    }
    if rules.watch_removal && rules.ask {
        for call in REMOVING {
            calls.when_equal(*call as u32, &[give(ASK)]);
        }
    }
    if rules.watch_metadata {
        calls.when_equal(metadata::FILE_SETATTR as u32, &[give(errno(libc::ENOSYS))]);
    }
    if rules.watch_metadata && rules.ask {
        for call in metadata::CHANGING {
            calls.when_equal(*call as u32, &[give(ASK)]);
        }
        for call in metadata::CHANGING_NEWER {
            calls.when_equal(call as u32, &[give(errno(libc::ENOSYS))]);
        }
    }
    calls.0
}

/// Whether a filter can be made for this architecture.
pub(super) fn known_architecture() -> bool {
    ARCHITECTURE.is_some()
}

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_ANY_BIT: u16 = 0x45;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;

const fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

const fn give(action: u32) -> sock_filter {
    instruction(RETURN, 0, 0, action)
}

/// Loads the low half of an argument, which is all that the kernel reads of an `int`.
const fn argument(index: u32) -> sock_filter {
    instruction(LOAD, 0, 0, 16 + 8 * index)
}

/// What is said of calls, in the order in which it is said.
struct Calls(Vec<Judged>);

impl Calls {
    fn when_equal(&mut self, call: u32, block: &[sock_filter]) {
        self.0.push((call, block.to_vec()));
    }
}

/// Calls that are compared one by one.
const FEW: usize = 3;

/// Blocks end in a `give` each, so that the number of the call stays loaded where they are skipped.
struct Program(Vec<sock_filter>);

impl Program {
    fn load(&mut self, offset: u32) {
        self.0.push(instruction(LOAD, 0, 0, offset));
    }

    fn when_equal(&mut self, value: u32, block: &[sock_filter]) {
        self.0.push(instruction(JUMP_EQUAL, 0, block.len() as u8, value));
        self.0.extend_from_slice(block);
    }

    fn unless_equal(&mut self, value: u32, block: &[sock_filter]) {
        self.0.push(instruction(JUMP_EQUAL, block.len() as u8, 0, value));
        self.0.extend_from_slice(block);
    }

    /// Finds the call among these, which are in order, by halves: when the filter is put up, the kernel runs it for every
    /// call that there is.
    fn choose(&mut self, calls: &[Judged]) {
        if calls.len() <= FEW {
            for (call, block) in calls {
                self.when_equal(*call, block);
            }
            self.0.push(give(ALLOW));
            return;
        }
        let (lower, upper) = calls.split_at(calls.len() / 2);
        let mut below = Program(Vec::new());
        below.choose(lower);
        let skipped = below.0.len();
        match u8::try_from(skipped) {
            Ok(skipped) => self.0.push(instruction(JUMP_AT_LEAST, skipped, 0, upper[0].0)),
            Err(_) => {
                self.0.push(instruction(JUMP_AT_LEAST, 0, 1, upper[0].0));
                self.0.push(instruction(JUMP, 0, 0, skipped as u32));
            }
        }
        self.0.append(&mut below.0);
        self.choose(upper);
    }

    #[cfg(target_arch = "x86_64")]
    fn when_at_least(&mut self, value: u32, block: &[sock_filter]) {
        self.0.push(instruction(JUMP_AT_LEAST, 0, block.len() as u8, value));
        self.0.extend_from_slice(block);
    }
}

fn deny_bits(index: u32, bits: u32) -> [sock_filter; 4] {
    [
        argument(index),
        instruction(JUMP_ANY_BIT, 0, 1, bits),
        give(errno(libc::EPERM)),
        give(ALLOW),
    ]
}

fn ask_bits(index: u32, bits: u32) -> [sock_filter; 4] {
    [
        argument(index),
        instruction(JUMP_ANY_BIT, 0, 1, bits),
        give(ASK),
        give(ALLOW),
    ]
}

/// The limits of other processes, its keeper's among them, are not the command's to set.
fn own_limits() -> [sock_filter; 4] {
    [
        argument(0),
        instruction(JUMP_EQUAL, 0, 1, 0),
        give(ALLOW),
        give(errno(libc::EPERM)),
    ]
}

/// A lease on a file that can only be read makes everybody wait who opens it for writing.
fn leases() -> [sock_filter; 4] {
    [
        argument(1),
        instruction(JUMP_EQUAL, 0, 1, libc::F_SETLEASE as u32),
        give(errno(libc::EPERM)),
        give(ALLOW),
    ]
}

fn personalities() -> [sock_filter; 6] {
    let [usual, same_addresses, asking] = PERSONALITIES;
    [
        argument(0),
        instruction(JUMP_EQUAL, 2, 0, usual),
        instruction(JUMP_EQUAL, 1, 0, same_addresses),
        instruction(JUMP_EQUAL, 0, 1, asking),
        give(ALLOW),
        give(errno(libc::EPERM)),
    ]
}

/// Requests to devices and files that are refused; what changes files only where no view of the disk keeps them, and what makes
/// names also where names count.
fn requests(rules: Rules) -> Vec<sock_filter> {
    let mut refused = TERMINAL_REQUESTS.to_vec();
    refused.push(TAKE_KEY);
    if rules.watch_metadata || rules.watch_names {
        refused.extend(VOLUME_REQUESTS);
    }
    if rules.watch_metadata {
        refused.extend(FILE_REQUESTS);
    }
    let mut block = vec![argument(1)];
    for (at, request) in refused.iter().enumerate() {
        let left = refused.len() - at;
        block.push(instruction(JUMP_EQUAL, left as u8, 0, *request));
    }
    block.extend([give(ALLOW), give(errno(libc::EPERM))]);
    block
}

/// Which sockets can be made: streams between processes always (whom they connect to is the keeper's affair), and
/// with a network the internet's and the routing table's. With `tcp` alone only those whose connections are asked about.
/// Datagrams between processes would name their receiver in memory, where neither filter nor keeper sees it.
fn sockets(network: bool, tcp: bool) -> Vec<sock_filter> {
    let unix = libc::AF_UNIX as u32;
    let mut block = vec![argument(0)];
    if network {
        block.extend([
            instruction(JUMP_EQUAL, 1, 0, libc::AF_INET as u32),
            instruction(JUMP_EQUAL, 0, 1, libc::AF_INET6 as u32),
            give(ALLOW),
            instruction(JUMP_EQUAL, 0, 4, libc::AF_NETLINK as u32),
            argument(2),
            instruction(JUMP_EQUAL, 0, 1, libc::NETLINK_ROUTE as u32),
            give(ALLOW),
            give(errno(libc::EPERM)),
        ]);
    } else if tcp {
        block.extend([
            instruction(JUMP_EQUAL, 1, 0, libc::AF_INET as u32),
            instruction(JUMP_EQUAL, 0, 8, libc::AF_INET6 as u32),
            argument(1),
            instruction(AND, 0, 0, 0xF),
            instruction(JUMP_EQUAL, 0, 4, libc::SOCK_STREAM as u32),
            argument(2),
            instruction(JUMP_EQUAL, 1, 0, 0),
            instruction(JUMP_EQUAL, 0, 1, libc::IPPROTO_TCP as u32),
            give(ALLOW),
            give(errno(libc::EPERM)),
        ]);
    }
    block.extend([
        instruction(JUMP_EQUAL, 1, 0, unix),
        give(errno(libc::EPERM)),
        argument(1),
        instruction(AND, 0, 0, 0xF),
        instruction(JUMP_EQUAL, 1, 0, libc::SOCK_STREAM as u32),
        instruction(JUMP_EQUAL, 0, 1, libc::SOCK_SEQPACKET as u32),
        give(ALLOW),
        give(errno(libc::EPERM)),
    ]);
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would.
    fn verdict(rules: Rules, call: c_long, arguments: [u64; 6]) -> u32 {
        let program = filter(rules).expect("a known architecture");
        let load = |offset: u32| match offset {
            0 => call as u32,
            4 => ARCHITECTURE.expect("known"),
            _ => {
                let (index, half) = ((offset - 16) / 8, (offset - 16) % 8);
                (arguments[index as usize] >> (half * 8)) as u32
            }
        };
        let (mut at, mut accumulator) = (0, 0u32);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let jump = |condition: bool| usize::from(if condition { jt } else { jf });
            match code {
                LOAD => accumulator = load(k),
                JUMP => at += k as usize,
                AND => accumulator &= k,
                JUMP_EQUAL => at += jump(accumulator == k),
                JUMP_AT_LEAST => at += jump(accumulator >= k),
                JUMP_ANY_BIT => at += jump(accumulator & k != 0),
                RETURN => return k,
                other => panic!("unknown instruction {other}"),
            }
        }
    }

    #[test]
    fn verdicts_by_table() {
        let off = Rules {
            network: false,
            own_network: false,
            brokered: false,
            own_ipc: true,
            watch_metadata: false,
            watch_names: true,
            watch_writes: false,
            watch_removal: false,
            ask: true,
        };
        let own = Rules {
            own_network: true,
            ..off
        };
        let brokered = Rules { brokered: true, ..off };
        // Nobody answers for what changes files: another sandbox does already.
        let files = Rules {
            watch_metadata: true,
            ask: false,
            ..off
        };
        let on = Rules {
            network: true,
            watch_names: false,
            ..off
        };
        let writes = Rules {
            watch_writes: true,
            ..off
        };
        let removes = Rules {
            watch_removal: true,
            ..writes
        };
        let fast = libc::MSG_FASTOPEN as u64;
        let (refused, absent) = (errno(libc::EPERM), errno(libc::ENOSYS));
        let args = |first: c_int, second: c_int, third: c_int| [first as u64, second as u64, third as u64, 0, 0, 0];
        let (stream, datagram) = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC, libc::SOCK_DGRAM);
        let high = 0xFFFF_FFFF_0000_0000;
        for (rules, call, arguments, expected) in [
            (off, libc::SYS_read, [0; 6], ALLOW),
            (off, libc::SYS_openat, [0; 6], ALLOW),
            (off, libc::SYS_openat, args(0, 0, libc::O_WRONLY), ALLOW),
            (writes, libc::SYS_openat, args(0, 0, libc::O_CLOEXEC), ALLOW),
            (writes, libc::SYS_openat, args(0, 0, libc::O_WRONLY), ASK),
            (
                writes,
                libc::SYS_openat,
                args(0, 0, libc::O_RDWR | libc::O_CLOEXEC),
                ASK,
            ),
            (writes, libc::SYS_openat, args(0, 0, libc::O_CREAT), ASK),
            (writes, libc::SYS_openat2, [0; 6], ASK),
            (writes, libc::SYS_mknodat, [0; 6], ASK),
            (writes, libc::SYS_bind, [0; 6], ASK),
            (off, libc::SYS_bind, [0; 6], ALLOW),
            (Rules { ask: false, ..writes }, libc::SYS_bind, [0; 6], ALLOW),
            (writes, libc::SYS_unlinkat, [0; 6], ALLOW),
            (removes, libc::SYS_unlinkat, [0; 6], ASK),
            (removes, libc::SYS_truncate, [0; 6], ASK),
            (Rules { ask: false, ..removes }, libc::SYS_openat, args(0, 0, 1), ALLOW),
            (off, libc::SYS_ptrace, [0; 6], ALLOW),
            (off, libc::SYS_socket, args(libc::AF_UNIX, stream, 0), ALLOW),
            (off, libc::SYS_socket, args(libc::AF_UNIX, datagram, 0), refused),
            (off, libc::SYS_socket, args(libc::AF_INET, stream, 0), refused),
            (off, libc::SYS_socket, args(libc::AF_INET6, datagram, 0), refused),
            (
                off,
                libc::SYS_socket,
                args(libc::AF_NETLINK, libc::SOCK_RAW, 0),
                refused,
            ),
            (off, libc::SYS_socket, args(libc::AF_PACKET, libc::SOCK_RAW, 0), refused),
            (off, libc::SYS_socket, args(libc::AF_VSOCK, stream, 0), refused),
            (off, libc::SYS_socketpair, args(libc::AF_UNIX, stream, 0), ALLOW),
            (off, libc::SYS_socketpair, args(libc::AF_UNIX, datagram, 0), refused),
            (on, libc::SYS_socket, args(libc::AF_INET, datagram, 0), ALLOW),
            (on, libc::SYS_socket, args(libc::AF_INET6, stream, 0), ALLOW),
            (
                on,
                libc::SYS_socket,
                args(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE),
                ALLOW,
            ),
            (
                on,
                libc::SYS_socket,
                args(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_AUDIT),
                refused,
            ),
            (on, libc::SYS_socket, args(libc::AF_UNIX, stream, 0), ALLOW),
            (on, libc::SYS_socket, args(libc::AF_UNIX, datagram, 0), refused),
            (on, libc::SYS_socket, args(libc::AF_PACKET, libc::SOCK_RAW, 0), refused),
            (on, libc::SYS_mkdir, [0; 6], ALLOW),
            (off, libc::SYS_mkdir, [0; 6], ASK),
            (off, libc::SYS_connect, [0; 6], ASK),
            (Rules { ask: false, ..off }, libc::SYS_connect, [0; 6], refused),
            (Rules { ask: false, ..off }, libc::SYS_mkdir, [0; 6], ALLOW),
            (Rules { ask: false, ..on }, libc::SYS_connect, [0; 6], ALLOW),
            (off, libc::SYS_clone, args(libc::SIGCHLD, 0, 0), ALLOW),
            (off, libc::SYS_clone, args(libc::CLONE_NEWUSER, 0, 0), refused),
            (off, libc::SYS_unshare, args(libc::CLONE_FILES, 0, 0), ALLOW),
            (off, libc::SYS_unshare, args(libc::CLONE_NEWNET, 0, 0), refused),
            (off, libc::SYS_unshare, args(0x80, 0, 0), refused),
            (off, libc::SYS_prlimit64, args(0, 7, 0), ALLOW),
            (off, libc::SYS_prlimit64, args(1, 7, 0), refused),
            (off, libc::SYS_fcntl, args(3, libc::F_SETLEASE, libc::F_RDLCK), refused),
            (
                on,
                libc::SYS_fcntl,
                [3, high | libc::F_SETLEASE as u64, 0, 0, 0, 0],
                refused,
            ),
            (off, libc::SYS_fcntl, args(3, libc::F_GETLEASE, 0), ALLOW),
            (off, libc::SYS_fcntl, args(3, libc::F_SETLK, 0), ALLOW),
            (off, libc::SYS_clone3, [0; 6], absent),
            (off, libc::SYS_memfd_secret, [0; 6], absent),
            (on, libc::SYS_vmsplice, [0; 6], absent),
            (on, libc::SYS_splice, [0; 6], ALLOW),
            (off, libc::SYS_ioctl, [0, 0x5401, 0, 0, 0, 0], ALLOW),
            (off, libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0], refused),
            (off, libc::SYS_ioctl, [0, high | 0x5412, 0, 0, 0, 0], refused),
            (off, libc::SYS_ioctl, [0, 0x541C, 0, 0, 0, 0], refused),
            (off, libc::SYS_ioctl, [0, 0x541D, 0, 0, 0, 0], refused),
            (off, libc::SYS_ioctl, [0, 0xC040_6618, 0, 0, 0, 0], refused),
            (off, libc::SYS_ioctl, [0, 0x4008_6602, 0, 0, 0, 0], ALLOW),
            (off, libc::SYS_ioctl, [0, 0x5000_940E, 0, 0, 0, 0], refused),
            (off, libc::SYS_ioctl, [0, high | 0x5000_9417, 0, 0, 0, 0], refused),
            (on, libc::SYS_ioctl, [0, 0x5000_940E, 0, 0, 0, 0], ALLOW),
            (files, libc::SYS_ioctl, [0, 0x5000_943F, 0, 0, 0, 0], refused),
            (files, libc::SYS_ioctl, [0, 0x4008_6602, 0, 0, 0, 0], refused),
            (files, libc::SYS_ioctl, [0, high | 0x4080_6685, 0, 0, 0, 0], refused),
            (files, libc::SYS_ioctl, [0, 0xC0C0_9425, 0, 0, 0, 0], refused),
            (files, libc::SYS_ioctl, [0, 0x4004_7211, 0, 0, 0, 0], refused),
            (files, libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0], refused),
            // file_setattr.
            (files, 469, [0; 6], absent),
            (Rules { ask: true, ..files }, 469, [0; 6], absent),
            (off, 469, [0; 6], ALLOW),
            // Sharing the blocks of a file, as `cp` does.
            (files, libc::SYS_ioctl, [0, 0x4004_9409, 0, 0, 0, 0], ALLOW),
            (off, libc::SYS_keyctl, [0; 6], refused),
            (off, libc::SYS_userfaultfd, [0; 6], refused),
            (off, libc::SYS_io_uring_setup, [0; 6], refused),
            (off, libc::SYS_mount, [0; 6], refused),
            (on, libc::SYS_bpf, [0; 6], refused),
            (off, libc::SYS_sendto, [0, 0, 0, fast, 0, 0], ALLOW),
            (own, libc::SYS_sendto, [0, 0, 0, fast | 1, 0, 0], refused),
            (own, libc::SYS_sendto, [0, 0, 0, 0x4000, 0, 0], ALLOW),
            (brokered, libc::SYS_sendmsg, [0, 0, fast, 0, 0, 0], refused),
            (brokered, libc::SYS_sendmmsg, [0, 0, 0, fast, 0, 0], refused),
            (on, libc::SYS_sendmsg, [0, 0, fast, 0, 0, 0], ALLOW),
            (own, libc::SYS_listen, [0; 6], ALLOW),
            (brokered, libc::SYS_listen, [0; 6], ASK),
            (own, libc::SYS_socket, args(libc::AF_INET, stream, 0), ALLOW),
            (
                own,
                libc::SYS_socket,
                args(libc::AF_INET6, stream, libc::IPPROTO_TCP),
                ALLOW,
            ),
            (own, libc::SYS_socket, args(libc::AF_INET, stream, 262), refused),
            (
                own,
                libc::SYS_socket,
                args(libc::AF_INET, stream, libc::IPPROTO_SCTP),
                refused,
            ),
            (own, libc::SYS_socket, args(libc::AF_INET6, datagram, 0), refused),
            (own, libc::SYS_socket, args(libc::AF_INET, libc::SOCK_RAW, 0), refused),
            (
                own,
                libc::SYS_socket,
                args(libc::AF_NETLINK, libc::SOCK_RAW, 0),
                refused,
            ),
            (own, libc::SYS_socket, args(libc::AF_UNIX, stream, 0), ALLOW),
            (own, libc::SYS_socket, args(libc::AF_UNIX, datagram, 0), refused),
            (brokered, libc::SYS_socket, args(libc::AF_INET, stream, 0), ALLOW),
            (
                Rules { ask: false, ..brokered },
                libc::SYS_socket,
                args(libc::AF_INET, stream, 0),
                refused,
            ),
            (own, libc::SYS_socketpair, args(libc::AF_INET, stream, 0), refused),
            (off, libc::SYS_shmget, [0; 6], ALLOW),
            (Rules { own_ipc: false, ..off }, libc::SYS_shmget, [0; 6], refused),
            (Rules { own_ipc: false, ..off }, libc::SYS_mq_open, [0; 6], refused),
            (off, libc::SYS_fchmod, [0; 6], ALLOW),
            (
                Rules {
                    watch_metadata: true,
                    ..off
                },
                libc::SYS_fchmod,
                [0; 6],
                ASK,
            ),
            (
                Rules {
                    watch_metadata: true,
                    ask: false,
                    ..off
                },
                libc::SYS_fchmod,
                [0; 6],
                ALLOW,
            ),
            (
                Rules {
                    watch_metadata: true,
                    ..off
                },
                452,
                [0; 6],
                absent,
            ),
            (off, libc::SYS_personality, [0; 6], ALLOW),
            (off, libc::SYS_personality, [0x0004_0000, 0, 0, 0, 0, 0], ALLOW),
            (off, libc::SYS_personality, [0xFFFF_FFFF, 0, 0, 0, 0, 0], ALLOW),
            (off, libc::SYS_personality, [0x0040_0000, 0, 0, 0, 0, 0], refused),
            (off, libc::SYS_personality, [8, 0, 0, 0, 0, 0], refused),
            (off, 0x4000_0000 | libc::SYS_mount, [0; 6], absent),
        ] {
            assert_eq!(
                verdict(rules, call, arguments),
                expected,
                "{rules:?} {call} {arguments:x?}"
            );
        }
    }

    #[test]
    fn another_architecture_is_killed() {
        let program = filter(Rules {
            network: false,
            own_network: true,
            brokered: false,
            own_ipc: true,
            watch_metadata: false,
            watch_names: false,
            watch_writes: false,
            watch_removal: false,
            ask: true,
        })
        .expect("a known architecture");
        assert_eq!((program[1].code, program[1].jt, program[1].jf), (JUMP_EQUAL, 1, 0));
        assert_eq!(program[2].k, KILL_PROCESS);
    }
}
