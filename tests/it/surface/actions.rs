//! Code actions, lenses and commands.

use crate::support::client::{Caps, Client, Place, Reply, ServerOptions};
use crate::support::work::{Setting, Work, diagnostic, proposes, titles};
use countersign::workspace::uri;
use serde_json::{Value, json};

fn titles_of(actions: &[Value]) -> Vec<&str> {
    actions
        .iter()
        .map(|action| action["title"].as_str().expect("a title"))
        .collect()
}

/// Every action is a command with all it needs, whatever the editor; no edit, nothing to resolve, nothing on save.
#[tokio::test]
async fn every_editor_is_offered_commands() {
    for editor in [
        "ale-4.0.0",
        "eglot-1.17.30",
        "helix-25.01.1",
        "helix-25.07.1",
        "kakoune-lsp-22.0.0",
        "lsp-mode-10.0.0",
        "nvim-0.10.4",
        "nvim-0.12.4",
        "vscode-1.139-lc11",
        "vscode-lc9",
    ] {
        let setting = Setting {
            editor,
            files: vec![("a.py", "x = 1\ny = 2\n".to_owned())],
            place: Place::Thread,
            ..Setting::default()
        };
        let work = Work::with(setting, json!([])).await;
        let provider = &work.client.server_says["capabilities"]["codeActionProvider"];
        assert_eq!(provider["resolveProvider"], false, "{editor}");
        assert!(provider["codeActionKinds"].is_null(), "{editor}: {provider}");
        let own = json!({"range": diagnostic(0, "")["range"], "source": "countersign", "message": "ours"});
        let context = json!({"diagnostics": [diagnostic(0, "first"), own, diagnostic(1, "second\nand more")]});
        let actions = work.actions("a.py", (0, 2), context.clone()).await;
        assert_eq!(
            titles_of(&actions),
            [
                "Fix with agent: first",
                "Fix with agent: second",
                "Fix all 2 problems here with agent",
                "Ask agent to rewrite the selection…",
                "Ask agent about the selection…",
                "Review this file with agent",
            ],
            "{editor}"
        );
        let commands = &work.client.server_says["capabilities"]["executeCommandProvider"]["commands"];
        for action in &actions {
            assert!(action["edit"].is_null() && action["data"].is_null(), "{action}");
            assert!(
                action["isPreferred"].is_null(),
                "nothing that a key runs unseen: {action}"
            );
            assert!(
                commands.as_array().unwrap().contains(&action["command"]["command"]),
                "{action}"
            );
        }
        assert_eq!(actions[0]["diagnostics"], json!([diagnostic(0, "first")]), "{editor}");
        // The server hears its own argument again, as it is.
        let place = &actions[1]["command"]["arguments"][0];
        assert_eq!(place["lines"], json!({"start": 1, "end": 2}));
        assert_eq!(place["diagnostics"][0]["message"], "second\nand more");
        let kinds: Vec<_> = actions.iter().map(|action| action["kind"].as_str().unwrap()).collect();
        let (fix, rewrite, review) = ("countersign.fix", "countersign.rewrite", "countersign.review");
        assert_eq!(kinds, [fix, fix, fix, rewrite, rewrite, review], "{editor}");
        // On save, editors ask by themselves.
        let on_save = json!({"diagnostics": [diagnostic(0, "x")], "only": ["source", "quickfix"], "triggerKind": 2});
        assert_eq!(
            work.actions("a.py", (0, 2), on_save).await,
            [] as [Value; 0],
            "{editor}"
        );
        // A cursor selects nothing.
        let actions = work.actions("a.py", (1, 1), json!({"diagnostics": []})).await;
        assert_eq!(titles_of(&actions), ["Review this file with agent"], "{editor}");
    }
}

/// An editor may give the server only the server's own diagnostics: who asks by hand is offered to have fixed what only they see. Our
/// plugins give all there are, so where they give none there is nothing to fix.
#[tokio::test]
async fn what_the_server_does_not_see_is_fixed_by_hand_only() {
    let title = "Fix problems here with agent";
    for (plugin, diagnostics, trigger, offered) in [
        (false, json!([]), json!(1), true),
        (false, json!([]), json!(2), false),
        (false, json!([]), json!(null), false),
        (false, json!([diagnostic(0, "seen")]), json!(1), false),
        (true, json!([]), json!(1), false),
    ] {
        let setting = Setting {
            editor: "vscode-1.139-lc11",
            plugin,
            files: vec![("a.py", "x = 1\n".to_owned())],
            place: Place::Thread,
            ..Setting::default()
        };
        let work = Work::with(setting, json!([])).await;
        let mut context = json!({"diagnostics": diagnostics});
        if !trigger.is_null() {
            context["triggerKind"] = trigger.clone();
        }
        let actions = work.actions("a.py", (0, 0), context.clone()).await;
        assert_eq!(
            titles_of(&actions).contains(&title),
            offered,
            "plugin {plugin}: {context}"
        );
    }
}

