//! What becomes of applied text a moment later: formatters run when a file is saved, or of their own accord. It is watched
//! beside the turn, which does not wait for it.

use super::altered::altered;
use super::{Scope, Step, aside, open_steps};
use std::sync::Arc;
use std::time::Duration;

/// How long an editor is watched for what it does to a text that it has just changed.
const WATCHED: Duration = Duration::from_millis(1500);

/// The open documents of an applied change.
pub struct Aftermath {
    scope: Scope,
    steps: Arc<Vec<Step>>,
}

impl Aftermath {
    /// Nothing where no document was open.
    pub(super) fn of(scope: &Scope, steps: &Arc<Vec<Step>>) -> Option<Self> {
        open_steps(steps).next()?;
        Some(Self {
            scope: scope.clone(),
            steps: steps.clone(),
        })
    }

    /// The lines of the change that became others since, by file; known a while later.
    pub async fn watch(self) -> Option<String> {
        let mut changed = self.scope.workspace.changed();
        changed.mark_unchanged();
        tokio::time::sleep(WATCHED).await;
        if !changed.has_changed().unwrap_or_default() {
            return None;
        }
        aside(move || {
            let Self { scope, steps } = self;
            let found = open_steps(&steps).filter_map(|(step, _)| {
                let path = step.move_to.as_ref().unwrap_or(&step.path);
                let lines = altered((&scope.workspace, scope.reader.as_ref()), &scope.cwd, step)?;
                Some(format!("{}:\n{lines}", scope.short_name(path)))
            });
            let found: Vec<_> = found.collect();
            (!found.is_empty()).then(|| found.join("\n"))
        })
        .await
    }
}
