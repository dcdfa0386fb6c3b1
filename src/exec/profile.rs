//! Permission profiles made concrete: a profile and a place give a confinement. The symbols of a profile are looked up
//! here and nowhere before, at the moment in which a sandbox is made, so that they follow the turn's folders.

mod globs;
mod secrets;

pub(super) use globs::{Compiled, Pattern};
pub use secrets::{PRIVATE, half_written, private_folder, secrets, secrets_of_the_system};

use super::confinement::{Confinement, Walls, resolve};
use super::program;
use super::protected::Guard;
use crate::config::permissions::{Access, Network, Profile, Subject};
use crate::protocol::settings::SandboxPolicy;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What programs of the system need to start, as far as it exists.
const MINIMAL: [&str; 16] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr",
    "/etc",
    "/dev",
    "/proc",
    "/sys",
    "/nix/store",
    "/gnu/store",
    "/System",
    "/Library",
    "/private/etc",
];
/// What of these places no program needs that is not the system's own.
const NOT_MINIMAL: [&str; 6] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
];

/// Where a profile is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The thread's folder: the implicit root of the workspace. Absolute.
    pub cwd: PathBuf,
    /// Further folders of the workspace, absolute.
    pub runtime_roots: Vec<PathBuf>,
    /// The folder that `$TMPDIR` names.
    pub tmpdir: Option<PathBuf>,
    /// The person's home folder.
    pub home: Option<PathBuf>,
}

/// One entry with its place found.
struct Rule {
    /// As it was named.
    asked: PathBuf,
    /// Links followed.
    real: PathBuf,
    access: Access,
    /// The thread's folder, which nobody named.
    is_cwd: bool,
}

