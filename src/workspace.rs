//! What the person sees: open text over the disk, versions, positions, paths.
//!
//! [`Workspace`] holds the documents that the editor has open and the folders of the workspace. Reading goes
//! through it, so that the agent works on unsaved text. A document is a rope: a copy of it is a snapshot that
//! costs nothing and never changes. Where a client holds other texts for each conversation, a conversation has documents of its
//! own ([`Workspace::begin_view`]). This room knows nothing of LSP and writes nothing to the disk.

pub mod disk;
pub mod document;
pub mod edits;
pub mod kept;
pub mod opened;
pub mod position;
mod saves;
pub mod search;
pub mod uri;
pub mod walk;

pub use disk::ReadError;
pub use document::Document;
pub use kept::Kept;
pub use opened::{Judge, Opened};
pub use position::{Edit, Encoding, Position, Range};
pub use saves::SaveWatch;

use crate::ids::ThreadId;
use edits::{Edits, RecentEdit};
use ropey::Rope;
use saves::Saves;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use thiserror::Error;
use tokio::sync::watch;

/// The open documents over the disk. A clone is another handle to the same workspace.
#[derive(Clone, Debug)]
pub struct Workspace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Held for a few lines at a time and never while the disk is read: the editor's typing waits for it.
    state: Mutex<State>,
    /// Rises with each open, edit, save, close and change of folders, of any view.
    generation: Arc<watch::Sender<u64>>,
    /// Documents of conversations that have their own.
    views: Mutex<HashMap<ThreadId, Workspace>>,
    saves: Saves,
}

#[derive(Debug, Default)]
struct State {
    roots: Vec<PathBuf>,
    encoding: Encoding,
    /// By the URI that the editor uses.
    documents: HashMap<Arc<str>, Document>,
    /// Cleaned path to URI.
    by_path: HashMap<PathBuf, Arc<str>>,
    edits: Edits,
    /// The document that the person turned to last.
    attended: Option<Arc<str>>,
}

/// The text of a file as the person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewText {
    /// A byte-order mark, where the file has one, is part of it.
    pub text: String,
    /// Version of the open document; absent for a file that is not open.
    pub version: Option<i32>,
    pub open: bool,
}

/// Why an edit was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EditError {
    /// The editor changed a document that it has not opened.
    #[error("{uri} is not open, so a change of it cannot be taken; open the document again")]
    NotOpen { uri: String },
}

/// What an edit did to the document's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edited {
    pub before: i32,
    pub after: i32,
}

