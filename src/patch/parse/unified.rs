//! Unified diffs, as `diff -u`, `git diff`, `git show` and `git format-patch` write them and as models write them
//! down: with other text around, with wrong numbers, with the blank of an empty line cut off.
//!
//! The numbers of a hunk say how long it is if they agree with its lines; if they do not, it goes on as long as its
//! lines look like it. Where both readings are possible the patch is refused.

mod body;
mod header;

use super::chunk::is_chunk_header;
use super::envelope::Line;
use super::error::ParseError;
use super::names::{self, Side};
use super::{BEGIN, Chunk, Language, LineEnd, LineKind, Patch, Section, shorten};
use body::Hunk;
use header::Git;
use std::path::{Path, PathBuf};

/// Whether the line begins what a diff says of one file.
pub(super) fn begins_a_file(text: &str) -> bool {
    text.starts_with("diff --git ") || text.starts_with("--- ")
}

/// Whether a text starts with a file of a diff at once, so that it cannot be meant as anything else.
pub(super) fn starts_like_one(text: &str) -> bool {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or("");
    match lines.next() {
        Some(second) if first.starts_with("--- ") => second.starts_with("+++ "),
        Some(_) => first.starts_with("diff --git "),
        None => false,
    }
}

/// Whether there is a diff somewhere in the text, also one that cannot be read.
pub(super) fn looks_like_one(lines: &[Line<'_>]) -> bool {
    let starts = |at: usize, word: &str| lines.get(at).is_some_and(|line| line.text.starts_with(word));
    if lines.iter().any(|line| line.text.trim_end() == BEGIN) {
        return false;
    }
    (0..lines.len()).any(|at| {
        let text = lines[at].text;
        text.starts_with("diff --git ")
            || text.starts_with("--- ") && (starts(at + 1, "+++ ") || starts(at + 1, "@@"))
            || text.starts_with("+++ ") && starts(at + 1, "@@")
            || text.starts_with("@@ -")
            || foreign(text).is_some()
    })
}

/// Reads all files of a diff.
pub(super) fn read(lines: Vec<Line<'_>>) -> Result<Patch, ParseError> {
    let mut reader = Reader::new(lines);
    while reader.at < reader.lines.len() {
        reader.file_or_prose()?;
    }
    let Reader {
        sections, mut steps, ..
    } = reader;
    steps.retain(|sections| *sections > 0);
    if sections.is_empty() {
        return Err(ParseError::NoSections);
    }
    Ok(Patch {
        language: Language::Unified,
        sections,
        steps,
    })
}

/// A form of diff that cannot be applied, by a line that only it has.
fn foreign(text: &str) -> Option<&'static str> {
    if text.starts_with("diff --cc ") || text.starts_with("diff --combined ") || text.starts_with("@@@ -") {
        Some("a combined diff of a merge")
    } else if text.trim_end() == "***************" {
        Some("a context diff")
    } else if is_normal_command(text.trim_end()) {
        Some("a diff without lines around its changes")
    } else {
        None
    }
}

