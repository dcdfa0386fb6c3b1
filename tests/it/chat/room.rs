//! A person with a chat document in an editor.

use crate::support::work::{Setting, Work};
use countersign::workspace::uri;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const NAME: &str = "talk.countersign.md";

pub(crate) struct Room {
    pub(crate) work: Work,
}

impl Room {
    pub(crate) async fn start(editor: &'static str, text: &str, script: Value) -> Self {
        Self::with(
            Setting {
                editor,
                files: vec![(NAME, text.to_owned()), ("a.txt", "one\ntwo\nthree\n".to_owned())],
                config: "approval_policy = \"untrusted\"\n".to_owned(),
                ..Setting::default()
            },
            script,
        )
        .await
    }

    pub(crate) async fn with(setting: Setting, script: Value) -> Self {
        let work = Work::with(setting, script).await;
        work.client.ignore("workspace/codeLens/refresh");
        work.open(NAME);
        Self { work }
    }

    pub(crate) fn text(&self) -> String {
        self.work.buffer(NAME)
    }

    pub(crate) fn uri(&self) -> String {
        uri::from_path(&self.work.path(NAME))
    }

    /// The person types at the end of the document.
    pub(crate) fn write(&self, words: &str) {
        let end = self.text().len();
        self.work.editor.type_in(&self.work.path(NAME), end, words);
    }

    pub(crate) async fn command(&self, name: &str, argument: Value) {
        let params = json!({ "command": name, "arguments": [argument] });
        self.work.client.call("workspace/executeCommand", params).await;
    }

    pub(crate) async fn send(&self, words: &str) {
        self.write(words);
        self.command("countersign.chatSend", json!({ "uri": self.uri() })).await;
    }

    /// The document, once it is as wanted.
    pub(crate) async fn until(&self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if fits(&text) {
                return text;
            }
            assert!(
                Instant::now() < deadline,
                "waited in vain for {what}; the document is:\n{text}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn sees(&self, part: &str) -> String {
        self.until(part, |text| text.contains(part)).await
    }

    pub(crate) async fn titles(&self) -> Vec<String> {
        let actions = self.work.actions(NAME, (0, 0), json!({ "diagnostics": [] })).await;
        actions
            .iter()
            .map(|action| action["title"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Chooses the code action whose title begins so, once it is offered.
    pub(crate) async fn choose(&self, title: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let actions = self.work.actions(NAME, (0, 0), json!({ "diagnostics": [] })).await;
            let begins = |action: &&Value| action["title"].as_str().is_some_and(|one| one.starts_with(title));
            if let Some(action) = actions.iter().find(begins) {
                return self.work.run(action).await;
            }
            assert!(Instant::now() < deadline, "no {title:?} among {actions:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until no turn runs.
    pub(crate) async fn rests(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.titles().await.iter().any(|title| title == "Agent: Stop") {
            assert!(Instant::now() < deadline, "the turn does not end:\n{}", self.text());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Room {
    /// What the server asked to be shown, once it is so much.
    pub(crate) async fn shown(&self, count: usize) -> Vec<std::path::PathBuf> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let shown = self.work.editor.shown();
            if shown.len() >= count {
                return shown;
            }
            assert!(Instant::now() < deadline, "only {shown:?} was shown");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Another document, once it holds a text.
    pub(crate) async fn until_in(&self, path: &std::path::Path, part: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.work.editor.text(path).expect("an open document");
            if text.contains(part) {
                return text;
            }
            assert!(Instant::now() < deadline, "no {part:?} in:\n{text}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
