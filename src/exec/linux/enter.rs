//! The last steps of the command's process before it becomes the program: every right that it can give up, it gives
//! up here. These functions return only when something failed.

use super::limits::{self, Limits};
use super::{landlock, seccomp, sys, terminal};
use crate::exec::role::{Order, Report};
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What the command is left with.
pub(super) struct Inside<'a> {
    pub order: &'a Order,
    /// Version of Landlock.
    pub landlock: u32,
    pub readable: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
    /// Where message queues of its own have their names.
    pub message_queues: Option<OwnedFd>,
    pub network: bool,
    /// Whether its network is its own and has a loopback.
    pub own_network: bool,
    /// Whether the keeper makes connections for it.
    pub brokered: bool,
    /// Whether it has shared memory, semaphores and message queues of its own.
    pub own_ipc: bool,
    /// Whether the pseudo-terminals that it sees are its own.
    pub own_terminals: bool,
    /// Whether no view of the disk keeps modes, owners and times as they are, so that the keeper has to.
    pub watch_metadata: bool,
    /// Processes that count against its limit and are not its own; none where others count its processes.
    pub other_processes: Option<u64>,
    /// Whether the keeper wants to be asked about new names in folders.
    pub watch_names: bool,
    /// Whether it wants to be asked about files that are written, and about what is removed.
    pub watch_writes: bool,
    pub watch_removal: bool,
    /// Whether somebody reads what the kernel writes down of Landlock's refusals.
    pub record: bool,
    /// Bits of the capabilities to keep.
    pub capabilities: u64,
    /// Bits of those that programs could still get, at the most.
    pub bounding: u64,
}

/// Where programs are looked for when the command has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// Confines this process, sends the filter's descriptor through `keeper`, and executes the program. The keeper stands
/// still until then: from the filter on nothing may be done here that the filter asks about.
pub(super) fn enter(inside: &Inside<'_>, keeper: &OwnedFd) -> Report {
    let confined = settle(inside.order).and_then(|()| {
        confine(inside, keeper).map_err(|(wall, error)| Report::CannotConfine {
            reason: format!("the kernel refused {wall}: {error}"),
        })
    });
    match confined {
        Ok(()) => execute(inside.order),
        Err(report) => report,
    }
}

/// Executes the program as it is. `keeper` is the process that it must not outlive.
pub(super) fn enter_unconfined(order: &Order, keeper: libc::pid_t) -> Report {
    let _unsupported = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
    if sys::parent() != keeper {
        sys::exit(128 + libc::SIGKILL as u8);
    }
    if order.bounds.is_some() {
        limits::go_first();
    }
    match settle(order) {
        Ok(()) => execute(order),
        Err(report) => report,
    }
}

/// A session and process group of its own, the terminal if it gets one, fresh signals, the folder.
fn settle(order: &Order) -> Result<(), Report> {
    sys::new_session();
    if let Some(size) = order.terminal {
        terminal::attach(size).map_err(|error| Report::NoTerminal {
            reason: error.to_string(),
        })?;
    }
    sys::default_signals();
    std::env::set_current_dir(&order.cwd).map_err(|error| Report::Folder {
        path: order.cwd.display().to_string(),
        reason: error.to_string(),
    })
}

