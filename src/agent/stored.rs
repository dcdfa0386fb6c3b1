//! Stored threads: brought back, copied, put away, named, deleted.

mod folders;

use super::aside::aside;
use super::conversation::{Along, Conversation};
use super::history::History;
use super::restore::{resting, stream_of};
use super::stream::Stream;
use super::thread::ThreadHandle;
use super::{Agent, AgentError, Launch, Opened, context, mode, outputs, prompt, scratch, settings};
use crate::config::Loaded;
use crate::exec::rules::Rules;
use crate::ids::{ThreadId, TurnId};
use crate::protocol::event::{EventKind, ThreadArchived, ThreadDeleted, ThreadNameUpdated, ThreadUnarchived};
use crate::protocol::settings::{SettingsOverride, ThreadSettings};
use crate::protocol::thread::{
    Thread, ThreadForkParams, ThreadListParams, ThreadListResult, ThreadMemoryMode, ThreadResumeParams,
    ThreadSearchParams, ThreadSearchResult, ThreadStatus,
};
use crate::store::line::EventMsg;
use crate::store::load::Stored;
use crate::store::{self, Recorder, Resumed, RolloutItem, SessionMeta, StoreError, Until, summary};
use crate::tools::dynamic;
use folders::{OpenFolders, elsewhere_notice, outside_notice};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a live thread may take to end before it is put away all the same.
const ENDING: Duration = Duration::from_secs(10);

/// Letters of a name.
const LONGEST_NAME: usize = 500;

/// What a thread that comes back will work with.
struct Ready {
    loaded: Loaded,
    rules: Arc<Rules>,
    settings: ThreadSettings,
    /// Folders that it worked in before.
    left: Vec<PathBuf>,
    /// What of its record is not taken up.
    warnings: Vec<String>,
}

impl Agent {
    /// Brings a stored thread back; joins it if it is live. Tools that the client declares take the place of those before.
    pub async fn resume_thread(&self, mut params: ThreadResumeParams) -> Result<Opened, AgentError> {
        let declared = match params.dynamic_tools.take() {
            Some(specs) => Some(dynamic::declared(&specs, &self.services().tools)?),
            None => None,
        };
        let opened = self.resume(params).await?;
        if let Some(tools) = declared {
            opened.handle.conversation().data().client_tools = tools;
        }
        Ok(opened)
    }

    async fn resume(&self, params: ThreadResumeParams) -> Result<Opened, AgentError> {
        if let (Some(id), None) = (&params.thread_id, &params.path)
            && let Some(handle) = self.thread(id)
        {
            return joined(handle, params.settings).await;
        }
        let _alone = self.shared.resuming.write().await;
        let home = &self.services().home;
        let path = self
            .path_to(params.thread_id.as_ref(), params.path.as_deref(), false)
            .await?;
        if let Some(live) = self.live_in(home.join(&path)).await {
            return joined(live, params.settings).await;
        }
        let fork_id = ThreadId::fresh();
        let cwd = params.settings.cwd.clone().unwrap_or_default();
        let fork = SessionMeta {
            model_provider: params.settings.model_provider.clone(),
            ..SessionMeta::new(fork_id.clone(), &cwd, &self.services().source)
        };
        let Resumed {
            recorder,
            stored,
            forked,
        } = Recorder::resume(home, &path, fork).await?;
        let id = if forked { fork_id } else { stored.meta.id.clone() };
        if let Some(live) = self.thread(&id) {
            return joined(live, params.settings).await;
        }
        let (stored, ready) = self.prepare(stored, params.settings, None).await?;
        let from = forked.then(|| stored.meta.id.clone());
        Ok(self.bring_back(id, Some(recorder), stored, from, ready, None).await)
    }

