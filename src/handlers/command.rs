//! Commands of the standard surface (`workspace/executeCommand`). Each is answered at once; what it sets off follows as
//! progress, questions and edits.

pub(super) mod account;
mod ask;
mod review;
mod rollback;
mod threads;

pub use review::{Decide, NextChange, ShowProposal};

use super::chat;
use super::prompt::PromptCall;
use super::review as reviews;
use super::{feedback, sandbox, terminal, thread, undo};
use crate::agent::AgentError;
use crate::agent::person::OwnCommand;
use crate::agent::thread::{Start, ThreadHandle};
use crate::config::prompts;
use crate::lsp::error::RequestError;
use crate::protocol::item::{LineRange, UserInput};
use crate::protocol::settings::SettingsOverride;
use crate::protocol::thread::ThreadStartParams;
use crate::protocol::turn::{EditorContext, EditorDiagnostic};
use crate::server::presenter::Severity;
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::ExecuteCommandParams;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

pub const FIX: &str = "countersign.fix";
pub const ASK: &str = "countersign.ask";
pub const REWRITE: &str = "countersign.rewrite";
pub const REVIEW_FILE: &str = "countersign.reviewFile";
pub const RUN_COMMAND: &str = "countersign.runCommand";
pub const EXEC: &str = "countersign.exec";
pub const STOP: &str = "countersign.stop";
pub const DECIDE: &str = "countersign.decide";
pub const REJECT_WITH_WORDS: &str = "countersign.rejectWithWords";
pub const SHOW_PROPOSAL: &str = "countersign.showProposal";
pub const NEXT_CHANGE: &str = "countersign.nextChange";
pub const ACCEPT_ALL: &str = "countersign.acceptAll";
pub const REJECT_ALL: &str = "countersign.rejectAll";
pub const NEW_THREAD: &str = "countersign.newThread";
pub const UNDO: &str = "countersign.undoLastTurn";
pub const SHOW_DIFF: &str = "countersign.showTurnDiff";
pub const COMPACT: &str = "countersign.compactThread";
pub const SEND_AGAIN: &str = "countersign.sendAgain";
pub const DO_NOT_SEND: &str = "countersign.doNotSend";
pub const OPEN_THREAD: &str = "countersign.openThread";
pub const FORK_THREAD: &str = "countersign.forkThread";
pub const ROLL_BACK: &str = "countersign.rollBack";
pub const ARCHIVE_THREAD: &str = "countersign.archiveThread";
pub const UNARCHIVE_THREAD: &str = "countersign.unarchiveThread";
pub const DELETE_THREAD: &str = "countersign.deleteThread";
pub const PROMPT: &str = "countersign.prompt";
pub const REVIEW_CHANGES: &str = "countersign.reviewChanges";
pub const FIX_FINDING: &str = "countersign.fixFinding";
pub const DISMISS_FINDINGS: &str = "countersign.dismissFindings";
pub const FEEDBACK: &str = "countersign.feedback";
pub const STOP_TERMINALS: &str = "countersign.stopTerminals";
pub const OPEN_CHAT: &str = "countersign.openChat";
pub const CHAT_SEND: &str = "countersign.chatSend";
pub const CHAT_STOP: &str = "countersign.chatStop";
pub const CHAT_DENY: &str = "countersign.chatDeny";
pub const CHAT_NEW: &str = "countersign.chatNew";
pub const APPROVE: &str = "countersign.approve";
pub const ANSWER: &str = "countersign.answer";
pub const LIST_THREADS: &str = "countersign.listThreads";

pub const LOGIN: &str = "countersign.login";
pub const LOGOUT: &str = "countersign.logout";

type Run = fn(&Session, Vec<Value>) -> Result<(), RequestError>;