fn confine(inside: &Inside<'_>, keeper: &OwnedFd) -> Result<(), (&'static str, io::Error)> {
    // Follows its keeper into death; in a process namespace the kernel sees to that anyway.
    let _unsupported = sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
    limits::go_first();
    Limits::of(inside.order.bounds.unwrap_or_default())
        .impose(inside.other_processes)
        .map_err(|error| ("resource limits", error))?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(|error| ("no_new_privs", error))?;
    let opened = landlock::Opened {
        readable: &inside.readable,
        writable: &inside.writable,
        nameless: inside.message_queues.as_ref(),
        terminals: inside.own_terminals,
        connect: inside.network,
        bind: inside.network || inside.own_network,
        record: inside.record,
    };
    landlock::confine(inside.landlock, &opened).map_err(|error| ("Landlock", error))?;
    sys::keep_capabilities(inside.capabilities, inside.bounding).map_err(|error| ("dropping capabilities", error))?;

    let rules = seccomp::Rules {
        network: inside.network,
        own_network: inside.own_network,
        brokered: inside.brokered,
        own_ipc: inside.own_ipc,
        watch_metadata: inside.watch_metadata,
        watch_names: inside.watch_names,
        watch_writes: inside.watch_writes,
        watch_removal: inside.watch_removal,
        ask: true,
    };
    let unknown = || ("a system call filter", io::Error::from(io::ErrorKind::Unsupported));
    let mut program = seccomp::filter(rules).ok_or_else(unknown)?;
    match sys::install_filter(&mut program) {
        Ok(listener) => sys::send_descriptor(keeper, &listener).map_err(|error| ("a filter that asks", error)),
        // Another sandbox around us listens already, and there can be only one.
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            let mut program = seccomp::filter(seccomp::Rules { ask: false, ..rules }).ok_or_else(unknown)?;
            sys::install_silent_filter(&mut program).map_err(|error| ("a system call filter", error))
        }
        Err(error) => Err(("a system call filter", error)),
    }
}

/// Becomes the program, looked for in the command's own `PATH`.
fn execute(order: &Order) -> Report {
    let Some(program) = order.argv.first() else {
        return Report::NotFound { program: String::new() };
    };
    let env = order.env.iter().map(|(name, value)| format!("{name}={value}"));
    let argv0 = order.argv0.iter().chain(&order.argv[..1]).take(1);
    let argv = argv0.chain(&order.argv[1..]).cloned();
    let (Some(argv), Some(env)) = (c_strings(argv), c_strings(env)) else {
        return not_executable(program, "a NUL byte stands in its arguments or environment");
    };
    if program.is_empty() {
        return Report::NotFound {
            program: program.clone(),
        };
    }
    let candidates: Vec<PathBuf> = if program.contains('/') {
        vec![PathBuf::from(program)]
    } else {
        let path = order
            .env
            .iter()
            .find(|(name, _)| name == "PATH")
            .map_or(DEFAULT_PATH, |(_, value)| value);
        // An empty entry is the working directory, by an old custom that nobody relies on and attackers like.
        path.split(':')
            .filter(|folder| !folder.is_empty())
            .map(|folder| Path::new(folder).join(program))
            .collect()
    };
    let mut report = Report::NotFound {
        program: program.clone(),
    };
    for candidate in candidates {
        let Ok(path) = sys::c_path(&candidate) else { continue };
        let error = sys::exec(&path, &argv, &env);
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) if !candidate.exists() => {}
            Some(libc::ENOENT) => return not_executable(program, "its interpreter does not exist"),
            Some(libc::ENOEXEC) => return execute_script(program, &candidate, argv, &env),
            Some(libc::EACCES) if candidate.is_dir() => {
                if program.contains('/') {
                    return not_executable(program, "it is a folder");
                }
            }
            Some(libc::EACCES) => report = not_executable(program, "permission denied"),
            _ => return not_executable(program, &error.to_string()),
        }
    }
    report
}

/// A script that does not name its interpreter is the shell's.
fn execute_script(program: &str, candidate: &Path, argv: Vec<CString>, env: &[CString]) -> Report {
    let Ok(script) = sys::c_path(candidate) else {
        return not_executable(program, "its path holds a NUL byte");
    };
    let arguments: Vec<CString> = [c"sh".to_owned(), script]
        .into_iter()
        .chain(argv.into_iter().skip(1))
        .collect();
    let error = sys::exec(c"/bin/sh", &arguments, env);
    not_executable(program, &error.to_string())
}

fn not_executable(program: &str, reason: &str) -> Report {
    Report::NotExecutable {
        program: program.to_owned(),
        reason: reason.to_owned(),
    }
}

fn c_strings(texts: impl Iterator<Item = String>) -> Option<Vec<CString>> {
    texts.map(|text| CString::new(text).ok()).collect()
}
