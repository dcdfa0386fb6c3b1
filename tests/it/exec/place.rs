//! A workspace, a folder outside of it, and a user to run as.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fs, io::Write};

/// The ordinary user of tests that run as root.
const NOBODY: u32 = 65534;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Own,
    Nobody,
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The users that commands can be run as: root tries an ordinary one too.
pub(crate) fn users() -> Vec<User> {
    if is_root() {
        vec![User::Own, User::Nobody]
    } else {
        vec![User::Own]
    }
}

/// In Python, for a network of one's own: an address that is answered here and is none of the machine's, which asks from another.
pub(crate) const ELSEWHERE: &str = "
import socket, struct
def elsewhere(address):
    route = struct.pack('8BI', 2, 32, 0, 0, 255, 3, 254, 2, 0)
    for kind, value in ((1, socket.inet_aton(address)), (4, struct.pack('i', socket.if_nametoindex('lo'))), (7, socket.inet_aton('127.0.0.1'))):
        route += struct.pack('HH', 8, kind) + value
    routes = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    routes.send(struct.pack('IHHII', 16 + len(route), 24, 0x405, 1, 0) + route)
    code, = struct.unpack('i', routes.recv(4096)[16:20])
    if code: raise OSError(-code, 'route', address)
";

/// Two folders side by side below `/var/tmp`, so that neither is in the temporary folder that commands may write.
pub(crate) struct Place {
    pub user: User,
    _dir: tempfile::TempDir,
    pub work: PathBuf,
    pub outside: PathBuf,
    pub program: PathBuf,
}

impl Place {
    pub(crate) fn new(user: User) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("countersign-exec-")
            .tempdir_in("/var/tmp")
            .expect("temporary folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        fs::set_permissions(&base, fs::Permissions::from_mode(0o755)).expect("chmod");
        let program = match user {
            User::Own => PathBuf::from(env!("CARGO_BIN_EXE_countersign")),
            // The build may lie in a folder that others cannot read.
            User::Nobody => {
                let copy = base.join("countersign");
                copy_program(&copy);
                copy
            }
        };
        let place = Self {
            user,
            work: base.join("work"),
            outside: base.join("outside"),
            program,
            _dir: dir,
        };
        for folder in [&place.work, &place.outside] {
            place.folder(folder);
        }
        place
    }

    /// Makes a folder that belongs to the user.
    pub(crate) fn folder(&self, path: &Path) {
        fs::create_dir_all(path).expect("mkdir");
        self.give(path);
    }

    /// Makes a file that belongs to the user.
    pub(crate) fn file(&self, path: &Path, text: &str) {
        fs::File::create(path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .expect("write");
        self.give(path);
    }

    pub(crate) fn give(&self, path: &Path) {
        if self.user == User::Nobody {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("chown");
        }
    }

    /// `countersign sandbox OPTIONS -- ARGV`, in the workspace.
    pub(crate) fn command(&self, options: &[&str], argv: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("sandbox").args(options).arg("--").args(argv);
        self.dress(&mut command);
        command
    }

    /// Gives a command the user, the folder and a small environment.
    pub(crate) fn dress(&self, command: &mut Command) {
        command
            .current_dir(&self.work)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", &self.work)
            .env("OUT", &self.outside)
            .env("WORK", &self.work)
            .env("SANDBOX", &self.program)
            .stdin(Stdio::null());
        if self.user == User::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
    }

    /// Runs shell text in the sandbox.
    pub(crate) fn shell(&self, options: &[&str], text: &str) -> Output {
        self.command(options, &["sh", "-c", text])
            .output()
            .expect("run the sandbox")
    }
}

/// Puts a copy of the program there, to be run. Not by this process: a child forked by another test meanwhile would hold the copy
/// open for writing.
pub(crate) fn copy_program(to: &Path) {
    let done = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_countersign"))
        .arg(to)
        .status();
    assert!(done.expect("cp").success(), "copy the program");
}

/// What a command printed, for messages.
pub(crate) fn words(output: &Output) -> String {
    format!(
        "{}\nstdout: {}\nstderr: {}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Says that the running test is skipped, or a part of it, and why: past what the harness keeps to itself.
pub(crate) fn skipped(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _closed = writeln!(std::io::stderr(), "{test}: skipped (or a part of it): {why}");
}

/// Whether the machine has what a test needs. Where it does not, the test is skipped, and says so; on a machine that is
/// there to run all tests (`CI` is set) that is a failure.
fn needs(there: bool, what: &str) -> bool {
    if !there {
        let everything = std::env::var("CI").is_ok_and(|ci| !["", "0", "false"].contains(&&*ci));
        assert!(
            !everything,
            "this test needs {what}, and with CI set none may be skipped"
        );
        skipped(&format!("it needs {what}"));
    }
    there
}

/// Whether the machine has a program that the running test needs.
pub(crate) fn has(program: &str) -> bool {
    needs(there_is(program), &format!("`{program}`, which is not installed"))
}

/// Whether this process is root, as the running test needs.
pub(crate) fn has_root() -> bool {
    needs(is_root(), "to be run as root")
}

/// Whether a program can be found, for what is only one way of many to try the same.
pub(crate) fn there_is(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists())
}

/// Whether any process has this among its arguments.
pub(crate) fn runs_with(argument: &str) -> bool {
    fs::read_dir("/proc").expect("/proc").flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == argument.as_bytes())
    })
}

/// Where the sandbox says that it has put an entry that it took away.
pub(crate) fn set_aside(output: &Output) -> Option<PathBuf> {
    let said = String::from_utf8_lossy(&output.stderr);
    let (_, place) = said.lines().find_map(|line| line.split_once(": moved to "))?;
    Some(PathBuf::from(place.trim()))
}