/// `3,4c5` and the like.
fn is_normal_command(text: &str) -> bool {
    let is_span = |span: &str| {
        let (first, last) = span.split_once(',').unwrap_or((span, "1"));
        [first, last]
            .iter()
            .all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    text.split_once(['a', 'c', 'd'])
        .is_some_and(|(old, new)| is_span(old) && is_span(new))
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    at: usize,
    sections: Vec<Section>,
    steps: Vec<usize>,
    /// The hunk just read, by its file and its header's line: what follows must not look like more of it.
    ended: Option<(PathBuf, usize)>,
    /// Since then only empty lines have come.
    only_blank: bool,
}

impl<'a> Reader<'a> {
    fn new(mut lines: Vec<Line<'a>>) -> Self {
        // If the headers end in \r\n then the text was sent with such ends and they say nothing about the files.
        let first = lines.iter().find(|line| begins_a_file(line.text));
        let sent_with_returns = first.is_some_and(|line| line.text.ends_with('\r'));
        for line in &mut lines {
            if let Some(bare) = line.text.strip_suffix('\r') {
                line.text = bare;
                line.returns = !sent_with_returns;
            }
        }
        Self {
            lines,
            at: 0,
            sections: Vec::new(),
            steps: vec![0],
            ended: None,
            only_blank: true,
        }
    }

    fn text(&self, at: usize) -> &'a str {
        self.lines.get(at).map_or("", |line| line.text)
    }

    fn number(&self, at: usize) -> usize {
        self.lines.get(at).or(self.lines.last()).map_or(1, |line| line.number)
    }

    fn starts(&self, at: usize, word: &str) -> bool {
        self.text(at).starts_with(word)
    }

    /// The two name lines of a file, with a hunk below or nothing at all.
    fn is_name_lines(&self, at: usize) -> bool {
        self.starts(at, "--- ") && self.starts(at + 1, "+++ ")
    }

    fn push(&mut self, section: Section) {
        self.sections.push(section);
        if let Some(last) = self.steps.last_mut() {
            *last += 1;
        }
    }

    fn file_or_prose(&mut self) -> Result<(), ParseError> {
        let (text, line) = (self.text(self.at), self.number(self.at));
        if let Some(what) = foreign(text).filter(|_| !is_normal_command(text) || self.sections.is_empty()) {
            return Err(ParseError::OtherFormat { line, what });
        }
        if text.starts_with("diff --git ") {
            return self.git_file();
        }
        if self.is_name_lines(self.at) {
            return self.plain_file();
        }
        let half = |missing| ParseError::HalfHeader {
            line,
            found: shorten(text),
            missing,
        };
        if is_chunk_header(self.text(self.at + 1)) {
            if text.starts_with("--- ") {
                return Err(half("`+++ <path>`"));
            }
            if text.starts_with("+++ ") {
                return Err(half("`--- <path>`"));
            }
        }
        if text.starts_with("@@ -") {
            return Err(ParseError::NoFile { line });
        }
        if let Some(path) = header::binary(text) {
            return Err(ParseError::Binary { path, line });
        }
        self.prose()
    }

    /// A line that belongs to no file.
    fn prose(&mut self) -> Result<(), ParseError> {
        let line = self.lines[self.at];
        let blank = line.text.trim().is_empty();
        if header::begins_a_commit(line.text) {
            self.steps.push(0);
        }
        if header::ends_a_file(line.text) || self.is_signature(self.at) {
            self.ended = None;
        }
        if let Some((path, header)) = &self.ended {
            let like_a_change = line.text.starts_with(['+', '-']) && line.text.trim_end() != "---";
            if !blank && (like_a_change || self.only_blank && line.text.starts_with(' ')) {
                return Err(ParseError::Overrun {
                    path: path.clone(),
                    line: line.number,
                    found: shorten(line.text),
                    header: *header,
                });
            }
        }
        self.only_blank &= blank;
        self.at += 1;
        Ok(())
    }

    /// A file of `diff -u`.
    fn plain_file(&mut self) -> Result<(), ParseError> {
        let first = self.at;
        let (old, new) = (self.side(first, "--- ")?, self.side(first + 1, "+++ ")?);
        self.at += 2;
        let bad = |reader: &Self| ParseError::BadName {
            line: reader.number(first),
            found: shorten(reader.text(first)),
        };
        let alone = |name: &str| match names::below(name).filter(|_| names::has_letter(name)) {
            Some(below) => vec![PathBuf::from(below), PathBuf::from(name)],
            None => vec![PathBuf::from(name)],
        };
        let mut paths = match (&old.name, &new.name) {
            (Some(old), Some(new)) => names::candidates(old, new),
            (Some(name), None) | (None, Some(name)) => alone(name),
            (None, None) => return Err(bad(self)),
        };
        let (path, or) = (paths.remove(0), paths);
        let hunks = self.hunks(&path)?;
        let nothing_old = hunks.iter().all(|hunk| hunk.is_beside_nothing(LineKind::Add));
        let nothing_new = hunks.iter().all(|hunk| hunk.is_beside_nothing(LineKind::Remove));
        let section = if old.name.is_none() || old.never && nothing_old {
            self.added(path, &hunks, None)?
        } else if new.name.is_none() || new.never && nothing_new {
            self.deleted(path, or, hunks, false)?
        } else if hunks.is_empty() {
            let line = self.number(first);
            return Err(ParseError::EmptyUpdate { path, line });
        } else {
            Section::Update {
                or,
                chunks: chunks(&path, hunks)?,
                path,
                move_to: None,
                executable: None,
            }
        };
        self.push(section);
        Ok(())
    }

    fn side(&self, at: usize, word: &str) -> Result<Side, ParseError> {
        let text = self.text(at);
        text.strip_prefix(word)
            .and_then(names::side)
            .ok_or_else(|| ParseError::BadName {
                line: self.number(at),
                found: shorten(text),
            })
    }

    /// A file of `git diff`.
    fn git_file(&mut self) -> Result<(), ParseError> {
        let line = self.number(self.at);
        let git = Git::read(self)?;
        let path = git.path.clone();
        if header::binary(self.text(self.at)).is_some() {
            if !(git.is_deleted && self.text(self.at).ends_with(" and /dev/null differ")) {
                let line = self.number(self.at);
                return Err(ParseError::Binary { path, line });
            }
            self.at += 1;
        }
        let hunks = self.hunks(&path)?;
        let section = if git.is_new {
            self.added(path, &hunks, git.executable)?
        } else if git.is_deleted {
            self.deleted(path, Vec::new(), hunks, git.was_empty)?
        } else if git.is_copy
            && let Some(to) = git.move_to
        {
            Section::Copy {
                chunks: chunks(&path, hunks)?,
                from: path,
                path: to,
                executable: git.executable,
            }
        } else if hunks.is_empty() && git.move_to.is_none() && git.executable.is_none() {
            return Err(ParseError::EmptyUpdate { path, line });
        } else {
            Section::Update {
                chunks: chunks(&path, hunks)?,
                path,
                or: Vec::new(),
                move_to: git.move_to,
                executable: git.executable,
            }
        };
        self.push(section);
        Ok(())
    }

    fn added(&self, path: PathBuf, hunks: &[Hunk], executable: Option<bool>) -> Result<Section, ParseError> {
        let mut content = String::new();
        for hunk in hunks {
            let tight = hunk.chunk.lines.len() - hunk.chunk.loose_end;
            for line in &hunk.chunk.lines[..tight] {
                if line.kind != LineKind::Add {
                    return Err(contradiction(path, hunk, line.kind, &line.text, "new"));
                }
                content.push_str(&line.text);
                content.push_str(line.end.said().unwrap_or("\n"));
            }
            if hunk.chunk.final_newline == Some(false) && content.ends_with('\n') {
                content.pop();
            }
        }
        Ok(Section::Add {
            path,
            content,
            executable,
        })
    }

    fn deleted(
        &self,
        path: PathBuf,
        or: Vec<PathBuf>,
        hunks: Vec<Hunk>,
        was_empty: bool,
    ) -> Result<Section, ParseError> {
        for hunk in &hunks {
            if let Some(line) = hunk.chunk.lines.iter().find(|line| line.kind == LineKind::Add) {
                return Err(contradiction(path, hunk, line.kind, &line.text, "deleted"));
            }
        }
        let says = !hunks.is_empty() || was_empty;
        let holds = says.then(|| hunks.into_iter().map(|hunk| hunk.chunk).collect());
        Ok(Section::Delete { path, or, holds })
    }
}

