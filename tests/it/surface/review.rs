//! Reviews in editors without our plugin: begun by a code action, shown as diagnostics that move with the text, and dealt with
//! where they lie.

use crate::support::git::git;
use crate::support::work::{Setting, Work, diagnostic, titles};
use countersign::workspace::uri;
use serde_json::{Value, json};

const DIAGNOSTICS: &str = "textDocument/publishDiagnostics";

async fn work(editor: &'static str, script: Value) -> Work {
    let text = "one\n  two 😀\nthree\n".to_owned();
    let setting = Setting {
        editor,
        files: vec![("a.txt", text.clone()), ("closed.txt", text)],
        ..Setting::default()
    };
    let work = Work::with(setting, script).await;
    git(&work.path(""), &["init", "-q", "-b", "main"]);
    git(&work.path(""), &["add", "."]);
    git(&work.path(""), &["commit", "-qm", "Begin"]);
    std::fs::write(work.path("new.txt"), "new\n").expect("a file");
    work.client.heed(DIAGNOSTICS);
    work
}

fn found(title: &str, priority: u8, path: &str, line: u32) -> Value {
    json!({
        "title": title,
        "body": "Because.",
        "confidence_score": 0.9,
        "priority": priority,
        "code_location": {"absolute_file_path": path, "line_range": {"start": line, "end": line}},
    })
}

fn result(findings: &[Value]) -> Value {
    let answer =
        json!({"findings": findings, "overall_correctness": "patch is incorrect", "overall_explanation": "So it is."});
    json!([{ "say": answer.to_string() }])
}

/// The diagnostics of a file once there are so many: line, columns, severity and title.
async fn shown(work: &Work, name: &str, count: usize) -> Vec<(u64, u64, u64, u64, String)> {
    let wanted = uri::from_path(&work.path(name));
    let params = work
        .client
        .expect_notification_where(DIAGNOSTICS, |params| {
            params["uri"] == json!(wanted) && params["diagnostics"].as_array().is_some_and(|all| all.len() == count)
        })
        .await;
    let all = params["diagnostics"].as_array().expect("a list").iter();
    let number = |value: &Value| value.as_u64().expect("a number");
    let one = |one: &Value| {
        assert_eq!(one["source"], "countersign review", "{one}");
        assert!(one["data"]["findingId"].is_string(), "{one}");
        let (start, end) = (&one["range"]["start"], &one["range"]["end"]);
        let title = one["message"]
            .as_str()
            .and_then(|message| message.lines().next())
            .unwrap_or_default()
            .to_owned();
        (
            number(&start["line"]),
            number(&start["character"]),
            number(&end["character"]),
            number(&one["severity"]),
            title,
        )
    };
    all.map(one).collect()
}

fn row(line: u64, start: u64, end: u64, severity: u64, title: &str) -> (u64, u64, u64, u64, String) {
    (line, start, end, severity, title.to_owned())
}

/// What else was shown on the way is no matter.
fn leave(work: &Work) {
    for method in [DIAGNOSTICS, "window/showMessage"] {
        work.client.ignore(method);
    }
}