impl Profile {
    /// The profile that says what a sandbox policy says.
    pub fn of_policy(policy: &SandboxPolicy) -> Self {
        let mut filesystem = BTreeMap::from([(Subject::Root, Access::Read)]);
        match policy {
            SandboxPolicy::DangerFullAccess => {
                filesystem.insert(Subject::Root, Access::Write);
            }
            SandboxPolicy::ReadOnly { .. } => {}
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
                ..
            } => {
                let own = writable_roots.iter().cloned().map(Subject::Path);
                let tmpdir = (!exclude_tmpdir_env_var).then_some(Subject::Tmpdir);
                let slash_tmp = (!exclude_slash_tmp).then_some(Subject::SlashTmp);
                let all = own
                    .chain(tmpdir)
                    .chain(slash_tmp)
                    .chain([Subject::Workspace(PathBuf::new())]);
                filesystem.extend(all.map(|subject| (subject, Access::Write)));
            }
        }
        Self {
            filesystem,
            network: Network {
                enabled: Some(policy.network_access()),
                ..Network::default()
            },
            ..Self::default()
        }
    }

    /// The sandbox policy that comes nearest; of what it cannot say, only what is narrower is left out.
    pub fn policy(&self, home: Option<&Path>) -> SandboxPolicy {
        if self.is_unrestricted() {
            return SandboxPolicy::DangerFullAccess;
        }
        let network_access = self.network.is_whole();
        let writes = |subject: &Subject| self.filesystem.get(subject) == Some(&Access::Write);
        if !self.filesystem.values().any(|access| *access == Access::Write) {
            return SandboxPolicy::ReadOnly { network_access };
        }
        let named = self.filesystem.iter().filter(|(_, access)| **access == Access::Write);
        let roots = named.filter_map(|(subject, _)| match subject {
            Subject::Root => Some(PathBuf::from("/")),
            Subject::Path(path) => Some(path.clone()),
            Subject::Home(below) => Some(home?.join(below)),
            _ => None,
        });
        SandboxPolicy::WorkspaceWrite {
            writable_roots: roots.collect(),
            network_access,
            exclude_tmpdir_env_var: !writes(&Subject::Tmpdir),
            exclude_slash_tmp: !writes(&Subject::SlashTmp),
        }
    }

    /// Whether nothing is closed, so that there is no sandbox at all.
    pub fn is_unrestricted(&self) -> bool {
        self.filesystem.get(&Subject::Root) == Some(&Access::Write)
            && self.filesystem.values().all(|access| *access == Access::Write)
            && self.network.is_whole()
    }

    /// The folders that the profile itself adds to the workspace.
    pub fn own_roots(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let found = self.workspace_roots.iter().filter_map(|root| match root {
            Subject::Path(path) => Some(path.clone()),
            Subject::Home(below) => Some(home?.join(below)),
            Subject::Root => Some(PathBuf::from("/")),
            _ => None,
        });
        found.collect()
    }

    /// The confinement that the profile comes to in a place, as the disk is now. Entries whose place does not exist open
    /// nothing; of two for the same place the stricter counts, else the one that lies deeper.
    pub fn realise(&self, place: &Place) -> Confinement {
        self.made(place, true)
    }

    /// The same for who only asks what may be read: what fits a pattern is not looked up on the disk.
    pub fn for_reading(&self, place: &Place) -> Confinement {
        self.made(place, false)
    }

    fn made(&self, place: &Place, look_up: bool) -> Confinement {
        // Whatever the profile, programs of our own do not come out of the workspace.
        place
            .runtime_roots
            .iter()
            .chain([&place.cwd])
            .for_each(|folder| program::guard(folder));
        if self.is_unrestricted() {
            return Confinement::outside();
        }
        let rules = self.rules(place);
        let mut walls = Walls {
            network: self.network.is_whole(),
            workspace: rules.iter().any(|rule| rule.access == Access::Write && rule.is_cwd),
            hosts: self.network.hosts().collect(),
            denied_hosts: self.network.closed_hosts().collect(),
            loopback_ports: self.network.loopback_ports.clone(),
            sockets: self.sockets(place),
            ..Walls::default()
        };
        // The strictest word on each place.
        let mut words: BTreeMap<&Path, Access> = BTreeMap::new();
        for rule in &rules {
            let word = words.entry(&rule.real).or_insert(rule.access);
            *word = (*word).max(rule.access);
        }
        let opens =
            |rule: &&Rule| rule.access == Access::Write && words.get(rule.real.as_path()) == Some(&Access::Write);
        let (implicit, named): (Vec<&Rule>, Vec<&Rule>) = rules.iter().filter(opens).partition(|rule| rule.is_cwd);
        let places: Vec<PathBuf> = named.iter().chain(&implicit).map(|rule| rule.real.clone()).collect();
        for rule in named {
            walls.add(&rule.asked, &places);
        }
        for rule in implicit {
            // Inside a protected folder the thread's own is not opened.
            if Guard::of(&walls.roots).nearest(&rule.real).is_none() {
                walls.add(&rule.asked, &places);
            }
        }
        let of = |access: Access| words.iter().filter(move |(_, word)| **word == access);
        let inside = |path: &Path| walls.roots.iter().any(|root| path.starts_with(root) && path != root);
        let read_only: Vec<PathBuf> = of(Access::Read)
            .map(|(path, _)| path.to_path_buf())
            .filter(|path| inside(path))
            .collect();
        walls.read_only = read_only;
        let open: Vec<&Path> = words
            .iter()
            .filter(|(_, word)| **word != Access::Deny)
            .map(|(path, _)| *path)
            .collect();
        for (denied, _) in of(Access::Deny) {
            carve(denied, &open, &mut walls.unreadable);
        }
        let only = (words.get(Path::new("/")) == Some(&Access::Deny)).then(|| {
            let open = open.iter().map(|path| path.to_path_buf());
            open.collect()
        });
        #[cfg(target_os = "macos")]
        if walls.workspace
            && let Some(home) = &place.home
        {
            walls.roots.extend(super::macos::default_roots(home));
        }
        let patterns = self.filesystem.iter().filter(|(_, access)| **access == Access::Deny);
        let patterns: Vec<Pattern> = patterns
            .flat_map(|(subject, _)| patterns_of(subject, place, &self.own_roots(place.home.as_deref())))
            .collect();
        walls.roots.iter().for_each(|root| program::guard(root));
        Confinement::built(walls, only, look_up).without_reading(&[], patterns)
    }

    /// The entries with their places, without patterns.
    fn rules(&self, place: &Place) -> Vec<Rule> {
        let home = place.home.as_deref();
        let is_narrow = |folder: &Path| !holds_all_of_a_person(folder, home);
        let runtime_roots = place.runtime_roots.iter().filter(|root| is_narrow(root));
        let roots: Vec<PathBuf> = runtime_roots.cloned().chain(self.own_roots(home)).collect();
        let mut rules: Vec<Rule> = Vec::new();
        let mut add = |asked: PathBuf, access: Access, is_cwd: bool| {
            if asked.is_absolute() {
                let real = resolve(&asked);
                rules.push(Rule {
                    asked,
                    real,
                    access,
                    is_cwd,
                });
            }
        };
        for (subject, access) in &self.filesystem {
            for (asked, is_cwd) in places_of(subject, place, &roots) {
                if !is_cwd || *access != Access::Write || is_narrow(&asked) {
                    add(asked, *access, is_cwd);
                }
            }
        }
        // Who names what little may be read closes the rest.
        let minimal = self.filesystem.get(&Subject::Minimal).copied();
        let root = self.filesystem.get(&Subject::Root).copied();
        let closed =
            root == Some(Access::Deny) || root.is_none() && minimal.is_some_and(|access| access != Access::Deny);
        if closed {
            add(PathBuf::from("/"), Access::Deny, false);
            MINIMAL.iter().for_each(|path| add(path.into(), Access::Read, false));
            let private = NOT_MINIMAL.iter().filter(|path| Path::new(path).exists());
            private.for_each(|path| add(path.into(), Access::Deny, false));
        }
        rules
    }

    fn sockets(&self, place: &Place) -> Vec<PathBuf> {
        let named = self.network.unix_sockets.iter();
        let paths = named.flat_map(|subject| places_of(subject, place, &[]));
        paths.filter_map(|(path, _)| fs::canonicalize(path).ok()).collect()
    }
}

