//! What a confinement closes and opens beyond writable folders and the network as a whole: places that cannot be read,
//! places that stay read-only, loopback ports, hosts, socket files, limits.

use super::fallback::runners;
use super::place::{ELSEWHERE, Place, User, has, has_root, is_root, runs_with, users, words};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The attempt fails with the options, and not because nothing ran; without them it gets through.
fn closed(place: &Place, options: &[&str], attempt: &str, prepare: &dyn Fn(&Place)) {
    prepare(place);
    let output = place.shell(options, attempt);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("was not run"), "{attempt}: {}", words(&output));
    assert!(
        !output.status.success(),
        "{:?} {attempt} got through: {}",
        place.user,
        words(&output)
    );
    prepare(place);
    let output = place.shell(&["--policy", "full-access"], attempt);
    assert!(
        output.status.success(),
        "{:?} {attempt} is no real attempt: {}",
        place.user,
        words(&output)
    );
}

/// Deletes what was taken away and kept.
fn delete_kept(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for (_, kept) in said.lines().filter_map(|line| line.split_once(": moved to ")) {
        let folder = std::path::Path::new(kept.trim()).parent().expect("a folder of its own");
        fs::remove_dir_all(folder).expect("clean up");
    }
}

fn secrets(place: &Place) {
    for base in [&place.work, &place.outside] {
        for name in ["a", "elsewhere", "copy", "new"] {
            let path = base.join(name);
            let _either = (fs::remove_file(&path), fs::remove_dir_all(&path));
        }
        place.folder(&base.join("a"));
        place.folder(&base.join("a/keys"));
        place.file(&base.join("a/keys/id"), "precious\n");
        place.file(&base.join("a/env"), "precious\n");
    }
}

#[test]
fn hidden_places_can_be_neither_read_nor_written() {
    // Each is tried in a writable folder and outside; only reading gets anywhere outside.
    let reading = [
        "cat $AT/a/env",
        "cat $AT/a/keys/id",
        "ls $AT/a/keys",
        "test -n \"$(find $AT/a/keys -name id)\"",
        "cat /proc/self/root$AT/a/env",
        "cd $AT/a/keys && cat id",
        "cd $AT/a && cat /proc/self/cwd/env",
        "ln -s $AT/a/keys copy && cat copy/id",
        "cp $AT/a/env copy && grep precious copy",
        "grep -r precious $AT/a",
        "python3 -c 'import os; f = os.open(os.environ[\"AT\"] + \"/a/env\", os.O_PATH); \
         print(open(\"/proc/self/fd/%d\" % f).read(1))'",
        "python3 -c 'import os; d = os.open(os.environ[\"AT\"] + \"/a\", os.O_RDONLY); \
         os.read(os.open(\"keys/id\", os.O_RDONLY, dir_fd=d), 1)'",
    ];
    let writing = [
        "ln $AT/a/env copy && cat copy",
        "mv $AT/a elsewhere && cat elsewhere/env",
        "mv $AT/a/keys elsewhere",
        "mv $AT/a/env elsewhere",
        "echo x > $AT/a/env",
        "echo x > $AT/a/keys/new",
        "rm $AT/a/env",
        "rm -r $AT/a/keys",
        "chmod 777 $AT/a/env",
        "chmod 777 $AT/a/keys",
        "echo x > copy && mv copy $AT/a/env",
        "echo x > copy && mv copy $AT/a/keys/id",
        "python3 -c 'import os; os.truncate(os.environ[\"AT\"] + \"/a/env\", 0)'",
    ];
    for user in users() {
        let place = Place::new(user);
        for base in [&place.work, &place.outside] {
            let at = base.display().to_string();
            let (env, keys) = (format!("{at}/a/env"), format!("{at}/a/keys"));
            let options = ["--unreadable", &env, "--unreadable", &keys];
            let tried = reading.iter().chain(writing.iter().filter(|_| *base == place.work));
            for attempt in tried {
                let attempt = format!("AT={at}; export AT; {attempt}");
                closed(&place, &options, &attempt, &secrets);
            }
            secrets(&place);
            for attempt in writing {
                place.shell(&options, &format!("AT={at}; export AT; {attempt}"));
            }
            for name in ["a/env", "a/keys/id"] {
                let text = fs::read_to_string(base.join(name)).expect("still there");
                assert_eq!(text, "precious\n", "{name}");
            }
        }
        // What lies beside is not touched.
        let options = ["--unreadable", "a/env", "--unreadable", "a/keys"];
        let output = place.shell(
            &options,
            "echo x > a/new && cat a/new && ls a && mkdir a/d && mv a/d a/e",
        );
        assert!(output.status.success(), "{}", words(&output));
    }
}

