//! Forms and pages for the person, by `elicitation/create`, where the client has them. Whatever is no answer counts as none.

use super::peer::Peer;
use crate::agent::desk::Desk;
use crate::ids::ThreadId;
use crate::protocol::mcp::{McpElicitation, McpElicitationAction, McpElicitationResponse, McpWish};
use crate::protocol::question::{UserAnswer, UserInputRequest, UserInputResponse, UserQuestion};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a choice is called that stands for words of the person's own.
const OTHER: &str = "Something else";

/// What the client can ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asks {
    pub(super) forms: bool,
    pub(super) pages: bool,
}

impl Asks {
    /// From `clientCapabilities.elicitation`.
    pub(super) fn of(capabilities: &Value) -> Self {
        Self {
            forms: capabilities["form"].is_object(),
            pages: capabilities["url"].is_object(),
        }
    }
}

/// What a tool server asks. A client that cannot show it is told in words, and the server that nobody answers.
pub(super) async fn server(peer: Peer, session: ThreadId, asks: Asks, desk: Arc<Desk>, question: McpElicitation) {
    let message = format!("The tool server {} asks: {}", question.server, question.message);
    let mut params = json!({"sessionId": session, "toolCallId": question.item_id, "message": message});
    let can = match &question.wish {
        McpWish::Form { requested_schema } => {
            params["mode"] = json!("form");
            params["requestedSchema"] = requested_schema.clone();
            asks.forms
        }
        McpWish::Url { url, elicitation_id } => {
            params["mode"] = json!("url");
            params["url"] = json!(url);
            params["elicitationId"] = json!(match elicitation_id.is_empty() {
                true => question.id.as_str(),
                false => elicitation_id,
            });
            asks.pages
        }
    };
    let response = match can {
        true => response(&ask(&peer, params).await),
        false => {
            let words = format!(
                "The tool server {} wants an answer that this editor cannot ask for, so it was told that nobody answers. It asked: {}\n\n",
                question.server, question.message
            );
            let update = super::update::chunk("agent_thought_chunk", &words);
            peer.notify("session/update", json!({"sessionId": session, "update": update}))
                .await;
            McpElicitationResponse::cancel()
        }
    };
    desk.elicitations.answer(&question.id, response);
}

/// Asks; null for what is no answer.
pub(super) async fn ask(peer: &Peer, params: Value) -> Value {
    peer.request("elicitation/create", params)
        .await
        .unwrap_or_else(|reason| {
            tracing::warn!(reason, "no usable answer to a form; it counts as closed");
            Value::Null
        })
}

fn response(answer: &Value) -> McpElicitationResponse {
    match answer["action"].as_str() {
        Some("accept") => McpElicitationResponse {
            action: McpElicitationAction::Accept,
            content: answer.get("content").filter(|content| content.is_object()).cloned(),
            meta: None,
        },
        Some("decline") => McpElicitationResponse::decline(),
        _ => McpElicitationResponse::cancel(),
    }
}

/// What the model asks, as one form: choices, and words where those can answer.
pub(super) async fn questions(peer: Peer, session: ThreadId, desk: Arc<Desk>, request: UserInputRequest) {
    let agent = request.agent.as_deref().map(|name| format!("The agent {name} asks. "));
    let message = match request.questions.as_slice() {
        [one] => one.question.clone(),
        more => more
            .iter()
            .map(|question| format!("{}: {}", question.header, question.question))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    let params = json!({
        "sessionId": session,
        "toolCallId": request.item_id,
        "mode": "form",
        "message": format!("{}{message}", agent.unwrap_or_default()),
        "requestedSchema": {"type": "object", "properties": properties(&request.questions)},
    });
    let answer = ask(&peer, params).await;
    desk.questions.answer(&request.id, answers(&request.questions, &answer));
}

/// Fields by the place of their question, since a question's id may be anything.
fn properties(questions: &[UserQuestion]) -> Value {
    let mut properties = Map::new();
    for (at, question) in questions.iter().enumerate() {
        let mut choices: Vec<Value> = question
            .options
            .iter()
            .map(|choice| json!({"const": choice.label, "title": choice.label, "description": choice.description}))
            .collect();
        let takes_words = question.is_other || choices.is_empty();
        if choices.is_empty() {
            let field = json!({"type": "string", "title": question.header, "description": question.question});
            properties.insert(format!("words{at}"), field);
            continue;
        }
        if takes_words {
            choices.push(json!({"const": OTHER, "title": OTHER}));
        }
        let field =
            json!({"type": "string", "title": question.header, "description": question.question, "oneOf": choices});
        properties.insert(format!("choice{at}"), field);
        if takes_words {
            let field = json!({"type": "string", "title": format!("{} (in words)", question.header)});
            properties.insert(format!("words{at}"), field);
        }
    }
    Value::Object(properties)
}

/// Nothing where nothing usable was said.
fn answers(questions: &[UserQuestion], answer: &Value) -> Option<UserInputResponse> {
    if answer["action"] != "accept" {
        return None;
    }
    let said = |field: String| {
        let text = answer["content"][&field].as_str().map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let mut response = UserInputResponse::default();
    for (at, question) in questions.iter().enumerate() {
        let words = said(format!("words{at}")).filter(|_| question.is_other || question.options.is_empty());
        let choice = said(format!("choice{at}"));
        let choice = choice.filter(|choice| question.options.iter().any(|option| option.label == *choice));
        let answers: Vec<String> = choice.into_iter().chain(words).collect();
        if !answers.is_empty() {
            response.answers.insert(question.id.clone(), UserAnswer { answers });
        }
    }
    Some(response).filter(|response| !response.answers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::question::UserChoice;

    #[test]
    fn questions_are_fields_and_only_what_was_offered_counts() {
        let question = |id: &str, is_other: bool, labels: &[&str]| UserQuestion {
            id: id.to_owned(),
            header: id.to_uppercase(),
            question: format!("{id}?"),
            is_other,
            options: labels
                .iter()
                .map(|label| UserChoice {
                    label: (*label).to_owned(),
                    description: String::new(),
                })
                .collect(),
        };
        let all = [
            question("a", false, &["x", "y"]),
            question("b", true, &["x"]),
            question("c", true, &[]),
        ];
        let fields = properties(&all);
        let names: Vec<&String> = fields.as_object().expect("fields").keys().collect();
        assert_eq!(names, ["choice0", "choice1", "words1", "words2"]);
        assert_eq!(fields["choice0"]["oneOf"][1]["const"], "y");
        let accept = |content: Value| answers(&all, &json!({"action": "accept", "content": content}));
        let said = |response: Option<UserInputResponse>| {
            let answers = response.expect("an answer").answers.into_iter();
            answers
                .map(|(id, answer)| (id, answer.answers.join("+")))
                .collect::<Vec<_>>()
        };
        let content = json!({"choice0": "y", "words0": "no", "choice1": OTHER, "words1": " mine ", "words2": "free"});
        assert_eq!(
            said(accept(content)),
            [
                ("a".into(), "y".into()),
                ("b".into(), "mine".into()),
                ("c".into(), "free".into())
            ]
        );
        for nothing in [
            accept(json!({})),
            accept(json!({"choice0": "made up", "words2": " "})),
            accept(json!({"choice0": 7})),
            answers(&all, &json!({"action": "decline", "content": {"words2": "x"}})),
            answers(&all, &json!({"action": "cancel"})),
            answers(&all, &Value::Null),
        ] {
            assert_eq!(nothing, None);
        }
    }
}
