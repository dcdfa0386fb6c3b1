//! Proposals in VS Code's own preview: every part wants to be confirmed, and what the person ticked is read from the
//! files, since the answer does not tell.

use crate::support::client::Reply;
use crate::support::editor::Act;
use crate::support::work::{Setting, Work, proposes, titles};
use serde_json::{Value, json};

const PATCH: &str = "*** Update File: open.txt\n@@\n one\n-two\n+TWO\n three\n@@\n five\n-six\n+SIX\n seven\n\
                     *** Update File: shut.txt\n@@\n-x\n+X\n*** Add File: new/made.txt\n+made\n\
                     *** Delete File: old.txt\n*** Update File: from.txt\n*** Move to: to.txt\n@@\n-m\n+M\n";
const OPEN: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const FILES: &[(&str, &str)] = &[
    ("open.txt", OPEN),
    ("shut.txt", "x\n"),
    ("old.txt", "old\n"),
    ("from.txt", "m\nrest\n"),
];

async fn work(dirty: bool) -> Work {
    let work = Work::start("vscode-1.139-lc11", FILES, proposes(PATCH)).await;
    work.open("open.txt");
    if dirty {
        work.editor.type_at(&work.path("open.txt"), 0, "typed\n");
    }
    work
}

#[tokio::test]
async fn every_part_wants_to_be_confirmed() {
    for dirty in [false, true] {
        let work = work(dirty).await;
        work.fix("open.txt").await;
        work.done().await;
        let edits = work.editor.edits();
        assert_eq!(edits.len(), 1);
        let annotations = edits[0]["edit"]["changeAnnotations"].as_object().expect("annotations");
        let mut labels: Vec<_> = annotations.values().map(|one| one["label"].as_str().unwrap()).collect();
        labels.sort_unstable();
        assert_eq!(
            labels,
            [
                "Delete old.txt: −1".to_owned(),
                "Move from.txt to to.txt".to_owned(),
                "New file new/made.txt: +1".to_owned(),
                "from.txt: change 1 of 1, line 1: −1 +1".to_owned(),
                format!("open.txt: change 1 of 2, line {}: −1 +1", if dirty { 3 } else { 2 }),
                format!("open.txt: change 2 of 2, line {}: −1 +1", if dirty { 7 } else { 6 }),
                "shut.txt: change 1 of 1, line 1: −1 +1".to_owned(),
            ]
        );
        assert!(annotations.values().all(|one| one["needsConfirmation"] == true));
        let described: Vec<_> = annotations
            .values()
            .map(|one| one["description"].as_str().unwrap())
            .collect();
        for gist in [
            "`two` → `TWO`",
            "`six` → `SIX`",
            "made",
            "The agent would delete this file",
        ] {
            assert!(described.contains(&gist), "{described:?}");
        }
        let output = work.output("call_1").await;
        assert!(output.starts_with("Success."), "{output}");
        for name in ["A new/made.txt", "D old.txt", "M from.txt -> to.txt"] {
            assert!(output.contains(name), "{output}");
        }
        let typed = if dirty { "typed\n" } else { "" };
        assert_eq!(
            work.buffer("open.txt"),
            format!("{typed}one\nTWO\nthree\nfour\nfive\nSIX\nseven\n")
        );
        if dirty {
            // Text of the person's that is not saved stays so.
            assert!(edits[0]["metadata"].is_null());
            assert_eq!(work.disk("open.txt").unwrap(), OPEN);
            assert!(output.contains("M open.txt (in the editor, unsaved)"), "{output}");
            assert!(output.contains("A new/made.txt (in the editor, unsaved)"), "{output}");
            assert_eq!(work.disk("shut.txt").unwrap(), "x\n");
            assert_eq!(work.buffer("shut.txt"), "X\n", "a tab that nobody asked for");
        } else {
            assert_eq!(edits[0]["metadata"]["isRefactoring"], true);
            assert!(!output.contains("unsaved"), "{output}");
            assert_eq!(work.disk("shut.txt").unwrap(), "X\n");
            assert_eq!(work.disk("new/made.txt").unwrap(), "made\n");
            assert_eq!(work.disk("to.txt").unwrap(), "M\nrest\n");
        }
    }
}

