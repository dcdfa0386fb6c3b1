//! One configured server: started when it is first wanted, shared, started again when it was lost, ended with the last who
//! holds it.

use super::connection::{Connection, RequestError};
use super::failure::{StartError, shown_name};
use super::launch::Launch;
use super::logins::{Logins, NoToken, Token};
use super::masks::Masks;
use super::seen;
use super::tool::ToolInfo;
use crate::config::mcp::{ServerSettings, Transport};
use crate::protocol::mcp::{McpAuthStatus, McpServerStatus};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Pages of a list that are asked for; a server that goes on for ever is stopped here.
const MOST_PAGES: usize = 64;
/// Cursors that are remembered as given by a server.
const MOST_CURSORS: usize = 256;
/// Until the tools are listed again of which a server says that they changed: at first, and at most for one that says so all the
/// time.
const FIRST_LIST: Duration = Duration::from_millis(50);
const LONGEST_LIST: Duration = Duration::from_secs(30);
/// Tools of one server.
const MOST_TOOLS: usize = 512;
/// A server that ran this long has made good for the times it failed.
const LONG_ENOUGH: Duration = Duration::from_secs(60);
/// The longest that a lost server is left alone.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How much of that a call waits for; else it fails at once.
const PATIENCE: Duration = Duration::from_secs(5);
/// Until a token that could not be renewed is asked for again: at first, and at most.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LONGEST_RETRY: Duration = Duration::from_secs(120);
/// How often it is looked whether the calls of a connection that was replaced are done.
const RETIRE_PAUSE: Duration = Duration::from_millis(250);

/// How a server is, with the reason where it is not well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub status: McpServerStatus,
    /// For the person: a whole message, with advice.
    pub problem: Option<Arc<str>>,
}

pub struct Server {
    pub name: String,
    pub settings: ServerSettings,
    pub(super) launch: Launch,
    state: watch::Sender<State>,
    inner: Mutex<Inner>,
    /// What runs to its end whatever becomes of those who began it.
    tasks: TaskTracker,
    /// The end of all servers.
    end: CancellationToken,
    logins: Logins,
}

#[derive(Default)]
struct Inner {
    connection: Option<Arc<Connection>>,
    tools: Arc<[Arc<ToolInfo>]>,
    has_resources: bool,
    /// Counts the openings: one that another has followed changes nothing any more.
    generation: u64,
    /// It wanted a login.
    refused_us: bool,
    /// The person is signed in to it.
    is_logged_in: bool,
    /// How often it was lost, or did not start, without having run for long.
    failures: u32,
    /// Not to be started before.
    not_before: Option<Instant>,
    /// Cursors that it gave last.
    cursors: VecDeque<String>,
    ready_since: Option<Instant>,
}

/// Why a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UseError {
    #[error("{0}")]
    NotThere(Arc<str>),
    #[error("The MCP server {server} was lost {failures} times in a short time, and is left alone for {} seconds more.", wait.as_secs().max(1))]
    LeftAlone {
        server: String,
        failures: u32,
        wait: Duration,
    },
    #[error("The MCP server {0} is stopped.")]
    Stopped(String),
    #[error("The MCP server {server} failed: {error}.")]
    Failed { server: String, error: RequestError },
}

