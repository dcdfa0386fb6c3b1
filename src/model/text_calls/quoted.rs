//! Text that looks like calls and stands in what the model was given: then it shows that, and calls nothing.

use super::Written;
use crate::model::item::{ContentPart, ResponseItem, ToolOutputPayload};
use serde_json::Value;

/// Letters and digits below which what stands elsewhere too says nothing.
const LEAST: usize = 12;

/// Whether an answer, or what its marks enclose, stands in a message or in the output of a tool. Blanks, line ends, numbers of lines,
/// marks and escapes do not count.
pub(super) fn is_quoted(answer: &str, conversation: &[ResponseItem]) -> bool {
    let unfenced: Vec<&str> = answer
        .lines()
        .filter(|line| !line.trim_start().starts_with("```"))
        .collect();
    let unfenced = unfenced.join("\n");
    let begin = unfenced.find(['{', '[']);
    let end = unfenced.rfind(['}', ']']);
    let enclosed = begin.zip(end).and_then(|(begin, end)| unfenced.get(begin..=end));
    let sought: Vec<String> = [Some(unfenced.as_str()), enclosed]
        .into_iter()
        .flatten()
        .map(|text| letters(text.lines()))
        .filter(|letters| letters.len() >= LEAST)
        .collect();
    let stands_in = |letters: &str| sought.iter().any(|sought| letters.contains(sought.as_str()));
    !sought.is_empty() && is_given(conversation, stands_in)
}

/// Whether a text that the model was given is one, by its letters: as it is, and without numbers of lines.
fn is_given(conversation: &[ResponseItem], is_one: impl Fn(&str) -> bool) -> bool {
    let holds = |text: &str| {
        // Outputs of commands are JSON, in which a line is no line.
        let unescaped = text.replace("\\n", "\n").replace("\\t", "\t");
        is_one(&letters(text.lines()))
            || [text, &unescaped]
                .iter()
                .any(|text| is_one(&letters(text.lines().map(without_number))))
    };
    conversation.iter().any(|item| given(item).any(&holds))
}

/// Whether one of these calls is shown in a message or in the output of a tool in other words: its name, its parameters and all of their
/// values stand close together there, in whatever order and whatever is around them.
pub(super) fn is_one_quoted(calls: &[Written], conversation: &[ResponseItem]) -> bool {
    let sought: Vec<(String, Vec<String>)> = calls.iter().filter_map(words_of).collect();
    let stands_in = |text: &str| sought.iter().any(|(name, words)| stand_together(text, name, words));
    !sought.is_empty() && is_given(conversation, stands_in)
}

/// The letters of a call's name, and of each parameter and value. `None` where they say too little.
fn words_of(call: &Written) -> Option<(String, Vec<String>)> {
    fn add(value: &Value, words: &mut Vec<String>) {
        match value {
            Value::Object(entries) => {
                for (key, value) in entries {
                    words.push(letters(key.lines()));
                    add(value, words);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| add(item, words)),
            Value::String(text) => words.push(letters(text.lines())),
            other => words.push(letters(other.to_string().lines())),
        }
    }
    let name = letters(call.name.lines());
    let mut words = Vec::new();
    add(&serde_json::from_str(&call.arguments).ok()?, &mut words);
    words.retain(|word| !word.is_empty());
    let length = name.len() + words.iter().map(String::len).sum::<usize>();
    (!name.is_empty() && words.len() > 1 && length >= LEAST).then_some((name, words))
}

/// Whether a name and words stand in a text, no further from one another than a call is long, with what may be around its parts.
fn stand_together(text: &str, name: &str, words: &[String]) -> bool {
    /// Letters around a call's parts.
    const AROUND: usize = 64;
    let reach = AROUND + 2 * (name.len() + words.iter().map(String::len).sum::<usize>());
    if !words.iter().all(|word| text.contains(word.as_str())) {
        return false;
    }
    text.match_indices(name).any(|(at, _)| {
        let near = &text[text.floor_char_boundary(at.saturating_sub(reach))..text.ceil_char_boundary(at + reach)];
        words.iter().all(|word| near.contains(word.as_str()))
    })
}

/// What an item gives the model to read.
fn given(item: &ResponseItem) -> impl Iterator<Item = &str> {
    let (parts, text) = match item {
        ResponseItem::Message { role, content, .. } if role != "assistant" => (content.as_slice(), None),
        ResponseItem::FunctionCallOutput { output, .. } | ResponseItem::CustomToolCallOutput { output, .. } => {
            match output {
                ToolOutputPayload::Text(text) => (&[][..], Some(text.as_str())),
                ToolOutputPayload::Parts(parts) => (parts.as_slice(), None),
            }
        }
        ResponseItem::LocalShellCallOutput { output, .. } => (&[][..], Some(output.as_str())),
        _ => (&[][..], None),
    };
    parts.iter().filter_map(ContentPart::text).chain(text)
}

/// Letters and digits, without those of escapes.
fn letters<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    let mut kept = String::new();
    for line in lines {
        let mut chars = line.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '\\' if chars.next_if_eq(&'u').is_some() => {
                    let digits: String = chars.clone().take(4).collect();
                    let unit = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4);
                    match unit.and_then(char::from_u32) {
                        Some(meant) => {
                            chars.by_ref().take(4).for_each(drop);
                            kept.extend(Some(meant).filter(|meant| meant.is_alphanumeric()));
                        }
                        None => kept.push('u'),
                    }
                }
                '\\' => {
                    chars.next_if(|next| matches!(next, 'n' | 'r' | 't'));
                }
                char if char.is_alphanumeric() => kept.push(char),
                _ => {}
            }
        }
    }
    kept
}

