//! The process that writes files, killed at every system call, and refused by the file system in every way: the tree is
//! wholly before or wholly after.

use crate::support::cannot;
use crate::support::client::{Client, Reply, ServerOptions};
use crate::support::work::{Setting, Work, entries, proposes};
use countersign::patch::disk::role::{Request, read_outcome, read_recovery};
use countersign::patch::disk::{CommitError, Content, Did, DiskChange, Expect, IoKind, Transaction, content_hash};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_countersign");

/// Starts a program with this on its standard input.
fn play(program: &str, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a program");
    // It may end without reading.
    let _ended = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("its end")
}

/// What is in a folder: kind and mode, and content or target.
type State = BTreeMap<PathBuf, (u32, Vec<u8>)>;

fn state(folder: &Path) -> State {
    let mut state = State::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = std::fs::symlink_metadata(&path).expect("an entry");
            let content = if meta.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else if meta.is_symlink() {
                std::fs::read_link(&path)
                    .expect("a link")
                    .into_os_string()
                    .into_encoded_bytes()
            } else if meta.is_file() {
                std::fs::read(&path).expect("a file")
            } else {
                Vec::new()
            };
            state.insert(path, (meta.mode(), content));
        }
    }
    state
}

/// A project with one of each, what is to become of it, and the folder of the journal.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self {
            dir: tempfile::tempdir().expect("a folder"),
        };
        for folder in ["project", "journal"] {
            std::fs::create_dir(scene.dir.path().join(folder)).expect("a folder");
        }
        scene.fill(&scene.project());
        scene
    }

    fn fill(&self, project: &Path) {
        for name in ["edited", "gone", "moved", "renamed"] {
            std::fs::write(project.join(name), "before\n").expect("a file");
        }
        let secret = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(project.join("gone"), secret).expect("a mode");
        symlink("nowhere", project.join("link")).expect("a link");
        symlink("nowhere", project.join("link-renamed")).expect("a link");
        symlink("nowhere", project.join("link-gone")).expect("a link");
        std::fs::write(project.join("bytes-renamed"), [0xff, 0x00]).expect("a file");
        std::fs::write(self.dir.path().join("raw"), [0xff, 0x00]).expect("a file");
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn journals(&self) -> PathBuf {
        self.dir.path().join("journal")
    }

    fn journal(&self) -> PathBuf {
        self.journals().join(".countersign-1.journal")
    }

    fn transaction(&self, project: &Path) -> Transaction {
        let before = || Expect::of(Some("before\n"));
        let nowhere = || Expect::Link {
            target: "nowhere".into(),
        };
        let path = |name: &str| project.join(name);
        let moved = |from: &str, to: &str, text: &str| DiskChange::Move {
            from: path(from),
            to: path(to),
            text: text.to_owned(),
            expect: before(),
            mode: None,
        };
        Transaction {
            roots: vec![project.to_owned()],
            journal: Some(self.journal()),
            changes: vec![
                DiskChange::Edit {
                    path: path("edited"),
                    edits: vec![(0..6, "after".to_owned())],
                    expect: before(),
                    mode: Some(0o755),
                },
                DiskChange::Write {
                    path: path("new/deep/file"),
                    text: "new\n".to_owned(),
                    expect: Expect::Absent,
                    mode: None,
                },
                DiskChange::Remove {
                    path: path("gone"),
                    expect: before(),
                },
                moved("moved", "sub/moved", "after\n"),
                moved("renamed", "sub/renamed", "before\n"),
                DiskChange::Rename {
                    from: path("link-renamed"),
                    to: path("sub/link"),
                    expect: nowhere(),
                },
                DiskChange::Rename {
                    from: path("bytes-renamed"),
                    to: path("sub/bytes"),
                    expect: Expect::Content {
                        sha256: content_hash(&[0xff, 0x00]),
                    },
                },
                DiskChange::Remove {
                    path: path("link-gone"),
                    expect: nowhere(),
                },
                DiskChange::Place {
                    path: path("link"),
                    content: Content::File {
                        from: self.dir.path().join("raw"),
                        mode: 0o600,
                    },
                    expect: nowhere(),
                },
            ],
            ..Transaction::default()
        }
    }

    fn recover(&self, prefix: &[&str]) -> Output {
        let request = Request::Recover {
            journal: self.journal(),
        };
        let input = request.to_json().expect("plain paths");
        let line: Vec<&str> = prefix.iter().copied().chain([PROGRAM, "--apply-role"]).collect();
        play(line[0], &line[1..], &input)
    }
}

