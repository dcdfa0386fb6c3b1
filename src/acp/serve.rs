//! The client's line: what comes in is handed on without waiting, so that nothing holds up what comes after it, a stop least of
//! all. Requests about one session are taken in their order by its lane; all others go side by side.

use super::error::{CANCELLED, Failure, INTERNAL, INVALID_REQUEST, NO_METHOD, PARSE};
use super::files::{self, Files};
use super::flight::{self, Flight, Taken};
use super::lanes::Lanes;
use super::peer::{self, Line, Peer};
use super::servers::Offered;
use super::session::Session;
use super::{auth, elicit};
use crate::agent::{self, Agent, apply};
use crate::config::ClientSettings;
use crate::ids::ThreadId;
use crate::model::ModelClient;
use crate::private;
use crate::secrets::Secrets;
use crate::telemetry::Telemetry;
use crate::tools::Registry;
use crate::workspace::Workspace;
use futures::FutureExt as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The version of the protocol that is spoken.
const VERSION: u64 = 1;
/// What the end of all threads may take, and the last words after it.
const END: Duration = Duration::from_millis(2200);
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What the process knows and the client does not say.
pub struct Setup {
    /// The home folder: configuration, threads, logs.
    pub home: PathBuf,
    /// The environment that the process was started with.
    pub env: BTreeMap<String, String>,
    /// Settings by the command that started the server.
    pub client: ClientSettings,
    /// What stands in nothing that leaves.
    pub secrets: Secrets,
}

/// Serves one client until it closes its end or `stop` fires. All threads have ended when this returns.
///
/// # Errors
/// The threads that read and write cannot be started.
pub async fn run(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    setup: Setup,
    stop: CancellationToken,
) -> io::Result<()> {
    let peer = Peer::new(output)?;
    let mut lines = peer::read(input)?;
    let workspace = Workspace::new();
    let files = Files::new(peer.clone(), workspace.clone());
    let telemetry = Telemetry::new(setup.secrets.clone(), &setup.env);
    let parts = agent::Setup {
        workspace,
        editor: Arc::new(files.clone()),
        home: setup.home,
        env: setup.env,
        client: setup.client,
        user_agent: ModelClient::user_agent(),
        secrets: setup.secrets.clone(),
        source: "acp".to_owned(),
    };
    let agent = Agent::with(parts, Registry::standard(), vec![Arc::new(telemetry.clone())]);
    // What others could have written there is not what a server has left.
    if private::check_home(&agent.services().home).is_ok() {
        apply::put_right(agent.services().home.clone(), |words| tracing::warn!("{words}")).await;
    }
    let server = Arc::new(Server {
        peer: peer.clone(),
        agent: agent.clone(),
        files,
        sessions: Mutex::default(),
        offered: Mutex::default(),
        lanes: Lanes::default(),
        flight: Flight::default(),
        client: Mutex::default(),
        is_ready: AtomicBool::new(false),
    });
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            line = lines.recv() => match line {
                Some(Line::Message(message)) => server.take(message),
                Some(Line::Broken(reason)) => peer.answer(&Value::Null, Err(Failure::new(PARSE, reason))),
                None => break,
            }
        }
    }
    drop(server);
    if tokio::time::timeout(END, agent.shutdown()).await.is_err() {
        tracing::error!("not all threads have ended in time");
    }
    // Bounded by itself.
    telemetry.finish().await;
    // A client that does not read is not waited for.
    let _late = tokio::time::timeout(LAST_WORDS, peer.finish()).await;
    peer.gone();
    Ok(())
}

/// What the client has said of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Client {
    /// It lets the person sign in in a terminal.
    pub(super) logs_in_by_terminal: bool,
    pub(super) asks: elicit::Asks,
    /// It shows notices as such.
    pub(super) notices: bool,
    /// It shows compactions as such.
    pub(super) compactions: bool,
}

impl Client {
    /// From `clientCapabilities`; what is none of these is not there.
    fn of(capabilities: &Value) -> Self {
        let session = &capabilities["session"];
        Self {
            logs_in_by_terminal: capabilities["auth"]["terminal"] == json!(true),
            asks: elicit::Asks::of(&capabilities["elicitation"]),
            notices: session["notices"].is_object(),
            compactions: session["compaction"].is_object(),
        }
    }
}

