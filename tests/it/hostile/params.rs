//! Requests of the custom protocol that mean nothing: each is answered, in words, with the right code and kind.

use crate::support::client::{Place, RpcError};
use crate::support::work::{Setting, Work, proposes};
use countersign::protocol::error::KINDS;
use countersign::protocol::method::CLIENT_REQUESTS;
use serde_json::{Map, Value, json};

const INVALID: i64 = -32602;
const FAILED: i64 = -32803;

fn is_sound(error: &RpcError, about: &str) {
    let kind = error.data["kind"].as_str().unwrap_or_default();
    let known = KINDS.iter().find(|known| known.name == kind);
    assert!(
        known.is_some_and(|known| known.code == error.code),
        "{about}: {error:?}"
    );
    assert!(error.message.len() > 15, "{about}: {error:?}");
}

async fn work() -> Work {
    let setting = Setting {
        plugin: true,
        editor: "vscode-1.139-lc11",
        files: vec![("a.txt", "a\n".to_owned())],
        place: Place::Thread,
        ..Setting::default()
    };
    Work::with(setting, proposes("*** Update File: a.txt\n@@\n-a\n+A\n")).await
}

/// Fields that a method cannot do without.
fn needed(method: &str) -> Vec<(&'static str, Value)> {
    let id = json!("01890000-0000-7000-8000-000000000000");
    match method.trim_start_matches("countersign/") {
        "thread/read" | "thread/archive" | "thread/unarchive" | "thread/delete" => vec![("threadId", id)],
        "thread/rollback" => vec![("threadId", id), ("numTurns", json!(1))],
        "thread/name/set" => vec![("threadId", id), ("name", json!("a name"))],
        "thread/memoryMode/set" => vec![("threadId", id), ("mode", json!("disabled"))],
        "thread/subscribe" => vec![("threadId", id)],
        "thread/unsubscribe" => vec![("subscriptionId", id)],
        "thread/search" => vec![("searchTerm", json!("words"))],
        "turn/start" => vec![("threadId", id), ("input", json!([{"type": "text", "text": "hello"}]))],
        "turn/steer" => vec![
            ("threadId", id.clone()),
            ("expectedTurnId", id),
            ("input", json!([{"type": "text", "text": "hello"}])),
        ],
        "turn/interrupt" | "thread/compact" | "thread/context" | "turn/undo" | "turn/diff" | "turn/queue/list"
        | "turn/queue/remove" | "turn/queue/resume" => {
            vec![("threadId", id)]
        }
        "turn/queue/add" => vec![("threadId", id), ("input", json!([{"type": "text", "text": "hello"}]))],
        "turn/queue/edit" => vec![
            ("threadId", id.clone()),
            ("queuedId", id),
            ("input", json!([{"type": "text", "text": "hello"}])),
        ],
        "turn/queue/reorder" => vec![("threadId", id.clone()), ("queuedIds", json!([id]))],
        "thread/send" => vec![("threadId", id), ("text", json!("x"))],
        "thread/shellCommand" => vec![("threadId", id), ("command", json!("true"))],
        "command/exec" => vec![("command", json!(["true"]))],
        "file/readable" => vec![("threadId", id), ("paths", json!(["/nowhere"]))],
        "file/search" => vec![("query", json!("a"))],
        "feedback/preview" | "feedback/upload" => vec![("classification", json!("bug"))],
        "feedback/save" => vec![
            ("classification", json!("bug")),
            ("savePath", json!("/nowhere/report.json")),
        ],
        "git/diffToRemote" => vec![("cwd", json!("/nowhere"))],
        "command/terminate" => vec![("processId", id)],
        "guardian/approveDenied" => vec![("threadId", id.clone()), ("assessmentId", id)],
        "terminal/read" => vec![("terminalId", json!(1000))],
        "terminal/write" => vec![("terminalId", json!(1000)), ("text", json!("x"))],
        "terminal/resize" => vec![
            ("terminalId", json!(1000)),
            ("size", json!({"rows": 24, "columns": 80})),
        ],
        "proposal/read" => vec![("proposalId", id)],
        "proposal/decide" => vec![("proposalId", id), ("decision", json!("accept"))],
        "proposal/edit" => vec![("proposalId", id.clone()), ("hunkId", id)],
        "mcp/resource/list" | "mcp/resource/templates" => vec![("server", json!("docs"))],
        "mcp/resource/read" => vec![("server", json!("docs")), ("uri", json!("docs://x"))],
        "mcp/elicitation/respond" => vec![
            ("server", json!("docs")),
            ("requestId", json!(7)),
            ("response", json!({"action": "decline"})),
        ],
        "review/start" => vec![("threadId", id), ("target", json!({"type": "uncommittedChanges"}))],
        "review/dismiss" | "turn/retryNow" => vec![("threadId", id)],
        "approval/respond" => vec![("approvalId", id), ("response", json!({"decision": "accept"}))],
        "userInput/respond" => vec![("id", id)],
        "model/setDefault" => vec![("model", json!("gpt-5.1-codex"))],
        "config/write" => vec![("edits", json!([{"keyPath": "model", "value": "rehearsal"}]))],
        "realtime/start" | "realtime/close" => vec![("threadId", id)],
        "realtime/audio" => vec![("threadId", id), ("audio", json!({"data": "AAAA"}))],
        "realtime/text" => vec![("threadId", id), ("text", json!("x"))],
        "history/read" => vec![("logId", json!("1")), ("offset", json!(0))],
        "history/append" => vec![("text", json!("hello"))],
        "account/login/start" => vec![("type", json!("browser"))],
        "account/login/cancel" => vec![("loginId", id)],
        "mcp/login" | "mcp/logout" => vec![("server", json!("docs"))],
        "thread/start"
        | "account/read"
        | "account/setup"
        | "account/status"
        | "account/logout"
        | "account/rateLimits/read"
        | "thread/resume"
        | "thread/fork"
        | "thread/list"
        | "proposal/list"
        | "review/findings"
        | "model/list"
        | "config/read"
        | "config/reload"
        | "prompt/list"
        | "history/list"
        | "sandbox/status"
        | "mcp/list"
        | "mcp/refresh"
        | "terminal/list"
        | "realtime/voices"
        | "terminal/kill"
        | "permissions/profiles" => vec![],
        other => panic!("{other} is new: say here what it needs"),
    }
}

