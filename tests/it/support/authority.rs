//! An authorization server on this machine, with the account's service beside it: it checks what it is sent as a real one
//! does, gives out each code and each refresh token once, counts, and can be told to misbehave.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::form_urlencoded;

/// How an endpoint answers.
#[derive(Clone, Debug, Default)]
pub(crate) enum Manner {
    #[default]
    Well,
    Html,
    /// This status and body.
    Says(u16, Value),
    /// Not at all, until it is told otherwise.
    Silent,
}

#[derive(Default)]
struct Ledger {
    /// Codes that wait to be changed for tokens: challenge and address to come back to.
    codes: BTreeMap<String, (String, String)>,
    /// The one refresh token that holds.
    refresh: Option<String>,
    /// The one access token that holds.
    access: Option<String>,
    /// Codes of devices: typed or not.
    devices: BTreeMap<String, bool>,
    revoked: Vec<String>,
    /// How often each endpoint was asked.
    asked: BTreeMap<&'static str, usize>,
    manners: BTreeMap<&'static str, Manner>,
    /// Queries that came to the page.
    pages: Vec<BTreeMap<String, String>>,
    number: usize,
    /// What is wrong with what came, if anything.
    faults: Vec<String>,
    /// Everything that must show nowhere.
    secrets: Vec<String>,
    /// Seconds that access tokens hold.
    lasts: i64,
    workspace: String,
}

struct Shared {
    ledger: Mutex<Ledger>,
    changed: watch::Sender<()>,
}

pub(crate) struct Authority {
    pub(crate) url: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

type At = State<Arc<Shared>>;

impl Authority {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let ledger = Ledger {
            lasts: 3600,
            workspace: "workspace-1".to_owned(),
            ..Ledger::default()
        };
        let shared = Arc::new(Shared {
            ledger: Mutex::new(ledger),
            changed: watch::Sender::new(()),
        });
        let app = Router::new()
            .route("/oauth/authorize", get(authorize))
            .route("/oauth/token", post(token))
            .route("/oauth/device/code", post(device))
            .route("/oauth/revoke", post(revoke))
            .route("/usage", get(usage))
            .with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self { url, shared, serving }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.shared.ledger.lock().expect("no panic while it is held")
    }

    /// The lines of `config.toml` that name it; they end with a table.
    pub(crate) fn config(&self, more: &str) -> String {
        format!(
            "[login]\nissuer = \"{}\"\nclient_id = \"countersign-test\"\nusage_endpoint = \"{}/usage\"\n{more}\n",
            self.url, self.url
        )
    }

    pub(crate) fn behave(&self, endpoint: &'static str, manner: Manner) {
        self.ledger().manners.insert(endpoint, manner);
        self.shared.changed.send_replace(());
    }

    pub(crate) fn asked(&self, endpoint: &'static str) -> usize {
        self.ledger().asked.get(endpoint).copied().unwrap_or(0)
    }

    /// Ends when an endpoint has been asked so often.
    pub(crate) async fn asked_times(&self, endpoint: &'static str, times: usize) {
        let mut changed = self.shared.changed.subscribe();
        let enough = changed.wait_for(|()| self.asked(endpoint) >= times);
        let enough = tokio::time::timeout(std::time::Duration::from_secs(30), enough).await;
        drop(enough.unwrap_or_else(|_| panic!("{endpoint} was not asked {times} times")));
    }

    pub(crate) fn lasts(&self, seconds: i64) {
        self.ledger().lasts = seconds;
    }

    pub(crate) fn workspace(&self, id: &str) {
        self.ledger().workspace = id.to_owned();
    }

    /// Somebody has typed the code that is shown to the person.
    pub(crate) fn type_code(&self, code: &str) {
        *self.ledger().devices.get_mut(code).expect("a code that was given out") = true;
    }

    pub(crate) fn revoked(&self) -> Vec<String> {
        self.ledger().revoked.clone()
    }

    /// Queries that browsers came with.
    pub(crate) fn pages(&self) -> Vec<BTreeMap<String, String>> {
        self.ledger().pages.clone()
    }

    pub(crate) fn access(&self) -> String {
        self.ledger().access.clone().expect("somebody is signed in")
    }

    pub(crate) fn secrets(&self) -> Vec<String> {
        self.ledger().secrets.clone()
    }

