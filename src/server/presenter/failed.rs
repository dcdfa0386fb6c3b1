//! Shows why a turn failed, and offers what may help.

use super::{Presenter, Severity};
use crate::agent::{clock, now_ms, provider};
use crate::ids::{ThreadId, TurnId};
use crate::protocol::settings::SettingsOverride;
use crate::protocol::turn::{ErrorAction, TurnError};
use std::sync::Arc;

const COMPACT: &str = "Compact conversation";
const CHANGE: &str = "Choose another model";
const AGAIN: &str = "Send again";
const LOG_IN: &str = "Sign in";
const CLOSE: &str = "Close";
/// Models that are offered at a time.
const MOST_MODELS: usize = 6;

/// Shows an error; where the client's questions take no keys, with what can be done about it.
/// `turn` is the one that failed.
pub(super) fn show(presenter: &Presenter, thread: &ThreadId, turn: Option<&TurnId>, error: &TurnError) {
    let titles = titles(&error.actions);
    match titles.is_empty() || !presenter.shared.client.can.questions_aside {
        true => presenter.message(Severity::Error, &error.message),
        false => drop(tokio::spawn(ask(
            presenter.clone(),
            thread.clone(),
            turn.cloned(),
            error.message.clone(),
            titles,
        ))),
    }
}

/// What is done for the person by a press of a button.
fn titles(actions: &[ErrorAction]) -> Vec<String> {
    let title = |action: &ErrorAction| match action {
        ErrorAction::Compact => COMPACT.to_owned(),
        ErrorAction::ChangeModel => CHANGE.to_owned(),
        ErrorAction::WaitUntil { at } => again_title(*at),
        ErrorAction::LogIn => LOG_IN.to_owned(),
    };
    actions.iter().map(title).collect()
}

/// The title of what sends a message again once it can be answered; for every place where that is offered.
pub fn again_title(at_ms: i64) -> String {
    match at_ms <= now_ms() {
        true => format!("{AGAIN} now"),
        false => format!("{AGAIN} at {}", clock(at_ms)),
    }
}

async fn ask(presenter: Presenter, thread: ThreadId, turn: Option<TurnId>, message: String, titles: Vec<String>) {
    let titles = titles.iter().map(String::as_str).chain([CLOSE]);
    let chosen = presenter.choose(Severity::Error, &message, titles).await;
    let done = match chosen.as_deref() {
        Some(COMPACT) => compact(&presenter, &thread).await,
        Some(CHANGE) => change_model(&presenter, &thread).await,
        Some(LOG_IN) => {
            presenter.log_in();
            Ok(())
        }
        Some(again) if again.starts_with(AGAIN) => send_again(&presenter, &thread, turn).await,
        _ => Ok(()),
    };
    if let Err(problem) = done {
        presenter.message(Severity::Error, &problem);
    }
}

async fn compact(presenter: &Presenter, thread: &ThreadId) -> Result<(), String> {
    let handle = presenter.shared.agent.get(thread).map_err(|error| error.to_string())?;
    handle.compact().await.map(drop).map_err(|error| error.to_string())
}

async fn send_again(presenter: &Presenter, thread: &ThreadId, turn: Option<TurnId>) -> Result<(), String> {
    let handle = presenter.shared.agent.get(thread).map_err(|error| error.to_string())?;
    let done = handle.send_again(turn).await?;
    presenter.message(Severity::Info, &done);
    Ok(())
}

/// The models that are known of the thread's provider; from the next turn on the chosen one answers.
async fn change_model(presenter: &Presenter, thread: &ThreadId) -> Result<(), String> {
    let handle = presenter.shared.agent.get(thread).map_err(|error| error.to_string())?;
    let settings = handle.settings();
    let agent = presenter.shared.agent.clone();
    let cwd = settings.cwd.clone();
    let loaded = tokio::task::spawn_blocking(move || agent.load_config(Some(&cwd), None)).await;
    let config = loaded
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?
        .config;
    let id = &settings.model_provider;
    let name = config.provider(id).map_err(|error| error.to_string())?.name.clone();
    let services = presenter.shared.agent.services().clone();
    let models = provider::offered(Arc::new(config), id.clone(), settings.model.clone(), services).await;
    let others: Vec<String> = models
        .into_iter()
        .map(|model| model.id)
        .filter(|model| *model != settings.model)
        .collect();
    if others.is_empty() {
        return Err(format!(
            "No other model of {} is known. Name one as `model` in config.toml, or in the thread's settings.",
            name
        ));
    }
    let question = format!("Which model of {name} is to answer from now on?");
    let titles = others.iter().take(MOST_MODELS).map(String::as_str);
    let chosen = presenter.choose(Severity::Info, &question, titles).await;
    let Some(model) = chosen.filter(|chosen| others.contains(chosen)) else {
        return Ok(());
    };
    let change = SettingsOverride {
        model: Some(model.clone()),
        ..SettingsOverride::default()
    };
    handle
        .update_settings(change)
        .await
        .map_err(|error| error.to_string())?;
    presenter.message(
        Severity::Info,
        &format!("{model} answers from now on. Send the message again."),
    );
    Ok(())
}
