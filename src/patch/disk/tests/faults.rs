//! Every step of an application made to fail, and the process killed before every step: the tree is wholly before, or,
//! once all was in place, wholly after.

use super::*;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

/// Tells the process that is to die what to do: the step, what is odd about the disk, and the transaction's file.
const VICTIM: &str = "COUNTERSIGN_TEST_VICTIM";

pub(super) fn fails(step: usize) -> Fault {
    Fault {
        fails: Some(step),
        ..Fault::default()
    }
}

/// What is odd about the disk, by name.
fn odd(name: &str) -> Fault {
    Fault {
        linkless: name == "linkless",
        foreign: name == "foreign",
        apart: name == "apart",
        ..Fault::default()
    }
}

/// A tree with one of everything, and what is to be done to it.
struct Play {
    world: World,
    transaction: Transaction,
    /// What is placed, and the journal.
    store: World,
}

impl Play {
    fn new(oddity: &str) -> Self {
        let store = World::new(&[("raw", "raw\n")]);
        fs::write(store.path("raw"), [0xff, 0, 0xfe, b'\n']).unwrap();
        fs::create_dir(store.path("journal")).unwrap();
        let files = [
            "a", "edited", "mode", "gone", "moved", "renamed", "sub/e", "placed", "linked",
        ];
        let files = files.map(|name| (name, "before\n"));
        let world = World::new(&files);
        for (name, mode) in [("a", 0o755), ("gone", 0o640), ("moved", 0o751), ("placed", 0o600)] {
            fs::set_permissions(world.path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        #[cfg(target_os = "linux")]
        for name in ["a", "gone", "sub/e"] {
            use rustix::fs::{XattrFlags, setxattr};
            let _ = setxattr(world.path(name), "user.note", b"kept", XattrFlags::empty());
        }
        let _only_root = std::os::unix::fs::chown(world.path("edited"), Some(1234), Some(2345));
        symlink("nowhere", world.path("link")).unwrap();
        symlink("sub/e", world.path("link gone")).unwrap();
        fs::create_dir(world.path("empty")).unwrap();
        let before = || Expect::of(Some("before\n"));
        let leads = |target: &str| Expect::Link { target: target.into() };
        let place = |name: &str, content, expect| DiskChange::Place {
            path: world.path(name),
            content,
            expect,
        };
        let raw = |mode| Content::File {
            from: store.path("raw"),
            mode,
        };
        let mut changes = vec![
            world.write("a", "after, and longer than before\n"),
            world.write("x/y/new", "new\n"),
            DiskChange::Edit {
                path: world.path("edited"),
                edits: vec![(0..6, "x".to_owned())],
                expect: before(),
                mode: None,
            },
            DiskChange::Edit {
                path: world.path("mode"),
                edits: vec![],
                expect: before(),
                mode: Some(0o700),
            },
            world.remove("gone"),
            world.rename("moved", "z/moved", "after\n"),
            world.rename("renamed", "z/w/renamed", "before\n"),
            world.write("sub/e", "after\n"),
        ];
        // What has other links, or none of its own, is never rewritten in place.
        if oddity != "foreign" {
            fs::hard_link(world.path("a"), world.path("other name")).unwrap();
            changes.extend([
                place("placed", raw(0o640), before()),
                place("x/placed", raw(0o755), Expect::Absent),
                place("linked", Content::Link { target: "a".into() }, before()),
                place("link", Content::Link { target: "b".into() }, leads("nowhere")),
                DiskChange::Remove {
                    path: world.path("link gone"),
                    expect: leads("sub/e"),
                },
            ]);
        }
        let transaction = Transaction {
            tidy: vec![world.path("empty")],
            journal: Some(store.path("journal/.countersign-1.journal")),
            ..world.transaction(changes)
        };
        Self {
            world,
            transaction,
            store,
        }
    }

    fn recover(&self) -> Vec<Recovery> {
        recover(&self.store.path("journal"), Some(&self.transaction.roots))
    }

    fn journals(&self) -> usize {
        fs::read_dir(self.store.path("journal")).unwrap().count()
    }
}

/// Without what differs between a file and its copy.
fn shown(state: &BTreeMap<PathBuf, (u32, u64, String)>) -> Vec<(PathBuf, u32, String)> {
    state
        .iter()
        .map(|(path, (mode, _, content))| (path.clone(), *mode, content.clone()))
        .collect()
}

/// Shows S-149.
#[test]
fn whichever_step_fails_the_tree_is_as_it_was() {
    for oddity in ["", "linkless", "foreign", "apart"] {
        for hold in [false, true] {
            let mut play = Play::new(oddity);
            play.transaction.hold = hold;
            let before = play.world.state();
            let mut step = 0;
            loop {
                let fault = Fault {
                    fails: Some(step),
                    ..odd(oddity)
                };
                match commit_with(&play.transaction, fault) {
                    Ok(()) => break,
                    Err(CommitError::Io { message, .. }) => assert_eq!(message, "injected fault"),
                    Err(other) => panic!("{oddity} {step}: {other:?}"),
                }
                let now = play.world.state();
                match oddity {
                    // A copy comes back as another file.
                    "linkless" => assert_eq!(shown(&now), shown(&before), "step {step}"),
                    _ => assert_eq!(now, before, "{oddity} step {step}"),
                }
                assert_eq!(play.journals(), 0, "{oddity} step {step}");
                step += 1;
            }
            assert!(step > 40, "{step}");
            let after = play.world.state();
            assert_ne!(shown(&after), shown(&before));
            if hold {
                assert_eq!(play.journals(), 1);
                settle(play.transaction.journal.as_ref().unwrap(), false).unwrap();
                let now = play.world.state();
                match oddity {
                    "linkless" => assert_eq!(shown(&now), shown(&before)),
                    _ => assert_eq!(now, before, "{oddity}"),
                }
            } else {
                assert_tidy(&play);
            }
            assert_eq!(play.journals(), 0);
        }
    }
}

fn assert_tidy(play: &Play) {
    let state = play.world.state();
    let left: Vec<_> = state
        .keys()
        .filter(|path| path.display().to_string().contains(".countersign-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!play.world.path("empty").exists());
}

#[test]
fn a_held_transaction_stands_once_it_is_said_so() {
    for by_hand in [false, true] {
        let mut play = Play::new("");
        play.transaction.hold = true;
        let journal = play.transaction.journal.clone().unwrap();
        let lock = hold_journal(&journal).unwrap();
        commit(&play.transaction).unwrap();
        // Whoever is at work with it is not disturbed.
        assert_eq!(play.recover()[0].did, Did::Nothing);
        let held = play.world.state();
        if by_hand {
            // The server says so itself and dies before anybody has cleaned up.
            mark_committed(&journal).unwrap();
            drop(lock);
            assert_eq!(play.recover()[0].did, Did::Finished);
        } else {
            settle(&journal, true).unwrap();
            drop(lock);
        }
        assert_tidy(&play);
        let clean = held
            .into_iter()
            .filter(|(path, _)| !path.display().to_string().contains(".countersign-") && !path.ends_with("empty"));
        assert_eq!(play.world.state(), clean.collect());
        assert_eq!(play.journals(), 0);
    }
    let world = World::new(&[]);
    let transaction = Transaction {
        hold: true,
        ..world.transaction(vec![world.write("a", "x")])
    };
    assert!(
        commit(&transaction)
            .unwrap_err()
            .to_string()
            .contains("needs a journal")
    );
    assert!(settle(&world.path("none"), false).is_err());
}

/// The process that dies; alone it has nothing to do.
#[test]
fn victim() {
    let Ok(order) = std::env::var(VICTIM) else { return };
    let (step, rest) = order.split_once(' ').unwrap();
    let (oddity, file) = rest.split_once(' ').unwrap();
    let fault = Fault {
        kills: Some(step.parse().unwrap()),
        ..odd(oddity)
    };
    let transaction: Transaction = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    commit_with(&transaction, fault).unwrap();
}

/// True if the process was killed before this step, false if it came to its end.
fn kill_at(play: &Play, oddity: &str, step: usize) -> bool {
    let order = play.store.path("order");
    fs::write(&order, serde_json::to_vec(&play.transaction).unwrap()).unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "patch::disk::tests::faults::victim", "--test-threads=1"])
        .env(VICTIM, format!("{step} {oddity} {}", order.display()))
        .output()
        .unwrap()
        .status;
    assert!(status.success() || status.signal() == Some(9), "{status}");
    !status.success()
}

/// Shows S-149.
#[test]
fn whenever_the_process_is_killed_recovery_leaves_the_tree_whole() {
    for (oddity, hold) in [
        ("", false),
        ("", true),
        ("linkless", false),
        ("foreign", false),
        ("apart", false),
    ] {
        let after = {
            let play = Play::new(oddity);
            commit_with(&play.transaction, odd(oddity)).unwrap();
            let root = play.world.dir.path().to_owned();
            let inside = move |path: &Path| path.strip_prefix(&root).unwrap().to_owned();
            shown(&play.world.state())
                .into_iter()
                .map(|(path, mode, content)| (inside(&path), mode, content))
                .collect::<Vec<_>>()
        };
        let mut play = Play::new(oddity);
        play.transaction.hold = hold;
        let mut before = play.world.state();
        for step in 0.. {
            let killed = kill_at(&play, oddity, step);
            let journals = play.journals();
            let recovered = play.recover();
            assert_eq!(recovered.len(), journals);
            assert!(
                recovered.iter().all(|one| one.kept.is_empty()),
                "{oddity} {step}: {recovered:?}"
            );
            assert_eq!(play.journals(), 0, "{oddity} {step}");
            assert_eq!(play.recover(), [], "nothing is left to do");
            let now = play.world.state();
            if killed || hold {
                assert_eq!(shown(&now), shown(&before), "{oddity} step {step}");
                if oddity != "linkless" {
                    assert_eq!(now, before, "{oddity} step {step}");
                }
                before.clone_from(&now);
            }
            if !killed {
                if !hold {
                    let root = play.world.dir.path();
                    let now: Vec<_> = shown(&now)
                        .into_iter()
                        .map(|(path, mode, content)| (path.strip_prefix(root).unwrap().to_owned(), mode, content))
                        .collect();
                    assert_eq!(now, after, "{oddity}");
                    assert_tidy(&play);
                }
                assert!(step > 40, "{step}");
                break;
            }
        }
    }
}

/// What somebody wrote between the death and the recovery.
#[test]
fn recovery_overwrites_nothing_that_was_changed_since() {
    type Meddle = fn(&World);
    let rows: [(&str, Meddle, &str, Option<&str>); 6] = [
        (
            "written over",
            |world| fs::write(world.path("a"), "mine\n").unwrap(),
            "a",
            Some("mine\n"),
        ),
        (
            "replaced",
            |world| {
                fs::write(world.path("t"), "mine\n").unwrap();
                fs::rename(world.path("t"), world.path("a")).unwrap();
            },
            "a",
            Some("mine\n"),
        ),
        ("removed", |world| fs::remove_file(world.path("a")).unwrap(), "a", None),
        (
            "made anew",
            |world| fs::write(world.path("gone"), "mine\n").unwrap(),
            "gone",
            Some("mine\n"),
        ),
        (
            "added to what was new",
            |world| fs::write(world.path("x/y/new"), "mine\n").unwrap(),
            "x/y/new",
            Some("mine\n"),
        ),
        (
            "put at the place of what moved",
            |world| fs::write(world.path("renamed"), "mine\n").unwrap(),
            "renamed",
            Some("mine\n"),
        ),
    ];
    for (name, meddle, file, mine) in rows {
        let mut play = Play::new("");
        play.transaction.hold = true;
        commit(&play.transaction).unwrap();
        meddle(&play.world);
        let recovered = play.recover();
        let [recovery] = &recovered[..] else {
            panic!("{recovered:?}")
        };
        assert_eq!(recovery.did, Did::TookBack);
        let [kept] = &recovery.kept[..] else {
            panic!("{name}: {recovery:?}")
        };
        assert_eq!(kept.path, play.world.path(file), "{name}");
        assert_eq!(play.world.read(file).as_deref(), mine, "{name}");
        let words = recovery.in_words().unwrap();
        assert!(words.contains(file) && words.contains("has been undone"), "{words}");
        if let Some(copy) = &kept.copy {
            assert_eq!(fs::read_to_string(copy).unwrap(), "before\n", "{name}");
            assert!(words.contains(&copy.display().to_string()), "{words}");
        }
        assert_eq!(
            play.world.read("sub/e").unwrap(),
            "before\n",
            "all others are as before"
        );
        assert_eq!(play.recover(), [], "told once");
        // The same text as before is no loss.
        let mut play = Play::new("");
        play.transaction.hold = true;
        commit(&play.transaction).unwrap();
        fs::write(play.world.path("gone"), "before\n").unwrap();
        assert_eq!(play.recover()[0].kept, []);
    }
}

thread_local! {
    /// The file that somebody else is at.
    static MEDDLED: std::cell::RefCell<PathBuf> = const { std::cell::RefCell::new(PathBuf::new()) };
}

/// Somebody writes while a transaction is under way: at whatever step, their text is there at the end, and either all
/// the rest is as before, or all of it is done.
#[test]
fn a_change_while_we_write_is_never_lost() {
    fn at(act: impl FnOnce(&Path)) {
        MEDDLED.with_borrow(|path| act(path));
    }
    type Way = (&'static str, &'static str, fn(), &'static str);
    let ways: [Way; 4] = [
        (
            "writes over",
            "d/a",
            || at(|path| fs::write(path, "mine\n").unwrap()),
            "mine\n",
        ),
        (
            "adds to",
            "d/a",
            || {
                at(|path| {
                    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
                    std::io::Write::write_all(&mut file, b"mine\n").unwrap();
                });
            },
            "mine\n",
        ),
        (
            "makes",
            "d/new",
            || at(|path| fs::write(path, "mine\n").unwrap()),
            "mine\n",
        ),
        (
            "writes over what goes",
            "d/gone",
            || at(|path| fs::write(path, "mine\n").unwrap()),
            "mine\n",
        ),
    ];
    for (name, file, meddle, mine) in ways {
        for step in 0.. {
            let world = World::new(&[("d/a", "a\n"), ("d/gone", "g\n"), ("e/b", "b\n")]);
            MEDDLED.set(world.path(file));
            let transaction = world.transaction(vec![
                world.write("d/a", "A\n"),
                world.write("d/new", "N\n"),
                world.remove("d/gone"),
                world.write("e/b", "B\n"),
            ]);
            let fault = Fault {
                meddles: Some((step, meddle)),
                ..Fault::default()
            };
            let result = commit_with(&transaction, fault);
            let found = world.read(file);
            if found.is_none_or(|text| !text.ends_with(mine)) {
                // It was done before anybody came.
                assert!(result.is_ok() && step > 20, "{name} at {step}: {result:?}");
                break;
            }
            let others = [
                ("d/a", Some("a\n"), Some("A\n")),
                ("d/new", None, Some("N\n")),
                ("d/gone", Some("g\n"), None),
                ("e/b", Some("b\n"), Some("B\n")),
            ];
            for (other, before, after) in others.iter().filter(|(other, ..)| *other != file) {
                let wanted = if result.is_ok() { after } else { before };
                assert_eq!(
                    world.read(other).as_deref(),
                    *wanted,
                    "{name} at {step}: {other} {result:?}"
                );
            }
            match result {
                Ok(()) => {}
                Err(CommitError::Stale { path, .. }) => assert_eq!(path, world.path(file), "{name} at {step}"),
                // What it was before is kept, since it cannot be told from theirs.
                Err(CommitError::Stuck { kept, .. }) => assert_eq!(kept[0].path, world.path(file), "{name} at {step}"),
                Err(other) => panic!("{name} at {step}: {other:?}"),
            }
        }
    }
}

/// Journals that somebody else wrote, or that were not written to their end.
#[test]
fn journals_are_trusted_only_as_far_as_they_go() {
    let outside = World::new(&[("a", "mine\n"), ("b", "other\n")]);
    let world = World::new(&[]);
    let stamp = |name: &str| {
        serde_json::to_string(&system::Stamp::of(&fs::symlink_metadata(outside.path(name)).unwrap())).unwrap()
    };
    let json = |path: PathBuf| serde_json::to_string(&path).unwrap();
    let begun = |roots: &Path, version: u32| {
        format!(
            r#"{{"type":"begun","version":{version},"roots":[{}],"folders":[],"files":[],"tidy":[]}}"#,
            json(roots.to_owned())
        )
    };
    let step = format!(
        r#"{{"type":"ready","folders":[],"steps":[{{"type":"replace","path":{},"new":{},"backup":{},"before":{},"after":{}}}]}}"#,
        json(outside.path("a")),
        json(outside.path("none")),
        json(outside.path("b")),
        stamp("b"),
        stamp("a")
    );
    let rows = [
        (String::new(), false),
        ("{\"type\":\"begun\",\"ver".to_owned(), false),
        ("\0\0\0\n".to_owned(), false),
        ("no journal\n".to_owned(), true),
        (format!("{step}\n"), true),
        (format!("{}\n", begun(world.dir.path(), 2)), true),
        (format!("{}\n{step}\n", begun(world.dir.path(), 1)), true),
        (format!("{}\n{step}\n", begun(Path::new("/"), 1)), true),
        // The second line is not whole: nothing was touched.
        (format!("{}\n{step}", begun(world.dir.path(), 1)), false),
        (format!("{}\n{step}x\n", begun(world.dir.path(), 1)), true),
    ];
    for (text, doubtful) in rows {
        let journal = world.path(".countersign-1.journal");
        fs::write(&journal, &text).unwrap();
        let before = outside.state();
        let recovered = recover(world.dir.path(), Some(&[world.dir.path().to_owned()]));
        assert_eq!(outside.state(), before, "{text}");
        assert_eq!(recovered.len(), 1, "{text}");
        assert_eq!(
            matches!(recovered[0].did, Did::Failed { .. }),
            doubtful,
            "{text} {recovered:?}"
        );
        assert_eq!(journal.exists(), doubtful, "{text}");
        assert_eq!(recovered[0].in_words().is_some(), doubtful);
        let _ = fs::remove_file(&journal);
    }
    // Names that are none of ours, and links, are not looked at.
    fs::write(world.path("other.journal"), begun(Path::new("/"), 1)).unwrap();
    symlink(outside.path("a"), world.path(".countersign-2.journal")).unwrap();
    assert_eq!(recover(world.dir.path(), None), []);
}

#[test]
fn a_journal_is_made_once_and_where_it_can_be() {
    let world = World::new(&[("file", "x"), ("a", "1\n")]);
    let home = world.path("home");
    let path = journal_path(Some(&home), world.dir.path());
    assert!(path.starts_with(home.join("journal")) && home.join("journal").is_dir());
    let otherwise = journal_path(Some(&world.path("file/home")), world.dir.path());
    assert_eq!(otherwise.parent().unwrap(), world.dir.path());
    assert_eq!(journal_path(None, world.dir.path()).parent().unwrap(), world.dir.path());
    fs::write(&path, "there already\n").unwrap();
    let before = world.state();
    for journal in [path, world.path("no folder/journal")] {
        let transaction = Transaction {
            journal: Some(journal.clone()),
            ..world.transaction(vec![world.write("a", "2\n")])
        };
        let error = commit(&transaction).unwrap_err().to_string();
        assert!(
            error.contains(&journal.display().to_string()) && error.contains("journal"),
            "{error}"
        );
        assert_eq!(world.state(), before);
    }
}

/// Two at once: one of them, or none, and each of its files.
#[test]
fn two_at_once_do_not_mix() {
    for round in 0..300 {
        let world = World::new(&[("d/a", "0\n"), ("e/b", "0\n")]);
        let both = [["d/a", "e/b"], ["e/b", "d/a"]];
        let transactions: Vec<Transaction> = ["1\n", "2\n"]
            .iter()
            .zip(&both[round % 2..].iter().cycle().take(2).collect::<Vec<_>>())
            .map(|(text, names)| world.transaction(names.iter().map(|name| world.write(name, text)).collect()))
            .collect();
        let start = std::sync::Barrier::new(2);
        let results: Vec<Result<(), CommitError>> = std::thread::scope(|scope| {
            let work = |transaction| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    commit(transaction)
                })
            };
            let handles: Vec<_> = transactions.iter().map(work).collect();
            handles.into_iter().map(|handle| handle.join().unwrap()).collect()
        });
        let wanted = match (&results[0], &results[1]) {
            (Ok(()), Err(_)) => "1\n",
            (Err(_), Ok(())) => "2\n",
            (Err(_), Err(_)) => "0\n",
            (Ok(()), Ok(())) => panic!("both from the same text"),
        };
        let found = ["d/a", "e/b"].map(|name| world.read(name).unwrap());
        assert_eq!(found, [wanted, wanted], "round {round}: {results:?}");
        for result in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(matches!(result, CommitError::Stale { .. }), "{result:?}");
        }
        assert!(
            world
                .state()
                .keys()
                .all(|path| !path.display().to_string().contains(".countersign-"))
        );
    }
}