impl Edited {
    /// Versions must rise; an editor that repeats or lowers one has lost count.
    pub fn in_order(self) -> bool {
        self.after > self.before
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Workspace {
    /// No folders, no documents, columns in UTF-16.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            state: Mutex::default(),
            generation: Arc::new(watch::Sender::new(0)),
            views: Mutex::default(),
            saves: Saves::default(),
        }))
    }

    /// Gives a conversation documents of its own: none at first, over the same folders. One that has them keeps them.
    pub fn begin_view(&self, of: &ThreadId) {
        let fresh = || {
            let state = self.state();
            let (roots, encoding) = (state.roots.clone(), state.encoding);
            Self(Arc::new(Inner {
                state: Mutex::new(State {
                    roots,
                    encoding,
                    ..State::default()
                }),
                generation: self.0.generation.clone(),
                views: Mutex::default(),
                saves: Saves::default(),
            }))
        };
        self.views().entry(of.clone()).or_insert_with(fresh);
    }

    /// What a conversation sees: the documents of its own, or those of all.
    pub fn seen_by(&self, thread: &ThreadId) -> Self {
        self.views().get(thread).unwrap_or(self).clone()
    }

    /// Lets one conversation see what another sees, for which it works.
    pub fn share_view(&self, of: &ThreadId, with: &ThreadId) {
        let mut views = self.views();
        if let Some(view) = views.get(of).cloned() {
            views.insert(with.clone(), view);
        }
    }

    /// Whether two conversations see the same documents.
    pub fn is_shared(&self, one: &ThreadId, other: &ThreadId) -> bool {
        Arc::ptr_eq(&self.seen_by(one).0, &self.seen_by(other).0)
    }

    /// Ends a conversation's own documents, also for those that it shared them with.
    pub fn end_view(&self, of: &ThreadId) {
        let mut views = self.views();
        if let Some(ended) = views.remove(of) {
            views.retain(|_, view| !Arc::ptr_eq(&view.0, &ended.0));
        }
    }

    /// Sets what columns of [`Workspace::edit`] count.
    pub fn set_encoding(&self, encoding: Encoding) {
        self.state().encoding = encoding;
    }

    pub fn encoding(&self) -> Encoding {
        self.state().encoding
    }

    /// Replaces the folders of the workspace; absolute paths, cleaned here, doubles dropped, order kept.
    pub fn set_roots(&self, roots: Vec<PathBuf>) {
        let mut clean: Vec<PathBuf> = Vec::with_capacity(roots.len());
        for root in roots {
            let root = uri::clean(&root);
            if !clean.contains(&root) {
                clean.push(root);
            }
        }
        self.state().roots = clean;
        self.bump();
    }

    /// The folders in the editor's order.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.state().roots.clone()
    }

    /// The innermost folder of the workspace that holds `path`.
    pub fn root_of(&self, path: &Path) -> Option<PathBuf> {
        let path = uri::clean(path);
        let state = self.state();
        state
            .roots
            .iter()
            .filter(|root| path.starts_with(root))
            .max_by_key(|root| root.components().count())
            .cloned()
    }

    /// Takes a document that the editor opened. `path` is `None` for what is not a file. Opening it once more
    /// replaces its text.
    pub fn open(&self, uri: &str, path: Option<PathBuf>, language: &str, version: i32, text: &str) {
        let document = Document::new(
            uri,
            path.as_deref().map(uri::clean),
            language,
            version,
            Rope::from_str(text),
        );
        let mut state = self.state();
        if let Some(path) = document.path() {
            state.by_path.insert(path.to_owned(), document.shared_uri());
        }
        state.attended = Some(document.shared_uri());
        state.documents.insert(document.shared_uri(), document);
        drop(state);
        self.bump();
    }

    /// Applies the changes of one notification, in their order. Ranges beyond the text are clamped to it.
    pub fn edit(&self, uri: &str, version: i32, edits: &[Edit]) -> Result<Edited, EditError> {
        let mut guard = self.state();
        let state = &mut *guard;
        let (encoding, noted) = (state.encoding, &mut state.edits);
        let Some(document) = state.documents.get_mut(uri) else {
            return Err(EditError::NotOpen { uri: uri.to_owned() });
        };
        let before = document.version;
        for edit in edits {
            let old = document.rope.clone();
            edit.apply(&mut document.rope, encoding);
            if let Some(path) = document.path() {
                noted.note(path, edit, &old, &document.rope);
            }
        }
        document.version = version;
        state.attended = Some(document.shared_uri());
        drop(guard);
        self.bump();
        Ok(Edited { before, after: version })
    }

    /// Forgets a document; from now on the disk counts. False if it was not open.
    pub fn close(&self, uri: &str) -> bool {
        let mut state = self.state();
        let Some(document) = state.documents.remove(uri) else {
            return false;
        };
        self.0.saves.closed(&document);
        if let Some(path) = document.path() {
            // The same file may be open under another spelling of its URI.
            let other = state
                .documents
                .values()
                .find(|other| other.path() == Some(path))
                .map(Document::shared_uri);
            match other {
                Some(other) => state.by_path.insert(path.to_owned(), other),
                None => state.by_path.remove(path),
            };
        }
        drop(state);
        self.bump();
        true
    }

    /// Knows what the editor writes to the disk from now on.
    pub fn watch_saves(&self) -> SaveWatch {
        self.0.saves.watch()
    }

    /// Notes that the editor has written the document to the disk. False if it is not open.
    pub fn saved(&self, uri: &str) -> bool {
        let mut state = self.state();
        let Some(document) = state.documents.get_mut(uri) else {
            self.0.saves.saved_after_close(uri);
            return false;
        };
        document.saved_version = Some(document.version);
        self.0.saves.saved(document);
        drop(state);
        self.bump();
        true
    }

    /// The open document of a file, found by its path as given or through links.
    /// May look at the disk when the path is not open as given: not for the editor's own traffic.
    pub fn document(&self, path: &Path) -> Option<Document> {
        let clean = uri::clean(path);
        let candidates: Vec<Document> = {
            let state = self.state();
            if let Some(uri) = state.by_path.get(&clean) {
                return state.documents.get(uri).cloned();
            }
            state
                .documents
                .values()
                .filter(|document| document.path().is_some())
                .cloned()
                .collect()
        };
        if candidates.is_empty() {
            return None;
        }
        let wanted = disk::canonical(&clean);
        candidates
            .into_iter()
            .find(|document| document.canonical().is_some_and(|path| *path == wanted))
    }

    /// Notes the place to which the path of an open document leads now, unless that is noted already. Looks at the disk.
    pub fn note_place(&self, path: &Path) {
        let document = self.document(path);
        let _place = document.as_ref().and_then(Document::canonical);
    }

    /// Whether the path of an open document leads to the place that was noted. Looks at the disk.
    pub fn leads_where_it_did(&self, path: &Path) -> bool {
        let document = self.document(path);
        let noted = document.as_ref().and_then(Document::canonical);
        noted.is_none_or(|noted| *noted == disk::canonical(&uri::clean(path)))
    }

    /// Where documents were edited after the edit with this number, newest first, and the number of the last edit.
    pub fn edits_since(&self, number: u64) -> (Vec<RecentEdit>, u64) {
        self.state().edits.since(number)
    }

    /// Forgets where a file was edited: it was not the person who did it.
    pub fn forget_edits(&self, path: &Path) {
        self.state().edits.forget(&uri::clean(path));
    }

    /// The person turns to a document.
    pub fn attend(&self, uri: &str) {
        let mut state = self.state();
        state.attended = state.documents.get(uri).map(Document::shared_uri);
    }

    /// The file that the person turned to last, if it is still open.
    pub fn attended(&self) -> Option<PathBuf> {
        let state = self.state();
        let document = state.documents.get(state.attended.as_ref()?)?;
        document.path().map(Path::to_owned)
    }

    /// The open document with this URI. Looks at nothing but memory.
    pub fn document_by_uri(&self, uri: &str) -> Option<Document> {
        self.state().documents.get(uri).cloned()
    }

    /// All open documents, by URI.
    pub fn documents(&self) -> Vec<Document> {
        let mut documents: Vec<Document> = self.state().documents.values().cloned().collect();
        documents.sort_by(|a, b| a.uri().cmp(b.uri()));
        documents
    }

    /// The text of a file: of the open document, else of the disk. Blocks while it reads the disk.
    pub fn read(&self, path: &Path) -> Result<ViewText, ReadError> {
        match self.document(path) {
            Some(document) => Ok(ViewText {
                text: document.text(),
                version: Some(document.version),
                open: true,
            }),
            None => Ok(ViewText {
                text: disk::read_text(path)?,
                version: None,
                open: false,
            }),
        }
    }

    /// As [`Workspace::read`], for somebody who may not read all: what is read is what was judged, wherever the path leads by
    /// then.
    pub fn read_judged(&self, path: &Path, judge: &dyn Judge) -> Result<ViewText, ReadError> {
        judge.path(path).map_err(ReadError::Refused)?;
        let Some(document) = self.judged_document(path, judge)? else {
            return Ok(ViewText {
                text: Opened::after_look(path, judge)?.text(path)?,
                version: None,
                open: false,
            });
        };
        Ok(ViewText {
            text: document.text(),
            version: Some(document.version),
            open: true,
        })
    }

    /// The open document of a file, if it may be read under the name by which the editor has it: the path may lead to
    /// another document by now.
    pub fn judged_document(&self, path: &Path, judge: &dyn Judge) -> Result<Option<Document>, ReadError> {
        let document = self.document(path);
        if let Some(own) = document.as_ref().and_then(Document::path) {
            judge.path(own).map_err(ReadError::Refused)?;
        }
        Ok(document)
    }

    /// Whether the person sees something at `path`: an open document, or anything at all on the disk (also a
    /// folder, a device, or a link that leads nowhere).
    pub fn exists_in_view(&self, path: &Path) -> bool {
        self.document(path).is_some() || std::fs::symlink_metadata(path).is_ok()
    }

    /// The open documents whose text is not what the disk holds. Reads those files.
    pub fn dirty(&self) -> Vec<Document> {
        self.documents()
            .into_iter()
            .filter(Document::differs_from_disk)
            .collect()
    }

    /// A number that rises with each open, edit, save and close, to wait for what an editor does next.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.0.generation.subscribe()
    }

    fn bump(&self) {
        self.0.generation.send_modify(|generation| *generation += 1);
    }

    fn views(&self) -> MutexGuard<'_, HashMap<ThreadId, Self>> {
        self.0.views.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it was held cannot leave it half changed in a way that matters more than going on.
        self.0.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(start: (u32, u32), end: (u32, u32), text: &str) -> Edit {
        let range = Range {
            start: Position {
                line: start.0,
                column: start.1,
            },
            end: Position {
                line: end.0,
                column: end.1,
            },
        };
        Edit {
            range: Some(range),
            text: text.to_owned(),
        }
    }

    #[test]
    fn open_text_wins_over_the_disk_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "disk\n").unwrap();
        let workspace = Workspace::new();
        let on_disk = workspace.read(&path).unwrap();
        assert_eq!(
            on_disk,
            ViewText {
                text: "disk\n".into(),
                version: None,
                open: false
            }
        );

        workspace.open("file:///a", Some(path.clone()), "text", 3, "disk\n");
        assert!(!workspace.document(&path).unwrap().differs_from_disk());
        workspace
            .edit("file:///a", 4, &[edit((0, 0), (0, 4), "typed")])
            .unwrap();
        let open = workspace.read(&folder.path().join("x/.././a.txt")).unwrap();
        assert_eq!(
            open,
            ViewText {
                text: "typed\n".into(),
                version: Some(4),
                open: true
            }
        );
        assert_eq!(workspace.dirty().len(), 1);

        std::fs::write(&path, "typed\n").unwrap();
        assert!(workspace.saved("file:///a"));
        assert_eq!(workspace.dirty().len(), 0);
        assert!(workspace.close("file:///a"));
        assert!(!workspace.close("file:///a"));
        assert!(!workspace.read(&path).unwrap().open);
    }

    #[cfg(unix)]
    #[test]
    fn a_document_is_found_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        let workspace = Workspace::new();
        // Not on the disk yet: the folder's link counts all the same.
        workspace.open("file:///l", Some(folder.path().join("link/new.txt")), "text", 1, "new");
        assert_eq!(workspace.read(&real.join("new.txt")).unwrap().text, "new");
        assert!(workspace.exists_in_view(&real.join("new.txt")));
        assert!(!workspace.exists_in_view(&real.join("other.txt")));
    }

    #[test]
    fn a_change_of_what_is_not_open_is_an_error() {
        let workspace = Workspace::new();
        let error = workspace
            .edit("file:///nowhere", 1, &[edit((0, 0), (0, 0), "x")])
            .unwrap_err();
        assert!(error.to_string().contains("file:///nowhere"), "{error}");
    }

    #[test]
    fn two_spellings_of_one_file_close_one_by_one() {
        let workspace = Workspace::new();
        let path = PathBuf::from("/w/a b");
        workspace.open("file:///w/a%20b", Some(path.clone()), "text", 1, "one");
        workspace.open("file:///w/./a%20b", Some(path.clone()), "text", 1, "two");
        workspace.close("file:///w/./a%20b");
        assert_eq!(workspace.document(&path).unwrap().text(), "one");
    }

    #[test]
    fn the_innermost_root_holds_a_path() {
        let workspace = Workspace::new();
        workspace.set_roots(vec![
            "/w".into(),
            "/w/inner/".into(),
            "/w/./inner".into(),
            "/other".into(),
        ]);
        assert_eq!(
            workspace.roots(),
            [Path::new("/w"), Path::new("/w/inner"), Path::new("/other")]
        );
        assert_eq!(workspace.root_of(Path::new("/w/inner/x/../y")), Some("/w/inner".into()));
        assert_eq!(workspace.root_of(Path::new("/w/innermost")), Some("/w".into()));
        assert_eq!(
            workspace.root_of(Path::new("/w/inner/../../other/z")),
            Some("/other".into())
        );
        assert_eq!(workspace.root_of(Path::new("/elsewhere")), None);
    }

    #[tokio::test]
    async fn one_can_wait_for_the_next_change() {
        let workspace = Workspace::new();
        workspace.open("untitled:1", None, "text", 1, "");
        let mut changed = workspace.changed();
        changed.mark_unchanged();
        let waiting = tokio::spawn(async move { changed.changed().await.is_ok() });
        let edited = workspace
            .edit(
                "untitled:1",
                1,
                &[Edit {
                    range: None,
                    text: "x".into(),
                }],
            )
            .unwrap();
        assert!(!edited.in_order());
        assert!(waiting.await.unwrap());
    }

    /// What is read is what was judged, also where the path leads elsewhere right after the look.
    #[cfg(unix)]
    #[test]
    fn what_is_swapped_after_the_look_is_not_read() {
        let swaps = opened::Swaps::new("f");
        let workspace = Workspace::new();
        assert_eq!(workspace.read(&swaps.link.join("f")).unwrap().text, "plain");
        let read = workspace.read_judged(&swaps.link.join("f"), &swaps);
        assert!(matches!(read, Err(ReadError::Refused(_))), "{read:?}");
        // So it is with a document that is open under the name that the path leads to by then.
        let swaps = opened::Swaps::new("f");
        let closed = swaps.link.with_file_name("closed").join("f");
        workspace.open("file:///closed/f", Some(closed.clone()), "text", 1, "typed");
        let only_open = OnlyOpen(closed);
        std::fs::remove_file(&swaps.link).unwrap();
        std::os::unix::fs::symlink("closed", &swaps.link).unwrap();
        let read = workspace.read_judged(&swaps.link.join("f"), &only_open);
        assert!(matches!(read, Err(ReadError::Refused(_))), "{read:?}");
    }

    /// Refuses one path by its letters.
    #[cfg(unix)]
    struct OnlyOpen(PathBuf);

    #[cfg(unix)]
    impl Judge for OnlyOpen {
        fn path(&self, path: &Path) -> Result<(), String> {
            match path == self.0 {
                true => Err("it is closed".to_owned()),
                false => Ok(()),
            }
        }

        fn opened(&self, _name: &Path, _opened: &Opened) -> Result<(), String> {
            Ok(())
        }
    }
}
