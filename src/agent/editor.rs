//! What the agent needs of an editor. The server implements it; tests may play an editor of their own.

use crate::ids::ThreadId;
use crate::protocol::tool::{ToolCallParams, ToolCallResult};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// One change to what the editor holds: everything in it, or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct EditorChange {
    /// The conversation that it is for. Absent for what the server itself writes, as into a chat document.
    pub thread: Option<ThreadId>,
    /// Shown in the editor's undo list, where it has one.
    pub label: String,
    pub steps: Vec<EditorStep>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EditorStep {
    /// Edits to an open document.
    Edit {
        path: PathBuf,
        uri: String,
        /// The version that the edits were made for.
        version: i32,
        /// The text of that version.
        before: String,
        /// Ordered, not overlapping: byte range in `before` and the text that replaces it.
        edits: Vec<(Range<usize>, String)>,
    },
    /// Renames an open document's file.
    Rename { from: PathBuf, to: PathBuf },
    /// Deletes an open document's file.
    Delete { path: PathBuf },
}

/// An open document that the agent changed and that is not on the disk yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsaved {
    pub path: PathBuf,
    /// It held text of the person's that was not saved before the agent changed it.
    pub held_unsaved_text: bool,
}

/// How long a command waits for documents to be saved, where the person may be about to.
pub const SAVED_WITHIN: Duration = Duration::from_secs(20);

/// What came of a request to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saving {
    /// What is saved by now is; nothing more is waited for.
    Over,
    /// The question was put away without an answer: it may have stood in the way of saving.
    MayCome,
}

/// What the editor said. `Applied` is a claim; compare the text that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyReply {
    Applied,
    Refused {
        reason: Option<String>,
    },
    /// It will never answer: gone, or out of time.
    NoAnswer,
}

/// How a proposal was settled by the surface that showed it.
pub trait Editor: Send + Sync + 'static {
    /// Hands one change to the editor.
    fn apply(&self, change: EditorChange) -> BoxFuture<'static, ApplyReply>;

    /// Looks at what the editor holds of these files for a conversation, where it does not tell of that by itself. Comes before
    /// the agent reads or changes them; they need not be there.
    fn look(&self, _thread: &ThreadId, _paths: Vec<PathBuf>) -> BoxFuture<'static, ()> {
        std::future::ready(()).boxed()
    }

    /// The same for those below a folder that it may hold, before they are searched.
    fn look_below(&self, _thread: &ThreadId, _folder: PathBuf) -> BoxFuture<'static, ()> {
        std::future::ready(()).boxed()
    }

    /// Asks for documents that a thread changed to be saved, so that commands see them. Ends when they are, or will not be, or
    /// when the person is about to.
    fn save(&self, thread: ThreadId, documents: Vec<Unsaved>) -> BoxFuture<'static, Saving>;

    /// Whether [`Editor::save`] saves without a question to the person.
    fn saves_on_request(&self) -> bool {
        false
    }

    /// Has the client carry out a tool that it brought along. Dropping what is given back takes the call back. The error says
    /// why there is no result, as the end of a sentence.
    fn call_tool(&self, _call: ToolCallParams) -> BoxFuture<'static, Result<ToolCallResult, String>> {
        async { Err("the editor takes no calls of tools".to_owned()) }.boxed()
    }

    /// Tells the person something, without asking.
    fn tell(&self, _message: String) {}

    /// Whether open files can be renamed and deleted through the editor.
    fn has_resource_operations(&self) -> bool;
}
