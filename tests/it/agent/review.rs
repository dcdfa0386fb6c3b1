//! Reviews: a reviewer of its own, apart from the conversation, and what it finds on the lines of real repositories.

use super::stage::{Setting, Stage, Story, apply_patch, bash, command_output, rehearse, say};
use crate::support::client::RpcError;
use crate::support::git::git;
use crate::support::mcp::{program, reading, tool};
use countersign::rehearsal::Recorded;
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::path::Path;

/// A workspace that is a repository with one commit, and one change since.
async fn stage_with(script: Value, setting: Setting) -> Stage {
    let files = vec![("a.txt".to_owned(), "one\ntwo\nthree\nfour\n".to_owned())];
    let stage = Stage::with(script, Setting { files, ..setting }).await;
    git(&stage.dir, &["init", "-q", "-b", "main"]);
    git(&stage.dir, &["add", "."]);
    git(&stage.dir, &["commit", "-qm", "Begin"]);
    stage.write("a.txt", "one\ntwo\nTHREE\nfour\n");
    stage
}

async fn stage(script: Value) -> Stage {
    stage_with(script, Setting::default()).await
}

fn uncommitted() -> Value {
    json!({"type": "uncommittedChanges"})
}

fn found(title: &str, priority: u8, path: &Path, lines: (u32, u32)) -> Value {
    json!({
        "title": title,
        "body": "Because.",
        "confidence_score": 0.9,
        "priority": priority,
        "code_location": {"absolute_file_path": path, "line_range": {"start": lines.0, "end": lines.1}},
    })
}

fn result(findings: &[Value]) -> Value {
    let verdict = if findings.is_empty() {
        "patch is correct"
    } else {
        "patch is incorrect"
    };
    let answer = json!({
        "findings": findings,
        "overall_correctness": verdict,
        "overall_explanation": "That is what I saw.",
        "overall_confidence_score": 0.8,
    });
    say(&answer.to_string())
}

impl Stage {
    async fn start_review(&self, thread: &str, target: Value) -> String {
        let params = json!({"threadId": thread, "target": target});
        let started = self.client.call("countersign/review/start", params).await;
        assert_eq!(started["reviewThreadId"], thread);
        assert_eq!(started["turn"]["kind"], "review");
        started["turn"]["id"].as_str().expect("an id").to_owned()
    }

    async fn review(&self, thread: &str, target: Value) -> Story {
        let turn = self.start_review(thread, target).await;
        self.finish(&turn).await
    }

    async fn refused(&self, params: Value) -> RpcError {
        let answer = self.client.request("countersign/review/start", params).await;
        answer.expect_err("refused")
    }

    async fn findings(&self) -> Vec<Value> {
        let list = self.client.call("countersign/review/findings", json!({})).await;
        list["data"].as_array().expect("a list").clone()
    }
}

fn last(requests: &[Recorded]) -> &Recorded {
    requests.last().expect("a request")
}

/// The notes about reviews in a request.
fn notes(request: &Recorded) -> Vec<String> {
    let texts = request.input_texts().into_iter();
    texts.filter(|text| text.starts_with("<user_action>")).collect()
}

