//! What waits, as a `.diff` document: of one hunk, one file or a whole proposal, against today's text, with the way to decide
//! at its top. Shown beside the person's work where the editor shows documents, else in its log.

use super::change::{self, Change};
use super::{Presenter, Severity, words};
use crate::ids::{HunkId, ProposalId, TurnId};
use crate::patch::diff::unified_diff;
use crate::patch::hunk::{apply_hunks, placed_edits};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Hunk, HunkStatus, Proposal, ProposalFile};
use crate::workspace::uri;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an editor may take to show a document.
const SHOW_LIMIT: Duration = Duration::from_secs(10);
/// Diffs kept in the home folder; older ones are deleted when a new one is written.
const KEPT_DIFFS: usize = 40;
/// Characters of a diff in the editor's log.
const LOGGED: usize = 60_000;

/// What of a proposal is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    File(PathBuf),
    Hunk(HunkId),
}

/// The client's answer to `window/showDocument` (LSP 3.17, ShowDocumentResult).
#[derive(Deserialize)]
struct Shown {
    success: bool,
}

impl Presenter {
    /// Shows what a part of a proposal would change. `take_focus` only where the person asked for it by a command.
    pub async fn show_diff(&self, id: &ProposalId, part: Part, take_focus: bool) {
        let presenter = self.clone();
        let id = id.clone();
        let written = tokio::task::spawn_blocking(move || presenter.write_diff(&id, &part)).await;
        let (path, text, title) = match written {
            Ok(Ok(written)) => written,
            Ok(Err(trouble)) => return self.message(Severity::Warning, &trouble),
            Err(error) => return tracing::error!(%error, "writing a diff broke off"),
        };
        if !self.show_document(&uri::from_path(&path), None, take_focus).await {
            self.log(Severity::Info, &words::cut(&text, LOGGED));
            let path = path.display();
            self.message(
                Severity::Info,
                &format!("The diff of {title} is in this editor's log of Countersign, and in the file {path}"),
            );
        }
    }

    /// Shows what a turn has changed. The person asked for it by a command.
    pub async fn show_turn_diff(&self, turn: &TurnId, diff: &str) {
        let (folder, stem, text) = (
            self.shared.agent.desk().home.join("diffs"),
            turn.to_string(),
            diff.to_owned(),
        );
        let written = tokio::task::spawn_blocking(move || write(&folder, &stem, &text)).await;
        let path = match written {
            Ok(Ok(path)) => path,
            Ok(Err(error)) => {
                let trouble = format!("The diff of the turn could not be written: {error}.");
                return self.message(Severity::Warning, &trouble);
            }
            Err(error) => return tracing::error!(%error, "writing a diff broke off"),
        };
        if !self.show_document(&uri::from_path(&path), None, true).await {
            self.log(Severity::Info, &words::cut(diff, LOGGED));
            let message = format!(
                "What the turn changed is in this editor's log of Countersign, and in the file {}",
                path.display()
            );
            self.message(Severity::Info, &message);
        }
    }

    /// Shows a document, at a line if one is given; false if the editor cannot, or does not within reason.
    pub async fn show_document(&self, uri: &str, line: Option<u32>, take_focus: bool) -> bool {
        if !self.shared.client.can.show_document {
            return false;
        }
        let mut params = json!({"uri": uri, "takeFocus": take_focus});
        if let Some(line) = line {
            let start = json!({"line": line, "character": 0});
            params["selection"] = json!({"start": start, "end": start});
        }
        let pending = self.shared.outbound.request::<Value>("window/showDocument", params);
        match tokio::time::timeout(SHOW_LIMIT, pending).await {
            // What is no refusal is taken for a yes: some answer in shapes of their own.
            Ok(Ok(answer)) => serde_json::from_value::<Shown>(answer).is_ok_and(|shown| shown.success),
            Ok(Err(_)) => false,
            // It may be on its way still; a message as well would be one too many.
            Err(_) => true,
        }
    }

