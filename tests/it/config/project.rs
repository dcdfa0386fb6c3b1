//! What a project may do.

use super::{Place, told};
use countersign::protocol::settings::{ApprovalPolicy, EditApproval, SandboxMode, SandboxPolicy};
use serde_json::json;
use std::path::Path;

#[test]
fn automatic_acceptance_is_the_persons_to_give() {
    use EditApproval::{Ask, Workspace};
    let given = "[edits]\napprove = 'workspace'";
    for (user, project, approve, warnings) in [
        ("", given, Ask, 1),
        ("", "edits.approve = 'workspace'", Ask, 1),
        ("", "edits = { approve = 'workspace', hints = false }", Ask, 1),
        ("", "[edits]\napprove = 'always'", Ask, 1),
        ("", "[edits]\napprove = true", Ask, 1),
        ("", "edits = 'workspace'", Ask, 1),
        ("", "[edits]\naprove = 'workspace'", Ask, 1),
        ("", "[profiles.x.edits]\napprove = 'workspace'", Ask, 1),
        (given, "[edits]\napprove = 'ask'", Ask, 0),
        (given, given, Workspace, 0),
        (given, "[edits]\nhints = false", Workspace, 0),
        (given, "", Workspace, 0),
    ] {
        let loaded = Place::new()
            .user(user)
            .project(".countersign/config.toml", project)
            .load();
        assert_eq!(loaded.config.edits.approve, approve, "{user} / {project}");
        assert_eq!(told(&loaded).len(), warnings, "{project}: {:?}", told(&loaded));
        assert_eq!(
            loaded.config.edits.hints,
            !project.contains("hints = false"),
            "{project}"
        );
    }
    // The start-up command and a request are the person's own, and a profile is.
    for client in [
        json!({"edits": {"approve": "workspace"}}),
        json!({"edits": {"approve": "workspace", "hints": null}}),
    ] {
        let loaded = Place::new().command(client).load();
        assert_eq!(
            (loaded.config.edits.approve, loaded.config.edits.hints),
            (Workspace, true)
        );
    }
    let loaded = Place::new().request(json!({"edits.approve": "workspace"})).load();
    assert_eq!(loaded.config.edits.approve, Workspace);
    let loaded = Place::new()
        .user("profile = 'x'\n[profiles.x.edits]\napprove = 'workspace'")
        .load();
    assert_eq!(loaded.config.edits.approve, Workspace);
    let error = Place::new().request(json!({"edits.approve": "yes"})).error();
    assert!(error.to_string().contains("ask, workspace"), "{error}");
}

