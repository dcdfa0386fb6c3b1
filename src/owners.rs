//! Who can change what is on the disk: the one rule for programs that are started and for folders of sockets.

use std::fs::Metadata;

/// Who beside the person and the system's own users can change a file, or what a folder holds; none where nobody can.
/// `new_entries`: whether it counts that others can add entries to a sticky folder, whose entries they cannot move.
#[cfg(unix)]
pub fn changed_by_others(found: &Metadata, new_entries: bool) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt as _;
    if !is_trusted(found.uid()) {
        return Some("another user owns");
    }
    let is_sticky = found.is_dir() && found.mode() & 0o1000 != 0 && !new_entries;
    // Links have no rights.
    if found.is_symlink() || is_sticky {
        return None;
    }
    match found.mode() {
        mode if mode & 0o002 != 0 => Some("every user can write to"),
        mode if mode & 0o020 != 0 && !accounts::is_own_group(found.gid()) => Some("a group of others can write to"),
        _ => None,
    }
}

#[cfg(not(unix))]
pub fn changed_by_others(_found: &Metadata, _new_entries: bool) -> Option<&'static str> {
    None
}

#[cfg(unix)]
use accounts::is_trusted;

#[cfg(unix)]
mod accounts {
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::sync::LazyLock;

    /// Who owns these provides every program of the system. In a container it can be any user, and in a user namespace the
    /// one that stands for all that are not known there.
    const SYSTEM: &[&str] = &["/", "/usr"];
    /// Groups whose members may act as root, or look after what all users run. On macOS every user is in `staff`.
    const ADMINISTRATORS: &[&str] = if cfg!(target_os = "macos") {
        &["admin", "root", "sudo", "wheel"]
    } else {
        &["admin", "root", "staff", "sudo", "wheel"]
    };
    /// Groups that are everybody's first one on some systems, so that who is in them is written nowhere.
    const SHARED: &[&str] = &["domain users", "nobody", "nogroup", "staff", "users"];
    /// Where users and groups are looked up without asking a directory. (`sss` and the like may ask one.)
    const FILES: &[&str] = &["altfiles", "compat", "db", "files", "systemd"];

    /// Numbers of users and groups that may change everything anyway, and the person's own number as a user.
    static TRUSTED: LazyLock<(BTreeSet<u32>, BTreeSet<u32>)> = LazyLock::new(|| {
        let system = SYSTEM.iter().filter_map(|path| fs::metadata(path).ok());
        let system = system.map(|found| (found.uid(), found.gid()));
        let (mut users, groups): (BTreeSet<u32>, BTreeSet<u32>) = system.chain([(0, 0)]).unzip();
        users.insert(rustix::process::geteuid().as_raw());
        (users, groups)
    });

    pub(super) fn is_trusted(user: u32) -> bool {
        TRUSTED.0.contains(&user)
    }

    /// Whether nobody else is in a group, such as the person's private one, or one that an installer has made for its folder.
    pub(super) fn is_own_group(group: u32) -> bool {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        TRUSTED.1.contains(&group)
            || Accounts {
                person: rustix::process::geteuid().as_raw(),
                groups: &read("/etc/group"),
                users: &read("/etc/passwd"),
                // Without this file nothing but the files is asked, but on macOS.
                lookup: &match cfg!(target_os = "macos") {
                    true => "group: directory".to_owned(),
                    false => read("/etc/nsswitch.conf"),
                },
            }
            .has_no_others(group, is_trusted)
    }

    /// What the files tell of users and groups: the texts of `/etc/group`, `/etc/passwd` and `/etc/nsswitch.conf`.
    pub(super) struct Accounts<'a> {
        /// The person's number.
        pub person: u32,
        pub groups: &'a str,
        pub users: &'a str,
        pub lookup: &'a str,
    }

    impl Accounts<'_> {
        /// Whether only users of whom `own` is true are in a group. What the files do not tell of counts as somebody else.
        pub(super) fn has_no_others(&self, group: u32, own: fn(u32) -> bool) -> bool {
            let number = |line: &str, at: usize| line.split(':').nth(at)?.parse::<u32>().ok();
            let entry = self.groups.lines().find(|line| number(line, 2) == Some(group));
            let name = entry.and_then(|line| line.split(':').next()).unwrap_or_default();
            if ADMINISTRATORS.contains(&name) {
                return true;
            }
            let user = |name: &str| {
                let mut lines = self.users.lines();
                lines.find_map(|line| (line.split(':').next() == Some(name)).then(|| number(line, 2))?)
            };
            let members = entry.and_then(|line| line.split(':').nth(3)).unwrap_or_default();
            let mut members = members.split(',').map(str::trim);
            let mut users_of_it = self.users.lines().filter(|line| number(line, 3) == Some(group));
            if !members.all(|name| name.is_empty() || user(name).is_some_and(own))
                || !users_of_it.all(|line| number(line, 2).is_some_and(own))
            {
                return false;
            }
            // A private group has the number or the name of its user.
            let is_private = group == self.person || entry.is_some() && user(name) == Some(self.person);
            is_private || entry.is_some() && !SHARED.contains(&&*name.to_lowercase()) && !self.has_directory()
        }

        /// Whether users or groups are looked up in a directory, which may know of more than the files.
        fn has_directory(&self) -> bool {
            let lines = self
                .lookup
                .lines()
                .map(|line| line.split('#').next().unwrap_or_default());
            let databases = lines.filter_map(|line| line.split_once(':'));
            let of_accounts = databases.filter(|(name, _)| ["group", "initgroups", "passwd"].contains(&name.trim()));
            let mut services = of_accounts.flat_map(|(_, services)| services.split_whitespace());
            // `[success=merge]` is no service.
            services.any(|service| !service.starts_with('[') && !FILES.contains(&service))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::accounts::Accounts;

    #[test]
    fn groups_by_table() {
        let users = "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\nbob:x:1001:50::/home/bob:/bin/sh\n\
                     eve:x:1002:905::/home/eve:/bin/sh\n";
        let groups = "root:x:0:\nadmin:*:80:root,bob\nusers:x:100:\nnvm:x:900:ada\nrust:x:901:root,ada\n\
                      shared:x:902:ada,bob\nempty:x:903:\ndirectory:x:904:carol\neves:x:905:\nada:x:1007:\nbroken:x\n\
                      wheel:x:10:carol\n";
        let own = |user| [0, 1000].contains(&user);
        for (group, by_files, by_directory) in [
            // Of administrators.
            (80, true, true),
            (10, true, true),
            // The person's private one, by its number and by its name.
            (1000, true, true),
            (1007, true, true),
            // Of installers in containers, and of package managers: a directory may know of more members.
            (900, true, false),
            (901, true, false),
            (903, true, false),
            // Bob is in it, Eve has it as her own, nobody here knows Carol.
            (902, false, false),
            (905, false, false),
            (904, false, false),
            // Everybody's first one, and one that the files do not tell of.
            (100, false, false),
            (906, false, false),
        ] {
            for (lookup, expected) in [
                (
                    "passwd: files systemd\ngroup: compat [success=merge] systemd # sss\nhosts: dns\n",
                    by_files,
                ),
                ("", by_files),
                ("passwd: files sss\ngroup: files\n", by_directory),
                ("group:\tfiles ldap\n", by_directory),
            ] {
                let accounts = Accounts {
                    person: 1000,
                    groups,
                    users,
                    lookup,
                };
                assert_eq!(accounts.has_no_others(group, own), expected, "{group} {lookup:?}");
            }
        }
    }
}
