//! `countersign/review/…`, and the same as commands, for editors without our plugin: what to review is asked for there, and a
//! finding is worked on or dismissed where it lies.

use crate::agent::review::{self, Choices};
use crate::agent::thread::{Start, ThreadHandle};
use crate::ids::{FindingId, ThreadId, TurnId};
use crate::lsp::error::RequestError;
use crate::protocol::item::UserInput;
use crate::protocol::review::{
    OpenFinding, ReviewDelivery, ReviewDismissParams, ReviewDismissResult, ReviewFindingsParams, ReviewFindingsResult,
    ReviewStartParams, ReviewStartResult, ReviewTarget,
};
use crate::protocol::turn::{EditorContext, EditorDiagnostic};
use crate::server::call::after_reply;
use crate::server::presenter::{FINDINGS_SOURCE, Severity, severity_of};
use crate::server::session::Session;
use crate::workspace::uri;
use lsp_types::RenameFilesParams;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

pub async fn start(session: &Session, params: ReviewStartParams) -> Result<ReviewStartResult, RequestError> {
    review::check(&params.target)?;
    let agent = session.agent();
    let thread = agent.reach(&params.thread_id).await?;
    let thread = match params.delivery {
        ReviewDelivery::Inline => thread,
        ReviewDelivery::Detached => {
            let opened = agent.start_beside(&thread).await?;
            let shown = opened.handle.clone();
            let presenter = session.presenter().clone();
            after_reply(move || presenter.attach(&shown));
            opened.handle
        }
    };
    let started = thread.review(params.target).await?;
    let result = ReviewStartResult {
        review_thread_id: thread.id().clone(),
        turn: started.turn.clone(),
    };
    after_reply(move || drop(started));
    Ok(result)
}

pub async fn findings(session: &Session, params: ReviewFindingsParams) -> Result<ReviewFindingsResult, RequestError> {
    let services = session.agent().services().clone();
    let look = move || {
        services.findings.look(&services.workspace);
        services
            .findings
            .list(params.thread_id.as_ref(), params.turn_id.as_ref())
    };
    let data = tokio::task::spawn_blocking(look).await;
    let data = data.map_err(|error| RequestError::internal(error.to_string()))?;
    Ok(ReviewFindingsResult { data })
}

pub fn dismiss(session: &Session, params: &ReviewDismissParams) -> ReviewDismissResult {
    let findings = &session.agent().services().findings;
    let dismissed = findings.dismiss(&params.thread_id, params.turn_id.as_ref(), params.finding_id.as_ref());
    ReviewDismissResult {
        dismissed: u32::try_from(dismissed).unwrap_or(u32::MAX),
    }
}

/// Files were renamed in the editor: what lies on them follows.
pub fn renamed(session: &Session, params: &RenameFilesParams) {
    let path = |uri: &str| uri::to_path(uri).ok().flatten();
    let files = params.files.iter();
    let renames: Vec<(PathBuf, PathBuf)> = files
        .filter_map(|file| Some((path(&file.old_uri)?, path(&file.new_uri)?)))
        .collect();
    let session = session.clone();
    tokio::task::spawn_blocking(move || {
        for (from, to) in renames {
            session.agent().services().findings.renamed(&from, &to);
        }
        session.presenter().findings_changed();
    });
}

/// What a command is to have reviewed; what is not said is asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Review {
    /// A file in the folder that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ReviewTarget>,
}

/// Has changes reviewed, in the background; what goes wrong is shown.
pub(super) fn review_changes(session: &Session, wish: Review) -> Result<(), RequestError> {
    if let Some(target) = &wish.target {
        review::check(target)?;
    }
    session.idle().turned_to_us();
    let session = session.clone();
    tokio::spawn(async move {
        if let Err(message) = review_in_folder(&session, wish).await {
            session.presenter().message(Severity::Error, &message);
        }
    });
    Ok(())
}

