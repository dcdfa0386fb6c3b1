//! Whether a confined command failed because of its walls, and which one it was.
//!
//! What the keeper itself refused is certain. The rest is read from the output, as programs of all kinds word the kernel's
//! refusals; and since words alone prove little, a place that a program names is looked at: the sandbox is why only where
//! the person could do there what the command could not.

mod files;
#[cfg(target_os = "linux")]
mod limits;
mod network;

use super::Confinement;
use super::proxy::Refused;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The sandbox, as far as can be told, stopped the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// In words, for the person and the model.
    pub reason: String,
    /// What the command would have needed.
    pub missing: Missing,
}

/// One thing that the kernel has refused, by its own record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// In words, as they stand after "blocked".
    pub what: String,
    pub missing: Missing,
}

/// What a command would have needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Missing {
    /// To write this; absolute.
    Write(PathBuf),
    /// To read this; absolute.
    Read(PathBuf),
    /// The network; the host, where it is known.
    Network(Option<String>),
    /// Something else, or something that cannot be told.
    Other,
}

/// A command that has run, as far as it matters here.
pub(super) struct Ran<'a> {
    pub exit_code: i32,
    pub output: &'a str,
    /// Where it was started.
    pub cwd: &'a Path,
    pub confinement: &'a Confinement,
    /// What the keeper refused, in words.
    pub blocked: Option<&'a str>,
    /// That a port of its loopback did not answer, in words. A command may well try until its own server does.
    pub unanswered: Option<String>,
    /// The first of what the kernel has written down as refused, where that can be read.
    pub recorded: Option<&'a Refusal>,
    /// The hosts that its proxy has refused it, in order.
    pub refused: Vec<Refused>,
}

/// Words by which programs say that they were refused something.
const REFUSED: [&str; 6] = [
    "permission denied",
    "not permitted",
    "access denied",
    "eacces",
    "eperm",
    "errno 13",
];

/// Killed by SIGSYS.
const BAD_SYSTEM_CALL: i32 = 128 + 31;

/// Longest part of a line of output that a reason quotes, in bytes.
const QUOTED: usize = 300;

/// Lines of the output that are looked at, from its end.
const LINES: usize = 2000;

/// What a script went without although it succeeded: of a pipe only the last program's status is seen. In words for whoever reads
/// its output; nothing else follows from it.
pub(super) fn behind_a_pipe(ran: &Ran<'_>, argv: &[String]) -> Option<String> {
    let is_piped = argv.iter().any(|word| word.replace("||", "").contains('|'));
    if !is_piped || ran.exit_code != 0 || ran.confinement.network() {
        return None;
    }
    let plain = super::output::plain(ran.output);
    let named = |refused: &&Refused| plain.to_ascii_lowercase().contains(&refused.host);
    if let Some(refused) = ran.refused.iter().rev().find(named) {
        return Some(refused.to_string());
    }
    let mut lines = plain.lines().rev().take(LINES).filter(|line| !is_compared(line));
    lines
        .find_map(|line| network::judge(line, false))
        .map(|denial| denial.reason)
}