/// The calls that change something. Not every system knows each of them by this name.
const CALLS: &str = "openat write mkdir mkdirat link linkat rename renameat renameat2 unlink unlinkat rmdir symlinkat \
                     fchmod fdatasync copy_file_range flock";

/// Kills a program at the so-manieth time that it makes a call.
fn killing(call: &str, at: usize) -> [String; 6] {
    let [quiet, to, nowhere] = ["-qq", "-o", "/dev/null"].map(str::to_owned);
    let trace = format!("--trace=?{call}");
    let inject = format!("--inject=?{call}:signal=KILL:when={at}");
    [quiet, to, nowhere, trace, inject, "--".to_owned()]
}

/// Killed after each system call, then recovered by a process that is itself killed somewhere, then recovered.
///
/// Shows S-149.
#[test]
fn killed_after_each_system_call_the_tree_is_whole_again() {
    if Command::new("strace").arg("--version").output().is_err() {
        return cannot("there is no strace");
    }
    let scene = Scene::new();
    let project = scene.project();
    let transaction = scene.transaction(&project);
    let input = transaction.to_json().expect("plain paths");
    let before = state(&project);
    let after = {
        let scene = Scene::new();
        let project = scene.project();
        let input = scene.transaction(&project).to_json().expect("plain paths");
        let output = play(PROGRAM, &["--apply-role"], &input);
        assert_eq!(read_outcome(&output.stdout), Ok(()));
        assert_eq!(entries(&scene.journals()), [""; 0]);
        let inside = |(path, what): (PathBuf, _)| (path.strip_prefix(&project).expect("inside").to_owned(), what);
        state(&project).into_iter().map(inside).collect::<State>()
    };
    let (mut taken_back, mut finished) = (0, 0);
    // The recovery is no safer than the rest.
    let mut others = CALLS.split(' ').cycle();
    for call in CALLS.split(' ') {
        for at in 1.. {
            let arguments = killing(call, at);
            let mut line: Vec<&str> = arguments.iter().map(String::as_str).collect();
            line.extend([PROGRAM, "--apply-role"]);
            let output = play("strace", &line, &input);
            let survived = output.status.code() == Some(0);
            if survived {
                assert_eq!(read_outcome(&output.stdout), Ok(()), "{call} {at}");
            } else {
                let arguments = killing(others.next().expect("no end"), at % 3 + 1);
                let mut prefix = vec!["strace"];
                prefix.extend(arguments.iter().map(String::as_str));
                let _killed = scene.recover(&prefix);
                let recovery = read_recovery(&scene.recover(&[]).stdout).expect("an answer");
                assert_eq!(recovery.kept, [], "{call} {at}");
                assert!(!matches!(recovery.did, Did::Failed { .. }), "{call} {at}: {recovery:?}");
            }
            assert_eq!(entries(&scene.journals()), [""; 0], "{call} {at}");
            let now = state(&project);
            if now == before {
                assert!(!survived, "{call} {at}");
                taken_back += 1;
                continue;
            }
            let inside = |(path, what): (PathBuf, _)| (path.strip_prefix(&project).expect("inside").to_owned(), what);
            assert_eq!(now.into_iter().map(inside).collect::<State>(), after, "{call} {at}");
            std::fs::remove_dir_all(&project).expect("a folder");
            std::fs::create_dir(&project).expect("a folder");
            scene.fill(&project);
            if survived {
                break;
            }
            finished += 1;
        }
    }
    assert!(taken_back > 20 && finished > 3, "{taken_back} {finished}");
}