/// Exactly what was ticked is told to the model; the rest the person did not want.
#[tokio::test]
async fn what_was_ticked_is_what_was_taken() {
    for (name, ticked, taken, left) in [
        (
            "one hunk of two",
            &["open.txt: change 2 of 2"][..],
            &["M open.txt", "1 of 6 hunks", "open.txt hunk 1 (line "][..],
            &["M shut.txt", "A new", "D old", "->"][..],
        ),
        (
            "closed and new",
            &["shut.txt: change 1 of 1", "New file new/made.txt"],
            &["M shut.txt", "A new/made.txt", "2 of 6 hunks", "open.txt hunk 2 (line "],
            &["M open.txt", "D old", "->"],
        ),
        (
            "deletion",
            &["Delete old.txt"],
            &["D old.txt", "1 of 6 hunks"],
            &["M open.txt", "A new", "->"],
        ),
        (
            "move with its change",
            &["Move from.txt", "from.txt: change 1 of 1"],
            &["M from.txt -> to.txt", "1 of 6 hunks"],
            &["D old", "M open.txt", "A new"],
        ),
    ] {
        for dirty in [false, true] {
            let work = work(dirty).await;
            work.editor
                .tick(move |label| ticked.iter().any(|one| label.starts_with(one)));
            work.fix("open.txt").await;
            work.done().await;
            let output = work.output("call_1").await;
            for part in taken {
                assert!(output.contains(part), "{name}: {part} is missing in {output}");
            }
            for part in left {
                assert!(!output.contains(part), "{name}: {part} is in {output}");
            }
        }
    }
}

/// A move of which the person took half is told as what it is.
#[tokio::test]
async fn half_a_move_is_told_as_it_is() {
    for (ticked, words) in [
        ("Move from.txt", "moved to"),
        ("from.txt: change 1 of 1", "was changed but not moved"),
    ] {
        let work = work(false).await;
        work.editor.tick(move |label| label.starts_with(ticked));
        work.fix("open.txt").await;
        let output = work.output("call_1").await;
        assert!(output.contains(words), "{output}");
        work.warned().await;
        work.done().await;
    }
}

/// Nothing ticked, or the panel closed: a no. The same with a reason, or after a claim that nothing backs, is trouble,
/// and the person hears of it.
#[tokio::test]
async fn a_preview_that_changed_nothing() {
    let ways: [(Act, &str, bool); 5] = [
        (Act::Refuse(None), "rejected the patch", false),
        (Act::Refuse(Some("the file is locked.")), "the file is locked.", true),
        (Act::Lie, "no part of it is in the files", true),
        (Act::OnlyDocuments(0, false), "rejected the patch", false),
        (Act::OnlyDocuments(1, false), "gave the change up", true),
    ];
    for (act, words, warns) in ways {
        let work = work(true).await;
        work.editor.next([act.clone()]);
        work.fix("open.txt").await;
        let output = work.output("call_1").await;
        assert!(output.contains(words), "{act:?}: {output}");
        if warns {
            let warning = work.warned().await;
            assert!(warning.contains(words), "{act:?}: {warning}");
        }
        if matches!(act, Act::OnlyDocuments(1, _)) {
            assert!(output.contains("M open.txt"), "what is there is told: {output}");
        }
        work.done().await;
        assert_eq!(work.disk("old.txt").as_deref(), Some("old\n"), "{act:?}");
    }
}

/// The person typed while the preview was open: it is made anew, with the hunks where their text is now; one whose text
/// was changed is left out.
#[tokio::test]
async fn a_preview_follows_what_is_typed() {
    let work = work(true).await;
    let path = work.path("open.txt");
    work.editor.next([
        Act::Outdated(path.clone(), 1, "above\n"),
        Act::Outdated(path, 7, "in it: "),
    ]);
    work.fix("open.txt").await;
    work.done().await;
    let edits = work.editor.edits();
    assert_eq!(edits.len(), 3);
    let of_open = |edit: &Value| -> Vec<Value> {
        let changes = edit["edit"]["documentChanges"].as_array().unwrap();
        let open = |change: &&Value| {
            change["textDocument"]["uri"]
                .as_str()
                .is_some_and(|uri| uri.ends_with("open.txt"))
        };
        changes.iter().find(open).unwrap()["edits"].as_array().unwrap().clone()
    };
    let lines = |edit: &Value| -> Vec<Value> {
        of_open(edit)
            .iter()
            .map(|one| one["range"]["start"]["line"].clone())
            .collect()
    };
    assert_eq!(lines(&edits[0]), [2, 6]);
    assert_eq!(lines(&edits[1]), [3, 7]);
    assert_eq!(lines(&edits[2]), [3]);
    let output = work.output("call_1").await;
    assert!(output.contains("5 of 6 hunks"), "{output}");
    assert_eq!(
        work.buffer("open.txt"),
        "typed\nabove\none\nTWO\nthree\nfour\nfive\nin it: six\nseven\n"
    );
}

/// An editor that cannot show it is asked by a message.
#[tokio::test]
async fn without_a_preview_a_message_asks() {
    for act in [
        Act::Error("no such panel"),
        Act::Rubbish(json!("?")),
        Act::Rubbish(Value::Null),
    ] {
        let work = work(false).await;
        work.editor.next([act.clone()]);
        work.fix("open.txt").await;
        let question = work.question().await;
        assert!(titles(&question).contains(&"Accept all".to_owned()), "{act:?}");
        work.press(&question, "Reject");
        work.done().await;
        assert!(work.output("call_1").await.contains("rejected"), "{act:?}");
    }
}

