//! Requests through the proxy to a host that speaks TLS and gives back what it was asked.

use super::super::tests::{Fake, ask, rules};
use super::super::{Proxy, lock};
use super::*;
use crate::config::requests::{Credential, usual_headers};
use crate::exec::confinement::Walls;
use rustls::{ClientConfig, RootCertStore};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

/// Believes one authority only.
fn believes(certificate: rustls::pki_types::CertificateDer<'static>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions");
    Arc::new(config.with_root_certificates(roots).with_no_client_auth())
}

/// The last certificate of a file.
fn last_of(bundle: &Path) -> rustls::pki_types::CertificateDer<'static> {
    use rustls::pki_types::pem::PemObject as _;
    let all = rustls::pki_types::CertificateDer::pem_file_iter(bundle).expect("a file");
    all.filter_map(Result::ok).last().expect("a certificate")
}

/// What a host answers to a head: pieces, one after the other.
type Answering = fn(&str) -> Vec<Vec<u8>>;

/// The head itself: in the body in two pieces, and what it authorizes with in a header.
fn echo(head: &str) -> Vec<Vec<u8>> {
    let sent = head
        .lines()
        .find_map(|line| line.strip_prefix("authorization: "))
        .unwrap_or_default();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-Sent: {sent}\r\n\r\n",
        head.len()
    );
    // A piece ends in the middle of the secret.
    let middle = head.find(SECRET).map_or(head.len() / 2, |at| at + 7);
    [answer.as_str(), &head[..middle], &head[middle..]]
        .map(|part| part.as_bytes().to_vec())
        .to_vec()
}

