//! Which entries of a folder that commands may write act later, by themselves, and so stay as they are: by name, at every
//! depth.

use super::table::{AROUND, ENDS, INSTALLED, NAMES, OF_HOME, Reader, WITHIN};
use super::{PROTECTED, is_git_metadata};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What is kept in the roots of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Later {
    /// Names that the person or the project has added.
    pub more: Vec<String>,
    /// Names that the person has taken out.
    pub free: Vec<String>,
    /// The person's home folder, if it is known.
    #[serde(default)]
    pub home: Option<PathBuf>,
    /// Entries that are not kept, as the person has agreed to their change; real paths.
    #[serde(default)]
    pub agreed: Vec<PathBuf>,
    /// Roots for what passes: nobody works in them, so nothing in them is kept.
    pub scratch: Vec<PathBuf>,
    /// What is there when the command begins; real paths.
    #[serde(default)]
    pub there: Vec<PathBuf>,
    /// Links that lead to folders in which nothing is kept when the command begins, and what makes folders repositories.
    #[serde(default)]
    pub others: Vec<PathBuf>,
    /// Folders for temporary files that could not be listed then.
    #[serde(default)]
    pub unlisted: Vec<PathBuf>,
    /// Whether there may be more of it than was looked for.
    #[serde(default)]
    pub partial: bool,
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "as `hinders_move`"))]
/// The entries that a folder's subtree may have at the most, to be looked through when it is moved.
const MOVED: usize = 20_000;

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "as `hinders_move`"))]
/// Who looks through a folder before it is moved.
pub(crate) trait Looker {
    /// Whether there is time for one more entry.
    fn goes_on(&mut self) -> bool;

    /// Whether a link that comes to lie at this place, with this text, would lead out from there.
    fn leads_out(&mut self, place: &Path, target: &Path) -> bool;
}

