//! The servers of this process. Threads whose configuration says the same of a server share it.

use super::launch::Launch;
use super::logins::Logins;
use super::server::Server;
use crate::config::mcp::ServerSettings;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long the end of all servers may take.
const END_LIMIT: Duration = Duration::from_millis(3500);

#[derive(Default)]
pub struct Pool {
    servers: Mutex<Vec<Weak<Server>>>,
    tasks: TaskTracker,
    end: CancellationToken,
    logins: Logins,
}

impl Pool {
    /// Servers that are signed in to with these.
    pub fn new(logins: Logins) -> Self {
        Self {
            logins,
            ..Self::default()
        }
    }

    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    /// A login to a server has come or gone: those of this name begin anew.
    pub fn login_changed(&self, name: &str) {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<_> = servers.iter().filter_map(Weak::upgrade).collect();
        drop(servers);
        live.iter()
            .filter(|server| server.name == name)
            .for_each(Server::begin_anew);
    }

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
        let server = Server::new(
            name.to_owned(),
            settings.clone(),
            launch,
            tasks,
            end,
            self.logins.clone(),
        );
        let server = Arc::new(server);
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
        let all = async {
            self.tasks.wait().await;
            self.logins.ended().await;
        };
        if tokio::time::timeout(END_LIMIT, all).await.is_err() {
            tracing::error!("an MCP server had not ended when this server did");
        }
    }
}
