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
    // The editor's settings and a request are the person's own, and a profile is.
    for client in [
        json!({"edits": {"approve": "workspace"}}),
        json!({"edits": {"approve": "workspace", "hints": null}}),
    ] {
        let loaded = Place::new().client(client).load();
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

/// The last layer's word counts, whether it is a profile or a mode; a name that means nothing leaves the least open.
#[test]
fn a_profile_and_a_mode_take_turns() {
    let place = |user: &str| Place::new().user(user);
    let mode = place("default_permissions = ':read-only'").client(json!({"sandbox_mode": "workspace-write"}));
    assert_eq!(mode.load().config.default_permissions, None);
    let profile = place("sandbox_mode = 'danger-full-access'").client(json!({"defaultPermissions": ":workspace"}));
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
