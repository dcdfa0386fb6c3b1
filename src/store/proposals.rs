//! Proposals that wait, on the disk: `<home>/proposals/<id>.json`, one a file, so that they outlive the server.
//!
//! Whoever shows a proposal holds the lock beside its file, so that no other live server shows it too; the lock of a
//! server that was killed is free. A file is replaced as a whole. What the model is still to be told of a proposal that
//! was decided while its thread was not there waits in `<id>.note.json`. Files that are broken, foreign, or of a newer
//! version are left as they are.

use crate::exec::{Confinement, KeptWalls};
use crate::ids::{ProposalId, ThreadId};
use crate::patch::hunk::with_hunks;
use crate::patch::plan::{FilePlan, Plan};
use crate::protocol::item::FileChangeKind;
use crate::protocol::proposal::Proposal;
use crate::protocol::settings::SandboxPolicy;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Version of the form of the files.
const FORMAT: u32 = 1;
/// A longer text before has a file of its own.
const SMALL: usize = 64 << 10;
/// A proposal whose file would be larger is not kept.
const MOST_BYTES: usize = 64 << 20;

/// What can go wrong with a stored proposal.
#[derive(Debug, thiserror::Error)]
pub enum ProposalStoreError {
    #[error("The proposal in {} cannot be kept: {cause}. It waits, but would not outlive the server.", path.display())]
    Write { path: PathBuf, cause: io::Error },
    #[error("The proposal in {} cannot be read: {cause}. It is left as it is; delete the file if it is of no use.", path.display())]
    Read { path: PathBuf, cause: io::Error },
    #[error("{} holds no proposal: {cause}. It is left as it is; delete the file if it is of no use.", path.display())]
    Broken { path: PathBuf, cause: String },
    #[error(
        "The proposal in {} was written by a newer version (format {format}, known is {FORMAT}). It is left as it is; open \
         the folder with that version to decide on it.",
        path.display()
    )]
    Newer { path: PathBuf, format: u32 },
    #[error("A proposal of {bytes} bytes is too large to be kept; it would not outlive the server.")]
    TooLarge { bytes: usize },
}

/// Where a proposal may be applied, as it was when the person was asked. Never made wider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bounds {
    /// The thread's folder; absolute.
    pub cwd: PathBuf,
    pub policy: SandboxPolicy,
    /// Folders of the workspace.
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    #[serde(default)]
    pub temporary_folder: Option<PathBuf>,
    /// Folders that the person opened for writing.
    #[serde(default)]
    pub granted: Vec<PathBuf>,
    /// What a permission profile of the person's own lets through, in place of the policy and the folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walls: Option<KeptWalls>,
    /// What may be neither read nor written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<PathBuf>,
    /// Names that the configuration protects besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// Names that it does not protect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unprotected: Vec<String>,
}

impl Bounds {
    /// What may be written within these bounds, as the file system is now.
    pub fn confinement(&self) -> Confinement {
        let tmpdir = self.temporary_folder.as_deref();
        let confinement = match &self.walls {
            Some(walls) => Confinement::of_kept(walls),
            None => Confinement::new(&self.policy, &self.cwd, &self.roots, tmpdir).without(&self.unreadable),
        };
        let confinement = confinement.naming(&self.protected, &self.unprotected);
        self.granted
            .iter()
            .cloned()
            .fold(confinement, Confinement::with_writable)
    }
}

/// A proposal as it is kept: what is shown, what it would do, where it may do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// With what was decided and edited so far.
    pub proposal: Arc<Proposal>,
    /// As the model made it.
    pub plan: Arc<Plan>,
    pub bounds: Bounds,
    /// Words to the model about the whole.
    pub feedback: Vec<String>,
    /// What is accepted is applied at once.
    pub applies_each: bool,
}

/// The same as it stands on the disk. The texts after follow from the hunks, and a large text before has a file of its
/// own, `<id>.<place>.text`, which is written once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored<P> {
    proposal: P,
    plan: Plan,
    bounds: Bounds,
    #[serde(default)]
    feedback: Vec<String>,
    #[serde(default)]
    applies_each: bool,
    /// Lengths of the large texts in bytes, by their place in the plan.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    large: BTreeMap<usize, usize>,
}

