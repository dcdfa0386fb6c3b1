//! What the person has given for always by an answer, as it stands in the file of it, and taking one of it back.

use super::write::{RuleError, always_file};
use super::{Rules, read};
use crate::config::own_file::OwnFile;
use std::path::{Path, PathBuf};

/// What a rule, a permission and a tool begin with, and the words for it.
const HEADS: [(&str, &str); 3] = [
    ("[[rule]]", "rule"),
    ("[[permission]]", "permission"),
    ("[[tool]]", "tool"),
];
/// The comment above what was given on a day.
pub(super) const DAY: &str = "# Given on ";

/// One rule, permission or tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// `rule`, `permission` or `tool`.
    pub kind: &'static str,
    /// All that stands there of it, with `, ` between its keys.
    pub text: String,
    /// Where it holds; absent: everywhere.
    pub folder: Option<PathBuf>,
    /// As year, month and day, where it was noted.
    pub day: Option<String>,
    /// Its lines in the file, from its comment on.
    lines: std::ops::Range<usize>,
}

/// What allows something, in the order of the file.
pub fn given(home: &Path) -> Vec<Given> {
    let text = crate::config::layers::read_text(&always_file(home)).ok().flatten();
    blocks(&text.unwrap_or_default())
}

fn blocks(text: &str) -> Vec<Given> {
    let lines: Vec<&str> = text.lines().collect();
    let begins: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("[[")).collect();
    let mut all = Vec::new();
    for (number, &begin) in begins.iter().enumerate() {
        let head = lines[begin].split('#').next().unwrap_or_default().trim();
        let known = HEADS.iter().find(|(known, _)| *known == head);
        let Some(kind) = known.map(|(_, kind)| *kind) else {
            continue;
        };
        let next = begins.get(number + 1).copied().unwrap_or(lines.len());
        // What stands above the next one is that one's.
        let is_said = |at: &usize| !lines[*at].trim().is_empty() && !lines[*at].trim_start().starts_with('#');
        let end = (begin + 1..next).rev().find(is_said).map_or(begin + 1, |last| last + 1);
        let fields: Vec<&str> = (begin + 1..end).filter(is_said).map(|at| lines[at].trim()).collect();
        let field = |name: &str| {
            let mut values = fields.iter().filter_map(|line| line.split_once('='));
            values
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim())
        };
        if field("decision").is_some_and(|decision| decision != "\"allow\"") {
            continue;
        }
        let above = begin.checked_sub(1).and_then(|at| lines[at].strip_prefix(DAY));
        let folder = field("folder").and_then(|quoted| serde_json::from_str::<PathBuf>(quoted).ok());
        all.push(Given {
            kind,
            text: fields.join(", "),
            folder,
            day: above.map(|day| day.trim_end_matches('.').to_owned()),
            lines: begin - usize::from(above.is_some())..end,
        });
    }
    all
}

/// Takes back one of them; the rest of the file stays as it is. False where it is not there any more.
///
/// # Errors
/// The file cannot be written, or would say something else without it.
pub fn take_back(home: &Path, one: &Given) -> Result<bool, RuleError> {
    let file = OwnFile::open(&always_file(home))?;
    let text = file.text().unwrap_or_default();
    let Some(there) = blocks(text).into_iter().find(|there| is_same(there, one)) else {
        return Ok(false);
    };
    let rest: Vec<&str> = text
        .split_inclusive('\n')
        .enumerate()
        .filter(|(at, _)| !there.lines.contains(at))
        .map(|(_, line)| line)
        .collect();
    let known = read::read_one(file.path());
    let count = |rules: &Rules| rules.rules.len() + rules.permissions.len() + rules.tools.len();
    file.replace(&rest.concat(), |new| {
        let again = read::read_one(new);
        // One that is not in force is not counted before either.
        let is_right = again.reports.len() <= known.reports.len() && count(&again) + 1 >= count(&known);
        match is_right {
            true => Ok(()),
            false => Err(RuleError::NotReadAgain("more than that would go".to_owned())),
        }
    })?;
    Ok(true)
}

fn is_same(one: &Given, other: &Given) -> bool {
    (one.kind, &one.text, &one.day) == (other.kind, &other.text, &other.day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_and_all_else_stays() {
        let home = tempfile::tempdir().expect("a folder");
        let file = always_file(home.path());
        std::fs::create_dir(home.path().join("rules")).expect("mkdir");
        let first = "[[rule]]\nprefix = [\"cargo\", \"test\"]\ndecision = \"allow\"\nfolder = \"/w\"\nhosts = []\n";
        let denied = "# mine\n[[rule]]\nprefix = [\"x\"]\ndecision = \"deny\"\n";
        let last = "[[permission]]\ntype = \"network\"\n";
        let text = format!("# Head\n\n# Given on 2026-03-04.\n{first}\n{denied}\n# Above the last\n{last}");
        std::fs::write(&file, text).expect("written");
        let all = given(home.path());
        let kinds: Vec<_> = all
            .iter()
            .map(|one| (one.kind, one.day.as_deref(), one.folder.as_deref()))
            .collect();
        assert_eq!(
            kinds,
            [
                ("rule", Some("2026-03-04"), Some(Path::new("/w"))),
                ("permission", None, None)
            ]
        );
        assert_eq!(
            all[0].text,
            "prefix = [\"cargo\", \"test\"], decision = \"allow\", folder = \"/w\", hosts = []"
        );
        assert!(take_back(home.path(), &all[0]).expect("written"));
        assert!(!take_back(home.path(), &all[0]).expect("not there"));
        let left = std::fs::read_to_string(&file).expect("a file");
        assert_eq!(left, format!("# Head\n\n\n{denied}\n# Above the last\n{last}"));
        assert!(take_back(home.path(), &all[1]).expect("written"));
        let left = std::fs::read_to_string(&file).expect("a file");
        assert_eq!(left, format!("# Head\n\n\n{denied}\n# Above the last\n"));
    }
}
