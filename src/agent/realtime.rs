//! A thread's realtime conversation: what is said there becomes events of the thread and, handed over, turns; what is
//! written in the thread is mirrored into it.
//!
//! There is one at a time. It ends with its thread, before anything that the thread's commands use.

mod context;

use super::AgentError;
use super::conversation::Conversation;
use super::provider::{Provider, Unresolved};
use super::services::Services;
use super::stream::Subscription;
use super::thread::{Reach, Start, ThreadHandle};
use crate::config::Config;
use crate::ids::{RealtimeId, TurnId};
use crate::model::ModelClient;
use crate::protocol::event::{
    self, ErrorEvent, EventKind, RealtimeAudioDelta, RealtimeClosed, RealtimeHandoff, RealtimeSpeechStarted,
    RealtimeTranscriptDelta, RealtimeTranscriptDone,
};
use crate::protocol::item::UserInput;
use crate::protocol::realtime::{RealtimeEnd, RealtimeStartParams, RealtimeStartResult, RealtimeVersion};
use crate::protocol::settings::ThreadSettings;
use crate::protocol::turn::{Turn, TurnError, TurnErrorKind, TurnStatus};
use crate::realtime::{self, Heard, Line, NotSaid, Opening, Queue, RealtimeError, Said, Sender};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// How long an end may take before it is cut short.
const ENDING: Duration = Duration::from_secs(3);
/// Tokens of what came of a task that a voice is told.
const RESULT_TOKENS: usize = 1000;
/// Tasks that a voice may have handed over and not got back.
const MOST_TASKS: usize = 16;
/// Ids of tasks that are known, so that one that comes in several events is one; those events follow each other closely.
const MOST_KNOWN: usize = 256;

/// The realtime conversation of a thread, if it has one.
#[derive(Default)]
pub struct Voice {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    /// The thread is over.
    released: bool,
}

struct Running {
    id: RealtimeId,
    version: RealtimeVersion,
    sender: Sender,
    ending: watch::Sender<Option<RealtimeEnd>>,
    task: JoinHandle<()>,
}

/// A realtime conversation that begins when this is dropped, so that the answer can go out first.
pub struct Begun {
    pub result: RealtimeStartResult,
    _held: oneshot::Sender<()>,
}

impl Running {
    fn stop(&self, reason: RealtimeEnd) {
        self.ending.send_modify(|ending| {
            ending.get_or_insert(reason);
        });
    }

    /// Returns when nothing of it is left.
    async fn ended(mut self) {
        if tokio::time::timeout(ENDING, &mut self.task).await.is_err() {
            tracing::error!(id = %self.id, "a realtime conversation did not end in time");
            self.task.abort();
        }
    }
}

