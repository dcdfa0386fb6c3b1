//! A login that is kept alive: renewed before it runs out, and once where the provider does not accept it.

use super::scene::{Scene, Setting, say};
use crate::support::authority::{Authority, Manner};
use serde_json::{Value, json};

/// A model that does not accept this token, and answers whoever comes with another.
fn refuses(token: &str) -> Value {
    json!([
        {"name": "refused", "repeat": true, "when": {"header": {"authorization": token}},
            "outputs": [{"fail": {"status": 401, "body": {"error": {"message": format!("Bad token {token}")}}}}]},
        {"name": "good", "repeat": true, "outputs": say("Hello.")},
    ])
}

async fn with_refused_token() -> Scene {
    let setting = Setting {
        logged_in: true,
        ..Setting::default()
    };
    Scene::after(setting, |authority, setting| {
        setting.script = Some(refuses(&authority.access()))
    })
    .await
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_for_all_who_want_it() {
    let scene = with_refused_token().await;
    let mut threads = Vec::new();
    for _ in 0..4 {
        threads.push(scene.thread().await);
    }
    let old = scene.authority.access();
    let turns = threads.iter().map(|thread| scene.turn(thread));
    for turn in futures::future::join_all(turns).await {
        assert_eq!(turn["status"], "completed", "{turn}");
    }
    assert_eq!(scene.authority.asked("refresh"), 1, "one renewal for four turns");
    let stored = scene.stored().expect("kept");
    assert_eq!(stored["tokens"]["access_token"], scene.authority.access());
    assert_ne!(stored["tokens"]["access_token"], old);
    assert!(stored["last_refresh"].is_string());
    // From now on the new one is sent at once.
    scene.turn(&threads[0]).await;
    assert_eq!(scene.sent().pop(), Some(format!("Bearer {}", scene.authority.access())));
    assert_eq!(scene.authority.asked("refresh"), 1);
}

#[tokio::test]
async fn a_token_that_runs_out_soon_is_renewed_first() {
    let prepare = |lasts: i64| {
        move |authority: &Authority, setting: &mut Setting| {
            setting.script = Some(json!([{"repeat": true, "outputs": say("Hello.")}]));
            authority.lasts(lasts);
        }
    };
    for (lasts, renewals) in [(60, 1), (-60, 1), (3600, 0)] {
        let scene = Scene::after(Setting::default(), prepare(lasts)).await;
        scene.authority.put_into(&scene.home);
        let first = scene.authority.access();
        scene.authority.lasts(3600);
        let thread = scene.thread().await;
        assert_eq!(scene.turn(&thread).await["status"], "completed");
        scene.authority.asked_times("refresh", renewals).await;
        scene.kept(&scene.authority.access()).await;
        scene.turn(&thread).await;
        assert_eq!(scene.authority.asked("refresh"), renewals, "{lasts}");
        let sent = scene.sent();
        let last = format!("Bearer {}", scene.authority.access());
        assert_eq!(sent[1], last);
        // One that still holds is sent while it is renewed.
        assert_eq!(sent[0] == format!("Bearer {first}"), lasts > 0);
        assert_eq!(sent[0] == last, lasts != 60);
    }
}

/// Nobody waits for the authorization server while what they have holds.
#[tokio::test]
async fn a_silent_authorisation_server_holds_up_no_request_whose_token_holds() {
    let prepare = |authority: &Authority, setting: &mut Setting| {
        setting.script = Some(json!([{"repeat": true, "outputs": say("Hello.")}]));
        authority.lasts(60);
    };
    let scene = Scene::after(Setting::default(), prepare).await;
    scene.authority.put_into(&scene.home);
    let first = scene.authority.access();
    scene.authority.behave("refresh", Manner::Silent);
    let thread = scene.thread().await;
    for _ in 0..3 {
        assert_eq!(scene.turn(&thread).await["status"], "completed");
    }
    assert_eq!(scene.sent(), vec![format!("Bearer {first}"); 3]);
    assert_eq!(scene.authority.asked("refresh"), 1, "one renewal for all of them");
    // It is taken as soon as it comes.
    scene.authority.lasts(3600);
    scene.authority.behave("refresh", Manner::Well);
    while scene.authority.access() == first {
        tokio::task::yield_now().await;
    }
    scene.kept(&scene.authority.access()).await;
    scene.turn(&thread).await;
    assert_eq!(scene.sent().pop(), Some(format!("Bearer {}", scene.authority.access())));
}

/// Only the words that say so end a login; whatever else the server says, the next request asks it again.
#[tokio::test]
async fn what_does_not_end_a_login_is_asked_again() {
    for (status, code, ends) in [
        (400, "invalid_grant", true),
        (401, "refresh_token_expired", true),
        (400, "refresh_token_reused", true),
        (400, "refresh_token_invalidated", true),
        (400, "invalid_client", false),
        (401, "unauthorized_client", false),
        (403, "blocked_by_proxy", false),
        (404, "not_found", false),
        (409, "conflict", false),
    ] {
        let scene = with_refused_token().await;
        scene.authority.behave(
            "refresh",
            Manner::Says(status, json!({"error": {"code": code, "message": "No."}})),
        );
        let thread = scene.thread().await;
        let turn = scene.turn(&thread).await;
        let message = turn["error"]["message"].as_str().expect("why");
        assert!(message.contains(code), "{message}");
        assert_eq!(message.contains("countersign login"), ends, "{message}");
        let asked = scene.authority.asked("refresh");
        scene.authority.behave("refresh", Manner::Well);
        let turn = scene.turn(&thread).await;
        assert_eq!(turn["status"] == "completed", !ends, "{code}: {turn}");
        assert_eq!(scene.authority.asked("refresh") > asked, !ends, "{code}");
    }
}

/// A file that cannot be read at the moment is no logout: the tokens that were just given are used, and kept once they can be.
#[tokio::test]
async fn a_file_that_cannot_be_read_during_a_renewal_is_no_logout() {
    for broken in ["empty", "half", "folder"] {
        let scene = with_refused_token().await;
        scene.authority.behave("refresh", Manner::Silent);
        let thread = scene.thread().await;
        let turn = scene.turn(&thread);
        let meddle = async {
            scene.authority.asked_times("refresh", 1).await;
            match broken {
                "empty" => std::fs::write(scene.file(), "").expect("a file"),
                "half" => std::fs::write(scene.file(), "{\"tokens\": {").expect("a file"),
                _ => {
                    std::fs::remove_file(scene.file()).expect("removed");
                    std::fs::create_dir(scene.file()).expect("a folder in its place");
                }
            }
            scene.authority.behave("refresh", Manner::Well);
        };
        let (turn, ()) = futures::join!(turn, meddle);
        assert_eq!(turn["status"], "completed", "{broken}: {turn}");
        let renewed = scene.authority.access();
        assert_eq!(scene.sent().pop(), Some(format!("Bearer {renewed}")));
        if broken == "folder" {
            assert_eq!(scene.turn(&thread).await["status"], "completed", "it is in memory");
            std::fs::remove_dir(scene.file()).expect("removed");
            // Gone is gone: that is a logout.
            scene.authority.asked_times("revoke", 1).await;
            assert_eq!(scene.turn(&thread).await["status"], "failed");
        } else {
            scene.kept(&renewed).await;
            assert_eq!(scene.authority.revoked(), [""; 0], "{broken}");
        }
        let log = std::fs::read_to_string(scene.home.join("log/countersign.log")).expect("a log");
        assert!(log.contains("kept in memory until it can be written"), "{log}");
    }
}

/// What another program puts there during a renewal counts: it is a newer login.
#[tokio::test]
async fn who_logs_in_anew_during_a_renewal_stays_logged_in() {
    let scene = with_refused_token().await;
    scene.authority.behave("refresh", Manner::Silent);
    let thread = scene.thread().await;
    let other = json!({"tokens": {"access_token": "another-login-at", "refresh_token": "another-login-rt", "account_id": "workspace-9"}});
    let meddle = async {
        scene.authority.asked_times("refresh", 1).await;
        std::fs::write(scene.file(), other.to_string()).expect("a file");
        scene.authority.behave("refresh", Manner::Well);
    };
    let (turn, ()) = futures::join!(scene.turn(&thread), meddle);
    assert_eq!(turn["status"], "completed", "{turn}");
    assert_eq!(scene.sent().pop(), Some("Bearer another-login-at".to_owned()));
    assert_eq!(scene.stored(), Some(other));
    scene.authority.asked_times("revoke", 1).await;
}

/// A command that runs while the login is renewed, or made, sees neither file.
#[tokio::test]
async fn a_command_that_runs_while_tokens_change_sees_none_of_them() {
    let look = "touch started; until [ -e go ]; do sleep 0.05; done; \
                cat ../home/auth.json ../home/private/* ../home/private/auth.json ../home/private/.* ../home/.auth* 2>&1; \
                find ../home -name '*auth.json*' 2>/dev/null; echo looked";
    let prepare = |_: &Authority, setting: &mut Setting| {
        setting.top = "approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"".to_owned();
        let call = json!({"call": {"tool": "shell", "arguments": {"command": ["sh", "-c", look]}, "id": "look"}});
        setting.script = Some(json!([[call], [{"say": "Done."}]]));
    };
    for logged_in in [true, false] {
        let setting = Setting {
            logged_in,
            provider: match logged_in {
                true => String::new(),
                false => "requires_openai_auth = false".to_owned(),
            },
            ..Setting::default()
        };
        let scene = Scene::after(setting, prepare).await;
        let thread = scene.thread().await;
        let change = async {
            while !scene.dir.join("started").exists() {
                tokio::task::yield_now().await;
            }
            match logged_in {
                true => drop(scene.call("read", json!({"refreshToken": true})).await),
                false => scene.log_in().await,
            }
            scene.kept(&scene.authority.access()).await;
            std::fs::write(scene.dir.join("go"), "").expect("a file");
        };
        let (turn, ()) = futures::join!(scene.turn(&thread), change);
        assert_eq!(turn["status"], "completed", "{turn}");
        let request = scene.model.requests().pop().expect("a request").body.to_string();
        assert!(request.contains("looked"), "{request}");
        for secret in scene.authority.secrets() {
            assert!(!request.contains(&secret), "{request}");
        }
    }
}

#[tokio::test]
async fn a_login_that_cannot_be_renewed_ends_in_advice() {
    let scene = with_refused_token().await;
    let (token, stored) = (scene.authority.access(), scene.stored());
    scene.authority.behave(
        "refresh",
        Manner::Says(400, json!({"error": "invalid_grant", "error_description": "Gone."})),
    );
    let thread = scene.thread().await;
    for _ in 0..2 {
        let turn = scene.turn(&thread).await;
        let message = turn["error"]["message"].as_str().expect("why");
        assert_eq!(
            (&turn["status"], &turn["error"]["kind"]),
            (&json!("failed"), &json!("unauthorized")),
            "{turn}"
        );
        assert!(
            message.contains("countersign login") && message.contains("invalid_grant"),
            "{message}"
        );
        assert!(!message.contains(&token), "{message}");
    }
    // It is asked once: what it does not accept it will not accept the second time.
    assert_eq!(scene.authority.asked("refresh"), 1);
    assert_eq!(scene.stored(), stored, "what was kept stays, for the person to decide");
    scene.authority.behave("refresh", Manner::Well);
    scene.log_in().await;
    assert_eq!(scene.turn(&thread).await["status"], "completed");
}

#[tokio::test]
async fn a_provider_that_accepts_no_token_is_asked_twice_and_no_more() {
    let setting = Setting {
        logged_in: true,
        script: Some(
            json!([{"repeat": true, "outputs": [{"fail": {"status": 401, "body": {"error": {"message": "No."}}}}]}]),
        ),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    let thread = scene.thread().await;
    let turn = scene.turn(&thread).await;
    let message = turn["error"]["message"].as_str().expect("why");
    assert_eq!(
        (&turn["error"]["kind"], &turn["error"]["httpStatus"]),
        (&json!("unauthorized"), &json!(401)),
        "{turn}"
    );
    assert!(
        message.contains("does not accept the login") && message.contains("countersign login"),
        "{message}"
    );
    assert_eq!((scene.sent().len(), scene.authority.asked("refresh")), (2, 1));
}

#[tokio::test]
async fn trouble_of_the_authorisation_server_is_waited_out() {
    let mut scene = with_refused_token().await;
    scene.authority.behave("refresh", Manner::Says(503, json!({})));
    let thread = scene.thread().await;
    let turn = scene.turn(&thread).await;
    let message = turn["error"]["message"].as_str().expect("why");
    assert!(
        message.contains("could not be renewed") && message.contains("503"),
        "{message}"
    );
    assert_eq!(scene.authority.asked("refresh"), 2, "request_max_retries is 1");
    scene.authority.behave("refresh", Manner::Html);
    let turn = scene.turn(&thread).await;
    assert!(
        turn["error"]["message"]
            .as_str()
            .is_some_and(|message| message.contains("web page")),
        "{turn}"
    );
    scene.authority.behave("refresh", Manner::Well);
    assert_eq!(scene.turn(&thread).await["status"], "completed");
    scene.authority.stop().await;
    assert_eq!(scene.turn(&thread).await["status"], "completed", "nobody needs it now");
}

#[tokio::test]
async fn who_logs_out_during_a_renewal_stays_logged_out() {
    let scene = with_refused_token().await;
    scene.authority.behave("refresh", Manner::Silent);
    let thread = scene.thread().await;
    let turn = scene.turn(&thread);
    let logout = async {
        scene.authority.asked_times("refresh", 1).await;
        scene.call("logout", json!({})).await;
        scene.updated().await;
        scene.authority.behave("refresh", Manner::Well);
    };
    let (turn, ()) = futures::join!(turn, logout);
    assert_eq!(turn["status"], "failed", "{turn}");
    assert!(scene.stored().is_none(), "no token comes back");
    // The tokens that came too late are given back, too.
    scene.authority.asked_times("revoke", 2).await;
}

#[tokio::test]
async fn what_another_program_has_renewed_is_taken_over() {
    let scene = with_refused_token().await;
    let thread = scene.thread().await;
    scene.authority.put_into(&scene.home);
    assert_eq!(scene.turn(&thread).await["status"], "completed");
    assert_eq!(scene.authority.asked("refresh"), 0);
    assert_eq!(scene.sent(), [format!("Bearer {}", scene.authority.access())]);
}
