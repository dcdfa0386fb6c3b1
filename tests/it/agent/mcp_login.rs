//! Signing in to an MCP server over HTTP that wants a login, and out of it: with an authorization server that checks what it
//! is sent.

use super::stage::{Setting, Stage, say};
use crate::support::authority::browse;
use crate::support::keyring::Keyring;
use crate::support::mcp::{Web, reading};
use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// The token of the first login, which is over at once, and the one that it is renewed to.
const FIRST: &str = "first-access-token-0000";
const SECOND: &str = "second-access-token-1111";
const REFRESH: &str = "refresh-token-2222";

#[derive(Default)]
struct Ledger {
    /// What the page was asked with.
    page: BTreeMap<String, String>,
    revoked: Vec<String>,
    faults: Vec<String>,
    /// How often a token was renewed.
    refreshed: usize,
    /// What renewals are answered with, in the place of a token.
    ill: Option<(StatusCode, &'static str)>,
    /// Renewals wait for it.
    gate: Option<Arc<tokio::sync::Semaphore>>,
}

struct Issuer {
    url: String,
    ledger: Arc<Mutex<Ledger>>,
}

#[derive(Clone)]
struct Desk {
    ledger: Arc<Mutex<Ledger>>,
    described: Value,
}

fn fields(text: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

impl Issuer {
    /// An authorization server; `change` makes another one of what it tells of itself.
    async fn start(change: impl FnOnce(&mut Value)) -> Self {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let mut described = json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "registration_endpoint": format!("{url}/register"),
            "revocation_endpoint": format!("{url}/revoke"),
            "code_challenge_methods_supported": ["S256"],
        });
        change(&mut described);
        let ledger = Arc::<Mutex<Ledger>>::default();
        let desk = Desk {
            ledger: ledger.clone(),
            described,
        };
        let app = Router::new()
            .route(
                "/.well-known/oauth-authorization-server",
                get(async |State(desk): State<Desk>| desk.described.to_string()),
            )
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/revoke", post(revoke))
            .with_state(desk);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, ledger }
    }

    fn done(&self) {
        assert_eq!(self.ledger.lock().expect("whole").faults, [] as [String; 0]);
    }
}

async fn register(body: String) -> Response {
    let wish: Value = serde_json::from_str(&body).expect("JSON");
    assert!(
        wish["redirect_uris"][0]
            .as_str()
            .is_some_and(|back| back.starts_with("http://127.0.0.1:")),
        "{wish}"
    );
    (StatusCode::CREATED, json!({"client_id": "client-1"}).to_string()).into_response()
}

async fn authorize(State(desk): State<Desk>, RawQuery(query): RawQuery) -> Redirect {
    let query = fields(&query.unwrap_or_default());
    let back = format!("{}?code=code-1&state={}", query["redirect_uri"], query["state"]);
    desk.ledger.lock().expect("whole").page = query;
    Redirect::to(&back)
}

async fn token(State(desk): State<Desk>, body: String) -> Response {
    let sent = fields(&body);
    let gate = desk.ledger.lock().expect("whole").gate.clone();
    if let Some(gate) = gate.filter(|_| sent["grant_type"] == "refresh_token") {
        gate.acquire().await.expect("open").forget();
    }
    let mut ledger = desk.ledger.lock().expect("whole");
    let asked = ledger.page.clone();
    let mut check = |what: &str, holds: bool| {
        if !holds {
            ledger.faults.push(format!("{what}: {sent:?}"));
        }
    };
    check("client", sent["client_id"] == "client-1");
    check(
        "resource",
        sent["resource"].ends_with("/mcp/") && sent["resource"] == asked["resource"],
    );
    match sent["grant_type"].as_str() {
        "authorization_code" => {
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(sent["code_verifier"].as_bytes()));
            check(
                "challenge",
                challenge == asked["code_challenge"] && asked["code_challenge_method"] == "S256",
            );
            check(
                "code",
                sent["code"] == "code-1" && sent["redirect_uri"] == asked["redirect_uri"],
            );
            check("scope", asked.get("scope").is_some_and(|scope| scope == "read"));
            json!({"access_token": FIRST, "refresh_token": REFRESH, "expires_in": 0})
                .to_string()
                .into_response()
        }
        "refresh_token" => {
            check("refresh", sent["refresh_token"] == REFRESH);
            if let Some(ill) = ledger.ill {
                return ill.into_response();
            }
            ledger.refreshed += 1;
            json!({"access_token": SECOND, "expires_in": 3600})
                .to_string()
                .into_response()
        }
        _ => StatusCode::BAD_REQUEST.into_response(),
    }
}

