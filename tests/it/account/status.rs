//! What is told of the login: how requests are allowed, and how much of the account's allowance is used.

use super::scene::{Scene, Setting, say};
use crate::support::authority::Manner;
use serde_json::{Value, json};

const UPDATED: &str = "countersign/account/rateLimits/updated";

/// Shows S-348.
#[tokio::test]
async fn a_token_is_shown_and_renewed_only_on_request() {
    let setting = Setting {
        logged_in: true,
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    let plain = json!({"authMethod": "account", "requiresOpenaiAuth": true});
    let mut renewals = 0;
    for (include, refresh) in [
        (None, None),
        (Some(false), Some(false)),
        (Some(true), None),
        (None, Some(true)),
        (Some(true), Some(true)),
    ] {
        let answer = scene
            .call("status", json!({"includeToken": include, "refreshToken": refresh}))
            .await;
        renewals += usize::from(refresh == Some(true));
        assert_eq!(scene.authority.asked("refresh"), renewals, "{include:?} {refresh:?}");
        let mut wanted = plain.clone();
        if include == Some(true) {
            wanted["authToken"] = json!(scene.authority.access());
        }
        assert_eq!(answer, wanted, "{include:?} {refresh:?}");
    }
    for manner in [
        Manner::Says(500, json!({})),
        Manner::Html,
        Manner::Says(400, json!({"error": "invalid_grant"})),
    ] {
        scene.authority.behave("refresh", manner);
        let answer = scene
            .call("status", json!({"refreshToken": true, "includeToken": true}))
            .await;
        assert_eq!(answer["authToken"], scene.authority.access(), "the old one");
        let read = scene.call("read", json!({"refreshToken": true})).await;
        assert_eq!(read["account"]["email"], "ada@example.org");
    }
}

/// Shows S-349.
#[tokio::test]
async fn what_is_told_depends_on_what_the_provider_needs_and_what_there_is() {
    let key = json!({"OPENAI_API_KEY": "sk-kept"});
    let none = json!({"requiresOpenaiAuth": true});
    let local = "requires_openai_auth = false";
    let with_variable = "requires_openai_auth = true\nenv_key = \"ACME_KEY\"";
    let table: [(&str, Option<Value>, Value); 8] = [
        (local, Some(key.clone()), json!({"requiresOpenaiAuth": false})),
        (
            "",
            Some(key.clone()),
            json!({"authMethod": "apiKey", "authToken": "sk-kept", "requiresOpenaiAuth": true}),
        ),
        ("", Some(json!({"OPENAI_API_KEY": ""})), none.clone()),
        ("", Some(json!({"tokens": {"access_token": " "}})), none.clone()),
        ("", Some(json!("not a file of logins")), none.clone()),
        ("", Some(json!([1, 2])), none.clone()),
        ("", None, none),
        (
            with_variable,
            Some(key),
            json!({"authMethod": "apiKey", "authToken": "sk-env", "requiresOpenaiAuth": true}),
        ),
    ];
    for (provider, stored, wanted) in table {
        let setting = Setting {
            provider: provider.to_owned(),
            stored: stored.as_ref().map(Value::to_string),
            env: vec![("ACME_KEY".to_owned(), "sk-env".to_owned())],
            ..Setting::default()
        };
        let scene = Scene::with(setting).await;
        let answer = scene.call("status", json!({"includeToken": true})).await;
        assert_eq!(answer, wanted, "{provider} {stored:?}");
        let mut without = wanted.clone();
        without.as_object_mut().expect("a table").remove("authToken");
        assert_eq!(scene.call("status", json!({})).await, without);
        let read = scene.call("read", json!({})).await;
        assert_eq!(read["account"].is_object(), wanted["authMethod"].is_string(), "{read}");
        // S-350: a key has no mail address.
        assert!(read["account"]["email"].is_null());
    }
}

/// What a first run needs to know: whether a model can be asked, and by what ways it could be.
#[tokio::test]
async fn a_first_run_is_told_what_is_missing_and_what_would_help() {
    let wanted = |ready: bool, takes_key: bool, takes_browser: bool| json!({"ready": ready, "provider": "Acme", "takesKey": takes_key, "takesBrowser": takes_browser});
    let with_key = Some(json!({"OPENAI_API_KEY": "sk-kept"}).to_string());
    for (provider, stored, expected) in [
        ("", None, wanted(false, true, true)),
        ("", with_key, wanted(true, true, true)),
        ("requires_openai_auth = false", None, wanted(true, false, false)),
    ] {
        let setting = Setting {
            provider: provider.to_owned(),
            stored,
            ..Setting::default()
        };
        let scene = Scene::with(setting).await;
        assert_eq!(scene.call("setup", json!({})).await, expected, "{provider}");
    }
    // A provider with a key of its own, which is in the environment or not.
    for (name, ready) in [("ACME_KEY", true), ("OTHER_KEY", false)] {
        let setting = Setting {
            provider: "env_key = \"ACME_KEY\"".to_owned(),
            env: vec![(name.to_owned(), "sk-env".to_owned())],
            ..Setting::default()
        };
        let scene = Scene::with(setting).await;
        let mut expected = wanted(ready, false, false);
        expected["envKey"] = json!("ACME_KEY");
        assert_eq!(scene.call("setup", json!({})).await, expected);
    }
    // A key that is given counts at once.
    let scene = Scene::new().await;
    assert_eq!(scene.call("setup", json!({})).await["ready"], false);
    scene
        .call("login/start", json!({"type": "apiKey", "apiKey": "sk-new"}))
        .await;
    assert_eq!(scene.call("setup", json!({})).await["ready"], true);
    scene.completed().await;
    scene.client.expect_notification(super::scene::UPDATED).await;
}

/// Shows S-350, S-353.
#[tokio::test]
async fn a_key_is_an_account_without_a_mail_address() {
    let setting = Setting {
        stored: Some(json!({"OPENAI_API_KEY": "sk-kept"}).to_string()),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    let wanted = json!({"account": {"type": "apiKey"}, "requiresOpenaiAuth": true});
    assert_eq!(scene.call("read", json!({})).await, wanted);
}

/// Shows S-351.
#[tokio::test]
async fn the_allowance_is_asked_for_accounts_only() {
    let scene = Scene::new().await;
    let (code, kind, _) = scene.fails("rateLimits/read", json!({})).await;
    assert_eq!((code, kind.as_str()), (-32600, "notLoggedIn"));
    scene
        .call("login/start", json!({"type": "apiKey", "apiKey": "sk-1"}))
        .await;
    scene.completed().await;
    scene.updated().await;
    let (code, kind, _) = scene.fails("rateLimits/read", json!({})).await;
    assert_eq!((code, kind.as_str()), (-32600, "noAccount"));
    scene.log_in().await;
    let limits = json!({"rateLimits": {
        "primary": {"usedPercent": 42.0, "windowMinutes": 300, "resetsAt": 1_900_000_000}, "plan": "plus",
    }});
    assert_eq!(scene.call("rateLimits/read", json!({})).await, limits);
    // A token that is not accepted is renewed once.
    scene.authority.spoil();
    assert_eq!(scene.call("rateLimits/read", json!({})).await, limits);
    assert_eq!(scene.authority.asked("refresh"), 1);
    for (manner, part) in [
        (Manner::Html, "web page"),
        (Manner::Says(503, json!({"error": "busy"})), "status 503: busy"),
        (Manner::Says(200, json!({"hello": 1})), "says nothing"),
    ] {
        scene.authority.behave("usage", manner);
        let (code, kind, message) = scene.fails("rateLimits/read", json!({})).await;
        assert!(
            code == -32603 && kind == "rateLimitsFailed" && message.contains(part),
            "{message}"
        );
    }
    let mut scene = scene;
    scene.authority.stop().await;
    let (code, kind, message) = scene.fails("rateLimits/read", json!({})).await;
    assert!(
        code == -32603 && kind == "rateLimitsFailed" && message.contains("cannot be reached"),
        "{message}"
    );
}

/// Shows S-352.
#[tokio::test]
async fn limits_that_come_with_token_counts_are_told_of_the_account() {
    let usage = json!({"usage": {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}});
    let with = |percent: Option<&str>| {
        let headers = percent.map_or(json!({}), |percent| json!({"x-codex-primary-used-percent": percent}));
        json!({"headers": headers, "outputs": [{"say": "Hello."}, usage]})
    };
    let setting = Setting {
        provider: "requires_openai_auth = false".to_owned(),
        script: Some(json!([with(None), with(Some("12.5"))])),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    let thread = scene.thread().await;
    scene.client.heed("countersign/thread/tokenUsage");
    scene.turn(&thread).await;
    let numbers = scene.client.expect_notification("countersign/thread/tokenUsage").await;
    assert!(numbers["rateLimits"].is_null());
    let unread = scene.client.take_unread();
    assert!(unread.iter().all(|(method, _)| method != UPDATED), "{unread:?}");
    scene.turn(&thread).await;
    let numbers = scene.client.expect_notification("countersign/thread/tokenUsage").await;
    let told = scene.client.expect_notification(UPDATED).await;
    assert_eq!(told["rateLimits"], numbers["rateLimits"]);
    assert_eq!(told["rateLimits"]["primary"]["usedPercent"], 12.5);
    scene.client.ignore("countersign/thread/tokenUsage");
    let unread = scene.client.take_unread();
    assert!(
        unread.iter().all(|(method, _)| method != UPDATED),
        "one and no more: {unread:?}"
    );
}

/// What an account may use is another list than what a key may.
#[tokio::test]
async fn the_turn_of_nobody_says_how_to_log_in() {
    let scene = Scene::with(Setting {
        script: Some(json!([say("Hello.")])),
        ..Setting::default()
    })
    .await;
    let thread = scene.thread().await;
    let turn = scene.turn(&thread).await;
    let message = turn["error"]["message"].as_str().expect("why");
    assert!(
        message.contains("nobody is signed in") && message.contains("countersign login"),
        "{turn}"
    );
    assert_eq!(scene.sent(), [""; 0], "nothing was sent");
}
