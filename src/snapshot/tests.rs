use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use tempfile::TempDir;

struct Place {
    _folder: TempDir,
    root: PathBuf,
    snapshots: Snapshots,
}

fn env() -> BTreeMap<String, String> {
    // Tests run with a git that is found like any program.
    BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())])
}

impl Place {
    fn new() -> Self {
        Self::with(Limits::default(), &env())
    }

    fn with(limits: Limits, env: &BTreeMap<String, String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        fs::create_dir(&root).unwrap();
        let snapshots = Snapshots::with_limits(&folder.path().join("home"), env, limits);
        Self {
            _folder: folder,
            root,
            snapshots,
        }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn take(&self) -> Snapshot {
        self.try_take().await.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn try_take(&self) -> Result<Snapshot, SnapshotError> {
        self.snapshots.take(&self.root, &[], &CancellationToken::new()).await
    }

    fn content(&self, state: &State) -> Vec<u8> {
        let blob = state.blob.clone().expect("a content");
        let read = self.snapshots.read(&[blob], &Stop::default()).unwrap();
        read[0].clone().expect("kept")
    }

    /// Name, before and after, in short.
    fn changes(&self, before: &Snapshot, after: &Snapshot) -> Vec<(String, Option<String>, Option<String>)> {
        let short = |state: &State| match state.kind {
            Kind::Folder => "folder".to_owned(),
            Kind::Unkept => format!("{} bytes", state.size),
            Kind::Link => format!("-> {}", String::from_utf8_lossy(&self.content(state))),
            Kind::File => format!("{:o} {}", state.mode, String::from_utf8_lossy(&self.content(state))),
        };
        let changes = before.changes(after).into_iter();
        changes
            .map(|change| {
                let name = change.path.strip_prefix(&self.root).unwrap().display().to_string();
                (
                    name,
                    change.before.as_ref().map(short),
                    change.after.as_ref().map(short),
                )
            })
            .collect()
    }

    fn git(&self, arguments: &[&str]) -> String {
        crate::exec::git::for_tests(&self.root, arguments)
    }
}

fn change(name: &str, before: Option<&str>, after: Option<&str>) -> (String, Option<String>, Option<String>) {
    (name.to_owned(), before.map(str::to_owned), after.map(str::to_owned))
}

/// Every entry of a folder with its kind, mode, marks and content.
fn all(folder: &Path) -> Vec<(PathBuf, u32, i64, Vec<u8>)> {
    use std::os::unix::fs::MetadataExt as _;
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                folders.push(path.clone());
            }
            let content = if meta.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            found.push((path, meta.mode(), meta.mtime_nsec(), content));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn every_kind_of_change_is_seen_with_its_content() {
    let place = Place::new();
    for (name, text) in [
        ("edited", "one\n"),
        ("same", "same\n"),
        ("gone/deep/file", "x"),
        ("file-then-folder", "f"),
        ("folder-then-file/inner", "i"),
        ("mode", "m"),
        ("exec", "e"),
        ("empty", ""),
        ("odd\nname \"q\" \\ é", "odd"),
    ] {
        place.write(name, text);
    }
    fs::write(place.root.join("binary"), [0, 159, 146, 150]).unwrap();
    fs::create_dir(place.root.join("hollow")).unwrap();
    symlink("same", place.root.join("link")).unwrap();
    symlink("nowhere", place.root.join("was-link")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.root.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let before = place.take().await;
    assert_eq!(place.changes(&before, &place.take().await), []);

    place.write("edited", "two\n");
    fs::remove_dir_all(place.root.join("gone")).unwrap();
    fs::remove_file(place.root.join("file-then-folder")).unwrap();
    place.write("file-then-folder/inner", "g");
    fs::remove_dir_all(place.root.join("folder-then-file")).unwrap();
    place.write("folder-then-file", "h");
    let mode = |name: &str, mode: u32| {
        fs::set_permissions(place.root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("mode", 0o600);
    mode("exec", 0o755);
    place.write("odd\nname \"q\" \\ é", "odder");
    place.write("new/file", "n");
    fs::remove_dir(place.root.join("hollow")).unwrap();
    fs::remove_file(place.root.join("link")).unwrap();
    symlink("edited", place.root.join("link")).unwrap();
    fs::remove_file(place.root.join("was-link")).unwrap();
    place.write("was-link", "file");
    let after = place.take().await;
    assert_eq!(
        place.changes(&before, &after),
        [
            change("edited", Some("644 one\n"), Some("644 two\n")),
            change("exec", Some("644 e"), Some("755 e")),
            change("file-then-folder", Some("644 f"), None),
            change("file-then-folder/inner", None, Some("644 g")),
            change("folder-then-file", None, Some("644 h")),
            change("folder-then-file/inner", Some("644 i"), None),
            change("gone/deep/file", Some("644 x"), None),
            change("hollow", Some("folder"), None),
            change("link", Some("-> same"), Some("-> edited")),
            change("mode", Some("644 m"), Some("600 m")),
            change("new/file", None, Some("644 n")),
            change("odd\nname \"q\" \\ é", Some("644 odd"), Some("644 odder")),
            change("was-link", Some("-> nowhere"), Some("644 file")),
        ]
    );
    assert_eq!(
        place.content(&before.find(&place.root.join("binary")).unwrap()),
        [0, 159, 146, 150]
    );
    assert!(before.has_folder(&place.root.join("gone/deep")) && !after.has_folder(&place.root.join("gone")));
    assert!(before.has_folder(&place.root.join("hollow")) && !after.has_folder(&place.root.join("hollow")));
}

#[tokio::test]
async fn names_that_are_no_text_count() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    let odd = place.root.join(std::ffi::OsStr::from_bytes(b"\xff\x01\t"));
    fs::write(&odd, "x").unwrap();
    let before = place.take().await;
    fs::remove_file(&odd).unwrap();
    let after = place.take().await;
    let changes = before.changes(&after);
    assert_eq!((changes.len(), &changes[0].path), (1, &odd));
    assert_eq!(place.content(changes[0].before.as_ref().unwrap()), b"x");
}

/// A change that leaves size and time stamps as they were, right after a look.
#[tokio::test]
async fn a_change_within_one_tick_of_the_clock_is_seen() {
    let place = Place::new();
    for round in 0..40u8 {
        place.write("f", &format!("{:03}", round));
        let before = place.take().await;
        place.write("f", &format!("{:03}", round + 100));
        let after = place.take().await;
        assert_eq!(before.changes(&after).len(), 1, "round {round}");
    }
}

#[tokio::test]
async fn the_persons_repository_is_not_touched_and_what_it_ignores_is_left_out() {
    let place = Place::new();
    place.git(&["init", "-q"]);
    place.write(".gitignore", "ignored/\n*.log\n");
    place.write(".gitattributes", "* text eol=crlf ident filter=lfs\n");
    place.write("tracked.log", "tracked\n");
    place.write("plain", "lf\n$Id$\n");
    place.write("ignored/x", "x");
    place.write("x.log", "x");
    place.git(&["add", "-f", "tracked.log", "plain"]);
    place.git(&["commit", "-qm", "one"]);
    place.write("staged", "s");
    place.git(&["add", "staged"]);
    // Nested repositories: their files count, their own folders do not.
    place.write("nested/inner", "n");
    crate::exec::git::for_tests(&place.root.join("nested"), &["init", "-q"]);
    let state = all(&place.root);
    let before = place.take().await;
    assert_eq!(all(&place.root), state, "nothing in the folder has changed");
    let found = |name: &str| before.find(&place.root.join(name)).map(|state| place.content(&state));
    assert_eq!(found("plain").unwrap(), b"lf\n$Id$\n");
    assert_eq!(found("tracked.log").unwrap(), b"tracked\n");
    assert_eq!(found("nested/inner").unwrap(), b"n");
    for name in ["ignored/x", "x.log", ".git/HEAD", "nested/.git/HEAD"] {
        assert_eq!(found(name), None, "{name}");
    }
    place.write("tracked.log", "changed\n");
    place.write("x.log", "changed");
    let after = place.take().await;
    assert_eq!(
        place.changes(&before, &after),
        [change("tracked.log", Some("644 tracked\n"), Some("644 changed\n"))]
    );
}

#[tokio::test]
async fn an_ignore_file_above_counts_as_far_as_its_repository_reaches() {
    let place = Place::new();
    place.write("a", "a");
    fs::write(place.root.parent().unwrap().join(".gitignore"), "*\n").unwrap();
    let alone = place.take().await;
    assert!(alone.find(&place.root.join("a")).is_some());
    fs::create_dir(place.root.parent().unwrap().join(".git")).unwrap();
    let inside = place.take().await;
    assert!(inside.find(&place.root.join("a")).is_none());
}

#[tokio::test]
async fn what_is_too_much_is_said() {
    let limits = |limits: Limits| Place::with(limits, &env());
    let files = limits(Limits {
        files: 3,
        ..Limits::default()
    });
    for name in ["a", "b", "c", "d"] {
        files.write(name, name);
    }
    let error = files.try_take().await.unwrap_err();
    assert!(matches!(error, SnapshotError::TooManyFiles { most: 3, .. }), "{error}");
    // Not tried again at once.
    fs::remove_file(files.root.join("d")).unwrap();
    assert_eq!(files.try_take().await.unwrap_err(), error);

    let bytes = limits(Limits {
        new_bytes: 10,
        ..Limits::default()
    });
    bytes.write("a", "12345678901");
    let error = bytes.try_take().await.unwrap_err();
    assert_eq!(error, SnapshotError::TooLarge { most: 10 });

    let one = limits(Limits {
        file_bytes: 4,
        ..Limits::default()
    });
    one.write("small", "1234");
    one.write("large", "12345");
    let before = one.take().await;
    fs::remove_file(one.root.join("large")).unwrap();
    let after = one.take().await;
    assert_eq!(one.changes(&before, &after), [change("large", Some("5 bytes"), None)]);

    let late = limits(Limits {
        time: Duration::ZERO,
        ..Limits::default()
    });
    for number in 0..200 {
        late.write(&number.to_string(), "x");
    }
    let error = late.try_take().await.unwrap_err();
    assert!(matches!(error, SnapshotError::TooSlow { .. }), "{error}");

    let nothing = BTreeMap::from([("PATH".to_owned(), "/nowhere".to_owned())]);
    let lacking = Place::with(Limits::default(), &nothing);
    lacking.write("a", "a");
    assert_eq!(lacking.try_take().await.unwrap_err(), SnapshotError::NoGit);
    let gone = Place::new();
    fs::remove_dir(&gone.root).unwrap();
    let error = gone.try_take().await.unwrap_err();
    assert!(matches!(error, SnapshotError::Folder { .. }), "{error}");
}

#[tokio::test]
async fn a_cancelled_snapshot_leaves_no_lock() {
    let place = Place::new();
    for number in 0..300 {
        place.write(&format!("{}/{number}", number % 7), &number.to_string());
    }
    let cancel = CancellationToken::new();
    cancel.cancel();
    let error = place.snapshots.take(&place.root, &[], &cancel).await.unwrap_err();
    assert_eq!(error, SnapshotError::Stopped);
    let never = CancellationToken::new();
    let dropped = tokio::time::timeout(Duration::from_millis(1), place.snapshots.take(&place.root, &[], &never));
    let _maybe_done = dropped.await;
    let whole = place.take().await;
    assert!(whole.find(&place.root.join("0/0")).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn several_at_once_see_whole_states() {
    let place = Arc::new(Place::new());
    for number in 0..50 {
        place.write(&number.to_string(), "before");
    }
    let other = Snapshots::new(&place.snapshots.shared.home, &env());
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let (place, other) = (place.clone(), other.clone());
            tokio::spawn(async move {
                place.write(&format!("new-{number}"), "x");
                let snapshots = if number % 2 == 0 { &place.snapshots } else { &other };
                snapshots.take(&place.root, &[], &CancellationToken::new()).await
            })
        })
        .collect();
    for task in tasks {
        let taken = task.await.unwrap().unwrap();
        assert_eq!(place.content(&taken.find(&place.root.join("7")).unwrap()), b"before");
    }
}

#[tokio::test]
async fn a_damaged_store_is_begun_anew() {
    let place = Place::new();
    place.write("a", "a");
    let first = place.take().await;
    let store = place.snapshots.store(&first.store).repository.folder().to_owned();
    fs::remove_dir_all(store.join("objects")).unwrap();
    fs::create_dir(store.join("objects")).unwrap();
    place.write("a", "b");
    let second = place.take().await;
    assert_eq!(place.content(&second.find(&place.root.join("a")).unwrap()), b"b");
    let lost = first.find(&place.root.join("a")).unwrap().blob.unwrap();
    let read = place.snapshots.read(std::slice::from_ref(&lost), &Stop::default());
    assert_eq!(read.unwrap(), [None]);
    fs::write(store.join("manifest"), "rubbish").unwrap();
    place.write("c", "c");
    let third = place.take().await;
    assert_eq!(place.content(&third.find(&place.root.join("c")).unwrap()), b"c");
    // Names of contents come from files that anybody can write.
    for (store, oid) in [("../..", "x"), ("", ""), ("abc", "zz"), (&first.store, "--help")] {
        let blob = Blob {
            store: store.to_owned(),
            oid: oid.to_owned(),
            digest: String::new(),
        };
        let read = place.snapshots.read(&[blob], &Stop::default());
        assert!(read.is_err() || read == Ok(vec![None]));
    }
}

#[tokio::test]
async fn contents_come_out_as_files() {
    let place = Place::new();
    let large: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    fs::write(place.root.join("large"), &large).unwrap();
    place.write("empty", "");
    let taken = place.take().await;
    let blob = |name: &str| taken.find(&place.root.join(name)).unwrap().blob.unwrap();
    let out = tempfile::tempdir().unwrap();
    let done = place
        .snapshots
        .export(
            &[blob("large"), blob("empty"), blob("large")],
            out.path(),
            &Stop::default(),
        )
        .unwrap();
    assert_eq!(done, [true; 3]);
    assert_eq!(fs::read(out.path().join("0")).unwrap(), large);
    assert_eq!(fs::read(out.path().join("1")).unwrap(), b"");
    assert_eq!(fs::read(out.path().join("2")).unwrap(), large);
}

#[tokio::test]
async fn the_home_folder_and_inner_roots_are_no_part_of_a_snapshot() {
    let place = Place::new();
    place.write("a", "a");
    place.write("inner/b", "b");
    let snapshots = Snapshots::new(&place.root.join(".home"), &env());
    let cancel = CancellationToken::new();
    let taken = snapshots
        .take(&place.root, &[place.root.join("inner")], &cancel)
        .await
        .unwrap();
    let again = snapshots
        .take(&place.root, &[place.root.join("inner")], &cancel)
        .await
        .unwrap();
    assert_eq!(taken.changes(&again), []);
    assert!(taken.find(&place.root.join("a")).is_some());
    assert!(taken.find(&place.root.join("inner/b")).is_none());
}

#[tokio::test]
async fn old_snapshots_go_and_the_last_stays() {
    let place = Place::new();
    let mut taken = Vec::new();
    for round in 0..60 {
        place.write("f", &format!("round {round}"));
        taken.push(place.take().await);
    }
    let store = place.snapshots.store(&taken[0].store);
    let names = store.repository.folder().join("refs/snapshots");
    // As if the first fifty were made long ago.
    let mut found: Vec<_> = fs::read_dir(&names)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    for (at, name) in found.iter().take(50).enumerate() {
        fs::rename(name, names.join(format!("{at:013}-1-1"))).unwrap();
    }
    store.prune(&Stop::default()).unwrap();
    let content = |snapshot: &Snapshot| {
        let blob = snapshot.find(&place.root.join("f")).unwrap().blob.unwrap();
        place.snapshots.read(&[blob], &Stop::default()).unwrap().remove(0)
    };
    assert_eq!(content(&taken[10]), None);
    // It lasted until the first of the young ones.
    assert_eq!(content(&taken[49]).unwrap(), b"round 49");
    assert_eq!(content(&taken[59]).unwrap(), b"round 59");
    place.write("f", "more");
    place.take().await;
}
