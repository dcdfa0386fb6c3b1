//! Proposals in editors that preview nothing: a message asks, then one plain edit for what is open, and the sandbox for
//! what is not.

use crate::support::client::Reply;
use crate::support::editor::Act;
use crate::support::work::{Work, proposes};
use serde_json::{Value, json};

const PATCH: &str = "*** Update File: open.txt\n@@\n one\n-two\n+TWO\n three\n@@\n five\n-six\n+SIX\n+six and a half\n\
                     *** Update File: shut.txt\n@@\n-x\n+X\n*** Add File: new/made.txt\n+made\n*** Delete File: old.txt\n";
const OPEN: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const FILES: &[(&str, &str)] = &[("open.txt", OPEN), ("shut.txt", "x\n"), ("old.txt", "old\n")];

/// The same journey in every editor that was recorded: a dirty open file, a closed one, a new one, a deleted one.
///
/// Shows S-142, S-145.
#[tokio::test]
async fn every_editor_gets_the_change_as_it_takes_it() {
    for editor in [
        "eglot-1.17.30",
        "helix-25.01.1",
        "helix-25.07.1",
        "kakoune-lsp-22.0.0",
        "lsp-mode-10.0.0",
        "nvim-0.10.4",
        "nvim-0.12.4",
    ] {
        let work = Work::start(editor, FILES, proposes(PATCH)).await;
        work.open("open.txt");
        work.editor.type_at(&work.path("open.txt"), 3, "typed, not saved\n");
        work.fix("open.txt").await;
        work.accept().await;
        work.done().await;
        let after = "one\nTWO\nthree\ntyped, not saved\nfour\nfive\nSIX\nsix and a half\nseven\n";
        assert_eq!(work.buffer("open.txt"), after, "{editor}");
        assert_eq!(
            work.disk("open.txt").unwrap(),
            OPEN,
            "{editor}: nothing is saved behind the person's back"
        );
        assert_eq!(work.disk("shut.txt").unwrap(), "X\n", "{editor}");
        assert_eq!(work.disk("new/made.txt").unwrap(), "made\n", "{editor}");
        assert_eq!(work.disk("old.txt"), None, "{editor}");
        let edits = work.editor.edits();
        assert_eq!(edits.len(), 1, "{editor}: one edit for all");
        let change = &edits[0]["edit"]["documentChanges"][0];
        assert_eq!(change["textDocument"]["version"], 2, "{editor}");
        assert_eq!(
            change["edits"].as_array().unwrap().len(),
            2,
            "{editor}: only what changes"
        );
        assert!(edits[0]["edit"]["changeAnnotations"].is_null(), "{editor}");
        let output = work.output("call_1").await;
        assert!(output.starts_with("Success."), "{editor}: {output}");
        assert!(
            output.contains("M open.txt (in the editor, unsaved)"),
            "{editor}: {output}"
        );
        assert!(
            output.contains("A new/made.txt") && output.contains("D old.txt"),
            "{editor}: {output}"
        );
        assert!(work.editor.undo(&work.path("open.txt")), "{editor}");
        let before = "one\ntwo\nthree\ntyped, not saved\nfour\nfive\nsix\nseven\n";
        assert_eq!(work.buffer("open.txt"), before, "{editor}: one undo step");
    }
}

/// ALE takes no edits: closed files are written all the same, and for open ones the way out is told.
#[tokio::test]
async fn an_editor_that_takes_no_edits_is_told_what_to_do() {
    let work = Work::start("ale-4.0.0", FILES, proposes(PATCH)).await;
    work.open("open.txt");
    work.fix("open.txt").await;
    work.accept().await;
    let output = work.output("call_1").await;
    assert!(output.contains("close the file"), "{output}");
    let warning = work.warned().await;
    assert!(
        warning.contains("open.txt") && warning.contains("close the file"),
        "{warning}"
    );
    work.done().await;
    assert_eq!(work.disk("shut.txt").unwrap(), "x\n", "all or none");
    let work = Work::start("ale-4.0.0", FILES, proposes(PATCH)).await;
    work.fix("open.txt").await;
    work.accept().await;
    work.done().await;
    assert_eq!(
        work.disk("open.txt").unwrap(),
        OPEN.replace("two", "TWO").replace("six\n", "SIX\nsix and a half\n")
    );
}

