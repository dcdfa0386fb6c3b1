//! The Agent Client Protocol over standard input and output: the same agent for editors that bring a chat of their own, such
//! as Zed and those of JetBrains.
//!
//! A session of the client's is a thread. What the client lets us do decides how a thing is done: its buffers are read and
//! written where it offers them, its person is asked by `session/request_permission`, and silence is no yes.

mod auth;
mod commands;
mod elicit;
mod error;
mod files;
mod flight;
mod input;
mod lanes;
mod options;
mod peer;
mod permission;
mod replay;
mod serve;
mod servers;
mod session;
mod sessions;
mod update;
mod way;

pub use serve::{Setup, run};
