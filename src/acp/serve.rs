//! Requests and their answers, in the order in which they come. None waits for a model or a person: a prompt is answered by
//! whoever shows the end of its turn.

use super::error::{AUTH_REQUIRED, Failure, INVALID_REQUEST, NO_METHOD, PARSE};
use super::files::{self, Files};
use super::peer::{self, Line, Peer};
use super::session::Session;
use super::{input, replay, servers};
use crate::agent::thread::{Start, ThreadHandle};
use crate::agent::{self, Agent, AgentError, Opened, apply};
use crate::config::{self, prompts::Prompts};
use crate::ids::ThreadId;
use crate::model::ModelClient;
use crate::model::catalogue::{self, Login};
use crate::protocol::settings::{Mode, SettingsOverride};
use crate::protocol::thread::{ThreadListParams, ThreadResumeParams, ThreadStartParams};
use crate::secrets::Secrets;
use crate::telemetry::Telemetry;
use crate::tools::Registry;
use crate::workspace::Workspace;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The version of the protocol that is spoken.
const VERSION: u64 = 1;
/// What the end of all threads may take, and the last words after it.
const END: Duration = Duration::from_millis(2200);
const LAST_WORDS: Duration = Duration::from_millis(300);

const MODES: [(Mode, &str, &str); 3] = [
    (
        Mode::Agent,
        "Agent",
        "Changes files and runs commands, and asks where the settings say so",
    ),
    (Mode::Plan, "Plan", "Reads, and makes a plan; nothing is changed"),
    (Mode::Ask, "Ask", "Answers from what it can read"),
];

