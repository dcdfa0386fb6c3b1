//! The verdict on a command: run, ask or refuse. It looks at the disk (where links, repositories and programs are) and
//! starts nothing; the person and the kernel come later.
//!
//! In this order: a rule that denies refuses. A wish to leave the sandbox is refused where nobody may be asked for that,
//! unless a rule lets the command out. A rule that asks asks. What is dangerous asks, whatever was remembered or allowed.
//! Then rules that allow, what the person said for the session, and the approval policy.

mod capability;
mod hooks;
mod hosts;
mod kept;
mod launchers;
mod plain;
mod reach;
mod remote;
mod repository;
mod riding;
mod ruling;
mod scene;
mod shape;
mod taking;
mod touched;
mod typed;
mod unsaid;

pub use capability::{Capability, SessionGrants, options_in_words};
pub use hooks::Hooks;
pub use kept::Kept;
pub use reach::Reach;
pub use repository::{Repository, acts_on_one, around};
pub use scene::{Folders, Scene};
pub use shape::Shape;
pub use typed::decide_typed;
pub(super) use unsaid::writes_unsaid;

use super::command::{Judgement, Label, is_of_the_shell, judge};
use super::program;
use super::rules::{NewRule, Rule, Rules};
use crate::protocol::item::Confined;
use crate::protocol::settings::{ApprovalPolicy, SandboxMode, SandboxPolicy};
use riding::{names_all_it_reads, only_reads, rides_along, shows_environments};
use ruling::Ruling;
use std::fmt;
use std::path::PathBuf;

/// What is said of a command that the model wants outside.
const ASKS_TO_LEAVE: &str = "The model asks to run it outside the sandbox.";

/// All that the verdict depends on.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub argv: &'a [String],
    /// Where it would run.
    pub scene: Scene<'a>,
    pub approval: ApprovalPolicy,
    pub sandbox: &'a SandboxPolicy,
    /// The model asks to run it outside the sandbox. What it says of that is not ours, and stands apart from the verdict's words.
    pub escalated: bool,
    /// What the person has allowed for this session.
    pub grants: &'a SessionGrants,
    pub rules: &'a Rules,
    /// Whether there can be a sandbox on this machine.
    pub walls: bool,
    /// A command that runs in a sandbox meanwhile, and can change what names lead to.
    pub beside: Option<&'a str>,
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
    /// What would run outside the sandbox though commands of the agent can change it. Such a run is asked about each time.
    pub planted: Option<Planted>,
    /// What can change what its names lead to while it runs outside the sandbox. Such a run is asked about each time.
    pub beside: Option<Beside>,
    /// Hooks of version control that would run outside the sandbox with it. Such a run is asked about each time.
    pub hooks: Option<Box<Hooks>>,
    /// Only the run tells what it touches outside the sandbox. Such a run is asked about each time.
    pub is_untold: bool,
}

/// A command of the agent that still runs in a sandbox beside one outside, whose names it can make lead elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside(String);

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} still runs in the sandbox, and can make the paths in this command lead elsewhere meanwhile.",
            crate::shown::short_code(&self.0)
        )
    }
}

/// What a command would run that commands of the agent could have put where it is, or can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    /// The word of the command that leads to it.
    pub name: String,
    pub path: PathBuf,
    /// More such programs in it, by their names.
    pub others: Vec<(String, PathBuf)>,
    /// Whether one of them lies in a folder of `PATH`, which stays in it.
    pub is_in_path: bool,
}

impl Planted {
    /// All that the person is shown of them.
    pub fn paths(&self) -> Vec<PathBuf> {
        let others = self.others.iter().map(|(_, path)| path);
        std::iter::once(&self.path).chain(others).cloned().collect()
    }
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = self.others.iter().map(|other| (&other.0, &other.1));
        for (at, (name, path)) in std::iter::once((&self.name, &self.path)).chain(others).enumerate() {
            // Without steps that lead nowhere.
            let path: PathBuf = path.components().collect();
            let between = if at == 0 { "" } else { ", " };
            write!(
                f,
                "{between}{} runs {}",
                crate::shown::short_code(name),
                crate::shown::path_in_words(&path)
            )?;
        }
        f.write_str(" here, which commands of the agent can change.")?;
        match self.is_in_path {
            true => f.write_str(" Programs that it starts are looked for in that folder, too."),
            false => Ok(()),
        }
    }
}

/// More programs of one command are not named.
const MOST_NAMED: usize = 32;