/// Shows S-244, S-247, S-248, S-249, S-250.
#[tokio::test]
async fn a_reviewer_is_asked_apart_from_the_conversation() {
    let script = json!([
        [say("Hello.")],
        [result(&[])],
        [result(&[])],
        [result(&[])],
        [result(&[])],
        [say("Later.")],
    ]);
    let setting = Setting {
        config: "review_model = \"gpt-5-codex\"\nmodel_reasoning_effort = \"high\"\nfeatures.unified_exec = true\n\
                 approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\""
            .to_owned(),
        ..Setting::default()
    };
    let stage = stage_with(script, setting).await;
    stage.write("AGENTS.md", "Speak like a pirate.");
    stage.write("new.txt", "new\n");
    let thread = stage.thread().await;
    stage.complete(&thread, "A secret of the conversation").await;
    let base = git(&stage.dir, &["rev-parse", "HEAD"]);
    git(&stage.dir, &["checkout", "-qb", "work"]);
    git(&stage.dir, &["add", "AGENTS.md"]);
    git(&stage.dir, &["commit", "-qm", "Instruct"]);
    let sha = git(&stage.dir, &["rev-parse", "HEAD"]);
    for (target, words, named, unnamed) in [
        (uncommitted(), "uncommitted changes", "a.txt, new.txt", "AGENTS.md"),
        (
            json!({"type": "baseBranch", "branch": "main"}),
            "changes against main",
            &base[..],
            "nothing",
        ),
        (
            json!({"type": "commit", "sha": &sha[..9]}),
            "Instruct",
            &sha[..],
            "new.txt",
        ),
        (
            json!({"type": "custom", "instructions": "Look at new.txt only."}),
            "new.txt only",
            "Look at new.txt only.",
            "a.txt",
        ),
    ] {
        let story = stage.review(&thread, target.clone()).await;
        assert_eq!(story.status(), "completed", "{story:#?}");
        let entered = story.one("review/entered");
        assert!(entered["review"].as_str().expect("words").contains(words), "{entered}");
        let requests = stage.model.requests();
        let request = last(&requests);
        let texts = request.input_texts();
        assert_eq!(texts.len(), 2, "{texts:#?}");
        assert!(
            texts[0].starts_with("<environment_context>") && texts[0].contains("read-only"),
            "{}",
            texts[0]
        );
        assert!(texts[0].contains(&stage.dir.display().to_string()), "{}", texts[0]);
        assert!(texts[1].contains(named) && !texts[1].contains(unnamed), "{}", texts[1]);
        assert!(
            request.instructions().starts_with("You review a change"),
            "{}",
            request.instructions()
        );
        assert!(!request.body.to_string().contains("pirate") && !request.body.to_string().contains("secret"));
        assert_eq!(request.model(), "gpt-5-codex");
        assert_eq!(
            request.body["reasoning"],
            json!({"effort": "low", "summary": "detailed"})
        );
        assert_eq!(request.tools(), ["shell", "read_file", "list_dir", "grep_files"]);
        let schema = &request.body["text"]["format"]["schema"];
        assert_eq!(schema["properties"]["findings"]["type"], "array", "{schema}");
    }
    // The conversation goes on as it was, with a note of each review.
    stage.complete(&thread, "And now?").await;
    let requests = stage.requests(6);
    let request = last(&requests);
    assert_eq!(notes(request).len(), 4);
    assert_eq!(
        request
            .input_texts()
            .iter()
            .filter(|text| !text.starts_with('<') && !text.starts_with('#'))
            .count(),
        3
    );
    assert_eq!(request.model(), "rehearsal");
    assert!(!request.body.to_string().contains("overall_correctness"));
    assert!(request.tools().contains(&"exec_command".to_owned()));
}

/// Shows S-251, S-252, S-255, S-256.
#[tokio::test]
async fn a_review_is_told_from_its_beginning_to_its_note() {
    let stage = stage(json!([
        [{"think": "Let me look."}, say("I begin."), bash("c1", "git diff HEAD")],
        [{"hold": "before the end"}, say("{\"findings\": [], \"overall_explanation\": \"Not this one.\"}"), bash("c2", "true")],
        [{"think": "Enough."}, say("Preface."), say("All is well.")],
        [say("Later.")],
    ]))
    .await;
    let thread = stage.thread().await;
    let turn = stage.start_review(&thread, uncommitted()).await;
    stage.model.wait_for_hold("before the end").await;
    stage.model.release("before the end");
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "completed");
    let kinds = story.kinds();
    assert_eq!(
        kinds,
        [
            "enteredReviewMode",
            "userMessage",
            "reasoning",
            "commandExecution",
            "commandExecution",
            "reasoning",
            "exitedReviewMode",
            "agentMessage"
        ]
    );
    assert_eq!(story.count("item/agentMessage/delta"), 0);
    let entered = story.one("review/entered");
    assert_eq!(entered["target"], uncommitted());
    assert_eq!(story.item("enteredReviewMode")["target"], uncommitted());
    let entered_at = story.at(|name, _| name == "review/entered");
    assert!(entered_at < story.at(|name, params| name == "item/started" && params["item"]["type"] == "reasoning"));
    // The last message counts, whatever was said before.
    let completed = story.one("review/completed");
    assert_eq!(completed["output"]["overallExplanation"], "All is well.");
    assert_eq!(completed["findings"], json!([]));
    let exited = story.item("exitedReviewMode");
    assert_eq!(exited["output"], completed["output"]);
    assert!(
        story.said()[0].contains("Review of uncommitted changes: the reviewer gave no list of findings"),
        "{:?}",
        story.said()
    );
    assert_eq!(story.one("turn/completed")["lastAgentMessage"], json!(story.said()[0]));
    // The command ran where nothing can be written, and saw the change.
    let requests = stage.requests(3);
    let (output, code) = command_output(&requests[1], "c1");
    assert!(output.contains("+THREE") && code == Some(0), "{output}");
    // The note is on record by now.
    let lines = stage.rollout(&thread);
    let is_note =
        |line: &&Value| line["type"] == "response_item" && line["payload"].to_string().contains("<user_action>");
    assert_eq!(lines.iter().filter(is_note).count(), 1);
    let said_apart = |line: &&Value| line["type"] == "response_item" && line["payload"].to_string().contains("Preface");
    assert_eq!(lines.iter().filter(said_apart).count(), 0);
    let kinds: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["payload"]["type"].as_str())
        .collect();
    for kind in ["entered_review_mode", "exited_review_mode"] {
        assert_eq!(kinds.iter().filter(|one| **one == kind).count(), 1, "{kinds:?}");
    }
    assert_eq!(lines.iter().filter(|line| line["type"] == "turn_context").count(), 0);
    let read = stage.read(&thread).await;
    assert_eq!(read["turns"][0]["kind"], "review");
    assert_eq!(read["preview"], "Review uncommitted changes");
    stage.complete(&thread, "And now?").await;
    let requests = stage.requests(4);
    let notes = notes(last(&requests));
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains("<results>\nAll is well.\n</results>") && !notes[0].contains("Findings"),
        "{}",
        notes[0]
    );
}