impl Later {
    /// Who acts on an entry of this name, in words that stand after it.
    pub(crate) fn acts(&self, name: &OsStr) -> Option<&'static str> {
        let seen = seen_names(&name.to_string_lossy());
        let has = |list: &[String]| list.iter().any(|one| seen.iter().any(|name| is_one(name, &fold(one))));
        if has(&self.free) {
            return None;
        }
        if has(&self.more) {
            return Some("the configuration protects");
        }
        of_names(&seen).map(Reader::acts)
    }

    /// The same of an entry of this name in a folder, by what that is.
    pub(crate) fn acts_in(&self, folder: &Path, name: &OsStr) -> Option<&'static str> {
        let within = || {
            let around = folder.file_name().filter(|around| holds_acting(around))?;
            let (around, seen) = (
                seen_names(&around.to_string_lossy()),
                seen_names(&name.to_string_lossy()),
            );
            let is = |seen: &[String], known: &str| seen.iter().any(|name| is_one(name, known));
            let mut within = WITHIN.iter();
            let (.., reader) = within.find(|(outer, inner, _)| is(&around, outer) && is(&seen, inner))?;
            Some(reader.acts())
        };
        let of_home = || {
            let below = folder.strip_prefix(self.home.as_deref()?).ok()?;
            // None of them lies deeper.
            if below.components().count() > 1 {
                return None;
            }
            let below = below.join(name);
            let below = fold(&below.to_string_lossy());
            OF_HOME.iter().any(|known| fold(known) == below).then_some(LOGINS)
        };
        let is_free = || self.is_free(name);
        self.acts(name)
            .or_else(|| within().or_else(of_home).filter(|_| !is_free()))
    }

    /// Whether a path leads through an entry that acts later, or is one. What one of these folders lies in does not count.
    pub(crate) fn acts_on_the_way(&self, path: &Path, folders: &[&Path]) -> bool {
        let acts = |place: &Path| {
            let (folder, name) = (place.parent()?, place.file_name()?);
            let is_protected = PROTECTED.iter().any(|known| name == *known);
            Some(is_protected || self.acts_in(folder, name).is_some())
        };
        let mut below = path.ancestors().take_while(|place| !folders.contains(place));
        below.any(|place| acts(place).unwrap_or_default())
    }

    fn is_free(&self, name: &OsStr) -> bool {
        let seen = seen_names(&name.to_string_lossy());
        let is = |known: &String| seen.iter().any(|name| is_one(name, &fold(known)));
        self.free.iter().any(is)
    }

    /// Whether entries at this real path are looked at: it lies in a root where somebody works, and not in a folder of what
    /// is installed or built.
    pub(crate) fn covers(&self, roots: &[PathBuf], place: &Path) -> bool {
        let around = roots.iter().filter(|root| place.starts_with(root) && place != *root);
        let Some(root) = around.max_by_key(|root| root.components().count()) else {
            return false;
        };
        if roots.iter().any(|root| root == place) || self.scratch.contains(root) || is_git_metadata(root) {
            return false;
        }
        let folder = place.parent().unwrap_or(root);
        let below = folder.strip_prefix(root).map_or(0, |below| below.components().count());
        !folder.ancestors().take(below).any(is_installed)
    }

    /// Whether commands may make anything at all in a folder at this real path: it lies in a root, and nothing in it is kept.
    #[cfg_attr(not(unix), allow(dead_code, reason = "as `hinders_move`"))]
    pub(crate) fn is_open(&self, roots: &[PathBuf], place: &Path) -> bool {
        roots.iter().any(|root| place.starts_with(root))
            && !self.covers(roots, &place.join("x"))
            && self.kept_around(roots, place).is_none()
    }

    /// Whether a link leads from where entries are kept to a folder where they are not.
    #[cfg(unix)]
    pub(super) fn leads_out(&self, roots: &[PathBuf], link: &Path) -> bool {
        let leads = || super::end_of(link).is_some_and(|real| real.is_dir() && self.is_open(roots, &real));
        self.covers(roots, &link.join("x")) && leads()
    }

    /// Who acts on what is made or changed at this real path, if it is to stay as it is.
    pub(crate) fn keeps(&self, roots: &[PathBuf], place: &Path) -> Option<&'static str> {
        let acts = self.acts_in(place.parent()?, place.file_name()?)?;
        let agreed = self.agreed.iter().any(|agreed| agreed == place);
        let counts = || self.covers(roots, place) || self.is_repository(roots, place);
        (!agreed && counts()).then_some(acts)
    }

    /// Whether it is the `.git` right in a folder of what is installed or built: that is as near as editors look for one.
    fn is_repository(&self, roots: &[PathBuf], place: &Path) -> bool {
        let is_top = |folder: &Path| is_installed(folder) && self.covers(roots, folder);
        let is_git = |name: &OsStr| {
            seen_names(&name.to_string_lossy())
                .iter()
                .any(|name| is_one(name, REPOSITORY))
        };
        place.file_name().is_some_and(is_git) && place.parent().is_some_and(is_top)
    }

    /// Whether making something at this real path makes the folder around it a repository.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "as `hinders_move`"))]
    pub(crate) fn completes_repository(&self, roots: &[PathBuf], place: &Path) -> bool {
        let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
            return false;
        };
        if !Parts::is_one(name) || !self.covers(roots, place) || fs::symlink_metadata(place).is_ok() {
            return false;
        }
        let before = Parts::of(folder);
        let mut then = before;
        then.see(name);
        then.are_whole() && !before.are_whole()
    }

    /// Whether a path has the name of what makes a folder a repository.
    pub(crate) fn is_part_of_repository(path: &Path) -> bool {
        path.file_name().is_some_and(Parts::is_one)
    }

    /// Whether what is made at these real paths, together, makes a folder around one of them a repository.
    pub(crate) fn complete_repository(&self, roots: &[PathBuf], places: &[PathBuf]) -> bool {
        let mut folders: HashMap<&Path, Parts> = HashMap::new();
        for place in places {
            let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
                continue;
            };
            if Parts::is_one(name) && self.covers(roots, place) && fs::symlink_metadata(place).is_err() {
                folders.entry(folder).or_insert_with(|| Parts::of(folder)).see(name);
            }
        }
        folders
            .into_iter()
            .any(|(folder, then)| then.are_whole() && !Parts::of(folder).are_whole())
    }

    /// What this real path is or lies in, if that is to stay as it is, and who acts on it.
    pub(crate) fn kept_around<'p>(&self, roots: &[PathBuf], place: &'p Path) -> Option<(&'p Path, &'static str)> {
        // What lies in a root that is named is as the root is.
        let inside = place
            .ancestors()
            .take_while(|place| !roots.iter().any(|root| root == place));
        let mut kept = inside.filter_map(|place| Some((place, self.keeps(roots, place)?)));
        kept.next().or_else(|| self.meeting_around(roots, place))
    }

    /// What stands in the way of moving the folder `from` to `to`: in it, an entry that is kept in one of the two places and
    /// not in the other; a link that would lead out from where it comes to lie, as `looker` says; or what cannot be looked at,
    /// or takes too long. A folder that gets to where more is kept and holds too much to be looked through stands in the way
    /// itself.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "asked by the keeper, which Linux has")
    )]
    pub(crate) fn hinders_move(
        &self,
        roots: &[PathBuf],
        from: &Path,
        to: &Path,
        looker: &mut dyn Looker,
    ) -> Option<PathBuf> {
        let is_kept = |folder: &Path| self.covers(roots, &folder.join("x"));
        let (kept_before, kept_then) = (is_kept(from), is_kept(to));
        let crosses = kept_before != kept_then;
        let repository = from.join(REPOSITORY);
        if !crosses
            && self.keeps(roots, &to.join(REPOSITORY)).is_some()
            && self.keeps(roots, &repository).is_none()
            && fs::symlink_metadata(&repository).is_ok()
        {
            return Some(repository);
        }
        match fs::symlink_metadata(from) {
            _ if !kept_before && !kept_then => return None,
            Ok(found) if found.is_dir() => {}
            Ok(_) => return None,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return None;
            }
            // What cannot be looked at may be a folder.
            Err(_) => return Some(from.to_owned()),
        }
        let mut waiting = vec![PathBuf::new()];
        let mut seen = 0;
        while let Some(below) = waiting.pop() {
            let folder = from.join(&below);
            let Ok(entries) = fs::read_dir(&folder) else {
                return Some(folder);
            };
            let mut parts = Parts::default();
            for entry in entries {
                let Ok((name, kind)) = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))) else {
                    return Some(folder);
                };
                seen += 1;
                parts.see(&name);
                if !looker.goes_on() {
                    return Some(folder);
                }
                let below = below.join(&name);
                // By the name that a folder around it gets, too.
                let acts = self
                    .acts_in(&to.join(below.parent().unwrap_or(Path::new(""))), &name)
                    .is_some();
                let acts_already = self.acts_in(&folder, &name).is_some();
                if acts != acts_already {
                    return Some(from.join(below));
                }
                if crosses && (acts || seen > MOVED) {
                    return Some(from.join(below));
                }
                if kind.is_symlink() && kept_then {
                    let Ok(target) = fs::read_link(from.join(&below)) else {
                        return Some(from.join(below));
                    };
                    if looker.leads_out(&to.join(&below), &target) {
                        return Some(from.join(below));
                    }
                }
                if !kind.is_dir() || acts {
                    continue;
                }
                // By the name of the folder around it.
                let is_free = [is_installed(&from.join(&below)), is_installed(&to.join(&below))];
                match is_free {
                    [true, true] => {}
                    [false, false] => waiting.push(below),
                    _ => return Some(from.join(below)),
                }
            }
            if crosses && parts.are_whole() {
                return Some(Parts::head(&folder));
            }
        }
        None
    }
}

