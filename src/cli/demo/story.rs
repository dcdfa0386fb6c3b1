//! The demonstration from its first step to the server's end: the project, the editor, the code action, and then the
//! turn, which [`super::turn`] follows.

use super::client::{Client, ClientError};
use super::editor::Buffer;
use super::facts::Facts;
use super::folder::Outside;
use super::person::Person;
use super::project::{CLOSED, OPEN, Project, TEST, Tested, UNSAVED};
use super::screen::{INDENT, Screen};
use super::style::Style;
use super::turn;
use crate::workspace::uri;
use serde_json::{Value, json};
use std::io;
use std::time::Duration;

/// Why it ends before its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// Something did not happen, or not rightly.
    Failed(String),
    /// Nobody reads on.
    Closed(io::Error),
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        Self::Failed(format!("{error}."))
    }
}

/// Of the screen only; other trouble with files is told with [`Stop::of_file`].
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Closed(error)
    }
}

impl Stop {
    pub(super) fn of_file(what: &str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Failed(format!("{what}: {error}."))
    }
}

/// Everything that takes part.
pub(super) struct Stage<'a> {
    pub(super) screen: &'a mut Screen,
    pub(super) client: &'a mut Client,
    pub(super) person: &'a mut Person,
    pub(super) project: &'a Project,
    pub(super) outside: &'a Outside,
    pub(super) buffer: Buffer,
    pub(super) facts: &'a mut Facts,
    /// Without pauses.
    pub(super) fast: bool,
}

impl Stage<'_> {
    /// A moment to read.
    pub(super) async fn pause(&self, milliseconds: u64) {
        if !self.fast {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        }
    }

    /// A new step.
    pub(super) async fn title(&mut self, text: &str) -> Result<(), Stop> {
        self.pause(250).await;
        self.screen.title(text)?;
        self.pause(150).await;
        Ok(())
    }
}

/// Tells the whole story. What was seen is in the facts.
pub(super) async fn tell(stage: &mut Stage<'_>) -> Result<(), Stop> {
    let screen = &mut *stage.screen;
    screen.row(&[
        (Style::BOLD, " Countersign"),
        (
            Style::DIM,
            "  a real server, a real sandbox, a scripted model; no key, no network",
        ),
    ])?;

    stage.title("A project with a failing test").await?;
    let tested = stage
        .project
        .test()
        .await
        .map_err(Stop::of_file("`sh test.sh` could not be run"))?;
    stage.facts.failed_before = tested.status == Some(1);
    let names = format!("   {OPEN}  {CLOSED}  {TEST}");
    stage.screen.row(&[(Style::PLAIN, &names)])?;
    show_test(stage.screen, &tested)?;

    stage.title("The editor, with text that is not saved").await?;
    let (place, message) = open(stage, &tested).await?;
    let action = choose_action(stage, &place, &message).await?;

    stage.title("The agent reads, and runs the test in the sandbox").await?;
    let command = json!({"command": action["command"]["command"], "arguments": action["command"]["arguments"]});
    stage.client.request("workspace/executeCommand", command).await?;
    turn::follow(stage).await
}

fn show_test(screen: &mut Screen, tested: &Tested) -> io::Result<()> {
    screen.row(&[(Style::DIM, "   $ "), (Style::PLAIN, &format!("sh {TEST}"))])?;
    for line in tested.output.lines() {
        screen.output("   │ ", line)?;
    }
    let status = match tested.status {
        Some(status) => format!("exit {status}"),
        None => "ended by a signal".to_owned(),
    };
    let style = if tested.passed { Style::GREEN } else { Style::RED };
    screen.row(&[(Style::DIM, "   └ "), (style, &status)])
}

