//! Compaction: for the model, the conversation so far is replaced by what must not be lost of it and a summary of the rest,
//! so that it fits the context window again. The person's side of it, and the lines on the disk, stay as they are.
//!
//! [`measure`] says how much a conversation takes and when that is too much, [`fold`] what stays of it, [`fit`] makes even
//! the request for the summary fit. Here is when it happens, the request itself, and that nothing changes before the
//! summary is there.

mod fit;
mod fold;
pub(super) mod measure;
#[cfg(test)]
mod tests;

use super::consult::{self, Said, Unanswered};
use super::history::History;
use super::mode;
use super::provider::Provider;
use super::sampling::{self, Broken};
use super::small::{Budget, Fit};
use super::thread::whole;
use super::turn::{Ended, Turn};
use crate::ids::ItemId;
use crate::model::item::ResponseItem;
use crate::model::retry::Retry;
use crate::model::{ErrorKind, ModelError, ModelRequest, Task, catalogue};
use crate::protocol::item::{CompactionReason, ItemStatus, PlanStep, PlanStepStatus, ThreadItem};
use crate::protocol::model::TokenUsage;
use crate::protocol::settings::{Mode, ReasoningSummary};
use crate::protocol::turn::{TurnError, TurnErrorKind};
pub(super) use fold::is_summary;
use fold::{Fold, Kept};
use std::fmt::Write as _;
use std::sync::Arc;

/// The built-in request for a summary.
const PROMPT: &str = include_str!("compaction/prompt.md");
/// Bytes of a summary; one that never ends is given up.
const MOST_TEXT: usize = 1 << 20;
/// Requests for a summary that bring no word.
const MOST_EMPTY: usize = 2;
/// Tokens that the person's words, and again the summary, may take afterwards: a fifth of the limit, within these bounds.
const LEAST_KEPT: usize = 500;
const MOST_KEPT: usize = 20_000;
/// Beginning of the ids of compactions that nobody asked for.
const AUTOMATIC: &str = "auto-compact-";

/// Watches over one turn that its conversation fits the window.
#[derive(Default)]
pub(super) struct Room {
    /// It was compacted, and no round since has been below the limit.
    compacted: bool,
    /// The provider refused it as too long, and no request since was answered.
    refused: bool,
    /// It was compacted a moment ago, and nothing was asked since.
    just_now: bool,
}

impl Room {
    /// Before a request: compacts a conversation that has reached its limit. True if it did, so that time has passed.
    pub(super) async fn make(&mut self, turn: &Arc<Turn>) -> Result<bool, Broken> {
        // A turn apart is short, and whoever began it needs all of it.
        if std::mem::take(&mut self.just_now) || turn.is_apart() {
            return Ok(false);
        }
        let Some(limit) = measure::limit(&turn.config, turn.provider().context_window) else {
            return Ok(false);
        };
        let tokens = measure::in_window(turn);
        if tokens < limit {
            self.compacted = false;
            return Ok(false);
        }
        if self.compacted {
            return Err(Broken::Failed(no_room(tokens, limit)));
        }
        if !fold(turn).can_gain() {
            // The provider has the last word on what is too long.
            return Ok(false);
        }
        self.compacted = true;
        compact(turn, CompactionReason::Limit).await?;
        Ok(true)
    }

    /// The provider refuses the conversation as too long: compacts it, once. Else gives the refusal back.
    pub(super) async fn refused(&mut self, turn: &Arc<Turn>, error: ModelError) -> Result<(), Broken> {
        let twice = std::mem::replace(&mut self.refused, true);
        if twice || turn.is_apart() || !is_too_long(&error) || !fold(turn).can_gain() {
            return Err(Broken::Model(error));
        }
        self.compacted = true;
        self.just_now = true;
        compact(turn, CompactionReason::TooLong).await
    }

    /// A request was answered.
    pub(super) fn answered(&mut self) {
        self.refused = false;
    }
}

