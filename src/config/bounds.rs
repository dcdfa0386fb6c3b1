//! `[limits]`: how much all that one command starts may take together.

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::str::FromStr;

/// Processes and threads of a command at one time, where nobody says otherwise.
const PROCESSES: u64 = 2048;

/// Per cent of the machine's memory, where nobody says otherwise.
const SHARE: u8 = 50;

/// The least that a program can be run in.
const LEAST_MEMORY: u64 = 16 << 20;
const LEAST_PROCESSES: u64 = 8;

/// How much all that one command starts may take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub memory: Memory,
    /// Processes and threads at one time.
    pub processes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            memory: Memory::Share(SHARE),
            processes: PROCESSES,
        }
    }
}

impl Bounds {
    /// With what the configuration says, as far as it does.
    pub(super) fn of(memory: Option<&serde_json::Value>, processes: Option<u64>) -> Self {
        let usual = Self::default();
        Self {
            memory: memory.and_then(Memory::of_value).unwrap_or(usual.memory),
            processes: processes.map_or(usual.processes, |most| most.max(LEAST_PROCESSES)),
        }
    }

    /// Whether a key of the table would allow more than this. A value that means nothing allows nothing.
    pub(super) fn is_exceeded(&self, key: &str, value: &serde_json::Value) -> bool {
        match key {
            "memory" => Memory::of_value(value).is_some_and(|wanted| wanted.may_exceed(self.memory)),
            "processes" => value.as_u64().is_some_and(|wanted| wanted > self.processes),
            _ => false,
        }
    }
}

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Memory {
    Bytes(u64),
    /// Per cent of the memory that the machine has, or the container around the server.
    Share(u8),
}

impl Memory {
    /// In bytes, where there are this many.
    pub fn of(self, there_are: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Share(share) => (there_are / 100).saturating_mul(u64::from(share)).max(LEAST_MEMORY),
        }
    }

    /// As the configuration writes it: bytes, or words.
    pub(super) fn of_value(value: &serde_json::Value) -> Option<Self> {
        match value {
            serde_json::Value::String(words) => words.parse().ok(),
            number => number.as_u64().filter(|bytes| *bytes >= LEAST_MEMORY).map(Self::Bytes),
        }
    }

    /// Whether this may be more than `other`. A share and bytes cannot be compared without the machine: the share of a
    /// machine that nobody knows may always be more.
    pub(super) fn may_exceed(self, other: Self) -> bool {
        match (self, other) {
            (Self::Bytes(one), Self::Bytes(other)) => one > other,
            (Self::Share(one), Self::Share(other)) => one > other,
            (one, other) => installed().is_none_or(|there_are| one.of(there_are) > other.of(there_are)),
        }
    }
}

/// Bytes of memory that there are: those of this machine, or of the container around the server where it has fewer. Nothing
/// where no file says so.
fn installed() -> Option<u64> {
    installed_by(&|path| std::fs::read_to_string(path).ok())
}

fn installed_by(read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let table = read(Path::new("/proc/meminfo"))?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (root, name) = match parts.next() {
            Some("") => ("/sys/fs/cgroup", "memory.max"),
            Some(list) if list.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let own = Path::new(root).join(parts.next().unwrap_or("").trim_start_matches('/'));
        // A group has no more than those that it is in; of a container these are not seen.
        let around = own.ancestors().take_while(|folder| folder.starts_with(root));
        around.map(|folder| folder.join(name)).collect()
    });
    let limits = limits.filter_map(|file| read(&file)?.trim().parse::<u64>().ok());
    Some(limits.fold(kibibytes << 10, u64::min))
}

/// Why words are no amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write an amount of memory of at least 16 MiB, as \"8 GiB\" or 512000000, or a share of the machine from \"1%\" to \"100%\""
)]
pub struct NoAmount;

impl FromStr for Memory {
    type Err = NoAmount;

