//! Patches, as pure functions: parse, find the place, plan, split into hunks, rebase.
//!
//! The way of a patch: [`recognise`] finds it in a command, [`parse`] reads it, [`plan`](plan::plan) fits it to one
//! snapshot of the [`files`], [`hunk`]s are what the person decides on, [`rebase`] follows the text while the person
//! types, and [`disk`] writes the closed files, all or none. Every format of patch text ends in the same
//! [`parse::Patch`]; tools that change one file in a call ask for an [`edit`]. There is one way to plan and to apply both.
//!
//! Who is asked, where it may be written and how it is shown are decided elsewhere.

pub mod alike;
pub(crate) mod any_path;
pub mod diff;
pub mod disk;
pub mod edit;
pub mod files;
pub mod hunk;
mod lines;
pub mod parse;
pub mod plan;
pub mod rebase;
pub mod recognise;
#[cfg(test)]
mod roundtrip;
mod seek;
pub mod turn_diff;
mod update;

/// Some lines of a text, counted from 0, with their ends; what is beyond its end is left out.
pub fn lines_of(text: &str, lines: std::ops::Range<usize>) -> &str {
    lines::Lines::new(text).slice(&lines)
}

/// How many lines a text has, as editors count them; an empty one has none, nor does what follows the last line end.
pub fn count_lines(text: &str) -> usize {
    lines::Lines::new(text).len()
}
