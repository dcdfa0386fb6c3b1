//! Files `*.rules` as the reference system writes them: calls of `prefix_rule` with nothing but literals. They are
//! turned into the tables of our own files. Whatever else stands in one is reported by its line, for it may be code that
//! makes rules.

use super::table::Reader;
use crate::config::tree::{Data, Node};

/// How deep lists may lie in lists; none of ours is deeper than two.
const DEPTH: usize = 8;

/// Calls of the other system that say nothing about commands: they are reported and do no harm.
const HARMLESS: &[&str] = &["host_executable", "network_rule"];

/// Reads the text of one file.
pub(super) fn read(text: &str, reader: &mut Reader<'_>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser { rest: text, line: 1 };
    loop {
        parser.skip_blanks();
        if parser.rest.is_empty() {
            return;
        }
        let line = parser.line;
        match parser.call() {
            Ok((name, fields)) if name == "prefix_rule" => match translated(fields) {
                Ok(fields) => reader.rule(&fields, Some(line)),
                Err((problem, at)) => reader.unreadable(problem, Some(at)),
            },
            Ok((name, _)) if HARMLESS.contains(&name.as_str()) => {
                reader.report(format!("{name} is not known here, so it does nothing."), Some(line));
            }
            Ok((name, _)) => {
                reader.unreadable(
                    format!("{name} is not known here; a file of rules holds calls of prefix_rule."),
                    Some(line),
                );
            }
            Err((problem, at)) => {
                reader.unreadable(problem, Some(at));
                parser.skip_statement();
            }
        }
    }
}

type Problem = (String, u32);

/// The fields of a call by the names of our own tables.
fn translated(fields: Vec<(String, Node)>) -> Result<Vec<(String, Node)>, Problem> {
    let mut found: Vec<(String, Node)> = Vec::with_capacity(fields.len() + 1);
    for (name, mut node) in fields {
        let line = node.line.unwrap_or(1);
        let name = match name.as_str() {
            "pattern" => "prefix",
            "justification" => "reason",
            "decision" => {
                let Data::Text(word) = &node.data else {
                    return Err(("`decision` must be a text.".to_owned(), line));
                };
                let word = match word.as_str() {
                    "prompt" => "ask",
                    "forbidden" => "deny",
                    other => other,
                };
                node.data = Data::Text(word.to_owned());
                "decision"
            }
            "match" | "not_match" => name.as_str(),
            _ => return Err((format!("`{name}` is not known in prefix_rule."), line)),
        };
        if found.iter().any(|(known, _)| known == name) {
            return Err((format!("`{name}` is given twice."), line));
        }
        found.push((name.to_owned(), node));
    }
    if found.iter().all(|(name, _)| name != "decision") {
        let node = Node {
            data: Data::Text("allow".to_owned()),
            line: None,
        };
        found.push(("decision".to_owned(), node));
    }
    Ok(found)
}

struct Parser<'t> {
    rest: &'t str,
    line: u32,
}

