//! Watches the process that started the server: when it is gone, nobody is left to serve.

use crate::server::stop::{End, Stop};
use std::time::Duration;

/// Between two looks, where the system cannot tell by itself.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Ends the session when the process `pid` ends. A process that is not there to begin with cannot be watched (its
/// number may be of another machine or container); then only the connection counts.
pub(crate) fn watch(pid: u32, stop: Stop) {
    if !alive(pid) {
        tracing::info!(
            pid,
            "the client's process is not to be seen from here and is not watched"
        );
        return;
    }
    // A thread of its own, since it only ever waits; the end of the process does not wait for it.
    let watch = move || {
        wait_for_end(pid);
        tracing::info!(pid, "the client's process is gone");
        stop.now(End::ParentGone);
    };
    if let Err(error) = std::thread::Builder::new().name("parent".into()).spawn(watch) {
        tracing::warn!(%error, "the client's process is not watched");
    }
}

fn wait_for_end(pid: u32) {
    #[cfg(target_os = "linux")]
    if ended_by_handle(pid).is_some() {
        return;
    }
    while alive(pid) {
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Waits on a handle, which unlike a number never comes to mean another process. `None` where the kernel has none.
#[cfg(target_os = "linux")]
fn ended_by_handle(pid: u32) -> Option<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Some(()),
        Err(_) => return None,
    };
    loop {
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], None) {
            Ok(_) => return Some(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

#[cfg(unix)]
fn alive(pid: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    // Without permission to signal it, it is there all the same.
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn alive(_: u32) -> bool {
    // The connection tells.
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_process_ends_the_session() {
        let mut child = tokio::process::Command::new("sleep")
            .arg("60")
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stop = Stop::default();
        watch(child.id().unwrap(), stop.clone());
        assert!(futures::FutureExt::now_or_never(stop.called()).is_none());
        child.kill().await.unwrap();
        assert_eq!(stop.called().await, End::ParentGone);
    }

    #[tokio::test]
    async fn a_process_that_was_never_there_ends_nothing() {
        let stop = Stop::default();
        for pid in [0, u32::MAX, i32::MAX as u32] {
            watch(pid, stop.clone());
        }
        tokio::task::yield_now().await;
        assert!(futures::FutureExt::now_or_never(stop.called()).is_none());
    }
}
