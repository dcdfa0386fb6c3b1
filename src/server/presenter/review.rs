//! Asks about a proposal in a client without our plugin: as an edit to confirm where the editor truly asks, else by a
//! question with the diff beside it. Meanwhile code actions and lenses on the hunks decide too; the first answer wins.

use super::preview::Outcome;
use super::{Presenter, Severity, change, preview, seen, whole, words};
use crate::agent::proposals::ProposalError;
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::{Proposal, ProposalDecideParams, ProposalDecision, ProposalFile};
use crate::server::presenter::diff::Part;
use crate::shown;
use std::borrow::Cow;
use tokio::sync::Notify;

const ACCEPT: &str = "Accept all";
const DIFF: &str = "Show the diff";
const HUNKS: &str = "Decide in the files";
/// The same where no file is there to decide in.
const LATER: &str = "Decide later";
const REJECT: &str = "Reject";
const AGAIN: &str = "Show again";

/// Asks, and settles the proposal with the answer. Aborted when it is settled elsewhere; `elsewhere` tells when the person
/// begins to decide on its hunks where they lie.
pub(super) async fn ask(presenter: Presenter, proposal: Proposal, elsewhere: std::sync::Arc<Notify>) {
    let can = &presenter.shared.client.can;
    // A folder that must be opened first is asked about once the hunks are decided; an editor's preview would write at once.
    let mut previews =
        can.honours_confirmation && can.change_annotations && can.document_changes && proposal.grant_root.is_none();
    while previews {
        match preview::ask(&presenter, &proposal, &elsewhere).await {
            Outcome::Settled | Outcome::DecidedElsewhere => return,
            Outcome::Refused => previews = false,
            Outcome::Outdated => {}
            Outcome::Overtaken => match after_typing(&presenter, &proposal).await.as_deref() {
                Some(AGAIN) => {}
                Some(REJECT) => return decide(&presenter, &proposal, ProposalDecision::Reject).await,
                Some(HUNKS) => return point_at(&presenter, &proposal).await,
                // Nobody was asked whether the change is wanted, so this is no answer to that: it goes on waiting.
                _ => return,
            },
        }
    }
    // A prompt in front of somebody who types would be answered by the next key.
    let idle = presenter.when_idle();
    tokio::select! {
        biased;
        () = elsewhere.notified() => return,
        () = idle => {}
    }
    by_message(&presenter, &proposal).await;
}

/// The preview was closed after the person had typed in its files: the editor could not have applied it.
async fn after_typing(presenter: &Presenter, proposal: &Proposal) -> Option<String> {
    let places = places(proposal);
    let names: Vec<_> = places.iter().map(|file| words::name(&file.path)).collect();
    let message = format!(
        "The preview of the agent's change was closed after its text had changed ({}). Nothing is lost: the change still waits. \
         Show it again, fitted to the text as it is now?",
        words::cut(&names.join(", "), 200)
    );
    let hunks = if places.is_empty() { LATER } else { HUNKS };
    presenter.choose(Severity::Info, &message, [AGAIN, hunks, REJECT]).await
}

/// A diff as a message shows it: what changes, without the lines around it and what a head says twice; nothing hides in the
/// lines, nor in the names of files.
pub(super) fn as_shown(diff: &str) -> String {
    let mut shown = String::new();
    let diff = shown::diff(diff);
    // Lines of the old and of the new text that the hunk still has.
    let mut left = (0, 0);
    let mut lines = diff.lines();
    while let Some(line) = lines.next() {
        let after: Vec<_> = lines.clone().take(2).collect();
        let is_in_hunk = match line.as_bytes().first() {
            Some(b' ') if left.0 > 0 && left.1 > 0 => {
                left = (left.0 - 1, left.1 - 1);
                continue;
            }
            Some(b'-') if left.0 > 0 => {
                left.0 -= 1;
                true
            }
            Some(b'+') if left.1 > 0 => {
                left.1 -= 1;
                true
            }
            Some(b'\\') => true,
            _ => false,
        };
        if line.starts_with("@@ ") {
            left = counts(line);
            // Where all of a file comes or goes there is no other place.
            if left.0 == 0 || left.1 == 0 {
                continue;
            }
        }
        if is_in_hunk {
            shown.push_str(line);
        } else if says_nothing_new(line, &after) {
            continue;
        } else {
            shown.push_str(&shown::line(head(line.trim_end()).as_ref()));
        }
        shown.push('\n');
    }
    shown
}

/// A head in words: with its signs a changed line could look just like it, and what follows that like another file.
fn head(line: &str) -> Cow<'_, str> {
    let name = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- "));
    match name {
        Some(name) => {
            let bare = name.strip_prefix("b/").or_else(|| name.strip_prefix("a/"));
            Cow::Owned(format!("file {}", bare.unwrap_or(name)))
        }
        None => Cow::Borrowed(line),
    }
}

