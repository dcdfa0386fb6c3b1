//! The turn loop: rounds of one model request and the tool calls it brought, until an answer needs nothing more.

use super::aside;
use super::calls::Calls;
use super::compaction::Room;
use super::context::{self, Gathered};
use super::mail;
use super::pending::Input;
use super::prompt;
use super::small::{self, Budget, Fit};
use super::spending::Standing;
use super::turn::{Ended, Turn};
use super::window::Sent;
use crate::ids::ItemId;
use crate::model::catalogue;
use crate::model::item::{ContentPart, ReasoningPart, ResponseItem};
use crate::model::retry::{Retry, Wait};
use crate::model::watch::Watch;
use crate::model::{ErrorKind, ModelError, ModelEvent, ModelRequest, ModelStream, Task};
use crate::protocol::event::{EventKind, TurnDiff, TurnRetrying};
use crate::protocol::item::{ItemStatus, ThreadItem};
use crate::protocol::model::{TokenUsage, dollars};
use crate::protocol::turn::{TurnError, TurnErrorKind, TurnKind};
use crate::store::{RolloutItem, TurnContextRecord};
use std::collections::HashMap;
use std::sync::Arc;

/// Text of one answer, in bytes. A stream that never ends is stopped here.
const MOST_TEXT: usize = 8 << 20;

/// Why a request came to no end.
pub(super) enum Broken {
    Stopped,
    Model(ModelError),
    Failed(TurnError),
}

impl Broken {
    pub(super) fn into_ended(self) -> Ended {
        match self {
            Self::Stopped => Ended::Interrupted,
            Self::Model(error) => Ended::Failed(error.turn_error()),
            Self::Failed(error) => Ended::Failed(error),
        }
    }
}