/// Shows S-254.
#[tokio::test]
async fn findings_are_read_placed_and_told() {
    // The model's script is made before the workspace is there, so the paths are told from its folder.
    let place = |path: &str, lines: (u32, u32)| found("[P0] Mend the third line", 1, Path::new(path), lines);
    let answer = json!({
        "findings": [
            place("a.txt", (3, 3)),
            found("Say why", 2, Path::new("a.txt"), (99, 100)),
            found("Outside", 3, Path::new("/etc/passwd"), (1, 1)),
            found("Gone", 3, Path::new("gone.txt"), (1, 1)),
        ],
        "overall_correctness": "patch is incorrect",
        "overall_explanation": "One thing matters.",
        "overall_confidence_score": 0.8,
    });
    let stage = stage(json!([[say(&format!("So:\n```json\n{answer}\n```"))], [say("Later.")]])).await;
    let thread = stage.thread().await;
    let story = stage.review(&thread, uncommitted()).await;
    let completed = story.one("review/completed");
    let output = &completed["output"];
    let file = stage.path("a.txt");
    assert_eq!(output["overallCorrectness"], "patch is incorrect");
    assert_eq!(output["findings"][0]["title"], "Mend the third line");
    assert_eq!(
        output["findings"][0]["codeLocation"],
        json!({"absoluteFilePath": file, "lineRange": {"start": 2, "end": 3}})
    );
    assert_eq!(
        output["findings"][1]["codeLocation"]["lineRange"],
        json!({"start": 3, "end": 4})
    );
    assert_eq!(output["findings"][2]["codeLocation"], Value::Null);
    let open = completed["findings"].as_array().expect("a list");
    assert_eq!(open.len(), 2);
    assert_eq!(open[0]["uri"], uri::from_path(&file));
    assert_eq!(json!(stage.findings().await), completed["findings"]);
    let summary = story.said()[0];
    assert!(
        summary.contains("4 findings") && summary.contains("`a.txt:3`") && summary.contains("Outside"),
        "{summary}"
    );
    stage.complete(&thread, "And now?").await;
    let requests = stage.requests(2);
    let notes = notes(last(&requests));
    assert!(
        notes[0].contains("One thing matters.\n\nFindings:\n- [P1] Mend the third line — a.txt:3\n  Because."),
        "{}",
        notes[0]
    );
}

