//! Secrets that a command uses without having them. What the proxy does with them on their way is in `exec::proxy::masks`.

use super::super::exec::fallback::{NO_NAMESPACES, plain_command};
use super::super::exec::place::{ELSEWHERE, Place, User, has, is_root, users, words};
use super::repel;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::fs;
use std::process::{Command, Output, Stdio};

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

/// Runs a script that may reach the host of a secret by name.
fn run(place: &Place, namespaces: bool, secret: &str, script: &str) -> std::process::Output {
    let options = ["--host", "api.example", "--credential", "GITHUB_TOKEN=api.example"];
    let argv = ["sh", "-c", script];
    let mut command = match namespaces {
        true => place.command(&options, &argv),
        false => plain_command(place, &options, &argv),
    };
    command
        .env("GITHUB_TOKEN", secret)
        .env("HARMLESS", format!("Bearer {secret}"));
    command.output().expect("a command")
}

#[test]
fn no_command_finds_the_secret_that_it_uses() {
    let ways = if has("unshare") { vec![true, false] } else { vec![true] };
    for user in users() {
        let place = Place::new(user);
        for &namespaces in &ways {
            let shown = run(
                &place,
                namespaces,
                SECRET,
                "printenv GITHUB_TOKEN SSL_CERT_FILE HARMLESS",
            );
            let said = String::from_utf8_lossy(&shown.stdout).into_owned();
            assert!(said.starts_with("ghp_") && said.contains(".pem"), "{}", words(&shown));
            repel(
                [
                    ("its variable", "printenv GITHUB_TOKEN"),
                    ("another variable", "printenv HARMLESS"),
                    ("all variables", "env"),
                    ("its own process", "cat /proc/self/environ"),
                    ("all processes", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline"),
                    ("its parent", "cat /proc/$PPID/environ /proc/$PPID/task/*/environ"),
                    ("the authorities", "cat \"$SSL_CERT_FILE\" \"$CURL_CA_BUNDLE\""),
                    ("temporary files", "cat /tmp/countersign* \"$TMPDIR\"/countersign*"),
                    ("the proxy's address", "echo $HTTPS_PROXY $ALL_PROXY"),
                ],
                |(_, script)| {
                    let output = run(&place, namespaces, SECRET, script);
                    let all = words(&output);
                    match all.contains(SECRET) || all.contains("PRIVATE KEY") {
                        false => Ok(()),
                        true => Err(all),
                    }
                },
            );
        }
    }
}

/// What its programs believe is not the command's to write, nor another command's that runs meanwhile.
#[test]
fn no_command_writes_what_programs_believe() {
    let ways = if has("unshare") { vec![true, false] } else { vec![true] };
    for user in users() {
        let place = Place::new(user);
        for &namespaces in &ways {
            let script = "test -r \"$SSL_CERT_FILE\" && echo it reads\n\
                          for how in 'echo x >> \"$SSL_CERT_FILE\"' 'rm -f \"$SSL_CERT_FILE\"' 'echo x > \"$SSL_CERT_FILE.new\"' \
                          'mv \"$SSL_CERT_FILE\" \"$SSL_CERT_FILE.old\"'; do sh -c \"$how\" && echo got through: $how; done; true";
            let all = words(&run(&place, namespaces, SECRET, script));
            assert!(
                all.contains("it reads") && !all.contains("got through"),
                "{namespaces} {all}"
            );
        }
    }
}

/// Where no proxy could put the secret in, the command does not get it either.
#[test]
fn without_a_proxy_no_command_finds_the_secret_either() {
    let ways = if has("unshare") { vec![true, false] } else { vec![true] };
    for user in users() {
        let place = Place::new(user);
        for &namespaces in &ways {
            repel(
                [
                    ("the whole network", &["--network"][..]),
                    ("no host", &[]),
                    ("only reading", &["--policy", "read-only"]),
                ],
                |(_, more)| {
                    let options = [*more, &["--credential", "GITHUB_TOKEN=api.example"][..]].concat();
                    let argv = ["sh", "-c", "env; cat /proc/self/environ; echo it ran"];
                    let mut command = match namespaces {
                        true => place.command(&options, &argv),
                        false => plain_command(&place, &options, &argv),
                    };
                    command
                        .env("GITHUB_TOKEN", SECRET)
                        .env("HARMLESS", format!("Bearer {SECRET}"));
                    let all = words(&command.output().map_err(|error| error.to_string())?);
                    match all.contains("it ran") && !all.contains(SECRET) {
                        true => Ok(()),
                        false => Err(all),
                    }
                },
            );
        }
    }
}

#[test]
fn a_secret_that_cannot_be_hidden_starts_nothing() {
    let place = Place::new(users()[0]);
    let output = run(&place, true, "short", "echo began");
    let said = words(&output);
    assert!(
        said.contains("GITHUB_TOKEN") && said.contains("16 characters") && !said.contains("began"),
        "{said}"
    );
    let mut odd = place.command(&["--credential", "TOKEN=*.example"], &["true"]);
    let said = words(&odd.output().expect("a command"));
    assert!(said.contains("NAME=HOST"), "{said}");
}

/// A host that proves who it is, gives back what it was sent, as it is and escaped for HTML, and writes it down; then the program
/// that follows.
const AROUND: &str = r#"
import fcntl, os, socket, ssl, struct, subprocess, sys, threading
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack('16sH', b'lo', 1))
elsewhere('192.0.2.7')
out = os.environ['OUT']
log = open(out + '/log', 'wb', 0)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(out + '/host.pem', out + '/host.key')
server = socket.create_server(('192.0.2.7', 443))
def talk(peer):
    try:
        peer = context.wrap_socket(peer, server_side=True)
        got = b''
        while b'\r\n\r\n' not in got:
            part = peer.recv(4096)
            if not part: return
            got += part
        log.write(got)
        said = got + b''.join(b'&#%d;' % byte for byte in got)
        peer.sendall(b'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' % (len(said), said))
    except OSError: pass
    finally: peer.close()
