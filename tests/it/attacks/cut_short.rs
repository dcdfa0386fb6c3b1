//! Approvals of what was not wholly shown.

use super::repel;
use crate::support::client::Asked;
use crate::support::work::{Setting, Work, titles};
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const HELIX: &str = "helix-25.07.1";
const PATIENCE: Duration = Duration::from_secs(30);

/// A command that the attacker chooses; its last part makes a file.
#[derive(Debug)]
struct Row {
    carrier: &'static str,
    command: Vec<String>,
    justification: String,
}

fn row(carrier: &'static str, command: &[&str], justification: &str) -> Row {
    Row {
        carrier,
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        justification: justification.to_owned(),
    }
}

fn rows() -> Vec<Row> {
    let script = |filler: String| format!("true {filler}; touch made");
    let sh = |carrier, filler: String| row(carrier, &["sh", "-c", &script(filler)], "a test");
    let many: Vec<String> = (0..400).map(|number| format!("word{number}")).collect();
    let many: Vec<&str> = ["touch", "made"]
        .into_iter()
        .chain(many.iter().map(String::as_str))
        .collect();
    vec![
        sh("a long argument", "a".repeat(5000)),
        sh("just over what has room", "b".repeat(1300)),
        sh("line after line", "\n: step".repeat(300)),
        sh("wide letters", "語".repeat(1300)),
        sh("what is shown by its number", "\u{200b}".repeat(300)),
        row("many arguments", &many, "a test"),
        row(
            "the reason that is given",
            &["touch", "made"],
            &"It is needed. ".repeat(200),
        ),
        row("the reason, line by line", &["touch", "made"], &"ok\n".repeat(700)),
    ]
}

fn script(row: &Row) -> Value {
    json!([
        [{"call": {"tool": "shell", "id": "call_1", "arguments": {
            "command": row.command, "with_escalated_permissions": true, "justification": row.justification,
        }}}],
        [{"say": "All done."}],
    ])
}

async fn asked(row: &Row) -> (Work, Asked) {
    let work = Work::start(HELIX, &[("a.txt", "a\n")], script(row)).await;
    work.client.ignore("workspace/codeLens/refresh");
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    (work, question)
}

fn allows(title: &str) -> bool {
    ["Run", "Call", "Allow", "Always", "Accept"]
        .iter()
        .any(|word| title.contains(word))
}

/// What has no room in a message cannot be allowed by it, also where a title is sent back that was never offered.
#[tokio::test]
async fn a_message_allows_nothing_that_it_does_not_show() {
    let mut results = Vec::new();
    for row in rows() {
        let (work, question) = asked(&row).await;
        let message = question.params["message"].as_str().unwrap_or_default().to_owned();
        let offered = titles(&question);
        let mut trouble = Vec::new();
        if offered.iter().any(|title| allows(title)) {
            trouble.push(format!("it offers {offered:?}"));
        }
        if !message.contains("more characters") || !offered.contains(&"Show all".to_owned()) {
            trouble.push(format!("it does not say how much more there is: {message}"));
        }
        if message.chars().count() > 1500 {
            trouble.push("it is too long for a message".to_owned());
        }
        work.client.answer(&question, Ok(json!({"title": "Allow Once"})));
        work.done().await;
        if work.path("made").exists() {
            trouble.push("it ran".to_owned());
        }
        results.push((row.carrier, trouble));
    }
    repel(results, |(_, trouble)| match trouble.is_empty() {
        true => Ok(()),
        false => Err(trouble.join("; ")),
    });
}

