//! What one exact command touches outside of the sandbox, as far as can be told before the run: where its words lead, also in
//! text that a shell reads, and what the archives hold that it unpacks.

use super::plain::Command;
use super::reach::tails;
use super::{Folders, Reach};
use crate::exec::command::{Starts, base_name, is_starter, told};
use crate::exec::program::steering;
use crate::regular;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// How deep text within text is read.
const DEPTH: usize = 4;
/// Longer archives are not read, so it cannot be told whether they stay the same.
const LONGEST: u64 = 64 << 20;

/// Programs whose words are run on another machine, or in a container.
const REMOTE: &[&str] = &[
    "docker",
    "docker-compose",
    "kubectl",
    "lxc",
    "oc",
    "podman",
    "ssh",
    "vagrant",
];

/// What a command touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) reach: Reach,
    /// What decides which files are written, by its content.
    archives: BTreeMap<PathBuf, [u8; 32]>,
    /// What may decide what is done, since nothing is known of the program that is given it.
    files: BTreeMap<PathBuf, [u8; 32]>,
}

impl Touched {
    /// What a command of plain words touches. None where only the run can tell.
    pub(super) fn of_command(command: &[String], folders: &Folders) -> Option<Self> {
        of_command(command, &[], folders, DEPTH)
    }

    /// What all of them touch.
    pub(super) fn of_each(all: &[(&[String], Folders)]) -> Option<Self> {
        let each = all.iter().map(|(command, folders)| Self::of_command(command, folders));
        each.reduce(|one, other| Some(one?.and(other?))).flatten()
    }

    /// The same with what these put into others: the content of the files that they name.
    #[must_use]
    pub(super) fn fed_by<'c>(mut self, feeders: impl Iterator<Item = &'c (&'c [String], Folders)>) -> Option<Self> {
        for (command, folders) in feeders {
            self.files.extend(contents(command.iter().skip(1), folders)?);
        }
        Some(self)
    }

    /// What shell text touches.
    pub(super) fn of_text(text: &str, folders: &Folders) -> Option<Self> {
        of_text(text, folders, DEPTH)
    }

    /// Whether it touches nothing that another does not, with the same in its archives.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        (other.reach.elsewhere || !self.reach.elsewhere)
            && (other.reach.acts_later || !self.reach.acts_later)
            && (other.reach.closed || !self.reach.closed)
            && self.archives == other.archives
            && self.files == other.files
    }

    /// Which content it depends on, to be read behind the command.
    pub(super) fn as_it_is_now(&self) -> String {
        let mut text = String::new();
        if !self.archives.is_empty() {
            text += &format!(
                ", with {} as it is now, which decides what is written, also what other programs act on by themselves",
                names(&self.archives)
            );
        }
        if !self.files.is_empty() {
            text += &format!(", with the content that {} has now", names(&self.files));
        }
        text
    }

    fn and(mut self, other: Self) -> Self {
        self.reach = self.reach.and(other.reach);
        self.archives.extend(other.archives);
        self.files.extend(other.files);
        self
    }
}

fn names(files: &BTreeMap<PathBuf, [u8; 32]>) -> String {
    let names = files.keys().filter_map(|path| path.file_name());
    let mut names: Vec<String> = names.map(|name| crate::shown::line(&name.to_string_lossy())).collect();
    names.dedup();
    names.join(", ")
}

fn of_command(command: &[String], reads: &[String], folders: &Folders, depth: usize) -> Option<Touched> {
    // Only the run tells what a pattern becomes.
    if folders.has_pattern() {
        return None;
    }
    let mut touched = Touched {
        reach: Reach::of(command, folders),
        archives: archives(command, reads, folders)?,
        files: files(command, folders)?,
    };
    for text in texts(command) {
        touched = touched.and(of_text(text, folders, depth)?);
    }
    Some(touched)
}

fn of_text(text: &str, folders: &Folders, depth: usize) -> Option<Touched> {
    let depth = depth.checked_sub(1)?;
    let told = told(text)?;
    let redirected = |program: &str, path: &String| vec![program.to_owned(), path.clone()];
    let writes = told.writes.iter().map(|path| redirected("tee", path));
    let reads = told.reads.iter().map(|path| redirected("cat", path));
    let all = told.commands.iter().cloned().chain(writes).chain(reads);
    let all: Vec<Command> = all
        .map(|words| Command {
            words,
            has_pattern: false,
            is_fed: false,
        })
        .collect();
    let located = folders.clone().each(&all);
    let each = located
        .iter()
        .map(|(command, folders)| of_command(command, &told.reads, folders, depth));
    let mut touched = each.reduce(|one, other| Some(one?.and(other?))).flatten()?;
    // What is put into a program may be run by it, whatever it is.
    for (_, folders) in &located {
        touched.files.extend(contents(told.reads.iter(), folders)?);
    }
    Some(touched)
}