/// A folder on a file system of its own.
struct Mounted(PathBuf);

impl Mounted {
    fn tmpfs(at: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(at).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) -> bool {
    let output = Command::new(program).args(arguments).arg(path).output();
    output.is_ok_and(|output| output.status.success())
}

/// What the kernel itself refuses.
///
/// Shows S-149.
#[test]
fn whatever_the_system_refuses_nothing_is_changed_and_the_cause_is_told() {
    /// Prepares the project, or says that it cannot; what it holds is undone at the end.
    type Prepare = fn(&Scene, &Path) -> Option<Box<dyn std::any::Any>>;
    fn nothing(_: &Scene, _: &Path) -> Option<Box<dyn std::any::Any>> {
        Some(Box::new(()))
    }
    struct Freed(PathBuf);
    impl Drop for Freed {
        fn drop(&mut self) {
            run("chattr", &["-i", "-a"], &self.0);
        }
    }
    type Row = (
        &'static str,
        Prepare,
        &'static str,
        &'static [&'static str],
        Option<IoKind>,
    );
    let rows: [Row; 9] = [
        (
            "too many open files",
            nothing,
            "ulimit -n 4",
            &["Too many open files"],
            Some(IoKind::Other),
        ),
        (
            "the size of files",
            nothing,
            "ulimit -f 0",
            &["ulimit -f"],
            Some(IoKind::Full),
        ),
        (
            "a full disk",
            |scene, project| {
                let disk = Mounted::tmpfs(project, "size=128k,mode=755")?;
                scene.fill(project);
                let mut size = 128 << 10;
                while std::fs::write(project.join("ballast"), vec![b'x'; size]).is_err() {
                    size -= 4096;
                }
                Some(Box::new(disk))
            },
            ":",
            &["No space left"],
            Some(IoKind::Full),
        ),
        (
            "no more files",
            |scene, project| {
                let disk = Mounted::tmpfs(project, "nr_inodes=10,mode=755")?;
                scene.fill(project);
                Some(Box::new(disk))
            },
            ":",
            &["No space left"],
            Some(IoKind::Full),
        ),
        (
            "a disk that may only be read",
            |scene, project| {
                let disk = Mounted::tmpfs(project, "mode=755")?;
                scene.fill(project);
                run("mount", &["-o", "remount,ro"], project).then(|| Box::new(disk) as _)
            },
            ":",
            &["Read-only file system"],
            Some(IoKind::Denied),
        ),
        (
            "a full disk under the journal",
            |scene, _| {
                let disk = Mounted::tmpfs(&scene.journals(), "size=4k,mode=755")?;
                std::fs::write(scene.journals().join("ballast"), [0; 4096]).ok()?;
                Some(Box::new(disk))
            },
            ":",
            &["No space left", "journal"],
            Some(IoKind::Full),
        ),
        (
            "an immutable file",
            |_, project| {
                let file = project.join("edited");
                run("chattr", &["+i"], &file).then(|| Box::new(Freed(file)) as _)
            },
            ":",
            &["immutable", "chattr -i"],
            None,
        ),
        (
            "an immutable file that is to go",
            |_, project| {
                let file = project.join("gone");
                run("chattr", &["+i"], &file).then(|| Box::new(Freed(file)) as _)
            },
            ":",
            &["immutable", "chattr -i"],
            None,
        ),
        (
            "a file that another is mounted on",
            |scene, project| {
                let (file, other) = (project.join("edited"), scene.dir.path().join("other"));
                std::fs::write(&other, "before\n").ok()?;
                let other = other.to_str()?;
                run("mount", &["--bind", other], &file).then(|| Box::new(Mounted(file)) as _)
            },
            ":",
            &["mounted on it"],
            None,
        ),
    ];
    for (name, prepare, limit, words, kind) in rows {
        let scene = Scene::new();
        let project = scene.project();
        let Some(_held) = prepare(&scene, &project) else {
            cannot(name);
            continue;
        };
        let before = state(&project);
        let journals = entries(&scene.journals());
        let input = scene.transaction(&project).to_json().expect("plain paths");
        let output = play(
            "sh",
            &["-c", &format!("{limit}; exec \"$0\" --apply-role"), PROGRAM],
            &input,
        );
        let error = read_outcome(&output.stdout).expect_err(name);
        let told = error.to_string();
        assert!(words.iter().all(|word| told.contains(word)), "{name}: {told}");
        assert!(told.contains("No file was changed"), "{name}: {told}");
        match (&error, kind) {
            (CommitError::Io { kind: found, .. }, Some(kind)) => assert_eq!(*found, kind, "{name}"),
            (CommitError::Refused { .. }, None) => {}
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(state(&project), before, "{name}");
        assert_eq!(entries(&scene.journals()), journals, "{name}");
    }
}

/// What is no file, in the way of each kind of change.
///
/// Shows S-148.
#[test]
fn what_is_in_the_way_is_named_and_left() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let scene = Scene::new();
    let project = scene.project();
    let path = |name: &str| project.join(name);
    mknodat(CWD, path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).expect("a socket");
    let has_device = mknodat(
        CWD,
        path("device"),
        FileType::CharacterDevice,
        Mode::from_raw_mode(0o600),
        rustix::fs::makedev(1, 3),
    );
    std::fs::create_dir_all(path("folder/full")).expect("folders");
    symlink("nothing", path("dangling")).expect("a link");
    symlink("loop", path("loop")).expect("a link");
    symlink(scene.dir.path(), path("out")).expect("a link");
    std::fs::write(path("locked"), "before\n").expect("a file");
    std::fs::set_permissions(path("locked"), std::fs::Permissions::from_mode(0o444)).expect("a mode");
    assert!(
        std::fs::symlink_metadata(path("socket"))
            .expect("a socket")
            .file_type()
            .is_socket()
    );
    let special = "a device, a pipe or a socket";
    let mut rows = vec![
        ("pipe", special),
        ("socket", special),
        ("folder", "it is a folder"),
        ("edited/below", "edited is not a folder"),
        ("pipe/below", "pipe is not a folder"),
        ("dangling", "it is a symbolic link to nothing"),
        ("dangling/below", "a symbolic link that leads nowhere (nothing)"),
        ("loop", "it is a symbolic link to loop"),
        ("loop/below", "a symbolic link that leads nowhere (loop)"),
        ("out/raw", "outside the folders that may be written"),
        ("out/project/../raw", "without `.` and `..`"),
        ("out/journal/new", "outside the folders that may be written"),
        ("locked", "it is read-only"),
    ];
    match has_device {
        Ok(()) => rows.push(("device", special)),
        Err(_) => cannot("devices"),
    }
    let before = state(&project);
    for (name, words) in rows {
        for expect in [Expect::of(Some("before\n")), Expect::Absent] {
            let (at, text) = (path(name), "x".to_owned());
            let place = |content| DiskChange::Place {
                path: at.clone(),
                content,
                expect: expect.clone(),
            };
            let raw = scene.dir.path().join("raw");
            let changes = [
                DiskChange::Write {
                    path: at.clone(),
                    text: text.clone(),
                    expect: expect.clone(),
                    mode: None,
                },
                DiskChange::Remove {
                    path: at.clone(),
                    expect: expect.clone(),
                },
                DiskChange::Move {
                    from: path("edited"),
                    to: at.clone(),
                    text,
                    expect: Expect::of(Some("before\n")),
                    mode: None,
                },
                place(Content::File { from: raw, mode: 0o644 }),
                place(Content::Link { target: "x".into() }),
            ];
            for change in changes {
                // What is said about a file that must not be there, or must, is another matter.
                let there = std::fs::symlink_metadata(&at).is_ok();
                let about_presence = match &change {
                    DiskChange::Remove { expect, .. } => *expect == Expect::Absent || !there,
                    DiskChange::Move { .. } => name == "locked",
                    _ => name == "locked" && expect == Expect::Absent,
                };
                let transaction = Transaction {
                    roots: vec![project.clone()],
                    changes: vec![
                        DiskChange::Write {
                            path: path("other"),
                            text: "x".to_owned(),
                            expect: Expect::Absent,
                            mode: None,
                        },
                        change.clone(),
                    ],
                    ..Transaction::default()
                };
                let error = countersign::patch::disk::commit(&transaction)
                    .expect_err(name)
                    .to_string();
                assert!(about_presence || error.contains(words), "{change:?}: {error}");
                assert!(error.contains(name) && error.contains("No file was changed"), "{error}");
                assert_eq!(state(&project), before, "{change:?}");
            }
        }
    }
}