/// Whether the heads after it say as much: a file is named once, a changed one by its new name.
fn says_nothing_new(line: &str, after: &[&str]) -> bool {
    let next = after.first().copied().unwrap_or_default();
    let names = |line: &&str| line.starts_with("--- ") || line.starts_with("rename ");
    match line.split(' ').next().unwrap_or_default() {
        "" | "#" | "index" | "similarity" => true,
        "diff" => after.iter().any(names),
        "new" => line == "new file mode 100644" && next.starts_with("--- "),
        "---" => next.starts_with("+++ ") && next != "+++ /dev/null",
        "+++" => line == "+++ /dev/null",
        _ => false,
    }
}

/// How many lines of the old and of the new text a hunk has, by its head (`@@ -1,2 +1 @@`).
fn counts(head: &str) -> (usize, usize) {
    let mut sides = head.split(' ').skip(1).map(|side| match side.split_once(',') {
        Some((_, count)) => count.parse().unwrap_or(usize::MAX),
        None => 1,
    });
    (sides.next().unwrap_or(usize::MAX), sides.next().unwrap_or(usize::MAX))
}

/// Asks by a message. What accepts is never the first choice, which some prompts have filled in already.
async fn by_message(presenter: &Presenter, proposal: &Proposal) {
    let reason = proposal
        .reason
        .as_deref()
        .map(|reason| format!("\n{}", shown::line(reason)));
    let agents = &presenter.shared.agent.services().agents;
    let who = agents.identity(&proposal.thread_id).map_or_else(
        || "Countersign".to_owned(),
        |agent| format!("The agent {}", shown::line(&agent.name)),
    );
    let cwd = presenter.folder_of(proposal);
    let notes: String = words::look_alikes(&proposal.files, &cwd)
        .iter()
        .map(|note| format!("\nNote: {note}"))
        .collect();
    let summary = format!(
        "{who} proposes: {}{}{notes}",
        words::proposal(proposal, &cwd),
        reason.unwrap_or_default()
    );
    let hunks = if places(proposal).is_empty() { LATER } else { HUNKS };
    let mut titles = vec![DIFF, hunks, ACCEPT, REJECT];
    let lines = presenter.shared.client.can.question_lines();
    // What changes is in the message or has been shown, or it is not accepted by it.
    let mut message = match format!("{summary}\n{}", as_shown(&proposal.diff)) {
        whole if whole::fits(&whole, lines) => {
            presenter.has_shown(seen::that_fit(proposal));
            whole
        }
        whole => {
            titles.retain(|title| *title != ACCEPT);
            let more = whole.chars().count() - summary.chars().count();
            let summary = match whole::fits(&summary, lines.saturating_sub(3)) {
                true => summary.clone(),
                false => whole::beginning(&summary, lines.saturating_sub(3)),
            };
            format!(
                "{summary}\n… {more} more characters of changes: {DIFF} opens them, and code actions on the changed lines decide."
            )
        }
    };
    loop {
        let chosen = presenter.choose(Severity::Info, &message, titles.iter().copied()).await;
        match chosen.as_deref() {
            Some(ACCEPT) if titles.contains(&ACCEPT) => {
                return decide(presenter, proposal, ProposalDecision::Accept).await;
            }
            Some(DIFF) if titles.contains(&DIFF) => {
                titles.retain(|title| *title != DIFF);
                let page = presenter.show_diff(&proposal.id, Part::Whole, false).await;
                if let (Some(page), false) = (page, titles.contains(&ACCEPT)) {
                    // A question over the page would be in the way of reading it.
                    presenter.while_open(&page.path).await;
                    let path = shown::path(&page.path);
                    let then = match presenter.have_been_shown(&page.hunks) {
                        true => {
                            titles.insert(1, ACCEPT);
                            format!("All of it is in {path}.")
                        }
                        false => format!("All of it is in {path}: open that, and code actions accept it."),
                    };
                    let room = lines.saturating_sub(3);
                    message = match whole::fits(&summary, room) {
                        true => summary.clone(),
                        false => whole::beginning(&summary, room),
                    } + "\n"
                        + &then;
                }
            }
            // The hunks keep waiting: code actions and lenses in the files decide on each.
            Some(HUNKS | LATER) => return point_at(presenter, proposal).await,
            _ => return decide(presenter, proposal, ProposalDecision::Reject).await,
        }
    }
}

