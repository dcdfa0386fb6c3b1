//! Ids that are new: some servers give none, some give every call the same one.

use crate::model::item::ResponseItem;
use std::collections::HashSet;

/// The ids that may not be given again: those of the request's history and of the items so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    items: HashSet<String>,
    calls: HashSet<String>,
}

impl Names {
    pub(super) fn new(history: &[ResponseItem]) -> Self {
        Self {
            items: history.iter().filter_map(ResponseItem::id).map(str::to_owned).collect(),
            calls: history
                .iter()
                .filter_map(ResponseItem::call_id)
                .map(str::to_owned)
                .collect(),
        }
    }

    /// An id for an item: the wanted one if it is still free.
    pub(super) fn item(&mut self, wanted: Option<&str>, prefix: &str) -> String {
        claim(&mut self.items, wanted, prefix)
    }

    /// An id for a call: the wanted one if it is still free.
    pub(super) fn call(&mut self, wanted: Option<&str>) -> String {
        claim(&mut self.calls, wanted, "call")
    }
}

fn claim(taken: &mut HashSet<String>, wanted: Option<&str>, prefix: &str) -> String {
    let fresh = || format!("{prefix}_{}", uuid::Uuid::now_v7().simple());
    let mut id = match wanted {
        Some(wanted) if !wanted.is_empty() => wanted.to_owned(),
        _ => fresh(),
    };
    if taken.contains(&id) {
        id = fresh();
    }
    taken.insert(id.clone());
    id
}
