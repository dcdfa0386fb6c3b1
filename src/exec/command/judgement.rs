//! What is said of a command: a label for the whole, and for each command in it what it is, what it does in words, and
//! why it is not called safe.

use crate::protocol::item::Confined;
use serde::{Deserialize, Serialize};

/// How far a command can be trusted by its text. Ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// Known to read and print and do nothing else.
    SafeReadonly,
    /// May change something, or is not understood.
    NotSafe,
    /// Destroys what cannot be brought back, or runs what nobody has read: the person is asked whatever was remembered.
    Dangerous,
}

impl Label {
    /// The label's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SafeReadonly => "safe-readonly",
            Self::NotSafe => "not-safe",
            Self::Dangerous => "dangerous",
        }
    }
}

/// What sort of thing a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Prints files, or facts about them or the machine.
    Read,
    List,
    Search,
    Build,
    Test,
    /// Rewrites source files by rule: formatters, fixing linters.
    Format,
    /// Gets or removes packages.
    Install,
    Network,
    /// Changes a repository.
    Vcs,
    /// Changes files.
    Write,
    Delete,
    /// Runs a program or program text of which nothing more is known.
    Run,
    Other,
}

/// One command within a command: a link of a chain, what a wrapper runs, what stands in a substitution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The words as understood, wrappers taken off. What only the run can tell stands as its source. Empty if the text
    /// could not be taken apart.
    pub argv: Vec<String>,
    /// The part as one line.
    pub text: String,
    pub label: Label,
    pub kind: Kind,
    /// What it does, for people: "runs the tests with cargo".
    pub words: String,
    /// Why it is dangerous or not called safe, in words that complete "it …"; none if it is safe.
    pub why: Option<String>,
    /// What it may start though it only reads: programs that the folder names in which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<String>,
    /// Whether it only reads without walls, too: it loads no code and reaches nobody.
    #[serde(skip)]
    pub is_plain: bool,
    /// Which of the words, by their places, are one word each although only the run can tell them: they stand in quotes.
    #[serde(skip)]
    pub whole: Vec<usize>,
}

/// What is said of a whole command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The worst of the labels of the parts.
    pub label: Label,
    pub parts: Vec<Part>,
    /// What was taken off the parts: wrappers with all of their words, shells that run what is fed to them.
    #[serde(skip)]
    pub taken_off: Vec<Vec<String>>,
    /// Whether a shell in it runs text that only the run can tell.
    #[serde(skip)]
    pub runs_untold: bool,
}

impl Judgement {
    /// Joins parts; none at all is not safe.
    pub(super) fn of(parts: Vec<Part>) -> Self {
        Self {
            label: parts.iter().map(|part| part.label).max().unwrap_or(Label::NotSafe),
            parts,
            taken_off: Vec::new(),
            runs_untold: false,
        }
    }

    /// The label where the command is so confined. What starts programs that its folder names only reads behind walls.
    pub fn label_when(&self, confined: Confined) -> Label {
        match confined {
            Confined::Outside if self.label == Label::SafeReadonly && self.starts().is_some() => Label::NotSafe,
            _ => self.label,
        }
    }

    /// The first part that may start programs that its folder names, and what those are.
    pub fn starts(&self) -> Option<(&Part, &str)> {
        self.parts.iter().find_map(|part| Some((part, part.starts.as_deref()?)))
    }

    /// Whether each part of what only reads does so without walls, too.
    pub fn is_plain(&self) -> bool {
        self.label == Label::SafeReadonly && self.parts.iter().all(|part| part.is_plain)
    }

    /// Why it must be asked about, whatever was remembered; none if nothing in it is dangerous.
    pub fn danger(&self) -> Option<&str> {
        self.first_why(Label::Dangerous)
    }

    /// The reason for the label, in words that complete "it …"; none if it is safe.
    pub fn why(&self) -> Option<&str> {
        self.first_why(self.label)
    }

    fn first_why(&self, label: Label) -> Option<&str> {
        let part = self.parts.iter().find(|part| part.label == label)?;
        part.why.as_deref()
    }
}
