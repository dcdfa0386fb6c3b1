//! Puts what is to be written into the document, one edit at a time.

use crate::agent::editor::{ApplyReply, EditorChange, EditorStep};
use crate::chat::plan::{self, Write};
use crate::server::presenter::Severity;
use crate::server::session::Session;
use crate::workspace::{Document, Workspace};
use std::collections::HashMap;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Shortest time between two edits.
const PAUSE: Duration = Duration::from_millis(100);
/// How long an editor that says that it made an edit may take to tell of the change.
const LANDING: Duration = Duration::from_secs(5);
/// How long an editor that has made an edit may take to say so.
const LATE: Duration = Duration::from_secs(2);
/// Refusals of the same text after which the editor is taken to mean it.
const PATIENCE: u32 = 3;

/// What became of an edit.
enum Outcome {
    Landed,
    /// The text is another one by now.
    Outdated,
    Refused(Option<String>),
    /// The document is not open.
    Closed,
}

/// What waits to be written into one document.
pub(super) struct Writer {
    session: Session,
    uri: String,
    waiting: Vec<Write>,
    /// So many of them are on their way.
    in_flight: usize,
    running: Option<JoinHandle<Outcome>>,
    not_before: Instant,
    refusals: u32,
    /// The version that the editor will not have changed.
    held_at: Option<i32>,
    told: bool,
}

impl Writer {
    pub(super) fn new(session: Session, uri: String) -> Self {
        Self {
            session,
            uri,
            waiting: Vec::new(),
            in_flight: 0,
            running: None,
            not_before: Instant::now(),
            refusals: 0,
            held_at: None,
            told: false,
        }
    }

    /// Takes something to write. More of the same answer is joined.
    pub(super) fn put(&mut self, write: Write) {
        if !self.session.client().can.apply_edit {
            return self.tell(
                "This editor takes no edits from servers (workspace/applyEdit), so the answer cannot be written into the \
                 document. It is shown in messages, and the conversation keeps it.",
            );
        }
        let last = self.waiting.len().checked_sub(1).filter(|last| *last >= self.in_flight);
        if let Write::More { tag, text } = &write
            && let Some(Write::More {
                tag: same,
                text: joined,
            }) = last.and_then(|last| self.waiting.get_mut(last))
            && same == tag
        {
            return joined.push_str(text);
        }
        self.waiting.push(write);
    }

