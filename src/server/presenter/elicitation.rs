//! Puts an MCP server's question to the person: to our plugins as it is, to every other editor as far as a message with
//! buttons can ask it. A closed dialog, a lost client and what cannot be asked are no answer.

use super::{Presenter, Severity, whole, words};
use crate::mcp::untrusted::{is_web, quoted};
use crate::protocol::mcp::{McpElicitation, McpElicitationAction, McpElicitationResponse, McpWish};
use crate::protocol::method::MCP_ELICITATION;
use crate::shown;
use serde_json::{Map, Value, json};

/// Buttons of a message; a form with more choices is none for it.
const MOST_CHOICES: usize = 6;

/// Asks, and settles the question with the answer. Aborted when the question is settled elsewhere.
pub(super) async fn ask(presenter: Presenter, question: McpElicitation) {
    let response = if presenter.shared.client.can.plugin {
        let outbound = &presenter.shared.outbound;
        let pending = outbound.request::<McpElicitationResponse>(MCP_ELICITATION, &question);
        pending.await.unwrap_or_else(|error| {
            tracing::warn!(server = question.server, %error, "no usable answer to an MCP server's question; it counts as cancelled");
            McpElicitationResponse::cancel()
        })
    } else {
        by_message(&presenter, &question).await
    };
    presenter
        .shared
        .agent
        .services()
        .elicitations
        .answer(&question.id, response);
}

/// What a button answers.
type Button = (String, McpElicitationResponse);

/// Characters of a server's text in a message. What is longer is not answered there: nobody says yes to what they have not
/// seen.
const MOST_SHOWN: usize = 1200;

async fn by_message(presenter: &Presenter, question: &McpElicitation) -> McpElicitationResponse {
    let address = match &question.wish {
        McpWish::Url { url, .. } => url.as_str(),
        McpWish::Form { .. } => "",
    };
    let fits = question.message.chars().count() + address.chars().count() <= MOST_SHOWN;
    let Some(mut buttons) = buttons(&question.wish).filter(|_| fits) else {
        let message = format!(
            "The MCP server {} wants {}, which this editor cannot show, so the server knows that there is no answer. It asked:\n{}",
            question.server,
            match &question.wish {
                McpWish::Form { .. } => "a form filled in",
                McpWish::Url { .. } => "an address opened",
            },
            quoted(&words::cut(&question.message, 600))
        );
        presenter.message(Severity::Warning, &message);
        return McpElicitationResponse::cancel();
    };
    let place = match &question.wish {
        McpWish::Url { url, .. } => {
            let notes: String = question.notes.iter().map(|note| format!("\nNote: {note}")).collect();
            format!(
                "\nOpen this address{}, and go on when you are done there:\n{}{notes}",
                host(url).map(|host| format!(" at {host}")).unwrap_or_default(),
                quoted(url)
            )
        }
        McpWish::Form { requested_schema } => field(requested_schema)
            .map(|(name, property)| format!("\nIt asks for:\n{}", quoted(&described(name, property))))
            .unwrap_or_default(),
    };
    let mut message = format!(
        "The MCP server {} asks (it is not Countersign that asks, and your answer goes to the server only):\n{}{place}",
        shown::exact(&question.server),
        quoted(&question.message)
    );
    let lines = presenter.shared.client.can.question_lines();
    if !whole::fits(&message, lines) {
        message = format!(
            "{} It can be declined, and is answered in an editor with Countersign's plugin, or by an MCP server that asks in fewer words.",
            whole::beginning(&message, lines)
        );
        buttons.clear();
    }
    // Some prompts have the first choice filled in already: it must not be a yes.
    buttons.insert(0, ("Decline".to_owned(), McpElicitationResponse::decline()));
    presenter.when_idle().await;
    let titles = buttons.iter().map(|(title, _)| title.as_str());
    let chosen = presenter.choose(Severity::Info, &message, titles).await;
    let answer = buttons.into_iter().find(|(title, _)| Some(title) == chosen.as_ref());
    answer.map_or_else(McpElicitationResponse::cancel, |(_, response)| response)
}

/// Where an address leads, in letters that look like no others.
fn host(address: &str) -> Option<String> {
    Some(url::Url::parse(address).ok()?.host_str()?.to_owned())
}

/// The answers that are a yes of some kind, where a few buttons can give them.
fn buttons(wish: &McpWish) -> Option<Vec<Button>> {
    let accept = |content: Option<Value>| McpElicitationResponse {
        action: McpElicitationAction::Accept,
        content,
        meta: None,
    };
    let requested_schema = match wish {
        McpWish::Form { requested_schema } => requested_schema,
        McpWish::Url { url, .. } if is_web(url) => return Some(vec![("Done".to_owned(), accept(None))]),
        // A program of the person's would open what it leads to.
        McpWish::Url { .. } => return None,
    };
    match requested_schema
        .get("properties")
        .and_then(Value::as_object)
        .map_or(0, Map::len)
    {
        0 => return Some(vec![("Accept".to_owned(), accept(None))]),
        1 => {}
        _ => return None,
    }
    let (name, property) = field(requested_schema)?;
    let filled = |value: Value| accept(Some(json!({ name: value })));
    match property.get("type").and_then(Value::as_str) {
        Some("boolean") => Some(vec![
            ("Yes".to_owned(), filled(true.into())),
            ("No".to_owned(), filled(false.into())),
        ]),
        Some("string") => {
            let choices = choices(property);
            // Each button has to be told from the others, and from ours.
            let mut titles: Vec<String> = choices.iter().map(|(title, _)| plain(title)).collect();
            titles.extend(["decline", "cancel", ""].map(str::to_owned));
            let count = titles.len();
            titles.sort();
            titles.dedup();
            let fits = !choices.is_empty() && choices.len() <= MOST_CHOICES && titles.len() == count;
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

/// The first field of a form.
fn field(schema: &Value) -> Option<(&String, &Value)> {
    schema.get("properties")?.as_object()?.iter().next()
}

/// What a field is, in the server's words: its name, what is said of it, and the value that each title stands for.
fn described(name: &str, property: &Value) -> String {
    let mut lines = vec![shown::line(name)];
    let said = ["title", "description"].map(|key| property.get(key).and_then(Value::as_str));
    lines.extend(said.into_iter().flatten().map(shown::line));
    let named = choices(property).into_iter().filter(|(title, value)| title != value);
    lines.extend(named.map(|(title, value)| format!("{} is {}", shown::line(&title), shown::line(&value))));
    lines.join("\n")
}

/// A title as it is read.
fn plain(title: &str) -> String {
    shown::line(title)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
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
    fn a_field_is_shown_by_its_name_and_what_each_answer_stands_for() {
        let flag = json!({"type": "boolean", "description": "By Yes you send\nall keys."});
        assert_eq!(
            described("send_all_your_keys", &flag),
            "send_all_your_keys\nBy Yes you send all keys."
        );
        let choice = json!({"type": "string", "title": "Which", "enum": ["all", "none"], "enumNames": ["Few", "none"]});
        assert_eq!(described("c", &choice), "c\nWhich\nFew is all");
    }

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
            (
                form(json!({"c": {"type": "string", "enum": ["a"], "enumNames": ["decline "]}})),
                None,
            ),
            (
                form(json!({"c": {"type": "string", "enum": ["a", "b"], "enumNames": ["Yes", " yes"]}})),
                None,
            ),
            (form(json!({"c": {"type": "string", "enum": ["a", " "]}})), None),
            (
                McpWish::Url {
                    url: "file:///etc/passwd".to_owned(),
                    elicitation_id: String::new(),
                },
                None,
            ),
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
