//! A patch and a snapshot of the files to a plan: every file's text before and after, and the hunks between.
//!
//! Nothing is planned unless everything fits. A file that the patch names twice is seen by the second section as the
//! first one left it, and becomes one file of the plan.

pub mod error;

use super::edit::{FileEdit, Misfit, TextChange, insert, replace};
use super::files::{Files, ReadError, Whole, absolute, real_folder};
use super::hunk::{PlannedHunk, hunks, hunks_within, with_hunks};
use super::lines::{BOM, Lines};
use super::parse::{Chunk, Language, LineKind, Patch, Section};
use super::turn_diff::{Body, Side, one_file};
use super::update::update;
use crate::protocol::item::FileChangeKind;
use error::PlanError;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What a patch would do to each file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// In the order in which the patch first names them; each path at most once, also counting where files move to.
    pub files: Vec<FilePlan>,
}

/// What a patch would do to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePlan {
    /// Absolute and lexically clean; for a move, where the file is now.
    pub path: PathBuf,
    pub kind: FileChangeKind,
    /// The text now; `None` for a new file, and for one that is deleted or moved as it is.
    pub before: Option<String>,
    /// The text if every hunk is taken; `None` for a deleted file, and for one that is moved as it is.
    pub after: Option<String>,
    /// What is deleted or moved as it is, since it is no text: other bytes, or a link itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
    /// Empty only if nothing changes. A file that is made, deleted, or moved or given another mode as it is, has
    /// exactly one, even if that changes no line.
    pub hunks: Vec<PlannedHunk>,
    /// The permission bits that the file shall have where it is then; `None` for those that it has, or that the system
    /// gives to a new file. They take effect once any hunk is accepted.
    pub mode: Option<u32>,
    /// Where the folders of its paths really were when it was shown, links followed. Empty where nobody has looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<PathBuf>,
}

impl Plan {
    /// Notes where the folders of its files really are. Waits for the disk.
    pub fn note_folders(&mut self) {
        for file in &mut self.files {
            file.folders = file.real_folders();
        }
    }

    /// A path whose folder is another one by now than it was when the change was shown: a link has taken its place, or that of one above
    /// it. Waits for the disk.
    pub fn strayed(&self) -> Option<&Path> {
        self.files.iter().find_map(FilePlan::strayed)
    }
}

impl FilePlan {
    fn real_folders(&self) -> Vec<PathBuf> {
        self.paths()
            .map(|path| real_folder(path.parent().unwrap_or(path)))
            .collect()
    }

    fn strayed(&self) -> Option<&Path> {
        let now = self.real_folders();
        let mut all = self.paths().zip(self.folders.iter().zip(&now));
        all.find(|(_, (then, now))| then != now).map(|(path, _)| path)
    }

    /// What leads from one text to the other: a file that is made, changed, moved or deleted, with the hunks between.
    /// Nothing if there is neither a text before nor one after.
    pub fn between(
        path: PathBuf,
        move_to: Option<PathBuf>,
        before: Option<String>,
        after: Option<String>,
    ) -> Option<Self> {
        file_plan(path, before, after, None, move_to, None)
    }

    /// The text with only some hunks: `accepted[i]` belongs to `hunks[i]`, a missing one counts as not accepted.
    /// `None` where the file is not, or no longer, there. A move takes place once any hunk is accepted.
    pub fn with(&self, accepted: &[bool]) -> Option<String> {
        let any = accepted.iter().zip(&self.hunks).any(|(&accepted, _)| accepted);
        match (&self.before, &self.after) {
            (Some(before), Some(_)) => Some(with_hunks(before, &self.hunks, accepted)),
            _ if any => self.after.clone(),
            _ => self.before.clone(),
        }
    }

    /// Where the file is moved to.
    pub fn move_to(&self) -> Option<&Path> {
        match &self.kind {
            FileChangeKind::Update { move_path } => move_path.as_deref(),
            FileChangeKind::Add | FileChangeKind::Delete => None,
        }
    }

