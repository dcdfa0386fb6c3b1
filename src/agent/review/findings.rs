//! Findings that lie on their lines. They are followed while the text changes, whoever changes it, and go when their own
//! lines change, when their file is gone, when they are dismissed, and when the same is reviewed again.
//!
//! Nothing here is done while a key is pressed: whoever wants to know looks, and only texts that are others than at the
//! last look are compared.

use super::lines::Text;
use crate::agent::conversation::Conversation;
use crate::ids::{FindingId, ThreadId, TurnId};
use crate::protocol::event::{EventKind, ReviewFindingsChanged};
use crate::protocol::item::LineRange;
use crate::protocol::review::{CodeLocation, OpenFinding, ReviewFinding, ReviewTarget};
use crate::workspace::{ReadError, Workspace, uri};
use ropey::Rope;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

/// Files that are remembered as they were when a review began, and bytes of all of them.
const MOST_FILES: usize = 500;
const MOST_BYTES: usize = 16 << 20;

/// The findings of a server; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    state: Arc<Mutex<State>>,
    /// Held by whoever compares texts; the state is not, meanwhile.
    looking: Arc<Mutex<()>>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, File>,
    /// Findings so far, to keep them in order.
    count: u64,
}

#[derive(Debug)]
struct File {
    seen: Seen,
    /// The text in which the findings lie.
    text: Text,
    found: Vec<Found>,
}

#[derive(Debug)]
struct Found {
    number: u64,
    about: About,
    /// Hears of it when findings go.
    conversation: Weak<Conversation>,
    finding: OpenFinding,
}

/// The conversations of findings that went.
type Went = BTreeMap<ThreadId, Weak<Conversation>>;

impl Found {
    fn goes(&self, went: &mut Went) {
        let thread = self.finding.thread_id.clone();
        went.entry(thread).or_insert_with(|| self.conversation.clone());
    }
}

/// What was reviewed, and where.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) target: ReviewTarget,
    pub(super) folder: PathBuf,
}

impl About {
    fn is_same(&self, other: &Self) -> bool {
        let is_same = match (&self.target, &other.target) {
            // By whatever title.
            (ReviewTarget::Commit { sha: one, .. }, ReviewTarget::Commit { sha: other, .. }) => one == other,
            (one, other) => one == other,
        };
        is_same && self.folder == other.folder
    }
}

/// Where a text was seen.
#[derive(Clone, Debug)]
enum Seen {
    /// In the editor.
    Open { rope: Rope, uri: String },
    /// On the disk.
    Closed(Stamp),
}

/// By what a file is taken to be the same as before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(metadata),
        }
    }
}

/// What is at a path now, held against what was seen there last.
enum Now {
    Same,
    Text(Seen, Text),
    Gone,
    /// It cannot be read as text; it may be, later.
    Unknown,
}

fn now(workspace: &Workspace, path: &Path, before: Option<&Seen>) -> Now {
    if let Some(document) = workspace.document(path) {
        let uri = document.uri().to_owned();
        let rope = document.rope;
        let is_same =
            matches!(before, Some(Seen::Open { rope: seen, uri: was }) if seen.is_instance(&rope) && *was == uri);
        return match is_same {
            true => Now::Same,
            false => Now::Text(
                Seen::Open {
                    rope: rope.clone(),
                    uri,
                },
                Text::new(rope),
            ),
        };
    }
    let stamp = match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Stamp::of(&metadata),
        Ok(_) => return Now::Gone,
        Err(error) => return gone(&error),
    };
    if matches!(before, Some(Seen::Closed(seen)) if *seen == stamp) {
        return Now::Same;
    }
    match workspace.read(path) {
        Ok(view) => Now::Text(Seen::Closed(stamp), Text::new(Rope::from_str(&view.text))),
        Err(ReadError::NotFound { .. }) => Now::Gone,
        Err(_) => Now::Unknown,
    }
}

fn gone(error: &std::io::Error) -> Now {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Now::Gone,
        _ => Now::Unknown,
    }
}

/// Texts as they were when a review began: what the reviewer says is about them, whatever is typed meanwhile.
#[derive(Debug, Default)]
pub(super) struct Before {
    texts: BTreeMap<PathBuf, Text>,
}

impl Before {
    /// The open documents, and these files. Reads them.
    pub(super) fn of(workspace: &Workspace, files: &[PathBuf]) -> Self {
        let open = workspace.documents().into_iter();
        let mut texts: BTreeMap<PathBuf, Text> = open
            .filter_map(|document| Some((document.path()?.to_owned(), Text::new(document.rope.clone()))))
            .collect();
        let mut left = MOST_BYTES;
        for path in files.iter().take(MOST_FILES) {
            let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            if texts.contains_key(path) || !usize::try_from(size).is_ok_and(|size| size <= left) {
                continue;
            }
            if let Ok(view) = workspace.read(path) {
                left = left.saturating_sub(view.text.len());
                texts.insert(path.clone(), Text::new(Rope::from_str(&view.text)));
            }
        }
        Self { texts }
    }
}

