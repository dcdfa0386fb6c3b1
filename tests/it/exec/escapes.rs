//! Attempts to get out of the sandbox. Each is shell text that ends with status 0 only if it got through; most are
//! also run without walls, to show that they are real attempts.

mod attempt;
mod daemons;
mod descriptors;
mod files;
mod home;
mod kernel;
mod links;
mod memory;
mod network;
mod processes;
mod protected;
mod round;
mod scene;
mod secrets;
mod sockets;
mod table;
mod talk;
mod terminals;

use super::place::{Place, User, has, is_root, runs_with, there_is, users, words};
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Command, Stdio};

/// Runs an attempt confined, where it must fail, and without walls, where it must get through.
fn check(place: &Place, options: &[&str], name: &str, attempt: &str, real: bool, prepare: &dyn Fn(&Place)) {
    prepare(place);
    let output = place.shell(options, attempt);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success(),
        "{:?} {options:?} {name} got out: {}",
        place.user,
        words(&output)
    );
    assert!(
        !said.contains("countersign sandbox:"),
        "{name} was not run at all: {}",
        words(&output)
    );
    if real {
        prepare(place);
        let output = place.shell(&["--policy", "full-access"], attempt);
        assert!(
            output.status.success(),
            "{:?} {name} is no real attempt: {}",
            place.user,
            words(&output)
        );
    }
}

const POLICIES: [&[&str]; 2] = [&["--policy", "workspace-write"], &["--policy", "read-only"]];

#[test]
/// Shows S-164, S-165.
fn files_outside_cannot_be_changed() {
    let attempts = [
        ("write", "echo x > $OUT/new"),
        ("write by ..", "echo x > ../outside/new"),
        ("append", "echo x >> $OUT/file"),
        ("truncate", "truncate -s 0 $OUT/file"),
        ("delete", "rm -f $OUT/file; ! test -e $OUT/file"),
        ("folder", "mkdir $OUT/d"),
        ("delete folder", "rmdir $OUT/folder"),
        ("link outside", "ln -s x $OUT/link"),
        ("fifo outside", "mkfifo $OUT/made"),
        ("mode", "chmod 600 $OUT/file"),
        ("mode of folder", "chmod 700 $OUT"),
        ("times", "touch -d '2001-01-01' $OUT/file"),
        ("rename within", "mv $OUT/file $OUT/other"),
        ("take away", "mv $OUT/file /tmp/taken-$$ && rm /tmp/taken-$$"),
        ("into a fifo", "timeout 2 sh -c 'echo x > $OUT/fifo'"),
        ("into a fifo, both ways", "timeout 2 sh -c 'echo x <> $OUT/fifo >&0'"),
        ("attributes", "setfattr -n user.x -v y $OUT/file"),
        ("inherited descriptor", "sh -c 'echo x >&9' 9>$OUT/nine"),
    ];
    for user in users() {
        let place = Place::new(user);
        // Somebody reads from the fifo, so that writing to it does not wait.
        let reader = std::cell::RefCell::new(None);
        let prepare = |place: &Place| {
            for entry in fs::read_dir(&place.outside).expect("list").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    fs::remove_dir(path).expect("rmdir")
                } else {
                    fs::remove_file(path).expect("rm")
                }
            }
            place.file(&place.outside.join("file"), "precious");
            place.folder(&place.outside.join("folder"));
            let fifo = place.outside.join("fifo");
            rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o666.into(), 0).expect("mkfifo");
            place.give(&fifo);
            reader.replace(Some(
                fs::OpenOptions::new()
                    .read(true)
                    .write(true)
                    .open(&fifo)
                    .expect("open the fifo"),
            ));
        };
        for (name, attempt) in attempts {
            if attempt.starts_with("setfattr") && !there_is("setfattr") {
                continue;
            }
            for options in POLICIES {
                check(&place, options, name, attempt, true, &prepare);
            }
        }
    }
}

