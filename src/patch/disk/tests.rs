use super::role::{apply_role, read_outcome};
use super::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use tempfile::TempDir;

mod faults;

/// Ends the process as nothing else does: no destructor, no handler.
pub(super) fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    unreachable!("the signal cannot be held off")
}

/// A folder that is the only root.
struct World {
    dir: TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let world = Self {
            dir: TempDir::new().unwrap(),
        };
        for (name, text) in files {
            let path = world.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn write(&self, name: &str, text: &str) -> DiskChange {
        let path = self.path(name);
        let expect = Expect::of(fs::read_to_string(&path).ok().as_deref());
        DiskChange::Write {
            path,
            text: text.into(),
            expect,
            mode: None,
        }
    }

    fn remove(&self, name: &str) -> DiskChange {
        let path = self.path(name);
        let expect = Expect::of(self.read(name).as_deref());
        DiskChange::Remove { path, expect }
    }

    fn rename(&self, from: &str, to: &str, text: &str) -> DiskChange {
        let expect = Expect::of(self.read(from).as_deref());
        DiskChange::Move {
            from: self.path(from),
            to: self.path(to),
            text: text.into(),
            expect,
            mode: None,
        }
    }

    fn transaction(&self, changes: Vec<DiskChange>) -> Transaction {
        Transaction {
            roots: vec![self.dir.path().to_owned()],
            changes,
            ..Transaction::default()
        }
    }

    fn commit(&self, changes: Vec<DiskChange>) -> Result<(), CommitError> {
        commit(&self.transaction(changes))
    }

    /// Everything that is there: mode, inode, and owner, attribute, and content or target.
    fn state(&self) -> BTreeMap<PathBuf, (u32, u64, String)> {
        let mut state = BTreeMap::new();
        let mut open = vec![self.dir.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let content = if meta.is_dir() {
                    open.push(path.clone());
                    String::new()
                } else if meta.is_file() {
                    String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
                } else {
                    fs::read_link(&path).unwrap_or_default().display().to_string()
                };
                let (uid, gid, note) = (meta.uid(), meta.gid(), note(&path));
                state.insert(path, (meta.mode(), meta.ino(), format!("{uid}:{gid} {note} {content}")));
            }
        }
        state
    }
}

/// An attribute of the person's own.
fn note(path: &Path) -> String {
    #[cfg(target_os = "linux")]
    {
        let mut value = [0u8; 64];
        let length = rustix::fs::lgetxattr(path, "user.note", &mut value[..]).unwrap_or(0);
        String::from_utf8_lossy(&value[..length]).into_owned()
    }
    #[cfg(not(target_os = "linux"))]
    String::new()
}

