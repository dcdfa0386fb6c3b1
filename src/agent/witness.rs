//! Who watches a thread beyond its events: what is asked of the model, and what its calls of tools come to. For measures;
//! nobody here waits for a witness, and none changes anything.

use crate::ids::TurnId;
use crate::model::watch::Watch;
use crate::tools::{Call, ToolError, ToolOutput};
use std::sync::Arc;
use std::time::Duration;

/// Must not wait.
pub trait Witness: Send + Sync {
    /// Who watches the requests of a turn.
    fn watch(&self, turn: &TurnId) -> Option<Arc<dyn Watch>>;

    /// The model calls a tool.
    fn calling(&self, turn: &TurnId, call: &Call);

    /// The call is over; it took so long, questions to the person included.
    fn called(&self, turn: &TurnId, call: &Call, outcome: &Result<ToolOutput, ToolError>, took: Duration);
}
