//! A second reader of plain shell text, small and strict. The grammar of the first is made for showing programs in
//! colour and errs at the edges (blanks that are none to a shell, a backslash at the start of a line). A command is
//! called harmless only where both read the same words.

/// Words that mean something else than a program where a command begins.
const KEYWORDS: [&str; 19] = [
    "!", "{", "}", "[[", "]]", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case",
    "esac", "function", "select",
];

/// The commands of a text that is nothing but plain words, quoted or not, joined by `&&`, `||`, `;`, `|` and line ends.
pub(super) fn plain_commands(text: &str) -> Option<Vec<Vec<String>>> {
    let foreign = |c: char| (c.is_control() && c != '\n' && c != '\t') || (c.is_whitespace() && !c.is_ascii());
    if text.contains(foreign) {
        return None;
    }
    let mut reader = Reader::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => reader.end_word()?,
            '\n' => reader.end_command(true)?,
            ';' => reader.end_command(false)?,
            '&' => {
                chars.next_if_eq(&'&')?;
                reader.end_command(false)?;
            }
            '|' => {
                chars.next_if_eq(&'|');
                reader.end_command(false)?;
            }
            '#' if reader.word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            '\'' => loop {
                match chars.next()? {
                    '\'' => break reader.quoted(""),
                    c => reader.push(c),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break reader.quoted(""),
                    '\\' => match chars.next()? {
                        '\n' => {}
                        c @ ('"' | '\\' | '$' | '`') => reader.push(c),
                        c => reader.quoted(&format!("\\{c}")),
                    },
                    '`' => return None,
                    '$' if !matches!(chars.peek(), Some('"' | ' ' | '|' | ')' | '/')) => return None,
                    c => reader.push(c),
                }
            },
            '\\' => match chars.next()? {
                '\n' => {}
                c => reader.quoted(c.encode_utf8(&mut [0; 4])),
            },
            '$' if !matches!(chars.peek(), None | Some(' ' | '\t' | '\n')) => return None,
            '`' | '(' | ')' | '<' | '>' => return None,
            c => reader.push(c),
        }
    }
    reader.end_command(true)?;
    (!reader.commands.is_empty()).then_some(reader.commands)
}

#[derive(Default)]
struct Reader {
    commands: Vec<Vec<String>>,
    command: Vec<String>,
    word: Option<String>,
    /// Whether some of the word was quoted, so that it is no keyword.
    is_quoted: bool,
}

impl Reader {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn quoted(&mut self, text: &str) {
        self.is_quoted = true;
        self.word.get_or_insert_default().push_str(text);
    }

    fn end_word(&mut self) -> Option<()> {
        let is_quoted = std::mem::take(&mut self.is_quoted);
        let Some(word) = self.word.take() else { return Some(()) };
        if self.command.is_empty() && !is_quoted && KEYWORDS.contains(&word.as_str()) {
            return None;
        }
        self.command.push(word);
        Some(())
    }

    /// An empty command is an error, but on an empty line.
    fn end_command(&mut self, may_be_empty: bool) -> Option<()> {
        self.end_word()?;
        if self.command.is_empty() {
            return may_be_empty.then_some(());
        }
        self.commands.push(std::mem::take(&mut self.command));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::plain_commands;

    #[test]
    fn reads_as_a_shell_does() {
        for (text, expected) in [
            (
                "ls -l; cat 'a b'|wc",
                Some(vec![vec!["ls", "-l"], vec!["cat", "a b"], vec!["wc"]]),
            ),
            ("echo \\\n x", Some(vec![vec!["echo", "x"]])),
            ("echo \n\\touch P", Some(vec![vec!["echo"], vec!["touch", "P"]])),
            ("echo a#b # c ; d\nls", Some(vec![vec!["echo", "a#b"], vec!["ls"]])),
            (r#"grep "a\.b$" "\$x" ''"#, Some(vec![vec!["grep", r"a\.b$", "$x", ""]])),
            ("git show HEAD@{1}", Some(vec![vec!["git", "show", "HEAD@{1}"]])),
            ("ls\x0c#; touch P", None),
            ("ls\r\ntouch P", None),
            ("ls\u{a0}x", None),
            ("ls & touch P", None),
            ("ls |& touch P", None),
            ("if x", None),
            ("echo $x", None),
            ("echo \"$x\"", None),
            ("echo $'a\\'; touch P #'", None),
            ("ls;; x", None),
            ("echo 'open", None),
            ("", None),
        ] {
            let expected = expected.map(|commands| {
                let words = |command: Vec<&str>| command.into_iter().map(str::to_owned).collect();
                commands.into_iter().map(words).collect::<Vec<Vec<String>>>()
            });
            assert_eq!(plain_commands(text), expected, "{text:?}");
        }
    }
}
