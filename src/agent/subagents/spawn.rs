//! Starting a sub-agent: a thread of its own, with its parent's settings at that moment or less.

use super::Agents;
use super::follow::{follow, tell};
use crate::agent::aside::aside;
use crate::agent::conversation::Conversation;
use crate::agent::history::History;
use crate::agent::thread::{Start, ThreadHandle};
use crate::agent::turn::Turn;
use crate::agent::{Agent, AgentError, Launch, context, permissions, prompt};
use crate::config::permissions::is_built_in;
use crate::config::{Config, Loaded};
use crate::ids::ThreadId;
use crate::protocol::agent::{AgentStatus, SubAgent};
use crate::protocol::item::UserInput;
use crate::protocol::settings::{SandboxMode, SandboxPolicy, ThreadSettings};
use crate::protocol::thread::{Thread, ThreadMemoryMode, ThreadStatus};
use crate::store::{Recorder, SessionMeta};
use crate::tools::agents::Spawn;
use std::sync::Arc;

/// Where threads of this kind come from, as lists tell.
pub(in crate::agent) const SOURCE: &str = "subagent";

/// A place in a family. Given back unless the agent has come to life.
struct Place<'a> {
    agents: &'a Agents,
    id: ThreadId,
    taken: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.taken {
            self.agents.family().remove(&self.id);
        }
    }
}

/// Starts an agent that works for a turn's thread. The error is for the model.
pub(super) async fn spawn(turn: &Turn, wish: &Spawn) -> Result<(ThreadId, SubAgent), String> {
    let agents = &turn.services.agents;
    let parent = &turn.conversation.id;
    let id = ThreadId::fresh();
    let depth = turn.conversation.agent.as_ref().map_or(0, |agent| agent.depth);
    let identity = agents
        .family()
        .join(id.clone(), parent, depth, wish.name.as_deref(), turn.config.agents)?;
    let mut place = Place {
        agents,
        id: id.clone(),
        taken: false,
    };
    let not_started = |why: String| format!("No agent was started: {why}");
    let agent = agents
        .agent()
        .ok_or_else(|| not_started("the server is stopping".to_owned()))?;
    let handle = agent
        .start_child(turn, id.clone(), identity.clone(), wish)
        .await
        .map_err(|error| not_started(error.to_string()))?;
    place.taken = true;
    agents.family().set_payer(&id, &turn.spending);
    let events = handle.subscribe(Some(0));
    tell(
        &turn.conversation,
        agents.family().set(&id, AgentStatus::PendingInit, None),
        &id,
    );
    follow(turn.services.clone(), turn.conversation.clone(), id.clone(), events);
    let start = Start {
        content: vec![UserInput::Text {
            text: wish.message.clone(),
        }],
        by_agent: true,
        ..Start::default()
    };
    let started = handle.start_turn(start).await;
    if turn.cancel.is_cancelled() {
        agents.close(&id).await;
        return Err("The person stopped the turn; no agent was started.".to_owned());
    }
    match started {
        Ok(_begins) => Ok((id, identity)),
        Err(error) => {
            agents.close(&id).await;
            Err(not_started(error.to_string()))
        }
    }
}