#[test]
fn hidden_places_that_do_not_exist_are_not_made() {
    for user in users() {
        let place = Place::new(user);
        let options = ["--unreadable", "env", "--read-only", "config"];
        for attempt in [
            "mkdir env",
            "echo x > x && mv x env",
            "ln -s /etc/hosts env",
            "mkdir config",
        ] {
            closed(&place, &options, attempt, &|place| {
                for name in ["env", "config", "x"] {
                    let path = place.work.join(name);
                    let _either = (fs::remove_file(&path), fs::remove_dir_all(&path));
                }
            });
            let _either = (
                fs::remove_file(place.work.join("env")),
                fs::remove_dir(place.work.join("env")),
            );
            let _absent = fs::remove_dir(place.work.join("config"));
        }
        // A plain file lives as long as the command.
        let output = place.shell(&options, "echo x > env; echo y > config");
        assert!(output.status.success(), "{}", words(&output));
        for name in ["env", "config"] {
            assert!(!place.work.join(name).exists(), "{name}: {}", words(&output));
        }
        delete_kept(&output);
    }
}

/// A protected folder that is a link, or a file that points elsewhere, and leads nowhere yet.
#[test]
fn what_a_protected_link_leads_to_is_not_made() {
    for user in users() {
        let place = Place::new(user);
        let prepare = |place: &Place| {
            for name in [".git", ".codex", "data", "deep", "gone", "x"] {
                let path = place.work.join(name);
                let _either = (fs::remove_file(&path), fs::remove_dir_all(&path));
            }
            place.folder(&place.work.join("deep"));
            place.file(&place.work.join(".git"), "gitdir: deep/modules\n");
            std::os::unix::fs::symlink("data", place.work.join(".codex")).expect("symlink");
        };
        for attempt in [
            "mkdir data",
            "mkdir -p data/rules",
            "mkdir x && mv x data",
            "mkdir x && ln -s x data",
            "mkdir deep/modules",
            "echo x > deep/modules",
            "cd deep && mkdir modules",
            "mv deep gone && mkdir -p deep/modules",
            "mv deep gone && ln -s gone deep && mkdir gone/modules",
        ] {
            closed(&place, &[], attempt, &prepare);
        }
        // The way there may be moved, but what is put in its place goes when the command ends.
        for (attempt, stays) in [
            ("mv deep gone && mkdir -p x/modules && mv x deep", "deep"),
            ("mv deep gone && mkdir -p x/modules && ln -s x deep", "x/modules"),
        ] {
            prepare(&place);
            let output = place.shell(&[], attempt);
            assert!(output.status.success(), "{attempt}: {}", words(&output));
            assert!(
                !place.work.join("deep/modules").exists(),
                "{attempt}: {}",
                words(&output)
            );
            assert!(place.work.join(stays).exists(), "{attempt}: {}", words(&output));
            delete_kept(&output);
        }
        prepare(&place);
        let output = place.shell(&[], "echo x > new && mkdir deep/other");
        assert!(output.status.success(), "{}", words(&output));
    }
}

