//! What the person has configured: layers of `config.toml`, the client and the project.

pub mod environment;
pub mod provider;
