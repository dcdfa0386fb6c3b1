//! The rehearsal model: an OpenAI-compatible server that plays scripts, over real HTTP.
//!
//! It serves the demonstration, the tests, plugin authors and bug reports. `docs/rehearsal.md` describes the scripts.
//! It knows nothing of our client: it is the other side, and holds requests to the provider's rules.

mod chat;
mod line;
mod play;
mod realtime;
pub mod recorded;
mod responses;
pub mod script;
mod select;
mod server;
mod template;
mod wire;

pub use realtime::Call;
pub use recorded::Recorded;
pub use script::{Script, ScriptError};
#[cfg(test)]
pub(crate) use server::Indoors;
pub use server::{Running, Server};