fn is_too_long(error: &ModelError) -> bool {
    matches!(error.kind, ErrorKind::ContextWindowExceeded { .. })
}

fn no_room(tokens: u32, limit: u32) -> TurnError {
    TurnError {
        message: format!(
            "The conversation takes {tokens} tokens and its limit is {limit}, although it was compacted a moment ago, so the turn \
             was ended. Start a new thread, or send shorter input; the limit is model_auto_compact_token_limit in config.toml, or \
             nine tenths of the model's context window."
        ),
        kind: TurnErrorKind::ContextWindowExceeded,
        http_status: None,
        actions: Vec::new(),
    }
}

fn fold(turn: &Turn) -> Fold {
    Fold::of(turn.conversation.data().history.items())
}

/// Compacts the conversation, as an item of the turn. It is changed in one step, at the end, or not at all.
async fn compact(turn: &Arc<Turn>, reason: CompactionReason) -> Result<(), Broken> {
    let id = item_id(turn, reason);
    let tokens_before = Some(measure::in_window(turn));
    let item = |status, tokens_after, summary, message| ThreadItem::ContextCompaction {
        id: id.clone(),
        reason,
        status,
        tokens_before,
        tokens_after,
        summary,
        message,
    };
    turn.start_item(item(ItemStatus::InProgress, None, None, None));
    match replace(turn).await {
        Ok((summary, tokens_after)) => {
            turn.publish(turn.conversation.numbers());
            turn.complete_item(item(ItemStatus::Completed, Some(tokens_after), Some(summary), None));
            Ok(())
        }
        // The end of the turn closes the item.
        Err(Broken::Stopped) => Err(Broken::Stopped),
        Err(broken) => {
            let message = match &broken {
                Broken::Model(error) => error.message(),
                Broken::Failed(error) => error.message.clone(),
                Broken::Stopped => String::new(),
            };
            turn.complete_item(item(ItemStatus::Failed, None, None, Some(message)));
            Err(broken)
        }
    }
}

/// `auto-compact-N` for one that nobody asked for, N counting up in the thread.
fn item_id(turn: &Turn, reason: CompactionReason) -> ItemId {
    if reason == CompactionReason::Requested {
        return ItemId::fresh();
    }
    let is_automatic = |item: &&ThreadItem| item.id().as_str().starts_with(AUTOMATIC);
    let earlier = {
        let data = turn.conversation.data();
        let items = data.turns.iter().flat_map(|turn| &turn.items);
        items.filter(is_automatic).count()
    };
    let mut number = earlier + 1;
    while turn.item(&format!("{AUTOMATIC}{number}").into()).is_some() {
        number += 1;
    }
    format!("{AUTOMATIC}{number}").into()
}

/// Has the summary made and puts it in the place of what it sums up. Gives it back, and what the conversation takes now.
async fn replace(turn: &Arc<Turn>) -> Result<(String, u32), Broken> {
    let (before, counts) = {
        let data = turn.conversation.data();
        (data.history.clone(), data.history.since_count().0.is_some())
    };
    let fold = Fold::of(before.items());
    let replaced = fold.replaced;
    let told = History::new(before.items()[..replaced].to_vec());
    let told = told.for_model();
    // A small window of the thread's is none of another model that sums up, and what it is not told is gone for good.
    let told = match turn.config.compact_by.is_thread() {
        true => Fit::of(turn, Budget::of(turn), &told).input(told),
        false => told,
    };
    let said = summary(turn, told).await?;
    let budget = budget(turn);
    let summary = fold::cut(said.text.trim(), budget * measure::BYTES_PER_TOKEN);
    let (project, surroundings) = context(turn);
    let history = fold.into_history(Kept {
        project,
        surroundings,
        summary: &summary,
        open: &still_open(turn),
        budget,
    });
    turn.conversation.replace(replaced, history, summary.clone());
    let tokens = measure::anew(turn, counts);
    {
        let mut data = turn.conversation.data();
        data.usage.last = TokenUsage {
            input_tokens: tokens,
            total_tokens: tokens,
            ..TokenUsage::default()
        };
        data.usage.model_context_window = turn.provider().context_window;
        if counts {
            data.history.count(tokens);
        }
    }
    Ok((summary, tokens))
}

