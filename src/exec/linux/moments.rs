//! When a command was making entries, or bringing some to another place, as far as its keeper was asked. What came to be in such a
//! moment may have come by another name than the one that was looked at: then the keeper never heard of it. What came at
//! any other time did not come from the command.

use super::sys::{self, Question};
use libc::c_long;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// As times of files go: seconds and nanoseconds.
type Time = (i64, i64);

/// Moments that lie so near to each other are one.
const APART: i64 = 100_000_000;
/// Times of files can be a little later than what the clock for them says.
const INEXACT: i64 = 20_000_000;
/// In the place of an end that nobody saw.
const NEVER: Time = (i64::MAX, 0);

/// The most moments that are remembered one by one, and the most calls that are looked after.
const MOST: usize = 1_000;
/// Between two looks at calls that go on, at least; looking takes little of the time in between.
const EVERY: Duration = Duration::from_millis(50);
const REST: u32 = 20;

/// What a call does to names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Makes,
    /// Something that may have been made long before.
    Brings,
}

/// From when to when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Spans(Vec<(Time, Time)>);

/// The moments by what was done in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Moments {
    made: Spans,
    brought: Spans,
}

/// A call that was let through.
#[derive(Debug)]
struct Call {
    thread: libc::pid_t,
    number: c_long,
    doing: Doing,
    since: Time,
}

/// The calls that may go on still, and the moments of those that have ended.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<Call>,
    moments: Moments,
    due: Option<Instant>,
}

impl Spans {
    fn add(&mut self, mut from: Time, mut to: Time) {
        self.0.retain(|(other_from, other_to)| {
            let touches = *other_from <= later(to, APART) && from <= later(*other_to, APART);
            if touches {
                from = from.min(*other_from);
                to = to.max(*other_to);
            }
            !touches
        });
        self.0.push((from, to));
        if self.0.len() > MOST {
            let all = self.0.drain(..);
            let all = all.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
            self.0.extend(all);
        }
    }

    fn meet(&self, from: Time, to: Time) -> bool {
        let meets = |(other_from, other_to): &(Time, Time)| *other_from <= to && from <= *other_to;
        self.0.iter().any(meets)
    }

    fn written(&self) -> Vec<u8> {
        let numbers = self.0.iter().flat_map(|(from, to)| [from.0, from.1, to.0, to.1]);
        numbers.flat_map(i64::to_le_bytes).collect()
    }

    fn of(bytes: &[u8]) -> Self {
        let numbers = bytes.chunks_exact(8).filter_map(|number| number.try_into().ok());
        let numbers: Vec<i64> = numbers.map(i64::from_le_bytes).collect();
        let spans = numbers.chunks_exact(4);
        Self(spans.map(|span| ((span[0], span[1]), (span[2], span[3]))).collect())
    }
}

impl Moments {
    fn add(&mut self, call: &Call, until: Time) {
        let spans = match call.doing {
            Doing::Makes => &mut self.made,
            Doing::Brings => &mut self.brought,
        };
        spans.add(call.since, later(until, INEXACT));
    }

    /// Whether an entry came, or may have come, in one of them. `since` is when the command began.
    pub(super) fn are_of(&self, entry: &fs::Metadata, since: Time) -> bool {
        let changed = (entry.ctime(), entry.ctime_nsec());
        let born = entry.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let born = born.map(|at| (at.as_secs() as i64, i64::from(at.subsec_nanos())));
        self.fit(born, changed, since)
    }

    fn fit(&self, born: Option<Time>, changed: Time, since: Time) -> bool {
        // What was brought is not born then, but changed, and may have been once more.
        let (first, last) = born.map_or((since, changed), |born| (born, born));
        self.made.meet(first, last) || self.brought.meet(first, changed)
    }

    /// As they are told between processes, each with its length.
    pub(super) fn written(&self) -> [Vec<u8>; 2] {
        [self.made.written(), self.brought.written()]
    }

    /// What was written so.
    pub(super) fn of([made, brought]: [&[u8]; 2]) -> Self {
        Self {
            made: Spans::of(made),
            brought: Spans::of(brought),
        }
    }
}

impl Calls {
    /// A thread that asks has ended what it asked about before.
    pub(super) fn hear_of(&mut self, thread: libc::pid_t) {
        self.end(|call| call.thread == thread);
    }

    /// One is let through.
    pub(super) fn begin(&mut self, question: &Question, doing: Doing) {
        let call = Call {
            thread: question.thread,
            number: question.call,
            doing,
            since: sys::file_time(),
        };
        if self.open.len() >= MOST {
            self.moments.add(&call, NEVER);
            return;
        }
        self.open.push(call);
        if self.due.is_none() {
            self.due = Some(Instant::now() + EVERY);
        }
    }

    /// When it is to be looked which of them have ended.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Looks, if that is due.
    pub(super) fn look(&mut self) {
        let begun = Instant::now();
        if self.due.is_none_or(|due| due > begun) {
            return;
        }
        self.end(Call::has_ended);
        let rest = EVERY.max(begun.elapsed() * REST);
        self.due = (!self.open.is_empty()).then(|| Instant::now() + rest);
    }

    /// All that is known, once nothing of the command lives.
    pub(super) fn moments(&mut self) -> Moments {
        self.end(|_| true);
        std::mem::take(&mut self.moments)
    }