/// A protected link into a folder that is not there yet closes no more than its target.
#[test]
fn the_way_to_where_a_protected_link_leads_is_free() {
    for user in users() {
        let place = Place::new(user);
        let modules = place.work.join("node_modules");
        std::os::unix::fs::symlink("node_modules/cfg", place.work.join(".agents")).expect("symlink");
        let output = place.shell(
            &[],
            "mkdir -p node_modules/left-pad && echo x > node_modules/left-pad/index.js",
        );
        assert!(output.status.success(), "{}", words(&output));
        assert!(modules.join("left-pad/index.js").exists(), "{}", words(&output));
        fs::remove_dir_all(&modules).expect("clean up");

        // Another program makes it meanwhile.
        let script =
            "echo > started; for i in $(seq 100); do test -e node_modules/left-pad && exit; sleep 0.1; done; exit 1";
        let running = place
            .command(&[], &["sh", "-c", script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run the sandbox");
        let begun = Instant::now();
        while !place.work.join("started").exists() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        place.folder(&modules);
        place.folder(&modules.join("left-pad"));
        let output = running.wait_with_output().expect("the sandbox ends");
        assert!(output.status.success(), "{}", words(&output));
        assert!(modules.join("left-pad").exists(), "{}", words(&output));
        assert_eq!(super::place::set_aside(&output), None, "{}", words(&output));
        fs::remove_dir_all(&modules).expect("clean up");

        // The target itself is closed as soon as there is a folder for it, and goes where it comes with one.
        let output = place.shell(&[], "mkdir node_modules && mkdir node_modules/cfg");
        assert!(!output.status.success(), "{}", words(&output));
        fs::remove_dir_all(&modules).expect("clean up");
        let output = place.shell(&[], "mkdir -p x/cfg x/other && mv x node_modules");
        assert!(output.status.success(), "{}", words(&output));
        assert!(!modules.join("cfg").exists(), "{}", words(&output));
        assert!(modules.join("other").exists(), "{}", words(&output));
        delete_kept(&output);
    }
}

#[test]
fn links_on_the_way_of_a_protected_link_stay() {
    for user in users() {
        let place = Place::new(user);
        let prepare = |place: &Place| {
            for name in [
                ".agents", ".codex", ".git", "gone", "one", "real", "store", "two", "way", "x",
            ] {
                let path = place.work.join(name);
                let _either = (fs::remove_file(&path), fs::remove_dir_all(&path));
            }
            for folder in ["real", "store", "store/metadata"] {
                place.folder(&place.work.join(folder));
            }
            for (to, at) in [
                ("one", ".agents"),
                ("real", "one"),
                ("two/rules", ".codex"),
                ("store", "two"),
                ("store", "way"),
            ] {
                let at = place.work.join(at);
                std::os::unix::fs::symlink(to, &at).expect("symlink");
            }
            place.file(&place.work.join(".git"), "gitdir: way/metadata\n");
        };
        for attempt in [
            "rm one && mkdir one && echo evil > one/AGENTS.md",
            "mv one gone",
            "mkdir x && ln -sfn x one",
            "ln -s x x && mv -T x one",
            "echo evil > real/AGENTS.md",
            "rm two && mkdir -p two/rules",
            "mkdir store/rules",
            "rm way && mkdir -p way/metadata && echo evil > way/metadata/config",
            "echo evil > store/metadata/config",
        ] {
            closed(&place, &[], attempt, &prepare);
        }
        prepare(&place);
        let output = place.shell(&[], "ls one/ two/ && mkdir store/other");
        assert!(output.status.success(), "{}", words(&output));
    }
}

#[test]
fn another_mount_of_a_hidden_place_does_not_help() {
    if !(has_root() && has("unshare") && has("mount")) {
        return;
    }
    let place = Place::new(User::Own);
    secrets(&place);
    for name in ["whole", "part"] {
        place.folder(&place.outside.join(name));
    }
    for (read, expected) in [
        ("whole/keys/id", false),
        ("whole/env", true),
        ("part/id", false),
        ("a/keys/id", false),
    ] {
        let script = format!(
            "mount --bind $OUT/a $OUT/whole && mount --bind $OUT/a/keys $OUT/part && \
             exec \"$SANDBOX\" sandbox --unreadable $OUT/a/keys -- cat $OUT/{read}"
        );
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script]);
        place.dress(&mut command);
        let output = command.output().expect("unshare");
        assert_eq!(output.status.success(), expected, "{read}: {}", words(&output));
    }
}

#[test]
fn places_that_stay_read_only() {
    for user in users() {
        let place = Place::new(user);
        let prepare = |place: &Place| {
            for name in ["docs", "gone", "x"] {
                let path = place.work.join(name);
                let _either = (fs::remove_file(&path), fs::remove_dir_all(&path));
            }
            place.folder(&place.work.join("docs"));
            place.folder(&place.work.join("docs/deep"));
            place.file(&place.work.join("docs/deep/file"), "precious\n");
        };
        for attempt in [
            "echo x > docs/deep/new",
            "echo x > docs/deep/file",
            "rm docs/deep/file",
            "mv docs/deep gone",
            "mv docs gone",
            "chmod 777 docs/deep",
            "mkdir x && mv -T x docs/deep/x",
        ] {
            closed(&place, &["--read-only", "docs/deep"], attempt, &prepare);
        }
        prepare(&place);
        let output = place.shell(&["--read-only", "docs/deep"], "cat docs/deep/file && echo x > docs/new");
        assert!(output.status.success(), "{}", words(&output));
    }
}

/// Sends a word to whoever connects.
fn greet(listener: TcpListener) {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _gone = stream.and_then(|mut stream: TcpStream| stream.write_all(b"hello"));
        }
    });
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("address").port()
}

/// A port on which nobody listens.
fn unused_port() -> u16 {
    port_of(&TcpListener::bind("127.0.0.1:0").expect("bind"))
}

fn python(place: &Place, options: &[&str], script: &str) -> Output {
    let argv = ["python3", "-c", script];
    place.command(options, &argv).output().expect("run the sandbox")
}

const CONNECTING: &str = "
import asyncio, errno, fcntl, os, select, socket, sys
granted, other, idle = (int(os.environ[name]) for name in ('GRANTED', 'OTHER', 'IDLE'))
def fails(number, do):
    try:
        do()
    except OSError as error:
        assert error.errno in number, error
    else:
        raise SystemExit('got through')