/// A plan without what can be had otherwise.
fn lean(plan: &Plan) -> Plan {
    let small = |text: &&String| text.len() <= SMALL;
    let file = |file: &FilePlan| FilePlan {
        path: file.path.clone(),
        kind: file.kind.clone(),
        before: file.before.as_ref().filter(small).cloned(),
        after: None,
        whole: file.whole.clone(),
        hunks: file.hunks.clone(),
        mode: file.mode,
        folders: file.folders.clone(),
    };
    Plan {
        files: plan.files.iter().map(file).collect(),
    }
}

/// The text after, from what is kept.
fn after(file: &FilePlan) -> Option<String> {
    match (&file.kind, &file.before) {
        _ if file.whole.is_some() => None,
        (FileChangeKind::Delete, _) => None,
        (_, Some(before)) => Some(with_hunks(before, &file.hunks, &vec![true; file.hunks.len()])),
        (_, None) => Some(file.hunks.iter().map(|hunk| hunk.new_text.as_str()).collect()),
    }
}

/// What the model is to be told of a proposal when its thread goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    pub proposal_id: ProposalId,
    pub thread_id: ThreadId,
    pub text: String,
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    format: u32,
    #[serde(flatten)]
    body: &'a T,
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// The right to show and change a stored proposal; ends with the process.
#[derive(Debug)]
pub struct Held {
    _lock: File,
}

/// The folder of the stored proposals.
#[derive(Clone, Debug)]
pub struct ProposalStore {
    folder: PathBuf,
}

impl ProposalStore {
    pub fn new(home: &Path) -> Self {
        Self {
            folder: home.join("proposals"),
        }
    }