    /// Copies a thread, live or stored, into a new one. All of it, or an error and nothing left behind.
    pub async fn fork_thread(&self, params: ThreadForkParams) -> Result<Opened, AgentError> {
        let until = match (params.last_turn_id, params.before_turn_id) {
            (Some(_), Some(_)) => {
                return Err(AgentError::BadRequest(
                    "A copy cannot both end with lastTurnId and end before beforeTurnId. Give one of them.",
                ));
            }
            (Some(last), None) => Until::Turn(last),
            (None, Some(next)) => Until::Before(next),
            (None, None) => Until::End,
        };
        let home = &self.services().home;
        let live = match (&params.path, &params.thread_id) {
            (Some(path), _) => self.live_in(home.join(path)).await,
            (None, Some(id)) => self.thread(id),
            (None, None) => None,
        };
        let path = match live {
            Some(live) => {
                if let Until::Turn(last) = &until
                    && live.running().is_some_and(|running| running == *last)
                {
                    return Err(AgentError::TurnStillRuns(last.clone()));
                }
                let not_stored = || AgentError::NotStored(live.id().clone());
                let recorder = live.conversation().recorder.as_ref().ok_or_else(not_stored)?;
                recorder.flush().await?;
                let path = recorder.path().to_owned();
                aside(move || Some(path).filter(|path| path.exists()))
                    .await
                    .ok_or_else(not_stored)?
            }
            None => {
                self.path_to(params.thread_id.as_ref(), params.path.as_deref(), true)
                    .await?
            }
        };
        let id = ThreadId::fresh();
        let meta = SessionMeta {
            base_instructions: params.base_instructions.clone(),
            model_provider: params.settings.model_provider.clone(),
            ..SessionMeta::new(
                id.clone(),
                &params.settings.cwd.clone().unwrap_or_default(),
                &self.services().source,
            )
        };
        let (recorder, stored) = if params.ephemeral {
            (None, Recorder::before_fork(home, &path, until).await?)
        } else {
            let Resumed { recorder, stored, .. } = Recorder::fork(home, &path, until, meta).await?;
            (Some(recorder), stored)
        };
        let (mut stored, ready) = self.prepare(stored, params.settings, params.config).await?;
        if let Some(recorder) = &recorder {
            recorder.persist().await?;
        }
        if params.base_instructions.is_some() {
            stored.meta.base_instructions = params.base_instructions;
        }
        // The copy is a thread of its own.
        stored.name = None;
        let from = Some(stored.meta.id.clone());
        let developer = params.developer_instructions;
        Ok(self.bring_back(id, recorder, stored, from, ready, developer).await)
    }

