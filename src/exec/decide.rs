//! The verdict on a command: run, ask or refuse. A pure function; the person and the kernel come later.
//!
//! In this order: a rule that denies refuses. A wish to leave the sandbox is refused where nobody may be asked for that,
//! unless a rule lets the command out. A rule that asks asks. What is dangerous asks, whatever was remembered or allowed.
//! Then rules that allow, what the person said for the session, and the approval policy.

mod capability;
mod plain;
mod reach;
mod ruling;

pub use capability::{Capability, SessionGrants};
pub use reach::Reach;

use super::command::{Judgement, Label, display, judge};
use super::rules::{NewRule, Rule, Rules};
use crate::protocol::item::Confined;
use crate::protocol::settings::{ApprovalPolicy, SandboxMode, SandboxPolicy};
use ruling::Ruling;
use std::path::Path;

/// The model's wish to run a command outside the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escalation<'a> {
    /// Why, in the model's words.
    pub justification: Option<&'a str>,
}

/// All that the verdict depends on.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub argv: &'a [String],
    /// Where it would run; absolute.
    pub cwd: &'a Path,
    pub approval: ApprovalPolicy,
    pub sandbox: &'a SandboxPolicy,
    pub escalation: Option<Escalation<'a>>,
    /// What the person has allowed for this session.
    pub grants: &'a SessionGrants,
    pub rules: &'a Rules,
}

/// The verdict, and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided<'a> {
    pub verdict: Verdict,
    /// What is said of the command and of each command in it.
    pub judgement: Judgement,
    /// The rule that made the difference, if one did.
    pub rule: Option<&'a Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Run(Confined),
    /// The person decides. After a yes it runs as `confined` says, no wider.
    Ask {
        reason: String,
        confined: Confined,
        scopes: Scopes,
    },
    /// It does not run. The reason is for the model.
    Refuse {
        reason: String,
    },
}

/// What a yes can cover beyond this once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes {
    /// For the session, if it can be remembered at all.
    pub session: Capability,
    /// For always: the rules that would be written. None where they would be too broad or would not be heeded.
    pub always: Option<Vec<NewRule>>,
}

/// Decides on a command.
pub fn decide<'a>(case: &Case<'a>) -> Decided<'a> {
    let judgement = judge(case.argv, case.cwd);
    let ruling = Ruling::of(case.argv, case.cwd, &judgement, case.rules);
    let (verdict, rule) = Deciding {
        case,
        judgement: &judgement,
        ruling,
    }
    .verdict();
    Decided {
        verdict,
        judgement,
        rule,
    }
}

/// What a yes to a run outside the sandbox would cover, of a command that was stopped inside; and whether the person has
/// given it before.
pub fn scopes_outside(case: &Case<'_>) -> (Scopes, bool) {
    let judgement = judge(case.argv, case.cwd);
    let ruling = Ruling::of(case.argv, case.cwd, &judgement, case.rules);
    let deciding = Deciding {
        case,
        judgement: &judgement,
        ruling,
    };
    let scopes = deciding.scopes(Confined::Outside);
    let lets_out = ruling.allowed.is_some_and(|allowed| allowed.outside);
    let given = case.grants.covers(&scopes.session)
        || (lets_out && judgement.label != Label::Dangerous && ruling.tightening.is_none());
    (scopes, given)
}

/// One command on its way to a verdict.
struct Deciding<'c, 'a> {
    case: &'c Case<'a>,
    judgement: &'c Judgement,
    ruling: Ruling<'a>,
}

