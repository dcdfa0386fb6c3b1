//! File names as diffs write them: quoted, with dates behind them, with `a/` and `b/` in front.

use std::path::{Path, PathBuf};

/// One side of a file's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Side {
    /// As written; `None` for `/dev/null`.
    pub(super) name: Option<String>,
    /// The date behind the name is the one that stands for no file at all.
    pub(super) never: bool,
}

/// Reads what follows `--- ` or `+++ `. Nothing if there is no name or it cannot be one.
pub(super) fn side(text: &str) -> Option<Side> {
    let text = text.trim_start_matches(' ');
    let (name, date) = if text.starts_with('"') {
        let (name, rest) = unquote(text)?;
        (name, rest)
    } else if let Some((name, date)) = text.split_once('\t') {
        (name.to_owned(), date)
    } else {
        let (name, date) = split_date(text.trim_end());
        (name.to_owned(), date)
    };
    if name.is_empty() || name.contains('\0') {
        return None;
    }
    let date = date.trim();
    // Midnight of 1 January 1970, in any time zone.
    let never = ["1970-01-01 ", "1969-12-31 ", "Thu Jan 01 00:00:00 1970"]
        .iter()
        .any(|epoch| date.starts_with(epoch))
        && date.contains(":00");
    Some(Side {
        name: (name != "/dev/null").then_some(name),
        never,
    })
}

/// Cuts ` 2024-05-01 12:00:00 +0200` off, which some programs put behind blanks rather than a tab.
fn split_date(text: &str) -> (&str, &str) {
    let shape = |at: usize| {
        text.as_bytes().get(at..at + 17).is_some_and(|bytes| {
            bytes
                .iter()
                .zip(b" 0000-00-00 00:00")
                .all(|(byte, pattern)| match pattern {
                    b'0' => byte.is_ascii_digit(),
                    _ => byte == pattern,
                })
        })
    };
    match (1..text.len()).find(|&at| text.as_bytes()[at] == b' ' && shape(at)) {
        Some(at) => (text[..at].trim_end(), &text[at..]),
        None => (text, ""),
    }
}

/// Reads a whole name, quoted or not: the rest of `rename from …`.
pub(super) fn whole(text: &str) -> Option<String> {
    let name = if text.starts_with('"') {
        let (name, rest) = unquote(text)?;
        rest.trim().is_empty().then_some(name)?
    } else {
        text.to_owned()
    };
    (!name.trim().is_empty() && !name.contains('\0')).then_some(name)
}

/// The two names of `diff --git …`, if they are the same but for what is put in front of them. Names with blanks are
/// not quoted there, so that is the only way to tell where one ends.
pub(super) fn pair(text: &str) -> Option<(String, String)> {
    let text = text.trim_end_matches('\r');
    if text.starts_with('"') {
        let (first, rest) = unquote(text)?;
        return Some((first, whole(rest.strip_prefix(' ')?)?));
    }
    if text.ends_with('"') {
        let at = text.find(" \"")?;
        return Some((text[..at].to_owned(), whole(&text[at + 1..])?));
    }
    let words = text.matches(' ').count();
    if words == 1 {
        let (first, second) = text.split_once(' ')?;
        return (!first.is_empty() && !second.is_empty()).then(|| (first.to_owned(), second.to_owned()));
    }
    // Names of one length, as with `a/` and `b/`, meet in the middle.
    let middle = text.len() / 2;
    if !text.is_char_boundary(middle) || text.as_bytes().get(middle) != Some(&b' ') {
        return None;
    }
    let (first, second) = (&text[..middle], &text[middle + 1..]);
    let alike = first == second || below(first).is_some_and(|name| below(second) == Some(name));
    alike.then(|| (first.to_owned(), second.to_owned()))
}

/// The name without its first folder.
pub(super) fn below(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('/')?;
    let rest = rest.trim_start_matches('/');
    (!rest.is_empty()).then_some(rest)
}

/// What git puts in front of names: `a/` and `b/`, or a letter for the index, the working tree, a commit, an object.
fn letter(name: &str) -> Option<char> {
    let (first, _) = name.split_once('/')?;
    let mut letters = first.chars();
    let letter = letters.next().filter(|letter| "abiwco12".contains(*letter))?;
    letters.next().is_none().then_some(letter)
}

/// Whether the two names carry two different letters of git in front.
pub(super) fn have_letters(old: &str, new: &str) -> bool {
    matches!((letter(old), letter(new)), (Some(old), Some(new)) if old != new)
}

/// Whether a name alone, the other side being no file, carries a letter of git.
pub(super) fn has_letter(name: &str) -> bool {
    letter(name).is_some()
}

