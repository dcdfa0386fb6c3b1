//! When a proposal is asked about, and how: never in front of somebody who types, once, and never with a yes that is
//! filled in already.

use crate::support::client::Reply;
use crate::support::work::{Setting, Work, calls, proposes, titles};
use countersign::server::idle::PAUSE;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const NINE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const TWO_HUNKS: &str = "*** Update File: a.txt\n@@\n 1\n-2\n+two\n 3\n@@\n 7\n-8\n+eight\n 9\n";

const QUESTION: &str = "window/showMessageRequest";

fn was_asked(work: &Work) -> usize {
    work.client.trace().iter().filter(|method| *method == QUESTION).count()
}

/// A model that thinks until it is released, then does as told.
fn thinks_first(mut script: Value) -> Value {
    script[0]
        .as_array_mut()
        .expect("outputs")
        .insert(0, json!({"hold": "thinking"}));
    script
}

/// The person types while the model thinks, and goes on typing when its proposal is there. With a time just before the last key.
async fn typing(editor: &'static str, script: Value) -> (Work, Instant) {
    let work = Work::start(editor, &[("a.txt", NINE)], thinks_first(script)).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work.model.wait_for_hold("thinking").await;
    let mut last = Instant::now();
    work.editor.type_at(&work.path("a.txt"), 4, "typed ");
    work.model.release("thinking");
    while work.lenses("a.txt").await.is_empty() {
        last = Instant::now();
        work.editor.type_at(&work.path("a.txt"), 4, "on ");
    }
    (work, last)
}

/// In editors whose questions take the keys, nothing is asked before the keys are still; then it is asked once.
///
/// Shows S-127.
#[tokio::test]
async fn nobody_is_asked_while_they_type() {
    for editor in [
        "helix-25.07.1",
        "nvim-0.12.4",
        "eglot-1.17.30",
        "kakoune-lsp-22.0.0",
        "ale-4.0.0",
    ] {
        let (work, mut last) = typing(editor, proposes(TWO_HUNKS)).await;
        for _ in 0..5 {
            tokio::time::sleep(PAUSE / 5).await;
            let before = std::mem::replace(&mut last, Instant::now());
            work.editor.type_at(&work.path("a.txt"), 4, "more ");
            work.client.settle().await;
            if was_asked(&work) > 0 {
                // Only where the machine stood still for so long between two keys.
                last = before;
                break;
            }
        }
        let question = work.question().await;
        assert!(
            last.elapsed() >= PAUSE - Duration::from_millis(50),
            "{editor}: {:?}",
            last.elapsed()
        );
        // Other traffic goes on while it is open.
        work.client.settle().await;
        work.press(&question, "Reject");
        work.done().await;
        assert_eq!(was_asked(&work), 1, "{editor}");
    }
}

/// The same for commands; in VS Code, where questions stand aside, they come at once.
#[tokio::test]
async fn commands_are_asked_about_when_the_keys_are_still() {
    for (editor, waits) in [("helix-25.07.1", true), ("vscode-1.139-lc11", false)] {
        let command =
            json!({"command": ["touch", "made"], "with_escalated_permissions": true, "justification": "a test"});
        let script = thinks_first(calls("shell", command));
        let work = Work::start(editor, &[("a.txt", NINE)], script).await;
        work.open("a.txt");
        work.fix("a.txt").await;
        work.model.wait_for_hold("thinking").await;
        let typed = Instant::now();
        work.editor.type_at(&work.path("a.txt"), 0, "typed");
        work.client.settle().await;
        work.model.release("thinking");
        let question = work.question().await;
        let waited = typed.elapsed() >= PAUSE - Duration::from_millis(200);
        assert!(waited || !waits, "{editor}: {:?}", typed.elapsed());
        assert_eq!(titles(&question)[0], "Deny", "{editor}: what is filled in is no yes");
        work.press(&question, "Deny");
        work.done().await;
        assert_eq!(work.disk("made"), None, "{editor}");
    }
}

/// Whoever decides at the hunks while the question is held back is not asked any more.
///
/// Shows S-131.
#[tokio::test]
async fn who_has_found_the_hunks_is_not_asked() {
    let mut tries = 0;
    let work = loop {
        let (work, last) = typing("helix-25.07.1", proposes(TWO_HUNKS)).await;
        work.press_lens("a.txt", "Show").await;
        while work.editor.shown().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        work.client.settle().await;
        work.press_lens("a.txt", "✓ Accept").await;
        if last.elapsed() < PAUSE {
            break work;
        }
        tries += 1;
        assert!(tries < 10, "no hunk is found before the question would come");
    };
    tokio::time::sleep(PAUSE + Duration::from_millis(300)).await;
    assert_eq!(was_asked(&work), 0);
    assert_eq!(work.disk("a.txt").unwrap(), NINE, "the other one still waits");
    work.press_lens("a.txt", "✗ Reject").await;
    work.done().await;
    assert_eq!(was_asked(&work), 0);
    let output = work.output("call_1").await;
    assert!(output.contains("1 of 2 hunks"), "{output}");
}

