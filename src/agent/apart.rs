//! A turn that works apart from its conversation: on a history of its own, which is in memory and ends with it.
//!
//! What is said in such a turn reaches neither the conversation's history nor the record, and what the model writes is
//! not shown by itself: whoever began the turn makes something of it. All other turns say and hear through their
//! conversation; the rest of the agent asks the turn and need not know which it is.

use super::history::History;
use super::provider::Provider;
use super::review::Entered;
use super::turn::Turn;
use crate::model::item::ResponseItem;
use crate::protocol::model::TokenUsage;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub struct Apart {
    history: Mutex<History>,
    /// The review that the person was told of, until its end.
    entered: Mutex<Option<Arc<Entered>>>,
}

impl Apart {
    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn review(&self) -> MutexGuard<'_, Option<Arc<Entered>>> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(&self, entered: Entered) {
        *self.review() = Some(Arc::new(entered));
    }

    pub(super) fn entered(&self) -> Option<Arc<Entered>> {
        self.review().clone()
    }

    /// Whoever gets it tells of the end; nobody else does.
    pub(super) fn leave(&self) -> Option<Arc<Entered>> {
        self.review().take()
    }
}

impl Turn {
    /// Whether the turn works apart from its conversation.
    pub fn is_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// Puts items into the history that the turn works on, and onto the record if that is the conversation's.
    pub fn say(&self, items: impl IntoIterator<Item = ResponseItem>) {
        match &self.apart {
            None => self.conversation.say(items),
            Some(apart) => {
                let mut history = apart.history();
                items.into_iter().for_each(|item| history.push(item));
            }
        }
    }

    /// Looks at the history that the turn works on; for a few lines, never across an await.
    pub fn with_history<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        match &self.apart {
            None => look(&self.conversation.data().history),
            Some(apart) => look(&apart.history()),
        }
    }

    /// Counts the tokens of one response, absent where the provider does not say, and what it cost. Of a turn apart they are spent, but
    /// fill nothing of the conversation's window.
    pub fn add_usage(&self, last: Option<TokenUsage>) {
        let provider = self.provider();
        let usd = last.and_then(|last| provider.cost(&last));
        self.spending.add(usd);
        match (last, &self.apart) {
            (Some(last), None) => self.conversation.add_usage(last, provider.context_window, usd),
            (last, _) => self.conversation.add_usage_apart(last.unwrap_or_default(), usd),
        }
    }

    /// The same of a response to what was not the turn's conversation.
    pub(super) fn add_usage_of(&self, provider: &Provider, last: Option<TokenUsage>) {
        let usd = last.and_then(|last| provider.cost(&last));
        self.spending.add(usd);
        self.conversation.add_usage_apart(last.unwrap_or_default(), usd);
    }

    /// Under which name the provider keeps what its requests have in common.
    pub fn cache_key(&self) -> String {
        match &self.apart {
            None => self.conversation.id.to_string(),
            Some(_) => self.id.to_string(),
        }
    }
}
