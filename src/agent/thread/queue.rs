//! What the person wants to say after the running turn: one turn each, in an order that they can change until then.

use super::Start;
use crate::agent::{AgentError, now_ms};
use crate::ids::{QueuedId, TurnId};
use crate::protocol::item::UserInput;
use crate::protocol::queue::{QueuedInput, TurnQueue};

/// Inputs that wait in one thread. More are a mistake of a program.
const MOST_QUEUED: usize = 100;

/// What becomes of the queue.
pub enum Change {
    /// Nothing; it is only looked at.
    Look,
    Edit {
        id: QueuedId,
        input: Vec<UserInput>,
    },
    Remove(QueuedId),
    Clear,
    /// These come first.
    Reorder(Vec<QueuedId>),
    Resume,
}

#[derive(Default)]
pub(super) struct Queue {
    waiting: Vec<Waiting>,
    paused: bool,
}

struct Waiting {
    id: QueuedId,
    start: Start,
    queued_at_ms: i64,
}

impl Waiting {
    fn shown(&self) -> QueuedInput {
        QueuedInput {
            id: self.id.clone(),
            input: self.start.content.clone(),
            client_user_message_id: self.start.client_id.clone(),
            queued_at_ms: self.queued_at_ms,
            not_before_ms: self.start.not_before_ms,
        }
    }
}

impl Queue {
    /// Whether nothing waits but for a time.
    pub(super) fn holds_nobody_up(&self) -> bool {
        self.waiting.iter().all(|waiting| waiting.start.not_before_ms.is_some())
    }

    pub(super) fn shown(&self) -> TurnQueue {
        TurnQueue {
            inputs: self.waiting.iter().map(Waiting::shown).collect(),
            paused: self.paused,
        }
    }

    pub(super) fn add(&mut self, start: Start) -> Result<QueuedInput, AgentError> {
        if self.waiting.len() >= MOST_QUEUED {
            return Err(AgentError::QueueFull(MOST_QUEUED));
        }
        let waiting = Waiting {
            id: QueuedId::fresh(),
            start,
            queued_at_ms: now_ms(),
        };
        let shown = waiting.shown();
        self.waiting.push(waiting);
        Ok(shown)
    }

    /// The first that may begin by now. If the person wants to say themselves when it goes on, only what waited for a time.
    pub(super) fn take(&mut self, now_ms: i64) -> Option<Start> {
        let may = |waiting: &Waiting| match waiting.start.not_before_ms {
            Some(at) => at <= now_ms,
            None => !self.paused,
        };
        let at = self.waiting.iter().position(may)?;
        let taken = self.waiting.remove(at).start;
        self.paused &= !self.waiting.is_empty();
        Some(taken)
    }

    /// The times that inputs wait for.
    pub(super) fn times(&self) -> impl Iterator<Item = i64> {
        self.waiting.iter().filter_map(|waiting| waiting.start.not_before_ms)
    }

    /// The turns that failed and whose message waits here.
    pub(super) fn sent_again(&self) -> impl Iterator<Item = &TurnId> {
        self.waiting.iter().filter_map(|waiting| waiting.start.again.as_ref())
    }

    /// The message of a turn that failed, if it waits here.
    pub(super) fn again(&self, turn: &TurnId) -> Option<QueuedInput> {
        let of_turn = |waiting: &&Waiting| waiting.start.again.as_ref() == Some(turn);
        self.waiting.iter().find(of_turn).map(Waiting::shown)
    }

    /// What was taken and cannot begin goes to the front again, and nothing is taken until the person has looked at it.
    pub(super) fn put_back(&mut self, mut start: Start) {
        start.not_before_ms = None;
        let id = QueuedId::fresh();
        let queued_at_ms = now_ms();
        self.waiting.insert(
            0,
            Waiting {
                id,
                start,
                queued_at_ms,
            },
        );
        self.paused = true;
    }

    /// Nothing is taken until it is resumed. True if that is news.
    pub(super) fn pause(&mut self) -> bool {
        let news = !self.paused && !self.holds_nobody_up();
        self.paused |= news;
        news
    }

    /// True if something has changed. The input of an edit is checked by the caller.
    pub(super) fn change(&mut self, change: Change) -> Result<bool, AgentError> {
        let before = self.shown();
        match change {
            Change::Look => {}
            Change::Edit { id, input } => {
                let at = self.find(&id)?;
                self.waiting[at].start.content = input;
            }
            Change::Remove(id) => {
                let at = self.find(&id)?;
                self.waiting.remove(at);
            }
            Change::Clear => self.waiting.clear(),
            Change::Reorder(first) => {
                for (index, id) in first.iter().enumerate() {
                    if first[..index].contains(id) {
                        return Err(AgentError::QueuedTwice(id.clone()));
                    }
                    self.find(id)?;
                }
                let place = |waiting: &Waiting| first.iter().position(|id| *id == waiting.id).unwrap_or(first.len());
                // Stable: those that are not named keep their order.
                self.waiting.sort_by_key(place);
            }
            Change::Resume => self.paused = false,
        }
        self.paused &= !self.waiting.is_empty();
        Ok(self.shown() != before)
    }