fn refused(result: Result<(), CommitError>) -> String {
    match result {
        Err(error @ CommitError::Refused { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "edits that no text has")]
fn edits_replace_bytes_of_what_is_there() {
    let before = "one\ntwo é\nthree\n";
    let edit = |path: PathBuf, expect: &str, edits: &[(Range<usize>, &str)]| DiskChange::Edit {
        path,
        expect: Expect::of(Some(expect)),
        mode: None,
        edits: edits
            .iter()
            .map(|(range, new)| (range.clone(), (*new).to_owned()))
            .collect(),
    };
    type Row<'t> = (&'t [(Range<usize>, &'t str)], Option<&'t str>);
    let rows: &[Row<'_>] = &[
        (&[], Some(before)),
        (&[(0..4, "1\n")], Some("1\ntwo é\nthree\n")),
        (
            &[(0..0, "0\n"), (4..11, ""), (17..17, "4\n")],
            Some("0\none\nthree\n4\n"),
        ),
        (&[(4..11, "a"), (11..17, "b")], Some("one\nab")),
        (&[(8..9, "into a character")], None),
        (&[(4..8, "overlaps"), (6..10, "")], None),
        (&[(10..11, "not in order"), (0..1, "")], None),
        (&[(16..18, "out of it")], None),
        (&[(9..8, "backwards")], None),
    ];
    for (edits, after) in rows {
        let world = World::new(&[("a", before), ("b", "2\n")]);
        let (a, untouched) = (world.path("a"), world.state());
        let result = world.commit(vec![world.write("b", "two\n"), edit(a.clone(), before, edits)]);
        match after {
            Some(after) => {
                result.unwrap();
                assert_eq!(fs::read_to_string(&a).unwrap(), *after);
                assert_eq!(fs::read_to_string(world.path("b")).unwrap(), "two\n");
            }
            None => {
                assert!(refused(result).contains("its edits do not fit the text"), "{edits:?}");
                assert_eq!(world.state(), untouched);
            }
        }
    }
    let world = World::new(&[("a", before)]);
    for (path, expect) in [("a", "another text\n"), ("missing", before)] {
        let result = world.commit(vec![edit(world.path(path), expect, &[(0..1, "x")])]);
        assert!(matches!(result, Err(CommitError::Stale { .. })), "{result:?}");
    }
    let absent = DiskChange::Edit {
        path: world.path("absent"),
        edits: Vec::new(),
        expect: Expect::Absent,
        mode: None,
    };
    assert!(matches!(world.commit(vec![absent]), Err(CommitError::Stale { .. })));
    assert_eq!(fs::read_to_string(world.path("a")).unwrap(), before);
}

/// Shows S-145, S-146.
#[test]
fn writes_makes_removes_and_moves() {
    let world = World::new(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n"), ("e", "5\n")]);
    world
        .commit(vec![
            world.write("a", "one\n"),
            world.write("new/deep/d", "four\n"),
            world.remove("b"),
            world.rename("c", "moved/c", "three\n"),
            world.rename("e", "moved/e", "5\n"),
            world.write("empty", ""),
        ])
        .unwrap();
    let files: Vec<_> = world
        .state()
        .into_keys()
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    let expected = [
        ("a", "one\n"),
        ("empty", ""),
        ("moved/c", "three\n"),
        ("moved/e", "5\n"),
        ("new/deep/d", "four\n"),
    ];
    assert_eq!(files, expected.map(|(name, text)| (world.path(name), text.to_owned())));
}

#[test]
fn keeps_modes_and_attributes() {
    let world = World::new(&[("run", "1\n"), ("secret", "2\n"), ("moved", "3\n")]);
    let set = |name: &str, mode| fs::set_permissions(world.path(name), fs::Permissions::from_mode(mode)).unwrap();
    set("run", 0o755);
    set("secret", 0o600);
    set("moved", 0o751);
    #[cfg(target_os = "linux")]
    let has_attributes = {
        let file = fs::File::open(world.path("run")).unwrap();
        rustix::fs::fsetxattr(&file, "user.note", b"kept", rustix::fs::XattrFlags::empty()).is_ok()
    };
    let scripted = DiskChange::Write {
        path: world.path("new"),
        text: "#!\n".into(),
        expect: Expect::Absent,
        mode: Some(0o755),
    };
    world
        .commit(vec![
            world.write("run", "one\n"),
            world.write("secret", "two\n"),
            world.rename("moved", "d/there", "three\n"),
            scripted,
        ])
        .unwrap();
    let mode = |name: &str| fs::metadata(world.path(name)).unwrap().mode() & 0o7777;
    assert_eq!(
        [mode("run"), mode("secret"), mode("d/there"), mode("new")],
        [0o755, 0o600, 0o751, 0o755]
    );
    #[cfg(target_os = "linux")]
    if has_attributes {
        let file = fs::File::open(world.path("run")).unwrap();
        let mut value = [0u8; 16];
        let length = rustix::fs::fgetxattr(&file, "user.note", &mut value[..]).unwrap();
        assert_eq!(&value[..length], b"kept");
    }
}

#[test]
fn modes_are_set_where_they_are_wanted() {
    let world = World::new(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n"), ("d", "4\n"), ("e", "5\n")]);
    let set = |name: &str, mode| fs::set_permissions(world.path(name), fs::Permissions::from_mode(mode)).unwrap();
    let mode = |name: &str| fs::metadata(world.path(name)).unwrap().mode() & 0o7777;
    for name in ["a", "b", "c", "d", "e"] {
        set(name, 0o640);
    }
    let with = |mut change: DiskChange, wanted: u32| {
        match &mut change {
            DiskChange::Write { mode, .. } | DiskChange::Edit { mode, .. } | DiskChange::Move { mode, .. } => {
                *mode = Some(wanted);
            }
            other => panic!("{other:?}"),
        }
        change
    };
    let edit = DiskChange::Edit {
        path: world.path("b"),
        edits: vec![],
        expect: Expect::of(Some("2\n")),
        mode: None,
    };
    world
        .commit(vec![
            with(world.write("a", "one\n"), 0o755),
            with(edit, 0o750),
            with(world.rename("c", "C/c", "3\n"), 0o700),
            with(world.rename("d", "C/d", "four\n"), 0o6755),
            with(world.rename("e", "C/e", "5\n"), 0o640),
            with(world.write("new", "n\n"), 0o711),
        ])
        .unwrap();
    assert_eq!(
        ["a", "b", "C/c", "C/d", "C/e", "new"].map(mode),
        [0o755, 0o750, 0o700, 0o6755, 0o640, 0o711]
    );
    assert_eq!(
        (world.read("b"), world.read("C/c")),
        (Some("2\n".into()), Some("3\n".into()))
    );
}

/// What snapshots put back: bytes of any kind, links, over files and links.
#[test]
fn bytes_and_links_are_placed() {
    let store = World::new(&[]);
    let world = World::new(&[("a", "1\n"), ("b", "2\n"), ("locked", "3\n"), ("locked too", "4\n")]);
    let raw = |path: PathBuf| fs::read(path).unwrap();
    let bytes: Vec<u8> = (0..200_000u32).map(|at| (at % 251) as u8).collect();
    fs::write(store.path("raw"), &bytes).unwrap();
    symlink("old", world.path("link")).unwrap();
    symlink("old", world.path("link too")).unwrap();
    symlink("/nowhere", world.path("dangling")).unwrap();
    for name in ["locked", "locked too"] {
        fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o444)).unwrap();
    }
    let file = |name: &str, mode, expect| DiskChange::Place {
        path: world.path(name),
        content: Content::File {
            from: store.path("raw"),
            mode,
        },
        expect,
    };
    let link = |name: &str, target: &str, expect| DiskChange::Place {
        path: world.path(name),
        content: Content::Link { target: target.into() },
        expect,
    };
    let leads = |target: &str| Expect::Link { target: target.into() };
    let text = |text: &str| Expect::of(Some(text));
    let locked = world.commit(vec![file("locked", 0o644, text("3\n"))]);
    assert!(refused(locked).contains("read-only"));
    let transaction = Transaction {
        restores: true,
        ..world.transaction(vec![
            file("a", 0o6711, text("1\n")),
            file("sub/new", 0o600, Expect::Absent),
            file("link", 0o644, leads("old")),
            file("locked", 0o444, text("3\n")),
            link("b", "a", text("2\n")),
            link("sub/fresh", "../../out", Expect::Absent),
            link("link too", "newer", leads("old")),
            DiskChange::Remove {
                path: world.path("dangling"),
                expect: leads("/nowhere"),
            },
            DiskChange::Remove {
                path: world.path("locked too"),
                expect: text("4\n"),
            },
        ])
    };
    commit(&transaction).unwrap();
    let mode = |name: &str| fs::symlink_metadata(world.path(name)).unwrap().mode();
    let regular = ["a", "sub/new", "link", "locked"];
    assert_eq!(regular.map(mode), [0o106_711, 0o100_600, 0o100_644, 0o100_444]);
    assert!(regular.iter().all(|name| raw(world.path(name)) == bytes));
    let target = |name: &str| fs::read_link(world.path(name)).unwrap();
    assert_eq!(
        ["b", "sub/fresh", "link too"].map(target),
        ["a", "../../out", "newer"].map(PathBuf::from)
    );
    assert!(fs::symlink_metadata(world.path("dangling")).is_err());
    assert!(fs::symlink_metadata(world.path("locked too")).is_err());
    assert_eq!(fs::read_dir(world.dir.path()).unwrap().count(), 6);
}

/// Bytes and links keep what they are under a new name, also on another disk; whatever fails, all is as it was.
#[test]
fn entries_are_renamed_as_they_are_or_not_at_all() {
    use std::os::unix::ffi::OsStrExt as _;
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9/no where"));
    let links = [
        ("link", Path::new("real")),
        ("to-folder", Path::new("folder")),
        ("odd", odd),
    ];
    for apart in [false, true] {
        let world = World::new(&[("real", "1\n"), ("folder/in", "2\n")]);
        fs::write(world.path("bytes"), [0xff, 0]).unwrap();
        fs::set_permissions(world.path("bytes"), fs::Permissions::from_mode(0o4750)).unwrap();
        let rename = |name: &str, expect| DiskChange::Rename {
            from: world.path(name),
            to: world.path("sub").join(name),
            expect,
        };
        let sha256 = content_hash(&[0xff, 0]);
        let mut changes = vec![rename("bytes", Expect::Content { sha256 })];
        for (name, target) in links {
            symlink(target, world.path(name)).unwrap();
            changes.push(rename(name, Expect::Link { target: target.into() }));
        }
        let transaction = world.transaction(changes);
        // Also a target that is no text comes to another process as it is.
        let decoded: Transaction = serde_json::from_slice(&serde_json::to_vec(&transaction).unwrap()).unwrap();
        assert_eq!(decoded, transaction);
        let before = world.state();
        for step in 0.. {
            let fault = Fault {
                fails: Some(step),
                apart,
                ..Fault::default()
            };
            match commit_with(&transaction, fault) {
                Ok(()) => break,
                Err(error) => assert_eq!(world.state(), before, "{step}: {error}"),
            }
        }
        for (name, target) in links {
            assert_eq!(fs::read_link(world.path("sub").join(name)).unwrap(), target, "{name}");
            assert!(fs::symlink_metadata(world.path(name)).is_err(), "{name}");
        }
        assert_eq!(fs::read(world.path("sub/bytes")).unwrap(), [0xff, 0]);
        let mode = fs::metadata(world.path("sub/bytes")).unwrap().mode() & 0o7777;
        assert_eq!(mode, 0o4750);
        assert_eq!(
            (world.read("real").unwrap(), world.read("folder/in").unwrap()),
            ("1\n".into(), "2\n".into())
        );
        // Never onto something that is there, and never what has become another thing.
        symlink("real", world.path("link")).unwrap();
        let occupied = world.commit(vec![rename("link", Expect::Link { target: "real".into() })]);
        assert!(
            matches!(
                occupied,
                Err(CommitError::Stale {
                    found: Found::Present,
                    ..
                }) | Err(CommitError::Refused { .. })
            ),
            "{occupied:?}"
        );
        let other = DiskChange::Rename {
            from: world.path("link"),
            to: world.path("elsewhere"),
            expect: Expect::Link {
                target: "folder".into(),
            },
        };
        let turned = world.commit(vec![other]);
        assert!(
            matches!(
                turned,
                Err(CommitError::Stale {
                    found: Found::Changed,
                    ..
                })
            ),
            "{turned:?}"
        );
    }
}

#[test]
fn links_are_replaced_only_where_they_are_expected() {
    let world = World::new(&[("file", "1\n")]);
    symlink("file", world.path("link")).unwrap();
    let before = world.state();
    let leads = |target: &str| Expect::Link { target: target.into() };
    let place = |name: &str, expect| DiskChange::Place {
        path: world.path(name),
        content: Content::Link { target: "x".into() },
        expect,
    };
    let stale = [
        (place("link", leads("other")), Found::Changed),
        (place("file", leads("file")), Found::Changed),
        (place("none", leads("file")), Found::Missing),
        (place("file", Expect::Absent), Found::Present),
    ];
    for (change, wanted) in stale {
        match world.commit(vec![change.clone()]) {
            Err(CommitError::Stale { found, .. }) => assert_eq!(found, wanted, "{change:?}"),
            other => panic!("{change:?}: {other:?}"),
        }
    }
    let edit = DiskChange::Edit {
        path: world.path("link"),
        edits: vec![],
        expect: leads("file"),
        mode: None,
    };
    let moved = DiskChange::Move {
        from: world.path("link"),
        to: world.path("to"),
        text: "1\n".into(),
        expect: leads("file"),
        mode: None,
    };
    let missing = DiskChange::Place {
        path: world.path("new"),
        content: Content::File {
            from: world.path("link"),
            mode: 0o644,
        },
        expect: Expect::Absent,
    };
    let through = place("link", Expect::of(Some("1\n")));
    for (change, words) in [
        (edit, "cannot be edited"),
        (moved, "cannot be moved"),
        (through, "acts on the link itself"),
    ] {
        assert!(
            refused(world.commit(vec![change.clone()])).contains(words),
            "{change:?}"
        );
    }
    let error = world.commit(vec![missing]).unwrap_err().to_string();
    assert!(error.contains(&world.path("link").display().to_string()), "{error}");
    assert_eq!(world.state(), before);
    let write = DiskChange::Write {
        path: world.path("link"),
        text: "text\n".into(),
        expect: leads("file"),
        mode: None,
    };
    world.commit(vec![write]).unwrap();
    assert_eq!(
        (world.read("file"), world.read("link")),
        (Some("1\n".into()), Some("text\n".into()))
    );
    assert!(fs::symlink_metadata(world.path("link")).unwrap().is_file());
}

#[test]
fn owner_and_group_are_kept() {
    let world = World::new(&[("a", "1\n")]);
    let path = world.path("a");
    // Only root may give files away; an ordinary person's files are their own anyway.
    let given = std::os::unix::fs::chown(&path, Some(12345), Some(23456)).is_ok();
    world.commit(vec![world.write("a", "one\n")]).unwrap();
    let meta = fs::metadata(&path).unwrap();
    if given {
        assert_eq!((meta.uid(), meta.gid()), (12345, 23456));
    }
    assert_eq!(world.read("a").unwrap(), "one\n");
}

#[test]
fn stale_expectations_stop_everything() {
    let world = World::new(&[("a", "1\n"), ("b", "2\n")]);
    let before = world.state();
    let path = world.path("b");
    let other = || Expect::of(Some("other\n"));
    let stale = [
        (
            DiskChange::Write {
                path: path.clone(),
                text: "x".into(),
                expect: other(),
                mode: None,
            },
            Found::Changed,
        ),
        (
            DiskChange::Write {
                path: path.clone(),
                text: "x".into(),
                expect: Expect::Absent,
                mode: None,
            },
            Found::Present,
        ),
        (
            DiskChange::Write {
                path: world.path("none"),
                text: "x".into(),
                expect: other(),
                mode: None,
            },
            Found::Missing,
        ),
        (
            DiskChange::Remove {
                path: path.clone(),
                expect: other(),
            },
            Found::Changed,
        ),
        (
            DiskChange::Remove {
                path: world.path("none"),
                expect: Expect::Absent,
            },
            Found::Missing,
        ),
        (
            DiskChange::Move {
                from: path.clone(),
                to: world.path("c"),
                text: "x".into(),
                expect: other(),
                mode: None,
            },
            Found::Changed,
        ),
        (
            DiskChange::Move {
                from: path.clone(),
                to: world.path("a"),
                text: "2\n".into(),
                expect: Expect::of(Some("2\n")),
                mode: None,
            },
            Found::Present,
        ),
    ];
    for (change, expected) in stale {
        let changes = match &change {
            DiskChange::Move { .. } => vec![change.clone()],
            _ => vec![world.write("a", "one\n"), change.clone()],
        };
        match world.commit(changes) {
            Err(CommitError::Stale { found, .. }) => assert_eq!(found, expected, "{change:?}"),
            other => panic!("{change:?}: {other:?}"),
        }
        assert_eq!(world.state(), before, "{change:?}");
    }
}

#[test]
fn links_out_of_the_roots_are_not_written_through() {
    let outside = World::new(&[("target", "mine\n"), ("linked", "mine\n")]);
    let world = World::new(&[("inside/a", "1\n")]);
    symlink(outside.path("target"), world.path("link")).unwrap();
    symlink(outside.dir.path(), world.path("folder")).unwrap();
    symlink(world.path("inside"), world.path("near")).unwrap();
    symlink(world.path("nowhere"), world.path("dangling")).unwrap();
    fs::hard_link(outside.path("linked"), world.path("hard")).unwrap();
    let (before, before_outside) = (world.state(), outside.state());

    let write = |name: &str| DiskChange::Write {
        path: world.path(name),
        text: "x".into(),
        expect: Expect::of(Some("mine\n")),
        mode: None,
    };
    assert!(refused(world.commit(vec![write("link")])).contains("symbolic link to"));
    assert!(refused(world.commit(vec![write("dangling")])).contains("symbolic link to"));
    for name in ["folder/target", "folder/new", "folder/deep/new"] {
        let error = world.commit(vec![write(name)]).unwrap_err();
        assert!(matches!(error, CommitError::Outside { .. }), "{error:?}");
        assert_eq!(error.denied(), Some(&world.path(name)));
    }
    let moved = DiskChange::Move {
        from: world.path("inside/a"),
        to: world.path("folder/a"),
        text: "1\n".into(),
        expect: Expect::of(Some("1\n")),
        mode: None,
    };
    assert!(matches!(world.commit(vec![moved]), Err(CommitError::Outside { .. })));
    let elsewhere = DiskChange::Write {
        path: outside.path("new"),
        text: "x".into(),
        expect: Expect::Absent,
        mode: None,
    };
    assert!(matches!(
        world.commit(vec![elsewhere]),
        Err(CommitError::Outside { .. })
    ));
    assert_eq!((world.state(), outside.state()), (before, before_outside.clone()));

    // A hard link from elsewhere keeps its text; a link inside is followed.
    world
        .commit(vec![
            write("hard"),
            world.write("near/b", "new\n"),
            world.write("inside/a", "one\n"),
        ])
        .unwrap();
    assert_eq!(outside.state(), before_outside);
    assert_eq!(
        (world.read("hard").unwrap(), world.read("inside/b").unwrap()),
        ("x".into(), "new\n".into())
    );
}

#[test]
fn refuses_what_is_no_file() {
    let world = World::new(&[("d/a", "1\n"), ("file", "1\n"), ("locked", "1\n")]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.path("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    assert!(fs::symlink_metadata(world.path("pipe")).unwrap().file_type().is_fifo());
    fs::set_permissions(world.path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
    let paths = || world.state().into_keys().collect::<Vec<_>>();
    let before = paths();
    let write = |path: PathBuf, expect| DiskChange::Write {
        path,
        text: "x".into(),
        expect,
        mode: None,
    };
    let one = || Expect::of(Some("1\n"));
    let rows = [
        (write(world.path("d"), Expect::Absent), "it is a folder"),
        (write(world.path("d"), one()), "it is a folder"),
        (
            DiskChange::Remove {
                path: world.path("d"),
                expect: one(),
            },
            "it is a folder",
        ),
        (write(world.path("pipe"), one()), "a pipe"),
        (write(world.path("file/below"), Expect::Absent), "is not a folder"),
        (write(world.path("file/deep/below"), Expect::Absent), "is not a folder"),
        (write(world.path("locked"), one()), "read-only"),
        (write(PathBuf::from("relative"), Expect::Absent), "not an absolute path"),
        (write(world.path("d/../x"), Expect::Absent), "not an absolute path"),
        (world.rename("file", "file", "1\n"), "onto itself"),
    ];
    for (change, reason) in rows {
        let message = refused(world.commit(vec![change.clone()]));
        assert!(message.contains(reason), "{change:?}: {message}");
    }
    let twice = refused(world.commit(vec![world.write("file", "a"), world.write("file", "b")]));
    assert!(twice.contains("named twice"), "{twice}");
    symlink(world.dir.path(), world.path("here")).unwrap();
    let twice = refused(world.commit(vec![world.write("file", "a"), world.write("here/file", "b")]));
    assert!(twice.contains("named twice"), "{twice}");
    let onto_itself = refused(world.commit(vec![world.rename("file", "here/file", "b")]));
    assert!(onto_itself.contains("onto itself"), "{onto_itself}");
    fs::remove_file(world.path("here")).unwrap();
    assert_eq!(paths(), before);
    assert_eq!(world.read("file").unwrap(), "1\n");
    // No roots, no writing.
    let nothing = Transaction {
        roots: vec![],
        changes: vec![world.write("file", "x")],
        ..Transaction::default()
    };
    assert!(matches!(commit(&nothing), Err(CommitError::Outside { .. })));
}

#[test]
fn names_that_differ_in_case_are_two_files_here() {
    let world = World::new(&[("readme", "1\n")]);
    world.commit(vec![world.rename("readme", "README", "2\n")]).unwrap();
    assert_eq!((world.read("readme"), world.read("README")), (None, Some("2\n".into())));
    fs::hard_link(world.path("README"), world.path("readme")).unwrap();
    world
        .commit(vec![world.write("README", "a\n"), world.write("readme", "b\n")])
        .unwrap();
    assert_eq!(
        (world.read("readme"), world.read("README")),
        (Some("b\n".into()), Some("a\n".into()))
    );
}

/// Shows S-149.
#[test]
fn a_failure_at_any_step_leaves_every_file_as_it_was() {
    let world = World::new(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n"), ("d", "4\n"), ("sub/e", "5\n")]);
    fs::set_permissions(world.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
    let changes = vec![
        world.write("a", "one\n"),
        world.write("x/y/new", "n\n"),
        world.remove("b"),
        world.rename("c", "z/c", "three\n"),
        world.rename("d", "z/d", "4\n"),
        world.write("sub/e", "five\n"),
    ];
    let transaction = world.transaction(changes);
    let before = world.state();
    let mut failures = 0;
    loop {
        match commit_with(&transaction, faults::fails(failures)) {
            Ok(()) => break,
            Err(CommitError::Io { message, .. }) => assert_eq!(message, "injected fault"),
            Err(other) => panic!("step {failures}: {other:?}"),
        }
        assert_eq!(world.state(), before, "step {failures}");
        failures += 1;
    }
    assert!(failures > 25, "{failures}");
    assert_eq!(world.read("a").unwrap(), "one\n");
    assert!(
        world
            .state()
            .keys()
            .all(|path| !path.display().to_string().contains(".countersign-"))
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let world = World::new(&[("a", "1\n"), ("closed/b", "2\n")]);
    fs::set_permissions(world.path("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    let before = world.state();
    let result = world.commit(vec![world.write("a", "x\n"), world.write("closed/b", "x\n")]);
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        // Permissions do not hold root.
        result.unwrap();
    } else {
        assert_eq!(result.unwrap_err().denied(), Some(&world.path("closed/b")));
        assert_eq!(world.state(), before);
    }
    fs::set_permissions(world.path("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    // A file system that nobody may write to.
    let proc = Path::new("/proc/self/new");
    if Path::new("/proc/self").exists() {
        let change = DiskChange::Write {
            path: proc.into(),
            text: "x".into(),
            expect: Expect::Absent,
            mode: None,
        };
        let result = commit(&Transaction {
            roots: vec!["/".into()],
            changes: vec![world.write("a", "y\n"), change],
            ..Transaction::default()
        });
        assert!(matches!(result, Err(CommitError::Io { .. })), "{result:?}");
        assert_ne!(world.read("a").unwrap(), "y\n");
    }
}

#[test]
fn planned_hunks_become_changes() {
    use crate::patch::{files::DiskFiles, parse::parse, plan::plan};
    let world = World::new(&[("a", "1\n2\n3\n"), ("gone", "x\n"), ("from", "f\n")]);
    fs::set_permissions(world.path("from"), fs::Permissions::from_mode(0o755)).unwrap();
    let text = "*** Begin Patch\n*** Update File: a\n@@\n-1\n+one\n 2\n-3\n+three\n*** Delete File: gone\n*** Update File: from\n*** Move to: to\n@@\n-f\n+F\n*** Add File: new\n+n\n*** End Patch";
    let planned = plan(&parse(text).unwrap(), world.dir.path(), &DiskFiles).unwrap();
    let decisions: [&[bool]; 4] = [&[false, true], &[true], &[true], &[false]];
    let changes: Vec<_> = planned
        .files
        .iter()
        .zip(decisions)
        .filter(|(_, accepted)| accepted.contains(&true))
        .map(|(file, accepted)| {
            let after = file.with(accepted);
            DiskChange::of(FilePlan { after, ..file.clone() })
        })
        .collect();
    assert_eq!(changes.len(), 3);
    world.commit(changes).unwrap();
    assert_eq!(world.read("a").unwrap(), "1\n2\nthree\n");
    assert_eq!(
        (world.read("gone"), world.read("from"), world.read("new")),
        (None, None, None)
    );
    assert_eq!(world.read("to").unwrap(), "F\n");
    assert_eq!(fs::metadata(world.path("to")).unwrap().mode() & 0o777, 0o755);
}

#[test]
fn the_disk_is_read_with_care() {
    use crate::patch::files::{DiskFiles, Files as _, MAX_FILE_BYTES, ReadError};
    let world = World::new(&[("a", "\u{feff}é\r\n"), ("d/b", "x")]);
    let read = |name: &str| DiskFiles.read(&world.path(name));
    assert_eq!(read("a").unwrap().unwrap().text, "\u{feff}é\r\n");
    assert_eq!(read("none").unwrap(), None);
    assert_eq!(read("none/deeper").unwrap(), None);
    assert!(matches!(read("d"), Err(ReadError::Folder)));
    assert!(matches!(read("a/below"), Err(ReadError::ParentIsFile)));
    fs::write(world.path("binary"), b"ab\xffc").unwrap();
    assert!(matches!(read("binary"), Err(ReadError::NotUtf8 { offset: 2, .. })));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.path("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    assert!(matches!(read("pipe"), Err(ReadError::Special)));
    symlink("a", world.path("link")).unwrap();
    assert!(matches!(read("link"), Err(ReadError::Link { target, .. }) if target == Path::new("a")));
    let large = fs::File::create(world.path("large")).unwrap();
    large.set_len(MAX_FILE_BYTES + 1).unwrap();
    assert!(matches!(read("large"), Err(ReadError::TooLarge { .. })));
    assert!(matches!(
        DiskFiles.read(Path::new("/dev/null")),
        Err(ReadError::Special)
    ));
}

#[test]
fn a_move_through_a_link_onto_itself_keeps_the_file() {
    use crate::patch::{files::DiskFiles, parse::parse, plan::plan};
    let world = World::new(&[("d/f", "1\n")]);
    symlink(world.path("d"), world.path("l")).unwrap();
    let text = "*** Begin Patch\n*** Update File: d/f\n*** Move to: l/f\n@@\n-1\n+2\n*** End Patch";
    let planned = plan(&parse(text).unwrap(), world.dir.path(), &DiskFiles).unwrap();
    let changes: Vec<_> = planned.files.iter().cloned().map(DiskChange::of).collect();
    world.commit(changes).unwrap();
    assert_eq!(world.read("d/f").unwrap(), "2\n");
}

#[test]
fn the_role_reads_and_answers_json() {
    let world = World::new(&[("a", "1\n")]);
    let run = |input: &[u8]| {
        let mut output = Vec::new();
        let status = apply_role(input, &mut output);
        (status, read_outcome(&output))
    };
    let transaction = world.transaction(vec![world.write("a", "é\r\n")]);
    let json = transaction.to_json().unwrap();
    assert_eq!(run(&json), (0, Ok(())));
    assert_eq!(world.read("a").unwrap(), "é\r\n");
    let (status, outcome) = run(&json);
    assert_eq!(status, 1);
    assert_eq!(
        outcome,
        Err(CommitError::Stale {
            path: world.path("a"),
            found: Found::Changed
        })
    );
    assert!(matches!(run(b"{"), (2, Err(CommitError::Role { .. }))));
    assert_eq!(read_outcome(b""), Err(CommitError::Died));
}
