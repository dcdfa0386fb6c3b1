//! The same folder under several names: what is mounted a second time elsewhere.

use std::path::{Path, PathBuf};

/// A place by its filesystem and its path in there, which is the same by whatever mount it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    device: String,
    path: PathBuf,
}

impl Origin {
    pub(super) fn lies_in(&self, folder: &Self) -> bool {
        self.device == folder.device && self.path.starts_with(&folder.path)
    }
}

#[derive(Debug)]
struct Mount {
    device: String,
    /// What of the filesystem is mounted.
    root: PathBuf,
    at: PathBuf,
}

/// What is mounted where.
#[derive(Debug, Default)]
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    /// The system's table of now; empty on systems that have none, nothing where it cannot be read.
    pub(super) fn table() -> Option<Vec<u8>> {
        #[cfg(target_os = "linux")]
        return std::fs::read("/proc/self/mountinfo").ok();
        #[cfg(not(target_os = "linux"))]
        Some(Vec::new())
    }

    pub(super) fn read(table: &[u8]) -> Self {
        let mount = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            Some(Mount {
                device: String::from_utf8_lossy(fields.next()?).into_owned(),
                root: unescaped(fields.next()?),
                at: unescaped(fields.next()?),
            })
        };
        Self(table.split(|byte| *byte == b'\n').filter_map(mount).collect())
    }

    /// Where a path without links comes from.
    pub(super) fn origin(&self, path: &Path) -> Option<Origin> {
        let mounts = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        // Of two on the same place the later one is seen.
        let mount = mounts.max_by_key(|mount| mount.at.components().count())?;
        Some(Origin {
            device: mount.device.clone(),
            path: mount.root.join(path.strip_prefix(&mount.at).ok()?),
        })
    }
}

/// Blanks and the like stand in the table as `\040`.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((byte, more)) = rest.split_first() {
        let digits = more.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) if *byte == b'\\' => {
                bytes.push(code);
                rest = &more[3..];
            }
            _ => {
                bytes.push(*byte);
                rest = more;
            }
        }
    }
    #[cfg(unix)]
    return PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes));
    #[cfg(not(unix))]
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_by_table() {
        let mounts = Mounts::read(
            b"21 1 8:1 / / rw - ext4 /dev/a rw\n22 21 8:2 /@home /home rw - btrfs /dev/b rw\n\
              23 21 8:2 /@home/ada/ws/bin /opt/tools rw - btrfs /dev/b rw\n24 21 8:1 /srv/my\\040data /mnt rw - ext4 /dev/a rw\n\
              25 21 0:5 / /mnt/in rw - tmpfs tmpfs rw\nbroken\n\n",
        );
        let origin = |path: &str| mounts.origin(Path::new(path)).expect("mounted");
        for (path, folder, expected) in [
            ("/home/ada/ws/bin/p", "/home/ada/ws", true),
            ("/opt/tools/p", "/home/ada/ws", true),
            ("/opt/tools", "/home/ada/ws/bin", true),
            ("/mnt/x", "/srv/my data", true),
            ("/opt/toolsmith", "/home/ada/ws", false),
            ("/home/ada/other", "/home/ada/ws", false),
            ("/mnt/in/x", "/srv/my data", false),
            ("/usr/bin/p", "/home/ada/ws", false),
        ] {
            assert_eq!(origin(path).lies_in(&origin(folder)), expected, "{path} {folder}");
        }
        assert_eq!(Mounts::default().origin(Path::new("/usr")), None);
    }
}
