//! A command as one line of shell text.

use crate::shown;

/// The argument list as one line that a shell would take for the same list. Control characters are written as escapes,
/// so that nothing hides behind a line end.
pub fn display(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The argument list as every shell of the Bourne kind takes it, and others too: in single quotes only, line ends and all.
/// For shells; [`display`] is for people.
pub(in crate::exec) fn quoted_plainly(argv: &[String]) -> String {
    let quoted = argv.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    let hides = shown::hides(word);
    if !word.is_empty() && !hides && word.chars().all(plain) {
        return word.to_owned();
    }
    if !hides {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut text = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            '\'' | '\\' => {
                text.push('\\');
                text.push(c);
            }
            c if c.is_ascii_control() => text.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if is_odd(c) && c > '\u{ffff}' => text.push_str(&format!("\\U{:08x}", u32::from(c))),
            c if is_odd(c) => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('\'');
    text
}

/// Whether a character is written as an escape in a word in which something hides.
fn is_odd(c: char) -> bool {
    !c.is_ascii() && (shown::is_hidden(c) || c.is_whitespace() || shown::is_mark(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_by_table() {
        for (word, expected) in [
            ("ls", "ls"),
            ("--color=auto", "--color=auto"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("~", "'~'"),
            ("a\nb", r"$'a\nb'"),
            ("a'\\\n", r"$'a\'\\\n'"),
            ("\u{1b}[31m", r"$'\x1b[31m'"),
            ("x\u{202e}y", r"$'x\u202ey'"),
            ("x\u{e0041}y\u{3164}", r"$'x\U000e0041y\u3164'"),
            ("a\u{a0}b", r"$'a\u00a0b'"),
            ("می\u{200c}خواهم", "'می\u{200c}خواهم'"),
            ("größe", "größe"),
        ] {
            assert_eq!(display(&[word.to_owned()]), expected);
        }
        assert_eq!(
            display(&["bash".into(), "-lc".into(), "ls -l | wc".into()]),
            "bash -lc 'ls -l | wc'"
        );
    }
}
