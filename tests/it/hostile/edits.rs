//! Editors that do not make the change, or only a part of it, or something else; files that change under a proposal.

use crate::support::editor::Act;
use crate::support::work::{Work, entries, proposes};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PATCH: &str = "*** Update File: open.txt\n@@\n one\n-two\n+TWO\n three\n@@\n five\n-six\n+SIX\n seven\n\
                     *** Update File: also.txt\n@@\n-o\n+O\n*** Update File: shut.txt\n@@\n-x\n+X\n\
                     *** Add File: new/made.txt\n+made\n*** Delete File: old.txt\n\
                     *** Update File: from.txt\n*** Move to: deep/er/to.txt\n@@\n-m\n+M\n";
const OPEN: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const FILES: &[(&str, &str)] = &[
    ("open.txt", OPEN),
    ("also.txt", "o\n"),
    ("shut.txt", "x\n"),
    ("old.txt", "old\n"),
    ("from.txt", "m\nrest\n"),
];

async fn work(editor: &'static str) -> Work {
    let work = Work::start(editor, FILES, proposes(PATCH)).await;
    work.open("open.txt");
    work.open("also.txt");
    work.editor.type_at(&work.path("also.txt"), 0, "unsaved\n");
    work.fix("open.txt").await;
    work
}

/// Everything is as it was before the proposal.
fn untouched(work: &Work, name: &str) {
    assert_eq!(work.buffer("open.txt"), OPEN, "{name}");
    assert_eq!(work.buffer("also.txt"), "unsaved\no\n", "{name}");
    for (file, text) in FILES {
        assert_eq!(work.disk(file).as_deref(), Some(*text), "{name}: {file}");
    }
    let names = ["also.txt", "from.txt", "old.txt", "open.txt", "shut.txt"];
    assert_eq!(entries(&work.path("")), names, "{name}: nothing more than before");
}

/// Shows S-143, S-149.
#[tokio::test]
async fn a_change_that_an_editor_does_not_make_leaves_every_file_as_it_was() {
    let refused = "The editor refused the change";
    let ways: Vec<(Act, &str)> = vec![
        (Act::Refuse(None), "gave no reason"),
        (Act::Refuse(Some("locked by a plugin")), "locked by a plugin"),
        (Act::Refuse(Some(" ")), "gave no reason"),
        (Act::Error("panic in the editor"), "panic in the editor"),
        (Act::Rubbish(Value::Null), refused),
        (Act::Rubbish(json!({"applied": "yes"})), refused),
        (Act::Rubbish(json!([true])), refused),
        (Act::Lie, "the text is not there: open.txt, also.txt"),
        (Act::OnlyDocuments(1, false), "was undone: open.txt"),
        (Act::OnlyDocuments(1, true), "was undone: open.txt"),
        (Act::OnlyFirstEdits(true), "was undone: open.txt, also.txt"),
        (Act::OnlyFirstEdits(false), "was undone: open.txt, also.txt"),
    ];
    for (act, words) in ways {
        let name = format!("{act:?}");
        let work = work("helix-25.07.1").await;
        work.editor.next([act]);
        work.accept().await;
        let output = work.output("call_1").await;
        assert!(output.contains(words), "{name}: {output}");
        assert!(output.contains("as they were before"), "{name}: {output}");
        assert!(
            !output.contains("Success") && !output.contains("M open.txt"),
            "{name}: {output}"
        );
        let warning = work.warned().await;
        assert!(
            warning.contains("was not made") && warning.contains(words),
            "{name}: {warning}"
        );
        work.done().await;
        untouched(&work, &name);
    }
}

/// Renames and deletions that were made before the editor gave up are taken back as well; a change that is all there is
/// made, whatever the editor says.
#[tokio::test]
async fn operations_that_were_made_by_half_are_taken_back() {
    let patch = "*** Update File: from.txt\n*** Move to: to.txt\n@@\n-m\n+M\n*** Delete File: old.txt\n\
                 *** Delete File: also.txt\n*** Update File: shut.txt\n@@\n-x\n+X\n";
    for made in 0..=4 {
        let work = Work::start("helix-25.07.1", FILES, proposes(patch)).await;
        for name in ["from.txt", "old.txt", "also.txt"] {
            work.open(name);
        }
        work.fix("from.txt").await;
        work.editor.next([Act::OnlyDocuments(made, false)]);
        work.accept().await;
        let output = work.output("call_1").await;
        if made == 4 {
            assert!(output.starts_with("Success."), "{output}");
            assert_eq!(work.disk("shut.txt").unwrap(), "X\n");
        } else {
            assert!(output.contains("as they were before"), "{made}: {output}");
            work.warned().await;
            for (file, text) in FILES {
                assert_eq!(work.disk(file).as_deref(), Some(*text), "{made}: {file}");
            }
            assert_eq!(work.buffer("from.txt"), "m\nrest\n", "{made}");
            assert_eq!(work.disk("to.txt"), None, "{made}");
        }
        work.done().await;
    }
}

