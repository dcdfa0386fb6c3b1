//! The account's own rules, on a clock that stands still and without a server.

use super::*;
use crate::ids::LoginId;
use crate::secrets::Secrets;
use std::sync::Mutex;
use std::time::Duration;

/// An account in a home folder of its own, with what it has told.
struct Scene {
    account: Account,
    terms: OwnTerms,
    told: Arc<Mutex<Vec<Notice>>>,
    announce: Announce,
    home: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = told.clone();
        let login = Login {
            // Nothing is asked there: no login here gets as far.
            authorization_endpoint: Some("http://127.0.0.1:9/authorize".into()),
            token_endpoint: Some("http://127.0.0.1:9/token".into()),
            device_authorization_endpoint: Some("http://127.0.0.1:9/device".into()),
            client_id: Some("countersign-test".into()),
            revocation_endpoint: None,
            ..Login::default()
        };
        let provider = Provider {
            name: "Acme".into(),
            env_key: Some("ACME_KEY".into()),
            requires_openai_auth: true,
            ..Provider::default()
        };
        Self {
            account: Account::new(home.path(), Secrets::default()),
            terms: OwnTerms {
                login,
                provider,
                env: BTreeMap::new(),
            },
            announce: Arc::new(move |notice| sink.lock().expect("no panic").push(notice)),
            told,
            home,
        }
    }

    fn told(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.told.lock().expect("no panic"))
    }

    async fn begin(&self) -> ByBrowser {
        let begun = self.account.login_in_browser(self.terms.terms(), &self.announce).await;
        begun.expect("a login")
    }

    fn store(&self, text: &str) {
        std::fs::write(self.home.path().join("auth.json"), text).expect("a file");
    }
}

fn failed(notice: &Notice, id: &LoginId, part: &str) -> bool {
    matches!(notice, Notice::Completed(AccountLoginCompleted { login_id: Some(of), success: false, error: Some(why) })
        if of == id && why.contains(part))
}

/// Shows S-344.
#[tokio::test(start_paused = true)]
async fn a_login_that_nobody_finishes_is_given_up_after_ten_minutes() {
    let scene = Scene::new();
    let before = tokio::time::Instant::now();
    let begun = scene.begin().await;
    let error = begun.ending.wait().await.expect_err("nobody came");
    assert!(error.contains("timed out") && error.contains("600 s"), "{error}");
    let waited = before.elapsed();
    assert!(
        waited >= Duration::from_secs(600) && waited < Duration::from_secs(620),
        "{waited:?}"
    );
    let told = scene.told();
    assert!(told.len() == 1 && failed(&told[0], &begun.id, "timed out"), "{told:?}");
    assert!(
        scene.account.cancel(&begun.id, &scene.announce).is_err(),
        "it has its end"
    );
}

/// Shows S-343.
#[tokio::test]
async fn one_that_was_replaced_takes_nothing_from_the_next() {
    let scene = Scene::new();
    let first = scene.begin().await;
    let second = scene.begin().await;
    let told = scene.told();
    assert!(
        told.len() == 1 && failed(&told[0], &first.id, "Another login"),
        "{told:?}"
    );
    assert!(first.ending.wait().await.is_err());
    // The first has ended by now, and the second still has its place.
    assert!(scene.account.cancel(&first.id, &scene.announce).is_err());
    scene.account.cancel(&second.id, &scene.announce).expect("it runs");
    let told = scene.told();
    assert!(told.len() == 1 && failed(&told[0], &second.id, "cancelled"), "{told:?}");
}

/// Shows S-339.
#[tokio::test]
async fn a_key_and_a_logout_end_the_login_that_runs() {
    let scene = Scene::new();
    let first = scene.begin().await;
    let with_key = scene
        .account
        .login_with_key(scene.terms.terms(), " sk-1\n", &scene.announce)
        .await;
    with_key.expect("signed in");
    let told = scene.told();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(failed(&told[0], &first.id, "with a key"));
    let by_key = AccountUpdated {
        auth_method: Some(AuthMethod::ApiKey),
        plan: None,
    };
    assert_eq!(told[2], Notice::Updated(by_key));
    let second = scene.begin().await;
    scene
        .account
        .logout(scene.terms.terms(), &scene.announce)
        .await
        .expect("signed out");
    let told = scene.told();
    assert!(
        told.len() == 2 && failed(&told[0], &second.id, "signed out"),
        "{told:?}"
    );
    assert!(scene.account.method(scene.terms.terms()).is_none());
}

#[tokio::test]
async fn what_is_forced_decides_what_counts() {
    let mut scene = Scene::new();
    let both = r#"{"OPENAI_API_KEY": "sk-1", "tokens": {"access_token": "at-1"}}"#;
    let tokens = r#"{"tokens": {"access_token": "at-1", "account_id": "w1"}}"#;
    let method = |scene: &Scene| scene.account.method(scene.terms.terms());
    let key = |text: &str| Some((AuthMethod::ApiKey, text.to_owned()));
    let account = Some((AuthMethod::Account, "at-1".to_owned()));
    scene.store(both);
    assert_eq!(method(&scene), key("sk-1"));
    scene.store(tokens);
    assert_eq!(method(&scene), account);
    // The environment comes first, but not where it may not be used.
    scene.terms.env.insert("ACME_KEY".into(), "sk-env".into());
    assert_eq!(method(&scene), key("sk-env"));
    scene.terms.login.forced = Some(ForcedMethod::Account);
    assert_eq!(method(&scene), account);
    scene.store(r#"{"OPENAI_API_KEY": "sk-1"}"#);
    assert_eq!(method(&scene), None);
    scene.terms.login.forced = Some(ForcedMethod::ApiKey);
    scene.terms.env.clear();
    assert_eq!(method(&scene), key("sk-1"));
    scene.store(tokens);
    assert_eq!(method(&scene), None);
    assert!(matches!(
        scene.account.trouble(&scene.terms.login),
        Some(AccountError::ForcedKey)
    ));
    scene.terms.login.forced = None;
    for (allowed, counts) in [
        (None, true),
        (Some(vec!["w1"]), true),
        (Some(vec!["w2"]), false),
        (Some(vec![]), false),
    ] {
        scene.terms.login.workspaces = allowed.map(|ids| ids.into_iter().map(str::to_owned).collect());
        assert_eq!(method(&scene).is_some(), counts, "{:?}", scene.terms.login.workspaces);
    }
    // A provider that takes no login gets nothing of it.
    scene.terms.login.workspaces = None;
    scene.terms.provider.requires_openai_auth = false;
    assert_eq!(method(&scene), None);
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused() {
    let mut scene = Scene::new();
    for odd in ["", " ", "a b", "sk\nsk"] {
        let refused = scene
            .account
            .login_with_key(scene.terms.terms(), odd, &scene.announce)
            .await;
        assert!(matches!(refused, Err(AccountError::BadKey)), "{odd:?}");
    }
    for odd in ["", "abc", "7", "\u{0}", &"x".repeat(100_000)] {
        let refused = scene.account.cancel(&LoginId::from(odd), &scene.announce);
        assert!(matches!(refused, Err(AccountError::BadLoginId(_))), "{odd:.20}");
    }
    scene.terms.login.client_id = None;
    let refused = scene
        .account
        .login_in_browser(scene.terms.terms(), &scene.announce)
        .await
        .err();
    assert!(refused.is_some_and(|error| error.to_string().contains("`client_id` is not set")));
    assert!(scene.told().is_empty());
}
