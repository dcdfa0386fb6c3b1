//! The way to a provider: real TLS with certificates made for the occasion, a real proxy, and no way at all.

use super::*;
use countersign::config::{self, Sources};
use countersign::model::error::Transience;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Certificates as files, all but the authority's signed by it.
struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    /// The `openssl` program makes them.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let certificates = Self { folder };
        certificates.run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=Authority -keyout ca.key -out ca.pem");
        let authority = "[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\n\
                         policy=any\ncopy_extensions=copy\n[any]\ncommonName=supplied\n";
        std::fs::write(certificates.file("ca.cnf"), authority).expect("written");
        std::fs::write(certificates.file("index.txt"), "").expect("written");
        std::fs::write(certificates.file("serial"), "1000\n").expect("written");
        for (name, host, from, to) in [
            ("good", "localhost", "20200101000000Z", "20990101000000Z"),
            ("remote", "model.example", "20200101000000Z", "20990101000000Z"),
            ("expired", "localhost", "20200101000000Z", "20200201000000Z"),
            ("future", "localhost", "20980101000000Z", "20990101000000Z"),
            ("client", "client.example", "20200101000000Z", "20990101000000Z"),
        ] {
            certificates.run(&format!("req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={name} -addext subjectAltName=DNS:{host} -keyout {name}.key -out {name}.csr"));
            certificates.run(&format!("ca -batch -notext -config ca.cnf -cert ca.pem -keyfile ca.key -startdate {from} -enddate {to} -in {name}.csr -out {name}.pem"));
        }
        certificates.run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout self.key -out self.pem");
        certificates
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &str) {
        let output = Command::new("openssl")
            .args(arguments.split(' '))
            .current_dir(self.folder.path())
            .output();
        let output = output.expect("openssl is needed for this test; install it");
        assert!(
            output.status.success(),
            "openssl {arguments}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Serves answers over TLS with this certificate; gives the port. With `asks` clients have to show one of the
    /// authority's.
    fn serve(&self, name: &str, asks: bool) -> u16 {
        let certificate = CertificateDer::from_pem_file(self.file(&format!("{name}.pem"))).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(self.file(&format!("{name}.key"))).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let builder = builder.expect("versions");
        let builder = match asks {
            false => builder.with_no_client_auth(),
            true => {
                let mut roots = RootCertStore::empty();
                roots
                    .add(CertificateDer::from_pem_file(self.file("ca.pem")).expect("a certificate"))
                    .expect("a root");
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
                builder.with_client_cert_verifier(verifier.expect("a verifier"))
            }
        };
        let config = Arc::new(builder.with_single_cert(vec![certificate], key).expect("a pair"));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let config = config.clone();
                std::thread::spawn(move || answer(stream, config));
            }
        });
        port
    }
}

/// One answer over TLS.
fn answer(stream: std::net::TcpStream, config: Arc<ServerConfig>) {
    let connection = ServerConnection::new(config).expect("a connection");
    let mut tls = rustls::StreamOwned::new(connection, stream);
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match tls.read(&mut buffer) {
            Ok(0) => return,
            // Why was said in an alert; the other side is to read it before the connection is gone.
            Err(_) => {
                let _ = tls.sock.shutdown(std::net::Shutdown::Write);
                while matches!(tls.sock.read(&mut buffer), Ok(1..)) {}
                return;
            }
            Ok(length) => request.extend_from_slice(&buffer[..length]),
        }
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().expect("a length")) {
            break;
        }
    }
    let body = stream_of(&[message_done("hello over TLS"), completed()]);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // The client may have had enough.
    let _ = tls.write_all(format!("{head}{body}").as_bytes());
    tls.conn.send_close_notify();
    let _ = tls.flush();
}

/// A server that takes a greeting of TLS for a request that it does not understand.
fn without_tls() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let _some = stream.read(&mut [0; 4096]);
            let _sent = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
        }
    });
    format!("https://127.0.0.1:{port}/v1")
}

