use super::*;
use crate::config::permissions::Profiles;
use crate::protocol::permission::Permission;
use std::os::unix::fs::symlink;

struct Ground {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl Ground {
    /// A workspace, a folder beside it and a home folder, where no temporary folder opens anything.
    fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("profile")
            .tempdir_in("/var/tmp")
            .expect("temporary folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        for folder in [
            "ws/src",
            "ws/docs/gen",
            "ws/.git/hooks",
            "other/deep/er",
            "home/.ssh",
            "extra",
        ] {
            fs::create_dir_all(base.join(folder)).expect("mkdir");
        }
        for file in [
            "ws/.env",
            "ws/src/a.rs",
            "ws/src/.env",
            "other/x",
            "other/deep/y",
            "home/.ssh/id",
            "ws/.git/HEAD",
        ] {
            fs::write(base.join(file), "").expect("write");
        }
        Self { _dir: dir, base }
    }

    fn place(&self) -> Place {
        Place {
            cwd: self.base.join("ws"),
            runtime_roots: vec![],
            tmpdir: None,
            home: Some(self.base.join("home")),
        }
    }

    /// A profile that says this, with `BASE` for the folder of it all.
    fn profile(&self, entries: &[(&str, Access)]) -> Profile {
        let entries = entries.iter().map(|(text, access)| {
            let text = text.replace("BASE", self.base.to_str().expect("a name"));
            (
                Subject::parse(&text).unwrap_or_else(|why| panic!("{text}: {why}")),
                *access,
            )
        });
        Profile {
            filesystem: entries.collect(),
            ..Profile::default()
        }
    }
}

use Access::{Deny, Read, Write};

/// Shows S-416.
#[test]
fn the_most_specific_entry_wins_and_deny_wins_ties() {
    let ground = Ground::new();
    let profile = ground.profile(&[
        (":root", Read),
        (":workspace_roots", Write),
        (":workspace_roots/docs", Read),
        (":workspace_roots/docs/gen", Write),
        ("BASE/ws/src/a.rs", Deny),
        ("**/.env", Deny),
        ("BASE/other", Deny),
        ("BASE/other/deep", Read),
        ("BASE/other/deep/er", Write),
        ("~/.ssh", Deny),
        ("BASE/home/.ssh", Read),
        (":workspace_roots/later", Deny),
    ]);
    let confinement = profile.realise(&ground.place());
    for (path, read, write) in [
        ("ws/new", true, true),
        ("ws/src/b.rs", true, true),
        ("ws/docs", true, false),
        ("ws/docs/new", true, false),
        ("ws/docs/gen/new", true, true),
        ("ws/src/a.rs", false, false),
        ("ws/.env", false, false),
        ("ws/src/.env", false, false),
        ("ws/not/there/.env", false, false),
        ("ws/.git/hooks/pre-commit", true, false),
        ("ws/later", false, false),
        ("other/x", false, false),
        ("other/deep/y", true, false),
        ("other/deep/er/z", true, true),
        ("other", true, false),
        ("home/.ssh/id", false, false),
        ("home/else", true, false),
        ("extra/x", true, false),
    ] {
        let path = ground.base.join(path);
        // What has no name of its own on the way to something open can be gone through, not read.
        if path != ground.base.join("other") {
            assert_eq!(confinement.may_read(&path), read, "read {path:?}");
        }
        assert_eq!(confinement.may_write(&path), write, "write {path:?}");
    }
    let walls = confinement.walls().expect("walls");
    assert!(walls.unreadable.contains(&ground.base.join("other/x")));
    assert!(walls.unreadable.contains(&ground.base.join("ws/later")));
    assert_eq!(walls.read_only, [ground.base.join("ws/docs")]);
}

#[test]
fn what_may_be_read_can_be_all_that_is_named() {
    let ground = Ground::new();
    for root in [&[][..], &[(":root", Deny)][..]] {
        let mut entries = vec![(":minimal", Read), (":workspace_roots", Write)];
        entries.extend(root);
        let confinement = ground.profile(&entries).realise(&ground.place());
        for (path, read) in [
            ("ws/src/a.rs", true),
            ("other/x", false),
            ("home/.ssh/id", false),
            ("extra", false),
        ] {
            assert_eq!(confinement.may_read(&ground.base.join(path)), read, "{path}");
        }
        assert!(confinement.may_read(Path::new("/usr/bin/env")) && confinement.may_read(Path::new("/etc/passwd")));
        assert!(!confinement.may_read(Path::new("/etc/shadow")) && !confinement.may_read(Path::new("/nowhere/at/all")));
        let unreadable = &confinement.walls().expect("walls").unreadable;
        assert!(unreadable.contains(&ground.base.join("other")));
        assert!(
            unreadable
                .iter()
                .all(|closed| !ground.base.join("ws").starts_with(closed))
        );
    }
    // Who names neither lets everything be read.
    let confinement = ground.profile(&[(":workspace_roots", Write)]).realise(&ground.place());
    assert!(confinement.may_read(&ground.base.join("other/x")));
}

/// Shows S-414, S-417.
#[test]
fn the_symbols_follow_the_place() {
    let ground = Ground::new();
    let mut profile = ground.profile(&[(":root", Read), (":workspace_roots", Write), ("~/.ssh", Write)]);
    profile.workspace_roots = vec![Subject::Path(ground.base.join("extra"))];
    let mut place = ground.place();
    let writes = |place: &Place, path: &str| profile.realise(place).may_write(&ground.base.join(path));
    assert!(writes(&place, "ws/x") && writes(&place, "extra/x") && writes(&place, "home/.ssh/x"));
    assert!(!writes(&place, "other/x"));
    place.runtime_roots = vec![ground.base.join("other")];
    assert!(writes(&place, "ws/x") && writes(&place, "other/x"));
    place.cwd = ground.base.join("home/.ssh");
    assert!(!writes(&place, "ws/x") && writes(&place, "other/x") && writes(&place, "home/.ssh/x"));
}

