//! The program on a system that has nothing but the C library.

use crate::exec::place::copy_program;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_countersign");

/// What every Linux that runs programs of this kind has.
const SYSTEM: [&str; 7] = [
    "linux-vdso",
    "ld-linux",
    "libc.",
    "libm.",
    "libgcc_s.",
    "libpthread.",
    "libdl.",
];

/// A root folder with the program, the libraries of the system that it names, and `/dev/null`; nothing else, not even a shell.
fn bare() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    let listed = Command::new("ldd").arg(PROGRAM).output().expect("ldd");
    let listed = String::from_utf8(listed.stdout).expect("text");
    for line in listed.lines().filter(|line| !line.trim().is_empty()) {
        let name = line.trim();
        let name = name
            .rsplit_once('/')
            .filter(|_| name.starts_with('/'))
            .map_or(name, |(_, name)| name);
        assert!(
            SYSTEM.iter().any(|known| name.starts_with(known)),
            "needs more than the system has: {line}"
        );
        let path = line.split_whitespace().find(|word| word.starts_with('/'));
        if let Some(path) = path {
            put(path, root.path());
        }
    }
    copy_program(&root.path().join("countersign"));
    std::fs::create_dir(root.path().join("dev")).expect("a folder");
    std::fs::write(root.path().join("dev/null"), "").expect("a place");
    root
}

fn put(path: &str, root: &Path) {
    let to = root.join(path.trim_start_matches('/'));
    std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
    std::fs::copy(path, to).expect("a library");
}

fn start(root: &Path, arguments: &[&str]) -> Child {
    let enter = r#"mount --bind /dev/null "$1/dev/null" && root=$1 && shift && exec chroot "$root" /countersign "$@""#;
    Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", enter, "sh"])
        .arg(root)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .env("COUNTERSIGN_HOME", "/home")
        .spawn()
        .expect("unshare")
}

/// Shows S-032.
#[test]
fn the_program_needs_nothing_but_the_system() {
    let root = bare();
    let told = start(root.path(), &["--version"]).wait_with_output().expect("an end");
    assert!(told.status.success(), "{}", told.status);
    assert_eq!(
        told.stdout,
        concat!("countersign ", env!("CARGO_PKG_VERSION"), "\n").as_bytes()
    );

    let mut server = start(root.path(), &[]);
    let initialize =
        json!({"processId": null, "rootUri": null, "capabilities": {"experimental": {"countersign": true}}});
    let mut input = server.stdin.take().expect("a pipe");
    let mut output = server.stdout.take().expect("a pipe");
    let mut said = String::new();
    let mut send = |message: &Value| {
        let body = message.to_string();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("it listens");
    };
    let mut until = |part: &str| {
        let mut piece = [0; 1 << 12];
        while !said.contains(part) {
            let count = output.read(&mut piece).expect("it speaks");
            assert!(count > 0, "it ended before {part}: {said}");
            said.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    };
    send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}));
    send(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
    send(
        &json!({"jsonrpc": "2.0", "id": 2, "method": "countersign/thread/start", "params": {"settings": {"cwd": "/"}}}),
    );
    until("\"id\":2");
    send(&json!({"jsonrpc": "2.0", "id": 3, "method": "shutdown"}));
    until("\"id\":3");
    send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    assert!(server.wait().expect("an end").success());
    let answers: Vec<Value> = said
        .split("Content-Length: ")
        .filter_map(|frame| serde_json::from_str(frame.split_once("\r\n\r\n")?.1).ok())
        .filter(|message: &Value| message.get("method").is_none())
        .collect();
    assert_eq!(answers.len(), 3, "{said}");
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "countersign");
    assert_eq!(answers[1]["result"]["thread"]["cwd"], "/", "{said}");
}
