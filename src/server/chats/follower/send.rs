//! What the person sends: words for the agent, and what begins with `/`.

use super::{Follower, trust};
use crate::agent::person::OwnCommand;
use crate::agent::thread::{Start, ThreadHandle};
use crate::agent::{Opened, undo};
use crate::chat::document::Chat;
use crate::chat::line::{self, Line};
use crate::chat::plan::Write;
use crate::chat::{self};
use crate::handlers::{self, thread};
use crate::ids::{ItemId, ThreadId, TurnId};
use crate::protocol::approval::ApprovalResponse;
use crate::protocol::item::UserInput;
use crate::protocol::proposal::{ProposalDecideParams, ProposalDecision};
use crate::protocol::settings::SettingsOverride;
use crate::protocol::thread::{ThreadForkParams, ThreadResumeParams, ThreadStartParams};
use crate::protocol::undo::TurnDiffParams;
use crate::server::chats::Refused;
use std::path::PathBuf;

impl Follower {
    /// Sends what the person has written.
    pub(super) async fn send(&mut self) -> Result<(), String> {
        let text = self
            .text()
            .ok_or("The chat document is not open in the editor; open it and send again.")?;
        let chat = Chat::read(&text);
        let words = chat.words().to_owned();
        if words.is_empty() {
            return Err(match chat.composer() {
                Some(_) => "There is nothing to send yet: write your message at the end of the document.".to_owned(),
                None => format!(
                    "There is no place for your words: put the line “{}” at the end of the document, and your message below it.",
                    chat::document::YOU
                ),
            });
        }
        self.session.idle().turned_to_us();
        match self.asked(&chat).await {
            Some(asked) => self.ask(asked).await,
            None => self.send_words(&chat, words).await,
        }
    }

    /// Sends words that are the person's, or that they stand by.
    pub(super) async fn send_words(&mut self, chat: &Chat<'_>, words: String) -> Result<(), String> {
        if let Some(path) = self.path() {
            self.session.workspace().forget_edits(&path);
        }
        match line::read(&words) {
            Line::Message => self.say(chat, words).await,
            Line::Wrong(trouble) => Err(trouble),
            Line::Help => {
                self.answered(&words, &help());
                Ok(())
            }
            Line::Mode(mode) => self.change(chat, "mode", line::mode_name(mode), &words).await,
            Line::Model(model) => self.change(chat, "model", &model, &words).await,
            Line::New => {
                self.leave();
                let opened = self.start(chat).await?;
                let id = opened.handle.id().clone();
                self.hold(&opened);
                self.bind(id.as_str()).await;
                self.set("thread", id.to_string());
                self.answered(&words, "*A new conversation begins here.*");
                Ok(())
            }
            Line::Stop => {
                let thread = self
                    .thread
                    .clone()
                    .ok_or("There is no conversation in this document yet.")?;
                let stopped = thread.interrupt(None).await.map_err(|error| error.to_string())?;
                self.answered(
                    &words,
                    if stopped {
                        "*Stopped.*"
                    } else {
                        "*Nothing was running.*"
                    },
                );
                Ok(())
            }
            Line::Compact => {
                let thread = self.followed_thread(chat).await?;
                let started = thread.compact().await.map_err(|error| error.to_string())?;
                self.began(&words, &started.turn.id, started.steered);
                Ok(())
            }
            Line::Context => {
                let thread = self.begun_thread(chat).await?;
                let measured = tokio::task::spawn_blocking(move || thread.context()).await;
                let context = measured.map_err(|error| error.to_string())?;
                self.answered(&words, &chat::window::block(&context));
                Ok(())
            }
            Line::Review(target) => {
                let thread = self.followed_thread(chat).await?;
                let started = thread.review(target).await.map_err(|error| error.to_string())?;
                self.began(&words, &started.turn.id, started.steered);
                Ok(())
            }
            Line::Undo => {
                let thread = self.followed_thread(chat).await?;
                let started = thread
                    .undo(undo::Request::default())
                    .await
                    .map_err(|error| error.to_string())?;
                self.began(&words, &started.turn.id, started.steered);
                Ok(())
            }
            Line::Diff => {
                let thread = self.begun_thread(chat).await?;
                self.show_diff(&thread, &words).await
            }
            Line::RollBack(turns) => {
                let thread = self.begun_thread(chat).await?;
                let dropped = thread.roll_back(turns, None).await.map_err(|error| error.to_string())?;
                // Its event is behind the answer.
                self.own_rollbacks += 1;
                self.answered(&words, &rolled_back(dropped));
                Ok(())
            }
            Line::Fork => {
                let thread = self.begun_thread(chat).await?;
                let params = ThreadForkParams {
                    thread_id: Some(thread.id().clone()),
                    ..ThreadForkParams::default()
                };
                let opened = self.session.agent().fork_thread(params).await;
                let opened = opened.map_err(|error| error.to_string())?;
                let wish = handlers::chat::Open {
                    thread_id: Some(opened.handle.id().clone()),
                    uri: Some(self.uri.clone()),
                };
                // The editor may have another server for the new document's folder: whichever it is takes the copy up.
                self.session.agent().close_thread(opened.handle.id()).await;
                handlers::chat::open(&self.session, wish);
                self.answered(
                    &words,
                    "*A copy of the conversation is in a chat document of its own. This one goes on here.*",
                );
                Ok(())
            }
            Line::List => {
                handlers::chat::threads::list(&self.session).map_err(|error| error.message)?;
                self.answered(&words, "*The conversations are listed in a document of their own.*");
                Ok(())
            }
            Line::Rename(name) => {
                let thread = self.begun_thread(chat).await?;
                let agent = self.session.agent();
                let named = agent.name_thread(thread.id(), &name).await;
                let named = named.map_err(|error| error.to_string())?;
                agent.tell_name(&named);
                let name = chat::text::inline(named.name.as_deref().unwrap_or_default(), 500);
                self.answered(&words, &format!("*The conversation is called “{name}” from now on.*"));
                Ok(())
            }
        }
    }

