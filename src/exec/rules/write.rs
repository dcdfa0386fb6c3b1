//! Writes rules and permissions that the person has just given, to the end of a file of theirs. What they wrote there
//! themselves stays as it is, comments and all.

use super::{Rules, read};
use crate::config::own_file::{FileError, OwnFile};
use crate::protocol::permission::Permission;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What stands above the first rule of a new file.
const HEAD: &str =
    "# Rules and permissions that you have given for always. You can change them; docs/rules.md says how.\n";

/// Why nothing was written. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    #[error("{0}. Make it possible to write there, or add the rule yourself.")]
    File(#[from] FileError),
    #[error("the file is broken, line {line}: {message} Fix it first: {}.", path.display())]
    Broken { path: PathBuf, line: u32, message: String },
    #[error("what was to be written would not be read again ({0}). This is a fault of Countersign.")]
    NotReadAgain(String),
    #[error("a permission can only be kept for an absolute folder, not for {}.", .0.display())]
    RelativeFolder(PathBuf),
}

/// A rule that allows, to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRule {
    pub prefix: Vec<String>,
    pub outside: bool,
    /// The arguments may only lead to the conversation's folder and the temporary one.
    pub here: bool,
    /// It holds for conversations in this folder or below.
    pub folder: Option<PathBuf>,
    /// The arguments may name these hosts and no others.
    pub hosts: Vec<String>,
    /// The command is of a known shape with these options, each with the word behind it, and harmless ones; absent for a run
    /// inside the sandbox.
    pub options: Option<Vec<String>>,
}

impl NewRule {
    /// The table as it stands in a file.
    pub fn to_toml(&self) -> String {
        let mut text = format!("[[rule]]\nprefix = {}\ndecision = \"allow\"\n", list(&self.prefix));
        if self.outside {
            text.push_str("sandbox = \"outside\"\n");
        }
        if self.here {
            text.push_str("paths = \"here\"\n");
        }
        if let Some(folder) = &self.folder {
            let _infallible = writeln!(text, "folder = {}", quoted(&folder.to_string_lossy()));
        }
        let _infallible = writeln!(text, "hosts = {}", list(&self.hosts));
        if let Some(options) = &self.options {
            let _infallible = writeln!(text, "options = {}", list(options));
        }
        text
    }
}

/// The file that takes what the person gives for always.
pub fn always_file(home: &Path) -> PathBuf {
    home.join("rules").join("always.toml")
}

/// Adds rules to the person's own, all or none; those that stand there already are not written again. Returns the file.
pub fn add_rules(home: &Path, rules: &[NewRule]) -> Result<PathBuf, RuleError> {
    let text = |known: &Rules| {
        let mut text = String::new();
        for rule in rules {
            let block = rule.to_toml();
            let stands = known.rules.iter().any(|known| is_same(known, rule));
            if !stands && !text.contains(&block) {
                text.push_str(&block);
                text.push('\n');
            }
        }
        text
    };
    append(home, text)
}

fn is_same(known: &super::Rule, new: &NewRule) -> bool {
    let prefix: Vec<Vec<String>> = new.prefix.iter().map(|word| vec![word.clone()]).collect();
    known.decision == super::Decision::Allow
        && known.prefix == prefix
        && known.outside == new.outside
        && known.here == new.here
        && known.folder == new.folder
        && known.hosts.as_deref() == Some(new.hosts.as_slice())
        && known.options == new.options
}

/// Adds a permission to the person's own: for commands that run in `folder` or below, or everywhere. Returns the file.
pub fn add_permission(home: &Path, folder: Option<&Path>, permission: &Permission) -> Result<PathBuf, RuleError> {
    if let Some(folder) = folder.filter(|folder| !folder.is_absolute()) {
        return Err(RuleError::RelativeFolder(folder.to_owned()));
    }
    let mut block = "[[permission]]\n".to_owned();
    if let Some(folder) = folder {
        let _infallible = writeln!(block, "folder = {}", quoted(&folder.to_string_lossy()));
    }
    let fields = serde_json::to_value(permission).map_err(|error| RuleError::NotReadAgain(error.to_string()))?;
    for (name, value) in fields.as_object().into_iter().flatten() {
        let _infallible = writeln!(block, "{name} = {}", toml(value));
    }
    block.push('\n');
    append(home, |known| {
        let stands = known
            .permissions
            .iter()
            .any(|standing| standing.permission == *permission && standing.folder.as_deref() == folder);
        if stands { String::new() } else { block.clone() }
    })
}

/// A tool of a server as it stands in a file.
pub fn tool_to_toml(server: &str, tool: &str, pin: &str) -> String {
    format!(
        "[[tool]]\nserver = {}\ntool = {}\ndecision = \"allow\"\npin = {}\n",
        quoted(server),
        quoted(tool),
        quoted(pin)
    )
}