/// Decided at the hunks while the panel is open: the panel's question is taken back, and its late answer ignored.
#[tokio::test]
async fn lenses_decide_while_the_panel_is_open() {
    let patch = "*** Update File: open.txt\n@@\n one\n-two\n+TWO\n three\n";
    let work = Work::start("vscode-1.139-lc11", FILES, proposes(patch)).await;
    work.open("open.txt");
    let edits = std::sync::atomic::AtomicUsize::new(0);
    work.client.on_request("workspace/applyEdit", move |_| {
        // The preview is never answered; the plain edit that follows is refused.
        match edits.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Reply::Never,
            _ => Reply::Ok(json!({"applied": false})),
        }
    });
    work.fix("open.txt").await;
    let panel = work.client.expect_request("workspace/applyEdit").await;
    work.press_lens("open.txt", "✓ Accept").await;
    work.client.expect_withdrawn(&panel).await;
    work.client.answer(&panel, Ok(json!({"applied": true})));
    let output = work.output("call_1").await;
    assert!(output.contains("The editor refused the change"), "{output}");
    work.warned().await;
    work.done().await;
}

/// The person types in a file while the panel is open: the editor cannot apply it, and closing the panel is no word on the
/// change. It waits, and can be shown again, fitted to the text of then.
#[tokio::test]
async fn a_preview_that_was_overtaken_is_offered_again() {
    let patch = "*** Update File: open.txt\n@@\n one\n-two\n+TWO\n three\n";
    for title in [Some("Show again"), Some("Decide in the files"), Some("Reject"), None] {
        let work = Work::start("vscode-1.139-lc11", FILES, proposes(patch)).await;
        work.open("open.txt");
        let path = work.path("open.txt");
        work.editor.next([Act::TypedBefore(path, 0, "typed\n")]);
        work.fix("open.txt").await;
        let question = work.question().await;
        assert_eq!(titles(&question), ["Show again", "Decide in the files", "Reject"]);
        assert_eq!(work.lenses("open.txt").await.len(), 4, "it waits");
        match title {
            Some(title) => work.press(&question, title),
            None => work.client.answer(&question, Ok(Value::Null)),
        }
        let after = match title {
            Some("Show again") => "typed\none\nTWO\nthree\nfour\nfive\nsix\nseven\n",
            Some("Reject") => "typed\none\ntwo\nthree\nfour\nfive\nsix\nseven\n",
            pressed => {
                if pressed.is_some() {
                    work.client.expect_notification("window/showMessage").await;
                }
                work.press_lens("open.txt", "✓ Accept").await;
                "typed\none\nTWO\nthree\nfour\nfive\nsix\nseven\n"
            }
        };
        work.done().await;
        assert_eq!(work.buffer("open.txt"), after, "{title:?}");
        if title == Some("Show again") {
            let label = |edit: &Value| edit["edit"]["changeAnnotations"]["0.1"]["label"].clone();
            let labels: Vec<_> = work.editor.edits().iter().map(label).collect();
            assert_eq!(
                labels,
                [
                    "open.txt: change 1 of 1, line 2: −1 +1",
                    "open.txt: change 1 of 1, line 3: −1 +1"
                ]
            );
        }
    }
}

/// Two proposals at once.
async fn two_proposals() -> Work {
    two_proposals_in(false).await
}

/// The same, with our plugin in the editor or without.
async fn two_proposals_in(plugin: bool) -> Work {
    let patch =
        |name: &str| format!("*** Begin Patch\n*** Update File: {name}\n@@\n-{name}\n+changed\n*** End Patch\n");
    let call = |name: &str, id: &str| json!([{"call": {"tool": "apply_patch", "arguments": {"input": patch(name)}, "id": id}}]);
    let script = json!([
        {"when": {"request": 1}, "outputs": call("a.txt", "call_1")},
        {"when": {"request": 2}, "outputs": call("b.txt", "call_2")},
        {"when": {"request": 3}, "outputs": [{"say": "All done."}]},
        {"when": {"request": 4}, "outputs": [{"say": "All done."}]},
    ]);
    let setting = Setting {
        editor: "vscode-1.139-lc11",
        plugin,
        preview: plugin,
        files: ["a.txt", "b.txt"].map(|name| (name, format!("{name}\n"))).to_vec(),
        ..Setting::default()
    };
    let work = Work::with(setting, script).await;
    // Answered by the test, and by nobody else: a panel stays open although its question is taken back.
    work.client.on_request("workspace/applyEdit", |_| Reply::Never);
    work.open("a.txt");
    work.open("b.txt");
    work.fix("a.txt").await;
    while work.lenses("a.txt").await.is_empty() {}
    work.fix("a.txt").await;
    while work.lenses("b.txt").await.is_empty() {}
    work
}

