//! `countersign/feedback/…`, and the same as a command, which writes the report as a file, opens it, and asks before
//! anything is sent.

use crate::config::otel;
use crate::feedback::report::{Details, Report};
use crate::feedback::{self, FeedbackError};
use crate::ids::ThreadId;
use crate::lsp::error::RequestError;
use crate::protocol::error as kinds;
use crate::protocol::feedback::{
    FeedbackPart, FeedbackPreviewParams, FeedbackPreviewResult, FeedbackSaveParams, FeedbackSaveResult,
    FeedbackUploadParams, FeedbackUploadResult,
};
use crate::server::presenter::Severity;
use crate::server::session::Session;
use crate::workspace::uri;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

impl From<FeedbackError> for RequestError {
    fn from(error: FeedbackError) -> Self {
        let kind = match &error {
            FeedbackError::NoEndpoint | FeedbackError::Disabled => kinds::NO_FEEDBACK_ENDPOINT,
            FeedbackError::NotShown(_) => kinds::PREVIEW_NOT_FOUND,
            FeedbackError::Relative(_) | FeedbackError::Attachment { .. } => kinds::INVALID_PARAMS,
            FeedbackError::NotSaved { .. } | FeedbackError::NotSent { .. } => kinds::FEEDBACK_FAILED,
        };
        Self::failed(kind, error.to_string())
    }
}

pub async fn preview(session: &Session, params: FeedbackPreviewParams) -> Result<FeedbackPreviewResult, RequestError> {
    let settings = settings(session, params.thread_id.as_ref()).await?;
    let report = report(session, params).await?;
    let part = |(name, bytes): &(String, usize)| FeedbackPart {
        name: name.clone(),
        bytes: *bytes as u64,
    };
    session.feedback().show(report.clone());
    Ok(FeedbackPreviewResult {
        preview_id: report.id,
        thread_id: report.thread_id,
        parts: report.parts.iter().map(part).collect(),
        report: report.text,
        endpoint: feedback::endpoint(&settings).ok().map(feedback::public),
    })
}

pub async fn save(session: &Session, params: FeedbackSaveParams) -> Result<FeedbackSaveResult, RequestError> {
    let (asked, shown, path) = params.parts();
    let report = shown_or_made(session, asked, shown).await?;
    let (saved_path, thread_id) = (path.clone(), report.thread_id.clone());
    blocking(move || feedback::save(&report, &path)).await??;
    Ok(FeedbackSaveResult { saved_path, thread_id })
}

pub async fn upload(session: &Session, params: FeedbackUploadParams) -> Result<FeedbackUploadResult, RequestError> {
    let (asked, shown) = params.parts();
    check(&asked)?;
    let settings = settings(session, asked.thread_id.as_ref()).await?;
    // Before anything is read for it.
    feedback::endpoint(&settings)?;
    let report = shown_or_made(session, asked, shown).await?;
    feedback::send(&settings, &report).await?;
    Ok(FeedbackUploadResult {
        thread_id: report.thread_id,
    })
}

async fn shown_or_made(
    session: &Session,
    asked: FeedbackPreviewParams,
    shown: Option<String>,
) -> Result<Report, RequestError> {
    match shown {
        Some(id) => Ok(session.feedback().shown(&id)?),
        None => report(session, asked).await,
    }
}

