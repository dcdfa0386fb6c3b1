//! What the tests of accounts play on.

use crate::support::authority::Authority;
use crate::support::client::{Caps, Client, RpcError, ServerOptions};
use countersign::protocol::event::EVENTS;
use countersign::rehearsal::{Running, Script, Server};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

pub(super) const COMPLETED: &str = "countersign/account/login/completed";
pub(super) const UPDATED: &str = "countersign/account/updated";

/// What is different from the usual.
#[derive(Default)]
pub(super) struct Setting {
    /// Lines of `config.toml` above its tables.
    pub(super) top: String,
    /// Lines of the provider's table.
    pub(super) provider: String,
    /// Lines of `[login]`.
    pub(super) login: String,
    pub(super) env: Vec<(String, String)>,
    pub(super) script: Option<Value>,
    /// Text of `auth.json` before the server starts.
    pub(super) stored: Option<String>,
    /// The account is signed in already.
    pub(super) logged_in: bool,
    pub(super) caps: Option<Caps>,
    pub(super) args: Vec<String>,
}

/// The client is dropped first, and ends the server in order.
pub(super) struct Scene {
    pub(super) client: Client,
    pub(super) model: Running,
    pub(super) authority: Authority,
    pub(super) home: PathBuf,
    pub(super) dir: PathBuf,
    pub(super) _folder: TempDir,
}

pub(super) fn say(text: &str) -> Value {
    json!([{"say": text}])
}

impl Scene {
    pub(super) async fn new() -> Self {
        Self::with(Setting::default()).await
    }

    pub(super) async fn with(setting: Setting) -> Self {
        Self::after(setting, |_, _| {}).await
    }

    /// The same, with something done to the authorization server and to what it has put into the home folder before the
    /// model and the server start; it may change the script.
    pub(super) async fn after(mut setting: Setting, prepare: impl FnOnce(&Authority, &mut Setting)) -> Self {
        // Not in the temporary folder, which commands may write.
        let folder = tempfile::Builder::new()
            .prefix("account")
            .tempdir_in("/var/tmp")
            .expect("a temporary folder");
        let root = folder.path().canonicalize().expect("a path");
        let (home, dir) = (root.join("home"), root.join("work"));
        std::fs::create_dir_all(&dir).expect("a workspace");
        std::fs::create_dir_all(&home).expect("a home folder");
        let authority = Authority::start().await;
        if let Some(text) = &setting.stored {
            std::fs::write(home.join("auth.json"), text).expect("a file");
        }
        if setting.logged_in {
            authority.put_into(&home);
        }
        prepare(&authority, &mut setting);
        let script = setting.script.unwrap_or_else(|| json!([say("Hello.")]));
        let script = Script::from_json(&script).unwrap_or_else(|error| panic!("{error}"));
        let model = Server::start(script, ([127, 0, 0, 1], 0).into())
            .await
            .expect("a free port");
        let provider = match setting.provider.as_str() {
            "" => "requires_openai_auth = true",
            lines => lines,
        };
        let config = format!(
            "model = \"rehearsal\"\nmodel_provider = \"acme\"\n{}\n[model_providers.acme]\nname = \"Acme\"\nbase_url = \"{}\"\n\
             request_max_retries = 1\nstream_max_retries = 1\n{provider}\n{}",
            setting.top,
            model.base_url,
            authority.config(&setting.login),
        );
        let client = Client::start(ServerOptions {
            caps: setting
                .caps
                .unwrap_or_else(|| Caps::Own(json!({"experimental": {"countersign": {}}}))),
            roots: vec![dir.clone()],
            home: Some(home.clone()),
            config: Some(config),
            env: setting.env,
            args: setting.args,
            ..ServerOptions::default()
        })
        .await;
        for (method, _, _) in EVENTS {
            client.ignore(method);
        }
        Self {
            client,
            model,
            authority,
            home,
            dir,
            _folder: folder,
        }
    }

    pub(super) async fn call(&self, method: &str, params: Value) -> Value {
        self.client.call(&format!("countersign/account/{method}"), params).await
    }