def blocking(host, port, family=socket.AF_INET, **options):
    s = socket.socket(family)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    before = (fcntl.fcntl(s, fcntl.F_GETFD), fcntl.fcntl(s, fcntl.F_GETFL))
    s.connect((host, port))
    assert before == (fcntl.fcntl(s, fcntl.F_GETFD), fcntl.fcntl(s, fcntl.F_GETFL))
    assert s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    assert s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert s.getpeername()[1] == port
    assert s.recv(5) == b'hello'
    fails((errno.EISCONN,), lambda: s.connect((host, port)))
    return s
def polled(port):
    s = socket.socket()
    s.setblocking(False)
    os.set_inheritable(s.fileno(), True)
    code = s.connect_ex(('127.0.0.1', port))
    assert code in (0, errno.EINPROGRESS), code
    select.select([], [s], [], 10)
    assert not s.getblocking() and os.get_inheritable(s.fileno())
    assert fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK
    return s, s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
blocking('127.0.0.1', granted)
blocking('localhost', granted)
s, error = polled(granted)
assert error == 0, error
assert select.select([s], [], [], 10)[0] and s.recv(5) == b'hello'
s, error = polled(idle)
assert error == errno.ECONNREFUSED, error
# The same socket again, and once it is over nobody listens on it.
fails((errno.EISCONN, errno.EINPROGRESS, errno.ECONNREFUSED, errno.ECONNABORTED), lambda: s.connect(('127.0.0.1', idle)))
fails((errno.EPERM,), lambda: s.connect(('127.0.0.1', other)))
fails((errno.EPERM, errno.EINVAL), lambda: s.listen())
s = socket.create_connection(('127.0.0.1', granted), 5)
assert s.recv(5) == b'hello'
fails((errno.EPERM, errno.EISCONN), lambda: s.connect(('127.0.0.1', other)))
async def talk():
    reader, writer = await asyncio.open_connection('127.0.0.1', granted)
    assert await reader.read(5) == b'hello'