impl From<ModelError> for Broken {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

/// Runs a turn whose input is in the history to its last answer. The caller closes it.
pub(super) async fn run(turn: &Arc<Turn>) -> Ended {
    if let Err(error) = super::servers::ready(turn).await {
        return Ended::Failed(error);
    }
    let mut room = Room::default();
    let most = turn.config.max_requests_per_turn;
    while turn.spending.ask(most) {
        if turn.cancel.is_cancelled() {
            return Ended::Interrupted;
        }
        if let Some(error) = over_budget(turn) {
            return Ended::Failed(error);
        }
        let done = match next_round(turn, &mut room).await {
            Err(Broken::Model(error)) => room.refused(turn, error).await.map(|()| false),
            done => done,
        };
        match done {
            Ok(true) if is_over(turn).await => return Ended::Completed,
            Ok(_) => {}
            Err(broken) => return broken.into_ended(),
        }
    }
    let times = if most == 1 { "time" } else { "times" };
    Ended::Failed(failure(
        TurnErrorKind::TooManyRounds,
        format!(
            "The model was asked {most} {times} (max_requests_per_turn), agents included, without coming to an answer, so the turn was \
             stopped. Look at what it did, and continue or ask again in smaller steps."
        ),
    ))
}

/// Whether the turn has cost as much as it may; who pays is warned before.
fn over_budget(turn: &Turn) -> Option<TurnError> {
    let most = turn.config.max_cost_per_turn?;
    let limit = dollars(most);
    match turn.spending.standing(most) {
        Standing::Below => None,
        Standing::Near(usd) => {
            let spent = dollars(usd);
            turn.warn(format!(
                "This turn has cost about {spent} of the {limit} that a turn may cost (max_cost_per_turn)."
            ));
            None
        }
        Standing::Unknown => {
            turn.warn(format!(
                "What this turn costs is not known, since there is no price for {}: max_cost_per_turn does not end it. Set the price in \
                 [models.\"{}\".price].",
                turn.provider().model,
                turn.provider().model
            ));
            None
        }
        Standing::Over(usd) => Some(failure(
            TurnErrorKind::CostLimitExceeded,
            format!(
                "The turn has cost about {}, and a turn may cost {limit} (max_cost_per_turn), so it was stopped. Look at what it did, and \
                 continue or raise the limit.",
                dollars(usd)
            ),
        )),
    }
}

/// A round with what there is to say before it. True if the model needs nothing more.
async fn next_round(turn: &Arc<Turn>, room: &mut Room) -> Result<bool, Broken> {
    listen(turn).await;
    if room.make(turn).await? {
        listen(turn).await;
    }
    turn.begin_round();
    let called = round(turn).await?;
    room.answered();
    Ok(!called)
}

/// Puts into the history what has come for the model meanwhile.
async fn listen(turn: &Arc<Turn>) {
    let said = turn.pending.take();
    let has_said = !said.is_empty();
    take_input(turn, said, false).await;
    if has_said {
        small::tell(turn);
    }
    if !turn.is_apart() {
        mail::read(turn, turn.pending.take_mail());
        super::restore::tell_model(turn);
        turn.conversation.say_notes();
    }
}

/// Whether nothing is left to answer. Waits for what the person runs beside the turn; they may say something meanwhile.
pub(super) async fn is_over(turn: &Turn) -> bool {
    tokio::select! {
        biased;
        () = turn.cancel.cancelled() => false,
        over = turn.pending.close_when_done() => over,
    }
}

fn failure(kind: TurnErrorKind, message: String) -> TurnError {
    TurnError {
        message,
        kind,
        http_status: None,
        actions: Vec::new(),
    }
}

/// Puts the person's input into the history and shows it, before the model is asked.
pub(super) async fn take_input(turn: &Arc<Turn>, inputs: Vec<Input>, first: bool) {
    say_input(turn, context::gather(turn, inputs).await, first);
}

/// The same with all that belongs to the input.
pub(super) fn say_input(turn: &Turn, inputs: Vec<Gathered>, first: bool) {
    for (index, Gathered { input, told }) in inputs.into_iter().enumerate() {
        turn.hear();
        // The first words that a sub-agent hears are those of the one that started it.
        if turn.conversation.agent.is_none() || !turn.conversation.data().turns.is_empty() {
            turn.services.agents.person_spoke(&turn.conversation.id);
        }
        turn.goes_along(&input);
        turn.metadata().extend(input.metadata);
        turn.say(super::person::sent_along(turn, &input.content));
        turn.say(told.messages);
        turn.say(told.message);
        {
            let mut data = turn.conversation.data();
            if data.preview.is_empty() {
                data.preview = prompt::words(&input.content);
            }
            // A turn apart tells it to nobody but itself.
            if let Some(last) = told.edits.filter(|_| !turn.is_apart()) {
                data.told_edits = last;
            }
        }
        // The input that began the turn has the turn's id, as the answer to its start showed it.
        let id = if first && index == 0 {
            turn.id.as_str().into()
        } else {
            ItemId::fresh()
        };
        turn.complete_item(ThreadItem::UserMessage {
            id,
            content: input.content,
            client_id: input.client_id,
            context: told.sent,
        });
        for warning in told.warnings {
            turn.warn(warning);
        }
    }
}

/// One round. True if the model must be asked again, since it called tools.
async fn round(turn: &Arc<Turn>) -> Result<bool, Broken> {
    let mut retry = Retry::new(turn.provider().client.provider());
    let mut partial = Vec::new();
    loop {
        let mut calls = Calls::new(turn.clone());
        let said_before = said(turn);
        let outcome = attempt(turn, &mut calls).await;
        let broken_off = turn.streamed();
        if outcome.is_ok() {
            turn.close_streamed();
        }
        // An attempt that brought nothing takes nothing back of what the person saw before.
        if !broken_off.is_empty() || said(turn) > said_before {
            partial = broken_off;
        }
        let called = !calls.is_empty();
        let fatal = finish_calls(turn, calls).await;
        let error = if turn.cancel.is_cancelled() {
            Broken::Stopped
        } else if let Some(message) = fatal {
            Broken::Failed(failure(TurnErrorKind::Internal, message))
        } else {
            match outcome {
                Ok(()) => return Ok(called),
                Err(error) => error,
            }
        };
        let Some(error) = again(turn, &mut retry, error).await else {
            continue;
        };
        keep_partial(turn, partial);
        return Err(error);
    }
}

/// How much has been said so far.
fn said(turn: &Turn) -> usize {
    turn.with_history(|history| history.items().len())
}

/// After a failure that is worth another try: says so and waits. Else gives the failure back.
pub(super) async fn again(turn: &Turn, retry: &mut Retry, broken: Broken) -> Option<Broken> {
    let Broken::Model(error) = broken else {
        return Some(broken);
    };
    note_limits(turn, &error);
    let Some(wait) = retry.next(&error) else {
        return Some(Broken::Model(error));
    };
    if wait_to_retry(turn, wait, &error).await {
        None
    } else {
        Some(Broken::Stopped)
    }
}

/// Tells the person that the request is sent again, and waits until then. What has come of an answer to it is withdrawn: it
/// is said again. False if the turn is stopped meanwhile.
pub(super) async fn wait_to_retry(turn: &Turn, wait: Wait, error: &ModelError) -> bool {
    turn.withdraw_streamed();
    let why = TurnRetrying {
        attempt: wait.attempt,
        limit: wait.limit,
        delay_ms: u64::try_from(wait.delay.as_millis()).unwrap_or(u64::MAX),
        message: error.message_of_retry(),
    };
    turn.wait_to_retry(why).await
}

/// What was said of a message that no attempt brings to its end is part of the conversation all the same: the person sees
/// what the model knows of it, also where it was withdrawn for an attempt that brought nothing.
fn keep_partial(turn: &Turn, texts: Vec<String>) {
    let is_shown = turn.streamed() == texts;
    turn.close_streamed();
    if !is_shown && !turn.is_apart() {
        for text in &texts {
            turn.complete_item(ThreadItem::AgentMessage {
                id: ItemId::fresh(),
                text: text.clone(),
                partial: true,
            });
        }
    }
    turn.say(texts.into_iter().map(ResponseItem::assistant));
}

/// Waits for all calls, records their outputs in call order, shows the diff. Returns the message of a fatal one.
async fn finish_calls(turn: &Arc<Turn>, calls: Calls) -> Option<String> {
    if calls.is_empty() {
        return None;
    }
    let (outputs, fatal) = calls.finish().await;
    turn.say(outputs);
    show_diff(turn).await;
    fatal
}

/// Writes down what the turn has changed so far, and shows it if it is news.
pub(super) async fn show_diff(turn: &Arc<Turn>) {
    if super::undo::is_untouched(turn) {
        return;
    }
    let comparing = turn.clone();
    // A diff that panics is missed by nobody as much as the rest of the turn would be.
    let compared = aside::begin(move || {
        // First written down, then shown: what the person sees can be taken back.
        super::undo::save(&comparing);
        comparing.changed_diff()
    });
    if let Ok(Some(diff)) = compared.await {
        turn.publish(EventKind::TurnDiff(TurnDiff { diff }));
    }
}

/// What a failure says of the account's allowance and of the window shows in the numbers, so that the person sees why.
fn note_limits(turn: &Turn, error: &ModelError) {
    match &error.kind {
        ErrorKind::ContextWindowExceeded { .. } if !turn.is_apart() => {
            turn.conversation.fill_window(turn.provider().context_window);
        }
        ErrorKind::UsageLimit {
            rate_limits: Some(limits),
            ..
        } => turn.conversation.note_limits((**limits).clone()),
        _ => return,
    }
    turn.publish(turn.conversation.numbers());
}

/// The form of the answer. A reviewer that could not call a tool any more goes without: it is told the form in words, too.
fn schema(turn: &Turn) -> Option<serde_json::Value> {
    let asked = !turn.is_apart() || turn.provider().client.takes_tools_beside_a_schema();
    turn.output_schema.clone().filter(|_| asked)
}

/// The request that the conversation as it stands makes.
pub(super) fn request(turn: &Turn) -> ModelRequest {
    // On its own: the lock is not to be held while anything else is made.
    let input = turn.with_history(|history| history.for_model());
    let fit = Fit::of(turn, Budget::of(turn), &input);
    let request = ModelRequest {
        model: turn.provider().model.clone(),
        instructions: fit.instructions_of(turn),
        input: fit.input(input),
        tools: turn.tool_specs(),
        parallel_tool_calls: catalogue::calls_side_by_side(&turn.provider().model),
        text_calls: turn.config.model_settings(&turn.provider().model).text_calls,
        effort: turn.settings.effort.clone(),
        summary: turn.settings.summary,
        verbosity: turn.config.verbosity.clone(),
        output_schema: schema(turn),
        max_output_tokens: turn.config.max_output_tokens,
        metadata: turn.metadata().clone(),
        cache_key: turn.cache_key(),
        turn_id: turn.id.to_string(),
        task: match turn.kind() {
            TurnKind::Review => Task::Review,
            _ => Task::Turn,
        },
        service_tier: turn.settings.service_tier.clone(),
        store: turn.config.stores_answers,
        watch: watch(turn),
    };
    if !turn.is_apart() {
        let sent = Sent::of(turn, &request, fit);
        turn.conversation.data().sent = Some(sent);
    }
    request
}

/// Who watches a turn's requests.
pub(super) fn watch(turn: &Turn) -> Option<Arc<dyn Watch>> {
    turn.conversation.witness.get()?.watch(&turn.id)
}

/// Records under which settings the model is asked, and waits until all that was said is on the disk: it outlives the
/// server from here on, whatever the model does with it.
pub(super) async fn before_request(turn: &Turn) -> Result<(), Broken> {
    if !turn.is_apart() {
        turn.conversation.record(RolloutItem::TurnContext(TurnContextRecord {
            model: turn.provider().model.clone(),
            output_schema: turn.output_schema.clone(),
            metadata: turn.metadata().clone(),
            ..TurnContextRecord::new(&turn.id, &turn.settings)
        }));
    }
    tokio::select! {
        biased;
        () = turn.cancel.cancelled() => Err(Broken::Stopped),
        () = turn.conversation.recorded() => Ok(()),
    }
}

/// One request and its stream. Tools start as their calls complete; what is finished is in the history even if the
/// stream breaks off later.
async fn attempt(turn: &Arc<Turn>, calls: &mut Calls) -> Result<(), Broken> {
    before_request(turn).await?;
    let mut stream = {
        // Gone once it is sent, so that the history is not copied for what comes next.
        let request = request(turn);
        tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return Err(Broken::Stopped),
            stream = turn.provider().client.stream(&request) => stream?,
        }
    };
    let mut answer = Answer {
        turn,
        calls,
        text_size: 0,
        has_limits: false,
        ids: HashMap::new(),
        thoughts: Vec::new(),
    };
    let usage = answer.hear(&mut stream).await?;
    turn.add_usage(usage);
    // One event a response, with all its numbers.
    if usage.is_some() || answer.has_limits {
        turn.publish(turn.conversation.numbers());
    }
    Ok(())
}

