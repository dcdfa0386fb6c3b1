//! Conversations in a chat document: an editor without a plugin, the real server behind it.

mod again;
mod commands;
mod journey;
mod mend;
mod pace;
mod person;
pub(crate) mod room;
mod shape;
