//! JSON as models write it: with a comma too many, line breaks in texts, or as Python would print it. What has one reading is read; what
//! could be meant in two ways is not, above all what is cut off.

use super::json;
use serde_json::{Map, Number, Value};

/// Values within values.
const MOST_DEPTH: usize = 64;

/// What was not as JSON has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slip {
    /// A comma in front of a closing bracket.
    Comma,
    /// Line breaks or other control characters as they are, in a text.
    Control,
    /// Texts in single quotes, `\'`, `True`, `False` or `None`.
    Python,
    /// More closing brackets than were opened.
    Brackets,
    /// An empty object in front of the one that is meant.
    Twice,
    /// It stands in a fenced block.
    Fence,
    /// It is a text that holds the JSON.
    Text,
}

impl Slip {
    /// Its name in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Comma => "trailing comma",
            Self::Control => "control character in a text",
            Self::Python => "Python literal",
            Self::Brackets => "bracket closed twice",
            Self::Twice => "empty object in front",
            Self::Fence => "fenced",
            Self::Text => "JSON in a text",
        }
    }
}

/// An object, and what was wrong with the way in which it was written. `None` if it cannot be read, or is no object.
pub fn object(text: &str) -> Option<(Map<String, Value>, Vec<Slip>)> {
    let mut slips = Vec::new();
    let text = match fenced(text) {
        Some(inner) => {
            slips.push(Slip::Fence);
            inner
        }
        None => text.trim(),
    };
    let found = match value(text, &mut slips)? {
        Value::String(inner) => {
            slips.push(Slip::Text);
            value(inner.trim(), &mut slips)?
        }
        found => found,
    };
    let Value::Object(found) = found else { return None };
    slips.sort_unstable();
    slips.dedup();
    Some((found, slips))
}

/// What a fenced block holds that is all there is.
pub(super) fn fenced(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let (info, inner) = inner.split_once('\n')?;
    let is_word = info.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_one = inner.lines().all(|line| !line.trim_start().starts_with("```"));
    (is_word && is_one).then(|| inner.trim())
}

/// The list or object that a text holds. `None` if it is anything else.
pub fn value_of(text: &str) -> Option<Value> {
    let text = text.trim();
    text.starts_with(['{', '[']).then(|| value(text, &mut Vec::new()))?
}

/// One value that is all there is.
pub(super) fn value(text: &str, slips: &mut Vec<Slip>) -> Option<Value> {
    if let Some(found) = json::parse_unique(text) {
        return Some(found);
    }
    let mut reader = Reader { text, at: 0, slips };
    let mut found = reader.value(0)?;
    if found.as_object().is_some_and(Map::is_empty) && reader.rest().trim_start().starts_with('{') {
        found = reader.value(0)?;
        reader.slips.push(Slip::Twice);
    }
    let rest = reader.rest().trim();
    if !rest.is_empty() {
        let is_closed = rest.chars().all(|c| matches!(c, '}' | ']') || c.is_whitespace());
        if !is_closed {
            return None;
        }
        slips.push(Slip::Brackets);
    }
    Some(found)
}

/// The first value of a text, and what stands behind it.
pub(super) fn first<'t>(text: &'t str, slips: &mut Vec<Slip>) -> Option<(Value, &'t str)> {
    let mut reader = Reader { text, at: 0, slips };
    let found = reader.value(0)?;
    Some((found, &text[reader.at..]))
}

struct Reader<'t, 's> {
    text: &'t str,
    at: usize,
    slips: &'s mut Vec<Slip>,
}

