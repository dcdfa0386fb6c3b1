//! The servers of this process. Threads whose configuration says the same of a server share it.

use super::launch::Launch;
use super::server::Server;
use crate::config::mcp::ServerSettings;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long the end of all servers may take.
const END_LIMIT: Duration = Duration::from_millis(3500);

#[derive(Default)]
pub struct Shelf {
    servers: Mutex<Vec<Weak<Server>>>,
    tasks: TaskTracker,
    end: CancellationToken,
}

impl Shelf {
    /// The server that is reached like this; it is not started by being looked up.
    pub fn get(&self, name: &str, settings: &ServerSettings, launch: Launch) -> Arc<Server> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.retain(|server| server.strong_count() > 0);
        let known = servers.iter().filter_map(Weak::upgrade);
        let is_same =
            |server: &Arc<Server>| server.name == name && server.settings == *settings && server.launch == launch;
        if let Some(server) = known.into_iter().find(is_same) {
            return server;
        }
        let (tasks, end) = (self.tasks.clone(), self.end.clone());
        let server = Arc::new(Server::new(name.to_owned(), settings.clone(), launch, tasks, end));
        servers.push(Arc::downgrade(&server));
        server
    }

    /// Tells all servers to end, and waits for that, within a bound. From then on none is started.
    pub async fn close(&self) {
        self.end.cancel();
        let servers = std::mem::take(&mut *self.servers.lock().unwrap_or_else(PoisonError::into_inner));
        for server in servers.iter().filter_map(Weak::upgrade) {
            server.end_now();
        }
        self.tasks.close();
        if tokio::time::timeout(END_LIMIT, self.tasks.wait()).await.is_err() {
            tracing::error!("a tool server had not ended when this server did");
        }
    }
}