/// Judges a command that ran confined.
pub(super) fn judge(ran: &Ran<'_>) -> Option<Denial> {
    let network = ran.confinement.network();
    if ran.exit_code == 0 {
        return None;
    }
    if ran.exit_code == BAD_SYSTEM_CALL {
        return Some(Denial {
            reason: "the sandbox ended the program for a system call that it does not allow".to_owned(),
            missing: Missing::Other,
        });
    }
    #[cfg(target_os = "linux")]
    if let Some(denial) = limits::judge_end(ran.exit_code) {
        return Some(denial);
    }
    let plain = super::output::plain(ran.output);
    if let Some(refused) = network::refused(&ran.refused, &plain) {
        return Some(Denial {
            reason: refused.to_string(),
            missing: Missing::Network(Some(refused.host.clone())),
        });
    }
    if let Some(blocked) = ran.blocked {
        return Some(Denial {
            reason: format!("the sandbox blocked {blocked}"),
            missing: if !network && blocked.contains("to the network") {
                Missing::Network(None)
            } else {
                Missing::Other
            },
        });
    }
    let lines = || plain.lines().rev().take(LINES).filter(|line| !is_compared(line));
    let of_files = || lines().find_map(|line| files::judge(line, ran));
    let speaks_of_sockets = ["socket", "connect(", "bind("].iter().any(|word| plain.contains(word));
    let of_network = || lines().find_map(|line| network::judge(line, speaks_of_sockets));
    let unclear = || lines().find_map(files::judge_unclear);
    #[cfg(target_os = "linux")]
    let of_limits = || {
        let most = ran.confinement.bounds().unwrap_or_default().processes;
        lines().find_map(|line| limits::judge(line, most))
    };
    #[cfg(not(target_os = "linux"))]
    let of_limits = || None;
    let of_loopback = || {
        let reason = ran.unanswered.clone()?;
        let said = lines().any(|line| line.to_ascii_lowercase().contains("refused"));
        said.then_some(Denial {
            reason,
            missing: Missing::Network(None),
        })
    };
    // That something was refused is certain then, but not that it is why: programs try things and do without.
    let of_records = || {
        let recorded = ran.recorded?;
        let lower = plain.to_ascii_lowercase();
        let said = lower.trim().is_empty() || REFUSED.iter().any(|words| lower.contains(words));
        said.then(|| Denial {
            reason: format!("the sandbox blocked {}", recorded.what),
            missing: recorded.missing.clone(),
        })
    };
    of_files()
        .or_else(|| (!network).then(of_network).flatten())
        .or_else(of_loopback)
        .or_else(of_records)
        .or_else(of_limits)
        .or_else(unclear)
}

/// Whether a line shows what was expected of a text, or how texts differ: it speaks of errors without being one.
fn is_compared(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("-e:") {
        // A program given on the command line speaks.
        return false;
    }
    let lower = line
        .get(..line.floor_char_boundary(24))
        .unwrap_or(line)
        .to_ascii_lowercase();
    [
        "+", "-", "<", ">", "|", "assert", "expected", "actual", "left:", "right:", "e   ", "want", "got",
    ]
    .iter()
    .any(|start| lower.starts_with(start))
}