/// An editor that never answers: after the limit everything is as it was.
#[tokio::test]
async fn an_editor_that_is_silent_is_not_waited_for_for_ever() {
    let work = work("lsp-mode-10.0.0").await;
    work.editor.next([Act::Silence]);
    work.accept().await;
    let asked = work.client.expect_request("workspace/applyEdit").await;
    // Meanwhile everything else goes on.
    let before = Instant::now();
    work.client.settle().await;
    assert!(before.elapsed() < Duration::from_secs(20));
    work.client
        .expect_withdrawn_within(&asked, Duration::from_secs(60))
        .await;
    let output = work.output("call_1").await;
    assert!(output.contains("never answered"), "{output}");
    work.warned().await;
    work.done().await;
    untouched(&work, "silence");
}

/// The turn is stopped while the editor works on the edit: the change is whole or not at all.
#[tokio::test]
async fn a_turn_that_is_stopped_in_the_middle_of_a_change() {
    let work = work("helix-25.07.1").await;
    work.client
        .on_request("workspace/applyEdit", |_| crate::support::client::Reply::Later);
    work.accept().await;
    let asked = work.client.expect_request("workspace/applyEdit").await;
    work.choose_action("open.txt", (0, 0), "Stop the agent").await;
    work.client.answer(&asked, Ok(json!({"applied": false})));
    work.warned().await;
    untouched(&work, "stopped");
    work.client.settle().await;
    assert_eq!(work.model.requests().len(), 1);
}

/// Closed while the proposal waits, or at the moment of the edit: then it is a file like any other.
#[tokio::test]
async fn a_document_that_is_closed_in_mid_turn_is_written_on_the_disk() {
    for at_the_edit in [false, true] {
        let work = work("vscode-lc9").await;
        // A VS Code whose preview does not work, so that a message asks.
        work.editor.next([Act::Error("no preview")]);
        let question = work.question().await;
        if at_the_edit {
            work.editor.next([Act::ClosedBefore(work.path("open.txt"))]);
        } else {
            work.editor.close(&work.path("open.txt"));
        }
        work.accept_all(question).await;
        work.done().await;
        let output = work.output("call_1").await;
        assert!(output.starts_with("Success."), "{at_the_edit}: {output}");
        assert_eq!(work.editor.text(&work.path("open.txt")), None);
        let after = OPEN.replace("two", "TWO").replace("six", "SIX");
        assert_eq!(work.disk("open.txt").unwrap(), after, "{at_the_edit}");
        assert_eq!(work.buffer("also.txt"), "unsaved\nO\n", "{at_the_edit}");
    }
}