    /// Writes the diff to a file of ours; gives its path, its text, and what it is of.
    fn write_diff(&self, id: &ProposalId, part: &Part) -> Result<(PathBuf, String, String), String> {
        let desk = self.shared.agent.desk();
        let proposal = desk.proposals.read(id).map_err(|error| error.to_string())?;
        let cwd = self.folder_of(&proposal);
        let now = |file: &ProposalFile| match &file.current {
            Some(text) => Some(text.clone()),
            None => desk.workspace.read(&file.path).ok().map(|read| read.text),
        };
        let (text, title) = diff(&proposal, part, &cwd, now).ok_or_else(|| {
            format!("Proposal {id} has no such part; nothing is shown. List the proposals to see what waits.")
        })?;
        let folder = desk.home.join("diffs");
        let path = write(&folder, &stem(&proposal, part), &text)
            .map_err(|error| format!("The diff could not be written to {}: {error}.", folder.display()))?;
        Ok((path, text, title))
    }

    /// The folder that a proposal's thread works in.
    pub(super) fn folder_of(&self, proposal: &Proposal) -> PathBuf {
        let agent = &self.shared.agent;
        let thread = agent.thread(&proposal.thread_id).map(|thread| thread.settings().cwd);
        let root =
            || Some(proposal.files.first()?.path.as_path()).and_then(|path| agent.desk().workspace.root_of(path));
        thread.or_else(root).unwrap_or_default()
    }
}

/// The name of a diff's file, without its ending.
fn stem(proposal: &Proposal, part: &Part) -> String {
    let at = |is_it: &dyn Fn(&ProposalFile) -> bool| proposal.files.iter().position(is_it).unwrap_or_default() + 1;
    match part {
        Part::Whole => proposal.id.to_string(),
        Part::File(path) => format!("{}-file-{}", proposal.id, at(&|file| file.path == *path)),
        Part::Hunk(id) => {
            let number = |file: &ProposalFile| file.hunks.iter().position(|hunk| hunk.id == *id);
            let hunk = proposal.files.iter().find_map(number).unwrap_or_default() + 1;
            let file = at(&|file| number(file).is_some());
            format!("{}-file-{file}-change-{hunk}", proposal.id)
        }
    }
}

/// Writes the text under a name of its own: a document that an editor shows already may not be read again.
fn write(folder: &Path, stem: &str, text: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let mut old: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    // Their names rise with time.
    old.sort();
    for file in old.iter().take((old.len() + 1).saturating_sub(KEPT_DIFFS)) {
        // It may be gone already, and one too many does no harm.
        let _gone = std::fs::remove_file(file);
    }
    let names = std::iter::once(format!("{stem}.diff")).chain((2..).map(|count| format!("{stem}-v{count}.diff")));
    for name in names {
        let path = folder.join(name);
        match std::fs::read(&path) {
            Ok(there) if there == text.as_bytes() => return Ok(path),
            Ok(_) => {}
            Err(_) => return std::fs::write(&path, text).map(|()| path),
        }
    }
    unreachable!("there is no end to numbers")
}

/// The diff of a part, and what it is of; nothing where there is no such part.
fn diff(
    proposal: &Proposal,
    part: &Part,
    cwd: &Path,
    now: impl Fn(&ProposalFile) -> Option<String>,
) -> Option<(String, String)> {
    let is_meant = |file: &&ProposalFile| match part {
        Part::Whole => true,
        Part::File(path) => file.path == *path,
        Part::Hunk(id) => file.hunks.iter().any(|hunk| hunk.id == *id),
    };
    let files: Vec<_> = proposal.files.iter().filter(is_meant).collect();
    if files.is_empty() {
        return None;
    }
    let title = title(proposal, part, &files, cwd);
    if !proposal.status.is_waiting() {
        let head = format!("# Countersign: {title}. It is decided already; this is what was proposed.\n#\n");
        return Some((head + &proposal.diff, title));
    }
    let wanted = |hunk: &Hunk| match part {
        Part::Hunk(id) => hunk.id == *id,
        _ => hunk.status != HunkStatus::Rejected,
    };
    let mut left_out = String::new();
    let mut body = String::new();
    for file in files {
        let now = now(file);
        let fits = |hunk: &Hunk| fits(file, hunk, now.as_deref());
        let taken: Vec<_> = file.hunks.iter().filter(|hunk| wanted(hunk) && fits(hunk)).collect();
        body.push_str(&of_file(file, &taken, now.as_deref(), cwd));
        for change in change::waiting_in(proposal, file).filter(|change| wanted(change.hunk) && !fits(change.hunk)) {
            left_out.push_str(&unfitting(&change, cwd));
        }
    }
    Some((head(&title) + &left_out + "#\n" + &body, title))
}

