//! The file of what the person typed, as the agent keeps and shows it: only if the person wants it kept, never in the way of
//! a turn.

use super::services::Services;
use super::thread::ThreadHandle;
use super::{Agent, AgentError, now_ms};
use crate::config::Config;
use crate::ids::ThreadId;
use crate::protocol::event::ThreadConfigured;
use crate::protocol::history::{
    HistoryEntry, HistoryListParams, HistoryListResult, HistoryReadParams, HistoryReadResult,
};
use crate::protocol::item::UserInput;
use crate::protocol::settings::ThreadSettings;
use crate::store::typed::{Entry, MOST_TEXT, State};

const DEFAULT_LIMIT: u32 = 50;
const MOST_LIMIT: u32 = 1000;

impl Services {
    /// Looks at the file, if one is kept, so that what is told of it is so.
    pub(super) async fn look_at_history(&self, config: &Config) {
        if !config.history.save {
            return;
        }
        let typed = self.typed.clone();
        let looked = tokio::task::spawn_blocking(move || typed.look()).await;
        if let Ok(Err(error)) = looked {
            tracing::warn!(%error, "the file of what was typed cannot be read");
        }
    }

    /// The event that tells of a thread's settings.
    pub(super) fn configured(&self, config: &Config, settings: ThreadSettings) -> ThreadConfigured {
        let state = match config.history.save {
            true => self.typed.known(),
            false => State::default(),
        };
        ThreadConfigured {
            settings,
            history_log_id: state.log_id.to_string(),
            history_entry_count: state.count,
        }
    }
}

impl ThreadHandle {
    /// Keeps what the person typed in this thread.
    pub fn keep_typed(&self, content: &[UserInput]) {
        // What is to leave nothing on the disk leaves nothing here.
        if self.conversation().recorder.is_none() {
            return;
        }
        let texts = content.iter().filter_map(|piece| match piece {
            UserInput::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        keep(self.services(), &self.config(), Some(self.id()), &text);
    }
}

/// Puts a text at the end of the file, in the background. False if it is not kept.
fn keep(services: &Services, config: &Config, thread: Option<&ThreadId>, text: &str) -> bool {
    if !config.history.save || text.trim().is_empty() || text.len() > MOST_TEXT {
        return false;
    }
    let entry = Entry {
        session_id: thread.map(ToString::to_string).unwrap_or_default(),
        ts: now_ms() / 1000,
        text: text.to_owned(),
    };
    services.typed.push(entry, config.history.max_bytes);
    let typed = services.typed.clone();
    services.steps.spawn_blocking(move || {
        if let Err(error) = typed.write() {
            tracing::warn!(%error, "what was typed is not in history.jsonl");
        }
    });
    true
}

/// Adds what a client says was typed. Blocks.
pub fn append(agent: &Agent, thread: Option<&ThreadId>, text: &str) -> Result<bool, AgentError> {
    let config = agent.load_config(None, None)?.config;
    Ok(keep(agent.services(), &config, thread, text))
}

/// One entry. Blocks.
pub fn read(agent: &Agent, params: HistoryReadParams) -> Result<HistoryReadResult, AgentError> {
    let HistoryReadParams { log_id, offset } = params;
    let entry = match (saves(agent)?, log_id.parse()) {
        (true, Ok(id)) => agent.services().typed.entry(id, offset).map_err(unreadable)?,
        _ => None,
    };
    Ok(HistoryReadResult {
        log_id,
        offset,
        entry: entry.map(|entry| shown(offset, entry)),
    })
}

/// Entries, newest first. Blocks.
pub fn list(agent: &Agent, params: &HistoryListParams) -> Result<HistoryListResult, AgentError> {
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST_LIMIT);
    // An id that is none is that of no file.
    let wanted = params.log_id.as_deref().map(|id| id.parse().unwrap_or(u64::MAX));
    let (state, entries) = match saves(agent)? {
        true => agent
            .services()
            .typed
            .before(wanted, params.before, u64::from(limit))
            .map_err(unreadable)?,
        false => (State::default(), Vec::new()),
    };
    Ok(HistoryListResult {
        log_id: state.log_id.to_string(),
        count: state.count,
        data: entries
            .into_iter()
            .map(|(offset, entry)| shown(offset, entry))
            .collect(),
    })
}

fn saves(agent: &Agent) -> Result<bool, AgentError> {
    Ok(agent.load_config(None, None)?.config.history.save)
}

fn unreadable(error: std::io::Error) -> AgentError {
    AgentError::History(error)
}

fn shown(offset: u64, entry: Entry) -> HistoryEntry {
    HistoryEntry {
        offset,
        thread_id: Some(entry.session_id).filter(|id| !id.is_empty()).map(ThreadId::from),
        at: entry.ts,
        text: entry.text,
    }
}