/// The names that a plain diff may mean, the likeliest first: of two that differ, those without their first folder if
/// that makes them one, then the one that is shorter in folders, in its last part, and as a whole.
pub(super) fn candidates(old: &str, new: &str) -> Vec<PathBuf> {
    if old == new {
        return vec![old.into()];
    }
    let mut names: Vec<&str> = Vec::new();
    if let (Some(a), Some(b)) = (below(old), below(new))
        && (a == b || have_letters(old, new))
    {
        names.extend([b, a]);
    }
    let mut written = [old, new];
    written.sort_by_key(|name| {
        let path = Path::new(name);
        let last = path.file_name().map_or(0, |last| last.len());
        (path.components().count(), last, name.len())
    });
    if names.len() == 2 && names[0].len() > names[1].len() {
        names.swap(0, 1);
    }
    names.extend(written);
    let mut paths: Vec<PathBuf> = Vec::new();
    for name in names {
        let path = PathBuf::from(name);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Reads a name quoted in the way of C, and gives what follows. Nothing if the quotes do not close or the name is not
/// UTF-8.
pub(super) fn unquote(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let bytes = inside.as_bytes();
    let mut name = Vec::new();
    let mut at = 0;
    loop {
        match *bytes.get(at)? {
            b'"' => {
                let name = String::from_utf8(name).ok()?;
                return Some((name, &inside[at + 1..]));
            }
            b'\\' => {
                at += 1;
                let escaped = *bytes.get(at)?;
                let plain = match escaped {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => escaped,
                    b'0'..=b'7' => {
                        let digits = bytes.get(at..at + 3)?;
                        let value = digits.iter().try_fold(0u32, |value, digit| {
                            matches!(digit, b'0'..=b'7').then(|| value * 8 + u32::from(digit - b'0'))
                        })?;
                        at += 2;
                        u8::try_from(value).ok()?
                    }
                    _ => return None,
                };
                name.push(plain);
            }
            byte => name.push(byte),
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_side() {
        let rows: &[(&str, Option<&str>, bool)] = &[
            ("a/f", Some("a/f"), false),
            ("a/f g\t", Some("a/f g"), false),
            ("f\t2024-05-01 12:00:00.000000000 +0200", Some("f"), false),
            ("f g\t1970-01-01 01:00:00.000000000 +0100", Some("f g"), true),
            ("f  2002-02-21 23:30:39.942229878 -0800", Some("f"), false),
            ("f 1969-12-31 19:00:00 -0500", Some("f"), true),
            ("/dev/null", None, false),
            ("/dev/null\tThu Jan 01 00:00:00 1970 +0000", None, true),
            ("\"a/\\303\\251\\t\\\"x\\\\\"\t2024", Some("a/é\t\"x\\"), false),
            ("a/é", Some("a/é"), false),
        ];
        for (text, name, never) in rows {
            let expected = Side {
                name: name.map(str::to_owned),
                never: *never,
            };
            assert_eq!(side(text), Some(expected), "{text:?}");
        }
        for text in [
            "",
            "\t2024",
            "\"a",
            "\"a\\",
            "\"\\9\"",
            "\"\\377\"",
            "\"\\777\"",
            "a\0b",
            "\"\\000\"",
        ] {
            assert_eq!(side(text), None, "{text:?}");
        }
    }

    #[test]
    fn tells_two_names_apart() {
        let rows: &[(&str, Option<(&str, &str)>)] = &[
            ("a/f b/f", Some(("a/f", "b/f"))),
            ("a/f b/g", Some(("a/f", "b/g"))),
            ("a/x y b/x y", Some(("a/x y", "b/x y"))),
            ("x y x y", Some(("x y", "x y"))),
            ("i/x b/ y w/x b/ y", Some(("i/x b/ y", "w/x b/ y"))),
            ("\"a/x\\ty\" \"b/x\\ty\"", Some(("a/x\ty", "b/x\ty"))),
            ("a/x \"b/x\\ty\"", Some(("a/x", "b/x\ty"))),
            ("\"a/x\\ty\" b/x", Some(("a/x\ty", "b/x"))),
            ("a/x y b/z z", None),
            ("a/x", None),
            ("", None),
            ("é é é", None),
        ];
        for (text, expected) in rows {
            let expected = expected.map(|(old, new)| (old.to_owned(), new.to_owned()));
            assert_eq!(pair(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lists_the_names_that_may_be_meant() {
        let rows: &[(&str, &str, &[&str])] = &[
            ("src/f", "src/f", &["src/f"]),
            ("a/src/f", "b/src/f", &["src/f", "a/src/f", "b/src/f"]),
            ("old/f", "new/f", &["f", "old/f", "new/f"]),
            ("f.orig", "f", &["f", "f.orig"]),
            ("a/f.orig", "b/f", &["f", "f.orig", "b/f", "a/f.orig"]),
            (
                "proj-1.0/src/f",
                "proj/src/f",
                &["src/f", "proj/src/f", "proj-1.0/src/f"],
            ),
        ];
        for (old, new, expected) in rows {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(candidates(old, new), expected, "{old} {new}");
        }
    }
}
