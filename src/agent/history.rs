//! What has been said, as the model is told it again with each request.

use crate::model::item::{ResponseItem, ToolOutputPayload};
use std::collections::HashSet;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    items: Vec<ResponseItem>,
}

/// Output of a call that never ended: a call without an output would make every later request invalid.
const ABORTED: &str = "The call was stopped before it gave an output.";

impl History {
    pub fn new(items: Vec<ResponseItem>) -> Self {
        Self { items }
    }

    /// Whether an item has a place here: one that nobody understands has none.
    pub fn keeps(item: &ResponseItem) -> bool {
        !matches!(item, ResponseItem::Other)
    }

    pub fn push(&mut self, item: ResponseItem) {
        if Self::keeps(&item) {
            self.items.push(item);
        }
    }

    pub fn items(&self) -> &[ResponseItem] {
        &self.items
    }

    /// Whether a call with this id is there already: then its output could not be told apart.
    pub fn has_call(&self, id: &str) -> bool {
        self.items.iter().any(|item| call_id(item) == Some(id))
    }

    /// The history in a form that every provider takes: each call has one output after it, each output its call.
    pub fn for_model(&self) -> Vec<ResponseItem> {
        let answered: HashSet<&str> = self.items.iter().filter_map(output_id).collect();
        let mut open: HashSet<&str> = HashSet::new();
        let mut items = Vec::with_capacity(self.items.len());
        for item in &self.items {
            if let Some(id) = output_id(item) {
                if open.remove(id) {
                    items.push(item.clone());
                }
                continue;
            }
            items.push(item.clone());
            if let Some(id) = call_id(item) {
                if answered.contains(id) {
                    open.insert(id);
                } else {
                    items.push(output_for(item, id, ABORTED.to_owned()));
                }
            }
        }
        items
    }
}

/// The output item that fits a call.
pub fn output_for(call: &ResponseItem, call_id: &str, output: impl Into<ToolOutputPayload>) -> ResponseItem {
    let (call_id, output) = (call_id.to_owned(), output.into());
    match call {
        ResponseItem::CustomToolCall { .. } => ResponseItem::CustomToolCallOutput { call_id, output },
        _ => ResponseItem::FunctionCallOutput { call_id, output },
    }
}

fn call_id(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::FunctionCall { call_id, .. } | ResponseItem::CustomToolCall { call_id, .. } => Some(call_id),
        ResponseItem::LocalShellCall { call_id, id, .. } => call_id.as_deref().or(id.as_deref()),
        _ => None,
    }
}

fn output_id(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::FunctionCallOutput { call_id, .. }
        | ResponseItem::CustomToolCallOutput { call_id, .. }
        | ResponseItem::LocalShellCallOutput { call_id, .. } => Some(call_id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ResponseItem {
        ResponseItem::FunctionCall {
            id: None,
            name: "shell".into(),
            arguments: "{}".into(),
            call_id: id.into(),
        }
    }

    fn output(id: &str, text: &str) -> ResponseItem {
        output_for(&call(id), id, text.to_owned())
    }

    /// Shows S-068.
    #[test]
    fn no_call_goes_out_without_its_output_and_no_output_without_its_call() {
        let history = History::new(vec![
            output("stray", "x"),
            call("a"),
            call("b"),
            output("b", "done"),
            call("c"),
        ]);
        let expect = vec![
            call("a"),
            output("a", ABORTED),
            call("b"),
            output("b", "done"),
            call("c"),
            output("c", ABORTED),
        ];
        assert_eq!(history.for_model(), expect);
        assert!(history.has_call("a") && !history.has_call("stray"));
    }

    #[test]
    fn an_output_is_told_once() {
        let history = History::new(vec![call("a"), output("a", "1"), output("a", "2")]);
        assert_eq!(history.for_model(), vec![call("a"), output("a", "1")]);
    }
}
