//! Instruction files in a conversation: told whole at its start, and later by what has changed in them, once.

use crate::agent::permissions::{self, Reader};
use crate::agent::prompt;
use crate::agent::services::Services;
use crate::agent::turn::Turn;
use crate::config::Config;
use crate::config::instructions::{Instructions, Places, project_documents};
use crate::model::item::{ContentPart, ResponseItem};
use crate::protocol::settings::ThreadSettings;
use crate::shown::{self, envelope};
use crate::workspace::{ReadError, Workspace};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(in crate::agent) const OPENING: &str = "<countersign_instructions digest=\"";
const CLOSING: &str = "</countersign_instructions>";

/// What a conversation was told of the instructions, and when the files were last looked at.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// As the files were at the last look; nothing if there was none.
    marks: Option<Marks>,
    /// The files' texts as they were told. Absent where an earlier server told them: then only their digest is known.
    documents: Option<Vec<(PathBuf, String)>>,
    /// Of all that was told together.
    digest: String,
    text: String,
    warnings: Vec<String>,
}

/// With the same marks the files hold the same texts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Marks {
    cwd: PathBuf,
    /// Changes of such files that the editor has told of.
    told: u64,
    files: Vec<(PathBuf, Mark)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Mark {
    Open(String, i32),
    OnDisk(u64, Option<SystemTime>, u64),
}

/// The instructions for a thread as they stand, what the person should know of them, and what to remember once they are
/// told.
pub fn read(
    services: &Services,
    workspace: &Workspace,
    config: &Config,
    settings: &ThreadSettings,
) -> (Instructions, Vec<String>, Known) {
    let marks = marks(services, workspace, config, &settings.cwd);
    let profile = permissions::profile(config, settings);
    // A project's file can be a link to anything.
    let reader = permissions::reader_in(services, config, &profile, &settings.cwd);
    let problems = RefCell::new(Vec::new());
    let found = project_documents(config, &services.home, &settings.cwd, &|path| {
        let text = one(workspace, &reader, path).unwrap_or_else(|why| {
            let words = format!("The instructions in {} are not used: {why}.", shown::path(path));
            problems.borrow_mut().push(words);
            None
        });
        text.map(|text| {
            // What hides from the person speaks to nobody, and no text ends what it is put in.
            let (text, hid) = envelope::visible_inside_of(&text, &["instructions"]);
            if hid {
                problems.borrow_mut().push(format!(
                    "The instructions in {} hold characters that do not show. The agent gets them written as their numbers, like \
                     <U+200B>; look at what they say, and remove them.",
                    shown::path(path)
                ));
            }
            text
        })
    });
    let left_out = found.truncated_warning.iter().chain(&found.led_out).cloned();
    let warnings: Vec<String> = left_out.chain(problems.take()).collect();
    let known = Known {
        marks: Some(marks),
        documents: Some(
            found
                .sources
                .iter()
                .cloned()
                .zip(found.documents.iter().cloned())
                .collect(),
        ),
        digest: digest(&found.text),
        text: found.text.clone(),
        warnings: warnings.clone(),
    };
    (found, warnings, known)
}

fn one(workspace: &Workspace, reader: &Reader, path: &Path) -> Result<Option<String>, String> {
    // What is not there is not worth a look at who may read it.
    let is_there = || std::fs::metadata(path).map_or_else(|error| is_hidden(&error), |found| !found.is_dir());
    if workspace.document(path).is_none() && !is_there() {
        return Ok(None);
    }
    reader.check(path).map_err(|refused| refused.in_short())?;
    match workspace.read_judged(path, reader) {
        Err(ReadError::NotFound { .. } | ReadError::IsDirectory { .. }) => Ok(None),
        read => read
            .map(|read| Some(read.text))
            .map_err(|error| error.to_string().trim_end_matches('.').to_owned()),
    }
}

