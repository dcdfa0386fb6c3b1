//! Running commands: may it run, confined how; start, stop, bounded output.
//!
//! `decide` gives the verdict, a pure function; `run` carries it out. The server starts its own program again, once, in
//! a role (`role`), which for each command forks a keeper that puts up the walls, starts the command inside and stays:
//! when the command ends, is stopped, or the server dies, nothing of the command survives. Which process forks which,
//! and what the walls are made of, is the affair of `linux`; `macos` is for that system; others refuse to run anything confined.
//!
//! A command that outlives the call that began it has a `terminal`; a program of the person's own that is talked to is a
//! `companion`.
//!
//! It leaves to others what the output means to the model, and who is asked.

mod answer;
pub mod command;
mod companion;
mod confinement;
pub mod decide;
mod denial;
mod environment;
pub mod git;
mod led_to;
#[cfg(target_os = "linux")]
mod linux;
mod macos;
mod named;
mod notifier;
mod output;
pub mod profile;
pub mod program;
mod protected;
mod proxy;
pub mod role;
pub mod rules;
mod run;
pub mod shell;
mod support;
pub mod terminal;
mod wrote;

pub use answer::answer_of;
pub use companion::{Companion, CompanionExit, CompanionOutput};
pub(crate) use confinement::resolve;
pub use confinement::{Closed, Confinement, KeptWalls, Looked};
pub use denial::{Denial, Missing};
pub use environment::{environment, for_companion, for_terminal, looks_secret, without_retries};
pub use led_to::{ALL, is_data, led_to};
#[cfg(target_os = "linux")]
pub(crate) use linux::peer_process;
pub use notifier::start_and_forget;
pub use output::{Excerpt, FullOutput, KEPT_OUTPUT, Stream, plain};
pub(crate) use protected::{LED_TO, Later, PROTECTED, git_folders, starts_of_home, way};
pub use protected::{acts_later, names_that_act, paths_that_act};
pub use proxy::Traffic;
pub(crate) use proxy::near;
pub use run::{CommandRequest, ExecError, Finished, Input, InputWriter, PipeEnd, run, self_program, use_program};
pub use support::{Support, Wall, can_confine, support};
pub use wrote::Wrote;
