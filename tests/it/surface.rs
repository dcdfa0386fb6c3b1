//! What an editor without our plugin gets: code actions, commands, progress, questions, edits. All by standard LSP, with
//! the recorded abilities of real editors.

mod actions;
mod asking;
mod failed;
mod hints;
mod inputs;
mod one_off;
mod plain;
mod preview;
mod progress;
mod prompts;
mod questions;
mod review;
mod slow_disk;
mod undo;
mod waiting;