/// The page of a question, once the server wants it to be shown.
async fn page(work: &Work) -> PathBuf {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(path) = work.editor.shown().into_iter().find(|path| path.ends_with_question()) {
            return path;
        }
        assert!(Instant::now() < deadline, "no page is shown");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

trait Page {
    fn ends_with_question(&self) -> bool;
}

impl Page for PathBuf {
    fn ends_with_question(&self) -> bool {
        self.parent().is_some_and(|folder| folder.ends_with("questions"))
    }
}

async fn actions(work: &Work, page: &Path) -> Vec<Value> {
    let params = json!({
        "textDocument": { "uri": uri::from_path(page) },
        "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 } },
        "context": { "diagnostics": [] },
    });
    let answer = work.client.call("textDocument/codeAction", params).await;
    answer.as_array().cloned().unwrap_or_default()
}

fn titled<'a>(actions: &'a [Value], begin: &str) -> Option<&'a Value> {
    let begins = |action: &&Value| action["title"].as_str().is_some_and(|title| title.starts_with(begin));
    actions.iter().find(begins)
}

/// The whole question is a page that only its owner can read, and there it can be decided.
#[tokio::test]
async fn the_whole_question_is_shown_and_decided_on_its_page() {
    let rows = rows();
    let (work, question) = asked(&rows[0]).await;
    work.press(&question, "Show all");
    let path = page(&work).await;
    let text = std::fs::read_to_string(&path).expect("the page");
    assert!(
        text.contains(&"a".repeat(5000)) && text.contains("touch made"),
        "{text}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).expect("the page").permissions().mode();
        assert_eq!(mode & 0o777, 0o400);
    }
    work.editor.open(&path);
    let actions = actions(&work, &path).await;
    let first = actions[0]["title"].as_str().unwrap_or_default();
    assert!(first.contains("Deny"), "the first is never a yes: {actions:?}");
    work.run(titled(&actions, "Agent: Allow Once").expect("a yes")).await;
    work.done().await;
    assert!(work.path("made").exists());
}

/// Where a page does not say what is asked, and where no document shows it, nothing is allowed.
#[tokio::test]
async fn a_page_that_was_changed_allows_nothing() {
    let rows = rows();
    let (work, question) = asked(&rows[0]).await;
    work.press(&question, "Show all");
    let path = page(&work).await;
    work.editor.open(&path);
    let before = actions(&work, &path).await;
    let yes = titled(&before, "Agent: Allow Once").expect("a yes").clone();
    work.editor.type_at(&path, 4, "x");
    work.client.settle().await;
    let after = actions(&work, &path).await;
    assert!(
        titled(&after, "Agent: Allow Once").is_none() && titled(&after, "Agent: Deny").is_some(),
        "{after:?}"
    );
    let given = &yes["command"]["arguments"][0];
    let elsewhere = uri::from_path(&work.path("a.txt"));
    for uri in [given["uri"].clone(), json!(elsewhere), Value::Null] {
        for decision in ["accept", "acceptForSession", "acceptAlways"] {
            let forged = json!({"approvalId": given["approvalId"], "decision": decision, "uri": uri});
            let params = json!({"command": "countersign.approve", "arguments": [forged]});
            work.client.call("workspace/executeCommand", params).await;
            assert!(work.warned().await.contains("Nothing was allowed"), "{uri} {decision}");
        }
    }
    work.run(titled(&after, "Agent: Deny").expect("a no")).await;
    work.done().await;
    assert!(!work.path("made").exists());
}

/// An editor that shows no documents says where to decide.
#[tokio::test]
async fn an_editor_without_documents_is_told_where_to_decide() {
    let rows = rows();
    let setting = Setting {
        editor: "kakoune-lsp-22.0.0",
        files: vec![("a.txt", "a\n".to_owned())],
        ..Setting::default()
    };
    let work = Work::with(setting, script(&rows[0])).await;
    work.client.ignore("workspace/codeLens/refresh");
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    let message = question.params["message"].as_str().unwrap_or_default().to_owned();
    let offered = titles(&question);
    assert!(!offered.iter().any(|title| allows(title)), "{offered:?}");
    match offered.contains(&"Show all".to_owned()) {
        true => assert!(message.contains("Show all"), "{message}"),
        false => assert!(
            message.contains("questions") && message.contains("code actions"),
            "{message}"
        ),
    }
    work.press(&question, "Deny");
    work.done().await;
    assert!(!work.path("made").exists());
}

