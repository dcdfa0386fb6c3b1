//! Commands about whole conversations, for editors that have no list of them: the one that the person is in, or the newest
//! one of the folder. What cannot be taken back is asked about first.

use super::{Place, folders, optional, rollback};
use crate::agent::thread::ThreadHandle;
use crate::ids::ThreadId;
use crate::lsp::error::RequestError;
use crate::protocol::settings::SettingsOverride;
use crate::protocol::thread::{Thread, ThreadForkParams, ThreadListParams, ThreadResumeParams};
use crate::server::presenter::Severity;
use crate::server::session::Session;
use serde::Deserialize;
use serde_json::Value;

/// What a command may name; without it the conversation that the person was in last is meant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Which {
    thread_id: Option<ThreadId>,
    /// A file in the folder that is meant.
    uri: Option<String>,
    /// Of a rollback; one if it is absent.
    num_turns: Option<u32>,
}

/// What is done with it.
#[derive(Clone, Copy)]
pub(super) enum Deed {
    Open,
    Fork,
    RollBack,
    Archive,
    Unarchive,
    Delete,
}

/// Does it in the background; what becomes of it is shown.
pub(super) fn run(session: &Session, command: &str, arguments: Vec<Value>, deed: Deed) -> Result<(), RequestError> {
    let which: Which = optional(command, arguments)?.unwrap_or_default();
    let session = session.clone();
    tokio::spawn(async move {
        let (severity, message) = match carry_out(&session, &which, deed).await {
            Ok(Some(message)) => (Severity::Info, message),
            Ok(None) => return,
            Err(message) => (Severity::Error, message),
        };
        session.presenter().message(severity, &message);
    });
    Ok(())
}

/// Says what was done; nothing if the person thought better of it.
async fn carry_out(session: &Session, which: &Which, deed: Deed) -> Result<Option<String>, String> {
    let thread = find(session, which).await?;
    let agent = session.agent();
    let name = title(&thread);
    match deed {
        Deed::Open => {
            let opened = resume(session, &thread.id).await?;
            session.set_current_thread(&opened.settings().cwd, thread.id);
            Ok(Some(format!("The next question to Countersign continues {name}.")))
        }
        Deed::Fork => {
            let params = ThreadForkParams {
                thread_id: Some(thread.id),
                ..ThreadForkParams::default()
            };
            let opened = agent.fork_thread(params).await.map_err(|error| error.to_string())?;
            session.set_current_thread(&opened.handle.settings().cwd, opened.handle.id().clone());
            session.presenter().attach(&opened.handle);
            Ok(Some(format!(
                "The next question to Countersign continues a copy of {name}."
            )))
        }
        Deed::RollBack => {
            let handle = resume(session, &thread.id).await?;
            rollback::roll_back(session, &handle, &name, which.num_turns.unwrap_or(1)).await
        }
        Deed::Archive => {
            let stream = agent
                .archive_thread(&thread.id)
                .await
                .map_err(|error| error.to_string())?;
            session.presenter().attach_stream(&thread.id, &stream);
            Ok(Some(format!("Archived: {name}.")))
        }
        Deed::Unarchive => {
            let unarchived = agent.unarchive_thread(&thread.id).await;
            let (_, stream) = unarchived.map_err(|error| error.to_string())?;
            session.presenter().attach_stream(&thread.id, &stream);
            Ok(Some(format!("Back from the archive: {name}.")))
        }
        Deed::Delete => {
            let question = format!("Delete {name} for good? This cannot be undone.");
            if !agrees(session, &question, "Delete").await {
                return Ok(None);
            }
            let stream = agent
                .delete_thread(&thread.id)
                .await
                .map_err(|error| error.to_string())?;
            session.presenter().attach_stream(&thread.id, &stream);
            Ok(Some(format!("Deleted: {name}.")))
        }
    }
}

/// What the person knows a conversation by.
fn title(thread: &Thread) -> String {
    const LONGEST: usize = 60;
    let words = thread.name.as_ref().unwrap_or(&thread.preview);
    let line = crate::shown::line(words.lines().next().unwrap_or_default());
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("“{}…”", &line[..end]),
        None if line.is_empty() => "the conversation".to_owned(),
        None => format!("“{line}”"),
    }
}

async fn find(session: &Session, which: &Which) -> Result<Thread, String> {
    let agent = session.agent().clone();
    let place = which.uri.clone().map(|uri| Place {
        uri,
        lines: None,
        diagnostics: Vec::new(),
        instruction: None,
    });
    let folders = folders(session, place.as_ref());
    let named = which.thread_id.clone();
    let current = named.or_else(|| folders.iter().find_map(|folder| session.current_thread(folder)));
    let reading = tokio::task::spawn_blocking(move || match current {
        Some(id) => agent.read_thread(&id, false).map(Some),
        None => {
            let newest = |folder| {
                let params = ThreadListParams {
                    limit: Some(1),
                    model_providers: Some(Vec::new()),
                    cwd: Some(folder),
                    ..ThreadListParams::default()
                };
                agent.list_threads(&params).map(|page| page.data)
            };
            let pages: Result<Vec<_>, _> = folders.into_iter().map(newest).collect();
            pages.map(|pages| pages.into_iter().flatten().max_by_key(|thread| thread.updated_at_ms))
        }
    });
    let found = reading.await.map_err(|error| error.to_string())?;
    let found = found.map_err(|error| error.to_string())?;
    found.ok_or_else(|| "There is no conversation in this workspace yet.".to_owned())
}

/// The thread, live.
async fn resume(session: &Session, id: &ThreadId) -> Result<ThreadHandle, String> {
    let params = ThreadResumeParams {
        thread_id: Some(id.clone()),
        path: None,
        settings: SettingsOverride::default(),
        dynamic_tools: None,
    };
    let opened = session.agent().resume_thread(params).await;
    let opened = opened.map_err(|error| error.to_string())?;
    session.presenter().attach(&opened.handle);
    Ok(opened.handle)
}

/// Whether the person says yes in so many words.
async fn agrees(session: &Session, question: &str, yes: &str) -> bool {
    // The first choice is never the yes: it is what a stray key chooses.
    let chosen = session
        .outbound()
        .choose(Severity::Warning, question, ["Keep", yes])
        .await;
    chosen.as_deref() == Some(yes)
}
