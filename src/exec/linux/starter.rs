//! The starter: our own program, started once by whoever asks for commands, before any runtime and with one thread. It
//! forks keepers ahead of their orders, so that no order waits for a program to be loaded, or for namespaces.
//!
//! It reads no order itself and keeps nothing of one. Of the keepers that it forks, one waits at the socket at a time;
//! the asker's death closes the socket, and all who wait there go.

use super::group::{self, Group};
use super::spare::{Ahead, Asked, Spare, Work};
use super::{Post, sys};
use crate::exec::role::{EXIT_REFUSED, Order, Report};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::process::ExitCode;

/// Longest order that is read; the kernel takes no longer argument list anyway.
const MAX_ORDER: u32 = 64 * 1024 * 1024;

/// How long a keeper waits for an order before it makes something ready, in milliseconds. Where orders come one upon the
/// other, processors have better to do.
const IDLE: libc::c_int = 2;

/// Before a keeper is forked again after that failed, or the last one died, in milliseconds.
const PAUSE: libc::c_int = 50;

/// Serves orders until the asker is gone. Standard input is the socket through which they come.
pub(in crate::exec) fn serve() -> ExitCode {
    sys::close_from(3);
    let socket = sys::duplicate(0).and_then(|socket| {
        if !File::from(socket.try_clone()?).metadata()?.file_type().is_socket() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        sys::put_at(&File::open("/dev/null")?.into(), 0)?;
        Ok(socket)
    });
    let Ok(socket) = socket else {
        // Nobody to tell: this role is not for people.
        return ExitCode::from(EXIT_REFUSED);
    };
    sys::reap_by_itself(true);
    group::clear();
    while !sys::has_hung_up(&socket) {
        if let Err(error) = fork_keeper(&socket) {
            refuse(&socket, &error);
        }
    }
    ExitCode::SUCCESS
}

/// Forks a keeper and waits until it has an order.
fn fork_keeper(socket: &OwnedFd) -> io::Result<()> {
    let (ours, theirs) = sys::socket_pair()?;
    match sys::fork(0)? {
        sys::Forked::Child => {
            drop(ours);
            sys::exit(wait_for_order(socket, theirs));
        }
        sys::Forked::Parent(_) => {
            drop(theirs);
            let mut word = [0];
            if !matches!(File::from(ours).read(&mut word), Ok(1)) && !sys::has_hung_up(socket) {
                // It has died without an order.
                sys::poll([None], PAUSE);
            }
            Ok(())
        }
    }
}

/// Answers an order that no process can be had for.
fn refuse(socket: &OwnedFd, error: &io::Error) {
    if !sys::poll([Some(socket.as_raw_fd())], PAUSE)[0] {
        return;
    }
    let mut descriptors = sys::receive_descriptors(socket).unwrap_or_default().into_iter();
    if let Some(line) = descriptors.next() {
        let post = Post::Asker(line);
        post.send(&Report::Taken {
            pid: std::process::id(),
        });
        let reason = format!("cannot start a process: {error}");
        post.send(&Report::CannotConfine { reason });
        post.send(&Report::Ended {
            exit_code: EXIT_REFUSED,
        });
    }
}

/// Tells the starter, when it is dropped, that the next keeper is needed. Where this one has all that it needs ready, that
/// can wait until its command runs: forking takes a processor's time.
pub(super) struct Sign(File);

impl Drop for Sign {
    fn drop(&mut self) {
        let _died = self.0.write_all(&[1]);
    }
}

/// A keeper's life. `sign` tells the starter that the next one is needed.
fn wait_for_order(socket: &OwnedFd, sign: OwnedFd) -> u8 {
    sys::reap_by_itself(false);
    sys::new_group();
    let waits = sys::poll([Some(socket.as_raw_fd())], IDLE)[0];
    // It is removed when nobody waits for this process any more.
    let group = Group::make();
    let spare = if waits {
        None
    } else {
        Spare::prepare(&[socket, &sign], group.as_ref()).ok()
    };
    let Ok([line, streams @ ..]) = <[OwnedFd; 4]>::try_from(sys::receive_descriptors(socket).unwrap_or_default())
    else {
        return EXIT_REFUSED;
    };
    let sign = Sign(File::from(sign));
    sys::close_copy(socket);
    let post = Post::Asker(line);
    post.send(&Report::Taken {
        pid: std::process::id(),
    });
    let exit_code = match take(&post, streams, spare, sign) {
        Ok((order, ahead)) => super::run(&order, &post, ahead, group.as_ref()),
        Err(error) => {
            let reason = format!("the order did not come through: {error}");
            post.send(&Report::CannotConfine { reason });
            EXIT_REFUSED
        }
    };
    post.send(&Report::Ended { exit_code });
    exit_code
}

/// Takes the order that follows, and the streams.
fn take(post: &Post<'_>, streams: [OwnedFd; 3], spare: Option<Spare>, sign: Sign) -> io::Result<(Order, Ahead)> {
    let Post::Asker(line) = post else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    let sign = spare.is_some().then_some(sign);
    let bytes = read_order(File::from(line.try_clone()?))?;
    let order = parse(&bytes)?;
    let ahead = match spare.zip(sign) {
        None => {
            put_in_place(&streams)?;
            Ahead::default()
        }
        Some((spare, sign)) => {
            let work = Work {
                order: bytes,
                asked: Some(Asked {
                    line: line.try_clone()?,
                    streams,
                    sign,
                }),
            };
            Ahead(Some((spare, work)))
        }
    };
    Ok((order, ahead))
}

/// Gives back the command's streams, which this process has inherited to it: who reads them waits for their end.
pub(super) fn release_streams() {
    let _none = File::open("/dev/null").and_then(|nothing| {
        let nothing = OwnedFd::from(nothing);
        (0..3).try_for_each(|number| sys::put_at(&nothing, number))
    });
}

/// Makes the streams this process's own, for the command to inherit.
pub(super) fn put_in_place(streams: &[OwnedFd; 3]) -> io::Result<()> {
    (0..)
        .zip(streams)
        .try_for_each(|(number, stream)| sys::put_at(stream, number))
}

/// Reads an order, as it was written.
pub(super) fn read_order(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_ORDER {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// An order as it is written.
pub(super) fn written(order: &[u8]) -> Vec<u8> {
    [&(order.len() as u32).to_le_bytes(), order].concat()
}

/// What an order says.
pub(super) fn parse(order: &[u8]) -> io::Result<Order> {
    Ok(serde_json::from_slice(order)?)
}
