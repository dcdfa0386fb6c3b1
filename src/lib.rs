//! Countersign: an agent language server. `ARCHITECTURE.md` is the map.

pub mod agent;
pub mod chat;
pub mod cli;
pub mod config;
pub mod exec;
pub mod handlers;
pub mod ids;
pub mod lsp;
pub mod mcp;
pub mod model;
pub mod patch;
pub mod protocol;
pub mod rehearsal;
pub mod server;
pub mod snapshot;
pub mod store;
pub mod tools;
pub mod workspace;
