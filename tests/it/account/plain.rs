//! Signing in from an editor without our plugin: commands, the editor's own browser, questions and progress.

use super::scene::{Scene, Setting};
use crate::support::authority::browse;
use crate::support::client::{Caps, Reply};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

async fn plain(capabilities: Value) -> Scene {
    let scene = Scene::with(Setting {
        caps: Some(Caps::Own(capabilities)),
        ..Setting::default()
    })
    .await;
    scene.client.on_request("window/showMessageRequest", |_| Reply::Later);
    scene
}

async fn command(scene: &Scene, name: &str, arguments: Value) {
    let params = json!({"command": format!("countersign.{name}"), "arguments": arguments});
    let answer = scene.client.call("workspace/executeCommand", params).await;
    assert_eq!(answer, Value::Null);
}

async fn shown(scene: &Scene) -> (u64, String) {
    let shown = scene.client.expect_notification("window/showMessage").await;
    (
        shown["type"].as_u64().expect("a number"),
        shown["message"].as_str().expect("a text").to_owned(),
    )
}

#[tokio::test]
async fn the_editor_opens_the_page_and_says_who_is_logged_in() {
    let scene = plain(json!({"window": {"showDocument": {"support": true}, "workDoneProgress": true}})).await;
    let opened = Arc::new(Mutex::new(None));
    let seen = opened.clone();
    scene.client.on_request("window/showDocument", move |params| {
        assert_eq!(params["external"], true);
        *seen.lock().expect("no panic") = params["uri"].as_str().map(str::to_owned);
        Reply::Ok(json!({"success": true}))
    });
    command(&scene, "login", json!([])).await;
    let question = scene.client.expect_request("window/showMessageRequest").await;
    scene.client.answer(&question, Ok(json!({"title": "In the browser"})));
    let begin = scene
        .client
        .expect_notification_where("$/progress", |params| params["value"]["kind"] == "begin")
        .await;
    assert_eq!(begin["value"]["cancellable"], true);
    let page = loop {
        if let Some(page) = opened.lock().expect("no panic").take() {
            break page;
        }
        scene.client.settle().await;
    };
    assert_eq!(browse(&page).await.expect("a page").0, 200);
    let end = scene
        .client
        .expect_notification_where("$/progress", |params| params["value"]["kind"] == "end")
        .await;
    assert_eq!(end["token"], begin["token"]);
    let (kind, words) = shown(&scene).await;
    assert!(kind == 3 && words.contains("ada@example.org"), "{words}");
    command(&scene, "logout", json!([])).await;
    let (kind, words) = shown(&scene).await;
    assert!(kind == 3 && words.contains("signed out"), "{words}");
    assert!(scene.stored().is_none());
    // Nothing of the plugin's protocol was sent.
    assert!(
        scene
            .client
            .take_unread()
            .iter()
            .all(|(method, _)| !method.starts_with("countersign/"))
    );
}