    /// The home folder of the reference system, whose threads are read and never changed.
    fn home_of_others(&self) -> Option<PathBuf> {
        let env = &self.services().env;
        let named = env.get("CODEX_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let home = named.or_else(|| Some(Path::new(env.get("HOME")?).join(".codex")));
        home.filter(|home| home.is_absolute() && *home != self.services().home)
    }

    /// A page of the threads of the reference system. Reads the disk.
    pub(super) fn list_of_others(&self, params: &ThreadListParams) -> Result<ThreadListResult, StoreError> {
        let mut params = params.clone();
        params.model_providers.get_or_insert_default();
        match self.home_of_others() {
            Some(home) => store::list(&home, &params, ""),
            None => store::list(Path::new(""), &params, ""),
        }
    }

    /// A stored thread of ours, else of the reference system. Reads the disk.
    pub(super) fn read_stored(&self, id: &ThreadId, include_turns: bool) -> Result<Thread, StoreError> {
        match (
            store::read(&self.services().home, id, include_turns),
            self.home_of_others(),
        ) {
            (Err(unknown @ StoreError::NotFound { .. }), Some(home)) => match store::read(&home, id, include_turns) {
                Err(StoreError::NotFound { .. }) => Err(unknown),
                other => other,
            },
            (read, _) => read,
        }
    }

    /// The file that a request means. `archived`: also one that was put away.
    async fn path_to(&self, id: Option<&ThreadId>, path: Option<&Path>, archived: bool) -> Result<PathBuf, AgentError> {
        if let Some(path) = path {
            let full = self.services().home.join(path);
            if !archived && full.starts_with(self.services().home.join(store::ARCHIVE)) {
                let id = aside(move || summary::meta_of(&full)).await?.id.to_string();
                return Err(StoreError::Archived { id }.into());
            }
            return Ok(path.to_owned());
        }
        let id = id.cloned().ok_or(AgentError::NothingToResume)?;
        let (home, index) = (self.services().home.clone(), self.shared.index.clone());
        let others = self.home_of_others();
        let find = move |home: &Path, id: &ThreadId| -> Result<Option<PathBuf>, StoreError> {
            match index.find(id) {
                Some(path) => Ok(Some(path)),
                None => store::find(home, id),
            }
        };
        let found = aside(move || match find(&home, &id)? {
            Some(path) => Ok(path),
            None => match store::find_archived(&home, &id)? {
                Some(path) if archived => Ok(path),
                Some(_) => Err(StoreError::Archived { id: id.to_string() }),
                None => {
                    let there = others.map(|home| store::find(&home, &id)).transpose()?.flatten();
                    there.ok_or_else(|| StoreError::NotFound { id: id.to_string() })
                }
            },
        });
        Ok(found.await?)
    }

    /// The live thread that is recorded in a file.
    async fn live_in(&self, path: PathBuf) -> Option<ThreadHandle> {
        let live = self.live();
        aside(move || {
            let real = std::fs::canonicalize(path).ok()?;
            let is_there = |handle: &ThreadHandle| {
                let recorder = handle.conversation().recorder.as_ref();
                recorder.is_some_and(|recorder| std::fs::canonicalize(recorder.path()).is_ok_and(|path| path == real))
            };
            live.into_iter().find(is_there)
        })
        .await
    }

    /// [`Agent::ready`], which reads the disk. Gives the thread back.
    async fn prepare(
        &self,
        stored: Stored,
        change: SettingsOverride,
        config: Option<Map<String, Value>>,
    ) -> Result<(Stored, Ready), AgentError> {
        let agent = self.clone();
        aside(move || {
            let ready = agent.ready(&stored, change, config.as_ref())?;
            Ok((stored, ready))
        })
        .await
    }

    /// Finds out what a stored thread will work with: what is asked for now, else what it had.
    fn ready(
        &self,
        stored: &Stored,
        mut change: SettingsOverride,
        config: Option<&Map<String, Value>>,
    ) -> Result<Ready, AgentError> {
        let home = &self.services().home;
        // What another program wrote opens no folders, and what lies among nobody's threads none that is not open.
        let is_ours = stored.is_ours(home);
        let is_known = stored.lies_in(home) || self.home_of_others().is_some_and(|others| stored.lies_in(&others));
        let open = OpenFolders::of(home, &self.services().workspace.roots());
        let mut by_record: Vec<PathBuf> = Vec::new();
        // A turn may have taken the thread elsewhere.
        let last_folder = stored.last_context.as_ref().map(|before| before.cwd.clone());
        // Somebody may have cleared scratch folders away. Countersign's own folder is none to work in.
        let can_work = |cwd: &PathBuf| {
            let made = scratch::make(home, cwd).and_then(|()| settings::check_folder(cwd));
            made.is_ok() && cwd != home
        };
        let last_folder = last_folder.filter(|cwd| is_ours && can_work(cwd));
        let last_folder = last_folder.unwrap_or_else(|| stored.meta.cwd.clone());
        let (cwd, elsewhere) = match change.cwd.clone() {
            Some(asked) => (asked, None),
            None if can_work(&last_folder) && (is_known || open.hold(&last_folder)) => {
                by_record.push(last_folder.clone());
                (last_folder.clone(), None)
            }
            None => {
                let here = self.folder_for(&stored.meta.id);
                let notice = elsewhere_notice(&last_folder, &here, can_work(&last_folder));
                (here, Some(notice))
            }
        };
        scratch::make(home, &cwd)?;
        settings::check_folder(&cwd)?;
        let left = [&stored.meta.cwd, &last_folder].map(PathBuf::clone).into_iter();
        let left: Vec<PathBuf> = left
            .filter(|folder| *folder != cwd && !folder.as_os_str().is_empty())
            .collect();
        let loaded = self.load_config(Some(&cwd), config)?;
        let elsewhere = elsewhere.map(|notice| match last_folder == *home {
            true => scratch::not_at_home(home, &cwd),
            false => notice,
        });
        let mut warnings: Vec<String> = elsewhere.into_iter().collect();
        if let Some(before) = &stored.last_context {
            warnings.extend(settings::take_up(&loaded.config, before, &mut change));
            if change.runtime_workspace_roots.is_none() && is_ours {
                change
                    .runtime_workspace_roots
                    .clone_from(&before.runtime_workspace_roots);
                by_record.extend(before.runtime_workspace_roots.iter().flatten().cloned());
            }
        }
        by_record.retain(|folder| !open.hold(folder));
        if !by_record.is_empty() {
            warnings.push(outside_notice(by_record));
        }
        let known = |id: &String| loaded.config.providers.contains_key(id);
        if change.model_provider.is_none() {
            change.model_provider = stored.meta.model_provider.clone().filter(known);
        }
        let settings = settings::initial(&loaded.config, cwd, &change)?;
        warnings.extend(scratch::closed(self.services(), &loaded.config, &settings));
        Ok(Ready {
            rules: self.services().rules(&loaded.config),
            loaded,
            settings,
            left,
            warnings,
        })
    }

    /// Makes a stored thread, or a copy of one, live.
    async fn bring_back(
        &self,
        id: ThreadId,
        recorder: Option<Recorder>,
        stored: Stored,
        forked_from: Option<ThreadId>,
        ready: Ready,
        developer_instructions: Option<String>,
    ) -> Opened {
        let Ready {
            loaded,
            rules,
            settings,
            left,
            warnings,
        } = ready;
        let path = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let along = along(&stored);
        let is_copy = forked_from.is_some();
        let agent = stored.meta.agent.filter(|_| !is_copy);
        let conversation = Conversation::new(id.clone(), recorder, History::new(stored.history));
        let conversation = Arc::new(conversation.with_agent(agent.clone()));
        {
            let mut data = conversation.data();
            data.environment = prompt::Environment::told(data.history.items());
            data.instructions = context::Known::told(data.history.items());
            data.mode = mode::told(data.history.items());
            data.set_usage(stored.usage.unwrap_or_default());
            data.rate_limits = stored.rate_limits;
            data.along = along;
            data.turns = stored.turns;
            data.withdrawn.extend(stored.dropped);
            data.preview = stored.preview.clone();
            data.updated_at_ms = stored.updated_at_ms;
            // What another program's editor brought along is not here.
            if !is_copy && stored.meta.source == self.services().source {
                let recorded = dynamic::declared(&stored.meta.dynamic_tools, &self.services().tools);
                data.client_tools = recorded.unwrap_or_default();
            }
        }
        conversation.remember(developer_instructions.map(|text| prompt::message("developer", text)));
        self.load_notes(&id).await;
        self.services().look_at_history(&loaded.config).await;
        let thread = Thread {
            id,
            preview: stored.preview,
            name: stored.name,
            cwd: settings.cwd.clone(),
            model_provider: settings.model_provider.clone(),
            model: Some(settings.model.clone()).filter(|model| !model.is_empty()),
            status: ThreadStatus::Idle,
            created_at_ms: match is_copy {
                true => super::now_ms(),
                false => stored.meta.created_at_ms,
            },
            updated_at_ms: stored.updated_at_ms,
            path,
            source: match is_copy {
                true => self.services().source.clone(),
                false => stored.meta.source,
            },
            cli_version: match is_copy {
                true => env!("CARGO_PKG_VERSION").to_owned(),
                false => stored.meta.cli_version,
            },
            git_info: stored.meta.git,
            forked_from_id: forked_from.or(stored.meta.forked_from_id),
            agent,
            archived: false,
            memory_mode: stored.meta.memory_mode.unwrap_or_default(),
            turns: Vec::new(),
        };
        let broken = stored.skipped - usize::from(stored.cut_off);
        let base = stored.meta.base_instructions;
        let handle = self.launch(Launch {
            conversation,
            loaded,
            rules,
            settings,
            base_instructions: base,
            thread,
            left,
        });
        if broken > 0 {
            let lines = if broken == 1 { "A line" } else { "Some lines" };
            let path = stored.path.display();
            let message = format!("{lines} of {path} could not be read ({broken} in all) and were left out.");
            handle.conversation().warn(None, message);
        }
        for warning in warnings {
            handle.conversation().warn(None, warning);
        }
        Opened {
            handle,
            instruction_sources: Vec::new(),
        }
    }

    /// Puts a thread away; a live one is ended first. The stream has the event.
    pub async fn archive_thread(&self, id: &ThreadId) -> Result<Stream, AgentError> {
        let _alone = self.shared.resuming.write().await;
        if let Some(live) = self.thread(id) {
            let recorder = live.conversation().recorder.as_ref();
            let file = recorder.map(|recorder| recorder.path().to_owned());
            if !aside(move || file.is_some_and(|path| path.exists())).await {
                return Err(AgentError::NotStored(id.clone()));
            }
        }
        self.end_live(id).await;
        let (home, thread) = (self.services().home.clone(), id.clone());
        aside(move || store::archive::archive(&home, &thread)).await?;
        Ok(self.tell(id, EventKind::ThreadArchived(ThreadArchived {})))
    }

    /// Brings an archived thread back into the list, not to life.
    pub async fn unarchive_thread(&self, id: &ThreadId) -> Result<(Thread, Stream), AgentError> {
        let _alone = self.shared.resuming.write().await;
        let (home, wanted) = (self.services().home.clone(), id.clone());
        let thread = aside(move || {
            let path = store::archive::unarchive(&home, &wanted)?;
            store::read_path(&home, &path, false)
        });
        let thread = thread.await?;
        let stream = self.tell(&thread.id, EventKind::ThreadUnarchived(ThreadUnarchived {}));
        Ok((thread, stream))
    }

    /// Ends a live thread; it can be resumed. Nothing happens to one that is not live.
    pub async fn close_thread(&self, id: &ThreadId) {
        let _alone = self.shared.resuming.write().await;
        self.end_live(id).await;
    }

    /// Deletes a thread, archived or not, with all that hangs on it; a live one is ended first. The stream has the event, and
    /// then its end.
    pub async fn delete_thread(&self, id: &ThreadId) -> Result<Stream, AgentError> {
        let _alone = self.shared.resuming.write().await;
        let turns = match self.thread(id) {
            Some(live) => live.snapshot(true).turns,
            None => {
                let (home, thread) = (self.services().home.clone(), id.clone());
                let read = aside(move || store::read(&home, &thread, true)).await;
                match read {
                    Ok(thread) => thread.turns,
                    // What cannot be read can be deleted all the same.
                    Err(StoreError::NoMeta { .. } | StoreError::Empty { .. }) => Vec::new(),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let was_live = self.end_live(id).await;
        let (services, thread) = (self.services().clone(), id.clone());
        let deleted = aside(move || {
            match store::archive::delete(&services.home, &thread) {
                // It was live and has left nothing on the disk.
                Err(StoreError::NotFound { .. }) if was_live => {}
                other => drop(other?),
            }
            services.proposals.forget_thread(&thread);
            scratch::remove(&services.home, thread.as_str());
            outputs::remove(&services.home, &thread);
            let records = services.snapshots.records();
            turns.iter().for_each(|turn| records.forget(&thread, &turn.id));
            Ok::<_, StoreError>(())
        });
        deleted.await?;
        let stream = self.tell(id, EventKind::ThreadDeleted(ThreadDeleted {}));
        stream.end();
        resting(&self.shared).remove(id);
        Ok(stream)
    }

    /// Gives a thread a name; the event is the caller's, see [`Agent::tell_name`].
    pub async fn name_thread(&self, id: &ThreadId, name: &str) -> Result<Thread, AgentError> {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.is_empty() {
            return Err(AgentError::BadRequest(
                "The name is blank. Give the thread one that says something.",
            ));
        }
        if name.chars().count() > LONGEST_NAME {
            return Err(AgentError::BadRequest(
                "The name is longer than 500 letters. Give a shorter one.",
            ));
        }
        let line = RolloutItem::EventMsg(EventMsg::ThreadNameUpdated {
            thread_id: Some(id.clone()),
            thread_name: Some(name.clone()),
        });
        if let Ok(live) = self.reach(id).await {
            live.set_name(&name);
            if let Some(recorder) = &live.conversation().recorder {
                recorder.record([line]);
                recorder.flush().await?;
            }
            return Ok(live.snapshot(false));
        }
        let path = self.path_to_change(id).await?;
        Recorder::annotate(&path, line).await?;
        self.read_aside(path).await
    }

    /// Publishes the name of a thread. The stream has the event.
    pub fn tell_name(&self, thread: &Thread) -> Stream {
        let name = thread.name.clone();
        self.tell(&thread.id, EventKind::ThreadNameUpdated(ThreadNameUpdated { name }))
    }

    /// Keeps with a thread whether memories may be made of it.
    pub async fn set_memory_mode(&self, id: &ThreadId, mode: ThreadMemoryMode) -> Result<Thread, AgentError> {
        let later = |path: PathBuf| {
            aside(move || {
                let meta = summary::meta_of(&path)?;
                let memory_mode = Some(mode);
                Ok::<_, StoreError>(RolloutItem::SessionMeta(SessionMeta { memory_mode, ..meta }))
            })
        };
        if let Ok(live) = self.reach(id).await {
            let recorder = live.conversation().recorder.as_ref();
            let recorder = recorder.ok_or_else(|| AgentError::NotStored(id.clone()))?;
            recorder.persist().await?;
            recorder.record([later(recorder.path().to_owned()).await?]);
            recorder.flush().await?;
            live.set_memory_mode(mode);
            return Ok(live.snapshot(false));
        }
        let path = self.path_to_change(id).await?;
        Recorder::annotate(&path, later(path.clone()).await?).await?;
        self.read_aside(path).await
    }

    /// The file of a stored thread, if something may be added to it.
    async fn path_to_change(&self, id: &ThreadId) -> Result<PathBuf, AgentError> {
        let path = self.path_to(Some(id), None, false).await?;
        let file = path.clone();
        let meta = aside(move || summary::meta_of(&file)).await?;
        match meta.is_ours() && path.starts_with(&self.services().home) {
            true => Ok(path),
            false => Err(StoreError::Foreign { path }.into()),
        }
    }

    async fn read_aside(&self, path: PathBuf) -> Result<Thread, AgentError> {
        let home = self.services().home.clone();
        Ok(aside(move || store::read_path(&home, &path, false)).await?)
    }

    /// Looks for words in stored threads. Reads the disk.
    pub fn search_threads(&self, params: &ThreadSearchParams) -> Result<ThreadSearchResult, AgentError> {
        let mut page = store::search(&self.services().home, params)?;
        for found in &mut page.data {
            if let Some(live) = self.thread(&found.thread.id) {
                found.thread.status = live.snapshot(false).status;
            }
        }
        Ok(page)
    }

    /// Ends a thread if it is live. What happens to it from then on goes into a stream that counts on.
    async fn end_live(&self, id: &ThreadId) -> bool {
        let Some(live) = self.threads().remove(id) else {
            return false;
        };
        if tokio::time::timeout(ENDING, live.close()).await.is_err() {
            tracing::error!(thread = %id, "a thread did not end in time; it is put away all the same");
        }
        let rest = Stream::new(id.clone());
        rest.take_over(&live.conversation().stream);
        self.services().proposals.use_stream(id, &rest);
        resting(&self.shared).insert(id.clone(), rest);
        true
    }

    /// Publishes what happened to a thread, live or not.
    fn tell(&self, id: &ThreadId, kind: EventKind) -> Stream {
        let stream = stream_of(&self.shared, id);
        stream.publish(None, kind);
        stream
    }
}

/// What went with the words of the last turn, as its request says.
fn along(stored: &Stored) -> HashMap<TurnId, Along> {
    let context = stored.last_context.iter();
    let last = context.filter_map(|context| {
        let along = Along {
            output_schema: context.output_schema.clone(),
            metadata: context.metadata.clone(),
            // What the editor showed then it does not show now, and nobody speaks yet.
            ..Along::default()
        };
        Some((context.turn_id.clone()?, along))
    });
    last.collect()
}

/// A live thread, with other settings from now on.
async fn joined(handle: ThreadHandle, settings: SettingsOverride) -> Result<Opened, AgentError> {
    handle.update_settings(settings).await?;
    Ok(Opened {
        handle,
        instruction_sources: Vec::new(),
    })
}