/// Settles all of it, in the order of the person's decisions. What comes of it is told also where the question is withdrawn
/// by that.
async fn decide(presenter: &Presenter, proposal: &Proposal, decision: ProposalDecision) {
    let all = ProposalDecideParams {
        proposal_id: proposal.id.clone(),
        decision,
        hunk_ids: None,
        path: None,
        feedback: None,
    };
    let (turn, presenter) = (presenter.decisions().await, presenter.clone());
    let deciding = tokio::task::spawn_blocking(move || {
        let _until_decided = turn;
        match presenter.decide(&all) {
            Ok(proposal) => presenter.tell_what_still_waits(&proposal, None),
            Err(error @ ProposalError::NotShown(_)) => presenter.message(Severity::Warning, &error.to_string()),
            Err(error) => tracing::info!(%error, "an answer about a proposal came too late"),
        }
    });
    if let Err(error) = deciding.await {
        tracing::error!(%error, "an answer about a proposal was not carried out");
    }
}

/// The files in which there is a place to decide at: those that are still to be made have none.
fn places(proposal: &Proposal) -> Vec<&ProposalFile> {
    proposal
        .files
        .iter()
        .filter(|file| file.kind != FileChangeKind::Add)
        .collect()
}

/// Shows where the hunks wait: the person asked for it, so the first of them may take the focus.
async fn point_at(presenter: &Presenter, proposal: &Proposal) {
    let (proposals, id) = (presenter.shared.agent.services().proposals.clone(), proposal.id.clone());
    let today = tokio::task::spawn_blocking(move || proposals.read(&id)).await;
    let proposal = today
        .as_ref()
        .ok()
        .and_then(|read| read.as_ref().ok())
        .unwrap_or(proposal);
    let places = places(proposal);
    let Some(first) = places.first() else {
        return presenter.message(
            Severity::Info,
            "The agent's change waits: the code actions of any file show, accept or reject it.",
        );
    };
    let names: Vec<_> = places.iter().map(|file| words::name(&file.path)).collect();
    let message = format!(
        "The agent's changes wait in {}: code actions on the changed lines accept or reject each of them, or all.",
        names.join(", ")
    );
    presenter.message(Severity::Info, &message);
    let line = change::waiting_in(proposal, first)
        .next()
        .map(|change| change.hunk.range.start);
    presenter.show_document(&first.uri, line, true).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_each_file_and_shows_each_changed_line() {
        for (diff, expected) in [
            (
                "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n",
                "file a\n@@ -1,3 +1,3 @@\n-two\n+TWO\n",
            ),
            (
                "diff --git a/a b/a\nnew file mode 100644\n",
                "diff --git a/a b/a\nnew file mode 100644\n",
            ),
            // Nothing in a line begins another, without its sign.
            (
                "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\u{2028}Nothing else changes.\u{c}\rz\r\n",
                "file a\n@@ -1 +1 @@\n-x\n+y<U+2028>Nothing else changes.<U+000C><U+000D>z<U+000D>\n",
            ),
            // Where all lines end in the same way it is not said.
            (
                "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\r\n+y\r\n",
                "file a\n@@ -1 +1 @@\n-x\n+y\n",
            ),
            // Line ends are all that changes.
            (
                "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+x\r\n",
                "file a\n@@ -1 +1 @@\n-x\n+x<U+000D>\n",
            ),
            // Lines that look like heads, and are none: those stand in words.
            (
                "--- a/Makefile\n+++ b/Makefile\n@@ -1,1 +1,3 @@\n x\n+++ b/README.md\n+all: x\n",
                "file Makefile\n@@ -1,1 +1,3 @@\n+++ b/README.md\n+all: x\n",
            ),
            (
                "--- a/a\n+++ b/a\n@@ -1,1 +1,3 @@\n x\n+file README.md\n+y\n",
                "file a\n@@ -1,1 +1,3 @@\n+file README.md\n+y\n",
            ),
            (
                "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n--- a/x\n-diff \n+++ /dev/null\n+# y\n",
                "file a\n@@ -1,2 +1,2 @@\n--- a/x\n-diff \n+++ /dev/null\n+# y\n",
            ),
            (
                "# about\ndiff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n",
                "file a\n+x\n",
            ),
            (
                "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n",
                "deleted file mode 100644\nfile a\n-x\n\\ No newline at end of file\n",
            ),
            (
                "diff --git a/a b/b\nrename from a\nrename to b\n",
                "rename from a\nrename to b\n",
            ),
            (
                "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n",
                "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n",
            ),
            (
                "diff --git a/a b/a\nnew file mode 100755\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n",
                "new file mode 100755\nfile a\n+x\n",
            ),
        ] {
            assert_eq!(as_shown(diff), expected, "{diff}");
        }
    }
}