asyncio.run(talk())
refused = (errno.ECONNREFUSED, errno.EPERM)
fails(refused, lambda: socket.create_connection(('127.0.0.1', idle)))
fails(refused, lambda: socket.create_connection(('127.0.0.1', other)))
fails(refused, lambda: socket.create_connection(('127.0.0.2', granted)))
fails((errno.EPERM,), lambda: socket.create_connection(('192.0.2.1', granted)))
fails((errno.EPERM,), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
fails((errno.EPERM,), lambda: socket.socket().sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', other)))
print('all')
";

#[test]
fn granted_ports_of_the_loopback_and_no_others() {
    let granted = TcpListener::bind("127.0.0.1:0").expect("bind");
    let other = TcpListener::bind("127.0.0.1:0").expect("bind");
    other.set_nonblocking(true).expect("nonblocking");
    let (port, other_port, idle) = (port_of(&granted), port_of(&other), unused_port());
    greet(granted);
    for user in users() {
        let place = Place::new(user);
        let script = format!("export GRANTED={port} OTHER={other_port} IDLE={idle}; exec python3 -c \"$0\"");
        let (port, idle) = (port.to_string(), idle.to_string());
        let argv = ["sh", "-c", &script, CONNECTING];
        for options in [
            ["--loopback", &port, "--loopback", &idle],
            [
                "--host",
                &format!("127.0.0.1:{port}"),
                "--host",
                &format!("127.0.0.1:{idle}"),
            ],
        ] {
            let output = place.command(&options, &argv).output().expect("run the sandbox");
            assert!(output.status.success(), "{user:?}: {}", words(&output));
        }
    }
    assert!(other.accept().is_err(), "something reached the other port");
}

#[test]
fn ports_are_granted_without_namespaces_too() {
    let granted = TcpListener::bind("127.0.0.1:0").expect("bind");
    let other = TcpListener::bind("127.0.0.1:0").expect("bind");
    other.set_nonblocking(true).expect("nonblocking");
    let (port, other_port, idle) = (port_of(&granted), port_of(&other), unused_port());
    greet(granted);
    for user in users() {
        for (kind, runner) in runners() {
            // Where somebody else listens to the filter, nothing can be asked and nothing connects.
            if kind == "nested" {
                continue;
            }
            let place = Place::new(user);
            place.file(&place.work.join("try.py"), CONNECTING);
            let script = format!("GRANTED={port} OTHER={other_port} IDLE={idle} exec python3 try.py");
            let (port, idle) = (port.to_string(), idle.to_string());
            let output = runner(&place, &["--loopback", &port, "--loopback", &idle], &script);
            assert!(output.status.success(), "{user:?} {kind}: {}", words(&output));
        }
    }
    assert!(other.accept().is_err(), "something reached the other port");
}

#[test]
fn an_address_that_changes_meanwhile_leads_nowhere() {
    let granted = TcpListener::bind("127.0.0.1:0").expect("bind");
    let other = TcpListener::bind("127.0.0.1:0").expect("bind");
    other.set_nonblocking(true).expect("nonblocking");
    let (port, other_port) = (port_of(&granted), port_of(&other));
    greet(granted);
    let script = format!(
        "
import ctypes, socket, struct, threading
libc = ctypes.CDLL(None)
address = ctypes.create_string_buffer(struct.pack('=H', 2) + struct.pack('>H', {port}) + bytes([127, 0, 0, 1]) + bytes(8), 16)
ports = [struct.pack('>H', {port}), struct.pack('>H', {other_port})]
over = False
def change():
    turn = 0
    while not over:
        turn += 1
        ctypes.memmove(ctypes.byref(address, 2), ports[turn % 2], 2)
thread = threading.Thread(target=change)
thread.start()
through = 0
for _ in range(150):
    s = socket.socket()
    if libc.connect(s.fileno(), address, 16) == 0:
        through += 1
        assert s.getpeername()[1] == {port}
over = True
thread.join()
assert through > 0
"
    );
    for user in users() {
        let place = Place::new(user);
        let output = python(&place, &["--loopback", &port.to_string()], &script);
        assert!(output.status.success(), "{user:?}: {}", words(&output));
    }
    assert!(other.accept().is_err(), "something reached the other port");
}

#[test]
fn a_loopback_of_its_own() {
    let outside = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = port_of(&outside);
    outside.set_nonblocking(true).expect("nonblocking");
    // A granted port on which something inside listens leads there.
    let script = format!(
        "
import socket
for host, family in (('127.0.0.1', socket.AF_INET), ('localhost', socket.AF_INET)):
    server = socket.create_server(('127.0.0.1', {port}), family=family, reuse_port=True)
    client = socket.create_connection((host, {port}))
    peer, _ = server.accept()
    client.sendall(b'inside')
    assert peer.recv(6) == b'inside'
    peer.close(); client.close(); server.close()
"
    );
    for user in users() {
        let place = Place::new(user);
        let port = port.to_string();
        let grants: [&[&str]; 3] = [&[], &["--loopback", &port], &["--policy", "read-only"]];
        for options in grants {
            let output = python(&place, options, &script);
            assert!(output.status.success(), "{user:?} {options:?}: {}", words(&output));
        }
    }
    assert!(outside.accept().is_err(), "something got outside");
}

#[test]
fn hosts_by_name_and_address() {
    if !(has_root() && has("unshare") && has("mount")) {
        return;
    }
    let place = Place::new(User::Own);
    place.file(
        &place.outside.join("hosts"),
        "127.0.0.1 localhost\n192.0.2.7 granted.example\n192.0.2.8 other.example\n127.0.0.1 near.example\n",
    );
    // A network with addresses that look as if they were far away, and a table with their names.
    let around = "
import fcntl, os, socket, struct, subprocess, sys, threading
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack('16sH', b'lo', 1))
for address in ('192.0.2.7', '192.0.2.8'):
    elsewhere(address)
for address in ('192.0.2.7', '192.0.2.8', '127.0.0.1'):
    for port in (8080, 9090):
        server = socket.create_server((address, port))
        def serve(server=server):
            while True:
                peer, _ = server.accept()
                peer.sendall(b'hello')
                peer.close()
        threading.Thread(target=serve, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
";
    place.file(&place.outside.join("around.py"), &format!("{ELSEWHERE}{around}"));
    let inside = "
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
assert s.recv(5) == b'hello'
";
    place.file(&place.outside.join("inside.py"), inside);
    for (grants, host, port, expected) in [
        ("granted.example:8080", "granted.example", 8080, true),
        // A grant for a name is none for the address that it leads to: others may be there too.
        ("granted.example:8080", "192.0.2.7", 8080, false),
        ("granted.example:8080", "granted.example", 9090, false),
        ("granted.example:8080", "192.0.2.8", 8080, false),
        ("granted.example:8080", "127.0.0.1", 8080, false),
        ("granted.example", "granted.example", 9090, true),
        ("192.0.2.8:9090", "192.0.2.8", 9090, true),
        ("192.0.2.8:9090", "192.0.2.8", 8080, false),
        ("near.example", "near.example", 8080, false),
        ("near.example", "127.0.0.1", 8080, false),
        ("no.such.example", "granted.example", 8080, false),
    ] {
        let script = format!(
            "mount --bind $OUT/hosts /etc/hosts && exec python3 $OUT/around.py \"$SANDBOX\" sandbox --host {grants} -- \
             python3 $OUT/inside.py {host} {port}"
        );
        let mut command = Command::new("unshare");
        command.args(["-m", "-n", "sh", "-c", &script]);
        place.dress(&mut command);
        let output = command.output().expect("unshare");
        assert_eq!(
            output.status.success(),
            expected,
            "{grants} {host}:{port}: {}",
            words(&output)
        );
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("was not run"), "{grants}: {}", words(&output));
    }
}

#[test]
fn what_is_no_host_is_refused() {
    let place = Place::new(User::Own);
    for host in [
        "a*.example.org",
        "*.*.example.org",
        "a b",
        "example.org:x",
        "http://example.org",
        "a@b",
        "2130706433",
        "10.0.0.0/33",
        "",
    ] {
        let output = place.shell(&["--host", host], "true");
        assert_eq!(output.status.code(), Some(125), "{host:?}: {}", words(&output));
    }
}

#[test]
fn granted_socket_files_and_no_others() {
    for user in users() {
        let place = Place::new(user);
        let listen = |path: std::path::PathBuf| {
            let listener = UnixListener::bind(&path).expect("bind");
            place.give(&path);
            listener
        };
        let _granted = listen(place.outside.join("granted"));
        let _other = listen(place.outside.join("other"));
        let _within = listen(place.work.join("within"));
        let _prey = listen(place.work.join("prey"));
        std::os::unix::fs::symlink("granted", place.outside.join("link")).expect("symlink");
        let connect = |to: &str| format!("import os, socket; socket.socket(socket.AF_UNIX).connect({to})");
        let out = place.outside.display().to_string();
        let (granted, within) = (format!("{out}/granted"), "within".to_owned());
        for network in [false, true] {
            let mut options = vec!["--socket", granted.as_str(), "--socket", within.as_str()];
            options.extend(network.then_some("--network"));
            for (to, expected) in [
                (format!("'{out}/granted'"), true),
                ("'../outside/link'".to_owned(), true),
                ("'within'".to_owned(), true),
                (format!("'{out}/other'"), false),
                ("'prey'".to_owned(), false),
                (
                    "(os.rename('within', 'w'), os.rename('prey', 'within'), 'within')[2]".to_owned(),
                    false,
                ),
            ] {
                let output = python(&place, &options, &connect(&to));
                assert_eq!(output.status.success(), expected, "{user:?} {to}: {}", words(&output));
            }
            fs::rename(place.work.join("within"), place.work.join("prey")).expect("put back");
            fs::rename(place.work.join("w"), place.work.join("within")).expect("put back");
        }
    }
}

#[test]
fn limits_of_a_command() {
    for user in users() {
        let place = Place::new(user);
        let output = place.shell(
            &[],
            "ulimit -c; ulimit -Hc; ulimit -n; grep -E 'processes|file size' /proc/self/limits",
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        assert_eq!((lines.next(), lines.next()), (Some("0"), Some("0")), "{text}");
        let files: u64 = lines.next().and_then(|line| line.parse().ok()).expect("a number");
        assert!(files <= 65_536, "{text}");
        for (name, limit) in [("Max file size", "68719476736"), ("Max processes", "2048")] {
            // Root's are counted by its process namespace.
            if name == "Max processes" && user == User::Own && is_root() {
                continue;
            }
            let line = text.lines().find(|line| line.starts_with(name)).expect("a limit");
            assert_eq!(line.split_whitespace().nth(3), Some(limit), "{text}");
        }
        for raise in ["ulimit -Hc 1", "ulimit -Hn 100000", "truncate -s 65G big"] {
            let output = place.shell(&[], raise);
            assert!(!output.status.success(), "{raise}: {}", words(&output));
        }
    }
}

#[test]
fn processes_are_counted() {
    // Forks until it may not; the children wait for their end.
    let script = "
import os, signal
count = 0
try:
    while count < 5000:
        if os.fork() == 0:
            signal.pause()
        count += 1
except OSError:
    print(count)
";
    for user in users() {
        let place = Place::new(user);
        let output = python(&place, &[], script);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let count: usize = text
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{user:?}: {}", words(&output)));
        // The highest id leaves room for those that are not handed out again.
        assert!((1900..=2048 + 300).contains(&count), "{user:?}: {count} processes");
    }
}

#[test]
fn a_fork_bomb_leaves_nothing() {
    if !has("bash") {
        return;
    }
    for user in users() {
        let place = Place::new(user);
        let mark = format!("{}8{}", 400_000 + std::process::id(), user as u8);
        let script = "echo up; b() { b & b & wait; }; b";
        let mut command = place.command(&[], &["bash", "-c", script, &mark]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut keeper = command.spawn().expect("run the sandbox");
        let mut up = [0; 3];
        keeper.stdout.take().expect("piped").read_exact(&mut up).expect("read");
        let end = Instant::now() + Duration::from_secs(30);
        while count_of(&mark) < 200 {
            assert!(Instant::now() < end, "{user:?}: it is no bomb");
        }
        keeper.kill().expect("kill");
        keeper.wait().expect("wait");
        let end = Instant::now() + Duration::from_secs(30);
        while runs_with(&mark) {
            assert!(Instant::now() < end, "{user:?}: something survived");
        }
    }
}

fn count_of(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let marked = processes.filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == mark.as_bytes())
    });
    marked.count()
}

