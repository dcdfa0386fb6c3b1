//! What the model wants of other agents, carried out and shown as one item.

use super::family::word;
use super::mail::{Delivery, Letter};
use super::spawn;
use crate::agent::turn::Turn;
use crate::ids::{ItemId, ThreadId};
use crate::protocol::agent::{AgentStatus, CollabTool};
use crate::protocol::item::{ItemStatus, ThreadItem};
use crate::tools::ToolOutput;
use crate::tools::agents::{Collab, Spawn};
use serde_json::json;
use std::time::Duration;

/// A call as it is shown.
struct Shown {
    id: ItemId,
    tool: CollabTool,
    receivers: Vec<ThreadId>,
    prompt: Option<String>,
    model: Option<String>,
    effort: Option<String>,
}

/// Carries out a call and says to the model what came of it.
pub(in crate::agent) async fn carry_out(turn: &Turn, id: ItemId, collab: Collab) -> ToolOutput {
    let mut shown = Shown::new(id, &collab);
    turn.start_item(shown.item(turn, ItemStatus::InProgress));
    let output = match collab {
        Collab::Spawn(wish) => start(turn, &wish, &mut shown).await,
        Collab::Send { to, message, wakes } => write(turn, &to, &message, wakes, &mut shown).await,
        Collab::Wait { agents, limit } => wait(turn, &agents, limit, &mut shown).await,
        Collab::List => list(turn, &mut shown),
        Collab::Close { agent } => close(turn, &agent, &mut shown).await,
    };
    let status = match output.success {
        Some(true) => ItemStatus::Completed,
        _ if turn.cancel.is_cancelled() => ItemStatus::Interrupted,
        _ => ItemStatus::Failed,
    };
    turn.complete_item(shown.item(turn, status));
    output
}

impl Shown {
    fn new(id: ItemId, collab: &Collab) -> Self {
        let tool = match collab {
            Collab::Spawn(_) => CollabTool::SpawnAgent,
            Collab::Send { .. } => CollabTool::SendMessage,
            Collab::Wait { .. } => CollabTool::Wait,
            Collab::List => CollabTool::ListAgents,
            Collab::Close { .. } => CollabTool::CloseAgent,
        };
        let (prompt, model, effort) = match collab {
            Collab::Spawn(wish) => (Some(&wish.message), wish.model.clone(), wish.effort.clone()),
            Collab::Send { message, .. } => (Some(message), None, None),
            _ => (None, None, None),
        };
        Self {
            id,
            tool,
            receivers: Vec::new(),
            prompt: prompt.cloned(),
            model,
            effort,
        }
    }

    fn item(&self, turn: &Turn, status: ItemStatus) -> ThreadItem {
        ThreadItem::CollabAgentToolCall {
            id: self.id.clone(),
            tool: self.tool,
            status,
            sender_thread_id: turn.conversation.id.clone(),
            receiver_thread_ids: self.receivers.clone(),
            agents_states: turn.services.agents.family().states(&self.receivers),
            prompt: self.prompt.clone(),
            model: self.model.clone(),
            reasoning_effort: self.effort.clone(),
        }
    }
}

async fn start(turn: &Turn, wish: &Spawn, shown: &mut Shown) -> ToolOutput {
    match spawn::spawn(turn, wish).await {
        Ok((id, identity)) => {
            shown.receivers.push(id);
            let name = identity.name;
            ToolOutput::ok(format!(
                "The agent {name} is at work. Its final message comes by itself; write to it with send_message, wait for it with \
                 wait_agents, and close it with close_agent when you need it no more."
            ))
        }
        Err(why) => ToolOutput::failed(why),
    }
}

/// Nobody of this name, and who there is.
fn nobody(turn: &Turn, name: &str) -> ToolOutput {
    let me = &turn.conversation.id;
    let family = turn.services.agents.family();
    let there = family.words(&family.others(me));
    let more = family.member(me).map_or("", |_| ", and parent and main");
    ToolOutput::failed(format!(
        "There is no agent {name} in this conversation; closed agents are gone. There are {there}{more}."
    ))
}

async fn write(turn: &Turn, to: &str, text: &str, wakes: bool, shown: &mut Shown) -> ToolOutput {
    let me = &turn.conversation.id;
    let agents = &turn.services.agents;
    let found = agents.family().find(me, to);
    let Some(receiver) = found else {
        return nobody(turn, to);
    };
    shown.receivers.push(receiver.clone());
    {
        let mut family = agents.family();
        if family.below(me).contains(&receiver) {
            family.set_payer(&receiver, &turn.spending);
        }
    }
    let letter = Letter {
        from: me,
        to: &receiver,
        text,
        wakes,
        is_outcome: false,
    };
    match agents.deliver(letter).await {
        Ok(Delivery::Done) => ToolOutput::ok(format!("{to} has the message.")),
        Ok(Delivery::Quiet) => ToolOutput::ok(format!(
            "{to} has the message, but begins no new work: the person stopped the agents, and goes on when they say so."
        )),
        Ok(Delivery::Refused) => ToolOutput::failed(format!(
            "{to} did not get the message: the agents have sent too many since the person spoke last, so none is delivered any \
             more. Wait for no answer. Come to an end now, and say what was done and what is open."
        )),
        Ok(Delivery::WakesNobody) => ToolOutput::ok(format!(
            "{to} has the message, but it begins no new work: the agents have sent too many messages since the person spoke last. \
             Come to an end, and say what is open."
        )),
        Err(error) => ToolOutput::failed(format!("{to} could not be reached: {error}")),
    }
}

