//! One configured server: started when it is first wanted, shared, started again when it was lost, ended with the last who
//! holds it.

use super::connection::{Connection, RequestError};
use super::failure::StartError;
use super::launch::Launch;
use super::logins::{Logins, NoToken, Token};
use super::tool::ToolInfo;
use crate::config::mcp::{ServerSettings, Transport};
use crate::protocol::mcp::{McpAuthStatus, McpServerStatus};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Pages of a list that are asked for; a server that goes on for ever is stopped here.
const MOST_PAGES: usize = 64;
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
    /// The person is logged in to it.
    is_logged_in: bool,
    /// How often it was lost, or did not start, without having run for long.
    failures: u32,
    /// Not to be started before.
    not_before: Option<Instant>,
    ready_since: Option<Instant>,
}

/// Why a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UseError {
    #[error("{0}")]
    NotThere(Arc<str>),
    #[error("The tool server {server} was lost {failures} times in a short time, and is left alone for {} seconds more.", wait.as_secs().max(1))]
    LeftAlone {
        server: String,
        failures: u32,
        wait: Duration,
    },
    #[error("The tool server {0} is stopped.")]
    Stopped(String),
    #[error("The tool server {server} failed: {error}.")]
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

    async fn open(self: &Arc<Self>, generation: u64) {
        let limit = self.settings.startup_timeout;
        let mut held = None;
        let opening = async {
            let mut launch = self.launch.clone();
            if let Launch::Http { token, .. } = &mut launch
                && !self.settings.has_token()
            {
                held = self.token().await.map_err(|error| match error.passing {
                    true => StartError::Unrenewed(error.text),
                    false => StartError::Login(error.text),
                })?;
                *token = held.as_ref().map(|held| held.text.clone());
            }
            let connection = Connection::open(&launch, limit).await?;
            let tools = list_tools(&connection, limit).await.map_err(|error| match error {
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
                tracing::info!(server = %self.name, "a tool server is ready");
                if let Some(runs_out) = held.as_ref().and_then(|held| held.runs_out) {
                    let used = held.map(|held| held.text);
                    tokio::spawn(renew(Arc::downgrade(self), generation, used, runs_out));
                }
                tokio::spawn(follow(Arc::downgrade(self), connection, self.settings.tool_timeout));
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
                        // What it offers it offers to those who are logged in.
                        inner.tools = Arc::default();
                        inner.has_resources = false;
                    }
                    inner.failed();
                    self.set(McpServerStatus::Failed, Some(message));
                }
                tracing::warn!(server = %self.name, kind = error.kind(), "a tool server did not start");
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
            if state.status == McpServerStatus::Ready
                && let Some(connection) = self
                    .inner()
                    .connection
                    .clone()
                    .filter(|connection| connection.is_live())
            {
                return Ok(connection);
            }
            if self.end.is_cancelled() {
                return Err(UseError::Stopped(self.name.clone()));
            }
            if tried {
                let problem = state
                    .problem
                    .unwrap_or_else(|| format!("The tool server {} is not there.", self.name).into());
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
                    server: self.name.clone(),
                    failures,
                    wait: pause,
                });
            }
            tokio::time::sleep(pause).await;
            if state.status == McpServerStatus::Ready {
                // Its connection is over, and nobody has said so yet.
                self.lost(None, "the connection broke");
            }
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

    /// A connection is over; `of` says which, where another may have come since.
    fn lost(&self, of: Option<&Arc<Connection>>, why: &str) {
        {
            let mut inner = self.inner();
            let is_other = |of| !inner.connection.as_ref().is_some_and(|now| Arc::ptr_eq(now, of));
            if of.is_some_and(is_other) {
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
            "The tool server {} was lost: {why}. It is started again when one of its tools is called.",
            self.name
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
            tracing::warn!(server = %self.name, "a tool server was lost");
        }
    }

    /// Asks the server for something by its method.
    pub async fn request(self: &Arc<Self>, method: &str, params: Value) -> Result<Value, UseError> {
        let connection = self.connection().await?;
        let answer = connection.request(method, params, self.settings.tool_timeout).await;
        answer.map_err(|error| UseError::Failed {
            server: self.name.clone(),
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
        Ok(read_page(self.request(method, params).await?, key))
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
async fn follow(server: Weak<Server>, connection: Arc<Connection>, limit: Duration) {
    let mut lost = std::pin::pin!(connection.lost());
    loop {
        tokio::select! {
            why = &mut lost => {
                if let Some(server) = server.upgrade().filter(|server| !server.end.is_cancelled()) {
                    server.lost(Some(&connection), &why);
                }
                return;
            }
            () = connection.tools_changed() => {}
        }
        match list_tools(&connection, limit).await {
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

async fn list_tools(connection: &Connection, limit: Duration) -> Result<Vec<Arc<ToolInfo>>, RequestError> {
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
            match ToolInfo::read(described) {
                Some(tool) if tools.iter().all(|known| known.name != tool.name) => tools.push(Arc::new(tool)),
                Some(_) => {}
                None => tracing::warn!("a tool without a name was left out"),
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