/// Where the turn of nobody fails, *Sign in* is a button: pressed, it asks how, and the next turn has the login.
#[tokio::test]
async fn the_error_of_nobody_has_a_button_that_logs_in() {
    let scene = Scene::with(Setting {
        top: "model_context_window = 100000\n".to_owned(),
        caps: Some(Caps::Recorded("vscode-lc9")),
        script: Some(json!([[{"say": "Hello."}]])),
        ..Setting::default()
    })
    .await;
    for method in ["$/progress", "textDocument/publishDiagnostics"] {
        scene.client.ignore(method);
    }
    for method in ["window/showMessageRequest", "window/showDocument"] {
        scene.client.on_request(method, |_| Reply::Later);
    }
    let file = scene.dir.join("a.txt");
    std::fs::write(&file, "a\n").expect("a file");
    scene.client.open(&file, "text", 1, "a\n");
    let place = json!([{
        "uri": countersign::workspace::uri::from_path(&file), "lines": {"start": 0, "end": 1}, "instruction": "Fix it",
    }]);
    command(&scene, "rewrite", place.clone()).await;
    let question = scene.client.expect_request("window/showMessageRequest").await;
    let words = question.params["message"].as_str().expect("words");
    assert!(words.contains("nobody is signed in"), "{words}");
    let titles: Vec<_> = question.params["actions"].as_array().expect("buttons").iter().collect();
    assert_eq!(titles, [&json!({"title": "Sign in"}), &json!({"title": "Close"})]);
    scene.client.answer(&question, Ok(json!({"title": "Sign in"})));
    let question = scene.client.expect_request("window/showMessageRequest").await;
    scene.client.answer(&question, Ok(json!({"title": "In the browser"})));
    let page = scene.client.expect_request("window/showDocument").await;
    scene.client.answer(&page, Ok(json!({"success": true})));
    assert_eq!(
        browse(page.params["uri"].as_str().expect("a page"))
            .await
            .expect("a page")
            .0,
        200
    );
    let says = async |words: &'static str| {
        let fits = move |params: &Value| params["message"].as_str().is_some_and(|text| text.contains(words));
        scene.client.expect_notification_where("window/showMessage", fits).await
    };
    assert_eq!(says("ada@example.org").await["type"], 3);
    assert_eq!(scene.sent(), [""; 0], "nothing was sent before");
    command(&scene, "rewrite", place).await;
    says("Hello.").await;
    assert!(scene.sent()[0].starts_with("Bearer "), "{:?}", scene.sent());
}

#[tokio::test]
async fn an_editor_that_opens_nothing_names_the_page() {
    let scene = plain(json!({})).await;
    command(&scene, "login", json!([{"method": "browser"}])).await;
    let (_, words) = shown(&scene).await;
    let page = words
        .split_whitespace()
        .find(|word| word.starts_with("http"))
        .expect("an address");
    assert_eq!(browse(page).await.expect("a page").0, 200);
    let (_, words) = shown(&scene).await;
    assert!(words.contains("ada@example.org"), "{words}");
}

#[tokio::test]
async fn a_code_is_shown_and_the_question_goes_when_it_was_typed() {
    let scene = plain(json!({"window": {"workDoneProgress": true}})).await;
    scene.client.ignore("$/progress");
    command(&scene, "login", json!([{"method": "deviceCode"}])).await;
    let question = scene.client.expect_request("window/showMessageRequest").await;
    let words = question.params["message"].as_str().expect("a text").to_owned();
    assert!(words.contains("https://login.example.org/device"), "{words}");
    let code = words
        .split_whitespace()
        .find(|word| word.starts_with("CODE-"))
        .expect("a code");
    scene.authority.type_code(code);
    let (_, words) = shown(&scene).await;
    assert!(words.contains("ada@example.org"), "{words}");
    scene.client.expect_withdrawn(&question).await;
}

#[tokio::test]
async fn cancel_ends_the_login_wherever_it_is_pressed() {
    let scene = plain(json!({"window": {"workDoneProgress": true}})).await;
    command(&scene, "login", json!([{"method": "browser"}])).await;
    let begin = scene
        .client
        .expect_notification_where("$/progress", |params| params["value"]["kind"] == "begin")
        .await;
    shown(&scene).await;
    scene
        .client
        .notify("window/workDoneProgress/cancel", json!({"token": begin["token"]}));
    let (kind, words) = shown(&scene).await;
    assert!(kind == 1 && words.contains("cancelled"), "{words}");
    scene.client.ignore("$/progress");
    command(&scene, "login", json!([{"method": "deviceCode"}])).await;
    let question = scene.client.expect_request("window/showMessageRequest").await;
    scene.client.answer(&question, Ok(json!({"title": "Cancel the login"})));
    let (kind, words) = shown(&scene).await;
    assert!(kind == 1 && words.contains("cancelled"), "{words}");
    // Who does not choose has not begun anything.
    command(&scene, "login", json!([])).await;
    let question = scene.client.expect_request("window/showMessageRequest").await;
    scene.client.answer(&question, Ok(Value::Null));
    let params = json!({"command": "countersign.login", "arguments": [{"method": "guess"}]});
    let error = scene
        .client
        .request("workspace/executeCommand", params)
        .await
        .expect_err("refused");
    assert_eq!(error.code, -32602, "{error:?}");
    assert!(scene.stored().is_none());
}
