//! Which changes the person was shown in full. One that was not is shown before it is accepted, wherever that is asked for.

use super::change::Change;
use super::diff::{PagePlace, Part, Written};
use super::{Presenter, Severity, change, review, whole};
use crate::agent::proposals::ProposalError;
use crate::ids::HunkId;
use crate::protocol::proposal::{Proposal, ProposalDecideParams};
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

const ACCEPT: &str = "Accept";
const LATER: &str = "Decide later";

/// Texts that are remembered until an editor has them open; the oldest are forgotten first.
const MOST_UNOPENED: usize = 40;

/// A text that shows its hunks once it stands in an open document.
pub(super) struct Unopened {
    place: Place,
    text: String,
    hunks: Vec<HunkId>,
}

/// Where a text is to stand.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// It is all of a page of ours.
    Page(PathBuf),
    /// It is a part of a chat document, by its URI.
    Chat(String),
}

impl Place {
    /// What an editor has open there, with plain line ends.
    fn text(&self, workspace: &Workspace) -> Option<String> {
        let open = match self {
            Self::Page(path) => workspace.document(path),
            Self::Chat(uri) => workspace.document_by_uri(uri),
        };
        open.map(|open| open.text().replace("\r\n", "\n"))
    }

    fn shows(&self, open: &str, text: &str) -> bool {
        match self {
            Self::Page(_) => open == text,
            Self::Chat(_) => open.contains(text),
        }
    }
}

/// Which changes the person was shown, as of a moment.
pub struct ShownChanges {
    /// Our plugins show each where it lies, unless they leave that to the editor's preview.
    all: bool,
    hunks: BTreeSet<HunkId>,
}

impl ShownChanges {
    pub fn has(&self, change: &Change<'_>) -> bool {
        self.all || self.hunks.contains(&change.hunk.id)
    }
}

impl Presenter {
    /// These hunks stand before the person, all of them. Those that did not before.
    pub fn has_shown(&self, hunks: impl IntoIterator<Item = HunkId>) -> Vec<HunkId> {
        let mut state = self.state();
        hunks
            .into_iter()
            .filter(|hunk| state.seen.insert(hunk.clone()))
            .collect()
    }

    /// These hunks stand before the person once the editor has this page open, with this text.
    pub(super) fn shows_when_open(&self, path: PathBuf, text: &str, hunks: Vec<HunkId>) {
        let place = Place::Page(path);
        self.state().unopened.retain(|page| page.place != place);
        self.expect(place, text, hunks);
    }

    /// These hunks stand before the person once this part of a chat document is in it.
    pub fn shows_in_chat(&self, uri: &str, text: &str, hunks: Vec<HunkId>) {
        self.expect(Place::Chat(uri.to_owned()), text, hunks);
    }

    fn expect(&self, place: Place, text: &str, hunks: Vec<HunkId>) {
        let text = text.replace("\r\n", "\n");
        let unopened = &mut self.state().unopened;
        if unopened.len() >= MOST_UNOPENED {
            unopened.remove(0);
        }
        unopened.push(Arc::new(Unopened { place, text, hunks }));
    }

    /// Takes note of what the editor has open by now. Each document is read once, and nothing is held meanwhile.
    pub(super) fn look_at_open_pages(&self) {
        let unopened = self.state().unopened.clone();
        let workspace = &self.shared.agent.services().workspace;
        let mut open: BTreeMap<&Place, Option<String>> = BTreeMap::new();
        let mut shown = Vec::new();
        for page in &unopened {
            let text = open.entry(&page.place).or_insert_with(|| page.place.text(workspace));
            if text.as_ref().is_some_and(|open| page.place.shows(open, &page.text)) {
                shown.push(page);
            }
        }
        if shown.is_empty() {
            return;
        }
        let mut state = self.state();
        state
            .unopened
            .retain(|page| !shown.iter().any(|shown| Arc::ptr_eq(shown, page)));
        state
            .seen
            .extend(shown.iter().flat_map(|page| page.hunks.iter().cloned()));
    }