pub(super) struct Server {
    pub(super) peer: Peer,
    pub(super) agent: Agent,
    pub(super) files: Files,
    sessions: Mutex<BTreeMap<ThreadId, Arc<Session>>>,
    /// MCP servers that the client named for a session, until the person has been asked about them.
    pub(super) offered: Mutex<BTreeMap<ThreadId, Offered>>,
    pub(super) lanes: Lanes,
    flight: Flight,
    client: Mutex<Client>,
    /// `initialize` was taken.
    is_ready: AtomicBool,
}

impl Server {
    fn take(self: &Arc<Self>, message: Value) {
        let method = message["method"].as_str();
        let id = message.get("id").filter(|id| id.is_string() || id.is_number());
        match (method, id) {
            (Some(method), Some(id)) => {
                if let Err(failure) = self.hand_on(method, id, &message["params"]) {
                    self.peer.answer(id, Err(failure));
                }
            }
            (Some("session/cancel"), None) if message.get("id").is_none() => self.cancel(&message["params"]),
            (Some("$/cancel_request"), None) if message.get("id").is_none() => {
                self.cancel_request(&message["params"]["requestId"]);
            }
            (Some(method), None) if message.get("id").is_none() => {
                tracing::debug!(method, "a notification without a handler was ignored");
            }
            (None, Some(_)) if message.get("result").is_some() || message.get("error").is_some() => {
                self.peer.answered(&message);
            }
            _ => {
                let failure = Failure::new(
                    INVALID_REQUEST,
                    "This is neither a request, nor a notification, nor an answer.",
                );
                self.peer.answer(id.unwrap_or(&Value::Null), Err(failure));
            }
        }
    }

    /// Gives a request to whoever takes its kind, in its order. The error is its answer.
    fn hand_on(self: &Arc<Self>, method: &str, id: &Value, params: &Value) -> Result<(), Failure> {
        if !matches!(params, Value::Object(_) | Value::Null) {
            return Err(Failure::params("`params` must be an object."));
        }
        if method == "initialize" {
            // Before anything is read there.
            private::check_home(&self.agent.services().home)
                .map_err(|trouble| Failure::new(INTERNAL, trouble.to_string()))?;
            self.get_ready(params)?;
        } else if !self.is_ready.load(Ordering::Relaxed) {
            return Err(Failure::new(
                INVALID_REQUEST,
                "Nothing was initialized. Send initialize first.",
            ));
        }
        let lane = match method {
            "session/load" | "session/resume" | "session/delete" => Some((named(params)?, true)),
            "session/prompt"
            | "session/set_mode"
            | "session/set_model"
            | "session/set_config_option"
            | "session/close" => Some((named(params)?, false)),
            _ => None,
        };
        if let Some((session, false)) = &lane
            && !self.lanes.has(session)
            && !self.has_session(session)
        {
            return Err(Failure::no_session(session.as_str()));
        }
        // A prompt whose turn goes on has left the flight, but has no answer.
        if self.sessions().values().any(|session| session.turn_of(id).is_some()) {
            return Err(flight::id_taken(id));
        }
        let of_prompt = lane.as_ref().filter(|_| method == "session/prompt");
        let taken = self.flight.begin(id, of_prompt.map(|(session, _)| session.clone()))?;
        let (server, method, params) = (self.clone(), method.to_owned(), params.clone());
        let session = lane.as_ref().map(|(session, _)| session.clone());
        let work = async move {
            server.carry_out(&method, &params, &taken).await;
            // A session that is gone, or never came to be, needs no lane any more.
            if let Some(session) = session
                && !server.has_session(&session)
            {
                server.lanes.leave(&session);
            }
        };
        match lane {
            Some((session, _)) => self.lanes.enter(session, work.boxed()),
            None => drop(tokio::spawn(work)),
        }
        Ok(())
    }

    /// Carries a request out and answers it once, also if that panics.
    async fn carry_out(self: &Arc<Self>, method: &str, params: &Value, taken: &Taken) {
        if !self.flight.start(taken) {
            // It was taken back, and answered.
            return;
        }
        let work = AssertUnwindSafe(self.request(method, params, taken)).catch_unwind();
        let answer = work.await.unwrap_or_else(|_| {
            let words = format!("{method} broke off here; the log in the home folder says where. The session goes on.");
            Err(Failure::new(INTERNAL, words))
        });
        self.flight.end(taken);
        match answer {
            Ok(Some(result)) => {
                let opens = matches!(method, "session/new" | "session/load" | "session/resume");
                let named = result["sessionId"].as_str().or(params["sessionId"].as_str());
                let session = named.filter(|_| opens).map(ThreadId::from);
                self.peer.answer(&taken.id, Ok(result));
                if let Some(session) = session {
                    self.tell_commands(session, params).await;
                }
            }
            // Somebody else answers.
            Ok(None) => {}
            Err(failure) => self.peer.answer(&taken.id, Err(failure)),
        }
    }

