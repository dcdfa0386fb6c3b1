//! The exec layer with real processes and the real kernel: what must not get out, what must work inside, and what
//! becomes of a command that is stopped.

mod escapes;
pub(crate) mod fallback;
pub(crate) mod place;
mod programs;
mod robust;
mod running;
mod signals;
mod status;
mod streams;
mod terminal;
mod walls;
mod words;