async fn revoke(State(desk): State<Desk>, body: String) -> StatusCode {
    desk.ledger
        .lock()
        .expect("whole")
        .revoked
        .push(fields(&body)["token"].clone());
    StatusCode::OK
}

async fn server(issuer: &Issuer) -> Web {
    Web::start(json!({"token": SECOND, "issuer": issuer.url, "tools": [reading("look")]})).await
}

fn table(web: &Web) -> String {
    format!("[mcp_servers.docs]\nurl = \"{}\"\ntrust_annotations = true\n", web.url)
}

/// Reads on until the server has said that it is so.
async fn status(stage: &Stage, status: &str) -> Value {
    loop {
        let (method, params) = stage.next().await;
        if method == "mcp/status" && params["status"] == status {
            return params;
        }
    }
}

async fn listed(stage: &Stage, thread: &str) -> (Value, usize) {
    let list = stage
        .client
        .call("countersign/mcp/list", json!({"threadId": thread}))
        .await;
    let server = &list["data"][0];
    (
        server["authStatus"].clone(),
        server["tools"].as_array().expect("a list").len(),
    )
}

fn offered(stage: &Stage) -> bool {
    stage.model.requests().last().expect("a request").body["tools"]
        .to_string()
        .contains("docs__look")
}

/// Shows S-292.
#[tokio::test]
async fn a_login_opens_the_tools_and_a_logout_closes_them() {
    let issuer = Issuer::start(|_| {}).await;
    let web = server(&issuer).await;
    let call = json!({"call": {"tool": "mcp__docs__look", "arguments": {}, "id": "c1"}});
    let setting = Setting {
        tables: table(&web),
        ..Setting::default()
    };
    let stage = Stage::with(json!([[say("one")], [call], [say("two")], [say("three")]]), setting).await;
    let thread = stage.thread().await;
    let failed = status(&stage, "failed").await;
    assert!(
        failed["error"]
            .as_str()
            .expect("words")
            .contains("countersign mcp login docs"),
        "{failed}"
    );
    assert_eq!(listed(&stage, &thread).await, (json!("notLoggedIn"), 0));
    for told in ["mcp/status", "error"] {
        stage.client.ignore(&format!("countersign/{told}"));
    }
    stage.complete(&thread, "Go").await;
    assert!(!offered(&stage));

    let params = json!({"server": "docs", "threadId": thread});
    let begun = stage.client.call("countersign/mcp/login", params.clone()).await;
    stage.client.heed("countersign/mcp/status");
    let (code, page) = browse(begun["url"].as_str().expect("an address"))
        .await
        .expect("a page");
    assert_eq!(code, 200, "{page}");
    let mut ready = false;
    let mut completed = false;
    while !(ready && completed) {
        let (method, params) = stage.next().await;
        completed |= method == "mcp/login/completed" && params == json!({"server": "docs", "success": true});
        ready |= method == "mcp/status" && params["status"] == "ready";
    }
    assert_eq!(listed(&stage, &thread).await, (json!("oAuth"), 1));
    stage.complete(&thread, "Go").await;
    assert!(offered(&stage));
    let output = stage.model.requests()[2].output("c1").expect("an output");
    assert!(!output.contains("error"), "{output}");

    // What is kept is the person's alone, and told to nobody.
    let kept = stage.client.home().join("private/.credentials.json");
    let text = std::fs::read_to_string(&kept).expect("the logins");
    assert!(text.contains(SECOND) && text.contains(REFRESH), "{text}");
    assert_eq!(
        std::fs::metadata(&kept).expect("there").permissions().mode() & 0o777,
        0o600
    );
    let log = std::fs::read_to_string(stage.client.home().join("log/countersign.log")).unwrap_or_default();
    for secret in [FIRST, SECOND, REFRESH] {
        assert!(!log.contains(secret), "{log}");
    }

    let forgotten = stage.client.call("countersign/mcp/logout", params.clone()).await;
    assert_eq!(forgotten, json!({"forgotten": true}));
    let failed = status(&stage, "failed").await;
    assert!(
        failed["error"].as_str().expect("words").contains("not signed in"),
        "{failed}"
    );
    assert_eq!(listed(&stage, &thread).await, (json!("notLoggedIn"), 0));
    stage.complete(&thread, "Go").await;
    assert!(!offered(&stage));
    assert!(!std::fs::read_to_string(&kept).expect("the logins").contains("token-"));
    assert_eq!(issuer.ledger.lock().expect("whole").revoked, [REFRESH]);
    let forgotten = stage.client.call("countersign/mcp/logout", params).await;
    assert_eq!(forgotten, json!({"forgotten": false}));
    issuer.done();
}

