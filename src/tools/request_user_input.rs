//! `request_user_input`: asks the person one to three questions and waits for the answers.

use super::{Call, Host, Look, Tool, ToolError, ToolOutput, arguments, schema, shown_arguments};
use crate::model::item::ToolSpec;
use crate::protocol::question::{UserChoice, UserQuestion};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use std::collections::HashSet;

pub const NAME: &str = "request_user_input";

/// Questions of one call.
const MOST_QUESTIONS: usize = 3;
/// Choices of one question.
const MOST_CHOICES: usize = 8;
/// Characters of a header and of a choice's label, which stand on buttons, and of any other text.
const MOST_LABEL: usize = 80;
const MOST_TEXT: usize = 2000;

pub struct RequestUserInput;

#[derive(Deserialize)]
struct Arguments {
    questions: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    id: Option<String>,
    header: Option<String>,
    question: String,
    #[serde(default, alias = "choices")]
    options: Option<Vec<UserChoice>>,
    #[serde(default, alias = "isOther")]
    is_other: Option<bool>,
}

impl Tool for RequestUserInput {
    fn spec(&self) -> ToolSpec {
        let text = |words: &str| json!({"type": "string", "description": words});
        ToolSpec::Function {
            name: NAME.to_owned(),
            description: "Asks the person up to three short questions. Only where the task can be meant in ways that lead to \
                different work, and looking around does not tell; not for permission, and never for passwords or keys. They may \
                answer in words of their own, or not at all."
                .to_owned(),
            strict: false,
            parameters: schema(
                json!({
                    "questions": {
                        "type": "array",
                        "items": schema(
                            json!({
                                "id": text("The answer comes back under it."),
                                "header": text("One or two words."),
                                "question": json!({"type": "string"}),
                                "options": {
                                    "type": "array",
                                    "description": "Two or three that exclude each other, the one you advise first; none where only words can answer.",
                                    "items": schema(
                                        json!({
                                            "label": text("One to five words."),
                                            "description": text("What it means, in one sentence."),
                                        }),
                                        &["label", "description"],
                                    ),
                                },
                            }),
                            &["id", "header", "question"],
                        ),
                    },
                }),
                &["questions"],
            ),
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["ask_user"]
    }

    /// Several can be open side by side.
    fn only_reads(&self) -> bool {
        true
    }

    fn look(&self, call: &Call) -> Option<Look> {
        let arguments = shown_arguments(call);
        let headers = arguments["questions"].as_array().into_iter().flatten();
        let headers: Vec<_> = headers.filter_map(|one| one["header"].as_str()).collect();
        Some(Look {
            title: match headers.is_empty() {
                true => "Ask you".to_owned(),
                false => format!("Questions: {}", headers.join(", ")),
            },
            arguments,
        })
    }

    fn run<'a>(&'a self, call: &'a Call, host: &'a dyn Host) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Arguments { questions } = arguments(call)?;
            let questions = checked(questions).map_err(ToolError::Answer)?;
            host.ask_person(call.id.as_str().into(), questions).await
        })
    }
}

/// The questions as they can be shown; the error says to the model what is wrong with them.
fn checked(asked: Vec<Asked>) -> Result<Vec<UserQuestion>, String> {
    if asked.is_empty() || asked.len() > MOST_QUESTIONS {
        return Err(format!(
            "{NAME} takes one to {MOST_QUESTIONS} questions at a time; these are {}.",
            asked.len()
        ));
    }
    let mut questions: Vec<UserQuestion> = Vec::with_capacity(asked.len());
    for (number, asked) in (1..).zip(asked) {
        let id = asked
            .id
            .filter(|id| !id.trim().is_empty())
            .unwrap_or_else(|| format!("question_{number}"));
        if questions.iter().any(|before| before.id == id) {
            return Err(format!("Two questions have the id {id:?}. Give each an id of its own."));
        }
        let question = asked.question.trim();
        if question.is_empty() || question.chars().count() > MOST_TEXT {
            return Err(format!("The question {id:?} must have 1 to {MOST_TEXT} characters."));
        }
        let header = asked.header.unwrap_or_default().trim().to_owned();
        if header.chars().count() > MOST_LABEL {
            return Err(format!("The header of {id:?} is longer than {MOST_LABEL} characters."));
        }
        let options = asked.options.unwrap_or_default();
        let mut labels = HashSet::new();
        for UserChoice { label, description } in &options {
            let long = label.chars().count() > MOST_LABEL || description.chars().count() > MOST_TEXT;
            if label.trim().is_empty() || long || !labels.insert(label.trim()) {
                return Err(format!(
                    "The choice {label:?} of {id:?} cannot be shown: labels are 1 to {MOST_LABEL} characters and differ from one \
                     another, descriptions have at most {MOST_TEXT}."
                ));
            }
        }
        if options.len() == 1 || options.len() > MOST_CHOICES {
            return Err(format!(
                "{id:?} has {} choices; give two to {MOST_CHOICES}, or none where only words can answer.",
                options.len()
            ));
        }
        let trimmed = |choice: UserChoice| UserChoice {
            label: choice.label.trim().to_owned(),
            ..choice
        };
        questions.push(UserQuestion {
            is_other: options.is_empty() || asked.is_other.unwrap_or(true),
            id,
            header,
            question: question.to_owned(),
            options: options.into_iter().map(trimmed).collect(),
        });
    }
    Ok(questions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn check(questions: Value) -> Result<Vec<UserQuestion>, String> {
        checked(serde_json::from_value(questions).expect("questions"))
    }

    #[test]
    fn what_cannot_be_asked_is_explained() {
        let choices = |labels: &[&str]| -> Value {
            let choice = |label: &&str| json!({"label": label, "description": "d"});
            labels.iter().map(choice).collect()
        };
        let one = |options: Value| json!([{"id": "a", "header": "A", "question": "Which?", "options": options}]);
        for (questions, part) in [
            (json!([]), "one to 3"),
            (
                json!([{"question": "1"}, {"question": "2"}, {"question": "3"}, {"question": "4"}]),
                "these are 4",
            ),
            (
                json!([{"id": "a", "question": "1"}, {"id": "a", "question": "2"}]),
                "two questions",
            ),
            (json!([{"question": "  "}]), "1 to 2000"),
            (json!([{"question": "x".repeat(2001)}]), "1 to 2000"),
            (json!([{"question": "x", "header": "h".repeat(81)}]), "header"),
            (one(choices(&["only"])), "1 choices"),
            (one(choices(&["a", "a"])), "differ"),
            (one(choices(&["a", " a "])), "differ"),
            (one(choices(&["a", ""])), "1 to 80"),
            (
                one(choices(&["1", "2", "3", "4", "5", "6", "7", "8", "9"])),
                "9 choices",
            ),
        ] {
            let error = check(questions.clone()).expect_err(&questions.to_string());
            assert!(
                error.to_lowercase().contains(&part.to_lowercase()),
                "{questions}: {error}"
            );
        }
    }

    #[test]
    fn words_are_always_an_answer_unless_the_model_says_otherwise() {
        let asked = check(json!([
            {"question": "Which?", "options": [{"label": "a"}, {"label": " b "}]},
            {"id": "x", "question": "Which?", "options": [{"label": "a"}, {"label": "b"}], "is_other": false},
            {"id": "y", "question": "What?", "is_other": false},
        ]))
        .expect("good questions");
        let shown: Vec<_> = asked.iter().map(|one| (one.id.as_str(), one.is_other)).collect();
        assert_eq!(shown, [("question_1", true), ("x", false), ("y", true)]);
        assert_eq!(asked[0].options[1].label, "b");
    }
}
