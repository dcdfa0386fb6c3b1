//! Everything about LSP shapes: conversion both ways, what the client can do, error codes.
//!
//! Domain types know nothing of the wire; nothing here calls a handler.

pub mod client;
pub mod convert;
pub mod edit;
pub mod error;