/// The client of a provider at this address, by a configuration and an environment.
fn configured(base_url: &str, toml: &str, env: &[(&str, &str)]) -> ModelClient {
    let home = tempfile::tempdir().expect("a folder");
    let text = format!("[model_providers.acme]\nname = \"Acme\"\nbase_url = \"{base_url}\"\n{toml}");
    std::fs::write(home.path().join("config.toml"), text).expect("written");
    let env: BTreeMap<String, String> = env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let loaded = config::load(&Sources {
        home: home.path().to_owned(),
        env,
        ..Sources::default()
    });
    let loaded = loaded.expect("it can be read");
    assert!(loaded.warnings.is_empty(), "{toml}: {:?}", loaded.warnings);
    let provider = loaded.config.provider("acme").expect("it is there");
    ModelClient::new(provider, None, &ModelClient::user_agent())
}

async fn problem(client: &ModelClient) -> (ErrorKind, String) {
    let heard = hear(client, &ask()).await;
    (heard.kind().clone(), heard.error.expect("an error").to_string())
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

#[tokio::test]
async fn certificates_are_looked_at_and_what_is_wrong_with_them_is_said() {
    let certificates = Certificates::new();
    let authority = format!(
        "[network]\nca_certificates = [\"{}\"]\n",
        shown(&certificates.file("ca.pem"))
    );
    let good = format!("https://localhost:{}/v1", certificates.serve("good", false));
    let heard = hear(&configured(&good, &authority, &[]), &ask()).await;
    assert_eq!(heard.short(), ["message:hello over TLS"], "{:?}", heard.error);
    let file = shown(&certificates.file("ca.pem"));
    for variable in ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "COUNTERSIGN_CA_CERTIFICATE"] {
        let heard = hear(&configured(&good, "", &[(variable, &file)]), &ask()).await;
        assert_eq!(
            heard.short(),
            ["message:hello over TLS"],
            "{variable}: {:?}",
            heard.error
        );
    }
    let own = format!("tls = {{ ca_certificate = \"{file}\" }}\n");
    assert!(hear(&configured(&good, &own, &[]), &ask()).await.completed());

    let at = |name: &str, host: &str| format!("https://{host}:{}/v1", certificates.serve(name, false));
    let (self_signed, plain) = (at("self", "localhost"), without_tls());
    let table = [
        (good.as_str(), "", "nobody whom this machine trusts", "ca_certificates"),
        (
            &self_signed,
            &authority,
            "nobody whom this machine trusts",
            "SSL_CERT_FILE",
        ),
        (
            &at("expired", "localhost"),
            &authority,
            "has expired",
            "date of this machine",
        ),
        (
            &at("future", "localhost"),
            &authority,
            "not valid yet",
            "date of this machine",
        ),
        (
            &at("remote", "localhost"),
            &authority,
            "model.example",
            "Check the name in `base_url`",
        ),
        (&plain, &authority, "does not speak TLS", "http://"),
    ];
    for (base_url, toml, reason, advice) in table {
        let (kind, message) = problem(&configured(base_url, toml, &[])).await;
        assert!(matches!(kind, ErrorKind::Insecure { .. }), "{kind:?}");
        assert!(message.contains(reason) && message.contains(advice), "{message}");
        assert_eq!(
            kind.transience(),
            Transience::Final,
            "another try meets the same certificate"
        );
    }
    for (toml, words) in [
        (
            "[network]\nca_certificates = [\"/nowhere/ca.pem\"]\n".to_owned(),
            "/nowhere/ca.pem",
        ),
        (
            format!(
                "[network]\nca_certificates = [\"{}\"]\n",
                shown(&certificates.file("ca.cnf"))
            ),
            "ca.cnf",
        ),
        (
            format!("tls = {{ client_certificate = \"{file}\" }}\n"),
            "without its key",
        ),
    ] {
        let (kind, message) = problem(&configured(&good, &toml, &[])).await;
        assert!(
            matches!(kind, ErrorKind::Setup { .. }) && message.contains(words),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_client_shows_its_certificate_where_the_server_wants_one() {
    let certificates = Certificates::new();
    let base_url = format!("https://localhost:{}/v1", certificates.serve("good", true));
    let ca = shown(&certificates.file("ca.pem"));
    let tls = |name: &str| {
        let (certificate, key) = (
            certificates.file(&format!("{name}.pem")),
            certificates.file(&format!("{name}.key")),
        );
        let (certificate, key) = (shown(&certificate), shown(&key));
        format!(
            "tls = {{ ca_certificate = \"{ca}\", client_certificate = \"{certificate}\", client_private_key = \"{key}\" }}\n"
        )
    };
    let heard = hear(&configured(&base_url, &tls("client"), &[]), &ask()).await;
    assert_eq!(heard.short(), ["message:hello over TLS"], "{:?}", heard.error);
    let without = format!("tls = {{ ca_certificate = \"{ca}\" }}\n");
    for (toml, words) in [
        (without, "wants a certificate of this client"),
        (tls("self"), "certificate of this client"),
    ] {
        let (kind, message) = problem(&configured(&base_url, &toml, &[])).await;
        assert!(matches!(kind, ErrorKind::Insecure { .. }), "{kind:?}");
        assert!(
            message.contains(words) && message.contains("client_certificate"),
            "{message}"
        );
    }
}

/// A proxy that connects everybody to one port of this machine, or refuses.
struct Proxy {
    port: u16,
    /// The first lines of what it was asked.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn start(answer: &'static str, to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = asked.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let told = told.clone();
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        head.push(byte);
                    }
                    let head = String::from_utf8_lossy(&head).into_owned();
                    told.lock().expect("no panic").push(head);
                    // The client may be gone, which is its affair.
                    let _ = stream.write_all(format!("HTTP/1.1 {answer}\r\n\r\n").as_bytes()).await;
                    if answer.starts_with("200") {
                        let mut there = TcpStream::connect(("127.0.0.1", to)).await.expect("it listens");
                        let _ = tokio::io::copy_bidirectional(&mut stream, &mut there).await;
                    }
                });
            }
        });
        Self { port, asked }
    }

    fn url(&self) -> String {
        format!("http://name:secret-word@127.0.0.1:{}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

#[tokio::test]
async fn a_proxy_is_gone_through_and_what_it_refuses_is_said() {
    let certificates = Certificates::new();
    let authority = format!(
        "[network]\nca_certificates = [\"{}\"]\n",
        shown(&certificates.file("ca.pem"))
    );
    let port = certificates.serve("remote", false);
    let proxy = Proxy::start("200 Connected", port).await;
    for (toml, env) in [
        (authority.clone(), vec![("HTTPS_PROXY", proxy.url())]),
        (authority.clone(), vec![("ALL_PROXY", proxy.url())]),
        (format!("{authority}proxy = \"{}\"\n", proxy.url()), vec![]),
    ] {
        let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let before = proxy.asked().len();
        let heard = hear(&configured("https://model.example/v1", &toml, &env), &ask()).await;
        assert_eq!(heard.short(), ["message:hello over TLS"], "{:?}", heard.error);
        let asked = proxy.asked();
        assert!(
            asked[before].starts_with("CONNECT model.example:443 HTTP/1.1"),
            "{asked:?}"
        );
        assert!(
            asked[before].to_lowercase().contains("proxy-authorization: basic "),
            "{asked:?}"
        );
    }
    // Not to this machine, and not where NO_PROXY says so.
    let before = proxy.asked().len();
    let local = Raw::events(stream_of(&[message_done("near"), completed()]))
        .serve()
        .await;
    let url = proxy.url();
    let env = [
        ("HTTP_PROXY", url.as_str()),
        ("HTTPS_PROXY", url.as_str()),
        ("NO_PROXY", "example"),
    ];
    assert_eq!(
        hear(&configured(&local, "", &env), &ask()).await.short(),
        ["message:near"]
    );
    let (kind, _) = problem(&configured("https://model.example/v1", "", &env)).await;
    assert!(matches!(kind, ErrorKind::Unreachable { .. }), "{kind:?}");
    assert_eq!(proxy.asked().len(), before);

    let table = [
        ("407 Proxy Authentication Required", "status 407", "NAME:PASSWORD"),
        ("403 Forbidden", "refuses to connect", "the administrator of the proxy"),
    ];
    for (answer, reason, advice) in table {
        let proxy = Proxy::start(answer, port).await;
        let env = [("HTTPS_PROXY", &*proxy.url())];
        let (kind, message) = problem(&configured("https://model.example/v1", "", &env)).await;
        assert!(matches!(kind, ErrorKind::Proxy { .. }), "{kind:?}");
        assert!(message.contains(reason) && message.contains(advice), "{message}");
        assert!(!message.contains("secret-word"), "{message}");
    }
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let gone = nobody.local_addr().expect("an address");
    drop(nobody);
    let (kind, message) = problem(&configured(
        "https://model.example/v1",
        "",
        &[("HTTPS_PROXY", &format!("http://{gone}"))],
    ))
    .await;
    assert!(matches!(kind, ErrorKind::Unreachable { .. }), "{kind:?}");
    assert!(
        message.contains("proxy") && message.contains("HTTPS_PROXY"),
        "{message}"
    );
    let (kind, message) = problem(&configured(
        "https://model.example/v1",
        "",
        &[("ALL_PROXY", "gopher://127.0.0.1:1")],
    ))
    .await;
    assert!(
        matches!(kind, ErrorKind::Setup { .. })
            && message.contains("gopher://127.0.0.1:1")
            && message.contains("socks5://"),
        "{message}"
    );
}

/// A SOCKS5 proxy (RFC 1928, RFC 1929) that connects everybody to one port of this machine; it lets in who knows the password,
/// or anybody where there is none.
async fn socks(password: Option<&'static str>, to: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that goes away in the middle is no affair of the proxy's.
            tokio::spawn(serve_socks(stream, password, to, told.clone()));
        }
    });
    (port, asked)
}

