//! Where programs of the person meet in the folders for temporary files: sockets that they look for by name, and texts that are
//! run once an editor closes them. Commands share these folders, and one that puts something at such a place is taken for the
//! other end: a program that is asked for keys, a terminal, or what to run.

use super::later::Later;
#[cfg(unix)]
use super::{entries, is_gone};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Whom such a name is kept from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// Nobody else makes it either.
    Always,
    /// Commands have some of their own (a display, a database); those that are there when one begins are another's.
    There,
}
use Kept::{Always, There};

/// Names right in a folder for temporary files. At its end `#` stands for digits, `*` for anything.
const NAMES: &[(&str, Kept)] = &[
    ("tmux-#", Always),
    ("screens", Always),
    ("uscreens", Always),
    ("ssh-*", Always),
    ("gpg-*", Always),
    ("emacs#", Always),
    ("bash-fc.*", Always),
    ("bash-fc-*", Always),
    ("crontab.*", Always),
    // What programs have made of code, which they run the next time.
    ("node-compile-cache", Always),
    ("v8-compile-cache-#", Always),
    ("phpstan", There),
    ("jiti", There),
    // Tickets of Kerberos.
    ("krb5cc*", Always),
    ("kubectl-edit-*", Always),
    ("psql.edit.*", Always),
    (".X11-unix", There),
    (".ICE-unix", There),
    (".s.PGSQL.*", There),
    ("dbus-*", There),
    ("hypr", There),
    ("kitty*", There),
    ("mysql.sock", There),
    ("mysqld.sock", There),
    ("mysqlx.sock", There),
    ("nvim.*", There),
    ("pulse-*", There),
    ("vscode-git-*", There),
    ("vscode-ipc-*", There),
    ("vscode-ssh-askpass-*", There),
    ("wezterm*", There),
    ("zellij-*", There),
];

/// What is said of such an entry, behind its name and "which".
const SAID: &str = "other programs of the person look for, or run";

fn kept(name: &OsStr) -> Option<Kept> {
    let name = name.to_str()?;
    let is = |pattern: &str| match pattern.strip_suffix(['*', '#']) {
        None => name == pattern,
        Some(start) => name.strip_prefix(start).is_some_and(|rest| {
            let only_digits = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
            pattern.ends_with('*') || only_digits
        }),
    };
    NAMES.iter().find_map(|(pattern, kept)| is(pattern).then_some(*kept))
}

/// Whether a path is that of a meeting place by its name, or lies in one: for what runs without walls, whoever made it.
pub(crate) fn is_meeting_place(place: &Path) -> bool {
    let temporary = ["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp"];
    let below = temporary.iter().find_map(|folder| place.strip_prefix(folder).ok());
    let top = below.and_then(|below| below.components().next());
    top.is_some_and(|top| kept(top.as_os_str()).is_some())
}