    async fn request(self: &Arc<Self>, method: &str, params: &Value, taken: &Taken) -> Result<Option<Value>, Failure> {
        let result = match method {
            "initialize" => self.initialized().await,
            "authenticate" => {
                tokio::select! {
                    done = auth::authenticate(self, params, &taken.id) => done?,
                    () = taken.stop.cancelled() => return Err(cancelled()),
                }
            }
            "logout" => auth::logout(self).await?,
            "session/new" => self.new_session(params).await?,
            "session/load" => self.load(params, true, &taken.stop).await?,
            "session/resume" => self.load(params, false, &taken.stop).await?,
            "session/list" => self.list(params).await?,
            "session/close" => self.close(params).await?,
            "session/delete" => self.delete(params).await?,
            "session/prompt" => return self.prompt(params, taken).await,
            "session/set_mode" => self.set_mode(params).await?,
            "session/set_model" => self.set_model(params).await?,
            "session/set_config_option" => self.set_option(params).await?,
            _ => return Err(Failure::new(NO_METHOD, format!("There is no method {method}."))),
        };
        Ok(Some(result))
    }

    /// What the client is counts from here on, for whatever comes next.
    fn get_ready(&self, params: &Value) -> Result<(), Failure> {
        // A client of another version hears ours and decides.
        if !params["protocolVersion"].is_u64() {
            return Err(Failure::params("`protocolVersion` must be a number."));
        }
        let capabilities = &params["clientCapabilities"];
        self.files.set_abilities(files::abilities(capabilities));
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Client::of(capabilities);
        self.is_ready.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn initialized(self: &Arc<Self>) -> Value {
        let auth = auth::offered(self).await;
        json!({
            "protocolVersion": VERSION,
            "agentInfo": {"name": "countersign", "title": "Countersign", "version": env!("CARGO_PKG_VERSION")},
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": false},
                "sessionCapabilities": {
                    "list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {},
                },
                "auth": match auth.can_log_out {
                    true => json!({"logout": {}}),
                    false => json!({}),
                },
            },
            "authMethods": auth.methods,
        })
    }

    pub(super) fn client(&self) -> Client {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, BTreeMap<ThreadId, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_session(&self, id: &ThreadId) -> bool {
        self.sessions().contains_key(id)
    }

    pub(super) fn session(&self, params: &Value) -> Result<Arc<Session>, Failure> {
        let id = named(params)?;
        let session = self.sessions().get(&id).cloned();
        session.ok_or_else(|| Failure::no_session(id.as_str()))
    }

    /// Stops what a session does and what it was still to do. A prompt that did not begin yet is answered here.
    fn cancel(&self, params: &Value) {
        let Ok(id) = named(params) else {
            return tracing::info!("nothing to cancel: no session is named");
        };
        for prompt in self.flight.stop_prompts(&id) {
            self.peer.answer(&prompt, Ok(json!({"stopReason": "cancelled"})));
        }
        match self.sessions().get(&id) {
            Some(session) => session.interrupt(None),
            None => tracing::info!(%id, "nothing to cancel: there is no such session"),
        }
    }

    /// Takes one request back.
    fn cancel_request(&self, id: &Value) {
        if self.flight.stop(id) {
            return self.peer.answer(id, Err(cancelled()));
        }
        let sessions: Vec<_> = self.sessions().values().cloned().collect();
        for session in sessions {
            if let Some(turn) = session.turn_of(id) {
                session.interrupt(Some(turn));
            }
        }
    }
}

/// The session that a request is about.
pub(super) fn named(params: &Value) -> Result<ThreadId, Failure> {
    let id = params["sessionId"].as_str();
    id.map(ThreadId::from)
        .ok_or_else(|| Failure::params("`sessionId` must be a text."))
}

pub(super) fn cancelled() -> Failure {
    Failure::new(CANCELLED, "The request was cancelled by the client.")
}
