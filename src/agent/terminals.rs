//! The terminals of all threads: commands of the model that run on after the call that began them, under a number that
//! the model and the person share. They live until they end, are ended or pushed out by newer ones, or their thread ends.

mod answer;
mod entry;
mod keys;
mod start;
mod typing;

pub use answer::Answer;
pub use entry::Entry;
pub(super) use start::{Begun, Came, begin};
pub(super) use typing::write;

use crate::ids::ThreadId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Terminals of one thread.
const MOST: usize = 64;
/// Of those, the ones used last are never pushed out.
const KEPT: usize = 8;
/// From so many on the model is warned.
const MANY: usize = 60;

/// The numbers that terminals get.
const NUMBERS: std::ops::Range<u32> = 1000..100_000;

/// How long the terminals of a thread may take to end; their keepers do it in less.
const ENDING: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct Terminals {
    entries: Mutex<BTreeMap<u32, Arc<Entry>>>,
}

impl Terminals {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that run, of one thread or of all, oldest first.
    pub fn running(&self, thread: Option<&ThreadId>) -> Vec<Arc<Entry>> {
        let mut running: Vec<_> = self.of(thread).into_iter().filter(|entry| entry.runs()).collect();
        running.sort_by_key(|entry| entry.begun);
        running
    }

    /// The same with those that have ended and were not read to their end.
    fn of(&self, thread: Option<&ThreadId>) -> Vec<Arc<Entry>> {
        let entries = self.entries();
        let of_thread = entries
            .values()
            .filter(|entry| thread.is_none_or(|thread| *thread == entry.conversation.id));
        of_thread.cloned().collect()
    }

    pub fn get(&self, number: u32) -> Option<Arc<Entry>> {
        self.entries().get(&number).cloned()
    }

    /// Whether a command that may write runs on in a thread.
    pub fn may_write(&self, thread: &ThreadId) -> bool {
        self.running(Some(thread)).iter().any(|entry| entry.may_write)
    }

    /// A number that no terminal has.
    fn fresh_number(&self) -> u32 {
        let entries = self.entries();
        loop {
            // All but the highest bits of such an id are random.
            let random = uuid::Uuid::now_v7().as_u128() as u32;
            let number = NUMBERS.start + random % (NUMBERS.end - NUMBERS.start);
            if !entries.contains_key(&number) {
                return number;
            }
        }
    }

    fn put(&self, entry: Arc<Entry>) {
        self.entries().insert(entry.number, entry);
    }

    /// Forgets one; it ends with its last user.
    fn remove(&self, number: u32) {
        self.entries().remove(&number);
    }

    /// Pushes out what there is no room for beside one more. Waits until it has ended.
    async fn make_room(&self, thread: &ThreadId) {
        let of_thread = self.of(Some(thread));
        let known: Vec<_> = of_thread
            .iter()
            .map(|entry| (entry.number, entry.used(), !entry.runs()))
            .collect();
        let Some(number) = to_push_out(&known) else { return };
        if let Some(entry) = of_thread.into_iter().find(|entry| entry.number == number) {
            self.remove(number);
            if entry.runs() {
                entry.conversation.note(format!(
                    "Terminal {number} ({}) was ended to make room for a new one: there may be {MOST} at a time.",
                    entry.command
                ));
                let _in_time = tokio::time::timeout(ENDING, entry.end()).await;
            }
        }
    }

    /// Ends all of a thread, and returns when nothing is left of them.
    pub async fn end_thread(&self, thread: &ThreadId) {
        let of_thread = self.of(Some(thread));
        let ends: Vec<_> = of_thread.iter().map(|entry| entry.end()).collect();
        if tokio::time::timeout(ENDING, futures::future::join_all(ends))
            .await
            .is_err()
        {
            tracing::error!(%thread, "a terminal did not end");
        }
        for entry in of_thread {
            self.remove(entry.number);
        }
    }
}

/// Which terminal makes room for a new one, if one must: of those that were not among the last used, one that has ended
/// before one that runs, and the one that was used longest ago.
fn to_push_out(known: &[(u32, Instant, bool)]) -> Option<u32> {
    if known.len() < MOST {
        return None;
    }
    let mut by_use = known.to_vec();
    by_use.sort_by_key(|(_, used, _)| *used);
    by_use.truncate(known.len().saturating_sub(KEPT));
    let ended = by_use.iter().find(|(_, _, ended)| *ended);
    ended.or(by_use.first()).map(|(number, _, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_makes_room_by_table() {
        let start = Instant::now();
        let known = |count: u32, ended: &[u32]| -> Vec<_> {
            (0..count)
                .map(|number| {
                    (
                        number,
                        start + Duration::from_secs(u64::from(number)),
                        ended.contains(&number),
                    )
                })
                .collect()
        };
        for (count, ended, expected) in [
            (0, &[][..], None),
            (63, &[5], None),
            (64, &[], Some(0)),
            (64, &[40, 20], Some(20)),
            // The eight used last stay, ended or not.
            (64, &[56, 63], Some(0)),
            (64, &[55, 63], Some(55)),
        ] {
            let mut known = known(count, ended);
            known.reverse();
            assert_eq!(to_push_out(&known), expected, "{count} {ended:?}");
        }
    }
}