    /// The access token that is out holds no longer.
    pub(crate) fn spoil(&self) {
        self.ledger().access = Some("spoiled".to_owned());
    }

    /// Logs in without a browser: a home folder gets tokens that hold.
    pub(crate) fn put_into(&self, home: &Path) {
        let tokens = self.ledger().tokens();
        let folder = home.join("private");
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = json!({"OPENAI_API_KEY": null, "tokens": {
            "id_token": tokens["id_token"], "access_token": tokens["access_token"],
            "refresh_token": tokens["refresh_token"], "account_id": "workspace-1",
        }});
        std::fs::write(folder.join("auth.json"), file.to_string()).expect("a file");
    }

    /// It is gone; its port refuses.
    pub(crate) async fn stop(&mut self) {
        self.serving.abort();
        let _aborted = (&mut self.serving).await;
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.serving.abort();
        if !std::thread::panicking() {
            assert_eq!(self.ledger().faults, [""; 0]);
        }
    }
}

impl Ledger {
    fn secret(&mut self, kind: &str) -> String {
        self.number += 1;
        let secret = format!("{kind}-{}-{}", self.number, uuid::Uuid::now_v7().simple());
        self.secrets.push(secret.clone());
        secret
    }

    fn tokens(&mut self) -> Value {
        let runs_out = jiff::Timestamp::now().as_second() + self.lasts;
        let token = |claims: Value| format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let unique = self.secret("at");
        let access = token(json!({"exp": runs_out, "jti": unique}));
        let id = token(json!({
            "email": "ada@example.org",
            "jti": self.secret("id"),
            "https://api.openai.com/auth": {"chatgpt_plan_type": "plus", "chatgpt_account_id": self.workspace},
        }));
        let refresh = self.secret("rt");
        self.secrets.extend([access.clone(), id.clone()]);
        self.access = Some(access.clone());
        self.refresh = Some(refresh.clone());
        json!({"access_token": access, "id_token": id, "refresh_token": refresh, "token_type": "Bearer"})
    }
}

impl Shared {
    /// Counts, and answers in place of the endpoint where it is to misbehave.
    async fn enter(&self, endpoint: &'static str) -> Option<Response> {
        let manner = {
            let mut ledger = self.ledger.lock().expect("no panic while it is held");
            *ledger.asked.entry(endpoint).or_default() += 1;
            ledger.manners.get(endpoint).cloned().unwrap_or_default()
        };
        self.changed.send_replace(());
        match manner {
            Manner::Well => None,
            Manner::Html => {
                let kind = [(header::CONTENT_TYPE, "text/html")];
                Some((kind, "<!doctype html><p>Welcome to the guest network</p>").into_response())
            }
            Manner::Says(status, body) => {
                let status = StatusCode::from_u16(status).expect("a status");
                Some((status, axum::Json(body)).into_response())
            }
            Manner::Silent => {
                let mut changed = self.changed.subscribe();
                let _told = changed
                    .wait_for(|()| {
                        let ledger = self.ledger.lock().expect("no panic while it is held");
                        !matches!(ledger.manners.get(endpoint), Some(Manner::Silent))
                    })
                    .await;
                None
            }
        }
    }
}

async fn authorize(State(shared): At, uri: Uri) -> Response {
    let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let query: BTreeMap<String, String> = query.into_owned().collect();
    if let Some(answer) = shared.enter("authorize").await {
        return answer;
    }
    let mut ledger = shared.ledger.lock().expect("no panic while it is held");
    ledger.pages.push(query.clone());
    let get = |name: &str| query.get(name).cloned().unwrap_or_default();
    let wanted = [
        ("response_type", "code"),
        ("client_id", "countersign-test"),
        ("code_challenge_method", "S256"),
    ];
    for (name, value) in wanted {
        if get(name) != value {
            ledger.faults.push(format!("{name} is {:?}", get(name)));
        }
    }
    if get("state").len() < 32 || get("code_challenge").len() != 43 {
        ledger.faults.push("state or challenge are too short".to_owned());
    }
    let code = ledger.secret("code");
    ledger
        .codes
        .insert(code.clone(), (get("code_challenge"), get("redirect_uri")));
    let back = form_urlencoded::Serializer::new(String::new())
        .append_pair("code", &code)
        .append_pair("state", &get("state"))
        .finish();
    let location = format!("{}?{back}", get("redirect_uri"));
    (StatusCode::FOUND, [(header::LOCATION, location)]).into_response()
}

