//! Where a command would run, and where the commands joined in it may have gone by then.

use super::kept::Kept;
use super::plain::Command;
use super::reach::clean;
use super::repository::{self, Repository};
use super::{shape, taking};
use crate::exec::confinement::resolve;
use crate::exec::protected::{Later, is_meeting_place};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::FileType;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// The folders and the environment that a command meets.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The conversation's folder; absolute. What is allowed "here" stays in it, whatever folder the model names.
    pub base: &'a Path,
    /// The folder that the command would run in; absolute.
    pub cwd: &'a Path,
    /// Whether it is there for certain: a shell that is typed into may have gone elsewhere.
    pub is_certain: bool,
    /// What the command would find outside the sandbox; its `PATH` leads to programs.
    pub env: &'a BTreeMap<String, String>,
    /// What the conversation's settings keep; none where they keep nothing.
    pub kept: Option<&'a Arc<Kept>>,
}

static NO_ENVIRONMENT: BTreeMap<String, String> = BTreeMap::new();

/// What acts later where no settings say more.
static BY_TABLE: LazyLock<Later> = LazyLock::new(Later::default);

impl<'a> Scene<'a> {
    /// A command in the conversation's folder itself, with programs where systems keep them.
    pub const fn at(base: &'a Path) -> Self {
        Self {
            base,
            cwd: base,
            is_certain: true,
            env: &NO_ENVIRONMENT,
            kept: None,
        }
    }
}

/// More folders than these are not told apart.
const MOST_FOLDERS: usize = 16;

/// More entries of folders than these are not looked at.
const MOST_ENTRIES: usize = 5_000;

/// Where one command of a composition is read: the folders that it may find itself in, since a change of folder may have failed.
#[derive(Clone, Debug)]
pub struct Folders {
    base: PathBuf,
    real_base: PathBuf,
    /// None if there is no telling.
    possible: Option<Vec<PathBuf>>,
    /// A shell makes names of a pattern in it.
    has_pattern: bool,
    kept: Option<Arc<Kept>>,
}

impl Folders {
    pub fn of(scene: Scene<'_>) -> Self {
        Self {
            base: scene.base.to_owned(),
            real_base: resolve(scene.base),
            possible: scene.is_certain.then(|| vec![scene.cwd.to_owned()]),
            has_pattern: false,
            kept: scene.kept.cloned(),
        }
    }

