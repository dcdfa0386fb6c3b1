//! An inner keeper forked ahead of its order, in namespaces of its own. A network is what takes the kernel longest to make.
//!
//! - One that the starter keeps has all of them but the view of the disk, which has to be today's; the others do not age.
//! - `countersign sandbox` forks one before it reads its words, and has them ready when it knows what they ask for.

use super::broker::Reach;
use super::group::{self, Group};
use super::starter::{self, Sign};
use super::{Inner, Post, inner_keeper, namespaces, sys};
use crate::exec::protected::Guard;
use crate::exec::role::{EXIT_REFUSED, Order};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

/// An inner keeper that waits.
pub(super) struct Spare {
    pid: libc::pid_t,
    socket: OwnedFd,
    /// Its namespaces stand.
    stands: bool,
}

/// Whose order it waits for.
#[derive(Clone, Copy)]
enum Whose {
    /// A server's, whose line and the command's streams come with it.
    Asker,
    /// That of a person at a terminal, who is told so; the streams are this process's own.
    Person(fn(&str)),
}

/// Namespaces that the inner keeper makes for itself, so that whoever forks it does not wait for them.
const BY_ITSELF: libc::c_int = libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWNS;

impl Spare {
    /// Forks one, into a group if there is one. `not_its_own` are descriptors that it must not hold open.
    ///
    /// # Errors
    /// Namespaces are not allowed, or limits are reached.
    pub(super) fn prepare(not_its_own: &[&OwnedFd], group: Option<&Group>) -> io::Result<Self> {
        let mut trouble = io::Error::from(io::ErrorKind::Unsupported);
        for flags in namespaces::attempts(false) {
            let stands = Self::fork(flags, Whose::Asker, not_its_own, group).and_then(|mut spare| {
                spare.wait()?;
                Ok(spare)
            });
            match stands {
                Ok(spare) => return Ok(spare),
                Err(error) => trouble = error,
            }
        }
        Err(trouble)
    }

    /// Forks one for the person's command that is to come, and does not wait until it is ready. `tell` is how the person is
    /// told of what becomes of the command.
    ///
    /// # Errors
    /// As of [`Spare::prepare`].
    pub(super) fn begin(tell: fn(&str), group: Option<&Group>) -> io::Result<Self> {
        let [best, ..] = namespaces::attempts(false)[..] else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        Self::fork(best, Whose::Person(tell), &[], group)
    }

    fn fork(flags: libc::c_int, whose: Whose, not_its_own: &[&OwnedFd], group: Option<&Group>) -> io::Result<Self> {
        let ids = sys::own_ids();
        let (ours, theirs) = sys::socket_pair()?;
        match group::fork(group, flags & !BY_ITSELF)? {
            sys::Forked::Child => {
                drop(ours);
                not_its_own.iter().for_each(|fd| sys::close_copy(fd));
                sys::exit(wait_for_order(theirs, flags, ids, whose));
            }
            sys::Forked::Parent(pid) => Ok(Self {
                pid,
                socket: ours,
                stands: false,
            }),
        }
    }

    /// Waits until its namespaces stand.
    fn wait(&mut self) -> io::Result<()> {
        let mut word = [0];
        if !self.stands {
            File::from(self.socket.try_clone()?).read_exact(&mut word)?;
            self.stands = true;
        }
        Ok(())
    }

    /// Has it carry out the order. It tells through the socket how it gets on, as any inner keeper.
    ///
    /// # Errors
    /// It has died meanwhile.
    fn give(&mut self, work: &Work) -> io::Result<OwnedFd> {
        self.wait()?;
        let message = starter::written(&work.order);
        let sent = match &work.asked {
            None => 0,
            Some(asked) => {
                let [stdin, stdout, stderr] = &asked.streams;
                // In one message, as far as it goes: each wakes the one who waits.
                sys::send_with(&self.socket, &message, &[&asked.line, stdin, stdout, stderr])?
            }
        };
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
    /// None of a person's.
    pub asked: Option<Asked>,
}

/// What came with an order from a server.
pub(super) struct Asked {
    pub line: OwnedFd,
    /// The command's, for whoever takes the spare's place should it fail.
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
        let Some((mut spare, work)) = self.0.take() else {
            return Ok(None);
        };
        match fits.then(|| spare.give(&work)) {
            Some(Ok(socket)) => Ok(Some(Given {
                keeper: spare.pid,
                socket,
                asked: work.asked,
            })),
            _ => {
                spare.end();
                if let Some(asked) = work.asked {
                    starter::put_in_place(&asked.streams)?;
                }
                Ok(None)
            }
        }
    }
}

/// A keeper that has its order.
pub(super) struct Given {
    pub(super) keeper: libc::pid_t,
    pub(super) socket: OwnedFd,
    pub(super) asked: Option<Asked>,
}

/// What is received at once; the order of most commands fits.
const MESSAGE: usize = 16 * 1024;

fn wait_for_order(socket: OwnedFd, flags: libc::c_int, ids: (u32, u32), whose: Whose) -> u8 {
    let followed = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong).is_ok();
    let late = match whose {
        Whose::Asker => libc::CLONE_NEWNS,
        // Their command comes in a moment.
        Whose::Person(_) => 0,
    };
    let entered = namespaces::enter(flags, ids).and_then(|()| {
        sys::unshare(flags & BY_ITSELF & !late)?;
        let prepared = namespaces::prepare(true);
        File::from(socket.try_clone()?).write_all(&[1])?;
        Ok(prepared)
    });
    let Some(prepared) = entered.ok().filter(|_| followed) else {
        return EXIT_REFUSED;
    };
    let taken = match whose {
        Whose::Asker => take(&socket),
        Whose::Person(ref tell) => read(&socket, &[]).map(|order| (order, Post::Person(tell))),
    };
    let (Ok((order, post)), Ok(version)) = (taken, sys::landlock_version()) else {
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
        post: &post,
        own_network: true,
        own_user: flags & libc::CLONE_NEWUSER != 0,
        user: ids.0,
    };
    inner_keeper(&inner, socket, || sys::unshare(late).map(|()| prepared))
}

/// Takes the order, and the line and streams that come with it.
fn take<'a>(socket: &OwnedFd) -> io::Result<(Order, Post<'a>)> {
    let mut message = vec![0; MESSAGE];
    let (received, descriptors) = sys::receive_with(socket, &mut message)?;
    let [line, streams @ ..] =
        <[OwnedFd; 4]>::try_from(descriptors).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    let order = read(socket, &message[..received])?;
    starter::put_in_place(&streams)?;
    Ok((order, Post::Asker(line)))
}

/// Reads the order, of which this much has been received.
fn read(socket: &OwnedFd, received: &[u8]) -> io::Result<Order> {
    let rest = File::from(socket.try_clone()?);
    starter::parse(&starter::read_order(received.chain(rest))?)
}