/// Name and what it does. The first argument of each, where there is one, is an object.
const COMMANDS: &[(&str, Run)] = &[
    (FIX, fix),
    (ASK, |session, arguments| {
        ask::about_selection(session, Task::read(ASK, arguments)?);
        Ok(())
    }),
    (REWRITE, |session, arguments| {
        ask::to_rewrite(session, Task::read(REWRITE, arguments)?);
        Ok(())
    }),
    (REVIEW_FILE, review_file),
    (RUN_COMMAND, run_command),
    (PROMPT, call_prompt),
    (STOP, stop),
    (DECIDE, review::decide),
    (REJECT_WITH_WORDS, review::reject_with_words),
    (SHOW_PROPOSAL, review::show_proposal),
    (NEXT_CHANGE, review::next_change),
    (ACCEPT_ALL, review::accept_all),
    (REJECT_ALL, review::reject_all),
    (NEW_THREAD, new_thread),
    (UNDO, |session, arguments| {
        undo::undo_last(session, optional(UNDO, arguments)?.unwrap_or_default());
        Ok(())
    }),
    (SHOW_DIFF, |session, arguments| {
        undo::show_diff(session, optional(SHOW_DIFF, arguments)?.unwrap_or_default());
        Ok(())
    }),
    (COMPACT, |session, arguments| {
        thread::compact_last(session, optional(COMPACT, arguments)?.unwrap_or_default());
        Ok(())
    }),
    (SEND_AGAIN, |session, arguments| {
        thread::send_again(session, optional(SEND_AGAIN, arguments)?.unwrap_or_default());
        Ok(())
    }),
    (DO_NOT_SEND, |session, arguments| {
        thread::do_not_send(session, optional(DO_NOT_SEND, arguments)?.unwrap_or_default());
        Ok(())
    }),
    (REVIEW_CHANGES, |session, arguments| {
        reviews::review_changes(session, optional(REVIEW_CHANGES, arguments)?.unwrap_or_default())
    }),
    (FIX_FINDING, |session, arguments| {
        reviews::fix_finding(session, &first(FIX_FINDING, arguments)?)
    }),
    (DISMISS_FINDINGS, |session, arguments| {
        reviews::dismiss_findings(session, first(DISMISS_FINDINGS, arguments)?);
        Ok(())
    }),
    (OPEN_THREAD, |session, arguments| {
        threads::run(session, OPEN_THREAD, arguments, threads::Deed::Open)
    }),
    (FORK_THREAD, |session, arguments| {
        threads::run(session, FORK_THREAD, arguments, threads::Deed::Fork)
    }),
    (ROLL_BACK, |session, arguments| {
        threads::run(session, ROLL_BACK, arguments, threads::Deed::RollBack)
    }),
    (ARCHIVE_THREAD, |session, arguments| {
        threads::run(session, ARCHIVE_THREAD, arguments, threads::Deed::Archive)
    }),
    (UNARCHIVE_THREAD, |session, arguments| {
        threads::run(session, UNARCHIVE_THREAD, arguments, threads::Deed::Unarchive)
    }),
    (DELETE_THREAD, |session, arguments| {
        threads::run(session, DELETE_THREAD, arguments, threads::Deed::Delete)
    }),
    (LOGIN, account::login),
    (LOGOUT, account::logout),
    (FEEDBACK, |session, arguments| {
        feedback::write_and_show(session, optional(FEEDBACK, arguments)?.unwrap_or_default());
        Ok(())
    }),
    (STOP_TERMINALS, |session, _arguments| {
        terminal::stop_all(session);
        Ok(())
    }),
    (OPEN_CHAT, |session, arguments| {
        chat::open(session, optional(OPEN_CHAT, arguments)?.unwrap_or_default());
        Ok(())
    }),
    (CHAT_SEND, |session, arguments| {
        chat::send(session, &optional(CHAT_SEND, arguments)?.unwrap_or_default())
    }),
    (CHAT_STOP, |session, arguments| {
        chat::stop(session, &optional(CHAT_STOP, arguments)?.unwrap_or_default())
    }),
    (CHAT_DENY, |session, arguments| {
        chat::deny(session, first(CHAT_DENY, arguments)?)
    }),
    (CHAT_NEW, |session, arguments| {
        chat::begin(session, &optional(CHAT_NEW, arguments)?.unwrap_or_default())
    }),
    (APPROVE, |session, arguments| {
        chat::approve(session, first(APPROVE, arguments)?);
        Ok(())
    }),
    (ANSWER, |session, arguments| {
        chat::answer(session, first(ANSWER, arguments)?);
        Ok(())
    }),
    (LIST_THREADS, |session, _arguments| chat::threads::list(session)),
];

