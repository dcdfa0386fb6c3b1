//! A prompt's text with what the person gave it: `$1` to `$9`, `$ARGUMENTS`, `$NAME`, and `$$` for a dollar sign.

use super::Prompt;
use super::front::is_argument;
use std::collections::BTreeMap;

/// What stands behind a prompt's name, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// All of it as typed, without blanks around it.
    pub raw: String,
    /// What has no name, in order.
    pub positional: Vec<String>,
    /// `NAME=value`, by the name in capitals.
    pub named: BTreeMap<String, String>,
}

/// Why a prompt cannot be called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error(
        "The prompt /{name} needs {}. Call it as {usage}, or with {}.",
        missing.join(" and "),
        missing.iter().map(|name| format!("{}=\"…\"", name.to_uppercase())).collect::<Vec<_>>().join(" ")
    )]
    Missing {
        name: String,
        missing: Vec<String>,
        usage: String,
    },
}

impl Call {
    /// Reads words, `"quoted words"` and `NAME="value"`. A quote that has no end is a character like others, so that what
    /// people write can stand here.
    pub fn read(text: &str) -> Self {
        let mut call = Self {
            raw: text.trim().to_owned(),
            ..Self::default()
        };
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let named = rest.split_once('=').filter(|(name, _)| is_argument(name));
            let (word, after) = word(named.map_or(rest, |(_, value)| value));
            match named {
                Some((name, _)) => {
                    call.named.insert(name.to_uppercase(), word);
                }
                None => call.positional.push(word),
            }
            rest = after.trim_start();
        }
        call
    }
}

/// The first word of a text, and what follows it.
fn word(text: &str) -> (String, &str) {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\''))
        && let Some((word, rest)) = quoted(&text[1..], quote)
    {
        return (word, rest);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (text[..end].to_owned(), &text[end..])
}

/// Up to the closing quote, which must end a word. A backslash keeps a quote, and itself.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some((_, next))) if *next == quote || *next == '\\' => {
                word.push(*next);
                chars.next();
            }
            (c, _) if c == quote => {
                let rest = &text[at + c.len_utf8()..];
                let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
                return ends.then_some((word, rest));
            }
            (c, _) => word.push(c),
        }
    }
    None
}

impl Prompt {
    /// The text that goes to the model. What is put in is not looked at again. A prompt that has a place for nothing gets
    /// what was typed behind its name at its end.
    ///
    /// # Errors
    /// An argument that must be given is not.
    pub fn expand(&self, call: &Call) -> Result<String, CallError> {
        let declared = self.declared(call)?;
        let mut text = String::with_capacity(self.body.len());
        let mut has_place = false;
        let mut rest = self.body.as_str();
        while let Some(at) = rest.find('$') {
            text.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let name_end = after
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(after.len());
            let name = &after[..name_end];
            let (value, length) = if after.starts_with('$') {
                (Some("$".to_owned()), 1)
            } else if let Some(number) = after
                .chars()
                .next()
                .and_then(|c| c.to_digit(10))
                .filter(|number| *number > 0)
            {
                has_place = true;
                let index = number as usize - 1;
                (Some(call.positional.get(index).cloned().unwrap_or_default()), 1)
            } else if name == "ARGUMENTS" {
                has_place = true;
                (Some(call.raw.clone()), name.len())
            } else {
                // `$HOME` in a piece of shell is no place, unless somebody gives it.
                let upper = name.to_uppercase();
                let is_declared = declared.contains_key(&upper);
                let value = declared
                    .get(&upper)
                    .or_else(|| call.named.get(&upper).filter(|_| name == upper));
                has_place |= is_declared || value.is_some();
                (value.cloned(), name.len())
            };
            match value {
                Some(value) => {
                    text.push_str(&value);
                    rest = &after[length..];
                }
                None => {
                    text.push('$');
                    rest = after;
                }
            }
        }
        text.push_str(rest);
        if !has_place && !call.raw.is_empty() {
            text.push_str("\n\n");
            text.push_str(&call.raw);
        }
        Ok(text)
    }