#[test]
fn links_do_not_lead_out() {
    let attempts = [
        ("through a link", "ln -s $OUT/file link && echo x > link"),
        ("through a folder link", "ln -s $OUT dir && echo x > dir/new"),
        ("hard link", "ln $OUT/file hard && echo x >> hard"),
        ("swap", "echo evil > evil && mv -T evil $OUT/file"),
        ("prepared link", "echo x > prepared"),
    ];
    for user in users() {
        let place = Place::new(user);
        for (name, attempt) in attempts {
            check(&place, POLICIES[0], name, attempt, true, &|place| {
                for entry in ["link", "dir", "hard", "evil", "prepared"] {
                    let _absent = fs::remove_file(place.work.join(entry));
                }
                place.file(&place.outside.join("file"), "precious");
                std::os::unix::fs::symlink(place.outside.join("file"), place.work.join("prepared")).expect("symlink");
            });
        }
    }
}

#[test]
fn read_only_means_read_only() {
    for user in users() {
        let place = Place::new(user);
        place.file(&place.work.join("file"), "x");
        for attempt in [
            "echo x > new",
            "echo x >> file",
            "rm file",
            "chmod 600 file",
            "echo x > /tmp/countersign-$$",
        ] {
            check(&place, POLICIES[1], attempt, attempt, false, &|_| {});
        }
        let place = Place::new(user);
        check(
            &place,
            &["--no-tmp"],
            "--no-tmp",
            "echo x > /tmp/countersign-$$",
            false,
            &|_| {},
        );
    }
}

#[test]
fn protected_folders_stay_as_they_are() {
    let attempts = [
        ("hook", "echo x > .git/hooks/pre-commit"),
        ("configuration", "echo x >> .git/config"),
        ("rename", "mv .git gone"),
        ("replace", "mv .git gone && mkdir .git"),
        ("delete", "rm -rf .git/hooks; ! test -e .git/hooks"),
        ("mode", "chmod 777 .git/config"),
        ("through a link", "ln -s .git/hooks h && echo x > h/pre-commit"),
        ("hard link", "ln .git/config c && echo x >> c"),
        (
            "exchange",
            "mkdir evil && python3 -c 'import os; os.rename(\"evil\", \".git\")'",
        ),
        ("make", "mkdir .codex"),
        ("make deep", "mkdir -p .codex/deep"),
        ("make by link", "ln -s /etc .agents"),
        ("make by rename", "mkdir d && mv -T d .countersign"),
        (
            "make by descriptor",
            "python3 -c 'import os; os.mkdir(\".codex\", dir_fd=os.open(\".\", os.O_RDONLY))'",
        ),
        ("make from elsewhere", "cd / && mkdir $WORK/../$(basename $WORK)/.codex"),
        ("make through a link", "ln -s . self && mkdir self/.codex"),
        ("move the workspace", "mv $WORK $WORK.gone"),
    ];
    for user in users() {
        for (name, attempt) in attempts {
            let place = Place::new(user);
            place.folder(&place.work.join(".git"));
            place.folder(&place.work.join(".git/hooks"));
            place.file(&place.work.join(".git/config"), "[core]\n");
            check(&place, POLICIES[0], name, attempt, false, &|_| {});
            assert_eq!(
                fs::read_to_string(place.work.join(".git/config")).expect("still there"),
                "[core]\n",
                "{name}"
            );
            assert_eq!(
                fs::read_dir(place.work.join(".git/hooks"))
                    .expect("still there")
                    .count(),
                0,
                "{name}"
            );
            for made in [".codex", ".agents", ".countersign"] {
                assert!(
                    fs::symlink_metadata(place.work.join(made)).is_err(),
                    "{name} left {made}"
                );
            }
        }
    }
}

