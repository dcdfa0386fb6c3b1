//! What the shell puts into words: variables, the output of commands, numbers.

use super::value::Value;
use super::words::Draft;
use super::{Read, Reader};

impl Reader<'_> {
    /// A dollar sign and what follows it.
    pub(super) fn expansion(&mut self, draft: &mut Draft, in_quotes: bool) -> Read<()> {
        let start = self.at;
        let rest = self.rest();
        let literal = match rest[1..].chars().next() {
            None => !in_quotes,
            Some(' ') => true,
            Some('\t' | '\n') => !in_quotes,
            Some('"' | '|' | ')' | '/') => in_quotes,
            _ => false,
        };
        if literal {
            self.next();
            match in_quotes {
                true => draft.quoted('$'),
                false => draft.literal('$'),
            }
            return Ok(());
        }
        self.expands()?;
        let (value, splits) = if rest.starts_with("$((") {
            self.at += 3;
            self.arithmetic()?;
            (Value::Numeric, false)
        } else if rest.starts_with("$(") {
            self.at += 2;
            self.substitution()?;
            (self.printed(start), false)
        } else if rest.starts_with("${") {
            self.at += 2;
            self.parameter()?
        } else {
            self.next();
            let c = self.peek().ok_or("has a dollar sign that means nothing")?;
            if c.is_ascii_alphabetic() || c == '_' {
                let name = self.name().to_owned();
                (self.value_of(&name), false)
            } else if c.is_ascii_digit() || "?#$!@*-".contains(c) {
                self.next();
                (self.value_of(c.encode_utf8(&mut [0; 4])), "@*".contains(c))
            } else {
                return Err("has a dollar sign that is not understood");
            }
        };
        let source = self.text.get(start..self.at).unwrap_or_default();
        draft.put_in(&value, source, in_quotes || self.is_value);
        if splits {
            draft.splits();
        }
        Ok(())
    }

    /// What a substitution prints that began at `start`: of one command it is known that it prints names of commits.
    fn printed(&self, start: usize) -> Value {
        let source = self.text.get(start..self.at).unwrap_or_default();
        let inner = source
            .strip_prefix("$(git merge-base ")
            .and_then(|rest| rest.strip_suffix(')'));
        let plain = |c: char| c.is_ascii_alphanumeric() || "/_. ".contains(c);
        let defines = self.text.contains("()") || self.text.contains("function") || self.text.contains("alias");
        match inner.is_some_and(|inner| inner.chars().all(plain)) && !defines {
            true => Value::Unknown {
                tame: true,
                whole: true,
            },
            false => Value::ANYTHING,
        }
    }

    /// The name of a variable, where one stands; empty if none does.
    pub(super) fn name(&mut self) -> &str {
        let rest = self.rest();
        let begins = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let length = if begins { end } else { 0 };
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// `${…}` after its opening: the value, and whether it may be several words even in quotes.
    fn parameter(&mut self) -> Read<(Value, bool)> {
        const REFUSED: &str = "changes a value in a way that is not followed";
        let counts = self.eat("#");
        if counts && self.eat("}") {
            return Ok((Value::Numeric, false));
        }
        let name = match self.peek() {
            Some(c) if c.is_ascii_digit() || "@*?".contains(c) => {
                self.next();
                c.to_string()
            }
            _ => self.name().to_owned(),
        };
        if name.is_empty() {
            return Err(REFUSED);
        }
        let is_list = self.eat("[@]") || self.eat("[*]") || matches!(name.as_str(), "@" | "*");
        if counts {
            return if self.eat("}") {
                Ok((Value::Numeric, false))
            } else {
                Err(REFUSED)
            };
        }
        if self.eat("}") {
            let value = if is_list { Value::ANYTHING } else { self.value_of(&name) };
            return Ok((value, is_list));
        }
        const OPERATORS: [&str; 15] = [
            ":-", ":+", ":?", "%%", "##", "//", "^^", ",,", "-", "+", "?", "%", "#", "/", "^",
        ];
        if OPERATORS.iter().any(|operator| self.eat(operator)) || self.eat(",") {
            self.operand()?;
        } else if self.eat(":") {
            let part = |c: &char| c.is_ascii_digit() || *c == ':';
            while self.peek().as_ref().is_some_and(part) {
                self.next();
            }
        }
        if self.eat("}") {
            Ok((Value::ANYTHING, is_list))
        } else {
            Err(REFUSED)
        }
    }

    /// A pattern or a default: plain characters and plain variables.
    fn operand(&mut self) -> Read<()> {
        loop {
            match self.peek() {
                Some('}') => return Ok(()),
                Some('$') => {
                    self.next();
                    if self.name().is_empty() {
                        return Err("changes a value by another in a way that is not followed");
                    }
                }
                Some('`' | '\'' | '"' | '\\' | '{' | '\n' | '(') | None => {
                    return Err("changes a value by something that is not followed");
                }
                Some(_) => drop(self.next()),
            }
        }
    }

    /// The commands of a substitution, after its opening and up to its parenthesis.
    fn substitution(&mut self) -> Read<()> {
        self.nested(|reader| {
            reader.list(&[])?;
            if reader.eat(")") {
                Ok(())
            } else {
                Err("has an open substitution")
            }
        })
    }

    pub(super) fn process_substitution(&mut self, draft: &mut Draft) -> Read<()> {
        self.bash_only()?;
        let start = self.at;
        self.at += 2;
        self.substitution()?;
        let value = Value::Unknown {
            tame: true,
            whole: true,
        };
        draft.put_in(&value, self.text.get(start..self.at).unwrap_or_default(), false);
        Ok(())
    }

    /// Commands between backquotes, which must not hold escapes: those are read twice.
    pub(super) fn backquotes(&mut self, draft: &mut Draft, in_quotes: bool) -> Read<()> {
        self.expands()?;
        let start = self.at;
        self.next();
        let inner = self.rest();
        let length = inner.find('`').ok_or("has an open backquote")?;
        let inner = inner.get(..length).unwrap_or_default();
        if inner.contains('\\') || (in_quotes && inner.contains('"')) {
            return Err("has escapes within backquotes");
        }
        let end = std::mem::replace(&mut self.end, self.at + length);
        self.nested(|reader| {
            reader.list(&[])?;
            if reader.at == reader.end {
                Ok(())
            } else {
                Err("has backquotes that do not close")
            }
        })?;
        self.end = end;
        self.next();
        let source = self.text.get(start..self.at).unwrap_or_default();
        draft.put_in(&Value::ANYTHING, source, in_quotes || self.is_value);
        Ok(())
    }

    /// Reads commands of a shell of their own, whose variables end with it.
    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Read<()>) -> Read<()> {
        let was_inside = std::mem::replace(&mut self.in_substitution, true);
        let was_value = std::mem::replace(&mut self.is_value, false);
        let mark = self.enter();
        self.deeper(inner)?;
        self.leave(mark);
        self.in_substitution = was_inside;
        self.is_value = was_value;
        Ok(())
    }
}