/// Where the file system does not tell case.
///
/// Shows S-148.
#[test]
fn names_that_differ_in_case_only_are_one_file_where_they_are() {
    let scene = Scene::new();
    let disk = scene.dir.path().join("disk");
    let Some(_disk) = Mounted::tmpfs(&disk, "casefold,mode=755") else {
        return cannot("a file system that does not tell case");
    };
    let folder = disk.join("folder");
    std::fs::create_dir(&folder).expect("a folder");
    if !run("chattr", &["+F"], &folder) {
        return cannot("a folder that does not tell case");
    }
    std::fs::write(folder.join("readme"), "before\n").expect("a file");
    let commit = |changes| {
        countersign::patch::disk::commit(&Transaction {
            roots: vec![folder.clone()],
            changes,
            ..Transaction::default()
        })
    };
    let write = |name: &str, expect| DiskChange::Write {
        path: folder.join(name),
        text: "x\n".to_owned(),
        expect,
        mode: None,
    };
    let before = || Expect::of(Some("before\n"));
    assert!(matches!(
        commit(vec![write("README", Expect::Absent)]),
        Err(CommitError::Stale { .. })
    ));
    let twice = commit(vec![write("README", before()), write("readme", before())]).expect_err("one file");
    assert!(twice.to_string().contains("named twice"), "{twice}");
    let respelled = DiskChange::Move {
        from: folder.join("readme"),
        to: folder.join("README"),
        text: "after\n".to_owned(),
        expect: before(),
        mode: None,
    };
    commit(vec![respelled]).expect("another spelling");
    assert_eq!(entries(&folder), ["README"]);
    assert_eq!(
        std::fs::read_to_string(folder.join("readme")).expect("the file"),
        "after\n"
    );
}