/// A host that proves to be `name`.
async fn host(name: &str, answering: Answering) -> (std::net::SocketAddr, Arc<ClientConfig>, Arc<Mutex<Vec<String>>>) {
    let authority = Authority::make(vec![name.to_owned()], &std::env::temp_dir(), None).expect("an authority");
    let trust = believes(last_of(authority.bundle().expect("a file")));
    let acceptor = tokio_rustls::TlsAcceptor::from(authority.certificate(name).expect("a certificate"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("listen");
    let address = listener.local_addr().expect("address");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let seen = heard.clone();
    tokio::spawn(async move {
        while let Ok((peer, _)) = listener.accept().await {
            let (acceptor, seen) = (acceptor.clone(), seen.clone());
            tokio::spawn(async move {
                let Ok(mut peer) = acceptor.accept(peer).await else {
                    return;
                };
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = peer.read_u8().await else { return };
                    head.push(byte);
                }
                let head = String::from_utf8(head).expect("text");
                lock(&seen).push(head.clone());
                for part in answering(&head) {
                    let _gone = peer.write_all(&part).await;
                    let _gone = peer.flush().await;
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
                let _gone = peer.shutdown().await;
            });
        }
    });
    (address, trust, heard)
}

fn requests() -> Requests {
    Requests {
        credentials: vec![Credential {
            variable: "TOKEN".to_owned(),
            from: "MINE".to_owned(),
            hosts: vec!["a.example".to_owned()],
            headers: usual_headers(),
            in_query: true,
        }],
        methods: [("a.example", vec!["GET"]), ("c.example", vec!["GET", "HEAD"])]
            .map(|(host, methods)| (host.to_owned(), methods.into_iter().map(str::to_owned).collect()))
            .into(),
    }
}

/// An environment in which the secret's variable is this.
fn variables(value: Option<&str>) -> Variables {
    let env = value.map(|value| ("MINE".to_owned(), value.to_owned()));
    Variables::of(&requests(), &env.into_iter().collect())
}

fn masks() -> Masks {
    Masks::of(&requests(), &std::env::temp_dir(), &variables(Some(SECRET))).expect("masks")
}

/// A proxy to a host that is `name` whatever it is called; also what the host hears.
async fn proxy(name: &str) -> (Proxy, Arc<Mutex<Vec<String>>>) {
    proxy_to(name, echo).await
}

async fn proxy_to(name: &str, answering: Answering) -> (Proxy, Arc<Mutex<Vec<String>>>) {
    let (server, trust, heard) = host(name, answering).await;
    let world = Fake::to(server, Some(trust));
    let hosts = rules(&["a.example", "b.example", "c.example"]);
    let proxy = Proxy::start((hosts, masks()), Box::new(world)).expect("a port");
    (proxy, heard)
}

/// A request by TLS through the proxy, from a program that believes what it is led to believe; the answer, head and body.
async fn fetch(proxy: &Proxy, host: &str, request: &str) -> Result<String, String> {
    let (stream, answer) = ask(proxy, host, 443).await;
    assert!(answer.contains(" 200 "), "{answer}");
    let bundle = proxy.shared.masks.bundle().expect("a file");
    let connector = tokio_rustls::TlsConnector::from(believes(last_of(bundle)));
    let name = host.to_owned().try_into().expect("a name");
    let mut stream = connector
        .connect(name, stream)
        .await
        .map_err(|error| error.to_string())?;
    stream.write_all(request.as_bytes()).await.expect("write");
    let mut answer = Vec::new();
    let _ended = stream.read_to_end(&mut answer).await;
    Ok(String::from_utf8(answer).expect("text"))
}

fn variable(proxy: &Proxy, name: &str) -> String {
    let all = proxy.shared.masks.environment();
    all.into_iter().find(|(known, _)| known == name).expect("a variable").1
}

/// Shows that a command uses a secret that it never has: whatever it does, the host alone hears it.
#[tokio::test]
async fn the_host_gets_the_secret_and_the_command_a_placeholder() {
    let (proxy, heard) = proxy("a.example").await;
    let placeholder = variable(&proxy, "TOKEN");
    assert!(placeholder.starts_with("ghp_") && placeholder.len() == SECRET.len() && placeholder != SECRET);
    let basic = STANDARD.encode(format!("me:{placeholder}"));
    let revealed = STANDARD.encode(format!("me:{SECRET}"));
    for (name, line, path, expected) in [
        (
            "bearer",
            format!("Authorization: Bearer {placeholder}"),
            "/",
            format!("authorization: Bearer {SECRET}"),
        ),
        (
            "basic",
            format!("Authorization: Basic {basic}"),
            "/",
            format!("authorization: Basic {revealed}"),
        ),
        (
            "own header",
            format!("PRIVATE-TOKEN: {placeholder}"),
            "/",
            format!("private-token: {SECRET}"),
        ),
        (
            "twice",
            format!("Authorization: {placeholder}, {placeholder}"),
            "/",
            format!("authorization: {SECRET}, {SECRET}"),
        ),
        (
            "a header that is no credential's",
            format!("X-A: {placeholder}"),
            "/",
            format!("x-a: {placeholder}"),
        ),
        (
            "in the address",
            "X-A: b".to_owned(),
            "/repos/PLACEHOLDER?key=PLACEHOLDER&x=1",
            format!("GET /repos/{placeholder}?key={SECRET}&x=1 HTTP/1.1"),
        ),
        ("nowhere", "X-A: b".to_owned(), "/", "x-a: b".to_owned()),
    ] {
        let path = path.replace("PLACEHOLDER", &placeholder);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: a.example\r\nAccept-Encoding: gzip\r\nRange: bytes=3-9\r\nIf-Range: x\r\n{line}\r\n\
             Connection: close\r\n\r\n"
        );
        let answer = fetch(&proxy, "a.example", &request).await.expect(name);
        let heard = lock(&heard).pop().expect("a request");
        assert!(heard.contains(&expected), "{name}: {heard}");
        assert!(heard.contains("accept-encoding: identity"), "{name}: {heard}");
        assert!(!heard.contains("range: "), "{name}: {heard}");
        // The host gives back all that it was sent, in a header and in the body.
        let decoded = answer.split_whitespace().filter_map(|word| STANDARD.decode(word).ok());
        let decoded = decoded.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        for text in decoded.chain([answer.clone()]) {
            assert!(!text.contains(SECRET), "{name}: {text}");
        }
        assert!(
            answer.contains("200 OK") && answer.contains("HTTP/1.1\r\n"),
            "{name}: {answer}"
        );
        if name == "bearer" {
            assert_eq!(answer.matches(&placeholder).count(), 2, "{name}: {answer}");
        }
    }
}

#[tokio::test]
async fn what_a_host_makes_of_a_secret_does_not_bring_it_back() {
    let answering: Answering = |head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        let (reason, more, body) = match path {
            "/reason" => (SECRET, "", "fine".to_owned()),
            "/location" => ("OK", "Location: /KEY\r\n", "fine".to_owned()),
            "/name" => ("OK", "X-KEY: 1\r\n", "fine".to_owned()),
            "/names" => ("OK", "FIRST: 1\r\nLAST: 1\r\n", "fine".to_owned()),
            "/line" => ("OK", "FIRST: LAST\r\n", "fine".to_owned()),
            "/values" => ("OK", "X-A: FIRST\r\nX-B: 1\r\nX-A: LAST\r\n", "fine".to_owned()),
            "/headers" => ("OK", "X-A: FIRST\r\nX-B: LAST\r\n", "fine".to_owned()),
            "/beginning" => ("OK", "X-A: FIRST\r\nX-B: 1\r\n", "fine".to_owned()),
            "/twice" => ("OK", "X-A: KEY\r\nX-A: KEY\r\n", "fine".to_owned()),
            "/packed" => ("OK", "Content-Encoding: gzip\r\n", "fine".to_owned()),
            "/packed-twice" => (
                "OK",
                "Content-Encoding: identity\r\nContent-Encoding: br\r\n",
                "fine".to_owned(),
            ),
            "/utf-16" => (
                "OK",
                "Content-Type: text/plain; charset=\"UTF-16LE\"\r\n",
                "fine".to_owned(),
            ),
            "/utf-7" => ("OK", "Content-Type: text/plain;Charset=utf-7\r\n", "fine".to_owned()),
            "/utf-8" => (
                "OK",
                "Content-Type: text/plain; x=utf-16; charset=utf-8\r\n",
                "fine".to_owned(),
            ),
            "/cut" => ("OK", "", format!("fine {}", &SECRET[..SECRET.len() - 1])),
            "/hex" => ("OK", "", format!("fine {hex}")),
            "/lines" => {
                let packed = STANDARD.encode(format!("x{SECRET}"));
                let lines: Vec<_> = packed.as_bytes().chunks(12).map(String::from_utf8_lossy).collect();
                ("OK", "", format!("fine {}", lines.join("\n")))
            }
            "/html" => {
                let escaped: String = SECRET.bytes().map(|byte| format!("&#{byte};")).collect();
                ("OK", "", format!("fine {escaped}"))
            }
            "/base64" => ("OK", "", format!("fine {}", STANDARD.encode(format!("x{SECRET}")))),
            _ => ("OK", "", "fine".to_owned()),
        };
        let (first, last) = SECRET.split_at(20);
        let more = more
            .replace("KEY", SECRET)
            .replace("FIRST", first)
            .replace("LAST", last);
        let length = body.len();
        vec![format!("HTTP/1.1 200 {reason}\r\n{more}Content-Length: {length}\r\n\r\n{body}").into_bytes()]
    };
    let (proxy, _) = proxy_to("a.example", answering).await;
    for (path, passes) in [
        ("/", true),
        ("/reason", true),
        ("/location", true),
        ("/name", false),
        ("/names", false),
        ("/line", false),
        ("/values", false),
        ("/headers", false),
        ("/beginning", true),
        ("/twice", true),
        ("/packed", false),
        ("/packed-twice", false),
        ("/utf-16", false),
        ("/utf-7", false),
        ("/utf-8", true),
        ("/cut", true),
        ("/hex", true),
        ("/lines", true),
        ("/html", true),
        ("/base64", true),
    ] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
        let answer = fetch(&proxy, "a.example", &request).await.expect(path);
        assert_eq!(answer.contains("fine"), passes, "{path}: {answer}");
        assert_eq!(answer.contains("502"), !passes, "{path}: {answer}");
        // The middle of it in each of the forms.
        let hex: String = SECRET[8..30].bytes().map(|byte| format!("{byte:02x}")).collect();
        let packed = &STANDARD.encode(format!("x{SECRET}"))[8..40];
        let escaped: String = SECRET[8..30].bytes().map(|byte| format!("&#{byte};")).collect();
        let in_one_line = answer.replace('\n', "");
        for form in [&SECRET[8..30], &hex, packed, &escaped] {
            assert!(!in_one_line.contains(form), "{path}: {answer}");
        }
    }
}