fn title(proposal: &Proposal, part: &Part, files: &[&ProposalFile], cwd: &Path) -> String {
    let file = files[0];
    let name = words::relative(&file.path, cwd);
    match part {
        Part::Whole => format!("the agent's changes ({})", words::proposal(proposal, cwd)),
        Part::File(_) => match change::waiting_in(proposal, file).count() {
            1 => format!("the agent's change of {name}"),
            count => format!("the agent's {count} changes of {name}"),
        },
        Part::Hunk(id) => {
            let mut changes = (1..).zip(&file.hunks).map(|(number, hunk)| Change {
                proposal,
                file,
                hunk,
                number,
            });
            match changes.find(|change| change.hunk.id == *id) {
                Some(change) if matches!(file.kind, FileChangeKind::Update { .. }) => {
                    format!("the agent's {}, {name}, {}", change.noun_with_size(), change.lines())
                }
                Some(change) => format!("the agent's {}", change.noun_with_size()),
                None => format!("the agent's change of {name}"),
            }
        }
    }
}

fn head(title: &str) -> String {
    format!(
        "# Countersign: {title}\n\
         # Nothing of this is in the files yet. To decide, go to a changed line and open the code actions (or use the lenses above it):\n\
         # accept or reject that change, the file's changes, or all. The commands countersign.acceptAll and countersign.rejectAll\n\
         # decide on all of it from anywhere. This page is only to be read: editing it changes nothing.\n"
    )
}

/// Whether a hunk replaces what is there: today's lines are those that it was made for.
fn fits(file: &ProposalFile, hunk: &Hunk, now: Option<&str>) -> bool {
    match (&file.kind, now) {
        _ if hunk.status == HunkStatus::Conflicting => false,
        (FileChangeKind::Add, _) => true,
        (_, None) => false,
        // Its one hunk is the whole file, and in conflict if that has changed.
        (FileChangeKind::Delete, Some(_)) => true,
        (FileChangeKind::Update { .. }, Some(now)) => {
            let placed = placed_edits(now, &[(range(hunk), String::new())]);
            placed.iter().all(|(there, _)| now[there.clone()] == hunk.old_text)
        }
    }
}

fn range(hunk: &Hunk) -> Range<usize> {
    hunk.range.start as usize..hunk.range.end.max(hunk.range.start) as usize
}

fn of_file(file: &ProposalFile, taken: &[&Hunk], now: Option<&str>, cwd: &Path) -> String {
    if taken.is_empty() {
        return String::new();
    }
    match &file.kind {
        FileChangeKind::Add => {
            let text: String = taken.iter().map(|hunk| hunk.new_text.as_str()).collect();
            unified_diff(&file.path, cwd, now, Some(&text), None)
        }
        FileChangeKind::Delete => unified_diff(&file.path, cwd, now, None, None),
        FileChangeKind::Update { move_path } => {
            let now = now.unwrap_or_default();
            let placed: Vec<_> = taken.iter().map(|hunk| (range(hunk), hunk.new_text.clone())).collect();
            let after = apply_hunks(now, &placed);
            unified_diff(&file.path, cwd, Some(now), Some(&after), move_path.as_deref())
        }
    }
}

