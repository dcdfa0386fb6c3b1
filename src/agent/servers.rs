//! The MCP servers of a thread: begun with it, told of, taken up by its turns, let go with it.
//!
//! A refresh only says which servers are wanted from now on; the next turn takes them up. A turn that runs keeps its own.

mod ask;
mod call;
mod elicitations;
mod list;

pub use ask::AllowedTools;
pub(super) use ask::may_read;
pub use call::call;
pub use elicitations::Elicitations;
pub use list::{Named, list, page, read};

use super::conversation::Conversation;
use super::services::Services;
use super::turn::Turn;
use crate::config::Config;
use crate::config::mcp::ServerSettings;
use crate::mcp::{Launch, Server, State, shown_name};
use crate::protocol::event::{ErrorEvent, EventKind, McpStatusChanged, Warning};
use crate::protocol::mcp::McpServerStatus;
use crate::protocol::turn::{TurnError, TurnErrorKind};
use crate::tools::{Tool, mcp_resources, server_tool};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// How long a turn waits for servers that still start. What comes later is there in a later round.
const START_PATIENCE: Duration = Duration::from_secs(3);

/// What a thread has of servers.
#[derive(Default)]
pub struct ThreadServers {
    state: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    servers: Vec<Member>,
    /// What the next turn is to have.
    wanted: Option<Wanted>,
    /// The thread is over.
    released: bool,
}

struct Member {
    server: Arc<Server>,
    /// Tells the thread how it is.
    _report: AbortOnDropHandle<()>,
}

struct Wanted {
    settings: BTreeMap<String, ServerSettings>,
    cwd: PathBuf,
    /// Variables that hold keys.
    keys: Vec<String>,
}

impl Wanted {
    fn new(config: &Config, cwd: &Path) -> Self {
        Self {
            settings: config.mcp_servers.clone(),
            cwd: cwd.to_owned(),
            keys: config.provider_variables().map(str::to_owned).collect(),
        }
    }

    fn servers(&self, services: &Services) -> Vec<Arc<Server>> {
        let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
        let server = |(name, settings): (&String, &ServerSettings)| {
            let launch = Launch::new(settings, &self.cwd, &services.home, &services.env, &keys);
            services.servers.get(name, settings, launch)
        };
        self.settings.iter().map(server).collect()
    }
}

impl ThreadServers {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The servers as they are now.
    pub fn servers(&self) -> Vec<Arc<Server>> {
        self.lock().servers.iter().map(|member| member.server.clone()).collect()
    }

    /// Lets all go; those that no other thread has end.
    pub fn release(&self) {
        let mut held = self.lock();
        held.released = true;
        held.wanted = None;
        let servers = std::mem::take(&mut held.servers);
        drop(held);
        drop(servers);
    }
}

/// Starts the servers that a new thread has, side by side and in the background.
pub(super) fn begin(services: &Services, conversation: &Arc<Conversation>, config: &Config, cwd: &Path) {
    want(conversation, config, cwd);
    take_up(services, conversation);
}

/// From the next turn on the thread has the servers of this configuration. Where it cannot be read the thread goes on with
/// those it has, and is told.
pub fn want(conversation: &Conversation, config: &Config, cwd: &Path) {
    if let Some(problem) = &config.mcp_problem {
        let message = format!(
            "The conversation continues without the MCP servers of this configuration. {} Fix it, then have the servers read \
             again or start a new conversation.",
            problem.in_words()
        );
        let error = failure(message);
        conversation.stream.publish(
            None,
            EventKind::Error(ErrorEvent {
                error,
                realtime_id: None,
            }),
        );
        return;
    }
    let wanted = Wanted::new(config, cwd);
    let mut held = conversation.servers.lock();
    if !held.released {
        held.wanted = Some(wanted);
    }
}

/// The servers that this configuration names, which are not started by being looked up.
pub fn configured(services: &Services, config: &Config, cwd: &Path) -> Vec<Arc<Server>> {
    Wanted::new(config, cwd).servers(services)
}