/// Positions count in the unit that was agreed on, and line ends stay what they are.
#[tokio::test]
async fn columns_and_line_ends_are_the_editors() {
    let files = &[("wide.txt", "\u{feff}😀é\r\nmiddle\r\nlast 😀 line")];
    let patch = "*** Update File: wide.txt\n@@\n-😀é\n+😀\n middle\n-last 😀 line\n+last line\n";
    for (editor, end) in [("helix-25.07.1", 14), ("nvim-0.10.4", 12), ("eglot-1.17.30", 11)] {
        let work = Work::start(editor, files, proposes(patch)).await;
        work.open("wide.txt");
        work.fix("wide.txt").await;
        work.accept().await;
        work.done().await;
        let after = work.buffer("wide.txt");
        assert_eq!(after, "\u{feff}😀\r\nmiddle\r\nlast line", "{editor}");
        let edits = &work.editor.edits()[0]["edit"]["documentChanges"][0]["edits"];
        let last = edits.as_array().unwrap().last().unwrap();
        assert_eq!(
            last["range"]["end"],
            json!({"line": 2, "character": end}),
            "{editor}: {edits}"
        );
    }
}

/// Renames and deletions of open files go through the editor where it can do them; where it cannot, nothing happens
/// and the model hears how it could.
#[tokio::test]
async fn open_files_are_moved_and_deleted_by_the_editor() {
    let patch = "*** Update File: a.txt\n*** Move to: sub/b.txt\n@@\n-a\n+A\n*** Delete File: gone.txt\n";
    let files = &[("a.txt", "a\nrest\n"), ("gone.txt", "gone\n")];
    for editor in ["helix-25.07.1", "nvim-0.12.4", "kakoune-lsp-22.0.0", "lsp-mode-10.0.0"] {
        let work = Work::start(editor, files, proposes(patch)).await;
        work.open("a.txt");
        work.open("gone.txt");
        work.fix("a.txt").await;
        work.accept().await;
        work.done().await;
        assert_eq!(work.buffer("sub/b.txt"), "A\nrest\n", "{editor}");
        assert_eq!((work.disk("a.txt"), work.disk("gone.txt")), (None, None), "{editor}");
        let output = work.output("call_1").await;
        assert!(output.contains("M a.txt -> sub/b.txt"), "{editor}: {output}");
    }
    let work = Work::start("eglot-1.17.30", files, proposes(patch)).await;
    work.open("a.txt");
    work.open("gone.txt");
    work.fix("a.txt").await;
    work.accept().await;
    let output = work.output("call_1").await;
    assert!(output.contains("close it"), "{output}");
    work.warned().await;
    work.done().await;
    assert_eq!(work.buffer("a.txt"), "a\nrest\n");
    assert!(work.disk("gone.txt").is_some() && work.editor.edits().is_empty());
}

/// A message that is closed, or answered with what was not asked, is a no.
///
/// Shows S-128.
#[tokio::test]
async fn whatever_is_no_clear_yes_to_a_proposal_is_a_no() {
    for (name, reply) in [
        ("closed", Reply::Ok(json!(null))),
        ("reject", Reply::Ok(json!({"title": "Reject"}))),
        ("another title", Reply::Ok(json!({"title": "accept all"}))),
        ("rubbish", Reply::Ok(json!([1, 2]))),
        ("an error", Reply::Error(-32601, "no such method")),
        ("twice", Reply::Twice(Value::Null)),
    ] {
        let work = Work::start("helix-25.07.1", FILES, proposes(PATCH)).await;
        work.client
            .on_request("window/showMessageRequest", move |_| reply.clone());
        work.open("open.txt");
        work.fix("open.txt").await;
        work.done().await;
        let output = work.output("call_1").await;
        assert!(output.contains("rejected the patch"), "{name}: {output}");
        assert_eq!(work.buffer("open.txt"), OPEN, "{name}");
        assert_eq!(work.disk("shut.txt").unwrap(), "x\n", "{name}");
        assert!(work.editor.edits().is_empty(), "{name}");
    }
}

/// The diff that cannot be shown is no obstacle: it is in the log, and the person hears where its file is.
#[tokio::test]
async fn a_diff_that_is_not_shown_changes_nothing() {
    for reply in [Reply::Ok(json!({"success": false})), Reply::Error(-32601, "no")] {
        let work = Work::start("nvim-0.12.4", FILES, proposes(PATCH)).await;
        work.client.on_request("window/showDocument", move |_| reply.clone());
        work.open("open.txt");
        work.fix("open.txt").await;
        let question = work.question().await;
        work.press(&question, "Show the diff");
        let told = work.client.expect_notification("window/showMessage").await;
        let told = told["message"].as_str().unwrap();
        let path = told
            .split_at(told.find("the file /").expect("a path") + "the file ".len())
            .1;
        assert!(
            std::fs::read_to_string(path).unwrap().contains("-two\n+TWO\n"),
            "{told}"
        );
        work.client.expect_log("-two\n+TWO\n").await;
        work.accept().await;
        work.done().await;
        assert_eq!(work.disk("shut.txt").unwrap(), "X\n");
    }
}