#[tokio::test]
async fn no_other_host_and_no_other_way_gets_the_secret() {
    // A host that is asked for by another name, and one that cannot prove that it is the right one.
    let (proxy, heard) = proxy("evil.example").await;
    let placeholder = variable(&proxy, "TOKEN");
    let request = format!(
        "GET / HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer {placeholder}\r\nConnection: close\r\n\r\n"
    );
    let answer = fetch(&proxy, "a.example", &request).await.expect("an answer");
    assert!(
        answer.contains("502") && answer.contains("could not be verified"),
        "{answer}"
    );
    // No certificate is made for a host whose requests nobody has to see.
    let refused = fetch(&proxy, "b.example", &request)
        .await
        .expect_err("an alien certificate");
    assert!(refused.to_lowercase().contains("certificate"), "{refused}");
    assert!(lock(&heard).is_empty());
    // Methods are held to, but a host without a secret gets none.
    let (proxy, heard) = self::proxy("c.example").await;
    let request = request.replace("a.example", "c.example");
    fetch(&proxy, "c.example", &request).await.expect("an answer");
    let heard = lock(&heard).pop().expect("a request");
    assert!(
        heard.contains("authorization: Bearer ghp_") && !heard.contains(SECRET),
        "{heard}"
    );
    // By plain HTTP it is never sent.
    let (mut stream, _) = ask(&proxy, "a.example", 80).await;
    let request = format!(
        "GET / HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer {placeholder}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("write");
    let mut answer = Vec::new();
    let _ended = stream.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains(SECRET));
}

