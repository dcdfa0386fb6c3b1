//! Where the paths of a patch lie, links followed, and which folder a grant would open for each.

use crate::agent::scratch;
use crate::exec::{self, Confinement, Later, Looked, PROTECTED};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders of the kernel: names there mean something else to each process.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Below the person's home: where keys and passwords are kept. Never written outside the workspace, never granted.
const SECRETS: [&str; 16] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".config/gcloud",
    ".config/gh",
    ".local/share/keyrings",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
];

/// What places are measured against.
pub(super) struct Surroundings<'a> {
    /// Where patches may write.
    confinement: &'a Confinement,
    looked: Looked<'a>,
    /// By a path's folder: its innermost part that is there, and that with links followed. A patch of many files names few
    /// folders, and looking at the disk is what takes time.
    folders: RefCell<HashMap<PathBuf, (PathBuf, PathBuf)>>,
    /// The conversation's folder, as it is named.
    cwd: &'a Path,
    /// The conversation's folder and those of the workspace; canonical, as all below.
    work: Vec<PathBuf>,
    /// The person's home folder, if it is known.
    home: Option<PathBuf>,
    /// Countersign's own folder.
    own: PathBuf,
    /// Where keys are kept, and the names of these places.
    secrets: Vec<(PathBuf, String)>,
    /// What acts later.
    later: Later,
    /// Where that leads: real places that act as it does.
    led_to: Vec<PathBuf>,
}

/// One path that a patch writes or removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub path: PathBuf,
    /// Where it really is: links in its folders followed.
    pub real: PathBuf,
    pub lies: Lies,
    /// Who acts on it without being asked to, in words that stand after its name.
    pub acts: Option<&'static str>,
    /// It is about the name itself: what a link there leads to is not touched.
    pub itself: bool,
    /// A link leads out of the folders of the work to where it really is.
    pub led_out: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lies {
    /// In a folder that may be written.
    Inside,
    /// Outside of all of them; the person may open this folder, links followed. It need not be there yet.
    Outside(PathBuf),
    /// Outside, and no folder can be opened for it: it would hold too much. The reason, as for `Never`.
    Apart(String),
    /// Nobody can open it; the reason, as the end of a sentence that begins with the path.
    Never(String),
}

/// How the files of chats end; `chat` lies above this room.
const CHAT: &str = ".countersign.md";

