//! What the editor has written to the disk, for as long as somebody wants to know: a file that holds it was changed by the
//! person.

use super::{Document, disk};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The saves of a workspace.
#[derive(Clone, Debug, Default)]
pub(super) struct Saves(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    watches: usize,
    /// The number of the last save.
    last: u64,
    /// The newest of each document, by its URI.
    saved: HashMap<Arc<str>, (u64, Document)>,
    /// Some editors tell of a save after they have closed the document.
    closed: HashMap<Arc<str>, Document>,
}

/// Knows what is saved from its beginning on.
#[derive(Debug)]
pub struct SaveWatch {
    saves: Saves,
    from: u64,
}

impl Saves {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn watch(&self) -> SaveWatch {
        let mut state = self.state();
        state.watches += 1;
        SaveWatch {
            from: state.last,
            saves: self.clone(),
        }
    }

    pub(super) fn saved(&self, document: &Document) {
        let mut state = self.state();
        if state.watches > 0 {
            state.last += 1;
            let save = (state.last, document.clone());
            state.saved.insert(document.shared_uri(), save);
        }
    }

    /// The same of one that is not open any more.
    pub(super) fn saved_after_close(&self, uri: &str) {
        let closed = self.state().closed.remove(uri);
        if let Some(document) = closed {
            self.saved(&document);
        }
    }

    pub(super) fn closed(&self, document: &Document) {
        let mut state = self.state();
        if state.watches > 0 {
            state.closed.insert(document.shared_uri(), document.clone());
        }
    }
}

impl SaveWatch {
    /// What the editor last wrote to a file, if it has since the watch began. May look at the disk.
    pub fn last(&self, path: &Path) -> Option<Document> {
        let state = self.saves.state();
        let since = state.saved.values().filter(|(number, _)| *number > self.from);
        let mut since: Vec<(u64, Document)> = since.cloned().collect();
        drop(state);
        since.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        if since.is_empty() {
            return None;
        }
        let is_named = |document: &Document| document.path() == Some(path);
        let newest = since.iter().find(|(_, document)| is_named(document));
        let real = || {
            let wanted = disk::canonical(path);
            let is_it = |document: &Document| document.canonical().is_some_and(|path| *path == wanted);
            since.iter().find(|(_, document)| is_it(document))
        };
        newest.or_else(real).map(|(_, document)| document.clone())
    }
}

impl Drop for SaveWatch {
    fn drop(&mut self) {
        let mut state = self.saves.state();
        state.watches -= 1;
        if state.watches == 0 {
            state.saved.clear();
            state.closed.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::workspace::{Edit, Workspace};
    use std::path::Path;

    /// What was saved counts as it was then, also of a document that is closed by now or was typed in since.
    #[test]
    fn what_is_saved_while_somebody_watches_is_known() {
        let workspace = Workspace::new();
        let open = |name: &str, text: &str| {
            let path = Path::new("/w").join(name);
            workspace.open(&format!("file:///w/{name}"), Some(path), "", 1, text);
        };
        open("early", "e");
        workspace.saved("file:///w/early");
        let watch = workspace.watch_saves();
        open("typed", "saved");
        workspace.saved("file:///w/typed");
        let edit = Edit {
            range: None,
            text: "typed since".to_owned(),
        };
        workspace.edit("file:///w/typed", 2, &[edit]).expect("open");
        open("closed", "closed");
        workspace.close("file:///w/closed");
        workspace.saved("file:///w/closed");
        let later = workspace.watch_saves();
        let text = |name: &str| watch.last(&Path::new("/w").join(name)).map(|document| document.text());
        assert_eq!(text("early"), None);
        assert_eq!(text("typed").as_deref(), Some("saved"));
        assert_eq!(text("closed").as_deref(), Some("closed"));
        assert!(later.last(Path::new("/w/typed")).is_none());
    }
}
