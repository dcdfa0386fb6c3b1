//! The repository that a program of version control would act on, as the disk tells, without starting anything.

use crate::exec::command::base_name;
use crate::exec::confinement::resolve;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Programs that act on the repository around their folder, and start what it names.
const BY_REPOSITORY: &[&str] = &["gh", "git", "glab", "hg", "hub", "jj", "lazygit", "svn", "tig"];

/// What makes a folder a repository. No confined command writes an entry of such a name in a workspace.
const MARKS: &[&str] = &[".git", ".hg", ".jj", ".svn"];

/// Programs with the sub-commands by which they talk to another repository: their first operand names it.
const TALKING: &[(&str, &[&str])] = &[
    ("git", &["clone", "fetch", "ls-remote", "pull", "push"]),
    (
        "hg",
        &[
            "clone", "id", "identify", "in", "incoming", "out", "outgoing", "pull", "push", "unbundle",
        ],
    ),
];

/// Options of theirs that take no word behind them.
const BARE: &[&str] = &[
    "--",
    "-4",
    "-6",
    "-a",
    "-d",
    "-f",
    "-n",
    "-p",
    "-q",
    "-t",
    "-v",
    "--all",
    "--atomic",
    "--autostash",
    "--bare",
    "--delete",
    "--dry-run",
    "--ff",
    "--ff-only",
    "--follow-tags",
    "--force",
    "--force-with-lease",
    "--heads",
    "--progress",
    "--prune",
    "--quiet",
    "--rebase",
    "--set-upstream",
    "--tags",
    "--unshallow",
    "--verbose",
];

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repository {
    /// In this folder, which is named as it really is.
    At(PathBuf),
    /// There is none around.
    Nowhere,
    /// It depends, or whoever writes ordinary files could have made it (git takes a folder with a `HEAD` for a repository).
    Unsure,
}

impl Repository {
    /// Whether a yes in this one holds in another.
    pub(super) fn is(&self, other: &Self) -> bool {
        self == other && *self != Self::Unsure
    }
}

/// Whether a program acts on a repository.
pub fn acts_on_one(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program).to_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    BY_REPOSITORY.contains(&name) || name.starts_with("git-")
}

/// Whether a program that acts on a repository is among the words, in shell text too.
pub(super) fn names_such_a_program(argv: &[String]) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    argv.iter()
        .flat_map(|word| word.split(|c| !is_part(c)))
        .any(acts_on_one)
}

/// Where a word of a command may name a repository, or a place in one: with the end that `git` lets people leave out, and also where
/// nothing is yet.
pub(super) fn named(folder: &Path, word: &str) -> Vec<PathBuf> {
    let word = match word.trim_end_matches('/') {
        "" => word,
        trimmed => trimmed,
    };
    if word.is_empty() {
        return Vec::new();
    }
    let place = folder.join(word);
    let is_address = word.split_once(':').is_some_and(|(front, _)| !front.contains('/'));
    let may_come = word.contains('/') && !is_address && !word.contains(char::is_whitespace) && !place.exists();
    let counts = |place: &PathBuf| place.is_dir() || is_pointer(place);
    let short = folder.join(format!("{word}.git"));
    let mut places: Vec<PathBuf> = [short].into_iter().filter(counts).collect();
    if may_come || counts(&place) {
        places.push(place);
    }
    places
}

/// The words that may name the other repository that a command talks to: its first operand, with those in front of it that
/// may be the value of an option, and what options have attached.
pub(super) fn others<'w>(program: &str, arguments: &'w [String]) -> Vec<&'w str> {
    let name = base_name(program);
    let talking = TALKING.iter().find(|(known, _)| *known == name);
    let is_one = |word: &&str| talking.is_some_and(|(_, known)| known.contains(word));
    // Behind options of the program itself it is not sure which word is the sub-command.
    let has_options = arguments.first().is_some_and(|first| first.starts_with('-'));
    let words = arguments.iter().map(String::as_str).enumerate();
    let mut may_be_one = words.take(if has_options { arguments.len() } else { 1 });
    let Some((at, sub_command)) = may_be_one.find(|(_, word)| is_one(word)) else {
        return Vec::new();
    };
    let rest = &arguments[at + 1..];
    let is_multiple = |word: &String| match word.strip_prefix("--") {
        Some(long) => long.starts_with('m'),
        None => word.starts_with('-') && word.contains('m'),
    };
    let is_unclear = has_options || sub_command == "fetch" && rest.iter().any(is_multiple);
    let mut others = Vec::new();
    let mut before = "--";
    for word in rest {
        let may_be_value = takes_word(before, sub_command);
        before = word;
        match word.split_once('=').filter(|_| word.starts_with('-')) {
            Some((_, value)) => others.push(value),
            None if word.starts_with('-') => {}
            None => {
                others.push(word);
                if !may_be_value && !is_unclear {
                    break;
                }
            }
        }
    }
    others
}

