//! The bound on a command's memory where the kernel keeps none (see `group`): the keeper sums what descends from it, and
//! ends a command that takes too much.
//!
//! What is summed:
//! - of each process what is its own, in memory or swapped out; what processes share after a fork counts once;
//! - what belongs to no process: files in memory (`/dev/shm`, `memfd`), shared mappings, pages that only a pipe or a socket
//!   still holds, pipes, sockets, tables of the kernel. Of it is known only how much there is around the keeper (in its own
//!   cgroup, else on the machine), so all that has come since the command began counts as the command's. Of the kernel's
//!   own there are on the machine only the tables and stacks of processes: the rest grows for many reasons.
//!
//! What can be read again from a disk (the page cache) does not count, unless it is locked in memory.
//!
//! Summing takes long, reading one number of the machine does not. So the keeper looks at the machine the more often the
//! less is left, and sums only when that could be the command, and now and then in any case.

use super::{descent, sys};
use crate::config::bounds::Memory as Bound;
use std::cmp::Ordering;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes that a command could take in a millisecond, at most: more than processors fill today.
const A_MILLISECOND: u64 = 16 << 20;

/// Between two looks.
const SOONEST: Duration = Duration::from_millis(5);
const LATEST: Duration = Duration::from_millis(250);

/// Between two sums where nothing calls for one: also so many times as long as the last one took.
const SUM_AGAIN: Duration = Duration::from_millis(500);
const SUM_COSTS: u32 = 50;

/// After how long what belongs to no process is looked at again where only with it there is too much: the kernel counts its parts one
/// after the other, so while others come and go there may seem to be more for a moment.
const DOUBT: Duration = Duration::from_millis(40);

/// How long an exact sum may take. What has not been summed by then is judged by what the machine has lost.
const PATIENCE: Duration = Duration::from_millis(200);

/// Smaller processes are not looked at for whether they share their memory with another.
const LARGE: u64 = 1 << 20;

/// Watches over what descends from this process.
#[derive(Debug)]
pub(super) struct Memory {
    bound: Bound,
    /// Bytes that a command may take. Until the first look it is not known how much a group around it has.
    most: u64,
    looked: bool,
    around: Around,
    /// The least since the command began.
    least: Taken,
    /// What the last sum came to, and the machine and the time of it.
    summed: u64,
    then: Taken,
    when: Instant,
    cost: Duration,
    due: Instant,
    /// Since when there seems to be too much, of which a part belongs to no process.
    doubt: Option<Instant>,
}

/// What the command has, in bytes.
#[derive(Clone, Copy, Debug)]
struct Sum {
    all: u64,
    /// Of it, what belongs to no process.
    common: u64,
}

/// What is taken of the memory around a command, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taken {
    /// How much memory the machine has.
    whole: u64,
    /// Of the machine, swap included: what no program could have without another going.
    machine: u64,
    /// Of it, what is swapped out.
    swapped: u64,
    /// What belongs to no process, without the kernel's own.
    common: u64,
    /// The kernel's own: on the machine the tables and stacks of processes.
    kernel: u64,
    /// What of the machine's kernel can be given up, where its own is known only with that.
    reclaimable: u64,
}

impl Taken {
    fn least(self, other: Self) -> Self {
        Self {
            whole: self.whole,
            machine: self.machine.min(other.machine),
            swapped: self.swapped.min(other.swapped),
            common: self.common.min(other.common),
            kernel: self.kernel.min(other.kernel),
            reclaimable: self.reclaimable.min(other.reclaimable),
        }
    }
}