/// The answer as it streams in.
struct Answer<'a> {
    turn: &'a Arc<Turn>,
    calls: &'a mut Calls,
    text_size: usize,
    /// The provider said something of the account's allowance.
    has_limits: bool,
    /// Under which ids the provider's items are known here.
    ids: HashMap<String, String>,
    /// Thoughts that are done, and what they led to is not. Where that never comes they are thought again, and no model is to
    /// find them twice, nor without what follows.
    thoughts: Vec<ResponseItem>,
}

impl Answer<'_> {
    /// All of it, to its end. Gives the tokens that it took, where the provider counts them.
    async fn hear(&mut self, stream: &mut ModelStream) -> Result<Option<TokenUsage>, Broken> {
        let turn = self.turn;
        loop {
            let event = tokio::select! {
                biased;
                () = turn.cancel.cancelled() => return Err(Broken::Stopped),
                event = stream.next() => event,
            };
            match event {
                Some(Ok(ModelEvent::Completed { usage, .. })) => {
                    turn.say(self.thoughts.drain(..));
                    return Ok(usage);
                }
                Some(Ok(event)) => self.take(event).await?,
                Some(Err(error)) => return Err(error.into()),
                None => {
                    let words = "The model's answer ended without an end; ask again.";
                    return Err(Broken::Failed(failure(TurnErrorKind::Internal, words.to_owned())));
                }
            }
        }
    }

    async fn take(&mut self, event: ModelEvent) -> Result<(), Broken> {
        match event {
            ModelEvent::ItemAdded(mut item) => {
                self.rename(&mut item);
                if let Some(item) = self.shown(&item, false) {
                    self.turn.start_item(item);
                }
            }
            ModelEvent::RateLimits(limits) => {
                self.has_limits = true;
                self.turn.conversation.note_limits(limits);
            }
            ModelEvent::TextDelta { item_id, delta } => {
                self.count(&delta)?;
                if self.turn.is_apart() {
                    return Ok(());
                }
                let id = ItemId::from(self.own_id(item_id));
                if !self.turn.is_open(&id) {
                    self.turn.start_item(ThreadItem::AgentMessage {
                        id: id.clone(),
                        text: String::new(),
                        partial: false,
                    });
                }
                self.turn.message_delta(&id, &delta);
            }
            ModelEvent::ReasoningSummaryDelta { item_id, index, delta } => {
                self.reasoning(item_id, index, &delta, false)?
            }
            ModelEvent::ReasoningDelta { item_id, index, delta } if self.turn.config.show_raw_agent_reasoning => {
                self.reasoning(item_id, index, &delta, true)?;
            }
            ModelEvent::ItemDone(mut item) => {
                self.rename(&mut item);
                self.done(item).await;
            }
            _ => {}
        }
        Ok(())
    }

    fn reasoning(&mut self, item_id: String, index: u32, delta: &str, raw: bool) -> Result<(), Broken> {
        self.count(delta)?;
        let id = ItemId::from(self.own_id(item_id));
        if !self.turn.is_open(&id) {
            self.turn.start_item(ThreadItem::Reasoning {
                id: id.clone(),
                summary: Vec::new(),
                content: Vec::new(),
            });
        }
        self.turn.reasoning_delta(&id, index, delta, raw);
        Ok(())
    }

    /// The id under which an item of the provider's is known here: its own, unless something else had that before. A request
    /// that is sent again is answered with the same ids by some.
    fn own_id(&mut self, wanted: String) -> String {
        let own = self.ids.entry(wanted).or_insert_with_key(|wanted| {
            let is_taken = self.turn.has_used(&ItemId::from(wanted.clone()));
            match is_taken {
                true => ItemId::fresh().to_string(),
                false => wanted.clone(),
            }
        });
        own.clone()
    }

    fn rename(&mut self, item: &mut ResponseItem) {
        if let ResponseItem::Message { id: Some(id), .. }
        | ResponseItem::Reasoning { id: Some(id), .. }
        | ResponseItem::WebSearchCall { id: Some(id), .. } = item
        {
            *id = self.own_id(std::mem::take(id));
        }
    }

    /// How an item of the model is shown in this turn. What the model writes apart from the conversation is not.
    fn shown(&self, item: &ResponseItem, is_done: bool) -> Option<ThreadItem> {
        let shown = shown(item, self.turn.config.show_raw_agent_reasoning, is_done)?;
        let is_message = matches!(shown, ThreadItem::AgentMessage { .. });
        (!is_message || !self.turn.is_apart()).then_some(shown)
    }

    fn count(&mut self, delta: &str) -> Result<(), Broken> {
        self.text_size += delta.len();
        if self.text_size > MOST_TEXT {
            return Err(Broken::Failed(failure(
                TurnErrorKind::Incomplete,
                format!(
                    "The model's answer passed {} MiB without an end, so the turn was stopped. Ask again; if it happens \
                     again, try another model.",
                    MOST_TEXT >> 20
                ),
            )));
        }
        Ok(())
    }

    /// An item is complete: into the history, and either shown or started as a call.
    async fn done(&mut self, item: ResponseItem) {
        match &item {
            ResponseItem::FunctionCall { .. }
            | ResponseItem::CustomToolCall { .. }
            | ResponseItem::LocalShellCall { .. } => {
                self.turn.say(self.thoughts.drain(..));
                self.calls.start(item).await;
            }
            ResponseItem::FunctionCallOutput { .. }
            | ResponseItem::CustomToolCallOutput { .. }
            | ResponseItem::LocalShellCallOutput { .. }
            | ResponseItem::Other => tracing::debug!("an item that no model should send was ignored"),
            _ => {
                if let Some(shown) = self.shown(&item, true) {
                    self.turn.complete_item(shown);
                }
                let is_thought = matches!(item, ResponseItem::Reasoning { .. });
                self.thoughts.push(item);
                if !is_thought {
                    self.turn.say(self.thoughts.drain(..));
                }
            }
        }
    }
}

