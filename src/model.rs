//! The model layer: one provider's wire, its stream, and the retry of transient failures.

pub mod item;