fn refused(code: &str) -> Response {
    (
        StatusCode::BAD_REQUEST,
        axum::Json(json!({"error": code, "error_description": "So it is."})),
    )
        .into_response()
}

async fn token(State(shared): At, body: Bytes) -> Response {
    let form: BTreeMap<String, String> = form_urlencoded::parse(&body).into_owned().collect();
    let get = |name: &str| form.get(name).cloned().unwrap_or_default();
    let endpoint = match get("grant_type").as_str() {
        "authorization_code" => "exchange",
        "refresh_token" => "refresh",
        _ => "poll",
    };
    if let Some(answer) = shared.enter(endpoint).await {
        return answer;
    }
    let mut ledger = shared.ledger.lock().expect("no panic while it is held");
    if get("client_id") != "countersign-test" {
        return refused("invalid_client");
    }
    match endpoint {
        "exchange" => {
            let Some((challenge, back)) = ledger.codes.remove(&get("code")) else {
                return refused("invalid_grant");
            };
            let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(get("code_verifier")));
            ledger.secrets.push(get("code_verifier"));
            if proof != challenge || back != get("redirect_uri") {
                return refused("invalid_grant");
            }
        }
        "refresh" => {
            if ledger.refresh.as_deref() != Some(&get("refresh_token")) {
                ledger.faults.push("a refresh token was used twice".to_owned());
                return refused("invalid_grant");
            }
        }
        _ => {
            let typed = ledger
                .devices
                .get(&get("device_code").replace("device-", "CODE-"))
                .copied();
            match typed {
                Some(true) => {}
                Some(false) => return refused("authorization_pending"),
                None => return refused("expired_token"),
            }
        }
    }
    axum::Json(ledger.tokens()).into_response()
}

async fn device(State(shared): At, _body: Bytes) -> Response {
    if let Some(answer) = shared.enter("device").await {
        return answer;
    }
    let mut ledger = shared.ledger.lock().expect("no panic while it is held");
    ledger.number += 1;
    let (code, user_code) = (format!("device-{}", ledger.number), format!("CODE-{}", ledger.number));
    ledger.devices.insert(user_code.clone(), false);
    axum::Json(json!({
        "device_code": code, "user_code": user_code, "verification_uri": "https://login.example.org/device",
        "expires_in": 900, "interval": 0,
    }))
    .into_response()
}

async fn revoke(State(shared): At, body: Bytes) -> Response {
    if let Some(answer) = shared.enter("revoke").await {
        return answer;
    }
    let form: BTreeMap<String, String> = form_urlencoded::parse(&body).into_owned().collect();
    let mut ledger = shared.ledger.lock().expect("no panic while it is held");
    ledger.revoked.push(form.get("token").cloned().unwrap_or_default());
    StatusCode::OK.into_response()
}

async fn usage(State(shared): At, headers: HeaderMap) -> Response {
    if let Some(answer) = shared.enter("usage").await {
        return answer;
    }
    let ledger = shared.ledger.lock().expect("no panic while it is held");
    let sent = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let wanted = format!("Bearer {}", ledger.access.as_deref().unwrap_or("nobody"));
    if sent != wanted || headers.get("chatgpt-account-id").is_none_or(|id| id != "workspace-1") {
        return (
            StatusCode::UNAUTHORIZED,
            axum::Json(json!({"error": {"message": "no"}})),
        )
            .into_response();
    }
    axum::Json(json!({
        "plan_type": "plus",
        "rate_limit": {"primary_window": {"used_percent": 42, "limit_window_seconds": 18000, "reset_at": 1_900_000_000}},
    }))
    .into_response()
}

/// A browser without a person: it goes where it is sent, and gives the status and the text of the last page.
pub(crate) async fn browse(url: &str) -> Result<(u16, String), String> {
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let browser = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .build()
        .expect("a browser");
    let answer = browser.get(url).send().await.map_err(|error| error.to_string())?;
    let status = answer.status().as_u16();
    Ok((status, answer.text().await.map_err(|error| error.to_string())?))
}