    /// The commands of a composition, each with the folders that it may find itself in.
    pub(super) fn of_each<'c>(scene: Scene<'_>, commands: &'c [Command]) -> Vec<(&'c [String], Self)> {
        Self::of(scene).each(commands)
    }

    /// The same, where the first of them may find itself in these.
    pub(super) fn each(mut self, commands: &[Command]) -> Vec<(&[String], Self)> {
        let located = commands.iter().map(|command| {
            let before = Self {
                has_pattern: command.has_pattern,
                ..self.clone()
            };
            self.follow(&command.words);
            (command.words.as_slice(), before)
        });
        located.collect()
    }

    /// Where a path may lead.
    pub(super) fn places(&self, path: &str) -> Vec<PathBuf> {
        self.possible.iter().flatten().map(|folder| folder.join(path)).collect()
    }

    /// The conversation's folder.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The conversation's folder as it really is, links followed.
    pub fn real_base(&self) -> &Path {
        &self.real_base
    }

    /// Whether a shell makes names of a pattern in the command, so that its words do not say what it acts on.
    pub fn has_pattern(&self) -> bool {
        self.has_pattern
    }

    /// Whether all of them lie in the conversation's folder, links followed.
    pub(super) fn are_here(&self) -> bool {
        self.possible.as_ref().is_some_and(|possible| {
            let is_below =
                |folder: &PathBuf| self.in_base(&clean(folder)) && resolve(folder).starts_with(&self.real_base);
            possible.iter().all(is_below)
        })
    }

    /// Whether a path leads to the conversation's folder or the temporary one from each of them, by its words and where its
    /// links lead now.
    pub(super) fn keep_here(&self, path: &str) -> bool {
        let temporary = Path::new("/tmp");
        let stays = |folder: &PathBuf| {
            let path = folder.join(path);
            let (words, real) = (clean(&path), resolve(&path));
            (self.in_base(&words) || words.starts_with(temporary))
                && (real.starts_with(&self.real_base) || real.starts_with(resolve(temporary)))
        };
        self.possible
            .as_ref()
            .is_some_and(|possible| possible.iter().all(stays))
    }

    /// Whether a link in this folder (below it if `deep`) leads elsewhere, or it holds too much to tell.
    pub(super) fn hold_links_out(&self, path: &str, deep: bool) -> bool {
        self.hold(path, deep, |entry, kind| {
            kind.is_symlink() && !self.keep_here(&entry.to_string_lossy())
        })
    }

    /// Whether a path leads through an entry that other programs act on by themselves, by its words or where its links lead
    /// now; `below` also where such an entry lies in the folder that it names, or that holds too much to tell.
    pub(super) fn lead_to_what_acts(&self, path: &str, below: bool) -> bool {
        let in_one = |folder: &PathBuf| {
            let place = folder.join(path);
            self.acts(&clean(&place)) || self.acts(&resolve(&place))
        };
        self.possible.iter().flatten().any(in_one) || below && self.hold(path, true, |entry, _| self.acts(entry))
    }

    fn later(&self) -> &Later {
        self.kept.as_ref().map_or(&*BY_TABLE, |kept| kept.later())
    }

    fn acts(&self, place: &Path) -> bool {
        // What the conversation's folder lies in is as it is.
        self.later().acts_on_the_way(place, &[&self.base, &self.real_base])
            || self.kept.as_ref().is_some_and(|kept| kept.is_led_to(place))
            || is_meeting_place(place)
    }

    /// Whether other programs act by themselves on what something becomes that is put into a folder, or in its place; of a
    /// `whole` folder also on what lies in it there. What of it may be a part of a repository is added to `made`.
    pub(super) fn put_what_acts(&self, source: &str, target: &str, whole: bool, made: &mut Vec<PathBuf>) -> bool {
        let mut acts = false;
        for folder in self.possible.iter().flatten() {
            let (from, to) = (folder.join(source), folder.join(target));
            let name = clean(&from).file_name().map(OsStr::to_owned);
            for to in [clean(&to), resolve(&to)] {
                let inside = name.as_ref().map(|name| to.join(name));
                let mut put = |place: PathBuf| {
                    acts |= self.acts(&place);
                    if Later::is_part_of_repository(&place) {
                        made.push(place);
                    }
                };
                let too_much = whole
                    && any_entry(vec![from.clone()], true, |entry, _| {
                        if let Ok(below) = entry.strip_prefix(&from) {
                            put(to.join(below));
                            inside.iter().for_each(|inside| put(inside.join(below)));
                        }
                        false
                    });
                inside.iter().cloned().for_each(&mut put);
                acts |= too_much;
            }
        }
        acts
    }

    /// What of a path may be a part of a repository, as it really is.
    pub(super) fn parts_of_repositories(&self, path: &str) -> Vec<PathBuf> {
        let possible = self.possible.iter().flatten();
        let on_the_way = possible.flat_map(|folder| {
            let real = resolve(&folder.join(path));
            let parts = real.ancestors().filter(|place| Later::is_part_of_repository(place));
            parts.map(Path::to_owned).collect::<Vec<_>>()
        });
        on_the_way.collect()
    }

    /// Whether what is made there, together, makes a folder here a repository.
    pub(super) fn complete_repository(&self, made: &[PathBuf]) -> bool {
        self.later()
            .complete_repository(std::slice::from_ref(&self.real_base), made)
    }

    /// Whether a path is that of a folder, from one of them.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        let mut possible = self.possible.iter().flatten();
        possible.any(|folder| folder.join(path).is_dir())
    }

    /// Whether a path leads from one of them to what commands may not read; `below` also where such a place lies in the folder
    /// that it names, or that holds too much to tell.
    pub(super) fn lead_to_what_is_closed(&self, path: &str, below: bool) -> bool {
        let Some(kept) = &self.kept else { return false };
        let in_one = |folder: &PathBuf| {
            let place = folder.join(path);
            kept.is_closed(&place) || below && kept.closes_within(&place)
        };
        self.possible.iter().flatten().any(in_one)
            || below && kept.goes_by_names() && self.hold(path, true, |entry, _| kept.is_closed(entry))
    }

    /// The repositories around them, and where there is none they themselves.
    fn roots(&self) -> Vec<PathBuf> {
        let root = |folder: &PathBuf| match repository::around(folder) {
            Repository::At(root) => root,
            Repository::Nowhere | Repository::Unsure => folder.clone(),
        };
        self.possible.iter().flatten().map(root).collect()
    }

    /// Whether what commands may not read lies anywhere in the repository.
    pub(super) fn close_in_the_repository(&self) -> bool {
        let mut roots = self.roots().into_iter();
        roots.any(|root| self.lead_to_what_is_closed(&root.to_string_lossy(), true))
    }

    /// Whether it lies where a program looks that is given no folder: git takes the whole repository.
    pub(super) fn close_in_the_repository_or_here(&self, program: &str) -> bool {
        self.lead_to_what_is_closed(".", true) || program == "git" && self.close_in_the_repository()
    }

    /// Whether git keeps track of what commands may not read, or there is no telling.
    pub(super) fn track_what_is_closed(&self) -> bool {
        let Some(kept) = &self.kept else { return false };
        let tracks = |root: PathBuf| {
            (kept.goes_by_names() || kept.closes_within(&root))
                && taking::tracked(&root).is_none_or(|paths| paths.iter().any(|path| kept.is_closed(path)))
        };
        self.roots().into_iter().any(tracks)
    }

    /// Whether an entry of this folder (below it if `deep`) is of a kind, or it holds too much to tell.
    fn hold(&self, path: &str, deep: bool, is_one: impl FnMut(&Path, FileType) -> bool) -> bool {
        let folders = self.possible.iter().flatten().map(|folder| folder.join(path));
        any_entry(folders.collect(), deep, is_one)
    }

    fn in_base(&self, path: &Path) -> bool {
        path.starts_with(&self.base) || path.starts_with(&self.real_base)
    }

    /// The one repository that a command acts on, wherever it finds itself and whatever its words name: any of them may be the
    /// folder that it is to run in, or another repository, whose hooks then run.
    pub fn repository(&self, command: &[String]) -> Repository {
        let Some(possible) = &self.possible else {
            return Repository::Unsure;
        };
        let arguments = command.get(1..).unwrap_or_default();
        let texts = shape::texts(command.first().map_or("", String::as_str), arguments);
        let named = arguments.iter().zip(texts).filter(|(_, is_text)| !is_text);
        let words: Vec<&String> = named.map(|(word, _)| word).collect();
        let attached = words.iter().copied().filter_map(|word| {
            let value = word.split_once('=').map(|(_, value)| value);
            value.or_else(|| {
                word.get(2..)
                    .filter(|_| word.starts_with('-') && !word.starts_with("--"))
            })
        });
        let named: Vec<&str> = words.iter().map(|word| word.as_str()).chain(attached).collect();
        if named.iter().any(|name| repository::names_a_transport(name)) {
            return Repository::Unsure;
        }
        let program = command.first().map_or("", String::as_str);
        let others = repository::others(program, arguments);
        let is_bundle = |folder: &PathBuf| others.iter().any(|word| repository::names_a_bundle(folder, word));
        if possible.iter().any(is_bundle) {
            return Repository::Unsure;
        }
        let of_one = |folder: &PathBuf| {
            let places = named.iter().flat_map(|name| repository::named(folder, name));
            std::iter::once(folder.clone()).chain(places).collect::<Vec<_>>()
        };
        let mut all = possible
            .iter()
            .flat_map(of_one)
            .map(|folder| repository::around(&folder));
        let Some(first) = all.next() else {
            return Repository::Unsure;
        };
        match all.all(|other| other == first) {
            true => first,
            false => Repository::Unsure,
        }
    }

    /// Goes where a command of the shell may lead.
    fn follow(&mut self, command: &[String]) {
        let Some((program, arguments)) = command.split_first() else {
            return;
        };
        match program.as_str() {
            "cd" | "pushd" => self.enter(program, arguments),
            // It leads to a folder that has been gone through.
            "popd" => {}
            "eval" | "source" | "." | "trap" | "alias" | "chdir" => self.possible = None,
            _ => {
                // `time cd x`, `builtin cd x`.
                let changes = |word: &String| matches!(word.as_str(), "cd" | "chdir" | "pushd" | "popd" | "eval");
                if arguments.iter().any(changes) {
                    self.possible = None;
                }
            }
        }
    }

    fn enter(&mut self, program: &str, arguments: &[String]) {
        let is_option = |word: &&String| matches!(word.as_str(), "-L" | "--");
        let operands: Vec<&String> = arguments.iter().filter(|word| !is_option(word)).collect();
        let is_plain = |word: &str| {
            !word.is_empty() && !word.starts_with(['-', '+', '~']) && !word.contains(['*', '?', '[', '$', '`'])
        };
        match (operands.as_slice(), &mut self.possible) {
            (_, None) => {}
            // The one before, which has been gone through.
            ([], _) if program == "pushd" => {}
            ([folder], Some(possible)) if is_plain(folder) => {
                for from in possible.clone() {
                    let to = from.join(folder);
                    // A shell goes up by the words or by what is there.
                    for to in [clean(&to), resolve(&to)] {
                        if !possible.contains(&to) {
                            possible.push(to);
                        }
                    }
                }
                if possible.len() > MOST_FOLDERS {
                    self.possible = None;
                }
            }
            _ => self.possible = None,
        }
    }
}

