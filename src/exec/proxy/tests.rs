//! The proxy with a world of its own: names that lead where a test says, and connections that all end at one server.

use super::dial::World;
use super::hello::tests::{greeting, server_name};
use super::*;
use futures::future::BoxFuture;
use std::net::IpAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What happened outside.
#[derive(Default)]
struct Seen {
    looked_up: Mutex<Vec<String>>,
    dialed: Mutex<Vec<SocketAddr>>,
}

/// Each look-up of a name gives its next list of addresses, and the last one for ever.
pub(super) struct Fake {
    seen: Arc<Seen>,
    answers: Vec<Vec<IpAddr>>,
    server: SocketAddr,
    /// Whose certificates are believed.
    trust: Option<Arc<rustls::ClientConfig>>,
}

impl Fake {
    /// All names are at one address, and all connections end at this server.
    pub(super) fn to(server: SocketAddr, trust: Option<Arc<rustls::ClientConfig>>) -> Self {
        Self {
            seen: Arc::default(),
            answers: vec![vec![IpAddr::from([192, 0, 2, 1])]],
            server,
            trust,
        }
    }
}

impl World for Fake {
    fn look_up(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut looked_up = lock(&self.seen.looked_up);
        let at = looked_up.len().min(self.answers.len() - 1);
        looked_up.push(name);
        let answer = self.answers[at].clone();
        Box::pin(async move { Ok(answer) })
    }

    fn trust(&self) -> BoxFuture<'_, Result<Arc<rustls::ClientConfig>, String>> {
        Box::pin(async { self.trust.clone().ok_or_else(|| "no host is believed".to_owned()) })
    }

    fn is_own(&self, address: IpAddr) -> bool {
        address == IpAddr::from([192, 0, 2, 77])
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'static, io::Result<TcpStream>> {
        lock(&self.seen.dialed).push(address);
        Box::pin(TcpStream::connect(self.server))
    }
}

/// A server that gives back the bytes of each connection once it has heard some.
async fn echo() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("listen");
    let address = listener.local_addr().expect("address");
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut heard = vec![0; 4096];
                while let Ok(read @ 1..) = peer.read(&mut heard).await {
                    let _gone = peer.write_all(&heard[..read]).await;
                }
            });
        }
    });
    address
}

pub(super) fn rules(hosts: &[&str]) -> Rules {
    let hosts = hosts.iter().map(|host| crate::config::permissions::host_and_port(host));
    Rules::of(&Walls {
        hosts: hosts.collect(),
        ..Walls::default()
    })
    .expect("hosts")
}

async fn proxy(hosts: &[&str], answers: &[&[&str]]) -> (Proxy, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let parse = |list: &&[&str]| list.iter().map(|text| text.parse().expect("an address")).collect();
    let world = Fake {
        seen: seen.clone(),
        answers: answers.iter().map(parse).collect(),
        server: echo().await,
        trust: None,
    };
    let proxy = Proxy::start((rules(hosts), Masks::default()), Box::new(world)).expect("a port");
    (proxy, seen)
}

/// Asks for a tunnel; its stream and the head of the answer.
pub(super) async fn ask(proxy: &Proxy, host: &str, port: u16) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", proxy.way.port))
        .await
        .expect("connect");
    stream
        .write_all(proxy.way.request(host, port, "tester").as_bytes())
        .await
        .expect("ask");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.expect("an answer"));
    }
    (stream, String::from_utf8(answer).expect("text"))
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_dialed_as_it_was_looked_at() {
    // The second answer would lead to this machine.
    let (proxy, seen) = proxy(&["a.example"], &[&["192.0.2.1"], &["127.0.0.1"]]).await;
    let (_first, answer) = ask(&proxy, "a.example", 443).await;
    assert!(answer.contains(" 200 "), "{answer}");
    assert_eq!(*lock(&seen.looked_up), ["a.example"]);
    assert_eq!(*lock(&seen.dialed), ["192.0.2.1:443".parse().expect("an address")]);
    let (_second, answer) = ask(&proxy, "a.example", 443).await;
    assert!(answer.contains(" 403 "), "{answer}");
    assert_eq!(lock(&seen.dialed).len(), 1, "nothing was dialed that was not looked at");
    assert_eq!(
        proxy.refused()[0].to_string(),
        "tester was refused a.example (port 443): it resolves to 127.0.0.1, which is this machine; if that is intended, allow the address as well"
    );
}

