//! The client's buffers: read before the agent looks at a file, and written through the client where they hold text that is
//! not on the disk.
//!
//! The client tells of no open documents, so a file counts as open while its buffer and the disk differ.

use super::peer::Peer;
use super::sessions::apart;
use super::way::Way;
use crate::agent::editor::{ApplyReply, Editor, EditorChange, EditorStep, Saving, Unsaved};
use crate::ids::ThreadId;
use crate::patch::hunk::{apply_hunks, hunks};
use crate::patch::rebase::{Conflict, Rebased, rebase};
use crate::workspace::{Workspace, disk, uri};
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the client may take to read a buffer. The disk stands in for one that does not answer.
const READ_LIMIT: Duration = Duration::from_secs(5);
/// How long it may take to write one.
const WRITE_LIMIT: Duration = Duration::from_secs(30);
/// How often it is asked again where something on the way to a file changes meanwhile.
const READS: usize = 3;
/// Files that are remembered.
const MOST_KNOWN: usize = 64;

/// What the client can do with files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Abilities {
    pub(super) read: bool,
    pub(super) write: bool,
}

#[derive(Clone)]
pub(super) struct Files(Arc<Shared>);

struct Shared {
    peer: Peer,
    workspace: Workspace,
    can: Mutex<Abilities>,
    sessions: Mutex<BTreeSet<ThreadId>>,
    /// Files whose buffers are worth a look before files are searched: looked at, written or mentioned before. The latest last.
    known: Mutex<VecDeque<PathBuf>>,
}

impl Files {
    pub(super) fn new(peer: Peer, workspace: Workspace) -> Self {
        Self(Arc::new(Shared {
            peer,
            workspace,
            can: Mutex::default(),
            sessions: Mutex::default(),
            known: Mutex::default(),
        }))
    }

    pub(super) fn set_abilities(&self, can: Abilities) {
        *self.0.can.lock().unwrap_or_else(PoisonError::into_inner) = can;
    }

    /// Whether the client can be asked what a file holds.
    pub(super) fn reads(&self) -> bool {
        self.can().read
    }

