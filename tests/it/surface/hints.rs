//! Hunks that wait, as hints on their lines.

use crate::support::client::{Place, Reply};
use crate::support::work::{Setting, Work, calls, proposes};
use serde_json::{Value, json};

const PATCH: &str = "*** Update File: a.txt\n@@\n 1\n-2 😀\n+two\n 3\n@@\n 7\n+7½\n 8\n*** Add File: new.txt\n+x\n";
const TEXT: &str = "1\n2 😀\n3\n4\n5\n6\n7\n8\n9\n";

const HINTS: &str = "textDocument/publishDiagnostics";

/// Range and text of the hints on a document.
fn told(params: &Value) -> Vec<(u64, u64, u64, String)> {
    let hints = params["diagnostics"].as_array().expect("a list");
    let one = |hint: &Value| {
        assert_eq!(hint["severity"], 4, "{hint}");
        assert_eq!(
            (&hint["source"], &hint["code"]),
            (&json!("countersign"), &json!("proposal"))
        );
        for id in ["threadId", "proposalId", "hunkId"] {
            assert!(hint["data"][id].is_string(), "{hint}");
        }
        let (start, end) = (&hint["range"]["start"], &hint["range"]["end"]);
        assert_eq!(start["character"], 0, "{hint}");
        let number = |value: &Value| value.as_u64().expect("a number");
        (
            number(&start["line"]),
            number(&end["line"]),
            number(&end["character"]),
            hint["message"].as_str().expect("a text").to_owned(),
        )
    };
    hints.iter().map(one).collect()
}

/// The hints of a document once there are so many.
async fn hints(work: &Work, name: &str, count: usize) -> Value {
    let uri = countersign::workspace::uri::from_path(&work.path(name));
    work.client
        .expect_notification_where(HINTS, |params| {
            params["uri"] == json!(uri) && params["diagnostics"].as_array().is_some_and(|all| all.len() == count)
        })
        .await
}

/// In every editor: on the lines of today, in its columns, moving with what is typed, gone when decided.
#[tokio::test]
async fn hints_lie_on_the_lines_that_wait() {
    for (editor, end) in [
        ("ale-4.0.0", 4),
        ("eglot-1.17.30", 3),
        ("helix-25.01.1", 6),
        ("helix-25.07.1", 6),
        ("kakoune-lsp-22.0.0", 6),
        ("lsp-mode-10.0.0", 3),
        ("nvim-0.10.4", 4),
        ("nvim-0.12.4", 6),
        ("vscode-1.139-lc11", 4),
        ("vscode-lc9", 4),
    ] {
        let work = Work::start(editor, &[("a.txt", TEXT)], proposes(PATCH)).await;
        if editor.starts_with("vscode") {
            // The preview stays open.
            work.client.on_request("workspace/applyEdit", |_| Reply::Never);
        }
        work.client.heed(HINTS);
        work.open("a.txt");
        work.fix("a.txt").await;
        let first = hints(&work, "a.txt", 2).await;
        assert_eq!(first["version"], 1, "{editor}");
        assert_eq!(
            told(&first),
            [
                (1, 1, end, "The agent's change 1 of 2, −1 +1: `2 😀` → `two`".to_owned()),
                (7, 7, 1, "The agent's change 2 of 2, +1: adds `7½`".to_owned()),
            ],
            "{editor}"
        );
        work.editor.type_at(&work.path("a.txt"), 0, "zero\n");
        let moved = hints(&work, "a.txt", 2).await;
        assert_eq!(moved["version"], 2, "{editor}");
        let lines: Vec<_> = told(&moved).iter().map(|hint| hint.0).collect();
        assert_eq!(lines, [2, 8], "{editor}");
        // Our own hints are no problems to be fixed.
        let own = json!({"diagnostics": moved["diagnostics"]});
        let actions = work.actions("a.txt", (2, 2), own).await;
        let fixes = actions
            .iter()
            .any(|action| action["title"].as_str().unwrap().contains("Fix"));
        assert!(!fixes, "{editor}: {actions:?}");
        // Taken back letter by letter or at once, only the last state counts.
        assert!(work.editor.undo(&work.path("a.txt")));
        let back = hints(&work, "a.txt", 2).await;
        assert_eq!(told(&back), told(&first), "{editor}");
        work.press_lens("a.txt", "✗ Reject").await;
        let one = hints(&work, "a.txt", 1).await;
        assert_eq!(told(&one)[0].0, 7, "{editor}");
        work.choose_action("a.txt", (7, 7), "Reject all of the agent's changes (2 files)")
            .await;
        hints(&work, "a.txt", 0).await;
        work.done().await;
        assert_eq!(work.client.take_unread(), [], "{editor}: told once");
    }
}

