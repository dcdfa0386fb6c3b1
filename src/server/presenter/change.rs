//! One change of the agent's in words: which it is, where it lies today, how large it is and what it does. All that shows
//! a hunk (code actions, lenses, hints, previews, diffs) says it in the same words.

use super::words::{cut, name};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Hunk, HunkStatus, Proposal, ProposalFile};
use std::path::Path;

/// Characters of a line that are quoted.
const QUOTED: usize = 40;

/// A hunk where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub proposal: &'a Proposal,
    pub file: &'a ProposalFile,
    pub hunk: &'a Hunk,
    /// Counted from 1 over all hunks of the file, decided ones too, so that it never changes.
    pub number: usize,
}

/// The hunks of a file that wait for the person, in order.
pub fn waiting_in<'a>(proposal: &'a Proposal, file: &'a ProposalFile) -> impl Iterator<Item = Change<'a>> {
    (1..)
        .zip(&file.hunks)
        .map(move |(number, hunk)| Change {
            proposal,
            file,
            hunk,
            number,
        })
        .filter(|change| change.waits())
}

/// The hunks of a proposal that wait for the person.
pub fn waiting(proposal: &Proposal) -> impl Iterator<Item = Change<'_>> {
    proposal.files.iter().flat_map(|file| waiting_in(proposal, file))
}

impl Change<'_> {
    pub fn waits(&self) -> bool {
        matches!(self.hunk.status, HunkStatus::Pending | HunkStatus::Conflicting)
    }

    /// Why it cannot be taken as it is; nothing where it can.
    pub fn trouble(&self) -> Option<&str> {
        let why = self.hunk.conflict.as_deref().unwrap_or("its text has changed");
        (self.hunk.status == HunkStatus::Conflicting).then(|| why.trim_end_matches('.'))
    }

    /// Which it is, as a noun: `change 2 of 3`.
    pub fn noun(&self) -> String {
        match &self.file.kind {
            FileChangeKind::Add => format!("new file {}", name(&self.file.path)),
            FileChangeKind::Delete => format!("deletion of {}", name(&self.file.path)),
            FileChangeKind::Update { move_path: Some(to) } if self.changes_nothing() => {
                format!("move of {} to {}", name(&self.file.path), name(to))
            }
            FileChangeKind::Update { .. } if self.changes_nothing() && self.file.mode.is_some() => {
                format!("new mode of {}", name(&self.file.path))
            }
            FileChangeKind::Update { .. } => format!("change {} of {}", self.number, self.file.hunks.len()),
        }
    }

    /// The same with its size: `change 2 of 3 (−1 +1)`.
    pub fn noun_with_size(&self) -> String {
        match self.size() {
            size if size.is_empty() => self.noun(),
            size => format!("{} ({size})", self.noun()),
        }
    }

    /// Lines that go and come: `−2 +3`. Empty where no line changes.
    pub fn size(&self) -> String {
        let (minus, plus) = match self.changes_nothing() {
            true => (0, 0),
            false => (self.hunk.old_text.lines().count(), self.hunk.new_text.lines().count()),
        };
        match (minus, plus) {
            (0, 0) => String::new(),
            (minus, 0) => format!("−{minus}"),
            (0, plus) => format!("+{plus}"),
            (minus, plus) => format!("−{minus} +{plus}"),
        }
    }

    /// Where it lies in today's text, as editors count: `line 14`, `lines 14–18`, `after line 13`.
    pub fn lines(&self) -> String {
        let (start, end) = (self.hunk.range.start, self.hunk.range.end);
        match end.saturating_sub(start) {
            0 if start == 0 => "at the top".to_owned(),
            0 => format!("after line {start}"),
            1 => format!("line {end}"),
            _ => format!("lines {}–{end}", start.saturating_add(1)),
        }
    }

    /// What it does, by the first line that tells: `` `x = 1` → `x = 2` ``.
    pub fn gist(&self) -> String {
        let (old, new) = (self.hunk.old_text.as_str(), self.hunk.new_text.as_str());
        if self.changes_nothing() {
            return self.noun();
        }
        // Lines that both begin with say nothing of the difference.
        let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
        let telling = |text: &str| {
            let line = text.lines().skip(same).map(str::trim).find(|line| !line.is_empty())?;
            Some(format!("`{}`", cut(&crate::shown::exact(line), QUOTED)))
        };
        match (telling(old), telling(new)) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            // The same but for its blanks, or beyond what is quoted.
            (Some(_), Some(new)) => format!("changes {new}"),
            (Some(old), None) => format!("removes {old}"),
            (None, Some(new)) => format!("adds {new}"),
            (None, None) => "changes blank lines".to_owned(),
        }
    }

    /// All of it in one line, for what stands at its place: `change 2 of 3, −1 +1: `x = 1` → `x = 2``.
    pub fn summary(&self) -> String {
        let size = match self.size() {
            size if size.is_empty() => size,
            size => format!(", {size}"),
        };
        match self.trouble() {
            Some(why) => format!("{}{size}, does not fit any more: {why}", self.noun()),
            None if self.changes_nothing() => self.noun(),
            None => format!("{}{size}: {}", self.noun(), self.gist()),
        }
    }

    /// Whether no line changes: a file that is moved as it is, an empty one that is made.
    pub fn changes_nothing(&self) -> bool {
        self.hunk.old_text == self.hunk.new_text
    }
}

