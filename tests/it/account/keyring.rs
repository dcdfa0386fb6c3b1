//! Logins in the keyring of the person's system: GNOME Keyring itself, on a session bus of each test's own.

use super::cli::Shell;
use super::scene::{Scene, Setting, say};
use crate::support::keyring::Keyring;
use serde_json::json;
use std::path::Path;

fn text_below(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => text_below(&entry.path()),
            Ok(kind) if kind.is_file() => {
                String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap_or_default()).into_owned()
            }
            _ => String::new(),
        })
        .collect()
}

/// A key from a terminal: kept in the keyring and in no file; and what is said where there is no keyring, or a locked one.
#[tokio::test]
async fn a_key_is_kept_in_the_keyring_and_nowhere_else() {
    let Some(mut keyring) = Keyring::start() else { return };
    let file = |shell: &Shell| shell.home().join("private/auth.json");
    for store in ["keyring", "auto"] {
        let mut shell = Shell::with(&format!("cli_auth_credentials_store = \"{store}\"\n")).await;
        // Without one.
        let (good, words) = shell.run(&["login", "--with-api-key"], "sk-in-a-file\n").await;
        assert_eq!(
            (good, file(&shell).exists()),
            (store == "auto", store == "auto"),
            "{words}"
        );
        let told = match store {
            "auto" => "auth.json",
            _ => "no keyring answers (there is no session bus). Start one",
        };
        assert!(words.contains(told) && !words.contains("sk-in"), "{words}");
        shell.env = keyring.env().to_vec();
        let before = keyring.count();
        let (good, words) = shell.run(&["login", "--with-api-key"], "sk-in-a-keyring\n").await;
        assert!(good && words.contains("kept in the system's keyring"), "{words}");
        assert_eq!((file(&shell).exists(), keyring.count()), (false, before + 1));
        assert!(!text_below(shell.home()).contains("sk-in-a-keyring"));
        assert!(!text_below(keyring.folder()).contains("sk-in-a-keyring"));
        for words in [["login", "status"].as_slice(), &["doctor"]] {
            let (_, said) = shell.run(words, "").await;
            assert!(said.contains("with a key kept in the system's keyring"), "{said}");
        }
        // It holds for this home folder only.
        let mut other = Shell::with(&format!("cli_auth_credentials_store = \"{store}\"\n")).await;
        other.env = keyring.env().to_vec();
        let (good, words) = other.run(&["login", "status"], "").await;
        assert!(!good && words.contains("Not signed in"), "{words}");
        // Another key takes the place of the first.
        shell.run(&["login", "--with-api-key"], "sk-in-a-keyring-2\n").await;
        assert_eq!(keyring.count(), before + 1);
        // A locked one is no logout, and nobody is shown a window for it.
        keyring.lock();
        let (good, words) = shell.run(&["login", "status"], "").await;
        assert!(!good && words.contains("it is locked. Unlock it"), "{words}");
        let (_, words) = shell.run(&["doctor"], "").await;
        assert!(words.contains("it is locked. Unlock it"), "{words}");
        keyring.unlock();
        let (good, words) = shell.run(&["logout"], "").await;
        assert!(good && words.contains("signed out"), "{words}");
        assert_eq!(keyring.count(), before);
        let (good, _) = shell.run(&["login", "status"], "").await;
        assert!(!good);
    }
}

/// A login by browser in the keyring: used, renewed there, known to the next server, and forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_lives_in_the_keyring() {
    let Some(keyring) = Keyring::start() else { return };
    let setting = |keyring: &Keyring| Setting {
        top: "cli_auth_credentials_store = \"keyring\"".to_owned(),
        env: keyring.env().to_vec(),
        script: Some(json!([{"repeat": true, "outputs": say("Hello.")}])),
        ..Setting::default()
    };
    let scene = Scene::with(setting(&keyring)).await;
    // Runs out at once, so that each turn needs another.
    scene.authority.lasts(-60);
    scene.log_in().await;
    let first = scene.authority.access();
    assert_eq!((scene.stored(), keyring.count()), (None, 1));
    scene.authority.lasts(3600);
    let thread = scene.thread().await;
    assert_eq!(scene.turn(&thread).await["status"], "completed");
    let second = scene.authority.access();
    assert_ne!(first, second);
    assert_eq!(scene.sent(), [format!("Bearer {second}")]);
    // What is in the keyring is the renewed one: another program needs no renewal.
    let renewals = scene.authority.asked("refresh");
    let mut shell = Shell::at(&scene.home);
    shell.env = keyring.env().to_vec();
    let (good, words) = shell.run(&["login", "status"], "").await;
    assert!(good && words.contains("kept in the system's keyring"), "{words}");
    assert_eq!(scene.authority.asked("refresh"), renewals);
    for secret in scene.authority.secrets() {
        assert!(!text_below(&scene.home).contains(&secret), "{secret} lies in a file");
    }
    // Another program signs out: that counts here after a moment.
    let (good, words) = shell.run(&["logout"], "").await;
    assert!(good, "{words}");
    assert_eq!(keyring.count(), 0);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while scene.call("status", json!({})).await["authMethod"] != json!(null) {
        assert!(std::time::Instant::now() < deadline, "the logout does not count");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// A locked keyring is no logout: the turn says so, and the first one after that goes on with the login, renewed.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_keyring_is_no_logout() {
    let Some(mut keyring) = Keyring::start() else { return };
    let setting = Setting {
        top: "cli_auth_credentials_store = \"keyring\"".to_owned(),
        env: keyring.env().to_vec(),
        script: Some(json!([{"repeat": true, "outputs": say("Hello.")}])),
        ..Setting::default()
    };
    let scene = Scene::with(setting).await;
    scene.authority.lasts(-60);
    scene.log_in().await;
    scene.authority.lasts(3600);
    keyring.lock();
    let thread = scene.thread().await;
    let turn = scene.turn(&thread).await;
    assert_eq!(turn["status"], "failed", "{turn}");
    let error = turn["error"].to_string();
    assert!(
        error.contains("it is locked. Unlock it") && !error.contains("Sign in"),
        "{turn}"
    );
    keyring.unlock();
    assert_eq!(scene.turn(&thread).await["status"], "completed");
    assert_eq!(scene.sent().pop(), Some(format!("Bearer {}", scene.authority.access())));
}
