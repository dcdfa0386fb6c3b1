//! What of a document is the person's own.
//!
//! A chat document may have come with a repository, from another machine, or out of a command's hands; what stands in it is then
//! somebody else's, and one *Send* away from being said in the person's name. So a line is the person's only if it came from the
//! editor while the file was as it was accounted for: nothing that was typed or pasted, by the person or by a formatter of theirs,
//! looks like what the editor has read again from the disk. The file is accounted for as long as it is in the very state in which
//! the editor saved it, or in which it was opened; what stood in it then is somebody else's, unless it is one of this server's own
//! or what the editor saved last. What comes while the file is in any other state is doubtful, all of it, and is taken for somebody
//! else's unless the editor says in time that it was itself who wrote the file.

mod lines;
#[cfg(test)]
mod tests;

use self::lines::{Lines, Owner, plain};
use super::on_disk::{self, Content, Found, Place};
use crate::chat::document::Chat;
use crate::store::documents::{self, Known};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Values of the header that the server acts on.
pub(super) const FIELDS: [&str; 4] = ["thread", "folder", "model", "mode"];
/// How long after it has written a file an editor says so.
const SAID_SO: Duration = Duration::from_millis(500);
/// How soon it does, mostly: sooner than any editor reads a file again that somebody else has changed.
const AT_ONCE: Duration = Duration::from_millis(50);
/// How long after it has read a file an editor may tell of the change.
const LATE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Trust {
    home: PathBuf,
    /// The path of the document, as the editor has it: where it leads may change.
    path: PathBuf,
    /// It lies among the chats of the home folder, where nobody else writes.
    ours: bool,
    known: Known,
    /// The text as it was looked at last, and whose its lines are.
    lines: Lines,
    /// Why some of them are doubtful.
    doubt: Option<Doubt>,
    /// The state of the file that is accounted for.
    accounted: Option<Place>,
    /// The digest of what it holds, or held last.
    held: Option<String>,
    /// A state that is not, what it holds by its digest, and as text.
    unread: Option<(Place, String, String)>,
    /// The state that was looked at last, and the digest of its text.
    last: Option<(Place, String)>,
    /// Lines that the server itself put into the header.
    put: BTreeSet<String>,
}

/// Why lines are doubtful.
struct Doubt {
    /// They came while the file was in this state, for which nobody had accounted.
    of: Place,
    /// The digest of what it held then, where that is known.
    held: Option<String>,
    /// The digest of what the editor had before they came.
    before: String,
    /// The editor has had what the file held since.
    has_had: bool,
}

impl Doubt {
    /// Whether the editor had what the file held before anything doubtful came, so that nothing of that came from there.
    fn was_its_own(&self) -> bool {
        self.held.as_ref() == Some(&self.before)
    }
}

/// What the person is asked about before it counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::server::chats) struct Asked {
    /// What would be sent.
    pub(super) words: String,
    /// Whether somebody else wrote some of it.
    pub(super) not_theirs: bool,
    /// Values of the header that somebody else wrote.
    pub(super) fields: Vec<(String, String)>,
}

/// Where the line of the header stands that gives a key its value.
fn header_line(chat: &Chat<'_>, key: &str) -> Option<Range<usize>> {
    let header = chat.header.as_ref()?;
    let field = header.fields.iter().find(|field| field.key == key)?;
    let start = chat.text[..field.at.start].rfind(['\n', '\r']).map_or(0, |end| end + 1);
    // A value may be empty, and its line is there all the same.
    Some(start..field.at.end.max(start + 1))
}

impl Trust {
    /// Looks at a document that was opened with this text. Looks at the disk.
    pub(super) fn opened(home: &Path, path: &Path, text: &str) -> Self {
        let found = Found::at(path, false);
        let (real, links) = (found.place.real.clone(), found.place.links());
        let ours = found.place.lies_in(home, "chats");
        let known = documents::read(home, &real).filter(|known| known.links == links);
        let known = known.unwrap_or_else(|| Known {
            path: real,
            links,
            ..Known::default()
        });
        let whose = |text: &str, digest: &String| match known.text.as_ref() == Some(digest) {
            true => Lines::noted(text, &known.others),
            false if ours => Lines::of(text, Owner::Person),
            false => Lines::of(text, Owner::Other),
        };
        let digest = documents::digest(text);
        let mut lines = whose(text, &digest);
        let (mut accounted, mut held) = (None, None);
        match found.content {
            Content::Absent => accounted = Some(found.place),
            Content::Text { text: there, is_plain } => {
                let there_digest = documents::digest(&there);
                // Words that were never saved, of an editor that keeps them. What it may read again is known by its lines.
                if there_digest != digest {
                    lines.expect(&whose(&there, &there_digest));
                }
                if ours || there_digest == digest || is_plain {
                    accounted = Some(found.place);
                }
                held = Some(there_digest);
            }
            Content::Unknown => {
                accounted = ours.then_some(found.place);
                held = Some(String::new());
            }
        }
        Self {
            home: home.to_owned(),
            path: path.to_owned(),
            ours,
            known,
            lines,
            accounted,
            held,
            ..Self::default()
        }
    }