impl Parser<'_> {
    fn bump(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        self.line += u32::from(c == '\n');
        Some(c)
    }

    fn next_is(&mut self, wanted: char) -> bool {
        let is = self.rest.starts_with(wanted);
        if is {
            self.bump();
        }
        is
    }

    fn skip_blanks(&mut self) {
        loop {
            if self.rest.starts_with('#') {
                while self.rest.chars().next().is_some_and(|c| c != '\n') {
                    self.bump();
                }
            } else if self.rest.starts_with(|c: char| c.is_whitespace() || c == ';') {
                self.bump();
            } else {
                return;
            }
        }
    }

    /// On to the next line that begins at its left edge.
    fn skip_statement(&mut self) {
        while self.bump().is_some_and(|c| c != '\n')
            || self
                .rest
                .starts_with(|c: char| c.is_whitespace() || c == ')' || c == ']')
        {}
    }

    fn fail<T>(&self, what: &str) -> Result<T, Problem> {
        Err((
            format!("{what} Only prefix_rule(…) with texts and lists is read."),
            self.line,
        ))
    }

    fn name(&mut self) -> String {
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(self.rest.len());
        let name = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        name
    }

    /// `name(key = literal, …)`.
    fn call(&mut self) -> Result<(String, Vec<(String, Node)>), Problem> {
        let name = self.name();
        self.skip_blanks();
        if name.is_empty() || !self.next_is('(') {
            return self.fail("This is not a rule.");
        }
        let mut fields = Vec::new();
        loop {
            self.skip_blanks();
            if self.next_is(')') {
                return Ok((name, fields));
            }
            let line = self.line;
            let key = self.name();
            self.skip_blanks();
            if key.is_empty() || !self.next_is('=') || self.rest.starts_with('=') {
                return self.fail("Each argument must be given by its name.");
            }
            self.skip_blanks();
            let value = self.value(0)?;
            fields.push((
                key,
                Node {
                    line: Some(line),
                    ..value
                },
            ));
            self.skip_blanks();
            if !self.next_is(',') && !self.rest.starts_with(')') {
                return self.fail("A comma or a closing bracket is missing.");
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Problem> {
        let line = Some(self.line);
        if depth > DEPTH {
            return self.fail("The lists are nested too deeply.");
        }
        let data = match self.rest.chars().next() {
            Some('"' | '\'') => Data::Text(self.text()?),
            Some('[') => {
                self.bump();
                let mut items = Vec::new();
                loop {
                    self.skip_blanks();
                    if self.next_is(']') {
                        break Data::List(items);
                    }
                    items.push(self.value(depth + 1)?);
                    self.skip_blanks();
                    if !self.next_is(',') && !self.rest.starts_with(']') {
                        return self.fail("A comma or a closing bracket is missing in a list.");
                    }
                }
            }
            _ => return self.fail("This is no text and no list."),
        };
        Ok(Node { data, line })
    }

    fn text(&mut self) -> Result<String, Problem> {
        let Some(quote) = self.bump() else {
            return self.fail("A text is missing.");
        };
        if self.rest.starts_with([quote; 2]) {
            return self.fail("Texts in three quotes are not known.");
        }
        let mut text = String::new();
        loop {
            match self.bump() {
                Some(c) if c == quote => return Ok(text),
                Some('\\') => match self.bump() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(c @ ('\\' | '"' | '\'')) => text.push(c),
                    _ => return self.fail("An escape in a text is not known."),
                },
                None | Some('\n') => return self.fail("A text has no end."),
                Some(c) => text.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::decide::{Folders, Scene};
    use crate::exec::rules::{Decision, Rules};
    use std::path::Path;

    fn rules(text: &str) -> Rules {
        let mut rules = Rules::default();
        read(text, &mut Reader::new(&mut rules, Path::new("/r/x.rules"), false));
        rules
    }

    #[test]
    fn calls_with_literals_are_rules() {
        let rules = rules(
            "# Mine.\nprefix_rule(\n    pattern = [\"git\", [\"push\", 'fetch']],  # both\n    decision = \"prompt\",\n    \
             justification = \"It's \\\"shared\\\"\",\n    match = [\"git push\", [\"git\", \"fetch\"]],\n    \
             not_match = [\"git pull\"],\n)\n\nprefix_rule(pattern=[\"ls\"])\nprefix_rule(pattern=[\"rm\"], \
             decision=\"forbidden\")\n",
        );
        let found: Vec<_> = rules
            .iter()
            .map(|rule| (rule.prefix_in_words(), rule.decision, rule.place.line))
            .collect();
        assert_eq!(
            found,
            [
                ("git push|fetch".to_owned(), Decision::Ask, 2),
                ("ls".to_owned(), Decision::Allow, 10),
                ("rm".to_owned(), Decision::Deny, 11)
            ]
        );
        assert_eq!(
            rules.iter().next().and_then(|rule| rule.reason.as_deref()),
            Some("It's \"shared\"")
        );
        assert!(rules.reports().is_empty() && rules.unreadable().is_none(), "{rules:#?}");
    }

    #[test]
    fn anything_else_is_reported_by_its_line_and_nothing_is_allowed_meanwhile() {
        for (text, line) in [
            ("x = 1\nprefix_rule(pattern=[\"ls\"])\n", 1),
            (
                "prefix_rule(pattern=[\"ls\"])\nfor a in b:\n    prefix_rule(pattern=[a])\n",
                2,
            ),
            ("prefix_rule([\"ls\"])\n", 1),
            ("prefix_rule(pattern=[\"a\" + \"b\"])\n", 1),
            ("prefix_rule(pattern=[\"ls\"], decision=prompt)\n", 1),
            ("prefix_rule(pattern=[\"ls\"], sandbox=\"outside\")\n", 1),
            ("prefix_rule(pattern=[\"ls\"], pattern=[\"rm\"])\n", 1),
            ("\n\nprefix_rule(pattern=[\"ls\"", 3),
            ("prefix_rule(pattern=[\"ls\n\"])\n", 2),
            ("prefix_rule(pattern=[\"\"\"ls\"\"\"])\n", 1),
            ("prefix_rule(pattern=[\"\\q\"])\n", 1),
            ("load(\"x\")\n", 1),
            ("other_rule(pattern=[\"ls\"])\n", 1),
            ("prefix_rule(decision=\"forbidden\")\n", 1),
            ("prefix_rule(pattern=[[[[[[[[[[[\"a\"]]]]]]]]]]])\n", 1),
        ] {
            let rules = rules(text);
            assert!(rules.unreadable().is_some(), "{text}\n{rules:#?}");
            assert!(
                rules.reports().iter().any(|report| report.line == Some(line)),
                "{text}\n{rules:#?}"
            );
            assert!(
                rules
                    .allowing(&["ls".to_owned()], &Folders::of(Scene::at(Path::new("/"))))
                    .is_none(),
                "{text}"
            );
        }
        // The rest of a broken file still tightens.
        let rules = rules("x = [\n  1,\n]\nprefix_rule(pattern=[\"rm\"], decision=\"forbidden\")\n");
        assert!(rules.tightening(&[vec!["rm".to_owned()]]).is_some(), "{rules:#?}");
        let harmless = super::tests::rules("host_executable(name=\"git\", paths=[\"/usr/bin/git\"])\n");
        assert!(harmless.unreadable().is_none() && harmless.reports().len() == 1);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "[ a-z\"'\\[\\](),=#\\\\\n]{0,200}") {
            rules(&text);
        }
    }
}