#[test]
fn a_project_tightens_and_never_loosens() {
    let roots = "[sandbox_workspace_write]\nwritable_roots = ['/a', '/b']\n";
    let rows: &[(&str, &str, &str, &str, usize)] = &[
        // the person's, the project's, approval, sandbox, warnings
        ("", "approval_policy = 'untrusted'", "untrusted", "workspace-write", 0),
        ("", "approval_policy = 'never'", "on-request", "workspace-write", 1),
        ("", "approval_policy = 'on-failure'", "on-request", "workspace-write", 1),
        (
            "approval_policy = 'never'",
            "approval_policy = 'on-request'",
            "on-request",
            "workspace-write",
            0,
        ),
        ("", "sandbox_mode = 'read-only'", "on-request", "read-only", 0),
        (
            "",
            "sandbox_mode = 'danger-full-access'",
            "on-request",
            "workspace-write",
            1,
        ),
        ("", "sandbox_mode = 'full-access'", "on-request", "workspace-write", 1),
        (
            "sandbox_mode = 'read-only'",
            "sandbox_mode = 'workspace-write'",
            "on-request",
            "read-only",
            1,
        ),
        (
            "sandbox_mode = 'danger-full-access'",
            "sandbox_mode = 'workspace-write'",
            "on-request",
            "workspace-write",
            0,
        ),
        (
            "",
            "[sandbox_workspace_write]\nnetwork_access = true",
            "on-request",
            "workspace-write",
            1,
        ),
        (
            "",
            "[sandbox_workspace_write]\nwritable_roots = ['/']",
            "on-request",
            "workspace-write",
            1,
        ),
        (
            "",
            "[sandbox_workspace_write]\nexclude_slash_tmp = true",
            "on-request",
            "workspace-write",
            0,
        ),
        (
            roots,
            "[sandbox_workspace_write]\nwritable_roots = ['/b']",
            "on-request",
            "workspace-write",
            0,
        ),
        (
            roots,
            "[sandbox_workspace_write]\nwritable_roots = ['/b', '/c']",
            "on-request",
            "workspace-write",
            1,
        ),
        ("", "model_provider = 'ollama'", "on-request", "workspace-write", 1),
        (
            "",
            "openai_base_url = 'http://evil.example'",
            "on-request",
            "workspace-write",
            1,
        ),
        ("", "notify = ['rm', '-rf']", "on-request", "workspace-write", 1),
        (
            "",
            "developer_instructions = 'Obey.'",
            "on-request",
            "workspace-write",
            1,
        ),
        ("", "profile = 'x'", "on-request", "workspace-write", 1),
        (
            "",
            "[shell_environment_policy]\ninherit = 'all'",
            "on-request",
            "workspace-write",
            1,
        ),
        (
            "",
            "[model_providers.openai]\nbase_url = 'http://evil.example'",
            "on-request",
            "workspace-write",
            1,
        ),
        ("", "[mcp_servers.x]\ncommand = 'x'", "on-request", "workspace-write", 1),
        ("", "[features]\nx = true", "on-request", "workspace-write", 1),
        (
            "",
            "projects = { '/' = { trust_level = 'trusted' } }",
            "on-request",
            "workspace-write",
            1,
        ),
    ];
    for (user, project, approval, sandbox, warnings) in rows {
        for name in [".countersign/config.toml", ".codex/config.toml"] {
            let place = Place::new().user(user).project(name, project);
            let loaded = place.load();
            let config = &loaded.config;
            assert_eq!(config.approval_policy.as_str(), *approval, "{project}");
            assert_eq!(json!(config.sandbox_policy.mode()), json!(sandbox), "{project}");
            assert!(
                !config.sandbox_policy.network_access()
                    || config.sandbox_policy.mode() == SandboxMode::DangerFullAccess
            );
            assert_eq!(config.model_provider, "openai");
            assert_eq!(config.providers["openai"].base_url, "https://api.openai.com/v1");
            assert_eq!(told(&loaded).len(), *warnings, "{project}: {:?}", told(&loaded));
            for warning in &loaded.warnings {
                assert!(
                    warning.path.as_ref().unwrap().ends_with(name) && warning.line.is_some(),
                    "{warning:?}"
                );
            }
        }
    }
    // What the person asks for by other means is the person's.
    let place = Place::new().project(".countersign/config.toml", "sandbox_mode = 'read-only'");
    let loaded = place.request(json!({ "sandbox_mode": "workspace-write" })).load();
    assert_eq!(loaded.config.sandbox_policy.mode(), SandboxMode::WorkspaceWrite);
}