impl Later {
    /// The meeting place that this real path is or lies in, and what is said of it, if commands leave it alone.
    pub(super) fn meeting_around<'p>(&self, roots: &[PathBuf], place: &'p Path) -> Option<(&'p Path, &'static str)> {
        let around = roots.iter().filter(|root| place.starts_with(root));
        let root = around.max_by_key(|root| root.components().count())?;
        if !self.scratch.contains(root) {
            return None;
        }
        let top = place.ancestors().find(|above| above.parent() == Some(root.as_path()))?;
        let entry = match kept(top.file_name()?)? {
            Always => top,
            // What is there is not known: all of it may be.
            There if self.unlisted.iter().any(|unlisted| unlisted == root) => top,
            There => place
                .ancestors()
                .find(|above| self.there.iter().any(|there| there == above))?,
        };
        (!self.agreed.iter().any(|agreed| agreed == entry)).then_some((entry, SAID))
    }

    /// Those that are there, of the user that commands run as: what belongs to others they cannot change. Also the folders for
    /// temporary files that cannot be listed.
    #[cfg(unix)]
    pub(super) fn meetings(&self, roots: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
        use std::fs;
        use std::os::unix::fs::MetadataExt as _;
        let user = rustix::process::geteuid().as_raw();
        let is_ours = |place: &PathBuf| match fs::symlink_metadata(place) {
            Ok(found) => found.uid() == user && !found.file_type().is_symlink(),
            Err(error) => !is_gone(&error),
        };
        let (mut there, mut unlisted) = (Vec::new(), Vec::new());
        for root in roots.iter().filter(|root| self.scratch.contains(root)) {
            let Some(listed) = entries(root) else {
                unlisted.push(root.clone());
                continue;
            };
            for place in listed {
                match place.file_name().and_then(kept) {
                    // One that cannot be listed is left alone with all that is in it.
                    Some(There) if place.is_dir() => match entries(&place) {
                        Some(inside) => there.extend(inside),
                        None => there.push(place),
                    },
                    Some(_) => there.push(place),
                    None => {}
                }
            }
        }
        there.retain(|place| is_ours(place) && !roots.iter().any(|root| root.starts_with(place)));
        (there, unlisted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_table() {
        for (name, expected) in [
            ("tmux-1000", Some(Always)),
            ("tmux-x", None),
            ("tmux-", None),
            ("ssh-XXabc", Some(Always)),
            ("sshd", None),
            ("emacs0", Some(Always)),
            ("emacs-build", None),
            ("node-compile-cache", Some(Always)),
            ("node-compile-cache2", None),
            ("v8-compile-cache-0", Some(Always)),
            ("krb5cc_1000_x", Some(Always)),
            (".X11-unix", Some(There)),
            (".X11-unixx", None),
            (".s.PGSQL.5432", Some(There)),
            ("build", None),
        ] {
            assert_eq!(kept(OsStr::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn by_place() {
        let later = Later {
            scratch: vec!["/t".into()],
            there: vec!["/t/.X11-unix/X0".into()],
            ..Later::default()
        };
        let roots = ["/t", "/t/work", "/w", "/t/emacs1"].map(PathBuf::from);
        for (place, expected) in [
            ("/t/tmux-0", Some("/t/tmux-0")),
            ("/t/tmux-0/default", Some("/t/tmux-0")),
            ("/t/a/tmux-0", None),
            ("/t/work/tmux-0", None),
            ("/w/tmux-0", None),
            // A folder that was let be written is one to work in.
            ("/t/emacs1/server", None),
            ("/t/.X11-unix/X0", Some("/t/.X11-unix/X0")),
            ("/t/.X11-unix/X99", None),
            ("/t", None),
        ] {
            let found = later.meeting_around(&roots, Path::new(place)).map(|(entry, _)| entry);
            assert_eq!(found, expected.map(Path::new), "{place}");
        }
        let unlisted = Later {
            unlisted: vec!["/t".into()],
            ..later
        };
        for (place, expected) in [
            ("/t/.X11-unix/X99", Some("/t/.X11-unix")),
            ("/t/tmux-0/default", Some("/t/tmux-0")),
            ("/t/a", None),
        ] {
            let found = unlisted.meeting_around(&roots, Path::new(place));
            assert_eq!(found.map(|(entry, _)| entry), expected.map(Path::new), "{place}");
        }
    }

    /// A folder that cannot be listed is not an empty one.
    #[cfg(unix)]
    #[test]
    fn what_cannot_be_listed_is_there() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        fs::create_dir_all(root.join("open/.X11-unix")).expect("mkdir");
        fs::create_dir_all(root.join("shut")).expect("mkdir");
        fs::write(root.join("open/.X11-unix/X0"), "").expect("write");
        assert_eq!(entries(&root.join("absent")), Some(vec![]));
        assert_eq!(entries(&root.join("open")), Some(vec![root.join("open/.X11-unix")]));
        let roots = ["open", "shut", "absent"].map(|name| root.join(name));
        let later = Later {
            scratch: roots.to_vec(),
            ..Later::default()
        };
        let close = |name: &str, mode: u32| {
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).expect("chmod");
        };
        close("shut", 0o300);
        close("open/.X11-unix", 0o300);
        let found = later.meetings(&roots);
        close("shut", 0o700);
        close("open/.X11-unix", 0o700);
        let expected = match rustix::process::geteuid().is_root() {
            true => (vec![root.join("open/.X11-unix/X0")], vec![]),
            false => (vec![root.join("open/.X11-unix")], vec![root.join("shut")]),
        };
        assert_eq!(found, expected);
    }
}
