//! What waits, as a `.diff` document: of one hunk, one file or a whole proposal, against today's text, with the way to decide
//! at its top. Shown beside the person's work where the editor shows documents, else in its log.

use super::change::{self, Change};
use super::{Presenter, Severity, words};
use crate::ids::{HunkId, ProposalId, TurnId};
use crate::patch::diff::Shown;
use crate::patch::hunk::{apply_hunks, placed_edits};
use crate::private;
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Hunk, HunkStatus, Proposal, ProposalFile};
use crate::shown;
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
/// How long an editor that was asked to show a page may take to say that it is open; some never do.
const OPENS: Duration = Duration::from_secs(1);
/// How often it is looked whether it is.
const LOOK: Duration = Duration::from_millis(200);
/// Characters of a diff in the editor's log.
const LOGGED: usize = 60_000;

/// What of a proposal is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    File(PathBuf),
    Hunk(HunkId),
}

/// A diff in a file of ours.
pub(super) struct Written {
    /// What it shows of what can be accepted.
    pub(super) hunks: Vec<HunkId>,
    path: PathBuf,
    pub(super) text: String,
    /// What it is of.
    pub(super) title: String,
}

/// A diff that was to be shown.
pub struct Page {
    pub(super) path: PathBuf,
    pub(super) place: PagePlace,
    /// What it shows of what can be accepted.
    pub(super) hunks: Vec<HunkId>,
}

/// Where a diff is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PagePlace {
    /// The editor says that it shows it.
    Editor,
    /// The editor's log has all of it.
    Log,
    /// Nobody has said that it is shown; it is once the editor has it open.
    Disk,
}

/// What became of asking the editor to show a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Showing {
    Shown,
    /// It has not said so in time; it may be on its way still.
    Silent,
    Refused,
}

/// The client's answer to `window/showDocument` (LSP 3.17, ShowDocumentResult).
#[derive(Deserialize)]
struct ShowResult {
    success: bool,
}

impl Presenter {
    /// Shows what a part of a proposal would change, in the editor or else in its log; what has no room there is named. `take_focus`
    /// only where the person asked for it by a command. Nothing where there is no such diff.
    pub async fn show_diff(&self, id: &ProposalId, part: Part, take_focus: bool) -> Option<Page> {
        let Written {
            hunks,
            path,
            text,
            title,
        } = self.written(id, &part).await?;
        let place = match self.ask_to_show(&uri::from_path(&path), None, take_focus).await {
            Showing::Shown => PagePlace::Editor,
            Showing::Silent => PagePlace::Disk,
            Showing::Refused if text.chars().count() <= LOGGED => {
                self.log(Severity::Info, &text);
                let message = format!(
                    "The diff of {title} is in this editor's log of Countersign, and in the file {}",
                    path.display()
                );
                self.message(Severity::Info, &message);
                PagePlace::Log
            }
            Showing::Refused => {
                let message = format!(
                    "The diff of {title} is too long for this editor's log. It is in the file {}: the change can be accepted while \
                     that is open.",
                    path.display()
                );
                self.message(Severity::Info, &message);
                PagePlace::Disk
            }
        };
        match place {
            PagePlace::Editor | PagePlace::Log => drop(self.has_shown(hunks.iter().cloned())),
            PagePlace::Disk => self.shows_when_open(path.clone(), &text, hunks.clone()),
        }
        Some(Page { path, place, hunks })
    }

    /// Writes a diff, and says so where that fails.
    pub(super) async fn written(&self, id: &ProposalId, part: &Part) -> Option<Written> {
        let (presenter, id, part) = (self.clone(), id.clone(), part.clone());
        match tokio::task::spawn_blocking(move || presenter.write_diff(&id, &part)).await {
            Ok(Ok(written)) => return Some(written),
            Ok(Err(trouble)) => self.message(Severity::Warning, &trouble),
            Err(error) => tracing::error!(%error, "writing a diff broke off"),
        }
        None
    }

