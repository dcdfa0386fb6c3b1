//! What people and programs do to the thread of a schedule, at moments that the dice decide.

use super::dice::Dice;
use super::world::{Fate, World};
use crate::agent::mail::Mail;
use crate::agent::pending::Input;
use crate::agent::prompt;
use crate::agent::thread::{Added, QueueChange, Start, Task, WhenBusy};
use crate::agent::turn::Ended;
use crate::ids::TurnId;
use crate::protocol::approval::{ApprovalDecision, ApprovalResponse};
use crate::protocol::item::UserInput;
use crate::protocol::settings::SettingsOverride;
use crate::protocol::turn::TurnKind;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Plays the whole schedule: some acts at once, some a moment later, until all is said.
pub(super) async fn act(world: &Arc<World>, dice: &mut Dice) {
    let mut acts = JoinSet::new();
    for _ in 0..2 + dice.below(12) {
        match dice.below(4) {
            0 => {}
            1 => {
                for _ in 0..dice.below(30) {
                    tokio::task::yield_now().await;
                }
            }
            2 => tokio::time::sleep(Duration::from_millis(dice.below(60))).await,
            _ => tokio::time::sleep(Duration::from_millis(dice.below(1500))).await,
        }
        let (world, own) = (world.clone(), Dice::new(dice.seed()));
        acts.spawn(one(world, own));
        if dice.chance(60) {
            // Not at the same time as the next.
            while acts.join_next().await.is_some() {}
        }
    }
    while acts.join_next().await.is_some() {}
}

fn text(words: &str) -> Vec<UserInput> {
    vec![UserInput::Text { text: words.to_owned() }]
}

fn start(words: &str) -> Start {
    Start {
        content: text(words),
        ..Start::default()
    }
}

async fn one(world: Arc<World>, mut dice: Dice) {
    for _ in 0..dice.below(4) {
        tokio::task::yield_now().await;
    }
    match dice.below(30) {
        0..=6 => say(&world, &mut dice).await,
        7..=9 => steer(&world).await,
        10..=13 => queue(&world).await,
        14..=17 => change_queue(&world, &mut dice).await,
        18..=21 => stop(&world, &mut dice).await,
        22..=24 => answer(&world, &mut dice),
        25..=26 => deliver(&world, &mut dice).await,
        27 => task(&world, &mut dice).await,
        28 => {
            let model = Some(format!("model-{}", dice.below(3)));
            let change = SettingsOverride {
                model,
                ..SettingsOverride::default()
            };
            world.note("settings");
            let _refused = world.thread.update_settings(change).await;
        }
        // Somebody else looks for a while.
        _ => {
            let mut events = world.thread.subscribe(Some(dice.below(20)));
            let _some = tokio::time::timeout(Duration::from_millis(dice.below(200)), events.next()).await;
        }
    }
}

async fn say(world: &World, dice: &mut Dice) {
    let words = world.fresh_words();
    world.note(format!("say {words}"));
    match world.thread.start_turn(start(&words)).await {
        Ok(started) => {
            // The answer is on its way to the client; the turn waits for it.
            if dice.chance(30) {
                tokio::time::sleep(Duration::from_millis(dice.below(20))).await;
            }
            world.note(format!("    in {} steered {}", started.turn.id, started.steered));
            world.fate(&words, Fate::Taken);
        }
        Err(error) => {
            world.note(format!("    {}", error.kind()));
            world.fate(&words, Fate::Refused);
        }
    }
}

async fn steer(world: &World) {
    let words = world.fresh_words();
    let expected = world.thread.running().unwrap_or_else(|| TurnId::from("none"));
    world.note(format!("steer {words}"));
    let input = Input {
        content: text(&words),
        ..Input::default()
    };
    let order = world.thread.in_order().await;
    let fate = match world.thread.steer(order, expected, input).await {
        Ok(_) => Fate::Taken,
        Err(_) => Fate::Refused,
    };
    world.fate(&words, fate);
}

async fn queue(world: &World) {
    let words = world.fresh_words();
    world.note(format!("queue {words}"));
    let fate = match world.thread.queue(start(&words)).await {
        Ok(Added::Waits(queued)) => {
            world.record().queued.push((queued.id, words.clone()));
            Fate::Taken
        }
        Ok(Added::Begins(_)) => Fate::Taken,
        Err(_) => Fate::Refused,
    };
    world.fate(&words, fate);
}