/// What the process knows and the client does not say.
pub struct Setup {
    /// The home folder: configuration, threads, logs.
    pub home: PathBuf,
    /// The environment that the process was started with.
    pub env: BTreeMap<String, String>,
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
        client_config: None,
        user_agent: ModelClient::user_agent(),
        secrets: setup.secrets.clone(),
        source: "acp".to_owned(),
    };
    let agent = Agent::with(parts, Registry::standard(), vec![Arc::new(telemetry.clone())]);
    for words in apply::recover_leftovers(&agent.desk().home).await {
        tracing::warn!("{words}");
    }
    let mut server = Server {
        peer: peer.clone(),
        agent: agent.clone(),
        files,
        sessions: BTreeMap::new(),
        is_ready: false,
    };
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            line = lines.recv() => match line {
                Some(Line::Message(message)) => server.take(message).await,
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

struct Server {
    peer: Peer,
    agent: Agent,
    files: Files,
    sessions: BTreeMap<ThreadId, Arc<Session>>,
    /// `initialize` was answered.
    is_ready: bool,
}

impl Server {
    async fn take(&mut self, message: Value) {
        let method = message["method"].as_str();
        let id = message.get("id").filter(|id| id.is_string() || id.is_number());
        match (method, id) {
            (Some(method), Some(id)) => {
                let answer = match message["params"] {
                    Value::Object(_) | Value::Null => self.request(method, &message["params"], id).await,
                    _ => Err(Failure::params("`params` must be an object.")),
                };
                match answer {
                    Ok(Some(result)) => {
                        let opens = matches!(method, "session/new" | "session/load" | "session/resume");
                        let named = result["sessionId"].as_str().or(message["params"]["sessionId"].as_str());
                        let session = named.filter(|_| opens).map(ThreadId::from);
                        self.peer.answer(id, Ok(result));
                        if let Some(session) = session {
                            self.tell_commands(session, &message["params"]).await;
                        }
                    }
                    // Somebody else answers.
                    Ok(None) => {}
                    Err(failure) => self.peer.answer(id, Err(failure)),
                }
            }
            (Some("session/cancel"), None) if message.get("id").is_none() => self.cancel(&message["params"]).await,
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

    async fn request(&mut self, method: &str, params: &Value, id: &Value) -> Result<Option<Value>, Failure> {
        if method == "initialize" {
            return self.initialize(params).map(Some);
        }
        if !self.is_ready {
            return Err(Failure::new(
                INVALID_REQUEST,
                "Nothing was initialized. Send initialize first.",
            ));
        }
        let result = match method {
            "authenticate" => self.authenticate()?,
            "session/new" => self.new_session(params).await?,
            "session/load" => self.load(params, true).await?,
            "session/resume" => self.load(params, false).await?,
            "session/list" => self.list(params).await?,
            "session/prompt" => return self.prompt(params, id).await.map(|()| None),
            "session/set_mode" => {
                let mode = mode(params["modeId"].as_str().unwrap_or_default())?;
                let change = SettingsOverride {
                    mode: Some(mode),
                    ..SettingsOverride::default()
                };
                self.session(params)?.thread.update_settings(change).await?;
                json!({})
            }
            "session/set_model" => {
                self.set_model(params, &params["modelId"]).await?;
                json!({})
            }
            "session/set_config_option" if params["configId"] == "model" => {
                let thread = self.set_model(params, &params["value"]).await?;
                json!({"configOptions": self.options(&thread)})
            }
            "session/set_config_option" => {
                return Err(Failure::params("There is no such option; the only one is model."));
            }
            _ => return Err(Failure::new(NO_METHOD, format!("There is no method {method}."))),
        };
        Ok(Some(result))
    }

    fn initialize(&mut self, params: &Value) -> Result<Value, Failure> {
        // A client of another version hears ours and decides.
        if !params["protocolVersion"].is_u64() {
            return Err(Failure::params("`protocolVersion` must be a number."));
        }
        self.files
            .set_abilities(files::abilities(&params["clientCapabilities"]));
        self.is_ready = true;
        Ok(json!({
            "protocolVersion": VERSION,
            "agentInfo": {"name": "countersign", "title": "Countersign", "version": env!("CARGO_PKG_VERSION")},
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": false},
                "sessionCapabilities": {"list": {}, "resume": {}},
            },
            "authMethods": [{
                "id": "configuration",
                "name": "Key of the configured provider",
                "description": "Set the key's variable in the environment of this program, or choose another provider in \
                                config.toml; countersign doctor says what is missing.",
            }],
        }))
    }

    /// There is nothing to log in to here: the key is there, or the person is told where it belongs.
    fn authenticate(&self) -> Result<Value, Failure> {
        let config = self.agent.load_config(None, None).map_err(AgentError::from)?.config;
        let provider = config.provider(&config.model_provider).map_err(AgentError::from)?;
        match config::key(provider, &self.agent.desk().env) {
            Ok(_) => Ok(json!({})),
            Err(missing) => Err(Failure::new(AUTH_REQUIRED, missing.to_string())),
        }
    }

    fn session(&self, params: &Value) -> Result<&Arc<Session>, Failure> {
        let id = params["sessionId"].as_str();
        let id = id.ok_or_else(|| Failure::params("`sessionId` must be a text."))?;
        self.sessions
            .get(&ThreadId::from(id))
            .ok_or_else(|| Failure::no_session(id))
    }

    /// The folder of a session becomes one of the workspace.
    fn folder(&self, params: &Value) -> Result<PathBuf, Failure> {
        let cwd = params["cwd"].as_str().map(PathBuf::from);
        let cwd = cwd
            .filter(|cwd| cwd.is_absolute())
            .ok_or_else(|| Failure::params("`cwd` must be the absolute path of a folder."))?;
        if !cwd.is_dir() {
            return Err(Failure::params(format!(
                "{} is no folder. Name one that is there.",
                cwd.display()
            )));
        }
        let workspace = &self.agent.desk().workspace;
        let mut roots = workspace.roots();
        roots.push(cwd.clone());
        workspace.set_roots(roots);
        Ok(cwd)
    }

    async fn new_session(&mut self, params: &Value) -> Result<Value, Failure> {
        let overrides = servers::overrides(&params["mcpServers"])?;
        let cwd = self.folder(params)?;
        let start = ThreadStartParams {
            settings: SettingsOverride {
                cwd: Some(cwd.clone()),
                ..SettingsOverride::default()
            },
            config: Some(overrides).filter(|overrides| !overrides.is_empty()),
            ..ThreadStartParams::default()
        };
        let Opened { handle, .. } = self.agent.start_thread(start).await?;
        let mut result = self.state_of(&handle);
        result["sessionId"] = json!(handle.id());
        self.add(handle, &cwd);
        Ok(result)
    }

    fn add(&mut self, handle: ThreadHandle, cwd: &Path) {
        self.files.add_session(handle.id(), cwd);
        let id = handle.id().clone();
        let (peer, agent) = (&self.peer, &self.agent);
        self.sessions
            .entry(id)
            .or_insert_with(|| Session::begin(peer, agent, handle));
    }

    /// With `tell` the conversation so far is told before the answer.
    async fn load(&mut self, params: &Value, tell: bool) -> Result<Value, Failure> {
        let overrides = servers::overrides(&params["mcpServers"])?;
        let id = params["sessionId"].as_str();
        let id = id.ok_or_else(|| Failure::params("`sessionId` must be a text."))?;
        let cwd = self.folder(params)?;
        let resume = ThreadResumeParams {
            thread_id: Some(id.into()),
            settings: SettingsOverride {
                cwd: Some(cwd.clone()),
                ..SettingsOverride::default()
            },
            ..ThreadResumeParams::default()
        };
        let Opened { handle, .. } = self.agent.resume_thread(resume).await?;
        if *handle.id() != ThreadId::from(id) {
            // A file of another program goes on in a copy, which the client does not know.
            handle.close().await;
            return Err(Failure::no_session(id));
        }
        if !overrides.is_empty() {
            let loaded = self
                .agent
                .load_config(Some(&cwd), Some(&overrides))
                .map_err(AgentError::from)?;
            agent::servers::want(handle.conversation(), &loaded.config, &cwd);
        }
        if tell {
            for update in replay::updates(&handle.snapshot(true).turns) {
                let params = json!({"sessionId": handle.id(), "update": update});
                self.peer.notify("session/update", params).await;
            }
        }
        let result = self.state_of(&handle);
        self.add(handle, &cwd);
        Ok(result)
    }

    /// The modes and models of a session.
    fn state_of(&self, thread: &ThreadHandle) -> Value {
        let modes: Vec<Value> = MODES
            .iter()
            .map(|(mode, name, description)| json!({"id": mode, "name": name, "description": description}))
            .collect();
        let models = self.models(thread);
        let available: Vec<Value> = models
            .iter()
            .map(|(id, name)| json!({"modelId": id, "name": name}))
            .collect();
        json!({
            "modes": {"currentModeId": thread.settings().mode, "availableModes": modes},
            "models": {"currentModelId": thread.settings().model, "availableModels": available},
            "configOptions": self.options(thread),
        })
    }

    fn options(&self, thread: &ThreadHandle) -> Value {
        let models = self.models(thread);
        if models.is_empty() {
            return json!([]);
        }
        let options: Vec<Value> = models
            .iter()
            .map(|(id, name)| json!({"value": id, "name": name}))
            .collect();
        json!([{
            "id": "model", "name": "Model", "category": "model", "type": "select",
            "currentValue": thread.settings().model, "options": options,
        }])
    }

    /// The models that can be chosen: id and name.
    fn models(&self, thread: &ThreadHandle) -> Vec<(String, String)> {
        let settings = thread.settings();
        let Ok(loaded) = self.agent.load_config(Some(&settings.cwd), None) else {
            return Vec::new();
        };
        let id = &settings.model_provider;
        let offered = loaded
            .config
            .provider(id)
            .map(|provider| catalogue::offered(Login::of(provider), id, provider, &settings.model));
        let offered = offered.unwrap_or_default().into_iter();
        offered.map(|model| (model.id, model.display_name)).collect()
    }

    async fn set_model(&self, params: &Value, model: &Value) -> Result<ThreadHandle, Failure> {
        let session = self.session(params)?;
        let model = model.as_str().map(str::trim).filter(|model| !model.is_empty());
        let model = model.ok_or_else(|| Failure::params("The model must be a text that names one."))?;
        let change = SettingsOverride {
            model: Some(model.to_owned()),
            ..SettingsOverride::default()
        };
        session.thread.update_settings(change).await?;
        Ok(session.thread.clone())
    }

    async fn list(&self, params: &Value) -> Result<Value, Failure> {
        let wanted = ThreadListParams {
            cursor: params["cursor"].as_str().map(str::to_owned),
            cwd: params["cwd"].as_str().map(PathBuf::from),
            model_providers: Some(Vec::new()),
            ..ThreadListParams::default()
        };
        let agent = self.agent.clone();
        let listed = tokio::task::spawn_blocking(move || agent.list_threads(&wanted)).await;
        let listed = listed.map_err(|error| Failure::new(super::error::INTERNAL, error.to_string()))??;
        let sessions: Vec<Value> = listed
            .data
            .iter()
            .map(|thread| {
                let title = thread.name.as_deref().unwrap_or(&thread.preview);
                let updated = jiff::Timestamp::from_millisecond(thread.updated_at_ms).map(|time| time.to_string());
                json!({"sessionId": thread.id, "cwd": thread.cwd, "title": title, "updatedAt": updated.ok()})
            })
            .collect();
        let mut result = json!({ "sessions": sessions });
        if let Some(cursor) = listed.next_cursor {
            result["nextCursor"] = json!(cursor);
        }
        Ok(result)
    }

    async fn prompt(&self, params: &Value, id: &Value) -> Result<(), Failure> {
        let session = self.session(params)?.clone();
        let content = input::input(&params["prompt"])?;
        self.agent.follow_config(&session.thread).await;
        session.thread.check_prompt(&content).await?;
        let started = session
            .thread
            .start_turn(Start {
                content: content.clone(),
                ..Start::default()
            })
            .await?;
        session.thread.keep_typed(&content);
        // Before the turn may begin, so that its end finds the prompt.
        session.wait_for(&self.peer, &started.turn.id, id.clone());
        drop(started);
        Ok(())
    }

    async fn cancel(&self, params: &Value) {
        match self.session(params) {
            Ok(session) => {
                if let Err(error) = session.thread.interrupt(None).await {
                    tracing::info!(%error, "nothing to cancel");
                }
            }
            Err(failure) => tracing::info!(failure.message, "nothing to cancel"),
        }
    }

    /// The person's prompts, as commands that begin with a slash.
    async fn tell_commands(&self, id: ThreadId, params: &Value) {
        let Some(cwd) = params["cwd"].as_str().map(PathBuf::from) else {
            return;
        };
        let agent = self.agent.clone();
        let read = tokio::task::spawn_blocking(move || {
            let config = agent.load_config(Some(&cwd), None).ok()?.config;
            Some(Prompts::read(&config, &agent.desk().home).all)
        });
        let prompts = read.await.ok().flatten().unwrap_or_default();
        let commands: Vec<Value> = prompts
            .into_iter()
            .map(|prompt| {
                let hint = prompt.argument_hint();
                let mut command = Map::new();
                command.insert("name".to_owned(), json!(prompt.name));
                command.insert(
                    "description".to_owned(),
                    json!(prompt.front.description.unwrap_or_default()),
                );
                if !hint.is_empty() {
                    command.insert("input".to_owned(), json!({ "hint": hint }));
                }
                Value::Object(command)
            })
            .collect();
        let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
        self.peer
            .notify("session/update", json!({"sessionId": id, "update": update}))
            .await;
    }
}

fn mode(id: &str) -> Result<Mode, Failure> {
    serde_json::from_value(json!(id))
        .map_err(|_| Failure::params(format!("There is no mode {id:?}; there are agent, plan and ask.")))
}
