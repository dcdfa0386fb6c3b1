//! A sandbox policy made concrete for one place: which folders may be written, whether there is a network.

use super::profile::{self, Compiled, Pattern, Place};
use super::protected::{Guard, git_folders};
use crate::config::permissions::{Profile, Subject};
use crate::protocol::item::Confined;
use crate::protocol::permission::Permission;
use crate::protocol::settings::SandboxPolicy;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// Links followed before a path is given up, as in the kernel.
const MAX_LINKS: usize = 40;

/// How a command is confined. Made when a turn's sandbox is made; the paths in it are canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    walls: Option<Walls>,
    /// The only places that may be read, if not all; what else is there is among the walls' unreadable ones.
    only: Option<Vec<PathBuf>>,
    /// What may not be read by its name. What fits on the disk is among the walls' unreadable ones.
    patterns: Vec<Pattern>,
    /// Whether what fits a pattern is looked up on the disk, as walls need it.
    look_up: bool,
}

/// What the walls let through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Walls {
    /// Canonical folders (or single files) that may be written, protected entries excepted.
    pub roots: Vec<PathBuf>,
    pub network: bool,
    /// Whether the policy is the one of the workspace; decides how it is shown, not what it does.
    pub workspace: bool,
    /// Canonical places inside the roots that stay read-only, beside the protected ones.
    #[serde(default)]
    pub read_only: Vec<PathBuf>,
    /// Canonical places that may be neither read nor written, whatever else is said.
    #[serde(default)]
    pub unreadable: Vec<PathBuf>,
    /// TCP ports of this machine's loopback that may be reached without a network.
    #[serde(default)]
    pub loopback_ports: Vec<u16>,
    /// Hosts (name or address, port if only one) that may be reached by TCP without a network.
    #[serde(default)]
    pub hosts: Vec<(String, Option<u16>)>,
    /// Canonical socket files outside the sandbox that may be connected to.
    #[serde(default)]
    pub sockets: Vec<PathBuf>,
}

impl Confinement {
    /// The policy at work in `cwd`. Under `workspace-write` the workspace's folders, `cwd`, `/tmp`, `tmpdir` and the
    /// policy's own roots may be written, as far as they exist. `cwd` is the thread's folder, not the one that a
    /// command asks for; inside a protected folder it is not made writable.
    pub fn new(policy: &SandboxPolicy, cwd: &Path, workspace_roots: &[PathBuf], tmpdir: Option<&Path>) -> Self {
        Profile::of_policy(policy).realise(&Place {
            cwd: cwd.to_owned(),
            runtime_roots: workspace_roots.to_vec(),
            tmpdir: tmpdir.map(Path::to_owned),
            home: None,
        })
    }

    /// Full access: no walls.
    pub fn outside() -> Self {
        Self {
            walls: None,
            only: None,
            patterns: Vec::new(),
            look_up: true,
        }
    }

    pub(super) fn built(walls: Walls, only: Option<Vec<PathBuf>>, look_up: bool) -> Self {
        Self {
            walls: Some(walls),
            only,
            look_up,
            ..Self::outside()
        }
    }