/// The servers of a turn that begins.
pub(super) fn take_up(services: &Services, conversation: &Arc<Conversation>) -> Arc<[Arc<Server>]> {
    let wanted = conversation.servers.lock().wanted.take();
    if let Some(wanted) = wanted {
        let servers = wanted.servers(services);
        let mut held = conversation.servers.lock();
        if held.released {
            // The thread ended meanwhile.
            return Vec::new().into();
        }
        let mut before = std::mem::take(&mut held.servers);
        held.servers = servers
            .into_iter()
            .map(|server| {
                let known = before.iter().position(|member| Arc::ptr_eq(&member.server, &server));
                // One that did not start is tried again.
                server.start();
                match known {
                    Some(at) => before.swap_remove(at),
                    None => {
                        let report = report(Arc::downgrade(conversation), server.name.clone(), server.watch());
                        let _report = AbortOnDropHandle::new(tokio::spawn(report));
                        Member { server, _report }
                    }
                }
            })
            .collect();
        drop(held);
        // Outside of the lock: the last who lets a server go ends it.
        drop(before);
    }
    conversation.servers.servers().into()
}

/// Tells a thread how a server is, now and after each change.
async fn report(conversation: Weak<Conversation>, server: String, mut watch: tokio::sync::watch::Receiver<State>) {
    loop {
        let State { status, problem } = watch.borrow_and_update().clone();
        let Some(conversation) = conversation.upgrade() else {
            return;
        };
        let error = problem.as_deref().map(str::to_owned);
        let changed = McpStatusChanged {
            server: server.clone(),
            status,
            error: error.clone(),
        };
        let stream = &conversation.stream;
        // For those who watch, not for the record: a thread without a turn leaves nothing behind.
        stream.publish(None, EventKind::McpStatusChanged(changed));
        match (status, error) {
            (McpServerStatus::Failed, Some(message)) => {
                stream.publish(
                    None,
                    EventKind::Error(ErrorEvent {
                        error: failure(message),
                        realtime_id: None,
                    }),
                );
            }
            (McpServerStatus::Lost, Some(message)) => {
                stream.publish(None, EventKind::Warning(Warning { message }));
            }
            _ => {}
        }
        drop(conversation);
        if watch.changed().await.is_err() {
            return;
        }
    }
}

fn failure(message: String) -> TurnError {
    TurnError {
        message,
        kind: TurnErrorKind::ToolServerFailed,
        http_status: None,
        actions: Vec::new(),
    }
}

/// Waits for the servers of a turn that still start, not for long; for those that it cannot do without, as long as it takes.
///
/// # Errors
/// One of those did not start.
pub(super) async fn ready(turn: &Turn) -> Result<(), TurnError> {
    let (required, others): (Vec<_>, Vec<_>) = turn.servers.iter().partition(|server| server.settings.required);
    let others = futures::future::join_all(others.iter().map(|server| server.started()));
    let wait = async {
        let (states, _in_time) = tokio::join!(
            futures::future::join_all(required.iter().map(|server| server.started())),
            tokio::time::timeout(START_PATIENCE, others),
        );
        states
    };
    let states = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => return Ok(()),
        states = wait => states,
    };
    let failed = states.into_iter().find(|state| state.status == McpServerStatus::Failed);
    match failed.and_then(|state| state.problem) {
        Some(problem) => Err(failure(format!(
            "{problem} The configuration says that it is required, so the turn did not begin."
        ))),
        None => Ok(()),
    }
}

impl Turn {
    /// The tools that the turn's servers have at this moment.
    pub(super) fn server_tools(&self) -> Vec<Arc<dyn Tool>> {
        let server_tool::Offered { mut tools, left_out } = server_tool::all(&self.servers);
        tools.extend(mcp_resources::all(&self.servers));
        if !left_out.is_empty() && !std::mem::replace(&mut self.conversation.data().told_tools_left_out, true) {
            let all: usize = left_out.iter().map(|(_, count)| count).sum();
            let of_each: Vec<String> = left_out
                .iter()
                .map(|(server, count)| format!("{count} of {}", shown_name(server)))
                .collect();
            self.warn(format!(
                "The MCP servers bring more tools than a request can carry; {all} of them are not offered to the model ({}). Say \
                 in config.toml which ones you need (enabled_tools), or switch servers off (enabled = false).",
                of_each.join(", ")
            ));
        }
        tools
    }
}
