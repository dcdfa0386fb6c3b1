//! Text that looks like calls and stands in what the model was given: then it shows that, and calls nothing.

use crate::model::item::{ContentPart, ResponseItem, ToolOutputPayload};

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
    let holds = |text: &str| {
        // Outputs of commands are JSON, in which a line is no line.
        let unescaped = text.replace("\\n", "\n").replace("\\t", "\t");
        stands_in(&letters(text.lines()))
            || [text, &unescaped]
                .iter()
                .any(|text| stands_in(&letters(text.lines().map(without_number))))
    };
    !sought.is_empty() && conversation.iter().any(|item| given(item).any(&holds))
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
