//! The network by name: what a grant for a host lets through.
//!
//! Around the sandbox stands a network whose addresses look far away, with a server of each kind on each of them and a table of
//! their names. Inside, one program makes all attempts of the table at once; what came of each is its answer, and the servers
//! write down what reached them.

use super::super::exec::fallback::NO_NAMESPACES;
use super::super::exec::place::{ELSEWHERE, Place, User, has, is_root, words};
use super::repel;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// The addresses and servers, and then the program that follows.
const AROUND: &str = r#"
import fcntl, os, socket, struct, subprocess, sys, threading
near = {'192.0.2.7': 'granted', '192.0.2.8': 'other', '192.0.2.9': 'below', '10.0.0.5': 'private',
        '169.254.169.254': 'metadata', '100.64.0.9': 'carrier', '192.0.2.10': 'own', '127.0.0.1': 'here'}
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack('16sH', b'lo', 1))
# The machine's own by another address.
fcntl.ioctl(s, 0x8916, struct.pack('16sH2s4s8s', b'lo:1', 2, bytes(2), socket.inet_aton('192.0.2.10'), bytes(8)))
fcntl.ioctl(s, 0x8914, struct.pack('16sH', b'lo:1', 1))
for address in near:
    if near[address] not in ('own', 'here'): elsewhere(address)
log = open(os.environ['OUT'] + '/log', 'wb', 0)
def talk(peer, label, port):
    peer.settimeout(3)
    if port == 2222:
        peer.sendall(b'reached %s first' % label.encode())
    got = b''
    try:
        while port == 80 and b'\r\n\r\n' not in got or not got:
            part = peer.recv(4096)
            if not part: break
            got += part
        peer.settimeout(0.2)
        while part := peer.recv(4096): got += part
    except OSError:
        pass
    log.write(b'%s %d %r\n' % (label.encode(), port, got))
    body = b'reached ' + label.encode()
    if port == 80:
        body = b'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' % (len(body), body)
    try: peer.sendall(body)
    except OSError: pass
    peer.close()
def serve(server, label, port):
    while True:
        peer, _ = server.accept()
        threading.Thread(target=talk, args=(peer, label, port), daemon=True).start()
for address, label in near.items():
    for port in (80, 443, 2222):
        server = socket.create_server((address, port), backlog=64)
        threading.Thread(target=serve, args=(server, label, port), daemon=True).start()
def datagrams(server, label):
    while True:
        got, peer = server.recvfrom(4096)
        log.write(b'%s datagram %r\n' % (label.encode(), got))
for address in ('192.0.2.7', '192.0.2.8', '127.0.0.1'):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    threading.Thread(target=datagrams, args=(server, near[address]), daemon=True).start()
code = subprocess.run(sys.argv[1:]).returncode
sys.exit(code)
"#;

const NAMES: &str = "127.0.0.1 localhost
192.0.2.7 granted.example
192.0.2.8 other.example granted.example.evil.example evilwild.example wild.example
192.0.2.9 a.wild.example b.a.wild.example shut.wild.example
10.0.0.5 private.example
10.0.0.5 meant.example
169.254.169.254 metadata.example
192.0.2.10 own.example
100.64.0.9 carrier.example
127.0.0.1 rebound.example
";

/// What was granted: a name, all names below one but one, names that lead near, and one whose private address is meant.
const GRANTS: &[&str] = &[
    "--host",
    "granted.example",
    "--host",
    "*.wild.example",
    "--no-host",
    "shut.wild.example",
    "--host",
    "private.example",
    "--host",
    "metadata.example",
    "--host",
    "own.example",
    "--host",
    "carrier.example",
    "--host",
    "rebound.example",
];

/// The attempts, inside. Each gives back what it heard.
const INSIDE: &str = r#"
import base64, json, os, socket, ssl, sys, urllib.parse
from concurrent.futures import ThreadPoolExecutor
proxy = urllib.parse.urlsplit(os.environ['HTTPS_PROXY'])
shown = base64.b64encode(f'{proxy.username}:{proxy.password}'.encode()).decode()
auth = f'Proxy-Authorization: Basic {shown}\r\n'
get = 'GET / HTTP/1.1\r\nHost: %s\r\n\r\n'
def dial():
    s = socket.create_connection((proxy.hostname, proxy.port), 20)
    s.settimeout(20)
    return s