/// *Sign in*, in the way that the person chooses.
pub fn log_in(session: &Session) {
    account::begin(session, None);
}

/// The names, for `initialize`.
pub fn names() -> Vec<String> {
    let at_once = COMMANDS.iter().map(|(name, _)| *name);
    // Answered when its process has ended, and so not by the table.
    at_once.chain([EXEC]).map(str::to_owned).collect()
}

/// A place in a file and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineRange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<EditorDiagnostic>,
    /// The person's words, where the client could ask for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
}

/// Sets a command off and answers at once.
fn execute(session: &Session, params: ExecuteCommandParams) -> Result<Option<Value>, RequestError> {
    let Some((_, run)) = COMMANDS.iter().find(|(name, _)| *name == params.command) else {
        return Err(RequestError::invalid_params(format!(
            "There is no command {}. Countersign's commands are: {}.",
            params.command,
            names().join(", ")
        )));
    };
    run(session, params.arguments).map(|()| Some(Value::Null))
}

/// Commands about waiting changes look at files, and an answer in a document is compared with the whole question.
const ASIDE: &[&str] = &[
    APPROVE,
    DECIDE,
    REJECT_WITH_WORDS,
    SHOW_PROPOSAL,
    ACCEPT_ALL,
    REJECT_ALL,
];

/// The same, where it holds nobody up: what looks at files is carried out aside, and decisions on changes one after the other. The
/// answer to a question waits for none of them.
pub async fn carry_out(session: &Session, params: ExecuteCommandParams) -> Result<Option<Value>, RequestError> {
    if !ASIDE.contains(&params.command.as_str()) {
        return execute(session, params);
    }
    let turn = match params.command == APPROVE {
        true => None,
        false => Some(session.decisions().await),
    };
    let session = session.clone();
    let work = tokio::task::spawn_blocking(move || {
        let _until_done = turn;
        execute(&session, params)
    });
    work.await.map_err(|error| RequestError::internal(error.to_string()))?
}

/// A place that the agent can work at.
struct Task {
    place: Place,
    path: PathBuf,
}

impl Task {
    fn read(command: &str, arguments: Vec<Value>) -> Result<Self, RequestError> {
        Self::of(first(command, arguments)?)
    }

    fn of(place: Place) -> Result<Self, RequestError> {
        let path = uri::to_path(&place.uri).map_err(|error| RequestError::invalid_params(format!("{error}.")))?;
        match path {
            Some(path) => Ok(Self { place, path }),
            None => Err(RequestError::invalid_params(format!(
                "{} is not a file on this machine, so the agent cannot work on it. Save it to a file first.",
                place.uri
            ))),
        }
    }
}

fn fix(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    let task = Task::read(FIX, arguments)?;
    let words = fix_words(&task.place);
    set_off(session, task, words, Answer::Changes);
    Ok(())
}

fn review_file(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    let task = Task::read(REVIEW_FILE, arguments)?;
    let words = review_words(&task.path);
    set_off(session, task, words, Answer::Read);
    Ok(())
}

fn new_thread(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    let place: Option<Place> = optional(NEW_THREAD, arguments)?;
    for folder in folders(session, place.as_ref()) {
        session.forget_current_thread(&folder);
    }
    session.presenter().message(
        Severity::Info,
        "The next question to Countersign starts a new conversation.",
    );
    Ok(())
}

/// A command's first argument.
fn first<T: DeserializeOwned>(command: &str, arguments: Vec<Value>) -> Result<T, RequestError> {
    match arguments.into_iter().next().filter(|value| !value.is_null()) {
        Some(value) => argument(command, value),
        None => Err(RequestError::invalid_params(format!(
            "{command} needs an argument: the object that the code action or lens which offers it carries."
        ))),
    }
}

/// A command's first argument, where it has one.
fn optional<T: DeserializeOwned>(command: &str, arguments: Vec<Value>) -> Result<Option<T>, RequestError> {
    let given = arguments.into_iter().next().filter(|value| !value.is_null());
    given.map(|value| argument(command, value)).transpose()
}