impl Voice {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something in it.
    pub fn say(&self, said: Said) -> Result<(), AgentError> {
        let refused = match &self.state().running {
            None => NotSaid::Over,
            Some(running) => match running.sender.say(said) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            },
        };
        Err(match refused {
            NotSaid::Over => AgentError::NoRealtime,
            NotSaid::Busy => AgentError::RealtimeBusy,
        })
    }

    /// Tells it what the person has written in the thread.
    pub(super) fn mirror(&self, content: &[UserInput]) {
        let state = self.state();
        let Some(running) = &state.running else { return };
        let texts: Vec<&str> = content
            .iter()
            .filter_map(|piece| match piece {
                UserInput::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        if let Some(text) = realtime::mirrored(running.version, &texts.join("\n"))
            && let Err(error) = running.sender.say(Said::Mirrored(text))
        {
            tracing::debug!(?error, "written input was not mirrored");
        }
    }

    /// Begins to end it. False if there is none.
    pub fn close(&self) -> bool {
        let state = self.state();
        state
            .running
            .as_ref()
            .inspect(|running| running.stop(RealtimeEnd::Requested))
            .is_some()
    }

    /// The thread is over: it ends, and no other begins.
    pub(super) async fn end_thread(&self) {
        let running = {
            let mut state = self.state();
            state.released = true;
            state.running.take()
        };
        if let Some(running) = running {
            running.stop(RealtimeEnd::ThreadClosed);
            running.ended().await;
        }
    }

    /// It is over. Told while nobody can begin another one, which would seem to have begun before.
    fn forget(&self, id: &RealtimeId, tell: impl FnOnce()) {
        let mut state = self.state();
        state.running.take_if(|running| running.id == *id);
        tell();
    }
}

/// All that a conversation is started with.
struct Work {
    id: RealtimeId,
    thread: Reach,
    conversation: Arc<Conversation>,
    services: Arc<Services>,
    config: Arc<Config>,
    settings: ThreadSettings,
    opening: Opening,
    sender: Sender,
    ending: watch::Receiver<Option<RealtimeEnd>>,
}

/// Starts a realtime conversation in a thread, in the place of one that runs.
///
/// # Errors
/// What was asked for is not there, or the thread is over. That it cannot be started is an event.
pub fn start(thread: &ThreadHandle, params: RealtimeStartParams) -> Result<Begun, AgentError> {
    let (conversation, config) = (thread.conversation().clone(), thread.config().clone());
    let settings = thread.settings();
    let opening = opening(&conversation, &config, &settings, params)?;
    let result = RealtimeStartResult {
        realtime_id: RealtimeId::fresh(),
        version: opening.version,
        model: opening.model.clone(),
        voice: opening.voice.clone(),
    };
    let (held, released) = oneshot::channel::<()>();
    let (ending, ended) = watch::channel(None);
    let (sender, queue) = Sender::new();
    let work = Work {
        id: result.realtime_id.clone(),
        thread: thread.reach(),
        conversation: conversation.clone(),
        services: thread.services().clone(),
        config,
        settings,
        opening,
        sender: sender.clone(),
        ending: ended,
    };
    let mut state = conversation.voice.state();
    if state.released {
        return Err(AgentError::ThreadDied(conversation.id.clone()));
    }
    let before = state.running.take();
    let task = tokio::spawn(async move {
        let _answered = released.await;
        if let Some(before) = before {
            before.stop(RealtimeEnd::Replaced);
            before.ended().await;
        }
        work.run(queue).await;
    });
    state.running = Some(Running {
        id: result.realtime_id.clone(),
        version: result.version,
        sender,
        ending,
        task,
    });
    drop(state);
    Ok(Begun { result, _held: held })
}

/// What the request says, else the configuration, else what is usual.
fn opening(
    conversation: &Conversation,
    config: &Config,
    settings: &ThreadSettings,
    params: RealtimeStartParams,
) -> Result<Opening, AgentError> {
    let configured = &config.realtime;
    let version = params.version.unwrap_or(configured.version);
    let named = params.voice.or_else(|| configured.voice.clone());
    let voice = named.unwrap_or_else(|| realtime::usual(version).to_owned());
    if !realtime::is_known(version, &voice) {
        return Err(AgentError::UnknownVoice {
            voice,
            known: realtime::voices(version).join(", "),
        });
    }
    let written = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let instructions = written(params.instructions).or_else(|| configured.instructions.clone());
    let with_context = params
        .include_startup_context
        .or(configured.startup_context)
        .unwrap_or(true);
    Ok(Opening {
        version,
        model: written(params.model)
            .or_else(|| configured.model.clone())
            .unwrap_or_else(|| realtime::USUAL_MODEL.to_owned()),
        voice,
        modality: params.output_modality,
        instructions: context::instructions(conversation, settings, instructions, with_context),
    })
}

/// What became of a task that was handed over: the call, its words, and the turn that took it.
type Taken = (String, String, Result<super::thread::Started, AgentError>);

impl Work {
    async fn run(mut self, queue: Queue) {
        // Subscribed before anything is handed over, so that no end of a turn is missed.
        let mut turns = self.conversation.stream.subscribe_to_whole();
        let mut ending = self.ending.clone();
        let opened = tokio::select! {
            biased;
            _ = ended(&mut ending) => return self.conversation.voice.forget(&self.id, || ()),
            opened = self.open(queue) => opened,
        };
        let (line, session_id) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.not_started(&error),
        };
        self.publish(EventKind::RealtimeStarted(event::RealtimeStarted {
            realtime_id: self.id.clone(),
            version: self.opening.version,
            session_id,
        }));
        let (reason, message) = self.listen(line, &mut turns).await;
        self.publish_last(EventKind::RealtimeClosed(RealtimeClosed {
            realtime_id: self.id.clone(),
            reason,
            message,
        }));
    }

    fn publish_last(&self, kind: EventKind) {
        self.conversation.voice.forget(&self.id, || self.publish(kind));
    }

    fn publish(&self, kind: EventKind) {
        // Not on the record: speech is no part of the written conversation.
        self.conversation.stream.publish(None, kind);
    }

    fn not_started(&self, error: &RealtimeError) {
        tracing::info!(%error, "a realtime conversation could not be started");
        let http_status = match error {
            RealtimeError::Endpoint(error) => error.turn_error().http_status,
            _ => None,
        };
        let error = TurnError {
            message: error.to_string(),
            kind: TurnErrorKind::Other,
            http_status,
            actions: Vec::new(),
        };
        self.publish_last(EventKind::Error(ErrorEvent {
            error,
            realtime_id: Some(self.id.clone()),
        }));
    }

    async fn open(&self, queue: Queue) -> Result<(Line, Option<String>), RealtimeError> {
        let client = self.client().await?;
        let limit = self.config.realtime.start_limit.unwrap_or(realtime::START_LIMIT);
        Line::open(&client, &self.opening, queue, limit).await
    }

    /// The client of the thread's provider, or of the endpoint that is configured beside it.
    async fn client(&self) -> Result<ModelClient, RealtimeError> {
        // Named, so that the provider is not asked which models it has.
        let settings = ThreadSettings {
            model: self.opening.model.clone(),
            ..self.settings.clone()
        };
        let provider = match Provider::resolve(&self.config, &settings, &self.services).await {
            Ok(provider) => provider,
            Err(Unresolved::Final(error)) => return Err(RealtimeError::Refused(error.message)),
            Err(Unresolved::Provider(error, _)) => return Err(RealtimeError::Endpoint(error)),
        };
        Ok(match &self.config.realtime.base_url {
            Some(base_url) => provider.client.at(base_url),
            None => provider.client,
        })
    }

    /// Until it is over; why.
    async fn listen(&mut self, mut line: Line, turns: &mut Subscription) -> (RealtimeEnd, Option<String>) {
        let stream = self.conversation.stream.clone();
        let mut handing: FuturesUnordered<BoxFuture<'static, Taken>> = FuturesUnordered::new();
        let mut tasks = Tasks::default();
        let mut crowded = false;
        loop {
            tokio::select! {
                biased;
                reason = ended(&mut self.ending) => {
                    self.sender.end();
                    line.finish().await;
                    return (reason, None);
                }
                Some(taken) = handing.next() => self.taken(taken, &mut tasks),
                Some(event) = turns.next() => {
                    if let EventKind::TurnCompleted(completed) = event.kind {
                        for id in tasks.of_turn.remove(&completed.turn.id).unwrap_or_default() {
                            self.hand_back(id, &completed.turn, completed.last_agent_message.as_deref());
                        }
                    }
                }
                () = stream.room_for_sound(), if crowded => crowded = false,
                heard = line.hear(), if !crowded => match heard {
                    Ok(heard) => {
                        for one in heard {
                            handing.extend(self.heard(one, &mut tasks));
                        }
                        crowded = true;
                    }
                    Err(error) => {
                        let reason = match error {
                            RealtimeError::Ended(_) => RealtimeEnd::Endpoint,
                            _ => RealtimeEnd::Failed,
                        };
                        return (reason, Some(error.to_string()));
                    }
                },
            }
        }
    }

    /// Tells of what was heard; a task for the agent is under way then.
    fn heard(&self, heard: Heard, tasks: &mut Tasks) -> Option<BoxFuture<'static, Taken>> {
        let realtime_id = self.id.clone();
        let kind = match heard {
            Heard::Ready(_) | Heard::AnswerBegins | Heard::AnswerEnds | Heard::AnswersAlready => return None,
            Heard::Audio { item, audio } => EventKind::RealtimeAudioDelta(RealtimeAudioDelta {
                realtime_id,
                item_id: item,
                audio,
            }),
            Heard::TranscriptDelta { item, role, delta } => {
                EventKind::RealtimeTranscriptDelta(RealtimeTranscriptDelta {
                    realtime_id,
                    item_id: item,
                    role,
                    delta,
                })
            }
            Heard::TranscriptDone { item, role, text } => EventKind::RealtimeTranscriptDone(RealtimeTranscriptDone {
                realtime_id,
                item_id: item,
                role,
                text,
            }),
            Heard::SpeechStarted(item_id) => {
                EventKind::RealtimeSpeechStarted(RealtimeSpeechStarted { realtime_id, item_id })
            }
            Heard::Error(message) | Heard::NoAnswer(message) => {
                self.trouble(format!("The voice endpoint reports an error: {message}"))
            }
            Heard::Garbage(what) => self.trouble(format!(
                "The voice endpoint sent what cannot be understood: {what}. It was left out."
            )),
            // The same task comes in several events.
            Heard::Handoff { id, .. } if !tasks.learn(&id) => return None,
            Heard::Handoff { id, text } => {
                if tasks.open() >= MOST_TASKS {
                    let busy = "The agent has too many tasks already. Wait until some are done.";
                    self.say_back(id, busy.to_owned());
                    return None;
                }
                tasks.under_way += 1;
                let thread = self.thread.clone();
                return Some(Box::pin(async move {
                    let taken = hand_over(&thread, &text).await;
                    (id, text, taken)
                }));
            }
        };
        self.publish(kind);
        None
    }

    fn trouble(&self, message: String) -> EventKind {
        EventKind::RealtimeError(event::RealtimeError {
            realtime_id: self.id.clone(),
            message,
        })
    }

    fn taken(&self, (id, text, taken): Taken, tasks: &mut Tasks) {
        tasks.under_way -= 1;
        let started = match taken {
            Ok(started) => started,
            Err(error) => {
                self.publish(self.trouble(format!("What was said could not be given to the agent: {error}")));
                return self.say_back(id, format!("The agent could not take the task: {error}"));
            }
        };
        let turn = started.turn.id.clone();
        self.publish(EventKind::RealtimeHandoff(RealtimeHandoff {
            realtime_id: self.id.clone(),
            input_turn_id: turn.clone(),
            text,
        }));
        // One that was steered may be over already.
        let over = self
            .conversation
            .data()
            .turns
            .iter()
            .find(|over| over.id == turn)
            .cloned();
        match over {
            Some(over) => self.hand_back(id, &over, None),
            None => tasks.of_turn.entry(turn).or_default().push(id),
        }
    }

    fn hand_back(&self, id: String, turn: &Turn, answer: Option<&str>) {
        let text = match (turn.status, answer, &turn.error) {
            (TurnStatus::Failed, _, Some(error)) => format!("The agent failed: {}", error.message),
            (TurnStatus::Interrupted, ..) => "The person stopped the agent before it was done.".to_owned(),
            (_, Some(answer), _) if !answer.trim().is_empty() => answer.to_owned(),
            _ => "The agent is done, and said nothing more.".to_owned(),
        };
        self.say_back(id, text);
    }

    fn say_back(&self, id: String, text: String) {
        let text = realtime::cut(&text, RESULT_TOKENS);
        if let Err(error) = self.sender.say(Said::HandedBack { id, text }) {
            tracing::debug!(?error, "a voice was not told what came of its task");
        }
    }
}