/// What makes a folder a repository.
pub(super) const REPOSITORY: &str = ".git";

/// What git knows a repository by, seen name by name: a folder that has them is one, whatever it is called.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    head: bool,
    objects: bool,
    refs: bool,
    /// In the place of the other two: where they are.
    common: bool,
}

impl Parts {
    /// The names, the one that no repository lacks first.
    const NAMES: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

    fn is_one(name: &OsStr) -> bool {
        Self::NAMES.iter().any(|part| name.eq_ignore_ascii_case(part))
    }

    pub(super) fn see(&mut self, name: &OsStr) {
        match fold(&name.to_string_lossy()).as_str() {
            "head" => self.head = true,
            "objects" => self.objects = true,
            "refs" => self.refs = true,
            "commondir" => self.common = true,
            _ => {}
        }
    }

    pub(super) fn are_whole(self) -> bool {
        self.head && (self.common || self.objects && self.refs)
    }

    /// What makes a folder one.
    pub(super) fn head(folder: &Path) -> PathBuf {
        folder.join(Self::NAMES[0])
    }

    fn of(folder: &Path) -> Self {
        let mut parts = Self::default();
        let there = |name: &&&str| fs::symlink_metadata(folder.join(name)).is_ok();
        Self::NAMES
            .iter()
            .filter(there)
            .for_each(|name| parts.see(OsStr::new(name)));
        parts
    }
}

