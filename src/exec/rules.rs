//! Standing rules on commands, and standing permissions: what the person has settled once and for all.
//!
//! They lie in files, `rules/*.toml` in the home folder and in a project's `.countersign`; docs/rules.md is the page on
//! them. A project can only tighten: what it allows is reported and not used. Nothing that is broken widens anything: an
//! allow that cannot be read as a whole does not count, an ask or a deny counts as far as it can be read, and while
//! there is a file of which something cannot be read at all, no rule allows anything.
//!
//! What a rule means for a command is the affair of `decide`; here is which rules a command falls under.

mod cache;
mod given;
mod matching;
mod read;
mod starlark;
mod table;
mod write;

pub use cache::{Cache, Sources};
pub use given::{Given, given, take_back};
pub(super) use matching::UNKNOWN;
pub use read::{load, load_files};
pub use write::{NewRule, RuleError, add_permission, add_rules, add_tool, always_file, pinned_file, tool_to_toml};

use super::confinement::resolve;
use super::decide::{Folders, options_in_words};
use crate::protocol::config::ConfigWarning;
use crate::protocol::permission::Permission;
use std::fmt;
use std::path::{Path, PathBuf};

/// What a rule says of the commands that fall under it; the later the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

impl Decision {
    /// The word in the files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Where something stands. `Display` writes it as compilers do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// Counted from 1.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The words that a command begins with, each with its alternatives; the first is the program.
    prefix: Vec<Vec<String>>,
    pub decision: Decision,
    /// Of an allow: the command runs outside the sandbox.
    pub outside: bool,
    /// Of an allow: the arguments may only lead to the conversation's folder and the temporary one.
    here: bool,
    /// Of an allow: it holds for conversations in this folder or below. Absent: everywhere.
    folder: Option<PathBuf>,
    /// Of an allow: the arguments may name these hosts and no others. Absent: any.
    hosts: Option<Vec<String>>,
    /// Of an allow: the command is of the shape of a known program, with these options, each with the word behind it, and harmless
    /// ones. Absent: any.
    options: Option<Vec<String>>,
    /// In the words of whoever wrote it.
    pub reason: Option<String>,
    pub place: Place,
}

impl Rule {
    /// The prefix as people write it: `cargo test|check`.
    pub fn prefix_in_words(&self) -> String {
        let words: Vec<_> = self.prefix.iter().map(|alternatives| alternatives.join("|")).collect();
        words.join(" ")
    }

    /// The prefix with what else an allow asks of the command.
    pub fn in_words(&self) -> String {
        let mut words = self.prefix_in_words();
        if self.here {
            words.push_str(", on paths in the conversation's folder and /tmp");
        }
        if let Some(folder) = &self.folder {
            words.push_str(&format!(", in {}", folder.display()));
        }
        match self.hosts.as_deref() {
            None => {}
            Some([]) => words.push_str(", no explicit URL"),
            Some(hosts) => words.push_str(&format!(", and no explicit URL but of {}", hosts.join(", "))),
        }
        if let Some(options) = &self.options {
            words.push_str(&format!(", {}", options_in_words(options)));
        }
        words
    }
}

/// A permission that holds in every session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where it holds: for commands that run in this folder or below. Absent: everywhere.
    pub folder: Option<PathBuf>,
    pub permission: Permission,
    pub place: Place,
}

/// A tool of a server that may be called without asking, in every session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingTool {
    pub server: String,
    pub tool: String,
    /// Stands for all that the tool and its server were when it was allowed. Without one nothing is allowed.
    pub pin: Option<String>,
    pub place: Place,
}

/// All that the files say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
    permissions: Vec<Standing>,
    tools: Vec<StandingTool>,
    /// What is broken or not used, in the order of the files.
    reports: Vec<ConfigWarning>,
    /// A file of which something cannot be read at all: it may be a deny. While there is one, no rule allows anything.
    unreadable: Option<PathBuf>,
}

impl Rules {
    /// No rules at all.
    pub const NONE: Self = Self {
        rules: Vec::new(),
        permissions: Vec::new(),
        tools: Vec::new(),
        reports: Vec::new(),
        unreadable: None,
    };

    /// Every rule in force, in the order of the files.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Every standing permission, in the order of the files.
    pub fn permissions(&self) -> impl Iterator<Item = &Standing> {
        self.permissions.iter()
    }

    /// Whether a tool of a server, as this pin says it is, may be called without asking. Not while a file cannot be read.
    pub fn allows_tool(&self, server: &str, tool: &str, pin: &str) -> bool {
        self.unreadable.is_none()
            && self
                .standing(server, tool)
                .any(|standing| standing.pin.as_deref() == Some(pin))
    }

    /// The pins under which a tool of a server was allowed, the last one last; none for a rule of a time without pins.
    pub fn pins(&self, server: &str, tool: &str) -> Vec<Option<String>> {
        self.standing(server, tool)
            .map(|standing| standing.pin.clone())
            .collect()
    }

    fn standing(&self, server: &str, tool: &str) -> impl Iterator<Item = &StandingTool> {
        self.tools
            .iter()
            .filter(move |standing| standing.server == server && standing.tool == tool)
    }

    /// What the person should mend.
    pub fn reports(&self) -> &[ConfigWarning] {
        &self.reports
    }

    /// The file that keeps rules from allowing anything, if there is one.
    pub fn unreadable(&self) -> Option<&Path> {
        self.unreadable.as_deref()
    }

    /// The standing permissions of commands that run in a folder. None while a file cannot be read.
    pub fn permissions_for(&self, cwd: &Path) -> Vec<Permission> {
        if self.unreadable.is_some() {
            return Vec::new();
        }
        let cwd = resolve(cwd);
        let holds = |standing: &&Standing| {
            standing
                .folder
                .as_ref()
                .is_none_or(|folder| cwd.starts_with(resolve(folder)))
        };
        let mut permissions: Vec<Permission> = Vec::new();
        for standing in self.permissions.iter().filter(holds) {
            if !permissions.contains(&standing.permission) {
                permissions.push(standing.permission.clone());
            }
        }
        permissions
    }

    /// The strictest rule that asks about or denies one of these commands; of equals the first.
    pub fn tightening<C: AsRef<[String]>>(&self, commands: &[C]) -> Option<&Rule> {
        let mut found: Option<&Rule> = None;
        for rule in self.rules.iter().filter(|rule| rule.decision > Decision::Allow) {
            let stricter = found.is_none_or(|found| rule.decision > found.decision);
            if stricter && commands.iter().any(|command| rule.catches(command.as_ref())) {
                found = Some(rule);
            }
        }
        found
    }

    /// The rule that allows one command, run in one of these folders; of several one that lets it out of the sandbox.
    pub fn allowing(&self, command: &[String], folders: &Folders) -> Option<&Rule> {
        if self.unreadable.is_some() {
            return None;
        }
        self.would_allow(command, folders)
    }

    /// The same, were every file readable.
    pub fn would_allow(&self, command: &[String], folders: &Folders) -> Option<&Rule> {
        let mut fitting = self.rules.iter().filter(|rule| rule.allows(command, folders));
        let first = fitting.next()?;
        Some(
            std::iter::once(first)
                .chain(fitting)
                .find(|rule| rule.outside)
                .unwrap_or(first),
        )
    }
}