impl<'t> Reader<'t, '_> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// The next letter that is no blank, which is not taken.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_it = self.peek() == Some(wanted);
        if is_it {
            self.at += wanted.len_utf8();
        }
        is_it
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MOST_DEPTH {
            return None;
        }
        match self.peek()? {
            '{' => {
                let mut found = Map::new();
                self.list('}', |reader| {
                    let key = reader.string()?;
                    let value = reader.takes(':').then(|| reader.value(depth + 1))??;
                    // Of one that stands there twice nobody knows which is meant.
                    found.insert(key, value).is_none().then_some(())
                })?;
                Some(Value::Object(found))
            }
            '[' => {
                let mut found = Vec::new();
                self.list(']', |reader| {
                    found.push(reader.value(depth + 1)?);
                    Some(())
                })?;
                Some(Value::Array(found))
            }
            '"' | '\'' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    /// What stands between brackets, with commas between.
    fn list(&mut self, end: char, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.next()?;
        let mut is_first = true;
        while !self.takes(end) {
            if !std::mem::take(&mut is_first) {
                if !self.takes(',') {
                    return None;
                }
                if self.takes(end) {
                    self.slips.push(Slip::Comma);
                    return Some(());
                }
            }
            item(self)?;
        }
        Some(())
    }

    fn word(&mut self) -> Option<Value> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        self.at += end;
        let python = match word {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            "true" | "false" | "null" => return serde_json::from_str(word).ok(),
            _ => return serde_json::from_str::<Number>(word).ok().map(Value::Number),
        };
        self.slips.push(Slip::Python);
        Some(python)
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.peek().filter(|c| matches!(c, '"' | '\''))?;
        self.next();
        if quote == '\'' {
            self.slips.push(Slip::Python);
        }
        let mut found = String::new();
        loop {
            match self.next()? {
                end if end == quote => return Some(found),
                '\\' => found.push(self.escape(quote)?),
                letter => {
                    if letter.is_ascii_control() {
                        self.slips.push(Slip::Control);
                    }
                    found.push(letter);
                }
            }
        }
    }

    /// What an escape stands for. One that JSON does not know may be the letter or both: nobody knows.
    fn escape(&mut self, quote: char) -> Option<char> {
        Some(match self.next()? {
            '"' => '"',
            '\'' => {
                if quote == '"' {
                    self.slips.push(Slip::Python);
                }
                '\''
            }
            '\\' => '\\',
            '/' if quote == '"' => '/',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.unicode()?,
            _ => return None,
        })
    }

    fn unicode(&mut self) -> Option<char> {
        let unit = |reader: &mut Self| {
            let digits = reader.rest().get(..4)?;
            let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let unit = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
            reader.at += 4;
            Some(unit)
        };
        let high = unit(self)?;
        if !(0xD800..0xDC00).contains(&high) || !self.rest().starts_with("\\u") {
            return Some(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let before = self.at;
        self.at += 2;
        let low = unit(self)?;
        if (0xDC00..0xE000).contains(&low) {
            return char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
        }
        self.at = before;
        Some(char::REPLACEMENT_CHARACTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_has_one_reading_is_read_and_nothing_else() {
        let table = [
            (r#"{"a": 1}"#, Some((json!({"a": 1}), vec![]))),
            (r#"{"a": [1, 2,], }"#, Some((json!({"a": [1, 2]}), vec![Slip::Comma]))),
            (
                "{\"a\": \"x\ny\t\"}",
                Some((json!({"a": "x\ny\t"}), vec![Slip::Control])),
            ),
            (
                r#"{'a': 'it\'s', 'b': True, "c": None}"#,
                Some((json!({"a": "it's", "b": true, "c": null}), vec![Slip::Python])),
            ),
            (r#"{"a": "it\'s"}"#, Some((json!({"a": "it's"}), vec![Slip::Python]))),
            (r#"{"a": 1}}"#, Some((json!({"a": 1}), vec![Slip::Brackets]))),
            (r#"{}{"a": 1}"#, Some((json!({"a": 1}), vec![Slip::Twice]))),
            ("```json\n{\"a\": 1}\n```", Some((json!({"a": 1}), vec![Slip::Fence]))),
            (r#""{\"a\": 1}""#, Some((json!({"a": 1}), vec![Slip::Text]))),
            (
                r#""{\"a\": [1,]}""#,
                Some((json!({"a": [1]}), vec![Slip::Comma, Slip::Text])),
            ),
            (
                r#"{"a": "\ud83d\ude00\ud83dx",}"#,
                Some((json!({"a": "😀\u{fffd}x"}), vec![Slip::Comma])),
            ),
            // Cut off, or in two ways.
            (r#"{"a": 1"#, None),
            (r#"{"a": "x"#, None),
            (r#"{"a": "\d"}"#, None),
            (r#"{"a": 1, "a": 2,}"#, None),
            (r#"{"a": 1}{"a": 2}"#, None),
            (r#"{"a" 1}"#, None),
            (r"{a: 1}", None),
            (r#"{"a": "b" "c"}"#, None),
            (r#"{"a": 1} and more"#, None),
            (r#"{"a": 1,,}"#, None),
            (r"{,}", None),
            ("[1]", None),
            (r#""text""#, None),
            ("7", None),
            ("", None),
            ("```json\n{}\n``` and ```\n{}\n```", None),
        ];
        for (text, wanted) in table {
            let found = object(text).map(|(found, slips)| (Value::Object(found), slips));
            assert_eq!(found, wanted, "{text}");
        }
        assert_eq!(object(&format!("{{\"a\": {},}}", "[".repeat(100_000))), None);
    }

    proptest! {
        #[test]
        fn any_json_is_read_as_it_is(text in "[a-z\\\\\"'{}\\[\\]:, \n]{0,40}", number in any::<i64>()) {
            let value = json!({"text": text, "list": [number, null, {"deep": text}]});
            let (text, mut slips) = (value.to_string(), Vec::new());
            prop_assert_eq!(first(&text, &mut slips), Some((value, "")));
            prop_assert!(slips.is_empty());
        }

        #[test]
        fn nothing_is_read_of_what_was_cut_off(text in "[a-z\\\\\"' \n]{0,20}", at in 0usize..200) {
            let whole = json!({"text": text, "more": [1, "x"]}).to_string();
            let cut = whole.char_indices().map(|(at, _)| at).nth(at % (whole.chars().count()));
            prop_assert_eq!(object(&whole[..cut.unwrap_or(0)]), None);
        }

        #[test]
        fn any_text_is_borne(text in "[{}\\[\\]\"'\\\\:,a-z0-9`\n ]{0,60}") {
            let _ = object(&text);
        }
    }
}