/// The file that keeps what a pin stands for, so that a change of it can be shown.
pub fn pinned_file(home: &Path, pin: &str) -> PathBuf {
    let name: String = pin.chars().filter(char::is_ascii_alphanumeric).collect();
    home.join("rules").join("pinned").join(format!("{name}.json"))
}

/// Lets a tool of a server be called without asking from now on, as long as it is what the pin stands for: that is `pinned`.
/// Returns the file.
///
/// # Errors
/// The rule cannot be written; it is not there then.
pub fn add_tool(home: &Path, server: &str, tool: &str, pin: &str, pinned: &str) -> Result<PathBuf, RuleError> {
    // First, so that no rule stands without it.
    OwnFile::open(&pinned_file(home, pin))?.replace(pinned, |_| Ok::<_, RuleError>(()))?;
    append(home, |known| {
        if known.allows_tool(server, tool, pin) {
            String::new()
        } else {
            tool_to_toml(server, tool, pin)
        }
    })
}

/// Puts text at the end of the file, in one step, alone.
fn append(home: &Path, addition: impl Fn(&Rules) -> String) -> Result<PathBuf, RuleError> {
    let named = always_file(home);
    let file = OwnFile::open(&named)?;
    let path = file.path();
    let known = match file.text() {
        Some(_) => read::read_one(path),
        None => Rules::default(),
    };
    if known.unreadable.is_some()
        && let Some(report) = known.reports.first()
    {
        return Err(RuleError::Broken {
            path: path.to_owned(),
            line: report.line.unwrap_or(1),
            message: report.message.clone(),
        });
    }
    let addition = addition(&known);
    if addition.is_empty() {
        return Ok(named);
    }
    let before = file.text().filter(|text| !text.trim().is_empty());
    let mut text = before.unwrap_or(HEAD).to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    text.push_str(&dated(addition.trim_end()));
    text.push('\n');
    file.replace(&text, |new| read_again(new, &known, &addition))?;
    Ok(named)
}

