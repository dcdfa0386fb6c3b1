//! JSON as providers write it: half a surrogate pair in an escape must not cost the whole event.

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;

/// Parses `text`; escapes of lone surrogates count as U+FFFD. `None` if it is no JSON at all.
pub(super) fn parse(text: &str) -> Option<Value> {
    match serde_json::from_str(text) {
        Ok(value) => Some(value),
        Err(_) => serde_json::from_str(&mend_surrogates(text)?).ok(),
    }
}

/// Reads text in which each object has each key once.
///
/// # Errors
/// The text is no JSON, or a key stands twice in one object.
pub fn unique(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).map(|Unique(value)| value)
}

/// As [`parse`], of text in which no key of an object stands twice: nobody knows which of the two is meant.
pub(super) fn parse_unique(text: &str) -> Option<Value> {
    match unique(text) {
        Ok(value) => Some(value),
        Err(_) => unique(&mend_surrogates(text)?).ok(),
    }
}

/// A value whose objects have each key once.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut found = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            found.push(item);
        }
        Ok(Value::Array(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut found = Map::new();
        while let Some((key, Unique(value))) = entries.next_entry::<String, Unique>()? {
            if found.contains_key(&key) {
                return Err(de::Error::custom(format_args!("`{key}` stands twice")));
            }
            found.insert(key, value);
        }
        Ok(Value::Object(found))
    }
}

/// `None` where there is nothing to mend.
fn mend_surrogates(text: &str) -> Option<String> {
    let mut mended = String::with_capacity(text.len());
    let mut changed = false;
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match unit(rest) {
            Some(0xD800..=0xDBFF) if matches!(rest.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                mended.push_str("\\ufffd");
                changed = true;
                rest = &rest[6..];
                continue;
            }
            Some(_) => 6,
            None => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    mended.push_str(rest);
    changed.then_some(mended)
}

/// The code unit of the `\uXXXX` at the start of `text`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

/// The first of `keys` that holds a text which is not empty.
pub(super) fn text<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter()
        .find_map(|key| value.get(*key)?.as_str().filter(|text| !text.is_empty()))
}

/// A count of tokens: any number, held to the range of a `u32`.
pub(super) fn count(value: Option<&Value>) -> Option<u32> {
    let value = value?;
    let number = value
        .as_u64()
        .or_else(|| value.as_f64().map(|number| number.max(0.0) as u64))?;
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_that_stands_twice_has_no_reading() {
        let sound = r#"{"a": [1, -2, 1.5, true, null, "\u00e4", {"b": {}}], "b": "x"}"#;
        assert_eq!(parse_unique(sound), parse(sound));
        assert_eq!(parse_unique(r#"{"d":"a\ud83d"}"#), Some(json!({"d": "a\u{fffd}"})));
        for text in [
            r#"{"a": 1, "a": 2}"#,
            r#"{"a": 1, "\u0061": 1}"#,
            r#"{"x": [{"a": 1, "a": 1}]}"#,
            r#"{"a": "\ud83d", "a": 1}"#,
            "{",
        ] {
            assert_eq!(parse_unique(text), None, "{text}");
        }
    }

    #[test]
    fn lone_surrogates_are_mended_and_nothing_else_is_touched() {
        let table = [
            (r#"{"d":"a\ud83d"}"#, Some(json!({"d": "a\u{fffd}"}))),
            (r#"{"d":"\ude00b"}"#, Some(json!({"d": "\u{fffd}b"}))),
            (r#"{"d":"\ud83d\ude00"}"#, Some(json!({"d": "😀"}))),
            (r#"{"d":"\ud83d\ud83d\ude00"}"#, Some(json!({"d": "\u{fffd}😀"}))),
            (r#"{"d":"\\ud83d \ud83d"}"#, Some(json!({"d": "\\ud83d \u{fffd}"}))),
            (r#"{"d":"\ud8"}"#, None),
            (r#"{"d":"ä\"#, None),
            ("", None),
        ];
        for (text, wanted) in table {
            assert_eq!(parse(text), wanted, "{text}");
        }
    }
}