/// Shows S-245.
#[tokio::test]
async fn a_target_that_stands_for_nothing_fails_and_one_without_changes_ends() {
    let stage = stage(json!([])).await;
    let thread = stage.thread().await;
    for (target, word) in [
        (json!({"type": "baseBranch", "branch": "nowhere"}), "no branch nowhere"),
        (json!({"type": "baseBranch", "branch": "--help"}), "no branch --help"),
        (json!({"type": "commit", "sha": "0123456789"}), "no commit 0123456789"),
    ] {
        let story = stage.review(&thread, target).await;
        assert_eq!((story.status(), story.error_kind()), ("failed", "reviewFailed"));
        let error = story.one("error")["error"]["message"].as_str().expect("words");
        assert!(error.contains(word), "{error}");
        assert_eq!((story.count("review/entered"), story.count("review/completed")), (0, 0));
    }
    let errors: Vec<Value> = stage
        .rollout(&thread)
        .into_iter()
        .filter(|line| line["payload"]["type"] == "error")
        .collect();
    assert_eq!(errors.len(), 3);
    assert!(
        errors.iter().all(|line| line["payload"]["codex_error_info"] == "other"),
        "{errors:?}"
    );
    git(&stage.dir, &["checkout", "-q", "a.txt"]);
    for target in [uncommitted(), json!({"type": "baseBranch", "branch": "main"})] {
        let story = stage.review(&thread, target).await;
        assert_eq!(story.status(), "completed");
        assert!(story.said()[0].contains("nothing to review"), "{:?}", story.said());
        assert_eq!(story.count("review/entered"), 0);
    }
    std::fs::remove_dir_all(stage.path(".git")).expect("a repository");
    let story = stage.review(&thread, uncommitted()).await;
    assert!(
        story.one("error")["error"]["message"]
            .as_str()
            .expect("words")
            .contains("no work tree")
    );
    for (target, message) in [
        (json!({"type": "baseBranch", "branch": " "}), "branch"),
        (json!({"type": "commit", "sha": ""}), "commit"),
        (json!({"type": "custom", "instructions": "\n"}), "looked at"),
        (json!({"type": "somethingElse"}), "somethingElse"),
    ] {
        let error = stage.refused(json!({"threadId": thread, "target": target})).await;
        assert_eq!(error.code, -32602, "{error:?}");
        assert!(error.message.contains(message), "{error:?}");
    }
    let error = stage
        .refused(json!({"threadId": "nobody", "target": uncommitted()}))
        .await;
    assert_eq!(error.data["kind"], "threadNotLoaded");
    assert!(stage.model.requests().is_empty());
}

/// Shows S-094, S-255, S-256.
#[tokio::test]
async fn a_review_that_is_stopped_or_fails_leaves_a_note_and_nothing_else() {
    let stage = stage(json!([
        [bash("c1", "echo ready; sleep 60")],
        [say("Later.")],
        [{"fail": {"status": 400}}],
        [say("")],
        [say("Much later.")],
    ]))
    .await;
    let thread = stage.thread().await;
    let turn = stage.start_review(&thread, uncommitted()).await;
    stage.until_output("ready").await;
    stage.interrupt(&thread).await;
    let story = stage.finish(&turn).await;
    assert_eq!(story.status(), "interrupted");
    let completed = story.one("review/completed");
    assert_eq!(
        (&completed["output"], &completed["findings"]),
        (&Value::Null, &json!([]))
    );
    assert_eq!(story.item("exitedReviewMode")["output"], Value::Null);
    assert!(story.said().is_empty());
    assert!(story.at(|name, _| name == "review/completed") < story.at(|name, _| name == "turn/completed"));
    Stage::no_process_left(&thread).await;
    stage.complete(&thread, "And now?").await;
    let requests = stage.requests(2);
    let told = notes(last(&requests));
    assert!(
        told.len() == 1 && told[0].contains("interrupted") && told[0].contains("run again"),
        "{told:?}"
    );
    assert!(!last(&requests).body.to_string().contains("sleep 60"));
    let story = stage.review(&thread, uncommitted()).await;
    assert_eq!(story.status(), "failed");
    assert_eq!(story.one("review/completed")["output"], Value::Null);
    let story = stage.review(&thread, uncommitted()).await;
    assert_eq!(story.status(), "completed");
    assert_eq!(story.one("review/completed")["output"], Value::Null);
    assert!(
        story.one("warning")["message"]
            .as_str()
            .expect("words")
            .contains("no answer")
    );
    stage.complete(&thread, "And at last?").await;
    let told = notes(last(&stage.requests(5)));
    let ends: Vec<bool> = ["interrupted", "failed", "no answer"]
        .iter()
        .zip(&told)
        .map(|(word, note)| note.contains(word))
        .collect();
    assert_eq!(ends, [true; 3], "{told:?}");
    assert!(stage.findings().await.is_empty());
}