/// Who acts on what is kept of a home folder.
const LOGINS: &str = "shells, logins and other programs act on when they start";

/// Whether it is the name of a folder of which some entries are kept.
pub(crate) fn holds_acting(name: &OsStr) -> bool {
    let seen = seen_names(&name.to_string_lossy());
    WITHIN
        .iter()
        .any(|(outer, ..)| seen.iter().any(|name| is_one(name, outer)))
}

/// Whether it is a folder of what is installed or built, by its name and that of the folder around it.
pub(super) fn is_installed(place: &Path) -> bool {
    let Some(name) = place.file_name() else { return false };
    let around = || place.parent().and_then(Path::file_name);
    INSTALLED.iter().any(|known| {
        let parts = known.rsplit_once('/');
        let (folder, known) = parts.map_or((None, *known), |(folder, known)| (Some(folder), known));
        let is_named = match known.strip_suffix('*') {
            Some(begin) => name.as_encoded_bytes().starts_with(begin.as_bytes()),
            None => name == known,
        };
        is_named && folder.is_none_or(|folder| around().is_some_and(|around| around == folder))
    })
}

/// The names of the table, by themselves: a workspace has many entries, and nearly none of them is one.
static WHOLE: LazyLock<HashMap<&'static str, Reader>> = LazyLock::new(|| NAMES.iter().copied().collect());

fn of_names(seen: &[String]) -> Option<Reader> {
    if let Some(reader) = seen.iter().find_map(|name| WHOLE.get(name.as_str())) {
        return Some(*reader);
    }
    let may_be_short = seen.iter().any(|name| name.contains('~'));
    let mut short = NAMES.iter().filter(|_| may_be_short);
    let whole = short.find(|(known, _)| seen.iter().any(|name| is_one(name, known)));
    let whole = whole.or_else(|| ENDS.iter().find(|(end, _)| seen.iter().any(|name| name.ends_with(end))));
    let around = || {
        let is = |name: &String, begin: &str, end: &str| {
            name.len() > begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        };
        AROUND
            .iter()
            .find(|(begin, end, _)| seen.iter().any(|name| is(name, begin, end)))
    };
    let whole = whole.map(|(_, reader)| *reader);
    whole.or_else(|| around().map(|(.., reader)| *reader))
}

/// Whether a folded name is this entry, or the short name that NTFS gives it.
fn is_one(name: &str, known: &str) -> bool {
    name == known || name.contains('~') && is_short_for(name, known)
}

/// The forms in which file systems that are not exact see a name: as it stands, and as HFS+ and NTFS read it.
fn seen_names(name: &str) -> Vec<String> {
    let folded = fold(name);
    // NTFS drops blanks and dots at the end, and takes what follows a colon for a stream of the same file.
    let stem = folded.split(':').next().unwrap_or_default();
    let stem = stem.trim_end_matches([' ', '.']);
    match stem.is_empty() || stem == folded {
        true => vec![folded],
        false => vec![stem.to_owned(), folded],
    }
}

/// Without case, and without the characters that some file systems leave out when they compare.
fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let kept = name.chars().filter(|letter| !is_ignorable(*letter));
    // Upper case first: the long s and the sign for kelvin are letters of the alphabet then.
    let upper = kept.flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).collect()
}