/// Whether a word is an option that may take the one behind it.
pub(super) fn takes_word(word: &str, sub_command: &str) -> bool {
    let is_bare = |option: &str| BARE.contains(&option) || option == "-u" && ["push", "pull"].contains(&sub_command);
    let are_bare = |letters: &str| letters.chars().all(|letter| is_bare(&format!("-{letter}")));
    let Some(letters) = word.strip_prefix('-').filter(|_| !word.contains('=')) else {
        return false;
    };
    match letters.strip_prefix('-') {
        Some(long) => !is_bare(word) && !long.starts_with("no-"),
        None => !are_bare(letters),
    }
}

/// Whether a word that names another repository may be a file that holds one: anybody who writes ordinary files can have made it.
pub(super) fn names_a_bundle(folder: &Path, word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let is_called_so = [".bundle", ".hg"].iter().any(|end| lower.ends_with(end));
    let is_addressed_so = ["bundle:", "file:", "union:"]
        .iter()
        .any(|begin| lower.starts_with(begin));
    let is_there = |name: &str| {
        let place = folder.join(name);
        place.symlink_metadata().is_ok() && !place.is_dir()
    };
    is_called_so || is_addressed_so || is_there(word) || is_there(&format!("{word}.bundle"))
}

/// Whether a word is an address that another program is started for: `ext::sh -c …`.
pub(super) fn names_a_transport(word: &str) -> bool {
    word.split_once("::")
        .is_some_and(|(transport, _)| match word.contains(char::is_whitespace) {
            true => ["ext", "fd"].contains(&transport),
            false => !transport.is_empty() && transport.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
        })
}

/// Whether this is a file that says where a repository is.
fn is_pointer(place: &Path) -> bool {
    const BEGINNING: &[u8] = b"gitdir:";
    let mut begin = Vec::new();
    let is_file = std::fs::metadata(place).is_ok_and(|found| found.is_file());
    let read = |file: std::fs::File| file.take(BEGINNING.len() as u64).read_to_end(&mut begin);
    is_file && crate::regular::open(place).and_then(read).is_ok() && begin == BEGINNING
}

/// The repository around a folder.
pub fn around(folder: &Path) -> Repository {
    let real = resolve(folder);
    if is_pointer(&real) {
        return Repository::Unsure;
    }
    for above in real.ancestors() {
        let holds = |name: &str| above.join(name).symlink_metadata().is_ok();
        if holds("HEAD") {
            return Repository::Unsure;
        }
        if MARKS.iter().any(|mark| holds(mark)) {
            return Repository::At(above.to_owned());
        }
    }
    Repository::Nowhere
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_words_may_name_another_repository() {
        for (command, expected) in [
            ("git push origin main", "origin"),
            ("git push -u origin HEAD:x", "origin"),
            ("git push -fu origin main", "origin"),
            ("git push --no-verify origin main", "origin"),
            ("git pull --rebase origin main", "origin"),
            ("git fetch --depth 1 origin main", "1 origin"),
            ("git fetch -j 4 -q origin main", "4 origin"),
            ("git fetch --multiple origin other", "origin other"),
            ("git fetch -qm origin other", "origin other"),
            ("git push --repo=x main", "x main"),
            ("git fetch -- origin main", "origin"),
            ("git -C fetch fetch origin main", "fetch origin main"),
            ("git fetch", ""),
            ("git commit -m fetch a", ""),
            ("git push --data origin main", "origin main"),
            ("git status", ""),
            ("hg pull -r 1 there", "1 there"),
            ("cp push a", ""),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let found = others(&words[0], &words[1..]).join(" ");
            assert_eq!(found, expected, "{command}");
        }
    }
}
