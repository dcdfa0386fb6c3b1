//! Logins that succeed, and what they are told as.

use super::scene::{COMPLETED, Scene, Setting, UPDATED, back, closed, say};
use crate::support::authority::{Manner, browse};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

/// Shows S-338, S-340.
#[tokio::test]
async fn a_key_is_kept_told_of_in_order_and_used() {
    let scene = Scene::new().await;
    let begun = scene
        .call("login/start", json!({"type": "apiKey", "apiKey": " sk-test-1\n"}))
        .await;
    assert_eq!(begun, json!({"type": "apiKey"}));
    assert_eq!(scene.completed().await, json!({"success": true}));
    assert_eq!(scene.updated().await, json!({"authMethod": "apiKey"}));
    let trace = scene.trace_of_account();
    let last = &trace[trace.len() - 3..];
    assert!(
        last[0].starts_with("answer") && last[1] == COMPLETED && last[2] == UPDATED,
        "{trace:?}"
    );
    let file = scene.file();
    assert_eq!(
        std::fs::metadata(&file).expect("there").permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(scene.stored().expect("kept")["OPENAI_API_KEY"], "sk-test-1");
    let thread = scene.thread().await;
    assert_eq!(scene.turn(&thread).await["status"], "completed");
    assert_eq!(scene.sent(), ["Bearer sk-test-1"]);
}

/// Shows S-341, S-345, S-350, S-353.
#[tokio::test]
async fn a_login_in_the_browser_ends_in_an_account() {
    let script = json!([say("Hello."), say("Again.")]);
    let scene = Scene::with(Setting {
        script: Some(script),
        ..Setting::default()
    })
    .await;
    assert_eq!(scene.call("read", json!({})).await, json!({"requiresOpenaiAuth": true}));
    let (id, page) = scene.browser().await;
    // Nobody was asked anything yet, and no browser was opened.
    assert_eq!(scene.authority.asked("authorize"), 0);
    let (status, text) = browse(&page).await.expect("a page");
    assert!(status == 200 && text.contains("You are signed in"), "{status} {text}");
    assert_eq!(scene.completed().await, json!({"loginId": id, "success": true}));
    assert_eq!(scene.updated().await, json!({"authMethod": "account", "plan": "plus"}));
    let trace = scene.trace_of_account();
    assert!(
        trace.ends_with(&[COMPLETED.to_owned(), UPDATED.to_owned()]),
        "{trace:?}"
    );
    let account = scene.call("read", json!({})).await["account"].take();
    let wanted = json!({"type": "account", "email": "ada@example.org", "plan": "plus", "workspaceId": "workspace-1"});
    assert_eq!(account, wanted);
    let file = scene.file();
    assert_eq!(
        std::fs::metadata(&file).expect("there").permissions().mode() & 0o777,
        0o600
    );
    let thread = scene.thread().await;
    assert_eq!(scene.turn(&thread).await["status"], "completed");
    assert_eq!(scene.sent(), [format!("Bearer {}", scene.authority.access())]);
    let requests = scene.model.requests();
    assert_eq!(
        requests[0].headers.get("chatgpt-account-id").map(String::as_str),
        Some("workspace-1")
    );
    // The door is closed behind it.
    let (callback, _) = back(&page);
    closed(&callback).await;
}

/// Shows S-342.
#[tokio::test]
async fn a_forced_workspace_goes_along_and_no_other_is_let_in() {
    let setting = Setting {
        top: "forced_chatgpt_workspace_id = \"workspace-1\"".to_owned(),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    scene.authority.workspace("workspace-2");
    let (_, page) = scene.browser().await;
    let (status, text) = browse(&page).await.expect("a page");
    assert!(status == 400 && text.contains("workspace-2"), "{status} {text}");
    assert_eq!(scene.authority.pages()[0]["allowed_workspace_id"], "workspace-1");
    let completed = scene.completed().await;
    assert_eq!(completed["success"], false);
    assert!(
        completed["error"]
            .as_str()
            .is_some_and(|text| text.contains("forced_chatgpt_workspace_id"))
    );
    assert!(scene.stored().is_none(), "nothing of it is kept");
    scene.authority.workspace("workspace-1");
    scene.log_in().await;
}

/// Shows S-343.
#[tokio::test]
async fn a_second_login_takes_the_place_of_the_first() {
    // The same port for both: the second gets it once the first has left it.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address")
        .port();
    let setting = Setting {
        login: format!("callback_url = \"http://localhost:{port}/auth/callback\""),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    let (first, first_page) = scene.browser().await;
    let (second, second_page) = scene.browser().await;
    assert_ne!(first, second);
    let completed = scene.completed().await;
    assert_eq!(
        (&completed["loginId"], &completed["success"]),
        (&json!(first), &json!(false))
    );
    // The page of the first leads nowhere now.
    let (status, text) = browse(&first_page).await.expect("a page");
    assert!(
        status == 400 && text.contains("not the login that was started"),
        "{text}"
    );
    let (status, _) = browse(&second_page).await.expect("a page");
    assert_eq!(status, 200);
    assert_eq!(scene.completed().await, json!({"loginId": second, "success": true}));
    scene.updated().await;
}

/// Shows S-343.
#[tokio::test]
async fn the_first_address_is_dead_where_ports_are_free() {
    let scene = Scene::new().await;
    let (_, first_page) = scene.browser().await;
    let (second, _) = scene.browser().await;
    scene.completed().await;
    let (callback, _) = back(&first_page);
    closed(&callback).await;
    scene.call("login/cancel", json!({"loginId": second})).await;
    assert_eq!(scene.completed().await["loginId"], second);
}

/// Shows S-339.
#[tokio::test]
async fn a_key_or_a_logout_ends_the_login_that_runs() {
    let scene = Scene::new().await;
    let (first, page) = scene.browser().await;
    scene
        .call("login/start", json!({"type": "apiKey", "apiKey": "sk-test-1"}))
        .await;
    let completed = scene.completed().await;
    assert_eq!(
        (&completed["loginId"], &completed["success"]),
        (&json!(first), &json!(false))
    );
    assert_eq!(scene.completed().await, json!({"success": true}));
    scene.updated().await;
    // Who comes from the page now finds nobody, and the key stays.
    let late = browse(&page).await;
    assert!(late.is_err() || late.is_ok_and(|(status, _)| status >= 400));
    assert_eq!(scene.stored().expect("kept")["OPENAI_API_KEY"], "sk-test-1");
    let (second, _) = scene.browser().await;
    scene.call("logout", json!({})).await;
    assert_eq!(scene.completed().await["loginId"], second);
    assert_eq!(scene.updated().await, json!({}));
    assert!(scene.stored().is_none());
}

/// A code, for a browser anywhere.
#[tokio::test]
async fn a_code_that_is_typed_anywhere_logs_in() {
    let scene = Scene::new().await;
    let begun = scene.call("login/start", json!({"type": "deviceCode"})).await;
    let code = begun["userCode"].as_str().expect("a code");
    assert_eq!(begun["verificationUrl"], "https://login.example.org/device");
    scene.authority.asked_times("poll", 2).await;
    scene.authority.type_code(code);
    assert_eq!(
        scene.completed().await,
        json!({"loginId": begun["loginId"], "success": true})
    );
    assert_eq!(scene.updated().await["authMethod"], "account");
    assert_eq!(
        scene.call("read", json!({})).await["account"]["email"],
        "ada@example.org"
    );
}

/// An authorization server that is asked too often says so: it is asked less often from then on, and the login goes on.
#[tokio::test]
async fn a_server_that_is_asked_too_often_is_asked_more_slowly() {
    let scene = Scene::new().await;
    let slow_down = || Manner::Says(400, json!({"error": "slow_down"}));
    scene.authority.behave("poll", slow_down());
    // Before it is asked first: what is noticed late would shorten the time between the two.
    let asked = std::time::Instant::now();
    let begun = scene.call("login/start", json!({"type": "deviceCode"})).await;
    scene.authority.asked_times("poll", 1).await;
    scene.authority.behave("poll", Manner::Well);
    scene.authority.type_code(begun["userCode"].as_str().expect("a code"));
    assert_eq!(
        scene.completed().await,
        json!({"loginId": begun["loginId"], "success": true})
    );
    // Five seconds are added (RFC 8628, 3.5); without them it would have been asked after one.
    assert!(
        asked.elapsed() >= std::time::Duration::from_secs(5),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(scene.authority.asked("poll"), 2);
    assert_eq!(scene.updated().await["authMethod"], "account");
}

/// Shows S-346.
#[tokio::test]
async fn a_login_is_cancelled_by_its_id_only() {
    let scene = Scene::new().await;
    let (id, page) = scene.browser().await;
    let other = "01890000-0000-7000-8000-000000000000";
    let (code, kind, message) = scene.fails("login/cancel", json!({"loginId": other})).await;
    assert!(
        code == -32600 && kind == "loginNotFound" && message.contains(other),
        "{code} {kind} {message}"
    );
    let (code, kind, message) = scene.fails("login/cancel", json!({"loginId": "abc"})).await;
    assert!(
        code == -32600 && kind == "badLoginId" && message.contains("abc"),
        "{code} {kind} {message}"
    );
    assert_eq!(scene.call("login/cancel", json!({"loginId": id})).await, json!({}));
    let completed = scene.completed().await;
    assert!(
        completed["success"] == false && completed["loginId"] == *id,
        "{completed}"
    );
    let trace = scene.trace_of_account();
    assert!(trace[trace.len() - 2].starts_with("answer"), "{trace:?}");
    let (_, kind, _) = scene.fails("login/cancel", json!({"loginId": id})).await;
    assert_eq!(kind, "loginNotFound");
    let late = browse(&page).await;
    assert!(late.is_err() || late.is_ok_and(|(status, _)| status >= 400));
}

/// What the server gives to a login that somebody has given up meanwhile is given back: nobody else knows of it.
#[tokio::test]
async fn tokens_that_come_too_late_are_given_back() {
    for way in ["cancelled", "superseded", "code", "unwritten"] {
        let scene = Scene::new().await;
        let endpoint = if way == "code" { "poll" } else { "exchange" };
        scene.authority.behave(endpoint, Manner::Silent);
        let begun = match way {
            "code" => scene.call("login/start", json!({"type": "deviceCode"})).await,
            _ => scene.call("login/start", json!({"type": "browser"})).await,
        };
        let id = begun["loginId"].clone();
        let browser = begun["authUrl"].as_str().map(str::to_owned);
        let browser = tokio::spawn(async move {
            if let Some(page) = browser {
                // It may be told that it came too late, or nothing.
                let _answer = browse(&page).await;
            }
        });
        scene.authority.asked_times(endpoint, 1).await;
        match way {
            "superseded" => {
                scene
                    .call("login/start", json!({"type": "apiKey", "apiKey": "sk-test-1"}))
                    .await;
                assert_eq!(scene.completed().await["loginId"], id);
                assert_eq!(scene.completed().await["success"], true);
                scene.updated().await;
            }
            "unwritten" => {
                std::fs::create_dir(scene.home.join("auth.json")).expect("a folder in its place");
            }
            _ => {
                scene.call("login/cancel", json!({"loginId": id})).await;
                assert_eq!(scene.completed().await["success"], false);
            }
        }
        if way == "code" {
            scene.authority.type_code(begun["userCode"].as_str().expect("a code"));
        }
        scene.authority.behave(endpoint, Manner::Well);
        scene.authority.asked_times("revoke", 1).await;
        while scene.authority.revoked().is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(scene.authority.secrets().contains(&scene.authority.revoked()[0]));
        browser.await.expect("no panic");
        if way == "unwritten" {
            assert_eq!(scene.completed().await["success"], false);
            std::fs::remove_dir(scene.home.join("auth.json")).expect("removed");
        }
        let left = scene.stored().map(|file| file["OPENAI_API_KEY"].clone());
        assert_eq!(left, (way == "superseded").then(|| json!("sk-test-1")), "{way}");
    }
}

/// However requests cross each other, the last that is told is how it is.
#[tokio::test]
async fn the_last_that_is_told_is_how_it_is() {
    let scene = Scene::new().await;
    for round in 0..20 {
        let key = json!({"type": "apiKey", "apiKey": format!("sk-test-{round}")});
        let mut told = 0;
        let (_, _, _, _) = futures::join!(
            scene.call("login/start", key.clone()),
            scene.call("logout", json!({})),
            scene.call("login/start", key),
            scene.call("logout", json!({})),
        );
        let mut last = Value::Null;
        while told < 4 {
            last = scene.updated().await;
            told += 1;
        }
        for _ in 0..2 {
            scene.completed().await;
        }
        let status = scene.call("status", json!({})).await;
        assert_eq!(last["authMethod"], status["authMethod"], "{round}: {status}");
    }
}

/// Shows S-347.
#[tokio::test]
async fn a_logout_forgets_tells_the_server_and_says_what_remains() {
    let scene = Scene::new().await;
    scene.log_in().await;
    let refresh = scene.stored().expect("kept")["tokens"]["refresh_token"].clone();
    assert_eq!(scene.call("logout", json!({})).await, json!({}));
    assert_eq!(scene.updated().await, json!({}));
    let trace = scene.trace_of_account();
    assert!(
        trace[trace.len() - 2].starts_with("answer") && trace[trace.len() - 1] == UPDATED,
        "{trace:?}"
    );
    assert!(scene.stored().is_none());
    scene.authority.asked_times("revoke", 1).await;
    while scene.authority.revoked().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(json!(scene.authority.revoked()), json!([refresh]));
    // Signing out twice is no fault.
    scene.call("logout", json!({})).await;
    scene.updated().await;
}

/// Shows S-347.
#[tokio::test]
async fn what_remains_after_a_logout_may_be_a_key_of_the_environment() {
    let setting = Setting {
        provider: "requires_openai_auth = true\nenv_key = \"ACME_KEY\"".to_owned(),
        env: vec![("ACME_KEY".to_owned(), "sk-env".to_owned())],
        stored: Some(json!({"OPENAI_API_KEY": "sk-kept"}).to_string()),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    scene.call("logout", json!({})).await;
    assert_eq!(scene.updated().await, json!({"authMethod": "apiKey"}));
    let thread = scene.thread().await;
    scene.turn(&thread).await;
    assert_eq!(scene.sent(), ["Bearer sk-env"]);
    // What cannot be removed is told.
    std::fs::create_dir(scene.home.join("auth.json")).expect("a folder in its place");
    let (code, kind, message) = scene.fails("logout", json!({})).await;
    assert!(
        code == -32603 && kind == "accountStoreFailed" && message.contains("auth.json"),
        "{message}"
    );
    let nothing: Vec<(String, Value)> = scene.client.take_unread();
    assert!(nothing.iter().all(|(method, _)| method != UPDATED), "{nothing:?}");
}