/// The project's instructions as they stand, where they are known, and what the model was told last of where it is.
fn context(turn: &Turn) -> (Option<ResponseItem>, Vec<ResponseItem>) {
    let data = turn.conversation.data();
    let mode = Some(data.mode)
        .filter(|mode| *mode != Mode::default())
        .map(mode::message);
    let environment = data.environment.as_ref().map(|known| known.message());
    let project = data.instructions.message(&turn.settings.cwd);
    (project, environment.into_iter().chain(mode).collect())
}

/// Tokens for the person's words, and as many for the summary.
fn budget(turn: &Turn) -> usize {
    let window = turn.provider().context_window;
    let limit = measure::limit(&turn.config, window).or(window);
    limit.map_or(MOST_KEPT, |limit| (limit as usize / 5).clamp(LEAST_KEPT, MOST_KEPT))
}

/// Asks for the summary, as often as it is worth it, with less and less of the conversation if it is too long even for
/// that.
async fn summary(turn: &Arc<Turn>, whole: Arc<Vec<ResponseItem>>) -> Result<Said, Broken> {
    let prompt = ResponseItem::user(turn.config.compact_prompt.as_deref().unwrap_or(PROMPT).trim());
    let helper = helper(turn).await?;
    let mut told = match measure::room_for_items(turn, helper.context_window, &prompt) {
        Some(most) => fit::within(&whole, most),
        None => whole,
    };
    let mut retry = Retry::new(helper.client.provider());
    let mut empty = 0;
    loop {
        let refused = match attempt(turn, &helper, &told, &prompt).await? {
            Ok(said) => {
                turn.add_usage_of(&helper, said.usage);
                // Another provider's allowance is not the thread's.
                if helper.client.is_like(&turn.provider().client) {
                    note_limits(turn, &said);
                }
                if !said.text.trim().is_empty() {
                    return Ok(said);
                }
                empty += 1;
                if empty == MOST_EMPTY {
                    return Err(no_summary("it said nothing"));
                }
                continue;
            }
            Err(Unanswered::Model(error)) => error,
            Err(other) => return Err(no_summary(&other.to_string())),
        };
        if is_too_long(&refused) {
            match fit::shorter(&told) {
                Some(less) => told = Arc::new(less),
                None => return Err(refused.into()),
            }
        } else if let Some(broken) = sampling::again(turn, &mut retry, refused.into()).await {
            return Err(broken);
        }
    }
}

/// Who sums up.
async fn helper(turn: &Arc<Turn>) -> Result<Provider, Broken> {
    let found = tokio::select! {
        biased;
        () = turn.cancel.cancelled() => return Err(Broken::Stopped),
        found = Provider::helper(turn, &turn.config.compact_by) => found,
    };
    found.map_err(|problem| Broken::Failed(problem.into_error()))
}

/// One request for a summary. The outer error ends the turn.
async fn attempt(
    turn: &Arc<Turn>,
    helper: &Provider,
    told: &Arc<Vec<ResponseItem>>,
    prompt: &ResponseItem,
) -> Result<Result<Said, Unanswered>, Broken> {
    let own = turn.provider();
    let is_own = helper.client.is_like(&own.client);
    // Sealed thoughts mean nothing to another provider.
    let keeps = |item: &&ResponseItem| is_own || !matches!(item, ResponseItem::Reasoning { .. });
    let mut input: Vec<ResponseItem> = told.iter().filter(keeps).cloned().collect();
    input.push(prompt.clone());
    let request = ModelRequest {
        model: helper.model.clone(),
        parallel_tool_calls: catalogue::calls_side_by_side(&helper.model),
        effort: turn
            .settings
            .effort
            .clone()
            .filter(|_| is_own && helper.model == own.model),
        service_tier: turn.settings.service_tier.clone().filter(|_| is_own),
        input: Arc::new(input),
        // What it is told of its thinking helps nobody here.
        summary: ReasoningSummary::None,
        output_schema: None,
        task: Task::Compaction,
        ..sampling::request(turn)
    };
    sampling::before_request(turn).await?;
    let asked = consult::ask(&helper.client, &request, MOST_TEXT);
    tokio::select! {
        biased;
        () = turn.cancel.cancelled() => Err(Broken::Stopped),
        said = asked => Ok(said),
    }
}