    fn path(&self, id: &ProposalId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn text_path(&self, id: &ProposalId, index: usize) -> PathBuf {
        self.folder.join(format!("{id}.{index}.text"))
    }

    fn note_path(&self, id: &ProposalId) -> PathBuf {
        self.folder.join(format!("{id}.note.json"))
    }

    fn lock_path(&self, id: &ProposalId) -> PathBuf {
        self.folder.join(format!("{id}.lock"))
    }

    /// Takes the lock of a proposal; nothing if a live server has it.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn hold(&self, id: &ProposalId) -> Result<Option<Held>, ProposalStoreError> {
        let path = self.lock_path(id);
        let failed = |cause| ProposalStoreError::Write {
            path: path.clone(),
            cause,
        };
        self.make_folder().map_err(failed)?;
        let lock = private(File::options().create(true).truncate(false).write(true))
            .open(&path)
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Held { _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(cause)) => Err(failed(cause)),
        }
    }

    /// Writes a proposal in the place of what was kept of it.
    ///
    /// # Errors
    /// It is too large, or the folder cannot be written.
    pub fn keep(&self, kept: &Kept) -> Result<(), ProposalStoreError> {
        let mut large = BTreeMap::new();
        for (index, file) in kept.plan.files.iter().enumerate() {
            if let Some(text) = file.before.as_ref().filter(|text| text.len() > SMALL) {
                large.insert(index, text.len());
            }
        }
        let bytes = large.values().sum();
        if bytes > MOST_BYTES {
            return Err(ProposalStoreError::TooLarge { bytes });
        }
        let id = &kept.proposal.id;
        for &index in large.keys() {
            let path = self.text_path(id, index);
            let text = kept.plan.files[index].before.as_deref().unwrap_or_default();
            if std::fs::metadata(&path).is_ok_and(|there| there.len() == text.len() as u64) {
                continue;
            }
            self.replace(&path, text.as_bytes())?;
        }
        let stored = Stored {
            proposal: &*kept.proposal,
            plan: lean(&kept.plan),
            bounds: kept.bounds.clone(),
            feedback: kept.feedback.clone(),
            applies_each: kept.applies_each,
            large,
        };
        self.write(&self.path(id), &stored)
    }

    /// Forgets a proposal that is settled, and lets its lock go.
    pub fn forget(&self, id: &ProposalId, held: Option<Held>) {
        let half_written = self.folder.join(format!(".{id}.json.tmp"));
        for path in [half_written, self.path(id), self.lock_path(id)] {
            remove(&path);
        }
        let ours = format!("{id}.");
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.trim_start_matches('.').starts_with(&ours) && name.contains(".text") {
                remove(&entry.path());
            }
        }
        drop(held);
    }

    /// The proposals that are kept, oldest first.
    pub fn list(&self) -> Vec<ProposalId> {
        self.names(|name| name.strip_suffix(".json").filter(|stem| !stem.contains('.')))
    }

    /// Reads a kept proposal; nothing if it has been settled meanwhile.
    ///
    /// # Errors
    /// It cannot be read or understood.
    pub fn read(&self, id: &ProposalId) -> Result<Option<Kept>, ProposalStoreError> {
        let path = self.path(id);
        let Some(stored) = self.load::<Stored<Proposal>>(&path)? else {
            return Ok(None);
        };
        let Stored {
            proposal,
            mut plan,
            bounds,
            feedback,
            applies_each,
            large,
        } = stored;
        for (index, bytes) in large {
            let text = std::fs::read_to_string(self.text_path(id, index)).ok();
            let text = text.filter(|text| text.len() == bytes);
            let (Some(file), Some(text)) = (plan.files.get_mut(index), text) else {
                let cause = "the text that it was made for is not beside it".to_owned();
                return Err(ProposalStoreError::Broken { path, cause });
            };
            file.before = Some(text);
        }
        for file in &mut plan.files {
            file.after = after(file);
        }
        let kept = Kept {
            proposal: Arc::new(proposal),
            plan: Arc::new(plan),
            bounds,
            feedback,
            applies_each,
        };
        match fault(&kept, id) {
            None => Ok(Some(kept)),
            Some(cause) => Err(ProposalStoreError::Broken {
                path,
                cause: cause.to_owned(),
            }),
        }
    }

    /// Keeps what the model is to be told.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn keep_note(&self, note: &Note) -> Result<(), ProposalStoreError> {
        self.write(&self.note_path(&note.proposal_id), note)
    }

    /// The model was told.
    pub fn forget_note(&self, id: &ProposalId) {
        remove(&self.note_path(id));
    }

    /// Whether the model is still to be told of a proposal: then it was settled.
    pub fn has_note(&self, id: &ProposalId) -> bool {
        self.note_path(id).exists()
    }

    /// What the model is to be told in a thread, oldest first.
    pub fn notes(&self, thread: &ThreadId) -> Vec<Note> {
        let noted = self.names(|name| name.strip_suffix(".note.json").filter(|stem| !stem.contains('.')));
        let read = |id: &ProposalId| match self.load::<Note>(&self.note_path(id)) {
            Ok(note) => note,
            Err(error) => {
                tracing::warn!("{error}");
                None
            }
        };
        noted
            .iter()
            .filter_map(read)
            .filter(|note| note.thread_id == *thread)
            .collect()
    }

    fn names(&self, stem: impl Fn(&str) -> Option<&str>) -> Vec<ProposalId> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| stem(entry.file_name().to_str()?).map(str::to_owned))
            .filter(|name| !name.is_empty() && !name.starts_with('.'))
            .collect();
        // Ids sort by their time.
        names.sort();
        names.into_iter().map(ProposalId::from).collect()
    }

    fn load<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, ProposalStoreError> {
        let failed = |cause| ProposalStoreError::Read {
            path: path.to_owned(),
            cause,
        };
        let broken = |cause: String| ProposalStoreError::Broken {
            path: path.to_owned(),
            cause,
        };
        let found = match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(failed)?,
        };
        if !found.is_file() {
            return Err(broken("it is no file".to_owned()));
        }
        if found.len() > MOST_BYTES as u64 {
            return Err(broken(format!("it has {} bytes", found.len())));
        }
        let bytes = std::fs::read(path).map_err(failed)?;
        let Format { format } = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        if format > FORMAT {
            return Err(ProposalStoreError::Newer {
                path: path.to_owned(),
                format,
            });
        }
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| broken(error.to_string()))
    }

    fn make_folder(&self) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)
    }

    fn write(&self, path: &Path, body: &impl Serialize) -> Result<(), ProposalStoreError> {
        let failed = |cause| ProposalStoreError::Write {
            path: path.to_owned(),
            cause,
        };
        let bytes = serde_json::to_vec(&Envelope { format: FORMAT, body }).map_err(|error| failed(error.into()))?;
        if bytes.len() > MOST_BYTES {
            return Err(ProposalStoreError::TooLarge { bytes: bytes.len() });
        }
        self.replace(path, &bytes)
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), ProposalStoreError> {
        let failed = |cause| ProposalStoreError::Write {
            path: path.to_owned(),
            cause,
        };
        self.make_folder().map_err(failed)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Only one server has the lock, so that no two write it.
        let temporary = self.folder.join(format!(".{name}.tmp"));
        let written = || {
            // One that was left behind would keep its mode.
            remove(&temporary);
            let mut file = private(File::options().create_new(true).write(true)).open(&temporary)?;
            file.write_all(bytes)?;
            std::fs::rename(&temporary, path)
        };
        written().map_err(|cause| {
            remove(&temporary);
            failed(cause)
        })
    }
}