    fn from_str(words: &str) -> Result<Self, NoAmount> {
        let words = words.trim();
        let digits = words.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = words.split_at(digits);
        let number: u64 = number.parse().map_err(|_| NoAmount)?;
        let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "%" => {
                return match u8::try_from(number) {
                    Ok(share @ 1..=100) => Ok(Self::Share(share)),
                    _ => Err(NoAmount),
                };
            }
            "" | "b" => 1,
            "kb" => 1000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            _ => return Err(NoAmount),
        };
        let bytes = number.checked_mul(factor).ok_or(NoAmount)?;
        (bytes >= LEAST_MEMORY).then_some(Self::Bytes(bytes)).ok_or(NoAmount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_by_table() {
        for (words, expected) in [
            ("8 GiB", Some(Memory::Bytes(8 << 30))),
            ("8GiB", Some(Memory::Bytes(8 << 30))),
            ("8g", Some(Memory::Bytes(8 << 30))),
            (" 512 MB ", Some(Memory::Bytes(512_000_000))),
            ("64MiB", Some(Memory::Bytes(64 << 20))),
            ("1 TiB", Some(Memory::Bytes(1 << 40))),
            ("33554432", Some(Memory::Bytes(32 << 20))),
            ("50%", Some(Memory::Share(50))),
            ("100 %", Some(Memory::Share(100))),
            ("0%", None),
            ("101%", None),
            ("300%", None),
            ("", None),
            ("%", None),
            ("GiB", None),
            ("-1 GiB", None),
            ("1.5 GiB", None),
            ("8 parsecs", None),
            // Nothing could be run in it.
            ("1 MiB", None),
            ("0", None),
            ("99999999999 TiB", None),
        ] {
            assert_eq!(words.parse().ok(), expected, "{words:?}");
        }
    }

    #[test]
    fn a_container_has_less_than_its_machine() {
        let gibibytes = |number: u64| (number << 30).to_string();
        for (files, expected) in [
            (vec![], None),
            (vec![("/proc/self/cgroup", "0::/\n".to_owned())], None),
            (vec![("/proc/meminfo", String::new())], Some(64 << 30)),
            (
                vec![
                    ("/proc/self/cgroup", "0::/\n".to_owned()),
                    ("/sys/fs/cgroup/memory.max", gibibytes(2)),
                ],
                Some(2 << 30),
            ),
            // The least of those that it is in counts, and what is no number is no limit.
            (
                vec![
                    ("/proc/self/cgroup", "0::/a/b\n".to_owned()),
                    ("/sys/fs/cgroup/a/b/memory.max", "max\n".to_owned()),
                    ("/sys/fs/cgroup/a/memory.max", gibibytes(4)),
                    ("/sys/fs/cgroup/memory.max", gibibytes(8)),
                ],
                Some(4 << 30),
            ),
            (
                vec![
                    ("/proc/self/cgroup", "5:cpu:/x\n4:memory,hugetlb:/y\n".to_owned()),
                    ("/sys/fs/cgroup/memory/y/memory.limit_in_bytes", gibibytes(1)),
                ],
                Some(1 << 30),
            ),
            (
                vec![
                    ("/proc/self/cgroup", "0::/\n".to_owned()),
                    ("/sys/fs/cgroup/memory.max", u64::MAX.to_string()),
                ],
                Some(64 << 30),
            ),
        ] {
            let has_machine = expected.is_some();
            let read = |path: &Path| {
                let found = files.iter().find(|(name, _)| Path::new(name) == path);
                match path == Path::new("/proc/meminfo") {
                    true => has_machine.then(|| format!("MemTotal:       {} kB\n", 64 << 20)),
                    false => found.map(|(_, text)| text.clone()),
                }
            };
            assert_eq!(installed_by(&read), expected, "{files:?}");
        }
    }

    #[test]
    fn what_may_be_more() {
        let gibibytes = |number: u64| Memory::Bytes(number << 30);
        for (one, other, expected) in [
            (gibibytes(2), gibibytes(1), true),
            (gibibytes(1), gibibytes(1), false),
            (Memory::Share(51), Memory::Share(50), true),
            (Memory::Share(50), Memory::Share(50), false),
            // No machine has as much, and none as little.
            (gibibytes(1 << 20), Memory::Share(100), true),
            (Memory::Share(100), Memory::Bytes(LEAST_MEMORY), true),
        ] {
            assert_eq!(one.may_exceed(other), expected, "{one:?} {other:?}");
        }
        if installed().is_some() {
            assert!(!Memory::Bytes(LEAST_MEMORY).may_exceed(Memory::Share(100)));
        }
    }
}