async fn serve_socks(
    mut stream: TcpStream,
    password: Option<&'static str>,
    to: u16,
    told: Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    assert_eq!(stream.read_u8().await?, 5, "the version");
    let mut methods = vec![0; stream.read_u8().await?.into()];
    stream.read_exact(&mut methods).await?;
    let method = u8::from(password.is_some()) * 2;
    if !methods.contains(&method) {
        return stream.write_all(&[5, 0xff]).await;
    }
    stream.write_all(&[5, method]).await?;
    if let Some(password) = password {
        assert_eq!(stream.read_u8().await?, 1, "the version of names and passwords");
        let mut said = Vec::new();
        for _ in 0..2 {
            let mut text = vec![0; stream.read_u8().await?.into()];
            stream.read_exact(&mut text).await?;
            said.push(String::from_utf8(text).expect("a text"));
        }
        let is_right = said == ["name", password];
        stream.write_all(&[1, u8::from(!is_right)]).await?;
        if !is_right {
            return Ok(());
        }
    }
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let host = match head[3] {
        1 => std::net::Ipv4Addr::from(stream.read_u32().await?).to_string(),
        3 => {
            let mut name = vec![0; stream.read_u8().await?.into()];
            stream.read_exact(&mut name).await?;
            String::from_utf8(name).expect("a name")
        }
        kind => panic!("an address of kind {kind}"),
    };
    let port = stream.read_u16().await?;
    told.lock().expect("no panic").push(format!("{host}:{port}"));
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let mut there = TcpStream::connect(("127.0.0.1", to)).await?;
    tokio::io::copy_bidirectional(&mut stream, &mut there).await.map(drop)
}