#[test]
fn devices_and_message_queues() {
    for user in users() {
        let place = Place::new(user);
        let output = place.shell(
            &[],
            "echo x > /dev/null && head -c 1 /dev/zero > /dev/null && head -c 1 /dev/urandom > /dev/null && \
             python3 -c 'import os, pty; m, s = pty.openpty(); os.write(s, b\"x\"); os.ttyname(s)'",
        );
        assert!(output.status.success(), "{}", words(&output));
        // Whoever may read a disk could read every file on it.
        for device in [
            "/dev/kmsg",
            "/dev/vda",
            "/dev/sda",
            "/dev/nvme0n1",
            "/dev/loop0",
            "/dev/tty0",
            "/dev/mem",
        ] {
            let read = format!("python3 -c 'import os; os.open(\"{device}\", os.O_RDONLY | os.O_NONBLOCK)'");
            let output = place.shell(&[], &read);
            assert!(!output.status.success(), "{user:?} {device}: {}", words(&output));
        }
        let queue = "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
attributes = (ctypes.c_long * 8)(0, 1, 8, 0)
queue = libc.mq_open(b'/countersign', 0o102, 0o600, attributes)
assert queue >= 0, ctypes.get_errno()
assert libc.mq_send(queue, b'hi', 2, 0) == 0
buffer = ctypes.create_string_buffer(8)
assert libc.mq_receive(queue, buffer, 8, None) == 2 and buffer.value == b'hi'
assert libc.mq_unlink(b'/countersign') == 0
";
        let output = python(&place, &[], queue);
        assert!(output.status.success(), "{user:?}: {}", words(&output));
    }
}