/// Whether a file is a chat document, or is one on a disk that does not tell large letters from small ones.
fn is_chat_document(path: &Path) -> bool {
    path.to_string_lossy().to_lowercase().ends_with(CHAT)
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(
        confinement: &'a Confinement,
        cwd: &'a Path,
        roots: &[PathBuf],
        home: Option<&Path>,
        own: &Path,
    ) -> Self {
        let home = home.map(canonical);
        let secrets = SECRETS.iter().flat_map(|name| {
            let named = home.as_ref()?.join(name);
            let real = fs::canonicalize(&named).ok().filter(|real| *real != named);
            let shown = format!("~/{name}");
            Some(
                real.map(|real| (real, shown.clone()))
                    .into_iter()
                    .chain([(named, shown)]),
            )
        });
        Self {
            confinement,
            looked: confinement.look(),
            folders: RefCell::default(),
            cwd,
            work: roots.iter().map(PathBuf::as_path).chain([cwd]).map(canonical).collect(),
            own: canonical(own),
            secrets: secrets.flatten().collect(),
            home,
            later: Later::default(),
            led_to: Vec::new(),
        }
    }

    /// With names that the configuration protects besides, and those that it does not.
    pub(super) fn acting(mut self, more: &[String], free: &[String]) -> Self {
        self.later = Later {
            more: more.to_vec(),
            free: free.to_vec(),
            home: self.home.clone(),
            ..Later::default()
        };
        self.led_to = self.confinement.led_to(more, free, &self.work, self.home.as_deref());
        self
    }

    /// Who acts on a file by its name, or on a folder around it; only what lies below the folder of the work counts there.
    fn acts(&self, real: &Path) -> Option<&'static str> {
        let roots = self.work.iter().filter_map(|work| real.strip_prefix(work).ok());
        let below = roots.min_by_key(|below| below.components().count()).unwrap_or(real);
        let around = real.ancestors().take(below.components().count());
        let mut names = around.filter_map(|place| self.later.acts_in(place.parent()?, place.file_name()?));
        let led_to = || self.led_to.iter().any(|place| real.starts_with(place));
        names.next().or_else(|| led_to().then_some(exec::LED_TO))
    }

    /// Looks where a path lies now. Absolute and clean. `itself` says that a link under this name is deleted or moved, and
    /// not followed.
    pub(super) fn place(&self, path: &Path, itself: bool) -> Place {
        let (existing, folder) = self.folder_of(path);
        let rest = path.strip_prefix(&existing).unwrap_or(Path::new(""));
        let real = folder.join(rest);
        Place {
            path: path.to_owned(),
            lies: self.lies(path, &real, &folder, rest, itself),
            acts: self
                .acts(&self.target(&real))
                .or_else(|| self.later.acts(path.file_name()?))
                .or_else(|| self.obeys(&real).then_some("Countersign itself obeys")),
            led_out: real != path && !self.work.iter().any(|work| real.starts_with(work)),
            real,
            itself,
        }
    }

    /// Where a link leads that stands at the place itself: what is written to one is written there.
    fn target(&self, real: &Path) -> PathBuf {
        match is_link(real) {
            true => canonical(real),
            false => real.to_owned(),
        }
    }

    /// Whether a real path is of Countersign's own: configuration, rules, prompts. What lies in a scratch folder is the
    /// conversation's.
    fn obeys(&self, real: &Path) -> bool {
        self.is_own(real) && scratch::around(&self.own, real).is_none()
    }

    /// Whether a real path lies in Countersign's own folder.
    pub(super) fn is_own(&self, real: &Path) -> bool {
        real.starts_with(&self.own)
    }

    fn folder_of(&self, path: &Path) -> (PathBuf, PathBuf) {
        let look = || {
            let existing = existing_folder(path);
            (existing.to_owned(), canonical(existing))
        };
        match path.parent() {
            Some(parent) => {
                let mut folders = self.folders.borrow_mut();
                folders.entry(parent.to_owned()).or_insert_with(look).clone()
            }
            None => look(),
        }
    }

    fn lies(&self, path: &Path, real: &Path, folder: &Path, rest: &Path, itself: bool) -> Lies {
        let never = |why: String| Lies::Never(why);
        let tilde = self.cwd.join("~");
        if path.starts_with(&tilde) && !tilde.exists() {
            return never(
                "is below a folder with the name ~: nothing stands for the home folder in a patch. Write the whole path."
                    .to_owned(),
            );
        }
        // Names there mean another thing to each process: this one's own folder, for one.
        if path.starts_with("/proc") {
            return never("is in a folder of the kernel, where patches do not write.".to_owned());
        }
        if [path, real].iter().any(|path| is_chat_document(path)) {
            return never(
                "is a chat document: what stands in one is said in the person's name, so only they write there. Say it in your \
                 answer, or put it into another file."
                    .to_owned(),
            );
        }
        let at_work = self.work.iter().any(|folder| real.starts_with(folder));
        let secret = self.secrets.iter().find(|(place, _)| real.starts_with(place));
        if let Some((_, secret)) = secret.filter(|_| !at_work) {
            return never(format!(
                "is in {secret}, where keys and passwords are kept; patches do not write there."
            ));
        }
        if self.is_own(real) && (!at_work || !self.looked.may_write(real)) {
            return never("is in Countersign's own folder, which only the person changes.".to_owned());
        }
        let link = rest.components().next().map(|first| folder.join(first));
        let link = link.filter(|link| is_link(link) && !(itself && link == real));
        let (inside, protected) = match link {
            // Where it leads to counts.
            Some(_) => (self.confinement.may_write(path), self.confinement.is_protected(path)),
            None => (self.looked.may_write(real), self.looked.is_protected(real)),
        };
        if inside {
            return Lies::Inside;
        }
        if protected || (!at_work && has_protected_name(real)) {
            return never(
                "is in a protected folder, which patches and commands may only read. Leave it as it is, or tell the person \
                 what to change there."
                    .to_owned(),
            );
        }
        if KERNEL.iter().any(|kernel| real.starts_with(kernel)) {
            return never("is in a folder of the kernel, where patches do not write.".to_owned());
        }
        if let Some(link) = link {
            return never(format!(
                "leads out of the workspace through the link {}, and patches do not write through links. Name the file \
                 itself.",
                link.display()
            ));
        }
        let Some(parent) = real.parent() else {
            return never("is no file.".to_owned());
        };
        if parent.parent().is_none() {
            return Lies::Apart(
                "is right in the folder /, which is never opened. Put the file into a folder.".to_owned(),
            );
        }
        let is_home = self.home.as_deref() == Some(parent);
        let holds = |what: &Path| what.starts_with(parent) && !is_home;
        if self.home.as_deref().is_some_and(holds) || holds(&self.own) {
            return Lies::Apart(format!(
                "is right in {}, which holds the home folder or Countersign's own and is never opened as a whole. Put the \
                 file into a folder of its own.",
                parent.display()
            ));
        }
        Lies::Outside(parent.to_owned())
    }

    /// What must be said plainly of a folder before it is opened; nothing of an ordinary one.
    pub(super) fn warning(&self, folder: &Path) -> Option<String> {
        let shown = folder.display();
        if self.home.as_deref() == Some(folder) {
            return Some(format!(
                "{shown} is the whole home folder: everything in it could be changed, also settings, keys, start-up files and \
                 other projects."
            ));
        }
        if self.work.iter().any(|work| work.starts_with(folder)) {
            return Some(format!("{shown} holds the workspace itself and everything beside it."));
        }
        let depth = folder
            .components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .count();
        (depth == 1).then(|| format!("{shown} is a folder of the system."))
    }
}