/// Whether an entry of these folders (below them if `deep`) is of a kind, or they hold too much to tell.
fn any_entry(mut folders: Vec<PathBuf>, deep: bool, mut is_one: impl FnMut(&Path, FileType) -> bool) -> bool {
    let mut left = MOST_ENTRIES;
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if is_no_folder(&error) => continue,
            Err(_) => return true,
        };
        for entry in entries {
            let (Some(fewer), Ok(entry)) = (left.checked_sub(1), entry) else {
                return true;
            };
            left = fewer;
            let Ok(kind) = entry.file_type() else { return true };
            let place = entry.path();
            if is_one(&place, kind) {
                return true;
            }
            if deep && kind.is_dir() {
                folders.push(place);
            }
        }
    }
    false
}

/// Whether there is no folder of such a name, so that nothing is in it.
fn is_no_folder(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput
    )
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn words(text: &str) -> Vec<Command> {
        let one = |command: &str| Command {
            words: command.split_whitespace().map(str::to_owned).collect(),
            has_pattern: false,
            is_fed: false,
        };
        text.split(';').map(one).collect()
    }

    #[test]
    fn where_the_last_command_may_be() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical").join("w");
        fs::create_dir_all(base.join("sub/in")).expect("mkdir");
        symlink(base.parent().expect("a parent"), base.join("out")).expect("a link");
        symlink("sub", base.join("in-link")).expect("a link");
        for (text, expected) in [
            ("x", true),
            ("cd sub; x", true),
            ("cd sub; cd in; x", true),
            // The first step may have failed.
            ("cd sub; cd ..; x", false),
            ("pushd sub; popd; x", true),
            ("pushd sub; pushd; x", true),
            ("cd in-link; x", true),
            ("cd out; x", false),
            ("pushd out; x", false),
            ("cd ..; x", false),
            ("cd sub; cd ../..; x", false),
            ("cd /tmp; x", false),
            ("cd; x", false),
            ("cd -; x", false),
            ("cd ~; x", false),
            ("cd $X; x", false),
            ("cd s*; x", false),
            ("time cd /; x", false),
            ("builtin cd /; x", false),
            ("eval y; x", false),
            ("cd out; cd sub; x", false),
        ] {
            let commands = words(text);
            let located = Folders::of_each(Scene::at(&base), &commands);
            let (_, folders) = located.last().expect("a command");
            assert_eq!(folders.are_here(), expected, "{text}");
        }
        let uncertain = Scene {
            is_certain: false,
            ..Scene::at(&base)
        };
        assert!(!Folders::of(uncertain).are_here());
        let elsewhere = Scene {
            cwd: Path::new("/var"),
            ..Scene::at(&base)
        };
        assert!(!Folders::of(elsewhere).are_here());
    }

    #[test]
    fn where_a_path_leads() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical").join("w");
        fs::create_dir_all(base.join("sub")).expect("mkdir");
        symlink(base.parent().expect("a parent"), base.join("out")).expect("a link");
        symlink("/nowhere/file", base.join("dangling")).expect("a link");
        symlink("sub", base.join("in-link")).expect("a link");
        let folders = Folders::of(Scene::at(&base));
        for (path, expected) in [
            ("a", true),
            ("sub/a", true),
            ("in-link/a", true),
            ("new/er", true),
            ("/tmp/x", true),
            ("out", false),
            ("out/.bashrc", false),
            ("sub/../out/x", false),
            ("in-link/../../x", false),
            ("dangling", false),
            ("../x", false),
            ("/etc/x", false),
        ] {
            assert_eq!(folders.keep_here(path), expected, "{path}");
        }
        for (path, deep, expected) in [(".", false, true), ("sub", true, false), ("new", true, false)] {
            assert_eq!(folders.hold_links_out(path, deep), expected, "{path}");
        }
        fs::create_dir(base.join("sub/in")).expect("mkdir");
        symlink("/nowhere/file", base.join("sub/in/a")).expect("a link");
        assert!(!folders.hold_links_out("sub", false) && folders.hold_links_out("sub", true));
        // What cannot be listed may hold anything; what is no folder holds nothing.
        symlink("round", base.join("round")).expect("a link");
        fs::write(base.join("file"), "").expect("write");
        let long = "x".repeat(300);
        for (path, expected) in [
            ("round", true),
            ("file", false),
            ("file/in", false),
            (long.as_str(), false),
        ] {
            assert_eq!(folders.hold_links_out(path, true), expected, "{path}");
        }
    }

    #[test]
    fn which_repository() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical").join("w");
        for folder in [".git", "sub/in", "vendor/.git", "bare/objects", "bare/refs"] {
            fs::create_dir_all(base.join(folder)).expect("mkdir");
        }
        fs::write(base.join("bare/HEAD"), "ref: refs/heads/x\n").expect("write");
        fs::create_dir(base.join("linked")).expect("mkdir");
        fs::write(base.join("linked/.git"), "gitdir: ../bare\n").expect("write");
        let own = Repository::At(base.clone());
        for (text, is_own) in [
            ("git fetch", true),
            ("cd sub; git fetch", true),
            ("cd sub/in; git fetch -q", true),
            ("git -C sub fetch", true),
            ("cd bare; git fetch", false),
            ("pushd bare; git fetch", false),
            ("cd bare/refs; git fetch", false),
            ("cd vendor; git fetch", false),
            ("cd linked; git fetch", false),
            ("git -C bare fetch", false),
            ("git --git-dir=bare fetch", false),
            ("git --git-dir bare fetch", false),
            ("cd /; git fetch", false),
        ] {
            let commands = words(text);
            let located = Folders::of_each(Scene::at(&base), &commands);
            let (command, folders) = located.last().expect("a command");
            assert_eq!(folders.repository(command) == own, is_own, "{text}");
        }
    }
}
