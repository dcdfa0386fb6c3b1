//! Countersign: an agent language server. `ARCHITECTURE.md` is the map.

pub mod account;
pub mod acp;
pub mod agent;
#[cfg(test)]
mod busy;
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
mod owners;
pub mod patch;
pub mod private;
pub mod protocol;
pub mod realtime;
mod regular;
pub mod rehearsal;
pub mod secrets;
pub mod server;
pub mod shown;
pub mod snapshot;
pub mod store;
pub mod telemetry;
mod token;
pub mod tools;
pub mod workspace;
