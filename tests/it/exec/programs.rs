//! Programs that must work inside, and the command line of the sandbox.

use super::place::{Place, User, has, has_root, users, words};
use std::fs;
use std::process::Command;

#[test]
fn tools_work_inside() {
    let tools: &[(&str, &str)] = &[
        ("sh", "echo a > f && cat f && rm f && mkdir -p d/e && mv d g && rm -r g"),
        ("bash", "bash -c 'cat <<< here; diff <(echo a) <(echo a); read x < <(echo 1); coproc cat; echo $x'"),
        ("sh", "echo out > /dev/stdout; echo err > /dev/stderr; : > /dev/null; head -c 8 /dev/urandom > r"),
        ("sh", "t=$(mktemp) && echo x > $t && rm $t && d=$(mktemp -d) && rmdir $d"),
        ("sh", "printf 'all:\\n\\techo made > made\\n' > Makefile; ! command -v make || make all"),
        ("sh", "chmod 700 . && touch f && chmod 600 f && ln f f2 && ln -s f f3 && mkfifo p && (echo x > p &) && cat p"),
        ("sh", "sleep 5 & kill $! ; wait; true"),
        ("sh", "mkdir -p node_modules/p && cd node_modules/p && mkdir .git .codex && echo x > .git/config && echo x > AGENTS.md"),
        ("ps", "ps aux | grep -q ps"),
        ("python3", "python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0.01))'"),
        (
            "python3",
            "python3 -c 'import asyncio
async def main():
    p = await asyncio.create_subprocess_exec(\"echo\", \"hi\", stdout=asyncio.subprocess.PIPE)
    assert (await p.communicate())[0] == b\"hi\\n\"
asyncio.run(main())'",
        ),
        (
            "python3",
            "cat > mp.py <<'END'
import multiprocessing as m
def double(x): return 2 * x
if __name__ == '__main__':
    for how in ('fork', 'spawn', 'forkserver'):
        with m.get_context(how).Pool(2) as pool:
            assert pool.map(double, [1, 2]) == [2, 4]
    with m.Manager() as manager:
        d = manager.dict(); d['a'] = 1; assert d['a'] == 1
    from multiprocessing import shared_memory
    s = shared_memory.SharedMemory(create=True, size=16); s.close(); s.unlink()
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(2) as e: assert list(e.map(double, [3])) == [6]
END
python3 mp.py",
        ),
        (
            "python3",
            "python3 -c 'import socket; a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"; \
             a.sendall(b\"y\"); assert b.recv(1) == b\"y\"'",
        ),
        (
            "python3",
            "python3 -c 'import socket, threading
s = socket.socket(socket.AF_UNIX); s.bind(\"own\"); s.listen()
def serve(): c, _ = s.accept(); c.sendall(b\"hi\"); c.close()
threading.Thread(target=serve).start()
c = socket.socket(socket.AF_UNIX); c.connect(\"own\"); assert c.recv(2) == b\"hi\"
a = socket.socket(socket.AF_UNIX); a.bind(\"\\0name\"); a.listen()
d = socket.socket(socket.AF_UNIX); d.connect(\"\\0name\")
try: socket.socket(socket.AF_UNIX).connect(\"missing\")
except FileNotFoundError: pass
open(\"plain\", \"w\").close()
try: socket.socket(socket.AF_UNIX).connect(\"plain\")
except ConnectionRefusedError: pass'",
        ),
        (
            "python3",
            "python3 -c 'import pty, os; pid, fd = pty.fork()
if pid == 0: os.execvp(\"echo\", [\"echo\", \"in a terminal\"])
assert b\"terminal\" in os.read(fd, 100)'",
        ),
        ("python3", "python3 -c 'import socket; socket.getaddrinfo(\"localhost\", 80)'"),
        ("python3", "python3 -c 'import tempfile, sqlite3; c = sqlite3.connect(\"x.db\"); c.execute(\"create table t(a)\"); c.commit()'"),
        ("node", "node -e 'require(\"child_process\").execFileSync(\"echo\", [\"hi\"]); setTimeout(() => {}, 5)'"),
        (
            "node",
            "cat > ipc.js <<'END'
const c = require('child_process');
if (process.argv[2]) { process.send('up'); process.disconnect(); }
else { const p = c.fork(__filename, ['child']); p.on('message', m => { if (m !== 'up') process.exit(1); }); p.on('exit', x => process.exit(x)); }
END
node ipc.js",
        ),
        (
            "node",
            "node -e 'const n = require(\"net\"); const s = n.createServer(c => c.end(\"hi\")).listen(\"node.sock\", () => \
             n.connect(\"node.sock\").on(\"data\", d => { s.close(); process.exit(d.toString() == \"hi\" ? 0 : 1) }))'",
        ),
        ("gcc", "echo 'int main(void){return 0;}' > t.c && gcc -o t t.c && ./t"),
        (
            "gdb",
            "gdb -nx -batch -ex 'set startup-with-shell off' -ex 'break main' -ex run -ex 'print 6*7' -ex bt -ex continue ./t 2>&1 | grep '= 42'",
        ),
        ("strace", "strace -f -o trace true && grep -q execve trace"),
        (
            "python3",
            "cat > test_pairs.py <<'END'
import os, socket, subprocess, tempfile, threading, unittest
class Pairs(unittest.TestCase):
    def test_pair(self):
        a, b = socket.socketpair()
        with a, b:
            threading.Thread(target=lambda: a.sendall(b'x' * 100000)).start()
            got = 0
            while got < 100000: got += len(b.recv(65536))
    def test_pipe(self):
        p = subprocess.run(['sh', '-c', 'cat; exit 3'], input=b'in', capture_output=True)
        self.assertEqual((p.returncode, p.stdout), (3, b'in'))
    def test_files(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, 'f')
            open(path, 'w').close(); os.utime(path, (1, 1)); os.chmod(path, 0o600)
            self.assertEqual(os.stat(path).st_mtime, 1)
unittest.main()
END
python3 test_pairs.py",
        ),
        ("python3", "python3 -m venv --without-pip env && ./env/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'"),
        (
            "python3",
            "python3 -c 'import multiprocessing as m, os
lock, value = m.Lock(), m.Value(\"i\", 0)
def add():
    with lock: value.value += 1
children = [m.Process(target=add) for _ in range(4)]
[c.start() for c in children]; [c.join() for c in children]
assert value.value == 4
name = os.memfd_create(\"x\"); os.write(name, b\"x\")'",
        ),
        (
            "sqlite3",
            "sqlite3 wal.db 'pragma journal_mode=wal; create table t(a); insert into t values(1);' && test \"$(sqlite3 wal.db 'select count(*) from t')\" = 1",
        ),
        ("script", "script -qec 'test -t 0 && echo in a terminal' /dev/null < /dev/null | grep -q 'in a terminal'"),
        (
            "tar",
            "mkdir -p kept/d && echo x > kept/d/f && touch -d '2001-02-03' kept/d/f && chmod 640 kept/d/f && tar -cf kept.tar kept && rm -r kept && tar -xpf kept.tar && \
             test \"$(stat -c '%a %Y' kept/d/f)\" = \"640 $(date -d '2001-02-03' +%s)\"",
        ),
        (
            "make",
            "printf 'all: a b c d\\na b c d:\\n\\t@sleep 0.05; echo $@ > $@\\n' > Jobs && make -s -j4 -f Jobs && cat a b c d",
        ),
        ("perl", "perl -MIPC::Open2 -e 'my $p = open2(my $o, my $i, \"cat\"); print $i \"x\"; close $i; exit(<$o> eq \"x\" ? 0 : 1)'"),
        ("perl", "perl -e 'use Fcntl qw(:flock); open(my $f, \">\", \"lock\") or die; flock($f, LOCK_EX | LOCK_NB) or die'"),
        (
            "npm",
            "npm --version > /dev/null && echo '{\"name\":\"p\",\"scripts\":{\"t\":\"echo ran > ran\"}}' > package.json && npm run --silent t && cat ran",
        ),
        ("java", "java -XX:+UseSerialGC -Xshare:auto -Xmx64m -version"),
    ];
    for user in users() {
        let place = Place::new(user);
        for (program, script) in tools {
            if !has(program) {
                continue;
            }
            let output = place.shell(&[], script);
            assert!(output.status.success(), "{user:?} {script}: {}", words(&output));
            // Sockets of their own also where the network is everybody's.
            if script.contains("mp.py") || script.contains("node.sock") {
                let output = place.shell(&["--network"], script);
                assert!(
                    output.status.success(),
                    "{user:?} --network {script}: {}",
                    words(&output)
                );
            }
        }
    }
}

#[test]
fn git_can_be_asked() {
    if !has("git") {
        return;
    }
    for user in users() {
        let place = Place::new(user);
        let init = "git init -q . && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm x && echo y >> f";
        let made = place.shell(&["--policy", "full-access"], init);
        assert!(made.status.success(), "{}", words(&made));
        let output = place.shell(
            &[],
            "git status --short && git diff --stat && git log --oneline && git stash list && git branch",
        );
        assert!(output.status.success(), "{user:?}: {}", words(&output));
        assert!(
            String::from_utf8_lossy(&output.stdout).contains(" M f"),
            "{}",
            words(&output)
        );
        assert!(!place.shell(&[], "git commit -qam y").status.success());
        // The narrow grant: metadata may be written, hooks and configuration not.
        let grant = place.work.join(".git").display().to_string();
        let output = place.shell(&["--writable", &grant], "git commit -qam y");
        assert!(output.status.success(), "{user:?}: {}", words(&output));
        let output = place.shell(
            &["--writable", &grant],
            "git config core.fsmonitor evil || echo x > .git/hooks/pre-commit",
        );
        assert!(!output.status.success(), "{user:?}: {}", words(&output));
    }
}

#[test]
fn a_server_and_its_client_can_both_be_inside() {
    for user in users() {
        let place = Place::new(user);
        let script = "python3 -c '
import http.server, threading, urllib.request
server = http.server.HTTPServer((\"127.0.0.1\", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert urllib.request.urlopen(f\"http://127.0.0.1:{server.server_port}/\").status == 200
'";
        for options in [&["--network"][..], &[]] {
            let output = place.shell(options, script);
            assert!(output.status.success(), "{user:?} {options:?}: {}", words(&output));
        }
    }
}

#[test]
fn cargo_builds_offline() {
    let Some(cargo) = option_env!("CARGO") else { return };
    let place = Place::new(User::Own);
    fs::create_dir(place.work.join("src")).expect("mkdir");
    fs::write(
        place.work.join("src/main.rs"),
        "fn main() { println!(\"built inside\"); }",
    )
    .expect("write");
    fs::write(
        place.work.join("Cargo.toml"),
        "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    )
    .expect("write");
    let mut command = place.command(&[], &[cargo, "run", "--offline", "--quiet"]);
    for (name, value) in std::env::vars()
        .filter(|(name, _)| ["HOME", "PATH", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"].contains(&name.as_str()))
    {
        command.env(name, value);
    }
    let output = command.output().expect("run the sandbox");
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "built inside\n");
}

#[test]
fn the_exit_status_and_streams_are_the_commands_own() {
    let place = Place::new(User::Own);
    place.file(&place.work.join("plain"), "x");
    place.file(&place.work.join("bad"), "#!/no/such/interpreter\n");
    place.file(&place.work.join("script"), "echo from a script without a first line\n");
    for name in ["bad", "script"] {
        fs::set_permissions(
            place.work.join(name),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .expect("chmod");
    }
    for (options, argv, expected) in [
        (&[][..], &["sh", "-c", "echo out; echo err >&2; exit 3"][..], 3),
        (&[], &["sh", "-c", "kill -9 $$"], 137),
        (&[], &["sh", "-c", "kill -SEGV $$"], 139),
        (&[], &["sh", "-c", "no-such-program"], 127),
        (&[], &["no-such-program"], 127),
        (&[], &["./missing"], 127),
        (&[], &[""], 127),
        (&[], &["./plain"], 126),
        (&[], &["/"], 126),
        (&[], &["./bad"], 126),
        (&[], &["./script"], 0),
        (&["--policy", "full-access"], &["sh", "-c", "exit 4"], 4),
        (&["--policy", "full-access"], &["no-such-program"], 127),
        (&["--cd", "/no/such/folder"], &["true"], 125),
        (&["--writable", "/no/such/folder"], &["true"], 125),
        (&["--policy", "nonsense"], &["true"], 2),
    ] {
        let output = place.command(options, argv).output().expect("run the sandbox");
        assert_eq!(
            output.status.code(),
            Some(expected),
            "{options:?} {argv:?}: {}",
            words(&output)
        );
        let own = matches!(argv, ["sh", ..] | ["./script"]);
        let told = String::from_utf8_lossy(&output.stderr).contains("countersign sandbox: ");
        assert_eq!(told, !own && expected != 2, "{argv:?}: {}", words(&output));
    }
    let output = place.shell(&[], "echo out; echo err >&2");
    assert_eq!(
        (output.stdout.as_slice(), output.stderr.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
}

/// A person at a terminal who wonders why a command failed hears what it could not do; whoever reads a pipe gets the command's own words.
#[test]
fn at_a_terminal_a_failure_is_followed_by_what_the_sandbox_keeps() {
    let place = Place::new(User::Own);
    let work = place.work.display();
    let none = ", and reach no host (--host HOST, or --network for all).";
    for (options, script, expected) in [
        (
            &["--no-tmp"][..],
            "exit 3",
            format!("In this sandbox it could write only in {work} (--writable DIR adds one){none}"),
        ),
        (
            &["--policy", "read-only", "--network"],
            "exit 3",
            "it could write nowhere (--policy workspace-write).".to_owned(),
        ),
        (
            &["--no-tmp", "--host", "example.org"],
            "exit 3",
            "and reach only what was named (--host HOST, or --network for all).".to_owned(),
        ),
        (&[], "exit 0", String::new()),
        (&[], "exit 130", String::new()),
        (&["--policy", "full-access"], "exit 3", String::new()),
    ] {
        let at_terminal = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
        let mut command = Command::new("python3");
        command.args(["-c", at_terminal]).arg(&place.program).arg("sandbox");
        command.args(options).args(["--", "sh", "-c", script]);
        place.dress(&mut command);
        let output = command.output().expect("python3");
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            told.contains("It failed."),
            !expected.is_empty(),
            "{options:?} {script}: {told}"
        );
        assert!(told.contains(&expected), "{options:?}: {told}");
        let quiet = place.shell(options, script);
        assert!(
            quiet.stdout.is_empty() && quiet.stderr.is_empty(),
            "{options:?} {script}: {}",
            words(&quiet)
        );
        assert_eq!(output.status.code(), quiet.status.code(), "{options:?} {script}");
    }
}

#[test]
fn marks_and_secrets_in_the_environment() {
    let place = Place::new(User::Own);
    let mut command = place.command(&[], &["env"]);
    let output = command
        .env("OPENAI_API_KEY", "sk-x")
        .env("PLAIN", "kept")
        .output()
        .expect("run the sandbox");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("sk-x"), "{text}");
    for line in [
        "PLAIN=kept",
        "COUNTERSIGN_SANDBOX=1",
        "COUNTERSIGN_SANDBOX_NETWORK_DISABLED=1",
        "CODEX_SANDBOX_NETWORK_DISABLED=1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[test]
fn folders_of_other_people_stay_usable_for_root() {
    if !has_root() {
        return;
    }
    let place = Place::new(User::Nobody);
    place.file(&place.work.join("theirs"), "x");
    fs::set_permissions(
        place.work.join("theirs"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .expect("chmod");
    let own = Place::new(User::Own);
    let work = place.work.display().to_string();
    let output = own.shell(
        &["--cd", &work],
        "cat theirs && echo y >> theirs && touch new && ! touch $OUT/x",
    );
    assert!(output.status.success(), "{}", words(&output));
}