def serve():
    while True: threading.Thread(target=talk, args=(server.accept()[0],), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"#;

/// What the command runs: a request as programs make it, with the placeholder wherever it fits.
const ASKS: &str = r#"
import os, urllib.request
mine = os.environ['GITHUB_TOKEN']
asked = urllib.request.Request('https://api.example/files/' + mine, headers={'Authorization': 'Bearer ' + mine, 'X-Note': mine})
print(urllib.request.urlopen(asked, timeout=20).read().decode())
"#;

/// Runs it in a network in which the host is, with an authority for it that the machine believes.
fn ask_the_host(place: &Place, namespaces: bool) -> Output {
    let out = place.outside.display();
    let key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let believed = authority.self_signed(&key).expect("a certificate").pem();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().expect("a key");
    let host = CertificateParams::new(vec!["api.example".to_owned()]).expect("a name");
    let host = host.signed_by(&key, &issuer).expect("a certificate").pem();
    for (name, text) in [
        ("names", "127.0.0.1 localhost\n192.0.2.7 api.example\n"),
        ("around.py", &format!("{ELSEWHERE}{AROUND}")),
        ("asks.py", ASKS),
        ("believed.pem", &believed),
        ("host.pem", &host),
        ("host.key", &key.serialize_pem()),
        ("log", ""),
    ] {
        place.file(&place.outside.join(name), text);
    }
    let before = format!("mount --bind {out}/names /etc/hosts && exec python3 {out}/around.py \"$@\"");
    let mut command = Command::new("unshare");
    if !is_root() {
        command.args(["-U", "-r"]);
    }
    command.args(["-m", "-n", "sh", "-c", &before, "sh"]);
    if place.user == User::Nobody {
        command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    if !namespaces {
        command.args(NO_NAMESPACES);
    }
    command
        .arg(&place.program)
        .args([
            "sandbox",
            "--host",
            "api.example",
            "--credential",
            "GITHUB_TOKEN=api.example",
            "--",
        ])
        .arg("python3")
        .arg(place.outside.join("asks.py"))
        .current_dir(&place.work)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .env("HOME", &place.work)
        .env("OUT", &place.outside)
        .env("SSL_CERT_FILE", place.outside.join("believed.pem"))
        .env("GITHUB_TOKEN", SECRET)
        .stdin(Stdio::null());
    command.output().expect("unshare")
}

/// From end to end: the command's program speaks to the proxy, the proxy to the host.
#[test]
fn the_host_alone_hears_the_secret() {
    if !["unshare", "setpriv", "mount", "python3"]
        .iter()
        .all(|program| has(program))
    {
        return;
    }
    for user in users() {
        for namespaces in [true, false] {
            let place = Place::new(user);
            let output = ask_the_host(&place, namespaces);
            let all = words(&output);
            let heard = fs::read_to_string(place.outside.join("log")).expect("a log");
            assert!(
                heard.contains(&format!("Bearer {SECRET}")),
                "{namespaces} {heard}\n{all}"
            );
            assert_eq!(heard.matches(SECRET).count(), 1, "nowhere else: {heard}");
            assert!(
                !all.contains(SECRET) && all.contains("Bearer ghp_"),
                "{namespaces} {all}"
            );
            let escaped = |text: &str| text.bytes().map(|byte| format!("&#{byte};")).collect::<String>();
            assert!(
                !all.contains(&escaped(&SECRET[4..])) && all.contains(&escaped("Bearer ghp_")),
                "{namespaces} {all}"
            );
        }
    }
}
