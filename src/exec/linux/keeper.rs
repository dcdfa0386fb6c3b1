//! The loop of both keepers: signals, the asker's wishes, the filter's questions, until the charge has ended.

use super::names::Names;
use super::questions::Asker;
use super::watch::{self, Watch};
use super::{Post, descent, sys};
use crate::exec::role::{INTERRUPT, Report, TERMINATE};
use std::cell::RefCell;
use std::fs::File;
use std::io::IsTerminal as _;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Between a signal that ends and ending by force what does not heed it.
const GRACE: Duration = Duration::from_secs(3);

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
            Self::Family(_) => drop(descent::kill_once()),
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
    /// Noted there: what the command has tried to make or change, as the inner keeper has seen it.
    pub named: Option<&'a RefCell<Names>>,
    /// Who looks after what it takes, where the kernel does not.
    pub watch: Option<Watch<'a>>,
    /// Who is told that it had to be ended by force; none where an outer keeper sees to that.
    pub forces: Option<&'a Post<'a>>,
}

/// A command that was asked to end by a signal.
#[derive(Clone, Copy)]
struct Asked {
    signal: libc::c_int,
    /// Until when it may take its time.
    until: Instant,
}

impl Keeper<'_> {
    /// Keeps watch until the charge has ended; how it did.
    pub(super) fn keep(mut self, charge: Charge) -> sys::Ended {
        let mut asked_to_end = None;
        loop {
            let descriptors = [
                Some(self.signals.as_raw_fd()),
                self.control.map(AsRawFd::as_raw_fd),
                self.asker.map(|asker| asker.listener().as_raw_fd()),
                self.word.map(AsRawFd::as_raw_fd),
            ];
            let due = self.watch.as_ref().and_then(Watch::due);
            let grace = asked_to_end.map(|asked: Asked| asked.until);
            let calls = self.asker.and_then(Asker::due);
            let patience = watch::until(due.into_iter().chain(grace).chain(calls).min());
            let [signalled, ordered, asked, told] = sys::poll(descriptors, patience);
            self.hold_to_bounds(charge);
            if let Some(asker) = self.asker {
                asker.look_after_calls();
            }
            if told && let Some(ended) = self.listen(charge) {
                return ended;
            }
            if asked
                && let Some(asker) = self.asker
                && !asker.answer_next(&mut || self.hold_to_bounds(charge))
            {
                self.asker = None;
            }
            if ordered {
                self.obey(charge);
            }
            if signalled && let Some(ended) = self.heed(charge, &mut asked_to_end) {
                return ended;
            }
            self.force(charge, &mut asked_to_end);
        }
    }

    /// Ends the charge if it takes too much. False when it was ended so.
    fn hold_to_bounds(&mut self, charge: Charge) -> bool {
        let has_passed = self.watch.as_mut().is_some_and(Watch::passed);
        if has_passed {
            charge.kill();
            self.watch = None;
        }
        !has_passed
    }

    /// Ends the charge if it was asked to end, and does not.
    fn force(&self, charge: Charge, asked: &mut Option<Asked>) {
        let Some(Asked { signal, .. }) = asked.filter(|asked| asked.until <= Instant::now()) else {
            return;
        };
        if let Some(post) = self.forces {
            post.send(&Report::Forced { signal });
        }
        charge.kill();
        *asked = None;
    }

    /// What the inner keeper tells of its command; nothing if it has died without a word.
    fn listen(&mut self, charge: Charge) -> Option<sys::Ended> {
        let word = self.word?;
        let mut exit_code = [0];
        let is_told = matches!(sys::receive(word, &mut exit_code), Ok(1));
        if let Some(named) = self.named {
            let names = word.try_clone().and_then(|word| Names::read(File::from(word)));
            // Who has not heard it does not know.
            *named.borrow_mut() = names.unwrap_or_else(|_| Names::unknown());
        }
        if !is_told {
            self.word = None;
            return None;
        }
        Some(sys::Ended {
            pid: charge.pid(),
            exit_code: exit_code[0],
            signal: None,
        })
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

    /// Passes signals on and reaps; how the charge ended, once it is among the dead. From a signal that ends on it has its
    /// time, which a second one cuts short.
    fn heed(&self, charge: Charge, asked: &mut Option<Asked>) -> Option<sys::Ended> {
        while let Some(signal) = sys::next_signal(self.signals) {
            if signal == libc::SIGCHLD {
                continue;
            }
            charge.signal(signal);
            if self.forces.is_some() && ends(signal) {
                let now = Instant::now();
                let until = if asked.is_some() { now } else { now + GRACE };
                *asked = Some(Asked { signal, until });
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

/// Whether whoever sends a signal wants the command gone. At a terminal Ctrl-C is a key like others: what speaks with a
/// person there stays, and breaks off what it does.
fn ends(signal: libc::c_int) -> bool {
    match signal {
        libc::SIGTERM | libc::SIGHUP => true,
        libc::SIGINT => !std::io::stdin().is_terminal(),
        _ => false,
    }
}