/// Logs in from a terminal with this command, by a browser: whether it went well, and all that it said after the address.
async fn log_in(mut command: Command) -> (bool, String) {
    let mut login = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut said = BufReader::new(login.stdout.take().expect("its words"));
    let mut url = String::new();
    while !url.starts_with("http") {
        url.clear();
        assert_ne!(said.read_line(&mut url).expect("a line"), 0, "it ended");
    }
    let (code, page) = browse(url.trim()).await.expect("a page");
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("text");
    let output = login.wait_with_output().expect("an end");
    rest.push_str(&String::from_utf8_lossy(&output.stderr));
    let good = output.status.success();
    assert_eq!(code == 200, good, "{page}\n{rest}");
    (good, rest)
}

/// The same from a terminal; the next start of the server has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_from_a_terminal_is_there_for_all() {
    let issuer = Issuer::start(|_| {}).await;
    let web = server(&issuer).await;
    let home = tempfile::tempdir().expect("a folder");
    std::fs::write(home.path().join("config.toml"), table(&web)).expect("written");
    let command = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command
            .arg("mcp")
            .args(words)
            .env_clear()
            .env("COUNTERSIGN_HOME", home.path());
        command
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
    };
    let run = |words: &[&str]| {
        let output = command(words).output().expect("the program");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(run(&["list"]).contains("countersign mcp login docs"));
    let (good, rest) = log_in(command(&["login", "docs"])).await;
    assert!(good && rest.contains("You are signed in"), "{rest}");
    assert_eq!(run(&["list"]), "docs: look\n");
    assert!(run(&["logout", "docs"]).contains("You are signed out"));
    assert!(run(&["list"]).contains("not signed in"));
    assert!(run(&["logout", "docs"]).contains("Nobody was signed in"));
    issuer.done();
}