/// A finding on a document, with the text in which it lies.
#[derive(Clone, Debug)]
pub struct Lying {
    pub finding: OpenFinding,
    pub rope: Rope,
}

impl Findings {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn looking(&self) -> MutexGuard<'_, ()> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the findings of a review onto their lines and says which of them lie there now. The places of all are brought
    /// within their files. Reads files.
    pub(super) fn add(
        &self,
        (conversation, turn): (&Arc<Conversation>, &TurnId),
        about: &About,
        findings: &mut [ReviewFinding],
        before: &Before,
        workspace: &Workspace,
    ) -> Vec<OpenFinding> {
        let _alone = self.looking();
        // Those that lie in the same files are brought to the texts of now, too.
        let went = self.compare(workspace);
        self.tell(went);
        let mut added = Vec::new();
        for finding in findings {
            let Some(place) = &mut finding.code_location else {
                continue;
            };
            let path = place.absolute_file_path.clone();
            let known = self
                .state()
                .files
                .get(&path)
                .map(|file| (file.seen.clone(), file.text.clone()));
            let at_last_look = known.map(|(seen, text)| Now::Text(seen, text));
            let Now::Text(seen, text) = at_last_look.unwrap_or_else(|| now(workspace, &path, None)) else {
                continue;
            };
            let then = before.texts.get(&path).unwrap_or(&text);
            place.line_range = then.clamp(place.line_range);
            let Some(lines) = then.changes(&text).follow(place.line_range) else {
                continue;
            };
            let open = OpenFinding {
                id: FindingId::fresh(),
                thread_id: conversation.id.clone(),
                turn_id: turn.clone(),
                uri: uri_of(&seen, &path),
                code_location: CodeLocation {
                    absolute_file_path: path.clone(),
                    line_range: lines,
                },
                title: finding.title.clone(),
                body: finding.body.clone(),
                confidence_score: finding.confidence_score,
                priority: finding.priority,
            };
            added.push(open.clone());
            let mut state = self.state();
            state.count += 1;
            let number = state.count;
            let file = state.files.entry(path).or_insert_with(|| File {
                seen: seen.clone(),
                text: text.clone(),
                found: Vec::new(),
            });
            file.found.push(Found {
                number,
                about: about.clone(),
                conversation: Arc::downgrade(conversation),
                finding: open,
            });
        }
        added
    }

    /// Follows the texts. Reads files that have changed on the disk.
    pub fn look(&self, workspace: &Workspace) {
        let _alone = self.looking();
        let went = self.compare(workspace);
        self.tell(went);
    }

    /// Tells the conversations which findings are left.
    fn tell(&self, went: Went) {
        for (thread, conversation) in went {
            if let Some(conversation) = conversation.upgrade() {
                let findings = self.list(Some(&thread), None);
                conversation.publish(
                    None,
                    EventKind::ReviewFindingsChanged(ReviewFindingsChanged { findings }),
                );
            }
        }
    }

    fn compare(&self, workspace: &Workspace) -> Went {
        let known: Vec<(PathBuf, Seen, Text)> = {
            let state = self.state();
            let files = state.files.iter();
            files
                .map(|(path, file)| (path.clone(), file.seen.clone(), file.text.clone()))
                .collect()
        };
        let mut went = Went::new();
        for (path, seen, text) in known {
            match now(workspace, &path, Some(&seen)) {
                Now::Same | Now::Unknown => {}
                Now::Gone => {
                    let gone = self.state().files.remove(&path);
                    let found = gone.iter().flat_map(|file| &file.found);
                    found.for_each(|found| found.goes(&mut went));
                }
                Now::Text(seen, now) => {
                    let changes = text.changes(&now);
                    let uri = uri_of(&seen, &path);
                    self.state().change(&path, |file| {
                        file.found.retain_mut(|found| {
                            let lines = changes.follow(found.finding.code_location.line_range);
                            match lines {
                                Some(lines) => {
                                    found.finding.code_location.line_range = lines;
                                    found.finding.uri.clone_from(&uri);
                                }
                                None => found.goes(&mut went),
                            }
                            lines.is_some()
                        });
                        (file.seen, file.text) = (seen, now);
                    });
                }
            }
        }
        went
    }

    /// Takes away what fits. Says whose that was, and how many there were.
    fn remove(&self, fits: impl Fn(&Found) -> bool) -> (Went, usize) {
        let mut state = self.state();
        let (mut went, mut count) = (Went::new(), 0);
        for file in state.files.values_mut() {
            file.found.retain(|found| {
                let goes = fits(found);
                if goes {
                    found.goes(&mut went);
                    count += 1;
                }
                !goes
            });
        }
        state.files.retain(|_, file| !file.found.is_empty());
        (went, count)
    }