    fn can(&self) -> Abilities {
        *self.0.can.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeSet<ThreadId>> {
        self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session: what its client holds is seen by it alone.
    pub(super) fn add_session(&self, id: &ThreadId) {
        self.0.workspace.begin_view(id);
        self.sessions().insert(id.clone());
    }

    pub(super) fn remove_session(&self, id: &ThreadId) {
        self.sessions().remove(id);
        self.0.workspace.end_view(id);
    }

    /// Remembers files that the person or the agent has to do with.
    pub(super) fn note<'a>(&self, paths: impl Iterator<Item = &'a Path>) {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        for path in paths {
            known.retain(|other| other != path);
            if known.len() == MOST_KNOWN {
                known.pop_front();
            }
            known.push_back(path.to_owned());
        }
    }

    fn known_below(&self, folder: &Path) -> Vec<PathBuf> {
        let known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter(|path| path.starts_with(folder)).cloned().collect()
    }

    /// The session that a thread works in: its own, or that of the thread that it works for.
    fn session_of(&self, thread: &ThreadId) -> Option<ThreadId> {
        let sessions = self.sessions();
        let is_its = |session: &&ThreadId| *session == thread || self.0.workspace.is_shared(session, thread);
        sessions.iter().find(is_its).cloned()
    }

    /// Looks at the buffers of files that a session has to do with.
    pub(super) async fn look_for(&self, session: &ThreadId, paths: Vec<PathBuf>) {
        self.note(paths.iter().map(PathBuf::as_path));
        join_all(paths.into_iter().map(|path| self.look_at(path, session))).await;
    }

    /// Looks at one file's buffer in a session, and keeps its text there where the disk has another.
    async fn look_at(&self, path: PathBuf, session: &ThreadId) {
        if !self.can().read || !path.is_absolute() {
            return;
        }
        let place = path.clone();
        if apart(move || place.is_dir()).await.unwrap_or(true) {
            return;
        }
        match self.read(&path, session).await {
            Ok((text, _)) => self.seen(session, &path, &text).await,
            // Most often a file that is not there.
            Err(reason) => {
                tracing::debug!(path = %path.display(), reason, "the client reads no buffer; the disk counts")
            }
        }
    }

    /// What the client says now that a file holds, and the way on which it was read.
    async fn read(&self, path: &Path, session: &ThreadId) -> Result<(String, Way), String> {
        for _ in 1..READS {
            if let Some(answer) = self.read_once(path, session).await? {
                return Ok(answer);
            }
        }
        let last = self.read_once(path, session).await?;
        last.ok_or_else(|| "the file, or a folder on the way to it, was changed while the client read it".to_owned())
    }

    /// The same; nothing where something on the way was changed meanwhile, so that it may be another file's text.
    async fn read_once(&self, path: &Path, session: &ThreadId) -> Result<Option<(String, Way)>, String> {
        let before = self.steady(path).await?;
        let asked = self
            .0
            .peer
            .request("fs/read_text_file", json!({"sessionId": session, "path": path}));
        let text = match tokio::time::timeout(READ_LIMIT, asked).await {
            Ok(Ok(answer)) => match answer["content"].as_str() {
                Some(text) => text.to_owned(),
                None => return Err("its answer to fs/read_text_file has no content".to_owned()),
            },
            Ok(Err(reason)) => return Err(reason),
            Err(_) => return Err("it did not read the buffer in time".to_owned()),
        };
        match Way::now(path).await {
            Some(after) if after == before => Ok(Some((text, before))),
            _ => Ok(None),
        }
    }

    /// The way to a file that the client is to open, once nothing is exchanged on it.
    async fn steady(&self, path: &Path) -> Result<Way, String> {
        let way = Way::steady(path).await;
        way.ok_or_else(|| "a folder on the way to it goes on changing, so that it could be another file".to_owned())
    }

    /// What the client says that a file holds in a session.
    async fn seen(&self, session: &ThreadId, path: &Path, text: &str) {
        let (workspace, path, text) = (self.0.workspace.seen_by(session), path.to_owned(), text.to_owned());
        let compared = tokio::task::spawn_blocking(move || {
            let place = uri::from_path(&path);
            let on_disk = match disk::read_text(&path) {
                Ok(on_disk) => same(&on_disk, &text),
                // Of what is no text some clients make up one. It is deleted and moved as it is.
                Err(disk::ReadError::NotText { .. }) => text.contains(['\0', '\u{fffd}']),
                Err(_) => false,
            };
            match workspace.document(&path) {
                Some(_) if on_disk => {
                    workspace.close(&place);
                }
                Some(open) if open.text() == text => {}
                Some(open) => workspace.open(&place, Some(path), "", open.version + 1, &text),
                None if on_disk => {}
                None => workspace.open(&place, Some(path), "", 1, &text),
            }
        });
        if let Err(error) = compared.await {
            tracing::error!(%error, "a buffer was not compared with the disk");
        }
    }

    /// Changes a buffer from one text to another. A client takes whole texts only, so the buffer is read right before it is written, on
    /// the same way: what was typed since stays, or nothing is written.
    async fn change(&self, session: &ThreadId, path: &Path, from: &str, to: &str) -> Result<(), String> {
        for _ in 0..READS {
            let read = self.read(path, session).await;
            let (now, way) = read
                .map_err(|reason| format!("it could not be read again just before it was to be written: {reason}"))?;
            let Some(fitted) = fitted(from, to, &now) else {
                // So that the change is fitted to what is there now.
                self.seen(session, path, &now).await;
                return Err("it was typed in at the same place in the meantime".to_owned());
            };
            if fitted == now {
                self.seen(session, path, &now).await;
                return Ok(());
            }
            // Nothing is waited for here: each moment more is one in which something can be typed.
            if Way::now(path).await.as_ref() == Some(&way) {
                return self.write(session, path.to_owned(), fitted, &way).await;
            }
        }
        Err("the file, or a folder on the way to it, was changed each time before it could be written".to_owned())
    }

    /// Has a buffer written whose text was read on this way.
    async fn write(&self, session: &ThreadId, path: PathBuf, text: String, before: &Way) -> Result<(), String> {
        let params = json!({"sessionId": session, "path": path, "content": text});
        let written = self.0.peer.request("fs/write_text_file", params);
        match tokio::time::timeout(WRITE_LIMIT, written).await {
            Ok(Ok(_)) => {}
            Ok(Err(reason)) => return Err(reason),
            Err(_) => return Err("it did not answer in time".to_owned()),
        }
        let after = Way::now(&path).await;
        if !after.is_some_and(|after| after.has_folders_of(before)) {
            tracing::error!(path = %path.display(), "a folder on the way to a file was exchanged while the client wrote it");
            return Err(
                "a folder on the way to it was exchanged while the client wrote it, so that another file may have been written: look at it"
                    .to_owned(),
            );
        }
        // A claim: what is there now is asked for.
        self.look_at(path, session).await;
        Ok(())
    }
}

/// Clients bring line ends and a final newline into their own form.
fn same(disk: &str, buffer: &str) -> bool {
    let plain = |text: &str| text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    disk == buffer || plain(disk) == plain(buffer)
}

/// Today's text with the change that leads from one text to another; nothing where somebody has changed the same lines.
fn fitted(from: &str, to: &str, now: &str) -> Option<String> {
    if now == from {
        return Some(to.to_owned());
    }
    let hunks = hunks(from, to);
    let mut placed = Vec::with_capacity(hunks.len());
    for (hunk, found) in hunks.iter().zip(rebase(from, &hunks, now)) {
        match found {
            Rebased::Placed(range) => placed.push((range, hunk.new_text.clone())),
            Rebased::Conflict {
                why: Conflict::AlreadyThere,
            } => {}
            Rebased::Conflict { .. } => return None,
        }
    }
    Some(apply_hunks(now, &placed))
}

/// The text after the edits, which are ordered and do not overlap.
fn edited(before: &str, edits: &[(std::ops::Range<usize>, String)]) -> String {
    let mut after = String::with_capacity(before.len());
    let mut at = 0;
    for (range, text) in edits {
        after.push_str(&before[at..range.start]);
        after.push_str(text);
        at = range.end;
    }
    after.push_str(&before[at..]);
    after
}

impl Editor for Files {
    fn look(&self, thread: &ThreadId, paths: Vec<PathBuf>) -> BoxFuture<'static, ()> {
        let (files, session) = (self.clone(), self.session_of(thread));
        async move {
            if let Some(session) = session {
                files.look_for(&session, paths).await;
            }
        }
        .boxed()
    }