#[tokio::test]
async fn names_that_are_not_granted_are_not_looked_up() {
    let (proxy, seen) = proxy(&["*.a.example"], &[&["192.0.2.1"]]).await;
    for host in [
        "secret.b.example",
        "a.example",
        "secret.a.example.b.example",
        "192.0.2.1",
    ] {
        let (_stream, answer) = ask(&proxy, host, 443).await;
        assert!(answer.contains(" 403 "), "{host}: {answer}");
    }
    assert!(lock(&seen.looked_up).is_empty() && lock(&seen.dialed).is_empty());
    assert_eq!(proxy.refused().len(), 4);
    // A flood of refusals is kept in bounds.
    for at in 0..2 * MOST_REFUSALS {
        ask(&proxy, &format!("{at}.b.example"), 443).await;
    }
    assert_eq!(proxy.refused().len(), MOST_REFUSALS);
}

#[tokio::test]
async fn what_a_greeting_names_has_to_be_what_was_asked_for() {
    let (proxy, _seen) = proxy(&["a.example"], &[&["192.0.2.1"]]).await;
    let named = |name: &[u8]| greeting(&[server_name(name)], 30);
    let encrypted = (0xFE0D, vec![0; 40]);
    for (label, sent, passes) in [
        ("the name", named(b"a.example"), true),
        ("in capitals", named(b"A.EXAMPLE"), true),
        ("another", named(b"b.example"), false),
        ("below it", named(b"x.a.example"), false),
        ("none", greeting(&[], 100), false),
        ("hidden", greeting(&[server_name(b"a.example"), encrypted], 100), false),
        ("no greeting", b"hello there\n".to_vec(), false),
    ] {
        let (mut stream, _) = ask(&proxy, "a.example", 443).await;
        stream.write_all(&sent).await.expect("write");
        let mut back = vec![0; sent.len()];
        let heard = stream.read_exact(&mut back).await.is_ok();
        assert_eq!(heard && back == sent, passes, "{label}");
    }
    assert_eq!(proxy.refused().len(), 4, "each is kept once: {:?}", proxy.refused());
}

/// The machine's own addresses are not reached by a name, also those that others reach it by.
#[tokio::test]
async fn a_name_of_this_machine_is_refused() {
    let (proxy, seen) = proxy(&["a.example"], &[&["192.0.2.77"]]).await;
    let (_stream, answer) = ask(&proxy, "a.example", 443).await;
    assert!(answer.contains(" 403 "), "{answer}");
    assert!(lock(&seen.dialed).is_empty());
    let refused = proxy.refused()[0].to_string();
    assert!(refused.contains("192.0.2.77, which is this machine"), "{refused}");
    assert!(Machine::new().is_own([127, 0, 0, 1].into()));
    assert!(!Machine::new().is_own([192, 0, 2, 77].into()));
}

