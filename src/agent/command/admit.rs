//! Whether a command may run: decided by its words and by what the disk, the rules and the earlier yeses say of them, and
//! asked about where that is not enough.
//!
//! What a command would meet is what counts: links, repositories and programs as they are once the calls before it are done.
//! So it is decided on ahead of them, where that only brings a question forward, and again right before it starts. A yes to
//! a question holds if by then it would be the same question.

use super::Run;
use super::ask::Asked;
use crate::agent::aside::aside;
use crate::agent::asking::Subject;
use crate::agent::line;
use crate::exec::decide::{self, Case, Scene, Verdict};
use crate::exec::{self, Confinement};
use crate::protocol::item::{Confined, ItemStatus};
use crate::protocol::settings::{ApprovalPolicy, SandboxMode};
use crate::tools::ToolOutput;
use std::sync::Arc;

/// Of a model that asks to leave the sandbox and does not say why.
const GIVES_NO_REASON: &str = "It gives no reason.";

impl Run<'_> {
    /// Decides on it and, where the verdict says so, asks. How it runs, or what the model is told since it does not. Where
    /// it may run, its turn has come and nothing is to be waited for between the decision and its start.
    pub(in crate::agent) async fn admit(&self, escalated: bool) -> Result<Confined, ToolOutput> {
        if !escalated && let Some(refused) = self.permit().await {
            return Err(refused);
        }
        // Trying it takes a process, and nothing else depends on it.
        let settings = &self.turn.settings;
        let may_need_walls = settings.approval_policy == ApprovalPolicy::Untrusted
            && settings.sandbox_policy.mode() == SandboxMode::DangerFullAccess;
        let walls = may_need_walls && exec::can_confine().await;
        line::decides().await;
        let mut allowed: Option<Subject> = None;
        let mut saved = self.typed.is_some();
        loop {
            let typed = self.typed;
            let known = self.turn.asking.answers();
            let verdict = self.look(escalated, walls, move |case| match typed {
                Some(confined) => decide::decide_typed(case, confined),
                None => decide::decide(case).verdict,
            });
            let (confined, question) = match verdict.await {
                Verdict::Refuse { reason } => return Err(self.refused(reason)),
                Verdict::Run(confined) => (confined, None),
                Verdict::Ask {
                    reason,
                    confined,
                    scopes,
                } => {
                    let silent = escalated && confined == Confined::Outside && self.justification.is_none();
                    let ours = [
                        Some(reason),
                        silent.then(|| GIVES_NO_REASON.to_owned()),
                        self.place.clone(),
                    ];
                    let reason = ours.into_iter().flatten().collect::<Vec<_>>().join(" ");
                    (confined, Some((reason, scopes)))
                }
            };
            if confined == Confined::Outside
                && let Err(refused) = self.turn.may_change()
            {
                return Err(self.refused(refused.to_string()));
            }
            let question = question.map(|(reason, scopes)| (self.subject(confined, &scopes), reason, scopes));
            let planted = question.as_ref().and_then(|(subject, ..)| subject.planted.clone());
            let Some((subject, reason, scopes)) = question.filter(|(subject, ..)| allowed.as_ref() != Some(subject))
            else {
                let waited = self.turn_comes(confined).await?;
                let saves = !saved && self.save_first().await;
                saved = true;
                if self.turn.cancel.is_cancelled() {
                    return Err(self.never_begun(confined));
                }
                // Nothing else has happened since it was decided on.
                if !waited && !saves {
                    if let Some(planted) = planted {
                        self.wants_planted(&planted);
                    }
                    return Ok(confined);
                }
                continue;
            };
            // Without walls, what the person is shown is what it would meet.
            if confined == Confined::Outside && self.turn_comes(confined).await? {
                continue;
            }
            // While it was looked at, the answer to another question may have stopped the turn.
            if self.turn.cancel.is_cancelled() {
                return Err(self.never_begun(confined));
            }
            match self.ask(&self.item_id, reason, &subject, &scopes, known).await {
                Asked::Yes => allowed = Some(subject),
                Asked::No(output) => return Err(output),
                Asked::LookAgain => {}
            }
        }
    }

    /// What is said of it as things are now: by what the person has said yes to for the session, and the rules as they
    /// stand. It looks at the disk, so it is found out aside.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        escalated: bool,
        walls: bool,
        judge: impl FnOnce(&Case<'_>) -> T + Send + 'static,
    ) -> T {
        let turn = self.turn.clone();
        let (argv, cwd) = (self.argv.clone(), self.cwd.clone());
        let is_certain = self.typed.is_none();
        aside(move || {
            let env = turn.command_environment(&Confinement::outside());
            let grants = turn.conversation.data().grants.clone();
            let rules = turn.services.rules(&turn.config);
            let beside = turn.services.changes_meanwhile();
            let kept = Arc::new(turn.kept());
            judge(&Case {
                argv: &argv,
                scene: Scene {
                    base: &turn.settings.cwd,
                    cwd: &cwd,
                    is_certain,
                    env: &env,
                    kept: Some(&kept),
                },
                approval: turn.settings.approval_policy,
                sandbox: &turn.settings.sandbox_policy,
                escalated,
                grants: &grants,
                rules: &rules,
                walls,
                beside: beside.as_deref(),
            })
        })
        .await
    }

    /// Waits for the calls before it, and says whether that took any time; what the model is told if the turn was stopped
    /// meanwhile.
    pub(super) async fn turn_comes(&self, confined: Confined) -> Result<bool, ToolOutput> {
        let waited = tokio::select! {
            waited = line::reached() => waited,
            () = self.turn.cancel.cancelled() => true,
        };
        match self.turn.cancel.is_cancelled() {
            true => Err(self.never_begun(confined)),
            false => Ok(waited),
        }
    }

    /// The person was shown that this would run, which commands can change, and wants it run.
    pub(super) fn wants_planted(&self, planted: &decide::Planted) {
        let _first = self.planted.set(planted.paths());
    }

    /// It does not run: the person sees that the agent wanted to, and why not.
    fn refused(&self, reason: String) -> ToolOutput {
        self.not_run(&self.item_id, self.turn.inside(), ItemStatus::Declined, &reason);
        ToolOutput::not_done(reason)
    }

    /// Commands see the disk: documents that the agent changed are saved first, through the editor. Whether there were any.
    async fn save_first(&self) -> bool {
        let thread = &self.turn.conversation.id;
        let unsaved = self.turn.services.unsaved(thread);
        let changed = self.turn.services.proposals.changed_by_agent(thread, &unsaved);
        if changed.is_empty() {
            return false;
        }
        tokio::select! {
            () = self.turn.services.save(thread, changed) => {}
            () = self.turn.cancel.cancelled() => {}
        }
        true
    }
}