    /// Every path that would be written or removed.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.path.as_path()).chain(self.move_to())
    }

    /// Whether the patch leaves the file as it is.
    pub fn is_noop(&self) -> bool {
        self.hunks.is_empty()
    }

    /// The difference in the way of `git diff`.
    pub fn unified_diff(&self, relative_to: &Path) -> String {
        if let Some(whole) = &self.whole {
            let body = match whole {
                Whole::Bytes { sha256, size, .. } => Body::Bytes {
                    key: sha256.clone(),
                    size: *size,
                },
                Whole::Link { target } => Body::Link(target.clone()),
            };
            let side = Side { mode: None, body };
            let to = self.move_to();
            return one_file(
                &self.path,
                to.unwrap_or(&self.path),
                relative_to,
                Some(&side),
                to.map(|_| &side),
            );
        }
        super::diff::Shown {
            path: &self.path,
            before: self.before.as_deref(),
            after: self.after.as_deref(),
            move_to: self.move_to(),
            mode: self.mode,
        }
        .unified(relative_to)
    }
}

impl Plan {
    /// Every path that would be written or removed.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().flat_map(FilePlan::paths)
    }

    /// Whether the patch leaves every file as it is.
    pub fn is_noop(&self) -> bool {
        self.files.iter().all(FilePlan::is_noop)
    }

    /// With each text that moves to a name of which this holds as one file deleted and one made: a move shows no more than the lines
    /// that change, and brings what is there when it takes place. `mode` finds the permission bits of a file.
    #[must_use]
    pub fn spelled_out(self, holds: impl Fn(&Path) -> bool, mode: impl Fn(&Path) -> Option<u32>) -> Self {
        let mut files = Vec::with_capacity(self.files.len());
        for file in self.files {
            let to = file.move_to().filter(|to| holds(to)).map(Path::to_owned);
            let (Some(to), None) = (to, &file.whole) else {
                files.push(file);
                continue;
            };
            let runs = |mode: &u32| mode & 0o111 != 0;
            let mode = file.mode.or_else(|| mode(&file.path).filter(runs));
            files.extend(file_plan(file.path, file.before, None, None, None, None));
            files.extend(file_plan(to, None, file.after, None, None, mode));
        }
        Self { files }
    }

    /// The difference of all files in the way of `git diff`.
    pub fn unified_diff(&self, relative_to: &Path) -> String {
        self.files.iter().map(|file| file.unified_diff(relative_to)).collect()
    }

    /// One line a file, `A`, `M` or `D` and the path; a move is its new name modified and its old one deleted.
    pub fn summary(&self, relative_to: &Path) -> String {
        let mut text = String::new();
        let mut line = |sign: char, path: &Path| {
            let name = path.strip_prefix(relative_to).unwrap_or(path).to_string_lossy();
            let _ = writeln!(text, "{sign} {}", super::diff::quote(&name));
        };
        for file in &self.files {
            match &file.kind {
                FileChangeKind::Add => line('A', &file.path),
                FileChangeKind::Delete => line('D', &file.path),
                FileChangeKind::Update { move_path: None } => line('M', &file.path),
                FileChangeKind::Update { move_path: Some(to) } => {
                    line('M', to);
                    line('D', &file.path);
                }
            }
        }
        text
    }
}

/// Holds a patch against the files.
///
/// Relative paths are below `cwd`, which is absolute.
///
/// # Errors
/// The first section that does not fit, with the number of the others.
pub fn plan(patch: &Patch, cwd: &Path, files: &dyn Files) -> Result<Plan, PlanError> {
    let mut board = Board::new(files, cwd, patch.language);
    let mut errors = Vec::new();
    let mut sections = &patch.sections[..];
    for &length in &patch.steps {
        let (of_step, later) = sections.split_at(length.min(sections.len()));
        sections = later;
        board.begin_step(of_step);
        for section in of_step {
            if !board.is_doubtful(section)
                && let Err(error) = board.section(section)
            {
                board.doubt(section);
                errors.push(error);
            }
        }
    }
    let name = |path: &Path| board.name(path);
    match PlanError::joined(errors, name) {
        Some(error) => Err(error),
        None => board.finish(),
    }
}

/// Holds edits against the files, each as those before it leave them. One that does not fit keeps none of the others out.
///
/// Relative paths are below `cwd`, which is absolute. The plan comes with why each edit does not fit, in their order.
///
/// # Errors
/// What fits does not go together.
pub fn plan_each(
    edits: &[FileEdit],
    cwd: &Path,
    files: &dyn Files,
) -> Result<(Plan, Vec<Option<PlanError>>), PlanError> {
    let mut board = Board::new(files, cwd, Language::Envelope);
    let mut errors = Vec::with_capacity(edits.len());
    for edit in edits {
        board.step += 1;
        errors.push(board.edit(edit).err());
    }
    Ok((board.finish()?, errors))
}

