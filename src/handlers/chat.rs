//! Chat documents for editors: the commands, and what is offered in them. What happens in one is told by its follower
//! (`server/chats`).

pub mod complete;
pub mod hover;
pub mod offers;
pub mod shape;
pub mod threads;

use super::command::Place;
use crate::chat::SUFFIX;
use crate::chat::document::YOU;
use crate::ids::{ApprovalId, ProposalId, QuestionsId, ThreadId};
use crate::lsp::error::RequestError;
use crate::private;
use crate::protocol::approval::{ApprovalDecision, ApprovalResponse};
use crate::protocol::question::{UserAnswer, UserInputResponse};
use crate::server::chats::{Refused, is_chat};
use crate::server::presenter::Severity;
use crate::server::session::Session;
use crate::workspace::uri;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Names tried for a new chat before giving up.
const MOST_NAMES: u32 = 100_000;

/// A chat document; without a URI the one that the person is in.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Which {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

/// What a new document is for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Open {
    /// The conversation that it shows; absent for a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// A file in the folder that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

impl Open {
    /// A new conversation in the folder of a file.
    pub(super) fn near(uri: &str) -> Self {
        Self {
            uri: Some(uri.to_owned()),
            ..Self::default()
        }
    }

    /// A conversation that there is.
    pub(super) fn of(thread: ThreadId) -> Self {
        Self {
            thread_id: Some(thread),
            ..Self::default()
        }
    }
}

/// An answer to a question about a command, a folder or a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approve {
    pub approval_id: ApprovalId,
    pub decision: ApprovalDecision,
    /// Words to the model, with `decline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The document in which it is decided; a yes counts only where that shows all of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

/// A no to a question or to a change, with the words that are written in a chat document. One of the two is named.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Deny {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<ApprovalId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<ProposalId>,
}

/// An answer to what the model wants to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    pub questions_id: QuestionsId,
    /// By the question's id; without any, the person does not want to answer.
    #[serde(default)]
    pub answers: BTreeMap<String, String>,
}

/// The document that is meant.
fn document(session: &Session, which: &Which) -> Result<String, RequestError> {
    if let Some(uri) = &which.uri {
        let path = uri::to_path(uri).ok().flatten();
        return match path.is_some_and(|path| is_chat(&path)) {
            true => Ok(uri.clone()),
            false => Err(RequestError::invalid_params(format!(
                "{uri} is no chat document: those are files whose names end with {SUFFIX}."
            ))),
        };
    }
    let attended = session.workspace().attended();
    let attended = attended
        .filter(|path| is_chat(path))
        .and_then(|path| session.workspace().document(&path));
    if let Some(document) = attended {
        return Ok(document.uri().to_owned());
    }
    let open = session.workspace().documents();
    let mut chats = open.iter().filter(|document| document.path().is_some_and(is_chat));
    match (chats.next(), chats.next()) {
        (Some(one), None) => Ok(one.uri().to_owned()),
        (None, _) => Err(RequestError::invalid_params(format!(
            "No chat document is open. Open a file whose name ends with {SUFFIX}, or run countersign.openChat."
        ))),
        _ => Err(RequestError::invalid_params(
            "Several chat documents are open. Choose the command from the code actions of the one that you mean.",
        )),
    }
}

pub fn send(session: &Session, which: &Which) -> Result<(), RequestError> {
    let uri = document(session, which)?;
    session.chats().send(session, &uri);
    Ok(())
}

pub fn begin(session: &Session, which: &Which) -> Result<(), RequestError> {
    let uri = document(session, which)?;
    session.chats().begin(session, &uri);
    Ok(())
}

/// # Errors
/// Neither a question nor a change is named, or both; or no chat document is meant.
pub fn deny(session: &Session, given: Deny) -> Result<(), RequestError> {
    let uri = document(session, &Which { uri: given.uri })?;
    let what = match (given.approval_id, given.proposal_id) {
        (Some(id), None) => Refused::Question(id),
        (None, Some(id)) => Refused::Change(id),
        _ => {
            return Err(RequestError::invalid_params(
                "countersign.chatDeny takes one of approvalId and proposalId: name what you say no to.",
            ));
        }
    };
    session.chats().refuse(session, &uri, what);
    Ok(())
}

/// Stops the running turn of the document's conversation.
pub fn stop(session: &Session, which: &Which) -> Result<(), RequestError> {
    let uri = document(session, which)?;
    let thread = session
        .chats()
        .seen(&uri)
        .thread
        .and_then(|id| session.agent().thread(&id));
    let session = session.clone();
    tokio::spawn(async move {
        let stopped = match thread {
            Some(thread) => thread.interrupt(None).await.unwrap_or(false),
            None => false,
        };
        if !stopped {
            session
                .presenter()
                .message(Severity::Info, "Nothing is running in this chat.");
        }
    });
    Ok(())
}

