//! Commands: lists, pipes, loops, conditions, functions.

use super::super::word::Word;
use super::value::Value;
use super::{Command, Read, Reader};

/// Words that mean something else than a program where a command begins.
const KEYWORDS: [&str; 22] = [
    "!", "{", "}", "[[", "]]", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case",
    "esac", "function", "select", "coproc", "in", "time",
];
pub(super) const UNFINISHED: &str = "has a command that does not end";

/// Builtins that set the variables that they name.
const SETTING: [&str; 11] = [
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "export",
    "local",
    "declare",
    "typeset",
    "readonly",
    "unset",
    "let",
];

impl Reader<'_> {
    /// The whole text.
    pub(super) fn script(&mut self) -> Read<()> {
        self.list(&[])?;
        if self.at != self.end {
            return Err("is no shell text that can be read");
        }
        if !self.heredocs.is_empty() {
            return Err("has a here-document without an end");
        }
        Ok(())
    }

    /// The keyword that stands here, if one does.
    pub(super) fn keyword(&self) -> Option<&'static str> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| c.is_whitespace() || ";&|()<>".contains(c))
            .unwrap_or(rest.len());
        let word = rest.get(..end)?;
        KEYWORDS.into_iter().find(|keyword| *keyword == word)
    }

    pub(super) fn eat_keyword(&mut self, wanted: &str) -> bool {
        let is_here = self.keyword() == Some(wanted);
        if is_here {
            self.at += wanted.len();
        }
        is_here
    }

    pub(super) fn expect(&mut self, wanted: &str) -> Read<()> {
        if self.eat_keyword(wanted) {
            Ok(())
        } else {
            Err(UNFINISHED)
        }
    }

    /// Blanks and line ends.
    pub(super) fn gaps(&mut self) -> Read<()> {
        loop {
            self.blanks();
            if !self.newline()? {
                return Ok(());
            }
        }
    }

    /// Commands up to one of these keywords, a parenthesis or the end; whether there are any.
    pub(super) fn list(&mut self, ends: &[&str]) -> Read<bool> {
        let mut any = false;
        loop {
            self.gaps()?;
            let ended = self.keyword().is_some_and(|keyword| ends.contains(&keyword));
            if ended || self.peek().is_none_or(|c| c == ')') || self.rest().starts_with(";;") {
                return Ok(any);
            }
            self.chain()?;
            any = true;
            self.blanks();
            match self.peek() {
                None | Some('\n' | ')') => {}
                Some(';') if self.rest().starts_with(";;") => {}
                Some(';') => drop(self.next()),
                Some('&') => {
                    self.composed();
                    self.next();
                }
                Some(_) => return Err("has something behind a command that is not understood"),
            }
        }
    }

    pub(super) fn commands(&mut self, ends: &[&str]) -> Read<()> {
        match self.list(ends)? {
            true => Ok(()),
            false => Err("has an empty list of commands"),
        }
    }

    /// Commands joined by `&&` and `||`.
    fn chain(&mut self) -> Read<()> {
        self.pipe()?;
        let mut mark = None;
        loop {
            self.blanks();
            if self.eat("&&") {
                mark.get_or_insert(self.enter());
            } else if self.eat("||") {
                if let Some(mark) = mark {
                    self.leave(mark);
                }
                mark = Some(self.enter());
            } else {
                break;
            }
            self.gaps()?;
            self.pipe()?;
        }
        if let Some(mark) = mark {
            self.leave(mark);
        }
        Ok(())
    }

    fn pipe(&mut self) -> Read<()> {
        self.blanks();
        if self.eat_keyword("!") {
            self.composed();
            self.blanks();
        }
        let mark = self.enter();
        self.command()?;
        let mut is_piped = false;
        loop {
            self.blanks();
            if !self.rest().starts_with('|') || self.rest().starts_with("||") {
                break;
            }
            self.next();
            if self.eat("&") {
                self.bash_only()?;
            }
            is_piped = true;
            self.gaps()?;
            self.command()?;
        }
        if is_piped {
            self.leave(mark);
        }
        Ok(())
    }

    pub(super) fn command(&mut self) -> Read<()> {
        self.deeper(|reader| {
            let mark = reader.enter();
            let is_compound = reader.compound()?;
            if !is_compound {
                return reader.simple();
            }
            reader.composed();
            reader.leave(mark);
            loop {
                reader.blanks();
                match reader.redirection()? {
                    Some(written) => reader.reading.writes.extend(written),
                    None => return Ok(()),
                }
            }
        })
    }

    fn simple(&mut self) -> Read<()> {
        let mut words: Vec<Word> = Vec::new();
        let mut spans = Vec::new();
        let mut assignments = Vec::new();
        let mut writes = None;
        let mut is_empty = true;
        loop {
            self.blanks();
            if let Some(written) = self.redirection()? {
                writes = written.or(writes);
                is_empty = false;
                continue;
            }
            if words.is_empty()
                && spans.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                is_empty = false;
                assignments.push(assignment);
                continue;
            }
            let is_first = spans.is_empty();
            let Some((read, span, quoted)) = self.word()? else {
                break;
            };
            is_empty = false;
            if is_first && !quoted && read.iter().any(|word| KEYWORDS[..20].contains(&word.text.as_str())) {
                return Err("has a keyword where a program is expected");
            }
            if is_first && !quoted && read.first().is_some_and(|word| word.text.contains('=')) {
                return Err("sets a variable in a way that is not followed");
            }
            words.extend(read);
            spans.push(span);
        }
        if is_empty {
            return Err("has an empty command");
        }
        if spans.is_empty() {
            self.reading.writes.extend(writes);
            for (name, word) in assignments {
                self.assign(&name, Value::of(&word));
                self.reading.assignments.push((name, word));
            }
            return Ok(());
        }
        if words.is_empty() {
            return Err("has a program that may be nothing");
        }
        // Some builtins keep what is set for them.
        for (name, _) in &assignments {
            self.assign(name, Value::ANYTHING);
        }
        if words.first().is_some_and(|word| SETTING.contains(&word.text.as_str())) {
            for word in &words[1..] {
                let name = word.text.split('=').next().unwrap_or_default();
                self.assign(name, Value::ANYTHING);
            }
        }
        if self.reading.commands.len() >= super::MAX_COMMANDS {
            return Err("is too long to be read");
        }
        self.reading.commands.push(Command {
            words,
            spans,
            assignments,
            writes,
        });
        Ok(())
    }

    /// `name=value`, if one stands here.
    fn assignment(&mut self) -> Read<Option<(String, Word)>> {
        let start = self.at;
        let name = self.name().to_owned();
        if name.is_empty() || !self.eat("=") {
            self.at = start;
            return Ok(None);
        }
        self.composed();
        if self.peek() == Some('(') {
            return Err("sets a list of values");
        }
        self.is_value = true;
        let value = self.word();
        self.is_value = false;
        let word = match value? {
            None => Word::literal(""),
            Some((mut words, ..)) => match (words.pop(), words.is_empty()) {
                (Some(word), true) => Word { glob: false, ..word },
                _ => return Err("sets a variable to something that is not followed"),
            },
        };
        Ok(Some((name, word)))
    }
}
