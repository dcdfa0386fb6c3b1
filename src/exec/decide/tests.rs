//! The verdicts, by tables.

use super::*;
use std::path::Path;

const NO_RULES: &Rules = &Rules::NONE;

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
fn verdict(text: &str, approval: ApprovalPolicy, mode: SandboxMode, escalate: bool, grants: &SessionGrants) -> String {
    let sandbox = SandboxPolicy::from_mode(mode);
    let case = Case {
        argv: &argv(text),
        scene: Scene::at(Path::new("/w")),
        approval,
        sandbox: &sandbox,
        escalated: escalate,
        grants,
        rules: NO_RULES,
        walls: true,
        beside: None,
    };
    match decide(&case).verdict {
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
        (
            "ls",
            DangerFullAccess,
            false,
            ["run ReadOnly", "run Outside", "run Outside", "run Outside"],
        ),
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
        (
            "ls",
            DangerFullAccess,
            true,
            ["run ReadOnly", "run Outside", "run Outside", "run Outside"],
        ),
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
fn a_grant_for_the_session_is_not_asked_about_again() {
    use SandboxMode::WorkspaceWrite;
    let mut grants = SessionGrants::default();
    let command = argv("cargo test --lib");
    grants.add(Capability::of(
        &command,
        Scene::at(Path::new("/w")),
        Confined::Workspace,
        false,
    ));
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
        Scene::at(Path::new("/w")),
        Confined::Workspace,
        true,
    ));
    assert_eq!(untrusted("rm -rf x", &grants), "ask Workspace");
}

fn rules(text: &str) -> Rules {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    crate::exec::rules::load_files(&[file.path().to_owned()])
}

const RULES: &str = r#"
[[rule]]
prefix = ["cargo", ["test", "check"]]
decision = "allow"
[[rule]]
prefix = ["docker", "ps"]
decision = "allow"
sandbox = "outside"
[[rule]]
prefix = ["git", "push"]
decision = "ask"
reason = "It is seen by others"
[[rule]]
prefix = ["git", "push"]
decision = "allow"
sandbox = "outside"
[[rule]]
prefix = ["git", "push", "origin"]
decision = "deny"
reason = "Push to your fork."
[[rule]]
prefix = ["rm"]
decision = "allow"
sandbox = "outside"
"#;

fn short(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Run(confined) => format!("run {confined:?}"),
        Verdict::Ask { confined, .. } => format!("ask {confined:?}"),
        Verdict::Refuse { .. } => "refuse".to_owned(),
    }
}

