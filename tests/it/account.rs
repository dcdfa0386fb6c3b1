//! Signing in and out, and what is made of it: the real program, an authorization server and a model on this machine, and a
//! browser that a script drives.

mod cli;
mod keyring;
mod logins;
mod plain;
mod refused;
mod renewal;
mod scene;
mod secrets;
mod status;
