//! The verdict on a command: run, ask or refuse. A pure function; the person and the kernel come later.

mod capability;

pub use capability::{Capability, SessionGrants};

use super::command::{dangerous, known_to_only_read};
use crate::protocol::item::Confined;
use crate::protocol::settings::{ApprovalPolicy, SandboxMode, SandboxPolicy};
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Run(Confined),
    /// The person decides. After a yes it runs as `confined` says, no wider; a yes for the session covers `scope`.
    Ask {
        reason: String,
        confined: Confined,
        scope: Capability,
    },
    /// It does not run. The reason is for the model.
    Refuse {
        reason: String,
    },
}

/// Decides on a command.
pub fn decide(case: &Case<'_>) -> Verdict {
    let inside = match case.sandbox.mode() {
        SandboxMode::ReadOnly => Confined::ReadOnly,
        SandboxMode::WorkspaceWrite => Confined::Workspace,
        SandboxMode::DangerFullAccess => Confined::Outside,
    };
    // With full access there is nothing to leave.
    let escalation = case.escalation.filter(|_| inside != Confined::Outside);
    if escalation.is_some() && case.approval != ApprovalPolicy::OnRequest {
        return Verdict::Refuse {
            reason: format!(
                "The command was not run: it asks to leave the sandbox, and the approval policy is {}, under which nobody \
                 is asked for that. Run it without asking for escalated permissions, or find another way.",
                case.approval.as_str()
            ),
        };
    }
    let danger = dangerous(case.argv);
    let confined = if escalation.is_some() {
        Confined::Outside
    } else {
        inside
    };
    if let Some(danger) = danger {
        return match (case.approval, confined) {
            (ApprovalPolicy::Never, Confined::Outside) => Verdict::Refuse {
                reason: format!(
                    "The command was not run: it {danger}, there is no sandbox around it, and the approval policy is never, \
                     so that nobody can be asked. Do it in a way that can be undone."
                ),
            },
            (ApprovalPolicy::Never, _) => Verdict::Run(confined),
            _ => ask(
                case,
                confined,
                with_justification(format!("It {danger}."), escalation),
                true,
            ),
        };
    }
    if let Some(escalation) = escalation {
        let reason = match escalation.justification.map(str::trim).filter(|text| !text.is_empty()) {
            Some(justification) => justification.to_owned(),
            None => "The model asks to run it outside the sandbox and gives no reason.".to_owned(),
        };
        return ask(case, Confined::Outside, reason, false);
    }
    match case.approval {
        ApprovalPolicy::Untrusted if !known_to_only_read(case.argv) => {
            let reason = "It is not known to only read, and the approval policy is untrusted.".to_owned();
            ask(case, confined, reason, false)
        }
        _ => Verdict::Run(confined),
    }
}

fn with_justification(reason: String, escalation: Option<Escalation<'_>>) -> String {
    match escalation.and_then(|escalation| escalation.justification) {
        Some(justification) => format!("{reason} It would run outside the sandbox: {justification}"),
        None => reason,
    }
}