/// Where there is a keyring it keeps the login, by default and from the first: renewed there, and in no file.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_kept_in_the_keyring_where_there_is_one() {
    let Some(mut keyring) = Keyring::start() else { return };
    let address = keyring.env();
    let issuer = Issuer::start(|_| {}).await;
    let web = server(&issuer).await;
    let home = tempfile::tempdir().expect("a folder");
    let run = |words: &[&str], settings: &str, with_keyring: bool| {
        std::fs::write(home.path().join("config.toml"), format!("{settings}{}", table(&web))).expect("written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.arg("mcp").args(words).env_clear();
        command.env("COUNTERSIGN_HOME", home.path()).current_dir(home.path());
        command.envs(address.iter().filter(|_| with_keyring).cloned());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let words = |mut command: Command| {
        let output = command.output().expect("the program");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    let file = home.path().join("private/.credentials.json");
    // Its first token is over at once, so what is used is the one that it was renewed to.
    assert!(log_in(run(&["login", "docs"], "", true)).await.0);
    assert_eq!(words(run(&["list"], "", true)), "docs: look\n");
    assert_eq!((file.exists(), keyring.count()), (false, 1));
    let renewed = issuer.ledger.lock().expect("whole").refreshed;
    assert_eq!(words(run(&["list"], "", true)), "docs: look\n");
    assert_eq!(issuer.ledger.lock().expect("whole").refreshed, renewed);
    // Without the keyring nobody is signed in, and where it is demanded that is told.
    assert!(words(run(&["list"], "", false)).contains("not signed in"));
    let demanded = "mcp_oauth_credentials_store = \"keyring\"\n";
    let said = words(run(&["list"], demanded, false));
    assert!(
        said.contains("no keyring answers (there is no session bus). Start one"),
        "{said}"
    );
    // A login in the file counts before it.
    let in_file = "mcp_oauth_credentials_store = \"file\"\n";
    assert!(log_in(run(&["login", "docs"], in_file, true)).await.0);
    assert_eq!((file.exists(), keyring.count()), (true, 1));
    keyring.lock();
    assert_eq!(words(run(&["list"], "", true)), "docs: look\n");
    std::fs::remove_file(&file).expect("a file");
    // Most servers need no login, so one that cannot be read keeps none from starting unless it is demanded.
    assert!(words(run(&["list"], "", true)).contains("not signed in"));
    let said = words(run(&["list"], demanded, true));
    assert!(said.contains("it is locked. Unlock it"), "{said}");
    let said = words(run(&["logout", "docs"], "", true));
    assert!(said.contains("it is locked. Unlock it"), "{said}");
    // A login is not lost for a locked keyring, unless that is demanded.
    let (good, said) = log_in(run(&["login", "docs"], demanded, true)).await;
    assert!(!good && said.contains("it is locked. Unlock it"), "{said}");
    assert!(!file.exists());
    assert!(log_in(run(&["login", "docs"], "", true)).await.0);
    assert!(file.exists());
    // A logout forgets both.
    keyring.unlock();
    assert_eq!((file.exists(), keyring.count()), (true, 1));
    let said = words(run(&["logout", "docs"], "", true));
    assert!(said.contains("You are signed out"), "{said}");
    assert_eq!(keyring.count(), 0);
    assert!(words(run(&["list"], "", true)).contains("not signed in"));
    issuer.done();
}

/// What lies in the file is renewed and forgotten there, also where there is a keyring.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_in_the_file_stays_there_until_its_end() {
    let Some(keyring) = Keyring::start() else { return };
    let issuer = Issuer::start(|_| {}).await;
    let web = server(&issuer).await;
    let home = tempfile::tempdir().expect("a folder");
    let kept = kept(home.path(), &web, &issuer);
    issuer.ledger.lock().expect("whole").page = fields(&format!("resource={}", web.url));
    std::fs::write(home.path().join("config.toml"), table(&web)).expect("written");
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.arg("mcp").args(words).env_clear();
        command.env("COUNTERSIGN_HOME", home.path()).current_dir(home.path());
        let output = command
            .envs(keyring.env())
            .stdin(Stdio::null())
            .output()
            .expect("the program");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
    };
    assert_eq!(run(&["list"]), "docs: look\n");
    assert!(kept.exists());
    assert_eq!(keyring.count(), 0, "what is in the file is renewed there");
    let said = run(&["logout", "docs"]);
    assert!(said.contains("You are signed out"), "{said}");
    assert!(!std::fs::read_to_string(&kept).unwrap_or_default().contains(REFRESH));
    assert!(run(&["list"]).contains("not signed in"));
    issuer.done();
}