/// An editor of the older kind takes bare commands.
#[tokio::test]
async fn without_literals_actions_are_commands() {
    let client = Client::start(ServerOptions {
        place: Place::Thread,
        caps: Caps::Bare,
        ..ServerOptions::default()
    })
    .await;
    let params = json!({
        "textDocument": {"uri": "file:///w/a.py"},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}},
        "context": {"diagnostics": [diagnostic(0, "wrong")]},
    });
    let actions = client.call("textDocument/codeAction", params).await;
    for action in actions.as_array().expect("a list") {
        assert!(
            action["command"].is_string() && action["arguments"].is_array(),
            "{action}"
        );
        assert_eq!(action.as_object().unwrap().len(), 3, "{action}");
    }
    // What is no file gets nothing.
    for uri in ["untitled:Untitled-1", "git:/w/a.py", "file:///a%ff", "nonsense:"] {
        let params = json!({
            "textDocument": {"uri": uri},
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}},
            "context": {"diagnostics": [diagnostic(0, "wrong")]},
        });
        assert_eq!(client.call("textDocument/codeAction", params).await, json!([]), "{uri}");
    }
}

/// The model hears the diagnostic, the file and the place; Stop is on offer as long as the turn runs, and stops it.
#[tokio::test]
async fn a_fix_is_told_to_the_model_and_can_be_stopped() {
    let script = json!([[{"hold": "thinking"}, {"say": "All done."}]]);
    let work = Work::start("helix-25.07.1", &[("src/a b.py", "x = 1\n")], script).await;
    work.open("src/a b.py");
    work.fix("src/a b.py").await;
    let requests = work.model.wait_for_requests(1).await;
    let told = requests[0].input_texts().join("\n");
    for part in ["Fix this problem: something is wrong", "src/a b.py", "linter", "E1"] {
        assert!(told.contains(part), "{part} is missing in {told}");
    }
    work.choose_action("src/a b.py", (0, 0), "Stop the agent").await;
    // Stopped: the action is gone, and no answer of the agent is shown.
    work.idle("src/a b.py").await;
}

/// The instruction comes with the argument, or is chosen from a list; a closed list is no instruction.
#[tokio::test]
async fn a_selection_is_asked_about_and_rewritten() {
    let script = json!([
        {"when": {"last_user": "simpler"}, "outputs": [{"say": "All done."}]},
        {"when": {"last_user": "in French"}, "outputs": [{"say": "All done."}]},
    ]);
    let work = Work::start("nvim-0.12.4", &[("a.py", "a\nb\nc\nd\n")], script).await;
    work.open("a.py");
    for answer in [
        json!(null),
        json!({"title": "no such"}),
        json!({"title": 5}),
        json!("rubbish"),
        json!([]),
    ] {
        work.choose_action("a.py", (1, 3), "Ask agent to rewrite the selection…")
            .await;
        let question = work.question().await;
        assert_eq!(
            titles(&question),
            [
                "Simplify",
                "Handle errors",
                "Add documentation",
                "Add tests",
                "Write your own…"
            ]
        );
        let message = question.params["message"].as_str().unwrap();
        assert!(message.contains("lines 2 to 3 of a.py"), "{message}");
        work.client.answer(&question, Ok(answer));
    }
    work.choose_action("a.py", (1, 3), "Ask agent to rewrite the selection…")
        .await;
    let question = work.question().await;
    work.press(&question, "Simplify");
    work.done().await;
    let requests = work.model.requests();
    assert_eq!(requests.len(), 1, "only a choice starts a turn");
    assert!(requests[0].input_texts().join("\n").contains("lines 2-3"));
    let place = json!({"uri": uri::from_path(&work.path("a.py")), "lines": {"start": 0, "end": 1},
        "instruction": "Say it in French"});
    let command = json!({"command": "countersign.rewrite", "arguments": [place]});
    work.client.call("workspace/executeCommand", command).await;
    work.done().await;
}