/// Each of what is added with the day above it.
fn dated(addition: &str) -> String {
    let day = format!("{}{}.", super::given::DAY, crate::config::consent::today());
    let line = |line: &str| match line.starts_with("[[") {
        true => format!("{day}\n{line}"),
        false => line.to_owned(),
    };
    addition.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// What was written says what was meant.
fn read_again(new: &Path, known: &Rules, addition: &str) -> Result<(), RuleError> {
    let again = read::read_one(new);
    let heads = ["[[rule]]\n", "[[permission]]\n", "[[tool]]\n"];
    let blocks: usize = heads.iter().map(|head| addition.matches(head).count()).sum();
    let count = |rules: &Rules| rules.rules.len() + rules.permissions.len() + rules.tools.len();
    if again.reports.len() > known.reports.len() || count(&again) != count(known) + blocks {
        let why = again
            .reports
            .last()
            .map_or("it says something else", |report| report.message.as_str());
        return Err(RuleError::NotReadAgain(why.to_owned()));
    }
    Ok(())
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control() => {
                let _infallible = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn toml(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        // Numbers and flags are written alike in both; there is no null among the fields of a permission.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::decide::{Folders, Scene};
    use std::fs;

    fn rule(prefix: &[&str]) -> NewRule {
        NewRule {
            prefix: prefix.iter().map(|word| (*word).to_owned()).collect(),
            outside: true,
            here: true,
            folder: Some("/w".into()),
            hosts: Vec::new(),
            options: None,
        }
    }

    fn text(home: &Path) -> String {
        fs::read_to_string(always_file(home)).expect("a file")
    }

    #[test]
    fn rules_and_permissions_are_added_and_what_stood_there_stays() {
        let home = tempfile::tempdir().expect("a folder");
        let odd = "a \"b\"\\ \n\u{1}ü";
        add_rules(home.path(), &[rule(&["cargo", "test"]), rule(&["tool", odd])]).expect("written");
        let first = text(home.path());
        assert!(first.starts_with("# Rules"), "{first}");
        let mine = format!("{first}\n# Mine, and no line end\n[[rule]]\nprefix = [\"x\"] # odd\ndecision = \"deny\"");
        fs::write(always_file(home.path()), &mine).expect("written");
        // What stands there already is not written again.
        add_rules(home.path(), &[rule(&["cargo", "test"])]).expect("written");
        assert_eq!(text(home.path()), mine);
        let network = Permission::Network;
        let write = Permission::Write { path: "/data".into() };
        add_permission(home.path(), None, &network).expect("written");
        add_permission(home.path(), Some(Path::new("/w")), &write).expect("written");
        add_permission(home.path(), Some(Path::new("/w")), &write).expect("written");
        let last = text(home.path());
        assert!(last.starts_with(&mine), "{last}");
        let rules = read::read_one(&always_file(home.path()));
        assert!(rules.reports().is_empty(), "{rules:#?}");
        assert_eq!(rules.iter().count(), 3);
        let command = ["tool", odd].map(str::to_owned);
        assert!(
            rules
                .allowing(&command, &Folders::of(Scene::at(Path::new("/w"))))
                .is_some_and(|rule| rule.outside)
        );
        assert_eq!(rules.permissions_for(Path::new("/w/x")), [network.clone(), write]);
        assert_eq!(rules.permissions_for(Path::new("/v")), [network]);
        let left: Vec<_> = fs::read_dir(home.path().join("rules"))
            .expect("a folder")
            .flatten()
            .collect();
        assert_eq!(left.len(), 2, "the file and its lock: {left:?}");
    }

    /// Shows S-125.
    #[test]
    fn where_it_cannot_be_written_the_file_stays_and_the_reason_is_told() {
        let home = tempfile::tempdir().expect("a folder");
        let path = always_file(home.path());
        fs::write(home.path().join("rules"), "").expect("a file in the way");
        assert!(matches!(
            add_rules(home.path(), &[rule(&["a"])]),
            Err(RuleError::File(FileError::Io { .. }))
        ));
        fs::remove_file(home.path().join("rules")).expect("removed");
        fs::create_dir(home.path().join("rules")).expect("a folder");
        fs::write(&path, "broken = [\n").expect("written");
        let error = add_rules(home.path(), &[rule(&["a"])]).expect_err("broken");
        assert!(matches!(error, RuleError::Broken { .. }), "{error}");
        assert_eq!(text(home.path()), "broken = [\n");
        fs::write(&path, "# mine\n").expect("written");
        let mut mode = fs::metadata(&path).expect("there").permissions();
        mode.set_readonly(true);
        fs::set_permissions(&path, mode).expect("set");
        let error = add_rules(home.path(), &[rule(&["a"])]).expect_err("read-only");
        assert!(
            matches!(&error, RuleError::File(FileError::ReadOnly(_))) && error.to_string().contains("always.toml"),
            "{error}"
        );
        assert_eq!(text(home.path()), "# mine\n");
        assert!(matches!(
            add_permission(home.path(), Some(Path::new("w")), &Permission::Network),
            Err(RuleError::RelativeFolder(_))
        ));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_mode_a_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().expect("a folder");
        let kept = home.path().join("dotfiles.toml");
        fs::write(&kept, "# kept elsewhere\n").expect("written");
        fs::set_permissions(&kept, fs::Permissions::from_mode(0o600)).expect("set");
        fs::create_dir(home.path().join("rules")).expect("a folder");
        std::os::unix::fs::symlink(&kept, always_file(home.path())).expect("a link");
        add_rules(home.path(), &[rule(&["a"])]).expect("written");
        assert!(
            fs::symlink_metadata(always_file(home.path()))
                .expect("there")
                .is_symlink()
        );
        assert!(fs::read_to_string(&kept).expect("text").contains("prefix = [\"a\"]"));
        assert_eq!(fs::metadata(&kept).expect("there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_tool_is_allowed_only_as_what_it_was() {
        let home = tempfile::tempdir().expect("a folder");
        let old = "[[tool]]\nserver = \"s\"\ntool = \"t\"\ndecision = \"allow\"\n";
        fs::create_dir(home.path().join("rules")).expect("a folder");
        fs::write(always_file(home.path()), format!("{old}\n{old}pin = 7\n")).expect("written");
        let rules = || read::read_one(&always_file(home.path()));
        assert_eq!((rules().pins("s", "t"), rules().reports().len()), (vec![None], 1));
        assert!(!rules().allows_tool("s", "t", ""));
        for _ in 0..2 {
            add_tool(home.path(), "s", "t", "sha256:12", "{}").expect("written");
        }
        assert_eq!(rules().pins("s", "t"), [None, Some("sha256:12".to_owned())]);
        for (server, tool, pin, allowed) in [
            ("s", "t", "sha256:12", true),
            ("s", "t", "sha256:13", false),
            ("s", "u", "sha256:12", false),
            ("r", "t", "sha256:12", false),
        ] {
            assert_eq!(rules().allows_tool(server, tool, pin), allowed, "{server} {tool} {pin}");
        }
        let kept = pinned_file(home.path(), "sha256:12");
        assert_eq!(fs::read_to_string(kept).expect("text"), "{}");
        assert!(pinned_file(home.path(), "../../x/sha256:12").ends_with("rules/pinned/xsha25612.json"));
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let home = tempfile::tempdir().expect("a folder");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let home = home.path();
                scope.spawn(move || add_rules(home, &[rule(&["tool", &format!("n{number}")])]).expect("written"));
            }
        });
        let rules = read::read_one(&always_file(home.path()));
        assert_eq!((rules.iter().count(), rules.reports().len()), (8, 0));
    }
}