impl<'a> Deciding<'_, 'a> {
    fn verdict(&self) -> (Verdict, Option<&'a Rule>) {
        let Self { case, ruling, .. } = self;
        let approval = case.approval;
        let inside = match case.sandbox.mode() {
            SandboxMode::ReadOnly => Confined::ReadOnly,
            SandboxMode::WorkspaceWrite => Confined::Workspace,
            SandboxMode::DangerFullAccess => Confined::Outside,
        };
        // With full access there is nothing to leave.
        let escalation = case.escalation.filter(|_| inside != Confined::Outside);
        if let Some(rule) = ruling.denied() {
            let reason = format!("The command was not run: {} denies it.{}", named(rule), reason_of(rule));
            return (Verdict::Refuse { reason }, Some(rule));
        }
        let dangerous = self.judgement.label == Label::Dangerous;
        // Where nothing may be written, a command leaves the sandbox only if the model says that it has to.
        let may_leave = inside == Confined::Workspace || escalation.is_some();
        let lets_out = ruling.allowed.filter(|allowed| {
            allowed.outside && may_leave && !dangerous && ruling.tightening.is_none() && inside != Confined::Outside
        });
        if let Some(allowed) = lets_out {
            return (Verdict::Run(Confined::Outside), Some(allowed.rule));
        }
        if escalation.is_some() && !asks_to_leave(approval) {
            return (refuse_to_leave(approval), None);
        }
        let confined = if escalation.is_some() {
            Confined::Outside
        } else {
            inside
        };
        if let Some(rule) = ruling.asked() {
            return (self.ask_by_rule(rule, confined, escalation), Some(rule));
        }
        if dangerous {
            return (self.on_danger(confined, escalation), None);
        }
        if let Some(escalation) = escalation {
            let reason = match escalation.justification.map(str::trim).filter(|text| !text.is_empty()) {
                Some(justification) => justification.to_owned(),
                None => "The model asks to run it outside the sandbox and gives no reason.".to_owned(),
            };
            return (self.ask(Confined::Outside, reason), ruling.suspended);
        }
        match approval {
            ApprovalPolicy::Untrusted if self.judgement.label != Label::SafeReadonly => match ruling.allowed {
                Some(allowed) => (Verdict::Run(confined), Some(allowed.rule)),
                None => {
                    let mut reason = "It is not known to only read, and the approval policy is untrusted.".to_owned();
                    if let (Some(rule), Some(file)) = (ruling.suspended, case.rules.unreadable()) {
                        reason.push_str(&format!(
                            " The rule at {} would allow it, but rules allow nothing while {} is broken.",
                            rule.place,
                            file.display()
                        ));
                    }
                    (self.ask(confined, reason), None)
                }
            },
            _ => (Verdict::Run(confined), None),
        }
    }

    /// A rule asks, under every policy that lets somebody be asked about rules.
    fn ask_by_rule(&self, rule: &Rule, confined: Confined, escalation: Option<Escalation<'_>>) -> Verdict {
        let approval = self.case.approval;
        let may_ask = match approval {
            ApprovalPolicy::Never => false,
            ApprovalPolicy::Granular(kinds) => kinds.rules,
            _ => true,
        };
        if !may_ask {
            return Verdict::Refuse {
                reason: format!(
                    "The command was not run: {} wants the person to be asked.{} The approval policy is {}, under which nobody is \
                     asked about that.",
                    named(rule),
                    reason_of(rule),
                    approval.as_str()
                ),
            };
        }
        let mut reason = format!("A rule of yours asks about it: {}.{}", named(rule), reason_of(rule));
        if let Some(danger) = self.judgement.danger() {
            reason.push_str(&format!(" It {danger}."));
        }
        self.ask(confined, with_justification(reason, escalation))
    }

    fn on_danger(&self, confined: Confined, escalation: Option<Escalation<'_>>) -> Verdict {
        let danger = self.judgement.danger().unwrap_or("is dangerous");
        match (self.case.approval, confined) {
            (ApprovalPolicy::Never, Confined::Outside) => Verdict::Refuse {
                reason: format!(
                    "The command was not run: it {danger}, there is no sandbox around it, and the approval policy is never, \
                     so that nobody can be asked. Do it in a way that can be undone."
                ),
            },
            (ApprovalPolicy::Never, _) => Verdict::Run(confined),
            (ApprovalPolicy::Granular(kinds), _) if !kinds.sandbox_approval => Verdict::Refuse {
                reason: format!(
                    "The command was not run: it {danger}, and the approval policy is granular and lets nobody be asked about \
                     that. Do it in a way that can be undone."
                ),
            },
            _ => self.ask(confined, with_justification(format!("It {danger}."), escalation)),
        }
    }

    /// Asks, unless the person has said yes to this for the session already.
    fn ask(&self, confined: Confined, reason: String) -> Verdict {
        let scopes = self.scopes(confined);
        if self.case.grants.covers(&scopes.session) {
            Verdict::Run(confined)
        } else {
            Verdict::Ask {
                reason,
                confined,
                scopes,
            }
        }
    }

    fn scopes(&self, confined: Confined) -> Scopes {
        let Case { argv, cwd, .. } = *self.case;
        let dangerous = self.judgement.label == Label::Dangerous;
        let session = Capability::of(argv, cwd, confined, dangerous);
        let session = match self.ruling.asked() {
            Some(_) => session.asked_by_rule(),
            None => session,
        };
        let leaves = confined == Confined::Outside && self.case.sandbox.mode() != SandboxMode::DangerFullAccess;
        // While a file is broken a rule that allows would not be heeded.
        let always = match self.case.rules.unreadable() {
            None => session.as_rules(leaves, cwd),
            Some(_) => None,
        };
        Scopes { session, always }
    }
}

/// Whether one command of a composition is known to read and do nothing else. What a pattern becomes may be an option, so
/// one with a pattern is not.
fn only_reads(command: &[String], cwd: &Path) -> bool {
    // In shell text builtins mean what they mean.
    let text = ["bash".to_owned(), "-c".to_owned(), display(command)];
    let has_pattern = command.iter().any(|word| word.contains(['*', '?', '[']));
    !has_pattern && judge(&text, cwd).label == Label::SafeReadonly
}

/// Whether the person may be asked to let a command out of the sandbox before it has run.
fn asks_to_leave(approval: ApprovalPolicy) -> bool {
    match approval {
        ApprovalPolicy::OnRequest => true,
        ApprovalPolicy::Granular(kinds) => kinds.sandbox_approval,
        ApprovalPolicy::Untrusted | ApprovalPolicy::OnFailure | ApprovalPolicy::Never => false,
    }
}

fn refuse_to_leave(approval: ApprovalPolicy) -> Verdict {
    Verdict::Refuse {
        reason: format!(
            "The command was not run: it asks to leave the sandbox, and the approval policy is {}, under which nobody \
             is asked for that. Run it without asking for escalated permissions, or find another way.",
            approval.as_str()
        ),
    }
}

/// A rule as it is named to the person and to the model.
fn named(rule: &Rule) -> String {
    format!("the rule on `{}` at {}", rule.prefix_in_words(), rule.place)
}

fn reason_of(rule: &Rule) -> String {
    rule.reason.as_ref().map_or_else(String::new, |reason| {
        let end = if reason.ends_with(['.', '!', '?']) { "" } else { "." };
        format!(" {reason}{end}")
    })
}

fn with_justification(reason: String, escalation: Option<Escalation<'_>>) -> String {
    match escalation.and_then(|escalation| escalation.justification) {
        Some(justification) => format!("{reason} It would run outside the sandbox: {justification}"),
        None => reason,
    }
}

#[cfg(test)]
mod tests;
