//! Logins that come to nothing: what is not allowed, and a server, a browser or a disk that does not play along.

use super::scene::{Scene, Setting, back, closed};
use crate::support::authority::{Manner, browse};
use serde_json::json;
use url::form_urlencoded;

/// Shows S-338, S-341.
#[tokio::test]
async fn the_other_way_to_log_in_is_refused_where_one_is_forced() {
    let forced = |method: &str| Setting {
        top: format!("forced_login_method = \"{method}\""),
        ..Setting::default()
    };
    let scene = Scene::with(forced("chatgpt")).await;
    let (code, kind, message) = scene
        .fails("login/start", json!({"type": "apiKey", "apiKey": "sk-1"}))
        .await;
    assert!(
        code == -32600 && kind == "loginMethodForced" && message.contains("forced_login_method"),
        "{message}"
    );
    assert!(scene.stored().is_none());
    let scene = Scene::with(forced("api")).await;
    for way in ["browser", "deviceCode"] {
        let (code, kind, _) = scene.fails("login/start", json!({ "type": way })).await;
        assert_eq!((code, kind.as_str()), (-32600, "loginMethodForced"), "{way}");
    }
    assert_eq!(scene.authority.asked("device"), 0);
}

/// Shows S-338, S-341.
#[tokio::test]
async fn what_this_machine_cannot_do_is_an_internal_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let setting = Setting {
        login: format!("callback_url = \"http://127.0.0.1:{port}/auth/callback\""),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    let (code, kind, message) = scene.fails("login/start", json!({"type": "browser"})).await;
    assert!(
        code == -32603 && kind == "loginFailed" && message.contains(&port.to_string()),
        "{message}"
    );
    drop(taken);
    scene.log_in().await;
    scene.call("logout", json!({})).await;
    scene.updated().await;
    std::fs::create_dir(scene.home.join("auth.json")).expect("a folder in its place");
    let (code, kind, message) = scene
        .fails("login/start", json!({"type": "apiKey", "apiKey": "sk-1"}))
        .await;
    assert!(
        code == -32603 && kind == "accountStoreFailed" && message.contains("auth.json"),
        "{message}"
    );
    assert!(!message.contains("sk-1"));
    // A login that cannot be kept has not succeeded, on the page neither.
    let (_, page) = scene.browser().await;
    let (status, text) = browse(&page).await.expect("a page");
    assert!(status == 400 && text.contains("auth.json"), "{text}");
    assert_eq!(scene.completed().await["success"], false);
}

#[tokio::test]
async fn without_an_authorisation_server_only_keys_are_logged_in_with() {
    // Named in the editor's stead: an empty id counts as none.
    let setting = Setting {
        top: "cli_auth_credentials_store = \"ephemeral\"".to_owned(),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    let config = std::fs::read_to_string(scene.home.join("config.toml")).expect("text");
    std::fs::write(scene.home.join("config.toml"), config.replace("issuer", "# issuer")).expect("a file");
    for way in ["browser", "deviceCode"] {
        let (code, kind, message) = scene.fails("login/start", json!({ "type": way })).await;
        assert!(
            code == -32600 && kind == "loginNotConfigured" && message.contains("`issuer`"),
            "{message}"
        );
    }
    scene
        .call("login/start", json!({"type": "apiKey", "apiKey": "sk-1"}))
        .await;
    assert_eq!(scene.completed().await["success"], true);
    scene.updated().await;
    assert!(scene.stored().is_none(), "nothing is written");
    let thread = scene.thread().await;
    scene.turn(&thread).await;
    assert_eq!(scene.sent(), ["Bearer sk-1"]);
}

#[tokio::test]
async fn nobody_without_the_logins_own_secret_gets_anywhere() {
    let scene = Scene::new().await;
    let (id, page) = scene.browser().await;
    let (callback, state) = back(&page);
    let wrong = format!("{}x", &state[..state.len() - 1]);
    for query in [
        String::new(),
        "code=stolen".to_owned(),
        "code=stolen&state=".to_owned(),
        format!("code=stolen&state={wrong}"),
        format!("error=access_denied&state={wrong}"),
        format!("state={wrong}&state={state}&code=stolen"),
    ] {
        let (status, text) = browse(&format!("{callback}?{query}")).await.expect("a page");
        assert!(status == 400 && !text.contains(&state), "{query}: {status} {text}");
    }
    let elsewhere = callback.replace("/auth/callback", "/");
    assert_eq!(browse(&elsewhere).await.expect("a page").0, 404);
    assert_eq!(scene.authority.asked("exchange"), 0);
    // The login goes on, and ends well.
    assert_eq!(browse(&page).await.expect("a page").0, 200);
    assert_eq!(scene.completed().await, json!({"loginId": id, "success": true}));
    scene.updated().await;
}

#[tokio::test]
async fn a_name_that_only_leads_here_is_not_this_machine() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let scene = Scene::new().await;
    let (id, page) = scene.browser().await;
    let (callback, state) = back(&page);
    let url = url::Url::parse(&callback).expect("an address");
    let mut socket = tokio::net::TcpStream::connect(("127.0.0.1", url.port().expect("a port")))
        .await
        .expect("open");
    let request = format!(
        "GET {}?code=x&state={state} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n",
        url.path()
    );
    socket.write_all(request.as_bytes()).await.expect("written");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("read");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(scene.authority.asked("exchange"), 0);
    scene.call("login/cancel", json!({"loginId": id})).await;
    scene.completed().await;
}