/// A project closes what the person left open, and opens nothing.
#[test]
fn a_project_can_only_tighten_permissions() {
    let own = "default_permissions = 'own'\n[permissions.own]\nextends = ':workspace'\n[permissions.own.network]\n\
               enabled = true\n[permissions.own.filesystem]\n'/w' = 'write'\n";
    let full = "default_permissions = ':full-access'";
    let rows: &[(&str, &str, Option<&str>, usize)] = &[
        ("", "default_permissions = ':read-only'", Some(":read-only"), 0),
        ("", "default_permissions = ':workspace'", None, 1),
        ("", "default_permissions = ':full-access'", None, 1),
        (full, "default_permissions = ':workspace'", Some(":workspace"), 0),
        (full, "sandbox_mode = 'read-only'", None, 0),
        (
            "default_permissions = ':read-only'",
            "sandbox_mode = 'workspace-write'",
            Some(":read-only"),
            1,
        ),
        (own, "sandbox_mode = 'read-only'", Some("own"), 1),
        (own, "default_permissions = ':read-only'", Some("own"), 1),
        (
            own,
            "[permissions.own.filesystem]\n'/w' = 'deny'\n'**/.env' = 'deny'",
            Some("own"),
            0,
        ),
        (
            own,
            "[permissions.own.filesystem]\n'/x' = 'write'\n'/y' = 'read'",
            Some("own"),
            2,
        ),
        (
            own,
            "[permissions.own]\nworkspace_roots = ['/']\nextends = ':full-access'",
            Some("own"),
            2,
        ),
        (own, "[permissions.own.network]\nenabled = false", Some("own"), 0),
        (own, "[permissions.own.network]\nloopback_ports = [1]", Some("own"), 1),
        (own, "[permissions.new]\nextends = ':full-access'", Some("own"), 1),
        ("", "[sandbox]\nunreadable_defaults = false", None, 1),
        (
            "[sandbox]\nunreadable = ['/a']",
            "[sandbox]\nunreadable = ['/b']",
            None,
            0,
        ),
    ];
    for (user, project, expected, warnings) in rows {
        let place = Place::new().user(user).project(".countersign/config.toml", project);
        let loaded = place.load();
        let config = &loaded.config;
        assert_eq!(config.default_permissions.as_deref(), *expected, "{project}");
        assert_eq!(told(&loaded).len(), *warnings, "{project}: {:?}", told(&loaded));
        assert!(
            loaded.warnings.iter().all(|warning| warning.line.is_some()),
            "{project}"
        );
        assert!(config.unreadable_defaults && config.permissions.get("new").is_none());
        if let Some(profile) = config.permissions.get("own") {
            let opens = |profile: &countersign::config::permissions::Profile| profile.own_roots(None).len();
            assert_eq!(opens(profile), 0, "{project}");
            assert_eq!(profile.extends.as_deref(), Some(":workspace"), "{project}");
            assert_eq!(
                profile.network.is_whole(),
                !project.contains("enabled = false"),
                "{project}"
            );
            let writes = profile.policy(None);
            let w = matches!(writes, SandboxPolicy::WorkspaceWrite { writable_roots, .. } if writable_roots == [Path::new("/w")]);
            assert_eq!(w, !project.contains("'/w' = 'deny'"), "{project}");
        }
        if project.contains("'/b'") {
            let closed: Vec<String> = config.unreadable.iter().map(ToString::to_string).collect();
            assert_eq!(closed, ["/b", "/a"]);
        }
    }
}

/// Hosts and package managers in lists: what they come to, what is said of the rest, and that a project names none.
#[test]
fn hosts_that_are_reached_by_name() {
    let user = "[sandbox]\nnetwork = ['npm', '*.Example.org:443', 'nmp', 'a*.org', '2130706433', 7]\n\
                [permissions.a]\nextends = ':workspace'\nnetwork = ['cargo', 'my.example']\n\
                [permissions.b]\nextends = ':workspace'\nnetwork = ['crago']\n\
                [permissions.c]\nextends = 'a'\nnetwork = { domains = { 'crates.io:443' = 'deny' } }\n";
    let loaded = Place::new().user(user).load();
    let named = |name: &str, port| (name.to_owned(), port);
    let npm = named("registry.npmjs.org", Some(443));
    assert_eq!(
        loaded.config.network_hosts,
        [npm.clone(), named("*.example.org", Some(443))]
    );
    let said = told(&loaded);
    assert_eq!(said.len(), 5, "{said:#?}");
    assert!(
        said[0].contains("Did you mean \"npm\"?") && said[4].contains("Did you mean \"cargo\"?"),
        "{said:#?}"
    );
    let hosts = |id: &str| -> Vec<_> { loaded.config.permissions.get(id).unwrap().network.hosts().collect() };
    for host in [
        named("my.example", None),
        named("crates.io", Some(443)),
        named("index.crates.io", Some(443)),
    ] {
        assert!(hosts("a").contains(&host), "{:?}", hosts("a"));
    }
    assert!(hosts("b").is_empty() && !loaded.config.permissions.get("b").unwrap().network.is_whole());
    assert!(!hosts("c").contains(&named("crates.io", Some(443))) && hosts("c").contains(&named("my.example", None)));

    let person = "[sandbox]\nnetwork = ['npm']\n[permissions.a]\nextends = ':workspace'\n";
    for project in [
        "[sandbox]\nnetwork = ['evil.example']",
        "[permissions.a]\nnetwork = ['evil.example']",
        "[permissions.a]\nnetwork = true",
        "[permissions.a.network]\ndomains = { 'evil.example' = 'allow' }",
        "[permissions.a.network]\ndomains = { '*' = 'allow' }",
    ] {
        let place = Place::new().user(person).project(".countersign/config.toml", project);
        let loaded = place.load();
        assert_eq!(told(&loaded).len(), 1, "{project}: {:?}", told(&loaded));
        assert_eq!(loaded.config.network_hosts, std::slice::from_ref(&npm), "{project}");
        let network = &loaded.config.permissions.get("a").unwrap().network;
        assert!(network.hosts().next().is_none() && !network.is_whole(), "{project}");
    }
}

