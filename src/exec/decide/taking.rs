//! What version control takes into its store by words that do not name it: there commands in the sandbox read it, also what is
//! closed to them in the folder.

use super::Folders;
use crate::regular;
use std::fs;
use std::path::{Path, PathBuf};

/// Kinds of patterns that `hg` takes for operands.
const KINDS_OF_HG: &[&str] = &[
    "filepath",
    "filesets",
    "glob",
    "include",
    "listfile",
    "listfile0",
    "path",
    "re",
    "relglob",
    "relpath",
    "relre",
    "rootfilesin",
    "rootglob",
    "set",
    "subinclude",
];

/// An index that is longer, or has more entries, is not read, so it cannot be told what is in it.
const LONGEST: u64 = 64 << 20;
const MOST_ENTRIES: usize = 50_000;

/// Whether version control makes names of a word by itself.
pub(super) fn spreads(program: &str, word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let long = long.split('=').next().unwrap_or(long);
        return program == "git" && long.len() > 2 && "pathspec-from-file".starts_with(long);
    }
    let is_pattern = || word.contains(['*', '?', '[', '\\']);
    let has_kind = || {
        word.split_once(':')
            .is_some_and(|(kind, _)| KINDS_OF_HG.contains(&kind))
    };
    match program {
        _ if word.starts_with('-') => false,
        "git" => is_pattern() || word.starts_with(':'),
        "hg" => is_pattern() || has_kind(),
        _ => false,
    }
}

/// Whether a command of version control takes in what is closed to commands by words that do not name it. `texts` are those of its
/// words that are text for people.
pub(super) fn takes_what_is_closed(program: &str, arguments: &[String], texts: &[bool], folders: &Folders) -> bool {
    let Some((sub_command, rest)) = arguments.split_first() else {
        return false;
    };
    let words = rest.iter().zip(texts.iter().skip(1));
    let words = words.filter(|(_, is_text)| !**is_text).map(|(word, _)| word.as_str());
    let words: Vec<&str> = words.collect();
    let has_pattern = words.iter().any(|word| spreads(program, word));
    let mut operands = words.iter().filter(|word| !word.starts_with('-')).peekable();
    let has_none = operands.peek().is_none();
    let names_folder = operands.any(|word| folders.has_folder(word));
    match (program, sub_command.as_str()) {
        ("git", "add" | "diff" | "grep" | "mv" | "rm" | "stash") => has_pattern && folders.close_in_the_repository(),
        ("git", "commit") => {
            let takes_more = has_pattern || names_folder || words.iter().any(|word| commits_more(word));
            takes_more && folders.track_what_is_closed()
        }
        ("hg" | "svn", "add" | "addremove" | "ci" | "commit") => {
            (has_none || has_pattern || names_folder) && folders.close_in_the_repository()
        }
        // It takes in all that there is each time.
        ("jj", _) => folders.close_in_the_repository(),
        _ => false,
    }
}

/// Whether an option has `git commit` take in what was changed since.
fn commits_more(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => {
            let mut known = ["all", "include", "interactive", "only", "patch"].into_iter();
            !long.is_empty() && known.any(|known| known.starts_with(long))
        }
        None => word.starts_with('-') && word.contains(['a', 'i', 'o', 'p']),
    }
}

/// The files of a repository that git keeps track of, below its folder; none where that cannot be told.
pub(super) fn tracked(root: &Path) -> Option<Vec<PathBuf>> {
    let store = root.join(".git");
    let store = match regular::read_to_string(&store) {
        Ok(pointer) => root.join(pointer.trim_end().strip_prefix("gitdir: ")?),
        Err(_) => store,
    };
    let index = store.join("index");
    let Ok(found) = fs::metadata(&index) else {
        return Some(Vec::new());
    };
    if !found.is_file() || found.len() > LONGEST {
        return None;
    }
    let paths = paths_in(&regular::read(&index).ok()?)?;
    Some(paths.into_iter().map(|path| root.join(path)).collect())
}