/// Shows S-433, S-436.
#[tokio::test]
async fn every_method_refuses_what_it_cannot_mean() {
    let work = work().await;
    for (method, ..) in CLIENT_REQUESTS {
        let needed = needed(method);
        let full: Map<String, Value> = needed
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        // What is no object.
        for params in [json!(1), json!("x"), json!(true), json!([]), json!([{}]), json!([[1]])] {
            let about = format!("{method} {params}");
            // By position, the object is the first and only one.
            if needed.is_empty() && (params == json!([]) || params == json!([{}])) {
                continue;
            }
            let error = work.client.request(method, params).await.expect_err(&about);
            assert!(matches!(error.code, INVALID | -32600), "{about}: {error:?}");
            assert_ne!(error.code, -32603, "{about}");
        }
        // Each needed field left out, and of every wrong type.
        for (name, right) in &needed {
            let mut params = full.clone();
            params.remove(*name);
            refused(&work, method, params, INVALID).await;
            for wrong in [
                json!(null),
                json!(7),
                json!(true),
                json!({}),
                json!("x"),
                json!([7]),
                json!([]),
                json!(""),
            ] {
                let same_type = right.is_string() && wrong.is_string() && *name != "decision"
                    || right.is_number() && wrong.is_number()
                    || *name == "requestId" && wrong.is_string();
                if same_type || (matches!(*name, "input" | "command" | "queuedIds") && wrong == json!([])) {
                    continue;
                }
                let mut params = full.clone();
                params.insert((*name).to_owned(), wrong);
                refused(&work, method, params, INVALID).await;
            }
        }
        // Nothing at all.
        for params in [Value::Null, json!({})] {
            match work.client.request(method, params.clone()).await {
                Ok(_) => assert!(needed.is_empty(), "{method} {params}"),
                Err(error) => {
                    is_sound(&error, method);
                    assert_ne!(error.code, -32603, "{method}: {error:?}");
                    assert!(
                        !needed.is_empty()
                            || method.ends_with("/resume")
                            || method.ends_with("/fork")
                            || method.ends_with("/rateLimits/read"),
                        "{method} {params}: {error:?}"
                    );
                }
            }
        }
    }
}