/// Shows S-090.
#[tokio::test]
async fn what_the_person_says_meanwhile_is_for_the_reviewer() {
    let stage = stage(json!([
        [bash("c1", "echo ready; until test -e go; do sleep 0.02; done")],
        [result(&[])],
        [say("Later.")],
    ]))
    .await;
    let thread = stage.thread().await;
    let turn = stage.start_review(&thread, uncommitted()).await;
    stage.until_output("ready").await;
    stage.steer(&thread, &turn, "Mind the third line").await.expect("taken");
    let busy = stage
        .refused(json!({"threadId": thread, "target": uncommitted()}))
        .await;
    assert_eq!(busy.data["kind"], "turnRunning");
    stage.write("go", "");
    let story = stage.finish(&turn).await;
    assert_eq!(story.item("userMessage")["content"][0]["text"], "Mind the third line");
    stage.complete(&thread, "And now?").await;
    let requests = stage.requests(3);
    assert_eq!(requests[1].last_user_text(), "Mind the third line");
    assert!(!requests[2].body.to_string().contains("third line"));
}

#[tokio::test]
async fn a_reviewer_changes_nothing_whatever_the_conversation_may() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** End Patch";
    let escalated =
        json!({"command": ["touch", "three"], "with_escalated_permissions": true, "justification": "I want to"});
    let more = json!({"command": ["touch", "four"], "additional_permissions": {"file_system": {"write": ["."]}}});
    let call = |id: &str, arguments: Value| json!({"call": {"tool": "shell", "arguments": arguments, "id": id}});
    let script = json!([
        [bash("c1", "touch one; touch /tmp/countersign-review-test")],
        [apply_patch("c2", patch)],
        [call("c3", json!({"command": ["apply_patch", patch]}))],
        [call("c4", escalated)],
        [call("c5", more)],
        [{"call": {"tool": "exec_command", "arguments": {"cmd": "touch five"}, "id": "c6"}}],
        [result(&[])],
    ]);
    let setting = Setting {
        config: "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"".to_owned(),
        ..Setting::default()
    };
    let stage = stage_with(script, setting).await;
    let thread = stage.thread().await;
    let story = stage.review(&thread, uncommitted()).await;
    assert_eq!(story.status(), "completed", "{story:#?}");
    assert_eq!(
        (story.count("approval/requested"), story.count("proposal/created")),
        (0, 0)
    );
    assert_eq!(git(&stage.dir, &["status", "--short"]), "M a.txt");
    assert!(!Path::new("/tmp/countersign-review-test").exists());
    let requests = stage.requests(7);
    let output = |id: &str| last(&requests).output(id).expect("an output");
    assert_ne!(command_output(last(&requests), "c1").1, Some(0));
    for (id, word) in [
        ("c2", "unsupported"),
        ("c3", "only reads"),
        ("c4", "only reads"),
        ("c5", "only reads"),
        ("c6", "unsupported"),
    ] {
        assert!(output(id).contains(word), "{id}: {}", output(id));
    }
    assert_eq!(story.item("commandExecution")["confined"], "readOnly");
}

/// Shows S-246.
#[tokio::test]
async fn an_unknown_model_is_warned_of_before_the_review() {
    let other = rehearse(json!([[result(&[])]])).await;
    let setting = Setting {
        config: "review_model = \"nobody-knows\"\nmodel_context_window = 1000".to_owned(),
        tables: format!(
            "[model_providers.other]\nname = \"Other\"\nbase_url = \"{}\"\n",
            other.base_url
        ),
        ..Setting::default()
    };
    let stage = stage_with(json!([]), setting).await;
    let started = stage
        .start_thread(json!({"settings": {"modelProvider": "other"}}))
        .await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    let story = stage.review(&thread, uncommitted()).await;
    let warning = story.one("warning")["message"].as_str().expect("words");
    assert!(warning.contains("nobody-knows"), "{warning}");
    assert!(story.at(|name, _| name == "warning") < story.at(|name, _| name == "review/entered"));
    assert_eq!(other.requests()[0].model(), "nobody-knows");
}