fn argument<T: DeserializeOwned>(command: &str, value: Value) -> Result<T, RequestError> {
    serde_json::from_value(value)
        .map_err(|error| RequestError::invalid_params(format!("The argument of {command} is not understood: {error}.")))
}

pub(super) fn folders(session: &Session, place: Option<&Place>) -> Vec<PathBuf> {
    match place.and_then(|place| uri::to_path(&place.uri).ok().flatten()) {
        Some(path) => vec![session.folder_of(&path)],
        None => session.workspace().roots(),
    }
}

fn fix_words(place: &Place) -> String {
    let messages: Vec<_> = place
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.message.trim().to_owned())
        .collect();
    let subject = match messages.as_slice() {
        [] => "the problem at the marked place".to_owned(),
        [one] => format!("this problem: {one}"),
        many => format!("these problems: {}", many.join("; ")),
    };
    let more = place
        .instruction
        .as_deref()
        .map(|words| format!(" {}", words.trim()))
        .unwrap_or_default();
    format!("Fix {subject}{more}")
}

fn review_words(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    format!(
        "Review the file {name}: look for faults that matter (wrong results, crashes, lost data, races, insecure handling), \
         each with its line and a short reason. Do not change anything."
    )
}

/// What a turn about a place is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Its changes, which are asked about.
    Changes,
    /// Its words: without our plugin a chat document that opens has room for them.
    Read,
}

/// Starts a turn about a place, in the background; what goes wrong is shown.
fn set_off(session: &Session, task: Task, words: String, answer: Answer) {
    session.idle().turned_to_us();
    let session = session.clone();
    tokio::spawn(async move {
        if let Err(message) = start_turn(&session, task, words, answer).await {
            session.presenter().message(Severity::Error, &message);
        }
    });
}

async fn start_turn(session: &Session, task: Task, text: String, answer: Answer) -> Result<(), String> {
    let Task { place, path } = task;
    let folder = session.folder_of(&path);
    let context = EditorContext {
        active_file: Some(path),
        selection: place.lines,
        diagnostics: place.diagnostics,
        leave_out: Vec::new(),
    };
    start_in(session, &folder, text, Some(context), answer).await
}

async fn start_in(
    session: &Session,
    folder: &Path,
    text: String,
    context: Option<EditorContext>,
    answer: Answer,
) -> Result<(), String> {
    let thread = thread_for(session, folder).await?;
    let start = Start {
        content: vec![UserInput::Text { text }],
        context,
        ..Start::default()
    };
    let in_words = |error: AgentError| error.to_string();
    let order = thread.in_order().await;
    thread.check_prompt(&start.content).await.map_err(in_words)?;
    let id = thread.id().clone();
    let opens = answer == Answer::Read && ask::opens_chats(session) && !session.presenter().is_in_document(&id);
    if opens {
        session.presenter().leave_answer_to_chat(&id, true);
    }
    let started = thread.start_turn_in(order, start).await;
    match started {
        Ok(_) if opens => chat::open(session, chat::Open::of(id)),
        Ok(_) => {}
        Err(error) => {
            session.presenter().leave_answer_to_chat(&id, false);
            return Err(in_words(error));
        }
    }
    Ok(())
}

/// The folder's conversation, or a new one: where there is none yet, and where the present one is busy with anything but
/// waiting for the person's words.
pub(super) async fn thread_for(session: &Session, folder: &Path) -> Result<ThreadHandle, String> {
    let current = session
        .current_thread(folder)
        .and_then(|id| session.agent().thread(&id));
    if let Some(thread) =
        current.filter(|thread| thread.running().is_none() || session.presenter().waits_for_words(thread.id()))
    {
        session.agent().follow_config(&thread).await;
        return Ok(thread);
    }
    let settings = SettingsOverride {
        cwd: Some(folder.to_owned()),
        ..SettingsOverride::default()
    };
    let params = ThreadStartParams {
        settings,
        dynamic_tools: session.client().tools.clone(),
        ..ThreadStartParams::default()
    };
    let opened = session
        .agent()
        .start_thread(params)
        .await
        .map_err(|error| error.to_string())?;
    session.set_current_thread(folder, opened.handle.id().clone());
    session.presenter().attach(&opened.handle);
    sandbox::tell_what_is_missing(session);
    Ok(opened.handle)
}

