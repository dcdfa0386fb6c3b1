//! Asking the person for more than the policy allows, and keeping what they give for as long as they said.

use super::wanted;
use crate::agent::turn::Turn;
use crate::ids::{ApprovalId, ItemId};
use crate::protocol::approval::{Approval, ApprovalDecision, ApprovalResponse, PermissionApproval};
use crate::protocol::permission::{GrantScope, Permission};
use crate::protocol::settings::ApprovalPolicy;
use crate::shown;
use crate::tools::ToolOutput;
use serde_json::json;

/// What is asked for, and by what.
pub struct Asked<'a> {
    /// The call or the command.
    pub item_id: &'a ItemId,
    pub permissions: Vec<Permission>,
    /// The model's words on why.
    pub reason: Option<&'a str>,
    /// The command that needs it, as it is shown; a plain yes then holds for it alone.
    pub command: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// This much, for so long. Empty where all was allowed already.
    Yes {
        permissions: Vec<Permission>,
        scope: GrantScope,
    },
    /// Nothing; the words are for the model.
    No(String),
}

impl Turn {
    /// Asks for what is not allowed yet. What is given for longer than a command holds from now on.
    pub async fn ask_for(&self, asked: Asked<'_>) -> Given {
        let mut missing: Vec<Permission> = Vec::new();
        let confinement = self.confinement(self.inside());
        for one in asked.permissions {
            match wanted::checked(self, one) {
                Ok(one) if wanted::is_allowed(self, &confinement, &one) || missing.contains(&one) => {}
                Ok(one) => missing.push(one),
                Err(why) => return Given::No(why),
            }
        }
        let covers = match asked.command {
            Some(_) => GrantScope::Command,
            None => GrantScope::Turn,
        };
        if missing.is_empty() {
            return Given::Yes {
                permissions: missing,
                scope: covers,
            };
        }
        if self.settings.approval_policy == ApprovalPolicy::Never {
            return Given::No(
                "The approval policy is never, under which nobody is asked for more than is allowed. Work within it."
                    .to_owned(),
            );
        }
        let why = asked.reason.map(str::trim).filter(|reason| !reason.is_empty());
        // What is dangerous is asked about in each session.
        let may_stand = missing.iter().all(|one| wanted::warning(self, one).is_none());
        let approval = PermissionApproval {
            id: ApprovalId::fresh(),
            thread_id: self.conversation.id.clone(),
            turn_id: self.id.clone(),
            item_id: asked.item_id.clone(),
            agent: None,
            proposal_id: None,
            grant_root: None,
            permissions: missing.clone(),
            accept_covers: covers,
            folders: Vec::new(),
            paths: Vec::new(),
            reason: self.question(&missing, why.is_none(), asked.command.as_deref()),
            justification: why.map(str::to_owned),
            notes: Vec::new(),
            available_decisions: decisions(may_stand),
        };
        let answer = self.ask(Approval::Permission(approval)).await;
        let given = self.given(missing, covers, may_stand, answer);
        if let Given::Yes { permissions, scope } = &given {
            tracing::info!(thread = %self.conversation.id, ?scope, count = permissions.len(), "the person gave more permissions");
            self.keep(permissions, *scope).await;
        }
        given
    }

    fn given(
        &self,
        missing: Vec<Permission>,
        covers: GrantScope,
        may_stand: bool,
        answer: Option<ApprovalResponse>,
    ) -> Given {
        let Some(answer) = answer else {
            return Given::No("The turn was stopped before the person answered; nothing was given.".to_owned());
        };
        let scope = match answer.decision {
            ApprovalDecision::Accept => covers,
            ApprovalDecision::AcceptForSession => GrantScope::Session,
            ApprovalDecision::AcceptAlways if may_stand => GrantScope::Always,
            // A yes for always where none was offered is a yes for this once.
            ApprovalDecision::AcceptAlways => covers,
            ApprovalDecision::Decline | ApprovalDecision::Cancel => {
                return Given::No(refusal(answer.feedback.as_deref()));
            }
        };
        let permissions = match answer.permissions {
            None => missing,
            Some(part) => wanted::part(&missing, part),
        };
        match permissions.is_empty() {
            true => Given::No(refusal(answer.feedback.as_deref())),
            false => Given::Yes { permissions, scope },
        }
    }

    /// Keeps what was given for as long as it holds; what holds for a command is the command's to keep.
    async fn keep(&self, permissions: &[Permission], scope: GrantScope) {
        let add = |kept: &mut Vec<Permission>| {
            for one in permissions {
                if !kept.contains(one) {
                    kept.push(one.clone());
                }
            }
        };
        match scope {
            GrantScope::Command => {}
            GrantScope::Turn => add(&mut self.permissions()),
            GrantScope::Session => add(&mut self.conversation.data().permissions),
            GrantScope::Always => {
                add(&mut self.conversation.data().permissions);
                if let Err(error) = super::keep_standing(&self.services, &self.settings.cwd, permissions).await {
                    self.warn(format!(
                        "What you allowed for always holds for this session only: {error}"
                    ));
                }
            }
        }
    }

    /// Our words of the question; the model's stand apart.
    fn question(&self, missing: &[Permission], is_silent: bool, command: Option<&str>) -> String {
        let list: Vec<String> = missing.iter().map(|one| shown::exact(&one.to_string())).collect();
        let who = match command {
            Some(command) => format!("The command `{}` asks to {}.", shown::exact(command), list.join(", ")),
            None => format!("The model asks that commands may {}.", list.join(", ")),
        };
        let why = if is_silent { " It gives no reason." } else { "" };
        let warnings = missing.iter().filter_map(|one| wanted::warning(self, one));
        let warnings: String = warnings.map(|words| format!(" {}", shown::line(&words))).collect();
        format!("{who}{why}{warnings}")
    }
}

fn decisions(may_stand: bool) -> Vec<ApprovalDecision> {
    let always = may_stand.then_some(ApprovalDecision::AcceptAlways);
    let all = [
        Some(ApprovalDecision::Accept),
        Some(ApprovalDecision::AcceptForSession),
        always,
        Some(ApprovalDecision::Decline),
        Some(ApprovalDecision::Cancel),
    ];
    all.into_iter().flatten().collect()
}

fn refusal(feedback: Option<&str>) -> String {
    match feedback.map(str::trim).filter(|words| !words.is_empty()) {
        Some(words) => format!("The person said no. They say: {words}"),
        None => {
            "The person said no. Do not try to reach the same in another way; work within what is allowed, or ask them."
                .to_owned()
        }
    }
}

impl Given {
    /// What the model is told.
    pub fn output(&self) -> ToolOutput {
        match self {
            Self::Yes { permissions, scope } => {
                let note = match (permissions.is_empty(), scope) {
                    (true, _) => "All of it is allowed already.",
                    (_, GrantScope::Always) => "From now on, in every session in this folder.",
                    (_, GrantScope::Session) => "Until the session ends.",
                    (_, GrantScope::Turn | GrantScope::Command) => "Until this turn ends.",
                };
                ToolOutput::ok(json!({"permissions": permissions, "scope": scope, "note": note}).to_string())
            }
            Self::No(words) => {
                let none: [Permission; 0] = [];
                ToolOutput::not_done(json!({"permissions": none, "note": words}).to_string())
            }
        }
    }
}
