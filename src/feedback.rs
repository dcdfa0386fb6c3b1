//! Feedback: what a person tells us of a conversation, as a report that they see before it goes anywhere. It is saved as a
//! file, or sent to the one address that they have configured; with none, it cannot be sent.

pub mod report;
pub mod ring;

use crate::config::network::Tls;
use crate::config::otel;
use crate::model::post::{Post, PostError};
use crate::secrets::Secrets;
use report::{Details, Report};
use ring::Ring;
use std::collections::VecDeque;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the receiving end may take.
const SEND_LIMIT: Duration = Duration::from_secs(30);
/// Reports that were shown and are kept to be sent as they were.
const SHOWN: usize = 4;

/// Why a report went nowhere.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    #[error(
        "Feedback is not sent: no endpoint is configured. Save it as a file instead, and send that yourself; or set endpoint \
         in [feedback] of config.toml."
    )]
    NoEndpoint,
    #[error(
        "Feedback is not sent: it is switched off by enabled = false in [feedback] of config.toml. Save it as a file instead."
    )]
    Disabled,
    #[error("There is no preview {0}, or it was shown too long ago. Look at the report again, then send it.")]
    NotShown(String),
    #[error("{} is no absolute path, so the report was not saved. Name the file by its whole path.", .0.display())]
    Relative(PathBuf),
    #[error("The report was not saved as {}: {reason}. Choose another place.", path.display())]
    NotSaved { path: PathBuf, reason: String },
    #[error(
        "The report was not sent to {endpoint}: {reason}. Nothing of it was kept there as far as is known; save it as a file, or try again."
    )]
    NotSent { endpoint: String, reason: String },
    /// What goes along could not be read.
    #[error("{} cannot go along with the report: {reason}. Leave it out, or name another file.", path.display())]
    Attachment { path: PathBuf, reason: String },
}

/// A session's feedback; cheap to clone.
#[derive(Clone, Debug)]
pub struct Feedback(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    secrets: Secrets,
    ring: Ring,
    /// The latest that were shown, oldest first.
    shown: Mutex<VecDeque<Report>>,
}

impl Feedback {
    pub fn new(secrets: Secrets, ring: Ring) -> Self {
        Self(Arc::new(Shared {
            secrets,
            ring,
            shown: Mutex::default(),
        }))
    }

    /// A report of what is given, with the lines of the log if they are wanted. Reads files.
    ///
    /// # Errors
    /// A file that was named to go along cannot be read.
    pub fn report(&self, details: Details) -> Result<Report, FeedbackError> {
        let lines = details
            .include_logs
            .then(|| self.0.ring.lines(details.thread.as_ref().map(|thread| thread.as_str())));
        Report::new(details, lines, &self.0.secrets)
    }

    /// Keeps a report that the person is shown.
    pub fn show(&self, report: Report) {
        let mut shown = self.0.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() == SHOWN {
            shown.pop_front();
        }
        shown.push_back(report);
    }

    /// A report as it was shown.
    ///
    /// # Errors
    /// It was not, or others were since.
    pub fn shown(&self, id: &str) -> Result<Report, FeedbackError> {
        let shown = self.0.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let found = shown.iter().find(|report| report.id == id).cloned();
        found.ok_or_else(|| FeedbackError::NotShown(id.to_owned()))
    }
}

/// Where a report may be sent.
///
/// # Errors
/// Nowhere.
pub fn endpoint(settings: &otel::Feedback) -> Result<&str, FeedbackError> {
    match &settings.endpoint {
        _ if settings.disabled => Err(FeedbackError::Disabled),
        Some(endpoint) => Ok(endpoint),
        None => Err(FeedbackError::NoEndpoint),
    }
}

