//! Shared by the tests.
#![allow(dead_code, reason = "each topic uses what it needs")]

pub(crate) mod authority;
pub(crate) mod client;
pub(crate) mod collector;
pub(crate) mod editor;
pub(crate) mod git;
pub(crate) mod keyring;
pub(crate) mod mcp;
pub(crate) mod work;

/// Says aloud what this machine cannot show.
#[expect(
    clippy::print_stderr,
    reason = "a test that has nothing to say must not look as if it had"
)]
pub(crate) fn cannot(what: &str) {
    eprintln!("NOT SHOWN HERE: {what}");
}