#[tokio::test]
async fn hosts_are_asked_with_the_methods_that_they_may_be_asked_with() {
    let (proxy, heard) = proxy("a.example").await;
    for (method, passes) in [
        ("GET", true),
        ("POST", false),
        ("get", false),
        ("DELETE", false),
        ("TRACE", false),
    ] {
        let request =
            format!("{method} / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let answer = fetch(&proxy, "a.example", &request).await.expect("an answer");
        assert_eq!(answer.contains("200 OK"), passes, "{method}: {answer}");
        assert_eq!(lock(&heard).pop().is_some(), passes, "{method}");
        if !passes {
            assert!(
                answer.contains("403") && answer.contains("methods that it may be asked with (GET)"),
                "{answer}"
            );
        }
    }
    let request = "GET /a?x=1&_method=DELETE HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    let answer = fetch(&proxy, "a.example", request).await.expect("an answer");
    assert!(answer.contains("403") && answer.contains("another method"), "{answer}");
    assert!(lock(&heard).is_empty());
    let (mut stream, _) = ask(&proxy, "a.example", 80).await;
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .await
        .expect("write");
    let mut answer = Vec::new();
    let _ended = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.contains("403"), "by plain HTTP too: {answer}");
}

#[test]
fn a_secret_that_cannot_be_hidden_is_refused_and_one_that_is_not_set_is_left_out() {
    let of = |value: Option<&str>| Masks::of(&requests(), &std::env::temp_dir(), &variables(value));
    for value in [
        "tiny-one",
        "x".repeat(SHORTEST - 1).as_str(),
        "with a blank in the middle",
        "0123456789abcdef\u{e9}",
    ] {
        let trouble = of(Some(value)).err().unwrap_or_default();
        assert!(
            trouble.contains("MINE") && !trouble.contains(value),
            "{value}: {trouble}"
        );
    }
    for value in [None, Some("")] {
        let masks = of(value).expect("masks");
        assert!(masks.environment().iter().all(|(name, _)| name != "TOKEN"));
    }
    // Its file goes with it.
    let masks = masks();
    let bundle = masks.bundle().expect("a file").to_owned();
    let text = fs::read_to_string(&bundle).expect("a file");
    assert!(!text.contains("PRIVATE KEY"));
    drop(masks);
    assert!(!bundle.exists());
}