    /// The same without what these subjects name: neither commands nor tools may read it, whatever else is said.
    #[must_use]
    pub fn unreadable<'s>(self, subjects: impl IntoIterator<Item = &'s Subject>, place: &Place) -> Self {
        let (paths, patterns) = profile::find(subjects, place);
        self.without_reading(&paths, patterns)
    }

    /// The same without these places, which are canonical.
    #[must_use]
    pub fn without(self, places: &[PathBuf]) -> Self {
        self.without_reading(places, Vec::new())
    }

    pub(super) fn without_reading(mut self, places: &[PathBuf], patterns: Vec<Pattern>) -> Self {
        if let Some(walls) = &mut self.walls {
            let looked_up = patterns.iter().filter(|_| self.look_up);
            let found = looked_up.flat_map(Pattern::found);
            for place in places.iter().cloned().chain(found) {
                if !walls.unreadable.contains(&place) {
                    walls.unreadable.push(place);
                }
            }
            self.patterns.extend(patterns);
        }
        self
    }

    /// The same as it can be kept: what the walls let through.
    pub fn kept(&self) -> Option<KeptWalls> {
        self.walls.clone().map(KeptWalls)
    }

    /// What was kept, as far as its places are still what they were: where a link has taken the place of a folder, it
    /// opens nothing.
    pub fn of_kept(kept: &KeptWalls) -> Self {
        let mut walls = kept.0.clone();
        walls
            .roots
            .retain(|root| fs::canonicalize(root).is_ok_and(|real| real == *root));
        Self::built(walls, None, true)
    }

    /// The same with more that may be done: narrow grants, whose paths are canonical. What of it is no longer what was
    /// granted, as a link has taken its place, opens nothing.
    #[must_use]
    pub fn with(mut self, permissions: &[Permission]) -> Self {
        for permission in permissions {
            self = match permission {
                Permission::Write { path } if is_itself(path) => self.with_writable(path.clone()),
                Permission::GitMetadata { repository } => {
                    let folders = git_folders(repository);
                    folders.into_iter().fold(self, Self::with_writable)
                }
                Permission::Read { path } if is_itself(path) => self.with_readable(path),
                Permission::Read { .. } | Permission::Write { .. } => self,
                Permission::Network
                | Permission::Host { .. }
                | Permission::LoopbackPort { .. }
                | Permission::UnixSocket { .. } => {
                    if let Some(walls) = &mut self.walls {
                        walls.connect(permission);
                    }
                    self
                }
            };
        }
        self
    }

    /// Whether all of a permission is allowed already, for commands.
    pub fn allows(&self, permission: &Permission) -> bool {
        let Some(walls) = &self.walls else { return true };
        match permission {
            Permission::Read { path } => self.may_read(path),
            Permission::Write { path } => self.may_write(path),
            Permission::GitMetadata { repository } => {
                let looked = self.look();
                git_folders(repository)
                    .iter()
                    .all(|folder| fs::canonicalize(folder).is_ok_and(|folder| looked.may_write(&folder)))
            }
            Permission::Network => walls.network,
            Permission::Host { host, port } => {
                let named = |(known, at): &(String, Option<u16>)| known == host && (at.is_none() || at == port);
                walls.network || walls.hosts.iter().any(named)
            }
            Permission::LoopbackPort { port } => walls.network || walls.loopback_ports.contains(port),
            Permission::UnixSocket { path } => walls.sockets.contains(path),
        }
    }

    /// The places that may be neither read nor written.
    pub fn unreadable_places(&self) -> Vec<PathBuf> {
        self.walls
            .as_ref()
            .map_or_else(Vec::new, |walls| walls.unreadable.clone())
    }

    fn with_readable(mut self, path: &Path) -> Self {
        if let Some(walls) = &mut self.walls {
            let closed = std::mem::take(&mut walls.unreadable);
            for place in closed {
                if place.starts_with(path) {
                    continue;
                }
                profile::carve(&place, &[path], &mut walls.unreadable);
            }
            if let Some(only) = &mut self.only {
                only.push(path.to_owned());
            }
            // A pattern closes what fits it, also what was opened: it is taken apart.
            let (closing, rest) = std::mem::take(&mut self.patterns)
                .into_iter()
                .partition(|pattern: &Pattern| pattern.compile().covers(path));
            self.patterns = rest;
            let others = closing.iter().flat_map(Pattern::found);
            walls.unreadable.extend(others.filter(|other| !other.starts_with(path)));
            walls.unreadable.dedup();
        }
        self
    }

    /// The same with one more folder that may be written: a grant. Naming a protected folder opens it (git's hooks and
    /// configuration stay closed).
    #[must_use]
    pub fn with_writable(mut self, root: PathBuf) -> Self {
        if let Some(walls) = &mut self.walls {
            let places = walls.roots.clone();
            walls.add(&root, &places);
            walls.read_only.retain(|closed| *closed != root);
        }
        self
    }

    /// Whether a command so confined, or a tool, may read `path`, which is absolute and need not exist. Links are followed.
    pub fn may_read(&self, path: &Path) -> bool {
        self.closed().may_read(path)
    }

    /// What may not be read, to answer for many places.
    pub fn closed(&self) -> Closed {
        Closed {
            places: self
                .walls
                .as_ref()
                .map_or_else(Vec::new, |walls| walls.unreadable.clone()),
            patterns: self.patterns.iter().map(Pattern::compile).collect(),
            only: self.only.clone(),
            files: OnceLock::new(),
        }
    }

    /// Whether a command so confined may write `path`, which is absolute and need not exist. Links are followed; the
    /// kernel has the last word when it happens.
    pub fn may_write(&self, path: &Path) -> bool {
        self.walls.is_none() || path.is_absolute() && self.look().may_write(&resolve(path))
    }

    /// Whether `path` lies inside a folder that may be written and is closed all the same.
    pub fn is_protected(&self, path: &Path) -> bool {
        self.walls.is_some() && self.look().is_protected(&resolve(path))
    }

    /// Looks at the disk around the roots once, to answer for many places.
    pub fn look(&self) -> Looked<'_> {
        let walls = self.walls.as_ref();
        let guard = walls.map_or_else(Guard::default, Guard::of_walls);
        Looked {
            walls,
            guard,
            patterns: self.patterns.iter().map(Pattern::compile).collect(),
        }
    }

    /// How it is shown.
    pub fn confined(&self) -> Confined {
        match &self.walls {
            None => Confined::Outside,
            Some(walls) if walls.workspace || !walls.roots.is_empty() => Confined::Workspace,
            Some(_) => Confined::ReadOnly,
        }
    }

    /// Whether there are no walls at all.
    pub fn is_outside(&self) -> bool {
        self.walls.is_none()
    }

    /// Whether the network can be reached.
    pub fn network(&self) -> bool {
        self.walls.as_ref().is_none_or(|walls| walls.network)
    }

    /// The folders that may be written; empty outside the sandbox, where all may.
    pub fn writable_roots(&self) -> &[PathBuf] {
        self.walls.as_ref().map_or(&[], |walls| &walls.roots)
    }

    pub(crate) fn walls(&self) -> Option<&Walls> {
        self.walls.as_ref()
    }

    pub(crate) fn walls_mut(&mut self) -> Option<&mut Walls> {
        self.walls.as_mut()
    }
}