/// `Default_Ignorable_Code_Point` of Unicode.
fn is_ignorable(letter: char) -> bool {
    matches!(letter,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Whether a folded name is one that NTFS makes up for `known`: six letters of it, or two and four of a checksum, then `~`
/// and a number, and three letters of what stands behind its last dot.
fn is_short_for(name: &str, known: &str) -> bool {
    let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
    let Some((letters, number)) = stem.split_once('~') else {
        return false;
    };
    let (base, ending) = match known.trim_start_matches('.').rsplit_once('.') {
        Some((base, ending)) => (base, ending),
        None => (known.trim_start_matches('.'), ""),
    };
    let base: String = base.chars().filter(|letter| !matches!(letter, '.' | ' ')).collect();
    let ending: String = ending.chars().take(3).collect();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let cut = letters.len() == 6.min(base.len()) || number.len() > 1 && letters.len() + 1 == 6.min(base.len());
    let is_cut = !letters.is_empty() && cut && base.starts_with(letters);
    let is_summed = letters.len() == 6
        && letters.get(..2) == base.get(..2)
        && letters.bytes().skip(2).all(|byte| byte.is_ascii_hexdigit());
    is_number && end == ending && (is_cut || is_summed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts(name: &OsStr) -> Option<&'static str> {
        Later::default().acts(name)
    }

    #[test]
    fn each_name_of_the_table_in_all_its_forms() {
        for (name, _) in NAMES {
            assert_eq!(fold(name), *name, "the table is in lower case");
            for form in [
                (*name).to_owned(),
                name.to_uppercase(),
                format!("{name}."),
                format!("{name} ."),
                format!("{name}::$INDEX_ALLOCATION"),
                format!("\u{200C}{name}\u{FEFF}"),
                name.replace('s', "\u{17F}").replace('k', "\u{212A}"),
            ] {
                assert!(acts(OsStr::new(&form)).is_some(), "{form:?}");
            }
        }
        for (end, _) in ENDS {
            let name = format!("Project{}", end.to_uppercase());
            assert!(acts(OsStr::new(&name)).is_some(), "{name}");
        }
    }

    #[test]
    fn names_by_table() {
        for (name, expected) in [
            ("GIT~1", true),
            ("git~2", true),
            ("GI7EBA~1", true),
            ("VSCODE~1", true),
            ("DIR-LO~1.EL", true),
            ("GIT~", false),
            ("git~a", false),
            ("GITHUB~1", false),
            (".github", false),
            (".gitignore", false),
            (".git2", false),
            ("xgit", false),
            ("AGENTS.md~", false),
            ("AGENTS.txt", false),
            ("Makefile", false),
            ("package.json", false),
            (".env", false),
            ("code-workspace", false),
            ("", false),
            ("...", false),
        ] {
            assert_eq!(acts(OsStr::new(name)).is_some(), expected, "{name:?}");
        }
        let own = Later {
            more: vec!["Deploy.yml".to_owned()],
            free: vec!["AGENTS.md".to_owned()],
            ..Later::default()
        };
        for (name, expected) in [("deploy.YML", true), ("agents.md", false), (".vscode", true)] {
            assert_eq!(own.acts(OsStr::new(name)).is_some(), expected, "{name}");
        }
    }

    /// Each is free at any depth, and nothing is that only looks like it.
    #[test]
    fn each_folder_of_what_is_installed() {
        let roots = [PathBuf::from("/w")];
        let later = Later::default();
        let keeps = |folder: &str| later.keeps(&roots, &Path::new("/w").join(folder)).is_some();
        for known in INSTALLED {
            let name = known.replace('*', "-old");
            for around in ["", "a/b/"] {
                assert!(!keeps(&format!("{around}{name}/p/AGENTS.md")), "{around}{name}");
                assert!(!keeps(&format!("{around}{name}/.rubocop.yml")), "{around}{name}");
                assert!(keeps(&format!("{around}{name}/.git")), "{around}{name}");
                assert!(keeps(&format!("{around}x{name}/AGENTS.md")), "{around}x{name}");
            }
            if let Some((around, name)) = known.split_once('/') {
                assert!(keeps(&format!("{around}/AGENTS.md")), "{around}");
                assert!(keeps(&format!("{name}/AGENTS.md")), "{name}");
                assert!(keeps(&format!("{around}/x/{name}/AGENTS.md")), "{name}");
            }
        }
        for folder in ["vendor", "deps", "build", "dist", "venvs", "targets", "carthage"] {
            assert!(keeps(&format!("{folder}/AGENTS.md")), "{folder}");
        }
    }

    #[test]
    fn where_names_count() {
        let roots = ["/w", "/tmp", "/tmp/p", "/w/granted/.vscode"].map(PathBuf::from);
        let later = Later {
            scratch: vec!["/tmp".into()],
            ..Later::default()
        };
        for (place, expected) in [
            ("/w/.vscode", true),
            ("/w/a/b/AGENTS.md", true),
            ("/w/a/node_modules/b/AGENTS.md", false),
            ("/w/a/node_modules", false),
            ("/w/target/package/.vscode", false),
            ("/w/target/.git", true),
            ("/w/a/node_modules/.GIT", true),
            ("/w/target/package/.git", false),
            ("/w/target/.vscode", false),
            ("/w/node_modules.old/p/.vscode", false),
            ("/tmp/target/.git", false),
            ("/tmp/x/.vscode", false),
            ("/tmp/p/x/.vscode", true),
            ("/w/granted/.vscode", false),
            ("/w/granted/.vscode/AGENTS.md", true),
            ("/elsewhere/.vscode", false),
        ] {
            assert_eq!(later.keeps(&roots, Path::new(place)).is_some(), expected, "{place}");
        }
    }

    /// One for whom the links that say so lead out of the folder that is moved there, and who has time for so many entries.
    #[cfg(unix)]
    struct Told(PathBuf, usize);

    #[cfg(unix)]
    impl Looker for Told {
        fn goes_on(&mut self) -> bool {
            let left = self.1.checked_sub(1);
            self.1 = left.unwrap_or_default();
            left.is_some()
        }

        fn leads_out(&mut self, place: &Path, target: &Path) -> bool {
            assert!(place.starts_with(&self.0), "{place:?}");
            target == Path::new("out")
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_stands_in_the_way_of_moving_a_folder() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = fs::canonicalize(dir.path()).expect("canonical");
        for folder in [
            "node_modules/evil/deep/.vscode",
            "node_modules/fine/deep",
            "node_modules/linked/deep",
            "linked/deep",
            "src/.vscode",
            "plain/deep",
            "node_modules/bare/deep/objects",
            "node_modules/bare/deep/refs",
            "ruby/vendor/bundle",
            "part/objects",
            "part/refs",
        ] {
            fs::create_dir_all(root.join(folder)).expect("mkdir");
        }
        fs::write(root.join("node_modules/bare/deep/HEAD"), "x").expect("write");
        for folder in ["node_modules/linked/deep", "linked/deep"] {
            std::os::unix::fs::symlink("out", root.join(folder).join("link")).expect("symlink");
        }
        let later = Later::default();
        for (from, to, expected) in [
            ("node_modules/evil", "lib", true),
            ("node_modules", "lib", true),
            ("node_modules/fine", "lib", false),
            ("node_modules/evil", "node_modules/other", false),
            ("src", "lib", false),
            ("src", "target", true),
            ("plain", "target", false),
            ("node_modules/linked", "lib", true),
            ("node_modules/linked", "target/lib", false),
            ("linked", "lib", true),
            ("absent", "lib", false),
            ("node_modules/bare", "lib", true),
            ("ruby", "lib", false),
            ("ruby/vendor", "lib", true),
        ] {
            let found = later.hinders_move(
                std::slice::from_ref(&root),
                &root.join(from),
                &root.join(to),
                &mut Told(root.join(to), MOVED),
            );
            assert_eq!(found.is_some(), expected, "{from} {to}");
        }
        fs::create_dir(root.join("large")).expect("mkdir");
        for at in 0..10 {
            fs::write(root.join("large").join(at.to_string()), "x").expect("write");
        }
        for (entries, expected) in [(10, false), (9, true)] {
            let (roots, to) = (std::slice::from_ref(&root), root.join("lib"));
            let found = later.hinders_move(roots, &root.join("large"), &to, &mut Told(to.clone(), entries));
            assert_eq!(found.is_some(), expected, "with time for {entries}");
        }
        for (place, expected) in [
            ("part/HEAD", true),
            ("part/head", true),
            ("part/commondir", false),
            ("part/objects", false),
            ("plain/HEAD", false),
            ("node_modules/bare/HEAD", false),
        ] {
            let found = later.completes_repository(std::slice::from_ref(&root), &root.join(place));
            assert_eq!(found, expected, "{place}");
        }
        fs::write(root.join("plain/HEAD"), "x").expect("write");
        assert!(later.completes_repository(std::slice::from_ref(&root), &root.join("plain/commondir")));
    }
}