/// What makes a kept proposal useless.
fn fault(kept: &Kept, id: &ProposalId) -> Option<&'static str> {
    let Kept { proposal, plan, .. } = kept;
    if proposal.id != *id {
        return Some("its id is not the file's name");
    }
    if proposal.files.is_empty() || proposal.files.len() != plan.files.len() {
        return Some("its files are not those of its plan");
    }
    let mut ids = std::collections::HashSet::new();
    for (file, planned) in proposal.files.iter().zip(&plan.files) {
        let absolute = planned.paths().all(Path::is_absolute);
        if file.path != planned.path || file.kind != planned.kind || !absolute {
            return Some("its files are not those of its plan");
        }
        if file.hunks.len() != planned.hunks.len() {
            return Some("its hunks are not those of its plan");
        }
        if !file.hunks.iter().all(|hunk| ids.insert(&hunk.id)) {
            return Some("two of its hunks have one id");
        }
    }
    (!kept.bounds.cwd.is_absolute()).then_some("its folder is not absolute")
}

fn remove(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!("{} could not be removed: {error}", path.display());
        }
        _ => {}
    }
}

/// For the person's eyes only.
fn private(options: &mut std::fs::OpenOptions) -> &mut std::fs::OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::hunk::hunks;
    use crate::protocol::item::LineRange;
    use crate::protocol::proposal::{Hunk, HunkStatus, ProposalFile, ProposalStatus};

    fn kept(id: &str) -> Kept {
        let (before, after) = ("one\ntwo\n", "one\nTWO\n");
        let kind = FileChangeKind::Update { move_path: None };
        let planned = FilePlan {
            path: "/w/a.txt".into(),
            kind: kind.clone(),
            before: Some(before.to_owned()),
            after: Some(after.to_owned()),
            whole: None,
            hunks: hunks(before, after),
            mode: None,
            folders: Vec::new(),
        };
        let hunk = Hunk {
            id: "h".into(),
            status: HunkStatus::Pending,
            range: LineRange { start: 1, end: 2 },
            old_text: "two\n".to_owned(),
            new_text: "TWO\n".to_owned(),
            proposed_text: None,
            conflict: None,
            feedback: None,
        };
        let file = ProposalFile {
            path: planned.path.clone(),
            uri: "file:///w/a.txt".to_owned(),
            kind,
            open: false,
            unsaved: false,
            base_version: None,
            version: None,
            mode: None,
            not_text: None,
            notes: Vec::new(),
            before: None,
            after: None,
            current: None,
            result: None,
            hunks: vec![hunk],
        };
        let proposal = Proposal {
            id: id.into(),
            thread_id: "t".into(),
            turn_id: "u".into(),
            item_id: "i".into(),
            status: ProposalStatus::Proposed,
            files: vec![file],
            diff: String::new(),
            reason: None,
            grant_root: None,
            auto_approved: false,
            stacked_on: Vec::new(),
            superseded_by: None,
            outcome: None,
            created_at_ms: 0,
        };
        Kept {
            proposal: Arc::new(proposal),
            plan: Arc::new(Plan { files: vec![planned] }),
            bounds: Bounds {
                cwd: "/w".into(),
                policy: SandboxPolicy::default(),
                roots: vec!["/w".into()],
                temporary_folder: None,
                granted: Vec::new(),
                walls: None,
                unreadable: Vec::new(),
                protected: vec!["deploy.yml".to_owned()],
                unprotected: Vec::new(),
            },
            feedback: vec!["words".to_owned()],
            applies_each: true,
        }
    }

    #[test]
    fn what_is_kept_is_read_again_until_it_is_forgotten() {
        let home = tempfile::tempdir().expect("a folder");
        let store = ProposalStore::new(home.path());
        assert_eq!(store.list(), []);
        let (one, two) = (kept("a"), kept("b"));
        store.keep(&two).expect("kept");
        store.keep(&one).expect("kept");
        store.keep(&one).expect("kept again");
        assert_eq!(store.list(), [ProposalId::from("a"), "b".into()]);
        assert_eq!(store.read(&"a".into()).expect("read"), Some(one));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: PathBuf| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
            assert_eq!(mode(store.path(&"a".into())), 0o600);
            assert_eq!(mode(store.folder.clone()), 0o700);
        }
        let held = store.hold(&"a".into()).expect("a lock").expect("free");
        assert!(store.hold(&"a".into()).expect("a lock").is_none(), "held already");
        store.forget(&"a".into(), Some(held));
        assert_eq!(store.read(&"a".into()).expect("read"), None);
        assert!(store.hold(&"a".into()).expect("a lock").is_some());
        let names = std::fs::read_dir(&store.folder).expect("a folder").flatten();
        let mut names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, ["a.lock", "b.json"], "nothing is left behind");
    }

    #[test]
    fn a_large_text_has_a_file_of_its_own() {
        let home = tempfile::tempdir().expect("a folder");
        let store = ProposalStore::new(home.path());
        let mut large = kept("a");
        let before = "one\ntwo\n".repeat(20_000);
        let after = before.replacen("two", "TWO", 1);
        let plan = Arc::make_mut(&mut large.plan);
        plan.files[0].hunks = hunks(&before, &after);
        (plan.files[0].before, plan.files[0].after) = (Some(before), Some(after));
        store.keep(&large).expect("kept");
        let written = std::fs::metadata(store.text_path(&"a".into(), 0))
            .expect("there")
            .modified();
        large.feedback.clear();
        store.keep(&large).expect("kept again");
        let again = std::fs::metadata(store.text_path(&"a".into(), 0))
            .expect("there")
            .modified();
        assert_eq!(written.ok(), again.ok(), "written once");
        assert!(std::fs::metadata(store.path(&"a".into())).expect("there").len() < 4000);
        assert_eq!(store.read(&"a".into()).expect("read"), Some(large));
        assert_eq!(store.list(), [ProposalId::from("a")]);
        std::fs::write(store.text_path(&"a".into(), 0), "short").expect("written");
        assert!(store.read(&"a".into()).is_err());
        store.forget(&"a".into(), None);
        assert_eq!(std::fs::read_dir(&store.folder).expect("a folder").count(), 0);
    }

    #[test]
    fn what_is_broken_foreign_or_newer_is_refused_and_left() {
        let home = tempfile::tempdir().expect("a folder");
        let store = ProposalStore::new(home.path());
        store.keep(&kept("x")).expect("kept");
        let whole = std::fs::read(store.path(&"x".into())).expect("there");
        let whole: serde_json::Value = serde_json::from_slice(&whole).expect("json");
        type Change = fn(&mut serde_json::Value);
        let rows: [(&str, Change); 8] = [
            ("newer version", |json| json["format"] = 2.into()),
            ("format", |json| *json = serde_json::json!({"some": "thing"})),
            ("the file's name", |json| json["proposal"]["id"] = "y".into()),
            ("not those of its plan", |json| {
                json["proposal"]["files"][0]["hunks"] = serde_json::json!([])
            }),
            ("not those of its plan", |json| {
                json["plan"]["files"][0]["path"] = "/etc/passwd".into()
            }),
            ("not those of its plan", |json| {
                json["plan"]["files"] = serde_json::json!([])
            }),
            ("not absolute", |json| json["bounds"]["cwd"] = "w".into()),
            ("missing field", |json| json["bounds"] = serde_json::json!({})),
        ];
        for (words, change) in rows {
            let mut json = whole.clone();
            change(&mut json);
            store.make_folder().expect("a folder");
            let text = json.to_string();
            std::fs::write(store.path(&"x".into()), &text).expect("written");
            let error = store.read(&"x".into()).expect_err(words).to_string();
            assert!(error.contains(words) && error.contains("x.json"), "{words}: {error}");
            assert_eq!(std::fs::read_to_string(store.path(&"x".into())).expect("there"), text);
        }
        for text in ["", "{", "null", "\0\0"] {
            std::fs::write(store.path(&"x".into()), text).expect("written");
            assert!(store.read(&"x".into()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn notes_are_kept_by_thread() {
        let home = tempfile::tempdir().expect("a folder");
        let store = ProposalStore::new(home.path());
        let note = |id: &str, thread: &str| Note {
            proposal_id: id.into(),
            thread_id: thread.into(),
            text: format!("about {id}"),
        };
        for (id, thread) in [("b", "t"), ("a", "t"), ("c", "other")] {
            store.keep_note(&note(id, thread)).expect("kept");
        }
        assert_eq!(store.list(), []);
        assert_eq!(store.notes(&"t".into()), [note("a", "t"), note("b", "t")]);
        assert!(store.has_note(&"c".into()));
        store.forget_note(&"a".into());
        assert_eq!(store.notes(&"t".into()), [note("b", "t")]);
    }
}