#[test]
fn hidden_places_without_namespaces() {
    for user in users() {
        for (kind, runner) in runners() {
            let place = Place::new(user);
            secrets(&place);
            // The nested one may write outside, which is its workspace then.
            let out = place.outside.display().to_string();
            let (env, keys) = (format!("{out}/a/env"), format!("{out}/a/keys"));
            let options = ["--no-tmp", "--cd", &out, "--unreadable", &env, "--unreadable", &keys];
            place.folder(&place.outside.join("free"));
            for (script, expected) in [
                ("cat a/env", false),
                ("cat a/keys/id", false),
                ("ls a/keys", false),
                ("cat /proc/self/root$OUT/a/env", false),
                ("ln -s $OUT/a/env free/l && cat free/l", false),
                ("ln a/env free/hard && cat free/hard", false),
                ("mv a free/a && cat free/a/env", false),
                ("mv a/keys free/keys && cat free/keys/id", false),
                ("echo x > a/env", false),
                ("rm a/env", false),
                ("head -c 1 /dev/vda || head -c 1 /dev/loop0", false),
                ("echo x > free/new && cat free/new && mkdir free/d && ls free", true),
                (
                    "cat /etc/passwd > /dev/null && head -c 1 /dev/urandom > /dev/null",
                    true,
                ),
            ] {
                let output = runner(&place, &options, script);
                assert_eq!(
                    output.status.success(),
                    expected,
                    "{user:?} {kind} {script}: {}",
                    words(&output)
                );
            }
            assert_eq!(
                fs::read_to_string(place.outside.join("a/env")).expect("still there"),
                "precious\n"
            );
        }
    }
}