/// In every editor: the first choice accepts nothing, the text tells all there is, and the entries are of the right kinds.
///
/// Shows S-108.
#[tokio::test]
async fn the_question_tells_what_there_is_and_begins_with_no_yes() {
    let patch = "*** Add File: new.txt\n+n\n+m\n*** Delete File: old.txt\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-1\n+one\n";
    for editor in [
        "ale-4.0.0",
        "eglot-1.17.30",
        "helix-25.01.1",
        "helix-25.07.1",
        "kakoune-lsp-22.0.0",
        "lsp-mode-10.0.0",
        "nvim-0.10.4",
        "nvim-0.12.4",
    ] {
        let work = Work::start(editor, &[("a.txt", NINE), ("old.txt", "old\n")], proposes(patch)).await;
        work.open("a.txt");
        work.fix("a.txt").await;
        let question = work.question().await;
        assert_eq!(
            titles(&question),
            ["Show the diff", "Decide in the files", "Accept all", "Reject"],
            "{editor}"
        );
        let message = question.params["message"].as_str().unwrap();
        let told = "3 files, +3 −2: new new.txt (+2), delete old.txt (−1), move a.txt to b.txt (+1 −1)";
        assert!(message.contains(told), "{editor}: {message}");
        work.press(&question, "Show the diff");
        let question = work.question().await;
        let diff = match work.editor.shown().first() {
            Some(path) => std::fs::read_to_string(path).expect("a diff"),
            None => {
                work.client.expect_notification("window/showMessage").await;
                let log = work.client.expect_log("diff --git").await;
                log["message"].as_str().unwrap().to_owned()
            }
        };
        for part in [
            "new file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+n\n+m\n",
            "deleted file mode 100644\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n",
            "rename from a.txt\nrename to b.txt\n--- a/a.txt\n+++ b/b.txt\n",
            "-1\n+one\n",
        ] {
            assert!(diff.contains(part), "{editor}: {part} is missing in {diff}");
        }
        work.press(&question, "Reject");
        work.done().await;
    }
}

/// A question about a change that is never answered waits, costs nothing, and counts for nothing once the turn is stopped.
///
/// Shows S-130, S-131.
#[tokio::test]
async fn a_question_about_a_change_waits_without_end() {
    let work = Work::start("eglot-1.17.30", &[("a.txt", NINE)], proposes(TWO_HUNKS)).await;
    work.client.on_request(QUESTION, |_| Reply::Never);
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    work.client.settle().await;
    work.choose_action("a.txt", (0, 0), "Stop the agent").await;
    work.client.expect_withdrawn(&question).await;
    work.client.answer(&question, Ok(json!({"title": "Accept all"})));
    work.client.settle().await;
    assert_eq!(
        (work.buffer("a.txt").as_str(), work.disk("a.txt").as_deref()),
        (NINE, Some(NINE))
    );
    assert_eq!(work.lenses("a.txt").await, [] as [Value; 0]);
}

/// In some editors the question takes the keys, so nobody can save while it stands: put away, it waits for that.
#[tokio::test]
async fn a_question_about_saving_that_is_put_away_waits_for_the_save() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+one\n*** End Patch\n";
    let script = json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "call_1"}}],
        [{"call": {"tool": "shell", "arguments": {"command": ["head", "-1", "a.txt"]}, "id": "call_2"}}],
        [{"say": "All done."}],
    ]);
    let setting = Setting {
        files: vec![("a.txt", NINE.to_owned())],
        ..Setting::default()
    };
    let work = Work::with(setting, script).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work.accept().await;
    let question = work.question().await;
    let message = question.params["message"].as_str().unwrap();
    assert!(
        message.contains("not saved") && message.contains("20 seconds"),
        "{message}"
    );
    work.client.answer(&question, Ok(json!(null)));
    work.client.settle().await;
    assert_eq!(work.model.requests().len(), 2, "the command waits");
    work.editor.save(&work.path("a.txt"));
    let output = work.output("call_2").await;
    assert!(output.contains("one"), "{output}");
    work.done().await;
}

/// The question about saving waits for the keys as well.
#[tokio::test]
async fn saving_is_asked_about_when_the_keys_are_still() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+one\n*** End Patch\n";
    let script = json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "call_1"}}],
        [{"hold": "thinking"}, {"call": {"tool": "shell", "arguments": {"command": ["true"]}, "id": "call_2"}}],
        [{"say": "All done."}],
    ]);
    let setting = Setting {
        files: vec![("a.txt", NINE.to_owned())],
        ..Setting::default()
    };
    let work = Work::with(setting, script).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work.accept().await;
    work.model.wait_for_hold("thinking").await;
    let typed = Instant::now();
    work.editor.type_at(&work.path("a.txt"), 4, "typed");
    work.client.settle().await;
    work.model.release("thinking");
    let question = work.question().await;
    assert!(
        typed.elapsed() >= PAUSE - Duration::from_millis(200),
        "{:?}",
        typed.elapsed()
    );
    assert!(
        question.params["message"].as_str().unwrap().contains("not saved"),
        "{question:?}"
    );
    work.press(&question, "Run without Saving");
    work.done().await;
}
