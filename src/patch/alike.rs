//! Whether a change was made and then changed further: an editor that formats what it has just been given.

use super::count_lines;
use super::hunk::hunks;
use super::lines::Lines;
use std::collections::HashMap;

/// Whether `now` is `then` after something else has changed it too: every change that leads from `before` to `then` is in
/// it, though perhaps with other blanks, or changed in parts. Neither `before` itself nor a text in which one of the
/// changes was left out.
pub fn made_and_changed(before: &str, then: &str, now: &str) -> bool {
    if now == before {
        return false;
    }
    let squashed = [before, then, now].map(squash);
    if squashed[1] == squashed[2] && squashed[0] != squashed[1] {
        return true;
    }
    let changed_since = hunks(then, now);
    let lines = Lines::new(then);
    let mut shift = 0isize;
    hunks(before, then).iter().all(|hunk| {
        let start = hunk.old.start.saturating_add_signed(shift);
        let made = start..start + count_lines(&hunk.new_text);
        shift += made.len() as isize - hunk.old.len() as isize;
        // What was done since to its lines or right beside them.
        let touching: Vec<_> = changed_since
            .iter()
            .filter(|later| later.old.start <= made.end && made.start <= later.old.end)
            .collect();
        let (Some(first), Some(last)) = (touching.first(), touching.last()) else {
            return true;
        };
        let around = first.old.start.min(made.start)..last.old.end.max(made.end);
        let mut there = String::new();
        let mut at = around.start;
        for later in &touching {
            there.push_str(lines.slice(&(at..later.old.start)));
            there.push_str(&later.new_text);
            at = later.old.end;
        }
        there.push_str(lines.slice(&(at..around.end)));
        let planned = lines.slice(&around);
        let unmade = [
            lines.slice(&(around.start..made.start)),
            &hunk.old_text,
            lines.slice(&(made.end..around.end)),
        ]
        .concat();
        is_made(&unmade, planned, &there)
    })
}

/// Whether some lines are rather what was planned than what was there before: most words that the change brings have come,
/// and most that it takes away are gone.
fn is_made(unmade: &str, planned: &str, there: &str) -> bool {
    if there == unmade {
        return false;
    }
    if squash(there) == squash(planned) {
        return squash(unmade) != squash(planned);
    }
    let [unmade, planned, there] = [unmade, planned, there].map(words);
    let (mut brought, mut removed) = (surplus(&planned, &unmade), surplus(&unmade, &planned));
    // Signs are what a formatter puts in and takes out.
    if brought.keys().chain(removed.keys()).any(|word| is_word(word)) {
        brought.retain(|word, _| is_word(word));
        removed.retain(|word, _| is_word(word));
    }
    let most = |expected: &Words<'_>, seen: &Words<'_>| {
        let count = |word: &&str, number: &usize| seen.get(word).map_or(0, |seen| *seen.min(number));
        let found: usize = expected.iter().map(|(word, number)| count(word, number)).sum();
        2 * found >= expected.values().sum()
    };
    !(brought.is_empty() && removed.is_empty())
        && most(&brought, &surplus(&there, &unmade))
        && most(&removed, &surplus(&unmade, &there))
}

fn squash(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && *c != '\u{feff}')
        .collect()
}

/// Words and signs, with how often they stand there.
type Words<'t> = HashMap<&'t str, usize>;

fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn words(text: &str) -> Words<'_> {
    let mut words = Words::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match is_word(rest) {
            true => rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        *words.entry(&rest[..end]).or_default() += 1;
        rest = rest[end..].trim_start();
    }
    words
}

/// What there is more of in one than in the other.
fn surplus<'t>(one: &Words<'t>, other: &Words<'t>) -> Words<'t> {
    one.iter()
        .map(|(word, number)| (*word, number.saturating_sub(other.get(word).copied().unwrap_or(0))))
        .filter(|(_, number)| *number > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formatter_is_told_from_a_change_that_was_not_made() {
        let before = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n";
        let then = "fn a() {\n  one( 1,2 );\n}\n\nfn b() {\n    two(\"x\");\n}\n";
        let rows: &[(&str, &str, bool)] = &[
            ("as it was", before, false),
            (
                "blanks of the line",
                "fn a() {\n    one(1, 2);\n}\n\nfn b() {\n    two(\"x\");\n}\n",
                true,
            ),
            (
                "split in two, with a comma",
                "fn a() {\n    one(\n        1,\n        2,\n    );\n}\n\nfn b() {\n    two(\"x\");\n}\n",
                true,
            ),
            (
                "other quotes, and the end",
                "fn a() {\n    one(1, 2)\n}\n\nfn b() {\n    two('x')\n}",
                true,
            ),
            (
                "tabs everywhere",
                "fn a() {\n\tone(1, 2);\n}\n\nfn b() {\n\ttwo(\"x\");\n}\n",
                true,
            ),
            (
                "the second was not made",
                "fn a() {\n    one(1, 2);\n}\n\nfn b() {\n    two();\n}\n",
                false,
            ),
            (
                "the first was not made",
                "fn a() {\n    one();\n}\n\nfn b() {\n    two(\"x\");\n}\n",
                false,
            ),
            ("something else", "nothing of it\n", false),
            ("nothing", "", false),
        ];
        for (name, now, expected) in rows {
            assert_eq!(made_and_changed(before, then, now), *expected, "{name}");
        }
    }

    #[test]
    fn blanks_that_a_formatter_puts_back_are_not_made() {
        let (before, then) = ("a\n  b\nc\nd\n", "a\n    b\nc\nd\n");
        assert!(!made_and_changed(before, then, before));
        assert!(!made_and_changed(before, then, "a\n  b\nc\nd and more\n"));
    }

    #[test]
    fn a_deletion_is_made_only_if_the_lines_are_gone() {
        let (before, then) = ("a\nb\nc\n", "a\nc\n");
        assert!(!made_and_changed(before, then, "a\nb\nc\nd\n"));
        assert!(made_and_changed(before, then, "a\n c\n"));
    }
}
