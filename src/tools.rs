//! What the model can do: one capability a file, one registry.