    /// The text of the document is this now. Looks at the disk, for whether it may have come from there.
    pub(super) fn look(&mut self, text: &str) {
        let place = Place::of(&self.path);
        if self.ours {
            self.ours = self.accounted.as_ref().is_some_and(|known| known.leads_as(&place));
        }
        // Where nobody but the editor had a hand in what has changed, it is the person's.
        match self.ours || self.accounted.as_ref() == Some(&place) {
            true => self.lines.edit(text, &self.put),
            false => self.doubted(place, text),
        }
    }

    /// The file is not as it was accounted for. If the text has changed since, the editor may have read it from there: all of it is
    /// doubtful, since what was left out of it, or put elsewhere, shows in no line.
    fn doubted(&mut self, first: Place, text: &str) {
        let has_changed = self.lines.text() != text;
        let was_first = has_changed && on_disk::holds(&self.path, text) && Place::of(&self.path) == first;
        let Found { place, content } = Found::at(&self.path, true);
        let was_there = self.doubt.as_ref().is_some_and(|doubt| doubt.of == place);
        let (digest, there, is_plain) = match content {
            Content::Absent => (None, String::new(), false),
            Content::Text { text, is_plain } => (Some(documents::digest(&text)), text, is_plain),
            Content::Unknown => return self.begin_doubt(place, None, text),
        };
        self.last = digest.clone().map(|digest| (place.clone(), digest));
        let is = |text: &str| digest.as_ref() == Some(&documents::digest(text));
        let is_held = self.held == digest;
        // What the editor may read there is what it has, or had; what it has read before that it has reported by now.
        let is_quiet = (is_held || is(self.lines.text())) && !place.changed_before(SystemTime::now(), LATE);
        if is_quiet && (was_there || !has_changed) {
            if !is_held && self.doubt.take().is_some() {
                self.lines.settle(Owner::Other);
            }
            (self.accounted, self.held, self.unread) = (Some(place), digest, None);
            return self.lines.edit(text, &self.put);
        }
        let is_known = is_held || !is_plain && !is(text);
        // Where the same text was there before it was written once more, it was not this that put it there.
        let was_first = was_first && is(text) && !place.was_written_as(&first);
        self.begin_doubt(if was_first { first } else { place.clone() }, digest.clone(), text);
        self.unread = digest.filter(|_| !is_known).map(|digest| (place, digest, there));
    }

    /// Where the text has changed, it may have come from this state of the file.
    fn begin_doubt(&mut self, of: Place, held: Option<String>, text: &str) {
        self.unread = None;
        if self.lines.text() == text {
            return;
        }
        let has_had = held.as_ref() == Some(&documents::digest(text));
        let (before, had) = match self.doubt.take() {
            Some(doubt) if doubt.of == of => (doubt.before, doubt.has_had),
            other => {
                if other.is_some() {
                    self.lines.settle(Owner::Made);
                }
                (documents::digest(self.lines.text()), false)
            }
        };
        self.lines.edit(text, &self.put);
        self.lines.doubt();
        self.doubt = Some(Doubt {
            of,
            held,
            before,
            has_had: had || has_had,
        });
    }

    /// The editor said at this moment that it has put this text into the file. Looks at the disk, and writes to it.
    pub(super) fn saved(&mut self, text: &str, said: SystemTime) {
        if self.ours {
            return;
        }
        let digest = documents::digest(text);
        let now = Place::of(&self.path);
        self.account_for_what_it_had(&now, said);
        let place = match &self.last {
            Some((place, held)) if *place == now && *held == digest => now,
            _ => match Found::at(&self.path, false) {
                Found {
                    place,
                    content: Content::Text { text: held, .. },
                } if documents::digest(&held) == digest => place,
                // The person has typed on, or somebody has changed it since.
                _ => return,
            },
        };
        if let Some(doubt) = self.doubt.take() {
            // It was the editor's own doing: the text was there first. What it read from the disk and saved again is not.
            let is_its_own = doubt.of == place && place.changed_just_before(said, SAID_SO);
            self.lines.settle(if is_its_own { Owner::Person } else { Owner::Made });
        }
        let is_known = place.real == self.known.path && place.links() == self.known.links;
        (self.accounted, self.held, self.unread) = (Some(place), Some(digest.clone()), None);
        if is_known && self.lines.text() == text {
            self.note(digest);
        }
    }