fn check(asked: &FeedbackPreviewParams) -> Result<(), RequestError> {
    if asked.classification.trim().is_empty() {
        let message =
            "The classification is empty. Say in a word what the feedback is: bug, badResult, goodResult or other.";
        return Err(RequestError::invalid_params(message));
    }
    match asked.extra_log_files.iter().find(|path| !path.is_absolute()) {
        Some(path) => Err(RequestError::invalid_params(format!(
            "{} is no absolute path. Name further files by their whole paths.",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// A report as it is asked for; of a live thread with its record, if logs go along.
async fn report(session: &Session, asked: FeedbackPreviewParams) -> Result<Report, RequestError> {
    check(&asked)?;
    let live = asked.thread_id.as_ref().and_then(|id| session.agent().thread(id));
    let rollout = match live.filter(|_| asked.include_logs) {
        Some(thread) => {
            thread.conversation().recorded().await;
            let recorder = thread.conversation().recorder.as_ref();
            // A thread in which nothing was said has no file.
            let path = recorder.map(|recorder| recorder.path().to_owned());
            blocking(move || path.filter(|path| path.is_file())).await?
        }
        None => None,
    };
    let details = Details {
        classification: asked.classification.trim().to_owned(),
        reason: asked.reason.filter(|reason| !reason.trim().is_empty()),
        thread: asked.thread_id,
        tags: asked.tags,
        include_logs: asked.include_logs,
        rollout,
        files: asked.extra_log_files,
        client: session.agent().services().source.clone(),
    };
    let feedback = session.feedback().clone();
    Ok(blocking(move || feedback.report(details)).await??)
}

/// Where feedback may go, as the configuration stands.
async fn settings(session: &Session, thread: Option<&ThreadId>) -> Result<otel::Feedback, RequestError> {
    let live = thread.and_then(|id| session.agent().thread(id));
    let cwd = live.map(|thread| thread.settings().cwd);
    let agent = session.agent().clone();
    let loaded = blocking(move || agent.load_config(cwd.as_deref(), None)).await?;
    let loaded = loaded.map_err(|error| RequestError::failed(kinds::INVALID_CONFIG, error.to_string()))?;
    Ok(loaded.config.feedback)
}

/// Files and configuration are disk work.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RequestError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| RequestError::internal(error.to_string()))
}

/// What the command may be told; all of it can be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct About {
    pub classification: Option<String>,
    pub reason: Option<String>,
    /// Without it, the conversation that the person was in last.
    pub thread_id: Option<ThreadId>,
    pub tags: BTreeMap<String, String>,
}

const SEND: &str = "Send";
const SEND_WITH_LOGS: &str = "Send with logs";
const CANCEL: &str = "Cancel";

/// Writes all that feedback could say into a file and opens it; where it can be sent, asks whether it is.
pub(super) fn write_and_show(session: &Session, about: About) {
    let session = session.clone();
    tokio::spawn(async move {
        if let Err(error) = offer(&session, about).await {
            session.presenter().message(Severity::Error, &error.message);
        }
    });
}

async fn offer(session: &Session, about: About) -> Result<(), RequestError> {
    let asked = FeedbackPreviewParams {
        classification: about.classification.unwrap_or_else(|| "other".to_owned()),
        reason: about.reason,
        thread_id: about.thread_id.or_else(|| last_thread(session)),
        include_logs: true,
        tags: about.tags,
        extra_log_files: Vec::new(),
    };
    let settings = settings(session, asked.thread_id.as_ref()).await?;
    let full = report(session, asked.clone()).await?;
    let path = write(session, full.clone()).await?;
    let presenter = session.presenter();
    let is_shown = presenter.show_document(&uri::from_path(&path), None, true).await;
    let place = match is_shown {
        true => "The report is open now, and".to_owned(),
        false => "The report".to_owned(),
    };
    let endpoint = match feedback::endpoint(&settings) {
        Ok(endpoint) => feedback::public(endpoint),
        Err(error) => {
            let words = format!("{place} is saved as {}. {error}", path.display());
            presenter.message(Severity::Info, &words);
            return Ok(());
        }
    };
    let message = format!(
        "{place} is saved as {}. Send it to {endpoint}? Without logs only what stands above them goes.",
        path.display()
    );
    let chosen = session
        .outbound()
        .choose(Severity::Info, &message, [SEND, SEND_WITH_LOGS, CANCEL]);
    let report = match chosen.await.as_deref() {
        Some(SEND_WITH_LOGS) => full,
        Some(SEND) => {
            let without = FeedbackPreviewParams {
                include_logs: false,
                ..asked
            };
            report(session, without).await?
        }
        _ => return Ok(()),
    };
    feedback::send(&settings, &report).await?;
    presenter.message(
        Severity::Info,
        &format!("The report was sent to {endpoint}. Thank you."),
    );
    Ok(())
}

/// The conversation that was in use last.
fn last_thread(session: &Session) -> Option<ThreadId> {
    let live = session.agent().live().into_iter();
    live.max_by_key(|thread| thread.conversation().data().updated_at_ms)
        .map(|thread| thread.id().clone())
}

async fn write(session: &Session, report: Report) -> Result<PathBuf, RequestError> {
    let home = session.agent().services().home.clone();
    let written = blocking(move || {
        let path = feedback::place(&home, &report)?;
        feedback::save(&report, &path).map(|()| path)
    });
    Ok(written.await??)
}