    /// Waits as long as the editor has a document open that it was asked to show, and that it tells us of.
    pub(super) async fn while_open(&self, path: &Path) {
        let is_open = || self.shared.agent.services().workspace.document(path).is_some();
        let begun = tokio::time::Instant::now();
        while !is_open() && begun.elapsed() < OPENS {
            tokio::time::sleep(LOOK).await;
        }
        while is_open() {
            self.look_at_open_pages();
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Shows what a turn has changed. The person asked for it by a command.
    pub async fn show_turn_diff(&self, turn: &TurnId, diff: &str) {
        let shown = shown::diff(diff);
        let (folder, stem, text) = (
            self.shared.agent.services().home.join("diffs"),
            turn.to_string(),
            shown.clone(),
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
            self.log(Severity::Info, &words::cut(&shown, LOGGED));
            let message = format!(
                "What the turn changed is in this editor's log of Countersign, and in the file {}",
                path.display()
            );
            self.message(Severity::Info, &message);
        }
    }

    /// Shows a document, at a line if one is given; false if the editor cannot, or does not within reason.
    pub async fn show_document(&self, uri: &str, line: Option<u32>, take_focus: bool) -> bool {
        // Where it is silent a message as well would be one too many.
        self.ask_to_show(uri, line, take_focus).await != Showing::Refused
    }

    async fn ask_to_show(&self, uri: &str, line: Option<u32>, take_focus: bool) -> Showing {
        if !self.shared.client.can.show_document {
            return Showing::Refused;
        }
        let mut params = json!({"uri": uri, "takeFocus": take_focus});
        if let Some(line) = line {
            let start = json!({"line": line, "character": 0});
            params["selection"] = json!({"start": start, "end": start});
        }
        let pending = self.shared.outbound.request::<Value>("window/showDocument", params);
        match tokio::time::timeout(SHOW_LIMIT, pending).await {
            Ok(Ok(answer)) => match serde_json::from_value::<ShowResult>(answer) {
                Ok(ShowResult { success: true }) => Showing::Shown,
                _ => Showing::Refused,
            },
            Ok(Err(_)) => Showing::Refused,
            Err(_) => Showing::Silent,
        }
    }

    fn write_diff(&self, id: &ProposalId, part: &Part) -> Result<Written, String> {
        let services = self.shared.agent.services();
        let proposal = services.proposals.read(id).map_err(|error| error.to_string())?;
        let cwd = self.folder_of(&proposal);
        let plan = services.proposals.decided(id).map(|(_, plan)| plan);
        let now = |file: &ProposalFile| match &file.current {
            _ if file.not_text.is_some() => {
                let planned = plan.iter().flat_map(|plan| &plan.files);
                let mut planned = planned.filter(|planned| planned.path == file.path);
                match planned.next() {
                    Some(planned) => Now::NotText(planned.unified_diff(&cwd)),
                    None => Now::Text(None),
                }
            }
            Some(text) => Now::Text(Some(text.clone())),
            None => Now::Text(services.workspace.read(&file.path).ok().map(|read| read.text)),
        };
        let Diff { text, title, hunks } = diff(&proposal, part, &cwd, now).ok_or_else(|| {
            format!("Proposal {id} has no such part; nothing is shown. List the proposals to see what waits.")
        })?;
        // A page to read: what hides in a change is written out.
        let text = shown::diff(&text);
        let folder = services.home.join("diffs");
        let path = write(&folder, &stem(&proposal, part), &text)
            .map_err(|error| format!("The diff could not be written to {}: {error}.", folder.display()))?;
        Ok(Written {
            hunks,
            path,
            text,
            title,
        })
    }

    /// The folder that a proposal's thread works in.
    pub(super) fn folder_of(&self, proposal: &Proposal) -> PathBuf {
        let agent = &self.shared.agent;
        let thread = agent.thread(&proposal.thread_id).map(|thread| thread.settings().cwd);
        let root =
            || Some(proposal.files.first()?.path.as_path()).and_then(|path| agent.services().workspace.root_of(path));
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
    private::make_folder(folder)?;
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
            Err(_) => return private::write(&path, text).map(|()| path),
        }
    }
    unreachable!("there is no end to numbers")
}

/// A diff, what it is of, and the hunks in it.
#[derive(Debug, PartialEq, Eq)]
struct Diff {
    text: String,
    title: String,
    hunks: Vec<HunkId>,
}

/// What a file is today.
enum Now {
    Text(Option<String>),
    /// Other bytes, or a link: with the diff of its going or moving.
    NotText(String),
}

/// The diff of a part; nothing where there is no such part.
fn diff(proposal: &Proposal, part: &Part, cwd: &Path, now: impl Fn(&ProposalFile) -> Now) -> Option<Diff> {
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
        return Some(Diff {
            text: head + &proposal.diff,
            title,
            hunks: Vec::new(),
        });
    }
    let wanted = |hunk: &Hunk| match part {
        Part::Hunk(id) => hunk.id == *id,
        _ => !matches!(hunk.status, HunkStatus::Rejected | HunkStatus::Applied),
    };
    let notes: String = words::look_alikes(files.iter().copied(), cwd)
        .iter()
        .map(|note| format!("# Note: {note}\n"))
        .collect();
    let mut left_out = String::new();
    let mut body = String::new();
    let mut hunks = Vec::new();
    for file in files {
        let now = now(file);
        let fits = |hunk: &Hunk| match &now {
            Now::Text(now) => fits(file, hunk, now.as_deref()),
            Now::NotText(_) => hunk.status != HunkStatus::Conflicting,
        };
        let taken: Vec<_> = file.hunks.iter().filter(|hunk| wanted(hunk) && fits(hunk)).collect();
        body.push_str(&match &now {
            Now::Text(now) => of_file(file, &taken, now.as_deref(), cwd),
            Now::NotText(diff) if !taken.is_empty() => diff.clone(),
            Now::NotText(_) => String::new(),
        });
        hunks.extend(taken.iter().map(|hunk| hunk.id.clone()));
        for change in change::waiting_in(proposal, file).filter(|change| wanted(change.hunk) && !fits(change.hunk)) {
            left_out.push_str(&unfitting(&change, cwd));
        }
    }
    Some(Diff {
        text: head(&title) + &notes + &left_out + "#\n" + &body,
        title,
        hunks,
    })
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
         # Nothing of this is in the files yet. Code actions on this page accept or reject all of it; those on a changed line of a file\n\
         # (or the lenses above it) decide on that change or that file. The commands countersign.acceptAll and countersign.rejectAll do\n\
         # so from anywhere. This page is only to be read: editing it changes nothing.\n"
    )
}

