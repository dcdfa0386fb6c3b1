//! The command's pseudo-terminal. It is opened by the command's own process, inside its view of the disk, so that its
//! name means the same to the command as to the kernel, and no other terminal is in reach; the end that stands for the
//! person is sent to the asker and kept nowhere else: when the asker dies, the command's terminal hangs up.

use super::sys;
use crate::exec::terminal::Size;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{InputModes, OptionalActions, tcgetattr, tcsetattr, tcsetwinsize};
use std::io;
use std::os::fd::OwnedFd;

/// Gives this process, which leads a session, a terminal for its standard streams. The other end goes through the
/// socket that standard output was.
pub(super) fn attach(size: Size) -> io::Result<()> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let theirs = openpt(flags)?;
    grantpt(&theirs)?;
    unlockpt(&theirs)?;
    // Not by its name, which may lead elsewhere.
    let ours = ioctl_tiocgptpeer(&theirs, flags)?;
    tcsetwinsize(&ours, size.into())?;
    let mut modes = tcgetattr(&ours)?;
    // So that erasing takes back a whole character.
    modes.input_modes |= InputModes::IUTF8;
    tcsetattr(&ours, OptionalActions::Now, &modes)?;
    rustix::process::ioctl_tiocsctty(&ours)?;
    sys::send_descriptor(&sys::duplicate(1)?, &theirs)?;
    for stream in 0..3 {
        sys::put_at(&ours, stream)?;
    }
    Ok(())
}

/// Takes the terminal's other end out of the socket; none when the command did not come so far. Does not wait where the
/// socket does not.
pub(in crate::exec) fn receive(socket: &OwnedFd) -> io::Result<Option<OwnedFd>> {
    sys::receive_descriptor(socket)
}