#[tokio::test]
async fn what_is_no_place_to_log_in_to_is_said() {
    let other = |part: &str, value: Value| {
        let part = part.to_owned();
        move |described: &mut Value| described[part.as_str()] = value
    };
    let plain = Issuer::start(|_| {}).await;
    let unknown = Issuer::start(other("registration_endpoint", Value::Null)).await;
    let without_pkce = Issuer::start(other("code_challenge_methods_supported", json!(["plain"]))).await;
    let silent = Issuer::start(other("code_challenge_methods_supported", Value::Null)).await;
    let nameless = Issuer::start(other("issuer", Value::Null)).await;
    let open = Issuer::start(other("authorization_endpoint", json!("http://other.example/authorize"))).await;
    let foreign = Issuer::start(other("issuer", json!("http://other.example"))).await;
    let mut tables = String::new();
    let mut webs = Vec::new();
    for (name, issuer) in [
        ("unknown", &unknown.url),
        ("pkce", &without_pkce.url),
        ("silent", &silent.url),
        ("nameless", &nameless.url),
        ("open", &open.url),
        ("foreign", &foreign.url),
    ] {
        let web = Web::start(json!({"token": SECOND, "issuer": issuer, "tools": []})).await;
        tables.push_str(&format!(
            "[mcp_servers.{name}]\nurl = \"{}\"\ntrust_annotations = true\n",
            web.url
        ));
        webs.push(web);
    }
    let bare = Web::start(json!({"token": SECOND, "tools": []})).await;
    tables.push_str(&format!("[mcp_servers.bare]\nurl = \"{}\"\n", bare.url));
    tables.push_str(&format!(
        "[mcp_servers.variable]\nurl = \"{}\"\nbearer_token_env_var = \"T\"\n",
        bare.url
    ));
    tables.push_str("[mcp_servers.program]\ncommand = \"true\"\n");
    let setting = Setting {
        tables,
        ..Setting::default()
    };
    let stage = Stage::with(json!([]), setting).await;
    for (server, words) in [
        ("unknown", "client_id"),
        ("pkce", "PKCE"),
        ("silent", "PKCE"),
        ("nameless", "another authorization server"),
        ("open", "https://"),
        ("foreign", "another authorization server"),
        ("bare", "no authorization server"),
        ("variable", "bearer_token_env_var"),
        ("program", "`env`"),
        ("nobody", "There are: bare"),
    ] {
        let params = json!({ "server": server });
        let error = stage.client.request("countersign/mcp/login", params).await.unwrap_err();
        assert!(error.message.contains(words), "{server}: {error:?}");
    }
    plain.done();
}

/// A login that has run out, as an earlier session kept it.
fn kept(home: &std::path::Path, web: &Web, issuer: &Issuer) -> std::path::PathBuf {
    let folder = home.join("private");
    std::fs::create_dir_all(&folder).expect("a folder");
    let login = json!({
        "url": web.url, "token_endpoint": format!("{}/token", issuer.url), "resource": web.url,
        "client_id": "client-1", "access_token": FIRST, "refresh_token": REFRESH, "expires_at": 1,
    });
    let path = folder.join(".credentials.json");
    std::fs::write(&path, json!({"logins": {"docs": login}}).to_string()).expect("written");
    path
}