async fn refused(work: &Work, method: &str, params: Map<String, Value>, code: i64) {
    let about = format!("{method} {params:?}");
    let error = work
        .client
        .request(method, Value::Object(params))
        .await
        .expect_err(&about);
    is_sound(&error, &about);
    assert_eq!(error.code, code, "{about}: {error:?}");
}

/// Ids of what is not there, or not any more.
#[tokio::test]
async fn unknown_ids_are_told_apart_from_faults() {
    let work = work().await;
    for id in [
        "01890000-0000-7000-8000-000000000000",
        "",
        "not an id",
        "../../etc/passwd",
        "\u{0}",
        "😀",
        &"x".repeat(100_000),
    ] {
        for (method, params, kinds) in [
            (
                "thread/read",
                json!({"threadId": id}),
                &["threadNotFound", "invalidParams"][..],
            ),
            (
                "thread/resume",
                json!({"threadId": id}),
                &["threadNotFound", "invalidParams"],
            ),
            (
                "thread/resume",
                json!({"path": id}),
                &["storeFailed", "invalidParams", "threadNotFound"],
            ),
            (
                "turn/start",
                json!({"threadId": id, "input": [{"type": "text", "text": "x"}]}),
                &["threadNotLoaded", "threadNotFound", "invalidParams"],
            ),
            (
                "turn/steer",
                json!({"threadId": id, "expectedTurnId": id, "input": [{"type": "text", "text": "x"}]}),
                &["threadNotLoaded", "threadNotFound", "invalidParams"],
            ),
            (
                "turn/interrupt",
                json!({"threadId": id}),
                &["threadNotLoaded", "threadNotFound", "invalidParams"],
            ),
            (
                "proposal/read",
                json!({"proposalId": id}),
                &["proposalNotFound", "invalidParams"],
            ),
            (
                "proposal/decide",
                json!({"proposalId": id, "decision": "accept"}),
                &["proposalNotFound", "invalidParams"],
            ),
            (
                "thread/list",
                json!({"cursor": id}),
                &["invalidCursor", "invalidParams"],
            ),
            ("model/list", json!({"cursor": id}), &["invalidCursor", "invalidParams"]),
        ] {
            let short: String = id.chars().take(20).collect();
            let about = format!("{method} {short:?}");
            if method.ends_with("list") && id.is_empty() {
                continue;
            }
            let answer = work.client.request(&format!("countersign/{method}"), params).await;
            let error = answer.expect_err(&about);
            is_sound(&error, &about);
            let kind = error.data["kind"].as_str().unwrap();
            assert!(kinds.contains(&kind), "{about}: {error:?}");
        }
        let respond = json!({"approvalId": id, "response": {"decision": "accept"}});
        match work.client.request("countersign/approval/respond", respond).await {
            Ok(answer) => assert_eq!(answer, json!({"taken": false})),
            Err(error) => is_sound(&error, "approval/respond"),
        }
        let list = work
            .client
            .call("countersign/proposal/list", json!({"threadId": id}))
            .await;
        assert_eq!(list, json!({"data": []}));
    }
}

