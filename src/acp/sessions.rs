//! Sessions: begun, loaded, listed, closed, and prompted.

use super::commands::{self, Command};
use super::error::{Failure, INTERNAL};
use super::flight::Taken;
use super::serve::{Server, cancelled, named};
use super::session::Session;
use super::{auth, input, options, replay, servers, update};
use crate::agent::thread::{Start, Started, ThreadHandle};
use crate::agent::{Opened, undo};
use crate::chat::window;
use crate::config::prompts::{Prompt, Prompts};
use crate::ids::{ItemId, ThreadId};
use crate::protocol::item::UserInput;
use crate::protocol::settings::SettingsOverride;
use crate::protocol::thread::{ThreadListParams, ThreadResumeParams, ThreadStartParams};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Where a session works.
struct Folders {
    cwd: PathBuf,
    /// Its folder and those beside it. They are this session's and nobody else's.
    roots: Vec<PathBuf>,
}

impl Folders {
    /// # Errors
    /// One is not named by an absolute path, or is not there; which.
    async fn of(params: &Value) -> Result<Self, Failure> {
        let params = params.clone();
        apart(move || Self::read(&params)).await?
    }

    fn read(params: &Value) -> Result<Self, Failure> {
        let cwd = folder(&params["cwd"], "`cwd`")?;
        let more = match &params["additionalDirectories"] {
            Value::Null => Vec::new(),
            Value::Array(more) => more.clone(),
            _ => return Err(Failure::params("`additionalDirectories` must be a list of folders.")),
        };
        let mut roots = vec![cwd.clone()];
        for one in &more {
            let root = folder(one, "Each of `additionalDirectories`")?;
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        Ok(Self { cwd, roots })
    }

    fn settings(&self) -> SettingsOverride {
        SettingsOverride {
            cwd: Some(self.cwd.clone()),
            runtime_workspace_roots: Some(self.roots.clone()),
            ..SettingsOverride::default()
        }
    }
}

fn folder(value: &Value, what: &str) -> Result<PathBuf, Failure> {
    let path = value.as_str().map(PathBuf::from).filter(|path| path.is_absolute());
    let path = path.ok_or_else(|| Failure::params(format!("{what} must be the absolute path of a folder.")))?;
    match path.is_dir() {
        true => Ok(path),
        false => Err(Failure::params(format!(
            "{} is no folder. Name one that is there.",
            path.display()
        ))),
    }
}

impl Server {
    pub(super) async fn new_session(&self, params: &Value) -> Result<Value, Failure> {
        let offered = servers::offered(&params["mcpServers"])?;
        let folders = Folders::of(params).await?;
        auth::required(self, &folders.cwd).await?;
        let start = ThreadStartParams {
            settings: folders.settings(),
            ..ThreadStartParams::default()
        };
        let Opened { handle, .. } = self.agent.start_thread(start).await?;
        self.offer(handle.id(), offered);
        let mut result = options::state(&self.agent, &handle).await;
        result["sessionId"] = json!(handle.id());
        self.add(handle);
        Ok(result)
    }

    fn add(&self, handle: ThreadHandle) {
        let id = handle.id().clone();
        self.files.add_session(&id);
        let (peer, agent, client) = (&self.peer, &self.agent, self.client());
        self.sessions()
            .entry(id)
            .or_insert_with(|| Session::begin(peer, agent, client, handle));
    }

    /// With `tell` the conversation so far is told before the answer.
    pub(super) async fn load(&self, params: &Value, tell: bool, stop: &CancellationToken) -> Result<Value, Failure> {
        let offered = servers::offered(&params["mcpServers"])?;
        let id = named(params)?;
        let folders = Folders::of(params).await?;
        let resume = ThreadResumeParams {
            thread_id: Some(id.clone()),
            settings: folders.settings(),
            ..ThreadResumeParams::default()
        };
        let was_live = self.agent.thread(&id).is_some();
        let Opened { handle, .. } = self.agent.resume_thread(resume).await?;
        if *handle.id() != id {
            // A file of another program goes on in a copy, which the client does not know.
            self.agent.close_thread(handle.id()).await;
            return Err(Failure::no_session(id.as_str()));
        }
        self.offer(&id, offered);
        let told = self.bring(&handle, tell, stop).await;
        match &told {
            Ok(_) => self.add(handle),
            // Nobody has it: it would keep its file from whoever loads it next.
            Err(_) if !was_live => self.agent.close_thread(&id).await,
            Err(_) => {}
        }
        told
    }

    /// Gives the client what it is to see of a loaded thread.
    async fn bring(&self, handle: &ThreadHandle, tell: bool, stop: &CancellationToken) -> Result<Value, Failure> {
        if tell {
            let thread = handle.snapshot(true);
            for update in replay::updates(&thread.turns) {
                if stop.is_cancelled() {
                    return Err(cancelled());
                }
                let params = json!({"sessionId": handle.id(), "update": update});
                self.peer.notify("session/update", params).await;
            }
        }
        Ok(options::state(&self.agent, handle).await)
    }

    /// Stops what a session does and lets go of it; it can be loaded again.
    pub(super) async fn close(&self, params: &Value) -> Result<Value, Failure> {
        let session = self.session(params)?;
        self.agent.close_thread(session.thread.id()).await;
        self.forget(session.thread.id());
        Ok(json!({}))
    }

    /// Deletes a session for good, whether it is open or not.
    pub(super) async fn delete(&self, params: &Value) -> Result<Value, Failure> {
        let id = named(params)?;
        let deleted = self.agent.delete_thread(&id).await;
        self.forget(&id);
        deleted?;
        Ok(json!({}))
    }