fn previews(work: &Work) -> usize {
    work.client
        .trace()
        .iter()
        .filter(|method| *method == "workspace/applyEdit")
        .count()
}

/// VS Code shows one preview at a time; the second waits until the first is closed. Meanwhile it can be decided at its place.
#[tokio::test]
async fn one_preview_at_a_time() {
    let work = two_proposals().await;
    let first = work.client.expect_request("workspace/applyEdit").await;
    assert!(first.params["edit"].to_string().contains("a.txt"));
    work.client.settle().await;
    assert_eq!(previews(&work), 1);
    work.client.answer(&first, Ok(json!({"applied": false})));
    let second = work.client.expect_request("workspace/applyEdit").await;
    assert!(second.params["edit"].to_string().contains("b.txt"));
    work.done().await;
    work.client.answer(&second, Ok(json!({"applied": false})));
    work.done().await;
    assert_eq!(
        (work.buffer("a.txt").as_str(), work.buffer("b.txt").as_str()),
        ("a.txt\n", "b.txt\n")
    );
}

/// Decided at its place while it waits for its turn: no preview of it ever opens.
#[tokio::test]
async fn a_proposal_in_the_queue_is_decided_at_its_place() {
    let work = two_proposals().await;
    let first = work.client.expect_request("workspace/applyEdit").await;
    work.press_lens("b.txt", "✗ Reject").await;
    work.done().await;
    work.client.answer(&first, Ok(json!({"applied": false})));
    work.done().await;
    assert_eq!(previews(&work), 1);
}

/// What waits for its preview was not shown by that of another change: a lens shows it before it accepts it, also where our
/// plugin has left changes to the preview.
#[tokio::test]
async fn a_lens_accepts_no_change_that_waits_for_its_preview() {
    for plugin in [false, true] {
        let work = two_proposals_in(plugin).await;
        let first = work.client.expect_request("workspace/applyEdit").await;
        work.press_lens("b.txt", "✓ Accept").await;
        let question = work.question().await;
        let message = question.params["message"].as_str().unwrap_or_default();
        assert!(message.contains("-b.txt\n+changed"), "{plugin}: {message}");
        assert_eq!(titles(&question), ["Decide later", "Accept"], "{plugin}");
        work.press(&question, "Decide later");
        work.client.settle().await;
        assert_eq!(work.lenses("b.txt").await.len(), 4, "{plugin}: it still waits");
        for name in ["b.txt", "a.txt"] {
            work.press_lens(name, "✗ Reject").await;
            if !plugin {
                work.done().await;
            }
        }
        work.client.expect_withdrawn(&first).await;
        for call in ["call_1", "call_2"] {
            let output = work.output(call).await;
            assert!(output.contains("rejected"), "{plugin}: {output}");
        }
        assert_eq!(work.buffer("b.txt"), "b.txt\n");
        assert_eq!(previews(&work), 1);
    }
}

/// A panel that is left open although its change is decided cannot be closed by us: the next proposal is asked about by a
/// message, and as soon as the panel is closed there are previews again.
#[tokio::test]
async fn a_panel_that_is_left_open_holds_up_nothing() {
    let work = two_proposals().await;
    let first = work.client.expect_request("workspace/applyEdit").await;
    work.press_lens("a.txt", "✗ Reject").await;
    work.client.expect_withdrawn(&first).await;
    work.done().await;
    let question = work.question().await;
    assert!(
        question.params["message"].as_str().unwrap().contains("b.txt"),
        "{question:?}"
    );
    work.client.answer(&first, Ok(json!({"applied": false})));
    work.press(&question, "Reject");
    work.done().await;
    assert_eq!(previews(&work), 1);
}

/// One hunk decided at its place while the panel shows both: the panel's word does not count any more, the other hunk
/// waits at its place.
#[tokio::test]
async fn a_decision_at_a_hunk_takes_the_panel_back() {
    let work = work(false).await;
    work.client.on_request("workspace/applyEdit", |_| Reply::Later);
    work.fix("open.txt").await;
    let panel = work.client.expect_request("workspace/applyEdit").await;
    work.press_lens("open.txt", "✗ Reject").await;
    work.client.expect_withdrawn(&panel).await;
    work.client.answer(&panel, Ok(json!({"applied": false})));
    work.client.settle().await;
    assert_eq!(work.lenses("open.txt").await.len(), 4, "the second hunk waits");
    work.choose_action("open.txt", (5, 5), "Reject all of the agent's changes (5 files)")
        .await;
    work.done().await;
    assert!(work.output("call_1").await.contains("rejected"));
}
