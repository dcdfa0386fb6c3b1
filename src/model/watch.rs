//! Who watches requests and their streams from outside: for measures and traces. What is watched does not wait for it.

use super::Task;
use crate::protocol::model::TokenUsage;
use std::fmt::Debug;

/// Watches the requests of a turn.
pub trait Watch: Debug + Send + Sync {
    /// A request is about to be sent.
    fn begin(&self, model: &str, task: Task) -> Box<dyn Exchange>;
}

/// One request and its answer. Dropped when both are over, or nobody waits for them any more.
pub trait Exchange: Debug + Send + Sync {
    /// Headers that put the request into a trace (W3C Trace Context).
    fn headers(&self) -> Vec<(&'static str, String)>;

    /// The provider has answered: its status, and where it says so, the id that a network in front of it gave the request.
    fn status(&mut self, status: u16, ray: Option<&str>);

    /// The answer's stream begins, or why there is none.
    fn answered(&mut self, outcome: Result<(), &str>);

    /// Something has come: an event by its kind. With the end of the answer come the tokens that it took, where they are
    /// told.
    fn event(&mut self, kind: &str, outcome: Result<Option<Ending>, &str>);
}

/// The answer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub usage: Option<TokenUsage>,
}