    fn look_below(&self, thread: &ThreadId, folder: PathBuf) -> BoxFuture<'static, ()> {
        let (files, session) = (self.clone(), self.session_of(thread));
        async move {
            if let Some(session) = session {
                let known = files.known_below(&folder);
                join_all(known.into_iter().map(|path| files.look_at(path, &session))).await;
            }
        }
        .boxed()
    }

    fn apply(&self, change: EditorChange) -> BoxFuture<'static, ApplyReply> {
        let files = self.clone();
        let session = change.thread.as_ref().and_then(|thread| self.session_of(thread));
        async move {
            let refuse = |reason: String| ApplyReply::Refused { reason: Some(reason) };
            if !files.can().write {
                return refuse(
                    "it holds text that is not saved, and takes no writes from agents (fs/write_text_file). Ask the person to save \
                     the file, then send the patch again"
                        .to_owned(),
                );
            }
            let Some(session) = session else {
                return refuse("the session that the change is for is closed".to_owned());
            };
            let mut written: Vec<(PathBuf, String, String)> = Vec::new();
            for step in change.steps {
                let EditorStep::Edit { path, before, edits, .. } = step else {
                    return refuse("it cannot rename or delete files for us".to_owned());
                };
                let after = edited(&before, &edits);
                if let Err(reason) = files.change(&session, &path, &before, &after).await {
                    // All or none: what was written is taken out again.
                    for (path, before, after) in written.into_iter().rev() {
                        if let Err(reason) = files.change(&session, &path, &after, &before).await {
                            tracing::error!(path = %path.display(), reason, "a buffer could not be put back");
                        }
                    }
                    return refuse(format!("{}: {reason}", path.display()));
                }
                written.push((path, before, after));
            }
            ApplyReply::Applied
        }
        .boxed()
    }

    /// Clients save what they write for agents.
    fn save(&self, _: ThreadId, _: Vec<Unsaved>) -> BoxFuture<'static, Saving> {
        async { Saving::Over }.boxed()
    }

    fn has_resource_operations(&self) -> bool {
        false
    }
}

/// What `initialize` says of files.
pub(super) fn abilities(capabilities: &Value) -> Abilities {
    let can = |what: &str| capabilities["fs"][what] == json!(true);
    Abilities {
        read: can("readTextFile"),
        write: can("writeTextFile"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_and_comparisons() {
        assert_eq!(edited("abcdef", &[(1..2, "X".into()), (4..4, "YZ".into())]), "aXcdYZef");
        assert_eq!(edited("", &[(0..0, "a".into())]), "a");
        assert_eq!(
            fitted("a\nb\nc\n", "a\nB\nc\n", "x\na\nb\nc\n").as_deref(),
            Some("x\na\nB\nc\n")
        );
        assert_eq!(
            fitted("a\nb\nc\n", "a\nB\nc\n", "x\na\nB\nc\n").as_deref(),
            Some("x\na\nB\nc\n")
        );
        assert_eq!(fitted("a\nb\nc\n", "a\nB\nc\n", "a\nbb\nc\n"), None);
        assert!(same("a\r\nb\r\n", "a\nb\n") && same("\u{feff}a", "a") && !same("a\n", "a"));
    }
}
