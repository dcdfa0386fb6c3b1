//! Whoever has a server carry out a call: hears of its progress, and is asked what the server wants to know.

use crate::protocol::mcp::{McpElicitationAction, McpElicitationResponse, McpRequestId, McpWish};
use futures::future::BoxFuture;
use rmcp::model::{ProgressToken, RequestId};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Progress that came before its call was known; more is dropped.
const EARLY: usize = 32;

/// Questions of one call; what is asked beyond them is declined, unseen.
const MOST_QUESTIONS: usize = 10;

/// How long it may take to take a question back.
const WITHDRAWAL: Duration = Duration::from_millis(500);

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// A question of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub request_id: McpRequestId,
    pub message: String,
    pub wish: McpWish,
    pub meta: Option<Value>,
}

pub trait Caller: Send + Sync + 'static {
    fn progress(&self, progress: Progress);

    /// Puts a question to the person. Dropping the answer withdraws it.
    fn ask(&self, question: Question) -> BoxFuture<'static, McpElicitationResponse>;
}

/// The calls that a server carries out.
#[derive(Default)]
pub(super) struct Callers {
    state: Mutex<State>,
    /// Held while the person is asked for the server: one question at a time.
    open: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    last: u64,
    entries: Vec<Entry>,
    early: VecDeque<(ProgressToken, Progress)>,
}

struct Entry {
    number: u64,
    caller: Arc<dyn Caller>,
    /// How the request is known, once it is sent.
    sent: Option<(RequestId, ProgressToken)>,
    /// Questions of this call that wait for the person.
    asking: tokio::sync::watch::Sender<usize>,
    /// All that were asked for it.
    questions: usize,
    /// The call is over; what is asked for it is pointless.
    over: CancellationToken,
}

/// A call that is registered. Dropping it ends that.
pub(super) struct Registered {
    callers: Arc<Callers>,
    number: u64,
    /// How many questions of the call wait for the person.
    pub(super) asking: tokio::sync::watch::Receiver<usize>,
    over: CancellationToken,
}

impl Callers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn register(self: &Arc<Self>, caller: Arc<dyn Caller>) -> Registered {
        let mut state = self.lock();
        state.last += 1;
        let number = state.last;
        let over = CancellationToken::new();
        let (asking, watched) = tokio::sync::watch::channel(0);
        state.entries.push(Entry {
            number,
            caller,
            sent: None,
            asking,
            questions: 0,
            over: over.clone(),
        });
        Registered {
            callers: self.clone(),
            number,
            asking: watched,
            over,
        }
    }

    pub(super) fn progress(&self, token: ProgressToken, progress: Progress) {
        let mut state = self.lock();
        let known = state
            .entries
            .iter()
            .find(|entry| entry.sent.as_ref().is_some_and(|sent| sent.1 == token));
        match known {
            Some(entry) => entry.caller.progress(progress),
            None => {
                if state.early.len() == EARLY {
                    state.early.pop_front();
                }
                state.early.push_back((token, progress));
            }
        }
    }

    /// Asks whoever made the call with this id. Where the server does not say for which it asks, it may be any of those that
    /// it carries out: the latest is asked, and the question is pointless when all of them are over.
    pub(super) async fn ask(&self, of: Option<&RequestId>, question: Question) -> Option<McpElicitationResponse> {
        let (caller, asked, overs) = {
            let mut state = self.lock();
            let named = |entry: &&Entry| entry.sent.as_ref().is_some_and(|sent| Some(&sent.0) == of);
            let candidates: Vec<&Entry> = match state.entries.iter().find(named) {
                Some(entry) => vec![entry],
                None => state
                    .entries
                    .iter()
                    .filter(|entry| !entry.over.is_cancelled())
                    .collect(),
            };
            let caller = candidates.last()?.caller.clone();
            let asked: Vec<Asked> = candidates.iter().map(|entry| Asked::new(&entry.asking)).collect();
            let overs: Vec<_> = candidates.iter().map(|entry| entry.over.clone()).collect();
            let number = candidates.last()?.number;
            let entry = state.entries.iter_mut().find(|entry| entry.number == number)?;
            entry.questions += 1;
            if entry.questions > MOST_QUESTIONS {
                tracing::warn!("an MCP server asks more in one call than a person is asked; the question was declined");
                return Some(McpElicitationResponse::decline());
            }
            (caller, asked, overs)
        };
        let all_over = async {
            for over in &overs {
                over.cancelled().await;
            }
        };
        let answer = tokio::select! {
            biased;
            () = all_over => McpElicitationResponse::cancel(),
            answer = async {
                let _alone = self.open.lock().await;
                caller.ask(question).await
            } => answer,
        };
        drop(asked);
        Some(settled(answer))
    }
}

/// A question that waits.
struct Asked(tokio::sync::watch::Sender<usize>);