#[test]
fn policies_and_profiles_say_the_same() {
    let ground = Ground::new();
    let profiles = Profiles::default();
    for (id, policy) in [
        (":read-only", SandboxPolicy::ReadOnly { network_access: false }),
        (":workspace", SandboxPolicy::default()),
        (":full-access", SandboxPolicy::DangerFullAccess),
    ] {
        let profile = profiles.get(id).expect("built in");
        let place = ground.place();
        assert_eq!(profile.policy(None), policy, "{id}");
        assert_eq!(
            profile.realise(&place),
            Confinement::new(&policy, &place.cwd, &[], None),
            "{id}"
        );
        assert_eq!(Profile::of_policy(&policy).policy(None), policy, "{id}");
    }
}

#[test]
fn a_link_opens_and_hides_nothing() {
    let ground = Ground::new();
    symlink(ground.base.join("other"), ground.base.join("ws/link")).expect("symlink");
    symlink(ground.base.join("home/.ssh/id"), ground.base.join("ws/key")).expect("symlink");
    fs::hard_link(ground.base.join("home/.ssh/id"), ground.base.join("ws/second")).expect("hard link");
    let profile = ground.profile(&[
        (":root", Read),
        (":workspace_roots", Write),
        (":workspace_roots/link", Write),
        ("~/.ssh/id", Deny),
    ]);
    let confinement = profile.realise(&ground.place());
    assert!(!confinement.may_write(&ground.base.join("other/x")));
    for name in ["key", "second"] {
        assert!(!confinement.may_read(&ground.base.join("ws").join(name)), "{name}");
    }
}

#[test]
fn grants_open_just_what_they_name() {
    let ground = Ground::new();
    let at = |path: &str| ground.base.join(path);
    let profile = ground.profile(&[
        (":root", Read),
        (":workspace_roots", Write),
        ("~/.ssh", Deny),
        ("BASE/other", Deny),
    ]);
    let before = profile.realise(&ground.place());
    assert!(!before.may_write(&at("extra/x")) && !before.may_write(&at("ws/.git/HEAD")));

    let after = before.clone().with(&[Permission::Write { path: at("extra") }]);
    assert!(after.may_write(&at("extra/x")) && !after.may_write(&at("extra/.git/config")));
    let after = before.clone().with(&[Permission::GitMetadata { repository: at("ws") }]);
    assert!(after.may_write(&at("ws/.git/index")) && after.may_write(&at("ws/.git/HEAD")));
    for closed in ["ws/.git/hooks/pre-commit", "ws/.git/config", "ws/.codex/x"] {
        assert!(!after.may_write(&at(closed)), "{closed}");
    }
    let after = before.clone().with(&[Permission::Read {
        path: at("home/.ssh/id"),
    }]);
    assert!(after.may_read(&at("home/.ssh/id")) && !after.may_read(&at("other/x")));
    let after = before.clone().with(&[Permission::Read { path: at("other/deep") }]);
    assert!(after.may_read(&at("other/deep/y")) && !after.may_read(&at("other/x")));
    assert!(!after.may_write(&at("other/deep/y")));

    // What has become a link meanwhile is not what was granted.
    fs::rename(at("extra"), at("moved")).expect("rename");
    symlink(at("other"), at("extra")).expect("symlink");
    let after = before.clone().with(&[Permission::Write { path: at("extra") }]);
    assert!(!after.may_write(&at("other/x")) && !after.may_write(&at("extra/x")));

    let after = before.with(&[
        Permission::Host {
            host: "a.org".to_owned(),
            port: Some(443),
        },
        Permission::LoopbackPort { port: 8080 },
    ]);
    let walls = after.walls().expect("walls");
    assert_eq!((walls.network, &walls.loopback_ports[..]), (false, &[8080][..]));
    assert_eq!(walls.hosts, [("a.org".to_owned(), Some(443))]);
    assert!(after.with(&[Permission::Network]).network());
}

/// A home folder, and what holds it, is not opened by work in it: who names it means it.
#[test]
fn a_home_folder_is_opened_by_its_name_only() {
    let ground = Ground::new();
    let at = |name: &str| match name {
        "/" => PathBuf::from("/"),
        name => ground.base.join(name),
    };
    fs::create_dir_all(at("home/project")).expect("mkdir");
    symlink(at("home"), at("link")).expect("symlink");
    let no_names: &[&str] = &[];
    for (cwd, roots, named, opened) in [
        ("ws", no_names, no_names, &["ws"][..]),
        ("home/project", &[], &[], &["home/project"]),
        ("home", &[], &[], &[]),
        ("link", &[], &[], &[]),
        ("", &[], &[], &[]),
        ("/", &[], &[], &[]),
        ("ws", &["home", "/", "home/project"], &[], &["home/project", "ws"]),
        ("home", &[], &["home"], &["home"]),
    ] {
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: named.iter().map(|name| at(name)).collect(),
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        };
        let place = Place {
            cwd: at(cwd),
            runtime_roots: roots.iter().map(|name| at(name)).collect(),
            ..ground.place()
        };
        let confinement = Profile::of_policy(&policy).realise(&place);
        let mut found = confinement.writable_roots().to_vec();
        found.sort();
        let opened: Vec<PathBuf> = opened.iter().map(|name| at(name)).collect();
        assert_eq!(found, opened, "{cwd} {roots:?} {named:?}");
    }
}
