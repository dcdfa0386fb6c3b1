//! A question to the model beside the conversation: one request, and all that is said to it. Nothing of it is shown, nor
//! does it become part of the history.

use crate::model::error::ErrorKind;
use crate::model::{ModelClient, ModelError, ModelEvent, ModelRequest};
use crate::protocol::model::{RateLimits, TokenUsage};

/// What the model said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    /// All its messages, one after another. Reasoning and calls of tools are not among them.
    pub(super) text: String,
    pub(super) usage: Option<TokenUsage>,
    /// What came of the account's allowance.
    pub(super) rate_limits: Option<RateLimits>,
    /// The provider cut the answer short.
    pub(super) is_cut: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unanswered {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("its answer does not come to an end")]
    Endless,
    #[error("its answer broke off")]
    BrokenOff,
}

/// One attempt. An answer of more than `most` bytes is given up.
pub(super) async fn ask(client: &ModelClient, request: &ModelRequest, most: usize) -> Result<Said, Unanswered> {
    let mut stream = client.stream(request).await?;
    let mut said = Said::default();
    // Of the message that is under way.
    let mut partial = String::new();
    let mut size = 0;
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::ItemDone(item)) if item.is_answer() => {
                partial.clear();
                if !said.text.is_empty() {
                    said.text.push('\n');
                }
                said.text.push_str(&item.text());
            }
            Ok(ModelEvent::TextDelta { delta, .. }) => {
                size += delta.len();
                partial.push_str(&delta);
            }
            Ok(ModelEvent::ReasoningDelta { delta, .. } | ModelEvent::ReasoningSummaryDelta { delta, .. }) => {
                size += delta.len();
            }
            Ok(ModelEvent::RateLimits(limits)) => said.rate_limits.get_or_insert_default().merge(limits),
            Ok(ModelEvent::Completed { usage, .. }) => {
                said.usage = usage;
                return Ok(said);
            }
            Ok(_) => {}
            Err(error) => {
                said.text.push_str(&partial);
                if !matches!(error.kind, ErrorKind::Incomplete { .. }) || said.text.trim().is_empty() {
                    return Err(error.into());
                }
                said.is_cut = true;
                return Ok(said);
            }
        }
        if size > most {
            return Err(Unanswered::Endless);
        }
    }
    Err(Unanswered::BrokenOff)
}