/// Whether a file of a proposal is the document that the editor names so: it may spell its URI in its own way.
pub fn is_document(file: &ProposalFile, path: &Path, uri: &str) -> bool {
    file.path == path || file.uri == uri
}

/// `1 file`, `3 files`.
pub fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ids::HunkId;
    use crate::protocol::item::LineRange;
    use crate::protocol::proposal::ProposalStatus;
    use std::path::PathBuf;

    pub(in super::super) fn hunk(range: (u32, u32), old: &str, new: &str) -> Hunk {
        Hunk {
            id: HunkId::fresh(),
            status: HunkStatus::Pending,
            range: LineRange {
                start: range.0,
                end: range.1,
            },
            old_text: old.to_owned(),
            new_text: new.to_owned(),
            proposed_text: None,
            conflict: None,
            feedback: None,
        }
    }

    pub(in super::super) fn file(path: &str, kind: FileChangeKind, hunks: Vec<Hunk>) -> ProposalFile {
        ProposalFile {
            path: PathBuf::from(path),
            uri: format!("file://{path}"),
            kind,
            open: false,
            unsaved: false,
            base_version: None,
            version: None,
            mode: None,
            not_text: None,
            notes: Vec::new(),
            before: None,
            after: None,
            current: None,
            result: None,
            hunks,
        }
    }

    pub(in super::super) fn proposal(files: Vec<ProposalFile>) -> Proposal {
        Proposal {
            id: "p".into(),
            thread_id: "t".into(),
            turn_id: "u".into(),
            item_id: "i".into(),
            status: ProposalStatus::Proposed,
            files,
            diff: String::new(),
            reason: None,
            grant_root: None,
            auto_approved: false,
            stacked_on: Vec::new(),
            superseded_by: None,
            outcome: None,
            created_at_ms: 0,
        }
    }

    const UPDATE: FileChangeKind = FileChangeKind::Update { move_path: None };

    #[test]
    fn a_change_is_told_in_one_line() {
        for (range, old, new, lines, summary) in [
            (
                (13, 14),
                "x = 1\n",
                "x = 2\n",
                "line 14",
                "change 1 of 1, −1 +1: `x = 1` → `x = 2`",
            ),
            (
                (13, 18),
                "a\nb\nc\nd\ne\n",
                "  same\n",
                "lines 14–18",
                "change 1 of 1, −5 +1: `a` → `same`",
            ),
            (
                (13, 13),
                "",
                "\n\tnew\n",
                "after line 13",
                "change 1 of 1, +2: adds `new`",
            ),
            ((0, 0), "", "new", "at the top", "change 1 of 1, +1: adds `new`"),
            ((0, 1), "old\n", "", "line 1", "change 1 of 1, −1: removes `old`"),
            (
                (2, 3),
                "\n",
                "\n\n",
                "line 3",
                "change 1 of 1, −1 +2: changes blank lines",
            ),
            ((2, 3), "a\n", "  a\n", "line 3", "change 1 of 1, −1 +1: changes `a`"),
            (
                (2, 4),
                "a\nb\n",
                "a\nc\n",
                "lines 3–4",
                "change 1 of 1, −2 +2: `b` → `c`",
            ),
            (
                (2, 3),
                "a\u{1b}[0m\n",
                "b\n",
                "line 3",
                "change 1 of 1, −1 +1: `a<U+001B>[0m` → `b`",
            ),
            (
                (u32::MAX, u32::MAX),
                "",
                "x\n",
                "after line 4294967295",
                "change 1 of 1, +1: adds `x`",
            ),
        ] {
            let proposal = proposal(vec![file("/w/a.py", UPDATE, vec![hunk(range, old, new)])]);
            let change = waiting(&proposal).next().expect("it waits");
            assert_eq!((change.lines().as_str(), change.summary().as_str()), (lines, summary));
        }
        let long = "x".repeat(200);
        let proposal = proposal(vec![file("/w/a.py", UPDATE, vec![hunk((0, 1), &long, "y\n")])]);
        assert!(waiting(&proposal).next().expect("it waits").summary().chars().count() < 120);
    }

    #[test]
    fn files_that_come_go_and_move_are_told_as_such() {
        let moved = FileChangeKind::Update {
            move_path: Some("/w/sub/b.py".into()),
        };
        for (kind, old, new, noun) in [
            (FileChangeKind::Add, "", "x\n", "new file a.py (+1)"),
            (FileChangeKind::Add, "", "", "new file a.py"),
            (FileChangeKind::Delete, "x\ny\n", "", "deletion of a.py (−2)"),
            (moved.clone(), "x\n", "x\n", "move of a.py to b.py"),
            (moved, "x\n", "y\n", "change 1 of 1 (−1 +1)"),
        ] {
            let proposal = proposal(vec![file("/w/a.py", kind, vec![hunk((0, 1), old, new)])]);
            assert_eq!(waiting(&proposal).next().expect("it waits").noun_with_size(), noun);
        }
        let mut run = file("/w/a.py", UPDATE, vec![hunk((0, 0), "", "")]);
        run.mode = Some(0o755);
        let proposal = proposal(vec![run]);
        assert_eq!(
            waiting(&proposal).next().expect("it waits").summary(),
            "new mode of a.py"
        );
    }

    #[test]
    fn numbers_stay_when_others_are_decided_and_conflicts_say_why() {
        let mut hunks = vec![
            hunk((0, 1), "a\n", "b\n"),
            hunk((4, 5), "c\n", "d\n"),
            hunk((8, 9), "e\n", "f\n"),
        ];
        hunks[0].status = HunkStatus::Accepted;
        hunks[1].status = HunkStatus::Conflicting;
        hunks[2].status = HunkStatus::Conflicting;
        hunks[2].conflict = Some("the lines have changed.".to_owned());
        let proposal = proposal(vec![file("/w/a.py", UPDATE, hunks)]);
        let told: Vec<_> = waiting(&proposal).map(|change| change.summary()).collect();
        assert_eq!(
            told,
            [
                "change 2 of 3, −1 +1, does not fit any more: its text has changed",
                "change 3 of 3, −1 +1, does not fit any more: the lines have changed",
            ]
        );
        assert_eq!(name(Path::new("/w/a\nb\t.py")), "a<U+000A>b<U+0009>.py");
    }
}