/// Files that change on the disk while the proposal waits. What still fits is taken, the rest is told, and nobody's
/// text is written over.
#[tokio::test]
async fn files_that_change_under_a_waiting_proposal() {
    type Change = fn(&Work);
    let ways: [(&str, Change, &str, bool); 8] = [
        (
            "deleted",
            |work| std::fs::remove_file(work.path("shut.txt")).unwrap(),
            "not taken",
            false,
        ),
        (
            "renamed",
            |work| std::fs::rename(work.path("shut.txt"), work.path("other.txt")).unwrap(),
            "not taken",
            false,
        ),
        (
            "rewritten",
            |work| std::fs::write(work.path("shut.txt"), "mine\n").unwrap(),
            "not taken",
            false,
        ),
        (
            "emptied",
            |work| std::fs::write(work.path("shut.txt"), "").unwrap(),
            "not taken",
            false,
        ),
        (
            "a folder now",
            |work| {
                std::fs::remove_file(work.path("shut.txt")).unwrap();
                std::fs::create_dir(work.path("shut.txt")).unwrap();
            },
            "not taken",
            false,
        ),
        (
            "a pipe now",
            |work| {
                std::fs::remove_file(work.path("shut.txt")).unwrap();
                fifo(&work.path("shut.txt"));
            },
            "not taken",
            false,
        ),
        (
            "binary now",
            |work| std::fs::write(work.path("shut.txt"), b"\0\xff").unwrap(),
            "not taken",
            false,
        ),
        (
            "grown above",
            |work| std::fs::write(work.path("shut.txt"), "w\nx\n").unwrap(),
            "Success.",
            true,
        ),
    ];
    let patch = "*** Update File: shut.txt\n@@\n-x\n+X\n*** Update File: open.txt\n@@\n one\n-two\n+TWO\n";
    for (name, change, words, taken) in ways {
        let work = Work::start("helix-25.07.1", FILES, proposes(patch)).await;
        work.open("open.txt");
        work.fix("open.txt").await;
        let question = work.question().await;
        change(&work);
        let before = work.disk("shut.txt");
        work.accept_all(question).await;
        if !taken {
            let warning = work.warned().await;
            assert!(warning.contains("shut.txt"), "{name}: {warning}");
        }
        work.done().await;
        let output = work.output("call_1").await;
        assert!(output.contains(words), "{name}: {output}");
        assert!(output.contains("M open.txt"), "{name}: {output}");
        assert!(work.buffer("open.txt").contains("TWO"), "{name}");
        let after = if taken { Some("w\nX\n".to_owned()) } else { before };
        assert_eq!(work.disk("shut.txt"), after, "{name}");
    }
}

/// A new file's place that is taken meanwhile stays as it is; so does a file to be deleted that has changed.
#[tokio::test]
async fn what_the_person_made_meanwhile_is_never_written_over() {
    let patch = "*** Add File: made.txt\n+agent\n*** Delete File: old.txt\n*** Update File: from.txt\n\
                 *** Move to: to.txt\n@@\n-m\n+M\n*** Update File: shut.txt\n@@\n-x\n+X\n";
    let work = Work::start("helix-25.07.1", FILES, proposes(patch)).await;
    work.fix("open.txt").await;
    let question = work.question().await;
    std::fs::write(work.path("made.txt"), "person\n").unwrap();
    std::fs::write(work.path("old.txt"), "old\nand precious\n").unwrap();
    work.accept_all(question).await;
    work.warned().await;
    work.done().await;
    assert_eq!(work.disk("made.txt").unwrap(), "person\n");
    assert_eq!(work.disk("old.txt").unwrap(), "old\nand precious\n");
    assert_eq!(work.disk("to.txt").unwrap(), "M\nrest\n");
    assert_eq!(work.disk("shut.txt").unwrap(), "X\n");
    // Where a move would land on another file, nothing at all is done.
    let work = Work::start("helix-25.07.1", FILES, proposes(patch)).await;
    work.fix("open.txt").await;
    let question = work.question().await;
    std::fs::write(work.path("to.txt"), "person\n").unwrap();
    work.accept_all(question).await;
    let warning = work.warned().await;
    assert!(warning.contains("to.txt"), "{warning}");
    work.done().await;
    assert_eq!(work.disk("to.txt").unwrap(), "person\n");
    assert_eq!(work.disk("shut.txt").unwrap(), "x\n");
    assert_eq!((work.disk("made.txt"), work.disk("old.txt").is_some()), (None, true));
}

/// Text that changes between the proposal and the yes, over and over, in every place: whatever comes out, the person's
/// words are all there.
#[tokio::test]
async fn typing_while_a_proposal_waits_loses_nothing() {
    let patch = "*** Update File: open.txt\n@@\n one\n-two\n+TWO\n three\n@@\n five\n-six\n+SIX\n seven\n";
    for line in 0..7 {
        let work = Work::start("nvim-0.12.4", FILES, proposes(patch)).await;
        work.open("open.txt");
        work.fix("open.txt").await;
        let question = work.question().await;
        work.editor.type_at(&work.path("open.txt"), line, "typed ");
        work.accept_all(question).await;
        let hit = line == 1 || line == 5;
        if hit {
            work.warned().await;
        }
        work.done().await;
        let text = work.buffer("open.txt");
        assert!(text.contains("typed "), "{line}: {text}");
        let taken = usize::from(text.contains("TWO")) + usize::from(text.contains("SIX"));
        assert_eq!(taken, if hit { 1 } else { 2 }, "{line}: {text}");
        assert_eq!(text.lines().count(), 7, "{line}: {text}");
    }
}

fn fifo(path: &std::path::Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
}