/// A confinement with what is closed inside its roots, as it was at one moment. It answers from memory.
pub struct Looked<'a> {
    walls: Option<&'a Walls>,
    guard: Guard,
    patterns: Vec<Compiled>,
}

impl Looked<'_> {
    /// As [`Confinement::may_write`], for an absolute place whose links are followed already.
    pub fn may_write(&self, place: &Path) -> bool {
        let Some(walls) = self.walls else { return true };
        if self.guard.hides(place) {
            return false;
        }
        let depth = |path: &Path| path.components().count();
        let deepest = |paths: &[PathBuf]| {
            let above = paths.iter().filter(|path| place.starts_with(path));
            above.map(|path| depth(path)).max()
        };
        let Some(root) = deepest(&walls.roots) else {
            return false;
        };
        let unreadable = deepest(&walls.unreadable).is_some() || self.patterns.iter().any(|one| one.covers(place));
        let guarded = self.guard.nearest(place).map(|guarded| depth(&guarded));
        let closed = guarded.max(deepest(&walls.read_only));
        !unreadable && closed.is_none_or(|closed| root > closed)
    }

    /// As [`Confinement::is_protected`], for an absolute place whose links are followed already.
    pub fn is_protected(&self, place: &Path) -> bool {
        let Some(walls) = self.walls else { return false };
        walls.roots.iter().any(|root| place.starts_with(root)) && !self.may_write(place)
    }
}

/// What may not be read. It answers from memory, but for the links of the path it is asked about.
#[derive(Debug)]
pub struct Closed {
    places: Vec<PathBuf>,
    patterns: Vec<Compiled>,
    only: Option<Vec<PathBuf>>,
    /// The closed files by device and inode: a second name of one is the same file.
    files: OnceLock<Vec<(u64, u64)>>,
}

impl Closed {
    /// Whether `path`, which is absolute, may be read. Links are followed, and a second name of a file is that file.
    pub fn may_read(&self, path: &Path) -> bool {
        let place = resolve(path);
        let above = |paths: &[PathBuf]| paths.iter().any(|closed| place.starts_with(closed));
        if !path.is_absolute() || above(&self.places) || self.patterns.iter().any(|pattern| pattern.covers(&place)) {
            return false;
        }
        // On the way to what is open, a folder may be gone through.
        let leads = |open: &[PathBuf]| above(open) || open.iter().any(|open| open.starts_with(&place));
        self.only.as_deref().is_none_or(leads) && !self.is_second_name(&place)
    }