impl Server {
    pub(super) fn new(
        name: String,
        settings: ServerSettings,
        launch: Launch,
        tasks: TaskTracker,
        end: CancellationToken,
        logins: Logins,
    ) -> Self {
        let state = State {
            status: McpServerStatus::Stopped,
            problem: None,
        };
        Self {
            name,
            settings,
            launch,
            state: watch::Sender::new(state),
            inner: Mutex::default(),
            tasks,
            end,
            logins,
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Tells of each change from now on, without keeping the server.
    pub fn watch(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// The tools that are offered, as the server listed them last: also of one that was lost.
    pub fn tools(&self) -> Vec<Arc<ToolInfo>> {
        let tools = self.inner().tools.clone();
        tools
            .iter()
            .filter(|tool| self.settings.offers(&tool.name))
            .cloned()
            .collect()
    }

    /// A tool as the server describes it now, if it is offered.
    pub fn tool(&self, name: &str) -> Option<Arc<ToolInfo>> {
        let tools = self.inner().tools.clone();
        let mut named = tools.iter().filter(|tool| tool.name == name);
        named.find(|tool| self.settings.offers(&tool.name)).cloned()
    }

    /// Whether it said that it has resources.
    pub fn has_resources(&self) -> bool {
        self.inner().has_resources
    }

    pub fn auth_status(&self) -> McpAuthStatus {
        match &self.settings.transport {
            _ if self.inner().refused_us => McpAuthStatus::NotLoggedIn,
            Transport::Http {
                bearer_token_env_var: Some(_),
                ..
            } => McpAuthStatus::BearerToken,
            Transport::Http { .. } if self.inner().is_logged_in => McpAuthStatus::OAuth,
            _ => McpAuthStatus::Unsupported,
        }
    }

    /// Starts it in the background, unless it runs or starts already.
    pub fn start(self: &Arc<Self>) {
        let mut inner = self.inner();
        let begins = self.state.send_if_modified(|state| {
            let begins =
                !self.end.is_cancelled() && !matches!(state.status, McpServerStatus::Starting | McpServerStatus::Ready);
            if begins {
                *state = State {
                    status: McpServerStatus::Starting,
                    problem: None,
                };
            }
            begins
        });
        inner.generation += u64::from(begins);
        let generation = inner.generation;
        drop(inner);
        if begins {
            let server = self.clone();
            self.tasks.spawn(async move {
                tokio::select! {
                    biased;
                    () = server.end.cancelled() => {}
                    () = server.open(generation) => {}
                }
                // It may have opened at the very moment when all were told to end.
                if server.end.is_cancelled() {
                    server.end_now();
                    server.set(McpServerStatus::Stopped, None);
                }
            });
        }
    }

    /// Ends when it is started, or is known not to start.
    pub async fn started(&self) -> State {
        let mut watch = self.state.subscribe();
        let settled = watch.wait_for(|state| state.status != McpServerStatus::Starting).await;
        settled.map_or_else(|_| self.state(), |state| state.clone())
    }

    fn set(&self, status: McpServerStatus, problem: Option<String>) {
        let problem = problem.map(Arc::from);
        self.state.send_replace(State { status, problem });
    }

    /// What it is asked with, where that comes of a login.
    async fn token(&self) -> Result<Option<Token>, NoToken> {
        match self.settings.url() {
            Some(url) if !self.settings.has_token() => {
                let store = self.settings.login.store;
                self.logins.token(&self.name, url, store, &self.settings.network).await
            }
            _ => Ok(None),
        }
    }

    /// Whether the files of its program are what they were when it was last started.
    async fn check_files(&self) -> Result<(), StartError> {
        let Some(home) = self.logins.home().map(Path::to_owned) else {
            return Ok(());
        };
        let (name, launch) = (self.name.clone(), self.launch.clone());
        let looked = tokio::task::spawn_blocking(move || seen::check(&home, &name, &launch));
        let looked = looked
            .await
            .unwrap_or_else(|error| Err(format!("its files could not be looked at ({error})")));
        looked.map_err(StartError::Other)
    }

    async fn open(self: &Arc<Self>, generation: u64) {
        let limit = self.settings.startup_timeout;
        let mut held = None;
        let opening = async {
            let mut launch = self.launch.clone();
            launch.check(&self.settings).map_err(StartError::Other)?;
            self.check_files().await?;
            if let Launch::Http { token, .. } = &mut launch
                && !self.settings.has_token()
            {
                held = self.token().await.map_err(|error| match error.passing {
                    true => StartError::Unrenewed(error.text),
                    false => StartError::Login(error.text),
                })?;
                *token = held.as_ref().map(|held| held.text.clone());
            }
            let masks = Masks::of(&launch, &self.settings);
            let connection = Connection::open(&launch, masks, limit).await?;
            // They may have become others while it started.
            if let Err(changed) = self.check_files().await {
                connection.close().await;
                return Err(changed);
            }
            let trusted = self.settings.trust_annotations;
            let tools = list_tools(&connection, limit, trusted)
                .await
                .map_err(|error| match error {
                    RequestError::TimedOut(_) => StartError::TimedOut(limit),
                    other => StartError::of_text(format!("its tools cannot be listed: {other}"), limit),
                })?;
            Ok((connection, tools))
        };
        let opened = tokio::time::timeout(limit, opening).await;
        match opened.unwrap_or(Err(StartError::TimedOut(limit))) {
            Ok((connection, tools)) => {
                let connection = Arc::new(connection);
                let is_last = {
                    let mut inner = self.inner();
                    let is_last = inner.generation == generation;
                    if is_last {
                        inner.tools = tools.into();
                        inner.has_resources = connection.has_resources();
                        inner.connection = Some(connection.clone());
                        inner.ready_since = Some(Instant::now());
                        inner.refused_us = false;
                        inner.is_logged_in = held.is_some();
                        self.set(McpServerStatus::Ready, None);
                    }
                    is_last
                };
                if !is_last {
                    connection.close().await;
                    return;
                }
                tracing::info!(server = %shown_name(&self.name), "an MCP server is ready");
                if let Some(runs_out) = held.as_ref().and_then(|held| held.runs_out) {
                    let used = held.map(|held| held.text);
                    tokio::spawn(renew(Arc::downgrade(self), generation, used, runs_out));
                }
                tokio::spawn(follow(Arc::downgrade(self), connection));
            }
            Err(error) => {
                // The words may be the server's own, with whatever it says of its secrets: they are for the person.
                let message = error.message(&self.name, &self.settings);
                {
                    let mut inner = self.inner();
                    if inner.generation != generation {
                        return;
                    }
                    inner.refused_us = matches!(error, StartError::AuthRequired | StartError::Login(_));
                    inner.is_logged_in = held.is_some() || matches!(error, StartError::Unrenewed(_));
                    if inner.refused_us {
                        // What it offers it offers to those who are signed in.
                        inner.tools = Arc::default();
                        inner.has_resources = false;
                    }
                    inner.failed();
                    self.set(McpServerStatus::Failed, Some(message));
                }
                tracing::warn!(server = %shown_name(&self.name), kind = error.kind(), "an MCP server did not start");
                if matches!(error, StartError::Unrenewed(_)) {
                    tokio::spawn(renew(Arc::downgrade(self), generation, None, FIRST_RETRY));
                }
            }
        }
    }

    /// The connection. A server that was lost is started again, after a pause that grows each time.
    pub async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, UseError> {
        let mut tried = false;
        loop {
            let state = self.started().await;
            let held = self.inner().connection.clone();
            match held {
                Some(connection) if state.status == McpServerStatus::Ready => {
                    if connection.is_live() {
                        return Ok(connection);
                    }
                    // It is over, and nobody may have said so yet.
                    self.lost(&connection, "the connection broke");
                }
                _ => {}
            }
            if self.end.is_cancelled() {
                return Err(UseError::Stopped(shown_name(&self.name)));
            }
            if tried {
                let problem = state
                    .problem
                    .unwrap_or_else(|| format!("The MCP server {} is not there.", shown_name(&self.name)).into());
                return Err(UseError::NotThere(problem));
            }
            let (failures, pause) = {
                let inner = self.inner();
                let pause = inner
                    .not_before
                    .map(|time| time.saturating_duration_since(Instant::now()));
                (inner.failures, pause.unwrap_or_default())
            };
            if pause > PATIENCE {
                return Err(UseError::LeftAlone {
                    server: shown_name(&self.name),
                    failures,
                    wait: pause,
                });
            }
            tokio::time::sleep(pause).await;
            self.start();
            tried = true;
        }
    }

    /// Lets its connection go and makes another one, as what it is made with has changed. Calls that run keep theirs.
    pub(super) fn begin_anew(self: &Arc<Self>) {
        self.begin_after(None);
    }

    /// The same, only if no other opening has followed the one that is meant.
    fn begin_after(self: &Arc<Self>, meant: Option<u64>) {
        let before = {
            let mut inner = self.inner();
            if meant.is_some_and(|meant| inner.generation != meant) {
                return;
            }
            // One that is being opened is not wanted any more either.
            inner.generation += 1;
            inner.ready_since = None;
            inner.failures = 0;
            inner.not_before = None;
            inner.refused_us = false;
            self.set(McpServerStatus::Stopped, None);
            inner.connection.take()
        };
        if let Some(before) = before {
            self.tasks.spawn(retire(before, self.end.clone()));
        }
        self.start();
    }

    /// The server does not know the session of this connection any more. Another one is begun, unless it was already.
    pub fn session_ended(self: &Arc<Self>, of: &Arc<Connection>) {
        let generation = {
            let inner = self.inner();
            let is_current = inner.connection.as_ref().is_some_and(|now| Arc::ptr_eq(now, of));
            is_current.then_some(inner.generation)
        };
        if generation.is_some() {
            self.begin_after(generation);
        }
    }

    /// A connection is over. Whoever says so first counts; another may have come since.
    fn lost(&self, of: &Arc<Connection>, why: &str) {
        {
            let mut inner = self.inner();
            if !inner.connection.as_ref().is_some_and(|now| Arc::ptr_eq(now, of)) {
                return;
            }
            inner.connection = None;
            if inner
                .ready_since
                .take()
                .is_some_and(|since| since.elapsed() > LONG_ENOUGH)
            {
                inner.failures = 0;
            }
            inner.failed();
        }
        let message = format!(
            "The MCP server {} was lost: {why}. It is started again when one of its tools is called.",
            shown_name(&self.name)
        );
        let is_news = self.state.send_if_modified(|state| {
            let is_news = state.status == McpServerStatus::Ready;
            if is_news {
                *state = State {
                    status: McpServerStatus::Lost,
                    problem: Some(message.as_str().into()),
                };
            }
            is_news
        });
        if is_news {
            tracing::warn!(server = %shown_name(&self.name), "an MCP server was lost");
        }
    }

    /// Asks the server for something by its method.
    pub async fn request(self: &Arc<Self>, method: &str, params: Value) -> Result<Value, UseError> {
        let connection = self.connection().await?;
        let limit = self.settings.tool_timeout;
        let mut answer = connection.request(method, params.clone(), limit).await;
        if answer == Err(RequestError::SessionEnded) {
            self.session_ended(&connection);
            answer = self.connection().await?.request(method, params, limit).await;
        }
        answer.map_err(|error| UseError::Failed {
            server: shown_name(&self.name),
            error,
        })
    }

    /// One page of a list: what is in `key`, and the cursor of the next page.
    pub async fn page(
        self: &Arc<Self>,
        method: &str,
        key: &str,
        cursor: Option<&str>,
    ) -> Result<(Vec<Value>, Option<String>), UseError> {
        if !self.connection().await?.has_resources() {
            return Ok((Vec::new(), None));
        }
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let (page, next) = read_page(self.request(method, params).await?, key);
        if let Some(next) = &next {
            let mut inner = self.inner();
            if inner.cursors.len() >= MOST_CURSORS {
                inner.cursors.pop_front();
            }
            inner.cursors.push_back(next.clone());
        }
        Ok((page, next))
    }

    /// Whether it has given this cursor, which nobody else may make up: it is the server's to say what one means.
    pub fn has_given(&self, cursor: &str) -> bool {
        self.inner().cursors.iter().any(|given| given == cursor)
    }

    /// Whether it lists a resource under this URI.
    pub async fn has_listed(self: &Arc<Self>, uri: &str) -> bool {
        let listed = self.all("resources/list", "resources").await.unwrap_or_default();
        listed
            .iter()
            .any(|one| one.get("uri").and_then(Value::as_str) == Some(uri))
    }

    /// All pages of a list.
    pub async fn all(self: &Arc<Self>, method: &str, key: &str) -> Result<Vec<Value>, UseError> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let (page, next) = self.page(method, key, cursor.as_deref()).await?;
            all.extend(page);
            if next.is_none() || next == cursor {
                break;
            }
            cursor = next;
        }
        Ok(all)
    }
}

impl Inner {
    fn failed(&mut self) {
        self.failures += 1;
        // The first time at once.
        let pause = match self.failures {
            0 | 1 => Duration::ZERO,
            more => Duration::from_millis(500).saturating_mul(1 << (more - 2).min(16)),
        };
        self.not_before = Some(Instant::now() + pause.min(LONGEST_PAUSE));
    }
}

impl Server {
    /// Ends it, in the background.
    pub(super) fn end_now(&self) {
        let connection = self.inner().connection.take();
        if let (Some(connection), Ok(runtime)) = (connection, tokio::runtime::Handle::try_current()) {
            self.tasks.spawn_on(async move { connection.close().await }, &runtime);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end_now();
    }
}

/// Makes another connection once the token of this opening runs out, or can be had where it could not be renewed. The one in
/// use stays until there is another token: that none can be had for a while takes nothing away.
async fn renew(server: Weak<Server>, generation: u64, used: Option<String>, wait: Duration) {
    let (mut wait, mut retry) = (wait, FIRST_RETRY);
    loop {
        tokio::time::sleep(wait).await;
        let Some(server) = server.upgrade().filter(|server| !server.end.is_cancelled()) else {
            return;
        };
        // One that was lost is opened by the next call, with a token that holds.
        let is_used = server.inner().generation == generation
            && matches!(server.state().status, McpServerStatus::Ready | McpServerStatus::Failed);
        if !is_used {
            return;
        }
        let held = tokio::select! {
            () = server.end.cancelled() => return,
            held = server.token() => held,
        };
        wait = match held {
            Err(error) if error.passing => retry,
            // The renewal failed, and the token still holds.
            Ok(Some(held)) if used.as_ref() == Some(&held.text) => match held.runs_out {
                Some(runs_out) => runs_out.max(retry),
                None => return,
            },
            _ => {
                server.begin_after(Some(generation));
                return;
            }
        };
        retry = retry.saturating_mul(2).min(LONGEST_RETRY);
    }
}

/// Ends a connection that nobody is given any more, once the calls that have it are done.
async fn retire(connection: Arc<Connection>, end: CancellationToken) {
    let done = async {
        // Besides this task its follower has it.
        while Arc::strong_count(&connection) > 2 {
            tokio::time::sleep(RETIRE_PAUSE).await;
        }
    };
    tokio::select! {
        () = end.cancelled() => {}
        () = done => {}
    }
    connection.close().await;
}

/// Stays with a connection to its end: brings its tools up to date, and says when it is lost.
async fn follow(server: Weak<Server>, connection: Arc<Connection>) {
    let mut lost = std::pin::pin!(connection.lost());
    let (mut pause, mut listed) = (FIRST_LIST, None::<Instant>);
    loop {
        let changed = async {
            connection.tools_changed().await;
            // One that changes with each list would be listed without end.
            let is_often = listed.is_some_and(|at| at.elapsed() < pause.saturating_mul(4));
            pause = if is_often {
                pause.saturating_mul(2).min(LONGEST_LIST)
            } else {
                FIRST_LIST
            };
            tokio::time::sleep(pause).await;
        };
        tokio::select! {
            why = &mut lost => {
                if let Some(server) = server.upgrade().filter(|server| !server.end.is_cancelled()) {
                    server.lost(&connection, &why);
                }
                return;
            }
            () = changed => {}
        }
        listed = Some(Instant::now());
        let Some((limit, trusted)) = server
            .upgrade()
            .map(|server| (server.settings.tool_timeout, server.settings.trust_annotations))
        else {
            return;
        };
        match list_tools(&connection, limit, trusted).await {
            Ok(tools) => {
                if let Some(server) = server.upgrade() {
                    let mut inner = server.inner();
                    let now = inner.connection.as_ref();
                    if now.is_some_and(|now| Arc::ptr_eq(now, &connection)) {
                        inner.tools = tools.into();
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the tools of a server could not be listed again; the ones before stay")
            }
        }
    }
}

/// The tools as the server lists them; its hints count where it is `trusted`.
async fn list_tools(
    connection: &Connection,
    limit: Duration,
    trusted: bool,
) -> Result<Vec<Arc<ToolInfo>>, RequestError> {
    let (mut tools, mut cursor) = (Vec::<Arc<ToolInfo>>::new(), None::<String>);
    for _ in 0..MOST_PAGES {
        let params = cursor
            .as_ref()
            .map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let answer = match connection.request("tools/list", params, limit).await {
            // A server need not have any.
            Err(RequestError::Refused { code: -32601, .. }) => return Ok(tools),
            answer => answer?,
        };
        let (page, next) = read_page(answer, "tools");
        for described in &page {
            if tools.len() >= MOST_TOOLS {
                break;
            }
            match ToolInfo::read(described, trusted) {
                Some(tool) if tools.iter().all(|known| known.name != tool.name) => tools.push(Arc::new(tool)),
                Some(_) => {}
                None => tracing::warn!("a tool without a name, or with too much to say of itself, was left out"),
            }
        }
        if next.is_none() || next == cursor || tools.len() >= MOST_TOOLS {
            break;
        }
        cursor = next;
    }
    tools.truncate(MOST_TOOLS);
    Ok(tools)
}

fn read_page(mut answer: Value, key: &str) -> (Vec<Value>, Option<String>) {
    let next = answer.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    let items = match answer.get_mut(key).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    (items, next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Bytes;
    use axum::http::StatusCode;
    use axum::response::{IntoResponse as _, Response};
    use std::collections::HashMap;

    /// A service that greets, and has no tools.
    async fn greets(body: Bytes) -> Response {
        let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {},
                "serverInfo": {"name": "plain", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": []}),
            _ => return StatusCode::ACCEPTED.into_response(),
        };
        axum::Json(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})).into_response()
    }

    /// Whoever calls a tool may notice that the connection is over, and so does the one that stays with it.
    #[tokio::test]
    async fn a_connection_is_lost_once_whoever_says_so() {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(greets)).await });
        let values = json!({"mcp_servers": {"s": {"url": url}}});
        let config = crate::config::mcp::for_tests(&values);
        let settings = config["s"].clone();
        let launch = Launch::Http {
            url,
            token: None,
            headers: HashMap::new(),
            network: settings.network.clone(),
        };
        let (tasks, end) = (TaskTracker::new(), CancellationToken::new());
        let server = Server::new("s".to_owned(), settings, launch, tasks, end, Logins::default());
        let server = Arc::new(server);
        server.start();
        let connection = server.connection().await.expect("a connection");
        for _ in 0..3 {
            server.lost(&connection, "it broke");
            assert_eq!(server.inner().failures, 1);
        }
        assert_eq!(server.state().status, McpServerStatus::Lost);
        // Another one came since.
        let other = server.connection().await.expect("a connection");
        server.lost(&connection, "it broke");
        assert_eq!(
            (server.inner().failures, server.state().status),
            (1, McpServerStatus::Ready)
        );
        server.lost(&other, "it broke");
        assert_eq!(server.inner().failures, 2);
    }
}