/// What is in conflict says why; a document that is opened later has its hints at once, one that is closed none.
#[tokio::test]
async fn hints_follow_documents_and_conflicts() {
    let work = Work::start("helix-25.07.1", &[("a.txt", TEXT), ("b.txt", "b\n")], proposes(PATCH)).await;
    work.client.heed(HINTS);
    work.open("b.txt");
    work.fix("b.txt").await;
    let question = work.question().await;
    work.open("a.txt");
    hints(&work, "a.txt", 2).await;
    work.editor.type_at(&work.path("a.txt"), 1, "not ");
    let conflict = hints(&work, "a.txt", 2).await;
    assert!(told(&conflict)[0].3.contains("does not fit any more"), "{conflict}");
    work.editor.close(&work.path("a.txt"));
    let gone = hints(&work, "a.txt", 0).await;
    assert!(gone["version"].is_null(), "{gone}");
    work.open("a.txt");
    assert_eq!(told(&hints(&work, "a.txt", 2).await)[0].0, 1);
    work.press(&question, "Reject");
    hints(&work, "a.txt", 0).await;
    work.done().await;
}

/// A file that would be deleted is marked at its beginning, and says so.
#[tokio::test]
async fn a_deletion_is_marked_once() {
    let work = Work::start(
        "helix-25.07.1",
        &[("a.txt", TEXT)],
        proposes("*** Delete File: a.txt\n"),
    )
    .await;
    work.client.heed(HINTS);
    work.open("a.txt");
    work.fix("a.txt").await;
    let hint = hints(&work, "a.txt", 1).await;
    let words = "The agent's deletion of a.txt, −9: removes `1`".to_owned();
    assert_eq!(told(&hint), [(0, 0, 1, words)]);
    let question = work.question().await;
    work.press(&question, "Reject");
    hints(&work, "a.txt", 0).await;
    work.done().await;
}

/// Whoever does not want them has none, and neither has an editor with our plugin.
#[tokio::test]
async fn hints_can_be_switched_off() {
    for (config, plugin) in [("edits.hints = false\n", false), ("", true)] {
        let setting = Setting {
            editor: "vscode-1.139-lc11",
            files: vec![("a.txt", TEXT.to_owned())],
            config: config.to_owned(),
            plugin,
            ..Setting::default()
        };
        let work = Work::with(setting, proposes(PATCH)).await;
        work.client.on_request("workspace/applyEdit", |_| Reply::Never);
        work.client.heed(HINTS);
        work.open("a.txt");
        work.fix("a.txt").await;
        while work.lenses("a.txt").await.is_empty() {}
        work.editor.type_at(&work.path("a.txt"), 0, "zero\n");
        work.choose_action("a.txt", (2, 2), "Reject all of the agent's changes (2 files)")
            .await;
        if plugin {
            work.output("call_1").await;
        } else {
            work.done().await;
        }
        work.client.settle().await;
        let trace = work.client.trace();
        assert!(!trace.iter().any(|method| method == HINTS), "{config:?} {plugin}");
    }
}

/// Nothing is put on documents that nothing waits for, nor on what is no file.
#[tokio::test]
async fn other_documents_are_left_alone() {
    let setting = Setting {
        files: vec![("a.txt", "a\n".to_owned())],
        place: Place::Process,
        ..Setting::default()
    };
    let work = Work::with(setting, calls("read_file", json!({"path": "a.txt"}))).await;
    work.client.heed(HINTS);
    work.open("a.txt");
    let ghost =
        json!({"uri": "vscode-bulkeditpreview-editor:/a.txt", "languageId": "text", "version": 1, "text": "a\n"});
    work.client
        .notify("textDocument/didOpen", json!({"textDocument": ghost}));
    work.fix("a.txt").await;
    work.done().await;
    work.client.settle().await;
    assert!(!work.client.trace().iter().any(|method| method == HINTS));
}