/// By `socks5h` the proxy looks the name up, by `socks5` this machine does; a password that is wrong is no way through.
#[tokio::test]
async fn a_socks_proxy_is_gone_through() {
    let certificates = Certificates::new();
    let authority = format!(
        "[network]\nca_certificates = [\"{}\"]\n",
        shown(&certificates.file("ca.pem"))
    );
    let tls = certificates.serve("remote", false);
    let (port, asked) = socks(None, tls).await;
    for variable in ["ALL_PROXY", "HTTPS_PROXY", "https_proxy"] {
        let proxy = format!("socks5h://127.0.0.1:{port}");
        let heard = hear(
            &configured("https://model.example/v1", &authority, &[(variable, &proxy)]),
            &ask(),
        )
        .await;
        assert_eq!(
            heard.short(),
            ["message:hello over TLS"],
            "{variable}: {:?}",
            heard.error
        );
    }
    assert_eq!(*asked.lock().expect("no panic"), ["model.example:443"; 3]);
    let near = Raw::events(stream_of(&[message_done("near"), completed()]))
        .serve()
        .await;
    let near = url::Url::parse(&near).expect("a URL").port().expect("a port");
    let (port, asked) = socks(Some("secret-word"), near).await;
    let proxy = format!("socks5://name:secret-word@127.0.0.1:{port}");
    // An address that leads nowhere but through the proxy.
    let client = configured("http://192.0.2.1/v1", "", &[("ALL_PROXY", &proxy)]);
    assert_eq!(hear(&client, &ask()).await.short(), ["message:near"]);
    assert_eq!(*asked.lock().expect("no panic"), ["192.0.2.1:80"]);
    for proxy in [
        format!("socks5://name:wrong-secret@127.0.0.1:{port}"),
        "socks5h://127.0.0.1:9".to_owned(),
    ] {
        let client = configured("http://192.0.2.1/v1", "", &[("ALL_PROXY", &proxy)]);
        let (kind, message) = problem(&client).await;
        assert!(
            matches!(kind, ErrorKind::Unreachable { .. } | ErrorKind::Proxy { .. }),
            "{kind:?} {message}"
        );
        assert!(
            message.contains("proxy") && !message.contains("wrong-secret"),
            "{message}"
        );
    }
    assert_eq!(asked.lock().expect("no panic").len(), 1, "nobody else got through");
}

