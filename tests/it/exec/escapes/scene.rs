//! What lies around the attempts and what became of it: folders that must stay as they are, and the person's other
//! programs (`world.py`).

use super::super::place::Place;
use super::talk::Talk;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What stands for the secrets of a round; it must not be seen inside.
pub(super) const SECRET: &str = "s3cr3t-7c1f";

/// For names that nothing else has.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Folders outside in which an attempt may leave its mark, if it can.
const MARKED: [&str; 10] = [
    "/etc",
    "/etc/cron.d",
    "/etc/profile.d",
    "/dev/shm",
    "/run",
    "/usr/local/bin",
    "/var/spool/cron",
    "/var/tmp",
    "/root",
    "/sys/fs/cgroup",
];

/// What can be seen of a file or folder without opening it, and its text.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    /// Any change of text, mode, owner, times, attributes or links.
    changed: (i64, i64),
    text: Vec<u8>,
}

type View = BTreeMap<PathBuf, Seen>;

fn view(folder: &Path) -> View {
    let mut seen = View::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        let kind = metadata.file_type();
        if kind.is_dir() {
            waiting.extend(
                fs::read_dir(&path)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|entry| entry.path()),
            );
        }
        let text = if kind.is_symlink() {
            fs::read_link(&path)
                .unwrap_or_default()
                .into_os_string()
                .into_encoded_bytes()
        } else if kind.is_file() {
            fs::read(&path).unwrap_or_default()
        } else {
            Vec::new()
        };
        let own = Seen {
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            links: metadata.nlink(),
            // A socket that is bound, a fifo that is read from: the person's own programs do that.
            changed: if kind.is_socket() || kind.is_fifo() {
                (0, 0)
            } else {
                (metadata.ctime(), metadata.ctime_nsec())
            },
            text,
        };
        seen.insert(path, own);
    }
    seen
}

fn differences(before: &View, now: &View) -> Vec<String> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let gone = gone.map(|path| format!("{} is gone", path.display()));
    let changed = now.iter().filter_map(|(path, seen)| match before.get(path) {
        None => Some(format!("{} was made", path.display())),
        Some(known) if known != seen => Some(format!("{} was changed: {known:?} {seen:?}", path.display())),
        Some(_) => None,
    });
    gone.chain(changed).collect()
}

/// The folders of one attempt.
pub(super) struct Stage {
    /// What must stay as it is, with how it was.
    kept: Vec<(PathBuf, View)>,
    fifo: fs::File,
    /// Names that must not appear in the workspace.
    workspace: PathBuf,
    mark: String,
    may_write: bool,
}

/// Names under which agents and version control take orders.
const MISSING: [&str; 3] = [".codex", ".agents", ".countersign"];

impl Stage {
    /// Lays out a fresh folder outside, a fresh one inside and a fresh repository around it; adds the names that a script
    /// knows them by.
    pub(super) fn set(place: &Place, number: usize, may_write: bool, names: &mut Map<String, Value>) -> Self {
        let out = place.outside.join(number.to_string());
        let here = place.work.join("scratch").join(number.to_string());
        for folder in [
            &out,
            &out.join("folder"),
            &out.join("home"),
            &out.join("home/.ssh"),
            &here,
        ] {
            place.folder(folder);
        }
        place.file(&out.join("file"), "precious");
        place.file(&out.join("home/.bashrc"), "# mine\n");
        place.file(&out.join("home/.ssh/authorized_keys"), "ssh-ed25519 mine\n");
        let fifo = out.join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o666.into(), 0).expect("mkfifo");
        place.give(&fifo);
        let fifo = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&fifo)
            .expect("open the fifo");
        let mark = format!(
            "countersign-escape-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        for (name, value) in [
            ("OUT", &out),
            ("HERE", &here),
            ("WORK", &place.work),
            ("REPOSITORY", &place.work),
        ] {
            names.insert(name.to_owned(), value.display().to_string().into());
        }
        let hidden = hidden(place);
        names.insert("HIDDEN".to_owned(), hidden.display().to_string().into());
        names.insert("MARK".to_owned(), mark.clone().into());
        let mut kept = vec![out, place.outside.join("given"), place.work.join(".git")];
        if !may_write {
            kept.push(place.work.clone());
        }
        Self {
            kept: kept.into_iter().map(|folder| (folder.clone(), view(&folder))).collect(),
            fifo,
            workspace: place.work.clone(),
            mark,
            may_write,
        }
    }

    /// What has become of it.
    pub(super) fn look(&mut self) -> Vec<String> {
        let mut found: Vec<String> = self
            .kept
            .iter()
            .flat_map(|(folder, before)| differences(before, &view(folder)))
            .collect();
        let mut buffer = [0; 64];
        if std::io::Read::read(&mut self.fifo, &mut buffer).is_ok_and(|read| read > 0) {
            found.push("the fifo outside was written to".to_owned());
        }
        for name in MISSING {
            let path = self.workspace.join(name);
            if fs::symlink_metadata(&path).is_ok() {
                found.push(format!("{} was made", path.display()));
            }
        }
        let temporary = (!self.may_write).then_some("/tmp");
        for folder in MARKED.into_iter().chain(temporary) {
            let path = Path::new(folder).join(&self.mark);
            if fs::symlink_metadata(&path).is_ok() {
                found.push(format!("{} was made", path.display()));
            }
        }
        found
    }

    /// Takes away what was made outside.
    pub(super) fn clear(&self) {
        for folder in MARKED.into_iter().chain(["/tmp"]) {
            let path = Path::new(folder).join(&self.mark);
            let _absent = (fs::remove_file(&path), fs::remove_dir_all(&path));
        }
    }
}

