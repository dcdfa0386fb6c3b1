//! A sandbox policy made concrete for one place: which folders may be written, whether there is a network.

use super::profile::{self, Compiled, Pattern, Place};
use super::program;
use super::protected::{self, Guard, Later, git_folders};
use super::proxy::{Variables, Way};
use crate::config::bounds::Bounds;
use crate::config::permissions::{Host, Profile, Subject};
use crate::config::requests::Requests;
use crate::protocol::item::Confined;
use crate::protocol::permission::Permission;
use crate::protocol::settings::SandboxPolicy;
use crate::workspace::{Judge, Opened};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
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
    /// How much may be taken; none: as much as there is.
    bounds: Option<Bounds>,
    /// Names that the configuration protects besides, and those that it does not.
    names: (Vec<String>, Vec<String>),
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
    /// Hosts (as `config::permissions::Host` reads them, port if only one) that may be reached by TCP without a network.
    #[serde(default)]
    pub hosts: Vec<(String, Option<u16>)>,
    /// Of these hosts, those that may not.
    #[serde(default)]
    pub denied_hosts: Vec<(String, Option<u16>)>,
    /// What requests to them carry, and may ask for.
    #[serde(default)]
    pub requests: Requests,
    /// What of the server's environment the proxy needs for that.
    #[serde(skip)]
    pub variables: Variables,
    /// Where the proxy is that leads to them, while a command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Way>,
    /// Canonical socket files outside the sandbox that may be connected to.
    #[serde(default)]
    pub sockets: Vec<PathBuf>,
    /// What of the roots acts later and is kept as it is; for commands, not for patches, which the person decides on.
    #[serde(default)]
    pub later: Option<Later>,
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
            bounds: Some(Bounds::default()),
            names: Default::default(),
        }
    }

    /// The same for what may take no more than this.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Self {
            bounds: Some(bounds),
            ..self
        }
    }

    /// The same for a program of the person's own, which takes what it takes.
    #[must_use]
    pub fn without_bounds(self) -> Self {
        Self { bounds: None, ..self }
    }

    /// The same where requests to hosts carry secrets that the command does not have, and ask only for what they may. The
    /// secrets are in `env`.
    #[must_use]
    pub fn requesting(mut self, requests: &Requests, env: &BTreeMap<String, String>) -> Self {
        if let Some(walls) = &mut self.walls {
            walls.requests = requests.clone();
            walls.variables = Variables::of(requests, env);
        }
        self
    }

    /// How much may be taken, if there is a bound.
    pub fn bounds(&self) -> Option<Bounds> {
        self.bounds
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

    /// The same without a folder but for these parts of it, all canonical: nothing else in it is read or written, whatever
    /// roots say, nor is anything put beside the parts.
    #[must_use]
    pub fn without_all_but(mut self, folder: &Path, open: &[PathBuf]) -> Self {
        if let Some(walls) = &mut self.walls {
            let is_open = |root: &PathBuf| open.iter().any(|part| root.starts_with(part));
            walls.roots.retain(|root| !root.starts_with(folder) || is_open(root));
            if !open.is_empty() {
                walls.read_only.push(folder.to_owned());
            }
        }
        self.without(&profile::all_but(folder, open))
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

    /// The same for a command: entries that other programs act on by themselves stay as they are, at every depth. `more` are
    /// names that are protected besides, `free` those that are not. Folders for temporary files are left out, but for those
    /// of `work`.
    #[must_use]
    pub fn keeping_later(
        mut self,
        more: &[String],
        free: &[String],
        work: &[PathBuf],
        (tmpdir, home): (Option<&Path>, Option<&Path>),
    ) -> Self {
        if let Some(walls) = self.walls.as_mut().filter(|walls| !walls.roots.is_empty()) {
            let temporary = [Some(Path::new("/tmp")), tmpdir].into_iter().flatten();
            let work: Vec<PathBuf> = work.iter().map(|folder| resolve(folder)).collect();
            let scratch = temporary.map(resolve).filter(|folder| !work.contains(folder));
            walls.later = Some(Later {
                more: more.to_vec(),
                free: free.to_vec(),
                home: home.map(resolve),
                scratch: scratch.collect(),
                ..Later::default()
            });
        }
        self
    }

    /// The same where these names are protected besides, and those are not, for `keeping_but`.
    #[must_use]
    pub fn naming(self, more: &[String], free: &[String]) -> Self {
        Self {
            names: (more.to_vec(), free.to_vec()),
            ..self
        }
    }

    /// As `keeping_later`, for the writer of a change: but for the entries that these paths are or lie in, as they were shown.
    /// A link that takes the place of a folder later leads to no other one. `shown_at` are real paths: where a link led
    /// when the change was shown is meant as well.
    #[must_use]
    pub fn keeping_but(self, agreed: &[&Path], shown_at: &[PathBuf], cwd: &Path, home: Option<&Path>) -> Self {
        let (more, free) = self.names.clone();
        let mut kept = self.keeping_later(&more, &free, &[cwd.to_owned()], (None, home));
        let Some(walls) = &mut kept.walls else { return kept };
        let led_to = walls.led_to();
        let Some(later) = &mut walls.later else { return kept };
        let real = resolve(cwd);
        let open = |later: &mut Later, place: &Path| {
            while let Some((entry, _)) = later.kept_around(&walls.roots, place) {
                later.agreed.push(entry.to_owned());
            }
            let led_to = led_to.iter().filter(|held| place.starts_with(held));
            later.agreed.extend(led_to.cloned());
        };
        for path in agreed {
            let named = path
                .strip_prefix(cwd)
                .map_or_else(|_| path.to_path_buf(), |below| real.join(below));
            // What lies in a folder that may be written is meant by its name there: a link within it could be a command's. A link to that
            // folder is not.
            let within = |root: &&PathBuf| named.starts_with(root);
            let resolved = match walls.roots.iter().any(|root| within(&root)) {
                true => None,
                false => Some(resolve(path)),
            };
            for place in [named].into_iter().chain(resolved) {
                open(later, &place);
            }
        }
        for place in shown_at {
            open(later, place);
        }
        kept
    }

    /// The places to which settings and links of what acts later lead, in the folders that may be written: they act as it does.
    pub(crate) fn led_to(
        &self,
        more: &[String],
        free: &[String],
        work: &[PathBuf],
        home: Option<&Path>,
    ) -> Vec<PathBuf> {
        let kept = self.clone().keeping_later(more, free, work, (None, home));
        kept.walls.as_ref().map(Walls::led_to).unwrap_or_default()
    }

    /// The same as it can be kept: what the walls let through.
    pub fn kept(&self) -> Option<KeptWalls> {
        let walls = self.walls.clone();
        walls.map(|walls| KeptWalls(Walls { later: None, ..walls }))
    }

    /// What was kept, as far as its places are still what they were: where a link has taken the place of a folder, it
    /// opens nothing.
    pub fn of_kept(kept: &KeptWalls) -> Self {
        let mut walls = kept.0.clone();
        walls
            .roots
            .retain(|root| fs::canonicalize(root).is_ok_and(|real| real == *root));
        walls.roots.iter().for_each(|root| program::guard(root));
        Self::built(walls, None, true)
    }

    /// The same with more that may be done: narrow grants, whose paths are canonical. What of it is no longer what was
    /// granted, as a link has taken its place, opens nothing.
    #[must_use]
    pub fn with(mut self, permissions: &[Permission]) -> Self {
        for permission in permissions {
            self = match permission {
                Permission::Write { path } if is_itself(path) => {
                    program::guard(path);
                    self.with_writable(path.clone())
                }
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
                let asked = Host::parse(host);
                let covers = |known: &str| match (Host::parse(known), &asked) {
                    (Ok(known), Ok(asked)) => known.covers(asked),
                    _ => known == host,
                };
                let named = |(known, at): &(String, Option<u16>)| (at.is_none() || at == port) && covers(known);
                // What is closed by name is asked about, whatever else is open.
                walls.network
                    || walls.hosts.iter().any(named) && !walls.denied_hosts.iter().any(|(known, _)| covers(known))
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

    /// The same with one more place that may be read, whatever closed it.
    #[must_use]
    pub fn with_readable(mut self, path: &Path) -> Self {
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

    /// Whether no host can be reached at all, this machine's own left aside.
    pub fn reaches_nobody(&self) -> bool {
        self.walls
            .as_ref()
            .is_some_and(|walls| !walls.network && walls.hosts.is_empty())
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
        let later = walls.later.as_ref();
        if self.guard.hides(place) || later.is_some_and(|later| later.kept_around(&walls.roots, place).is_some()) {
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
        let is_second_name = || fs::metadata(&place).is_ok_and(|found| self.is_second_name(&found));
        path.is_absolute() && self.is_open(&place) && !is_second_name()
    }

    /// The same for what is open already: by its place, which has no link in it, and by what it is.
    pub fn may_read_opened(&self, place: &Path, found: &fs::Metadata) -> bool {
        place.is_absolute() && self.is_open(place) && !self.is_second_name(found)
    }

    fn is_open(&self, place: &Path) -> bool {
        let above = |paths: &[PathBuf]| paths.iter().any(|closed| place.starts_with(closed));
        if above(&self.places) || self.patterns.iter().any(|pattern| pattern.covers(place)) {
            return false;
        }
        // On the way to what is open, a folder may be gone through.
        let leads = |open: &[PathBuf]| above(open) || open.iter().any(|open| open.starts_with(place));
        self.only.as_deref().is_none_or(leads)
    }

    /// Whether a place that may not be read lies in a folder, which is absolute, for all that is told without looking into it.
    pub(super) fn closes_within(&self, folder: &Path) -> bool {
        let folder = resolve(folder);
        let is_open = |open: &[PathBuf]| open.iter().any(|open| folder.starts_with(open));
        self.places.iter().any(|closed| closed.starts_with(&folder)) || !self.only.as_deref().is_none_or(is_open)
    }

    /// Whether what may not be read is told by names, too.
    pub(super) fn goes_by_names(&self) -> bool {
        !self.patterns.is_empty()
    }

    #[cfg(unix)]
    fn is_second_name(&self, found: &fs::Metadata) -> bool {
        use std::os::unix::fs::MetadataExt as _;
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
    fn is_second_name(&self, _found: &fs::Metadata) -> bool {
        false
    }
}

impl Judge for Closed {
    fn path(&self, path: &Path) -> Result<(), String> {
        self.may_read(path).then_some(()).ok_or_else(why_closed)
    }

    fn opened(&self, _name: &Path, opened: &Opened) -> Result<(), String> {
        let may_read = self.may_read_opened(opened.place(), opened.metadata());
        may_read.then_some(()).ok_or_else(why_closed)
    }
}

fn why_closed() -> String {
    "credentials or other secrets are kept there, or the person's settings close it".to_owned()
}

/// Walls as they can be kept on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeptWalls(Walls);

impl Walls {
    /// The same with what is there of the entries that act later. With `remember` for a process that starts many commands.
    pub(super) fn looked(mut self, remember: bool) -> Self {
        if let Some(later) = &mut self.later {
            let found = protected::find(later, &self.roots, &self.read_only, remember);
            (later.there, later.others, later.partial) = (found.there, found.others, found.partial);
            later.unlisted = found.unlisted;
        }
        self
    }

    /// What is kept for what leads to it, and not by its name.
    fn led_to(&self) -> Vec<PathBuf> {
        let looked = self.clone().looked(true);
        let there = looked.later.as_ref().map(|later| later.there.clone());
        let named: HashSet<PathBuf> = there.into_iter().flatten().collect();
        let awaited = |guard: &Guard| guard.awaited.iter().map(|(_, place)| place.clone()).collect::<Vec<_>>();
        let guard = Guard::of_walls(&looked);
        let plain = Guard::of_walls(&Walls { later: None, ..looked });
        let (kept, others) = (awaited(&guard), awaited(&plain));
        let mut led_to: Vec<PathBuf> = guard.existing.into_iter().chain(guard.standing).chain(kept).collect();
        led_to.retain(|place| !plain.existing.contains(place) && !others.contains(place) && !named.contains(place));
        led_to
    }

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
pub(super) fn follow(path: &Path) -> (PathBuf, Vec<PathBuf>) {
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
    fn of_a_closed_folder_only_the_open_part_is_read_and_written() {
        let dir = tempfile::Builder::new()
            .prefix("confine")
            .tempdir_in("/var/tmp")
            .expect("temporary folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let (home, open) = (base.join("home"), base.join("home/scratch/a"));
        for folder in ["home/scratch/a", "home/scratch/b", "home/rules"] {
            fs::create_dir_all(base.join(folder)).expect("mkdir");
        }
        // Also where the folder itself is a root, or lies in one.
        for roots in [vec![], vec![home.clone()], vec![base.clone()], vec![home.join("rules")]] {
            let around = roots.contains(&base);
            let confinement = Confinement::new(&SandboxPolicy::default(), &open, &roots, None);
            let confinement = confinement.without_all_but(&home, std::slice::from_ref(&open));
            for (path, reads, writes) in [
                ("home/scratch/a/x", true, true),
                ("home/scratch/b/x", false, false),
                ("home/scratch/new", true, false),
                ("home/rules/x", false, false),
                ("home/new", true, false),
                ("beside", true, around),
            ] {
                let path = base.join(path);
                assert_eq!(confinement.may_read(&path), reads, "{path:?} {roots:?}");
                assert_eq!(confinement.may_write(&path), writes, "{path:?} {roots:?}");
            }
            // So it is with what is open already, by its own place.
            for (path, reads) in [
                ("home/scratch/a", true),
                ("home/scratch/b", false),
                ("home/rules", false),
            ] {
                let path = base.join(path);
                let found = fs::metadata(&path).expect("it is there");
                let closed = confinement.closed();
                assert_eq!(closed.may_read_opened(&path, &found), reads, "{path:?} {roots:?}");
            }
            let closed = Confinement::new(&SandboxPolicy::default(), &open, &roots, None).without_all_but(&home, &[]);
            assert!(
                !closed.may_read(&open) && !closed.may_write(&open.join("x")),
                "{roots:?}"
            );
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
