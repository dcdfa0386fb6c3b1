//! What has been said, as the model is told it again with each request.

use crate::model::item::{ResponseItem, ToolOutputPayload};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Cheap to clone: a request shares the items with the history for as long as nothing is added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    items: Arc<Vec<ResponseItem>>,
    /// Tokens that the provider counted, and how many items those were.
    counted: Option<(u32, usize)>,
}

/// Output of a call that never ended: a call without an output would make every later request invalid.
const ABORTED: &str = "The call was stopped before it gave an output.";

impl History {
    pub fn new(items: Vec<ResponseItem>) -> Self {
        Self {
            items: Arc::new(items),
            counted: None,
        }
    }

    /// Whether an item has a place here: one that nobody understands has none.
    pub fn keeps(item: &ResponseItem) -> bool {
        !matches!(item, ResponseItem::Other)
    }

    pub fn push(&mut self, item: ResponseItem) {
        if Self::keeps(&item) {
            Arc::make_mut(&mut self.items).push(item);
        }
    }

    pub fn items(&self) -> &[ResponseItem] {
        &self.items
    }

    /// The provider counted so many tokens for all that is here now.
    pub fn count(&mut self, tokens: u32) {
        // Servers that count nothing say zero.
        self.counted = (tokens > 0).then_some((tokens, self.items.len()));
    }

    /// What the provider counted last, and the items that have come since. Without a count all items.
    pub fn since_count(&self) -> (Option<u32>, &[ResponseItem]) {
        match self.counted {
            Some((tokens, items)) => (Some(tokens), self.items.get(items..).unwrap_or_default()),
            None => (None, &self.items),
        }
    }

    /// Whether a call with this id is there already: then its output could not be told apart.
    pub fn has_call(&self, id: &str) -> bool {
        self.items
            .iter()
            .any(|item| is_call(item) && item.call_id() == Some(id))
    }

    /// The history in a form that every provider takes: each call has one output after it, each output its call.
    pub fn for_model(&self) -> Arc<Vec<ResponseItem>> {
        let Pairs { kept, open } = Pairs::of(&self.items);
        if open.is_empty() && kept.iter().all(|kept| *kept) {
            return self.items.clone();
        }
        let mut items = Vec::with_capacity(self.items.len() + open.len());
        for (index, item) in self.items.iter().enumerate().filter(|(index, _)| kept[*index]) {
            items.push(item.clone());
            if let Some(id) = item.call_id().filter(|_| open.contains(&index)) {
                items.push(output_for(item, id, ABORTED.to_owned()));
            }
        }
        Arc::new(items)
    }
}

/// Which outputs have a call before them, and which calls have no output.
struct Pairs {
    /// By item; false for an output without a call of its own.
    kept: Vec<bool>,
    /// Indexes of calls without an output.
    open: HashSet<usize>,
}

impl Pairs {
    fn of(items: &[ResponseItem]) -> Self {
        let mut kept = vec![true; items.len()];
        let mut open: HashMap<&str, usize> = HashMap::new();
        let mut never = HashSet::new();
        for (index, item) in items.iter().enumerate() {
            let Some(id) = item.call_id() else { continue };
            if is_call(item) {
                never.extend(open.insert(id, index));
            } else {
                kept[index] = open.remove(id).is_some();
            }
        }
        never.extend(open.into_values());
        Self { kept, open: never }
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

/// Whether an item is a call, and not the output of one.
pub fn is_call(item: &ResponseItem) -> bool {
    matches!(
        item,
        ResponseItem::FunctionCall { .. } | ResponseItem::CustomToolCall { .. } | ResponseItem::LocalShellCall { .. }
    )
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
        assert_eq!(*history.for_model(), expect);
        assert!(history.has_call("a") && !history.has_call("stray"));
    }

    #[test]
    fn an_output_before_its_call_answers_nothing() {
        let history = History::new(vec![output("a", "early"), call("a")]);
        assert_eq!(*history.for_model(), vec![call("a"), output("a", ABORTED)]);
    }

    #[test]
    fn a_whole_history_is_shared_and_not_copied() {
        let history = History::new(vec![call("a"), output("a", "1"), ResponseItem::user("x")]);
        assert!(Arc::ptr_eq(&history.for_model(), &history.items));
    }

    #[test]
    fn an_output_is_told_once() {
        let history = History::new(vec![call("a"), output("a", "1"), output("a", "2")]);
        assert_eq!(*history.for_model(), vec![call("a"), output("a", "1")]);
    }
}