#[test]
fn files_of_authorities_that_nobody_uses_any_more_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = || Masks::of(&requests(), folder.path(), &variables(Some(SECRET))).expect("masks");
    let first = of();
    let used = first.bundle().expect("a file");
    let id = uuid::Uuid::now_v7();
    let left = folder.path().join(format!("countersign-authorities-{id}.pem"));
    let others = folder.path().join("countersign-authorities-of-mine.pem");
    for path in [&left, &others] {
        fs::write(path, "").expect("a file");
    }
    let next = of();
    assert!(!left.exists() || cfg!(not(unix)), "it stays where it may be in use");
    assert!(others.exists() && used.exists() && next.bundle().is_some_and(Path::exists));
}

/// What the server's environment gives to the proxy does not go to the command's keeper.
#[test]
fn secrets_are_not_among_what_the_keeper_gets() {
    let walls = Walls {
        requests: requests(),
        variables: variables(Some(SECRET)),
        ..Walls::default()
    };
    let sent = serde_json::to_string(&walls).expect("JSON");
    let shown = format!("{walls:?}");
    assert!(sent.contains("MINE") && !sent.contains(SECRET), "{sent}");
    assert!(shown.contains("MINE") && !shown.contains(SECRET), "{shown}");
}

#[test]
fn a_placeholder_has_nothing_of_the_secret_but_its_kind() {
    for (secret, kind) in [
        ("ghp_0123456789abcdefghijABCDEFGHIJ456789", "ghp_"),
        ("github_pat_11ABCDEFG0123456789", "github_pat_"),
        ("sk-ant-api03-abcdefghijklmnop", "sk-ant-"),
        ("xoxb-123456789012-abcdefghijkl", "xoxb-"),
        ("550e8400-e29b-41d4-a716-446655440000", ""),
        ("Zm9v-YmFyYmF6cXV4cXV1eA", ""),
        ("abcd1234-secret-words", ""),
        ("correct-horse-battery-staple", ""),
        ("my_very_own_passphrase", ""),
        ("sk-proj-0123456789abcdefghij", "sk-proj-"),
    ] {
        let made = placeholder(secret).expect("random numbers");
        assert_eq!(made.len(), secret.len(), "{secret}");
        let same = made.chars().zip(secret.chars()).take_while(|(one, other)| one == other);
        assert!(made.starts_with(kind), "{secret}: {made}");
        // By chance a few more can be alike.
        assert!(same.count() <= kind.len() + 4, "{secret}: {made}");
    }
}

#[test]
fn the_authorities_lie_where_the_command_reads_and_does_not_write() {
    let temporary = std::env::temp_dir();
    let env = [("TMPDIR".to_owned(), temporary.display().to_string())];
    let variables = Variables::of(&requests(), &env.into());
    let walls = |roots: &[&str], unreadable: &[&str]| Walls {
        variables: variables.clone(),
        roots: roots.iter().map(PathBuf::from).collect(),
        unreadable: unreadable.iter().map(PathBuf::from).collect(),
        ..Walls::default()
    };
    let chosen = folder(&walls(&["/tmp"], &[]));
    assert!(
        !chosen.starts_with("/tmp") || !Path::new("/var/tmp").is_dir(),
        "{}",
        chosen.display()
    );
    for (roots, unreadable) in [(&["/"][..], &[][..]), (&[], &["/"])] {
        let temporary = fs::canonicalize(&temporary).expect("a folder");
        assert_eq!(folder(&walls(roots, unreadable)), temporary);
    }
}
