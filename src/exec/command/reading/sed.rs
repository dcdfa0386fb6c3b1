//! Scripts of `sed` that only print: addresses, and the commands that neither write nor run.

use crate::exec::command::word::Word;
use std::iter::Peekable;
use std::str::Chars;

/// Whether the arguments of `sed` make it print and nothing else; otherwise why not.
pub(super) fn reads(arguments: &[Word]) -> Result<(), String> {
    let refuse = |why: &str| Err(why.to_owned());
    let mut has_script = false;
    let mut words = arguments.iter();
    let mut only_operands = false;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if !only_operands && word.may_be_option() {
            match word.exact() {
                Some("--") => only_operands = true,
                Some(
                    "-n" | "-E" | "-r" | "-nE" | "-nr" | "-En" | "-rn" | "-s" | "-u" | "-z" | "--quiet" | "--silent"
                    | "--posix" | "--regexp-extended" | "--debug" | "--sandbox",
                ) => {}
                Some(text) if text.starts_with("--expression=") => {
                    has_script = true;
                    if !prints(&text["--expression=".len()..]) {
                        return refuse("runs a sed script that may write or run something");
                    }
                }
                Some("-e" | "-ne" | "-Ee" | "-nEe" | "-re" | "--expression") => {
                    has_script = true;
                    if !words.next().and_then(Word::exact).is_some_and(prints) {
                        return refuse("runs a sed script that may write or run something");
                    }
                }
                _ => return refuse("has an option that may make sed write, or that is not known"),
            }
        } else if !has_script {
            has_script = true;
            if !word.exact().is_some_and(prints) {
                return Err(format!("runs a sed script that may write or run something: {text}"));
            }
        }
    }
    if has_script {
        Ok(())
    } else {
        refuse("has no sed script")
    }
}

/// Whether a script only prints, deletes from what is printed, and substitutes.
fn prints(script: &str) -> bool {
    let mut chars = script.chars().peekable();
    commands(&mut chars).is_some()
}

fn commands(chars: &mut Peekable<Chars<'_>>) -> Option<()> {
    loop {
        while chars
            .next_if(|c| c.is_ascii_whitespace() || matches!(c, ';' | '}' | '{'))
            .is_some()
        {}
        if chars.peek().is_none() {
            return Some(());
        }
        address(chars)?;
        if chars.next_if_eq(&',').is_some() {
            chars.next_if(|c| matches!(c, '+' | '~'));
            address(chars)?;
        }
        while chars.next_if(|c| matches!(c, ' ' | '!')).is_some() {}
        match chars.next()? {
            '{' => continue,
            'p' | 'd' | '=' | 'n' | 'N' | 'D' | 'h' | 'H' | 'g' | 'G' | 'x' | 'P' | 'z' => {}
            'q' | 'Q' | 'l' => while chars.next_if(char::is_ascii_digit).is_some() {},
            's' => {
                let mark = chars.next()?;
                delimited(chars, mark, true)?;
                delimited(chars, mark, false)?;
                while chars
                    .next_if(|c| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I'))
                    .is_some()
                {}
            }
            'y' => {
                let mark = chars.next()?;
                delimited(chars, mark, false)?;
                delimited(chars, mark, false)?;
            }
            'b' | 't' | 'T' | ':' => {
                while chars.next_if(|c| *c == ' ').is_some() {}
                while chars.next_if(|c| c.is_ascii_alphanumeric()).is_some() {}
            }
            _ => return None,
        }
        while chars.next_if(|c| *c == ' ').is_some() {}
        match chars.peek() {
            None | Some(';' | '\n' | '}') => {}
            _ => return None,
        }
    }
}

/// A line number, `$`, or a pattern; or nothing.
fn address(chars: &mut Peekable<Chars<'_>>) -> Option<()> {
    match chars.peek() {
        Some('$') => drop(chars.next()),
        Some('0'..='9') => while chars.next_if(|c| c.is_ascii_digit() || *c == '~').is_some() {},
        Some('/') => {
            chars.next();
            delimited(chars, '/', true)?;
            chars.next_if(|c| *c == 'I');
        }
        Some('\\') => {
            chars.next();
            let mark = chars.next()?;
            delimited(chars, mark, true)?;
        }
        _ => {}
    }
    Some(())
}

/// Text up to the mark. Where the mark stands in brackets of a pattern, programs differ about its end, and none is known.
fn delimited(chars: &mut Peekable<Chars<'_>>, mark: char, is_pattern: bool) -> Option<()> {
    if mark.is_alphanumeric() || mark.is_whitespace() || matches!(mark, '\\' | '[' | ']') {
        return None;
    }
    loop {
        match chars.next()? {
            '\\' => drop(chars.next()?),
            '\n' => return None,
            c if c == mark => return Some(()),
            '[' if is_pattern => brackets(chars, mark)?,
            _ => {}
        }
    }
}

/// What follows an opening bracket, up to its end; nothing if the mark, unless it is escaped, or something unusual stands there.
fn brackets(chars: &mut Peekable<Chars<'_>>, mark: char) -> Option<()> {
    chars.next_if_eq(&'^');
    let mut is_first = true;
    loop {
        match chars.next()? {
            ']' if !is_first => return Some(()),
            '\n' => return None,
            c if c == mark => return None,
            '\\' => drop(chars.next_if(|c| *c == mark || "ntdswDSW.*+?$^|(){}-".contains(*c))?),
            '[' => {
                if let Some(sign) = chars.next_if(|c| matches!(c, ':' | '.' | '=')) {
                    while chars.next_if(char::is_ascii_alphanumeric).is_some() {}
                    chars.next_if_eq(&sign)?;
                    chars.next_if_eq(&']')?;
                }
            }
            _ => {}
        }
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::prints;

    #[test]
    fn scripts_by_table() {
        for script in [
            "1,5p",
            "10p",
            "$p",
            "/foo/p",
            "/a/,/b/p",
            "s/a/b/",
            "s/a/b/g;s/c/d/",
            "/x/d",
            "1!d",
            "s|a|b|2p",
            "/a/{p;q}",
            "10q",
            "1~2p",
            "s/[0-9]*//",
            "y/abc/xyz/",
            "/^$/d",
            "1,+3p",
            "s/a\\/b/c/",
            "s/[[:space:]]*$//",
            "s/[^]]x/[y/p",
            "s/[^\\/]*$//",
            "s/[\\/]/_/gp",
            "s/[\"\\/]+//",
        ] {
            assert!(prints(script), "{script}");
        }
        for script in [
            "s/a/b/w out",
            "s/a/b/e",
            "1e touch P",
            "e",
            "w out",
            "W out",
            "r /etc/passwd",
            "s/a/b/gw x",
            "1,5w x",
            "a\\ text",
            "s/[/]/w P/;e]/p",
            "s/[\\/]/w P/;e]/p",
            "s/[\\/]/_/w P",
            "s/[\\]/]/x/;s/w /tmp/g",
            "s/a/b",
            "p;e touch P",
            "s/a/b/;w P",
            "{p;w P\n}",
            "p}w P",
            "s\na\nb\nw P",
            "s/[]/]/g;s/w /tmp/g",
            "s/[^]/]/g;s/w /tmp/g",
            "s/[[:alpha:]/]/g;s/w /tmp/g",
            "/[]/]/d;s/w /tmp/g",
            "s[a[b[w P[",
        ] {
            assert!(!prints(script), "{script}");
        }
    }
}
