//! The files as the sections of a patch so far leave them.

mod finish;

use super::super::edit::{FileEdit, Misfit, TextChange, insert, replace};
use super::super::files::{Files, ReadError, Whole, absolute};
use super::super::hunk::PlannedHunk;
use super::super::lines::{BOM, Lines};
use super::super::parse::{Chunk, Language, LineKind, Section};
use super::super::update::update;
use super::error::PlanError;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The files as the sections so far leave them.
pub(super) struct Board<'f> {
    files: &'f dyn Files,
    cwd: &'f Path,
    /// A new name may be that of a file that is there.
    replaces: bool,
    entries: Vec<Entry>,
    by_real: HashMap<PathBuf, usize>,
    pub(super) step: usize,
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
    pub(super) fn new(files: &'f dyn Files, cwd: &'f Path, language: Language) -> Self {
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
    pub(super) fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.cwd).unwrap_or(path).display().to_string()
    }

    pub(super) fn begin_step(&mut self, sections: &[Section]) {
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

    pub(super) fn is_doubtful(&self, section: &Section) -> bool {
        !self.doubtful.is_empty() && self.names(section).iter().any(|path| self.doubtful.contains(path))
    }

    pub(super) fn doubt(&mut self, section: &Section) {
        let names = self.names(section);
        self.doubtful.extend(names);
    }

    pub(super) fn section(&mut self, section: &Section) -> Result<(), PlanError> {
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

    pub(super) fn edit(&mut self, edit: &FileEdit) -> Result<(), PlanError> {
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
}

/// Whether the chunks are the whole of a new file: a header that says so, `@@ -0,0 +1,3 @@`, and lines to add.
fn makes_a_file(chunks: &[Chunk]) -> bool {
    let [chunk] = chunks else { return false };
    chunk.hint.is_some_and(|hint| (hint.line, hint.count) == (0, 0))
        && chunk.lines.iter().all(|line| line.kind == LineKind::Add)
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
