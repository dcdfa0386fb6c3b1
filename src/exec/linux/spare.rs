//! Namespaces made ahead: a network of one's own, and where an ordinary user needs one, the user namespace that owns it.
//! They take the kernel longest, are the same for every command without a network, and do not age.

use super::{namespaces, sys};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

/// Namespaces that nobody is in yet.
pub(super) struct Spare {
    user: Option<OwnedFd>,
    network: OwnedFd,
}

impl Spare {
    /// Makes them, in a process that ends at once: they live on by their descriptors.
    ///
    /// # Errors
    /// They are not allowed, or limits are reached.
    pub(super) fn prepare() -> io::Result<Self> {
        let ids = sys::own_ids();
        let mut trouble = io::Error::from(io::ErrorKind::Unsupported);
        for flags in namespaces::attempts(false) {
            let flags = flags & (libc::CLONE_NEWUSER | libc::CLONE_NEWNET);
            let (ours, theirs) = sys::socket_pair()?;
            match sys::fork(flags) {
                Err(error) => trouble = error,
                Ok(sys::Forked::Child) => {
                    drop(ours);
                    let sent = namespaces::enter(flags, ids).and_then(|()| send(&theirs, flags));
                    sys::exit(u8::from(sent.is_err()));
                }
                Ok(sys::Forked::Parent(_)) => {
                    drop(theirs);
                    let mut received = sys::receive_descriptors(&ours)?.into_iter();
                    let _reaped = sys::reap(true);
                    if let Some(network) = received.next() {
                        let user = received.next();
                        return Ok(Self { user, network });
                    }
                }
            }
        }
        Err(trouble)
    }

    /// Moves this process in, for good.
    pub(super) fn enter(&self) -> io::Result<()> {
        if let Some(user) = &self.user {
            sys::enter_namespace(user, libc::CLONE_NEWUSER)?;
        }
        sys::enter_namespace(&self.network, libc::CLONE_NEWNET)
    }
}

fn send(socket: &OwnedFd, flags: libc::c_int) -> io::Result<()> {
    let network = OwnedFd::from(File::open("/proc/self/ns/net")?);
    if flags & libc::CLONE_NEWUSER == 0 {
        return sys::send_descriptors(socket, &[&network]);
    }
    let user = OwnedFd::from(File::open("/proc/self/ns/user")?);
    sys::send_descriptors(socket, &[&network, &user])
}
