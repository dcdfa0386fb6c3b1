//! Running commands: may it run, confined how; start, stop, bounded output.
//!
//! `decide` gives the verdict, a pure function; `run` carries it out. The server starts its own program again in
//! a role (`role`), which puts up the walls around itself, starts the command inside and stays as its keeper:
//! when the command ends, is stopped, or the server dies, nothing of the command survives. What the walls are
//! made of is the affair of `linux`; other systems refuse to run anything confined.
//!
//! It leaves to others what the output means to the model, and who is asked.

pub mod command;
mod confinement;
pub mod decide;
mod denial;
mod environment;
pub mod git;
#[cfg(target_os = "linux")]
mod linux;
mod output;
mod protected;
pub mod role;
pub mod rules;
mod run;
mod support;

pub use confinement::{Confinement, Looked};
pub use denial::Denial;
pub use environment::{environment, looks_secret};
pub use output::{KEPT_OUTPUT, Stream};
pub(crate) use protected::PROTECTED;
pub use run::{CommandRequest, ExecError, Finished, run, self_program, use_program};
pub use support::{Support, Wall, support};