/// The server dies when the closed files are written and the editor has not yet taken its part.
///
/// Shows S-149.
#[tokio::test]
async fn a_server_killed_between_disk_and_editor_is_taken_back_by_the_next() {
    countersign::exec::use_program(PROGRAM.into());
    let setting = Setting {
        files: [("open.txt", "a\n"), ("shut.txt", "x\n"), ("old.txt", "old\n")]
            .map(|(name, text)| (name, text.to_owned()))
            .into(),
        ..Setting::default()
    };
    let patch = "*** Update File: open.txt\n@@\n-a\n+A\n*** Update File: shut.txt\n@@\n-x\n+X\n*** Add File: sub/new.txt\n+new\n\
                 *** Delete File: old.txt\n";
    let mut work = Work::with(setting, proposes(patch)).await;
    work.open("open.txt");
    let before = state(&work.path(""));
    work.client.on_request("workspace/applyEdit", |_| Reply::Later);
    work.fix("open.txt").await;
    work.accept().await;
    work.client.expect_request("workspace/applyEdit").await;
    assert_eq!(work.disk("shut.txt").as_deref(), Some("X\n"));
    assert_eq!(work.disk("old.txt"), None);
    let home = work.client.home().to_owned();
    // Another server leaves alone what this one is at.
    let found = countersign::agent::apply::recover_leftovers(&home).await;
    assert!(found.is_busy && found.told.is_empty(), "{found:?}");
    assert_eq!(work.disk("shut.txt").as_deref(), Some("X\n"));
    let pid = rustix::process::Pid::from_raw(work.client.server_pid() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("a signal");
    work.client.expect_end().await;
    let found = countersign::agent::apply::recover_leftovers(&home).await;
    let [words] = &found.told[..] else { panic!("{found:?}") };
    assert!(
        words.contains("has been undone") && words.contains("shut.txt"),
        "{words}"
    );
    assert_eq!(state(&work.path("")), before);
    assert_eq!(entries(&home.join("journal")), [""; 0]);
    let found = countersign::agent::apply::recover_leftovers(&home).await;
    assert!(!found.is_busy && found.told.is_empty(), "{found:?}");
}

/// A server that was killed leaves a writer that takes a moment to die: the next server, which is there before that, looks again.
#[tokio::test]
async fn a_writer_that_is_about_to_die_is_waited_for() {
    let scene = Scene::new();
    let project = std::fs::canonicalize(scene.project()).expect("a folder");
    let home = scene.dir.path().join("home");
    let before = state(&project);
    let journal = countersign::patch::disk::journal_path(Some(&home), &project);
    let left = Transaction {
        journal: Some(journal.clone()),
        hold: true,
        ..scene.transaction(&project)
    };
    countersign::patch::disk::commit(&left).expect("room");
    let held = std::fs::File::open(&journal).expect("a journal");
    held.lock_shared().expect("a lock");
    let found = countersign::agent::apply::recover_leftovers(&home).await;
    assert!(found.is_busy && found.told.is_empty(), "{found:?}");
    let client = Client::start(ServerOptions {
        home: Some(home),
        roots: vec![project.clone()],
        ..ServerOptions::default()
    })
    .await;
    // Time for its first look.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_ne!(state(&project), before, "who is at work is let alone");
    drop(held);
    let told = client.expect_notification("window/showMessage").await;
    assert!(
        told["message"].as_str().unwrap_or_default().contains("has been undone"),
        "{told}"
    );
    assert_eq!(state(&project), before);
}

/// The plain command finds what others left, in the home folder and, where none can be written, in the root.
#[test]
fn the_plain_command_takes_back_what_was_left_half_done() {
    for has_home in [true, false] {
        let scene = Scene::new();
        let project = std::fs::canonicalize(scene.project()).expect("a folder");
        let home = match has_home {
            true => scene.dir.path().join("home"),
            false => scene.dir.path().join("raw/home"),
        };
        let before = state(&project);
        let left = Transaction {
            journal: Some(countersign::patch::disk::journal_path(Some(&home), &project)),
            hold: true,
            ..scene.transaction(&project)
        };
        // Nobody comes to decide.
        countersign::patch::disk::commit(&left).expect("room");
        assert_ne!(state(&project), before);
        let apply = |patch: &str| {
            Command::new(PROGRAM)
                .args(["apply-patch", "--cd"])
                .arg(&project)
                .arg(format!("*** Begin Patch\n{patch}*** End Patch\n"))
                .env("COUNTERSIGN_HOME", &home)
                .output()
                .expect("a program")
        };
        let output = apply("*** Update File: edited\n@@\n-before\n+mine\n*** Add File: more\n+more\n");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("has been undone") && told.contains("edited"), "{told}");
        assert!(output.status.success(), "{told}");
        let mut wanted = before;
        wanted.get_mut(&project.join("edited")).expect("a file").1 = b"mine\n".to_vec();
        let now = state(&project);
        wanted.insert(project.join("more"), now[&project.join("more")].clone());
        assert_eq!(now, wanted, "and then does its own");
        assert!(!has_home || entries(&home.join("journal")).is_empty());
        let output = apply("*** Delete File: more\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "told once");
    }
}