async fn change_queue(world: &World, dice: &mut Dice) {
    let what = dice.below(5);
    let one = {
        let queued = &mut world.record().queued;
        let at = dice.below(queued.len() as u64) as usize;
        // Two who change one input at the same moment cannot know whose words it has then.
        match what {
            _ if queued.is_empty() => None,
            0 | 1 => Some(queued.remove(at)),
            _ => Some(queued[at].clone()),
        }
    };
    match (what, one) {
        (0, Some((id, old))) => {
            world.note(format!("remove {old}"));
            if world.thread.change_queue(QueueChange::Remove(id)).await.is_ok() {
                world.fate(&old, Fate::Removed);
            }
        }
        (1, Some((id, old))) => {
            let new = world.fresh_words();
            world.note(format!("edit {old} to {new}"));
            let edit = QueueChange::Edit {
                id: id.clone(),
                input: text(&new),
            };
            if world.thread.change_queue(edit).await.is_ok() {
                world.fate(&old, Fate::Removed);
                world.fate(&new, Fate::Taken);
                world.record().queued.push((id, new));
            } else {
                world.fate(&new, Fate::Refused);
            }
        }
        (2, Some((id, _))) => {
            world.note("reorder");
            let _refused = world.thread.change_queue(QueueChange::Reorder(vec![id])).await;
        }
        (3, _) => {
            let seen = world.thread.change_queue(QueueChange::Look).await;
            world.note(format!("look {}", seen.is_ok()));
        }
        _ => {
            world.note("resume");
            let _closed = world.thread.change_queue(QueueChange::Resume).await;
        }
    }
}

async fn stop(world: &World, dice: &mut Dice) {
    let running = world.thread.running();
    let named = running.clone().filter(|_| dice.chance(40));
    world.note(format!("stop {}", named.is_some()));
    let now = world.now();
    let stopped = world.thread.interrupt(named).await;
    world.note(format!("    {}", stopped.as_ref().is_ok_and(|stopped| *stopped)));
    // It may have ended, and another begun, before the thread took the message.
    if let (Ok(true), Some(turn)) = (stopped, running) {
        world.record().stopped.push((turn, now));
    }
}

/// Answers a question, if one is open.
pub(super) fn answer(world: &World, dice: &mut Dice) {
    let approvals = &world.agent.services().approvals;
    let open = approvals.pending(Some(world.thread.id()));
    let Some(question) = dice.pick(&open) else { return };
    let decision = match dice.below(10) {
        0..=3 => ApprovalDecision::Accept,
        4..=5 => ApprovalDecision::AcceptForSession,
        6..=8 => ApprovalDecision::Decline,
        _ => ApprovalDecision::Cancel,
    };
    world.note(format!("answer {decision:?}"));
    let response = ApprovalResponse {
        decision,
        ..ApprovalResponse::decline()
    };
    if !approvals.answer(question.id(), response) {
        world.record().faults.push("an open question took no answer".to_owned());
    }
}

async fn deliver(world: &World, dice: &mut Dice) {
    let words = world.fresh_words();
    let wakes = dice.chance(50);
    world.note(format!("deliver {words} wakes {wakes}"));
    let mail = Mail::new(prompt::message("user", words.clone()));
    if world.thread.deliver(mail, wakes).await.is_ok() {
        world.record().mail.push(words);
    }
}

/// Something like a review, or like an undo.
async fn task(world: &World, dice: &mut Dice) {
    let ms = dice.below(300);
    let (kind, when_busy) = match dice.below(3) {
        0 => (TurnKind::Undo, WhenBusy::Refuse),
        1 => (TurnKind::Compaction, WhenBusy::Replace),
        _ => (TurnKind::Review, WhenBusy::Replace),
    };
    let deaf = dice.chance(20);
    world.note(format!("task {kind:?} {when_busy:?} {ms} ms, deaf {deaf}"));
    let work = move |turn: Arc<crate::agent::turn::Turn>| async move {
        turn.begin(None);
        let ms = if deaf { ms * 50 } else { ms };
        tokio::select! {
            biased;
            () = turn.cancel.cancelled(), if !deaf => Ended::Interrupted,
            () = tokio::time::sleep(Duration::from_millis(ms)) => Ended::Completed,
        }
    };
    let started = world.thread.start_task(Task::new(kind, when_busy, work)).await;
    world.note(format!("    {}", started.is_ok()));
}
