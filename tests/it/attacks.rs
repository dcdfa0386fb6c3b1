//! Attacks on what surrounds the sandbox, as tables: what carries the attack, what it says, and what must come of it.
//! One file a carrier. What gets out of the sandbox itself is in `exec::escapes`.

mod answers;
mod closed_files;
mod connections;
mod credentials;
mod cut_short;
mod denied;
mod foreign_documents;
mod grants;
mod hidden_text;
mod home;
mod images;
mod later_files;
mod limits;
mod meeting_places;
mod network_names;
mod on_save;
mod order;
mod other_users;
mod programs;
mod races;
mod reading_git;
mod server_code;
mod settings;
mod tool_servers;
mod typing;
mod ways_round;
mod words;

use std::fmt::Debug;

/// Tries every row of a table, and names all that got through.
fn repel<R: Debug>(rows: impl IntoIterator<Item = R>, attempt: impl Fn(&R) -> Result<(), String>) {
    let mut through = Vec::new();
    let mut tried = 0;
    for row in rows {
        tried += 1;
        if let Err(what) = attempt(&row) {
            through.push(format!("{row:?}\n    {what}"));
        }
    }
    assert!(tried > 0, "the table is empty");
    assert!(
        through.is_empty(),
        "{} of {tried} attacks got through:\n{}",
        through.len(),
        through.join("\n")
    );
}
