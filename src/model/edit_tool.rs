//! Which tool a model changes files with: the one that it was taught to use, as far as that is known.
//!
//! A table of families by name. Sources, looked at on 2026-11-30: the tools of the vendors' own agents (Codex: `apply_patch`; Claude:
//! `str_replace_based_edit_tool`; Gemini CLI and Qwen Code: replacing text and writing files), and Anthropic's page "Text editor tool"
//! for the type of the declared tool.

use crate::config::models::EditTool;

/// Families, by how the last part of a model's name begins.
const FAMILIES: &[(&str, EditTool)] = &[
    ("gpt-3.5", EditTool::Edit),
    ("gpt", EditTool::ApplyPatch),
    ("chatgpt", EditTool::ApplyPatch),
    ("codex", EditTool::ApplyPatch),
    ("o1", EditTool::ApplyPatch),
    ("o3", EditTool::ApplyPatch),
    ("o4", EditTool::ApplyPatch),
    // The scripted model says what it is told to.
    ("rehearsal", EditTool::ApplyPatch),
    ("claude", EditTool::TextEditor),
];

/// Parameters, in billions, below which a model writes whole files.
const SMALL: f32 = 15.0;

/// The tool of a model that the person says nothing of.
pub fn of_family(model: &str) -> EditTool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let begins = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()) || prefix.len() > 2)
    };
    if let Some((_, tool)) = FAMILIES.iter().find(|(prefix, _)| begins(prefix)) {
        return *tool;
    }
    match billions(&name) {
        Some(size) if size < SMALL => EditTool::Write,
        _ => EditTool::Edit,
    }
}

/// How many parameters a name says that the model has, in billions: `qwen3:8b`, `llama-3.2-1b-instruct`, `smollm2-135m`. Of those of
/// which only some are active (`30b-a3b`) all count.
fn billions(name: &str) -> Option<f32> {
    let sizes = name
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))
        .filter_map(|word| {
            let (number, unit) = word.split_at_checked(word.len().checked_sub(1)?)?;
            let number: f32 = number
                .parse()
                .ok()
                .filter(|_| number.starts_with(|c: char| c.is_ascii_digit()))?;
            match unit {
                "b" => Some(number),
                "m" => Some(number / 1000.0),
                _ => None,
            }
        });
    sizes.max_by(f32::total_cmp)
}

/// The type under which Anthropic's API knows the tool, for those of its models that were taught it; nothing for the others, for which it
/// is a function like any other.
pub(super) fn declared_text_editor(model: &str) -> Option<&'static str> {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let older = ["claude-3", "claude-2", "claude-instant"];
    let is_taught = name.starts_with("claude") && !older.iter().any(|older| name.starts_with(older));
    is_taught.then_some("text_editor_20250728")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_has_the_tool_that_it_was_taught() {
        let table = [
            ("gpt-5-codex", EditTool::ApplyPatch),
            ("openai/gpt-5.2", EditTool::ApplyPatch),
            ("gpt-4.1-mini", EditTool::ApplyPatch),
            ("openai/gpt-oss:20b", EditTool::ApplyPatch),
            ("o3-mini", EditTool::ApplyPatch),
            ("codex-mini-latest", EditTool::ApplyPatch),
            ("rehearsal", EditTool::ApplyPatch),
            ("claude-sonnet-4-5", EditTool::TextEditor),
            ("anthropic/claude-opus-4.1", EditTool::TextEditor),
            ("gemini-2.5-pro", EditTool::Edit),
            ("qwen/qwen3-coder", EditTool::Edit),
            ("qwen3-coder:30b-a3b", EditTool::Edit),
            ("devstral-small-2507", EditTool::Edit),
            ("deepseek-chat", EditTool::Edit),
            ("moonshotai/kimi-k2", EditTool::Edit),
            ("glm-4.6", EditTool::Edit),
            ("meta-llama/llama-3.3-70b-instruct", EditTool::Edit),
            ("olmo-7b", EditTool::Write),
            ("qwen3:8b", EditTool::Write),
            ("llama-3.2-1b-instruct", EditTool::Write),
            ("smollm2-135m", EditTool::Write),
            ("mixtral-8x7b", EditTool::Edit),
            ("some-model-of-tomorrow", EditTool::Edit),
            ("", EditTool::Edit),
        ];
        for (model, wanted) in table {
            assert_eq!(of_family(model), wanted, "{model}");
        }
    }

    #[test]
    fn only_models_that_know_the_declared_tool_are_offered_it() {
        assert_eq!(declared_text_editor("claude-opus-4-7"), Some("text_editor_20250728"));
        assert_eq!(declared_text_editor("claude-3-7-sonnet-latest"), None);
        assert_eq!(declared_text_editor("kimi-k2"), None);
    }
}
