//! What a keeper looks after by itself while a command runs, because the kernel does not: how many processes it has, and how
//! much memory. Each says when it wants to look again.

use super::crowd::Crowd;
use super::memory::Memory;
use super::{Post, sys};
use crate::exec::role::Report;
use std::time::{Duration, Instant};

/// Watches over what descends from this process.
pub(super) struct Watch<'a> {
    crowd: Option<(Crowd, Instant)>,
    memory: Option<Memory>,
    /// Who is told when there is too much.
    post: &'a Post<'a>,
}

impl<'a> Watch<'a> {
    /// Nothing if the kernel looks after both.
    pub(super) fn new(crowd: Option<Crowd>, memory: Option<Memory>, post: &'a Post<'a>) -> Option<Self> {
        if crowd.is_none() && memory.is_none() {
            return None;
        }
        // A command with many processes leaves little of the processors to anybody else.
        sys::hurry();
        let now = Instant::now();
        Some(Self {
            crowd: crowd.map(|crowd| (crowd, now + Crowd::EVERY)),
            memory,
            post,
        })
    }

    /// When the next look is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let crowd = self.crowd.as_ref().map(|(_, due)| *due);
        let memory = self.memory.as_ref().map(Memory::due);
        crowd.into_iter().chain(memory).min()
    }

    /// Has the looks that are due; whether the command has to end. Whoever waits has been told then.
    pub(super) fn passed(&mut self) -> bool {
        let now = Instant::now();
        let report = self.count(now).or_else(|| self.weigh(now));
        if let Some(report) = &report {
            self.post.send(report);
        }
        report.is_some()
    }

    fn count(&mut self, now: Instant) -> Option<Report> {
        let (crowd, due) = self.crowd.as_mut().filter(|(_, due)| *due <= now)?;
        *due = now + Crowd::EVERY;
        crowd.passed().map(|most| Report::Crowded { most })
    }

    fn weigh(&mut self, now: Instant) -> Option<Report> {
        let memory = self.memory.as_mut().filter(|memory| memory.due() <= now)?;
        memory.passed(now).map(|most| Report::Starved { most })
    }
}

/// How long to wait for a time, in the milliseconds of `poll`: for ever where there is none.
pub(super) fn until(due: Option<Instant>) -> libc::c_int {
    due.map_or(-1, |due| {
        let left = due.saturating_duration_since(Instant::now());
        // A wait that is cut short would be for nothing.
        let rounded = left + Duration::from_micros(999);
        libc::c_int::try_from(rounded.as_millis()).unwrap_or(libc::c_int::MAX)
    })
}