/// The state of the files that words name. None if it cannot be told of one.
fn contents<'w>(words: impl Iterator<Item = &'w String>, folders: &Folders) -> Option<BTreeMap<PathBuf, [u8; 32]>> {
    let places = words.flat_map(|word| folders.places(word));
    let mut found = BTreeMap::new();
    for place in places.filter(|place| place.is_file()) {
        let state = digest(&place).or_else(|| stamp(&place))?;
        found.insert(place, state);
    }
    Some(found)
}

/// Words of a command that a shell reads.
fn texts(command: &[String]) -> impl Iterator<Item = &str> {
    let runs_text = |word: &String| is_starter(base_name(word), Starts::Text);
    let is_remote = command
        .first()
        .is_some_and(|program| REMOTE.contains(&base_name(program)));
    let has_text = !is_remote && command.iter().any(runs_text);
    let words = command.iter().skip(1).map(String::as_str);
    words.filter(move |word| has_text && word.contains([' ', '\t', '\n', ';', '<', '>', '|', '&', '$', '`']))
}

/// What a command unpacks: empty if it is no such program, and none if that cannot be told.
fn archives(command: &[String], reads: &[String], folders: &Folders) -> Option<BTreeMap<PathBuf, [u8; 32]>> {
    let is_front = command.first().is_some_and(|program| {
        let name = base_name(program);
        is_starter(name, Starts::Behind) || is_starter(name, Starts::ItsWords)
    });
    let most = if is_front { command.len() } else { 1 };
    let mut found = BTreeMap::new();
    let Some(at) = (0..most.min(command.len())).find(|at| unpacks(&command[*at..])) else {
        return Some(found);
    };
    for word in command[at + 1..].iter().chain(reads) {
        let is_option = word.starts_with('-');
        let behind_sign = word.split_once('=').map(|(_, value)| value);
        let behind_letter = word.get(2..).filter(|_| is_option);
        let values = [Some(word.as_str()), behind_sign, behind_letter].into_iter().flatten();
        for value in values.chain(tails(word)).filter(|value| !value.is_empty()) {
            // `unzip a` takes a.zip.
            let names = [value.to_owned(), format!("{value}.zip")];
            for place in names.iter().flat_map(|name| folders.places(name)) {
                if place.is_file() {
                    let digest = digest(&place)?;
                    found.insert(place, digest);
                }
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

/// What may decide what a program does of which nothing is known. None if it cannot be read.
fn files(command: &[String], folders: &Folders) -> Option<BTreeMap<PathBuf, [u8; 32]>> {
    let names: Vec<String> = steering(command).into_iter().map(str::to_owned).collect();
    contents(names.iter(), folders)
}

/// What changes with the content of a file that is too long to be read.
fn stamp(path: &Path) -> Option<[u8; 32]> {
    let found = path.metadata().ok()?;
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt as _;
        (found.ino(), found.ctime(), found.ctime_nsec())
    };
    #[cfg(not(unix))]
    let changed = found.modified().ok()?;
    Some(Sha256::digest(format!("{} {changed:?}", found.len())).into())
}

/// Whether a program writes files whose names and content another file decides.
fn unpacks(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    let has = |words: &[&str]| arguments.iter().any(|word| words.contains(&word.as_str()));
    let begins = |starts: &[&str]| {
        let mut arguments = arguments.iter();
        arguments.any(|word| starts.iter().any(|start| word.starts_with(start)))
    };
    // `tar xf`, `tar -xf`.
    let has_letter = |letter: char| {
        let is_bundle = |(at, word): (usize, &String)| at == 0 || word.starts_with('-') && !word.starts_with("--");
        let mut bundles = arguments.iter().enumerate().filter(|one| is_bundle(*one));
        bundles.any(|(_, word)| word.contains(letter))
    };
    match base_name(program) {
        "7z" | "7za" | "7zr" | "7zz" | "rar" | "unrar" => has(&["e", "x"]),
        "ar" | "ditto" | "jar" => has_letter('x'),
        "bsdtar" | "gtar" | "star" | "tar" => has_letter('x') || begins(&["--ex", "--ge"]),
        "pax" => has_letter('r'),
        "rsync" => begins(&["--files-from"]),
        "dpkg" => begins(&["-R", "-X", "-i", "-x", "--ex", "--in", "--rec", "--unp", "--vex"]),
        "git" => has(&["am", "apply"]),
        "hg" => has(&["import", "patch"]),
        "svn" => has(&["patch"]),
        "atool" | "aunpack" | "bsdcpio" | "cabextract" | "cpio" | "dpkg-deb" | "gpatch" | "patch" | "unar"
        | "unsquashfs" | "unzip" => true,
        _ => false,
    }
}

/// None if it cannot be read, or not all of it.
fn digest(path: &Path) -> Option<[u8; 32]> {
    let mut file = regular::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    if length > LONGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.by_ref().take(LONGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LONGEST).then(|| Sha256::digest(&bytes).into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::Scene;
    use super::*;
    use std::fs;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    /// Columns: the command, and whether it unpacks.
    #[test]
    fn who_unpacks() {
        for (text, expected) in [
            ("tar xf a.tar", true),
            ("tar -zxf a.tgz", true),
            ("tar --extract -f a.tar", true),
            ("tar czf a.tgz src", false),
            ("tar -tf a.tar", false),
            ("bsdtar -xf a.zip", true),
            ("unzip a.zip", true),
            ("cpio -i", true),
            ("7z x a.7z", true),
            ("7z a a.7z src", false),
            ("dpkg -x a.deb sub", true),
            ("dpkg -l", false),
            ("patch -p1 -i a.diff", true),
            ("git apply a.diff", true),
            ("git -C sub am a.mbox", true),
            ("git commit -m x", false),
            ("rsync -a src dst", false),
            ("rsync -a --files-from=list src dst", true),
            ("cp a.tar b", false),
        ] {
            assert_eq!(unpacks(&words(text)), expected, "{text}");
        }
    }

    /// Columns: the text, and the archives that decide what it writes. None where only the run can tell.
    #[test]
    fn what_can_be_told() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let base = fs::canonicalize(dir.path()).expect("canonical");
        fs::create_dir(base.join("sub")).expect("mkdir");
        for file in ["a.tar", "sub/b.tar", "a.zip", "a.diff"] {
            fs::write(base.join(file), file).expect("write");
        }
        let folders = Folders::of(Scene::at(&base));
        for (text, expected) in [
            ("cp a b > log", Some("")),
            ("tar xf a.tar > log", Some("a.tar")),
            ("tar -xfa.tar 2> log", Some("a.tar")),
            ("tar x < a.tar", Some("a.tar")),
            ("sudo tar xf a.tar > log", Some("a.tar")),
            ("cd sub && tar xf b.tar > log", Some("b.tar")),
            ("unzip a > log", Some("a.zip")),
            ("patch -p1 < a.diff", Some("a.diff")),
            ("sh -c 'tar xf a.tar' > log", Some("a.tar")),
            ("curl localhost | tar x > log", None),
            ("tar xf none.tar > log", None),
            ("tar xf *.tar > log", None),
            ("sh -c 'cp $X b' > log", None),
            ("for f in a b; do cp $f c; done", None),
        ] {
            let found = Touched::of_text(text, &folders).map(|touched| names(&touched.archives));
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        // Columns: the command, and the files whose content it may depend on.
        for file in ["x.conf", "list", "a.csv"] {
            fs::write(base.join(file), file).expect("write");
        }
        for (text, expected) in [
            ("mytool -c x.conf", "x.conf"),
            ("mytool --config=x.conf", "x.conf"),
            ("mytool @list", "list"),
            ("gcc -specs=x.conf a.c", "x.conf"),
            ("parallel -a list sh", "list"),
            ("sudo mytool -cx.conf", "x.conf"),
            ("mytool -o list", ""),
            ("mytool --output=list", ""),
            ("mytool a.csv", ""),
            ("cp x.conf list sub", ""),
            ("sudo rsync -a x.conf h:", ""),
            ("psql -f x.conf", ""),
        ] {
            let found = Touched::of_command(&words(text), &folders).expect("told");
            assert_eq!(names(&found.files), expected, "{text}");
        }
        let before = Touched::of_command(&words("mytool -c x.conf"), &folders).expect("told");
        fs::write(base.join("x.conf"), "other").expect("write");
        let after = Touched::of_command(&words("mytool -c x.conf"), &folders).expect("told");
        assert!(before.is_within(&before) && !after.is_within(&before));
        let remote = ["ssh", "host", "cat $HOME/x"].map(str::to_owned);
        assert!(Touched::of_command(&remote, &folders).is_some());
        let link = Touched::of_text("cp a b > out", &folders).expect("told");
        std::os::unix::fs::symlink("/nowhere/out", base.join("out")).expect("a link");
        let later = Touched::of_text("cp a b > out", &folders).expect("told");
        assert!(link.is_within(&later) && !later.is_within(&link));
        let before = Touched::of_text("tar x < a.tar", &folders).expect("told");
        fs::write(base.join("a.tar"), "other").expect("write");
        let after = Touched::of_text("tar x < a.tar", &folders).expect("told");
        assert!(before.is_within(&before) && !after.is_within(&before));
    }
}