/// The files as the sections so far leave them.
struct Board<'f> {
    files: &'f dyn Files,
    cwd: &'f Path,
    /// A new name may be that of a file that is there.
    replaces: bool,
    entries: Vec<Entry>,
    by_real: HashMap<PathBuf, usize>,
    step: usize,
    /// Names that a section of this step takes a file away from.
    leaving: HashSet<PathBuf>,
    /// Names of sections that did not fit: what comes after them cannot be judged.
    doubtful: HashSet<PathBuf>,
}

/// One name in the tree.
struct Entry {
    path: PathBuf,
    original: Option<Held>,
    now: State,
    /// As it was before the step with this number, if that has changed it.
    base: Option<(usize, State)>,
    /// In this step a file was put here.
    filled_in: Option<usize>,
    /// What was replaced, while the text is one update away from `original`.
    replaced: Option<Vec<PlannedHunk>>,
    steps: usize,
}

/// What a name stands for.
#[derive(Clone)]
enum Held {
    Text(Rc<String>),
    /// Not to be changed, only deleted or moved.
    Whole(Rc<Whole>),
}

impl Held {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(Rc::unwrap_or_clone(text)),
            Self::Whole(_) => None,
        }
    }

    fn whole(&self) -> Option<&Rc<Whole>> {
        match self {
            Self::Text(_) => None,
            Self::Whole(whole) => Some(whole),
        }
    }
}

/// What is under a name.
#[derive(Clone, Default)]
struct State {
    /// The original itself as long as no section has changed it.
    held: Option<Held>,
    /// Where the file now here was in the snapshot, if elsewhere.
    moved_from: Option<usize>,
    executable: Option<bool>,
}

impl State {
    fn whole(&self) -> Option<&Rc<Whole>> {
        self.held.as_ref().and_then(Held::whole)
    }
}

impl Entry {
    fn new(path: PathBuf, held: Option<Held>) -> Self {
        Self {
            path,
            original: held.clone(),
            now: State {
                held,
                ..State::default()
            },
            base: None,
            filled_in: None,
            replaced: None,
            steps: 0,
        }
    }

    /// The file as it was before the step.
    fn before(&self, step: usize) -> &State {
        match &self.base {
            Some((of_step, state)) if *of_step == step => state,
            _ => &self.now,
        }
    }

    /// To be called before any change.
    fn change(&mut self, step: usize) {
        if self.base.as_ref().is_none_or(|(of_step, _)| *of_step != step) {
            self.base = Some((step, self.now.clone()));
        }
        self.steps += 1;
    }
}

impl<'f> Board<'f> {
    fn new(files: &'f dyn Files, cwd: &'f Path, language: Language) -> Self {
        Self {
            files,
            cwd,
            replaces: language == Language::Envelope,
            entries: Vec::new(),
            by_real: HashMap::new(),
            step: 0,
            leaving: HashSet::new(),
            doubtful: HashSet::new(),
        }
    }
}