    /// It turned out that they were not shown.
    pub fn has_not_shown(&self, hunks: &[HunkId]) {
        self.state().seen.retain(|seen| !hunks.contains(seen));
    }

    /// A proposal is decided: what of it was shown needs no remembering.
    pub(super) fn forget_shown(&self, proposal: &Proposal) {
        let hunks: BTreeSet<_> = proposal
            .files
            .iter()
            .flat_map(|file| &file.hunks)
            .map(|hunk| &hunk.id)
            .collect();
        let mut state = self.state();
        state.seen.retain(|seen| !hunks.contains(seen));
        state
            .unopened
            .retain(|page| !page.hunks.iter().all(|hunk| hunks.contains(hunk)));
    }

    /// Whether all of these hunks have been shown by now.
    pub(super) fn have_been_shown(&self, hunks: &[HunkId]) -> bool {
        self.look_at_open_pages();
        let state = self.state();
        hunks.iter().all(|hunk| state.seen.contains(hunk))
    }

    /// Which changes this client has shown by now.
    pub fn shown_changes(&self) -> ShownChanges {
        if self.shared.client.can.reviews_proposals {
            return ShownChanges {
                all: true,
                hunks: BTreeSet::new(),
            };
        }
        self.look_at_open_pages();
        ShownChanges {
            all: false,
            hunks: self.state().seen.clone(),
        }
    }

    /// Takes the person's word on some hunks; what this client has not shown is not accepted by it. Reads the files.
    ///
    /// # Errors
    /// [`ProposalError::NotShown`], and as of [`crate::agent::proposals::Proposals::decide`].
    pub fn decide(&self, decision: &ProposalDecideParams) -> Result<Proposal, ProposalError> {
        let proposals = &self.shared.agent.services().proposals;
        if self.shared.client.can.reviews_proposals {
            return proposals.decide(decision);
        }
        self.look_at_open_pages();
        let seen = self.state().seen.clone();
        proposals.decide_shown(decision, |hunk| seen.contains(hunk))
    }

    /// Shows what is to be accepted: in a question, where it has room, else as a diff to be accepted after that. Whether
    /// the person accepts it.
    pub async fn accepts_when_shown(&self, decision: &ProposalDecideParams) -> bool {
        let part = match (&decision.hunk_ids, &decision.path) {
            (Some(ids), _) if ids.len() == 1 => Part::Hunk(ids[0].clone()),
            (None, Some(path)) => Part::File(path.clone()),
            _ => Part::Whole,
        };
        let Some(Written { hunks, text, title, .. }) = self.written(&decision.proposal_id, &part).await else {
            return false;
        };
        let lines = self.shared.client.can.question_lines();
        let question = format!("Accept {}?\n{}", crate::shown::line(&title), review::as_shown(&text));
        if !whole::fits(&question, lines) {
            // Where the log has it, or there is a file to open, that has been said.
            let page = self.show_diff(&decision.proposal_id, part, true).await;
            let then = match page.map(|page| page.place) {
                Some(PagePlace::Editor) => {
                    "its diff is open now. Accept it there or in the file once you have read it."
                }
                Some(PagePlace::Log) => "its diff is in the log now. Accept it again once you have read it.",
                Some(PagePlace::Disk) => "open its diff, and accept it while that is open.",
                None => return false,
            };
            let message = format!("The change had not been shown yet, so it is not accepted: {then}");
            self.message(Severity::Info, &message);
            return false;
        }
        let chosen = self.choose(Severity::Info, &question, [LATER, ACCEPT]).await;
        let accepts = chosen.as_deref() == Some(ACCEPT);
        if accepts {
            self.has_shown(hunks);
        }
        accepts
    }
}

/// The hunks of a proposal that can be accepted as the files are.
pub fn that_fit(proposal: &Proposal) -> Vec<HunkId> {
    let fitting = change::waiting(proposal).filter(|change| change.trouble().is_none());
    fitting.map(|change| change.hunk.id.clone()).collect()
}
