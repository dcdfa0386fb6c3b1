//! An inner keeper forked ahead of its order, in namespaces of its own: all of them but the view of the disk, which has to
//! be today's. A network is what takes the kernel longest to make; these do not age.

use super::broker::Reach;
use super::{Inner, Post, inner_keeper, namespaces, starter, sys};
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
        sys::send_descriptors(&self.socket, &[&work.line, stdin, stdout, stderr])?;
        starter::write_order(File::from(self.socket.try_clone()?), &work.order)?;
        self.socket.try_clone()
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
}

/// What a keeper has ready for its order.
#[derive(Default)]
pub(super) struct Ahead(pub Option<(Spare, Work)>);

impl Ahead {
    /// The process that has the order now, and the socket through which it tells how it gets on; none if it has to be
    /// forked. Where the order is not for a spare, the spare is ended.
    pub(super) fn use_if(&mut self, fits: bool) -> Option<(libc::pid_t, OwnedFd)> {
        let (spare, work) = self.0.take()?;
        match fits.then(|| spare.give(&work)) {
            Some(Ok(socket)) => Some((spare.pid, socket)),
            _ => {
                spare.end();
                None
            }
        }
    }
}

fn wait_for_order(socket: OwnedFd, flags: libc::c_int, ids: (u32, u32)) -> u8 {
    let followed = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong).is_ok();
    let ready = namespaces::enter(flags, ids).and_then(|()| File::from(socket.try_clone()?).write_all(&[1]));
    if !followed || ready.is_err() {
        return EXIT_REFUSED;
    }
    let Ok([line, streams @ ..]) = <[OwnedFd; 4]>::try_from(sys::receive_descriptors(&socket).unwrap_or_default())
    else {
        return EXIT_REFUSED;
    };
    let order = socket.try_clone().map(File::from).and_then(starter::read_order);
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
    inner_keeper(&inner, socket, sys::own_mounts)
}
