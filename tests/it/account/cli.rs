//! `countersign login` and `countersign logout` in a terminal.

use crate::support::authority::{Authority, browse};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};

pub(super) struct Shell {
    home: PathBuf,
    /// What the programs are started with beside the usual.
    pub(super) env: Vec<(String, String)>,
    _folder: Option<tempfile::TempDir>,
}

impl Shell {
    async fn new() -> (Self, Authority) {
        Self::of("").await
    }

    /// With these lines above the tables of `config.toml`, for a login with a key.
    pub(super) async fn with(top: &str) -> Self {
        Self::of(top).await.0
    }

    async fn of(top: &str) -> (Self, Authority) {
        let folder = tempfile::tempdir().expect("a folder");
        let authority = Authority::start().await;
        let config = format!("model_provider = \"openai\"\n{top}{}", authority.config(""));
        std::fs::write(folder.path().join("config.toml"), config).expect("a file");
        let mut shell = Self::at(folder.path());
        shell._folder = Some(folder);
        (shell, authority)
    }

    /// In a home folder that is there.
    pub(super) fn at(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            env: Vec::new(),
            _folder: None,
        }
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    fn start(&self, words: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_countersign"))
            .args(words)
            .current_dir(self.home())
            .env_clear()
            .env("COUNTERSIGN_HOME", self.home())
            .env("HOME", self.home())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts")
    }

    /// Runs it to its end: whether it is well, and all that it said.
    pub(super) async fn run(&self, words: &[&str], input: &str) -> (bool, String) {
        let mut child = self.start(words);
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input.as_bytes()).await.expect("written");
        drop(stdin);
        let output = child.wait_with_output().await.expect("it ends");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }
}

#[tokio::test]
async fn a_key_goes_in_by_standard_input_and_out_again() {
    let shell = Shell::with("").await;
    let (good, words) = shell.run(&["login", "status"], "").await;
    assert!(!good && words.contains("Not signed in"), "{words}");
    let (good, words) = shell.run(&["login", "--with-api-key"], "sk-test-secret\n").await;
    assert!(
        good && words.contains("auth.json") && !words.contains("secret"),
        "{words}"
    );
    let (good, words) = shell.run(&["login", "status"], "").await;
    assert!(
        good && words.contains("with a key kept in") && !words.contains("secret"),
        "{words}"
    );
    let (_, words) = shell.run(&["doctor"], "").await;
    assert!(
        words.contains("login") && words.contains("with a key kept in") && !words.contains("secret"),
        "{words}"
    );
    let (good, words) = shell.run(&["logout"], "").await;
    assert!(good && words.contains("signed out"), "{words}");
    assert!(!shell.home().join("private/auth.json").exists());
    for odd in ["", "two words\n"] {
        let (good, words) = shell.run(&["login", "--with-api-key"], odd).await;
        assert!(!good && words.contains("Copy it again"), "{words}");
    }
    let (good, _) = shell.run(&["login", "--device", "--with-api-key"], "").await;
    assert!(!good, "one way at a time");
    std::fs::write(shell.home().join("auth.json"), "{").expect("a file");
    let (_, words) = shell.run(&["doctor"], "").await;
    assert!(words.contains("is not understood"), "{words}");
}

#[tokio::test]
async fn an_account_is_logged_in_to_from_a_terminal() {
    let (shell, authority) = Shell::new().await;
    let mut child = shell.start(&["login"]);
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let page = loop {
        let line = lines.next_line().await.expect("text").expect("an address");
        if line.starts_with("http") {
            break line;
        }
    };
    assert_eq!(browse(&page).await.expect("a page").0, 200);
    assert!(child.wait().await.expect("it ends").success());
    let (good, words) = shell.run(&["login", "status"], "").await;
    assert!(
        good && words.contains("ada@example.org") && words.contains("plus"),
        "{words}"
    );
    for secret in authority.secrets() {
        assert!(!words.contains(&secret), "{words}");
    }
    // The server hears of the logout before the program ends.
    let (good, _) = shell.run(&["logout"], "").await;
    assert!(good);
    assert_eq!(authority.revoked().len(), 1);
    let mut child = shell.start(&["login", "--device"]);
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let code = loop {
        let line = lines.next_line().await.expect("text").expect("a code");
        if line.starts_with("CODE-") {
            break line;
        }
    };
    authority.type_code(&code);
    assert!(child.wait().await.expect("it ends").success());
    let (good, words) = shell.run(&["login", "status"], "").await;
    assert!(good && words.contains("ada@example.org"), "{words}");
}