async fn review_in_folder(session: &Session, wish: Review) -> Result<(), String> {
    let path = wish.uri.and_then(|uri| uri::to_path(&uri).ok().flatten());
    let folder = match path {
        Some(path) => session.folder_of(&path),
        None => session
            .workspace()
            .roots()
            .into_iter()
            .next()
            .ok_or("There is no folder to review: open one, or a file in it, and ask again.".to_owned())?,
    };
    let target = match wish.target {
        Some(target) => target,
        None => match choose(session, &folder).await {
            Some(target) => target,
            None => return Ok(()),
        },
    };
    let thread = super::command::thread_for(session, &folder).await?;
    thread.review(target).await.map_err(|error| error.to_string())?;
    Ok(())
}

/// Asks the person what to review; none if they close the question.
async fn choose(session: &Session, folder: &Path) -> Option<ReviewTarget> {
    let (env, at) = (session.agent().services().env.clone(), folder.to_owned());
    let choices = tokio::task::spawn_blocking(move || Choices::of(&at, &env)).await.ok()?;
    let offers = choices.offers();
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
    let message = format!("What should Countersign review in {name}?");
    let titles = offers.iter().map(|(title, _)| title.as_str());
    let chosen = session.outbound().choose(Severity::Info, &message, titles).await?;
    let offer = offers.into_iter().find(|(title, _)| *title == chosen)?;
    Some(offer.1)
}

/// The finding, or the findings, that a command is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Which {
    pub thread_id: ThreadId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding_id: Option<FindingId>,
}

pub(super) fn dismiss_findings(session: &Session, which: Which) {
    let params = ReviewDismissParams {
        thread_id: which.thread_id,
        turn_id: which.turn_id,
        finding_id: which.finding_id,
    };
    if dismiss(session, &params).dismissed == 0 {
        session.presenter().message(Severity::Info, GONE);
    }
}

const GONE: &str = "This finding is gone already: it was dismissed, or its lines have changed.";

/// Starts a turn about a finding, in the background; what goes wrong is shown.
pub(super) fn fix_finding(session: &Session, which: &Which) -> Result<(), RequestError> {
    let Some(id) = &which.finding_id else {
        return Err(RequestError::invalid_params(
            "The command needs findingId: the finding that is to be fixed.".to_owned(),
        ));
    };
    let Some(finding) = session.agent().services().findings.get(id) else {
        session.presenter().message(Severity::Info, GONE);
        return Ok(());
    };
    session.idle().turned_to_us();
    let session = session.clone();
    tokio::spawn(async move {
        if let Err(message) = mend(&session, finding).await {
            session.presenter().message(Severity::Error, &message);
        }
    });
    Ok(())
}

async fn mend(session: &Session, finding: OpenFinding) -> Result<(), String> {
    let thread = thread_of(session, &finding).await?;
    let place = &finding.code_location;
    let start = Start {
        content: vec![UserInput::Text {
            text: in_words(&finding),
        }],
        context: Some(EditorContext {
            active_file: Some(place.absolute_file_path.clone()),
            selection: Some(place.line_range),
            diagnostics: vec![EditorDiagnostic {
                path: place.absolute_file_path.clone(),
                range: place.line_range,
                severity: severity_of(finding.priority).1.to_owned(),
                source: Some(FINDINGS_SOURCE.to_owned()),
                code: None,
                message: finding.title.clone(),
            }],
            ..EditorContext::default()
        }),
        ..Start::default()
    };
    thread.start_turn(start).await.map_err(|error| error.to_string())?;
    Ok(())
}

fn in_words(finding: &OpenFinding) -> String {
    let body = finding.body.trim();
    let gap = if body.is_empty() { "" } else { "\n\n" };
    format!("Resolve this finding of the review: {}{gap}{body}", finding.title)
}

/// The conversation of the review, which knows of the finding; if it is busy or gone, the folder's.
async fn thread_of(session: &Session, finding: &OpenFinding) -> Result<ThreadHandle, String> {
    let own = session.agent().thread(&finding.thread_id);
    if let Some(thread) = own.filter(|thread| thread.running().is_none()) {
        return Ok(thread);
    }
    let folder = session.folder_of(&finding.code_location.absolute_file_path);
    super::command::thread_for(session, &folder).await
}
