//! A turn from its first event to its last: what it is told of its surroundings, which model answers, and then the loop.

use crate::agent::aside::aside;
use crate::agent::context::{self, Gathered};
use crate::agent::conversation::Subject;
use crate::agent::pending::Input;
use crate::agent::prompt::Environment;
use crate::agent::provider::{Provider, Unresolved};
use crate::agent::sampling;
use crate::agent::turn::{Ended, Turn};
use crate::agent::{mode, small, undo};
use crate::model::retry::Retry;
use crate::protocol::config::ConfigWarning;
use crate::protocol::event::EventKind;
use crate::protocol::settings::ThreadSettings;
use crate::protocol::turn::{TurnError, TurnErrorKind};
use crate::shown;
use std::sync::Arc;

/// A turn of the person's own commands. What they say meanwhile makes it one like any other.
pub(super) async fn run_own(turn: &Arc<Turn>) -> Ended {
    // What comes next is told what differs from here.
    tell_environment(turn);
    turn.begin(None);
    if sampling::is_over(turn).await {
        return Ended::Completed;
    }
    if turn.cancel.is_cancelled() {
        return Ended::Interrupted;
    }
    run(turn, turn.pending.take(), false).await
}

/// A turn from its first event to its last answer; closing it is the caller's. `first`: the turn begins with the input.
pub(super) async fn run(turn: &Arc<Turn>, inputs: Vec<Input>, first: bool) -> Ended {
    tell_environment(turn);
    let news = context::tell_instructions(turn).await;
    let mut inputs = Some(context::gather(turn, inputs).await);
    // The person sees their words before the provider is waited for in earnest.
    let begin = |inputs: &mut Option<Vec<Gathered>>, window| {
        if let Some(inputs) = inputs.take() {
            turn.begin(window);
            sampling::say_input(turn, inputs, first);
            undo::begin(turn);
        }
    };
    let found = find_provider(turn, |window| begin(&mut inputs, window)).await;
    // Also where the turn ends here: they are told once.
    for warning in news {
        turn.warn(warning);
    }
    if let Err(ended) = found {
        return ended;
    }
    let terminals = &turn.services.terminals;
    if terminals.may_write(&turn.conversation.id) {
        undo::stand_by(turn).await;
    }
    let ended = sampling::run(turn).await;
    if terminals.may_write(&turn.conversation.id) {
        // What they do later is nobody's.
        undo::settle(turn, false).await;
        sampling::show_diff(turn).await;
    }
    ended
}

/// Finds out which model answers the turn, and says what is to be said before it does. `begin` is called before anything is
/// waited for, with the size of the context window where that is known, and perhaps again.
///
/// # Errors
/// The turn has ended: it was stopped, or there is no model.
pub(in crate::agent) async fn find_provider(turn: &Turn, mut begin: impl FnMut(Option<u32>)) -> Result<(), Ended> {
    let mut retry = None;
    let provider = loop {
        let resolved = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => None,
            resolved = Provider::resolve(&turn.config, &turn.settings, &turn.services) => Some(resolved),
        };
        let failure = match resolved {
            Some(Ok(provider)) => break provider,
            Some(Err(failure)) => failure,
            None => {
                begin(None);
                return Err(Ended::Interrupted);
            }
        };
        begin(None);
        let (error, provider) = match failure {
            Unresolved::Final(error) => return Err(Ended::Failed(error)),
            Unresolved::Provider(error, provider) => (error, provider),
        };
        let retry = retry.get_or_insert_with(|| Retry::new(&provider));
        let Some(wait) = retry.next(&error) else {
            return Err(Ended::Failed(error.turn_error()));
        };
        if !sampling::wait_to_retry(turn, wait, &error).await {
            return Err(Ended::Interrupted);
        }
    };
    begin(provider.context_window);
    let (services, config) = (turn.services.clone(), turn.config.clone());
    let rules = aside(move || services.rules(&config)).await;
    for warning in turn.conversation.new_reports(Subject::Rules, rules.reports()) {
        turn.warn(warning.in_words());
    }
    for warning in turn
        .conversation
        .new_reports(Subject::Model, &of_model(turn, &provider))
    {
        turn.warn(warning.in_words());
        if let Some(id) = &provider.stands_in {
            let settings = ThreadSettings {
                model: provider.model.clone(),
                model_provider: id.clone(),
                ..turn.settings.clone()
            };
            let configured = turn.services.configured(&turn.config, settings);
            turn.publish(EventKind::ThreadConfigured(configured));
        }
    }
    let _first = turn.provider.set(provider);
    small::tell(turn);
    Ok(())
}

/// What is to be said once of the model that answers: that it stands in for another, and what is not known of it.
fn of_model(turn: &Turn, provider: &Provider) -> Vec<ConfigWarning> {
    // A project may name it.
    let model = shown::line(&provider.model);
    let mut words = Vec::new();
    if provider.stands_in.is_some() {
        words.push(format!(
            "No key is set for {}: {model} of {} on this machine answers.",
            shown::line(&turn.settings.model_provider),
            shown::line(&provider.client.provider().name)
        ));
    }
    if !provider.is_known {
        words.push(match provider.context_window {
            Some(window) => format!(
                "The model {model} is not known; its context window is taken to be {window} tokens. Set model_context_window in \
                 config.toml if it is another."
            ),
            None => format!(
                "The model {model} is not known, nor is its context window. Set model_context_window in config.toml, for example to 8192."
            ),
        });
    }
    let report = |message: &String| ConfigWarning {
        message: message.clone(),
        path: None,
        line: None,
    };
    // One message: which of several is new says nothing.
    [words.join(" ")]
        .iter()
        .filter(|text| !text.is_empty())
        .map(report)
        .collect()
}

/// Tells the model of its surroundings where they are not what it was told last.
fn tell_environment(turn: &Turn) {
    let environment = Environment::new(&turn.settings, &turn.roots, turn.services.shell());
    let message = {
        let mut data = turn.conversation.data();
        let message = match &data.environment {
            Some(before) => environment.difference(before),
            None => Some(environment.message()),
        };
        data.environment = Some(environment);
        message
    };
    turn.conversation.say(message);
    let mode = turn.settings.mode;
    let before = std::mem::replace(&mut turn.conversation.data().mode, mode);
    turn.conversation.say((before != mode).then(|| mode::message(mode)));
}

/// What a panic in a turn is called.
pub(super) fn crashed() -> TurnError {
    TurnError {
        message:
            "The turn broke off through a fault of Countersign. The conversation can go on; the log has the details."
                .to_owned(),
        kind: TurnErrorKind::Internal,
        http_status: None,
        actions: Vec::new(),
    }
}