    /// Says no to what is open, for the reason that the person has written.
    pub(super) async fn refuse(&mut self, what: Refused) -> Result<(), String> {
        let text = self.text().ok_or("The chat document is not open in the editor.")?;
        let words = Chat::read(&text).words().to_owned();
        if self
            .asked(&Chat::read(&text))
            .await
            .is_some_and(|asked| asked.not_theirs)
        {
            return Err(
                "Not all of the words at the end of the document were written by you here, so they were not sent: put \
                 words of your own in their place, and choose it again."
                    .to_owned(),
            );
        }
        if words.is_empty() {
            return Err(
                "There is no reason to send with your no: write one at the end of the document, and choose it again."
                    .to_owned(),
            );
        }
        let running = self.thread.as_ref().and_then(ThreadHandle::running);
        let settled = || "It is settled already; your words were not sent.".to_owned();
        let services = self.session.agent().services();
        self.session.idle().turned_to_us();
        match what {
            Refused::Question(id) => {
                let response = ApprovalResponse {
                    feedback: Some(words.clone()),
                    ..ApprovalResponse::decline()
                };
                if !services.approvals.answer(&id, response) {
                    return Err(settled());
                }
            }
            Refused::Change(proposal_id) => {
                let params = ProposalDecideParams {
                    proposal_id,
                    decision: ProposalDecision::Reject,
                    hunk_ids: None,
                    path: None,
                    feedback: Some(words.clone()),
                };
                let (turn, proposals) = (self.session.decisions().await, services.proposals.clone());
                let deciding = tokio::task::spawn_blocking(move || {
                    let _until_decided = turn;
                    proposals.decide(&params)
                });
                let decided = deciding.await.map_err(|error| error.to_string())?;
                decided.map_err(|error| error.to_string())?;
            }
        }
        match running {
            Some(turn) => self.began(&words, &turn, true),
            // A change that waited for its decision longer than its turn.
            None => self.answered(&words, "*The agent hears of it with the next message.*"),
        }
        Ok(())
    }

    /// The document's conversation, with the configuration as it is now.
    async fn followed_thread(&mut self, chat: &Chat<'_>) -> Result<ThreadHandle, String> {
        let thread = self.thread_of(chat).await?;
        self.session.agent().follow_config(&thread).await;
        Ok(thread)
    }

