//! An inner keeper forked ahead of its order, in namespaces of its own: all of them but the view of the disk, which has to
//! be today's. A network is what takes the kernel longest to make; these do not age.

use super::broker::Reach;
use super::starter::{self, Sign};
use super::{Inner, Post, inner_keeper, namespaces, sys};
use crate::exec::protected::Guard;
use crate::exec::role::EXIT_REFUSED;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

/// An inner keeper that waits.
pub(super) struct Spare {
    pid: libc::pid_t,
    socket: OwnedFd,
}

impl Spare {
    /// Forks one. `not_its_own` are descriptors that it must not hold open.
    ///
    /// # Errors
    /// Namespaces are not allowed, or limits are reached.
    pub(super) fn prepare(not_its_own: &[&OwnedFd]) -> io::Result<Self> {
        let ids = sys::own_ids();
        let mut trouble = io::Error::from(io::ErrorKind::Unsupported);
        for flags in namespaces::attempts(false) {
            let flags = flags & !libc::CLONE_NEWNS;
            let (ours, theirs) = sys::socket_pair()?;
            match sys::fork(flags) {
                Err(error) => trouble = error,
                Ok(sys::Forked::Child) => {
                    drop(ours);
                    not_its_own.iter().for_each(|fd| sys::close_copy(fd));
                    sys::exit(wait_for_order(theirs, flags, ids));
                }
                Ok(sys::Forked::Parent(pid)) => {
                    drop(theirs);
                    let spare = Self { pid, socket: ours };
                    let mut word = [0];
                    if matches!(File::from(spare.socket.try_clone()?).read(&mut word), Ok(1)) {
                        return Ok(spare);
                    }
                }
            }
        }
        Err(trouble)
    }

    /// Has it carry out the order. It tells through the socket how it gets on, as any inner keeper.
    ///
    /// # Errors
    /// It has died meanwhile.
    fn give(&self, work: &Work) -> io::Result<OwnedFd> {
        let [stdin, stdout, stderr] = &work.streams;
        // In one message, as far as it goes: each wakes the one who waits.
        let message = starter::written(&work.order);
        let sent = sys::send_with(&self.socket, &message, &[&work.line, stdin, stdout, stderr])?;
        let socket = File::from(self.socket.try_clone()?);
        (&socket).write_all(&message[sent..])?;
        Ok(socket.into())
    }

    /// Ends it; its parent reaps it with the rest.
    fn end(&self) {
        sys::kill(self.pid, libc::SIGKILL);
    }
}

/// An order as it came, for a spare to have.
pub(super) struct Work {
    pub order: Vec<u8>,
    pub line: OwnedFd,
    pub streams: [OwnedFd; 3],
    pub sign: Sign,
}

/// What a keeper has ready for its order.
#[derive(Default)]
pub(super) struct Ahead(pub Option<(Spare, Work)>);

impl Ahead {
    /// The process that has the order now, the socket through which it tells how it gets on, and the sign for the starter;
    /// none if it has to be forked. Where the order is not for a spare, the spare is ended.
    ///
    /// # Errors
    /// The command's streams cannot be made this process's own, for the one that is to be forked.
    pub(super) fn use_if(&mut self, fits: bool) -> io::Result<Option<Given>> {
        let Some((spare, work)) = self.0.take() else {
            return Ok(None);
        };
        match fits.then(|| spare.give(&work)) {
            Some(Ok(socket)) => Ok(Some(Given {
                keeper: spare.pid,
                socket,
                sign: work.sign,
                streams: work.streams,
            })),
            _ => {
                spare.end();
                starter::put_in_place(&work.streams)?;
                Ok(None)
            }
        }
    }
}

/// A keeper that has its order.
pub(super) struct Given {
    pub(super) keeper: libc::pid_t,
    pub(super) socket: OwnedFd,
    pub(super) sign: Sign,
    /// The command's, for whoever takes its place should it fail.
    pub(super) streams: [OwnedFd; 3],
}

/// What is received at once; the order of most commands fits.
const MESSAGE: usize = 16 * 1024;

fn wait_for_order(socket: OwnedFd, flags: libc::c_int, ids: (u32, u32)) -> u8 {
    let followed = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong).is_ok();
    let entered = namespaces::enter(flags, ids).and_then(|()| {
        let prepared = namespaces::prepare(true);
        File::from(socket.try_clone()?).write_all(&[1])?;
        Ok(prepared)
    });
    let Some(prepared) = entered.ok().filter(|_| followed) else {
        return EXIT_REFUSED;
    };
    let mut message = vec![0; MESSAGE];
    let Ok((received, descriptors)) = sys::receive_with(&socket, &mut message) else {
        return EXIT_REFUSED;
    };
    let Ok([line, streams @ ..]) = <[OwnedFd; 4]>::try_from(descriptors) else {
        return EXIT_REFUSED;
    };
    let rest = socket.try_clone().map(File::from);
    let order = rest.and_then(|rest| starter::read_order(message[..received].chain(rest)));
    let (Ok(order), Ok(()), Ok(version)) = (order, starter::put_in_place(&streams), sys::landlock_version()) else {
        return EXIT_REFUSED;
    };
    drop(streams);
    let Ok(order) = starter::parse(&order) else {
        return EXIT_REFUSED;
    };
    let Some(walls) = &order.walls else {
        return EXIT_REFUSED;
    };
    let Ok(reach) = Reach::of(walls) else {
        return EXIT_REFUSED;
    };
    let inner = Inner {
        order: &order,
        walls,
        guard: &Guard::of_walls(walls),
        reach: &reach,
        factory: None,
        version,
        post: &Post::Asker(line),
        own_network: true,
        own_user: flags & libc::CLONE_NEWUSER != 0,
        user: ids.0,
    };
    inner_keeper(&inner, socket, || sys::own_mounts().map(|()| prepared))
}