/// Settings and inputs of the right shape that cannot be meant.
#[tokio::test]
async fn impossible_settings_change_nothing() {
    let work = work().await;
    let start = "countersign/thread/start";
    for settings in [
        json!({"settings": 3}),
        json!({"settings": {"cwd": "relative/folder"}}),
        json!({"settings": {"cwd": ""}}),
        json!({"settings": {"cwd": "/no/such/folder"}}),
        json!({"settings": {"cwd": work.path("a.txt")}}),
        json!({"settings": {"modelProvider": "nobody"}}),
        json!({"settings": {"approvalPolicy": "sometimes"}}),
        json!({"settings": {"sandboxPolicy": {"type": "leaky"}}}),
        json!({"settings": {"effort": 11}}),
        json!({"config": {"model_provider": "nobody"}}),
        json!({"config": {"no_such_key": 1}}),
        json!({"config": {"approval_policy": 5}}),
        json!({"config": []}),
    ] {
        match work.client.request(start, settings.clone()).await {
            Err(error) => {
                is_sound(&error, &settings.to_string());
                assert_ne!(error.code, -32603, "{settings}: {error:?}");
            }
            // Taken with a warning.
            Ok(_) => assert!(settings["config"].is_object(), "{settings} was taken"),
        }
    }
    let thread = work
        .client
        .call(start, json!({"settings": {"cwd": work.path("")}}))
        .await;
    let id = &thread["thread"]["id"];
    for input in [
        json!([]),
        json!([{"type": "text", "text": ""}]),
        json!([{"type": "text", "text": " \n"}]),
        json!([{"type": "text"}]),
        json!([{"type": "smell", "text": "x"}]),
        json!([{}]),
        json!([null]),
        json!("text"),
    ] {
        let params = json!({"threadId": id, "input": input});
        let error = work
            .client
            .request("countersign/turn/start", params)
            .await
            .expect_err("refused");
        is_sound(&error, &input.to_string());
    }
    let steer = json!({"threadId": id, "expectedTurnId": "t", "input": [{"type": "text", "text": "x"}]});
    let error = work
        .client
        .request("countersign/turn/steer", steer)
        .await
        .expect_err("no turn");
    assert_eq!(
        (error.code, &error.data["kind"]),
        (FAILED, &json!("noActiveTurn")),
        "{error:?}"
    );
    let stop = work
        .client
        .call("countersign/turn/interrupt", json!({"threadId": id}))
        .await;
    assert_eq!(stop, json!({"interrupted": false}));
    assert!(work.model.requests().is_empty(), "nothing was begun");
}

/// Decisions on a real proposal that cannot be meant leave it waiting; then a good one settles it, once.
#[tokio::test]
async fn a_proposal_is_decided_once_and_only_by_what_fits() {
    let work = work().await;
    let settings = json!({"settings": {"cwd": work.path("")}});
    let thread = work.client.call("countersign/thread/start", settings).await;
    let input = json!({"threadId": thread["thread"]["id"], "input": [{"type": "text", "text": "go"}]});
    work.client.heed("countersign/proposal/created");
    work.client.call("countersign/turn/start", input).await;
    let created = work.client.expect_notification("countersign/proposal/created").await;
    let (id, hunk) = (
        &created["proposal"]["id"],
        &created["proposal"]["files"][0]["hunks"][0]["id"],
    );
    let decide = "countersign/proposal/decide";
    for (params, code, kind) in [
        (json!({"hunkIds": ["nope"]}), FAILED, "hunkNotFound"),
        (json!({"hunkIds": [hunk, "nope"]}), FAILED, "hunkNotFound"),
        (json!({"path": "/elsewhere/a.txt"}), FAILED, "hunkNotFound"),
        (json!({"hunkIds": "all"}), INVALID, "invalidParams"),
        (json!({"decision": "maybe"}), INVALID, "invalidParams"),
        (json!({"feedback": 3}), INVALID, "invalidParams"),
    ] {
        let mut whole = json!({"proposalId": id, "decision": "accept"});
        for (name, value) in params.as_object().unwrap() {
            whole[name] = value.clone();
        }
        let error = work.client.request(decide, whole.clone()).await.expect_err("refused");
        is_sound(&error, &whole.to_string());
        assert_eq!(error.code, code, "{whole}: {error:?}");
        assert_eq!(error.data["kind"], kind, "{whole}: {error:?}");
        let read = work
            .client
            .call("countersign/proposal/read", json!({"proposalId": id}))
            .await;
        assert_eq!(read["proposal"]["status"], "proposed", "{whole}");
    }
    let reject = json!({"proposalId": id, "decision": "reject", "hunkIds": [hunk], "feedback": "no, thanks"});
    work.client.call(decide, reject.clone()).await;
    let output = work.output("call_1").await;
    assert!(output.contains("rejected") && output.contains("no, thanks"), "{output}");
    let error = work.client.request(decide, reject).await.expect_err("settled");
    assert_eq!(error.data["kind"], "proposalSettled", "{error:?}");
}