impl Memory {
    /// Before the command begins.
    pub(super) fn watch(bound: Bound) -> Self {
        let around = Around::find();
        let taken = around.look().unwrap_or_default();
        let most = bound.of(taken.whole);
        let now = Instant::now();
        Self {
            bound,
            most,
            looked: false,
            around,
            least: taken,
            summed: 0,
            then: taken,
            when: now,
            cost: Duration::ZERO,
            due: now + pause(most),
            doubt: None,
        }
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Has a look. How much there may be, if there is more.
    pub(super) fn passed(&mut self, now: Instant) -> Option<u64> {
        if !self.looked {
            // Most commands have ended before.
            self.looked = true;
            self.most = self.bound.of(self.around.whole());
        }
        let taken = self.around.look();
        if let Some(taken) = taken {
            self.least = self.least.least(taken);
        }
        let could_be = taken.map_or(u64::MAX, |taken| self.could_be(taken));
        let rest = SUM_AGAIN.max(self.cost * SUM_COSTS);
        if could_be <= self.most && now < self.when + rest {
            self.due = now + pause(self.most - could_be);
            return None;
        }
        let taken = taken.unwrap_or_default();
        let sum = self.sum(taken);
        self.cost = now.elapsed();
        self.when = now + self.cost;
        self.then = taken;
        self.summed = sum.all;
        self.due = self.when + pause(self.most.saturating_sub(sum.all)).max(self.cost);
        self.is_too_much(sum, now).then_some(self.most)
    }

    /// Whether there is more than there may be: by its processes at once, else once it is so for a while.
    fn is_too_much(&mut self, sum: Sum, now: Instant) -> bool {
        if sum.all <= self.most {
            self.doubt = None;
            return false;
        }
        if sum.all - sum.common > self.most {
            return true;
        }
        let since = *self.doubt.get_or_insert(now);
        if now.duration_since(since) >= DOUBT {
            return true;
        }
        self.due = since + DOUBT;
        false
    }

    /// The most that the command can have by now: what it had, and all that the machine has lost since.
    fn could_be(&self, taken: Taken) -> u64 {
        self.summed + taken.machine.saturating_sub(self.then.machine)
    }

    /// What the command has. Exact where it could be too much.
    fn sum(&self, taken: Taken) -> Sum {
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let kernel = since(taken.kernel, self.least.kernel);
        let kernel = kernel.saturating_sub(since(taken.reclaimable, self.least.reclaimable));
        let common = since(taken.common, self.least.common) + kernel;
        let family = descent::descendants(sys::own_pid());
        // What is shared counts with each that has it, and nobody knows whose the swapped pages are.
        let at_most: u64 = family.iter().map(|pid| resident(*pid)).sum::<u64>();
        let at_most = at_most + since(taken.swapped, self.least.swapped) + common;
        if at_most <= self.most {
            return Sum { all: at_most, common };
        }
        let all = match exact(family, self.most) {
            Some(own) => own + common,
            // It would take too long.
            None if since(taken.machine, self.least.machine) > self.most => u64::MAX,
            None => self.most,
        };
        Sum { all, common }
    }
}

/// Bytes of memory that there are around this process.
pub(super) fn whole() -> u64 {
    Around::find().whole()
}

/// How long nothing can happen while this much is left.
fn pause(left: u64) -> Duration {
    Duration::from_millis(left / A_MILLISECOND).clamp(SOONEST, LATEST)
}

/// What these processes have of their own, together; as soon as it is more than `most`, no more is summed. None if it takes
/// too long.
fn exact(family: Vec<libc::pid_t>, most: u64) -> Option<u64> {
    let begun = Instant::now();
    let mut sum = 0;
    for pid in with_own_memory(family) {
        sum += own(pid).unwrap_or_else(|| resident(pid));
        if sum > most {
            break;
        }
        if begun.elapsed() > PATIENCE {
            return None;
        }
    }
    Some(sum)
}

/// Of processes that have one memory (as between `vfork` and the program that follows), one.
fn with_own_memory(family: Vec<libc::pid_t>) -> Vec<libc::pid_t> {
    let (large, mut found): (Vec<_>, Vec<_>) = family.into_iter().partition(|pid| resident(*pid) > LARGE);
    let mut sorted: Vec<libc::pid_t> = Vec::new();
    for pid in large {
        // They can end meanwhile, and then have no order: sorting as such must not meet that.
        let place = sorted.binary_search_by(|known| sys::compare_memories(*known, pid).unwrap_or(Ordering::Less));
        if let Err(at) = place {
            sorted.insert(at, pid);
        }
    }
    found.append(&mut sorted);
    found
}

/// What a process has in memory that is no file's, in bytes: with what it shares after a fork.
fn resident(pid: libc::pid_t) -> u64 {
    let pages = |path: String| pages(&fs::read_to_string(path).ok()?);
    let whole = pages(format!("/proc/{pid}/statm"));
    // Whose first thread has ended shows nothing there, while others run on.
    let whole = whole
        .filter(|pages| *pages > 0)
        .or_else(|| threads(pid).find_map(|thread| pages(format!("{thread}/statm")).filter(|pages| *pages > 0)));
    whole.unwrap_or(0) * sys::page_size()
}

/// The second number less the third: `size resident shared …`. Shared are files and what belongs to no process.
fn pages(statm: &str) -> Option<u64> {
    let mut numbers = statm.split_ascii_whitespace().skip(1).map(str::parse::<u64>);
    let (Some(Ok(resident)), Some(Ok(shared))) = (numbers.next(), numbers.next()) else {
        return None;
    };
    Some(resident.saturating_sub(shared))
}

/// What a process has of its own in bytes, in memory and swapped out, its part of what it shares after a fork. None where
/// it may not be read, or the kernel is older than 5.0.
fn own(pid: libc::pid_t) -> Option<u64> {
    let read = |path: String| fs::read_to_string(path).ok().filter(|text| !text.is_empty());
    let rollup = read(format!("/proc/{pid}/smaps_rollup"))
        .or_else(|| threads(pid).find_map(|thread| read(format!("{thread}/smaps_rollup"))))?;
    let kept = field(&rollup, "Pss_Anon:")? + field(&rollup, "SwapPss:").unwrap_or(0);
    let huge = field(&rollup, "Private_Hugetlb:").unwrap_or(0) + field(&rollup, "Shared_Hugetlb:").unwrap_or(0);
    Some(kept + huge)
}

fn threads(pid: libc::pid_t) -> impl Iterator<Item = String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    threads.filter_map(|thread| Some(thread.path().to_str()?.to_owned()))
}

