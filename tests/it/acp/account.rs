//! How the person is known to the provider: what is offered, and what is asked for.

use super::client::Acp;
use crate::support::authority::{Authority, browse};
use serde_json::{Value, json};

/// One whose provider has these lines more.
async fn with(provider: &str, login: &str, capabilities: Value) -> (Acp, Value) {
    let mut acp = Acp::connect(json!([[{"say": "Here."}]]), "").await;
    acp.configure(|text| format!("{text}{provider}\n{login}\n"));
    let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
    let told = acp.call("initialize", params).await;
    (acp, told)
}

fn ids(told: &Value) -> Vec<&str> {
    let methods = told["authMethods"].as_array().expect("methods").iter();
    methods.map(|method| method["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn what_is_offered_is_what_the_provider_takes_and_the_client_can() {
    let login = "requires_openai_auth = true";
    let both = "requires_openai_auth = true\nenv_key = \"ACME_KEY\"";
    let pages = json!({"elicitation": {"url": {}}});
    let terminal = json!({"auth": {"terminal": true}});
    for (provider, capabilities, wanted, logs_out) in [
        ("", json!({}), vec![], false),
        ("env_key = \"ACME_KEY\"", json!({}), vec!["key"], false),
        (login, json!({}), vec!["login"], true),
        (login, terminal.clone(), vec!["terminal"], true),
        (login, pages.clone(), vec!["browser"], true),
        (both, pages, vec!["browser", "key"], true),
        (
            both,
            json!({"auth": {"terminal": "maybe"}, "elicitation": 7}),
            vec!["login", "key"],
            true,
        ),
    ] {
        let (mut acp, told) = with(provider, "", capabilities).await;
        assert_eq!(ids(&told), wanted, "{provider}");
        assert_eq!(told["agentCapabilities"]["auth"]["logout"].is_object(), logs_out);
        let new = acp
            .request("session/new", json!({"cwd": acp.dir, "mcpServers": []}))
            .await;
        if wanted.is_empty() {
            assert!(new.is_ok(), "{new:?}");
            continue;
        }
        let error = new.expect_err("nobody is known");
        assert_eq!(error["code"], -32000, "{error}");
        let words = error["message"].as_str().expect("text");
        assert_eq!(words.contains("ACME_KEY"), provider.contains("ACME_KEY"), "{words}");
        assert_eq!(
            words.contains("countersign login"),
            provider.contains("requires"),
            "{words}"
        );
        for (method, code) in [("made up", -32602), (wanted[0], -32000)] {
            if method == "browser" {
                // The page is not opened.
                acp.on("elicitation/create", |_| Some(Ok(json!({"action": "decline"}))));
            }
            let error = acp.request("authenticate", json!({"methodId": method})).await;
            assert_eq!(error.expect_err("nobody is known")["code"], code, "{method}");
        }
    }
}

#[tokio::test]
async fn a_login_in_the_browser_is_waited_for_and_forgotten_again() {
    let authority = Authority::start().await;
    let capabilities = json!({"elicitation": {"url": {}}});
    let (mut acp, _) = with("requires_openai_auth = true", &authority.config(""), capabilities).await;
    acp.on("elicitation/create", |params| {
        assert_eq!(params["mode"], "url");
        Some(Ok(json!({"action": "accept"})))
    });
    let login = acp.begin("authenticate", json!({"methodId": "browser"}));
    let page = acp.until_asked("elicitation/create").await;
    // Nobody is held up meanwhile.
    let new = json!({"cwd": acp.dir, "mcpServers": []});
    assert_eq!(
        acp.request("session/new", new.clone()).await.expect_err("not yet")["code"],
        -32000
    );
    let (status, text) = browse(page["params"]["url"].as_str().expect("a page"))
        .await
        .expect("a page");
    assert_eq!(status, 200, "{text}");
    assert_eq!(acp.answer(login).await, Ok(json!({})));
    let session = acp.call("session/new", new.clone()).await["sessionId"].clone();
    assert_eq!(acp.prompt(session.as_str().expect("an id"), "Go").await.1, "end_turn");
    acp.call("logout", json!({})).await;
    assert_eq!(
        acp.request("session/new", new).await.expect_err("signed out")["code"],
        -32000
    );
    // One that is taken back is given up, and its page is closed.
    let login = acp.begin("authenticate", json!({"methodId": "browser"}));
    acp.until_asked("elicitation/create").await;
    acp.notify("$/cancel_request", json!({"requestId": login}));
    assert_eq!(acp.answer(login).await.expect_err("taken back")["code"], -32800);
}
