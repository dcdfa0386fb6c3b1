//! Compound commands: loops, conditions, functions, tests.

use super::super::variables;
use super::super::word::Word;
use super::grammar::UNFINISHED;
use super::value::Value;
use super::{Read, Reader};

impl Reader<'_> {
    /// A compound command, if one stands here.
    pub(super) fn compound(&mut self) -> Read<bool> {
        if self.rest().starts_with("((") {
            self.at += 2;
            self.bash_only()?;
            self.arithmetic()?;
            return Ok(true);
        }
        if self.eat("(") {
            self.commands(&[])?;
            return if self.eat(")") { Ok(true) } else { Err(UNFINISHED) };
        }
        if self.function()? {
            return Ok(true);
        }
        let Some(keyword) = self.keyword() else {
            return Ok(false);
        };
        if keyword == "time" || keyword == "in" {
            return Ok(false);
        }
        self.at += keyword.len();
        match keyword {
            "{" => {
                self.commands(&["}"])?;
                self.expect("}")?;
            }
            "if" => {
                self.commands(&["then"])?;
                self.expect("then")?;
                self.commands(&["elif", "else", "fi"])?;
                while self.eat_keyword("elif") {
                    self.commands(&["then"])?;
                    self.expect("then")?;
                    self.commands(&["elif", "else", "fi"])?;
                }
                if self.eat_keyword("else") {
                    self.commands(&["fi"])?;
                }
                self.expect("fi")?;
            }
            "while" | "until" => {
                self.commands(&["do"])?;
                self.body()?;
            }
            "for" => self.for_loop()?,
            "case" => self.case()?,
            "[[" => self.test()?,
            _ => return Err("uses a keyword that is not followed"),
        }
        Ok(true)
    }

    fn body(&mut self) -> Read<()> {
        self.expect("do")?;
        self.commands(&["done"])?;
        self.expect("done")
    }

    /// `name() { … }`, also with `function` in front.
    fn function(&mut self) -> Read<bool> {
        let start = self.at;
        let has_keyword = self.eat_keyword("function");
        self.blanks();
        if has_keyword {
            self.bash_only()?;
        }
        let name = self.name().to_owned();
        self.blanks();
        let has_parentheses = self.eat("(") && {
            self.blanks();
            self.eat(")")
        };
        if name.is_empty() || !(has_keyword || has_parentheses) {
            self.at = start;
            return if has_keyword { Err(UNFINISHED) } else { Ok(false) };
        }
        self.expands()?;
        self.gaps()?;
        if !matches!(self.peek(), Some('{' | '(')) {
            return Err("defines a function in an unusual way");
        }
        let mark = self.enter();
        self.command()?;
        self.leave(mark);
        // One that is defined in a branch or a shell of its own may not be there when it is called.
        let before = self.text.get(..start).unwrap_or_default().trim_end_matches([' ', '\t']);
        let after = self.rest().trim_start_matches([' ', '\t']);
        let stands_alone = (before.is_empty() || before.ends_with(['\n', ';']))
            && (after.is_empty() || after.starts_with(['\n', ';', '#']));
        if stands_alone && self.depth == 1 && !self.in_substitution {
            self.reading.functions.push((name, start));
        }
        Ok(true)
    }

    fn for_loop(&mut self) -> Read<()> {
        self.blanks();
        if self.eat("((") {
            self.bash_only()?;
            self.arithmetic()?;
            self.blanks();
            self.eat(";");
            self.gaps()?;
            return self.body();
        }
        let name = self.name().to_owned();
        if name.is_empty() || !variables::is_harmless(&name) {
            return Err("loops over a variable that programs act upon");
        }
        self.gaps()?;
        let mut words = None;
        if self.eat_keyword("in") {
            let list = words.insert(Vec::new());
            loop {
                self.blanks();
                match self.word()? {
                    Some((more, ..)) => list.extend(more),
                    None => break,
                }
            }
        }
        self.blanks();
        self.eat(";");
        self.gaps()?;
        let value = words.map_or(Value::ANYTHING, |words| Value::of_loop(&words));
        self.assign(&name, value);
        self.body()
    }

    fn case(&mut self) -> Read<()> {
        self.blanks();
        self.word()?.ok_or(UNFINISHED)?;
        self.gaps()?;
        self.expect("in")?;
        loop {
            self.gaps()?;
            if self.eat_keyword("esac") {
                return Ok(());
            }
            self.eat("(");
            loop {
                self.blanks();
                let (words, ..) = self.word()?.ok_or(UNFINISHED)?;
                if words.len() != 1 {
                    return Err("has a pattern that is not followed");
                }
                self.blanks();
                if !self.eat("|") {
                    break;
                }
            }
            if !self.eat(")") {
                return Err("has a pattern that is not followed");
            }
            let mark = self.enter();
            self.list(&["esac"])?;
            self.leave(mark);
            self.gaps()?;
            if self.eat(";;&") || !self.eat(";;") {
                self.gaps()?;
                self.expect("esac")?;
                return Ok(());
            }
        }
    }

    /// `[[ … ]]`. What compares numbers evaluates its words, and `-v` and `-R` evaluate subscripts.
    fn test(&mut self) -> Read<()> {
        const NUMERIC: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        const REFUSED: &str = "has a test that is not followed";
        self.bash_only()?;
        let mut words: Vec<Word> = Vec::new();
        let mut numeric = false;
        loop {
            self.gaps()?;
            if self.eat_keyword("]]") {
                let integer = |word: &Word| word.text.parse::<i32>().is_ok();
                let operand = |at: usize| words.get(at).is_some_and(integer);
                let wrong = |(at, word): (usize, &Word)| {
                    NUMERIC.contains(&word.text.as_str()) && !(at > 0 && operand(at - 1) && operand(at + 1))
                };
                return match numeric && words.iter().enumerate().any(wrong) {
                    true => Err(REFUSED),
                    false => Ok(()),
                };
            }
            if self.eat("&&") || self.eat("||") || self.eat("(") || self.eat(")") || self.eat("<") || self.eat(">") {
                continue;
            }
            if self.eat("=~ ") {
                self.blanks();
                let rest = self.rest();
                let end = rest.find(char::is_whitespace).ok_or(REFUSED)?;
                let pattern = rest.get(..end).unwrap_or_default();
                if pattern.contains(['`', '\'', '"', '\\']) || pattern.contains("$(") || pattern.contains("${") {
                    return Err(REFUSED);
                }
                self.at += end;
                continue;
            }
            let (mut read, _, quoted) = self.word()?.ok_or(REFUSED)?;
            let (Some(word), true) = (read.pop(), read.is_empty()) else {
                return Err(REFUSED);
            };
            if !quoted && matches!(word.text.as_str(), "-v" | "-R" | "-o") {
                return Err(REFUSED);
            }
            numeric |= NUMERIC.contains(&word.text.as_str());
            words.push(word);
        }
    }
}