/// A tunnel has its place among the connections that a command may have, as long as it is open.
#[tokio::test]
async fn a_tunnel_counts_as_a_connection() {
    let (proxy, _seen) = proxy(&["a.example"], &[&["192.0.2.1"]]).await;
    let settles = async |expected: usize| {
        while proxy.shared.places.available_permits() != expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let in_time = Duration::from_secs(20);
    let (mut tunnel, answer) = ask(&proxy, "a.example", 443).await;
    assert!(answer.contains(" 200 "), "{answer}");
    let greeting = greeting(&[server_name(b"a.example")], 30);
    tunnel.write_all(&greeting).await.expect("write");
    tunnel.read_exact(&mut vec![0; greeting.len()]).await.expect("an echo");
    let one_open = tokio::time::timeout(in_time, settles(MOST_CONNECTIONS - 1)).await;
    assert!(one_open.is_ok(), "{}", proxy.shared.places.available_permits());
    drop(tunnel);
    let none_open = tokio::time::timeout(in_time, settles(MOST_CONNECTIONS)).await;
    assert!(none_open.is_ok(), "{}", proxy.shared.places.available_permits());
}

/// Who does not show the secret is sent away soon, in whatever words; who has shown it stays.
#[tokio::test]
async fn nobody_holds_a_place_without_the_secret() {
    let (proxy, _seen) = proxy(&["a.example"], &[&["192.0.2.1"]]).await;
    let (mut known, answer) = ask(&proxy, "a.example", 7).await;
    assert!(answer.contains(" 200 "), "{answer}");
    let mut strangers = Vec::new();
    for said in [
        &b""[..],
        b"\x05",
        b"\x05\x01\x02",
        b"CONNECT a.example:7 HTTP/1.1\r\n",
        b"CONNECT a.example:7 HTTP/1.1\r\nHost: a.example:7\r\n\r\n",
    ] {
        let stranger = TcpStream::connect(("127.0.0.1", proxy.way.port)).await;
        let mut stranger = stranger.expect("connect");
        stranger.write_all(said).await.expect("write");
        strangers.push(stranger);
    }
    assert_eq!(proxy.shared.places.available_permits(), MOST_CONNECTIONS - 1);
    for mut stranger in strangers {
        let ended = tokio::time::timeout(Duration::from_secs(15), stranger.read_to_end(&mut Vec::new())).await;
        assert!(ended.is_ok(), "it is sent away");
    }
    known.write_all(b"still here\n").await.expect("write");
    known.read_exact(&mut [0; 11]).await.expect("an echo");
}

/// For which program somebody asks is believed of the keeper only.
#[tokio::test]
async fn nobody_lends_another_program_its_name() {
    let (proxy, _seen) = proxy(&["a.example"], &[&["192.0.2.1"]]).await;
    for said in ["git", "x git", proxy.way.secret.as_str()] {
        let mut way = proxy.way.clone();
        way.keeper_secret = said.to_owned();
        let mut stream = TcpStream::connect(("127.0.0.1", way.port)).await.expect("connect");
        let asked = way.request("b.example", 443, "git");
        stream.write_all(asked.as_bytes()).await.expect("ask");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.expect("an answer");
        assert!(answer.ends_with(b"403"), "{}", answer.escape_ascii());
    }
    let refused = proxy.refused();
    assert!(
        refused.iter().all(|one| one.program.as_deref() != Some("git")),
        "{refused:?}"
    );
    ask(&proxy, "c.example", 443).await;
    assert_eq!(
        proxy.refused().last().and_then(|one| one.program.clone()).as_deref(),
        Some("tester")
    );
}

#[tokio::test]
async fn bytes_are_counted_by_host() {
    let (proxy, _seen) = proxy(&["a.example", "b.example"], &[&["192.0.2.1"]]).await;
    for (host, text) in [("a.example", "12345\n"), ("a.example", "1\n"), ("b.example", "123\n")] {
        let (mut stream, _) = ask(&proxy, host, 7).await;
        stream.write_all(text.as_bytes()).await.expect("write");
        let mut back = vec![0; text.len()];
        stream.read_exact(&mut back).await.expect("an echo");
    }
    let traffic = |host: &str, connections, bytes| Traffic {
        host: host.to_owned(),
        connections,
        sent: bytes,
        received: bytes,
    };
    assert_eq!(
        proxy.traffic(),
        [traffic("a.example", 2, 8), traffic("b.example", 1, 4)]
    );
}

#[tokio::test]
async fn all_ends_with_the_command() {
    let (proxy, _seen) = proxy(&["a.example"], &[&["192.0.2.1"]]).await;
    let port = proxy.way.port;
    let (mut stream, answer) = ask(&proxy, "a.example", 7).await;
    assert!(answer.contains(" 200 "), "{answer}");
    drop(proxy);
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_u8())
        .await
        .expect("it ends");
    assert!(ended.is_err());
    let again = async {
        while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), again)
        .await
        .expect("nobody listens any more");
}

#[test]
fn a_secret_is_shown_nowhere() {
    let (_listener, way) = listener().expect("a port");
    let (_other, other) = listener().expect("a port");
    assert!(!format!("{way:?}").contains(&way.keeper_secret) && way.secret != way.keeper_secret);
    assert!(!format!("{way:?}").contains(&way.secret) && way.secret != other.secret && way.secret.len() == 43);
    let variables = way.environment();
    for name in [
        "HTTP_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "CARGO_HTTP_PROXY",
        "PIP_PROXY",
        "npm_config_https_proxy",
    ] {
        let (_, value) = variables.iter().find(|(known, _)| known == name).expect(name);
        assert_eq!(
            *value,
            format!("http://countersign:{}@127.0.0.1:{}", way.secret, way.port)
        );
    }
}