/// Shows S-179, S-180, S-181, S-182.
#[test]
fn rules_by_policy() {
    use SandboxMode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    let rules = rules(RULES);
    assert!(rules.reports().is_empty(), "{:?}", rules.reports());
    let granular = |on| {
        ApprovalPolicy::Granular(crate::protocol::settings::Granular {
            sandbox_approval: on,
            rules: on,
            request_permissions: on,
            mcp_elicitations: on,
        })
    };
    let policies: Vec<_> = POLICIES.into_iter().chain([granular(true), granular(false)]).collect();
    // Columns: untrusted, on-request, on-failure, never, granular with all on, with all off.
    type Row<'r> = (&'r str, SandboxMode, bool, [&'r str; 6]);
    let rows: &[Row<'_>] = &[
        ("cargo test -q", WorkspaceWrite, false, ["run Workspace"; 6]),
        ("cargo test -q", ReadOnly, false, ["run ReadOnly"; 6]),
        ("cargo test -q", DangerFullAccess, false, ["run Outside"; 6]),
        (
            "cargo test -q",
            WorkspaceWrite,
            true,
            ["refuse", "ask Outside", "refuse", "refuse", "ask Outside", "refuse"],
        ),
        (
            "cargo test 2>&1 | tail -n 3",
            WorkspaceWrite,
            false,
            ["run Workspace"; 6],
        ),
        ("cd sub && cargo check", WorkspaceWrite, false, ["run Workspace"; 6]),
        (
            "cargo test && cargo build",
            WorkspaceWrite,
            false,
            [
                "ask Workspace",
                "run Workspace",
                "run Workspace",
                "run Workspace",
                "run Workspace",
                "run Workspace",
            ],
        ),
        (
            "cargo test > log",
            WorkspaceWrite,
            false,
            [
                "ask Workspace",
                "run Workspace",
                "run Workspace",
                "run Workspace",
                "run Workspace",
                "run Workspace",
            ],
        ),
        // A rule lets it out, asked for or not; where nothing may be written only if the model asks for it.
        ("docker ps -a", WorkspaceWrite, false, ["run Outside"; 6]),
        ("docker ps -a", WorkspaceWrite, true, ["run Outside"; 6]),
        ("docker ps -a", ReadOnly, false, ["run ReadOnly"; 6]),
        ("docker ps -a", ReadOnly, true, ["run Outside"; 6]),
        ("docker ps | head -n 3", WorkspaceWrite, false, ["run Outside"; 6]),
        // What only reads would read anything out there.
        ("cat ../secret | docker ps", WorkspaceWrite, false, ["run Workspace"; 6]),
        ("docker ps && cargo test", WorkspaceWrite, false, ["run Workspace"; 6]),
        // A wrapper is another program.
        (
            "sudo docker ps",
            WorkspaceWrite,
            false,
            [
                "ask Workspace",
                "run Workspace",
                "run Workspace",
                "run Workspace",
                "run Workspace",
                "run Workspace",
            ],
        ),
        // Ask stands over allow.
        (
            "git push fork",
            WorkspaceWrite,
            false,
            [
                "ask Workspace",
                "ask Workspace",
                "ask Workspace",
                "refuse",
                "ask Workspace",
                "refuse",
            ],
        ),
        (
            "git push fork",
            DangerFullAccess,
            false,
            [
                "ask Outside",
                "ask Outside",
                "ask Outside",
                "refuse",
                "ask Outside",
                "refuse",
            ],
        ),
        (
            "git push fork",
            WorkspaceWrite,
            true,
            ["refuse", "ask Outside", "refuse", "refuse", "ask Outside", "refuse"],
        ),
        (
            "ls; git -C x push fork",
            ReadOnly,
            false,
            [
                "ask ReadOnly",
                "ask ReadOnly",
                "ask ReadOnly",
                "refuse",
                "ask ReadOnly",
                "refuse",
            ],
        ),
        // Deny over both, wherever it hides.
        ("git push origin main", WorkspaceWrite, false, ["refuse"; 6]),
        ("git push origin main", DangerFullAccess, true, ["refuse"; 6]),
        ("ls && git -C sub push origin", ReadOnly, false, ["refuse"; 6]),
        ("sudo git push origin", WorkspaceWrite, false, ["refuse"; 6]),
        ("bash -c 'git push origin'", WorkspaceWrite, false, ["refuse"; 6]),
        ("x=$(git push origin)", WorkspaceWrite, false, ["refuse"; 6]),
        ("git push origin > log 2>&1 &", WorkspaceWrite, false, ["refuse"; 6]),
        ("/opt/own/git push origin", WorkspaceWrite, false, ["refuse"; 6]),
        // What is dangerous asks, whatever a rule says.
        (
            "rm -rf x",
            WorkspaceWrite,
            false,
            [
                "ask Workspace",
                "ask Workspace",
                "ask Workspace",
                "run Workspace",
                "ask Workspace",
                "refuse",
            ],
        ),
        ("rm x", WorkspaceWrite, false, ["run Outside"; 6]),
    ];
    for (text, mode, escalate, expected) in rows {
        for (approval, expected) in policies.iter().zip(expected) {
            let sandbox = SandboxPolicy::from_mode(*mode);
            let (command, grants) = (argv(text), SessionGrants::default());
            let decided = decide(&Case {
                argv: &command,
                scene: Scene::at(Path::new("/w")),
                approval: *approval,
                sandbox: &sandbox,
                escalated: *escalate,
                grants: &grants,
                rules: &rules,
                walls: true,
                beside: None,
            });
            assert_eq!(
                short(&decided.verdict),
                *expected,
                "{text} {approval:?} {mode:?} escalate={escalate}"
            );
            if let Verdict::Refuse { reason } = &decided.verdict
                && let Some(rule) = decided.rule
            {
                let said = rule.reason.as_deref().expect("each has one");
                assert!(
                    reason.contains(said) && reason.contains(&rule.place.to_string()),
                    "{reason}"
                );
            }
        }
    }
}

/// Long commands are looked at from each of their words, and no longer than that takes.
#[test]
fn rules_are_found_in_long_commands_in_time() {
    let rules = rules(RULES);
    for (text, refused) in [
        (format!("env {}", "a ".repeat(6000)), false),
        (format!("xargs {}", "a ".repeat(10_000)), false),
        (format!("env {}", "git ".repeat(5000)), false),
        (format!("env {} git push origin", "a ".repeat(2000)), true),
        (format!("env git {} push origin", "-c a=b ".repeat(300)), true),
        (format!("{}git push origin", "xargs -n1 ".repeat(2000)), true),
        (format!("A=$x env {}", "env ".repeat(5000)), false),
        (format!("{}git push origin", "A=1 true; ".repeat(250)), true),
        (format!("{}git log", "A=1 true; ".repeat(250)), false),
        (format!("cat <<E\n{}\nE\ngit push origin", "x".repeat(70_000)), true),
    ] {
        let before = crate::busy::busy();
        let (argv, grants, sandbox) = (argv(&text), SessionGrants::default(), SandboxPolicy::default());
        let decided = decide(&Case {
            argv: &argv,
            scene: Scene::at(Path::new("/w")),
            approval: ApprovalPolicy::OnRequest,
            sandbox: &sandbox,
            escalated: false,
            grants: &grants,
            rules: &rules,
            walls: true,
            beside: None,
        });
        assert_eq!(short(&decided.verdict) == "refuse", refused, "{text:.40}");
        let took = crate::busy::busy() - before;
        assert!(took.as_secs() < 20, "{text:.40}: {took:?}");
    }
}

#[test]
fn while_a_file_is_broken_no_rule_allows_anything() {
    let broken = rules(&format!("{RULES}\n[[rule]]\nprefix = 3\n"));
    for (text, untrusted, on_request) in [
        ("cargo test", "ask Workspace", "run Workspace"),
        ("docker ps", "run Workspace", "run Workspace"),
        ("git push fork", "ask Workspace", "ask Workspace"),
        ("git push origin", "refuse", "refuse"),
    ] {
        for (approval, expected) in [
            (ApprovalPolicy::Untrusted, untrusted),
            (ApprovalPolicy::OnRequest, on_request),
        ] {
            let (argv, grants, sandbox) = (argv(text), SessionGrants::default(), SandboxPolicy::default());
            let decided = decide(&Case {
                argv: &argv,
                scene: Scene::at(Path::new("/w")),
                approval,
                sandbox: &sandbox,
                escalated: false,
                grants: &grants,
                rules: &broken,
                walls: true,
                beside: None,
            });
            assert_eq!(short(&decided.verdict), expected, "{text} {approval:?}");
            if let Verdict::Ask { reason, scopes, .. } = decided.verdict {
                assert!(scopes.always.is_none(), "it would not be heeded");
                assert!(text.starts_with("git") || reason.contains("broken"), "{reason}");
            }
        }
    }
}

/// What is offered for always is narrow, and once written it is enough.
#[test]
fn what_is_offered_for_always() {
    for (text, escalate, prefixes) in [
        ("cargo test --lib", false, Some("cargo test")),
        ("cargo test --lib", true, Some("cargo test")),
        ("/usr/bin/cargo test", false, Some("cargo test")),
        ("npm run build -- x", false, Some("npm run build")),
        ("cargo test && npm run build", false, Some("cargo test; npm run build")),
        ("cargo test 2>&1 | tail -n 5", true, Some("cargo test")),
        ("git commit -m x", true, Some("git commit")),
        ("touch x", false, Some("touch")),
        ("curl https://a.example/x", true, Some("curl")),
        ("/opt/x/tool y", false, Some("/opt/x/tool")),
        ("git push -u origin x", true, Some("git push")),
        ("cp -r a b", true, Some("cp")),
        ("head -n 3 a", true, Some("head")),
        // Outside, nothing but itself is allowed of what is not known, or leads elsewhere.
        ("/opt/x/tool y", true, None),
        ("mytool go", true, None),
        ("cat /etc/passwd", true, None),
        ("cp a .git/config", true, None),
        ("cp a *", true, None),
        ("git config user.name x", true, None),
        // Broad, or nothing is known of it.
        ("git", false, None),
        ("git -c core.pager=x log", true, None),
        ("python3 x.py", false, None),
        ("python3.12 -c 1", false, None),
        ("bash x.sh", false, None),
        ("sudo ls", false, None),
        ("env A=1 ls", true, None),
        ("xargs touch", false, None),
        ("./x.sh", false, None),
        ("/w/x.sh", false, None),
        ("/tmp/x.sh", false, None),
        ("rm x", false, None),
        ("cargo test > log", false, None),
        ("A=1 cargo test", false, None),
        ("cargo test $X", false, None),
        ("rm -rf x", false, None),
        ("cargo test && rm -rf x", false, None),
        ("sed -i s/a/b/ x", false, None),
        ("ssh host ls", true, None),
        ("cargo fetch && cargo a && cargo b && cargo c && cargo d", false, None),
    ] {
        let (argv, grants) = (argv(text), SessionGrants::default());
        let approval = if escalate {
            ApprovalPolicy::OnRequest
        } else {
            ApprovalPolicy::Untrusted
        };
        let sandbox = SandboxPolicy::default();
        let case = |rules| Case {
            argv: &argv,
            scene: Scene::at(Path::new("/w")),
            approval,
            sandbox: &sandbox,
            escalated: escalate,
            grants: &grants,
            rules,
            walls: true,
            beside: None,
        };
        let Verdict::Ask { scopes, confined, .. } = decide(&case(NO_RULES)).verdict else {
            panic!("{text} asks")
        };
        let offered = scopes.always.as_ref().map(|rules| {
            let prefixes: Vec<_> = rules.iter().map(|rule| rule.prefix.join(" ")).collect();
            prefixes.join("; ")
        });
        assert_eq!(offered.as_deref(), prefixes, "{text}");
        let Some(offered) = scopes.always else { continue };
        let tables: Vec<String> = offered.iter().map(crate::exec::rules::NewRule::to_toml).collect();
        let written = rules(&tables.join("\n"));
        assert!(written.reports().is_empty(), "{:?}", written.reports());
        assert_eq!(
            decide(&case(&written)).verdict,
            Verdict::Run(confined),
            "{text}: {tables:?}"
        );
    }
}

/// Where no walls stand, or the network is open, a reader that may load code or connect is asked about.
#[test]
fn readers_in_the_open() {
    use SandboxMode::{DangerFullAccess, WorkspaceWrite};
    // Columns: with full access behind a wall, with full access where there can be none, in a sandbox with a network.
    for (text, expected) in [
        ("cat a | head -n 3", ["run ReadOnly", "run Outside", "run Workspace"]),
        ("zcat a.gz", ["run ReadOnly", "ask Outside", "run Workspace"]),
        ("yq .x a.yaml", ["run ReadOnly", "ask Outside", "run Workspace"]),
        ("kubectl get pods", ["run ReadOnly", "ask Outside", "run Workspace"]),
        ("git status", ["ask Outside", "ask Outside", "run Workspace"]),
        ("cat < a", ["run ReadOnly", "run Outside", "run Workspace"]),
        (
            "for f in /dev/tcp/a.example/80; do cat < $f; done",
            ["run ReadOnly", "ask Outside", "ask Workspace"],
        ),
        (
            "while read f; do cat < \"$f\"; done < list",
            ["run ReadOnly", "ask Outside", "ask Workspace"],
        ),
    ] {
        let open = SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: true,
            exclude_tmpdir_env_var: false,
            exclude_slash_tmp: false,
        };
        let full = SandboxPolicy::from_mode(DangerFullAccess);
        assert_eq!(open.mode(), WorkspaceWrite);
        for ((sandbox, walls), expected) in [(&full, true), (&full, false), (&open, true)].into_iter().zip(expected) {
            let (argv, grants) = (argv(text), SessionGrants::default());
            let decided = decide(&Case {
                argv: &argv,
                scene: Scene::at(Path::new("/w")),
                approval: ApprovalPolicy::Untrusted,
                sandbox,
                escalated: false,
                grants: &grants,
                rules: NO_RULES,
                walls,
                beside: None,
            });
            assert_eq!(short(&decided.verdict), expected, "{text} {sandbox:?} walls={walls}");
        }
    }
}

/// A yes to a question that a rule raised is told apart from others.
#[test]
fn a_rule_that_asks_is_not_answered_by_an_older_yes() {
    let rules = rules(RULES);
    let argv = argv("git push fork");
    let mut grants = SessionGrants::default();
    grants.add(Capability::of(
        &argv,
        Scene::at(Path::new("/w")),
        Confined::Outside,
        false,
    ));
    let verdict = |grants: &SessionGrants| {
        decide(&Case {
            argv: &argv,
            scene: Scene::at(Path::new("/w")),
            approval: ApprovalPolicy::OnRequest,
            sandbox: const { &SandboxPolicy::DangerFullAccess },
            escalated: false,
            grants,
            rules: &rules,
            walls: true,
            beside: None,
        })
        .verdict
    };
    let Verdict::Ask { scopes, .. } = verdict(&grants) else {
        panic!("it asks")
    };
    assert!(scopes.always.is_none());
    grants.add(scopes.session);
    assert_eq!(verdict(&grants), Verdict::Run(Confined::Outside));
}
