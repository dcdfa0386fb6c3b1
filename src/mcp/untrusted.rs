//! Texts of servers, as others may see them: bounded, and with nothing in them that shows as nothing or changes how the
//! rest shows. All that a server says goes through here before a model or a person gets it.

use crate::shown;
use serde_json::Value;
use std::fmt::Write as _;

/// A text of a server: what hides in it is written out, and of what is too long the head is kept.
pub fn bounded(text: &str, most: usize) -> String {
    let head = &text[..text.floor_char_boundary(most)];
    let mut shown = visible(head);
    if head.len() < text.len() {
        let _infallible = write!(shown, " [… {} more bytes]", text.len() - head.len());
    }
    shown
}

/// A text of a server, each line of it marked: none can pass for one of ours.
pub fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}

/// Whether an address is one of the web. A program of the person's would open what any other leads to.
pub fn is_web(address: &str) -> bool {
    url::Url::parse(address).is_ok_and(|address| matches!(address.scheme(), "http" | "https"))
}

/// The text with each character written out that hides.
pub fn visible(text: &str) -> String {
    shown::text(text)
}

/// The same for all texts in a value, also for names.
pub fn visible_in(value: &mut Value) {
    match value {
        Value::String(text) => *text = visible(text),
        Value::Array(list) => list.iter_mut().for_each(visible_in),
        Value::Object(map) => {
            if map.keys().any(|name| visible(name) != *name) {
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(name, value)| (visible(&name), value))
                    .collect();
            }
            map.values_mut().for_each(visible_in);
        }
        _ => {}
    }
}

/// A copy of a value in which nothing hides.
pub fn visible_value(value: &Value) -> Value {
    let mut value = value.clone();
    visible_in(&mut value);
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_hides_is_written_out_and_what_is_long_is_cut() {
        for (text, most, expected) in [
            ("plain\n\ttext ü", 99, "plain\n\ttext ü"),
            ("a\u{200b}b\u{202e}c", 99, "a<U+200B>b<U+202E>c"),
            ("tag\u{e0041}", 99, "tag<U+E0041>"),
            ("\u{1b}[31mred\r", 99, "<U+001B>[31mred<U+000D>"),
            ("long text", 4, "long [… 5 more bytes]"),
            ("üü", 3, "ü [… 2 more bytes]"),
        ] {
            assert_eq!(bounded(text, most), expected, "{text:?}");
        }
        let mut value = json!({"a\u{ad}": ["b\u{3164}", 7, {"c": "d"}]});
        visible_in(&mut value);
        assert_eq!(value, json!({"a<U+00AD>": ["b<U+3164>", 7, {"c": "d"}]}));
    }
}
