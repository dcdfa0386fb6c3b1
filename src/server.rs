//! The language server: transport, life cycle, method table, everything we send on our own.