/// Settles a question. One that is settled already stays so, and one that was not wholly shown is not allowed.
pub fn approve(session: &Session, given: Approve) {
    if given.decision.is_yes() && !was_shown(session, &given) {
        return session.presenter().message(
            Severity::Warning,
            "Nothing was allowed: the document in which you answered does not show all of the question, or was changed. Answer \
             the message that asks, or open a new chat document (countersign.openChat) and answer there.",
        );
    }
    let response = ApprovalResponse {
        decision: given.decision,
        turn_id: None,
        feedback: given.feedback,
        permissions: None,
    };
    if !session
        .agent()
        .services()
        .approvals
        .answer(&given.approval_id, response)
    {
        session
            .presenter()
            .message(Severity::Info, "That question is settled already.");
    }
}

/// Whether the document in which a question is answered shows all of it. One that is settled already is reported as such.
fn was_shown(session: &Session, given: &Approve) -> bool {
    let open = session.agent().services().approvals.pending(None);
    let Some(approval) = open.iter().find(|approval| *approval.id() == given.approval_id) else {
        return true;
    };
    let document = given
        .uri
        .as_deref()
        .and_then(|uri| session.workspace().document_by_uri(uri));
    document.is_some_and(|document| offers::shows(session, document.uri(), &document.text(), approval))
}

pub fn answer(session: &Session, given: Answer) {
    let answers = given
        .answers
        .into_iter()
        .map(|(id, words)| (id, UserAnswer { answers: vec![words] }));
    let response = UserInputResponse {
        answers: answers.collect(),
    };
    let response = Some(response).filter(|response| !response.answers.is_empty());
    if !session
        .agent()
        .services()
        .questions
        .answer(&given.questions_id, response)
    {
        session
            .presenter()
            .message(Severity::Info, "That question is settled already.");
    }
}

/// Makes a new document in the home folder and shows it.
pub fn open(session: &Session, wish: Open) {
    open_with(session, wish, "");
}

/// The same with words at its end, to be sent once the person has written theirs.
pub(super) fn open_with(session: &Session, wish: Open, draft: &str) {
    session.idle().turned_to_us();
    let (session, draft) = (session.clone(), draft.to_owned());
    tokio::spawn(async move {
        let place = wish.uri.clone().map(|uri| Place {
            uri,
            lines: None,
            diagnostics: Vec::new(),
            instruction: None,
        });
        let folder = super::command::folders(&session, place.as_ref()).into_iter().next();
        let folder = folder.unwrap_or_else(|| session.agent().default_folder());
        let chats = session.agent().services().home.join("chats");
        let (thread, meant) = (wish.thread_id.clone(), wish.thread_id);
        let made = tokio::task::spawn_blocking(move || make(&chats, &folder, thread.as_ref(), &draft)).await;
        let path = match made.map_err(|error| error.to_string()).and_then(|made| made) {
            Ok(path) => path,
            Err(trouble) => {
                if let Some(thread) = meant {
                    session.presenter().leave_answer_to_chat(&thread, false);
                }
                return session.presenter().message(Severity::Error, &trouble);
            }
        };
        let uri = uri::from_path(&path);
        let shown = session.client().can.show_document && session.presenter().show_document(&uri, None, true).await;
        if !shown {
            session.presenter().message(
                Severity::Info,
                &format!(
                    "A chat document is ready: open {} and write at its end.",
                    path.display()
                ),
            );
        }
    });
}

/// A file of its own for a new chat.
pub(crate) fn make(chats: &Path, folder: &Path, thread: Option<&ThreadId>, draft: &str) -> Result<PathBuf, String> {
    let trouble = |error: std::io::Error| {
        format!(
            "No chat document could be made in {}: {error}. Make the folder writable, or open a file of your own whose name ends with \
             {SUFFIX}.",
            chats.display()
        )
    };
    private::make_folder(chats).map_err(trouble)?;
    let thread = thread.map(|id| format!("thread: {id}\n")).unwrap_or_default();
    let folder = folder.to_string_lossy();
    // A line break in a name would begin another line of the header.
    let folder = match folder.contains(char::is_control) {
        true => String::new(),
        false => format!("folder: {folder}\n"),
    };
    let text = format!("---\n{thread}{folder}---\n\n{YOU}\n\n{draft}");
    for number in 1..MOST_NAMES {
        let path = chats.join(format!("chat-{number}{SUFFIX}"));
        match private::create_new(&path) {
            Ok(mut file) => return file.write_all(text.as_bytes()).map(|()| path).map_err(trouble),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(trouble(error)),
        }
    }
    Err(format!("{} is full of chats; remove some of them.", chats.display()))
}
