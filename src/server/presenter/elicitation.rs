//! Puts a tool server's question to the person: to our plugins as it is, to every other editor as far as a message with
//! buttons can ask it. A closed dialog, a lost client and what cannot be asked are no answer.

use super::{Presenter, Severity, words};
use crate::protocol::mcp::{McpElicitation, McpElicitationAction, McpElicitationResponse, McpWish};
use crate::protocol::method::MCP_ELICITATION;
use serde_json::{Map, Value, json};

/// Buttons of a message; a form with more choices is none for it.
const MOST_CHOICES: usize = 6;

/// Asks, and settles the question with the answer. Aborted when the question is settled elsewhere.
pub(super) async fn ask(presenter: Presenter, question: McpElicitation) {
    let response = if presenter.shared.client.can.plugin {
        let outbound = &presenter.shared.outbound;
        let pending = outbound.request::<McpElicitationResponse>(MCP_ELICITATION, &question);
        pending.await.unwrap_or_else(|error| {
            tracing::warn!(server = question.server, %error, "no usable answer to a tool server's question; it counts as cancelled");
            McpElicitationResponse::cancel()
        })
    } else {
        by_message(&presenter, &question).await
    };
    presenter
        .shared
        .agent
        .desk()
        .elicitations
        .answer(&question.id, response);
}

/// What a button answers.
type Button = (String, McpElicitationResponse);

async fn by_message(presenter: &Presenter, question: &McpElicitation) -> McpElicitationResponse {
    let Some(mut buttons) = buttons(&question.wish) else {
        let message = format!(
            "The tool server {} wants a form filled in, which this editor cannot show, so it was told that nobody answers. It asked: \
             {}",
            question.server,
            words::cut(&question.message, 600)
        );
        presenter.message(Severity::Warning, &message);
        return McpElicitationResponse::cancel();
    };
    // Some prompts have the first choice filled in already: it must not be a yes.
    buttons.insert(0, ("Decline".to_owned(), McpElicitationResponse::decline()));
    let place = match &question.wish {
        McpWish::Url { url, .. } => format!(
            "\nOpen this address, and go on when you are done there:\n  {}",
            words::cut(url, 600)
        ),
        McpWish::Form { .. } => String::new(),
    };
    let message = format!(
        "The tool server {} asks:\n{}{place}",
        question.server,
        words::cut(&question.message, 1200)
    );
    presenter.when_idle().await;
    let titles = buttons.iter().map(|(title, _)| title.as_str());
    let chosen = presenter.choose(Severity::Info, &message, titles).await;
    let answer = buttons.into_iter().find(|(title, _)| Some(title) == chosen.as_ref());
    answer.map_or_else(McpElicitationResponse::cancel, |(_, response)| response)
}

/// The answers that are a yes of some kind, where a few buttons can give them.
fn buttons(wish: &McpWish) -> Option<Vec<Button>> {
    let accept = |content: Option<Value>| McpElicitationResponse {
        action: McpElicitationAction::Accept,
        content,
        meta: None,
    };
    let McpWish::Form { requested_schema } = wish else {
        return Some(vec![("Done".to_owned(), accept(None))]);
    };
    let empty = Map::new();
    let properties = requested_schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let mut properties = properties.iter();
    let Some((name, property)) = properties.next() else {
        return Some(vec![("Accept".to_owned(), accept(None))]);
    };
    if properties.next().is_some() {
        return None;
    }
    let filled = |value: Value| accept(Some(json!({ name: value })));
    match property.get("type").and_then(Value::as_str) {
        Some("boolean") => Some(vec![
            ("Yes".to_owned(), filled(true.into())),
            ("No".to_owned(), filled(false.into())),
        ]),
        Some("string") => {
            let choices = choices(property);
            let fits = !choices.is_empty()
                && choices.len() <= MOST_CHOICES
                && !choices.iter().any(|(title, _)| title == "Decline");
            fits.then(|| {
                choices
                    .into_iter()
                    .map(|(title, value)| (title, filled(value.into())))
                    .collect()
            })
        }
        _ => None,
    }
}

/// The values of a choice, with their titles.
fn choices(property: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = |key: &str| property.get(key).and_then(Value::as_array).into_iter().flatten();
    let titles: Vec<String> = list("enumNames").filter_map(text).collect();
    let plain = list("enum").filter_map(text).enumerate().map(|(at, value)| {
        let title = titles.get(at).cloned().unwrap_or_else(|| value.clone());
        (title, value)
    });
    let titled = list("oneOf").filter_map(|one| {
        let value = text(one.get("const")?)?;
        Some((one.get("title").and_then(text).unwrap_or_else(|| value.clone()), value))
    });
    plain.chain(titled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_asked_by_buttons_where_a_few_can_answer() {
        let form = |properties: Value| McpWish::Form {
            requested_schema: json!({"type": "object", "properties": properties}),
        };
        let url = McpWish::Url {
            url: "https://x".to_owned(),
            elicitation_id: String::new(),
        };
        for (wish, expected) in [
            (url, Some(vec![("Done", json!(null))])),
            (form(json!({})), Some(vec![("Accept", json!(null))])),
            (
                form(json!({"ok": {"type": "boolean"}})),
                Some(vec![("Yes", json!({"ok": true})), ("No", json!({"ok": false}))]),
            ),
            (
                form(json!({"c": {"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}})),
                Some(vec![("A", json!({"c": "a"})), ("b", json!({"c": "b"}))]),
            ),
            (
                form(json!({"c": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]}})),
                Some(vec![("A", json!({"c": "a"}))]),
            ),
            (form(json!({"c": {"type": "string"}})), None),
            (form(json!({"c": {"type": "string", "enum": ["Decline"]}})), None),
            (form(json!({"a": {"type": "boolean"}, "b": {"type": "boolean"}})), None),
        ] {
            let found = buttons(&wish).map(|buttons| {
                let pairs = buttons.into_iter();
                pairs
                    .map(|(title, response)| (title, response.content.unwrap_or_default()))
                    .collect::<Vec<_>>()
            });
            let expected = expected.map(|pairs| {
                pairs
                    .into_iter()
                    .map(|(title, value)| (title.to_owned(), value))
                    .collect::<Vec<_>>()
            });
            assert_eq!(found, expected, "{wish:?}");
        }
    }
}