/// Shows S-246.
#[tokio::test]
async fn a_refresh_of_tool_servers_counts_for_the_next_review() {
    let stage = stage(json!([
        [result(&[])],
        [{"call": {"tool": "mcp__one__look", "arguments": {}, "id": "c1"}}],
        [result(&[])],
    ]))
    .await;
    let thread = stage.thread().await;
    stage.review(&thread, uncommitted()).await;
    let file = stage.client.home().join("config.toml");
    let config = std::fs::read_to_string(&file).expect("a configuration");
    let server = program("one", &json!({"tools": [reading("look"), tool("change")]}));
    std::fs::write(&file, config + &server).expect("written");
    stage.client.call("countersign/mcp/refresh", json!({})).await;
    let story = stage.review(&thread, uncommitted()).await;
    assert_eq!(story.status(), "completed", "{story:#?}");
    let requests = stage.requests(3);
    assert_eq!(requests[0].tools().len(), 4);
    for tool in ["mcp__one__look", "mcp__one__change", "shell"] {
        assert!(
            requests[1].tools().contains(&tool.to_owned()),
            "{:?}",
            requests[1].tools()
        );
    }
    assert!(requests[2].output("c1").is_some());
}

#[tokio::test]
async fn a_detached_review_has_a_thread_of_its_own() {
    let stage = stage(json!([[say("Hello.")], [result(&[])], [say("Later.")]])).await;
    let started = stage
        .start_thread(json!({"settings": {"approvalPolicy": "untrusted"}}))
        .await;
    let thread = started["thread"]["id"].as_str().expect("an id").to_owned();
    stage.complete(&thread, "A secret").await;
    let params = json!({"threadId": thread, "target": uncommitted(), "delivery": "detached"});
    let review = stage.client.call("countersign/review/start", params).await;
    let beside = review["reviewThreadId"].as_str().expect("an id").to_owned();
    assert_ne!(beside, thread);
    let story = stage.finish(review["turn"]["id"].as_str().expect("an id")).await;
    assert!(
        story.events.iter().all(|(_, params)| params["threadId"] == beside),
        "{story:#?}"
    );
    assert_eq!(
        story.one("thread/configured")["settings"]["approvalPolicy"],
        "untrusted"
    );
    assert_eq!(
        story.one("review/completed")["output"]["overallCorrectness"],
        "patch is correct"
    );
    stage.complete(&thread, "And now?").await;
    assert!(notes(last(&stage.requests(3))).is_empty());
}

#[tokio::test]
async fn findings_go_when_dismissed_when_their_lines_change_and_when_reviewed_again() {
    let three = [
        found("First", 0, Path::new("a.txt"), (1, 1)),
        found("Third", 2, Path::new("a.txt"), (3, 3)),
        found("Fourth", 3, Path::new("a.txt"), (4, 4)),
    ];
    let stage = stage(json!([[result(&three)], [result(&three)], [{"hold": "again"}]])).await;
    stage.client.ignore("textDocument/publishDiagnostics");
    let thread = stage.thread().await;
    let story = stage.review(&thread, uncommitted()).await;
    let open = story.one("review/completed")["findings"]
        .as_array()
        .expect("a list")
        .clone();
    assert_eq!(open.len(), 3);
    let dismiss =
        async |params: Value| stage.client.call("countersign/review/dismiss", params).await["dismissed"].take();
    let id = &open[0]["id"];
    assert_eq!(dismiss(json!({"threadId": thread, "findingId": "nobody"})).await, 0);
    assert_eq!(dismiss(json!({"threadId": thread, "findingId": id})).await, 1);
    assert_eq!(dismiss(json!({"threadId": thread, "findingId": id})).await, 0);
    let changed = stage.until_event("review/findingsChanged").await;
    assert_eq!(changed.last()["findings"].as_array().expect("a list").len(), 2);
    // The file changes on the disk: one line moves, one is another.
    stage.write("a.txt", "zero\none\ntwo\nother\nfour\n");
    let left = stage.findings().await;
    assert_eq!(left.len(), 1);
    assert_eq!(
        (&left[0]["title"], &left[0]["codeLocation"]["lineRange"]["start"]),
        (&json!("Fourth"), &json!(4))
    );
    assert_eq!(
        dismiss(json!({"threadId": thread, "turnId": open[0]["turnId"]})).await,
        1
    );
    assert!(stage.findings().await.is_empty());
    let turn = stage.start_review(&thread, uncommitted()).await;
    stage.finish(&turn).await;
    assert_eq!(stage.findings().await.len(), 3);
    let turn = stage.start_review(&thread, uncommitted()).await;
    stage.model.wait_for_hold("again").await;
    assert!(stage.findings().await.is_empty(), "the same is reviewed again");
    stage.interrupt(&thread).await;
    stage.finish(&turn).await;
    assert!(stage.findings().await.is_empty());
}