/// The answer may come before the change, or never: the text counts.
#[tokio::test]
async fn the_text_counts_and_not_the_answer() {
    for act in [Act::AnswerFirst, Act::DoneInSilence] {
        let work = Work::start("helix-25.07.1", FILES, proposes(PATCH)).await;
        work.editor.next([act.clone()]);
        work.open("open.txt");
        work.fix("open.txt").await;
        work.accept().await;
        work.done().await;
        assert!(work.buffer("open.txt").contains("TWO"), "{act:?}");
        assert!(work.output("call_1").await.starts_with("Success."), "{act:?}");
        assert_eq!(work.disk("shut.txt").unwrap(), "X\n", "{act:?}");
        if matches!(act, Act::DoneInSilence) {
            work.client.expect_any_withdrawn().await;
        }
    }
}

/// The person types at the very moment of the edit: it is fitted to the new text, in every kind of editor.
#[tokio::test]
async fn a_change_that_was_overtaken_by_typing_is_fitted_again() {
    for editor in ["helix-25.07.1", "nvim-0.12.4"] {
        let work = Work::start(editor, FILES, proposes(PATCH)).await;
        work.open("open.txt");
        let path = work.path("open.txt");
        work.editor.next([
            Act::TypedBefore(path.clone(), 0, "zero\n"),
            Act::TypedBefore(path, 4, "3½\n"),
        ]);
        work.fix("open.txt").await;
        work.accept().await;
        work.done().await;
        let after = "zero\none\nTWO\nthree\n3½\nfour\nfive\nSIX\nsix and a half\nseven\n";
        assert_eq!(work.buffer("open.txt"), after, "{editor}");
        assert_eq!(work.disk("shut.txt").unwrap(), "X\n", "{editor}");
        assert_eq!(work.editor.edits().len(), 3, "{editor}");
        assert!(work.output("call_1").await.starts_with("Success."), "{editor}");
    }
    // Where it does not fit any more, that hunk is left out, and both hear of it.
    let work = Work::start("helix-25.07.1", FILES, proposes(PATCH)).await;
    work.open("open.txt");
    work.editor.next([Act::TypedBefore(work.path("open.txt"), 1, "not ")]);
    work.fix("open.txt").await;
    work.accept().await;
    let warning = work.warned().await;
    assert!(warning.contains("open.txt"), "{warning}");
    work.done().await;
    assert_eq!(
        work.buffer("open.txt"),
        "one\nnot two\nthree\nfour\nfive\nSIX\nsix and a half\nseven\n"
    );
    let output = work.output("call_1").await;
    assert!(output.contains("hunk 1 (line 2): not taken"), "{output}");
}

/// An editor may name a document by a link, or spell its URI in its own way: that is how it is addressed, and actions
/// and lenses find it.
#[tokio::test]
async fn a_document_is_addressed_as_the_editor_names_it() {
    let patch = "*** Update File: real/a b.txt\n@@\n one\n-two\n+TWO\n three\n";
    for spelled in ["real/%61%20b.txt", "link/a%20b.txt", "real//a%20b.txt"] {
        let work = Work::start("helix-25.07.1", &[("real/a b.txt", OPEN)], proposes(patch)).await;
        std::os::unix::fs::symlink(work.path("real"), work.path("link")).unwrap();
        let root = countersign::workspace::uri::from_path(&work.path(""));
        let uri = format!("{}/{spelled}", root.trim_end_matches('/'));
        work.editor.open_as(&work.path("real/a b.txt"), &uri);
        work.fix("real/a b.txt").await;
        let question = work.question().await;
        let params = json!({"textDocument": {"uri": uri}});
        let lenses = work.client.call("textDocument/codeLens", params).await;
        assert_eq!(lenses.as_array().unwrap().len(), 4, "{spelled}");
        work.run(&lenses[0]).await;
        work.client.expect_withdrawn(&question).await;
        work.done().await;
        let edits = work.editor.edits();
        assert_eq!(
            edits[0]["edit"]["documentChanges"][0]["textDocument"]["uri"],
            json!(uri)
        );
        let output = work.output("call_1").await;
        assert!(output.starts_with("Success."), "{spelled}: {output}");
        assert_eq!(work.disk("real/a b.txt").unwrap(), OPEN, "{spelled}");
    }
}