    /// The document's conversation; a new one where it has none.
    async fn thread_of(&mut self, chat: &Chat<'_>) -> Result<ThreadHandle, String> {
        let unfollowed: Vec<&'static str> = trust::FIELDS
            .into_iter()
            .filter(|key| chat.field(key).is_some() && !self.follows(chat, key))
            .collect();
        let named = self.field(chat, "thread").map(ThreadId::from);
        let lost = self.view.seen().lost;
        if let Some(thread) = &self.thread
            && self.events.is_some()
            && named.as_ref().is_none_or(|id| id == thread.id())
        {
            return Ok(thread.clone());
        }
        if let Some(id) = named.clone().filter(|_| !lost) {
            self.leave();
            let params = ThreadResumeParams {
                thread_id: Some(id),
                path: None,
                settings: SettingsOverride::default(),
                dynamic_tools: None,
            };
            let opened = self.session.agent().resume_thread(params).await;
            let opened = opened.map_err(|error| {
                self.view.seen().lost = true;
                format!("{error} Send again to begin a new conversation in this document.")
            })?;
            self.hold(&opened);
            self.bind(opened.handle.id().as_str()).await;
            self.catch_up();
            return Ok(opened.handle);
        }
        self.leave();
        let opened = self.start(chat).await?;
        self.hold(&opened);
        let id = opened.handle.id().to_string();
        self.bind(&id).await;
        let settings = opened.handle.settings();
        // What the header says and nobody follows gives way to what holds.
        for key in unfollowed {
            match key {
                "folder" => self.set(key, chat::text::inline(&settings.cwd.to_string_lossy(), 1000)),
                "model" => self.set(key, chat::text::inline(&settings.model, 200)),
                "mode" => self.set(key, line::mode_name(settings.mode).to_owned()),
                _ => {}
            }
        }
        match chat.field("thread") {
            Some(_) => self.set("thread", id),
            None => {
                let mut fields = vec![("thread", id)];
                if !settings.model.is_empty() {
                    fields.push(("model", chat::text::inline(&settings.model, 200)));
                }
                fields.push(("mode", line::mode_name(settings.mode).to_owned()));
                self.add(fields);
            }
        }
        Ok(opened.handle)
    }

    /// The same, where there is one already.
    async fn begun_thread(&mut self, chat: &Chat<'_>) -> Result<ThreadHandle, String> {
        if self.thread.is_none() && chat.field("thread").is_none() {
            return Err("There is no conversation in this document yet.".to_owned());
        }
        self.thread_of(chat).await
    }

    /// Changes a value that the header has.
    fn set(&mut self, key: &'static str, value: String) {
        if let Some(trust) = &mut self.trust {
            trust.puts(key, &value);
        }
        self.writer.put(Write::Set(key, value));
    }

    /// Adds values to the header that it has not.
    fn add(&mut self, fields: Vec<(&'static str, String)>) {
        if let Some(trust) = &mut self.trust {
            for (key, value) in &fields {
                trust.puts(key, value);
            }
        }
        self.writer.put(Write::Header(fields));
    }

    /// Shows what the last turn changed, beside the document.
    async fn show_diff(&mut self, thread: &ThreadHandle, words: &str) -> Result<(), String> {
        let params = TurnDiffParams {
            thread_id: thread.id().clone(),
            turn_id: None,
        };
        let found = handlers::undo::diff(&self.session, params).await;
        let found = found.map_err(|error| error.message)?;
        match found.turn_id.filter(|_| !found.diff.is_empty()) {
            Some(turn) => {
                self.answered(words, "*What the last turn changed is shown in a document of its own.*");
                let session = self.session.clone();
                tokio::spawn(async move { session.presenter().show_turn_diff(&turn, &found.diff).await });
            }
            None => self.answered(
                words,
                "*There is nothing to undo: no turn has changed anything that is not undone already.*",
            ),
        }
        Ok(())
    }

    async fn start(&self, chat: &Chat<'_>) -> Result<Opened, String> {
        let settings = SettingsOverride {
            cwd: Some(self.folder(chat)),
            ..self.wanted(chat)?
        };
        let params = ThreadStartParams {
            settings,
            dynamic_tools: self.session.client().tools.clone(),
            ..ThreadStartParams::default()
        };
        self.session
            .agent()
            .start_thread(params)
            .await
            .map_err(|error| error.to_string())
    }

    /// Where the agent works: the folder that the header names, if it is one of the workspace or the document is one of our own
    /// chats, which lie in no folder of the person's; else the workspace folder of the document.
    fn folder(&self, chat: &Chat<'_>) -> PathBuf {
        let path = self.path();
        let home = &self.session.agent().services().home;
        let ours = home.join("chats");
        let is_ours = path.as_ref().is_some_and(|path| path.starts_with(&ours));
        let roots = self.session.workspace().roots();
        let named = self
            .field(chat, "folder")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute() && folder != home);
        if let Some(folder) = named.filter(|folder| is_ours || roots.iter().any(|root| folder.starts_with(root))) {
            return folder;
        }
        match path.filter(|_| !is_ours) {
            Some(path) => self.session.folder_of(&path),
            None => self.session.agent().default_folder(),
        }
    }

    /// A value of the header that counts.
    fn field<'c>(&self, chat: &'c Chat<'_>, key: &str) -> Option<&'c str> {
        chat.field(key).filter(|_| self.follows(chat, key))
    }