/// Commands with bad arguments are refused with words, at once, and nothing begins.
#[tokio::test]
async fn commands_with_bad_arguments_are_refused_in_words() {
    let work = Work::start("helix-25.07.1", &[("a.py", "x\n")], json!([])).await;
    for command in ["fix", "ask", "rewrite", "reviewFile", "decide", "rejectWithWords"] {
        let command = format!("countersign.{command}");
        for arguments in [
            None,
            Some(json!(null)),
            Some(json!([])),
            Some(json!([null])),
            Some(json!([3])),
            Some(json!([[]])),
            Some(json!(["file:///a.py"])),
            Some(json!([{}])),
            Some(json!([{"uri": 3}])),
            Some(json!([{"uri": "file:///a.py", "lines": "all"}])),
            Some(json!([{"uri": "file:///a.py", "lines": {"start": -1, "end": 2}}])),
            Some(json!([{"uri": "untitled:1"}])),
            Some(json!([{"uri": "file://elsewhere/a.py"}])),
            Some(json!([{"uri": "file:///a%zz"}])),
            Some(json!([{"uri": ""}])),
            Some(json!([{"proposalId": "p", "decision": "perhaps"}])),
            Some(json!([{"proposalId": "p", "decision": "reject", "hunkIds": "h"}])),
        ] {
            let mut params = json!({"command": command});
            if let Some(arguments) = &arguments {
                params["arguments"] = arguments.clone();
            }
            let error = work
                .client
                .request("workspace/executeCommand", params)
                .await
                .expect_err("refused");
            assert_eq!(error.code, -32602, "{command} {arguments:?}: {error:?}");
            assert_eq!(
                error.data["kind"], "invalidParams",
                "{command} {arguments:?}: {error:?}"
            );
            assert!(error.message.len() > 20, "{command} {arguments:?}: {error:?}");
        }
    }
    // Where an argument may be missing it is refused all the same if it is not understood.
    for (command, arguments) in [
        ("decide", json!([{"proposalId": "p"}])),
        ("showProposal", json!([7])),
        ("showProposal", json!(["p"])),
        ("showProposal", json!([{"proposal": "p"}])),
        ("showProposal", json!([{"proposalId": 7}])),
        ("nextChange", json!([[]])),
        ("nextChange", json!([{"line": -1}])),
        ("nextChange", json!([{"uri": 7}])),
        ("acceptAll", json!(["all"])),
        ("acceptAll", json!([{"proposalIds": ["p"]}])),
        ("rejectAll", json!([true])),
    ] {
        let params = json!({"command": format!("countersign.{command}"), "arguments": arguments});
        let error = work.client.request("workspace/executeCommand", params).await;
        let error = error.expect_err("refused");
        assert_eq!(error.code, -32602, "{command} {arguments}: {error:?}");
    }
    for (command, arguments, kind) in [
        (
            "decide",
            json!([{"proposalId": "p", "decision": "accept"}]),
            "proposalNotFound",
        ),
        (
            "decide",
            json!([{"proposalId": "", "decision": "reject", "hunkIds": ["h"]}]),
            "proposalNotFound",
        ),
        ("rejectWithWords", json!([{"proposalId": "p"}]), "proposalNotFound"),
        ("showProposal", json!([{"proposalId": "p"}]), "proposalNotFound"),
        ("acceptAll", json!([{"proposalId": "p"}]), "proposalNotFound"),
        ("rejectAll", json!([{"proposalId": "p"}]), "proposalNotFound"),
    ] {
        let params = json!({"command": format!("countersign.{command}"), "arguments": arguments});
        let error = work
            .client
            .request("workspace/executeCommand", params)
            .await
            .expect_err("refused");
        assert_eq!((error.code, &error.data["kind"]), (-32803, &json!(kind)), "{error:?}");
    }
    let unknown = json!({"command": "countersign.selfDestruct"});
    let error = work
        .client
        .request("workspace/executeCommand", unknown)
        .await
        .expect_err("unknown");
    assert_eq!(error.code, -32602);
    assert!(error.message.contains("countersign.fix"), "{error:?}");
    // Those that need none take any.
    for (command, arguments) in [
        ("countersign.stop", json!([7])),
        ("countersign.newThread", json!([null])),
    ] {
        let params = json!({"command": command, "arguments": arguments});
        work.client.call("workspace/executeCommand", params).await;
    }
    work.client.expect_notification("window/showMessage").await;
    // Nothing waits, and that is said.
    for command in ["acceptAll", "rejectAll", "showProposal", "nextChange"] {
        for arguments in [json!([]), json!([null]), json!([{}])] {
            let params = json!({"command": format!("countersign.{command}"), "arguments": arguments});
            work.client.call("workspace/executeCommand", params).await;
            let told = work.client.expect_notification("window/showMessage").await;
            assert!(
                told["message"]
                    .as_str()
                    .unwrap()
                    .contains("There are no pending changes"),
                "{told}"
            );
        }
    }
    assert!(work.model.requests().is_empty());
}

