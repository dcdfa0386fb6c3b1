//! Messages that were being said when the program was cut off. What came of a message is written down about twice a second, beside
//! what is kept of it once it is whole: the person has seen it.

use super::line::{EventMsg, RolloutItem};
use super::load::Line;
use crate::ids::{ItemId, TurnId};
use crate::model::item::ResponseItem;
use crate::protocol::item::ThreadItem;
use std::collections::HashMap;

struct Said {
    turn: Option<TurnId>,
    text: String,
    /// The line that tells of it last.
    line: usize,
}

/// Makes messages of what was said of those that have no end, where the file tells of them last. All other lines of the kind say
/// nothing that others do not.
pub(super) fn settle(lines: &mut Vec<Line>, keep_payloads: bool) {
    let mut open: HashMap<ItemId, Said> = HashMap::new();
    for (number, line) in lines.iter_mut().enumerate() {
        match &line.item {
            Some(RolloutItem::EventMsg(EventMsg::AgentMessagePartial { .. })) => {
                let Some(RolloutItem::EventMsg(EventMsg::AgentMessagePartial {
                    turn_id,
                    item_id,
                    text,
                    withdrawn,
                })) = line.item.take()
                else {
                    continue;
                };
                if withdrawn {
                    open.remove(&item_id);
                    continue;
                }
                let said = open.entry(item_id).or_insert(Said {
                    turn: turn_id,
                    text: String::new(),
                    line: number,
                });
                said.text.push_str(&text);
                said.line = number;
            }
            Some(RolloutItem::EventMsg(EventMsg::ItemCompleted { item, .. })) => {
                if let Some(id) = item["id"].as_str() {
                    open.remove(&ItemId::from(id));
                }
            }
            Some(RolloutItem::EventMsg(
                EventMsg::TaskComplete { turn_id, .. } | EventMsg::TurnAborted { turn_id, .. },
            )) => open.retain(|_, said| turn_id.is_some() && said.turn != *turn_id),
            _ => {}
        }
    }
    let mut open: Vec<(ItemId, Said)> = open.into_iter().filter(|(_, said)| !said.text.is_empty()).collect();
    // From the end, so that the numbers of those before stay right.
    open.sort_by_key(|(_, said)| std::cmp::Reverse(said.line));
    for (id, said) in open {
        let message = RolloutItem::ResponseItem(ResponseItem::assistant(said.text.clone()));
        let item = ThreadItem::AgentMessage {
            id,
            text: said.text,
            partial: true,
        };
        let shown = RolloutItem::EventMsg(EventMsg::ItemCompleted {
            thread_id: None,
            turn_id: said.turn,
            item: serde_json::to_value(&item).unwrap_or_default(),
            completed_at_ms: lines[said.line].at_ms,
        });
        let line = |item: RolloutItem| {
            let (kind, payload) = item.to_parts().unwrap_or_default();
            Line {
                at_ms: lines[said.line].at_ms,
                numbered: lines[said.line].numbered,
                kind: kind.to_owned(),
                payload: if keep_payloads { payload } else { String::new() },
                item: Some(item),
            }
        };
        let both = [line(shown), line(message)];
        lines.splice(said.line..=said.line, both);
    }
}

#[cfg(test)]
mod tests {
    use super::super::load::load_bytes;
    use super::*;
    use serde_json::{Value, json};
    use std::path::Path;

    const META: &str = r#"{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"0199a213-81c0-7800-8aa1-bbab2a035a53","timestamp":"2026-01-02T03:04:05Z","cwd":"/w","originator":"x","cli_version":"1"}}"#;

    fn event(payload: Value) -> String {
        json!({"timestamp": "2026-01-02T03:04:06Z", "type": "event_msg", "payload": payload}).to_string()
    }

    fn part(item: &str, text: &str) -> String {
        event(json!({"type": "agent_message_partial", "turn_id": "t1", "item_id": item, "text": text}))
    }

    fn words(text: &str) -> String {
        let content = json!([{"type": "input_text", "text": text}]);
        let payload = json!({"type": "message", "role": "user", "content": content});
        json!({"timestamp": "2026-01-02T03:04:06Z", "type": "response_item", "payload": payload}).to_string()
    }

    fn begun(turn: &str) -> String {
        event(json!({"type": "task_started", "turn_id": turn}))
    }

    /// A message that has no end is shown as what it is, and the model knows of it, in its place; any other is there once.
    #[test]
    fn what_was_said_before_the_end_is_kept_by_table() {
        let whole = event(json!({"type": "item_completed", "turn_id": "t1",
            "item": {"type": "agentMessage", "id": "i1", "text": "Hello world."}}));
        let withdrawn =
            event(json!({"type": "agent_message_partial", "turn_id": "t1", "item_id": "i1", "withdrawn": true}));
        let over = event(json!({"type": "task_complete", "turn_id": "t1"}));
        let next = [begun("t2"), words("Go on")];
        for (name, more, shown, in_history) in [
            ("cut off", vec![], Some(("Hello world", true)), true),
            ("and gone on with", next.to_vec(), Some(("Hello world", true)), true),
            ("whole", vec![whole.clone()], Some(("Hello world.", false)), false),
            ("said again", vec![withdrawn], None, false),
            ("of a turn that ended", vec![over], None, false),
        ] {
            let mut lines = vec![
                META.to_owned(),
                begun("t1"),
                words("Hi"),
                part("i1", "Hello "),
                part("i1", "world"),
            ];
            lines.extend(more);
            let text = lines.join("\n") + "\n";
            let stored = load_bytes(Path::new("/x/rollout-x.jsonl"), text.as_bytes()).expect("a thread");
            let said = stored.turns[0].items.iter().find_map(|item| match item {
                ThreadItem::AgentMessage { text, partial, .. } => Some((text.as_str(), *partial)),
                _ => None,
            });
            assert_eq!(said, shown, "{name}: {:#?}", stored.turns);
            let answers = stored.history.iter().position(ResponseItem::is_answer);
            assert_eq!(answers.is_some(), in_history, "{name}: {:#?}", stored.history);
            // Before the words that came after it.
            assert!(answers.is_none_or(|at| at == 1), "{name}: {:#?}", stored.history);
            assert_eq!(stored.skipped, 0, "{name}");
        }
    }
}
