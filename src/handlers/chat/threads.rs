//! The conversations of the workspace as a document with lenses, for editors without a list of them.

use super::Open;
use crate::chat::text::inline;
use crate::handlers::command;
use crate::lsp::error::RequestError;
use crate::private;
use crate::protocol::thread::{Thread, ThreadListParams};
use crate::server::presenter::Severity;
use crate::server::session::Session;
use crate::workspace::{Document, uri};
use lsp_types::{CodeLens, Command, Position, Range};
use serde_json::json;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the names of lists begin, and how they end; they lie among the chats of the home folder.
const NAME: (&str, &str) = ("conversations-", ".md");
/// A list is thrown away after so long.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);
/// The heading above those that are put away. Folders, which the others stand below, are absolute.
const ARCHIVED: &str = "## Archived";
/// How the line of a conversation ends: its id in a code span.
const MARK: &str = " `thread ";

/// Writes the list and shows it.
pub fn list(session: &Session) -> Result<(), RequestError> {
    session.idle().turned_to_us();
    let session = session.clone();
    tokio::spawn(async move {
        let agent = session.agent().clone();
        let chats = agent.services().home.join("chats");
        let made = tokio::task::spawn_blocking(move || {
            let read = |archived| {
                let params = ThreadListParams {
                    limit: Some(200),
                    model_providers: Some(Vec::new()),
                    archived,
                    ..ThreadListParams::default()
                };
                let page = agent.list_threads(&params).map_err(|error| error.to_string())?;
                Ok::<_, String>(page.data)
            };
            let (threads, archived) = (read(false)?, read(true)?);
            write(&chats, &document(&threads, &archived)).map_err(|error| error.to_string())
        });
        let path = match made.await.map_err(|error| error.to_string()).and_then(|made| made) {
            Ok(path) => path,
            Err(trouble) => {
                let message = format!("The conversations could not be listed: {trouble}.");
                return session.presenter().message(Severity::Error, &message);
            }
        };
        let shown = session.client().can.show_document
            && session
                .presenter()
                .show_document(&uri::from_path(&path), None, true)
                .await;
        if !shown {
            let message = format!("The conversations are listed in {}.", path.display());
            session.presenter().message(Severity::Info, &message);
        }
    });
    Ok(())
}

/// A file of its own for each list that differs: editors do not look at a file again that they have open.
fn write(chats: &Path, text: &str) -> std::io::Result<PathBuf> {
    private::make_folder(chats)?;
    let is_old = |path: &Path| {
        let changed = path.metadata().and_then(|file| file.modified());
        changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > OLD))
    };
    let mut number = 0;
    for entry in std::fs::read_dir(chats)?.flatten() {
        let path = entry.path();
        let Some(used) = number_of(&path) else { continue };
        // No name is used again, whatever becomes of the file.
        number = number.max(used);
        if is_old(&path) {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        } else if std::fs::read_to_string(&path).is_ok_and(|there| there == text) {
            return Ok(path);
        }
    }
    loop {
        number += 1;
        let path = chats.join(format!("{}{number}{}", NAME.0, NAME.1));
        match private::create_new(&path) {
            Ok(mut file) => return file.write_all(text.as_bytes()).map(|()| path),
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
    }
}

/// The number in the name of a list.
fn number_of(path: &Path) -> Option<u32> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.strip_prefix(NAME.0)?.strip_suffix(NAME.1)?;
    number.parse().ok()
}

fn document(threads: &[Thread], archived: &[Thread]) -> String {
    let mut text =
        "# Conversations\n\nCode actions or lenses on a line open, copy or put away its conversation.\n".to_owned();
    let line = |thread: &Thread| {
        let name = thread.name.as_ref().unwrap_or(&thread.preview);
        let name = Some(inline(name, 100)).filter(|name| !name.is_empty());
        let name = name.as_deref().unwrap_or("(nothing said)");
        format!("- {name}{MARK}{}`\n", thread.id)
    };
    let mut folder = None;
    let mut sorted: Vec<&Thread> = threads.iter().collect();
    // One heading for each folder, the newest conversation of a folder first.
    sorted.sort_by(|a, b| (&a.cwd, b.updated_at_ms).cmp(&(&b.cwd, a.updated_at_ms)));
    for thread in sorted {
        if folder.replace(&thread.cwd) != Some(&thread.cwd) {
            text.push_str(&format!("\n## {}\n\n", inline(&thread.cwd.display().to_string(), 400)));
        }
        text.push_str(&line(thread));
    }
    if !archived.is_empty() {
        text.push_str(&format!("\n{ARCHIVED}\n\n"));
        text.extend(archived.iter().map(line));
    }
    text
}

/// Whether it is the list.
pub fn is_list(session: &Session, document: &Document) -> bool {
    let chats = session.agent().services().home.join("chats");
    let path = document.path().filter(|path| path.parent() == Some(chats.as_path()));
    path.and_then(number_of).is_some()
}

/// What can be done with the conversation of each line.
pub fn lenses(document: &Document) -> Vec<CodeLens> {
    let text = document.text();
    let mut lenses = Vec::new();
    let mut is_archived = false;
    for (number, line) in text.lines().enumerate() {
        is_archived |= line == ARCHIVED;
        let id = line
            .rsplit_once(MARK)
            .and_then(|(_, id)| id.trim_end().strip_suffix('`'));
        let Some(id) = id.filter(|id| uuid::Uuid::parse_str(id).is_ok()) else {
            continue;
        };
        let at = Position::new(u32::try_from(number).unwrap_or(u32::MAX), 0);
        let which = json!({ "threadId": id });
        let open = serde_json::to_value(Open {
            thread_id: Some(id.into()),
            uri: None,
        });
        let offers = [
            (
                "Agent: Open as a chat document",
                command::OPEN_CHAT,
                open.unwrap_or_default(),
            ),
            ("Agent: Resume", command::OPEN_THREAD, which.clone()),
            ("Agent: Fork", command::FORK_THREAD, which.clone()),
            ("Agent: Archive", command::ARCHIVE_THREAD, which.clone()),
        ];
        let back = ("Agent: Unarchive", command::UNARCHIVE_THREAD, which);
        let offers = match is_archived {
            true => vec![back],
            false => offers.into(),
        };
        for (title, command, argument) in offers {
            lenses.push(CodeLens {
                range: Range::new(at, at),
                command: Some(Command::new(title.to_owned(), command.to_owned(), Some(vec![argument]))),
                data: None,
            });
        }
    }
    lenses
}
