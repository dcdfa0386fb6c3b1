//! Feedback: what is in it, that it is seen before it goes, and that it goes nowhere by itself.

use super::stage::{Setting, Stage, say};
use crate::support::client::Reply;
use crate::support::collector::{Collector, Mood};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const SECRET: &str = "correct-horse-battery-staple";

fn setting(tables: &str) -> Setting {
    Setting {
        tables: tables.to_owned(),
        env: vec![("MY_OWN_TOKEN".to_owned(), SECRET.to_owned())],
        ..Setting::default()
    }
}

fn endpoint(receiver: &Collector) -> String {
    format!(
        "[feedback]\nendpoint = \"http://{}/reports\"\nheaders = {{ \"x-key\" = \"${{MY_OWN_TOKEN}}\" }}\n",
        receiver.address()
    )
}

/// The reports that have arrived.
fn reports(receiver: &Collector) -> Vec<Value> {
    let received = receiver.received();
    received
        .iter()
        .map(|one| serde_json::from_slice(&one.body).expect("JSON"))
        .collect()
}

fn texts(lines: &Value) -> String {
    let lines = lines.as_array().expect("lines").iter();
    lines
        .map(|line| line.as_str().expect("text"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Shows S-379, S-380, S-381.
#[tokio::test]
async fn what_is_sent_is_what_was_asked_for_and_shown() {
    let receiver = Collector::http().await;
    let script = json!([[say("hello")], [say("hello")]]);
    let stage = Stage::with(script, setting(&endpoint(&receiver))).await;
    let (thread, other) = (stage.thread().await, stage.thread().await);
    stage.complete(&thread, &format!("a word on {SECRET}")).await;
    stage.complete(&other, "another matter").await;
    let upload = async |params: Value| stage.client.call("countersign/feedback/upload", params).await;
    // The least, and nothing that was left out.
    let answer = upload(json!({"classification": "bug"})).await;
    let bare = reports(&receiver).pop().expect("a report");
    assert_eq!(answer["threadId"], bare["threadId"]);
    assert!(
        bare["threadId"]
            .as_str()
            .is_some_and(|id| id.starts_with("no-active-thread-"))
    );
    for left_out in ["reason", "tags", "logs", "rollout", "files"] {
        assert!(bare.get(left_out).is_none(), "{left_out}");
    }
    // All of it.
    let full = json!({
        "classification": "badResult", "reason": format!("it said {SECRET}"), "threadId": thread, "includeLogs": true,
        "tags": {"area": "patches"},
    });
    assert_eq!(upload(full.clone()).await["threadId"], thread);
    let report = reports(&receiver).pop().expect("a report");
    assert_eq!(
        [
            &report["classification"],
            &report["reason"],
            &report["threadId"],
            &report["tags"]["area"]
        ],
        [
            &json!("badResult"),
            &json!("it said <secret>"),
            &json!(thread),
            &json!("patches")
        ]
    );
    let logs = texts(&report["logs"]);
    assert!(logs.contains(&thread) && logs.contains("DEBUG"), "{logs}");
    assert!(!logs.contains(&other), "{logs}");
    let rollout = texts(&report["rollout"]["lines"]);
    assert!(rollout.contains("a word on <secret>"), "{rollout}");
    assert!(
        receiver
            .received()
            .iter()
            .all(|one| !String::from_utf8_lossy(&one.body).contains(SECRET))
    );
    assert!(receiver.received().iter().all(|one| one.headers["x-key"] == SECRET));
    // Live, but without logs; with logs, but not live any more.
    upload(json!({"classification": "bug", "threadId": thread})).await;
    assert!(reports(&receiver).pop().expect("a report").get("rollout").is_none());
    stage.client.ignore("countersign/thread/archived");
    stage
        .client
        .call("countersign/thread/archive", json!({"threadId": thread}))
        .await;
    upload(full.clone()).await;
    let report = reports(&receiver).pop().expect("a report");
    assert!(report.get("rollout").is_none() && report["logs"].is_array());
    // What is shown is what goes, whatever is logged meanwhile.
    let shown = stage.client.call("countersign/feedback/preview", full.clone()).await;
    assert_eq!(
        shown["endpoint"],
        json!(format!("http://{}/reports", receiver.address()))
    );
    assert_eq!(shown["parts"][0]["name"], "logs");
    upload(json!({"classification": "badResult", "previewId": shown["previewId"]})).await;
    let sent = receiver.received().pop().expect("a report");
    assert_eq!(
        String::from_utf8_lossy(&sent.body),
        shown["report"].as_str().expect("text")
    );
    let error = stage.client.request(
        "countersign/feedback/upload",
        json!({"classification": "x", "previewId": "none"}),
    );
    assert_eq!(error.await.expect_err("not shown").data["kind"], "previewNotFound");
}

/// Shows S-382.
#[tokio::test]
async fn a_receiver_that_hangs_or_is_gone_holds_nobody_up() {
    let receiver = Collector::http().await;
    let stage = Stage::with(json!([]), setting(&endpoint(&receiver))).await;
    receiver.set(Mood::Silent);
    let params = json!({"classification": "bug"});
    let waiting = stage.client.send_request("countersign/feedback/upload", params.clone());
    receiver.until("it has come", |now| !now.received().is_empty()).await;
    stage.thread().await;
    stage.client.notify("$/cancelRequest", json!({"id": waiting}));
    let error = stage.client.expect_answer(json!(waiting)).await.expect_err("cancelled");
    assert_eq!(error.code, -32800);
    let failed = async |status: &str| {
        let answer = stage.client.request("countersign/feedback/upload", params.clone());
        let error = answer.await.expect_err("not taken");
        assert_eq!((error.code, &error.data["kind"]), (-32603, &json!("feedbackFailed")));
        assert!(error.message.contains(status), "{}", error.message);
        assert!(!error.message.contains(SECRET));
    };
    receiver.set(Mood::Status(507));
    failed("507").await;
    // Whether a connection from before is still there decides how it fails.
    drop(receiver);
    failed("was not sent").await;
}

/// Part of S-379: with no endpoint it can only be saved, and says so.
#[tokio::test]
async fn without_an_endpoint_it_is_a_file_and_nothing_else() {
    let stage = Stage::with(json!([]), setting("")).await;
    let params = json!({"classification": "bug", "reason": "because"});
    let error = stage
        .client
        .request("countersign/feedback/upload", params.clone())
        .await;
    let error = error.expect_err("nowhere to send it");
    assert_eq!(
        (error.code, &error.data["kind"]),
        (-32803, &json!("noFeedbackEndpoint"))
    );
    assert!(error.message.contains("Save it as a file"), "{}", error.message);
    let shown = stage.client.call("countersign/feedback/preview", params.clone()).await;
    assert!(shown.get("endpoint").is_none());
    let path = stage.path("report.json");
    let save = json!({"classification": "bug", "previewId": shown["previewId"], "savePath": path});
    let saved = stage.client.call("countersign/feedback/save", save.clone()).await;
    assert_eq!(
        (&saved["savedPath"], &saved["threadId"]),
        (&json!(path), &shown["threadId"])
    );
    assert_eq!(stage.text("report.json"), shown["report"].as_str().expect("text"));
    let again = stage
        .client
        .request("countersign/feedback/save", save)
        .await
        .expect_err("it is there");
    assert!(again.message.contains("already"), "{}", again.message);
    for wrong in [
        json!({"classification": " "}),
        json!({"classification": "bug", "includeLogs": true, "extraLogFiles": ["relative.log"]}),
        json!({"classification": "bug", "includeLogs": true, "extraLogFiles": [stage.path("none.log")]}),
        json!({"classification": "bug", "includeLogs": true, "extraLogFiles": [stage.dir]}),
    ] {
        let error = stage
            .client
            .request("countersign/feedback/preview", wrong.clone())
            .await;
        assert_eq!(error.expect_err("refused").data["kind"], "invalidParams", "{wrong}");
    }
    // A further file goes along by its name.
    stage.write("my.log", &format!("one\ntwo {SECRET}\n"));
    let with_file = json!({"classification": "bug", "includeLogs": true, "extraLogFiles": [stage.path("my.log")]});
    let shown = stage.client.call("countersign/feedback/preview", with_file).await;
    let report: Value = serde_json::from_str(shown["report"].as_str().expect("text")).expect("JSON");
    assert_eq!(
        report["files"],
        json!([{"name": "my.log", "lines": ["one", "two <secret>"]}])
    );
}

/// A client without the plugin that can show documents.
fn plain() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-8"]},
        "window": {"showDocument": {"support": true}},
        "workspace": {"applyEdit": true, "workspaceEdit": {"documentChanges": true}},
    })
}

