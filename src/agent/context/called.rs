//! Prompts that an input calls by name: shown as they were typed, sent as they say.

use super::Told;
use crate::agent::AgentError;
use crate::agent::services::Services;
use crate::agent::thread::ThreadHandle;
use crate::config::Config;
use crate::config::prompts::{Call, CallError, Prompts, call_in};
use crate::protocol::item::{SentContext, SentContextKind, UserInput};
use std::sync::Arc;

/// The call of a prompt at the beginning of an input.
fn call(content: &[UserInput]) -> Option<(&str, &str)> {
    content.iter().find_map(|piece| match piece {
        UserInput::Text { text } => Some(call_in(text)),
        _ => None,
    })?
}

impl ThreadHandle {
    /// Whether a prompt that an input calls can be called so; asked before the input is taken, so that whoever types hears
    /// of it at once. What calls no prompt is fine.
    ///
    /// # Errors
    /// An argument is missing.
    pub async fn check_prompt(&self, content: &[UserInput]) -> Result<(), AgentError> {
        if call(content).is_none() {
            return Ok(());
        }
        let (services, config, content) = (self.services().clone(), self.config().clone(), content.to_vec());
        let looking = tokio::task::spawn_blocking(move || expanded(&services, &config, &content).map(drop));
        match looking.await {
            Ok(checked) => Ok(checked?),
            Err(error) => {
                tracing::error!(%error, "a prompt was not looked at");
                Ok(())
            }
        }
    }
}

/// The text of the prompt that an input calls, and what is told of it; nothing if it calls none that there is.
fn expanded(
    services: &Services,
    config: &Config,
    content: &[UserInput],
) -> Result<Option<(String, SentContext)>, CallError> {
    let Some((name, arguments)) = call(content) else {
        return Ok(None);
    };
    let prompts = Prompts::read(config, &services.home);
    let Some(prompt) = prompts.get(name) else {
        return Ok(None);
    };
    let text = prompt.expand(&Call::read(arguments))?;
    let sent = SentContext {
        kind: SentContextKind::Prompt,
        label: format!("/{}", prompt.name),
        path: Some(prompt.path.clone()),
        line_range: None,
        bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
        note: None,
    };
    Ok(Some((text, sent)))
}

/// The input as it goes to the model: with the prompt's text in the place of its call.
pub(super) fn sent(
    services: &Arc<Services>,
    config: &Config,
    content: &[UserInput],
    told: &mut Told,
) -> Vec<UserInput> {
    let mut content = content.to_vec();
    match expanded(services, config, &content) {
        Ok(Some((text, sent))) => {
            told.sent.push(sent);
            let first = content.iter_mut().find_map(|piece| match piece {
                UserInput::Text { text } => Some(text),
                _ => None,
            });
            if let Some(typed) = first {
                *typed = text;
            }
        }
        Ok(None) => {
            if let Some((name, _)) = call(&content)
                && let Some(near) = Prompts::read(config, &services.home).nearest(name)
            {
                told.warnings.push(format!(
                    "There is no prompt /{name}; did you mean /{near}? Your words were sent as you typed them."
                ));
            }
        }
        // The file has changed since the input was taken.
        Err(error) => told
            .warnings
            .push(format!("{error} Your words were sent as you typed them.")),
    }
    content
}