def hear(s, patience=5.0):
    got = b''
    s.settimeout(patience)
    try:
        while part := s.recv(65536):
            got += part
            s.settimeout(0.4)
    except OSError as error:
        if not got: got = type(error).__name__.encode()
    return got.decode('latin-1')
def head(s):
    got = b''
    while not got.endswith(b'\r\n\r\n'):
        part = s.recv(1)
        if not part: break
        got += part
    return got.decode('latin-1')
def tunnel(authority, extra=''):
    s = dial()
    s.sendall(f'CONNECT {authority} HTTP/1.1\r\n{auth}{extra}\r\n'.encode('latin-1'))
    answer = head(s)
    if ' 200 ' not in answer:
        answer += hear(s)
        s.close()
        return None, answer
    return s, answer
def connect(payload):
    authority, _, host = payload.partition('|')
    s, answer = tunnel(authority)
    if s is None: return answer
    s.sendall((get % (host or authority.rsplit(':', 1)[0])).encode('latin-1'))
    return hear(s)
def raw(payload):
    s = dial()
    s.sendall(payload.replace('{auth}', auth).encode('latin-1'))
    return hear(s)
def through(payload):
    s, answer = tunnel('granted.example:80')
    if s is None: return answer
    s.sendall(payload.encode('latin-1'))
    return hear(s)
def greeting(name):
    context = ssl.create_default_context()
    if not name: context.check_hostname = False
    sent = ssl.MemoryBIO()
    talk = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name or None)
    try: talk.do_handshake()
    except ssl.SSLWantReadError: pass
    return sent.read()
def records(hello, size):
    body, out = hello[5:], b''
    for at in range(0, len(body), size):
        piece = body[at:at + size]
        out += hello[:3] + len(piece).to_bytes(2, 'big') + piece
    return out
def sni(payload):
    authority, name, how = payload.split('|')
    s, answer = tunnel(authority)
    if s is None: return answer
    hello = greeting(name)
    if how == 'records': hello = records(hello, 40)
    if how == 'mixed': hello = greeting('granted.example')[:60] + hello[60:]
    if how == 'again': hello = hello + greeting('other.example')
    # The server speaks first, and is heard before the greeting is refused.
    greeted = s.recv(4096).decode('latin-1') if how == 'heard' else ''
    if how == 'pieces':
        for at in range(0, len(hello), 100):
            s.sendall(hello[at:at + 100])
    else:
        s.sendall(hello)
    return greeted + hear(s)
def first(payload):
    s, answer = tunnel(payload)
    return answer if s is None else hear(s)
def other(payload):
    authority, what = payload.split('|', 1)
    s, answer = tunnel(authority)
    if s is None: return answer
    s.sendall(what.encode('latin-1'))
    return hear(s)
def socks(payload):
    host, port = payload.rsplit(':', 1)
    s = dial()
    s.sendall(b'\x05\x01\x02'); s.recv(2)
    name, word = proxy.username.encode(), proxy.password.encode()
    s.sendall(b'\x01' + bytes([len(name)]) + name + bytes([len(word)]) + word); s.recv(2)
    host = host.encode('latin-1')
    s.sendall(b'\x05\x01\x00\x03' + bytes([len(host)]) + host + int(port).to_bytes(2, 'big'))
    answer = s.recv(10)
    if answer[1:2] != b'\x00': return f'socks {answer!r}'
    s.sendall((get % host.decode('latin-1')).encode('latin-1'))
    return hear(s)
def direct(payload):
    host, port = payload.rsplit(':', 1)
    try: s = socket.create_connection((host, int(port)), 5)
    except OSError as error: return type(error).__name__
    # Where the server speaks first it is heard first.
    if port == '2222' and 'first' in (said := hear(s)): return said
    s.sendall((get % (host if port in ('80', '443') else payload)).encode())
    return hear(s)
def lookup(payload):
    try: return 'found ' + socket.getaddrinfo(payload, 80)[0][4][0]
    except OSError as error: return type(error).__name__