impl Asked {
    fn new(asking: &tokio::sync::watch::Sender<usize>) -> Self {
        asking.send_modify(|count| *count += 1);
        Self(asking.clone())
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The answer as it goes to the server: a yes always has content, a no never.
fn settled(mut answer: McpElicitationResponse) -> McpElicitationResponse {
    answer.content = match answer.action {
        McpElicitationAction::Accept => Some(answer.content.unwrap_or_else(|| Value::Object(Default::default()))),
        McpElicitationAction::Decline | McpElicitationAction::Cancel => None,
    };
    answer
}

impl McpElicitationResponse {
    /// What no answer counts as.
    pub fn cancel() -> Self {
        Self {
            action: McpElicitationAction::Cancel,
            content: None,
            meta: None,
        }
    }

    pub fn decline() -> Self {
        Self {
            action: McpElicitationAction::Decline,
            ..Self::cancel()
        }
    }
}

impl Registered {
    /// The request is sent.
    pub(super) fn sent(&self, id: RequestId, token: ProgressToken) {
        let mut state = self.callers.lock();
        let early = std::mem::take(&mut state.early);
        let (own, rest): (VecDeque<_>, VecDeque<_>) = early.into_iter().partition(|(of, _)| *of == token);
        state.early = rest;
        if let Some(entry) = state.entries.iter_mut().find(|entry| entry.number == self.number) {
            entry.sent = Some((id, token));
            for (_, progress) in own {
                entry.caller.progress(progress);
            }
        }
    }
}

impl Registered {
    /// The call is over: takes back what is asked for it and for no other.
    pub(super) async fn withdraw(&mut self) {
        self.over.cancel();
        if self
            .callers
            .lock()
            .entries
            .iter()
            .any(|entry| !entry.over.is_cancelled())
        {
            return;
        }
        let _in_time = tokio::time::timeout(WITHDRAWAL, self.asking.wait_for(|count| *count == 0)).await;
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.over.cancel();
        self.callers.lock().entries.retain(|entry| entry.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Shows S-288.
    #[test]
    fn a_yes_has_content_and_a_no_has_none() {
        let answer = |action, content| McpElicitationResponse {
            action,
            content,
            meta: Some(json!({"m": 1})),
        };
        for (action, given, expected) in [
            (
                McpElicitationAction::Accept,
                Some(json!({"a": 1})),
                Some(json!({"a": 1})),
            ),
            (McpElicitationAction::Accept, None, Some(json!({}))),
            (McpElicitationAction::Decline, Some(json!({"a": 1})), None),
            (McpElicitationAction::Cancel, Some(json!({"a": 1})), None),
        ] {
            assert_eq!(settled(answer(action, given)), answer(action, expected));
        }
    }

    /// Notes how many questions are open, and lets each be answered by the test.
    #[derive(Default)]
    struct Person {
        open: Arc<Mutex<Vec<tokio::sync::oneshot::Sender<()>>>>,
        most: Arc<Mutex<usize>>,
    }

    impl Caller for Person {
        fn progress(&self, _: Progress) {}

        fn ask(&self, _: Question) -> BoxFuture<'static, McpElicitationResponse> {
            let (sender, answered) = tokio::sync::oneshot::channel();
            let mut open = self.open.lock().expect("whole");
            open.retain(|sender| !sender.is_closed());
            open.push(sender);
            let mut most = self.most.lock().expect("whole");
            *most = open.len().max(*most);
            Box::pin(async move {
                let _answered = answered.await;
                McpElicitationResponse {
                    action: McpElicitationAction::Accept,
                    ..McpElicitationResponse::cancel()
                }
            })
        }
    }

    #[tokio::test]
    async fn one_question_is_open_at_a_time_and_what_is_too_many_is_declined() {
        let callers = Arc::new(Callers::default());
        let person = Arc::new(Person::default());
        let (open, most) = (person.open.clone(), person.most.clone());
        let _call = callers.register(person);
        let question = |number: i64| Question {
            request_id: McpRequestId::Number(number),
            message: "?".to_owned(),
            wish: McpWish::Form {
                requested_schema: json!({}),
            },
            meta: None,
        };
        let asked: Vec<_> = (0..300)
            .map(|number| {
                let (callers, question) = (callers.clone(), question(number));
                tokio::spawn(async move { callers.ask(None, question).await.expect("an answer").action })
            })
            .collect();
        for answered in 0..MOST_QUESTIONS {
            let sender = loop {
                if let Some(sender) = open.lock().expect("whole").pop() {
                    break sender;
                }
                tokio::task::yield_now().await;
            };
            assert!(open.lock().expect("whole").is_empty(), "{answered}: another is open");
            sender.send(()).expect("it waits");
        }
        let mut yes = 0;
        for task in asked {
            yes += usize::from(task.await.expect("no panic") == McpElicitationAction::Accept);
        }
        assert_eq!((yes, *most.lock().expect("whole")), (MOST_QUESTIONS, 1));
    }
}