/// A command of the person's own, as an editor without our plugin names it.
#[derive(Deserialize)]
#[serde(untagged)]
enum OwnCommandArgument {
    Text(String),
    Named {
        command: String,
        /// A file in the folder that is meant.
        #[serde(default)]
        uri: Option<String>,
    },
}

/// Runs a command of the person's own in the folder's conversation.
fn run_command(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    let (text, uri) = match first(RUN_COMMAND, arguments)? {
        OwnCommandArgument::Text(command) => (command, None),
        OwnCommandArgument::Named { command, uri } => (command, uri),
    };
    let command = OwnCommand::new(text.strip_prefix('!').unwrap_or(&text), None)?;
    let place = uri.map(|uri| Place {
        uri,
        lines: None,
        diagnostics: Vec::new(),
        instruction: None,
    });
    let folder = folders(session, place.as_ref()).into_iter().next();
    let folder = folder.unwrap_or_else(|| session.agent().default_folder());
    let session = session.clone();
    tokio::spawn(async move {
        let busy = session
            .current_thread(&folder)
            .and_then(|id| session.agent().thread(&id));
        let thread = match busy {
            // The agent may be at work there: the command runs beside it.
            Some(thread) => Ok(thread),
            None => thread_for(&session, &folder).await,
        };
        let ran = match thread {
            Ok(thread) => thread
                .run_own(command)
                .await
                .map(drop)
                .map_err(|error| error.to_string()),
            Err(message) => Err(message),
        };
        if let Err(message) = ran {
            session.presenter().message(Severity::Error, &message);
        }
    });
    Ok(())
}

/// Calls one of the person's prompts in the folder's conversation.
fn call_prompt(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    let call: PromptCall = first(PROMPT, arguments)?;
    let words = call.words();
    let name = call.name.trim_start_matches('/');
    if prompts::call_in(&words).is_none_or(|(called, _)| called != name) {
        return Err(RequestError::invalid_params(format!(
            "{:?} is no name of a prompt. Prompts are named like their files, without .md.",
            call.name
        )));
    }
    if let Some(place) = call.place() {
        set_off(session, Task::of(place)?, words, Answer::Changes);
        return Ok(());
    }
    let folder = folders(session, None).into_iter().next();
    let folder = folder.unwrap_or_else(|| session.agent().default_folder());
    session.idle().turned_to_us();
    let session = session.clone();
    tokio::spawn(async move {
        let context = session.own_context();
        if let Err(message) = start_in(&session, &folder, words, context, Answer::Changes).await {
            session.presenter().message(Severity::Error, &message);
        }
    });
    Ok(())
}

/// Stops every running turn.
fn stop(session: &Session, _arguments: Vec<Value>) -> Result<(), RequestError> {
    let agent = session.agent().clone();
    tokio::spawn(async move {
        for thread in agent.live() {
            if let Err(error) = thread.interrupt(None).await {
                tracing::info!(%error, "nothing to stop");
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_persons_problem_is_in_the_words_of_the_turn() {
        let diagnostic = |message: &str| EditorDiagnostic {
            path: "/p/a.rs".into(),
            range: LineRange { start: 0, end: 1 },
            severity: "error".to_owned(),
            source: None,
            code: None,
            message: message.to_owned(),
        };
        let place = |diagnostics| Place {
            uri: "file:///p/a.rs".to_owned(),
            lines: None,
            diagnostics,
            instruction: None,
        };
        assert_eq!(
            fix_words(&place(vec![diagnostic("off by one\n")])),
            "Fix this problem: off by one"
        );
        assert_eq!(
            fix_words(&place(vec![diagnostic("a"), diagnostic("b")])),
            "Fix these problems: a; b"
        );
        assert!(review_words(Path::new("/p/a b.rs")).contains(" a b.rs:"));
    }
}