impl Board<'_> {
    fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.cwd).unwrap_or(path).display().to_string()
    }

    fn begin_step(&mut self, sections: &[Section]) {
        self.step += 1;
        self.leaving.clear();
        if self.replaces {
            return;
        }
        for section in sections {
            if let Section::Delete { path, .. }
            | Section::Update {
                path, move_to: Some(_), ..
            } = section
            {
                let real = self.files.real(&absolute(self.cwd, path));
                self.leaving.insert(real);
            }
        }
    }

    /// The names that a section is about.
    fn names(&self, section: &Section) -> Vec<PathBuf> {
        let other = match section {
            Section::Update { move_to, .. } => move_to.as_ref(),
            Section::Copy { from, .. } => Some(from),
            Section::Add { .. } | Section::Delete { .. } => None,
        };
        let names = [Some(section.path()), other].into_iter().flatten();
        names.map(|path| absolute(self.cwd, path)).collect()
    }

    fn is_doubtful(&self, section: &Section) -> bool {
        !self.doubtful.is_empty() && self.names(section).iter().any(|path| self.doubtful.contains(path))
    }

    fn doubt(&mut self, section: &Section) {
        let names = self.names(section);
        self.doubtful.extend(names);
    }

    fn section(&mut self, section: &Section) -> Result<(), PlanError> {
        match section {
            Section::Add {
                path,
                content,
                executable,
            } => self.add(absolute(self.cwd, path), content, *executable),
            Section::Delete { path, or, holds } => {
                let index = self.existing(path, or, "delete")?;
                self.delete(index, holds.as_deref())
            }
            Section::Update {
                path,
                or,
                move_to: None,
                chunks,
                executable,
            } => {
                let index = match self.existing(path, or, "update") {
                    Err(PlanError::Missing { .. }) if makes_a_file(chunks) => self.entry(absolute(self.cwd, path))?,
                    found => found?,
                };
                let text = self.text_of(index, &self.entries[index].now)?;
                let (text, replaced) = self.updated(index, text.as_ref(), chunks)?;
                self.change_text(index, Rc::unwrap_or_clone(text), replaced);
                let state = &mut self.entries[index].now;
                state.executable = executable.or(state.executable);
                Ok(())
            }
            Section::Update {
                path,
                or,
                move_to: Some(to),
                chunks,
                executable,
            } => self.relocate(path, or, to, chunks, *executable),
            Section::Copy {
                from,
                path,
                chunks,
                executable,
            } => self.copy(from, path, chunks, *executable),
        }
    }

    fn edit(&mut self, edit: &FileEdit) -> Result<(), PlanError> {
        let path = absolute(self.cwd, &edit.path);
        match &edit.change {
            TextChange::Whole { text } => self.add(path, text, None),
            TextChange::Replace { old, new, all } => self.replace(path, old, new, *all),
            TextChange::Insert { after, text } => self.insert_lines(path, *after, text),
        }
    }

    fn replace(&mut self, path: PathBuf, old: &str, new: &str, all: bool) -> Result<(), PlanError> {
        let index = self.entry(path.clone())?;
        let there = self.text_of(index, &self.entries[index].now)?;
        let Some(there) = there.filter(|there| !there.is_empty() || !old.is_empty()) else {
            return match old.is_empty() {
                true => self.add(path, new, None),
                false => Err(PlanError::Missing { path, action: "change" }),
            };
        };
        if old == new {
            return Err(PlanError::SameText { path });
        }
        if old.is_empty() {
            return Err(PlanError::NoOldText { path });
        }
        let replaced = replace(&there, old, new, all).map_err(|misfit| match misfit {
            Misfit::NotFound(search, hint) => PlanError::TextNotFound {
                path: path.clone(),
                search,
                hint,
            },
            Misfit::NotUnique(mut lines) => PlanError::TextNotUnique {
                path: path.clone(),
                times: lines.len(),
                lines: {
                    lines.dedup();
                    lines
                },
            },
        })?;
        self.change_text(index, replaced.text, replaced.hunks);
        Ok(())
    }

    fn insert_lines(&mut self, path: PathBuf, after: usize, text: &str) -> Result<(), PlanError> {
        let index = self.entry(path.clone())?;
        let Some(there) = self.text_of(index, &self.entries[index].now)? else {
            return Err(PlanError::Missing { path, action: "change" });
        };
        let Some(changed) = insert(&there, after, text) else {
            let lines = Lines::new(&there).len();
            return Err(PlanError::NoSuchLine { path, after, lines });
        };
        self.change_text(index, changed, None);
        Ok(())
    }

    /// `replaced` is what was, as far as it is known.
    fn change_text(&mut self, index: usize, text: String, replaced: Option<Vec<PlannedHunk>>) {
        let step = self.step;
        let entry = &mut self.entries[index];
        entry.change(step);
        entry.replaced = replaced.filter(|_| entry.steps == 1 && entry.original.is_some());
        entry.now.held = Some(Held::Text(Rc::new(text)));
    }

    /// What is to be changed as text.
    fn text_of(&self, index: usize, state: &State) -> Result<Option<Rc<String>>, PlanError> {
        match &state.held {
            None => Ok(None),
            Some(Held::Text(text)) => Ok(Some(text.clone())),
            Some(Held::Whole(whole)) => Err(self.no_text(index, whole)),
        }
    }

    /// What is there is no text; why not, in full.
    fn no_text(&self, index: usize, whole: &Whole) -> PlanError {
        let path = self.entries[index].path.clone();
        match self.files.read(&path) {
            Err(source) => PlanError::Read { path, source },
            // It is elsewhere by now, for this patch.
            Ok(_) => PlanError::AsItIs {
                path,
                whole: whole.clone(),
            },
        }
    }

    /// The text with the chunks, and what they replaced.
    fn updated(
        &self,
        index: usize,
        text: Option<&Rc<String>>,
        chunks: &[Chunk],
    ) -> Result<(Rc<String>, Option<Vec<PlannedHunk>>), PlanError> {
        let before = text.map_or("", |text| text.as_str());
        if chunks.is_empty() {
            let same = text.cloned().unwrap_or_default();
            return Ok((same, Some(Vec::new())));
        }
        let path = &self.entries[index].path;
        let updated =
            update(before, chunks).map_err(|misfit| PlanError::misfit(path.clone(), misfit, |path| self.name(path)))?;
        Ok((Rc::new(updated.text), Some(updated.replaced)))
    }

    fn entry(&mut self, path: PathBuf) -> Result<usize, PlanError> {
        let real = self.files.real(&path);
        if let Some(&index) = self.by_real.get(&real) {
            return Ok(index);
        }
        let held = match self.files.read(&path) {
            Ok(text) => text.map(|file| Held::Text(Rc::new(file.text))),
            Err(source @ (ReadError::Link { .. } | ReadError::NotUtf8 { .. })) => match self.files.whole(&path) {
                Ok(Some(whole)) => Some(Held::Whole(Rc::new(whole))),
                Ok(None) => return Err(PlanError::Read { path, source }),
                Err(source) => return Err(PlanError::Read { path, source }),
            },
            Err(source) => return Err(PlanError::Read { path, source }),
        };
        Ok(self.insert(real, Entry::new(path, held)))
    }

    fn insert(&mut self, real: PathBuf, entry: Entry) -> usize {
        self.entries.push(entry);
        self.by_real.insert(real, self.entries.len() - 1);
        self.entries.len() - 1
    }

    /// The file of the first name under which there is one.
    fn existing(&mut self, path: &Path, or: &[PathBuf], action: &'static str) -> Result<usize, PlanError> {
        let first = absolute(self.cwd, path);
        let found = self.entry(first.clone());
        if let Ok(index) = found
            && self.entries[index].now.held.is_some()
        {
            return Ok(index);
        }
        for other in or {
            if let Ok(index) = self.entry(absolute(self.cwd, other))
                && self.entries[index].now.held.is_some()
            {
                return Ok(index);
            }
        }
        found?;
        Err(PlanError::Missing { path: first, action })
    }

    fn add(&mut self, path: PathBuf, content: &str, executable: Option<bool>) -> Result<(), PlanError> {
        let index = self.entry(path)?;
        if self.replaces {
            self.text_of(index, &self.entries[index].now)?;
        }
        self.must_be_free(index)?;
        let step = self.step;
        let entry = &mut self.entries[index];
        let text = match &entry.now.held {
            Some(Held::Text(there)) if self.replaces => {
                let lines = Lines::new(there).len();
                if content.is_empty() && lines > 0 {
                    let lines = if lines == 1 {
                        "1 line".to_owned()
                    } else {
                        format!("{lines} lines")
                    };
                    return Err(PlanError::WouldEmpty {
                        path: entry.path.clone(),
                        lines,
                    });
                }
                in_the_way_of(there, content)
            }
            _ => content.to_owned(),
        };
        entry.change(step);
        let was_there = entry.now.held.is_some();
        entry.now = State {
            held: Some(Held::Text(Rc::new(text))),
            moved_from: entry.now.moved_from.filter(|_| was_there),
            executable: executable.or(entry.now.executable),
        };
        entry.filled_in = Some(step);
        entry.replaced = None;
        Ok(())
    }

    /// Whether a file may come to this name.
    fn must_be_free(&self, index: usize) -> Result<(), PlanError> {
        let entry = &self.entries[index];
        let full = matches!(&entry.now.held, Some(Held::Text(text)) if !text.is_empty());
        let filled = entry.filled_in == Some(self.step);
        let leaves = || self.leaving.contains(&self.files.real(&entry.path));
        if let Some(whole) = entry.now.whole()
            && (filled || !leaves())
        {
            return Err(PlanError::Occupied {
                path: entry.path.clone(),
                whole: Whole::clone(whole),
            });
        }
        if !self.replaces && full && (filled || !leaves()) {
            return Err(PlanError::Exists {
                path: entry.path.clone(),
            });
        }
        Ok(())
    }

    fn delete(&mut self, index: usize, holds: Option<&[Chunk]>) -> Result<(), PlanError> {
        let step = self.step;
        if let Some(chunks) = holds {
            let state = self.entries[index].before(step);
            let text = match state.whole().map(|whole| Whole::clone(whole)) {
                // As git shows a link that goes.
                Some(Whole::Link { target }) => Some(Rc::new(target.to_string_lossy().into_owned())),
                _ => self.text_of(index, state)?,
            };
            let (rest, _) = self.updated(index, text.as_ref(), chunks)?;
            let lines = Lines::new(&rest);
            if let Some(left) = (0..lines.len()).find(|&line| !lines.content(line).is_empty() || lines.len() > 1) {
                return Err(self.leftover(index, text.as_deref(), lines.content(left)));
            }
        }
        let entry = &mut self.entries[index];
        entry.change(step);
        if entry.filled_in != Some(step) {
            (entry.now, entry.replaced) = (State::default(), None);
        }
        Ok(())
    }

    fn leftover(&self, index: usize, text: Option<&String>, left: &str) -> PlanError {
        let lines = Lines::new(text.map_or("", String::as_str));
        let line = (0..lines.len()).find(|&line| lines.content(line) == left).unwrap_or(0);
        PlanError::Leftover {
            path: self.entries[index].path.clone(),
            line: line + 1,
            text: left.chars().take(200).collect(),
        }
    }

    /// Moves the file to another name. A file that is there already is replaced, which the plan shows as such, or
    /// refused.
    fn relocate(
        &mut self,
        path: &Path,
        or: &[PathBuf],
        to: &Path,
        chunks: &[Chunk],
        executable: Option<bool>,
    ) -> Result<(), PlanError> {
        let step = self.step;
        let index = match self.entry(absolute(self.cwd, path)) {
            // Another file may be here by now; the one that was here moves.
            Ok(index) if self.entries[index].before(step).held.is_some() => index,
            _ => self.existing(path, or, "update")?,
        };
        let source = self.entries[index].before(step).clone();
        let (held, replaced) = match source.whole() {
            Some(whole) if chunks.is_empty() && executable.is_none() => (Held::Whole(whole.clone()), None),
            _ => {
                let text = self.text_of(index, &source)?;
                let (text, replaced) = self.updated(index, text.as_ref(), chunks)?;
                (Held::Text(text), replaced)
            }
        };
        let to = absolute(self.cwd, to);
        let from = self.entries[index].path.clone();
        let real = self.files.real(&to);
        let target = match self.by_real.get(&real) {
            Some(&target) => target,
            // Only the spelling changes: what the snapshot has under the new name is the file itself.
            None if self.files.same_entry(&from, &to) => self.insert(real, Entry::new(to, None)),
            None => self.entry(to)?,
        };
        let origin = source
            .moved_from
            .or_else(|| self.entries[index].original.is_some().then_some(index));
        let simple = self.entries[index].steps == 0;
        let now = State {
            held: Some(held),
            moved_from: origin.filter(|&origin| origin != target),
            executable: executable.or(source.executable),
        };
        if target != index {
            self.must_be_free(target)?;
            let entry = &mut self.entries[index];
            entry.change(step);
            if entry.filled_in != Some(step) {
                (entry.now, entry.replaced) = (State::default(), None);
            }
        }
        let entry = &mut self.entries[target];
        entry.change(step);
        entry.now = now;
        entry.filled_in = Some(step);
        // Where a file is here already, that one is what the new text is held against.
        let is_same = target == index || entry.original.is_none();
        entry.replaced = replaced.filter(|_| simple && is_same && entry.steps == 1);
        Ok(())
    }

    fn copy(&mut self, from: &Path, to: &Path, chunks: &[Chunk], executable: Option<bool>) -> Result<(), PlanError> {
        let step = self.step;
        let index = match self.entry(absolute(self.cwd, from)) {
            Ok(index) if self.entries[index].before(step).held.is_some() => index,
            _ => self.existing(from, &[], "copy")?,
        };
        let source = self.entries[index].before(step).clone();
        let (text, _) = self.updated(index, self.text_of(index, &source)?.as_ref(), chunks)?;
        let origin = source.moved_from.unwrap_or(index);
        let runs = self
            .files
            .mode(&self.entries[origin].path)
            .map(|mode| mode & 0o100 != 0);
        let target = self.entry(absolute(self.cwd, to))?;
        self.must_be_free(target)?;
        let entry = &mut self.entries[target];
        entry.change(step);
        entry.now = State {
            held: Some(Held::Text(text)),
            moved_from: None,
            executable: executable.or(source.executable).or(runs),
        };
        entry.filled_in = Some(step);
        entry.replaced = None;
        Ok(())
    }

    fn finish(mut self) -> Result<Plan, PlanError> {
        self.check_folders()?;
        // A move is planned at its source, if the source is gone and nothing was at the target.
        let mut target_of: HashMap<usize, usize> = HashMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            if let Some(from) = entry.now.moved_from
                && entry.original.is_none()
                && entry.now.held.is_some()
                && self.entries[from].now.held.is_none()
            {
                target_of.entry(from).or_insert(index);
            }
        }
        // What only remembers the past would make copies of the texts necessary.
        self.entries.iter_mut().for_each(|entry| entry.base = None);
        let mut plans = Vec::with_capacity(self.entries.len());
        for index in 0..self.entries.len() {
            let moved_here = self.entries[index]
                .now
                .moved_from
                .is_some_and(|from| target_of.get(&from) == Some(&index));
            if moved_here {
                continue;
            }
            let target = target_of.get(&index).copied();
            if let Some(whole) = self.as_it_is(index, target)? {
                plans.extend(whole);
                continue;
            }
            let (path, before) = (self.entries[index].path.clone(), self.entries[index].original.take());
            let last = &mut self.entries[target.unwrap_or(index)];
            let (after, replaced) = (last.now.held.take(), last.replaced.take());
            let move_path = target.map(|_| last.path.clone());
            let mode = last.now.executable.filter(|_| after.is_some()).and_then(|runs| {
                let now = before.as_ref().and_then(|_| self.files.mode(&path));
                mode(now, before.is_some(), runs)
            });
            let (before, after) = (before.and_then(Held::text), after.and_then(Held::text));
            plans.extend(file_plan(path, before, after, replaced, move_path, mode));
        }
        Ok(Plan { files: plans })
    }

    /// The plan of what is deleted or moved as it is (none if it stays); nothing for a text. `target` is where it moves.
    fn as_it_is(&self, index: usize, target: Option<usize>) -> Result<Option<Option<FilePlan>>, PlanError> {
        let entry = &self.entries[index];
        let (before, now) = (entry.original.as_ref(), &self.entries[target.unwrap_or(index)].now);
        let whole = match (before.and_then(Held::whole), now.whole()) {
            (None, Some(other)) => return Err(self.only_as_it_is(index, other)),
            (None, None) => match self.shown_otherwise(index, target)? {
                Some(whole) => Rc::new(whole),
                None => return Ok(None),
            },
            (Some(whole), Some(same)) if target.is_none() && Rc::ptr_eq(whole, same) => return Ok(Some(None)),
            (Some(whole), Some(same)) if target.is_some() && Rc::ptr_eq(whole, same) => whole.clone(),
            (Some(whole), None) if now.held.is_none() => whole.clone(),
            (Some(whole), _) => return Err(self.only_as_it_is(index, whole)),
        };
        let move_path = target.map(|target| self.entries[target].path.clone());
        let plan = FilePlan {
            path: entry.path.clone(),
            kind: match move_path {
                Some(_) => FileChangeKind::Update { move_path },
                None => FileChangeKind::Delete,
            },
            before: None,
            after: None,
            whole: Some(Whole::clone(&whole)),
            hunks: vec![whole_hunk("", "")],
            mode: None,
            folders: Vec::new(),
        };
        Ok(Some(Some(plan)))
    }

    fn only_as_it_is(&self, index: usize, whole: &Whole) -> PlanError {
        PlanError::AsItIs {
            path: self.entries[index].path.clone(),
            whole: whole.clone(),
        }
    }

    /// An editor shows bytes of another encoding as text. What it does not change is deleted or moved as it is, so that it
    /// can come back byte for byte.
    fn shown_otherwise(&self, index: usize, target: Option<usize>) -> Result<Option<Whole>, PlanError> {
        let entry = &self.entries[index];
        let Some(Held::Text(before)) = &entry.original else {
            return Ok(None);
        };
        let stays = match (target.map(|target| &self.entries[target].now), &entry.now.held) {
            (None, None) => true,
            (
                Some(State {
                    held: Some(Held::Text(after)),
                    executable: None,
                    ..
                }),
                _,
            ) => before == after,
            _ => false,
        };
        if !stays || !self.files.is_open(&entry.path) {
            return Ok(None);
        }
        let path = entry.path.clone();
        self.files
            .whole(&path)
            .map_err(|source| PlanError::Read { path, source })
    }

    /// No file may be in the place of a folder that another one needs.
    fn check_folders(&self) -> Result<(), PlanError> {
        let present: HashMap<&Path, &Entry> = self
            .entries
            .iter()
            .filter(|entry| entry.now.held.is_some())
            .map(|entry| (entry.path.as_path(), entry))
            .collect();
        for path in present.keys() {
            if let Some(above) = path.ancestors().skip(1).find(|above| present.contains_key(above)) {
                return Err(PlanError::FileAndFolder {
                    path: above.to_owned(),
                    below: path.to_path_buf(),
                });
            }
        }
        Ok(())
    }
}