async fn told(work: &Work, part: &str) -> String {
    let wanted = |params: &Value| params["message"].as_str().is_some_and(|message| message.contains(part));
    let shown = work
        .client
        .expect_notification_where("window/showMessage", wanted)
        .await;
    shown["message"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn findings_lie_on_their_lines_and_move_with_them() {
    for (editor, end) in [
        ("helix-25.07.1", 10),
        ("kakoune-lsp-22.0.0", 10),
        ("nvim-0.12.4", 10),
        ("vscode-1.139-lc11", 8),
        ("lsp-mode-10.0.0", 7),
    ] {
        let findings = [
            found("Mend two", 1, "a.txt", 2),
            found("See three", 3, "a.txt", 3),
            found("Elsewhere", 2, "closed.txt", 1),
        ];
        let work = work(editor, json!([result(&findings)])).await;
        work.open("a.txt");
        work.choose_action("a.txt", (0, 0), "Review uncommitted changes with agent")
            .await;
        let _unseen = told(&work, "3 findings").await;
        assert_eq!(
            shown(&work, "a.txt", 2).await,
            [row(1, 2, end, 1, "Mend two"), row(2, 0, 5, 3, "See three")],
            "{editor}"
        );
        assert_eq!(shown(&work, "closed.txt", 1).await, [row(0, 0, 3, 2, "Elsewhere")]);
        work.editor.type_at(&work.path("a.txt"), 0, "zero\n");
        assert_eq!(
            shown(&work, "a.txt", 2).await[0],
            row(2, 2, end, 1, "Mend two"),
            "{editor}"
        );
        // Typed into the line itself.
        work.editor.type_at(&work.path("a.txt"), 2, "x");
        assert_eq!(
            shown(&work, "a.txt", 1).await,
            [row(3, 0, 5, 3, "See three")],
            "{editor}"
        );
        std::fs::write(work.path("closed.txt"), "zero\none\n").expect("a file");
        assert_eq!(shown(&work, "closed.txt", 1).await, [row(1, 0, 3, 2, "Elsewhere")]);
        std::fs::remove_file(work.path("closed.txt")).expect("a file");
        shown(&work, "closed.txt", 0).await;
        leave(&work);
    }
}

#[tokio::test]
async fn a_finding_is_mended_or_dismissed_where_it_lies() {
    let findings = [
        found("Mend two", 1, "a.txt", 2),
        found("See two", 2, "a.txt", 2),
        found("Elsewhere", 2, "closed.txt", 1),
    ];
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-  two 😀\n+  TWO\n three\n*** End Patch\n";
    let script = json!([
        result(&findings),
        [{ "call": { "tool": "apply_patch", "arguments": { "input": patch }, "id": "call_1" } }],
        [{ "say": "All done." }],
    ]);
    let work = work("helix-25.07.1", script).await;
    work.open("a.txt");
    work.choose_action("a.txt", (0, 0), "Review uncommitted changes with agent")
        .await;
    shown(&work, "a.txt", 2).await;
    shown(&work, "closed.txt", 1).await;
    told(&work, "3 findings").await;
    work.idle("a.txt").await;
    let actions = work.actions("a.txt", (1, 1), json!({"diagnostics": []})).await;
    let names: Vec<&str> = actions.iter().filter_map(|action| action["title"].as_str()).collect();
    for name in [
        "Fix with agent: Mend two",
        "Dismiss finding: Mend two",
        "Dismiss finding: See two",
        "Dismiss all 3 findings of this review",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let fix = actions
        .iter()
        .find(|action| action["title"] == "Fix with agent: Mend two")
        .expect("a fix");
    assert_eq!(fix["kind"], "countersign.fix");
    assert_eq!(fix["diagnostics"][0]["source"], "countersign review");
    // Nothing of it runs on save, elsewhere nothing is offered, and our own is not offered as another's problem.
    for only in ["source.fixAll", "source.organizeImports"] {
        let context = json!({"diagnostics": [], "only": [only], "triggerKind": 2});
        assert!(work.actions("a.txt", (1, 1), context).await.is_empty(), "{only}");
    }
    let elsewhere = work.actions("a.txt", (2, 2), json!({"diagnostics": []})).await;
    assert!(
        elsewhere
            .iter()
            .all(|action| action["command"]["command"] != "countersign.fixFinding"),
        "{elsewhere:?}"
    );
    let mut own = fix["diagnostics"][0].clone();
    own["severity"] = json!(1);
    let context = json!({"diagnostics": [own, diagnostic(1, "another's")]});
    let both = work.actions("a.txt", (1, 1), context).await;
    let fixes = both
        .iter()
        .filter(|action| action["command"]["command"] == "countersign.fix")
        .count();
    assert_eq!(fixes, 1, "{both:?}");
    work.choose_action("a.txt", (1, 1), "Dismiss finding: See two").await;
    assert_eq!(shown(&work, "a.txt", 1).await.len(), 1);
    work.run(fix).await;
    work.accept().await;
    work.done().await;
    assert!(work.buffer("a.txt").contains("TWO"));
    // The agent was told in the conversation of the review; the mended line is not marked any more.
    let requests = work.model.requests();
    let asked = requests[1].input_texts();
    assert!(asked.iter().any(|text| text.starts_with("<user_action>")), "{asked:?}");
    assert!(
        requests[1]
            .last_user_text()
            .starts_with("Resolve this finding of the review: Mend two"),
        "{asked:?}"
    );
    assert!(
        asked
            .iter()
            .any(|text| text.contains("<editor_context>") && text.contains("line 2")),
        "{asked:?}"
    );
    shown(&work, "a.txt", 0).await;
    // What is run again finds nothing, and says so.
    work.run(fix).await;
    told(&work, "gone already").await;
    work.open("closed.txt");
    work.choose_action("closed.txt", (0, 0), "Dismiss finding: Elsewhere")
        .await;
    shown(&work, "closed.txt", 0).await;
    leave(&work);
}

#[tokio::test]
async fn what_to_review_is_asked_where_it_is_not_said() {
    let work = work("kakoune-lsp-22.0.0", json!([result(&[])])).await;
    git(&work.path(""), &["checkout", "-qb", "work"]);
    work.open("a.txt");
    work.choose_action("a.txt", (0, 0), "Review changes with agent…").await;
    let question = work.question().await;
    assert_eq!(
        titles(&question),
        ["Uncommitted changes", "Changes against main", "Last commit: Begin"]
    );
    work.press(&question, "Changes against main");
    let summary = told(&work, "Review of").await;
    assert!(summary.contains("changes against main: no findings"), "{summary}");
    // In words of the person's own, where the editor lets them write a command.
    let params = json!({"command": "countersign.reviewChanges", "arguments": [{"target": {"type": "baseBranch", "branch": "nowhere"}}]});
    work.client.call("workspace/executeCommand", params).await;
    told(&work, "no branch nowhere").await;
    for wrong in [
        json!({"target": {"type": "branch"}}),
        json!({"target": {"type": "commit", "sha": ""}}),
        json!(7),
    ] {
        let params = json!({"command": "countersign.reviewChanges", "arguments": [wrong]});
        let error = work
            .client
            .request("workspace/executeCommand", params)
            .await
            .expect_err("refused");
        assert_eq!(error.code, -32602, "{error:?}");
    }
    let params = json!({"command": "countersign.fixFinding", "arguments": [{"threadId": "t"}]});
    let error = work
        .client
        .request("workspace/executeCommand", params)
        .await
        .expect_err("refused");
    assert!(error.message.contains("findingId"), "{error:?}");
    leave(&work);
}