/// Decides on a command.
pub fn decide<'a>(case: &Case<'a>) -> Decided<'a> {
    let judgement = judge(case.argv, case.scene.cwd);
    let ruling = Ruling::of(case, &judgement);
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
    let judgement = judge(case.argv, case.scene.cwd);
    let ruling = Ruling::of(case, &judgement);
    let deciding = Deciding {
        case,
        judgement: &judgement,
        ruling,
    };
    let scopes = deciding.scopes(Confined::Outside);
    let lets_out = ruling.allowed.is_some_and(|allowed| allowed.outside);
    let given = case.grants.covers(&scopes.session)
        || (lets_out
            && judgement.label != Label::Dangerous
            && ruling.tightening.is_none()
            && scopes.planted.is_none()
            && scopes.hooks.is_none()
            && scopes.beside.is_none());
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
        let escalated = case.escalated && inside != Confined::Outside;
        if let Some(rule) = ruling.denied() {
            let reason = format!("The command was not run: {} denies it.{}", named(rule), reason_of(rule));
            return (Verdict::Refuse { reason }, Some(rule));
        }
        let dangerous = self.judgement.label == Label::Dangerous;
        // Where nothing may be written, a command leaves the sandbox only if the model says that it has to.
        let may_leave = inside == Confined::Workspace || escalated;
        let lets_out = ruling.allowed.filter(|allowed| {
            allowed.outside
                && may_leave
                && !dangerous
                && ruling.tightening.is_none()
                && inside != Confined::Outside
                && self.planted().is_none()
                && self.hooks().is_none()
                && self
                    .beside(&Capability::of(case.argv, case.scene, Confined::Outside, false))
                    .is_none()
        });
        if let Some(allowed) = lets_out {
            return (Verdict::Run(Confined::Outside), Some(allowed.rule));
        }
        if escalated && !asks_to_leave(approval) {
            return (refuse_to_leave(approval), None);
        }
        let confined = if escalated { Confined::Outside } else { inside };
        if let Some(rule) = ruling.asked() {
            return (self.ask_by_rule(rule, confined, escalated), Some(rule));
        }
        if dangerous {
            return (self.on_danger(confined, escalated), None);
        }
        if escalated {
            return (self.ask(Confined::Outside, ASKS_TO_LEAVE.to_owned()), ruling.suspended);
        }
        match approval {
            ApprovalPolicy::Untrusted if !self.reads_when(confined) => match ruling
                .allowed
                .filter(|allowed| confined != Confined::Outside || allowed.needs_no_walls)
            {
                Some(allowed) => (Verdict::Run(confined), Some(allowed.rule)),
                None => {
                    let mut reason = self.not_reading();
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
            // What is known to read only needs no more than reading: whatever it turns out to do, it does it behind a wall.
            ApprovalPolicy::Untrusted if confined == Confined::Outside && case.walls && ruling.allowed.is_none() => {
                (Verdict::Run(Confined::ReadOnly), None)
            }
            _ => (Verdict::Run(confined), None),
        }
    }

    /// Whether it is known to only read where it is so confined. With no walls around it, or an open network, that is said of
    /// less.
    fn reads_when(&self, confined: Confined) -> bool {
        let Case {
            argv,
            scene,
            sandbox,
            walls,
            ..
        } = *self.case;
        let is_open = match confined {
            Confined::Outside => !walls,
            Confined::ReadOnly | Confined::Workspace => sandbox.network_access(),
        };
        self.judgement.label_when(confined) == Label::SafeReadonly
            && !(is_open && opens_what_is_not_named(argv))
            && (confined != Confined::Outside || walls || is_harmless_without_walls(self.judgement, scene))
    }

    /// What the command would run that commands could have put there or can change, if it would leave a sandbox.
    fn planted(&self) -> Option<Planted> {
        let Case {
            argv, scene, sandbox, ..
        } = *self.case;
        if sandbox.mode() == SandboxMode::DangerFullAccess {
            return None;
        }
        let standing = program::Standing {
            folder: scene.cwd,
            is_certain: scene.is_certain,
            env: scene.env,
        };
        let judged = |words: Vec<String>| {
            let judgement = judge(&words, scene.cwd);
            (words, judgement)
        };
        let commands: Vec<(Vec<String>, Judgement)> = match remote::local_commands(argv) {
            Some(local) => local.into_iter().map(judged).collect(),
            None => vec![(argv.to_vec(), self.judgement.clone())],
        };
        let (name, path) = commands.iter().find_map(|(words, judgement)| {
            let parts: Vec<&[String]> = judgement.parts.iter().map(|part| part.argv.as_slice()).collect();
            program::planted(words, &parts, standing)
        })?;
        // What lies beside the first in a folder of `PATH` is run by its name as well.
        let parts = commands.iter().flat_map(|(_, judgement)| &judgement.parts);
        let mut others = Vec::new();
        let bare = parts
            .filter_map(|part| part.argv.first())
            .filter(|name| !name.contains('/'));
        for program in bare.take(MOST_NAMED) {
            let found = program::planted(std::slice::from_ref(program), &[], standing);
            let is_new = |found: &(String, PathBuf)| found.1 != path && !others.contains(found);
            if let Some(found) = found.filter(is_new) {
                others.push(found);
            }
        }
        let mut planted = Planted {
            name,
            path,
            others,
            is_in_path: false,
        };
        planted.is_in_path = planted.paths().iter().any(|path| program::is_found_by(path, scene.env));
        Some(planted)
    }

    /// What can make its names lead elsewhere, if it would leave a sandbox.
    /// What version control would run of the person's with it, where there is a sandbox to leave.
    fn hooks(&self) -> Option<Hooks> {
        let Case {
            argv, scene, sandbox, ..
        } = *self.case;
        let leaves = sandbox.mode() != SandboxMode::DangerFullAccess;
        leaves.then(|| Hooks::of(argv, self.judgement, scene)).flatten()
    }

    fn beside(&self, outside: &Capability) -> Option<Beside> {
        let Case { sandbox, beside, .. } = *self.case;
        let leaves = sandbox.mode() != SandboxMode::DangerFullAccess;
        beside
            .filter(|_| leaves && outside.goes_by_paths())
            .map(|command| Beside(command.to_owned()))
    }

    /// Why a command is asked about where only reading goes without a question.
    fn not_reading(&self) -> String {
        match self.judgement.starts() {
            Some((part, what)) if self.judgement.label == Label::SafeReadonly => format!(
                "{} reads, but starts {what}; there is no sandbox around it, and the approval policy is untrusted.",
                crate::shown::short_code(&part.text)
            ),
            _ if self.judgement.label == Label::SafeReadonly => {
                "It reads, but may start or reach more than its text names, and the approval policy is untrusted."
                    .to_owned()
            }
            _ => "It is not known to only read, and the approval policy is untrusted.".to_owned(),
        }
    }

    /// A rule asks, under every policy that lets somebody be asked about rules.
    fn ask_by_rule(&self, rule: &Rule, confined: Confined, escalated: bool) -> Verdict {
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
        self.ask(confined, with_wish(reason, escalated))
    }

    fn on_danger(&self, confined: Confined, escalated: bool) -> Verdict {
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
            _ => self.ask(confined, with_wish(format!("It {danger}."), escalated)),
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
        let Case { argv, scene, .. } = *self.case;
        let dangerous = self.judgement.label == Label::Dangerous;
        let leaves = confined == Confined::Outside && self.case.sandbox.mode() != SandboxMode::DangerFullAccess;
        let planted = if leaves { self.planted() } else { None };
        let hooks = if leaves { self.hooks() } else { None };
        let each_time = dangerous || planted.is_some() || hooks.is_some();
        let session = Capability::of(argv, scene, confined, each_time);
        let beside = if leaves { self.beside(&session) } else { None };
        // Whatever else asks each time is reason enough.
        let is_untold = leaves && session.can_be_remembered() && session.is_untold();
        let session = match beside.is_some() || is_untold {
            true => session.asked_each_time(),
            false => session,
        };
        let session = match self.ruling.asked() {
            Some(_) => session.asked_by_rule(),
            None => session,
        };
        // While a file is broken a rule that allows would not be heeded.
        let always = match self.case.rules.unreadable() {
            None => session.as_rules(leaves, scene),
            Some(_) => None,
        };
        Scopes {
            session,
            always,
            planted,
            beside,
            hooks: hooks.map(Box::new),
            is_untold,
        }
    }
}

/// Whether what only reads does no more than that without walls: it loads no code, reaches nobody, and each program in it is
/// one of the system's own, and it names nothing that the walls would close.
fn is_harmless_without_walls(judgement: &Judgement, scene: Scene<'_>) -> bool {
    let mut programs = judgement.parts.iter().filter_map(|part| part.argv.first());
    let folders = Folders::of(scene);
    judgement.is_plain()
        && programs.all(|name| is_of_the_shell(name) || program::is_of_the_system(name, scene.env))
        && !judgement
            .parts
            .iter()
            .any(|part| Reach::of(&part.argv, &folders).closed || shows_environments(&part.argv))
}

/// Whether shell text reads from a file that only the run can tell: a shell, and some programs, take `/dev/tcp/host/port` and the
/// like for a connection.
fn opens_what_is_not_named(argv: &[String]) -> bool {
    let text = argv.join(" ");
    text.contains('<') && text.contains(['$', '`', '*', '?', '[', '{'])
        || text.contains("/dev/tcp")
        || text.contains("/inet")
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

fn with_wish(reason: String, escalated: bool) -> String {
    match escalated {
        true => format!("{reason} {ASKS_TO_LEAVE}"),
        false => reason,
    }
}

#[cfg(test)]
mod tests;