/// Asks, unless the person has said yes to this for the session already. Dangerous commands ask each time.
fn ask(case: &Case<'_>, confined: Confined, reason: String, each_time: bool) -> Verdict {
    let scope = Capability::of(case.argv, case.cwd, confined, each_time);
    if case.grants.covers(&scope) {
        Verdict::Run(confined)
    } else {
        Verdict::Ask {
            reason,
            confined,
            scope,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICIES: [ApprovalPolicy; 4] = [
        ApprovalPolicy::Untrusted,
        ApprovalPolicy::OnRequest,
        ApprovalPolicy::OnFailure,
        ApprovalPolicy::Never,
    ];

    fn argv(text: &str) -> Vec<String> {
        vec!["bash".to_owned(), "-lc".to_owned(), text.to_owned()]
    }

    /// A short form of the verdict.
    fn verdict(
        text: &str,
        approval: ApprovalPolicy,
        mode: SandboxMode,
        escalate: bool,
        grants: &SessionGrants,
    ) -> String {
        let escalation = escalate.then_some(Escalation {
            justification: Some("needs the network"),
        });
        let sandbox = SandboxPolicy::from_mode(mode);
        let case = Case {
            argv: &argv(text),
            cwd: Path::new("/w"),
            approval,
            sandbox: &sandbox,
            escalation,
            grants,
        };
        match decide(&case) {
            Verdict::Run(confined) => format!("run {confined:?}"),
            Verdict::Ask { confined, .. } => format!("ask {confined:?}"),
            Verdict::Refuse { reason } => {
                assert!(reason.contains(approval.as_str()), "names the policy: {reason}");
                "refuse".to_owned()
            }
        }
    }

    /// Shows S-170, S-171, S-172, S-179, S-180, S-181.
    #[test]
    fn all_combinations() {
        use SandboxMode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
        // Columns: untrusted, on-request, on-failure, never.
        for (text, mode, escalate, expected) in [
            ("ls", ReadOnly, false, ["run ReadOnly"; 4]),
            ("ls", WorkspaceWrite, false, ["run Workspace"; 4]),
            ("ls", DangerFullAccess, false, ["run Outside"; 4]),
            (
                "cargo test",
                ReadOnly,
                false,
                ["ask ReadOnly", "run ReadOnly", "run ReadOnly", "run ReadOnly"],
            ),
            (
                "cargo test",
                WorkspaceWrite,
                false,
                ["ask Workspace", "run Workspace", "run Workspace", "run Workspace"],
            ),
            (
                "cargo test",
                DangerFullAccess,
                false,
                ["ask Outside", "run Outside", "run Outside", "run Outside"],
            ),
            (
                "rm -rf x",
                ReadOnly,
                false,
                ["ask ReadOnly", "ask ReadOnly", "ask ReadOnly", "run ReadOnly"],
            ),
            (
                "rm -rf x",
                WorkspaceWrite,
                false,
                ["ask Workspace", "ask Workspace", "ask Workspace", "run Workspace"],
            ),
            (
                "rm -rf x",
                DangerFullAccess,
                false,
                ["ask Outside", "ask Outside", "ask Outside", "refuse"],
            ),
            (
                "ls",
                WorkspaceWrite,
                true,
                ["refuse", "ask Outside", "refuse", "refuse"],
            ),
            (
                "cargo test",
                ReadOnly,
                true,
                ["refuse", "ask Outside", "refuse", "refuse"],
            ),
            (
                "rm -rf x",
                WorkspaceWrite,
                true,
                ["refuse", "ask Outside", "refuse", "refuse"],
            ),
            ("ls", DangerFullAccess, true, ["run Outside"; 4]),
            (
                "cargo test",
                DangerFullAccess,
                true,
                ["ask Outside", "run Outside", "run Outside", "run Outside"],
            ),
        ] {
            for (approval, expected) in POLICIES.into_iter().zip(expected) {
                let verdict = verdict(text, approval, mode, escalate, &SessionGrants::default());
                assert_eq!(verdict, expected, "{text} {approval:?} {mode:?} escalate={escalate}");
            }
        }
    }

    #[test]
    fn the_question_shows_the_justification() {
        let sandbox = SandboxPolicy::default();
        let grants = SessionGrants::default();
        let justification = "fetch the dependency";
        let argv = ["cargo".to_owned(), "fetch".to_owned()];
        let case = |escalation| Case {
            argv: &argv,
            cwd: Path::new("/w"),
            approval: ApprovalPolicy::OnRequest,
            sandbox: &sandbox,
            escalation,
            grants: &grants,
        };
        let asked = decide(&case(Some(Escalation {
            justification: Some(justification),
        })));
        assert!(matches!(asked, Verdict::Ask { reason, .. } if reason == justification));
        let silent = decide(&case(Some(Escalation {
            justification: Some("  "),
        })));
        assert!(matches!(silent, Verdict::Ask { reason, .. } if reason.contains("no reason")));
    }

    #[test]
    fn a_grant_for_the_session_is_not_asked_about_again() {
        use SandboxMode::WorkspaceWrite;
        let mut grants = SessionGrants::default();
        let command = argv("cargo test --lib");
        grants.add(Capability::of(&command, Path::new("/w"), Confined::Workspace, false));
        let untrusted = |text, grants: &_| verdict(text, ApprovalPolicy::Untrusted, WorkspaceWrite, false, grants);
        assert_eq!(untrusted("cargo test -p x", &grants), "run Workspace");
        assert_eq!(untrusted("cargo build", &grants), "ask Workspace");
        assert_eq!(untrusted("cargo test && cargo build", &grants), "ask Workspace");
        // A yes to a run inside stays inside.
        assert_eq!(
            verdict("cargo test", ApprovalPolicy::OnRequest, WorkspaceWrite, true, &grants),
            "ask Outside"
        );
        // Dangerous commands ask each time.
        grants.add(Capability::of(
            &argv("rm -rf x"),
            Path::new("/w"),
            Confined::Workspace,
            true,
        ));
        assert_eq!(untrusted("rm -rf x", &grants), "ask Workspace");
    }
}
