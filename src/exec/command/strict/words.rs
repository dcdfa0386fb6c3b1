//! Words: quotes, escapes, braces, and what the shell puts in.

use super::super::word::{Word, expand_braces};
use super::value::{SPLITTING, Value};
use super::{Read, Reader};
use std::ops::Range;

/// What a word becomes, where it stands, and whether some of it is quoted.
type Spread = (Vec<Word>, Range<usize>, bool);

/// A word in the making.
#[derive(Default)]
pub(super) struct Draft {
    text: String,
    unknown: bool,
    glob: bool,
    splits: bool,
    /// Whether what stands in front is no dash; none while there is nothing yet.
    tame: Option<bool>,
    pub(super) quoted: bool,
    /// Unquoted braces that may expand.
    brace: bool,
    comma: bool,
    /// Something beside literal unquoted text.
    mixed: bool,
    /// A known value put in without quotes.
    fields: bool,
    started: bool,
}

impl Draft {
    pub(super) fn literal(&mut self, c: char) {
        self.started = true;
        self.tame.get_or_insert(c != '-');
        self.text.push(c);
    }

    pub(super) fn quoted(&mut self, c: char) {
        self.quoted = true;
        self.mixed = true;
        self.literal(c);
    }

    pub(super) fn put_in(&mut self, value: &Value, source: &str, in_quotes: bool) {
        self.started = true;
        self.mixed = true;
        match value {
            Value::Known(text) => {
                if let Some(first) = text.chars().next() {
                    self.tame.get_or_insert(first != '-');
                }
                self.text.push_str(text);
                if !in_quotes && (text.is_empty() || text.contains(SPLITTING)) {
                    self.fields = true;
                    self.glob |= text.contains(['*', '?', '[', '\\']);
                }
            }
            Value::Numeric => {
                // A number may be negative.
                self.tame.get_or_insert(false);
                self.text.push_str(source);
                self.unknown = true;
            }
            Value::Unknown { tame, whole } => {
                self.tame.get_or_insert(*tame);
                self.text.push_str(source);
                self.unknown = true;
                self.splits |= !in_quotes && !whole;
            }
        }
    }

    pub(super) fn splits(&mut self) {
        self.splits = true;
    }

    /// The words that it becomes, with braces and known values spread out.
    fn finish(self) -> Read<Vec<Word>> {
        let word = Word {
            known: !self.unknown,
            // The program that tests is no pattern.
            glob: self.glob && self.text != "[",
            splits: self.splits,
            tame: self.tame.unwrap_or(false),
            text: self.text,
        };
        if self.brace && self.comma {
            if self.mixed || self.glob && word.text.starts_with('-') {
                return Err("mixes braces with quotes or values");
            }
            let words = expand_braces(&word.text, 0).into_iter().map(|text| Word {
                glob: self.glob,
                tame: !text.is_empty() && !text.starts_with(['-', '*', '?', '[']),
                ..Word::literal(&text)
            });
            // A shell without braces takes the word as it stands.
            let words: Vec<Word> = words.filter(|word| !word.text.is_empty()).collect();
            return match word.text.starts_with('-') || words.is_empty() {
                true => Err("spells options with braces"),
                false => Ok(words),
            };
        }
        if self.fields {
            if word.known && !word.glob {
                return Ok(word.text.split_ascii_whitespace().map(Word::literal).collect());
            }
            return Ok(vec![Word {
                splits: true,
                known: false,
                tame: false,
                ..word
            }]);
        }
        Ok(vec![word])
    }
}

