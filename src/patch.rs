//! Patches, as pure functions: parse, find the place, plan, split into hunks, rebase.
