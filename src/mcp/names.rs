//! Names under which tools of servers are offered to the model: `mcp__<server>__<tool>`, in letters that every provider
//! takes, never longer than they take, and each only once.

use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};

/// Characters of a name that all providers take.
pub const LONGEST: usize = 64;

/// Characters of a hash in a name.
const HASH: usize = 8;

/// The names of tools, given by server and tool, in the same order. They do not depend on the order.
pub fn qualify(tools: &[(&str, &str)]) -> Vec<String> {
    let plain: Vec<String> = tools.iter().map(|(server, tool)| plain(server, tool)).collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *count.entry(name).or_default() += 1;
    }
    let is_free = |name: &str| name.len() <= LONGEST && count.get(name) == Some(&1);
    let mut taken: HashSet<String> = plain.iter().filter(|name| is_free(name)).cloned().collect();
    let named = plain.iter().zip(tools).map(|(plain, (server, tool))| {
        if is_free(plain) {
            return plain.clone();
        }
        let mut salt = 0_u32;
        loop {
            let name = hashed(plain, server, tool, salt);
            if taken.insert(name.clone()) {
                return name;
            }
            // Somebody has given a tool just this name, or the same tool twice.
            salt += 1;
        }
    });
    named.collect()
}

fn plain(server: &str, tool: &str) -> String {
    format!("mcp__{}__{}", sane(server), sane(tool))
}

/// The text in letters, digits, `_` and `-`.
fn sane(text: &str) -> String {
    let is_sane = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    text.chars()
        .map(|letter| if is_sane(letter) { letter } else { '_' })
        .collect()
}

/// The name cut to make room, and a mark of what it stood for.
fn hashed(plain: &str, server: &str, tool: &str, salt: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(server);
    hash.update([0]);
    hash.update(tool);
    if salt > 0 {
        hash.update(salt.to_le_bytes());
    }
    let mark: String = hash
        .finalize()
        .iter()
        .take(HASH / 2)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    // All of it is ASCII.
    let head = &plain[..plain.len().min(LONGEST - HASH - 1)];
    format!("{head}_{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_plain_where_they_can_be() {
        let names = qualify(&[("docs", "search"), ("a.b c", "x/y"), ("docs", "ask")]);
        assert_eq!(names, ["mcp__docs__search", "mcp__a_b_c__x_y", "mcp__docs__ask"]);
    }

    #[test]
    fn what_would_be_the_same_is_told_apart_whatever_the_order() {
        let one = qualify(&[("s", "a.b"), ("s", "a-b"), ("s", "a_b")]);
        let other = qualify(&[("s", "a_b"), ("s", "a.b")]);
        assert!(one[0].starts_with("mcp__s__a_b_") && one[0] != one[2], "{one:?}");
        assert_eq!(one[1], "mcp__s__a-b");
        assert_eq!([&one[2], &one[0]], [&other[0], &other[1]]);
        // A server whose name ends in what stands between the two.
        let split = qualify(&[("a__b", "c"), ("a", "b__c")]);
        assert_ne!(split[0], split[1]);
    }

    #[test]
    fn long_names_keep_their_head() {
        let long = "t".repeat(200);
        let names = qualify(&[("server", &long), ("server", &format!("{long}2"))]);
        assert!(
            names
                .iter()
                .all(|name| name.len() == LONGEST && name.starts_with("mcp__server__ttt"))
        );
        assert_ne!(names[0], names[1]);
    }

    proptest! {
        #[test]
        fn any_names_become_names_that_are_taken(tools in proptest::collection::vec((".{0,40}", ".{0,40}"), 0..20)) {
            let tools: Vec<(&str, &str)> = tools.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            let names = qualify(&tools);
            prop_assert_eq!(names.len(), tools.len());
            let distinct: HashSet<&String> = names.iter().collect();
            prop_assert_eq!(distinct.len(), names.len());
            for name in &names {
                prop_assert!(name.len() <= LONGEST);
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{}", name);
            }
        }
    }
}