/// A change is accepted by a message only where that shows what changes.
#[tokio::test]
async fn a_message_accepts_no_change_that_it_does_not_show() {
    let add = |name: &str, line: &str, count: usize| {
        let lines: String = (0..count).map(|number| format!("+{line}{number}\n")).collect();
        format!("*** Add File: {name}\n{lines}")
    };
    let patch = |body: &str| format!("*** Begin Patch\n{body}*** End Patch\n");
    let many: String = (0..60).map(|number| add(&format!("f{number}.txt"), "x", 1)).collect();
    let names: String = (0..12)
        .map(|number| add(&format!("{}{number}.txt", "n".repeat(120)), "x", 1))
        .collect();
    let mut results = Vec::new();
    for (name, body) in [
        ("many lines", add("made", "x", 300)),
        ("one long line", add("made", &"x".repeat(3000), 1)),
        ("many files", many),
        ("long names", names),
        ("what hides", add("made", &"\u{200b}".repeat(200), 1)),
        ("wide letters", add("made", &"語".repeat(1300), 1)),
    ] {
        let script = json!([
            [{"call": {"tool": "apply_patch", "arguments": {"input": patch(&body)}, "id": "call_1"}}],
            [{"say": "All done."}],
        ]);
        let work = Work::start(HELIX, &[("a.txt", "a\n")], script).await;
        work.client.ignore("workspace/codeLens/refresh");
        work.open("a.txt");
        work.fix("a.txt").await;
        let question = work.question().await;
        let offered = titles(&question);
        let message = question.params["message"].as_str().unwrap_or_default().to_owned();
        work.client.answer(&question, Ok(json!({"title": "Accept all"})));
        work.done().await;
        let is_safe = !offered.iter().any(|title| allows(title)) && !work.path("made").exists();
        let says = message.contains("more characters");
        results.push((name, is_safe && says, message));
    }
    repel(
        results,
        |(_, is_safe, message)| if *is_safe { Ok(()) } else { Err(message.clone()) },
    );
}

/// A change is accepted by no action, lens or command before it was shown: in a question or on a page.
#[tokio::test]
async fn an_action_accepts_no_change_that_was_not_shown() {
    let mut results = Vec::new();
    let file: String = (0..200).map(|number| format!("{number}\n")).collect();
    for (name, lines, by) in [
        ("the action of one change, short", 3, "Accept the agent's change 1"),
        ("the action of one change, long", 90, "Accept the agent's change 1"),
        ("the action of all changes", 90, "Accept all"),
        ("the command", 90, "countersign.acceptAll"),
    ] {
        // Two changes, so that the first question has no room for both.
        let changed = |from: usize, count: usize, new: &str| {
            let old: String = (from..from + count).map(|number| format!("-{number}\n")).collect();
            old + &(from..from + count)
                .map(|number| format!("+{new}{number}\n"))
                .collect::<String>()
        };
        let patch = format!(
            "*** Begin Patch\n*** Update File: a.txt\n@@\n{}@@\n{}*** End Patch\n",
            changed(0, lines, "x"),
            changed(150, 40, "y")
        );
        let script = json!([
            [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "call_1"}}],
            [{"say": "All done."}],
        ]);
        let work = Work::start(HELIX, &[("a.txt", &file)], script).await;
        work.client.ignore("workspace/codeLens/refresh");
        work.open("a.txt");
        work.fix("a.txt").await;
        let first = work.question().await;
        assert!(!titles(&first).iter().any(|title| allows(title)), "{name}");
        let accept = async || match by {
            "countersign.acceptAll" => {
                let params = json!({"command": by, "arguments": []});
                work.client.call("workspace/executeCommand", params).await;
            }
            by => {
                let actions = work.actions("a.txt", (0, 0), json!({"diagnostics": []})).await;
                let titled = |action: &&Value| action["title"].as_str().is_some_and(|title| title.starts_with(by));
                let action = actions
                    .iter()
                    .find(titled)
                    .unwrap_or_else(|| panic!("no {by} in {actions:?}"));
                work.run(action).await;
            }
        };
        accept().await;
        if lines == 3 {
            // A question shows it.
            let question = work.question().await;
            let message = question.params["message"].as_str().unwrap_or_default();
            let shows = message.contains("+x0") && message.contains("+x2") && !message.contains("y150");
            results.push((name, shows && work.buffer("a.txt") == file, message.to_owned()));
            work.press(&question, "Decide later");
        } else {
            let message = work.client.expect_notification("window/showMessage").await;
            let message = message["message"].as_str().unwrap_or_default().to_owned();
            assert!(message.contains("had not been shown yet"), "{name}: {message}");
            let page = std::fs::read_to_string(&work.editor.shown()[0]).expect("a diff");
            let shows = page.contains("+x0") && page.contains("+x89");
            results.push((name, shows && work.buffer("a.txt") == file, page));
            work.client.settle().await;
            // Once it was shown, the same action accepts.
            accept().await;
            work.client.settle().await;
            if by.ends_with('1') {
                // Written once all of them are decided.
                let rest = json!({"command": "countersign.rejectAll", "arguments": []});
                work.client.call("workspace/executeCommand", rest).await;
            }
            let begun = Instant::now();
            while !work.buffer("a.txt").starts_with("x0\n") {
                assert!(begun.elapsed() < PATIENCE, "{name}: what was shown is not accepted");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            work.done().await;
        }
        work.client.settle().await;
    }
    repel(
        results,
        |(_, is_safe, message)| if *is_safe { Ok(()) } else { Err(message.clone()) },
    );
}

