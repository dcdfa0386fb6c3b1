//! One request in, one answer out.
//!
//! A handler converts, asks and converts back. None waits for a model or a person; what takes long is begun here and told
//! in notifications. Only `one_off` waits for a process, which is what it is asked for, `sandbox` for the
//! moment in which walls are tried, and `feedback` a bounded time for whoever takes a report.

pub mod account;
pub mod approval;
pub mod chat;
pub mod code_action;
pub mod code_lens;
pub mod command;
pub mod config;
pub mod document;
pub mod feedback;
pub mod file;
pub mod git;
pub mod guardian;
pub mod history;
pub mod lifecycle;
pub mod mcp;
pub mod model;
pub mod one_off;
pub mod permission;
pub mod progress;
pub mod prompt;
pub mod proposal;
pub mod question;
pub mod queue;
pub mod realtime;
pub mod review;
pub mod sandbox;
pub mod settings_file;
pub mod terminal;
pub mod thread;
pub mod turn;
pub mod undo;

use crate::agent::AgentError;
use crate::lsp::client::Client;
use crate::lsp::error::RequestError;
use crate::server::outbound::Outbound;
use crate::server::run::Setup;
use crate::server::session::Session;
use crate::server::stop::{Stop, Teardown};
use crate::workspace::Workspace;
use lsp_types::{LogMessageParams, MessageType, ShowMessageParams};
use std::collections::HashSet;
use std::sync::{Mutex, OnceLock};

/// What every handler can reach. Each part is its own handle; nothing here is a lock around the rest.
pub struct Context {
    pub setup: Setup,
    pub workspace: Workspace,
    pub outbound: Outbound,
    pub stop: Stop,
    pub teardown: Teardown,
    /// Set once, by `initialize`.
    session: OnceLock<Session>,
    /// What was shown or noted already, by what it is about.
    shown: Mutex<HashSet<String>>,
}

impl Context {
    pub fn new(setup: Setup, outbound: Outbound, stop: Stop) -> Self {
        Self {
            setup,
            workspace: Workspace::new(),
            outbound,
            stop,
            teardown: Teardown::default(),
            session: OnceLock::new(),
            shown: Mutex::default(),
        }
    }

    /// The client; before `initialize` one that can do nothing.
    pub fn client(&self) -> &Client {
        static NOBODY: OnceLock<Client> = OnceLock::new();
        self.session
            .get()
            .map_or_else(|| NOBODY.get_or_init(Client::default), Session::client)
    }

    /// What serves the client. The transport lets no request through before `initialize`.
    pub fn session(&self) -> Result<&Session, RequestError> {
        self.session
            .get()
            .ok_or_else(|| RequestError::internal("a request came before initialize".to_owned()))
    }

    /// Takes the session that `initialize` made; the first one stays.
    pub(crate) fn begin(&self, session: Session) -> Result<(), RequestError> {
        let twice = |_| RequestError::internal("initialize reached its handler twice".to_owned());
        self.session.set(session).map_err(twice)
    }

    /// A line in the client's log.
    pub fn log(&self, typ: MessageType, message: impl Into<String>) {
        self.outbound.notify(
            "window/logMessage",
            LogMessageParams {
                typ,
                message: message.into(),
            },
        );
    }

    /// A message for the person.
    pub fn show(&self, typ: MessageType, message: impl Into<String>) {
        self.outbound.notify(
            "window/showMessage",
            ShowMessageParams {
                typ,
                message: message.into(),
            },
        );
    }

    /// Shows a message unless one about the same thing was shown before in this session.
    pub fn show_once(&self, about: &str, typ: MessageType, message: impl Into<String>) {
        if self.is_news(about) {
            self.show(typ, message);
        }
    }

    /// Whether nothing was said about this before in this session, nor noted.
    pub fn is_news(&self, about: &str) -> bool {
        let mut shown = self.shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        shown.insert(about.to_owned())
    }
}

impl From<AgentError> for RequestError {
    fn from(error: AgentError) -> Self {
        Self::failed(error.kind(), error.to_string())
    }
}