/// A hunk that has no place, as comment lines: what it would have put where.
fn unfitting(change: &Change<'_>, cwd: &Path) -> String {
    let name = words::relative(&change.file.path, cwd);
    let why = change.trouble().unwrap_or("its text has changed");
    let mut told = format!(
        "#\n# Not below: {} of {name}, {}, does not fit any more: {why}. It was to replace\n",
        change.noun(),
        change.lines()
    );
    for (sign, text) in [('-', &change.hunk.old_text), ('+', &change.hunk.new_text)] {
        for line in text.lines() {
            // Writing to a text cannot fail.
            let _ = writeln!(told, "#   {sign}{line}");
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::super::change::tests::{file, hunk, proposal};
    use super::*;

    const UPDATE: FileChangeKind = FileChangeKind::Update { move_path: None };
    const NOW: &str = "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

    fn of(proposal: &Proposal, part: &Part) -> String {
        let now = |file: &ProposalFile| (file.kind != FileChangeKind::Add).then(|| NOW.to_owned());
        diff(proposal, part, Path::new("/w"), now).expect("such a part").0
    }

    fn body(text: &str) -> String {
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| format!("{line}\n"))
            .collect()
    }

    fn two() -> Proposal {
        proposal(vec![
            file(
                "/w/a.txt",
                UPDATE,
                vec![hunk((2, 3), "two\n", "TWO\n"), hunk((9, 10), "nine\n", "NINE\nten\n")],
            ),
            file("/w/new.txt", FileChangeKind::Add, vec![hunk((0, 0), "", "made\n")]),
        ])
    }

    #[test]
    fn each_part_is_shown_against_todays_text() {
        let two = two();
        let whole = of(&two, &Part::Whole);
        assert!(
            whole.contains("2 files, +4 −2: a.txt (+3 −2), new new.txt (+1)"),
            "{whole}"
        );
        let of_a = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n\
                    @@ -1,10 +1,11 @@\n zero\n one\n-two\n+TWO\n three\n four\n five\n six\n seven\n eight\n-nine\n+NINE\n+ten\n";
        let of_new = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+made\n";
        assert_eq!(body(&whole), format!("{of_a}{of_new}"));
        assert_eq!(body(&of(&two, &Part::File("/w/a.txt".into()))), of_a);
        let second = of(&two, &Part::Hunk(two.files[0].hunks[1].id.clone()));
        assert!(second.contains("change 2 of 2 (−1 +2), a.txt, line 10"), "{second}");
        assert!(
            body(&second).contains("-nine\n+NINE\n") && !second.contains("TWO"),
            "{second}"
        );
        let new = of(&two, &Part::Hunk(two.files[1].hunks[0].id.clone()));
        assert_eq!(body(&new), of_new);
        for part in [Part::File("/w/b.txt".into()), Part::Hunk("no such".into())] {
            assert_eq!(diff(&two, &part, Path::new("/w"), |_| None), None, "{part:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_and_never_placed() {
        let mut two = two();
        two.files[0].hunks[0].status = HunkStatus::Conflicting;
        // Placed for a text that is gone again.
        two.files[0].hunks[1].range.start = 900;
        two.files[0].hunks[1].range.end = 901;
        let whole = of(&two, &Part::Whole);
        assert!(!body(&whole).contains("a.txt"), "{whole}");
        assert!(whole.contains("#   -two\n#   +TWO\n"), "{whole}");
        assert!(whole.contains("#   -nine\n#   +NINE\n#   +ten\n"), "{whole}");
        // What was rejected is not shown, except by itself.
        let mut one = proposal(vec![file("/w/a.txt", UPDATE, vec![hunk((2, 3), "two\n", "TWO\n")])]);
        one.files[0].hunks[0].status = HunkStatus::Rejected;
        assert_eq!(body(&of(&one, &Part::Whole)), "");
        assert!(of(&one, &Part::Hunk(one.files[0].hunks[0].id.clone())).contains("+TWO"));
    }

    #[test]
    fn a_diff_that_changed_gets_a_name_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("diffs");
        let first = write(&folder, "p", "one").expect("written");
        assert_eq!(write(&folder, "p", "one").expect("written"), first);
        let second = write(&folder, "p", "two").expect("written");
        assert_ne!(first, second);
        assert_eq!(std::fs::read_to_string(&first).expect("kept"), "one");
        for number in 0..100 {
            write(&folder, &format!("q{number:03}"), "x").expect("written");
        }
        assert_eq!(std::fs::read_dir(&folder).expect("there").count(), KEPT_DIFFS);
    }
}