    fn forget(&self, id: &ThreadId) {
        self.sessions().remove(id);
        self.take_offered(id);
        self.files.remove_session(id);
    }

    pub(super) async fn list(&self, params: &Value) -> Result<Value, Failure> {
        let wanted = ThreadListParams {
            cursor: params["cursor"].as_str().map(str::to_owned),
            cwd: params["cwd"].as_str().map(PathBuf::from),
            model_providers: Some(Vec::new()),
            ..ThreadListParams::default()
        };
        let agent = self.agent.clone();
        let listed = apart(move || agent.list_threads(&wanted)).await??;
        let sessions: Vec<Value> = listed
            .data
            .iter()
            .map(|thread| {
                let title = update::line(thread.name.as_deref().unwrap_or(&thread.preview));
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

    pub(super) async fn prompt(&self, params: &Value, taken: &Taken) -> Result<Option<Value>, Failure> {
        let session = self.session(params)?;
        let mut content = input::input(&params["prompt"], self.files.reads())?;
        tokio::select! {
            admitted = self.admit_offered(&session.thread) => admitted?,
            () = taken.stop.cancelled() => return Ok(Some(json!({"stopReason": "cancelled"}))),
        }
        let order = session.thread.in_order().await;
        self.agent.follow_config(&session.thread).await;
        match self.command_in(&session.thread, &content).await {
            None => {}
            Some(Command::Init) => {
                content = vec![UserInput::Text {
                    text: commands::INIT_WORDS.to_owned(),
                }];
            }
            Some(Command::Context) => {
                drop(order);
                let thread = session.thread.clone();
                let context = apart(move || thread.context()).await?;
                let words = window::block(&context);
                let update = update::piece("agent_message_chunk", &ItemId::fresh(), &words);
                let params = json!({"sessionId": session.thread.id(), "update": update});
                self.peer.notify("session/update", params).await;
                return Ok(Some(json!({"stopReason": "end_turn"})));
            }
            Some(command) => {
                drop(order);
                let started = match command {
                    Command::Review(target) => session.thread.review(target).await?,
                    Command::Undo => session.thread.undo(undo::Request::default()).await?,
                    Command::Compact | Command::Context | Command::Init => session.thread.compact().await?,
                };
                self.answer_with_end(&session, started, taken);
                return Ok(None);
            }
        }
        session.thread.check_prompt(&content).await?;
        let mentioned = content.iter().filter_map(|input| match input {
            UserInput::Mention { path, .. } => Some(path.clone()),
            _ => None,
        });
        self.files.look_for(session.thread.id(), mentioned.collect()).await;
        if taken.stop.is_cancelled() {
            return Ok(Some(json!({"stopReason": "cancelled"})));
        }
        let start = Start {
            content: content.clone(),
            ..Start::default()
        };
        let started = session.thread.start_turn_in(order, start).await?;
        session.thread.keep_typed(&content);
        self.answer_with_end(&session, started, taken);
        Ok(None)
    }

    /// A prompt is answered with the end of a turn.
    fn answer_with_end(&self, session: &Session, started: Started, taken: &Taken) {
        // Before the turn may begin, so that its end finds the prompt.
        session.wait_for(&self.peer, &started.turn.id, taken.id.clone());
        if taken.stop.is_cancelled() {
            session.interrupt(Some(started.turn.id.clone()));
        }
        drop(started);
    }

    /// The command of ours that an input is; a prompt of the person's with its name comes first.
    async fn command_in(&self, thread: &ThreadHandle, content: &[UserInput]) -> Option<Command> {
        let (name, command) = commands::read(content)?;
        let prompts = self.prompts(thread.settings().cwd).await;
        prompts.iter().all(|prompt| prompt.name != name).then_some(command)
    }

    /// The person's prompts, and those of a folder's project.
    async fn prompts(&self, cwd: PathBuf) -> Vec<Prompt> {
        let agent = self.agent.clone();
        let read = apart(move || {
            let config = agent.load_config(Some(&cwd), None).ok()?.config;
            Some(Prompts::read(&config, &agent.services().home).all)
        });
        read.await.ok().flatten().unwrap_or_default()
    }

    pub(super) async fn set_mode(&self, params: &Value) -> Result<Value, Failure> {
        let session = self.session(params)?;
        let change = options::mode(&params["modeId"], &session.thread.settings())?;
        session.thread.update_settings(change).await?;
        Ok(json!({}))
    }

    pub(super) async fn set_model(&self, params: &Value) -> Result<Value, Failure> {
        let change = options::model(&params["modelId"])?;
        self.session(params)?.thread.update_settings(change).await?;
        Ok(json!({}))
    }

    pub(super) async fn set_option(&self, params: &Value) -> Result<Value, Failure> {
        let session = self.session(params)?;
        let change = options::change(&params["configId"], &params["value"], &session.thread.settings())?;
        session.thread.update_settings(change).await?;
        let state = options::state(&self.agent, &session.thread).await;
        Ok(json!({"configOptions": state["configOptions"]}))
    }

    /// What begins with a slash.
    pub(super) async fn tell_commands(self: &Arc<Self>, id: ThreadId, params: &Value) {
        let Some(cwd) = params["cwd"].as_str().map(PathBuf::from) else {
            return;
        };
        let commands = commands::all(&self.prompts(cwd).await);
        let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
        self.peer
            .notify("session/update", json!({"sessionId": id, "update": update}))
            .await;
    }
}

/// Does what reads the disk where that holds nobody up.
pub(super) async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new(INTERNAL, format!("What was asked for broke off: {error}.")))
}