    fn find(&self, id: &QueuedId) -> Result<usize, AgentError> {
        let at = self.waiting.iter().position(|waiting| waiting.id == *id);
        at.ok_or_else(|| AgentError::UnknownQueued(id.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What waits for a time lets others go first, is taken when it is due, also from a queue that is paused, and pauses
    /// nothing.
    #[test]
    fn what_waits_for_a_time_holds_nobody_up() {
        let at = |text: &str, at: i64| Start {
            not_before_ms: Some(at),
            ..start(text)
        };
        let mut queue = Queue::default();
        queue.add(at("later", 500)).expect("room");
        assert!(queue.holds_nobody_up() && !queue.pause() && queue.take(499).is_none());
        queue.add(start("now")).expect("room");
        assert!(!queue.holds_nobody_up() && queue.times().eq([500]));
        assert_eq!(queue.take(0).map(|start| start.content), Some(start("now").content));
        queue.add(start("paused")).expect("room");
        assert!(queue.pause() && queue.take(499).is_none());
        let late = queue.take(500).expect("it is due");
        assert_eq!(late.content, start("later").content);
        assert!(queue.take(i64::MAX).is_none(), "the rest is paused");
        // One that could not begin waits for the person, and is not tried again at once.
        queue.put_back(late);
        assert!(queue.take(i64::MAX).is_none() && queue.times().next().is_none());
    }

    fn start(text: &str) -> Start {
        Start {
            content: vec![UserInput::Text { text: text.to_owned() }],
            ..Start::default()
        }
    }

    fn words(queue: &Queue) -> Vec<String> {
        let texts = queue.shown().inputs.into_iter().flat_map(|queued| queued.input);
        texts
            .map(|piece| match piece {
                UserInput::Text { text } => text,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn filled(texts: &[&str]) -> (Queue, Vec<QueuedId>) {
        let mut queue = Queue::default();
        let ids = texts
            .iter()
            .map(|text| queue.add(start(text)).expect("room").id)
            .collect();
        (queue, ids)
    }

    #[test]
    fn its_order_by_table() {
        for (first, expected) in [
            (vec![], "abcd"),
            (vec![3], "dabc"),
            (vec![2, 0], "cabd"),
            (vec![3, 2, 1, 0], "dcba"),
            (vec![0, 1, 2, 3], "abcd"),
        ] {
            let (mut queue, ids) = filled(&["a", "b", "c", "d"]);
            let wanted: Vec<QueuedId> = first.iter().map(|at: &usize| ids[*at].clone()).collect();
            let changed = queue.change(Change::Reorder(wanted)).expect("known ids");
            assert_eq!(words(&queue).concat(), expected);
            assert_eq!(changed, expected != "abcd");
        }
        let (mut queue, ids) = filled(&["a", "b"]);
        for bad in [vec![QueuedId::fresh()], vec![ids[1].clone(), ids[1].clone()]] {
            assert!(queue.change(Change::Reorder(bad)).is_err());
        }
        assert_eq!(words(&queue).concat(), "ab", "a refused change changes nothing");
    }

    #[test]
    fn it_is_taken_from_the_front_unless_it_is_paused() {
        let (mut queue, ids) = filled(&["a", "b", "c"]);
        assert!(queue.pause() && !queue.pause());
        assert!(queue.take(0).is_none());
        let input = start("B").content;
        let edit = Change::Edit {
            id: ids[1].clone(),
            input,
        };
        assert!(queue.change(edit).expect("there"));
        assert!(queue.change(Change::Remove(ids[0].clone())).expect("there"));
        assert!(queue.change(Change::Remove(ids[0].clone())).is_err());
        assert!(queue.change(Change::Resume).expect("any time"));
        assert!(!queue.change(Change::Resume).expect("any time"));
        assert_eq!(queue.take(0).map(|start| start.content), Some(start("B").content));
        assert!(queue.pause());
        assert!(queue.change(Change::Clear).expect("any time"));
        assert_eq!(queue.shown(), TurnQueue::default(), "an empty queue is not paused");
        assert!(!queue.pause(), "nothing waits");
        for _ in 0..MOST_QUEUED {
            queue.add(start("x")).expect("room");
        }
        assert!(matches!(queue.add(start("x")), Err(AgentError::QueueFull(_))));
    }
}
