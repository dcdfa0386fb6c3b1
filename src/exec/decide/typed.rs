//! The verdict on what is typed into a program that runs on, where its text alone does not say what comes of it: what the
//! program makes of it, what else is in its line, which program reads it by now.

use super::{Capability, Case, Scopes, SessionGrants, Verdict, decide, scopes_outside};
use crate::protocol::item::Confined;
use crate::protocol::settings::{ApprovalPolicy, SandboxMode};

/// Decides on it. Rules that ask or deny hold for it as far as its text goes, and so does what is dangerous; but no rule and
/// no yes given before allows it, and it is never taken for mere reading. It happens where the program runs: `confined`.
pub fn decide_typed(case: &Case<'_>, confined: Confined) -> Verdict {
    let approval = case.approval;
    let leaves = confined == Confined::Outside && case.sandbox.mode() != SandboxMode::DangerFullAccess;
    let none = SessionGrants::default();
    let by_itself = Case {
        escalated: false,
        grants: &none,
        walls: false,
        ..*case
    };
    let reason = match decide(&by_itself).verdict {
        refused @ Verdict::Refuse { .. } => return refused,
        Verdict::Ask { reason, .. } => reason,
        Verdict::Run(_) if leaves => {
            "What is typed into a program outside the sandbox is asked about each time.".to_owned()
        }
        Verdict::Run(_) if approval == ApprovalPolicy::Untrusted => {
            "Its effect cannot be judged from its text, and the approval policy is untrusted.".to_owned()
        }
        Verdict::Run(_) => return Verdict::Run(confined),
    };
    let may_ask = match approval {
        ApprovalPolicy::Never => false,
        ApprovalPolicy::Granular(kinds) => kinds.sandbox_approval,
        _ => true,
    };
    if leaves && !may_ask {
        return Verdict::Refuse {
            reason: format!(
                "Nothing was typed: the program runs outside the sandbox, and the approval policy is {}, under which nobody is \
                 asked about what goes into it.",
                approval.as_str()
            ),
        };
    }
    let planted = leaves.then(|| scopes_outside(&by_itself).0.planted).flatten();
    Verdict::Ask {
        reason,
        confined,
        scopes: Scopes {
            session: Capability::of(case.argv, case.scene, confined, true),
            always: None,
            planted,
            // Where it goes is not told by its paths.
            beside: None,
            hooks: None,
            is_untold: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scene;
    use super::*;
    use crate::exec::rules::{Rules, Sources, always_file, load};
    use crate::protocol::settings::SandboxPolicy;
    use std::path::Path;

    /// The verdict in short, where a yes for the session was given to the very same words.
    fn verdict(
        words: &[&str],
        approval: ApprovalPolicy,
        mode: SandboxMode,
        confined: Confined,
        rules: &Rules,
    ) -> String {
        let argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let scene = Scene::at(Path::new("/w"));
        let mut grants = SessionGrants::default();
        grants.add(Capability::of(&argv, scene, Confined::Outside, false));
        let case = Case {
            argv: &argv,
            scene,
            approval,
            sandbox: &SandboxPolicy::from_mode(mode),
            escalated: true,
            grants: &grants,
            rules,
            walls: true,
            beside: None,
        };
        match decide_typed(&case, confined) {
            Verdict::Run(confined) => format!("run {confined:?}"),
            Verdict::Ask { confined, scopes, .. } => {
                assert!(!scopes.session.can_be_remembered() && scopes.always.is_none());
                format!("ask {confined:?}")
            }
            Verdict::Refuse { .. } => "refuse".to_owned(),
        }
    }

    #[test]
    fn neither_a_yes_before_nor_reading_nor_a_rule_lets_it_through() {
        use ApprovalPolicy::{Never, OnFailure, OnRequest, Untrusted};
        use Confined::{Outside, Workspace};
        use SandboxMode::{DangerFullAccess, WorkspaceWrite};
        let home = tempfile::tempdir().expect("a folder");
        let file = always_file(home.path());
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("mkdir");
        let allow = "decision = \"allow\"\nsandbox = \"outside\"\n";
        let text = format!("[[rule]]\nprefix = [\"mytool\"]\n{allow}[[rule]]\nprefix = [\"ls\"]\n{allow}");
        std::fs::write(file, text).expect("write");
        let rules = load(&Sources::new(home.path(), &[]));
        assert_eq!(rules.iter().count(), 2);
        for words in [
            &["mytool", "go"][..],
            &["ls", "x"],
            &["bash", "-c", "ls"],
            &["bash", "-c", "\u{1b}[A\n"],
        ] {
            for (approval, mode, confined, expected) in [
                (OnRequest, WorkspaceWrite, Outside, "ask Outside"),
                (Untrusted, WorkspaceWrite, Outside, "ask Outside"),
                (OnFailure, WorkspaceWrite, Outside, "ask Outside"),
                (Never, WorkspaceWrite, Outside, "refuse"),
                (Untrusted, DangerFullAccess, Outside, "ask Outside"),
                (OnRequest, DangerFullAccess, Outside, "run Outside"),
                (Never, DangerFullAccess, Outside, "run Outside"),
                (Untrusted, WorkspaceWrite, Workspace, "ask Workspace"),
                (OnRequest, WorkspaceWrite, Workspace, "run Workspace"),
                (Never, WorkspaceWrite, Workspace, "run Workspace"),
            ] {
                let found = verdict(words, approval, mode, confined, &rules);
                assert_eq!(found, expected, "{words:?} {approval:?} {mode:?} {confined:?}");
            }
        }
    }

    #[test]
    fn what_is_dangerous_asks_where_the_rest_runs() {
        let words = ["bash", "-c", "rm -rf ~/\n"];
        let (asks, full) = (ApprovalPolicy::OnRequest, SandboxMode::DangerFullAccess);
        let found = verdict(&words, asks, full, Confined::Outside, &Rules::NONE);
        assert_eq!(found, "ask Outside");
    }
}