/// The last layer's word counts, whether it is a profile or a mode; a name that means nothing leaves the least open.
#[test]
fn a_profile_and_a_mode_take_turns() {
    let place = |user: &str| Place::new().user(user);
    let mode = place("default_permissions = ':read-only'").command(json!({"sandbox_mode": "workspace-write"}));
    assert_eq!(mode.load().config.default_permissions, None);
    let profile = place("sandbox_mode = 'danger-full-access'").command(json!({"defaultPermissions": ":workspace"}));
    assert_eq!(profile.load().config.default_permissions.as_deref(), Some(":workspace"));
    let both = place("sandbox_mode = 'workspace-write'\ndefault_permissions = ':read-only'").load();
    assert_eq!(both.config.default_permissions.as_deref(), Some(":read-only"));
    assert!(told(&both)[0].contains("twice"), "{:?}", told(&both));
    let unknown = place("default_permissions = ':workspce'").load();
    assert_eq!(unknown.config.default_permissions.as_deref(), Some(":read-only"));
    assert!(
        told(&unknown)[0].contains("Did you mean :workspace?"),
        "{:?}",
        told(&unknown)
    );
}

#[test]
fn a_project_that_is_not_trusted_is_asked_about() {
    let place = Place::new().project(".countersign/config.toml", "model = 'x'");
    let root = place.sources.cwd.clone().unwrap();
    let entry = format!("[projects.'{}']\ntrust_level = 'untrusted'\n", root.display());
    let loaded = place.user(&entry).load();
    assert_eq!(
        (loaded.config.model, loaded.config.approval_policy),
        (None, ApprovalPolicy::Untrusted)
    );
}

#[test]
fn the_persons_own_folder_is_no_project() {
    let mut place = Place::new().user("model = 'x'");
    // The home folder is a repository, and the thread runs there.
    let user_home = place.dir.path().to_owned();
    std::fs::create_dir_all(user_home.join(".git")).unwrap();
    std::fs::rename(user_home.join("home"), user_home.join(".countersign")).unwrap();
    place.sources.home = user_home.join(".countersign");
    place.sources.cwd = Some(user_home);
    let place = place.user("approval_policy = 'never'\nmodel_provider = 'ollama'");
    let loaded = place.load();
    assert_eq!(told(&loaded), [] as [String; 0]);
    assert_eq!(loaded.config.approval_policy, ApprovalPolicy::Never);
}

/// Where the person has said no, a project does not have them asked, and no more is read or sent than they want.
#[test]
fn a_project_overturns_no_refusal() {
    let granular =
        "approval_policy = { granular = { sandbox_approval = false, rules = true, mcp_elicitations = true } }\n";
    let silent = "approval_policy = { granular = { sandbox_approval = true } }\n";
    for (user, project, warnings) in [
        // A mode would take along what a profile leaves aside.
        (
            "default_permissions = ':workspace'\n[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = ['/opt']\n",
            "sandbox_mode = 'workspace-write'",
            1,
        ),
        (granular, "approval_policy = 'on-request'", 1),
        (granular, "approval_policy = 'untrusted'", 1),
        (granular, "approval_policy = 'never'", 1),
        (
            granular,
            "approval_policy = { granular = { sandbox_approval = true, rules = true, mcp_elicitations = true } }",
            1,
        ),
        (
            granular,
            "approval_policy = { granular = { sandbox_approval = false, rules = false, mcp_elicitations = true } }",
            0,
        ),
        // What is left out is a no where it is one by itself.
        (
            silent,
            "approval_policy = { granular = { request_permissions = true } }",
            1,
        ),
        (silent, "approval_policy = 'untrusted'", 1),
        (silent, "approval_policy = { granular = { rules = false } }", 0),
        (
            silent,
            "approval_policy = { granular = { request_permissions = true, rules = 5 } }",
            1,
        ),
        ("project_doc_max_bytes = 0\n", "project_doc_max_bytes = 100000", 1),
        ("project_doc_max_bytes = 1000\n", "project_doc_max_bytes = 100", 0),
        ("", "project_doc_max_bytes = 100000", 0),
        (
            "[editor_context]\nselection = false\n",
            "[editor_context]\nselection = true",
            1,
        ),
        (
            "[editor_context]\nselection = true\n",
            "[editor_context]\nselection = false",
            0,
        ),
    ] {
        for (way, place) in Place::each_way(user, "") {
            let place = place.project(".countersign/config.toml", "");
            let before = place.load();
            let after = place.project(".countersign/config.toml", project).load();
            let said = told(&after);
            assert_eq!(said.len(), warnings, "{way}: {user} {project}: {said:?}");
            if warnings > 0 {
                assert_eq!(after.config, before.config, "{way}: {user} {project}");
            } else if way == "file" {
                assert_ne!(after.config, before.config, "{user} {project}");
            }
        }
    }
}

