//! The rehearsal model: an OpenAI-compatible server that plays scripts.
