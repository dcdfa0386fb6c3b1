//! Those who hear of a thread's beginning and end, each once, however it ends: asked to, with the server, or because nobody
//! holds it any more.

use super::conversation::Conversation;
use super::services::Services;
use super::{notifier, servers};
use crate::config::Config;
use crate::protocol::settings::ThreadSettings;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long all may take together at a thread's end. Each is told, whatever those before it have left of it.
const LIMIT: Duration = Duration::from_secs(5);

/// A thread that begins: it is there, its first events are told, and no turn has run.
pub struct Beginning<'a> {
    pub services: &'a Arc<Services>,
    pub conversation: &'a Arc<Conversation>,
    pub config: &'a Config,
    pub settings: &'a ThreadSettings,
    pub cwd: &'a Path,
}

/// Something with a part in the life of every thread.
pub trait Contributor: Send + Sync {
    /// For the log.
    fn name(&self) -> &'static str;

    /// A thread begins. Must not wait.
    fn started(&self, _beginning: &Beginning<'_>) {}

    /// It ends: no turn runs or will. Its record still takes lines, and its stream events.
    fn stopped<'a>(&'a self, _services: &'a Services, _conversation: &'a Conversation) -> BoxFuture<'a, ()> {
        std::future::ready(()).boxed()
    }
}

/// All of them, in the order in which they are told.
pub struct Contributors(Vec<Arc<dyn Contributor>>);

impl Contributors {
    /// Our own, then others.
    pub fn with(others: Vec<Arc<dyn Contributor>>) -> Self {
        let mut all: Vec<Arc<dyn Contributor>> = vec![
            Arc::new(SubAgents),
            Arc::new(Realtime),
            Arc::new(Findings),
            Arc::new(Terminals),
            Arc::new(Servers),
            Arc::new(Notifier),
        ];
        all.extend(others);
        Self(all)
    }

    /// One that fails does not keep the others from hearing, nor the thread from beginning.
    pub(super) fn started(&self, beginning: &Beginning<'_>) {
        for contributor in &self.0 {
            let told = std::panic::catch_unwind(AssertUnwindSafe(|| contributor.started(beginning)));
            if told.is_err() {
                let (name, thread) = (contributor.name(), &beginning.conversation.id);
                tracing::error!(name, %thread, "a contributor panicked at the beginning of a thread");
            }
        }
    }

    /// Tells one after the other. One that fails or hangs does not keep the others from hearing.
    pub(super) async fn stopped(&self, services: &Services, conversation: &Conversation) {
        let end = tokio::time::Instant::now() + LIMIT;
        for contributor in &self.0 {
            let (name, thread) = (contributor.name(), &conversation.id);
            let work = AssertUnwindSafe(contributor.stopped(services, conversation)).catch_unwind();
            match tokio::time::timeout_at(end, work).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => tracing::error!(name, %thread, "a contributor panicked at the end of a thread"),
                Err(_) => tracing::error!(name, %thread, "a contributor was not done with the end of a thread in time"),
            }
        }
    }
}

/// Threads that this one's model has started end before anything that they may use.
struct SubAgents;

impl Contributor for SubAgents {
    fn name(&self) -> &'static str {
        "sub-agents"
    }

    fn stopped<'a>(&'a self, services: &'a Services, conversation: &'a Conversation) -> BoxFuture<'a, ()> {
        services.agents.ended(&conversation.id).boxed()
    }
}

/// Nobody speaks in a thread that is over.
struct Realtime;

impl Contributor for Realtime {
    fn name(&self) -> &'static str {
        "realtime"
    }

    fn stopped<'a>(&'a self, _services: &'a Services, conversation: &'a Conversation) -> BoxFuture<'a, ()> {
        conversation.voice.end_thread().boxed()
    }
}

/// What reviews found goes with its thread.
struct Findings;

impl Contributor for Findings {
    fn name(&self) -> &'static str {
        "findings"
    }

    fn stopped<'a>(&'a self, services: &'a Services, conversation: &'a Conversation) -> BoxFuture<'a, ()> {
        services.findings.close(&conversation.id);
        std::future::ready(()).boxed()
    }
}

/// So do the commands that outlived their calls.
struct Terminals;

impl Contributor for Terminals {
    fn name(&self) -> &'static str {
        "terminals"
    }

    fn stopped<'a>(&'a self, services: &'a Services, conversation: &'a Conversation) -> BoxFuture<'a, ()> {
        services.terminals.end_thread(&conversation.id).boxed()
    }
}

/// MCP servers begin with the thread; those that no other thread has end with it.
struct Servers;

impl Contributor for Servers {
    fn name(&self) -> &'static str {
        "MCP servers"
    }

    fn started(&self, beginning: &Beginning<'_>) {
        servers::begin(
            beginning.services,
            beginning.conversation,
            beginning.config,
            beginning.cwd,
        );
    }

    fn stopped<'a>(&'a self, _services: &'a Services, conversation: &'a Conversation) -> BoxFuture<'a, ()> {
        conversation.servers.release();
        std::future::ready(()).boxed()
    }
}

/// The person's own program, which is told of turns that end.
struct Notifier;

impl Contributor for Notifier {
    fn name(&self) -> &'static str {
        "notifier"
    }

    fn started(&self, beginning: &Beginning<'_>) {
        // What a sub-agent has done is its starter's to tell.
        if beginning.conversation.agent.is_none() {
            notifier::attach(beginning.services, beginning.conversation, beginning.config);
        }
    }
}
