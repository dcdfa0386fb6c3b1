//! How long a test kept a processor busy: a bound on that says nothing of the load of the machine.

use std::time::Duration;

/// How long a processor has worked for this thread: others may keep it from one for as long as they like.
pub(crate) fn busy() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the times of this thread");
    let nanoseconds = times.split(' ').next().and_then(|time| time.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}