    /// What the header says about the conversation's settings.
    fn wanted(&self, chat: &Chat<'_>) -> Result<SettingsOverride, String> {
        let mode = match self.field(chat, "mode") {
            None => None,
            Some(name) => Some(line::mode(name).ok_or_else(|| {
                format!(
                    "The header of the document has the mode {name:?}, which does not exist. Write agent, plan or ask there."
                )
            })?),
        };
        Ok(SettingsOverride {
            model: self.field(chat, "model").map(str::to_owned),
            mode,
            ..SettingsOverride::default()
        })
    }

    /// Gives the person's words to the conversation.
    async fn say(&mut self, chat: &Chat<'_>, words: String) -> Result<(), String> {
        let thread = self.thread_of(chat).await?;
        let text = words.clone();
        let content = vec![UserInput::Text { text }];
        let order = thread.in_order().await;
        self.session.agent().follow_config(&thread).await;
        thread.check_prompt(&content).await.map_err(|error| error.to_string())?;
        if let Some(command) = words.strip_prefix('!') {
            // Looked at before anything is written.
            OwnCommand::new(command, None).map_err(|error| error.to_string())?;
        }
        let wanted = self.wanted(chat)?;
        let now = thread.settings();
        let changed = SettingsOverride {
            model: wanted.model.filter(|model| *model != now.model),
            mode: wanted.mode.filter(|mode| *mode != now.mode),
            ..SettingsOverride::default()
        };
        let client_id = format!("chat-{}", ItemId::fresh());
        self.known.insert(client_id.clone());
        let start = Start {
            content: content.clone(),
            context: self.session.chats().context(&words),
            settings: (changed != SettingsOverride::default()).then_some(changed),
            client_id: Some(client_id),
            ..Start::default()
        };
        let started = thread
            .start_turn_in(order, start)
            .await
            .map_err(|error| error.to_string())?;
        thread.keep_typed(&content);
        self.began(&words, &started.turn.id, started.steered);
        Ok(())
    }

    /// A turn took the words up: its section goes behind them. What the turn says comes only once this is known.
    fn began(&mut self, words: &str, turn: &TurnId, steered: bool) {
        let tag = chat::tag(turn);
        self.done.remove(turn);
        let telling = self.telling(turn);
        let before = match steered && telling.begun {
            true => {
                telling.story.pause();
                telling.story.take()
            }
            false => None,
        };
        telling.begun = true;
        telling.words.push(words.to_owned());
        let tag = Some(tag);
        if let Some(text) = before {
            self.writer.put(Write::More { tag: tag.clone(), text });
        }
        self.writer.put(Write::Sent {
            words: words.to_owned(),
            tag,
        });
    }

    /// Words that are answered at once.
    fn answered(&mut self, words: &str, answer: &str) {
        self.writer.put(Write::Sent {
            words: words.to_owned(),
            tag: None,
        });
        self.writer.put(Write::More {
            tag: None,
            text: answer.to_owned(),
        });
    }

    /// Changes a value of the header and of the conversation.
    async fn change(&mut self, chat: &Chat<'_>, key: &'static str, value: &str, words: &str) -> Result<(), String> {
        if let Some(thread) = self.thread.clone() {
            let change = match key {
                "mode" => SettingsOverride {
                    mode: line::mode(value),
                    ..SettingsOverride::default()
                },
                _ => SettingsOverride {
                    model: Some(value.to_owned()),
                    ..SettingsOverride::default()
                },
            };
            thread
                .update_settings(change)
                .await
                .map_err(|error| error.to_string())?;
        }
        let value = chat::text::inline(value, 200);
        match chat.field(key) {
            Some(_) => self.set(key, value.clone()),
            None => self.add(vec![(key, value.clone())]),
        }
        self.answered(words, &format!("*The {key} is `{value}` from now on.*"));
        Ok(())
    }
}

/// What the document says of turns that were dropped. Nothing is taken out of it.
pub(super) fn rolled_back(turns: u32) -> String {
    format!(
        "*{} What stands above stays in this document; the agent no longer knows of it.*",
        thread::rolled_back(turns)
    )
}

fn help() -> String {
    let mut text =
        "Write at the end of the document and choose *Send* from the code actions. `@file` points at a file, \
                    `!command` runs a command of yours, `/name` calls one of your prompts, or:\n\n"
            .to_owned();
    for (name, behind, does) in line::COMMANDS {
        let behind = if behind.is_empty() {
            String::new()
        } else {
            format!(" {behind}")
        };
        text.push_str(&format!("- `/{name}{behind}`: {does}\n"));
    }
    text
}
