//! Who connects to the server: web pages, strangers, other users of the machine.

use super::repel;
use crate::exec::fallback::plain_command;
use crate::exec::place::{Place, User, has, is_root, users};
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest wait for an answer. Only reached by a server that lets somebody in.
const PATIENCE: Duration = Duration::from_secs(20);
/// What only a server that took the message says.
const LET_IN: &str = "serverInfo";

/// A server that waits for its client.
struct Waiting {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    place: Place,
    address: String,
    secret: Option<PathBuf>,
}

impl Waiting {
    fn tcp(user: User, options: &[&str]) -> Self {
        let mut waiting = Self::start(user, |_| [&["serve", "--tcp", "127.0.0.1:0"], options].concat());
        let is_open = options.contains(&"--no-auth");
        waiting.address = loop {
            let line = waiting.line();
            if let Some((_, address)) = line.split_once("waiting for a client on ") {
                break address.to_owned();
            }
            assert!(is_open && line.contains("WARNING"), "{line}");
        };
        if !is_open {
            let line = waiting.line();
            waiting.secret = Some(line.rsplit(' ').next().expect("a path").into());
        }
        waiting
    }

    fn start<'a>(user: User, args: impl FnOnce(&Place) -> Vec<&'a str>) -> Self {
        let place = Place::new(user);
        let args = args(&place);
        Self::spawn(place, &args)
    }

    fn spawn(place: Place, args: &[&str]) -> Self {
        let mut command = Command::new(&place.program);
        place.dress(&mut command);
        let home = place.outside.join("home");
        let mut child = command
            .args(args)
            .env("COUNTERSIGN_HOME", home)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let stderr = BufReader::new(child.stderr.take().expect("standard error"));
        Self {
            child,
            stderr,
            place,
            address: String::new(),
            secret: None,
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("a line");
        assert!(!line.is_empty(), "the server ended");
        line.trim_end().to_owned()
    }

    fn secret(&self) -> String {
        std::fs::read_to_string(self.secret.as_ref().expect("a secret")).expect("readable")
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream
    }

    /// All that is answered to these bytes.
    fn say(&self, bytes: &[u8]) -> String {
        let stream = self.connect();
        let closing = stream.try_clone().expect("a clone");
        answer(stream, bytes, || drop(closing.shutdown(Shutdown::Write)))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn answer(mut stream: impl Read + Write, bytes: &[u8], close: impl FnOnce()) -> String {
    // It may hang up before it has read everything.
    let _cut = stream.write_all(bytes);
    close();
    let mut heard = Vec::new();
    let _cut = stream.read_to_end(&mut heard);
    String::from_utf8_lossy(&heard).into_owned()
}

fn frame(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// What an attacker wants to be carried out.
fn orders() -> String {
    let first = frame(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#);
    first + &frame(r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#) + &frame(r#"{"jsonrpc":"2.0","method":"exit"}"#)
}

fn posted(head: &str) -> Vec<u8> {
    let body = orders();
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// What a web page can make a browser send: carrier, bytes, whether it speaks HTTP.
fn of_web_pages() -> Vec<(&'static str, Vec<u8>, bool)> {
    let orders = orders();
    vec![
        (
            "a form as plain text",
            posted(
                "POST / HTTP/1.1\r\nHost: 127.0.0.1:9257\r\nOrigin: https://evil.example\r\nContent-Type: text/plain\r\n",
            ),
            true,
        ),
        (
            "after DNS rebinding, with the name as host",
            posted("POST /x HTTP/1.1\r\nHost: evil.example:9257\r\n"),
            true,
        ),
        (
            "without an origin, as a link or image",
            format!("GET /?{} HTTP/1.1\r\nHost: localhost\r\n\r\n{orders}", "x".repeat(2000)).into_bytes(),
            true,
        ),
        (
            "a body behind a blank line",
            format!("POST / HTTP/1.0\r\n\r\n\r\n{orders}").into_bytes(),
            true,
        ),
        (
            "a preflight",
            posted("OPTIONS / HTTP/1.1\r\nOrigin: null\r\nAccess-Control-Request-Private-Network: true\r\n"),
            true,
        ),
        (
            "a WebSocket",
            posted("GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
            true,
        ),
        (
            "HTTP/2 from its preface on",
            format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{orders}").into_bytes(),
            true,
        ),
        (
            "a method of the page's own",
            posted("CONTENT-LENGTH / HTTP/1.1\r\n"),
            true,
        ),
        (
            "header fields first",
            posted("Host: 127.0.0.1\r\nOrigin: https://evil.example\r\n"),
            true,
        ),
        (
            "TLS",
            [
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(),
                orders.as_bytes(),
            ]
            .concat(),
            false,
        ),
    ]
}

/// What a stranger's program can send that knows the protocol and no secret.
fn of_strangers() -> Vec<(&'static str, Vec<u8>)> {
    let orders = orders();
    let with = |first: &str| format!("{first}{orders}").into_bytes();
    vec![
        ("no secret", with("")),
        ("an empty secret", with("Authorization: Bearer \r\n")),
        (
            "a guess",
            with(&format!("Authorization: Bearer {}\r\n", "A".repeat(43))),
        ),
        (
            "two guesses",
            with("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"),
        ),
        ("another scheme", with("Authorization: Basic YTpi\r\n")),
        ("a blank line", with("\r\n")),
        ("a line of NULs", with("\0\0\0\0\r\n")),
        ("a very long line", with(&"x".repeat(100_000))),
        ("nothing", Vec::new()),
    ]
}

#[test]
fn a_web_page_and_a_stranger_get_a_refusal_and_hold_nobody_up() {
    for user in users() {
        let mut waiting = Waiting::tcp(user, &[]);
        // One that says nothing at all stays while the others are refused.
        let silent = waiting.connect();
        repel(of_web_pages(), |(_, bytes, http)| {
            let heard = waiting.say(bytes);
            let refused = heard.starts_with("HTTP/1.1 403 ") && !heard.to_lowercase().contains("access-control");
            match !heard.contains(LET_IN) && (refused || !http) {
                true => Ok(()),
                false => Err(format!("it heard {heard:?}")),
            }
        });
        repel(of_strangers(), |(_, bytes)| {
            let heard = waiting.say(bytes);
            match !heard.contains(LET_IN) {
                true => Ok(()),
                false => Err(format!("it heard {heard:?}")),
            }
        });
        // The secret's own try is one: what follows a wrong one on the same line or connection does not count.
        let secret = waiting.secret();
        let near = |text: String| waiting.say(format!("{text}{}", orders()).as_bytes());
        for text in [
            format!("Authorization: Bearer {}\r\n", &secret[..secret.len() - 1]),
            format!("Authorization: Bearer {secret}x\r\n"),
            format!("Authorization: Bearer {}\r\n", secret.to_lowercase()),
            format!("Authorization: Bearer x\r\nAuthorization: Bearer {secret}\r\n"),
            format!("POST / HTTP/1.1\r\nAuthorization: Bearer {secret}\r\n\r\n"),
            format!("X: y\r\nAuthorization: Bearer {secret}\r\n"),
        ] {
            let heard = near(text.clone());
            assert!(!heard.contains(LET_IN), "{text}: {heard}");
        }
        let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let file = waiting.secret.clone().expect("a secret");
        assert_eq!((mode(&file), mode(file.parent().expect("a folder"))), (0o600, 0o700));
        // The one client that knows it is served.
        let heard = waiting.say(format!("Authorization: Bearer {secret}\r\n{}", orders()).as_bytes());
        assert!(heard.contains(LET_IN), "{heard}");
        assert!(waiting.child.wait().expect("an end").success());
        assert!(!file.exists(), "the secret stays behind");
        // Nobody else is listened to any more, also who came before.
        drop(silent);
        assert!(TcpStream::connect(&waiting.address).is_err());
    }
}

#[test]
fn whoever_says_nothing_is_let_go_in_time() {
    let waiting = Waiting::tcp(User::Own, &[]);
    let begin = std::time::Instant::now();
    let mut silent = waiting.connect();
    let mut slow = waiting.connect();
    slow.write_all(b"Authorization: Bear").expect("written");
    let (mut heard, mut other) = (String::new(), String::new());
    let _cut = silent.read_to_string(&mut heard);
    let _cut = slow.read_to_string(&mut other);
    assert!(begin.elapsed() < PATIENCE, "they were listened to for too long");
    assert!(!heard.contains(LET_IN) && heard.contains("within 5 seconds"), "{heard}");
    assert!(other.contains("within 5 seconds"), "{other}");
}

#[test]
fn without_a_secret_a_web_page_gets_a_refusal_all_the_same_and_garbage_is_the_end() {
    let waiting = Waiting::tcp(User::Own, &["--no-auth"]);
    repel(of_web_pages(), |(_, bytes, http)| {
        let heard = waiting.say(bytes);
        match !heard.contains(LET_IN) && (heard.starts_with("HTTP/1.1 403 ") || !http) {
            true => Ok(()),
            false => Err(format!("it heard {heard:?}")),
        }
    });
    for bytes in ["\r\n", "{}\r\n", "x", "X: y\r\n"] {
        let heard = waiting.say(format!("{bytes}{}", orders()).as_bytes());
        assert!(!heard.contains(LET_IN), "{bytes:?}: {heard}");
    }
    let heard = waiting.say(orders().as_bytes());
    assert!(heard.contains(LET_IN), "{heard}");
}

/// Bytes in the middle of a connection that was let in: none of it is looked through for more messages.
#[test]
fn what_belongs_to_no_message_ends_a_connection_over_a_socket() {
    let first = frame(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#);
    let second = frame(r#"{"jsonrpc":"2.0","id":7,"method":"shutdown"}"#);
    for between in [
        "\r\n",
        "x\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "Origin: https://evil.example\r\n",
        "Content-Length: 9\r\n",
        "Content-Length: -1\r\n\r\n",
        "\0",
    ] {
        let mut waiting = Waiting::tcp(User::Own, &["--no-auth"]);
        let heard = waiting.say(format!("{first}{between}{second}").as_bytes());
        assert!(heard.contains(LET_IN), "{between:?}: {heard}");
        assert!(!heard.contains("\"id\":7"), "{between:?}: {heard}");
        assert!(heard.contains("-32700"), "{between:?}: {heard}");
        assert_eq!(waiting.child.wait().expect("an end").code(), Some(1), "{between:?}");
    }
}

#[test]
fn a_server_without_a_secret_is_of_this_machine_only_and_said_loudly() {
    for (address, options, expected) in [
        ("0.0.0.0:0", &["--no-auth"][..], "not allowed"),
        ("[::]:0", &["--no-auth"], "not allowed"),
        ("192.0.2.1:0", &["--no-auth"], "not allowed"),
    ] {
        let place = Place::new(User::Own);
        let mut command = Command::new(&place.program);
        place.dress(&mut command);
        let output = command
            .args(["serve", "--tcp", address])
            .args(options)
            .env("COUNTERSIGN_HOME", place.outside.join("home"))
            .output()
            .expect("the program");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{address}: {said}");
        assert!(said.contains(expected), "{address}: {said}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["serve", "--no-auth"])
        .output()
        .expect("the program");
    assert_eq!(output.status.code(), Some(2), "without an address it means nothing");
    let mut waiting = Waiting::spawn(Place::new(User::Own), &["serve", "--tcp", "0", "--no-auth"]);
    let line = waiting.line();
    assert!(line.contains("WARNING") && line.contains("another user"), "{line}");
}

/// A secret is not written where somebody else can change what is written.
#[test]
fn the_folder_of_the_secret_is_the_persons_own() {
    let at = |prepare: fn(&Path)| {
        let place = Place::new(User::Own);
        let home = place.outside.join("home");
        std::fs::create_dir_all(&home).expect("mkdir");
        prepare(&home);
        let waiting = Waiting::spawn(place, &["serve", "--tcp", "127.0.0.1:0"]);
        (waiting, home)
    };
    // What is too open is closed.
    let (mut waiting, home) = at(|home| {
        std::fs::create_dir(home.join("private")).expect("mkdir");
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(home.join("private"), open).expect("chmod");
    });
    waiting.line();
    let mode = std::fs::metadata(home.join("private"))
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    // What leads elsewhere, or is somebody else's, is refused.
    let (mut waiting, home) = at(|home| {
        let elsewhere = home.join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("mkdir");
        std::os::unix::fs::symlink(elsewhere, home.join("private")).expect("a link");
    });
    assert!(waiting.line().contains("no folder of your own"));
    assert_eq!(std::fs::read_dir(home.join("elsewhere")).expect("there").count(), 0);
    if is_root() {
        let (mut waiting, _home) = at(|home| {
            std::fs::create_dir(home.join("private")).expect("mkdir");
            std::os::unix::fs::chown(home.join("private"), Some(1), Some(1)).expect("chown");
        });
        assert!(waiting.line().contains("no folder of your own"));
    }
}

fn say_over_pipe(path: &Path, bytes: &[u8]) -> String {
    let stream = UnixStream::connect(path).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let closing = stream.try_clone().expect("a clone");
    answer(stream, bytes, || drop(closing.shutdown(Shutdown::Write)))
}

#[test]
fn a_pipe_is_closed_to_other_users_and_ends_with_garbage() {
    for user in users() {
        let place = Place::new(user);
        let path = place.outside.join("pipe");
        let mut waiting = Waiting::spawn(place, &["serve", "--pipe", path.to_str().expect("text")]);
        waiting.line();
        let mode = std::fs::metadata(&path).expect("a socket").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        repel(of_web_pages(), |(_, bytes, _)| match say_over_pipe(&path, bytes) {
            heard if heard.contains(LET_IN) => Err(heard),
            _ => Ok(()),
        });
        if is_root() && user == User::Own {
            // Even where the socket itself lets them: others, by number and with groups of the server's.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).expect("chmod");
            for (uid, gid) in [(65534, 65534), (65534, 0), (1, 1), (1000, 1000), (2, 0)] {
                let heard = connect_as(&waiting.place, uid, gid, &path);
                assert!(!heard.contains(LET_IN), "{uid}:{gid} was let in: {heard}");
            }
            // After those that were refused for what they said.
            let mut said = (0..40).map(|_| waiting.line());
            assert!(
                said.any(|line| line.contains("another user")),
                "nothing is said of them"
            );
        }
        // Root reaches an ordinary user's server, who reaches their own.
        let heard = say_over_pipe(&path, orders().as_bytes());
        assert!(heard.contains(LET_IN), "{heard}");
    }
}

/// What another user hears who sends the orders to a socket.
fn connect_as(place: &Place, uid: u32, gid: u32, path: &Path) -> String {
    use std::os::unix::process::CommandExt as _;
    connect_by(place, &["python3"], path, |command| {
        command.uid(uid).gid(gid);
    })
}

/// What a process hears that is started by these words.
fn connect_by(place: &Place, words: &[&str], path: &Path, prepare: impl FnOnce(&mut Command)) -> String {
    const CLIENT: &str = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.settimeout(20)\ns.connect(sys.argv[1])\n\
        try:\n s.sendall(sys.stdin.buffer.read())\n s.shutdown(1)\n while (b:=s.recv(65536)): sys.stdout.buffer.write(b)\n\
        except OSError as e: print('cut', e)\n";
    let mut command = Command::new(words[0]);
    place.dress(&mut command);
    prepare(&mut command);
    let mut child = command
        .args(&words[1..])
        .args(["-c", CLIENT])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(orders().as_bytes()).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A command of the agent listens where it may write, and waits to be taken for the editor.
#[test]
fn a_command_is_not_taken_for_the_editor() {
    const LISTEN: &str = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\n\
        print('listening',flush=True)\ns.settimeout(20)\nc,_=s.accept()\nc.settimeout(20)\n\
        try:\n c.sendall(sys.argv[2].encode())\n print('heard',c.recv(65536))\nexcept OSError as e: print('cut',e)\n";
    let ways = if has("unshare") { vec![true, false] } else { vec![true] };
    for user in users() {
        for &namespaces in &ways {
            let place = Place::new(user);
            let path = place.work.join("socket");
            let socket = path.to_str().expect("text");
            let orders = orders();
            let argv = ["python3", "-c", LISTEN, socket, &orders];
            let mut command = match namespaces {
                true => place.command(&[], &argv),
                false => plain_command(&place, &[], &argv),
            };
            let mut listener = command.stdout(Stdio::piped()).spawn().expect("a command");
            let mut said = BufReader::new(listener.stdout.take().expect("a pipe"));
            let mut line = String::new();
            said.read_line(&mut line).expect("a line");
            assert_eq!(line.trim(), "listening", "namespaces: {namespaces}");
            let mut waiting = Waiting::spawn(place, &["serve", "--pipe", socket]);
            let line = waiting.line();
            assert!(line.contains("sandbox"), "namespaces: {namespaces}: {line}");
            assert_eq!(waiting.child.wait().expect("an end").code(), Some(1));
            let mut heard = String::new();
            said.read_to_string(&mut heard).expect("text");
            assert!(!heard.contains(LET_IN), "namespaces: {namespaces}: {heard}");
            listener.wait().expect("an end");
        }
    }
}

/// Who connects from a sandbox of another kind would get out of it.
#[test]
fn whoever_is_confined_is_not_let_in() {
    if !has("setpriv") {
        return;
    }
    let place = Place::new(User::Own);
    let path = place.outside.join("pipe");
    let mut waiting = Waiting::spawn(place, &["serve", "--pipe", path.to_str().expect("text")]);
    waiting.line();
    let heard = connect_by(&waiting.place, &["setpriv", "--no-new-privs", "python3"], &path, |_| {});
    assert!(!heard.contains(LET_IN), "{heard}");
    assert!(waiting.line().contains("sandbox"));
    let heard = say_over_pipe(&path, orders().as_bytes());
    assert!(heard.contains(LET_IN), "{heard}");
}

/// A socket of somebody else's where the editor was to wait, and folders in which anybody could put one.
#[test]
fn a_pipe_of_another_users_is_not_spoken_to() {
    let refused = |place: Place, path: &Path, part: &str| {
        let mut waiting = Waiting::spawn(place, &["serve", "--pipe", path.to_str().expect("text")]);
        let line = waiting.line();
        assert!(line.contains(part), "{line}");
        assert_eq!(waiting.child.wait().expect("an end").code(), Some(1));
    };
    let open = Place::new(User::Own);
    std::fs::set_permissions(&open.outside, std::fs::Permissions::from_mode(0o777)).expect("chmod");
    let path = open.outside.join("pipe");
    refused(open, &path, "other users can change");
    if !is_root() {
        return;
    }
    // A server of nobody's, and a listener of root's in its place, is spoken to; the other way round it is not.
    let place = Place::new(User::Nobody);
    let foreign = place.outside.join("foreign");
    let mut squatter = Waiting::spawn(place, &["serve", "--pipe", foreign.to_str().expect("text")]);
    squatter.line();
    refused(Place::new(User::Own), &foreign, "another user");
    let strangers = Place::new(User::Nobody);
    std::fs::set_permissions(&strangers.outside, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let path = strangers.outside.join("pipe");
    refused(Place::new(User::Own), &path, "other users can change");
}

/// The rehearsal server stands in for a provider in bug reports: what it has recorded is not for web pages.
#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_learns_nothing_of_a_rehearsal() {
    let script = countersign::rehearsal::Script::parse(r#"[[{"say": "hi"}]]"#).expect("a script");
    let address = "127.0.0.1:0".parse().expect("an address");
    let server = countersign::rehearsal::Server::start(script, address)
        .await
        .expect("a port");
    let ask = |head: &str| {
        let bytes = format!("{head}Connection: close\r\nContent-Length: 0\r\n\r\n");
        tokio::task::block_in_place(|| {
            let stream = TcpStream::connect(server.address).expect("a connection");
            answer(stream, bytes.as_bytes(), || {})
        })
    };
    let rows = [
        (
            "from a page",
            "GET /requests HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://evil.example\r\n",
        ),
        (
            "from a file",
            "GET /calls HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: null\r\n",
        ),
        ("after rebinding", "GET /requests HTTP/1.1\r\nHost: evil.example\r\n"),
        (
            "after rebinding, like an address",
            "GET /requests HTTP/1.1\r\nHost: 127.0.0.1.evil.example:80\r\n",
        ),
        ("without a name", "GET /requests HTTP/1.1\r\nHost:\r\n"),
        (
            "by a link",
            "GET /requests HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n",
        ),
        (
            "by a form",
            "POST /release/x HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n",
        ),
        (
            "for an answer",
            "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n",
        ),
    ];
    repel(rows, |(_, head)| match ask(head) {
        heard if heard.starts_with("HTTP/1.1 403") => Ok(()),
        heard => Err(heard),
    });
    for host in ["127.0.0.1", "localhost:80", "[::1]:1"] {
        let heard = ask(&format!("GET /requests HTTP/1.1\r\nHost: {host}\r\n"));
        assert!(heard.starts_with("HTTP/1.1 200"), "{host}: {heard}");
    }
}