/// Name of the tool under which searches of the provider's are shown.
pub(super) const WEB_SEARCH: &str = "web_search";

/// A search that the provider does by itself.
fn search(id: Option<&str>, status: Option<&str>, action: Option<&serde_json::Value>, is_done: bool) -> ThreadItem {
    let field = |name: &str| {
        action
            .and_then(|action| action.get(name))
            .and_then(|value| value.as_str())
    };
    let title = match (field("query"), field("url"), field("pattern")) {
        (_, Some(url), Some(pattern)) => format!("Find {pattern} in {url}"),
        (_, Some(url), None) => format!("Open {url}"),
        (Some(query), None, _) => format!("Search the web for {query}"),
        (None, None, _) => "Search the web".to_owned(),
    };
    ThreadItem::ToolCall {
        id: item_id(id),
        tool: WEB_SEARCH.to_owned(),
        title,
        arguments: action.cloned().unwrap_or_default(),
        status: match (is_done, status) {
            (false, _) => ItemStatus::InProgress,
            (true, Some("failed" | "incomplete")) => ItemStatus::Failed,
            (true, _) => ItemStatus::Completed,
        },
        output: None,
        duration_ms: None,
    }
}

/// How an item of the model is shown that begins or is done; calls and unknown kinds are not shown here.
fn shown(item: &ResponseItem, raw_reasoning: bool, is_done: bool) -> Option<ThreadItem> {
    match item {
        ResponseItem::WebSearchCall { id, status, action } => {
            Some(search(id.as_deref(), status.as_deref(), action.as_ref(), is_done))
        }
        ResponseItem::Message { id, role, content } if role == "assistant" => {
            let texts = content.iter().filter_map(|part| match part {
                ContentPart::OutputText { text } | ContentPart::InputText { text } => Some(text.as_str()),
                ContentPart::Refusal { refusal } => Some(refusal.as_str()),
                _ => None,
            });
            Some(ThreadItem::AgentMessage {
                id: item_id(id.as_deref()),
                text: texts.collect(),
                partial: false,
            })
        }
        ResponseItem::Reasoning {
            id, summary, content, ..
        } => {
            let texts = |parts: &[ReasoningPart]| parts.iter().filter_map(reasoning_text).collect();
            let content = content
                .as_deref()
                .filter(|_| raw_reasoning)
                .map(texts)
                .unwrap_or_default();
            Some(ThreadItem::Reasoning {
                id: item_id(id.as_deref()),
                summary: texts(summary),
                content,
            })
        }
        _ => None,
    }
}

fn reasoning_text(part: &ReasoningPart) -> Option<String> {
    match part {
        ReasoningPart::SummaryText { text } | ReasoningPart::ReasoningText { text } | ReasoningPart::Text { text } => {
            Some(text.clone())
        }
        ReasoningPart::Other => None,
    }
}

fn item_id(id: Option<&str>) -> ItemId {
    id.filter(|id| !id.is_empty()).map_or_else(ItemId::fresh, ItemId::from)
}
