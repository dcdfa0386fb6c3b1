//! Threads on disk: rollout files and the list of them.