impl Agent {
    /// A thread for a sub-agent. All of it, or an error and nothing left behind.
    async fn start_child(
        &self,
        turn: &Turn,
        id: ThreadId,
        identity: SubAgent,
        wish: &Spawn,
    ) -> Result<ThreadHandle, AgentError> {
        let settings = settings(turn, wish);
        // It sees what its parent sees.
        self.services().workspace.share_view(&turn.conversation.id, &id);
        let (services, workspace) = (self.services().clone(), turn.workspace.clone());
        let (config, own) = (turn.config.clone(), settings.clone());
        let read = aside(move || {
            let read = context::read_instructions(&services, &workspace, &config, &own);
            (services.rules(&config), read)
        });
        let (rules, (instructions, _told_to_the_parent, known)) = read.await;
        let base = Some(turn.base_instructions.clone());
        let meta = SessionMeta {
            model_provider: Some(settings.model_provider.clone()),
            instructions: Some(instructions.text.clone()).filter(|text| !text.is_empty()),
            base_instructions: base.clone(),
            agent: Some(identity.clone()),
            ..SessionMeta::new(id.clone(), &settings.cwd, SOURCE)
        };
        let created_at_ms = meta.created_at_ms;
        let recorder = match &turn.conversation.recorder {
            None => None,
            Some(_) => Some(Recorder::create(&self.services().home, meta).await?),
        };
        let path = recorder.as_ref().map(|recorder| recorder.path().to_owned());
        let conversation =
            Conversation::new(id.clone(), recorder, History::default()).with_agent(Some(identity.clone()));
        let thread = Thread {
            id,
            preview: String::new(),
            name: Some(identity.name.clone()),
            cwd: settings.cwd.clone(),
            model_provider: settings.model_provider.clone(),
            model: Some(settings.model.clone()).filter(|model| !model.is_empty()),
            status: ThreadStatus::Idle,
            created_at_ms,
            updated_at_ms: conversation.data().updated_at_ms,
            path,
            source: SOURCE.to_owned(),
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
            git_info: None,
            forked_from_id: None,
            agent: Some(identity.clone()),
            archived: false,
            memory_mode: ThreadMemoryMode::default(),
            turns: Vec::new(),
        };
        let own = [
            turn.config.developer_instructions.clone(),
            Some(brief(&identity, turn.config.agents.depth)),
        ];
        conversation.remember(own.into_iter().flatten().map(|text| prompt::message("developer", text)));
        if !instructions.text.is_empty() {
            conversation.remember([prompt::project_instructions(&settings.cwd, &instructions.text)]);
        }
        conversation.data().instructions = known;
        // Its turns see the same folders as this one, whatever the editor has open beside them.
        let mut left = self.services().workspace.roots();
        left.retain(|root| !turn.roots.contains(root));
        // The servers as the person wants them now, which may be others than when the conversation began.
        let servers = turn.servers.iter();
        let mcp_servers = servers
            .map(|server| (server.name.clone(), server.settings.clone()))
            .collect();
        let loaded = Loaded {
            config: Config {
                mcp_servers,
                // The person was told where the conversation began.
                mcp_problem: None,
                ..(*turn.config).clone()
            },
            origins: Default::default(),
            leaves: Default::default(),
            warnings: Vec::new(),
            notes: Vec::new(),
            refused: Vec::new(),
            is_lost: false,
            values: serde_json::Value::Null,
        };
        Ok(self.launch(Launch {
            conversation: Arc::new(conversation),
            loaded,
            rules,
            settings,
            base_instructions: base,
            thread,
            left,
        }))
    }
}

/// The parent's settings at this moment, or less.
fn settings(turn: &Turn, wish: &Spawn) -> ThreadSettings {
    let mut settings = turn.settings.clone();
    let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    settings.model = match filled(&wish.model) {
        Some(model) => model,
        // Also where the provider was asked for its first model: the child is not to get another one.
        None => turn
            .provider
            .get()
            .map_or(settings.model, |provider| provider.model.clone()),
    };
    if let Some(effort) = filled(&wish.effort) {
        settings.effort = Some(effort);
    }
    if wish.read_only && settings.sandbox_policy.mode() != SandboxMode::ReadOnly {
        settings.sandbox_policy = SandboxPolicy::from_mode(SandboxMode::ReadOnly);
        // Under a profile of the person's own it reads what that lets be read.
        let own = settings.permissions.filter(|id| !is_built_in(id));
        settings.permissions = own.or_else(|| permissions::same_as(&turn.config, &settings.sandbox_policy));
    }
    settings
}

/// What a sub-agent is told of itself.
fn brief(identity: &SubAgent, most_depth: u32) -> String {
    let others = match identity.depth < most_depth {
        true => "You may start agents of your own where your task says so.",
        false => "You cannot start agents.",
    };
    format!(
        "You are the agent {name}. Another agent started you for one task, which is the first message; the person did not write it \
         and does not read along, though they are asked where a command or a change needs their word. Do the task and nothing \
         else. Others may be at work in the same folders, so do not touch what is not yours. Your last message goes to the agent \
         that started you: make it short and complete, with what you found, what you changed and what is open. Meanwhile you can \
         write to it with send_message (to: parent), and to the others by their names. {others}",
        name = identity.name
    )
}