#[test]
fn metadata_outside_stays_without_namespaces() {
    for user in users() {
        for (kind, runner) in runners() {
            // What the outer sandbox keeps as it is there, the nested one need not.
            if kind == "nested" {
                continue;
            }
            let place = Place::new(user);
            place.file(&place.outside.join("file"), "precious\n");
            place.file(&place.work.join("inside"), "x\n");
            let python = |text: &str| format!("python3 -c 'import os; OUT = os.environ[\"OUT\"]; {text}'");
            for (script, expected) in [
                ("chmod 600 $OUT/file".to_owned(), false),
                ("chmod 700 $OUT".to_owned(), false),
                ("cd $OUT && chmod 600 file".to_owned(), false),
                ("ln -s $OUT/file l && chmod 600 l".to_owned(), false),
                ("touch -d 2001-01-01 $OUT/file".to_owned(), false),
                ("touch -h -d 2001-01-01 $OUT/file".to_owned(), false),
                ("chown $(id -u) $OUT/file".to_owned(), false),
                ("chgrp $(id -g) $OUT/file".to_owned(), false),
                (python("os.setxattr(OUT + \"/file\", \"user.x\", b\"y\")"), false),
                (python("os.fchmod(os.open(OUT + \"/file\", os.O_RDONLY), 0o600)"), false),
                (python("os.utime(os.open(OUT + \"/file\", os.O_RDONLY))"), false),
                (
                    python("f = os.open(OUT + \"/file\", os.O_PATH); os.chmod(\"/proc/self/fd/%d\" % f, 0o600)"),
                    false,
                ),
                (
                    python("os.chmod(\"file\", 0o600, dir_fd=os.open(OUT, os.O_RDONLY))"),
                    false,
                ),
                (
                    "chmod 751 inside && test $(stat -c %a inside) = 751 && chgrp $(id -g) inside".to_owned(),
                    true,
                ),
                (
                    "touch -d @86400 inside && test $(stat -c %Y inside) = 86400 && touch inside && \
                     test $(stat -c %Y inside) -gt 86400"
                        .to_owned(),
                    true,
                ),
                (
                    "cp -p inside copy && test $(stat -c %Y copy) = $(stat -c %Y inside)".to_owned(),
                    true,
                ),
                (
                    "mkdir d && chmod 700 d && ln -s nowhere d/l && touch -h -d @5 d/l && rm -r d".to_owned(),
                    true,
                ),
                (
                    python(
                        "os.utime(\"inside\", ns=(5, 7000000009)); assert os.stat(\"inside\").st_mtime_ns == 7000000009",
                    ),
                    true,
                ),
                (
                    python(
                        "f = os.open(\"inside\", os.O_RDONLY); os.fchmod(f, 0o640); os.chmod(\"/proc/self/fd/%d\" % f, 0o644)",
                    ),
                    true,
                ),
                (
                    python(
                        "os.setxattr(\"inside\", \"user.x\", b\"y\"); assert os.getxattr(\"inside\", \"user.x\") == b\"y\"; \
                            os.removexattr(\"inside\", \"user.x\")",
                    ),
                    true,
                ),
                (python("r, w = os.pipe(); os.fchmod(w, 0o600)"), true),
                ("tar cf t.tar inside && mkdir x && tar xpf t.tar -C x".to_owned(), true),
            ] {
                for made in ["l", "copy", "t.tar"] {
                    let _absent = fs::remove_file(place.work.join(made));
                }
                let output = runner(&place, &["--no-tmp"], &script);
                assert_eq!(
                    output.status.success(),
                    expected,
                    "{user:?} {kind} {script}: {}",
                    words(&output)
                );
            }
        }
    }
}

#[test]
fn a_weaker_wall_is_said_and_what_it_cannot_do_is_refused() {
    for user in users() {
        for (kind, runner) in runners() {
            let place = Place::new(user);
            let output = runner(&place, &[], "true");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{kind}: {}", words(&output));
            assert!(said.contains("weaker than it could be"), "{kind}: {said}");
            let output = runner(&place, &["--host", "granted.example"], "test -n \"$HTTPS_PROXY\"");
            assert!(output.status.success(), "{kind}: {}", words(&output));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                said.contains("is reached only by programs that use a proxy"),
                "{kind}: {said}"
            );
            // Names without an owner but the user are out of reach.
            for call in [
                "shmget(0x12345, 4096, 0o1600)",
                "msgget(0x12345, 0o1600)",
                "mq_open(b'/x', 0o102, 0o600, None)",
            ] {
                let script =
                    format!("python3 -c \"import ctypes, sys; sys.exit(0 if ctypes.CDLL(None).{call} >= 0 else 1)\"");
                let output = runner(&place, &[], &script);
                assert!(!output.status.success(), "{kind} {call}: {}", words(&output));
            }
        }
    }
}

#[test]
fn ways_of_running_that_weaken_a_program_are_refused() {
    if !has("setarch") {
        return;
    }
    for user in users() {
        let place = Place::new(user);
        for (option, expected) in [("-R", true), ("-X", false), ("-L", false)] {
            let output = place.shell(&[], &format!("setarch {option} true"));
            assert_eq!(output.status.success(), expected, "{option}: {}", words(&output));
        }
    }
}
