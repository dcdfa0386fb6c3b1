//! The conversations of the workspace as a document with lenses, for editors without a list of them.

use super::Open;
use crate::chat::text::inline;
use crate::handlers::command;
use crate::lsp::error::RequestError;
use crate::protocol::thread::{Thread, ThreadListParams};
use crate::server::presenter::Severity;
use crate::server::session::Session;
use crate::workspace::{Document, uri};
use lsp_types::{CodeLens, Command, Position, Range};
use serde_json::json;

/// The file in the home folder; written anew each time.
const NAME: &str = "conversations.md";
/// How the line of a conversation ends: its id in a code span.
const MARK: &str = " `thread ";

/// Writes the list and shows it.
pub fn list(session: &Session) -> Result<(), RequestError> {
    session.idle().turned_to_us();
    let session = session.clone();
    tokio::spawn(async move {
        let agent = session.agent().clone();
        let path = agent.desk().home.join("chats").join(NAME);
        let written = path.clone();
        let made = tokio::task::spawn_blocking(move || {
            let params = ThreadListParams {
                limit: Some(200),
                model_providers: Some(Vec::new()),
                ..ThreadListParams::default()
            };
            let threads = agent.list_threads(&params).map_err(|error| error.to_string())?.data;
            let folder = written.parent().ok_or("the home folder has no place for it")?;
            std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
            std::fs::write(&written, document(&threads)).map_err(|error| error.to_string())
        });
        if let Err(trouble) = made.await.map_err(|error| error.to_string()).and_then(|made| made) {
            let message = format!("The conversations could not be listed: {trouble}.");
            return session.presenter().message(Severity::Error, &message);
        }
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

fn document(threads: &[Thread]) -> String {
    let mut text =
        "# Conversations\n\nCode actions or lenses on a line open, copy or put away its conversation.\n".to_owned();
    let mut folder = None;
    let mut sorted: Vec<&Thread> = threads.iter().collect();
    // One heading for each folder, the newest conversation of a folder first.
    sorted.sort_by(|a, b| (&a.cwd, b.updated_at_ms).cmp(&(&b.cwd, a.updated_at_ms)));
    for thread in sorted {
        if folder.replace(&thread.cwd) != Some(&thread.cwd) {
            text.push_str(&format!("\n## {}\n\n", inline(&thread.cwd.display().to_string(), 400)));
        }
        let name = thread.name.as_ref().unwrap_or(&thread.preview);
        let name = Some(inline(name, 100)).filter(|name| !name.is_empty());
        text.push_str(&format!(
            "- {}{MARK}{}`\n",
            name.as_deref().unwrap_or("(nothing said)"),
            thread.id
        ));
    }
    text
}

/// Whether it is the list.
pub fn is_list(session: &Session, document: &Document) -> bool {
    let list = session.agent().desk().home.join("chats").join(NAME);
    document.path() == Some(list.as_path())
}

/// What can be done with the conversation of each line.
pub fn lenses(document: &Document) -> Vec<CodeLens> {
    let text = document.text();
    let mut lenses = Vec::new();
    for (number, line) in text.lines().enumerate() {
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
        for (title, command, argument) in [
            (
                "Agent: Open as a chat document",
                command::OPEN_CHAT,
                open.unwrap_or_default(),
            ),
            ("Agent: Go on with it", command::OPEN_THREAD, which.clone()),
            ("Agent: Go on with a copy", command::FORK_THREAD, which.clone()),
            ("Agent: Archive", command::ARCHIVE_THREAD, which),
        ] {
            lenses.push(CodeLens {
                range: Range::new(at, at),
                command: Some(Command::new(title.to_owned(), command.to_owned(), Some(vec![argument]))),
                data: None,
            });
        }
    }
    lenses
}