#[test]
fn a_protected_entry_that_slips_by_is_taken_away_afterwards() {
    for user in users() {
        let place = Place::new(user);
        let output = place.shell(&[], "echo 'gitdir: evil' > .git; echo done");
        assert!(output.status.success(), "{}", words(&output));
        assert!(fs::symlink_metadata(place.work.join(".git")).is_err());
        // Refused, or not lost: the person is told where it is.
        let Some(place) = super::place::set_aside(&output) else {
            assert!(words(&output).contains("Read-only file system"), "{}", words(&output));
            continue;
        };
        assert_eq!(fs::read_to_string(&place).expect("kept"), "gitdir: evil\n");
        fs::remove_dir_all(place.parent().expect("a folder of its own")).expect("clean up");
    }
}

#[test]
fn what_is_taken_away_is_never_something_outside() {
    for user in users() {
        let place = Place::new(user);
        place.folder(&place.outside.join(".codex"));
        place.folder(&place.outside.join(".countersign"));
        let root = place.work.display().to_string();
        for (name, script) in [
            ("a link in its place", "mv ../inner ../gone && ln -s $OUT ../inner"),
            (
                "moved away with one",
                "mv ../inner ../gone && ln -s $OUT ../inner; echo x > ../gone/.codex; true",
            ),
            (
                "another folder",
                "mv ../inner ../gone && mkdir ../inner; mkdir ../inner/.codex ../inner/.git; true",
            ),
        ] {
            for folder in ["inner", "gone"] {
                let path = place.work.join(folder);
                let _either = (fs::remove_file(&path), fs::remove_dir_all(&path));
            }
            let inner = place.work.join("inner");
            place.folder(&inner);
            let mut command = place.command(&["--writable", &root], &["sh", "-c", script]);
            let output = command.current_dir(&inner).output().expect("run the sandbox");
            assert!(output.status.success(), "{name}: {}", words(&output));
            for kept in [".codex", ".countersign"] {
                assert!(
                    place.outside.join(kept).is_dir(),
                    "{name} took away {kept}: {}",
                    words(&output)
                );
            }
            for folder in ["inner", "gone"] {
                let path = place.work.join(folder);
                let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
                for made in [".codex", ".git"] {
                    let left = is_folder && fs::symlink_metadata(path.join(made)).is_ok();
                    assert!(!left, "{name} left {folder}/{made}: {}", words(&output));
                }
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            for place in said.lines().filter_map(|line| line.split_once(": moved to ")) {
                let place = std::path::Path::new(place.1.trim());
                fs::remove_dir_all(place.parent().expect("a folder of its own")).expect("clean up");
            }
        }
    }
}

#[test]
fn roots_in_roots_links_and_pointer_files_are_protected_too() {
    for user in users() {
        let place = Place::new(user);
        for folder in [
            "a",
            "a/b",
            "a/b/ws",
            "a/b/ws/.git",
            "main",
            "main/.git",
            "main/.git/worktrees",
            "main/.git/worktrees/t",
            "tree",
            "linked",
            "real",
        ] {
            place.folder(&place.work.join(folder));
        }
        place.file(&place.work.join("main/.git/config"), "[core]\n");
        place.file(&place.work.join("main/.git/worktrees/t/commondir"), "../..\n");
        place.file(
            &place.work.join("tree/.git"),
            &format!("gitdir: {}/main/.git/worktrees/t\n", place.work.display()),
        );
        std::os::unix::fs::symlink("../real", place.work.join("linked/.git")).expect("symlink");
        for attempt in [
            "mv a gone",
            "mv a/b gone",
            "mv a/b/ws gone",
            "mkdir a/b/ws/.git/hooks",
            "echo x >> main/.git/config",
            "mv main gone",
            "echo x >> tree/.git",
            "mv tree/.git gone",
            "echo x > main/.git/worktrees/t/HEAD",
            "rm linked/.git",
            "mv linked/.git gone",
            "echo x > real/config",
            "echo x > linked/.git/config",
            "mv real gone",
        ] {
            let roots = ["a/b/ws", "tree", "linked"].map(|root| place.work.join(root).display().to_string());
            let options = [
                "--writable",
                &roots[0],
                "--writable",
                &roots[1],
                "--writable",
                &roots[2],
            ];
            check(&place, &options, attempt, attempt, false, &|_| {});
        }
    }
}

#[test]
fn the_network_is_out_of_reach() {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("bind");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("bind");
    udp.set_nonblocking(true).expect("nonblocking");
    let (tcp_port, udp_port) = (
        tcp.local_addr().expect("address").port(),
        udp.local_addr().expect("address").port(),
    );
    let python = |text: String| format!("python3 -c '{text}'");
    let make = |family: &str, kind: &str| python(format!("from socket import *; socket({family}, {kind})"));
    let attempts = [
        (
            "tcp",
            python(format!(
                "from socket import *; create_connection((\"127.0.0.1\", {tcp_port}), 2)"
            )),
            true,
        ),
        (
            "udp",
            python(format!(
                "from socket import *; socket(AF_INET, SOCK_DGRAM).sendto(b\"x\", (\"127.0.0.1\", {udp_port}))"
            )),
            true,
        ),
        (
            "bash",
            format!("bash -c 'echo x > /dev/tcp/127.0.0.1/{tcp_port}'"),
            has("bash"),
        ),
        ("ipv6", make("AF_INET6", "SOCK_DGRAM"), false),
        ("icmp", make("AF_INET", "SOCK_DGRAM, 1"), false),
        ("raw", make("AF_INET", "SOCK_RAW, 1"), false),
        ("packet", make("AF_PACKET", "SOCK_RAW"), false),
        ("netlink", make("AF_NETLINK", "SOCK_RAW"), true),
        ("vsock", make("40", "SOCK_STREAM"), false),
        ("alg", make("38", "SOCK_SEQPACKET"), false),
    ];
    for user in users() {
        let place = Place::new(user);
        for options in POLICIES {
            for (name, attempt, real) in &attempts {
                check(&place, options, name, attempt, *real, &|_| {});
                let _drained = (tcp.set_nonblocking(true), tcp.accept());
            }
        }
        // With the network let through, the same calls work.
        for (name, attempt, _) in attempts.iter().take(2) {
            let output = place.shell(&["--network"], attempt);
            assert!(output.status.success(), "{name} with --network: {}", words(&output));
        }
    }
}

#[test]
fn sockets_of_other_processes_are_out_of_reach() {
    for user in users() {
        let place = Place::new(user);
        let listen = |path: std::path::PathBuf| {
            let listener = UnixListener::bind(&path).expect("bind");
            place.give(&path);
            listener
        };
        let _outside = listen(place.outside.join("socket"));
        let _inside = listen(place.work.join("theirs"));
        let datagram = UnixDatagram::bind(place.outside.join("datagram")).expect("bind");
        place.give(&place.outside.join("datagram"));
        let name = format!("countersign-test-{}-{user:?}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("name");
        let _abstract = UnixListener::bind_addr(&address).expect("bind");
        let python = |text: &str| format!("python3 -c 'import os; from socket import *; {text}'");
        for network in [false, true] {
            let options: &[&str] = if network { &["--network"] } else { &[] };
            for (label, attempt) in [
                (
                    "pathname",
                    python("socket(AF_UNIX).connect(os.environ[\"OUT\"] + \"/socket\")"),
                ),
                ("relative", python("socket(AF_UNIX).connect(\"../outside/socket\")")),
                ("in the workspace", python("socket(AF_UNIX).connect(\"theirs\")")),
                (
                    "seqpacket",
                    python("socket(AF_UNIX, SOCK_SEQPACKET).connect(\"theirs\")"),
                ),
                ("abstract", python(&format!("socket(AF_UNIX).connect(\"\\0{name}\")"))),
                (
                    "datagram",
                    python("socket(AF_UNIX, SOCK_DGRAM).sendto(b\"x\", os.environ[\"OUT\"] + \"/datagram\")"),
                ),
                (
                    "datagram of a pair",
                    python("socketpair(AF_UNIX, SOCK_DGRAM)[0].sendto(b\"x\", os.environ[\"OUT\"] + \"/datagram\")"),
                ),
                (
                    "a name of their own put in place of theirs",
                    python(
                        "s = socket(AF_UNIX); s.bind(\"mine\"); s.listen(); os.rename(\"theirs\", \"t\"); \
                         os.rename(\"mine\", \"theirs\"); os.rename(\"t\", \"mine\"); socket(AF_UNIX).connect(\"mine\")",
                    ),
                ),
            ] {
                let real = !label.contains("pair") && label != "seqpacket" && !label.contains("own put");
                let _absent = fs::remove_file(place.work.join("mine"));
                check(&place, options, label, &attempt, real, &|_| {});
                if label.contains("own put") {
                    // Put it back for the next round.
                    let _moved = fs::rename(place.work.join("mine"), place.work.join("theirs"));
                }
            }
        }
        drop(datagram);
    }
}

#[test]
fn other_processes_are_out_of_reach() {
    for user in users() {
        let place = Place::new(user);
        let mut command = Command::new("sleep");
        command.arg("600");
        place.dress(&mut command);
        let mut victim = command.spawn().expect("sleep");
        let pid = victim.id();
        let syscall = |call: &str| {
            format!(
                "python3 -c 'import ctypes,sys; l = ctypes.CDLL(None, use_errno=True); sys.exit(0 if l.{call} >= 0 else 1)'"
            )
        };
        for (name, attempt, real) in [
            ("signal", format!("kill -0 {pid}"), true),
            ("kill", format!("kill -9 {pid}"), false),
            ("ptrace", syscall(&format!("ptrace(16, {pid}, 0, 0)")), false),
            ("memory", format!("head -c 1 /proc/{pid}/mem"), false),
            ("environment", format!("cat /proc/{pid}/environ"), true),
            ("root", format!("ls /proc/{pid}/root/"), true),
            ("descriptors", format!("ls /proc/{pid}/fd/"), true),
            ("root of the first process", "ls /proc/1/root/etc".to_owned(), false),
            ("priority", format!("renice -n 5 -p {pid}"), false),
            ("limits", format!("prlimit --pid {pid} --core=0"), false),
            // Its keeper, which must go on keeping.
            (
                "limits of the first process",
                "prlimit --pid 1 --nofile=1:1".to_owned(),
                false,
            ),
            ("pidfd", syscall(&format!("syscall(434, {pid}, 0)")), true),
        ] {
            check(&place, POLICIES[0], name, &attempt, real, &|_| {});
        }
        assert!(
            victim.try_wait().expect("wait").is_none(),
            "the other process was ended"
        );
        victim.kill().expect("kill");
        victim.wait().expect("wait");
    }
}

#[test]
fn the_kernel_is_out_of_reach() {
    let syscall = |call: &str| {
        format!(
            "python3 -c 'import ctypes,os,sys; l = ctypes.CDLL(None, use_errno=True); b = ctypes.create_string_buffer(256); \
             sys.exit(0 if l.{call} >= 0 else 1)'"
        )
    };
    let open = |path: &str| format!("python3 -c 'import os; os.open(\"{path}\", os.O_WRONLY)'");
    // Numbers of x86_64; those from 424 on are the same everywhere.
    let old = cfg!(target_arch = "x86_64");
    let attempts = [
        ("core_pattern", "v=$(cat /proc/sys/kernel/core_pattern) && echo \"$v\" > /proc/sys/kernel/core_pattern".to_owned(), true, is_root()),
        ("hostname", "v=$(hostname) && echo \"$v\" > /proc/sys/kernel/hostname".to_owned(), true, is_root()),
        ("sysctl by descriptor", open("/proc/self/../sys/kernel/core_pattern"), true, is_root()),
        ("sysrq", open("/proc/sysrq-trigger"), true, false),
        ("kmsg", open("/dev/kmsg"), true, is_root()),
        ("mem", open("/dev/mem"), true, false),
        ("disk", "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/loop0; do test -b $d && exec 3> $d && exit 0; done; exit 1".to_owned(), true, false),
        ("sysfs", "v=$(cat /sys/kernel/mm/transparent_hugepage/khugepaged/defrag) && echo $v > /sys/kernel/mm/transparent_hugepage/khugepaged/defrag".to_owned(), true, false),
        ("cgroup", "mkdir /sys/fs/cgroup/countersign-$$".to_owned(), true, false),
        ("oom score of the first", "echo 0 > /proc/1/oom_score_adj".to_owned(), true, false),
        ("device file", "mknod device c 1 3".to_owned(), true, false),
        ("block device file", "mknod disk b 8 0".to_owned(), true, false),
        ("mount", "mount -t tmpfs none /mnt".to_owned(), true, false),
        ("remount", "mount -o remount,rw /".to_owned(), true, false),
        ("unmount", "umount $WORK/.git || umount $WORK || umount /proc".to_owned(), true, false),
        ("chroot", "chroot / true".to_owned(), true, is_root()),
        ("user namespace", "unshare -U true".to_owned(), true, true),
        ("mount namespace", "unshare -m true".to_owned(), true, is_root()),
        ("enter a namespace", "nsenter -t 1 -m true".to_owned(), true, false),
        ("set-user", "python3 -c 'import os; os.setuid(1000 if os.getuid() != 1000 else 1001)'".to_owned(), true, false),
        ("host name", "hostname evil".to_owned(), true, false),
        ("clock", "date -s '2001-01-01'".to_owned(), true, false),
        ("kernel log", "dmesg | grep -q .".to_owned(), true, false),
        ("keyctl", syscall("syscall(250, 0, -3, 1)"), old, true),
        ("add_key", syscall("syscall(248, b\"user\", b\"x\", b\"y\", 1, -3)"), old, true),
        ("request_key", syscall("syscall(249, b\"user\", b\"x\", None, -3)"), old, false),
        ("userfaultfd", syscall("syscall(323, 1)"), old, true),
        ("bpf", syscall("syscall(321, 0, b, 72)"), old, false),
        ("perf_event_open", syscall("syscall(298, b, 0, -1, -1, 0)"), old, false),
        ("io_uring", syscall("syscall(425, 8, b)"), true, true),
        // The seventh argument lies on the stack, where an `int` leaves the upper half as it was.
        ("process_vm_writev", syscall("syscall(311, os.getppid(), b, 0, b, 0, ctypes.c_long(0))"), old, true),
        ("open_by_handle_at", syscall("syscall(304, -100, b, 0)"), old, false),
        ("kexec_load", syscall("syscall(246, 0, 0, 0, 0)"), old, false),
        ("init_module", syscall("syscall(175, b, 0, b)"), old, false),
        ("setns", syscall("setns(os.open(\"/proc/self/ns/net\", 0), 0)"), true, is_root()),
        ("clone with a namespace", syscall("syscall(56, 0x10000000 | 17, 0, 0, 0, 0)"), old, true),
        ("clone3", syscall("syscall(435, b, 88)"), true, false),
        ("open_tree", syscall("syscall(428, -100, b\"/\", 1)"), true, is_root()),
        ("fsopen", syscall("syscall(430, b\"tmpfs\", 0)"), true, is_root()),
        ("swapon", syscall("swapon(b\"/dev/null\", 0)"), true, false),
        ("reboot", syscall("syscall(169, 0, 0, 0, 0)"), old, false),
        ("iopl", syscall("syscall(172, 3)"), old, false),
        ("second set of numbers", syscall("syscall(0x40000000 | 165, b, b, b, 0, 0)"), old, false),
        ("TIOCSTI", "python3 -c 'import fcntl,pty; m, s = pty.openpty(); fcntl.ioctl(s, 0x5412, b\"x\")'".to_owned(), true, false),
        ("TIOCLINUX", "python3 -c 'import fcntl,pty; m, s = pty.openpty(); fcntl.ioctl(s, 0x541C, b\"\\x02\")'".to_owned(), true, false),
    ];
    for user in users() {
        let place = Place::new(user);
        for (name, attempt, here, real) in &attempts {
            if *here {
                // What only root can do at all is no attempt as somebody else.
                let real = *real
                    && (user == User::Own
                        || [
                            "user namespace",
                            "keyctl",
                            "add_key",
                            "io_uring",
                            "process_vm_writev",
                            "clone with a namespace",
                        ]
                        .contains(name));
                check(&place, POLICIES[0], name, attempt, real, &|_| {});
            }
        }
    }
}

#[test]
fn privileges_are_gone() {
    for user in users() {
        let place = Place::new(user);
        let output = place.shell(
            &[],
            "grep -E 'CapPrm|CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; ulimit -c",
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for line in [
            "CapPrm:\t0000000000000000",
            "CapEff:\t0000000000000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
        ] {
            assert!(text.contains(line), "{user:?}: {text}");
        }
        assert_eq!(text.lines().last(), Some("0"), "core files: {text}");
    }
}

#[test]
fn descriptors_of_the_caller_are_closed() {
    for user in users() {
        let place = Place::new(user);
        let mut outer = Command::new("sh");
        outer.args(["-c", "exec 9> $OUT/nine; \"$SANDBOX\" sandbox -- sh -c 'echo x >&9'"]);
        place.dress(&mut outer);
        let output = outer.output().expect("sh");
        assert!(!output.status.success(), "{}", words(&output));
        assert_eq!(
            fs::read_to_string(place.outside.join("nine")).expect("made by the outer shell"),
            ""
        );
    }
}

#[test]
fn nothing_survives_the_command() {
    let daemons = [
        ("background", "sleep MARK & echo started"),
        ("no hang-up", "nohup sleep MARK > /dev/null 2>&1 & echo started"),
        ("session of its own", "setsid sleep MARK & echo started"),
        (
            "double fork",
            "(setsid sh -c 'sleep MARK & sleep MARK' < /dev/null > /dev/null 2>&1 &) ; echo started",
        ),
        ("deaf", "sh -c \"trap '' TERM HUP INT; sleep MARK\" & echo started"),
    ];
    for user in users() {
        let place = Place::new(user);
        for (at, (name, script)) in daemons.iter().enumerate() {
            for (policy, number) in [("workspace-write", 1), ("full-access", 2)] {
                let mark = format!("{}{at}{number}{}", 500_000 + std::process::id(), user as u8);
                let output = place.shell(&["--policy", policy], &script.replace("MARK", &mark));
                assert!(output.status.success(), "{name}: {}", words(&output));
                assert!(!runs_with(&mark), "{user:?} {policy} {name}: something survived");
            }
        }
    }
}

#[test]
fn the_command_dies_with_its_keeper() {
    for user in users() {
        let place = Place::new(user);
        let mark = format!("{}7{}", 600_000 + std::process::id(), user as u8);
        let script = format!("setsid sleep {mark} & echo started; sleep {mark}");
        let mut command = place.command(&[], &["sh", "-c", &script]);
        let mut keeper = command.stdout(Stdio::piped()).spawn().expect("run the sandbox");
        let mut line = String::new();
        let out = keeper.stdout.take().expect("piped");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("read");
        assert_eq!(line, "started\n");
        keeper.kill().expect("kill");
        keeper.wait().expect("wait");
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while runs_with(&mark) {
            assert!(
                std::time::Instant::now() < end,
                "{user:?}: the command outlived its keeper"
            );
            std::thread::yield_now();
        }
    }
}
