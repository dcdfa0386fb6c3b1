//! Where there is no keeper: the command is this process's own child. On macOS the system's sandbox stands around it;
//! elsewhere only full access can be given.

use super::input::Descriptor;
use super::{ExecError, exit_code};
use crate::exec::proxy::{Alone, Proxy, Refused, Traffic, withhold};
use crate::exec::role::{Order, Report};
use crate::exec::wrote::Wrote;
use std::io;
use std::process::Stdio;
use tokio::process::{Child, Command};

/// The command itself, in place of the line to its keeper.
pub(in crate::exec) struct Line {
    child: Child,
    /// The command's process group.
    group: Option<u32>,
    status: Option<std::process::ExitStatus>,
    over: bool,
    #[allow(dead_code, reason = "held for as long as the command runs")]
    wrote: Wrote,
    /// What leads it to hosts by their names.
    proxy: Option<Proxy>,
}

/// Runs the order. `streams` are the command's standard input, output and error.
pub(in crate::exec) async fn launch(order: &Order, streams: [Descriptor; 3]) -> Result<Line, ExecError> {
    let order = confined(order).map_err(|report| match report {
        Report::NotFound { program } => ExecError::NotFound { program },
        report => ExecError::CannotConfine {
            reason: match report {
                Report::CannotConfine { reason } => reason,
                other => other.to_string(),
            },
        },
    })?;
    let order = std::borrow::Borrow::<Order>::borrow(&order);
    let (program, arguments) = order.argv.split_first().ok_or(ExecError::Empty)?;
    if !order.cwd.is_dir() {
        return Err(ExecError::Folder {
            path: order.cwd.clone(),
            reason: "it is not a folder".to_owned(),
        });
    }
    let [stdin, stdout, stderr] = streams.map(Stdio::from);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&order.cwd)
        .env_clear()
        .envs(order.env.iter().cloned())
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .kill_on_drop(true);
    #[cfg(unix)]
    {
        command.process_group(0);
        if let Some(argv0) = &order.argv0 {
            command.arg0(argv0);
        }
    }
    let child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ExecError::NotFound {
            program: program.clone(),
        },
        io::ErrorKind::PermissionDenied => ExecError::NotExecutable {
            program: program.clone(),
            reason: "permission denied".to_owned(),
        },
        _ => ExecError::Start(error),
    })?;
    Ok(Line {
        group: child.id(),
        child,
        status: None,
        over: false,
        wrote: Wrote::default(),
        proxy: None,
    })
}

impl Line {
    pub(in crate::exec) fn is_over(&self) -> bool {
        self.over
    }

    pub(in crate::exec) fn exit_code(&self) -> Option<i32> {
        self.status.map(exit_code)
    }

    #[cfg(unix)]
    pub(in crate::exec) fn signal(&self) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt as _;
        self.status.and_then(|status| status.signal())
    }

    #[cfg(not(unix))]
    pub(in crate::exec) fn signal(&self) -> Option<i32> {
        None
    }

    pub(in crate::exec) fn reports(&self) -> &[Report] {
        &[]
    }

    /// Nobody knows what it writes; it is held for as long as the command runs.
    pub(in crate::exec) fn tell_of(&mut self, wrote: Wrote) {
        self.wrote = wrote;
    }

    /// Keeps the proxy for as long as the command runs.
    pub(in crate::exec) fn keep(&mut self, proxy: Option<Proxy>) {
        self.proxy = proxy;
    }

    /// The hosts that it was refused.
    pub(in crate::exec) fn refused_hosts(&self) -> Vec<Refused> {
        self.proxy.as_ref().map(Proxy::refused).unwrap_or_default()
    }

    /// What went to hosts and came from them.
    pub(in crate::exec) fn traffic(&self) -> Vec<Traffic> {
        self.proxy.as_ref().map(Proxy::traffic).unwrap_or_default()
    }

    pub(in crate::exec) fn terminate(&mut self) -> bool {
        self.signal_group(false)
    }

    #[cfg(unix)]
    pub(in crate::exec) fn interrupt(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        if let Some(group) = self.group.and_then(|group| Pid::from_raw(group as i32)) {
            let _ended = kill_process_group(group, Signal::INT);
        }
    }

    pub(in crate::exec) fn end(&mut self) {
        self.signal_group(true);
        let _gone = self.child.start_kill();
    }

    pub(in crate::exec) fn kill_keeper(&mut self) {
        self.end();
    }

    #[cfg(unix)]
    fn signal_group(&self, kill: bool) -> bool {
        use rustix::process::{Pid, Signal, kill_process_group};
        let group = self.group.and_then(|group| Pid::from_raw(group as i32));
        let signal = if kill { Signal::KILL } else { Signal::TERM };
        group.is_some_and(|group| kill_process_group(group, signal).is_ok())
    }

    #[cfg(not(unix))]
    fn signal_group(&self, _kill: bool) -> bool {
        let _only_where_there_are_groups = self.group;
        false
    }

    pub(in crate::exec) async fn hear(&mut self) {
        if self.over {
            return std::future::pending().await;
        }
        self.status = self.child.wait().await.ok();
        self.over = true;
    }
}

/// The order with the sandbox around its command, as far as it asks for one.
#[cfg(target_os = "macos")]
fn confined(order: &Order) -> Result<Order, Report> {
    crate::exec::macos::confine(order)
}

/// Where there is no sandbox nothing runs but with full access.
#[cfg(not(target_os = "macos"))]
fn confined(order: &Order) -> Result<&Order, Report> {
    match order.walls {
        None => Ok(order),
        Some(_) => Err(Report::CannotConfine {
            reason: crate::exec::role::NO_SANDBOX.to_owned(),
        }),
    }
}

/// Runs an order in the foreground, where there is no keeper.
pub(in crate::exec) fn run_here(mut order: Order, report: fn(&str)) -> std::process::ExitCode {
    let refuse = |failed: Report| {
        report(&failed.to_string());
        std::process::ExitCode::from(failed.exit_code())
    };
    let _bundle = match order.walls.as_ref().map_or(Ok(None), Alone::for_walls) {
        Ok(None) => {
            withhold(&mut order);
            None
        }
        Ok(Some(mut proxy)) => {
            proxy.lead(&mut order);
            // The proxy ends with this process, and so can remove nothing.
            let bundle = proxy.take_bundle();
            std::thread::spawn(move || proxy.serve(report));
            bundle
        }
        Err(reason) => return refuse(Report::CannotConfine { reason }),
    };
    let confined = match confined(&order) {
        Ok(order) => order,
        Err(report) => return refuse(report),
    };
    let order = std::borrow::Borrow::<Order>::borrow(&confined);
    let Some((program, arguments)) = order.argv.split_first() else {
        return refuse(Report::NotFound { program: String::new() });
    };
    let status = std::process::Command::new(program)
        .args(arguments)
        .current_dir(&order.cwd)
        .env_clear()
        .envs(order.env.iter().cloned())
        .status();
    match status {
        Ok(status) => std::process::ExitCode::from(exit_code(status) as u8),
        Err(error) if error.kind() == io::ErrorKind::NotFound => refuse(Report::NotFound {
            program: program.clone(),
        }),
        Err(error) => refuse(Report::NotExecutable {
            program: program.clone(),
            reason: error.to_string(),
        }),
    }
}