fn list(home: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(["mcp", "list"]).env_clear();
    command.env("COUNTERSIGN_HOME", home).current_dir(home);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Programs that share a home folder renew a token once: the second waits for the first, and takes what that got.
#[tokio::test(flavor = "multi_thread")]
async fn programs_side_by_side_renew_a_login_once() {
    let issuer = Issuer::start(|_| {}).await;
    let web = server(&issuer).await;
    let home = tempfile::tempdir().expect("a folder");
    std::fs::write(home.path().join("config.toml"), table(&web)).expect("written");
    let path = kept(home.path(), &web, &issuer);
    issuer.ledger.lock().expect("whole").page = fields(&format!("resource={}", web.url));
    // Nobody is answered before all could have asked.
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    issuer.ledger.lock().expect("whole").gate = Some(gate.clone());
    let lists: Vec<_> = (0..3)
        .map(|_| list(home.path()).spawn().expect("the program"))
        .collect();
    let lock = home.path().join("private/.credentials.lock");
    // Each program has the lock's file open while it renews, or waits for the one that does.
    let waiting = || {
        let open = |child: &std::process::Child| {
            let files = std::fs::read_dir(format!("/proc/{}/fd", child.id()))
                .into_iter()
                .flatten();
            let mut links = files.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
            links.any(|link| link == lock.canonicalize().unwrap_or_default())
        };
        lists.iter().all(open)
    };
    super::stage::eventually("all want to renew", waiting).await;
    gate.add_permits(100);
    for list in lists {
        let output = list.wait_with_output().expect("an end");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(said, "docs: look\n", "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(issuer.ledger.lock().expect("whole").refreshed, 1);
    assert!(std::fs::read_to_string(path).expect("the logins").contains(SECOND));
    issuer.done();
}

/// What passes is no logout: the login stays as it is, and is renewed when the authorization server is well again. What the
/// server says for good ends it, and the person is told to sign in.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_passes_keeps_the_login() {
    let issuer = Issuer::start(|_| {}).await;
    let web = server(&issuer).await;
    let home = tempfile::tempdir().expect("a folder");
    std::fs::write(home.path().join("config.toml"), table(&web)).expect("written");
    let path = kept(home.path(), &web, &issuer);
    issuer.ledger.lock().expect("whole").page = fields(&format!("resource={}", web.url));
    let before = std::fs::read_to_string(&path).expect("the logins");
    let run = || {
        let output = list(home.path()).output().expect("the program");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    for ill in [
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::INTERNAL_SERVER_ERROR,
    ] {
        issuer.ledger.lock().expect("whole").ill = Some((ill, ""));
        let said = run();
        assert!(
            said.contains("was not renewed") && !said.contains("docs: look"),
            "{ill}: {said}"
        );
        assert_eq!(std::fs::read_to_string(&path).expect("the logins"), before, "{ill}");
    }
    issuer.ledger.lock().expect("whole").ill = Some((StatusCode::BAD_REQUEST, "{\"error\": \"invalid_grant\"}"));
    let said = run();
    assert!(said.contains("countersign mcp login docs"), "{said}");
    issuer.ledger.lock().expect("whole").ill = None;
    assert_eq!(run(), "docs: look\n");
    assert!(std::fs::read_to_string(&path).expect("the logins").contains(SECOND));
    issuer.done();
}

/// Whoever begins a login anew has given up the one before: that ends, says so, and its page leads nowhere.
#[tokio::test]
async fn a_login_that_is_begun_again_ends_the_one_before() {
    let issuer = Issuer::start(|_| {}).await;
    let web = server(&issuer).await;
    let setting = Setting {
        tables: table(&web),
        ..Setting::default()
    };
    let stage = Stage::with(json!([]), setting).await;
    for told in ["mcp/status", "error"] {
        stage.client.ignore(&format!("countersign/{told}"));
    }
    let begin = async || {
        let begun = stage
            .client
            .call("countersign/mcp/login", json!({"server": "docs"}))
            .await;
        begun["url"].as_str().expect("an address").to_owned()
    };
    let ended = async || {
        let told = stage
            .client
            .expect_notification("countersign/mcp/login/completed")
            .await;
        (
            told["success"] == true,
            told["error"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let abandoned = begin().await;
    let second = begin().await;
    let (success, why) = ended().await;
    assert!(!success && !why.is_empty(), "{why}");
    let late = browse(&abandoned).await;
    assert!(
        late.is_err() || late.is_ok_and(|(status, _)| status >= 400),
        "nobody waits there"
    );
    let path = stage.client.home().join("private/.credentials.json");
    assert!(!path.exists(), "nothing is kept of it");
    let (code, page) = browse(&second).await.expect("a page");
    assert_eq!(code, 200, "{page}");
    assert!(ended().await.0);
    assert!(std::fs::read_to_string(&path).expect("the logins").contains(REFRESH));
    issuer.done();
}