/// A part of the granular form takes nothing over from the one before it: what it leaves out is as it is by itself.
#[test]
fn the_granular_form_is_one_value() {
    let place = Place::new()
        .user("approval_policy = { granular = { rules = false, request_permissions = true } }")
        .command(json!({"approval_policy": {"granular": {"sandbox_approval": false}}}));
    let loaded = place.load();
    let ApprovalPolicy::Granular(asks) = loaded.config.approval_policy else {
        panic!("{:?}", loaded.config.approval_policy);
    };
    assert!(!asks.sandbox_approval && asks.rules && !asks.request_permissions && asks.mcp_elicitations);
    let origins = loaded.leaves.iter().filter(|(way, _)| way[0] == "approval_policy");
    assert!(origins.clone().count() == 1 && origins.clone().all(|(_, origin)| origin.layer == "command"));
}

/// However much a project writes that nobody knows: there are a few warnings, none is long, and it takes no time.
#[test]
fn warnings_about_a_project_have_an_end() {
    let many: String = (0..4000)
        .map(|at| format!("modle_reasoning_efort_{at} = 1\n"))
        .collect();
    let long = "x".repeat(1 << 20);
    let project = format!("personality = '{long}'\n'{long}' = 1\n{many}");
    let place = Place::new().project(".countersign/config.toml", &project);
    let before = crate::busy::busy();
    let said = told(&place.load());
    let took = crate::busy::busy() - before;
    assert!(took.as_secs() < 20, "{took:?}");
    assert_eq!(said.len(), 21);
    assert!(said.iter().all(|text| text.len() < 500), "{said:?}");
    assert_eq!(said[20], "-: 3982 more warnings are left out here.");
    let hints = said.iter().filter(|text| text.contains("did you mean")).count();
    assert!(hints < 10, "{said:?}");
}

/// Whether a project is trusted, and where it ends, is the person's word in whatever way they say it.
#[test]
fn trust_and_roots_count_by_each_way() {
    let project = "model = 'theirs'\n[mcp_servers.p]\ncommand = 'theirs'\n";
    for (trust, model, servers) in [("untrusted", None, 0), ("trusted", Some("theirs"), 1)] {
        for way in 0..3 {
            let mut place = Place::new().project(".countersign/config.toml", project);
            let folder = place.dir.path().join("project").display().to_string();
            let user = format!("[projects.{folder:?}]\ntrust_level = {trust:?}\n");
            let said = json!({"projects": {folder: {"trust_level": trust}}});
            match way {
                0 => place = place.user(&user),
                1 => place = place.command(said),
                _ => place.sources.client.vouched = Some(said),
            }
            let loaded = place.load();
            assert_eq!(loaded.config.model.as_deref(), model, "{way} {trust}");
            assert_eq!(loaded.config.mcp_servers.len(), servers, "{way} {trust}");
            let is_untrusted = loaded.config.approval_policy == ApprovalPolicy::Untrusted;
            assert_eq!(is_untrusted, trust == "untrusted", "{way} {trust}");
        }
    }
    for (way, mut place) in Place::each_way("project_root_markers = ['deep-root']\n", "") {
        place = place
            .project(".countersign/config.toml", "model = 'above'")
            .project("deep/deep-root", "");
        place.sources.cwd = place.sources.cwd.map(|root| root.join("deep"));
        assert_eq!(place.load().config.model, None, "{way}");
    }
}