async fn wait(turn: &Turn, names: &[String], limit: Duration, shown: &mut Shown) -> ToolOutput {
    let me = &turn.conversation.id;
    let agents = &turn.services.agents;
    let targets = {
        let family = agents.family();
        let named: Result<Vec<_>, &String> = names.iter().map(|name| family.find(me, name).ok_or(name)).collect();
        let unknown = match named {
            Ok(named) if !named.is_empty() => Ok(named),
            // Its own; for one that has none, whoever else there is: they may write to it.
            Ok(_) => Ok(Some(family.below(me)).filter(|own| !own.is_empty()).unwrap_or_else(|| {
                let mut others = family.others(me);
                others.push(family.root(me));
                others
            })),
            Err(name) => Err(name.clone()),
        };
        drop(family);
        match unknown {
            Ok(targets) => targets,
            Err(name) => return nobody(turn, &name),
        }
    };
    shown.receivers.clone_from(&targets);
    // The item tells whom is waited for from its beginning on.
    turn.start_item(shown.item(turn, ItemStatus::InProgress));
    let why = until_news(turn, &targets, limit).await;
    let family = agents.family();
    let states = targets.iter().filter_map(|id| {
        let member = family.member(id)?;
        Some(json!({"name": member.identity.name, "status": word(member.status)}))
    });
    let told = json!({"agents": states.collect::<Vec<_>>(), "note": why.words()}).to_string();
    match why {
        News::Stopped => ToolOutput::not_done(told),
        _ => ToolOutput::ok(told),
    }
}

/// Why a wait ended.
#[derive(Clone, Copy)]
enum News {
    Stopped,
    Person,
    Mail,
    Ended,
    NobodyWorks,
    Circle,
    Time,
}

impl News {
    fn words(self) -> &'static str {
        match self {
            Self::Stopped => "The person stopped the turn.",
            Self::Person => "The person says something; it follows.",
            Self::Mail => "A message has come; it follows.",
            Self::Ended => "An agent has ended its work.",
            Self::NobodyWorks => {
                "None of them is at work, so there is nothing to wait for. What they said has been given to you already."
            }
            Self::Circle => {
                "All of them wait too, for one another or for you, so nothing would ever come. Write to one of them, or go on \
                 without."
            }
            Self::Time => "The time is over; they go on. Wait again, or do something else meanwhile.",
        }
    }
}

/// Notes that a thread waits, for as long as it does.
struct Waiting<'a>(&'a Turn);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.services.agents.family().waits_no_more(&self.0.conversation.id);
    }
}

async fn until_news(turn: &Turn, targets: &[ThreadId], limit: Duration) -> News {
    let (me, agents) = (&turn.conversation.id, &turn.services.agents);
    let over = tokio::time::sleep(limit);
    tokio::pin!(over);
    // Those that end from now on.
    let mut working: Vec<ThreadId> = Vec::new();
    for target in targets {
        let is_main = agents.family().member(target).is_none();
        if is_main || agents.family().is_at_work(target) {
            working.push(target.clone());
        }
    }
    if !turn.pending.has_news() && working.is_empty() {
        return News::NobodyWorks;
    }
    if !turn.pending.has_news() && !agents.family().wait(me, &working) {
        return News::Circle;
    }
    let _waiting = Waiting(turn);
    loop {
        // Listening before looking: what comes in between is heard.
        let mut changed = std::pin::pin!(agents.changed.notified());
        changed.as_mut().enable();
        if turn.pending.has_input() {
            return News::Person;
        }
        if turn.pending.has_news() {
            return News::Mail;
        }
        let has_ended = |id: &ThreadId| {
            let family = agents.family();
            let stopped = |status| !matches!(status, AgentStatus::Completed | AgentStatus::Errored);
            // One that has something to say is told by its message, which is on its way.
            !family.is_at_work(id)
                && family.member(id).is_none_or(|member| stopped(member.status))
                && family.root(me) != *id
        };
        if working.iter().any(has_ended) {
            return News::Ended;
        }
        tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return News::Stopped,
            () = turn.pending.news_came() => {}
            () = changed => {}
            () = &mut over => return News::Time,
        }
    }
}

fn list(turn: &Turn, shown: &mut Shown) -> ToolOutput {
    let me = &turn.conversation.id;
    let family = turn.services.agents.family();
    let others = family.others(me);
    let all: Vec<_> = others
        .iter()
        .filter_map(|id| {
            let member = family.member(id)?;
            Some(json!({
                "name": member.identity.name,
                "status": word(member.status),
                "works_for": family.known_as(&member.identity.parent_thread_id),
                "last_message": member.message.as_deref().map(|text| text.chars().take(300).collect::<String>()),
            }))
        })
        .collect();
    shown.receivers = others;
    ToolOutput::ok(json!({ "agents": all }).to_string())
}

async fn close(turn: &Turn, name: &str, shown: &mut Shown) -> ToolOutput {
    let me = &turn.conversation.id;
    let agents = &turn.services.agents;
    let found = agents.family().find(me, name);
    let Some(id) = found else {
        return nobody(turn, name);
    };
    if !agents.family().below(me).contains(&id) {
        return ToolOutput::failed(format!("{name} does not work for you, so you cannot close it."));
    }
    shown.receivers.push(id.clone());
    agents.close_below(&id).await;
    agents.close(&id).await;
    ToolOutput::ok(format!("{name} is closed."))
}