/// A repository in the workspace, made anew: an attempt that got through may have turned it into anything.
pub(super) fn repository(place: &Place) {
    for name in MISSING.into_iter().chain([".git", ".git.gone"]) {
        let path = place.work.join(name);
        let _absent = fs::remove_file(&path);
        let _absent = fs::remove_dir_all(&path);
    }
    for folder in [
        ".git",
        ".git/hooks",
        ".git/objects",
        ".git/refs",
        ".git/refs/heads",
        ".git/info",
    ] {
        place.folder(&place.work.join(folder));
    }
    place.file(&place.work.join(".git/HEAD"), "ref: refs/heads/main\n");
    place.file(
        &place.work.join(".git/config"),
        "[core]\n\trepositoryformatversion = 0\n",
    );
}

/// The person's other programs, running.
pub(super) struct World {
    talk: Talk,
    pub(super) names: Map<String, Value>,
    number: usize,
}

impl World {
    pub(super) fn start(place: &Place, number: usize) -> Self {
        let folder = place.outside.join(format!("sockets-{number}"));
        place.folder(&folder);
        let mut command = std::process::Command::new("python3");
        let own = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        command
            .args(["-c", include_str!("world.py")])
            .arg(&folder)
            .args([SECRET, &own]);
        place.dress(&mut command);
        let mut talk = Talk::start(command);
        let names = match talk.hear() {
            Some(Value::Object(names)) => names,
            other => panic!("the other programs did not start: {other:?}"),
        };
        Self { talk, names, number }
    }

    /// What was done to them since the last look.
    pub(super) fn look(&mut self) -> Vec<String> {
        self.talk.say("");
        match self.talk.hear() {
            Some(answer) => {
                let found = answer["found"].as_array().cloned().unwrap_or_default();
                found.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            None => vec!["the victim has ended, or does not answer".to_owned()],
        }
    }

    /// Starts them again after harm was done.
    pub(super) fn renew(&mut self, place: &Place) {
        *self = Self::start(place, self.number + 1);
    }
}

/// A folder that nothing may read, beside the workspace and what is outside.
pub(super) fn hidden(place: &Place) -> PathBuf {
    place.outside.with_file_name("hidden")
}

/// What the round's commands may not read.
pub(super) fn secrets(place: &Place) {
    place.folder(&hidden(place));
    place.file(&hidden(place).join("key"), SECRET);
    place.file(&place.work.join(".env"), SECRET);
}

/// Something that the sandbox inherits open: a file to append to, the folder around it, and the file to read.
pub(super) fn given(place: &Place) -> PathBuf {
    let folder = place.outside.join("given");
    place.folder(&folder);
    place.file(&folder.join("file"), "precious");
    place.file(&folder.join("append"), "precious");
    fs::OpenOptions::new()
        .append(true)
        .open(folder.join("append"))
        .and_then(|mut file| file.write_all(b"\n"))
        .expect("append");
    folder
}
