//! Arithmetic. A shell evaluates what its variables hold, down to commands in subscripts, so only numbers count.

use super::value::Value;
use super::{Read, Reader};

impl Reader<'_> {
    /// An expression after its opening, up to and with `))`.
    pub(super) fn arithmetic(&mut self) -> Read<()> {
        let mut open = 0usize;
        // A name that `++` or `--` was seen in front of.
        let mut stepped = false;
        loop {
            if open == 0 && self.eat("))") {
                return Ok(());
            }
            if self.eat("++") || self.eat("--") {
                stepped = true;
                continue;
            }
            let c = self.peek().ok_or("has open arithmetic")?;
            match c {
                '(' => open += 1,
                ')' => open = open.checked_sub(1).ok_or("has open arithmetic")?,
                '0'..='9' => {
                    while self.peek().is_some_and(|c| c.is_ascii_alphanumeric()) {
                        self.next();
                    }
                    continue;
                }
                '$' => {
                    self.next();
                    let braced = self.eat("{");
                    let name = match self.peek() {
                        Some('?' | '#') => self.next().map(String::from).unwrap_or_default(),
                        _ => self.name().to_owned(),
                    };
                    if braced && !self.eat("}") {
                        return Err("computes with something that is not followed");
                    }
                    self.number(&name)?;
                    continue;
                }
                'a'..='z' | 'A'..='Z' | '_' => {
                    let name = self.name().to_owned();
                    let rest = self.rest().trim_start_matches(' ');
                    let sets = rest.starts_with('=') && !rest.starts_with("==");
                    let operators = ["++", "--", "+=", "-=", "*=", "/=", "%="];
                    let changes = operators.iter().any(|operator| rest.starts_with(operator));
                    if !sets {
                        self.number(&name)?;
                    }
                    if sets || changes || std::mem::take(&mut stepped) {
                        if !super::super::variables::is_harmless(&name) {
                            return Err("sets a variable that programs act upon");
                        }
                        self.assign(&name, Value::Numeric);
                    }
                    continue;
                }
                ' ' | '\n' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' | '^' | '~' | '?'
                | ':' | ',' | ';' => {}
                _ => return Err("computes with something that is not followed"),
            }
            self.next();
        }
    }

    /// A variable that an expression reads.
    fn number(&mut self, name: &str) -> Read<()> {
        match self.is_first || self.value_of(name).is_integer() {
            true => Ok(()),
            false => Err("computes with a value that may be no number"),
        }
    }
}