/// The paths of an index in one of git's forms.
fn paths_in(index: &[u8]) -> Option<Vec<String>> {
    /// What stands in front of the path of an entry: times, numbers, its object and flags.
    const FRONT: usize = 62;
    const LONGEST_NAME: usize = 0xfff;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4).filter(|version| index.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let count = usize::try_from(number(8)?).ok()?;
    if count > MOST_ENTRIES {
        return None;
    }
    let mut paths = Vec::new();
    let mut before: Vec<u8> = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        let flags = index.get(at + FRONT - 2..at + FRONT)?;
        let flags = u16::from_be_bytes(flags.try_into().ok()?);
        let mut begin = at + FRONT + if flags & 0x4000 == 0 { 0 } else { 2 };
        let mut path = Vec::new();
        if version == 4 {
            // So much of the one before is another.
            let (dropped, length) = offset(index.get(begin..)?)?;
            begin += length;
            path.extend_from_slice(&before[..before.len().checked_sub(dropped)?]);
        }
        let rest = index.get(begin..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(&rest[..length]);
        // With longer names of objects all of this stands elsewhere.
        if usize::from(flags) & LONGEST_NAME != path.len().min(LONGEST_NAME) {
            return None;
        }
        at = match version {
            4 => begin + length + 1,
            _ => at + (begin - at + length + 8) / 8 * 8,
        };
        paths.push(String::from_utf8_lossy(&path).into_owned());
        before = path;
    }
    // The rest may be in another file.
    let is_split = index.get(at..at + 4) == Some(b"link".as_slice());
    (!is_split).then_some(paths)
}

/// A number of git's in as many bytes as it needs, and how many those are.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(4).enumerate() {
        value = (value << 7) + usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index in the second or the fourth form.
    fn index(version: u8, paths: &[&str]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0".to_vec();
        bytes.push(version);
        bytes.extend(u32::try_from(paths.len()).expect("a few").to_be_bytes());
        let mut before = "";
        for path in paths {
            bytes.extend([0_u8; 60]);
            bytes.extend(u16::try_from(path.len()).expect("short").to_be_bytes());
            if version == 4 {
                let same = before.bytes().zip(path.bytes()).take_while(|(one, other)| one == other);
                let same = same.count();
                bytes.push(u8::try_from(before.len() - same).expect("short"));
                bytes.extend(&path.as_bytes()[same..]);
                bytes.push(0);
            } else {
                bytes.extend(path.as_bytes());
                bytes.extend(vec![0_u8; 8 - (62 + path.len()) % 8]);
            }
            before = path;
        }
        bytes
    }

    #[test]
    fn which_files_an_index_names() {
        let paths = ["a", "k.pem", "sub/one", "sub/other"];
        for version in [2, 4] {
            let whole = index(version, &paths);
            assert_eq!(paths_in(&whole).expect("an index"), paths, "{version}");
            let split = [&whole[..], b"link\0\0\0\0"].concat();
            assert_eq!(paths_in(&split), None, "{version}");
            assert_eq!(paths_in(&whole[..whole.len() - 30]), None, "{version}");
        }
        assert_eq!(paths_in(&index(2, &[])).expect("an index"), Vec::<String>::new());
        assert_eq!(paths_in(b"none"), None);
        assert_eq!(paths_in(&index(9, &paths)), None);
    }

    #[test]
    fn which_words_are_spread() {
        for (program, word, expected) in [
            ("git", "k.p?m", true),
            ("git", "\\k", true),
            ("git", ":(glob)k", true),
            ("git", "--pathspec-from-file=list", true),
            ("git", "HEAD:main", false),
            ("git", "v1.2", false),
            ("git", "--patch", false),
            ("hg", "re:k", true),
            ("hg", "a:b", false),
            ("cp", "k?", false),
        ] {
            assert_eq!(spreads(program, word), expected, "{program} {word}");
        }
        for (word, expected) in [("-am", true), ("--al", true), ("--amend", false), ("-q", false)] {
            assert_eq!(commits_more(word), expected, "{word}");
        }
    }
}