impl Reader<'_> {
    /// Blanks, continued lines and a comment, up to the next word or the end of the line.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => drop(self.next()),
                Some('\\') if self.rest().starts_with("\\\n") => self.at += 2,
                Some('#') => {
                    let line = self.rest();
                    self.at += line.find('\n').unwrap_or(line.len());
                }
                _ => return,
            }
        }
    }

    /// A word, where one begins: what it becomes, where it stands, and whether some of it is quoted.
    pub(super) fn word(&mut self) -> Read<Option<Spread>> {
        let start = self.at;
        let mut draft = Draft::default();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' => {
                    if !self.rest().starts_with("<(") && !self.rest().starts_with(">(") {
                        break;
                    }
                    self.process_substitution(&mut draft)?;
                }
                '\'' => self.single_quotes(&mut draft)?,
                '"' => self.double_quotes(&mut draft)?,
                '\\' => {
                    self.next();
                    match self.next() {
                        Some('\n') => {}
                        Some(c) => draft.quoted(c),
                        None => return Err("ends with a backslash"),
                    }
                }
                '$' if self.rest().starts_with("$'") => self.escapes(&mut draft)?,
                '$' => self.expansion(&mut draft, false)?,
                '`' => self.backquotes(&mut draft, false)?,
                _ => {
                    self.next();
                    self.unquoted(c, &mut draft)?;
                }
            }
        }
        if self.peek() == Some('(') && self.at > start && !draft.quoted {
            return Err("holds a parenthesis within a word");
        }
        if !draft.started {
            if self.at > start && draft.quoted {
                draft.tame = None;
            } else {
                return Ok(None);
            }
        }
        let span = start..self.at;
        let quoted = draft.quoted;
        Ok(Some((draft.finish()?, span, quoted)))
    }

    fn unquoted(&mut self, c: char, draft: &mut Draft) -> Read<()> {
        match c {
            '*' | '?' | '[' => {
                draft.glob = true;
                draft.tame.get_or_insert(false);
            }
            '{' => draft.brace = true,
            ',' if draft.brace => {
                draft.comma = true;
                self.composed();
            }
            '.' if draft.brace && self.peek() == Some('.') && draft.text.ends_with(|c: char| c.is_alphanumeric()) => {
                let inside = draft.text.rsplit('{').next().unwrap_or_default();
                if inside.chars().all(char::is_alphanumeric) {
                    self.composed();
                    draft.unknown = true;
                    draft.splits = true;
                }
            }
            _ => {}
        }
        draft.literal(c);
        Ok(())
    }

    fn single_quotes(&mut self, draft: &mut Draft) -> Read<()> {
        self.next();
        draft.quoted = true;
        draft.mixed = true;
        draft.started = true;
        loop {
            match self.next().ok_or("has an open quote")? {
                '\'' => return Ok(()),
                c => draft.quoted(c),
            }
        }
    }

    /// `$'…'` with the escapes that mean one thing everywhere.
    fn escapes(&mut self, draft: &mut Draft) -> Read<()> {
        self.bash_only()?;
        self.at += 2;
        draft.quoted = true;
        draft.mixed = true;
        draft.started = true;
        loop {
            let c = match self.next().ok_or("has an open quote")? {
                '\'' => return Ok(()),
                '\\' => match self.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('\\') => '\\',
                    _ => return Err("spells characters by escapes"),
                },
                c => c,
            };
            draft.quoted(c);
        }
    }

    fn double_quotes(&mut self, draft: &mut Draft) -> Read<()> {
        self.next();
        draft.quoted = true;
        draft.mixed = true;
        draft.started = true;
        loop {
            match self.peek().ok_or("has an open quote")? {
                '"' => {
                    self.next();
                    return Ok(());
                }
                '\\' => {
                    self.next();
                    match self.next().ok_or("has an open quote")? {
                        '\n' => {}
                        c @ ('"' | '\\' | '$' | '`') => draft.quoted(c),
                        c => {
                            draft.quoted('\\');
                            draft.quoted(c);
                        }
                    }
                }
                '$' => self.expansion(draft, true)?,
                '`' => self.backquotes(draft, true)?,
                c => {
                    self.next();
                    draft.quoted(c);
                }
            }
        }
    }
}
