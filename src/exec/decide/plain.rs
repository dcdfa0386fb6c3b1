//! The commands of a composition of plain words, also where their output is joined or thrown away: `2>&1`, `>/dev/null`.
//! That changes nothing of what they do.

pub(super) use crate::exec::command::PlainCommand as Command;
use crate::exec::command::{plain_composition, shell_text};

/// Redirections that lead nowhere but to the other stream or the null device.
const HARMLESS: &[&str] = &[
    "2>&1",
    "1>&2",
    ">&2",
    "2>/dev/null",
    "1>/dev/null",
    ">/dev/null",
    "&>/dev/null",
    ">>/dev/null",
    "2>>/dev/null",
    "</dev/null",
    "2> /dev/null",
    "1> /dev/null",
    "> /dev/null",
    "&> /dev/null",
    "< /dev/null",
];

/// The commands of a composition; none where it is more than plain words.
pub(super) fn commands(argv: &[String]) -> Option<Vec<Command>> {
    plain_composition(argv).or_else(|| {
        let without = without_harmless(shell_text(argv)?)?;
        plain_composition(&[argv[0].clone(), argv[1].clone(), without])
    })
}

/// The text without harmless redirections; none if there are none, or if it cannot be told where they are.
fn without_harmless(text: &str) -> Option<String> {
    // In comments and here-documents quotes are no quotes.
    if text.contains('#') || text.contains("<<") {
        return None;
    }
    let mut kept = String::with_capacity(text.len());
    let mut quote = None;
    let mut rest = text;
    let mut found = false;
    while let Some(c) = rest.chars().next() {
        let at_word = quote.is_none() && kept.ends_with([' ', '\t']);
        let harmless = HARMLESS.iter().find(|form| {
            let after = rest.strip_prefix(**form).map(str::as_bytes);
            at_word
                && after.is_some_and(|after| matches!(after.first(), None | Some(b' ' | b'\t' | b'\n' | b';' | b'|')))
        });
        if let Some(form) = harmless {
            rest = &rest[form.len()..];
            found = true;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        kept.push(c);
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None | Some('"'), '\\') => {
                let next = rest.chars().next()?;
                rest = &rest[next.len_utf8()..];
                kept.push(next);
            }
            _ => {}
        }
    }
    found.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, expected) in [
            ("cp a b", [false].as_slice()),
            ("cp a lin[k]/b", &[true]),
            ("cp a -*", &[true]),
            ("cp a .?", &[true]),
            ("ls; cp a x*y 2>&1", &[false, true]),
            ("cp 'a*' \"b?\" \\[c", &[false]),
        ] {
            let commands = commands(&["bash", "-c", text].map(str::to_owned)).expect("plain words");
            let found: Vec<bool> = commands.iter().map(|command| command.has_pattern).collect();
            assert_eq!(found, expected, "{text}");
        }
        let direct = ["cp", "*", "a?"].map(str::to_owned);
        assert!(!commands(&direct).expect("one command")[0].has_pattern);
        let zsh = ["zsh", "-c", "cp =ls a"].map(str::to_owned);
        assert!(commands(&zsh).is_none_or(|commands| commands[0].has_pattern));
    }

    #[test]
    fn by_table() {
        for (text, expected) in [
            ("cargo test 2>&1", Some("cargo test")),
            ("cargo test 2>&1 | tail -n 5", Some("cargo test|tail -n 5")),
            ("cargo test >/dev/null 2>&1; ls", Some("cargo test|ls")),
            ("cargo test 2> /dev/null || ls", Some("cargo test|ls")),
            ("echo ' 2>&1 '", Some("echo  2>&1 ")),
            ("echo \" 2>&1 \" 2>&1", Some("echo  2>&1 ")),
            ("cargo test", Some("cargo test")),
            ("cargo test > log", None),
            ("cargo test >/dev/nullx", None),
            ("cargo test 2>&1x", None),
            ("cargo test 2>&1 # ' 2>&1", None),
            ("cat <<E 2>&1\nx\nE", None),
            ("cargo test x2>&1", None),
            ("A=1 cargo test 2>&1", None),
            ("cargo test 2>&1 &", None),
            ("cargo test \\ 2>&1", None),
            ("echo \\", None),
        ] {
            let argv = ["bash", "-lc", text].map(str::to_owned);
            let found = commands(&argv).map(|commands| {
                commands
                    .iter()
                    .map(|one| one.words.join(" "))
                    .collect::<Vec<_>>()
                    .join("|")
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
