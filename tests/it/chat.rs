//! Conversations in a chat document: an editor without a plugin, the real server behind it.

mod journey;
mod mend;
mod person;
mod room;
mod shape;
