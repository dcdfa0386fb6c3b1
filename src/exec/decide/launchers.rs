//! Programs that run what their words tell them to: shells, interpreters, wrappers. By themselves they say nothing of what they
//! would do.

use crate::exec::command::{Starts, base_name, is_starter};

/// Whether a word names one of them, whatever its version (`python3.12`) and the case of its letters.
pub(super) fn is_launcher(word: &str) -> bool {
    let is_one = |name: &str| {
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        is_starter(name, Starts::Anything) || is_starter(bare, Starts::Anything)
    };
    let name = base_name(word);
    // Some systems do not tell `Python` from `python`.
    is_one(name) || is_one(&name.to_lowercase())
}