fn contradiction(path: PathBuf, hunk: &Hunk, kind: LineKind, text: &str, fate: &'static str) -> ParseError {
    let sign = match kind {
        LineKind::Keep => ' ',
        LineKind::Remove => '-',
        LineKind::Add => '+',
    };
    ParseError::Contradiction {
        path,
        line: hunk.line,
        found: shorten(&format!("{sign}{text}")),
        fate,
    }
}

/// The chunks of one file, whose place can be found.
fn chunks(path: &Path, hunks: Vec<Hunk>) -> Result<Vec<Chunk>, ParseError> {
    for hunk in &hunks {
        let chunk = &hunk.chunk;
        let tight = &chunk.lines[chunk.loose_start..chunk.lines.len() - chunk.loose_end];
        let only_adds = tight.iter().all(|line| line.kind == LineKind::Add);
        if let Some(hint) = chunk.hint.filter(|hint| only_adds && hint.count > 0) {
            return Err(ParseError::NoContext {
                path: path.to_owned(),
                line: hunk.line,
                count: hint.count,
            });
        }
    }
    let mut chunks: Vec<Chunk> = hunks.into_iter().map(|hunk| hunk.chunk).collect();
    // If some lines show a return, at their ends or inside, then the others have none.
    let mut lines = chunks.iter().flat_map(|chunk| &chunk.lines);
    if lines.any(|line| line.end != LineEnd::Unsaid || line.text.contains('\r')) {
        for line in chunks.iter_mut().flat_map(|chunk| &mut chunk.lines) {
            if line.end == LineEnd::Unsaid {
                line.end = LineEnd::Feed;
            }
        }
    }
    Ok(chunks)
}

#[cfg(test)]
mod tests;
