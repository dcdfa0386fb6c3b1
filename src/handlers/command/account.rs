//! *Sign in* and *Sign out*, for editors without our plugin: the page is opened by the editor or named in words, progress
//! has a Cancel button, and how it ended is said.

use super::optional;
use crate::account::{ByBrowser, ByCode};
use crate::handlers::account::{terms, to_plugins};
use crate::ids::LoginId;
use crate::lsp::error::RequestError;
use crate::protocol::account::Account;
use crate::server::presenter::Severity;
use crate::server::session::Session;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Before the id of a login, in the token of its progress.
const PROGRESS: &str = "countersign-login-";
/// How long an editor may take to accept a progress, or to open a page.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const BY_BROWSER: &str = "In the browser";
const BY_CODE: &str = "With a code";
const OPEN: &str = "Open the page";
const CANCEL: &str = "Cancel the login";

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Method {
    Browser,
    DeviceCode,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Way {
    /// Absent: the person is asked.
    method: Option<Method>,
}

pub(super) fn login(session: &Session, arguments: Vec<Value>) -> Result<(), RequestError> {
    let way: Way = optional(super::LOGIN, arguments)?.unwrap_or_default();
    begin(session, way.method);
    Ok(())
}

/// Logs in by a method, or by the one that the person chooses, and says how it ended.
pub(super) fn begin(session: &Session, method: Option<Method>) {
    let session = session.clone();
    tokio::spawn(async move {
        let method = match method {
            Some(method) => Some(method),
            None => ask(&session).await,
        };
        let outcome = match method {
            None => return,
            Some(Method::Browser) => by_browser(&session).await,
            Some(Method::DeviceCode) => by_code(&session).await,
        };
        let presenter = session.presenter();
        let outcome = match outcome {
            Ok(()) => who(&session).await,
            Err(why) => Err(why),
        };
        match outcome {
            Ok(words) => presenter.message(Severity::Info, &words),
            Err(why) => presenter.message(Severity::Error, &why),
        }
    });
}

pub(super) fn logout(session: &Session, _arguments: Vec<Value>) -> Result<(), RequestError> {
    let session = session.clone();
    tokio::spawn(async move {
        let account = &session.agent().services().account;
        let done = async {
            let terms = terms(&session).await?;
            account.logout(terms.terms(), &to_plugins(&session)).await?;
            Ok::<_, RequestError>(account.known(terms.terms()))
        };
        let presenter = session.presenter();
        match done.await {
            Ok(None) => presenter.message(Severity::Info, "You are signed out."),
            Ok(Some(_)) => presenter.message(
                Severity::Info,
                "You are signed out. The key of the environment or of the configuration is still used.",
            ),
            Err(error) => presenter.message(Severity::Error, &error.message),
        }
    });
    Ok(())
}

/// The person pressed Cancel on the progress of a login.
pub(in crate::handlers) fn progress_cancelled(session: &Session, token: &str) {
    if let Some(id) = token.strip_prefix(PROGRESS) {
        // One that has ended meanwhile needs no cancelling.
        let _over = session
            .agent()
            .services()
            .account
            .cancel(&LoginId::from(id), &to_plugins(session));
    }
}

async fn ask(session: &Session) -> Option<Method> {
    let message = "How do you want to sign in? A code is for an editor that runs on another machine than your browser. To \
                   sign in with a key, run `countersign login --with-api-key` in a terminal.";
    let chosen = session
        .outbound()
        .choose(Severity::Info, message, [BY_BROWSER, BY_CODE]);
    match chosen.await?.as_str() {
        BY_BROWSER => Some(Method::Browser),
        BY_CODE => Some(Method::DeviceCode),
        _ => None,
    }
}

async fn by_browser(session: &Session) -> Result<(), String> {
    let terms = terms(session).await.map_err(|error| error.message)?;
    let account = &session.agent().services().account;
    let begun = account.login_in_browser(terms.terms(), &to_plugins(session)).await;
    let ByBrowser { id, url, ending } = begun.map_err(|error| error.to_string())?;
    let progress = tokio::spawn(show_progress(session.clone(), id, "Waiting for the browser".to_owned()));
    if !opened(session, &url).await {
        let words = format!("Open this page in a browser on this machine to sign in: {url}");
        session.presenter().message(Severity::Info, &words);
    }
    let outcome = ending.wait().await;
    end_progress(session, progress).await;
    outcome
}

async fn by_code(session: &Session) -> Result<(), String> {
    let terms = terms(session).await.map_err(|error| error.message)?;
    let account = &session.agent().services().account;
    let begun = account.login_by_code(terms.terms(), &to_plugins(session)).await;
    let ByCode {
        id,
        code,
        page,
        filled_page,
        ending,
    } = begun.map_err(|error| error.to_string())?;
    let progress = tokio::spawn(show_progress(
        session.clone(),
        id.clone(),
        format!("Waiting for the code {code}"),
    ));
    let words = format!("To sign in, open {page} in any browser and type the code {code} there.");
    // Asking ends with the login, which takes the question back.
    let asking = async {
        let chosen = session.outbound().choose(Severity::Info, &words, [OPEN, CANCEL]).await;
        match chosen.as_deref() {
            Some(CANCEL) => {
                let _over = account.cancel(&id, &to_plugins(session));
            }
            Some(OPEN) => {
                let _shown_in_words = opened(session, filled_page.as_deref().unwrap_or(&page)).await;
                session.presenter().message(Severity::Info, &words);
            }
            // A dialog that was closed leaves the code in the progress and in the log.
            _ => session.presenter().log(Severity::Info, &words),
        }
        std::future::pending().await
    };
    let outcome = tokio::select! {
        biased;
        outcome = ending.wait() => outcome,
        never = asking => never,
    };
    end_progress(session, progress).await;
    outcome
}

/// Has the editor open a page in the browser; false if it cannot.
async fn opened(session: &Session, url: &str) -> bool {
    if !session.client().can.show_document {
        return false;
    }
    let params = json!({"uri": url, "external": true});
    let asked = session.outbound().request::<Value>("window/showDocument", params);
    match tokio::time::timeout(ANSWER_LIMIT, asked).await {
        Ok(Ok(answer)) => answer["success"] == true,
        _ => false,
    }
}

/// Shows a progress with a Cancel button; gives its token if the editor takes it.
async fn show_progress(session: Session, id: LoginId, doing: String) -> Option<String> {
    if !session.client().can.work_done_progress {
        return None;
    }
    let token = format!("{PROGRESS}{id}");
    let create = session
        .outbound()
        .request::<Value>("window/workDoneProgress/create", json!({"token": token}));
    let accepted = tokio::time::timeout(ANSWER_LIMIT, create).await;
    if !matches!(accepted, Ok(Ok(_))) {
        return None;
    }
    let begin = json!({"kind": "begin", "title": "Countersign: sign in", "message": doing, "cancellable": true});
    session
        .outbound()
        .notify("$/progress", json!({"token": token, "value": begin}));
    Some(token)
}

async fn end_progress(session: &Session, progress: tokio::task::JoinHandle<Option<String>>) {
    if let Ok(Some(token)) = progress.await {
        session
            .outbound()
            .notify("$/progress", json!({"token": token, "value": {"kind": "end"}}));
    }
}

/// Who is signed in now, in words.
async fn who(session: &Session) -> Result<String, String> {
    let terms = terms(session).await.map_err(|error| error.message)?;
    Ok(match session.agent().services().account.known(terms.terms()) {
        Some(Account::Account { email, plan, .. }) => {
            let email = email.map(|email| format!(" as {email}")).unwrap_or_default();
            let plan = plan.map(|plan| format!(" (plan {plan})")).unwrap_or_default();
            format!("You are signed in{email}{plan}.")
        }
        Some(Account::ApiKey {}) => {
            "You are signed in. As long as the environment or the configuration has a key, that is used.".to_owned()
        }
        None => format!("You are signed in, but {} takes no login.", terms.provider.name),
    })
}
