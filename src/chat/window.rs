//! What fills the context window of a conversation, as a block of text.

use super::text::fenced;
use crate::protocol::context::ThreadContextResult;
use crate::shown;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// A line for each part, and under it the largest of what it is made of.
pub fn block(context: &ThreadContextResult) -> String {
    let ThreadContextResult {
        model,
        context_window,
        compacts_at,
        tokens,
        parts,
        left_out,
    } = context;
    let share = |tokens: u32| match context_window.filter(|window| *window > 0) {
        Some(window) => format!("{:5.1} %", f64::from(tokens) * 100.0 / f64::from(window)),
        None => String::new(),
    };
    let mut text = match context_window {
        Some(window) => format!(
            "Context: {} of {} tokens ({})",
            grouped(*tokens),
            grouped(*window),
            share(*tokens).trim()
        ),
        None => format!("Context: {} tokens", grouped(*tokens)),
    };
    if let Some(model) = model {
        let _infallible = write!(text, ", {}", shown::line(model));
    }
    if let Some(limit) = compacts_at {
        let _infallible = write!(text, ", compacted at {}", grouped(*limit));
    }
    text.push('\n');
    let mut rows: Vec<(String, u32)> = Vec::new();
    for part in parts {
        let count = match part.count {
            0 | 1 => String::new(),
            count => format!(" ({})", grouped(count)),
        };
        rows.push((format!("{}{count}", part.title), part.tokens));
        rows.extend(part.largest.iter().map(|one| (format!("  {}", one.name), one.tokens)));
    }
    if let Some(free) = context_window.and_then(|window| window.checked_sub(*tokens)) {
        rows.push(("Free".to_owned(), free));
    }
    let widest = rows.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
    for (name, tokens) in rows {
        let pad = " ".repeat(widest - name.width());
        let line = format!("{name}{pad} {:>11} {}", grouped(tokens), share(tokens));
        let _infallible = write!(text, "\n{}", line.trim_end());
    }
    text.push_str("\n\nThe parts are estimates.");
    if model.is_none() {
        text.push_str(" Instructions, tools and the window are known once the model has been asked.");
    }
    for what in left_out {
        let _infallible = write!(text, "\nNot sent, since the window is small: {what}.");
    }
    fenced("text", &text)
}

/// A number with its thousands apart.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::context::{ContextEntry, ContextPart, ContextPartKind};

    #[test]
    fn a_line_for_each_part_and_what_is_free() {
        let part = |title: &str, tokens, count, largest: &[(&str, u32)]| ContextPart {
            kind: ContextPartKind::Tools,
            title: title.to_owned(),
            tokens,
            count,
            largest: largest
                .iter()
                .map(|(name, tokens)| ContextEntry {
                    name: (*name).to_owned(),
                    tokens: *tokens,
                })
                .collect(),
        };
        let mut context = ThreadContextResult {
            model: Some("gpt-5".to_owned()),
            context_window: Some(272_000),
            compacts_at: Some(244_800),
            tokens: 12_310,
            parts: vec![
                part("Tools", 3_400, 16, &[("shell", 900)]),
                part("Instructions", 1_210, 1, &[]),
            ],
            left_out: Vec::new(),
        };
        assert_eq!(
            block(&context),
            "```text\nContext: 12,310 of 272,000 tokens (4.5 %), gpt-5, compacted at 244,800\n\n\
             Tools (16)         3,400   1.2 %\n  shell              900   0.3 %\nInstructions       1,210   0.4 %\n\
             Free             259,690  95.5 %\n\nThe parts are estimates.\n```\n"
        );
        context.model = None;
        context.context_window = None;
        context.compacts_at = None;
        context.left_out.push("the tone".to_owned());
        let text = block(&context);
        assert!(
            text.contains("Context: 12,310 tokens\n") && !text.contains('%') && !text.contains("Free"),
            "{text}"
        );
        assert!(
            text.contains("once the model has been asked") && text.contains("small: the tone."),
            "{text}"
        );
        // A conversation can be longer than what the model takes.
        context.context_window = Some(8_000);
        assert!(!block(&context).contains("Free"));
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
    }
}
