//! A sandbox policy made concrete for one place: which folders may be written, whether there is a network.

use super::protected::Guard;
use crate::protocol::item::Confined;
use crate::protocol::settings::SandboxPolicy;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Links followed before a path is given up, as in the kernel.
const MAX_LINKS: usize = 40;

/// How a command is confined. Built from a policy once, before the command; the paths in it are canonical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    walls: Option<Walls>,
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
        let network = policy.network_access();
        let SandboxPolicy::WorkspaceWrite {
            writable_roots,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
            ..
        } = policy
        else {
            return match policy {
                SandboxPolicy::DangerFullAccess => Self::outside(),
                _ => Self {
                    walls: Some(Walls {
                        network,
                        ..Walls::default()
                    }),
                },
            };
        };
        let mut walls = Walls {
            network,
            workspace: true,
            ..Walls::default()
        };
        let slash_tmp = (!exclude_slash_tmp).then_some(Path::new("/tmp"));
        let tmpdir = tmpdir.filter(|tmpdir| !exclude_tmpdir_env_var && tmpdir.is_absolute());
        let asked = workspace_roots.iter().chain(writable_roots).map(PathBuf::as_path);
        let asked: Vec<&Path> = asked.chain(slash_tmp).chain(tmpdir).collect();
        let places: Vec<PathBuf> = asked.iter().copied().chain([cwd]).map(resolve).collect();
        for root in asked {
            walls.add(root, &places);
        }
        if Guard::of(&walls.roots).nearest(&resolve(cwd)).is_none() {
            walls.add(cwd, &places);
        }
        Self { walls: Some(walls) }
    }

    /// Full access: no walls.
    pub fn outside() -> Self {
        Self { walls: None }
    }

    /// The same with one more folder that may be written: a grant. Naming a protected folder opens it (git's hooks and
    /// configuration stay closed).
    #[must_use]
    pub fn with_writable(mut self, root: PathBuf) -> Self {
        if let Some(walls) = &mut self.walls {
            let places = walls.roots.clone();
            walls.add(&root, &places);
        }
        self
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
        Looked { walls, guard }
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
}

impl Looked<'_> {
    /// As [`Confinement::may_write`], for an absolute place whose links are followed already.
    pub fn may_write(&self, place: &Path) -> bool {
        let Some(walls) = self.walls else { return true };
        if self.guard.hides(place) {
            return false;
        }
        let depth = |path: &Path| path.components().count();
        let roots = walls.roots.iter().filter(|root| place.starts_with(root));
        let Some(root) = roots.map(|root| depth(root)).max() else {
            return false;
        };
        self.guard.nearest(place).is_none_or(|guarded| root > depth(&guarded))
    }

    /// As [`Confinement::is_protected`], for an absolute place whose links are followed already.
    pub fn is_protected(&self, place: &Path) -> bool {
        let Some(walls) = self.walls else { return false };
        walls.roots.iter().any(|root| place.starts_with(root)) && !self.may_write(place)
    }
}

impl Walls {
    /// A root that does not exist cannot be opened, and is left out. So is one to which a link leads that lies in one of
    /// `places`, folders that may be written: an earlier command may have made the link, to widen what the next may do.
    fn add(&mut self, root: &Path, places: &[PathBuf]) {
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