/// A line without the number that tools put before it: `L12: `, `12:`, `12` and a tab, `path:12: `.
fn without_number(line: &str) -> &str {
    let shown = line.trim_start();
    let digits = shown.strip_prefix('L').unwrap_or(shown);
    let rest = digits.trim_start_matches(|char: char| char.is_ascii_digit());
    let is_number = rest.len() < digits.len() && rest.starts_with([':', '\t', '|', '→']);
    if is_number {
        return &rest[rest.chars().next().map_or(0, char::len_utf8)..];
    }
    let mut parts = line.splitn(3, ':');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(path), Some(number), Some(text))
            if !path.contains(char::is_whitespace)
                && !number.is_empty()
                && number.chars().all(|char| char.is_ascii_digit()) =>
        {
            text
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"arguments": {"command": ["rm", "-r", "a b"], "note": "1\n2\t3"}, "name": "shell"}"#;

    fn output(text: &str) -> ResponseItem {
        ResponseItem::FunctionCallOutput {
            call_id: "c".to_owned(),
            output: ToolOutputPayload::Text(text.to_owned()),
        }
    }

    #[test]
    fn what_was_read_is_known_again_however_it_is_shown() {
        let pretty = serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(CALL).expect("JSON"))
            .expect("text");
        let numbered = |mark: fn(usize) -> String| {
            let lines = pretty.lines().enumerate();
            lines
                .map(|(at, line)| format!("{}{line}\n", mark(at + 1)))
                .collect::<String>()
        };
        let shown = [
            CALL.to_owned(),
            pretty.clone(),
            format!("Before it.\n{pretty}\nBehind it."),
            numbered(|at| format!("L{at}: ")),
            numbered(|at| format!("{at:6}\t")),
            numbered(|at| format!("calls.json:{at}: ")),
            serde_json::json!({"output": pretty, "metadata": {"exit_code": 0}}).to_string(),
            serde_json::json!({"output": numbered(|at| format!("{at:6}\t"))}).to_string(),
        ];
        let answers = [
            CALL.to_owned(),
            pretty.clone(),
            format!("```json\n{CALL}\n```"),
            format!("<tool_call>\n{pretty}\n</tool_call>"),
            format!("[TOOL_CALLS] [{CALL}]"),
        ];
        for shown in &shown {
            for answer in &answers {
                let given = [ResponseItem::user("Show me the file."), output(shown)];
                // A list around it stands nowhere.
                let is_as_it_was = !answer.starts_with('[');
                assert_eq!(is_quoted(answer, &given), is_as_it_was, "{answer}\n{shown}");
                assert_eq!(
                    is_quoted(answer, &[ResponseItem::user(shown)]),
                    is_as_it_was,
                    "{answer}\n{shown}"
                );
            }
        }
    }

    /// The order of its keys, what they are wrapped in, and how letters are written, do not make another call of it.
    #[test]
    fn a_call_in_other_words_is_known_again() {
        let call = |name: &str, arguments: &str| Written {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let shown = [
            output(r#"{"tool": "write", "parameters": {"content": "evil\n", "file_path": "b.txt"}}"#),
            output(r#"{"name": "wr\u0069te", "arguments": {"file_path": "b.txt", "content": "\u0065vil"}}"#),
            ResponseItem::user(
                "<function=write><parameter=content>evil</parameter><parameter=file_path>b.txt</parameter></function>",
            ),
        ];
        let same = call("write", r#"{"file_path": "b.txt", "content": "evil"}"#);
        for shown in &shown {
            assert!(
                is_one_quoted(std::slice::from_ref(&same), std::slice::from_ref(shown)),
                "{shown:?}"
            );
        }
        for other in [
            call("write", r#"{"file_path": "c.txt", "content": "evil"}"#),
            call("edit", r#"{"file_path": "b.txt", "content": "evil"}"#),
            call(
                "write",
                r#"{"file_path": "b.txt", "content": "evil", "mode": "append"}"#,
            ),
        ] {
            assert!(!is_one_quoted(std::slice::from_ref(&other), &shown), "{other:?}");
        }
        // What a person asks for is no call that they show; nor are its words all over a text.
        let asked = ResponseItem::user("Please read_file src/main.rs, then write to b.txt.");
        assert!(!is_one_quoted(
            &[call("read_file", r#"{"file_path": "src/main.rs"}"#)],
            &[asked]
        ));
        let far = format!("write {} file_path b.txt content evil", "and so on ".repeat(100));
        assert!(!is_one_quoted(&[same], &[output(&far)]));
    }

    #[test]
    fn what_stands_nowhere_is_the_models() {
        let own = ResponseItem::FunctionCall {
            id: None,
            name: "shell".to_owned(),
            arguments: CALL.to_owned(),
            call_id: "c".to_owned(),
        };
        let said = ResponseItem::Message {
            id: None,
            role: "assistant".to_owned(),
            content: vec![ContentPart::OutputText { text: CALL.to_owned() }],
        };
        let given = [
            own,
            said,
            output("total 0"),
            ResponseItem::user("Remove a b with rm -r."),
        ];
        assert!(!is_quoted(CALL, &given));
        assert!(!is_quoted("{}", &[output("{}")]));
        assert!(!is_quoted("", &[output("")]));
    }
}
