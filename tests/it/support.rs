//! Shared by the tests.
#![allow(dead_code, reason = "each topic uses what it needs")]

pub(crate) mod authority;
pub(crate) mod client;
pub(crate) mod collector;
pub(crate) mod editor;
pub(crate) mod git;
pub(crate) mod mcp;
pub(crate) mod work;
