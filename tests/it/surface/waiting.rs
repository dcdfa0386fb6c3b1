//! The commands about waiting changes, and what they cost.

use crate::support::client::Reply;
use crate::support::work::{Setting, Work, proposes, titles};
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const NINE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const PATCH: &str = "*** Update File: a.txt\n@@\n 1\n-2\n+two\n 3\n@@\n 7\n-8\n+eight\n 9\n*** Update File: b.txt\n@@\n-b\n+B\n\
                     *** Add File: new.txt\n+n\n";

async fn work() -> Work {
    let work = Work::start(
        "helix-25.07.1",
        &[("a.txt", NINE), ("b.txt", "b\n"), ("c.txt", "c\n")],
        proposes(PATCH),
    )
    .await;
    work.open("a.txt");
    work.open("c.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    work.press(&question, "Decide in the files");
    work.client.expect_notification("window/showMessage").await;
    // The first place is shown, and that is done before anything else is asked for.
    work.until("it is shown", |work| !work.editor.shown().is_empty()).await;
    work
}

async fn command(work: &Work, name: &str, arguments: Value) {
    let params = json!({"command": format!("countersign.{name}"), "arguments": arguments});
    work.client.call("workspace/executeCommand", params).await;
}

fn titles_of(actions: &[Value]) -> Vec<&str> {
    actions.iter().map(|action| action["title"].as_str().unwrap()).collect()
}

/// Only what makes sense at a place is offered there; nothing of it runs by itself.
#[tokio::test]
async fn each_place_offers_what_makes_sense_there() {
    let work = work().await;
    let none = json!({"diagnostics": []});
    let own = |titles: Vec<&str>| {
        titles
            .into_iter()
            .filter(|title| title.contains("agent's"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let here = [
        "Accept all 2 of the agent's changes in this file",
        "Reject all 2 of the agent's changes in this file",
        "Accept all of the agent's changes (3 files)",
        "Reject all of the agent's changes (3 files)",
        "Show all of the agent's changes (3 files)",
    ];
    let mut at_hunk = vec![
        "Accept the agent's change 1 of 2 (−1 +1)",
        "Reject the agent's change 1 of 2 (−1 +1)",
        "Reject the agent's change 1 of 2 with comment…",
        "Show the agent's change 1 of 2",
        "Go to the agent's next change (change 2 of 2, line 8)",
    ];
    at_hunk.extend(here);
    assert_eq!(
        own(titles_of(&work.actions("a.txt", (1, 1), none.clone()).await)),
        at_hunk
    );
    let mut between = vec!["Go to the agent's next change (change 2 of 2, line 8)"];
    between.extend(here);
    assert_eq!(
        own(titles_of(&work.actions("a.txt", (4, 4), none.clone()).await)),
        between
    );
    let elsewhere = [
        "Go to the agent's next change (a.txt, line 2)",
        "Show all of the agent's changes (3 files)",
        "Accept all of the agent's changes (3 files)",
        "Reject all of the agent's changes (3 files)",
    ];
    let actions = work.actions("c.txt", (0, 0), none.clone()).await;
    assert_eq!(own(titles_of(&actions)), elsewhere);
    for action in work.actions("a.txt", (1, 1), none.clone()).await {
        let kind = action["kind"].as_str().unwrap();
        let ours = action["title"].as_str().unwrap().contains("agent's");
        let shows = ["Show", "Go to"]
            .iter()
            .any(|word| action["title"].as_str().unwrap().starts_with(word));
        let expected = if shows {
            "countersign.show"
        } else {
            "countersign.decide"
        };
        assert!(!ours || kind == expected, "{action}");
        assert!(action["isPreferred"].is_null() && action["edit"].is_null(), "{action}");
    }
    // An editor that asks on each move of the cursor is told of what can be shown there, and nothing where nothing lies.
    let by_itself = json!({"diagnostics": [], "triggerKind": 2});
    let showing = at_hunk
        .iter()
        .filter(|title| title.starts_with("Show") || title.starts_with("Go to"));
    for (name, line, count) in [("a.txt", 1, showing.count()), ("a.txt", 4, 0), ("c.txt", 0, 0)] {
        let actions = work.actions(name, (line, line), by_itself.clone()).await;
        assert_eq!(own(titles_of(&actions)).len(), count, "{name} {line}: {actions:?}");
    }
    // Kinds that editors run on save never bring them.
    let on_save = json!({"diagnostics": [], "only": ["quickfix"], "triggerKind": 2});
    assert_eq!(work.actions("a.txt", (1, 1), on_save).await, [] as [Value; 0]);
    work.choose_action("c.txt", (0, 0), "Reject all of the agent's changes (3 files)")
        .await;
    work.done().await;
    let actions = work.actions("c.txt", (0, 0), none).await;
    assert_eq!(own(titles_of(&actions)), [""; 0]);
}

/// From change to change, over the files and around; a file that is still to be made is shown as its diff. The focus
/// follows, since the person asked.
#[tokio::test]
async fn the_next_change_is_gone_to() {
    let work = work().await;
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = asked.clone();
    work.client.on_request("window/showDocument", move |params| {
        seen.lock().unwrap().push(params.clone());
        Reply::Later
    });
    let uri = |name: &str| uri::from_path(&work.path(name));
    for (from, to) in [
        (json!([{"uri": uri("a.txt"), "line": 0}]), Some(("a.txt", 1))),
        (json!([{"uri": uri("a.txt"), "line": 1}]), Some(("a.txt", 7))),
        (json!([{"uri": uri("a.txt"), "line": 7}]), Some(("b.txt", 0))),
        (json!([{"uri": uri("b.txt"), "line": 0}]), None),
        (json!([{"uri": uri("new.txt"), "line": 0}]), Some(("a.txt", 1))),
        (json!([{"uri": uri("c.txt"), "line": 900}]), Some(("a.txt", 1))),
        (json!([{"uri": "untitled:1"}]), Some(("a.txt", 1))),
        (json!([]), Some(("a.txt", 1))),
        (
            json!([{"uri": "file:///a%zz", "line": 4_294_967_295u32}]),
            Some(("a.txt", 1)),
        ),
    ] {
        command(&work, "nextChange", from.clone()).await;
        let shown = work.client.expect_request("window/showDocument").await;
        assert_eq!(shown.params["takeFocus"], true, "{from}");
        match to {
            Some((name, line)) => {
                assert_eq!(shown.params["uri"], json!(uri(name)), "{from}");
                assert_eq!(
                    shown.params["selection"]["start"],
                    json!({"line": line, "character": 0}),
                    "{from}"
                );
            }
            None => {
                let shown = shown.params["uri"].as_str().unwrap();
                assert!(shown.ends_with(".diff"), "{from}: {shown}");
            }
        }
        work.client.answer(&shown, Ok(json!({"success": true})));
    }
    command(&work, "rejectAll", json!([])).await;
    work.done().await;
}

/// Each part is shown for itself, with the focus, since the person asked for it.
#[tokio::test]
async fn a_part_is_shown_by_itself() {
    let work = work().await;
    work.client.on_request("window/showDocument", |_| Reply::Later);
    work.editor.type_at(&work.path("a.txt"), 0, "zero\n");
    for (name, line, title, holds, lacks) in [
        ("a.txt", 2, "Show the agent's change 1 of 2", "@@ -1,6 +1,6 @@", "eight"),
        ("a.txt", 8, "Show the agent's change 2 of 2", "-8\n+eight", "two"),
        (
            "a.txt",
            2,
            "Show all of the agent's changes (3 files)",
            "+++ b/new.txt",
            "no such",
        ),
    ] {
        work.choose_action(name, (line, line), title).await;
        let shown = work.client.expect_request("window/showDocument").await;
        assert_eq!(shown.params["takeFocus"], true, "{title}");
        let path = uri::to_path(shown.params["uri"].as_str().unwrap()).unwrap().unwrap();
        let diff = std::fs::read_to_string(path).unwrap();
        assert!(diff.starts_with("# Countersign: "), "{title}: {diff}");
        assert!(diff.contains(holds) && !diff.contains(lacks), "{title}: {diff}");
        work.client.answer(&shown, Ok(json!({"success": true})));
    }
    let lenses = work.lenses("a.txt").await;
    let proposal = &lenses[0]["command"]["arguments"][0]["proposalId"];
    for (part, kind) in [("hunkId", "hunkNotFound"), ("path", "hunkNotFound")] {
        let params =
            json!({"command": "countersign.showProposal", "arguments": [{"proposalId": proposal, part: "/no/such"}]});
        let error = work
            .client
            .request("workspace/executeCommand", params)
            .await
            .expect_err("refused");
        assert_eq!(error.data["kind"], kind, "{error:?}");
    }
    command(&work, "rejectAll", json!([])).await;
    work.done().await;
}

/// Accept all and reject all need no argument where one proposal waits; the words reach the model.
///
/// Shows S-105.
#[tokio::test]
async fn all_is_decided_by_one_command() {
    for (name, arguments, accepted, words) in [
        ("acceptAll", json!([]), true, ""),
        ("acceptAll", json!([null]), true, ""),
        ("rejectAll", json!([{}]), false, ""),
        (
            "rejectAll",
            json!([{"feedback": "Not like this."}]),
            false,
            "Not like this.",
        ),
    ] {
        let work = work().await;
        command(&work, name, arguments.clone()).await;
        work.done().await;
        assert_eq!(
            work.disk("b.txt").unwrap(),
            if accepted { "B\n" } else { "b\n" },
            "{name} {arguments}"
        );
        assert_eq!(work.disk("new.txt").is_some(), accepted, "{name} {arguments}");
        assert!(work.output("call_1").await.contains(words), "{name} {arguments}");
    }
}

/// A rejection with words: ready-made ones where the editor cannot ask for the person's own. Nothing chosen, nothing decided.
///
/// Shows S-105.
#[tokio::test]
async fn a_change_is_rejected_with_words() {
    let work = work().await;
    let title = "Reject the agent's change 1 of 2 with comment…";
    for answer in [json!(null), json!({"title": "Because"}), json!([]), json!({})] {
        work.choose_action("a.txt", (1, 1), title).await;
        let question = work.question().await;
        assert_eq!(
            titles(&question),
            [
                "Wrong approach",
                "Too large a change",
                "Not here",
                "Reject without words"
            ]
        );
        work.client.answer(&question, Ok(answer));
    }
    work.choose_action("a.txt", (1, 1), title).await;
    let question = work.question().await;
    work.press(&question, "Too large a change");
    // The other decision comes with the person's own words, as a plugin sends them.
    let actions = loop {
        let actions = work.actions("a.txt", (1, 1), json!({"diagnostics": []})).await;
        if !titles_of(&actions).contains(&title) {
            break work.actions("a.txt", (7, 7), json!({"diagnostics": []})).await;
        }
    };
    let reject = actions
        .iter()
        .find(|action| action["title"] == "Reject the agent's change 2 of 2 with comment…");
    let mut argument = reject.expect("offered")["command"]["arguments"][0].clone();
    argument["feedback"] = json!("Eight stays eight.");
    command(&work, "decide", json!([argument])).await;
    command(&work, "rejectAll", json!([])).await;
    work.done().await;
    let output = work.output("call_1").await;
    for words in ["the smallest change that does it", "Eight stays eight."] {
        assert!(output.contains(words), "{output}");
    }
}

/// Where several wait, the person is asked which is meant, at once, and the first choice leaves all as it is.
#[tokio::test]
async fn several_proposals_are_asked_about() {
    let patch =
        |name: &str| format!("*** Begin Patch\n*** Update File: {name}\n@@\n-{name}\n+changed\n*** End Patch\n");
    let call = |name: &str, id: &str| json!([{"call": {"tool": "apply_patch", "arguments": {"input": patch(name)}, "id": id}}]);
    let script = json!([
        {"when": {"request": 1}, "outputs": call("a.txt", "call_1")},
        {"when": {"request": 2}, "outputs": call("b.txt", "call_2")},
        {"when": {"request": 3}, "outputs": [{"say": "All done."}]},
        {"when": {"request": 4}, "outputs": [{"say": "All done."}]},
    ]);
    let work = Work::start("eglot-1.17.30", &[("a.txt", "a.txt\n"), ("b.txt", "b.txt\n")], script).await;
    work.open("a.txt");
    for _ in 0..2 {
        work.fix("a.txt").await;
        let question = work.question().await;
        work.press(&question, "Decide in the files");
        work.client.expect_notification("window/showMessage").await;
    }
    let choices = ["Leave them all waiting", "1: a.txt (+1 −1)", "2: b.txt (+1 −1)"];
    for answer in [json!(null), json!({"title": choices[0]}), json!({"title": "3: c.txt"})] {
        command(&work, "acceptAll", json!([])).await;
        let question = work.question().await;
        assert_eq!(titles(&question), choices);
        work.client.answer(&question, Ok(answer));
    }
    command(&work, "showProposal", json!([])).await;
    let question = work.question().await;
    work.press(&question, choices[2]);
    // Who rejects it first gets nothing shown of it.
    work.until("two places and a diff are shown", |work| work.editor.shown().len() == 3)
        .await;
    command(&work, "rejectAll", json!([])).await;
    let question = work.question().await;
    work.press(&question, choices[2]);
    work.done().await;
    command(&work, "acceptAll", json!([])).await;
    work.done().await;
    assert_eq!(
        (work.buffer("a.txt").as_str(), work.disk("b.txt").unwrap().as_str()),
        ("changed\n", "b.txt\n")
    );
}

/// Two hundred hunks cost a code action request next to nothing, and its answer stays short. Lenses are asked for anew
/// only when something is different.
#[tokio::test]
async fn two_hundred_hunks_are_no_burden() {
    let line = |number: usize| format!("line {number}\n");
    let text: String = (0..2000).map(line).collect();
    let hunk = |number: usize| format!("@@\n-line {}\n+changed {number}\n", number * 10);
    let patch: String = (0..200).map(hunk).collect();
    let patch = format!("*** Update File: a.txt\n{patch}");
    let work = Work::start("nvim-0.12.4", &[("a.txt", &text)], proposes(&patch)).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    work.press(&question, "Decide in the files");
    work.client.expect_notification("window/showMessage").await;
    assert_eq!(work.lenses("a.txt").await.len(), 4 + 200 * 4);
    let refreshes = |work: &Work| {
        let trace = work.client.trace();
        trace
            .iter()
            .filter(|method| *method == "workspace/codeLens/refresh")
            .count()
    };
    // The proposal itself is the one difference.
    work.until("the lenses are asked for", |work| refreshes(work) == 1)
        .await;
    let start = Instant::now();
    for number in 0..50 {
        work.editor.type_at(&work.path("a.txt"), 5, "x");
        let actions = work
            .actions("a.txt", (number * 10, number * 10), json!({"diagnostics": []}))
            .await;
        assert!(actions.len() < 15, "{}", actions.len());
    }
    // Debug build on a busy machine; a hundredth of it where it counts.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(refreshes(&work), 1, "the lenses moved, and nothing else is different");
    command(&work, "rejectAll", json!([])).await;
    work.done().await;
    work.client.settle().await;
    assert!(refreshes(&work) <= 3, "{}", refreshes(&work));
}

/// An editor that shows no documents is told where things are.
#[tokio::test]
async fn without_documents_to_show_places_are_told() {
    let work = Work::start(
        "kakoune-lsp-22.0.0",
        &[("a.txt", NINE), ("b.txt", "b\n")],
        proposes(PATCH),
    )
    .await;
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    command(&work, "nextChange", json!([])).await;
    let told = work.client.expect_notification("window/showMessage").await;
    let told = told["message"].as_str().unwrap();
    assert!(
        told.contains("change 1 of 2, line 2 in") && told.contains("a.txt"),
        "{told}"
    );
    command(&work, "showProposal", json!([])).await;
    work.client.expect_log("-2\n+two").await;
    let told = work.client.expect_notification("window/showMessage").await;
    assert!(told["message"].as_str().unwrap().contains(".diff"), "{told}");
    work.press(&question, "Reject");
    work.done().await;
}

/// What waited when the editor was closed waits again in the next one. It is told of once and quietly: nothing is asked, in
/// front of a person who has just begun; it is decided at its place as ever.
///
/// Shows S-130.
#[tokio::test]
async fn what_waited_before_is_told_quietly() {
    for editor in ["helix-25.07.1", "vscode-1.139-lc11"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        std::fs::create_dir(&root).unwrap();
        let setting = |editor, files: &[(&'static str, &str)]| Setting {
            editor,
            files: files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect(),
            home: Some(folder.path().join("home")),
            folder: Some(root.clone()),
            ..Setting::default()
        };
        let files = &[("a.txt", NINE), ("b.txt", "b\n")];
        let mut before = Work::with(setting("helix-25.07.1", files), proposes(PATCH)).await;
        before.open("a.txt");
        before.fix("a.txt").await;
        let question = before.question().await;
        before.client.call("shutdown", Value::Null).await;
        before.client.expect_withdrawn(&question).await;
        before.client.notify("exit", Value::Null);
        assert_eq!(before.client.expect_end().await, 0, "{editor}");

        let work = Work::with(setting(editor, &[]), json!([])).await;
        let told =
            "A proposal of the agent from before waits: 3 files, +4 −3: a.txt (+2 −2), b.txt (+1 −1), new new.txt (+1)";
        if editor.starts_with("vscode") {
            let question = work.question().await;
            assert_eq!(question.params["message"], told);
            assert_eq!(titles(&question), ["Show", "Later"]);
            work.press(&question, "Show");
            work.until("it is shown", |work| !work.editor.shown().is_empty()).await;
        } else {
            let message = work.client.expect_notification("window/showMessage").await;
            assert!(message["message"].as_str().unwrap().starts_with(told), "{message}");
        }
        work.open("a.txt");
        assert_eq!(work.lenses("a.txt").await.len(), 12, "{editor}");
        command(&work, "acceptAll", json!([])).await;
        if editor.starts_with("helix") {
            // Where nothing was shown yet, it is shown now.
            let question = work.question().await;
            let shown = question.params["message"].as_str().unwrap();
            assert!(shown.contains("-b\n+B") && shown.contains("new.txt"), "{shown}");
            work.press(&question, "Accept");
        }
        work.until("it is applied", |work| {
            work.buffer("a.txt").contains("eight") && work.disk("new.txt").is_some()
        })
        .await;
        let trace = work.client.trace();
        let asked = trace
            .iter()
            .filter(|method| *method == "window/showMessageRequest")
            .count();
        assert_eq!(asked, 1, "{editor}");
        work.client.ignore("window/showMessage");
    }
}
