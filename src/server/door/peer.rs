//! Which process is at the other end of a local socket, and whether it may use this server.
//!
//! Whoever speaks to the server works with the person's rights, outside of every sandbox. So the process has to be of the
//! same user, and confined no more than the server itself: a command of the agent, which can listen in a folder that it may
//! write, would get out of its sandbox by being taken for the editor.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd as _;
use tokio::net::UnixStream;

/// Checks that the other end is a program of this user's, or of root's, who may do everything anyway, and that it is not in a
/// sandbox that this server is not in.
///
/// # Errors
/// It is not, or that cannot be found out.
pub(in crate::server) fn check_peer(stream: &UnixStream) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    let own = rustix::process::geteuid().as_raw();
    if peer.uid() != own && peer.uid() != 0 {
        let text = format!(
            "the other end belongs to another user of this machine (number {})",
            peer.uid()
        );
        return Err(refused(text));
    }
    // Elsewhere no command can open a local socket that was not granted to it.
    #[cfg(target_os = "linux")]
    {
        let address = stream.peer_addr()?;
        let of_root = peer.uid() == 0 && own != 0;
        linux::check_owner(stream.as_fd(), address.as_pathname(), peer.pid(), of_root).map_err(refused)?;
    }
    Ok(())
}

fn refused(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::exec::peer_process;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::fs;
    use std::io;
    use std::os::fd::BorrowedFd;
    use std::path::Path;

    /// Namespaces that a sandbox makes for itself.
    const NAMESPACES: &[&str] = &["user", "mnt"];

    /// How far the kernel says that a process is confined. Nothing of this can be taken off again, and children have it too.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Confined {
        no_new_privileges: Option<u32>,
        seccomp_mode: Option<u32>,
        seccomp_filters: Option<u32>,
    }

    impl Confined {
        /// From the text of `/proc/PID/status`.
        pub(super) fn read(status: &str) -> Self {
            let number = |name: &str| {
                let mut lines = status.lines();
                lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok())
            };
            Self {
                no_new_privileges: number("NoNewPrivs"),
                seccomp_mode: number("Seccomp"),
                seccomp_filters: number("Seccomp_filters"),
            }
        }

        /// Whether it is confined in a way in which the other is not.
        pub(super) fn is_more_than(self, other: Self) -> bool {
            self.no_new_privileges > other.no_new_privileges
                || self.seccomp_mode > other.seccomp_mode
                || self.seccomp_filters > other.seccomp_filters
        }
    }

    fn unseen() -> String {
        "it cannot be seen which process is at the other end: it has ended, or is in another container. Connect from \
         where the server runs, or use standard input and output"
            .to_owned()
    }

    /// Checks the process that connected, or began to listen, at the other end of a socket. `name` is what that end is bound to. Its
    /// number `pid` alone says nothing: who has ended may have left the descriptor to another process, and the number to a third.
    pub(super) fn check_owner(
        socket: BorrowedFd<'_>,
        name: Option<&Path>,
        pid: Option<i32>,
        of_root: bool,
    ) -> Result<(), String> {
        let process = peer_process(socket).map_err(|_| unseen())?;
        check_process(pid, of_root)?;
        let is_it = match (process, name) {
            // While it lives nobody else gets its number, so what was looked at was it.
            (Some(process), _) => {
                let mut asked = [PollFd::new(&process, PollFlags::IN)];
                poll(&mut asked, Some(&Timespec::default())).is_ok() && asked[0].revents().is_empty()
            }
            // Root's descriptors cannot be seen, and no confined command is root's.
            (None, Some(name)) => of_root || holds_socket(pid.unwrap_or_default(), name),
            // A client has no name as a rule. It is looked at as it connects, before numbers have gone round.
            (None, None) => true,
        };
        if is_it { Ok(()) } else { Err(unseen()) }
    }

    /// Whether a process has a socket of this name among its descriptors.
    fn holds_socket(pid: i32, name: &Path) -> bool {
        let table = fs::read("/proc/net/unix").unwrap_or_default();
        let table = String::from_utf8_lossy(&table);
        let name = name.to_string_lossy();
        // Number, references, protocol, flags, type, state, inode, name.
        let inodes = table.lines().filter_map(|line| {
            let fields: Vec<&str> = line.strip_suffix(&*name)?.split_whitespace().collect();
            (fields.len() == 7).then(|| format!("socket:[{}]", fields[6]))
        });
        let inodes: Vec<String> = inodes.collect();
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
        descriptors.into_iter().flatten().flatten().any(|entry| {
            let leads_to = fs::read_link(entry.path());
            leads_to.is_ok_and(|to| inodes.iter().any(|inode| to == Path::new(inode)))
        })
    }

    /// `of_root`: the process is root's, and this one is not, so less can be seen of it.
    fn check_process(pid: Option<i32>, of_root: bool) -> Result<(), String> {
        let pid = pid.filter(|pid| *pid > 0).ok_or_else(unseen)?.to_string();
        let confined = |who: &str| {
            let status = fs::read_to_string(format!("/proc/{who}/status"));
            status.map(|status| Confined::read(&status)).map_err(|_| unseen())
        };
        let boxed = || {
            format!(
                "the other end (process {pid}) is in a sandbox or container that this server is not in, and would get out of \
                 it that way. Start the server from there, or use standard input and output"
            )
        };
        if confined(&pid)?.is_more_than(confined("self")?) {
            return Err(boxed());
        }
        for kind in NAMESPACES {
            let namespace = |who: &str| fs::read_link(format!("/proc/{who}/ns/{kind}"));
            // Not every kernel has each of them.
            let Ok(own) = namespace("self") else { continue };
            match namespace(&pid) {
                Ok(its) if its == own => {}
                Ok(_) => return Err(boxed()),
                Err(error) if of_root && error.kind() == io::ErrorKind::PermissionDenied => {}
                Err(_) => return Err(unseen()),
            }
        }
        Ok(())
    }

    #[cfg(test)]
    mod tests;
}