/// Sends a report, byte for byte as it is shown, and waits a bounded time for the answer.
///
/// # Errors
/// There is nowhere to send it, or it was not taken.
pub async fn send(settings: &otel::Feedback, report: &Report) -> Result<(), FeedbackError> {
    let endpoint = endpoint(settings)?;
    let post = Post::new(
        endpoint.to_owned(),
        settings.headers.clone(),
        settings.network.clone(),
        Tls::default(),
        false,
    );
    let body = report.text.clone().into_bytes();
    let not_sent = |reason: String| FeedbackError::NotSent {
        endpoint: public(endpoint),
        reason,
    };
    match post
        .send(&[("content-type", "application/json")], body, SEND_LIMIT)
        .await
    {
        Ok(answer) if (200..300).contains(&answer.status) => Ok(()),
        Ok(answer) => Err(not_sent(format!("it answered with status {}", answer.status))),
        Err(error @ (PostError::Setup(_) | PostError::Transport(_) | PostError::TimedOut(_))) => {
            Err(not_sent(error.to_string()))
        }
    }
}

/// An address without what may be secret in it.
pub fn public(endpoint: &str) -> String {
    let Ok(mut url) = url::Url::parse(endpoint) else {
        return endpoint.to_owned();
    };
    // These fail only for addresses that hold no such thing.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.to_string()
}

/// Saves a report as a file that is not there yet, for nobody else to read.
///
/// # Errors
/// It cannot be written there.
pub fn save(report: &Report, path: &Path) -> Result<(), FeedbackError> {
    if !path.is_absolute() {
        return Err(FeedbackError::Relative(path.to_owned()));
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| {
        let written = file.write_all(report.text.as_bytes());
        if written.is_err() {
            // Half a report is none.
            let _ = std::fs::remove_file(path);
        }
        written
    });
    written.map_err(|error| FeedbackError::NotSaved {
        path: path.to_owned(),
        reason: match error.kind() {
            std::io::ErrorKind::AlreadyExists => "there is a file of this name already".to_owned(),
            _ => error.to_string(),
        },
    })
}

/// A place of our own for a report, in the home folder.
///
/// # Errors
/// The folder cannot be made.
pub fn place(home: &Path, report: &Report) -> Result<PathBuf, FeedbackError> {
    let folder = home.join("feedback");
    crate::private::make_folder(&folder).map_err(|error| FeedbackError::NotSaved {
        path: folder.clone(),
        reason: error.to_string(),
    })?;
    Ok(folder.join(format!("feedback-{}.json", report.id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let feedback = Feedback::new(Secrets::default(), Ring::default());
        feedback.report(Details::new("bug")).expect("a report")
    }

    #[test]
    fn what_was_shown_is_kept_for_a_while() {
        let feedback = Feedback::new(Secrets::default(), Ring::default());
        let reports: Vec<Report> = (0..SHOWN + 1).map(|_| report()).collect();
        reports.iter().cloned().for_each(|report| feedback.show(report));
        assert!(matches!(
            feedback.shown(&reports[0].id),
            Err(FeedbackError::NotShown(_))
        ));
        for kept in &reports[1..] {
            assert_eq!(feedback.shown(&kept.id).expect("shown").text, kept.text);
        }
    }

    #[test]
    fn a_file_is_never_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.json");
        let report = report();
        save(&report, &path).expect("saved");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), report.text);
        for (path, words) in [
            (path.clone(), "already"),
            (PathBuf::from("report.json"), "absolute"),
            (folder.path().join("none/report.json"), "not saved"),
        ] {
            let error = save(&report, &path).expect_err("it cannot be").to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn without_an_endpoint_nothing_can_be_sent() {
        let none = otel::Feedback::default();
        assert!(matches!(endpoint(&none), Err(FeedbackError::NoEndpoint)));
        let off = otel::Feedback {
            disabled: true,
            endpoint: Some("http://c".to_owned()),
            ..none
        };
        assert!(matches!(endpoint(&off), Err(FeedbackError::Disabled)));
        assert_eq!(public("https://me:pw@host/x?key=1"), "https://host/x");
    }
}