    /// The person needs these no more. Says how many there were.
    pub fn dismiss(&self, thread: &ThreadId, turn: Option<&TurnId>, finding: Option<&FindingId>) -> usize {
        let fits = |found: &OpenFinding| {
            found.thread_id == *thread
                && turn.is_none_or(|turn| found.turn_id == *turn)
                && finding.is_none_or(|finding| found.id == *finding)
        };
        let (went, count) = self.remove(|found| fits(&found.finding));
        self.tell(went);
        count
    }

    /// The same is reviewed again, in whichever thread.
    pub(super) fn outdate(&self, about: &About) {
        let (went, _) = self.remove(|found| found.about.is_same(about));
        self.tell(went);
    }

    /// A thread is closed, and tells so itself.
    pub fn close(&self, thread: &ThreadId) {
        let _told = self.remove(|found| found.finding.thread_id == *thread);
    }

    /// A file, or a folder with all in it, has another name now.
    pub fn renamed(&self, from: &Path, to: &Path) {
        let _alone = self.looking();
        let mut state = self.state();
        let below: Vec<PathBuf> = state
            .files
            .keys()
            .filter(|path| path.starts_with(from))
            .cloned()
            .collect();
        for old in below {
            let (Some(mut file), Ok(rest)) = (state.files.remove(&old), old.strip_prefix(from)) else {
                continue;
            };
            let new = match rest.as_os_str().is_empty() {
                true => to.to_owned(),
                false => to.join(rest),
            };
            for found in &mut file.found {
                found.finding.code_location.absolute_file_path.clone_from(&new);
                found.finding.uri = uri::from_path(&new);
            }
            match state.files.get_mut(&new) {
                // What lay there was about a file that is no more.
                Some(other) => *other = file,
                None => drop(state.files.insert(new, file)),
            }
        }
    }

    /// All that lie somewhere, in their order; those of a thread, of a review.
    pub fn list(&self, thread: Option<&ThreadId>, turn: Option<&TurnId>) -> Vec<OpenFinding> {
        let state = self.state();
        let found = state.files.values().flat_map(|file| &file.found);
        let mut found: Vec<&Found> = found
            .filter(|found| thread.is_none_or(|thread| found.finding.thread_id == *thread))
            .filter(|found| turn.is_none_or(|turn| found.finding.turn_id == *turn))
            .collect();
        found.sort_by_key(|found| found.number);
        found.into_iter().map(|found| found.finding.clone()).collect()
    }

    pub fn get(&self, id: &FindingId) -> Option<OpenFinding> {
        let state = self.state();
        let mut found = state.files.values().flat_map(|file| &file.found);
        found
            .find(|found| found.finding.id == *id)
            .map(|found| found.finding.clone())
    }

    /// A finding with the text in which it lies.
    pub fn lying(&self, id: &FindingId) -> Option<Lying> {
        let state = self.state();
        state.files.values().find_map(|file| {
            let found = file.found.iter().find(|found| found.finding.id == *id)?;
            Some(Lying {
                finding: found.finding.clone(),
                rope: file.text.rope.clone(),
            })
        })
    }

    /// By document.
    pub fn by_uri(&self) -> BTreeMap<String, Vec<Lying>> {
        let state = self.state();
        let mut all: BTreeMap<String, Vec<Lying>> = BTreeMap::new();
        for file in state.files.values() {
            for found in &file.found {
                let lying = Lying {
                    finding: found.finding.clone(),
                    rope: file.text.rope.clone(),
                };
                all.entry(found.finding.uri.clone()).or_default().push(lying);
            }
        }
        all
    }

    /// Those of a document that touch these lines. Looks at nothing but memory.
    pub fn at(&self, uri: &str, path: &Path, lines: LineRange) -> Vec<OpenFinding> {
        let state = self.state();
        let is_here = |place: &OpenFinding| place.uri == uri || place.code_location.absolute_file_path == path;
        let touches = |own: LineRange| own.start < lines.end && lines.start < own.end;
        let found = state.files.values().flat_map(|file| &file.found);
        found
            .map(|found| &found.finding)
            .filter(|finding| is_here(finding) && touches(finding.code_location.line_range))
            .cloned()
            .collect()
    }

    pub fn is_empty(&self) -> bool {
        self.state().files.is_empty()
    }

    /// Whether some lie in files that are not open, of whose changes nobody tells.
    pub fn any_closed(&self) -> bool {
        let state = self.state();
        state.files.values().any(|file| matches!(file.seen, Seen::Closed(_)))
    }
}

impl State {
    /// Changes a file, which goes when nothing is left on it.
    fn change(&mut self, path: &Path, change: impl FnOnce(&mut File)) {
        let Some(file) = self.files.get_mut(path) else { return };
        change(file);
        if file.found.is_empty() {
            self.files.remove(path);
        }
    }
}

/// The URI in the editor's own spelling, where it has one.
fn uri_of(seen: &Seen, path: &Path) -> String {
    match seen {
        Seen::Open { uri, .. } => uri.clone(),
        Seen::Closed(_) => uri::from_path(path),
    }
}

#[cfg(test)]
mod tests;