const NINE: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
const TWO_HUNKS: &str = "*** Update File: a.txt\n@@\n 1\n-2\n+two\n 3\n@@\n 7\n-8\n+eight\n 9\n";

/// *Decide in the files*: actions and lenses stand at the hunks, also after the person typed above them, and decide them
/// one by one. The model is told exactly what was taken.
#[tokio::test]
async fn hunks_are_decided_where_they_lie() {
    let work = Work::start("nvim-0.12.4", &[("a.txt", NINE)], proposes(TWO_HUNKS)).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    assert_eq!(
        titles(&question),
        ["Show the diff", "Decide in the files", "Accept all", "Reject"]
    );
    work.press(&question, "Show the diff");
    let question = work.question().await;
    assert_eq!(titles(&question), ["Decide in the files", "Accept all", "Reject"]);
    let shown = work.editor.shown();
    let diff = std::fs::read_to_string(&shown[0]).expect("a diff file");
    assert!(diff.contains("-2\n+two\n"), "{diff}");
    work.press(&question, "Decide in the files");
    let hint = work.client.expect_notification("window/showMessage").await;
    assert!(hint["message"].as_str().unwrap().contains("a.txt"), "{hint}");

    let none = json!({"diagnostics": []});
    let at = async |line: u32| {
        let actions = work.actions("a.txt", (line, line), none.clone()).await;
        let own: Vec<_> = titles_of(&actions).iter().map(|title| (*title).to_owned()).collect();
        own.into_iter()
            .filter(|title| title.starts_with("Accept the") || title.starts_with("Reject the"))
            .filter(|title| !title.ends_with("with comment…") && !title.ends_with("in this file"))
            .collect::<Vec<_>>()
    };
    let both =
        |number: usize| ["Accept", "Reject"].map(|word| format!("{word} the agent's change {number} of 2 (−1 +1)"));
    assert_eq!(at(1).await, both(1));
    assert_eq!(at(4).await, [""; 0]);
    assert_eq!(at(7).await, both(2));
    // Beside a change is near enough.
    assert_eq!((at(0).await, at(8).await), (both(1).into(), both(2).into()));
    // The person types above: the hunks move along.
    work.editor.type_at(&work.path("a.txt"), 0, "zero\nhalf\n");
    assert_eq!(at(3).await, both(1));
    assert_eq!(at(1).await, [""; 0]);
    let lenses = work.lenses("a.txt").await;
    let places: Vec<_> = lenses
        .iter()
        .map(|lens| {
            (
                lens["range"]["start"]["line"].as_u64().unwrap(),
                lens["command"]["title"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            (0, "✓ Accept all"),
            (0, "✗ Reject all"),
            (0, "Show"),
            (0, "2 pending changes"),
            (3, "✓ Accept"),
            (3, "✗ Reject"),
            (3, "Show"),
            (3, "Agent: change 1 of 2, −1 +1: `2` → `two`"),
            (9, "✓ Accept"),
            (9, "✗ Reject"),
            (9, "Show"),
            (9, "Agent: change 2 of 2, −1 +1: `8` → `eight`"),
        ]
    );
    // The person rewrites the second hunk's line: it can only be rejected, and says why.
    work.editor.type_at(&work.path("a.txt"), 9, "x");
    let rejects = at(9).await;
    assert!(
        rejects
            .last()
            .unwrap()
            .starts_with("Reject the agent's change 2 of 2 ("),
        "{rejects:?}"
    );
    let reject = rejects.last().unwrap().clone();
    // Neovim understands what is listed but cannot be chosen.
    let actions = work.actions("a.txt", (9, 9), none.clone()).await;
    let disabled: Vec<_> = actions.iter().filter(|action| action["disabled"].is_object()).collect();
    assert_eq!(disabled.len(), 1, "{actions:?}");
    assert_eq!(disabled[0]["title"], "Accept the agent's change 2 of 2 (−1 +1)");
    assert!(disabled[0]["command"].is_null(), "{disabled:?}");
    let lenses = work.lenses("a.txt").await;
    let accepts = lenses
        .iter()
        .filter(|lens| lens["command"]["title"] == "✓ Accept")
        .count();
    assert_eq!(accepts, 1, "{lenses:?}");
    work.press_lens("a.txt", "✓ Accept").await;
    assert_eq!(at(3).await, [""; 0], "decided");
    work.choose_action("a.txt", (9, 9), &reject).await;
    work.done().await;
    assert_eq!(work.buffer("a.txt"), "zero\nhalf\n1\ntwo\n3\n4\n5\n6\n7\nx8\n9\n");
    assert_eq!(work.disk("a.txt").unwrap(), NINE);
    let output = work.output("call_1").await;
    assert!(output.contains("1 of 2 hunks"), "{output}");
    assert!(output.contains("hunk 2 (line 8): rejected by the person"), "{output}");
    assert_eq!(work.lenses("a.txt").await, [] as [Value; 0]);
    // One undo step, and the person's own text stays.
    assert!(work.editor.undo(&work.path("a.txt")));
    assert_eq!(work.buffer("a.txt"), "zero\nhalf\n1\n2\n3\n4\n5\n6\n7\nx8\n9\n");
    work.client.settle().await;
}

/// *Accept all* among the actions of one file decides the others as well; the question that was open is withdrawn.
///
/// Shows S-131.
#[tokio::test]
async fn all_of_a_proposal_is_decided_from_any_of_its_files() {
    let patch = "*** Update File: a.txt\n@@\n-a\n+A\n*** Update File: b.txt\n@@\n-b\n+B\n*** Add File: c.txt\n+C\n";
    for (title, after) in [
        ("Accept all of the agent's changes (3 files)", ["A\n", "B\n", "C\n"]),
        ("Reject all of the agent's changes (3 files)", ["a\n", "b\n", ""]),
    ] {
        let work = Work::start("helix-25.07.1", &[("a.txt", "a\n"), ("b.txt", "b\n")], proposes(patch)).await;
        work.open("a.txt");
        work.fix("a.txt").await;
        let question = work.question().await;
        work.choose_action("a.txt", (0, 0), title).await;
        work.client.expect_withdrawn(&question).await;
        work.done().await;
        assert_eq!(work.buffer("a.txt"), after[0], "{title}");
        assert_eq!(work.disk("b.txt").unwrap(), after[1], "{title}");
        assert_eq!(work.disk("c.txt").unwrap_or_default(), after[2], "{title}");
        // Nothing waits any more.
        let actions = work.actions("a.txt", (0, 0), json!({"diagnostics": []})).await;
        let own = titles_of(&actions);
        assert!(!own.iter().any(|title| title.contains("change ")), "{own:?}");
        assert!(!own.iter().any(|title| title.contains("changes (")), "{own:?}");
        assert_eq!(own.first(), Some(&"Review this file with agent"));
    }
}

/// A proposal that only makes files has no place to decide at, so it may be decided later.
#[tokio::test]
async fn only_what_can_be_done_is_offered() {
    let patch = "*** Add File: new/c.txt\n+C\n";
    let work = Work::start("kakoune-lsp-22.0.0", &[("a.txt", "a\n")], proposes(patch)).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    assert_eq!(
        titles(&question),
        ["Show the diff", "Decide later", "Accept all", "Reject"]
    );
    work.press(&question, "Accept all");
    work.done().await;
    assert_eq!(work.disk("new/c.txt").unwrap(), "C\n");
}

/// The lens of an insertion at the end stands on a line that there is.
#[tokio::test]
async fn a_lens_never_stands_below_the_text() {
    let patch = "*** Update File: a.txt\n@@\n 1\n 2\n+3\n";
    let work = Work::start("vscode-lc9", &[("a.txt", "1\n2\n")], proposes(patch)).await;
    // The preview stays open.
    work.client.on_request("workspace/applyEdit", |_| Reply::Later);
    work.open("a.txt");
    work.fix("a.txt").await;
    let preview = work.client.expect_request("workspace/applyEdit").await;
    let lenses = work.lenses("a.txt").await;
    assert_eq!(lenses.len(), 4);
    assert!(
        lenses.iter().all(|lens| lens["range"]["start"]["line"] == 1),
        "{lenses:?}"
    );
    work.press_lens("a.txt", "✗ Reject").await;
    work.client.expect_withdrawn(&preview).await;
    work.done().await;
    assert!(work.output("call_1").await.contains("rejected"));
}

/// A second request for a busy folder gets a conversation of its own; the first goes on.
#[tokio::test]
async fn a_busy_conversation_is_not_disturbed() {
    let script = json!([
        {"when": {"request": 1}, "outputs": [{"hold": "first"}, {"say": "All done."}]},
        {"when": {"request": 2}, "outputs": [{"say": "All done."}]},
    ]);
    let work = Work::start("helix-25.01.1", &[("a.txt", "a\n")], script).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work.model.wait_for_hold("first").await;
    work.choose_action("a.txt", (0, 0), "Review this file with agent").await;
    work.done().await;
    work.model.release("first");
    work.done().await;
}