/// The innermost folder on the way to a path that is there.
pub(super) fn existing_folder(path: &Path) -> &Path {
    path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(path)
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// Whether a path leads through a folder of version control or of agents' configuration.
fn has_protected_name(real: &Path) -> bool {
    real.components()
        .any(|part| PROTECTED.iter().any(|name| part == Component::Normal(name.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::settings::SandboxPolicy;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_countersign_obeys_acts_by_itself() {
        let dir = tempfile::tempdir().expect("a folder");
        let own = fs::canonicalize(dir.path()).expect("canonical");
        for folder in ["rules", "prompts", "scratch/a"] {
            fs::create_dir_all(own.join(folder)).expect("mkdir");
        }
        let confinement = Confinement::outside();
        let surroundings = Surroundings::new(&confinement, &own, &[], None, &own);
        for (path, expected) in [
            ("config.toml", true),
            ("work.config.toml", true),
            ("rules/always.toml", true),
            ("prompts/tidy.md", true),
            ("scratch/a/config.toml", false),
        ] {
            let place = surroundings.place(&own.join(path), false);
            assert_eq!(place.acts.is_some(), expected, "{path}");
        }
    }

    /// Shows S-140.
    #[test]
    fn each_path_lies_inside_outside_or_where_nobody_writes() {
        let dir = tempfile::Builder::new()
            .prefix("place")
            .tempdir_in("/var/tmp")
            .expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        let (work, home, own) = (
            base.join("work"),
            base.join("home/ada"),
            base.join("home/ada/.countersign"),
        );
        for folder in [
            "work/sub",
            "work/.git",
            "home/ada/.countersign",
            "home/ada/.ssh",
            "sib/.git",
            "far/deep",
        ] {
            fs::create_dir_all(base.join(folder)).expect("mkdir");
        }
        fs::write(base.join("far/f.txt"), "x").expect("write");
        symlink(base.join("far/deep"), work.join("out")).expect("symlink");
        symlink(base.join("far/f.txt"), work.join("link.txt")).expect("symlink");
        symlink(base.join("missing"), base.join("dangling")).expect("symlink");
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        };
        let confinement = Confinement::new(&policy, &work, &[], None);
        let surroundings = Surroundings::new(&confinement, &work, &[], Some(&home), &own);
        enum Expected<'a> {
            Inside,
            Outside(&'a str),
            Apart(&'a str),
            Never(&'a str),
        }
        use Expected::{Apart, Inside, Never, Outside};
        for (path, expected) in [
            ("work/a.txt", Inside),
            ("work/new/deep/a.txt", Inside),
            ("work/.git/config", Never("protected")),
            ("work/.countersign/config.toml", Never("protected")),
            ("work/~/a.txt", Never("~")),
            ("work/notes.countersign.md", Never("chat document")),
            ("work/new/.Countersign.MD", Never("chat document")),
            ("sib/notes.countersign.md", Never("chat document")),
            (
                "home/ada/.countersign/chats/chat-1.countersign.md",
                Never("chat document"),
            ),
            ("sib/a.txt", Outside("sib")),
            ("sib/new/deep/a.txt", Outside("sib/new/deep")),
            ("sib/.git/hooks/x", Never("protected")),
            ("sib/.agents/x", Never("protected")),
            ("fresh/a.txt", Outside("fresh")),
            ("work/out/a.txt", Outside("far/deep")),
            ("work/out/more/a.txt", Outside("far/deep/more")),
            ("work/link.txt", Never("through the link")),
            ("dangling/a.txt", Never("through the link")),
            ("home/ada/notes.txt", Outside("home/ada")),
            ("home/ada/.config/app/x.toml", Outside("home/ada/.config/app")),
            ("home/ada/.ssh/config", Never("keys and passwords")),
            ("home/ada/.netrc", Never("keys and passwords")),
            ("home/ada/.countersign/config.toml", Never("own folder")),
            ("home/x.txt", Apart("never opened as a whole")),
            ("x.txt", Apart("never opened as a whole")),
            ("/x.txt", Apart("right in the folder /")),
            ("/proc/self/x", Never("kernel")),
            ("/dev/null", Never("kernel")),
            ("/etc/x/y", Outside("/etc/x")),
        ] {
            let place = surroundings.place(&base.join(path), false);
            match (&place.lies, expected) {
                (Lies::Inside, Inside) => {}
                (Lies::Outside(folder), Outside(expected)) => assert_eq!(*folder, base.join(expected), "{path}"),
                (Lies::Never(why), Never(part)) | (Lies::Apart(why), Apart(part)) => {
                    assert!(why.contains(part), "{path}: {why}")
                }
                (lies, _) => panic!("{path}: {lies:?}"),
            }
        }
        assert!(
            surroundings
                .warning(&home)
                .is_some_and(|words| words.contains("whole home folder"))
        );
        assert!(
            surroundings
                .warning(&base)
                .is_some_and(|words| words.contains("workspace"))
        );
        assert!(
            surroundings
                .warning(Path::new("/etc"))
                .is_some_and(|words| words.contains("system"))
        );
        assert_eq!(surroundings.warning(&base.join("sib")), None);
    }
}
