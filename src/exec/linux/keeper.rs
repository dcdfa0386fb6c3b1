//! The loop of both keepers: signals, the asker's wishes, the filter's questions, until the charge has ended.

use super::crowd::{self, Crowd};
use super::questions::Asker;
use super::{Post, descent, sys};
use crate::exec::role::{INTERRUPT, Report, TERMINATE};
use std::os::fd::{AsRawFd, OwnedFd};

/// Whom a keeper looks after.
#[derive(Clone, Copy)]
pub(super) enum Charge {
    /// The process that is 1 in its own namespace; all inside die with it.
    InnerKeeper(libc::pid_t),
    /// The command, from within the namespace.
    Command(libc::pid_t),
    /// The command and all that descends from it, without a namespace.
    Family(libc::pid_t),
}

impl Charge {
    fn pid(self) -> libc::pid_t {
        match self {
            Self::InnerKeeper(pid) | Self::Command(pid) | Self::Family(pid) => pid,
        }
    }

    /// Passes a signal on: to the command's whole process group, which it leads.
    fn signal(self, signal: libc::c_int) {
        match self {
            Self::InnerKeeper(pid) => sys::kill(pid, signal),
            Self::Command(pid) | Self::Family(pid) => sys::kill(-pid, signal),
        }
    }

    /// Ends all of it.
    fn kill(self) {
        match self {
            Self::InnerKeeper(pid) => sys::kill(pid, libc::SIGKILL),
            Self::Command(pid) => sys::kill(-pid, libc::SIGKILL),
            Self::Family(_) => descent::kill_once(),
        }
    }
}

pub(super) struct Keeper<'a> {
    pub signals: &'a OwnedFd,
    /// The socket to the asker; closed by the asker's death too.
    pub control: Option<&'a OwnedFd>,
    pub asker: Option<&'a Asker<'a>>,
    /// Where an inner keeper tells how its command ended, once nothing of it lives: sooner than it ends itself, as the
    /// kernel takes its time to clear namespaces away.
    pub word: Option<&'a OwnedFd>,
    /// Who counts its processes, where the kernel does not; and who is told when there are too many.
    pub crowd: Option<(Crowd, &'a Post<'a>)>,
}

impl Keeper<'_> {
    /// Keeps watch until the charge has ended; how it did.
    pub(super) fn keep(mut self, charge: Charge) -> sys::Ended {
        loop {
            let descriptors = [
                Some(self.signals.as_raw_fd()),
                self.control.map(AsRawFd::as_raw_fd),
                self.asker.map(|asker| asker.listener().as_raw_fd()),
                self.word.map(AsRawFd::as_raw_fd),
            ];
            let patience = if self.crowd.is_some() { crowd::EVERY } else { -1 };
            let [signalled, ordered, asked, told] = sys::poll(descriptors, patience);
            self.count(charge);
            if told && let Some(ended) = self.listen(charge) {
                return ended;
            }
            if asked && !self.asker.is_some_and(Asker::answer_next) {
                self.asker = None;
            }
            if ordered {
                self.obey(charge);
            }
            if signalled && let Some(ended) = self.heed(charge) {
                return ended;
            }
        }
    }

    /// Ends the charge if it has become too many.
    fn count(&mut self, charge: Charge) {
        let Some((crowd, post)) = &mut self.crowd else { return };
        if let Some(most) = crowd.passed() {
            post.send(&Report::Crowded { most });
            charge.kill();
            self.crowd = None;
        }
    }

    /// What the inner keeper tells of its command; nothing if it has died without a word.
    fn listen(&mut self, charge: Charge) -> Option<sys::Ended> {
        let mut word = [0];
        match sys::receive(self.word?, &mut word) {
            Ok(1) => Some(sys::Ended {
                pid: charge.pid(),
                exit_code: word[0],
                signal: None,
            }),
            _ => {
                self.word = None;
                None
            }
        }
    }

    /// Reads what the asker wants.
    fn obey(&mut self, charge: Charge) {
        let Some(control) = self.control else { return };
        let mut bytes = [0; 16];
        match sys::receive(control, &mut bytes) {
            Ok(read) if read > 0 => {
                if bytes[..read].contains(&TERMINATE) {
                    charge.signal(libc::SIGTERM);
                }
                if bytes[..read].contains(&INTERRUPT) {
                    charge.signal(libc::SIGINT);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => {
                charge.kill();
                self.control = None;
            }
        }
    }

    /// Passes signals on and reaps; how the charge ended, once it is among the dead.
    fn heed(&self, charge: Charge) -> Option<sys::Ended> {
        while let Some(signal) = sys::next_signal(self.signals) {
            if signal != libc::SIGCHLD {
                charge.signal(signal);
            }
        }
        while let Ok(Some(ended)) = sys::reap(false) {
            if ended.pid == charge.pid() {
                return Some(ended);
            }
        }
        None
    }
}