/// Whether a folder is the person's home folder or holds it, or is the root of all: that somebody works there opens none of these for
/// writing. Who names one in a profile or grants it means it.
fn holds_all_of_a_person(folder: &Path, home: Option<&Path>) -> bool {
    let folder = resolve(folder);
    folder.parent().is_none() || home.is_some_and(|home| resolve(home).starts_with(&folder))
}

/// Where a subject lies: each place, and whether it is the thread's own folder. `roots` are the workspace's other folders.
fn places_of(subject: &Subject, place: &Place, roots: &[PathBuf]) -> Vec<(PathBuf, bool)> {
    let one = |path: PathBuf| vec![(path, false)];
    match subject {
        Subject::Root => one("/".into()),
        Subject::Path(path) => one(path.clone()),
        Subject::Home(below) => place.home.as_ref().map_or_else(Vec::new, |home| one(home.join(below))),
        Subject::Tmpdir => place.tmpdir.clone().map_or_else(Vec::new, one),
        Subject::SlashTmp => one("/tmp".into()),
        Subject::Workspace(below) => {
            let roots = roots.iter().map(|root| (root.join(below), false));
            roots
                .chain([(place.cwd.join(below), below.as_os_str().is_empty())])
                .collect()
        }
        Subject::Minimal | Subject::Glob { .. } => Vec::new(),
    }
}

/// The patterns of a subject, each with its folder.
fn patterns_of(subject: &Subject, place: &Place, own_roots: &[PathBuf]) -> Vec<Pattern> {
    let Subject::Glob { base, pattern } = subject else {
        return Vec::new();
    };
    let roots: Vec<PathBuf> = place.runtime_roots.iter().chain(own_roots).cloned().collect();
    let bases: BTreeSet<PathBuf> = places_of(base, place, &roots)
        .into_iter()
        .map(|(path, _)| resolve(&path))
        .collect();
    bases.into_iter().map(|base| Pattern::new(base, pattern)).collect()
}

/// What of these subjects exists, links followed, and the patterns among them.
pub(super) fn find<'s>(subjects: impl IntoIterator<Item = &'s Subject>, place: &Place) -> (Vec<PathBuf>, Vec<Pattern>) {
    let (mut paths, mut patterns) = (Vec::new(), Vec::new());
    for subject in subjects {
        let found = places_of(subject, place, &place.runtime_roots);
        paths.extend(found.into_iter().filter_map(|(path, _)| fs::canonicalize(path).ok()));
        patterns.extend(patterns_of(subject, place, &[]));
    }
    (paths, patterns)
}

/// All of a place but these parts of it, as it is now.
pub(super) fn all_but(place: &Path, open: &[PathBuf]) -> Vec<PathBuf> {
    let open: Vec<&Path> = open.iter().map(PathBuf::as_path).collect();
    let mut closed = Vec::new();
    carve(place, &open, &mut closed);
    closed
}

/// Closes `place` but for what of it is in `open`: where something inside stays open, everything beside the way to it is
/// closed by itself. A place that does not exist is closed by its name.
pub(super) fn carve(place: &Path, open: &[&Path], closed: &mut Vec<PathBuf>) {
    let found = fs::symlink_metadata(place);
    if found.as_ref().is_ok_and(fs::Metadata::is_symlink) {
        return;
    }
    let inside = |path: &Path| open.iter().any(|open| open.starts_with(path) && *open != path);
    if !found.is_ok_and(|found| found.is_dir()) || !inside(place) {
        if !closed.iter().any(|known| known == place) {
            closed.push(place.to_owned());
        }
        return;
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        if !open.contains(&path.as_path()) {
            carve(&path, open, closed);
        }
    }
}

#[cfg(test)]
mod tests;