async fn command(stage: &Stage, arguments: Value) {
    for method in ["window/showDocument", "window/showMessageRequest"] {
        stage.client.on_request(method, |_| Reply::Later);
    }
    let params = json!({"command": "countersign.feedback", "arguments": arguments});
    stage.client.call("workspace/executeCommand", params).await;
}

/// The report that the editor is asked to show.
async fn shown(stage: &Stage) -> (String, Value) {
    let asked = stage.client.expect_request("window/showDocument").await;
    let place = asked.params["uri"].as_str().expect("a place").to_owned();
    stage.client.answer(&asked, Ok(json!({"success": true})));
    let path = countersign::workspace::uri::to_path(&place)
        .expect("a path")
        .expect("a file");
    let text = std::fs::read_to_string(&path).expect("a report");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).expect("a file").permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(Path::new(&path).starts_with(stage.client.home().join("feedback")));
    (place, serde_json::from_str(&text).expect("JSON"))
}

/// Part of S-379 and S-381: any editor can do it, and nothing goes without a yes.
#[tokio::test]
async fn the_command_shows_the_report_and_asks_before_it_is_sent() {
    let receiver = Collector::http().await;
    let setting = Setting {
        caps: plain(),
        ..setting(&endpoint(&receiver))
    };
    let stage = Stage::with(json!([]), setting).await;
    for (answer, sent) in [
        (Value::Null, None),
        (json!({"title": "Cancel"}), None),
        (json!({"title": "Send"}), Some(false)),
        (json!({"title": "Send with logs"}), Some(true)),
    ] {
        let before = receiver.received().len();
        command(&stage, json!([{"classification": "goodResult", "reason": "it works"}])).await;
        let (_, report) = shown(&stage).await;
        assert!(report["logs"].is_array());
        let asked = stage.client.expect_request("window/showMessageRequest").await;
        let titles: Vec<_> = asked.params["actions"]
            .as_array()
            .expect("actions")
            .iter()
            .map(|action| action["title"].clone())
            .collect();
        assert_eq!(titles, ["Send", "Send with logs", "Cancel"]);
        assert!(
            asked.params["message"]
                .as_str()
                .expect("words")
                .contains(&receiver.address().to_string())
        );
        assert_eq!(receiver.received().len(), before);
        stage.client.answer(&asked, Ok(answer));
        if let Some(with_logs) = sent {
            let told = stage.client.expect_notification("window/showMessage").await;
            assert!(told["message"].as_str().expect("words").contains("was sent"), "{told}");
            let arrived = reports(&receiver).pop().expect("a report");
            assert_eq!(
                (&arrived["classification"], &arrived["reason"]),
                (&json!("goodResult"), &json!("it works"))
            );
            assert_eq!(arrived.get("logs").is_some(), with_logs);
        }
        stage.client.settle().await;
        assert_eq!(receiver.received().len(), before + usize::from(sent.is_some()));
    }
}