#[tokio::test]
async fn offline_nothing_leaves_this_machine_and_the_person_is_told_at_once() {
    let server = Raw::events(stream_of(&[message_done("near"), completed()]))
        .serve()
        .await;
    let offline = "[network]\noffline = true\n";
    assert_eq!(
        hear(&configured(&server, offline, &[]), &ask()).await.short(),
        ["message:near"]
    );
    let proxy = Proxy::start("200 Connected", 9).await;
    let url = proxy.url();
    for (toml, env) in [(offline, vec![]), ("", vec![("COUNTERSIGN_OFFLINE", "1")])] {
        let env: Vec<_> = env.into_iter().chain([("HTTPS_PROXY", url.as_str())]).collect();
        let (kind, message) = problem(&configured("https://model.example/v1", toml, &env)).await;
        assert_eq!(kind, ErrorKind::Offline);
        assert!(
            message.contains("network.offline") && message.contains("on this machine"),
            "{message}"
        );
    }
    assert_eq!(proxy.asked(), [""; 0], "nobody was asked");
}

#[tokio::test]
async fn a_name_that_no_machine_has_and_a_port_where_nobody_listens_are_told_apart() {
    let (kind, message) = problem(&configured("https://no-such-host.invalid/v1", "", &[])).await;
    assert!(matches!(kind, ErrorKind::Unreachable { .. }), "{kind:?}");
    // Where there is no name server at all, the second is the truth.
    let said = [
        "no machine has the name no-such-host.invalid",
        "no name can be looked up",
    ];
    assert!(said.iter().any(|words| message.contains(words)), "{message}");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let gone = nobody.local_addr().expect("an address");
    drop(nobody);
    let (_, message) = problem(&configured(&format!("http://{gone}/v1"), "", &[])).await;
    assert!(
        message.contains("refused") && message.contains("Start the server on this machine"),
        "{message}"
    );
}