    /// A request that must fail: its code and kind, with the message.
    pub(super) async fn fails(&self, method: &str, params: Value) -> (i64, String, String) {
        let answer = self
            .client
            .request(&format!("countersign/account/{method}"), params)
            .await;
        let RpcError { code, message, data } = answer.expect_err("refused");
        (code, data["kind"].as_str().unwrap_or_default().to_owned(), message)
    }

    /// Begins a login in the browser: its id and the page.
    pub(super) async fn browser(&self) -> (String, String) {
        let begun = self.call("login/start", json!({"type": "browser"})).await;
        let text = |name: &str| begun[name].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
        (text("loginId"), text("authUrl"))
    }

    pub(super) async fn completed(&self) -> Value {
        self.client.expect_notification(COMPLETED).await
    }

    pub(super) async fn updated(&self) -> Value {
        self.client.expect_notification(UPDATED).await
    }

    /// Logs in with the whole of a browser's way.
    pub(super) async fn log_in(&self) {
        let (_, page) = self.browser().await;
        let (status, text) = crate::support::authority::browse(&page).await.expect("a page");
        assert_eq!(status, 200, "{text}");
        assert_eq!(self.completed().await["success"], true);
        self.updated().await;
    }

    pub(super) async fn thread(&self) -> String {
        let started = self
            .client
            .call("countersign/thread/start", json!({"settings": {"cwd": self.dir}}))
            .await;
        started["thread"]["id"].as_str().expect("an id").to_owned()
    }

    /// A turn to its end: what `turn/completed` says of it.
    pub(super) async fn turn(&self, thread: &str) -> Value {
        const DONE: &str = "countersign/turn/completed";
        self.client.heed(DONE);
        let input = json!({"threadId": thread, "input": [{"type": "text", "text": "Hi"}]});
        self.client.call("countersign/turn/start", input).await;
        let of_thread = |params: &Value| params["threadId"] == *thread;
        self.client.expect_notification_where(DONE, of_thread).await["turn"].take()
    }

    /// The `authorization` headers that the model got.
    pub(super) fn sent(&self) -> Vec<String> {
        let requests = self.model.requests();
        let sent = requests.iter().map(|request| request.headers.get("authorization"));
        sent.map(|header| header.cloned().unwrap_or_default()).collect()
    }

    /// Where what is signed in with is kept.
    pub(super) fn file(&self) -> PathBuf {
        self.home.join("private/auth.json")
    }

    /// What is kept; of both places, the one that counts.
    pub(super) fn stored(&self) -> Option<Value> {
        let text = std::fs::read(self.home.join("auth.json")).or_else(|_| std::fs::read(self.file()));
        let text = text.ok()?;
        Some(serde_json::from_slice(&text).expect("JSON"))
    }

    /// Ends when this access token is what is kept.
    pub(super) async fn kept(&self, access: &str) {
        let read = || -> Option<Value> { serde_json::from_slice(&std::fs::read(self.file()).ok()?).ok() };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !read().is_some_and(|file| file["tokens"]["access_token"] == *access) {
            assert!(std::time::Instant::now() < deadline, "it is not kept: {:?}", read());
            tokio::task::yield_now().await;
        }
    }

    /// The last messages that came, answers among them, from the first with this name on.
    pub(super) fn trace_of_account(&self) -> Vec<String> {
        let seen = self.client.trace().into_iter();
        seen.filter(|name| name.starts_with("answer") || name.contains("/account/"))
            .collect()
    }
}

/// Ends when nothing of ours answers there any more.
pub(super) async fn closed(callback: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while let Ok((_, text)) = crate::support::authority::browse(callback).await
        && text.contains("Countersign")
    {
        assert!(std::time::Instant::now() < deadline, "{callback} is still open");
    }
}

/// Where the browser is sent back to by this page.
pub(super) fn back(page: &str) -> (String, String) {
    let url = url::Url::parse(page).expect("an address");
    let find = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.into_owned())
            .unwrap_or_else(|| panic!("no {name} in {page}"))
    };
    (find("redirect_uri"), find("state"))
}