/// Whether the chunks are the whole of a new file: a header that says so, `@@ -0,0 +1,3 @@`, and lines to add.
fn makes_a_file(chunks: &[Chunk]) -> bool {
    let [chunk] = chunks else { return false };
    chunk.hint.is_some_and(|hint| (hint.line, hint.count) == (0, 0))
        && chunk.lines.iter().all(|line| line.kind == LineKind::Add)
}

/// The permission bits of a file that shall be executable, or not, by those who may read it; nothing if it is so.
fn mode(now: Option<u32>, is_there: bool, executable: bool) -> Option<u32> {
    match (now, executable) {
        (Some(now), _) if (now & 0o100 != 0) == executable => None,
        (Some(now), true) => Some(now | (now & 0o444) >> 2),
        (Some(now), false) => Some(now & !0o111),
        (None, true) => Some(0o755),
        (None, false) => is_there.then_some(0o644),
    }
}

/// New content for a file that is there already: with its byte-order mark and, if all its lines end alike, its ends.
fn in_the_way_of(there: &str, content: &str) -> String {
    let old = Lines::new(there);
    let mut text = String::with_capacity(content.len());
    if old.bom() > 0 && !content.starts_with(BOM) {
        text.push(BOM);
    }
    match old.uniform_end() {
        Some(end) if end != "\n" && Lines::new(content).uniform_end() == Some("\n") => {
            text.push_str(&content.replace('\n', end));
        }
        _ => text.push_str(content),
    }
    text
}