def datagram(payload):
    try:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.sendto(b'secret', (payload, 53))
        return 'sent'
    except OSError as error: return type(error).__name__
def anonymous(payload):
    s = dial()
    s.sendall(f'CONNECT granted.example:80 HTTP/1.1\r\n{payload}\r\n'.encode('latin-1'))
    answer = head(s)
    if ' 200 ' not in answer: return answer
    s.sendall((get % 'granted.example').encode())
    return hear(s)
def one(row):
    kind, payload = row
    try: return globals()[kind](payload)
    except Exception as error: return f'{type(error).__name__}: {error}'
rows = json.load(open(sys.argv[1]))
with ThreadPoolExecutor(12) as pool:
    print(json.dumps(list(pool.map(one, rows))))
"#;

/// What must come of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Must {
    /// The granted host answers.
    Reach(&'static str),
    /// Nobody answers.
    NotReach,
    /// Nobody answers, and the answer says why.
    BeRefused(&'static str),
    /// The same, where the host may have said its own word first.
    BeGreetedAtMost(&'static str),
}
use Must::{BeGreetedAtMost, BeRefused, NotReach, Reach};

type Row = (&'static str, &'static str, Must);

const NOT_AMONG: &str = "not among the hosts";

/// Carrier (as the program inside names it), payload, expected.
const TABLE: &[Row] = &[
    // Names that are granted, and their neighbors.
    ("connect", "granted.example:80", Reach("granted")),
    ("connect", "GRANTED.Example.:80|granted.example", Reach("granted")),
    ("connect", "a.wild.example:80", Reach("below")),
    ("connect", "b.a.wild.example:80", Reach("below")),
    ("connect", "wild.example:80", BeRefused(NOT_AMONG)),
    ("connect", "evilwild.example:80", BeRefused(NOT_AMONG)),
    ("connect", "shut.wild.example:80", BeRefused("your settings block it")),
    ("connect", "other.example:80", BeRefused(NOT_AMONG)),
    ("connect", "granted.example.evil.example:80", BeRefused(NOT_AMONG)),
    // Addresses in place of names, in all spellings.
    ("connect", "192.0.2.7:80", BeRefused(NOT_AMONG)),
    ("connect", "192.0.2.8:80", BeRefused(NOT_AMONG)),
    ("connect", "[::ffff:192.0.2.8]:80", BeRefused(NOT_AMONG)),
    ("connect", "3221225992:80", NotReach),
    ("connect", "0xc0000208:80", NotReach),
    ("connect", "0300.0.2.8:80", NotReach),
    ("connect", "192.0.520:80", NotReach),
    ("connect", "127.0.0.1:80", BeRefused(NOT_AMONG)),
    ("connect", "localhost:80", BeRefused(NOT_AMONG)),
    ("connect", "[::1%25lo]:80", NotReach),
    // A host that only some readers see.
    ("connect", "granted.example@other.example:80", NotReach),
    ("connect", "other.example#@granted.example:80", NotReach),
    ("connect", "other.example%00.wild.example:80", NotReach),
    ("connect", "other.example%2ewild.example:80", NotReach),
    ("connect", "other.example\0.wild.example:80", NotReach),
    ("connect", "other.example\\.wild.example:80", NotReach),
    ("connect", "granted.example:80:443", NotReach),
    ("connect", "granted.example:080000080", NotReach),
    (
        "raw",
        "CONNECT granted.example:80 HTTP/1.1\r\nHost: other.example:80\r\n{auth}\r\n",
        BeRefused("another host"),
    ),
    (
        "raw",
        "CONNECT other.example:80\r\nX: granted.example:80 HTTP/1.1\r\n{auth}\r\n",
        NotReach,
    ),
    // Names that lead where no name may lead.
    ("connect", "private.example:80", BeRefused("a private address")),
    ("connect", "metadata.example:80", BeRefused("metadata")),
    ("connect", "own.example:80", BeRefused("this machine")),
    ("connect", "own.example:2222", BeRefused("this machine")),
    (
        "connect",
        "carrier.example:80",
        BeRefused("inside a provider's network"),
    ),
    ("connect", "rebound.example:80", BeRefused("this machine")),
    ("connect", "169.254.169.254:80", BeRefused(NOT_AMONG)),
    ("connect", "[::ffff:a9fe:a9fe]:80", BeRefused(NOT_AMONG)),
    ("connect", "[fd00:ec2::254]:80", BeRefused(NOT_AMONG)),
    // Other hosts inside of a tunnel, by plain HTTP.
    ("connect", "granted.example:80|other.example", BeRefused("Host header")),
    (
        "connect",
        "granted.example:80|granted.example:81",
        BeRefused("Host header"),
    ),
    (
        "connect",
        "granted.example:80|granted.example\r\nHost: other.example",
        BeRefused("Host header"),
    ),
    ("through", "GET / HTTP/1.1\r\n\r\n", NotReach),
    (
        "through",
        "GET http://other.example/ HTTP/1.1\r\nHost: granted.example\r\n\r\n",
        BeRefused("another host"),
    ),
    (
        "through",
        "\r\n\r\nGET / HTTP/1.1\r\nHost: other.example\r\n\r\n",
        NotReach,
    ),
    ("through", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", NotReach),
    ("through", "SSH-2.0-here\r\n", NotReach),
    (
        "through",
        "GET / HTTP/1.1\r\nHost: granted.example\r\n folded\r\n\r\n",
        NotReach,
    ),
    (
        "through",
        "GET / HTTP/1.1\r\nHost : other.example\r\nHost: granted.example\r\n\r\n",
        NotReach,
    ),
    // A request hidden in another: it stays a body, or is judged by itself.
    (
        "raw",
        "POST http://granted.example/ HTTP/1.1\r\nHost: granted.example\r\n{auth}Content-Length: 4\r\nTransfer-Encoding: \
         chunked\r\n\r\n0\r\n\r\nGET http://other.example/hidden HTTP/1.1\r\nHost: other.example\r\n{auth}\r\n",
        Reach("granted"),
    ),
    (
        "raw",
        "POST http://granted.example/ HTTP/1.1\r\nHost: granted.example\r\n{auth}Content-Length: 5\r\nContent-Length: 6\r\n\r\n\
         hello!",
        NotReach,
    ),
    (
        "raw",
        "POST http://granted.example/ HTTP/1.1\r\nHost: granted.example\r\n{auth}Transfer-Encoding: chunked, identity\r\n\r\n\
         0\r\n\r\n",
        NotReach,
    ),
    (
        "raw",
        "POST http://granted.example/ HTTP/1.0\r\nHost: granted.example\r\n{auth}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        NotReach,
    ),
    // Plain requests to the proxy.
    (
        "raw",
        "GET http://granted.example/ HTTP/1.1\r\nHost: granted.example\r\n{auth}\r\n",
        Reach("granted"),
    ),
    (
        "raw",
        "GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n{auth}\r\n",
        BeRefused(NOT_AMONG),
    ),
    (
        "raw",
        "GET http://granted.example/ HTTP/1.1\r\nHost: other.example\r\n{auth}\r\n",
        BeRefused("Host header"),
    ),
    (
        "raw",
        "GET http://granted.example/ HTTP/1.1\r\n{auth}\r\n",
        BeRefused("Host header"),
    ),
    (
        "raw",
        "GET http://x:y@granted.example/ HTTP/1.1\r\nHost: granted.example\r\n{auth}\r\n",
        NotReach,
    ),
    (
        "raw",
        "GET http://granted.example@other.example/ HTTP/1.1\r\nHost: other.example\r\n{auth}\r\n",
        NotReach,
    ),
    ("raw", "GET / HTTP/1.1\r\nHost: granted.example\r\n{auth}\r\n", NotReach),
    (
        "raw",
        "GET file:///etc/passwd HTTP/1.1\r\nHost: granted.example\r\n{auth}\r\n",
        NotReach,
    ),
    (
        "raw",
        "GET https://granted.example/ HTTP/1.1\r\nHost: granted.example\r\n{auth}\r\n",
        NotReach,
    ),
    // The greeting of TLS.
    ("sni", "granted.example:443|granted.example|", Reach("granted")),
    ("sni", "granted.example:443|granted.example|pieces", Reach("granted")),
    ("sni", "granted.example:443|granted.example|records", Reach("granted")),
    ("sni", "granted.example:443|other.example|", NotReach),
    ("sni", "granted.example:443|other.example|pieces", NotReach),
    ("sni", "granted.example:443|other.example|records", NotReach),
    ("sni", "granted.example:443|a.wild.example|", NotReach),
    ("sni", "granted.example:443||", NotReach),
    ("sni", "granted.example:443|granted.example|again", NotReach),
    (
        "sni",
        "granted.example:2222|other.example|heard",
        BeRefused("reached granted first"),
    ),
    ("sni", "a.wild.example:443|b.a.wild.example|", NotReach),
    // What is neither has ports of its own.
    ("first", "granted.example:2222", Reach("granted")),
    ("other", "granted.example:2222|NICK x\r\n", Reach("granted")),
    ("other", "granted.example:2222|<stream to='x'>", Reach("granted")),
    // Requests for others that only forgiving servers understand: nothing of them is to arrive.
    (
        "other",
        "granted.example:2222|GET\u{b}/\u{b}HTTP/1.1\r\nHost: other.example\r\n\r\n",
        BeGreetedAtMost("400 Bad Request"),
    ),
    (
        "other",
        "granted.example:2222|GET\r/\rHTTP/1.1\r\nHost: other.example\r\n\r\n",
        BeGreetedAtMost("400 Bad Request"),
    ),
    ("other", "granted.example:443|NICK x\r\n", NotReach),
    ("other", "granted.example:80|\u{80}\u{2e}\u{1}\u{0}\u{2}", NotReach),
    // SOCKS.
    ("socks", "granted.example:80", Reach("granted")),
    ("socks", "other.example:80", NotReach),
    ("socks", "192.0.2.8:80", NotReach),
    ("socks", "metadata.example:80", NotReach),
    ("socks", "own.example:80", NotReach),
    ("socks", "other.example\0granted.example:80", NotReach),
    // Without the secret, or with another.
    ("anonymous", "", BeRefused("407")),
    (
        "anonymous",
        "Proxy-Authorization: Basic Y291bnRlcnNpZ246\r\n",
        BeRefused("407"),
    ),
    ("anonymous", "Proxy-Authorization: Basic !!!\r\n", BeRefused("407")),
    ("anonymous", "Proxy-Authorization: Bearer x\r\n", BeRefused("407")),
    ("anonymous", "Authorization: Basic x\r\n", BeRefused("407")),
    // Past the proxy.
    ("direct", "other.example:80", NotReach),
    ("direct", "192.0.2.7:80", NotReach),
    ("direct", "192.0.2.8:80", NotReach),
    ("direct", "10.0.0.5:80", NotReach),
    ("direct", "169.254.169.254:80", NotReach),
    ("direct", "198.18.0.200:80", NotReach),
    // The system of names is no way out.
    ("datagram", "192.0.2.7", NotReach),
    ("datagram", "192.0.2.8", NotReach),
    ("datagram", "127.0.0.53", NotReach),
    ("direct", "192.0.2.8:53", NotReach),
    ("connect", "secret.in.a.name.evil.example:80", BeRefused(NOT_AMONG)),
];

/// Who runs it, and behind which walls.
#[derive(Clone, Copy, Debug)]
struct Kind {
    user: User,
    namespaces: bool,
}

fn kinds() -> Vec<Kind> {
    let users = if is_root() {
        vec![User::Own, User::Nobody]
    } else {
        vec![User::Own]
    };
    let both = |user| [true, false].map(|namespaces| Kind { user, namespaces });
    users.into_iter().flat_map(both).collect()
}

/// Runs a program in the sandbox, in the network that was made around it.
fn run(place: &Place, kind: Kind, grants: &[&str], argv: &[&str]) -> std::process::Output {
    let around = format!("{ELSEWHERE}{AROUND}");
    let files = [("names", NAMES), ("around.py", &around), ("inside.py", INSIDE)];
    for (name, text) in files {
        place.file(&place.outside.join(name), text);
    }
    let out = place.outside.display();
    let before = format!("mount --bind {out}/names /etc/hosts && exec python3 {out}/around.py \"$@\"");
    let mut command = Command::new("unshare");
    if !is_root() {
        command.args(["-U", "-r"]);
    }
    command.args(["-m", "-n", "sh", "-c", &before, "sh"]);
    if kind.user == User::Nobody {
        command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    if !kind.namespaces {
        command.args(NO_NAMESPACES);
    }
    command
        .arg(&place.program)
        .arg("sandbox")
        .args(grants)
        .arg("--")
        .args(argv);
    command
        .current_dir(&place.work)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", &place.work)
        .env("OUT", &place.outside)
        .stdin(std::process::Stdio::null());
    command.output().expect("unshare")
}

/// Makes all attempts at once; the answers, what the servers have written down, and what the person was shown.
fn attempt(kind: Kind, grants: &[&str], rows: &[Row]) -> (Vec<String>, String, String) {
    let place = Place::new(kind.user);
    let table: Vec<Value> = rows
        .iter()
        .map(|(carrier, payload, _)| json!([carrier, payload]))
        .collect();
    let path = place.outside.join("rows.json");
    place.file(&path, &json!(table).to_string());
    place.file(&place.outside.join("log"), "");
    let inside = place.outside.join("inside.py").display().to_string();
    let output = run(&place, kind, grants, &["python3", &inside, &path.display().to_string()]);
    let heard = serde_json::from_slice(&output.stdout);
    let heard = heard.unwrap_or_else(|error| panic!("{kind:?}: {error}: {}", words(&output)));
    let log = fs::read_to_string(place.outside.join("log")).expect("log");
    (heard, log, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn can_run() -> bool {
    ["unshare", "setpriv", "mount", "python3"]
        .iter()
        .all(|program| has(program))
}

fn judge(must: Must, heard: &str) -> Result<(), String> {
    let sound = match must {
        Must::Reach(label) => heard.contains(&format!("reached {label}")),
        Must::BeGreetedAtMost(word) => {
            return judge(BeRefused(word), &heard.replacen("reached granted first", "", 1));
        }
        Must::NotReach => !heard.contains("reached "),
        Must::BeRefused(word) => heard.contains(word) && (word.contains("reached ") || !heard.contains("reached ")),
    };
    if sound {
        Ok(())
    } else {
        Err(format!("{must:?}, but: {heard}"))
    }
}

#[test]
fn a_grant_by_name_is_one_for_that_name() {
    if !can_run() {
        return;
    }
    for kind in kinds() {
        let direct = match kind.namespaces {
            // A name that was granted leads through the proxy also for who does not know of it.
            true => Reach("granted"),
            false => NotReach,
        };
        let mut rows = TABLE.to_vec();
        rows.extend([
            ("direct", "granted.example:80", direct),
            ("direct", "granted.example:2222", direct),
            ("direct", "private.example:80", NotReach),
            ("direct", "metadata.example:80", NotReach),
            ("direct", "shut.wild.example:80", NotReach),
        ]);
        let (heard, log, said) = attempt(kind, GRANTS, &rows);
        repel(rows.iter().zip(&heard), |((_, _, must), heard)| {
            judge(*must, heard).map_err(|what| format!("{kind:?} {what}"))
        });
        for line in log.lines() {
            let (label, rest) = line.split_once(' ').expect("a label");
            let host = match label {
                "granted" => "granted.example",
                "below" => "a.wild.example",
                _ => panic!("{kind:?}: {line}"),
            };
            assert!(
                !rest.contains("other.example") && !rest.contains("datagram"),
                "{kind:?}: {line}"
            );
            if rest.starts_with("80 ") && !rest.ends_with("b''") {
                assert!(
                    rest.to_lowercase().contains(&format!("host: {host}")) || label == "below",
                    "{kind:?}: {line}"
                );
                assert!(
                    !rest.contains("Proxy-Authorization") && !rest.contains("ountersign"),
                    "{kind:?}: {line}"
                );
            }
        }
        assert!(
            log.contains("<stream to="),
            "{kind:?}: a text without an end of line has arrived: {log}"
        );
        // Who was refused, and what.
        assert!(
            said.contains("python3") && said.contains("was refused other.example (port 80)"),
            "{kind:?}: {said}"
        );
    }
}

#[test]
fn an_address_that_is_named_is_meant() {
    if !can_run() {
        return;
    }
    let rows: &[Row] = &[
        ("connect", "meant.example:80", Reach("private")),
        ("connect", "metadata.example:80", NotReach),
        ("connect", "10.0.0.5:80", Reach("private")),
        ("connect", "10.0.0.5:443", NotReach),
        ("direct", "10.0.0.5:80", Reach("private")),
        ("direct", "10.0.0.5:2222", NotReach),
    ];
    let grants = [
        "--host",
        "meant.example",
        "--host",
        "10.0.0.0/8:80",
        "--host",
        "metadata.example",
    ];
    for kind in kinds() {
        let (heard, _, _) = attempt(kind, &grants, rows);
        repel(rows.iter().zip(&heard), |((_, _, must), heard)| judge(*must, heard));
    }
}

/// The widest grant is one for the hosts of the internet.
#[test]
fn all_names_are_not_this_machine() {
    if !can_run() {
        return;
    }
    let rows: &[Row] = &[
        ("connect", "granted.example:80", Reach("granted")),
        ("connect", "other.example:80", Reach("other")),
        ("first", "other.example:2222", Reach("other")),
        ("connect", "shut.wild.example:80", BeRefused("your settings block it")),
        ("connect", "localhost:80", BeRefused(NOT_AMONG)),
        ("connect", "LOCALHOST.:2222", BeRefused(NOT_AMONG)),
        ("connect", "db.localhost:80", BeRefused(NOT_AMONG)),
        ("connect", "127.0.0.1:80", BeRefused(NOT_AMONG)),
        ("connect", "[::1]:80", BeRefused(NOT_AMONG)),
        ("connect", "0.0.0.0:80", BeRefused(NOT_AMONG)),
        ("socks", "localhost:80", NotReach),
        ("socks", "127.0.0.1:80", NotReach),
        (
            "raw",
            "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n{auth}\r\n",
            BeRefused(NOT_AMONG),
        ),
        ("connect", "rebound.example:80", BeRefused("this machine")),
        ("connect", "own.example:80", BeRefused("this machine")),
        ("connect", "private.example:80", BeRefused("a private address")),
        ("connect", "metadata.example:80", BeRefused("metadata")),
        ("direct", "127.0.0.1:80", NotReach),
        ("direct", "localhost:2222", NotReach),
    ];
    for kind in kinds() {
        let (heard, log, _) = attempt(kind, &["--host", "*", "--no-host", "shut.wild.example"], rows);
        repel(rows.iter().zip(&heard), |((_, _, must), heard)| judge(*must, heard));
        let is_near = |line: &str| ["own ", "here "].iter().any(|label| line.starts_with(label));
        assert!(!log.lines().any(is_near), "{kind:?}: {log}");
    }
}

/// Programs that people use find the proxy by themselves, and a refusal names both sides.
#[test]
fn programs_find_their_way() {
    if !can_run() || !has("curl") {
        return;
    }
    let kind = Kind {
        user: User::Own,
        namespaces: true,
    };
    let place = Place::new(kind.user);
    for (argv, reaches) in [
        (&["curl", "-sS", "http://granted.example/"][..], true),
        (&["curl", "-sS", "--noproxy", "*", "http://granted.example/"], true),
        (&["curl", "-sSf", "http://other.example/"], false),
        (&["curl", "-sSfp", "http://other.example/"], false),
        (&["curl", "-sSf", "--noproxy", "*", "http://192.0.2.7/"], false),
    ] {
        place.file(&place.outside.join("log"), "");
        let output = run(&place, kind, GRANTS, argv);
        let heard = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            heard.contains("reached granted"),
            reaches,
            "{argv:?}: {}",
            words(&output)
        );
        if argv.contains(&"http://other.example/") {
            assert!(
                said.contains("curl was refused other.example (port 80)"),
                "{argv:?}: {said}"
            );
        }
    }
}
