//! A command as one line of shell text.

use crate::shown;

/// The argument list as one line that a shell would take for the same list. Control characters are written as escapes,
/// so that nothing hides behind a line end.
pub fn display(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Shells of the system, by the names that models give them. One of another path could be anything.
const SHELLS: &[&str] = &["bash", "dash", "sh", "zsh"];
/// The shell that runs scripts where the person has none that can.
const DEFAULT_SHELLS: &[&str] = &["bash", "/bin/bash", "/usr/bin/bash"];

/// The command as it reads best in a list of what was done: of a plain shell only what it was given to run, as it was written, else as
/// [`display`]. Not for questions, for which [`asked`] is.
pub fn display_short(argv: &[String]) -> String {
    match argv {
        [shell, flag, script] if is_plain_shell(shell) && matches!(flag.as_str(), "-c" | "-lc") => {
            readable(script).map_or_else(|| display(argv), str::to_owned)
        }
        _ => display(argv),
    }
}

/// What the shell that runs scripts by default is given to run, as a question can show it: where that is said, nothing else runs. `None` for
/// another shell, other options, and a script in which something hides.
pub fn asked<'a>(argv: &'a [String], persons_shell: Option<&str>) -> Option<&'a str> {
    match argv {
        [shell, flag, script]
            if flag == "-lc"
                && (persons_shell == Some(shell) || DEFAULT_SHELLS.contains(&shell.as_str()))
                // That would be an option.
                && !script.starts_with(['-', '+']) =>
        {
            readable(script)
        }
        _ => None,
    }
}

/// A script without the blanks and empty lines around it, if nothing hides in it.
fn readable(script: &str) -> Option<&str> {
    let hides = shown::hides(&script.replace(['\n', '\t'], " ")) || shown::imitates(script);
    let begun = script.trim_start_matches([' ', '\t', '\n']);
    let trimmed = begun.trim_end_matches([' ', '\t', '\n']);
    let left_out = &begun[trimmed.len()..];
    // A blank behind a backslash is a part of its word, and empty lines at the end may be those of a here-document.
    let cuts_word = trimmed.ends_with('\\') && !left_out.is_empty();
    let cuts_lines = trimmed.contains("<<") && left_out.matches('\n').count() > 1;
    (!hides && !cuts_word && !cuts_lines && !trimmed.is_empty() && !indents_here(trimmed)).then_some(trimmed)
}

/// Whether a script has a here-document whose lines may be indented: by tabs only, which look like blanks.
fn indents_here(script: &str) -> bool {
    script.contains("<<-") && script.contains("\n\t")
}

fn is_plain_shell(program: &str) -> bool {
    let name = ["/bin/", "/usr/bin/"]
        .iter()
        .find_map(|folder| program.strip_prefix(folder))
        .unwrap_or(program);
    SHELLS.contains(&name)
}

/// The argument list as every shell of the Bourne kind takes it, and others too: in single quotes only, line ends and all.
/// For shells; [`display`] is for people.
pub(in crate::exec) fn quoted_plainly(argv: &[String]) -> String {
    let quoted = argv.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    let imitates = shown::imitates(word);
    let hides = shown::hides(word) || imitates;
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
            '<' if imitates => text.push_str("\\x3c"),
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
            ("a<b", "'a<b'"),
            // As what hides would be shown.
            ("<U+0009>/x", r"$'\x3cU+0009>/x'"),
            ("a <8 blanks>b", r"$'a \x3c8 blanks>b'"),
        ] {
            assert_eq!(display(&[word.to_owned()]), expected);
        }
        assert_eq!(
            display(&["bash".into(), "-lc".into(), "ls -l | wc".into()]),
            "bash -lc 'ls -l | wc'"
        );
    }

    #[test]
    fn of_a_plain_shell_only_what_it_was_given_is_shown() {
        for (argv, expected) in [
            (&["bash", "-lc", "ls -l | wc"][..], "ls -l | wc"),
            (&["/usr/bin/zsh", "-c", " make\n\ttest\n"], "make\n\ttest"),
            (&["./bash", "-lc", "ls"], "./bash -lc ls"),
            (&["/tmp/bin/sh", "-c", "ls"], "/tmp/bin/sh -c ls"),
            (&["bash", "-x", "ls"], "bash -x ls"),
            (&["bash", "-c", "ls", "name"], "bash -c ls name"),
            (&["bash", "-c", "a\u{1b}b"], r"bash -c $'a\x1bb'"),
            (&["bash", "-c", " "], "bash -c ' '"),
            (&["python3", "-c", "1"], "python3 -c 1"),
        ] {
            let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
            assert_eq!(display_short(&argv), expected);
        }
    }

    #[test]
    fn a_question_shows_the_script_of_the_default_shell_alone() {
        for (argv, expected) in [
            (&["bash", "-lc", "ls -l | wc"][..], Some("ls -l | wc")),
            (&["/bin/bash", "-lc", "\n make\n\ttest \n"], Some("make\n\ttest")),
            (&["/opt/bin/zsh", "-lc", "ls"], Some("ls")),
            // Another shell, or started otherwise, may take the same words for something else.
            (&["/bin/zsh", "-lc", "ls"], None),
            (&["sh", "-lc", "ls"], None),
            (&["bash", "-c", "ls"], None),
            (&["./bash", "-lc", "ls"], None),
            (&["bash", "-lc", "ls", "name"], None),
            (&["bash", "-lc", "-x"], None),
            (&["bash", "-lc", "a\u{1b}b"], None),
            (&["bash", "-lc", "a\rb"], None),
            (&["bash", "-lc", "a\u{202e}b"], None),
            (&["bash", "-lc", "ls\u{3000}"], None),
            (&["bash", "-lc", " \n"], None),
            (&["bash", "-lc", "cat <U+0009>/x"], None),
            (&["bash", "-lc", "cat <8 blanks>x"], None),
            // A blank that is a part of a word, and lines that look like the end of a here-document.
            (&["bash", "-lc", "cat a\\ "], None),
            (&["bash", "-lc", "cat <<-X\n\tX\nrun"], None),
            (&["bash", "-lc", "cat <<X\na\n\n"], None),
            (&["bash", "-lc", "cat <<X\na\nX\n"], Some("cat <<X\na\nX")),
        ] {
            let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
            assert_eq!(asked(&argv, Some("/opt/bin/zsh")), expected, "{argv:?}");
        }
        let argv = ["/opt/bin/zsh", "-lc", "ls"].map(str::to_owned);
        assert_eq!(asked(&argv, None), None);
    }
}