/// Whether an error says that something may be there.
fn is_hidden(error: &std::io::Error) -> bool {
    !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn marks(services: &Services, workspace: &Workspace, config: &Config, cwd: &Path) -> Marks {
    let told = services.changed_instructions();
    let mark = |path: PathBuf| {
        if let Some(document) = workspace.document(&path) {
            let mark = Mark::Open(document.uri().to_owned(), document.version);
            return Some((path, mark));
        }
        let found = std::fs::metadata(&path).ok()?;
        let mark = Mark::OnDisk(found.len(), found.modified().ok(), inode(&found));
        Some((path, mark))
    };
    Marks {
        cwd: cwd.to_owned(),
        told,
        files: Places::new(config, &services.home, cwd)
            .paths()
            .filter_map(mark)
            .collect(),
    }
}

#[cfg(unix)]
fn inode(found: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn inode(_found: &std::fs::Metadata) -> u64 {
    0
}

impl Known {
    /// What a conversation that goes on was told by an earlier server.
    pub fn told(history: &[ResponseItem]) -> Self {
        let texts = history.iter().rev().filter_map(text);
        let digest = texts.into_iter().find_map(|text| match text.strip_prefix(OPENING) {
            Some(rest) => rest.split('"').next().map(str::to_owned),
            None => prompt::instructions_in(text).map(digest),
        });
        Self {
            digest: digest.unwrap_or_else(|| self::digest("")),
            ..Self::default()
        }
    }

    /// The instructions as they stand, as a conversation is told of them at its start; for whoever begins its history anew.
    pub fn message(&self, cwd: &Path) -> Option<ResponseItem> {
        (!self.text.is_empty()).then(|| prompt::project_instructions(cwd, &self.text))
    }
}

fn text(item: &ResponseItem) -> Option<&str> {
    match item {
        ResponseItem::Message { role, content, .. } if role == "user" => match content.as_slice() {
            [ContentPart::InputText { text }] => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// What another look at the files has brought.
pub(super) struct News {
    /// What the conversation knows once it is told.
    pub(super) known: Known,
    /// For the model, where the texts have changed.
    pub(super) message: Option<ResponseItem>,
    /// For the person.
    pub(super) warnings: Vec<String>,
}

/// What there is to tell; nothing if all is as it was.
pub(super) fn difference(turn: &Turn) -> Option<News> {
    let before = turn.conversation.data().instructions.clone();
    if before.marks.as_ref()
        == Some(&marks(
            &turn.services,
            &turn.workspace,
            &turn.config,
            &turn.settings.cwd,
        ))
    {
        return None;
    }
    let (_, warnings, known) = read(&turn.services, &turn.workspace, &turn.config, &turn.settings);
    let message = (known.digest != before.digest).then(|| told(&before, &known));
    let warnings = warnings
        .into_iter()
        .filter(|one| !before.warnings.contains(one))
        .collect();
    Some(News {
        known,
        message,
        warnings,
    })
}

fn told(before: &Known, known: &Known) -> ResponseItem {
    let mut text = format!("{OPENING}{}\">\n", known.digest);
    match (&before.documents, &known.documents) {
        (Some(before), Some(after)) => {
            text.push_str("The instruction files have changed. What follows counts from now on.\n");
            for (path, document) in after {
                let old = before.iter().find(|(known, _)| known == path).map(|(_, text)| text);
                match old {
                    Some(old) if old == document => {}
                    Some(old) => changed(&mut text, path, old, document),
                    None => whole(&mut text, &format!("{} is new", path.display()), document),
                }
            }
            for (path, _) in before
                .iter()
                .filter(|(path, _)| after.iter().all(|(now, _)| now != path))
            {
                let _ = writeln!(text, "{} counts no more.", path.display());
            }
        }
        _ if known.text.is_empty() => text.push_str("The instruction files you were told of count no more.\n"),
        _ => whole(
            &mut text,
            "In place of all instruction files before, these count now",
            &known.text,
        ),
    }
    text.push_str(CLOSING);
    prompt::message("user", text)
}

/// By its difference where that is shorter.
fn changed(text: &mut String, path: &Path, old: &str, new: &str) {
    let difference = similar::TextDiff::from_lines(old, new);
    let difference = difference.unified_diff().context_radius(2).to_string();
    let name = path.display();
    match difference.len() < new.len() {
        true => whole(text, &format!("{name} has changed"), &difference),
        false => whole(text, &format!("{name} has changed and says now"), new),
    }
}

fn whole(text: &mut String, title: &str, document: &str) {
    let fence = super::mentioned::fence_for(document);
    let _ = writeln!(text, "{title}:\n{fence}\n{}\n{fence}", document.trim_end());
}

/// Short, and the same for the same text.
fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.trim_end().as_bytes());
    digest[..8].iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