fn quoted(line: &str) -> &str {
    let line = line.trim();
    &line[..line.floor_char_boundary(QUOTED)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::settings::SandboxPolicy;
    use std::fs;

    /// A workspace, a folder beside it, and a policy that lets the first be written.
    struct Place {
        _dir: tempfile::TempDir,
        work: PathBuf,
        outside: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::Builder::new()
                .prefix("denial")
                .tempdir_in("/var/tmp")
                .expect("temporary folder");
            let base = fs::canonicalize(dir.path()).expect("canonical");
            let (work, outside) = (base.join("work"), base.join("outside"));
            fs::create_dir_all(work.join(".git")).expect("mkdir");
            fs::create_dir(&outside).expect("mkdir");
            fs::write(outside.join("file"), "x").expect("write");
            fs::write(work.join("script"), "x").expect("write");
            Self {
                _dir: dir,
                work,
                outside,
            }
        }

        fn confinement(&self, network: bool) -> Confinement {
            let policy = SandboxPolicy::WorkspaceWrite {
                writable_roots: vec![],
                network_access: network,
                exclude_tmpdir_env_var: true,
                exclude_slash_tmp: true,
            };
            Confinement::new(&policy, &self.work, &[], None)
        }

        fn judge(&self, exit_code: i32, output: &str, network: bool, blocked: Option<&str>) -> Option<Denial> {
            self.judge_with(exit_code, output, network, blocked, None)
        }

        fn judge_with(
            &self,
            exit_code: i32,
            output: &str,
            network: bool,
            blocked: Option<&str>,
            unanswered: Option<&str>,
        ) -> Option<Denial> {
            judge(&Ran {
                exit_code,
                output: &output
                    .replace("OUT", &self.outside.display().to_string())
                    .replace("WORK", &self.work.display().to_string()),
                cwd: &self.work,
                confinement: &self.confinement(network),
                blocked,
                unanswered: unanswered.map(str::to_owned),
                recorded: None,
                refused: Vec::new(),
            })
        }
    }

    #[test]
    fn the_kernels_records_by_table() {
        let place = Place::new();
        let recorded = Refusal {
            what: "making something in /srv".to_owned(),
            missing: Missing::Write("/srv".into()),
        };
        for (exit_code, output, expected) in [
            (1, "", true),
            (1, "it failed: Permission denied", true),
            (1, "Error: EACCES", true),
            // It failed for another reason.
            (1, "2 tests of 40 have failed", false),
            (0, "Permission denied", false),
        ] {
            let denial = judge(&Ran {
                exit_code,
                output,
                cwd: &place.work,
                confinement: &Confinement::new(&SandboxPolicy::from_mode(Default::default()), &place.work, &[], None),
                blocked: None,
                unanswered: None,
                recorded: Some(&recorded),
                refused: Vec::new(),
            });
            assert_eq!(denial.is_some(), expected, "{output}");
            if let Some(denial) = denial {
                assert_eq!(denial.reason, "the sandbox blocked making something in /srv");
                assert_eq!(denial.missing, Missing::Write("/srv".into()));
            }
        }
    }

    #[test]
    fn a_refused_host_is_the_reason_where_the_output_tells_of_it() {
        let place = Place::new();
        for (output, expected) in [
            ("", Some("b.example")),
            ("curl: (56) CONNECT tunnel failed, response 403", Some("b.example")),
            (
                "npm error 403 403 Forbidden - GET https://a.example/x",
                Some("a.example"),
            ),
            ("connect to A.example failed", Some("a.example")),
            // Programs ask for what they do without, and fail for something else.
            ("2 tests of 40 have failed", None),
        ] {
            let denial = judge(&Ran {
                exit_code: 1,
                output,
                cwd: &place.work,
                confinement: &Confinement::new(&SandboxPolicy::from_mode(Default::default()), &place.work, &[], None),
                blocked: None,
                unanswered: None,
                recorded: None,
                refused: ["a.example", "b.example"].map(Refused::example).to_vec(),
            });
            let host = denial.map(|denial| denial.missing);
            let expected = expected.map(|host| Missing::Network(Some(host.to_owned())));
            assert_eq!(host, expected, "{output}");
        }
    }

    /// What programs print when a write is refused, and the file that each means, in the folder outside.
    #[test]
    fn refused_writes_by_table() {
        let place = Place::new();
        for (exit_code, output, name) in [
            // Shells and their tools.
            (2, "sh: 1: cannot create OUT/new: Read-only file system", "new"),
            (2, "dash: 3: cannot create ../outside/new: Read-only file system", "new"),
            (1, "bash: line 1: OUT/new: Read-only file system", "new"),
            (1, "/usr/bin/bash: line 12: ../outside/new: Permission denied", "new"),
            (1, "zsh:1: read-only file system: OUT/new", "new"),
            (1, "zsh:1: permission denied: OUT/file", "file"),
            (1, "rm: cannot remove 'OUT/file': Read-only file system", "file"),
            (1, "rm: cannot remove ‘OUT/file’: Permission denied", "file"),
            (1, "touch: cannot touch 'OUT/new': Read-only file system", "new"),
            (1, "touch: setting times of 'OUT/file': Operation not permitted", "file"),
            (1, "mkdir: cannot create directory ‘OUT/a’: Read-only file system", "a"),
            (1, "mkdir: OUT/a: Read-only file system", "a"),
            (
                1,
                "cp: cannot create regular file 'OUT/new': Read-only file system",
                "new",
            ),
            (1, "mv: cannot move 'x' to 'OUT/new': Read-only file system", "new"),
            (
                1,
                "ln: failed to create symbolic link 'OUT/l': Read-only file system",
                "l",
            ),
            (
                1,
                "chmod: changing permissions of 'OUT/file': Read-only file system",
                "file",
            ),
            (1, "tee: OUT/new: Read-only file system", "new"),
            (
                4,
                "sed: couldn't open temporary file OUT/sedAbC: Read-only file system",
                "sedAbC",
            ),
            (2, "tar: OUT/new: Cannot open: Read-only file system", "new"),
            (
                1,
                "install: cannot create regular file 'OUT/bin': Read-only file system",
                "bin",
            ),
            (
                2,
                "make: *** [Makefile:2: all] Error 1\nmkdir: cannot create directory 'OUT/a': Read-only file system",
                "a",
            ),
            (
                2,
                "mkdir: cannot create directory 'OUT/a': Read-only file system\nmake: *** [Makefile:2: all] Error 1",
                "a",
            ),
            // Languages.
            (1, "OSError: [Errno 30] Read-only file system: 'OUT/new'", "new"),
            (
                1,
                "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\n\
                 PermissionError: [Errno 13] Permission denied: 'OUT/file'",
                "file",
            ),
            (
                1,
                "Error: EROFS: read-only file system, open 'OUT/new'\n    at Object.openSync (node:fs:601:3) {\n  errno: -30,\n  \
                 code: 'EROFS',\n  syscall: 'open',\n  path: 'OUT/new'\n}",
                "new",
            ),
            (1, "Error: EACCES: permission denied, open 'OUT/file'", "file"),
            (1, "Error: EPERM: operation not permitted, utime 'OUT/file'", "file"),
            (
                1,
                "Uncaught Error: EROFS: read-only file system, rename 'WORK/a' -> 'OUT/b'",
                "b",
            ),
            (1, "panic: open OUT/new: read-only file system", "new"),
            (1, "2026/01/02 03:04:05 mkdir OUT/a: read-only file system", "a"),
            (1, "2026/01/02 03:04:05 open OUT/file: permission denied", "file"),
            (
                101,
                "error: failed to open: OUT/.cargo-lock\n\nCaused by:\n  Read-only file system (os error 30)",
                ".cargo-lock",
            ),
            (
                101,
                "error: failed to create directory `OUT/registry`\n\nCaused by:\n  Read-only file system (os error 30)",
                "registry",
            ),
            (
                1,
                "Error: failed to write OUT/new\n\nCaused by:\n    Permission denied (os error 13)",
                "new",
            ),
            (
                1,
                "java.io.FileNotFoundException: OUT/new (Read-only file system)\n\tat java.base/java.io.FileOutputStream.open0",
                "new",
            ),
            (
                1,
                "java.nio.file.FileSystemException: OUT/new: Read-only file system",
                "new",
            ),
            (1, "java.nio.file.AccessDeniedException: OUT/file", "file"),
            (
                1,
                "-e:1:in `initialize': Read-only file system @ rb_sysopen - OUT/new (Errno::EROFS)",
                "new",
            ),
            (
                1,
                "Warning: file_put_contents(OUT/new): Failed to open stream: Read-only file system in a.php on line 1",
                "new",
            ),
            (
                1,
                "System.UnauthorizedAccessException: Access to the path 'OUT/file' is denied.",
                "file",
            ),
            (1, "System.IO.IOException: Read-only file system : 'OUT/new'", "new"),
            // Tools.
            (
                128,
                "fatal: could not create work tree dir 'OUT/clone': Read-only file system",
                "clone",
            ),
            (
                128,
                "fatal: Unable to create 'OUT/index.lock': Read-only file system",
                "index.lock",
            ),
            (
                255,
                "error: could not lock config file OUT/config: Read-only file system",
                "config",
            ),
            (
                226,
                "npm error code EROFS\nnpm error syscall mkdir\nnpm error path OUT/_cacache\nnpm error errno EROFS\n\
                 npm error rofs EROFS: read-only file system, mkdir 'OUT/_cacache'",
                "_cacache",
            ),
            (
                243,
                "npm ERR! code EACCES\nnpm ERR! syscall open\nnpm ERR! path OUT/file\nnpm ERR! errno -13\n\
                 npm ERR! Error: EACCES: permission denied, open 'OUT/file'",
                "file",
            ),
            (
                1,
                "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: 'OUT/pkg'",
                "pkg",
            ),
            (
                23,
                "curl: (23) Failure writing output to destination\nWarning: Failed to open the file OUT/new: Read-only file system",
                "new",
            ),
            (
                1,
                "go: creating work dir: mkdir OUT/go-build1: read-only file system",
                "go-build1",
            ),
            (
                1,
                "failed to initialize build cache at OUT/cache: mkdir OUT/cache: read-only file system",
                "cache",
            ),
            (1, "gcc: error: OUT/a.o: Read-only file system", "a.o"),
            (
                1,
                "/usr/bin/ld: cannot open output file OUT/a.out: Read-only file system",
                "a.out",
            ),
            // Other languages of people.
            (
                1,
                "touch: 'OUT/new' kann nicht berührt werden: Das Dateisystem ist nur lesbar",
                "new",
            ),
            (
                1,
                "rm: impossible de supprimer 'OUT/file': Système de fichiers accessible en lecture seulement",
                "file",
            ),
            // Colours.
            (
                1,
                "\u{1B}[31mtouch\u{1B}[0m: cannot touch '\u{1B}[1mOUT/new\u{1B}[0m': Read-only file system",
                "new",
            ),
        ] {
            let denial = place.judge(exit_code, output, false, None);
            let denial = denial.unwrap_or_else(|| panic!("not seen: {output}"));
            let expected = place.outside.join(name);
            assert_eq!(denial.missing, Missing::Write(expected.clone()), "{output}");
            let words = format!("the sandbox blocked writing to {}", expected.display());
            assert!(denial.reason.starts_with(&words), "{}", denial.reason);
        }
    }

    #[test]
    fn protected_places_are_told_too() {
        let place = Place::new();
        let output = "fatal: Unable to create 'WORK/.git/index.lock': Read-only file system";
        let denial = place.judge(128, output, true, None).expect("seen");
        assert_eq!(denial.missing, Missing::Write(place.work.join(".git/index.lock")));
    }

    /// What programs print without a network, and the host that each means.
    #[test]
    fn the_missing_network_by_table() {
        let place = Place::new();
        for (exit_code, output, host) in [
            (6, "curl: (6) Could not resolve host: example.org", Some("example.org")),
            (
                7,
                "curl: (7) Failed to connect to 10.1.2.3 port 80 after 0 ms: Couldn't connect to server",
                Some("10.1.2.3"),
            ),
            (
                4,
                "wget: unable to resolve host address ‘example.org’",
                Some("example.org"),
            ),
            (
                4,
                "Resolving example.org (example.org)... failed: Temporary failure in name resolution.",
                Some("example.org"),
            ),
            (
                128,
                "fatal: unable to access 'https://git.example.org/x/': Could not resolve host: git.example.org",
                Some("git.example.org"),
            ),
            (
                255,
                "ssh: Could not resolve hostname git.example.org: Temporary failure in name resolution\r\nfatal: Could not read \
                 from remote repository.",
                Some("git.example.org"),
            ),
            (
                1,
                "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(\"HTTPSConnection(host='pypi.example.org', \
                 port=443): Failed to establish a new connection: [Errno -3] Temporary failure in name resolution\")': /simple/x/",
                Some("pypi.example.org"),
            ),
            (
                1,
                "socket.gaierror: [Errno -3] Temporary failure in name resolution",
                None,
            ),
            (1, "OSError: [Errno 101] Network is unreachable", None),
            (
                1,
                "Error: getaddrinfo ENOTFOUND registry.example.org\n    at GetAddrInfoReqWrap.onlookup [as oncomplete]",
                Some("registry.example.org"),
            ),
            (
                1,
                "npm error request to https://registry.example.org/x failed, reason: getaddrinfo EAI_AGAIN registry.example.org",
                Some("registry.example.org"),
            ),
            (
                1,
                "Error: connect ENETUNREACH 192.0.2.1:443 - Local (0.0.0.0:0)",
                Some("192.0.2.1"),
            ),
            (
                101,
                "warning: spurious network error (3 tries remaining): [6] Could not resolve hostname (Could not resolve host: \
                 index.example.org)",
                Some("index.example.org"),
            ),
            (
                1,
                "go: x@v1.0.0: Get \"https://proxy.example.org/x\": dial tcp: lookup proxy.example.org: Temporary failure in name \
                 resolution",
                Some("proxy.example.org"),
            ),
            (
                1,
                "dial tcp: lookup proxy.example.org on 127.0.0.53:53: dial udp 127.0.0.53:53: socket: operation not permitted",
                Some("proxy.example.org"),
            ),
            (
                1,
                "dial tcp 192.0.2.1:443: connect: network is unreachable",
                Some("192.0.2.1"),
            ),
            (
                1,
                "Error: error sending request for url (https://api.example.org/v1): dns error: failed to lookup address information",
                Some("api.example.org"),
            ),
            (
                1,
                "java.net.UnknownHostException: repo.example.org",
                Some("repo.example.org"),
            ),
            (
                1,
                "Exception in thread \"main\" java.net.SocketException: Operation not permitted",
                None,
            ),
            (
                1,
                "Failed to open TCP connection to gems.example.org:443 (getaddrinfo: Temporary failure in name resolution)",
                Some("gems.example.org"),
            ),
            (
                100,
                "W: Failed to fetch http://deb.example.org/x  Temporary failure resolving 'deb.example.org'",
                Some("deb.example.org"),
            ),
            (
                2,
                "ping: example.org: Temporary failure in name resolution",
                Some("example.org"),
            ),
            (2, "ping: socket: Operation not permitted", None),
            (
                1,
                "    s = socket.socket()\n        ^^^^^^^^^^^^^^^\nPermissionError: [Errno 1] Operation not permitted",
                None,
            ),
            (
                2,
                "psql: error: could not translate host name \"db.example.org\" to address",
                Some("db.example.org"),
            ),
        ] {
            let denial = place.judge(exit_code, output, false, None);
            let denial = denial.unwrap_or_else(|| panic!("not seen: {output}"));
            assert_eq!(denial.missing, Missing::Network(host.map(str::to_owned)), "{output}");
            assert!(
                denial.reason.starts_with("the sandbox blocked the network"),
                "{}",
                denial.reason
            );
            let with_network = place.judge(exit_code, output, true, None);
            assert!(
                !with_network.is_some_and(|denial| matches!(denial.missing, Missing::Network(_))),
                "{output}"
            );
        }
    }

    #[test]
    fn ordinary_failures_are_not_the_sandboxes() {
        let place = Place::new();
        for (exit_code, output) in [
            (0, "touch: cannot touch 'OUT/new': Read-only file system"),
            (1, ""),
            (1, "test failed"),
            (
                101,
                "assertion `left == right` failed\n  left: \"Permission denied\"\n right: \"Read-only file system\"",
            ),
            (1, "-touch: cannot touch 'OUT/new': Read-only file system\n+ok"),
            (1, "E       AssertionError: assert 'x' == 'OUT/file: Permission denied'"),
            (1, "expected: open OUT/file: permission denied\ngot: nothing"),
            (1, "test reports_permission_denied ... FAILED"),
            (
                1,
                "src/error.rs:12:    PermissionDenied, // permission denied by the server",
            ),
            (1, "HTTP 403: permission denied for this project"),
            // The shell and the program itself.
            (126, "sh: 1: ./script: Permission denied"),
            (126, "bash: ./script: Permission denied"),
            (127, "sh: 1: x: not found"),
            (2, "ls: cannot access 'OUT/missing': No such file or directory"),
            (255, "git@git.example.org: Permission denied (publickey)."),
            (1, "kill: (1) - Operation not permitted"),
            (139, ""),
            (1, "error: test failed, could not resolve hosts in the table of names"),
            (7, "curl: (22) The requested URL returned error: 404"),
            (
                1,
                "node_modules is missing: ENOENT: no such file or directory, open 'WORK/x'",
            ),
            (1, "error[E0433]: failed to resolve: use of undeclared crate"),
            (1, "Error: EACCES: permission denied, open '/nowhere/at/all'"),
        ] {
            assert_eq!(place.judge(exit_code, output, false, None), None, "{output}");
        }
    }

    #[test]
    fn what_is_certain_comes_first() {
        let place = Place::new();
        let blocked = Some("making a protected folder: .codex");
        let denial = place.judge(1, "touch: cannot touch 'OUT/new': Read-only file system", true, blocked);
        assert!(denial.expect("seen").reason.contains(".codex"));
        let denial = place.judge(1, "", false, Some("a connection to the network"));
        assert_eq!(denial.expect("seen").missing, Missing::Network(None));
        assert!(
            place
                .judge(159, "", true, None)
                .expect("seen")
                .reason
                .contains("system call")
        );
        assert_eq!(place.judge(0, "", true, blocked), None);
    }

    #[test]
    fn what_a_pipe_hides_is_said() {
        let place = Place::new();
        const LOST: &str = "curl: (6) Could not resolve host: example.org\n";
        for (script, exit_code, output, network, expected) in [
            ("curl example.org 2>&1 | tail", 0, LOST, false, true),
            ("curl example.org 2>&1 | tail", 0, LOST, true, false),
            ("curl example.org 2>&1 | tail", 1, LOST, false, false),
            ("curl example.org || true", 0, LOST, false, false),
            ("curl example.org | tail", 0, "all is well\n", false, false),
            ("curl example.org | tail", 0, "", false, false),
        ] {
            let confinement = place.confinement(network);
            let ran = Ran {
                exit_code,
                output,
                cwd: &place.work,
                confinement: &confinement,
                blocked: None,
                unanswered: None,
                recorded: None,
                refused: Vec::new(),
            };
            let argv = ["bash", "-lc", script].map(str::to_owned);
            let said = behind_a_pipe(&ran, &argv);
            assert_eq!(said.is_some(), expected, "{script}: {said:?}");
            assert!(
                said.is_none_or(|said| said.contains("blocked the network (example.org)")),
                "{script}"
            );
        }
    }

    #[test]
    fn a_port_that_nobody_answers_matters_where_the_command_says_so() {
        let place = Place::new();
        let port = Some("nothing in the sandbox listens on port 5432");
        let refused = "psql: error: connection to server at \"127.0.0.1\", port 5432 failed: Connection refused";
        for (output, unanswered, expected) in [
            (refused, port, true),
            (refused, None, false),
            ("test failed: left: 3, right: 4", port, false),
        ] {
            let denial = place.judge_with(1, output, false, None, unanswered);
            let missing = denial.map(|denial| denial.missing);
            assert_eq!(missing, expected.then_some(Missing::Network(None)), "{output}");
        }
        assert_eq!(place.judge_with(0, refused, false, None, port), None);
    }

    #[test]
    fn the_reason_quotes_a_bounded_line() {
        let place = Place::new();
        let line = format!("{}ä: {}: Read-only file system", "ü".repeat(400), "x".repeat(500));
        let denial = place.judge(1, &line, true, None).expect("a denial");
        assert!(denial.reason.len() < 1500, "{}", denial.reason.len());
    }
}