/// Starts the session, opens the file, types a line, and shows where the other tool's diagnostic lies. Gives its range
/// and its words.
async fn open(stage: &mut Stage<'_>, tested: &Tested) -> Result<(Value, String), Stop> {
    let root = uri::from_path(&stage.project.folder);
    let initialize = json!({
        "processId": std::process::id(),
        "clientInfo": {"name": "countersign demo", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": root,
        "workspaceFolders": [{"uri": root, "name": "shop"}],
        "capabilities": {
            "general": {"positionEncodings": ["utf-8"]},
            "workspace": {"applyEdit": true, "workspaceEdit": {"documentChanges": true}, "workspaceFolders": true},
            "textDocument": {
                "synchronization": {"didSave": true},
                "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "source"]}}},
            },
            "experimental": {"countersign": true},
        },
    });
    let answer = stage.client.request("initialize", initialize).await?;
    let encoding = &answer["capabilities"]["positionEncoding"];
    if encoding != "utf-8" {
        return Err(Stop::Failed(format!(
            "The server counts columns by {encoding}, not by utf-8 as was agreed."
        )));
    }
    stage.client.notify("initialized", json!({})).await?;
    stage
        .client
        .notify("textDocument/didOpen", stage.buffer.opened())
        .await?;
    let typed = stage.buffer.insert_line(1, UNSAVED);
    stage.client.notify("textDocument/didChange", typed).await?;

    let Some((line, message)) = tested.failure_in(&stage.buffer.text) else {
        return Err(Stop::Failed("The test did not fail in the open file.".to_owned()));
    };
    let screen = &mut *stage.screen;
    screen.row(&[
        (Style::BOLD, &format!("   {OPEN}")),
        (Style::DIM, &format!("  open; {CLOSED} is closed")),
    ])?;
    let mut end = 0;
    for (number, text) in (0_u32..).zip(stage.buffer.text.lines()) {
        let head = format!("{:INDENT$}{:>3}  ", "", number + 1);
        if text == UNSAVED {
            let spans = [(Style::DIM, head.as_str()), (Style::YELLOW, text)];
            screen.row_with(&spans, (Style::YELLOW, "your line, not saved"))?;
        } else {
            screen.row(&[(Style::DIM, &head), (Style::PLAIN, text)])?;
        }
        if number == line {
            end = text.find('(').unwrap_or(text.len());
            let marks = "~".repeat(end);
            screen.row(&[
                (Style::PLAIN, &" ".repeat(head.chars().count())),
                (Style::RED, &marks),
                (Style::RED.bold(), &format!("  {TEST}: ")),
                (Style::RED, &message),
            ])?;
        }
    }
    let range = json!({"start": {"line": line, "character": 0}, "end": {"line": line, "character": end}});
    Ok((range, message))
}

/// Asks for the code actions at the diagnostic, shows them, and gives the one to choose.
async fn choose_action(stage: &mut Stage<'_>, range: &Value, message: &str) -> Result<Value, Stop> {
    const WANTED: &str = "Fix with agent";
    let diagnostic = json!({"range": range, "severity": 1, "source": TEST, "message": message});
    let params = json!({
        "textDocument": {"uri": stage.buffer.uri},
        "range": range,
        "context": {"diagnostics": [diagnostic], "triggerKind": 1},
    });
    let answer = stage.client.request("textDocument/codeAction", params).await?;
    let actions = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    stage.screen.blank()?;
    stage.screen.row(&[(Style::DIM, "   code actions here")])?;
    for action in actions {
        let title = action["title"].as_str().unwrap_or_default();
        if title == WANTED {
            stage
                .screen
                .row(&[(Style::CYAN.bold(), "   › "), (Style::CYAN.bold(), title)])?;
        } else {
            stage.screen.row(&[(Style::DIM, &format!("     {title}"))])?;
        }
    }
    stage.pause(400).await;
    let wanted = actions.iter().find(|action| action["title"] == WANTED);
    let wanted = wanted.filter(|action| action["command"]["command"].is_string());
    stage.facts.action_offered = wanted.is_some();
    wanted.cloned().ok_or_else(|| {
        Stop::Failed(format!(
            "The server offered no code action {WANTED:?} for the diagnostic."
        ))
    })
}