/// Whether a hunk replaces what is there: today's lines are those that it was made for.
fn fits(file: &ProposalFile, hunk: &Hunk, now: Option<&str>) -> bool {
    match (&file.kind, now) {
        _ if hunk.status == HunkStatus::Conflicting => false,
        // What is there already would be shown as nothing.
        (FileChangeKind::Add, now) => now != Some(hunk.new_text.as_str()),
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
    let shown = Shown {
        path: &file.path,
        before: now,
        after: None,
        move_to: None,
        // The file gets it with the first of its hunks.
        mode: file.mode,
    };
    match &file.kind {
        FileChangeKind::Add => {
            let text: String = taken.iter().map(|hunk| hunk.new_text.as_str()).collect();
            let after = Some(text.as_str());
            Shown { after, ..shown }.unified(cwd)
        }
        FileChangeKind::Delete => shown.unified(cwd),
        FileChangeKind::Update { move_path } => {
            let now = now.unwrap_or_default();
            let placed: Vec<_> = taken.iter().map(|hunk| (range(hunk), hunk.new_text.clone())).collect();
            let after = apply_hunks(now, &placed);
            let shown = Shown {
                before: Some(now),
                after: Some(&after),
                move_to: move_path.as_deref(),
                ..shown
            };
            shown.unified(cwd)
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
        let now = |file: &ProposalFile| Now::Text((file.kind != FileChangeKind::Add).then(|| NOW.to_owned()));
        diff(proposal, part, Path::new("/w"), now).expect("such a part").text
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
    fn a_name_that_looks_like_another_is_said() {
        let added = |name: &str| proposal(vec![file(name, FileChangeKind::Add, vec![hunk((0, 0), "", "made\n")])]);
        let page = |name: &str| of(&added(name), &Part::Whole);
        let text = page("/w/\u{430}uth.py");
        assert!(
            text.contains("\n# Note: “\u{430}uth.py” looks like “auth.py” and is not the same.\n"),
            "{text}"
        );
        assert!(!page("/w/auth.py").contains("Note"));
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
            assert_eq!(
                diff(&two, &part, Path::new("/w"), |_| Now::Text(None)),
                None,
                "{part:?}"
            );
        }
    }

    #[test]
    fn a_new_mode_is_shown_with_whatever_brings_it() {
        let with = |mut file: ProposalFile, mode| {
            file.mode = Some(mode);
            file
        };
        let two = proposal(vec![
            with(
                file(
                    "/w/a.sh",
                    UPDATE,
                    vec![hunk((2, 3), "two\n", "TWO\n"), hunk((9, 10), "nine\n", "NINE\n")],
                ),
                0o755,
            ),
            with(file("/w/b.sh", UPDATE, vec![hunk((0, 0), "", "")]), 0o644),
            with(
                file("/w/new.sh", FileChangeKind::Add, vec![hunk((0, 0), "", "made\n")]),
                0o755,
            ),
        ]);
        let of_a = "diff --git a/a.sh b/a.sh\nold mode 100644\nnew mode 100755\n--- a/a.sh\n+++ b/a.sh\n";
        let of_b = "diff --git a/b.sh b/b.sh\nold mode 100755\nnew mode 100644\n";
        let of_new = "diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n";
        let whole = body(&of(&two, &Part::Whole));
        for shown in [of_a, of_b, of_new] {
            assert!(whole.contains(shown), "{whole}");
        }
        assert_eq!(body(&of(&two, &Part::File("/w/b.sh".into()))), of_b);
        for hunk in &two.files[0].hunks {
            assert!(body(&of(&two, &Part::Hunk(hunk.id.clone()))).starts_with(of_a));
        }
    }

    #[test]
    fn a_file_that_is_there_already_is_not_shown_as_made() {
        let one = proposal(vec![file(
            "/w/new.txt",
            FileChangeKind::Add,
            vec![hunk((0, 0), "", "made\n")],
        )]);
        for (there, shows) in [(Some("made\n"), 0), (Some(""), 1), (None, 1)] {
            let now = |_: &ProposalFile| Now::Text(there.map(str::to_owned));
            let shown = diff(&one, &Part::Whole, Path::new("/w"), now).expect("such a part");
            assert_eq!(shown.hunks.len(), shows, "{there:?}");
            assert_eq!(body(&shown.text).is_empty(), shows == 0, "{}", shown.text);
        }
    }

    #[test]
    fn what_is_no_text_is_shown_as_it_goes() {
        let mut logo = file("/w/logo.png", FileChangeKind::Delete, vec![hunk((0, 0), "", "")]);
        logo.not_text = Some("a file of 12 bytes that is no UTF-8 text but a PNG image".to_owned());
        let mut one = proposal(vec![logo]);
        let now = |_: &ProposalFile| Now::NotText("diff --git a/logo.png b/logo.png\ndeleted file\n".to_owned());
        let shown = diff(&one, &Part::Whole, Path::new("/w"), now).expect("such a part");
        assert!(
            shown
                .text
                .ends_with("#\ndiff --git a/logo.png b/logo.png\ndeleted file\n"),
            "{}",
            shown.text
        );
        assert_eq!(shown.hunks, [one.files[0].hunks[0].id.clone()]);
        one.files[0].hunks[0].status = HunkStatus::Conflicting;
        let shown = diff(&one, &Part::Whole, Path::new("/w"), now).expect("such a part");
        assert!(
            shown.text.contains("does not fit any more") && shown.hunks.is_empty(),
            "{}",
            shown.text
        );
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