fn note_limits(turn: &Turn, said: &Said) {
    if let Some(limits) = said.rate_limits.clone() {
        turn.conversation.note_limits(limits);
    }
}

fn no_summary(why: &str) -> Broken {
    Broken::Failed(TurnError {
        message: format!(
            "The model was asked to sum up the conversation, but {why}. The conversation is as it was: try again, choose another \
             model, or start a new thread."
        ),
        kind: TurnErrorKind::Incomplete,
        http_status: None,
        actions: Vec::new(),
    })
}

/// What must not depend on a summary: the plan as it stands, and the patches that wait for the person.
fn still_open(turn: &Turn) -> String {
    let mut text = String::new();
    let is_open = |steps: &[PlanStep]| steps.iter().any(|step| step.status != PlanStepStatus::Completed);
    if let Some((explanation, steps)) = plan(turn).filter(|(_, steps)| is_open(steps)) {
        text.push_str("The plan as it stands:\n");
        if let Some(explanation) = explanation {
            let _ = writeln!(text, "{explanation}");
        }
        for step in steps {
            let status = match step.status {
                PlanStepStatus::Pending => "to do",
                PlanStepStatus::InProgress => "under way",
                PlanStepStatus::Completed => "done",
            };
            let _ = writeln!(text, "- ({status}) {}", step.step);
        }
    }
    let waiting = turn.services.proposals.waiting(&turn.conversation.id);
    if !waiting.is_empty() {
        text.push_str("Patches of yours that wait for the person's decision; do not send them again:\n");
        for proposal in waiting {
            let files = proposal.files.iter().map(|file| file.path.display().to_string());
            let _ = writeln!(text, "- {}: {}", proposal.id, files.collect::<Vec<_>>().join(", "));
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// The plan that was shown last.
fn plan(turn: &Turn) -> Option<(Option<String>, Vec<PlanStep>)> {
    let shown = |item: &ThreadItem| match item {
        ThreadItem::Plan { explanation, steps, .. } => Some((explanation.clone(), steps.clone())),
        _ => None,
    };
    let here = turn.items();
    here.iter().rev().find_map(shown).or_else(|| {
        let data = turn.conversation.data();
        let earlier = data.turns.iter().rev();
        earlier.flat_map(|turn| turn.items.iter().rev()).find_map(shown)
    })
}

/// A compaction that the person asked for, as a turn of its own, from its first event to its last item. Closing the turn is
/// the caller's.
pub(super) async fn run(turn: Arc<Turn>) -> Ended {
    turn.begin(None);
    if fold(&turn).is_empty() {
        turn.complete_item(ThreadItem::ContextCompaction {
            id: ItemId::fresh(),
            reason: CompactionReason::Requested,
            status: ItemStatus::Completed,
            tokens_before: None,
            tokens_after: None,
            summary: None,
            message: Some("There is nothing to compact yet.".to_owned()),
        });
        return Ended::Completed;
    }
    if let Err(ended) = whole::find_provider(&turn, |_window| ()).await {
        return ended;
    }
    match compact(&turn, CompactionReason::Requested).await {
        Ok(()) => Ended::Completed,
        Err(broken) => broken.into_ended(),
    }
}
