//! Proposals of an earlier server that wait again: told once for all of them, and nothing is asked. Whoever has just opened an
//! editor is about something else.

use super::{Presenter, Severity, words};
use crate::protocol::proposal::Proposal;
use crate::server::presenter::diff::Part;
use std::time::Duration;

/// They come one after the other; this much later all are there.
const GATHER: Duration = Duration::from_millis(300);
/// Diffs that are shown at once at most.
const SHOWN: usize = 5;

const SHOW: &str = "Show";
const LATER: &str = "Later";

/// Tells of a proposal together with those that come along with it.
pub(super) fn tell(presenter: &Presenter, proposal: Proposal) {
    let first = {
        let mut state = presenter.state();
        state.restored.push(proposal);
        state.restored.len() == 1
    };
    if first {
        let presenter = presenter.clone();
        tokio::spawn(async move {
            tokio::time::sleep(GATHER).await;
            let gathered = std::mem::take(&mut presenter.state().restored);
            tell_all(&presenter, &gathered).await;
        });
    }
}

async fn tell_all(presenter: &Presenter, proposals: &[Proposal]) {
    let told: Vec<_> = proposals
        .iter()
        .map(|proposal| presenter.in_words(proposal, 200))
        .collect();
    let count = match proposals.len() {
        1 => "A proposal of the agent from before waits".to_owned(),
        count => format!("{count} proposals of the agent from before wait"),
    };
    let message = format!("{count}: {}", words::cut(&told.join("; "), 900));
    // A prompt at the start would be in the way of the first key.
    if !presenter.shared.client.can.questions_aside {
        let how = "Code actions show, accept or reject them.";
        return presenter.message(Severity::Info, &format!("{message}. {how}"));
    }
    let chosen = presenter.choose(Severity::Info, &message, [SHOW, LATER]).await;
    if chosen.as_deref() == Some(SHOW) {
        for proposal in proposals.iter().take(SHOWN) {
            let _shown = presenter.show_diff(&proposal.id, Part::Whole, false).await;
        }
    }
}