    #[cfg(unix)]
    fn is_second_name(&self, place: &Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(found) = fs::metadata(place) else { return false };
        if !found.is_file() || found.nlink() < 2 {
            return false;
        }
        let files = self.files.get_or_init(|| {
            let files = self.places.iter().filter_map(|place| fs::metadata(place).ok());
            let files = files.filter(fs::Metadata::is_file);
            files.map(|file| (file.dev(), file.ino())).collect()
        });
        files.contains(&(found.dev(), found.ino()))
    }

    #[cfg(not(unix))]
    fn is_second_name(&self, _place: &Path) -> bool {
        false
    }
}

/// Walls as they can be kept on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeptWalls(Walls);

impl Walls {
    /// Opens a way to the network.
    fn connect(&mut self, permission: &Permission) {
        fn add<T: PartialEq>(list: &mut Vec<T>, one: T) {
            if !list.contains(&one) {
                list.push(one);
            }
        }
        match permission {
            Permission::Network => self.network = true,
            Permission::Host { host, port } => add(&mut self.hosts, (host.clone(), *port)),
            Permission::LoopbackPort { port } => add(&mut self.loopback_ports, *port),
            Permission::UnixSocket { path } if is_itself(path) => add(&mut self.sockets, path.clone()),
            _ => {}
        }
    }

    /// A root that does not exist cannot be opened, and is left out. So is one to which a link leads that lies in one of
    /// `places`, folders that may be written: an earlier command may have made the link, to widen what the next may do.
    pub(super) fn add(&mut self, root: &Path, places: &[PathBuf]) {
        let (_, links) = follow(root);
        let planted = |link: &PathBuf| places.iter().any(|place| link.starts_with(place));
        if let Ok(root) = fs::canonicalize(root)
            && !links.iter().any(planted)
            && !self.roots.contains(&root)
        {
            self.roots.push(root);
        }
    }
}

/// Whether something is there, and no link leads to it.
fn is_itself(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|real| real == path)
}

/// Follows links as far as the path exists and takes the rest by its words.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    follow(path).0
}

/// As `resolve`, with the places of the links that were followed.
fn follow(path: &Path) -> (PathBuf, Vec<PathBuf>) {
    let mut links = Vec::new();
    let mut rest: Vec<OsString> = Vec::new();
    push_reversed(&mut rest, path);
    let mut done = PathBuf::from("/");
    while let Some(part) = rest.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        done.push(&part);
        match fs::read_link(&done) {
            Ok(target) if links.len() < MAX_LINKS => {
                links.push(done.clone());
                done.pop();
                if target.is_absolute() {
                    done = PathBuf::from("/");
                }
                push_reversed(&mut rest, &target);
            }
            _ => {}
        }
    }
    (done, links)
}

