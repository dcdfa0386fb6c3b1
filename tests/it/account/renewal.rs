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
        scene.turn(&thread).await;
        assert_eq!(scene.authority.asked("refresh"), renewals, "{lasts}");
        let sent = scene.sent();
        assert_eq!(sent, vec![format!("Bearer {}", scene.authority.access()); 2]);
        assert_eq!(sent[0] == format!("Bearer {first}"), renewals == 0);
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