    /// What waits is not wanted any more: the document is closed, or opened anew and compared. An edit that is on its way may
    /// still be made: what becomes of it is waited for by [`Writer::step`].
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.in_flight = 0;
        self.refusals = 0;
        self.held_at = None;
    }

    /// Whether an edit is on its way, so that nobody knows what the document will hold.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the document takes what is written.
    pub(super) fn works(&self) -> bool {
        self.session.client().can.apply_edit && self.held_at.is_none()
    }

    fn tell(&mut self, words: &str) {
        if !std::mem::replace(&mut self.told, true) {
            self.session.presenter().message(Severity::Warning, words);
        }
    }

    /// Goes on with writing: begins the next edit when it is time, or takes up what became of the last. Safe to cancel; ends
    /// after each step, and never while there is nothing to do.
    pub(super) async fn step(&mut self) {
        if let Some(running) = &mut self.running {
            let outcome = running.await.unwrap_or_else(|error| {
                tracing::error!(%error, "an edit of a chat document broke off");
                Outcome::Outdated
            });
            self.running = None;
            self.not_before = Instant::now() + PAUSE;
            return self.take_up(outcome);
        }
        if self.waiting.is_empty() {
            return std::future::pending().await;
        }
        if let Some(held) = self.held_at {
            let (workspace, uri) = (self.session.workspace().clone(), self.uri.clone());
            changed_from(workspace, uri, held).await;
            self.held_at = None;
            self.refusals = 0;
        }
        tokio::time::sleep_until(self.not_before).await;
        self.begin();
    }

    fn begin(&mut self) {
        let Some(document) = self.session.workspace().document_by_uri(&self.uri) else {
            self.clear();
            return;
        };
        let Some(path) = document.path().map(ToOwned::to_owned) else {
            return self.clear();
        };
        let before = document.text();
        let edits = plan::edits(&before, &self.waiting);
        self.in_flight = self.waiting.len();
        if edits.is_empty() {
            return self.take_up(Outcome::Landed);
        }
        let put: Vec<String> = edits.iter().map(|(_, text)| text.clone()).collect();
        let change = EditorChange {
            thread: None,
            label: "Countersign".to_owned(),
            steps: vec![EditorStep::Edit {
                path,
                uri: document.uri().to_owned(),
                version: document.version,
                before: before.clone(),
                edits,
            }],
        };
        let reply = self.session.agent().services().editor.apply(change);
        let (session, uri, version) = (self.session.clone(), self.uri.clone(), document.version);
        self.running = Some(tokio::spawn(async move {
            let now = || session.workspace().document_by_uri(&uri);
            let has_landed = |document: &Document| {
                let after = document.text();
                document.version != version && put.iter().all(|put| has_more(&before, &after, put))
            };
            let mut changed = session.workspace().changed();
            let landing = async {
                while !now().is_none_or(|document| has_landed(&document)) && changed.changed().await.is_ok() {}
                tokio::time::sleep(LATE).await;
            };
            // Some make the edit and never say so.
            let reply = tokio::select! {
                reply = reply => reply,
                () = landing => ApplyReply::NoAnswer,
            };
            // What was typed in the middle of ours meanwhile takes nothing away from the editor's word.
            let is_there = |document: &Document| {
                has_landed(document) || document.version != version && has_all(&before, &document.text(), &put)
            };
            if let ApplyReply::Applied = reply {
                let mut changed = session.workspace().changed();
                let landing = async {
                    while !now().is_none_or(|document| is_there(&document)) && changed.changed().await.is_ok() {}
                };
                let _in_time = tokio::time::timeout(LANDING, landing).await;
            }
            let Some(document) = now() else { return Outcome::Closed };
            let has_landed = match reply {
                ApplyReply::Applied => is_there(&document),
                ApplyReply::NoAnswer => has_landed(&document),
                ApplyReply::Refused { .. } => false,
            };
            match reply {
                _ if has_landed => {
                    if let Some(path) = document.path() {
                        // It was not the person who wrote this.
                        session.workspace().forget_edits(path);
                    }
                    Outcome::Landed
                }
                _ if document.version != version => Outcome::Outdated,
                ApplyReply::Refused { reason } => Outcome::Refused(reason),
                ApplyReply::Applied => {
                    Outcome::Refused(Some("it said that it had made the edit, and did not".to_owned()))
                }
                ApplyReply::NoAnswer => Outcome::Refused(Some("it does not answer".to_owned())),
            }
        }));
    }

    fn take_up(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Landed => {
                self.waiting.drain(..self.in_flight.min(self.waiting.len()));
                self.refusals = 0;
            }
            Outcome::Outdated => {}
            Outcome::Closed => self.clear(),
            Outcome::Refused(reason) => {
                self.refusals += 1;
                tracing::info!(?reason, refusals = self.refusals, "a chat document was not written");
                if self.refusals >= PATIENCE {
                    self.held_at = self
                        .session
                        .workspace()
                        .document_by_uri(&self.uri)
                        .map(|document| document.version);
                    let why = reason.map(|reason| format!(" ({})", reason.trim())).unwrap_or_default();
                    self.tell(&format!(
                        "The editor does not let the answer be written into the chat document{why}. The conversation keeps it: make \
                         the document writable and change it, or open it again, and what is missing is written.",
                    ));
                }
            }
        }
        self.in_flight = 0;
    }
}

/// Ends when the document has another version than this, or is not open.
async fn changed_from(workspace: Workspace, uri: String, version: i32) {
    let mut changed = workspace.changed();
    while workspace
        .document_by_uri(&uri)
        .is_some_and(|document| document.version == version)
    {
        // The sender lives as long as the workspace.
        if changed.changed().await.is_err() {
            return;
        }
    }
}

/// Whether a text has as many letters more than before as the pieces have, of each letter that is in them.
fn has_all(before: &str, after: &str, pieces: &[String]) -> bool {
    let mut letters: HashMap<char, isize> = HashMap::new();
    for c in pieces
        .iter()
        .flat_map(|piece| piece.chars())
        .filter(|c| !c.is_whitespace())
    {
        *letters.entry(c).or_default() -= 1;
    }
    for (text, by) in [(after, 1), (before, -1)] {
        for c in text.chars() {
            letters.entry(c).and_modify(|left| *left += by);
        }
    }
    letters.values().all(|left| *left >= 0)
}

/// Whether a text holds a piece more often than before. Editors may have changed its line ends.
fn has_more(before: &str, after: &str, piece: &str) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n");
    let piece = plain(piece);
    let piece = piece.trim_end();
    piece.is_empty() || plain(after).matches(piece).count() > plain(before).matches(piece).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_landed_is_known_though_somebody_types_in_it() {
        let piece = "\n\n## ◆ Agent · 1a\n\n\n## ❯ You\n".to_owned();
        let table = [
            ("Talk\n", "Talk\n\n## ◆ Agent · 1a\n\n\n## ❯ You\n\n", true),
            ("Talk\n", "Talk\n<1>\n## ◆ Ag<2>ent · 1a\n<3>\n\n## ❯ You\n<4>\n", true),
            // The editor's word alone is not enough, nor is what somebody types.
            ("Talk\n", "Talk\n", false),
            ("Talk\n", "Talk a lot of this and of that\n", false),
            (
                "Talk\n\n## ◆ Agent · 1a\n",
                "Talk\n\n## ◆ Agent · 1a\n## ❯ You\n",
                false,
            ),
        ];
        for (before, after, landed) in table {
            assert_eq!(
                has_all(before, after, std::slice::from_ref(&piece)),
                landed,
                "{after:?}"
            );
        }
    }
}