/// Part of S-379: with nowhere to send it, the command says where the file is.
#[tokio::test]
async fn the_command_without_an_endpoint_writes_a_file() {
    let setting = Setting {
        caps: plain(),
        ..setting("")
    };
    let stage = Stage::with(json!([]), setting).await;
    command(&stage, json!([])).await;
    let (place, report) = shown(&stage).await;
    assert_eq!(report["classification"], "other");
    let told = stage.client.expect_notification("window/showMessage").await;
    let words = told["message"].as_str().expect("words");
    let name = place.rsplit('/').next().expect("a name");
    assert!(
        words.contains(name) && words.contains("no endpoint is configured"),
        "{words}"
    );
}

/// On the command line: shown, saved, and sent only after a yes.
#[tokio::test]
async fn the_command_line_shows_what_would_go() {
    let receiver = Collector::http().await;
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("report.json");
    std::fs::write(home.path().join("config.toml"), endpoint(&receiver)).expect("a file");
    let run = async |arguments: &[&str]| {
        let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_countersign"))
            .arg("feedback")
            .args(arguments)
            .env_clear()
            .env("COUNTERSIGN_HOME", home.path())
            .env("MY_OWN_TOKEN", SECRET)
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(Duration::from_secs(60), output).await;
        let output = output.expect("it ends").expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (output.status.success(), text(output.stdout), text(output.stderr))
    };
    let reason = format!("{SECRET} is mine");
    let saved = path.display().to_string();
    let (done, report, _) = run(&[
        "--classification",
        "bug",
        "--reason",
        &reason,
        "--with-logs",
        "--save",
        &saved,
    ])
    .await;
    assert!(done);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), report);
    let document: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(
        (&document["reason"], &document["logs"]),
        (&json!("<secret> is mine"), &json!([]))
    );
    let (done, _, said) = run(&["--send"]).await;
    assert!(
        !done && said.contains("no yes") && receiver.received().is_empty(),
        "{said}"
    );
    let (done, report, said) = run(&["--send", "--yes"]).await;
    assert!(done, "{said}");
    assert_eq!(String::from_utf8_lossy(&receiver.received()[0].body), report);
    std::fs::write(home.path().join("config.toml"), "").expect("a file");
    let (done, _, said) = run(&["--send", "--yes"]).await;
    assert!(!done && said.contains("no endpoint is configured"), "{said}");
}
