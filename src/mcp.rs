//! MCP servers: programs and services of the person's choice that bring tools and resources, spoken to by the Model
//! Context Protocol. They run with the person's rights, outside the sandbox.
//!
//! A [`Server`] is started when it is first wanted and shared by all threads whose configuration says the same of it
//! ([`Pool`]). What is wrong with one server, one tool or one schema is that one's affair.
//!
//! It leaves to others whether a call may be made, who is asked, and how it is shown.

/// Where the SDK's own log lines come from: they carry what servers send.
pub const SDK_LOG: &str = "rmcp";

mod authority;
mod caller;
mod code;
mod connection;
mod failure;
mod launch;
mod listening;
mod login;
mod logins;
mod masks;
pub mod names;
mod over_http;
mod pin;
mod pool;
pub mod result;
mod schema;
mod seen;
mod server;
mod tool;
pub mod untrusted;

pub use caller::{Caller, Progress, Question};
pub use connection::{Connection, RequestError};
pub use failure::{StartError, shown_name};
pub use launch::Launch;
pub use login::{Begun, LoginError, begin};
pub use logins::{FILE as LOGINS, Logins, LoginsError};
pub use pin::Pinned;
pub use pool::Pool;
pub use seen::{allow, allow_refused};
pub use server::{Server, State, UseError};
pub use tool::ToolInfo;
