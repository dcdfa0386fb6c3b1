//! Open questions to the person: the waiter is registered first, the first answer wins, silence is no answer.

use crate::ids::ThreadId;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// A kind of question.
pub trait Ask: Clone + Send + 'static {
    type Id: Ord + Clone + Display + Send;
    type Answer: Send;

    fn id(&self) -> &Self::Id;

    fn thread_id(&self) -> &ThreadId;

    /// What a question counts as that nobody answers.
    fn unanswered() -> Self::Answer;
}

/// All open questions of one kind in a server; cheap to clone.
pub struct Open<Q: Ask> {
    open: Arc<Mutex<BTreeMap<Q::Id, Waiter<Q>>>>,
}

struct Waiter<Q: Ask> {
    asked: Q,
    answer: oneshot::Sender<Q::Answer>,
}

/// A registered question. Dropping it withdraws the question.
pub struct Question<Q: Ask> {
    id: Q::Id,
    services: Open<Q>,
    answer: oneshot::Receiver<Q::Answer>,
}

impl<Q: Ask> Default for Open<Q> {
    fn default() -> Self {
        Self { open: Arc::default() }
    }
}

impl<Q: Ask> Clone for Open<Q> {
    fn clone(&self) -> Self {
        Self {
            open: self.open.clone(),
        }
    }
}

impl<Q: Ask> Open<Q> {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Q::Id, Waiter<Q>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a question. Only after this may it be shown to anybody.
    pub fn open(&self, asked: Q) -> Question<Q> {
        let (sender, answer) = oneshot::channel();
        let id = asked.id().clone();
        let waiter = Waiter { asked, answer: sender };
        if self.lock().insert(id.clone(), waiter).is_some() {
            tracing::warn!(question = %id, "a second question under one id; the first one counts as not answered");
        }
        Question {
            id,
            services: self.clone(),
            answer,
        }
    }

    /// Settles a question. False if it is not open (any more): then the answer has no effect.
    pub fn answer(&self, id: &Q::Id, answer: Q::Answer) -> bool {
        let Some(waiter) = self.lock().remove(id) else {
            tracing::info!(question = %id, "an answer to a question that is not open was ignored");
            return false;
        };
        waiter.answer.send(answer).is_ok()
    }

    /// The open questions, of one thread or of all, oldest first.
    pub fn pending(&self, thread: Option<&ThreadId>) -> Vec<Q> {
        self.lock()
            .values()
            .filter(|waiter| thread.is_none_or(|id| waiter.asked.thread_id() == id))
            .map(|waiter| waiter.asked.clone())
            .collect()
    }
}

impl<Q: Ask> Question<Q> {
    /// The answer. A question that is withdrawn while it waits counts as not answered.
    pub async fn answered(&mut self) -> Q::Answer {
        (&mut self.answer).await.unwrap_or_else(|_| Q::unanswered())
    }
}

impl<Q: Ask> Drop for Question<Q> {
    fn drop(&mut self) {
        self.services.lock().remove(&self.id);
    }
}
