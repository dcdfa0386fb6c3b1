//! Countersign: an agent language server. `ARCHITECTURE.md` is the map.

pub mod account;
pub mod acp;
pub mod agent;
pub mod chat;
pub mod cli;
pub mod config;
pub mod exec;
pub mod feedback;
pub mod handlers;
pub mod ids;
pub mod keyring;
pub mod lsp;
pub mod mcp;
pub mod model;
pub mod patch;
pub mod protocol;
pub mod realtime;
pub mod rehearsal;
pub mod secrets;
pub mod server;
pub mod snapshot;
pub mod store;
pub mod telemetry;
pub mod tools;
pub mod workspace;
