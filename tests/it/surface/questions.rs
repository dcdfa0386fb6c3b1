//! Command approvals by `window/showMessageRequest`.

use crate::support::client::Reply;
use crate::support::work::{Setting, Work, titles};
use serde_json::{Value, json};

/// A model that wants to make a file outside the sandbox, once or several times.
fn wants(times: usize) -> Value {
    let call = |number: usize| {
        json!([{"call": {"tool": "shell", "id": format!("call_{number}"), "arguments": {
            "command": ["touch", format!("made-{number}")],
            "with_escalated_permissions": true,
            "justification": "the tool needs it",
        }}}])
    };
    let mut steps: Vec<_> = (1..=times).map(call).collect();
    steps.push(json!([{"say": "All done."}]));
    json!(steps)
}

async fn work(editor: &'static str, times: usize) -> Work {
    let work = Work::start(editor, &[("a.txt", "a\n")], wants(times)).await;
    work.open("a.txt");
    work.fix("a.txt").await;
    work
}

/// Shows S-127.
#[tokio::test]
async fn the_question_says_what_where_and_why_and_each_answer_does_what_it_says() {
    for (title, ran, goes_on) in [
        ("Allow Once", true, true),
        ("Allow for Session", true, true),
        ("Always Allow `touch`", true, true),
        ("Deny", false, true),
        ("Deny and Stop", false, false),
    ] {
        let work = work("helix-25.07.1", 1).await;
        let question = work.question().await;
        let message = question.params["message"].as_str().unwrap();
        for part in [
            "touch made-1",
            "OUTSIDE",
            "the tool needs it",
            &format!(
                "Always would cover `touch` on paths in {}",
                work.path("").to_str().unwrap().trim_end_matches('/')
            ),
            "always.toml",
            work.path("").to_str().unwrap().trim_end_matches('/'),
        ] {
            assert!(message.contains(part), "{part} is missing in {message}");
        }
        assert_eq!(titles(&question).len(), 5, "{:?}", titles(&question));
        assert_eq!(titles(&question)[0], "Deny", "the first choice is never a yes");
        // While it is open the server answers as ever.
        work.client.settle().await;
        work.press(&question, title);
        if goes_on {
            work.done().await;
            let output = work.output("call_1").await;
            assert_eq!(output.contains("rejected"), !ran, "{title}: {output}");
        } else {
            work.client.expect_log("declined").await;
            work.client.settle().await;
            assert_eq!(work.model.requests().len(), 1, "{title}");
        }
        assert_eq!(work.disk("made-1").is_some(), ran, "{title}");
    }
}

/// Once is once; for the session is for the same capability, and no other.
#[tokio::test]
async fn once_is_asked_again_and_for_the_session_is_not() {
    let once = work("helix-25.07.1", 2).await;
    for _ in 0..2 {
        let question = once.question().await;
        once.press(&question, "Allow Once");
    }
    once.done().await;
    assert!(once.disk("made-2").is_some());
    let session = work("helix-25.07.1", 3).await;
    let question = session.question().await;
    session.press(&question, "Allow for Session");
    session.done().await;
    assert!(session.disk("made-3").is_some());
}

/// Shows S-128, S-129.
#[tokio::test]
async fn whatever_is_no_clear_yes_is_a_no() {
    for (name, reply) in [
        ("closed", Reply::Ok(json!(null))),
        ("another title", Reply::Ok(json!({"title": "Yes, whatever"}))),
        ("no title", Reply::Ok(json!({}))),
        ("a number", Reply::Ok(json!({"title": 1}))),
        ("a text", Reply::Ok(json!("Allow Once"))),
        ("a list", Reply::Ok(json!([{"title": "Allow Once"}]))),
        ("a list of its field", Reply::Ok(json!(["Allow Once"]))),
        ("an error", Reply::Error(-32601, "no such method")),
        ("an internal error", Reply::Error(-32603, "dialog crashed")),
    ] {
        let work = Work::start("nvim-0.10.4", &[("a.txt", "a\n")], wants(1)).await;
        work.client
            .on_request("window/showMessageRequest", move |_| reply.clone());
        work.open("a.txt");
        work.fix("a.txt").await;
        work.done().await;
        assert!(work.disk("made-1").is_none(), "{name}");
        let output = work.output("call_1").await;
        assert!(output.contains("rejected"), "{name}: {output}");
    }
}

/// The first answer counts; a second one, or one to a question that was never asked, has no effect.
#[tokio::test]
async fn a_second_answer_has_no_effect() {
    let work = work("helix-25.07.1", 2).await;
    let first = work.question().await;
    work.client.answer(&first, Ok(json!(null)));
    work.client.answer(&first, Ok(json!({"title": "Allow Once"})));
    let second = work.question().await;
    work.client.answer(&first, Ok(json!({"title": "Allow Once"})));
    work.client
        .send(&json!({"jsonrpc": "2.0", "id": "never asked", "result": {"title": "Allow Once"}}));
    work.client.settle().await;
    work.client.answer(&second, Ok(json!(null)));
    work.done().await;
    assert!(work.disk("made-1").is_none() && work.disk("made-2").is_none());
}

/// Shows S-130, S-131.
#[tokio::test]
async fn a_question_that_is_never_answered_waits_and_is_withdrawn_when_it_is_pointless() {
    let work = Work::start("eglot-1.17.30", &[("a.txt", "a\n")], wants(1)).await;
    work.client.on_request("window/showMessageRequest", |_| Reply::Never);
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.question().await;
    work.client.settle().await;
    work.choose_action("a.txt", (0, 0), "Stop the agent").await;
    work.client.expect_withdrawn(&question).await;
    work.client.answer(&question, Ok(json!({"title": "Allow Once"})));
    work.client.settle().await;
    assert!(work.disk("made-1").is_none());
    assert_eq!(work.model.requests().len(), 1);
}

/// Settled from another surface: the question is taken back, and what it would have said does not count.
#[tokio::test]
async fn an_answer_from_elsewhere_takes_the_question_back() {
    let setting = Setting {
        editor: "vscode-1.139-lc11",
        plugin: true,
        files: vec![("a.txt", "a\n".to_owned())],
        ..Setting::default()
    };
    let work = Work::with(setting, wants(1)).await;
    work.client.on_request("countersign/approval/command", |_| Reply::Never);
    work.open("a.txt");
    work.fix("a.txt").await;
    let question = work.client.expect_request("countersign/approval/command").await;
    let response = |decision: &str| json!({"approvalId": question.params["id"], "response": {"decision": decision}});
    let answer = work
        .client
        .call("countersign/approval/respond", response("accept"))
        .await;
    assert_eq!(answer, json!({"taken": true}));
    work.client.expect_withdrawn(&question).await;
    let late = work
        .client
        .call("countersign/approval/respond", response("decline"))
        .await;
    assert_eq!(late, json!({"taken": false}));
    work.client.answer(&question, Ok(json!({"decision": "decline"})));
    assert!(!work.output("call_1").await.contains("rejected"));
    assert!(work.disk("made-1").is_some());
}