fn push_reversed(rest: &mut Vec<OsString>, path: &Path) {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => rest.push(name.to_owned()),
            Component::ParentDir => rest.push("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::settings::SandboxMode;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_may_be_written() {
        let dir = tempfile::Builder::new()
            .prefix("confine")
            .tempdir_in("/var/tmp")
            .expect("temporary folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let work = base.join("work");
        let other = base.join("other");
        fs::create_dir_all(work.join(".git/hooks")).expect("mkdir");
        fs::create_dir_all(work.join("src")).expect("mkdir");
        fs::create_dir_all(&other).expect("mkdir");
        symlink(&other, work.join("out")).expect("symlink");
        symlink(".git/config", work.join("sneaky")).expect("symlink");
        symlink("missing/../../other/new", work.join("dangling")).expect("symlink");
        symlink("loop", work.join("loop")).expect("symlink");

        let policy = SandboxPolicy::from_mode(SandboxMode::WorkspaceWrite);
        let confinement = Confinement::new(&policy, &work, &[], None);
        for (path, expected) in [
            ("src/main.rs", true),
            ("new/deep/file", true),
            (".gitignore", true),
            (".github/workflow", true),
            ("src/.git/x", true),
            ("out/file", false),
            ("../other/file", false),
            ("src/../../other/file", false),
            (".git/hooks/pre-commit", false),
            (".git", false),
            ("src/../.git/config", false),
            ("sneaky", false),
            ("dangling", false),
            (".codex/config.toml", false),
            (".agents", false),
            (".countersign/config.toml", false),
        ] {
            assert_eq!(confinement.may_write(&work.join(path)), expected, "{path}");
        }
        assert!(confinement.may_write(Path::new("/tmp/x")));
        assert!(!confinement.may_write(Path::new("/etc/passwd")));
        assert!(!confinement.may_write(Path::new("relative")));
        assert_eq!(confinement.confined(), Confined::Workspace);

        let granted = confinement.clone().with_writable(other.clone());
        assert!(granted.may_write(&work.join("out/file")));
        let git = confinement.with_writable(work.join(".git"));
        assert!(git.may_write(&work.join(".git/index")));

        let reading = Confinement::new(&SandboxPolicy::from_mode(SandboxMode::ReadOnly), &work, &[], None);
        assert!(!reading.may_write(&work.join("src/main.rs")) && !reading.may_write(Path::new("/tmp/x")));
        assert_eq!(reading.confined(), Confined::ReadOnly);
        assert!(Confinement::outside().may_write(Path::new("/etc/passwd")));
    }

    #[test]
    fn a_link_that_a_command_could_have_made_opens_nothing() {
        let dir = tempfile::Builder::new()
            .prefix("confine")
            .tempdir_in("/var/tmp")
            .expect("temporary folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let (wide, outside) = (base.join("wide"), base.join("outside"));
        for folder in [&wide, &outside] {
            fs::create_dir(folder).expect("mkdir");
        }
        // Where a folder of the workspace stood, there is a link now.
        symlink(&outside, wide.join("ws")).expect("symlink");
        // One that no command could make, as nothing around it may be written.
        symlink(&wide, base.join("given")).expect("symlink");
        let policy = SandboxPolicy::default();
        for (cwd, roots, tmpdir) in [
            (wide.join("ws"), vec![wide.clone()], None),
            (wide.clone(), vec![wide.join("ws")], None),
            (wide.clone(), vec![], Some(wide.join("ws"))),
            (base.join("given"), vec![base.join("given/ws")], None),
        ] {
            let confinement = Confinement::new(&policy, &cwd, &roots, tmpdir.as_deref());
            assert!(confinement.may_write(&wide.join("x")), "{cwd:?} {roots:?}");
            assert!(
                !confinement.may_write(&outside.join("x")),
                "{cwd:?} {roots:?} {tmpdir:?}"
            );
            let granted = confinement.with_writable(wide.join("ws"));
            assert!(!granted.may_write(&outside.join("x")), "granted {cwd:?} {roots:?}");
        }
    }

    #[test]
    fn temporary_folders_can_be_left_out() {
        let dir = tempfile::Builder::new()
            .prefix("confine")
            .tempdir_in("/var/tmp")
            .expect("temporary folder");
        let tmpdir = dir.path().join("tmp");
        fs::create_dir(&tmpdir).expect("mkdir");
        for (exclude_slash_tmp, exclude_tmpdir_env_var) in [(false, false), (true, false), (false, true), (true, true)]
        {
            let policy = SandboxPolicy::WorkspaceWrite {
                writable_roots: vec![],
                network_access: false,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            };
            let confinement = Confinement::new(&policy, Path::new("/var/empty-place"), &[], Some(&tmpdir));
            assert_eq!(confinement.may_write(Path::new("/tmp/x")), !exclude_slash_tmp);
            assert_eq!(confinement.may_write(&tmpdir.join("x")), !exclude_tmpdir_env_var);
        }
    }

    #[test]
    fn a_protected_folder_as_working_directory_is_not_opened() {
        let dir = tempfile::Builder::new()
            .prefix("confine")
            .tempdir_in("/var/tmp")
            .expect("temporary folder");
        let hooks = dir.path().join(".git/hooks");
        fs::create_dir_all(&hooks).expect("mkdir");
        let policy = SandboxPolicy::default();
        let confinement = Confinement::new(&policy, &hooks, &[dir.path().to_owned()], None);
        assert!(!confinement.may_write(&hooks.join("pre-commit")));
    }
}