    /// Where the file is as it was when something came, holds a text that the editor had, and the editor says in time that it has saved,
    /// it was its own write, behind which the person has typed on. Whoever puts such a text back after the editor has read another one does
    /// not make it say so, and what it saves itself is another state. That state is there already where it saves once more before it has
    /// said so of the first; then it must have had the text before anything came.
    fn account_for_what_it_had(&mut self, now: &Place, said: SystemTime) {
        let is_its_own = |doubt: &mut Doubt| {
            let time = match (doubt.of == *now, doubt.was_its_own()) {
                (true, true) => LATE,
                (true, false) if doubt.has_had => SAID_SO,
                (false, true) => AT_ONCE,
                _ => return false,
            };
            doubt.of.changed_just_before(said, time)
        };
        let Some(doubt) = self.doubt.take_if(is_its_own) else {
            return;
        };
        self.lines.settle(Owner::Person);
        if doubt.of == *now {
            (self.accounted, self.held, self.unread) = (Some(doubt.of), doubt.held, None);
        }
    }

    /// Notes what the file holds now. What is not theirs does not become so by being saved.
    fn note(&mut self, digest: String) {
        let known = Known {
            text: Some(digest),
            others: self.lines.others(),
            ..self.known.clone()
        };
        if known != self.known {
            self.known = known;
            self.keep();
        }
    }

    fn keep(&self) {
        if let Err(error) = documents::keep(&self.home, &self.known) {
            tracing::warn!(%error, path = %self.path.display(), "a chat document cannot be noted as one of ours");
        }
    }

    /// A conversation is taken up in the document by the person's own will. Writes to the disk.
    pub(super) fn bind(&mut self, thread: &str) {
        if !self.ours && self.known.thread.as_deref() != Some(thread) {
            self.known.thread = Some(thread.to_owned());
            self.keep();
        }
    }

    /// The server puts a value into the header itself.
    pub(super) fn puts(&mut self, key: &str, value: &str) {
        self.put.insert(plain(&format!("{key}: {value}")));
    }

    /// The person has been shown what would be sent, and stands by it and by the header, but for these values of it. The rest of the
    /// document stays whose it was, also where it says the same.
    pub(super) fn adopt(&mut self, chat: &Chat<'_>, but_for: &[(String, String)]) {
        if self.doubt.take().is_some() {
            self.lines.settle(Owner::Made);
        }
        // From here on it is not asked about again because of this state of the file; its lines are known.
        if let Some((place, digest, there)) = self.unread.take() {
            self.lines.expect(&Lines::of(&there, Owner::Other));
            (self.accounted, self.held) = (Some(place), Some(digest));
        }
        if self.lines.text() != chat.text {
            return;
        }
        let followed = FIELDS
            .iter()
            .filter(|key| but_for.iter().all(|(other, _)| other != *key));
        let lines = followed.filter_map(|key| header_line(chat, key));
        for place in chat.composer().into_iter().chain(lines) {
            self.lines.free(&place);
        }
    }

    /// Whether a value of the header counts: it is the person's, or says what is known anyway.
    pub(super) fn follows(&self, chat: &Chat<'_>, key: &str) -> bool {
        let value = chat.field(key);
        let is_known = key == "thread" && value.is_some() && value == self.known.thread.as_deref();
        let is_others = |line| self.lines.has_others(chat.text, &line);
        self.ours || is_known || !header_line(chat, key).is_some_and(is_others)
    }

    /// Values of the header that do not count.
    fn unfollowed(&self, chat: &Chat<'_>) -> Vec<(String, String)> {
        let fields = FIELDS.iter().filter_map(|key| Some((*key, chat.field(key)?)));
        fields
            .filter(|(key, _)| !self.follows(chat, key))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// What the person has to be asked about before something is sent; nothing where all of it is theirs.
    pub(super) fn asked(&self, chat: &Chat<'_>) -> Option<Asked> {
        if self.ours {
            return None;
        }
        let composer = chat.composer();
        let not_theirs = composer.is_some_and(|words| self.lines.has_others(chat.text, &words));
        let fields = self.unfollowed(chat);
        (not_theirs || !fields.is_empty()).then(|| Asked {
            words: chat.words().to_owned(),
            not_theirs,
            fields,
        })
    }
}