    /// The values of the arguments that the head names: given by name, else in their order, else what stands in.
    fn declared(&self, call: &Call) -> Result<BTreeMap<String, String>, CallError> {
        let mut values = BTreeMap::new();
        let mut missing = Vec::new();
        let mut in_order = call.positional.iter();
        let arguments = &self.front.arguments;
        for (index, argument) in arguments.iter().enumerate() {
            let upper = argument.name.to_uppercase();
            // The last one takes all that is left.
            let next = match call.named.get(&upper) {
                Some(value) => Some(value.clone()),
                None if index + 1 == arguments.len() => {
                    let left: Vec<&str> = in_order.by_ref().map(String::as_str).collect();
                    Some(left.join(" ")).filter(|left| !left.is_empty())
                }
                None => in_order.next().cloned(),
            };
            match next.or_else(|| argument.default.clone()) {
                Some(value) => {
                    values.insert(upper, value);
                }
                None => missing.push(argument.name.clone()),
            }
        }
        match missing.is_empty() {
            true => Ok(values),
            false => Err(CallError::Missing {
                name: self.name.clone(),
                missing,
                usage: self.usage(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::front;
    use super::*;
    use proptest::prelude::*;

    fn prompt(text: &str) -> Prompt {
        let (front, body, _) = front::split(text).expect("a head");
        Prompt {
            name: "p".to_owned(),
            path: "/p.md".into(),
            of_project: false,
            front,
            body: body.to_owned(),
        }
    }

    /// Shows S-332.
    #[test]
    fn texts_with_what_was_given_by_table() {
        let declared = "---\narguments:\n  - file\n  - name: style\n    default: plain\n---\n";
        for (text, given, expected) in [
            ("Fix $1 and $2.", "a b c", "Fix a and b."),
            ("Fix $1 and $2.", "\"a b\" c", "Fix a b and c."),
            ("Fix $1, not $2.", "a", "Fix a, not ."),
            ("$10", "a", "a0"),
            ("All: $ARGUMENTS", "a  \"b c\"", "All: a  \"b c\""),
            ("Costs $$5, $$1, $0", "a", "Costs $5, $1, $0\n\na"),
            ("$FILE with $STYLE", "FILE=\"a b.rs\" STYLE=x", "a b.rs with x"),
            ("$FILE", "file=a", "a"),
            ("cd $HOME; $file $", "", "cd $HOME; $file $"),
            ("cd $HOME", "HOME=/x", "cd /x"),
            ("Plain.", "", "Plain."),
            ("Plain.", "don't stop", "Plain.\n\ndon't stop"),
            ("[$1]", "don't", "[don't]"),
            ("[$1]", "'a b'", "[a b]"),
            ("[$1|$2]", "\"open b", "[\"open|b]"),
            ("[$1]", "\"say \\\"x\\\" \\\\\"", "[say \"x\" \\]"),
            ("[$1]", "$2", "[$2]"),
            ("[$1]", "", "[]"),
            ("ä$1ü$", "ö", "äöü$"),
        ] {
            assert_eq!(
                prompt(text).expand(&Call::read(given)).as_deref(),
                Ok(expected),
                "{text} {given}"
            );
        }
        for (given, expected) in [
            ("a.rs", "a.rs: plain"),
            ("a.rs terse and short", "a.rs: terse and short"),
            ("STYLE=terse a.rs", "a.rs: terse"),
            ("file=\"x y\"", "x y: plain"),
        ] {
            let prompt = prompt(&format!("{declared}$file: $STYLE"));
            assert_eq!(prompt.expand(&Call::read(given)).as_deref(), Ok(expected), "{given}");
        }
        let error = prompt(&format!("{declared}$file"))
            .expand(&Call::read("STYLE=x"))
            .expect_err("no file");
        assert_eq!(
            error.to_string(),
            "The prompt /p needs file. Call it as /p <file> [style], or with FILE=\"…\"."
        );
    }

    proptest! {
        #[test]
        fn nothing_that_is_typed_breaks_it(body in "[$0-9A-Z a-zä\"\n]{0,40}", given in ".{0,40}") {
            let expanded = prompt(&format!("x{body}")).expand(&Call::read(&given));
            prop_assert!(expanded.is_ok());
        }
    }
}