/// A change that could not be accepted when the rest was shown is not accepted with it once it can.
#[tokio::test]
async fn a_change_that_fits_again_is_shown_before_it_is_accepted() {
    let file: String = (0..60).map(|number| format!("{number}\n")).collect();
    let old: String = (0..60).map(|number| format!("-{number}\n")).collect();
    let new: String = (0..60).map(|number| format!("+x{number}\n")).collect();
    let patch = format!(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n{old}{new}*** Update File: b.txt\n@@\n-two\n+TWO\n*** End Patch\n"
    );
    let script = json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "call_1"}}],
        [{"say": "All done."}],
    ]);
    let work = Work::start(HELIX, &[("a.txt", &file), ("b.txt", "two\n")], script).await;
    work.client.ignore("workspace/codeLens/refresh");
    work.open("a.txt");
    work.fix("a.txt").await;
    let first = work.question().await;
    assert!(!titles(&first).iter().any(|title| allows(title)));
    std::fs::write(work.path("b.txt"), "other\n").expect("written");
    let accept_all = json!({"command": "countersign.acceptAll", "arguments": []});
    for shown in [1, 2] {
        work.client.call("workspace/executeCommand", accept_all.clone()).await;
        let message = work.client.expect_notification("window/showMessage").await;
        let message = message["message"].as_str().unwrap_or_default();
        assert!(message.contains("had not been shown yet"), "{message}");
        let page = std::fs::read_to_string(&work.editor.shown()[shown - 1]).expect("a diff");
        assert_eq!(page.contains("\n+TWO"), shown == 2, "{page}");
        // Now it fits again, and nobody has seen it.
        std::fs::write(work.path("b.txt"), "two\n").expect("written");
    }
    work.client.settle().await;
    assert_eq!(work.buffer("a.txt"), file);
    assert_eq!(work.disk("b.txt").as_deref(), Some("two\n"));
    work.client.call("workspace/executeCommand", accept_all).await;
    work.done().await;
    assert_eq!(work.disk("b.txt").as_deref(), Some("TWO\n"));
}