/// Shows S-345.
#[tokio::test]
async fn what_goes_wrong_is_told_on_the_page_and_to_the_client() {
    let scene = Scene::new().await;
    let bad = json!({"error": "invalid_grant", "error_description": "The code has run out."});
    for (manner, part) in [
        (Manner::Html, "web page"),
        (Manner::Says(400, bad), "The code has run out"),
        (
            Manner::Says(500, json!({"error": {"message": "<b>Oh</b>"}})),
            "status 500",
        ),
        (Manner::Says(200, json!({"token_type": "Bearer"})), "access_token"),
        (Manner::Says(200, json!([1])), "no JSON"),
    ] {
        scene.authority.behave("exchange", manner);
        let (id, page) = scene.browser().await;
        let (status, text) = browse(&page).await.expect("a page");
        assert!(
            status == 400 && text.contains("did not succeed") && !text.contains("<b>"),
            "{part}: {text}"
        );
        let completed = scene.completed().await;
        assert_eq!(
            (&completed["loginId"], &completed["success"]),
            (&json!(id), &json!(false))
        );
        let error = completed["error"].as_str().expect("why");
        assert!(error.contains(part) && error.contains("again"), "{part}: {error}");
    }
    scene.authority.behave("exchange", Manner::Well);
    // The person says no on the page of the server.
    let (_, page) = scene.browser().await;
    let (callback, state) = back(&page);
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("error", "access_denied")
        .append_pair("error_description", "You said <no>.")
        .append_pair("state", &state)
        .finish();
    let (status, text) = browse(&format!("{callback}?{query}")).await.expect("a page");
    assert!(status == 400 && text.contains("&lt;no&gt;"), "{text}");
    let error = scene.completed().await["error"].take();
    assert!(
        error.as_str().is_some_and(|error| error.contains("access_denied")),
        "{error}"
    );
    assert!(scene.stored().is_none());
    let trace = scene.trace_of_account();
    assert!(trace.iter().all(|name| !name.ends_with("account/updated")), "{trace:?}");
}

/// Shows S-344, S-345.
#[tokio::test]
async fn a_login_that_takes_too_long_is_given_up() {
    let setting = Setting {
        login: "timeout_sec = 4".to_owned(),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    let (id, page) = scene.browser().await;
    let completed = scene.completed().await;
    assert_eq!(
        (&completed["loginId"], &completed["success"]),
        (&json!(id), &json!(false))
    );
    assert!(
        completed["error"]
            .as_str()
            .is_some_and(|error| error.contains("timed out")),
        "{completed}"
    );
    let (callback, _) = back(&page);
    // The port closes right after it is told.
    closed(&callback).await;
    // The same where the server takes too long, and not the person.
    scene.authority.behave("exchange", Manner::Silent);
    let (_, page) = scene.browser().await;
    let (status, text) = browse(&page).await.expect("a page");
    assert!(status == 400 && text.contains("timed out"), "{text}");
    assert_eq!(scene.completed().await["success"], false);
    scene.authority.behave("exchange", Manner::Well);
    let begun = scene.call("login/start", json!({"type": "deviceCode"})).await;
    let completed = scene.completed().await;
    assert_eq!(completed["loginId"], begun["loginId"]);
    assert!(
        completed["error"]
            .as_str()
            .is_some_and(|error| error.contains("timed out")),
        "{completed}"
    );
}

#[tokio::test]
async fn codes_are_waited_for_through_passing_trouble_and_no_further() {
    let scene = Scene::new().await;
    // Trouble that passes.
    scene.authority.behave("poll", Manner::Says(503, json!({})));
    let begun = scene.call("login/start", json!({"type": "deviceCode"})).await;
    scene.authority.asked_times("poll", 2).await;
    scene.authority.behave("poll", Manner::Well);
    scene.authority.type_code(begun["userCode"].as_str().expect("a code"));
    assert_eq!(scene.completed().await["success"], true);
    scene.updated().await;
    // Trouble that does not.
    for (manner, part) in [
        (Manner::Says(400, json!({"error": "access_denied"})), "refused"),
        (Manner::Says(400, json!({"error": "expired_token"})), "timed out"),
        (Manner::Says(400, json!({"error": "invalid_client"})), "invalid_client"),
        (Manner::Html, "web page"),
    ] {
        scene.authority.behave("poll", manner);
        scene.call("login/start", json!({"type": "deviceCode"})).await;
        let error = scene.completed().await["error"].take();
        assert!(
            error.as_str().is_some_and(|error| error.contains(part)),
            "{part}: {error}"
        );
    }
    // Or no code at all.
    for manner in [
        Manner::Html,
        Manner::Says(404, json!({})),
        Manner::Says(200, json!({"user_code": "A"})),
    ] {
        scene.authority.behave("device", manner);
        let (code, kind, message) = scene.fails("login/start", json!({"type": "deviceCode"})).await;
        assert!(
            code == -32603 && kind == "loginFailed" && message.contains("authorization server"),
            "{message}"
        );
    }
    let mut scene = scene;
    scene.authority.stop().await;
    let (_, kind, message) = scene.fails("login/start", json!({"type": "deviceCode"})).await;
    assert!(
        kind == "loginFailed" && message.contains("cannot be reached"),
        "{message}"
    );
    // What was signed in with before is as it was.
    assert_eq!(
        scene.call("read", json!({})).await["account"]["email"],
        "ada@example.org"
    );
    // The server is gone between the page and the exchange.
    let (_, page) = scene.browser().await;
    let (callback, state) = back(&page);
    let (status, text) = browse(&format!("{callback}?code=x&state={state}"))
        .await
        .expect("a page");
    assert!(status == 400 && text.contains("cannot be reached"), "{text}");
    assert_eq!(scene.completed().await["success"], false);
}
