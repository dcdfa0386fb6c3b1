//! One request in, one answer out.
//!
//! A handler converts, asks and converts back. None waits for a model, a person or a process; what takes long is
//! begun here and told in notifications.

pub mod command;
pub mod document;
pub mod session;

use crate::lsp::client::Client;
use crate::server::outbound::Outbound;
use crate::server::run::Setup;
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
    client: OnceLock<Client>,
    /// Messages that were shown already, by what they are about.
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
            client: OnceLock::new(),
            shown: Mutex::default(),
        }
    }

    /// The client; before `initialize` one that can do nothing.
    pub fn client(&self) -> &Client {
        static NOBODY: OnceLock<Client> = OnceLock::new();
        self.client.get().unwrap_or_else(|| NOBODY.get_or_init(Client::default))
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
        let mut shown = self.shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if shown.insert(about.to_owned()) {
            drop(shown);
            self.show(typ, message);
        }
    }
}