/// Where an editor shows no documents, a change that its log has no room for is accepted only while its diff is open, with all of
/// its text.
#[tokio::test]
async fn a_change_that_no_log_has_room_for_is_accepted_while_its_diff_is_open() {
    let lines: String = (0..9000).map(|number| format!("+line {number} of it\n")).collect();
    let patch = format!("*** Begin Patch\n*** Add File: made\n{lines}*** End Patch\n");
    let script = json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "call_1"}}],
        [{"say": "All done."}],
    ]);
    let work = Work::start("kakoune-lsp-22.0.0", &[("a.txt", "a\n")], script).await;
    work.client.ignore("workspace/codeLens/refresh");
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    assert!(!titles(&question).iter().any(|title| allows(title)));
    let accept_all = async || {
        let params = json!({"command": "countersign.acceptAll", "arguments": []});
        work.client.call("workspace/executeCommand", params).await;
    };
    // However often it is asked for.
    let mut diff = PathBuf::new();
    for _ in 0..2 {
        accept_all().await;
        let message = work.client.expect_notification("window/showMessage").await;
        let message = message["message"].as_str().unwrap_or_default();
        let (_, path) = message.split_once("It is in the file ").expect("where it is");
        diff = PathBuf::from(path.split_once(": the change").expect("what then").0);
        let then = work.client.expect_notification("window/showMessage").await;
        let then = then["message"].as_str().unwrap_or_default();
        assert!(
            then.contains("not accepted") && then.contains("while that is open"),
            "{then}"
        );
    }
    // A text of that name that is not the diff shows nothing.
    let text = std::fs::read_to_string(&diff).expect("the diff");
    assert!(text.contains("+line 8999 of it"));
    work.client.open(&diff, "diff", 1, text.split_at(text.len() / 2).0);
    accept_all().await;
    for _ in 0..2 {
        work.client.expect_notification("window/showMessage").await;
    }
    work.client.settle().await;
    assert!(!work.path("made").exists());
    let whole = json!({
        "textDocument": { "uri": uri::from_path(&diff), "version": 2 }, "contentChanges": [{ "text": text }],
    });
    work.client.notify("textDocument/didChange", whole);
    accept_all().await;
    work.done().await;
    assert!(work.path("made").exists());
}

/// A page shows the mode that a file gets, also where no line of it changes or where it has many.
#[cfg(unix)]
#[tokio::test]
async fn a_page_shows_the_mode_that_a_file_gets() {
    use std::os::unix::fs::PermissionsExt as _;
    let lines: String = (0..90).map(|number| format!("+line {number}\n")).collect();
    let patch = format!(
        "diff --git a/a.sh b/a.sh\nold mode 100644\nnew mode 100755\n--- a/a.sh\n+++ b/a.sh\n@@ -1 +1,91 @@\n one\n{lines}\
         diff --git a/b.sh b/b.sh\nold mode 100644\nnew mode 100755\n\
         diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+x\n"
    );
    let script = json!([
        [{"call": {"tool": "apply_patch", "arguments": {"input": patch}, "id": "call_1"}}],
        [{"say": "All done."}],
    ]);
    let files = [("a.txt", "a\n"), ("a.sh", "one\n"), ("b.sh", "b\n")];
    let work = Work::start(HELIX, &files, script).await;
    work.client.ignore("workspace/codeLens/refresh");
    work.open("a.txt");
    work.fix("a.txt").await;
    let first = work.question().await;
    assert!(!titles(&first).iter().any(|title| allows(title)));
    let accept_all = json!({"command": "countersign.acceptAll", "arguments": []});
    work.client.call("workspace/executeCommand", accept_all.clone()).await;
    let message = work.client.expect_notification("window/showMessage").await;
    let message = message["message"].as_str().unwrap_or_default();
    assert!(message.contains("had not been shown yet"), "{message}");
    let page = std::fs::read_to_string(&work.editor.shown()[0]).expect("a diff");
    let (a, rest) = page
        .split_once("diff --git a/b.sh b/b.sh\n")
        .expect("the file of a mode alone");
    let (b, new) = rest.split_once("diff --git a/new.sh b/new.sh\n").expect("the new file");
    assert!(a.contains("old mode 100644\nnew mode 100755\n"), "{page}");
    assert_eq!(b, "old mode 100644\nnew mode 100755\n");
    assert!(new.starts_with("new file mode 100755\n"), "{page}");
    work.client.settle().await;
    work.client.call("workspace/executeCommand", accept_all).await;
    work.done().await;
    for name in ["a.sh", "b.sh", "new.sh"] {
        let mode = std::fs::metadata(work.path(name))
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o100, 0o100, "{name}");
    }
}