/// What a file of the kernel's says: small, but its size is not known.
fn text(path: impl AsRef<Path>) -> Option<String> {
    let mut text = String::with_capacity(8 << 10);
    File::open(path).ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

/// The bytes of a line such as `MemTotal:  24684092 kB`, or `shmem 4096`.
fn field(table: &str, name: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = line.split_ascii_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    Some(if words.next() == Some("kB") {
        number << 10
    } else {
        number
    })
}

/// The lists of pages that belong to no file or are kept from being given up, and what of them is counted elsewhere: what
/// processes have mapped, what is in files in memory, and copies of what is swapped out.
type Lists = [&'static str; 6];

const OF_MACHINE: Lists = [
    "Active(anon):",
    "Inactive(anon):",
    "Unevictable:",
    "AnonPages:",
    "Shmem:",
    "SwapCached:",
];
const OF_GROUP: Lists = [
    "active_anon ",
    "inactive_anon ",
    "unevictable ",
    "anon ",
    "shmem ",
    "swapcached ",
];
const OF_OLD_GROUP: Lists = [
    "total_active_anon ",
    "total_inactive_anon ",
    "total_unevictable ",
    "total_rss ",
    "total_shmem ",
    "total_swapcached ",
];

/// What is held in memory by none of the things that are counted: pages that were given to a pipe or a socket and mapped
/// no longer, secret memory (`memfd_secret`), parts of huge pages, what files have locked.
fn held(table: &str, lists: Lists) -> u64 {
    let [active, inactive, unevictable, mapped, shared, swapped] = lists.map(|name| field(table, name).unwrap_or(0));
    // What waits to be put on a list, or can be given up at any time, is mapped and on none of them.
    (active + inactive + unevictable).saturating_sub(mapped + shared + swapped)
}

/// Where is read what belongs to no process.
#[derive(Debug)]
enum Around {
    /// This process's own cgroup.
    Group(PathBuf),
    /// Its own, in the hierarchy of memory of old systems.
    OldGroup(PathBuf),
    Machine,
}

impl Around {
    fn find() -> Self {
        let own = text("/proc/self/cgroup").unwrap_or_default();
        let root = PathBuf::from("/sys/fs/cgroup");
        let below = |root: PathBuf, path: &str| root.join(path.trim_start_matches('/'));
        for line in own.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let (folder, old) = match controllers {
                "" => (below(root.clone(), path), false),
                list if list.split(',').any(|one| one == "memory") => (below(root.join("memory"), path), true),
                _ => continue,
            };
            match (folder.join("memory.stat").exists(), old) {
                (true, false) => return Self::Group(folder),
                // The group of all is the machine.
                (true, true) if path != "/" => return Self::OldGroup(folder),
                _ => {}
            }
        }
        Self::Machine
    }

    /// Bytes of memory that there are for all around.
    fn whole(&self) -> u64 {
        let machine = fs::read_to_string("/proc/meminfo").ok();
        let machine = machine.and_then(|table| field(&table, "MemTotal:")).unwrap_or(u64::MAX);
        let (folder, name) = match self {
            Self::Group(folder) => (folder, "memory.max"),
            Self::OldGroup(folder) => (folder, "memory.limit_in_bytes"),
            Self::Machine => return machine,
        };
        // A group has no more than those that it is in; of a container these are not seen.
        let limits = folder
            .ancestors()
            .take_while(|folder| folder.starts_with("/sys/fs/cgroup"))
            .filter_map(|folder| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok());
        limits.fold(machine, u64::min)
    }

    fn look(&self) -> Option<Taken> {
        let table = text("/proc/meminfo")?;
        let of = |name: &str| field(&table, name);
        let swapped = of("SwapTotal:")?.saturating_sub(of("SwapFree:")?);
        let whole = of("MemTotal:")?;
        let machine = whole.saturating_sub(of("MemAvailable:")?) + swapped;
        let taken = Taken {
            whole,
            machine,
            swapped,
            common: of("Shmem:").unwrap_or(0) + held(&table, OF_MACHINE),
            kernel: of("PageTables:").unwrap_or(0) + of("KernelStack:").unwrap_or(0),
            reclaimable: 0,
        };
        let reclaimable = of("SReclaimable:").unwrap_or(0);
        Some(self.inside(taken, reclaimable).unwrap_or(taken))
    }

    /// The same with what is known of the group.
    fn inside(&self, taken: Taken, reclaimable: u64) -> Option<Taken> {
        match self {
            Self::Machine => None,
            Self::Group(folder) => {
                let table = text(folder.join("memory.stat"))?;
                let of = |name: &str| field(&table, name).unwrap_or(0);
                // Older kernels have no sum of their own memory.
                let kernel = field(&table, "kernel ").map_or_else(
                    || of("kernel_stack ") + of("pagetables ") + of("slab_unreclaimable "),
                    |kernel| kernel.saturating_sub(of("slab_reclaimable ")),
                );
                Some(Taken {
                    common: of("shmem ") + of("sock ") + held(&table, OF_GROUP),
                    kernel,
                    ..taken
                })
            }
            Self::OldGroup(folder) => {
                let table = text(folder.join("memory.stat"))?;
                let kernel = text(folder.join("memory.kmem.usage_in_bytes"));
                let kernel = kernel.and_then(|bytes| bytes.trim().parse().ok());
                // Where it is not counted, the machine's is known.
                let (kernel, reclaimable) = kernel.map_or((taken.kernel, 0), |kernel| (kernel, reclaimable));
                Some(Taken {
                    common: field(&table, "total_shmem ")? + held(&table, OF_OLD_GROUP),
                    kernel,
                    reclaimable,
                    ..taken
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_by_table() {
        let meminfo = "MemTotal:       24684092 kB\nMemFree: 5 kB\nHugePages_Total:       3\n";
        for (table, name, expected) in [
            (meminfo, "MemTotal:", Some(24_684_092 << 10)),
            (meminfo, "HugePages_Total:", Some(3)),
            (meminfo, "SwapTotal:", None),
            ("anon 5\nshmem 4096\n", "shmem ", Some(4096)),
            ("shmem_thp 7\nshmem 4096\n", "shmem ", Some(4096)),
            ("shmem x\n", "shmem ", None),
        ] {
            assert_eq!(field(table, name), expected, "{name}");
        }
        let lists =
            "inactive_anon 700\nactive_anon 300\nunevictable 50\nanon 500\nanon_thp 7\nshmem 200\nswapcached 10\n";
        for (table, lists, expected) in [
            (lists.to_owned(), OF_GROUP, 340),
            // Pages on their way to a list.
            (lists.replace("anon 500", "anon 5000"), OF_GROUP, 0),
            (
                lists.lines().map(|line| format!("total_{line}\n")).collect::<String>().replace("total_anon ", "total_rss "),
                OF_OLD_GROUP,
                340,
            ),
            (
                "Active(anon): 3 kB\nInactive(anon): 7 kB\nUnevictable: 2 kB\nAnonPages: 5 kB\nShmem: 2 kB\nSwapCached: 0 kB\n"
                    .to_owned(),
                OF_MACHINE,
                5 << 10,
            ),
        ] {
            assert_eq!(held(&table, lists), expected, "{table}");
        }
        assert_eq!(pages("300 200 50 1 0 90 0\n"), Some(150));
        assert_eq!(pages("0 0 0 0 0 0 0\n"), Some(0));
        assert_eq!(pages(""), None);
    }

    #[test]
    fn nothing_can_happen_between_two_looks() {
        for (left, expected) in [
            (0, SOONEST),
            (64 << 20, SOONEST),
            (1 << 30, Duration::from_millis(64)),
            (64 << 30, LATEST),
        ] {
            assert_eq!(pause(left), expected, "{left}");
        }
    }

    /// What belongs to no process has to stay for a while, as it may be another program's or never have been there.
    #[test]
    fn what_is_nobodys_is_looked_at_twice() {
        let now = Instant::now();
        let mut memory = Memory::watch(Bound::Bytes(100));
        memory.most = 100;
        let mut is_too_much = |all, common, after| memory.is_too_much(Sum { all, common }, now + after);
        assert!(is_too_much(101, 0, Duration::ZERO) && is_too_much(u64::MAX, 50, Duration::ZERO));
        assert!(!is_too_much(120, 60, Duration::ZERO) && !is_too_much(120, 60, DOUBT / 2));
        assert!(is_too_much(120, 60, DOUBT));
        // It has been less meanwhile.
        assert!(!is_too_much(100, 60, DOUBT) && !is_too_much(120, 60, 2 * DOUBT) && is_too_much(120, 60, 3 * DOUBT));
    }

    #[test]
    fn this_process_has_memory_of_its_own() {
        let own_pid = sys::own_pid();
        let before = resident(own_pid);
        let mut much = vec![1_u8; 32 << 20];
        much[5] = 2;
        assert!(std::hint::black_box(&much).len() > 1 && resident(own_pid) >= before + (30 << 20));
        assert!(own(own_pid).is_some_and(|own| own >= 30 << 20));
        assert!(own(own_pid).is_some_and(|own| own <= resident(own_pid) + (64 << 20)));
        assert!(resident(libc::pid_t::MAX) == 0 && own(libc::pid_t::MAX).is_none());
        // One memory, seen twice.
        assert_eq!(with_own_memory(vec![own_pid, own_pid]).len(), 1);
    }
}
