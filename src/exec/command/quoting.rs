//! A command as one line of shell text.

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
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if !word.chars().any(hides) {
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
            c if hides(c) && c.is_ascii() => text.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if hides(c) => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('\'');
    text
}

/// Whether a character shows as nothing, or changes how others show: control characters and marks of direction.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
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
