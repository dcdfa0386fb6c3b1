//! The custom protocol: every type that crosses the wire under `countersign/…`.
//!
//! These Rust types are the single source. JSON Schema (`docs/protocol.schema.json`), TypeScript
//! (`editors/vscode/src/protocol.ts`) and the reference page (`docs/protocol.md`) are generated from them.
//! They are plain data and know nothing of LSP, of tower-lsp or of the rooms that fill them; the agent's
//! events are made of them too, so that what is shown, what is recorded and what is sent cannot drift.
//!
//! Conventions: camelCase, ids as strings, times in milliseconds since the Unix epoch (`…Ms`), lines counted
//! from 0, line ranges half open. An absent optional field means "no change" in requests and "not known" in answers.

pub mod account;
pub mod agent;
pub mod approval;
pub mod command;
pub mod config;
pub mod context;
pub mod document;
pub mod error;
pub mod event;
pub mod feedback;
pub mod file;
#[cfg(test)]
mod generate;
pub mod git;
pub mod guardian;
pub mod history;
pub mod item;
pub mod mcp;
pub mod method;
pub mod model;
pub mod order;
pub mod permission;
pub mod prompt;
pub mod proposal;
pub mod question;
pub mod queue;
pub mod realtime;
pub mod review;
pub mod sandbox;
pub mod settings;
pub mod terminal;
pub mod thread;
pub mod tool;
pub mod turn;
pub mod undo;
