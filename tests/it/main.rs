//! All tests that run the real program or several rooms together, in one binary: it links once and the
//! support is shared. One file a topic.

mod account;
mod acp;
mod agent;
mod apply_patch;
mod attacks;
mod bare;
#[path = "../../src/busy.rs"]
mod busy;
mod chat;
mod cli;
mod config;
mod crash;
mod demo;
mod doctor;
mod editor_config;
mod exec;
mod files;
mod headless;
mod hostile;
mod model;
mod packed;
mod patch;
mod protocol;
mod rules;
mod server;
mod store;
mod support;
mod surface;
mod tidy;