/// What the voice has handed to the agent.
#[derive(Default)]
struct Tasks {
    /// The latest, the oldest first.
    known: VecDeque<String>,
    /// Those that no turn has taken yet.
    under_way: usize,
    of_turn: BTreeMap<TurnId, Vec<String>>,
}

impl Tasks {
    /// False if it is known.
    fn learn(&mut self, id: &str) -> bool {
        if self.known.iter().any(|known| known == id) {
            return false;
        }
        if self.known.len() == MOST_KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(id.to_owned());
        true
    }

    fn open(&self) -> usize {
        self.under_way + self.of_turn.values().map(Vec::len).sum::<usize>()
    }
}

/// Gives the agent what was said, as text and nothing else: words of a model run no commands of the person's.
async fn hand_over(thread: &Reach, text: &str) -> Result<super::thread::Started, AgentError> {
    let content = vec![UserInput::Text { text: text.to_owned() }];
    let start = Start {
        content,
        by_agent: true,
        spoken: true,
        ..Start::default()
    };
    thread.thread()?.start_turn(start).await
}

/// When somebody wants it to end; why.
async fn ended(ending: &mut watch::Receiver<Option<RealtimeEnd>>) -> RealtimeEnd {
    match ending.wait_for(Option::is_some).await {
        Ok(reason) => reason.unwrap_or(RealtimeEnd::Requested),
        // Whoever could say so is gone with the thread.
        Err(_) => RealtimeEnd::ThreadClosed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_known_for_a_while() {
        let mut tasks = Tasks::default();
        for number in 0..MOST_KNOWN + 10 {
            let id = number.to_string();
            assert!(tasks.learn(&id) && !tasks.learn(&id));
        }
        assert_eq!(tasks.known.len(), MOST_KNOWN);
        assert!(tasks.learn("0"), "it is forgotten");
    }
}