    fn end(&mut self, has_ended: impl Fn(&Call) -> bool) {
        if self.open.is_empty() {
            return;
        }
        let (now, moments) = (sys::file_time(), &mut self.moments);
        self.open.retain(|call| {
            let ended = has_ended(call);
            if ended {
                moments.add(call, now);
            }
            !ended
        });
    }
}

impl Call {
    /// Whether that can be seen: its thread is gone, or waits elsewhere. One that runs, or could, is on its way still.
    fn has_ended(&self) -> bool {
        let thread = format!("/proc/{}", self.thread);
        let Ok(waits) = fs::read_to_string(format!("{thread}/syscall")) else {
            return fs::symlink_metadata(thread).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        };
        let number = waits.split(' ').next().and_then(|number| number.parse().ok());
        number.is_some_and(|number: c_long| number != self.number)
    }
}

fn later(time: Time, nanoseconds: i64) -> Time {
    const SECOND: i64 = 1_000_000_000;
    let all = time.1 + nanoseconds;
    (time.0.saturating_add(all / SECOND), all % SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(thread: libc::pid_t) -> Question {
        Question {
            id: 0,
            thread,
            call: libc::SYS_openat,
            arguments: [0; 6],
        }
    }

    fn own_thread() -> libc::pid_t {
        let name = fs::read_link("/proc/thread-self").expect("a thread");
        let number = name.file_name().and_then(|name| name.to_str()?.parse().ok());
        number.expect("its number")
    }

    #[test]
    fn what_came_in_a_moment_by_table() {
        let mut moments = Moments::default();
        let call = |doing, since| Call {
            thread: 1,
            number: 0,
            doing,
            since,
        };
        moments.add(&call(Doing::Makes, (100, 0)), (100, 5_000_000));
        moments.add(&call(Doing::Brings, (200, 0)), (200, 0));
        let told = moments.written();
        let moments = Moments::of([&told[0], &told[1]]);
        for (what, born, changed, expected) in [
            ("made then", Some((100, 1)), (100, 1), true),
            ("made then and changed later", Some((100, 1)), (900, 0), true),
            ("made before and changed then", Some((99, 0)), (100, 1), false),
            ("made a little later", Some((100, 24_000_000)), (100, 24_000_000), true),
            ("made after", Some((101, 0)), (101, 0), false),
            ("brought then", Some((50, 0)), (200, 1), true),
            ("brought then and changed later", Some((150, 0)), (900, 0), true),
            ("brought after", Some((201, 0)), (201, 0), false),
            ("made at a time that nobody knows", None, (900, 0), true),
            ("the same, before", None, (99, 0), false),
        ] {
            assert_eq!(moments.fit(born, changed, (10, 0)), expected, "{what}");
        }
    }

    #[test]
    fn moments_are_few() {
        let mut spans = Spans::default();
        for at in [5, 1, 3] {
            spans.add((at, 0), (at, 1));
        }
        spans.add((1, 50_000_000), (3, 0));
        assert_eq!(spans.0, [((5, 0), (5, 1)), ((1, 0), (3, 1))]);
        for at in 10..2 * MOST as i64 {
            spans.add((at, 0), (at, 1));
        }
        assert!(spans.0.len() <= MOST);
        assert!(spans.meet((12, 0), (12, 0)) && !spans.meet((0, 0), (0, 1)));
    }

    /// A call ends when its thread asks once more, waits elsewhere, or is gone; until then it goes on.
    #[test]
    fn when_calls_end() {
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let waiting = std::thread::spawn(move || {
            tell.send(own_thread()).expect("told");
            let _end = stopped.recv();
        });
        let thread = told.recv().expect("its number");
        let (tell, told) = std::sync::mpsc::channel();
        let goes_on = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let still = goes_on.clone();
        let running = std::thread::spawn(move || {
            tell.send(own_thread()).expect("told");
            while still.load(std::sync::atomic::Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let runs = told.recv().expect("its number");
        let mut calls = Calls::default();
        calls.begin(&question(thread), Doing::Makes);
        calls.begin(&question(libc::pid_t::MAX), Doing::Makes);
        calls.begin(&question(runs), Doing::Brings);
        let open = |calls: &Calls| calls.open.iter().map(|call| call.doing).collect::<Vec<_>>();
        // Until the first thread waits where it is meant to.
        for _ in 0..3000 {
            calls.due = Some(Instant::now());
            calls.look();
            if open(&calls).len() == 1 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(open(&calls), [Doing::Brings], "{calls:?}");
        drop(stop);
        goes_on.store(false, std::sync::atomic::Ordering::Relaxed);
        for thread in [waiting, running] {
            thread.join().expect("a thread");
        }
        calls.begin(&question(7), Doing::Brings);
        calls.hear_of(7);
        assert!(calls.open.iter().all(|call| call.thread != 7), "{calls:?}");
        let moments = calls.moments();
        assert_eq!((moments.made.0.len(), moments.brought.0.len()), (1, 1), "{moments:?}");
        for at in 0..=MOST {
            calls.begin(&question(libc::pid_t::MAX - at as libc::pid_t), Doing::Makes);
        }
        assert!(calls.moments().made.meet(NEVER, NEVER));
    }
}