fn file_plan(
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    replaced: Option<Vec<PlannedHunk>>,
    move_path: Option<PathBuf>,
    mode: Option<u32>,
) -> Option<FilePlan> {
    let whole = whole_hunk;
    let (kind, hunks) = match (&before, &after) {
        (None, None) => return None,
        (None, Some(new)) => (FileChangeKind::Add, vec![whole("", new)]),
        (Some(old), None) => (FileChangeKind::Delete, vec![whole(old, "")]),
        (Some(old), Some(new)) => {
            let mut found = match replaced {
                Some(replaced) => hunks_within(&replaced),
                None => hunks(old, new),
            };
            debug_assert_eq!(
                with_hunks(old, &found, &vec![true; found.len()]),
                *new,
                "hunks lead from one text to the other"
            );
            if found.is_empty() && (move_path.is_some() || mode.is_some()) {
                found.push(whole("", ""));
            }
            (FileChangeKind::Update { move_path }, found)
        }
    };
    Some(FilePlan {
        path,
        kind,
        before,
        after,
        whole: None,
        hunks,
        mode,
        folders: Vec::new(),
    })
}

/// The hunk that is all of a file.
fn whole_hunk(old: &str, new: &str) -> PlannedHunk {
    PlannedHunk {
        old: 0..Lines::new(old).len(),
        old_text: old.to_owned(),
        new_text: new.to_owned(),
    }
}

#[cfg(test)]
mod tests;
